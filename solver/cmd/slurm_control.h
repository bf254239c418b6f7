/* SPDX-License-Identifier: Apache-2.0 */
/* What slurmctld says of its topology, and what it is told, by way of scontrol.
 * Tests: bats/fleet.bats, bats/fleet_jobs.bats. */
#ifndef NT_SLURM_CONTROL_H
#define NT_SLURM_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "map.h"

/* What scontrol prints with these arguments (NULL last); *text is the caller's (free). Its exit
 * status is not asked: a cluster without a topology has its own. NT_ERR_SYSTEM: it cannot run. */
int nt_slurm_ask(const char *const *arguments, char **text, struct nt_err *err);

/* It has to succeed; what it says against it goes to its own standard error. */
int nt_slurm_tell(const char *const *arguments, struct nt_err *err);

/* Its switches or blocks as a map. topology: of that name; NULL: the cluster's. *out and *block
 * stay as they are when it has none. */
int nt_slurm_topology(const char *topology, struct nt_map **out, bool *block, struct nt_err *err);

#endif
