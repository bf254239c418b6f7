/* SPDX-License-Identifier: Apache-2.0 */
/* From groups and their tree to a model. */
#include "work.h"

#include <string.h>

#include "memory.h"

struct draft {
    size_t hosts, vertices, links;
    struct nt_link *link;
    uint32_t *degree;
    bool *removed; /* vertices */
};

static void draft_link(struct draft *d, uint32_t a, uint32_t b, double latency, double probability)
{
    struct nt_link l = {.a = a,
                        .b = b,
                        .latency_us = latency,
                        .latency_se_us = NAN,
                        .bandwidth_MBps = NAN,
                        .bandwidth_back_MBps = NAN,
                        .bandwidth_se_MBps = NAN,
                        .bandwidth_back_se_MBps = NAN,
                        .probability = probability};
    d->link[d->links++] = l;
    d->degree[a]++;
    d->degree[b]++;
}

/* A switch with two links is removed: it cannot be distinguished from one long link. */
static void splice_switch(struct draft *d, uint32_t v)
{
    size_t found[2] = {0}, count = 0;
    for (size_t k = 0; k < d->links && count < 2; k++)
        if (d->link[k].a == v || d->link[k].b == v)
            found[count++] = k;
    struct nt_link *x = &d->link[found[0]], *y = &d->link[found[1]];
    uint32_t other = y->a == v ? y->b : y->a;
    *(x->a == v ? &x->a : &x->b) = other;
    x->latency_us += y->latency_us;
    x->probability = fmax(x->probability, y->probability);
    *y = d->link[--d->links];
    d->removed[v] = true;
}

/* Noise makes an edge as long as this somewhere with a chance below ways * exp(-z*z/2); as one of
 * several hundred could be a leaf's own edge, that many ways are counted. */
static double edge_probability(const struct nt_work *w, const struct nt_tree_edge *edge)
{
    if (!(edge->z > 0)) /* the link of a host that is alone */
        return 1;
    double chance = exp(log((double)w->groups + 1) - 0.5 * edge->z * edge->z);
    return 1 - (chance < 0.5 ? chance : 0.5);
}

static int draw_tree(struct draft *d, const struct nt_work *w, const struct nt_tree *tree,
                     struct nt_arena *memory, struct nt_err *err)
{
    size_t hosts = d->hosts;
    uint32_t *groups_at = nt_arena_array(memory, tree->nodes, sizeof *groups_at);
    uint32_t *edges_at = nt_arena_array(memory, tree->nodes, sizeof *edges_at);
    uint32_t *vertex = nt_arena_array(memory, tree->nodes, sizeof *vertex);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t g = 0; g < w->groups; g++)
        groups_at[tree->node_of[g]]++;
    for (size_t e = 0; e < tree->edges; e++) {
        edges_at[tree->edge[e].a]++;
        edges_at[tree->edge[e].b]++;
    }
    for (size_t v = 0; v < tree->nodes; v++)
        vertex[v] = (uint32_t)(hosts + v);
    /* one host alone at the end of an edge: the edge is its link */
    for (size_t g = 0; g < w->groups; g++) {
        uint32_t v = tree->node_of[g];
        bool alone = nt_work_size(w, g) == 1 && groups_at[v] == 1 && edges_at[v] == 1;
        if (alone)
            vertex[v] = w->host[w->member[w->start[g]]];
        for (size_t k = w->start[g]; k < w->start[g + 1] && !alone; k++)
            draft_link(d, w->host[w->member[k]], vertex[v], (double)w->offset[w->member[k]], 1);
    }
    for (size_t e = 0; e < tree->edges; e++)
        draft_link(d, vertex[tree->edge[e].a], vertex[tree->edge[e].b], tree->edge[e].length_us,
                   edge_probability(w, &tree->edge[e]));
    for (uint32_t v = (uint32_t)hosts; v < d->vertices; v++)
        if (d->degree[v] == 2 && w->n > 2)
            splice_switch(d, v);
    return 0;
}

static int build_model(const struct draft *d, struct nt_model **out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *number = nt_arena_array(&memory, d->vertices + 1, sizeof *number);
    size_t switches = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t v = 0; v < d->vertices; v++) {
        number[v] = (uint32_t)v;
        if (v >= d->hosts && d->degree[v] > 0 && !d->removed[v])
            number[v] = (uint32_t)(d->hosts + switches++);
    }
    int status = nt_model_create(d->hosts, switches, d->links, out, err);
    for (size_t k = 0; k < d->links && status == 0; k++) {
        struct nt_link *l = &(*out)->link[k];
        *l = d->link[k];
        l->a = number[l->a];
        l->b = number[l->b];
    }
    return status;
}

int nt_tree_model(const struct nt_work *w, const struct nt_tree *tree, size_t hosts,
                  struct nt_model **out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct draft d = {.hosts = hosts, .vertices = hosts + tree->nodes};
    d.link = nt_arena_array(&memory, w->n + tree->edges + 1, sizeof *d.link);
    d.degree = nt_arena_array(&memory, d.vertices + 1, sizeof *d.degree);
    d.removed = nt_arena_array(&memory, d.vertices + 1, sizeof *d.removed);
    if (draw_tree(&d, w, tree, &memory, err) != 0)
        return -1;
    return build_model(&d, out, err);
}

int nt_model_groups(const struct nt_model *m, struct nt_work *w, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *place = nt_arena_array(&memory, m->hosts + 1, sizeof *place);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    memset(place, 0xff, (m->hosts + 1) * sizeof *place);
    for (uint32_t i = 0; i < w->n; i++)
        place[w->host[i]] = i;
    for (size_t k = 0; k < m->links; k++) {
        uint32_t a = m->link[k].a, b = m->link[k].b, host = a < b ? a : b, at = a < b ? b : a;
        if (host < m->hosts && at >= m->hosts && place[host] != UINT32_MAX)
            w->group[place[host]] = at - (uint32_t)m->hosts;
    }
    nt_groups_index(w);
    if (nt_groups_fit(w, nt_work_passes(w), err) < 0)
        return -1;
    return nt_groups_noise(w, true, err);
}
