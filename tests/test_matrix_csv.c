/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "matrix_csv.h"
#include "number.h"
#include "rng.h"

static int read_in_pieces(const char *text, size_t bytes, size_t piece, enum nt_matrix_kind kind,
                          struct nt_named_matrix **out, struct nt_err *err)
{
    struct nt_csv_reader *r;
    assert_int_equal(nt_csv_reader_create("f", kind, &r, err), 0);
    int rc = 0;
    for (size_t k = 0; k < bytes && rc == 0; k += piece)
        rc = nt_csv_reader_feed(r, text + k, bytes - k < piece ? bytes - k : piece, err);
    if (rc == 0)
        rc = nt_csv_reader_finish(r, out, err);
    nt_csv_reader_destroy(r);
    return rc;
}

TEST(good_texts_give_their_matrix)
{
    static const char *const table[] = {
        ",a,b,c\na,,1.5,2\nb,1.25,,3\nc,2,,0\n",                         /* plain */
        ",a,b,c\nc,2,,0\na,,1.5,2\nb,1.25,,3\n",                         /* rows in another order */
        ",a,b,c\r\na,,1.5,2\r\nb,1.25,,3\r\nc,2,,0",                     /* CR LF, no last end */
        "\xef\xbb\xbf,a,b,c\n\na,what,1.5,2\nb,1.25,-7,3\nc,2,,nan\n\n", /* diagonal, blank lines */
        " , a,b ,c\n a, ,\t1.50,2e0\nb,125e-2,,3.\nc,+2, ,0\n",          /* blanks, exponents */
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        for (size_t piece = 1; piece < 60; piece += 3) {
            struct nt_named_matrix *t;
            struct nt_err err = {0};
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
            nt_named_matrix_destroy(t);
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
            struct nt_named_matrix *t;
            struct nt_err err = {0};
            if (read_in_pieces(table[k], strlen(table[k]), piece, NT_MATRIX_LATENCY_US, &t, &err))
                fail_msg("%zu: %s", k, err.text);
            assert_true(nt_matrix_get(t->matrix, 1, 0) == 1.5f);
            assert_true(nt_matrix_get(t->matrix, 2, 0) == 2 && nt_matrix_get(t->matrix, 2, 1) == 3);
            for (size_t i = 0; i < 3; i++)
                for (size_t j = i; j < 3; j++)
                    assert_true(isnan(nt_matrix_get(t->matrix, i, j)));
            nt_named_matrix_destroy(t);
        }
    }
}

