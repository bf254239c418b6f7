/* SPDX-License-Identifier: Apache-2.0 */
#include "fault_odds.h"

#include <math.h>

#define WORSE_MOST 2.08 /* log 8: by which one makes its figure worse at most */

/* Student's density. */
static double density(double t, double df)
{
    double ln = lgamma((df + 1) / 2) - lgamma(df / 2) - 0.5 * log(df * M_PI) -
                (df + 1) / 2 * log1p(t * t / df);
    return exp(ln);
}

double nt_fault_probability(double worse, double sd, double df)
{
    double t = worse / sd;
    if (!(t > 1))
        return 0;
    double sound = (1 - NT_FAULT_PRIOR) * density(t, df), faulty = NT_FAULT_PRIOR * sd / WORSE_MOST;
    return faulty / (faulty + sound);
}
