/*
 * How: recursive descent over the text. A sequence is a list of items; a token takes the word or
 * group behind it as its value; a bracket that repeats what stands before it makes that multiple.
 */
#include "shards/call/syntax.h"

#include <ctype.h>

#include "core/base/check.h"

struct parser {
    const char *at;
    struct arena *arena;
};

static struct syntax_arg *parse_list(struct parser *parser);

const char *syntax_type_name(enum syntax_type type)
{
    static const char *const names[SYNTAX_TYPE_COUNT] = {
        "string",    "integer",    "double", "key",   "pattern",
        "unix-time", "pure-token", "oneof",  "block",
    };
    return names[type];
}

/* ---- What words mean ---- */

/* Space-separated, for each type that is not a string. */
static const char *const words_of_type[SYNTAX_TYPE_COUNT] = {
    [SYNTAX_INTEGER] =
        "bit bits client-id cluster-bus-port config-epoch count cursor db decrement destination-db "
        "end end-slot entries-added entries-read frequency increment index index1 index2 len limit "
        "maxage milliseconds min-match-len ms num-matches numkeys numlocal numreplicas offset port "
        "protover rank seconds slot start start-slot stop timeout ttl version weight",
    [SYNTAX_DOUBLE] = "height latitude longitude max min radius score width",
    [SYNTAX_KEY] = "destination destkey dst key key1 key2 newkey source sourcekey src",
    [SYNTAX_PATTERN] = "pattern",
    [SYNTAX_UNIX_TIME] = "unix-time-seconds unix-time-milliseconds",
};

/* Tokens that are not written in capitals. */
static const char lower_tokens[] = "normal master slave replica pubsub m km ft mi lib-name lib-ver";

/* How a choice is called, by its first token. */
static const char *const choice_names[][2] = {
    {"NX", "condition"}, {"GT", "comparison"}, {"EX", "expiration"}, {"ASYNC", "flush-type"},
    {"ASC", "order"},    {"m", "unit"},        {"BYTE", "unit"},     {"NOSAVE", "save-selector"},
};

static bool is_among(struct bytes word, const char *words)
{
    for (const char *at = words; at && *at;) {
        size_t len = strcspn(at, " ");
        if (bytes_equal(word, bytes_of(at, len)))
            return true;
        at += len + (at[len] == ' ');
    }
    return false;
}

static enum syntax_type usual_type(struct bytes word)
{
    for (int type = 0; type < SYNTAX_TYPE_COUNT; type++) {
        if (is_among(word, words_of_type[type]))
            return (enum syntax_type)type;
    }
    return SYNTAX_STRING;
}

static bool is_token(struct bytes word)
{
    for (size_t i = 0; i < word.len; i++) {
        if (islower((unsigned char)word.ptr[i]))
            return is_among(word, lower_tokens);
    }
    return true;
}

static struct bytes lower_copy(struct arena *arena, struct bytes word, const char *suffix)
{
    size_t suffix_len = strlen(suffix);
    char *copy = arena_alloc(arena, word.len + suffix_len + 1);
    for (size_t i = 0; i < word.len; i++)
        copy[i] = (char)tolower((unsigned char)word.ptr[i]);
    memcpy(copy + word.len, suffix, suffix_len + 1);
    return bytes_of(copy, word.len + suffix_len);
}

/* ---- Words ---- */

static void skip_blanks(struct parser *parser)
{
    while (*parser->at == ' ')
        parser->at++;
}

static bool ends_word(char c)
{
    return c == '\0' || strchr(" []<>|", c);
}

/* The run of bytes up to `stop` or the word's end. */
static struct bytes take_until(struct parser *parser, const char *stops)
{
    const char *from = parser->at;
    do
        parser->at++;
    while (!ends_word(*parser->at) && !strchr(stops, *parser->at));
    return bytes_of(from, (size_t)(parser->at - from));
}

static enum syntax_type type_called(struct bytes name)
{
    for (int type = 0; type < SYNTAX_TYPE_COUNT; type++) {
        if (bytes_is(name, syntax_type_name((enum syntax_type)type)))
            return (enum syntax_type)type;
    }
    ASSERT(!"a syntax names a type that exists");
    return SYNTAX_STRING;
}

static void take_since(struct parser *parser, struct syntax_arg *arg)
{
    if (*parser->at == '@') {
        parser->at++;
        arg->since = take_until(parser, "!");
    }
    if (*parser->at == '!') {
        parser->at++;
        arg->deprecated_since = take_until(parser, "");
    }
}

