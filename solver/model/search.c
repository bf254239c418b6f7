/* SPDX-License-Identifier: Apache-2.0 */
#include "search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "merges.h"

/* ln odds under which a chain is not scored in full: it then weighs under 0.7 % of the best. */
static const double near = 5;
/* Possible error of a screen, since the lengths of the other links are fixed. */
static const double screened = 6;

enum {
    CUTS = 12,        /* of a linkage, at its widest gaps; all of them up to 13 hosts */
    INSERT_CUTS = 6,  /* of them below a tier that is there */
    PLACES = 8,       /* of a unit or a split, the best by the screen, that are scored */
    PAIR_CUTS = 7,    /* of which pairs are tried */
    SPLIT_UNITS = 7,  /* up to which all 63 ways to part a group are tried */
    NEIGHBOURS = 8,   /* chains after the best whose neighbours are also scored */
    SMALL_HOSTS = 16, /* up to which scoring all places costs no more than screening them */
    WIDE_HOSTS = 10,  /* up to which several moves at once matter for the support */
};

/* The prior probability that hosts have two kinds of ends. */
static const double two_populations = 0.25;

struct option {
    double score;
    uint32_t to, beside;
};

struct cut {
    double gap;
    size_t after;
};

struct move {
    double gain;
    uint32_t host, to, beside;
};

struct tally { /* of the readings between a unit and the hosts below a node */
    double count, sum, square;
};

struct crossing { /* of the readings between two units of a group */
    double count, sum;
    double odds; /* ln odds of one more link, summed over the pairs */
};

/* Values of the best chain. */
struct of_best {
    double *lengths, *ways;
    double *end;             /* hosts: the way to the parent node of the tree */
    struct nt_outliers high; /* outliers that are too high */
    struct nt_chain_tree tree;
    uint32_t *first;    /* tiers * hosts: the first host of each group */
    double ends, links; /* variances at its place, over s^2 */
    double prior;       /* ln p(chain) */
};

/* Average linkage of units (merges.h), with the cuts of it. */
struct linkage {
    uint32_t *units, *group, *parent; /* hosts: their unit; units */
    struct nt_merge_entry *table;
    double *mean; /* per host: mean that is subtracted from its readings */
    struct nt_merge *merge;
    struct cut *cut;
};

struct search_work {
    struct nt_chain chain, start;
    struct of_best best;
    struct linkage link;
    uint32_t *map, *room, *members;
    struct tally *below, *inner;
    struct option *option;
    struct move *move;
    double *longer;
    bool *done, *left, *joined;
    bool *near;       /* hosts that the screen found another place for */
    bool allow_low;   /* readings may be too low */
    bool greedy;      /* far from the best: what the screen finds worse is not scored in full */
    uint32_t refined; /* the best that no move makes better */
    size_t without;   /* an entry that the screen leaves out; SIZE_MAX: none */
    /* few hosts; chains are only added to the table, without a change of the best */
    bool small, hold;
};

/* ---- the table ---- */

static struct nt_visit *place_of(struct nt_visit *table, size_t room, uint64_t hash)
{
    size_t k = hash & (room - 1);
    while (table[k].hash != 0 && table[k].hash != hash)
        k = (k + 1) & (room - 1);
    return &table[k];
}

static void grow_table(struct nt_search *s)
{
    size_t room = s->room == 0 ? 1024 : 2 * s->room;
    struct nt_visit *table = nt_arena_array(&s->memory, room, sizeof *table);
    if (table == NULL)
        return;
    for (size_t k = 0; k < s->room; k++)
        if (s->visit[k].hash != 0)
            *place_of(table, room, s->visit[k].hash) = s->visit[k];
    s->visit = table;
    s->room = room;
}

/* The visit of a canonical chain, made if it is new; NULL without memory. */
static struct nt_visit *visit_of(struct nt_search *s, const struct nt_chain *chain)
{
    if (2 * s->visits >= s->room)
        grow_table(s);
    size_t need = s->labels_used + (size_t)chain->tiers * chain->hosts;
    uint32_t *grown =
        nt_arena_grow(&s->memory, s->labels, &s->labels_room, need + 1, sizeof *s->labels);
    if (grown == NULL || s->memory.failed != 0)
        return NULL;
    s->labels = grown;
    struct nt_visit *v = place_of(s->visit, s->room, nt_chain_hash(chain));
    if (v->hash != 0)
        return v;
    *v = (struct nt_visit){.hash = nt_chain_hash(chain),
                           .score = -(double)INFINITY,
                           .tiers = chain->tiers,
                           .labels = s->labels_used};
    for (uint32_t k = 0; k < chain->tiers; k++)
        for (uint32_t i = 0; i < chain->hosts; i++)
            s->labels[s->labels_used++] = chain->label[i].tier[k];
    s->visits++;
    return v;
}

/* Fills chain (of as many hosts) from a visit. */
static void fill_chain(const struct nt_search *search, const struct nt_visit *visit,
                       struct nt_chain *chain)
{
    chain->tiers = visit->tiers;
    memset(chain->label, 0, chain->hosts * sizeof *chain->label);
    for (uint32_t k = 0; k < visit->tiers; k++) {
        chain->groups[k] = 0;
        for (uint32_t i = 0; i < chain->hosts; i++) {
            uint32_t label = search->labels[visit->labels + (size_t)k * chain->hosts + i];
            uint32_t number = nt_chain_number(label);
            chain->label[i].tier[k] = label;
            chain->groups[k] = number >= chain->groups[k] ? number + 1 : chain->groups[k];
        }
    }
}

/* ---- scoring a chain ---- */

static double chain_prior(struct nt_search *s, const struct nt_chain *chain)
{
    return nt_chain_prior(&s->prior, chain, s->work->room);
}

static double ratio_square(double place)
{
    return nt_score_ratio(place) * nt_score_ratio(place);
}

/* Sets the state of the score to the best chain. */
static void set_state(struct nt_search *s)
{
    struct search_work *w = s->work;
    nt_score_set_off(s->score, &s->outliers);
    nt_score_set_base(s->score, &s->best);
    w->best.prior = chain_prior(s, &s->best);
    s->best_quick = nt_score_quick(s->score, s->place, NULL, 0, &s->value) + w->best.prior;
    s->bests++;
    w->best.ends = ratio_square(s->place.ends);
    w->best.links = ratio_square(s->place.links);
    memcpy(w->best.lengths, s->fit.length, s->fit.tree->nodes * sizeof *w->best.lengths);
    memcpy(w->best.ways, nt_score_path_lengths(s->score),
           (size_t)s->best.hosts * NT_CHAIN_CLASSES * sizeof *w->best.ways);
    nt_outliers_copy(&w->best.high, &s->outliers, &s->memory);
    nt_score_keep_high(s->score, &w->best.high);
    nt_chain_tree_make(&w->best.tree, &s->best, w->room);
    for (uint32_t i = 0; i < s->best.hosts; i++)
        w->best.end[i] =
            w->best.ways[i * NT_CHAIN_CLASSES + w->best.tree.class[w->best.tree.parent[i]]];
    memset(w->best.first, 0xff, (size_t)NT_TIERS_MAX * s->best.hosts * sizeof *w->best.first);
    for (uint32_t i = s->best.hosts; i-- > 0;)
        for (uint32_t k = 0; k < s->best.tiers; k++)
            w->best.first[k * s->best.hosts + nt_chain_number(s->best.label[i].tier[k])] = i;
}

static void note_score(struct nt_visit *v, double score, bool exact,
                       const struct nt_score_value *value, uint32_t tiers)
{
    v->score = score;
    v->exact = exact;
    for (uint32_t k = 0; k < tiers; k++)
        v->step[k] = (float)(value->mean[1 + k] / value->sd);
}

/* Scores the current chain in full, adds it to the table, and returns whether it became the
 * best. */
