/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "start.h"

static const char GOOD[] =
    "rank 1\nsize 3\ndeadline_us 8640004500000\njob 4294967296\n"
    "restart 2\ncluster c1\npolicy latency\n"
    "option quick,pattern=ring,apply,debug\nlog debug\ninline_limit 1000\nmax_load 0.125\n"
    "level auto\nlimit 3600\nuse unknown\n"
    "host n1\nhost n2\nhost n10\nend\n";

TEST(a_start_text_tells_the_place)
{
    struct nt_start s;
    must(nt_start_parse(GOOD, strlen(GOOD), &s, &err));
    assert_int_equal(s.rank, 1);
    assert_int_equal(s.size, 3);
    assert_true(s.deadline_us == 8640004500000u);
    assert_true(s.job.job_id == 4294967296u);
    assert_int_equal(s.job.restart, 2);
    assert_string_equal(s.job.cluster, "c1");
    assert_true(s.job.latency_only);
    assert_int_equal(s.job.option.level, NT_LEVEL_QUICK);
    assert_string_equal(s.job.option.pattern, "ring");
    assert_true(s.job.option.level_auto && s.job.limit_s == 3600 && s.job.use_unknown);
    assert_true(s.job.option.apply && s.job.option.debug);
    assert_int_equal(s.job.log, NT_LOG_DEBUG);
    assert_int_equal(s.job.inline_limit_bytes, 1000);
    assert_true(s.job.max_load == 0.125);
    assert_string_equal(s.host[0], "n1");
    assert_string_equal(s.host[2], "n10");
    nt_start_fini(&s);
}

TEST(what_is_left_out_has_its_default)
{
    static const char text[] = "size 1\nrank 0\ndeadline_us 1\nhost a\nend\n";
    struct nt_start s;
    must(nt_start_parse(text, strlen(text), &s, &err));
    assert_int_equal(s.job.option.level, NT_LEVEL_STANDARD);
    assert_false(s.job.latency_only);
    assert_int_equal(s.job.inline_limit_bytes, 32768);
    assert_true(s.job.max_load == 1);
    assert_int_equal(s.job.log, NT_LOG_INFO);
    assert_true(s.job.job_id == 0);
    nt_start_fini(&s);
}

TEST(a_bad_start_text_is_refused_with_its_reason)
{
    static const struct {
        const char *text, *says;
    } table[] = {
        {"", "cut off"},
        {"size 1\nrank 0\ndeadline_us 1\nhost a\n", "cut off"},
        {"size 1\nrank 0\ndeadline_us 1\nhost a\nend", "cut off"},
        {"size 1\nrank 1\ndeadline_us 1\nhost a\nend\n", "rank 1 of 1"},
        {"size 2\nrank 0\ndeadline_us 1\nhost a\nend\n", "expected 2 hosts"},
        {"size 1\nrank 0\ndeadline_us 1\nhost a\nhost b\nend\n", "no more hosts"},
        {"host a\nsize 1\nrank 0\ndeadline_us 1\nend\n", "no more hosts"},
        {"size 1\nrank 0\nhost a\nend\n", "deadline_us"},
        {"size 1\nrank -1\ndeadline_us 1\nhost a\nend\n", "whole number"},
        {"size 4294967297\nrank 0\ndeadline_us 1\nend\n", "whole number"},
        {"size 1\nrank 0\ndeadline_us 1\nhost a;b\nend\n", "host name"},
        {"size 1\nrank 0\ndeadline_us 1\npolicy none\nhost a\nend\n", "full or latency"},
        {"size 1\nrank 0\ndeadline_us 1\noption frob\nhost a\nend\n", "frob"},
        {"size 1\nrank 0\ndeadline_us 1\nlog all\nhost a\nend\n", "error, info or debug"},
        {"size 1\nrank 0\ndeadline_us 1\nlevel quick\nhost a\nend\n", "expected auto"},
        {"size 1\nrank 0\ndeadline_us 1\nmax_load 0\nhost a\nend\n", "a share above 0"},
        {"size 1\nrank 0\ndeadline_us 1\nmax_load 1.5\nhost a\nend\n", "a share above 0"},
        {"size 1\nrank 0\ndeadline_us 1\nmax_load nan\nhost a\nend\n", "a share above 0"},
        {"size 1\nrank 0\ncolour red\nend\n", "colour"},
        {"size 0\nrank 0\ndeadline_us 1\nend\n", "expected 0 hosts"},
        {"size 2\nrank 0\ndeadline_us 1\nhost a\nsize 9\nend\n", "before the first host"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_start s;
        assert_int_equal(nt_start_parse(table[k].text, strlen(table[k].text), &s, &err), -1);
        if (strstr(err.text, table[k].says) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", err.text, table[k].says);
    }
}

TEST(a_text_cut_anywhere_is_refused)
{
    for (size_t cut = 0; cut < strlen(GOOD); cut++) {
        struct nt_start s;
        char *copy = malloc(cut + 1);
        memcpy(copy, GOOD, cut);
        assert_int_equal(nt_start_parse(copy, cut, &s, NULL), -1);
        free(copy);
    }
}

RUN_TESTS
