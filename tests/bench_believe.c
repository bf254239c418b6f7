/* SPDX-License-Identifier: Apache-2.0 */
/* How far a map can be believed on the jobs that people run: few hosts, small groups, and whether
 * confidence and support mean what they say.
 *
 *     build/tests/bench_believe [SEEDS, default 1 [TABLES, default fgc]]
 *
 * TABLES: f few hosts, every tree; g small groups; c whether confidence and support are what is
 * observed; e what c counts, a line for each map (kind, hosts, confidence, exact) and for each
 * group of it (kind, hosts, size, support, real). SEEDS multiplies the samples. FULL=1 in the
 * environment takes ten times as many.
 *
 * Of what states 0.9 and more table c has the share that is right with its 95 % interval (Wilson
 * 1927): the figure that at least nine in ten are held to, row by row.
 *
 * A map is exact here when every group that the readings can show (job_chance 0.98) is found, with
 * support 0.5 or more, and nothing is stated that is not there. A direct network, or a dragonfly
 * that is stated as one, is exact when its links are.
 *
 * The best test knows the noise, which readings are disturbed, and how many groups there are. It is
 * too weak among many hosts, for it does not know that a host is in one group at the most.
 */
#include <stdio.h>
#include <stdlib.h>

#include "job_draw.h"
#include "job_groups.h"
#include "job_network.h"

#define SURE 0.9

static struct nt_model *infer(const struct nt_matrix *x)
{
    struct nt_model *m;
    struct nt_err err;
    known_must(nt_infer_latency(x, NULL, 1, &m, &err), &err);
    return m;
}

/* ---- one map against its truth ---- */

struct judged {
    struct nt_model *m;
    struct job_groups truth, map;
    double *chance; /* of each group of the truth */
    double confidence;
    bool same;  /* every group, and no other */
    bool exact; /* as above */
};

static bool found(const struct judged *j, size_t k)
{
    const struct job_group *g = job_groups_find(&j->map, &j->truth.group[k]);
    return g != NULL && g->support >= 0.5;
}

static bool real(const struct judged *j, size_t k)
{
    return job_groups_find(&j->truth, &j->map.group[k]) != NULL;
}

/* Owns truth's groups from here. undisturbed, sd_us: see job_chances. A direct network has no
 * switches and is none of the trees that are asked for. */
static void judge(struct judged *j, const struct job_groups *truth, const struct nt_matrix *x,
                  const struct nt_matrix *undisturbed, double sd_us)
{
    const struct nt_model *m = j->m = infer(x);
    j->truth = *truth;
    job_groups_of(m, &j->map);
    j->chance = job_chances(&j->truth, undisturbed, sd_us);
    j->confidence = m->confidence;
    j->same = job_groups_same(&j->truth, &j->map);
    j->exact = j->map.tree || m->switches > 0 || m->hosts < 3;
    for (size_t k = 0; k < j->truth.count; k++)
        j->exact = j->exact && (j->chance[k] < JOB_SHOWN || found(j, k));
    for (size_t k = 0; k < j->map.count; k++)
        j->exact = j->exact && real(j, k);
}

static void judged_fini(struct judged *j)
{
    job_groups_fini(&j->truth);
    job_groups_fini(&j->map);
    free(j->chance);
    nt_model_destroy(j->m);
}

struct tally {
    size_t maps, same, exact, sure, sure_exact;
    double ideal; /* chance of the best test to find every group */
};

static void count(struct tally *t, const struct judged *j)
{
    t->maps++;
    t->same += j->same;
    t->exact += j->exact;
    t->sure += j->confidence >= SURE;
    t->sure_exact += j->confidence >= SURE && j->exact;
    double ideal = 1;
    for (size_t k = 0; k < j->truth.count; k++)
        ideal *= j->chance[k];
    t->ideal += ideal;
}

/* ---- few hosts ---- */

static double mean_reading(const struct nt_matrix *x)
{
    double sum = 0;
    for (size_t i = 0; i < x->n; i++)
        for (size_t j = 0; j < i; j++)
            sum += (double)nt_matrix_get(x, i, j);
    return 2 * sum / (double)(x->n * (x->n - 1));
}

static const double sds[] = {0, 0.005, 0.01, 0.02, 0.05};
enum { SDS = sizeof sds / sizeof *sds };

