/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices from other programs' outputs: samples in tests/data/import, and what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "import.h"

static char *load(const char *name, size_t *bytes)
{
    char path[256], *text = malloc(65536);
    snprintf(path, sizeof path, "tests/data/import/%s", name);
    FILE *file = fopen(path, "r");
    if (file == NULL || text == NULL)
        fail_msg("%s: cannot be read (run from the top of the repository)", path);
    *bytes = fread(text, 1, 65536, file);
    fclose(file);
    return text;
}

/* Exactly as long as it is, so that reading one byte more is seen by the sanitizer. */
static char *exact(const char *text, size_t bytes)
{
    char *copy = malloc(bytes == 0 ? 1 : bytes);
    assert_non_null(copy);
    if (bytes > 0)
        memcpy(copy, text, bytes);
    return copy;
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-5 * fabs(b);
}

typedef int import_matrix(const char *file, const char *text, size_t bytes,
                          struct nt_named_matrix **out, struct nt_err *err);

static int osu_latency(const char *file, const char *text, size_t bytes,
                       struct nt_named_matrix **out, struct nt_err *err)
{
    return nt_import_osu(file, text, bytes, NT_MATRIX_LATENCY_US, out, err);
}

static int osu_bandwidth(const char *file, const char *text, size_t bytes,
                         struct nt_named_matrix **out, struct nt_err *err)
{
    return nt_import_osu(file, text, bytes, NT_MATRIX_BANDWIDTH_MBPS, out, err);
}

static struct nt_named_matrix *import(import_matrix *reader, const char *name)
{
    size_t bytes;
    char *text = load(name, &bytes);
    struct nt_named_matrix *m = NULL;
    struct nt_err err = {0};
    if (reader(name, text, bytes, &m, &err) != 0)
        fail_msg("%s", err.text);
    free(text);
    return m;
}

static void mpigraph_gives_what_arrived(void **state)
{
    (void)state;
    struct nt_named_matrix *m = import(nt_import_mpigraph, "mpigraph.txt");
    assert_int_equal(m->matrix->n, 4);
    assert_string_equal(m->host.name[3], "n4");
    assert_int_equal(m->matrix->kind, NT_MATRIX_BANDWIDTH_MBPS);
    /* row n2 of "Recv", column n1: what went from n1 to n2, 10900.1 * 2^20 bytes/s */
    assert_true(near(nt_matrix_get(m->matrix, 0, 1), 10900.1 * 1.048576));
    assert_true(near(nt_matrix_get(m->matrix, 3, 0), 5403.0 * 1.048576));
    for (size_t k = 0; k < 4; k++)
        assert_true(isnan(nt_matrix_get(m->matrix, k, k)));
    assert_true(m->message_bytes == 1048576);
    nt_named_matrix_destroy(m);
}

static void mpigraph_without_recv_gives_what_was_sent(void **state)
{
    (void)state;
    size_t bytes;
    char *text = load("mpigraph.txt", &bytes);
    struct nt_named_matrix *m = NULL;
    struct nt_err err = {0};
    char *recv = strstr(text, "Recv max");
    assert_int_equal(nt_import_mpigraph("m", text, (size_t)(recv - text), &m, &err), 0);
    assert_true(near(nt_matrix_get(m->matrix, 0, 1), 11000.1 * 1.048576));
    nt_named_matrix_destroy(m);
    free(text);
}

static void osu_gives_the_smallest_message_and_the_largest_rate(void **state)
{
    (void)state;
    struct nt_named_matrix *m = import(osu_latency, "osu.txt");
    assert_int_equal(m->matrix->n, 3);
    assert_string_equal(m->host.name[2], "n3");
    assert_true(near(nt_matrix_get(m->matrix, 0, 1), 1.21));
    assert_true(near(nt_matrix_get(m->matrix, 0, 2), 1.83));
    assert_true(near(nt_matrix_get(m->matrix, 2, 0), 1.79));
    assert_true(isnan(nt_matrix_get(m->matrix, 1, 0)));
    nt_named_matrix_destroy(m);
    m = import(osu_bandwidth, "osu.txt");
    assert_true(near(nt_matrix_get(m->matrix, 0, 1), 11650.12 - 121));
    assert_true(m->message_bytes == 4194304);
    nt_named_matrix_destroy(m);
}

static void osu_keeps_the_better_of_two(void **state)
{
    (void)state;
    static const char text[] = "# hosts a b\n# OSU MPI Latency Test v7.1\n8 3.5\n"
                               "# hosts a b\n# OSU MPI-CUDA Multi Latency Test v7.1\n"
                               "mpirun: a word of the launcher\n8 2.5 4.5 7\n16 1\n"
                               "# hosts a b\n# OSU MPI Latency Test v7.1\n8 4.5\n";
    struct nt_named_matrix *m = NULL;
    struct nt_err err = {0};
    assert_int_equal(osu_latency("osu", text, sizeof text - 1, &m, &err), 0);
    assert_true(near(nt_matrix_get(m->matrix, 0, 1), 2.5));
    nt_named_matrix_destroy(m);
}

