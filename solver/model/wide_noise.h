/* SPDX-License-Identifier: Apache-2.0 */
/* Some pairs can have wider noise than the others, for example pairs that were read during a burst
 * of traffic. The differences between the two readings of each pair show it. Their distribution is
 * a mixture of two normal distributions and of the tail, fitted by expectation maximisation
 * (Dempster, Laird, Rubin, 1977). The model has wide noise only if the likelihood gains more than
 * two parameters cost (Schwarz, 1978).
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

/* Half of the square of the least standard score at which nt_wide_noise_log exceeds ln of the
 * density with the usual sd, less near. lever: the share by which a residual is smaller than the
 * error. INFINITY: there is no wide noise. */
double nt_wide_noise_limit(const struct nt_wide_noise *wide, double near, double lever);

#endif
