/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "matrix_csv.h"
#include "number.h"
#include "rng.h"

static int read_given(const char *text, size_t bytes, size_t piece, enum nt_matrix_kind kind,
                      const struct nt_csv_given *given, struct nt_named_matrix **out,
                      struct nt_err *err)
{
    struct nt_csv_reader *r;
    assert_int_equal(nt_csv_reader_create("f", kind, &r, err), 0);
    nt_csv_reader_set_given(r, given);
    int rc = 0;
    for (size_t k = 0; k < bytes && rc == 0; k += piece)
        rc = nt_csv_reader_feed(r, text + k, bytes - k < piece ? bytes - k : piece, err);
    if (rc == 0)
        rc = nt_csv_reader_finish(r, out, err);
    nt_csv_reader_destroy(r);
    return rc;
}

static int read_in_pieces(const char *text, size_t bytes, size_t piece, enum nt_matrix_kind kind,
                          struct nt_named_matrix **out, struct nt_err *err)
{
    return read_given(text, bytes, piece, kind, &(struct nt_csv_given){0}, out, err);
}

TEST(good_texts_give_their_matrix)
{
    static const char *const table[] = {
        ",a,b,c\na,,1.5,2\nb,1.25,,3\nc,2,,0\n",                         /* plain */
        ",a,b,c\nc,2,,0\na,,1.5,2\nb,1.25,,3\n",                         /* rows in another order */
        ",a,b,c\r\na,,1.5,2\r\nb,1.25,,3\r\nc,2,,0",                     /* CR LF, no last end */
        "\xef\xbb\xbf,a,b,c\n\na,what,1.5,2\nb,1.25,-7,3\nc,2,,odd\n\n", /* diagonal, blank lines */
        " , a,b ,c\n a, ,\t1.50,2e0\nb,125e-2,,3.\nc,+2, ,0\n",          /* blanks, exponents */
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        for (size_t piece = 1; piece < 60; piece += 3) {
            SCOPED(named_matrix) *t;
            if (read_in_pieces(table[k], strlen(table[k]), piece, NT_MATRIX_LATENCY_US, &t, &err))
                fail_msg("%zu: %s", k, err.text);
            assert_int_equal(t->matrix->n, 3);
            assert_string_equal(t->host.name[2], "c");
            assert_true(nt_matrix_get(t->matrix, 0, 1) == 1.5f);
            assert_true(nt_matrix_get(t->matrix, 1, 0) == 1.25f);
            assert_true(nt_matrix_get(t->matrix, 0, 2) == 2 && nt_matrix_get(t->matrix, 2, 0) == 2);
            assert_true(nt_matrix_get(t->matrix, 1, 2) == 3);
            assert_true(isnan(nt_matrix_get(t->matrix, 2, 1)));
            for (size_t i = 0; i < 3; i++)
                assert_true(isnan(nt_matrix_get(t->matrix, i, i)));
        }
    }
}

TEST(the_rows_of_one_triangle_may_be_short)
{
    static const char *const table[] = {
        ",a,b,c\na,0\nb,1.5,0\nc,2,3,0\n",
        ",a,b,c\na\nb,1.5\nc,2,3",
        ",a,b,c\r\nc,2,3,\r\na,\r\nb,1.5,\r\n",
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        for (size_t piece = 1; piece < 40; piece += 3) {
            SCOPED(named_matrix) *t;
            if (read_in_pieces(table[k], strlen(table[k]), piece, NT_MATRIX_LATENCY_US, &t, &err))
                fail_msg("%zu: %s", k, err.text);
            assert_true(nt_matrix_get(t->matrix, 1, 0) == 1.5f);
            assert_true(nt_matrix_get(t->matrix, 2, 0) == 2 && nt_matrix_get(t->matrix, 2, 1) == 3);
            for (size_t i = 0; i < 3; i++)
                for (size_t j = i; j < 3; j++)
                    assert_true(isnan(nt_matrix_get(t->matrix, i, j)));
        }
    }
}

