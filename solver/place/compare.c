/* SPDX-License-Identifier: Apache-2.0 */
#include "compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "distance.h"
#include "graph.h"
#include "memory.h"
#include "rng.h"
#include "stats.h"

#define NONE UINT32_MAX

/* ---- how a tree divides its hosts: each link as a word that another model of the same hosts can
 * be searched for, the two sets of hosts that it divides (Buneman 1971) ---- */

struct division {
    const struct nt_model *m; /* borrowed */
    struct nt_distance *distance;
    bool tree;     /* otherwise the other fields are not set */
    uint32_t *low; /* by link: the end away from the root */
    /* By link: hash of its two sides, independent of their order; 0: one side has no host */
    uint64_t *key;
    uint64_t *side;         /* by link: hash of the side below */
    size_t *size;           /* by link: number of hosts on the smaller side */
    struct nt_arena memory; /* all arrays */
};

static uint64_t host_word(uint32_t host)
{
    struct nt_rng rng;
    nt_rng_init(&rng, UINT64_C(0x6e747465) + host);
    return nt_rng_next(&rng) | 1;
}

static void division_fini(struct division *v)
{
    nt_distance_destroy(v->distance);
    nt_arena_fini(&v->memory);
}

/* The caller also calls division_fini after an error. */
static int division_init(struct division *v, const struct nt_model *m, struct nt_err *err)
{
    size_t n = m->links + 1;
    *v = (struct division){.m = m};
    v->low = nt_arena_array(&v->memory, n, sizeof *v->low);
    v->key = nt_arena_array(&v->memory, n, sizeof *v->key);
    v->side = nt_arena_array(&v->memory, n, sizeof *v->side);
    v->size = nt_arena_array(&v->memory, n, sizeof *v->size);
    if (nt_arena_check(&v->memory, err) != 0)
        return -1;
    if (nt_distance_create(m, &v->distance, err) != 0)
        return -1;
    v->tree = nt_distance_is_tree(v->distance);
    return 0;
}

/* The hash of a side is the XOR of its hosts' random words; the smaller hash of both sides
 * identifies the division. */
static void key_sets(struct division *v, const bool *missing, uint64_t *below, size_t *count)
{
    uint64_t all = 0;
    size_t present = 0;
    for (uint32_t h = 0; h < v->m->hosts; h++) {
        if (missing[h])
            continue;
        uint64_t word = host_word(h);
        all ^= word;
        present++;
        for (uint32_t at = h; at != NONE; at = nt_distance_parent(v->distance, at)) {
            below[at] ^= word;
            count[at]++;
        }
    }
    for (size_t k = 0; k < v->m->links; k++) {
        uint32_t a = v->m->link[k].a, b = v->m->link[k].b;
        uint32_t low = nt_distance_parent(v->distance, a) == b ? a : b;
        uint64_t other = all ^ below[low];
        v->low[k] = low;
        v->side[k] = low == a ? below[low] : other;
        v->size[k] = count[low] <= present - count[low] ? count[low] : present - count[low];
        v->key[k] = v->size[k] == 0 ? 0 : below[low] < other ? below[low] : other;
    }
}

/* Computes the keys. Hosts with missing[h] are on no side. May be called again with other missing
 * hosts. */
static int division_key(struct division *v, const bool *missing, struct nt_err *err)
{
    size_t n = v->m->hosts + v->m->switches + 1;
    NT_SCOPED struct nt_arena memory = {0};
    uint64_t *words = nt_arena_array(&memory, n, sizeof *words);
    size_t *count = nt_arena_array(&memory, n, sizeof *count);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    key_sets(v, missing, words, count);
    return 0;
}

/* Returns the key of a link with exactly these hosts on one side. */
static uint64_t division_key_of(const struct division *v, const bool *missing, const bool *side)
{
    uint64_t on = 0, off = 0;
    for (uint32_t h = 0; h < v->m->hosts; h++)
        if (!missing[h])
            *(side[h] ? &on : &off) ^= host_word(h);
    return on < off ? on : off;
}

/* Sets flags for the hosts on the smaller side of a link. */
static void division_mark(const struct division *v, uint32_t link, const bool *missing, bool *side)
{
    size_t on = 0, off = 0;
    for (uint32_t h = 0; h < v->m->hosts; h++) {
        uint32_t at = h;
        while (at != NONE && at != v->low[link])
            at = nt_distance_parent(v->distance, at);
        side[h] = at != NONE && !missing[h];
        on += side[h];
        off += !side[h] && !missing[h];
    }
    for (uint32_t h = 0; h < v->m->hosts && on > off; h++)
        side[h] = !side[h] && !missing[h];
}

/* ---- who is next to whom ---- */

struct stamps {
    size_t hosts, both; /* both: hosts that already had the stamp */
    const bool *missing;
    uint64_t *seen;
};

/* Stamps the neighbours of h and counts those that had no stamp. */
static size_t stamp_around(struct stamps *s, const struct nt_graph *b, uint32_t h, uint64_t stamp)
{
    size_t n = 0, hosts = s->hosts;
    for (size_t k = b->start[h]; k < b->start[h + 1]; k++) {
        uint32_t up = b->to[k];
        size_t from = up < hosts ? k : b->start[up], to = up < hosts ? k + 1 : b->start[up + 1];
        for (size_t e = from; e < to; e++) {
            uint32_t x = b->to[e];
            if (x >= hosts || x == h || s->missing[x] || s->seen[x] == stamp)
                continue;
            s->both += s->seen[x] == stamp - 1;
            s->seen[x] = stamp;
            n++;
        }
    }
    return n;
}

/* Counts, for each host, its neighbours (by a direct link, or on the same switch), and how many of
 * them are also neighbours in the other model. was and kept are indexed by host. */
static int division_neighbours(const struct division *v, const struct division *other,
                               const bool *missing, size_t *was, size_t *kept, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct stamps s = {.hosts = v->m->hosts, .missing = missing};
    struct nt_graph here, there;
    s.seen = nt_arena_array(&memory, s.hosts, sizeof *s.seen);
    if (nt_graph_init(&here, v->m, &memory, err) != 0 ||
        nt_graph_init(&there, other->m, &memory, err) != 0)
        return -1;
    for (uint32_t h = 0; h < s.hosts; h++) {
        uint64_t stamp = 3 * (uint64_t)h + 2;
        stamp_around(&s, &there, h, stamp);
        s.both = 0;
        was[h] = stamp_around(&s, &here, h, stamp + 1);
        kept[h] = s.both;
    }
    return 0;
}

/* ---- two models of the same hosts ---- */

/* Probability that one sweep of a healthy network reports any link because of its values. */
static const double FALSE_ALARM = 0.001;

