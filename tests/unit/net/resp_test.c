#include "net/resp.h"

#include <criterion/criterion.h>

#include "core/base/buf.h"
#include "core/base/mem.h"

static const struct resp_limits trusted = {.bulk_max = 512u << 20, .trusted = true};
static const struct resp_limits untrusted = {.bulk_max = 512u << 20, .trusted = false};

/* What a reader found, as text: words in brackets, a line end after each command. */
static void note_command(struct buf *notes, const struct args *args)
{
    for (uint32_t i = 0; i < args->count; i++) {
        buf_add_char(notes, '[');
        buf_add_bytes(notes, args->words[i]);
        buf_add_char(notes, ']');
    }
    buf_add_char(notes, '\n');
}

/* A connection in small: input that grows, moves with each piece, and is read to its end. */
struct reader {
    struct resp_parser parser;
    struct arena arena;
    struct resp_limits limits;
    struct buf input;
    struct buf notes;
    bool in_command, failed;
    bool thorough; /* never by resp_read_whole() */
};

static void reader_init(struct reader *reader, const struct resp_limits *limits)
{
    *reader = (struct reader){.limits = *limits};
}

static void reader_fini(struct reader *reader)
{
    resp_parser_fini(&reader->parser);
    arena_fini(&reader->arena);
    buf_fini(&reader->input);
    buf_fini(&reader->notes);
}

static void reader_feed(struct reader *reader, struct bytes piece)
{
    /* Fresh memory each time: a reader that kept a pointer is found out. */
    struct buf moved = {0};
    buf_add_bytes(&moved, buf_bytes(&reader->input));
    buf_add_bytes(&moved, piece);
    buf_fini(&reader->input);
    reader->input = moved;

    while (!reader->failed) {
        struct bytes input = buf_bytes(&reader->input);
        struct args args;
        struct bytes error;
        size_t len = 0;
        if (!reader->in_command && !reader->thorough) {
            uint32_t max = reader->limits.trusted ? RESP_WHOLE_WORDS_MAX : RESP_UNTRUSTED_WORDS_MAX;
            len = resp_read_whole(input, max, &reader->arena, &args);
        }
        enum resp_result result = RESP_COMMAND;
        if (len == 0)
            result = resp_read(&reader->parser, input, &reader->limits, &reader->arena, &args, &len,
                               &error);
        reader->in_command = result == RESP_MORE;
        if (result == RESP_MORE)
            break;
        resp_parser_fini(&reader->parser);
        if (result == RESP_ERROR) {
            buf_add_bytes(&reader->notes, error);
            reader->failed = true;
            break;
        }
        if (result == RESP_COMMAND) {
            cr_assert_eq(args.wire_bytes, len);
            note_command(&reader->notes, &args);
        }
        buf_drop_front(&reader->input, len);
    }
}

/* Both readers, given all of `input`, say `expected`. */
static void expect_with(const struct resp_limits *limits, struct bytes input, const char *expected)
{
    for (int thorough = 0; thorough < 2; thorough++) {
        struct reader reader;
        reader_init(&reader, limits);
        reader.thorough = thorough;
        reader_feed(&reader, input);
        buf_add_char(&reader.notes, '\0');
        cr_expect_str_eq(reader.notes.ptr, expected);
        reader_fini(&reader);
    }
}

#define expect(input, expected) expect_with(&trusted, BYTES(input), expected)
#define expect_untrusted(input, expected) expect_with(&untrusted, BYTES(input), expected)

Test(resp, reads_arrays_of_words)
{
    expect("*1\r\n$4\r\nPING\r\n", "[PING]\n");
    expect("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n",
           "[SET][k][]\n[GET][k]\n");
    expect("*2\r\n$4\r\nECHO\r\n$12\r\na\r\nb\r\n*1\r\n$1\r\n\r\n", "[ECHO][a\r\nb\r\n*1\r\n$1]\n");
}

