/* SPDX-License-Identifier: Apache-2.0 */
/* Other programs' matrices and descriptions of networks: samples in tests/data/import, and rejected
 * input. */
#include "asserts.h"
#include "export.h"
#include "import.h"
#include "known_tree.h"

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
    return nt_import_benchmark(file, text, bytes, NT_MATRIX_LATENCY_US, out, err);
}

static int osu_bandwidth(const char *file, const char *text, size_t bytes,
                         struct nt_named_matrix **out, struct nt_err *err)
{
    return nt_import_benchmark(file, text, bytes, NT_MATRIX_BANDWIDTH_MBPS, out, err);
}

static struct nt_named_matrix *import(import_matrix *reader, const char *name)
{
    size_t bytes;
    char *text = load(name, &bytes);
    struct nt_named_matrix *m = NULL;
    must(reader(name, text, bytes, &m, &err));
    free(text);
    return m;
}

TEST(mpigraph_gives_what_arrived)
{
    SCOPED(named_matrix) *m = import(nt_import_mpigraph, "mpigraph.txt");
    assert_int_equal(m->matrix->n, 4);
    assert_string_equal(m->host.name[3], "n4");
    assert_int_equal(m->matrix->kind, NT_MATRIX_BANDWIDTH_MBPS);
    /* row n2 of "Recv", column n1: what went from n1 to n2, 10900.1 * 2^20 bytes/s */
    assert_true(near(nt_matrix_get(m->matrix, 0, 1), 10900.1 * 1.048576));
    assert_true(near(nt_matrix_get(m->matrix, 3, 0), 5403.0 * 1.048576));
    for (size_t k = 0; k < 4; k++)
        assert_true(isnan(nt_matrix_get(m->matrix, k, k)));
    assert_true(m->message_bytes == 1048576);
}

TEST(mpigraph_without_recv_gives_what_was_sent)
{
    size_t bytes;
    char *text = load("mpigraph.txt", &bytes);
    SCOPED(named_matrix) *m = NULL;
    char *recv = strstr(text, "Recv max");
    must(nt_import_mpigraph("m", text, (size_t)(recv - text), &m, &err));
    assert_true(near(nt_matrix_get(m->matrix, 0, 1), 11000.1 * 1.048576));
    free(text);
}

