/* SPDX-License-Identifier: Apache-2.0 */
#include "disturbed.h"

#include <math.h>
#include <stdlib.h>

enum { TURNS = 20 }; /* of a fixed point, which is near after a few */

static const float ABOVE = 1.1F; /* times the lowest: noise is less, the next tier more */

/* Readings by pairs. */
struct sorted {
    size_t pairs;
    size_t *first; /* pairs + 1: those of pair k are us[first[k]..first[k+1]-1] */
    float *us;
};

static size_t pair_of(const struct nt_latency_entry *t)
{
    size_t low = t->a < t->b ? t->a : t->b, high = t->a < t->b ? t->b : t->a;
    return high * (high - 1) / 2 + low;
}

static void sort_by_pair(const struct nt_latencies *l, struct sorted *s)
{
    for (size_t k = 0; k < l->count; k++)
        s->first[pair_of(&l->entry[k]) + 2]++;
    for (size_t k = 2; k <= s->pairs + 1; k++)
        s->first[k] += s->first[k - 1];
    for (size_t k = 0; k < l->count; k++)
        s->us[s->first[pair_of(&l->entry[k]) + 1]++] = l->entry[k].us;
}

static size_t count_of(const struct sorted *s, size_t pair)
{
    size_t n = s->first[pair + 1] - s->first[pair];
    return n < NT_DISTURBED_READINGS_MAX ? n : NT_DISTURBED_READINGS_MAX;
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

static size_t count_above(const struct sorted *s, size_t pair)
{
    const float *us = s->us + s->first[pair];
    size_t above = 0, n = count_of(s, pair);
    float limit = ABOVE * lowest_of(us, n);
    for (size_t k = 0; k < n; k++)
        above += us[k] > limit;
    return above;
}

/* Pairs that are to be expected without a good reading. */
static double pairs_at(const struct sorted *s, double share)
{
    double expected = 0;
    for (size_t pair = 0; pair < s->pairs; pair++)
        expected += count_of(s, pair) == 0 ? 0 : pow(share, (double)count_of(s, pair));
    return expected;
}

/* Where all of a pair were disturbed, the lowest of them does not show. */
static double share_of(const struct sorted *s)
{
    size_t above = 0, all = 0;
    for (size_t pair = 0; pair < s->pairs; pair++) {
        above += count_above(s, pair);
        all += count_of(s, pair);
    }
    double share = all == 0 ? 0 : (double)above / (double)all;
    for (int k = 0; k < TURNS && share > 0; k++)
        share = ((double)above + pairs_at(s, share)) / (double)all;
    return share;
}

int nt_disturbed_find(const struct nt_latencies *l, struct nt_disturbed *out, struct nt_err *err)
{
    *out = (struct nt_disturbed){0};
    if (l->hosts < 2 || l->hosts > NT_LATENCIES_LISTED_HOSTS)
        return 0;
    struct sorted s = {.pairs = l->hosts * (l->hosts - 1) / 2};
    s.first = calloc(s.pairs + 2, sizeof *s.first);
    s.us = calloc(l->count + 1, sizeof *s.us);
    int rc = 0;
    if (s.first == NULL || s.us == NULL) {
        rc = nt_err_memory(err);
    } else {
        sort_by_pair(l, &s);
        out->share = share_of(&s);
        out->pairs = pairs_at(&s, out->share);
    }
    free(s.first);
    free(s.us);
    return rc;
}
