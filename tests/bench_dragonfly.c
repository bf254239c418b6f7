/* SPDX-License-Identifier: Apache-2.0 */
/* Networks of groups (dragonfly, aries, dragonfly+) under minimal and adaptive routing, whole and
 * as jobs see them: how often a dragonfly is found with its parameters, how often they are
 * undetermined, how many routers and groups are right, and how many groups of a support of 0.9 or
 * more there are not. Seven of each; hosts of a job in a row, or anywhere. Then adaptive sweeps of
 * 4,096 hosts. build/tests/bench_dragonfly [jobs|sweeps]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infer.h"
#include "map.h"
#include "measure.h"
#include "network.h"
#include "recorded_sweep.h"
#include "rng.h"
#include "solve.h"
#include "switch_support.h"

enum { SEEDS = 7, HOSTS_MAX = 4096 };

static void must(int rc, const struct nt_err *err)
{
    if (rc < 0) {
        fprintf(stderr, "bench_dragonfly: %s\n", err->text);
        exit(4);
    }
}

struct machine {
    const char *topology;
    bool adaptive;         /* routing */
    size_t leaf, group;    /* hosts of one */
    size_t row;            /* of routers that are all linked, in aries; else as a leaf */
    uint32_t dimension[3]; /* of a dragonfly */
};

struct sum {
    size_t found, undetermined, routers, routers_right, groups, groups_right, invented, sure;
};

/* Of the job's hosts the router, row or group of so many. */
static void place_hosts(const uint32_t *job, size_t n, size_t of, uint32_t *at)
{
    for (size_t k = 0; k < n; k++)
        at[k] = job[k] / (uint32_t)of;
}

/* Whether the hosts in side are exactly those of one of the places. */
static bool is_place(const bool *side, const uint32_t *at, size_t n)
{
    uint32_t place = UINT32_MAX;
    for (size_t k = 0; k < n; k++)
        if (side[k])
            place = at[k];
    for (size_t k = 0; k < n; k++)
        if (side[k] != (at[k] == place))
            return false;
    return place != UINT32_MAX;
}

static size_t places_of_two(const uint32_t *at, size_t n)
{
    size_t count = 0;
    for (size_t k = 0; k < n; k++) {
        size_t before = 0, all = 0;
        for (size_t j = 0; j < n; j++) {
            before += j < k && at[j] == at[k];
            all += at[j] == at[k];
        }
        count += before == 0 && all > 1 && all < n;
    }
    return count;
}

/* Hosts below switch s, or in a dragonfly those on it. */
static void below(const struct nt_model *m, uint32_t s, uint32_t from, bool *side)
{
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        uint32_t other = l->a == s ? l->b : l->b == s ? l->a : UINT32_MAX;
        if (other == UINT32_MAX || other == from)
            continue;
        if (other < m->hosts)
            side[other] = true;
        else if (m->family != NT_FAMILY_DRAGONFLY && nt_model_tier(m, other) < nt_model_tier(m, s))
            below(m, other, s, side);
    }
}

/* Of a tree the first switch of the highest tier. */
static uint32_t top_of(const struct nt_model *m)
{
    uint32_t top = 0;
    for (uint32_t s = 1; s < m->switches; s++)
        if (m->tier[s] > m->tier[top])
            top = s;
    return m->family == NT_FAMILY_DRAGONFLY ? UINT32_MAX : top;
}