static void parus_gives_a_matrix_a_size(void **state)
{
    (void)state;
    struct nt_named_matrix *s = import(nt_import_parus, "parus.txt");
    assert_int_equal(s->matrix->n, 4);
    assert_int_equal(s->larger_sizes, 1);
    assert_string_equal(s->host.name[0], "node-1-0"); /* two processes on node-1 */
    assert_string_equal(s->host.name[1], "node-1-1");
    assert_string_equal(s->host.name[2], "node-2");
    assert_true(s->message_bytes == 0);
    assert_true(near(nt_matrix_get(s->matrix, 0, 1), 0.5));
    assert_true(near(nt_matrix_get(s->matrix, 0, 3), 2.0));
    assert_true(near(nt_matrix_get(s->matrix, 3, 0), 2.1));
    assert_true(near(nt_matrix_get(s->larger[0], 0, 1), 0.6));
    assert_true(isnan(nt_matrix_get(s->larger[0], 2, 2)));
    nt_named_matrix_destroy(s);
}

static void parus_takes_decimal_commas(void **state)
{
    (void)state;
    static const char text[] = "processors 2\nhosts:\na\nb\nMessage length 4\r\n0,0 1,5e-6\n"
                               "2,5e-6 0,0\n";
    struct nt_named_matrix *s = NULL;
    struct nt_err err = {0};
    assert_int_equal(nt_import_parus("p", text, sizeof text - 1, &s, &err), 0);
    assert_true(near(nt_matrix_get(s->matrix, 0, 1), 1.5));
    nt_named_matrix_destroy(s);
}

#define OSU "# OSU MPI Latency Test v5\n"
#define PARUS "processors 2\nhosts:\na\nb\n"

