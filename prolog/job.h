/* SPDX-License-Identifier: Apache-2.0 */
/* What Slurm knows of the job: the only file that uses Slurm's variables and library.
 *
 * nt_job_read reads the prolog's environment and expands the host list. nt_job_addresses and
 * nt_job_load_use may block for long (resolver, slurmctld): call them in a child with lookup.h.
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
    char **host;      /* names, in the job's order; owned */
    size_t self;      /* the index of this host */
    const char *list; /* the same as Slurm writes them; borrowed from the environment */
    char cpus[256];   /* the job's CPUs by host as Slurm writes it, "4(x2),3"; "" when too long */
};

/* id, uid and gid are given; the rest comes from SLURM_JOB_NODELIST (or
 * SLURM_NODELIST), SLURMD_NODENAME, SLURM_JOB_RESTART_COUNT and SLURM_CLUSTER_NAME.
 * NT_ERR_INPUT names the variable that is missing or wrong. */
int nt_job_read(struct nt_job *job, uint32_t id, uid_t uid, gid_t gid, struct nt_err *err);
void nt_job_fini(struct nt_job *job);

/* Slurm's name of this host; its host name where SLURMD_NODENAME is not set. */
void nt_job_this_host(char name[NT_HOST_BYTES]);

enum { NT_ADDRESSES_MAX = 4 };
struct nt_addresses {
    size_t count;
    struct sockaddr_storage at[NT_ADDRESSES_MAX];
};

/* The addresses of a host: of its name by the resolver, else of its NodeAddr. */
int nt_job_addresses(const char *host, struct nt_addresses *addresses, struct nt_err *err);

/* What slurmctld knows of the job; all zeros when it does not answer. */
struct nt_job_use {
    bool exclusive;     /* no other job has CPUs of the job's hosts */
    uint32_t tasks;     /* requested */
    uint32_t task_cpus; /* CPUs a task */
    uint32_t limit_s;   /* of its time; 0: not known, or none */
};
void nt_job_load_use(const struct nt_job *job, struct nt_job_use *use);

/* Whether slurmctld says that the job has ended, or knows no such job. False when it does not
 * answer. May block for long. */
bool nt_job_is_over(uint32_t id);

#endif