/* a, b, c in this order: a-b 1.5, a-c 2, b-c 3; either direction, or both. */
static void check_three(struct nt_named_matrix *t)
{
    static const char *const names[] = {"a", "b", "c"};
    static const float values[] = {1.5f, 2, 3};
    assert_int_equal(t->matrix->n, 3);
    for (size_t i = 0, pair = 0; i < 3; i++) {
        assert_string_equal(t->host.name[i], names[i]);
        assert_true(isnan(nt_matrix_get(t->matrix, i, i)));
        for (size_t j = i + 1; j < 3; j++, pair++) {
            float there = nt_matrix_get(t->matrix, i, j), back = nt_matrix_get(t->matrix, j, i);
            assert_false(isnan(there) && isnan(back));
            assert_holds(isnan(there) || there == values[pair], "%g, expected %g", there,
                         values[pair]);
            assert_holds(isnan(back) || back == values[pair], "%g, expected %g", back,
                         values[pair]);
        }
    }
    nt_named_matrix_destroy(t);
}

static void check_texts(const char *const *text, size_t n, const struct nt_csv_given *given)
{
    for (size_t k = 0; k < n; k++) {
        for (size_t piece = 1; piece < 90; piece += 3) {
            struct nt_named_matrix *t;
            if (read_given(text[k], strlen(text[k]), piece, NT_MATRIX_LATENCY_US, given, &t,
                           &err) != 0)
                fail_msg("%zu: %s", k, err.text);
            check_three(t);
        }
    }
}

TEST(programs_and_countries_write_matrices_in_their_ways)
{
    static const char *const table[] = {
        ";a;b;c\na;;1,5;2\nb;1,5;;3\nc;2;3;\n",                   /* semicolons, decimal commas */
        ";a;b;c\r\na;;1,500;2,000\r\nb;1,5;;3\r\nc;2;3;\r\n",     /* 1,5 shows what 1,500 is */
        "\ta\tb\tc\na\t\t1.5\t2\nb\t1,5\t\t3\nc\t2\t3\t\n",       /* tabs */
        "us,a,b,c\na,,1.5,2\nb,,,3\nc,,,\n",                      /* the first cell */
        "hosts,a,b,c\na,0,1.5,2\nb,1.5,0,3\nc,2,3,0\n",           /* ... as long as a host's */
        "latency, us\ta\tb\tc\na\t\t1.5\t2\nb\t\t\t3\nc\t\t\t\n", /* ... with a comma */
        "\"latency, \"\"us\"\"\",a,b,c\na,,1.5,2\nb,,,3\nc,,,\n", /* ... with quotes */
        "\"\",\"a\",\"b\",\"c\"\n\"a\",NA,1.5,2\n\"b\",1.5,NA,3\n\"c\",2,3,NA\n", /* write.csv */
        "\"a\",\"b\",\"c\"\n\"a\",NA,\"1,5\",2\n\"b\",1.5,NA,3\n\"c\",2,3,NA\n",  /* write.table */
        "\"\";\"a\";\"b\";\"c\"\n\"a\";NA;1,5;2\n\"b\";1,5;NA;3\n\"c\";2;3;NA\n", /* write.csv2 */
        "\"a\" \"b\" \"c\"\n\"a\" NaN 1.5 2\n\"b\" 1.5 NaN 3\n\"c\" 2 3 NaN\n",
        "      a    b   c\na     -  1.5   2\nb   1.5    -   3\nc     2    3   -\n", /* blanks */
        "host a b c\r\n a 0 1,5 2 \r\n\r\n b 1,5 0 3\t\r\n c 2 3 0\r\n",
        "\xef\xbb\xbf# measured\n\n  \nus;a;b;c\na;;1.5;2\n# half\nb;;;3\nc;;;\n",
        ",a,b,c,\na,,1.5,2,\nb,1.5,,3,\nc,2,3,,\n", /* a separator behind each cell */
        "us;a;b;c;\r\na;0;\r\nb;1,5;0;\r\nc;2;3;0;\r\n",
        "a,b,c\nnan,1.5,2\n1.5,nan,3\n2,3,nan\n", /* numpy's savetxt with a header */
        "a b c\nNA 1,5 2\n1,5 NA 3\n2 3 NA\n",
        "a b c\nc 2 3 0\na 0 1.5 2\nb 1.5 0 3\n", /* hosts only, rows in another order */
        "a,b,c\n# values\n\n0,1.5,2\n1.5,0,3\n2,3,0\n",
        "a\tb\tc\n \n\t1.5\t2\n1.5\t\t3\n2\t3\t\n",
    };
    check_texts(table, sizeof table / sizeof *table, &(struct nt_csv_given){0});
}

