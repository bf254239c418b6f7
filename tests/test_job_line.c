/* SPDX-License-Identifier: Apache-2.0 */
#include <json-c/json.h>

#include "asserts.h"
#include "job_line.h"

static struct nt_job_figures parsed(const char *text)
{
    struct nt_job_figures figures;
    nt_job_figures_parse(text, strlen(text), &figures);
    assert_true(nt_job_figures_are_valid(&figures));
    return figures;
}

TEST(figures_are_parsed_or_dropped_whole)
{
    struct nt_job_figures f = parsed("rounds=39 findings=2 missing=n3,+12 suspect=n5,rack-2.x_1");
    assert_int_equal(f.known, 1);
    assert_int_equal(f.rounds, 39);
    assert_int_equal(f.findings, 2);
    assert_string_equal(f.missing, "n3,+12");
    assert_string_equal(f.suspect, "n5,rack-2.x_1");
    static const char *const wrong[] = {
        "",           "rounds",        "rounds=",          "rounds=-1",
        "rounds=1 x", "missing=n3;rm", "missing=n3\"",     "rounds=1  findings=1",
        "user=root",  "rounds=1\n",    "rounds=4294967296"};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        assert_int_equal(parsed(wrong[k]).known, 0);
    char list[160] = "missing=";
    memset(list + 8, 'n', 128);
    list[8 + 128] = '\0';
    assert_int_equal(parsed(list).known, 0);
    list[8 + 127] = '\0';
    assert_int_equal(parsed(list).known, 1);
}

TEST(what_a_relay_sends_is_checked)
{
    struct nt_job_figures f = {0};
    assert_true(nt_job_figures_are_valid(&f));
    memset(f.missing, 'n', sizeof f.missing);
    assert_false(nt_job_figures_are_valid(&f));
    memset(f.missing, 0, sizeof f.missing);
    memcpy(f.suspect, "a b", 4);
    assert_false(nt_job_figures_are_valid(&f));
}

TEST(a_line_in_both_formats)
{
    char text[NT_JOB_LINE_BYTES];
    const struct nt_job_figures figures = parsed("rounds=39 findings=1 missing=n3 suspect=n5,n7");
    const struct nt_job_line line = {.time = "2026-01-02T03:04:05Z",
                                     .job = 42,
                                     .user = "alice",
                                     .level = NT_LEVEL_STANDARD,
                                     .budget_s = 2.5,
                                     .outcome = "partial n3 is missing: \"no\" \\ \x1b[1m",
                                     .hosts = 8,
                                     .seconds = 3.1984,
                                     .figures = &figures,
                                     .limited = "",
                                     .to_do = "see n3"};
    size_t bytes = nt_job_line_write(&line, false, text);
    assert_int_equal(bytes, strlen(text));
    assert_string_equal(
        text, "job=42 time=2026-01-02T03:04:05Z user=alice level=standard budget=2.5 "
              "status=partial hosts=8 seconds=3.198 rounds=39 findings=1 missing=n3 "
              "suspect=n5,n7 reason=\"n3 is missing: \\\"no\\\" \\\\ ?[1m\" to_do=\"see n3\"");
    struct nt_job_line left = line;
    left.level_auto = true;
    nt_job_line_write(&left, false, text);
    assert_non_null(strstr(text, " level=auto "));
    nt_job_line_write(&line, true, text);
    struct json_object *object = json_tokener_parse(text), *value;
    assert_non_null(object);
    assert_true(json_object_object_get_ex(object, "reason", &value));
    assert_string_equal(json_object_get_string(value), "n3 is missing: \"no\" \\ ?[1m");
    assert_true(json_object_object_get_ex(object, "budget", &value));
    assert_true(json_object_get_double(value) == 2.5);
    assert_true(json_object_object_get_ex(object, "suspect", &value));
    assert_string_equal(json_object_get_string(value), "n5,n7");
    json_object_put(object);
}

/* What does not fit is left out whole; the line stays one. */
TEST(a_long_line_is_cut_at_a_pair)
{
    static char outcome[2 * NT_JOB_LINE_BYTES];
    char text[NT_JOB_LINE_BYTES];
    const struct nt_job_figures none = {0};
    memcpy(outcome, "failed ", 7);
    for (size_t length = 8; length < sizeof outcome; length += 97) {
        memset(outcome + 7, '"', length - 7);
        outcome[length] = '\0';
        const struct nt_job_line line = {.time = "t",
                                         .job = UINT32_MAX,
                                         .user = "u",
                                         .level = NT_LEVEL_QUICK,
                                         .budget_s = 5,
                                         .outcome = outcome,
                                         .figures = &none,
                                         .limited = "",
                                         .to_do = outcome};
        for (int json = 0; json < 2; json++) {
            size_t bytes = nt_job_line_write(&line, json != 0, text);
            assert_true(bytes < sizeof text && bytes == strlen(text));
            assert_non_null(strstr(text, json != 0 ? "\"status\": \"failed\"" : "status=failed"));
            if (json == 0)
                continue;
            struct json_object *object = json_tokener_parse(text);
            assert_non_null(object);
            json_object_put(object);
        }
    }
}

RUN_TESTS
