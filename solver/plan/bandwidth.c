#include "bandwidth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bandwidth_draft.h"
#include "stats.h"

enum { MESSAGES = 64, WINDOW = 8, MESSAGE_MIN = 16 * 1024, MESSAGE_MAX = 1024 * 1024 };
enum { AGAIN = 2 };

static const double WINDOW_S = 0.3, SHORTEST_S = 0.01, WARM_UP_S = 0.02;
/* A window holds this many transfers of 1 MiB where it may: then the start of a flow and its last
 * messages are a few percent of it. */
static const double TRANSFERS = 8, TRANSFER_BYTES = 1048576;
static const double sd_limit = 4, sd_floor = 0.0125, group_limit = 0.93;

enum kind {
    WARM_UP,
    SHIFT,
    SHIFT_AGAIN,
    LINKS,
    FAN,
    SPILL,
    FAN_AGAIN,
    PAIRS,
    SHIFT_LADDER,
    LADDER
};

struct step {
    enum kind kind;
    uint32_t height, index, parity;
    bool back; /* the other direction */
};

struct bandwidth {
    struct nt_planner base;
    struct nt_bandwidth_options options;
    struct nt_hang *hang;
    struct nt_draft draft;
    struct nt_fan fan;
    uint32_t *colour; /* links between hosts: in which round of disjoint links; else UINT32_MAX */
    size_t steps, steps_cap, step;
    struct step *plan;
    double *most;      /* channels: the most that a round carried; NaN */
    double *load;      /* channels: of a round */
    uint32_t *channel; /* room for a path */
    bool *marked;      /* vertices */
    float *value;      /* vertices: scratch for medians */
    double rate_MBps;  /* of a flow, median of the rounds at host links; NaN */
};

/* ---- the programme ---- */

static const char *phase_of(const struct step *s)
{
    switch (s->kind) {
    case WARM_UP:
        return "warm-up";
    case SHIFT:
    case SHIFT_AGAIN:
    case LINKS:
        return "host-links";
    case FAN:
    case SPILL:
    case FAN_AGAIN:
    case PAIRS:
        return "tiers";
    case SHIFT_LADDER:
    case LADDER:
        break;
    }
    return "ladder";
}

static int add(struct bandwidth *b, struct step s, struct nt_err *err)
{
    if (b->steps == b->steps_cap) {
        size_t cap = b->steps_cap * 2 + 64;
        struct step *plan = realloc(b->plan, cap * sizeof *plan);
        if (plan == NULL)
            return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu rounds", cap);
        b->plan = plan;
        b->steps_cap = cap;
    }
    b->plan[b->steps++] = s;
    return 0;
}

static int add_both(struct bandwidth *b, struct step s, struct nt_err *err)
{
    s.back = false;
    if (add(b, s, err) != 0)
        return -1;
    s.back = true;
    return add(b, s, err);
}

/* Links between hosts: each gets the first round in which both ends are free (Vizing's bound is
 * the largest degree plus one; this greedy one needs less than twice the degree). */
static int colour_links(struct bandwidth *b, struct nt_err *err)
{
    const struct nt_hang *h = b->hang;
    uint32_t colours = 0;
    for (size_t k = 0; k < h->links; k++) {
        const uint32_t *ends = h->ends[k];
        b->colour[k] = UINT32_MAX;
        if (ends[0] >= h->hosts || ends[1] >= h->hosts)
            continue;
        for (uint32_t c = 0, used = 1; used; c++) {
            used = 0;
            for (int e = 0; e < 2; e++)
                for (uint32_t i = h->near[ends[e]]; i < h->near[ends[e] + 1]; i++)
                    used |= h->at[i] < k && b->colour[h->at[i]] == c;
            if (!used)
                b->colour[k] = c;
        }
        colours = b->colour[k] + 1 > colours ? b->colour[k] + 1 : colours;
    }
    for (uint32_t c = 0; c < colours; c++)
        if (add_both(b, (struct step){.kind = LINKS, .index = c}, err) != 0)
            return -1;
    return 0;
}

/* The most hosts that any switch has for itself. */
static size_t most_at_a_switch(const struct nt_hang *h)
{
    size_t most = 0;
    for (size_t v = h->hosts; v < h->vertices; v++) {
        size_t n = 0;
        for (uint32_t i = h->near[v]; i < h->near[v + 1]; i++)
            n += h->ends[h->at[i]][0] < h->hosts || h->ends[h->at[i]][1] < h->hosts;
        most = n > most ? n : most;
    }
    return most;
}

