/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep_prior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "noise_shown.h"
#include "rng.h"
#include "round_believed.h"

static const double NOISE_WANTED = 0.012; /* relative, of a reading */
static const double READING_US = 20000;   /* at most */
static const double WORTH_MORE = 1.5;     /* times the batches: below, noise hardly changes */

enum { ROUNDS_MORE = 24 };

struct prior {
    struct nt_planner base;
    struct nt_belief *belief;
    struct nt_readings readings;
    struct nt_believed believed; /* as of the last call of next */
    struct nt_noise_shown shown;
    struct nt_round_believed round;
    bool *missing;
    uint32_t (*pair)[2];
    uint32_t batches, count;
    size_t rounds;
    struct nt_rng rng;
    bool over;
    const char *why;
};

static const struct prior *prior_of(const struct nt_planner *planner)
{
    return (const struct prior *)planner;
}

/* ---- rounds ----------------------------------------------------------------------------------
 */

/* After the first: as many batches as make a reading quiet; then it counts no more. */
static void quieten(struct prior *s)
{
    double noise = nt_noise_shown(&s->shown), times = noise / NOISE_WANTED;
    double us =
        isnan(s->believed.ln[0]) ? exp((double)s->readings.at[0].ln) : exp(s->believed.ln[0]);
    double most = fmax(READING_US / (2 * s->count * us), s->batches);
    double want = fmin(ceil(s->batches * times * times), most);
    if (want > WORTH_MORE * s->batches)
        s->batches = (uint32_t)want;
}

static int judge(struct prior *s, struct nt_err *err)
{
    struct nt_believed now;
    if (nt_believed_judge(s->belief, s->missing, &s->readings, nt_noise_shown(&s->shown), &now,
                          err) < 0)
        return -1;
    nt_believed_fini(&s->believed);
    s->believed = now;
    return 0;
}

static void end(struct prior *s, const char *why)
{
    s->over = true;
    s->why = why;
}

static int prior_next(struct nt_planner *planner, struct nt_order *order, struct nt_err *err)
{
    struct prior *s = (struct prior *)planner;
    if (s->over)
        return 0;
    if (judge(s, err) < 0)
        return -1;
    if (s->believed.verdict != NT_SPARSE_OPEN) {
        end(s, s->believed.why);
        return 0;
    }
    if (s->rounds == 1 && s->readings.count > 0)
        quieten(s);
    if (nt_round_believed_plan(&s->round, &s->believed, s->missing, &s->rng, err) < 0)
        return -1;
    if (s->round.pairs.count == 0 || s->rounds >= s->belief->hosts + ROUNDS_MORE) {
        end(s, "some of its pairs could not be measured");
        return 0;
    }
    for (size_t k = 0; k < s->round.pairs.count; k++)
        memcpy(s->pair[k], s->round.pairs.seat[k], sizeof *s->pair);
    s->rounds++;
    *order = (struct nt_order){.kind = NT_ORDER_LATENCY,
                               .pairs = s->round.pairs.count,
                               .pair = s->pair,
                               .message_bytes = NT_PING_BYTES,
                               .batches = s->batches,
                               .count = s->count};
    strncpy(order->phase, NT_BELIEVED_PHASE, sizeof order->phase - 1);
    return 1;
}

/* ---- results ----------------------------------------------------------------------------------
 */

static int prior_tell(struct nt_planner *planner, const struct nt_result *results, size_t n,
                      struct nt_err *err)
{
    struct prior *s = (struct prior *)planner;
    for (size_t k = 0; k < n; k++) {
        const struct nt_result *r = &results[k];
        if (!r->ok || r->count == 0 || r->a >= s->belief->hosts || r->b >= s->belief->hosts)
            continue;
        if (nt_readings_note(&s->readings, r->a, r->b, r->count, r->value_us, err) < 0 ||
            nt_noise_shown_note(&s->shown, r->value_us, r->se_us, r->count, err) < 0)
            return -1;
    }
    return 0;
}

static void prior_lose(struct nt_planner *planner, uint32_t host)
{
    struct prior *s = (struct prior *)planner;
    if (host < s->belief->hosts)
        s->missing[host] = true;
}

/* ---- making and unmaking ----------------------------------------------------------------------
 */

static void prior_destroy(struct nt_planner *planner)
{
    struct prior *s = (struct prior *)planner;
    nt_belief_destroy(s->belief);
    nt_readings_fini(&s->readings);
    nt_believed_fini(&s->believed);
    nt_noise_shown_fini(&s->shown);
    nt_object_destroy(s);
}

static const struct nt_planner_ops OPS = {prior_next, prior_tell, prior_lose, prior_destroy, NULL};

static int copy_belief(const struct nt_belief *belief, struct nt_belief **out, struct nt_err *err)
{
    size_t rows = belief->levels > 1 ? belief->levels - 1 : 0;
    if (nt_belief_create(belief->hosts, belief->levels, out, err) < 0)
        return -1;
    (*out)->known = belief->known;
    memcpy((*out)->cluster, belief->cluster, rows * belief->hosts * sizeof *belief->cluster);
    return 0;
}

int nt_sweep_prior_create(const struct nt_belief *belief, const struct nt_sweep_setup *setup,
                          struct nt_planner **out, struct nt_err *err)
{
    struct prior *s = nt_object_create(sizeof *s, err);
    if (s == NULL)
        return -1;
    s->base.ops = &OPS;
    s->batches = setup->batches;
    s->count = setup->count;
    s->missing = nt_arena_array(&s->base.memory, belief->hosts + 1, sizeof *s->missing);
    s->pair = nt_arena_array(&s->base.memory, belief->hosts / 2 + 1, sizeof *s->pair);
    nt_rng_init(&s->rng, setup->seed);
    for (size_t l = 0; l < NT_BELIEF_LEVELS_MAX; l++)
        s->believed.ln[l] = NAN;
    if (nt_arena_check(&s->base.memory, err) < 0 ||
        nt_round_believed_init(&s->round, belief->hosts, &s->base.memory, &s->rng, err) < 0 ||
        copy_belief(belief, &s->belief, err) < 0) {
        prior_destroy(&s->base);
        return -1;
    }
    for (size_t h = 0; setup->missing != NULL && h < belief->hosts; h++)
        s->missing[h] = setup->missing[h];
    *out = &s->base;
    return 0;
}

enum nt_sparse_verdict nt_sweep_prior_verdict(const struct nt_planner *planner)
{
    return prior_of(planner)->believed.verdict;
}

const char *nt_sweep_prior_why(const struct nt_planner *planner)
{
    const struct prior *s = prior_of(planner);
    return s->over ? s->why : "the time was short";
}

int nt_sweep_prior_known(const struct nt_planner *planner, struct nt_sparse *out,
                         struct nt_err *err)
{
    const struct prior *s = prior_of(planner);
    return nt_believed_sparse(&s->believed, s->missing, &s->readings, out, err);
}
