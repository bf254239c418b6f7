/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps whose readings are disturbed: passes over all pairs, exact maps, and the confidence that
 * they state. FULL=1: ten times as many. */
#include <stdio.h>
#include <stdlib.h>

#include "recorded_sweep.h"
#include "shape.h"
#include "solve.h"

/* The same whichever way their hosts are numbered. */
static const char *const topologies[] = {"star:8",   "tree:2x4", "tree:4x2",
                                         "tree:3x4", "star:16",  "tree:2x2x4"};
static const double shares[] = {0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6};

enum { NETWORKS = sizeof topologies / sizeof *topologies };

struct sums {
    double maps, rounds, passes, exact, stated;
};

static struct nt_network *build(const char *topology)
{
    struct nt_spec spec;
    struct nt_figures figures;
    struct nt_network *n;
    struct nt_err err;
    int rc = nt_spec_parse(topology, &spec, &err);
    record_must(rc, &err);
    nt_figures_default(&spec, &figures);
    record_must(nt_network_build(&spec, &figures, &n, &err), &err);
    return n;
}

/* most_passes 0: as many as it asks for */
static void sweep(const struct nt_network *n, const struct nt_model *truth, double disturbed,
                  size_t most_passes, uint64_t seed, struct sums *s)
{
    size_t pass = nt_sweep_all_rounds(n->hosts);
    struct recording how = {.level = NT_LEVEL_QUICK,
                            .noise = {.sd = 0.02, .seed = seed},
                            .disturbed = disturbed,
                            .most_rounds = most_passes * pass};
    struct recorded r = record_sweep(n, &how);
    struct nt_map *map;
    struct nt_err err;
    record_must(nt_solve_samples(r.samples, &map, &err), &err);
    s->maps++;
    s->passes += (double)r.rounds / (double)pass;
    s->exact += nt_shape_equal(map->model, truth);
    s->stated += map->model->confidence;
    nt_map_destroy(map);
    nt_samples_destroy(r.samples);
}

static struct sums sweeps(double disturbed, size_t most_passes, uint64_t seeds)
{
    struct sums s = {0};
    for (size_t t = 0; t < NETWORKS; t++) {
        struct nt_network *n = build(topologies[t]);
        struct nt_model *truth;
        struct nt_err err;
        record_must(nt_network_truth(n, &truth, &err), &err);
        for (uint64_t seed = 1; seed <= seeds; seed++)
            sweep(n, truth, disturbed, most_passes, seed, &s);
        nt_model_destroy(truth);
        nt_network_destroy(n);
    }
    return s;
}

int main(void)
{
    const char *wish = getenv("FULL");
    uint64_t seeds = wish != NULL && strcmp(wish, "1") == 0 ? 300 : 30;
    printf(
        "%zu networks of 8 to 16 hosts, %u sweeps of each, noise 2 %%; a disturbed reading takes "
        "1.2 to 3 times as long\n",
        (size_t)NETWORKS, (unsigned)seeds);
    printf("%-10s  %23s  %23s  %23s\n", "", "one pass", "three passes", "as many as it asks for");
    printf("%-10s %8s %7s %7s %8s %7s %7s %8s %7s %7s\n", "disturbed", "passes", "exact", "stated",
           "passes", "exact", "stated", "passes", "exact", "stated");
    for (size_t k = 0; k < sizeof shares / sizeof *shares; k++) {
        printf("%8.0f %%", 100 * shares[k]);
        for (size_t most = 1; most <= 5; most += 2) {
            struct sums s = sweeps(shares[k], most == 5 ? 0 : most, seeds);
            printf(" %8.1f %5.1f %% %5.1f %%", s.passes / s.maps, 100 * s.exact / s.maps,
                   100 * s.stated / s.maps);
        }
        printf("\n");
    }
    return 0;
}
