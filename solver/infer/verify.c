/* SPDX-License-Identifier: Apache-2.0 */
#include "verify.h"

#include <math.h>
#include <string.h>

#include "memory.h"
#include "stats.h"

/* ---- offsets of hosts --------------------------------------------------------------------
 *
 * How much longer or shorter the links of single hosts are. The latency of a pair is the latency of
 * its class plus both hosts' offsets. If classes are wider than noise, the cause is such offsets,
 * which the readings then show, or a class that consists of several. Offsets are medians over a
 * host's readings, computed in turns, each shrunk according to the width of the classes. */

enum { ITERATIONS = 6 };

static const double MEDIAN_VARIANCE = 1.5708; /* pi/2: variance of a median over that of a mean */

struct offsets {
    double *us;       /* seats of them */
    double *variance; /* of each, us^2 */
};

struct fit {
    size_t seats;
    const struct nt_readings *readings;
    float *rest;     /* readings: less the class, us */
    uint32_t *first; /* seats + 1: readings of seat k are list[first[k]..first[k+1]-1] */
    uint32_t *list;
    float *scratch;
};

static void list_by_seat(struct fit *f)
{
    const struct nt_readings *r = f->readings;
    for (size_t k = 0; k < r->count; k++) {
        f->first[r->at[k].a + 2]++;
        f->first[r->at[k].b + 2]++;
    }
    for (size_t i = 2; i < f->seats + 2; i++)
        f->first[i] += f->first[i - 1];
    for (size_t k = 0; k < r->count; k++) {
        f->list[f->first[r->at[k].a + 1]++] = (uint32_t)k;
        f->list[f->first[r->at[k].b + 1]++] = (uint32_t)k;
    }
}

/* host: variance that hosts differ by; noise: of one reading. us^2 */
static void adapt_offset(const struct fit *f, uint32_t seat, double host, double noise,
                         struct offsets *o)
{
    size_t n = f->first[seat + 1] - f->first[seat];
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++) {
        size_t k = f->list[f->first[seat] + i];
        const struct nt_pair_reading *r = &f->readings->at[k];
        f->scratch[i] = (float)((double)f->rest[k] - o->us[r->a == seat ? r->b : r->a]);
    }
    double of_median = MEDIAN_VARIANCE * noise / (double)n, weight = host / (host + of_median);
    o->us[seat] = weight * (double)nt_stats_median(f->scratch, n);
    o->variance[seat] = host * (1 - weight);
}

/* All 0 when the classes are no wider than noise, but for slow hosts: theirs are as placed. o:
 * seats of zeros. */
static int fit_offsets(const struct nt_found_tree *c, struct offsets *o, struct nt_err *err)
{
    const struct nt_readings *r = c->readings;
    const struct nt_classes *classes = c->classes;
    double host = classes->spread_us * classes->spread_us / 2;
    double noise = classes->noise * exp(classes->mean[0]);
    NT_SCOPED struct nt_arena memory = {0};
    struct fit f = {.seats = c->seats, .readings = r};
    for (size_t k = 0; k < c->slow->count; k++) {
        o->us[c->slow->host[k].seat] = c->slow->host[k].us;
        o->variance[c->slow->host[k].seat] = c->slow->host[k].variance;
    }
    if (!(host > 0))
        return 0;
    f.rest = nt_arena_array(&memory, r->count + 1, sizeof *f.rest);
    f.first = nt_arena_array(&memory, c->seats + 2, sizeof *f.first);
    f.list = nt_arena_array(&memory, 2 * r->count + 1, sizeof *f.list);
    f.scratch = nt_arena_array(&memory, 2 * r->count + 1, sizeof *f.scratch);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < r->count; k++) {
        size_t class = nt_clusters_meet(c->clusters, r->at[k].a, r->at[k].b);
        f.rest[k] = (float)(exp((double)r->at[k].ln) - exp(classes->mean[class]));
    }
    list_by_seat(&f);
    for (int k = 0; k < ITERATIONS; k++)
        for (uint32_t i = 0; i < c->seats; i++)
            if (!nt_slow_has(c->slow, i))
                adapt_offset(&f, i, host, noise * noise, o);
    return 0;
}

