/* SPDX-License-Identifier: Apache-2.0 */
#include "repeats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "min_latency.h"
#include "stats.h"

enum { CAPACITY_MIN = 64, LOWS_MAX = 32 };

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
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    if (p->b != q->b)
        return p->b < q->b ? -1 : 1;
    if (p->phase != q->phase)
        return p->phase < q->phase ? -1 : 1;
    return p->us < q->us ? -1 : p->us > q->us;
}

/* The readings of one pair, sorted by phase. */
static void fold_pair(const struct nt_repeat *at, size_t n, struct nt_matrix *lowest,
                      struct nt_matrix *error)
{
    float low[LOWS_MAX], first = nt_matrix_get(lowest, at->a, at->b);
    size_t lows = 0;
    if (!isnan(first))
        low[lows++] = first;
    for (size_t k = 0; k < n && lows < LOWS_MAX;) {
        struct nt_min_latency of = {0};
        uint32_t phase = at[k].phase;
        for (; k < n && at[k].phase == phase; k++)
            nt_min_latency_note(&of, at[k].us);
        low[lows++] = nt_min_latency_of(&of);
    }
    nt_matrix_set(lowest, at->a, at->b, nt_stats_median(low, lows));
    if (error != NULL && lows > 2) /* of a median; the middle of two is their mean */
        nt_matrix_set(error, at->a, at->b,
                      nt_matrix_get(error, at->a, at->b) * 1.2533F / sqrtf((float)lows));
}

void nt_repeats_fold(struct nt_repeats *r, struct nt_matrix *lowest, struct nt_matrix *error)
{
    if (r->count > 0)
        qsort(r->at, r->count, sizeof *r->at, compare_repeats);
    for (size_t k = 0, end; k < r->count; k = end) {
        for (end = k + 1;
             end < r->count && r->at[end].a == r->at[k].a && r->at[end].b == r->at[k].b;)
            end++;
        if (r->at[k].a < lowest->n && r->at[k].b < lowest->n)
            fold_pair(r->at + k, end - k, lowest, error);
    }
}

void nt_repeats_fini(struct nt_repeats *r)
{
    free(r->at);
    *r = (struct nt_repeats){0};
}
