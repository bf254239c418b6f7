/* SPDX-License-Identifier: Apache-2.0 */
/* The emulated network without devices: its text, changes of it, routes and times, its shape. */
#include "asserts.h"
#include "fabric/loop.h"

/* ---- the declared network
 * ----------------------------------------------------------------------*/

static int parse(const char *text, struct nt_fab *fab, struct nt_err *err)
{
    return nt_fab_parse("f", text, strlen(text), fab, err);
}

TEST(a_text_becomes_its_graph)
{
    struct nt_fab *fab = calloc(1, sizeof *fab);
    assert_int_equal(parse("# a network\n\nhost n1 s1 100 200\r\n"
                           "\thost n2 s2 0.5 100 50 # slow back\n"
                           "link s1 s2 250 400",
                           fab, &err),
                     0);
    assert_int_equal(fab->host_count, 2);
    assert_int_equal(fab->port_count, 2);
    assert_int_equal(fab->node_count, 4);
    assert_int_equal(fab->link_count, 6);
    assert_string_equal(fab->hosts[1].name, "n2");
    assert_int_equal(fab->hosts[1].ports[0], 1);
    assert_int_equal(fab->hosts[1].ports[1], -1);
    const struct nt_fab_link *there = &fab->links[2], *back = &fab->links[3];
    assert_string_equal(fab->nodes[there->from].name, "n2");
    assert_string_equal(fab->nodes[there->to].name, "s2");
    assert_int_equal(there->latency_ns, 500);
    assert_true(there->rate_mbit == 100 && back->rate_mbit == 50);
    assert_int_equal(back->from, there->to);
    assert_int_equal(back->to, there->from);
    assert_int_equal(fab->links[4].latency_ns, 250000);
    free(fab);
}

TEST(a_host_named_twice_has_two_rails)
{
    struct nt_fab *fab = calloc(1, sizeof *fab);
    assert_int_equal(parse("host a s1 1 1\nhost b s1 1 1\nhost a s2 1 1\n", fab, NULL), 0);
    assert_int_equal(fab->host_count, 2);
    assert_int_equal(fab->port_count, 3);
    int second = fab->hosts[0].ports[1];
    assert_int_equal(second, 2);
    assert_int_equal(fab->ports[second].rail, 1);
    assert_int_equal(fab->ports[second].host, 0);
    assert_int_equal(fab->hosts[1].ports[1], -1);
    free(fab);
}

TEST(two_links_can_be_one_cable)
{
    struct nt_fab *fab = calloc(1, sizeof *fab);
    assert_int_equal(parse("host n a 1 1\nlink a s 1 1\nlink s b 1 1\nlink c s 1 1\n"
                           "share a b s\nshare b c s\n",
                           fab, NULL),
                     0);
    static const int queue[] = {0, 1, 2, 3, 3, 2, 2, 3};
    assert_int_equal(fab->link_count, 8);
    for (int l = 0; l < 8; l++)
        assert_int_equal(fab->links[l].queue, queue[l]);
    free(fab);
}

