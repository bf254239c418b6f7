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
    double host_us, up_us;                 /* one way: to the leaf, and from there to the top */
};

static size_t scattered_hosts(const struct scattered *s)
{
    return 2 * s->pairs + 3 * s->triples + 4 * s->quads + s->singles;
}

static size_t scattered_groups(const struct scattered *s)
{
    return s->pairs + s->triples + s->quads;
}

static void scatter_leaves(const struct scattered *s, const uint32_t *host, struct nt_model *m)
{
    size_t used = 0, links = 0;
    uint32_t top = (uint32_t)(m->hosts + m->switches - 1);
    for (size_t leaf = 0; leaf + 1 < m->switches; leaf++) {
        size_t size = leaf < s->pairs ? 2 : leaf < s->pairs + s->triples ? 3 : 4;
        uint32_t at = (uint32_t)(m->hosts + leaf);
        for (size_t k = 0; k < size; k++, links++) {
            m->link[links].a = host[used++];
            m->link[links].b = at;
            m->link[links].latency_us = s->host_us;
        }
        m->link[links].a = at;
        m->link[links].b = top;
        m->link[links++].latency_us = s->up_us;
    }
    for (; used < m->hosts; links++) {
        m->link[links].a = host[used++];
        m->link[links].b = top;
        m->link[links].latency_us = s->host_us + s->up_us;
    }
}

/* Hosts are numbered in an order that says nothing. */
static struct nt_network *scattered_network(const struct scattered *s, uint64_t seed)
{
    size_t hosts = scattered_hosts(s), groups = scattered_groups(s);
    uint32_t *host = calloc(hosts + 1, sizeof *host);
    struct nt_network *n = NULL;
    struct nt_model *m = NULL;
    struct nt_rng rng;
    struct nt_err err = {0};
    if (host == NULL || nt_model_create(hosts, groups + 1, hosts + groups, &m, &err) < 0)
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

#endif
