/* SPDX-License-Identifier: Apache-2.0 */
#include "bandwidth.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "flow_schedule.h"
#include "memory.h"
#include "stats.h"

enum nt_bw_kind {
    WARM_UP, /* all that the first round has */
    ALONE,   /* one flow of it by itself */
    SHIFT,
    SHIFT_REPEAT, /* a SHIFT in which all hosts were slower than in another one */
    SHIFT_AGAIN,
    LINKS,
    FAN,
    SPILL,
    FAN_AGAIN,
    PAIRS,
    NEAR, /* hosts at the two ends of links between switches, in a network with cycles */
    WIDE, /* more hosts, whose only paths use links that the flows of NEAR did not fill */
    /* A FAN, SPILL, NEAR or WIDE again: a link's bandwidth is nothing that one round alone shows */
    CHECK,
    SHIFT_LADDER,
    LADDER
};

struct nt_bw_step {
    enum nt_bw_kind kind;
    uint32_t height, index, parity;
    bool back;          /* the other direction */
    double middle_MBps; /* median rate of its flows, 0: unknown */
};

/* For a network of switches that is not a tree. */
struct nt_bw_cycles {
    struct nt_unique_paths *paths; /* NULL: a tree, or a path is unknown */
    uint32_t *wide;   /* links between switches: in which round of WIDE; UINT32_MAX: in none */
    bool *open;       /* channels: were not seen to hold all their flows back */
    double *fastest;  /* channels: the fastest flow of a round */
    uint32_t *group;  /* per host: the flow end that represents the flows of a unit */
    uint32_t *around; /* room for the neighbours of two switches */
};

/* When a channel was seen to carry the most. */
struct nt_bw_seen {
    double own_MBps; /* between switches: the most of rounds that are to fill it; NaN */
    size_t own_when; /* the step of that round */
};

struct nt_bw {
    struct nt_planner base;
    struct nt_bandwidth_options options;
    struct nt_rooted_tree *rooted;
    struct nt_flow_schedule schedule;
    struct nt_fan fan;
    struct nt_bw_cycles cycles;
    /* Links between hosts, or between switches: their round of links that do not meet; else
     * UINT32_MAX */
    uint32_t *colour;
    size_t steps, steps_capacity, step;
    struct nt_bw_step *plan;
    double *most;            /* channels: the most that a round carried; NaN */
    double *second;          /* channels: the most of the other rounds; NaN */
    struct nt_bw_seen *seen; /* channels */
    double *load;            /* channels: of a round */
    uint32_t *channel;       /* room for a path */
    bool *marked;            /* vertices */
    float *value;            /* vertices: scratch for medians */
    double rate_MBps;        /* of a flow, median of the rounds at host links; NaN */
    /* the rate of the network at once, from the warm-up: */
    double limit_MBps; /* INFINITY: all that hosts send */
    double together_MBps,
        first_MBps;    /* rate of all flows of the warm-up; rate of the flow that then ran alone */
    uint32_t first[2]; /* the ends of that one; equal: none */
    /* the planned round, in parts that the network can carry: */
    uint32_t (*pair)[2]; /* hosts: the schedule's, sorted by part */
    uint32_t *part;      /* vertices: number of the part that the group below it sends in */
    double *sum;         /* per host: expected sum of a part, MB/s */
    size_t *cut;         /* parts + 1: pair[cut[k]..cut[k + 1]) is part k */
    size_t parts, next_part, most_parts;
};

/* ---- all steps in their order, from the network alone ---- */

/* Times that hosts below their leaf's limit are paired again; that rounds of groups are checked: of
 * three rounds two agree unless two were disturbed. */
enum { AGAIN = 2, CHECKS = 2 };

static const char WARM_UP_PHASE[] = "warm-up", HOST_LINKS_PHASE[] = "host-links",
                  TIERS_PHASE[] = "tiers", LADDER_PHASE[] = "ladder";

bool nt_bandwidth_is_phase(const char *name)
{
    return strcmp(name, WARM_UP_PHASE) == 0 || strcmp(name, HOST_LINKS_PHASE) == 0 ||
           strcmp(name, TIERS_PHASE) == 0 || strcmp(name, LADDER_PHASE) == 0;
}

static const char *phase_name(const struct nt_bw_step *s)
{
    switch (s->kind) {
    case WARM_UP:
    case ALONE:
        return WARM_UP_PHASE;
    case SHIFT:
    case SHIFT_REPEAT:
    case SHIFT_AGAIN:
    case LINKS:
        return HOST_LINKS_PHASE;
    case FAN:
    case SPILL:
    case FAN_AGAIN:
    case PAIRS:
    case NEAR:
    case WIDE:
    case CHECK:
        return TIERS_PHASE;
    case SHIFT_LADDER:
    case LADDER:
        break;
    }
    return LADDER_PHASE;
}

static int add_step(struct nt_bw *b, struct nt_bw_step s, struct nt_err *err)
{
    b->plan =
        nt_arena_grow(&b->base.memory, b->plan, &b->steps_capacity, b->steps + 1, sizeof *b->plan);
    if (nt_arena_check(&b->base.memory, err) != 0)
        return -1;
    b->plan[b->steps++] = s;
    return 0;
}

static int add_both(struct nt_bw *b, struct nt_bw_step s, struct nt_err *err)
{
    s.back = false;
    if (add_step(b, s, err) != 0)
        return -1;
    s.back = true;
    return add_step(b, s, err);
}

/* Between hosts, or between switches. */
static bool is_between(const struct nt_rooted_tree *h, size_t link, bool switches)
{
    return (h->ends[link][0] >= h->hosts) == switches && (h->ends[link][1] >= h->hosts) == switches;
}

/* Each link gets the first round in which both ends are free (Vizing's bound is the largest degree
 * plus one; this greedy method needs less than twice the degree). */
static int colour_links(struct nt_bw *b, enum nt_bw_kind kind, struct nt_err *err)
{
    const struct nt_rooted_tree *h = b->rooted;
    NT_SCOPED struct nt_arena memory = {0};
    size_t *used = nt_arena_array(&memory, h->links + 1, sizeof *used); /* colours: 1 + the link */
    uint32_t colours = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < h->links; k++) {
        const uint32_t *ends = h->ends[k];
        if (!is_between(h, k, kind == NEAR))
            continue;
        for (int e = 0; e < 2; e++)
            for (uint32_t i = h->graph.start[ends[e]]; i < h->graph.start[ends[e] + 1]; i++)
                if (b->colour[h->graph.link[i]] != UINT32_MAX)
                    used[b->colour[h->graph.link[i]]] = k + 1;
        for (b->colour[k] = 0; used[b->colour[k]] == k + 1;)
            b->colour[k]++;
        colours = b->colour[k] + 1 > colours ? b->colour[k] + 1 : colours;
    }
    for (uint32_t c = 0; c < colours; c++)
        if (add_both(b, (struct nt_bw_step){.kind = kind, .index = c}, err) != 0)
            return -1;
    return 0;
}

