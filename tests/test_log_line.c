/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "err.h"
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

TEST(levels_have_names)
{
    enum nt_log_level level = NT_LOG_INFO;
    assert_int_equal(nt_log_level_parse("debug", &level), 0);
    assert_int_equal(level, NT_LOG_DEBUG);
    assert_int_equal(nt_log_level_parse("debugs", &level), -1);
    assert_int_equal(nt_log_level_parse("", &level), -1);
    assert_string_equal(nt_log_level_name(NT_LOG_ERROR), "error");
    assert_null(nt_log_level_name((enum nt_log_level)0));
    assert_null(nt_log_level_name((enum nt_log_level)4));
}

TEST(a_line_is_one_printable_line)
{
    static char large[5000];
    char line[NT_LOG_LINE_BYTES];
    write_line(line, NT_LOG_INFO, "host %s: %d", "a\nb\x1b[1m\xc3\xa9\t.", 3);
    assert_string_equal(line, "1.2500 info host a?b?[1m\xc3\xa9?.: 3\n");
    memset(large, 'x', sizeof large - 1);
    assert_int_equal(write_line(line, NT_LOG_DEBUG, "%s", large), NT_LOG_LINE_BYTES - 1);
    assert_string_equal(line + NT_LOG_LINE_BYTES - 3, "x\n");
}

/* 0x9b, and U+009B, begin an escape sequence on a terminal, as ESC [ does. */
TEST(no_control_character_is_left)
{
    static const struct {
        const char *text, *clean;
    } table[] = {
        {"n1 \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 ~",
         "n1 \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 ~"},
        {"a\tb\nc\x1b[2J\x7f", "a?b?c?[2J?"},
        {"\x9b"
         "2J \x80\x9f",
         "?2J ??"}, /* raw C1 */
        {"\xc2\x9b"
         "2J \xc2\x80 \xc2\x9f \xc2\xa0",
         "??2J ?? ?? \xc2\xa0"},
        {"\xc1\x9b \xe0\x82\x9b \xf0\x80\x82\x9b", "?? ??? ????"}, /* overlong */
        {"\xed\xa0\x80 \xed\x9f\xbf", "??? \xed\x9f\xbf"},         /* a surrogate */
        {"\xf4\x90\x80\x80 \xf5 \xff \xf4\x8f\xbf\xbf", "???? ? ? \xf4\x8f\xbf\xbf"},
        {"J\xf6rg \xe2\x82", "J?rg ??"}, /* Latin-1; cut in a character */
        {"\xe2\x9b\x9b\xc2", "\xe2\x9b\x9b?"},
        {"", ""},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        char text[64];
        snprintf(text, sizeof text, "%s", table[k].text);
        nt_text_clean(text);
        assert_string_equal(text, table[k].clean);
        assert_true(nt_text_is_clean(text, strlen(text)));
        assert_int_equal(nt_text_is_clean(table[k].text, strlen(table[k].text)),
                         strcmp(text, table[k].text) == 0);
        nt_err_set(&err, NT_ERR_INPUT, "x%s", table[k].text);
        assert_string_equal(err.text + 1, table[k].clean);
        nt_err_set(&err, NT_ERR_INPUT, "x");
        nt_err_prefix(&err, "%s", table[k].text);
        assert_int_equal(strncmp(err.text, table[k].clean, strlen(table[k].clean)), 0);
    }
    assert_false(nt_text_is_clean("\xc3\xa9", 1));
}

/* A text cut within a character does not join what follows. */
TEST(an_error_that_is_cut_stays_clean)
{
    for (int shift = 0; shift < 4; shift++) {
        nt_err_set(&err, NT_ERR_INPUT, "%.*s%0*d", shift, "xxxx", NT_ERR_TEXT_BYTES - 6, 0);
        nt_err_prefix(&err, "\xf0\x9f\x98\x80\xf0\x9f\x98\x80");
        assert_true(nt_text_is_clean(err.text, strlen(err.text)));
    }
}

TEST(any_text_is_read_as_lines)
{
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

RUN_TESTS
