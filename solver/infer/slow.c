/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts that may be on a longer link, by the calibration. */
#include "slow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ONE_IN = 8, BAD = 2 };

static const double OFF_SDS = 4;
static const double COVERED = 0.9; /* of a class's pairs: then it is of those hosts alone */

size_t nt_slow_max(size_t seats)
{
    return seats / ONE_IN < NT_SLOW_MAX ? seats / ONE_IN : NT_SLOW_MAX;
}

bool nt_slow_has(const struct nt_slow *slow, uint32_t seat)
{
    bool has = false;
    for (size_t k = 0; k < slow->count; k++)
        has |= slow->host[k].seat == seat;
    return has;
}

bool nt_slow_all_placed(const struct nt_slow *slow)
{
    bool all = true;
    for (size_t k = 0; k < slow->count; k++)
        all &= slow->host[k].placed;
    return all;
}

void nt_slow_add(struct nt_slow *slow, uint32_t seat)
{
    slow->host[slow->count++] = (struct nt_slow_host){.seat = seat};
}

/* ---- classes of few hosts ---------------------------------------------------------------------
 */

struct slow_search {
    const struct nt_calibration *c;
    const struct nt_classes *classes; /* of the mean of two readings */
    uint8_t *class;                   /* of a pair; classes->count: none */
    bool *counted;                    /* a pair, among its class's */
    uint32_t *pairs;                  /* seats: in the class */
    uint32_t *bad;                    /* seats: pairs that indicate that */
    bool own[NT_CLASSES_MAX];         /* the class is of a few hosts alone */
};

static double value_of(const struct nt_double_reading *t)
{
    return ((double)t->first + (double)t->second) / 2;
}

static bool is_pair(const struct slow_search *s, size_t k)
{
    return nt_calibration_agrees(s->c, &s->c->at[k]);
}

static void sort_into_classes(struct slow_search *s)
{
    for (size_t k = 0; k < s->c->count; k++) {
        double sds = 0;
        if (!is_pair(s, k))
            continue;
        size_t class = nt_classes_nearest(s->classes, value_of(&s->c->at[k]), &sds);
        s->class[k] = (uint8_t)(sds < OFF_SDS ? class : s->classes->count);
    }
}

/* The host with most of the class's pairs that are not counted yet. */
static uint32_t busiest_seat(struct slow_search *s, size_t class)
{
    uint32_t best = 0;
    memset(s->pairs, 0, s->c->seats * sizeof *s->pairs);
    for (size_t k = 0; k < s->c->count; k++)
        if (is_pair(s, k) && s->class[k] == class && !s->counted[k]) {
            s->pairs[s->c->at[k].a]++;
            s->pairs[s->c->at[k].b]++;
        }
    for (uint32_t i = 1; i < s->c->seats; i++)
        best = s->pairs[i] > s->pairs[best] ? i : best;
    return best;
}

/* Whether a few hosts have nearly all pairs of a class. */
static bool is_class_of_few(struct slow_search *s, size_t class)
{
    size_t all = 0, covered = 0, few = nt_slow_max(s->c->seats);
    memset(s->counted, 0, s->c->count * sizeof *s->counted);
    for (size_t k = 0; k < s->c->count; k++)
        all += is_pair(s, k) && s->class[k] == class;
    for (size_t n = 0; n < few; n++) {
        uint32_t host = busiest_seat(s, class);
        for (size_t k = 0; k < s->c->count; k++) {
            const struct nt_double_reading *t = &s->c->at[k];
            if (is_pair(s, k) && s->class[k] == class && (t->a == host || t->b == host)) {
                covered += !s->counted[k];
                s->counted[k] = true;
            }
        }
    }
    return (double)covered >= COVERED * (double)all;
}

/* A class of a few hosts alone. The nearest class does not come from long links. */
static void find_own(struct slow_search *s)
{
    size_t lowest = s->classes->count;
    for (size_t l = s->classes->count; l-- > 0;) {
        s->own[l] = is_class_of_few(s, l);
        lowest = s->own[l] ? lowest : l;
    }
    for (size_t l = 0; l < lowest; l++)
        s->own[l] = false;
}