struct work {
    struct division found, reference;
    bool trees;          /* links are compared by the hosts on their two sides */
    const bool *missing; /* hosts that did not answer, on no side */
    double tolerance, z_limit;
    struct nt_comparison *c;
    size_t capacity;  /* capacity of c->difference */
    bool *moved;      /* by host: reported as moved */
    bool *taken;      /* by found link: matches one of the reference */
    bool *turned;     /* by reference link: the match has its ends in reverse order */
    bool *latency_ok; /* by reference link: the latency of the match is for the same cables */
    bool *rate_ok;    /* by reference link: the bandwidth of the match is for the same cables */
    double
        *together; /* by host: number of hosts on its switch in both, divided by those in either */
    struct nt_err *err;
};

static int add_difference(struct work *w, struct nt_difference d)
{
    struct nt_comparison *c = w->c;
    c->difference = nt_arena_grow(&c->memory, c->difference, &w->capacity, c->differences + 1,
                                  sizeof *c->difference);
    if (nt_arena_check(&c->memory, w->err) != 0)
        return -1;
    c->difference[c->differences++] = d;
    return 0;
}

/* Returns a difference without values. */
static struct nt_difference plain_difference(enum nt_difference_kind kind, double confidence)
{
    return (struct nt_difference){.kind = kind,
                                  .expected = -1,
                                  .found = -1,
                                  .expected_switch = NONE,
                                  .found_switch = NONE,
                                  .was = (double)NAN,
                                  .is = (double)NAN,
                                  .confidence = confidence};
}

/* Returns the confidence of a map; 1 if it has none. */
static double map_confidence(const struct nt_model *f)
{
    return isfinite(f->confidence) ? f->confidence : 1;
}

/* ---- trees: links by the hosts that they divide ---- */

struct keyed {
    uint64_t key;
    size_t link;
};

static int by_key(const void *x, const void *y)
{
    const struct keyed *a = x, *b = y;
    return NT_ORDER(a->key, b->key, NT_ORDER(a->link, b->link, 0));
}

static struct keyed *sort_keys(const struct division *v, struct nt_arena *memory)
{
    struct keyed *sorted = nt_arena_array(memory, v->m->links, sizeof *sorted);
    for (size_t k = 0; sorted != NULL && k < v->m->links; k++)
        sorted[k] = (struct keyed){v->key[k], k};
    if (sorted != NULL)
        qsort(sorted, v->m->links, sizeof *sorted, by_key);
    return sorted;
}

/* Returns the first of n with that key or a larger one. */
static size_t find_key(const struct keyed *sorted, size_t n, uint64_t key)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (sorted[mid].key < key)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static size_t count_key(const struct keyed *sorted, size_t n, uint64_t key)
{
    size_t at = find_key(sorted, n, key), count = 0;
    while (key != 0 && at + count < n && sorted[at + count].key == key)
        count++;
    return count;
}

static int match_divisions(struct work *w)
{
    size_t n = w->found.m->links;
    NT_SCOPED struct nt_arena memory = {0};
    if (division_key(&w->found, w->missing, w->err) != 0 ||
        division_key(&w->reference, w->missing, w->err) != 0)
        return -1;
    struct keyed *sorted = sort_keys(&w->found, &memory);
    if (nt_arena_check(&memory, w->err) != 0)
        return -1;
    for (size_t k = 0; k < w->reference.m->links; k++) {
        uint64_t key = w->reference.key[k];
        size_t at = find_key(sorted, n, key);
        while (key != 0 && at < n && sorted[at].key == key && w->taken[sorted[at].link])
            at++;
        if (key == 0 || at == n || sorted[at].key != key)
            continue;
        size_t e = sorted[at].link;
        w->c->matched[k] = (int64_t)e;
        w->taken[e] = true;
        w->turned[k] = w->found.side[e] != w->reference.side[k];
    }
    return 0;
}

/* ---- trees: which hosts have moved -------------------------------------------------------------
 *
 * Divisions of the two trees that have no equal are explained by the fewest hosts without which
 * they have one. The distance of a division to the other tree is the number of hosts that must
 * change sides until it is one of that tree's, or until one host alone is on a side (transfer
 * distance: Lemoine et al., Nature 556, 2018, "Renewing Felsenstein's phylogenetic bootstrap in the
 * era of big data"). The hosts that would change sides are charged with it, and the one with the
 * highest charge is left out first; hosts of a division that both trees have are left out together,
 * as a switch with its cables is moved.
 */

enum { MOVE_STEPS_MAX = 4096 };
static const double WITNESS =
    1e-3; /* for equal charges: prefers the host that belongs to the division */
static const double MOVE_WORK_MAX = 4e9; /* limit of compared words of sets, some seconds */

struct division_set {
    uint32_t link;
    bool open;   /* has no equal in the other tree */
    bool common; /* has an equal in the other tree */
    /* Open: the most similar division of the other tree; SIZE_MAX: none is within one host */
    size_t near;
    uint64_t *on;  /* hosts on the smaller side */
    uint64_t *off; /* open: hosts that would have to change sides */
};

struct moves {
    size_t words, present, open;
    size_t n[2]; /* of the reference, of the found tree */
    struct division_set *set[2];
    uint64_t *live; /* hosts that have not been removed */
    double *charge; /* hosts */
    uint32_t *step; /* by host: step of its removal; NONE */
    struct nt_difference *as;
};

static bool has_host(const uint64_t *set, size_t host)
{
    return (set[host / 64] >> host % 64 & 1) != 0;
}

static size_t count_apart(const struct moves *s, const uint64_t *a, const uint64_t *b)
{
    size_t n = 0;
    for (size_t k = 0; k < s->words; k++)
        n += (size_t)__builtin_popcountll((a[k] ^ (b == NULL ? 0 : b[k])) & s->live[k]);
    return n;
}

static void add_apart(const struct moves *s, const uint64_t *a, const uint64_t *b, bool turned,
                      uint64_t *to)
{
    for (size_t k = 0; k < s->words; k++)
        to[k] |= ((a[k] ^ (b == NULL ? 0 : b[k])) ^ (turned ? ~UINT64_C(0) : 0)) & s->live[k];
}

static int take_sets(struct moves *s, const struct work *w, int side, struct nt_arena *memory)
{
    const struct division *v = side == 0 ? &w->reference : &w->found;
    bool *mark = nt_arena_array(memory, v->m->hosts, sizeof *mark);
    s->set[side] = nt_arena_array(memory, v->m->links, sizeof *s->set[side]);
    if (nt_arena_check(memory, w->err) != 0)
        return -1;
    for (uint32_t k = 0; k < v->m->links; k++) {
        if (v->size[k] < 2)
            continue;
        struct division_set *d = &s->set[side][s->n[side]++];
        d->link = k;
        d->on = nt_arena_array(memory, s->words, sizeof *d->on);
        d->off = nt_arena_array(memory, s->words, sizeof *d->off);
        if (nt_arena_check(memory, w->err) != 0)
            return -1;
        division_mark(v, k, w->missing, mark);
        for (size_t h = 0; h < v->m->hosts; h++)
            d->on[h / 64] |= (uint64_t)mark[h] << h % 64;
    }
    return 0;
}

