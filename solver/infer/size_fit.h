/* SPDX-License-Identifier: Apache-2.0 */
/* Latency and throughput of each pair from the times of messages of known sizes (Bufe 2014, section
 * 1.4): OWD(s) = l + s/t.
 *
 * - Two sizes or more: 1/t is the slope of the times (equation 1.5), by least squares for more than
 *   two. A transport changes its protocol at the same size for all pairs, and the medians over all
 *   pairs show where. t comes from the regime of the largest messages, l from that of the smallest:
 *   l = OWD(s1) - s1/t (equation 1.6). The shortest message is used because the relative error of
 *   its time is the smallest.
 * - One size and a matrix of throughputs: l = OWD(s) - s/t (equation 1.3).
 *
 * Section 2.4 leaves open whether t is the smallest throughput on the path, or whether switches
 * store messages before they forward them: sum of s/t_i. Here t is the measured throughput of the
 * pair, which is the first case. Switches that store forward a message packet by packet: with k
 * links it takes s/t + (k - 1) p/t for packets of p bytes. The second part does not depend on s and
 * belongs to l (at 64 KiB and 4 KiB packets 1/16 of the first for each further link). Slopes assume
 * neither case, since they are of the pair's own messages. Pure.
 * Tests: test_size_fit.c. */
#ifndef NT_SIZE_FIT_H
#define NT_SIZE_FIT_H

#include <stddef.h>

#include "err.h"
#include "matrix.h"

struct nt_sized {
    const struct nt_matrix *const *latency; /* sizes (at least 1) matrices of the same hosts */
    const double *bytes; /* size of the messages of each, strictly ascending, from 0 */
    size_t sizes;
    const struct nt_matrix *rate; /* with one size: throughputs of the pairs; else NULL */
};

struct nt_size_fit {
    struct nt_matrix *latency; /* without the time for the message's bytes; owned */
    struct nt_matrix *rate;    /* throughput, if the sizes show it; NULL with one size; owned */
    size_t pairs;              /* pairs with a time of the smallest message, per direction */
    size_t unclear;  /* of these, pairs whose sizes, or lack of a throughput, do not determine l */
    size_t negative; /* of these, pairs whose s/t exceeds the whole time; left out */
};

/* A slope is used if its standard error is at most half of it, as in loggp_fit.h. Latencies of
 * unclear pairs are the measured ones with several sizes, and left out with one. The caller frees
 * out with nt_size_fit_fini. */
int nt_size_fit(const struct nt_sized *measured, struct nt_size_fit *out, struct nt_err *err);
void nt_size_fit_fini(struct nt_size_fit *fit);

#endif
