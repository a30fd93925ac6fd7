#include "shards/call/syntax.h"

#include <criterion/criterion.h>

static struct arena arena;

static void print_list(struct buf *out, const struct syntax_arg *args);

/* name:type~shown=TOKEN@since!deprecated(children){flags}, what is empty or usual left out */
static void print(struct buf *out, const struct syntax_arg *arg)
{
    buf_add_bytes(out, arg->name);
    buf_add_format(out, ":%s", syntax_type_name(arg->type));
    if (arg->shown.len && !bytes_equal(arg->shown, arg->name))
        buf_add_format(out, "~%.*s", (int)arg->shown.len, arg->shown.ptr);
    if (arg->token.len)
        buf_add_format(out, "=%.*s", (int)arg->token.len, arg->token.ptr);
    if (arg->since.len)
        buf_add_format(out, "@%.*s", (int)arg->since.len, arg->since.ptr);
    if (arg->deprecated_since.len)
        buf_add_format(out, "!%.*s", (int)arg->deprecated_since.len, arg->deprecated_since.ptr);
    if (arg->args) {
        buf_add_char(out, '(');
        print_list(out, arg->args);
        buf_add_char(out, ')');
    }
    if (arg->flags)
        buf_add_format(out, "{%s%s%s}", arg->flags & SYNTAX_OPTIONAL ? "o" : "",
                       arg->flags & SYNTAX_MULTIPLE ? "m" : "",
                       arg->flags & SYNTAX_MULTIPLE_TOKEN ? "t" : "");
}

static void print_list(struct buf *out, const struct syntax_arg *args)
{
    for (; args; args = args->next) {
        print(out, args);
        if (args->next)
            buf_add_char(out, ' ');
    }
}

static void expect(const char *text, const char *tree)
{
    struct buf out = {0};
    print_list(&out, syntax_parse(text, &arena));
    buf_add_char(&out, '\0');
    cr_assert_str_eq(out.ptr, tree, "%s\n   gives %s\n   not   %s", text, out.ptr, tree);
    buf_fini(&out);
}

Test(syntax, reads_words_in_a_row)
{
    expect("", "");
    expect("key value", "key:key value:string");
    expect("key increment", "key:key increment:integer");
    expect("longitude pattern", "longitude:double pattern:pattern");
}

Test(syntax, reads_what_may_be_left_out)
{
    expect("[message]", "message:string{o}");
    expect("key [REPLACE]", "key:key replace:pure-token=REPLACE{o}");
    expect("[MATCH pattern] [COUNT count]", "pattern:pattern=MATCH{o} count:integer=COUNT{o}");
}

Test(syntax, reads_choices)
{
    expect("<ON | OFF>", "arguments:oneof(on:pure-token=ON off:pure-token=OFF)");
    expect("[NX | XX]", "condition:oneof(nx:pure-token=NX xx:pure-token=XX){o}");
    expect("[EX seconds | PERSIST]",
           "expiration:oneof(seconds:integer=EX persist:pure-token=PERSIST){o}");
    expect("AGGREGATE <SUM | MIN>",
           "aggregate:oneof=AGGREGATE(sum:pure-token=SUM min:pure-token=MIN)");
    expect("[= | ~]", "arguments:oneof(=:pure-token== ~:pure-token=~){o}");
}

Test(syntax, reads_blocks)
{
    expect("[LIMIT offset count]", "limit:block=LIMIT(offset:integer count:integer){o}");
    expect("[COUNT count [ANY]]",
           "count-block:block(count:integer=COUNT any:pure-token=ANY{o}){o}");
    expect(
        "[protover [AUTH username password]]",
        "arguments:block(protover:integer auth:block=AUTH(username:string password:string){o}){o}");
}

Test(syntax, reads_repetition)
{
    expect("key [key ...]", "key:key{m}");
    expect("[section [section ...]]", "section:string{om}");
    expect("key value [key value ...]", "data:block(key:key value:string){m}");
    expect("[ID client-id [client-id ...]]", "client-id:integer=ID{om}");
    expect("[GET pattern [GET pattern ...]]", "pattern:pattern=GET{omt}");
    expect("numkeys [key [key ...]] [arg [arg ...]]", "numkeys:integer key:key{om} arg:string{om}");
    expect("<a | b> [...]", "arguments:oneof(a:string b:string){m}");
}

Test(syntax, reads_notes)
{
    expect("increment/double", "increment:double");
    expect("where=<LEFT | RIGHT>", "where:oneof(left:pure-token=LEFT right:pure-token=RIGHT)");
    expect("[ADDR addr=ip:port]@6.2.0", "addr:string~ip:port=ADDR@6.2.0{o}");
    expect("[ID@2.0.0 | sorting=ALPHA]",
           "arguments:oneof(id:pure-token=ID@2.0.0 sorting:pure-token=ALPHA){o}");
    expect("[COMMAND/string [COMMAND ...]]", "COMMAND:string{om}");
    expect("EX seconds@2.6.12", "seconds:integer=EX@2.6.12");
    expect("<old=ip:port!2.8.12 | new>", "arguments:oneof(old:string~ip:port!2.8.12 new:string)");
    expect("a@1.0.0!2.0.0", "a:string@1.0.0!2.0.0");
}

Test(syntax, knows_tokens_that_are_not_in_capitals)
{
    expect("<m | km>", "unit:oneof(m:pure-token=m km:pure-token=km)");
    expect("<lib-name libname | lib-ver libver>",
           "arguments:oneof(libname:string=lib-name libver:string=lib-ver)");
}

static void expect_shown(const char *text, const char *shown)
{
    struct buf out = {0};
    syntax_show(text, &out);
    buf_add_char(&out, '\0');
    cr_assert_str_eq(out.ptr, shown);
    buf_fini(&out);
}

Test(syntax, shows_people_no_notes)
{
    expect_shown("key [NX | XX]@2.6.12 [EX seconds@2.6.12 | KEEPTTL]",
                 "key [NX | XX] [EX seconds | KEEPTTL]");
    expect_shown("where=<LEFT | RIGHT> increment/double addr=ip:port@1.0.0!2.0.0 [= | ~]",
                 "<LEFT | RIGHT> increment ip:port [= | ~]");
    expect_shown("", "");
}