TEST(a_triangle_may_be_cut_on_either_side)
{
    static const char *const table[] = {
        ",a,b,c\na\nb,1.5\nc,2,3\n",           " a b c\na 0\nb 1.5 0\nc 2 3 0\n",
        "us;a;b;c\na;0\nb;1,5;0\nc;2;3;0\n",   ",a,b,c\na,0,1.5,2\nb,0,3\nc,0\n",
        ",a,b,c\na,1.5,2\nb,3\nc\n",           "\ta\tb\tc\nb\t3\na\t1.5\t2\nc\n",
        ",a,b,c\na,,1.5,2\nb,1.5,,3\nc,2,3\n",
    };
    check_texts(table, sizeof table / sizeof *table, &(struct nt_csv_given){0});
}

TEST(pairs_a_line_make_a_matrix)
{
    static const char *const table[] = {
        "a b 1.5\na c 2\nb c 3\n",
        "# a comment\n\na\tb\t1,5 # half\n  a   c\t2\r\nb c 3",
        "from,to,latency_us\na,b,1.5\na,c,2\nc,b,3\nb,c,3\na,a,9\n",
        "\"a\";\"b\";\"1,5\"\n\"b\";\"c\";3\na;c;2\n",
        ",a,b,us\n0,a,b,1.5\n1,a,c,2\n2,b,c,3\n",                       /* a data frame of pandas */
        "    a  b   us\n0   a  b  1.5\n1   a  c  2.0\n2   b  c  3.0\n", /* the same as text */
        "\"a\" \"b\" \"us\"\n\"1\" \"a\" \"b\" 1.5\n\"2\" \"a\" \"c\" 2\n3 b c 3\n", /* and of R */
        "7;a;b;1,5\n8;a;c;2\n9;b;c;NA\n10;c;b;3\n",
        "host host us\na b 1.5\nb c 3\nc b NA\nc a 2\n",
        "a b 1.5\n# half\na c 2\nb c 3\n",
        "\xef\xbb\xbf# all\nfrom,to,us\n\n  # half\na,b,1.5\n \t\n  # rest\na,c,2\nb,c,3\n#",
    };
    check_texts(table, sizeof table / sizeof *table, &(struct nt_csv_given){0});
}

TEST(units_are_named_or_in_the_first_cell)
{
    static const char *const nano[] = {"a b 1500\na c 2000\nb c 3000\n",
                                       ";a;b;c\na;;1500;2000\nb;;;3000\nc;;;\n",
                                       "latency [ns],a,b,c\na,,1500,2000\nb,,,3000\nc,,,\n"};
    static const char *const milli[] = {"ms a b c\na - 0.0015 0.002\nb - - 0,003\nc - - -\n",
                                        "a,b,time_ms\na,b,0.0015\na,c,0.002\nb,c,0.003\n"};
    static const char *const both[] = {"ns,a,b,c\na,,3000,4000\nb,,,6000\nc,,,\n",
                                       "RTT [ns],a,b,c\na,,3000,4000\nb,,,6000\nc,,,\n",
                                       "a,b,rtt_us\na,b,3\na,c,4\nb,c,6\n"};
    static const char *const rtt[] = {"rtt;a;b;c\na;;3;4\nb;;;6\nc;;;\n"};
    check_texts(nano, 3, &(struct nt_csv_given){.factor = 1e-3});
    check_texts(nano + 2, 1, &(struct nt_csv_given){0});
    check_texts(milli, 2, &(struct nt_csv_given){0});
    check_texts(both, 3, &(struct nt_csv_given){.round_trip = true});
    check_texts(both + 1, 2, &(struct nt_csv_given){0});
    check_texts(rtt, 1, &(struct nt_csv_given){0});
    static const char rates[] = "Gbit/s,a,b\na,,8\nb,4,\n";
    SCOPED(named_matrix) *t;
    assert_int_equal(
        read_in_pieces(rates, sizeof rates - 1, 99, NT_MATRIX_BANDWIDTH_MBPS, &t, &err), 0);
    assert_true(nt_matrix_get(t->matrix, 0, 1) == 1000 && nt_matrix_get(t->matrix, 1, 0) == 500);
}

