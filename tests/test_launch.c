/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "launch.h"
#include "traffic_text.h"

static const char *const names[] = {"n1", "n2", "n3"};
static const uint32_t ranks[] = {2, 2, 0, 1, 0};
static const struct nt_launch_placement seating = {5, 3, ranks, names, 0};

TEST(each_launcher_gets_its_own_grammar)
{
    static const struct {
        int (*write)(const struct nt_launch_placement *, char **, size_t *, struct nt_err *);
        const char *expected;
    } table[] = {
        {nt_launch_hostfile, "n3\nn3\nn1\nn2\nn1\n"},
        {nt_launch_rankfile, "rank 0=n3 slot=0\nrank 1=n3 slot=1\nrank 2=n1 slot=0\n"
                             "rank 3=n2 slot=0\nrank 4=n1 slot=1\n"},
        {nt_launch_mpich, "2,4,3,0,1\n"},
        {nt_launch_machinefile, "n3:2\nn1:1\nn2:1\nn1:1\n"},
        {nt_launch_torchrun, "n3 0\nn1 1\nn2 2\n"},
        {nt_launch_ray, "[\n  {\"host:n3\": 1, \"CPU\": 2},\n  {\"host:n1\": 1, \"CPU\": 2},\n"
                        "  {\"host:n2\": 1, \"CPU\": 1}\n]\n"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        char *text;
        size_t bytes;
        assert_int_equal(table[k].write(&seating, &text, &bytes, &err), 0);
        assert_string_equal(text, table[k].expected);
        assert_int_equal(bytes, strlen(text));
        free(text);
    }
}

TEST(ranks_of_several_cores_have_a_range)
{
    struct nt_launch_placement two = seating;
    char *text;
    size_t bytes;
    two.cores = 2;
    must(nt_launch_rankfile(&two, &text, &bytes, &err));
    assert_string_equal(text, "rank 0=n3 slot=0-1\nrank 1=n3 slot=2-3\nrank 2=n1 slot=0-1\n"
                              "rank 3=n2 slot=0-1\nrank 4=n1 slot=2-3\n");
    free(text);
}

TEST(dlrover_is_told_the_switches)
{
    static const char *const names[] = {"a", "b", "c"};
    struct nt_model *m;
    SCOPED(map) *map;
    char *text;
    size_t bytes;
    must(nt_model_create(3, 2, 3, &m, &err));
    m->link[0] = (struct nt_link){.a = 0, .b = 3};
    m->link[1] = (struct nt_link){.a = 1, .b = 4};
    m->link[2] = (struct nt_link){.a = 3, .b = 4};
    m->tier[1] = 2;
    m->missing[2] = true;
    must(nt_map_create(m, names, &map, &err));
    must(nt_launch_dlrover(map, NULL, 0, &text, &bytes, &err));
    assert_string_equal(text, "{\n  \"a\": {\"asw\": \"s1\", \"psw\": \"s2\"},\n"
                              "  \"b\": {\"asw\": \"s2\", \"psw\": \"\"}\n}\n");
    free(text);
    must(nt_launch_dlrover(map, (const uint32_t[]){0}, 1, &text, &bytes, &err));
    assert_string_equal(text, "{\n  \"b\": {\"asw\": \"s2\", \"psw\": \"\"}\n}\n");
    free(text);
}

static int read_text(const char *text, struct nt_triples *t, struct nt_err *err)
{
    return nt_triples_read("m", text, strlen(text), t, err);
}

TEST(both_forms_of_a_matrix_say_the_same)
{
    static const char *const forms[] = {"# who with whom\n0 1 10\n1 2 5.5\r\n2 0 0\n1 1 9\n",
                                        "9,10,0\n 0 , 0, 5.5\n0,0,0"};
    for (size_t k = 0; k < 2; k++) {
        struct nt_triples t;
        assert_int_equal(read_text(forms[k], &t, &err), 0);
        assert_int_equal(t.ntasks, 3);
        assert_int_equal(t.n, 2);
        assert_int_equal(t.pair[0][0], 0);
        assert_int_equal(t.pair[0][1], 1);
        assert_above(t.bytes[0], 9.9f);
        assert_below(t.bytes[0], 10.1f);
        assert_int_equal(t.pair[1][1], 2);
        nt_triples_fini(&t);
    }
}

/* 0 to 1: 10, 0 to 2: 2e6, 1 to 0: 10, 1 to 2: 30, 2 to 1: 30.5; as rows between blanks. */
TEST(rows_need_no_commas)
{
    static const char *const forms[] = {
        "0 10 2000000\n10 0 30\n0 30.5 0\n", /* no rank is so large */
        "0\t10\t2e6\n10\t0\t30\n0\t30.5\t0\n",
        "# m\n0 10 2000000\r\n10 0 30\n 0  30.5  0 ",
        "0, 10 2000000\n10 0 , 30\n0,30.5,0\n",
    };
    struct nt_triples t;
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        if (read_text(forms[k], &t, &err) != 0)
            fail_msg("%zu: %s", k, err.text);
        assert_int_equal(t.ntasks, 3);
        assert_int_equal(t.n, 5);
        assert_true(t.bytes[1] == 2e6f && t.bytes[4] == 30.5f);
        nt_triples_fini(&t);
    }
    /* all ranks are possible, and the diagonal empty: no list says of nothing how much it is */
    assert_int_equal(read_text("0 10 20\n10 0 30\n20 30 0\n", &t, &err), 0);
    assert_int_equal(t.ntasks, 3);
    assert_int_equal(t.n, 6);
    nt_triples_fini(&t);
    assert_int_equal(read_text("0 5\n6 0\n", &t, &err), 0);
    assert_int_equal(t.ntasks, 2);
    nt_triples_fini(&t);
    assert_int_equal(read_text("9 1 2 3\n1 9 2 3\n1 2 9 3\n1 2 3 9\n", &t, &err), 0);
    assert_int_equal(t.ntasks, 4);
    nt_triples_fini(&t);
    /* lists */
    assert_int_equal(read_text("0 1 5\n1 2 6\n2 0 7\n", &t, &err), 0);
    assert_int_equal(t.n, 3);
    assert_true(t.bytes[2] == 7);
    nt_triples_fini(&t);
    assert_int_equal(read_text("0 1 10\n1 2 10\n2 3 10\n", &t, &err), 0);
    assert_int_equal(t.ntasks, 4);
    nt_triples_fini(&t);
    assert_int_equal(read_text("0 4 5\n4 0 6\n4 3 0\n3 4 1\n", &t, &err), 0);
    assert_int_equal(t.ntasks, 5);
    nt_triples_fini(&t);
}

