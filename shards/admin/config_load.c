/*
 * config_load: reads redis.conf, standard input and the command line.
 *
 * All three become one text, read line by line: the file first, then standard input, then a line
 * for each option of the command line. So what comes later wins, and an error names a line of that
 * text. An include is read where it stands, as a text of its own.
 */
#include "shards/admin/config_load.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "net/resp.h"
#include "shards/admin/config_copy.h"
#include "shards/admin/options.h"
#include "shards/call/command_table.h"
#include "shards/local/version.h"

#define INCLUDE_DEPTH_MAX 16

struct loader {
    struct config *config;
    FILE *err;
    uint32_t depth;     /* of includes */
    const char *source; /* the file that is read; NULL: only the command line */
};

/* ---- Saying what is wrong
 * ------------------------------------------------------------------------ */

static bool fail_line(struct loader *loader, uint32_t line_number, struct bytes line,
                      const char *reason)
{
    fprintf(loader->err, "\n*** FATAL CONFIG FILE ERROR (Sherd %s) ***\n", SHERD_VERSION);
    if (line_number) {
        fprintf(loader->err, "Reading the configuration file%s%s, at line %u\n",
                loader->source ? " " : "", loader->source ? loader->source : "", line_number);
        fprintf(loader->err, ">>> '%.*s'\n", (int)line.len, line.ptr);
    }
    fprintf(loader->err, "%s\n", reason);
    return false;
}

/* ---- Lines
 * --------------------------------------------------------------------------------------- */

static struct bytes trim(struct bytes text)
{
    static const char blanks[] = " \t\r\n";
    while (text.len && memchr(blanks, text.ptr[0], sizeof blanks - 1))
        text.ptr++, text.len--;
    while (text.len && memchr(blanks, text.ptr[text.len - 1], sizeof blanks - 1))
        text.len--;
    return text;
}

/* Directives of earlier times that Redis, too, reads and forgets. */
static bool is_forgotten(const struct args *args)
{
    return args->count == 2 && (bytes_is(args->words[0], "list-max-ziplist-entries") ||
                                bytes_is(args->words[0], "list-max-ziplist-value") ||
                                bytes_is(args->words[0], "lua-replicate-commands"));
}

static bool set_option(struct loader *loader, const struct option *option, const struct args *args,
                       struct arena *arena, struct option_error *error)
{
    const struct bytes *words = args->words + 1;
    uint32_t count = args->count - 1;
    struct args inner;

    /* "--save '3600 1'" is as good as "--save 3600 1"; an empty word means none and stays. */
    if (option->flags & OPTION_MULTI && count == 1 && words[0].len) {
        if (!resp_split_line(words[0], arena, &inner))
            return option_fail(error, "Unbalanced quotes in configuration line");
        words = inner.words;
        count = inner.count;
    }
    if (!option_set(option, loader->config, words, count, error))
        return false;
    uint32_t index = option_index(option);
    loader->config->named[index / 64] |= UINT64_C(1) << (index % 64);
    return true;
}

static bool rename_command(const struct args *args, struct option_error *error)
{
    switch (command_table_rename(args->words[1], args->words[2])) {
    case 0:
        return true;
    case -ENOENT:
        return option_fail(error, "No such command in rename-command");
    default:
        return option_fail(error, "Target command name already exists");
    }
}

/* What is not an option. An empty reason means that it has been said already. */
static bool run_directive(struct loader *loader, const struct args *args,
                          struct option_error *error);

static bool read_line(struct loader *loader, uint32_t line_number, struct bytes line)
{
    struct arena arena = {0};
    struct option_error error = {""};
    struct args args;
    bool done = true;

    if (!resp_split_line(line, &arena, &args)) {
        done = option_fail(&error, "Unbalanced quotes in configuration line");
    } else if (args.count) {
        const struct option *option = option_find(args.words[0]);
        if (option)
            done = set_option(loader, option, &args, &arena, &error);
        else if (!is_forgotten(&args))
            done = run_directive(loader, &args, &error);
    }
    if (!done && error.text[0])
        fail_line(loader, line_number, line, error.text);
    arena_fini(&arena);
    return done;
}

