/* SPDX-License-Identifier: Apache-2.0 */
#include "prior_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "memory.h"
#include "stats.h"

enum { AGREEING = 3, READINGS_MOST = 7 };

/* Limits for a level: readings within FITS_SDS belong to it; its width is at most WIDTH_NOISES
 * times the noise, and WIDTH_MORE; its distance to the next one. */
static const double FITS_SDS = 4.5, CLEAR = 2, WIDTH_NOISES = 3, WIDTH_MORE = 0.012, GAP_SDS = 5;
static const double SD_LEAST = 0.004;

enum fit { FITS, AGAIN, OFF };

/* The readings of one pair and their result. */
struct pair {
    uint32_t a, b;
    size_t from, till; /* readings */
    float lowest;      /* ln us; of the readings that are used */
};

struct work {
    struct nt_prior_check *b;
    const struct nt_readings *readings;
    size_t pairs;
    struct pair *pair;
    bool *loose, *placed; /* hosts of them */
    size_t *first;        /* hosts + 1: of a host, places in next */
    uint32_t *next;       /* pairs of a host */
};

static void refute(struct nt_prior_check *b, const char *why)
{
    b->verdict = NT_SPARSE_REFUTED;
    if (b->why == NULL)
        b->why = why;
}

static void recheck(struct work *w, const struct pair *p)
{
    w->b->recheck[w->b->rechecks++] = (struct nt_seat_pair){p->a, p->b};
}

/* ---- pairs ---- */

static bool counts(const struct nt_prior_check *b, const struct nt_pair_reading *r)
{
    return 2 * (uint64_t)r->pings >= b->most_pings;
}

/* Those with a reading that counts, of hosts that take part. */
static void list_pairs(struct work *w, const bool *missing)
{
    const struct nt_readings *r = w->readings;
    for (size_t k = 0, end; k < r->count; k = end) {
        struct pair pair = {r->at[k].a, r->at[k].b, k, k, INFINITY};
        pair.till = end = nt_readings_next_pair(r, k);
        if (pair.b >= w->b->hosts || (missing != NULL && (missing[pair.a] || missing[pair.b])))
            continue;
        for (size_t i = k; i < end; i++)
            if (counts(w->b, &r->at[i]))
                pair.lowest = fminf(pair.lowest, r->at[i].ln);
        if (isfinite(pair.lowest))
            w->pair[w->pairs++] = pair;
    }
    for (size_t k = 0; k < w->pairs; k++) {
        w->first[w->pair[k].a + 1]++;
        w->first[w->pair[k].b + 1]++;
    }
    for (size_t h = 0; h < w->b->hosts; h++)
        w->first[h + 1] += w->first[h];
    for (size_t k = w->pairs; k-- > 0;) { /* from behind: first[h + 1] ends where h's begin */
        w->next[--w->first[w->pair[k].a + 1]] = (uint32_t)k;
        w->next[--w->first[w->pair[k].b + 1]] = (uint32_t)k;
    }
    memmove(w->first, w->first + 1, w->b->hosts * sizeof *w->first);
    w->first[w->b->hosts] = 2 * w->pairs;
}

/* ---- latencies of the levels ---- */

static bool is_as_expected(const struct work *w, const struct pair *p)
{
    return !w->b->away[p->a] && !w->b->away[p->b];
}

/* The pairs of a level. The pairs of a host that was read with many, as to place a loose host, have
 * smaller weights. */
static size_t gather(const struct work *w, size_t level, struct nt_weighted *out)
{
    size_t n = 0;
    for (size_t k = 0; k < w->pairs; k++) {
        const struct pair *p = &w->pair[k];
        size_t a = w->first[p->a + 1] - w->first[p->a], b = w->first[p->b + 1] - w->first[p->b];
        if (is_as_expected(w, p) && nt_prior_check_meet(w->b, p->a, p->b) == level)
            out[n++] = (struct nt_weighted){p->lowest, 1.0F / (float)(a > b ? a : b)};
    }
    return n;
}

/* 1.4826 times the median distance. */
static double width_of(struct nt_weighted *value, size_t n, double middle)
{
    for (size_t k = 0; k < n; k++)
        value[k].value = fabsf(value[k].value - (float)middle);
    return NT_SD_OF_MEDIAN * (double)nt_stats_weighted_median(value, n);
}

