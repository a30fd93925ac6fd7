/*
 * option_value: values of the plain kinds, from text and to text.
 *
 * A value is an int64_t while it is checked; an option marked OPTION_UNSIGNED compares and prints
 * it as unsigned. Error texts are Redis's, which clients and test suites compare.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/num.h"
#include "shards/admin/config_copy.h"
#include "shards/admin/options.h"

#define KIB 1024
#define MEMORY_DIGITS_MAX 127u

bool option_fail(struct option_error *error, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(error->text, sizeof error->text, format, values);
    va_end(values);
    return false;
}

const char *option_keep_text(struct config *config, struct bytes text)
{
    char *copy = arena_alloc(&config->texts, text.len + 1);
    if (text.len)
        memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return copy;
}

/* ---- Where values lie ---------------------------------------------------------------------------
 */

static int64_t read_field(const struct option *option, const struct config *config)
{
    const char *at = (const char *)config + option->offset;
    switch (option->width) {
    case 0:
        return config->kept[option_index(option)].number;
    case 1:
        return *(const uint8_t *)at;
    case 2:
        return *(const uint16_t *)at;
    case 4:
        return *(const uint32_t *)at;
    default:
        return *(const int64_t *)at;
    }
}

static void write_field(const struct option *option, struct config *config, int64_t value)
{
    char *at = (char *)config + option->offset;
    switch (option->width) {
    case 0:
        config->kept[option_index(option)].number = value;
        break;
    case 1:
        *(uint8_t *)at = (uint8_t)value;
        break;
    case 2:
        *(uint16_t *)at = (uint16_t)value;
        break;
    case 4:
        *(uint32_t *)at = (uint32_t)value;
        break;
    default:
        *(int64_t *)at = value;
        break;
    }
}

static const char **text_field(const struct option *option, struct config *config)
{
    if (option->width == 0)
        return &config->kept[option_index(option)].text;
    return (const char **)(void *)((char *)config + option->offset);
}

static const char *read_text(const struct option *option, const struct config *config)
{
    return *text_field(option, (struct config *)(uintptr_t)config);
}

int64_t option_number(const struct option *option, const struct config *config)
{
    return read_field(option, config);
}

/* ---- From text ----------------------------------------------------------------------------------
 */

bool option_parse_memory(struct bytes text, uint64_t *out)
{
    static const struct {
        const char *unit;
        uint64_t bytes;
    } units[] = {
        {"", 1},        {"b", 1},          {"k", 1000},       {"kb", KIB},
        {"m", 1000000}, {"mb", KIB * KIB}, {"g", 1000000000}, {"gb", (uint64_t)KIB * KIB * KIB},
    };

    size_t digits = 0;
    while (digits < text.len && text.ptr[digits] >= '0' && text.ptr[digits] <= '9')
        digits++;
    if (digits > MEMORY_DIGITS_MAX)
        return false;
    uint64_t unit_bytes = 0;
    struct bytes unit = {text.ptr + digits, text.len - digits};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (bytes_is(unit, units[i].unit))
            unit_bytes = units[i].bytes;
    if (unit_bytes == 0)
        return false;

    /* A bare unit counts as zero, and what overflows as the most there is. */
    uint64_t value = 0;
    for (size_t i = 0; i < digits; i++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(text.ptr[i] - '0'), &value)) {
            value = UINT64_MAX;
            break;
        }
    *out = value * unit_bytes;
    return true;
}

static bool parse_octal(struct bytes text, int64_t *out)
{
    char digits[32];
    if (text.len >= sizeof digits)
        return false;
    memcpy(digits, text.ptr, text.len);
    digits[text.len] = '\0';
    char *end;
    errno = 0;
    long long value = strtoll(digits, &end, 8);
    if (errno || *end)
        return false;
    *out = value;
    return true;
}

static bool parse_percent(struct bytes text, int64_t *out)
{
    int64_t value;
    if (text.len < 2 || text.ptr[text.len - 1] != '%' ||
        !num_to_int(bytes_of(text.ptr, text.len - 1), &value) || value < 0)
        return false;
    *out = -value;
    return true;
}

static bool parse_number(const struct option *option, struct bytes text, int64_t *out,
                         struct option_error *error)
{
    uint64_t memory;
    switch (option->kind) {
    case OPTION_MEMORY:
        if (!option_parse_memory(text, &memory))
            return option_fail(error, "argument must be a memory value");
        *out = (int64_t)memory;
        return true;
    case OPTION_MEMORY_PERCENT:
        if (option_parse_memory(text, &memory)) {
            *out = (int64_t)memory;
            return true;
        }
        return parse_percent(text, out) ||
               option_fail(error, "argument must be a memory or percent value");
    case OPTION_OCTAL:
        return parse_octal(text, out) ||
               option_fail(error, "argument couldn't be parsed as an octal number");
    default:
        return num_to_int(text, out) ||
               option_fail(error, "argument couldn't be parsed into an integer");
    }
}

