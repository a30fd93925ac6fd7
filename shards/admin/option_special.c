/*
 * option_special: one small group a special option: set, get, rewrite.
 */
#include "shards/admin/option_special.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/num.h"
#include "shards/admin/config_copy.h"
#include "shards/admin/proc_title.h"

#define OOM_SCORE_MAX 2000

static bool is_one_empty(const struct bytes *words, uint32_t count)
{
    return count == 1 && words[0].len == 0;
}

/* The usual line: the name and what CONFIG GET shows. */
static void put_line(const struct option *option, const struct config *config,
                     const struct option_sink *sink, bool is_forced)
{
    struct buf line = {0};
    buf_add_format(&line, "%s ", option->name);
    size_t mark = line.len;
    option->special->get(option, config, &line);
    if (line.len == mark)
        buf_add_text(&line, "\"\"");
    sink->put(sink->context, option, buf_bytes(&line), is_forced);
    buf_fini(&line);
}

/* ---- bind ---------------------------------------------------------------------------------------
 */

static bool set_bind(const struct option *option, struct config *config, const struct bytes *words,
                     uint32_t count, struct option_error *error)
{
    if (count > CONFIG_BIND_MAX)
        return option_fail(error, "Too many bind addresses specified.");
    config->bind_count = is_one_empty(words, count) ? 0 : count;
    for (uint32_t i = 0; i < config->bind_count; i++)
        config->bind[i] = option_keep_text(config, words[i]);
    return true;
}

static void get_bind(const struct option *option, const struct config *config, struct buf *out)
{
    for (uint32_t i = 0; i < config->bind_count; i++)
        buf_add_format(out, "%s%s", i ? " " : "", config->bind[i]);
}

static void rewrite_bind(const struct option *option, const struct config *config,
                         const struct option_sink *sink)
{
    if (!option_is_default(option, config))
        put_line(option, config, sink, true);
}

const struct option_special option_bind = {set_bind, get_bind, rewrite_bind};

/* ---- client-output-buffer-limit -----------------------------------------------------------------
 */

static const struct output_class {
    const char *name, *alias; /* CONFIG GET says the older of the two */
} output_classes[CONN_CLASS_COUNT] = {
    [CONN_NORMAL] = {"normal", "normal"},
    [CONN_REPLICA] = {"slave", "replica"},
    [CONN_PUBSUB] = {"pubsub", "pubsub"},
};

static bool set_output_limit(const struct option *option, struct config *config,
                             const struct bytes *words, uint32_t count, struct option_error *error)
{
    if (count % 4)
        return option_fail(error, "Wrong number of arguments in buffer limit configuration.");
    for (; count; words += 4, count -= 4) {
        int class = 0;
        while (class < CONN_CLASS_COUNT && !bytes_is(words[0], output_classes[class].name) &&
               !bytes_is(words[0], output_classes[class].alias))
            class ++;
        if (class == CONN_CLASS_COUNT)
            return option_fail(error,
                               "Invalid client class specified in buffer limit configuration.");

        uint64_t hard_bytes, soft_bytes;
        int64_t soft_s;
        if (!option_parse_memory(words[1], &hard_bytes) ||
            !option_parse_memory(words[2], &soft_bytes) || !num_to_int(words[3], &soft_s) ||
            soft_s < 0 || soft_s > INT_MAX)
            return option_fail(error, "Error in hard, soft or soft_seconds setting in "
                                      "buffer limit configuration.");
        config->conn.output[class].hard_bytes = hard_bytes;
        config->conn.output[class].soft_bytes = soft_bytes;
        config->conn.output[class].soft_s = (uint32_t)soft_s;
    }
    return true;
}

static void get_output_limit(const struct option *option, const struct config *config,
                             struct buf *out)
{
    for (int class = 0; class < CONN_CLASS_COUNT; class ++)
        buf_add_format(out, "%s%s %zu %zu %u", class ? " " : "", output_classes[class].name,
                       config->conn.output[class].hard_bytes, config->conn.output[class].soft_bytes,
                       config->conn.output[class].soft_s);
}

/* A line a class, each forced by itself. */
static void rewrite_output_limit(const struct option *option, const struct config *config,
                                 const struct option_sink *sink)
{
    struct config *fresh = config_default();
    for (int class = 0; class < CONN_CLASS_COUNT; class ++) {
        size_t hard_bytes = config->conn.output[class].hard_bytes;
        size_t soft_bytes = config->conn.output[class].soft_bytes;
        uint32_t soft_s = config->conn.output[class].soft_s;
        bool is_default = hard_bytes == fresh->conn.output[class].hard_bytes &&
                          soft_bytes == fresh->conn.output[class].soft_bytes &&
                          soft_s == fresh->conn.output[class].soft_s;
        struct buf line = {0};
        buf_add_format(&line, "%s %s ", option->name, output_classes[class].alias);
        option_add_memory(&line, (int64_t)hard_bytes);
        buf_add_char(&line, ' ');
        option_add_memory(&line, (int64_t)soft_bytes);
        buf_add_format(&line, " %u", soft_s);
        sink->put(sink->context, option, buf_bytes(&line), !is_default);
        buf_fini(&line);
    }
    config_free(fresh);
}

