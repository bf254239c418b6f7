/* SPDX-License-Identifier: Apache-2.0 */
/* Where a picture marks a difference: at its host, its link or its switch, in both networks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "comparison_report.h"
#include "graph.h"
#include "known_tree.h"

static void must(int rc, const struct nt_err *err)
{
    if (rc != 0)
        fail_msg("%s", err->text);
}

/* Three groups of two leaves of three hosts; link k < 18 is of host k, 18 + j of leaf j. */
static struct nt_map *pods(void)
{
    struct nt_err err = {0};
    struct nt_map *map;
    char text[18][8];
    const char *names[18];
    for (size_t h = 0; h < 18; h++) {
        snprintf(text[h], sizeof text[h], "n%zu", h + 1);
        names[h] = text[h];
    }
    must(nt_map_create(known_tree(3, 2, 3, false, true, 1), names, &map, &err), &err);
    return map;
}

static void remarks_of(const struct nt_map *is, const struct nt_map *was, struct nt_remarks *out)
{
    struct nt_err err = {0};
    struct nt_reference_match *match;
    must(nt_reference_match_create(is, was, 0.25, &match, &err), &err);
    must(nt_remarks_create(match, is, was, out, &err), &err);
    nt_reference_match_destroy(match);
}

static const struct nt_remark *begins_with(const struct nt_remarks *all, const char *words)
{
    for (size_t k = 0; k < all->count; k++)
        if (strncmp(all->remark[k].text, words, strlen(words)) == 0)
            return &all->remark[k];
    fail_msg("no \"%s\"", words);
    return NULL;
}

static void at_link(const uint32_t at[2], const struct nt_link *l)
{
    assert_true((at[0] == l->a && at[1] == l->b) || (at[0] == l->b && at[1] == l->a));
}

static void hosts_links_and_uplinks(void **state)
{
    (void)state;
    struct nt_map *was = pods(), *is = pods();
    struct nt_link *link = is->model->link;
    link[18 + 1].latency_us *= 3; /* of n4 n5 n6 */
    link[16].latency_us *= 3;
    link[1].b = link[9].b; /* n2 stands with n10 */
    struct nt_remarks all;
    remarks_of(is, was, &all);
    assert_int_equal(all.count, 3);
    const struct nt_remark *moved = begins_with(&all, "n2: expected with n1 n3, found with n");
    assert_true(moved->in_map[0] == 1 && moved->in_map[1] == 1);
    assert_true(moved->in_reference[0] == 1 && moved->in_reference[1] == 1);
    const struct nt_remark *uplink = begins_with(&all, "uplink of n4 n5 n6: ");
    at_link(uplink->in_map, &link[18 + 1]);
    at_link(uplink->in_reference, &was->model->link[18 + 1]);
    const struct nt_remark *cable = begins_with(&all, "link of n17: ");
    at_link(cable->in_map, &link[16]);
    at_link(cable->in_reference, &was->model->link[16]);
    nt_remarks_fini(&all);
    nt_map_destroy(is);
    nt_map_destroy(was);
}

/* Where one of the two has nothing like it there is no place. */
static void switches_and_missing_hosts(void **state)
{
    (void)state;
    struct nt_map *was = pods(), *is = pods();
    struct nt_model *m = is->model;
    for (size_t k = 3; k < 6; k++)
        m->link[k].b = m->link[0].b; /* n4 n5 n6 on the leaf of n1 n2 n3 */
    m->missing[12] = true;
    m->link[12] = m->link[--m->links];
    m->link[18 + 1] = m->link[--m->links];
    struct nt_remarks all;
    remarks_of(is, was, &all);
    const struct nt_remark *gone = begins_with(&all, "n13: no answer");
    assert_true(gone->in_map[0] == 12 && gone->in_reference[0] == 12);
    for (size_t k = 0; k < all.count; k++)
        if (strncmp(all.remark[k].text, "switch over ", 12) == 0) {
            assert_int_equal(all.remark[k].in_reference[0], all.remark[k].in_reference[1]);
            assert_true(all.remark[k].in_map[0] == NT_NO_VERTEX ||
                        all.remark[k].in_map[0] >= m->hosts);
        }
    nt_remarks_fini(&all);
    nt_map_destroy(is);
    nt_map_destroy(was);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hosts_links_and_uplinks),
                                       cmocka_unit_test(switches_and_missing_hosts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
