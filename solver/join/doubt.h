/* What disturbed readings take from a map's confidence. */
#ifndef NT_DOUBT_H
#define NT_DOUBT_H

#include "err.h"
#include "map.h"
#include "samples.h"

/* A pair that is to be expected to have disturbed readings alone (disturbed.h) may lead to another
 * network, which the noise that inference sees does not tell. From three tenths of such a pair on a
 * warning says so. For maps of all pairs. */
int nt_doubt_disturbed(const struct nt_samples *samples, struct nt_map *map, struct nt_err *err);

#endif