const struct option_special option_output_limit = {set_output_limit, get_output_limit,
                                                   rewrite_output_limit};

/* ---- oom-score-adj-values -----------------------------------------------------------------------
 */

static bool set_oom_values(const struct option *option, struct config *config,
                           const struct bytes *words, uint32_t count, struct option_error *error)
{
    if (count != CONFIG_OOM_SCORES)
        return option_fail(error, "wrong number of arguments");
    for (uint32_t i = 0; i < count; i++) {
        int64_t value;
        if (!num_to_int(words[i], &value) || value < -OOM_SCORE_MAX || value > OOM_SCORE_MAX)
            return option_fail(error,
                               "Invalid oom-score-adj-values, elements must be between %d "
                               "and %d.",
                               -OOM_SCORE_MAX, OOM_SCORE_MAX);
        config->oom_score_adj_values[i] = (int32_t)value;
    }
    return true;
}

static void get_oom_values(const struct option *option, const struct config *config,
                           struct buf *out)
{
    for (uint32_t i = 0; i < CONFIG_OOM_SCORES; i++)
        buf_add_format(out, "%s%" PRId32, i ? " " : "", config->oom_score_adj_values[i]);
}

static void rewrite_oom_values(const struct option *option, const struct config *config,
                               const struct option_sink *sink)
{
    put_line(option, config, sink, !option_is_default(option, config));
}

const struct option_special option_oom_values = {set_oom_values, get_oom_values,
                                                 rewrite_oom_values};

/* ---- latency-tracking-info-percentiles ----------------------------------------------------------
 */

static bool set_percentiles(const struct option *option, struct config *config,
                            const struct bytes *words, uint32_t count, struct option_error *error)
{
    if (is_one_empty(words, count))
        count = 0;
    if (count > CONFIG_PERCENTILES_MAX)
        return option_fail(error, "at most %d latency-tracking-info-percentiles parameters",
                           CONFIG_PERCENTILES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        double percentile;
        if (!num_to_double(words[i], &percentile))
            return option_fail(error, "Invalid latency-tracking-info-percentiles parameters");
        if (percentile > 100.0 || percentile < 0.0)
            return option_fail(error, "latency-tracking-info-percentiles parameters should sit "
                                      "between [0.0,100.0]");
        config->latency_percentiles[i] = percentile;
    }
    config->latency_percentile_count = count;
    return true;
}

static void get_percentiles(const struct option *option, const struct config *config,
                            struct buf *out)
{
    for (uint32_t i = 0; i < config->latency_percentile_count; i++) {
        char text[64];
        int len = snprintf(text, sizeof text, "%f", config->latency_percentiles[i]);
        while (text[len - 1] == '0')
            len--;
        if (text[len - 1] == '.')
            len--;
        buf_add_format(out, "%s%.*s", i ? " " : "", len, text);
    }
}

static void rewrite_percentiles(const struct option *option, const struct config *config,
                                const struct option_sink *sink)
{
    put_line(option, config, sink, true);
}

const struct option_special option_percentiles = {set_percentiles, get_percentiles,
                                                  rewrite_percentiles};

/* ---- notify-keyspace-events ---------------------------------------------------------------------
 */

/* A bit for each letter, in the order in which they are shown; those before EVENTS_ALL make up A.
 */
static const char event_letters[] = "g$lshzxetdnKEm";
#define EVENTS_ALL ((1 << 10) - 1)
#define EVENT_NEW (1 << 10) /* n is shown only beside single classes */

static bool set_keyspace_events(const struct option *option, struct config *config,
                                const struct bytes *words, uint32_t count,
                                struct option_error *error)
{
    if (count != 1)
        return option_fail(error, "wrong number of arguments");
    int64_t bits = 0;
    for (size_t i = 0; i < words[0].len; i++) {
        char c = words[0].ptr[i];
        const char *letter = c ? strchr(event_letters, c) : NULL;
        if (c != 'A' && !letter)
            return option_fail(error, "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.");
        bits |= c == 'A' ? EVENTS_ALL : 1 << (letter - event_letters);
    }
    config->kept[option_index(option)].number = bits;
    return true;
}

static void get_keyspace_events(const struct option *option, const struct config *config,
                                struct buf *out)
{
    int64_t bits = config->kept[option_index(option)].number;
    if ((bits & EVENTS_ALL) == EVENTS_ALL) {
        buf_add_char(out, 'A');
        bits &= ~(int64_t)(EVENTS_ALL | EVENT_NEW);
    }
    for (const char *letter = event_letters; *letter; letter++)
        if (bits >> (letter - event_letters) & 1)
            buf_add_char(out, *letter);
}

