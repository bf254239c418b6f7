/* SPDX-License-Identifier: Apache-2.0 */
/* Where to draw the vertices of a model so that distances on the picture are like distances on
 * the network: stress majorisation (Gansner, Koren, North, "Graph Drawing by Stress Majorization",
 * GD 2004, section 2.3, the localised update of section 2.2) of the modelled latencies with weights
 * 1/d^2. Above NT_LAYOUT_EXACT vertices each one is held against its links and a set of pivots
 * only (Ortmann, Klimenta, Brandes, "A Sparse Stress Model", 2017), so that memory and time stay
 * linear. Knows indices only.
 *
 * Measured once against Graphviz: neato has the same stress within 1 % up to 549
 * vertices, in 0.9 times our time and more; of 1511 it needs 20 times the time for 7 % less. sfdp
 * has up to 80 % more stress and far fewer crossing links in trees; it takes a quarter of our time
 * at 500 vertices, and all of it at 1511. The page is to be made without Graphviz.
 *
 * Tests: test_picture.c. */
#ifndef NT_LAYOUT_H
#define NT_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "model.h"

enum { NT_LAYOUT_EXACT = 1500, NT_LAYOUT_PIVOTS = 128 };

struct nt_layout {
    size_t vertices; /* hosts + switches */
    int dimensions;  /* 2 or 3 */
    double *at;      /* vertices * dimensions; centred, the farthest vertex at distance 1 */
    double stress;   /* normalised: 0 is perfect; mean squared relative error of the lengths */
};

/* Same model and seed, same picture. Vertices that nothing joins stand apart on a rim. */
int nt_layout_create(const struct nt_model *model, int dimensions, uint64_t seed,
                     struct nt_layout **out, struct nt_err *err);
void nt_layout_destroy(struct nt_layout *layout);

#endif
