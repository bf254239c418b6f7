/* SPDX-License-Identifier: Apache-2.0 */
/* Known networks and noisy measurements of them, for the tests and benches of infer/. */
#ifndef KNOWN_NETWORK_H
#define KNOWN_NETWORK_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infer.h"
#include "rng.h"

struct known_noise {
    double sd;       /* relative */
    double outliers; /* share of pairs multiplied by 0.6..1.6 */
    double missing;  /* share of pairs */
    double spread;   /* sd of host links, relative to the mean host link */
    double quantum;  /* readings stand on multiples, 0: none */
    bool skewed;     /* exponential tail upwards instead of normal */
    bool one_sided;  /* only upwards: the absolute of a normal one */
    bool directions; /* both directions measured apart */
    bool in_order;   /* hosts not shuffled */
};

static inline void known_must(int status, const struct nt_err *err)
{
    if (status < 0) {
        fprintf(stderr, "known network: %s\n", err->text);
        abort();
    }
}

/* parent[s] of each switch (itself: the top), at[h] the switch of each host, link latencies. */
static inline struct nt_model *known_tree(size_t hosts, const uint32_t *at, double host_us,
                                          size_t switches, const uint32_t *parent,
                                          const double *up_us)
{
    struct nt_model *m;
    struct nt_err err;
    size_t k = 0;
    known_must(nt_model_create(hosts, switches, hosts + switches - 1, &m, &err), &err);
    for (size_t h = 0; h < hosts; h++, k++) {
        m->link[k].a = (uint32_t)h;
        m->link[k].b = (uint32_t)hosts + at[h];
        m->link[k].latency_us = host_us;
    }
    for (size_t s = 0; s < switches; s++) {
        if (parent[s] == s)
            continue;
        m->link[k].a = (uint32_t)(hosts + s);
        m->link[k].b = (uint32_t)(hosts + parent[s]);
        m->link[k++].latency_us = up_us[s];
    }
    m->family = switches == 1 ? NT_FAMILY_STAR : NT_FAMILY_TREE;
    return m;
}

/* A balanced tree: fan[0] branches at the top, ..., fan[tiers-1] hosts a leaf; us[t] the link
 * above tier t (us[0]: host links). */
static inline struct nt_model *known_balanced(size_t tiers, const size_t *fan, const double *us)
{
    size_t hosts = 1, switches = 0, width = 1;
    for (size_t t = 0; t < tiers; t++) {
        switches += width;
        width *= fan[t];
    }
    hosts = width;
    uint32_t *at = malloc(hosts * sizeof *at), *parent = malloc(switches * sizeof *parent);
    double *up = calloc(switches, sizeof *up);
    size_t first = 0, count = 1;
    parent[0] = 0;
    for (size_t t = 0; t + 1 < tiers; t++) {
        for (size_t k = 0; k < count * fan[t]; k++) {
            parent[first + count + k] = (uint32_t)(first + k / fan[t]);
            up[first + count + k] = us[tiers - 1 - t];
        }
        first += count;
        count *= fan[t];
    }
    for (size_t h = 0; h < hosts; h++)
        at[h] = (uint32_t)(first + h / fan[tiers - 1]);
    if (tiers > 1 && fan[0] == 2) { /* a top with two ports is none */
        parent[1] = parent[2] = 1;
        up[2] *= 2;
        for (size_t s = 1; s < switches; s++)
            parent[s - 1] = parent[s] - 1, up[s - 1] = up[s];
        for (size_t h = 0; h < hosts; h++)
            at[h]--;
        switches--;
    }
    struct nt_model *m = known_tree(hosts, at, us[0], switches, parent, up);
    free(at);
    free(parent);
    free(up);
    return m;
}

/* Leaves of different sizes below one top switch. */
static inline struct nt_model *known_leaves(size_t leaves, const size_t *size, double host_us,
                                            double up_us)
{
    uint32_t at[4096], parent[257];
    double up[257];
    size_t hosts = 0;
    for (size_t l = 0; l < leaves; l++) {
        parent[l] = (uint32_t)leaves;
        up[l] = up_us;
        for (size_t k = 0; k < size[l]; k++)
            at[hosts++] = (uint32_t)l;
    }
    parent[leaves] = (uint32_t)leaves;
    up[leaves] = 0;
    size_t switches = leaves + 1;
    if (leaves == 2) {
        parent[0] = parent[1] = 0;
        up[1] = 2 * up_us;
        switches = 2;
    }
    return known_tree(hosts, at, host_us, switches, parent, up);
}

