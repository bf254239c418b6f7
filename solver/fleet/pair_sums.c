/* SPDX-License-Identifier: Apache-2.0 */
#include "pair_sums.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { NONE = UINT32_MAX };

int nt_pair_sums_add(struct nt_pair_sums *s, uint32_t a, uint32_t b, double llr, struct nt_err *err)
{
    if (s->count == s->capacity) {
        size_t capacity = s->capacity > 0 ? s->capacity + s->capacity / 2 : 4096;
        void *at =
            capacity > SIZE_MAX / sizeof *s->at ? NULL : realloc(s->at, capacity * sizeof *s->at);
        if (at == NULL)
            return nt_err_memory(err);
        s->at = at;
        s->capacity = capacity;
    }
    s->at[s->count++] = (struct nt_pair_sum){a < b ? a : b, a < b ? b : a, (float)llr};
    return 0;
}

static int compare_pairs(const void *x, const void *y)
{
    const struct nt_pair_sum *p = x, *q = y;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    if (p->b != q->b)
        return p->b < q->b ? -1 : 1;
    return (p->sum > q->sum) - (p->sum < q->sum); /* so that the sum is the same in any order */
}

void nt_pair_sums_fold(struct nt_pair_sums *s)
{
    size_t kept = 0;
    if (s->count > 0)
        qsort(s->at, s->count, sizeof *s->at, compare_pairs);
    for (size_t k = 0, end; k < s->count; k = end) {
        double sum = 0;
        for (end = k; end < s->count && s->at[end].a == s->at[k].a && s->at[end].b == s->at[k].b;
             end++)
            sum += (double)s->at[end].sum;
        s->at[kept] = s->at[k];
        s->at[kept++].sum = (float)sum;
    }
    s->count = kept;
}

static uint32_t root_of(uint32_t *up, uint32_t v)
{
    while (up[v] != v)
        v = up[v] = up[up[v]];
    return v;
}

/* The pairs of what is one by now: those within one are gone. */
static void contract(struct nt_pair_sums *s, uint32_t *up)
{
    size_t kept = 0;
    for (size_t k = 0; k < s->count; k++) {
        uint32_t a = root_of(up, s->at[k].a), b = root_of(up, s->at[k].b);
        if (a != b)
            s->at[kept++] = (struct nt_pair_sum){a < b ? a : b, a < b ? b : a, s->at[k].sum};
    }
    s->count = kept;
    nt_pair_sums_fold(s);
}

/* Each part's likeliest partner; of equal ones the first. */
static void find_best(const struct nt_pair_sums *s, double margin, uint32_t *best, float *most)
{
    for (size_t k = 0; k < s->count; k++) {
        const struct nt_pair_sum *p = &s->at[k];
        if (!((double)p->sum > margin))
            continue;
        if (best[p->a] == NONE || p->sum > most[p->a]) {
            best[p->a] = p->b;
            most[p->a] = p->sum;
        }
        if (best[p->b] == NONE || p->sum > most[p->b]) {
            best[p->b] = p->a;
            most[p->b] = p->sum;
        }
    }
}

int nt_pair_sums_unite(struct nt_pair_sums *s, uint32_t *up, size_t parts, double margin,
                       struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *best = nt_arena_array(&memory, parts + 1, sizeof *best);
    float *most = nt_arena_array(&memory, parts + 1, sizeof *most);
    if (nt_arena_check(&memory, err) < 0)
        return -1;
    contract(s, up);
    for (bool any = true; any;) {
        any = false;
        memset(best, 0xff, parts * sizeof *best);
        find_best(s, margin, best, most);
        for (uint32_t a = 0; a < parts; a++) {
            uint32_t b = best[a];
            if (b == NONE || a > b || best[b] != a)
                continue;
            up[b] = a;
            any = true;
        }
        if (any)
            contract(s, up);
    }
    for (uint32_t v = 0; v < parts; v++)
        up[v] = root_of(up, v);
    return 0;
}

void nt_pair_sums_fini(struct nt_pair_sums *s)
{
    free(s->at);
    *s = (struct nt_pair_sums){0};
}