static bool check_range(const struct option *option, int64_t value, struct option_error *error)
{
    if (option->flags & OPTION_UNSIGNED) {
        uint64_t low = (uint64_t)option->low, high = (uint64_t)option->high;
        if ((uint64_t)value >= low && (uint64_t)value <= high)
            return true;
        if (option->kind == OPTION_OCTAL)
            return option_fail(
                error, "argument must be between %" PRIo64 " and %" PRIo64 " inclusive", low, high);
        return option_fail(error, "argument must be between %" PRIu64 " and %" PRIu64 " inclusive",
                           low, high);
    }
    if (option->kind == OPTION_MEMORY_PERCENT && value < 0)
        return value >= option->low ||
               option_fail(error, "percentage argument must be less or equal to %" PRId64,
                           -option->low);
    return (value >= option->low && value <= option->high) ||
           option_fail(error, "argument must be between %" PRId64 " and %" PRId64 " inclusive",
                       option->low, option->high);
}

static bool fail_words(const struct option *option, struct option_error *error)
{
    struct buf text = {0};
    buf_add_text(&text, "argument(s) must be one of the following: ");
    for (const struct option_word *word = option->words; word->word; word++)
        buf_add_format(&text, "%s%s", word == option->words ? "" : ", ", word->word);
    option_fail(error, "%.*s", (int)text.len, text.ptr);
    buf_fini(&text);
    return false;
}

static const struct option_word *find_word(const struct option *option, struct bytes text)
{
    for (const struct option_word *word = option->words; word->word; word++)
        if (bytes_is(text, word->word))
            return word;
    return NULL;
}

static bool parse_words(const struct option *option, const struct bytes *words, uint32_t count,
                        int64_t *out, struct option_error *error)
{
    if (count == 0 || (count > 1 && option->kind == OPTION_WORD))
        return fail_words(option, error);
    int64_t bits = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct option_word *word = find_word(option, words[i]);
        if (!word)
            return fail_words(option, error);
        bits |= word->value;
    }
    *out = bits;
    return true;
}

static bool parse_bool(struct bytes text, int64_t *out, struct option_error *error)
{
    if (!bytes_is(text, "yes") && !bytes_is(text, "no"))
        return option_fail(error, "argument must be 'yes' or 'no'");
    *out = bytes_is(text, "yes");
    return true;
}

static bool refused(const struct option *option, bool is_default, struct option_error *error)
{
    if (is_default || !(option->flags & OPTION_REFUSED))
        return false;
    option_fail(error, "%s", option->note);
    return true;
}

static bool set_text(const struct option *option, struct config *config, struct bytes text,
                     struct option_error *error)
{
    if (text.len == 0)
        text = BYTES(""); /* never a null pointer from here on */
    if (memchr(text.ptr, '\0', text.len))
        return option_fail(error, "argument must not contain a zero byte");
    if (option->check_text && !option->check_text(text, error))
        return false;
    if (refused(option, bytes_equal(text, bytes_from_text(option->text ? option->text : "")),
                error))
        return false;
    *text_field(option, config) = option_keep_text(config, text);
    return true;
}

bool option_set(const struct option *option, struct config *config, const struct bytes *words,
                uint32_t count, struct option_error *error)
{
    if (option->kind == OPTION_SPECIAL)
        return option->special->set(option, config, words, count, error);
    if (count != 1 && !(option->flags & OPTION_MULTI))
        return option_fail(error, "wrong number of arguments");

    int64_t value;
    switch (option->kind) {
    case OPTION_TEXT:
        return set_text(option, config, words[0], error);
    case OPTION_BOOL:
        if (!parse_bool(words[0], &value, error))
            return false;
        break;
    case OPTION_WORD:
    case OPTION_WORDS:
        if (!parse_words(option, words, count, &value, error))
            return false;
        break;
    default:
        if (!parse_number(option, words[0], &value, error) || !check_range(option, value, error))
            return false;
        break;
    }
    if (option->check_number && !option->check_number(&value, error))
        return false;
    if (refused(option, value == option->number, error))
        return false;
    write_field(option, config, value);
    return true;
}

bool option_set_value(const struct option *option, struct config *config, struct bytes value,
                      struct option_error *error)
{
    if (!(option->flags & OPTION_MULTI))
        return option_set(option, config, &value, 1, error);

    /* Every single space separates, so that two make an empty word, which no option likes. */
    uint32_t count = 1;
    for (size_t i = 0; i < value.len; i++)
        count += value.ptr[i] == ' ';
    struct arena scratch = {0};
    struct bytes *words = arena_alloc(&scratch, count * sizeof *words);
    size_t from = 0;
    uint32_t word = 0;
    for (size_t i = 0; i <= value.len; i++)
        if (i == value.len || value.ptr[i] == ' ') {
            words[word++] = bytes_of(value.ptr + from, i - from);
            from = i + 1;
        }
    bool set = option_set(option, config, words, value.len ? count : 0, error);
    arena_fini(&scratch);
    return set;
}

