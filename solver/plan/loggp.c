/* SPDX-License-Identifier: Apache-2.0 */
#include "loggp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "loggp_paths.h"
#include "loggp_sizes.h"
#include "memory.h"

enum { REPEATS_MIN = 2, REPEATS_GOOD = 12, REPEATS_MAX = 200, FAILURES_MAX = 3 };

/* Times round_s, at most, for enough repetitions of a long message; if the time is short, once. */
static const double GOOD_ROUNDS = 8, SHORT_GOOD_ROUNDS = 1;

/* Ratios of the coarse sizes; the second if they would otherwise take more than SIZES_SHARE. */
static const double SIZE_RATIO = 4, SHORT_SIZE_RATIO = 16;

/* Shares of the time limit by which the sizes, the gaps and the check must be measured. */
static const double SIZES_SHARE = 0.45, GAP_SHARE = 0.65, CHECK_SHARE = 0.9;

static const double MAX_BYTES = 4 << 20, ROUND_S = 0.03, LONGEST_S = 2;

/* A set of classes on a rail. */
struct track {
    size_t rail, group;
    size_t runs;
    size_t class[NT_LOGGP_CLASSES_MAX]; /* runs of them */
    struct nt_loggp_series run[NT_LOGGP_CLASSES_MAX];
    enum nt_loggp_step step;
    struct nt_loggp_requests requests; /* of this step */
};

struct planner {
    struct nt_planner base;
    struct nt_path_classes classes;
    size_t hosts, rails, tracks;
    char rail[NT_LOGGP_RAILS_MAX + 1][32];
    double max_bytes, round_s, longest_s, seconds, round_overhead_s;
    double size_ratio;  /* of a coarse size to the one before */
    double good_rounds; /* see GOOD_ROUNDS */
    double used_s;      /* by the orders so far */
    double ordered_s;   /* of that, the expected duration of the last one */
    bool *lost;
    struct track *track;
    struct track *now; /* whose request was ordered last */
    struct nt_loggp_request ordered;
    uint32_t (*pair)[2]; /* NT_LOGGP_CLASSES_MAX */
};

/* ---- times ---- */
/* Duration of one PRTT of the request in the slowest of the track's classes, in s. */
static double turn_s(const struct track *t, const struct nt_loggp_request *request,
                     struct nt_point *scratch)
{
    double slowest = 0;
    for (size_t k = 0; k < t->runs; k++) {
        size_t n = nt_prtt_curve(t->run[k].m, t->run[k].n, scratch);
        double one = nt_curve_time_us(scratch, n, request->bytes);
        double next = fmax(request->delay_us, one);
        slowest = fmax(slowest, 2 * one + (request->count - 1) * next + request->hold_us);
    }
    return slowest * 1e-6;
}

static size_t longest_run(const struct track *t)
{
    size_t n = 0;
    for (size_t k = 0; k < t->runs; k++)
        n = t->run[k].n > n ? t->run[k].n : n;
    return n;
}

static uint32_t repeats_in_round(const struct planner *p, double turn)
{
    /* enough for a meaningful lowest tenth, if that does not take too long */
    double n = fmax(p->round_s / turn, fmin(REPEATS_GOOD, p->good_rounds * p->round_s / turn));
    return n < REPEATS_MIN ? REPEATS_MIN : n > REPEATS_MAX ? REPEATS_MAX : (uint32_t)n;
}

/* ---- the next step ----------------------------------------------------------------------- */
static bool all_closed(const struct track *t)
{
    for (size_t k = 0; k < t->runs; k++)
        if (!t->run[k].closed)
            return false;
    return true;
}

/* Advances the track until it has a request or is done. */
static int advance_track(const struct planner *p, struct track *t, struct nt_err *err)
{
    while (t->step != NT_STEP_DONE && t->requests.at == t->requests.n) {
        bool more = (t->step == NT_STEP_BETWEEN || t->step == NT_STEP_ENDS) && t->requests.n > 0;
        if (all_closed(t))
            t->step = NT_STEP_DONE;
        else if (!more)
            t->step++;
        t->requests.at = 0;
        if (t->step == NT_STEP_DONE)
            t->requests.n = 0;
        else if (nt_loggp_requests_make(t->step, t->run, t->runs, p->max_bytes, &t->requests,
                                        err) != 0)
            return -1;
    }
    return 0;
}

