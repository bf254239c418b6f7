/* SPDX-License-Identifier: Apache-2.0 */
#include "flow_links.h"

#include <math.h>

#include "flow_work.h"
#include "memory.h"
#include "rng.h"
#include "stats.h"

/* A link this full is a flow's bottleneck; where one is nearly full, or a host's link nearly
 * reached, no other link is taken for it: noise must not turn a link that carries what another lets
 * through into a bottleneck. */
static const double edge = 0.99, plateau = 0.95, full = 0.96, nearly_full = 0.90,
                    nearly_full_few = 0.75;
/* The gap between the two best of a few normal values, in sd (1.1 for two, 0.5 for ten). */
static const double top_gap = 0.7, gap_most = 0.05;
/* Flows that share a bottleneck are alike, as far as TCP is fair. */
static const double among_largest = 0.75, much_less = 0.6;
static const double certain_share = 0.3, odd_share = 0.3;
static const unsigned odd_rounds = 2;
/* A bottleneck with the same flows passes the same: where it passed less by this and 6 sd of a
 * flow, something else was in its way. */
static const double loaded_margin = 0.15, loaded_sd = 6;

struct tally {
    double load, largest, sum, squares, claimed;
    size_t flows, full, odd, rounds;
    uint64_t which; /* of the flows, the sum of a word each */
};

struct pass {
    struct flow_work *work;
    struct tally *tally; /* channels */
    uint32_t *path;
};

static double rate_of(const struct nt_flow_seen *f)
{
    return isfinite(f->rate_MBps) && f->rate_MBps > 0 ? f->rate_MBps : 0;
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
    for (size_t k = 0; k < round->flows; k++) {
        const struct nt_flow_seen *f = &round->flow[k];
        size_t n = rate_of(f) > 0 ? nt_rooted_tree_path(h, f->from, f->to, p->path) : 0;
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
        struct flow_channel *channel = &p->work->channel[c];
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
        const struct flow_channel *channel = &p->work->channel[c];
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
        double off = t->load - p->work->channel[c].most; /* squares of what is left stay exact */
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
        struct flow_channel *channel = &p->work->channel[c];
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
    const struct flow_channel *channel = p->work->channel;
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

/* In this round, the link was a bottleneck that something else used, too. */
static bool is_loaded_now(const struct pass *p, uint32_t c)
{
    const struct flow_channel *channel = &p->work->channel[c];
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
        double rate = rate_of(&round->flow[k]);
        size_t n =
            rate > 0 ? nt_rooted_tree_path(h, round->flow[k].from, round->flow[k].to, p->path) : 0;
        if (n > 0)
            judge_inner(p, n, rate);
    }
    for (size_t c = 0; c < 2 * h->links; c++) {
        const struct tally *t = &p->tally[c];
        struct flow_channel *channel = &p->work->channel[c];
        if (t->flows == 0 || !is_inner(h, (uint32_t)c))
            continue;
        if ((double)t->full >= certain_share * (double)t->flows ||
            t->claimed >= certain_share * t->load)
            channel->certified = channel->alone = true;
        if (t->flows > 1 && (double)t->odd >= odd_share * (double)t->flows)
            channel->odd++;
    }
}

/* A host's link: reached while nothing between the switches held the flow back, or could have: a
 * link that several flows shared, as full as it ever was. It is the only explanation where the link
 * at the other end could have carried more. Of two hosts of one speed it is never known which one
 * limits the flow: both count. */
static void judge_hosts(struct pass *p, const struct nt_flow_round *round)
{
    const struct nt_rooted_tree *h = p->work->rooted;
    struct flow_channel *channel = p->work->channel;
    for (size_t k = 0; k < round->flows; k++) {
        double rate = rate_of(&round->flow[k]);
        size_t n =
            rate > 0 ? nt_rooted_tree_path(h, round->flow[k].from, round->flow[k].to, p->path) : 0;
        bool held = n == 0;
        for (size_t i = 0; i < n; i++) {
            uint32_t c = p->path[i];
            bool could = channel[c].certified || p->tally[c].flows > 1;
            held = held || (is_inner(h, c) && could && channel_fullness(p, c) >= nearly_full);
        }
        for (size_t e = 0; !held && e < 2; e++) {
            struct flow_channel *own = &channel[p->path[e * (n - 1)]];
            const struct flow_channel *other = &channel[p->path[(1 - e) * (n - 1)]];
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
        struct flow_channel *channel = &p->work->channel[c];
        if (is_inner(p->work->rooted, (uint32_t)c) && channel->certified && t->flows > 0 &&
            t->which == channel->flows && t->load < (1 - margin) * channel->most &&
            !(channel->loaded <= t->load))
            channel->loaded = t->load;
    }
}

/* A loaded link had at least what passed. Two best rounds that agree had no other traffic. */
static void bound_loaded(struct pass *p)
{
    for (size_t c = 0; c < 2 * p->work->rooted->links; c++) {
        struct flow_channel *channel = &p->work->channel[c];
        if (channel->loaded > 0 && !(channel->second >= plateau * channel->most))
            channel->certified = channel->alone = false;
    }
}

static void write_links(const struct flow_work *w)
{
    for (size_t k = 0; k < w->model->links; k++) {
        struct nt_link *l = &w->model->link[k];
        const struct flow_channel *forth = &w->channel[2 * k], *back = forth + 1;
        l->bandwidth_MBps = forth->value;
        l->bandwidth_back_MBps = back->value;
        l->bandwidth_se_MBps = forth->se;
        l->bandwidth_back_se_MBps = back->se;
        l->loaded_MBps = fmin(forth->loaded, back->loaded);
        l->loaded_MBps = isnan(l->loaded_MBps) ? 0 : l->loaded_MBps;
        l->at_least = l->forth_at_least = l->back_at_least = l->effective = false;
    }
}

static int solve_channels(struct pass *p, const struct nt_flow_round *round, size_t rounds,
                          struct nt_err *err)
{
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
        p->work->channel[c].odd = 0; /* again, with what load explains */
    for (size_t r = 0; r < rounds; r++) {
        load_round(p, &round[r]);
        judge_round(p, &round[r]);
    }
    bound_loaded(p);
    write_links(p->work);
    return nt_flow_finish(p->work, odd_rounds, err);
}

int nt_infer_flows(const struct nt_model *model, const struct nt_flow_round *round, size_t rounds,
                   struct nt_model **out, struct nt_err *err)
{
    struct flow_work w = {0};
    size_t channels = 2 * model->links;
    int rc = -1;
    if (nt_model_copy(model, &w.model, err) != 0 ||
        nt_rooted_tree_create(model, &w.rooted, err) != 0) {
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
            w.channel[c] = (struct flow_channel){
                .most = NAN, .second = NAN, .value = NAN, .se = NAN, .loaded = NAN};
        rc = solve_channels(&p, round, rounds, err);
    }
    nt_rooted_tree_destroy(w.rooted);
    if (rc == 0)
        *out = w.model;
    else
        nt_model_destroy(w.model);
    return rc;
}
