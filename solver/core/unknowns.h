/* SPDX-License-Identifier: Apache-2.0 */
/* The unknowns that a set of measured pairs determines, and their equations.
 *
 * Single links may not be determined. The leading columns of the reduced row-echelon form are:
 * unknown u is its leading link plus a fixed combination of links that lead no row. A sum of links
 * that follows from the measured paths is the sum of the unknowns of its leading links. So least
 * squares over the unknowns always has full rank, and a link that is determined alone is its own
 * unknown.
 * Tests: test_plan_routes.c. */
#ifndef NT_UNKNOWNS_H
#define NT_UNKNOWNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "echelon.h"
#include "err.h"
#include "memory.h"
#include "normal.h"
#include "routes.h"

enum { NT_UNKNOWN_NONE = UINT32_MAX };

struct nt_unknowns {
    struct nt_arena memory;     /* of the arrays; first, for nt_object_create */
    struct nt_echelon *echelon; /* of the measured pairs */
    size_t count;               /* the rank of echelon */
    uint32_t *of_link;          /* per link: its unknown, or NT_UNKNOWN_NONE */
    uint32_t *link;             /* per unknown: its leading link, ascending */
    struct nt_rows *rows; /* one row per measured pair, in the given order; columns are unknowns */
};

/* pair[n]: pairs of the routes, repetitions allowed. The caller frees *out. */
int nt_unknowns_create(const struct nt_routes *routes, const uint32_t *pair, size_t n,
                       struct nt_unknowns **out, struct nt_err *err);
void nt_unknowns_destroy(struct nt_unknowns *unknowns);

/* Whether the latency of this link alone is determined. */
static inline bool nt_unknowns_alone(const struct nt_unknowns *u, uint32_t link)
{
    return u->echelon->null[link] == 0;
}

#endif
