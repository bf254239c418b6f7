/* SPDX-License-Identifier: Apache-2.0 */
/* A job's communication matrix, for `--pattern matrix:PATH`.
 *
 * Sparse: "RANK RANK BYTES" per line; ranks count from 0. Dense: row i, column j is the traffic
 * from rank i to rank j, separated by commas, spaces or tabs; as many rows as columns. '#' starts a
 * comment line in both.
 *
 * A first line with a comma, or with other than three numbers, is dense. Three lines of three
 * numbers can be either: with an empty diagonal they are dense, unless they may be pairs of three
 * ranks; that case, and a symmetric matrix with a diagonal, is an error. Words end at commas, so
 * the words of lines.h are not used.
 * Tests: test_launch.c. */
#ifndef NT_TRAFFIC_TEXT_H
#define NT_TRAFFIC_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum { NT_TRIPLES_TASKS_MAX = 1048576 };

struct nt_triples {
    size_t ntasks; /* sparse: the largest rank plus 1; dense: the number of columns */
    size_t n;
    uint32_t (*pair)[2]; /* owned */
    float *bytes;        /* owned */
};

/* Reads a matrix. text need not be terminated; errors contain file:line. The caller calls
 * nt_triples_fini. */
int nt_triples_read(const char *file, const char *text, size_t bytes, struct nt_triples *out,
                    struct nt_err *err);
void nt_triples_fini(struct nt_triples *triples);

/* Reads Slurm's SLURM_TASKS_PER_NODE, "4(x2),3", into capacity (one per host) in order.
 * NT_ERR_USAGE: another form, or another number of nodes than hosts. */
int nt_tasks_per_node_read(const char *text, uint32_t *capacity, size_t hosts, struct nt_err *err);

#endif
