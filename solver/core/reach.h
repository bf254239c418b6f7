/* SPDX-License-Identifier: Apache-2.0 */
/* How far the hosts of a model are from one of them, in links, and over which links.
 * Tests: test_loggp_plan.c, test_segments.c. */
#ifndef NT_REACH_H
#define NT_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"
#include "model.h"

enum { NT_REACH_NONE = 0 }; /* hops of what is not reached, and of the source itself */

struct nt_reach {
    struct nt_arena memory; /* of all arrays */
    uint32_t source;
    size_t vertices;
    uint32_t *hops;     /* vertices of them: links on a shortest way by number; NT_REACH_NONE */
    uint32_t *switches; /* vertices of them: switches between the two on that way */
    uint32_t *link;     /* vertices of them: the last link of that way */
    uint32_t *from;     /* vertices of them: the vertex before */
};

/* Breadth first; among ways of equal length the one over the smaller indices. */
int nt_reach_create(const struct nt_model *model, uint32_t source, struct nt_reach **out,
                    struct nt_err *err);
void nt_reach_destroy(struct nt_reach *reach);

/* The name of a class of paths: "same switch", "through 3 switches", "neighbours", "3 hops". */
enum { NT_PATH_CLASS_BYTES = 64 };
void nt_path_class_name(uint32_t hops, uint32_t switches, char name[NT_PATH_CLASS_BYTES]);

#endif