/* Pairs of hosts at each level, and how many of them have to be read. */
static size_t pairs_wanted(const struct nt_prior_check *b, size_t level, size_t *size)
{
    size_t pairs = 0;
    memset(size, 0, 2 * b->hosts * sizeof *size);
    for (uint32_t h = 0; h < b->hosts; h++)
        if (!b->away[h])
            pairs += size[nt_prior_check_cluster(b, level, h)]++;
    memset(size, 0, 2 * b->hosts * sizeof *size);
    for (uint32_t h = 0; level > 0 && h < b->hosts; h++)
        if (!b->away[h])
            pairs -= size[nt_prior_check_cluster(b, level - 1, h)]++;
    return pairs < NT_PRIOR_CHECK_PAIRS_PER_LEVEL ? pairs : NT_PRIOR_CHECK_PAIRS_PER_LEVEL;
}

/* The middle of each level's pairs, and how wide they lie about it. Disturbed readings lie above
 * it, and a few of other levels anywhere: medians do not see them. */
static int find_levels(struct work *w, double noise, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_prior_check *b = w->b;
    struct nt_weighted *value = nt_arena_array(&memory, w->pairs + 1, sizeof *value);
    struct nt_weighted *off = nt_arena_array(&memory, w->pairs + 1, sizeof *off);
    size_t *size = nt_arena_array(&memory, 2 * b->hosts + 1, sizeof *size);
    size_t offs = 0;
    if (nt_arena_check(&memory, err) < 0)
        return -1;
    double least = fmax(noise, SD_LEAST), most = WIDTH_NOISES * least + WIDTH_MORE;
    b->unread = 0;
    b->wide = false;
    for (size_t l = 0; l < b->levels; l++) {
        size_t n = gather(w, l, value), wanted = pairs_wanted(b, l, size);
        b->pairs[l] = n;
        b->wanted[l] = wanted;
        b->unread += n < wanted ? wanted - n : 0;
        b->ln[l] = n > 0 && n >= wanted ? (double)nt_stats_weighted_median(value, n) : NAN;
        if (isnan(b->ln[l]))
            continue;
        double width = width_of(value, n, b->ln[l]);
        memcpy(off + offs, value, n * sizeof *off);
        offs += n;
        b->wide |= n >= NT_PRIOR_CHECK_PAIRS_PER_LEVEL && width > most;
    }
    double sd = offs > 0 ? NT_SD_OF_MEDIAN * (double)nt_stats_weighted_median(off, offs) : least;
    b->sd = fmin(fmax(sd, least), most);
    return 0;
}

static void check_levels(struct nt_prior_check *b)
{
    double below = NAN;
    if (b->wide)
        refute(b, "hosts that were taken for one group are not");
    for (size_t l = 0; l < b->levels; l++) {
        if (isnan(b->ln[l]))
            continue;
        if (b->ln[l] - below < GAP_SDS * b->sd) /* false for the first */
            refute(b, "its tiers do not show in the latencies");
        below = b->ln[l];
    }
}

/* ---- the result of a pair ------------------------------------------------------------------- */

/* The level nearest to a reading, and the distance in sd from the given level. */
static size_t nearest(const struct nt_prior_check *b, double ln, size_t level, double *own,
                      double *best)
{
    size_t near = level;
    *own = isnan(b->ln[level]) ? INFINITY : (ln - b->ln[level]) / b->sd;
    *best = *own;
    for (size_t l = 0; l < b->levels; l++)
        if (fabs((ln - b->ln[l]) / b->sd) < fabs(*best)) { /* false for NaN */
            *best = (ln - b->ln[l]) / b->sd;
            near = l;
        }
    return near;
}

/* A reading that is too high may be a late one, if another one fits. */
static enum fit fit_pair(const struct work *w, const struct pair *p, size_t level)
{
    size_t fits = 0, high = 0, low = 0, n = 0;
    if (isnan(w->b->ln[level]))
        return FITS; /* that level is still to be read */
    for (size_t k = p->from; k < p->till; k++) {
        double own, best;
        if (!counts(w->b, &w->readings->at[k]))
            continue;
        nearest(w->b, (double)w->readings->at[k].ln, level, &own, &best);
        bool is = fabs(own) < FITS_SDS && own * own - best * best < CLEAR;
        fits += is;
        high += !is && own > 0;
        low += !is && own < 0;
        n++;
    }
    if (fits > low && 2 * fits >= high)
        return FITS;
    bool off = (high >= AGREEING || low >= AGREEING) && 2 * fits < high + low;
    return off || n >= READINGS_MOST ? OFF : AGAIN;
}