TEST(osu_gives_the_smallest_message_and_the_largest_rate)
{
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

TEST(osu_keeps_the_better_of_two)
{
    static const char text[] = "# hosts a b\n# OSU MPI Latency Test v7.1\n8 3.5\n"
                               "# hosts a b\n# OSU MPI-CUDA Multi Latency Test v7.1\n"
                               "mpirun: a word of the launcher\n8 2.5 4.5 7\n16 1\n"
                               "# hosts a b\n# OSU MPI Latency Test v7.1\n8 4.5\n";
    SCOPED(named_matrix) *m = NULL;
    assert_int_equal(osu_latency("osu", text, sizeof text - 1, &m, &err), 0);
    assert_true(near(nt_matrix_get(m->matrix, 0, 1), 2.5));
}

/* What each program prints: real outputs, or written by its sources where it needs a machine that
 * tests do not have. */
static const struct {
    const char *name;
    enum nt_matrix_kind kind;
    const char *from, *to;
    double value, bytes; /* NaN: no such pair; of a bandwidth: the message */
} benchmarks[] = {
    {"osu-label.txt", NT_MATRIX_LATENCY_US, "n1", "n2", 1.88, NAN},
    {"osu-label-wide.txt", NT_MATRIX_LATENCY_US, "n1", "n2", 1.88, NAN},
    {"osu-tag-output.txt", NT_MATRIX_LATENCY_US, "n1", "n2", 1.88, NAN},
    {"osu-date.txt", NT_MATRIX_LATENCY_US, "n1", "n2", 1.88, NAN},
    {"osu-indented.txt", NT_MATRIX_BANDWIDTH_MBPS, "n1", "n2", 12100.2, 1048576},
    {"osu-others.txt", NT_MATRIX_LATENCY_US, "n1", "n2", 1.88, NAN},
    {"osu-others.txt", NT_MATRIX_BANDWIDTH_MBPS, "n1", "n2", 12050.1, 1048576},
    {"osu-two-ways.txt", NT_MATRIX_BANDWIDTH_MBPS, "n1", "n2", 12100.2, 1048576},
    {"osu-two-ways.txt", NT_MATRIX_BANDWIDTH_MBPS, "n1", "n3", 12200.2, 1048576},
    {"osu-several-pairs.txt", NT_MATRIX_BANDWIDTH_MBPS, "n1", "n2", 12100.2, 4194304},
    {"imb.txt", NT_MATRIX_LATENCY_US, "n1", "n2", 1.21, NAN},
    {"imb.txt", NT_MATRIX_BANDWIDTH_MBPS, "n1", "n2", 4194304 / 350.0, 4194304},
    {"perftest.txt", NT_MATRIX_LATENCY_US, "n1", "n2", 0.93, NAN},
    {"perftest.txt", NT_MATRIX_LATENCY_US, "n1", "n3", 1.9, NAN},
    {"perftest.txt", NT_MATRIX_BANDWIDTH_MBPS, "n1", "n2", 11010.05 * 1.048576, 65536},
    {"perftest.txt", NT_MATRIX_BANDWIDTH_MBPS, "n1", "n3", 11550, 65536},
    {"perftest.txt", NT_MATRIX_BANDWIDTH_MBPS, "n2", "n3", 9000 * 1.048576, 65536},
    {"nccl.txt", NT_MATRIX_BANDWIDTH_MBPS, "n1", "n2", 11980, 134217728},
    {"nccl.txt", NT_MATRIX_BANDWIDTH_MBPS, "n1", "n3", 6390, 134217728},
    {"nccl.txt", NT_MATRIX_BANDWIDTH_MBPS, "n2", "n3", NAN, 134217728},
    {"iperf3.txt", NT_MATRIX_BANDWIDTH_MBPS, "10.0.0.1", "10.0.0.2", 1623.0424872777, NAN},
    {"iperf3.txt", NT_MATRIX_BANDWIDTH_MBPS, "10.0.0.3", "10.0.0.1", 1000, NAN},
    {"netpipe.txt", NT_MATRIX_LATENCY_US, "n1", "n2", 9.69, NAN},
    {"netpipe.txt", NT_MATRIX_BANDWIDTH_MBPS, "n1", "n2", 1048.576, 4194304},
    {"netpipe-5.txt", NT_MATRIX_LATENCY_US, "n1", "n2", 1.21, NAN},
    {"netpipe-5.txt", NT_MATRIX_BANDWIDTH_MBPS, "n1", "n2", 11650, 4194000},
    {"qperf.txt", NT_MATRIX_LATENCY_US, "n1", "n2", 9.13, NAN},
    {"qperf.txt", NT_MATRIX_LATENCY_US, "n1", "n3", 2.2, NAN},
    {"qperf.txt", NT_MATRIX_BANDWIDTH_MBPS, "n1", "n2", 1110, NAN},
    {"qperf.txt", NT_MATRIX_BANDWIDTH_MBPS, "n1", "n3", 6000, NAN},
    {"p2p.txt", NT_MATRIX_LATENCY_US, "gpu1", "gpu0", 2.2, NAN},
    {"p2p.txt", NT_MATRIX_LATENCY_US, "gpu2", "gpu1", 3.4, NAN},
    {"p2p.txt", NT_MATRIX_BANDWIDTH_MBPS, "gpu0", "gpu1", 46100, NAN},
    {"p2p.txt", NT_MATRIX_BANDWIDTH_MBPS, "gpu1", "gpu0", 45900, NAN},
    {"p2p-reads.txt", NT_MATRIX_BANDWIDTH_MBPS, "gpu0", "gpu1", 45900, NAN},
    {"c2clat.txt", NT_MATRIX_LATENCY_US, "cpu0", "cpu2", 0.074, NAN},
    {"c2clat.txt", NT_MATRIX_LATENCY_US, "cpu3", "cpu2", 0.027, NAN},
};

TEST(a_line_begins_with_words_or_keeps_them)
{
    static const struct {
        const char *patterns, *left; /* NULL: it does not begin so */
    } table[] = {
        {"", "data\ttype  \"x\""},
        {"data", "\ttype  \"x\""},
        {"data type", "  \"x\""},
        {"d*a *pe \"x*\" $", ""},
        {"dat*ta", NULL},
        {"data $", NULL},
        {"data type \"x\" more", NULL},
        {"a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a", NULL},
    };
    static const char text[] = "data\ttype  \"x\"";
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_text_line line = {.at = text, .end = text + sizeof text - 1};
        const char *left = table[k].left == NULL ? text : table[k].left;
        if (nt_line_take_words(&line, table[k].patterns) != (table[k].left != NULL))
            fail_msg("\"%s\"", table[k].patterns);
        assert_string_equal(line.at, left);
    }
}

TEST(each_benchmark_gives_its_figures)
{
    for (size_t k = 0; k < sizeof benchmarks / sizeof *benchmarks; k++) {
        char path[128];
        snprintf(path, sizeof path, "benchmarks/%s", benchmarks[k].name);
        struct nt_named_matrix *m =
            import(benchmarks[k].kind == NT_MATRIX_LATENCY_US ? osu_latency : osu_bandwidth, path);
        uint32_t a = nt_names_find(&m->host, benchmarks[k].from, strlen(benchmarks[k].from));
        uint32_t b = nt_names_find(&m->host, benchmarks[k].to, strlen(benchmarks[k].to));
        if (a == NT_NAMES_NONE || b == NT_NAMES_NONE)
            fail_msg("%s: no host %s or %s", path, benchmarks[k].from, benchmarks[k].to);
        double found = nt_matrix_get(m->matrix, a, b), right = benchmarks[k].value;
        if (isnan(right) ? !isnan(found) : !near(found, right))
            fail_msg("%s: %s to %s: expected %g, found %g", path, benchmarks[k].from,
                     benchmarks[k].to, right, found);
        if (isnan(benchmarks[k].bytes) ? !isnan(m->message_bytes)
                                       : m->message_bytes != benchmarks[k].bytes)
            fail_msg("%s: expected messages of %g bytes, found %g", path, benchmarks[k].bytes,
                     m->message_bytes);
        nt_named_matrix_destroy(m);
    }
}

