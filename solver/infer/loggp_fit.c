/* SPDX-License-Identifier: Apache-2.0 */
#include "loggp_fit.h"

#include <math.h>
#include <stdlib.h>

#include "loggp_time.h"
#include "memory.h"

struct fit {
    const struct nt_prtt *m;
    size_t n;
    struct nt_point *curve; /* one way, by size */
    size_t points;
    struct nt_line line[NT_SEGMENTS_MAX];
    struct nt_loggp_fit *out;
};

static const struct nt_loggp UNKNOWN = {.L_us = NAN,
                                        .o_send_us = NAN,
                                        .o_recv_us = NAN,
                                        .g_us = NAN,
                                        .G_us_per_byte = NAN,
                                        .gap_us_per_byte = NAN,
                                        .L_se_us = NAN,
                                        .o_se_us = NAN,
                                        .g_se_us = NAN,
                                        .G_se_us_per_byte = NAN,
                                        .r2 = NAN,
                                        .check_percent = NAN,
                                        .support = NAN};

/* A value is reported if its standard error is at most half of it: a true 0 exceeds twice its error
 * in 1 case of 40. */
static bool is_stated(double value, double se)
{
    return value > 0 && se <= value / 2;
}

/* PRTT(1, 0, s): measured at this size, else by the line of its regime. */
static struct nt_point round_trip(const struct fit *f, double bytes)
{
    for (size_t i = 0; i < f->points; i++)
        if (f->curve[i].x == bytes)
            return (struct nt_point){bytes, 2 * f->curve[i].y, 2 * f->curve[i].sd};
    const struct nt_line *l = &f->line[nt_loggp_regime(f->out->regime, f->out->regimes, bytes)];
    return (struct nt_point){bytes, 2 * (l->level + l->slope * (bytes - l->at)),
                             2 * hypot(l->level_se, l->slope_se * (bytes - l->at))};
}

/* ---- the cost of a message in a train ---- */
/* (PRTT(n, d, s) - PRTT(1, 0, s)) / (n - 1) */
static struct nt_point per_message(const struct fit *f, const struct nt_prtt *m)
{
    struct nt_point one = round_trip(f, m->bytes);
    double more = m->count - 1.0, se = m->se_us >= 0 ? m->se_us : 0;
    double y = (m->time_us - one.y) / more;
    const double NO_LINE = 0.01; /* of a time, that no line describes */
    /* the round trip's own disturbance, and that share; a delay is exceeded as easily */
    double sd = hypot(hypot(se, one.sd) / more, NO_LINE * y);
    return (struct nt_point){m->bytes, y, fmax(sd, 1e-6)};
}

static bool is_train(const struct nt_prtt *m)
{
    return m->count > 1 && !m->check && m->time_us > 0;
}

static bool in_regime(const struct nt_loggp *g, double bytes)
{
    return bytes >= g->min_bytes && bytes <= g->max_bytes;
}

static int by_size(const void *a, const void *b)
{
    const struct nt_point *x = a, *y = b;
    return NT_ORDER(x->x, y->x, 0);
}

static bool one_size(const struct nt_point *point, size_t n)
{
    return point[0].x == point[n - 1].x;
}

/* A level that its own error covers is none: then the line begins at 0 with the first byte, and its
 * slope alone gives the times. */
static void drop_level(const struct nt_point *point, struct nt_line *line)
{
    double xx = 0, xy = 0, all = 0, mean = 0, spread = 0, squares = 0;
    for (size_t i = 0; i < line->count; i++) {
        double w = 1 / (point[i].sd * point[i].sd), x = point[i].x - line->at;
        xx += w * x * x;
        xy += w * x * point[i].y;
        mean += w * point[i].y;
        all += w;
    }
    double slope = xx > 0 ? xy / xx : 0;
    for (size_t i = 0; i < line->count; i++) {
        double off = (point[i].y - slope * (point[i].x - line->at)) / point[i].sd;
        double from_mean = (point[i].y - mean / all) / point[i].sd;
        squares += off * off;
        spread += from_mean * from_mean;
    }
    double scale = line->count > 1 ? fmax(1, squares / (double)(line->count - 1)) : 1;
    line->level = line->level_se = 0;
    line->slope = slope;
    line->slope_se = xx > 0 ? sqrt(scale / xx) : INFINITY;
    line->r2 = spread > 0 ? 1 - squares / spread : 1;
}

