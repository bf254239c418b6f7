/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a tree's groups of two those that are likelier than not. */
#include <stdlib.h>

#include "host_pairs.h"
#include "regroup.h"
#include "rooted_tree.h"
#include "switch_support.h"

struct settling {
    const struct nt_work *w;
    const struct nt_rooted_tree *tree;
    const struct nt_host_pairs *pairs;
    uint32_t *place; /* hosts of the model: index in w */
    uint32_t *left;  /* links of each vertex */
    bool *gone;      /* links that are taken out */
    uint32_t *to;    /* links: the new switch that they go to, or UINT32_MAX */
    struct nt_gathered *gathered;
    size_t count;
};

/* Marks the links of the model's pairs that are likelier not there. */
static bool mark_weak(struct settling *s)
{
    const struct nt_rooted_tree *t = s->tree;
    bool some = false;
    for (uint32_t v = (uint32_t)t->hosts; v < t->vertices; v++) {
        uint32_t host[3], hosts = 0, link = 0;
        if (nt_graph_degree(&t->graph, v) != 3)
            continue;
        for (uint32_t k = t->graph.start[v]; k < t->graph.start[v + 1]; k++) {
            if (t->graph.to[k] < t->hosts)
                host[hosts++] = s->place[t->graph.to[k]];
            else
                link = t->graph.link[k];
        }
        if (hosts == 2)
            s->gone[link] =
                nt_host_pairs_probability(s->pairs, host[0], host[1]) < NT_SUPPORT_STATED;
        some |= hosts == 2 && s->gone[link];
    }
    return some;
}

/* Notes the pairs that are likelier than not where the model has none; every switch keeps three
 * links. */
static void note_likely(struct settling *s)
{
    const struct nt_rooted_tree *t = s->tree;
    for (size_t k = 0; k < s->pairs->count; k++) {
        const struct nt_host_pair *p = &s->pairs->pair[k];
        uint32_t a = s->w->host[p->a], b = s->w->host[p->b];
        if (p->probability < NT_SUPPORT_STATED || !(p->us > 0) || t->parent[a] != p->at ||
            t->parent[b] != p->at || s->left[p->at] < 4)
            continue;
        s->left[p->at]--;
        s->to[t->up[a] / 2] = s->to[t->up[b] / 2] = (uint32_t)s->count;
        s->gathered[s->count++] = (struct nt_gathered){p->at, p->us};
    }
}

static int settling_init(struct settling *s, const struct nt_model *model, struct nt_arena *memory,
                         struct nt_err *err)
{
    s->place = nt_arena_array(memory, model->hosts + 1, sizeof *s->place);
    s->left = nt_arena_array(memory, model->hosts + model->switches + 1, sizeof *s->left);
    s->gone = nt_arena_array(memory, model->links + 1, sizeof *s->gone);
    s->to = nt_arena_array(memory, model->links + 1, sizeof *s->to);
    s->gathered = nt_arena_array(memory, s->pairs->count + 1, sizeof *s->gathered);
    if (nt_arena_check(memory, err) < 0)
        return -1;
    for (uint32_t i = 0; i < s->w->n; i++)
        s->place[s->w->host[i]] = i;
    for (uint32_t v = 0; v < s->tree->vertices; v++)
        s->left[v] = nt_graph_degree(&s->tree->graph, v);
    for (size_t k = 0; k < model->links; k++)
        s->to[k] = UINT32_MAX;
    return 0;
}

int nt_host_pairs_settle(const struct nt_work *w, const struct nt_host_pairs *pairs,
                         struct nt_model **model, bool *changed, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_rooted_tree *tree;
    struct settling s = {.w = w, .pairs = pairs};
    *changed = false;
    if (nt_rooted_tree_create(*model, &tree, err) < 0)
        return -1;
    s.tree = tree;
    int status = settling_init(&s, *model, &memory, err);
    if (status == 0 && tree->tree && mark_weak(&s)) {
        *changed = true;
        status = nt_regroup_contract(model, s.gone, err);
    } else if (status == 0 && tree->tree) {
        note_likely(&s);
        *changed = s.count > 0;
        if (s.count > 0)
            status = nt_regroup_gather(model, s.gathered, s.count, s.to, err);
    }
    nt_rooted_tree_destroy(tree);
    return status;
}
