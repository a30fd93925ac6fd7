/*
 * proc_title: one pass over the template; a variable is looked up where its brace closes.
 */
#include "shards/admin/proc_title.h"

static bool add_listen_addr(const struct config *config, struct buf *out)
{
    if (config->port == 0) {
        buf_add_text(out, config->unix_socket);
        return true;
    }
    const char *addr = config->bind_count ? config->bind[0] : "*";
    if (*addr == '-')
        addr++;
    buf_add_format(out, strchr(addr, ':') ? "[%s]:%u" : "%s:%u", addr, config->port);
    return true;
}

static bool add_variable(struct bytes name, const char *title, const struct config *config,
                         struct buf *out)
{
    if (bytes_equal(name, BYTES("listen-addr")))
        return add_listen_addr(config, out);
    if (bytes_equal(name, BYTES("port")))
        buf_add_int(out, config->port);
    else if (bytes_equal(name, BYTES("tls-port")))
        buf_add_int(out, 0);
    else if (bytes_equal(name, BYTES("title")))
        buf_add_text(out, title);
    else if (bytes_equal(name, BYTES("unixsocket")))
        buf_add_text(out, config->unix_socket);
    else if (bytes_equal(name, BYTES("config-file")))
        buf_add_text(out, config->config_file);
    else
        return bytes_equal(name, BYTES("server-mode")); /* neither cluster nor sentinel: empty */
    return true;
}

static bool expand(struct bytes template, const char *title, const struct config *config,
                   struct buf *out)
{
    for (size_t at = 0; at < template.len; at++) {
        if (template.ptr[at] != '{') {
            buf_add_char(out, template.ptr[at]);
            continue;
        }
        struct bytes rest = {template.ptr + at + 1, template.len - at - 1};
        if (rest.len && rest.ptr[0] == '{') {
            buf_add_char(out, '{');
            at++;
            continue;
        }
        size_t len = bytes_find(rest, BYTES("}"));
        if (len == SIZE_MAX || !add_variable(bytes_of(rest.ptr, len), title, config, out))
            return false;
        at += len + 1;
    }
    return true;
}

bool proc_title_expand(struct bytes template, const char *title, const struct config *config,
                       struct buf *out)
{
    struct buf text = {0};
    bool is_valid = expand(template, title, config, &text);
    if (is_valid) {
        size_t from = 0, to = text.len;
        while (from < to && text.ptr[from] == ' ')
            from++;
        while (to > from && text.ptr[to - 1] == ' ')
            to--;
        buf_add(out, text.ptr + from, to - from);
    }
    buf_fini(&text);
    return is_valid;
}
