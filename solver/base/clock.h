/* SPDX-License-Identifier: Apache-2.0 */
/* The monotonic clock in seconds: the only clock of agent, probe and plugin, for deadlines and
 * durations. Header only, so that the plugin needs only libc.
 * Tests: test_session.c. */
#ifndef NT_CLOCK_H
#define NT_CLOCK_H

#include <time.h>

static inline double nt_clock_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Returns the milliseconds until deadline_s for poll, rounded up, from 0 to an hour. */
static inline int nt_clock_left_ms(double deadline_s)
{
    double left = deadline_s - nt_clock_s();
    if (!(left > 0))
        return 0;
    return left > 3600 ? 3600000 : (int)(left * 1e3) + 1;
}

static inline void nt_clock_sleep(double seconds)
{
    if (!(seconds > 0) || seconds > 3600)
        return;
    time_t whole = (time_t)seconds;
    struct timespec t = {whole, (long)((seconds - (double)whole) * 1e9)};
    nanosleep(&t, NULL);
}

#endif
