/* SPDX-License-Identifier: Apache-2.0 */
/* The method: one path from a matrix to a model, without options. */
#include "infer.h"

#include <stdlib.h>
#include <string.h>

#include "additive.h"
#include "confidence.h"
#include "direct.h"
#include "dragonfly.h"
#include "few_hosts.h"
#include "lanes.h"
#include "links.h"
#include "one_way_links.h"
#include "shortcuts.h"
#include "small_groups.h"
#include "support.h"
#include "switch_support.h"
#include "tiers_model.h"
#include "work.h"

static void work_fini(struct nt_work *w)
{
    free(w->host);
    free(w->d);
    free(w->weight);
    free(w->group);
    free(w->start);
    free(w->member);
    free(w->offset);
    free(w->t);
    free(w->profile);
    free(w->sd);
    free(w->weak);
    free(w->fitted);
}

static int work_init(struct nt_work *w, size_t n, struct nt_err *err)
{
    w->host = malloc((n + 1) * sizeof *w->host);
    w->d = malloc((n * n + 1) * sizeof *w->d);
    w->group = calloc(n + 1, sizeof *w->group);
    w->start = calloc(n + 2, sizeof *w->start);
    w->member = malloc((2 * n + 1) * sizeof *w->member); /* twice: see nt_groups_index */
    w->offset = calloc(n + 1, sizeof *w->offset);
    w->fitted = malloc((n + 1) * sizeof *w->fitted);
    if (w->host && w->d && w->group && w->start && w->member && w->offset && w->fitted)
        return 0;
    return nt_err_memory(err);
}

static int one_switch(struct nt_work *w, struct nt_err *err)
{
    for (size_t i = 0; i < w->n; i++)
        w->group[i] = 0;
    nt_groups_index(w);
    return nt_groups_fit(w, 8, err);
}

static int refit_groups(struct nt_work *w, struct nt_err *err)
{
    if (nt_groups_fit(w, nt_work_passes(w), err) < 0)
        return -1;
    return nt_repair(w, err);
}

/* One round of moving and joining; *settled: nothing changed. before: n elements. */
static int reconsider_groups(struct nt_work *w, uint32_t *before, bool *settled, struct nt_err *err)
{
    bool gathered, changed;
    memcpy(before, w->group, w->n * sizeof *before);
    if (nt_split_weak(w, &gathered, err) < 0 || (gathered && refit_groups(w, err) < 0))
        return -1;
    if (nt_groups_noise(w, true, err) < 0 || nt_split_groups(w, &changed, err) < 0 ||
        (changed && refit_groups(w, err) < 0))
        return -1;
    *settled = memcmp(before, w->group, w->n * sizeof *before) == 0;
    return 0;
}

static int find_groups(struct nt_work *w, struct nt_err *err)
{
    enum { ROUNDS = 4 };
    if (w->n < 4)
        return one_switch(w, err);
    if (nt_split_all(w, err) < 0 || nt_repair(w, err) < 0)
        return -1;
    uint32_t *before = malloc((w->n + 1) * sizeof *before);
    if (before == NULL)
        return nt_err_memory(err);
    bool settled = false;
    int status = 0;
    for (int round = 0; round < ROUNDS && !settled && status == 0; round++)
        status = reconsider_groups(w, before, &settled, err);
    free(before);
    if (status == 0 && w->n <= NT_WORK_FEW)
        status = nt_groups_fit(w, nt_work_passes(w), err);
    return status == 0 ? nt_groups_noise(w, true, err) : -1;
}

static int model_of(struct nt_work *w, const struct nt_tree *tree, size_t hosts,
                    struct nt_model **out, struct nt_err *err)
{
    if (nt_tree_model(w, tree, hosts, out, err) < 0)
        return -1;
    (*out)->family = (*out)->switches <= 1 ? NT_FAMILY_STAR : NT_FAMILY_TREE;
    return 0;
}

