/* SPDX-License-Identifier: Apache-2.0 */
/* Reliability of structure.confidence: of the maps that state 0.9, about nine in ten should have
 * the exact shape.
 *
 *     build/tests/bench_confidence [NETWORKS, default 1500 [SEED, default 1]]
 *
 * The last line has the power of the stated odds that fits best (by likelihood): 1 if they are
 * calibrated, less if they are too sure.
 *
 * NETWORKS are drawn for each table: the shape, 4 to 256 hosts, noise, wrong and missing pairs all
 * at random. FULL=1 in the environment takes ten times as many.
 */
#include <stdio.h>
#include <stdlib.h>

#include "known_network.h"

enum { POWERS = 40 }; /* twentieths, up to 2 */

struct reliability {
    size_t count[11], exact[11];
    double stated[11];
    double fit[POWERS]; /* ln p(exact or not) if the stated odds are taken to each power */
};

static double between(struct nt_rng *rng, double low, double high)
{
    return low + (high - low) * nt_rng_uniform(rng);
}

static size_t pick(struct nt_rng *rng, size_t low, size_t high)
{
    return low + nt_rng_below(rng, high - low + 1);
}

/* ---- shapes ---- */

static struct nt_model *draw_star(struct nt_rng *rng)
{
    size_t hosts = (size_t)exp(between(rng, log(4), log(256.9)));
    return known_balanced(1, &hosts, (const double[]){0.6});
}

static struct nt_model *draw_balanced(struct nt_rng *rng)
{
    for (;;) {
        size_t tiers = pick(rng, 2, 4), fan[4], hosts = 1;
        double us[4] = {0.6};
        for (size_t t = 0; t < tiers; t++) {
            fan[t] = t + 1 == tiers ? pick(rng, 2, 16) : pick(rng, 2, t == 0 ? 8 : 4);
            hosts *= fan[t];
            us[t] = t == 0 ? 0.6 : between(rng, 0.2, 0.6);
        }
        if (hosts <= 256)
            return known_balanced(tiers, fan, us);
    }
}

static struct nt_model *draw_leaves(struct nt_rng *rng)
{
    size_t size[8], leaves = pick(rng, 2, 8);
    for (size_t k = 0; k < leaves; k++)
        size[k] = pick(rng, 2, 20);
    return known_leaves(leaves, size, 0.6, between(rng, 0.15, 0.4));
}

static struct nt_model *draw_chain(struct nt_rng *rng)
{
    return known_chain(pick(rng, 2, 8), pick(rng, 2, 12), 0.6, between(rng, 0.2, 0.6));
}

/* Hosts' own overheads may differ, and some links be broken. */
static struct nt_model *draw_direct(struct nt_rng *rng)
{
    const struct {
        size_t dimensions, size[6];
        bool wraps;
        size_t twist;
    } net[] = {{1, {8}, true, 0},        {1, {16}, true, 0},
               {1, {27}, true, 0},       {2, {4, 4}, true, 0},
               {2, {8, 4}, true, 0},     {2, {6, 5}, true, 0},
               {2, {8, 8}, true, 0},     {2, {8, 4}, true, 4},
               {2, {16, 8}, true, 8},    {2, {4, 4}, false, 0},
               {2, {6, 5}, false, 0},    {2, {10, 8}, false, 0},
               {3, {3, 3, 3}, false, 0}, {3, {4, 4, 4}, true, 0},
               {3, {5, 4, 3}, true, 0},  {3, {8, 4, 4}, true, 0},
               {3, {2, 2, 2}, true, 0},  {5, {2, 2, 2, 2, 2}, true, 0},
               {1, {9}, false, 0},       {6, {2, 2, 2, 2, 2, 2}, true, 0}};
    size_t k = nt_rng_below(rng, sizeof net / sizeof *net);
    struct nt_model *m = known_lattice(net[k].dimensions, net[k].size, net[k].wraps, net[k].twist,
                                       between(rng, 0.2, 1), between(rng, 0.2, 0.6));
    double own = nt_rng_below(rng, 4) == 0 ? 0.2 : 0;
    for (size_t i = 0; i < m->hosts; i++)
        m->overhead_us[i] *= fmax(0.1, 1 + own * nt_rng_normal(rng));
    size_t broken = net[k].dimensions > 1 && nt_rng_below(rng, 5) == 0 ? pick(rng, 1, 3) : 0;
    for (; broken > 0; broken--)
        m->link[nt_rng_below(rng, m->links)] = m->link[m->links - 1], m->links--;
    return m;
}

