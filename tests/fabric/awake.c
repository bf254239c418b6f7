/* SPDX-License-Identifier: Apache-2.0 */
#include "awake.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "now.h"

enum { STACK_BYTES = 64 << 10, TURNS = 4000 };
/* Away for AWAY_NS it was behind another's work, not behind a message's. */
enum { AWAY_NS = 1000000, REST_NS = 200000, LATE_NS = 300000 };

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

/* Others that run only when nobody else does would have to share with it, and keep the core awake
 * as well: while one of them is there it rests. It shows by how late this thread goes on. */
static void *stay_awake(void *processor)
{
    static const struct timespec pause = {.tv_nsec = REST_NS};
    bool rests = false;
    if (be_last((size_t)(uintptr_t)processor) != 0)
        return NULL;
    for (;;) {
        int64_t began = now_ns();
        if (rests) {
            nanosleep(&pause, NULL);
            rests = now_ns() - began > REST_NS + LATE_NS;
            continue;
        }
        for (volatile int k = 0; k < TURNS; k++)
            continue;
        sched_yield(); /* a kernel that preempts lazily looks here */
        rests = now_ns() - began > AWAY_NS;
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
