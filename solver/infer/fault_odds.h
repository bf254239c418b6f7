/* SPDX-License-Identifier: Apache-2.0 */
/* How probable a fault is, for a figure that is so far from what is usual.
 *
 * One link in fifty has a fault, which makes its figure worse by any factor up to 8 (flat in the
 * logarithm); without one the distance from the class has Student's distribution (Gelman et al.,
 * Bayesian Data Analysis, 3rd ed., 2013, section 3.2). The spread of a class counts as if four more
 * of it had been seen at 2 %. Private to infer/.
 * Tests: test_faults.c. */
#ifndef NT_INFER_FAULT_ODDS_H
#define NT_INFER_FAULT_ODDS_H

#define NT_FAULT_PRIOR 0.02        /* that a link has a fault */
#define NT_FAULT_PRIOR_SPREAD 0.02 /* of links of a class, relative, */
#define NT_FAULT_PRIOR_MEMBERS 4.0 /*   as if seen in so many */
#define NT_FRAME_LEAST_BYTES 40.0  /* a ping with its headers on a cable, of any transport, */
#define NT_FRAME_MOST_BYTES 160.0  /*   up to so many: TCP with its options */

/* worse: logarithm of the figure over the usual one, more is worse; sd: of that without a fault;
 * df: degrees of freedom behind the sd. 0 within one sd. */
double nt_fault_probability(double worse, double sd, double df);

#endif
