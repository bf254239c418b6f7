/* SPDX-License-Identifier: Apache-2.0 */
#include "campaign_phases.h"

#include <math.h>

#include "bandwidth.h"
#include "link_latency.h"
#include "link_latency_plan.h"
#include "loggp.h"
#include "message_sizes.h"
#include "rail_links.h"
#include "remeasure.h"
#include "stress.h"
#include "sweep_latency.h"

enum { BATCHES = 3, PINGS = 5 };

enum { BELIEF_HOSTS = 4 }; /* of fewer a pass over all pairs is as short */

static int create_latency(const struct nt_phase_site *site, struct nt_planner **out,
                          struct nt_phase_need *need, struct nt_err *err)
{
    if (site->present < 2)
        return 0;
    const struct nt_campaign_options *o = site->options;
    if (nt_sweep_latency_create(site->hosts, site->missing, o->mode, BATCHES, PINGS, o->seed, out,
                                &need->rounds, err) != 0)
        return -1;
    bool wanted = o->mode == NT_SWEEP_AUTO || o->mode == NT_SWEEP_ADAPTIVE;
    if (!wanted || o->belief == NULL || o->belief->levels == 0 || site->present < BELIEF_HOSTS)
        return 0;
    need->rounds = 0;
    if (nt_sweep_latency_believe(*out, o->belief, o->seed, err) == 0)
        return 0;
    nt_planner_destroy(*out);
    return -1;
}

/* Rounds of different pairs; more add little. */
enum { REPEATS_ROUNDS = 24 };

static int create_repeats(const struct nt_phase_site *site, struct nt_planner **out,
                          struct nt_phase_need *need, struct nt_err *err)
{
    double rounds = site->ping_s > 0 ? site->repeats_s / site->ping_s : REPEATS_ROUNDS;
    unsigned often = site->passes * NT_REMEASURE_PHASES;
    *out = NULL;
    if (site->model == NULL || site->min_latency == NULL || often == 0 || !(rounds > often))
        return 0;
    struct nt_remeasure_input input = {.model = site->model,
                                       .min_latency = site->min_latency,
                                       .errors = site->errors,
                                       .missing = site->missing,
                                       .passes = site->passes,
                                       .most_rounds = (size_t)fmin(rounds / often, REPEATS_ROUNDS),
                                       .batches = BATCHES,
                                       .count = PINGS,
                                       .seed = site->options->seed};
    return nt_remeasure_create(&input, out, &need->rounds, err);
}

static int create_link_latency(const struct nt_phase_site *site, struct nt_planner **out,
                               struct nt_phase_need *need, struct nt_err *err)
{
    if (site->model->switches == 0)
        return 0; /* latencies between hosts are measured already */
    if (site->model->links > NT_LINK_LATENCY_LINKS_SOON)
        return nt_err_set(
            err, NT_ERR_INPUT,
            "not measured, solving %zu links takes longer than there is time, at most "
            "%d are",
            site->model->links, (int)NT_LINK_LATENCY_LINKS_SOON);
    return nt_link_latency_plan_create(site->model, site->missing, site->options->seed, BATCHES,
                                       PINGS, out, &need->rounds, err);
}

/* ---- bandwidth ------------------------------------------------------------------------------ */

/* Windows between these: shorter ones measure the start of a flow, longer ones nothing more. */
static const double WINDOW_MIN_S = 0.06, WINDOW_MAX_S = 0.3, WINDOW_FAST_S = 0.01;

/* A window and the rest that max_load requires after it, at most: the average is over so long. */
static const double PERIOD_S = 1;

/* Flows that share a link take longer to end than those before, which had one of their own. */
static const double LAP_SHARED = 2;

/* The longest window with which the rounds stay within a share of what is left. */
static double widest_window(const struct nt_phase_site *site, size_t rounds, unsigned phases,
                            double share)
{
    double load = site->options->max_load;
    double lap = site->round_overhead_s * (phases == NT_BANDWIDTH_HOST_LINKS ? 1 : LAP_SHARED);
    double window = load * site->left_s * share / (double)(rounds > 0 ? rounds : 1) - lap;
    double most = load < 1 ? fmin(WINDOW_MAX_S, load * PERIOD_S - lap) : WINDOW_MAX_S;
    return fmax(fmin(window, most), WINDOW_MIN_S);
}

