/*
 * client_attr: what a client calls itself: its name, its library and that library's version.
 * Thread: any.
 */
#pragma once

#include "core/base/bytes.h"

/* Printable ASCII without blanks, so that CLIENT LIST stays readable by machines. Empty is valid.
 */
bool client_attr_is_valid(struct bytes value);