/* The level that the readings of a pair are of; -1: not clear, -2: of none. */
static int level_of(const struct work *w, const struct pair *p)
{
    int found = -2;
    bool again = false;
    for (size_t l = 0; l < w->b->levels; l++) {
        if (isnan(w->b->ln[l]))
            continue;
        enum fit fit = fit_pair(w, p, l);
        again |= fit == AGAIN;
        if (fit == FITS && found >= 0)
            return -1;
        if (fit == FITS)
            found = (int)l;
    }
    return found == -2 && again ? -1 : found;
}

/* ---- contradictions ---- */

struct blame {
    uint32_t off, fits;
};

/* The host with most contradictions; among equal ones the host that fits least. */
static uint32_t find_blamed(const struct nt_prior_check *b, const struct blame *blame)
{
    uint32_t worst = UINT32_MAX;
    for (uint32_t h = 0; h < b->hosts; h++)
        if (blame[h].off > 0 &&
            (worst == UINT32_MAX || blame[h].off > blame[worst].off ||
             (blame[h].off == blame[worst].off && blame[h].fits < blame[worst].fits)))
            worst = h;
    return worst;
}

static void loosen(struct work *w, uint32_t host, struct blame *blame, const uint8_t *fit)
{
    w->loose[host] = w->b->away[host] = true;
    w->b->loose++;
    w->b->contradicted++;
    for (size_t k = w->first[host]; k < w->first[host + 1]; k++) {
        const struct pair *p = &w->pair[w->next[k]];
        uint32_t other = p->a == host ? p->b : p->a;
        if (w->b->away[other] || fit[w->next[k]] != OFF)
            continue;
        blame[other].off--;
    }
    blame[host].off = 0;
}

/* If two hosts contradict each other and the readings do not show which one moved, both become
 * loose. */
static void loosen_blamed(struct work *w, struct blame *blame, const uint8_t *fit)
{
    size_t most = w->b->hosts / 4 + 2;
    for (uint32_t h; (h = find_blamed(w->b, blame)) != UINT32_MAX;) {
        uint32_t alike = UINT32_MAX;
        for (size_t k = w->first[h]; k < w->first[h + 1]; k++) {
            const struct pair *p = &w->pair[w->next[k]];
            uint32_t other = p->a == h ? p->b : p->a;
            if (!w->b->away[other] && fit[w->next[k]] == OFF && blame[other].off == blame[h].off &&
                blame[other].fits == blame[h].fits)
                alike = other;
        }
        loosen(w, h, blame, fit);
        if (alike != UINT32_MAX)
            loosen(w, alike, blame, fit);
        if (w->b->contradicted > most) {
            refute(w->b, "too many hosts are elsewhere");
            return;
        }
    }
}

static int judge_pairs(struct work *w, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct blame *blame = nt_arena_array(&memory, w->b->hosts + 1, sizeof *blame);
    uint8_t *fit = nt_arena_array(&memory, w->pairs + 1, sizeof *fit);
    if (nt_arena_check(&memory, err) < 0)
        return -1;
    for (size_t k = 0; k < w->pairs; k++) {
        const struct pair *p = &w->pair[k];
        if (!is_as_expected(w, p))
            continue;
        fit[k] = (uint8_t)fit_pair(w, p, nt_prior_check_meet(w->b, p->a, p->b));
        w->b->verified += fit[k] == FITS;
        w->b->against += fit[k] == OFF;
        const uint32_t end[2] = {p->a, p->b};
        for (int i = 0; i < 2; i++) {
            blame[end[i]].off += fit[k] == OFF;
            blame[end[i]].fits += fit[k] == FITS;
        }
    }
    loosen_blamed(w, blame, fit);
    for (size_t k = 0; k < w->pairs; k++)
        if (is_as_expected(w, &w->pair[k]) && fit[k] == AGAIN)
            recheck(w, &w->pair[k]);
    return 0;
}

/* A host cannot be read with more pairs of clusters than this in a few rounds: then the prior saves
 * nothing. */
static const double APART_A_HOST = 40, APART_MORE = 4096;

/* A loose host is on a switch if this number of its hosts show it, and elsewhere if this number of
 * hosts of each switch do (or all of them): one reading may belong to any level by accident. */
enum { MATES = 2 };

/* ---- a loose host ---- */

/* A step of the descent: the clusters below one cluster, and the readings of the host with them. */
struct step {
    size_t level;     /* that the clusters are below */
    uint32_t inside;  /* a host of the cluster that contains it; UINT32_MAX: unknown */
    uint32_t untried; /* a host of the largest cluster that it was not read with; UINT32_MAX */
    size_t largest, mates;
    bool mixed; /* it is in two of them, or in none of the whole */
};

