/* SPDX-License-Identifier: Apache-2.0 */
/* All pairs in rounds of disjoint pairs: a 1-factorisation of the complete graph (E. Mendelsohn, A.
 * Rosa, One-factorizations of the complete graph, J. Graph Theory 9, 1985), by halves: first all
 * pairs within each half, halved recursively, then each host of one half with each of the other. A
 * half of an odd number has an empty place; a host that meets it has no partner there and meets the
 * corresponding host of the other half.
 *
 * A round takes as long as its slowest pair. Once latencies are known, the hosts of a half are near
 * each other, so that slow pairs share rounds. */

#include <math.h>
#include <string.h>

#include "matrix.h"
#include "memory.h"
#include "rng.h"
#include "sweep.h"

/* With more hosts the order is fixed: consecutive rounds without a barrier have fewer hosts. */
enum { ARRANGED_MAX = 128, ORDERS = 16 };

struct sweep_all {
    struct nt_planner base;
    size_t hosts;        /* that take part: size of seat */
    size_t all;          /* that exist: size of lost */
    uint32_t *seat;      /* who sits where in this pass */
    uint32_t *turn;      /* the order of this pass's rounds */
    uint32_t (*pair)[2]; /* of the round last ordered */
    float *latency;      /* all^2 first latencies, us, 0: unknown; NULL: the order is fixed */
    float *time;         /* scratch, all */
    uint32_t *best_seat, *best_turn; /* scratch, hosts */
    uint32_t *when;                  /* all^2 per pass: round in which a pair was, from 1 */
    uint32_t *often;                 /* scratch, rounds */
    bool *lost;
    size_t away; /* of them */
    unsigned passes, pass;
    bool untold;          /* the results of the pass before: the second pass waits for them */
    size_t rounds, round; /* in a pass */
    uint32_t batches, count;
    bool sequential; /* a pair at a time: */
    size_t left;     /*   of the round these are still to be ordered */
};

/* ---- who sits where ---- */

/* Hosts whose distances differ by less are equally near: a switch on the path adds 5 to 20 %. */
static const float nearer = 0.95F;

/* Places near hosts next to each other: the next host is always one of those nearest to any placed
 * host (R. C. Prim, Shortest connection networks, Bell System Technical Journal 36, 1957). */
static void arrange(struct sweep_all *s)
{
    uint32_t *seat = s->seat;
    float *near = s->time;
    for (size_t i = 0; i < s->hosts; i++)
        near[seat[i]] = INFINITY;
    for (size_t n = 1; n < s->hosts; n++) {
        const float *from = &s->latency[seat[n - 1] * s->all];
        size_t next = n;
        for (size_t i = n; i < s->hosts; i++) {
            near[seat[i]] = fminf(near[seat[i]], from[seat[i]]);
            next = near[seat[i]] < nearer * near[seat[next]] ? i : next;
        }
        uint32_t host = seat[next];
        seat[next] = seat[n];
        seat[n] = host;
    }
}

/* ---- rounds ---- */

/* The partner of place i among this even number of places in a round. */
static size_t partner(size_t places, size_t round, size_t i)
{
    size_t half = places / 2, odd = half % 2, within = half - 1 + odd;
    if (places == 2)
        return 1 - i;
    size_t upper = i < half ? 0 : half, own = i - upper, other = half - upper;
    if (round < within) {
        size_t met = partner(half + odd, round, own);
        return met == half ? other + own : upper + met; /* half: the empty place */
    }
    size_t step = round - within + odd;
    return other + (upper == 0 ? own + step : own + half - step) % half;
}

static size_t fill_round(struct sweep_all *s, size_t round)
{
    size_t n = 0;
    for (size_t i = 0; i < s->hosts; i++) {
        size_t j = partner(s->rounds + 1, round, i);
        if (j < i || j >= s->hosts) /* or the empty place */
            continue;
        uint32_t a = s->seat[i], b = s->seat[j];
        if (s->lost[a] || s->lost[b])
            continue;
        s->pair[n][0] = a < b ? a : b;
        s->pair[n][1] = a < b ? b : a;
        n++;
    }
    return n;
}

/* ---- passes ---- */

/* Duration of the pass in readings if each host continues as soon as its round ends. */
static float pass_takes(struct sweep_all *s)
{
    float last = 0, *end = s->time;
    memset(end, 0, s->all * sizeof *end);
    for (size_t r = 0; r < s->rounds; r++) {
        size_t n = fill_round(s, s->turn[r]);
        for (size_t k = 0; k < n; k++) {
            uint32_t a = s->pair[k][0], b = s->pair[k][1];
            end[a] = end[b] = fmaxf(end[a], end[b]) + s->latency[a * s->all + b];
            last = fmaxf(end[a], last);
        }
    }
    return last;
}