TEST(values_alone_take_the_names_that_are_given)
{
    static const char hosts[] = "a\nb\nc\n";
    static const char *const table[] = {
        "0,1.5,2\n1.5,0,3\n2,3,0\n",
        ",1.5,2\n1.5,,3\n2,3,\n",
        ",,\n1.5,,\n2,3,\n",
        "0\n1,5;0\n2;3;0\n",
        "0\r\n\r\n1,5;0\n2;3;0\n",
        "0 1,5 2\n0 3\n0\n",
        "0,1.5,2,\n1.5,,3,\n2,3,,\n",
        ",0,1,2\n0,,1.5,2\n1,1.5,,3\n2,2,3,\n", /* numbers in place of hosts */
        "rank 1 2 3\n3 2 3 0\n1 0 1.5 2\n2 1.5 0 3\n",
    };
    struct nt_name_file names;
    must(nt_name_file_read("hosts", hosts, strlen(hosts), &names, &err));
    const struct nt_csv_given given = {.names = &names};
    check_texts(table, sizeof table / sizeof *table, &given);
    static const struct {
        const char *text, *says;
    } bad[] = {
        {",a,b\na,,1\nb,1,\n", "f:1: found names of hosts. Omit --names."},
        {"0,1\n1,0\n",
         "f:2: expected 3 values as --names has hosts, found 2, and the rows form no triangle"},
        {"0,1,2\n1,0,3\n2,3,0\n3,3,0\n", "f:4: expected 3 rows as --names has hosts, found more"},
        {"0,1,2,3\n", "f:1: expected 3 values as --names has hosts, found more"},
        {",0,1,2\n7,,1.5,2\n", "f:2: expected a host of the first row, found \"7\""},
        {"0,1,2\n1,0,x\n",
         "f:2: column 3 (c): expected a latency over 0 and up to 1e15 us, found \"x\""},
        {",0,1,2\n0,,x,2\n",
         "f:2: column 3 (b): expected a latency over 0 and up to 1e15 us, found \"x\""},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        struct nt_named_matrix *t = NULL;
        assert_int_equal(
            read_given(bad[k].text, strlen(bad[k].text), 3, NT_MATRIX_LATENCY_US, &given, &t, &err),
            -1);
        assert_string_equal(err.text, bad[k].says);
    }
    nt_name_file_fini(&names);
}