TEST(parus_gives_a_matrix_a_size)
{
    SCOPED(named_matrix) *s = import(nt_import_parus, "parus.txt");
    assert_int_equal(s->matrix->n, 3);
    assert_int_equal(s->larger_sizes, 1);
    assert_string_equal(s->host.name[0], "node-1"); /* two processes */
    assert_string_equal(s->host.name[1], "node-2");
    assert_true(s->message_bytes == 0 && s->larger_bytes[0] == 1000);
    assert_true(near(nt_matrix_get(s->matrix, 0, 2), 2.0));
    assert_true(near(nt_matrix_get(s->matrix, 2, 0), 2.1));
    assert_true(near(nt_matrix_get(s->matrix, 1, 2), 2.0));
    assert_true(near(nt_matrix_get(s->larger[0], 2, 1), 2.2));
    assert_true(isnan(nt_matrix_get(s->larger[0], 2, 2)));
    assert_false(nt_named_matrix_choose(s, 999));
    assert_true(nt_named_matrix_choose(s, 0) && nt_named_matrix_choose(s, 1000));
    assert_true(s->message_bytes == 1000 && s->larger_bytes[0] == 0);
    assert_true(near(nt_matrix_get(s->matrix, 2, 1), 2.2));
    assert_true(near(nt_matrix_get(s->larger[0], 0, 2), 2.0));
}

static struct nt_named_matrix *parus_of(const char *text)
{
    struct nt_named_matrix *s = NULL;
    must(nt_import_parus("p", text, strlen(text), &s, &err));
    return s;
}

/* Formula 3: the sum over the pairs of processes by their number. */
TEST(parus_processes_of_a_host_are_one)
{
    struct nt_named_matrix *s = parus_of("processors 4\nhosts:\na\nb\na\nb\nMessage length 0\n"
                                         "0 1e-6 9e-6 2e-6\n5e-6 0 6e-6 9e-6\n"
                                         "9e-6 3e-6 0 6e-6\n7e-6 9e-6 8e-6 0\n");
    assert_int_equal(s->matrix->n, 2);
    assert_true(near(nt_matrix_get(s->matrix, 0, 1), (1 + 2 + 3 + 6) / 4.0));
    assert_true(near(nt_matrix_get(s->matrix, 1, 0), (5 + 6 + 7 + 8) / 4.0));
    nt_named_matrix_destroy(s);
    s = parus_of("processors 2\nhosts:\na\na\nMessage length 0\n0 1e-6\n2e-6 0\n");
    assert_string_equal(s->host.name[1], "a-1"); /* one host: its processes */
    assert_true(near(nt_matrix_get(s->matrix, 1, 0), 2));
    nt_named_matrix_destroy(s);
}

/* Network Viewer 2 takes a text without "hosts:", too. */
TEST(parus_names_need_no_line_hosts)
{
    struct nt_named_matrix *s =
        parus_of("processors 2\ntest type \"one_to_one\"\nnumber of repeates 3\nb\na\n"
                 "Message length 0\n0 1e-6\n2e-6 0\n");
    assert_string_equal(s->host.name[0], "b");
    assert_true(near(nt_matrix_get(s->matrix, 0, 1), 1));
    nt_named_matrix_destroy(s);
}

/* The file is network_test2's own: three sizes of n1 n1 n2 n3. */
TEST(netcdf_gives_the_figures_that_were_written)
{
    static const char beside[] = "n1\nn1\nn2\nn3\n";
    size_t bytes;
    char *data = load("parus_median.nc", &bytes);
    SCOPED(named_matrix) *s = NULL;
    struct nt_text names;
    must(nt_text_begin(&names, "n", beside, sizeof beside - 1, &err));
    must(nt_import_parus_named("f", data, bytes, &names, &s, &err));
    assert_int_equal(s->matrix->n, 3);
    assert_int_equal(s->larger_sizes, 2);
    assert_true(s->larger_bytes[1] == 200);
    assert_true(near(nt_matrix_get(s->matrix, 1, 2), 1 + 0.011)); /* process 2 to 3 */
    assert_true(near(nt_matrix_get(s->larger[1], 0, 1), 2 + 0.2 + (0.002 + 0.006) / 2));
    free(data);
}

