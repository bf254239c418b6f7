#include "campaign_phases.h"

#include "precise.h"

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

static int create_link_latency(const struct nt_phase_site *site, struct nt_planner **out,
                               struct nt_phase_need *need, struct nt_err *err)
{
    if (site->model->switches == 0)
        return 0; /* what lies between hosts is measured already */
    return nt_precise_create(site->model, site->absent, site->options->seed, BATCHES, PINGS, out,
                             &need->rounds, err);
}

const struct nt_phase_kind nt_phase_kinds[] = {
    {"latency", NT_LEVEL_QUICK, false, false, create_latency},
    {"bandwidth", NT_LEVEL_STANDARD, true, true, NULL},
    {"link-latency", NT_LEVEL_FULL, false, true, create_link_latency},
    {"loggp", NT_LEVEL_FULL, true, true, NULL},
};
const size_t nt_phase_kinds_count = sizeof nt_phase_kinds / sizeof *nt_phase_kinds;