static void rewrite_keyspace_events(const struct option *option, const struct config *config,
                                    const struct option_sink *sink)
{
    struct buf events = {0}, line = {0};
    get_keyspace_events(option, config, &events);
    buf_add_format(&line, "%s ", option->name);
    option_add_quoted(&line, buf_bytes(&events));
    sink->put(sink->context, option, buf_bytes(&line), events.len > 0);
    buf_fini(&events);
    buf_fini(&line);
}

const struct option_special option_keyspace_events = {set_keyspace_events, get_keyspace_events,
                                                      rewrite_keyspace_events};

/* ---- save ---------------------------------------------------------------------------------------
 */

static bool set_save(const struct option *option, struct config *config, const struct bytes *words,
                     uint32_t count, struct option_error *error)
{
    bool is_reset = is_one_empty(words, count);
    if (is_reset)
        count = 0;
    if (count % 2)
        return option_fail(error, "Invalid save parameters");

    /* The first save line of the files replaces the defaults, others add to it. */
    if (is_reset || !config->is_loading || !option_is_named(option, config))
        config->save_point_count = 0;
    for (uint32_t i = 0; i < count; i += 2) {
        int64_t seconds, changes;
        if (!num_to_int(words[i], &seconds) || !num_to_int(words[i + 1], &changes) || seconds < 1 ||
            changes < 0 || changes > INT_MAX)
            return option_fail(error, "Invalid save parameters");
        if (config->save_point_count == CONFIG_SAVE_POINTS_MAX)
            return option_fail(error, "at most %d save points", CONFIG_SAVE_POINTS_MAX);
        config->save_points[config->save_point_count++] = (struct config_save_point){
            .seconds = seconds, .changes = (int32_t)changes};
    }
    return true;
}

static void get_save(const struct option *option, const struct config *config, struct buf *out)
{
    for (uint32_t i = 0; i < config->save_point_count; i++)
        buf_add_format(out, "%s%" PRId64 " %" PRId32, i ? " " : "", config->save_points[i].seconds,
                       config->save_points[i].changes);
}

/* A line a point. */
static void rewrite_save(const struct option *option, const struct config *config,
                         const struct option_sink *sink)
{
    if (config->save_point_count == 0)
        put_line(option, config, sink, true);
    for (uint32_t i = 0; i < config->save_point_count; i++) {
        struct buf line = {0};
        buf_add_format(&line, "save %" PRId64 " %" PRId32, config->save_points[i].seconds,
                       config->save_points[i].changes);
        sink->put(sink->context, option, buf_bytes(&line), true);
        buf_fini(&line);
    }
}

const struct option_special option_save = {set_save, get_save, rewrite_save};

/* ---- dir ----------------------------------------------------------------------------------------
 */

static bool set_dir(const struct option *option, struct config *config, const struct bytes *words,
                    uint32_t count, struct option_error *error)
{
    if (count != 1)
        return option_fail(error, "wrong number of arguments");
    char path[PATH_MAX];
    if (chdir(option_keep_text(config, words[0])) < 0 || !getcwd(path, sizeof path))
        return option_fail(error, "%s", strerror(errno));
    config->dir = option_keep_text(config, bytes_from_text(path));
    return true;
}

static void get_dir(const struct option *option, const struct config *config, struct buf *out)
{
    buf_add_text(out, config->dir);
}

static void rewrite_dir(const struct option *option, const struct config *config,
                        const struct option_sink *sink)
{
    struct buf line = {0};
    buf_add_text(&line, "dir ");
    option_add_quoted(&line, bytes_from_text(config->dir));
    sink->put(sink->context, option, buf_bytes(&line), true);
    buf_fini(&line);
}

const struct option_special option_dir = {set_dir, get_dir, rewrite_dir};

/* ---- replicaof ----------------------------------------------------------------------------------
 */

static bool set_replicaof(const struct option *option, struct config *config,
                          const struct bytes *words, uint32_t count, struct option_error *error)
{
    if (count != 2)
        return option_fail(error, "wrong number of arguments");
    if (bytes_is(words[0], "no") && bytes_is(words[1], "one"))
        return true;
    int64_t port;
    if (!num_to_int(words[1], &port) || port < 0 || port > UINT16_MAX)
        return option_fail(error, "Invalid master port");
    return option_fail(error, "%s", option->note);
}

static void get_replicaof(const struct option *option, const struct config *config, struct buf *out)
{
}

static void rewrite_replicaof(const struct option *option, const struct config *config,
                              const struct option_sink *sink)
{
}

const struct option_special option_replicaof = {set_replicaof, get_replicaof, rewrite_replicaof};

/* ---- proc-title-template ------------------------------------------------------------------------
 */

bool option_check_title(struct bytes text, struct option_error *error)
{
    /* It must give something even where all variables that may be empty are. */
    struct config *fresh = config_default();
    struct buf title = {0};
    bool is_valid = proc_title_expand(text, "", fresh, &title) && title.len > 0;
    buf_fini(&title);
    config_free(fresh);
    return is_valid ||
           option_fail(error, "template format is invalid or contains unknown variables");
}
