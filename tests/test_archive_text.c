/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "origin.h"

static size_t packed(const char *comment, const char *text, unsigned char *out, size_t room)
{
    z_stream z = {0};
    gz_header head = {.comment = (unsigned char *)(uintptr_t)comment};
    assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflateSetHeader(&z, &head), Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)text;
    z.avail_in = (unsigned)strlen(text);
    z.next_out = out;
    z.avail_out = (unsigned)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t bytes = room - z.avail_out;
    deflateEnd(&z);
    return bytes;
}

static void map_and_record_come_apart(void **state)
{
    unsigned char file[4096];
    static const char text[] = "{\n  \"schema\": 1\n}\nnettopo-samples/1\nend ok 1\n";
    struct nt_archive_text got;
    struct nt_err err = {0};
    (void)state;
    size_t bytes = packed("root says", text, file, sizeof file);
    assert_true(nt_archive_text_is(file, bytes));
    /* a second member is the user's: it has no say */
    bytes += packed("uid=0", "more", file + bytes, sizeof file - bytes);
    assert_int_equal(nt_archive_text_read(file, bytes, 1000, &got, &err), 0);
    assert_string_equal(got.comment, "root says");
    assert_string_equal(got.text, text);
    assert_int_equal(got.map_bytes, strlen("{\n  \"schema\": 1\n}\n"));
    nt_archive_text_fini(&got);
    assert_false(nt_archive_text_is(text, sizeof text));
}

static void what_is_damaged_or_too_large_is_refused(void **state)
{
    unsigned char file[4096];
    static char text[100001];
    struct nt_archive_text got;
    struct nt_err err = {0};
    (void)state;
    memset(text, 'x', sizeof text - 1);
    size_t bytes = packed("", text, file, sizeof file);
    assert_int_equal(nt_archive_text_read(file, bytes, 100000, &got, &err), 0);
    nt_archive_text_fini(&got);
    assert_int_equal(nt_archive_text_read(file, bytes, 99999, &got, &err), -1);
    assert_string_equal(err.text, "expected at most 99999 bytes unpacked");
    for (size_t cut = 0; cut < bytes; cut++)
        assert_int_equal(nt_archive_text_read(file, cut, 200000, &got, &err), -1);
    assert_string_equal(err.text, "expected gzip, found a file that is cut off");
    file[bytes / 2] ^= 0x55;
    assert_int_equal(nt_archive_text_read(file, bytes, 200000, &got, &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(map_and_record_come_apart),
        cmocka_unit_test(what_is_damaged_or_too_large_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