static bool is_below(const struct nt_prior_check *b, size_t level, uint32_t in, uint32_t host)
{
    return !b->away[host] && (level + 1 >= b->levels || nt_prior_check_cluster(b, level, host) ==
                                                            nt_prior_check_cluster(b, level, in));
}

static uint32_t below(const struct nt_prior_check *b, size_t level, uint32_t host)
{
    return level == 0 ? host : nt_prior_check_cluster(b, level - 1, host);
}

/* state[cluster]: how many of it the host was read outside with. Readings that are not clear are to
 * be repeated. */
static void count_readings(struct work *w, uint32_t host, uint32_t in, uint8_t *state,
                           struct step *s)
{
    struct nt_prior_check *b = w->b;
    for (size_t k = w->first[host]; k < w->first[host + 1]; k++) {
        const struct pair *p = &w->pair[w->next[k]];
        uint32_t other = p->a == host ? p->b : p->a;
        if (!is_below(b, s->level, in, other))
            continue;
        int level = level_of(w, p);
        uint32_t c = below(b, s->level, other);
        if (level == -1)
            recheck(w, p);
        if (level == -2 || level > (int)s->level)
            s->mixed = true;
        if (level < 0 || level > (int)s->level)
            continue;
        s->mates += s->level == 0;
        if (level == (int)s->level) {
            state[c] = (uint8_t)(state[c] + (state[c] < MATES));
            continue;
        }
        s->mixed |= s->inside != UINT32_MAX && below(b, s->level, s->inside) != c;
        s->inside = other;
    }
    s->mixed |= s->inside != UINT32_MAX && state[below(b, s->level, s->inside)] > 0;
}

/* Whether the host was read with the other. */
static const struct pair *pair_of(const struct work *w, uint32_t host, uint32_t other)
{
    for (size_t k = w->first[host]; k < w->first[host + 1]; k++) {
        const struct pair *p = &w->pair[w->next[k]];
        if (p->a == other || p->b == other)
            return p;
    }
    return NULL;
}

/* A host of the largest cluster that the host was read outside with fewest of. */
static void find_untried(const struct work *w, uint32_t host, uint32_t in, const uint8_t *state,
                         size_t *size, struct step *s)
{
    const struct nt_prior_check *b = w->b;
    uint8_t fewest = MATES;
    memset(size, 0, 2 * b->hosts * sizeof *size);
    for (uint32_t h = 0; h < b->hosts; h++) {
        uint32_t c = is_below(b, s->level, in, h) ? below(b, s->level, h) : 0;
        if (!is_below(b, s->level, in, h) || state[c] >= MATES || pair_of(w, host, h) != NULL)
            continue;
        if (state[c] > fewest || (++size[c] <= s->largest && state[c] == fewest))
            continue;
        fewest = state[c];
        s->largest = size[c];
        s->untried = h;
    }
}

/* Reads the host again with a cluster of one host from which it was read apart. */
static void repeat_single(struct work *w, uint32_t host, uint32_t in, const uint8_t *state,
                          const struct step *s)
{
    struct nt_prior_check *b = w->b;
    for (uint32_t h = 0; h < b->hosts; h++) {
        if (!is_below(b, s->level, in, h) || state[below(b, s->level, h)] != 1)
            continue;
        const struct pair *p = pair_of(w, host, h);
        if (p != NULL && p->till - p->from < MATES)
            recheck(w, p);
    }
}

/* All readings of a host that are not of several yet: false when there are none. */
static bool repeat_all(struct work *w, uint32_t host)
{
    size_t had = w->b->rechecks;
    for (size_t k = w->first[host]; k < w->first[host + 1]; k++) {
        const struct pair *p = &w->pair[w->next[k]];
        if (p->till - p->from <= MATES && !w->b->away[p->a == host ? p->b : p->a])
            recheck(w, p);
    }
    return w->b->rechecks > had;
}

static void request_pair(struct nt_prior_check *b, uint32_t host, uint32_t other)
{
    b->request[b->requests++] = (struct nt_seat_pair){host, other};
}

/* Beside that host at and above the level, alone below it. */
static void place_at(struct work *w, uint32_t host, uint32_t beside, size_t level)
{
    struct nt_prior_check *b = w->b;
    for (size_t l = 0; l + 1 < b->levels; l++)
        b->cluster[l * b->hosts + host] =
            l < level ? (uint32_t)(b->hosts + host) : nt_prior_check_cluster(b, l, beside);
    b->away[host] = false;
    w->placed[host] = true;
}