/* The most hosts that any switch has for itself. */
static size_t most_at_a_switch(const struct nt_rooted_tree *h)
{
    size_t most = 0;
    for (size_t v = h->hosts; v < h->vertices; v++) {
        size_t n = 0;
        for (uint32_t i = h->graph.start[v]; i < h->graph.start[v + 1]; i++)
            n += h->ends[h->graph.link[i]][0] < h->hosts || h->ends[h->graph.link[i]][1] < h->hosts;
        most = n > most ? n : most;
    }
    return most;
}

static int plan_host_links(struct nt_bw *b, struct nt_err *err)
{
    size_t most = most_at_a_switch(b->rooted);
    for (uint32_t parity = 0; parity < 3 && most >= (parity == 0 ? 2 : 3); parity++)
        if (add_both(b, (struct nt_bw_step){.kind = SHIFT, .parity = parity}, err) != 0)
            return -1;
    for (size_t k = 0, steps = b->steps; k < steps; k++)
        if (b->plan[k].kind == SHIFT &&
            add_step(b, (struct nt_bw_step){.kind = SHIFT_REPEAT, .index = (uint32_t)k}, err) != 0)
            return -1;
    for (uint32_t k = 0; k < AGAIN && most > 0; k++)
        if (add_both(b, (struct nt_bw_step){.kind = SHIFT_AGAIN, .index = k}, err) != 0)
            return -1;
    return colour_links(b, LINKS, err);
}

static int plan_fans(struct nt_bw *b, uint32_t height, struct nt_err *err)
{
    const struct nt_rooted_tree *h = b->rooted;
    uint32_t turns = 0, tight_turns = 0, seats = 0;
    for (size_t k = 0; k < h->reached; k++) {
        uint32_t v = h->order[k];
        if (b->fan.height[v] != height)
            continue;
        uint32_t *most = b->fan.tight[v] ? &tight_turns : &turns;
        *most = b->fan.bins[v] > *most ? b->fan.bins[v] : *most;
        seats += b->fan.tight[v];
    }
    for (uint32_t t = 0; t < turns; t++)
        if (add_both(b, (struct nt_bw_step){.kind = FAN, .height = height, .index = t}, err) != 0)
            return -1;
    for (uint32_t t = 0; t < tight_turns; t++)
        for (uint32_t parity = 0; parity < 2 && parity < seats; parity++)
            if (add_both(b, (struct nt_bw_step){SPILL, height, t, parity, false, 0}, err) != 0)
                return -1;
    return 0;
}

/* Puts the flows of a link into the group of its first end. */
static void group_flows(struct nt_bw *b, size_t first, uint32_t group)
{
    for (size_t k = first; k < b->schedule.pairs; k++)
        b->cycles.group[b->schedule.pair[k][0]] = b->cycles.group[b->schedule.pair[k][1]] = group;
}

static void plan_near(struct nt_bw *b, uint32_t colour)
{
    const struct nt_rooted_tree *h = b->rooted;
    for (size_t k = 0; k < h->links; k++) {
        const uint32_t *ends = h->ends[k];
        size_t first = b->schedule.pairs;
        if (b->colour[k] != colour || !is_between(h, k, true) ||
            nt_unique_paths_between(b->cycles.paths, ends[0], ends[1], b->channel) != 1)
            continue;
        nt_flow_schedule_between(&b->schedule, ends[0], ends[1]);
        group_flows(b, first, ends[0]);
    }
}

/* From the first end of each link to the second; links of the round that are still open that way.
 */
static void plan_wide(struct nt_bw *b, const struct nt_bw_step *s)
{
    for (size_t k = 0; k < b->rooted->links; k++) {
        size_t first = b->schedule.pairs, over = 2 * k;
        if (b->cycles.wide[k] != s->index || !b->cycles.open[over + s->back])
            continue;
        nt_flow_schedule_over(&b->schedule, b->cycles.paths, (uint32_t)over, b->cycles.around,
                              b->channel);
        group_flows(b, first, b->rooted->ends[k][0]);
    }
}

/* For each link between switches that more hosts reach than the nearest: the switches on their
 * paths. */
struct reach {
    size_t *first; /* links + 1: the switches of link k are at[first[k]..first[k + 1] - 1] */
    uint32_t *at;  /* none: the nearest are all */
    size_t capacity;
    struct nt_arena memory;
};

/* The switches on the pairs' paths, each once. */
static int list_reach(struct nt_bw *b, struct reach *r, size_t link, struct nt_err *err)
{
    const struct nt_flow_schedule *d = &b->schedule;
    size_t used = r->first[link];
    r->at =
        nt_arena_grow(&r->memory, r->at, &r->capacity, used + b->rooted->vertices, sizeof *r->at);
    if (nt_arena_check(&r->memory, err) != 0)
        return -1;
    for (size_t k = 0; k < d->pairs; k++) {
        uint32_t s = nt_unique_paths_switch(b->cycles.paths, d->pair[k][0]);
        uint32_t t = nt_unique_paths_switch(b->cycles.paths, d->pair[k][1]);
        size_t n = nt_unique_paths_between(b->cycles.paths, s, t, b->channel);
        for (size_t i = 0; i < 2 * n; i++) {
            uint32_t at = b->rooted->ends[b->channel[i / 2] / 2][i % 2];
            if (!b->marked[at])
                r->at[used++] = at;
            b->marked[at] = true;
        }
    }
    for (size_t k = r->first[link]; k < used; k++)
        b->marked[r->at[k]] = false;
    r->first[link + 1] = used;
    return 0;
}

static int reach_init(struct nt_bw *b, struct reach *r, struct nt_err *err)
{
    struct nt_flow_schedule *d = &b->schedule;
    *r = (struct reach){0};
    r->first = nt_arena_array(&r->memory, b->rooted->links + 1, sizeof *r->first);
    if (nt_arena_check(&r->memory, err) != 0)
        return -1;
    memset(b->marked, 0, b->rooted->vertices * sizeof *b->marked);
    nt_flow_schedule_clear(d);
    for (size_t k = 0; k < b->rooted->links; k++) {
        r->first[k + 1] = r->first[k];
        if (!is_between(b->rooted, k, true))
            continue;
        size_t near = nt_flow_schedule_between(d, b->rooted->ends[k][0], b->rooted->ends[k][1]);
        nt_flow_schedule_undo(d, 0);
        size_t all = nt_flow_schedule_over(d, b->cycles.paths, (uint32_t)(2 * k), b->cycles.around,
                                           b->channel);
        if (all > near && list_reach(b, r, k, err) != 0)
            return -1;
        nt_flow_schedule_undo(d, 0);
    }
    return 0;
}