static bool read_text(struct loader *loader, struct bytes text)
{
    uint32_t line_number = 0;
    while (text.len) {
        const char *end = memchr(text.ptr, '\n', text.len);
        size_t len = end ? (size_t)(end - text.ptr) : text.len;
        struct bytes line = trim(bytes_of(text.ptr, len));
        line_number++;
        if (line.len && line.ptr[0] != '#' && !read_line(loader, line_number, line))
            return false;
        text.ptr += end ? len + 1 : len;
        text.len -= end ? len + 1 : len;
    }
    return true;
}

/* ---- Files
 * --------------------------------------------------------------------------------------- */

static void add_stream(FILE *stream, struct buf *text)
{
    char chunk[4096];
    for (size_t len; (len = fread(chunk, 1, sizeof chunk, stream)) > 0;)
        buf_add(text, chunk, len);
}

static bool add_file(struct loader *loader, const char *path, struct buf *text)
{
    FILE *stream = fopen(path, "re");
    if (!stream) {
        fprintf(loader->err, "Fatal error, can't open config file '%s': %s\n", path,
                strerror(errno));
        return false;
    }
    add_stream(stream, text);
    bool is_read = !ferror(stream);
    if (!is_read)
        fprintf(loader->err, "Fatal error, can't read config file '%s': %s\n", path,
                strerror(errno));
    fclose(stream);
    return is_read;
}

/* A name without wildcards must be there; a pattern may match nothing, as an empty conf.d does. */
static bool add_files(struct loader *loader, const char *pattern, struct buf *text)
{
    if (!strpbrk(pattern, "*?["))
        return add_file(loader, pattern, text);

    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0)
        return true;
    bool is_read = true;
    for (size_t i = 0; i < found.gl_pathc && is_read; i++) {
        is_read = add_file(loader, found.gl_pathv[i], text);
        if (text->len && text->ptr[text->len - 1] != '\n')
            buf_add_char(text, '\n');
    }
    globfree(&found);
    return is_read;
}

static bool include(struct loader *loader, struct bytes pattern, struct option_error *error)
{
    if (loader->depth == INCLUDE_DEPTH_MAX)
        return option_fail(error, "includes are nested more than %d deep", INCLUDE_DEPTH_MAX);
    struct buf text = {0};
    const char *outer = loader->source, *path = option_keep_text(loader->config, pattern);
    loader->depth++;
    loader->source = path;
    bool done = add_files(loader, path, &text) && read_text(loader, buf_bytes(&text));
    loader->source = outer;
    loader->depth--;
    buf_fini(&text);
    return done;
}

static bool run_directive(struct loader *loader, const struct args *args,
                          struct option_error *error)
{
    struct bytes name = args->words[0];
    if (bytes_is(name, "include") && args->count == 2)
        return include(loader, args->words[1], error);
    if (bytes_is(name, "rename-command") && args->count == 3)
        return rename_command(args, error);
    if (bytes_is(name, "user") && args->count >= 2)
        return option_fail(error, "ACL rules are not built yet");
    if (bytes_is(name, "loadmodule") && args->count >= 2)
        return option_fail(error, "modules are not supported");
    if (memchr(name.ptr, '.', name.len))
        return option_fail(error, "modules are not supported, nor are their settings");
    if (bytes_is(name, "sentinel"))
        return option_fail(error, "this server cannot be a sentinel");
    return option_fail(error, "Bad directive or wrong number of arguments");
}

/* ---- The command line
 * ---------------------------------------------------------------------------- */

static bool is_option_word(const char *word)
{
    return word[0] == '-' && word[1] == '-';
}

/* "--port 7000" in one word brings its value along; "--port" waits for values. */
static bool has_value(const char *word)
{
    struct arena arena = {0};
    struct args args;
    bool has = !resp_split_line(bytes_from_text(word), &arena, &args) || args.count > 1;
    arena_fini(&arena);
    return has;
}

/* Turns the words from `first` on into lines. Right after the name of an option even a word that
 * begins with two dashes is its value, except after --save, which scripts leave empty. Returns
 * whether standard input is to be read. */
static bool add_words(int argc, char **argv, int first, struct buf *lines)
{
    bool reads_stdin = false, may_begin = true;
    for (int i = first; i < argc; i++) {
        const char *word = argv[i];
        bool is_last = i == argc - 1;
        if (strcmp(word, "-") == 0 && (i == 1 || is_last)) {
            reads_stdin = true;
        } else if (may_begin && is_option_word(word)) {
            buf_add_format(lines, "%s%s ", lines->len ? "\n" : "", word + 2);
            bool is_save = bytes_is(bytes_from_text(word), "--save");
            may_begin = has_value(word);
            if (is_save && (is_last || is_option_word(argv[i + 1]))) {
                buf_add_text(lines, "\"\"");
                may_begin = true;
            }
        } else {
            option_add_quoted(lines, bytes_from_text(word));
            buf_add_char(lines, ' ');
            may_begin = true;
        }
    }
    return reads_stdin;
}