enum { TESTS_LOWEST = 3, TESTS_ABOVE = 2, AGREEING = 3, READINGS_MAX = 9, OUTSIDE = 3 };

static const double OFF_SDS = 4.5, FAR_SDS = 2.5;
static const double BETTER = 6; /* ln of the likelihood of another class over the pair's own */
static const double CHANCE_SDS = 4.5; /* and more where there are more to be off */
static const double AGREE_SDS = 4, MANY_OUTLIERS = 0.03;

void nt_finding_fini(struct nt_finding *f)
{
    nt_arena_fini(&f->memory);
    *f = (struct nt_finding){0};
}

/* ---- evidence of readings ---- */

/* The expected reading of a pair, us, and its relative sd. */
struct expected {
    double us, sd;
};

static struct expected expected_latency(const struct nt_found_tree *c, const struct offsets *o,
                                        const struct nt_pair_reading *r, size_t class,
                                        bool calibrating)
{
    double mean = exp(c->classes->mean[class]), us = mean + o->us[r->a] + o->us[r->b];
    double noise = calibrating ? c->noise : c->classes->noise;
    us = us > mean / 2 ? us : mean / 2;
    return (struct expected){
        us, sqrt(noise * noise + (o->variance[r->a] + o->variance[r->b]) / (us * us))};
}

static bool is_off(const struct nt_found_tree *c, const struct expected *e, size_t class, double ln)
{
    double shift = e->us - exp(c->classes->mean[class]);
    double z = fabs(ln - log(e->us)) / e->sd;
    if (z > OFF_SDS)
        return true;
    for (size_t k = 0; k < c->classes->count; k++) {
        double us = fmax(exp(c->classes->mean[k]) + shift, e->us / 2);
        double other = fabs(ln - log(us)) / e->sd;
        if (k != class && (z * z - other * other) / 2 > BETTER)
            return true;
    }
    return false;
}

/* How many of these are near each other, at most, and their mean. */
static size_t most_agreeing(const double *value, size_t n, double width, double *mean)
{
    size_t most = 0;
    *mean = 0;
    for (size_t i = 0; i < n; i++) {
        size_t near = 0;
        double sum = 0;
        for (size_t j = 0; j < n; j++) {
            bool is = value[j] >= value[i] && value[j] <= value[i] + width;
            near += is;
            sum += is ? value[j] : 0;
        }
        if (near > most) {
            most = near;
            *mean = sum / (double)near;
        }
    }
    return most;
}

/* Whether this number of readings with this mean deviation, in sd of one, exceeds chance for one
 * pair among all: clustering repeats the least certain pairs, and there are many. */
static bool is_beyond_chance(const struct nt_readings *all, size_t n, double mean)
{
    double limit = CHANCE_SDS * CHANCE_SDS + 2 * log((double)all->count + 1);
    return (double)n * mean * mean > limit;
}

enum verdict { FITS, SUSPECT, CONTRADICTS };

/* The mean deviation of the readings of each host at each tier in their sd, without readings that
 * are outliers by themselves. */
struct drift {
    double sum;      /* in sd of a reading */
    double variance; /* of that sum */
    uint32_t count;
    uint32_t partner; /* the last */
};

static void add_drift(struct drift *d, const struct nt_found_tree *c, const struct offsets *o,
                      const struct nt_pair_reading *r, size_t class, const struct expected *e)
{
    double z = ((double)r->ln - log(e->us)) / e->sd;
    const uint32_t end[2] = {r->a, r->b};
    for (int k = 0; k < 2; k++) {
        struct drift *mine = &d[class * c->seats + end[k]];
        double own = o->variance[end[k]] / (e->us * e->us * e->sd * e->sd);
        mine->sum += z;
        mine->variance += 1 + own * (2 * mine->count); /* of k equal parts: k squared */
        mine->count++;
        mine->partner = end[1 - k];
    }
}

