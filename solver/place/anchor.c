/* SPDX-License-Identifier: Apache-2.0 */
#include "anchor.h"

#include <math.h>

#include "memory.h"

/* The first rank on the host whose cyclic neighbour, the rank before it or after it, is elsewhere;
 * ntasks: the host has no rank. */
static size_t edge_rank(const uint32_t *from, size_t ntasks, uint32_t first, size_t step)
{
    size_t any = ntasks;
    for (size_t r = 0; r < ntasks; r++) {
        if (from[r] != first)
            continue;
        if (from[(r + step) % ntasks] != first)
            return r;
        any = any == ntasks ? r : any;
    }
    return any;
}

/* Ranks by how far up the tree the way to the first host leads, else in the order that they have.
 */
static int put_nearest(const struct nt_distance *d, size_t vertices, uint32_t first,
                       const uint32_t *from, size_t n, uint32_t *to, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t *height = nt_arena_array(&memory, vertices + 1, sizeof *height);
    size_t *at = nt_arena_array(&memory, vertices + 2, sizeof *at), levels = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (uint32_t v = first; v != UINT32_MAX; v = nt_distance_parent(d, v))
        height[v] = ++levels; /* 0: not above the first host */
    for (int fill = 0; fill < 2; fill++) {
        for (size_t r = 0; r < n; r++) {
            uint32_t v = from[r];
            while (height[v] == 0 && nt_distance_parent(d, v) != UINT32_MAX)
                v = nt_distance_parent(d, v);
            size_t level = height[v] == 0 ? levels : height[v] - 1; /* levels: not joined */
            if (fill == 0)
                at[level + 1]++;
            else
                to[at[level]++] = from[r];
        }
        for (size_t k = 0; fill == 0 && k <= levels; k++)
            at[k + 1] += at[k];
    }
    return 0;
}

/* ---- hosts change places, distances stay ---- */

enum { MOVE_HOSTS = 64, MOVE_WORK = 1000000 };

struct move {
    const struct nt_distance *distance;
    const uint32_t *capacity;
    uint32_t host[MOVE_HOSTS], image[MOVE_HOSTS]; /* hosts with tasks; where each one goes */
    size_t hosts, work;
};

static bool may_go(struct move *m, size_t k, uint32_t to)
{
    if (m->capacity[m->host[k]] != m->capacity[to])
        return false;
    for (size_t j = 0; j < k; j++, m->work++) {
        double was = nt_distance_latency(m->distance, m->host[j], m->host[k]);
        double is = nt_distance_latency(m->distance, m->image[j], to);
        if (m->image[j] == to || !(fabs(is - was) <= 1e-6 * fabs(was)))
            return false;
    }
    return true;
}

/* Depth-first search; the first host's image is given. */
static bool find_images(struct move *m)
{
    size_t choice[MOVE_HOSTS] = {0}, k = 1;
    while (k > 0 && k < m->hosts && m->work < MOVE_WORK) {
        bool found = false;
        for (; choice[k] < m->hosts && !found; choice[k]++)
            if (may_go(m, k, m->host[choice[k]])) {
                m->image[k] = m->host[choice[k]];
                found = true;
            }
        if (!found)
            choice[k--] = 0;
        else
            k++;
    }
    return m->hosts > 0 && k == m->hosts;
}

static bool move_hosts(const struct nt_distance *d, const struct nt_model *model,
                       const uint32_t *capacity, uint32_t first, const uint32_t *from, size_t n,
                       uint32_t *to)
{
    struct move m = {.distance = d, .capacity = capacity};
    if (model->hosts > MOVE_HOSTS || capacity[first] != capacity[from[0]])
        return false;
    m.host[m.hosts++] = from[0];
    m.image[0] = first;
    for (uint32_t h = 0; h < model->hosts; h++)
        if (capacity[h] > 0 && h != from[0])
            m.host[m.hosts++] = h;
    if (!find_images(&m))
        return false;
    for (size_t r = 0; r < n; r++)
        for (size_t k = 0; k < m.hosts; k++)
            if (m.host[k] == from[r])
                to[r] = m.image[k];
    return true;
}

/* False if one of the two cannot hold the other's ranks. */
static bool exchange_hosts(const uint32_t *capacity, uint32_t first, const uint32_t *from, size_t n,
                           uint32_t *to)
{
    uint32_t other = from[0];
    size_t mine = 0, others = 0;
    for (size_t r = 0; r < n; r++) {
        mine += from[r] == first;
        others += from[r] == other;
    }
    if (mine > capacity[other] || others > capacity[first])
        return false;
    for (size_t r = 0; r < n; r++)
        to[r] = from[r] == first ? other : from[r] == other ? first : from[r];
    return true;
}

int nt_anchor(enum nt_anchor way, const struct nt_distance *distance, const struct nt_model *model,
              const uint32_t *capacity, uint32_t first, const uint32_t *from, size_t ntasks,
              uint32_t *to, bool *made, struct nt_err *err)
{
    size_t n = ntasks, k = edge_rank(from, n, first, way == NT_ANCHOR_REFLECT ? 1 : n - 1);
    *made = k < n;
    if (way == NT_ANCHOR_MOVE)
        *made = move_hosts(distance, model, capacity, first, from, n, to);
    else if (way == NT_ANCHOR_EXCHANGE)
        *made = exchange_hosts(capacity, first, from, n, to);
    else if (way == NT_ANCHOR_NEAREST && *made) {
        *made = nt_distance_is_tree(distance);
        if (*made &&
            put_nearest(distance, model->hosts + model->switches, first, from, n, to, err) != 0)
            return -1;
    } else if (way == NT_ANCHOR_XOR) {
        *made = *made && (n & (n - 1)) == 0;
        for (size_t r = 0; *made && r < n; r++)
            to[r] = from[r ^ k];
    } else {
        for (size_t r = 0; *made && r < n; r++)
            to[r] = from[(way == NT_ANCHOR_ROTATE ? r + k : k + n - r) % n];
    }
    *made = *made && to[0] == first;
    return 0;
}
