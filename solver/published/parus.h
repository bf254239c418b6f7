/* SPDX-License-Identifier: Apache-2.0 */
/* The published method of P. S. Bannikov and A. N. Salnikov to find the topology of a cluster's
 * network from load tests (PARUS, Network Viewer 2), Moscow 2013. Separate from infer.h, for
 * comparison. Knows matrices and models only.
 *
 * Each matrix (one per message size) gives a local topology, a directed graph over the processes
 * without switches, in three stages: preparation; a skeleton of groups on shared memory joined by
 * chains; cycles restored with Dijkstra's algorithm. Local topologies are merged: the probability
 * of an arc is the share of local topologies that contain it. O(n^3) time, O(n^2) memory per
 * matrix. */
#ifndef NT_PARUS_H
#define NT_PARUS_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"
#include "memory.h"
#include "model.h"

enum { NT_PARUS_HOSTS_MAX = 2048, NT_PARUS_MATRICES_MAX = 4096 };

/* Which latency of the matrices an arc has (figures 1 and 2 of the paper). */
enum nt_parus_lengths {
    NT_PARUS_OF_SIZE, /* the latency of one message size */
    NT_PARUS_MEAN,
    NT_PARUS_MEDIAN, /* for an even number the lower one, as in Network Viewer 2 */
};

struct nt_parus_options {
    double eps_shared; /* formula 1: spread within a group on shared memory; 0 to 0.5 advised */
    double eps_duplex; /* a channel whose directions differ by more is simplex; 0 to 1 advised */
    enum nt_parus_lengths lengths;
    size_t size; /* NT_PARUS_OF_SIZE: index of the matrix */
};

struct nt_parus_arc {
    uint32_t from, to;
    double probability; /* share of the matrices whose local topology contains the arc */
};

struct nt_parus_result {
    struct nt_arena memory; /* of the arcs; first, for nt_object_create */
    /* no switches; one link per pair with an arc. Latency: formula 2 of the paper; probability:
     * the larger one of both arcs; simplex: only a to b was found. Links are ordered by their
     * smaller host; confidence NaN, since the method gives none */
    struct nt_model *model;
    size_t arcs;
    struct nt_parus_arc *arc; /* by from, then to */
    size_t groups;            /* groups on shared memory in the first matrix */
    uint64_t operations;      /* elements of matrices and distances read, to check its complexity */
};

void nt_parus_default(struct nt_parus_options *options); /* 0.1 and 0.5, first size */

/* latencies: n_matrices (at least 1) of one shape, by ascending message size; need not be
 * symmetric; NaN if not measured; if only one direction of a pair was measured, it is used for
 * both. options may be NULL. NT_ERR_INPUT: a wrong kind or shape, a negative value, too many hosts
 * or matrices. The caller frees *out with nt_parus_destroy. */
int nt_parus_infer(const struct nt_matrix *const *latencies, size_t n_matrices,
                   const struct nt_parus_options *options, struct nt_parus_result **out,
                   struct nt_err *err);
void nt_parus_destroy(struct nt_parus_result *result);

#endif
