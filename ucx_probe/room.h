/* How many of the job's tasks each host is for. */
#ifndef NT_ROOM_H
#define NT_ROOM_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "meet.h"
#include "samples.h"

/* Spreads tasks over hosts as evenly as their CPUs allow; cpus (hosts of them, NULL: not known) at
 * task_cpus each bound a host, unless they cannot hold all tasks together. No tasks: one each. */
void nt_room_spread(uint32_t tasks, uint32_t task_cpus, const uint32_t *cpus, uint32_t *room,
                    size_t hosts);

/* The same for what the agent said of the job, into the record. */
int nt_room_record(const struct nt_meet *meet, struct nt_samples *samples, struct nt_err *err);

#endif