static int infer_tree(struct nt_work *w, size_t hosts, struct nt_model **out, struct nt_err *err)
{
    struct nt_tree tree;
    if (nt_group_tree(w, &tree, err) < 0)
        return -1;
    int status = model_of(w, &tree, hosts, out, err);
    nt_tree_fini(&tree);
    return status;
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

/* Latencies of the hosts' links less their mean, by host of the input; the caller frees them. */
static float *host_links(const struct nt_model *model)
{
    double sum = 0, count = 0;
    float *own = calloc(model->hosts + 1, sizeof *own);
    for (size_t k = 0; k < model->links && own != NULL; k++)
        if (model->link[k].a < model->hosts) {
            own[model->link[k].a] = (float)model->link[k].latency_us;
            sum += model->link[k].latency_us;
            count++;
        }
    for (size_t h = 0; h < model->hosts && own != NULL; h++)
        own[h] -= (float)(sum / fmax(count, 1));
    return own;
}

/* The nt_score of a tree: with host links that differ, and with equal links, since a direct network
 * has that choice too (nt_direct_fit). */
struct tree_score {
    double differ, alike;
};

/* p: the modelled latencies. */
static int tree_score(const struct nt_work *w, const struct nt_model *model,
                      const struct nt_matrix *p, struct tree_score *score, struct nt_err *err)
{
    double sum = 0, sum_alike = 0;
    float *own = host_links(model);
    if (own == NULL)
        return nt_err_memory(err);
    for (size_t i = 1; i < w->n; i++)
        for (size_t j = 0; j < i; j++) {
            uint32_t a = w->host[i], b = w->host[j];
            double v = (double)w->d[i * w->n + j], r = v - (double)nt_matrix_get(p, a, b);
            double alike = r + (double)(own[a] + own[b]);
            sum += r == r ? fabs(r) / v : 0;
            sum_alike += r == r ? fabs(alike) / v : 0;
        }
    free(own);
    double pairs = (double)w->pairs, links = (double)model->links;
    double least = NT_GRID_RESIDUAL * nt_noise_least(w);
    score->differ = nt_score(sum / pairs + least, pairs, fmin(links, pairs - 2));
    score->alike = nt_score(sum_alike / pairs + least, pairs, links - (double)w->n + 1);
    return 0;
}

/* The cost of a direct network: each link may be any of the pairs, a regular one is determined by
 * the position of each host. */
static double direct_score(const struct nt_work *w, const struct nt_direct *d)
{
    double n = (double)w->n, figures = d->offsets ? 2 + n : 2;
    if (!d->regular || !isfinite(d->score))
        return d->score;
    return fmin(d->score, nt_score(d->residual, (double)w->pairs, figures) + 2 * lgamma(n + 1));
}

/* A tree that leaves no more of a pattern than this (nt_misfit) is not looked for in another way.
 */
static const double CLEAN = 1.12;

/* Replaces the tree by a direct network that fits better for what it costs; when neither fits, the
 * tree stays as the nearest description, with an undetermined family. */
static int judge_model(struct nt_work *w, bool few, struct nt_model **model, struct nt_err *err)
{
    /* a graph is chosen among very many, which the score counts only in part */
    enum { DIRECT_MARGIN = 25 };
    const double NO_TREE = 0.05; /* a pattern is left over: the tree is a description at best */
    const double CLOSE = 0.5;    /* a graph scores nearly as well: either may be the network */
    struct nt_direct_effort effort = {.most = NT_DIRECT_STEPS_MAX};
    struct nt_direct d = {.score = INFINITY};
    struct nt_model *direct = NULL;
    struct nt_matrix *p;
    struct tree_score tree = {0, 0};
    double misfit = 0;
    if (!few)
        (*model)->confidence = nt_confidence(w, *model, 0);
    if (w->n < 4 || w->n > NT_DIRECT_HOSTS_MAX)
        return 0;
    if (nt_model_latencies(*model, &p, err) < 0)
        return -1;
    int status = nt_misfit(w, p, &misfit, err);
    if (status == 0)
        status = nt_shortcuts_find(w, p, &(*model)->shortcuts, err);
    if (status == 0 && nt_direct_is_plausible(w, *model, misfit)) {
        status = tree_score(w, *model, p, &tree, err);
        if (status == 0)
            status = nt_direct_find(w, tree.differ, &effort, &d, err);
    }
    nt_matrix_destroy(p);
    if (status < 0)
        return -1;
    if (!few)
        (*model)->confidence = nt_confidence(w, *model, misfit);
    /* a switch for each host on a line is the same network written with more unknowns */
    bool line = (*model)->switches + 2 >= w->n && d.links + 1 == w->n;
    /* with enough links some graph is near to any network */
    bool fits = d.regular || (d.misfit < NT_MISFIT_MAX && !d.crowded);
    double margin = line ? 0 : DIRECT_MARGIN;
    bool near = (fits || d.crowded) && d.score < tree.differ - margin;
    if (fits && direct_score(w, &d) < fmin(tree.differ, tree.alike) - margin)
        status = nt_direct_model(w, &d, (*model)->hosts, &direct, err);
    if (status == 0 && direct != NULL) {
        nt_model_destroy(*model);
        *model = direct;
    } else if (misfit > NT_MISFIT_MAX || near ||
               (nt_direct_is_spent(&effort) && (misfit > CLEAN || d.score < tree.differ))) {
        (*model)->family = NT_FAMILY_UNDETERMINED;
        (*model)->confidence *= NO_TREE;
    } else if (d.score < tree.differ - DIRECT_MARGIN / 2.0) {
        (*model)->confidence *= CLOSE;
    }
    nt_direct_fini(&d);
    return status;
}

/* One tree that joins hosts against the present model; *taken: it explains the readings better. */
static int compare_joined(struct nt_work *w, bool clipped, struct nt_model **model, bool *taken,
                          struct nt_err *err)
{
    struct nt_model *other = NULL;
    struct nt_tree tree;
    bool found;
    *taken = false;
    int status = nt_host_joining(w, clipped, &tree, &found, err);
    if (status < 0 || !found)
        return status;
    status = model_of(w, &tree, (*model)->hosts, &other, err);
    nt_tree_fini(&tree);
    if (status == 0)
        status = nt_links_fit(w, other, err);
    if (status == 0)
        status = nt_model_select(w, *model, other, taken, err);
    if (status == 0 && *taken) {
        struct nt_model *swap = *model;
        *model = other;
        other = swap;
    }
    nt_model_destroy(other);
    return status;
}

/* Few hosts: the tree that joins hosts may be better than the one that joins groups. First with
 * the readings as they are, for a fit that is wrong takes the right ones for outliers; then without
 * those far from the best so far. */
static int try_host_joining(struct nt_work *w, struct nt_model **model, struct nt_err *err)
{
    if (w->n < NT_HOST_JOINING_MIN || w->n > NT_HOST_JOINING_MAX)
        return 0;
    uint32_t group[NT_HOST_JOINING_MAX];
    int status = 0;
    for (int round = 0; round < 3 && status == 0; round++) {
        struct nt_noise noise = w->noise;
        bool taken;
        memcpy(group, w->group, w->n * sizeof *group);
        status = compare_joined(w, round > 0, model, &taken, err);
        if (status < 0 || taken)
            continue;
        memcpy(w->group, group, w->n * sizeof *group);
        w->noise = noise;
        nt_groups_index(w);
        status = nt_groups_fit(w, nt_work_passes(w), err);
        if (status == 0)
            status = nt_groups_noise(w, true, err);
        if (round > 0)
            break;
    }
    return status;
}

/* Less than a quarter of the pairs fit one switch always. */
static bool is_sparse(const struct nt_work *w)
{
    return 8 * (double)w->pairs < (double)w->n * ((double)w->n - 1);
}

/* Few readings of many hosts always fit one switch, since they determine nothing else: so uncertain
 * a shape is not stated. */
static void limit_few_hosts_confidence(const struct nt_work *w, struct nt_model *model)
{
    const double NOTHING = 0.3;
    if (is_sparse(w) && model->confidence < NOTHING)
        model->family = NT_FAMILY_UNDETERMINED;
}

/* Finds the small groups, and how certain each switch is. */
static int refine_tree(struct nt_work *w, struct nt_model **model, struct nt_err *err)
{
    return nt_small_groups(w, model, err) < 0 || nt_support(w, model, err) < 0 ? -1 : 0;
}

/* The tree that results from one switch by finding small groups alone. */
static int grow_tree(struct nt_work *w, size_t hosts, struct nt_model **out, struct nt_err *err)
{
    nt_noise_estimate(w->d, w->n, &w->rng, &w->noise);
    if (one_switch(w, err) < 0)
        return -1;
    struct nt_tree tree;
    if (nt_group_tree(w, &tree, err) < 0)
        return -1;
    int status = model_of(w, &tree, hosts, out, err);
    nt_tree_fini(&tree);
    if (status == 0)
        status = nt_links_fit(w, *out, err);
    return status == 0 ? refine_tree(w, out, err) : -1;
}

/* Beyond so many hosts groups are large enough to be cut correctly, and time matters. */
enum { ANOTHER_WAY_HOSTS = 512 };

/* Groups that were cut wrongly at first are not corrected later: grows the tree from one switch
 * instead, and takes the better of both. */
static int try_regrowing(struct nt_work *w, struct nt_model **model, struct nt_err *err)
{
    struct nt_model *other = NULL;
    struct nt_matrix *p = NULL;
    double misfit = 0;
    bool better = false;
    int status = nt_model_latencies(*model, &p, err);
    if (status == 0)
        status = nt_misfit(w, p, &misfit, err);
    nt_matrix_destroy(p);
    if (status < 0 || misfit < CLEAN)
        return status;
    status = grow_tree(w, (*model)->hosts, &other, err);
    if (status == 0)
        status = nt_model_select(w, *model, other, &better, err);
    if (status == 0 && better) {
        struct nt_model *swap = *model;
        *model = other;
        other = swap;
    }
    nt_model_destroy(other);
    return status == 0 ? nt_model_groups(*model, w, err) : -1;
}

/* The likeliest tree: of few hosts of all there are, else from groups, and of hosts joined. *few:
 * the first. */
static int find_tree(struct nt_work *w, const struct nt_matrix *latency, bool *few,
                     struct nt_model **out, struct nt_err *err)
{
    if (nt_few_hosts(w, latency->n, out, err) < 0)
        return -1;
    *few = *out != NULL;
    if (*few) {
        if (nt_model_groups(*out, w, err) < 0)
            return -1;
    } else if (find_groups(w, err) < 0 || infer_tree(w, latency->n, out, err) < 0) {
        return -1;
    }
    if (w->directions)
        nt_work_mean_of_directions(w, latency);
    if (nt_work_weigh(w, err) < 0 || nt_links_fit(w, *out, err) < 0)
        return -1;
    if (*few)
        return 0;
    if (try_host_joining(w, out, err) < 0 || refine_tree(w, out, err) < 0)
        return -1;
    return w->n <= ANOTHER_WAY_HOSTS ? try_regrowing(w, out, err) : 0;
}

static int infer_model(struct nt_work *w, const struct nt_matrix *latency, struct nt_model **out,
                       struct nt_err *err)
{
    bool few;
    if (find_tree(w, latency, &few, out, err) < 0 || nt_support_resolve(w, out, err) < 0 ||
        judge_model(w, few, out, err) < 0)
        return -1;
    limit_few_hosts_confidence(w, *out);
    nt_resolution_state(*out);
    nt_confidence_limit(*out);
    return 0;
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

static int infer_chain(struct nt_work *w, const struct nt_matrix *latency,
                       const struct nt_pairs *readings, struct nt_model **out, struct nt_err *err)
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

/* By the tier model, and graphs of switches. */
static int infer_by_tiers(struct nt_work *w, const struct nt_matrix *latency, struct nt_model **out,
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
    int status = infer_chain(w, latency, readings, out, err);
    nt_pairs_destroy(readings);
    if (status < 0 || try_dragonfly(latency, out, err) < 0)
        return -1;
    if (is_sparse(w) && ((*out)->switches == 1 || (*out)->confidence < nothing))
        (*out)->family = NT_FAMILY_UNDETERMINED;
    return 0;
}

/* The path from a matrix to a model that all methods share. */
static int infer_by(int (*infer)(struct nt_work *w, const struct nt_matrix *latency,
                                 struct nt_model **out, struct nt_err *err),
                    const struct nt_matrix *latency, const struct nt_matrix *se, uint64_t seed,
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
        nt_noise_of_repeats(latency, se, &w.noise);
        w.error = se != NULL && se->n == n ? se : NULL;
        nt_work_fill(&w, latency);
        nt_work_drop_missing(&w, n, missing);
        status = w.n == 0 ? nt_model_create(n, 0, 0, &model, err) : infer(&w, latency, &model, err);
    }
    if (status == 0)
        memcpy(model->missing, missing, n * sizeof *missing);
    if (status == 0)
        *out = model;
    else
        nt_model_destroy(model);
    free(missing);
    work_fini(&w);
    return status;
}

/* Canonical, with its links of one way. */
static int finish(const struct nt_matrix *latency, bool doubt, struct nt_model **model,
                  struct nt_err *err)
{
    int status = nt_model_canonicalise(*model, err);
    if (status == 0 && doubt)
        nt_shortcuts_doubt(*model);
    if (status == 0)
        status = nt_one_way_links_mark(latency, *model, err);
    if (status != 0) {
        nt_model_destroy(*model);
        *model = NULL;
    }
    return status;
}

int nt_infer_latency(const struct nt_matrix *latency, const struct nt_matrix *se, uint64_t seed,
                     struct nt_model **out, struct nt_err *err)
{
    if (infer_by(infer_model, latency, se, seed, out, err) < 0)
        return -1;
    if (latency->n < 2)
        return 0;
    if (nt_dragonfly_try(latency, out, err) < 0) {
        nt_model_destroy(*out);
        return -1;
    }
    return finish(latency, true, out, err);
}

int nt_infer_tiers(const struct nt_matrix *latency, struct nt_model **out, struct nt_err *err)
{
    const uint64_t seed = 1; /* of the search among graphs */
    if (infer_by(infer_by_tiers, latency, NULL, seed, out, err) < 0)
        return -1;
    return latency->n < 2 ? 0 : finish(latency, false, out, err);
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
        status = nt_model_groups(model, &w, err);
    }
    if (status == 0) {
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