static void few(const struct job_shape *shape, size_t sd, size_t seed, struct tally *t)
{
    struct nt_rng rng;
    struct judged j;
    struct job_groups groups;
    nt_rng_init(&rng, (seed * 100 + shape->hosts) * 10 + sd);
    struct nt_model *truth = job_few(shape, seed % 4 == 3, &rng);
    struct nt_matrix *x = job_measure(truth, &(struct job_noise){.sd = sds[sd]}, &rng);
    job_groups_of(truth, &groups);
    judge(&j, &groups, x, x, fmax(sds[sd], 1e-6) * mean_reading(x));
    count(t, &j);
    judged_fini(&j);
    nt_matrix_destroy(x);
    nt_model_destroy(truth);
}

static void bench_four(void)
{
    const uint32_t side[] = {1, 2};
    struct judged j;
    struct job_groups groups;
    struct nt_matrix *x = job_four();
    job_groups_init(&groups, 4);
    groups.tree = true;
    job_groups_add(&groups, side, 2, 100, 1);
    judge(&j, &groups, x, x, 1e-3);
    printf("| 4, one matrix | %d/1, sure %d/%d |\n", j.same, j.confidence >= SURE && j.same,
           j.confidence >= SURE);
    judged_fini(&j);
    nt_matrix_destroy(x);
}

static void bench_few(size_t seeds)
{
    struct job_shape shape[JOB_SHAPES_MAX];
    printf("\nTrees of few hosts, every shape: the same tree (by the best test) of all,\nexact of "
           "those that state %.1f (nothing that can be shown is missed, nothing is "
           "invented)\n\n| hosts (shapes)",
           SURE);
    for (size_t c = 0; c < SDS; c++)
        printf(" | noise %.1f%%", 100 * sds[c]);
    printf(" |\n");
    for (size_t hosts = 3; hosts <= JOB_FEW; hosts++) {
        size_t shapes = job_shapes(hosts, shape);
        size_t runs = (seeds * 150 + shapes - 1) / shapes;
        printf("| %zu (%zu)", hosts, shapes);
        for (size_t c = 0; c < SDS; c++) {
            struct tally t = {0};
            for (size_t k = 0; k < shapes; k++)
                for (size_t s = 0; s < runs; s++)
                    few(&shape[k], c, k * 100000 + s, &t);
            printf(" | %zu (%.0f)/%zu, sure %zu/%zu", t.same, t.ideal, t.maps, t.sure_exact,
                   t.sure);
            fflush(stdout);
        }
        printf(" |\n");
    }
    bench_four();
}

/* ---- small groups ---- */

enum { CLASSES = 5 }; /* groups of 2, 3, 4, 5 to 8, and more */

struct small {
    struct tally maps;
    size_t planted[CLASSES], found[CLASSES], shown[CLASSES], missed[CLASSES];
    double chance[CLASSES];
    size_t invented, invented_sure;
};

static void add_small(struct small *all, const struct small *s)
{
    all->maps.maps += s->maps.maps;
    all->maps.exact += s->maps.exact;
    all->maps.sure += s->maps.sure;
    all->maps.sure_exact += s->maps.sure_exact;
    all->invented += s->invented;
    all->invented_sure += s->invented_sure;
    for (size_t c = 0; c < CLASSES; c++) {
        all->planted[c] += s->planted[c];
        all->found[c] += s->found[c];
        all->shown[c] += s->shown[c];
        all->missed[c] += s->missed[c];
        all->chance[c] += s->chance[c];
    }
}

static const double HOST_US = 0.56, SD_US = 0.03;

static void judge_job(struct nt_model *truth, double outliers, struct nt_rng *rng, struct small *s)
{
    struct judged j;
    struct job_groups groups;
    const struct job_noise noise = {.sd_us = SD_US, .outliers = outliers};
    struct nt_matrix *undisturbed, *x = job_measure_known(truth, &noise, rng, &undisturbed);
    job_groups_of(truth, &groups);
    judge(&j, &groups, x, undisturbed, SD_US);
    count(&s->maps, &j);
    for (size_t k = 0; k < j.truth.count; k++) {
        size_t size = j.truth.group[k].size, c = size < 5 ? size - 2 : size < 9 ? 3 : 4;
        bool there = found(&j, k), shown = j.chance[k] >= JOB_SHOWN;
        s->planted[c]++;
        s->chance[c] += j.chance[k];
        s->found[c] += there;
        s->shown[c] += shown;
        s->missed[c] += shown && !there;
    }
    for (size_t k = 0; k < j.map.count; k++) {
        bool is = real(&j, k);
        s->invented += !is;
        s->invented_sure += !is && j.map.group[k].support >= SURE;
    }
    judged_fini(&j);
    nt_matrix_destroy(x);
    nt_matrix_destroy(undisturbed);
    nt_model_destroy(truth);
}

