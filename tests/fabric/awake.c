/* SPDX-License-Identifier: Apache-2.0 */
#include "awake.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { STACK_BYTES = 64 << 10, TURNS = 4000 };

/* Behind everything else, so that it takes nobody's time, and counted as nice. */
static int be_last(size_t processor)
{
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(processor, &only);
    struct sched_param none = {.sched_priority = 0};
    if (sched_setaffinity(0, sizeof only, &only) != 0 ||
        sched_setscheduler(0, SCHED_IDLE, &none) != 0)
        return -1;
    return setpriority(PRIO_PROCESS, 0, 19); /* of this thread */
}

static void *stay_awake(void *processor)
{
    if (be_last((size_t)(uintptr_t)processor) != 0)
        return NULL;
    for (;;) {
        for (volatile int k = 0; k < TURNS; k++)
            continue;
        sched_yield(); /* a kernel that preempts lazily looks here */
    }
}

/* The scheduler groups processes by session, and a group that has nothing but this gets as much as
 * any other: the class counts within a group. */
static void be_last_session(void)
{
    static const char nice[] = "19";
    setsid();
    int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
    if (fd < 0) /* no such groups */
        return;
    (void)!write(fd, nice, sizeof nice - 1);
    close(fd);
}

static void stay_awake_all(void)
{
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    pthread_attr_t attr;
    pthread_t thread;
    be_last_session();
    if (pthread_attr_init(&attr) != 0)
        return;
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    for (long k = 0; k < processors && k < CPU_SETSIZE; k++)
        (void)pthread_create(&thread, &attr, stay_awake, (void *)(uintptr_t)k);
    for (;;)
        pause();
}

void nt_fab_awake_start(void)
{
    pid_t parent = getpid(), child = fork();
    if (child != 0)
        return;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent)
        stay_awake_all();
    _exit(0);
}
