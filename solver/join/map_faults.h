/* SPDX-License-Identifier: Apache-2.0 */
/* Bandwidths of a map's links from flows (infer/flow_links.h), and its findings (infer/faults.h),
 * with suspects and warnings that follow from them.
 * Tests: test_faults.c, test_flow_links.c. */
#ifndef NT_MAP_FAULTS_H
#define NT_MAP_FAULTS_H

#include <stdint.h>

#include "err.h"
#include "map.h"
#include "matrix.h"
#include "samples.h"

/* Where a map's figures are from. {0}: its findings follow from its figures alone. */
struct nt_faults_source {
    const struct nt_samples *samples; /* the record, for flows at the same time, what was sent
                                         again, and rails; NULL: there is none */
    const uint32_t *place;            /* of its hosts: the map's */
    const struct nt_matrix *latency;  /* of the map's hosts, each way; NULL: half round trips */
};

/* Sets figures of links that flows show, and map->fault; a link is suspect exactly when a finding
 * names it first, a host when its link or it itself is; a warning each. With flows links that are
 * suspect before are those that flows at the same time have shown to be narrow, and no others. */
int nt_map_faults(struct nt_map *map, const struct nt_faults_source *from, struct nt_err *err);

#endif
