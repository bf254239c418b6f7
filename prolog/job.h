/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about the job, from Slurm. The only file of the agent that uses Slurm's library and the
 * job's variables.
 *
 * nt_job_read reads the prolog's environment and expands the host list. nt_job_addresses and
 * nt_job_load_use may block for long (resolver, slurmctld): call them in a child process with
 * lookup.h.
 * Tests: test_agent.c. */
#ifndef NT_JOB_H
#define NT_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "err.h"

enum { NT_JOB_HOSTS_MAX = 65536, NT_HOST_BYTES = 256 };

struct nt_job {
    uint32_t id, restart;
    uid_t uid;
    gid_t gid;
    char cluster[64];
    size_t hosts;     /* at least 1 */
    char **host;      /* host names in the job's order; owned */
    size_t self;      /* the index of this host */
    const char *list; /* host list in Slurm's format; borrowed from the environment */
    char cpus[256];   /* the job's CPUs per host in Slurm's format, "4(x2),3"; "": too long */
};

/* Fills job with id, uid, gid and values of SLURM_JOB_NODELIST (or SLURM_NODELIST),
 * SLURMD_NODENAME, SLURM_JOB_RESTART_COUNT, SLURM_CLUSTER_NAME and SLURM_JOB_CPUS_PER_NODE. -1,
 * NT_ERR_INPUT: the error names the variable that is missing or invalid. */
int nt_job_read(struct nt_job *job, uint32_t id, uid_t uid, gid_t gid, struct nt_err *err);
void nt_job_fini(struct nt_job *job);

/* Returns Slurm's name of this host, or its host name if SLURMD_NODENAME is not set. */
void nt_job_this_host(char name[NT_HOST_BYTES]);

enum { NT_ADDRESSES_MAX = 4 };
struct nt_addresses {
    size_t count;
    struct sockaddr_storage at[NT_ADDRESSES_MAX];
};

/* Looks up the addresses of a host: by its name in the resolver, otherwise by its NodeAddr in
 * slurmctld. */
int nt_job_addresses(const char *host, struct nt_addresses *addresses, struct nt_err *err);

/* slurmctld's data about the job; all zeros if slurmctld does not respond. */
struct nt_job_use {
    bool exclusive;     /* no other job uses CPUs of the job's hosts */
    uint32_t tasks;     /* number of tasks requested; 0: not known */
    uint32_t task_cpus; /* CPUs per task; 0: not known */
    uint32_t limit_s;   /* time limit; 0: not known, or none */
};
void nt_job_load_use(const struct nt_job *job, struct nt_job_use *use);

/* Returns whether the job has ended, was requeued, or is unknown to slurmctld; false if slurmctld
 * does not respond. May block for long. */
bool nt_job_is_over(uint32_t id);

#endif
