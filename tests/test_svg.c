/* SPDX-License-Identifier: Apache-2.0 */
/* What an SVG says; where its labels lie is judged in a browser (bats/exports.bats). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph.h"
#include "known_tree.h"
#include "svg.h"

static struct nt_map *named(struct nt_model *m)
{
    struct nt_err err = {0};
    struct nt_map *map;
    char **names = calloc(m->hosts, sizeof *names);
    assert_non_null(names);
    for (size_t h = 0; h < m->hosts; h++)
        assert_true(asprintf(&names[h], "n%zu", h + 1) > 0);
    assert_int_equal(nt_map_create(m, (const char *const *)names, &map, &err), 0);
    for (size_t h = 0; h < m->hosts; h++)
        free(names[h]);
    free(names);
    return map;
}

static char *drawn(const struct nt_picture *picture)
{
    struct nt_err err = {0};
    char *text, *again;
    size_t bytes, more;
    if (nt_svg_write(picture, &text, &bytes, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(strlen(text), bytes);
    assert_int_equal(nt_svg_write(picture, &again, &more, &err), 0);
    assert_string_equal(text, again);
    free(again);
    return text;
}

static size_t count(const char *text, const char *word)
{
    size_t n = 0;
    for (text = strstr(text, word); text != NULL; text = strstr(text + 1, word))
        n++;
    return n;
}

static void every_host_and_switch_is_named_and_nothing_is_strong(void **state)
{
    (void)state;
    struct nt_map *map = named(known_tree(2, 4, 8, true, true, 3));
    char *text = drawn(&(struct nt_picture){.map = map, .title = {"map", NULL}}), word[32];
    for (size_t v = 0; v < map->model->hosts + map->model->switches; v++) {
        snprintf(word, sizeof word, ">%s</text>", nt_map_vertex_name(map, (uint32_t)v));
        assert_int_equal(count(text, word), 1);
    }
    assert_int_equal(count(text, "class=\"host\""), 64);
    assert_int_equal(count(text, "strong\""), 0);
    /* as thick as wide: 1000 of 4000 MB/s */
    assert_int_equal(count(text, "stroke-width=\"2.5\""), 64);
    assert_int_equal(count(text, "stroke-width=\"5.0\""), 8);
    assert_int_equal(count(text, "1 us \xc2\xb7 1000 MB/s"), 64);
    free(text);
    nt_map_destroy(map);
}

static void hosts_that_are_alike_share_a_line_but_a_finding_has_its_own(void **state)
{
    (void)state;
    struct nt_model *m = known_tree(2, 4, 20, false, true, 3);
    struct nt_map *map = named(m);
    map->fault = calloc(1, sizeof *map->fault);
    assert_non_null(map->fault);
    map->fault[0] = (struct nt_fault){.part = {NT_FAULT_LINK_SLOW, m->link[30].a, m->link[30].b},
                                      .found = 3,
                                      .expected = 1,
                                      .confidence = 0.9};
    map->faults = 1;
    char *text = drawn(&(struct nt_picture){.map = map, .title = {"map", NULL}});
    assert_int_equal(count(text, ">20 hosts</text>"), 7);
    assert_int_equal(count(text, ">19 hosts</text>"), 1);
    assert_int_equal(count(text, ">n1 to n20</text>"), 1);
    assert_int_equal(count(text, ">n31</text>"), 1);
    assert_int_equal(count(text, ">n30</text>"), 0);
    assert_int_equal(count(text, "class=\"host strong\""), 1);
    assert_non_null(strstr(text, "is slower than its like: 3 us, expected 1"));
    free(text);
    nt_map_destroy(map);
}

