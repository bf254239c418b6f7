/* SPDX-License-Identifier: Apache-2.0 */
/* From a direct network to a model: figures, what does not fit, and how sure it is. */
#include "direct.h"

#include <stdlib.h>

#include "stats.h"

/* Less confidence than this says nothing. */
static const double NOTHING = 0.05;

static const double WRONG_SDS = 4; /* residuals that are no noise */
static const double ANY_OFF =
    0.01; /* the chance that any pair of a network that fits is told as off */

/* Errors of the two figures from the spread of the residuals. */
static double hop_error(const struct nt_work *w, const struct nt_direct *d, double *rms)
{
    double s = 0, sx = 0, sxx = 0, square = 0, reach = WRONG_SDS * NT_SD_OF_MEAN * d->residual;
    for (size_t i = 1; i < w->n; i++)
        for (size_t j = 0; j < i; j++) {
            double v = (double)w->d[i * w->n + j], x = d->hops[i * w->n + j];
            double r = (double)nt_direct_reading(w, d, i, j) - d->base - d->hop * x;
            if (v != v || fabs(r) > reach * v)
                continue;
            s += 1;
            sx += x;
            sxx += x * x;
            square += r * r;
        }
    *rms = sqrt(square / fmax(1, s - 2));
    return *rms / sqrt(fmax(sxx - sx * sx / fmax(1, s), 1e-9));
}

/* The robust sd of what the model leaves over, relative to the latency. */
static int relative_sd(const struct nt_work *w, const struct nt_matrix *p, double *sd,
                       struct nt_err *err)
{
    size_t count = 0;
    float *size = malloc((w->pairs + 1) * sizeof *size);
    if (size == NULL)
        return nt_err_memory(err);
    for (size_t i = 1; i < w->n; i++)
        for (size_t j = 0; j < i; j++) {
            float v = w->d[i * w->n + j], modelled = nt_matrix_get(p, w->host[i], w->host[j]);
            if (v == v)
                size[count++] = fabsf(v - modelled) / modelled;
        }
    *sd = count > 0 ? NT_SD_OF_MEDIAN * (double)nt_stats_median(size, count) : 0;
    free(size);
    return 0;
}

static int set_quality(const struct nt_work *w, const struct nt_matrix *p, double sd,
                       struct nt_model *m, struct nt_err *err)
{
    double sum = 0, square = 0, rest = 0, fits = 0, left = 0, count = (double)w->pairs;
    double off = -nt_normal_quantile(ANY_OFF / 2 / fmax(count, 1)) * fmax(sd, w->noise.least);
    size_t most = w->n * 16;
    uint32_t(*pair)[2] = malloc((most + 1) * sizeof *pair);
    if (pair == NULL)
        return nt_err_memory(err);
    free(m->pair_off);
    m->pair_off = pair;
    for (size_t i = 1; i < w->n; i++)
        for (size_t j = 0; j < i; j++) {
            double v = (double)w->d[i * w->n + j];
            double modelled = (double)nt_matrix_get(p, w->host[i], w->host[j]), r = v - modelled;
            if (v != v)
                continue;
            sum += v;
            square += v * v;
            rest += r * r;
            if (fabs(r) > off * modelled && m->pairs_off < most) {
                pair[m->pairs_off][0] = w->host[i];
                pair[m->pairs_off++][1] = w->host[j];
            } else {
                left += r * r;
                fits++;
            }
        }
    double spread = square - sum * sum / count;
    m->rms_us = sqrt(left / fmax(fits, 1));
    m->r2 = spread > 1e-9 * square ? 1 - rest / spread : (double)NAN;
    return 0;
}

int nt_direct_quality(const struct nt_work *w, struct nt_model *m, struct nt_err *err)
{
    struct nt_matrix *p;
    double sd = 0;
    if (nt_model_latencies(m, &p, err) < 0)
        return -1;
    int status = relative_sd(w, p, &sd, err);
    if (status == 0)
        status = set_quality(w, p, sd, m, err);
    nt_matrix_destroy(p);
    return status;
}

int nt_direct_model(const struct nt_work *w, const struct nt_direct *d, size_t hosts,
                    struct nt_model **out, struct nt_err *err)
{
    struct nt_model *m;
    double rms, error = hop_error(w, d, &rms);
    bool whole = true; /* links are one hop each */
    size_t k = 0;
    if (nt_model_create(hosts, 0, d->links, &m, err) < 0)
        return -1;
    for (size_t i = 0; i < d->n; i++) {
        m->overhead_us[w->host[i]] = fmax(0, 0.5 * d->base + (double)d->offset[i]);
        for (size_t j = 0; j < i; j++) {
            if (!d->linked[i * d->n + j])
                continue;
            m->link[k].a = w->host[i];
            m->link[k].b = w->host[j];
            m->link[k].latency_us = d->hop * d->hops[i * d->n + j];
            whole = whole && d->hops[i * d->n + j] == 1;
            m->link[k++].latency_se_us = error;
        }
    }
    m->family = NT_FAMILY_IRREGULAR;
    m->resolution_us = NT_SDS_95 * sqrt(2) * rms;
    if (nt_direct_quality(w, m, err) < 0 || (whole && nt_direct_family(d, m, err) < 0)) {
        nt_model_destroy(m);
        return -1;
    }
    /* against the graphs that differ in one link; against all others: switch_graph.c */
    m->confidence = 1 / (1 + d->error_odds);
    if (m->confidence < NOTHING) /* one of many that are as near, and perhaps none of them */
        m->family = NT_FAMILY_UNDETERMINED;
    *out = m;
    return 0;
}
