/* SPDX-License-Identifier: Apache-2.0 */
#include "echelon.h"

#include <stdlib.h>
#include <string.h>

#include "rng.h"

/* A row with its leading 1 in column c: given the measured paths, this link equals minus the sum of
 * these entries. They are all in free columns. */
struct row {
    uint32_t *column;
    uint64_t *value;
    uint32_t used, capacity;
};

/* Rows with an entry in a free column; may contain rows that lost the entry. */
struct users {
    uint32_t *row;
    uint32_t used, capacity;
};

struct nt_echelon_rows {
    struct row *row;     /* by pivot column */
    struct users *users; /* by free column */
    size_t columns;      /* links and traces */
    uint64_t *sum;       /* the new row, by column */
    uint32_t *mark;      /* by column: touched, or position + 1 in a row */
    uint32_t *touched;   /* columns of the new row */
    uint32_t touches;
    struct row fresh; /* the new row, gathered */
};

static uint64_t prime_minus(uint64_t a, uint64_t b)
{
    return a >= b ? a - b : a + NT_ECHELON_PRIME - b;
}

static uint64_t prime_times(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide t = (wide)a * b;
    return nt_echelon_plus((uint64_t)t & NT_ECHELON_PRIME, (uint64_t)(t >> 61));
}

/* Fermat: a^(p-2). */
static uint64_t prime_inverse(uint64_t a)
{
    uint64_t r = 1;
    for (uint64_t e = NT_ECHELON_PRIME - 2; e != 0; e >>= 1) {
        if ((e & 1) != 0)
            r = prime_times(r, a);
        a = prime_times(a, a);
    }
    return r;
}

int nt_echelon_create(size_t links, uint64_t seed, struct nt_echelon **out, struct nt_err *err)
{
    return nt_echelon_create_traced(links, 0, seed, out, err);
}

int nt_echelon_create_traced(size_t links, size_t traces, uint64_t seed, struct nt_echelon **out,
                             struct nt_err *err)
{
    size_t columns = links + traces;
    struct nt_echelon *e = nt_object_create(sizeof *e, err);
    if (e == NULL)
        return -1;
    struct nt_arena *memory = &e->memory;
    struct nt_echelon_rows *r = nt_arena_array(memory, 1, sizeof *r), made = {.columns = columns};
    e->links = links;
    e->null = nt_arena_array(memory, columns, sizeof *e->null);
    e->pivot = nt_arena_array(memory, columns, sizeof *e->pivot);
    made.row = nt_arena_array(memory, links, sizeof *made.row);
    made.users = nt_arena_array(memory, columns, sizeof *made.users);
    made.sum = nt_arena_array(memory, columns, sizeof *made.sum);
    made.mark = nt_arena_array(memory, columns, sizeof *made.mark);
    made.touched = nt_arena_array(memory, columns, sizeof *made.touched);
    if (nt_arena_check(memory, err) != 0) {
        nt_echelon_destroy(e);
        return -1;
    }
    *r = made;
    e->rows = r;
    struct nt_rng rng;
    nt_rng_init(&rng, seed);
    for (size_t k = 0; k < columns; k++)
        e->null[k] = nt_rng_next(&rng) % NT_ECHELON_PRIME;
    *out = e;
    return 0;
}

void nt_echelon_destroy(struct nt_echelon *echelon)
{
    if (echelon == NULL)
        return;
    struct nt_echelon_rows *r = echelon->rows;
    for (size_t k = 0; r != NULL && k < echelon->links; k++) {
        free(r->row[k].column);
        free(r->row[k].value);
    }
    for (size_t k = 0; r != NULL && k < r->columns; k++)
        free(r->users[k].row);
    if (r != NULL) {
        free(r->fresh.column);
        free(r->fresh.value);
    }
    nt_object_destroy(echelon);
}

static bool make_room(struct row *row, size_t capacity)
{
    if (row->capacity >= capacity)
        return true;
    capacity = capacity * 3 / 2 + 2;
    uint32_t *column = realloc(row->column, capacity * sizeof *column);
    if (column != NULL)
        row->column = column;
    uint64_t *value = realloc(row->value, capacity * sizeof *value);
    if (value != NULL)
        row->value = value;
    if (column == NULL || value == NULL)
        return false;
    row->capacity = (uint32_t)capacity;
    return true;
}

static bool add_user(struct users *u, uint32_t row)
{
    if (u->used == u->capacity) {
        uint32_t capacity = u->capacity == 0 ? 4 : u->capacity * 2;
        uint32_t *grown = realloc(u->row, capacity * sizeof *grown);
        if (grown == NULL)
            return false;
        u->row = grown;
        u->capacity = capacity;
    }
    u->row[u->used++] = row;
    return true;
}

static uint64_t *entry_at(struct nt_echelon_rows *r, uint32_t column)
{
    if (r->mark[column] == 0) {
        r->mark[column] = 1;
        r->touched[r->touches++] = column;
        r->sum[column] = 0;
    }
    return &r->sum[column];
}

/* The path in free columns only: each pivot column is minus its row's entries. */
static void substitute_rows(struct nt_echelon *e, const uint32_t *link, size_t n)
{
    struct nt_echelon_rows *r = e->rows;
    r->touches = 0;
    for (size_t k = 0; k < n; k++) {
        if (!e->pivot[link[k]]) {
            uint64_t *sum = entry_at(r, link[k]);
            *sum = nt_echelon_plus(*sum, 1);
            continue;
        }
        const struct row *row = &r->row[link[k]];
        for (uint32_t j = 0; j < row->used; j++) {
            uint64_t *sum = entry_at(r, row->column[j]);
            *sum = prime_minus(*sum, row->value[j]);
        }
        e->work += row->used;
    }
}