/* Finds whether d has an equal in the other tree; if not, charges the hosts that differ. */
static void weigh_set(struct moves *s, struct division_set *d, int side)
{
    size_t on = count_apart(s, d->on, NULL);
    size_t small = on < s->present - on ? on : s->present - on, least = SIZE_MAX;
    d->open = d->common = false;
    d->near = SIZE_MAX;
    if (small < 2)
        return;
    const struct division_set *other = s->set[1 - side];
    size_t others = s->n[1 - side];
    for (size_t k = 0; k < others; k++) {
        size_t apart = count_apart(s, d->on, other[k].on);
        apart = apart < s->present - apart ? apart : s->present - apart;
        least = apart < least ? apart : least;
    }
    d->common = least == 0;
    d->open = !d->common;
    if (d->common)
        return;
    s->open++;
    memset(d->off, 0, s->words * sizeof *d->off);
    if (small - 1 <= least)
        add_apart(s, d->on, NULL, on > small, d->off);
    for (size_t k = 0; k < others && least <= small - 1; k++) {
        size_t apart = count_apart(s, d->on, other[k].on);
        if (apart != least && s->present - apart != least)
            continue;
        add_apart(s, d->on, other[k].on, apart != least, d->off);
        d->near = d->near == SIZE_MAX ? k : d->near;
    }
    double share = 1 / (double)(least < small - 1 ? least : small - 1);
    for (size_t h = 0; h < 64 * s->words; h++)
        if (has_host(d->off, h))
            s->charge[h] += share * (1 + (has_host(d->on, h) ? WITNESS : 0));
}

static void weigh_sets(struct moves *s)
{
    s->open = 0;
    s->present = 0;
    for (size_t k = 0; k < s->words; k++)
        s->present += (size_t)__builtin_popcountll(s->live[k]);
    memset(s->charge, 0, 64 * s->words * sizeof *s->charge);
    for (int side = 0; side < 2; side++)
        for (size_t k = 0; k < s->n[side]; k++)
            weigh_set(s, &s->set[side][k], side);
}

/* Returns whether the hosts of a group, or all others if turned, are in the set. */
static bool lies_within(const struct moves *s, const struct division_set *group, bool turned,
                        const uint64_t *set)
{
    for (size_t i = 0; i < s->words; i++)
        if (((group->on[i] ^ (turned ? ~UINT64_C(0) : 0)) & s->live[i] & ~set[i]) != 0)
            return false;
    return true;
}

/* Returns the charge on all hosts of a common division that would change sides together. */
static double group_charge(const struct moves *s, const struct division_set *group, bool turned)
{
    double charge = 0;
    for (int side = 0; side < 2; side++)
        for (size_t k = 0; k < s->n[side]; k++) {
            const struct division_set *d = &s->set[side][k];
            bool within = d->open && lies_within(s, group, turned, d->off);
            if (within)
                charge += 1 + (lies_within(s, group, turned, d->on) ? WITNESS : 0);
        }
    return charge;
}

/* Selects the hosts to remove next; false: none is charged. */
static bool choose_move(const struct moves *s, uint64_t *unit)
{
    double most = 0;
    memset(unit, 0, s->words * sizeof *unit);
    for (size_t h = 0; h < 64 * s->words; h++)
        if (s->charge[h] > most + 1e-9) {
            most = s->charge[h];
            memset(unit, 0, s->words * sizeof *unit);
            unit[h / 64] = UINT64_C(1) << h % 64;
        }
    for (size_t k = 0; k < s->n[0]; k++) {
        const struct division_set *d = &s->set[0][k];
        size_t on = count_apart(s, d->on, NULL);
        bool turned = 2 * on > s->present;
        double charge = d->common ? group_charge(s, d, turned) : 0;
        if (charge <= most + 1e-9)
            continue;
        most = charge;
        memset(unit, 0, s->words * sizeof *unit);
        add_apart(s, d->on, NULL, turned, unit);
    }
    return most > 0;
}

/* Replaces *best by division k if that shows the place of the host better: the host is on its
 * smaller side, or it is smaller. */
static void take_better(const struct moves *s, int side, uint32_t host, size_t k, int64_t *best)
{
    const struct division_set *x = &s->set[side][k], *y = *best < 0 ? x : &s->set[side][*best];
    bool on = has_host(x->on, host), was_on = has_host(y->on, host);
    if (*best < 0 ||
        (on != was_on ? on : count_apart(s, x->on, NULL) < count_apart(s, y->on, NULL)))
        *best = (int64_t)k;
}

/* Notes by which divisions a removed host has moved. The probability is the highest of the found
 * divisions. */
static void note_move(const struct moves *s, const struct work *w, uint32_t host)
{
    int64_t best[2] = {-1, -1};
    double sure = 0;
    for (int side = 0; side < 2; side++)
        for (size_t k = 0; k < s->n[side]; k++) {
            const struct division_set *x = &s->set[side][k];
            if (!x->open || !has_host(x->off, host))
                continue;
            size_t found = side == 1 ? k : x->near;
            take_better(s, side, host, k, &best[side]);
            if (x->near != SIZE_MAX && s->set[1 - side][x->near].open)
                take_better(s, 1 - side, host, x->near, &best[1 - side]);
            if (found != SIZE_MAX)
                sure = fmax(sure, w->found.m->link[s->set[1][found].link].probability);
        }
    s->as[host] =
        plain_difference(NT_DIFFERENCE_HOST_MOVED, sure > 0 ? sure : map_confidence(w->found.m));
    s->as[host].host = host;
    if (best[0] >= 0)
        s->as[host].expected = s->set[0][best[0]].link;
    if (best[1] >= 0)
        s->as[host].found = s->set[1][best[1]].link;
}

/* Removes hosts until the trees are equal. Uses the prefix of the sequence that needs the fewest
 * sentences: one per move and one per division that is still open. Returns its length. If moves
 * need as many sentences as the divisions alone, they are used only if they explain all differences
 * and divisions of both trees: a single missing division needs no moved host. */