static void judge(const struct machine *machine, const struct nt_model *m, const uint32_t *job,
                  struct sum *sum)
{
    size_t n = m->hosts;
    static bool side[HOSTS_MAX];
    static uint32_t router[HOSTS_MAX], row[HOSTS_MAX], group[HOSTS_MAX];
    double *support;
    struct nt_err err;
    place_hosts(job, n, machine->leaf, router);
    place_hosts(job, n, machine->row, row);
    place_hosts(job, n, machine->group, group);
    sum->routers += places_of_two(router, n);
    sum->groups += places_of_two(group, n);
    bool dragonfly = m->family == NT_FAMILY_DRAGONFLY;
    sum->found +=
        dragonfly && memcmp(m->dimension, machine->dimension, sizeof machine->dimension) == 0;
    sum->undetermined += m->family == NT_FAMILY_UNDETERMINED;
    sum->sure += dragonfly;
    must(nt_support_create(m, &support, &err), &err);
    for (uint32_t s = 0; s < m->switches; s++) {
        if (s == top_of(m)) /* all are below it */
            continue;
        memset(side, 0, n * sizeof *side);
        below(m, (uint32_t)n + s, UINT32_MAX, side);
        size_t count = 0;
        for (size_t k = 0; k < n; k++)
            count += side[k];
        if (count < 2 || count == n)
            continue;
        bool right = is_place(side, router, n), as_group = is_place(side, group, n);
        sum->routers_right += right;
        sum->groups_right += as_group;
        sum->invented += !right && !as_group && !is_place(side, row, n) && support[s] >= 0.9;
    }
    if (dragonfly) /* its groups are the cliques; all or none are right */
        sum->groups_right += m->dimension[0] == machine->dimension[0] ? places_of_two(group, n) : 0;
    free(support);
}

static struct nt_network *build(struct machine *machine)
{
    struct nt_spec spec;
    struct nt_network *net;
    struct nt_err err;
    must(nt_spec_parse(machine->topology, &spec, &err), &err);
    must(nt_network_build(&spec, NULL, &net, &err), &err);
    net->adaptive = machine->adaptive;
    machine->group = spec.hosts / spec.dimension[0];
    machine->leaf = spec.dimension[spec.dimensions - 1];
    machine->row = machine->leaf * (spec.topology == NT_TOPOLOGY_ARIES ? spec.dimension[2] : 1);
    if (spec.topology == NT_TOPOLOGY_DRAGONFLY)
        memcpy(machine->dimension, spec.dimension, sizeof machine->dimension);
    return net;
}

static void run(struct machine *machine, size_t hosts, bool scattered, double sd, uint64_t seed,
                struct sum *sum)
{
    struct nt_matrix *all, *m;
    struct nt_model *model;
    struct nt_rng rng;
    struct nt_err err;
    static uint32_t job[HOSTS_MAX];
    struct nt_network *net = build(machine);
    struct nt_measure_noise noise = {.sd = sd, .seed = seed};
    must(nt_measure_latencies(net, &noise, &all, &err), &err);
    nt_rng_init(&rng, seed);
    for (uint32_t k = 0; k < net->hosts; k++)
        job[k] = k;
    if (scattered)
        nt_rng_shuffle(&rng, job, net->hosts);
    must(nt_matrix_create(hosts, NT_MATRIX_LATENCY_US, &m, &err), &err);
    for (size_t a = 0; a < hosts; a++)
        for (size_t b = 0; b < hosts; b++)
            nt_matrix_set(m, a, b, nt_matrix_get(all, job[a], job[b]));
    must(nt_infer_latency(m, NULL, 1, &model, &err), &err);
    judge(machine, model, job, sum);
    nt_model_destroy(model);
    nt_matrix_destroy(all);
    nt_matrix_destroy(m);
    nt_network_destroy(net);
}

/* An adaptive sweep of the whole machine; names are numbers from the last host on. */
static void run_sweep(struct machine *machine, double sd, struct sum *sum, double *confidence)
{
    static uint32_t job[HOSTS_MAX];
    struct nt_network *net = build(machine);
    struct recording how = {.level = NT_LEVEL_QUICK,
                            .mode = NT_SWEEP_ADAPTIVE,
                            .noise = {.sd = sd, .seed = 1},
                            .unrepeated = true};
    struct recorded r = record_sweep(net, &how);
    struct nt_map *map;
    struct nt_err err;
    must(nt_solve_samples(r.samples, &map, &err), &err);
    for (size_t h = 0; h < net->hosts; h++)
        job[h] = (uint32_t)(net->hosts - strtoul(map->host_name[h] + 1, NULL, 10));
    judge(machine, map->model, job, sum);
    *confidence = map->model->confidence;
    nt_map_destroy(map);
    nt_samples_destroy(r.samples);
    nt_network_destroy(net);
}

