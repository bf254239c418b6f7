/* SPDX-License-Identifier: Apache-2.0 */
/* What the fit of links leaves over. */
#include "links_work.h"

#include <stdlib.h>

#include "lanes.h"
#include "stats.h"

enum { PAIRS_OFF_MAX = 65536 };

/* Relative: exact readings leave that little. */
static const double ROUNDING = 5e-5;

static int add_off(struct nt_model *m, size_t i, size_t j, size_t *capacity, struct nt_err *err)
{
    if (m->pairs_off >= PAIRS_OFF_MAX)
        return 0;
    if (m->pairs_off == *capacity) {
        size_t more = *capacity * 2 + 16;
        uint32_t(*grown)[2] = realloc(m->pair_off, more * sizeof *grown);
        if (grown == NULL)
            return nt_err_memory(err);
        m->pair_off = grown;
        *capacity = more;
    }
    m->pair_off[m->pairs_off][0] = (uint32_t)i;
    m->pair_off[m->pairs_off++][1] = (uint32_t)j;
    return 0;
}

/* Sums over readings, and whether the fit leaves more of one than may be. */
struct quality {
    nt_doubles sum, square, rest;
    bool off;
};

/* What the switch of a host makes expect of its readings, by the host at the other end. */
struct view {
    double *far_end; /* n: latency without the host's own link */
    double *most;    /* n: square of what may be left over, or less */
    double *least;   /* sites: shortest host link */
    double *x;       /* n: host links */
};

/* d: the readings of a host to the count before it, NaN not measured. */
static void add_quality(struct quality *q, const float *d, const struct view *view, size_t count,
                        double own)
{
    nt_doubles_are off = {0};
    size_t j = 0;
    for (; j + NT_DOUBLES <= count; j += NT_DOUBLES) {
        nt_doubles v = {(double)d[j], (double)d[j + 1]};
        nt_doubles r = v - nt_doubles_load(view->far_end + j) - own, square = r * r;
        q->sum += nt_doubles_where(v == v, v);
        q->square += nt_doubles_where(v == v, v * v);
        q->rest += nt_doubles_where(v == v, square);
        off |= square > nt_doubles_load(view->most + j);
    }
    q->off = (off[0] | off[1]) != 0;
    for (; j < count; j++) {
        double v = (double)d[j], r = v - view->far_end[j] - own;
        if (v != v)
            continue;
        q->sum[0] += v;
        q->square[0] += v * v;
        q->rest[0] += r * r;
        q->off |= r * r > view->most[j];
    }
}

/* Names the pairs of host i, of those before it, that are off by more than limit sd. */
static int add_off_row(struct nt_link_sites *s, size_t i, const struct view *view, double limit,
                       size_t *capacity, struct nt_err *err)
{
    const float *d = s->w->d + i * s->w->n;
    for (size_t j = 0; j < i; j++) {
        double p = view->x[i] + view->far_end[j], r = (double)d[j] - p;
        if (r * r > view->most[j] && fabs(r) > limit * nt_noise_sd(&s->w->noise, p) &&
            add_off(s->model, s->w->host[i], s->w->host[j], capacity, err) < 0)
            return -1;
    }
    return 0;
}

static void view_from(const struct nt_link_sites *s, size_t site, double limit, struct view *view)
{
    const double *between = s->between + site * s->count;
    for (size_t b = 0; b < s->count; b++) {
        double level = view->least[site] + between[b] + view->least[b];
        double most = limit * nt_noise_sd(&s->w->noise, level);
        for (size_t p = s->start[b]; p < s->start[b + 1]; p++) {
            view->far_end[s->member[p]] = s->x[p] + between[b];
            view->most[s->member[p]] = 0.999 * most * most; /* rounding hides none */
        }
    }
}

/* In the arrays of the passes, for none follows. */
static void view_init(const struct nt_link_sites *s, struct view *view)
{
    *view = (struct view){s->pull, s->kept, s->right, s->by_host};
    for (size_t a = 0; a < s->count; a++) {
        view->least[a] = INFINITY;
        for (size_t p = s->start[a]; p < s->start[a + 1]; p++) {
            view->x[s->member[p]] = s->x[p];
            view->least[a] = fmin(view->least[a], s->x[p]);
        }
    }
}

/* What the pairs that are off have left over, together. */
static double off_square(const struct nt_link_sites *s, const struct view *view)
{
    const struct nt_work *w = s->w;
    double sum = 0;
    for (size_t i = 0, next = 0; i < w->n && next < s->model->pairs_off; i++) {
        if (s->model->pair_off[next][0] != w->host[i])
            continue;
        view_from(s, s->at[i], 1, (struct view *)view);
        for (size_t j = 0; j < i && next < s->model->pairs_off; j++) {
            bool is = s->model->pair_off[next][0] == w->host[i] &&
                      s->model->pair_off[next][1] == w->host[j];
            double r = (double)w->d[i * w->n + j] - view->x[i] - view->far_end[j];
            sum += is ? r * r : 0;
            next += is;
        }
    }
    return sum;
}

/* R2 over all measured pairs, rms over those that fit; a pair is off when not one in a hundred
 * networks of good pairs would hold such a one. */
int nt_links_quality(struct nt_link_sites *s, struct nt_err *err)
{
    const struct nt_work *w = s->w;
    double count = (double)w->pairs;
    double df = s->used - (double)w->n - (double)s->trunks;
    double unit = df >= 1 ? sqrt(s->rss / df) : 1;
    double limit = -nt_normal_quantile(0.005 / (count > 1 ? count : 1)) * unit;
    struct quality q = {{0}, {0}, {0}, false};
    struct view view;
    size_t capacity = 0;
    view_init(s, &view);
    s->model->pairs_off = 0; /* of the fit before */
    for (size_t i = 0; i < w->n; i++) {
        if (i == 0 || s->at[i] != s->at[i - 1])
            view_from(s, s->at[i], limit, &view);
        add_quality(&q, w->d + i * w->n, &view, i, view.x[i]);
        if (q.off && df >= 1 && add_off_row(s, i, &view, limit, &capacity, err) < 0)
            return -1;
    }
    double sum = q.sum[0] + q.sum[1], rest = q.rest[0] + q.rest[1], off = off_square(s, &view);
    double square = q.square[0] + q.square[1], spread = square - sum * sum / count;
    double fits = count - (double)s->model->pairs_off;
    s->model->rms_us = sqrt(fmax(0, rest - off) / fmax(fits, 1));
    s->model->r2 = spread > 1e-9 * square ? 1 - rest / spread : NAN;
    /* a link lengthens a reading across it by twice its latency against one that is not */
    double level = count > 0 ? sum / count : 0, rms = s->model->rms_us;
    double resolution = NT_SDS_95 * sqrt(2) / 2 * unit * nt_noise_sd(&w->noise, level);
    resolution = rms < ROUNDING * level ? fmax(resolution, rms) : resolution;
    s->model->resolution_us = fmin(resolution, level / 2); /* no link is longer */
    return 0;
}