static uint32_t find_moves(struct moves *s, const struct work *w, uint64_t *unit)
{
    uint32_t best = 0;
    weigh_sets(s);
    size_t fewest = s->open, open[2] = {0, 0};
    for (int side = 0; side < 2; side++)
        for (size_t k = 0; k < s->n[side]; k++)
            open[side] += s->set[side][k].open;
    double work = 0;
    for (uint32_t step = 0; step < fewest && step < MOVE_STEPS_MAX && s->open > 0; step++) {
        work += (double)s->open * (double)(s->n[0] + s->n[1]) * (double)s->words;
        if (work > MOVE_WORK_MAX || !choose_move(s, unit))
            break;
        for (uint32_t h = 0; h < w->found.m->hosts; h++) {
            if (!has_host(unit, h))
                continue;
            s->step[h] = step;
            note_move(s, w, h);
            s->live[h / 64] &= ~(UINT64_C(1) << h % 64);
        }
        weigh_sets(s);
        size_t lines = step + 1 + s->open;
        bool explains = s->open == 0 && open[0] > 0 && open[1] > 0;
        if (lines < fewest || (lines == fewest && best == 0 && explains)) {
            fewest = lines;
            best = step + 1;
        }
    }
    return best;
}

/* Returns the probability that the hosts marked in want have no switch of their own: at least that
 * of a found division that crosses them; without one, the probability that the map missed no
 * group. */
static double absence_confidence(const struct work *w, const bool *want, bool *have)
{
    const struct nt_model *f = w->found.m;
    double sure = map_confidence(f);
    for (size_t e = 0; e < f->links; e++) {
        size_t corner[4] = {0};
        if (w->found.size[e] < 2 || f->link[e].probability <= sure)
            continue;
        division_mark(&w->found, (uint32_t)e, w->missing, have);
        for (size_t h = 0; h < f->hosts; h++)
            if (!w->missing[h])
                corner[2 * want[h] + have[h]]++;
        if (corner[0] > 0 && corner[1] > 0 && corner[2] > 0 && corner[3] > 0)
            sure = f->link[e].probability;
    }
    return sure;
}

/* Adds the differences that no moved host explains. */
static int add_open_divisions(struct work *w, const struct moves *s, struct nt_arena *memory)
{
    size_t hosts = w->found.m->hosts;
    bool *want = nt_arena_array(memory, hosts, sizeof *want);
    bool *have = nt_arena_array(memory, hosts, sizeof *have);
    int rc = nt_arena_check(memory, w->err);
    for (int side = 0; side < 2; side++)
        for (size_t k = 0; rc == 0 && k < s->n[side]; k++) {
            uint32_t link = s->set[side][k].link;
            if (!s->set[side][k].open)
                continue;
            struct nt_difference d = plain_difference(NT_DIFFERENCE_SWITCH_MISSING, 1);
            *(side == 0 ? &d.expected : &d.found) = link;
            if (side == 0)
                division_mark(&w->reference, link, w->missing, want);
            d.confidence =
                side == 0 ? absence_confidence(w, want, have) : w->found.m->link[link].probability;
            rc = add_difference(w, d);
        }
    return rc;
}

static int compare_divisions(struct work *w)
{
    size_t hosts = w->found.m->hosts;
    NT_SCOPED struct nt_arena memory = {0};
    struct moves s = {.words = (hosts + 63) / 64};
    s.live = nt_arena_array(&memory, s.words, sizeof *s.live);
    s.charge = nt_arena_array(&memory, 64 * s.words, sizeof *s.charge);
    s.step = nt_arena_array(&memory, hosts, sizeof *s.step);
    s.as = nt_arena_array(&memory, hosts, sizeof *s.as);
    uint64_t *unit = nt_arena_array(&memory, s.words, sizeof *unit);
    if (take_sets(&s, w, 0, &memory) != 0 || take_sets(&s, w, 1, &memory) != 0)
        return -1;
    for (size_t h = 0; h < hosts; h++) {
        s.step[h] = NONE;
        s.live[h / 64] |= (uint64_t)!w->missing[h] << h % 64;
    }
    uint32_t moves = find_moves(&s, w, unit);
    int rc = 0;
    for (uint32_t h = 0; rc == 0 && h < hosts; h++) {
        w->moved[h] = s.step[h] < moves;
        if (w->moved[h])
            rc = add_difference(w, s.as[h]);
        else
            s.live[h / 64] |= (uint64_t)!w->missing[h] << h % 64;
    }
    weigh_sets(&s);
    return rc != 0 ? rc : add_open_divisions(w, &s, &memory);
}

/* Marks vertices with a link that has no equal in the other tree, without moved hosts. */
static void mark_open(const struct division *v, const struct keyed *other, size_t others,
                      bool *open)
{
    for (size_t k = 0; k < v->m->links; k++)
        if (v->key[k] != 0 && count_key(other, others, v->key[k]) == 0)
            open[v->m->link[k].a] = open[v->m->link[k].b] = true;
}

/* If a switch has only two links left, or one of the trees has an additional switch, a link is
 * longer than the same cable was. Values are compared only for links that are the same cables in
 * both trees. */
static int judge_cables(struct work *w)
{
    const struct nt_model *f = w->found.m, *r = w->reference.m;
    NT_SCOPED struct nt_arena memory = {0};
    bool *gone = nt_arena_array(&memory, f->hosts, sizeof *gone);
    bool *open[2] = {nt_arena_array(&memory, r->hosts + r->switches, sizeof **open),
                     nt_arena_array(&memory, f->hosts + f->switches, sizeof **open)};
    if (nt_arena_check(&memory, w->err) != 0)
        return -1;
    for (size_t h = 0; h < f->hosts; h++)
        gone[h] = w->missing[h] || w->moved[h];
    if (division_key(&w->found, gone, w->err) != 0 ||
        division_key(&w->reference, gone, w->err) != 0)
        return -1;
    struct keyed *is = sort_keys(&w->found, &memory), *was = sort_keys(&w->reference, &memory);
    if (nt_arena_check(&memory, w->err) != 0)
        return -1;
    mark_open(&w->reference, is, f->links, open[0]);
    mark_open(&w->found, was, r->links, open[1]);
    for (size_t k = 0; k < r->links; k++) {
        if (w->c->matched[k] < 0)
            continue;
        const struct nt_link *x = &r->link[k], *y = &f->link[w->c->matched[k]];
        uint64_t key = w->reference.key[k];
        w->rate_ok[k] = count_key(was, r->links, key) == 1 && count_key(is, f->links, key) == 1;
        w->latency_ok[k] =
            w->rate_ok[k] && !open[0][x->a] && !open[0][x->b] && !open[1][y->a] && !open[1][y->b];
    }
    return 0;
}

/* ---- networks with cycles: switches by what is attached to them ---- */

/* The switches of the two networks, reference first. */
struct switches {
    struct nt_graph graph[2];
    uint32_t *to[2];    /* by vertex: the same vertex in the other network; NONE */
    uint32_t *hosts[2]; /* by vertex: number of connected hosts */
    struct pairing *pair;
    size_t pairs, room;
};

