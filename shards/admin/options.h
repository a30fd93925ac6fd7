/*
 * options: the one table of all that can be configured, and how a row is read, written and printed.
 *
 * One row an option: what it is called, what it may be, what it is by default, and where its value
 * lies in a struct config. redis.conf, the command line, CONFIG GET, SET and REWRITE all go through
 * these functions, so that a new option is a new row and a field.
 *
 * Honest     A row without a `note` is obeyed. OPTION_IDLE: its value is kept and given back, has
 * no effect here, and the note says why. OPTION_REFUSED: it protects data or access and is not
 *            built: values other than the default are errors, whose text is the note.
 * Thread     any; the table never changes.
 */
#pragma once

#include "core/base/buf.h"
#include "core/base/check.h"
#include "shards/local/config.h"

enum option_kind {
    OPTION_BOOL,           /* yes, no */
    OPTION_NUMBER,         /* a whole number */
    OPTION_MEMORY,         /* bytes, with a unit: 100mb */
    OPTION_MEMORY_PERCENT, /* bytes, or a share: 5% (kept as -5) */
    OPTION_OCTAL,          /* a file mode */
    OPTION_WORD,           /* one of a list */
    OPTION_WORDS,          /* any of a list of bits */
    OPTION_TEXT,
    OPTION_SPECIAL, /* several words with a meaning of their own: option_special.c */
};

#define OPTION_IMMUTABLE (1u << 0) /* at start only */
#define OPTION_HIDDEN (1u << 1)    /* CONFIG GET shows it by its exact name only */
#define OPTION_SENSITIVE (1u << 2) /* its value is kept out of logs */
#define OPTION_PROTECTED (1u << 3) /* CONFIG SET needs enable-protected-configs */
#define OPTION_IDLE (1u << 4)
#define OPTION_REFUSED (1u << 5)
#define OPTION_UNSIGNED (1u << 6) /* range and value are unsigned 64-bit */
#define OPTION_MULTI (1u << 7)    /* takes several words */
#define OPTION_UNSET (1u << 8)    /* a text whose empty value is not written to a file */
#define OPTION_OURS                                                                                \
    (1u << 9) /* Redis has it not: who sets all that CONFIG GET * told must not fail */

struct option_word {
    const char *word; /* NULL ends the list */
    int64_t value;
};

#define OPTION_ERROR_CAP 256u

/* Why a value was refused, as clients see it after "CONFIG SET failed (...) - ". */
struct option_error {
    char text[OPTION_ERROR_CAP];
};

struct option_special;

struct option {
    const char *name, *alias; /* lower case */
    enum option_kind kind;
    uint16_t flags;
    uint16_t offset, width; /* the field in struct config; width 0: config->kept[row] */
    int64_t number;         /* the default */
    const char *text;       /* the default of a text or a special, as in a file; NULL: "" */
    int64_t low, high;      /* the range of a number */
    const struct option_word *words;
    const struct option_special *special;
    /* Further conditions; may change the value. False with the reason in `*error`. */
    bool (*check_number)(int64_t *number, struct option_error *error);
    bool (*check_text)(struct bytes text, struct option_error *error);
    const char *note;
};

/* Where the lines of a rewritten file go. A line that is not forced is only wanted if the file has
 * named the option before. `line` has no end. */
struct option_sink {
    void (*put)(void *context, const struct option *option, struct bytes line, bool is_forced);
    void *context;
};

struct option_special {
    /* False with the reason; `config` may then be half changed and must be thrown away. */
    bool (*set)(const struct option *option, struct config *config, const struct bytes *words,
                uint32_t count, struct option_error *error);
    void (*get)(const struct option *option, const struct config *config, struct buf *out);
    void (*rewrite)(const struct option *option, const struct config *config,
                    const struct option_sink *sink);
};

/* All rows, in the order in which CONFIG GET lists them. */
uint32_t option_count(void);
const struct option *option_at(uint32_t index);
uint32_t option_index(const struct option *option);

/* The row with that name or alias, in any case, or NULL. */
const struct option *option_find(struct bytes name);

/* Sets one option from its words. False with the reason; `config` is then unchanged, or of a
 * special half changed and to be thrown away. */
MUST_CHECK bool option_set(const struct option *option, struct config *config,
                           const struct bytes *words, uint32_t count, struct option_error *error);

/* CONFIG SET's way: one value, which for an OPTION_MULTI row holds words separated by spaces. */
MUST_CHECK bool option_set_value(const struct option *option, struct config *config,
                                 struct bytes value, struct option_error *error);

/* Gives it its default, without looking at conditions. */
void option_reset(const struct option *option, struct config *config);

/* Copies the texts that `config` borrows for this option into its own memory. */
void option_own(const struct option *option, struct config *config);

/* Appends the value as CONFIG GET shows it. */
void option_get(const struct option *option, const struct config *config, struct buf *out);

/* Puts the lines that say it in a file; none when the file must not name it. */
void option_rewrite(const struct option *option, const struct config *config,
                    const struct option_sink *sink);

/* For what depends on the name of an option: the value of a number, word or bool. */
int64_t option_number(const struct option *option, const struct config *config);

/* Is its value the default? */
bool option_is_default(const struct option *option, const struct config *config);

/* Was it named in the file or on the command line? */
bool option_is_named(const struct option *option, const struct config *config);

bool option_fail(struct option_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* false, always */

/* "100mb" as Redis reads it: k m g are powers of 1000, kb mb gb of 1024. */
MUST_CHECK bool option_parse_memory(struct bytes text, uint64_t *out);
/* The shortest exact form: "100mb". */
void option_add_memory(struct buf *out, int64_t bytes);
/* `text` in double quotes, with the escapes that a file may hold. */
void option_add_quoted(struct buf *out, struct bytes text);
/* A copy of `text` that lives as long as `config`. */
const char *option_keep_text(struct config *config, struct bytes text);
