/*
 * How: an entry is kept in the form in which it will be answered, which RESP2 and RESP3 share, so
 * that SLOWLOG GET copies it. Ids are taken when an entry is made; they ascend within a home.
 */
#include "shards/admin/slowlog.h"

#include <stdio.h>

#include "core/base/mem.h"
#include "net/reply.h"
#include "shards/admin/redact.h"
#include "shards/call/call.h"
#include "shards/call/session.h"
#include "shards/local/shard.h"
#include "shards/route/home.h"
#include "shards/route/server.h"

static void encode_word(struct reply *reply, const struct call *call, uint32_t index)
{
    struct bytes word = call_arg(call, index);
    if (redact_hides(call, index)) {
        reply_bulk_text(reply, REDACTED);
    } else if (word.len > SLOWLOG_ARG_BYTES_MAX) {
        char text[SLOWLOG_ARG_BYTES_MAX + 48];
        memcpy(text, word.ptr, SLOWLOG_ARG_BYTES_MAX);
        int note = snprintf(text + SLOWLOG_ARG_BYTES_MAX, sizeof(text) - SLOWLOG_ARG_BYTES_MAX,
                            "... (%zu more bytes)", word.len - SLOWLOG_ARG_BYTES_MAX);
        reply_bulk(reply, bytes_of(text, SLOWLOG_ARG_BYTES_MAX + (size_t)note));
    } else {
        reply_bulk(reply, word);
    }
}

static void encode_words(struct reply *reply, const struct call *call)
{
    uint32_t count = call->arg_count;
    if (count <= SLOWLOG_ARGS_MAX) {
        reply_array(reply, count);
        for (uint32_t i = 0; i < count; i++)
            encode_word(reply, call, i);
        return;
    }
    reply_array(reply, SLOWLOG_ARGS_MAX);
    for (uint32_t i = 0; i < SLOWLOG_ARGS_MAX - 1; i++)
        encode_word(reply, call, i);
    char note[48];
    snprintf(note, sizeof(note), "... (%u more arguments)", count - SLOWLOG_ARGS_MAX + 1);
    reply_bulk_text(reply, note);
}

static void add_entry(struct home *home, struct slowlog *log, const struct tap_event *event)
{
    struct buf text = {0};
    struct reply reply = {.out = &text, .resp = 2};
    uint64_t id = atomic_fetch_add_explicit(&home->server->slowlog_next_id, 1,
                                            memory_order_relaxed); /* only has to be unique */
    char addr[ADDR_TEXT_MAX];
    addr_text(&event->session->conn->peer, addr);

    reply_array(&reply, 6);
    reply_int(&reply, (int64_t)id);
    reply_int(&reply, event->now_us / 1000000);
    reply_int(&reply, event->elapsed_us);
    encode_words(&reply, event->call);
    reply_bulk_text(&reply, addr);
    reply_bulk(&reply, event->session->name);

    struct slowlog_entry *entry = mem_alloc(sizeof(*entry) + text.len);
    entry->id = id;
    entry->len = (uint32_t)text.len;
    memcpy(entry->encoded, text.ptr, text.len);
    entry->older = log->newest;
    log->newest = entry;
    log->count++;
    buf_fini(&text);
}

static void free_chain(struct slowlog_entry *entry)
{
    while (entry) {
        struct slowlog_entry *older = entry->older;
        mem_free(entry);
        entry = older;
    }
}

/* Drops the oldest entries until at most `max` are left. */
static void trim(struct slowlog *log, uint64_t max)
{
    if (log->count <= max)
        return;
    struct slowlog_entry **end = &log->newest;
    for (uint64_t i = 0; i < max; i++)
        end = &(*end)->older;
    free_chain(*end);
    *end = NULL;
    log->count = max;
}

void slowlog_note(struct home *home, struct slowlog *log, const struct tap_event *event)
{
    const struct config *config = home->shard->config; /* what the command itself may have set */
    if (config->slowlog_slower_than_us < 0 ||
        event->elapsed_us < (uint64_t)config->slowlog_slower_than_us ||
        event->call->command->flags & CMD_SKIP_SLOWLOG)
        return;
    add_entry(home, log, event);
    trim(log, config->slowlog_max_len);
}

void slowlog_clear(struct slowlog *log)
{
    free_chain(log->newest);
    *log = (struct slowlog){0};
}
