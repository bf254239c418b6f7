/* SPDX-License-Identifier: Apache-2.0 */
/* Findings of a map: infer/faults.h, infer/losses.h, with suspects and warnings that follow from
 * them.
 * Tests: test_faults.c. */
#ifndef NT_MAP_FAULTS_H
#define NT_MAP_FAULTS_H

#include <stdbool.h>

#include "err.h"
#include "map.h"
#include "matrix.h"
#include "samples.h"

/* Where a map's figures are from. */
struct nt_faults_source {
    bool flows; /* links that are suspect before are those that flows at the same time have shown to
                   be narrow, and no others are (nt_link_flows) */
    const struct nt_samples *samples; /* the record, for what was sent again (map_losses.h) and
                                         flows at the same time; NULL: there is none */
    const uint32_t *order;            /* its hosts in the map */
    const struct nt_matrix *latency;  /* of the map's hosts, each way; NULL: half round trips */
};

/* Sets map->fault; a link is suspect exactly when a finding names it first, a host when its link or
 * it itself is; a warning each. */
int nt_map_faults(struct nt_map *map, const struct nt_faults_source *from, struct nt_err *err);

#endif
