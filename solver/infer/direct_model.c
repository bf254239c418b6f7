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

static int fit_quality(const struct nt_work *w, const struct nt_direct *d, struct nt_model *m,
                       double rms, struct nt_err *err)
{
    double sum = 0, square = 0, rest = 0, count = (double)w->pairs;
    double off = -nt_normal_quantile(ANY_OFF / 2 / (count > 1 ? count : 1)) * rms;
    uint32_t(*pair)[2] = malloc((w->n * 16 + 1) * sizeof *pair);
    if (pair == NULL)
        return nt_err_memory(err);
    free(m->pair_off);
    m->pair_off = pair;
    for (size_t i = 1; i < w->n; i++)
        for (size_t j = 0; j < i; j++) {
            double v = (double)w->d[i * w->n + j];
            double r =
                (double)nt_direct_reading(w, d, i, j) - d->base - d->hop * d->hops[i * w->n + j];
            if (v != v)
                continue;
            sum += v;
            square += v * v;
            rest += r * r;
            if (fabs(r) > off && m->pairs_off < w->n * 16) {
                pair[m->pairs_off][0] = w->host[i];
                pair[m->pairs_off++][1] = w->host[j];
            }
        }
    double spread = square - sum * sum / count;
    m->rms_us = sqrt(rest / count);
    m->r2 = spread > 1e-9 * square ? 1 - rest / spread : NAN;
    m->resolution_us = NT_SDS_95 * sqrt(2) * rms;
    return 0;
}

/* From the odds of the graphs that differ in one link. Those count the readings alone; a mistaken
 * graph is nearly always off in several, which the factors make up for: of networks simulated with
 * all kinds of noise they let as many be exact as is stated (`make bench`, reliability). A pattern
 * in what is left over says that the graph is another one. */
static double direct_confidence(const struct nt_direct *d, const struct nt_model *m)
{
    const double MOST = 0.99, REGULAR = 4, IRREGULAR = 25, PATTERN = 6, USUAL = 1.15;
    bool regular = m->family != NT_FAMILY_IRREGULAR;
    double sure = regular ? exp(-REGULAR * d->error_odds) : 1 / (1 + IRREGULAR * d->error_odds);
    return MOST * sure * exp(-PATTERN * fmax(0, d->misfit - USUAL));
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
    if (fit_quality(w, d, m, rms, err) < 0 || (whole && nt_direct_family(d, m, err) < 0)) {
        nt_model_destroy(m);
        return -1;
    }
    m->confidence = direct_confidence(d, m);
    if (m->confidence < NOTHING) /* one of many that are as near, and perhaps none of them */
        m->family = NT_FAMILY_UNDETERMINED;
    *out = m;
    return 0;
}
