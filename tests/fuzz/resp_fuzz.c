/*
 * resp_fuzz: commands are the same however the input is cut.
 *
 * The first bytes of the input say how: bit 0 of the first, whether the client is trusted; the
 * second, how many cuts follow; then two bytes a cut, each how far it lies from the last one. What
 * remains is read once whole and once in pieces, and the words, the errors and what is left must
 * agree. Each piece is put into memory that ends with it, so that a look beyond it is noticed.
 */
#include "core/base/buf.h"
#include "core/base/check.h"
#include "core/base/mem.h"
#include "net/resp.h"

#define BULK_MAX (1u << 20)

struct reader {
    struct resp_parser parser;
    struct resp_limits limits;
    struct arena arena;
    struct bytes input; /* unread; owned */
    struct buf notes;   /* all words with their lengths */
    bool in_command, failed;
};

static void note(struct reader *reader, const struct args *args)
{
    buf_add_int(&reader->notes, args->count);
    for (uint32_t i = 0; i < args->count; i++) {
        buf_add_char(&reader->notes, ' ');
        buf_add_int(&reader->notes, (int64_t)args->words[i].len);
        buf_add_char(&reader->notes, ':');
        buf_add_bytes(&reader->notes, args->words[i]);
    }
    buf_add_char(&reader->notes, '\n');
}

/* Appends `piece` and drops the first `read_len` bytes, into memory of exactly that size. */
static void move_input(struct reader *reader, size_t read_len, struct bytes piece)
{
    size_t kept = reader->input.len - read_len;
    char *moved = mem_alloc(kept + piece.len + (kept + piece.len == 0));
    if (kept)
        memcpy(moved, reader->input.ptr + read_len, kept);
    if (piece.len)
        memcpy(moved + kept, piece.ptr, piece.len);
    mem_free((void *)reader->input.ptr);
    reader->input = bytes_of(moved, kept + piece.len);
}

static void feed(struct reader *reader, struct bytes piece, bool thorough)
{
    move_input(reader, 0, piece);
    size_t at = 0;
    while (!reader->failed) {
        struct bytes rest = bytes_of(reader->input.ptr + at, reader->input.len - at);
        struct args args = {0};
        struct bytes error = {0};
        size_t len = 0;
        if (!reader->in_command && !thorough)
            len = resp_read_whole(
                rest, reader->limits.trusted ? RESP_WHOLE_WORDS_MAX : RESP_UNTRUSTED_WORDS_MAX,
                &reader->arena, &args);
        enum resp_result result = RESP_COMMAND;
        if (len == 0)
            result = resp_read(&reader->parser, rest, &reader->limits, &reader->arena, &args, &len,
                               &error);
        reader->in_command = result == RESP_MORE;
        if (result == RESP_MORE) {
            ASSERT(resp_wanted(&reader->parser, rest.len) > rest.len);
            break;
        }
        resp_parser_fini(&reader->parser);
        if (result == RESP_ERROR) {
            buf_add_bytes(&reader->notes, error);
            reader->failed = true;
            break;
        }
        ASSERT(len > 0 && len <= rest.len);
        if (result == RESP_COMMAND) {
            ASSERT(args.count > 0 && args.wire_bytes == len);
            note(reader, &args);
        }
        at += len;
    }
    move_input(reader, at, bytes_of(NULL, 0));
    arena_reset(&reader->arena, 4096);
}

static void reader_fini(struct reader *reader)
{
    mem_free((void *)reader->input.ptr);
    resp_parser_fini(&reader->parser);
    arena_fini(&reader->arena);
    buf_fini(&reader->notes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size); /* libFuzzer's, who has no header */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct resp_limits limits = {.bulk_max = BULK_MAX, .trusted = data[0] & 1};
    size_t cut_count = data[1], at = 2 + 2 * cut_count;
    if (at > size)
        return 0;

    struct reader whole = {.limits = limits}, cut = {.limits = limits};
    feed(&whole, bytes_of(data + at, size - at), true);
    for (size_t i = 0; i < cut_count; i++) {
        size_t len = data[2 + 2 * i] | (size_t)data[3 + 2 * i] << 8;
        len = len < size - at ? len : size - at;
        feed(&cut, bytes_of(data + at, len), false);
        at += len;
    }
    feed(&cut, bytes_of(data + at, size - at), false);

    ASSERT(whole.failed == cut.failed);
    ASSERT(bytes_equal(buf_bytes(&whole.notes), buf_bytes(&cut.notes)));
    ASSERT(whole.failed || bytes_equal(whole.input, cut.input));
    reader_fini(&whole);
    reader_fini(&cut);
    return 0;
}
