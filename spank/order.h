/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler's order, for a job whose sweep failed: the files that a placement hint would be in,
 * so that scripts run unchanged. Does not depend on Slurm.
 * Tests: test_order.c. */
#ifndef NT_SPANK_ORDER_H
#define NT_SPANK_ORDER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

enum { NT_SLURM_ORDER_HOSTS_MAX = 65536, NT_SLURM_ORDER_TASKS_MAX = 1048576 };

struct nt_slurm_order {
    size_t hosts;
    char **host;     /* names in the scheduler's order; owned, as each of them */
    uint32_t *tasks; /* hosts of them; owned */
    uint32_t cores;  /* of each rank */
    size_t spares;   /* the last hosts, which the job does without */
};

/* Adds a host, whose name becomes the order's; -1 if there is no room or no memory, and the name is
 * freed. */
int nt_slurm_order_add(struct nt_slurm_order *order, char *name);

/* Spreads tasks over all hosts but the spares: as layout states ("2(x3),1", Slurm's
 * SLURM_TASKS_PER_NODE) if that is for ntasks tasks, else evenly. ntasks 0: one per host. Keeps at
 * least one host. NT_ERR_SYSTEM without memory. */
int nt_slurm_order_spread(struct nt_slurm_order *order, const char *layout, uint32_t ntasks,
                          size_t spares, struct nt_err *err);

/* Hosts first to last (excluded), separated by commas; the caller's (free). NULL: no memory, or
 * more than a variable may have (NT_ENVIRON_VALUE_MAX): with one of 128 KiB no program of the job
 * would start. */
char *nt_slurm_order_text(const struct nt_slurm_order *order, size_t first, size_t last);

/* Writes hostfile, rankfile and rankorder into run_dir/JOB, which the job's group can read; makes
 * what is missing. Each file appears whole; -1 where they would have limit_bytes or more: the order
 * is from a step's environment, which the user may set. */
int nt_slurm_order_write(const struct nt_slurm_order *order, const char *run_dir, uint32_t job,
                         gid_t gid, uint64_t limit_bytes, struct nt_err *err);

/* Removes these files, and the directory if nothing else is in it. */
void nt_slurm_order_remove(const char *run_dir, uint32_t job);

void nt_slurm_order_fini(struct nt_slurm_order *order);

#endif