TEST(a_bad_text_is_refused_with_its_line_and_reason)
{
    static const struct {
        const char *text, *says;
    } table[] = {
        {"", "f:1: expected a row of host names, found the end of the file"},
        {"\n", "f:2: expected a row of host names, found the end of the file"},
        {"0\n0,..5\n", /* a name, where a triangle has a value */
         "f:1: expected a row of host names with commas, semicolons, tabs or spaces between them, "
         "or HOST HOST VALUE, found \"0\""},
        {"a,b\n", "f:2: expected a row for a, found the end of the file"},
        {",a,a\n", "f:1: expected each host once, found a again"},
        {",a,,b\n", "f:1: expected a host name, found nothing"},
        {",a,b c\n", "f:1: host name \"b c\": expected only letters, digits, '.', '-' and '_'"},
        {",a,b\n", "f:2: expected a row for a, found the end of the file"},
        {",a,b\nb,1,\n", "f:3: expected a row for a, found the end of the file"},
        {",a,b\nc,1,\n", "f:2: expected a host of the first row, found \"c\""},
        {",a,b\n,1,\n", "f:2: expected a host of the first row, found \"\""},
        {",a,b\na,,1\na,,1\n", "f:3: expected one row for each host, found a again"},
        {",a,b\na,,1\nb,1\n", "f:4: expected 2 values in each row: the rows may form a triangle, "
                              "or cells may be missing"},
        {",a,b,c\na,,1,2\nb,,x\nc,\n", "f:3: expected values in all cells of a triangle"},
        {",a,b\na\n", "f:3: expected a row for b, found the end of the file"},
        {",a,b\na\nb\n",
         "f:3: expected 2 values as in the first row, found 0, and the rows form no triangle"},
        {",a,b,c\na,0\nb,1,0\nc,2\n",
         "f:4: expected 3 values as in the first row, found 1, and the rows form no triangle"},
        {",a,b,c\na,0\nb,1,0,4\n",
         "f:3: expected 3 values as in the first row, found 3, and the rows form no triangle"},
        {",a,b\na,,1,2\n", "f:2: expected 2 values as in the first row, found more"},
        {",a,b,c\na,0,1,2\nb,1,0,0\nc,2,3,0\n", "f:3: the latency from b to c is 0. Leave out the "
                                                "values of pairs that were not measured."},
        {",a,b,c\nc,0,3,0\na,0,1,2\nb,1,0,4\n", "f:2: the latency from c to a is 0. Leave out the "
                                                "values of pairs that were not measured."},
        {",a,b,c\na,0,1,0\nb,0,2\nc,0\n", "f:2: the latency from a to c is 0. Leave out the values "
                                          "of pairs that were not measured."},
        {"a b 1\na c 0\nb c 1\n", "f:2: the latency from a to c is 0. Leave out the values of "
                                  "pairs that were not measured."},
        {",a,b\na,,x\n",
         "f:2: column 3 (b): expected a latency over 0 and up to 1e15 us, found \"x\""},
        {",a,b\na,,1 2\n",
         "f:2: column 3 (b): expected a latency over 0 and up to 1e15 us, found \"1 2\""},
        {",a,b\na,,-1\n",
         "f:2: column 3 (b): expected a latency over 0 and up to 1e15 us, found \"-1\""},
        {",a,b\na,,inf\n",
         "f:2: column 3 (b): expected a latency over 0 and up to 1e15 us, found \"inf\""},
        {",a,b\na,,1e400\n",
         "f:2: column 3 (b): expected a latency over 0 and up to 1e15 us, found \"1e400\""},
        {",a,b\na,,0x10\n",
         "f:2: column 3 (b): expected a latency over 0 and up to 1e15 us, found \"0x10\""},
        {",a,b\na,,1,5\n", "f:2: expected 2 values as in the first row, found more"},
        {";a;b\na;;1,234\nb;2;\n", "f:2: a number such as 1,234 can mean 1.234 or 1234. Use a "
                                   "decimal point, and no comma between thousands."},
        {";a;b\na;;1.234,5\n",
         "f:2: column 3 (b): expected a latency over 0 and up to 1e15 us, found \"1.234,5\""},
        {",1,2\n1,,3\n2,3,\n", "f:1: expected names of hosts in the first row, found values. Pass "
                               "a file of names, one per line, with --names."},
        {"0 1.5\n1.5 0\n", "f:1: expected names of hosts in the first row, found values. Pass a "
                           "file of names, one per line, with --names."},
        {"ms,b,rtt_us\na,b,1\n",
         "f:1: found \"rtt_us\", which differs from --unit or from the unit of another title"},
        {"MB/s,a,b\n", "f:1: expected latencies, found the unit of bandwidths in \"MB/s\""},
        {"\"us,a,b\na,,1\n",
         "f:1: expected a row of host names with commas, semicolons, tabs or spaces between them, "
         "or HOST HOST VALUE, found \"\"us,a,b\""},
        {",a,b\n\"a,,1\nb,1,\n", "f:2: expected closed quotes around a cell"},
        {",a,b\n\"a\"x,,1\nb,1,\n", "f:2: column 1: expected closed quotes around a cell"},
        {"\xff\xfe,a", "f:1: expected UTF-8, found UTF-16: save it as UTF-8"},
        {"a b 1\na b 2\n", "f:2: expected each pair once, found a b again"},
        {"a b 1\na b\n", "f:2: expected HOST HOST VALUE, found 2 cells"},
        {"a b 1\na b 2 3\n", "f:2: expected HOST HOST VALUE, found more"},
        {",a,b,us\n0,a,b\n", "f:2: expected a host of the first row, found \"0\""},
        {"1 a b 1\n2 a b\n", "f:2: expected HOST HOST VALUE, found 3 cells"},
        {"a,b\n0,1\n1,0\n1,0\n", "f:4: expected 2 rows as in the first row, found more"},
        {"a,b\n0,1\nx,0\n",
         "f:3: column 1 (a): expected a latency over 0 and up to 1e15 us, found \"x\""},
        {"a,b\n0,1\n1,\"0\"x\n", "f:3: column 2: expected closed quotes around a cell"},
        {"a,b\n0,1\n\"1\"x,0\n", "f:3: column 1: expected closed quotes around a cell"},
        {"a b 1\n\n# half\na b 2\n", "f:4: expected each pair once, found a b again"},
        {"a,b,c\n0,1,2\n1,0,3\n", "f:4: expected a row for c, found the end of the file"},
        {"a b 1\na c x\n",
         "f:2: column 3: expected a latency over 0 and up to 1e15 us, found \"x\""},
        {"# none\n ", "f:2: expected host names, found none"},
        {"host n1 s1 0.5 100\n",
         "f:1: expected a row of host names with commas, semicolons, tabs or spaces between them, "
         "or HOST HOST VALUE, found \"host n1 s1 0.5 100\""},
        {"from;to;us\n", "f:2: expected a row for from, found the end of the file"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        for (size_t piece = 1; piece < 30; piece += 7) {
            struct nt_named_matrix *t = NULL;
            assert_int_equal(read_in_pieces(table[k].text, strlen(table[k].text), piece,
                                            NT_MATRIX_LATENCY_US, &t, &err),
                             -1);
            assert_int_equal(err.kind, NT_ERR_INPUT);
            assert_string_equal(err.text, table[k].says);
            assert_null(t);
        }
    }
}

TEST(a_bandwidth_is_more_than_nothing)
{
    static const char text[] = ",a,b\na,,0\nb,1,\n";
    struct nt_named_matrix *t = NULL;
    assert_int_equal(read_in_pieces(text, sizeof text - 1, 99, NT_MATRIX_BANDWIDTH_MBPS, &t, &err),
                     -1);
    assert_string_equal(
        err.text,
        "f:2: column 3 (b): expected a bandwidth over 0 and up to 1e15 MB/s, found \"0\"");
}

static size_t fed_before_failing(const char *piece, size_t bytes, struct nt_err *err)
{
    struct nt_csv_reader *r;
    size_t fed = 0;
    assert_int_equal(nt_csv_reader_create("f", NT_MATRIX_LATENCY_US, &r, err), 0);
    while (fed < 1u << 30 && nt_csv_reader_feed(r, piece, bytes, err) == 0)
        fed += bytes;
    nt_csv_reader_destroy(r);
    return fed;
}

TEST(an_endless_line_fails_early)
{
    char piece[4096];
    memset(piece, 'x', sizeof piece);
    assert_int_equal(fed_before_failing(piece, sizeof piece, &err), 0);
    assert_non_null(strstr(err.text, "f:1: expected a row of host names"));
    memset(piece, ',', sizeof piece);
    assert_int_equal(fed_before_failing(piece, sizeof piece, &err), 0);
    assert_non_null(strstr(err.text, "f:1: expected names of hosts in the first row"));
    memset(piece, 'x', sizeof piece);
    memcpy(piece, ",a,b\na,", 8);
    assert_int_equal(fed_before_failing(piece, sizeof piece, &err), 0);
    assert_string_equal(err.text, "f:2: expected at most 255 bytes in a cell, found more");
}

static struct nt_matrix *random_matrix(struct nt_rng *rng, size_t n)
{
    struct nt_matrix *m;
    must(nt_matrix_create(n, NT_MATRIX_LATENCY_US, &m, &err));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (i != j && nt_rng_below(rng, 5) != 0)
                nt_matrix_set(m, i, j, (float)exp(40 * nt_rng_uniform(rng) - 20));
    return m;
}

TEST(what_is_written_reads_back_equal)
{
    struct nt_rng rng;
    nt_rng_init(&rng, 3);
    for (size_t n = 1; n < 60; n++) {
        char name[60][16];
        const char *names[60];
        for (size_t k = 0; k < n; k++) {
            snprintf(name[k], sizeof name[k], "h%u", (unsigned)(n - k));
            names[k] = name[k];
        }
        SCOPED(matrix) *m = random_matrix(&rng, n);
        SCOPED(named_matrix) *t;
        char *text, *again;
        size_t bytes;
        must(nt_matrix_csv_write(m, names, &text, &bytes, &err));
        must(read_in_pieces(text, bytes, 777, NT_MATRIX_LATENCY_US, &t, &err));
        for (size_t k = 0; k < n * n; k++)
            assert_true(m->at[k] == t->matrix->at[k] ||
                        (isnan(m->at[k]) && isnan(t->matrix->at[k])));
        must(nt_matrix_csv_write(t->matrix, names, &again, NULL, &err));
        assert_string_equal(text, again);
        free(text);
        free(again);
    }
}

TEST(rows_may_come_in_any_order)
{
    enum { N = 40 };
    struct nt_rng rng;
    nt_rng_init(&rng, 8);
    for (int turn = 0; turn < 50; turn++) {
        char text[32 * 1024];
        uint32_t order[N];
        size_t used = 0;
        for (uint32_t k = 0; k < N; k++) {
            order[k] = k;
            used += (size_t)snprintf(text + used, sizeof text - used, ",h%u", k);
        }
        nt_rng_shuffle(&rng, order, N);
        for (size_t r = 0; r < N; r++) {
            used += (size_t)snprintf(text + used, sizeof text - used, "\nh%u", order[r]);
            for (uint32_t j = 0; j < N; j++)
                used +=
                    (size_t)snprintf(text + used, sizeof text - used, ",%u", order[r] * 100 + j);
        }
        SCOPED(named_matrix) *t;
        assert_int_equal(read_in_pieces(text, used, 999, NT_MATRIX_LATENCY_US, &t, &err), 0);
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < N; j++)
                assert_holds(i == j || nt_matrix_get(t->matrix, i, j) == (float)(i * 100 + j),
                             "%zu, %zu: %g", i, j, nt_matrix_get(t->matrix, i, j));
    }
}