static void print_small_head(const char *first)
{
    printf(
        "| %s | groups of 2 | of 3 | of 4 | of 5-8 | more | invented, at %.1f | exact | sure |\n",
        first, SURE);
}

static void print_small(const struct small *s)
{
    for (size_t c = 0; c < CLASSES; c++)
        if (s->planted[c] == 0)
            printf(" | -");
        else
            printf(" | %zu (%.0f) of %zu, %zu/%zu", s->found[c], s->chance[c], s->planted[c],
                   s->missed[c], s->shown[c]);
    printf(" | %zu, %zu | %zu/%zu | %zu/%zu |\n", s->invented, s->invented_sure, s->maps.exact,
           s->maps.maps, s->maps.sure_exact, s->maps.sure);
    fflush(stdout);
}

/* The kinds in turn; below pods every other time. */
static void small_cell(size_t hosts, double gap, double outliers, size_t runs, struct small *s)
{
    for (size_t r = 0; r < runs; r++) {
        struct nt_rng rng;
        struct job_leaves leaves;
        nt_rng_init(&rng, (hosts * 1000 + (size_t)(gap * 10)) * 10000 + r);
        job_leaves_draw(&leaves, (enum job_kind)(r % JOB_KINDS), hosts, &rng);
        size_t pod = r / JOB_KINDS % 2 == 0 ? 0 : 3 + nt_rng_below(&rng, 6);
        judge_job(job_tree(&leaves, pod, HOST_US, gap * SD_US / 2), outliers, &rng, s);
    }
}

static void bench_small(size_t seeds)
{
    const double gaps[] = {3, 5, 7, 10}, outliers[] = {0, 0.01, 0.05};
    const size_t sizes[] = {8, 16, 32, 64, 128, 256, 512}, runs[] = {20, 20, 20, 20, 10, 5, 3};
    printf("\nSmall groups of jobs: found (by the best test) of planted, "
           "missed/of those that can be shown\n");
    for (size_t o = 0; o < 3; o++) {
        printf("\n%.0f %% of the readings 0.5 to 2 us high\n\n", 100 * outliers[o]);
        print_small_head("gap in sd, hosts");
        for (size_t g = 0; g < 4; g++) {
            struct small all = {0};
            for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
                struct small s = {0};
                small_cell(sizes[k], gaps[g], outliers[o], seeds * runs[k], &s);
                printf("| %.0f, %zu", gaps[g], sizes[k]);
                print_small(&s);
                add_small(&all, &s);
            }
            printf("| %.0f, all", gaps[g]);
            print_small(&all);
        }
    }
}

/* Given counts of pairs and triples at a gap of ten sd. */
static void bench_given(size_t seeds)
{
    const struct {
        size_t hosts, groups, size;
        double outliers;
    } rows[] = {{32, 4, 2, 0},   {32, 4, 2, 0.01},   {64, 16, 2, 0},  {64, 16, 2, 0.01},
                {128, 32, 2, 0}, {128, 32, 2, 0.01}, {32, 4, 3, 0},   {32, 4, 3, 0.01},
                {64, 16, 3, 0},  {64, 16, 3, 0.01},  {128, 32, 3, 0}, {128, 32, 3, 0.01}};
    printf("\nPairs and triples among singles, host links 0.56 us, uplinks 0.15, noise 0.03\n\n");
    print_small_head("hosts, groups, outliers");
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct small s = {0};
        for (size_t r = 0; r < 5 * seeds; r++) {
            struct nt_rng rng;
            struct job_leaves leaves;
            nt_rng_init(&rng, 7000 + r);
            job_leaves_some(&leaves, rows[k].hosts, rows[k].groups, rows[k].size);
            judge_job(job_tree(&leaves, 0, HOST_US, 0.15), rows[k].outliers, &rng, &s);
        }
        printf("| %zu, %zu of %zu, %.0f%%", rows[k].hosts, rows[k].groups, rows[k].size,
               100 * rows[k].outliers);
        print_small(&s);
    }
}

/* ---- confidence and support against what is observed ---- */

enum { BINS = 5, BINS_UNSURE = 3, SIZES = 6, GROUP_SIZES = 4, CONDITIONS = 10 };

static const double edge[BINS - 1] = {0.5, 0.8, 0.9, 0.95};