/* Fewer sizes with all other values are better than all sizes without overheads and check. The
 * coarse sizes, the overheads (of short messages) and the check are never left out. */
static void leave_out_sizes(const struct planner *p)
{
    for (size_t k = 0; k < p->tracks; k++) {
        struct track *t = &p->track[k];
        bool sizes = t->step == NT_STEP_BETWEEN || t->step == NT_STEP_ENDS;
        if (sizes && p->used_s > SIZES_SHARE * p->seconds)
            t->step = NT_STEP_ENDS;
        else if (t->step != NT_STEP_GAP || p->used_s <= GAP_SHARE * p->seconds)
            continue;
        t->requests.at = t->requests.n = 0;
    }
}

void nt_loggp_took(struct nt_planner *planner, double seconds)
{
    struct planner *p = (struct planner *)planner;
    if (seconds > 0)
        p->used_s += seconds - p->ordered_s;
    p->ordered_s = 0;
}

/* A round of gaps or of the check that would end too late is left out, so that it is not cut, since
 * all other results are in the map. */
static bool is_over(const struct planner *p, const struct track *t, double turn)
{
    double until = t->step == NT_STEP_GAP     ? GAP_SHARE
                   : t->step == NT_STEP_CHECK ? CHECK_SHARE
                                              : (double)INFINITY;
    return p->used_s + turn * repeats_in_round(p, turn) + p->round_overhead_s > until * p->seconds;
}

static struct track *least_advanced(struct planner *p)
{
    struct track *least = NULL;
    for (size_t k = 0; k < p->tracks; k++)
        if (p->track[k].step != NT_STEP_DONE && (least == NULL || p->track[k].step < least->step))
            least = &p->track[k];
    return least;
}

static void write_order(struct planner *p, const struct track *t, double turn,
                        struct nt_order *order)
{
    const struct nt_loggp_request *request = &p->ordered;
    bool check = t->step == NT_STEP_CHECK;
    *order = (struct nt_order){.kind = NT_ORDER_PRTT,
                               .pair = p->pair,
                               .message_bytes = request->bytes,
                               .batches = repeats_in_round(p, turn),
                               .count = request->count,
                               .delay_us = request->delay_us,
                               .hold_us = request->hold_us};
    order->window_s = turn * order->batches;
    p->ordered_s = order->window_s + p->round_overhead_s;
    p->used_s += p->ordered_s;
    memcpy(order->phase, check ? NT_LOGGP_CHECK_PHASE : NT_LOGGP_PHASE,
           check ? sizeof NT_LOGGP_CHECK_PHASE : sizeof NT_LOGGP_PHASE);
    memcpy(order->rail, p->rail[t->rail], sizeof order->rail);
    for (size_t k = 0; k < t->runs; k++) {
        const struct nt_path_class *class = &p->classes.class[t->class[k]];
        if (t->run[k].closed)
            continue;
        memcpy(p->pair[order->pairs++], class->candidate[class->chosen].pair, sizeof *p->pair);
    }
}

static int loggp_next(struct nt_planner *planner, struct nt_order *order, struct nt_err *err)
{
    struct planner *p = (struct planner *)planner;
    struct track *t;
    leave_out_sizes(p);
    while ((t = least_advanced(p)) != NULL) {
        if (t->requests.at == t->requests.n || all_closed(t)) {
            t->requests.at = t->requests.n;
            if (advance_track(p, t, err) != 0)
                return -1;
            continue;
        }
        NT_SCOPED struct nt_arena memory = {0};
        struct nt_point *scratch = nt_arena_array(&memory, longest_run(t), sizeof *scratch);
        if (nt_arena_check(&memory, err) != 0)
            return -1;
        p->ordered = t->requests.request[t->requests.at++];
        p->now = t;
        double turn = turn_s(t, &p->ordered, scratch);
        if (turn * REPEATS_MIN > p->longest_s || is_over(p, t, turn))
            continue;
        write_order(p, t, turn, order);
        return 1;
    }
    return 0;
}

