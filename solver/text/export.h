/* SPDX-License-Identifier: Apache-2.0 */
/* A map in the formats of other programs. All return a text that is the caller's (free); the same
 * map gives the same bytes. */
#ifndef NT_EXPORT_H
#define NT_EXPORT_H

#include <stddef.h>

#include "err.h"
#include "map.h"

/* Graphviz: an undirected graph; a link carries its figures as attributes (latency_us,
 * bandwidth_Gbps, bandwidth_back_Gbps, len for neato) and as a label. colour (may be NULL): one
 * Graphviz colour a link, "" for none. */
int nt_export_dot(const struct nt_map *map, const char *const *colour, char **text, size_t *bytes,
                  struct nt_err *err);

/* Trivial Graph Format as in A. Bufe, "Automatic Analysis of a Supercomputer's Topology and
 * Performance Characteristics", section 2.6: both directions, "l: LATENCY_US t: MBPS"; a link that
 * was seen in one direction only once. */
int nt_export_tgf(const struct nt_map *map, char **text, size_t *bytes, struct nt_err *err);

/* GraphML with typed keys; what was not measured has no data element. */
int nt_export_graphml(const struct nt_map *map, char **text, size_t *bytes, struct nt_err *err);

/* Slurm's topology/tree. NT_ERR_INPUT when the map is no tree of switches. A switch with hosts and
 * switches below it gets a leaf of its own for its hosts, since Slurm allows only one kind. */
int nt_export_topology_conf(const struct nt_map *map, char **text, size_t *bytes,
                            struct nt_err *err);
int nt_export_topology_yaml(const struct nt_map *map, char **text, size_t *bytes,
                            struct nt_err *err);

/* Slurm's topology/block: each switch that has hosts is a block of them. NT_ERR_INPUT when none
 * has. Without block sizes: Slurm takes the smallest block's then. */
int nt_export_blocks_conf(const struct nt_map *map, char **text, size_t *bytes, struct nt_err *err);
int nt_export_blocks_yaml(const struct nt_map *map, char **text, size_t *bytes, struct nt_err *err);

#endif
