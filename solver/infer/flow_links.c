/* SPDX-License-Identifier: Apache-2.0 */
#include "flow_links.h"

#include <math.h>
#include <string.h>

#include "memory.h"
#include "rng.h"
#include "rooted_tree.h"
#include "stats.h"
#include "unique_paths.h"

/* The results of a channel (one direction of a link). */
struct channel {
    double most, second; /* the best rounds, MB/s; NaN: never used */
    double value, se;    /* the mean of the rounds near the best, its standard error */
    uint64_t flows;      /* which flows the best round had over it */
    double loaded;       /* the least that the same flows had in another round; NaN */
    bool certified;      /* was a bottleneck */
    bool alone;          /* certified, and the only possible bottleneck */
    double relative;     /* of a host's link, MB/s: see find_relative */
    bool slower;         /* a round shows it slower than others */
    unsigned odd;        /* rounds in which much of it was not explained */
};

struct flows {
    struct nt_model *model; /* the copy that is being filled */
    struct nt_rooted_tree *rooted;
    struct nt_unique_paths *paths; /* NULL: it is a tree, or has none */
    const struct nt_flow_round *round;
    size_t rounds;
    struct channel *channel; /* 2 * links of them */
    double noise;            /* sd of a flow's rate, relative */
};

/* A link this full is a flow's bottleneck. If one is nearly full, or a host's link nearly reached,
 * no other link is considered, so that noise does not turn a link behind another bottleneck into
 * one. */
static const double edge = 0.99, plateau = 0.95, full = 0.96, nearly_full = 0.90,
                    nearly_full_few = 0.75;
/* The gap between the two best of a few normal values, in sd (1.1 for two, 0.5 for ten). */
static const double top_gap = 0.7, gap_most = 0.05;
/* Flows that share a bottleneck have similar rates, as far as TCP is fair. */
static const double among_largest = 0.75, much_less = 0.6;
static const double certain_share = 0.3, odd_share = 0.3;
static const unsigned odd_rounds = 2;
/* With the same flows, a bottleneck has the same rate. If it had less by this share and 6 sd of a
 * flow, other traffic used it. */
static const double loaded_margin = 0.15, loaded_sd = 6;

struct tally {
    double load, largest, sum, squares, claimed;
    size_t flows, full, odd, rounds;
    uint64_t which; /* of the flows, the sum of a word each */
};

struct pass {
    struct flows *work;
    struct tally *tally; /* channels */
    uint32_t *path;
    /* The path of a flow of this round is unknown: it may have used any link except those from
     * hosts to switches */
    bool mixed;
};

static double rate_of(const struct nt_measured_flow *f)
{
    return isfinite(f->rate_MBps) && f->rate_MBps > 0 ? f->rate_MBps : 0;
}

/* Channels of the flow's path; 0: unknown, or the flow has no rate. */
static size_t find_path(const struct pass *p, const struct nt_measured_flow *f)
{
    const struct flows *w = p->work;
    return rate_of(f) > 0 ? nt_unique_paths_find(w->paths, w->rooted, f->from, f->to, p->path) : 0;
}

/* The way of a flow: links of hosts at its ends, links between switches in the middle. */
static bool is_inner(const struct nt_rooted_tree *h, uint32_t channel)
{
    return h->ends[channel / 2][0] >= h->hosts && h->ends[channel / 2][1] >= h->hosts;
}

static void load_round(struct pass *p, const struct nt_flow_round *round)
{
    const struct nt_rooted_tree *h = p->work->rooted;
    for (size_t c = 0; c < 2 * h->links; c++) {
        struct tally *t = &p->tally[c];
        t->load = t->largest = t->claimed = 0;
        t->flows = t->full = t->odd = 0;
        t->which = 0;
    }
    p->mixed = false;
    for (size_t k = 0; k < round->flows; k++) {
        const struct nt_measured_flow *f = &round->flow[k];
        size_t n = find_path(p, f);
        p->mixed = p->mixed || (n == 0 && rate_of(f) > 0 && !h->tree);
        struct nt_rng word;
        nt_rng_init(&word, (uint64_t)f->from << 32 | f->to);
        uint64_t which = nt_rng_next(&word);
        for (size_t i = 0; i < n; i++) {
            struct tally *t = &p->tally[p->path[i]];
            t->which += which;
            t->load += rate_of(f);
            t->largest = fmax(t->largest, rate_of(f));
            t->flows++;
        }
    }
}

