/* SPDX-License-Identifier: Apache-2.0 */
/* The parametrised round-trip time PRTT(n, d, s) of A. Lichei, "Analysis and Optimization of the
 * Packet Scheduler in Open MPI", Chemnitz 2006, section 3.2.1: n messages of s bytes, with d of
 * computation before each but the first, and one message of s bytes back. Shared by the planner
 * (plan/loggp.h) and the fit (infer/loggp_fit.h).
 * Tests: test_loggp_fit.c. */
#ifndef NT_PRTT_H
#define NT_PRTT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "segments.h"

enum { NT_PRTT_MAX = 100000 };

struct nt_prtt {
    double bytes;          /* s, at least 1 */
    uint32_t count;        /* n, at least 1 */
    double delay_us;       /* d */
    double hold_us;        /* time after its last send in which the first host does not poll */
    double time_us, se_us; /* with hold_us: from the end of the last send */
    bool check;            /* used only to check predictions, never for the fit */
};

/* The one-way curve: half of PRTT(1, 0, s) by rising size. Each size occurs once, with its lowest
 * value, since disturbances only add. The sd of a point is the error of the value, at least the
 * share below which straight lines do not describe a network. Without checks, without measurements
 * with a hold, and without sizes that were measured once and are outliers beside both neighbours.
 * out: room for n. Returns the number of points. */
size_t nt_prtt_curve(const struct nt_prtt *m, size_t n, struct nt_point *out);

/* The protocol regimes of a curve: straight lines over s - 1, of three or more sizes each. Writes
 * them to out (room for NT_SEGMENTS_MAX). */
int nt_prtt_regimes(const struct nt_point *curve, size_t n, struct nt_line *out, size_t *lines,
                    struct nt_err *err);

/* The largest size of regime k. It is the size at which its line crosses the next line, if that is
 * between their sizes, else the geometric mean of these sizes. For the last regime it is the
 * largest measured size. */
double nt_prtt_regime_end(const struct nt_point *curve, const struct nt_line *lines, size_t n,
                          size_t k);

#endif
