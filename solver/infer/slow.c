/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts that may be on a longer link, by the calibration. */
#include "slow.h"

#include <math.h>
#include <string.h>

#include "memory.h"
#include "stats.h"

enum { ONE_IN = 8, BAD = 2 };

static const double OFF_SDS = 4;
static const double COVERED = 0.9; /* of a class's pairs: then only these hosts have the class */

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

/* ---- classes of few hosts ---- */

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

/* Finds a class that only a few hosts have. The nearest class does not come from long links. */
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

/* Counts a host's pairs that belong to no class of other hosts, without pairs of hosts that were
 * found. */
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

/* ---- pairs of two of them ---- */

/* Lower bound of the additional length of a host's link: by how much its nearest other host is
 * farther than any pair without such hosts. */
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
    NT_SCOPED struct nt_arena memory = {0};
    struct slow_search s = {.c = c,
                            .classes = &mean,
                            .class = nt_arena_array(&memory, c->count + 1, sizeof *s.class),
                            .counted = nt_arena_array(&memory, c->count + 1, sizeof *s.counted),
                            .pairs = nt_arena_array(&memory, c->seats + 1, sizeof *s.pairs),
                            .bad = nt_arena_array(&memory, c->seats + 1, sizeof *s.bad)};
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    sort_into_classes(&s);
    choose_slow(&s, lost, slow);
    return 0;
}

/* ---- where hosts on longer links are attached ------------------------------------------------ */

enum { MEETINGS = 2, MEETINGS_DISAGREEING = 4, REFINED = 4 };

static const double CERTAIN = 14; /* ln of the likelihood ratio of a place over every other one */
static const double LEAST_OUTLIERS = 0.02;
static const double OUTLIER_DENSITY = 0.4; /* as in class_fit.c, on one side */
static const double LEAST_FITTING = 3;     /* readings */
static const double DISAGREE_SDS = 6.4;    /* of two readings */

/* A reading of the host: with which one, less that one's offset. */
struct estimate {
    uint32_t other;
    double us, sd;
};

struct place {
    size_t level;
    uint32_t root;
    double us, variance; /* the offset that fits best */
    double likelihood;   /* ln */
    double fitting;      /* readings that are no outliers */
};

struct search {
    const struct nt_found_tree *p;
    const struct nt_slow *slow;
    uint32_t seat;
    size_t sights, places;
    struct estimate *estimate;
    struct place *place;
    uint32_t *reads; /* seats: readings with the host */
    bool *failed;    /* seats: a measurement with the host failed */
    bool *seen;      /* seats: scratch */
    double *rest;    /* sights: scratch */
};

static const struct nt_slow_host *slow_of(const struct nt_slow *slow, uint32_t seat)
{
    for (size_t k = 0; k < slow->count; k++)
        if (slow->host[k].seat == seat)
            return &slow->host[k];
    return NULL;
}

/* Whether the place of a host is known. */
static bool is_known(const struct search *s, uint32_t seat)
{
    const struct nt_slow_host *h = slow_of(s->slow, seat);
    return !s->p->lost[seat] && seat != s->seat && (h == NULL || h->placed);
}

/* Rounds that place hosts have more pings a reading than others. */
static double noise_of(const struct nt_found_tree *p, const struct nt_pair_reading *r)
{
    bool known = p->pings > 0 && r->pings > 0;
    return known ? p->noise * sqrt(p->pings / (double)r->pings) : p->classes->noise;
}

static void list_estimates(struct search *s)
{
    const struct nt_classes *classes = s->p->classes;
    for (size_t k = 0; k < s->p->readings->count; k++) {
        const struct nt_pair_reading *r = &s->p->readings->at[k];
        if (r->a != s->seat && r->b != s->seat)
            continue;
        uint32_t other = r->a == s->seat ? r->b : r->a;
        s->reads[other]++;
        if (!is_known(s, other))
            continue;
        const struct nt_slow_host *h = slow_of(s->slow, other);
        double us = exp((double)r->ln), noise = us * noise_of(s->p, r);
        double variance = noise * noise + classes->spread_us * classes->spread_us;
        s->estimate[s->sights++] = (struct estimate){
            other, us - (h != NULL ? h->us : 0), sqrt(variance + (h != NULL ? h->variance : 0))};
    }
}

