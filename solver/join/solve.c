#include "solve.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bufe.h"
#include "hint.h"
#include "infer.h"
#include "link_bandwidth.h"
#include "link_latency.h"
#include "parus.h"

/* Any fixed number: the same measurements must give the same map. */
static const uint64_t seed = 1;

/* ---- methods ----------------------------------------------------------------------------------
 */

static int infer_auto(const struct nt_matrix *latency, const struct nt_matrix *bandwidth,
                      struct nt_model **out, struct nt_err *err)
{
    (void)bandwidth; /* structure is told by latency alone */
    return nt_infer_latency(latency, NULL, seed, out, err);
}

static int infer_bufe(const struct nt_matrix *latency, const struct nt_matrix *bandwidth,
                      struct nt_model **out, struct nt_err *err)
{
    struct nt_bufe_result *result;
    if (nt_bufe_infer(latency, bandwidth, NULL, &result, err) != 0)
        return -1;
    *out = result->model;
    result->model = NULL;
    nt_bufe_destroy(result);
    return 0;
}

static int infer_parus(const struct nt_matrix *latency, const struct nt_matrix *bandwidth,
                       struct nt_model **out, struct nt_err *err)
{
    (void)bandwidth;
    struct nt_parus_result *result;
    if (nt_parus_infer(&latency, 1, NULL, &result, err) != 0)
        return -1;
    *out = result->model;
    result->model = NULL;
    nt_parus_destroy(result);
    return 0;
}

static const struct method {
    const char *name;
    int (*infer)(const struct nt_matrix *latency, const struct nt_matrix *bandwidth,
                 struct nt_model **out, struct nt_err *err);
    bool own_bandwidths; /* the method gives links their bandwidths by itself */
} methods[] = {
    {"auto", infer_auto, false},
    {"bufe", infer_bufe, true},
    {"parus", infer_parus, false},
};

static const struct method *find_method(const char *name, struct nt_err *err)
{
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++)
        if (name == NULL || strcmp(name, methods[k].name) == 0)
            return &methods[k];
    nt_err_set(err, NT_ERR_USAGE, "method %s: expected auto, bufe or parus", name);
    return NULL;
}

/* ---- hosts by name ----------------------------------------------------------------------------
 */

/* Sorting before inferring makes the map the same for any order of the hosts, and lets the model's
 * own canonical order (by smallest host) be the order of names. */
struct sorted {
    size_t n;
    uint32_t *order; /* order[k]: where the host that comes k-th by name stood */
    const char **name;
    const char **missing; /* NULL, or why */
    struct nt_matrix *latency, *bandwidth;
};

static void sorted_fini(struct sorted *s)
{
    free(s->order);
    free(s->name);
    free(s->missing);
    nt_matrix_destroy(s->latency);
    nt_matrix_destroy(s->bandwidth);
}

static int by_name(const void *a, const void *b, void *names)
{
    const char *const *name = names;
    return nt_name_compare(name[*(const uint32_t *)a], name[*(const uint32_t *)b]);
}

/* The matrix in the order of names, without the rows and columns of missing hosts. */
static int sort_matrix(const struct sorted *s, const struct nt_matrix *m, struct nt_matrix **out,
                       struct nt_err *err)
{
    struct nt_matrix *sorted;
    if (nt_matrix_create(s->n, m->kind, &sorted, err) != 0)
        return -1;
    for (size_t i = 0; i < s->n; i++) {
        if (s->missing[i] != NULL)
            continue;
        for (size_t j = 0; j < s->n; j++)
            if (s->missing[j] == NULL && i != j)
                nt_matrix_set(sorted, i, j, nt_matrix_get(m, s->order[i], s->order[j]));
    }
    *out = sorted;
    return 0;
}

static int sorted_init(struct sorted *s, const struct nt_measured *from, struct nt_err *err)
{
    size_t n = from->latency->n;
    *s = (struct sorted){.n = n,
                         .order = malloc((n + 1) * sizeof *s->order),
                         .name = malloc((n + 1) * sizeof *s->name),
                         .missing = malloc((n + 1) * sizeof *s->missing)};
    if (s->order == NULL || s->name == NULL || s->missing == NULL) {
        nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu hosts", n);
        goto fini;
    }
    for (size_t k = 0; k < n; k++)
        s->order[k] = (uint32_t)k;
    qsort_r(s->order, n, sizeof *s->order, by_name, (void *)from->host_name);
    for (size_t k = 0; k < n; k++) {
        s->name[k] = from->host_name[s->order[k]];
        s->missing[k] = from->missing == NULL ? NULL : from->missing[s->order[k]];
    }
    if (sort_matrix(s, from->latency, &s->latency, err) != 0)
        goto fini;
    if (from->bandwidth != NULL && sort_matrix(s, from->bandwidth, &s->bandwidth, err) != 0)
        goto fini;
    return 0;
fini:
    sorted_fini(s);
    return -1;
}

