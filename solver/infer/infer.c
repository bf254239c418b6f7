/* SPDX-License-Identifier: Apache-2.0 */
/* The method: one path from a matrix to a model, without options. */
#include "infer.h"

#include <stdlib.h>
#include <string.h>

#include "additive.h"
#include "dragonfly.h"
#include "links.h"
#include "one_way_links.h"
#include "switch_support.h"
#include "tiers_model.h"
#include "work.h"

static void work_fini(struct nt_work *w)
{
    free(w->host);
    free(w->d);
    free(w->weight);
}

static int work_init(struct nt_work *w, size_t n, struct nt_err *err)
{
    w->host = malloc((n + 1) * sizeof *w->host);
    w->d = malloc((n * n + 1) * sizeof *w->d);
    return w->host != NULL && w->d != NULL ? 0 : nt_err_memory(err);
}

/* One host: a switch without measurements. */
static int infer_one(struct nt_model **out, struct nt_err *err)
{
    if (nt_model_create(1, 1, 1, out, err) < 0)
        return -1;
    (*out)->link[0].a = 0;
    (*out)->link[0].b = 1;
    (*out)->family = NT_FAMILY_STAR;
    (*out)->confidence = 1;
    return nt_model_canonicalise(*out, err);
}

/* Less than a quarter of the pairs fit one switch always. */
static bool is_sparse(const struct nt_work *w)
{
    return 8 * (double)w->pairs < (double)w->n * ((double)w->n - 1);
}

/* One switch, with nothing stated about it. Few readings of many hosts determine nothing, and a
 * search would take long. (sparse.h plans few readings that determine a network.) */
static int infer_nothing(struct nt_work *w, size_t hosts, struct nt_model **out, struct nt_err *err)
{
    if (nt_model_create(hosts, 1, w->n, out, err) < 0)
        return -1;
    for (size_t i = 0; i < w->n; i++) {
        (*out)->link[i].a = w->host[i];
        (*out)->link[i].b = (uint32_t)hosts;
        (*out)->link[i].latency_us = 0;
    }
    (*out)->family = NT_FAMILY_UNDETERMINED;
    (*out)->confidence = 0;
    nt_noise_estimate(w->d, w->n, &w->rng, &w->noise);
    return nt_links_fit(w, *out, err);
}

/* The figures of a network whose shape is certain. */
static int infer_figures(struct nt_work *w, struct nt_model *model, struct nt_err *err)
{
    nt_noise_estimate(w->d, w->n, &w->rng, &w->noise);
    if (nt_links_fit(w, model, err) < 0)
        return -1;
    nt_resolution_state(model);
    nt_confidence_limit(model);
    return 0;
}

/* Few readings of more hosts are not searched: that takes over a second. */
enum { SEARCHED = 128 };

/* Less confidence than this says nothing, as of graphs (direct_model.c). */
static const double nothing = 0.05;

/* Whether what the residuals show may be a dragonfly. */
static int try_dragonfly(const struct nt_matrix *latency, struct nt_model **model,
                         struct nt_err *err)
{
    enum nt_family family = (*model)->family;
    if (family != NT_FAMILY_IRREGULAR && !(*model)->shortcuts)
        return 0;
    (*model)->family = NT_FAMILY_UNDETERMINED;
    if (nt_dragonfly_try(latency, model, err) < 0)
        return -1;
    if ((*model)->family == NT_FAMILY_UNDETERMINED)
        (*model)->family = family;
    return 0;
}

static int infer_tree(struct nt_work *w, const struct nt_matrix *latency, struct nt_pairs *readings,
                      struct nt_model **out, struct nt_err *err)
{
    double evidence;
    if (nt_tiers_model(readings, out, &w->noise, &evidence, err) < 0)
        return -1;
    if (w->directions)
        nt_work_mean_of_directions(w, latency);
    if (nt_work_weigh(w, err) < 0 || nt_links_fit(w, *out, err) < 0)
        return -1;
    return nt_switch_graph_judge(w, readings, evidence, out, err);
}

static int infer_model(struct nt_work *w, const struct nt_matrix *latency, struct nt_model **out,
                       struct nt_err *err)
{
    struct nt_pairs *readings;
    if (is_sparse(w) && w->n > SEARCHED)
        return infer_nothing(w, latency->n, out, err);
    if (nt_additive_find(w, latency->n, out, err) < 0)
        return -1;
    if (*out != NULL)
        return infer_figures(w, *out, err);
    if (nt_tiers_readings(latency, w->error, &readings, err) < 0)
        return -1;
    int status = infer_tree(w, latency, readings, out, err);
    nt_pairs_destroy(readings);
    if (status < 0 || try_dragonfly(latency, out, err) < 0)
        return -1;
    if (is_sparse(w) && ((*out)->switches == 1 || (*out)->confidence < nothing))
        (*out)->family = NT_FAMILY_UNDETERMINED;
    nt_resolution_state(*out);
    nt_confidence_limit(*out);
    return 0;
}

int nt_infer_latency(const struct nt_matrix *latency, const struct nt_matrix *se, uint64_t seed,
                     struct nt_model **out, struct nt_err *err)
{
    size_t n = latency->n;
    if (n == 0)
        return nt_model_create(0, 0, 0, out, err);
    if (n == 1)
        return infer_one(out, err);
    struct nt_work w = {0};
    struct nt_model *model = NULL;
    bool *missing = calloc(n, sizeof *missing);
    int status = work_init(&w, n, err);
    if (status == 0 && missing == NULL)
        status = nt_err_memory(err);
    if (status == 0) {
        nt_rng_init(&w.rng, seed);
        w.error = se != NULL && se->n == n ? se : NULL;
        nt_work_fill(&w, latency);
        nt_work_drop_missing(&w, n, missing);
        status = w.n == 0 ? nt_model_create(n, 0, 0, &model, err)
                          : infer_model(&w, latency, &model, err);
    }
    if (status == 0) {
        memcpy(model->missing, missing, n * sizeof *missing);
        status = nt_model_canonicalise(model, err);
    }
    if (status == 0)
        status = nt_one_way_links_mark(latency, model, err);
    if (status == 0)
        *out = model;
    else
        nt_model_destroy(model);
    free(missing);
    work_fini(&w);
    return status;
}

int nt_infer_figures(const struct nt_matrix *latency, uint64_t seed, struct nt_model *model,
                     struct nt_err *err)
{
    struct nt_work w = {0};
    bool *missing = calloc(latency->n + 1, sizeof *missing);
    int status = work_init(&w, latency->n, err);
    if (status == 0 && missing == NULL)
        status = nt_err_memory(err);
    if (status == 0) {
        nt_rng_init(&w.rng, seed);
        nt_work_fill(&w, latency);
        nt_work_drop_missing(&w, latency->n, missing);
        nt_noise_estimate(w.d, w.n, &w.rng, &w.noise);
        if (w.directions)
            nt_work_mean_of_directions(&w, latency);
        status = nt_links_fit(&w, model, err);
    }
    if (status == 0)
        status = nt_one_way_links_mark(latency, model, err);
    free(missing);
    work_fini(&w);
    return status;
}
