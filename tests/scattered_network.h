/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs as schedulers scatter them: few hosts behind a leaf, most of them alone behind theirs. A
 * header so that any test and bench can include it. */
#ifndef NT_TEST_SCATTERED_NETWORK_H
#define NT_TEST_SCATTERED_NETWORK_H

#include <stdio.h>
#include <stdlib.h>

#include "network.h"
#include "rng.h"

struct scattered {
    size_t pairs, triples, quads, singles; /* leaves with so many hosts of the job */
    double host_us, up_us;                 /* one way: to the leaf, and from there on */
    size_t pods;                           /* switches that leaves are below; 0: only the top */
    double pod_us;                         /* from there to the top */
};

static size_t scattered_hosts(const struct scattered *s)
{
    return 2 * s->pairs + 3 * s->triples + 4 * s->quads + s->singles;
}

static size_t scattered_groups(const struct scattered *s)
{
    return s->pairs + s->triples + s->quads;
}

/* Leaves, and hosts that are alone on theirs, come to the pods in turn. */
static void scatter_leaves(const struct scattered *s, const uint32_t *host, struct nt_model *m)
{
    size_t used = 0, links = 0, groups = scattered_groups(s), pods = s->pods;
    uint32_t pod = (uint32_t)(m->hosts + groups), top = (uint32_t)(pod + pods);
    for (size_t leaf = 0; used < m->hosts; leaf++) {
        size_t size = leaf < s->pairs ? 2 : leaf < s->pairs + s->triples ? 3 : 4;
        uint32_t at = (uint32_t)(m->hosts + leaf),
                 up = pods > 0 ? pod + (uint32_t)(leaf % pods) : top;
        for (size_t k = 0; leaf < groups && k < size; k++, links++) {
            m->link[links].a = host[used++];
            m->link[links].b = at;
            m->link[links].latency_us = s->host_us;
        }
        m->link[links].a = leaf < groups ? at : host[used++];
        m->link[links].b = up;
        m->link[links++].latency_us = s->up_us + (leaf < groups ? 0 : s->host_us);
    }
    for (size_t k = 0; k < pods; k++, links++) {
        m->link[links].a = pod + (uint32_t)k;
        m->link[links].b = top;
        m->link[links].latency_us = s->pod_us;
    }
}

/* Hosts are numbered in an order without information. */
static struct nt_network *scattered_network(const struct scattered *s, uint64_t seed)
{
    size_t hosts = scattered_hosts(s), groups = scattered_groups(s);
    uint32_t *host = calloc(hosts + 1, sizeof *host);
    struct nt_network *n = NULL;
    struct nt_model *m = NULL;
    struct nt_rng rng;
    struct nt_err err = {0};
    if (host == NULL ||
        nt_model_create(hosts, groups + s->pods + 1, hosts + groups + s->pods, &m, &err) < 0)
        exit(4);
    for (uint32_t h = 0; h < hosts; h++)
        host[h] = h;
    nt_rng_init(&rng, ~seed);
    nt_rng_shuffle(&rng, host, hosts);
    scatter_leaves(s, host, m);
    if (nt_model_canonicalise(m, &err) < 0 || nt_network_from_model(m, &n, &err) < 0) {
        fprintf(stderr, "a scattered network: %s\n", err.text);
        exit(4);
    }
    nt_model_destroy(m);
    free(host);
    return n;
}

/* What measuring could find of it, its hosts as the names of recorded_sweep.h sort them: last comes
 * first. */
static inline struct nt_model *scattered_truth(const struct nt_network *n)
{
    struct nt_model *m = NULL;
    struct nt_err err = {0};
    if (nt_network_truth(n, &m, &err) < 0)
        exit(4);
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a < m->hosts)
            m->link[k].a = (uint32_t)m->hosts - 1 - m->link[k].a;
    if (nt_model_canonicalise(m, &err) < 0)
        exit(4);
    return m;
}

#endif
