/* SPDX-License-Identifier: Apache-2.0 */
#include "adopt.h"

#include <string.h>

#include "memory.h"
#include "rooted_tree.h"

/* Hosts below each vertex that are inside. */
static void count_inside(const struct nt_rooted_tree *h, const bool *inside, bool wanted,
                         uint32_t *count)
{
    for (size_t v = 0; v < h->vertices; v++)
        count[v] = v < h->hosts && inside[v] == wanted;
    for (size_t k = h->reached; k-- > 1;)
        count[h->parent[h->order[k]]] += count[h->order[k]];
}

/* The lowest vertex that has all counted hosts below it. */
static uint32_t lowest_switch(const struct nt_rooted_tree *h, const uint32_t *count)
{
    uint32_t v = h->top, all = count[v];
    for (bool down = true; down;) {
        down = false;
        for (uint32_t i = h->first[v]; i < h->first[v + 1] && !down; i++)
            if (count[h->child[i]] == all) {
                v = h->child[i];
                down = true;
            }
    }
    return v;
}

/* Each branch below v is counted whole or not at all, and both kinds are at least two; the one
 * above v counts as a branch. *branches: of the counted kind. */
static bool parts_children(const struct nt_rooted_tree *h, const uint32_t *count, uint32_t v)
{
    uint32_t whole = 0, none = v != h->top;
    for (uint32_t i = h->first[v]; i < h->first[v + 1]; i++) {
        uint32_t w = h->child[i], hosts = nt_rooted_tree_count(h, w);
        if (count[w] != 0 && count[w] != hosts)
            return false;
        whole += count[w] != 0;
        none += count[w] == 0;
    }
    return whole >= 2 && none >= 2;
}

/* The counted branches of v move to a new switch. */
static int part_switch(struct nt_model **model, const struct nt_rooted_tree *h,
                       const uint32_t *count, uint32_t v, struct nt_err *err)
{
    const struct nt_model *from = *model;
    struct nt_model *m;
    uint32_t added = (uint32_t)h->vertices;
    if (nt_model_create(from->hosts, from->switches + 1, from->links + 1, &m, err) < 0)
        return -1;
    memcpy(m->link, from->link, from->links * sizeof *m->link);
    memcpy(m->missing, from->missing, from->hosts * sizeof *m->missing);
    memcpy(m->overhead_us, from->overhead_us, from->hosts * sizeof *m->overhead_us);
    m->family = NT_FAMILY_TREE;
    m->confidence = from->confidence;
    for (uint32_t i = h->first[v]; i < h->first[v + 1]; i++) {
        uint32_t w = h->child[i];
        if (count[w] == 0)
            continue;
        struct nt_link *l = &m->link[h->up[w] / 2];
        *(l->a == v ? &l->a : &l->b) = added;
    }
    m->link[from->links].a = added;
    m->link[from->links].b = v;
    m->link[from->links].latency_us = 0;
    m->link[from->links].probability = 0;
    if (nt_model_canonicalise(m, err) < 0) {
        nt_model_destroy(m);
        return -1;
    }
    nt_model_destroy(*model);
    *model = m;
    return 0;
}

int nt_adopt_link(struct nt_model **model, const bool *inside, bool *added, struct nt_err *err)
{
    struct nt_rooted_tree *h;
    if (nt_rooted_tree_create(*model, &h, err) < 0)
        return -1;
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *count = nt_arena_array(&memory, h->vertices, sizeof *count);
    int status = nt_arena_check(&memory, err);
    *added = false;
    for (int wanted = 0; wanted < 2 && status == 0 && h->tree && !*added; wanted++) {
        count_inside(h, inside, wanted == 1, count);
        uint32_t v = lowest_switch(h, count);
        if (v >= h->hosts && parts_children(h, count, v)) {
            status = part_switch(model, h, count, v, err);
            *added = status == 0;
        }
    }
    nt_rooted_tree_destroy(h);
    return status;
}
