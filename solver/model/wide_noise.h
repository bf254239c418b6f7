/* SPDX-License-Identifier: Apache-2.0 */
/* Noise that is wider for a part of the pairs, for example of those that were read during a burst
 * of traffic. The differences between the readings of a pair show this: their distribution is a
 * mixture of two normal ones and of the tail, fitted by expectation maximisation (Dempster, Laird,
 * Rubin, 1977). Wide noise is assumed only if its two parameters are worth it (Schwarz, 1978).
 * Tests: test_tiers.c, test_small_groups.c. */
#ifndef NT_WIDE_NOISE_H
#define NT_WIDE_NOISE_H

#include <stddef.h>

struct nt_wide_noise {
    double share;  /* of the pairs; 0: none has wide noise */
    double factor; /* its sd over the usual one */
};

/* differ: differences, 0 or more, between two readings of a pair, of pairs; sd: of a reading; tail:
 * scale of the tail (pairs.h), in the same unit. */
struct nt_wide_noise nt_wide_noise_fit(const float *differ, size_t pairs, double sd, double tail);

/* ln of the odds of wide noise times its density at this distance from the mean; sd: the usual one.
 * -INFINITY: there is none. */
double nt_wide_noise_log(const struct nt_wide_noise *wide, double over, double sd);

/* Half the square of the standard score from which ln of the ratio of this to the density with the
 * usual sd is above -near. lever: as a residual is smaller by this share. INFINITY: never. */
double nt_wide_noise_limit(const struct nt_wide_noise *wide, double near, double lever);

#endif