static size_t estimates_of(const struct nt_readings *r, uint32_t seat)
{
    size_t n = 0;
    for (size_t k = 0; k < r->count; k++)
        n += r->at[k].a == seat || r->at[k].b == seat;
    return n;
}

static int search_init(struct search *s, const struct nt_found_tree *p, uint32_t seat,
                       struct nt_arena *memory, struct nt_err *err)
{
    size_t n = estimates_of(p->readings, seat);
    *s = (struct search){.p = p, .slow = p->slow, .seat = seat};
    s->estimate = nt_arena_array(memory, n + 1, sizeof *s->estimate);
    s->place = nt_arena_array(memory, n * p->clusters->levels + 1, sizeof *s->place);
    s->reads = nt_arena_array(memory, p->seats + 1, sizeof *s->reads);
    s->failed = nt_arena_array(memory, p->seats + 1, sizeof *s->failed);
    s->seen = nt_arena_array(memory, p->seats + 1, sizeof *s->seen);
    s->rest = nt_arena_array(memory, n + 1, sizeof *s->rest);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t k = 0; k < p->readings->failures; k++) {
        const struct nt_pair_reading *r = &p->readings->failure[k];
        if (r->a == seat || r->b == seat)
            s->failed[r->a == seat ? r->b : r->a] = true;
    }
    list_estimates(s);
    return 0;
}

/* ---- likelihood of a place ---- */

/* The expected latency of a pair with a host at this place, without its offset. */
static double expected_us(const struct search *s, const struct place *at, uint32_t other)
{
    size_t l = at->level;
    while (l + 1 < s->p->clusters->levels && nt_clusters_find(s->p->clusters, l, other) !=
                                                 nt_clusters_find(s->p->clusters, l, at->root))
        l++;
    return exp(s->p->classes->mean[l]);
}

/* ln of a reading's likelihood with an offset, up to a constant; *share: probability that it is not
 * an outlier. */
static double likelihood_of(const struct search *s, const struct estimate *x, double rest,
                            double *share)
{
    double outliers = fmax(s->p->classes->outliers, LEAST_OUTLIERS);
    double wrong = outliers * OUTLIER_DENSITY * NT_SQRT_2_PI * x->sd / x->us;
    double right = (1 - outliers) * exp(-0.5 * rest * rest / (x->sd * x->sd));
    *share = right / (right + wrong);
    return log(right + wrong);
}

static double try_offset(const struct search *s, const struct place *at, const double *rest,
                         struct place *out)
{
    double weight = 0, sum = 0, share;
    *out = (struct place){at->level, at->root, at->us, 0, 0, 0};
    for (size_t k = 0; k < s->sights; k++) {
        const struct estimate *x = &s->estimate[k];
        out->likelihood += likelihood_of(s, x, rest[k] - at->us, &share);
        out->fitting += share;
        weight += share / (x->sd * x->sd);
        sum += share * rest[k] / (x->sd * x->sd);
    }
    out->variance = 1 / weight;
    return sum / weight;
}

/* The offset that fits best, starting from that of each reading. */
static void fit_offset(const struct search *s, struct place *at, double *rest)
{
    struct place best = {.likelihood = -INFINITY}, tried;
    for (size_t k = 0; k < s->sights; k++)
        rest[k] = s->estimate[k].us - expected_us(s, at, s->estimate[k].other);
    for (size_t k = 0; k < s->sights; k++) {
        at->us = rest[k];
        try_offset(s, at, rest, &tried);
        if (tried.likelihood > best.likelihood)
            best = tried;
    }
    for (int k = 0; k < REFINED; k++) {
        double next = try_offset(s, &best, rest, &tried);
        if (tried.likelihood >= best.likelihood)
            best = tried;
        best.us = next;
    }
    try_offset(s, &best, rest, at);
}

