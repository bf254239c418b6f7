/* SPDX-License-Identifier: Apache-2.0 */
/* The parametrised round trip time PRTT(n, d, s) of A. Lichei, "Analysis and Optimization of the
 * Packet Scheduler in Open MPI", Chemnitz 2006, section 3.2.1: n messages of s bytes with d of
 * computing before each but the first, and one message of s bytes back. What the planner
 * (plan/loggp.h) and the fit (infer/loggp_fit.h) both need of it.
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
    double hold_us;        /* after its last send the first end does not poll for so long */
    double time_us, se_us; /* with a hold: from that send's end */
    bool check;            /* held out: for checking a prediction, never for the fit */
};

/* The one-way curve: half of PRTT(1, 0, s) by size, sizes rising, each once with its lowest value
 * (what disturbs only ever adds). sd is what the value is good for: its error, and a share of the
 * value below which no straight line describes a network. Checks and holds are left out, and sizes
 * measured only once that stand out from those on both sides. out: room for n. Returns how many. */
size_t nt_prtt_curve(const struct nt_prtt *m, size_t n, struct nt_point *out);

/* The regimes of a curve: pieces of straight lines over s - 1, at least three sizes each. */
int nt_prtt_regimes(const struct nt_point *curve, size_t n, struct nt_line *out, size_t *lines,
                    struct nt_err *err);

/* The largest size of regime k: where its line crosses the next one's if that is between their
 * sizes, else the geometric mean of those; the last one's largest size. */
double nt_prtt_regime_end(const struct nt_point *curve, const struct nt_line *lines, size_t n,
                          size_t k);

#endif