/* Makes the new row with a leading 1 in the free column that the fewest rows use (least fill), and
 * returns this column; UINT32_MAX: nothing of the path remains. Clears the marks. */
static uint32_t collect_entries(struct nt_echelon *e)
{
    struct nt_echelon_rows *r = e->rows;
    uint32_t lead = UINT32_MAX;
    for (uint32_t k = 0; k < r->touches; k++) {
        uint32_t c = r->touched[k];
        r->mark[c] = 0;
        if (c < e->links && r->sum[c] != 0 &&
            (lead == UINT32_MAX || r->users[c].used < r->users[lead].used))
            lead = c;
    }
    r->fresh.used = 0;
    if (lead == UINT32_MAX || !make_room(&r->fresh, r->touches))
        return lead;
    uint64_t scale = prime_inverse(r->sum[lead]);
    for (uint32_t k = 0; k < r->touches; k++) {
        uint32_t c = r->touched[k];
        if (c == lead || r->sum[c] == 0)
            continue;
        r->fresh.column[r->fresh.used] = c;
        r->fresh.value[r->fresh.used++] = prime_times(r->sum[c], scale);
    }
    return lead;
}

/* Removes column lead from a row and returns its factor; 0: the row does not have it. */
static uint64_t remove_column(struct row *row, uint32_t lead)
{
    for (uint32_t k = 0; k < row->used; k++) {
        if (row->column[k] != lead)
            continue;
        uint64_t factor = row->value[k];
        row->used--;
        row->column[k] = row->column[row->used];
        row->value[k] = row->value[row->used];
        return factor;
    }
    return 0;
}

/* row -= factor * fresh, without entries that become 0. */
static bool subtract_row(struct nt_echelon *e, uint32_t at, uint64_t factor)
{
    struct nt_echelon_rows *r = e->rows;
    struct row *row = &r->row[at];
    const struct row *fresh = &r->fresh;
    if (!make_room(row, row->used + fresh->used))
        return false;
    for (uint32_t k = 0; k < row->used; k++)
        r->mark[row->column[k]] = k + 1;
    for (uint32_t k = 0; k < fresh->used; k++) {
        uint32_t c = fresh->column[k];
        uint64_t part = prime_times(factor, fresh->value[k]);
        if (r->mark[c] != 0) {
            row->value[r->mark[c] - 1] = prime_minus(row->value[r->mark[c] - 1], part);
            continue;
        }
        row->column[row->used] = c;
        row->value[row->used++] = prime_minus(0, part);
        if (c < e->links && !add_user(&r->users[c], at))
            return false;
    }
    uint32_t kept = 0;
    for (uint32_t k = 0; k < row->used; k++) {
        r->mark[row->column[k]] = 0;
        if (row->value[k] == 0)
            continue;
        row->column[kept] = row->column[k];
        row->value[kept++] = row->value[k];
    }
    row->used = kept;
    return true;
}

/* Removes the lead column from all other rows. The null vector remains one: its value for lead
 * follows from the new row, and every row that used lead changes the value of its pivot. */
static bool eliminate_above(struct nt_echelon *e, uint32_t lead)
{
    struct nt_echelon_rows *r = e->rows;
    uint64_t value = 0;
    for (uint32_t k = 0; k < r->fresh.used; k++)
        value = prime_minus(value, prime_times(r->fresh.value[k], e->null[r->fresh.column[k]]));
    uint64_t moved = prime_minus(value, e->null[lead]);
    e->null[lead] = value;
    struct users *users = &r->users[lead];
    for (uint32_t k = 0; k < users->used; k++) {
        uint32_t at = users->row[k];
        uint64_t factor = remove_column(&r->row[at], lead);
        if (factor == 0)
            continue;
        e->null[at] = prime_minus(e->null[at], prime_times(factor, moved));
        e->work += r->row[at].used + r->fresh.used;
        if (!subtract_row(e, at, factor))
            return false;
    }
    users->used = 0;
    return true;
}

static bool store_row(struct nt_echelon *e, uint32_t lead)
{
    struct nt_echelon_rows *r = e->rows;
    struct row *row = &r->row[lead];
    if (!make_room(row, r->fresh.used))
        return false;
    for (uint32_t k = 0; k < r->fresh.used; k++) {
        row->column[k] = r->fresh.column[k];
        row->value[k] = r->fresh.value[k];
        if (row->column[k] < e->links && !add_user(&r->users[row->column[k]], lead))
            return false;
    }
    row->used = r->fresh.used;
    e->pivot[lead] = true;
    e->rank++;
    return true;
}

/* Makes a row of the remainder of substitute. */
static int add_row(struct nt_echelon *e, struct nt_err *err)
{
    uint32_t lead = collect_entries(e);
    if (lead == UINT32_MAX)
        return 0;
    bool ok = e->rows->fresh.capacity >= e->rows->touches;
    if (!ok || !eliminate_above(e, lead) || !store_row(e, lead))
        return nt_err_memory(err);
    return 1;
}

int nt_echelon_add(struct nt_echelon *e, const uint32_t *link, size_t n, struct nt_err *err)
{
    substitute_rows(e, link, n);
    return add_row(e, err);
}

int nt_echelon_add_traced(struct nt_echelon *e, const uint32_t *link, size_t n, size_t trace,
                          uint64_t work_max, struct nt_err *err)
{
    if (e->work > work_max)
        return 0;
    substitute_rows(e, link, n);
    *entry_at(e->rows, (uint32_t)(e->links + trace)) = NT_ECHELON_PRIME - 1;
    return add_row(e, err);
}

size_t nt_echelon_row(const struct nt_echelon *e, uint32_t link, const uint32_t **column,
                      const uint64_t **value)
{
    *column = e->rows->row[link].column;
    *value = e->rows->row[link].value;
    return e->rows->row[link].used;
}
