/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded before slurmctld's libraries. Its main loop sleeps ten times 0.1 s before it looks for
 * jobs that sbatch has queued; no setting shortens that, and a test that submits one job after the
 * other waits most of a second for each. Here it looks every 50 ms. Other threads sleep as they
 * ask. */
#include <time.h>
#include <unistd.h>

#define LOOP_US 100000 // of Slurm before 23.11; later ones wait in another way
#define TICK_US 5000

__attribute__((visibility("default"))) int usleep(useconds_t us)
{
    if (us == LOOP_US && gettid() == getpid())
        us = TICK_US;
    struct timespec left = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};
    return nanosleep(&left, NULL);
}
