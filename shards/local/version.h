/* version: what this server calls itself, and the Redis version that it behaves as. */
#pragma once

#ifndef SHERD_VERSION
#define SHERD_VERSION "0.1.0" /* the build says otherwise when it knows better */
#endif

#define REDIS_VERSION "7.2.4"
