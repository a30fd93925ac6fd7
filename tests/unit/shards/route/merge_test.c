#include <criterion/criterion.h>
#include <stdio.h>

#include "core/base/mem.h"
#include "shards/call/call.h"

/* Two shards: even slots on 0, odd ones on 1. */
static uint16_t slot_map[SLOT_COUNT];
static struct buf out;
static struct reply reply;
static struct arena arena;

static struct call make_call(const struct command *command, struct bytes *args, uint32_t count)
{
    for (uint32_t slot = 0; slot < SLOT_COUNT; slot++)
        slot_map[slot] = slot % 2;
    out = (struct buf){0};
    arena = (struct arena){0};
    reply = (struct reply){.out = &out, .resp = 2};
    return (struct call){.command = command,
                         .args = args,
                         .arg_count = count,
                         .reply = &reply,
                         .arena = &arena,
                         .slot_map = slot_map};
}

static void expect(const char *text)
{
    cr_assert(bytes_equal(buf_bytes(&out), bytes_from_text(text)), "got %.*s", (int)out.len,
              out.ptr);
    buf_fini(&out);
    arena_fini(&arena);
}

Test(merge, sum_adds_integers)
{
    struct bytes parts[] = {BYTES(":2\r\n"), BYTES(":0\r\n"), BYTES(":40\r\n")};
    struct call call = make_call(NULL, NULL, 0);
    merge_sum(&call, parts, 3);
    expect(":42\r\n");
}

Test(merge, the_first_error_is_the_answer)
{
    struct bytes parts[] = {BYTES(":2\r\n"), BYTES("-ERR one\r\n"), BYTES("-ERR two\r\n")};
    struct call call = make_call(NULL, NULL, 0);
    merge_sum(&call, parts, 3);
    expect("-ERR one\r\n");
    call = make_call(NULL, NULL, 0);
    merge_ok(&call, parts + 1, 2);
    expect("-ERR one\r\n");
}

Test(merge, concat_joins_arrays_end_to_end)
{
    struct bytes parts[] = {BYTES("*2\r\n$1\r\na\r\n$1\r\nb\r\n"), BYTES("*0\r\n"),
                            BYTES("*1\r\n$1\r\nc\r\n")};
    struct call call = make_call(NULL, NULL, 0);
    merge_concat(&call, parts, 3);
    expect("*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n");
}

Test(merge, by_key_deals_elements_back_in_the_order_of_the_words)
{
    static const struct command command = {.name = "mget", .keys = KEYS_ALL(KEY_RO)};
    struct bytes args[6] = {BYTES("mget")};
    static char names[5][8];
    char shard_parts[2][256] = {"", ""};
    uint32_t counts[2] = {0, 0};
    make_call(&command, args, 6); /* fills the map */
    char expected[256] = "*5\r\n";
    for (uint32_t i = 0; i < 5; i++) {
        snprintf(names[i], sizeof(names[i]), "key%u", i);
        args[i + 1] = bytes_from_text(names[i]);
        uint16_t shard = slot_map[key_slot(args[i + 1])];
        size_t len = strlen(shard_parts[shard]), all = strlen(expected);
        snprintf(shard_parts[shard] + len, sizeof(shard_parts[0]) - len, "$1\r\n%u\r\n", i);
        snprintf(expected + all, sizeof(expected) - all, "$1\r\n%u\r\n", i);
        counts[shard]++;
    }
    cr_assert(counts[0] && counts[1], "the keys must lie on both shards");
    struct bytes parts[2];
    char whole[2][300];
    for (uint32_t shard = 0; shard < 2; shard++) {
        snprintf(whole[shard], sizeof(whole[0]), "*%u\r\n%s", counts[shard], shard_parts[shard]);
        parts[shard] = bytes_from_text(whole[shard]);
    }
    struct call call = make_call(&command, args, 6);
    merge_by_key(&call, parts, 2);
    expect(expected);
}