static void keep_most(struct pass *p)
{
    for (size_t c = 0; c < 2 * p->work->rooted->links; c++) {
        struct channel *channel = &p->work->channel[c];
        double load = p->tally[c].load;
        if (p->tally[c].flows == 0)
            continue;
        if (!(channel->most >= load)) {
            channel->second = channel->most;
            channel->most = load;
            channel->flows = p->tally[c].which;
        } else if (!(channel->second >= load)) {
            channel->second = load;
        }
    }
}

/* The noise of a flow from the two best rounds of each host's link, at most 5 %. */
static int estimate_noise(struct pass *p, struct nt_err *err)
{
    const struct nt_rooted_tree *h = p->work->rooted;
    NT_SCOPED struct nt_arena memory = {0};
    float *gap = nt_arena_array(&memory, 2 * h->links + 1, sizeof *gap);
    size_t n = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (uint32_t c = 0; c < 2 * h->links; c++) {
        const struct channel *channel = &p->work->channel[c];
        if (!is_inner(h, c) && channel->second > 0)
            gap[n++] = (float)(1 - channel->second / channel->most);
    }
    p->work->noise = n == 0 ? 0 : fmin((double)nt_stats_median(gap, n) / top_gap, gap_most);
    return 0;
}

static void sum_plateau(struct pass *p)
{
    double wide = fmin(edge, 1 - 3 * p->work->noise), narrow = fmax(wide, plateau);
    for (size_t c = 0; c < 2 * p->work->rooted->links; c++) {
        struct tally *t = &p->tally[c];
        double share = is_inner(p->work->rooted, (uint32_t)c) ? narrow : wide;
        if (t->flows == 0 || t->load < share * p->work->channel[c].most)
            continue;
        double off = t->load - p->work->channel[c].most; /* squares of differences stay exact */
        t->sum += off;
        t->squares += off * off;
        t->rounds++;
    }
}

/* Few rounds do not show how much they vary: the variance of flows in this sweep counts as two
 * more. */
static void set_values(struct pass *p)
{
    for (size_t c = 0; c < 2 * p->work->rooted->links; c++) {
        const struct tally *t = &p->tally[c];
        struct channel *channel = &p->work->channel[c];
        if (t->rounds == 0)
            continue;
        double n = (double)t->rounds, mean = t->sum / n;
        double usual = p->work->noise * channel->most;
        double spread = fmax(t->squares - n * mean * mean, 0);
        channel->value = channel->most + mean;
        channel->se = sqrt((2 * usual * usual + spread) / (n + 1) / n);
    }
}

static double channel_fullness(const struct pass *p, uint32_t c)
{
    return p->tally[c].load / p->work->channel[c].value;
}

static bool limited_by_host(const struct pass *p, size_t n, double rate, double share)
{
    const struct channel *channel = p->work->channel;
    return rate >= share * channel[p->path[0]].value ||
           rate >= share * channel[p->path[n - 1]].value;
}

/* Whether the only candidate of a flow of n hops is path[at]. Another that more flows share is one
 * before it is quite full: its best round was a little better, and this one's best may be all that
 * the few had left. */
static bool is_alone(const struct pass *p, size_t n, size_t at, double rate)
{
    size_t share = p->tally[p->path[at]].flows;
    for (size_t i = 0; i < n; i++) {
        uint32_t c = p->path[i];
        double enough = p->tally[c].flows > share ? nearly_full_few : nearly_full;
        if (i != at && is_inner(p->work->rooted, c) && channel_fullness(p, c) >= enough &&
            rate >= much_less * p->tally[c].largest)
            return false;
    }
    return true;
}

/* In this round, the link was a bottleneck that other traffic used, too. */
static bool is_loaded_now(const struct pass *p, uint32_t c)
{
    const struct channel *channel = &p->work->channel[c];
    return channel->loaded > 0 && p->tally[c].which == channel->flows;
}