/* g and its slope from the trains without delay. With trains of one size only, the slope is G. */
static void fit_gap(const struct fit *f, struct nt_loggp *g, struct nt_point *scratch)
{
    struct nt_line line;
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++)
        if (is_train(&f->m[i]) && f->m[i].delay_us == 0 && f->m[i].hold_us == 0 &&
            in_regime(g, f->m[i].bytes))
            scratch[n++] = per_message(f, &f->m[i]);
    if (n == 0)
        return;
    qsort(scratch, n, sizeof *scratch, by_size);
    if (one_size(scratch, n))
        for (size_t i = 0; i < n; i++)
            scratch[i].y -= g->G_us_per_byte * (scratch[i].x - 1);
    nt_line_fit(scratch, n, 1, &line);
    bool one = one_size(scratch, n);
    if (!is_stated(line.level, line.level_se)) {
        if (one)
            return;
        drop_level(scratch, &line);
    }
    g->g_us = line.level > 0 ? line.level : NAN;
    g->g_se_us = line.level > 0 ? line.level_se : NAN;
    g->gap_us_per_byte = one ? g->G_us_per_byte : line.slope;
}

static struct nt_point mean_of(const struct nt_point *point, size_t n)
{
    struct nt_point mean = {0, NAN, NAN};
    double weight = 0, sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        double w = 1 / (point[i].sd * point[i].sd);
        weight += w;
        sum += w * point[i].y;
    }
    for (size_t i = 0; i < n; i++)
        squares += pow((point[i].y - sum / weight) / point[i].sd, 2);
    double se = sqrt((n > 1 ? fmax(1, squares / (double)(n - 1)) : 1) / weight);
    if (n > 0 && is_stated(sum / weight, se))
        mean = (struct nt_point){0, sum / weight, se};
    return mean;
}

/* o_send from the trains whose delay exceeds the gap; the source saw that a delay close to the
 * gap disturbs (section 3.5.2). */
static struct nt_point fit_send(const struct fit *f, const struct nt_loggp *g,
                                struct nt_point *scratch)
{
    const double APART = 1.2; /* times the gap: a shorter delay is close to it */
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++) {
        const struct nt_prtt *m = &f->m[i];
        double gap = g->g_us + g->gap_us_per_byte * (m->bytes - 1);
        if (!is_train(m) || m->delay_us <= 0 || m->hold_us > 0 || !in_regime(g, m->bytes) ||
            m->delay_us < APART * gap)
            continue;
        scratch[n] = per_message(f, m);
        scratch[n++].y -= m->delay_us;
    }
    return mean_of(scratch, n);
}

/* o_recv: the time by which a hold was exceeded. */
static struct nt_point fit_receive(const struct fit *f, const struct nt_loggp *g,
                                   struct nt_point *scratch)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++) {
        const struct nt_prtt *m = &f->m[i];
        if (m->hold_us <= 0 || m->count != 1 || m->check || !in_regime(g, m->bytes))
            continue;
        scratch[n++] = (struct nt_point){m->bytes, m->time_us - m->hold_us, fmax(m->se_us, 1e-6)};
    }
    return mean_of(scratch, n);
}

/* ---- together ---- */
static void set_times(const struct fit *f, size_t k)
{
    const struct nt_line *l = &f->line[k];
    struct nt_loggp *g = &f->out->regime[k];
    *g = UNKNOWN;
    g->min_bytes = k == 0 ? f->curve[0].x : f->out->regime[k - 1].max_bytes + 1;
    g->max_bytes = nt_prtt_regime_end(f->curve, f->line, f->out->regimes, k);
    g->G_us_per_byte = l->slope;
    g->G_se_us_per_byte = l->slope_se;
    g->r2 = l->r2;
}

/* o + L + o is the level of the regime's line. With a value for one side only, both are equal, as
 * the source assumes. Without any, or if the remaining L is below its error, they are unknown and L
 * is the whole level. */