static void shuffle_pass(struct sweep_all *s, uint64_t seed, bool seats)
{
    struct nt_rng rng;
    nt_rng_init(&rng, seed);
    nt_rng_shuffle(&rng, s->turn, s->rounds);
    if (seats)
        nt_rng_shuffle(&rng, s->seat, s->hosts);
}

/* How often two pairs share a round that shared one in an earlier pass. */
static size_t count_again(struct sweep_all *s)
{
    size_t again = 0;
    for (unsigned p = 0; p < s->pass; p++) {
        const uint32_t *when = &s->when[p * s->all * s->all];
        for (uint32_t r = 0; r < s->rounds; r++) {
            memset(s->often, 0, s->rounds * sizeof *s->often);
            for (size_t k = fill_round(s, r); k-- > 0;) {
                uint32_t before = when[s->pair[k][0] * s->all + s->pair[k][1]];
                again += before > 0 ? s->often[before - 1]++ : 0;
            }
        }
    }
    return again;
}

static void note_rounds(struct sweep_all *s)
{
    uint32_t *when = &s->when[s->pass * s->all * s->all];
    for (uint32_t r = 0; r < s->rounds; r++)
        for (size_t k = fill_round(s, r); k-- > 0;)
            when[s->pair[k][0] * s->all + s->pair[k][1]] = r + 1;
}

/* Selects, of several orders, the one whose rounds repeat the fewest earlier ones, and of these the
 * fastest. If a round of pairs below leaf switches is disturbed in two passes, these pairs look
 * like switches. */
static void arrange_pass(struct sweep_all *s)
{
    size_t fewest = 0;
    float least = 0;
    for (uint64_t k = 0; k < ORDERS; k++) {
        shuffle_pass(s, (uint64_t)s->pass * ORDERS + k, true);
        arrange(s);
        size_t again = count_again(s);
        float takes = pass_takes(s);
        if (k > 0 && (again > fewest || (again == fewest && takes >= least)))
            continue;
        fewest = again;
        least = takes;
        memcpy(s->best_seat, s->seat, s->hosts * sizeof *s->seat);
        memcpy(s->best_turn, s->turn, s->rounds * sizeof *s->turn);
    }
    memcpy(s->seat, s->best_seat, s->hosts * sizeof *s->seat);
    memcpy(s->turn, s->best_turn, s->rounds * sizeof *s->turn);
}

/* A different order per pass, so that a disturbance for some time does not affect the same pairs.
 * The first pass keeps the given order, because Slurm lists the hosts of a switch together. */
static void begin_pass(struct sweep_all *s)
{
    if (s->pass > 0 && s->latency != NULL)
        arrange_pass(s);
    else
        shuffle_pass(s, s->pass + 1, s->pass > 0);
    if (s->latency != NULL)
        note_rounds(s);
}

static void order_pairs(const struct sweep_all *s, uint32_t (*pair)[2], size_t n,
                        struct nt_order *order)
{
    *order = (struct nt_order){.kind = NT_ORDER_LATENCY,
                               .phase = "latency",
                               .pairs = n,
                               .pair = pair,
                               .message_bytes = NT_PING_BYTES,
                               .batches = s->batches,
                               .count = s->count};
}

/* The next pair of the round whose hosts are both present. */
static bool order_next_pair(struct sweep_all *s, struct nt_order *order)
{
    while (s->left > 0) {
        uint32_t(*pair)[2] = &s->pair[--s->left];
        if (s->lost[(*pair)[0]] || s->lost[(*pair)[1]])
            continue;
        order_pairs(s, pair, 1, order);
        return true;
    }
    return false;
}

static int all_pairs_next(struct nt_planner *planner, struct nt_order *order, struct nt_err *err)
{
    struct sweep_all *s = (struct sweep_all *)planner;
    (void)err;
    if (order_next_pair(s, order))
        return 1;
    while (s->pass < s->passes) {
        if (s->round == 0)
            begin_pass(s);
        size_t n = 0;
        while (s->round < s->rounds && n == 0)
            n = fill_round(s, s->turn[s->round++]);
        if (s->round == s->rounds) {
            s->round = 0;
            s->pass++;
            s->untold = true;
        }
        if (n == 0)
            continue;
        if (s->sequential) {
            s->left = n;
            return order_next_pair(s, order);
        }
        order_pairs(s, s->pair, n, order);
        return 1;
    }
    return 0;
}

