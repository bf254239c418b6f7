/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs that decide are measured again: groups of two to four hosts in a job, found without repeats
 * and with them. FULL=1: ten times as many. */
#include <stdio.h>
#include <stdlib.h>

#include "recorded_sweep.h"
#include "scattered_network.h"
#include "shape.h"
#include "solve.h"

/* 2 % noise is about 0.03 us of 1.4. */
static const double NOISE = 0.02;

struct row {
    struct scattered job;
    double outliers, disturbed;
};

static const struct row rows[] = {
    {{.singles = 8, .host_us = 0.56, .up_us = 0.15}, 0.01, 0},
    {{.singles = 32, .host_us = 0.56, .up_us = 0.15}, 0.01, 0},
    {{.pairs = 2, .singles = 4, .host_us = 0.56, .up_us = 0.05}, 0, 0},
    {{.pairs = 2, .singles = 4, .host_us = 0.56, .up_us = 0.15}, 0.01, 0},
    {{.pairs = 2, .triples = 1, .singles = 5, .host_us = 0.56, .up_us = 0.08}, 0.01, 0},
    {{.pairs = 4, .singles = 24, .host_us = 0.56, .up_us = 0.08}, 0, 0},
    {{.pairs = 4, .singles = 24, .host_us = 0.56, .up_us = 0.15}, 0.01, 0},
    {{.pairs = 4, .singles = 24, .host_us = 0.56, .up_us = 0.15}, 0.01, 0.1},
    {{.triples = 4, .singles = 20, .host_us = 0.56, .up_us = 0.08}, 0.01, 0},
    {{.pairs = 16, .singles = 32, .host_us = 0.56, .up_us = 0.15}, 0.01, 0},
    {{.pairs = 32, .singles = 64, .host_us = 0.56, .up_us = 0.15}, 0, 0},
};

struct sums {
    double maps, passes, exact, missed, invented, stated, sure_wrong;
};

/* Without repeats: cut where they would begin. */
static void sweep(const struct row *row, uint64_t seed, bool repeats, struct sums *s)
{
    struct nt_network *n = scattered_network(&row->job, seed);
    size_t pass = nt_sweep_all_rounds(n->hosts);
    struct recording how = {.level = NT_LEVEL_QUICK,
                            .mode = NT_SWEEP_ALL,
                            .noise = {.sd = NOISE, .outliers = row->outliers, .seed = seed},
                            .disturbed = row->disturbed,
                            .unrepeated = !repeats};
    struct recorded r = record_sweep(n, &how);
    struct nt_shape_difference d;
    struct nt_model *truth = scattered_truth(n);
    struct nt_map *map;
    struct nt_err err;
    record_must(nt_solve_samples(r.samples, &map, &err), &err);
    record_must(nt_shape_compare(map->model, truth, &d, &err), &err);
    s->maps++;
    s->passes += (double)r.rounds / (double)pass;
    s->exact += d.equal;
    s->missed += (double)d.missing;
    s->invented += (double)d.invented;
    s->stated += map->model->confidence;
    s->sure_wrong += !d.equal && map->model->confidence >= 0.9;
    nt_map_destroy(map);
    nt_model_destroy(truth);
    nt_samples_destroy(r.samples);
    nt_network_destroy(n);
}

static void print_sums(const struct sums *s, size_t groups)
{
    printf(" | %6.1f %5.0f %% %4.1f/%zu %8.2f %6.2f %6.0f %%", s->passes / s->maps,
           100 * s->exact / s->maps, (double)groups - s->missed / s->maps, groups,
           s->invented / s->maps, s->stated / s->maps, 100 * s->sure_wrong / s->maps);
}

int main(void)
{
    const char *wish = getenv("FULL");
    uint64_t seeds = wish != NULL && strcmp(wish, "1") == 0 ? 200 : 20;
    printf("%u sweeps each of all pairs, noise 2 %%; the first figures without repeats, the others "
           "with them; sure, wrong: not exact and stated at 0.9 or more\n",
           (unsigned)seeds);
    printf("%-34s", "hosts: groups, up us, outliers");
    for (int k = 0; k < 2; k++)
        printf(" | %6s %7s %7s %8s %6s %8s", "passes", "exact", "found", "invented", "stated",
               "sure,wrong");
    printf("\n");
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const struct row *row = &rows[k];
        printf("%3zu: %2zu of 2, %zu of 3, %.2f, %.0f %%, %2.0f %%", scattered_hosts(&row->job),
               row->job.pairs, row->job.triples, row->job.up_us, 100 * row->outliers,
               100 * row->disturbed);
        for (int repeats = 0; repeats < 2; repeats++) {
            struct sums s = {0};
            for (uint64_t seed = 1; seed <= seeds; seed++)
                sweep(row, seed, repeats, &s);
            print_sums(&s, scattered_groups(&row->job));
        }
        printf("\n");
        fflush(stdout);
    }
    return 0;
}
