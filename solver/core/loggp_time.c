/* SPDX-License-Identifier: Apache-2.0 */
#include "loggp_time.h"

#include <math.h>

size_t nt_loggp_regime(const struct nt_loggp *regime, size_t regimes, double bytes)
{
    size_t k = 0;
    while (k + 1 < regimes && bytes > regime[k].max_bytes)
        k++;
    return k;
}

static double known_or_zero(double value)
{
    return isnan(value) ? 0 : value;
}

double nt_loggp_time_us(const struct nt_loggp *regime, size_t regimes, double bytes)
{
    const struct nt_loggp *g = &regime[nt_loggp_regime(regime, regimes, bytes)];
    return known_or_zero(g->o_send_us) + known_or_zero(g->L_us) + known_or_zero(g->o_recv_us) +
           (fmax(bytes, 1) - 1) * g->G_us_per_byte;
}

double nt_loggp_gap_us(const struct nt_loggp *regime, size_t regimes, double bytes)
{
    const struct nt_loggp *g = &regime[nt_loggp_regime(regime, regimes, bytes)];
    double slope = isnan(g->gap_us_per_byte) ? g->G_us_per_byte : g->gap_us_per_byte;
    if (isnan(g->g_us) && isnan(g->gap_us_per_byte))
        return (double)NAN;
    return known_or_zero(g->g_us) + (fmax(bytes, 1) - 1) * slope;
}

bool nt_loggp_is_measured(const struct nt_loggp *regime, size_t regimes, double bytes)
{
    const struct nt_loggp *g = &regime[nt_loggp_regime(regime, regimes, bytes)];
    return bytes >= g->min_bytes && bytes <= g->max_bytes;
}
