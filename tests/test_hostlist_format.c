/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hostlist_format.h"
#include "map.h"

static void names_fold_as_slurm_writes_them(void **state)
{
    (void)state;
    static const struct {
        const char *name[8];
        const char *folded;
    } table[] = {
        {{"n1"}, "n1"},
        {{"n1", "n2", "n3"}, "n[1-3]"},
        {{"n1", "n3", "n4"}, "n[1,3-4]"},
        {{"n9", "n10", "n11"}, "n[9-11]"},
        {{"n09", "n10", "n11"}, "n[09-11]"},
        {{"n09", "n10", "n100"}, "n[09-10,100]"},
        {{"n01", "n2"}, "n[01,2]"},
        {{"n2", "n1"}, "n[2,1]"},
        {{"a1", "a2", "b1", "login", "x-1", "x-2"}, "a[1-2],b1,login,x-[1-2]"},
        {{"n999999999999", "n1000000000000"}, "n999999999999,n1000000000000"},
        {{"r1n1", "r1n2", "r2n1"}, "r1n[1-2],r2n1"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_strbuf d = {0};
        struct nt_err err = {0};
        char *text;
        size_t n = 0;
        while (n < 8 && table[k].name[n] != NULL)
            n++;
        nt_hostlist_format(&d, table[k].name, n);
        assert_int_equal(nt_strbuf_finish(&d, &text, NULL, &err), 0);
        assert_string_equal(text, table[k].folded);
        free(text);
    }
}

static void names_sort_naturally(void **state)
{
    (void)state;
    static const char *const sorted[] = {"",     "a",   "a1",   "a2",   "a10",   "a010x",
                                         "a10y", "a11", "b",    "n01",  "n1",    "n1a",
                                         "n01b", "n2",  "n9-1", "n9-2", "n9-10", "n10-1"};
    for (size_t i = 0; i < sizeof sorted / sizeof *sorted; i++)
        for (size_t j = 0; j < sizeof sorted / sizeof *sorted; j++) {
            int order = nt_name_compare(sorted[i], sorted[j]);
            if ((i < j && order >= 0) || (i > j && order <= 0) || (i == j && order != 0))
                fail_msg("%s against %s gives %d", sorted[i], sorted[j], order);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_fold_as_slurm_writes_them),
        cmocka_unit_test(names_sort_naturally),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
