/* SPDX-License-Identifier: Apache-2.0 */
/* Networks whose hosts are not equally deep, and the readings of jobs on them, for
 * test_cluster_map. Include it behind cmocka.h. */
#ifndef NT_UNEVEN_NETWORK_H
#define NT_UNEVEN_NETWORK_H

#include <math.h>
#include <stdlib.h>

#include "evidence.h"
#include "planted_jobs.h"
#include "rng.h"

enum { UNEVEN_SWITCHES = 16, UNEVEN_HOSTS = 96 };

/* Switches by the one above (the first: itself) and the latency up to that; hosts by their switch,
 * each 100 us away. */
struct uneven {
    const char *name;
    uint32_t switches, hosts, jobs;
    uint32_t above[UNEVEN_SWITCHES], at[UNEVEN_HOSTS];
    double up_us[UNEVEN_SWITCHES];
};

enum { UNEVEN_SHAPES = 7 };

static inline void uneven_add(struct uneven *u, uint32_t above, double up_us, uint32_t hosts)
{
    uint32_t s = u->switches++;
    u->above[s] = above;
    u->up_us[s] = up_us;
    for (uint32_t h = 0; h < hosts; h++)
        u->at[u->hosts++] = s;
}

/* Switches that hang anywhere, on links of any length, with any hosts. */
static inline void uneven_draw(struct uneven *u, uint64_t seed)
{
    struct nt_rng rng;
    nt_rng_init(&rng, seed);
    uneven_add(u, 0, 0, 2);
    for (uint32_t s = 1; s < 10; s++)
        uneven_add(u, (uint32_t)nt_rng_below(&rng, s), 60 + 140 * nt_rng_uniform(&rng),
                   2 + (uint32_t)nt_rng_below(&rng, 5));
}

/* The last shape is drawn from the seed. */
static inline struct uneven uneven_shape(size_t shape, uint64_t seed)
{
    static const struct uneven table[] = {
        {"scattered8", 3, 8, 10, {0, 0, 0}, {1, 2, 0, 1, 2, 1, 2, 0}, {0, 100, 100}},
        {"uneven12",
         5,
         12,
         10,
         {0, 0, 0, 1, 1},
         {3, 3, 4, 4, 4, 2, 2, 2, 2, 1, 0, 0},
         {0, 200, 200, 100, 100}},
        {"chain",
         4,
         12,
         10,
         {0, 0, 1, 2},
         {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3},
         {0, 100, 100, 100}},
        {"even", 3, 8, 10, {0, 0, 0}, {1, 1, 1, 1, 2, 2, 2, 2}, {0, 100, 100}}};
    struct uneven u = {.jobs = 40};
    if (shape < sizeof table / sizeof *table)
        return table[shape];
    if (shape == 4) { /* stacked switches, each with hosts */
        u.name = "stack24";
        for (uint32_t s = 0; s < 6; s++)
            uneven_add(&u, s > 0 ? s - 1 : 0, s % 2 == 0 ? 120 : 80, 3 + s % 3);
    } else if (shape == 5) { /* a tree with hosts at the top, a gateway, and an annex of a leaf */
        u.name = "annex46";
        uneven_add(&u, 0, 0, 3);
        for (uint32_t s = 0; s < 4; s++)
            uneven_add(&u, 0, 150, 8);
        uneven_add(&u, 0, 60, 2);
        uneven_add(&u, 1, 100, 6);
        uneven_add(&u, 6, 100, 3);
    } else {
        u.name = "drawn";
        uneven_draw(&u, seed);
    }
    return u;
}

static inline double uneven_us(const struct uneven *u, uint32_t a, uint32_t b)
{
    double us = 200;
    uint32_t x = u->at[a], y = u->at[b];
    while (x != y) {
        uint32_t *lower = x > y ? &x : &y; /* those above come first */
        us += u->up_us[*lower];
        *lower = u->above[*lower];
    }
    return us;
}

/* Jobs of users, of all hosts or of some of them, at least four. */
static inline void uneven_jobs(const struct uneven *u, uint32_t users, bool all, uint64_t seed,
                               struct nt_evidence *e)
{
    struct nt_rng rng;
    struct nt_err err = {0};
    uint32_t job, host[UNEVEN_HOSTS];
    int rc = nt_evidence_init(e, u->hosts, &err);
    nt_rng_init(&rng, seed);
    for (uint32_t j = 0; rc == 0 && j < u->jobs; j++) {
        double factor = exp(0.02 * nt_rng_normal(&rng));
        for (uint32_t h = 0; h < u->hosts; h++)
            host[h] = h;
        nt_rng_shuffle(&rng, host, u->hosts);
        size_t n = all ? u->hosts : 4 + nt_rng_below(&rng, u->hosts - 3);
        rc = nt_evidence_add_job(e, PLANTED_START_S + j, j + 1, j % users, &job, &err);
        for (size_t a = 0; rc == 0 && a < n; a++)
            for (size_t b = 0; rc == 0 && b < a; b++)
                rc = evidence_note(e, job, host[a], host[b],
                                   factor * uneven_us(u, host[a], host[b]) *
                                       exp(0.01 * nt_rng_normal(&rng)),
                                   &err);
    }
    if (rc != 0)
        fail_msg("%s", err.text);
}

#endif