TEST(a_bad_matrix_is_refused_with_its_line)
{
    static const struct {
        const char *text, *says;
    } table[] = {
        {"", "m: expected a communication matrix"},
        {"#\n\n", "m: expected a communication matrix"},
        {"0 1\n", "m:1: expected 2 rows, found 1"},
        {"0\n", "m:1: expected RANK RANK BYTES"},
        {"0 1 x\n", "m:1: expected bytes, found 'x'"},
        {"0 1 -3\n", "m:1: expected bytes"},
        {"0 1 nan\n", "m:1: expected bytes"},
        {"0 1 3 4\n", "m:1: expected 4 rows, found 1"},
        {"0 1 3 x\n", "m:1: expected the end of the line, found 'x'"},
        {"0 1 2\n1 0 5\n1 2 0\n", "m: three lines of three numbers can be RANK RANK BYTES or rows"},
        {"5 10 20\n10 5 30\n20 30 5\n", "m: three lines of three numbers can be RANK RANK BYTES"},
        {"0 1.5 2\n1 0\n", "m:1: expected RANK RANK BYTES"},
        {"0 1 2\n1 2 1.5\n2.5 0 0\n0 1 2\n", "m:3: expected RANK RANK BYTES"},
        {"0 1 2\n1 2 3\n2 3 4\n3.5 4 5\n", "m:4: expected RANK RANK BYTES"},
        {"0 1 3\n0 9999999 3\n", "m:2: expected RANK RANK BYTES"},
        {"1,2\n3\n", "m:2: expected 2 columns, found 1"},
        {"1,2\n3,4,5\n", "m:2: expected as many columns"},
        {"1,2\n", "m:1: expected 2 rows, found 1"},
        {"1,2\n3,4\n5,6\n", "m:3: more rows than columns"},
        {"1,,2\n", "m:1: expected bytes"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_triples t = {0};
        assert_int_equal(read_text(table[k].text, &t, &err), -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        if (strstr(err.text, table[k].says) == NULL)
            fail_msg("'%s' does not say '%s'", err.text, table[k].says);
        assert_null(t.pair);
    }
}

TEST(slurm_s_form_fills_the_hosts)
{
    uint32_t c[4];
    must(nt_tasks_per_node_read("4(x2),3,1", c, 4, &err));
    assert_true(c[0] == 4 && c[1] == 4 && c[2] == 3 && c[3] == 1);
    static const char *const bad[] = {"",       "4(x2", "4(x2),", "4(y2)",
                                      "4(x5)",  "4",    "-1(x4)", "4(x99999999999999999999)",
                                      "4(x4),1"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        assert_int_equal(nt_tasks_per_node_read(bad[k], c, 4, &err), -1);
        assert_int_equal(err.kind, NT_ERR_USAGE);
    }
}

RUN_TESTS
