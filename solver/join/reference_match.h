/* SPDX-License-Identifier: Apache-2.0 */
/* A map compared with a reference over other, or more, hosts: matching by names, the reference
 * reduced to what a measurement from the map's hosts could see, then place/compare.h.
 * Tests: test_compare.c. */
#ifndef NT_REFERENCE_MATCH_H
#define NT_REFERENCE_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compare.h"
#include "err.h"
#include "map.h"
#include "memory.h"

struct nt_reference_match {
    struct nt_arena memory;           /* of the arrays; first, for nt_object_create */
    struct nt_comparison *comparison; /* in indices of the two models below; its percentages count
                                         missing and unknown hosts, parts and findings, too */
    struct nt_model *found, *reference;
    const char **host_name; /* of both models' hosts; borrowed from the map */
    size_t unknown;         /* the map's hosts that the reference does not have */
    const char **unknown_name;
    size_t missing; /* hosts that did not answer, and are in the reference: in neither model */
    const char **missing_name;
    size_t parts; /* of the reference that no link joins, but the map does; 1: it is connected */
    size_t
        findings; /* of the map that no figure of the reference explains, and that are not in it */
    const struct nt_fault **finding;
    const struct nt_map *map;   /* as it was given; its vertices are those of the findings */
    const struct nt_map *whole; /* the reference as it was given */
    uint32_t *mine, *at;        /* found->hosts of them: where each is in map, and in whole */
};

/* NT_ERR_INPUT if the two have no host in common. Both maps must outlive the result. */
int nt_reference_match_create(const struct nt_map *map, const struct nt_map *reference,
                              double tolerance, struct nt_reference_match **out,
                              struct nt_err *err);
void nt_reference_match_destroy(struct nt_reference_match *match);

/* Whether the map knows bandwidths: only then do times of long messages mean anything. */
bool nt_reference_match_has_rates(const struct nt_reference_match *match);

/* P. Bannikov, A. Salnikov, equations 3 and 4: the time of each ordered pair of hosts is laid on
 * the links of its path through the whole reference in inverse proportion to their bandwidths; per
 * link of the reference the mean of what was laid on it (us; NaN: on no path), and the ideal,
 * message_bytes over its bandwidth (NaN: unknown). Where the reference knows latencies too, a
 * link's ideal is its latency more, and the proportion is that of the ideals.
 * A pair's time is its modelled latency, and message_bytes over the narrowest link where the map
 * knows bandwidths. least_off (NULL: not wanted): the factor by which the paths over the link are
 * off their time by the reference, of the path that is least so: a link with one good path is good,
 * whatever else its paths meet (of the two directions the worse; INFINITY: on no path). The arrays
 * hold match->whole->model->links values, the caller's. */
int nt_reference_match_redistribute(const struct nt_reference_match *match, double message_bytes,
                                    double *laid_us, double *ideal_us, double *least_off,
                                    struct nt_err *err);

#endif
