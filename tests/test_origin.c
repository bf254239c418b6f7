/* SPDX-License-Identifier: Apache-2.0 */
#include <zlib.h>

#include "asserts.h"
#include "origin.h"

/* ---- origin ---- */

TEST(a_head_is_read)
{
    static const char head[] =
        "nettopo-archive/1 cluster=c job=42 restart=1 uid=1001 time=1764009370 hosts=n[1-3],m";
    struct nt_origin o;
    must(nt_origin_parse(head, sizeof head - 1, &o, &err));
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

TEST(a_wrong_head_is_refused)
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
    for (size_t k = 0; k < sizeof heads / sizeof *heads; k++) {
        struct nt_origin o;
        if (nt_origin_parse(heads[k], strlen(heads[k]), &o, &err) == 0)
            fail_msg("taken: %s", heads[k]);
        assert_int_equal(err.kind, NT_ERR_INPUT);
    }
}

static struct nt_slurm_jobs *parsed(const char *text)
{
    struct nt_slurm_jobs *jobs = NULL;
    must(nt_slurm_jobs_parse("jobs", text, strlen(text), &jobs, &err));
    return jobs;
}

TEST(slurms_records_are_read)
{
    static const char *const texts[] = {
        "JobID|User|UID|NodeList\n41|a|1|n1\n42|bob|1002|n[1-2]\n42.batch|bob|1002|n1\n43|c||n9\n",
        "JobId=41 JobName=x\n   UserId=a(1) GroupId=a(1)\n   NodeList=n1\n\n"
        "JobId=42 JobName=a=b\n   UserId=bob(1002) GroupId=x(2) MCS_label=N/A\n"
        "   ReqNodeList=(null) ExcNodeList=(null)\n   NodeList=n[1-2]\n   NumNodes=2\n",
    };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        struct nt_slurm_jobs *jobs = parsed(texts[k]);
        struct nt_origin o = NT_ORIGIN_NONE;
        must(nt_slurm_jobs_add_facts(jobs, 42, &o, &err));
        assert_int_equal(o.user, 1002);
        assert_int_equal(o.hosts.count, 2);
        assert_int_equal(nt_slurm_jobs_add_facts(jobs, 7, &o, &err), -1);
        assert_string_equal(err.text, "jobs does not contain job 7");
        nt_origin_fini(&o);
        nt_slurm_jobs_destroy(jobs);
    }
}

/* Maps and the archive name a task of an array and a component of a heterogeneous job by their own
 * numbers, as JobIDRaw and scontrol do. */
TEST(parts_of_jobs_have_numbers_of_their_own)
{
    static const char *const texts[] = {
        "JobID|JobIDRaw|UID|NodeList\n12_3|13|7|n1\n12_[4-5]|12|7|None assigned\n14+0|14|7|n4\n"
        "14+1|15|7|n[2-3]\n14+1.batch|15.batch||n2\n",
        "JobIDRaw|NodeList|JobID|User|UID\n13|n1|12_3|u|7\n15|n[2-3]|14+1|u|7\n",
        "JobId=13 ArrayJobId=12 ArrayTaskId=3 JobName=x\n   UserId=u(7)\n   NodeList=n1\n\n"
        "JobId=15 HetJobId=14 HetJobOffset=1 JobName=x\n   HetJobIdSet=14-15\n   UserId=u(7)\n"
        "   NodeList=n[2-3]\n",
    };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        struct nt_slurm_jobs *jobs = parsed(texts[k]);
        for (uint64_t job = 13; job <= 15; job += 2) {
            struct nt_origin o = NT_ORIGIN_NONE;
            must(nt_slurm_jobs_add_facts(jobs, job, &o, &err));
            assert_int_equal(o.user, 7);
            assert_int_equal(o.hosts.count, job == 13 ? 1 : 2);
            nt_origin_fini(&o);
        }
        nt_slurm_jobs_destroy(jobs);
    }
    struct nt_slurm_jobs *jobs = parsed("JobID|UID|NodeList\n11|7|n1\n12_3|7|n1\n");
    struct nt_origin o = NT_ORIGIN_NONE;
    assert_int_equal(nt_slurm_jobs_add_facts(jobs, 13, &o, &err), -1);
    assert_string_equal(err.text, "jobs does not contain job 13. Arrays and heterogeneous jobs "
                                  "need sacct's column JobIDRaw.");
    nt_slurm_jobs_destroy(jobs);
    static const char only[] = "JobID|UID|NodeList\n12+1|7|n1\n";
    assert_int_equal(nt_slurm_jobs_parse("f", only, strlen(only), &jobs, &err), -1);
    assert_string_equal(err.text,
                        "f: expected sacct's column JobIDRaw, found parts of jobs such as 12_3");
}

TEST(what_is_no_record_is_refused)
{
    static const char *const texts[] = {"",
                                        "\n",
                                        "hello\n",
                                        "A|B\n1|2\n",
                                        "JobID|UID|NodeList\n",
                                        "JobIDRaw|NodeList\n5|n1\n",
                                        "JobIDRaw|User|NodeList\n5|bob|n1\n"};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        struct nt_slurm_jobs *jobs;
        assert_int_equal(nt_slurm_jobs_parse("f", texts[k], strlen(texts[k]), &jobs, &err), -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
    }
    struct nt_slurm_jobs *jobs = parsed("JobID|UID|NodeList\n5|7|None assigned\n6|7|n[1\n");
    struct nt_origin o = NT_ORIGIN_NONE;
    assert_int_equal(nt_slurm_jobs_add_facts(jobs, 5, &o, &err), -1);
    assert_int_equal(nt_slurm_jobs_add_facts(jobs, 6, &o, &err), -1);
    nt_origin_fini(&o);
    nt_slurm_jobs_destroy(jobs);
}

/* ---- archive ---- */

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

TEST(map_and_record_come_apart)
{
    unsigned char file[4096];
    static const char text[] = "{\n  \"schema\": 1\n}\nnettopo-samples/1\nend ok 1\n";
    struct nt_archive_text got;
    size_t bytes = packed("root says", text, file, sizeof file);
    assert_true(nt_archive_text_is(file, bytes));
    /* a second member is the user's: it has no say */
    bytes += packed("uid=0", "more", file + bytes, sizeof file - bytes);
    must(nt_archive_text_read(file, bytes, 1000, &got, &err));
    assert_string_equal(got.comment, "root says");
    assert_string_equal(got.text, text);
    assert_int_equal(got.map_bytes, strlen("{\n  \"schema\": 1\n}\n"));
    nt_archive_text_fini(&got);
    assert_false(nt_archive_text_is(text, sizeof text));
}

TEST(what_is_damaged_or_too_large_is_refused)
{
    unsigned char file[4096];
    static char text[100001];
    struct nt_archive_text got;
    memset(text, 'x', sizeof text - 1);
    size_t bytes = packed("", text, file, sizeof file);
    must(nt_archive_text_read(file, bytes, 100000, &got, &err));
    nt_archive_text_fini(&got);
    assert_int_equal(nt_archive_text_read(file, bytes, 99999, &got, &err), -1);
    assert_string_equal(err.text, "expected at most 99999 bytes unpacked");
    for (size_t cut = 0; cut < bytes; cut++)
        assert_int_equal(nt_archive_text_read(file, cut, 200000, &got, &err), -1);
    assert_string_equal(err.text, "expected gzip, found a truncated file");
    file[bytes / 2] ^= 0x55;
    assert_int_equal(nt_archive_text_read(file, bytes, 200000, &got, &err), -1);
}

RUN_TESTS