static int plan_host_links(struct bandwidth *b, struct nt_err *err)
{
    size_t most = most_at_a_switch(b->hang);
    for (uint32_t parity = 0; parity < 2 && most >= 2u + parity; parity++)
        if (add_both(b, (struct step){.kind = SHIFT, .parity = parity}, err) != 0)
            return -1;
    for (uint32_t k = 0; k < AGAIN && most > 0; k++)
        if (add_both(b, (struct step){.kind = SHIFT_AGAIN, .index = k}, err) != 0)
            return -1;
    return colour_links(b, err);
}

static int plan_fans(struct bandwidth *b, uint32_t height, struct nt_err *err)
{
    const struct nt_hang *h = b->hang;
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
        if (add_both(b, (struct step){.kind = FAN, .height = height, .index = t}, err) != 0)
            return -1;
    for (uint32_t t = 0; t < tight_turns; t++)
        for (uint32_t parity = 0; parity < 2 && parity < seats; parity++)
            if (add_both(b, (struct step){SPILL, height, t, parity, false}, err) != 0)
                return -1;
    return add_both(b, (struct step){.kind = FAN_AGAIN, .height = height}, err);
}

static uint32_t highest(const struct bandwidth *b)
{
    uint32_t top = b->fan.highest;
    return b->options.highest > 0 && b->options.highest + 1 < top ? b->options.highest + 1 : top;
}

static int plan_tiers(struct bandwidth *b, struct nt_err *err)
{
    for (uint32_t height = 2; height <= highest(b); height++)
        if (plan_fans(b, height, err) != 0)
            return -1;
    for (uint32_t height = 2; height <= highest(b); height++)
        for (uint32_t parity = 0; parity < 2; parity++)
            if (add_both(b, (struct step){PAIRS, height, 0, parity, false}, err) != 0)
                return -1;
    return 0;
}

static int plan_ladder(struct bandwidth *b, struct nt_err *err)
{
    size_t hosts = most_at_a_switch(b->hang);
    for (size_t k = 1; k < hosts / 2; k *= 2)
        if (add(b, (struct step){.kind = SHIFT_LADDER, .index = (uint32_t)k}, err) != 0)
            return -1;
    for (uint32_t height = 2; height <= highest(b); height++) {
        nt_draft_clear(&b->draft);
        size_t flows = nt_draft_pairs(&b->draft, &b->fan, height, 0, SIZE_MAX);
        for (size_t k = 1; k < flows; k *= 2)
            if (add(b, (struct step){.kind = LADDER, .height = height, .index = (uint32_t)k},
                    err) != 0)
                return -1;
    }
    return 0;
}

static int plan_all(struct bandwidth *b, struct nt_err *err)
{
    unsigned phases = b->options.phases;
    if (add(b, (struct step){.kind = WARM_UP}, err) != 0)
        return -1;
    if ((phases & NT_BANDWIDTH_HOST_LINKS) && plan_host_links(b, err) != 0)
        return -1;
    if ((phases & NT_BANDWIDTH_TIERS) && plan_tiers(b, err) != 0)
        return -1;
    return (phases & NT_BANDWIDTH_LADDER) ? plan_ladder(b, err) : 0;
}

/* ---- what was found so far ---- */

/* The value of the middle or just above it: of two, the larger. */
static double upper_median(float *value, size_t n)
{
    return n == 0 ? NAN : (double)nt_stats_select(value, n, n / 2);
}

/* The channel out of host h (or into it): its first link's. */
static uint32_t host_channel(const struct nt_hang *g, uint32_t host, bool into)
{
    uint32_t i = g->near[host];
    if (i == g->near[host + 1])
        return UINT32_MAX;
    uint32_t out = 2 * g->at[i] + (g->ends[g->at[i]][0] == host ? 0 : 1);
    return into ? nt_channel_back(out) : out;
}

static double host_value(const struct bandwidth *b, uint32_t host, bool into)
{
    uint32_t c = host_channel(b->hang, host, into);
    return c == UINT32_MAX ? (double)NAN : b->most[c];
}

