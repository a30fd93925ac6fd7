#include "core/os/file.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder of its own for each test, and a name in it. */
static char folder[] = "/tmp/sherd-file-XXXXXX";
static char path[64];

static void open_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/settings", folder);
}

static void close_folder(void)
{
    unlink(path);
    cr_assert_eq(rmdir(folder), 0, "something was left beside the file");
}

TestSuite(file, .init = open_folder, .fini = close_folder);

static void expect_content(struct bytes wanted)
{
    struct buf got = {0};
    cr_assert_eq(file_read(path, &got), 0);
    cr_assert(bytes_equal(buf_bytes(&got), wanted));
    buf_fini(&got);
}

Test(file, is_made_and_then_replaced_whole)
{
    cr_assert_eq(file_replace(path, BYTES("a long first text\n")), 0);
    expect_content(BYTES("a long first text\n"));
    cr_assert_eq(file_replace(path, BYTES("short")), 0);
    expect_content(BYTES("short"));
}

Test(file, that_is_new_is_its_owners_alone)
{
    struct stat status;
    cr_assert_eq(file_replace(path, BYTES("secret")), 0);
    cr_assert_eq(stat(path, &status), 0);
    cr_assert_eq(status.st_mode & 07777, 0600);
}

Test(file, keeps_its_mode_when_replaced)
{
    struct stat status;
    cr_assert_eq(file_replace(path, BYTES("a")), 0);
    cr_assert_eq(chmod(path, 0640), 0);
    cr_assert_eq(file_replace(path, BYTES("b")), 0);
    cr_assert_eq(stat(path, &status), 0);
    cr_assert_eq(status.st_mode & 07777, 0640);
}

Test(file, larger_than_one_read_is_read_whole)
{
    struct buf text = {0};
    for (int i = 0; i < 50000; i++)
        buf_add_format(&text, "%d\n", i);
    cr_assert_eq(file_replace(path, buf_bytes(&text)), 0);
    expect_content(buf_bytes(&text));
    buf_fini(&text);
}

Test(file, that_is_not_there_is_an_error_and_nothing_is_read)
{
    struct buf got = {0};
    cr_assert_eq(file_read(path, &got), -ENOENT);
    cr_assert_eq(got.len, 0);
}

Test(file, in_a_folder_that_is_not_there_cannot_be_made)
{
    char elsewhere[128];
    snprintf(elsewhere, sizeof elsewhere, "%s/none/settings", folder);
    cr_assert_eq(file_replace(elsewhere, BYTES("x")), -ENOENT);
}

Test(file, with_a_name_that_is_too_long_is_refused)
{
    char name[PATH_MAX + 1];
    memset(name, 'x', PATH_MAX);
    name[PATH_MAX] = '\0';
    cr_assert_eq(file_replace(name, BYTES("x")), -ENAMETOOLONG);
}

Test(file, that_cannot_take_the_place_of_a_folder_leaves_nothing_behind)
{
    char inner[128];
    snprintf(inner, sizeof inner, "%s/inner", folder);
    cr_assert_eq(mkdir(inner, 0700), 0);
    cr_assert_eq(file_replace(inner, BYTES("x")), -EISDIR);
    cr_assert_eq(rmdir(inner), 0);
}
