/* SPDX-License-Identifier: Apache-2.0 */
/* Several values at a time, for the loops over all pairs: 16 bytes are in a register of every
 * machine that has such registers, and the compiler makes plain code of it elsewhere. A comparison
 * gives all ones or zero a lane, and is false for NaN.
 * Tests: test_small_groups.c. */
#ifndef NT_INFER_LANES_H
#define NT_INFER_LANES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { NT_FLOATS = 4, NT_DOUBLES = 2 };

typedef float nt_floats __attribute__((vector_size(NT_FLOATS * sizeof(float))));
typedef int32_t nt_floats_are __attribute__((vector_size(NT_FLOATS * sizeof(float))));
typedef double nt_doubles __attribute__((vector_size(NT_DOUBLES * sizeof(double))));
typedef int64_t nt_doubles_are __attribute__((vector_size(NT_DOUBLES * sizeof(double))));

#define NT_LANES(lanes, number)                                                                    \
    static inline lanes lanes##_load(const number *at)                                             \
    {                                                                                              \
        lanes v;                                                                                   \
        memcpy(&v, at, sizeof v);                                                                  \
        return v;                                                                                  \
    }                                                                                              \
                                                                                                   \
    static inline void lanes##_store(number *at, lanes v)                                          \
    {                                                                                              \
        memcpy(at, &v, sizeof v);                                                                  \
    }

NT_LANES(nt_floats, float)
NT_LANES(nt_doubles, double)

/* a where it is so, b elsewhere. */
static inline nt_floats nt_floats_choose(nt_floats_are is, nt_floats a, nt_floats b)
{
    return (nt_floats)(((nt_floats_are)a & is) | ((nt_floats_are)b & ~is));
}

/* v where it is so, 0 elsewhere. */
static inline nt_doubles nt_doubles_where(nt_doubles_are is, nt_doubles v)
{
    return (nt_doubles)((nt_doubles_are)v & is);
}

#endif
