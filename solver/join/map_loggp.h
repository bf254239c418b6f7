/* SPDX-License-Identifier: Apache-2.0 */
/* The LogGP of a map from the PRTT records of its samples. */
#ifndef NT_MAP_LOGGP_H
#define NT_MAP_LOGGP_H

#include "err.h"
#include "map.h"
#include "samples.h"

/* Fills map->loggp, in the order of classes (nearest first), rails and sizes, from all PRTT samples
 * between hosts that the map's network joins. Records of the phase NT_LOGGP_CHECK_PHASE are held
 * out and checked against. A regime whose line explains under 0.9 of the variance, or of which L or
 * G came out at 0, is not stated. Samples without any leave the map as it is; hosts are found by
 * name. */
int nt_map_loggp(const struct nt_samples *samples, struct nt_map *map, struct nt_err *err);

#endif
