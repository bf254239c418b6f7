/* SPDX-License-Identifier: Apache-2.0 */
#include "readings.h"

#include <math.h>
#include <stdlib.h>

#include "memory.h"

static struct nt_pair_reading of_pair(uint32_t a, uint32_t b)
{
    return (struct nt_pair_reading){.a = a < b ? a : b, .b = a < b ? b : a};
}

static int append(struct nt_pair_reading **list, size_t *count, size_t *capacity,
                  struct nt_pair_reading one, struct nt_err *err)
{
    if (*count == *capacity) {
        size_t more = *capacity > 0 ? 2 * *capacity : 1024;
        struct nt_pair_reading *at =
            more > UINT32_MAX / sizeof *at ? NULL : realloc(*list, more * sizeof *at);
        if (at == NULL)
            return nt_err_memory(err);
        *list = at;
        *capacity = more;
    }
    (*list)[(*count)++] = one;
    return 0;
}

int nt_readings_add(struct nt_readings *r, uint32_t a, uint32_t b, uint32_t pings, float ln,
                    struct nt_err *err)
{
    struct nt_pair_reading one = of_pair(a, b);
    one.turn = (uint32_t)r->count;
    one.pings = pings;
    one.ln = ln;
    return append(&r->at, &r->count, &r->capacity, one, err);
}

int nt_readings_note_failure(struct nt_readings *r, uint32_t a, uint32_t b, struct nt_err *err)
{
    return append(&r->failure, &r->failures, &r->failure_capacity, of_pair(a, b), err);
}

int nt_readings_note(struct nt_readings *r, uint32_t a, uint32_t b, uint32_t pings, double us,
                     struct nt_err *err)
{
    if (a == b || !(us > 0) || !isfinite(us))
        return 0;
    return nt_readings_add(r, a, b, pings, (float)log(us), err);
}

static int compare_pairs(const void *x, const void *y)
{
    const struct nt_pair_reading *p = x, *q = y;
    return NT_ORDER(p->a, q->a, NT_ORDER(p->b, q->b, 0));
}

static int compare_readings(const void *x, const void *y)
{
    const struct nt_pair_reading *p = x, *q = y;
    int order = compare_pairs(x, y);
    return order != 0 ? order : NT_ORDER(p->turn, q->turn, 0);
}

void nt_readings_sort(struct nt_readings *r)
{
    if (r->count > 0)
        qsort(r->at, r->count, sizeof *r->at, compare_readings);
    if (r->failures > 0)
        qsort(r->failure, r->failures, sizeof *r->failure, compare_pairs);
}

size_t nt_readings_next_pair(const struct nt_readings *r, size_t from)
{
    size_t k = from + 1;
    while (k < r->count && r->at[k].a == r->at[from].a && r->at[k].b == r->at[from].b)
        k++;
    return k;
}

bool nt_readings_have(const struct nt_readings *r, uint32_t a, uint32_t b)
{
    const struct nt_pair_reading pair = of_pair(a, b);
    return r->count > 0 && bsearch(&pair, r->at, r->count, sizeof pair, compare_pairs) != NULL;
}

bool nt_readings_failed(const struct nt_readings *r, uint32_t a, uint32_t b)
{
    const struct nt_pair_reading pair = of_pair(a, b);
    return r->failures > 0 &&
           bsearch(&pair, r->failure, r->failures, sizeof pair, compare_pairs) != NULL;
}

void nt_readings_fini(struct nt_readings *r)
{
    free(r->at);
    free(r->failure);
    *r = (struct nt_readings){0};
}