/* A line of switches with `size` hosts each. */
static inline struct nt_model *known_chain(size_t switches, size_t size, double host_us,
                                           double up_us)
{
    uint32_t at[4096], parent[256];
    double up[256];
    for (size_t s = 0; s < switches; s++) {
        parent[s] = (uint32_t)(s > 0 ? s - 1 : 0);
        up[s] = up_us;
        for (size_t k = 0; k < size; k++)
            at[s * size + k] = (uint32_t)s;
    }
    return known_tree(switches * size, at, host_us, switches, parent, up);
}

/* Any tree: 2..6 switches, 6..24 hosts anywhere, leaves of at least 2, each switch with at least
 * three links; host links 100 us, others 100 or 200. */
static inline struct nt_model *known_uneven(struct nt_rng *rng)
{
    for (;;) {
        uint32_t at[24], parent[6] = {0}, links[6] = {0}, held[6] = {0};
        double up[6] = {0};
        size_t hosts = 6 + nt_rng_below(rng, 19), switches = 2 + nt_rng_below(rng, 5);
        bool good = true;
        for (size_t s = 1; s < switches; s++) {
            parent[s] = (uint32_t)nt_rng_below(rng, s);
            up[s] = nt_rng_below(rng, 2) == 0 ? 100 : 200;
            links[s]++;
            links[parent[s]]++;
        }
        for (size_t h = 0; h < hosts; h++) {
            at[h] = (uint32_t)nt_rng_below(rng, switches);
            held[at[h]]++;
        }
        for (size_t s = 0; s < switches; s++)
            good = good && links[s] + held[s] >= 3 && (links[s] > 1 || held[s] >= 2);
        if (good)
            return known_tree(hosts, at, 100, switches, parent, up);
    }
}

/* A mesh or torus: size[k] hosts along each dimension, the wrap of the second dimension shifted by
 * twist columns; links of `hop_us`, `overhead_us` at each end. */
static inline struct nt_model *known_lattice(size_t dimensions, const size_t *size, bool wraps,
                                             size_t twist, double overhead_us, double hop_us)
{
    size_t n = 1, links = 0;
    struct nt_model *m;
    struct nt_err err;
    for (size_t k = 0; k < dimensions; k++)
        n *= size[k];
    known_must(nt_model_create(n, 0, n * dimensions, &m, &err), &err);
    for (size_t v = 0; v < n; v++) {
        size_t stride = 1;
        m->overhead_us[v] = overhead_us;
        for (size_t k = 0; k < dimensions; stride *= size[k], k++) {
            bool edge = v / stride % size[k] + 1 == size[k];
            if (edge && (!wraps || size[k] == 2))
                continue;
            size_t to = edge ? v - stride * (size[k] - 1) : v + stride;
            if (edge && k == 1 && twist > 0)
                to = to - to % size[0] + (to % size[0] + twist) % size[0];
            m->link[links].a = (uint32_t)v;
            m->link[links].b = (uint32_t)to;
            m->link[links++].latency_us = hop_us;
        }
    }
    m->links = links;
    return m;
}

/* Groups of routers that are all linked by 0.25 us, each with `size` hosts; one link of global_us
 * between any two groups. No tree describes it: how far two groups are depends on whose router has
 * the link. */
