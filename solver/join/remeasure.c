/* SPDX-License-Identifier: Apache-2.0 */
#include "remeasure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deciding_pairs.h"
#include "infer.h"
#include "memory.h"
#include "repeats.h"
#include "rng.h"
#include "shape.h"

enum { TURNS = 3 };

/* If the same network is hardly more certain, further repetitions will not change it. */
static const double SURER = 0.02;

struct repeat {
    struct nt_planner base;
    struct nt_arena memory;          /* of the arrays */
    struct nt_remeasure_input input; /* but for missing and model */
    bool *missing;
    struct nt_model *model;
    struct nt_repeats readings;
    size_t folded;                    /* of the readings that the model is from */
    struct nt_deciding_pairs decided; /* of this turn */
    uint32_t *turn_order;             /* of its rounds, in this pass */
    size_t turn, pass, round;         /* pass: of this turn */
    size_t inferred;
    uint32_t phase;      /* of the order last given */
    uint32_t (*pair)[2]; /* of that order */
    size_t pairs;
    bool over, loses; /* loses: a host was lost, so that rounds may be empty */
};

/* ---- the network ---------------------------------------------------------------------------- */

static int copy_matrix(const struct nt_matrix *m, struct nt_matrix **out, struct nt_err *err)
{
    if (nt_matrix_create(m->n, m->kind, out, err) != 0)
        return -1;
    memcpy((*out)->at, m->at, m->n * m->n * sizeof *m->at);
    return 0;
}

/* The matrix from all results so far. *errors: NULL if they are unknown. */
static int fold_repeats(struct repeat *s, struct nt_matrix **out, struct nt_matrix **errors,
                        struct nt_err *err)
{
    *errors = NULL;
    if (copy_matrix(s->input.min_latency, out, err) != 0)
        return -1;
    if (s->input.errors != NULL && copy_matrix(s->input.errors, errors, err) != 0) {
        nt_matrix_destroy(*out);
        return -1;
    }
    if (nt_repeats_fold(&s->readings, *out, *errors, err) == 0)
        return 0;
    nt_matrix_destroy(*out);
    nt_matrix_destroy(*errors);
    return -1;
}

static int infer_network(struct repeat *s, struct nt_model **out, struct nt_err *err)
{
    struct nt_matrix *m, *errors;
    if (fold_repeats(s, &m, &errors, err) != 0)
        return -1;
    int rc = nt_infer_latency(m, errors, s->input.seed, out, err);
    nt_matrix_destroy(m);
    nt_matrix_destroy(errors);
    s->inferred += rc == 0;
    s->folded = s->readings.count;
    return rc;
}

static bool is_settled(const struct nt_model *before, const struct nt_model *now)
{
    return now->confidence >= NT_REMEASURE_CONFIDENCE ||
           (now->confidence < before->confidence + SURER && nt_shape_equal(before, now));
}

/* ---- turns ---------------------------------------------------------------------------------- */

static size_t passes_of(const struct repeat *s)
{
    return (size_t)s->input.passes * NT_REMEASURE_PHASES;
}

static int decide_pairs(struct repeat *s, struct nt_err *err)
{
    nt_deciding_pairs_fini(&s->decided);
    int rc = nt_deciding_pairs_find(s->model, s->missing, s->input.most_rounds,
                                    s->input.seed + s->turn, &s->decided, err);
    s->pass = s->round = 0;
    s->over = rc != 0 || s->decided.rounds == 0;
    return rc;
}

/* A turn is measured: infers again, and finds the pairs that decide then. */
static int end_turn(struct repeat *s, struct nt_err *err)
{
    struct nt_model *now;
    if (infer_network(s, &now, err) != 0)
        return -1;
    s->over = ++s->turn == TURNS || is_settled(s->model, now);
    nt_model_destroy(s->model);
    s->model = now;
    return s->over ? 0 : decide_pairs(s, err);
}

/* A different order per pass, so that a disturbance for some time does not affect the same
 * pairs. */
static void shuffle_pass(struct repeat *s)
{
    struct nt_rng rng;
    for (size_t r = 0; r < s->decided.rounds; r++)
        s->turn_order[r] = (uint32_t)r;
    nt_rng_init(&rng, s->input.seed + s->turn * passes_of(s) + s->pass);
    nt_rng_shuffle(&rng, s->turn_order, s->decided.rounds);
}

/* The next round's pairs without lost hosts; 0: there are none. */
static size_t fill_round(struct repeat *s)
{
    const struct nt_deciding_pairs *d = &s->decided;
    if (s->round == 0)
        shuffle_pass(s);
    size_t r = s->turn_order[s->round];
    s->pairs = 0;
    for (size_t k = d->start[r]; k < d->start[r + 1]; k++)
        if (!s->missing[d->pair[k][0]] && !s->missing[d->pair[k][1]])
            memcpy(s->pair[s->pairs++], d->pair[k], sizeof d->pair[k]);
    s->phase = (uint32_t)(s->turn * NT_REMEASURE_PHASES + s->pass / s->input.passes + 1);
    s->round++;
    if (s->round == d->rounds) {
        s->round = 0;
        s->pass++;
    }
    return s->pairs;
}