/* Whether no other link of the round has one of the link's switches; they are marked then. */
static bool join_round(struct nt_bw *b, const struct reach *r, size_t link)
{
    for (size_t k = r->first[link]; k < r->first[link + 1]; k++)
        if (b->marked[r->at[k]])
            return false;
    for (size_t k = r->first[link]; k < r->first[link + 1]; k++)
        b->marked[r->at[k]] = true;
    return true;
}

/* Links that do not meet, nor the paths over them, in one round. */
static int plan_wide_rounds(struct nt_bw *b, struct nt_err *err)
{
    struct reach r;
    int rc = reach_init(b, &r, err);
    bool left = rc == 0;
    for (uint32_t round = 0; left && rc == 0; round++) {
        bool any = false;
        left = false;
        memset(b->marked, 0, b->rooted->vertices * sizeof *b->marked);
        for (size_t k = 0; k < b->rooted->links; k++) {
            if (r.first[k] == r.first[k + 1] || b->cycles.wide[k] != UINT32_MAX)
                continue;
            bool joins = join_round(b, &r, k);
            b->cycles.wide[k] = joins ? round : UINT32_MAX;
            any = any || joins;
            left = left || !joins;
        }
        if (any)
            rc = add_both(b, (struct nt_bw_step){.kind = WIDE, .index = round}, err);
    }
    nt_arena_fini(&r.memory);
    return rc;
}

static uint32_t highest_tier(const struct nt_bw *b)
{
    uint32_t top = b->fan.highest;
    return b->options.highest > 0 && b->options.highest + 1 < top ? b->options.highest + 1 : top;
}

static int plan_tiers(struct nt_bw *b, struct nt_err *err)
{
    if (b->cycles.paths != NULL &&
        (colour_links(b, NEAR, err) != 0 || plan_wide_rounds(b, err) != 0))
        return -1;
    for (uint32_t height = 2; height <= highest_tier(b); height++)
        if (plan_fans(b, height, err) != 0)
            return -1;
    for (uint32_t height = 2; height <= highest_tier(b); height++)
        for (uint32_t parity = 0; parity < 2; parity++)
            if (add_both(b, (struct nt_bw_step){PAIRS, height, 0, parity, false, 0}, err) != 0)
                return -1;
    /* last, so that a disturbance of a round has ended */
    for (uint32_t height = 2; height <= highest_tier(b); height++)
        if (add_both(b, (struct nt_bw_step){.kind = FAN_AGAIN, .height = height}, err) != 0)
            return -1;
    size_t steps = b->steps;
    for (uint32_t turn = 0; turn < CHECKS && !b->options.once; turn++)
        for (size_t k = 0; k < steps; k++) {
            struct nt_bw_step check = {.kind = CHECK, .index = (uint32_t)k, .parity = turn};
            enum nt_bw_kind kind = b->plan[k].kind;
            bool group = kind == FAN || kind == SPILL || kind == NEAR || kind == WIDE;
            if (group && add_step(b, check, err) != 0)
                return -1;
        }
    return 0;
}

static int plan_ladder(struct nt_bw *b, struct nt_err *err)
{
    size_t hosts = most_at_a_switch(b->rooted);
    for (size_t k = 1; k < hosts / 2; k *= 2)
        if (add_step(b, (struct nt_bw_step){.kind = SHIFT_LADDER, .index = (uint32_t)k}, err) != 0)
            return -1;
    for (uint32_t height = 2; height <= highest_tier(b); height++) {
        nt_flow_schedule_clear(&b->schedule);
        size_t flows = nt_flow_schedule_pairs(&b->schedule, &b->fan, height, 0, SIZE_MAX);
        for (size_t k = 1; k < flows; k *= 2)
            if (add_step(
                    b, (struct nt_bw_step){.kind = LADDER, .height = height, .index = (uint32_t)k},
                    err) != 0)
                return -1;
    }
    return 0;
}

static int plan_all_steps(struct nt_bw *b, struct nt_err *err)
{
    unsigned phases = b->options.phases;
    if (isnan(b->rate_MBps) && (add_step(b, (struct nt_bw_step){.kind = WARM_UP}, err) != 0 ||
                                add_step(b, (struct nt_bw_step){.kind = ALONE}, err) != 0))
        return -1;
    if ((phases & NT_BANDWIDTH_HOST_LINKS) && plan_host_links(b, err) != 0)
        return -1;
    if ((phases & NT_BANDWIDTH_TIERS) && plan_tiers(b, err) != 0)
        return -1;
    return (phases & NT_BANDWIDTH_LADDER) ? plan_ladder(b, err) : 0;
}

/* ---- rounds that follow from the results ---- */

/* Leaves with fewer hosts are also compared with all others. */
enum { LEAF_MIN = 5 };

/* Two rounds with the same flows agree within this share in a quiet network; flow_links.c uses the
 * same limit. */
static const double agreement = 0.95;
static const double sd_limit = 4, sd_floor = 0.0125, sd_most = 0.025, group_limit = 0.93;
/* Rates that differ by less are equal, and the first partner in turn is selected. */
static const double better_partner = 1.02;
/* However narrow a group is, some flows go to it. */
static const double quality_least = 0.05;

/* The channel out of host h (or into it): its first link's. */
static uint32_t host_channel(const struct nt_rooted_tree *g, uint32_t host, bool into)
{
    uint32_t i = g->graph.start[host];
    if (i == g->graph.start[host + 1])
        return UINT32_MAX;
    uint32_t out = 2 * g->graph.link[i] + (g->ends[g->graph.link[i]][0] == host ? 0 : 1);
    return into ? nt_channel_back(out) : out;
}

static double host_value(const struct nt_bw *b, uint32_t host, bool into)
{
    uint32_t c = host_channel(b->rooted, host, into);
    return c == UINT32_MAX ? (double)NAN : b->most[c];
}

static size_t values_of_leaf(struct nt_bw *b, uint32_t leaf, bool into)
{
    const struct nt_rooted_tree *h = b->rooted;
    size_t n = 0;
    for (uint32_t i = h->graph.start[leaf]; i < h->graph.start[leaf + 1]; i++) {
        const uint32_t *ends = h->ends[h->graph.link[i]];
        uint32_t w = ends[0] == leaf ? ends[1] : ends[0];
        double v = w < h->hosts ? host_value(b, w, into) : (double)NAN;
        if (!isnan(v))
            b->value[n++] = (float)v;
    }
    return n;
}