struct bins {
    size_t count[BINS], good[BINS];
    double stated[BINS];
};

struct supports {
    size_t count, room;
    struct {
        double support;
        bool real;
    } * at;
};

struct reliability {
    struct bins all, by_hosts[SIZES], by_kind[DRAW_KINDS], by_condition[CONDITIONS];
    struct bins groups, groups_by_size[GROUP_SIZES], groups_by_kind[DRAW_KINDS];
    struct supports supports, supports_by_kind[DRAW_KINDS];
    bool lines;
};

static void bin(struct bins *b, double stated, bool good)
{
    size_t k = 0;
    while (k + 1 < BINS && stated >= edge[k])
        k++;
    b->count[k]++;
    b->good[k] += good;
    b->stated[k] += stated;
}

static void keep(struct supports *s, double support, bool is_real)
{
    if (s->count == s->room) {
        s->room = 2 * s->room + 256;
        s->at = realloc(s->at, s->room * sizeof *s->at);
    }
    s->at[s->count].support = support;
    s->at[s->count++].real = is_real;
}

/* Chance that a real group has more support than an invented one; NaN: all are one or the other. */
static double area(const struct supports *s)
{
    double above = 0, pairs = 0;
    for (size_t i = 0; i < s->count; i++)
        for (size_t j = 0; j < s->count && !s->at[i].real; j++)
            if (s->at[j].real) {
                double more = s->at[j].support - s->at[i].support;
                pairs++;
                above += more > 0 ? 1 : more < 0 ? 0 : 0.5;
            }
    return pairs > 0 ? above / pairs : NAN;
}

static size_t size_of_job(size_t hosts)
{
    return hosts <= 4     ? 0
           : hosts <= 8   ? 1
           : hosts <= 16  ? 2
           : hosts <= 64  ? 3
           : hosts <= 256 ? 4
                          : 5;
}

static void rely_groups(struct reliability *r, const struct judged *j, enum job_draw_kind kind)
{
    for (size_t k = 0; k < j->map.count; k++) {
        const struct job_group *g = &j->map.group[k];
        bool is = real(j, k);
        bin(&r->groups, g->support, is);
        bin(&r->groups_by_size[g->size < 4 ? g->size - 2 : g->size < 9 ? 2 : 3], g->support, is);
        bin(&r->groups_by_kind[kind], g->support, is);
        keep(&r->supports, g->support, is);
        keep(&r->supports_by_kind[kind], g->support, is);
        if (r->lines)
            printf("group,%s,%zu,%zu,%.4f,%d\n", job_draw_names[kind], j->map.hosts, g->size,
                   g->support, is);
    }
}

static const char *const conditions[CONDITIONS] = {
    "nothing to show", "something", "no outliers", "high outliers", "low ones too",
    "hosts' errors",   "missing",   "one-sided",   "skewed",        "directions"};

/* Which of the conditions hold, for a map may be wrong under one and right on average. */
static void rely_conditions(struct reliability *r, const struct job_drawn *d,
                            const struct judged *j, bool exact)
{
    bool shown = d->kind == DRAW_DIRECT;
    for (size_t k = 0; k < j->truth.count; k++)
        shown = shown || j->chance[k] >= JOB_SHOWN;
    const struct job_noise *n = &d->noise;
    const bool holds[CONDITIONS] = {!shown,
                                    shown,
                                    !(n->outliers > 0),
                                    n->outliers > 0 && !(n->low > 0),
                                    n->outliers > 0 && n->low > 0,
                                    n->host > 0,
                                    n->missing > 0,
                                    n->one_sided,
                                    n->skewed,
                                    n->directions};
    for (size_t k = 0; k < CONDITIONS; k++)
        if (holds[k])
            bin(&r->by_condition[k], j->confidence, exact);
}

static void rely(struct reliability *r, size_t seed)
{
    struct nt_rng rng;
    struct job_drawn d;
    struct judged j;
    nt_rng_init(&rng, seed * 7919 + 12);
    job_draw(&d, &rng);
    judge(&j, &d.groups, d.x, d.undisturbed, d.sd_us);
    bool graph = d.kind == DRAW_DIRECT || j.m->family == NT_FAMILY_DRAGONFLY;
    bool exact = graph ? known_same_shape(d.truth, j.m) : j.exact;
    bin(&r->all, j.confidence, exact);
    bin(&r->by_hosts[size_of_job(d.truth->hosts)], j.confidence, exact);
    bin(&r->by_kind[d.kind], j.confidence, exact);
    rely_conditions(r, &d, &j, exact);
    if (r->lines)
        printf("map,%s,%zu,%.4f,%d\n", job_draw_names[d.kind], d.truth->hosts, j.confidence, exact);
    rely_groups(r, &j, d.kind);
    judged_fini(&j);
    job_drawn_fini(&d);
}

