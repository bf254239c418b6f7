/* SPDX-License-Identifier: Apache-2.0 */
/* The network and the hardware of its hosts as one graph (A. Bufe, Hamburg 2014, section 2.7).
 * Tests: test_export.c. */
#ifndef NT_INSIDE_H
#define NT_INSIDE_H

#include "err.h"
#include "map.h"

enum { NT_INSIDE_VERTICES_MAX = 4194304 };

/* Sets *out to the map with packages, memory nodes and cores below each host whose hardware model
 * is known: vertices of tier 0 after the switches, with the names HOST.packageP, HOST.numaN,
 * HOST.coreC. The latencies of their links add up to the measured latency between two cores (half
 * on each side); a link has no latency if that was not measured. Cores are distributed evenly.
 * NT_ERR_INPUT: too many vertices. */
int nt_inside_create(const struct nt_map *map, struct nt_map **out, struct nt_err *err);

#endif
