/* SPDX-License-Identifier: Apache-2.0 */
/* Where vertices stand by latency, and what a page and an SVG say; where labels lie is judged in a
 * browser (bats/page.bats, bats/exports.bats). */
#include "asserts.h"
#include "graph.h"
#include "html.h"
#include "known_tree.h"
#include "lattice.h"
#include "layout.h"
#include "svg.h"

static struct nt_layout *layout_of(const struct nt_model *m, int dims)
{
    struct nt_layout *l = NULL;
    must(nt_layout_create(m, dims, 1, &l, &err));
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
    SCOPED(model) *m;
    must(nt_model_create(4, 0, 3, &m, &err)); /* a chain fits a line */
    for (uint32_t k = 0; k < 3; k++) {
        m->link[k].a = k;
        m->link[k].b = k + 1;
        m->link[k].latency_us = k + 1;
    }
    for (int dims = 2; dims <= 3; dims++) {
        SCOPED(layout) *l = layout_of(m, dims);
        assert_below(l->stress, 1e-4);
        assert_close(apart(l, 1, 2) / apart(l, 0, 1), 2, 0.05);
        assert_close(apart(l, 0, 3) / apart(l, 0, 1), 6, 0.15);
    }
}

TEST(more_room_never_hurts_and_far_hosts_stay_apart)
{
    SCOPED(model) *m = known_tree(2, 4, 8, true, false, 3);
    SCOPED(layout) *flat = layout_of(m, 2), *solid = layout_of(m, 3);
    assert_below(solid->stress, flat->stress);
    assert_below(flat->stress, 0.15);
    double nearest = INFINITY;
    for (size_t a = 0; a < flat->vertices; a++)
        for (size_t b = 0; b < a; b++)
            nearest = fmin(nearest, apart(flat, a, b));
    assert_above(nearest, 0.005);
}

TEST(the_same_model_gives_the_same_picture)
{
    SCOPED(model) *m = known_tree(2, 3, 3, true, false, 3);
    SCOPED(layout) *a = layout_of(m, 2), *b = layout_of(m, 2);
    assert_memory_equal(a->at, b->at, a->vertices * 2 * sizeof *a->at);
}

TEST(what_nothing_joins_stands_on_the_rim)
{
    static const size_t sizes[] = {0, 1, 5};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        SCOPED(model) *m;
        must(nt_model_create(sizes[k], 0, 0, &m, &err));
        SCOPED(layout) *l = layout_of(m, 2);
        for (size_t v = 0; v < l->vertices; v++)
            assert_close(hypot(l->at[2 * v], l->at[2 * v + 1]), 1.15, 1e-9);
        for (size_t v = 1; v < l->vertices; v++)
            assert_above(apart(l, v, v - 1), 0.1);
    }
}

TEST(many_vertices_are_held_by_pivots)
{
    SCOPED(model) *m = known_tree(4, 10, 50, true, false, 3);
    SCOPED(layout) *l = layout_of(m, 2);
    assert_above(l->vertices, NT_LAYOUT_EXACT);
    assert_below(l->stress, 0.25);
}

static struct nt_map *named(struct nt_model *m)
{
    struct nt_map *map;
    char **names = calloc(m->hosts, sizeof *names);
    assert_non_null(names);
    for (size_t h = 0; h < m->hosts; h++)
        assert_above(asprintf(&names[h], "n%zu", h + 1), 0);
    must(nt_map_create(m, (const char *const *)names, &map, &err));
    for (size_t h = 0; h < m->hosts; h++)
        free(names[h]);
    free(names);
    return map;
}

TEST(a_page_asks_nothing_of_a_network_and_escapes_names)
{
    char *page;
    size_t bytes;
    SCOPED(map) *map = named(known_tree(2, 2, 2, false, false, 3));
    struct nt_picture picture = {.map = map, .title = {"</script><b>\"", NULL}};
    must(nt_html_write(&picture, &page, &bytes, &err));
    assert_int_equal(strlen(page), bytes);
    assert_null(strstr(page, "</script><b>"));
    assert_null(strstr(page, "@DATA@"));
    assert_null(strstr(page, "http:"));
    assert_null(strstr(page, "https:"));
    assert_null(strstr(page, "src="));
    free(page);
}

