/* What Slurm knows of the job: the only file that knows Slurm, its variables and its library.
 *
 * nt_job_read reads the prolog's environment and expands the host list. The other functions may
 * block for long (a resolver, slurmctld): call them in a child with nt_lookup (ask.h). */
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
    size_t hosts;   /* at least 1 */
    char **host;    /* names in the job's order; owned */
    size_t self;    /* which of them we are on */
    char cpus[256]; /* the job's CPUs by host as Slurm writes it, "4(x2),3"; "" when too long */
};

/* id, uid and gid are the caller's to know; the rest comes from SLURM_JOB_NODELIST (or
 * SLURM_NODELIST), SLURMD_NODENAME, SLURM_JOB_RESTART_COUNT and SLURM_CLUSTER_NAME.
 * NT_ERR_INPUT names the variable that is missing or wrong. */
int nt_job_read(struct nt_job *job, uint32_t id, uid_t uid, gid_t gid, struct nt_err *err);
void nt_job_fini(struct nt_job *job);

/* What Slurm calls the host that we are on; its own name where that is not said. */
void nt_job_this_host(char name[NT_HOST_BYTES]);

enum { NT_ADDRESSES_MAX = 4 };
struct nt_addresses {
    size_t count;
    struct sockaddr_storage at[NT_ADDRESSES_MAX];
};

/* Where a host can be reached: its name as the resolver knows it, else its NodeAddr. */
int nt_job_addresses(const char *host, struct nt_addresses *addresses, struct nt_err *err);

/* What slurmctld knows of the job; all zeros when it does not say. */
struct nt_job_use {
    bool alone;         /* no other job has a part of the job's hosts */
    uint32_t tasks;     /* how many it asked for */
    uint32_t task_cpus; /* CPUs a task */
};
void nt_job_load_use(const struct nt_job *job, struct nt_job_use *use);

#endif
