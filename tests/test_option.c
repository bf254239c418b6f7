/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "decimal.h"
#include "option.h"

static struct nt_option parsed(const char *text)
{
    struct nt_option option;
    if (nt_option_parse(text, &option, &err) != 0)
        fail_msg("\"%s\": %s", text, err.text);
    return option;
}

TEST(test_byte_units)
{
    static const struct {
        const char *text;
        uint64_t bytes; /* 0: refused */
    } table[] = {{"1", 1},
                 {"4096", 4096},
                 {"64K", 65536},
                 {"1M", 1048576},
                 {"1G", 1073741824},
                 {"2G", 0},
                 {"1048577K", 0},
                 {"K", 0},
                 {"", 0},
                 {"1k", 0},
                 {"1KB", 0},
                 {"1.5M", 0},
                 {"-1K", 0},
                 {"1KK", 0},
                 {"1 K", 0},
                 {"18014398509481984K", 0}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        uint64_t bytes = 0;
        int rc = nt_decimal_bytes(table[k].text, strlen(table[k].text), 1 << 30, &bytes);
        assert_int_equal(rc, table[k].bytes > 0 ? 0 : -1);
        assert_int_equal(bytes, table[k].bytes);
    }
}

TEST(the_option_without_value_is_standard_with_the_default_budget)
{
    static const char *const bare[] = {NULL, ""};
    for (size_t k = 0; k < 2; k++) {
        struct nt_option option = parsed(bare[k]);
        assert_int_equal(option.level, NT_LEVEL_STANDARD);
        assert_true(option.budget_s == 0);
        assert_string_equal(option.pattern, "neighbour");
        assert_false(option.apply);
        assert_false(option.off);
        assert_false(option.debug);
    }
}

TEST(every_item_is_read)
{
    assert_int_equal(parsed("quick").level, NT_LEVEL_QUICK);
    assert_int_equal(parsed("standard").level, NT_LEVEL_STANDARD);
    assert_int_equal(parsed("full").level, NT_LEVEL_FULL);
    assert_true(parsed("budget=2").budget_s == 2);
    assert_true(parsed("budget=2.5").budget_s == 2.5);
    assert_true(parsed("budget=0.1").budget_s == 0.1);
    assert_true(parsed("budget=3600").budget_s == 3600);
    assert_true(parsed("apply").apply);
    assert_int_equal(parsed("quick").sweep, NT_SWEEP_AUTO);
    assert_int_equal(parsed("sweep=all,quick").sweep, NT_SWEEP_ALL);
    assert_int_equal(parsed("sweep=adaptive").sweep, NT_SWEEP_ADAPTIVE);
    assert_true(parsed("off").off);
    assert_true(parsed("debug,quick").debug);
    assert_int_equal(parsed("quick").spare, 0);
    assert_int_equal(parsed("spare=12,quick").spare, 12);
    static const char *const patterns[] = {"allreduce",
                                           "allreduce:ring",
                                           "halo:4x2",
                                           "megatron:tp=8,pp=4,dp=2",
                                           "megatron:dp=8,ep=4,tp=2,pp=1",
                                           "neighbour",
                                           "ring",
                                           "alltoall",
                                           "tree",
                                           "stencil:4x4",
                                           "stencil:4x4x2",
                                           "stencil:1x1048576",
                                           "stencil:4x4:periodic",
                                           "matrix:traffic.csv",
                                           "matrix:/home/a b/m=1.csv"};
    for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++) {
        char text[128];
        snprintf(text, sizeof text, "quick,pattern=%s,apply,budget=7", patterns[k]);
        struct nt_option option = parsed(text);
        assert_string_equal(option.pattern, patterns[k]);
        assert_true(option.apply);
        assert_true(option.budget_s == 7);
        assert_int_equal(option.level, NT_LEVEL_QUICK);
    }
}

