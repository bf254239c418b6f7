/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "asserts.h"
#include "fleet_made.h"
#include "utc.h"

static const uint32_t hosts[] = {1, 2, 3, 4, 5, 6, 7, 8};
static const int64_t NOW = INT64_C(1795478400); /* 2026-11-24 */

static struct made_job made(void)
{
    return (struct made_job){.job = 42,
                             .restart = 1,
                             .leaf_hosts = 4,
                             .host = hosts,
                             .hosts = 8,
                             .created = "2026-11-23T12:00:00Z",
                             .offset = 1,
                             .noise = 0.02,
                             .seed = 1};
}

static void times_are_read(void **state)
{
    char text[NT_UTC_BYTES];
    static const char *const wrong[] = {"",
                                        "2026-11-24",
                                        "2026-02-30T00:00:00Z",
                                        "2026-13-01T00:00:00Z",
                                        "2026-11-24T24:00:00Z",
                                        "1969-12-31T00:00:00Z",
                                        "2026-11-24T00:00:00z"};
    (void)state;
    assert_int_equal(nt_utc_parse("1970-01-01T00:00:01Z"), 1);
    assert_int_equal(nt_utc_parse("2000-02-29T23:59:59Z"), 951868799);
    for (int64_t day = 0; day < 60000; day += 17) {
        nt_utc_format(day * NT_DAY_S + 3723, text);
        assert_int_equal(nt_utc_parse(text), day * NT_DAY_S + 3723);
    }
    nt_utc_format_day(951868799, text);
    assert_string_equal(text, "2000-02-29");
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        assert_int_equal(nt_utc_parse(wrong[k]), -1);
}

static void a_job_is_what_its_map_and_record_say(void **state)
{
    struct made_job m = made();
    struct nt_samples *s = made_samples(&m);
    struct nt_map *map;
    struct nt_fleet_job *job;
    struct nt_err err = {0};
    struct nt_origin o = NT_ORIGIN_NONE;
    size_t uplinks = 0;
    (void)state;
    assert_int_equal(nt_solve_samples(s, &map, &err), 0);
    o.user = 1001;
    assert_int_equal(nt_fleet_job_create(map, s, &o, NOW, &job, &err), 0);
    assert_int_equal(job->job, 42);
    assert_int_equal(job->restart, 1);
    assert_int_equal(job->user, 1001);
    assert_int_equal(job->time_s, NOW - 12 * 3600);
    assert_int_equal(job->hosts, 8);
    assert_int_equal(job->pairs, 28);
    for (size_t k = 0; k < job->pairs; k++) {
        const struct nt_evidence_entry *p = &job->pair[k];
        double us = p->a / 4 == p->b / 4 ? 1 : 1.5;
        assert_true(p->a < p->b);
        assert_int_equal(p->count, 2);
        assert_below(fabs(p->mean_us - us), 0.02 * us);
        assert_at_most(p->lowest_us, p->mean_us);
    }
    for (size_t k = 0; k < job->figures; k++) {
        const struct nt_fleet_figure *f = &job->figure[k];
        assert_int_equal(f->kind, NT_FIGURE_LATENCY);
        if (f->tier == 0) {
            assert_close(f->value, 0.5, 0.05);
            assert_true(!f->shared);
        } else
            assert_true(f->host == 0 || f->host == 4);
        uplinks += f->tier > 0;
    }
    assert_int_equal(job->figures, 8 + uplinks);
    assert_true(uplinks > 0);
    nt_fleet_job_destroy(job);
    nt_map_destroy(map);
    nt_samples_destroy(s);
}

/* The refusal of what says so, or "" when it is taken. */
static void refuses(struct made_job of_map, struct made_job of_record, const char *head,
                    const char *expected)
{
    struct nt_samples *s = made_samples(&of_map), *record = made_samples(&of_record);
    struct nt_map *map;
    struct nt_fleet_job *job = NULL;
    struct nt_err err = {0};
    struct nt_origin o = NT_ORIGIN_NONE;
    if (head != NULL)
        assert_int_equal(nt_origin_parse(head, strlen(head), &o, &err), 0);
    assert_int_equal(nt_solve_samples(s, &map, &err), 0);
    int rc = nt_fleet_job_create(map, record, &o, NOW, &job, &err);
    if (rc == 0)
        err.text[0] = '\0';
    else
        assert_int_equal(err.kind, NT_ERR_INPUT);
    assert_string_equal(err.text, expected);
    nt_fleet_job_destroy(job);
    nt_map_destroy(map);
    nt_samples_destroy(s);
    nt_samples_destroy(record);
    nt_origin_fini(&o);
}

/* A map that was taken from earlier jobs is no evidence for what they said. */
static void a_map_that_was_not_measured_has_no_figures(void **state)
{
    struct made_job m = made();
    struct nt_samples *s = made_samples(&m);
    struct nt_map *map;
    struct nt_fleet_job *job;
    struct nt_origin o = NT_ORIGIN_NONE;
    (void)state;
    assert_int_equal(nt_solve_samples(s, &map, NULL), 0);
    map->sweep.prior.all_taken = true;
    assert_int_equal(nt_fleet_job_create(map, NULL, &o, NOW, &job, NULL), 0);
    assert_true(job->hosts == 8 && job->figures == 0 && job->findings == 0);
    nt_fleet_job_destroy(job);
    nt_map_destroy(map);
    nt_samples_destroy(s);
}

static void what_contradicts_is_refused(void **state)
{
    static const uint32_t others[] = {1, 2, 3, 4, 5, 6, 7, 9};
    struct made_job good = made(), later = made(), older = made(), other = made(), hostile = made();
    (void)state;
    later.created = "2026-11-26T00:00:00Z";
    older.created = "1999-01-01T00:00:00Z";
    other.job = 43;
    hostile.host = others;
    refuses(good, good, NULL, "");
    refuses(good, good, "nettopo-archive/1 cluster=c job=42 restart=1 hosts=n[1-8]", "");
    refuses(later, later, NULL, "expected the time of the sweep, found \"2026-11-26T00:00:00Z\"");
    refuses(older, older, NULL, "expected the time of the sweep, found \"1999-01-01T00:00:00Z\"");
    refuses(later, later, "nettopo-archive/1 job=42 restart=1 time=1795400000", "");
    refuses(good, other, NULL, "the record is of job 43, the map of job 42");
    refuses(good, hostile, NULL, "the record has host n9, the map does not");
    refuses(good, good, "nettopo-archive/1 job=41", "the map is of job 42, the file of job 41");
    refuses(good, good, "nettopo-archive/1 cluster=d job=42",
            "the map is of cluster c, the file of d");
    refuses(good, good, "nettopo-archive/1 job=42 hosts=n[1-7]", "host n8 was not of job 42");
    refuses(good, good, "nettopo-archive/1 job=42 restart=2",
            "the record is of restart 1, the file of 2");
    good.job = other.job = 0;
    refuses(good, good, NULL, "expected a job's id, found none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_read),
        cmocka_unit_test(a_job_is_what_its_map_and_record_say),
        cmocka_unit_test(a_map_that_was_not_measured_has_no_figures),
        cmocka_unit_test(what_contradicts_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
