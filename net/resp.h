/*
 * resp: finds commands in a run of bytes: RESP arrays, and lines typed by hand.
 *
 * Nothing is copied: words point into the input (an inline word with quotes excepted: it is decoded
 * into the arena). There are two readers. resp_read_whole() takes the command that is there
 * entirely and looks as clients write it, which is nearly every command. resp_read() takes all
 * others; it keeps what it knows in a `struct resp_parser`, so that a command in a thousand pieces
 * is read once.
 *
 * Limits and texts are Redis's. Like Redis, it does not look at the byte after a '\r' nor at the
 * two after a bulk, and a line ends nowhere if a zero byte comes before its end.
 * Thread: any.
 */
#pragma once

#include "core/base/arena.h"
#include "core/base/check.h"
#include "net/args.h"

#define RESP_LINE_MAX (64u << 10)    /* bytes of an inline command or of a count, without its end */
#define RESP_WORDS_MAX INT32_MAX     /* words of a command */
#define RESP_COMMAND_MAX UINT32_MAX  /* bytes of a command on the wire */
#define RESP_UNTRUSTED_WORDS_MAX 10u /* words before authentication */
#define RESP_UNTRUSTED_BULK_MAX 16384 /* bytes of a word before authentication */
#define RESP_WHOLE_WORDS_MAX 1024u    /* words that resp_read_whole() takes on */

struct resp_limits {
    size_t bulk_max; /* proto-max-bulk-len; at least 10,000 */
    bool trusted;    /* authenticated, or no password is needed */
};

/* Where a word lies, counted from the command's first byte. */
struct resp_span {
    uint32_t at, len;
};

/* A command that has begun. The zero value is a command of which nothing is known. */
struct resp_parser {
    size_t at;            /* bytes understood */
    size_t line_searched; /* bytes after `at` that hold no end of line */
    size_t bulk_len;      /* of the word that is being waited for, if has_bulk_len */
    bool has_bulk_len;
    uint32_t words_left; /* 0: the command's head is not there yet */
    uint32_t word_count, word_cap;
    struct resp_span *words;
};

enum resp_result {
    RESP_MORE,    /* no whole command yet */
    RESP_COMMAND, /* *out_args is set */
    RESP_EMPTY,   /* a whole command without words, to be passed over */
    RESP_ERROR,   /* *out_error is the reason; the input makes no sense from here on */
};

/* Reads the command that `input` begins with; if resp_read() said RESP_MORE, `input` begins with
 * the same byte as then, wherever that lies now, and has grown. With RESP_COMMAND and RESP_EMPTY
 * `*out_len` is what it took. `*out_error`, "ERR Protocol error: ...", is constant or lives in the
 * arena. After any other result than RESP_MORE the parser is to be thrown away (resp_parser_fini).
 */
enum resp_result resp_read(struct resp_parser *parser, struct bytes input,
                           const struct resp_limits *limits, struct arena *arena,
                           struct args *out_args, size_t *out_len, struct bytes *out_error);

/* How long the input must be, from the command's first byte, for the next step forward: the end of
 * the word that is being waited for; at least one byte more than is there. */
size_t resp_wanted(const struct resp_parser *parser, size_t input_len);

/* Cuts one line, without its end, into words as inline commands and redis.conf have them: blanks
 * separate, quotes join, "\x41\n" is decoded. Words borrow from the line or live in the arena;
 * there may be none. False when a quote is not closed. */
MUST_CHECK bool resp_split_line(struct bytes line, struct arena *arena, struct args *out_args);

/* Frees what the parser holds; it is then the zero value. */
void resp_parser_fini(struct resp_parser *parser);

/* A number of at most four digits at `*at`, of which five bytes must be readable, that ends with
 * "\r\n"; moves `*at` behind that. UINT32_MAX for anything else: resp_read() then says what is
 * wrong. */
static inline uint32_t resp_short_count(const char **at)
{
    const char *p = *at;
    uint32_t count = (uint8_t)(*p++ - '0');
    if (count > 9)
        return UINT32_MAX;
    if (*p != '\r') {
        if (count == 0)
            return UINT32_MAX;
        for (const char *last = p + 3; *p != '\r'; p++) {
            uint32_t digit = (uint8_t)(*p - '0');
            if (digit > 9 || p == last)
                return UINT32_MAX;
            count = count * 10 + digit;
        }
    }
    *at = p + 2;
    return p[1] == '\n' ? count : UINT32_MAX;
}

/* The command of 1..`words_max` words, none of 10,000 bytes or more, that `input` begins with.
 * Returns what it took, or 0 when it is not whole or of another form, which resp_read() must judge.
 * Has no limits to check: `words_max` is RESP_UNTRUSTED_WORDS_MAX before authentication, else
 * RESP_WHOLE_WORDS_MAX. */
static inline size_t resp_read_whole(struct bytes input, uint32_t words_max, struct arena *arena,
                                     struct args *out_args)
{
    const size_t word_min = sizeof("$0\r\n\r\n") - 1;
    const char *at = input.ptr, *end = input.ptr + input.len;

    if (input.len < sizeof("*1\r\n") - 1 + word_min || *at++ != '*')
        return 0;
    uint32_t count = resp_short_count(&at);
    if (count - 1 >= words_max || count * word_min > (size_t)(end - at))
        return 0;

    struct bytes *words = arena_alloc(arena, count * sizeof(*words));
    for (uint32_t i = 0; i < count; i++) {
        /* At least one more word fits: five bytes after the '$' can be read. */
        if ((size_t)(end - at) < word_min || *at++ != '$')
            return 0;
        uint32_t len = resp_short_count(&at);
        if (len == UINT32_MAX || (ptrdiff_t)len + 2 > end - at)
            return 0;
        words[i] = bytes_of(at, len);
        at += len + 2;
    }
    *out_args = (struct args){words, count, (uint32_t)(at - input.ptr)};
    return (size_t)(at - input.ptr);
}