static void judge_inner(struct pass *p, size_t n, double rate)
{
    bool explained = limited_by_host(p, n, rate, fmin(nearly_full, 1 - 4 * p->work->noise));
    if (explained)
        return;
    for (size_t i = 0; i < n; i++) {
        uint32_t c = p->path[i];
        explained = explained || is_loaded_now(p, c);
        if (!is_inner(p->work->rooted, c) || channel_fullness(p, c) < nearly_full ||
            rate < much_less * p->tally[c].largest)
            continue;
        explained = true;
        if (channel_fullness(p, c) >= full && rate >= among_largest * p->tally[c].largest &&
            is_alone(p, n, i, rate)) {
            p->tally[c].full++;
            p->tally[c].claimed += rate;
        }
    }
    for (size_t i = 0; i < n && !explained; i++)
        p->tally[p->path[i]].odd++;
}

static void judge_round(struct pass *p, const struct nt_flow_round *round)
{
    const struct nt_rooted_tree *h = p->work->rooted;
    for (size_t k = 0; k < round->flows; k++) {
        size_t n = find_path(p, &round->flow[k]);
        if (n > 0)
            judge_inner(p, n, rate_of(&round->flow[k]));
    }
    for (size_t c = 0; c < 2 * h->links; c++) {
        const struct tally *t = &p->tally[c];
        struct channel *channel = &p->work->channel[c];
        if (t->flows == 0 || p->mixed || !is_inner(h, (uint32_t)c))
            continue;
        if ((double)t->full >= certain_share * (double)t->flows ||
            t->claimed >= certain_share * t->load)
            channel->certified = channel->alone = true;
        if (t->flows > 1 && (double)t->odd >= odd_share * (double)t->flows)
            channel->odd++;
    }
}

/* A host's link is the bottleneck if its rate was reached while no link between switches held the
 * flow back or could have: a link that several flows shared and that was at its maximum (on a cycle
 * any such link, since a switch with one host sends one flow over it). It is the only explanation
 * if the link at the other end can carry more. Between two hosts of equal speed it is unknown which
 * one limits the flow, and both count. */
static void judge_hosts(struct pass *p, const struct nt_flow_round *round)
{
    const struct nt_rooted_tree *h = p->work->rooted;
    struct channel *channel = p->work->channel;
    for (size_t k = 0; k < round->flows; k++) {
        double rate = rate_of(&round->flow[k]);
        size_t n = find_path(p, &round->flow[k]);
        bool held = n == 0 || (p->mixed && n != 2); /* two: their own links, to one switch */
        for (size_t i = 0; i < n; i++) {
            uint32_t c = p->path[i];
            bool could = channel[c].certified || p->tally[c].flows > 1 || !h->tree;
            held = held || (is_inner(h, c) && could && channel_fullness(p, c) >= nearly_full);
        }
        for (size_t e = 0; !held && e < 2; e++) {
            struct channel *own = &channel[p->path[e * (n - 1)]];
            const struct channel *other = &channel[p->path[(1 - e) * (n - 1)]];
            if (rate < fmin(plateau, 1 - 3 * p->work->noise) * own->value)
                continue;
            own->certified = true;
            own->alone = own->alone || n == 1 || rate < nearly_full * other->value;
        }
    }
}

/* The rounds with the same flows as the best, in which a bottleneck passed less than then. */
static void find_loaded(struct pass *p)
{
    double margin = fmax(loaded_margin, loaded_sd * p->work->noise);
    for (size_t c = 0; c < 2 * p->work->rooted->links; c++) {
        const struct tally *t = &p->tally[c];
        struct channel *channel = &p->work->channel[c];
        if (is_inner(p->work->rooted, (uint32_t)c) && channel->certified && t->flows > 0 &&
            !p->mixed && t->which == channel->flows && t->load < (1 - margin) * channel->most &&
            !(channel->loaded <= t->load))
            channel->loaded = t->load;
    }
}

/* A loaded link has at least the rate that passed. Two best rounds that agree had no other
 * traffic. */
static void bound_loaded(struct pass *p)
{
    for (size_t c = 0; c < 2 * p->work->rooted->links; c++) {
        struct channel *channel = &p->work->channel[c];
        if (channel->loaded > 0 && !(channel->second >= plateau * channel->most))
            channel->certified = channel->alone = false;
    }
}

static void write_links(const struct flows *w)
{
    for (size_t k = 0; k < w->model->links; k++) {
        struct nt_link *l = &w->model->link[k];
        const struct channel *forth = &w->channel[2 * k], *back = forth + 1;
        l->bandwidth_MBps = forth->value;
        l->bandwidth_back_MBps = back->value;
        l->bandwidth_se_MBps = forth->se;
        l->bandwidth_back_se_MBps = back->se;
        l->loaded_MBps = fmin(forth->loaded, back->loaded);
        l->loaded_MBps = isnan(l->loaded_MBps) ? 0 : l->loaded_MBps;
        l->at_least = l->forth_at_least = l->back_at_least = l->effective = false;
    }
}

