/* SPDX-License-Identifier: Apache-2.0 */
/* From a map to a placement of tasks.
 * Tests: test_supported_tree.c, test_place.c. */
#ifndef NT_HINT_H
#define NT_HINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "map.h"
#include "memory.h"
#include "traffic.h"

struct nt_metrics {
    double latency_us;    /* mean over the bytes exchanged; 0 inside a host */
    double hop_bytes;     /* bytes times links */
    double max_link_load; /* us of the busiest link when load_is_time (of each step of recursive
                             doubling, in sum), else bytes */
    bool load_is_time;    /* the map has bandwidths */
};

enum { NT_HINT_SHORT_BYTES = 8 };

struct nt_hint {
    struct nt_arena memory; /* of all arrays */
    char *pattern;
    size_t ntasks;
    uint32_t *rank_host; /* ntasks of them: the host (map index) of each rank */
    size_t hosts;
    uint32_t *host_order; /* hosts of them: hosts in hint order; unused, then missing ones last */
    double cost, cost_default; /* us: of one round of the pattern, in this and in the scheduler's
                                  order: the mean latency of a message, and where bandwidths are
                                  known the time that the busiest direction of a link needs for
                                  message_bytes each way of every pair over it */
    double message_bytes;      /* mean of the messages of the pattern; without bandwidths those of
                                  the shortest, NT_HINT_SHORT_BYTES */
    double gain;               /* cost_default / cost; exactly 1: no change recommended */
    double lower_bound;        /* of the mean latency where one is known, else NaN */
    double first_percent;      /* that rank 0 on the job's first host costs more than the best
                                  order; 0: at most 1, or the error of the gain covers it */
    struct nt_metrics metrics, metrics_default;
};

/* What is to be placed, and where; all borrowed. */
struct nt_hint_request {
    const char *pattern;              /* as in base/option.h */
    const struct nt_traffic *traffic; /* what the pattern exchanges; NULL: follows from its name */
    size_t tasks;                     /* without traffic: how many */
    double message_bytes;             /* without traffic: of a message; 0: the pattern's own */
    uint32_t *capacity;               /* hosts: tasks on each, in map order */
    bool any_first;                   /* rank 0 may be on any host */
};

/* The scheduler's order, with which the hint is compared,
 * fills the hosts in map order, block wise. The hint never costs more; the metrics are reported and
 * each alone may be worse. Where its gain is below 1 % or covered by its own error (two standard
 * errors, from those of the links) the scheduler's order itself is returned. Figures that the map's
 * errors cannot tell apart count as equal, and of parts that are alike the first ranks are on the
 * first hosts (alike.h), so that noise changes no order. It is searched for without the switches of
 * a support below NT_SUPPORT_USED (alike.h), must be no worse with them either, and of
 * both gains the smaller is stated, with its costs and metrics.
 *
 * Job scripts take the job's first host as the master: rank 0 is on the first host that holds
 * tasks, unless any_first. Of orders that cost the same one that begins there is recommended;
 * first_percent states what that costs otherwise. NT_ERR_INPUT when the pattern does not fit the
 * tasks or the hosts do not hold them. */
int nt_hint_create(const struct nt_map *map, const struct nt_hint_request *request,
                   struct nt_hint **out, struct nt_err *err);

/* Hosts that did not answer are still the job's: adds their ranks, as many as their capacity, after
 * all others; those of the job's first host before them, as rank 0 stays there. */
int nt_hint_add_missing(struct nt_hint *hint, const struct nt_map *map, const uint32_t *capacity,
                        struct nt_err *err);

/* The scheduler's order, of a network that is not determined: no costs, gain 1. */
int nt_hint_unchanged(const struct nt_map *map, const char *pattern, const uint32_t *capacity,
                      size_t ntasks, struct nt_hint **out, struct nt_err *err);
void nt_hint_destroy(struct nt_hint *hint);

#endif
