/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of a network with cycles, as far as they are known: between hosts whose switches have one
 * shortest path and no other that comes near to it. A. Bufe (thesis, Hamburg 2014, section 2.3.3,
 * case 2): a link on a cycle is loaded by "the nearest nodes", or by those with unique shortest
 * paths, since it is not known which of several a flow takes.
 *
 * Channels as in rooted_tree.h. Pure.
 * Tests: test_flow_links.c. */
#ifndef NT_ONLY_PATHS_H
#define NT_ONLY_PATHS_H

#include "model.h"
#include "rooted_tree.h"

struct nt_only_paths;

/* *out NULL: not of this network. Of those that are no tree and in which each host has one link, to
 * a switch, and switches are joined by links of known latency, both ways. rooted: the model's,
 * borrowed. */
int nt_only_paths_create(const struct nt_model *model, const struct nt_rooted_tree *rooted,
                         struct nt_only_paths **out, struct nt_err *err);
void nt_only_paths_destroy(struct nt_only_paths *paths);

/* The switch of a host; NT_NO_VERTEX: missing. */
uint32_t nt_only_paths_switch(const struct nt_only_paths *paths, uint32_t host);

/* The channels between two switches in order; their number, 0: the same one, or not known. channel:
 * room for nt_rooted_tree_room. */
size_t nt_only_paths_between(const struct nt_only_paths *paths, uint32_t from, uint32_t to,
                             uint32_t *channel);

/* The same between two hosts, with their links. paths NULL: as nt_rooted_tree_path. */
size_t nt_only_paths_find(const struct nt_only_paths *paths, const struct nt_rooted_tree *rooted,
                          uint32_t a, uint32_t b, uint32_t *channel);

#endif