TEST(a_bad_text_is_refused_with_its_line)
{
    static const struct {
        const char *text, *says;
    } table[] = {
        {"", "f: expected at least one host"},
        {"link s1 s2 1 1\n", "expected at least one host"},
        {"\nnode a s 1 1\n", "f:2: expected host, link or share, found \"node\""},
        {"link a s 1 1\nshare a s\n", "f:2: expected share SWITCH SWITCH SWITCH, found 3 words"},
        {"link a s 1 1\nshare a b s\n", "f:2: expected a link from \"b\" to \"s\" above"},
        {"share a b s\nlink a s 1 1\n", "f:1: expected a link from \"a\" to \"s\" above"},
        {"host a s 1\n", "f:1: expected host NAME SWITCH"},
        {"host a s 1 1 1 1\n", "found 7 words"},
        {"host a s 1 1 1 1 1 1\n", "found 7 words"},
        {"host a s -1 1\n", "expected a latency in us"},
        {"host a s 1x 1\n", "found \"1x\""},
        {"host a s nan 1\n", "expected a latency"},
        {"host a s 1e9 1\n", "expected a latency"},
        {"host a s 1 0\n", "expected a rate"},
        {"host a s 1 1 inf\n", "expected a rate"},
        {"host a/b s 1 1\n", "f:1: expected the name of a host"},
        {"host ../a s 1 1\n", "expected the name of a host"},
        {"host -a s 1 1\n", "expected the name of a host"},
        {"host a s;t 1 1\n", "expected the name of a switch"},
        {"host a a 1 1\n", "linked to itself"},
        {"host a s 1 1\nlink s s 1 1\n", "f:2: \"s\" is linked to itself"},
        {"host a s 1 1\nhost b a 1 1\n", "f:2: \"a\" is a host, expected a switch"},
        {"host a s 1 1\nhost s t 1 1\n", "f:2: \"s\" is a switch, expected a host"},
        {"host a s 1 1\nhost a s 1 1\nhost a s 1 1\n", "f:3: host \"a\" has more than 2 rails"},
    };
    struct nt_fab *fab = calloc(1, sizeof *fab);
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        fab->host_count = 77;
        assert_int_equal(parse(table[k].text, fab, &err), -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        if (strstr(err.text, table[k].says) == NULL)
            fail_msg("\"%s\" gave \"%s\"", table[k].text, err.text);
        assert_int_equal(fab->host_count, 77);
    }
    free(fab);
}

TEST(every_bound_holds)
{
    struct nt_fab *fab = calloc(1, sizeof *fab);
    char *text = malloc(NT_FAB_TEXT_MAX);
    size_t used = 0;
    for (int h = 0; h <= NT_FAB_HOSTS_MAX; h++)
        used += (size_t)snprintf(text + used, NT_FAB_TEXT_MAX - used, "host n%d s 1 1\n", h);
    assert_int_equal(nt_fab_parse("f", text, used, fab, &err), -1);
    assert_non_null(strstr(err.text, "f:129: more than 128 hosts"));
    used = (size_t)snprintf(text, NT_FAB_TEXT_MAX, "host n s0 1 1\n");
    for (int s = 0; s < NT_FAB_NODES_MAX; s++)
        used +=
            (size_t)snprintf(text + used, NT_FAB_TEXT_MAX - used, "link s%d s%d 1 1\n", s, s + 1);
    assert_int_equal(nt_fab_parse("f", text, used, fab, &err), -1);
    assert_non_null(strstr(err.text, "more than 512 switches and host ports"));
    used = (size_t)snprintf(text, NT_FAB_TEXT_MAX, "host n s0 1 1\n");
    for (int l = 0; l < NT_FAB_LINKS_MAX / 2; l++)
        used += (size_t)snprintf(text + used, NT_FAB_TEXT_MAX - used, "link a b 1 1\n");
    assert_int_equal(nt_fab_parse("f", text, used, fab, &err), -1);
    assert_non_null(strstr(err.text, "more than 1024 links"));
    memset(text, 'a', 600);
    assert_int_equal(nt_fab_parse("f", text, 600, fab, &err), -1);
    assert_non_null(strstr(err.text, "f:1: expected a line of text"));
    assert_int_equal(nt_fab_parse("f", "host a\0b s 1 1\n", 15, fab, &err), -1);
    assert_non_null(strstr(err.text, "f:1: expected a line of text"));
    free(text);
    free(fab);
}

TEST(names_sort_as_people_count)
{
    static const char *const sorted[] = {"a", "n1", "n01", "n2", "n2a", "n10", "n10b", "o"};
    enum { COUNT = sizeof sorted / sizeof *sorted };
    for (int a = 0; a < COUNT; a++)
        for (int b = 0; b < COUNT; b++) {
            int order = nt_fab_name_compare(sorted[a], sorted[b]);
            assert_int_equal((order > 0) - (order < 0), (a > b) - (a < b));
        }
}

