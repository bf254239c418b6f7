/* SPDX-License-Identifier: Apache-2.0 */
/* How far hosts are apart on the model: latency, hops, and the links between them.
 *
 * On a tree the path is found by walking up from both ends, so 10,000 hosts need no square of
 * anything. Other networks keep one shortest-path tree a host (by latency, then hops, then the
 * smaller link number, so that the same model gives the same paths).
 * Tests: test_place.c, test_supported_tree.c. */
#ifndef NT_DISTANCE_H
#define NT_DISTANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "model.h"

enum { NT_DISTANCE_VERTICES_MAX = 8192 }; /* of a network that is no tree */

struct nt_distance;

/* Links without a latency count as 1 us. The model must stay while the distance is used. */
int nt_distance_create(const struct nt_model *model, struct nt_distance **out, struct nt_err *err);
void nt_distance_destroy(struct nt_distance *distance);

const struct nt_model *nt_distance_model(const struct nt_distance *distance);
bool nt_distance_is_tree(const struct nt_distance *distance);

/* One-way latency with both overheads, 0 from a host to itself, NaN when they are not joined. */
double nt_distance_latency(const struct nt_distance *distance, uint32_t a, uint32_t b);

/* The directed links of the path, 2*link for a-to-b of the link and 2*link+1 for the way back, at
 * most nt_distance_path_max of them; returns how many. */
uint32_t nt_distance_path(const struct nt_distance *distance, uint32_t a, uint32_t b,
                          uint32_t *directed);
uint32_t nt_distance_path_max(const struct nt_distance *distance);

/* On a tree: the vertex above v, UINT32_MAX at the root. The root is the middle of the longest
 * path in hops (a switch where there is one). */
uint32_t nt_distance_parent(const struct nt_distance *distance, uint32_t v);

#endif
