/* SPDX-License-Identifier: Apache-2.0 */
#include "link_sums.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define SKIP_SHARE 0.5 /* a switch one tier lower than possible has this relative probability */

/* Adds the uplinks of tiers low to high - 1 to times; that of hosts is in the population. */
static void add_chain(uint8_t *times, size_t low, size_t high)
{
    for (size_t s = low == 0 ? 1 : low; s < high; s++)
        times[s]++;
}

static void add_term(struct nt_link_sums *t, struct nt_link_cell *c, double prior,
                     const uint8_t *times)
{
    size_t sum = 0;
    while (sum < t->sums && memcmp(t->times[sum], times, NT_LINK_TIERS) != 0)
        sum++;
    if (c->n == NT_LINK_TERMS || sum == NT_LINK_SUMS)
        return;
    memcpy(t->times[sum], times, NT_LINK_TIERS);
    t->sums = sum == t->sums ? sum + 1 : t->sums;
    c->term[c->n++] = (struct nt_link_term){prior, sum};
}

/* Prior of the lower end of a link from a switch of tier high down. */
static double tier_prior(size_t low, size_t high)
{
    double all = 0;
    if (low == 0)
        return 1;
    for (size_t s = 1; s < high; s++)
        all += pow(SKIP_SHARE, (double)(high - 1 - s));
    return pow(SKIP_SHARE, (double)(high - 1 - low)) / all;
}

void nt_link_sums_init(struct nt_link_sums *t, size_t tiers)
{
    for (size_t low = 0; low <= tiers; low++) {
        for (size_t high = 1; high <= tiers; high++) {
            uint8_t chain[NT_LINK_TIERS] = {0}, direct[NT_LINK_TIERS] = {0};
            bool skips = high > low + 1;
            double prior = high > low ? tier_prior(low, high) : 0;
            add_chain(chain, low, high);
            if (high > low)
                add_term(t, &t->below[low][high], skips ? prior * (1 - NT_LINK_DIRECT) : prior,
                         chain);
            if (skips) {
                add_chain(direct, low, low + 1);
                add_term(t, &t->below[low][high], prior * NT_LINK_DIRECT, direct);
            }
            for (size_t top = (low > high ? low : high) + 1; top <= tiers; top++) {
                uint8_t both[NT_LINK_TIERS] = {0};
                add_chain(both, low, top);
                add_chain(both, high, top);
                add_term(t, &t->over[low][high], tier_prior(low, top) * tier_prior(high, top),
                         both);
            }
        }
        t->of_hosts = low == 0 ? t->sums : t->of_hosts;
    }
    for (size_t high = 1; high <= tiers; high++) {
        struct nt_link_cell *direct = &t->host[1][high];
        *direct = t->host[0][high] = t->below[0][high];
        for (size_t k = 0; k < direct->n; k++)
            direct->term[k].prior = k + 1 == direct->n;
    }
}
