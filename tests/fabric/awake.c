/* SPDX-License-Identifier: Apache-2.0 */
#include "awake.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
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

void nt_fab_awake_start(void)
{
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    pthread_attr_t attr;
    pthread_t thread;
    if (pthread_attr_init(&attr) != 0)
        return;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    for (long k = 0; k < processors && k < CPU_SETSIZE; k++)
        (void)pthread_create(&thread, &attr, stay_awake, (void *)(uintptr_t)k);
    pthread_attr_destroy(&attr);
}
