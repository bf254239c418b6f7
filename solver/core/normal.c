/* SPDX-License-Identifier: Apache-2.0 */
#include "normal.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "degree.h"
#include "dense.h"

struct nt_normal {
    struct nt_arena memory; /* of the factor; the others are the order's */
    size_t n, head;         /* columns; the first head of the order are sparse */
    uint32_t *order;        /* position -> column */
    uint32_t *place;        /* column -> position */
    size_t *start;          /* head + 1 */
    uint32_t *below;        /* positions below the diagonal of each sparse column, rising */
    double *factor;         /* the values there */
    double *diagonal;       /* head */
    double *dense;          /* the factor of the remaining block, (n-head)^2, column order */
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

void nt_normal_destroy(struct nt_normal *normal)
{
    if (normal == NULL)
        return;
    free(normal->order);
    free(normal->place);
    free(normal->start);
    free(normal->below);
    nt_object_destroy(normal);
}

/* Where the value of A or L at positions i > j belongs; for a sparse j, i must be in its list. */
static double *dense_element(struct nt_normal *m, size_t i, size_t j)
{
    if (j >= m->head)
        return &m->dense[(j - m->head) * (m->n - m->head) + (i - m->head)];
    size_t low = m->start[j], high = m->start[j + 1];
    while (low + 1 < high) {
        size_t mid = low + (high - low) / 2;
        if (m->below[mid] <= i)
            low = mid;
        else
            high = mid;
    }
    return &m->factor[low];
}

static void add_rows(struct nt_normal *m, const struct nt_rows *rows)
{
    for (size_t r = 0; r < rows->rows; r++) {
        for (size_t k = rows->start[r]; k < rows->start[r + 1]; k++) {
            size_t i = m->place[rows->column[k]];
            double value = rows->value[k];
            if (i < m->head)
                m->diagonal[i] += value * value;
            else
                *dense_element(m, i, i) += value * value;
            for (size_t l = rows->start[r]; l < k; l++) {
                size_t j = m->place[rows->column[l]];
                *dense_element(m, i > j ? i : j, i > j ? j : i) += value * rows->value[l];
            }
        }
    }
}

/* Left-looking sparse Cholesky (George and Liu, 1981): column j subtracts the columns before it
 * that reach into row j; those wait in a list at the next row that they reach. */
struct left {
    uint32_t *next, *first; /* lists of columns by row; head is none */
    size_t *at;             /* by column: its entry for that row */
    double *work;           /* by position */
};

static void remove_column(struct nt_normal *m, struct left *l, size_t j)
{
    for (uint32_t c = l->first[j], following; c != m->head; c = following) {
        following = l->next[c];
        size_t k = l->at[c];
        double factor = m->factor[k];
        m->diagonal[j] -= factor * factor;
        for (size_t e = k + 1; e < m->start[c + 1]; e++)
            l->work[m->below[e]] -= factor * m->factor[e];
        l->at[c] = ++k;
        if (k < m->start[c + 1] && m->below[k] < m->head) {
            l->next[c] = l->first[m->below[k]];
            l->first[m->below[k]] = c;
        }
    }
}

static bool factor_head(struct nt_normal *m, struct left *l)
{
    for (size_t j = 0; j < m->head; j++) {
        for (size_t e = m->start[j]; e < m->start[j + 1]; e++)
            l->work[m->below[e]] = m->factor[e];
        remove_column(m, l, j);
        if (!(m->diagonal[j] > 1e-12))
            return false;
        m->diagonal[j] = sqrt(m->diagonal[j]);
        for (size_t e = m->start[j]; e < m->start[j + 1]; e++)
            m->factor[e] = l->work[m->below[e]] / m->diagonal[j];
        l->at[j] = m->start[j];
        if (m->start[j] < m->start[j + 1] && m->below[m->start[j]] < m->head) {
            l->next[j] = l->first[m->below[m->start[j]]];
            l->first[m->below[m->start[j]]] = (uint32_t)j;
        }
    }
    return true;
}

/* What the sparse columns leave of the dense block. */
static void subtract_schur(struct nt_normal *m)
{
    size_t n = m->n - m->head;
    for (size_t j = 0; j < m->head; j++) {
        size_t e = m->start[j], end = m->start[j + 1];
        while (e < end && m->below[e] < m->head)
            e++;
        for (; e < end; e++) {
            double *column = m->dense + (m->below[e] - m->head) * n;
            for (size_t f = e; f < end; f++)
                column[m->below[f] - m->head] -= m->factor[e] * m->factor[f];
        }
    }
}

static int factor_columns(struct nt_normal *m, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct left l = {.next = nt_arena_array(&memory, m->head, sizeof *l.next),
                     .first = nt_arena_array(&memory, m->head, sizeof *l.first),
                     .at = nt_arena_array(&memory, m->head, sizeof *l.at),
                     .work = nt_arena_array(&memory, m->n, sizeof *l.work)};
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t j = 0; j < m->head; j++)
        l.first[j] = (uint32_t)m->head;
    if (!factor_head(m, &l))
        return nt_err_set(err, NT_ERR_INPUT, "the equations are not independent");
    subtract_schur(m);
    return nt_dense_factor(m->dense, m->n - m->head, err);
}

static int allocate_factor(struct nt_normal *m, struct nt_err *err)
{
    size_t n = m->n - m->head;
    if (n > NT_NORMAL_DENSE_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "%zu links hang together, at most %d can be solved", n,
                          (int)NT_NORMAL_DENSE_MAX);
    m->factor = nt_arena_array(&m->memory, m->start[m->head], sizeof *m->factor);
    m->diagonal = nt_arena_array(&m->memory, m->head, sizeof *m->diagonal);
    m->dense = nt_arena_array(&m->memory, n * n, sizeof *m->dense);
    return nt_arena_check(&m->memory, err);
}

