/* SPDX-License-Identifier: Apache-2.0 */
/* The adaptive sweep driven over a simulated network, each round checked, with what it takes and
 * what it records. */
#ifndef NT_DRIVEN_SWEEP_H
#define NT_DRIVEN_SWEEP_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "rng.h"
#include "sweep_adaptive.h"

static inline uint32_t *shuffled(size_t hosts, uint64_t seed)
{
    struct nt_rng rng;
    uint32_t *order = calloc(hosts + 1, sizeof *order);
    for (uint32_t h = 0; h < hosts; h++)
        order[h] = h;
    nt_rng_init(&rng, ~seed);
    nt_rng_shuffle(&rng, order, hosts);
    return order;
}

/* How a sweep went. */
struct trip {
    size_t rounds, pairs;
    uint64_t trace; /* a hash of all orders */
};

/* All results of a sweep in the order of their rounds, phase by phase. */
struct sweep_record {
    const struct nt_result *result; /* the sum of these: */
    size_t calibration, planning, verification;
    uint32_t failed[2]; /* the last pair that failed */
    size_t failures;
};

struct drive {
    const struct nt_network *network;
    struct nt_measure_noise noise;
    struct nt_planner *planner;
    const bool *absent;
    const uint32_t *blocked; /* a pair that cannot be measured; NULL: none */
    size_t lose_after;       /* rounds; 0: never */
    uint32_t lose_from, lose_count;
    bool *dead;
    struct nt_result *result; /* all so far */
    size_t results, room;
    struct sweep_record record; /* of them */
    bool counted;               /* merging uses all its readings, as the record will */
};

static inline void record(struct drive *d, const char *phase, const struct nt_result *result,
                          size_t n)
{
    if (d->results + n > d->room) {
        d->room = 2 * (d->results + n);
        d->result = realloc(d->result, d->room * sizeof *d->result);
        assert_non_null(d->result);
    }
    memcpy(d->result + d->results, result, n * sizeof *result);
    d->results += n;
    d->record.result = d->result;
    if (strcmp(phase, NT_SWEEP_ADAPTIVE_CALIBRATION) == 0)
        d->record.calibration += n;
    else if (strcmp(phase, NT_SWEEP_ADAPTIVE_PHASE) == 0)
        d->record.planning += n;
    else
        d->record.verification += n;
}

static inline void check_round(const struct drive *d, const struct nt_order *o, bool *busy)
{
    assert_int_equal(o->kind, NT_ORDER_LATENCY);
    assert_at_least(o->batches, 1);
    assert_at_least(o->count, 1);
    assert_above(o->pairs, 0);
    memset(busy, 0, d->network->hosts * sizeof *busy);
    for (size_t k = 0; k < o->pairs; k++)
        for (int end = 0; end < 2; end++) {
            uint32_t h = o->pair[k][end];
            assert_below(h, d->network->hosts);
            assert_false(busy[h]); /* one partner a round, never itself */
            assert_false(d->dead[h]);
            busy[h] = true;
        }
}

static inline bool fails(struct drive *d, const uint32_t pair[2])
{
    const uint32_t *x = d->blocked;
    if (x == NULL ||
        !((x[0] == pair[0] && x[1] == pair[1]) || (x[0] == pair[1] && x[1] == pair[0])))
        return false;
    memcpy(d->record.failed, x, sizeof d->record.failed);
    d->record.failures++;
    return true;
}