static int create_bandwidth(const struct nt_phase_site *site, unsigned phases, double share,
                            struct nt_planner **out, struct nt_phase_need *need, struct nt_err *err)
{
    /* what full measures after this has the first claim on the time */
    bool once = site->options->level == NT_LEVEL_FULL;
    struct nt_bandwidth_options options = {.phases = phases, .once = once, .seen = site->flows};
    struct nt_planner *planner;
    if (nt_bandwidth_create(site->model, site->missing, &options, &planner, err) != 0)
        return -1;
    need->rounds = nt_bandwidth_rounds_left(planner);
    need->repeats = nt_bandwidth_repeats_left(planner);
    size_t warm = nt_bandwidth_phase_left(planner, "warm-up");
    size_t checks =
        nt_bandwidth_checks_left(planner); /* take what is left, and no shorter windows */
    nt_planner_destroy(planner);
    if (need->rounds == warm) { /* for nothing */
        need->rounds = 0;
        return 0;
    }
    options.window_s =
        widest_window(site, need->rounds - checks - (need->repeats - checks) / 2, phases, share);
    need->window_s = WINDOW_FAST_S;
    need->kind = NT_ORDER_BANDWIDTH;
    return nt_bandwidth_create(site->model, site->missing, &options, out, err);
}

/* Each of the three keeps something for those after it. */
static int create_host_links(const struct nt_phase_site *site, struct nt_planner **out,
                             struct nt_phase_need *need, struct nt_err *err)
{
    bool full = site->options->level == NT_LEVEL_FULL, last = site->model->switches < 2 && !full;
    return create_bandwidth(site, NT_BANDWIDTH_HOST_LINKS,
                            last   ? 0.9
                            : full ? 0.25
                                   : 0.3,
                            out, need, err);
}

static int create_tiers(const struct nt_phase_site *site, struct nt_planner **out,
                        struct nt_phase_need *need, struct nt_err *err)
{
    double share = site->options->level == NT_LEVEL_FULL ? 0.35 : 0.9;
    return create_bandwidth(site, NT_BANDWIDTH_TIERS, share, out, need, err);
}

static int create_ladder(const struct nt_phase_site *site, struct nt_planner **out,
                         struct nt_phase_need *need, struct nt_err *err)
{
    return create_bandwidth(site, NT_BANDWIDTH_LADDER, 0.3, out, need, err);
}

static void bandwidth_left(const struct nt_planner *planner, struct nt_phase_need *need)
{
    need->rounds = nt_bandwidth_rounds_left(planner);
    need->repeats = nt_bandwidth_repeats_left(planner);
    need->window_s = nt_bandwidth_window_s(planner);
}

/* ---- what comes last ------------------------------------------------------------------------ */

static const double SIZES[] = {4096, 512, 32768}; /* the first is needed; solving sorts them */
enum { SIZES_COUNT = sizeof SIZES / sizeof *SIZES };

/* The pings of all pairs with the first sizes, and what their bytes take both ways. */
static double sizes_s(const struct nt_phase_site *site, size_t sizes)
{
    double bytes = 0, rounds = (double)nt_sweep_all_rounds(site->present);
    for (size_t k = 0; k < sizes; k++)
        bytes += 2 * BATCHES * PINGS * SIZES[k];
    double sending = site->rate_MBps > 0 ? bytes / (site->rate_MBps * 1e6) : 0;
    return rounds * ((double)sizes * site->ping_s + sending);
}

/* Of the time that is left; what connecting takes is known only of pairs. */
static const double KERNELS_PART = 0.6;

/* The windows of the kernels shrink to what is left: what stays is connecting. */
static double kernels_s(const struct nt_phase_site *site)
{
    double connecting = NT_STRESS_KERNELS * (site->ping_s + site->round_overhead_s);
    return site->options->max_load < 1 ? 0 : connecting / KERNELS_PART;
}

/* The most that the phases after LogGP get of the time that is left. */
static const double AFTER_LOGGP_PART = 0.5;

/* Of the time that is left, what those after LogGP do not need; what would not fit into their part
 * is left out. */
static double loggp_most_s(const struct nt_phase_site *site)
{
    double rest = AFTER_LOGGP_PART * site->left_s, kernels = kernels_s(site);
    double needed = kernels < rest ? kernels : 0;
    size_t sizes = SIZES_COUNT;
    while (sizes > 0 && needed + sizes_s(site, sizes) >= rest)
        sizes--;
    return site->left_s - needed - sizes_s(site, sizes);
}

/* ---- rails ---------------------------------------------------------------------------------- */

