/* SPDX-License-Identifier: Apache-2.0 */
/* Linear dependence of paths: exact linear algebra over the links, modulo the prime 2^61 - 1.
 *
 * Contains the reduced row-echelon form, as a sparse matrix, of the paths added so far, and one
 * random vector of its null space. A sum of links follows from the paths if the vector's values
 * over these links sum to 0; the chance of an error is 1 in 2^61. So a test costs the length of the
 * path, while Liu et al. (NPC 2018, section 3.2, step b) repeat the elimination for each path. The
 * rank modulo this prime equals the rank over the rationals unless the prime divides a minor of the
 * 0-1-2 matrix.
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
    struct nt_arena memory; /* of all but the entries of rows; first, for nt_object_create */
    size_t links, rank;
    uint64_t *null; /* links values below the prime: the random null vector */
    bool *pivot;    /* per link: a row has its leading 1 here */
    uint64_t work;  /* entries visited so far; callers limit this instead of time */
    struct nt_echelon_rows *rows;
};

int nt_echelon_create(size_t links, uint64_t seed, struct nt_echelon **out, struct nt_err *err);

/* As nt_echelon_create, with additional columns after the links. They never lead a row.
 * nt_echelon_add_traced sets one of them to -1, so that each row shows from which measured paths
 * its link follows. */
int nt_echelon_create_traced(size_t links, size_t traces, uint64_t seed, struct nt_echelon **out,
                             struct nt_err *err);
void nt_echelon_destroy(struct nt_echelon *echelon);

static inline uint64_t nt_echelon_plus(uint64_t a, uint64_t b)
{
    uint64_t sum = a + b;
    return sum >= NT_ECHELON_PRIME ? sum - NT_ECHELON_PRIME : sum;
}

/* Whether the sum of these links, repetitions allowed, follows from the paths. */
static inline bool nt_echelon_follows(const struct nt_echelon *echelon, const uint32_t *link,
                                      size_t n)
{
    uint64_t sum = 0;
    for (size_t k = 0; k < n; k++)
        sum = nt_echelon_plus(sum, echelon->null[link[k]]);
    return sum == 0;
}

/* 1: the path is independent and was added; 0: it follows from the others; -1: no memory, and the
 * echelon can only be destroyed. */
int nt_echelon_add(struct nt_echelon *echelon, const uint32_t *link, size_t n, struct nt_err *err);

/* Adds the path with its trace column. Returns 0 also if the rows have used more than work_max of
 * work. */
int nt_echelon_add_traced(struct nt_echelon *echelon, const uint32_t *link, size_t n, size_t trace,
                          uint64_t work_max, struct nt_err *err);

/* The row whose leading link is this pivot: the link plus the sum of column times value is 0.
 * Returns the number of columns; they are borrowed until the next addition. */
size_t nt_echelon_row(const struct nt_echelon *echelon, uint32_t link, const uint32_t **column,
                      const uint64_t **value);

#endif