/* ---- capacities of switches and of the whole network, from the bandwidths of links ---- */

enum { CLASS_MIN = 3, SPREAD_MIN = 8 };

static const double narrow_margin = 0.08, narrow_sd = 4, sent_all = 0.93;
/* Adapters of one generation reach the same within this, and within 3 sd of a flow. */
static const double same_generation = 0.02, same_generation_sd = 3;
/* Upper limit of the sd of a class: if links differ by more, some of them are narrow. */
static const double class_sd_most = 0.05;
/* A link becomes suspect only if two rounds agree, because one may have been disturbed. If even the
 * best one is far below the usual bandwidth, noise can be larger. */
static const double agreement = 0.9, far_below = 0.8, agreement_far = 0.7;

/* Links to hosts, or to switches of one height. */
struct tier {
    bool seen;
    double least[2]; /* up, down: minimum bandwidth of a member; NaN: unknown */
    double usual[2]; /* up, down: the middle of them */
    double slope;    /* usual ratio of down over up; NaN: unknown */
};

struct view {
    struct flows *w;
    uint32_t *height; /* vertices: 0 for hosts, 1 for a switch with hosts only */
    double *below[2]; /* per vertex: rate that hosts below can send up, and receive */
    /* The child of the root that is its peer, so that the link between them is above both;
     * NT_NO_VERTEX */
    uint32_t peer;
    struct tier *tier; /* by height */
    double *beside;    /* per round: its fastest flow, if it has several; 0 */
    float *value;      /* scratch */
};

static const struct channel *channel_above(const struct view *v, uint32_t vertex, int down)
{
    uint32_t up = v->w->rooted->up[vertex];
    return &v->w->channel[down ? nt_channel_back(up) : up];
}

static void find_heights(struct view *v)
{
    const struct nt_rooted_tree *h = v->w->rooted;
    size_t highest = 0;
    for (size_t k = h->reached; k-- > 1;) {
        uint32_t c = h->order[k], p = h->parent[c];
        if (v->height[c] + 1 > v->height[p])
            v->height[p] = v->height[c] + 1;
    }
    v->peer = NT_NO_VERTEX;
    for (uint32_t i = h->first[h->root]; i < h->first[h->root + 1]; i++)
        if (v->height[h->child[i]] + 1 == v->height[h->root]) {
            v->peer = h->child[i];
            highest++;
        }
    bool like = highest == 1 && v->height[h->root] >= 2;
    for (uint32_t i = h->first[h->root]; like && i < h->first[h->root + 1]; i++)
        like = h->child[i] == v->peer || v->height[h->child[i]] + 2 == v->height[h->root];
    if (!like)
        v->peer = NT_NO_VERTEX;
}

/* The bandwidth of a host's link if it were not degraded. For a link that is narrower than its
 * class it is the middle of the tier, unless another host has the same bandwidth within noise,
 * since these two may be an older generation. */
static double sound_value(const struct view *v, uint32_t host, int down)
{
    const struct nt_rooted_tree *h = v->w->rooted;
    const struct channel *link = channel_above(v, host, down);
    double alike = fmax(same_generation, same_generation_sd * v->w->noise);
    if (!v->w->model->link[h->up[host] / 2].suspect || !(link->value < v->tier[0].least[down]))
        return link->value;
    for (size_t k = 1; k < h->reached; k++) {
        uint32_t other = h->order[k];
        if (other != host && other < h->hosts &&
            fabs(channel_above(v, other, down)->value / link->value - 1) < alike)
            return link->value;
    }
    return v->tier[0].usual[down];
}

/* From the leaves up: a link passes the demand below it, unless it was never seen to carry that.
 * sound: as if no host's link were degraded. */
