/* SPDX-License-Identifier: Apache-2.0 */
/* Latencies of links, of partial paths and of pairs, estimated from measurements over known routes.
 * infer/estimate_routes.c makes them, text/ writes them. Standard errors are NaN if there are no
 * more measurements than unknowns.
 * Tests: test_estimate_routes.c. */
#ifndef NT_ESTIMATE_H
#define NT_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory.h"

struct nt_figure {
    double us, se_us;
};

struct nt_link_estimate {
    uint32_t link;
    struct nt_figure latency;
    bool suspect; /* slower than its tier, by a test */
};

struct nt_fit {
    size_t measured, rank;
    size_t freedom;  /* degrees of freedom: measurements beyond the rank, without rejected ones */
    size_t rejected; /* outliers; their weight is almost 0 */
    double sigma_us; /* standard deviation of one measurement; NaN if freedom is 0 */
    double rms_us, r2;
    /* Limit on the probability that a network without faults has any suspect */
    double false_alarm_rate;
    size_t tested; /* links that were tested for being suspect */
};

struct nt_estimate {
    struct nt_arena memory; /* first, for nt_object_create */
    size_t links;
    struct nt_link_estimate
        *link;          /* the links whose latency is determined, in the order of the routes */
    size_t aggregates;  /* shortest runs of links of which only the sum is determined */
    size_t *run_start;  /* aggregates + 1 positions in run_link */
    uint32_t *run_link; /* in the order of a path */
    struct nt_figure *run_latency;
    size_t pairs;                   /* pairs whose latency follows from the measurements */
    uint32_t (*pair)[2];            /* two hosts */
    struct nt_figure *pair_latency; /* half a round trip: the mean of both directions */
    /* From the first host to the second, and back; NaN if both directions have the same links or
     * only their sum is determined */
    struct nt_figure (*way)[2];
    struct nt_fit fit;
};

void nt_estimate_destroy(struct nt_estimate *estimate);

#endif
