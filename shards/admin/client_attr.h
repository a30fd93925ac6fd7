/*
 * client_attr: what a client calls itself: its name, its library and that library's version.
 *
 * A field of struct session owns its bytes; len 0 means unset. Thread: home.
 */
#pragma once

#include "core/base/bytes.h"

/* Printable ASCII without blanks, so that CLIENT LIST stays readable by machines. Empty is valid.
 */
bool client_attr_is_valid(struct bytes value);

/* Replaces `*attr` by a copy of `value`; an empty value unsets it. */
void client_attr_set(struct bytes *attr, struct bytes value);