/* ---- results ---- */
static struct nt_loggp_series *run_of(const struct planner *p, struct track *t,
                                      const struct nt_result *r)
{
    for (size_t k = 0; k < t->runs; k++) {
        const struct nt_path_class *class = &p->classes.class[t->class[k]];
        const uint32_t *pair = class->candidate[class->chosen].pair;
        if (pair[0] == r->a && pair[1] == r->b)
            return &t->run[k];
    }
    return NULL;
}

static int loggp_tell(struct nt_planner *planner, const struct nt_result *results, size_t n,
                      struct nt_err *err)
{
    struct planner *p = (struct planner *)planner;
    struct track *t = p->now;
    if (t == NULL)
        return 0;
    for (size_t k = 0; k < t->runs; k++)
        t->run[k].failures++;
    for (size_t i = 0; i < n; i++) {
        struct nt_loggp_series *run = run_of(p, t, &results[i]);
        if (run == NULL || !results[i].ok)
            continue;
        run->failures = 0;
        if (!(results[i].value_us > 0)) {
            nt_loggp_requests_repeat(&t->requests, &p->ordered);
            continue;
        }
        struct nt_prtt m = {.bytes = p->ordered.bytes,
                            .count = p->ordered.count,
                            .delay_us = p->ordered.delay_us,
                            .hold_us = p->ordered.hold_us,
                            .time_us = results[i].value_us,
                            .se_us = results[i].se_us,
                            .check = t->step == NT_STEP_CHECK};
        if (nt_loggp_series_add(run, m, err) != 0)
            return -1;
    }
    for (size_t k = 0; k < t->runs; k++)
        t->run[k].closed = t->run[k].closed || t->run[k].failures >= FAILURES_MAX;
    return 0;
}

static void close_class(struct planner *p, size_t class)
{
    for (size_t k = 0; k < p->tracks; k++)
        for (size_t r = 0; r < p->track[k].runs; r++)
            if (p->track[k].class[r] == class)
                p->track[k].run[r].closed = true;
}

static void loggp_lose(struct nt_planner *planner, uint32_t host)
{
    struct planner *p = (struct planner *)planner;
    if (host >= p->hosts || p->lost[host])
        return;
    p->lost[host] = true;
    for (size_t k = 0; k < p->classes.classes; k++) {
        const struct nt_path_class *class = &p->classes.class[k];
        const uint32_t *pair = class->candidate[class->chosen].pair;
        if ((pair[0] == host || pair[1] == host) && !nt_path_class_replace(&p->classes, k, p->lost))
            close_class(p, k);
    }
}

/* ---- how much is left ---- */
/* Usual rounds per step for a track without results, from several networks. */
static const size_t USUAL_ROUNDS[] = {
    [NT_STEP_COARSE] = 12, [NT_STEP_BETWEEN] = 24, [NT_STEP_ENDS] = 8,  [NT_STEP_GAP] = 10,
    [NT_STEP_SEND] = 3,    [NT_STEP_RECEIVE] = 4,  [NT_STEP_CHECK] = 12};

size_t nt_loggp_rounds_left(const struct nt_planner *planner, size_t *optional)
{
    const struct planner *p = (const struct planner *)planner;
    size_t rounds = 0, coarse = 0;
    for (size_t k = 0; k < p->tracks; k++) {
        const struct track *t = &p->track[k];
        if (t->step == NT_STEP_DONE || all_closed(t))
            continue;
        rounds += t->requests.n - t->requests.at;
        if (t->step == NT_STEP_COARSE)
            coarse += t->requests.n - t->requests.at;
        for (int step = (int)t->step + 1; step < NT_STEP_DONE; step++)
            rounds += USUAL_ROUNDS[step];
    }
    *optional = rounds - coarse;
    return rounds;
}

double nt_loggp_round_s(const struct nt_planner *planner)
{
    return ((const struct planner *)planner)->round_s;
}

/* ---- life ---- */
static void loggp_destroy(struct nt_planner *planner)
{
    struct planner *p = (struct planner *)planner;
    for (size_t k = 0; p->track != NULL && k < p->tracks; k++)
        for (size_t r = 0; r < p->track[k].runs; r++)
            free(p->track[k].run[r].m);
    nt_path_classes_fini(&p->classes);
    nt_object_destroy(p);
}

