/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "hostlist.h"
#include "map.h"
#include "matrix.h"

struct seen {
    size_t names;
    char text[512];
};

static int note(void *context, const char *name, struct nt_err *err)
{
    struct seen *s = context;
    (void)err;
    size_t used = strlen(s->text);
    if (used + strlen(name) + 2 < sizeof s->text) {
        memcpy(s->text + used, name, strlen(name) + 1);
        memcpy(s->text + strlen(s->text), " ", 2);
    }
    s->names++;
    return 0;
}

static int stop(void *context, const char *name, struct nt_err *err)
{
    (void)context;
    return nt_err_set(err, NT_ERR_NO, "seen %s", name);
}

TEST(lists_are_expanded)
{
    static const struct {
        const char *list, *names;
    } table[] = {
        {"n1", "n1 "},
        {"n1,m2", "n1 m2 "},
        {"n[1-3,7],m2", "n1 n2 n3 n7 m2 "},
        {"n[08-11]", "n08 n09 n10 n11 "},
        {"n[8-11]", "n8 n9 n10 n11 "},
        {"n[001,1]", "n001 n1 "},
        {"r[0-1]n[1-2]-ib", "r0n1-ib r0n2-ib r1n1-ib r1n2-ib "},
        {"[1-2]", "1 2 "},
        {"a[5]b", "a5b "},
        {"n[999999999999999999]", "n999999999999999999 "},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct seen s = {0};
        must(nt_hostlist_visit(table[k].list, strlen(table[k].list), note, &s, &err));
        assert_string_equal(s.text, table[k].names);
    }
}

TEST(wrong_lists_are_refused)
{
    static const struct {
        const char *list, *says;
    } table[] = {
        {"", "expected a name"},
        {",n1", "expected a name"},
        {"n1,", "expected a name"},
        {"n1,,n2", "expected a name"},
        {"n[1-3", "not closed"},
        {"n1-3]", "not opened"},
        {"n[[1]]", "not closed"},
        {"n[]", "empty"},
        {"n[3-1]", "numbers and ranges"},
        {"n[1-]", "numbers and ranges"},
        {"n[1,]", "numbers and ranges"},
        {"n[a-b]", "numbers and ranges"},
        {"n[1-1000000000]", "more than 131072 hosts"},
        {"n[1-100000],m[1-100000]", "more than 131072 hosts"},
        {"n[1-131072],m", "more than 131072 hosts"},
        {"n[1-1000]x[1-1000]", "more than 131072 hosts"},
        {"n[1-1000000000000]x[1-1000000000000]", "more than 131072 hosts"},
        {"n[9999999999999999999]", "numbers and ranges"},
        {"n[1]x[1]x[1]x[1]x[1]x[1]x[1]x[1]x[1]", "more than eight"},
        {"n;1", "n;1"},
        {"n 1", "n 1"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct seen s = {0};
        assert_int_equal(nt_hostlist_visit(table[k].list, strlen(table[k].list), note, &s, &err),
                         -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        if (strstr(err.text, table[k].says) == NULL)
            fail_msg("%s: %s", table[k].list, err.text);
        assert_at_most(s.names, NT_HOSTS_MAX);
    }
}

TEST(the_bound_itself_is_allowed)
{
    struct seen s = {0};
    const char *list = "n[1-131071],m1";
    must(nt_hostlist_visit(list, strlen(list), note, &s, &err));
    assert_int_equal(s.names, NT_HOSTS_MAX);
}

TEST(a_visitor_ends_the_visit)
{
    assert_int_equal(nt_hostlist_visit("n[5-9]", 6, stop, NULL, &err), -1);
    assert_string_equal(err.text, "seen n5");
}

TEST(names_fold_as_slurm_writes_them)
{
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
        char *text;
        size_t n = 0;
        while (n < 8 && table[k].name[n] != NULL)
            n++;
        nt_hostlist_format(&d, table[k].name, n);
        must(nt_strbuf_finish(&d, &text, NULL, &err));
        assert_string_equal(text, table[k].folded);
        free(text);
    }
}

TEST(names_sort_naturally)
{
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

RUN_TESTS
