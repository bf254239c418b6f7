/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes: an error, or readings and figures within bounds. */
#include "fleet_job.h"
#include "fuzz.h"

enum { HOSTS = 1000 };

static int take_pair(void *context, const struct nt_evidence_entry *p, struct nt_err *err)
{
    (void)context, (void)err;
    if (p->a >= p->b || p->b >= HOSTS || p->count == 0 || !(p->lowest_us > 0) ||
        !(p->mean_us >= p->lowest_us) || !(p->sd_us >= 0))
        abort();
    return 0;
}

static int take_figure(void *context, const struct nt_fleet_figure *f, struct nt_err *err)
{
    (void)context, (void)err;
    if (f->host >= HOSTS || f->tier >= NT_FLEET_TIERS || f->kind >= NT_FIGURE_KINDS ||
        !(f->value > 0))
        abort();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nt_err err;
    nt_packed_visit_pairs(data, size, HOSTS, take_pair, NULL, &err);
    nt_packed_visit_figures(data, size, HOSTS, take_figure, NULL, &err);
    return 0;
}