static char *drawn(const struct nt_picture *picture)
{
    char *text, *again;
    size_t bytes, more;
    must(nt_svg_write(picture, &text, &bytes, &err));
    assert_int_equal(strlen(text), bytes);
    must(nt_svg_write(picture, &again, &more, &err));
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
    SCOPED(map) *map = named(known_tree(2, 4, 8, true, true, 3));
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
    assert_int_equal(count(text, ">1.00 us</text>"), 64);
    assert_int_equal(count(text, ">1000 MB/s</text>"), 64);
    free(text);
}

TEST(hosts_that_are_alike_share_a_line_but_a_finding_has_its_own)
{
    struct nt_model *m = known_tree(2, 4, 20, false, true, 3);
    SCOPED(map) *map = named(m);
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
    assert_int_equal(count(text, ">n[1-20]</text>"), 1);
    assert_int_equal(count(text, ">n[21-30,32-40]</text>"), 1); /* without the bad one */
    assert_int_equal(count(text, ">n31</text>"), 1);
    assert_int_equal(count(text, ">n30</text>"), 0);
    assert_int_equal(count(text, "class=\"host strong\""), 1);
    assert_non_null(strstr(text, "is slow: 3 us, expected 1"));
    free(text);
}

TEST(a_difference_is_strong_where_it_is)
{
    SCOPED(map) *map = named(known_tree(2, 2, 4, false, true, 3));
    char said[] = "s3: <there> & \"none\"";
    const struct nt_remark remark[] = {{.in_map = {5, 5}, .text = said},
                                       {.in_map = {NT_NO_VERTEX, NT_NO_VERTEX}, .text = said}};
    char *text = drawn(&(struct nt_picture){
        .map = map, .reference = map, .title = {"a", "b"}, .remark = remark, .remarks = 2});
    assert_int_equal(count(text, "class=\"host strong\""), 1);
    assert_int_equal(count(text, "<there>"), 0);
    assert_int_equal(count(text, "&#60;there&#62; &#38; &#34;none&#34;"), 2);
    free(text);
}

TEST(what_did_not_answer_is_hollow_and_what_is_not_sure_pale)
{
    struct nt_model *m;
    must(nt_model_create(5, 2, 5, &m, &err));
    for (uint32_t k = 0; k < 4; k++) {
        m->link[k].a = k;
        m->link[k].b = k < 2 ? 5 : 6;
        m->link[k].latency_us = 1;
    }
    m->link[4] = (struct nt_link){.a = 6, .b = 5, .latency_us = 2, .probability = 0.8};
    m->missing[4] = true;
    m->tier[0] = 2;
    m->confidence = 0.8;
    SCOPED(map) *map = named(m);
    char *text = drawn(&(struct nt_picture){.map = map, .title = {"map", NULL}});
    assert_int_equal(count(text, "class=\"host missing\""), 1);
    assert_non_null(strstr(text, "<title>host n5, did not answer</title>"));
    assert_non_null(strstr(text, "<title>switch s2, support 80 %</title>"));
    assert_int_equal(count(text, " opacity=\"0.51\""), 3); /* both switches and the link between */
    free(text);
}

/* A ring has no switch, and two stars are no single tree: both are drawn as their latencies say. */
TEST(what_is_no_tree_is_drawn_as_well)
{
    for (int stars = 0; stars < 2; stars++) {
        struct nt_model *m;
        must(nt_model_create(6, stars ? 2 : 0, 6, &m, &err));
        for (uint32_t k = 0; k < 6; k++) {
            m->link[k].a = k;
            m->link[k].b = stars ? 6 + k / 3 : (k + 1) % 6;
            m->link[k].latency_us = 1;
        }
        SCOPED(map) *map = named(m);
        char *text = drawn(&(struct nt_picture){.map = map, .title = {"map", NULL}});
        assert_int_equal(count(text, "class=\"host\""), 6);
        assert_int_equal(count(text, "class=\"link\""), 6);
        assert_non_null(strstr(text, ">n6</text>"));
        free(text);
    }
}

/* A lower bound keeps its sign in the direction that has it, and a bad link is never the thinnest.
 */