/* Down from the cluster at the top, as far as readings go. */
static void place_host(struct work *w, uint32_t host, uint32_t in, uint8_t *state, size_t *size)
{
    struct nt_prior_check *b = w->b;
    for (size_t level = b->levels; level-- > 0;) {
        struct step s = {.level = level, .inside = UINT32_MAX, .untried = UINT32_MAX};
        size_t had = b->rechecks;
        memset(state, 0, 2 * b->hosts);
        count_readings(w, host, in, state, &s);
        if (s.mixed) {
            if (!repeat_all(w, host))
                refute(b, "a host fits nowhere");
            return;
        }
        if (level > 0 && s.inside != UINT32_MAX) {
            in = s.inside;
            continue;
        }
        bool enough = level == 0 && s.mates >= MATES;
        if (!enough)
            find_untried(w, host, in, state, size, &s);
        if (!enough && s.untried == UINT32_MAX && level > 0)
            repeat_single(w, host, in, state, &s);
        if (s.untried != UINT32_MAX)
            request_pair(b, host, s.untried);
        else if (b->rechecks == had)
            place_at(w, host, in, level);
        return;
    }
}

/* Places loose hosts as far as the readings show; plans readings for the others. */
static void place_loose(struct work *w)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_prior_check *b = w->b;
    uint8_t *state = nt_arena_array(&memory, 2 * b->hosts + 1, sizeof *state);
    size_t *size = nt_arena_array(&memory, 2 * b->hosts + 1, sizeof *size);
    uint32_t in = 0;
    if (b->loose == 0)
        return;
    for (size_t l = 0; l < b->levels; l++)
        if (isnan(b->ln[l]))
            return; /* levels first */
    while (in < b->hosts && b->away[in])
        in++;
    if (in == b->hosts || state == NULL || size == NULL) {
        refute(b, "most hosts are not known");
        return;
    }
    for (uint32_t h = 0; h < b->hosts && b->verdict != NT_SPARSE_REFUTED; h++)
        if (w->loose[h])
            place_host(w, h, in, state, size);
}

/* ---- connected and apart ----------------------------------------------------------------- */

static uint64_t pair_key(const struct nt_prior_check *b, size_t level, uint32_t x, uint32_t y)
{
    uint64_t p = below(b, level, x), q = below(b, level, y);
    uint64_t low = p < q ? p : q, high = p < q ? q : p;
    return (uint64_t)level << 60 | low << 30 | high;
}

bool nt_prior_check_is_apart(const struct nt_prior_check *b, uint32_t x, uint32_t y)
{
    uint64_t key = pair_key(b, nt_prior_check_meet(b, x, y), x, y);
    return b->apart > 0 &&
           bsearch(&key, b->apart_key, b->apart, sizeof key, nt_compare_u64) != NULL;
}

/* Pairs that fit connect the hosts of a switch, or show that clusters are apart. */
static void record_fits(struct work *w)
{
    struct nt_prior_check *b = w->b;
    for (size_t k = 0; k < w->pairs; k++) {
        const struct pair *p = &w->pair[k];
        if (b->away[p->a] || b->away[p->b])
            continue;
        size_t level = nt_prior_check_meet(b, p->a, p->b);
        enum fit fit = fit_pair(w, p, level);
        bool was_loose = w->placed[p->a] || w->placed[p->b];
        if (fit == OFF && was_loose)
            refute(b, "a host fits nowhere");
        if (fit == AGAIN && was_loose)
            recheck(w, p);
        if (fit != FITS)
            continue;
        if (level == 0)
            nt_sets_join(b->joined, p->a, p->b);
        if (level > 0 || b->levels == 1)
            b->apart_key[b->apart++] = pair_key(b, level, p->a, p->b);
    }
}

static void sort_apart(struct nt_prior_check *b)
{
    size_t kept = 0;
    if (b->apart > 0)
        qsort(b->apart_key, b->apart, sizeof *b->apart_key, nt_compare_u64);
    for (size_t k = 0; k < b->apart; k++)
        if (kept == 0 || b->apart_key[kept - 1] != b->apart_key[k])
            b->apart_key[kept++] = b->apart_key[k];
    b->apart = kept;
}

/* Pairs of clusters below one, over all of a level: parts[] by the cluster above. */
static double pairs_of_clusters(const struct nt_prior_check *b, size_t level, size_t *parts,
                                bool *seen)
{
    double pairs = 0;
    memset(parts, 0, 2 * b->hosts * sizeof *parts);
    memset(seen, 0, 2 * b->hosts);
    for (uint32_t h = 0; h < b->hosts; h++) {
        uint32_t own = below(b, level, h);
        if (b->away[h] || seen[own])
            continue;
        seen[own] = true;
        pairs += (double)parts[nt_prior_check_cluster(b, level, h)]++;
    }
    return pairs;
}

