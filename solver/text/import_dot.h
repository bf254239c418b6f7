/* SPDX-License-Identifier: Apache-2.0 */
/* Graphviz DOT as a description of a network, as P. Bannikov and A. Salnikov use it for a
 * reference: an edge's label is its link's rate in Gbit/s. Ours (nt_export_dot) are read too.
 *
 * Understood: graph and digraph, node and edge statements, chains, default attributes are passed
 * over, subgraphs are flattened (an edge may lead to several vertices in braces, but not from
 * them), comments, quoted names. Of an edge: bandwidth_Gbps and
 * bandwidth_back_Gbps, else a label or a weight that begins with a number (Gbit/s), latency_us. A
 * pair that comes twice in a digraph gives the two directions; in a graph, parallel cables.
 *
 * A vertex is a switch when it says so (shape=box, kind=switch, tier) or when some other vertex
 * hangs on it alone; in a network where no vertex has one link only, all are hosts. Comments and
 * quoted names go over lines, hence not by lines.h. */
#ifndef NT_IMPORT_DOT_H
#define NT_IMPORT_DOT_H

#include <stddef.h>

#include "err.h"
#include "map.h"

/* text need not be terminated; file names it in errors (NT_ERR_INPUT, with the line). */
int nt_import_dot(const char *file, const char *text, size_t bytes, struct nt_map **out,
                  struct nt_err *err);

/* Slurm's topology.yaml: the first topology that is cluster_default, else the first; a tree or
 * blocks, as in nt_import_topology_conf. */
int nt_import_topology_yaml(const char *file, const char *text, size_t bytes, struct nt_map **out,
                            struct nt_err *err);

#endif