struct pairing {
    double like;
    uint32_t was, is;
};

static int by_likeness(const void *x, const void *y)
{
    const struct pairing *a = x, *b = y;
    return NT_ORDER(b->like, a->like, NT_ORDER(a->was, b->was, NT_ORDER(a->is, b->is, 0)));
}

/* Returns the number of properties that identify a switch: its hosts, or the neighbouring switches
 * if it has none. */
static uint32_t count_known_by(const struct switches *s, int side, uint32_t v)
{
    return s->hosts[side][v] > 0 ? s->hosts[side][v] : nt_graph_degree(&s->graph[side], v);
}

/* Lists pairs of switches that may be the same: more than a third of the properties of both are
 * common. */
static int propose_pairs(struct work *w, struct switches *s, uint32_t r, uint32_t *count,
                         struct nt_arena *memory)
{
    const struct nt_graph *was = &s->graph[0], *is = &s->graph[1];
    uint32_t hosts = (uint32_t)w->found.m->hosts;
    bool by_hosts = s->hosts[0][r] > 0;
    memset(count, 0, is->vertices * sizeof *count);
    for (uint32_t k = was->start[r]; k < was->start[r + 1]; k++) {
        uint32_t v = was->to[k], same = s->to[0][v];
        if (same == NONE || (v < hosts) != by_hosts)
            continue;
        for (uint32_t e = is->start[same]; e < is->start[same + 1]; e++)
            count[is->to[e]]++;
    }
    for (uint32_t f = hosts; f < is->vertices; f++) {
        if (count[f] == 0 || s->to[1][f] != NONE || (s->hosts[1][f] > 0) != by_hosts)
            continue;
        uint32_t either = count_known_by(s, 0, r) + count_known_by(s, 1, f) - count[f];
        if (3 * count[f] <= either)
            continue;
        s->pair = nt_arena_grow(memory, s->pair, &s->room, s->pairs + 1, sizeof *s->pair);
        if (nt_arena_check(memory, w->err) != 0)
            return -1;
        s->pair[s->pairs++] = (struct pairing){(double)count[f] / either, r, f};
    }
    return 0;
}

/* Matches switches, the most similar first; switches without hosts after their neighbours. */
static int pair_switches(struct work *w, struct switches *s, struct nt_arena *memory)
{
    uint32_t hosts = (uint32_t)w->found.m->hosts;
    uint32_t *count = nt_arena_array(memory, s->graph[1].vertices, sizeof *count);
    if (nt_arena_check(memory, w->err) != 0)
        return -1;
    for (bool again = true; again;) {
        again = false;
        s->pairs = 0;
        for (uint32_t r = hosts; r < s->graph[0].vertices; r++)
            if (s->to[0][r] == NONE && propose_pairs(w, s, r, count, memory) != 0)
                return -1;
        if (s->pairs > 0)
            qsort(s->pair, s->pairs, sizeof *s->pair, by_likeness);
        for (size_t k = 0; k < s->pairs; k++) {
            const struct pairing *p = &s->pair[k];
            if (s->to[0][p->was] != NONE || s->to[1][p->is] != NONE)
                continue;
            s->to[0][p->was] = p->is;
            s->to[1][p->is] = p->was;
            again = true;
        }
    }
    return 0;
}

static int switches_init(struct switches *s, const struct work *w, struct nt_arena *memory)
{
    for (int side = 0; side < 2; side++) {
        const struct nt_model *m = side == 0 ? w->reference.m : w->found.m;
        if (nt_graph_init(&s->graph[side], m, memory, w->err) != 0)
            return -1;
        s->to[side] = nt_arena_array(memory, s->graph[side].vertices, sizeof *s->to[side]);
        s->hosts[side] = nt_arena_array(memory, s->graph[side].vertices, sizeof *s->hosts[side]);
        if (nt_arena_check(memory, w->err) != 0)
            return -1;
        for (uint32_t v = 0; v < s->graph[side].vertices; v++)
            s->to[side][v] = v < m->hosts && !w->missing[v] ? v : NONE;
        for (size_t k = 0; k < m->links; k++) {
            s->hosts[side][m->link[k].a] += m->link[k].b < m->hosts;
            s->hosts[side][m->link[k].b] += m->link[k].a < m->hosts;
        }
    }
    return 0;
}

/* Returns the link of the found network between the same two vertices, or from the same host to its
 * switch. */
static int64_t find_same_link(const struct work *w, const struct switches *s, size_t k,
                              bool *turned)
{
    uint32_t hosts = (uint32_t)w->found.m->hosts;
    const struct nt_link *l = &w->reference.m->link[k];
    bool of_host = (l->a < hosts) != (l->b < hosts);
    uint32_t from = of_host && l->b < hosts ? l->b : l->a;
    uint32_t a = s->to[0][from], b = s->to[0][nt_link_other_end(l, from)];
    if (a == NONE || (b == NONE && !of_host))
        return -1;
    for (uint32_t e = s->graph[1].start[a]; e < s->graph[1].start[a + 1]; e++) {
        uint32_t link = s->graph[1].link[e], end = s->graph[1].to[e];
        if (w->taken[link] || (of_host ? end < hosts : end != b))
            continue;
        *turned = (l->a == from) != (w->found.m->link[link].a == a);
        return link;
    }
    return -1;
}

/* Adds links between two vertices of both networks that only one network has. Links of a switch
 * that only one network has, and of a moved host, need no sentence of their own. */
static int add_missing_links(struct work *w, const struct switches *s, int side)
{
    const struct nt_model *m = side == 0 ? w->reference.m : w->found.m;
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        bool there = side == 0 ? w->c->matched[k] >= 0 : w->taken[k];
        uint32_t a = s->to[side][l->a], b = s->to[side][l->b];
        bool of_host = (l->a < m->hosts) != (l->b < m->hosts);
        if (there || of_host || a == NONE || b == NONE || (l->a < m->hosts && w->moved[l->a]) ||
            (l->b < m->hosts && w->moved[l->b]))
            continue;
        double sure = side == 0 ? map_confidence(w->found.m) : l->probability;
        struct nt_difference d = plain_difference(NT_DIFFERENCE_LINK_MISSING, sure);
        *(side == 0 ? &d.expected : &d.found) = (int64_t)k;
        if (add_difference(w, d) != 0)
            return -1;
    }
    return 0;
}

static int add_missing_switches(struct work *w, const struct switches *s)
{
    for (int side = 0; side < 2; side++)
        for (uint32_t v = (uint32_t)w->found.m->hosts; v < s->graph[side].vertices; v++) {
            if (s->to[side][v] != NONE || nt_graph_degree(&s->graph[side], v) == 0)
                continue;
            struct nt_difference d =
                plain_difference(NT_DIFFERENCE_SWITCH_MISSING, map_confidence(w->found.m));
            *(side == 0 ? &d.expected_switch : &d.found_switch) = v;
            if (add_difference(w, d) != 0)
                return -1;
        }
    return 0;
}

