/* SPDX-License-Identifier: Apache-2.0 */
#include "normal.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>
#include <suitesparse/amd.h>
#include <suitesparse/ldl.h>

/* A smaller pivot is rounding: the equations of its link depend on others. */
#define PIVOT_LEAST 1e-12

/* A matrix by columns for SuiteSparse; rows ascend in each column. */
struct columns {
    int *start, *row;
    double *value;
};

/* A = L D L' with its rows and columns in another order. L has ones on the diagonal, which are not
 * stored. */
struct factor {
    int n;
    int *order; /* position -> column */
    struct columns l;
    double *d;
};

int nt_rows_create(size_t rows, size_t columns, size_t entries, struct nt_rows **out,
                   struct nt_err *err)
{
    struct nt_rows *r = nt_object_create(sizeof *r, err);
    if (r == NULL)
        return -1;
    r->rows = rows;
    r->columns = columns;
    r->start = nt_arena_array(&r->memory, rows + 1, sizeof *r->start);
    r->column = nt_arena_array(&r->memory, entries, sizeof *r->column);
    r->value = nt_arena_array(&r->memory, entries, sizeof *r->value);
    if (nt_arena_check(&r->memory, err) != 0) {
        nt_rows_destroy(r);
        return -1;
    }
    *out = r;
    return 0;
}

void nt_rows_destroy(struct nt_rows *rows)
{
    nt_object_destroy(rows);
}

static int refuse_size(struct nt_err *err, double entries)
{
    return nt_err_set(err, NT_ERR_INPUT,
                      "%.0f pairs of links depend on each other, at most %d can be solved", entries,
                      (int)NT_NORMAL_ENTRIES_MAX);
}

/* For each column, the rows that contain it. */
static int transpose_rows(const struct nt_rows *rows, struct columns *t, struct nt_arena *memory,
                          struct nt_err *err)
{
    size_t entries = rows->start[rows->rows];
    t->start = nt_arena_array(memory, rows->columns + 2, sizeof *t->start);
    t->row = nt_arena_array(memory, entries, sizeof *t->row);
    t->value = nt_arena_array(memory, entries, sizeof *t->value);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t k = 0; k < entries; k++)
        t->start[rows->column[k] + 2]++;
    for (size_t c = 0; c < rows->columns; c++)
        t->start[c + 2] += t->start[c + 1];
    for (size_t r = 0; r < rows->rows; r++) {
        for (size_t k = rows->start[r]; k < rows->start[r + 1]; k++) {
            int at = t->start[rows->column[k] + 1]++;
            t->row[at] = (int)r;
            t->value[at] = rows->value[k];
        }
    }
    return 0;
}

/* A, both triangles. */
static int multiply_rows(const struct nt_rows *rows, struct columns *a, struct nt_arena *memory,
                         struct nt_err *err)
{
    NT_SCOPED struct nt_arena own = {0};
    struct columns t;
    size_t n = rows->columns, used = 0, room[2] = {0};
    size_t *place = nt_arena_array(&own, n, sizeof *place); /* of this column's entries, + 1 */
    a->start = nt_arena_array(memory, n + 1, sizeof *a->start);
    if (transpose_rows(rows, &t, &own, err) != 0 || nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t c = 0; c < n; c++) {
        size_t first = used;
        a->row = nt_arena_grow(memory, a->row, &room[0], used + n, sizeof *a->row);
        a->value = nt_arena_grow(memory, a->value, &room[1], used + n, sizeof *a->value);
        if (nt_arena_check(memory, err) != 0)
            return -1;
        for (int i = t.start[c]; i < t.start[c + 1]; i++) {
            for (size_t k = rows->start[t.row[i]]; k < rows->start[t.row[i] + 1]; k++) {
                uint32_t d = rows->column[k];
                if (place[d] <= first) {
                    a->row[used] = (int)d;
                    a->value[used++] = 0;
                    place[d] = used;
                }
                a->value[place[d] - 1] += t.value[i] * rows->value[k];
            }
        }
        if (used > NT_NORMAL_ENTRIES_MAX)
            return refuse_size(err, (double)used);
        a->start[c + 1] = (int)used;
    }
    return 0;
}

