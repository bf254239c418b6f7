/* SPDX-License-Identifier: Apache-2.0 */
/* Readings that contradict a group: whether its hosts see the others as hosts behind one link do.
 *
 * In a hierarchy all units of a group are equally far from any host outside, their own ends taken
 * off, and nearer to each other. A unit contradicts the group at a host outside if its reading
 * differs from that of the group's other units by more than the group's link and three times the
 * noise; a pair inside contradicts it if its reading is longer by as much than the group's. Noise
 * does that with a known probability. In rings, meshes, rows of routers and random graphs, groups
 * that are no switches are contradicted at a large share of the hosts outside. The odds are those
 * of two binomials: with the probability by noise and outliers, and with an unknown larger one.
 *
 * This uses the readings that are outliers, too: those that agree with each other are misfit.
 * Tests: test_tiers.c. */
#ifndef NT_CONTRADICTION_H
#define NT_CONTRADICTION_H

#include <stdint.h>

#include "err.h"
#include "search.h"

/* ln of the odds, for each node of the tree of the best chain, that it is no group; without the
 * prior. odds: nodes. O(readings * tiers). */
int nt_contradiction_odds(struct nt_search *search, double *odds, struct nt_err *err);

/* The noise of readings that the fit has not made larger by its misfit, relative: as readings of
 * the same pair show it, or readings between the same two units of the lowest tier (with the fit's
 * own as one more). 0: there are none. */
int nt_contradiction_noise(struct nt_search *search, double *sd, struct nt_err *err);

#endif
