/*
 * server_cmd: TIME, LOLWUT, SHUTDOWN, and FUNCTION as far as a server without scripts has it.
 */
#include <signal.h>

#include "core/os/clock.h"
#include "core/os/log.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/call/help.h"
#include "shards/local/version.h"
#include "shards/route/home.h"
#include "shards/route/server.h"

/* ---- TIME
 * ---------------------------------------------------------------------------------------- */

static enum status cmd_time(struct call *call)
{
    int64_t now_us = clock_wall_us();
    reply_array(call->reply, 2);
    reply_bulk_int(call->reply, now_us / 1000000);
    reply_bulk_int(call->reply, now_us % 1000000);
    return OK;
}

/* ---- LOLWUT
 * -------------------------------------------------------------------------------------- */

#define ART_WIDTH 64
#define ART_HEIGHT 20
#define ART_SHERDS_MIN 6u
#define ART_SHERDS_MAX 24u

struct sherd {
    int x, y;
};

static uint32_t nearest_sherd(const struct sherd *sherds, uint32_t count, int x, int y)
{
    uint32_t nearest = 0;
    int nearest_distance = INT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        /* A character is twice as high as wide. */
        int dx = x - sherds[i].x, dy = 2 * (y - sherds[i].y);
        if (dx * dx + dy * dy < nearest_distance) {
            nearest_distance = dx * dx + dy * dy;
            nearest = i;
        }
    }
    return nearest;
}

/* A broken plate: each piece is what lies nearest to a random point, and cracks run between pieces.
 */
static void draw_plate(struct rng *rng, struct buf *out)
{
    static const char *const glazes[] = {"░", "▒", "▓", "█"};
    struct sherd sherds[ART_SHERDS_MAX];
    uint32_t count = ART_SHERDS_MIN + (uint32_t)rng_below(rng, ART_SHERDS_MAX - ART_SHERDS_MIN);
    for (uint32_t i = 0; i < count; i++)
        sherds[i] = (struct sherd){(int)rng_below(rng, ART_WIDTH), (int)rng_below(rng, ART_HEIGHT)};

    for (int y = 0; y < ART_HEIGHT; y++) {
        for (int x = 0; x < ART_WIDTH; x++) {
            int dx = 2 * x - ART_WIDTH + 1, dy = 2 * (2 * y - ART_HEIGHT + 1);
            bool is_plate = dx * dx * ART_HEIGHT * ART_HEIGHT +
                                dy * dy * (ART_WIDTH * ART_WIDTH / 4) <
                            ART_WIDTH * ART_WIDTH * ART_HEIGHT * ART_HEIGHT;
            uint32_t here = nearest_sherd(sherds, count, x, y);
            bool is_crack = here != nearest_sherd(sherds, count, x + 1, y) ||
                            here != nearest_sherd(sherds, count, x, y + 1);
            buf_add_text(out, !is_plate || is_crack ? " " : glazes[here % 4]);
        }
        buf_add_char(out, '\n');
    }
}

/* VERSION asks Redis for the art of one of its versions; there is one picture here. */
static enum status cmd_lolwut(struct call *call)
{
    int64_t version;
    if (call->arg_count >= 3 && call_arg_is(call, 1, "VERSION"))
        TRY(call_arg_int(call, 2, &version));

    struct buf art = {0};
    draw_plate(&call->shard->rng, &art);
    buf_add_text(&art, "\nA plate, and what became of it. Redis ver. " REDIS_VERSION "\n");
    reply_verbatim(call->reply, buf_bytes(&art), "txt");
    buf_fini(&art);
    return OK;
}

/* ---- SHUTDOWN
 * ------------------------------------------------------------------------------------ */

#define SHUTDOWN_ABORT (1u << 4) /* beside CONFIG_SHUTDOWN_* */

static enum status read_shutdown(struct call *call, uint32_t *out_words)
{
    static const struct {
        const char *word;
        uint32_t bit;
    } words[] = {{"NOSAVE", CONFIG_SHUTDOWN_NOSAVE},
                 {"SAVE", CONFIG_SHUTDOWN_SAVE},
                 {"NOW", CONFIG_SHUTDOWN_NOW},
                 {"FORCE", CONFIG_SHUTDOWN_FORCE},
                 {"ABORT", SHUTDOWN_ABORT}};
    uint32_t given = 0;
    for (uint32_t i = 1; i < call->arg_count; i++) {
        uint32_t bit = 0;
        for (size_t j = 0; j < sizeof words / sizeof words[0]; j++)
            if (call_arg_is(call, i, words[j].word))
                bit = words[j].bit;
        if (!bit)
            return ERR_SYNTAX;
        given |= bit;
    }
    bool contradicts = given & CONFIG_SHUTDOWN_SAVE && given & CONFIG_SHUTDOWN_NOSAVE;
    if (contradicts || (given & SHUTDOWN_ABORT && given != SHUTDOWN_ABORT))
        return ERR_SYNTAX;
    *out_words = given;
    return OK;
}