/* Off by more than chance makes one of all hosts at all tiers. */
static bool drift_is_significant(const struct nt_found_tree *c, const struct drift *d)
{
    double limit = CHANCE_SDS * CHANCE_SDS + 2 * log((double)(c->classes->count * c->seats) + 1);
    return d->count > 1 && d->sum * d->sum > limit * d->variance;
}

/* The readings of one pair; the latest are enough. Several that are far and agree need not be off
 * one by one. */
static enum verdict judge_pair(const struct nt_found_tree *c, const struct offsets *offsets,
                               const struct nt_readings *all, size_t from, size_t till,
                               struct drift *drift)
{
    double far[READINGS_MAX], widest = 0, mean; /* of ln, less the expected value */
    size_t n = 0, off = 0, class = nt_clusters_meet(c->clusters, all->at[from].a, all->at[from].b);
    size_t needed = c->classes->outliers > MANY_OUTLIERS ? AGREEING + 1 : AGREEING;
    if (till - from > READINGS_MAX)
        from = till - READINGS_MAX;
    for (size_t k = from; k < till; k++) {
        const struct nt_pair_reading *r = &all->at[k];
        struct expected e = expected_latency(c, offsets, r, class, r->turn < all->calibration);
        bool is = is_off(c, &e, class, (double)r->ln);
        widest = fmax(widest, e.sd);
        far[n] = (double)r->ln - log(e.us);
        n += is || fabs(far[n]) > FAR_SDS * e.sd;
        if (!is)
            add_drift(drift, c, offsets, r, class, &e);
        off += is;
    }
    size_t agree = most_agreeing(far, n, AGREE_SDS * widest, &mean), count = till - from;
    if (agree >= needed && 2 * agree > count)
        return is_beyond_chance(all, agree, mean / widest) || count == READINGS_MAX ? CONTRADICTS
                                                                                    : SUSPECT;
    if (off <= count - off || (count > off + 1 && count - off > agree))
        return FITS;
    return count < READINGS_MAX ? SUSPECT : CONTRADICTS;
}

static void count_contradiction(struct nt_finding *f, uint32_t a, uint32_t b)
{
    if (f->contradicting++ == 0)
        f->first = (struct nt_seat_pair){a, b};
    f->contradictions[a]++;
}

static void judge_drift(const struct nt_found_tree *c, const struct drift *d, struct nt_finding *f)
{
    for (size_t k = 0; k < c->classes->count * c->seats; k++)
        if (drift_is_significant(c, &d[k]))
            count_contradiction(f, (uint32_t)(k % c->seats), d[k].partner);
}

/* ---- which pairs were tested ---- */

/* Whether the pair was chosen independently of the result: in verification, or at random in
 * calibration. */
static bool is_fair(const struct nt_readings *all, const struct nt_pair_reading *r)
{
    return r->turn >= all->planning || (r->turn < all->calibration && r->b != r->a + 1);
}

bool nt_verify_needs_all_pairs(const struct nt_found_tree *c)
{
    return c->classes->count == 1 && c->seats <= NT_VERIFY_ALL_SEATS;
}

/* For every host and tier: its possible partners of a test. The largest part of a cluster needs no
 * test with the smaller ones, because otherwise a single host would have to be read with all
 * others. */
