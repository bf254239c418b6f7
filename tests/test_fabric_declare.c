/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fabric/declare.h"

static int parse(const char *text, struct nt_fab *fab, struct nt_err *err)
{
    return nt_fab_parse("f", text, strlen(text), fab, err);
}

static void a_text_becomes_its_graph(void **state)
{
    (void)state;
    struct nt_fab *fab = calloc(1, sizeof *fab);
    struct nt_err err = {0};
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

static void a_host_named_twice_has_two_rails(void **state)
{
    (void)state;
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

static void two_links_can_be_one_cable(void **state)
{
    (void)state;
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

static void a_bad_text_is_refused_with_its_line(void **state)
{
    (void)state;
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
        struct nt_err err = {0};
        fab->host_count = 77;
        assert_int_equal(parse(table[k].text, fab, &err), -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        if (strstr(err.text, table[k].says) == NULL)
            fail_msg("\"%s\" gave \"%s\"", table[k].text, err.text);
        assert_int_equal(fab->host_count, 77);
    }
    free(fab);
}

static void every_bound_holds(void **state)
{
    (void)state;
    struct nt_fab *fab = calloc(1, sizeof *fab);
    char *text = malloc(NT_FAB_TEXT_MAX);
    struct nt_err err = {0};
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

static void names_sort_as_people_count(void **state)
{
    (void)state;
    static const char *const sorted[] = {"a", "n1", "n01", "n2", "n2a", "n10", "n10b", "o"};
    enum { COUNT = sizeof sorted / sizeof *sorted };
    for (int a = 0; a < COUNT; a++)
        for (int b = 0; b < COUNT; b++) {
            int order = nt_fab_name_compare(sorted[a], sorted[b]);
            assert_int_equal((order > 0) - (order < 0), (a > b) - (a < b));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_becomes_its_graph),
        cmocka_unit_test(a_host_named_twice_has_two_rails),
        cmocka_unit_test(two_links_can_be_one_cable),
        cmocka_unit_test(a_bad_text_is_refused_with_its_line),
        cmocka_unit_test(every_bound_holds),
        cmocka_unit_test(names_sort_as_people_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