/* ---- changes
 * -----------------------------------------------------------------------------------*/

/* links: 0 n1-s1, 2 n2-s2, 4 s1-s2, 6 n1-t1, 8 n2-t1; odd ones are the ways back */
static struct nt_fab *make_fabric(void)
{
    static const char text[] = "host n1 s1 100 200\nhost n2 s2 100 200\nlink s1 s2 100 200\n"
                               "host n1 t1 100 200\nhost n2 t1 100 200\n";
    struct nt_fab *fab = calloc(1, sizeof *fab);
    assert_int_equal(nt_fab_parse("f", text, strlen(text), fab, NULL), 0);
    return fab;
}

TEST(a_change_reaches_the_links_it_names)
{
    struct nt_fab *fab = make_fabric();
    must(nt_fab_change(fab, "host n1 rate=20 latency=500 loss=2% down", &err));
    for (int l = 0; l < fab->link_count; l++) {
        const struct nt_fab_link *link = &fab->links[l];
        int own = l / 2 == 0 || l / 2 == 3; /* both rails, both ways */
        assert_true(link->rate_mbit == (own ? 20 : 200) && link->loss == (own ? 0.02 : 0));
        assert_int_equal(link->latency_ns, own ? 500000 : 100000);
        assert_int_equal(link->down, own);
    }
    must(nt_fab_change(fab, "host n1 up", &err));
    assert_true(!fab->links[0].down && fab->links[0].rate_mbit == 20);
    free(fab);
}

TEST(a_change_may_be_one_way)
{
    struct nt_fab *fab = make_fabric();
    assert_int_equal(nt_fab_change(fab, "host n2 way=in rate=50", NULL), 0);
    assert_true(fab->links[2].rate_mbit == 200 && fab->links[3].rate_mbit == 50);
    assert_int_equal(nt_fab_change(fab, "link s2 s1 way=out down", NULL), 0);
    assert_true(!fab->links[4].down && fab->links[5].down);
    assert_int_equal(nt_fab_change(fab, "link s2 s1 way=in down", NULL), 0);
    assert_true(fab->links[4].down);
    assert_int_equal(nt_fab_change(fab, "link s1 s2 way=both up", NULL), 0);
    assert_true(!fab->links[4].down && !fab->links[5].down);
    free(fab);
}

TEST(a_wrong_change_is_refused_whole)
{
    static const struct {
        const char *text, *found;
    } cases[] = {
        {"", "expected host or link"},
        {"switch s1 down", "expected host or link, found \"switch\""},
        {"host", "expected host NAME"},
        {"link s1", "expected link A B"},
        {"host n9 down", "no host \"n9\""},
        {"host s1 down", "no host \"s1\""},
        {"link s1 t1 down", "no link \"s1 t1\""},
        {"link n1 s1 down", "no link \"n1 s1\""},
        {"host n1", "expected rate=, latency=, loss=, mtu=, down or up"},
        {"host n1 mtu=67", "expected a MTU in bytes from 68 to 1500, found \"67\""},
        {"host n1 way=in", "expected rate="},
        {"host n1 rate=0", "expected a rate in Mbit/s from 0.01 to 100000, found \"0\""},
        {"host n1 rate=", "found \"\""},
        {"host n1 latency=-1", "expected a latency in us from 0 to 1e+06, found \"-1\""},
        {"host n1 loss=101%", "expected a loss in percent from 0 to 100, found \"101\""},
        {"host n1 loss=%", "found \"\""},
        {"host n1 down up", "\"up\": given already"},
        {"host n1 down rate=1 rate=2", "\"rate=2\": given already"},
        {"host n1 down way=in way=in", "\"way=in\": given already"},
        {"host n1 down way=left", "expected way=out, in or both, found \"way=left\""},
        {"host n1 down speed=3", "found \"speed=3\""},
    };
    struct nt_fab *fab = make_fabric(), *before = make_fabric();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        assert_int_equal(nt_fab_change(fab, cases[k].text, &err), -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        if (strstr(err.text, cases[k].found) == NULL)
            fail_msg("\"%s\": %s", cases[k].text, err.text);
        assert_memory_equal(fab->links, before->links, sizeof fab->links);
    }
    char text[2 * NT_FAB_CHANGE_BYTES];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(nt_fab_change(fab, text, NULL), -1);
    free(before);
    free(fab);
}

