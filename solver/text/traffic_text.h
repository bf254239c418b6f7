/* SPDX-License-Identifier: Apache-2.0 */
/* A job's communication matrix as users have it, for `--pattern matrix:PATH`.
 *
 * Sparse: "RANK RANK BYTES" a line; ranks count from 0. Dense: row i column j is what rank i sends
 * to rank j, with commas, blanks or tabs between them; as many rows as columns. '#' begins a
 * comment line in both. A first line with a comma, or of other than three numbers, is dense. Three
 * lines of three numbers can be either: with an empty diagonal they are dense, unless they may be
 * pairs of three ranks; that, and a symmetric matrix with a diagonal, is an error.
 * Words end at commas, hence not by lines.h's words.
 *
 * Tests: test_launch.c. */
#ifndef NT_TRAFFIC_TEXT_H
#define NT_TRAFFIC_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum { NT_TRIPLES_TASKS_MAX = 1048576 };

struct nt_triples {
    size_t ntasks; /* sparse: the largest rank and one; dense: the columns */
    size_t n;
    uint32_t (*pair)[2]; /* owned */
    float *bytes;        /* owned */
};

/* text need not be terminated; errors say file:line. Freed by nt_triples_fini. */
int nt_triples_read(const char *file, const char *text, size_t bytes, struct nt_triples *out,
                    struct nt_err *err);
void nt_triples_fini(struct nt_triples *triples);

/* Slurm's SLURM_TASKS_PER_NODE form, "4(x2),3": capacity (hosts of them) is filled in order.
 * NT_ERR_INPUT when it is not that form or does not have as many nodes as there are hosts. */
int nt_tasks_per_node_read(const char *text, uint32_t *capacity, size_t hosts, struct nt_err *err);

#endif
