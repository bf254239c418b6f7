/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated cluster in one process and one thread: virtual time, and processes as coroutines.
 *
 * A process runs until it waits (poll, sleep); then the event that is next in time happens. Its
 * own time moves on by the calls that it makes, faster on a slow host. Everything is drawn from one
 * seed, and equal events are taken in the order in which they were made: the same seed gives the
 * same run, which world.hash proves. */
#ifndef NT_STORM_WORLD_H
#define NT_STORM_WORLD_H

#include <poll.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <ucontext.h>

#include "rng.h"

enum process_kind { PROCESS_AGENT, PROCESS_WORKER, PROCESS_PROBE, PROCESS_STRANGER };

struct file;
struct host;

/* What happens at a time. */
typedef void world_event(void *context, uint64_t number);

/* Something that happens after so many calls of a process; 0: nothing. */
struct trap {
    uint64_t calls;
    world_event *happen;
    void *context;
    uint64_t number;
    double after_s; /* it happens so long after the last of them: it may wait then */
};

/* What may go wrong with the calls of a process, each with a chance of its own for each call. */
struct call_faults {
    double interrupted; /* EINTR */
    double again;       /* EAGAIN, although poll said that there is something, or room */
    double in_part;     /* a read or write moves a part of the bytes */
    double preempted;   /* the processor is another's for a while, */
    double preempted_s; /* on average so long */
    double altered;     /* a bit of what is written is another */
    size_t files_max;   /* EMFILE from so many open ones on; 0: no limit */
    bool no_random, no_route, no_ipv6;
};

struct process {
    pid_t pid;
    uint32_t host;
    enum process_kind kind;
    struct host *node;  /* whose agent or probe it is; NULL: a stranger */
    bool alive, waits;  /* waits: in poll, to be woken by its files */
    bool killed;        /* by a signal: what it had allocated is lost with it */
    int status;         /* of its end */
    ucontext_t context; /* where it begins */
    jmp_buf left_at;
    bool has_begun;
    void *stack;
    void (*main)(void *argument);
    void *argument;
    double local_s;         /* its own time, not before that of the world */
    double stopped_until_s; /* SIGSTOP, or starved */
    double slowness;        /* how much longer its calls take; 1: not slow */
    bool is_planned;        /* to run at planned_s */
    double planned_s;
    uint64_t plan; /* which of its plans holds */
    uint64_t calls_without_wait;
    bool may_spin;             /* it has been taken over */
    struct file *pidfd;        /* readable when it has ended; NULL: none */
    size_t files;              /* that it has open */
    size_t allocated;          /* and not freed */
    struct call_faults faults; /* of its calls */
    struct trap trap;
    uint64_t allocations_left; /* the last of them fails; 0: none does */
    struct process *next;
};

struct world {
    double now_s;
    struct nt_rng rng;
    uint64_t hash; /* of the story, where it hashes */
    bool tells;    /* prints the story */
    bool hashes;
    struct process *process, *running;
    pid_t last_pid;
    struct event *event; /* a heap */
    size_t events, events_room;
    uint64_t event_number;
    char violation[512]; /* the first one; "": none */
};

extern struct world world;

void world_begin(uint64_t seed, bool tells, bool hashes);
void world_end(void); /* frees all processes */

/* Runs events until there are none before until_s. */
void world_run(double until_s);

void world_at(double at_s, world_event *happen, void *context, uint64_t number);

struct process *process_start(uint32_t host, enum process_kind kind, double at_s,
                              void (*main)(void *), void *argument);
struct process *process_find(pid_t pid);
/* Ends it as a signal does; files.c closes what it has open. Not the running one. */
void process_kill(struct process *process, int signal);
/* Wakes it at that time when it waits; now_s or earlier: as soon as it can run. */
void process_wake(struct process *process, double at_s);
void process_stop(struct process *process, double until_s);

/* For the running process: */
double process_time(void);      /* its own, s */
void process_spend(double s);   /* processor time, longer when it is slow */
void process_sleep(double s);   /* not woken before */
void process_wait(double at_s); /* until it is woken, at the latest then; INFINITY: until woken */
_Noreturn void process_exit(int status);

/* A line of the story, and the hash. */
void world_tell(uint32_t host, const char *who, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void world_mix(uint64_t value);
/* An invariant is broken: the first one is kept. */
void world_violation(const char *format, ...) __attribute__((format(printf, 1, 2)));

static inline double draw_between(double low, double high)
{
    return low + (high - low) * nt_rng_uniform(&world.rng);
}
static inline bool draw_chance(double chance)
{
    return nt_rng_uniform(&world.rng) < chance;
}

#endif
