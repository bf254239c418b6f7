/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "fleet_job.h"
#include "fleet_made.h"
#include "made_network.h"
#include "planted_jobs.h"
#include "switch_naming.h"
#include "utc.h"

/* ---- job ---- */

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

TEST(times_are_read)
{
    char text[NT_UTC_BYTES];
    static const char *const wrong[] = {"",
                                        "2026-11-24",
                                        "2026-02-30T00:00:00Z",
                                        "2026-13-01T00:00:00Z",
                                        "2026-11-24T24:00:00Z",
                                        "1969-12-31T00:00:00Z",
                                        "2026-11-24T00:00:00z"};
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

TEST(a_job_is_what_its_map_and_record_say)
{
    struct made_job m = made();
    SCOPED(samples) *s = made_samples(&m);
    SCOPED(map) *map;
    struct nt_fleet_job *job;
    struct nt_origin o = NT_ORIGIN_NONE;
    size_t uplinks = 0;
    must(nt_solve_samples(s, NULL, NULL, &map, &err));
    o.user = 1001;
    must(nt_fleet_job_create(map, s, &o, NOW, &job, &err));
    assert_int_equal(job->job, 42);
    assert_int_equal(job->restart, 1);
    assert_int_equal(job->user, 1001);
    assert_int_equal(job->time_s, NOW - 12 * 3600);
    assert_int_equal(job->hosts, 8);
    assert_int_equal(job->pairs, 28);
    for (size_t k = 0; k < job->pairs; k++) {
        const struct nt_evidence_entry *p = &job->pair[k];
        double us = p->a / 4 == p->b / 4 ? 1 : 1.5;
        assert_below(p->a, p->b);
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
            assert_holds(f->host == 0 || f->host == 4, "host %u, expected 0 or 4", f->host);
        uplinks += f->tier > 0;
    }
    assert_int_equal(job->figures, 8 + uplinks);
    assert_above(uplinks, 0);
    nt_fleet_job_destroy(job);
}

/* The refusal of what says so, or "" when it is taken. */
static void refuses(struct made_job of_map, struct made_job of_record, const char *head,
                    const char *expected)
{
    SCOPED(samples) *s = made_samples(&of_map), *record = made_samples(&of_record);
    SCOPED(map) *map;
    struct nt_fleet_job *job = NULL;
    struct nt_err err = {0};
    struct nt_origin o = NT_ORIGIN_NONE;
    if (head != NULL)
        assert_int_equal(nt_origin_parse(head, strlen(head), &o, &err), 0);
    assert_int_equal(nt_solve_samples(s, NULL, NULL, &map, &err), 0);
    int rc = nt_fleet_job_create(map, record, &o, NOW, &job, &err);
    if (rc == 0)
        err.text[0] = '\0';
    else
        assert_int_equal(err.kind, NT_ERR_INPUT);
    assert_string_equal(err.text, expected);
    nt_fleet_job_destroy(job);
    nt_origin_fini(&o);
}

/* A map that was taken from earlier jobs is no evidence for their results. */
TEST(a_map_that_was_not_measured_has_no_figures)
{
    struct made_job m = made();
    SCOPED(samples) *s = made_samples(&m);
    SCOPED(map) *map;
    struct nt_fleet_job *job;
    struct nt_origin o = NT_ORIGIN_NONE;
    assert_int_equal(nt_solve_samples(s, NULL, NULL, &map, NULL), 0);
    map->sweep.prior.all_taken = true;
    assert_int_equal(nt_fleet_job_create(map, NULL, &o, NOW, &job, NULL), 0);
    assert_true(job->hosts == 8 && job->figures == 0 && job->findings == 0);
    nt_fleet_job_destroy(job);
}

TEST(what_contradicts_is_refused)
{
    static const uint32_t others[] = {1, 2, 3, 4, 5, 6, 7, 9};
    struct made_job good = made(), later = made(), older = made(), other = made(), hostile = made();
    later.created = "2026-11-26T00:00:00Z";
    older.created = "1999-01-01T00:00:00Z";
    other.job = 43;
    hostile.host = others;
    refuses(good, good, NULL, "");
    refuses(good, good, "nettopo-archive/1 cluster=c job=42 restart=1 hosts=n[1-8]", "");
    refuses(later, later, NULL, "expected the time of the sweep, found \"2026-11-26T00:00:00Z\"");
    refuses(older, older, NULL, "expected the time of the sweep, found \"1999-01-01T00:00:00Z\"");
    refuses(later, later, "nettopo-archive/1 job=42 restart=1 time=1795400000", "");
    refuses(good, other, NULL, "the samples are from job 43, the map is from job 42");
    refuses(good, hostile, NULL, "host n9 is in the samples, but not in the map");
    refuses(good, good, "nettopo-archive/1 job=41", "the map is from job 42, its file from job 41");
    refuses(good, good, "nettopo-archive/1 cluster=d job=42",
            "the map is from cluster c, its file from d");
    refuses(good, good, "nettopo-archive/1 job=42 hosts=n[1-7]", "host n8 was not in job 42");
    refuses(good, good, "nettopo-archive/1 job=42 restart=2",
            "the samples are from restart 1, their file is from 2");
    good.job = other.job = 0;
    refuses(good, good, NULL, "the map has no job ID: only maps of Slurm jobs can be imported");
}

/* ---- packed ---- */

static const struct nt_evidence_entry pairs[] = {
    {.a = 0, .b = 1, .count = 1, .lowest_us = 1.25f, .mean_us = 1.25f},
    {.a = 0, .b = 70000, .count = 3, .lowest_us = 2, .mean_us = 2.5f, .sd_us = 0.3f},
    {.a = 7, .b = 8, .count = 300, .lowest_us = 0.01f, .mean_us = 0.01f},
    {.a = 7, .b = 9, .count = 1, .lowest_us = 9e8f, .mean_us = 9e8f},
    {.a = 70001, .b = 70002, .count = 2, .lowest_us = 1.3f, .mean_us = 1.31f, .sd_us = 0.01f},
};
enum { PAIRS = sizeof pairs / sizeof *pairs, HOSTS = 80000 };

static const struct nt_fleet_figure figures[] = {
    {.host = 0, .tier = 0, .kind = NT_FIGURE_LATENCY, .value = 0.5f},
    {.host = 0, .tier = 0, .kind = NT_FIGURE_UP, .value = 12000},
    {.host = 0, .tier = 0, .kind = NT_FIGURE_DOWN, .value = 11000, .bound = true},
    {.host = 0, .tier = 7, .kind = NT_FIGURE_LATENCY, .value = 1e-6f},
    {.host = 70000, .tier = 1, .kind = NT_FIGURE_UP, .value = 1e8f, .shared = true, .bound = true},
};
enum { FIGURES = sizeof figures / sizeof *figures };

static void assert_near(double found, double expected)
{
    if (fabs(found - expected) > 0.001 * fabs(expected))
        fail_msg("%g is not %g", found, expected);
}

static int check_pair(void *context, const struct nt_evidence_entry *p, struct nt_err *err)
{
    size_t *k = context;
    (void)err;
    assert_below(*k, PAIRS);
    assert_int_equal(p->a, pairs[*k].a);
    assert_int_equal(p->b, pairs[*k].b);
    assert_int_equal(p->count, pairs[*k].count);
    assert_near(p->lowest_us, pairs[*k].lowest_us);
    assert_near(p->mean_us, pairs[*k].mean_us);
    assert_below(fabs(p->sd_us - pairs[*k].sd_us), 0.001 * p->mean_us);
    ++*k;
    return 0;
}

static int check_figure(void *context, const struct nt_fleet_figure *f, struct nt_err *err)
{
    size_t *k = context;
    (void)err;
    assert_below(*k, FIGURES);
    assert_int_equal(f->host, figures[*k].host);
    assert_int_equal(f->tier, figures[*k].tier);
    assert_int_equal(f->kind, figures[*k].kind);
    assert_int_equal(f->shared, figures[*k].shared);
    assert_int_equal(f->bound, figures[*k].bound);
    assert_near(f->value, figures[*k].value);
    ++*k;
    return 0;
}

TEST(what_is_packed_comes_back)
{
    struct nt_strbuf buf = {0};
    size_t k = 0;
    nt_packed_put_pairs(&buf, pairs, PAIRS);
    must(nt_packed_visit_pairs(buf.text, buf.used, HOSTS, check_pair, &k, &err));
    assert_int_equal(k, PAIRS);
    assert_at_most(buf.used, 10 * (size_t)PAIRS);
    k = 0;
    assert_int_equal(nt_packed_visit_pairs(buf.text, buf.used, 70002, check_pair, &k, &err), -1);
    buf.used = k = 0;
    nt_packed_put_figures(&buf, figures, FIGURES);
    must(nt_packed_visit_figures(buf.text, buf.used, HOSTS, check_figure, &k, &err));
    assert_int_equal(k, FIGURES);
    free(buf.text);
}

static int take_pair(void *context, const struct nt_evidence_entry *p, struct nt_err *err)
{
    (void)context, (void)err;
    assert_below(p->a, p->b);
    assert_below(p->b, 100);
    assert_above(p->count, 0);
    assert_above(p->lowest_us, 0);
    assert_at_least(p->mean_us, p->lowest_us);
    assert_at_least(p->sd_us, 0);
    assert_true(isfinite(p->sd_us));
    return 0;
}

static int take_figure(void *context, const struct nt_fleet_figure *f, struct nt_err *err)
{
    (void)context, (void)err;
    assert_below(f->host, 100);
    assert_below(f->tier, NT_FLEET_TIERS);
    assert_below(f->kind, NT_FIGURE_KINDS);
    return 0;
}

/* Every change of one byte, and every cut: an error, or values within bounds. */
TEST(damaged_bytes_stay_within_bounds)
{
    struct nt_strbuf buf = {0};
    nt_packed_put_pairs(&buf, pairs, 1);
    nt_packed_put_pairs(&buf, pairs + 1, PAIRS - 1);
    for (size_t at = 0; at < buf.used; at++)
        for (int value = 0; value < 256; value++) {
            char was = buf.text[at];
            buf.text[at] = (char)value;
            nt_packed_visit_pairs(buf.text, buf.used, 100, take_pair, NULL, NULL);
            nt_packed_visit_figures(buf.text, buf.used, 100, take_figure, NULL, NULL);
            nt_packed_visit_pairs(buf.text, at, 100, take_pair, NULL, NULL);
            buf.text[at] = was;
        }
    free(buf.text);
}

/* ---- evidence ---- */

/* The table of the measurements of many jobs, and the offsets of jobs. */

static void evidence_refuses(struct nt_evidence *e, uint32_t job, uint32_t a, uint32_t b, double us)
{
    size_t before = e->entries;
    assert_int_equal(evidence_note(e, job, a, b, us, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    assert_int_equal(e->entries, before);
}

TEST(test_bounds)
{
    struct nt_evidence e;
    assert_int_equal(nt_evidence_init(&e, (size_t)1 << 20, &err), -1);
    must(nt_evidence_init(&e, 3, &err));
    evidence_refuses(&e, 0, 0, 1, 1); /* no job yet */
    must(nt_evidence_add_job(&e, 5, 1, 0, NULL, &err));
    evidence_refuses(&e, 0, 0, 0, 1);
    evidence_refuses(&e, 0, 0, 3, 1);
    evidence_refuses(&e, 1, 0, 1, 1);
    evidence_refuses(&e, 0, 0, 1, 0);
    evidence_refuses(&e, 0, 0, 1, -1);
    evidence_refuses(&e, 0, 0, 1, NAN);
    evidence_refuses(&e, 0, 0, 1, INFINITY);
    struct nt_evidence_entry bad = {.a = 0, .b = 1, .count = 0, .lowest_us = 1, .mean_us = 1};
    assert_int_equal(nt_evidence_add(&e, &bad, &err), -1);
    bad.count = 2;
    bad.sd_us = NAN;
    assert_int_equal(nt_evidence_add(&e, &bad, &err), -1);
    nt_evidence_fini(&e);
}

TEST(test_folds)
{
    static const double us[] = {3, 1, 2, 6};
    struct nt_evidence e;
    must(nt_evidence_init(&e, 3, &err));
    must(nt_evidence_add_job(&e, 9, 1, 0, NULL, &err));
    must(nt_evidence_add_job(&e, 5, 2, 0, NULL, &err));
    for (size_t k = 0; k < 4; k++)
        assert_int_equal(evidence_note(&e, 0, k % 2 ? 2 : 1, k % 2 ? 1 : 2, us[k], &err), 0);
    assert_int_equal(evidence_note(&e, 1, 1, 2, 7, &err), 0);
    assert_int_equal(evidence_note(&e, 0, 0, 2, 4, &err), 0);
    must(nt_evidence_sort(&e, &err));
    assert_int_equal(e.entries, 3);
    assert_int_equal(e.entry[0].a, 0);
    assert_true(e.job[0].id == 2 && e.job[1].id == 1); /* by time */
    assert_true(e.entry[1].job == 0 && e.entry[2].job == 1);
    const struct nt_evidence_entry *folded = &e.entry[2];
    assert_int_equal(folded->count, 4);
    assert_true(folded->a == 1 && folded->b == 2);
    assert_float_equal(folded->lowest_us, 1, 1e-6);
    assert_float_equal(folded->mean_us, 3, 1e-6);
    assert_float_equal(folded->sd_us, sqrt(14.0 / 3), 1e-6);
    assert_int_equal(nt_evidence_next_pair(&e, 1), 3);
    nt_evidence_fini(&e);
}

/* Offsets between jobs that share pairs are found, also through others, and when one pair in ten
 * is disturbed. */
TEST(test_aligns)
{
    SCOPED(network) *n = made_machine("tree:2x4x4");
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct planted_jobs p = {.network = n,
                                 .noise = {.sd = 0.01, .outliers = 0.1, .seed = seed}};
        struct nt_evidence e;
        struct nt_rng rng;
        double factor[12];
        nt_rng_init(&rng, seed);
        must(nt_evidence_init(&e, n->hosts, &err));
        for (uint32_t j = 0; j < 12; j++) { /* hosts 2j..2j+7: neighbours in time share six */
            uint32_t host[8];
            for (uint32_t k = 0; k < 8; k++)
                host[k] = (2 * j + k) % (uint32_t)n->hosts;
            factor[j] = exp(0.1 * nt_rng_normal(&rng));
            planted_job(&p, &e, PLANTED_START_S + j, j + 1, 0, host, 8);
            for (size_t k = 0; k < e.entries; k++)
                if (e.entry[k].job == j) {
                    e.entry[k].lowest_us *= (float)factor[j];
                    e.entry[k].mean_us *= (float)factor[j];
                }
        }
        must(nt_evidence_align(&e, &err));
        for (uint32_t j = 1; j < 12; j++) {
            double found = (double)(e.job[j].offset_ln - e.job[0].offset_ln);
            assert_float_equal(found, log(factor[j] / factor[0]), 0.03);
        }
        nt_evidence_fini(&e);
    }
}

TEST(test_alone)
{
    struct nt_evidence e;
    must(nt_evidence_init(&e, 4, &err));
    must(nt_evidence_align(&e, &err));
    for (uint32_t j = 0; j < 3; j++) {
        must(nt_evidence_add_job(&e, j, j, 0, NULL, &err));
        assert_int_equal(evidence_note(&e, j, j < 2 ? 0 : 2, j < 2 ? 1 : 3, 1 + j, &err), 0);
    }
    must(nt_evidence_align(&e, &err));
    assert_true(isnan(e.job[2].offset_ln));
    assert_float_equal(e.job[1].offset_ln - e.job[0].offset_ln, log(2), 1e-4);
    nt_evidence_fini(&e);
}

/* Two groups of jobs of the same mean factor, and one job of the second whose reading of a pair of
 * the first is disturbed: that pair does not put the groups apart. */
TEST(test_groups)
{
    enum { JOBS = 8, HOSTS = 5 };
    struct nt_evidence e;
    must(nt_evidence_init(&e, 2 * HOSTS, &err));
    for (uint32_t j = 0; j < 2 * JOBS; j++) {
        uint32_t group = j / JOBS, first = group * HOSTS;
        double factor = 1 + 0.02 * ((int)(j % JOBS) - 3.5);
        must(nt_evidence_add_job(&e, j, j, 0, NULL, &err));
        for (uint32_t a = first; a < first + HOSTS; a++)
            for (uint32_t b = a + 1; b < first + HOSTS; b++)
                assert_int_equal(evidence_note(&e, j, a, b, factor, &err), 0);
    }
    assert_int_equal(evidence_note(&e, JOBS, 0, 1, 1.4, &err), 0);
    must(nt_evidence_align(&e, &err));
    for (size_t k = 0; k < e.entries; k++)
        if (e.entry[k].job != JOBS || e.entry[k].a > 0)
            assert_below(fabs((double)e.entry[k].ln), 0.03);
    nt_evidence_fini(&e);
}

/* ---- naming ---- */

/* Names of switches from day to day. */

static struct nt_model *truth_of(const char *topology)
{
    struct nt_network *n = made_machine(topology);
    struct nt_model *m = true_model(n);
    nt_network_destroy(n);
    return m;
}

static uint32_t switch_of(const struct nt_model *m, uint32_t host)
{
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a == host)
            return m->link[k].b - (uint32_t)m->hosts;
    fail_msg("host %u is on no link", host);
    return 0;
}

/* The host is on the switch of another from now on. */
static void move(struct nt_model *m, uint32_t host, uint32_t beside)
{
    uint32_t to = switch_of(m, beside) + (uint32_t)m->hosts;
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a == host)
            m->link[k].b = to;
}