static void find_demand(struct view *v, bool sound)
{
    const struct nt_rooted_tree *h = v->w->rooted;
    for (int down = 0; down < 2; down++) {
        memset(v->below[down], 0, h->vertices * sizeof *v->below[down]);
        for (size_t k = h->reached; k-- > 1;) {
            uint32_t c = h->order[k];
            const struct channel *link = channel_above(v, c, down);
            double passes = v->below[down][c];
            if (c < h->hosts)
                passes = sound ? sound_value(v, c, down) : link->value;
            else if (link->value < passes)
                passes = link->value;
            if (h->parent[c] != h->root || c != v->peer)
                v->below[down][h->parent[c]] += isnan(passes) ? 0 : passes;
        }
    }
}

static double load_ratio(const struct channel *link, double demand)
{
    if (link->certified)
        return fmax(1, demand / link->value);
    return link->value >= sent_all * demand && demand > 0 ? 1 : (double)NAN;
}

static void set_oversubscription(struct view *v)
{
    const struct nt_rooted_tree *h = v->w->rooted;
    struct nt_model *m = v->w->model;
    for (size_t s = 0; s < m->switches; s++)
        m->oversubscription[s] = NAN;
    for (size_t k = 0; k < h->reached; k++) {
        uint32_t s = h->order[k];
        if (s < h->hosts || (s == h->root && v->peer == NT_NO_VERTEX))
            continue;
        double up = s == h->root ? load_ratio(channel_above(v, v->peer, 1), v->below[0][s])
                                 : load_ratio(channel_above(v, s, 0), v->below[0][s]);
        double down = s == h->root ? load_ratio(channel_above(v, v->peer, 0), v->below[1][s])
                                   : load_ratio(channel_above(v, s, 1), v->below[1][s]);
        m->oversubscription[s - m->hosts] = fmax(up, down); /* the only known one */
    }
}

/* ---- bounds ---- */

/* A link that carried everything below it was not a bottleneck, whatever the rates of single
 * flows. */
static bool is_odd(const struct view *v, uint32_t vertex, int down)
{
    const struct channel *link = channel_above(v, vertex, down);
    return link->odd >= odd_rounds && link->value < sent_all * v->below[down][vertex];
}

static void set_bound(struct nt_link *l, bool forth, bool back)
{
    l->at_least = forth && back;
    l->forth_at_least = forth && !back;
    l->back_at_least = back && !forth;
}

static void set_bounds(struct view *v)
{
    const struct nt_rooted_tree *h = v->w->rooted;
    for (size_t k = 1; k < h->reached; k++) {
        uint32_t c = h->order[k];
        const struct channel *up = channel_above(v, c, 0), *down = channel_above(v, c, 1);
        struct nt_link *l = &v->w->model->link[h->up[c] / 2];
        if (isnan(up->value) && isnan(down->value))
            continue;
        l->effective = c >= h->hosts && (is_odd(v, c, 0) || is_odd(v, c, 1));
        bool bound[2] = {!up->certified && !l->effective, !down->certified && !l->effective};
        set_bound(l, bound[h->up[c] % 2], bound[h->up[c] % 2 == 0]);
    }
}

/* ---- links narrower than their class ---- */

/* Collects the links to hosts, or to switches of this height, below these count vertices. */
static size_t collect_below(struct view *v, const uint32_t *vertex, size_t count, uint32_t height,
                            int down)
{
    size_t n = 0;
    for (size_t k = 0; k < count; k++) {
        double value = channel_above(v, vertex[k], down)->value;
        if (v->height[vertex[k]] == height && !isnan(value))
            v->value[n++] = (float)value;
    }
    return n;
}

/* Minimum bandwidth of a link of the class. For two links the wider one is the class. */
static double least_of_class(struct view *v, size_t n, double *usual)
{
    double middle = n == 0 ? (double)NAN : (double)nt_stats_select(v->value, n, n / 2);
    double sd = n < SPREAD_MIN ? 0 : (double)nt_stats_mad(v->value, n) / middle;
    double margin = fmax(narrow_margin, narrow_sd * fmax(v->w->noise, fmin(sd, class_sd_most)));
    *usual = middle;
    return middle * (1 - margin);
}

/* Usual ratio of down over up of links of this height; NaN: too few links. */
static double usual_slope(struct view *v, uint32_t height)
{
    const struct nt_rooted_tree *h = v->w->rooted;
    size_t n = 0;
    for (size_t k = 1; k < h->reached; k++) {
        uint32_t s = h->order[k];
        double up = channel_above(v, s, 0)->value, down = channel_above(v, s, 1)->value;
        if (v->height[s] == height && up > 0 && down > 0)
            v->value[n++] = (float)(down / up);
    }
    return n < CLASS_MIN ? (double)NAN : (double)nt_stats_median(v->value, n);
}

