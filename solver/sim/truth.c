/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a network that measurements can determine: parts that they cannot distinguish are
 * joined. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "memory.h"
#include "network.h"
#include "rng.h"
#include "stats.h"

/* The links during merging; a switch may be replaced by another (same[v]). */
struct draft {
    const struct nt_model *m;
    size_t vertices, links;
    struct nt_link *link;
    uint32_t *same; /* by vertex: the vertex that replaces it */
    struct nt_graph graph;
    uint32_t *degree; /* vertices */
    uint32_t *scratch;
};

static int draft_init(struct draft *d, const struct nt_model *m, struct nt_arena *memory,
                      struct nt_err *err)
{
    *d = (struct draft){.m = m, .vertices = m->hosts + m->switches, .links = m->links};
    d->link = nt_arena_array(memory, m->links + 1, sizeof *d->link);
    d->same = nt_arena_array(memory, d->vertices + 1, sizeof *d->same);
    d->degree = nt_arena_array(memory, d->vertices + 1, sizeof *d->degree);
    d->scratch = nt_arena_array(memory, 2 * m->links + d->vertices + 1, sizeof *d->scratch);
    if (nt_graph_init(&d->graph, m, memory, err) != 0)
        return -1;
    memcpy(d->link, m->link, m->links * sizeof *d->link);
    for (uint32_t v = 0; v < d->vertices; v++)
        d->same[v] = v;
    return 0;
}

/* Builds the index of links at each vertex from d->link. */
static void index_links(struct draft *d)
{
    nt_graph_index(&d->graph, d->link, d->links);
    for (size_t v = 0; v < d->vertices; v++)
        d->degree[v] = nt_graph_degree(&d->graph, (uint32_t)v);
}

/* ---- parallel spines ---------------------------------------------------------------------- */

struct sibling {
    uint64_t signature;
    uint32_t level, vertex;
};

static int compare_kin(const void *a, const void *b)
{
    const struct sibling *x = a, *y = b;
    return NT_ORDER(x->level, y->level,
                    NT_ORDER(x->signature, y->signature, NT_ORDER(x->vertex, y->vertex, 0)));
}

/* Computes the hops to the nearest host, and sorts siblings by them. */
static void find_levels(struct draft *d, struct sibling *sibling)
{
    uint32_t *level = d->scratch, *queue = d->scratch + d->vertices;
    size_t head = 0, tail = 0;
    for (uint32_t v = 0; v < d->vertices; v++) {
        level[v] = v < d->m->hosts ? 0 : UINT32_MAX;
        if (v < d->m->hosts)
            queue[tail++] = v;
    }
    while (head < tail) {
        uint32_t v = queue[head++];
        for (uint32_t k = d->graph.start[v]; k < d->graph.start[v + 1]; k++) {
            uint32_t w = nt_link_other_end(&d->link[d->graph.link[k]], v);
            if (level[w] == UINT32_MAX) {
                level[w] = level[v] + 1;
                queue[tail++] = w;
            }
        }
    }
    for (uint32_t s = 0; s < d->m->switches; s++)
        sibling[s] = (struct sibling){0, level[d->m->hosts + s], (uint32_t)d->m->hosts + s};
    qsort(sibling, d->m->switches, sizeof *sibling, compare_kin);
}

/* Returns a hash of the set of vertices one level below; 64 bits: equal by chance once in 10^19. */
static uint64_t sign_vertex(const struct draft *d, const struct sibling *sibling,
                            const uint32_t *level, uint32_t *below)
{
    size_t n = 0;
    struct nt_rng rng;
    for (uint32_t k = d->graph.start[sibling->vertex]; k < d->graph.start[sibling->vertex + 1];
         k++) {
        uint32_t w = nt_link_other_end(&d->link[d->graph.link[k]], sibling->vertex);
        if (level[w] + 1 == sibling->level)
            below[n++] = d->same[w];
    }
    if (n == 0)
        return sibling->vertex;
    qsort(below, n, sizeof *below, nt_compare_u32);
    nt_rng_init(&rng, 1);
    for (size_t k = 0; k < n; k++)
        if (k == 0 || below[k] != below[k - 1])
            nt_rng_init(&rng, nt_rng_next(&rng) ^ below[k]);
    return nt_rng_next(&rng);
}