Test(resp, borrows_words_instead_of_copying_them)
{
    struct bytes input = BYTES("*2\r\n$3\r\nGET\r\n$1\r\nk\r\nPING\r\n");
    struct arena arena = {0};
    struct args args;
    size_t len = resp_read_whole(input, RESP_WHOLE_WORDS_MAX, &arena, &args);
    cr_assert_eq(args.words[1].ptr, input.ptr + 17);

    struct resp_parser parser = {0};
    struct bytes error, rest = bytes_of(input.ptr + len, input.len - len);
    cr_assert_eq(resp_read(&parser, rest, &trusted, &arena, &args, &len, &error), RESP_COMMAND);
    cr_assert_eq(args.words[0].ptr, rest.ptr);
    arena_fini(&arena);
}

Test(resp, reads_long_words_and_many_words)
{
    struct buf input = {0}, expected = {0};
    char *word = mem_alloc(20000);
    memset(word, 'x', 20000);
    static const size_t lens[] = {9, 10, 99, 100, 999, 1000, 9999, 10000, 16384, 20000};
    buf_add_format(&input, "*%zu\r\n", sizeof(lens) / sizeof(lens[0]));
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        buf_add_format(&input, "$%zu\r\n", lens[i]);
        buf_add(&input, word, lens[i]);
        buf_add_text(&input, "\r\n");
        buf_add_char(&expected, '[');
        buf_add(&expected, word, lens[i]);
        buf_add_char(&expected, ']');
    }
    buf_add_char(&expected, '\n');
    for (uint32_t count = 1; count < 3 * RESP_WHOLE_WORDS_MAX; count = count * 3 / 2 + 1) {
        buf_add_format(&input, "*%u\r\n", count);
        for (uint32_t i = 0; i < count; i++) {
            buf_add_text(&input, "$1\r\nw\r\n");
            buf_add_text(&expected, "[w]");
        }
        buf_add_char(&expected, '\n');
    }
    buf_add_char(&expected, '\0');
    expect_with(&trusted, buf_bytes(&input), expected.ptr);
    mem_free(word);
    buf_fini(&input);
    buf_fini(&expected);
}

Test(resp, passes_over_empty_lines_and_arrays)
{
    expect("\r\n\n   \t \r\n*0\r\n*-1\r\n*-1000000\r\nPING\r\n", "[PING]\n");
}

Test(resp, splits_inline_commands_as_redis_does)
{
    expect("  SET \t k\v\fx   v\r\n", "[SET][k\v\fx][v]\n");
    expect("PING\n", "[PING]\n");
    expect("a\rb\r\r\n", "[a][b]\n");
    expect("\v\fPING\r\n", "[PING]\n");
    expect("SET \"a b\" 'c d' e\"f g\" h'i'\r\n", "[SET][a b][c d][ef g][hi]\n");
    expect("ECHO \"\"\r\nECHO ''\r\n", "[ECHO][]\n[ECHO][]\n");
    expect("$4 x\r\n", "[$4][x]\n");
}

Test(resp, decodes_escapes_in_double_quotes_only)
{
    expect("\"\\x41\\x6a\\x6A\\n\\r\\t\\b\\a\\\\\\\"\\q\"\r\n", "[Ajj\n\r\t\b\a\\\"q]\n");
    expect("\"\\x4\\xzz\"\r\n", "[x4xzz]\n");
    expect("'\\x41\\n\\'\\\\ '\r\n", "[\\x41\\n'\\\\ ]\n");
    expect("\\x41\\n\r\n", "[\\x41\\n]\n");
}

Test(resp, refuses_unbalanced_quotes)
{
    const char *error = "ERR Protocol error: unbalanced quotes in request";
    expect("\"\r\n", error);
    expect("SET \"\"\"k\" v\r\n", error);
    expect("SET \"k\"v\r\n", error);
    expect("SET 'k'v\r\n", error);
    expect("SET 'k\r\n", error);
    expect("SET \"k\\\r\n", error);
    expect("SET \"k\\x4\r\n", error);
    expect("SET 'k\\'\r\n", error);
}

