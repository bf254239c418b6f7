/* SPDX-License-Identifier: Apache-2.0 */
/* One schedule: a job's hosts, the network that is planted between them, what goes wrong, and what
 * each host published. */
#ifndef NT_STORM_CLUSTER_H
#define NT_STORM_CLUSTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure.h"
#include "network.h"
#include "session.h"
#include "worker.h"
#include "world.h"

/* What a host published: the texts of rank 0, or failed and a reason. */
struct published {
    char *text[NT_ARTIFACT_END];
    size_t bytes[NT_ARTIFACT_END];
    bool complete[NT_ARTIFACT_END];
    bool renamed, failed;
    size_t used;
    char reason[NT_DONE_BYTES];
};

struct host {
    char name[32];
    /* what goes wrong with it, before it begins or later */
    bool faulty; /* something does: it may be missing */
    double starts_late_s;
    bool no_probe; /* the program is not there */
    bool no_relay; /* it cannot be started */
    bool no_sandbox, relay_stays, no_job;
    double slowness; /* as that of processes */
    bool no_network; /* of the measured one */
    double fabric_down_s,
        fabric_until_s; /* the measured network passes nothing from then to then */
    bool was_cut_off;   /* from the measured network, for a while at least */
    struct call_faults agent_calls, probe_calls;
    struct trap agent_trap, probe_trap;
    size_t switch_hosts; /* behind the switch that fails with it */
    bool probe_is_hostile, relay_is_hostile;
    uint64_t ucx_calls; /* the last of them does not return; 0: all do */
    int ucx_signal;     /* that ends it; SIGALRM: it hangs */
    double munge_fails; /* chance that munged fails */
    int munge_error;    /* with that munge_err_t */
    bool no_resolver;
    double lookup_s;                               /* what resolver and slurmctld take more */
    double munge_s;                                /* what a credential takes */
    double munge_until_s;                          /* munged answers nothing before */
    double munge_asked_s;                          /* the last time */
    double clock_off_s;                            /* its time of day */
    size_t disk_bytes;                             /* room in run_dir */
    double probe_late_s;                           /* its probe takes so long to load */
    uint64_t agent_allocations, probe_allocations; /* as process.allocations_left */
    /* what became of it */
    uint32_t number;                        /* of the machine, in the network */
    struct host *job_hosts;                 /* all of its job */
    uint64_t life;                          /* counts its agents */
    struct process *worker, *agent, *probe; /* agent: the relay; NULL: not started */
    struct nt_job job;
    struct nt_session *session; /* the relay's */
    struct nt_service service;  /* the worker's */
    struct {
        struct nt_service service;
        struct nt_conf conf;
        struct nt_job job;
        int socket;
    } relay; /* what it has of its own */
    struct nt_worker_state state;
    struct nt_pair *pair;        /* the probe's; NULL: none */
    double began_s, ended_s;     /* NAN: not */
    bool relay_is_killed;        /* before there was a result */
    bool agent_killed, injected; /* foreign bytes end a connection at once */
    struct nt_outcome outcome;
    struct published published;
    size_t lookups;
    size_t unread_of_leader, unread_of_probe; /* bytes that had arrived when its agent closed */
};

struct cluster {
    size_t hosts;
    struct host *host;
    struct host *rival; /* another job of the same id on the same machines; NULL: none */
    struct nt_conf conf;
    struct nt_option option;
    char topology[64];
    struct nt_network *network;
    struct nt_measure_noise noise;
    double begins_s;
    struct nt_log log;
    bool is_altered;    /* bits of connections between agents */
    bool is_hostile;    /* a probe or a relay lies */
    double cancelled_s; /* INFINITY: not */
    int refusal;        /* why nothing is measured: 1 root's, 2 Serial, 3 no Alloc; 0: it is */
    bool dual_stack;    /* hosts have two addresses */
    bool exclusive;     /* no other job has CPUs of the hosts */
    uint32_t tasks, task_cpus;
    size_t window_bytes;       /* of a connection: what is sent and not read */
    uint32_t fabric_cut[8][2]; /* pairs that the measured network does not connect */
    size_t fabric_cuts;
    bool leader_faulty; /* the first host, or what all depend on: then nothing is promised */
    size_t faults;
    /* of the map, when it claims to be right: */
    size_t maps_claimed, maps_wrong;
    double maps_wrong_expected;
};

extern struct cluster cluster;

/* Draws the job and its network; faults.c draws the rest. */
void cluster_begin(size_t hosts_max);
void cluster_end(void);

/* The other job, which begins at that time. */
void cluster_begin_rival(double at_s);

/* The agents of all hosts, to the end. */
void cluster_run(uint64_t seed);

/* Checks what was published against what happened (invariants.c). */
void cluster_judge(void);

/* Draws faults and plans them (faults.c). */
void faults_draw(uint64_t seed);

/* One bit for each kind of fault and state that was reached, for the table (faults.c). */
extern uint64_t faults_reached;

/* The process that runs is an agent or a probe of this host. */
static inline struct host *this_host(void)
{
    return world.running->node;
}

/* The main function of a probe (probe.c). */
void probe_main(void *fd);

/* Of one that sends what it likes, and what a relay does that has been taken over (hostile.c). */
void hostile_probe_main(void *fd);
void hostile_relay(struct host *h);

#endif