static void a_difference_is_strong_where_it_is(void **state)
{
    (void)state;
    struct nt_map *map = named(known_tree(2, 2, 4, false, true, 3));
    char said[] = "s3: <there> & \"none\"";
    const struct nt_remark remark[] = {{.in_map = {5, 5}, .text = said},
                                       {.in_map = {NT_NO_VERTEX, NT_NO_VERTEX}, .text = said}};
    char *text = drawn(&(struct nt_picture){
        .map = map, .reference = map, .title = {"a", "b"}, .remark = remark, .remarks = 2});
    assert_int_equal(count(text, "class=\"host strong\""), 1);
    assert_int_equal(count(text, "<there>"), 0);
    assert_int_equal(count(text, "&#60;there&#62; &#38; &#34;none&#34;"), 2);
    free(text);
    nt_map_destroy(map);
}

static void what_did_not_answer_is_hollow_and_what_is_not_sure_pale(void **state)
{
    (void)state;
    struct nt_err err = {0};
    struct nt_model *m;
    assert_int_equal(nt_model_create(5, 2, 5, &m, &err), 0);
    for (uint32_t k = 0; k < 4; k++) {
        m->link[k].a = k;
        m->link[k].b = k < 2 ? 5 : 6;
        m->link[k].latency_us = 1;
    }
    m->link[4] = (struct nt_link){.a = 6, .b = 5, .latency_us = 2, .probability = 0.8};
    m->missing[4] = true;
    m->tier[0] = 2;
    m->confidence = 0.8;
    struct nt_map *map = named(m);
    char *text = drawn(&(struct nt_picture){.map = map, .title = {"map", NULL}});
    assert_int_equal(count(text, "class=\"host missing\""), 1);
    assert_non_null(strstr(text, "<title>host n5, did not answer</title>"));
    assert_non_null(strstr(text, "<title>switch s2, 80 % sure</title>"));
    assert_int_equal(count(text, " opacity=\"0.51\""), 3); /* both switches and the link between */
    free(text);
    nt_map_destroy(map);
}

/* A ring has no switch, and two stars are no single tree: both are drawn as their latencies say. */
static void what_is_no_tree_is_drawn_as_well(void **state)
{
    (void)state;
    for (int stars = 0; stars < 2; stars++) {
        struct nt_err err = {0};
        struct nt_model *m;
        assert_int_equal(nt_model_create(6, stars ? 2 : 0, 6, &m, &err), 0);
        for (uint32_t k = 0; k < 6; k++) {
            m->link[k].a = k;
            m->link[k].b = stars ? 6 + k / 3 : (k + 1) % 6;
            m->link[k].latency_us = 1;
        }
        struct nt_map *map = named(m);
        char *text = drawn(&(struct nt_picture){.map = map, .title = {"map", NULL}});
        assert_int_equal(count(text, "class=\"host\""), 6);
        assert_int_equal(count(text, "class=\"link\""), 6);
        assert_non_null(strstr(text, ">n6</text>"));
        free(text);
        nt_map_destroy(map);
    }
}

static void a_long_chain_of_switches_is_no_depth(void **state)
{
    (void)state;
    enum { CHAIN = 5000 };
    struct nt_err err = {0};
    struct nt_model *m;
    assert_int_equal(nt_model_create(CHAIN, CHAIN, 2 * CHAIN - 1, &m, &err), 0);
    for (uint32_t k = 0; k < CHAIN; k++) {
        m->link[k] = (struct nt_link){.a = k, .b = CHAIN + k, .latency_us = 1};
        if (k > 0)
            m->link[CHAIN + k - 1] =
                (struct nt_link){.a = CHAIN + k, .b = CHAIN + k - 1, .latency_us = 1};
    }
    m->tier[0] = 2;
    struct nt_map *map = named(m);
    char *text = drawn(&(struct nt_picture){.map = map, .title = {"map", NULL}});
    assert_int_equal(count(text, "class=\"switch\""), CHAIN);
    free(text);
    nt_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_host_and_switch_is_named_and_nothing_is_strong),
        cmocka_unit_test(hosts_that_are_alike_share_a_line_but_a_finding_has_its_own),
        cmocka_unit_test(a_difference_is_strong_where_it_is),
        cmocka_unit_test(what_did_not_answer_is_hollow_and_what_is_not_sure_pale),
        cmocka_unit_test(what_is_no_tree_is_drawn_as_well),
        cmocka_unit_test(a_long_chain_of_switches_is_no_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