TEST(values_have_signs_and_a_bad_link_is_thick)
{
    struct nt_model *m = known_tree(2, 2, 4, false, true, 3);
    struct nt_link *l = &m->link[0];
    char text[NT_VALUE_BYTES];
    l->bandwidth_MBps = 25039;
    l->bandwidth_back_MBps = 3125;
    l->forth_at_least = true;
    nt_rate_text(l, NT_WAY_FORTH, true, text);
    assert_string_equal(text, "\xe2\x89\xa5"
                              "25000");
    nt_rate_text(l, NT_WAY_FORTH, false, text);
    assert_string_equal(text, ">=25000");
    nt_rate_text(l, NT_WAY_NARROWER, true, text);
    assert_string_equal(text, "3120");
    l->at_least = true;
    nt_rate_text(l, NT_WAY_NARROWER, true, text);
    assert_string_equal(text, "\xe2\x89\xa5"
                              "3120");
    l->effective = true;
    nt_rate_text(l, NT_WAY_BACK, true, text);
    assert_string_equal(text, "~3120");
    l->bandwidth_back_MBps = NAN;
    nt_rate_text(l, NT_WAY_BACK, true, text);
    assert_string_equal(text, "");
    l->bandwidth_MBps = l->bandwidth_back_MBps = 10;
    l->suspect = true;
    SCOPED(map) *map = named(m);
    struct nt_look look;
    must(nt_look_init(&look, &(struct nt_picture){.map = map}, map, &err));
    assert_true(nt_look_thickness(&look, 0) == NT_BAD_PX);
    assert_below(nt_look_thickness(&look, 1), NT_BAD_PX);
    nt_look_fini(&look);
}

static double thickness_of_full_mesh(size_t hosts)
{
    struct nt_model *m;
    struct nt_look look;
    size_t k = 0;
    assert_int_equal(nt_model_create(hosts, 0, hosts * (hosts - 1) / 2, &m, &err), 0);
    for (uint32_t a = 0; a < hosts; a++)
        for (uint32_t b = a + 1; b < hosts; b++)
            m->link[k++] = (struct nt_link){.a = a,
                                            .b = b,
                                            .latency_us = 1,
                                            .bandwidth_MBps = 12500,
                                            .bandwidth_back_MBps = 12500,
                                            .probability = 1};
    struct nt_map *map = named(m);
    assert_int_equal(nt_look_init(&look, &(struct nt_picture){.map = map}, map, &err), 0);
    double px = nt_look_thickness(&look, 0);
    nt_look_fini(&look);
    nt_map_destroy(map);
    return px;
}

/* Four vertices can all be joined without a crossing, five cannot. */
TEST(lines_that_must_cross_are_thin)
{
    assert_below(thickness_of_full_mesh(5), thickness_of_full_mesh(4));
    assert_true(thickness_of_full_mesh(4) == thickness_of_full_mesh(2));
}

TEST(the_legend_has_strokes_of_common_rates)
{
    static const struct {
        double MBps;
        size_t strokes;
        const char *text;
    } rows[] = {{100000, 1, "400 Gbit/s (50000 MB/s)"},
                {50000, 2, "400 Gbit/s (50000 MB/s)"},
                {12000, 1, "100 Gbit/s (12500 MB/s)"},
                {3000, 1, "10 Gbit/s (1250 MB/s)"},
                {46.9, 1, "0.1 Gbit/s (12.5 MB/s)"}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct nt_stroke stroke[NT_STROKES_MAX];
        struct nt_look look = {.widest_MBps = rows[k].MBps, .narrowest_MBps = rows[k].MBps / 10};
        assert_int_equal(nt_look_strokes(&look, stroke), rows[k].strokes);
        assert_string_equal(stroke[0].text, rows[k].text);
    }
    assert_int_equal(nt_look_strokes(&(struct nt_look){.widest_MBps = 0}, NULL), 0);
}