static bool score_full(struct nt_search *s, const struct nt_chain *chain, struct nt_visit *v,
                       struct nt_score_place place)
{
    struct nt_score_value value;
    double score = nt_score_thorough(s->score, &place, &value) + chain_prior(s, chain);
    if (!v->exact || score > v->score)
        note_score(v, score, true, &value, chain->tiers);
    v->compared_with = s->bests;
    bool better = !s->work->hold && score > s->best_score + NT_SCORE_WORTH;
    if (better) {
        s->work->greedy = !s->work->small && (s->work->greedy || score > s->best_score + near);
        nt_chain_copy(&s->best, chain);
        s->best_score = score;
        s->place = place;
        nt_outliers_copy(&s->outliers, s->fit.outliers, &s->memory);
        set_state(s);
    } else {
        nt_score_set_off(s->score, &s->outliers);
    }
    return better;
}

/* How a chain is judged before it is scored in full: with the variances of the best chain, with its
 * own, or not at all. */
enum effort { NARROW, WIDE, FULL };

/* Returns the ln odds of work->chain over the best chain, from a screen, and sets *place to the
 * maximum of the chain. Does not compute the integral if the values near the maximum are too low.
 */
static double screen_chain(struct nt_search *s, size_t count, enum effort effort,
                           struct nt_score_place *place, struct nt_score_value *value)
{
    const uint32_t *moved = s->work->members;
    double prior = chain_prior(s, &s->work->chain);
    double quick = nt_score_quick(s->score, *place, moved, count, value);
    if (effort == NARROW)
        return quick - s->best_quick + prior;
    for (int fine = 0; fine < 2; fine++) {
        double more = nt_score_locate(s->score, place, fine);
        quick = fmax(quick, nt_score_quick(s->score, *place, moved, count, value));
        if (quick - s->best_score + prior < -near - screened - more)
            return quick - s->best_score + prior;
    }
    double sum = nt_score_integrate(s->score, place, value);
    quick = nt_score_quick(s->score, *place, moved, count, value);
    return sum + quick - value->log_likelihood - s->best_score + prior;
}

/* Scores work->chain; returns whether it is the new best. count: it differs from the best only in
 * the labels of members[count], 0: unknown; within: and only in classes of pairs of these. */
static bool try_change(struct nt_search *s, size_t count, bool within, enum effort effort)
{
    struct search_work *w = s->work;
    struct nt_score_value value;
    nt_chain_canonicalise(&w->chain, w->map);
    struct nt_visit *v = visit_of(s, &w->chain);
    if (v == NULL ||
        (isfinite(v->score) && (v->compared_with == 0 || v->compared_with == s->bests)))
        return false;
    bool again = v->exact; /* but with the outliers of another best */
    if (effort != NARROW)  /* low readings may be groups that no chain has yet */
        nt_score_set_off(s->score, &w->best.high);
    if (count > 0)
        nt_score_set_moved(s->score, &w->chain, w->members, count, within);
    else
        nt_score_set_chain(s->score, &w->chain);
    struct nt_score_place place = s->place;
    if (effort == FULL) {
        nt_score_integrate(s->score, &place, &value);
        return score_full(s, &w->chain, v, place);
    }
    double gain = screen_chain(s, count, effort, &place, &value);
    if (gain >= (again || w->greedy ? NT_SCORE_WORTH : -near))
        return score_full(s, &w->chain, v, place);
    if (!again && s->best_score + gain > v->score)
        note_score(v, s->best_score + gain, false, &value, w->chain.tiers);
    v->compared_with = effort == WIDE && !w->allow_low ? 0 : s->bests;
    if (gain >= -near) /* to be scored in full unless the best changes */
        v->compared_with = UINT32_MAX;
    if (effort != NARROW)
        nt_score_set_off(s->score, &s->outliers);
    return false;
}

static bool score_chain(struct nt_search *s, size_t count, enum effort effort)
{
    return try_change(s, count, false, effort);
}

/* As above, unless the chain is too unlikely. odds: of its readings, by the screen of a move. */
static bool score_screened(struct nt_search *s, size_t count, bool within, double odds)
{
    struct search_work *w = s->work;
    nt_chain_canonicalise(&w->chain, w->map);
    if (!w->small && odds + chain_prior(s, &w->chain) - w->best.prior < -near - screened)
        return false;
    return try_change(s, count, within, NARROW);
}

/* ---- the screen: a unit at every place, with all other links as they are ---- */

/* A host or a group that moves: its hosts are work->members. */
struct unit {
    size_t count;
    uint32_t tier; /* of a group; a host's links start at tier 0, too */
    bool host;
    uint32_t inside; /* class of the group's node */
};

/* The node of the group of host i at tier k. */
static uint32_t node_at(const struct nt_chain_tree *t, uint32_t i, uint32_t k)
{
    uint32_t v = i;
    while ((t->mask[v] >> k & 1) == 0)
        v = t->parent[v];
    return v;
}

/* Sums of the readings between the unit, which is marked, and all others, at each node that they
 * are below. */
static void tally(struct nt_search *s, const struct unit *u)
{
    struct search_work *w = s->work;
    const struct nt_chain_tree *t = &w->best.tree;
    const struct nt_pairs *p = s->pairs;
    memset(w->below, 0, t->nodes * sizeof *w->below);
    memset(w->inner, 0, t->nodes * sizeof *w->inner);
    for (size_t m = 0; m < u->count; m++) {
        uint32_t i = w->members[m];
        double own = u->host ? 0 : w->best.ways[i * NT_CHAIN_CLASSES + u->inside];
        for (size_t k = p->start[i]; k < p->start[i + 1]; k++) {
            uint32_t j = p->entry[k].host;
            if (s->fit.off[k] || w->done[j] || k == w->without)
                continue;
            double weight = nt_pairs_weight(p, k),
                   rest = (double)p->entry[k].value - own - w->best.end[j];
            w->below[j].count += weight;
            w->below[j].sum += weight * rest;
            w->below[j].square += weight * rest * rest;
        }
    }
    for (uint32_t v = 0; v + 1 < t->nodes; v++) {
        struct tally *up = &w->inner[t->parent[v]], *own = &w->below[v];
        if (v >= t->hosts) { /* the distances of those inside, longer by the node's link */
            double length = w->best.lengths[v];
            *own = w->inner[v];
            own->square += length * (length * own->count - 2 * own->sum);
            own->sum -= length * own->count;
        }
        up->count += own->count;
        up->sum += own->sum;
        up->square += own->square;
    }
}

/* Adds a tally, with weight w, whose readings are longer by shift than the subtracted value. */
static void add(struct tally *total, double *log_w, const struct tally *a, const struct tally *less,
                double shift, double w)
{
    double n = a->count - (less != NULL ? less->count : 0);
    double sum = a->sum - (less != NULL ? less->sum : 0);
    double square = a->square - (less != NULL ? less->square : 0);
    total->count += w * n;
    total->sum += w * (sum - shift * n);
    total->square += w * (square - 2 * shift * sum + shift * shift * n);
    *log_w += n * log(w);
}

/* ln p of the unit's readings if it is placed at tier to with host j (to = tiers: alone), up to a
 * constant. */