static bool is_narrow(const struct channel *link, double least)
{
    double agree = link->most < far_below * least ? agreement_far : agreement;
    return link->alone && fmax(link->value, link->relative) < least &&
           link->second >= agree * link->most;
}

/* The rate of a flow that shares no link between switches with another; else 0. ends: the channels
 * of its hosts. */
static double rate_alone(const struct pass *p, const struct nt_measured_flow *f,
                         struct channel *ends[2])
{
    size_t n = find_path(p, f), shared = n == 0;
    for (size_t i = 1; i + 1 < n; i++)
        shared += p->tally[p->path[i]].flows > 1;
    for (size_t e = 0; e < 2 && shared == 0; e++)
        ends[e] = &p->work->channel[p->path[e * (n - 1)]];
    return shared == 0 ? rate_of(f) : 0;
}

/* Sets best to the two fastest flows that share no link between switches, of hosts whose links are
 * not slower. Returns how many flows share none. */
static size_t find_fastest(struct pass *p, const struct nt_flow_round *r, double best[2])
{
    size_t flows = 0;
    struct channel *ends[2];
    best[0] = best[1] = 0;
    load_round(p, r);
    for (size_t k = 0; k < r->flows; k++) {
        double rate = rate_alone(p, &r->flow[k], ends);
        flows += rate > 0;
        if (!(rate > 0) || ends[0]->slower || ends[1]->slower)
            continue;
        best[1] = fmax(best[1], fmin(rate, best[0]));
        best[0] = fmax(best[0], rate);
    }
    return flows;
}

/* For the only flow of a round: what was the fastest in the nearest rounds of several flows before
 * and after it, the smaller of both. */
static double fastest_near(const struct view *v, size_t round)
{
    size_t before = round, after = round;
    while (before > 0 && v->beside[before] == 0)
        before--;
    while (after + 1 < v->w->rounds && v->beside[after] == 0)
        after++;
    return fmin(v->beside[before] > 0 ? v->beside[before] : INFINITY,
                v->beside[after] > 0 ? v->beside[after] : INFINITY);
}

/* Compares each flow with the fastest other one of its round, if that had less than is usual. Sets
 * relative to the least of a host's rates near its best, or to the most of all. */
static void compare_round(struct view *v, struct pass *p, size_t round, bool most)
{
    double usual = fmin(v->tier[0].usual[0], v->tier[0].usual[1]), best[2];
    const struct nt_flow_round *r = &v->w->round[round];
    size_t flows = find_fastest(p, r, best);
    struct channel *ends[2];
    for (size_t k = 0; k < r->flows; k++) {
        double rate = rate_alone(p, &r->flow[k], ends);
        if (!(rate > 0))
            continue;
        bool in_best = !ends[0]->slower && !ends[1]->slower && rate >= best[0];
        double other = flows == 1 ? fastest_near(v, round) : best[in_best];
        for (size_t e = 0; e < 2 && other > 0; e++) {
            double relative = rate / fmin(1, other / usual);
            if (most)
                ends[e]->relative = fmax(ends[e]->relative, relative);
            else if (rate >= plateau * ends[e]->value)
                ends[e]->relative = fmin(ends[e]->relative, relative);
        }
    }
}

static void compare_rounds(struct view *v, struct pass *p, bool most)
{
    double best[2];
    for (size_t r = 0; r < v->w->rounds; r++)
        v->beside[r] = find_fastest(p, &v->w->round[r], best) > 1 ? best[0] : 0;
    for (size_t r = 0; r < v->w->rounds; r++)
        compare_round(v, p, r, most);
}

/* What takes the processors or the network of all hosts for some rounds makes all their flows slow,
 * and two such rounds can agree. So a host's link is narrow only if it is slower than others that
 * sent in the same rounds. */
static void find_relative(struct view *v, struct pass *p)
{
    const struct nt_rooted_tree *h = v->w->rooted;
    for (size_t c = 0; c < 2 * h->links; c++)
        v->w->channel[c].relative = is_inner(h, (uint32_t)c) ? 0 : INFINITY;
    compare_rounds(v, p, false);
    for (size_t c = 0; c < 2 * h->links; c++) {
        struct channel *channel = &v->w->channel[c];
        channel->slower = channel->relative < fmin(v->tier[0].least[0], v->tier[0].least[1]);
        channel->relative = 0;
    }
    compare_rounds(v, p, true);
}

