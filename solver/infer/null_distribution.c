/* SPDX-License-Identifier: Apache-2.0 */
/* What linkage finds in noise alone. Linkage chooses among all ways to part the hosts, so the
 * largest contrast in a network of one switch grows with their number: a test for one given split
 * would find thousands of false ones. A union bound over the ways covers any choice: with N ways, a
 * normal contrast passes z with a chance below N exp(-z*z/2). */
#include "work.h"

double nt_null_distribution_limit(double ln_ways, double df)
{
    /* ln of the chance of a false split that a test may leave: one in a thousand, and one in a
     * hundred where the hosts are so few that nothing could ever be found */
    const double EVIDENCE = 6.9, FEW_EVIDENCE = 4.6;
    double evidence = df < 12 ? FEW_EVIDENCE : EVIDENCE;
    double x = 2 * (ln_ways + evidence);
    /* the noise is estimated too: Student's tail instead of the normal one */
    return sqrt(df * (exp(x / df > 50 ? 50 : x / df) - 1));
}

double nt_ln_choose(size_t n, size_t k)
{
    double same = n == 2 * k ? M_LN2 : 0; /* either half may be called the first */
    return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) - same;
}