static void print_row(const struct machine *m, const char *job, double sd, const struct sum *s,
                      int of)
{
    printf("| %s%s | %s | %.0f %% | %zu of %d | %zu | %zu | %zu of %zu | %zu of %zu | %zu |\n",
           m->topology, m->adaptive ? ", adaptive" : "", job, 100 * sd, s->sure, of, s->found,
           s->undetermined, s->routers_right, s->routers, s->groups_right, s->groups, s->invented);
    fflush(stdout);
}

static void print_jobs(void)
{
    static const struct {
        const char *topology;
        bool adaptive;
        size_t hosts;
        bool scattered;
    } rows[] = {
        {"dragonfly:5x4x4", false, 80, false},     {"dragonfly:9x4x2", false, 72, false},
        {"dragonfly:6x3x4", false, 72, false},     {"dragonfly:7x6x3", false, 126, false},
        {"dragonfly:9x8x4", false, 288, false},    {"dragonfly:9x8x4", false, 144, false},
        {"dragonfly:9x8x4", false, 64, false},     {"dragonfly:9x8x4", false, 144, true},
        {"dragonfly:9x8x4", false, 64, true},      {"dragonfly:9x8x4", false, 24, true},
        {"dragonfly:33x8x4", false, 64, true},     {"dragonfly:9x8x4", true, 288, false},
        {"dragonfly:9x8x4", true, 64, true},       {"aries:6x2x4x4", false, 192, false},
        {"aries:6x2x4x4", true, 192, false},       {"aries:6x2x4x4", false, 64, true},
        {"dragonfly+:6x4x4x8", false, 192, false}, {"dragonfly+:6x4x4x8", true, 192, false},
        {"dragonfly+:6x4x4x8", false, 64, true},
    };
    static const double noises[] = {0.01, 0.02, 0.05};
    char job[32];
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t n = 0; n < sizeof noises / sizeof *noises; n++) {
            struct machine m = {.topology = rows[r].topology, .adaptive = rows[r].adaptive};
            struct sum s = {0};
            for (uint64_t seed = 1; seed <= SEEDS; seed++)
                run(&m, rows[r].hosts, rows[r].scattered, noises[n], seed, &s);
            snprintf(job, sizeof job, "%zu%s", rows[r].hosts, rows[r].scattered ? " anywhere" : "");
            print_row(&m, job, noises[n], &s, SEEDS);
        }
}

static void print_sweeps(void)
{
    static const char *const rows[] = {"dragonfly:16x16x16", "aries:8x4x8x16",
                                       "dragonfly+:8x16x8x32"};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int adaptive = 0; adaptive < 2; adaptive++) {
            struct machine m = {.topology = rows[r], .adaptive = adaptive == 1};
            struct sum s = {0};
            char job[48];
            double confidence;
            run_sweep(&m, 0.02, &s, &confidence);
            snprintf(job, sizeof job, "adaptive sweep, confidence %.2f", confidence);
            print_row(&m, job, 0.02, &s, 1);
        }
}

int main(int argc, char **argv)
{
    printf("| machine | hosts | noise | dragonfly | with its parameters | undetermined | routers "
           "right | groups right | invented at 0.9 |\n|---|---|---|---|---|---|---|---|---|\n");
    if (argc < 2 || strcmp(argv[1], "jobs") == 0)
        print_jobs();
    if (argc < 2 || strcmp(argv[1], "sweeps") == 0)
        print_sweeps();
    return 0;
}
