/* SPDX-License-Identifier: Apache-2.0 */
/* Known paths in a network with cycles: those between switches that have one shortest path and no
 * other path of nearly the same length. A. Bufe (thesis, Hamburg 2014, section 2.3.3, case 2) loads
 * a link on a cycle by "the nearest nodes", or by nodes with unique shortest paths, since it is
 * unknown which of several paths a flow takes.
 *
 * Channels are defined in rooted_tree.h. Pure.
 * Tests: test_flow_links.c. */
#ifndef NT_UNIQUE_PATHS_H
#define NT_UNIQUE_PATHS_H

#include "model.h"
#include "rooted_tree.h"

struct nt_unique_paths;

/* rooted: of this model; borrowed. *out is NULL for trees, and unless each host has one link, to a
 * switch, and all links between switches have known latencies in both directions. The caller frees
 * *out. */
int nt_unique_paths_create(const struct nt_model *model, const struct nt_rooted_tree *rooted,
                           struct nt_unique_paths **out, struct nt_err *err);
void nt_unique_paths_destroy(struct nt_unique_paths *paths);

/* The switch of a host; NT_NO_VERTEX: the host is missing. */
uint32_t nt_unique_paths_switch(const struct nt_unique_paths *paths, uint32_t host);

/* Writes the channels between two switches to channel, in order, and returns their number; 0: the
 * same switch, or the path is unknown. channel: room for nt_rooted_tree_room channels. */
size_t nt_unique_paths_between(const struct nt_unique_paths *paths, uint32_t from, uint32_t to,
                               uint32_t *channel);

/* The last channel between two switches, if their path is known; NT_NO_LINK. */
uint32_t nt_unique_paths_last(const struct nt_unique_paths *paths, uint32_t from, uint32_t to);

/* As above for two hosts, including their links. paths NULL: as nt_rooted_tree_path. */
size_t nt_unique_paths_find(const struct nt_unique_paths *paths,
                            const struct nt_rooted_tree *rooted, uint32_t a, uint32_t b,
                            uint32_t *channel);

#endif