/* Resolves "../" too, so that the name stays true after `dir` has moved us. */
static const char *absolute_path(struct config *config, const char *path)
{
    char real[PATH_MAX];
    struct buf text = {0};
    if (path[0] == '/')
        buf_add_text(&text, path);
    else if (realpath(path, real))
        buf_add_text(&text, real);
    else
        buf_add_format(&text, "%s/%s", config->dir, path);
    const char *kept = option_keep_text(config, buf_bytes(&text));
    buf_fini(&text);
    return kept;
}

static bool check_logfile(struct loader *loader)
{
    if (!loader->config->logfile[0])
        return true;
    FILE *stream = fopen(loader->config->logfile, "ae");
    if (stream) {
        fclose(stream);
        return true;
    }
    struct option_error error;
    option_fail(&error, "Can't open the log file: %s", strerror(errno));
    return fail_line(loader, 0, (struct bytes){0}, error.text);
}

static bool load(struct loader *loader, int argc, char **argv)
{
    struct config *config = loader->config;
    bool has_file = argc > 1 && argv[1][0] != '-';
    struct buf text = {0}, lines = {0};
    config->program = option_keep_text(config, bytes_from_text(argv[0]));
    config->executable = absolute_path(config, argv[0]);
    if (has_file)
        loader->source = config->config_file = absolute_path(config, argv[1]);

    bool reads_stdin = add_words(argc, argv, has_file ? 2 : 1, &lines);
    bool done = !has_file || add_files(loader, config->config_file, &text);
    if (done) {
        if (reads_stdin)
            add_stream(stdin, &text);
        buf_add_char(&text, '\n');
        buf_add_bytes(&text, buf_bytes(&lines));
        done = read_text(loader, buf_bytes(&text)) && check_logfile(loader);
    }
    buf_fini(&text);
    buf_fini(&lines);
    return done;
}

static void print_help(FILE *out)
{
    fputs("Usage: sherd [/path/to/redis.conf] [options] [-]\n"
          "       sherd - (the settings are read from standard input)\n"
          "       sherd -v or --version\n"
          "       sherd -h or --help\n"
          "\n"
          "Every setting of redis.conf can be given as an option; of two, the later wins.\n"
          "Settings of sherd alone:\n"
          "       --shards N              threads, 1 to 256; 0: one per usable CPU (default)\n"
          "       --io-backend WORD       auto (default), io_uring or epoll\n"
          "       --lend yes|no           run sleeping shards' work on the thread that needs it\n"
          "       --server_cpulist LIST   CPUs to run on, as taskset writes them\n"
          "       --hash-seed N           a fixed secret for hashing; 0: drawn at start (default)\n"
          "       --order-log-entries N   length of the log of commands over several shards\n"
          "\n"
          "Examples:\n"
          "       sherd                                  (defaults: port 6379, every CPU)\n"
          "       sherd --port 7000 --shards 4 --maxmemory 2gb\n"
          "       sherd /etc/redis/redis.conf --loglevel verbose\n"
          "       echo 'maxmemory 128mb' | sherd -\n",
          out);
}

int config_load(int argc, char **argv, struct config **out_config, FILE *out, FILE *err)
{
    const char *first = argc > 1 ? argv[1] : "";
    if (strcmp(first, "-v") == 0 || strcmp(first, "--version") == 0) {
        fprintf(out, "Sherd server v=%s redis=%s malloc=%s bits=%zu\n", SHERD_VERSION,
                REDIS_VERSION, mem_allocator_name(), sizeof(long) * CHAR_BIT);
        return EXIT_SUCCESS;
    }
    if (strcmp(first, "-h") == 0 || strcmp(first, "--help") == 0) {
        print_help(out);
        return EXIT_SUCCESS;
    }

    struct loader loader = {.config = config_default(), .err = err};
    loader.config->is_loading = true;
    if (!load(&loader, argc, argv)) {
        config_free(loader.config);
        return EXIT_FAILURE;
    }
    loader.config->is_loading = false;
    *out_config = loader.config;
    return CONFIG_START;
}
