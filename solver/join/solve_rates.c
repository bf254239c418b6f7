/* SPDX-License-Identifier: Apache-2.0 */
#include "solve_rates.h"

#include <math.h>
#include <string.h>

#include "infer.h"
#include "memory.h"
#include "number.h"
#include "stats.h"

#define NARROWER 0.9 /* than the usual best pair of a host: it shows nothing of where it hangs */
#define UNSURE 0.5

/* A byte over B * 10^6 bytes a second takes 1/B us; of 1,000 bytes, so that figures are usual. */
static int invert(const struct nt_matrix *bandwidth, struct nt_matrix **out, struct nt_err *err)
{
    struct nt_matrix *us;
    if (nt_matrix_create(bandwidth->n, NT_MATRIX_LATENCY_US, &us, err) != 0)
        return -1;
    for (size_t k = 0; k < bandwidth->n * bandwidth->n; k++)
        us->at[k] = bandwidth->at[k] > 0 ? 1000 / bandwidth->at[k] : NAN;
    *out = us;
    return 0;
}

static float best_of(const struct nt_matrix *m, size_t host)
{
    float best = 0;
    for (size_t k = 0; k < m->n; k++) {
        best = fmaxf(best, isnan(nt_matrix_get(m, host, k)) ? 0 : nt_matrix_get(m, host, k));
        best = fmaxf(best, isnan(nt_matrix_get(m, k, host)) ? 0 : nt_matrix_get(m, k, host));
    }
    return best;
}

/* Each host's best pair in best[] (0: none), and the usual one. */
static int find_best(const struct nt_matrix *m, float *best, float *usual, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    float *copy = nt_arena_array(&memory, m->n + 1, sizeof *copy);
    size_t n = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < m->n; k++) {
        best[k] = best_of(m, k);
        if (best[k] > 0)
            copy[n++] = best[k];
    }
    *usual = n == 0 ? 0 : nt_stats_median(copy, n);
    return 0;
}

static bool is_narrow(float best, float usual)
{
    return best > 0 && (double)best < NARROWER * (double)usual;
}

/* The figures were times of bytes, of which the bandwidths tell more. */
static void drop_figures(struct nt_model *m)
{
    for (size_t k = 0; k < m->links; k++)
        m->link[k].latency_us = m->link[k].latency_se_us = NAN;
    memset(m->overhead_us, 0, m->hosts * sizeof *m->overhead_us);
    m->r2 = m->rms_us = m->resolution_us = NAN;
    m->pairs_off = 0;
}

static void doubt_all(struct nt_model *m)
{
    for (size_t k = 0; k < m->links; k++)
        m->link[k].probability = fmin(m->link[k].probability, UNSURE);
    m->confidence = fmin(m->confidence, UNSURE);
}

static int make_nothing(struct nt_model **model, struct nt_err *err)
{
    struct nt_model *empty;
    if (nt_model_create((*model)->hosts, 0, 0, &empty, err) != 0)
        return -1;
    memcpy(empty->missing, (*model)->missing, empty->hosts * sizeof *empty->missing);
    nt_model_destroy(*model);
    *model = empty;
    return 0;
}

int nt_solve_rates(const struct nt_matrix *bandwidth, uint64_t seed, struct nt_model **out,
                   struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_matrix *us;
    struct nt_model *m;
    bool narrow = false;
    float usual, *best = nt_arena_array(&memory, bandwidth->n + 1, sizeof *best);
    if (nt_arena_check(&memory, err) != 0 || find_best(bandwidth, best, &usual, err) != 0 ||
        invert(bandwidth, &us, err) != 0)
        return -1;
    for (size_t k = 0; k < bandwidth->n; k++)
        narrow = narrow || is_narrow(best[k], usual);
    int rc = nt_infer_latency(us, NULL, seed, &m, err);
    nt_matrix_destroy(us);
    if (rc != 0)
        return -1;
    if (m->family != NT_FAMILY_TREE && make_nothing(&m, err) != 0) {
        nt_model_destroy(m);
        return -1;
    }
    drop_figures(m);
    if (narrow)
        doubt_all(m);
    *out = m;
    return 0;
}

/* A warning each, of the first; an unbounded list would break the map's bound. */
enum { NARROW_NAMED_MAX = 100 };

int nt_solve_rates_warn(struct nt_map *map, const struct nt_matrix *bandwidth, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t narrow = 0;
    float usual, *best = nt_arena_array(&memory, bandwidth->n + 1, sizeof *best);
    if (nt_arena_check(&memory, err) != 0 || find_best(bandwidth, best, &usual, err) != 0)
        return -1;
    for (size_t k = 0; k < bandwidth->n; k++) {
        char has[NT_NUMBER_BYTES], others[NT_NUMBER_BYTES];
        if (!is_narrow(best[k], usual) || narrow++ >= NARROW_NAMED_MAX)
            continue;
        nt_number_plain((double)best[k], 3, has);
        nt_number_plain((double)usual, 3, others);
        if (nt_map_warn(map, err,
                        "every pair of host %s has at most %s MB/s, those of other hosts %s: the "
                        "host or its link is narrow, and its place in the network is not known",
                        map->host_name[k], has, others) != 0)
            return -1;
    }
    return nt_map_warn(map, err,
                       map->model->links > 0
                           ? "found from bandwidths alone: only switches whose links are narrower "
                             "than those of the hosts below them show"
                           : "bandwidths alone show no groups of hosts: the network may be one "
                             "switch, or one whose links are wide enough for a pair");
}
