/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep_latency.h"

#include <stdio.h>

#include "disturbed.h"
#include "memory.h"
#include "sweep_adaptive.h"
#include "sweep_prior.h"

enum { PASSES = 3, PASSES_TOLD = 2, PASSES_MOST = 9 };

/* Passes go on until less than this many pairs are to be expected without a good reading. */
static const double PAIRS_DISTURBED = 0.02;

struct latency {
    struct nt_planner base;
    struct nt_sweep_setup setup; /* of all pairs */
    bool *missing;               /* setup.missing */
    size_t present;
    struct nt_planner *prior; /* NULL: nothing is verified_prior */
    bool is_checking_prior;   /* that sweep is not over */
    bool verified;            /* it is, and found: */
    struct nt_sparse verified_prior;
    struct nt_planner *adaptive; /* NULL: not wanted */
    struct nt_planner *all;      /* NULL: not needed yet */
    bool sequential;             /* all pairs one after another */
    bool over;                   /* the adaptive sweep is */
    bool failed;                 /* or will be: it cannot use the results */
    bool sound;
    size_t rounds;                 /* of all pairs, so far */
    size_t planned;                /* of these; further passes repeat disturbed pairs */
    size_t pass;                   /* rounds */
    struct nt_latencies latencies; /* as measured, where all pairs may be */
    char why[160];                 /* "": none */
};

static const struct latency *latency_of(const struct nt_planner *planner)
{
    return (const struct latency *)planner;
}

/* Rounds of a pass over all pairs. */
static size_t pass_rounds(const struct latency *s)
{
    return s->sequential ? s->present * (s->present - (s->present > 0)) / 2
                         : nt_sweep_all_rounds(s->present);
}

static int begin_all(struct latency *s, struct nt_err *err)
{
    s->pass = pass_rounds(s);
    s->planned = PASSES * s->pass;
    return (s->sequential ? nt_sweep_sequential_create : nt_sweep_all_create)(&s->setup, &s->all,
                                                                              err);
}

static bool has_too_many(const struct latency *s)
{
    return s->setup.hosts > NT_SWEEP_ALL_HOSTS_MAX;
}

static void set_reason(struct latency *s, const char *what, const char *then)
{
    if (has_too_many(s))
        snprintf(s->why, sizeof s->why, "%s, and all pairs are measured of at most %d hosts", what,
                 (int)NT_SWEEP_ALL_HOSTS_MAX);
    else
        snprintf(s->why, sizeof s->why, "%s, %s", what, then);
}

/* 1: *order; 0: it has ended, with a verified network or with too many hosts for all pairs; -1:
 * error; 2: all pairs are needed */
static int next_adaptive(struct latency *s, struct nt_order *order, struct nt_err *err)
{
    struct nt_sparse_check check;
    struct nt_err why = {.kind = NT_ERR_INPUT};
    int more = s->failed ? -1 : s->adaptive->ops->next(s->adaptive, order, &why);
    if (more > 0)
        return 1;
    s->over = true;
    nt_sparse_check(nt_sweep_adaptive_state(s->adaptive), &check);
    s->sound = more == 0 && check.verdict == NT_SPARSE_SOUND;
    if (s->sound)
        return 0;
    if (more < 0 && why.kind != NT_ERR_INPUT) {
        if (err != NULL)
            *err = why;
        return -1;
    }
    if (check.verdict == NT_SPARSE_REFUTED)
        set_reason(s, "some measurements contradict the tiers found from others",
                   "so all pairs were to be measured");
    else
        set_reason(s, "the tiers could not be determined from some pairs",
                   "so all were to be measured");
    if (has_too_many(s))
        return 0;
    return begin_all(s, err) < 0 ? -1 : 2;
}

/* 1: all that was planned has been measured, and disturbances need no further pass. */
static int is_enough(const struct latency *s, struct nt_err *err)
{
    struct nt_disturbed d;
    if (s->rounds < s->planned || (s->pass > 0 && s->rounds % s->pass != 0))
        return 0;
    return nt_disturbed_find(&s->latencies, &d, err) < 0 ? -1 : d.pairs < PAIRS_DISTURBED;
}

