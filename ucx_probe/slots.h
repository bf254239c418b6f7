/* SPDX-License-Identifier: Apache-2.0 */
/* How many slots each host has for tasks of the job. */
#ifndef NT_SLOTS_H
#define NT_SLOTS_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "probe_job.h"
#include "samples.h"

/* Spreads tasks over hosts as evenly as their CPUs allow; cpus (hosts of them, NULL: not known) at
 * task_cpus each bound a host, unless they cannot hold all tasks together. No tasks: one each. */
void nt_slots_spread(uint32_t tasks, uint32_t task_cpus, const uint32_t *cpus, uint32_t *slots,
                     size_t hosts);

/* The same for the job as the agent describes it, into the record. */
int nt_slots_record(const struct nt_probe_job *job, struct nt_samples *samples, struct nt_err *err);

#endif
