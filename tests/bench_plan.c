/* SPDX-License-Identifier: Apache-2.0 */
/* The figures that we state for `plan` and `estimate`: fat trees as in table 2 of Liu et al. (NPC
 * 2018), trees by the closed form, coverage of the standard errors, suspects. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "estimate_routes.h"
#include "plan_model.h"
#include "plan_routes.h"
#include "rng.h"
#include "routes_of.h"
#include "stats.h"

/* Of the processor: one core, whoever else is at the machine. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void give_up(const struct nt_err *err)
{
    fprintf(stderr, "bench_plan: %s\n", err->text);
    exit(4);
}

/* The pairs of a plan as measurements without figures. */
static struct nt_measured take_pairs(const struct nt_routes *r, const struct nt_plan *plan)
{
    struct nt_pair_index *index;
    struct nt_measured m = {.count = plan->pairs,
                            .pair = malloc((plan->pairs + 1) * sizeof *m.pair),
                            .latency_us = calloc(plan->pairs + 1, sizeof *m.latency_us)};
    if (m.pair == NULL || m.latency_us == NULL || nt_pair_index_create(r, &index, NULL) != 0)
        exit(4);
    for (size_t i = 0; i < plan->pairs; i++)
        m.pair[i] = nt_pair_index_find(index, plan->pair[i][0], plan->pair[i][1]);
    nt_pair_index_destroy(index);
    return m;
}

static void measure(const struct nt_routes *r, const double *truth, double sd, struct nt_rng *rng,
                    struct nt_measured *m)
{
    for (size_t i = 0; i < m->count; i++) {
        double sum = 0;
        for (size_t k = 0; k < nt_route_length(r, m->pair[i]); k++)
            sum += truth[nt_route_links(r, m->pair[i])[k]];
        m->latency_us[i] = sum / nt_route_directions(r, m->pair[i]) + sd * nt_rng_normal(rng);
    }
}

static void draw(const struct nt_routes *r, double spread, struct nt_rng *rng, double *truth)
{
    for (size_t l = 0; l < r->links; l++)
        truth[l] = (l < r->hosts ? 0.2 : 0.5) * (1 + spread * nt_rng_normal(rng));
}

static void bench_fat_trees(void)
{
    static const struct {
        unsigned ports, levels;
        const char *paper; /* rounds; the paper's text and table 2 */
    } table[] = {{4, 2, "8"},    {4, 3, "16"},   {6, 3, "54"}, {8, 3, "128"},
                 {10, 3, "250"}, {12, 3, "432"}, {16, 3, "-"}};
    printf("plan and estimate over fat trees (Liu et al.: n rounds, 30 s for the 12-port 3-tree on "
           "116 processes)\n");
    printf("%-14s %5s %5s %7s ways  R | %5s %6s %6s %6s | %7s %7s | %7s %8s\n", "network", "hosts",
           "links", "pairs", "rank", "pairs", "rounds", "bound", "se rms", "se max", "plan s",
           "estimate s");
    for (size_t t = 0; t < sizeof table / sizeof *table; t++) {
        int ways = table[t].ports <= 12 ? 2 : 1;
        for (int both = 0; both < ways; both++) {
            struct nt_routes *r = fattree_routes(table[t].ports, table[t].levels, both);
            double *truth = malloc(r->links * sizeof *truth);
            struct nt_rng rng;
            nt_rng_init(&rng, 1);
            if (truth == NULL)
                exit(4);
            draw(r, 0.1, &rng, truth);
            for (double redundancy = 1; redundancy <= 4; redundancy *= 2) {
                struct nt_plan *plan;
                struct nt_estimate *e;
                struct nt_err err = {0};
                double began = now();
                if (nt_plan_routes(r, redundancy, 1, &plan, &err) != 0)
                    give_up(&err);
                double planned = now();
                struct nt_measured m = take_pairs(r, plan);
                measure(r, truth, 0.02, &rng, &m);
                double measured = now();
                if (nt_estimate_routes(r, &m, &e, &err) != 0)
                    give_up(&err);
                printf(
                    "%2u-port %u-tree %5zu %5zu %7zu   %d %3g | %5zu %6zu %6zu %6zu | %7.3f %7.3f "
                    "| %7.3f %8.3f\n",
                    table[t].ports, table[t].levels, r->hosts, r->links, r->pairs, both + 1,
                    redundancy, plan->rank, plan->pairs, plan->rounds, plan->lower_bound,
                    plan->amplification_rms, plan->amplification_max, planned - began,
                    now() - measured);
                fflush(stdout);
                nt_estimate_destroy(e);
                free(m.pair);
                free(m.latency_us);
                nt_plan_destroy(plan);
            }
            free(truth);
            nt_routes_destroy(r);
        }
    }
}

