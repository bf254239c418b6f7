/* SPDX-License-Identifier: Apache-2.0 */
/* How much longer or shorter the links of single hosts are, from all readings of an adaptive sweep.
 *
 * A pair's latency is that of its class and both its hosts' offsets. Where classes are wider than
 * noise, that is either from such offsets, which readings then show, or because one class is in
 * truth several. Offsets are medians over a host's readings, alternating, each shrunk by what the
 * width of the classes makes likely of it.
 * Tests: test_slow_hosts.c. */
#ifndef NT_OFFSETS_H
#define NT_OFFSETS_H

#include "class_fit.h"
#include "clusters.h"
#include "err.h"
#include "readings.h"
#include "slow.h"

struct nt_offsets {
    double *us;       /* seats of them; owned */
    double *variance; /* of each, us^2; owned */
};

/* clusters determine the class of a pair; readings sorted. All 0 when the classes are no wider than
 * noise, but for slow hosts: theirs are as placed. */
int nt_offsets_fit(size_t seats, const struct nt_classes *classes,
                   const struct nt_clusters *clusters, const struct nt_slow *slow,
                   const struct nt_readings *readings, struct nt_offsets *out, struct nt_err *err);
void nt_offsets_fini(struct nt_offsets *offsets);

#endif
