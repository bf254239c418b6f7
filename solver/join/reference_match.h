/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a map with a reference over other, or more, hosts: matches names, reduces the reference
 * to the part that measurements from the map's hosts can show, then calls place/compare.h.
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
    struct nt_arena memory; /* of the arrays; first, for nt_object_create */
    /* In indices of found and reference; its percentages also count missing and unknown hosts,
     * parts and findings */
    struct nt_comparison *comparison;
    struct nt_model *found, *reference;
    const char **host_name; /* of the hosts of both models; borrowed from the map */
    size_t unknown;         /* hosts of the map that the reference lacks */
    const char **unknown_name;
    size_t missing; /* hosts of the reference that did not answer; in neither model */
    const char **missing_name;
    /* connected components of the reference that the map connects; 1: it is connected */
    size_t parts;
    size_t findings; /* findings of the map that the reference neither contains nor explains */
    const struct nt_fault **finding;
    const struct nt_map *map;   /* the original map; its vertices are those of the findings */
    const struct nt_map *whole; /* the original reference */
    uint32_t *mine, *at;        /* per host of found: its index in map, and in whole */
};

/* NT_ERR_INPUT: no common host. Both maps must outlive *out; the caller frees it. */
int nt_reference_match_create(const struct nt_map *map, const struct nt_map *reference,
                              double tolerance, struct nt_reference_match **out,
                              struct nt_err *err);
void nt_reference_match_destroy(struct nt_reference_match *match);

/* Whether the map has bandwidths, which times of long messages need. */
bool nt_reference_match_has_rates(const struct nt_reference_match *match);

/* Distributes times over links (P. Bannikov, A. Salnikov, equations 3 and 4). The time of each
 * ordered pair of hosts is distributed over the links of its path through the whole reference, in
 * inverse proportion to their bandwidths. laid_us: per link of the reference the mean of its parts
 * (NaN: on no path). ideal_us: message_bytes over its bandwidth (NaN: unknown). If the reference
 * has latencies, they are added to the ideals, and the parts are proportional to the ideals. The
 * time of a pair is its modelled latency, plus message_bytes over its narrowest link if the map has
 * bandwidths. least_off (may be NULL): the factor between the measured and the reference time of
 * the path over the link that deviates least, since a link with one good path is good (the worse of
 * both directions; INFINITY: on no path). The caller's arrays have match->whole->model->links
 * elements. */
int nt_reference_match_redistribute(const struct nt_reference_match *match, double message_bytes,
                                    double *laid_us, double *ideal_us, double *least_off,
                                    struct nt_err *err);

#endif