static size_t values_of_all(struct nt_bw *b, bool into)
{
    size_t n = 0;
    for (uint32_t w = 0; w < b->rooted->hosts; w++)
        if (!isnan(host_value(b, w, into)))
            b->value[n++] = (float)host_value(b, w, into);
    return n;
}

/* The limit for n hosts with these values; hosts below it are measured again. */
static double limit_of(struct nt_bw *b, size_t n)
{
    double middle = n == 0 ? NAN : (double)nt_stats_select(b->value, n, n / 2);
    double sd = n == 0 ? 0 : (double)nt_stats_mad(b->value, n);
    return middle - sd_limit * fmax(fmin(sd, sd_most * middle), sd_floor * middle);
}

/* No two rounds agree. */
static bool is_disputed(const struct nt_bw *b, uint32_t channel)
{
    return !(b->second[channel] >= agreement * b->most[channel]);
}

/* Marks the hosts below their leaf's limit; again: that no two rounds agree on. Few hosts have no
 * useful median and are compared with all. */
static void mark_hosts(struct nt_bw *b, bool into, bool again)
{
    const struct nt_rooted_tree *h = b->rooted;
    double of_all = limit_of(b, values_of_all(b, into));
    memset(b->marked, 0, h->vertices * sizeof *b->marked);
    for (uint32_t leaf = (uint32_t)h->hosts; leaf < h->vertices; leaf++) {
        size_t n = values_of_leaf(b, leaf, into);
        double limit = limit_of(b, n);
        limit = n < LEAF_MIN ? fmax(of_all, limit) : limit;
        for (uint32_t i = h->graph.start[leaf]; i < h->graph.start[leaf + 1]; i++) {
            const uint32_t *ends = h->ends[h->graph.link[i]];
            uint32_t w = ends[0] == leaf ? ends[1] : ends[0];
            if (w < h->hosts && !(host_value(b, w, into) >= limit))
                b->marked[w] = !again || is_disputed(b, host_channel(h, w, into));
        }
    }
}

/* The free host with the highest rate in the direction that is not in doubt: first at the same
 * switch, then anywhere. Ties are resolved for the host turn places later, so that a repetition has
 * another partner. */
static uint32_t best_partner(const struct nt_bw *b, uint32_t host, uint32_t leaf, bool into,
                             size_t turn)
{
    const struct nt_rooted_tree *h = b->rooted;
    uint32_t best = NT_NO_VERTEX;
    double most = 0;
    for (int far = 0; far < 2 && best == NT_NO_VERTEX; far++)
        for (uint32_t k = 0; k < h->hosts; k++) {
            uint32_t w = (uint32_t)((host + 1 + turn + k) % h->hosts);
            uint32_t c = host_channel(h, w, false);
            if (w == host || c == UINT32_MAX || b->schedule.busy[w] || b->schedule.missing[w] ||
                b->marked[w])
                continue;
            bool same = h->ends[c / 2][0] == leaf || h->ends[c / 2][1] == leaf;
            double v = host_value(b, w, !into);
            if (same == (far == 0) && (far == 0 || h->tree) && v > most * better_partner) {
                most = v;
                best = w;
            }
        }
    return best;
}

/* Hosts below their leaf's limit with the best partner; turn numbers the repetitions. into: towards
 * the hosts. */
static void repeat_hosts(struct nt_bw *b, size_t turn, bool into)
{
    const struct nt_rooted_tree *h = b->rooted;
    mark_hosts(b, into, turn > 0);
    for (uint32_t leaf = (uint32_t)h->hosts; leaf < h->vertices; leaf++)
        for (uint32_t i = h->graph.start[leaf]; i < h->graph.start[leaf + 1]; i++) {
            const uint32_t *ends = h->ends[h->graph.link[i]];
            uint32_t w = ends[0] == leaf ? ends[1] : ends[0];
            if (w >= h->hosts || !b->marked[w] || b->schedule.missing[w])
                continue;
            uint32_t partner = best_partner(b, w, leaf, into, turn);
            if (partner != NT_NO_VERTEX)
                nt_flow_schedule_add(&b->schedule, into ? partner : w, into ? w : partner);
        }
}

/* Rate that the hosts below v can send (or receive) together; infinite if not measured. */
static double hosts_demand(const struct nt_bw *b, uint32_t v, bool into)
{
    const struct nt_rooted_tree *h = b->rooted;
    double sum = 0;
    if ((b->options.phases & NT_BANDWIDTH_HOST_LINKS) == 0)
        return INFINITY;
    for (uint32_t k = h->head[v]; k < h->tail[v]; k++) {
        double value = host_value(b, h->host[k], into);
        sum += isnan(value) || b->schedule.missing[h->host[k]] ? 0 : value;
    }
    return sum;
}

static double group_value(const struct nt_bw *b, uint32_t v, bool into)
{
    uint32_t up = b->rooted->up[v];
    return b->most[into ? nt_channel_back(up) : up];
}

/* The most that any of the groups at a parent carried. */
static double best_group(const struct nt_bw *b, uint32_t parent, bool into)
{
    const struct nt_rooted_tree *h = b->rooted;
    double best = NAN;
    for (uint32_t i = h->first[parent]; i < h->first[parent + 1]; i++)
        if (h->child[i] >= h->hosts && !(best >= group_value(b, h->child[i], into)))
            best = group_value(b, h->child[i], into);
    return best;
}

/* Marks groups that carried less than another one and less than their hosts can; as receivers of
 * their flows, groups that are known to be narrow get fewer. */
static void mark_narrow_groups(struct nt_bw *b, uint32_t height, bool into)
{
    const struct nt_rooted_tree *h = b->rooted;
    memset(b->marked, 0, h->vertices * sizeof *b->marked);
    for (size_t k = 0; k < h->reached; k++) {
        uint32_t p = h->order[k];
        if (b->fan.height[p] != height)
            continue;
        double best = best_group(b, p, into), widest = best_group(b, p, !into);
        for (uint32_t i = h->first[p]; i < h->first[p + 1]; i++) {
            uint32_t c = h->child[i];
            if (c < h->hosts || nt_rooted_tree_count(h, c) == 0)
                continue;
            double value = group_value(b, c, into), takes = group_value(b, c, !into);
            b->marked[c] =
                isnan(value) || value < group_limit * fmin(best, hosts_demand(b, c, into));
            bool narrow = takes < group_limit * fmin(widest, hosts_demand(b, c, !into));
            b->schedule.quality[c] = narrow ? fmax(takes / widest, quality_least) : 1;
        }
    }
}

/* The end of a link between switches that is farther from the root. */
static uint32_t lower_end(const struct nt_rooted_tree *h, size_t link)
{
    return h->ends[link][h->up[h->ends[link][0]] / 2 != link];
}