static inline struct trip driven(struct drive *d)
{
    struct trip t = {0};
    struct nt_order o;
    struct nt_err err = {0};
    size_t n = d->network->hosts;
    bool *busy = calloc(n + 1, sizeof *busy);
    struct nt_result *result = calloc(n + 1, sizeof *result);
    int more;
    d->dead = calloc(n + 1, sizeof *d->dead);
    for (size_t h = 0; h < n; h++)
        d->dead[h] = d->absent != NULL && d->absent[h];
    while ((more = d->planner->ops->next(d->planner, &o, &err)) > 0) {
        size_t told = 0;
        check_round(d, &o, busy);
        for (size_t k = 0; k < o.pairs; k++) {
            uint32_t a = o.pair[k][0], b = o.pair[k][1];
            struct nt_reading r =
                nt_measure_batches(d->network, &d->noise, a, b, (uint32_t)t.rounds, o.batches);
            t.trace = t.trace * 1000003 + ((uint64_t)a << 20 ^ b);
            if (!fails(d, o.pair[k]) && !isnan(r.value_us))
                result[told++] = (struct nt_result){.a = a,
                                                    .b = b,
                                                    .ok = true,
                                                    .value_us = r.value_us,
                                                    .se_us = r.se_us,
                                                    .count = o.batches * o.count};
        }
        t.rounds++;
        t.pairs += o.pairs;
        for (size_t k = 0; 2 * k < told; k++) { /* in any order */
            struct nt_result swap = result[k];
            result[k] = result[told - 1 - k];
            result[told - 1 - k] = swap;
        }
        assert_int_equal(d->planner->ops->tell(d->planner, result, told, &err), 0);
        record(d, o.phase, result, told);
        struct nt_sweep_adaptive_facts facts;
        nt_sweep_adaptive_facts(d->planner, &facts);
        if (d->counted && strcmp(o.phase, NT_SWEEP_ADAPTIVE_PHASE) == 0)
            assert_int_equal(facts.readings, d->results);
        for (uint32_t h = 0; t.rounds == d->lose_after && h < d->lose_count; h++) {
            d->planner->ops->lose(d->planner, d->lose_from + h);
            d->dead[d->lose_from + h] = true;
        }
        assert_below(t.rounds, 100 + 4 * n); /* it ends */
    }
    if (more < 0)
        fail_msg("%s", err.text);
    free(busy);
    free(result);
    free(d->dead);
    return t;
}

static inline struct nt_model *found_by(const struct drive *d)
{
    struct nt_model *m;
    struct nt_err err;
    if (nt_sparse_model(nt_sweep_adaptive_state(d->planner), &m, &err) < 0)
        fail_msg("%s", err.text);
    return m;
}

/* The same from what was recorded, without a planner. */
static inline int recalled_by(size_t hosts, const struct sweep_record *record,
                              struct nt_model **model, struct nt_sparse_check *check)
{
    struct nt_readings r = {0};
    size_t planned = record->calibration + record->planning;
    for (size_t k = 0; k < planned + record->verification; k++) {
        const struct nt_result *x = &record->result[k];
        if (k < planned)
            r.planning++;
        if (k < record->calibration)
            r.calibration++;
        assert_int_equal(nt_readings_note(&r, x->a, x->b, x->count, x->value_us, NULL), 0);
    }
    for (size_t k = 0; k < record->failures; k++)
        assert_int_equal(nt_readings_note_failure(&r, record->failed[0], record->failed[1], NULL),
                         0);
    int rc = nt_infer_sparse(hosts, NULL, &r, model, check, NULL);
    nt_readings_fini(&r);
    return rc;
}

/* To the last bit. */
static inline void assert_same(const struct nt_model *a, const struct nt_model *b)
{
    assert_true(a->hosts == b->hosts && a->switches == b->switches && a->links == b->links);
    assert_true(a->confidence == b->confidence && a->r2 == b->r2 && a->rms_us == b->rms_us);
    assert_true(a->family == b->family && a->tiers == b->tiers);
    assert_true(a->resolution_us == b->resolution_us);
    for (size_t k = 0; k < a->links; k++) {
        assert_true(a->link[k].a == b->link[k].a && a->link[k].b == b->link[k].b);
        assert_true(a->link[k].latency_us == b->link[k].latency_us);
        assert_true(a->link[k].probability == b->link[k].probability);
    }
}

static inline void begin(struct drive *d, const uint32_t *order, uint64_t seed)
{
    struct nt_err err;
    const struct nt_sweep_setup setup = {d->network->hosts, d->absent, 0, 0, 10, seed};
    if (nt_sweep_adaptive_create(&setup, order, &d->planner, &err) < 0)
        fail_msg("%s", err.text);
}

#endif