static double screen(const struct nt_search *s, const struct unit *u, uint32_t to, uint32_t j)
{
    const struct search_work *w = s->work;
    const struct nt_chain_tree *t = &w->best.tree;
    const double *weight = s->fit.weight, *step = &s->value.mean[1];
    uint32_t v = to < s->best.tiers ? node_at(t, j, to) : t->nodes - 1;
    struct tally total = {0};
    double log_w = 0, shift = 0, mean = u->host ? s->value.mean[0] / 2 : 0;
    bool joins = v >= t->hosts && t->class[v] == to;
    if (joins) {
        add(&total, &log_w, &w->inner[v], NULL, 0, weight[to]);
        shift = v + 1 < t->nodes ? w->best.lengths[v] : 0;
    } else { /* beside a node whose link then ends at tier to */
        for (uint32_t k = to; k < s->best.tiers; k++)
            shift += (t->mask[v] & ~t->flat[v]) >> k & 1 ? step[k] / 2 : 0;
        add(&total, &log_w, &w->below[v], NULL, -shift, weight[to]);
    }
    for (uint32_t p; v + 1 < t->nodes; v = p) {
        p = t->parent[v];
        add(&total, &log_w, &w->inner[p], &w->below[v], shift, weight[t->class[p]]);
        shift += p + 1 < t->nodes ? w->best.lengths[p] : 0;
    }
    double s2 = s->value.sd * s->value.sd;
    double variance = (u->host ? w->best.ends : 0) + (to - u->tier) * w->best.links;
    if (u->host && s->far[w->members[0]])
        variance += s->far_prior.sd * s->far_prior.sd / s2;
    for (uint32_t k = u->tier; k < to; k++)
        mean += step[k] / 2;
    if (s->populations && u->host && s->second[w->members[0]])
        mean += s->value.mean[1 + s->best.tiers];
    double square = total.square - 2 * mean * total.sum + mean * mean * total.count;
    double sum = total.sum - mean * total.count;
    if (variance <= 0)
        return log_w / 2 - square / (2 * s2);
    double all = total.count + 1 / variance;
    return log_w / 2 - (square - sum * sum / all) / (2 * s2) - log(all * variance) / 2;
}

/* ---- moves ---- */

static int by_score(const void *x, const void *y)
{
    const struct option *a = x, *b = y;
    return NT_ORDER(b->score, a->score, NT_ORDER(a->to, b->to, NT_ORDER(a->beside, b->beside, 0)));
}

/* work->chain: the best with the unit placed at tier to with host j. */
static void place_unit(struct nt_search *s, const struct unit *u, uint32_t to, uint32_t j)
{
    struct search_work *w = s->work;
    nt_chain_copy(&w->chain, &s->best);
    for (size_t m = 0; m < u->count; m++) {
        uint32_t *label = w->chain.label[w->members[m]].tier;
        for (uint32_t k = u->tier + (u->host ? 0 : 1); k < to; k++)
            label[k] = s->best.hosts + w->members[0]; /* no group has it */
        for (uint32_t k = to; k < s->best.tiers; k++)
            label[k] = s->best.label[j].tier[k];
    }
}

/* A host of group a of tier to outside the (marked) unit; hosts: none. */
static uint32_t beside(const struct nt_search *s, uint32_t to, uint32_t a)
{
    uint32_t hosts = s->best.hosts, j = s->work->best.first[to * hosts + a];
    while (j < hosts && (s->work->done[j] || nt_chain_number(s->best.label[j].tier[to]) != a))
        j++;
    return j;
}

static void mark(struct search_work *w, size_t count, bool on)
{
    for (size_t m = 0; m < count; m++)
        w->done[w->members[m]] = on;
}

/* Lists the places of a unit that the screen finds worse than where it is by less than slack, best
 * first; *here: the score of where it is. */
static size_t list_places(struct nt_search *s, const struct unit *u, double slack, double *here)
{
    struct search_work *w = s->work;
    uint32_t tiers = s->best.tiers, lead = w->members[0];
    bool found = false; /* where it is: with the first others of its own groups */
    size_t n = 0;
    mark(w, u->count, true);
    if (!w->small)
        tally(s, u);
    for (uint32_t to = u->tier; to <= tiers; to++)
        for (uint32_t a = 0; a < (to < tiers ? s->best.groups[to] : 1); a++) {
            bool own = to == tiers || nt_chain_number(s->best.label[lead].tier[to]) == a;
            uint32_t j = to < tiers ? beside(s, to, a) : lead;
            if (j >= s->best.hosts)
                continue;
            double score = w->small ? 0 : screen(s, u, to, j);
            if (own && !found) {
                *here = score;
                found = true;
                continue;
            }
            w->option[n++] = (struct option){score, to, j};
        }
    mark(w, u->count, false);
    if (w->small)
        return n;
    size_t kept = 0;
    for (size_t k = 0; k < n; k++)
        if (w->option[k].score > *here - slack)
            w->option[kept++] = w->option[k];
    qsort(w->option, kept, sizeof *w->option, by_score);
    return kept;
}

/* Tries the places of a unit that the screen finds worse than where it is by less than slack;
 * whether one is better. */
static bool try_places(struct nt_search *s, const struct unit *u, double slack)
{
    struct search_work *w = s->work;
    double here = 0;
    size_t n = list_places(s, u, slack, &here);
    size_t most = w->small || n < PLACES ? n : PLACES;
    for (size_t k = 0; k < most; k++) {
        place_unit(s, u, w->option[k].to, w->option[k].beside);
        if (score_screened(s, u->count, false, w->option[k].score - here))
            return true;
    }
    return false;
}

/* A reading that is too low keeps a host in its group, so the places are also screened without the
 * lowest reading of its smallest group. */
static bool move_unit(struct nt_search *s, const struct unit *u)
{
    const struct nt_pairs *p = s->pairs;
    if (try_places(s, u, near + screened))
        return true;
    if (!s->work->allow_low || s->work->small || !u->host)
        return false;
    size_t least = SIZE_MAX;
    uint32_t i = *s->work->members, class = NT_CHAIN_CLASSES;
    for (size_t k = p->start[i]; k < p->start[i + 1]; k++) {
        uint32_t c = nt_chain_class(&s->best, i, p->entry[k].host);
        if (s->fit.off[k] || c > class ||
            (c == class && least != SIZE_MAX && p->entry[k].value >= p->entry[least].value))
            continue;
        class = c;
        least = k;
    }
    s->work->without = least;
    bool moved = try_places(s, u, near);
    s->work->without = SIZE_MAX;
    return moved;
}

static int by_gain(const void *x, const void *y)
{
    const struct move *a = x, *b = y;
    return NT_ORDER(b->gain, a->gain, NT_ORDER(a->host, b->host, 0));
}

/* Moves all hosts at once that the screen places elsewhere: the largest gains first, of groups that
 * no other host leaves or joins. Returns whether that is better. */
static bool move_together(struct nt_search *s)
{
    struct search_work *w = s->work;
    const struct nt_chain_tree *t = &w->best.tree;
    uint32_t n = 0, hosts = s->best.hosts;
    bool *left = w->left, *joined = w->joined;
    for (uint32_t i = 0; i < hosts; i++) {
        struct unit u = {.count = 1, .host = true};
        double here = 0;
        w->members[0] = i;
        w->near[i] = list_places(s, &u, near + screened, &here) > 0;
        if (w->near[i] && w->option[0].score > here + NT_SCORE_WORTH)
            w->move[n++] =
                (struct move){w->option[0].score - here, i, w->option[0].to, w->option[0].beside};
    }
    if (n < 2)
        return false;
    qsort(w->move, n, sizeof *w->move, by_gain);
    nt_chain_copy(&w->chain, &s->best);
    memset(left, 0, t->nodes * sizeof *left);
    memset(joined, 0, t->nodes * sizeof *joined);
    for (uint32_t m = 0; m < n; m++) {
        const struct move *v = &w->move[m];
        uint32_t from = t->parent[v->host];
        uint32_t into = v->to < s->best.tiers ? node_at(t, v->beside, v->to) : t->nodes - 1;
        if (joined[from] || left[into])
            continue;
        left[from] = from + 1 < t->nodes;
        joined[into] = into + 1 < t->nodes;
        uint32_t *label = w->chain.label[v->host].tier;
        for (uint32_t k = 0; k < s->best.tiers; k++)
            label[k] = k < v->to ? hosts + v->host : s->best.label[v->beside].tier[k];
    }
    return score_chain(s, 0, WIDE);
}