/* Joins switches above the same switches, level by level upwards. */
static int merge_spines(struct draft *d, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct sibling *sibling = nt_arena_array(&memory, d->m->switches + 1, sizeof *sibling);
    uint32_t *level = nt_arena_array(&memory, d->vertices + 1, sizeof *level);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    index_links(d);
    find_levels(d, sibling);
    memcpy(level, d->scratch, d->vertices * sizeof *level);
    for (size_t from = 0, to; from < d->m->switches && sibling[from].level < UINT32_MAX;
         from = to) {
        for (to = from; to < d->m->switches && sibling[to].level == sibling[from].level; to++)
            sibling[to].signature = sign_vertex(d, &sibling[to], level, d->scratch);
        qsort(sibling + from, to - from, sizeof *sibling, compare_kin);
        for (size_t k = from + 1; k < to; k++)
            if (sibling[k].signature == sibling[k - 1].signature)
                d->same[sibling[k].vertex] = d->same[sibling[k - 1].vertex];
    }
    return 0;
}

static int compare_links(const void *a, const void *b)
{
    const struct nt_link *x = a, *y = b;
    return NT_ORDER(x->a, y->a, NT_ORDER(x->b, y->b, 0));
}

static void turn_rates(struct nt_link *l)
{
    double rate = l->bandwidth_MBps, se = l->bandwidth_se_MBps;
    l->bandwidth_MBps = l->bandwidth_back_MBps;
    l->bandwidth_se_MBps = l->bandwidth_back_se_MBps;
    l->bandwidth_back_MBps = rate;
    l->bandwidth_back_se_MBps = se;
}

/* Joins links between the same two vertices: adds rates and averages latencies. */
static void merge_links(struct draft *d)
{
    size_t kept = 0, same = 1;
    for (size_t k = 0; k < d->links; k++) {
        struct nt_link *l = &d->link[k];
        l->a = d->same[l->a];
        l->b = d->same[l->b];
        if (l->a > l->b) {
            uint32_t a = l->a;
            l->a = l->b;
            l->b = a;
            turn_rates(l);
        }
    }
    if (d->links > 0)
        qsort(d->link, d->links, sizeof *d->link, compare_links);
    for (size_t k = 0; k < d->links; k++) {
        struct nt_link *l = &d->link[k], *last = &d->link[kept > 0 ? kept - 1 : 0];
        if (kept > 0 && compare_links(l, last) == 0) {
            same++;
            last->latency_us += (l->latency_us - last->latency_us) / (double)same;
            last->bandwidth_MBps += l->bandwidth_MBps;
            last->bandwidth_back_MBps += l->bandwidth_back_MBps;
            last->bandwidth_se_MBps = hypot(last->bandwidth_se_MBps, l->bandwidth_se_MBps);
            last->bandwidth_back_se_MBps =
                hypot(last->bandwidth_back_se_MBps, l->bandwidth_back_se_MBps);
        } else {
            d->link[kept++] = *l;
            same = 1;
        }
    }
    d->links = kept;
}

/* ---- switches that nothing shows ----------------------------------------------------------- */

static bool is_switch(const struct draft *d, uint32_t v)
{
    return v >= d->m->hosts;
}

/* Removes switches with one link until there is none; their links get a = b. */
static void prune_leaves(struct draft *d)
{
    size_t tail = 0;
    for (uint32_t v = (uint32_t)d->m->hosts; v < d->vertices; v++)
        if (d->degree[v] == 1)
            d->scratch[tail++] = v;
    while (tail > 0) {
        uint32_t v = d->scratch[--tail];
        for (uint32_t k = d->graph.start[v]; k < d->graph.start[v + 1]; k++) {
            struct nt_link *l = &d->link[d->graph.link[k]];
            if (l->a == l->b)
                continue;
            uint32_t w = nt_link_other_end(l, v);
            l->a = l->b = v;
            d->degree[v] = 0;
            if (--d->degree[w] == 1 && is_switch(d, w))
                d->scratch[tail++] = w;
        }
    }
}