/* The hosts' typical value at a switch, with the limit under which one is looked at again. */
static double leaf_limit(struct bandwidth *b, uint32_t leaf, bool into)
{
    const struct nt_hang *h = b->hang;
    size_t n = 0;
    for (uint32_t i = h->near[leaf]; i < h->near[leaf + 1]; i++) {
        const uint32_t *ends = h->ends[h->at[i]];
        uint32_t w = ends[0] == leaf ? ends[1] : ends[0];
        double v = w < h->hosts ? host_value(b, w, into) : (double)NAN;
        if (!isnan(v))
            b->value[n++] = (float)v;
    }
    if (n < 3) { /* too few for a median: against all hosts */
        n = 0;
        for (uint32_t w = 0; w < h->hosts; w++)
            if (!isnan(host_value(b, w, into)))
                b->value[n++] = (float)host_value(b, w, into);
    }
    double middle = upper_median(b->value, n);
    double sd = n == 0 ? 0 : (double)nt_stats_mad(b->value, n);
    return middle - sd_limit * fmax(fmin(sd, 0.1 * middle), sd_floor * middle);
}

/* The free host with the most in the direction that is not in doubt: first at the same switch,
 * then anywhere. Ties go to who comes `turn` places later, so that a repetition has another. */
static uint32_t best_partner(const struct bandwidth *b, uint32_t host, uint32_t leaf, bool into,
                             size_t turn)
{
    const struct nt_hang *h = b->hang;
    uint32_t best = NT_NO_VERTEX;
    double most = 0;
    for (int far = 0; far < 2 && best == NT_NO_VERTEX; far++)
        for (uint32_t k = 0; k < h->hosts; k++) {
            uint32_t w = (uint32_t)((host + 1 + turn + k) % h->hosts);
            uint32_t c = host_channel(h, w, false);
            if (w == host || c == UINT32_MAX || b->draft.busy[w] || b->draft.away[w] ||
                b->marked[w])
                continue;
            bool same = h->ends[c / 2][0] == leaf || h->ends[c / 2][1] == leaf;
            double v = host_value(b, w, !into);
            if (same == (far == 0) && (far == 0 || h->tree) && v > most * 1.02) {
                most = v;
                best = w;
            }
        }
    return best;
}

static void draw_shift_again(struct bandwidth *b, size_t turn, bool into)
{
    const struct nt_hang *h = b->hang;
    memset(b->marked, 0, h->vertices * sizeof *b->marked);
    for (uint32_t leaf = (uint32_t)h->hosts; leaf < h->vertices; leaf++) {
        double limit = leaf_limit(b, leaf, into);
        for (uint32_t i = h->near[leaf]; i < h->near[leaf + 1]; i++) {
            const uint32_t *ends = h->ends[h->at[i]];
            uint32_t w = ends[0] == leaf ? ends[1] : ends[0];
            if (w < h->hosts && !(host_value(b, w, into) >= limit))
                b->marked[w] = true;
        }
    }
    for (uint32_t leaf = (uint32_t)h->hosts; leaf < h->vertices; leaf++)
        for (uint32_t i = h->near[leaf]; i < h->near[leaf + 1]; i++) {
            const uint32_t *ends = h->ends[h->at[i]];
            uint32_t w = ends[0] == leaf ? ends[1] : ends[0];
            if (w >= h->hosts || !b->marked[w] || b->draft.away[w])
                continue;
            uint32_t partner = best_partner(b, w, leaf, into, turn);
            if (partner != NT_NO_VERTEX)
                nt_draft_join(&b->draft, into ? partner : w, into ? w : partner);
        }
}

/* What the hosts below v could send (or take) together. */
static double demand(const struct bandwidth *b, uint32_t v, bool into)
{
    const struct nt_hang *h = b->hang;
    double sum = 0;
    for (uint32_t k = h->head[v]; k < h->tail[v]; k++) {
        double value = host_value(b, h->host[k], into);
        sum += isnan(value) || b->draft.away[h->host[k]] ? 0 : value;
    }
    return sum;
}

static double group_value(const struct bandwidth *b, uint32_t v, bool into)
{
    uint32_t up = b->hang->up[v];
    return b->most[into ? nt_channel_back(up) : up];
}

