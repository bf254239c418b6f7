/* SPDX-License-Identifier: Apache-2.0 */
/* Latency and throughput of each pair from the times of messages of known sizes (Bufe 2014,
 * section 1.4): OWD(s) = l + s/t.
 *
 * - Two sizes or more: 1/t is the slope of the times (equation 1.5), by least squares if there are
 *   more. A transport changes its protocol with the size, for all pairs at the same one, so the
 *   curve of the medians over all pairs shows where; t is from the largest messages' regime, l from
 *   that of the smallest: l = OWD(s1) - s1/t (equation 1.6). The shortest message's time is the
 *   one whose error, a share of it, is smallest.
 * - One size and a matrix of throughputs: l = OWD(s) - s/t (equation 1.3).
 *
 * Section 2.4 leaves open whether t is the smallest throughput on the path, or switches store
 * messages before they forward them: sum of s/t_i. We take the pair's own t, which is the first.
 * A message of many packets is forwarded packet by packet, also where switches store each: with k
 * links it takes s/t + (k - 1) p/t for a packet of p bytes, of which the second part does not
 * depend on s and belongs to l (at 64 KiB and 4 KiB packets 1/16 of the first for each further
 * link). Slopes assume neither: they are of the pair's own messages. Pure.
 * Tests: test_size_fit.c. */
#ifndef NT_SIZE_FIT_H
#define NT_SIZE_FIT_H

#include <stddef.h>

#include "err.h"
#include "matrix.h"

struct nt_sized {
    const struct nt_matrix *const *latency; /* sizes (at least 1) of them, of the same hosts */
    const double *bytes;                    /* of the messages of each, strictly rising, from 0 */
    size_t sizes;
    const struct nt_matrix *rate; /* with one size: throughput of the pairs; else NULL */
};

struct nt_size_fit {
    struct nt_matrix *latency; /* without the messages' own time; owned */
    struct nt_matrix *rate;    /* throughput, where sizes show it; NULL with one size; owned */
    size_t pairs;              /* with a time of the smallest message, each direction */
    size_t unclear;            /* of them: sizes, or the lack of a rate, do not show l */
    size_t negative;           /* of them: s/t is longer than the whole time; left out */
};

/* A slope counts if its standard error is at most half of it, as in loggp_fit.h. Latencies of
 * unclear pairs are the measured ones with several sizes, and left out with one. */
int nt_size_fit(const struct nt_sized *measured, struct nt_size_fit *out, struct nt_err *err);
void nt_size_fit_fini(struct nt_size_fit *fit);

#endif
