/* SPDX-License-Identifier: Apache-2.0 */
/* Private to parus*.c: the local topology of one matrix.
 * Tests: test_parus.c. */
#ifndef NT_PARUS_LOCAL_H
#define NT_PARUS_LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parus.h"

enum parus_mark {
    PARUS_FREE = 0,
    PARUS_GONE,   /* the heavier arc of a simplex channel: destroyed for good */
    PARUS_ARC,    /* in the local topology: from here on */
    PARUS_SHARED, /* likewise, collected into a group by eps_shared */
};

struct parus_local {
    size_t n;
    const struct nt_matrix *m;
    const struct nt_parus_options *o;
    unsigned char *mark; /* n*n of enum parus_mark, from row to column */
    bool *done;          /* D in the paper: the vertex was looked at */
    bool *waiting;       /* S in the paper: to be collected into the group */
    double *distance;
    size_t groups;
    uint64_t operations;
};

/* From i to j; where only the other direction was measured, that one counts. NaN: neither. */
static inline float parus_weight(const struct nt_matrix *m, size_t i, size_t j)
{
    float there = nt_matrix_get(m, i, j);
    return there == there ? there : nt_matrix_get(m, j, i);
}

int parus_local_init(struct parus_local *p, size_t n, const struct nt_parus_options *o,
                     struct nt_arena *memory, struct nt_err *err);

/* Fills p->mark for this matrix; groups and operations are added to. */
void parus_local_find(struct parus_local *p, const struct nt_matrix *m);

#endif
