/*
 * fingerprint: 64 bits that stand for a run of bytes, for tables of names.
 *
 * XXH3 with a secret, drawn at start, so that nobody outside can choose names that collide. Never
 * stored or sent: another process has another secret.
 * Thread: any, after fingerprint_seed().
 */
#pragma once

#include "core/base/bytes.h"

uint64_t fingerprint(struct bytes bytes);

/* Sets the secret from `seed`; 0 draws it from the kernel's chance. Before the first fingerprint,
 * and before other threads start. */
void fingerprint_seed(uint64_t seed);
