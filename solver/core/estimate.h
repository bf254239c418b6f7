/* SPDX-License-Identifier: Apache-2.0 */
/* What measurements over known routes say about links, parts of paths and pairs. Made by
 * infer/estimate_routes.c, read by text/. A standard error is NaN when no measurement is left over
 * to judge the noise by.
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
    bool suspect; /* slower than its tier by a tested margin */
};

struct nt_fit {
    size_t measured, rank;
    size_t freedom;  /* measurements beyond the rank, without the rejected ones */
    size_t rejected; /* measurements that do not fit: they count for almost nothing */
    double sigma_us; /* standard deviation of one measurement; NaN without freedom */
    double rms_us, r2;
    double false_alarm_rate; /* of the suspects: at most this chance that a sound network has any */
    size_t tested;           /* links that could become suspects */
};

struct nt_estimate {
    struct nt_arena memory; /* first, for nt_object_create */
    size_t links;
    struct nt_link_estimate *link; /* those that can be distinguished, in the order of the routes */
    size_t aggregates;             /* shortest runs of links that are known as a sum only */
    size_t *run_start;             /* aggregates + 1, into run_link */
    uint32_t *run_link;            /* in the order of a path */
    struct nt_figure *run_latency;
    size_t pairs;                   /* that follow from the measurements */
    uint32_t (*pair)[2];            /* hosts */
    struct nt_figure *pair_latency; /* half a round trip: the mean of the two ways */
    struct nt_figure (*way)[2]; /* from the first host to the second, and back; NaN if the two ways
                                   have the same links or are known as a sum only */
    struct nt_fit fit;
};

void nt_estimate_destroy(struct nt_estimate *estimate);

#endif