static bool move_hosts(struct nt_search *s)
{
    bool any = false;
    while (!s->work->small && s->best.tiers > 0 && move_together(s))
        any = true;
    for (uint32_t i = 0; i < s->best.hosts && s->best.tiers > 0; i++) {
        struct unit u = {.count = 1, .host = true};
        s->work->members[0] = i;
        if (s->work->small || s->work->allow_low || s->work->near[i])
            any = move_unit(s, &u) || any;
    }
    return any;
}

/* The hosts of group a of tier k into work->members. */
static size_t members_of(struct nt_search *s, uint32_t k, uint32_t a)
{
    size_t n = 0;
    for (uint32_t i = 0; i < s->best.hosts; i++)
        if (nt_chain_number(s->best.label[i].tier[k]) == a)
            s->work->members[n++] = i;
    return n;
}

static bool move_groups(struct nt_search *s)
{
    bool any = false;
    for (uint32_t k = 0; k < s->best.tiers; k++)
        for (uint32_t a = 0; k < s->best.tiers && a < s->best.groups[k]; a++) {
            struct unit u = {.tier = k, .count = members_of(s, k, a)};
            if (u.count < 2)
                continue;
            u.inside =
                s->work->best.tree.class[node_at(&s->work->best.tree, s->work->members[0], k)];
            any = move_unit(s, &u) || any;
        }
    return any;
}

/* Sums and counts of the readings between units, with work->link.mean subtracted for each end, in
 * work->link.table. Hosts whose unit is UINT32_MAX are left out, and with parent also pairs
 * of different parents. */
static void sum_units(struct nt_search *s, uint32_t units, const uint32_t *parent)
{
    struct search_work *w = s->work;
    const struct nt_pairs *p = s->pairs;
    size_t pitch = nt_merges_pitch(units);
    memset(w->link.table, 0, units * pitch * sizeof *w->link.table);
    for (uint32_t i = 0; units == p->hosts && i < p->hosts; i++) /* each is one: row by row */
        for (size_t k = p->start[i]; k < p->start[i + 1]; k++) {
            uint32_t j = p->entry[k].host;
            if (s->fit.off[k] || (parent != NULL && parent[i] != parent[j]))
                continue;
            double value = (double)p->entry[k].value - (w->link.mean[i] + w->link.mean[j]);
            w->link.table[i * pitch + j] = (struct nt_merge_entry){(float)value, 1};
        }
    for (uint32_t i = 0; units < p->hosts && i < p->hosts; i++)
        for (size_t k = w->link.units[i] != UINT32_MAX ? p->start[i + 1] : p->start[i];
             k-- > p->start[i] && p->entry[k].host > i;) {
            uint32_t a = w->link.units[i], b = w->link.units[p->entry[k].host];
            if (b == UINT32_MAX || a == b || s->fit.off[k] ||
                (parent != NULL && parent[a] != parent[b]))
                continue;
            double value =
                (double)p->entry[k].value - (w->link.mean[i] + w->link.mean[p->entry[k].host]);
            struct nt_merge_entry *at = &w->link.table[a * pitch + b];
            at->sum += (float)value;
            at->count += 1;
            w->link.table[b * pitch + a] = *at;
        }
}

/* The ends of hosts: the best chain's values, less the tiers in which they are alone. */
static void subtract_tiers(struct nt_search *s)
{
    const struct nt_chain_tree *t = &s->work->best.tree;
    for (uint32_t i = 0; i < s->best.hosts; i++) {
        s->work->link.mean[i] = s->work->best.lengths[i];
        for (uint32_t k = 0; k < s->best.tiers; k++)
            if ((t->mask[i] & ~t->flat[i]) >> k & 1)
                s->work->link.mean[i] -= s->value.mean[1 + k] / 2;
    }
}

/* The first host of the unit of host i below tier k: the highest group with a link, or the host.
 * The unit is not part of the groups from tier *from to k, which have no link. */
static uint32_t unit_of(const struct nt_search *s, uint32_t i, uint32_t k, uint32_t *from)
{
    const uint32_t *label = s->best.label[i].tier, hosts = s->best.hosts;
    while (k > 0 && label[k - 1] & NT_CHAIN_FLAT)
        k--;
    *from = k;
    return k > 0 ? s->work->best.first[(k - 1) * hosts + label[k - 1]] : i;
}

/* Takes a host's unit below tier k out of the groups without a link, in work->chain. */
static void take_out(struct nt_search *s, uint32_t i, uint32_t k)
{
    uint32_t from, unit = unit_of(s, i, k, &from);
    for (uint32_t c = from; c < k; c++)
        s->work->chain.label[i].tier[c] = NT_CHAIN_FLAT | (s->best.hosts + unit);
}

/* Numbers the units of the members below tier k in the order of hosts; UINT32_MAX for all other
 * hosts. */
static uint32_t units_of(struct nt_search *s, uint32_t k, size_t count)
{
    struct search_work *w = s->work;
    uint32_t n = 0, from;
    for (uint32_t i = 0; i < s->best.hosts; i++)
        w->link.units[i] = w->map[i] = UINT32_MAX;
    for (size_t m = 0; m < count; m++) {
        uint32_t i = w->members[m], unit = unit_of(s, i, k, &from);
        if (w->map[unit] == UINT32_MAX)
            w->map[unit] = n++;
        w->link.units[i] = w->map[unit];
    }
    return n;
}

/* Sums the residuals between units of the marked group of tier k. Returns whether longer paths by a
 * step would explain a pair that is left out. In the odds, a pair beyond the tail's limit (pairs.h)
 * counts as left out, since that is more probable. */
static bool sum_split(struct nt_search *s, uint32_t k, double step, size_t count,
                      struct crossing cross[SPLIT_UNITS][SPLIT_UNITS])
{
    const struct search_work *w = s->work;
    const struct nt_pairs *p = s->pairs;
    double limit = nt_pairs_tail_limit(s->value.sd);
    double sd = s->value.sd * sqrt(1 / s->fit.weight[k] + 2 * w->best.links);
    bool explained = false;
    memset(cross, 0, SPLIT_UNITS * sizeof *cross);
    for (size_t m = 0; m < count; m++)
        for (size_t n = m + 1; n < count; n++) {
            uint32_t i = w->members[m], j = w->members[n], a = w->link.units[i],
                     b = w->link.units[j];
            const struct nt_pair_entry *e = a != b ? nt_pairs_find(p, i, j) : NULL;
            if (e == NULL)
                continue;
            size_t at = (size_t)(e - p->entry);
            double weight = nt_pairs_weight(p, at);
            double rest = (double)e->value - w->best.ways[i * NT_CHAIN_CLASSES + k] -
                          w->best.ways[j * NT_CHAIN_CLASSES + k];
            double one = s->fit.off[at] ? limit : rest / sd, more = (rest - step) / sd;
            struct crossing *t = a < b ? &cross[a][b] : &cross[b][a];
            t->odds += (one * one - fmin(more * more, limit * limit)) / 2;
            explained = explained || (s->fit.off[at] && fabs(more) < limit);
            if (s->fit.off[at])
                continue;
            t->count += weight;
            t->sum += weight * rest;
        }
    return explained;
}

/* ln odds of parting units (bits) from the others of a group of tier k, by the readings between
 * them: longer by a step, or not. explained: the result of sum_split. If true, outliers may
 * determine the mean, so that each pair counts by itself. */
static double screen_split(const struct nt_search *s, uint32_t k, double step, uint32_t bits,
                           bool explained, struct crossing cross[SPLIT_UNITS][SPLIT_UNITS])
{
    double count = 0, sum = 0, odds = 0, weight = s->fit.weight[k];
    for (uint32_t a = 0; a < SPLIT_UNITS; a++)
        for (uint32_t b = a + 1; b < SPLIT_UNITS; b++)
            if ((bits >> a ^ bits >> b) & 1) {
                count += cross[a][b].count;
                sum += cross[a][b].sum;
                odds += cross[a][b].odds;
            }
    if (explained || count <= 0)
        return odds;
    double mean = sum / count, s2 = s->value.sd * s->value.sd;
    double one = s2 / (count * weight), more = one + 2 * s->work->best.links * s2;
    return mean * mean / (2 * one) - (mean - step) * (mean - step) / (2 * more) +
           log(one / more) / 2;
}

