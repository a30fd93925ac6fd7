/*
 * permit: may this client run this command now? On every command's path. Thread: home.
 */
#pragma once

#include "core/base/status.h"

struct command;
struct config;
struct session;

/* OK, or why not: ERR_NO_AUTH, ERR_NOT_IN_MULTI. */
MUST_CHECK enum status permit_check(const struct session *session, const struct config *config,
                                    const struct command *command);
