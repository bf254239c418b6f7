/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fabric/heap.h"
#include "fabric/routes.h"
#include "fabric/stamp.h"

struct known {
    struct nt_fab fab;
    struct nt_fab_routes routes;
};

static struct known *make(const char *text)
{
    struct known *known = calloc(1, sizeof *known);
    struct nt_err err = {0};
    assert_int_equal(nt_fab_parse("f", text, strlen(text), &known->fab, &err), 0);
    assert_int_equal(nt_fab_routes_find("f", &known->fab, &known->routes, &err), 0);
    return known;
}

static void a_path_adds_latency_and_serialisation_of_each_link(void **state)
{
    (void)state;
    struct known *k = make("host a s 100 200\nhost b t 50 100 400\nlink s t 10 1000\n");
    /* 1000 bytes: 40 us at 200, 8 at 1000, 80 at 100 and 20 at 400 Mbit/s */
    assert_int_equal(nt_fab_path_ns(&k->fab, &k->routes, 0, 1, 1000),
                     100000 + 40000 + 10000 + 8000 + 50000 + 20000);
    assert_int_equal(nt_fab_path_ns(&k->fab, &k->routes, 1, 0, 1000),
                     50000 + 80000 + 10000 + 8000 + 100000 + 40000);
    assert_int_equal(nt_fab_path_ns(&k->fab, &k->routes, 0, 1, 0), 160000);
    assert_int_equal(nt_fab_path_ns(&k->fab, &k->routes, 0, 0, 1000), 0);
    free(k);
}

static void the_fewest_hops_win(void **state)
{
    (void)state;
    struct known *k = make("host a s 1 1000\nhost b t 1 1000\nlink s m 1 1000\nlink m t 1 1000\n"
                           "link s t 90 1000\n");
    assert_int_equal(nt_fab_path_ns(&k->fab, &k->routes, 0, 1, 0), 92000);
    free(k);
}

/* A host on both of two networks does not join them. */
static void hosts_do_not_forward(void **state)
{
    (void)state;
    struct known *k = make("host a s 1 1000\nhost b t 1 1000\nhost both s 1 1000\n"
                           "host both t 1 1000\n"
                           "link s m 1 1000\nlink m n 1 1000\nlink n t 1 1000\n");
    assert_int_equal(nt_fab_path_ns(&k->fab, &k->routes, 0, 1, 0), 5000);
    free(k);
}

static void equal_ways_are_shared_by_destination(void **state)
{
    (void)state;
    struct known *k = make("host a s 1 1\nhost b t 1 1\nhost c t 1 1\n"
                           "link s x 1 1\nlink s y 1 1\nlink x t 1 1\nlink y t 1 1\n");
    int s = k->fab.links[0].to;
    assert_int_not_equal(k->routes.next[s][1], k->routes.next[s][2]);
    assert_int_equal(k->fab.links[k->routes.next[s][1]].from, s);
    assert_int_equal(k->fab.links[k->routes.next[s][2]].from, s);
    free(k);
}

static void a_divided_network_is_refused(void **state)
{
    (void)state;
    struct known *k = calloc(1, sizeof *k);
    struct nt_err err = {0};
    const char *text = "host a s 1 1\nhost b t 1 1\n";
    assert_int_equal(nt_fab_parse("f", text, strlen(text), &k->fab, &err), 0);
    assert_int_equal(nt_fab_routes_find("f", &k->fab, &k->routes, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    assert_non_null(strstr(err.text, "no way from"));
    /* two rails need not be connected */
    text = "host a s 1 1\nhost b s 1 1\nhost a t 1 1\nhost b t 1 1\n";
    assert_int_equal(nt_fab_parse("f", text, strlen(text), &k->fab, &err), 0);
    assert_int_equal(nt_fab_routes_find("f", &k->fab, &k->routes, &err), 0);
    free(k);
}

/* At 8 Mbit/s a byte takes a microsecond. */
static void a_link_is_a_queue(void **state)
{
    (void)state;
    const struct nt_fab_link link = {.latency_ns = 5000, .rate_mbit = 8};
    int64_t idle = 0;
    assert_int_equal(nt_fab_link_pass(&link, &idle, 1000, 10), 1000 + 10000 + 5000);
    assert_int_equal(idle, 11000);
    /* waits for the one before it, in the order of the calls */
    assert_int_equal(nt_fab_link_pass(&link, &idle, 1000, 20), 11000 + 20000 + 5000);
    assert_int_equal(nt_fab_link_pass(&link, &idle, 30999, 1), 31000 + 1000 + 5000);
    /* an idle link does not wait */
    assert_int_equal(nt_fab_link_pass(&link, &idle, 90000, 1), 90000 + 1000 + 5000);
}

/* Whatever comes in when, the link never carries more than its rate, nor idles with work. */
static void a_busy_link_carries_exactly_its_rate(void **state)
{
    (void)state;
    const struct nt_fab_link link = {.latency_ns = 7000, .rate_mbit = 100};
    int64_t idle = 0, out = 0;
    for (int frame = 0; frame < 1000; frame++)
        out = nt_fab_link_pass(&link, &idle, frame * 1000, 1538);
    assert_int_equal(out, 1000 * INT64_C(123040) + 7000);
}

static void the_heap_gives_back_in_time_and_order(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    static int what[COUNT];
    struct nt_fab_heap heap = {0};
    uint32_t random = 1;
    for (int k = 0; k < COUNT; k++) {
        random = random * 1664525 + 1013904223;
        what[k] = (int)(random >> 25); /* 128 times, so many are equal */
        assert_int_equal(nt_fab_heap_push(&heap, what[k], &what[k]), 0);
    }
    const int *last = NULL;
    for (int k = 0; k < COUNT; k++) {
        const int *now = nt_fab_heap_pop(&heap).what;
        if (last != NULL)
            assert_true(*last < *now || (*last == *now && last < now));
        last = now;
    }
    assert_int_equal(heap.count, 0);
    nt_fab_heap_fini(&heap);
}

static void a_stamp_is_read_against_the_clock(void **state)
{
    (void)state;
    const int64_t range = INT64_C(1) << 48;
    static const struct {
        int64_t stamped, now, reads;
    } table[] = {
        {1000, 2000, 1000},
        {5 * (INT64_C(1) << 48) + 77, 5 * (INT64_C(1) << 48) + 90, 5 * (INT64_C(1) << 48) + 77},
        /* the low bits went round */
        {(INT64_C(1) << 48) - 10, (INT64_C(1) << 48) + 10, (INT64_C(1) << 48) - 10},
        /* half a second old: no stamp at all */
        {1000, 600001000, 600001000},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        unsigned char stamp[NT_FAB_STAMP_BYTES];
        int64_t low = table[k].stamped % range;
        for (int b = 0; b < NT_FAB_STAMP_BYTES; b++)
            stamp[b] = (unsigned char)(low >> (8 * b));
        assert_int_equal(nt_fab_stamp_read(stamp, table[k].now), table[k].reads);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_adds_latency_and_serialisation_of_each_link),
        cmocka_unit_test(the_fewest_hops_win),
        cmocka_unit_test(hosts_do_not_forward),
        cmocka_unit_test(equal_ways_are_shared_by_destination),
        cmocka_unit_test(a_divided_network_is_refused),
        cmocka_unit_test(a_link_is_a_queue),
        cmocka_unit_test(a_busy_link_carries_exactly_its_rate),
        cmocka_unit_test(the_heap_gives_back_in_time_and_order),
        cmocka_unit_test(a_stamp_is_read_against_the_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