TEST(a_bad_text_is_refused_with_its_line_and_reason)
{
    static const struct {
        const char *text, *says;
    } table[] = {
        {"", "f:1: expected a row of host names, found the end of the file"},
        {"\n", "f:1: expected host names, found none"},
        {"a,b\n", "f:1: expected an empty cell first, found \"a\""},
        {",a,a\n", "f:1: expected each host once, found a again"},
        {",a,\n", "f:1: expected a host name, found nothing"},
        {",a,b c\n", "f:1: host name \"b c\": expected only letters, digits, '.', '-' and '_'"},
        {",a,b\n", "f:2: expected a row for a, found the end of the file"},
        {",a,b\nb,1,\n", "f:3: expected a row for a, found the end of the file"},
        {",a,b\nc,1,\n", "f:2: expected a host of the first row, found \"c\""},
        {",a,b\n,1,\n", "f:2: expected a host of the first row, found \"\""},
        {",a,b\na,,1\na,,1\n", "f:3: expected one row for each host, found a again"},
        {",a,b\na,,1\nb,1\n", "f:3: expected 2 values as in the first row, found 1"},
        {",a,b\na,,1\nb,1", "f:3: expected 2 values as in the first row, found 1"},
        {",a,b\na\n", "f:3: expected a row for b, found the end of the file"},
        {",a,b\na\nb\n", "f:3: expected 2 values as in the first row, found 0"},
        {",a,b,c\na,0\nb,1,0\nc,2\n", "f:4: expected 3 values as in the first row, found 1"},
        {",a,b,c\na,0\nb,1,0,4\n", "f:3: expected 3 values as in the first row, found 3"},
        {",a,b\na,,1,2\n", "f:2: expected 2 values as in the first row, found more"},
        {",a,b\na,,x\n", "f:2: column 3 (b): expected a latency from 0 to 1e15 us, found \"x\""},
        {",a,b\na,,1 2\n",
         "f:2: column 3 (b): expected a latency from 0 to 1e15 us, found \"1 2\""},
        {",a,b\na,,-1\n", "f:2: column 3 (b): expected a latency from 0 to 1e15 us, found \"-1\""},
        {",a,b\na,,nan\n",
         "f:2: column 3 (b): expected a latency from 0 to 1e15 us, found \"nan\""},
        {",a,b\na,,inf\n",
         "f:2: column 3 (b): expected a latency from 0 to 1e15 us, found \"inf\""},
        {",a,b\na,,1e400\n",
         "f:2: column 3 (b): expected a latency from 0 to 1e15 us, found \"1e400\""},
        {",a,b\na,,0x10\n",
         "f:2: column 3 (b): expected a latency from 0 to 1e15 us, found \"0x10\""},
        {",a,b\na,,1,5\n", "f:2: expected 2 values as in the first row, found more"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        for (size_t piece = 1; piece < 30; piece += 7) {
            struct nt_named_matrix *t = NULL;
            struct nt_err err = {0};
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
    struct nt_err err = {0};
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
    struct nt_err err = {0};
    memset(piece, 'x', sizeof piece);
    assert_int_equal(fed_before_failing(piece, sizeof piece, &err), 0);
    assert_string_equal(err.text, "f:1: expected at most 255 bytes in a cell, found more");
    memset(piece, ',', sizeof piece);
    assert_int_equal(fed_before_failing(piece, sizeof piece, &err), 0);
    assert_string_equal(err.text, "f:1: expected a host name, found nothing");
}

static struct nt_matrix *random_matrix(struct nt_rng *rng, size_t n)
{
    struct nt_matrix *m;
    struct nt_err err = {0};
    assert_int_equal(nt_matrix_create(n, NT_MATRIX_LATENCY_US, &m, &err), 0);
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
        struct nt_matrix *m = random_matrix(&rng, n);
        struct nt_named_matrix *t;
        struct nt_err err = {0};
        char *text, *again;
        size_t bytes;
        assert_int_equal(nt_matrix_csv_write(m, names, &text, &bytes, &err), 0);
        if (read_in_pieces(text, bytes, 777, NT_MATRIX_LATENCY_US, &t, &err) != 0)
            fail_msg("%s", err.text);
        for (size_t k = 0; k < n * n; k++)
            assert_true(m->at[k] == t->matrix->at[k] ||
                        (isnan(m->at[k]) && isnan(t->matrix->at[k])));
        assert_int_equal(nt_matrix_csv_write(t->matrix, names, &again, NULL, &err), 0);
        assert_string_equal(text, again);
        free(text);
        free(again);
        nt_named_matrix_destroy(t);
        nt_matrix_destroy(m);
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
        struct nt_named_matrix *t;
        struct nt_err err = {0};
        assert_int_equal(read_in_pieces(text, used, 999, NT_MATRIX_LATENCY_US, &t, &err), 0);
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < N; j++)
                assert_true(i == j || nt_matrix_get(t->matrix, i, j) == (float)(i * 100 + j));
        nt_named_matrix_destroy(t);
    }
}

TEST(arranging_follows_names)
{
    static const char text[] = ",a,b\na,,1\nb,2,\n";
    static const char *const order[] = {"b", "x", "a"};
    struct nt_names names = {0};
    uint32_t index;
    struct nt_named_matrix *t;
    struct nt_matrix *m;
    struct nt_err err = {0};
    assert_int_equal(read_in_pieces(text, sizeof text - 1, 99, NT_MATRIX_LATENCY_US, &t, &err), 0);
    for (size_t k = 0; k < 2; k++)
        assert_int_equal(nt_names_add(&names, order[k], &index, &err), 0);
    assert_int_equal(nt_matrix_arrange(t->matrix, &t->host, &names, &m, &err), -1);
    assert_string_equal(err.text, "host a: expected in both matrices");
    assert_int_equal(nt_names_add(&names, order[2], &index, &err), 0);
    assert_int_equal(nt_matrix_arrange(t->matrix, &t->host, &names, &m, &err), 0);
    assert_true(nt_matrix_get(m, 0, 2) == 2 && nt_matrix_get(m, 2, 0) == 1);
    assert_true(isnan(nt_matrix_get(m, 0, 1)));
    nt_matrix_destroy(m);
    nt_names_fini(&names);
    nt_named_matrix_destroy(t);
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
