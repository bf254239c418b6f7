/* SPDX-License-Identifier: Apache-2.0 */
/* Where loose hosts are, from the top down; and what is joined and apart. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "believed_work.h"
#include "stats.h"

/* More pairs of clusters than this a host cannot be read in a few rounds: then the belief saves
 * nothing. */
static const double APART_A_HOST = 40, APART_MORE = 4096;

/* A loose host is on a switch when so many of its hosts say so, and elsewhere when so many of each
 * switch do, if it has so many: one reading may be of any level by accident. */
enum { MATES = 2 };

/* ---- a loose host -----------------------------------------------------------------------------
 */

/* A step of the way down: the clusters below one, and what was read of the host in them. */
struct step {
    size_t level;     /* that the clusters are below */
    uint32_t inside;  /* a host of the cluster that it is in; UINT32_MAX: none is known */
    uint32_t untried; /* a host of the largest cluster that it was not read with; UINT32_MAX */
    size_t largest, mates;
    bool mixed; /* it is in two of them, or in none of the whole */
};

static bool is_below(const struct nt_believed *b, size_t level, uint32_t in, uint32_t host)
{
    return !b->away[host] && (level + 1 >= b->levels || nt_believed_cluster(b, level, host) ==
                                                            nt_believed_cluster(b, level, in));
}

static uint32_t below(const struct nt_believed *b, size_t level, uint32_t host)
{
    return level == 0 ? host : nt_believed_cluster(b, level - 1, host);
}

static void recheck(struct nt_believed_work *w, const struct nt_believed_pair *p)
{
    nt_believed_recheck(w, p->a, p->b);
}

/* state[cluster]: how many of it the host was read outside with. Readings that are not clear are to
 * be repeated. */