/* ---- the map's other parts --------------------------------------------------------------------
 */

static void count_pairs(const struct nt_matrix *m, struct nt_sweep *sweep)
{
    sweep->pairs_total = m->n == 0 ? 0 : (uint64_t)m->n * (m->n - 1) / 2;
    for (size_t i = 0; i < m->n; i++)
        for (size_t j = i + 1; j < m->n; j++)
            if (!isnan(nt_matrix_get(m, i, j)) || !isnan(nt_matrix_get(m, j, i)))
                sweep->pairs_measured++;
}

static int name_missing(struct nt_map *map, const struct sorted *s, struct nt_err *err)
{
    for (size_t k = 0; k < s->n; k++) {
        if (s->missing[k] != NULL)
            map->model->missing[k] = true;
        if (!map->model->missing[k])
            continue;
        if (map->status == NT_STATUS_OK)
            map->status = NT_STATUS_PARTIAL;
        const char *why = s->missing[k] != NULL ? s->missing[k] : "nothing was measured";
        if (nt_map_warn(map, err, "host %s is missing: %s", s->name[k], why) != 0)
            return -1;
    }
    return 0;
}

static int keep_hint(struct nt_map *map, const struct nt_hint *hint, struct nt_err *err)
{
    struct nt_placement *p = calloc(1, sizeof *p);
    uint32_t *order = malloc((hint->hosts + 1) * sizeof *order);
    if (p == NULL || order == NULL) {
        free(p);
        free(order);
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for a placement");
    }
    memcpy(order, hint->host_order, hint->hosts * sizeof *order);
    *p = (struct nt_placement){.order = order,
                               .hosts = hint->hosts,
                               .cost = hint->cost,
                               .cost_default = hint->cost_default,
                               .gain = hint->gain};
    strncpy(p->pattern, hint->pattern, sizeof p->pattern - 1);
    map->placement = p;
    return 0;
}

/* A task a host. A pattern that cannot be had (it does not fit the hosts, or needs a file) costs
 * a warning, not the map. */