/* Marks a direction that is narrower than the other one, where others of the class are equal. */
static void mark_asymmetric(struct view *v, uint32_t c, double usual)
{
    const struct nt_rooted_tree *h = v->w->rooted;
    for (int down = 0; down < 2; down++) {
        const struct channel *link = channel_above(v, c, down), *other = channel_above(v, c, !down);
        double expected = down ? other->value * usual : other->value / usual;
        if (is_narrow(link, expected * (1 - fmax(narrow_margin, narrow_sd * v->w->noise))))
            v->w->model->link[h->up[c] / 2].suspect = true;
    }
}

/* For each height with measured links: all links of the tier and their usual values. */
static void find_tiers(struct view *v)
{
    const struct nt_rooted_tree *h = v->w->rooted;
    for (size_t k = 1; k < h->reached; k++) {
        uint32_t height = v->height[h->order[k]];
        struct tier *t = &v->tier[height];
        if (t->seen)
            continue;
        t->seen = true;
        t->slope = usual_slope(v, height);
        for (int down = 0; down < 2; down++)
            t->least[down] = least_of_class(
                v, collect_below(v, h->order + 1, h->reached - 1, height, down), &t->usual[down]);
    }
}

/* Whether the bandwidths of the links below the switch depend on routes, so that what two of them
 * carried in different rounds cannot be compared. */
static bool depends_on_routes(const struct view *v, uint32_t parent)
{
    const struct nt_rooted_tree *h = v->w->rooted;
    for (uint32_t i = h->first[parent]; i < h->first[parent + 1]; i++)
        if (v->w->model->link[h->up[h->child[i]] / 2].effective)
            return true;
    return false;
}

static void set_suspects(struct view *v)
{
    const struct nt_rooted_tree *h = v->w->rooted;
    for (int down = 0; down < 2; down++) {
        uint32_t parent = NT_NO_VERTEX, height = 0;
        double least = NAN, usual;
        for (size_t k = 1; k < h->reached; k++) {
            uint32_t c = h->order[k];
            const struct channel *link = channel_above(v, c, down);
            if (h->parent[c] != parent || v->height[c] != height) {
                parent = h->parent[c];
                height = v->height[c];
                size_t n = collect_below(v, h->child + h->first[parent],
                                         h->first[parent + 1] - h->first[parent], height, down);
                least = n < CLASS_MIN ? v->tier[height].least[down] : least_of_class(v, n, &usual);
            }
            if (is_narrow(link, least) && (c < h->hosts || !depends_on_routes(v, parent)))
                v->w->model->link[h->up[c] / 2].suspect = true;
        }
    }
}

/* Not a tree: links at a host, and links between switches that only known paths use. */
static void set_plain_bounds(struct flows *w)
{
    for (size_t k = 0; k < w->model->links; k++) {
        const struct channel *c = &w->channel[2 * k];
        bool measured = !isnan(c[0].value) || !isnan(c[1].value);
        bool odd = is_inner(w->rooted, (uint32_t)(2 * k)) &&
                   (c[0].odd >= odd_rounds || c[1].odd >= odd_rounds);
        w->model->link[k].effective = odd;
        set_bound(&w->model->link[k], measured && !c[0].certified && !odd,
                  measured && !c[1].certified && !odd);
    }
}

/* Not a tree: the links of the hosts of all switches are one class. */
static void set_plain_suspects(struct view *v, struct pass *p)
{
    const struct nt_rooted_tree *h = v->w->rooted;
    for (size_t s = h->hosts; s < h->vertices; s++)
        v->height[s] = 1;
    find_tiers(v);
    find_relative(v, p);
    for (size_t k = 1; k < h->reached && h->hosts >= CLASS_MIN; k++)
        for (int down = 0; down < 2; down++)
            if (h->order[k] < h->hosts &&
                is_narrow(channel_above(v, h->order[k], down), v->tier[0].least[down]))
                v->w->model->link[h->up[h->order[k]] / 2].suspect = true;
}

/* Sets bounds, oversubscription, suspects and bisection from the channels. A channel is effective
 * if it was odd in odd_rounds rounds or more. */
