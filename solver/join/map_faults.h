/* SPDX-License-Identifier: Apache-2.0 */
/* Findings of a map: infer/faults.h, with suspects and warnings that follow from them.
 * Tests: test_faults.c. */
#ifndef NT_MAP_FAULTS_H
#define NT_MAP_FAULTS_H

#include <stdbool.h>

#include "err.h"
#include "map.h"

/* Sets map->fault; a link is suspect exactly when a finding names it first, a host when its link or
 * it itself is; a warning each. flows: links that are suspect before are those that flows at the
 * same time have shown to be narrow, and no others are (nt_link_flows). */
int nt_map_faults(struct nt_map *map, bool flows, struct nt_err *err);

#endif