Test(resp, refuses_bad_counts_of_words)
{
    const char *error = "ERR Protocol error: invalid multibulk length";
    expect("*2147483648\r\n", error);
    expect("*20000000000000000000\r\n", error);
    expect("*\r\n", error);
    expect("*x\r\n", error);
    expect("*1x\r\n", error);
    expect("* 1\r\n", error);
    expect("*+1\r\n", error);
    expect("*01\r\n", error);
    expect("*-\r\n", error);
    expect("*-0\r\n", error);
    expect("*2147483647\r\n", ""); /* waits for its words */
}

Test(resp, refuses_bad_lengths_of_words)
{
    const char *error = "ERR Protocol error: invalid bulk length";
    expect("*1\r\n$-1\r\n", error);
    expect("*1\r\n$\r\n", error);
    expect("*1\r\n$x\r\n", error);
    expect("*1\r\n$01\r\n", error);
    expect("*1\r\n$00\r\n", error);
    expect("*1\r\n$536870913\r\n", error);
    expect("*1\r\n$536870912\r\n", "");
    expect("*1\r\n$20000000000000000000\r\n", error);
    struct resp_limits small = {.bulk_max = 1u << 20, .trusted = true};
    expect_with(&small, BYTES("*1\r\n$1048577\r\n"), error);
    expect_with(&small, BYTES("*1\r\n$1048576\r\n"), "");
}

Test(resp, says_what_stands_in_the_place_of_a_length)
{
    expect("*1\r\nPING\r\n", "ERR Protocol error: expected '$', got 'P'");
    expect("*3\r\n$3\r\nSET\r\n$1\r\nx\r\nfooz\r\n", "ERR Protocol error: expected '$', got 'f'");
    expect("*1\r\n\r\n", "ERR Protocol error: expected '$', got ' '");
    expect("*1\r\n:1\r\n", "ERR Protocol error: expected '$', got ':'");
    expect("*1\r\nP", ""); /* only when the line is there */
}

Test(resp, keeps_the_untrusted_short)
{
    expect_untrusted("*10\r\n", "");
    expect_untrusted("*11\r\n", "ERR Protocol error: unauthenticated multibulk length");
    expect_untrusted("*1\r\n$16384\r\n", "");
    expect_untrusted("*1\r\n$16385\r\n", "ERR Protocol error: unauthenticated bulk length");
    expect_untrusted("*1\r\n$536870913\r\n", "ERR Protocol error: invalid bulk length");
    expect_untrusted("*10\r\n$1\r\n0\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n4\r\n$1\r\n5\r\n"
                     "$1\r\n6\r\n$1\r\n7\r\n$1\r\n8\r\n$1\r\n9\r\n",
                     "[0][1][2][3][4][5][6][7][8][9]\n");
    expect_untrusted("*11\r\n$1\r\n0\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n4\r\n$1\r\n5\r\n"
                     "$1\r\n6\r\n$1\r\n7\r\n$1\r\n8\r\n$1\r\n9\r\n$1\r\na\r\n",
                     "ERR Protocol error: unauthenticated multibulk length");
}

/* `prefix`, then 'A' up to `len` bytes, then `suffix`. */
static void expect_long(const char *prefix, size_t len, const char *suffix, const char *expected)
{
    struct buf input = {0};
    buf_add_text(&input, prefix);
    while (input.len < len)
        buf_add_char(&input, 'A');
    buf_add_text(&input, suffix);
    expect_with(&trusted, buf_bytes(&input), expected);
    buf_fini(&input);
}

