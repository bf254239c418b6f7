#include "disturbed.h"

#include <math.h>
#include <stdlib.h>

enum { TURNS = 20 }; /* of a fixed point, which is near after a few */

static const float ABOVE = 1.1F; /* times the lowest: noise is less, the next tier more */

int nt_disturbed_init(struct nt_disturbed *d, size_t hosts, struct nt_err *err)
{
    *d = (struct nt_disturbed){.hosts = hosts <= NT_DISTURBED_HOSTS_MAX ? hosts : 0};
    size_t pairs = d->hosts * d->hosts / 2 + 1;
    d->us = calloc(pairs * NT_DISTURBED_READINGS_MAX, sizeof *d->us);
    d->count = calloc(pairs, sizeof *d->count);
    if (d->us != NULL && d->count != NULL)
        return 0;
    nt_disturbed_fini(d);
    return nt_err_set(err, NT_ERR_SYSTEM, "no memory for a sweep of %zu hosts", hosts);
}

void nt_disturbed_fini(struct nt_disturbed *d)
{
    free(d->us);
    free(d->count);
    *d = (struct nt_disturbed){0};
}

void nt_disturbed_note(struct nt_disturbed *d, uint32_t a, uint32_t b, double us)
{
    size_t low = a < b ? a : b, high = a < b ? b : a, pair = high * (high - 1) / 2 + low;
    if (low == high || high >= d->hosts || !(us > 0) || !isfinite(us) ||
        d->count[pair] == NT_DISTURBED_READINGS_MAX)
        return;
    d->us[pair * NT_DISTURBED_READINGS_MAX + d->count[pair]++] = (float)us;
}

/* The lowest reading that another one is near; else the lowest. A clock that jumped makes a single
 * one too low. */
static float lowest_of(const float *us, size_t n)
{
    float lowest = INFINITY, agreed = INFINITY;
    for (size_t i = 0; i < n; i++) {
        lowest = fminf(lowest, us[i]);
        for (size_t j = 0; j < n; j++)
            if (i != j && us[j] >= us[i] && us[j] <= ABOVE * us[i])
                agreed = fminf(agreed, us[i]);
    }
    return isfinite(agreed) ? agreed : lowest;
}

static size_t count_above(const struct nt_disturbed *d, size_t pair)
{
    const float *us = d->us + pair * NT_DISTURBED_READINGS_MAX;
    float limit = ABOVE * lowest_of(us, d->count[pair]);
    size_t above = 0;
    for (size_t k = 0; k < d->count[pair]; k++)
        above += us[k] > limit;
    return above;
}

static size_t pairs_of(const struct nt_disturbed *d)
{
    return d->hosts < 2 ? 0 : d->hosts * (d->hosts - 1) / 2;
}

/* Pairs that are to be expected without a good reading. */
static double pairs_at(const struct nt_disturbed *d, double share)
{
    double expected = 0;
    for (size_t pair = 0; pair < pairs_of(d); pair++)
        expected += d->count[pair] == 0 ? 0 : pow(share, d->count[pair]);
    return expected;
}

/* Where all of a pair were disturbed, the lowest of them does not show. */
double nt_disturbed_share(const struct nt_disturbed *d)
{
    size_t above = 0, all = 0;
    for (size_t pair = 0; pair < pairs_of(d); pair++) {
        above += count_above(d, pair);
        all += d->count[pair];
    }
    double share = all == 0 ? 0 : (double)above / (double)all;
    for (int k = 0; k < TURNS && share > 0; k++)
        share = ((double)above + pairs_at(d, share)) / (double)all;
    return share;
}

double nt_disturbed_pairs(const struct nt_disturbed *d)
{
    return pairs_at(d, nt_disturbed_share(d));
}