/* There is nothing to wait for and nothing to save, so NOW and FORCE change nothing but what SAVE
 * may lead to: FORCE ends the server though it cannot save. */
static enum status cmd_shutdown(struct call *call)
{
    uint32_t words;
    TRY(read_shutdown(call, &words));
    if (words & SHUTDOWN_ABORT)
        return call_fail_text(call, "ERR No shutdown in progress.");
    if (words & CONFIG_SHUTDOWN_SAVE && !(words & CONFIG_SHUTDOWN_FORCE))
        return call_fail_text(call,
                              "ERR Errors trying to SHUTDOWN: snapshots are not built yet, so "
                              "nothing can be saved. SHUTDOWN NOSAVE ends the server without.");
    log_warn("server.shutdown_asked", "client=%llu", (unsigned long long)call->client_id);
    server_stop(call->home->server, SIGTERM);
    return OK; /* the answer is that the connection closes */
}

/* ---- FUNCTION
 * ------------------------------------------------------------------------------------ */

/* There are no functions, so none is left afterwards. */
static enum status cmd_function_flush(struct call *call)
{
    if (call->arg_count > 3)
        return call_fail_text(call,
                              "ERR unknown subcommand or wrong number of arguments for "
                              "'%.*s'. Try FUNCTION HELP.",
                              (int)call->args[1].len, call->args[1].ptr);
    if (call->arg_count == 3 && !call_arg_is(call, 2, "SYNC") && !call_arg_is(call, 2, "ASYNC"))
        return call_fail_text(call, "ERR FUNCTION FLUSH only supports SYNC|ASYNC option");
    reply_ok(call->reply);
    return OK;
}

/* ---- Rows
 * ---------------------------------------------------------------------------------------- */

/* clang-format off */
const struct command server_commands[] = {
    {.name = "time", .arity = 1, .run = cmd_time, .plan = PLAN_HERE, .flags = CMD_LOADING | CMD_STALE | CMD_FAST,
     .syntax = "", .since = "2.6.0", .cost = "O(1)", .tips = "nondeterministic_output",
     .brief = "Tells the server's time: Unix seconds, and microseconds of the current one."},
    {.name = "lolwut", .arity = -1, .run = cmd_lolwut, .plan = PLAN_HERE, .flags = CMD_READONLY | CMD_FAST,
     .syntax = "[VERSION version]", .since = "5.0.0",
     .brief = "Draws something, and tells the version."},
    {.name = "shutdown", .arity = -1, .run = cmd_shutdown, .plan = PLAN_HERE,
     .flags = CMD_ADMIN | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_NO_MULTI | CMD_ALLOW_BUSY,
     .syntax = "[NOSAVE | SAVE] [NOW]@7.0.0 [FORCE]@7.0.0 [ABORT]@7.0.0", .since = "1.0.0",
     .cost = "O(1)",
     .history = "7.0.0 Takes NOW, FORCE and ABORT.",
     .brief = "Ends the server."},
    {0},
};

static const struct command function_subcommands[] = {
    {.name = "flush", .arity = -2, .run = cmd_function_flush, .plan = PLAN_HERE, .flags = CMD_WRITE | CMD_NOSCRIPT, .acl = ACL_SCRIPTING,
     .syntax = "[ASYNC | SYNC]", .since = "7.0.0", .cost = "O(1)",
     .tips = "request_policy:all_shards,response_policy:all_succeeded",
     .brief = "Deletes all libraries of functions."},
    {.name = "help", .arity = 2, .run = help_run, .plan = PLAN_HERE, .flags = CMD_LOADING | CMD_STALE, .acl = ACL_SCRIPTING,
     .syntax = "", .since = "7.0.0", .cost = "O(1)", .brief = "Lists the subcommands."},
    {0},
};

const struct command function_commands[] = {
    {.name = "function", .arity = -2, .subcommands = function_subcommands,
     .since = "7.0.0", .cost = "that of the subcommand", .brief = "Functions of the server's own script libraries."},
    {0},
};
/* clang-format on */