/* Parts the units of a group in all ways, or those of its last merge. part: one side has no link,
 * since it is attached to the group's own switch. */
static bool split_group(struct nt_search *s, uint32_t k, size_t count, uint32_t units, bool part)
{
    struct search_work *w = s->work;
    struct crossing cross[SPLIT_UNITS][SPLIT_UNITS];
    if (units > SPLIT_UNITS) { /* the two of the last merge, or those that outliers alone connect */
        subtract_tiers(s);
        sum_units(s, units, NULL);
        size_t merges = nt_merges_find(units, w->link.table, NULL, w->link.merge, w->room);
        if (merges == 0)
            return false;
        nt_merges_cut(w->link.merge, merges + 1 < units ? merges : merges - 1, units,
                      w->link.group);
        for (size_t m = 0; m < count; m++)
            w->link.units[w->members[m]] =
                w->link.group[w->link.units[w->members[m]]] != w->link.group[0];
        units = 2;
    }
    size_t n = 0;
    enum { NONE, FIRST, REST } flat = part ? FIRST : NONE; /* the side without a link */
    for (; flat <= (part ? REST : NONE); flat++) {
        double step = s->value.mean[1 + k] / (part ? 2 : 1), score = 0;
        bool explained = !w->small && sum_split(s, k, step, count, cross);
        for (uint32_t bits = 1; bits < 1u << (units - 1); bits++) {
            if (!w->small)
                score = screen_split(s, k, step, bits, explained, cross);
            if (score >= -near - screened)
                w->option[n++] = (struct option){score, bits, flat};
        }
    }
    qsort(w->option, n, sizeof *w->option, by_score);
    for (size_t o = 0; o < n && (o < PLACES || w->small); o++) {
        nt_chain_copy(&w->chain, &s->best);
        for (size_t m = 0; m < count; m++) {
            uint32_t *label = &w->chain.label[w->members[m]].tier[k];
            take_out(s, w->members[m], k);
            bool first = w->option[o].to >> w->link.units[w->members[m]] & 1;
            *label = first ? s->best.hosts : *label;
            *label |= w->option[o].beside == (first ? FIRST : REST) ? NT_CHAIN_FLAT : 0;
        }
        if (score_screened(s, count, true, w->option[o].score))
            return true;
    }
    return false;
}

static bool split_groups(struct nt_search *s, bool part)
{
    bool any = false;
    for (uint32_t k = 0; k < s->best.tiers; k++)
        for (uint32_t a = 0; k < s->best.tiers && a < s->best.groups[k]; a++) {
            size_t count = members_of(s, k, a);
            uint32_t units = units_of(s, k, count);
            if (units > 1)
                any = split_group(s, k, count, units, part) || any;
        }
    return any;
}

/* Takes the links of a node in these tiers away, or gives it them. */
static bool flatten(struct nt_search *s, uint32_t k, uint32_t a, uint32_t tiers)
{
    struct search_work *w = s->work;
    size_t count = members_of(s, k, a);
    nt_chain_copy(&w->chain, &s->best);
    for (size_t m = 0; m < count; m++)
        for (uint32_t c = 0; c < s->best.tiers; c++)
            if (tiers >> c & 1)
                w->chain.label[w->members[m]].tier[c] ^= NT_CHAIN_FLAT;
    return score_chain(s, 0, NARROW);
}

/* For the node of each group whose length is nearer to 0 than to the sum or difference of its
 * links: removes all of them, and each separately. */
static bool flatten_groups(struct nt_search *s)
{
    struct search_work *w = s->work;
    const struct nt_chain_tree *t = &w->best.tree;
    bool any = false;
    for (uint32_t k = 0; k < s->best.tiers; k++)
        for (uint32_t a = 0; k < s->best.tiers && a < s->best.groups[k]; a++) {
            uint32_t v = node_at(t, w->best.first[k * s->best.hosts + a], k);
            uint32_t there = t->mask[v] & ~t->flat[v];
            double length = w->best.lengths[v] - (v < t->hosts ? s->value.mean[0] / 2 : 0), sum = 0;
            for (uint32_t c = 0; c < s->best.tiers; c++)
                sum += there >> c & 1 ? s->value.mean[1 + c] / 2 : 0;
            bool own = there >> k & 1;
            double differ = nt_score_ratio(s->place.links) * s->value.sd;
            if (own && (there & (there - 1)) != 0 && (there & ((1u << k) - 1)) == 0 &&
                length < fmax(sum / 2, differ) && flatten(s, k, a, there)) {
                any = true;
                continue;
            }
            if (!own || length < sum - s->value.mean[1 + k] / 4 || length < differ)
                any = flatten(s, k, a, 1u << k) || any;
        }
    return any;
}

/* ---- tiers ---- */

static int by_gap(const void *x, const void *y)
{
    const struct cut *a = x, *b = y;
    return NT_ORDER(b->gap, a->gap, NT_ORDER(a->after, b->after, 0));
}

/* The cuts of a linkage at its widest gaps; all: also the one after all merges. */
static size_t list_cuts(const struct nt_merge *merge, size_t merges, bool all, struct cut *cut)
{
    size_t n = 0;
    for (size_t k = 1; k < merges + all; k++)
        cut[n++] = (struct cut){k < merges ? merge[k].height - merge[k - 1].height : 0, k};
    qsort(cut, n, sizeof *cut, by_gap);
    return n < CUTS ? n : CUTS;
}

static bool remove_tiers(struct nt_search *s)
{
    struct search_work *w = s->work;
    for (uint32_t k = 0; k < s->best.tiers; k++) {
        nt_chain_copy(&w->chain, &s->best);
        for (uint32_t i = 0; i < s->best.hosts; i++)
            for (uint32_t c = k; c + 1 < s->best.tiers; c++)
                w->chain.label[i].tier[c] = s->best.label[i].tier[c + 1];
        w->chain.tiers--;
        if (score_chain(s, 0, w->small || w->allow_low ? FULL : WIDE))
            return true;
    }
    return false;
}

/* work->chain: the best with a tier below tier k, of groups by unit. */
static void add_tier(struct nt_search *s, uint32_t k)
{
    struct search_work *w = s->work;
    nt_chain_copy(&w->chain, &s->best);
    w->chain.tiers++;
    for (uint32_t i = 0; i < s->best.hosts; i++) {
        take_out(s, i, k);
        for (uint32_t c = k; c < s->best.tiers; c++)
            w->chain.label[i].tier[c + 1] = s->best.label[i].tier[c];
        w->chain.label[i].tier[k] = w->link.group[w->link.units[i]];
    }
}

/* As above, if the chain has all tiers: units that join are one tier lower. They lose their groups
 * of a tier below (instead). */
static void lower_units(struct nt_search *s, uint32_t k, uint32_t units, uint32_t instead)
{
    struct search_work *w = s->work;
    uint32_t hosts = s->best.hosts, *count = w->map, *lead = w->map + hosts;
    memset(count, 0, units * sizeof *count);
    for (uint32_t u = 0; u < units; u++)
        count[w->link.group[u]]++;
    for (uint32_t i = hosts; i-- > 0;)
        lead[w->link.group[w->link.units[i]]] = i;
    nt_chain_copy(&w->chain, &s->best);
    for (uint32_t i = 0; i < hosts; i++) {
        uint32_t group = w->link.group[w->link.units[i]], *label = w->chain.label[i].tier;
        if (count[group] < 2)
            continue;
        take_out(s, i, k);
        for (uint32_t c = instead; c + 1 < k; c++) { /* no group of the tier has these labels */
            uint32_t number = nt_chain_number(label[c + 1]), flat = label[c + 1] & NT_CHAIN_FLAT;
            number = number < hosts ? hosts + w->best.first[(c + 1) * hosts + number] : number;
            label[c] = flat | number;
        }
        label[k - 1] = hosts + lead[group];
    }
}