/* ---- routes
 * ------------------------------------------------------------------------------------*/

struct known {
    struct nt_fab fab;
    struct nt_fab_routes routes;
};

static struct known *make(const char *text)
{
    struct known *known = calloc(1, sizeof *known);
    must(nt_fab_parse("f", text, strlen(text), &known->fab, &err));
    must(nt_fab_routes_find("f", &known->fab, &known->routes, &err));
    return known;
}

TEST(a_path_adds_latency_and_serialisation_of_each_link)
{
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

TEST(the_fewest_hops_win)
{
    struct known *k = make("host a s 1 1000\nhost b t 1 1000\nlink s m 1 1000\nlink m t 1 1000\n"
                           "link s t 90 1000\n");
    assert_int_equal(nt_fab_path_ns(&k->fab, &k->routes, 0, 1, 0), 92000);
    free(k);
}

/* A host on both of two networks does not join them. */
TEST(hosts_do_not_forward)
{
    struct known *k = make("host a s 1 1000\nhost b t 1 1000\nhost both s 1 1000\n"
                           "host both t 1 1000\n"
                           "link s m 1 1000\nlink m n 1 1000\nlink n t 1 1000\n");
    assert_int_equal(nt_fab_path_ns(&k->fab, &k->routes, 0, 1, 0), 5000);
    free(k);
}

TEST(equal_ways_are_shared_by_destination)
{
    struct known *k = make("host a s 1 1\nhost b t 1 1\nhost c t 1 1\n"
                           "link s x 1 1\nlink s y 1 1\nlink x t 1 1\nlink y t 1 1\n");
    int s = k->fab.links[0].to;
    assert_int_not_equal(k->routes.next[s][1], k->routes.next[s][2]);
    assert_int_equal(k->fab.links[k->routes.next[s][1]].from, s);
    assert_int_equal(k->fab.links[k->routes.next[s][2]].from, s);
    free(k);
}

TEST(a_divided_network_is_refused)
{
    struct known *k = calloc(1, sizeof *k);
    const char *text = "host a s 1 1\nhost b t 1 1\n";
    must(nt_fab_parse("f", text, strlen(text), &k->fab, &err));
    assert_int_equal(nt_fab_routes_find("f", &k->fab, &k->routes, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    assert_non_null(strstr(err.text, "no way from"));
    /* two rails need not be connected */
    text = "host a s 1 1\nhost b s 1 1\nhost a t 1 1\nhost b t 1 1\n";
    must(nt_fab_parse("f", text, strlen(text), &k->fab, &err));
    must(nt_fab_routes_find("f", &k->fab, &k->routes, &err));
    free(k);
}

/* At 8 Mbit/s a byte takes a microsecond. */
TEST(a_link_is_a_queue)
{
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
TEST(a_busy_link_carries_exactly_its_rate)
{
    const struct nt_fab_link link = {.latency_ns = 7000, .rate_mbit = 100};
    int64_t idle = 0, out = 0;
    for (int frame = 0; frame < 1000; frame++)
        out = nt_fab_link_pass(&link, &idle, frame * 1000, 1538);
    assert_int_equal(out, 1000 * INT64_C(123040) + 7000);
}

TEST(the_heap_gives_back_in_time_and_order)
{
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

TEST(a_stamp_is_read_against_the_clock)
{
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

/* ---- its shape
 * ---------------------------------------------------------------------------------*/

static int shape(const char *text, int rail, char *out, struct nt_err *err)
{
    struct nt_fab *fab = calloc(1, sizeof *fab);
    assert_int_equal(nt_fab_parse("f", text, strlen(text), fab, err), 0);
    int status = nt_fab_shape("f", fab, rail, out, err);
    free(fab);
    return status;
}

TEST(a_tree_has_one_text)
{
    static const struct {
        const char *text, *shape;
    } table[] = {
        {"host n2 s 1 1\nhost n10 s 1 1\nhost n1 s 1 1\n", "[n1 n2 n10]"},
        {"host a s 1 1\nhost b s 1 1\n", "[a b]"},
        /* a root between two leaves cannot be distinguished from a long link */
        {"host a s 1 1\nhost b s 1 1\nhost c t 1 1\nhost d t 1 1\nlink s t 1 1\n", "[[a b] [c d]]"},
        {"host c t 1 1\nhost d t 1 1\nhost b s 1 1\nhost a s 1 1\nlink r t 1 1\nlink s r 1 1\n",
         "[[a b] [c d]]"},
        /* nor a leaf of one host from a longer cable, nor a dead end from nothing */
        {"host a s 1 1\nhost b s 1 1\nhost c t 1 1\nlink s t 1 1\nlink t x 1 1\nlink x y 1 1\n",
         "[a b c]"},
        /* hosts at the root stand first */
        {"host a l 1 1\nhost b l 1 1\nhost c m 1 1\nhost d m 1 1\nhost z r 1 1\n"
         "link l r 1 1\nlink m r 1 1\n",
         "[z [a b] [c d]]"},
        /* parallel links are one */
        {"host a s 1 1\nhost b s 1 1\nhost c t 1 1\nhost d t 1 1\nlink s t 1 1\nlink t s 1 1\n",
         "[[a b] [c d]]"},
        /* a chain of five: the middle is the third */
        {"host a p 1 1\nhost b p 1 1\nhost c q 1 1\nhost d r 1 1\nhost e s 1 1\nhost f t 1 1\n"
         "host g t 1 1\nlink p q 1 1\nlink q r 1 1\nlink r s 1 1\nlink s t 1 1\n",
         "[d [c [a b]] [e [f g]]]"},
    };
    char text[NT_FAB_SHAPE_BYTES];
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        must(shape(table[k].text, 0, text, &err));
        assert_string_equal(text, table[k].shape);
    }
}

TEST(each_rail_has_its_own)
{
    const char *two = "host a s 1 1\nhost b s 1 1\nhost c t 1 1\nhost d t 1 1\nlink s t 1 1\n"
                      "host a u 1 1\nhost b u 1 1\nhost c u 1 1\n";
    char text[NT_FAB_SHAPE_BYTES];
    assert_int_equal(shape(two, 0, text, &err), 0);
    assert_string_equal(text, "[[a b] [c d]]");
    assert_int_equal(shape(two, 1, text, &err), 0);
    assert_string_equal(text, "[a b c]");
}

TEST(what_is_no_tree_is_refused)
{
    static const struct {
        const char *text, *says;
    } table[] = {
        {"host a s 1 1\n", "expected two hosts"},
        {"host a s 1 1\nhost b t 1 1\nhost c u 1 1\nlink s t 1 1\nlink t u 1 1\nlink u s 1 1\n",
         "expected a tree"},
        {"host a s 1 1\nhost b s 1 1\nhost c t 1 1\nhost d t 1 1\n", "expected a tree"},
    };
    char text[NT_FAB_SHAPE_BYTES];
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        assert_int_equal(shape(table[k].text, 0, text, &err), -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        assert_non_null(strstr(err.text, table[k].says));
    }
}

RUN_TESTS