/* The channel of this link in the direction of the step, if it is between switches of the step's
 * tier; else UINT32_MAX. In a network with cycles all of them are one tier. */
static uint32_t tier_channel(const struct nt_bw *b, const struct nt_bw_step *s, size_t link)
{
    const struct nt_rooted_tree *h = b->rooted;
    if (!is_between(h, link, true))
        return UINT32_MAX;
    if (b->cycles.paths != NULL)
        return (uint32_t)(2 * link + s->back);
    uint32_t child = lower_end(h, link);
    if (b->fan.height[h->parent[child]] != s->height)
        return UINT32_MAX;
    return s->back ? nt_channel_back(h->up[child]) : h->up[child];
}

/* Whether a NEAR or WIDE is to fill this link between switches. */
static bool is_loaded(const struct nt_bw *b, const struct nt_bw_step *step, size_t link)
{
    return (step->kind == NEAR || step->kind == WIDE) && is_between(b->rooted, link, true) &&
           (step->kind == NEAR ? b->colour : b->cycles.wide)[link] == step->index;
}

/* Whether the step is to fill this link of its tier: hosts near its ends, or the group below it,
 * send (or receive) with all they have. */
static bool fills(const struct nt_bw *b, const struct nt_bw_step *step, size_t link)
{
    const struct nt_rooted_tree *h = b->rooted;
    if (b->cycles.paths != NULL)
        return is_loaded(b, step, link);
    uint32_t child = lower_end(h, link);
    if (step->kind == FAN_AGAIN)
        return b->marked[child];
    return (step->kind == FAN || step->kind == SPILL) &&
           b->fan.tight[h->parent[child]] == (step->kind == SPILL) &&
           b->fan.bin[child] == step->index && nt_rooted_tree_count(h, child) > 0;
}

/* The links of a step's tier, in its direction. */
struct tier_rate {
    double MBps; /* the most that one carried, if another agrees in another round; else infinite */
    bool confirmed; /* two rounds agree on a link that carried it */
};

/* What disturbed two links in two rounds would have taken the same share of both. */
static struct tier_rate tier_rate(const struct nt_bw *b, const struct nt_bw_step *s)
{
    struct tier_rate tier = {.MBps = INFINITY};
    double best = 0;
    size_t when = SIZE_MAX;
    for (size_t k = 0; k < b->rooted->links; k++) {
        uint32_t c = tier_channel(b, s, k);
        best = c == UINT32_MAX ? best : fmax(best, b->most[c]);
    }
    for (size_t k = 0; k < b->rooted->links; k++) {
        uint32_t c = tier_channel(b, s, k);
        if (c == UINT32_MAX || !(b->seen[c].own_MBps >= agreement * best))
            continue;
        if (when != SIZE_MAX && b->seen[c].own_when != when)
            tier.MBps = best;
        when = b->seen[c].own_when;
        tier.confirmed = tier.confirmed || !is_disputed(b, c);
    }
    return tier;
}

/* Whether no rounds agree on the bandwidth of a link that the step is to fill. One that carried
 * less than its tier is measured again once, also if two rounds agree: soon after each other they
 * may have met the same. again: that was done. */
static bool is_unsettled(const struct nt_bw *b, const struct nt_bw_step *step, double tier_MBps,
                         bool again)
{
    for (size_t k = 0; k < b->rooted->links; k++) {
        uint32_t c = tier_channel(b, step, k);
        if (c != UINT32_MAX && fills(b, step, k) && b->most[c] > 0 &&
            !(b->seen[c].own_MBps >= agreement * tier_MBps) && (!again || is_disputed(b, c)))
            return true;
    }
    return false;
}

/* If no two rounds agree on a link of the tier, its first one is measured again: if it carries
 * more, what disturbed it may have disturbed the others, and those that it now exceeds are measured
 * again. */
static bool is_check_due(const struct nt_bw *b, const struct nt_bw_step *check)
{
    const struct nt_bw_step *step = &b->plan[check->index];
    struct tier_rate tier = tier_rate(b, step);
    bool again = check->parity > 0, first = step->index == 0 && step->parity == 0;
    return (first && !again && !tier.confirmed) || is_unsettled(b, step, tier.MBps, again);
}

/* ---- rounds in parts that the network can carry ---- */

/* The group of a flow: below the turning point of its path, on the side that sends with all its
 * hosts (and receives when the step is turned). In a network that is not a tree it is the host, or
 * the representative of the flows of a link. */
static uint32_t group_of(const struct nt_bw *b, uint32_t own, uint32_t other)
{
    const struct nt_rooted_tree *h = b->rooted;
    if (!h->tree)
        return b->cycles.group[own];
    while (h->depth[other] > h->depth[own])
        other = h->parent[other];
    while (h->depth[own] > h->depth[other] && h->parent[own] != other)
        own = h->parent[own];
    if (h->parent[own] == other)
        return own;
    while (h->parent[own] != h->parent[other]) {
        own = h->parent[own];
        other = h->parent[other];
    }
    return own;
}

/* Limit of the rate of the group: its flows at full rate, or the measured rate of its link when all
 * of them sent. */
static double load_of(const struct nt_bw *b, const struct nt_bw_step *s, uint32_t group,
                      size_t flows)
{
    const double MORE = 1.1; /* than it was seen to carry, in case that was disturbed */
    double load = (double)flows * b->rate_MBps;
    bool known = s->kind == FAN_AGAIN || s->kind == PAIRS || s->kind == LADDER;
    if (!known || group < b->rooted->hosts || b->rooted->up[group] == UINT32_MAX)
        return load;
    double seen = b->most[b->rooted->up[group] ^ (s->back ? 1u : 0u)];
    return isnan(seen) ? load : fmin(load, MORE * seen);
}

static uint32_t own_end(const struct nt_bw_step *s, const uint32_t *pair, bool own)
{
    return pair[s->back == own];
}

/* First fit in the order of the schedule. */
static void deal_parts(struct nt_bw *b, const struct nt_bw_step *s)
{
    const struct nt_flow_schedule *d = &b->schedule;
    uint32_t *flows = d->list, *seen = d->list2;
    size_t groups = 0;
    memset(flows, 0, b->rooted->vertices * sizeof *flows);
    for (size_t k = 0; k < d->pairs; k++) {
        uint32_t g = group_of(b, own_end(s, d->pair[k], true), own_end(s, d->pair[k], false));
        if (flows[g]++ == 0)
            seen[groups++] = g;
    }
    b->parts = 0;
    for (size_t k = 0; k < groups; k++) {
        double load = load_of(b, s, seen[k], flows[seen[k]]);
        uint32_t p = 0;
        while (p < b->parts && b->sum[p] + load > b->limit_MBps)
            p++;
        if (p == b->parts)
            b->sum[b->parts++] = 0;
        b->sum[p] += load;
        b->part[seen[k]] = p;
    }
}

