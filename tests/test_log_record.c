/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "job_line.h"
#include "log_record.h"

static struct nt_log_line rest_of(const char *line)
{
    return (struct nt_log_line){.at = line, .end = line + strlen(line)};
}

/* The first record of a line. */
static bool read_line(const char *line, struct nt_log_record *r)
{
    struct nt_log_line rest = rest_of(line);
    return nt_log_record_next(&rest, r);
}

/* What the agent writes is read back, behind each prefix that a log puts before it. */
TEST(what_the_agent_writes_is_read)
{
    static const char *const prefixes[] = {
        "",
        "Nov 24 18:37:11 n1 nettopo[123]: ",
        "2026-11-24T18:37:11.123456+00:00 n1 nettopo[123]: ",
        "<28>1 2026-11-24T18:37:11Z n1 nettopo 123 - - ",
        "[12.5] a=b \"x=\" nettopo: ",
    };
    struct nt_job_figures figures;
    char text[NT_JOB_LINE_BYTES], line[NT_JOB_LINE_BYTES + 128];
    static const char words[] = "rounds=39 findings=1 missing=n3,+2 suspect=n5,n7";
    nt_job_figures_parse(words, strlen(words), &figures);
    const struct nt_job_line written = {.time = "2026-11-24T18:37:11Z",
                                        .job = 42,
                                        .user = "al ice",
                                        .level = NT_LEVEL_FULL,
                                        .budget_s = 5,
                                        .outcome = "partial a \"b\" = {\\}, c",
                                        .hosts = 8,
                                        .seconds = 1,
                                        .figures = &figures,
                                        .limited = "budget 9 s became 5 s",
                                        .to_do = "d"};
    for (int json = 0; json < 2; json++)
        for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes; k++) {
            struct nt_log_record r;
            nt_job_line_write(&written, json != 0, text);
            snprintf(line, sizeof line, "%s%s", prefixes[k], text);
            assert_true(read_line(line, &r));
            assert_int_equal(r.job, 42);
            assert_int_equal(r.time_s, 1795545431);
            assert_int_equal(r.status, NT_STATUS_PARTIAL);
            assert_string_equal(r.user, "al ice");
            assert_string_equal(r.reason, "a \"b\" = {\\}, c");
            assert_string_equal(r.missing, "n3,+2");
            assert_string_equal(r.suspect, "n5,n7");
        }
}

/* What programs that pass logs on make of them, by which one. */
TEST(other_programs_json_is_read)
{
    static const char *const lines[] = {
        /* jq -c, and -S, and in an object of a collector */
        "{\"job\":44,\"time\":\"2026-11-24T18:37:11Z\",\"user\":\"u\",\"status\":\"failed\","
        "\"reason\":\"no connection\"}",
        "{ \"hosts\": 4, \"job\" : 44 , \"reason\": \"no connection\", \"status\": \"failed\", "
        "\"time\": \"2026-11-24T18:37:11Z\" }",
        "{\"tags\":{\"a\":[1,{}],\"b\":\"}\"},\"job\":44,\"time\":\"2026-11-24T18:37:11Z\","
        "\"status\":\"failed\",\"reason\":\"no connection\",\"x\":null}",
        "{\"stream\":\"nettopo\",\"record\":{\"job\":44,\"time\":\"2026-11-24T18:37:11Z\","
        "\"status\":\"failed\",\"reason\":\"no connection\"}}",
        /* jq over more than one line, which the caller joins */
        "{   \"job\": 44,   \"time\": \"2026-11-24T18:37:11Z\",   \"status\": \"failed\", \r "
        "\"reason\": \"no connection\" }",
        /* journalctl -o json: of both kinds of lines */
        "{\"PRIORITY\":\"4\",\"_PID\":\"7\",\"MESSAGE\":\"job=44 time=2026-11-24T18:37:11Z "
        "status=failed reason=\\\"no connection\\\"\",\"_UID\":\"0\"}",
        "{\"_X\":[\"a\",\"b\"],\"MESSAGE\":\"{\\\"job\\\": 44, \\\"time\\\": "
        "\\\"2026-11-24T18:37:11Z\\\", \\\"status\\\": \\\"failed\\\", \\\"reason\\\": "
        "\\\"no connection\\\"}\"}",
        /* logcli -o jsonl and the API of Loki; logcli's own lines */
        "{\"labels\":{\"host\":\"n1\"},\"line\":\"Nov 24 18:37:11 n1 nettopo[1]: job=44 "
        "time=2026-11-24T18:37:11Z status=failed reason=\\\"no connection\\\"\",\"timestamp\":"
        "\"2026-11-24T18:37:11.1Z\"}",
        "{\"status\":\"success\",\"data\":{\"result\":[{\"stream\":{},\"values\":[[\"1795545431\","
        "\"{\\\"job\\\":44,\\\"time\\\":\\\"2026-11-24T18:37:11Z\\\",\\\"status\\\":\\\"failed\\\","
        "\\\"reason\\\":\\\"no connection\\\"}\"]]}]}}",
        "2026-11-24T18:37:11Z {host=\"n1\"} job=44 time=2026-11-24T18:37:11Z status=failed "
        "reason=\"no connection\"",
        /* Docker, and Loki behind it */
        "{\"log\":\"job=44 reason=\\u0022no connection\\u0022 time=2026-11-24T18:37:11Z "
        "status=failed\\n\",\"stream\":\"stdout\"}",
        "{\"line\":\"{\\\"log\\\":\\\"job=44 time=2026-11-24T18:37:11Z reason="
        "\\\\\\\"no connection\\\\\\\" status=failed\\\\n\\\"}\"}",
    };
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
        struct nt_log_line rest = rest_of(lines[k]);
        struct nt_log_record r;
        if (!nt_log_record_next(&rest, &r))
            fail_msg("line %zu", k);
        assert_int_equal(r.job, 44);
        assert_int_equal(r.time_s, 1795545431);
        assert_int_equal(r.status, NT_STATUS_FAILED);
        assert_string_equal(r.reason, "no connection");
        assert_false(nt_log_record_next(&rest, &r));
    }
}

