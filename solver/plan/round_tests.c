/* SPDX-License-Identifier: Apache-2.0 */
#include "round_tests.h"

#include <stdlib.h>
#include <string.h>

enum { LOOK = 256 };

struct member {
    uint32_t cluster, child, seat;
    uint64_t key; /* random */
};

struct round {
    const struct nt_found_tree *claim;
    const struct nt_finding *finding;
    struct nt_round_pairs *round;
    struct member *member; /* of a level: cluster by cluster, shuffled inside */
    size_t members;
};

static int compare_members(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    if (x->cluster != y->cluster)
        return x->cluster < y->cluster ? -1 : 1;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->seat < y->seat ? -1 : x->seat > y->seat;
}

static void gather_level(struct round *r, size_t level, struct nt_rng *rng)
{
    const struct nt_found_tree *c = r->claim;
    r->members = 0;
    for (uint32_t i = 0; i < c->seats; i++)
        if (!c->lost[i])
            r->member[r->members++] = (struct member){
                nt_clusters_find(c->clusters, level, i),
                level > 0 ? nt_clusters_find(c->clusters, level - 1, i) : i, i, nt_rng_next(rng)};
    qsort(r->member, r->members, sizeof *r->member, compare_members);
}

/* The partner of member k among those from..till-1: one that needs a test too, or any. */
static void find_partner(struct round *r, size_t level, size_t k, size_t from, size_t till)
{
    const uint8_t *want = r->finding->want + level * r->claim->seats;
    const struct member *me = &r->member[k];
    size_t other = till, n = till - from;
    for (size_t step = 1; step < n && step <= LOOK; step++) {
        size_t at = from + (k - from + step) % n;
        const struct member *m = &r->member[at];
        if (m->child == me->child || r->round->busy[m->seat] ||
            nt_readings_have(r->claim->readings, me->seat, m->seat))
            continue;
        if (other == till || want[m->seat] > 0)
            other = at;
        if (want[m->seat] > 0)
            break;
    }
    if (other != till)
        nt_round_pairs_add(r->round, me->seat, r->member[other].seat);
}

static void test_level(struct round *r, size_t level)
{
    const uint8_t *want = r->finding->want + level * r->claim->seats;
    for (size_t from = 0, till; from < r->members; from = till) {
        for (till = from; till < r->members && r->member[till].cluster == r->member[from].cluster;)
            till++;
        for (size_t k = from; k < till; k++)
            if (want[r->member[k].seat] > 0 && !r->round->busy[r->member[k].seat])
                find_partner(r, level, k, from, till);
    }
}

/* The level with most open tests, but for those done. */
static size_t neediest_level(const struct nt_found_tree *c, const struct nt_finding *f,
                             const bool *done)
{
    size_t best = c->classes->count, most = 0;
    for (size_t l = 0; l < c->classes->count; l++) {
        size_t sum = 0;
        for (size_t i = 0; i < c->seats && !done[l]; i++)
            sum += f->want[l * c->seats + i];
        if (sum > most) {
            most = sum;
            best = l;
        }
    }
    return best;
}

int nt_round_tests(const struct nt_found_tree *c, const struct nt_finding *f, struct nt_rng *rng,
                   struct nt_round_pairs *round, struct nt_err *err)
{
    struct round r = {.claim = c, .finding = f, .round = round};
    bool done[NT_CLASSES_MAX] = {0};
    r.member = calloc(c->seats + 1, sizeof *r.member);
    if (r.member == NULL)
        return nt_err_memory(err);
    memset(round->busy, 0, c->seats * sizeof *round->busy);
    round->count = 0;
    for (size_t k = 0; k < f->rechecks; k++)
        if (!round->busy[f->recheck[k].a] && !round->busy[f->recheck[k].b])
            nt_round_pairs_add(round, f->recheck[k].a, f->recheck[k].b);
    for (size_t l; (l = neediest_level(c, f, done)) < c->classes->count; done[l] = true) {
        gather_level(&r, l, rng);
        test_level(&r, l);
    }
    free(r.member);
    return 0;
}

void nt_round_pairs_fill(size_t seats, const bool *lost, struct nt_round_pairs *round)
{
    uint32_t waiting = UINT32_MAX;
    for (uint32_t i = 0; i < seats; i++) {
        if (lost[i])
            continue;
        if (waiting != UINT32_MAX)
            nt_round_pairs_add(round, waiting, i);
        waiting = waiting == UINT32_MAX ? i : UINT32_MAX;
    }
}