/* Writes the schedule's pairs to b->pair and b->cut. The flows that a group sends stay together;
 * groups are added to a part while it is below the limit. */
static void split_round(struct nt_bw *b, const struct nt_bw_step *s)
{
    const struct nt_flow_schedule *d = &b->schedule;
    size_t n = 0;
    b->next_part = 0;
    b->parts = d->pairs > 0;
    if (!(b->limit_MBps < INFINITY) || s->kind == WARM_UP || s->kind == ALONE || d->pairs < 2) {
        memcpy(b->pair, d->pair, d->pairs * sizeof *b->pair);
        b->cut[0] = 0;
        b->cut[1] = d->pairs;
        return;
    }
    deal_parts(b, s);
    b->most_parts = b->parts > b->most_parts ? b->parts : b->most_parts;
    for (uint32_t p = 0; p < b->parts; p++) {
        b->cut[p] = n;
        for (size_t k = 0; k < d->pairs; k++) {
            uint32_t g = group_of(b, own_end(s, d->pair[k], true), own_end(s, d->pair[k], false));
            if (b->part[g] == p)
                memcpy(b->pair[n++], d->pair[k], sizeof *b->pair);
        }
    }
    b->cut[b->parts] = n;
}

/* ---- the planner ---- */

enum { MESSAGES = 128, MESSAGE_MIN = 4 * 1024, MESSAGE_MAX = 1024 * 1024 };
enum { WARM_UP_BYTES = 16 * 1024 };

static const double WINDOW_S = 0.3, SHORTEST_S = 0.01, WARM_UP_S = 0.04;
/* A window has time for this number of transfers of 1 MiB if possible: then the start of a flow and
 * its last messages are a few percent. On slow links this takes long for little gain: after
 * ENOUGH_S and MESSAGES, rates are as precise (tests/bench levels). */
static const double TRANSFERS = 8, TRANSFER_BYTES = 1048576, ENOUGH_S = 0.12;
/* If one flow alone is faster by this factor than among all, the network cannot carry all at once.
 * Then the flows of a round stay below a share of the common rate. */
static const double crowded = 1.2, uncrowded_share = 0.9, undisturbed = 0.93;

/* ---- rounds ---- */

/* Links between hosts: a network of switches may have none. */
static void plan_links(struct nt_bw *b, uint32_t colour)
{
    for (size_t k = 0; k < b->rooted->links; k++) {
        const uint32_t *end = b->rooted->ends[k];
        if (b->colour[k] == colour && is_between(b->rooted, k, false))
            nt_flow_schedule_add(&b->schedule, end[0], end[1]);
    }
}

/* Every round of neighbours has one flow per host's link, so a rate that all had in one and not in
 * another was lost to other traffic: this round is repeated. */
static bool was_disturbed(const struct nt_bw *b, const struct nt_bw_step *round)
{
    double best = 0;
    for (size_t k = 0; k < b->steps; k++)
        best = fmax(best, b->plan[k].kind == SHIFT ? b->plan[k].middle_MBps : 0);
    return round->middle_MBps < undisturbed * best;
}

static void reset_groups(struct nt_bw *b)
{
    for (uint32_t h = 0; !b->rooted->tree && h < b->rooted->hosts; h++)
        b->cycles.group[h] = h;
}

static void plan_step(struct nt_bw *b, const struct nt_bw_step *s)
{
    struct nt_flow_schedule *d = &b->schedule;
    nt_flow_schedule_clear(d);
    reset_groups(b);
    switch (s->kind) {
    case WARM_UP:
        nt_flow_schedule_shift(d, 0, SIZE_MAX);
        if (d->pairs == 0)
            plan_links(b, 0);
        break;
    case ALONE:
        if (b->first[0] != b->first[1])
            nt_flow_schedule_add(d, b->first[0], b->first[1]);
        break;
    case SHIFT:
        nt_flow_schedule_shift(d, (int)s->parity, SIZE_MAX);
        break;
    case SHIFT_REPEAT:
        s = &b->plan[s->index];
        if (was_disturbed(b, s))
            nt_flow_schedule_shift(d, (int)s->parity, SIZE_MAX);
        break;
    case SHIFT_AGAIN:
        repeat_hosts(b, s->index, s->back);
        return; /* has its direction */
    case LINKS:
        plan_links(b, s->index);
        break;
    case FAN:
        nt_flow_schedule_fan(d, &b->fan, s->height, s->index);
        break;
    case SPILL:
        nt_flow_schedule_spill(d, &b->fan, s->height, s->index, s->parity);
        break;
    case FAN_AGAIN:
        mark_narrow_groups(b, s->height, s->back);
        nt_flow_schedule_repeat(d, &b->fan, s->height, b->marked);
        break;
    case PAIRS:
        nt_flow_schedule_pairs(d, &b->fan, s->height, (int)s->parity, SIZE_MAX);
        break;
    case NEAR:
        plan_near(b, s->index);
        break;
    case WIDE:
        plan_wide(b, s);
        break;
    case CHECK:
        if (is_check_due(b, s))
            plan_step(b, &b->plan[s->index]);
        return; /* has its direction */
    case SHIFT_LADDER:
        nt_flow_schedule_shift(d, 0, s->index);
        break;
    case LADDER:
        nt_flow_schedule_pairs(d, &b->fan, s->height, 0, s->index);
        break;
    }
    if (s->back)
        nt_flow_schedule_swap(d);
}

static double window_s(const struct nt_bw *b)
{
    double rate = b->rate_MBps * 1e6, window = b->options.window_s;
    if (!isnan(rate))
        window = fmax(fmin(TRANSFERS * TRANSFER_BYTES / rate, ENOUGH_S),
                      MESSAGES * (double)MESSAGE_MIN / rate);
    return fmin(fmax(window, b->options.shortest_s), b->options.window_s);
}

double nt_flow_message_bytes(double rate_MBps, double window)
{
    double bytes = isnan(rate_MBps) ? 0 : rate_MBps * 1e6 * window / MESSAGES, size;
    for (size = MESSAGE_MIN; size * 2 <= bytes && size < MESSAGE_MAX;)
        size *= 2;
    return size;
}

