/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of the emulated network and of what is measured over it. */
#ifndef NT_FAB_NOW_H
#define NT_FAB_NOW_H

#include <stdint.h>
#include <time.h>

static inline int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#endif
