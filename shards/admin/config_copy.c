/*
 * config_copy: the whole object. Its texts lie in an arena of its own, so that freeing is one step
 * and a text that CONFIG SET replaces lives until its object goes.
 */
#include "shards/admin/config_copy.h"

#include <limits.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "shards/admin/options.h"

struct config *config_default(void)
{
    struct config *config = mem_zalloc(sizeof *config);
    char path[PATH_MAX];
    config->dir = option_keep_text(config, bytes_from_text(getcwd(path, sizeof path) ? path : "/"));
    config->config_file = config->executable = config->program = "";
    for (uint32_t i = 0; i < option_count(); i++)
        option_reset(option_at(i), config);
    return config;
}

static const char *own_text(struct config *config, const char *text)
{
    return option_keep_text(config, bytes_from_text(text));
}

struct config *config_copy(const struct config *config)
{
    struct config *copy = mem_alloc(sizeof *copy);
    *copy = *config;
    copy->texts = (struct arena){0};
    for (uint32_t i = 0; i < option_count(); i++)
        option_own(option_at(i), copy);
    for (uint32_t i = 0; i < copy->bind_count; i++)
        copy->bind[i] = own_text(copy, copy->bind[i]);
    copy->dir = own_text(copy, copy->dir);
    copy->config_file = own_text(copy, copy->config_file);
    copy->executable = own_text(copy, copy->executable);
    copy->program = own_text(copy, copy->program);
    return copy;
}

void config_free(struct config *config)
{
    if (!config)
        return;
    arena_fini(&config->texts);
    mem_free(config);
}