static bool is_listed(const struct search *s, size_t level, uint32_t root)
{
    for (size_t k = 0; k < s->places; k++)
        if (s->place[k].level == level && s->place[k].root == root)
            return true;
    return false;
}

/* All places that the readings distinguish: the clusters with a host that was read. The best first,
 * and the next best second. */
static void find_places(struct search *s)
{
    for (size_t k = 0; k < s->sights; k++)
        for (size_t l = 0; l < s->p->clusters->levels; l++) {
            uint32_t root = nt_clusters_find(s->p->clusters, l, s->estimate[k].other);
            if (is_listed(s, l, root))
                continue;
            struct place *at = &s->place[s->places++];
            *at = (struct place){.level = l, .root = root};
            fit_offset(s, at, s->rest);
        }
    for (size_t n = 0; n < 2; n++)
        for (size_t k = n + 1; k < s->places; k++)
            if (s->place[k].likelihood > s->place[n].likelihood) {
                struct place t = s->place[n];
                s->place[n] = s->place[k];
                s->place[k] = t;
            }
}

/* ---- certainty of a place ---- */

/* Whether readings of the host with another agree; of two that do not, either may be an outlier. */
static bool has_agreed_reading(const struct search *s, uint32_t other)
{
    const struct nt_readings *r = s->p->readings;
    float low = INFINITY, high = -INFINITY;
    if (s->reads[other] < MEETINGS || s->reads[other] >= MEETINGS_DISAGREEING)
        return s->reads[other] >= MEETINGS;
    for (size_t k = 0; k < r->count; k++)
        if ((r->at[k].a == s->seat && r->at[k].b == other) ||
            (r->at[k].b == s->seat && r->at[k].a == other)) {
            low = fminf(low, r->at[k].ln);
            high = fmaxf(high, r->at[k].ln);
        }
    return (double)(high - low) < DISAGREE_SDS * s->p->noise;
}

/* Not with a host that is in the round, or whose every measurement with this one failed. */
static bool can_be_read(const struct search *s, const bool *busy, uint32_t other)
{
    return (busy == NULL || !busy[other]) && (!s->failed[other] || s->reads[other] > 0);
}

/* Another slow host with hardly a reading between the two: they may be near each other and far from
 * all others. */
static uint32_t unread_slow_host(const struct search *s, const bool *busy)
{
    for (size_t k = 0; k < s->slow->count; k++) {
        uint32_t other = s->slow->host[k].seat;
        if (other != s->seat && !s->p->lost[other] && can_be_read(s, busy, other) &&
            !has_agreed_reading(s, other))
            return other;
    }
    return NT_SLOW_NONE;
}

static size_t seat_distance(uint32_t a, uint32_t b)
{
    return a < b ? b - a : a - b;
}

/* The nearest in a part of the best place that has no reading yet: the host may be attached there.
 */
static uint32_t unread_part(struct search *s, const bool *busy)
{
    const struct nt_clusters *c = s->p->clusters;
    const struct place *at = &s->place[0];
    uint32_t best = NT_SLOW_NONE;
    if (s->places == 0 || at->level == 0)
        return NT_SLOW_NONE;
    memset(s->seen, 0, s->p->seats * sizeof *s->seen);
    for (size_t k = 0; k < s->sights; k++)
        s->seen[nt_clusters_find(c, at->level - 1, s->estimate[k].other)] = true;
    for (uint32_t i = 0; i < s->p->seats; i++)
        if (is_known(s, i) && can_be_read(s, busy, i) &&
            nt_clusters_find(c, at->level, i) == nt_clusters_find(c, at->level, at->root) &&
            !s->seen[nt_clusters_find(c, at->level - 1, i)] &&
            (best == NT_SLOW_NONE || seat_distance(i, s->seat) < seat_distance(best, s->seat)))
            best = i;
    return best;
}

