/* SPDX-License-Identifier: Apache-2.0 */
/* Which paths depend on which: exact linear algebra over the links, modulo the prime 2^61 - 1.
 *
 * Holds a sparse reduced row-echelon form of the paths added so far, and one random vector of its
 * null space: a sum of links follows from the paths exactly when the vector's values over those
 * links sum to 0, but for a chance of 1 in 2^61. So the test costs the length of the path (the
 * paper, Liu et al., NPC 2018, section 3.2 step b, eliminates anew for each). Rank modulo this
 * prime equals the rank over the rationals unless the prime divides a minor of the 0-1-2 matrix.
 * Tests: test_plan_routes.c. */
#ifndef NT_ECHELON_H
#define NT_ECHELON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"

#define NT_ECHELON_PRIME ((UINT64_C(1) << 61) - 1)

struct nt_echelon_rows;

struct nt_echelon {
    struct nt_arena memory; /* first, for nt_object_create; of all but the rows' entries */
    size_t links, rank;
    uint64_t *null; /* links of them, below the prime: the random null vector */
    bool *pivot;    /* links of them: a row has its leading 1 here */
    uint64_t work;  /* entries touched so far: what a caller bounds instead of time */
    struct nt_echelon_rows *rows;
};

int nt_echelon_create(size_t links, uint64_t seed, struct nt_echelon **out, struct nt_err *err);

/* The same with further columns behind the links, which never lead a row: nt_echelon_add_traced
 * puts a -1 into one of them, so that a row tells which measured paths its link is made of. */
int nt_echelon_create_traced(size_t links, size_t traces, uint64_t seed, struct nt_echelon **out,
                             struct nt_err *err);
void nt_echelon_destroy(struct nt_echelon *echelon);

static inline uint64_t nt_echelon_plus(uint64_t a, uint64_t b)
{
    uint64_t sum = a + b;
    return sum >= NT_ECHELON_PRIME ? sum - NT_ECHELON_PRIME : sum;
}

/* Does the sum of these links (one may stand there several times) follow from the paths? */
static inline bool nt_echelon_follows(const struct nt_echelon *echelon, const uint32_t *link,
                                      size_t n)
{
    uint64_t sum = 0;
    for (size_t k = 0; k < n; k++)
        sum = nt_echelon_plus(sum, echelon->null[link[k]]);
    return sum == 0;
}

/* 1: the path was independent and is in now; 0: it follows from the others; -1: no memory (the
 * echelon can only be destroyed then). */
int nt_echelon_add(struct nt_echelon *echelon, const uint32_t *link, size_t n, struct nt_err *err);

/* Adds the path with its trace; 0 also when the rows have taken over work_max of work so far. */
int nt_echelon_add_traced(struct nt_echelon *echelon, const uint32_t *link, size_t n, size_t trace,
                          uint64_t work_max, struct nt_err *err);

/* The row that leads with this pivot link: the link plus these columns times values is 0. Borrowed
 * until the next add; returns how many. */
size_t nt_echelon_row(const struct nt_echelon *echelon, uint32_t link, const uint32_t **column,
                      const uint64_t **value);

#endif