TEST(arranging_follows_names)
{
    static const char text[] = ",a,b\na,,1\nb,2,\n";
    static const char *const order[] = {"b", "x", "a"};
    struct nt_names names = {0};
    uint32_t index;
    SCOPED(named_matrix) *t;
    SCOPED(matrix) *m;
    assert_int_equal(read_in_pieces(text, sizeof text - 1, 99, NT_MATRIX_LATENCY_US, &t, &err), 0);
    for (size_t k = 0; k < 2; k++)
        must(nt_names_add(&names, order[k], &index, &err));
    assert_int_equal(nt_matrix_arrange(t->matrix, &t->host, &names, &m, &err), -1);
    assert_string_equal(err.text, "host a: expected in both matrices");
    must(nt_names_add(&names, order[2], &index, &err));
    must(nt_matrix_arrange(t->matrix, &t->host, &names, &m, &err));
    assert_true(nt_matrix_get(m, 0, 2) == 2 && nt_matrix_get(m, 2, 0) == 1);
    assert_true(isnan(nt_matrix_get(m, 0, 1)));
    nt_names_fini(&names);
}

/* Against strtod: every decimal is read to the nearest double. */
TEST(numbers_are_read_as_strtod_does)
{
    struct nt_rng rng;
    nt_rng_init(&rng, 11);
    for (int turn = 0; turn < 200000; turn++) {
        char text[64];
        double read;
        int digits = 1 + (int)nt_rng_below(&rng, 20);
        double value = exp(60 * nt_rng_uniform(&rng) - 30);
        if (nt_rng_below(&rng, 2) == 0)
            snprintf(text, sizeof text, "%.*g", digits, value);
        else
            snprintf(text, sizeof text, "%.*f", digits % 12, value);
        const char *end = text + strlen(text);
        assert_ptr_equal(nt_number_read(text, end, &read), end);
        assert_true(read == strtod(text, NULL));
    }
    static const char *const none[] = {"", "-", ".", "-.", "e5", "x", " 1", "+", "1e999", "inf"};
    for (size_t k = 0; k < sizeof none / sizeof *none; k++) {
        double read;
        assert_null(nt_number_read(none[k], none[k] + strlen(none[k]), &read));
    }
}

RUN_TESTS
