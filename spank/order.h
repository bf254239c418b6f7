/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's own order of hosts, for a job whose sweep failed: writes the files that a placement hint
 * would be in, so that job scripts run unchanged. Uses neither Slurm's library nor the map.
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
    char **host;     /* names in Slurm's order; the array and each name are owned */
    uint32_t *tasks; /* tasks of each host; owned */
    uint32_t cores;  /* cores per rank */
    size_t spares;   /* number of spare hosts: the last hosts, which get no tasks */
};

/* Adds a host. The order takes ownership of the name, which was allocated with malloc. -1 if there
 * is no room or no memory; the name is freed then too. */
int nt_slurm_order_add(struct nt_slurm_order *order, char *name);

/* Distributes ntasks tasks (0: one per host) over the hosts. Uses layout ("2(x3),1", Slurm's
 * SLURM_TASKS_PER_NODE) if it describes ntasks tasks on exactly these hosts, otherwise distributes
 * the tasks evenly. The last spares hosts become spare hosts; at least one host remains.
 * NT_ERR_SYSTEM without memory. */
int nt_slurm_order_spread(struct nt_slurm_order *order, const char *layout, uint32_t ntasks,
                          size_t spares, struct nt_err *err);

/* Returns the names of the hosts with index first to last - 1, separated by commas; the caller
 * frees the text. NULL if there is no memory, or if the text is longer than NT_ENVIRON_VALUE_MAX:
 * with a variable of 128 KiB no program of the job could start. */
char *nt_slurm_order_text(const struct nt_slurm_order *order, size_t first, size_t last);

/* Writes hostfile, rankfile and rankorder into run_dir/JOB, creating the directories if they are
 * missing. The group gid can read the directory. Each file is renamed into place after it is
 * complete. -1 if the files would reach limit_bytes: the order comes from a step's environment,
 * which the user can set. */
int nt_slurm_order_write(const struct nt_slurm_order *order, const char *run_dir, uint32_t job,
                         gid_t gid, uint64_t limit_bytes, struct nt_err *err);

/* Removes these files, and the directory if nothing else is in it. */
void nt_slurm_order_remove(const char *run_dir, uint32_t job);

void nt_slurm_order_fini(struct nt_slurm_order *order);

#endif