static void fill_order(struct nt_bw *b, const struct nt_bw_step *s, struct nt_order *order)
{
    bool warm = s->kind == WARM_UP || s->kind == ALONE;
    double window = warm ? fmin(WARM_UP_S, b->options.window_s) : window_s(b);
    size_t from = b->cut[b->next_part], to = b->cut[b->next_part + 1];
    *order = (struct nt_order){.kind = NT_ORDER_BANDWIDTH,
                               .pairs = to - from,
                               .pair = b->pair + from,
                               .message_bytes = warm ? WARM_UP_BYTES
                                                     : nt_flow_message_bytes(b->rate_MBps, window),
                               .batches = 1,
                               .count = NT_FLOW_IN_FLIGHT,
                               .window_s = window};
    snprintf(order->phase, sizeof order->phase, "%s", phase_name(s));
}

static int bandwidth_next(struct nt_planner *planner, struct nt_order *order, struct nt_err *err)
{
    struct nt_bw *b = (struct nt_bw *)planner;
    (void)err;
    while (b->next_part == b->parts && b->step < b->steps) {
        plan_step(b, &b->plan[b->step]);
        split_round(b, &b->plan[b->step++]);
    }
    if (b->next_part == b->parts)
        return 0;
    fill_order(b, &b->plan[b->step - 1], order);
    b->next_part++;
    return 1;
}

static double rate_of(const struct nt_result *r)
{
    return r->ok && r->value_us > 0 && r->bytes > 0 ? r->bytes / r->value_us : 0;
}

/* The middle rate of the flows; of the parts of a step the slowest counts. */
static void learn_rate(struct nt_bw *b, const struct nt_result *results, size_t n)
{
    size_t flows = 0;
    double *step_MBps = &b->plan[b->step - 1].middle_MBps;
    for (size_t k = 0; k < n && flows < b->rooted->hosts; k++)
        if (rate_of(&results[k]) > 0)
            b->value[flows++] = (float)rate_of(&results[k]);
    if (flows == 0)
        return;
    b->rate_MBps = (double)nt_stats_select(b->value, flows, flows / 2);
    *step_MBps = *step_MBps > 0 ? fmin(*step_MBps, b->rate_MBps) : b->rate_MBps;
}

/* All at once; then the middle one of them alone. */
static void learn_together(struct nt_bw *b, const struct nt_result *results, size_t n)
{
    double nearest = INFINITY;
    learn_rate(b, results, n);
    b->together_MBps = 0;
    for (size_t k = 0; k < n; k++) {
        double rate = rate_of(&results[k]), off = fabs(rate - b->rate_MBps);
        b->together_MBps += rate;
        if (n < 2 || !(rate > 0) || !(off < nearest))
            continue;
        nearest = off;
        b->first_MBps = rate;
        b->first[0] = results[k].a;
        b->first[1] = results[k].b;
    }
}

/* For the planners after this one. */
static void note_seen(const struct nt_bw *b)
{
    if (b->options.seen != NULL && b->rate_MBps > 0)
        *b->options.seen = (struct nt_bandwidth_state){b->rate_MBps, b->limit_MBps};
}

static void learn_alone(struct nt_bw *b, const struct nt_result *results, size_t n)
{
    learn_rate(b, results, n);
    if (n == 1 && rate_of(results) > crowded * b->first_MBps)
        b->limit_MBps = uncrowded_share * b->together_MBps;
    note_seen(b);
}

/* Notes what the links that the step was to fill carried. */
static void note_own(struct nt_bw *b)
{
    const struct nt_bw_step *s = &b->plan[b->step - 1];
    s = s->kind == CHECK ? &b->plan[s->index] : s;
    for (size_t k = 0; k < b->rooted->links; k++) {
        uint32_t c = tier_channel(b, s, k);
        if (c == UINT32_MAX || !fills(b, s, k) || !(b->load[c] > 0) ||
            b->seen[c].own_MBps >= b->load[c])
            continue;
        b->seen[c].own_MBps = b->load[c];
        b->seen[c].own_when = b->step;
    }
}

/* A link that has limited all its flows is full. */
static void close_links(struct nt_bw *b)
{
    const struct nt_bw_step *s = &b->plan[b->step - 1];
    s = s->kind == CHECK ? &b->plan[s->index] : s;
    for (size_t k = 0; k < b->rooted->links; k++) {
        size_t c = 2 * k + s->back;
        if (is_loaded(b, s, k) && b->cycles.fastest[c] > 0 &&
            b->cycles.fastest[c] < group_limit * b->rate_MBps)
            b->cycles.open[c] = false;
    }
}

static int bandwidth_tell(struct nt_planner *planner, const struct nt_result *results, size_t n,
                          struct nt_err *err)
{
    struct nt_bw *b = (struct nt_bw *)planner;
    (void)err;
    if (b->step == 0)
        return 0;
    enum nt_bw_kind kind = b->plan[b->step - 1].kind;
    if (kind == WARM_UP)
        return learn_together(b, results, n), 0;
    if (kind == ALONE)
        return learn_alone(b, results, n), 0;
    if (kind == SHIFT || kind == LINKS) {
        learn_rate(b, results, n);
        note_seen(b);
    }
    for (size_t c = 0; c < 2 * b->rooted->links; c++) {
        b->load[c] = NAN;
        b->cycles.fastest[c] = 0;
    }
    for (size_t k = 0; k < n; k++) {
        const struct nt_result *r = &results[k];
        double rate = rate_of(r);
        size_t path =
            rate > 0 ? nt_unique_paths_find(b->cycles.paths, b->rooted, r->a, r->b, b->channel) : 0;
        for (size_t i = 0; i < path; i++) {
            uint32_t c = b->channel[i];
            b->load[c] = (isnan(b->load[c]) ? 0 : b->load[c]) + rate;
            b->cycles.fastest[c] = fmax(b->cycles.fastest[c], rate);
        }
    }
    close_links(b);
    note_own(b);
    for (size_t c = 0; c < 2 * b->rooted->links; c++) {
        double load = b->load[c];
        if (isnan(load))
            continue;
        if (!(b->most[c] >= load)) {
            b->second[c] = b->most[c];
            b->most[c] = load;
        } else if (!(b->second[c] >= load)) {
            b->second[c] = load;
        }
    }
    return 0;
}

static void bandwidth_lose(struct nt_planner *planner, uint32_t host)
{
    struct nt_bw *b = (struct nt_bw *)planner;
    if (host < b->rooted->hosts)
        b->schedule.missing[host] = true;
}

static void bandwidth_destroy(struct nt_planner *planner)
{
    struct nt_bw *b = (struct nt_bw *)planner;
    nt_unique_paths_destroy(b->cycles.paths);
    nt_rooted_tree_destroy(b->rooted);
    nt_flow_schedule_fini(&b->schedule);
    nt_fan_fini(&b->fan);
    nt_object_destroy(b);
}