/* Groups that carried less than the others and less than their hosts could. */
static void mark_groups(struct bandwidth *b, uint32_t height, bool into)
{
    const struct nt_hang *h = b->hang;
    memset(b->marked, 0, h->vertices * sizeof *b->marked);
    for (size_t k = 0; k < h->reached; k++) {
        uint32_t p = h->order[k];
        size_t n = 0;
        if (b->fan.height[p] != height)
            continue;
        for (uint32_t i = h->first[p]; i < h->first[p + 1]; i++) {
            uint32_t c = h->child[i];
            if (c >= h->hosts && !isnan(group_value(b, c, into)))
                b->value[n++] = (float)group_value(b, c, into);
        }
        double middle = upper_median(b->value, n);
        for (uint32_t i = h->first[p]; i < h->first[p + 1]; i++) {
            uint32_t c = h->child[i];
            if (c < h->hosts || nt_hang_count(h, c) == 0)
                continue;
            double value = group_value(b, c, into);
            double limit = group_limit * fmin(middle, demand(b, c, into));
            b->marked[c] = isnan(value) || value < limit;
            b->draft.quality[c] = isnan(value) || !(value < limit) ? 1 : fmax(value / middle, 0.05);
        }
    }
}

/* ---- rounds ---- */

static void draw_links(struct bandwidth *b, uint32_t colour)
{
    for (size_t k = 0; k < b->hang->links; k++)
        if (b->colour[k] == colour)
            nt_draft_join(&b->draft, b->hang->ends[k][0], b->hang->ends[k][1]);
}

static void draw(struct bandwidth *b, const struct step *s)
{
    struct nt_draft *d = &b->draft;
    nt_draft_clear(d);
    switch (s->kind) {
    case WARM_UP:
        nt_draft_shift(d, 0, SIZE_MAX);
        if (d->pairs == 0)
            draw_links(b, 0);
        break;
    case SHIFT:
        nt_draft_shift(d, (int)s->parity, SIZE_MAX);
        break;
    case SHIFT_AGAIN:
        draw_shift_again(b, s->index, s->back);
        return; /* has its direction */
    case LINKS:
        draw_links(b, s->index);
        break;
    case FAN:
        nt_draft_fan(d, &b->fan, s->height, s->index);
        break;
    case SPILL:
        nt_draft_spill(d, &b->fan, s->height, s->index, s->parity);
        break;
    case FAN_AGAIN:
        mark_groups(b, s->height, s->back);
        nt_draft_again(d, &b->fan, s->height, b->marked);
        break;
    case PAIRS:
        nt_draft_pairs(d, &b->fan, s->height, (int)s->parity, SIZE_MAX);
        break;
    case SHIFT_LADDER:
        nt_draft_shift(d, 0, s->index);
        break;
    case LADDER:
        nt_draft_pairs(d, &b->fan, s->height, 0, s->index);
        break;
    }
    if (s->back)
        nt_draft_turn(d);
}

static double window_s(const struct bandwidth *b)
{
    double transfer_s = TRANSFER_BYTES / (b->rate_MBps * 1e6);
    double window = isnan(b->rate_MBps) ? b->options.window_s : TRANSFERS * transfer_s;
    return fmin(fmax(window, b->options.shortest_s), b->options.window_s);
}

/* So many that the last ones under way are a small part of the window. */
static double message_bytes(const struct bandwidth *b, double window)
{
    double bytes = isnan(b->rate_MBps) ? 0 : b->rate_MBps * 1e6 * window / MESSAGES, size;
    for (size = MESSAGE_MIN; size * 2 <= bytes && size < MESSAGE_MAX;)
        size *= 2;
    return size;
}

static void fill(struct bandwidth *b, const struct step *s, struct nt_order *order)
{
    double window = s->kind == WARM_UP ? fmin(WARM_UP_S, b->options.window_s) : window_s(b);
    *order = (struct nt_order){.kind = NT_ORDER_BANDWIDTH,
                               .pairs = b->draft.pairs,
                               .pair = b->draft.pair,
                               .message_bytes = message_bytes(b, window),
                               .batches = 1,
                               .count = WINDOW,
                               .window_s = window};
    snprintf(order->phase, sizeof order->phase, "%s", phase_of(s));
}

static int next(struct nt_planner *planner, struct nt_order *order, struct nt_err *err)
{
    struct bandwidth *b = (struct bandwidth *)planner;
    (void)err;
    while (b->step < b->steps) {
        const struct step *s = &b->plan[b->step++];
        draw(b, s);
        if (b->draft.pairs == 0)
            continue;
        fill(b, s, order);
        return 1;
    }
    return 0;
}

static void learn_rate(struct bandwidth *b, const struct nt_result *results, size_t n)
{
    size_t flows = 0;
    for (size_t k = 0; k < n && flows < b->hang->hosts; k++)
        if (results[k].ok && results[k].value_us > 0 && results[k].bytes > 0)
            b->value[flows++] = (float)(results[k].bytes / results[k].value_us);
    if (flows > 0)
        b->rate_MBps = upper_median(b->value, flows);
}

