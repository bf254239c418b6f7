/* SPDX-License-Identifier: Apache-2.0 */
#include "bandwidth_work.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "memory.h"
#include "stats.h"

enum { MESSAGES = 128, WINDOW = 16, MESSAGE_MIN = 4 * 1024, MESSAGE_MAX = 1024 * 1024 };
enum { WARM_UP_BYTES = 16 * 1024 };

static const double WINDOW_S = 0.3, SHORTEST_S = 0.01, WARM_UP_S = 0.04;
/* A window holds this many transfers of 1 MiB where it may: then the start of a flow and its last
 * messages are a few percent of it. On slow links that takes long for what it adds: rates are as
 * near the links' own after ENOUGH_S, where MESSAGES have come (tests/bench levels). */
static const double TRANSFERS = 8, TRANSFER_BYTES = 1048576, ENOUGH_S = 0.12;
/* One flow alone is this much faster than among all: the network cannot carry all at once. Then a
 * round's flows stay below a share of what all had together. */
static const double crowded = 1.2, uncrowded_share = 0.9, undisturbed = 0.93;

/* ---- rounds ---- */

/* Links between hosts: a network of switches may have none. */
static void plan_links(struct nt_bw *b, uint32_t colour)
{
    for (size_t k = 0; k < b->rooted->links; k++) {
        const uint32_t *end = b->rooted->ends[k];
        if (b->colour[k] == colour && end[0] < b->rooted->hosts && end[1] < b->rooted->hosts)
            nt_flow_schedule_join(&b->schedule, end[0], end[1]);
    }
}

/* Every round of neighbours has one flow a host's link, so what all had in one and not in another
 * was taken from outside: that round is worth another try. */
static bool was_disturbed(const struct nt_bw *b, const struct nt_bw_step *round)
{
    double best = 0;
    for (size_t k = 0; k < b->steps; k++)
        best = fmax(best, b->plan[k].kind == SHIFT ? b->plan[k].middle_MBps : 0);
    return round->middle_MBps < undisturbed * best;
}

static void plan_step(struct nt_bw *b, const struct nt_bw_step *s)
{
    struct nt_flow_schedule *d = &b->schedule;
    nt_flow_schedule_clear(d);
    switch (s->kind) {
    case WARM_UP:
        nt_flow_schedule_shift(d, 0, SIZE_MAX);
        if (d->pairs == 0)
            plan_links(b, 0);
        break;
    case ALONE:
        if (b->first[0] != b->first[1])
            nt_flow_schedule_join(d, b->first[0], b->first[1]);
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
        nt_bw_repeat_hosts(b, s->index, s->back);
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
        nt_bw_mark_narrow_groups(b, s->height, s->back);
        nt_flow_schedule_again(d, &b->fan, s->height, b->marked);
        break;
    case PAIRS:
        nt_flow_schedule_pairs(d, &b->fan, s->height, (int)s->parity, SIZE_MAX);
        break;
    case CHECK:
        /* two that agree soon after each other may have met the same */
        if (s->parity == 0 || nt_bw_is_unsettled(b, &b->plan[s->index]))
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
        nt_flow_schedule_turn(d);
}

static double window_s(const struct nt_bw *b)
{
    double rate = b->rate_MBps * 1e6, window = b->options.window_s;
    if (!isnan(rate))
        window = fmax(fmin(TRANSFERS * TRANSFER_BYTES / rate, ENOUGH_S),
                      MESSAGES * (double)MESSAGE_MIN / rate);
    return fmin(fmax(window, b->options.shortest_s), b->options.window_s);
}

/* So many that what is under way, WINDOW of them, is a small part of the window. */
static double message_bytes(const struct nt_bw *b, double window)
{
    double bytes = isnan(b->rate_MBps) ? 0 : b->rate_MBps * 1e6 * window / MESSAGES, size;
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
                               .message_bytes = warm ? WARM_UP_BYTES : message_bytes(b, window),
                               .batches = 1,
                               .count = WINDOW,
                               .window_s = window};
    snprintf(order->phase, sizeof order->phase, "%s", nt_bw_phase(s));
}

static int bandwidth_next(struct nt_planner *planner, struct nt_order *order, struct nt_err *err)
{
    struct nt_bw *b = (struct nt_bw *)planner;
    (void)err;
    while (b->next_part == b->parts && b->step < b->steps) {
        plan_step(b, &b->plan[b->step]);
        nt_bw_split(b, &b->plan[b->step++]);
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
        *b->options.seen = (struct nt_bandwidth_seen){b->rate_MBps, b->limit_MBps};
}

static void learn_alone(struct nt_bw *b, const struct nt_result *results, size_t n)
{
    learn_rate(b, results, n);
    if (n == 1 && rate_of(results) > crowded * b->first_MBps)
        b->limit_MBps = uncrowded_share * b->together_MBps;
    note_seen(b);
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
    for (size_t c = 0; c < 2 * b->rooted->links; c++)
        b->load[c] = NAN;
    for (size_t k = 0; k < n; k++) {
        const struct nt_result *r = &results[k];
        size_t path = rate_of(r) > 0 ? nt_rooted_tree_path(b->rooted, r->a, r->b, b->channel) : 0;
        for (size_t i = 0; i < path; i++) {
            double *load = &b->load[b->channel[i]];
            *load = (isnan(*load) ? 0 : *load) + rate_of(r);
        }
    }
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
    b->most = nt_arena_array(&b->base.memory, 2 * links, sizeof *b->most);
    b->second = nt_arena_array(&b->base.memory, 2 * links, sizeof *b->second);
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
    for (size_t c = 0; c < 2 * b->rooted->links; c++)
        b->most[c] = b->second[c] = NAN;
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
        nt_flow_schedule_init(&b->schedule, b->rooted, b->options.max_load, err) != 0 ||
        nt_fan_init(&b->fan, b->rooted, err) != 0 || allocate_steps(b, err) != 0)
        goto fail;
    if (b->options.seen != NULL && b->options.seen->rate_MBps > 0) {
        b->rate_MBps = b->options.seen->rate_MBps;
        b->limit_MBps = b->options.seen->limit_MBps;
    }
    for (size_t h = 0; h < model->hosts; h++)
        b->schedule.missing[h] = model->missing[h] || (missing != NULL && missing[h]);
    if (nt_bw_program(b, err) != 0)
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
           s->kind == CHECK;
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
    if (b->step > 0 && (phase == NULL || strcmp(nt_bw_phase(&b->plan[b->step - 1]), phase) == 0))
        left = b->parts - b->next_part;
    for (size_t k = b->step; k < b->steps; k++)
        if (phase == NULL || strcmp(nt_bw_phase(&b->plan[k]), phase) == 0)
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
