/* SPDX-License-Identifier: Apache-2.0 */
/* What unit tests have beside cmocka's own: numbers against their limits. One that fails is printed
 * with what was expected of it, so that a log alone shows how far off it was. */
#ifndef NT_TESTS_ASSERTS_H
#define NT_TESTS_ASSERTS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A test, as cmocka calls it. */
#define TEST(name) static void name(__attribute__((unused)) void **state)

/* The operands are taken a second time, as numbers, where the comparison has failed. */
#define assert_compared(a, op, b)                                                                  \
    ((a)op(b) ? (void)0 : miss(#a, (double)(a), #op " " #b, (double)(b), __FILE__, __LINE__))
#define assert_below(a, b) assert_compared(a, <, b)
#define assert_at_most(a, b) assert_compared(a, <=, b)
#define assert_above(a, b) assert_compared(a, >, b)
#define assert_at_least(a, b) assert_compared(a, >=, b)

/* a differs from b by so much at most. */
#define assert_close(a, b, apart)                                                                  \
    (fabs((a) - (b)) <= (apart)                                                                    \
         ? (void)0                                                                                 \
         : miss(#a, (double)(a), "within " #apart " of " #b, (double)(b), __FILE__, __LINE__))

static inline void miss(const char *what, double got, const char *expected, double limit,
                        const char *file, int line)
{
    print_error("%s:%d: %s is %.9g, expected %s (%.9g)\n", file, line, what, got, expected, limit);
    _fail(file, line);
}

#endif