static inline struct nt_model *known_dragonfly(size_t groups, size_t routers, size_t size,
                                               double global_us)
{
    struct nt_model *m;
    struct nt_err err;
    size_t switches = groups * routers, hosts = switches * size, k = 0;
    size_t links = hosts + groups * routers * (routers - 1) / 2 + groups * (groups - 1) / 2;
    known_must(nt_model_create(hosts, switches, links, &m, &err), &err);
    for (size_t h = 0; h < hosts; h++)
        m->link[k++] = (struct nt_link){
            .a = (uint32_t)h, .b = (uint32_t)(hosts + h / size), .latency_us = 0.5};
    for (size_t a = 0; a < switches; a++)
        for (size_t b = 0; b < a; b++) {
            size_t f = a / routers, g = b / routers; /* f >= g */
            bool gates = f != g && a % routers == g % routers && b % routers == (f - 1) % routers;
            if (f == g || gates)
                m->link[k++] = (struct nt_link){.a = (uint32_t)(hosts + a),
                                                .b = (uint32_t)(hosts + b),
                                                .latency_us = f == g ? 0.25 : global_us};
        }
    m->links = k;
    m->family = NT_FAMILY_IRREGULAR;
    return m;
}

/* Shuffles the names of the hosts, so that no method can lean on their order. */
static inline void known_shuffle(struct nt_model *m, struct nt_rng *rng)
{
    uint32_t *p = malloc((m->hosts + 1) * sizeof *p);
    for (size_t i = 0; i < m->hosts; i++)
        p[i] = (uint32_t)i;
    nt_rng_shuffle(rng, p, m->hosts);
    for (size_t k = 0; k < m->links; k++) {
        if (m->link[k].a < m->hosts)
            m->link[k].a = p[m->link[k].a];
        if (m->link[k].b < m->hosts)
            m->link[k].b = p[m->link[k].b];
    }
    free(p);
}

static inline double known_error(const struct known_noise *noise, struct nt_rng *rng)
{
    if (noise->one_sided)
        return fabs(nt_rng_normal(rng));
    if (noise->skewed) /* mean 0, sd 1, tail upwards */
        return -log(nt_rng_uniform(rng)) - 1;
    return nt_rng_normal(rng);
}

static inline float known_reading(double truth, const struct known_noise *noise, struct nt_rng *rng)
{
    double v = truth * (1 + noise->sd * known_error(noise, rng));
    if (nt_rng_uniform(rng) < noise->outliers)
        v *= 0.6 + nt_rng_uniform(rng);
    if (noise->quantum > 0)
        v = noise->quantum * floor(v / noise->quantum + 0.5);
    if (nt_rng_uniform(rng) < noise->missing)
        return NAN;
    return (float)v;
}

/* Measures m (host links first spread, hosts shuffled); m becomes the canonical truth. */
static inline struct nt_matrix *known_measure(struct nt_model *m, const struct known_noise *noise,
                                              struct nt_rng *rng)
{
    struct nt_err err;
    struct nt_matrix *truth;
    if (!noise->in_order)
        known_shuffle(m, rng);
    for (size_t k = 0; k < m->links && noise->spread > 0; k++)
        if (m->link[k].a < m->hosts)
            m->link[k].latency_us *= fmax(0.05, 1 + noise->spread * nt_rng_normal(rng));
    known_must(nt_model_latencies(m, &truth, &err), &err);
    for (size_t i = 0; i < m->hosts; i++)
        for (size_t j = 0; j < i; j++) {
            double t = (double)nt_matrix_get(truth, i, j);
            float there = known_reading(t, noise, rng);
            float back = noise->directions ? known_reading(t, noise, rng) : there;
            nt_matrix_set(truth, i, j, there);
            nt_matrix_set(truth, j, i, back);
        }
    known_must(nt_model_canonicalise(m, &err), &err);
    return truth;
}

/* The same switches with the same hosts and the same links between them. */
static inline bool known_same_shape(const struct nt_model *a, const struct nt_model *b)
{
    if (a->hosts != b->hosts || a->switches != b->switches || a->links != b->links)
        return false;
    for (size_t k = 0; k < a->links; k++)
        if (a->link[k].a != b->link[k].a || a->link[k].b != b->link[k].b)
            return false;
    return true;
}

/* The model of the measurements x. */
static inline struct nt_model *known_inferred(const struct nt_matrix *x, uint64_t seed)
{
    struct nt_model *m;
    struct nt_err err;
    known_must(nt_infer_latency(x, NULL, seed, &m, &err), &err);
    return m;
}

#endif
