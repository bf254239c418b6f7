/* SPDX-License-Identifier: Apache-2.0 */
/* A three-level tree as a model, its hosts in any order: for tests and benches of placement. */
#ifndef KNOWN_TREE_H
#define KNOWN_TREE_H

#include <math.h>
#include <stdlib.h>

#include "map.h"
#include "model.h"
#include "rng.h"

/* pods x leaves x hosts; hosts are dealt to leaves at random when scattered. Host links 1 us, leaf
 * uplinks 2 us, pod uplinks 3 us; with rates 1000, 2000 and 4000 MB/s when rated. */
static inline struct nt_model *known_tree(size_t pods, size_t leaves, size_t hosts, bool scattered,
                                          bool rated, uint64_t seed)
{
    struct nt_err err = {0};
    struct nt_model *m;
    size_t n = pods * leaves * hosts, switches = 1 + pods + pods * leaves;
    uint32_t *deal = malloc((n + 1) * sizeof *deal);
    if (deal == NULL || nt_model_create(n, switches, n + switches - 1, &m, &err) != 0)
        abort();
    for (uint32_t k = 0; k < n; k++)
        deal[k] = k;
    struct nt_rng rng;
    nt_rng_init(&rng, seed);
    if (scattered)
        nt_rng_shuffle(&rng, deal, n);
    uint32_t top = (uint32_t)n, pod = top + 1, leaf = pod + (uint32_t)pods;
    size_t e = 0;
    for (uint32_t k = 0; k < n; k++)
        m->link[e++] =
            (struct nt_link){.a = deal[k], .b = leaf + k / (uint32_t)hosts, .latency_us = 1};
    for (uint32_t k = 0; k < pods * leaves; k++)
        m->link[e++] =
            (struct nt_link){.a = leaf + k, .b = pod + k / (uint32_t)leaves, .latency_us = 2};
    for (uint32_t k = 0; k < pods; k++)
        m->link[e++] = (struct nt_link){.a = pod + k, .b = top, .latency_us = 3};
    for (size_t k = 0; k < e; k++) {
        m->link[k].probability = 1;
        double rate = m->link[k].latency_us < 1.5   ? 1000
                      : m->link[k].latency_us < 2.5 ? 2000
                                                    : 4000;
        m->link[k].bandwidth_MBps = m->link[k].bandwidth_back_MBps = rated ? rate : NAN;
    }
    m->family = NT_FAMILY_TREE;
    m->tiers = 3;
    free(deal);
    return m;
}

#endif
