/* SPDX-License-Identifier: Apache-2.0 */
#include "link_flows.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "flow_links.h"
#include "memory.h"
#include "number.h"
#include "shared_paths.h"
#include "switch_throughput.h"

/* The flows, round by round. */
struct record {
    size_t rounds;
    struct nt_flow_round *round;
    struct nt_flow_seen *flow;
};

static bool is_counted(const struct nt_samples *s, const struct nt_sample *x, const bool *spoiled)
{
    return x->kind == NT_SAMPLE_BANDWIDTH && x->value_us > 0 && x->phase < s->phases &&
           strcmp(s->phase[x->phase].name, "warm-up") != 0 && !spoiled[x->round];
}

/* A flow that failed used an unknown part of its links while the others ran. */
static void find_spoiled(const struct nt_samples *s, bool *spoiled)
{
    for (size_t k = 0; k < s->samples; k++)
        if (s->sample[k].kind == NT_SAMPLE_FAILED)
            spoiled[s->sample[k].round] = true;
}

static int record_init(struct record *r, const struct nt_samples *s, const uint32_t *order,
                       struct nt_arena *memory, struct nt_err *err)
{
    size_t flows = 0;
    uint32_t last = UINT32_MAX;
    uint32_t *at = nt_arena_array(memory, s->hosts + 1, sizeof *at);
    bool *spoiled = nt_arena_array(memory, s->rounds + 1, sizeof *spoiled);
    *r = (struct record){0};
    r->round = nt_arena_array(memory, s->rounds + 1, sizeof *r->round);
    r->flow = nt_arena_array(memory, s->samples + 1, sizeof *r->flow);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    find_spoiled(s, spoiled);
    for (uint32_t k = 0; k < s->hosts; k++)
        at[order[k]] = k;
    for (size_t k = 0; k < s->samples; k++) {
        const struct nt_sample *x = &s->sample[k];
        if (!is_counted(s, x, spoiled))
            continue;
        if (x->round != last)
            r->round[r->rounds++].flow = &r->flow[flows];
        last = x->round;
        r->round[r->rounds - 1].flows++;
        r->flow[flows++] = (struct nt_flow_seen){at[x->a], at[x->b], x->bytes / x->value_us};
    }
    return 0;
}

static int solve_flows(struct nt_map *map, const struct record *r, struct nt_err *err)
{
    struct nt_model *was = map->model, *found;
    if (nt_infer_flows(was, r->round, r->rounds, &found, err) != 0)
        return -1;
    if (nt_switch_throughput_find(found, r->round, r->rounds, err) != 0) {
        nt_model_destroy(found);
        return -1;
    }
    map->model = found;
    nt_model_destroy(was);
    return 0;
}

/* A warning each: an unbounded list would break the map's bound. */
enum { LOADED_NAMED_MAX = 100 };

static int warn_of_load(struct nt_map *map, struct nt_err *err)
{
    size_t loaded = 0;
    for (size_t k = 0; k < map->model->links; k++) {
        const struct nt_link *l = &map->model->link[k];
        char least[NT_NUMBER_BYTES];
        if (!(l->loaded_MBps > 0) || loaded++ >= LOADED_NAMED_MAX)
            continue;
        nt_number_plain(l->loaded_MBps, 3, least);
        if (nt_map_warn(map, err,
                        "link %s - %s is loaded: the same flows had %s MB/s in one round and more "
                        "in another; other traffic used it, or hosts were busy",
                        nt_map_vertex_name(map, l->a), nt_map_vertex_name(map, l->b), least) != 0)
            return -1;
    }
    return 0;
}

int nt_link_flows(struct nt_map *map, const struct nt_samples *samples, const uint32_t *order,
                  struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct record r;
    if (samples->hosts != map->model->hosts)
        return nt_err_set(err, NT_ERR_INPUT, "a record of %zu hosts for a map of %zu",
                          samples->hosts, map->model->hosts);
    if (record_init(&r, samples, order, &memory, err) != 0)
        return -1;
    if (r.rounds == 0)
        return 0;
    return solve_flows(map, &r, err) == 0 && warn_of_load(map, err) == 0 ? 1 : -1;
}

int nt_link_flows_shared(struct nt_map *map, const struct nt_samples *samples,
                         const uint32_t *order, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct record r;
    if (record_init(&r, samples, order, &memory, err) != 0)
        return -1;
    return nt_shared_paths_find(map->model, r.round, r.rounds, map->fault, &map->faults, err);
}
