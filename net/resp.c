/*
 * resp: the thorough reader.
 *
 * A command is a head "*<words>\r\n" and words "$<len>\r\n<bytes>\r\n"; or, if it does not begin
 * with
 * '*', one line that is split into words as a shell would. The parser stands at the beginning of a
 * line or of a word's bytes (`at`) and steps forward only over what is there entirely; of a line
 * without an end it remembers how far it has searched. Therefore each byte is looked at once,
 * except that an inline line is split after its end was found.
 *
 * Words of an unfinished command are kept as offsets, since the input moves while it grows.
 */
#include "net/resp.h"

#include "core/base/mem.h"
#include "core/base/num.h"

#define PROTOCOL_ERROR(text) BYTES("ERR Protocol error: " text)

/* ---- Lines --------------------------------------------------------------------------------------
 */

enum line_result { LINE_MORE, LINE_FOUND, LINE_TOO_LONG };

/* Looks for the line at parser->at that ends with `end`. `trailing` is how many bytes must follow
 * that. A zero byte hides whatever comes after it. */
static enum line_result find_line(struct resp_parser *parser, struct bytes input, char end,
                                  size_t trailing, struct bytes *out_line)
{
    const char *line = input.ptr + parser->at;
    size_t len = input.len - parser->at;
    size_t visible = len <= RESP_LINE_MAX ? len : RESP_LINE_MAX + 1;

    if (parser->line_searched < visible) {
        size_t unsearched = visible - parser->line_searched;
        const char *from = line + parser->line_searched;
        const char *found = memchr(from, end, unsearched);
        const char *zero = memchr(from, 0, found ? (size_t)(found - from) : unsearched);
        if (found && !zero) {
            if ((size_t)(found - line) + 1 + trailing > len)
                return LINE_MORE;
            *out_line = bytes_of(line, (size_t)(found - line));
            parser->line_searched = 0;
            return LINE_FOUND;
        }
        parser->line_searched = zero ? (size_t)(zero - line) : visible;
    }
    return len > RESP_LINE_MAX ? LINE_TOO_LONG : LINE_MORE;
}

/* ---- Inline commands
 * ------------------------------------------------------------------------------ */

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Does it end a word without quotes, or begin a part in quotes? Vertical tab and form feed do not,
 * although they are passed over between words: Redis's ways. */
