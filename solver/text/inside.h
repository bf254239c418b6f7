/* SPDX-License-Identifier: Apache-2.0 */
/* The network and what its hosts are inside, as one graph (A. Bufe, Hamburg 2014, section 2.7).
 * Tests: test_export.c. */
#ifndef NT_INSIDE_H
#define NT_INSIDE_H

#include "err.h"
#include "map.h"

enum { NT_INSIDE_VERTICES_MAX = 4194304 };

/* *out: the map with each host's packages, memory nodes and cores below it, of hosts whose model is
 * known: vertices of tier 0 behind the switches, named HOST.packageP, HOST.numaN, HOST.coreC, and
 * links whose latencies add up to what was measured between two cores (half of it on each side);
 * without a figure where that was not measured. Cores are divided evenly. NT_ERR_INPUT: too many.
 */
int nt_inside_create(const struct nt_map *map, struct nt_map **out, struct nt_err *err);

#endif