TEST(a_wrong_item_is_named)
{
    static const struct {
        const char *text, *says;
    } table[] = {
        {"fast", "unknown item \"fast\""},
        {"Quick", "unknown item \"Quick\""},
        {"quick,fast", "\"fast\""},
        {"quick,", "empty item"},
        {",", "empty item"},
        {",quick", "empty item"},
        {"quick,,apply", "empty item"},
        {"apply,off", "\"off\" cannot be combined with other items"},
        {"off,quick", "\"off\" cannot be combined with other items"},
        {"off,off", "\"off\" cannot be combined with other items"},
        {"off,", "empty item"},
        {"quick,full", "\"full\": the level is given twice"},
        {"budget=1,budget=2", "the budget is given twice"},
        {"pattern=ring,pattern=tree", "the pattern is given twice"},
        {"budget", "unknown item \"budget\""},
        {"budget=", "\"budget=\""},
        {"budget=nan", "\"budget=nan\": expected seconds from 0.1 to 3600"},
        {"budget=inf", "\"budget=inf\""},
        {"budget=-1", "\"budget=-1\""},
        {"budget=+1", "\"budget=+1\""},
        {"budget= 1", "\"budget= 1\""},
        {"budget=1e3", "\"budget=1e3\""},
        {"budget=0x10", "\"budget=0x10\""},
        {"budget=0", "\"budget=0\""},
        {"budget=0.099", "\"budget=0.099\""},
        {"budget=3600.001", "\"budget=3600.001\""},
        {"budget=1.2345", "\"budget=1.2345\""},
        {"budget=1.", "\"budget=1.\""},
        {"budget=.5", "\"budget=.5\""},
        {"budget=1,5", "unknown item \"5\""},
        {"budget=99999999999999999999999999", "budget=9999"},
        {"pattern=", "pattern \"\""},
        {"pattern=circle", "pattern \"circle\": expected neighbour"},
        {"pattern=stencil:", "expected stencil:AxB"},
        {"pattern=stencil:4", "expected stencil:AxB"},
        {"pattern=stencil:4x", "expected stencil:AxB"},
        {"pattern=stencil:0x4", "expected stencil:AxB"},
        {"pattern=stencil:4x4x4x4", "expected stencil:AxB"},
        {"pattern=stencil:1048576x1048576", "expected stencil:AxB"},
        {"pattern=stencil:4x4:", "nothing but \":periodic\""},
        {"pattern=stencil:4x4:open", "nothing but \":periodic\""},
        {"pattern=halo:4", "expected stencil:AxB"},
        {"pattern=allreduce:star", "expected neighbour"},
        {"pattern=megatron:tp=2,pp=2", "expected megatron:tp=T"},
        {"pattern=megatron:tp=2,tp=2,dp=2,pp=2", "expected megatron:tp=T"},
        {"pattern=megatron:tp=2,pp=0,dp=2", "expected megatron:tp=T"},
        {"pattern=megatron:tp=2,pp=2,dp=4,ep=3", "expected megatron:tp=T"},
        {"pattern=megatron:tp=1048576,pp=1048576,dp=1", "expected megatron:tp=T"},
        {"pattern=megatron:", "expected megatron:tp=T"},
        {"pattern=ring,tp=2", "unknown item \"tp=2\""},
        {"pattern=matrix:", "pattern \"matrix:\""},
        {"quick\nLD_PRELOAD=/x", "control character"},
        {"pattern=matrix:/a\x7f", "control character"},
        {"sweep=some", "expected auto, all, adaptive or sequential"},
        {"sweep=all,sweep=all", "the sweep is given twice"},
        {"spare=1,spare=1", "spare is given twice"},
        {"spare=0", "item \"spare=0\": expected hosts from 1 to 65535"},
        {"spare=65536", "expected hosts from 1 to 65535"},
        {"spare=", "expected hosts from 1 to 65535"},
        {"apply=yes", "unknown item \"apply=yes\""},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_option option, before;
        memset(&option, 0x5a, sizeof option);
        before = option;
        if (nt_option_parse(table[k].text, &option, &err) != -1)
            fail_msg("\"%s\" was taken", table[k].text);
        assert_int_equal(err.kind, NT_ERR_USAGE);
        if (strstr(err.text, table[k].says) == NULL)
            fail_msg("\"%s\": %s", table[k].text, err.text);
        assert_memory_equal(&option, &before, sizeof option);
    }
}

TEST(a_matrix_path_is_relative_to_the_submission_directory)
{
    static const struct {
        const char *pattern, *dir, *whole; /* NULL: rejected */
    } table[] = {
        {"matrix:t.csv", "/home/u", "matrix:/home/u/t.csv"},
        {"matrix:../t.csv", "/home/u", "matrix:/home/u/../t.csv"},
        {"matrix:t.csv", "/", "matrix:/t.csv"},
        {"matrix:/x/t.csv", "/home/u", "matrix:/x/t.csv"},
        {"matrix:/x/t.csv", "/home/a,b", "matrix:/x/t.csv"},
        {"ring", "/home/a,b", "ring"},
        {"matrix:t.csv", "/home/a,b", NULL},
        {"matrix:t.csv", "/home/a\nb", NULL},
        {"matrix:t.csv", "home", NULL},
        {"matrix:t.csv", "", NULL},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_option option = {.level = NT_LEVEL_QUICK};
        struct nt_err err = {0};
        snprintf(option.pattern, sizeof option.pattern, "%s", table[k].pattern);
        int rc = nt_option_resolve_path(&option, table[k].dir, &err);
        assert_int_equal(rc, table[k].whole == NULL ? -1 : 0);
        assert_int_equal(err.kind, rc == 0 ? NT_ERR_NONE : NT_ERR_USAGE);
        assert_string_equal(option.pattern, rc == 0 ? table[k].whole : table[k].pattern);
    }
}