/* A host's pairs that are of no other host's class, but for those with hosts that were found. */
static void count_bad(struct slow_search *s, const struct nt_slow *found)
{
    memset(s->bad, 0, s->c->seats * sizeof *s->bad);
    for (size_t k = 0; k < s->c->count; k++) {
        const struct nt_double_reading *t = &s->c->at[k];
        if (!is_pair(s, k) || nt_slow_has(found, t->a) || nt_slow_has(found, t->b))
            continue;
        bool bad = s->class[k] == s->classes->count || s->own[s->class[k]];
        s->bad[t->a] += bad;
        s->bad[t->b] += bad;
    }
}

/* ---- pairs of two of them ---------------------------------------------------------------------
 */

/* By how much a host's link is longer at least: by what its nearest other host is further than any
 * pair without such hosts. */
static double least_offset(const struct slow_search *s, const struct nt_slow *slow, uint32_t seat,
                           double top_us)
{
    double least = INFINITY;
    for (size_t k = 0; k < s->c->count; k++) {
        const struct nt_double_reading *t = &s->c->at[k];
        uint32_t other = t->a == seat ? t->b : t->a;
        if (is_pair(s, k) && (t->a == seat || t->b == seat) && !nt_slow_has(slow, other))
            least = fmin(least, exp(value_of(t)) - top_us);
    }
    return isfinite(least) && least > 0 ? least : 0;
}

/* Two that are nearer to each other than both their long links let them be: a switch of theirs is
 * far away. */
static bool is_contradictory(const struct slow_search *s, const struct nt_slow *slow)
{
    double top = 0, low = 0, offset[NT_SLOW_MAX];
    for (size_t l = s->classes->count; l-- > 0;)
        if (!s->own[l]) {
            top = fmax(top, exp(s->classes->mean[l]));
            low = exp(s->classes->mean[l]);
        }
    for (size_t k = 0; k < slow->count; k++)
        offset[k] = least_offset(s, slow, slow->host[k].seat, top);
    for (size_t k = 0; k < s->c->count; k++) {
        const struct nt_double_reading *t = &s->c->at[k];
        double sum = low;
        if (!is_pair(s, k) || !nt_slow_has(slow, t->a) || !nt_slow_has(slow, t->b))
            continue;
        for (size_t i = 0; i < slow->count; i++)
            if (slow->host[i].seat == t->a || slow->host[i].seat == t->b)
                sum += offset[i];
        if (value_of(t) < log(sum) - OFF_SDS * s->classes->noise)
            return true;
    }
    return false;
}

/* The worst first: pairs with it do not count for the others. */
static void choose_slow(struct slow_search *s, const bool *lost, struct nt_slow *slow)
{
    struct nt_slow found = {0};
    find_own(s);
    for (;;) {
        uint32_t worst = 0;
        count_bad(s, &found);
        for (uint32_t i = 0; i < s->c->seats; i++)
            worst = !lost[i] && (lost[worst] || s->bad[i] > s->bad[worst]) ? i : worst;
        if (lost[worst] || s->bad[worst] < BAD)
            break;
        if (slow->count + found.count >= nt_slow_max(s->c->seats))
            return;
        nt_slow_add(&found, worst);
    }
    if (is_contradictory(s, &found))
        return;
    for (size_t k = 0; k < found.count; k++)
        nt_slow_add(slow, found.host[k].seat);
}

int nt_slow_find(const struct nt_calibration *c, const struct nt_classes *classes, const bool *lost,
                 struct nt_slow *slow, struct nt_err *err)
{
    struct nt_classes mean = *classes;
    mean.noise /= sqrt(2);
    struct slow_search s = {.c = c,
                            .classes = &mean,
                            .class = calloc(c->count + 1, 1),
                            .counted = calloc(c->count + 1, sizeof *s.counted),
                            .pairs = calloc(2 * c->seats + 1, sizeof *s.pairs)};
    int rc = 0;
    if (s.class == NULL || s.counted == NULL || s.pairs == NULL) {
        rc = nt_err_memory(err);
    } else {
        s.bad = s.pairs + c->seats;
        sort_into_classes(&s);
        choose_slow(&s, lost, slow);
    }
    free(s.class);
    free(s.counted);
    free(s.pairs);
    return rc;
}
