/* SPDX-License-Identifier: Apache-2.0 */
#include "rooted_tree.h"

#include <string.h>

void nt_rooted_tree_destroy(struct nt_rooted_tree *h)
{
    nt_object_destroy(h);
}

static int allocate(struct nt_rooted_tree *h, const struct nt_model *m, struct nt_err *err)
{
    size_t v = h->vertices + 2;
    h->parent = nt_arena_array(&h->memory, v, sizeof *h->parent);
    h->up = nt_arena_array(&h->memory, v, sizeof *h->up);
    h->depth = nt_arena_array(&h->memory, v, sizeof *h->depth);
    h->order = nt_arena_array(&h->memory, v, sizeof *h->order);
    h->first = nt_arena_array(&h->memory, v, sizeof *h->first);
    h->child = nt_arena_array(&h->memory, v, sizeof *h->child);
    h->head = nt_arena_array(&h->memory, v, sizeof *h->head);
    h->tail = nt_arena_array(&h->memory, v, sizeof *h->tail);
    h->host = nt_arena_array(&h->memory, v, sizeof *h->host);
    h->ends = nt_arena_array(&h->memory, h->links + 1, sizeof *h->ends);
    if (nt_graph_init(&h->graph, m, &h->memory, err) != 0)
        return -1;
    memset(h->parent, 0xff, v * sizeof *h->parent);
    memset(h->up, 0xff, v * sizeof *h->up);
    memset(h->depth, 0xff, v * sizeof *h->depth);
    for (size_t k = 0; k < h->links; k++) {
        h->ends[k][0] = m->link[k].a;
        h->ends[k][1] = m->link[k].b;
    }
    return 0;
}

static uint32_t find_root(const struct nt_rooted_tree *h, const struct nt_model *m)
{
    uint32_t top = NT_NO_VERTEX;
    for (size_t s = 0; s < m->switches; s++) {
        size_t v = m->hosts + s;
        if (nt_graph_degree(&h->graph, (uint32_t)v) > 0 &&
            (top == NT_NO_VERTEX || m->tier[s] > m->tier[top - m->hosts]))
            top = (uint32_t)v;
    }
    return top;
}

/* Breadth-first from the root, hosts before switches; false: not a tree. */
static bool visit_from_root(struct nt_rooted_tree *h)
{
    size_t links = 0;
    h->depth[h->root] = 0;
    h->order[h->reached++] = h->root;
    for (size_t k = 0; k < h->reached; k++) {
        uint32_t v = h->order[k];
        links += nt_graph_degree(&h->graph, v);
        if (v < h->hosts && nt_graph_degree(&h->graph, v) > 1)
            return false;
        for (int host = 1; host >= 0; host--)
            for (uint32_t i = h->graph.start[v]; i < h->graph.start[v + 1]; i++) {
                uint32_t l = h->graph.link[i], end = h->ends[l][0] == v, w = h->ends[l][end];
                if ((w < h->hosts) != (host == 1) || h->depth[w] != UINT32_MAX)
                    continue;
                h->depth[w] = h->depth[v] + 1;
                h->parent[w] = v;
                h->up[w] = 2 * l + end; /* w is end number `end` of the link */
                h->order[h->reached++] = w;
            }
    }
    return links == 2 * (h->reached - 1);
}

/* Breadth first lists the children of a vertex one after the other. */
static void list_children(struct nt_rooted_tree *h)
{
    for (size_t k = 1; k < h->reached; k++)
        h->first[h->parent[h->order[k]] + 2]++;
    for (size_t v = 2; v < h->vertices + 2; v++)
        h->first[v] += h->first[v - 1];
    for (size_t k = 1; k < h->reached; k++)
        h->child[h->first[h->parent[h->order[k]] + 1]++] = h->order[k];
}

/* tail[v] counts from the bottom; then head[v] is given out from the top. */
static void list_hosts(struct nt_rooted_tree *h)
{
    for (size_t k = h->reached; k-- > 0;) {
        uint32_t v = h->order[k];
        h->tail[v] += v < h->hosts;
        if (k > 0)
            h->tail[h->parent[v]] += h->tail[v];
    }
    for (size_t k = 0; k < h->reached; k++) {
        uint32_t v = h->order[k], at = h->head[v];
        if (v < h->hosts)
            h->host[at] = v;
        for (uint32_t i = h->first[v]; i < h->first[v + 1]; i++) {
            h->head[h->child[i]] = at;
            at += h->tail[h->child[i]];
        }
    }
    for (size_t k = 0; k < h->reached; k++)
        h->tail[h->order[k]] += h->head[h->order[k]];
}

int nt_rooted_tree_create(const struct nt_model *model, struct nt_rooted_tree **out,
                          struct nt_err *err)
{
    struct nt_rooted_tree *h = nt_object_create(sizeof *h, err);
    if (h == NULL)
        return -1;
    h->hosts = model->hosts;
    h->vertices = model->hosts + model->switches;
    h->links = model->links;
    if (allocate(h, model, err) != 0) {
        nt_rooted_tree_destroy(h);
        return -1;
    }
    h->root = find_root(h, model);
    if (h->root != NT_NO_VERTEX)
        h->tree = visit_from_root(h);
    if (h->tree) {
        list_children(h);
        list_hosts(h);
    }
    *out = h;
    return 0;
}

size_t nt_rooted_tree_room(const struct nt_rooted_tree *h)
{
    return 2 * h->vertices + 2;
}

static size_t tree_path(const struct nt_rooted_tree *h, uint32_t a, uint32_t b, uint32_t *channel)
{
    size_t ups = 0, downs = 0, most = nt_rooted_tree_room(h);
    if (h->depth[a] == UINT32_MAX || h->depth[b] == UINT32_MAX)
        return 0;
    while (a != b) {
        if (h->depth[a] >= h->depth[b]) {
            channel[ups++] = h->up[a];
            a = h->parent[a];
        } else {
            channel[most - ++downs] = nt_channel_back(h->up[b]);
            b = h->parent[b];
        }
    }
    memmove(channel + ups, channel + most - downs, downs * sizeof *channel);
    return ups + downs;
}

/* A common link, or a common switch. */
static size_t near_path(const struct nt_rooted_tree *h, uint32_t a, uint32_t b, uint32_t *channel)
{
    size_t found = 0;
    for (uint32_t i = h->graph.start[a]; i < h->graph.start[a + 1]; i++) {
        uint32_t l = h->graph.link[i], end = h->ends[l][0] == a, via = h->ends[l][end];
        channel[0] = 2 * l + (end ? 0 : 1);
        if (via == b)
            return 1;
    }
    for (uint32_t i = h->graph.start[a]; i < h->graph.start[a + 1]; i++)
        for (uint32_t j = h->graph.start[b]; j < h->graph.start[b + 1]; j++) {
            uint32_t l = h->graph.link[i], k = h->graph.link[j];
            uint32_t from_a = h->ends[l][0] == a, from_b = h->ends[k][0] == b;
            if (h->ends[l][from_a] != h->ends[k][from_b] || h->ends[l][from_a] < h->hosts)
                continue;
            if (found++ > 0) /* two ways */
                return 0;
            channel[0] = 2 * l + (from_a ? 0 : 1);
            channel[1] = 2 * k + (from_b ? 1 : 0);
        }
    return found == 1 ? 2 : 0;
}

size_t nt_rooted_tree_path(const struct nt_rooted_tree *h, uint32_t a, uint32_t b,
                           uint32_t *channel)
{
    if (a == b || a >= h->hosts || b >= h->hosts)
        return 0;
    return h->tree ? tree_path(h, a, b, channel) : near_path(h, a, b, channel);
}