/* Returns the switch of a host; NONE: it has none. */
static uint32_t switch_of(const struct nt_graph *g, uint32_t hosts, uint32_t host)
{
    for (uint32_t k = g->start[host]; k < g->start[host + 1]; k++)
        if (g->to[k] >= hosts)
            return g->to[k];
    return NONE;
}

/* Adds moved hosts: those on another switch among the common ones; in a network without switches,
 * those of which most neighbours differ. */
static int add_moved_hosts(struct work *w, const struct switches *s)
{
    const struct nt_model *f = w->found.m;
    NT_SCOPED struct nt_arena memory = {0};
    size_t *was = nt_arena_array(&memory, f->hosts, sizeof *was);
    size_t *kept = nt_arena_array(&memory, f->hosts, sizeof *kept);
    struct nt_difference d = plain_difference(NT_DIFFERENCE_HOST_MOVED, map_confidence(f));
    if (nt_arena_check(&memory, w->err) != 0 ||
        division_neighbours(&w->reference, &w->found, w->missing, was, kept, w->err) != 0)
        return -1;
    for (d.host = 0; d.host < f->hosts; d.host++) {
        uint32_t r = switch_of(&s->graph[0], (uint32_t)f->hosts, d.host);
        uint32_t e = switch_of(&s->graph[1], (uint32_t)f->hosts, d.host);
        if (r == NONE && e == NONE)
            w->moved[d.host] = !w->missing[d.host] && 2 * kept[d.host] < was[d.host];
        else
            w->moved[d.host] = r != NONE && e != NONE && s->to[0][r] != NONE &&
                               s->to[1][e] != NONE && s->to[0][r] != e;
        if (w->moved[d.host] && add_difference(w, d) != 0)
            return -1;
    }
    return 0;
}

static int compare_neighbours(struct work *w)
{
    const struct nt_model *f = w->found.m, *r = w->reference.m;
    NT_SCOPED struct nt_arena memory = {0};
    struct switches s = {0};
    if ((f->switches == 0) != (r->switches == 0)) /* another kind of network */
        return add_difference(w, plain_difference(NT_DIFFERENCE_SWITCH_MISSING, map_confidence(f)));
    if (switches_init(&s, w, &memory) != 0 || pair_switches(w, &s, &memory) != 0 ||
        add_moved_hosts(w, &s) != 0)
        return -1;
    for (size_t k = 0; k < r->links; k++) {
        int64_t e = find_same_link(w, &s, k, &w->turned[k]);
        w->c->matched[k] = e;
        if (e < 0)
            continue;
        w->taken[e] = true;
        const struct nt_link *l = &r->link[k];
        w->rate_ok[k] = w->latency_ok[k] =
            !(l->a < r->hosts && w->moved[l->a]) && !(l->b < r->hosts && w->moved[l->b]);
    }
    if (add_missing_switches(w, &s) != 0 || add_missing_links(w, &s, 0) != 0)
        return -1;
    return add_missing_links(w, &s, 1);
}

/* ---- figures ---- */

static double squared(double x)
{
    return isfinite(x) ? x * x : 0;
}

/* One value of a found link and of the reference link that it matches. */
struct figure {
    enum nt_difference_kind more, less;
    bool back, known;         /* known: for the same cables, with a value in both */
    bool is_bound, was_bound; /* the value is a lower bound */
    double is, was, se;
};

static struct figure latency_of(const struct work *w, size_t k)
{
    const struct nt_link *is = &w->found.m->link[w->c->matched[k]];
    const struct nt_link *was = &w->reference.m->link[k];
    return (struct figure){.more = NT_DIFFERENCE_LINK_SLOW,
                           .less = NT_DIFFERENCE_LINK_FAST,
                           .known = w->latency_ok[k] && isfinite(is->latency_us) &&
                                    isfinite(was->latency_us),
                           .is = is->latency_us,
                           .was = was->latency_us,
                           .se = sqrt(squared(is->latency_se_us) + squared(was->latency_se_us))};
}

static struct figure bandwidth_of(const struct work *w, size_t k, bool back)
{
    const struct nt_link *is = &w->found.m->link[w->c->matched[k]];
    const struct nt_link *was = &w->reference.m->link[k];
    bool had_back = back != w->turned[k] && isfinite(was->bandwidth_back_MBps);
    struct figure f = {.more = NT_DIFFERENCE_LINK_WIDE,
                       .less = NT_DIFFERENCE_LINK_NARROW,
                       .back = back,
                       .is_bound = is->at_least || (back ? is->back_at_least : is->forth_at_least),
                       .was_bound =
                           was->at_least || (had_back ? was->back_at_least : was->forth_at_least),
                       .is = back ? is->bandwidth_back_MBps : is->bandwidth_MBps,
                       .was = had_back ? was->bandwidth_back_MBps : was->bandwidth_MBps};
    f.se = sqrt(squared(back ? is->bandwidth_back_se_MBps : is->bandwidth_se_MBps) +
                squared(had_back ? was->bandwidth_back_se_MBps : was->bandwidth_se_MBps));
    f.known = w->rate_ok[k] && isfinite(f.is) && isfinite(f.was);
    return f;
}

/* Returns whether the difference exceeds the tolerance and the errors of both. */
static bool differs(const struct work *w, const struct figure *f)
{
    double off = fabs(f->is - f->was);
    bool bound = f->is < f->was ? f->is_bound : f->was_bound; /* the true value may be equal */
    return f->known && !bound && off > w->tolerance * f->was && off > w->z_limit * f->se;
}

/* Adds a difference of a value, with the probability that it exceeds noise and that the division of
 * the link exists. */
static int add_figure(struct work *w, size_t k, const struct figure *f)
{
    const struct nt_link *is = &w->found.m->link[w->c->matched[k]];
    double real = f->se > 0 ? nt_normal_cdf(fabs(f->is - f->was) / f->se) : 1;
    struct nt_difference d =
        plain_difference(f->is > f->was ? f->more : f->less, is->probability * real);
    d.expected = (int64_t)k;
    d.found = w->c->matched[k];
    d.back = f->back;
    d.was = f->was;
    d.is = f->is;
    return add_difference(w, d);
}

/* Adds each value that differs. likeness: the lower divided by the higher value of the largest
 * difference; 1 without differences. */
