/* SPDX-License-Identifier: Apache-2.0 */
/* Distances of all hosts of a model from one of them, in links, and the links of a shortest path.
 * Tests: test_loggp_plan.c, test_segments.c. */
#ifndef NT_REACH_H
#define NT_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"
#include "model.h"

enum { NT_REACH_NONE = 0 }; /* hops of unreached vertices and of the source */

struct nt_reach {
    struct nt_arena memory; /* of all arrays */
    uint32_t source;
    size_t vertices;
    uint32_t *hops;     /* per vertex: links on a path with the fewest links; NT_REACH_NONE */
    uint32_t *switches; /* per vertex: switches between the two on this path */
    uint32_t *link;     /* per vertex: the last link of this path */
    uint32_t *from;     /* per vertex: the previous vertex */
};

/* Breadth-first search. Among paths of equal length it selects the one with the smaller indices.
 * The caller frees *out. */
int nt_reach_create(const struct nt_model *model, uint32_t source, struct nt_reach **out,
                    struct nt_err *err);
void nt_reach_destroy(struct nt_reach *reach);

/* The name of a class of paths: "same switch", "through 3 switches", "neighbours", "3 hops". */
enum { NT_PATH_CLASS_BYTES = 64 };
void nt_path_class_name(uint32_t hops, uint32_t switches, char name[NT_PATH_CLASS_BYTES]);

#endif
