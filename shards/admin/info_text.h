/*
 * info_text: the sections of INFO as text.
 *
 * Thread: home.
 */
#pragma once

#include <stdint.h>

#include "core/base/buf.h"
#include "shards/admin/info_part.h"

struct config;
struct server;

/* What sections are written from. */
struct info {
    const struct info_sums *sums;
    const struct server *server;
    const struct config *config;
    int64_t now_us;
};

struct info_section {
    const char *name;  /* as asked for, lower case; NULL ends the list */
    const char *title; /* "Server" */
    bool is_default;   /* shown when nothing is asked for */
    uint32_t wants;    /* INFO_WANTS_* */
    void (*write)(struct buf *text, const struct info *info);
};

/* In the order in which they are shown. */
extern const struct info_section info_sections[];
