/* SPDX-License-Identifier: Apache-2.0 */
/* Grids: tori, twisted tori, meshes and hypercubes by their sizes, and which vertex of a model is
 * where in its grid. A vertex of a grid is numbered by its coordinates, the first one fastest.
 * Tests: test_picture.c, test_infer_direct.c. */
#ifndef NT_LATTICE_H
#define NT_LATTICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"
#include "model.h"

struct nt_lattice {
    size_t dimensions, size[NT_DIMENSIONS_MAX];
    bool wraps;
    size_t twist; /* columns shifted where the second dimension wraps */
};

/* Neighbours of vertex v, each once. */
enum { NT_LATTICE_DEGREE_MAX = 2 * NT_DIMENSIONS_MAX };
size_t nt_lattice_neighbours(const struct nt_lattice *lattice, size_t v,
                             size_t out[NT_LATTICE_DEGREE_MAX]);

/* The grid of a torus or mesh, of its switches or, without any, of its hosts.
 * *place: for each vertex of the model its number in the grid, NT_NO_VERTEX (graph.h) for hosts
 * behind switches; NULL if the model has none of two dimensions or more, or if it is not found
 * within a number of steps in proportion to its vertices. Memory is the arena's. */
int nt_lattice_place(const struct nt_model *model, struct nt_arena *memory,
                     struct nt_lattice *lattice, const uint32_t **place, struct nt_err *err);

#endif