void option_reset(const struct option *option, struct config *config)
{
    if (option->kind == OPTION_TEXT) {
        *text_field(option, config) = option->text ? option->text : "";
    } else if (option->kind != OPTION_SPECIAL) {
        write_field(option, config, option->number);
    } else if (option->text) {
        struct option_error error;
        ASSERT(option_set_value(option, config, bytes_from_text(option->text), &error));
    }
}

void option_own(const struct option *option, struct config *config)
{
    if (option->kind != OPTION_TEXT)
        return;
    const char **text = text_field(option, config);
    *text = option_keep_text(config, bytes_from_text(*text));
}

/* ---- To text ------------------------------------------------------------------------------------
 */

static void add_words(const struct option *option, int64_t value, struct buf *out)
{
    for (const struct option_word *word = option->words; word->word; word++)
        if (word->value == value) {
            buf_add_text(out, word->word);
            return;
        }
    const char *separator = "";
    for (const struct option_word *word = option->words; word->word; word++)
        if (word->value && (value & word->value) == word->value) {
            buf_add_format(out, "%s%s", separator, word->word);
            separator = " ";
        }
}

void option_get(const struct option *option, const struct config *config, struct buf *out)
{
    int64_t value;
    switch (option->kind) {
    case OPTION_SPECIAL:
        option->special->get(option, config, out);
        return;
    case OPTION_TEXT:
        buf_add_text(out, read_text(option, config));
        return;
    default:
        value = read_field(option, config);
        break;
    }
    if (option->kind == OPTION_BOOL)
        buf_add_text(out, value ? "yes" : "no");
    else if (option->kind == OPTION_WORD || option->kind == OPTION_WORDS)
        add_words(option, value, out);
    else if (option->kind == OPTION_OCTAL)
        buf_add_format(out, "%" PRIo64, (uint64_t)value);
    else if (option->kind == OPTION_MEMORY_PERCENT && value < 0)
        buf_add_format(out, "%" PRId64 "%%", -value);
    else if (option->flags & OPTION_UNSIGNED)
        buf_add_format(out, "%" PRIu64, (uint64_t)value);
    else
        buf_add_int(out, value);
}

void option_add_memory(struct buf *out, int64_t bytes)
{
    static const struct {
        const char *unit;
        int64_t bytes;
    } units[] = {{"gb", (int64_t)KIB * KIB * KIB}, {"mb", KIB * KIB}, {"kb", KIB}};
    for (size_t i = 0; bytes && i < sizeof units / sizeof units[0]; i++)
        if (bytes % units[i].bytes == 0) {
            buf_add_format(out, "%" PRId64 "%s", bytes / units[i].bytes, units[i].unit);
            return;
        }
    buf_add_int(out, bytes);
}

void option_add_quoted(struct buf *out, struct bytes text)
{
    static const char plain[] = "\\\"\n\r\t\a\b", letters[] = "\\\"nrtab";
    buf_add_char(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        const char *escape = c ? strchr(plain, c) : NULL;
        if (escape) {
            buf_add_char(out, '\\');
            buf_add_char(out, letters[escape - plain]);
        } else if (c < ' ' || c > '~') {
            buf_add_format(out, "\\x%02x", (unsigned char)c);
        } else {
            buf_add_char(out, c);
        }
    }
    buf_add_char(out, '"');
}

bool option_is_default(const struct option *option, const struct config *config)
{
    if (option->kind == OPTION_TEXT)
        return strcmp(read_text(option, config), option->text ? option->text : "") == 0;
    if (option->kind != OPTION_SPECIAL)
        return read_field(option, config) == option->number;

    /* Say both and compare. */
    struct config *fresh = config_default();
    struct buf now = {0}, before = {0};
    option_get(option, config, &now);
    option_get(option, fresh, &before);
    bool is_equal = bytes_equal(buf_bytes(&now), buf_bytes(&before));
    buf_fini(&now);
    buf_fini(&before);
    config_free(fresh);
    return is_equal;
}

bool option_is_named(const struct option *option, const struct config *config)
{
    uint32_t index = option_index(option);
    return config->named[index / 64] >> (index % 64) & 1;
}

void option_rewrite(const struct option *option, const struct config *config,
                    const struct option_sink *sink)
{
    if (option->kind == OPTION_SPECIAL) {
        option->special->rewrite(option, config, sink);
        return;
    }
    bool is_text = option->kind == OPTION_TEXT;
    if (is_text && option->flags & OPTION_UNSET && !*read_text(option, config))
        return;

    bool is_memory = option->kind == OPTION_MEMORY ||
                     (option->kind == OPTION_MEMORY_PERCENT && read_field(option, config) >= 0);
    struct buf line = {0};
    buf_add_format(&line, "%s ", option->name);
    if (is_text)
        option_add_quoted(&line, bytes_from_text(read_text(option, config)));
    else if (is_memory)
        option_add_memory(&line, read_field(option, config));
    else
        option_get(option, config, &line);
    sink->put(sink->context, option, buf_bytes(&line), !option_is_default(option, config));
    buf_fini(&line);
}