static bool ends_bare_word(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '"' || c == '\'';
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Decodes the part of a word in double quotes that begins at `at`, behind the opening quote.
 * Returns the byte behind the closing one, or NULL if there is none. */
static const char *decode_double_quoted(const char *at, const char *end, char **to)
{
    for (; at < end && *at != '"'; at++) {
        if (*at != '\\' || at + 1 == end) {
            *(*to)++ = *at;
        } else if (end - at > 3 && at[1] == 'x' && hex_value(at[2]) >= 0 && hex_value(at[3]) >= 0) {
            *(*to)++ = (char)(hex_value(at[2]) * 16 + hex_value(at[3]));
            at += 3;
        } else {
            static const char names[] = "nrtba", values[] = "\n\r\t\b\a";
            const char *name = *++at ? strchr(names, *at) : NULL;
            *(*to)++ = name ? values[name - names] : *at;
        }
    }
    return at < end ? at + 1 : NULL;
}

/* The same for single quotes, in which only the quote itself can be escaped. */
static const char *decode_single_quoted(const char *at, const char *end, char **to)
{
    for (; at < end && *at != '\''; at++) {
        if (*at == '\\' && end - at > 1 && at[1] == '\'')
            at++;
        *(*to)++ = *at;
    }
    return at < end ? at + 1 : NULL;
}

/* Takes one word, which begins at `at`; it borrows from the line unless it has quotes. Returns the
 * byte behind it, or NULL when a quote is not closed, or closed in the middle of a word. */
static const char *take_inline_word(const char *at, const char *end, struct arena *arena,
                                    struct bytes *out_word)
{
    const char *word = at;
    while (at < end && !ends_bare_word(*at))
        at++;
    if (at == end || (*at != '"' && *at != '\'')) {
        *out_word = bytes_of(word, (size_t)(at - word));
        return at;
    }

    /* A decoded word is never longer than the line that it stands in. */
    char *decoded = arena_alloc(arena, (size_t)(end - word));
    char *to = decoded;
    memcpy(to, word, (size_t)(at - word));
    to += at - word;
    if (*at == '"')
        at = decode_double_quoted(at + 1, end, &to);
    else
        at = decode_single_quoted(at + 1, end, &to);
    if (!at || (at < end && !is_space(*at)))
        return NULL;
    *out_word = bytes_of(decoded, (size_t)(to - decoded));
    return at;
}

bool resp_split_line(struct bytes line, struct arena *arena, struct args *out_args)
{
    const char *at = line.ptr, *end = line.ptr + line.len;
    struct bytes *words = arena_alloc(arena, (line.len / 2 + 1) * sizeof(*words));
    uint32_t count = 0;

    for (;;) {
        while (at < end && is_space(*at))
            at++;
        if (at == end)
            break;
        at = take_inline_word(at, end, arena, &words[count++]);
        if (!at)
            return false;
    }
    out_args->words = words;
    out_args->count = count;
    return true;
}

static enum resp_result read_inline(struct resp_parser *parser, struct bytes input,
                                    struct arena *arena, struct args *out_args, size_t *out_len,
                                    struct bytes *out_error)
{
    struct bytes line;
    switch (find_line(parser, input, '\n', 0, &line)) {
    case LINE_MORE:
        return RESP_MORE;
    case LINE_TOO_LONG:
        *out_error = PROTOCOL_ERROR("too big inline request");
        return RESP_ERROR;
    case LINE_FOUND:
        break;
    }
    *out_len = line.len + 1;
    if (line.len && line.ptr[line.len - 1] == '\r')
        line.len--;
    if (!resp_split_line(line, arena, out_args)) {
        *out_error = PROTOCOL_ERROR("unbalanced quotes in request");
        return RESP_ERROR;
    }
    out_args->wire_bytes = (uint32_t)*out_len;
    return out_args->count ? RESP_COMMAND : RESP_EMPTY;
}

/* ---- Arrays
 * --------------------------------------------------------------------------------------- */

static void add_word(struct resp_parser *parser, size_t at, size_t len)
{
    if (parser->word_count == parser->word_cap) {
        parser->word_cap = parser->word_cap ? parser->word_cap * 2 : 16;
        parser->words = mem_realloc(parser->words, parser->word_cap * sizeof(*parser->words));
    }
    parser->words[parser->word_count++] = (struct resp_span){(uint32_t)at, (uint32_t)len};
}

/* Reads "*<count>\r\n". */
static enum resp_result read_head(struct resp_parser *parser, struct bytes input,
                                  const struct resp_limits *limits, struct bytes *out_error)
{
    struct bytes line;
    switch (find_line(parser, input, '\r', 1, &line)) {
    case LINE_MORE:
        return RESP_MORE;
    case LINE_TOO_LONG:
        *out_error = PROTOCOL_ERROR("too big mbulk count string");
        return RESP_ERROR;
    case LINE_FOUND:
        break;
    }
    int64_t count;
    if (!num_to_int(bytes_of(line.ptr + 1, line.len - 1), &count) || count > RESP_WORDS_MAX) {
        *out_error = PROTOCOL_ERROR("invalid multibulk length");
        return RESP_ERROR;
    }
    if (count > RESP_UNTRUSTED_WORDS_MAX && !limits->trusted) {
        *out_error = PROTOCOL_ERROR("unauthenticated multibulk length");
        return RESP_ERROR;
    }
    parser->at += line.len + 2;
    parser->words_left = count > 0 ? (uint32_t)count : 0;
    return count > 0 ? RESP_COMMAND : RESP_EMPTY;
}

/* Reads "$<len>\r\n". */
static enum resp_result read_bulk_len(struct resp_parser *parser, struct bytes input,
                                      const struct resp_limits *limits, struct arena *arena,
                                      struct bytes *out_error)
{
    struct bytes line;
    switch (find_line(parser, input, '\r', 1, &line)) {
    case LINE_MORE:
        return RESP_MORE;
    case LINE_TOO_LONG:
        *out_error = PROTOCOL_ERROR("too big bulk count string");
        return RESP_ERROR;
    case LINE_FOUND:
        break;
    }
    char type = input.ptr[parser->at]; /* the line may be empty: this is its '\r' then */
    if (type != '$') {
        *out_error = bytes_from_text(arena_format(
            arena, "ERR Protocol error: expected '$', got '%c'", type == '\r' ? ' ' : type));
        return RESP_ERROR;
    }
    int64_t len;
    if (!num_to_int(bytes_of(line.ptr + 1, line.len - 1), &len) || len < 0 ||
        (uint64_t)len > limits->bulk_max) {
        *out_error = PROTOCOL_ERROR("invalid bulk length");
        return RESP_ERROR;
    }
    if (len > RESP_UNTRUSTED_BULK_MAX && !limits->trusted) {
        *out_error = PROTOCOL_ERROR("unauthenticated bulk length");
        return RESP_ERROR;
    }
    parser->at += line.len + 2;
    if (parser->at + (uint64_t)len + 2 > RESP_COMMAND_MAX) {
        *out_error = PROTOCOL_ERROR("too big command");
        return RESP_ERROR;
    }
    parser->bulk_len = (size_t)len;
    parser->has_bulk_len = true;
    return RESP_COMMAND;
}

static enum resp_result read_array(struct resp_parser *parser, struct bytes input,
                                   const struct resp_limits *limits, struct arena *arena,
                                   struct args *out_args, size_t *out_len, struct bytes *out_error)
{
    if (parser->words_left == 0) {
        enum resp_result head = read_head(parser, input, limits, out_error);
        if (head == RESP_EMPTY)
            *out_len = parser->at;
        if (head != RESP_COMMAND)
            return head;
    }
    while (parser->words_left > 0) {
        if (!parser->has_bulk_len) {
            enum resp_result len = read_bulk_len(parser, input, limits, arena, out_error);
            if (len != RESP_COMMAND)
                return len;
        }
        if (input.len - parser->at < parser->bulk_len + 2)
            return RESP_MORE;
        add_word(parser, parser->at, parser->bulk_len);
        parser->at += parser->bulk_len + 2;
        parser->has_bulk_len = false;
        parser->words_left--;
    }

    struct bytes *words = arena_alloc(arena, parser->word_count * sizeof(*words));
    for (uint32_t i = 0; i < parser->word_count; i++)
        words[i] = bytes_of(input.ptr + parser->words[i].at, parser->words[i].len);
    *out_args = (struct args){words, parser->word_count, (uint32_t)parser->at};
    *out_len = parser->at;
    return RESP_COMMAND;
}

/* ---- Public
 * --------------------------------------------------------------------------------------- */

enum resp_result resp_read(struct resp_parser *parser, struct bytes input,
                           const struct resp_limits *limits, struct arena *arena,
                           struct args *out_args, size_t *out_len, struct bytes *out_error)
{
    if (input.len == 0)
        return RESP_MORE;
    if (input.ptr[0] == '*')
        return read_array(parser, input, limits, arena, out_args, out_len, out_error);
    return read_inline(parser, input, arena, out_args, out_len, out_error);
}

size_t resp_wanted(const struct resp_parser *parser, size_t input_len)
{
    size_t wanted = parser->has_bulk_len ? parser->at + parser->bulk_len + 2 : 0;
    return wanted > input_len ? wanted : input_len + 1;
}

void resp_parser_fini(struct resp_parser *parser)
{
    mem_free(parser->words);
    *parser = (struct resp_parser){0};
}