static int all_pairs_tell(struct nt_planner *planner, const struct nt_result *results, size_t n,
                          struct nt_err *err)
{
    struct sweep_all *s = (struct sweep_all *)planner;
    (void)err;
    s->untold = false;
    for (size_t k = 0; k < n && s->latency != NULL; k++) {
        const struct nt_result *r = &results[k];
        if (r->ok && r->a < s->all && r->b < s->all && s->latency[r->a * s->all + r->b] == 0)
            s->latency[r->a * s->all + r->b] = s->latency[r->b * s->all + r->a] =
                (float)r->value_us;
    }
    return 0;
}

static void all_pairs_lose(struct nt_planner *planner, uint32_t host)
{
    struct sweep_all *s = (struct sweep_all *)planner;
    if (host >= s->all || s->lost[host])
        return;
    s->lost[host] = true;
    s->away++;
}

static size_t all_pairs_ahead(const struct nt_planner *planner)
{
    const struct sweep_all *s = (const struct sweep_all *)planner;
    bool whole = s->away < s->hosts / 2; /* no round is empty */
    if (s->sequential || !whole)
        return 0;
    if (s->latency == NULL || s->pass > 1 || (s->pass == 1 && !s->untold))
        return (s->passes - s->pass) * s->rounds - s->round;
    return s->pass == 0 ? s->rounds - s->round : 0;
}

static const struct nt_planner_ops OPS = {.next = all_pairs_next,
                                          .tell = all_pairs_tell,
                                          .lose = all_pairs_lose,
                                          .ahead = all_pairs_ahead};

static void arrange_hosts(struct sweep_all *s, const bool *missing)
{
    for (size_t i = 0; i < s->all; i++) {
        s->lost[i] = missing != NULL && missing[i];
        if (!s->lost[i])
            s->seat[s->hosts++] = (uint32_t)i;
    }
    s->rounds = nt_sweep_all_rounds(s->hosts);
    for (size_t r = 0; r < s->rounds; r++)
        s->turn[r] = (uint32_t)r;
    if (s->rounds == 0)
        s->passes = 0;
}

int nt_sweep_all_create(const struct nt_sweep_setup *setup, struct nt_planner **out,
                        struct nt_err *err)
{
    size_t hosts = setup->hosts;
    if (hosts > NT_HOSTS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "a sweep of %zu hosts: at most %d", hosts,
                          (int)NT_HOSTS_MAX);
    struct sweep_all *s = nt_object_create(sizeof *s, err);
    if (s == NULL)
        return -1;
    s->base.ops = &OPS;
    s->all = hosts;
    s->seat = nt_arena_array(&s->base.memory, hosts, sizeof *s->seat);
    s->turn = nt_arena_array(&s->base.memory, hosts, sizeof *s->turn);
    s->pair = nt_arena_array(&s->base.memory, hosts / 2, sizeof *s->pair);
    s->lost = nt_arena_array(&s->base.memory, hosts, sizeof *s->lost);
    if (hosts <= ARRANGED_MAX) {
        s->latency = nt_arena_array(&s->base.memory, hosts * hosts, sizeof *s->latency);
        s->time = nt_arena_array(&s->base.memory, hosts, sizeof *s->time);
        s->best_seat = nt_arena_array(&s->base.memory, hosts, sizeof *s->seat);
        s->best_turn = nt_arena_array(&s->base.memory, hosts, sizeof *s->turn);
        s->when = nt_arena_array(&s->base.memory, setup->passes * hosts * hosts, sizeof *s->when);
        s->often = nt_arena_array(&s->base.memory, hosts, sizeof *s->often);
    }
    s->passes = setup->passes;
    s->batches = setup->batches;
    s->count = setup->count;
    if (nt_arena_check(&s->base.memory, err) != 0) {
        nt_planner_destroy(&s->base);
        return -1;
    }
    arrange_hosts(s, setup->missing);
    *out = &s->base;
    return 0;
}

int nt_sweep_sequential_create(const struct nt_sweep_setup *setup, struct nt_planner **out,
                               struct nt_err *err)
{
    if (nt_sweep_all_create(setup, out, err) != 0)
        return -1;
    ((struct sweep_all *)*out)->sequential = true;
    return 0;
}