static const struct nt_planner_ops OPS = {loggp_next, loggp_tell, loggp_lose, loggp_destroy, NULL};

static int set_rails(struct planner *p, const struct nt_loggp_settings *s, struct nt_err *err)
{
    if (s->rails > NT_LOGGP_RAILS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "LogGP of %zu rails: at most %d", s->rails,
                          (int)NT_LOGGP_RAILS_MAX);
    for (size_t k = 0; s->rails > 1 && k < s->rails; k++) {
        size_t length = strlen(s->rail[k]);
        if (length == 0 || length >= sizeof p->rail[k])
            return nt_err_set(err, NT_ERR_INPUT, "rail %s: expected 1 to %zu characters",
                              s->rail[k], sizeof p->rail[k] - 1);
        memcpy(p->rail[k], s->rail[k], length + 1);
    }
    p->rails = s->rails > 1 ? s->rails + 1 : 1;
    return 0;
}

static double or_usual(double value, double usual)
{
    return value > 0 ? value : usual;
}

static int make_tracks(struct planner *p, struct nt_err *err)
{
    p->track = nt_arena_array(&p->base.memory, p->rails * p->classes.groups, sizeof *p->track);
    if (nt_arena_check(&p->base.memory, err) != 0)
        return -1;
    for (size_t r = 0; r < p->rails; r++)
        for (size_t g = 0; g < p->classes.groups; g++) {
            struct track *t = &p->track[p->tracks++];
            t->rail = r;
            t->group = g;
            for (size_t k = 0; k < p->classes.classes; k++)
                if (p->classes.class[k].group == g && p->classes.class[k].candidates > 0)
                    t->class[t->runs++] = k;
            nt_loggp_requests_coarse(p->max_bytes, p->size_ratio, &t->requests);
        }
    return 0;
}

/* Selects coarse sizes that leave time for the later steps. */
static void choose_sizes(struct planner *p)
{
    double sizes = 1 + ceil(log(p->max_bytes) / log(SIZE_RATIO));
    double coarse_s =
        (double)(p->rails * p->classes.groups) * sizes * (p->round_s + p->round_overhead_s);
    bool is_short = coarse_s > SIZES_SHARE * p->seconds;
    p->size_ratio = is_short ? SHORT_SIZE_RATIO : SIZE_RATIO;
    p->good_rounds = is_short ? SHORT_GOOD_ROUNDS : GOOD_ROUNDS;
    if (is_short) /* no size takes much more than its share */
        p->longest_s = fmin(p->longest_s, 2 * p->round_s);
}

int nt_loggp_create(const struct nt_model *model, const struct nt_loggp_settings *settings,
                    struct nt_planner **out, struct nt_err *err)
{
    static const struct nt_loggp_settings usual = {0};
    const struct nt_loggp_settings *s = settings != NULL ? settings : &usual;
    struct planner *p = nt_object_create(sizeof *p, err);
    if (p == NULL)
        return -1;
    p->base.ops = &OPS;
    p->hosts = model->hosts;
    p->max_bytes = floor(or_usual(s->max_bytes, MAX_BYTES));
    p->round_s = or_usual(s->round_s, ROUND_S);
    p->longest_s = or_usual(s->longest_s, LONGEST_S);
    p->seconds = or_usual(s->seconds, INFINITY);
    p->round_overhead_s = fmax(s->round_overhead_s, 0);
    p->lost = nt_arena_array(&p->base.memory, model->hosts, sizeof *p->lost);
    p->pair = nt_arena_array(&p->base.memory, NT_LOGGP_CLASSES_MAX, sizeof *p->pair);
    int rc = nt_arena_check(&p->base.memory, err);
    if (rc == 0)
        rc = set_rails(p, s, err);
    if (rc == 0)
        rc = nt_path_classes_init(&p->classes, model, err);
    if (rc == 0) {
        choose_sizes(p);
        rc = make_tracks(p, err);
    }
    if (rc != 0) {
        loggp_destroy(&p->base);
        return -1;
    }
    *out = &p->base;
    return 0;
}
