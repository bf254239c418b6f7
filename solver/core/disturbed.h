/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates how often readings are disturbed, and so how many passes over all pairs are needed.
 *
 * Other traffic and processes only ever add to a latency. The lowest of several readings of a pair
 * is right if one of them was not disturbed. If a share q of all readings is disturbed, all k
 * readings of a pair are disturbed with probability q^k. q is estimated from the readings that are
 * well above the lowest of their pair.
 *
 * A slow period of a host or of its link disturbs all readings of the host in that time, so these
 * readings are not independent. Such a period shows if, from one moment to another, all readings of
 * the host that can be judged are well above their lowest. Pairs that were read only during such
 * periods are counted directly. */
#ifndef NT_DISTURBED_H
#define NT_DISTURBED_H

#include "err.h"
#include "latencies.h"

/* readings per pair, both directions together; the first ones are used */
enum { NT_DISTURBED_READINGS_MAX = 12 };

struct nt_disturbed {
    /* Probability that a reading is disturbed: it is at least a tenth above the lowest reading of
     * its pair that another one confirms (above the lowest, if none is confirmed); 0: none */
    double share;
    /* Expected number of measured pairs without any good reading: by share, or as counted in slow
     * periods, whichever is larger */
    double pairs;
};

/* Sets *out. All fields are 0 for more than NT_LATENCIES_LISTED_HOSTS hosts. Time and memory are
 * linear in readings and pairs. */
int nt_disturbed_find(const struct nt_latencies *latencies, struct nt_disturbed *out,
                      struct nt_err *err);

#endif