static int finish_network(struct pass *p, struct nt_err *err)
{
    struct flows *w = p->work;
    size_t n = w->rooted->vertices + 1;
    NT_SCOPED struct nt_arena memory = {0};
    struct view v = {.w = w};
    v.height = nt_arena_array(&memory, n, sizeof *v.height);
    v.below[0] = nt_arena_array(&memory, n, sizeof **v.below);
    v.below[1] = nt_arena_array(&memory, n, sizeof **v.below);
    v.tier = nt_arena_array(&memory, n, sizeof *v.tier);
    v.beside = nt_arena_array(&memory, w->rounds + 1, sizeof *v.beside);
    v.value = nt_arena_array(&memory, n, sizeof *v.value);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    if (!w->rooted->tree) {
        set_plain_bounds(w);
        if (w->model->switches > 0)
            set_plain_suspects(&v, p);
        return 0;
    }
    find_heights(&v);
    find_demand(&v, false);
    set_bounds(&v);
    find_tiers(&v);
    find_relative(&v, p);
    set_suspects(&v);
    find_demand(&v, true);
    set_oversubscription(&v);
    for (size_t k = 1; k < w->rooted->reached; k++) {
        uint32_t c = w->rooted->order[k];
        if (c >= w->rooted->hosts)
            mark_asymmetric(&v, c, v.tier[v.height[c]].slope);
    }
    return 0;
}

/* ---- all together ---- */

static int solve_channels(struct pass *p, struct nt_err *err)
{
    const struct nt_flow_round *round = p->work->round;
    size_t rounds = p->work->rounds;
    for (size_t r = 0; r < rounds; r++) {
        load_round(p, &round[r]);
        keep_most(p);
    }
    if (estimate_noise(p, err) != 0)
        return -1;
    for (size_t r = 0; r < rounds; r++) {
        load_round(p, &round[r]);
        sum_plateau(p);
    }
    set_values(p);
    for (size_t r = 0; r < rounds; r++) {
        load_round(p, &round[r]);
        judge_round(p, &round[r]);
    }
    for (size_t r = 0; r < rounds; r++) {
        load_round(p, &round[r]);
        judge_hosts(p, &round[r]);
    }
    for (size_t r = 0; r < rounds; r++) {
        load_round(p, &round[r]);
        find_loaded(p);
    }
    for (size_t c = 0; c < 2 * p->work->rooted->links; c++)
        p->work->channel[c].odd = 0; /* again, without rounds that other load explains */
    for (size_t r = 0; r < rounds; r++) {
        load_round(p, &round[r]);
        judge_round(p, &round[r]);
    }
    bound_loaded(p);
    write_links(p->work);
    return finish_network(p, err) == 0 ? nt_bisection_find(p->work->model, p->work->rooted, err)
                                       : -1;
}

int nt_infer_flows(const struct nt_model *model, const struct nt_flow_round *round, size_t rounds,
                   struct nt_model **out, struct nt_err *err)
{
    struct flows w = {.round = round, .rounds = rounds};
    size_t channels = 2 * model->links;
    int rc = -1;
    if (nt_model_copy(model, &w.model, err) != 0 ||
        nt_rooted_tree_create(model, &w.rooted, err) != 0 ||
        nt_unique_paths_create(model, w.rooted, &w.paths, err) != 0) {
        nt_rooted_tree_destroy(w.rooted);
        nt_model_destroy(w.model);
        return -1;
    }
    NT_SCOPED struct nt_arena memory = {0};
    struct pass p = {.work = &w};
    w.channel = nt_arena_array(&memory, channels, sizeof *w.channel);
    p.tally = nt_arena_array(&memory, channels, sizeof *p.tally);
    p.path = nt_arena_array(&memory, nt_rooted_tree_room(w.rooted), sizeof *p.path);
    if (nt_arena_check(&memory, err) == 0) {
        for (size_t c = 0; c < channels; c++)
            w.channel[c] = (struct channel){
                .most = NAN, .second = NAN, .value = NAN, .se = NAN, .loaded = NAN};
        rc = solve_channels(&p, err);
    }
    nt_unique_paths_destroy(w.paths);
    nt_rooted_tree_destroy(w.rooted);
    if (rc == 0)
        *out = w.model;
    else
        nt_model_destroy(w.model);
    return rc;
}