static void count_unjoined(struct nt_prior_check *b, bool *seen)
{
    memset(seen, 0, 2 * b->hosts);
    for (uint32_t h = 0; h < b->hosts; h++) {
        b->joined[h] = nt_sets_find(b->joined, h);
        if (b->away[h])
            continue;
        uint32_t cluster = nt_prior_check_cluster(b, 0, h);
        b->unjoined += b->joined[h] == h; /* one less a cluster, */
        b->unjoined -= !seen[cluster];
        seen[cluster] = true;
    }
}

/* Finds which hosts are connected and which clusters are apart, and how much is open. */
static int cover_pairs(struct work *w, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_prior_check *b = w->b;
    size_t *parts = nt_arena_array(&memory, 2 * b->hosts + 1, sizeof *parts);
    bool *seen = nt_arena_array(&memory, 2 * b->hosts + 1, sizeof *seen);
    double pairs = 0;
    if (nt_arena_check(&memory, err) < 0)
        return -1;
    nt_sets_init(b->joined, b->hosts);
    record_fits(w);
    sort_apart(b);
    count_unjoined(b, seen);
    bool all = b->levels == 1 && b->hosts <= NT_VERIFY_ALL_SEATS;
    for (size_t l = all ? 0 : 1; l < b->levels; l++)
        pairs += pairs_of_clusters(b, l, parts, seen);
    if (pairs > APART_A_HOST * (double)b->hosts + APART_MORE)
        refute(b, "it has too many switches for so few hosts");
    if (pairs > (double)b->apart && (b->levels > 1 || all))
        b->unread += (size_t)pairs - b->apart;
    return 0;
}

/* ---- all of it ---- */

static int work_init(struct work *w, const struct nt_belief *belief,
                     const struct nt_readings *readings, struct nt_arena *scratch,
                     struct nt_err *err)
{
    struct nt_prior_check *b = w->b;
    size_t n = belief->hosts, rows = belief->levels > 1 ? belief->levels - 1 : 0;
    b->hosts = n;
    b->levels = belief->levels;
    b->cluster = nt_arena_array(&b->memory, rows * n + 1, sizeof *b->cluster);
    b->away = nt_arena_array(&b->memory, n + 1, sizeof *b->away);
    b->recheck = nt_arena_array(&b->memory, 2 * readings->count + n + 1, sizeof *b->recheck);
    b->request = nt_arena_array(&b->memory, 2 * n + 1, sizeof *b->request);
    b->joined = nt_arena_array(&b->memory, n + 1, sizeof *b->joined);
    b->apart_key = nt_arena_array(&b->memory, readings->count + 1, sizeof *b->apart_key);
    w->readings = readings;
    w->pair = nt_arena_array(scratch, readings->count + 1, sizeof *w->pair);
    w->loose = nt_arena_array(scratch, n + 1, sizeof *w->loose);
    w->placed = nt_arena_array(scratch, n + 1, sizeof *w->placed);
    w->first = nt_arena_array(scratch, n + 2, sizeof *w->first);
    w->next = nt_arena_array(scratch, 2 * readings->count + 1, sizeof *w->next);
    if (nt_arena_check(&b->memory, err) < 0 || nt_arena_check(scratch, err) < 0)
        return -1;
    memcpy(b->cluster, belief->cluster, rows * n * sizeof *b->cluster);
    return 0;
}

static void find_loose(struct work *w, const bool *missing)
{
    struct nt_prior_check *b = w->b;
    size_t present = 0;
    for (uint32_t h = 0; h < b->hosts; h++) {
        bool gone = missing != NULL && missing[h];
        w->loose[h] = b->levels > 1 && b->cluster[h] == NT_BELIEF_LOOSE;
        b->away[h] = gone || w->loose[h];
        present += !gone;
        b->loose += !gone && w->loose[h];
    }
    if (b->levels == 0 || 2 * b->loose > present)
        refute(b, "most hosts are not known");
    for (size_t k = 0; k < w->readings->count; k++)
        if (w->readings->at[k].pings > b->most_pings)
            b->most_pings = w->readings->at[k].pings;
}

static void decide(struct nt_prior_check *b)
{
    bool open = b->rechecks > 0 || b->requests > 0 || b->unjoined > 0 || b->unread > 0;
    if (b->verdict != NT_SPARSE_REFUTED)
        b->verdict = open ? NT_SPARSE_OPEN : NT_SPARSE_SOUND;
}

