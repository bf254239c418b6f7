/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "asserts.h"
#include "html.h"
#include "known_tree.h"
#include "layout.h"

static struct nt_layout *layout_of(const struct nt_model *m, int dims)
{
    struct nt_layout *l = NULL;
    struct nt_err err = {0};
    if (nt_layout_create(m, dims, 1, &l, &err) != 0)
        fail_msg("%s", err.text);
    return l;
}

static double apart(const struct nt_layout *l, size_t a, size_t b)
{
    double sum = 0;
    for (int d = 0; d < l->dimensions; d++) {
        double x = l->at[a * (size_t)l->dimensions + (size_t)d] -
                   l->at[b * (size_t)l->dimensions + (size_t)d];
        sum += x * x;
    }
    return sqrt(sum);
}

static void lengths_are_kept_where_they_can_be(void **state)
{
    (void)state;
    struct nt_err err = {0};
    struct nt_model *m;
    assert_int_equal(nt_model_create(4, 0, 3, &m, &err), 0); /* a chain fits a line */
    for (uint32_t k = 0; k < 3; k++) {
        m->link[k].a = k;
        m->link[k].b = k + 1;
        m->link[k].latency_us = k + 1;
    }
    for (int dims = 2; dims <= 3; dims++) {
        struct nt_layout *l = layout_of(m, dims);
        assert_below(l->stress, 1e-4);
        assert_close(apart(l, 1, 2) / apart(l, 0, 1), 2, 0.05);
        assert_close(apart(l, 0, 3) / apart(l, 0, 1), 6, 0.15);
        nt_layout_destroy(l);
    }
    nt_model_destroy(m);
}

static void more_room_never_hurts_and_far_hosts_stay_apart(void **state)
{
    (void)state;
    struct nt_model *m = known_tree(2, 4, 8, true, false, 3);
    struct nt_layout *flat = layout_of(m, 2), *solid = layout_of(m, 3);
    assert_true(solid->stress < flat->stress);
    assert_below(flat->stress, 0.15);
    double nearest = INFINITY;
    for (size_t a = 0; a < flat->vertices; a++)
        for (size_t b = 0; b < a; b++)
            nearest = fmin(nearest, apart(flat, a, b));
    assert_above(nearest, 0.005);
    nt_layout_destroy(flat);
    nt_layout_destroy(solid);
    nt_model_destroy(m);
}

static void the_same_model_gives_the_same_picture(void **state)
{
    (void)state;
    struct nt_model *m = known_tree(2, 3, 3, true, false, 3);
    struct nt_layout *a = layout_of(m, 2), *b = layout_of(m, 2);
    assert_memory_equal(a->at, b->at, a->vertices * 2 * sizeof *a->at);
    nt_layout_destroy(a);
    nt_layout_destroy(b);
    nt_model_destroy(m);
}

static void what_nothing_joins_stands_on_the_rim(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 5};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        struct nt_err err = {0};
        struct nt_model *m;
        assert_int_equal(nt_model_create(sizes[k], 0, 0, &m, &err), 0);
        struct nt_layout *l = layout_of(m, 2);
        for (size_t v = 0; v < l->vertices; v++)
            assert_close(hypot(l->at[2 * v], l->at[2 * v + 1]), 1.15, 1e-9);
        for (size_t v = 1; v < l->vertices; v++)
            assert_above(apart(l, v, v - 1), 0.1);
        nt_layout_destroy(l);
        nt_model_destroy(m);
    }
}

static void many_vertices_are_held_by_pivots(void **state)
{
    (void)state;
    struct nt_model *m = known_tree(4, 10, 50, true, false, 3);
    struct nt_layout *l = layout_of(m, 2);
    assert_true(l->vertices > NT_LAYOUT_EXACT);
    assert_below(l->stress, 0.25);
    nt_layout_destroy(l);
    nt_model_destroy(m);
}

static void a_page_asks_nothing_of_a_network_and_escapes_names(void **state)
{
    (void)state;
    struct nt_err err = {0};
    struct nt_model *m;
    struct nt_map *map;
    char *page;
    size_t bytes;
    const char *names[] = {"a", "b"};
    assert_int_equal(nt_model_create(2, 0, 1, &m, &err), 0);
    m->link[0].b = 1;
    m->link[0].latency_us = 1;
    assert_int_equal(nt_map_create(m, names, &map, &err), 0);
    struct nt_picture picture = {.map = map, .title = {"</script><b>\"", NULL}};
    assert_int_equal(nt_html_write(&picture, &page, &bytes, &err), 0);
    assert_int_equal(strlen(page), bytes);
    assert_null(strstr(page, "</script><b>"));
    assert_null(strstr(page, "@DATA@"));
    assert_null(strstr(page, "http:"));
    assert_null(strstr(page, "https:"));
    assert_null(strstr(page, "src="));
    free(page);
    nt_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_are_kept_where_they_can_be),
        cmocka_unit_test(more_room_never_hurts_and_far_hosts_stay_apart),
        cmocka_unit_test(the_same_model_gives_the_same_picture),
        cmocka_unit_test(what_nothing_joins_stands_on_the_rim),
        cmocka_unit_test(many_vertices_are_held_by_pivots),
        cmocka_unit_test(a_page_asks_nothing_of_a_network_and_escapes_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