/* The grid with its vertices renumbered at random. */
static struct nt_model *known_grid(enum nt_family family, size_t dimensions, const uint32_t *size,
                                   uint32_t twist)
{
    struct nt_lattice l = {
        .dimensions = dimensions, .wraps = family == NT_FAMILY_TORUS, .twist = twist};
    size_t n = 1, links = 0, next[NT_LATTICE_DEGREE_MAX];
    struct nt_model *m;
    struct nt_rng rng;
    for (size_t k = 0; k < dimensions; k++)
        n *= l.size[k] = size[k];
    must(nt_model_create(n, 0, n * dimensions, &m, &err));
    uint32_t *name = calloc(n, sizeof *name);
    assert_non_null(name);
    nt_rng_init(&rng, 5);
    for (size_t v = 0; v < n; v++) {
        size_t other = nt_rng_below(&rng, (uint32_t)v + 1);
        name[v] = name[other];
        name[other] = (uint32_t)v;
    }
    for (size_t v = 0; v < n; v++)
        for (size_t k = nt_lattice_neighbours(&l, v, next); k-- > 0;)
            if (next[k] > v)
                m->link[links++] =
                    (struct nt_link){.a = name[v], .b = name[next[k]], .latency_us = 1};
    m->links = links;
    m->family = family;
    m->dimensions = (uint32_t)dimensions;
    memcpy(m->dimension, size, dimensions * sizeof *size);
    m->twist = twist;
    free(name);
    return m;
}

/* Whatever the numbers of its hosts, a torus or mesh is drawn as a grid: nearest neighbours are one
 * unit apart, and every link is a line of one unit or has two short ends. */
TEST(known_dimensions_are_a_grid)
{
    static const struct {
        enum nt_family family;
        size_t dimensions, lines; /* links that are lines */
        uint32_t size[3], twist;
    } rows[] = {{NT_FAMILY_TORUS, 2, 112, {8, 8}, 0},    {NT_FAMILY_TORUS, 3, 96, {4, 4, 4}, 0},
                {NT_FAMILY_TORUS, 3, 196, {6, 5, 4}, 0}, {NT_FAMILY_MESH, 2, 60, {6, 6}, 0},
                {NT_FAMILY_MESH, 3, 51, {4, 3, 3}, 0},   {NT_FAMILY_TORUS, 2, 52, {8, 4}, 2}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct nt_model *m =
            known_grid(rows[r].family, rows[r].dimensions, rows[r].size, rows[r].twist);
        struct nt_layout *l = layout_of(m, 2);
        size_t lines = 0;
        double nearest = INFINITY;
        assert_above(l->unit, 0);
        for (size_t k = 0; k < m->links; k++) {
            double end[2];
            if (nt_layout_short_end(l, k, end))
                continue;
            lines++;
            assert_close(apart(l, m->link[k].a, m->link[k].b), l->unit, 1e-9);
        }
        for (size_t a = 0; a < l->vertices; a++)
            for (size_t b = 0; b < a; b++)
                nearest = fmin(nearest, apart(l, a, b));
        assert_int_equal(lines, rows[r].lines);
        assert_close(nearest, l->unit, 1e-9);
        nt_layout_destroy(l);
        nt_model_destroy(m);
    }
    /* dimensions that are not those of the links are drawn as any other network */
    SCOPED(model) *m = known_grid(NT_FAMILY_TORUS, 2, (const uint32_t[]){8, 8}, 0);
    m->dimension[0] = 16;
    m->dimension[1] = 4;
    SCOPED(layout) *l = layout_of(m, 2);
    assert_true(l->unit == 0);
    assert_null(l->turn);
}

TEST(a_long_chain_of_switches_is_no_depth)
{
    const uint32_t chain = (uint32_t)draws(2000, 5000);
    struct nt_model *m;
    must(nt_model_create(chain, chain, 2 * chain - 1, &m, &err));
    for (uint32_t k = 0; k < chain; k++) {
        m->link[k] = (struct nt_link){.a = k, .b = chain + k, .latency_us = 1};
        if (k > 0)
            m->link[chain + k - 1] =
                (struct nt_link){.a = chain + k, .b = chain + k - 1, .latency_us = 1};
    }
    m->tier[0] = 2;
    SCOPED(map) *map = named(m);
    char *text = drawn(&(struct nt_picture){.map = map, .title = {"map", NULL}});
    assert_int_equal(count(text, "class=\"switch\""), chain);
    free(text);
}

RUN_TESTS
