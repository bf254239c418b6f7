/* SPDX-License-Identifier: Apache-2.0 */
/* The published method of A. Bufe, "Automatic Analysis of a Supercomputer's Topology and
 * Performance Characteristics", Hamburg 2014. Separate from infer.h, for comparison. Knows matrices
 * and models only.
 *
 * Latency is symmetric (2.1): if both directions were measured, their mean is used. Steps: basic
 * model (algorithm 1), cliques of one latency become switches (algorithm 2, Bron and Kerbosch),
 * virtual edges between switches are deleted (algorithm 3), the rules for hosts of several kinds
 * (2.2.5), a linear regression of the links' latencies (2.4). All comparisons use the relative
 * epsilon of equation 1.9. Two options of the thesis are left out: grouping latencies by gaps first
 * (4.2), and subtracting the time for the message's bytes (2.4), which is negligible for short
 * messages. */
#ifndef NT_BUFE_H
#define NT_BUFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"
#include "memory.h"
#include "model.h"

enum { NT_BUFE_HOSTS_MAX = 4096, NT_BUFE_FIT_LINKS_MAX = 1600 };

struct nt_bufe_options {
    /* Relative tolerance, equation 1.9; default 0.15, which fits all tables of the thesis */
    double epsilon;
    uint64_t work_max; /* visits of the clique search, which is exponential; default 20,000,000 */
};

struct nt_bufe_edge {
    uint32_t a, b; /* a < b */
    double latency_us;
};

/* Results that a model has no fields for. The result owns all of them. */
struct nt_bufe_result {
    struct nt_arena memory; /* of the arrays; first, for nt_object_create */
    struct nt_model *model; /* canonical; confidence NaN, since the method gives none */
    size_t basic;           /* edges of the basic model, between hosts, before any switch */
    struct nt_bufe_edge *basic_edge;     /* by ascending latency */
    size_t rejoined;                     /* switches joined again at distance zero (2.2.5) */
    size_t virtual_switch, virtual_host; /* edges deleted as virtual: algorithm 3, 2.2.5 */
    uint64_t work;                       /* visits of the clique search */
    bool fitted;       /* the regression was done (at most NT_BUFE_FIT_LINKS_MAX links) */
    size_t rows, rank; /* of the regression: paths, and links that they determine */
    double *fitted_us; /* model->links values of the regression (may be < 0) */
};

void nt_bufe_default(struct nt_bufe_options *options);

/* latency, and bandwidth (may be NULL) of the same shape: NaN if not measured. options may be NULL.
 * NT_ERR_INPUT: a wrong kind or shape, a negative value, more than NT_BUFE_HOSTS_MAX hosts, or a
 * search of more than work_max visits. The caller frees *out with nt_bufe_destroy. */
int nt_bufe_infer(const struct nt_matrix *latency, const struct nt_matrix *bandwidth,
                  const struct nt_bufe_options *options, struct nt_bufe_result **out,
                  struct nt_err *err);
void nt_bufe_destroy(struct nt_bufe_result *result);

#endif
