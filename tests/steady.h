/* SPDX-License-Identifier: Apache-2.0 */
/* Twenty noisy sweeps of one network: how many give the same hint. For a test and a bench. */
#ifndef NT_TEST_STEADY_H
#define NT_TEST_STEADY_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "measure.h"
#include "network.h"
#include "rng.h"
#include "solve.h"

enum { STEADY_SWEEPS = 20, STEADY_HOSTS_MAX = 64 };

static inline void steady_must(int rc, const struct nt_err *err)
{
    if (rc < 0) {
        fprintf(stderr, "steady: %s\n", err->text);
        abort();
    }
}

static inline double steady_rate(const struct nt_network *net, uint32_t a, uint32_t b)
{
    struct nt_walk walk;
    double least = INFINITY;
    uint32_t arc;
    for (nt_walk_begin(net, a, b, &walk); nt_walk_next(&walk, &arc);)
        least = fmin(least, net->arc[arc].rate_MBps);
    return least;
}

/* Hosts have names by turns, so that the scheduler's order is not the network's. */
static inline struct nt_map *steady_sweep(const struct nt_network *net, double sd, bool rates,
                                          const char *pattern, uint64_t seed)
{
    struct nt_measure_noise noise = {.sd = sd, .seed = seed};
    struct nt_matrix *latency, *bandwidth = NULL;
    struct nt_map *map;
    struct nt_err err = {0};
    static char name[STEADY_HOSTS_MAX][24];
    const char *names[STEADY_HOSTS_MAX];
    size_t n = net->hosts;
    steady_must(nt_measure_latencies(net, &noise, &latency, &err), &err);
    if (rates)
        steady_must(nt_matrix_create(n, NT_MATRIX_BANDWIDTH_MBPS, &bandwidth, &err), &err);
    for (uint32_t i = 0; i < n; i++) {
        snprintf(name[i], sizeof name[i], "n%zu", (size_t)i * 5 % n * 1000 + i);
        names[i] = name[i];
        for (uint32_t j = 0; j < n && rates; j++)
            if (i != j)
                nt_matrix_set(bandwidth, i, j,
                              (float)(steady_rate(net, i, j) * nt_measure_factor(&noise, i, j, 1)));
    }
    struct nt_solve_input input = {
        .latency = latency, .bandwidth = bandwidth, .host_name = names, .pattern = pattern};
    steady_must(nt_solve_measured(&input, &map, &err), &err);
    nt_matrix_destroy(latency);
    nt_matrix_destroy(bandwidth);
    return map;
}

/* Of twenty sweeps how many give the most frequent order; *gain: its mean. */
static inline size_t steady_count(const char *spec_text, double sd, bool rates, const char *pattern,
                                  double *gain)
{
    struct nt_spec spec;
    struct nt_err err = {0};
    struct nt_network *net;
    struct nt_map *map[STEADY_SWEEPS];
    size_t most = 0;
    double sum = 0;
    steady_must(nt_spec_parse(spec_text, &spec, &err), &err);
    steady_must(nt_network_build(&spec, NULL, &net, &err), &err);
    for (size_t k = 0; k < STEADY_SWEEPS; k++) {
        map[k] = steady_sweep(net, sd, rates, pattern, 1 + k);
        sum += map[k]->placement->gain;
    }
    for (size_t k = 0; k < STEADY_SWEEPS; k++) {
        const struct nt_placement *p = map[k]->placement;
        size_t same = 0;
        for (size_t l = 0; l < STEADY_SWEEPS; l++)
            same += memcmp(p->order, map[l]->placement->order, p->hosts * sizeof *p->order) == 0;
        most = same > most ? same : most;
    }
    for (size_t k = 0; k < STEADY_SWEEPS; k++)
        nt_map_destroy(map[k]);
    nt_network_destroy(net);
    *gain = sum / STEADY_SWEEPS;
    return most;
}

#endif
