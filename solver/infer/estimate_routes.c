/* SPDX-License-Identifier: Apache-2.0 */
#include "estimate_routes.h"

#include <math.h>
#include <stdlib.h>

#include "aggregates.h"
#include "path_outliers.h"
#include "robust.h"
#include "unknowns.h"

struct work {
    const struct nt_routes *routes;
    const struct nt_measured *measured;
    struct nt_unknowns *unknowns;
    struct nt_robust *robust;
    struct nt_estimate *estimate;
    uint32_t column[2 * NT_ROUTE_LINKS_MAX]; /* of one sum of links */
    double value[2 * NT_ROUTE_LINKS_MAX];
};

/* The share of each of these links summed, which must follow from the measurements. */
static struct nt_figure figure_of(struct work *w, const uint32_t *link, size_t n, double share)
{
    size_t used = 0;
    double us = 0;
    for (size_t k = 0; k < n; k++) {
        uint32_t unknown = w->unknowns->of_link[link[k]];
        if (unknown == NT_UNKNOWN_NONE)
            continue;
        us += share * w->robust->x[unknown];
        w->column[used] = unknown;
        w->value[used++] = share;
    }
    double variance = nt_robust_variance(w->robust, w->column, w->value, used);
    return (struct nt_figure){.us = us, .se_us = w->robust->sigma * sqrt(variance)};
}

static int write_links(struct work *w, struct nt_err *err)
{
    struct nt_estimate *e = w->estimate;
    e->link = malloc((w->unknowns->count + 1) * sizeof *e->link);
    if (e->link == NULL)
        return nt_err_memory(err);
    for (size_t u = 0; u < w->unknowns->count; u++) {
        uint32_t link = w->unknowns->link[u];
        if (nt_unknowns_alone(w->unknowns, link))
            e->link[e->links++] =
                (struct nt_link_estimate){.link = link, .latency = figure_of(w, &link, 1, 1)};
    }
    return nt_path_outliers_mark(w->routes, w->unknowns, w->robust, e, err);
}

static int write_aggregates(struct work *w, struct nt_err *err)
{
    struct nt_estimate *e = w->estimate;
    struct nt_aggregates runs;
    if (nt_aggregates_find(w->routes, w->unknowns, &runs, err) != 0)
        return -1;
    e->run_start = runs.start;
    e->run_link = runs.link;
    e->run_latency = malloc((runs.count + 1) * sizeof *e->run_latency);
    if (e->run_latency == NULL)
        return nt_err_memory(err);
    e->aggregates = runs.count;
    for (size_t k = 0; k < runs.count; k++)
        e->run_latency[k] =
            figure_of(w, runs.link + runs.start[k], runs.start[k + 1] - runs.start[k], 1);
    return 0;
}

static int write_pairs(struct work *w, struct nt_err *err)
{
    struct nt_estimate *e = w->estimate;
    const struct nt_routes *r = w->routes;
    e->pair = malloc((r->pairs + 1) * sizeof *e->pair);
    e->pair_latency = malloc((r->pairs + 1) * sizeof *e->pair_latency);
    if (e->pair == NULL || e->pair_latency == NULL)
        return nt_err_memory(err);
    for (size_t p = 0; p < r->pairs; p++) {
        const uint32_t *link = nt_route_links(r, p);
        size_t n = nt_route_length(r, p);
        if (!nt_echelon_follows(w->unknowns->echelon, link, n))
            continue;
        e->pair[e->pairs][0] = r->host[p][0];
        e->pair[e->pairs][1] = r->host[p][1];
        e->pair_latency[e->pairs++] = figure_of(w, link, n, 1.0 / nt_route_ways(r, p));
    }
    return 0;
}

static void write_fit(struct work *w)
{
    const struct nt_robust *r = w->robust;
    struct nt_fit *fit = &w->estimate->fit;
    double mean = 0, total = 0, rest = 0;
    size_t kept = r->rows - r->rejections;
    for (size_t i = 0; i < r->rows; i++)
        mean += r->rejected[i] ? 0 : w->measured->latency_us[i] / (double)kept;
    for (size_t i = 0; i < r->rows; i++) {
        double d = w->measured->latency_us[i] - mean;
        total += r->rejected[i] ? 0 : d * d;
        rest += r->rejected[i] ? 0 : r->residual[i] * r->residual[i];
    }
    fit->measured = r->rows;
    fit->rank = r->unknowns;
    fit->freedom = r->freedom;
    fit->rejected = r->rejections;
    fit->sigma_us = r->sigma;
    fit->rms_us = sqrt(rest / (double)kept);
    fit->r2 = total > 0 ? 1 - rest / total : NAN;
}

static int estimate_links(struct work *w, struct nt_err *err)
{
    if (nt_unknowns_create(w->routes, w->measured->pair, w->measured->count, &w->unknowns, err) !=
            0 ||
        nt_robust_fit(w->unknowns->rows, w->measured->latency_us, &w->robust, err) != 0)
        return -1;
    w->estimate = calloc(1, sizeof *w->estimate);
    if (w->estimate == NULL)
        return nt_err_memory(err);
    write_fit(w);
    if (write_links(w, err) != 0 || write_aggregates(w, err) != 0)
        return -1;
    return write_pairs(w, err);
}

int nt_estimate_routes(const struct nt_routes *routes, const struct nt_measured *measured,
                       struct nt_estimate **out, struct nt_err *err)
{
    if (measured->count == 0)
        return nt_err_set(err, NT_ERR_INPUT, "no measurements, so there is nothing to estimate");
    struct work *w = calloc(1, sizeof *w);
    if (w == NULL)
        return nt_err_memory(err);
    w->routes = routes;
    w->measured = measured;
    int rc = estimate_links(w, err);
    if (rc == 0)
        *out = w->estimate;
    else
        nt_estimate_destroy(w->estimate);
    nt_unknowns_destroy(w->unknowns);
    nt_robust_destroy(w->robust);
    free(w);
    return rc;
}