/* Returns whether a switch has only two links and can be removed. A line between two hosts keeps
 * one switch: two hosts are a star. */
static bool passes_through(const struct draft *d, uint32_t v)
{
    return is_switch(d, v) && d->degree[v] == 2;
}

/* Computes the rate of a path of two links, with its standard error. */
static void join_rate(double *rate, double *se, double other_rate, double other_se)
{
    if (*rate <= other_rate || isnan(other_rate))
        return;
    *rate = other_rate;
    *se = other_se;
}

/* Combines the other values of a path of two links. */
static void join_certainty(struct nt_link *whole, const struct nt_link *l)
{
    whole->latency_se_us = hypot(whole->latency_se_us, l->latency_se_us);
    whole->probability = fmin(whole->probability, l->probability);
    whole->suspect = whole->suspect || l->suspect;
    whole->at_least = whole->at_least && l->at_least;
    whole->effective = whole->effective || l->effective;
}

/* Follows link k from v through switches with two links. Link k becomes the whole path, and the
 * others get a = b. Returns its end. */
static void stretch_link(struct draft *d, uint32_t v, uint32_t k)
{
    struct nt_link whole = d->link[k];
    if (whole.a != v) {
        whole.a = v;
        turn_rates(&whole);
    }
    uint32_t at = nt_link_other_end(&d->link[k], v), by = k;
    while (passes_through(d, at)) {
        uint32_t next = UINT32_MAX;
        for (uint32_t e = d->graph.start[at]; e < d->graph.start[at + 1]; e++)
            if (d->graph.link[e] != by &&
                d->link[d->graph.link[e]].a != d->link[d->graph.link[e]].b)
                next = d->graph.link[e];
        struct nt_link *l = &d->link[next];
        bool forth = l->a == at;
        uint32_t to = nt_link_other_end(l, at);
        whole.latency_us += l->latency_us;
        join_certainty(&whole, l);
        struct nt_link next_way = *l;
        if (!forth)
            turn_rates(&next_way);
        join_rate(&whole.bandwidth_MBps, &whole.bandwidth_se_MBps, next_way.bandwidth_MBps,
                  next_way.bandwidth_se_MBps);
        join_rate(&whole.bandwidth_back_MBps, &whole.bandwidth_back_se_MBps,
                  next_way.bandwidth_back_MBps, next_way.bandwidth_back_se_MBps);
        by = next;
        at = to;
        l->a = l->b = at; /* removed */
    }
    whole.b = at;
    d->link[k] = whole;
}

static void contract_switches(struct draft *d)
{
    index_links(d);
    if (d->m->hosts > 1) /* one host keeps its switch: a star of one */
        prune_leaves(d);
    if (d->m->hosts == 2) /* two hosts on a line of switches: the first switch replaces all */
        for (uint32_t v = 0; v < d->vertices; v++)
            if (passes_through(d, v)) {
                d->degree[v] = 3;
                break;
            }
    for (uint32_t v = 0; v < d->vertices; v++)
        for (uint32_t k = d->graph.start[v]; !passes_through(d, v) && k < d->graph.start[v + 1];
             k++)
            if (d->link[d->graph.link[k]].a != d->link[d->graph.link[k]].b)
                stretch_link(d, v, d->graph.link[k]);
}

/* ---- the model ------------------------------------------------------------------------------ */

/* Creates the model. Switches that still have links get consecutive indices, in same[]. */
static int to_model(struct draft *d, struct nt_model **out, struct nt_err *err)
{
    const struct nt_model *m = d->m;
    size_t links = 0, switches = 0;
    memset(d->degree, 0, d->vertices * sizeof *d->degree);
    for (size_t k = 0; k < d->links; k++)
        if (d->link[k].a != d->link[k].b) {
            d->degree[d->link[k].a]++;
            d->degree[d->link[k].b]++;
            d->link[links++] = d->link[k];
        }
    for (uint32_t v = 0; v < d->vertices; v++)
        d->same[v] = v < m->hosts ? v : (uint32_t)(m->hosts + (d->degree[v] > 0 ? switches++ : 0));
    struct nt_model *t;
    if (nt_model_create(m->hosts, switches, links, &t, err) < 0)
        return -1;
    for (size_t k = 0; k < links; k++) {
        t->link[k] = d->link[k];
        t->link[k].a = d->same[d->link[k].a];
        t->link[k].b = d->same[d->link[k].b];
    }
    memcpy(t->overhead_us, m->overhead_us, m->hosts * sizeof *t->overhead_us);
    *out = t;
    return 0;
}

