/* SPDX-License-Identifier: Apache-2.0 */
/* Sets the bandwidths of a map's links from flows (infer/flow_links.h) and its findings
 * (infer/faults.h), with the suspects and warnings that follow from them.
 * Tests: test_faults.c, test_flow_links.c. */
#ifndef NT_MAP_FAULTS_H
#define NT_MAP_FAULTS_H

#include <stdint.h>

#include "err.h"
#include "map.h"
#include "matrix.h"
#include "samples.h"

/* The sources of a map's values. All zero: the findings follow from its values alone. */
struct nt_faults_source {
    /* the record, for concurrent flows, retransmissions and rails; NULL: none */
    const struct nt_samples *samples;
    const uint32_t *place;           /* per host of samples: its host in the map */
    const struct nt_matrix *latency; /* per direction, of the map's hosts; NULL: half round trips */
};

/* Sets the values of links that flows show, and map->fault. A link is suspect if it is the first
 * part of a finding, a host if it or its link is; each gives a warning. With flows, links that are
 * suspect before the call are exactly those that concurrent flows have shown to be narrow. */
int nt_map_faults(struct nt_map *map, const struct nt_faults_source *from, struct nt_err *err);

#endif
