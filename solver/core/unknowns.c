/* SPDX-License-Identifier: Apache-2.0 */
#include "unknowns.h"

#include <stdlib.h>

#include "memory.h"

enum { SEED = 0x5eed };

void nt_unknowns_destroy(struct nt_unknowns *unknowns)
{
    if (unknowns == NULL)
        return;
    nt_echelon_destroy(unknowns->echelon);
    nt_rows_destroy(unknowns->rows);
    nt_object_destroy(unknowns);
}

struct by_length {
    size_t length;
    uint32_t pair;
};

static int shorter_path(const void *a, const void *b)
{
    const struct by_length *x = a, *y = b;
    return NT_ORDER(x->length, y->length, NT_ORDER(x->pair, y->pair, 0));
}

/* Short paths first: they make sparse rows, and links that are determined early. */
static int eliminate_paths(struct nt_unknowns *u, const struct nt_routes *routes,
                           const uint32_t *pair, size_t n, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct by_length *order = nt_arena_array(&memory, n + 1, sizeof *order);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        order[i] = (struct by_length){.length = nt_route_length(routes, pair[i]), .pair = pair[i]};
    qsort(order, n, sizeof *order, shorter_path);
    int rc = 0;
    for (size_t i = 0; i < n && rc >= 0; i++) {
        const uint32_t *link = nt_route_links(routes, order[i].pair);
        if (!nt_echelon_follows(u->echelon, link, order[i].length))
            rc = nt_echelon_add(u->echelon, link, order[i].length, err);
    }
    return rc < 0 ? -1 : 0;
}

static void number_unknowns(struct nt_unknowns *u)
{
    for (size_t l = 0; l < u->echelon->links; l++) {
        u->of_link[l] = NT_UNKNOWN_NONE;
        if (u->echelon->pivot[l]) {
            u->of_link[l] = (uint32_t)u->count;
            u->link[u->count++] = (uint32_t)l;
        }
    }
}

/* seen[c]: entry of column c in the row in the making, + 1. */
static void write_row(struct nt_unknowns *u, const struct nt_routes *routes, uint32_t pair,
                      size_t row, size_t *seen)
{
    struct nt_rows *rows = u->rows;
    size_t used = rows->start[row];
    double share = 1.0 / nt_route_directions(routes, pair);
    for (size_t k = routes->start[pair]; k < routes->start[pair + 1]; k++) {
        uint32_t c = u->of_link[routes->link[k]];
        if (c == NT_UNKNOWN_NONE)
            continue;
        if (seen[c] > rows->start[row]) {
            rows->value[seen[c] - 1] += share;
            continue;
        }
        rows->column[used] = c;
        rows->value[used++] = share;
        seen[c] = used;
    }
    rows->start[row + 1] = used;
}

static int write_rows(struct nt_unknowns *u, const struct nt_routes *routes, const uint32_t *pair,
                      size_t n, struct nt_err *err)
{
    size_t entries = 0;
    for (size_t i = 0; i < n; i++)
        entries += nt_route_length(routes, pair[i]);
    NT_SCOPED struct nt_arena memory = {0};
    size_t *seen = nt_arena_array(&memory, u->count + 1, sizeof *seen);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    int rc = nt_rows_create(n, u->count, entries, &u->rows, err);
    for (size_t i = 0; i < n && rc == 0; i++)
        write_row(u, routes, pair[i], i, seen);
    return rc;
}

int nt_unknowns_create(const struct nt_routes *routes, const uint32_t *pair, size_t n,
                       struct nt_unknowns **out, struct nt_err *err)
{
    struct nt_unknowns *u = nt_object_create(sizeof *u, err);
    if (u == NULL)
        return -1;
    u->of_link = nt_arena_array(&u->memory, routes->links, sizeof *u->of_link);
    u->link = nt_arena_array(&u->memory, routes->links, sizeof *u->link);
    if (nt_arena_check(&u->memory, err) != 0 ||
        nt_echelon_create(routes->links, SEED, &u->echelon, err) != 0 ||
        eliminate_paths(u, routes, pair, n, err) != 0)
        goto fail;
    number_unknowns(u);
    if (write_rows(u, routes, pair, n, err) != 0)
        goto fail;
    *out = u;
    return 0;
fail:
    nt_unknowns_destroy(u);
    return -1;
}