/* Adds a host's overhead to its only link to a switch, because measurements cannot distinguish
 * them. */
static void absorb_overheads(struct nt_model *t, const uint32_t *degree)
{
    for (size_t k = 0; k < t->links; k++) {
        struct nt_link *l = &t->link[k];
        uint32_t host = l->a < t->hosts ? l->a : l->b;
        if (l->a < t->hosts && l->b < t->hosts)
            continue;
        if (host < t->hosts && degree[host] == 1) {
            l->latency_us += t->overhead_us[host];
            t->overhead_us[host] = 0;
        }
    }
}

static int copy_figures(const struct nt_network *network, struct nt_model **out, struct nt_err *err)
{
    if (nt_model_copy(network->model, out, err) < 0)
        return -1;
    for (size_t k = 0; k < (*out)->links; k++) {
        const struct nt_arc *arc = &network->arc[2 * k];
        (*out)->link[k].latency_us = (arc[0].latency_us + arc[1].latency_us) / 2;
        (*out)->link[k].bandwidth_MBps = arc[0].rate_MBps;
        (*out)->link[k].bandwidth_back_MBps = arc[1].rate_MBps;
        for (const struct nt_network *n = network->next_rail; n != NULL; n = n->next_rail) {
            (*out)->link[k].bandwidth_MBps += n->arc[2 * k].rate_MBps;
            (*out)->link[k].bandwidth_back_MBps += n->arc[2 * k + 1].rate_MBps;
        }
    }
    memcpy((*out)->overhead_us, network->overhead_us, network->hosts * sizeof(double));
    return 0;
}

/* Returns 1 with *out for a tree; 0: it has cycles other than those of spines. */
static int reduce_model(const struct nt_model *m, struct nt_model **out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct draft d;
    if (draft_init(&d, m, &memory, err) < 0 ||
        (!nt_links_are_forest(d.link, d.links, d.scratch, d.vertices) && merge_spines(&d, err) < 0))
        return -1;
    merge_links(&d);
    if (!nt_links_are_forest(d.link, d.links, d.scratch, d.vertices))
        return 0;
    contract_switches(&d);
    if (to_model(&d, out, err) < 0)
        return -1;
    absorb_overheads(*out, d.degree);
    (*out)->family = (*out)->switches > 1 ? NT_FAMILY_TREE : NT_FAMILY_STAR;
    (*out)->confidence = 1;
    return 1;
}

/* Fewer switches in a ring, a grid or a full mesh are only a triangle or a line: validate accepts
 * these families from this number. Measurements show a dragonfly from this number of groups and
 * routers on (infer/dragonfly.c). */
enum { NAMED_SWITCHES = 4, NAMED_GROUPS = 3, NAMED_ROUTERS = 3 };

static bool is_named(const struct nt_network *network, const struct nt_model *m)
{
    if (m->family == NT_FAMILY_DRAGONFLY)
        return m->dimension[0] >= NAMED_GROUPS && m->dimension[1] >= NAMED_ROUTERS;
    return network->spec.hosts_each > 0 && m->switches >= NAMED_SWITCHES;
}

int nt_network_truth(const struct nt_network *network, struct nt_model **out, struct nt_err *err)
{
    struct nt_model *plain, *tree = NULL;
    if (copy_figures(network, &plain, err) < 0)
        return -1;
    int rc = network->switches == 0 ? 0 : reduce_model(plain, &tree, err);
    if (rc == 0 && network->switches > 0 && !is_named(network, plain)) {
        plain->family = NT_FAMILY_IRREGULAR;
        plain->dimensions = 0;
    }
    if (rc == 1) {
        nt_model_destroy(plain);
        plain = tree;
    }
    if (rc < 0 || nt_model_canonicalise(plain, err) < 0) {
        nt_model_destroy(plain);
        return -1;
    }
    *out = plain;
    return 0;
}