Test(resp, refuses_lines_that_do_not_end)
{
    expect_long("", RESP_LINE_MAX, "", "");
    expect_long("", RESP_LINE_MAX + 1, "", "ERR Protocol error: too big inline request");
    expect_long("", RESP_LINE_MAX + 1, "\r\n", "ERR Protocol error: too big inline request");
    expect_long("*", RESP_LINE_MAX, "", "");
    expect_long("*", RESP_LINE_MAX + 1, "", "ERR Protocol error: too big mbulk count string");
    expect_long("*1\r\n$", 4 + RESP_LINE_MAX, "", "");
    expect_long("*1\r\n$", 4 + RESP_LINE_MAX + 1, "",
                "ERR Protocol error: too big bulk count string");
}

Test(resp, does_not_see_the_end_of_a_line_behind_a_zero_byte)
{
    static const char *const expected[] = {"ERR Protocol error: too big inline request",
                                           "ERR Protocol error: too big mbulk count string",
                                           "ERR Protocol error: too big inline request"};
    static const char starts[] = "\0*$";
    for (int i = 0; i < 3; i++) {
        struct buf input = {0};
        buf_add(&input, starts + i, 1);
        buf_add_char(&input, '\0');
        while (input.len < RESP_LINE_MAX + 1)
            buf_add_text(&input, "AAAAAAAAAA\r\n");
        expect_with(&trusted, buf_bytes(&input), expected[i]);
        buf_fini(&input);
    }
}

Test(resp, refuses_a_command_longer_than_offsets_reach)
{
    /* Two words of 3 GiB: the second one's length is refused, without its bytes. The input is not
     * really there: only the heads are looked at. */
    struct resp_parser parser = {.at = 3221225480u, .words_left = 1, .word_count = 1};
    struct resp_limits limits = {.bulk_max = SIZE_MAX / 2, .trusted = true};
    static const char second[] = "$3221225472\r\n";
    struct arena arena = {0};
    struct args args;
    struct bytes error;
    size_t len;
    char *input = mem_alloc(parser.at + sizeof(second)); /* never touched but at its ends */
    input[0] = '*';
    memcpy(input + parser.at, second, sizeof(second) - 1);
    struct bytes all = bytes_of(input, parser.at + sizeof(second) - 1);
    cr_assert_eq(resp_read(&parser, all, &limits, &arena, &args, &len, &error), RESP_ERROR);
    cr_assert(bytes_equal(error, BYTES("ERR Protocol error: too big command")));
    mem_free(input);
    arena_fini(&arena);
}

Test(resp, ignores_what_ends_a_word_and_the_byte_after_a_carriage_return)
{
    expect("*2\r\n$3\r\nGETxx$1\r\nkyy*1\r\n$4\r\nPING\r\n", "[GET][k]\n[PING]\n");
    expect("*1\rx$4\ryPING\r\n", "[PING]\n");
}

/* ---- Input in pieces
 * ------------------------------------------------------------------------------ */

static const char stream[] =
    "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$12\r\nvalue\r\nvalue\r\n"
    "PING\r\n"
    "\r\n*0\r\n"
    "ECHO \"a\\x41 b\" 'c'\n"
    "*11\r\n$1\r\n0\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n4\r\n$0\r\n\r\n"
    "$1\r\n6\r\n$1\r\n7\r\n$1\r\n8\r\n$1\r\n9\r\n$2\r\n10\r\n"
    "*-1\r\n*1\r\n$4\r\nQUIT\r\n"
    "*1\r\n$04\r\n";

static void read_in_pieces(struct reader *reader, size_t first, size_t second)
{
    size_t len = sizeof(stream) - 1;
    reader_feed(reader, bytes_of(stream, first));
    reader_feed(reader, bytes_of(stream + first, second - first));
    reader_feed(reader, bytes_of(stream + second, len - second));
}

