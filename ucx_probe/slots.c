/* SPDX-License-Identifier: Apache-2.0 */
#include "slots.h"

#include <stdlib.h>

#include "traffic_text.h"

static uint32_t bound_of(const uint32_t *cpus, uint32_t task_cpus, size_t host)
{
    return cpus == NULL ? UINT32_MAX : cpus[host] / (task_cpus > 0 ? task_cpus : 1);
}

void nt_slots_spread(uint32_t tasks, uint32_t task_cpus, const uint32_t *cpus, uint32_t *slots,
                     size_t hosts)
{
    uint64_t holds = 0;
    for (size_t h = 0; h < hosts; h++)
        holds += bound_of(cpus, task_cpus, h);
    if (holds < tasks)
        cpus = NULL; /* the CPUs are shared by tasks: then they are no bound */
    for (size_t h = 0; h < hosts; h++)
        slots[h] = tasks == 0 ? 1 : 0;
    /* one more for each host that can hold it, in turn, until all tasks have a slot */
    for (uint32_t left = tasks, level = 1; left > 0 && hosts > 0; level++) {
        for (size_t h = 0; h < hosts && left > 0; h++) {
            if (bound_of(cpus, task_cpus, h) < level)
                continue;
            slots[h]++;
            left--;
        }
    }
}

int nt_slots_record(const struct nt_probe_job *job, struct nt_samples *samples, struct nt_err *err)
{
    size_t hosts = samples->hosts;
    uint32_t *slots = calloc(hosts + 1, sizeof *slots), *cpus = calloc(hosts + 1, sizeof *cpus);
    if (slots == NULL || cpus == NULL) {
        free(slots);
        free(cpus);
        return nt_err_memory(err);
    }
    bool known = job->cpus != NULL && job->cpus[0] != '\0' &&
                 nt_tasks_per_node_read(job->cpus, cpus, hosts, NULL) == 0;
    nt_slots_spread(job->tasks, job->task_cpus, known ? cpus : NULL, slots, hosts);
    int rc = 0;
    for (size_t h = 0; h < hosts && rc == 0; h++)
        rc = nt_samples_set_slots(samples, h, slots[h], err);
    free(slots);
    free(cpus);
    return rc;
}
