/* SPDX-License-Identifier: Apache-2.0 */
#include "repeats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "changed_hosts.h"
#include "memory.h"
#include "min_latency.h"
#include "stats.h"

enum { CAPACITY_MIN = 64, LOWS_MAX = 32 };

/* A phase measured another state of the network if it exceeds the pair's lowest by this number of
 * standard deviations of a phase and by this share. A sweep has thousands of pairs and few
 * phases. */
static const float APART_SD = 6, APART_MIN = 0.02F;
/* For normal values: standard deviation over the median of the absolute differences of two
 * values. */
static const float SD_OF_DIFFERENCE = 1.0483F;

bool nt_repeats_is_phase(const char *name)
{
    return strncmp(name, NT_REPEATS_PHASE, sizeof NT_REPEATS_PHASE - 1) == 0;
}

int nt_repeats_note(struct nt_repeats *r, uint32_t a, uint32_t b, uint32_t phase, double us,
                    struct nt_err *err)
{
    if (r->count == r->capacity) {
        size_t capacity = r->capacity == 0 ? CAPACITY_MIN : 2 * r->capacity;
        struct nt_repeat *at =
            capacity > SIZE_MAX / sizeof *at ? NULL : realloc(r->at, capacity * sizeof *at);
        if (at == NULL)
            return nt_err_memory(err);
        r->at = at;
        r->capacity = capacity;
    }
    r->at[r->count++] = (struct nt_repeat){a, b, phase, (float)us};
    return 0;
}

static int compare_repeats(const void *x, const void *y)
{
    const struct nt_repeat *p = x, *q = y;
    return NT_ORDER(p->a, q->a,
                    NT_ORDER(p->b, q->b, NT_ORDER(p->phase, q->phase, NT_ORDER(p->us, q->us, 0))));
}

/* The lowest reading of each phase, including the first readings, of one repeated pair: n entries
 * sorted by phase. Returns their number. A pair without a first reading (NaN) has none. */
static size_t lows_of(const struct nt_repeat *at, size_t n, const struct nt_matrix *lowest,
                      float *low)
{
    size_t lows = 0;
    float first = nt_matrix_get(lowest, at->a, at->b);
    if (!isnan(first))
        low[lows++] = first;
    for (size_t k = 0; k < n && lows < LOWS_MAX;) {
        struct nt_min_latency of = {0};
        uint32_t phase = at[k].phase;
        for (; k < n && at[k].phase == phase; k++)
            nt_min_latency_note(&of, at[k].us, 0);
        low[lows++] = nt_min_latency_of(&of);
    }
    return lows;
}

static size_t end_of_pair(const struct nt_repeats *r, size_t from)
{
    size_t end = from + 1;
    while (end < r->count && r->at[end].a == r->at[from].a && r->at[end].b == r->at[from].b)
        end++;
    return end;
}

/* How far above a pair's lowest phase another one may be by noise, as a factor. From how much the
 * first two phases of all pairs differ; work holds one value a pair. */
static float apart_factor(const struct nt_repeats *r, const struct nt_matrix *lowest, float *work)
{
    size_t n = 0;
    for (size_t k = 0, end; k < r->count; k = end) {
        float low[LOWS_MAX];
        end = end_of_pair(r, k);
        if (r->at[k].a < lowest->n && r->at[k].b < lowest->n &&
            lows_of(r->at + k, end - k, lowest, low) > 1)
            work[n++] = fabsf(logf(low[1] / low[0]));
    }
    float sd = n == 0 ? 0 : SD_OF_DIFFERENCE * nt_stats_median(work, n);
    return expf(fmaxf(APART_SD * sd, APART_MIN));
}

static float least_of(const float *low, size_t n)
{
    float least = low[0];
    for (size_t k = 1; k < n; k++)
        least = fminf(least, low[k]);
    return least;
}

/* Notes each pair's phases as of one network or of two. */
static void find_changed(const struct nt_repeats *r, const struct nt_matrix *lowest, float apart,
                         struct nt_changed_hosts *changed)
{
    for (size_t k = 0, end; k < r->count; k = end) {
        float low[LOWS_MAX];
        end = end_of_pair(r, k);
        if (r->at[k].a >= lowest->n || r->at[k].b >= lowest->n)
            continue;
        size_t lows = lows_of(r->at + k, end - k, lowest, low);
        float least = least_of(low, lows);
        bool two = false;
        for (size_t i = 0; i < lows; i++)
            two = two || low[i] > apart * least;
        if (lows > 1)
            nt_changed_hosts_note(changed, r->at[k].a, r->at[k].b, two);
    }
}

/* most: phases above this multiple of the lowest are ignored. */
static void fold_pair(const struct nt_repeat *at, size_t n, float most, struct nt_matrix *lowest,
                      struct nt_matrix *error)
{
    float low[LOWS_MAX];
    size_t lows = lows_of(at, n, lowest, low), kept = 0;
    float least = least_of(low, lows);
    for (size_t k = 0; k < lows; k++)
        if (low[k] <= most * least)
            low[kept++] = low[k];
    nt_matrix_set(lowest, at->a, at->b, nt_stats_median(low, kept));
    if (error != NULL && nt_matrix_get(error, at->a, at->b) < 0) /* of a single reading */
        nt_matrix_set(error, at->a, at->b, NAN);
    if (error != NULL && kept > 2) /* of a median; the middle of two is their mean */
        nt_matrix_set(error, at->a, at->b,
                      nt_matrix_get(error, at->a, at->b) * 1.2533F / sqrtf((float)kept));
}

int nt_repeats_fold(struct nt_repeats *r, struct nt_matrix *lowest, struct nt_matrix *error,
                    struct nt_err *err)
{
    struct nt_changed_hosts changed;
    if (r->count == 0)
        return 0;
    if (nt_changed_hosts_init(&changed, lowest->n, err) != 0)
        return -1;
    float *work = malloc(r->count * sizeof *work);
    if (work == NULL) {
        nt_changed_hosts_fini(&changed);
        return nt_err_memory(err);
    }
    qsort(r->at, r->count, sizeof *r->at, compare_repeats);
    float apart = apart_factor(r, lowest, work);
    free(work);
    find_changed(r, lowest, apart, &changed);
    for (size_t k = 0, end; k < r->count; k = end) {
        end = end_of_pair(r, k);
        if (r->at[k].a < lowest->n && r->at[k].b < lowest->n)
            fold_pair(r->at + k, end - k,
                      nt_changed_hosts_contain(&changed, r->at[k].a, r->at[k].b) ? apart : INFINITY,
                      lowest, error);
    }
    nt_changed_hosts_fini(&changed);
    return 0;
}

void nt_repeats_fini(struct nt_repeats *r)
{
    free(r->at);
    *r = (struct nt_repeats){0};
}
