/* SPDX-License-Identifier: Apache-2.0 */
/* Computes a placement of tasks from a map.
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
    double latency_us; /* mean weighted by bytes; 0 within a host */
    double hop_bytes;  /* sum of bytes times links */
    /* us of the busiest link if load_is_time (sum over the steps of recursive doubling), otherwise
     * bytes */
    double max_link_load;
    /* The same, if links without a measured bandwidth, or with a lower bound only, need no time */
    double least_link_load;
    bool load_is_time; /* the map has bandwidths */
};

enum { NT_HINT_SHORT_BYTES = 8 };

struct nt_hint {
    struct nt_arena memory; /* all arrays */
    char *pattern;
    size_t ntasks;
    uint32_t *rank_host; /* by rank: its host (index in the map) */
    size_t hosts;
    uint32_t
        *host_order; /* hosts in the order of the hint; unused, then missing hosts at the end */
    /* us per round of the pattern, in this and in Slurm's order: the mean latency of a message
     * plus, if bandwidths are known, the time that the busiest direction of a link needs for
     * message_bytes in each direction of every pair that uses it */
    double cost, cost_default;
    /* Mean message size of the pattern; without bandwidths the shortest, NT_HINT_SHORT_BYTES */
    double message_bytes;
    double gain;        /* cost_default / cost; exactly 1: no change is recommended */
    double lower_bound; /* lower bound of the mean latency; NaN: not known */
    /* Percent that rank 0 on the job's first host costs more than the best order; 0: at most 1, or
     * less than the error of the gain */
    double first_percent;
    struct nt_metrics metrics, metrics_default;
};

/* The tasks to place and the hosts; all pointers are borrowed. */
struct nt_hint_request {
    const char *pattern;              /* as in base/option.h */
    const struct nt_traffic *traffic; /* traffic of the pattern; NULL: derived from its name */
    size_t tasks;                     /* without traffic: number of tasks */
    double message_bytes;             /* without traffic: message size; 0: the pattern's default */
    uint32_t *capacity;               /* by host, in map order: number of tasks */
    bool any_first;                   /* rank 0 may be on any host */
};

/* Computes a placement.
 *
 * The hint is compared with Slurm's order, which fills the hosts in map order, block by block. The
 * hint never costs more; each metric alone may be worse. If the gain is below 1 % or within its own
 * error (two standard errors, from those of the links), Slurm's order is returned. Values that
 * differ by less than their errors count as equal, and among equivalent parts the first ranks are
 * on the first hosts (equal_parts.h), so that noise changes no order. The search uses the network
 * without switches with a support below NT_SUPPORT_USED (equal_parts.h). The result must be no
 * worse with these switches either; the smaller of both gains is reported, with its costs and
 * metrics.
 *
 * Job scripts use the job's first host as master: rank 0 is on the first host with tasks, unless
 * any_first. Among orders with the same cost, one that starts there is recommended; first_percent
 * is the additional cost of this rule otherwise. NT_ERR_INPUT: the pattern does not match the
 * number of tasks, or the hosts have no room for them. */
int nt_hint_create(const struct nt_map *map, const struct nt_hint_request *request,
                   struct nt_hint **out, struct nt_err *err);

/* Adds the ranks of hosts that did not answer but belong to the job, as many as their capacity,
 * after all others. Ranks of the job's first host come before all others, because rank 0 stays
 * there. */
int nt_hint_add_missing(struct nt_hint *hint, const struct nt_map *map, const uint32_t *capacity,
                        struct nt_err *err);

/* Returns Slurm's order, for a network that is not determined: no costs, gain 1. */
int nt_hint_unchanged(const struct nt_map *map, const char *pattern, const uint32_t *capacity,
                      size_t ntasks, struct nt_hint **out, struct nt_err *err);
void nt_hint_destroy(struct nt_hint *hint);

#endif