/* 1: *order; 0: it has ended and the prior is verified; 2: it has ended without, and the other
 * sweeps follow; -1: error */
static int next_prior(struct latency *s, struct nt_order *order, struct nt_err *err)
{
    int more = s->prior->ops->next(s->prior, order, err);
    if (more != 0)
        return more;
    s->is_checking_prior = false;
    if (nt_sweep_prior_verdict(s->prior) != NT_SPARSE_SOUND)
        return 2;
    if (nt_sweep_prior_network(s->prior, &s->verified_prior, err) < 0)
        return -1;
    s->verified = true;
    return 0;
}

static int latency_next(struct nt_planner *planner, struct nt_order *order, struct nt_err *err)
{
    struct latency *s = (struct latency *)planner;
    int verified_prior = s->is_checking_prior ? next_prior(s, order, err) : 2;
    if (verified_prior != 2)
        return verified_prior;
    if (s->verified || (s->over && s->all == NULL))
        return 0;
    int rc = s->over ? 2 : next_adaptive(s, order, err);
    if (rc != 2)
        return rc;
    int enough = is_enough(s, err);
    if (enough != 0)
        return enough < 0 ? -1 : 0;
    int more = s->all->ops->next(s->all, order, err);
    s->rounds += more > 0;
    return more;
}

static int latency_tell(struct nt_planner *planner, const struct nt_result *results, size_t n,
                        struct nt_err *err)
{
    struct latency *s = (struct latency *)planner;
    struct nt_err why = {0};
    if (s->is_checking_prior)
        return s->prior->ops->tell(s->prior, results, n, err);
    for (size_t k = 0; k < n; k++)
        if (results[k].ok && !has_too_many(s) &&
            nt_latencies_note(&s->latencies, results[k].a, results[k].b, results[k].value_us,
                              results[k].se_us, err) < 0)
            return -1;
    if (s->all != NULL && s->all->ops->tell(s->all, results, n, err) != 0)
        return -1;
    if (s->over || s->adaptive->ops->tell(s->adaptive, results, n, &why) == 0)
        return 0;
    s->failed = why.kind == NT_ERR_INPUT;
    if (s->failed)
        return 0;
    if (err != NULL)
        *err = why;
    return -1;
}

static void latency_lose(struct nt_planner *planner, uint32_t host)
{
    struct latency *s = (struct latency *)planner;
    if (host >= s->setup.hosts || s->missing[host])
        return;
    s->missing[host] = true;
    s->present--;
    if (s->prior != NULL)
        s->prior->ops->lose(s->prior, host);
    if (s->adaptive != NULL)
        s->adaptive->ops->lose(s->adaptive, host);
    if (s->all != NULL)
        s->all->ops->lose(s->all, host);
}

static void latency_destroy(struct nt_planner *planner)
{
    struct latency *s = (struct latency *)planner;
    nt_planner_destroy(s->prior);
    if (s->verified)
        nt_sparse_fini(&s->verified_prior);
    nt_planner_destroy(s->adaptive);
    nt_planner_destroy(s->all);
    nt_latencies_fini(&s->latencies);
    nt_object_destroy(s);
}

/* All pairs up to the planned passes, then to the end of a pass. */
static size_t latency_ahead(const struct nt_planner *planner)
{
    const struct latency *s = latency_of(planner);
    if (s->all == NULL || s->is_checking_prior || s->verified)
        return 0;
    size_t left =
        s->rounds < s->planned ? s->planned - s->rounds : (s->pass - s->rounds % s->pass) % s->pass;
    size_t most = s->all->ops->ahead(s->all);
    return left < most ? left : most;
}

static const struct nt_planner_ops OPS = {latency_next, latency_tell, latency_lose, latency_destroy,
                                          latency_ahead};