static void wrong_texts_name_their_line(void **state)
{
    (void)state;
    static const struct {
        import_matrix *reader;
        const char *text, *says;
    } table[] = {
        {nt_import_mpigraph, "", "f:1: no table"},
        {nt_import_mpigraph, "hello\n", "f:2: no table"},
        {nt_import_mpigraph, "Send\tn1:0\tn2:1\t\nn1:0 to\t0\t1\t\nn2:1 to\t1\t\n",
         "f:3: expected a bandwidth, found nothing"},
        {nt_import_mpigraph, "Send\tn1:0\tn2:1\t\nn1:0 to\t0\t1\t2\t\n", "f:2: more than 2"},
        {nt_import_mpigraph, "Send\tn1:0\tn2:1\t\nn1:0 to\t0\t1\t\n", "f:3: the table ends"},
        {nt_import_mpigraph, "Send\tn1:0\tn2:1\t\nn1:0 to\t0\t-1\t\n", "f:2: expected a band"},
        {nt_import_mpigraph, "Send\tn1:0\tn2:1\t\nn1:0 to\t0\tnan\t\n", "f:2: expected a band"},
        {nt_import_mpigraph, "Send\tn1:0\tn2:1\t\nn2:0 to\t0\t1\t\n", "f:2: expected the row"},
        {nt_import_mpigraph, "Send\tn1:0\tn2:1\t\nn1:0 from\t0\t1\t\n", "f:2: expected \"to\""},
        {nt_import_mpigraph, "Send\tn1:0\tn2:2\t\n", "f:1: expected a label like n1:1"},
        {nt_import_mpigraph, "Send\tn 1:0\t\n", "f:1: expected a label"},
        {nt_import_mpigraph, "Send\tn1:0\tn2:1\tn3:2\tn4:3\nx", "f:1: 4 hosts, but"},
        {nt_import_mpigraph, "Send\tn/1:0\t\n0000000000", "host name"},
        {osu_latency, "", "f:1: no test of latency"},
        {osu_latency, OSU "8 1\n", "f:1: no line \"# hosts"},
        {osu_latency, "8 1\n", "f:1: figures before"},
        {osu_latency, "# hosts a\n" OSU, "f:1: expected \"# hosts NAME NAME\""},
        {osu_latency, "# hosts a a\n" OSU, "f:1: expected two different"},
        {osu_latency, "# hosts a b c\n" OSU, "f:1: expected two different"},
        {osu_latency, "# hosts a b\n" OSU, "f:2: no figures"},
        {osu_latency, "# hosts a b\n" OSU "8 x\n", "f:3: expected a figure, found \"x\""},
        {osu_latency, "# hosts a b\n" OSU "8 #x\n", "f:3: expected a figure, found \"#x\""},
        {osu_latency, "# hosts a b\n" OSU "8 1\n# hosts a c\n" OSU "4 1\n",
         "f:5: the smallest message here has 4 bytes, in blocks before 8"},
        {osu_latency, "# hosts a b\n# OSU MPI Bi-Directional Bandwidth Test\n",
         "f:2: expected a test"},
        {osu_latency, "# hosts a b\n# OSU MPI Allreduce Latency Test\n", "f:2: expected a test"},
        {osu_bandwidth,
         "# hosts a b\n# OSU MPI Multiple Bandwidth / Message Rate Test v5\n# [ pairs: 2 ] [ ]\n",
         "f:3: a figure of several pairs"},
        {osu_bandwidth, "# hosts a b\n" OSU "8 1\n", "no test of bandwidth"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_named_matrix *m = NULL;
        struct nt_err err = {0};
        char *text = exact(table[k].text, strlen(table[k].text));
        assert_int_equal(table[k].reader("f", text, strlen(table[k].text), &m, &err), -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        assert_null(m);
        if (strstr(err.text, table[k].says) == NULL)
            fail_msg("%zu: %s", k, err.text);
        free(text);
    }
}

static void wrong_parus_texts_name_their_line(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        {"", "f:1: expected \"processors N\""},
        {"processors x\n", "f:1: expected a number of processors, found \"x\""},
        {"processors 1000000000\n", "f:1: expected a number"},
        {"processors 100000\nhosts:\n", "f:1: 100000 processors, but the text ends"},
        {"processors 0\nhosts:\nxxxxxxxxx\n", "f:1: 0 processors"},
        {"processors 2\ndata type \"deviation\"\nhosts:\na\nb\n", "f:2: a matrix of deviations"},
        {"processors 2\nMessage length 0\n0 1\n1 0\n", "f:2: expected \"hosts:\""},
        {"processors 3\nhosts:\na\nb\n               \n", "f:6: 2 of 3 hosts"},
        {PARUS "\n", "f:6: expected \"Message length"},
        {PARUS "0 1\n1 0\n", "f:5: expected \"Message length"},
        {PARUS "Message length 0\n0 1\n", "text ends before this matrix"},
        {PARUS "Message length 0\n0 1\n1        \n", "f:7: expected a time in seconds, found n"},
        {PARUS "Message length 0\n0 1 2\n1 0\n", "f:6: more than 2"},
        {PARUS "Message length 0\n0 -1\n1 0\n", "f:6: expected a time in seconds, found \"-1\""},
        {PARUS "Message length 0\n0 1\n1 0\nMessage length 0\n0 1\n1 0\n", "f:8: message length"},
        {PARUS "Message length 0\n0 1\n1 0\nhello\n", "f:8: expected \"Message length"},
        {"processors 2\nhosts:\na b\nb\nMessage length 0\n0 1\n1 1e31\n", "f:7: expected a time"},
        {"processors 3\nhosts:\na\na\na-0\nMessage length 0\n0000000000000000", "named twice"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_named_matrix *s = NULL;
        struct nt_err err = {0};
        char *text = exact(table[k][0], strlen(table[k][0]));
        assert_int_equal(nt_import_parus("f", text, strlen(table[k][0]), &s, &err), -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        assert_null(s);
        if (strstr(err.text, table[k][1]) == NULL)
            fail_msg("%zu: %s", k, err.text);
        free(text);
    }
}

/* A zero byte would end a name early. */
static void binary_is_no_text(void **state)
{
    (void)state;
    static const char text[] = "Send\tn1:0\tn2:1\t\nn1\0:0 to\t0\t1\t\n";
    import_matrix *readers[] = {nt_import_mpigraph, osu_latency, osu_bandwidth, nt_import_parus};
    for (size_t k = 0; k < 4; k++) {
        struct nt_named_matrix *m = NULL;
        struct nt_err err = {0};
        assert_int_equal(readers[k]("f", text, sizeof text - 1, &m, &err), -1);
        assert_non_null(strstr(err.text, "f:2: a zero byte"));
    }
}

/* Every shorter piece of a sample is an error or a smaller result, never a crash. */
static void cut_texts_do_no_harm(void **state)
{
    (void)state;
    static const char *const names[] = {"mpigraph.txt", "osu.txt", "parus.txt"};
    import_matrix *readers[] = {nt_import_mpigraph, osu_latency, nt_import_parus};
    for (size_t k = 0; k < 3; k++) {
        size_t bytes;
        char *text = load(names[k], &bytes);
        for (size_t cut = 0; cut < bytes; cut++) {
            struct nt_named_matrix *m = NULL;
            struct nt_err err = {0};
            char *piece = exact(text, cut);
            int rc = readers[k]("f", piece, cut, &m, &err);
            assert_int_equal(rc, m != NULL ? 0 : -1);
            nt_named_matrix_destroy(m);
            free(piece);
        }
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mpigraph_gives_what_arrived),
        cmocka_unit_test(mpigraph_without_recv_gives_what_was_sent),
        cmocka_unit_test(osu_gives_the_smallest_message_and_the_largest_rate),
        cmocka_unit_test(osu_keeps_the_better_of_two),
        cmocka_unit_test(parus_gives_a_matrix_a_size),
        cmocka_unit_test(parus_takes_decimal_commas),
        cmocka_unit_test(wrong_texts_name_their_line),
        cmocka_unit_test(wrong_parus_texts_name_their_line),
        cmocka_unit_test(binary_is_no_text),
        cmocka_unit_test(cut_texts_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