static int count_others(const struct nt_found_tree *c, uint32_t *others, uint8_t *want,
                        struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *size = nt_arena_array(&memory, 2 * c->seats + 1, sizeof *size);
    uint8_t lowest = nt_verify_needs_all_pairs(c) ? UINT8_MAX : TESTS_LOWEST;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    uint32_t *below = size + c->seats;
    for (size_t l = 0; l < c->classes->count; l++) {
        memset(size, 0, 2 * c->seats * sizeof *size);
        for (uint32_t i = 0; i < c->seats; i++) {
            size[nt_clusters_find(c->clusters, l, i)] += !c->lost[i];
            below[l > 0 ? nt_clusters_find(c->clusters, l - 1, i) : i] += !c->lost[i];
        }
        for (uint32_t i = 0; i < c->seats; i++) {
            uint32_t own = below[l > 0 ? nt_clusters_find(c->clusters, l - 1, i) : i];
            uint32_t rest = size[nt_clusters_find(c->clusters, l, i)] - own;
            others[l * c->seats + i] = c->lost[i] ? 0 : rest;
            want[l * c->seats + i] = own > rest ? 0 : l == 0 ? lowest : TESTS_ABOVE;
        }
    }
    return 0;
}

/* Counts a pair of hosts that was read at its tier. */
static void note_pair_at_tier(const struct nt_found_tree *c, const struct nt_pair_reading *r,
                              bool fair, uint32_t *others, struct nt_finding *f)
{
    size_t level = nt_clusters_meet(c->clusters, r->a, r->b);
    const uint32_t end[2] = {r->a, r->b};
    for (int k = 0; k < 2; k++) {
        size_t at = level * c->seats + end[k];
        others[at] -= others[at] > 0;
        f->want[at] = (uint8_t)(f->want[at] - (fair && f->want[at] > 0));
    }
}

/* Only of pairs that were not read yet and can be read. */
static void limit_tests(const struct nt_found_tree *c, uint32_t *others, struct nt_finding *f)
{
    const struct nt_readings *all = c->readings;
    const struct nt_pair_reading *before = NULL; /* lists repeat pairs */
    for (size_t k = 0; k < all->failures; before = &all->failure[k++]) {
        const struct nt_pair_reading *r = &all->failure[k];
        bool same = before != NULL && before->a == r->a && before->b == r->b;
        if (!same && !c->lost[r->a] && !c->lost[r->b] && !nt_readings_have(all, r->a, r->b))
            note_pair_at_tier(c, r, false, others, f);
    }
    for (size_t k = 0; k < c->classes->count * c->seats; k++) {
        f->want[k] = (uint8_t)(f->want[k] < others[k] ? f->want[k] : others[k]);
        f->wanted += f->want[k];
    }
}

/* ---- where hosts are attached ---- */

enum { NOBODY = UINT32_MAX };

/* For a host at a tier: the cluster of most of its readings (Boyer and Moore's vote), and the
 * number of the others. */
struct readings_at_tier {
    uint32_t cluster, votes, outside;
};

static void count_vote(const struct nt_found_tree *c, const struct nt_pair_reading *r,
                       struct readings_at_tier *votes)
{
    const uint32_t end[2] = {r->a, r->b};
    for (size_t l = 0; l + 1 < c->classes->count; l++)
        for (int k = 0; k < 2; k++) {
            struct readings_at_tier *mine = &votes[l * c->seats + end[k]];
            uint32_t root = nt_clusters_find(c->clusters, l, end[1 - k]);
            if (mine->votes == 0)
                mine->cluster = root;
            mine->votes = mine->cluster == root ? mine->votes + 1 : mine->votes - 1;
        }
}

static void count_outside(const struct nt_found_tree *c, const struct nt_pair_reading *r,
                          struct readings_at_tier *votes)
{
    const uint32_t end[2] = {r->a, r->b};
    for (size_t l = 0; l + 1 < c->classes->count; l++)
        for (int k = 0; k < 2; k++) {
            struct readings_at_tier *mine = &votes[l * c->seats + end[k]];
            mine->outside += nt_clusters_find(c->clusters, l, end[1 - k]) != mine->cluster;
        }
}