int nt_prior_check_run(const struct nt_belief *belief, const bool *missing,
                       struct nt_readings *readings, double noise, struct nt_prior_check *out,
                       struct nt_err *err)
{
    NT_SCOPED struct nt_arena scratch = {0};
    struct nt_prior_check b = {0};
    struct work w = {.b = &b};
    nt_readings_sort(readings);
    int rc = work_init(&w, belief, readings, &scratch, err);
    if (rc == 0) {
        find_loose(&w, missing);
        list_pairs(&w, missing);
        rc = find_levels(&w, noise, err);
    }
    if (rc == 0)
        rc = judge_pairs(&w, err);
    if (rc == 0 && b.contradicted > 0) /* without contradicted hosts */
        rc = find_levels(&w, noise, err);
    if (rc == 0)
        check_levels(&b);
    if (rc == 0 && b.verdict != NT_SPARSE_REFUTED)
        place_loose(&w);
    if (rc == 0 && b.verdict != NT_SPARSE_REFUTED)
        rc = cover_pairs(&w, err);
    if (rc < 0) {
        nt_prior_check_fini(&b);
        return -1;
    }
    for (uint32_t h = 0; missing != NULL && h < b.hosts; h++)
        b.away[h] |= missing[h];
    decide(&b);
    *out = b;
    return 0;
}

void nt_prior_check_fini(struct nt_prior_check *b)
{
    nt_arena_fini(&b->memory);
    *b = (struct nt_prior_check){0};
}

/* ---- the result ----------------------------------------------------------------------------- */

static int unite_clusters(const struct nt_prior_check *b, struct nt_clusters *out,
                          struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *first = nt_arena_array(&memory, 2 * b->hosts + 1, sizeof *first);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t l = 0; l + 1 < b->levels; l++) {
        memset(first, 0xff, (2 * b->hosts + 1) * sizeof *first);
        for (uint32_t h = 0; h < b->hosts; h++) {
            uint32_t c = nt_prior_check_cluster(b, l, h);
            if (b->away[h])
                continue;
            if (first[c] == UINT32_MAX)
                first[c] = h;
            nt_clusters_unite(out, l, first[c], h);
        }
    }
    return 0;
}

/* Without a calibration: the usual share of outliers, and the share of these that is too low, since
 * most are late. */
static const double OUTLIERS = 0.01, LOW_SHARE = 0.25;

static struct nt_classes classes_of(const struct nt_prior_check *b)
{
    double all = 0;
    struct nt_classes out = {
        .count = b->levels, .noise = b->sd, .outliers = OUTLIERS, .low_share = LOW_SHARE};
    for (size_t l = 0; l < b->levels; l++)
        all += (double)b->pairs[l];
    for (size_t l = 0; l < b->levels; l++) {
        out.mean[l] = b->ln[l];
        out.weight[l] = all > 0 ? (double)b->pairs[l] / all : 1;
    }
    return out;
}

int nt_prior_check_sparse(const struct nt_prior_check *b, const bool *missing,
                          const struct nt_readings *readings, struct nt_sparse *out,
                          struct nt_err *err)
{
    const struct nt_classes classes = classes_of(b);
    if (b->verdict != NT_SPARSE_SOUND)
        return nt_err_set(err, NT_ERR_INPUT, "the prior of this network is not verified");
    if (nt_sparse_init_known(out, b->hosts, missing, &classes, err) < 0)
        return -1;
    int rc = unite_clusters(b, &out->clustering.clusters, err);
    for (size_t k = 0; rc == 0 && k < readings->count; k++) {
        const struct nt_pair_reading *r = &readings->at[k];
        rc = nt_readings_add(&out->readings, r->a, r->b, r->pings, r->ln, err);
        if (rc == 0)
            rc = nt_readings_add(&out->ledger, r->a, r->b, 0, r->ln, err);
        out->random_pairs +=
            k + 1 == readings->count || nt_readings_next_pair(readings, k) == k + 1;
    }
    if (rc < 0)
        nt_sparse_fini(out);
    return rc;
}

/* ---- the network of the prior ------------------------------------------------------------ */

enum { NONE = UINT32_MAX };

struct draft {
    const struct nt_belief *b;
    const bool *missing;
    const uint32_t *order;
    uint32_t *top;    /* hosts: the highest vertex above it so far; itself */
    uint32_t *first;  /* by cluster: the vertex of its first part */
    uint32_t *at;     /* by cluster: its switch, where it has several parts */
    double *us;       /* vertices: latency of a pair that meets there; of a host 0 */
    uint32_t *parent; /* vertices; NONE */
    double *up_us;    /* vertices: of the link to the parent */
    size_t switches;
};

