/* SPDX-License-Identifier: Apache-2.0 */
/* Dragonflies under minimal routing, whole and as jobs see them: how often they are found with
 * their parameters, how many routers and groups are right, and how many groups of a support of 0.9
 * or more there are not. Seven of each; hosts of a job in a row, or anywhere. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infer.h"
#include "measure.h"
#include "network.h"
#include "rng.h"
#include "switch_support.h"

enum { SEEDS = 7, HOSTS_MAX = 2048 };

static void must(int rc, const struct nt_err *err)
{
    if (rc < 0) {
        fprintf(stderr, "bench_dragonfly: %s\n", err->text);
        exit(4);
    }
}

struct machine {
    unsigned groups, routers, hosts; /* of one */
};

struct sum {
    size_t found, routers, routers_right, groups, groups_right, invented, sure;
};

/* Of the job's hosts: the router of each, or the group. */
static void place_hosts(const struct machine *m, const uint32_t *job, size_t n, bool groups,
                        uint32_t *at)
{
    for (size_t k = 0; k < n; k++)
        at[k] = job[k] / (groups ? m->routers * m->hosts : m->hosts);
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

static void judge(const struct machine *machine, const struct nt_model *m, const uint32_t *job,
                  struct sum *sum)
{
    size_t n = m->hosts;
    bool side[HOSTS_MAX];
    uint32_t router[HOSTS_MAX], group[HOSTS_MAX];
    double *support;
    struct nt_err err;
    place_hosts(machine, job, n, false, router);
    place_hosts(machine, job, n, true, group);
    sum->routers += places_of_two(router, n);
    sum->groups += places_of_two(group, n);
    bool dragonfly = m->family == NT_FAMILY_DRAGONFLY;
    sum->found += dragonfly && m->dimension[0] == machine->groups &&
                  m->dimension[1] == machine->routers && m->dimension[2] == machine->hosts;
    sum->sure += dragonfly;
    must(nt_support_create(m, &support, &err), &err);
    for (uint32_t s = 0; s < m->switches; s++) {
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
        sum->invented += !right && !as_group && support[s] >= 0.9;
    }
    if (dragonfly) /* its groups are the cliques; all or none are right */
        sum->groups_right += m->dimension[0] == machine->groups ? places_of_two(group, n) : 0;
    free(support);
}

static void run(const struct machine *machine, size_t hosts, bool scattered, double sd,
                uint64_t seed, struct sum *sum)
{
    char text[64];
    struct nt_spec spec;
    struct nt_network *net;
    struct nt_matrix *all, *m;
    struct nt_model *model;
    struct nt_rng rng;
    struct nt_err err;
    static uint32_t job[HOSTS_MAX];
    snprintf(text, sizeof text, "dragonfly:%ux%ux%u", machine->groups, machine->routers,
             machine->hosts);
    must(nt_spec_parse(text, &spec, &err), &err);
    must(nt_network_build(&spec, NULL, &net, &err), &err);
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

int main(void)
{
    static const struct {
        struct machine machine;
        size_t hosts;
        bool scattered;
    } rows[] = {
        {{5, 4, 4}, 80, false},  {{9, 4, 2}, 72, false},  {{6, 3, 4}, 72, false},
        {{7, 6, 3}, 126, false}, {{9, 8, 4}, 288, false}, {{9, 8, 4}, 144, false},
        {{9, 8, 4}, 64, false},  {{9, 8, 4}, 144, true},  {{9, 8, 4}, 64, true},
        {{9, 8, 4}, 24, true},   {{33, 8, 4}, 64, true},
    };
    static const double noises[] = {0.01, 0.02, 0.05};
    printf("| machine | hosts | noise | dragonfly | with its parameters | routers right | groups "
           "right "
           "| invented at 0.9 |\n|---|---|---|---|---|---|---|---|\n");
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t n = 0; n < sizeof noises / sizeof *noises; n++) {
            const struct machine *m = &rows[r].machine;
            struct sum s = {0};
            for (uint64_t seed = 1; seed <= SEEDS; seed++)
                run(m, rows[r].hosts, rows[r].scattered, noises[n], seed, &s);
            printf("| %ux%ux%u | %zu%s | %.0f %% | %zu of %d | %zu | %zu of %zu | %zu of %zu | %zu "
                   "|\n",
                   m->groups, m->routers, m->hosts, rows[r].hosts,
                   rows[r].scattered ? " anywhere" : "", 100 * noises[n], s.sure, (int)SEEDS,
                   s.found, s.routers_right, s.routers, s.groups_right, s.groups, s.invented);
        }
    return 0;
}
