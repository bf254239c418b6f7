/* SPDX-License-Identifier: Apache-2.0 */
#include "flow_tally.h"

#include <math.h>
#include <string.h>

#define NEARLY_ALL 0.9

int nt_flow_tally_init(struct nt_flow_tally *tally, const struct nt_model *model,
                       struct nt_err *err)
{
    *tally = (struct nt_flow_tally){.model = model};
    if (nt_rooted_tree_create(model, &tally->rooted, err) != 0)
        return -1;
    size_t channels = 2 * model->links + 1, vertices = tally->rooted->vertices + 1;
    tally->link = nt_arena_array(&tally->memory, channels, sizeof *tally->link);
    tally->vertex = nt_arena_array(&tally->memory, vertices, sizeof *tally->vertex);
    tally->path =
        nt_arena_array(&tally->memory, nt_rooted_tree_room(tally->rooted), sizeof *tally->path);
    tally->both = nt_arena_array(&tally->memory, channels, sizeof *tally->both);
    if (nt_arena_check(&tally->memory, err) == 0)
        return 0;
    nt_flow_tally_fini(tally);
    return -1;
}

void nt_flow_tally_fini(struct nt_flow_tally *tally)
{
    nt_rooted_tree_destroy(tally->rooted);
    nt_arena_fini(&tally->memory);
    tally->rooted = NULL;
}

static size_t find_path(const struct nt_flow_tally *t, const struct nt_flow_seen *f)
{
    return f->rate_MBps > 0 && isfinite(f->rate_MBps) && t->rooted->tree
               ? nt_rooted_tree_path(t->rooted, f->from, f->to, t->path)
               : 0;
}

static struct nt_carried *end_of(const struct nt_flow_tally *t, uint32_t channel)
{
    return &t->vertex[t->rooted->ends[channel / 2][channel % 2 == 0 ? 1 : 0]];
}

/* A link that is not known, or only from below, may have been full. */
static bool is_explained(const struct nt_flow_tally *t, size_t hops)
{
    for (size_t i = 0; i < hops; i++) {
        double has = nt_flow_tally_bandwidth(t, t->path[i]);
        if (!(t->link[t->path[i]].MBps < NT_FLOW_NEARLY_FULL * has))
            return true;
    }
    return false;
}

static void add_flow(const struct nt_flow_tally *t, size_t hops, double rate)
{
    for (size_t i = 0; i < hops; i++) {
        struct nt_carried *at[] = {&t->link[t->path[i]], end_of(t, t->path[i])};
        for (int k = 0; k < 2; k++) {
            at[k]->MBps += rate;
            at[k]->flows++;
        }
    }
}

static void add_odd(const struct nt_flow_tally *t, size_t hops)
{
    for (size_t i = 0; i < hops; i++) {
        t->link[t->path[i]].odd++;
        end_of(t, t->path[i])->odd++;
    }
}

void nt_flow_tally_load(struct nt_flow_tally *tally, const struct nt_flow_round *round)
{
    memset(tally->link, 0, 2 * tally->model->links * sizeof *tally->link);
    memset(tally->vertex, 0, tally->rooted->vertices * sizeof *tally->vertex);
    for (size_t k = 0; k < round->flows; k++)
        add_flow(tally, find_path(tally, &round->flow[k]), round->flow[k].rate_MBps);
    for (size_t k = 0; k < round->flows; k++) {
        size_t hops = find_path(tally, &round->flow[k]);
        if (!is_explained(tally, hops))
            add_odd(tally, hops);
    }
}

static void count_beside(const struct nt_flow_tally *t, size_t hops, uint32_t channel, int which)
{
    bool over = false;
    for (size_t i = 0; i < hops; i++)
        over = over || t->path[i] == channel;
    for (size_t i = 0; i < hops && over; i++)
        t->both[t->path[i]][which]++;
}

bool nt_flow_tally_meet(struct nt_flow_tally *tally, const struct nt_flow_round *round, uint32_t x,
                        uint32_t y)
{
    memset(tally->both, 0, 2 * tally->model->links * sizeof *tally->both);
    for (size_t k = 0; k < round->flows; k++) {
        size_t hops = find_path(tally, &round->flow[k]);
        count_beside(tally, hops, x, 0);
        count_beside(tally, hops, y, 1);
    }
    for (size_t c = 0; c < 2 * tally->model->links; c++)
        if (tally->both[c][0] >= NEARLY_ALL * tally->link[x].flows &&
            tally->both[c][1] >= NEARLY_ALL * tally->link[y].flows)
            return true;
    return false;
}