static bool is_certain(struct search *s)
{
    const struct place *at = &s->place[0];
    if (s->places == 0 || at->fitting < LEAST_FITTING || 2 * at->fitting < (double)s->sights)
        return false;
    return (s->places == 1 || at->likelihood - s->place[1].likelihood > CERTAIN) &&
           unread_slow_host(s, NULL) == NT_SLOW_NONE && unread_part(s, NULL) == NT_SLOW_NONE;
}

static void attach_host(const struct search *s, struct nt_slow_host *h)
{
    const struct place *at = &s->place[0];
    h->placed = true;
    h->level = at->level;
    h->beside = at->root;
    h->us = at->us;
    h->variance = at->variance;
    h->error_probability = 0;
    for (size_t k = 1; k < s->places; k++)
        h->error_probability += exp(s->place[k].likelihood - at->likelihood);
    nt_clusters_unite(s->p->clusters, at->level, s->seat, at->root);
}

int nt_slow_place(const struct nt_found_tree *p, struct nt_slow *slow, struct nt_err *err)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t k = 0; k < slow->count; k++) {
            struct nt_slow_host *h = &slow->host[k];
            NT_SCOPED struct nt_arena memory = {0};
            struct search s;
            if (h->placed)
                continue;
            if (search_init(&s, p, h->seat, &memory, err) < 0)
                return -1;
            find_places(&s);
            if (!is_certain(&s))
                continue;
            attach_host(&s, h);
            more = true;
        }
    }
    return 0;
}

/* ---- which partner to read next ---- */

/* The host whose reading differs most between the two best places. */
static uint32_t telling_partner(const struct search *s, const bool *busy)
{
    double most = 0;
    uint32_t best = NT_SLOW_NONE;
    for (uint32_t i = 0; s->places > 0 && i < s->p->seats; i++) {
        if (!can_be_read(s, busy, i) || !is_known(s, i))
            continue;
        const struct place *x = &s->place[0], *y = &s->place[s->places > 1];
        double one = expected_us(s, x, i) + x->us, two = expected_us(s, y, i) + y->us;
        double score = fabs(one - two) / (fmax(fabs(one), 1e-9) * (1 + s->reads[i]));
        if (best == NT_SLOW_NONE || score > most * (1 + 1e-9) ||
            (score > most * (1 - 1e-9) &&
             seat_distance(i, s->seat) < seat_distance(best, s->seat))) {
            best = i;
            most = score;
        }
    }
    return best;
}

/* Any host without a reading yet, from a seat on; NT_SLOW_NONE: all were, or are busy. */
static uint32_t unread_partner(const struct search *s, const bool *busy, uint32_t from)
{
    for (size_t k = 0; k < s->p->seats; k++) {
        uint32_t other = (uint32_t)((from + k) % s->p->seats);
        if (can_be_read(s, busy, other) && is_known(s, other) && s->reads[other] == 0)
            return other;
    }
    return NT_SLOW_NONE;
}

int nt_slow_partner(const struct nt_found_tree *tree, uint32_t seat, const bool *busy,
                    uint32_t *partner, bool *late, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct search s;
    if (search_init(&s, tree, seat, &memory, err) < 0)
        return -1;
    find_places(&s);
    *partner = unread_slow_host(&s, busy);
    if (*partner == NT_SLOW_NONE)
        *partner = unread_part(&s, busy);
    *late = *partner == NT_SLOW_NONE;
    if (*partner == NT_SLOW_NONE)
        *partner = telling_partner(&s, busy);
    if (*partner == NT_SLOW_NONE)
        *partner = unread_partner(&s, busy, seat);
    return 0;
}

int nt_slow_any_partner(const struct nt_found_tree *tree, uint32_t seat, uint32_t from,
                        const bool *busy, uint32_t *partner, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct search s;
    if (search_init(&s, tree, seat, &memory, err) < 0)
        return -1;
    *partner = unread_slow_host(&s, busy);
    if (*partner == NT_SLOW_NONE)
        *partner = unread_partner(&s, busy, from);
    return 0;
}