static int tell(struct nt_planner *planner, const struct nt_result *results, size_t n,
                struct nt_err *err)
{
    struct bandwidth *b = (struct bandwidth *)planner;
    (void)err;
    if (b->step == 0)
        return 0;
    enum kind kind = b->plan[b->step - 1].kind;
    if (kind == WARM_UP || kind == SHIFT || kind == LINKS)
        learn_rate(b, results, n);
    if (kind == WARM_UP)
        return 0;
    for (size_t c = 0; c < 2 * b->hang->links; c++)
        b->load[c] = NAN;
    for (size_t k = 0; k < n; k++) {
        const struct nt_result *r = &results[k];
        if (!r->ok || !(r->value_us > 0))
            continue;
        size_t path = nt_hang_path(b->hang, r->a, r->b, b->channel);
        for (size_t i = 0; i < path; i++) {
            double *load = &b->load[b->channel[i]];
            *load = (isnan(*load) ? 0 : *load) + r->bytes / r->value_us;
        }
    }
    for (size_t c = 0; c < 2 * b->hang->links; c++)
        if (!(b->most[c] >= b->load[c]) && !isnan(b->load[c]))
            b->most[c] = b->load[c];
    return 0;
}

static void lose(struct nt_planner *planner, uint32_t host)
{
    struct bandwidth *b = (struct bandwidth *)planner;
    if (host < b->hang->hosts)
        b->draft.away[host] = true;
}

static void destroy(struct nt_planner *planner)
{
    struct bandwidth *b = (struct bandwidth *)planner;
    nt_hang_destroy(b->hang);
    nt_draft_fini(&b->draft);
    nt_fan_fini(&b->fan);
    free(b->colour);
    free(b->plan);
    free(b->most);
    free(b->load);
    free(b->channel);
    free(b->marked);
    free(b->value);
    free(b);
}

static const struct nt_planner_ops OPS = {next, tell, lose, destroy};

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

static int allocate(struct bandwidth *b, struct nt_err *err)
{
    size_t v = b->hang->vertices + 1, links = b->hang->links + 1;
    b->colour = malloc(links * sizeof *b->colour);
    b->most = malloc(2 * links * sizeof *b->most);
    b->load = malloc(2 * links * sizeof *b->load);
    b->channel = malloc(nt_hang_room(b->hang) * sizeof *b->channel);
    b->marked = calloc(v, sizeof *b->marked);
    b->value = malloc(v * sizeof *b->value);
    if (!b->colour || !b->most || !b->load || !b->channel || !b->marked || !b->value)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for the bandwidths of %zu hosts",
                          b->hang->hosts);
    for (size_t c = 0; c < 2 * b->hang->links; c++)
        b->most[c] = NAN;
    return 0;
}

int nt_bandwidth_create(const struct nt_model *model, const bool *absent,
                        const struct nt_bandwidth_options *options, struct nt_planner **out,
                        struct nt_err *err)
{
    struct bandwidth *b = calloc(1, sizeof *b);
    if (b == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for the bandwidths of %zu hosts",
                          model->hosts);
    b->base.ops = &OPS;
    b->rate_MBps = NAN;
    if (options != NULL)
        b->options = *options;
    if (check_options(&b->options, err) != 0 || nt_hang_create(model, &b->hang, err) != 0 ||
        nt_draft_init(&b->draft, b->hang, b->options.max_load, err) != 0 ||
        nt_fan_init(&b->fan, b->hang, err) != 0 || allocate(b, err) != 0)
        goto fail;
    for (size_t h = 0; h < model->hosts; h++)
        b->draft.away[h] = model->missing[h] || (absent != NULL && absent[h]);
    if (plan_all(b, err) != 0)
        goto fail;
    *out = &b->base;
    return 0;
fail:
    destroy(&b->base);
    return -1;
}

size_t nt_bandwidth_rounds_left(const struct nt_planner *planner)
{
    const struct bandwidth *b = (const struct bandwidth *)planner;
    return b->steps - b->step;
}

size_t nt_bandwidth_phase_left(const struct nt_planner *planner, const char *phase)
{
    const struct bandwidth *b = (const struct bandwidth *)planner;
    size_t left = 0;
    for (size_t k = b->step; k < b->steps; k++)
        left += strcmp(phase_of(&b->plan[k]), phase) == 0;
    return left;
}

double nt_bandwidth_window_s(const struct nt_planner *planner)
{
    return window_s((const struct bandwidth *)planner);
}
