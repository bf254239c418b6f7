/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fabric/shape.h"

static int shape(const char *text, int rail, char *out, struct nt_err *err)
{
    struct nt_fab *fab = calloc(1, sizeof *fab);
    assert_int_equal(nt_fab_parse("f", text, strlen(text), fab, err), 0);
    int status = nt_fab_shape("f", fab, rail, out, err);
    free(fab);
    return status;
}

static void a_tree_has_one_text(void **state)
{
    (void)state;
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
        struct nt_err err = {0};
        if (shape(table[k].text, 0, text, &err) != 0)
            fail_msg("%s", err.text);
        assert_string_equal(text, table[k].shape);
    }
}

static void each_rail_has_its_own(void **state)
{
    (void)state;
    const char *two = "host a s 1 1\nhost b s 1 1\nhost c t 1 1\nhost d t 1 1\nlink s t 1 1\n"
                      "host a u 1 1\nhost b u 1 1\nhost c u 1 1\n";
    char text[NT_FAB_SHAPE_BYTES];
    struct nt_err err = {0};
    assert_int_equal(shape(two, 0, text, &err), 0);
    assert_string_equal(text, "[[a b] [c d]]");
    assert_int_equal(shape(two, 1, text, &err), 0);
    assert_string_equal(text, "[a b c]");
}

static void what_is_no_tree_is_refused(void **state)
{
    (void)state;
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
        struct nt_err err = {0};
        assert_int_equal(shape(table[k].text, 0, text, &err), -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        assert_non_null(strstr(err.text, table[k].says));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_has_one_text),
        cmocka_unit_test(each_rail_has_its_own),
        cmocka_unit_test(what_is_no_tree_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
