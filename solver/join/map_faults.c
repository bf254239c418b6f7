/* SPDX-License-Identifier: Apache-2.0 */
#include "map_faults.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "faults_text.h"
#include "flow_links.h"
#include "loggp.h"
#include "memory.h"
#include "number.h"
#include "rail_links.h"

/* ---- flows at the same time ---- */

/* The flows, round by round. */
struct record {
    size_t rounds;
    struct nt_flow_round *round;
    struct nt_measured_flow *flow;
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

static int record_init(struct record *r, const struct nt_samples *s, const uint32_t *place,
                       struct nt_arena *memory, struct nt_err *err)
{
    size_t flows = 0;
    uint32_t last = UINT32_MAX;
    bool *spoiled = nt_arena_array(memory, s->rounds + 1, sizeof *spoiled);
    *r = (struct record){0};
    r->round = nt_arena_array(memory, s->rounds + 1, sizeof *r->round);
    r->flow = nt_arena_array(memory, s->samples + 1, sizeof *r->flow);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    find_spoiled(s, spoiled);
    for (size_t k = 0; k < s->samples; k++) {
        const struct nt_sample *x = &s->sample[k];
        if (!is_counted(s, x, spoiled))
            continue;
        if (x->round != last)
            r->round[r->rounds++].flow = &r->flow[flows];
        last = x->round;
        r->round[r->rounds - 1].flows++;
        r->flow[flows++] =
            (struct nt_measured_flow){place[x->a], place[x->b], x->bytes / x->value_us};
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

/* Sets values of the map's links and switches from flows (infer/flow_links.h); suspect only if a
 * link is narrower than its class. Flows of one round ran at the same time. Flows of the phase
 * "warm-up" are ignored, and rounds in which a flow failed, so that a link with only these has no
 * bandwidth. 1; 0 without flows: the map is unchanged. */
static int find_figures(struct nt_map *map, const struct nt_faults_source *from, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct record r;
    if (from->samples == NULL)
        return 0;
    if (from->samples->hosts != map->model->hosts)
        return nt_err_set(err, NT_ERR_INPUT, "a record of %zu hosts for a map of %zu",
                          from->samples->hosts, map->model->hosts);
    if (record_init(&r, from->samples, from->place, &memory, err) != 0)
        return -1;
    if (r.rounds == 0)
        return 0;
    return solve_flows(map, &r, err) == 0 && warn_of_load(map, err) == 0 ? 1 : -1;
}

/* Findings of paths that share a link, from flows at the same time. */
static int find_shared(struct nt_map *map, const struct nt_faults_source *from, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct record r;
    if (record_init(&r, from->samples, from->place, &memory, err) != 0)
        return -1;
    return nt_shared_paths_find(map->model, r.round, r.rounds, map->fault, &map->faults, err);
}

/* ---- losses ---- */

#define SEGMENT_BYTES 1448.0 /* of data, at an MTU of 1500 */

struct seen {
    size_t n;
    struct nt_loss_count *at;
    const uint32_t *host; /* of the record's host: the map's */
    uint32_t *last;       /* of a host: its path of this round */
    uint32_t round;
    size_t first; /* path of this round */
};

static bool is_own_flow(const struct nt_samples *s, const struct nt_sample *x)
{
    return x->kind == NT_SAMPLE_BANDWIDTH && strcmp(s->phase[x->phase].name, "host-links") == 0;
}

static void begin_round(struct seen *seen, uint32_t round)
{
    if (seen->round != round)
        seen->first = seen->n;
    seen->round = round;
}

/* Adds retransmissions to the path of the two hosts in this round, whose sample precedes them. */
static void add_again(struct seen *seen, const struct nt_sample *x)
{
    uint32_t a = seen->host[x->a], b = seen->host[x->b], k = seen->last[a];
    if (k < seen->first || k >= seen->n || seen->round != x->round)
        return;
    struct nt_loss_count *p = &seen->at[k];
    if (!((p->from == a && p->to == b) || (p->from == b && p->to == a)) ||
        (p->flow && p->from != a))
        return;
    p->again += x->count;
    if (p->flow) /* counted segments are better than estimated ones */
        p->segments = x->segments;
    if (p->again > p->segments)
        p->segments = p->again;
}

static void add_path(struct seen *seen, const struct nt_samples *s, const struct nt_sample *x)
{
    bool flow = is_own_flow(s, x);
    if (!flow && x->kind != NT_SAMPLE_LATENCY)
        return;
    uint32_t a = seen->host[x->a], b = seen->host[x->b];
    double segments = flow ? x->bytes / SEGMENT_BYTES : 2.0 * x->count;
    seen->last[a] = seen->last[b] = (uint32_t)seen->n;
    seen->at[seen->n++] =
        (struct nt_loss_count){.from = a, .to = b, .flow = flow, .segments = segments};
}

static size_t count_again(const struct nt_samples *s)
{
    size_t n = 0;
    for (size_t k = 0; k < s->samples; k++)
        n += s->sample[k].kind == NT_SAMPLE_RESENT;
    return n;
}

/* Finds lossy links from retransmissions; flows of phase host-links only, in which each link has
 * one flow. */
static int find_losses(struct nt_map *map, const struct nt_faults_source *from, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    const struct nt_samples *s = from->samples;
    struct seen seen = {.round = UINT32_MAX, .host = from->place};
    if (count_again(s) == 0)
        return 0;
    seen.at = nt_arena_array(&memory, s->samples + 1, sizeof *seen.at);
    seen.last = nt_arena_array(&memory, s->hosts + 1, sizeof *seen.last);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < s->samples; k++) {
        const struct nt_sample *x = &s->sample[k];
        if (x->kind == NT_SAMPLE_KERNEL)
            continue;
        begin_round(&seen, x->round);
        if (x->kind == NT_SAMPLE_RESENT)
            add_again(&seen, x);
        else
            add_path(&seen, s, x);
    }
    return nt_losses_find(map->model, seen.at, seen.n, map->fault, &map->faults, err);
}

/* ---- rails ---- */

static bool is_of_rails(const struct nt_samples *s, const struct nt_sample *x)
{
    return x->kind == NT_SAMPLE_PRTT && x->text > 0 && x->count == 1 &&
           strcmp(s->phase[x->phase].name, NT_RAIL_LINKS_PHASE) == 0;
}

/* The number of a rail; it is added when it is new, NT_LOGGP_RAILS_MAX when there are too many. */
static uint32_t number_of(const char *rail, const char **name, size_t *rails)
{
    uint32_t k = 0;
    while (k < *rails && strcmp(name[k], rail) != 0)
        k++;
    if (k == *rails && k < NT_LOGGP_RAILS_MAX)
        name[(*rails)++] = rail;
    return k;
}

/* Refines the findings by the rails, each measured alone. */
static int refine_by_rails(struct nt_map *map, const struct nt_faults_source *from,
                           struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    const struct nt_samples *s = from->samples;
    const char *name[NT_LOGGP_RAILS_MAX];
    size_t n = 0, rails = 0;
    for (size_t k = 0; k < s->samples; k++)
        n += is_of_rails(s, &s->sample[k]);
    if (n == 0)
        return 0;
    struct nt_rail_measurement *seen = nt_arena_array(&memory, n, sizeof *seen);
    if (seen == NULL)
        return nt_arena_check(&memory, err);
    n = 0;
    for (size_t k = 0; k < s->samples; k++) {
        const struct nt_sample *x = &s->sample[k];
        if (!is_of_rails(s, x))
            continue;
        uint32_t rail = number_of(s->text[x->text - 1], name, &rails);
        if (rail < NT_LOGGP_RAILS_MAX)
            seen[n++] = (struct nt_rail_measurement){.rail = rail,
                                                     .a = from->place[x->a],
                                                     .b = from->place[x->b],
                                                     .bytes = x->bytes,
                                                     .us = x->value_us / 2,
                                                     .se_us = x->prtt.se_us / 2};
    }
    const struct nt_rail_measurements all = {seen, n, rails, name};
    return nt_rail_faults_find(map->model, &all, map->fault, &map->faults, err);
}

/* ---- findings ---- */

/* Limit of warnings; the size of a map is limited. */
enum { NAMED_MAX = 200 };

static void mark_suspects(struct nt_map *map)
{
    struct nt_model *m = map->model;
    for (size_t k = 0; k < m->links; k++)
        m->link[k].suspect = false;
    memset(m->host_suspect, 0, m->hosts * sizeof *m->host_suspect);
    for (size_t f = 0; f < map->faults; f++) {
        const struct nt_fault_part *p = &map->fault[f].part;
        for (size_t k = 0; k < m->links; k++)
            if ((m->link[k].a == p->a && m->link[k].b == p->b) ||
                (m->link[k].a == p->b && m->link[k].b == p->a))
                m->link[k].suspect = true;
        if (p->a < m->hosts && (p->b >= m->hosts || p->a == p->b))
            m->host_suspect[p->a] = true;
    }
}

/* A difference that may be a fault or another adapter is not a finding. */
static int warn_odd(struct nt_map *map, const bool *odd, struct nt_err *err)
{
    int rc = 0;
    for (size_t h = 0, named = 0; h < map->model->hosts && named < NAMED_MAX && rc == 0; h++)
        if (odd[h]) {
            rc = nt_map_warn(map, err,
                             "the link of %s differs from all other host links: it has a fault or "
                             "another adapter",
                             map->host_name[h]);
            named++;
        }
    return rc;
}

static int warn(struct nt_map *map, struct nt_err *err)
{
    for (size_t f = 0; f < map->faults && f < NAMED_MAX; f++) {
        struct nt_strbuf text = {0};
        nt_fault_put_sentence(&text, map, &map->fault[f]);
        int rc = text.failed ? nt_err_memory(err) : nt_map_warn(map, err, "%s", text.text);
        free(text.text);
        if (rc != 0)
            return -1;
    }
    if (map->faults <= NAMED_MAX)
        return 0;
    return nt_map_warn(map, err, "%zu more findings", map->faults - NAMED_MAX);
}

int nt_map_faults(struct nt_map *map, const struct nt_faults_source *from, struct nt_err *err)
{
    struct nt_faults_found found;
    int flows = find_figures(map, from, err);
    if (flows < 0 || nt_faults_find(map->model, flows > 0, &found, err) != 0)
        return -1;
    free(map->fault);
    map->fault = found.fault;
    map->faults = found.count;
    free(map->population_of);
    map->population_of = found.population_of;
    map->populations = found.populations;
    memcpy(map->population, found.population, sizeof map->population);
    map->judged = true;
    int rc = warn_odd(map, found.odd, err);
    free(found.odd);
    if (rc != 0)
        return -1;
    if (from->latency != NULL &&
        nt_one_way_slow_find(map->model, from->latency, map->fault, &map->faults, err) != 0)
        return -1;
    if (from->samples != NULL &&
        (find_losses(map, from, err) != 0 || (flows > 0 && find_shared(map, from, err) != 0) ||
         refine_by_rails(map, from, err) != 0))
        return -1;
    mark_suspects(map);
    return warn(map, err);
}
