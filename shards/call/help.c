/* How: the rows know their syntax and what they do; this only lays them out as Redis does. */
#include "shards/call/help.h"

#include <ctype.h>

#include "shards/call/call.h"
#include "shards/call/syntax.h"

static void add_upper(struct buf *line, const char *text)
{
    for (; *text; text++)
        buf_add_char(line, (char)toupper((unsigned char)*text));
}

static void reply_line(struct reply *reply, struct buf *line)
{
    buf_add_char(line, '\0');
    reply_simple(reply, line->ptr);
    line->len = 0;
}

enum status help_run(struct call *call)
{
    const struct command *container = call->command->parent;
    struct buf line = {0};
    size_t mark = reply_mark(call->reply);
    size_t count = 1;

    add_upper(&line, container->name);
    buf_add_text(&line, " <subcommand> [<arg> [value] [opt] ...]. These are its subcommands:");
    reply_line(call->reply, &line);
    for (const struct command *row = container->subcommands; row->name; row++) {
        add_upper(&line, row->name);
        if (row->syntax && row->syntax[0]) {
            buf_add_char(&line, ' ');
            syntax_show(row->syntax, &line);
        }
        reply_line(call->reply, &line);
        buf_add_text(&line, "    ");
        buf_add_text(&line, row->brief);
        reply_line(call->reply, &line);
        count += 2;
    }
    reply_array_at(call->reply, mark, count);
    buf_fini(&line);
    return OK;
}

enum status help_wrong_words(struct call *call)
{
    struct bytes word = call_arg(call, 1);
    struct buf container = {0};
    add_upper(&container, call->command->parent->name);
    enum status status = call_fail_text(
        call,
        "ERR unknown subcommand or wrong number of arguments for '%.*s'. "
        "Try %.*s HELP.",
        (int)word.len, word.ptr, (int)container.len, container.ptr);
    buf_fini(&container);
    return status;
}
