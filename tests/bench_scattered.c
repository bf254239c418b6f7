/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs whose hosts are scattered over leaves, few on each: what the sweep of
 * latencies finds of them, invents, and states, with some pairs (adaptive) and
 * with all. FULL=1: ten times as many. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorded_sweep.h"
#include "scattered_network.h"
#include "shape.h"
#include "solve.h"

/* A hop is a tenth of the way between two leaves; 2 % noise, 1 % outliers. */
static const double HOST_US = 0.56, UP_US[] = {0.15, 0.08}, NOISE = 0.02, OUTLIERS = 0.01;

static const size_t hosts[] = {24, 32, 64, 128, 256};

enum { SIZES = sizeof hosts / sizeof *hosts };
enum kind { PAIRS, TRIPLES, FRAGMENTS, PODS, ALONE, KINDS };

static const char *const kind_name[] = {"pairs and singles", "pairs and triples",
                                        "fragments of 1 to 4", "pairs in 4 pods", "singles"};

/* Fragments: as many leaves of each size. */
static struct scattered job_of(enum kind kind, size_t n, double up_us)
{
    struct scattered s = {.host_us = HOST_US, .up_us = up_us};
    if (kind == PAIRS || kind == PODS)
        s.pairs = n / 4;
    if (kind == PODS) {
        s.pods = 4;
        s.pod_us = up_us;
    }
    if (kind == TRIPLES)
        s.pairs = s.triples = n / 5;
    else if (kind == FRAGMENTS)
        s.pairs = s.triples = s.quads = n / 10;
    s.singles = n - 2 * s.pairs - 3 * s.triples - 4 * s.quads;
    return s;
}

struct sums {
    double maps, rounds, sound, exact, missed, invented, stated, sure, sure_wrong;
    bool adapts;
    double sound_sure, sound_wrong; /* of those inferred from some pairs */
};

static void sweep(const struct scattered *job, enum nt_sweep_mode mode, uint64_t seed,
                  struct sums *s)
{
    struct nt_network *n = scattered_network(job, seed);
    struct recording how = {.level = NT_LEVEL_QUICK,
                            .mode = mode,
                            .noise = {.sd = NOISE, .outliers = OUTLIERS, .seed = seed},
                            .most_rounds = 0};
    struct recorded r = record_sweep(n, &how);
    struct nt_shape_difference d;
    struct nt_model *truth = scattered_truth(n);
    struct nt_map *map;
    struct nt_err err;
    record_must(nt_solve_samples(r.samples, &map, &err), &err);
    record_must(nt_shape_compare(map->model, truth, &d, &err), &err);
    s->maps++;
    s->rounds += (double)r.rounds;
    s->sound += r.verified;
    s->exact += d.equal;
    s->missed += (double)d.missing;
    s->invented += (double)d.invented;
    s->stated += map->model->confidence;
    s->sure += map->model->confidence >= 0.9;
    s->sure_wrong += !d.equal && map->model->confidence >= 0.9;
    if (r.verified) {
        s->sound_sure += map->model->confidence >= 0.9;
        s->sound_wrong += !d.equal && map->model->confidence >= 0.9;
    }
    nt_map_destroy(map);
    nt_model_destroy(truth);
    nt_samples_destroy(r.samples);
    nt_network_destroy(n);
}

static void print_sums(const struct sums *s, size_t groups)
{
    printf(" | %6.0f %5.1f %4.1f %4.0f %% %6.2f %4.0f/%-2.0f", s->rounds / s->maps,
           (double)groups - s->missed / s->maps, s->invented / s->maps, 100 * s->exact / s->maps,
           s->stated / s->maps, s->sure_wrong, s->sure);
    if (s->adapts)
        printf(" %5.0f %% %4.0f/%-3.0f", 100 * s->sound / s->maps, s->sound_wrong, s->sound_sure);
}

static void print_row(enum kind kind, size_t n, double up_us, uint64_t seeds)
{
    struct scattered job = job_of(kind, n, up_us);
    size_t groups = scattered_groups(&job) + job.pods;
    printf("%3zu: %-20s up %.2f us %7zu", n, kind_name[kind], up_us, groups);
    for (int all = 0; all < 2; all++) {
        struct sums s = {.adapts = !all};
        for (uint64_t seed = 1; seed <= seeds; seed++)
            sweep(&job, all ? NT_SWEEP_ALL : NT_SWEEP_AUTO, seed, &s);
        print_sums(&s, groups);
    }
    printf("\n");
    fflush(stdout);
}

int main(void)
{
    const char *wish = getenv("FULL");
    uint64_t seeds = wish != NULL && strcmp(wish, "1") == 0 ? 100 : 10;
    printf("%u sweeps each, noise 2 %%, outliers 1 %%; wrong: not exact, of those that state 0.9 "
           "and more; some: told by some pairs, and wrong of those\n",
           (unsigned)seeds);
    printf("%-39s %6s", "hosts", "groups");
    for (int all = 0; all < 2; all++)
        printf(" | %6s %5s %4s %6s %6s %7s%s", all ? "all" : "auto", "found", "inv.", "exact",
               "stated", "wrong", all ? "" : "    some   wrong ");
    printf("\n");
    for (size_t gap = 0; gap < 2; gap++)
        for (enum kind kind = PAIRS; kind < KINDS; kind++)
            for (size_t k = 0; k < SIZES && (kind != ALONE || gap == 0); k++)
                print_row(kind, hosts[k], UP_US[gap], seeds);
    return 0;
}