TEST(test_stay)
{
    SCOPED(model) *m = truth_of("tree:2x3x4");
    struct nt_switch_naming naming = {0};
    uint32_t first[32], later[32];
    must(nt_switch_naming_match(&naming, m, first, &naming, &err));
    assert_int_equal(naming.last, m->switches);
    must(nt_switch_naming_match(&naming, m, later, &naming, &err));
    assert_memory_equal(first, later, m->switches * sizeof *first);

    uint32_t old = switch_of(m, 0), new = switch_of(m, 23);
    move(m, 0, 23); /* one of four: both leaves stay what they are */
    must(nt_switch_naming_match(&naming, m, later, &naming, &err));
    assert_memory_equal(first, later, m->switches * sizeof *first);
    assert_true(switch_of(m, 0) == new);

    for (uint32_t h = 1; h < 4; h++) /* nobody is left there: the model has no such leaf in truth */
        move(m, h, 23);
    must(nt_switch_naming_match(&naming, m, later, &naming, &err));
    assert_int_not_equal(later[old], first[old]); /* a number that none has had */
    assert_above(later[old], m->switches);
    nt_switch_naming_fini(&naming);
}

/* Numbered otherwise, the switches keep their names. */
TEST(test_renumbered)
{
    SCOPED(model) *m = truth_of("tree:2x3x4"), *other;
    struct nt_switch_naming naming = {0};
    uint32_t first[32], later[32];
    size_t s = m->switches;
    must(nt_switch_naming_match(&naming, m, first, &naming, &err));
    must(nt_model_copy(m, &other, &err));
    for (size_t k = 0; k < m->links; k++)
        for (int end = 0; end < 2; end++) {
            uint32_t *v = end ? &other->link[k].b : &other->link[k].a;
            if (*v >= m->hosts)
                *v = (uint32_t)(m->hosts + (*v - m->hosts + 1) % s);
        }
    for (size_t k = 0; k < s; k++)
        other->tier[(k + 1) % s] = m->tier[k];
    must(nt_switch_naming_match(&naming, other, later, NULL, &err));
    for (size_t k = 0; k < s; k++)
        assert_int_equal(later[(k + 1) % s], first[k]);
    nt_switch_naming_fini(&naming);
}

TEST(test_refuses)
{
    struct nt_switch_naming naming = {0};
    assert_int_equal(nt_switch_naming_add(&naming, (struct nt_switch_member){1, 0, 1}, &err), -1);
    assert_int_equal(nt_switch_naming_add(&naming, (struct nt_switch_member){1, 1, 0}, &err), -1);
    nt_switch_naming_fini(&naming);
}

RUN_TESTS
