/* Whom to measure so that it shows where hosts on longer links hang: rounds for slow.h. */
#ifndef NT_DRAW_SLOW_H
#define NT_DRAW_SLOW_H

#include "draw.h"
#include "err.h"
#include "rng.h"
#include "slow.h"

/* Adds the pair to the draw, of hosts that are not in it yet, that would tell most of where each
 * unplaced host hangs; returns how many of them only tell between places that were read. -1: see
 * err. */
int nt_draw_slow(const struct nt_found_tree *tree, struct nt_draw *draw, struct nt_err *err);

/* The same before anything is known: whoever is idle, near ones and others in turn. */
int nt_draw_slow_early(const struct nt_found_tree *tree, struct nt_rng *rng, struct nt_draw *draw,
                       struct nt_err *err);

#endif