/* Tries cuts of a linkage of the units, with work->link.mean subtracted from each host's
 * readings. */
static bool insert_cuts(struct nt_search *s, uint32_t k, uint32_t units)
{
    struct search_work *w = s->work;
    sum_units(s, units, w->link.parent);
    size_t merges = nt_merges_find(units, w->link.table, w->link.parent, w->link.merge, w->room);
    size_t n = list_cuts(w->link.merge, merges, true, w->link.cut),
           most = w->small ? n : INSERT_CUTS;
    for (size_t c = 0; c < n && c < most; c++) {
        nt_merges_cut(w->link.merge, w->link.cut[c].after, units, w->link.group);
        bool full = s->best.tiers == NT_TIERS_MAX;
        for (uint32_t instead = 0; instead + 1 < (full ? k : 2); instead++) {
            if (full)
                lower_units(s, k, units, instead);
            else
                add_tier(s, k);
            if (score_chain(s, 0, w->small ? FULL : WIDE))
                return true;
        }
    }
    return false;
}

/* Inserts a tier below tier k: units near each other belong together. If links of the tier below
 * differ, units whose readings are less than the sum of their own paths up do (own_paths). */
static bool insert_tier(struct nt_search *s, uint32_t k, bool own_paths)
{
    struct search_work *w = s->work;
    const struct nt_chain *best = &s->best;
    for (uint32_t i = 0; i < best->hosts; i++)
        w->members[i] = i;
    uint32_t units = units_of(s, k, best->hosts);
    for (uint32_t i = 0; i < best->hosts; i++)
        w->link.parent[w->link.units[i]] =
            k < best->tiers ? nt_chain_number(best->label[i].tier[k]) : 0;
    subtract_tiers(s);
    for (uint32_t i = 0; i < best->hosts && own_paths; i++)
        w->link.mean[i] = w->best.ways[i * NT_CHAIN_CLASSES + k];
    return insert_cuts(s, k, units);
}

static bool insert_tiers(struct nt_search *s)
{
    bool any = false;
    if (s->work->allow_low && !s->work->small)
        return false; /* low readings take tiers away, and add none */
    for (uint32_t k = 0; s->best.tiers < NT_TIERS_MAX && k <= s->best.tiers; k++)
        any = insert_tier(s, k, false) || any;
    return any;
}

/* Inserts tiers by own paths, and lowers units if the chain has all tiers. */
static bool lower_groups(struct nt_search *s)
{
    bool any = false;
    if (s->work->allow_low && !s->work->small)
        return false;
    for (uint32_t k = 1; k <= s->best.tiers; k++)
        for (int own_paths = 0; own_paths < 2; own_paths++) {
            bool useful = s->best.tiers < NT_TIERS_MAX ? own_paths : k > 1;
            if (useful && k <= s->best.tiers)
                any = insert_tier(s, k, own_paths) || any;
        }
    return any;
}

/* ---- starts ---- */

/* The score of the chain of a linkage's cuts after these merges, ascending. */
static double try_cuts(struct nt_search *s, const struct nt_merge *merge, const size_t *after,
                       uint32_t levels)
{
    struct search_work *w = s->work;
    uint32_t hosts = s->best.hosts;
    w->chain.tiers = levels;
    for (uint32_t k = 0; k < levels; k++) {
        nt_merges_cut(merge, after[k], hosts, w->link.group);
        for (uint32_t i = 0; i < hosts; i++)
            w->chain.label[i].tier[k] = w->link.group[i];
    }
    nt_chain_canonicalise(&w->chain, w->map);
    nt_chain_copy(&w->start, &w->chain);
    score_chain(s, 0, s->work->small ? FULL : WIDE);
    struct nt_visit *v = visit_of(s, &w->start);
    return v != NULL ? v->score : -(double)INFINITY;
}

/* Chains of one, two and three cuts of a linkage, with work->link.mean subtracted for each end. */
static void start_from(struct nt_search *s)
{
    struct search_work *w = s->work;
    size_t after[3], best[2] = {0, 0}, n, most;
    double top = -(double)INFINITY;
    for (uint32_t i = 0; i < s->best.hosts; i++)
        w->link.units[i] = i;
    sum_units(s, s->best.hosts, NULL);
    size_t merges = nt_merges_find(s->best.hosts, w->link.table, NULL, w->link.merge, w->room);
    n = list_cuts(w->link.merge, merges, false, w->link.cut);
    most = n < PAIR_CUTS ? n : PAIR_CUTS;
    for (size_t a = 0; a < n; a++)
        try_cuts(s, w->link.merge, &w->link.cut[a].after, 1);
    for (size_t a = 0; a < most; a++)
        for (size_t b = 0; b < most; b++) {
            after[0] = w->link.cut[a].after;
            after[1] = w->link.cut[b].after;
            double score = after[0] < after[1] ? try_cuts(s, w->link.merge, after, 2) : top;
            if (score > top) {
                top = score;
                memcpy(best, after, sizeof best);
            }
        }
    for (size_t a = 0; a < n && best[0] < best[1]; a++) {
        size_t c = w->link.cut[a].after;
        if (c == best[0] || c == best[1])
            continue;
        after[0] = c < best[0] ? c : best[0];
        after[1] = c < best[0] ? best[0] : c < best[1] ? c : best[1];
        after[2] = c < best[1] ? best[1] : c;
        try_cuts(s, w->link.merge, after, 3);
    }
}

static void refine(struct nt_search *s)
{
    struct search_work *w = s->work;
    if (w->refined == s->bests) /* nothing is new */
        return;
    w->greedy = false;
    for (bool any = true, again = false; any || again;) {
        w->greedy = w->greedy && any;
        any = move_hosts(s);
        any = remove_tiers(s) || any;
        any = insert_tiers(s) || any;
        any = move_groups(s) || any;
        any = split_groups(s, false) || any;
        any = flatten_groups(s) || any;
        any = any || lower_groups(s) || (!w->small && split_groups(s, true));
        again = w->greedy; /* chains near the best were left out */
    }
    w->refined = s->bests;
}

/* Scores again with another exponent of the weights; keeps it if that is better. */
static bool choose_power(struct nt_search *s)
{
    static const double powers[] = {0, 0.5, 1};
    double kept = s->power, best = s->best_score, before = s->power;
    for (size_t k = 0; k < sizeof powers / sizeof *powers; k++) {
        struct nt_score_place place = s->place;
        struct nt_score_value value;
        if (powers[k] == before)
            continue;
        nt_score_set_power(s->score, powers[k]);
        nt_score_set_off(s->score, &s->outliers);
        nt_score_set_chain(s->score, &s->best);
        double score = nt_score_full(s->score, &place, &value) + chain_prior(s, &s->best);
        if (score > best + 1e-9) {
            best = score;
            kept = powers[k];
        }
    }
    s->power = kept;
    nt_score_set_power(s->score, kept);
    set_state(s);
    return kept != before;
}

/* Forgets all scores but keeps the chains, and scores the best one. */
static void rescore(struct nt_search *s)
{
    struct search_work *w = s->work;
    for (size_t k = 0; k < s->room; k++) {
        s->visit[k].score = -(double)INFINITY;
        s->visit[k].exact = false;
    }
    s->best_score = -(double)INFINITY;
    nt_chain_copy(&w->chain, &s->best);
    nt_score_set_off(s->score, &s->outliers);
    score_chain(s, 0, FULL);
}