int nt_sweep_latency_create(const struct nt_sweep_setup *setup, enum nt_sweep_mode mode,
                            struct nt_planner **out, size_t *rounds, struct nt_err *err)
{
    struct latency *s = nt_object_create(sizeof *s, err);
    if (s == NULL)
        return -1;
    s->base.ops = &OPS;
    s->setup = *setup;
    s->setup.passes = PASSES_MOST;
    s->setup.missing = s->missing =
        nt_arena_array(&s->base.memory, setup->hosts, sizeof *s->missing);
    if (nt_arena_check(&s->base.memory, err) != 0) {
        latency_destroy(&s->base);
        return -1;
    }
    for (size_t h = 0; h < setup->hosts; h++) {
        s->missing[h] = setup->missing != NULL && setup->missing[h];
        s->present += !s->missing[h];
    }
    bool adaptive = mode == NT_SWEEP_ADAPTIVE || has_too_many(s) ||
                    (mode == NT_SWEEP_AUTO && s->present >= NT_SWEEP_ADAPTIVE_FROM);
    s->sequential = mode == NT_SWEEP_SEQUENTIAL && !adaptive;
    if ((mode == NT_SWEEP_ALL || mode == NT_SWEEP_SEQUENTIAL) && adaptive)
        set_reason(
            s, mode == NT_SWEEP_ALL ? "sweep=all was asked for" : "sweep=sequential was asked for",
            "");
    s->over = !adaptive;
    nt_latencies_init(&s->latencies, setup->hosts);
    int rc =
        adaptive ? nt_sweep_adaptive_create(setup, NULL, &s->adaptive, err) : begin_all(s, err);
    if (rc < 0) {
        latency_destroy(&s->base);
        return -1;
    }
    *rounds = adaptive ? 0 : PASSES * pass_rounds(s);
    *out = &s->base;
    return 0;
}

int nt_sweep_latency_set_prior(struct nt_planner *planner, const struct nt_belief *belief,
                               struct nt_err *err)
{
    struct latency *s = (struct latency *)planner;
    if (belief->hosts != s->setup.hosts)
        return nt_err_set(err, NT_ERR_INPUT, "a prior of %zu hosts for %zu", belief->hosts,
                          s->setup.hosts);
    if (nt_sweep_prior_create(belief, &s->setup, &s->prior, err) < 0)
        return -1;
    s->is_checking_prior = true;
    return 0;
}

const struct nt_sparse *nt_sweep_latency_verified(const struct nt_planner *planner)
{
    if (latency_of(planner)->verified)
        return &latency_of(planner)->verified_prior;
    return latency_of(planner)->sound ? nt_sweep_adaptive_state(latency_of(planner)->adaptive)
                                      : NULL;
}

bool nt_sweep_latency_is_determined(const struct nt_planner *planner)
{
    const struct latency *s = latency_of(planner);
    return s->verified || s->sound || s->rounds >= PASSES_TOLD * pass_rounds(s);
}

unsigned nt_sweep_latency_passes(const struct nt_planner *planner)
{
    const struct latency *s = latency_of(planner);
    return s->pass == 0 ? 0 : (unsigned)((s->rounds + s->pass / 2) / s->pass);
}

bool nt_sweep_latency_repeats(const struct nt_planner *planner)
{
    const struct latency *s = latency_of(planner);
    return s->all != NULL && !s->is_checking_prior && !s->verified && s->rounds >= s->planned;
}

const char *nt_sweep_latency_all_pairs_reason(const struct nt_planner *planner)
{
    return latency_of(planner)->why[0] != '\0' ? latency_of(planner)->why : NULL;
}

bool nt_sweep_latency_is_adaptive(const struct nt_planner *planner)
{
    const struct latency *s = latency_of(planner);
    return s->all == NULL || s->is_checking_prior || s->verified;
}

int nt_sweep_latency_matrix(const struct nt_planner *planner, struct nt_matrix **out,
                            struct nt_matrix **error, struct nt_err *err)
{
    return nt_latencies_matrix(&latency_of(planner)->latencies, out, error, err);
}
