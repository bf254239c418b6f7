/* SPDX-License-Identifier: Apache-2.0 */
#include "readings.h"

#include <math.h>
#include <stdlib.h>

#include "memory.h"

int nt_readings_add(struct nt_readings *r, uint32_t a, uint32_t b, uint32_t pings, float ln,
                    struct nt_err *err)
{
    if (r->count == r->capacity) {
        size_t capacity = r->capacity > 0 ? 2 * r->capacity : 1024;
        struct nt_pair_reading *at =
            capacity > UINT32_MAX / sizeof *at ? NULL : realloc(r->at, capacity * sizeof *at);
        if (at == NULL)
            return nt_err_memory(err);
        r->at = at;
        r->capacity = capacity;
    }
    r->at[r->count] =
        (struct nt_pair_reading){a < b ? a : b, a < b ? b : a, (uint32_t)r->count, pings, ln};
    r->count++;
    return 0;
}

int nt_readings_note(struct nt_readings *r, uint32_t a, uint32_t b, uint32_t pings, double us,
                     struct nt_err *err)
{
    if (a == b || !(us > 0) || !isfinite(us))
        return 0;
    return nt_readings_add(r, a, b, pings, (float)log(us), err);
}

static int compare_readings(const void *x, const void *y)
{
    const struct nt_pair_reading *p = x, *q = y;
    return NT_ORDER(p->a, q->a, NT_ORDER(p->b, q->b, NT_ORDER(p->turn, q->turn, 0)));
}

void nt_readings_sort(struct nt_readings *r)
{
    if (r->count > 0)
        qsort(r->at, r->count, sizeof *r->at, compare_readings);
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
    size_t from = 0, till = r->count;
    uint32_t x = a < b ? a : b, y = a < b ? b : a;
    while (from < till) {
        size_t k = from + (till - from) / 2;
        const struct nt_pair_reading *p = &r->at[k];
        if (p->a == x && p->b == y)
            return true;
        if (p->a < x || (p->a == x && p->b < y))
            from = k + 1;
        else
            till = k;
    }
    return false;
}

void nt_readings_fini(struct nt_readings *r)
{
    free(r->at);
    *r = (struct nt_readings){0};
}