Test(resp, finds_the_same_wherever_the_input_is_cut)
{
    struct reader whole;
    reader_init(&whole, &trusted);
    reader_feed(&whole, bytes_of(stream, sizeof(stream) - 1));
    cr_assert(whole.failed, "the last command is wrong, and was not found so");

    for (size_t first = 0; first < sizeof(stream); first++) {
        for (size_t second = first; second < sizeof(stream); second++) {
            struct reader cut;
            reader_init(&cut, &trusted);
            read_in_pieces(&cut, first, second);
            cr_assert(bytes_equal(buf_bytes(&cut.notes), buf_bytes(&whole.notes)),
                      "cut at %zu and %zu:\n%.*s", first, second, (int)cut.notes.len,
                      cut.notes.ptr);
            reader_fini(&cut);
        }
    }
    reader_fini(&whole);
}

Test(resp, finds_the_same_byte_by_byte)
{
    struct reader whole, slow;
    reader_init(&whole, &trusted);
    reader_init(&slow, &trusted);
    reader_feed(&whole, bytes_of(stream, sizeof(stream) - 1));
    for (size_t i = 0; i < sizeof(stream) - 1; i++)
        reader_feed(&slow, bytes_of(stream + i, 1));
    cr_assert(bytes_equal(buf_bytes(&slow.notes), buf_bytes(&whole.notes)));
    reader_fini(&whole);
    reader_fini(&slow);
}

Test(resp, does_not_read_finished_words_again)
{
    /* Words that were read may be overwritten: only their places are remembered. */
    char input[] = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n";
    size_t len = sizeof(input) - 1, taken = 0;
    struct resp_parser parser = {0};
    struct arena arena = {0};
    struct args args;
    struct bytes error;
    cr_assert_eq(
        resp_read(&parser, bytes_of(input, len - 8), &trusted, &arena, &args, &taken, &error),
        RESP_MORE);
    memset(input + 1, '?', len - 9);
    cr_assert_eq(resp_read(&parser, bytes_of(input, len), &trusted, &arena, &args, &taken, &error),
                 RESP_COMMAND);
    cr_assert_eq(args.count, 3);
    cr_assert(bytes_equal(args.words[0], BYTES("???")));
    cr_assert(bytes_equal(args.words[2], BYTES("v")));
    cr_assert_eq(taken, len);
    resp_parser_fini(&parser);
    arena_fini(&arena);
}

Test(resp, does_not_search_a_line_again)
{
    char input[100];
    memset(input, 'A', sizeof(input));
    struct resp_parser parser = {0};
    struct arena arena = {0};
    struct args args;
    struct bytes error;
    size_t taken;
    cr_assert_eq(resp_read(&parser, bytes_of(input, 50), &trusted, &arena, &args, &taken, &error),
                 RESP_MORE);
    input[20] = '\n'; /* where it has looked already */
    cr_assert_eq(resp_read(&parser, bytes_of(input, 100), &trusted, &arena, &args, &taken, &error),
                 RESP_MORE);
    cr_assert_eq(parser.line_searched, 100);
    arena_fini(&arena);
}

Test(resp, knows_how_much_input_the_next_step_needs)
{
    struct resp_parser parser = {0};
    struct arena arena = {0};
    struct args args;
    struct bytes error;
    size_t taken;
    cr_assert_eq(resp_wanted(&parser, 0), 1);
    struct bytes input = BYTES("*2\r\n$3\r\nGET\r\n$70000\r\n");
    cr_assert_eq(resp_read(&parser, input, &trusted, &arena, &args, &taken, &error), RESP_MORE);
    cr_assert_eq(resp_wanted(&parser, input.len), input.len + 70002);
    resp_parser_fini(&parser);
    arena_fini(&arena);
}

Test(resp, splits_a_line_with_zero_bytes)
{
    struct arena arena = {0};
    struct args args;
    cr_assert(resp_split_line(BYTES("a\0b \"c\\\0d\""), &arena, &args));
    cr_assert_eq(args.count, 2);
    cr_assert(bytes_equal(args.words[0], BYTES("a\0b")));
    cr_assert(bytes_equal(args.words[1], BYTES("c\0d")));
    arena_fini(&arena);
}
