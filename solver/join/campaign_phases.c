#include "campaign_phases.h"

#include <math.h>

#include "loggp.h"

/* Three passes in different orders, the lowest of the three: one pass alone finds the exact shape
 * in four networks of five, three in all of them. */
enum { PASSES = 3, BATCHES = 3, PINGS = 5 };

static int create_latency(const struct nt_phase_site *site, struct nt_planner **out,
                          struct nt_phase_need *need, struct nt_err *err)
{
    if (site->present < 2)
        return 0;
    need->rounds = PASSES * (site->present - (site->present % 2 == 0));
    return nt_sweep_all_create(site->hosts, site->absent, PASSES, BATCHES, PINGS, out, err);
}

/* An order that would take more than this share of the budget is not worth it. */
static const double LOGGP_SHARE = 0.05;

static int create_loggp(const struct nt_phase_site *site, struct nt_planner **out,
                        struct nt_phase_need *need, struct nt_err *err)
{
    const struct nt_campaign_options *o = site->options;
    struct nt_loggp_settings settings = {
        .rails = o->rails,
        .rail = o->rail,
        .longest_s = fmin(fmax(LOGGP_SHARE * o->budget_s, 0.05), 2),
    };
    if (nt_loggp_create(site->model, &settings, out, err) != 0)
        return -1;
    for (uint32_t h = 0; h < site->hosts; h++)
        if (site->absent[h])
            (*out)->ops->lose(*out, h);
    /* the sizes alone are worth it: they are ordered first, on every rail */
    size_t rounds = nt_loggp_rounds_left(*out);
    need->rounds = rounds / 4;
    need->window_s = rounds == 0 ? 0 : nt_loggp_seconds_left(*out) / (double)rounds;
    return 0;
}

const struct nt_phase_kind nt_phase_kinds[] = {
    {"latency", NT_LEVEL_QUICK, false, false, create_latency},
    {"bandwidth", NT_LEVEL_STANDARD, true, true, NULL},
    {"loggp", NT_LEVEL_FULL, true, true, create_loggp},
};
const size_t nt_phase_kinds_count = sizeof nt_phase_kinds / sizeof *nt_phase_kinds;