/* Of all that is stated at 0.9 and more: the share that is right, and between which it is. */
static void print_sure(const struct bins *b)
{
    const double Z = 1.96;
    double n = 0, good = 0;
    for (size_t k = BINS_UNSURE; k < BINS; k++) {
        n += (double)b->count[k];
        good += (double)b->good[k];
    }
    if (!(n > 0)) {
        printf(" | -");
        return;
    }
    double p = good / n, z2 = Z * Z / n, middle = (p + z2 / 2) / (1 + z2);
    double side = Z / (1 + z2) * sqrt(p * (1 - p) / n + z2 / (4 * n));
    printf(" | %.3f of %.0f, %.2f-%.2f", p, n, middle - side, middle + side);
}

static void print_bins(const char *what, const struct bins *b)
{
    printf("| %-17s", what);
    for (size_t k = 0; k < BINS; k++)
        if (b->count[k] == 0)
            printf(" | -");
        else
            printf(" | %.2f: %.2f of %zu", b->stated[k] / (double)b->count[k],
                   (double)b->good[k] / (double)b->count[k], b->count[k]);
    print_sure(b);
}

static void print_reliability(const struct reliability *r)
{
    static const char *const hosts[SIZES] = {"2-4 hosts",   "5-8 hosts",    "9-16 hosts",
                                             "17-64 hosts", "65-256 hosts", "257-1024 hosts"};
    static const char *const groups[GROUP_SIZES] = {"groups of 2", "groups of 3", "groups of 4-8",
                                                    "groups of 9+"};
    printf("\nConfidence stated: share of the maps that are exact\n\n"
           "| | 0-0.5 | 0.5-0.8 | 0.8-0.9 | 0.9-0.95 | 0.95-1 | 0.9-1 |\n");
    print_bins("all", &r->all);
    for (size_t k = 0; k < SIZES; k++)
        printf(" |\n"), print_bins(hosts[k], &r->by_hosts[k]);
    for (size_t k = 0; k < DRAW_KINDS; k++)
        printf(" |\n"), print_bins(job_draw_names[k], &r->by_kind[k]);
    for (size_t k = 0; k < CONDITIONS; k++)
        printf(" |\n"), print_bins(conditions[k], &r->by_condition[k]);
    printf(
        " |\n\nSupport stated: share of the groups that are real; area under the curve of support "
        "for real against invented ones\n\n"
        "| | 0-0.5 | 0.5-0.8 | 0.8-0.9 | 0.9-0.95 | 0.95-1 | 0.9-1 | area |\n");
    print_bins("all", &r->groups);
    printf(" | %.2f |\n", area(&r->supports));
    for (size_t k = 0; k < GROUP_SIZES; k++)
        print_bins(groups[k], &r->groups_by_size[k]), printf(" | |\n");
    for (size_t k = 0; k < DRAW_KINDS; k++)
        print_bins(job_draw_names[k], &r->groups_by_kind[k]),
            printf(" | %.2f |\n", area(&r->supports_by_kind[k]));
}

static void bench_reliability(size_t networks, bool lines)
{
    struct reliability *r = calloc(1, sizeof *r);
    r->lines = lines;
    for (size_t s = 0; s < networks; s++)
        rely(r, s);
    if (!lines)
        print_reliability(r);
    free(r->supports.at);
    for (size_t k = 0; k < DRAW_KINDS; k++)
        free(r->supports_by_kind[k].at);
    free(r);
}

int main(int argc, char **argv)
{
    const char *full = getenv("FULL"), *tables = argc > 2 ? argv[2] : "fgc";
    size_t seeds = argc > 1 ? (size_t)atoi(argv[1]) : 1;
    if (full != NULL && atoi(full) > 0)
        seeds *= 10;
    for (const char *t = tables; *t != '\0'; t++) {
        if (*t == 'f')
            bench_few(seeds);
        if (*t == 'g') {
            bench_small(seeds);
            bench_given(seeds);
        }
        if (*t == 'c' || *t == 'e')
            bench_reliability(1000 * seeds, *t == 'e');
    }
    return 0;
}
