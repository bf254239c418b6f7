/* SPDX-License-Identifier: Apache-2.0 */
#include "campaign.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bandwidth.h"
#include "infer.h"
#include "link_figures.h"
#include "link_latency_plan.h"
#include "loggp.h"
#include "message_sizes.h"
#include "rail_links.h"
#include "remeasure.h"
#include "stress.h"
#include "sweep_adaptive.h"
#include "sweep_latency.h"
#include "sweep_planned.h"

/* ---- warnings about phases that were left out -------------------------------------------- */

enum { WARNINGS_MAX = 16, WARNING_BYTES = 256 };

struct warnings {
    size_t n;
    char text[WARNINGS_MAX][WARNING_BYTES];
};

/* Returns the line; the last one when there is no room. */
static const char *add_warning(struct warnings *warnings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static const char *add_warning(struct warnings *warnings, const char *format, ...)
{
    va_list list;
    if (warnings->n == WARNINGS_MAX)
        return warnings->text[WARNINGS_MAX - 1];
    va_start(list, format);
    vsnprintf(warnings->text[warnings->n], WARNING_BYTES, format, list);
    va_end(list);
    return warnings->text[warnings->n++];
}

/* ---- phases, in their order ---- */

/* The cost of a phase. rounds 0: nothing to measure here. */
struct need {
    size_t rounds;
    size_t repeats;  /* of these, repetitions that may be unnecessary, and can be left out */
    double window_s; /* mean over the rounds: how long each loads the network */
    double most_s;   /* that it may take; 0: all that is left */
    enum nt_order_kind kind;
};

struct phase_kind {
    const char *name;   /* in warnings */
    enum nt_level from; /* the lowest level that has it */
    bool loads;         /* loads links: not on shared hosts */
    bool wants_model;
    /* *out NULL with need->rounds 0: nothing to measure here. */
    int (*create)(struct nt_campaign *campaign, struct nt_planner **out, struct need *need,
                  struct nt_err *err);
    /* The remaining cost after the first round has shown the speed of the network; may be NULL.
     * Before, need is a lower bound. */
    void (*left)(const struct nt_planner *planner, struct need *need);
    /* May be NULL: how long the last round took, for planners that choose by the time. */
    void (*took)(struct nt_planner *planner, double seconds);
};

/* The first of them. */
enum { PHASE_LATENCY, PHASE_REPEATS };

enum { KINDS = NT_ORDER_KERNEL + 1 };

/* Reserved for the end: publishing, and waiting for a late host (ucx_probe/timeouts.c waits as
 * long). Solving is counted separately. */
static const double RESERVE_SHARE = 0.15, RESERVE_MIN_S = 0.1, RESERVE_MAX_S = 1.25;

/* Solving n hosts takes about this time times n squared; replaced by the measured time. For a
 * verified adaptive sweep at most SOLVE_HOST_S per host (bench_coordinate), most of it after the
 * campaign. */
static const double SOLVE_S = 2e-6, SOLVE_HOST_S = 1e-4;

/* Share of the time up to which disturbed or deciding latencies are measured again; the second if
 * no phase follows. */
static const double REPEATS_SHARE = 0.15, REPEATS_LAST_SHARE = 0.7;

/* Limits of the time of rounds that are ordered together, absolute and as a share of the budget,
 * because a lost host costs all of it. */
static const double TOGETHER_S = 0.4, TOGETHER_SHARE = 0.08;

/* A round without its window: connections, barriers, and data of flows in flight. */
struct round_cost {
    size_t learned; /* rounds that taught something */
    double slow_s;  /* the slowest of the recent ones */
    double mean_s;
};

struct nt_campaign {
    struct nt_campaign_options options;
    size_t hosts, present;
    bool *missing;
    double stop_s;       /* no measuring after this */
    double phase_stop_s; /* nor of this phase after this */
    double elapsed_s;    /* at the last nt_campaign_next */

    size_t phase;               /* of the table: that runs, or is next */
    struct nt_planner *planner; /* NULL: between phases */
    struct need need;
    size_t round;                        /* of this phase */
    struct nt_order order;               /* the last */
    struct round_cost round_cost[KINDS]; /* by kind of order */
    double last_s;                       /* the last round, as reported; 0: unknown */
    double rest_until_s;                 /* of the budget: max_load allows nothing before */

    bool verified;    /* the network, by an adaptive sweep */
    double rate_MBps; /* the fastest flow so far; NaN: none */
    struct nt_bandwidth_state flows;
    bool plans;               /* later phases, from the network */
    struct nt_inferred known; /* the network; latencies of all pairs where it is of no others */
    unsigned passes;          /* as often was each of it read; 0: they are not all pairs */
    double solved_s;          /* duration of solving; NaN: unknown */
    bool solved_just;         /* the next call reports how long it took */
    bool adapts;              /* some pairs are measured, or were enough */

    struct warnings warnings;
    const char *cut, *undetermined;
};

/* ---- words ---------------------------------------------------------------------------------- */

/* part: time is left, on which the phases after this one have a claim. */
static void set_budget_reason(struct nt_campaign *c, const char *name, const char *what, bool part)
{
    double budget_s = c->options.asked_s > 0 ? c->options.asked_s : c->options.budget_s;
    const char *text =
        add_warning(&c->warnings, "%s: %s, %s budget of %.*f s was too short", name, what,
                    part ? "its part of the" : "the", budget_s < 9.95 ? 1 : 0, budget_s);
    if (c->cut == NULL)
        c->cut = text;
}

/* ---- time ----------------------------------------------------------------------------------- */

double nt_campaign_measuring_s(double budget_s)
{
    double reserve_s = fmin(fmax(budget_s * RESERVE_SHARE, RESERVE_MIN_S), RESERVE_MAX_S);
    return fmax(budget_s - reserve_s, 0);
}

static double solve_s(const struct nt_campaign *c)
{
    double n = (double)c->hosts, all = SOLVE_S * n * n;
    if (c->adapts)
        return fmax(fmin(all, SOLVE_HOST_S * n), c->solved_s); /* of a NaN: the other */
    return isnan(c->solved_s) ? all : c->solved_s;
}

/* When measuring must end so that solving still fits. */
static double stop_s(const struct nt_campaign *c)
{
    return fmin(c->stop_s, c->options.budget_s - 1.3 * solve_s(c) - RESERVE_MIN_S / 2);
}

/* For measuring latencies again, with inferring the network after it. */
static double repeats_s(const struct nt_campaign *c)
{
    return (c->plans ? REPEATS_SHARE : REPEATS_LAST_SHARE) * stop_s(c) - solve_s(c) - c->elapsed_s;
}

/* Cost of rounds of this kind; of latency rounds if there was none yet. */
static const struct round_cost *round_cost_of(const struct nt_campaign *c, enum nt_order_kind kind)
{
    return &c->round_cost[c->round_cost[kind].learned > 0 ? kind : NT_ORDER_LATENCY];
}

/* Whether a round of this kind keeps links busy all the time, as far as known in advance. */
static bool fills_links(enum nt_order_kind kind)
{
    return kind == NT_ORDER_BANDWIDTH || kind == NT_ORDER_KERNEL;
}

/* Including the pause that such a round requires before the next. */
static double cost_s(const struct nt_campaign *c, enum nt_order_kind kind, double window_s,
                     double round_overhead_s)
{
    return (round_overhead_s + window_s) / (fills_links(kind) ? c->options.max_load : 1);
}

/* The longest that one link can have been in use in the round last ordered: all of it for flows,
 * elsewhere as if all that the pairs sent had gone over one link. */
static double loaded_s(const struct nt_campaign *c, double round_seconds)
{
    const struct nt_order *o = &c->order;
    double took =
        round_seconds > 0 ? round_seconds : o->window_s + round_cost_of(c, o->kind)->slow_s;
    double bytes = (double)o->pairs * o->batches * o->count * o->message_bytes;
    if (fills_links(o->kind))
        return took;
    return c->rate_MBps > 0 ? fmin(bytes / (c->rate_MBps * 1e6), took) : 0;
}

double nt_campaign_pause_s(const struct nt_campaign *c)
{
    return c->options.max_load < 1 ? fmax(c->rest_until_s - c->elapsed_s, 0) : 0;
}

/* The window of an order is exact; the lap, the remaining time, varies. */
static bool round_fits(const struct nt_campaign *c, const struct nt_order *order, double until_s)
{
    double round_cost = round_cost_of(c, order->kind)->slow_s;
    return c->elapsed_s + nt_campaign_pause_s(c) + 1.2 * round_cost + order->window_s < until_s;
}

/* Nothing is known yet: the first rounds will show it. */
static bool phase_fits(const struct nt_campaign *c, const struct need *need)
{
    const struct round_cost *round_cost = round_cost_of(c, need->kind);
    return round_cost->learned == 0 ||
           c->elapsed_s + nt_campaign_pause_s(c) +
                   (double)(need->rounds - need->repeats) *
                       cost_s(c, need->kind, need->window_s, round_cost->mean_s) <
               stop_s(c);
}

/* The slowest lap fades, so that one bad moment does not set the pace for ever. */
static void learn_round_cost(struct nt_campaign *c, double round_seconds)
{
    struct round_cost *l = &c->round_cost[c->order.kind];
    double round_cost = fmax(round_seconds - c->order.window_s, 0);
    c->last_s = round_seconds;
    if (!(round_seconds > 0) || !isfinite(round_seconds))
        return;
    l->slow_s = fmax(round_cost, 0.9 * l->slow_s);
    l->mean_s = l->learned == 0 ? round_cost : 0.8 * l->mean_s + 0.2 * round_cost;
    l->learned++;
}

/* Between two calls lie a round and, after the latencies, solving them. */
static void learn_solving(struct nt_campaign *c, double elapsed_s)
{
    if (c->solved_just && c->last_s > 0)
        c->solved_s = fmax(elapsed_s - c->elapsed_s - c->last_s, 0);
    c->solved_just = false;
}

/* ---- planning the phases ---- */

static double left_s(const struct nt_campaign *c)
{
    return stop_s(c) - c->elapsed_s;
}

/* Difference between the overhead of a bandwidth round and of a latency round. */
static double overhead_s(const struct nt_campaign *c)
{
    return round_cost_of(c, NT_ORDER_BANDWIDTH)->mean_s;
}

static double ping_s(const struct nt_campaign *c)
{
    return round_cost_of(c, NT_ORDER_LATENCY)->mean_s;
}

enum { BATCHES = 3, PINGS = 5 };

enum { BELIEF_HOSTS = 4 }; /* of fewer a pass over all pairs is as short */

static struct nt_sweep_setup setup_of(const struct nt_campaign *c)
{
    return (struct nt_sweep_setup){.hosts = c->hosts,
                                   .missing = c->missing,
                                   .passes = 1,
                                   .batches = BATCHES,
                                   .count = PINGS,
                                   .seed = c->options.seed};
}

static int create_latency(struct nt_campaign *c, struct nt_planner **out, struct need *need,
                          struct nt_err *err)
{
    if (c->present < 2)
        return 0;
    const struct nt_campaign_options *o = &c->options;
    const struct nt_sweep_setup setup = setup_of(c);
    if (nt_sweep_latency_create(&setup, o->mode, out, &need->rounds, err) != 0)
        return -1;
    bool wanted = o->mode == NT_SWEEP_AUTO || o->mode == NT_SWEEP_ADAPTIVE;
    if (!wanted || o->belief == NULL || o->belief->levels == 0 || c->present < BELIEF_HOSTS)
        return 0;
    need->rounds = 0;
    if (nt_sweep_latency_set_prior(*out, o->belief, err) == 0)
        return 0;
    nt_planner_destroy(*out);
    return -1;
}

/* Rounds of different pairs; more add little. */
enum { REPEATS_ROUNDS = 24 };

static int create_repeats(struct nt_campaign *c, struct nt_planner **out, struct need *need,
                          struct nt_err *err)
{
    double rounds = ping_s(c) > 0 ? repeats_s(c) / ping_s(c) : REPEATS_ROUNDS;
    unsigned often = c->passes * NT_REMEASURE_PHASES;
    *out = NULL;
    if (c->known.model == NULL || c->known.latency == NULL || often == 0 || !(rounds > often))
        return 0;
    struct nt_remeasure_input input = {.model = c->known.model,
                                       .min_latency = c->known.latency,
                                       .errors = c->known.se,
                                       .missing = c->missing,
                                       .passes = c->passes,
                                       .most_rounds = (size_t)fmin(rounds / often, REPEATS_ROUNDS),
                                       .batches = BATCHES,
                                       .count = PINGS,
                                       .seed = c->options.seed};
    return nt_remeasure_create(&input, out, &need->rounds, err);
}

static int create_link_latency(struct nt_campaign *c, struct nt_planner **out, struct need *need,
                               struct nt_err *err)
{
    if (c->known.model->switches == 0)
        return 0; /* latencies between hosts are measured already */
    if (c->known.model->links > NT_LINK_LATENCY_LINKS_SOON)
        return nt_err_set(
            err, NT_ERR_INPUT,
            "not measured, because solving %zu links takes too long (up to %d are solved)",
            c->known.model->links, (int)NT_LINK_LATENCY_LINKS_SOON);
    const struct nt_sweep_setup setup = setup_of(c);
    return nt_link_latency_plan_create(c->known.model, &setup, out, &need->rounds, err);
}

/* ---- bandwidth ------------------------------------------------------------------------------ */

/* Windows between these: shorter ones measure the start of a flow, longer ones nothing more. */
static const double WINDOW_MIN_S = 0.06, WINDOW_MAX_S = 0.3, WINDOW_FAST_S = 0.01;

/* Limit of a window plus the pause that max_load requires after it: the period of the average. */
static const double PERIOD_S = 1;

/* Flows that share a link end later than earlier flows with a link of their own. */
static const double LAP_SHARED = 2;

/* The longest window with which the rounds use at most a share of the remaining time. */
static double widest_window(const struct nt_campaign *c, size_t rounds, unsigned phases,
                            double share)
{
    double load = c->options.max_load;
    double lap = overhead_s(c) * (phases == NT_BANDWIDTH_HOST_LINKS ? 1 : LAP_SHARED);
    double window = load * left_s(c) * share / (double)(rounds > 0 ? rounds : 1) - lap;
    double most = load < 1 ? fmin(WINDOW_MAX_S, load * PERIOD_S - lap) : WINDOW_MAX_S;
    return fmax(fmin(window, most), WINDOW_MIN_S);
}

/* Whether phases follow the bandwidths. */
static bool leaves_time(const struct nt_campaign *c)
{
    return c->options.level == NT_LEVEL_FULL || c->options.stresses > 0;
}

static int create_bandwidth(struct nt_campaign *c, unsigned phases, double share,
                            struct nt_planner **out, struct need *need, struct nt_err *err)
{
    /* the later phases of level full have priority */
    bool once = leaves_time(c);
    struct nt_bandwidth_options options = {.phases = phases, .once = once, .seen = &c->flows};
    struct nt_planner *planner;
    if (nt_bandwidth_create(c->known.model, c->missing, &options, &planner, err) != 0)
        return -1;
    need->rounds = nt_bandwidth_rounds_left(planner);
    need->repeats = nt_bandwidth_repeats_left(planner);
    size_t warm = nt_bandwidth_phase_left(planner, "warm-up");
    size_t checks = nt_bandwidth_checks_left(
        planner); /* checks use the remaining time, without shorter windows */
    nt_planner_destroy(planner);
    if (need->rounds == warm) { /* for nothing */
        need->rounds = 0;
        return 0;
    }
    options.window_s =
        widest_window(c, need->rounds - checks - (need->repeats - checks) / 2, phases, share);
    need->window_s = WINDOW_FAST_S;
    need->kind = NT_ORDER_BANDWIDTH;
    return nt_bandwidth_create(c->known.model, c->missing, &options, out, err);
}

/* Each of the three leaves time for the later ones. */
static int create_host_links(struct nt_campaign *c, struct nt_planner **out, struct need *need,
                             struct nt_err *err)
{
    bool full = leaves_time(c), last = c->known.model->switches < 2 && !full;
    return create_bandwidth(c, NT_BANDWIDTH_HOST_LINKS,
                            last   ? 0.9
                            : full ? 0.25
                                   : 0.3,
                            out, need, err);
}

static int create_tiers(struct nt_campaign *c, struct nt_planner **out, struct need *need,
                        struct nt_err *err)
{
    double share = leaves_time(c) ? 0.35 : 0.9;
    return create_bandwidth(c, NT_BANDWIDTH_TIERS, share, out, need, err);
}

static int create_ladder(struct nt_campaign *c, struct nt_planner **out, struct need *need,
                         struct nt_err *err)
{
    return create_bandwidth(c, NT_BANDWIDTH_LADDER, 0.3, out, need, err);
}

static void bandwidth_left(const struct nt_planner *planner, struct need *need)
{
    need->rounds = nt_bandwidth_rounds_left(planner);
    need->repeats = nt_bandwidth_repeats_left(planner);
    need->window_s = nt_bandwidth_window_s(planner);
}

/* ---- last phases ------------------------------------------------------------------------- */

static const double SIZES[] = {4096, 512, 32768}; /* the first is needed; solving sorts them */
enum { SIZES_COUNT = sizeof SIZES / sizeof *SIZES };

/* The time for pings of all pairs with the first sizes, including the transfer of their bytes in
 * both directions. */
static double sizes_s(const struct nt_campaign *c, size_t sizes)
{
    double bytes = 0, rounds = (double)nt_sweep_all_rounds(c->present);
    for (size_t k = 0; k < sizes; k++)
        bytes += 2 * BATCHES * PINGS * SIZES[k];
    double sending = c->rate_MBps > 0 ? bytes / (c->rate_MBps * 1e6) : 0;
    return rounds * ((double)sizes * ping_s(c) + sending);
}

/* Share of the remaining time; the time for connections is known for pairs only. */
static const double KERNELS_PART = 0.6;

/* The windows of the kernels shrink to the remaining time; connections do not. */
static double kernels_s(const struct nt_campaign *c)
{
    size_t kernels = c->options.stresses > 0 ? c->options.stresses : NT_STRESS_KERNELS;
    double connecting = (double)kernels * (ping_s(c) + overhead_s(c));
    return c->options.max_load < 1 ? 0 : connecting / KERNELS_PART;
}

/* Limit of the remaining time for the phases after LogGP. */
static const double AFTER_LOGGP_PART = 0.5;

/* The remaining time less the need of later phases; parts of LogGP that do not fit are left out. */
static double loggp_most_s(const struct nt_campaign *c)
{
    double rest = AFTER_LOGGP_PART * left_s(c), kernels = kernels_s(c);
    double needed = kernels < rest ? kernels : 0;
    size_t sizes = SIZES_COUNT;
    while (sizes > 0 && needed + sizes_s(c, sizes) >= rest)
        sizes--;
    return left_s(c) - needed - sizes_s(c, sizes);
}

/* ---- rails ---------------------------------------------------------------------------------- */

/* Share of the remaining time. */
static const double RAILS_PART = 0.8;

static int create_rails(struct nt_campaign *c, struct nt_planner **out, struct need *need,
                        struct nt_err *err)
{
    struct nt_rail_links_settings settings = {.rails = c->options.rails,
                                              .rail = c->options.rail,
                                              .missing = c->missing,
                                              .rate_MBps = c->rate_MBps};
    if (settings.rails < 2)
        return 0;
    if (nt_rail_links_create(c->known.model, &settings, out, &need->rounds, err) != 0)
        return -1;
    need->most_s = RAILS_PART * left_s(c);
    need->window_s = nt_rail_links_window_s(*out);
    need->kind = NT_ORDER_PRTT;
    return 0;
}

/* ---- LogGP ---------------------------------------------------------------------------------- */

/* An order that would take more than this share of the budget is left out. */
static const double LOGGP_SHARE = 0.05;
/* Share of the remaining time if rails follow. */
static const double LOGGP_PART = 0.6;

static void loggp_left(const struct nt_planner *planner, struct need *need)
{
    need->rounds = nt_loggp_rounds_left(planner, &need->repeats);
}

static int create_loggp(struct nt_campaign *c, struct nt_planner **out, struct need *need,
                        struct nt_err *err)
{
    const struct nt_campaign_options *o = &c->options;
    double loggp_s = loggp_most_s(c);
    if (o->rails > 1) /* the links of rails come next */
        loggp_s = LOGGP_PART * left_s(c);
    need->most_s = loggp_s;
    struct nt_loggp_settings settings = {
        .rails = o->rails,
        .rail = o->rail,
        .longest_s = o->max_load * fmin(fmax(LOGGP_SHARE * o->budget_s, 0.05), 2),
        .seconds = o->max_load * loggp_s,
        .round_overhead_s = overhead_s(c),
    };
    if (nt_loggp_create(c->known.model, &settings, out, err) != 0)
        return -1;
    for (uint32_t h = 0; h < c->hosts; h++)
        if (c->missing[h])
            (*out)->ops->lose(*out, h);
    /* the coarse sizes alone are useful: they are ordered first, on every rail */
    loggp_left(*out, need);
    need->window_s = nt_loggp_round_s(*out);
    need->kind = NT_ORDER_PRTT;
    return 0;
}

/* ---- message sizes -------------------------------------------------------------------------- */

static void sizes_left(const struct nt_planner *planner, struct need *need)
{
    need->rounds = nt_message_sizes_rounds_left(planner, &need->repeats);
}

static int create_sizes(struct nt_campaign *c, struct nt_planner **out, struct need *need,
                        struct nt_err *err)
{
    if (c->hosts > NT_SWEEP_ALL_HOSTS_MAX)
        return nt_err_set(err, NT_ERR_INPUT,
                          "not measured, because it needs all pairs (up to %d hosts)",
                          (int)NT_SWEEP_ALL_HOSTS_MAX);
    double kernels = kernels_s(c);
    need->most_s = left_s(c) - (kernels + sizes_s(c, 1) < left_s(c) ? kernels : 0);
    const struct nt_sweep_setup setup = setup_of(c);
    if (nt_message_sizes_create(&setup, SIZES, SIZES_COUNT, c->rate_MBps, out, err) != 0)
        return -1;
    sizes_left(*out, need);
    return 0;
}

/* ---- stress kernels ------------------------------------------------------------------------- */

static int create_kernels(struct nt_campaign *c, struct nt_planner **out, struct need *need,
                          struct nt_err *err)
{
    need->kind = NT_ORDER_KERNEL;
    if (c->options.max_load < 1)
        return nt_err_set(err, NT_ERR_INPUT,
                          "not measured, because they fill links and max_load is %g",
                          c->options.max_load);
    const struct nt_sweep_setup setup = setup_of(c);
    const struct nt_stress_settings settings = {
        .kernel = c->options.stress,
        .chosen = c->options.stresses,
        .rate_MBps = c->rate_MBps,
        .seconds = KERNELS_PART * left_s(c) - 6 * overhead_s(c),
    };
    if (nt_stress_create(&setup, &settings, out, err) != 0)
        return -1;
    nt_stress_need(*out, &need->rounds, &need->window_s);
    return 0;
}

/* ---- a plan that was given ------------------------------------------------------------------- */

static int create_planned(struct nt_campaign *c, struct nt_planner **out, struct need *need,
                          struct nt_err *err)
{
    struct nt_sweep_setup setup = setup_of(c);
    *out = NULL;
    if (c->options.plan == NULL)
        return 0;
    setup.passes = NT_PLANNED_PASSES;
    need->rounds = c->options.plan->rounds;
    if (c->options.plan_flows) /* two passes of the warm-up, and one */
        need->window_s = widest_window(c, 3 * need->rounds, NT_BANDWIDTH_TIERS, 1);
    return nt_sweep_planned_create(&setup, c->options.plan, need->window_s, out, err);
}

/* ---- the order ------------------------------------------------------------------------------ */

/* Phases that most jobs use come first. LogGP uses all time that later phases leave. */
static const struct phase_kind phase_kinds[] = {
    {"latency", NT_LEVEL_QUICK, false, false, create_latency, NULL, NULL},
    {"repeats", NT_LEVEL_QUICK, false, false, create_repeats, NULL, NULL},
    {"bandwidth of host links", NT_LEVEL_STANDARD, true, true, create_host_links, bandwidth_left,
     NULL},
    {"bandwidth between switches", NT_LEVEL_STANDARD, true, true, create_tiers, bandwidth_left,
     NULL},
    {"link-latency", NT_LEVEL_FULL, false, true, create_link_latency, NULL, NULL},
    {"bandwidth shared by few", NT_LEVEL_FULL, true, true, create_ladder, bandwidth_left, NULL},
    {"loggp", NT_LEVEL_FULL, true, true, create_loggp, loggp_left, nt_loggp_took},
    {NT_RAIL_LINKS_PHASE, NT_LEVEL_FULL, true, true, create_rails, NULL, NULL},
    {"sizes", NT_LEVEL_FULL, true, false, create_sizes, sizes_left, NULL},
    {"kernels", NT_LEVEL_FULL, true, false, create_kernels, NULL, NULL},
    {"plan", NT_LEVEL_QUICK, false, false, create_planned, NULL,
     NULL}, /* with a plan, nothing else is measured */
};
enum { PHASES = sizeof phase_kinds / sizeof *phase_kinds, PHASE_KERNELS = PHASES - 2, PHASE_PLAN };

/* ---- latencies ------------------------------------------------------------------------------ */

static void keep_fastest(struct nt_campaign *c, const struct nt_result *r)
{
    if (c->order.kind == NT_ORDER_BANDWIDTH && r->ok && r->value_us > 0)
        c->rate_MBps = fmax(r->bytes / r->value_us, c->rate_MBps); /* of a NaN: the other */
}

static int infer_all(struct nt_campaign *c, const struct nt_planner *planner,
                     struct nt_model **model, struct nt_err *err)
{
    bool few = c->hosts <= NT_INFER_ERRORS_HOSTS;
    return nt_sweep_latency_matrix(planner, &c->known.latency, few ? &c->known.se : NULL, err) == 0
               ? nt_infer_latency(c->known.latency, c->known.se, c->options.seed, model, err)
               : -1;
}

/* Infers from a latency planner that has ended. */
static int infer_network(struct nt_campaign *c, const struct nt_planner *planner,
                         struct nt_err *err)
{
    const struct nt_sparse *sound = nt_sweep_latency_verified(planner);
    struct nt_model *model;
    if ((sound != NULL ? nt_sparse_model(sound, &model, err)
                       : infer_all(c, planner, &model, err)) != 0)
        return -1;
    nt_model_destroy(c->known.model);
    c->known.model = model;
    c->solved_just = true;
    return 0;
}

/* ---- phases --------------------------------------------------------------------------------- */

static const struct phase_kind *phase_kind(const struct nt_campaign *c)
{
    return &phase_kinds[c->phase];
}

static void end_phase(struct nt_campaign *c)
{
    nt_planner_destroy(c->planner);
    c->planner = NULL;
    c->phase++;
}

/* A phase that cannot be planned is left out; without latencies there is no result. */
static int skip_phase(struct nt_campaign *c, const struct nt_err *why, struct nt_err *err)
{
    if (c->phase == PHASE_LATENCY) {
        if (err != NULL)
            *err = *why;
        return -1;
    }
    add_warning(&c->warnings, "%s: %.*s", phase_kind(c)->name, WARNING_BYTES - 64, why->text);
    end_phase(c);
    return 0;
}

/* Whether the time is enough for the phase's planner. */
static bool enter_phase(struct nt_campaign *c)
{
    if (c->phase == PHASE_REPEATS) /* as much of it as fits */
        c->phase_stop_s = c->elapsed_s + repeats_s(c);
    if (c->phase > PHASE_LATENCY)
        return c->phase == PHASE_REPEATS || phase_fits(c, &c->need);
    c->adapts = nt_sweep_latency_is_adaptive(c->planner); /* then solving leaves more time */
    c->phase_stop_s = stop_s(c);
    return true;
}

static void miss_model(struct nt_campaign *c)
{
    if (c->undetermined != NULL)
        add_warning(&c->warnings, "%s: not measured, because the network is undetermined",
                    phase_kind(c)->name);
    else
        set_budget_reason(c, phase_kind(c)->name, "not measured", false);
}

/* 1: it runs; 0: it does not, and the next is due */
static int open_phase(struct nt_campaign *c, struct nt_err *err)
{
    const struct phase_kind *k = phase_kind(c);
    struct nt_err why = {0};
    c->need = (struct need){0};
    c->round = 0;
    bool chosen = c->phase == PHASE_KERNELS && c->options.stresses > 0;
    if ((c->options.level < k->from && !chosen) || c->present < 2)
        return end_phase(c), 0;
    if (k->loads && c->options.latency_only) {
        add_warning(&c->warnings,
                    "%s: not measured, because on shared hosts only latency is allowed", k->name);
        return end_phase(c), 0;
    }
    if (k->wants_model && c->known.model == NULL) {
        miss_model(c);
        return end_phase(c), 0;
    }
    if (k->create(c, &c->planner, &c->need, &why) != 0)
        return c->planner = NULL, skip_phase(c, &why, err);
    if (c->planner == NULL)
        return end_phase(c), 0;
    c->phase_stop_s = c->need.most_s > 0 ? c->elapsed_s + c->need.most_s : stop_s(c);
    if (!enter_phase(c)) {
        set_budget_reason(c, k->name, "not measured", false);
        return end_phase(c), 0;
    }
    return 1;
}

static const char *warn_all_pairs(struct nt_campaign *c)
{
    const char *why =
        c->phase == PHASE_LATENCY ? nt_sweep_latency_all_pairs_reason(c->planner) : NULL;
    return why != NULL ? add_warning(&c->warnings, "%s: %s", phase_kind(c)->name, why) : NULL;
}

/* Prepares the network from which other phases are planned, if there are any. */
static int finish_latency(struct nt_campaign *c, struct nt_err *err)
{
    const char *why = warn_all_pairs(c);
    bool determined = c->present < 2 || nt_sweep_latency_is_determined(c->planner);
    c->verified = nt_sweep_latency_verified(c->planner) != NULL;
    c->undetermined = determined ? NULL : why;
    bool all = determined && !c->verified && c->present > 1;
    if (all)
        c->passes = nt_sweep_latency_passes(c->planner);
    /* repeats are planned from it, too, and it is inferred again after them */
    bool wanted = c->plans || (all && repeats_s(c) > solve_s(c));
    return wanted && determined && c->present > 1 ? infer_network(c, c->planner, err) : 0;
}

/* Repeated measurements, complete or not, are in the record from which the map is made. */
static int finish_repeats(struct nt_campaign *c, struct nt_err *err)
{
    struct nt_model *model;
    if (nt_remeasure_model(c->planner, &model, err) != 0)
        return -1;
    nt_inferred_fini(&c->known); /* its latencies are incomplete now */
    c->known.model = model;
    c->solved_just = true;
    return 0;
}

/* The planner has no more rounds. */
static int finish_phase(struct nt_campaign *c, struct nt_err *err)
{
    int rc = 0;
    if (c->phase == PHASE_LATENCY)
        rc = finish_latency(c, err);
    else if (c->phase == PHASE_REPEATS)
        rc = finish_repeats(c, err);
    else if (c->phase == PHASE_PLAN)
        c->verified = nt_sweep_planned_unread(c->planner) == 0;
    end_phase(c);
    return rc;
}

/* Whether only repetitions remain. */
static bool is_complete(const struct nt_campaign *c)
{
    struct need need = c->need;
    if (c->round == 0 || phase_kind(c)->left == NULL)
        return false;
    phase_kind(c)->left(c->planner, &need);
    return need.rounds == need.repeats;
}

/* Whether all latencies are measured, so that the rest repeats them. */
static bool is_repeating(const struct nt_campaign *c)
{
    return c->phase == PHASE_REPEATS ||
           (c->phase == PHASE_LATENCY && nt_sweep_latency_repeats(c->planner)) ||
           (c->phase == PHASE_PLAN && nt_sweep_planned_repeats(c->planner));
}

static void warn_less_often(struct nt_campaign *c)
{
    add_warning(&c->warnings,
                "%s: measured less often than planned, because the time was too short",
                phase_kind(c)->name);
}

/* Unfinished repetitions of flows may be unnecessary; everything else that is left out gives a
 * warning. */
static int finish_early(struct nt_campaign *c, struct nt_err *err)
{
    if (!is_repeating(c) && c->need.kind != NT_ORDER_BANDWIDTH)
        warn_less_often(c);
    return finish_phase(c, err);
}

static int cut_phase(struct nt_campaign *c, bool part)
{
    if (c->phase == PHASE_LATENCY && nt_sweep_latency_is_determined(c->planner)) {
        warn_less_often(c);
        return finish_phase(c, NULL);
    }
    warn_all_pairs(c);
    set_budget_reason(c, phase_kind(c)->name,
                      c->round <= (phase_kind(c)->left != NULL) ? "not measured"
                      : c->phase == PHASE_PLAN ? "not all of its pairs were measured"
                                               : "measured less often than planned",
                      part);
    return end_phase(c), 0;
}

/* Whether the remaining rounds are too long, as the first one showed. For flows only: other
 * planners adapt to the time, and one slow round is not representative. */
static bool is_too_long(const struct nt_campaign *c)
{
    struct need need = c->need;
    if (c->round != 1 || c->need.kind != NT_ORDER_BANDWIDTH)
        return false;
    phase_kind(c)->left(c->planner, &need);
    return !phase_fits(c, &need);
}

/* And it has had its time. */
static bool is_repeated(const struct nt_campaign *c)
{
    double share = c->plans ? REPEATS_SHARE : REPEATS_LAST_SHARE;
    return c->phase != PHASE_PLAN && is_repeating(c) && c->elapsed_s > share * stop_s(c);
}

/* The planner may have inferred the network, between two calls of this. */
static int ask_planner(struct nt_campaign *c, struct nt_order *order, struct nt_err *err)
{
    size_t before = c->phase == PHASE_REPEATS ? nt_remeasure_inferences(c->planner) : 0;
    int rc = c->planner->ops->next(c->planner, order, err);
    if (c->phase == PHASE_LATENCY)
        c->adapts = nt_sweep_latency_is_adaptive(c->planner);
    if (c->phase == PHASE_REPEATS && nt_remeasure_inferences(c->planner) > before)
        c->solved_just = true;
    return rc;
}

/* 1: *order; 0: the next phase is due */
static int next_round(struct nt_campaign *c, struct nt_order *order, struct nt_err *err)
{
    struct nt_err why = {0};
    if (is_too_long(c))
        return cut_phase(c, false);
    if (is_repeated(c))
        return finish_phase(c, err);
    bool complete = is_complete(c) || is_repeating(c);
    int rc = ask_planner(c, order, &why);
    if (rc < 0)
        return skip_phase(c, &why, err);
    if (rc == 0)
        return finish_phase(c, err);
    /* later phases have priority, except over the indispensable part of this one */
    bool needed = phase_kind(c)->left != NULL && !complete;
    if (!round_fits(c, order, needed ? stop_s(c) : fmin(stop_s(c), c->phase_stop_s)))
        return complete ? finish_early(c, err) : cut_phase(c, round_fits(c, order, stop_s(c)));
    c->order = *order;
    c->round++;
    return 1;
}

int nt_campaign_next(struct nt_campaign *c, double elapsed_s, struct nt_order *order,
                     struct nt_err *err)
{
    learn_solving(c, elapsed_s);
    c->elapsed_s = elapsed_s;
    while (c->phase < PHASES) {
        int rc = c->planner == NULL ? open_phase(c, err) : 1;
        if (rc == 1)
            rc = next_round(c, order, err);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int nt_campaign_next_ahead(struct nt_campaign *c, size_t together, struct nt_order *order,
                           struct nt_err *err)
{
    const struct round_cost *cost = &c->round_cost[c->order.kind];
    double rounds = (double)together + 1, usual = c->last_s > 0 ? c->last_s : cost->mean_s;
    double most_s = fmin(TOGETHER_S, TOGETHER_SHARE * c->options.budget_s);
    if (c->planner == NULL || c->planner->ops->ahead == NULL || cost->learned == 0 ||
        c->options.max_load < 1 || rounds * fmin(cost->mean_s, usual) > most_s ||
        c->elapsed_s + 1.2 * rounds * cost->slow_s > fmin(stop_s(c), c->phase_stop_s) ||
        c->planner->ops->ahead(c->planner) == 0)
        return 0;
    int rc = c->planner->ops->next(c->planner, order, err);
    if (rc == 1)
        c->order = *order, c->round++;
    return rc;
}

int nt_campaign_tell(struct nt_campaign *c, const struct nt_result *results, size_t n,
                     double round_seconds, struct nt_err *err)
{
    struct nt_err why = {0};
    c->rest_until_s =
        c->elapsed_s + nt_campaign_pause_s(c) + loaded_s(c, round_seconds) / c->options.max_load;
    learn_round_cost(c, round_seconds);
    if (c->planner == NULL)
        return 0;
    if (phase_kind(c)->took != NULL)
        phase_kind(c)->took(c->planner, round_seconds);
    for (size_t k = 0; k < n; k++)
        keep_fastest(c, &results[k]);
    return c->planner->ops->tell(c->planner, results, n, &why) == 0 ? 0 : skip_phase(c, &why, err);
}

void nt_campaign_lose(struct nt_campaign *c, uint32_t host)
{
    if (host >= c->hosts || c->missing[host])
        return;
    c->missing[host] = true;
    c->present--;
    if (c->planner != NULL)
        c->planner->ops->lose(c->planner, host);
}

/* ---- warnings and progress ------------------------------------------------------------------ */

size_t nt_campaign_warnings(const struct nt_campaign *c)
{
    return c->warnings.n;
}

const char *nt_campaign_warning(const struct nt_campaign *c, size_t k)
{
    return k < c->warnings.n ? c->warnings.text[k] : "";
}

const char *nt_campaign_budget_warning(const struct nt_campaign *c)
{
    return c->cut;
}

bool nt_campaign_is_verified(const struct nt_campaign *c)
{
    return c->verified;
}

const char *nt_campaign_undetermined(const struct nt_campaign *c)
{
    return c->undetermined;
}

void nt_campaign_take_inferred(struct nt_campaign *c, struct nt_inferred *out)
{
    *out = c->known;
    memset(&c->known, 0, sizeof c->known);
}

void nt_campaign_progress(const struct nt_campaign *c, struct nt_campaign_progress *progress)
{
    bool runs = c->planner != NULL;
    struct need need = c->need;
    if (runs && phase_kind(c)->left != NULL) {
        phase_kind(c)->left(c->planner, &need);
        need.rounds += c->round;
    }
    *progress =
        (struct nt_campaign_progress){.phase = runs ? c->order.phase : "",
                                      .round = runs ? c->round : 0,
                                      .rounds = runs && c->round <= need.rounds ? need.rounds : 0,
                                      .left_s = fmax(stop_s(c) - c->elapsed_s, 0)};
}

/* ---- life ----------------------------------------------------------------------------------- */

static int refuse_options(const struct nt_campaign_options *o, struct nt_err *err)
{
    if (!(o->budget_s > 0) || !isfinite(o->budget_s))
        return nt_err_set(err, NT_ERR_USAGE, "a sweep within %g s: expected more than 0",
                          o->budget_s);
    if (!(o->max_load > 0 && o->max_load <= 1))
        return nt_err_set(err, NT_ERR_USAGE, "max_load %g: expected a share over 0, at most 1",
                          o->max_load);
    return 0;
}

int nt_campaign_create(size_t hosts, const bool *missing, const struct nt_campaign_options *options,
                       struct nt_campaign **out, struct nt_err *err)
{
    if (refuse_options(options, err) != 0)
        return -1;
    if (hosts > NT_CAMPAIGN_HOSTS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "a sweep of %zu hosts: at most %d", hosts,
                          (int)NT_CAMPAIGN_HOSTS_MAX);
    struct nt_campaign *c = calloc(1, sizeof *c);
    bool *away = calloc(hosts + 1, sizeof *away);
    if (c == NULL || away == NULL) {
        free(c);
        free(away);
        return nt_err_memory(err);
    }
    *c = (struct nt_campaign){
        .options = *options, .hosts = hosts, .missing = away, .rate_MBps = NAN, .solved_s = NAN};
    c->known.seed = options->seed;
    c->stop_s = nt_campaign_measuring_s(options->budget_s);
    c->plans = options->level > (options->latency_only ? NT_LEVEL_STANDARD : NT_LEVEL_QUICK) ||
               options->stresses > 0;
    if (options->plan != NULL) {
        c->phase = PHASE_PLAN;
        c->plans = false;
        c->solved_s = 0;
        c->options.level = NT_LEVEL_QUICK;
    }
    for (size_t h = 0; h < hosts; h++) {
        away[h] = missing != NULL && missing[h];
        c->present += !away[h];
    }
    *out = c;
    return 0;
}

void nt_campaign_destroy(struct nt_campaign *c)
{
    if (c == NULL)
        return;
    nt_planner_destroy(c->planner);
    nt_inferred_fini(&c->known);
    free(c->missing);
    free(c);
}