TEST(wrong_netcdf_is_refused)
{
    static const char beside[] = "n1\nn1\nn2\nn3\n";
    static const struct {
        size_t at;
        unsigned char byte;
        const char *says;
    } table[] = {
        {3, 5, "classic format"}, {7, 9, "found 9 and bytes for 3"},
        {15, 65, "wrong number"}, /* dimensions */
        {27, 5, "square"},        {599, 3, "deviations"},
        {206, 9, "wrong number"},
    };
    for (size_t k = 0; k <= sizeof table / sizeof *table; k++) {
        size_t bytes;
        char *data = load("parus_median.nc", &bytes);
        struct nt_named_matrix *s = NULL;
        struct nt_text names;
        bool named = k < sizeof table / sizeof *table;
        if (named)
            data[table[k].at] = (char)table[k].byte;
        must(nt_text_begin(&names, "n", beside, sizeof beside - 1, &err));
        assert_int_equal(nt_import_parus_named("f", data, bytes, named ? &names : NULL, &s, &err),
                         -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        if (strstr(err.text, named ? table[k].says : "the names of 4 processes") == NULL)
            fail_msg("%zu: %s", k, err.text);
        free(data);
    }
}

TEST(parus_takes_decimal_commas)
{
    static const char text[] = "processors 2\nhosts:\na\nb\nMessage length 4\r\n0,0 1,5e-6\n"
                               "2,5e-6 0,0\n";
    SCOPED(named_matrix) *s = NULL;
    must(nt_import_parus("p", text, sizeof text - 1, &s, &err));
    assert_true(near(nt_matrix_get(s->matrix, 0, 1), 1.5));
}

#define OSU "# OSU MPI Latency Test v5\n"
#define NCCL "# Rank 0 on a device\n# Rank 1 on b device\n"
#define NCCL_COLUMNS "# size count type time algbw busbw\n"
#define PARUS "processors 2\nhosts:\na\nb\n"

TEST(wrong_texts_name_their_line)
{
    static const struct {
        import_matrix *reader;
        const char *text, *says;
    } table[] = {
        {nt_import_mpigraph, "", "f:1: expected a table of mpiGraph"},
        {nt_import_mpigraph, "hello\n", "f:2: expected a table of mpiGraph"},
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
        {osu_latency, "", "f:1: expected a test of latency, found none"},
        {osu_latency, OSU "8 1\n", "f:1: expected a line \"# hosts"},
        {osu_latency, "8 1\n",
         "f:1: expected a matrix CSV, or the output of mpiGraph, PARUS, OSU, "},
        {osu_latency, "\n hello\n", "c2clat; found \" hello\""},
        {osu_latency, "[2] # hosts a b\n[2] # OSU MPI Latency Test v7.5\n[2] 1 1.5 Pass\n[2] 2 x\n",
         "f:4: expected a number"},
        {osu_latency, "# hosts a b\ntcp_lat:\n latency = 3 hours\n", "f:3: expected a unit"},
        {osu_latency, "CPU 0 1\n0 0 1\n2 1 0\n", "f:3: expected a number of the first row"},
        {osu_bandwidth, "{ \"start\": {}, \"end\": 3 }", "f:1: iperf3's "},
        {osu_bandwidth, "x\n{\n\"start\": ", "f:2: iperf3's:2: "},
        {osu_bandwidth, NCCL "# Rank 2 on c device\n" NCCL_COLUMNS, "f:4: expected two ranks on"},
        {osu_bandwidth, NCCL NCCL_COLUMNS "8 2 float 1 2 x\n", "f:4: expected a number"},
        {osu_latency, "# hosts a\n" OSU, "f:1: expected \"# hosts NAME NAME\""},
        {osu_latency, "# hosts a a\n" OSU, "f:1: expected two different"},
        {osu_latency, "# hosts a b c\n" OSU, "f:1: expected two different"},
        {osu_latency, "# hosts a b\n" OSU, "f:2: expected values after"},
        {osu_latency, "# hosts a b\n" OSU "8 x\n", "f:3: expected a number, found \"x\""},
        {osu_latency, "# hosts a b\n" OSU "8 #x\n", "f:3: expected a number, found \"#x\""},
        {osu_latency, "# hosts a b\n" OSU "8 1\n# hosts a c\n" OSU "4 1\n",
         "f:5: the smallest message here has 4 bytes, in earlier blocks 8"},
        {osu_latency, "# hosts a b\n# OSU MPI Allreduce Latency Test\n8 1\n",
         "f:2: expected a test of latency of one pair, found none; the last test is \"# OSU MPI "
         "Allreduce Latency Test\""},
        {osu_bandwidth, "# hosts a b\n# OSU MPI Bandwidth Test v5\n8 0\n16 0\n",
         "f:2: expected a bandwidth over 0 MB/s, found 0"},
        {osu_bandwidth, "Unidirectional P2P=Enabled Bandwidth\nD\\D 0 1\n0 9 8\n1 0 9\n",
         "f:4: expected a bandwidth over 0 MB/s, found 0"},
        {osu_bandwidth, "# hosts a b\n" OSU "8 1\n",
         "expected a test of bandwidth of one pair, found none"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_named_matrix *m = NULL;
        char *text = exact(table[k].text, strlen(table[k].text));
        assert_int_equal(table[k].reader("f", text, strlen(table[k].text), &m, &err), -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        assert_null(m);
        if (strstr(err.text, table[k].says) == NULL)
            fail_msg("%zu: %s", k, err.text);
        free(text);
    }
}

TEST(wrong_parus_texts_name_their_line)
{
    static const char *const table[][2] = {
        {"", "f:1: expected \"processors N\""},
        {"processors x\n", "f:1: expected a number of processors, found \"x\""},
        {"processors 1000000000\n", "f:1: expected a number"},
        {"processors 100000\nhosts:\n", "f:1: 100000 processors, but the text ends"},
        {"processors 0\nhosts:\nxxxxxxxxx\n", "f:1: 0 processors"},
        {"processors 2\ndata type \"deviation\"\nhosts:\na\nb\n", "f:2: a matrix of deviations"},
        {"processors 2\nMessage length 0\n0 1\n1 0\n", "f:2: expected the names of 2 processes"},
        {"processors 2\nhosts:\na core 0\na core 1\n     ",
         "f:3: expected a host's name, found \"a core 0\""},
        {"processors 3\nhosts:\na\nb\n               \n", "f:6: 2 of 3 processes"},
        {PARUS "\n", "f:6: expected \"Message length"},
        {PARUS "0 1\n1 0\n", "f:5: expected \"Message length"},
        {PARUS "Message length 0\n0 1\n", "text ends before this matrix"},
        {PARUS "Message length 0\n0 1\n1        \n", "f:7: expected a time in seconds, found n"},
        {PARUS "Message length 0\n0 1 2\n1 0\n", "f:6: more than 2"},
        {PARUS "Message length 0\n0 -1\n1 0\n", "f:6: expected a time in seconds, found \"-1\""},
        {PARUS "Message length 0\n0 1\n1 0\nMessage length 0\n0 1\n1 0\n", "f:8: message length"},
        {PARUS "Message length 0\n0 1\n1 0\nhello\n", "f:8: expected \"Message length"},
        {PARUS "Message length 0\n0 1\n1 1e31\n", "f:7: expected a time"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_named_matrix *s = NULL;
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
TEST(binary_is_no_text)
{
    static const char text[] = "Send\tn1:0\tn2:1\t\nn1\0:0 to\t0\t1\t\n";
    import_matrix *readers[] = {nt_import_mpigraph, osu_latency, osu_bandwidth, nt_import_parus};
    for (size_t k = 0; k < 4; k++) {
        struct nt_named_matrix *m = NULL;
        assert_int_equal(readers[k]("f", text, sizeof text - 1, &m, &err), -1);
        assert_non_null(strstr(err.text, "f:2: expected text, found a zero byte"));
    }
}

/* Every shorter piece of a text is an error or a smaller result, never a crash. */
static void cut_text(import_matrix *reader, const char *name)
{
    size_t bytes;
    char *text = load(name, &bytes);
    for (size_t cut = 0; cut < bytes; cut++) {
        SCOPED(named_matrix) *m = NULL;
        char *piece = exact(text, cut);
        int rc = reader("f", piece, cut, &m, &err);
        assert_int_equal(rc, m != NULL ? 0 : -1);
        free(piece);
    }
    free(text);
}

TEST(cut_texts_do_no_harm)
{
    cut_text(nt_import_mpigraph, "mpigraph.txt");
    cut_text(osu_latency, "osu.txt");
    cut_text(nt_import_parus, "parus.txt");
    for (size_t k = 0; k < sizeof benchmarks / sizeof *benchmarks; k += draws(3, 1)) {
        char path[128];
        snprintf(path, sizeof path, "benchmarks/%s", benchmarks[k].name);
        cut_text(benchmarks[k].kind == NT_MATRIX_LATENCY_US ? osu_latency : osu_bandwidth, path);
    }
}

/* ---- networks ------------------------------------------------------------------------------- */

typedef int import_map(const char *file, const char *text, size_t bytes, struct nt_map **out,
                       struct nt_err *err);

static int scan(const char *file, const char *text, size_t bytes, struct nt_map **out,
                struct nt_err *err)
{
    return nt_import_ibnetdiscover(file, text, bytes, NULL, out, err);
}

static struct nt_map *import_network(import_map *reader, const char *name)
{
    size_t bytes;
    char *text = load(name, &bytes);
    struct nt_map *map = NULL;
    must(reader(name, text, bytes, &map, &err));
    free(text);
    return map;
}

static const char *name_of(const struct nt_map *map, uint32_t vertex)
{
    return vertex < map->model->hosts ? map->host_name[vertex]
                                      : map->switch_name[vertex - map->model->hosts];
}

static const struct nt_link *find_link(const struct nt_map *map, const char *a, const char *b)
{
    for (size_t k = 0; k < map->model->links; k++) {
        const struct nt_link *link = &map->model->link[k];
        if (strcmp(name_of(map, link->a), a) == 0 && strcmp(name_of(map, link->b), b) == 0)
            return link;
    }
    return NULL;
}

/* a is the lower end. */
static const struct nt_link *link_of(const struct nt_map *map, const char *a, const char *b)
{
    const struct nt_link *link = find_link(map, a, b);
    if (link == NULL)
        fail_msg("no link from %s to %s", a, b);
    return link;
}

TEST(ibnetdiscover_gives_hosts_switches_and_cables)
{
    SCOPED(map) *map = import_network(scan, "ibnetdiscover.txt");
    const struct nt_model *m = map->model;
    assert_int_equal(m->hosts, 3); /* the aggregation node is none */
    assert_int_equal(m->switches, 3);
    assert_int_equal(m->links, 6);
    assert_string_equal(map->host_name[0], "n1");
    assert_string_equal(map->switch_name[2], "spine1");
    assert_int_equal(m->tier[0], 1);
    assert_int_equal(m->tier[2], 2);
    assert_int_equal(m->tiers, 2);
    /* n2 has two adapters; two HDR cables to the spine are one link of the double rate */
    assert_true(link_of(map, "n1", "leaf1")->bandwidth_MBps == 25000);
    assert_true(link_of(map, "n2", "leaf1")->bandwidth_MBps == 25000);
    assert_true(link_of(map, "n2", "leaf2")->bandwidth_MBps == 12500);
    assert_true(link_of(map, "n3", "leaf2")->bandwidth_back_MBps == 12500);
    assert_true(link_of(map, "leaf1", "spine1")->bandwidth_MBps == 50000);
    assert_true(link_of(map, "leaf2", "spine1")->bandwidth_MBps == 25000);
    assert_true(isnan(m->link[0].latency_us));
    nt_import_assume_latency(map, 0.5, 0.2);
    assert_true(link_of(map, "n1", "leaf1")->latency_us == 0.5);
    assert_true(link_of(map, "leaf1", "spine1")->latency_us == 0.2);
}

/* Descriptions that name products, a switch that is called as another, a lone adapter. */
TEST(ibnetdiscover_falls_back_on_numbers)
{
    static const char text[] = "Switch 2 \"S-01\" # \"Product X by Y\" base port 0\n"
                               "[1][ext 7]\t\"S-02\"[3][ext 1]\t# \"same\" lid 1 2xXDR s=1 w=2\n"
                               "Switch 2 \"S-02\" # \"same\" base port 0\n"
                               "Switch 2 \"S-03\" # \"same\" base port 0\n"
                               "[1] \"H-01\"[1](1) # \"MT23108 InfiniHost Mellanox\" lid 3 4xNEW\n"
                               "Ca 1 \"H-01\" # \"MT23108 InfiniHost Mellanox\"\n"
                               "Ca 1 \"H-02\" # \"n7 hfi1_0\"\n";
    SCOPED(map) *map = NULL;
    must(scan("f", text, sizeof text - 1, &map, &err));
    assert_string_equal(map->host_name[0], "H-01");
    assert_string_equal(map->host_name[1], "n7");
    assert_true(map->model->missing[1] && !map->model->missing[0]);
    assert_true(isnan(link_of(map, "H-01", "S-03")->bandwidth_MBps));
    assert_true(link_of(map, "S-01", "S-02")->bandwidth_MBps == 50000);
}

TEST(topology_conf_gives_a_tree)
{
    SCOPED(map) *map = import_network(nt_import_topology_conf, "topology.conf");
    const struct nt_model *m = map->model;
    assert_int_equal(m->hosts, 6);
    assert_int_equal(m->switches, 3);
    assert_int_equal(m->links, 8);
    link_of(map, "n1", "leaf1");
    link_of(map, "n05", "leaf2");
    link_of(map, "m1", "leaf2");
    link_of(map, "leaf1", "top");
    for (size_t s = 0; s < 3; s++)
        assert_int_equal(m->tier[s], strcmp(map->switch_name[s], "top") == 0 ? 2 : 1);
}

TEST(topology_conf_gives_blocks)
{
    SCOPED(map) *map = import_network(nt_import_topology_conf, "topology-block.conf");
    assert_int_equal(map->model->hosts, 12);
    assert_int_equal(map->model->switches, 4);
    assert_int_equal(map->model->links, 15);
    link_of(map, "n10", "block3");
    link_of(map, "block2", "blocks");
}

static struct nt_map *import_text(const char *text)
{
    struct nt_map *map;
    must(nt_import_topology_conf("f", text, strlen(text), &map, &err));
    return map;
}

TEST(what_scontrol_prints_gives_the_same)
{
    struct nt_map *map =
        import_text("SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=a,b\n"
                    "SwitchName=a Level=0 LinkSpeed=1 Nodes=n[1-2]\n"
                    "SwitchName=b Level=0 LinkSpeed=1 Nodes=n[3-4]\n");
    assert_int_equal(map->model->links, 6);
    link_of(map, "n3", "b");
    link_of(map, "a", "top");
    nt_map_destroy(map);
    map = import_text("BlockName=b1 BlockIndex=0 Nodes=n[1-2] BlockSize=2\n"
                      "BlockName=b2 BlockIndex=1 Nodes=n[3-4] BlockSize=2\n"
                      "AggregatedBlock=b[1-2] BlockIndex=2 Nodes=n[1-4] BlockSize=4\n");
    assert_int_equal(map->model->links, 6);
    link_of(map, "n3", "b2");
    nt_map_destroy(map);
}

#define SW "Switch 2 \"S-1\" # \"a b\"\n"

TEST(wrong_networks_name_their_line)
{
    static const struct {
        import_map *reader;
        const char *text, *says;
    } table[] = {
        {scan, "", "f:1: expected a switch"},
        {scan, "hello\n", "f:2: expected a switch"},
        {scan, "[1] \"S-1\"[1]\n", "f:2: expected a switch"},
        {scan, "Switch 2 S-1\n", "f:1: expected a node"},
        {scan, SW "[1] \"S-2\"[1]\n", "f: expected the adapter of a host"},
        {scan, SW "[1] \"X-2\"[1]\n", "f:2: no line describes node X-2"},
        {scan, "SW 1 1 0x1 4x HDR\n", "f:1: expected the names"},
        {scan,
         "Switch: 0x1 leaf1:\n  101 1[  ] ==( 4X 53.125 Gbps Active/ LinkUp)==> 1 1[  ] \"n1\" "
         "( )\n",
         "f:2: expected the output of ibnetdiscover, found iblinkinfo's"},
        {scan, "SW 1 1 0x1 4x HDR - CA 2 1 0x2 ( a' - 'b' )\n", "f:1: expected the names"},
        {scan, "SW 1 999 0x1 4x HDR 'a'\n", "f:1: expected a port, found \"999\""},
        {scan, "SW 1 1 1 4x HDR 'a'\n", "f:1: expected the GUID of a port, found \"1\""},
        {scan, "SW 1 1 0x1 4x HDR - CA 2 1 0x2 ( 'a' )\n", "f:1: expected the names"},
        {scan, SW "[x] \"S-1\"[1]\n", "f:2: expected [PORT]"},
        {scan, SW "[999] \"S-1\"[1]\n", "f:2: expected [PORT]"},
        {scan, SW "[1] \"S-1\"\n", "f:2: expected [PORT]"},
        {scan, "Switch 2 \"S/1\" # \"a b\"\n", "f:1: host name \"S/1\""},
        {nt_import_topology_conf, "", "f:1: expected nodes"},
        {nt_import_topology_conf, "# nothing\n\n", "expected nodes"},
        {nt_import_topology_conf, "Nodes=n1\n", "f:1: expected SwitchName= or BlockName="},
        {nt_import_topology_conf, "hello\n", "f:1: expected KEY=VALUE"},
        {nt_import_topology_conf, "SwitchName=\n", "f:1: SwitchName: missing value"},
        {nt_import_topology_conf, "SwitchName=s1\n", "f:2: expected nodes, found none"},
        {nt_import_topology_conf, "SwitchName=s1\fNods=a\n", "f:1: unknown key Nods"},
        {nt_import_topology_conf, "SwitchName=s1 #a\\\nNodes=a\n", "f:2: expected SwitchName="},
        {nt_import_topology_conf, "SwitchName=s1 Node=n1\n", "f:1: unknown key Node"},
        {nt_import_topology_conf, "SwitchName=s/1 Nodes=n1\n", "f:1: switch or block: host name"},
        {nt_import_topology_conf, "\nSwitchName=s1 Nodes=n[1-\n", "f:2: host list"},
        {nt_import_topology_conf, "SwitchName=s1 Nodes=n[0-999999999]\n", "f:1: host list"},
        {nt_import_topology_conf, "SwitchName=s1 Switches=s1\n", "f:1: s1 is its own child"},
        {nt_import_topology_conf, "SwitchName=s1 Nodes=n1\nSwitchName=s2 Switches=s[1,3]\n",
         "f:2: no line describes switch s3"},
        {nt_import_topology_conf, "SwitchName=s1 Nodes=n1\nSwitchName=s1 Nodes=n2\n",
         "f:2: s1 is described twice"},
        {nt_import_topology_conf, "BlockName=b1 Nodes=n1\nSwitchName=s1 Nodes=n2\n",
         "f:2: expected switches or blocks, found both"},
        {nt_import_topology_conf, "BlockName=b1 Switches=n1\n", "f:1: unknown key Switches"},
        {nt_import_topology_conf, "Include other.conf\n", "f:1: include is not supported"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_map *map = NULL;
        assert_int_equal(table[k].reader("f", table[k].text, strlen(table[k].text), &map, &err),
                         -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        assert_null(map);
        if (strstr(err.text, table[k].says) == NULL)
            fail_msg("%zu: %s", k, err.text);
    }
}

/* Every shorter piece of a sample is an error or a smaller network, never a crash. */
TEST(cut_networks_do_no_harm)
{
    static const struct {
        import_map *reader;
        const char *name;
    } table[] = {{scan, "ibnetdiscover.txt"},
                 {nt_import_topology_conf, "topology.conf"},
                 {nt_import_topology_conf, "topology-block.conf"}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        size_t bytes;
        char *text = load(table[k].name, &bytes);
        for (size_t cut = 0; cut < bytes; cut++) {
            char *piece = malloc(cut + 1);
            SCOPED(map) *map = NULL;
            assert_non_null(piece);
            memcpy(piece, text, cut);
            int rc = table[k].reader("f", piece, cut, &map, &err);
            assert_int_equal(rc, map != NULL ? 0 : -1);
            free(piece);
        }
        free(text);
    }
}

/* ---- DOT and topology.yaml ------------------------------------------------------------------ */

static struct nt_map *read_by(import_map *read, const char *text)
{
    struct nt_map *map;
    must(read("f", text, strlen(text), &map, &err));
    return map;
}

static const struct nt_link *link_between(const struct nt_map *map, const char *a, const char *b)
{
    const struct nt_link *link = find_link(map, a, b);
    return link != NULL ? link : link_of(map, b, a);
}

TEST(figures_are_read_in_every_form)
{
    struct nt_map *map =
        read_by(nt_import_dot, "# first line\n"
                               "strict digraph \"a b\" { rankdir=LR; node [shape=box2, label=x]\n"
                               "subgraph cluster_1 { \"leaf-1\" -> {n1, n2; n3} [label=\"40\"] }\n"
                               "/* two\n directions */ n4 -> leaf2 [weight=32]\n"
                               "leaf2 -> n4 [label=16];\n"
                               "\"leaf-1\" -> core -> leaf2 [bandwidth_Gbps=100, "
                               "bandwidth_back_Gbps=\"50\"; latency_us=0.3] // end\n"
                               "}");
    assert_int_equal(map->model->hosts, 4);
    assert_int_equal(map->model->switches, 3);
    assert_int_equal(map->model->links, 6);
    assert_true(link_between(map, "n3", "leaf-1")->bandwidth_MBps == 5000);
    assert_true(isnan(link_between(map, "n3", "leaf-1")->latency_us));
    const struct nt_link *both = link_between(map, "n4", "leaf2");
    assert_true(both->bandwidth_MBps + both->bandwidth_back_MBps == 4000 + 2000);
    const struct nt_link *up = link_between(map, "leaf-1", "core");
    assert_above(up->latency_us, 0.29);
    assert_below(up->latency_us, 0.31);
    assert_true(up->bandwidth_MBps == 12500 && up->bandwidth_back_MBps == 6250);
    nt_map_destroy(map);
}

TEST(parallel_cables_add_up_and_a_ring_has_no_switches)
{
    struct nt_map *map = read_by(nt_import_dot, "graph { a -- b -- c -- d -- a [label=8]\n"
                                                "a -- b [label=8] }");
    assert_int_equal(map->model->hosts, 4);
    assert_int_equal(map->model->links, 4);
    assert_true(link_between(map, "a", "b")->bandwidth_MBps == 2000);
    nt_map_destroy(map);
}

TEST(ours_are_read_back)
{
    static const struct {
        int (*write)(const struct nt_map *, char **, size_t *, struct nt_err *);
        import_map *read;
    } table[] = {{nt_export_topology_yaml, nt_import_topology_yaml}};
    char names[32][8];
    const char *each[32];
    for (size_t h = 0; h < 32; h++) {
        snprintf(names[h], sizeof names[h], "n%zu", h);
        each[h] = names[h];
    }
    SCOPED(map) *map;
    must(nt_map_create(known_tree(2, 4, 4, true, true, 3), each, &map, &err));
    char *text;
    size_t bytes;
    must(nt_export_dot(map, NULL, &text, &bytes, &err));
    struct nt_map *back = read_by(nt_import_dot, text);
    free(text);
    assert_int_equal(back->model->hosts, map->model->hosts);
    assert_int_equal(back->model->links, map->model->links);
    for (size_t k = 0; k < map->model->links; k++) {
        const struct nt_link *l = &map->model->link[k];
        const struct nt_link *b = link_between(back, name_of(map, l->a), name_of(map, l->b));
        assert_below(fabs(b->latency_us - l->latency_us), 1e-5 * l->latency_us);
        assert_below(fabs(b->bandwidth_MBps - l->bandwidth_MBps), 1e-5 * l->bandwidth_MBps);
    }
    nt_map_destroy(back);
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        assert_int_equal(table[k].write(map, &text, &bytes, &err), 0);
        back = read_by(table[k].read, text);
        free(text);
        assert_int_equal(back->model->hosts, map->model->hosts);
        assert_int_equal(back->model->switches, map->model->switches);
        assert_int_equal(back->model->links, map->model->links);
        nt_map_destroy(back);
    }
}

TEST(the_cluster_s_default_topology_is_the_one)
{
    struct nt_map *map =
        read_by(nt_import_topology_yaml, "---\n- topology: a\n  tree:\n    switches:\n"
                                         "      - switch: s\n        nodes: n[1-9]\n"
                                         "- topology: b\n  cluster_default: true\n  block:\n"
                                         "    block_sizes: [2]\n    blocks:\n"
                                         "      - block: b1\n        nodes: n[1-2]\n"
                                         "      - block: b2\n        nodes: n[3-4]\n");
    assert_int_equal(map->model->hosts, 4);
    assert_int_equal(map->model->switches, 3);
    nt_map_destroy(map);
}

TEST(what_is_wrong_is_said_with_its_line)
{
    static const struct {
        import_map *read;
        const char *text, *says;
    } table[] = {
        {nt_import_dot, "", "f:1: expected graph or digraph, found 'the end'"},
        {nt_import_dot, "graph {\n a --\n}", "f:3: expected a vertex, found '}'"},
        {nt_import_dot, "graph {\n a -- b [label=\n", "f:3: expected a value, found 'the end'"},
        {nt_import_dot, "graph {\n a -- {b c\n", "f:3: expected a vertex or }"},
        {nt_import_dot, "graph {\n a -- {b -- c} }", "f:2: expected a vertex or }"},
        {nt_import_dot, "graph {\n a -- \"b", "f:2: a quoted word is not closed"},
        {nt_import_dot, "graph { /* a", "f:1: a comment is not closed"},
        {nt_import_dot, "graph {\n\n a -- b\n", "f:4: expected a vertex or }, found 'the end'"},
        {nt_import_dot, "graph {\n\"a b\" -- c }", "f:2: "},
        {nt_import_dot, "graph {\n<b>x</b> }", "f:2: expected a name, found tags in <>"},
        {nt_import_dot, "graph { } }", "f:1: expected the end"},
        {nt_import_dot, "graph { }", "f: expected hosts, found none"},
        {nt_import_topology_yaml, "- topology: a\n  tree: [\n", "f:3: not YAML"},
        {nt_import_topology_yaml, "a: b\n", "f:1: expected a topology of switches or blocks"},
        {nt_import_topology_yaml, "- topology: a\n",
         "f:1: expected a topology of switches or blocks, found a (neither)"},
        {nt_import_topology_yaml, "- topology: a\n  tree:\n    switches:\n      - nodes: n1\n",
         "f:4: expected a switch with its name"},
        {nt_import_topology_yaml,
         "- topology: a\n  tree:\n    switches:\n      - switch: s\n        nodes: n[1-\n",
         "f:5: "},
        {nt_import_topology_yaml,
         "- topology: a\n  tree:\n    switches:\n      - switch: s\n        children: s\n",
         "f:5: s is its own child"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_map *map = NULL;
        if (table[k].read("f", table[k].text, strlen(table[k].text), &map, &err) != -1)
            fail_msg("row %zu was read", k);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        assert_null(map);
        if (strncmp(err.text, table[k].says, strlen(table[k].says)) != 0)
            fail_msg("\"%s\" does not begin with \"%s\"", err.text, table[k].says);
    }
}

RUN_TESTS