typedef struct nt_model *draw(struct nt_rng *);

static const struct {
    const char *what;
    draw *draw;
} kinds[] = {
    {"stars", draw_star},   {"balanced trees", draw_balanced},    {"uneven leaves", draw_leaves},
    {"chains", draw_chain}, {"random small trees", known_uneven}, {"direct networks", draw_direct}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- readings ---- */

static struct known_noise draw_noise(struct nt_rng *rng)
{
    struct known_noise noise = {.sd = exp(between(rng, log(0.01), log(0.3)))};
    if (nt_rng_below(rng, 3) == 0)
        noise.outliers = between(rng, 0, nt_rng_below(rng, 2) == 0 ? 0.05 : 0.2);
    if (nt_rng_below(rng, 3) == 0)
        noise.missing = between(rng, 0, 0.6);
    if (nt_rng_below(rng, 3) == 0)
        noise.spread = 0.2;
    noise.one_sided = nt_rng_below(rng, 5) == 0;
    noise.skewed = nt_rng_below(rng, 5) == 0;
    noise.directions = nt_rng_below(rng, 3) == 0;
    return noise;
}

static void rely(struct reliability *r, draw *draw, struct nt_rng *rng)
{
    struct nt_model *truth = draw(rng), *m;
    struct known_noise noise = draw_noise(rng);
    if (truth->switches == 0)
        noise.spread = 0; /* of host links, which a direct network has none of */
    struct nt_err err;
    struct nt_matrix *x = known_measure(truth, &noise, rng);
    known_must(nt_infer_latency(x, NULL, 1, &m, &err), &err);
    bool exact = known_same_shape(truth, m);
    /* tenths, the last one in halves */
    size_t bin = m->confidence < 0.95 ? (size_t)(m->confidence * 10) : 10;
#ifdef BENCH_EVIDENCE
    BENCH_EVIDENCE
#endif
    r->count[bin]++;
    r->stated[bin] += m->confidence;
    r->exact[bin] += exact;
    double stated = fmin(fmax(m->confidence, 1e-6), 1 - 1e-6), odds = log(stated / (1 - stated));
    for (size_t k = 0; k < POWERS; k++)
        r->fit[k] -= log1p(exp((exact ? -1.0 : 1.0) * odds * (double)(k + 1) / 20));
    nt_matrix_destroy(x);
    nt_model_destroy(truth);
    nt_model_destroy(m);
}

static void add(struct reliability *all, const struct reliability *r)
{
    for (size_t b = 0; b < 11; b++) {
        all->count[b] += r->count[b];
        all->exact[b] += r->exact[b];
        all->stated[b] += r->stated[b];
    }
    for (size_t k = 0; k < POWERS; k++)
        all->fit[k] += r->fit[k];
}

static void print_table(const char *what, const struct reliability *r)
{
    printf("\n%s\n\n| stated | maps | exact |\n", what);
    for (size_t b = 0; b < 11; b++)
        if (r->count[b] > 0)
            printf("| %.2f | %zu | %.2f |\n", r->stated[b] / (double)r->count[b], r->count[b],
                   (double)r->exact[b] / (double)r->count[b]);
}

int main(int argc, char **argv)
{
    const char *full = getenv("FULL");
    size_t networks = argc > 1 ? (size_t)atoi(argv[1]) : 1500;
    uint64_t seed = argc > 2 ? (uint64_t)atoi(argv[2]) : 1;
    struct reliability all = {0};
    if (argc < 2 && full != NULL && atoi(full) > 0)
        networks *= 10;
    for (size_t k = 0; k < KINDS; k++) {
        struct reliability r = {0};
        for (size_t s = 0; s < networks / KINDS; s++) {
            struct nt_rng rng;
            nt_rng_init(&rng, (seed * 1000003 + s) * 64 + k);
            rely(&r, kinds[k].draw, &rng);
        }
        print_table(kinds[k].what, &r);
        add(&all, &r);
    }
    print_table("all", &all);
    size_t best = 0;
    for (size_t k = 1; k < POWERS; k++)
        best = all.fit[k] > all.fit[best] ? k : best;
    printf("\npower of the odds that fits best: %.2f\n", (double)(best + 1) / 20);
    return 0;
}