/* Another host outside this cluster, from the next seat on; NOBODY: all are inside. */
static uint32_t find_outsider(const struct nt_found_tree *c, size_t level, uint32_t cluster,
                              uint32_t seat)
{
    for (size_t k = 1; k < c->seats; k++) {
        uint32_t other = (uint32_t)((seat + k) % c->seats);
        if (!c->lost[other] && nt_clusters_find(c->clusters, level, other) != cluster &&
            !nt_readings_failed(c->readings, seat, other))
            return other;
    }
    return NOBODY;
}

/* A host with hardly any readings outside one cluster may be attached to the switch of this cluster
 * by a long link, or above it: the four-point condition needs a pair outside the cluster. */
static void want_outsiders(const struct nt_found_tree *c, const struct nt_readings *all,
                           struct readings_at_tier *votes, struct nt_finding *f)
{
    for (size_t k = 0; k < all->count; k++)
        count_vote(c, &all->at[k], votes);
    for (size_t k = 0; k < all->count; k++)
        count_outside(c, &all->at[k], votes);
    for (size_t l = 0; l + 1 < c->classes->count; l++)
        for (uint32_t i = 0; i < c->seats; i++) {
            const struct readings_at_tier *mine = &votes[l * c->seats + i];
            if (c->lost[i] || mine->outside >= OUTSIDE || mine->votes == 0 ||
                nt_clusters_find(c->clusters, l, i) == mine->cluster)
                continue;
            uint32_t other = find_outsider(c, l, mine->cluster, i);
            if (other != NOBODY)
                f->recheck[f->rechecks++] = (struct nt_seat_pair){i, other};
        }
}

static void judge_all(const struct nt_found_tree *c, const struct offsets *offsets,
                      const struct nt_readings *all, uint32_t *others, struct drift *drift,
                      struct nt_finding *f)
{
    for (size_t k = 0, end; k < all->count; k = end) {
        const struct nt_pair_reading *r = &all->at[k];
        end = nt_readings_next_pair(all, k);
        if (c->lost[r->a] || c->lost[r->b])
            continue;
        bool fair = false;
        for (size_t i = k; i < end; i++)
            fair |= is_fair(all, &all->at[i]);
        note_pair_at_tier(c, r, fair, others, f);
        f->tested += r->turn >= all->planning;
        enum verdict verdict = judge_pair(c, offsets, all, k, end, drift);
        if (verdict == CONTRADICTS) {
            count_contradiction(f, r->a, r->b);
            f->contradictions[r->b]++;
        }
        if (verdict == SUSPECT)
            f->recheck[f->rechecks++] = (struct nt_seat_pair){r->a, r->b};
    }
}

int nt_verify_judge(const struct nt_found_tree *c, struct nt_finding *out, struct nt_err *err)
{
    const struct nt_readings *all = c->readings;
    size_t cells = c->classes->count * c->seats;
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_finding f = {0};
    f.recheck = nt_arena_array(&f.memory, all->count + cells + 1, sizeof *f.recheck);
    f.want = nt_arena_array(&f.memory, cells + 1, sizeof *f.want);
    f.contradictions = nt_arena_array(&f.memory, c->seats + 1, sizeof *f.contradictions);
    uint32_t *others = nt_arena_array(&memory, cells + 1, sizeof *others);
    struct readings_at_tier *votes = nt_arena_array(&memory, cells + 1, sizeof *votes);
    struct drift *drift = nt_arena_array(&memory, cells + 1, sizeof *drift);
    struct offsets offsets = {nt_arena_array(&memory, c->seats + 1, sizeof *offsets.us),
                              nt_arena_array(&memory, c->seats + 1, sizeof *offsets.variance)};
    if (nt_arena_check(&f.memory, err) != 0 || nt_arena_check(&memory, err) != 0 ||
        count_others(c, others, f.want, err) != 0 || fit_offsets(c, &offsets, err) != 0) {
        nt_finding_fini(&f);
        return -1;
    }
    judge_all(c, &offsets, all, others, drift, &f);
    judge_drift(c, drift, &f);
    want_outsiders(c, all, votes, &f);
    limit_tests(c, others, &f);
    *out = f;
    return 0;
}