TEST(a_code_that_is_none_is_a_question_mark)
{
    static const char line[] = "{\"job\":1,\"time\":\"2026-11-24\",\"status\":\"failed\","
                               "\"reason\":\"\\u004a \\u004A \\u00\x14\x11 \\u00g1 \\u20ac\"}";
    struct nt_log_record r;
    assert_true(read_line(line, &r));
    assert_string_equal(r.reason, "J J ? ? ?");
}

TEST(nesting_takes_no_long_time)
{
    enum { DEEP = 200000 };
    static const char record[] = "\"job\":1,\"time\":\"2026-11-24\",\"status\":\"ok\"}";
    char *line = malloc(DEEP * 5 + sizeof record), *at = line;
    assert_non_null(line);
    struct nt_log_record r;
    for (size_t k = 0; k < DEEP; k++, at += 5)
        memcpy(at, "{\"a\":", 5);
    memcpy(at, record, sizeof record);
    assert_false(read_line(line, &r)); /* the last brace is a colon */
    at[-1] = ' ';
    at[-5] = ' ';
    memcpy(at - 4, "   {", 4);
    assert_true(read_line(line, &r));
    assert_int_equal(r.job, 1);
    free(line);
}

TEST(a_line_can_have_several_records)
{
    static const char *const lines[] = {
        "[{\"job\":1,\"time\":\"2026-11-24\",\"status\":\"ok\"},{\"x\":0},"
        "{\"job\":2,\"time\":\"2026-11-24\",\"status\":\"ok\"}]",
        "{\"values\":[[\"1\",\"job=1 time=2026-11-24 status=ok\"],[\"2\",\"none\"],[\"3\","
        "\"{\\\"job\\\":2,\\\"time\\\":\\\"2026-11-24\\\",\\\"status\\\":\\\"ok\\\"}\"]]}",
    };
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
        struct nt_log_line rest = rest_of(lines[k]);
        struct nt_log_record r;
        for (uint64_t job = 1; job <= 2; job++) {
            assert_true(nt_log_record_next(&rest, &r));
            assert_int_equal(r.job, job);
        }
        assert_false(nt_log_record_next(&rest, &r));
    }
}

TEST(other_lines_are_no_records)
{
    static const char *const lines[] = {
        "",
        "job 42 on n3: lost host n5",
        "job=42",
        "job=42 time=2026-11-24T18:37:11Z",
        "job=42 time=yesterday status=ok",
        "job=42 time=2026-11-24T18:37:11Z status=good",
        "job=x time=2026-11-24T18:37:11Z status=ok",
        "xjob=42 time=2026-11-24T18:37:11Z status=ok",
        "{\"job\": 42",
        "{\"job\": 42, \"time\": \"2026-11-24T18:37:11Z\", \"status\": \"ok",
    };
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
        struct nt_log_record r;
        assert_false(read_line(lines[k], &r));
    }
}

TEST(times)
{
    static const struct {
        const char *text;
        int64_t time_s; /* -1: none */
    } table[] = {
        {"1970-01-01", 0},
        {"1970-01-01T00:01Z", 60},
        {"2000-02-29T12:00:00Z", 951825600},
        {"2001-03-01", 983404800},
        {"2026-11-24T18:37:11Z", 1795545431},
        {"2026-13-01", -1},
        {"2026-11-24T18:37:11", -1},
        {"2026-11-24T18:37:11Zx", -1},
        {"2026-11-24 18:37", -1},
        {"1969-12-31", -1},
        {"", -1},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        int64_t time_s = -1;
        bool good = nt_log_time_parse(table[k].text, strlen(table[k].text), &time_s);
        assert_int_equal(good, table[k].time_s >= 0);
        assert_int_equal(time_s, table[k].time_s);
    }
}

RUN_TESTS
