/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"

#include <math.h>
#include <stdlib.h>

int nt_plan_create(size_t pairs, struct nt_plan **out, struct nt_err *err)
{
    struct nt_plan *p = calloc(1, sizeof *p);
    if (p == NULL)
        return nt_err_memory(err);
    p->pairs = pairs;
    p->pair = calloc(pairs + 1, sizeof *p->pair);
    p->round = calloc(pairs + 1, sizeof *p->round);
    p->amplification_rms = p->amplification_max = NAN;
    if (p->pair == NULL || p->round == NULL) {
        nt_plan_destroy(p);
        return nt_err_memory(err);
    }
    *out = p;
    return 0;
}

void nt_plan_destroy(struct nt_plan *plan)
{
    if (plan == NULL)
        return;
    free(plan->pair);
    free(plan->round);
    free(plan);
}
