/* SPDX-License-Identifier: Apache-2.0 */
/* Placements as files for launchers. The caller frees every returned text. A placement is rank_host
 * (the host index of each of ntasks ranks) with host_name; hosts is the number of names. Slurm's
 * order is the order of host indices. */
#ifndef NT_LAUNCH_H
#define NT_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "map.h"

struct nt_launch_placement {
    size_t ntasks, hosts;
    const uint32_t *rank_host;
    const char *const *host_name;
    uint32_t cores; /* cores per rank, for Open MPI; 0: one */
};

/* srun: SLURM_HOSTFILE with --distribution=arbitrary; Flux: --taskmap=hostfile:FILE. One host per
 * line, in the order of ranks. */
int nt_launch_hostfile(const struct nt_launch_placement *s, char **text, size_t *bytes,
                       struct nt_err *err);

/* Open MPI: --rankfile FILE (4), --map-by rankfile:file=FILE (5, PRRTE). Slots are cores, counted
 * from 0 on each host: "slot=0-1" for two cores per rank. */
int nt_launch_rankfile(const struct nt_launch_placement *s, char **text, size_t *bytes,
                       struct nt_err *err);

/* MPICH and Cray MPI: the file MPICH_RANK_ORDER for MPICH_RANK_REORDER_METHOD=3: for each of the
 * launcher's slots in sequence (hosts in Slurm's order, block distribution) the rank for it. */
int nt_launch_mpich(const struct nt_launch_placement *s, char **text, size_t *bytes,
                    struct nt_err *err);

/* Intel MPI: -machinefile FILE, with HOST:COUNT for each run of ranks on one host. */
int nt_launch_machinefile(const struct nt_launch_placement *s, char **text, size_t *bytes,
                          struct nt_err *err);

/* torchrun with static rendezvous: "HOST NODE_RANK", hosts in the order of their first rank. */
int nt_launch_torchrun(const struct nt_launch_placement *s, char **text, size_t *bytes,
                       struct nt_err *err);

/* Ray: the bundles of ray.util.placement_group with strategy STRICT_SPREAD, one per host in the
 * order of their first rank: [{"host:NAME": 1, "CPU": TASKS}, ...]. Workers are started with
 * --resources '{"host:NAME": 1}'. */
int nt_launch_ray(const struct nt_launch_placement *s, char **text, size_t *bytes,
                  struct nt_err *err);

/* Writes the answers of dlrover's TopologyQuerier: {"NAME": {"asw": LEAF, "psw": SWITCH ABOVE},
 * ...}; "" if the map has no such switch. Missing hosts and the spare hosts are omitted. */
int nt_launch_dlrover(const struct nt_map *map, const uint32_t *spare, size_t spares, char **text,
                      size_t *bytes, struct nt_err *err);

#endif