/* pods x leaves x hosts, all links equal. */
static struct nt_model *three_tiers(size_t pods, size_t leaves, size_t hosts)
{
    size_t n = pods * leaves * hosts, switches = 1 + pods + pods * leaves, l = 0;
    struct nt_model *m;
    struct nt_err err = {0};
    if (nt_model_create(n, switches, n + switches - 1, &m, &err) != 0)
        give_up(&err);
    for (size_t h = 0; h < n; h++, l++) {
        m->link[l].a = (uint32_t)h;
        m->link[l].b = (uint32_t)(n + 1 + pods + h / hosts);
    }
    for (size_t s = 0; s < pods * leaves; s++, l++) {
        m->link[l].a = (uint32_t)(n + 1 + pods + s);
        m->link[l].b = (uint32_t)(n + 1 + s / leaves);
    }
    for (size_t p = 0; p < pods; p++, l++) {
        m->link[l].a = (uint32_t)(n + 1 + p);
        m->link[l].b = (uint32_t)n;
    }
    return m;
}

static void bench_trees(void)
{
    static const size_t size[][3] = {{4, 4, 8}, {16, 16, 16}, {37, 37, 74}};
    printf("\nminimal plans of trees by the closed form\n%-14s %7s %7s | %7s %6s %6s | %7s | %6s\n",
           "tree", "hosts", "links", "pairs", "rounds", "bound", "se rms", "s");
    for (size_t k = 0; k < sizeof size / sizeof *size; k++) {
        struct nt_model *m = three_tiers(size[k][0], size[k][1], size[k][2]);
        struct nt_plan *plan;
        struct nt_err err = {0};
        double began = now();
        if (nt_plan_tree(m, &plan, &err) != 0)
            give_up(&err);
        printf("%4zux%zux%-6zu %7zu %7zu | %7zu %6zu %6zu | %7.3f | %6.3f\n", size[k][0],
               size[k][1], size[k][2], m->hosts, m->links, plan->pairs, plan->rounds,
               plan->lower_bound, plan->amplification_rms, now() - began);
        nt_plan_destroy(plan);
        nt_model_destroy(m);
    }
}

struct count {
    size_t inside, figures; /* true values inside the nominal 95 %, and all */
    size_t alarms, found;   /* sweeps with a false suspect; slow links found */
};

/* One sweep with noise, a share of wrong pairs, and perhaps a slow link. */
static void sweep(const struct nt_routes *r, struct nt_measured *m, double wrong, double slow_by,
                  double *truth, struct nt_rng *rng, struct count *c)
{
    struct nt_estimate *e;
    struct nt_err err = {0};
    size_t slow = r->links, suspects = 0;
    if (slow_by > 0) {
        slow = nt_rng_below(rng, r->links);
        truth[slow] += slow_by;
    }
    measure(r, truth, 0.02, rng, m);
    for (size_t i = 0; i < m->count; i++)
        m->latency_us[i] += nt_rng_uniform(rng) < wrong ? nt_rng_uniform(rng) : 0;
    if (nt_estimate_routes(r, m, &e, &err) != 0)
        give_up(&err);
    double t = nt_student_quantile(0.975, (double)e->fit.freedom);
    for (size_t k = 0; k < e->links; k++) {
        const struct nt_link_estimate *l = &e->link[k];
        c->inside += fabs(l->latency.us - truth[l->link]) < t * l->latency.se_us;
        c->figures++;
        suspects += l->suspect && l->link != slow;
        c->found += l->suspect && l->link == slow;
    }
    c->alarms += suspects > 0;
    if (slow < r->links)
        truth[slow] -= slow_by;
    nt_estimate_destroy(e);
}

static void bench_errors(void)
{
    enum { SWEEPS = 300 };
    printf("\nestimates of the 6-port 3-tree, noise 0.02 us, %d sweeps a row\n", SWEEPS);
    printf("%3s %6s %7s | %9s %12s %12s\n", "R", "wrong", "spread", "95% holds", "false alarms",
           "+5 sd found");
    struct nt_routes *r = fattree_routes(6, 3, 0);
    double *truth = malloc(r->links * sizeof *truth);
    for (double redundancy = 2; redundancy <= 4 && truth != NULL; redundancy += 2) {
        for (int row = 0; row < 4; row++) {
            double wrong = row < 2 ? 0 : 0.02, spread = row % 2 == 0 ? 0 : 0.1;
            struct nt_plan *plan;
            struct nt_err err = {0};
            struct nt_rng rng;
            struct count sound = {0}, slow = {0};
            nt_rng_init(&rng, 5);
            if (nt_plan_routes(r, redundancy, 1, &plan, &err) != 0)
                give_up(&err);
            struct nt_measured m = take_pairs(r, plan);
            for (int s = 0; s < SWEEPS; s++) {
                draw(r, spread, &rng, truth);
                sweep(r, &m, wrong, 0, truth, &rng, &sound);
                /* five standard deviations of a measurement and of the tier's own spread */
                sweep(r, &m, wrong, 5 * hypot(0.02, 0.5 * spread), truth, &rng, &slow);
            }
            printf("%3g %5.0f%% %6.0f%% | %8.2f%% %7zu/%d %8zu/%d\n", redundancy, 100 * wrong,
                   100 * spread, 100 * (double)sound.inside / (double)sound.figures, sound.alarms,
                   SWEEPS, slow.found, SWEEPS);
            fflush(stdout);
            free(m.pair);
            free(m.latency_us);
            nt_plan_destroy(plan);
        }
    }
    free(truth);
    nt_routes_destroy(r);
}

int main(void)
{
    bench_trees();
    bench_errors();
    bench_fat_trees();
    return 0;
}
