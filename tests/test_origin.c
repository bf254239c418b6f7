/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "origin.h"

static void a_head_is_read(void **state)
{
    static const char head[] =
        "nettopo-archive/1 cluster=c job=42 restart=1 uid=1001 time=1764009370 hosts=n[1-3],m";
    struct nt_origin o;
    struct nt_err err = {0};
    (void)state;
    assert_int_equal(nt_origin_parse(head, sizeof head - 1, &o, &err), 0);
    assert_string_equal(o.cluster, "c");
    assert_true(o.has_job && o.has_restart);
    assert_int_equal(o.job, 42);
    assert_int_equal(o.restart, 1);
    assert_int_equal(o.user, 1001);
    assert_int_equal(o.time_s, 1764009370);
    assert_int_equal(o.hosts.count, 4);
    assert_int_not_equal(nt_names_find(&o.hosts, "n2", 2), NT_NAMES_NONE);
    nt_origin_fini(&o);
}

static void a_wrong_head_is_refused(void **state)
{
    static const char *const heads[] = {
        "",
        "nettopo-archive/2 job=1",
        "nettopo-archive/1",
        "nettopo-archive/1 job=",
        "nettopo-archive/1 job=-1",
        "nettopo-archive/1 job=4294967296",
        "nettopo-archive/1 job=1 uid=4294967295",
        "nettopo-archive/1 job=1 more",
        "nettopo-archive/1 job=1  uid=3",
        "nettopo-archive/1 job=1 hosts=n[1-",
        "nettopo-archive/1 job=1 hosts=n[1-99999999]",
    };
    (void)state;
    for (size_t k = 0; k < sizeof heads / sizeof *heads; k++) {
        struct nt_origin o;
        struct nt_err err = {0};
        if (nt_origin_parse(heads[k], strlen(heads[k]), &o, &err) == 0)
            fail_msg("taken: %s", heads[k]);
        assert_int_equal(err.kind, NT_ERR_INPUT);
    }
}

static struct nt_slurm_jobs *parsed(const char *text)
{
    struct nt_slurm_jobs *jobs = NULL;
    struct nt_err err = {0};
    if (nt_slurm_jobs_parse("jobs", text, strlen(text), &jobs, &err) != 0)
        fail_msg("%s", err.text);
    return jobs;
}

static void slurms_records_are_read(void **state)
{
    static const char *const texts[] = {
        "JobID|User|UID|NodeList\n41|a|1|n1\n42|bob|1002|n[1-2]\n42.batch|bob|1002|n1\n43|c||n9\n",
        "JobId=41 JobName=x\n   UserId=a(1) GroupId=a(1)\n   NodeList=n1\n\n"
        "JobId=42 JobName=a=b\n   UserId=bob(1002) GroupId=x(2) MCS_label=N/A\n"
        "   ReqNodeList=(null) ExcNodeList=(null)\n   NodeList=n[1-2]\n   NumNodes=2\n",
    };
    (void)state;
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        struct nt_slurm_jobs *jobs = parsed(texts[k]);
        struct nt_origin o = NT_ORIGIN_NONE;
        struct nt_err err = {0};
        assert_int_equal(nt_slurm_jobs_say(jobs, 42, &o, &err), 0);
        assert_int_equal(o.user, 1002);
        assert_int_equal(o.hosts.count, 2);
        assert_int_equal(nt_slurm_jobs_say(jobs, 7, &o, &err), -1);
        assert_string_equal(err.text, "jobs has no job 7");
        nt_origin_fini(&o);
        nt_slurm_jobs_destroy(jobs);
    }
}

static void what_is_no_record_is_refused(void **state)
{
    static const char *const texts[] = {"", "\n", "hello\n", "A|B\n1|2\n", "JobID|NodeList\n"};
    (void)state;
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        struct nt_slurm_jobs *jobs;
        struct nt_err err = {0};
        assert_int_equal(nt_slurm_jobs_parse("f", texts[k], strlen(texts[k]), &jobs, &err), -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
    }
    struct nt_slurm_jobs *jobs = parsed("JobID|NodeList\n5|None assigned\n6|n[1\n");
    struct nt_origin o = NT_ORIGIN_NONE;
    struct nt_err err = {0};
    assert_int_equal(nt_slurm_jobs_say(jobs, 5, &o, &err), -1);
    assert_int_equal(nt_slurm_jobs_say(jobs, 6, &o, &err), -1);
    nt_origin_fini(&o);
    nt_slurm_jobs_destroy(jobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_is_read),
        cmocka_unit_test(a_wrong_head_is_refused),
        cmocka_unit_test(slurms_records_are_read),
        cmocka_unit_test(what_is_no_record_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
