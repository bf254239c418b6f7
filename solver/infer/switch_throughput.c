/* SPDX-License-Identifier: Apache-2.0 */
#include "switch_throughput.h"

#include <math.h>

#include "flow_tally.h"

#define PLATEAU 0.95
#define MORE_FLOWS 1.25
enum { FLOWS_MIN = 2 };

/* What was seen of a switch in rounds of several flows. */
struct seen {
    double most;
    uint32_t few, many; /* flows in rounds near the most that no link explains; 0: there are none */
};

static void keep_most(const struct nt_carried *carried, struct seen *seen)
{
    if (carried->flows >= FLOWS_MIN)
        seen->most = fmax(seen->most, carried->MBps);
}

static void count_full(const struct nt_carried *carried, struct seen *seen)
{
    if (carried->odd < FLOWS_MIN || carried->MBps < PLATEAU * seen->most)
        return;
    seen->few = seen->few == 0 || carried->flows < seen->few ? carried->flows : seen->few;
    seen->many = carried->flows > seen->many ? carried->flows : seen->many;
}

int nt_switch_throughput_find(struct nt_model *model, const struct nt_flow_round *round,
                              size_t rounds, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_flow_tally tally;
    struct seen *seen = nt_arena_array(&memory, model->switches + 1, sizeof *seen);
    if (nt_arena_check(&memory, err) != 0 || nt_flow_tally_init(&tally, model, err) != 0)
        return -1;
    for (int pass = 0; pass < 2; pass++)
        for (size_t r = 0; r < rounds; r++) {
            nt_flow_tally_load(&tally, &round[r]);
            for (size_t s = 0; s < model->switches; s++)
                (pass == 0 ? keep_most : count_full)(&tally.vertex[model->hosts + s], &seen[s]);
        }
    for (size_t s = 0; s < model->switches; s++)
        model->throughput[s] =
            (struct nt_throughput){.MBps = seen[s].most > 0 ? seen[s].most : (double)NAN,
                                   .at_least = (double)seen[s].many <= MORE_FLOWS * seen[s].few};
    nt_flow_tally_fini(&tally);
    return 0;
}