/* Of the time that is left. */
static const double RAILS_PART = 0.8;

static int create_rails(const struct nt_phase_site *site, struct nt_planner **out,
                        struct nt_phase_need *need, struct nt_err *err)
{
    struct nt_rail_links_settings settings = {.rails = site->options->rails,
                                              .rail = site->options->rail,
                                              .missing = site->missing,
                                              .rate_MBps = site->rate_MBps};
    if (settings.rails < 2)
        return 0;
    if (nt_rail_links_create(site->model, &settings, out, &need->rounds, err) != 0)
        return -1;
    need->most_s = RAILS_PART * site->left_s;
    need->window_s = nt_rail_links_window_s(*out);
    need->kind = NT_ORDER_PRTT;
    return 0;
}

/* ---- LogGP ---------------------------------------------------------------------------------- */

/* An order that would take more than this share of the budget is not worth it. */
static const double LOGGP_SHARE = 0.05;
/* Of the time that is left, if rails follow. */
static const double LOGGP_PART = 0.6;

static void loggp_left(const struct nt_planner *planner, struct nt_phase_need *need)
{
    need->rounds = nt_loggp_rounds_left(planner, &need->repeats);
}

static int create_loggp(const struct nt_phase_site *site, struct nt_planner **out,
                        struct nt_phase_need *need, struct nt_err *err)
{
    const struct nt_campaign_options *o = site->options;
    double loggp_s = loggp_most_s(site);
    if (o->rails > 1) /* its links come next */
        loggp_s = LOGGP_PART * site->left_s;
    need->most_s = loggp_s;
    struct nt_loggp_settings settings = {
        .rails = o->rails,
        .rail = o->rail,
        .longest_s = o->max_load * fmin(fmax(LOGGP_SHARE * o->budget_s, 0.05), 2),
        .seconds = o->max_load * loggp_s,
        .round_overhead_s = site->round_overhead_s,
    };
    if (nt_loggp_create(site->model, &settings, out, err) != 0)
        return -1;
    for (uint32_t h = 0; h < site->hosts; h++)
        if (site->missing[h])
            (*out)->ops->lose(*out, h);
    /* the coarse sizes alone are worth it: they are ordered first, on every rail */
    loggp_left(*out, need);
    need->window_s = nt_loggp_round_s(*out);
    need->kind = NT_ORDER_PRTT;
    return 0;
}

/* ---- message sizes -------------------------------------------------------------------------- */

static void sizes_left(const struct nt_planner *planner, struct nt_phase_need *need)
{
    need->rounds = nt_message_sizes_rounds_left(planner, &need->repeats);
}

static int create_sizes(const struct nt_phase_site *site, struct nt_planner **out,
                        struct nt_phase_need *need, struct nt_err *err)
{
    if (site->hosts > NT_SWEEP_ALL_HOSTS_MAX)
        return nt_err_set(err, NT_ERR_INPUT,
                          "not measured, it takes all pairs, of at most %d hosts",
                          (int)NT_SWEEP_ALL_HOSTS_MAX);
    double kernels = kernels_s(site);
    need->most_s = site->left_s - (kernels + sizes_s(site, 1) < site->left_s ? kernels : 0);
    if (nt_message_sizes_create(site->hosts, site->missing, SIZES, SIZES_COUNT, 1, BATCHES, PINGS,
                                site->rate_MBps, out, err) != 0)
        return -1;
    sizes_left(*out, need);
    return 0;
}

/* ---- stress kernels ------------------------------------------------------------------------- */

static int create_kernels(const struct nt_phase_site *site, struct nt_planner **out,
                          struct nt_phase_need *need, struct nt_err *err)
{
    need->kind = NT_ORDER_KERNEL;
    if (site->options->max_load < 1)
        return nt_err_set(err, NT_ERR_INPUT,
                          "not measured, they are to fill links and max_load is %g",
                          site->options->max_load);
    return nt_stress_create(site->hosts, site->missing, site->rate_MBps,
                            KERNELS_PART * site->left_s - 6 * site->round_overhead_s, out,
                            &need->rounds, &need->window_s, err);
}

/* ---- the order ------------------------------------------------------------------------------ */

/* What most jobs use comes first. LogGP takes all the time that those after it leave. */
const struct nt_phase_kind nt_phase_kinds[] = {
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
};
const size_t nt_phase_kinds_count = sizeof nt_phase_kinds / sizeof *nt_phase_kinds;
