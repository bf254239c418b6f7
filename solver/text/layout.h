/* SPDX-License-Identifier: Apache-2.0 */
/* Positions for drawing the vertices of a model, so that distances in the picture correspond to
 * latencies: stress majorisation (Gansner, Koren, North, "Graph Drawing by Stress Majorization", GD
 * 2004, section 2.3, with the localised update of section 2.2) of the modelled latencies with
 * weights 1/d^2. Above NT_LAYOUT_EXACT vertices, each vertex is compared with its links and a set
 * of pivots only (Ortmann, Klimenta, Brandes, "A Sparse Stress Model", 2017), so that memory and
 * time are linear. In two dimensions a torus or mesh of known sizes (core/lattice.h) is a grid: the
 * planes of its first two dimensions side by side. Uses indices, not names.
 *
 * Compared with Graphviz once: neato has the same stress within 1 % up to 549 vertices and takes
 * 0.9 times the time of this module or more; for 1511 vertices it needs 20 times the time for 7 %
 * less stress. sfdp has up to 80 % more stress and far fewer crossing links in trees; it takes a
 * quarter of the time at 500 vertices, and as long at 1511. The page must not require Graphviz.
 * Tests: test_picture.c. */
#ifndef NT_LAYOUT_H
#define NT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "model.h"

enum { NT_LAYOUT_EXACT = 1500, NT_LAYOUT_PIVOTS = 128 };

struct nt_layout {
    size_t vertices; /* hosts + switches */
    int dimensions;  /* 2 or 3 */
    double *at;      /* vertices * dimensions; centred, the farthest vertex at distance 1 */
    double
        stress;  /* normalised: mean squared relative error of the lengths; 0: perfect, or a grid */
    double unit; /* distance of neighbours in a grid; 0: the layout is no grid */
    double *
        turn; /* grid only, by link: direction of its short ends (nt_layout_short_end); NAN: none */
};

/* Computes a layout. The same model and seed give the same layout. Vertices without links are
 * placed on a circle around the others. */
int nt_layout_create(const struct nt_model *model, int dimensions, uint64_t seed,
                     struct nt_layout **out, struct nt_err *err);
void nt_layout_destroy(struct nt_layout *layout);

/* Returns whether a link of a grid goes around an edge or to another plane. Such a link is drawn as
 * two short ends: end is set to the vector of the one at a, and b has the opposite one. */
bool nt_layout_short_end(const struct nt_layout *layout, size_t link, double end[2]);

#endif
