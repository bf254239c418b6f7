/* SPDX-License-Identifier: Apache-2.0 */
/* The head of every unit test: what it includes, how its tests are listed, and numbers against
 * their limits. One that fails is printed with what was expected of it, so that a log alone shows
 * how far off it was. */
#ifndef NT_TESTS_ASSERTS_H
#define NT_TESTS_ASSERTS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "sweep.h"

/* The error of the last call that failed. */
static __attribute__((unused)) struct nt_err err;

/* The tests of a file, in their order. Defined before this is included: what comes before each, and
 * after it. */
#ifndef TEST_BEFORE
#define TEST_BEFORE NULL
#define TEST_AFTER NULL
#endif

enum { TESTS_MAX = 128 };
static struct CMUnitTest tests_of_file[TESTS_MAX];
static size_t tests_in_file;

static inline void add_test(const char *name, CMUnitTestFunction test, CMFixtureFunction before,
                            CMFixtureFunction after)
{
    if (tests_in_file == TESTS_MAX)
        abort();
    tests_of_file[tests_in_file++] = (struct CMUnitTest){
        .name = name, .test_func = test, .setup_func = before, .teardown_func = after};
}

/* Runs all tests of the file, of which there is at least one; first and last may be NULL. */
static inline int run_group(CMFixtureFunction first, CMFixtureFunction last)
{
    if (tests_in_file == 0)
        abort();
    return _cmocka_run_group_tests("tests", tests_of_file, tests_in_file, first, last);
}

/* A test, as cmocka calls it. */
#define TEST(name)                                                                                 \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void register_##name(void)                                 \
    {                                                                                              \
        add_test(#name, name, TEST_BEFORE, TEST_AFTER);                                            \
    }                                                                                              \
    static void name(__attribute__((unused)) void **state)

#define RUN_TESTS                                                                                  \
    int main(void)                                                                                 \
    {                                                                                              \
        return run_group(NULL, NULL);                                                              \
    }

/* How many networks, or of how many hosts, a test draws: few in make check, all with FULL=1. */
static inline size_t draws(size_t few, size_t all)
{
    const char *full = getenv("FULL");
    return full != NULL && strcmp(full, "1") == 0 ? all : few;
}

/* A call that fails with err must not. */
#define must(rc) ((rc) == 0 ? (void)0 : call_failed(__FILE__, __LINE__))

/* SCOPED(model) *m: a struct nt_model that is destroyed at the end of its scope. */
#define SCOPED(type) __attribute__((cleanup(end_of_##type))) struct nt_##type
#define DESTROYED(type)                                                                            \
    struct nt_##type;                                                                              \
    void nt_##type##_destroy(struct nt_##type *);                                                  \
    static inline void end_of_##type(struct nt_##type **object)                                    \
    {                                                                                              \
        nt_##type##_destroy(*object);                                                              \
    }
DESTROYED(belief)
DESTROYED(cluster_map)
DESTROYED(hint)
DESTROYED(layout)
DESTROYED(map)
DESTROYED(matrix)
DESTROYED(membership)
DESTROYED(model)
DESTROYED(named_matrix)
DESTROYED(network)
DESTROYED(plan)
DESTROYED(planner)
DESTROYED(prior)
DESTROYED(reference_match)
DESTROYED(routes)
DESTROYED(samples)
DESTROYED(tiers)

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

/* A condition of several parts. If it is false, its values are printed: a format and arguments. */
#define assert_holds(condition, ...)                                                               \
    ((condition) ? (void)0 : broken(__FILE__, __LINE__, #condition, __VA_ARGS__))

static inline __attribute__((format(printf, 4, 5))) void
broken(const char *file, int line, const char *condition, const char *values, ...)
{
    va_list of;
    va_start(of, values);
    print_error("%s:%d: %s: ", file, line, condition);
    vprint_error(values, of);
    print_error("\n");
    va_end(of);
    _fail(file, line);
}

static inline void call_failed(const char *file, int line)
{
    print_error("%s:%d: %s\n", file, line, err.text);
    _fail(file, line);
}

#endif
