/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "log_line.h"

static size_t write_line(char line[NT_LOG_LINE_BYTES], enum nt_log_level level, const char *format,
                         ...) __attribute__((format(printf, 3, 4)));
static size_t write_line(char line[NT_LOG_LINE_BYTES], enum nt_log_level level, const char *format,
                         ...)
{
    va_list args;
    va_start(args, format);
    size_t bytes = nt_log_line_write(line, level, 1.25, format, args);
    va_end(args);
    assert_int_equal(bytes, strlen(line));
    return bytes;
}

static void levels_have_names(void **state)
{
    (void)state;
    enum nt_log_level level = NT_LOG_INFO;
    assert_int_equal(nt_log_level_parse("debug", &level), 0);
    assert_int_equal(level, NT_LOG_DEBUG);
    assert_int_equal(nt_log_level_parse("debugs", &level), -1);
    assert_int_equal(nt_log_level_parse("", &level), -1);
    assert_string_equal(nt_log_level_name(NT_LOG_ERROR), "error");
    assert_null(nt_log_level_name((enum nt_log_level)0));
    assert_null(nt_log_level_name((enum nt_log_level)4));
}

static void a_line_is_one_printable_line(void **state)
{
    (void)state;
    static char large[5000];
    char line[NT_LOG_LINE_BYTES];
    write_line(line, NT_LOG_INFO, "host %s: %d", "a\nb\x1b[1m\xc3\xa9\t.", 3);
    assert_string_equal(line, "1.2500 info host a?b?[1m?? .: 3\n");
    memset(large, 'x', sizeof large - 1);
    assert_int_equal(write_line(line, NT_LOG_DEBUG, "%s", large), NT_LOG_LINE_BYTES - 1);
    assert_string_equal(line + NT_LOG_LINE_BYTES - 3, "x\n");
}

/* 0x9b alone begins an escape sequence on a terminal, as ESC [ does. */
static void no_byte_beyond_ascii_is_left(void **state)
{
    (void)state;
    char text[256];
    for (int k = 0; k < 255; k++)
        text[k] = (char)(k + 1);
    text[255] = '\0';
    nt_log_line_clean(text);
    assert_int_equal(strlen(text), 255);
    for (int k = 0; k < 255; k++)
        assert_true(text[k] >= ' ' && text[k] <= '~');
    assert_int_equal(text['a' - 1], 'a');
}

static void any_text_is_read_as_lines(void **state)
{
    (void)state;
    static char text[2000];
    char line[NT_LOG_LINE_BYTES];
    size_t at = 0, bytes = 0;
    memcpy(text, "\n\none\0\0two\x7f\r\n", 14);
    memset(text + 14, 'y', 1000);
    static const char *const expected[] = {"one", "two??"};
    for (size_t k = 0; k < 2; k++) {
        assert_int_equal(nt_log_line_next(text, sizeof text, &at, line), strlen(expected[k]));
        assert_string_equal(line, expected[k]);
    }
    assert_int_equal(nt_log_line_next(text, sizeof text, &at, line), NT_LOG_LINE_BYTES - 1);
    assert_int_equal(nt_log_line_next(text, sizeof text, &at, line), 0);
    assert_int_equal(at, sizeof text);
    at = 0;
    assert_int_equal(nt_log_line_next(text, 0, &at, line), 0);
    for (at = 0; nt_log_line_next(text, 9, &at, line) > 0;)
        bytes += strlen(line); /* cut in a word */
    assert_int_equal(bytes, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_have_names),
        cmocka_unit_test(a_line_is_one_printable_line),
        cmocka_unit_test(no_byte_beyond_ascii_is_left),
        cmocka_unit_test(any_text_is_read_as_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
