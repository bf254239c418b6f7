/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "asserts.h"
#include "import.h"
#include "reference_match.h"

static struct nt_map *read_dot(const char *text)
{
    struct nt_err err = {0};
    struct nt_map *map;
    if (nt_import_dot("r.dot", text, strlen(text), &map, &err) != 0)
        fail_msg("%s", err.text);
    return map;
}

/* Each difference is as sure as the switch that it rests on, whatever the map is as a whole. */
static void a_difference_is_as_sure_as_its_switch(void **state)
{
    (void)state;
    static const char found[] = "graph { n1--a; n2--a; n3--a; n4--a; n5--b; n6--b; n7--b; n8--b; "
                                "a--b }";
    static const char wide[] = "graph { n1--a; n2--a; n3--a; n4--a; n5--a; n6--a; n7--a; n8--b; "
                               "n9--b; n10--b; n11--b; n12--b; n13--b; n14--b; a--b }";
    static const char hidden[] = "graph { n1--c; n2--c; n3--a; n4--a; n5--a; n6--a; n7--a; n8--b; "
                                 "n9--b; n10--b; n11--b; n12--b; n13--b; n14--b; c--a; a--b }";
    static const struct {
        const char *found, *reference;
        enum nt_difference_kind kind;
        double probability, confidence, expected;
    } table[] = {
        {found, "graph { n1--t; n2--t; n3--t; n4--t; n5--t; n6--t; n7--t; n8--t }",
         NT_DIFFERENCE_SWITCH_MISSING, 0.7, 0.3, 0.7}, /* found, and not expected */
        {found, "graph { n1--a; n2--a; n3--a; n5--a; n4--b; n6--b; n7--b; n8--b; a--b }",
         NT_DIFFERENCE_HOST_MOVED, 0.7, 0.3, 0.7},
        {found, "graph { n1--a; n5--a; n2--t; n3--t; n4--t; n6--t; n7--t; n8--t; a--t }",
         NT_DIFFERENCE_SWITCH_MISSING, 0.8, 0.3, 0.8}, /* what was found contradicts it */
        {wide, hidden, NT_DIFFERENCE_SWITCH_MISSING, 0.8, 0.3,
         0.3}, /* nothing does: it may have been missed */
        {wide, hidden, NT_DIFFERENCE_SWITCH_MISSING, 0.8, NAN, 1},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_map *map = read_dot(table[k].found), *r = read_dot(table[k].reference);
        struct nt_reference_match *a;
        struct nt_err err = {0};
        map->model->confidence = table[k].confidence;
        for (size_t e = 0; e < map->model->links; e++)
            if (map->model->link[e].a >= map->model->hosts)
                map->model->link[e].probability = table[k].probability;
        if (nt_reference_match_create(map, r, 0.25, &a, &err) != 0)
            fail_msg("%s", err.text);
        const struct nt_comparison *c = a->comparison;
        assert_in_range(c->differences, 1, 2);
        assert_int_equal(c->difference[0].kind, table[k].kind);
        assert_close(c->difference[0].confidence, table[k].expected, 1e-9);
        nt_reference_match_destroy(a);
        nt_map_destroy(map);
        nt_map_destroy(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_difference_is_as_sure_as_its_switch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