/* `name=` before a word or group, or nothing. A lone "=" is a token. */
static struct bytes take_name(struct parser *parser)
{
    size_t len = strcspn(parser->at, " []<>|=/@");
    if (len == 0 || parser->at[len] != '=')
        return (struct bytes){0};
    struct bytes name = bytes_of(parser->at, len);
    parser->at += len + 1;
    return name;
}

static struct syntax_arg *parse_word(struct parser *parser, struct bytes name)
{
    struct syntax_arg *arg = arena_zalloc(parser->arena, sizeof(*arg));
    struct bytes word = take_until(parser, "/@!");
    if (is_token(word)) {
        arg->type = SYNTAX_PURE_TOKEN;
        arg->token = word;
        arg->name = name.len ? name : lower_copy(parser->arena, word, "");
        arg->shown = arg->name;
    } else {
        arg->type = usual_type(word);
        arg->name = name.len ? name : word;
        arg->shown = word;
    }
    if (*parser->at == '/') { /* whatever it looks like, it stands for a value */
        parser->at++;
        arg->type = type_called(take_until(parser, "@!"));
        arg->token = (struct bytes){0};
        arg->shown = word;
        arg->name = name.len ? name : word;
    }
    take_since(parser, arg);
    return arg;
}

/* ---- Groups ---- */

static struct syntax_arg *make_group(struct parser *parser, enum syntax_type type,
                                     struct syntax_arg *args, struct bytes name)
{
    struct syntax_arg *group = arena_zalloc(parser->arena, sizeof(*group));
    group->type = type;
    group->args = args;
    group->name = name;
    return group;
}

/* TOKEN a b: the token is the block's, not that of its first word. */
static struct syntax_arg *token_block(struct parser *parser, struct syntax_arg *list)
{
    struct syntax_arg *group = make_group(parser, SYNTAX_BLOCK, list, (struct bytes){0});
    group->token = list->token;
    group->name = lower_copy(parser->arena, list->token, "");
    list->token = (struct bytes){0};
    return group;
}

/* One alternative: a single item stands for itself, several become a block. */
static struct syntax_arg *as_one(struct parser *parser, struct syntax_arg *list)
{
    ASSERT(list); /* brackets hold something */
    if (!list->next)
        return list;
    bool only_words = true;
    for (const struct syntax_arg *arg = list; arg; arg = arg->next)
        only_words &= !arg->args && !(arg->flags & SYNTAX_OPTIONAL);
    if (list->token.len && list->type != SYNTAX_PURE_TOKEN && only_words)
        return token_block(parser, list);
    struct bytes name = list->token.len ? lower_copy(parser->arena, list->token, "-block")
                                        : BYTES("arguments");
    return make_group(parser, SYNTAX_BLOCK, list, name);
}

static struct bytes choice_name(const struct syntax_arg *first)
{
    for (size_t i = 0; i < sizeof(choice_names) / sizeof(choice_names[0]); i++) {
        if (bytes_equal(first->token, bytes_from_text(choice_names[i][0])))
            return bytes_from_text(choice_names[i][1]);
    }
    return BYTES("arguments");
}

/* What stands between brackets, up to the closing one; the opening one has been taken. */
static struct syntax_arg *parse_group(struct parser *parser, char close, struct bytes name)
{
    struct syntax_arg *first = as_one(parser, parse_list(parser));
    struct syntax_arg *last = first;
    while (*parser->at == '|') {
        parser->at++;
        last->next = as_one(parser, parse_list(parser));
        last = last->next;
    }
    ASSERT(*parser->at == close);
    parser->at++;
    struct syntax_arg *group = last == first
                                   ? first
                                   : make_group(parser, SYNTAX_ONEOF, first, choice_name(first));
    if (name.len)
        group->name = name;
    if (close == ']')
        group->flags |= SYNTAX_OPTIONAL;
    take_since(parser, group);
    return group;
}

/* ---- Repetition ---- */

/* If a bracket follows that ends with "...", its text before that; else empty. */
static struct bytes repeated_text(const struct parser *parser)
{
    const char *end = strchr(parser->at, ']');
    if (*parser->at != '[' || !end || end - parser->at < 4 || memcmp(end - 3, "...", 3) != 0)
        return (struct bytes){0};
    const char *from = parser->at + 1;
    if (memchr(from, '[', (size_t)(end - from)))
        return (struct bytes){0}; /* an inner bracket repeats something */
    return bytes_of(from, (size_t)(end - from));
}

