/* SPDX-License-Identifier: Apache-2.0 */
/* Where vertices stand by latency, and what a page and an SVG say; where labels lie is judged in a
 * browser (bats/page.bats, bats/exports.bats). */
#include "asserts.h"
#include "graph.h"
#include "html.h"
#include "known_tree.h"
#include "layout.h"
#include "svg.h"

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

TEST(lengths_are_kept_where_they_can_be)
{
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

TEST(more_room_never_hurts_and_far_hosts_stay_apart)
{
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

TEST(the_same_model_gives_the_same_picture)
{
    struct nt_model *m = known_tree(2, 3, 3, true, false, 3);
    struct nt_layout *a = layout_of(m, 2), *b = layout_of(m, 2);
    assert_memory_equal(a->at, b->at, a->vertices * 2 * sizeof *a->at);
    nt_layout_destroy(a);
    nt_layout_destroy(b);
    nt_model_destroy(m);
}

TEST(what_nothing_joins_stands_on_the_rim)
{
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

TEST(many_vertices_are_held_by_pivots)
{
    struct nt_model *m = known_tree(4, 10, 50, true, false, 3);
    struct nt_layout *l = layout_of(m, 2);
    assert_true(l->vertices > NT_LAYOUT_EXACT);
    assert_below(l->stress, 0.25);
    nt_layout_destroy(l);
    nt_model_destroy(m);
}

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

TEST(a_page_asks_nothing_of_a_network_and_escapes_names)
{
    struct nt_err err = {0};
    char *page;
    size_t bytes;
    struct nt_map *map = named(known_tree(2, 2, 2, false, false, 3));
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

TEST(every_host_and_switch_is_named_and_nothing_is_strong)
{
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

TEST(hosts_that_are_alike_share_a_line_but_a_finding_has_its_own)
{
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
    assert_non_null(strstr(text, "is slow: 3 us, expected 1"));
    free(text);
    nt_map_destroy(map);
}

TEST(a_difference_is_strong_where_it_is)
{
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

TEST(what_did_not_answer_is_hollow_and_what_is_not_sure_pale)
{
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
TEST(what_is_no_tree_is_drawn_as_well)
{
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

TEST(a_long_chain_of_switches_is_no_depth)
{
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

RUN_TESTS
