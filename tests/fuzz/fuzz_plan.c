/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a plan of a job of eight hosts: an error, or rounds in which each host is once. */
#include "fuzz.h"
#include "plan_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const name[] = {"a", "b", "c", "d", "n1", "n2", "n3", "n4"};
    struct nt_names hosts = {0};
    struct nt_plan *plan;
    struct nt_err err;
    size_t last[8] = {0};
    uint32_t index;
    for (size_t k = 0; k < 8; k++)
        if (nt_names_add(&hosts, name[k], &index, NULL) != 0)
            abort();
    if (nt_plan_read("fuzz", (const char *)data, size, &hosts, &plan, &err) == 0) {
        for (size_t k = 0; k < plan->pairs; k++)
            for (int end = 0; end < 2; end++) {
                size_t *seen = &last[plan->pair[k][end]];
                if (plan->round[k] >= plan->rounds || *seen == plan->round[k] + 1)
                    abort();
                *seen = plan->round[k] + 1;
            }
        nt_plan_destroy(plan);
    }
    nt_names_fini(&hosts);
    return 0;
}