static int compare_figures(struct work *w, size_t k, double *likeness)
{
    struct figure figure[3] = {latency_of(w, k), bandwidth_of(w, k, false),
                               bandwidth_of(w, k, true)};
    *likeness = 1;
    for (int i = 0; i < 3; i++) {
        const struct figure *f = &figure[i];
        if (!differs(w, f))
            continue;
        *likeness = fmin(*likeness, fmin(f->is, f->was) / fmax(f->is, f->was));
        if (add_figure(w, k, f) != 0)
            return -1;
    }
    return 0;
}

/* ---- all together ---- */

struct home {
    uint32_t was, is, host;
};

static int by_home(const void *x, const void *y)
{
    const struct home *a = x, *b = y;
    return NT_ORDER(a->was, b->was, NT_ORDER(a->is, b->is, NT_ORDER(a->host, b->host, 0)));
}

static uint32_t home_of(const struct nt_link *l, size_t hosts)
{
    return l->a < hosts ? l->b : l->a;
}

/* Computes the weights of hosts' own links, which exist in both networks: the share of common hosts
 * on the host's switch. */
static int weigh_host_links(struct work *w)
{
    size_t hosts = w->found.m->hosts, n = 0;
    NT_SCOPED struct nt_arena memory = {0};
    struct home *home = nt_arena_array(&memory, hosts, sizeof *home);
    uint32_t *here[2] = {nt_arena_array(&memory, hosts + w->reference.m->switches, sizeof *here[0]),
                         nt_arena_array(&memory, hosts + w->found.m->switches, sizeof *here[1])};
    if (nt_arena_check(&memory, w->err) != 0)
        return -1;
    for (size_t k = 0; k < w->reference.m->links; k++) {
        const struct nt_link *l = &w->reference.m->link[k];
        if (w->c->matched[k] < 0 || (l->a < hosts) == (l->b < hosts) || n == hosts)
            continue;
        const struct nt_link *is = &w->found.m->link[w->c->matched[k]];
        home[n] = (struct home){home_of(l, hosts), home_of(is, hosts), l->a < hosts ? l->a : l->b};
        here[0][home[n].was]++;
        here[1][home[n++].is]++;
    }
    qsort(home, n, sizeof *home, by_home);
    for (size_t k = 0, end; k < n; k = end) {
        for (end = k; end < n && home[end].was == home[k].was && home[end].is == home[k].is; end++)
            ;
        size_t both = end - k, either = here[0][home[k].was] + here[1][home[k].is] - both;
        for (size_t i = k; i < end; i++)
            w->together[home[i].host] = (double)both / (double)either;
    }
    return 0;
}

static int measure_similarity(struct work *w)
{
    const struct nt_model *r = w->reference.m;
    double shape = 0, figures = 0, sum = 0;
    size_t links = r->links + w->found.m->links;
    bool pairs = r->hosts > 1; /* a single host shows nothing about its network */
    if (weigh_host_links(w) != 0)
        return -1;
    for (size_t k = 0; k < r->links; k++) {
        const struct nt_link *l = &r->link[k];
        double like, weight = 1;
        if (w->c->matched[k] < 0)
            continue;
        if ((l->a < r->hosts) != (l->b < r->hosts))
            weight = w->together[l->a < r->hosts ? l->a : l->b];
        if (compare_figures(w, k, &like) != 0)
            return -1;
        shape += weight;
        figures += weight * like;
        sum += weight * like * w->found.m->link[w->c->matched[k]].probability;
        links--; /* counted once for both */
    }
    w->c->links = links;
    w->c->figures_percent = shape > 0 ? 100 * figures / shape : 100;
    w->c->common_percent = links == 0 || !pairs ? 100 : 100 * shape / (double)links;
    w->c->similarity_percent = r->links == 0 || !pairs ? 100 : 100 * sum / (double)r->links;
    w->c->similarity_percent = fmin(w->c->similarity_percent, w->c->common_percent);
    return 0;
}

/* ---- one switch, or all joined by links of their own: a switch that delays all the same and holds
 * nobody back is equivalent to a full mesh (A. Bufe, Hamburg 2014, section 3.3.3) ---- */

/* Returns whether the model is one switch with a link to each present host; spoke: the link of
 * each. */
static bool is_star(const struct nt_model *m, const bool *missing, uint32_t *spoke)
{
    size_t present = 0;
    for (size_t h = 0; h < m->hosts; h++) {
        spoke[h] = NONE;
        present += !missing[h];
    }
    for (uint32_t k = 0; m->switches == 1 && k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        uint32_t host = l->a < l->b ? l->a : l->b;
        if (missing[host] || spoke[host] != NONE)
            return false;
        spoke[host] = k;
    }
    return m->switches == 1 && m->links == present && present > 2;
}

/* Returns whether there is a link between any two present hosts, and no other. */
static bool is_mesh(const struct nt_model *m, const bool *missing, struct nt_arena *memory)
{
    size_t present = 0;
    for (size_t h = 0; h < m->hosts; h++)
        present += !missing[h];
    if (m->switches > 0 || m->links != present * (present - 1) / 2)
        return false;
    struct keyed *pair = nt_arena_array(memory, m->links, sizeof *pair);
    if (pair == NULL)
        return false;
    for (size_t k = 0; k < m->links; k++) {
        uint32_t a = m->link[k].a, b = m->link[k].b;
        if (missing[a] || missing[b])
            return false;
        pair[k] = (struct keyed){(uint64_t)(a < b ? a : b) << 32 | (a < b ? b : a), k};
    }
    qsort(pair, m->links, sizeof *pair, by_key);
    for (size_t k = 1; k < m->links; k++)
        if (pair[k].key == pair[k - 1].key)
            return false;
    return true;
}

static bool is_bounded(const struct nt_link *l)
{
    return l->at_least || l->forth_at_least || l->back_at_least;
}

static double rate_variance(const struct nt_link *l)
{
    return squared(l->bandwidth_se_MBps) + squared(l->bandwidth_back_se_MBps);
}

/* Exchanges found and reference. */
static void turn_figure(struct figure *f)
{
    struct figure was = *f;
    f->is = was.was;
    f->was = was.is;
    f->is_bound = was.was_bound;
    f->was_bound = was.is_bound;
}

/* Returns whether the two paths of a pair differ in latency or bandwidth, by the known values of
 * both. */
