/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fabric/change.h"

/* links: 0 n1-s1, 2 n2-s2, 4 s1-s2, 6 n1-t1, 8 n2-t1; odd ones are the ways back */
static struct nt_fab *make_fabric(void)
{
    static const char text[] = "host n1 s1 100 200\nhost n2 s2 100 200\nlink s1 s2 100 200\n"
                               "host n1 t1 100 200\nhost n2 t1 100 200\n";
    struct nt_fab *fab = calloc(1, sizeof *fab);
    assert_int_equal(nt_fab_parse("f", text, strlen(text), fab, NULL), 0);
    return fab;
}

static void a_change_reaches_the_links_it_names(void **state)
{
    (void)state;
    struct nt_fab *fab = make_fabric();
    struct nt_err err = {0};
    assert_int_equal(nt_fab_change(fab, "host n1 rate=20 latency=500 loss=2% down", &err), 0);
    for (int l = 0; l < fab->link_count; l++) {
        const struct nt_fab_link *link = &fab->links[l];
        int own = l / 2 == 0 || l / 2 == 3; /* both rails, both ways */
        assert_true(link->rate_mbit == (own ? 20 : 200) && link->loss == (own ? 0.02 : 0));
        assert_int_equal(link->latency_ns, own ? 500000 : 100000);
        assert_int_equal(link->down, own);
    }
    assert_int_equal(nt_fab_change(fab, "host n1 up", &err), 0);
    assert_true(!fab->links[0].down && fab->links[0].rate_mbit == 20);
    free(fab);
}

static void a_change_may_be_one_way(void **state)
{
    (void)state;
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

static void a_wrong_change_is_refused_whole(void **state)
{
    (void)state;
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
        struct nt_err err = {0};
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_reaches_the_links_it_names),
        cmocka_unit_test(a_change_may_be_one_way),
        cmocka_unit_test(a_wrong_change_is_refused_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
