/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "in_pieces.h"
#include "routes_text.h"

/* In pieces of a size; 0: whole. */
static int read_routes(const char *text, size_t piece, struct nt_routes_text **out,
                       struct nt_err *err)
{
    const struct in_pieces pieces = {text, strlen(text), piece};
    const struct nt_text_source source = pieces_source("r", &pieces);
    return nt_routes_read(&source, NULL, out, err);
}

static const char text[] = "# three hosts\n"
                           "n1 n2 l1 l2 # same switch\n"
                           "\n"
                           "n1\tn3  l1 up#1 l3\r\n"
                           "n3 n1 l3 up#2 l1\n"
                           "n2 n3 l2 up#1 l3";

TEST(routes_are_read_alike_in_pieces_of_any_size)
{
    for (size_t piece = 0; piece < 40; piece++) {
        struct nt_routes_text *t;
        must(read_routes(text, piece, &t, &err));
        const struct nt_routes *r = t->routes;
        assert_int_equal(r->hosts, 3);
        assert_int_equal(r->links, 5);
        assert_int_equal(r->pairs, 3);
        assert_string_equal(t->hosts.name[2], "n3");
        assert_string_equal(t->links.name[2], "up#1");
        assert_int_equal(nt_route_directions(r, 0), 1);
        assert_int_equal(nt_route_directions(r, 1), 2);
        static const uint32_t both[6] = {0, 2, 3, 3, 4, 0};
        assert_int_equal(nt_route_length(r, 1), 6);
        assert_memory_equal(nt_route_links(r, 1), both, sizeof both);
        nt_routes_text_destroy(t);
    }
}

