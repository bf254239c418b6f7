/* SPDX-License-Identifier: Apache-2.0 */
/* Distances between hosts on the model: latency, hops, and the links of the path. On a tree the
 * path is found by walking up from both ends, so 10,000 hosts need no quadratic memory. Other
 * networks store one shortest-path tree per host (by latency, then hops, then the lower link index,
 * so that the same model gives the same paths).
 * Tests: test_place.c, test_supported_tree.c. */
#ifndef NT_DISTANCE_H
#define NT_DISTANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "model.h"

enum { NT_DISTANCE_VERTICES_MAX = 8192 }; /* maximum for a network other than a tree */

struct nt_distance;

/* Creates distances. Links without a latency count as 1 us. The model must outlive the
 * distances. */
int nt_distance_create(const struct nt_model *model, struct nt_distance **out, struct nt_err *err);
void nt_distance_destroy(struct nt_distance *distance);

const struct nt_model *nt_distance_model(const struct nt_distance *distance);
bool nt_distance_is_tree(const struct nt_distance *distance);

/* Returns the one-way latency with both overheads: 0 from a host to itself, NaN if the hosts are
 * not connected. */
double nt_distance_latency(const struct nt_distance *distance, uint32_t a, uint32_t b);

/* Lists the directed links of the path, at most nt_distance_path_max of them: 2*link for the
 * direction from a to b of the link, 2*link+1 for the other. Returns their number. */
uint32_t nt_distance_path(const struct nt_distance *distance, uint32_t a, uint32_t b,
                          uint32_t *directed);
uint32_t nt_distance_path_max(const struct nt_distance *distance);

/* On a tree, returns the vertex above v, UINT32_MAX at the root. The root is the middle of the
 * longest path in hops (a switch if there is one). */
uint32_t nt_distance_parent(const struct nt_distance *distance, uint32_t v);

#endif
