/* SPDX-License-Identifier: Apache-2.0 */
#include "degree.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "normal.h"

/* SHORT: a list over which merging bits is faster; BITS_MAX: columns whose bits are kept, 32 MB */
enum { NONE = UINT32_MAX, SHORT = 48, BITS_MAX = 16384 };

struct list {
    uint32_t *at; /* rising */
    uint32_t used;
};

struct graph {
    size_t n;
    struct list *list;     /* by column: its neighbours that are not eliminated */
    uint32_t *head;        /* by degree: first column of that degree */
    uint32_t *next, *prev; /* by column: its list of equal degree */
    uint32_t *merged;      /* n of them: a list in the making */
};

static int compare_columns(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void unlink_degree(struct graph *g, uint32_t c)
{
    if (g->prev[c] != NONE)
        g->next[g->prev[c]] = g->next[c];
    else
        g->head[g->list[c].used] = g->next[c];
    if (g->next[c] != NONE)
        g->prev[g->next[c]] = g->prev[c];
}

static void link_degree(struct graph *g, uint32_t c)
{
    uint32_t *head = &g->head[g->list[c].used];
    g->prev[c] = NONE;
    g->next[c] = *head;
    if (*head != NONE)
        g->prev[*head] = c;
    *head = c;
}

/* The rows in which each column stands, so that its neighbours can be gathered at once. */
static bool transpose_rows(const struct nt_rows *rows, size_t **start, uint32_t **row)
{
    size_t entries = rows->start[rows->rows];
    *start = calloc(rows->columns + 2, sizeof **start);
    *row = malloc((entries + 1) * sizeof **row);
    if (*start == NULL || *row == NULL)
        return false;
    for (size_t k = 0; k < entries; k++)
        (*start)[rows->column[k] + 2]++;
    for (size_t c = 0; c < rows->columns; c++)
        (*start)[c + 2] += (*start)[c + 1];
    for (size_t r = 0; r < rows->rows; r++) {
        for (size_t k = rows->start[r]; k < rows->start[r + 1]; k++)
            (*row)[(*start)[rows->column[k] + 1]++] = (uint32_t)r;
    }
    return true;
}

static bool copy_list(struct list *list, const uint32_t *at, uint32_t used)
{
    uint32_t *own = realloc(list->at, (used + 1) * sizeof *own);
    if (own == NULL)
        return false;
    memcpy(own, at, used * sizeof *own);
    *list = (struct list){.at = own, .used = used};
    return true;
}

static bool find_neighbours(struct graph *g, const struct nt_rows *rows)
{
    size_t *start = NULL;
    uint32_t *row = NULL;
    uint32_t *mark = calloc(g->n + 1, sizeof *mark); /* column + 1 of the last neighbour found */
    bool ok = mark != NULL && transpose_rows(rows, &start, &row);
    for (uint32_t c = 0; ok && c < g->n; c++) {
        uint32_t used = 0;
        mark[c] = c + 1;
        for (size_t i = start[c]; i < start[c + 1]; i++) {
            for (size_t k = rows->start[row[i]]; k < rows->start[row[i] + 1]; k++) {
                uint32_t d = rows->column[k];
                if (mark[d] != c + 1) {
                    mark[d] = c + 1;
                    g->merged[used++] = d;
                }
            }
        }
        qsort(g->merged, used, sizeof *g->merged, compare_columns);
        ok = copy_list(&g->list[c], g->merged, used);
    }
    free(start);
    free(row);
    free(mark);
    return ok;
}

/* a and b together, without two columns that leave. */
static uint32_t merge_lists(const struct list *a, const struct list *b, uint32_t without,
                            uint32_t nor, uint32_t *out)
{
    uint32_t i = 0, j = 0, used = 0;
    while (i < a->used || j < b->used) {
        uint32_t x = i < a->used ? a->at[i] : NONE, y = j < b->used ? b->at[j] : NONE;
        uint32_t least = x < y ? x : y;
        i += x == least;
        j += y == least;
        if (least != without && least != nor)
            out[used++] = least;
    }
    return used;
}

/* Eliminates column c: its neighbours become neighbours of each other. */
static bool eliminate_column(struct graph *g, uint32_t c)
{
    const struct list *mine = &g->list[c];
    unlink_degree(g, c);
    for (uint32_t k = 0; k < mine->used; k++) {
        uint32_t d = mine->at[k];
        unlink_degree(g, d);
        uint32_t used = merge_lists(&g->list[d], mine, c, d, g->merged);
        if (!copy_list(&g->list[d], g->merged, used))
            return false;
        link_degree(g, d);
    }
    return true;
}

static bool sparse_pays(size_t degree, size_t left)
{
    return left <= 1 || degree * 10 <= (left - 1) * 7;
}

/* Eliminates by lists while they are short; returns how many, or NONE without memory. */
static uint32_t run_sparse(struct graph *g, uint32_t *order)
{
    size_t degree = 0, left = g->n;
    uint32_t done = 0;
    while (left > 0) {
        while (g->head[degree] == NONE)
            degree++;
        if (!sparse_pays(degree, left) || (degree > SHORT && left <= BITS_MAX))
            break;
        uint32_t c = g->head[degree];
        order[done++] = c;
        left--;
        if (!eliminate_column(g, c))
            return NONE;
        /* a neighbour may have lost one and gained none */
        degree = degree > 0 ? degree - 1 : 0;
    }
    return done;
}

/* What is left when the lists get long, as rows of bits: merging is then an or. */
struct bits {
    size_t n, words;
    uint32_t *column; /* n: which columns these are, rising */
    uint32_t *degree; /* n; NONE: eliminated */
    uint64_t *row;    /* n * words */
};

static bool make_bits(const struct graph *g, const uint32_t *order, uint32_t done, struct bits *b)
{
    uint32_t *number = calloc(g->n + 1, sizeof *number);
    b->n = g->n - done;
    b->words = (b->n + 63) / 64;
    b->column = malloc((b->n + 1) * sizeof *b->column);
    b->degree = malloc((b->n + 1) * sizeof *b->degree);
    b->row = calloc(b->n * b->words + 1, sizeof *b->row);
    bool ok = number != NULL && b->column != NULL && b->degree != NULL && b->row != NULL;
    for (uint32_t j = 0; ok && j < done; j++)
        number[order[j]] = NONE;
    uint32_t used = 0;
    for (uint32_t c = 0; ok && c < g->n; c++) {
        if (number[c] == NONE)
            continue;
        b->column[used] = c;
        number[c] = used++;
    }
    for (size_t i = 0; ok && i < b->n; i++) {
        const struct list *list = &g->list[b->column[i]];
        b->degree[i] = list->used;
        for (uint32_t k = 0; k < list->used; k++) {
            uint32_t other = number[list->at[k]];
            b->row[i * b->words + other / 64] |= UINT64_C(1) << other % 64;
        }
    }
    free(number);
    return ok;
}

/* Eliminates i, and keeps its neighbours in its list. */
static bool eliminate_bits(struct graph *g, struct bits *b, size_t i)
{
    const uint64_t *mine = b->row + i * b->words;
    uint32_t used = 0;
    for (size_t w = 0; w < b->words; w++) {
        for (uint64_t rest = mine[w]; rest != 0; rest &= rest - 1) {
            size_t k = w * 64 + (size_t)__builtin_ctzll(rest), degree = 0;
            uint64_t *other = b->row + k * b->words;
            g->merged[used++] = b->column[k];
            for (size_t v = 0; v < b->words; v++)
                other[v] |= mine[v];
            other[k / 64] &= ~(UINT64_C(1) << k % 64);
            other[i / 64] &= ~(UINT64_C(1) << i % 64);
            for (size_t v = 0; v < b->words; v++)
                degree += (size_t)__builtin_popcountll(other[v]);
            b->degree[k] = (uint32_t)degree;
        }
    }
    b->degree[i] = NONE;
    return copy_list(&g->list[b->column[i]], g->merged, used);
}

/* Goes on with what run_sparse left; the same returns. */
static uint32_t run_bits(struct graph *g, uint32_t *order, uint32_t done)
{
    struct bits b = {0};
    bool ok = make_bits(g, order, done, &b);
    for (size_t left = b.n; ok && left > 0; left--) {
        size_t least = 0;
        for (size_t i = 1; i < b.n; i++)
            least = b.degree[i] < b.degree[least] ? i : least;
        if (!sparse_pays(b.degree[least], left))
            break;
        order[done++] = b.column[least];
        ok = eliminate_bits(g, &b, least);
    }
    free(b.column);
    free(b.degree);
    free(b.row);
    return ok ? done : NONE;
}

static uint32_t order_columns(struct graph *g, uint32_t *order)
{
    uint32_t done = run_sparse(g, order);
    if (done == NONE || g->n - done > BITS_MAX)
        return done;
    return run_bits(g, order, done);
}

static bool write_order(struct graph *g, struct nt_degree_order *o)
{
    size_t entries = 0, position = o->head;
    for (size_t j = 0; j < g->n; j++)
        o->place[j] = NONE;
    for (size_t j = 0; j < o->head; j++) {
        o->place[o->order[j]] = (uint32_t)j;
        entries += g->list[o->order[j]].used;
    }
    for (size_t c = 0; c < g->n; c++) {
        if (o->place[c] == NONE) {
            o->place[c] = (uint32_t)position;
            o->order[position++] = (uint32_t)c;
        }
    }
    o->below = malloc((entries + 1) * sizeof *o->below);
    if (o->below == NULL)
        return false;
    size_t used = 0;
    for (size_t j = 0; j < o->head; j++) {
        const struct list *list = &g->list[o->order[j]];
        o->start[j] = used;
        for (uint32_t k = 0; k < list->used; k++)
            o->below[used++] = o->place[list->at[k]];
        qsort(o->below + o->start[j], list->used, sizeof *o->below, compare_columns);
    }
    o->start[o->head] = used;
    return true;
}

static bool graph_init(struct graph *g, const struct nt_rows *rows)
{
    g->list = calloc(g->n + 1, sizeof *g->list);
    g->head = malloc((g->n + 1) * sizeof *g->head);
    g->next = malloc((g->n + 1) * sizeof *g->next);
    g->prev = malloc((g->n + 1) * sizeof *g->prev);
    g->merged = malloc((g->n + 1) * sizeof *g->merged);
    if (g->list == NULL || g->head == NULL || g->next == NULL || g->prev == NULL ||
        g->merged == NULL || !find_neighbours(g, rows))
        return false;
    for (size_t k = 0; k <= g->n; k++)
        g->head[k] = NONE;
    for (size_t c = g->n; c-- > 0;) /* equal degrees: lower columns first */
        link_degree(g, (uint32_t)c);
    return true;
}

int nt_degree_order(const struct nt_rows *rows, struct nt_degree_order *out, struct nt_err *err)
{
    struct graph g = {.n = rows->columns};
    struct nt_degree_order o = {.order = malloc((g.n + 1) * sizeof *o.order),
                                .place = malloc((g.n + 1) * sizeof *o.place),
                                .start = malloc((g.n + 1) * sizeof *o.start)};
    uint32_t head = NONE;
    if (o.order != NULL && o.place != NULL && o.start != NULL && graph_init(&g, rows))
        head = order_columns(&g, o.order);
    o.head = head;
    bool ok = head != NONE && write_order(&g, &o);
    for (size_t c = 0; g.list != NULL && c < g.n; c++)
        free(g.list[c].at);
    free(g.list);
    free(g.head);
    free(g.next);
    free(g.prev);
    free(g.merged);
    if (ok) {
        *out = o;
        return 0;
    }
    free(o.order);
    free(o.place);
    free(o.start);
    free(o.below);
    return nt_err_memory(err);
}