static bool pair_differs(const struct work *w, const struct nt_model *star, const uint32_t *spoke,
                         const struct nt_model *mesh, const struct nt_link *l)
{
    const struct nt_link *a = &star->link[spoke[l->a]], *b = &star->link[spoke[l->b]];
    struct figure us = {.was = l->latency_us + mesh->overhead_us[l->a] + mesh->overhead_us[l->b],
                        .is = a->latency_us + b->latency_us + star->overhead_us[l->a] +
                              star->overhead_us[l->b],
                        .se = sqrt(squared(a->latency_se_us) + squared(b->latency_se_us) +
                                   squared(l->latency_se_us))};
    struct figure rate = {.was = fmin(l->bandwidth_MBps, l->bandwidth_back_MBps),
                          .is = fmin(fmin(a->bandwidth_MBps, a->bandwidth_back_MBps),
                                     fmin(b->bandwidth_MBps, b->bandwidth_back_MBps)),
                          .is_bound = is_bounded(a) || is_bounded(b),
                          .was_bound = is_bounded(l),
                          .se = sqrt(rate_variance(a) + rate_variance(b) + rate_variance(l))};
    us.known = isfinite(us.was) && isfinite(us.is);
    rate.known = isfinite(rate.was) && isfinite(rate.is);
    if (mesh == w->found.m) {
        turn_figure(&us);
        turn_figure(&rate);
    }
    return differs(w, &us) || differs(w, &rate);
}

/* Returns 1 if one is a star, the other a full mesh, and no pair differs. They are then the same
 * network, with the probability of the found links. */
static int are_equivalent(struct work *w)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *spoke = nt_arena_array(&memory, w->found.m->hosts, sizeof *spoke);
    const struct nt_model *f = w->found.m, *r = w->reference.m, *star = NULL, *mesh = NULL;
    double sum = 0;
    if (nt_arena_check(&memory, w->err) != 0)
        return -1;
    if (is_mesh(r, w->missing, &memory) && is_star(f, w->missing, spoke)) {
        star = f;
        mesh = r;
    } else if (is_mesh(f, w->missing, &memory) && is_star(r, w->missing, spoke)) {
        star = r;
        mesh = f;
    }
    for (size_t k = 0; mesh != NULL && k < mesh->links; k++)
        if (pair_differs(w, star, spoke, mesh, &mesh->link[k]))
            return 0;
    if (mesh == NULL)
        return nt_arena_check(&memory, w->err);
    for (size_t k = 0; k < f->links; k++)
        sum += f->link[k].probability;
    w->c->links = f->links;
    w->c->figures_percent = w->c->common_percent = 100;
    w->c->similarity_percent = 100 * sum / (double)f->links;
    return 1;
}

static int compare_all(struct work *w)
{
    if (division_init(&w->found, w->found.m, w->err) != 0 ||
        division_init(&w->reference, w->reference.m, w->err) != 0)
        return -1;
    for (uint32_t h = 0; h < w->found.m->hosts; h++) {
        struct nt_difference d = plain_difference(NT_DIFFERENCE_HOST_MISSING, 1);
        d.host = h;
        if (w->missing[h] && !w->reference.m->missing[h] && add_difference(w, d) != 0)
            return -1;
    }
    int same = are_equivalent(w);
    if (same != 0)
        return same < 0 ? -1 : 0;
    w->trees = w->found.tree && w->reference.tree;
    if (!w->trees && compare_neighbours(w) != 0)
        return -1;
    if (w->trees && (match_divisions(w) != 0 || compare_divisions(w) != 0 || judge_cables(w) != 0))
        return -1;
    return measure_similarity(w);
}

static int work_init(struct work *w, bool *missing, struct nt_arena *memory)
{
    const struct nt_model *f = w->found.m, *r = w->reference.m;
    w->moved = nt_arena_array(memory, f->hosts, sizeof *w->moved);
    w->together = nt_arena_array(memory, f->hosts, sizeof *w->together);
    w->taken = nt_arena_array(memory, f->links, sizeof *w->taken);
    w->turned = nt_arena_array(memory, r->links, sizeof *w->turned);
    w->latency_ok = nt_arena_array(memory, r->links, sizeof *w->latency_ok);
    w->rate_ok = nt_arena_array(memory, r->links, sizeof *w->rate_ok);
    w->c->matched = nt_arena_array(&w->c->memory, r->links, sizeof *w->c->matched);
    if (nt_arena_check(memory, w->err) != 0 || nt_arena_check(&w->c->memory, w->err) != 0)
        return -1;
    for (size_t k = 0; k < r->links; k++)
        w->c->matched[k] = -1;
    w->c->reference_links = r->links;
    for (size_t h = 0; h < f->hosts; h++)
        missing[h] = f->missing[h] || r->missing[h];
    w->missing = missing;
    /* three values per link, each of which may be too high or too low */
    w->z_limit = nt_normal_quantile(1 - FALSE_ALARM / (double)(6 * r->links + 1));
    return 0;
}

int nt_compare(const struct nt_model *found, const struct nt_model *reference, double tolerance,
               struct nt_comparison **out, struct nt_err *err)
{
    if (found->hosts != reference->hosts)
        return nt_err_set(err, NT_ERR_INPUT, "%zu hosts compared with %zu", found->hosts,
                          reference->hosts);
    struct work w = {
        .found.m = found, .reference.m = reference, .tolerance = tolerance, .err = err};
    NT_SCOPED struct nt_arena memory = {0};
    bool *missing = nt_arena_array(&memory, found->hosts, sizeof *missing);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    w.c = nt_object_create(sizeof *w.c, err);
    if (w.c == NULL)
        return -1;
    int rc = work_init(&w, missing, &memory);
    if (rc == 0)
        rc = compare_all(&w);
    division_fini(&w.found);
    division_fini(&w.reference);
    if (rc == 0)
        *out = w.c;
    else
        nt_comparison_destroy(w.c);
    return rc;
}

void nt_comparison_destroy(struct nt_comparison *c)
{
    nt_object_destroy(c);
}

bool nt_compare_side(const struct nt_model *model, uint32_t link, bool *side)
{
    struct division v;
    NT_SCOPED struct nt_arena memory = {0};
    bool *missing = nt_arena_array(&memory, model->hosts, sizeof *missing);
    if (missing == NULL)
        return false;
    bool done =
        division_init(&v, model, NULL) == 0 && v.tree && division_key(&v, missing, NULL) == 0;
    if (done)
        division_mark(&v, link, model->missing, side);
    division_fini(&v);
    return done;
}

int64_t nt_compare_find(const struct nt_model *model, const bool *side)
{
    struct division v;
    int64_t found = -1;
    size_t on = 0;
    for (size_t h = 0; h < model->hosts; h++)
        on += side[h];
    for (size_t k = 0; k < model->links && on == 1 && found < 0; k++) {
        const struct nt_link *l = &model->link[k];
        if ((l->a < model->hosts && side[l->a]) || (l->b < model->hosts && side[l->b]))
            found = (int64_t)k;
    }
    if (on == 1)
        return found;
    if (division_init(&v, model, NULL) == 0 && v.tree &&
        division_key(&v, model->missing, NULL) == 0) {
        uint64_t key = division_key_of(&v, model->missing, side);
        for (size_t k = 0; k < model->links && found < 0; k++)
            found = v.key[k] == key ? (int64_t)k : -1;
    }
    division_fini(&v);
    return found;
}
