#include "core/base/digest.h"

#include <criterion/criterion.h>

static void expect_sha1(struct bytes input, const char *expected)
{
    uint8_t digest[DIGEST_SHA1_LEN];
    char text[2 * DIGEST_SHA1_LEN];
    digest_sha1(input, digest);
    digest_hex(text, digest, sizeof(digest));
    cr_expect(bytes_equal(bytes_of(text, sizeof(text)), bytes_from_text(expected)));
}

static void expect_sha256(struct bytes input, const char *expected)
{
    uint8_t digest[DIGEST_SHA256_LEN];
    char text[2 * DIGEST_SHA256_LEN];
    digest_sha256(input, digest);
    digest_hex(text, digest, sizeof(digest));
    cr_expect(bytes_equal(bytes_of(text, sizeof(text)), bytes_from_text(expected)));
}

/* The examples of FIPS 180. */
Test(digest, is_the_published_sha1)
{
    expect_sha1(BYTES(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    expect_sha1(BYTES("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
}

Test(digest, is_the_published_sha256)
{
    expect_sha256(BYTES(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect_sha256(BYTES("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

/* What Redis's page on DIGEST shows for "Hello world", and xxHash's own tests for nothing. */
Test(digest, is_the_published_xxh3)
{
    uint8_t digest[DIGEST_XXH3_LEN];
    char text[2 * DIGEST_XXH3_LEN];
    digest_xxh3(BYTES("Hello world"), digest);
    digest_hex(text, digest, sizeof(digest));
    cr_expect(bytes_equal(bytes_of(text, sizeof(text)), BYTES("b6acb9d84a38ff74")));
    digest_xxh3(BYTES(""), digest);
    digest_hex(text, digest, sizeof(digest));
    cr_expect(bytes_equal(bytes_of(text, sizeof(text)), BYTES("2d06800538d394c2")));
}

Test(digest, compares_all_bytes)
{
    cr_expect(digest_equal("secret", "secret", 6));
    cr_expect_not(digest_equal("secret", "secreT", 6));
    cr_expect_not(digest_equal("Secret", "secret", 6));
    cr_expect(digest_equal("a", "b", 0));
}