static void set_overheads(const struct fit *f, size_t k, struct nt_point send,
                          struct nt_point receive)
{
    struct nt_loggp *g = &f->out->regime[k];
    const struct nt_loggp *before = k > 0 ? g - 1 : &UNKNOWN;
    const struct nt_line *line = &f->line[k];
    bool none = isnan(send.y) && isnan(receive.y);
    double se = hypot(isnan(send.sd) ? 0 : send.sd, isnan(receive.sd) ? 0 : receive.sd);
    g->o_send_us = isnan(send.y) ? before->o_send_us : send.y;
    g->o_recv_us = isnan(receive.y) ? before->o_recv_us : receive.y;
    g->o_se_us = none ? before->o_se_us : se;
    if (isnan(g->o_recv_us))
        g->o_recv_us = g->o_send_us;
    if (isnan(g->o_send_us))
        g->o_send_us = g->o_recv_us;
    g->L_us = line->level - g->o_send_us - g->o_recv_us;
    g->L_se_us = hypot(line->level_se, g->o_se_us);
    if (is_stated(g->L_us, g->L_se_us) && is_stated((g->o_send_us + g->o_recv_us) / 2, g->o_se_us))
        return;
    g->o_send_us = g->o_recv_us = g->o_se_us = NAN;
    if (line->level > 0) {
        g->L_us = line->level;
        g->L_se_us = line->level_se;
    } else
        g->L_us = g->L_se_us = NAN;
}

static bool is_check(const struct nt_prtt *m)
{
    return m->check && m->count == 1 && m->hold_us <= 0 && m->time_us > 0;
}

/* As in the fit, the lowest of a size's values counts. */
static void check_prediction(const struct fit *f, struct nt_point *scratch)
{
    struct nt_loggp_fit *out = f->out;
    size_t n = 0;
    out->check_percent = NAN;
    for (size_t i = 0; i < f->n; i++)
        if (is_check(&f->m[i]))
            scratch[n++] = (struct nt_point){.x = f->m[i].bytes, .y = f->m[i].time_us};
    qsort(scratch, n, sizeof *scratch, by_size);
    for (size_t i = 0, end; i < n; i = end) {
        double lowest = scratch[i].y, bytes = scratch[i].x;
        for (end = i; end < n && scratch[end].x == bytes; end++)
            lowest = fmin(lowest, scratch[end].y);
        struct nt_loggp *g = &out->regime[nt_loggp_regime(out->regime, out->regimes, bytes)];
        double time = nt_loggp_time_us(out->regime, out->regimes, bytes);
        double off = fabs(2 * time / lowest - 1) * 100;
        g->check_percent = fmax(g->check_percent, off);
        out->check_percent = fmax(out->check_percent, off);
    }
}

/* Where the time jumps by half a short message's or more, messages wait for a rendezvous first: the
 * time between the sends of a train is that wait, and no overhead. */
static bool is_rendezvous(const struct fit *f, size_t k)
{
    const struct nt_line *now = &f->line[k], *before = &f->line[k - 1];
    double at = f->curve[now->first].x - now->at;
    return now->level + now->slope * at - before->level - before->slope * at > f->line[0].level / 2;
}

static int fit_all(struct fit *f, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_point *scratch = nt_arena_array(&memory, f->n, sizeof *scratch);
    bool waits = false;
    f->curve = nt_arena_array(&memory, f->n, sizeof *f->curve);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    f->points = nt_prtt_curve(f->m, f->n, f->curve);
    if (f->points == 0)
        return nt_err_set(err, NT_ERR_INPUT,
                          "LogGP: expected round trips of single messages, found none");
    int rc = nt_prtt_regimes(f->curve, f->points, f->line, &f->out->regimes, err);
    for (size_t k = 0; rc == 0 && k < f->out->regimes; k++)
        if (!is_stated(f->line[k].level, f->line[k].level_se))
            drop_level(f->curve + f->line[k].first, &f->line[k]);
    for (size_t k = 0; rc == 0 && k < f->out->regimes; k++)
        set_times(f, k);
    for (size_t k = 0; rc == 0 && k < f->out->regimes; k++) {
        struct nt_loggp *g = &f->out->regime[k];
        fit_gap(f, g, scratch);
        struct nt_point send = {0, NAN, NAN}, receive = send;
        waits = waits || (k > 0 && is_rendezvous(f, k));
        if (!waits) {
            send = fit_send(f, g, scratch);
            receive = fit_receive(f, g, scratch);
        }
        set_overheads(f, k, send, receive);
    }
    if (rc == 0)
        check_prediction(f, scratch);
    return rc;
}

int nt_loggp_fit(const struct nt_prtt *m, size_t n, struct nt_loggp_fit *out, struct nt_err *err)
{
    struct nt_loggp_fit made = {0};
    struct fit f = {.m = m, .n = n, .out = &made};
    if (n > NT_PRTT_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "LogGP of %zu measurements: at most %d", n,
                          (int)NT_PRTT_MAX);
    if (fit_all(&f, err) != 0)
        return -1;
    *out = made;
    return 0;
}