static int remeasure_next(struct nt_planner *planner, struct nt_order *order, struct nt_err *err)
{
    struct repeat *s = (struct repeat *)planner;
    size_t pairs = 0;
    while (pairs == 0 && !s->over) {
        if (s->pass < passes_of(s))
            pairs = fill_round(s);
        else if (end_turn(s, err) != 0)
            return -1;
    }
    if (pairs == 0)
        return 0;
    *order = (struct nt_order){.kind = NT_ORDER_LATENCY,
                               .pairs = pairs,
                               .pair = s->pair,
                               .message_bytes = NT_PING_BYTES,
                               .batches = s->input.batches,
                               .count = s->input.count};
    snprintf(order->phase, sizeof order->phase, NT_REPEATS_PHASE "%u", (unsigned)s->phase);
    return 1;
}

static int remeasure_tell(struct nt_planner *planner, const struct nt_result *results, size_t n,
                          struct nt_err *err)
{
    struct repeat *s = (struct repeat *)planner;
    for (size_t k = 0; k < n; k++)
        if (results[k].ok && results[k].value_us > 0 &&
            nt_repeats_note(&s->readings, results[k].a, results[k].b, s->phase, results[k].value_us,
                            err) != 0)
            return -1;
    return 0;
}

static void remeasure_lose(struct nt_planner *planner, uint32_t host)
{
    struct repeat *s = (struct repeat *)planner;
    if (host < s->input.min_latency->n)
        s->missing[host] = s->loses = true;
}

static void remeasure_destroy(struct nt_planner *planner)
{
    struct repeat *s = (struct repeat *)planner;
    nt_deciding_pairs_fini(&s->decided);
    nt_repeats_fini(&s->readings);
    nt_model_destroy(s->model);
    nt_arena_fini(&s->memory);
    free(s);
}

/* Within the pass only: the next one may have another phase, which separates its readings. */
static size_t remeasure_ahead(const struct nt_planner *planner)
{
    const struct repeat *s = (const struct repeat *)planner;
    return s->over || s->loses || s->round == 0 ? 0 : s->decided.rounds - s->round;
}

static const struct nt_planner_ops OPS = {remeasure_next, remeasure_tell, remeasure_lose,
                                          remeasure_destroy, remeasure_ahead};

/* ---- making it ------------------------------------------------------------------------------ */

static int remeasure_init(struct repeat *s, const struct nt_remeasure_input *input,
                          struct nt_err *err)
{
    size_t hosts = input->min_latency->n;
    s->missing = nt_arena_array(&s->memory, hosts, sizeof *s->missing);
    s->turn_order = nt_arena_array(&s->memory, input->most_rounds, sizeof *s->turn_order);
    s->pair = nt_arena_array(&s->memory, hosts / 2, sizeof *s->pair);
    if (nt_arena_check(&s->memory, err) != 0)
        return -1;
    for (size_t h = 0; input->missing != NULL && h < hosts; h++)
        s->missing[h] = input->missing[h];
    return nt_model_copy(input->model, &s->model, err) != 0 ? -1 : decide_pairs(s, err);
}

int nt_remeasure_create(const struct nt_remeasure_input *input, struct nt_planner **out,
                        size_t *rounds, struct nt_err *err)
{
    *out = NULL;
    *rounds = 0;
    if (input->model->confidence >= NT_REMEASURE_CONFIDENCE || input->passes == 0 ||
        input->most_rounds == 0)
        return 0;
    struct repeat *s = calloc(1, sizeof *s);
    if (s == NULL)
        return nt_err_memory(err);
    s->base.ops = &OPS;
    s->input = *input;
    int rc = remeasure_init(s, input, err);
    if (rc != 0 || s->over) {
        remeasure_destroy(&s->base);
        return rc;
    }
    *rounds = s->decided.rounds * passes_of(s);
    *out = &s->base;
    return 0;
}

size_t nt_remeasure_inferences(const struct nt_planner *planner)
{
    return ((const struct repeat *)planner)->inferred;
}

int nt_remeasure_model(struct nt_planner *planner, struct nt_model **out, struct nt_err *err)
{
    struct repeat *s = (struct repeat *)planner;
    struct nt_model *now;
    if (s->folded < s->readings.count) {
        if (infer_network(s, &now, err) != 0)
            return -1;
        nt_model_destroy(s->model);
        s->model = now;
    }
    return nt_model_copy(s->model, out, err);
}
