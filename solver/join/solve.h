/* Samples to map: the whole solver as one call, the same for the probe and for `nettopo solve`. */
#ifndef NT_SOLVE_H
#define NT_SOLVE_H

#include <stdint.h>

#include "err.h"
#include "map.h"
#include "samples.h"

/* Deterministic: the same samples give the same map, byte for byte once written. The map names
 * hosts that did not answer as missing, carries the samples' warnings and status, and a placement
 * for the samples' pattern. */
int nt_solve_samples(const struct nt_samples *samples, struct nt_map **out, struct nt_err *err);

#endif