static int by_visit(const void *x, const void *y)
{
    const struct nt_visit *a = *(struct nt_visit *const *)x, *b = *(struct nt_visit *const *)y;
    return NT_ORDER(b->score, a->score, NT_ORDER(a->hash, b->hash, 0));
}

/* Also scores the neighbours of the next best chains: with few hosts several moves at once matter
 * as much as one. */
static void score_neighbours(struct nt_search *s)
{
    struct search_work *w = s->work;
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_visit **top = nt_arena_array(&memory, s->visits, sizeof(struct nt_visit *));
    struct nt_chain best;
    size_t n = 0;
    if (top == NULL || nt_chain_init(&best, s->best.hosts, &memory, NULL) != 0)
        return;
    for (size_t k = 0; k < s->room; k++)
        if (s->visit[k].hash != 0 && s->visit[k].score > s->best_score - near)
            top[n++] = &s->visit[k];
    qsort(top, n, sizeof *top, by_visit);
    size_t count = n < NEIGHBOURS ? n : NEIGHBOURS;
    uint64_t from[NEIGHBOURS];
    double score = s->best_score;
    for (size_t k = 0; k < count; k++)
        from[k] = top[k]->hash;
    nt_chain_copy(&best, &s->best);
    w->hold = true;
    for (size_t k = 1; k < count; k++) {
        const struct nt_visit *v = place_of(s->visit, s->room, from[k]);
        fill_chain(s, v, &s->best);
        s->best_score = v->score;
        set_state(s);
        move_hosts(s);
        move_groups(s);
    }
    w->hold = false;
    nt_chain_copy(&s->best, &best);
    s->best_score = score;
    set_state(s);
}

/* Takes the best chain of the table for the best; whether it is another one. */
static bool take_best(struct nt_search *s)
{
    const struct nt_visit *top = NULL;
    for (size_t k = 0; k < s->room; k++) {
        const struct nt_visit *v = &s->visit[k];
        if (v->hash != 0 && v->exact && (top == NULL || v->score > top->score))
            top = v;
    }
    if (top == NULL || top->score <= s->best_score + 1e-9)
        return false;
    fill_chain(s, top, &s->best);
    rescore(s);
    return true;
}

/* ---- two populations of hosts ---- */

/* Marks the hosts over the cut of their ends that leaves the least squares; how many. */
static uint32_t split_ends(struct nt_search *s)
{
    struct search_work *w = s->work;
    uint32_t hosts = s->best.hosts, cut = 0;
    double all = 0, below = 0, top = 0;
    subtract_tiers(s);
    for (uint32_t i = 0; i < hosts; i++) {
        w->option[i] = (struct option){.score = -w->link.mean[i], .beside = i};
        all += w->link.mean[i];
    }
    qsort(w->option, hosts, sizeof *w->option, by_score);
    for (uint32_t i = 0; i + 1 < hosts; i++) {
        below -= w->option[i].score;
        double n = i + 1, m = hosts - n;
        double between = below * below / n + (all - below) * (all - below) / m;
        if (i == 0 || between > top) {
            top = between;
            cut = i + 1;
        }
    }
    for (uint32_t i = 0; i < hosts; i++)
        s->second[w->option[i].beside] = i >= cut;
    return hosts - cut;
}

/* Tries two populations of hosts, parted by the fitted ends; whether they are better than one. */
static bool try_populations(struct nt_search *s)
{
    struct nt_score_place place = s->place;
    struct nt_score_value value;
    double n = s->best.hosts, k = split_ends(s);
    place.ends -= 2;
    double prior = log(two_populations / (1 - two_populations)) - log(n - 1) -
                   (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1));
    nt_score_set_population(s->score, s->second);
    nt_score_set_off(s->score, &s->outliers);
    nt_score_set_chain(s->score, &s->best);
    double score = nt_score_full(s->score, &place, &value) + chain_prior(s, &s->best);
    if (score + prior > s->best_score) {
        s->populations = true;
        s->place = place;
        s->host_prior += prior;
        return true;
    }
    nt_score_set_population(s->score, NULL);
    nt_score_set_off(s->score, &s->outliers);
    set_state(s);
    return false;
}

/* ---- hosts that are far ---- */

static void mark_far_hosts(struct nt_search *s, uint32_t host, bool far)
{
    s->far[host] = far;
    s->far_prior = nt_far_prior_of(s->work->longer, s->far, s->best.hosts);
    nt_score_set_far(s->score, s->far, s->far_prior.sd / s->value.sd);
}

/* Scores work->chain with these outliers; makes it the best if it is better, with the prior. */
static bool try_chain(struct nt_search *s, const struct nt_outliers *off, double prior)
{
    struct search_work *w = s->work;
    struct nt_score_place place = s->place;
    struct nt_score_value value;
    nt_chain_canonicalise(&w->chain, w->map);
    nt_score_set_off(s->score, off);
    nt_score_set_chain(s->score, &w->chain);
    double score = nt_score_full(s->score, &place, &value) + chain_prior(s, &w->chain) + prior;
    if (!(score > s->best_score + NT_SCORE_WORTH))
        return false;
    nt_chain_copy(&s->best, &w->chain);
    s->best_score = score;
    s->place = place;
    nt_outliers_copy(&s->outliers, s->fit.outliers, &s->memory);
    return true;
}

/* Tries a host as a far one at each place, since its deviations may have been taken for outliers;
 * returns whether that is better. */
static bool try_far_host(struct nt_search *s, uint32_t host, double prior, struct nt_outliers *off)
{
    struct search_work *w = s->work;
    const struct nt_pairs *p = s->pairs;
    struct unit u = {.count = 1, .host = true};
    size_t kept = 0;
    double here;
    nt_outliers_copy(off, &s->outliers, &s->memory);
    for (size_t k = 0; k < off->count; k++)
        if (off->at[k].host != host && p->entry[off->at[k].entry].host != host)
            off->at[kept++] = off->at[k];
    off->count = kept;
    nt_score_set_off(s->score, off); /* for the screen, too */
    prior -= s->far_prior.log_ratio;
    mark_far_hosts(s, host, true);
    prior += s->far_prior.log_ratio;
    w->members[0] = host;
    size_t n = list_places(s, &u, (double)INFINITY, &here),
           most = w->small || n < PLACES ? n : PLACES;
    nt_chain_copy(&w->start, &s->best);
    nt_chain_copy(&w->chain, &s->best);
    bool any = try_chain(s, off, prior);
    for (size_t k = 0; k < most; k++) {
        nt_chain_copy(&w->chain, &w->start);
        for (uint32_t c = 0; c < w->start.tiers; c++)
            w->chain.label[host].tier[c] =
                c < w->option[k].to ? s->pairs->hosts : w->start.label[w->option[k].beside].tier[c];
        any = try_chain(s, off, prior) || any;
    }
    if (!any)
        mark_far_hosts(s, host, false);
    s->host_prior += any ? prior : 0;
    return any;
}

/* Finds hosts that are far, the farthest first; whether there is one. */
static bool find_far(struct nt_search *s)
{
    struct nt_outliers off = {0};
    double n = s->best.hosts;
    uint32_t count = 0;
    for (bool found = true; found; count += found) {
        uint32_t host = nt_score_farthest(s->score, s->place, s->value.sd, s->work->longer);
        if (host == UINT32_MAX)
            break;
        found = try_far_host(s, host, nt_far_odds(count, n), &off);
        set_state(s);
    }
    return count > 0;
}

/* ---- all of it ---- */

