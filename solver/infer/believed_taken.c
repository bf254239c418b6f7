/* SPDX-License-Identifier: Apache-2.0 */
#include "believed_taken.h"

#include <string.h>

#include "memory.h"

enum { NONE = UINT32_MAX };

struct draft {
    const struct nt_belief *b;
    const bool *missing;
    const uint32_t *order;
    uint32_t *top;    /* hosts: the highest vertex above it so far; itself */
    uint32_t *first;  /* by cluster: the vertex of its first part */
    uint32_t *at;     /* by cluster: its switch, where it has several parts */
    double *us;       /* vertices: latency of a pair that meets there; of a host 0 */
    uint32_t *parent; /* vertices; NONE */
    double *up_us;    /* vertices: of the link to the parent */
    size_t switches;
};

static uint32_t cluster_of(const struct draft *d, size_t level, size_t host)
{
    return level + 1 < d->b->levels ? d->b->cluster[level * d->b->hosts + d->order[host]] : 0;
}

/* A switch for each cluster of the level that has several parts. */
static void add_level(struct draft *d, size_t level)
{
    size_t n = d->b->hosts;
    memset(d->first, 0xff, n * sizeof *d->first);
    memset(d->at, 0xff, n * sizeof *d->at);
    for (size_t k = 0; k < n; k++) {
        uint32_t c = cluster_of(d, level, k);
        if (d->missing[d->order[k]])
            continue;
        if (d->first[c] == NONE)
            d->first[c] = d->top[k];
        else if (d->first[c] != d->top[k] && d->at[c] == NONE)
            d->at[c] = (uint32_t)(n + d->switches++);
    }
    for (size_t k = 0; k < n; k++) {
        uint32_t s = d->missing[d->order[k]] ? NONE : d->at[cluster_of(d, level, k)];
        if (s == NONE)
            continue;
        d->us[s] = d->b->us[level];
        d->up_us[d->top[k]] = (d->us[s] - d->us[d->top[k]]) / 2;
        d->parent[d->top[k]] = s;
        d->top[k] = s;
    }
}

static bool is_whole(const struct draft *d)
{
    size_t present = 0;
    for (size_t h = 0; h < d->b->hosts; h++) {
        present += !d->missing[h];
        if (!d->missing[h] && d->b->levels > 1 && d->b->cluster[h] == NT_BELIEF_LOOSE)
            return false;
    }
    return present > 1;
}

/* A switch at the top with two links, one of them to a switch, is none: only their sum is known. */
static void join_top(struct draft *d)
{
    uint32_t top = (uint32_t)(d->b->hosts + d->switches - 1), part[2] = {NONE, NONE};
    size_t parts = 0;
    for (uint32_t v = 0; v < top; v++)
        if (d->parent[v] == top && parts++ < 2)
            part[parts - 1] = v;
    if (parts != 2 || part[1] < d->b->hosts)
        return;
    d->up_us[part[0]] += d->up_us[part[1]];
    d->parent[part[0]] = part[1];
    d->parent[part[1]] = NONE;
    d->switches--;
}

static int make_model(const struct draft *d, struct nt_model **out, struct nt_err *err)
{
    size_t n = d->b->hosts, vertices = n + d->switches, links = 0;
    struct nt_model *m;
    for (size_t v = 0; v < vertices; v++)
        links += d->parent[v] != NONE;
    if (nt_model_create(n, d->switches, links, &m, err) != 0)
        return -1;
    for (size_t k = 0; k < n; k++)
        m->missing[k] = d->missing[d->order[k]];
    struct nt_link *link = m->link;
    for (uint32_t v = 0; v < vertices; v++) {
        if (d->parent[v] == NONE)
            continue;
        link->a = v;
        link->b = d->parent[v];
        link->latency_us = d->up_us[v];
        link->probability = d->b->support;
        link++;
    }
    m->family = d->switches > 1 ? NT_FAMILY_TREE : NT_FAMILY_STAR;
    m->confidence = d->b->support;
    if (nt_model_canonicalise(m, err) != 0) {
        nt_model_destroy(m);
        return -1;
    }
    for (size_t k = 0; k < m->switches; k++)
        m->tiers = m->tier[k] > m->tiers ? m->tier[k] : m->tiers;
    *out = m;
    return 1;
}

int nt_believed_taken(const struct nt_belief *b, const bool *missing, const uint32_t *order,
                      struct nt_model **out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t n = b->hosts;
    struct draft d = {.b = b,
                      .missing = missing,
                      .order = order,
                      .top = nt_arena_array(&memory, n + 1, sizeof *d.top),
                      .first = nt_arena_array(&memory, n + 1, sizeof *d.first),
                      .at = nt_arena_array(&memory, n + 1, sizeof *d.at),
                      .us = nt_arena_array(&memory, 2 * n + 1, sizeof *d.us),
                      .up_us = nt_arena_array(&memory, 2 * n + 1, sizeof *d.up_us),
                      .parent = nt_arena_array(&memory, 2 * n + 1, sizeof *d.parent)};
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    if (!is_whole(&d))
        return 0;
    memset(d.parent, 0xff, 2 * n * sizeof *d.parent);
    for (uint32_t k = 0; k < n; k++)
        d.top[k] = k;
    for (size_t l = 0; l < b->levels; l++)
        add_level(&d, l);
    join_top(&d);
    return make_model(&d, out, err);
}
