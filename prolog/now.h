/* Seconds of a clock that nobody sets. */
#ifndef NT_NOW_H
#define NT_NOW_H

#include <time.h>

static inline double nt_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* For poll: milliseconds from now until then, rounded up, at least 0 and at most a minute. */
static inline int nt_ms_until(double then)
{
    double ms = (then - nt_now()) * 1e3;
    if (!(ms > 0))
        return 0;
    return ms < 60000 ? (int)ms + 1 : 60000;
}

#endif