static uint32_t cluster_of(const struct draft *d, size_t level, size_t host)
{
    return level + 1 < d->b->levels ? d->b->cluster[level * d->b->hosts + d->order[host]] : 0;
}

/* A switch for each cluster of the level that has several parts. */
static void add_level(struct draft *d, size_t level)
{
    size_t n = d->b->hosts;
    memset(d->first, 0xff, n * sizeof *d->first);
    memset(d->at, 0xff, n * sizeof *d->at);
    for (size_t k = 0; k < n; k++) {
        uint32_t c = cluster_of(d, level, k);
        if (d->missing[d->order[k]])
            continue;
        if (d->first[c] == NONE)
            d->first[c] = d->top[k];
        else if (d->first[c] != d->top[k] && d->at[c] == NONE)
            d->at[c] = (uint32_t)(n + d->switches++);
    }
    for (size_t k = 0; k < n; k++) {
        uint32_t s = d->missing[d->order[k]] ? NONE : d->at[cluster_of(d, level, k)];
        if (s == NONE)
            continue;
        d->us[s] = d->b->us[level];
        d->up_us[d->top[k]] = (d->us[s] - d->us[d->top[k]]) / 2;
        d->parent[d->top[k]] = s;
        d->top[k] = s;
    }
}

static bool is_whole(const struct draft *d)
{
    size_t present = 0;
    for (size_t h = 0; h < d->b->hosts; h++) {
        present += !d->missing[h];
        if (!d->missing[h] && d->b->levels > 1 && d->b->cluster[h] == NT_BELIEF_LOOSE)
            return false;
    }
    return present > 1;
}

/* Removes a root with two links, one of them to a switch: only the sum of both is determined. */
static void remove_root(struct draft *d)
{
    uint32_t top = (uint32_t)(d->b->hosts + d->switches - 1), part[2] = {NONE, NONE};
    size_t parts = 0;
    for (uint32_t v = 0; v < top; v++)
        if (d->parent[v] == top && parts++ < 2)
            part[parts - 1] = v;
    if (parts != 2 || part[1] < d->b->hosts)
        return;
    d->up_us[part[0]] += d->up_us[part[1]];
    d->parent[part[0]] = part[1];
    d->parent[part[1]] = NONE;
    d->switches--;
}

static int make_model(const struct draft *d, struct nt_model **out, struct nt_err *err)
{
    size_t n = d->b->hosts, vertices = n + d->switches, links = 0;
    struct nt_model *m;
    for (size_t v = 0; v < vertices; v++)
        links += d->parent[v] != NONE;
    if (nt_model_create(n, d->switches, links, &m, err) != 0)
        return -1;
    for (size_t k = 0; k < n; k++)
        m->missing[k] = d->missing[d->order[k]];
    struct nt_link *link = m->link;
    for (uint32_t v = 0; v < vertices; v++) {
        if (d->parent[v] == NONE)
            continue;
        link->a = v;
        link->b = d->parent[v];
        link->latency_us = d->up_us[v];
        link->probability = d->b->support;
        link++;
    }
    m->family = d->switches > 1 ? NT_FAMILY_TREE : NT_FAMILY_STAR;
    m->confidence = d->b->support;
    if (nt_model_canonicalise(m, err) != 0) {
        nt_model_destroy(m);
        return -1;
    }
    for (size_t k = 0; k < m->switches; k++)
        m->tiers = m->tier[k] > m->tiers ? m->tier[k] : m->tiers;
    *out = m;
    return 1;
}

int nt_belief_model(const struct nt_belief *b, const bool *missing, const uint32_t *order,
                    struct nt_model **out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t n = b->hosts;
    struct draft d = {.b = b,
                      .missing = missing,
                      .order = order,
                      .top = nt_arena_array(&memory, n + 1, sizeof *d.top),
                      .first = nt_arena_array(&memory, n + 1, sizeof *d.first),
                      .at = nt_arena_array(&memory, n + 1, sizeof *d.at),
                      .us = nt_arena_array(&memory, 2 * n + 1, sizeof *d.us),
                      .up_us = nt_arena_array(&memory, 2 * n + 1, sizeof *d.up_us),
                      .parent = nt_arena_array(&memory, 2 * n + 1, sizeof *d.parent)};
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    if (!is_whole(&d))
        return 0;
    memset(d.parent, 0xff, 2 * n * sizeof *d.parent);
    for (uint32_t k = 0; k < n; k++)
        d.top[k] = k;
    for (size_t l = 0; l < b->levels; l++)
        add_level(&d, l);
    remove_root(&d);
    return make_model(&d, out, err);
}