TEST(a_path_that_becomes_too_long_is_rejected)
{
    char dir[NT_PATTERN_TEXT_BYTES];
    memset(dir, 'd', sizeof dir);
    dir[0] = '/';
    struct nt_option option = {.pattern = "matrix:t"};
    dir[NT_PATTERN_TEXT_BYTES - 1 - strlen("matrix:/t")] = '\0'; /* one too few */
    must(nt_option_resolve_path(&option, dir, &err));
    assert_int_equal(strlen(option.pattern), NT_PATTERN_TEXT_BYTES - 1);
    must(nt_pattern_check(option.pattern, &err));
    option = (struct nt_option){.pattern = "matrix:tt"};
    assert_int_equal(nt_option_resolve_path(&option, dir, &err), -1);
    assert_non_null(strstr(err.text, "longer than 1092 bytes"));
}

TEST(a_long_text_is_rejected_without_quoting_it)
{
    enum { LONG = 100000 };
    char *text = malloc(LONG + 1);
    assert_non_null(text);
    memset(text, 'q', LONG);
    text[LONG] = '\0';
    struct nt_option option;
    assert_int_equal(nt_option_parse(text, &option, &err), -1);
    assert_string_equal(err.text, "option of 100000 characters: expected at most 1535");
    text[NT_OPTION_TEXT_BYTES - 1] = '\0'; /* the longest that is parsed */
    assert_int_equal(nt_option_parse(text, &option, &err), -1);
    assert_non_null(strstr(err.text, "unknown item"));
    assert_below(strlen(err.text), 250);
    memcpy(text, "pattern=matrix:", 15);
    text[8 + NT_PATTERN_TEXT_BYTES] = '\0';
    assert_int_equal(nt_option_parse(text, &option, &err), -1);
    text[8 + NT_PATTERN_TEXT_BYTES - 1] = '\0';
    must(nt_option_parse(text, &option, &err));
    assert_int_equal(strlen(option.pattern), NT_PATTERN_TEXT_BYTES - 1);
    free(text);
}

TEST(format_then_parse_is_identity)
{
    static const char *const texts[] = {
        "",
        "off",
        "full,budget=12.345,pattern=stencil:3x5x7,apply",
        "quick,sweep=adaptive,apply",
        "standard,pattern=ring,sweep=all",
        "quick,budget=0.1",
        "budget=3,apply",
        "pattern=matrix:a=b",
        "standard,budget=3599.999",
        "quick,debug",
        "quick,spare=3,apply",
        "full,pattern=tree,apply,debug",
    };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        struct nt_option in = parsed(texts[k]);
        char text[NT_OPTION_TEXT_BYTES];
        assert_int_equal(nt_option_format(&in, text, sizeof text, NULL), 0);
        struct nt_option out = parsed(text);
        assert_int_equal(out.off, in.off);
        assert_int_equal(out.level, in.level);
        assert_int_equal(out.level_named, in.level_named);
        assert_true(out.budget_s == in.budget_s);
        assert_string_equal(out.pattern, in.pattern);
        assert_int_equal(out.apply, in.apply);
        assert_int_equal(out.sweep, in.sweep);
        assert_int_equal(out.debug, in.debug);
        assert_int_equal(out.spare, in.spare);
    }
}

TEST(format_rejects_what_parse_rejects)
{
    char text[NT_OPTION_TEXT_BYTES];
    struct nt_option option = parsed("quick");
    assert_int_equal(nt_option_format(&option, text, 5, NULL), -1);
    assert_int_equal(nt_option_format(&option, text, 6, NULL), 0);
    static const double bad[] = {-1, NAN, INFINITY, 1e9, 0.01};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        option.budget_s = bad[k];
        assert_int_equal(nt_option_format(&option, text, sizeof text, NULL), -1);
    }
    option = parsed("quick");
    option.level = (enum nt_level)9;
    assert_int_equal(nt_option_format(&option, text, sizeof text, NULL), -1);
    option = parsed("quick");
    snprintf(option.pattern, sizeof option.pattern, "ring,off");
    assert_int_equal(nt_option_format(&option, text, sizeof text, NULL), -1);
}

TEST(levels_have_names)
{
    enum nt_level level = NT_LEVEL_QUICK;
    assert_int_equal(nt_level_parse("full", &level), 0);
    assert_int_equal(level, NT_LEVEL_FULL);
    assert_int_equal(nt_level_parse("", &level), -1);
    assert_int_equal(nt_level_parse("fullest", &level), -1);
    assert_string_equal(nt_level_name(NT_LEVEL_STANDARD), "standard");
    assert_null(nt_level_name((enum nt_level)0));
    assert_null(nt_level_name((enum nt_level)4));
}

RUN_TESTS
