/* SPDX-License-Identifier: Apache-2.0 */
#undef _FORTIFY_SOURCE /* its longjmp expects to stay on one stack */
#include "world.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "allocated.h"
#include "files.h"

/* A probe solves a map on its stack's arrays. */
enum { STACK_BYTES = 1 << 20, GUARD_BYTES = 4096, SPIN_CALLS = 2000000 };

struct event {
    double at_s;
    uint64_t number, argument;
    world_event *happen;
    void *context;
};

struct world world;
/* A process begins by its context, and then is left and entered by jumps, which make no system
 * call. */
static jmp_buf scheduler;

/* The address sanitizer must know on which stack it is. Of gcc a macro says that it is there, of
 * clang a feature. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define HAVE_ADDRESS_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(HAVE_ADDRESS_SANITIZER)
#include <sanitizer/common_interface_defs.h>
static const void *scheduler_stack;
static size_t scheduler_bytes;
static void to_process(void **keep, const struct process *p)
{
    __sanitizer_start_switch_fiber(keep, (unsigned char *)p->stack + GUARD_BYTES,
                                   STACK_BYTES - GUARD_BYTES);
}
static void in_scheduler(void *keep)
{
    __sanitizer_finish_switch_fiber(keep, NULL, NULL);
}
static void to_scheduler(void **keep)
{
    __sanitizer_start_switch_fiber(keep, scheduler_stack, scheduler_bytes);
}
static void in_process(void *keep)
{
    __sanitizer_finish_switch_fiber(keep, &scheduler_stack, &scheduler_bytes);
}
#else
static void to_process(void **keep, const struct process *p)
{
    (void)keep;
    (void)p;
}
static void in_scheduler(void *keep)
{
    (void)keep;
}
static void to_scheduler(void **keep)
{
    (void)keep;
}
static void in_process(void *keep)
{
    (void)keep;
}
#endif

/* Stacks are used again: schedules follow each other by the thousand. */
static struct {
    void **stack;
    size_t n, room;
} spare;

static void *out_of_memory(void)
{
    fputs("storm: out of memory\n", stderr);
    abort();
}

static void *stack_take(void)
{
    if (spare.n > 0)
        return spare.stack[--spare.n];
    unsigned char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED || mprotect(stack, GUARD_BYTES, PROT_NONE) != 0)
        out_of_memory();
    return stack;
}

static void stack_give(void *stack)
{
    if (spare.n == spare.room) {
        spare.room = 2 * spare.room + 64;
        spare.stack = realloc(spare.stack, spare.room * sizeof *spare.stack);
        if (spare.stack == NULL)
            out_of_memory();
    }
    spare.stack[spare.n++] = stack;
}

/* ---- the story ---- */

void world_mix(uint64_t value)
{
    world.hash = (world.hash ^ value) * 0x100000001b3;
    world.hash ^= world.hash >> 29;
}

static void mix_text(const char *text)
{
    for (; *text != '\0'; text++)
        world_mix((unsigned char)*text);
}

static void mix_time(void)
{
    uint64_t bits;
    memcpy(&bits, &world.now_s, sizeof bits);
    world_mix(bits);
}

void world_tell(uint32_t host, const char *who, const char *format, ...)
{
    char line[512];
    va_list args;
    if (!world.tells && !world.hashes)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    mix_time();
    world_mix(host);
    mix_text(line);
    if (world.tells)
        printf("%9.6f  n%-4u %-8s %s\n", world.running != NULL ? process_time() : world.now_s,
               host + 1, who, line);
}

void world_violation(const char *format, ...)
{
    char line[sizeof world.violation];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (world.tells)
        printf("%9.6f  BROKEN         %s\n", world.now_s, line);
    if (world.violation[0] == '\0')
        memcpy(world.violation, line, sizeof line);
}

/* ---- events ---- */

static bool earlier(const struct event *a, const struct event *b)
{
    return a->at_s < b->at_s || (a->at_s <= b->at_s && a->number < b->number);
}

void world_at(double at_s, world_event *happen, void *context, uint64_t argument)
{
    if (world.events == world.events_room) {
        world.events_room = 2 * world.events_room + 256;
        world.event = realloc(world.event, world.events_room * sizeof *world.event);
        if (world.event == NULL)
            out_of_memory();
    }
    struct event new = {at_s > world.now_s ? at_s : world.now_s, world.event_number++, argument,
                        happen, context};
    size_t k = world.events++;
    for (; k > 0 && earlier(&new, &world.event[(k - 1) / 2]); k = (k - 1) / 2)
        world.event[k] = world.event[(k - 1) / 2];
    world.event[k] = new;
}

static struct event take_event(void)
{
    struct event first = world.event[0], last = world.event[--world.events];
    size_t k = 0, child;
    for (; (child = 2 * k + 1) < world.events; k = child) {
        if (child + 1 < world.events && earlier(&world.event[child + 1], &world.event[child]))
            child++;
        if (!earlier(&world.event[child], &last))
            break;
        world.event[k] = world.event[child];
    }
    world.event[k] = last;
    return first;
}

void world_run(double until_s)
{
    while (world.events > 0 && world.event[0].at_s <= until_s) {
        struct event e = take_event();
        world.now_s = e.at_s;
        e.happen(e.context, e.argument);
    }
}

/* ---- processes ---- */

static void switch_to(struct process *p)
{
    world.running = p;
    if (p->local_s < world.now_s)
        p->local_s = world.now_s;
    void *keep = NULL;
    to_process(&keep, p);
    if (_setjmp(scheduler) == 0) {
        if (p->has_begun)
            _longjmp(p->left_at, 1);
        p->has_begun = true;
        setcontext(&p->context);
    }
    in_scheduler(keep);
    world.running = NULL;
    if (!p->alive && p->stack != NULL) {
        stack_give(p->stack);
        p->stack = NULL;
    }
}