static int place_tasks(struct nt_map *map, const char *pattern, struct nt_err *err)
{
    const struct nt_model *m = map->model;
    struct nt_hint *hint;
    struct nt_err why = {0};
    size_t tasks = 0;
    uint32_t *capacity = calloc(m->hosts + 1, sizeof *capacity);
    if (capacity == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for a placement");
    for (size_t k = 0; k < m->hosts; k++)
        tasks += capacity[k] = !m->missing[k];
    int rc = tasks == 0 ? -1 : nt_hint_create(map, pattern, capacity, tasks, seed, &hint, &why);
    if (rc != 0 && tasks > 0 && why.kind == NT_ERR_INPUT) {
        rc = nt_map_warn(map, err, "pattern %s: %s; the hint is for neighbour", pattern, why.text);
        if (rc == 0)
            rc = nt_hint_create(map, "neighbour", capacity, tasks, seed, &hint, err);
    } else if (rc != 0 && tasks > 0) {
        *err = why;
    }
    free(capacity);
    if (tasks == 0)
        return 0; /* nobody to place */
    if (rc != 0)
        return -1;
    rc = keep_hint(map, hint, err);
    nt_hint_destroy(hint);
    return rc;
}

static int set_bandwidths(struct nt_map *map, const struct nt_matrix *bandwidth, struct nt_err *err)
{
    if (bandwidth == NULL)
        return 0;
    int rc = nt_link_bandwidth(map->model, bandwidth, err);
    if (rc == 0)
        rc = nt_map_warn(map, err, "bandwidths are left out: the network found is no tree");
    return rc < 0 ? -1 : 0;
}

/* ---- what a sweep's record has beside matrices -------------------------------------------------
 */

/* Half of the hosts must have met this share of the others: below it, what was not measured is
 * taken for structure now and then, and a map says nothing false. */
static const double COVERED = 0.9;

static bool is_covered(const struct nt_matrix *m, const char *const *missing)
{
    size_t covered = 0, present = 0;
    for (size_t i = 0; i < m->n; i++)
        present += missing[i] == NULL;
    for (size_t i = 0; i < m->n; i++) {
        size_t met = 0;
        for (size_t j = 0; j < m->n; j++)
            met += !isnan(nt_matrix_get(m, i, j)) || !isnan(nt_matrix_get(m, j, i));
        covered += missing[i] == NULL && (double)met >= COVERED * (double)(present - 1);
    }
    return present < 3 || 2 * covered >= present;
}

/* The network is not told yet: hosts, and nothing between them. */
static int infer_nothing(const struct sorted *s, struct nt_model **out, struct nt_err *err)
{
    if (nt_model_create(s->n, 0, 0, out, err) != 0)
        return -1;
    for (size_t k = 0; k < s->n; k++)
        (*out)->missing[k] = s->missing[k] != NULL;
    return 0;
}

static int refine(struct nt_map *map, const struct sorted *s, const struct nt_samples *samples,
                  struct nt_err *err)
{
    uint32_t *vertex = malloc((s->n + 1) * sizeof *vertex);
    if (vertex == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu hosts", s->n);
    for (size_t k = 0; k < s->n; k++)
        vertex[s->order[k]] = (uint32_t)k;
    int rc = nt_link_latency(samples, vertex, map->model, err);
    free(vertex);
    return rc < 0 ? -1 : 0;
}

/* ---- solving ----------------------------------------------------------------------------------
 */

static int infer_sorted(const struct sorted *s, const struct nt_measured *from, bool told,
                        struct nt_model **out, struct nt_err *err)
{
    const struct method *method = find_method(from->method, err);
    if (method == NULL)
        return -1;
    return told ? method->infer(s->latency, s->bandwidth, out, err) : infer_nothing(s, out, err);
}

/* samples: that the measurements are from; NULL: they are from elsewhere. */
static int solve_sorted(const struct sorted *s, const struct nt_measured *from,
                        const struct nt_samples *samples, struct nt_map **out, struct nt_err *err)
{
    struct nt_model *model;
    struct nt_map *map;
    bool told = samples == NULL || is_covered(s->latency, s->missing);
    if (infer_sorted(s, from, told, &model, err) != 0)
        return -1;
    if (nt_map_create(model, s->name, &map, err) != 0) {
        nt_model_destroy(model);
        return -1;
    }
    count_pairs(s->latency, &map->sweep);
    const char *pattern = from->pattern[0] == '\0' ? "neighbour" : from->pattern;
    const struct nt_matrix *bandwidth =
        find_method(from->method, err)->own_bandwidths ? NULL : s->bandwidth;
    if ((!told && nt_map_warn(map, err, "%llu of %llu pairs measured: too few to tell the network",
                              (unsigned long long)map->sweep.pairs_measured,
                              (unsigned long long)map->sweep.pairs_total) != 0) ||
        name_missing(map, s, err) != 0 || set_bandwidths(map, bandwidth, err) != 0 ||
        (samples != NULL && told && refine(map, s, samples, err) != 0) ||
        (told && place_tasks(map, pattern, err) != 0)) {
        nt_map_destroy(map);
        return -1;
    }
    *out = map;
    return 0;
}

static int solve(const struct nt_measured *measured, const struct nt_samples *samples,
                 struct nt_map **out, struct nt_err *err)
{
    struct sorted s;
    if (sorted_init(&s, measured, err) != 0)
        return -1;
    int rc = solve_sorted(&s, measured, samples, out, err);
    sorted_fini(&s);
    return rc;
}

int nt_solve_measured(const struct nt_measured *measured, struct nt_map **out, struct nt_err *err)
{
    return solve(measured, NULL, out, err);
}

/* What the record says beside its figures. */
static int carry(const struct nt_samples *samples, struct nt_map *map, struct nt_err *err)
{
    char *cluster = strdup(samples->cluster), *level = strdup(samples->level);
    char *created = strdup(samples->created);
    struct nt_phase *phase = malloc((samples->phases + 1) * sizeof *phase);
    if (!cluster || !level || !created || !phase) {
        free(cluster);
        free(level);
        free(created);
        free(phase);
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for a map");
    }
    free(map->cluster);
    free(map->level);
    free(map->created);
    map->cluster = cluster;
    map->level = level;
    map->created = created;
    map->job_id = samples->job_id;
    if (samples->phases > 0)
        memcpy(phase, samples->phase, samples->phases * sizeof *phase);
    map->sweep.phase = phase;
    map->sweep.phases = samples->phases;
    map->sweep.rounds = samples->rounds;
    map->sweep.seconds = samples->seconds;
    if (samples->status > map->status)
        map->status = samples->status;
    for (size_t k = 0; k < samples->warnings; k++)
        if (nt_map_warn(map, err, "%s", samples->warning[k]) != 0)
            return -1;
    return 0;
}

int nt_solve_samples_by(const struct nt_samples *samples, const char *method, struct nt_map **out,
                        struct nt_err *err)
{
    struct nt_matrix *latency;
    struct nt_map *map;
    if (nt_samples_latency(samples, 0, &latency, err) != 0)
        return -1;
    struct nt_measured measured = {.latency = latency,
                                   .host_name = (const char *const *)samples->host_name,
                                   .missing = samples->missing,
                                   .pattern = samples->pattern,
                                   .method = method};
    int rc = solve(&measured, samples, &map, err);
    nt_matrix_destroy(latency);
    if (rc != 0)
        return -1;
    if (carry(samples, map, err) != 0) {
        nt_map_destroy(map);
        return -1;
    }
    *out = map;
    return 0;
}

int nt_solve_samples(const struct nt_samples *samples, struct nt_map **out, struct nt_err *err)
{
    return nt_solve_samples_by(samples, NULL, out, err);
}