TEST(what_is_no_route_is_refused_with_line_and_reason)
{
    static const struct {
        const char *text, *says;
    } table[] = {
        {"", "r:1: expected HOST HOST LINK"},
        {"# only this\n", "[LINK...], found none"},
        {"a b l\nc\n", "r:2: expected HOST HOST LINK [LINK...], found one host"},
        {"a b\n", "r:1: a b: 0 links"},
        {"a b # l\n", "r:1: a b: 0 links"},
        {"a a l\n", "r:1: a a: a route from a host to itself"},
        {"a b l m l\n", "r:1: a b: a link appears twice"},
        {"a b l\n\na b m\n", "r:3: a b: this route is given twice"},
        {"a b l\nb a m\nb a m\n", "r:3: b a: this route is given twice"},
        {"a b l\nb a m\na b m\n", "r:3: a b: this route is given twice"},
        {"a b\x01 l\n", "r:1: "},
        {"a b l\x80\n", "r:1: expected a link's name"},
        {"a b l\fm\n", "r:1: expected a link's name"}, /* no blank in a text of our own */
        {"a/b c l\n", "r:1: "},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_routes_text *t = NULL;
        assert_int_equal(read_routes(table[k].text, 0, &t, &err), -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        if (strstr(err.text, table[k].says) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", err.text, table[k].says);
        assert_null(t);
    }
}

static int give_without_end(const void *from, nt_feed *feed, void *to, struct nt_err *err)
{
    static char piece[65536];
    size_t *fed = *(size_t *const *)from;
    memset(piece, 'x', sizeof piece);
    for (*fed = 0; *fed < 4u * NT_LINE_MAX; *fed += sizeof piece)
        if (feed(to, piece, sizeof piece, err) != 0)
            return -1;
    return 0;
}

TEST(a_line_without_end_takes_bounded_memory)
{
    size_t fed, *count = &fed;
    const struct nt_text_source source = {"r", give_without_end, &count};
    struct nt_routes_text *t = NULL;
    assert_int_equal(nt_routes_read(&source, NULL, &t, &err), -1);
    assert_at_most(fed, NT_LINE_MAX);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    assert_non_null(strstr(err.text, "r:1: expected lines of at most"));
}

TEST(a_zero_byte_is_no_text)
{
    const struct in_pieces pieces = {"a b\0 l\n", 7, 0};
    const struct nt_text_source source = pieces_source("r", &pieces);
    struct nt_routes_text *t = NULL;
    assert_int_equal(nt_routes_read(&source, NULL, &t, &err), -1);
    assert_non_null(strstr(err.text, "r:1: expected text, found a zero byte"));
}

static int read_measured(const struct nt_routes_text *routes, const char *lines,
                         struct nt_measured **out, struct nt_err *err)
{
    const struct in_pieces pieces = {lines, strlen(lines), 0};
    const struct nt_text_source source = pieces_source("m", &pieces);
    return nt_measured_read(&source, routes, out, err);
}

TEST(measurements_belong_to_pairs_of_the_routes)
{
    static const struct {
        const char *text, *says; /* NULL: fine */
    } table[] = {
        {"n1 n2 1.5\nn3 n1 2 # back\n\nn1 n3 2.25", NULL},
        {"", "m:1: expected HOST HOST LATENCY_US"},
        {"n1 n2\n", "m:1: expected a latency from 0 to 1e9 us, found the end of the line"},
        {"n1 n2 x\n", "m:1: expected a latency from 0 to 1e9 us, found \"x\""},
        {"n1 n2 -1\n", "found \"-1\""},
        {"n1 n2 nan\n", "found \"nan\""},
        {"n1 n2 inf\n", "found \"inf\""},
        {"n1 n2 1e99\n", "found \"1e99\""},
        {"n1 n2 1 2\n", "m:1: expected the end of the line, found \"2\""},
        {"n1 n9 1\n", "m:1: expected a host of the routes, found \"n9\""},
        {"n1 n2 1\nn1 n1 1\n", "m:2: expected a pair that has a route, found n1 n1"},
    };
    struct nt_routes_text *routes;
    assert_int_equal(read_routes(text, 0, &routes, NULL), 0);
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_measured *m = NULL;
        int rc = read_measured(routes, table[k].text, &m, &err);
        if (table[k].says == NULL) {
            assert_int_equal(rc, 0);
            assert_int_equal(m->count, 3);
            assert_int_equal(m->pair[1], 1);
            assert_int_equal(m->pair[2], 1);
            assert_true(m->latency_us[2] == 2.25);
            nt_measured_destroy(m);
            continue;
        }
        assert_int_equal(rc, -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        if (strstr(err.text, table[k].says) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", err.text, table[k].says);
    }
    nt_routes_text_destroy(routes);
}

TEST(hosts_are_asked_for_and_measured_with_their_domain_or_without)
{
    static const char lines[] = "n1.x n2.x l1 l2\nn1.x n3 l1 l3\nn2.x n4 l2 l4\n";
    static const char *const asked[] = {"n1", "n2.x", "n3.y"};
    const struct in_pieces pieces = {lines, strlen(lines), 0};
    const struct nt_text_source source = pieces_source("r", &pieces);
    struct nt_names few = {0};
    const struct nt_routes_wanted of_few = {.hosts = &few};
    struct nt_routes_text *routes = NULL;
    struct nt_measured *m;
    uint32_t index;
    for (size_t k = 0; k < sizeof asked / sizeof *asked; k++)
        assert_int_equal(nt_names_add(&few, asked[k], &index, NULL), 0);
    must(nt_routes_read(&source, &of_few, &routes, &err));
    assert_int_equal(routes->routes->pairs, 2);
    assert_string_equal(routes->hosts.name[0], "n1.x");
    assert_string_equal(routes->hosts.name[2], "n3");
    assert_int_equal(read_measured(routes, "n3 n1 1\nn1.x n3.z 2\n", &m, &err), 0);
    assert_int_equal(m->pair[0], 1);
    assert_int_equal(m->pair[1], 1);
    nt_measured_destroy(m);
    assert_int_equal(read_measured(routes, "n1.y n2 1\n", &m, &err), -1);
    nt_routes_text_destroy(routes);
    static const char both[] = "n1.x n2.x l1 l2\nn1.y n2.x l3 l2\n";
    const struct in_pieces twice = {both, strlen(both), 0};
    const struct nt_text_source ambiguous = pieces_source("r", &twice);
    assert_int_equal(nt_routes_read(&ambiguous, &of_few, &routes, &err), -1);
    assert_string_equal(err.text, "r:2: n1 is asked for, and could be n1.y or a host before");
    nt_names_fini(&few);
}

#define RECORD(host, lines)                                                                        \
    "nettopo-samples/1\nhost n1\nhost n2\nhost " host "\nphase plan\nround\n" lines "end ok 1\n"

TEST(a_sweeps_record_is_as_good)
{
    static const char record[] =
        RECORD("n3", "latency 0 1 8 5 1.5 0.1 2\nfailed 1 2 gone\nround\nlatency 2 0 8 5 2.25 0 3\n"
                     "latency 0 1 4096 5 9 0 9\nlatency 0 1 8 5 1.25 0.1 2\n");
    static const struct {
        const char *text, *says;
    } table[] = {
        {RECORD("n9", "latency 0 2 8 5 1 0 1\n"), "m: expected hosts of the routes, found \"n9\""},
        {RECORD("n3", ""), "m: expected latencies, found none"},
        {RECORD("n3", "latency 0 9 8 5 1 0 1\n"), "m:7: "},
        {"nettopo-samples/1\nhost n1\n", "m:3: expected \"end\""},
        {"nettopo-samples/2\n", "m:1: expected a host of the routes, found \"nettopo-samples/2\""},
        {"nettopo-samp", "m:1: expected a host of the routes, found \"nettopo-samp\""},
    };
    struct nt_routes_text *routes;
    struct nt_measured *m;
    assert_int_equal(read_routes(text, 0, &routes, NULL), 0);
    for (size_t piece = 0; piece < 40; piece++) {
        const struct in_pieces pieces = {record, strlen(record), piece};
        const struct nt_text_source source = pieces_source("m", &pieces);
        must(nt_measured_read(&source, routes, &m, &err));
        assert_int_equal(m->count, 3);
        assert_true(m->latency_us[0] == 1.5 && m->latency_us[1] == 2.25 &&
                    m->latency_us[2] == 1.25);
        assert_int_equal(m->pair[1], 1);
        nt_measured_destroy(m);
    }
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        assert_int_equal(read_measured(routes, table[k].text, &m, &err), -1);
        if (strncmp(err.text, table[k].says, strlen(table[k].says)) != 0)
            fail_msg("%s: expected %s", err.text, table[k].says);
    }
    nt_routes_text_destroy(routes);
}

TEST(one_way_each_direction_is_a_pair_and_hosts_may_be_chosen)
{
    static const struct nt_routes_wanted one_way = {.one_way = true};
    const struct in_pieces pieces = {text, strlen(text), 0};
    const struct nt_text_source source = pieces_source("r", &pieces);
    struct nt_names few = {0};
    const struct nt_routes_wanted of_few = {.hosts = &few};
    struct nt_routes_text *routes;
    struct nt_measured *m;
    uint32_t index;
    must(nt_routes_read(&source, &one_way, &routes, &err));
    assert_int_equal(routes->routes->pairs, 4);
    assert_int_equal(routes->hosts.count, 3);
    assert_int_equal(read_measured(routes, "n1 n3 1\nn3 n1 2\n", &m, &err), 0);
    assert_int_equal(m->pair[0], 1);
    assert_int_equal(m->pair[1], 2);
    nt_measured_destroy(m);
    assert_int_equal(read_measured(routes, "n2 n1 1\n", &m, &err), -1); /* there is no such way */
    assert_int_equal(read_measured(routes, RECORD("n3", "latency 0 1 8 5 1 0 1\n"), &m, &err), -1);
    assert_non_null(strstr(err.text, "half round trips"));
    nt_routes_text_destroy(routes);
    assert_int_equal(nt_names_add(&few, "n3", &index, NULL), 0);
    assert_int_equal(nt_names_add(&few, "n1", &index, NULL), 0);
    must(nt_routes_read(&source, &of_few, &routes, &err));
    assert_int_equal(routes->routes->pairs, 1);
    assert_int_equal(routes->hosts.count, 2);
    nt_routes_text_destroy(routes);
    nt_names_fini(&few);
}

RUN_TESTS