static void plan_run(struct process *p, double at_s);

static void resume(void *context, uint64_t plan)
{
    struct process *p = context;
    if (!p->alive || plan != p->plan || !p->is_planned)
        return;
    p->is_planned = false;
    if (world.now_s < p->stopped_until_s)
        plan_run(p, p->stopped_until_s);
    else
        switch_to(p);
}

static void plan_run(struct process *p, double at_s)
{
    double earliest = p->local_s > p->stopped_until_s ? p->local_s : p->stopped_until_s;
    if (at_s < earliest)
        at_s = earliest;
    if (!p->alive || (p->is_planned && p->planned_s <= at_s))
        return;
    p->is_planned = true;
    p->planned_s = at_s;
    world_at(at_s, resume, p, ++p->plan);
}

void process_wake(struct process *p, double at_s)
{
    if (p->waits)
        plan_run(p, at_s);
}

static void begin_process(void)
{
    struct process *p = world.running;
    in_process(NULL);
    p->main(p->argument);
    process_exit(0);
}

struct process *process_start(uint32_t host, enum process_kind kind, double at_s,
                              void (*main)(void *), void *argument)
{
    struct process *p = calloc(1, sizeof *p);
    if (p == NULL || getcontext(&p->context) != 0)
        out_of_memory();
    p->pid = ++world.last_pid;
    p->host = host;
    p->kind = kind;
    p->alive = true;
    p->main = main;
    p->argument = argument;
    p->slowness = 1;
    p->stack = stack_take();
    p->context.uc_stack.ss_sp = (unsigned char *)p->stack + GUARD_BYTES;
    p->context.uc_stack.ss_size = STACK_BYTES - GUARD_BYTES;
    p->context.uc_link = NULL;
    makecontext(&p->context, begin_process, 0);
    p->next = world.process;
    world.process = p;
    p->local_s = at_s;
    plan_run(p, at_s);
    return p;
}

struct process *process_find(pid_t pid)
{
    struct process *p = world.process;
    while (p != NULL && p->pid != pid)
        p = p->next;
    return p;
}

static void end_process(struct process *p, int status)
{
    p->alive = false;
    p->status = status;
    files_close_all(p);
    if (p->pidfd != NULL)
        file_changed(p->pidfd);
}

void process_kill(struct process *p, int signal)
{
    if (!p->alive)
        return;
    p->killed = true;
    end_process(p, signal);
    stack_give(p->stack);
    p->stack = NULL;
}

void process_exit(int status)
{
    struct process *p = world.running;
    process_sleep(0); /* what it did before has happened before */
    end_process(p, status << 8);
    to_scheduler(NULL); /* for good */
    _longjmp(scheduler, 1);
}

void process_stop(struct process *p, double until_s)
{
    if (until_s > p->stopped_until_s)
        p->stopped_until_s = until_s;
}

double process_time(void)
{
    return world.running != NULL ? world.running->local_s : world.now_s;
}

static void leave(struct process *p)
{
    void *keep = NULL;
    int why = errno; /* each process has its own */
    p->calls_without_wait = 0;
    to_scheduler(&keep);
    if (_setjmp(p->left_at) == 0)
        _longjmp(scheduler, 1);
    in_process(keep);
    errno = why;
}

static void catch_up(struct process *p)
{
    uint64_t calls = p->calls_without_wait;
    process_sleep(0);
    p->calls_without_wait = calls;
}

void process_spend(double s)
{
    struct process *p = world.running;
    if (p == NULL)
        return;
    p->local_s += s * p->slowness;
    if (p->faults.preempted > 0 && draw_chance(p->faults.preempted))
        p->local_s -= p->faults.preempted_s * log(1 - nt_rng_uniform(&world.rng));
    if (p->trap.calls > 0 && --p->trap.calls == 0)
        world_at(p->local_s + p->trap.after_s, p->trap.happen, p->trap.context, p->trap.number);
    /* what happens elsewhere until then, happens before its next call */
    if (world.events > 0 && world.event[0].at_s < p->local_s)
        catch_up(p);
    if (++p->calls_without_wait > SPIN_CALLS) {
        if (!p->may_spin)
            world_violation("n%u: a process makes %d calls without a wait", p->host + 1,
                            SPIN_CALLS);
        process_exit(1);
    }
}

void process_sleep(double s)
{
    struct process *p = world.running;
    double until = p->local_s + s;
    while (world.now_s < until) {
        plan_run(p, until);
        leave(p);
    }
}

void process_wait(double at_s)
{
    struct process *p = world.running;
    p->waits = true;
    if (isfinite(at_s))
        plan_run(p, at_s);
    leave(p);
    p->waits = false;
}

void world_begin(uint64_t seed, bool tells, bool hashes)
{
    struct event *event = world.event;
    size_t room = world.events_room;
    world = (struct world){.event = event, .events_room = room, .tells = tells, .hashes = hashes};
    nt_rng_init(&world.rng, seed);
    world.hash = 0xcbf29ce484222325;
    world.now_s = 1000; /* a machine that is up for a while */
    files_begin();
}

void world_end(void)
{
    allocated_end();
    for (struct process *p = world.process, *next; p != NULL; p = next) {
        next = p->next;
        if (p->stack != NULL)
            stack_give(p->stack);
        free(p);
    }
    world.process = NULL;
    files_end();
}
