/* A placement as the files that launchers take. rank_host[r] is the host of rank r, an index into
 * host_name; each text is the caller's (free). */
#ifndef NT_PLACEMENT_H
#define NT_PLACEMENT_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* One host a task, for SLURM_HOSTFILE and srun --distribution=arbitrary. */
int nt_placement_hostfile(const char *const *host_name, const uint32_t *rank_host, size_t ntasks,
                          char **text, size_t *bytes, struct nt_err *err);

/* Open MPI: "rank N=HOST slot=S", S counting each host's tasks from 0. hosts: of host_name. */
int nt_placement_rankfile(const char *const *host_name, size_t hosts, const uint32_t *rank_host,
                          size_t ntasks, char **text, size_t *bytes, struct nt_err *err);

/* MPICH_RANK_REORDER_METHOD=3: the ranks in the order of the slots that they take, hosts in the
 * order of host_name, a line a host that has any. */
int nt_placement_mpich(size_t hosts, const uint32_t *rank_host, size_t ntasks, char **text,
                       size_t *bytes, struct nt_err *err);

#endif