/* Words of "key value ...": 2. */
static uint32_t count_words(struct bytes text)
{
    uint32_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += text.ptr[i] != ' ' && (i == 0 || text.ptr[i - 1] == ' ');
    return count - 1; /* the dots */
}

/* `[a ...]` makes the item `a` before it multiple; `[a b ...]` the last two a block, and multiple.
 * A bare
 * `[...]` speaks of the last item, whatever that is. */
static void apply_repetition(struct parser *parser, struct bytes text, struct syntax_arg *list)
{
    uint32_t words = count_words(text), items = 0;
    for (const struct syntax_arg *arg = list; arg; arg = arg->next)
        items++;
    struct bytes first = bytes_of(text.ptr, strcspn(text.ptr, " "));
    bool repeats_token = words == 2 && is_token(first);
    uint32_t block_len = words <= 1 || repeats_token ? 1 : words;
    ASSERT(items >= block_len);

    struct syntax_arg *from = list;
    for (uint32_t i = 0; i + block_len < items; i++)
        from = from->next;
    if (block_len > 1) {
        struct syntax_arg *copy = arena_alloc(parser->arena, sizeof(*copy));
        *copy = *from;
        *from = (struct syntax_arg){.type = SYNTAX_BLOCK, .args = copy, .name = BYTES("data")};
    }
    repeats_token |= words == 0 && from->token.len > 0;
    from->flags |= SYNTAX_MULTIPLE | (repeats_token ? SYNTAX_MULTIPLE_TOKEN : 0);
    parser->at = text.ptr + text.len + 1;
}

/* ---- Sequences ---- */

static struct syntax_arg *parse_item(struct parser *parser)
{
    struct bytes name = take_name(parser);
    if (*parser->at == '<' || *parser->at == '[') {
        char close = *parser->at++ == '<' ? '>' : ']';
        return parse_group(parser, close, name);
    }
    return parse_word(parser, name);
}

/* Gives a bare token the value behind it: a word, or a choice that must be made. */
static void take_value(struct parser *parser, struct syntax_arg *arg)
{
    skip_blanks(parser);
    if (*parser->at == '\0' || strchr("[]>|", *parser->at))
        return;
    const char *before = parser->at;
    struct bytes since = arg->since;
    struct syntax_arg *value = parse_item(parser);
    if (value->token.len) { /* another token: this one stood alone */
        parser->at = before;
        return;
    }
    if (value->type == SYNTAX_ONEOF && bytes_equal(value->name, BYTES("arguments")))
        value->name = arg->name;
    value->token = arg->token;
    if (!value->since.len)
        value->since = since;
    *arg = *value;
}

static struct syntax_arg *parse_list(struct parser *parser)
{
    struct syntax_arg *first = NULL, **end = &first;
    for (skip_blanks(parser); *parser->at && !strchr("]>|", *parser->at); skip_blanks(parser)) {
        struct bytes repeated = repeated_text(parser);
        if (repeated.len) {
            ASSERT(first);
            apply_repetition(parser, repeated, first);
            for (end = &first; *end;)
                end = &(*end)->next;
            continue;
        }
        struct syntax_arg *arg = parse_item(parser);
        if (arg->type == SYNTAX_PURE_TOKEN && !(arg->flags & SYNTAX_OPTIONAL))
            take_value(parser, arg);
        *end = arg;
        end = &arg->next;
    }
    return first;
}

struct syntax_arg *syntax_parse(const char *text, struct arena *arena)
{
    struct parser parser = {.at = text, .arena = arena};
    struct syntax_arg *args = parse_list(&parser);
    ASSERT(*parser.at == '\0');
    return args;
}

void syntax_show(const char *text, struct buf *out)
{
    struct parser parser = {.at = text};
    while (*parser.at) {
        take_name(&parser);
        if (ends_word(*parser.at)) {
            if (*parser.at)
                buf_add_char(out, *parser.at++);
            if (*parser.at == '@' || *parser.at == '!')
                take_until(&parser, "");
            continue;
        }
        buf_add_bytes(out, take_until(&parser, "/@!"));
        while (*parser.at == '/' || *parser.at == '@' || *parser.at == '!')
            take_until(&parser, "@!");
    }
}
