/* SPDX-License-Identifier: Apache-2.0 */
#include "solve_rates.h"

#include <math.h>
#include <string.h>

#include "infer.h"
#include "memory.h"
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

static int count_lost(const struct nt_matrix *m, size_t *lost, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    float *best = nt_arena_array(&memory, 2 * m->n + 1, sizeof *best), *copy = best + m->n;
    size_t n = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < m->n; k++) {
        best[n] = best_of(m, k);
        n += best[n] > 0;
    }
    memcpy(copy, best, n * sizeof *copy);
    float usual = n == 0 ? 0 : nt_stats_median(copy, n);
    *lost = 0;
    for (size_t k = 0; k < n; k++)
        *lost += (double)best[k] < NARROWER * (double)usual;
    return 0;
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
                   size_t *lost, struct nt_err *err)
{
    struct nt_matrix *us;
    struct nt_model *m;
    if (count_lost(bandwidth, lost, err) != 0 || invert(bandwidth, &us, err) != 0)
        return -1;
    int rc = nt_infer_latency(us, NULL, seed, &m, err);
    nt_matrix_destroy(us);
    if (rc != 0)
        return -1;
    if (m->family != NT_FAMILY_TREE && make_nothing(&m, err) != 0) {
        nt_model_destroy(m);
        return -1;
    }
    drop_figures(m);
    if (*lost > 0)
        doubt_all(m);
    *out = m;
    return 0;
}

int nt_solve_rates_warn(struct nt_map *map, size_t lost, struct nt_err *err)
{
    if (lost > 0 &&
        nt_map_warn(map, err,
                    "%zu hosts get from nobody as much as the others: where they hang is not known",
                    lost) != 0)
        return -1;
    return nt_map_warn(map, err,
                       map->model->links > 0
                           ? "found from bandwidths alone: only switches whose links are narrower "
                             "than those of the hosts below them show"
                           : "bandwidths alone show no groups of hosts: the network may be one "
                             "switch, or one whose links are wide enough for a pair");
}