static const struct nt_planner_ops OPS = {bandwidth_next, bandwidth_tell, bandwidth_lose,
                                          bandwidth_destroy, NULL};

/* ---- made, asked ---- */

static int check_options(struct nt_bandwidth_options *o, struct nt_err *err)
{
    if (!(o->max_load >= 0 && o->max_load <= 1))
        return nt_err_set(err, NT_ERR_USAGE, "a load of %g: expected a share, 0 to 1", o->max_load);
    if (!(o->window_s >= 0 && o->window_s <= 60 && o->shortest_s >= 0))
        return nt_err_set(err, NT_ERR_USAGE, "a window of %g s: expected 0 to 60", o->window_s);
    o->phases = o->phases == 0 ? NT_BANDWIDTH_ALL : o->phases;
    o->max_load = o->max_load > 0 ? o->max_load : 1;
    o->window_s = o->window_s > 0 ? o->window_s : WINDOW_S;
    o->shortest_s = fmin(o->shortest_s > 0 ? o->shortest_s : SHORTEST_S, o->window_s);
    return 0;
}

static int allocate_steps(struct nt_bw *b, struct nt_err *err)
{
    size_t v = b->rooted->vertices + 1, links = b->rooted->links + 1;
    b->colour = nt_arena_array(&b->base.memory, links, sizeof *b->colour);
    b->cycles.wide = nt_arena_array(&b->base.memory, links, sizeof *b->cycles.wide);
    b->cycles.open = nt_arena_array(&b->base.memory, 2 * links, sizeof *b->cycles.open);
    b->cycles.group =
        nt_arena_array(&b->base.memory, b->rooted->hosts + 1, sizeof *b->cycles.group);
    b->cycles.fastest = nt_arena_array(&b->base.memory, 2 * links, sizeof *b->cycles.fastest);
    b->cycles.around =
        nt_arena_array(&b->base.memory, 2 * b->rooted->links + 2, sizeof *b->cycles.around);
    b->most = nt_arena_array(&b->base.memory, 2 * links, sizeof *b->most);
    b->second = nt_arena_array(&b->base.memory, 2 * links, sizeof *b->second);
    b->seen = nt_arena_array(&b->base.memory, 2 * links, sizeof *b->seen);
    b->load = nt_arena_array(&b->base.memory, 2 * links, sizeof *b->load);
    b->channel =
        nt_arena_array(&b->base.memory, nt_rooted_tree_room(b->rooted), sizeof *b->channel);
    b->marked = nt_arena_array(&b->base.memory, v, sizeof *b->marked);
    b->value = nt_arena_array(&b->base.memory, v, sizeof *b->value);
    b->pair = nt_arena_array(&b->base.memory, b->rooted->hosts + 1, sizeof *b->pair);
    b->part = nt_arena_array(&b->base.memory, v, sizeof *b->part);
    b->sum = nt_arena_array(&b->base.memory, b->rooted->hosts + 1, sizeof *b->sum);
    b->cut = nt_arena_array(&b->base.memory, b->rooted->hosts + 2, sizeof *b->cut);
    b->limit_MBps = INFINITY;
    b->most_parts = 1;
    if (nt_arena_check(&b->base.memory, err) != 0)
        return -1;
    for (size_t c = 0; c < 2 * b->rooted->links; c++) {
        b->most[c] = b->second[c] = b->seen[c].own_MBps = NAN;
        b->cycles.open[c] = true;
        b->colour[c / 2] = b->cycles.wide[c / 2] = UINT32_MAX;
    }
    return 0;
}

int nt_bandwidth_create(const struct nt_model *model, const bool *missing,
                        const struct nt_bandwidth_options *options, struct nt_planner **out,
                        struct nt_err *err)
{
    struct nt_bw *b = nt_object_create(sizeof *b, err);
    if (b == NULL)
        return -1;
    b->base.ops = &OPS;
    b->rate_MBps = NAN;
    if (options != NULL)
        b->options = *options;
    if (check_options(&b->options, err) != 0 ||
        nt_rooted_tree_create(model, &b->rooted, err) != 0 ||
        nt_unique_paths_create(model, b->rooted, &b->cycles.paths, err) != 0 ||
        nt_flow_schedule_init(&b->schedule, b->rooted, b->options.max_load, err) != 0 ||
        nt_fan_init(&b->fan, b->rooted, err) != 0 || allocate_steps(b, err) != 0)
        goto fail;
    if (b->options.seen != NULL && b->options.seen->rate_MBps > 0) {
        b->rate_MBps = b->options.seen->rate_MBps;
        b->limit_MBps = b->options.seen->limit_MBps;
    }
    for (size_t h = 0; h < model->hosts; h++)
        b->schedule.missing[h] = model->missing[h] || (missing != NULL && missing[h]);
    if (plan_all_steps(b, err) != 0)
        goto fail;
    *out = &b->base;
    return 0;
fail:
    bandwidth_destroy(&b->base);
    return -1;
}

static bool is_repeat(const struct nt_bw_step *s)
{
    return s->kind == SHIFT_REPEAT || s->kind == SHIFT_AGAIN || s->kind == FAN_AGAIN ||
           s->kind == WIDE || s->kind == CHECK;
}

size_t nt_bandwidth_repeats_left(const struct nt_planner *planner)
{
    const struct nt_bw *b = (const struct nt_bw *)planner;
    size_t left = 0;
    for (size_t k = b->step; k < b->steps; k++)
        if (is_repeat(&b->plan[k]))
            left += b->most_parts;
    return left;
}

size_t nt_bandwidth_checks_left(const struct nt_planner *planner)
{
    const struct nt_bw *b = (const struct nt_bw *)planner;
    size_t left = 0;
    for (size_t k = b->step; k < b->steps; k++)
        left += b->plan[k].kind == CHECK ? b->most_parts : 0;
    return left;
}

size_t nt_bandwidth_phase_left(const struct nt_planner *planner, const char *phase)
{
    const struct nt_bw *b = (const struct nt_bw *)planner;
    size_t left = 0;
    if (b->step > 0 && (phase == NULL || strcmp(phase_name(&b->plan[b->step - 1]), phase) == 0))
        left = b->parts - b->next_part;
    for (size_t k = b->step; k < b->steps; k++)
        if (phase == NULL || strcmp(phase_name(&b->plan[k]), phase) == 0)
            left += b->plan[k].kind == WARM_UP || b->plan[k].kind == ALONE ? 1 : b->most_parts;
    return left;
}

size_t nt_bandwidth_rounds_left(const struct nt_planner *planner)
{
    return nt_bandwidth_phase_left(planner, NULL);
}

double nt_bandwidth_window_s(const struct nt_planner *planner)
{
    return window_s((const struct nt_bw *)planner);
}
