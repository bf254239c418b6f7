/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a map in the formats of other programs. The caller frees every returned text. The same map
 * gives the same bytes. */
#ifndef NT_EXPORT_H
#define NT_EXPORT_H

#include <stddef.h>

#include "err.h"
#include "map.h"

/* Graphviz: an undirected graph. The values of a link are attributes (latency_us, bandwidth_Gbps,
 * bandwidth_back_Gbps, len for neato) and a label. colour: one Graphviz colour per link, "" for
 * none; may be NULL. */
int nt_export_dot(const struct nt_map *map, const char *const *colour, char **text, size_t *bytes,
                  struct nt_err *err);

/* Trivial Graph Format as in A. Bufe, "Automatic Analysis of a Supercomputer's Topology and
 * Performance Characteristics", section 2.6: a line per direction, "l: LATENCY_US t: MBPS"; only
 * one line for a link that was measured in one direction. */
int nt_export_tgf(const struct nt_map *map, char **text, size_t *bytes, struct nt_err *err);

/* GraphML with typed keys. A value that was not measured has no data element. */
int nt_export_graphml(const struct nt_map *map, char **text, size_t *bytes, struct nt_err *err);

/* Slurm's topology/tree. NT_ERR_INPUT if the map is not a tree of switches. If a switch has both
 * hosts and switches below it, its hosts get a leaf switch of their own, because Slurm allows only
 * one kind. */
int nt_export_topology_conf(const struct nt_map *map, char **text, size_t *bytes,
                            struct nt_err *err);
int nt_export_topology_yaml(const struct nt_map *map, char **text, size_t *bytes,
                            struct nt_err *err);

/* Slurm's topology/block: each switch with hosts is a block. NT_ERR_INPUT if there is none. Writes
 * no block sizes, so Slurm uses the size of the smallest block. */
int nt_export_blocks_conf(const struct nt_map *map, char **text, size_t *bytes, struct nt_err *err);
int nt_export_blocks_yaml(const struct nt_map *map, char **text, size_t *bytes, struct nt_err *err);

#endif