static int init(struct nt_search *s, struct nt_err *err)
{
    struct nt_arena *m = &s->memory;
    uint32_t hosts = s->pairs->hosts;
    size_t nodes = 2 * (size_t)hosts + 1;
    struct search_work *w = s->work = nt_arena_array(m, 1, sizeof *w);
    if (w == NULL || nt_chain_init(&s->best, hosts, m, err) != 0 ||
        nt_chain_init(&w->chain, hosts, m, err) != 0 ||
        nt_chain_init(&w->start, hosts, m, err) != 0 ||
        nt_chain_tree_init(&w->best.tree, hosts, m, err) != 0 ||
        nt_chain_prior_init(&s->prior, hosts, m, err) != 0)
        return nt_arena_check(m, err);
    s->fit = nt_score_fit(s->score);
    s->second = nt_arena_array(m, hosts, sizeof *s->second);
    s->far = nt_arena_array(m, hosts, sizeof *s->far);
    w->map = nt_arena_array(m, 2 * (size_t)hosts, sizeof *w->map);
    w->room = nt_arena_array(m, 3 * (size_t)hosts, sizeof *w->room);
    w->members = nt_arena_array(m, hosts, sizeof *w->members);
    w->link.group = nt_arena_array(m, hosts, sizeof *w->link.group);
    w->link.parent = nt_arena_array(m, hosts, sizeof *w->link.parent);
    w->link.units = nt_arena_array(m, hosts, sizeof *w->link.units);
    w->best.lengths = nt_arena_array(m, nodes, sizeof *w->best.lengths);
    w->best.ways = nt_arena_array(m, hosts, NT_CHAIN_CLASSES * sizeof *w->best.ways);
    w->best.end = nt_arena_array(m, hosts, sizeof *w->best.end);
    w->below = nt_arena_array(m, nodes, sizeof *w->below);
    w->inner = nt_arena_array(m, nodes, sizeof *w->inner);
    w->best.first = nt_arena_array(m, hosts, NT_TIERS_MAX * sizeof *w->best.first);
    w->link.table = nt_arena_array(m, hosts * nt_merges_pitch(hosts), sizeof *w->link.table);
    w->link.merge = nt_arena_array(m, hosts, sizeof *w->link.merge);
    w->link.mean = nt_arena_array(m, hosts, sizeof *w->link.mean);
    w->longer = nt_arena_array(m, hosts, sizeof *w->longer);
    w->done = nt_arena_array(m, hosts, sizeof *w->done);
    w->near = nt_arena_array(m, hosts, sizeof *w->near);
    w->left = nt_arena_array(m, nodes, sizeof *w->left);
    w->joined = nt_arena_array(m, nodes, sizeof *w->joined);
    w->move = nt_arena_array(m, hosts, sizeof *w->move);
    w->option = nt_arena_array(m, (NT_TIERS_MAX + 1) * (size_t)hosts + (1 << SPLIT_UNITS),
                               sizeof *w->option);
    w->link.cut = nt_arena_array(m, hosts + 1, sizeof *w->link.cut);
    w->small = hosts <= SMALL_HOSTS;
    w->without = SIZE_MAX;
    return nt_arena_check(m, err);
}

/* Subtracts the excess of far hosts' ends over the ends of others. */
static void subtract_far_ends(struct nt_search *s)
{
    double *mean = s->work->link.mean, sum = 0, count = 0;
    subtract_tiers(s);
    for (uint32_t i = 0; i < s->best.hosts; i++) {
        sum += s->far[i] ? 0 : mean[i];
        count += !s->far[i];
    }
    for (uint32_t i = 0; i < s->best.hosts; i++)
        mean[i] = s->far[i] && count > 0 ? mean[i] - sum / count : 0;
}

static void from_starts(struct nt_search *s)
{
    subtract_far_ends(s);
    s->best_score = -(double)INFINITY;
    s->work->chain.tiers = 0; /* one switch */
    score_chain(s, 0, FULL);
    if (s->best.hosts < 4) /* no two ways to part them */
        return;
    start_from(s);
    refine(s);
    subtract_tiers(s);
    start_from(s);
    refine(s);
}

/* Scores again after the weights of readings changed. */
static int renew_score(struct nt_search *s, const struct nt_pairs *pairs, struct nt_err *err)
{
    nt_score_destroy(s->score);
    s->score = NULL;
    if (nt_score_create(pairs, &s->score, err) != 0)
        return -1;
    s->fit = nt_score_fit(s->score);
    nt_score_set_power(s->score, s->power);
    return 0;
}

/* Weighs readings by the noise of the best chain, and scores again. */
static int reweigh(struct nt_search *s, struct nt_pairs *pairs, struct nt_err *err)
{
    nt_pairs_reweigh(pairs, s->value.sd);
    if (renew_score(s, pairs, err) != 0)
        return -1;
    rescore(s);
    refine(s);
    return 0;
}

/* Classes of pairs have their weights by their mean latency, which is not the latency of pairs with
 * a far host: weighs these by their own. */
static int weigh_far(struct nt_search *s, struct nt_pairs *pairs, struct nt_err *err)
{
    double *factor = s->work->link.mean;
    for (uint32_t i = 0; i < pairs->hosts; i++)
        factor[i] = s->far[i] ? pow(1 + fmax(s->work->longer[i], 0), -2 * s->power) : 1;
    if (s->power == 0)
        return 0;
    if (nt_pairs_weigh_hosts(pairs, factor, err) != 0 || renew_score(s, pairs, err) != 0)
        return -1;
    nt_score_set_far(s->score, s->far, s->far_prior.sd / s->value.sd);
    return 0;
}

/* Low readings may have made a tier, or have hidden parts of a real one: the search continues
 * without such a tier, and with it. */
static void refine_with_low(struct nt_search *s)
{
    struct search_work *w = s->work;
    nt_chain_copy(&w->start, &s->best);
    if (remove_tiers(s)) {
        refine(s);
        nt_chain_copy(&w->chain, &w->start);
        s->best_score = -(double)INFINITY;
        score_chain(s, 0, FULL);
        refine(s);
        take_best(s);
    }
    refine(s);
}

static int find_best(struct nt_search *s, struct nt_pairs *pairs, struct nt_err *err)
{
    s->place = (struct nt_score_place){2, 2};
    from_starts(s);
    if (s->best.hosts < 4)
        return 0;
    if (choose_power(s)) {
        rescore(s);
        refine(s);
    }
    if (pairs->weight != NULL && reweigh(s, pairs, err) != 0)
        return -1;
    if (find_far(s)) { /* they have misled the earlier moves */
        choose_power(s);
        if (weigh_far(s, pairs, err) != 0)
            return -1;
        rescore(s);
        from_starts(s);
        if (take_best(s))
            refine(s);
    }
    if (try_populations(s)) {
        rescore(s);
        refine(s);
    }
    /* A group that no chain has yet would be taken for low readings, so these come last. */
    nt_score_allow_low(s->score);
    s->work->allow_low = true;
    rescore(s);
    refine_with_low(s);
    s->wide = s->best.hosts <= WIDE_HOSTS;
    if (s->wide) {
        score_neighbours(s);
        while (take_best(s))
            refine(s);
    }
    return 0;
}

void nt_search_adopt(struct nt_search *s, const struct nt_visit *visit)
{
    fill_chain(s, visit, &s->best);
    nt_score_set_off(s->score, &s->outliers);
    nt_score_set_chain(s->score, &s->best);
    nt_score_full(s->score, &s->place, &s->value);
    nt_outliers_copy(&s->outliers, s->fit.outliers, &s->memory);
    set_state(s);
}

int nt_search_create(struct nt_pairs *pairs, struct nt_search **out, struct nt_err *err)
{
    struct nt_search *s = nt_object_create(sizeof *s, err);
    if (s == NULL)
        return -1;
    s->pairs = pairs;
    if (nt_score_create(pairs, &s->score, err) != 0 || init(s, err) != 0) {
        nt_search_destroy(s);
        return -1;
    }
    if (find_best(s, pairs, err) != 0 || nt_arena_check(&s->memory, err) != 0) {
        nt_search_destroy(s);
        return -1;
    }
    *out = s;
    return 0;
}

void nt_search_destroy(struct nt_search *search)
{
    if (search != NULL)
        nt_score_destroy(search->score);
    nt_object_destroy(search);
}
