/* SPDX-License-Identifier: Apache-2.0 */
#include "disturbed.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "memory.h"

enum { TURNS = 20 }; /* of a fixed point, which is near after a few */

static const float ABOVE = 1.1F; /* times the lowest: noise is less, the next tier more */

/* Readings by pairs. */
struct sorted {
    size_t pairs;
    size_t *first; /* pairs + 1: the readings of pair k are us[first[k]..first[k+1]-1] */
    float *us;
    float *lowest; /* of pair k */
    size_t *above; /* readings of it that are well above that, */
    size_t *near;  /* and readings that are near it */
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

/* The lowest reading that another one confirms, else the lowest. After a jump of a clock a single
 * reading is too low. */
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

static bool is_above(float us, float lowest)
{
    return us > ABOVE * lowest;
}

static bool is_near(float us, float lowest)
{
    return !is_above(us, lowest) && us >= lowest;
}

static void classify_readings(struct sorted *s, size_t pair)
{
    const float *us = s->us + s->first[pair];
    size_t n = count_of(s, pair);
    s->lowest[pair] = lowest_of(us, n);
    s->above[pair] = s->near[pair] = 0;
    for (size_t k = 0; k < n; k++) {
        s->above[pair] += is_above(us[k], s->lowest[pair]);
        s->near[pair] += is_near(us[k], s->lowest[pair]);
    }
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
        above += s->above[pair];
        all += count_of(s, pair);
    }
    double share = all == 0 ? 0 : (double)above / (double)all;
    for (int k = 0; k < TURNS && share > 0; k++)
        share = ((double)above + pairs_at(s, share)) / (double)all;
    return share;
}

/* A period in which all readings of a host that can be judged are disturbed. */
struct episode {
    size_t begin; /* the entry after the last undisturbed reading */
    size_t pair;  /* with the first reading well above its pair's lowest since then; */
    bool high;    /* there is one, */
    bool several; /* and another one of another pair */
};

/* Pairs of the host of which all readings that count are from begin to end. inside: an entry for
 * each host. */
static size_t count_inside(const struct nt_latencies *l, const struct sorted *s, uint32_t host,
                           size_t begin, size_t end, size_t *inside)
{
    size_t pairs = 0;
    memset(inside, 0, l->hosts * sizeof *inside);
    for (size_t k = begin; k < end; k++) {
        const struct nt_latency_entry *t = &l->entry[k];
        if (t->a != host && t->b != host)
            continue;
        size_t pair = pair_of(t), other = t->a == host ? t->b : t->a;
        inside[other] += is_near(t->us, s->lowest[pair]);
        pairs += is_near(t->us, s->lowest[pair]) && inside[other] == s->near[pair];
    }
    return pairs;
}

/* Pairs of the host that were read only while it was disturbed. */
static size_t pairs_in_episodes(const struct nt_latencies *l, const struct sorted *s, uint32_t host,
                                size_t *inside)
{
    struct episode e = {0};
    size_t pairs = 0;
    for (size_t k = 0; k <= l->count; k++) {
        const struct nt_latency_entry *t = &l->entry[k];
        if (k < l->count && t->a != host && t->b != host)
            continue;
        size_t pair = k < l->count ? pair_of(t) : s->pairs;
        if (k < l->count && is_above(t->us, s->lowest[pair])) {
            e.several = e.several || (e.high && pair != e.pair);
            e.pair = e.high ? e.pair : pair;
            e.high = true;
        } else if (k == l->count || s->above[pair] > 0) {
            if (e.several)
                pairs += count_inside(l, s, host, e.begin, k, inside);
            e = (struct episode){.begin = k + 1};
        }
    }
    return pairs;
}

static int find(const struct nt_latencies *l, struct nt_disturbed *out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct sorted s = {.pairs = l->hosts * (l->hosts - 1) / 2};
    s.first = nt_arena_array(&memory, s.pairs + 2, sizeof *s.first);
    s.us = nt_arena_array(&memory, l->count + 1, sizeof *s.us);
    s.lowest = nt_arena_array(&memory, s.pairs, sizeof *s.lowest);
    s.above = nt_arena_array(&memory, s.pairs, sizeof *s.above);
    s.near = nt_arena_array(&memory, s.pairs, sizeof *s.near);
    size_t *inside = nt_arena_array(&memory, l->hosts, sizeof *inside);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    sort_by_pair(l, &s);
    for (size_t pair = 0; pair < s.pairs; pair++)
        classify_readings(&s, pair);
    out->share = share_of(&s);
    size_t counted = 0;
    for (uint32_t host = 0; host < l->hosts && out->share > 0; host++)
        counted += pairs_in_episodes(l, &s, host, inside);
    out->pairs = fmax(pairs_at(&s, out->share), (double)counted);
    return 0;
}

int nt_disturbed_find(const struct nt_latencies *l, struct nt_disturbed *out, struct nt_err *err)
{
    *out = (struct nt_disturbed){0};
    return l->hosts < 2 || l->hosts > NT_LATENCIES_LISTED_HOSTS ? 0 : find(l, out, err);
}
