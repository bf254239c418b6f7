/* SPDX-License-Identifier: Apache-2.0 */
/* A job's communication pattern as an undirected weighted graph of ranks.
 * Tests: test_place.c, test_supported_tree.c. */
#ifndef NT_TRAFFIC_H
#define NT_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"

enum {
    NT_TASKS_MAX = 1048576,
    NT_TRAFFIC_EDGES_MAX = 67108864,
    NT_TRAFFIC_MESSAGE_BYTES =
        65536, /* message size of a named pattern in each direction, unless set otherwise */
    NT_TRAFFIC_MESSAGE_MAX = 1073741824,
};

enum nt_traffic_kind {
    NT_TRAFFIC_CHAIN,    /* neighbour: rank i with i+1 */
    NT_TRAFFIC_RING,     /* chain that also connects the last rank with the first */
    NT_TRAFFIC_STENCIL,  /* a grid, row-major: the last dimension varies fastest */
    NT_TRAFFIC_DOUBLING, /* tree: rank i with i^2^k, recursive doubling */
    NT_TRAFFIC_ALL,      /* alltoall: every rank with every other; edges are not stored */
    NT_TRAFFIC_MATRIX,   /* a given matrix; also allreduce and megatron */
};

struct nt_traffic {
    struct nt_arena memory; /* all arrays */
    enum nt_traffic_kind kind;
    size_t tasks;
    uint32_t dimension[3]; /* stencil; 1: not used */
    bool periodic;
    double edge_bytes; /* bytes of every pair of a named pattern, sum of both directions */
    size_t *start;     /* tasks + 1 entries: partners of rank r are partner[start[r]..start[r+1]) */
    uint32_t *partner; /* each edge appears at both ends, partners ascending */
    float *bytes;      /* sum of both directions */
    double total_bytes; /* sum over all edges, each once */
};

/* clang-format off */
/* Creates the traffic of a pattern, named as in base/option.h but without matrix. NT_ERR_USAGE if
 * it does not fit ntasks.
 *
 * allreduce: a ring and recursive doubling, as libraries use one or the other by size.
 *
 * megatron: ranks in the order of Megatron-LM: tensor parallel first, then (expert,) data, then
 * pipeline parallel. Volumes: D. Narayanan et al., "Efficient Large-Scale Language Model Training
 * on GPU Clusters Using Megatron-LM", SC 2021, sections 2.2, 3.1 and 3.2. The unit is what a
 * pipeline stage sends for a microbatch, one message of NT_TRAFFIC_MESSAGE_BYTES. With L = 8 layers
 * per stage, 8 microbatches and a hidden size of twice the sequence length:
 *   tensor    8 L (T-1)/T to the next rank of a ring over the group
 *   data      48 (D-1)/(D T) to the next rank of a ring: the all-reduce of a gradient, divided by
 *             the number of microbatches
 *   expert    4 L / E to every other rank of the group (dispatch and combine, both passes) */
/* clang-format on */
int nt_traffic_create(const char *pattern, size_t ntasks, struct nt_traffic **out,
                      struct nt_err *err);

/* Sets the message size of a named pattern, which is NT_TRAFFIC_MESSAGE_BYTES by default; larger
 * and smaller messages of the pattern are scaled. bytes > 0. */
void nt_traffic_set_message(struct nt_traffic *traffic, double bytes);

/* Creates traffic from triples (a, b, bytes) in any order. Adds up equal pairs and ignores a ==
 * b. */
int nt_traffic_from_triples(size_t ntasks, const uint32_t (*pair)[2], const float *bytes, size_t n,
                            struct nt_traffic **out, struct nt_err *err);

void nt_traffic_destroy(struct nt_traffic *traffic);

#endif