static void take_readings(struct nt_believed_work *w, uint32_t host, uint32_t in, uint8_t *state,
                          struct step *s)
{
    struct nt_believed *b = w->b;
    for (size_t k = w->first[host]; k < w->first[host + 1]; k++) {
        const struct nt_believed_pair *p = &w->pair[w->next[k]];
        uint32_t other = p->a == host ? p->b : p->a;
        if (!is_below(b, s->level, in, other))
            continue;
        int level = nt_believed_level_of(w, p);
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
static const struct nt_believed_pair *pair_of(const struct nt_believed_work *w, uint32_t host,
                                              uint32_t other)
{
    for (size_t k = w->first[host]; k < w->first[host + 1]; k++) {
        const struct nt_believed_pair *p = &w->pair[w->next[k]];
        if (p->a == other || p->b == other)
            return p;
    }
    return NULL;
}

/* A host of the largest cluster that the host was read outside with fewest of. */
static void find_untried(const struct nt_believed_work *w, uint32_t host, uint32_t in,
                         const uint8_t *state, size_t *size, struct step *s)
{
    const struct nt_believed *b = w->b;
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

/* Of a cluster of one host, with which the host was read apart: once more. */
static void repeat_single(struct nt_believed_work *w, uint32_t host, uint32_t in,
                          const uint8_t *state, const struct step *s)
{
    struct nt_believed *b = w->b;
    for (uint32_t h = 0; h < b->hosts; h++) {
        if (!is_below(b, s->level, in, h) || state[below(b, s->level, h)] != 1)
            continue;
        const struct nt_believed_pair *p = pair_of(w, host, h);
        if (p != NULL && p->till - p->from < MATES)
            recheck(w, p);
    }
}

/* All readings of a host that are not of several yet: false when there are none. */
static bool repeat_all(struct nt_believed_work *w, uint32_t host)
{
    size_t had = w->b->rechecks;
    for (size_t k = w->first[host]; k < w->first[host + 1]; k++) {
        const struct nt_believed_pair *p = &w->pair[w->next[k]];
        if (p->till - p->from <= MATES && !w->b->away[p->a == host ? p->b : p->a])
            recheck(w, p);
    }
    return w->b->rechecks > had;
}

static void wish(struct nt_believed *b, uint32_t host, uint32_t other)
{
    b->wish[b->wishes++] = (struct nt_seat_pair){host, other};
}

/* Beside that host at and above the level, alone below it. */
static void put(struct nt_believed_work *w, uint32_t host, uint32_t beside, size_t level)
{
    struct nt_believed *b = w->b;
    for (size_t l = 0; l + 1 < b->levels; l++)
        b->cluster[l * b->hosts + host] =
            l < level ? (uint32_t)(b->hosts + host) : nt_believed_cluster(b, l, beside);
    b->away[host] = false;
    w->placed[host] = true;
}

/* Down from the cluster at the top, as far as readings go. */
static void place_host(struct nt_believed_work *w, uint32_t host, uint32_t in, uint8_t *state,
                       size_t *size)
{
    struct nt_believed *b = w->b;
    for (size_t level = b->levels; level-- > 0;) {
        struct step s = {.level = level, .inside = UINT32_MAX, .untried = UINT32_MAX};
        size_t had = b->rechecks;
        memset(state, 0, 2 * b->hosts);
        take_readings(w, host, in, state, &s);
        if (s.mixed) {
            if (!repeat_all(w, host))
                nt_believed_refute(b, "a host fits nowhere");
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
            wish(b, host, s.untried);
        else if (b->rechecks == had)
            put(w, host, in, level);
        return;
    }
}

void nt_believed_place(struct nt_believed_work *w)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_believed *b = w->b;
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
        nt_believed_refute(b, "most hosts are not known");
        return;
    }
    for (uint32_t h = 0; h < b->hosts && b->verdict != NT_SPARSE_REFUTED; h++)
        if (w->loose[h])
            place_host(w, h, in, state, size);
}

/* ---- joined and apart -------------------------------------------------------------------------
 */

uint64_t nt_believed_key(const struct nt_believed *b, size_t level, uint32_t x, uint32_t y)
{
    uint64_t p = below(b, level, x), q = below(b, level, y);
    uint64_t low = p < q ? p : q, high = p < q ? q : p;
    return (uint64_t)level << 60 | low << 30 | high;
}

bool nt_believed_is_apart(const struct nt_believed *b, uint32_t x, uint32_t y)
{
    uint64_t key = nt_believed_key(b, nt_believed_meet(b, x, y), x, y);
    return b->apart > 0 &&
           bsearch(&key, b->apart_key, b->apart, sizeof key, nt_compare_u64) != NULL;
}

static uint32_t root_of(uint32_t *up, uint32_t host)
{
    while (up[host] != host)
        host = up[host] = up[up[host]];
    return host;
}

/* Pairs that fit join the hosts of a switch, or are of clusters that are apart. */
static void take_fits(struct nt_believed_work *w)
{
    struct nt_believed *b = w->b;
    for (size_t k = 0; k < w->pairs; k++) {
        const struct nt_believed_pair *p = &w->pair[k];
        if (b->away[p->a] || b->away[p->b])
            continue;
        size_t level = nt_believed_meet(b, p->a, p->b);
        enum nt_believed_fit fit = nt_believed_fit_pair(w, p, level);
        bool was_loose = w->placed[p->a] || w->placed[p->b];
        if (fit == NT_BELIEVED_OFF && was_loose)
            nt_believed_refute(b, "a host fits nowhere");
        if (fit == NT_BELIEVED_AGAIN && was_loose)
            nt_believed_recheck(w, p->a, p->b);
        if (fit != NT_BELIEVED_FITS)
            continue;
        if (level == 0)
            b->joined[root_of(b->joined, p->a)] = root_of(b->joined, p->b);
        if (level > 0 || b->levels == 1)
            b->apart_key[b->apart++] = nt_believed_key(b, level, p->a, p->b);
    }
}

static void sort_apart(struct nt_believed *b)
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
static double pairs_of_clusters(const struct nt_believed *b, size_t level, size_t *parts,
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
        pairs += (double)parts[nt_believed_cluster(b, level, h)]++;
    }
    return pairs;
}

static void count_unjoined(struct nt_believed *b, bool *seen)
{
    memset(seen, 0, 2 * b->hosts);
    for (uint32_t h = 0; h < b->hosts; h++) {
        b->joined[h] = root_of(b->joined, h);
        if (b->away[h])
            continue;
        uint32_t cluster = nt_believed_cluster(b, 0, h);
        b->unjoined += b->joined[h] == h; /* one less a cluster, */
        b->unjoined -= !seen[cluster];
        seen[cluster] = true;
    }
}

int nt_believed_cover(struct nt_believed_work *w, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_believed *b = w->b;
    size_t *parts = nt_arena_array(&memory, 2 * b->hosts + 1, sizeof *parts);
    bool *seen = nt_arena_array(&memory, 2 * b->hosts + 1, sizeof *seen);
    double pairs = 0;
    if (nt_arena_check(&memory, err) < 0)
        return -1;
    for (uint32_t h = 0; h < b->hosts; h++)
        b->joined[h] = h;
    take_fits(w);
    sort_apart(b);
    count_unjoined(b, seen);
    bool all = b->levels == 1 && b->hosts <= NT_VERIFY_ALL_SEATS;
    for (size_t l = all ? 0 : 1; l < b->levels; l++)
        pairs += pairs_of_clusters(b, l, parts, seen);
    if (pairs > APART_A_HOST * (double)b->hosts + APART_MORE)
        nt_believed_refute(b, "it has too many switches for so few hosts");
    if (pairs > (double)b->apart && (b->levels > 1 || all))
        b->unread += (size_t)pairs - b->apart;
    return 0;
}

/* ---- what comes after -------------------------------------------------------------------------
 */

static int unite_clusters(const struct nt_believed *b, struct nt_clusters *out, struct nt_err *err)
{
    uint32_t *first = malloc((2 * b->hosts + 1) * sizeof *first);
    if (first == NULL)
        return nt_err_memory(err);
    for (size_t l = 0; l + 1 < b->levels; l++) {
        memset(first, 0xff, (2 * b->hosts + 1) * sizeof *first);
        for (uint32_t h = 0; h < b->hosts; h++) {
            uint32_t c = nt_believed_cluster(b, l, h);
            if (b->away[h])
                continue;
            if (first[c] == UINT32_MAX)
                first[c] = h;
            nt_clusters_unite(out, l, first[c], h);
        }
    }
    free(first);
    return 0;
}

/* Nothing is calibrated: the usual share of wrong readings, and of those the share that is too low,
 * since most are late. */
static const double OUTLIERS = 0.01, LOW_SHARE = 0.25;

static void take_classes(const struct nt_believed *b, struct nt_classes *out)
{
    double all = 0;
    *out = (struct nt_classes){
        .count = b->levels, .noise = b->sd, .outliers = OUTLIERS, .low_share = LOW_SHARE};
    for (size_t l = 0; l < b->levels; l++)
        all += (double)b->pairs[l];
    for (size_t l = 0; l < b->levels; l++) {
        out->mean[l] = b->ln[l];
        out->weight[l] = all > 0 ? (double)b->pairs[l] / all : 1;
    }
}

int nt_believed_sparse(const struct nt_believed *b, const bool *missing,
                       const struct nt_readings *readings, struct nt_sparse *out,
                       struct nt_err *err)
{
    struct nt_sparse s;
    if (b->verdict != NT_SPARSE_SOUND)
        return nt_err_set(err, NT_ERR_INPUT, "what was believed of this network is not verified");
    if (nt_sparse_init(&s, b->hosts, NULL, NULL, err) < 0)
        return -1;
    for (uint32_t h = 0; missing != NULL && h < b->hosts; h++)
        if (missing[h])
            nt_sparse_lose(&s, h);
    take_classes(b, &s.classes);
    s.clustered = true;
    s.clustering = (struct nt_clustering){.seats = s.seats, .classes = &s.classes, .over = true};
    int rc = nt_clusters_init(&s.clustering.clusters, s.seats, b->levels, err);
    for (size_t l = 0; rc == 0 && l < b->levels; l++) {
        s.clustering.error_probability[l] = calloc(s.seats + 1, sizeof(float));
        if (s.clustering.error_probability[l] == NULL)
            rc = nt_err_memory(err);
    }
    if (rc == 0)
        rc = unite_clusters(b, &s.clustering.clusters, err);
    for (size_t k = 0; rc == 0 && k < readings->count; k++) {
        const struct nt_pair_reading *r = &readings->at[k];
        rc = nt_readings_add(&s.readings, r->a, r->b, r->pings, r->ln, err);
        if (rc == 0)
            rc = nt_readings_add(&s.ledger, r->a, r->b, 0, r->ln, err);
        s.random_pairs += k + 1 == readings->count || nt_readings_next_pair(readings, k) == k + 1;
    }
    if (rc < 0) {
        nt_sparse_fini(&s);
        return -1;
    }
    s.verdict = NT_SPARSE_SOUND;
    *out = s;
    out->clustering.classes = &out->classes;
    return 0;
}