int nt_normal_create(const struct nt_rows *rows, struct nt_normal **out, struct nt_err *err)
{
    struct nt_degree_order order;
    struct nt_normal *m = nt_object_create(sizeof *m, err);
    if (m == NULL)
        return -1;
    m->n = rows->columns;
    if (nt_degree_order(rows, &order, err) != 0)
        goto fail;
    m->head = order.head;
    m->order = order.order;
    m->place = order.place;
    m->start = order.start;
    m->below = order.below;
    if (allocate_factor(m, err) != 0)
        goto fail;
    add_rows(m, rows);
    if (factor_columns(m, err) != 0)
        goto fail;
    *out = m;
    return 0;
fail:
    nt_normal_destroy(m);
    return -1;
}

/* Erisman and Tinney, 1975 (Takahashi's equations): the inverse on the pattern of the factor
 * needs nothing outside the pattern, from the last column back. */
struct selected {
    double *below;    /* as m->below */
    double *diagonal; /* head */
    double *work;     /* by position */
    bool *here;       /* by position: in the list of the current column */
};

static void select_column(const struct nt_normal *m, struct selected *s, size_t j)
{
    size_t n = m->n - m->head, first = m->start[j], end = m->start[j + 1], e = first;
    for (size_t k = first; k < end; k++) {
        s->work[m->below[k]] = 0;
        s->here[m->below[k]] = true;
    }
    for (; e < end && m->below[e] < m->head; e++) {
        size_t k = m->below[e];
        double sum = 0;
        s->work[k] += m->factor[e] * s->diagonal[k];
        for (size_t f = m->start[k], own = e + 1; f < m->start[k + 1] && own < end; f++) {
            size_t i = m->below[f];
            if (!s->here[i])
                continue;
            s->work[i] += m->factor[e] * s->below[f];
            sum += m->factor[own++] * s->below[f]; /* both lists rise, ours is within theirs */
        }
        s->work[k] += sum;
    }
    for (size_t f = e; f < end; f++) {
        size_t i = m->below[f] - m->head;
        for (size_t h = e; h < end; h++) {
            size_t k = m->below[h] - m->head;
            s->work[i + m->head] += m->factor[h] * m->dense[(i < k ? i * n + k : k * n + i)];
        }
    }
    double diagonal = 1 / m->diagonal[j];
    for (size_t k = first; k < end; k++) {
        s->below[k] = -s->work[m->below[k]] / m->diagonal[j];
        s->here[m->below[k]] = false;
        diagonal -= m->factor[k] * s->below[k];
    }
    s->diagonal[j] = diagonal / m->diagonal[j];
}

int nt_normal_variances(struct nt_normal *m, double *variance, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct selected s = {.below = nt_arena_array(&memory, m->start[m->head], sizeof *s.below),
                         .diagonal = nt_arena_array(&memory, m->head, sizeof *s.diagonal),
                         .work = nt_arena_array(&memory, m->n, sizeof *s.work),
                         .here = nt_arena_array(&memory, m->n, sizeof *s.here)};
    size_t n = m->n - m->head;
    if (nt_arena_check(&memory, err) != 0 || nt_dense_invert(m->dense, n, err) != 0)
        return -1;
    for (size_t j = m->head; j-- > 0;) {
        select_column(m, &s, j);
        variance[m->order[j]] = s.diagonal[j];
    }
    for (size_t j = 0; j < n; j++)
        variance[m->order[m->head + j]] = m->dense[j * n + j];
    return 0;
}

/* row -= sum of factor times the rows below column j, over its diagonal. */
static void add_below(const struct nt_normal *m, const double *c, size_t j, double *row)
{
    size_t e = m->start[j], end = m->start[j + 1];
    for (; e + 4 <= end; e += 4) {
        const double *x[4];
        double a[4];
        for (size_t k = 0; k < 4; k++) {
            x[k] = c + m->order[m->below[e + k]] * m->n;
            a[k] = -m->factor[e + k] / m->diagonal[j];
        }
        nt_dense_add4(row, a, x, m->n);
    }
    for (; e < end; e++)
        nt_dense_add(row, -m->factor[e] / m->diagonal[j], c + m->order[m->below[e]] * m->n, m->n);
}

int nt_normal_inverse(struct nt_normal *m, double **inverse, struct nt_err *err)
{
    double *c = calloc(m->n * m->n + 1, sizeof *c);
    if (c == NULL)
        return nt_err_memory(err);
    size_t n = m->n - m->head;
    if (nt_dense_invert(m->dense, n, err) != 0) {
        free(c);
        return -1;
    }
    for (size_t j = 0; j < n; j++) {
        for (size_t i = j; i < n; i++) {
            size_t a = m->order[m->head + i], b = m->order[m->head + j];
            c[a * m->n + b] = c[b * m->n + a] = m->dense[j * n + i];
        }
    }
    for (size_t j = m->head; j-- > 0;) {
        double *row = c + m->order[j] * m->n, diagonal = 1 / m->diagonal[j];
        add_below(m, c, j, row);
        for (size_t e = m->start[j]; e < m->start[j + 1]; e++)
            diagonal -= m->factor[e] * row[m->order[m->below[e]]];
        row[m->order[j]] = diagonal / m->diagonal[j];
        for (size_t i = 0; i < m->n; i++)
            c[i * m->n + m->order[j]] = row[i];
    }
    *inverse = c;
    return 0;
}