static int factor_columns(struct columns *a, struct factor *f, struct nt_arena *memory,
                          struct nt_err *err)
{
    NT_SCOPED struct nt_arena own = {0};
    size_t n = (size_t)f->n;
    int *place = nt_arena_array(&own, n, sizeof *place),
        *parent = nt_arena_array(&own, n, sizeof *parent);
    int *count = nt_arena_array(&own, n, sizeof *count),
        *flag = nt_arena_array(&own, n, sizeof *flag);
    int *pattern = nt_arena_array(&own, n, sizeof *pattern);
    double *work = nt_arena_array(&own, n, sizeof *work), info[AMD_INFO];
    f->order = nt_arena_array(memory, n, sizeof *f->order);
    f->d = nt_arena_array(memory, n, sizeof *f->d);
    f->l.start = nt_arena_array(memory, n + 1, sizeof *f->l.start);
    if (nt_arena_check(&own, err) != 0 || nt_arena_check(memory, err) != 0)
        return -1;
    if (amd_order(f->n, a->start, a->row, f->order, NULL, info) < 0)
        return nt_err_memory(err);
    if (info[AMD_LNZ] > NT_NORMAL_ENTRIES_MAX)
        return refuse_size(err, info[AMD_LNZ]);
    ldl_symbolic(f->n, a->start, a->row, f->l.start, parent, count, flag, f->order, place);
    size_t entries = (size_t)f->l.start[n];
    f->l.row = nt_arena_array(memory, entries, sizeof *f->l.row);
    f->l.value = nt_arena_array(memory, entries, sizeof *f->l.value);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    int done = ldl_numeric(f->n, a->start, a->row, a->value, f->l.start, parent, count, f->l.row,
                           f->l.value, f->d, work, pattern, flag, f->order, place);
    bool positive = done == f->n;
    for (size_t k = 0; k < n; k++)
        positive = positive && f->d[k] > PIVOT_LEAST;
    return positive ? 0 : nt_err_set(err, NT_ERR_INPUT, "the equations are not independent");
}

static int factor_rows(const struct nt_rows *rows, struct factor *f, struct nt_arena *memory,
                       struct nt_err *err)
{
    NT_SCOPED struct nt_arena own = {0};
    struct columns a = {0};
    if (rows->columns > INT_MAX || rows->start[rows->rows] > INT_MAX)
        return refuse_size(err, (double)rows->start[rows->rows]);
    f->n = (int)rows->columns;
    return multiply_rows(rows, &a, &own, err) != 0 ? -1 : factor_columns(&a, f, memory, err);
}

/* Erisman and Tinney, 1975 (Takahashi's equations): computes the inverse on the pattern of the
 * factor from the last column back; no element outside the pattern is needed. */
struct selected {
    double *below;        /* as the factor's values */
    double *diagonal;     /* by position */
    double *work, *value; /* by position: sums, and the current column of L */
};

static void select_column(const struct factor *f, struct selected *s, int j)
{
    const int *row = f->l.row;
    int first = f->l.start[j], end = f->l.start[j + 1];
    s->diagonal[j] = 1 / f->d[j];
    for (int e = first; e < end; e++) {
        s->work[row[e]] = 0;
        s->value[row[e]] = f->l.value[e];
    }
    for (int e = first; e < end; e++) {
        int k = row[e];
        double value = f->l.value[e], sum = value * s->diagonal[k];
        for (int g = f->l.start[k]; g < f->l.start[k + 1]; g++) {
            s->work[row[g]] += value * s->below[g];
            sum += s->value[row[g]] * s->below[g];
        }
        s->work[k] += sum;
    }
    for (int e = first; e < end; e++) {
        s->below[e] = -s->work[row[e]];
        s->value[row[e]] = 0;
        s->diagonal[j] -= f->l.value[e] * s->below[e];
    }
}

int nt_normal_variances(const struct nt_rows *rows, double *variance, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct factor f;
    if (factor_rows(rows, &f, &memory, err) != 0)
        return -1;
    struct selected s = {.below = nt_arena_array(&memory, (size_t)f.l.start[f.n], sizeof *s.below),
                         .diagonal = nt_arena_array(&memory, rows->columns, sizeof *s.diagonal),
                         .work = nt_arena_array(&memory, rows->columns, sizeof *s.work),
                         .value = nt_arena_array(&memory, rows->columns, sizeof *s.value)};
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (int j = f.n; j-- > 0;) {
        select_column(&f, &s, j);
        variance[f.order[j]] = s.diagonal[j];
    }
    return 0;
}

int nt_normal_inverse(const struct nt_rows *rows, double **inverse, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct factor f;
    if (factor_rows(rows, &f, &memory, err) != 0)
        return -1;
    size_t n = rows->columns;
    double *c = calloc(n * n + 1, sizeof *c);
    if (c == NULL)
        return nt_err_memory(err);
    for (int j = f.n; j-- > 0;) {
        double *row = c + (size_t)f.order[j] * n, diagonal = 1 / f.d[j];
        for (int e = f.l.start[j]; e < f.l.start[j + 1]; e++)
            cblas_daxpy(f.n, -f.l.value[e], c + (size_t)f.order[f.l.row[e]] * n, 1, row, 1);
        for (int e = f.l.start[j]; e < f.l.start[j + 1]; e++)
            diagonal -= f.l.value[e] * row[f.order[f.l.row[e]]];
        row[f.order[j]] = diagonal;
        for (size_t i = 0; i < n; i++)
            c[i * n + (size_t)f.order[j]] = row[i];
    }
    *inverse = c;
    return 0;
}
