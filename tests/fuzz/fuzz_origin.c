/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the head of an archive's file, and as Slurm's records: an error, or what can be
 * asked. */
#include "fuzz.h"
#include "origin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nt_origin origin;
    struct nt_slurm_jobs *jobs;
    struct nt_err err;
    if (nt_origin_parse((const char *)data, size, &origin, &err) == 0)
        nt_origin_fini(&origin);
    if (nt_slurm_jobs_parse("fuzz", (const char *)data, size, &jobs, &err) == 0) {
        origin = NT_ORIGIN_NONE;
        for (uint64_t job = 0; job < 8; job++)
            nt_slurm_jobs_add_facts(jobs, job, &origin, &err);
        nt_origin_fini(&origin);
        nt_slurm_jobs_destroy(jobs);
    }
    return 0;
}
