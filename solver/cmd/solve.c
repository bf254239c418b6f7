#include "solve.h"

#include <stdlib.h>

#include "files.h"
#include "map_json.h"
#include "matrix_csv.h"
#include "samples.h"
#include "terminal.h"
#include "verbs.h"

static const char help[] =
    "usage: nettopo solve [--method METHOD] [-o MAP] SAMPLES\n"
    "       nettopo solve [--method METHOD] [-o MAP] --latency CSV [--bandwidth CSV]\n"
    "\n"
    "Makes a map from measurements: from the record of a sweep (nettopo-probe --samples), or from\n"
    "a matrix of latencies in us (one way) and one of bandwidths in MB/s, alone. - is standard\n"
    "input or output.\n"
    "\n"
    "  --latency CSV     host names in the first row and column; an empty cell is not measured\n"
    "  --bandwidth CSV   the same hosts; gives the links their bandwidths\n"
    "  --method METHOD   auto (default), or the published methods bufe and parus, to compare\n"
    "  -o, --output MAP  written whole or not at all; default -\n";

static int feed_samples(void *reader, const char *text, size_t bytes, struct nt_err *err)
{
    return nt_samples_reader_feed(reader, text, bytes, err);
}

static int read_samples(const char *path, struct nt_samples **out, struct nt_err *err)
{
    struct nt_samples_reader *reader;
    if (nt_samples_reader_create(nt_file_name(path), &reader, err) != 0)
        return -1;
    nt_terminal_progress("reading %s", nt_file_name(path));
    int rc = nt_file_stream(path, feed_samples, reader, err);
    if (rc == 0)
        rc = nt_samples_reader_finish(reader, out, err);
    nt_samples_reader_destroy(reader);
    return rc;
}

static int solve_samples(const char *path, const char *method, struct nt_map **map,
                         struct nt_err *err)
{
    struct nt_samples *samples;
    if (read_samples(path, &samples, err) != 0)
        return -1;
    nt_terminal_progress("solving %zu hosts", samples->hosts);
    int rc = nt_solve_samples_by(samples, method, map, err);
    nt_samples_destroy(samples);
    return rc;
}

static int feed_csv(void *reader, const char *text, size_t bytes, struct nt_err *err)
{
    return nt_csv_reader_feed(reader, text, bytes, err);
}

static int read_csv(const char *path, enum nt_matrix_kind kind, struct nt_table **out,
                    struct nt_err *err)
{
    struct nt_csv_reader *reader;
    if (nt_csv_reader_create(nt_file_name(path), kind, &reader, err) != 0)
        return -1;
    nt_terminal_progress("reading %s", nt_file_name(path));
    int rc = nt_file_stream(path, feed_csv, reader, err);
    if (rc == 0)
        rc = nt_csv_reader_finish(reader, out, err);
    nt_csv_reader_destroy(reader);
    return rc;
}

/* The bandwidths with the hosts as in the latencies. */
static int read_bandwidth(const char *path, const struct nt_table *latency, struct nt_matrix **out,
                          struct nt_err *err)
{
    struct nt_table *table;
    if (read_csv(path, NT_MATRIX_BANDWIDTH_MBPS, &table, err) != 0)
        return -1;
    int rc = nt_table_arrange(table, (const char *const *)latency->host_name, latency->matrix->n,
                              out, err);
    nt_table_destroy(table);
    return rc == 0 ? 0 : nt_err_prefix(err, "%s", nt_file_name(path));
}

static int solve_matrices(const char *latency_path, const char *bandwidth_path, const char *method,
                          struct nt_map **map, struct nt_err *err)
{
    struct nt_table *latency;
    struct nt_matrix *bandwidth = NULL;
    if (read_csv(latency_path, NT_MATRIX_LATENCY_US, &latency, err) != 0)
        return -1;
    int rc = bandwidth_path == NULL ? 0 : read_bandwidth(bandwidth_path, latency, &bandwidth, err);
    if (rc == 0) {
        struct nt_measured measured = {.latency = latency->matrix,
                                       .bandwidth = bandwidth,
                                       .host_name = (const char *const *)latency->host_name,
                                       .pattern = "",
                                       .method = method};
        nt_terminal_progress("solving %zu hosts", latency->matrix->n);
        rc = nt_solve_measured(&measured, map, err);
    }
    nt_matrix_destroy(bandwidth);
    nt_table_destroy(latency);
    return rc;
}

static int run(int argc, char **argv, struct nt_err *err)
{
    const char *latency = NULL, *bandwidth = NULL, *method = "auto", *output = "-";
    const char *samples = NULL;
    const struct nt_flag flags[] = {{"latency", 0, &latency, NULL},
                                    {"bandwidth", 0, &bandwidth, NULL},
                                    {"method", 0, &method, NULL},
                                    {"output", 'o', &output, NULL}};
    if (nt_front_options(argc, argv, flags, sizeof flags / sizeof *flags, &samples, 1, err) != 0)
        return -1;
    if ((samples == NULL) == (latency == NULL))
        return nt_err_set(err, NT_ERR_USAGE, "expected either SAMPLES or --latency CSV, found %s",
                          samples == NULL ? "neither" : "both");
    if (samples != NULL && bandwidth != NULL)
        return nt_err_set(err, NT_ERR_USAGE, "--bandwidth: expected with --latency only");
    struct nt_map *map;
    char *text;
    size_t bytes;
    int rc = samples != NULL ? solve_samples(samples, method, &map, err)
                             : solve_matrices(latency, bandwidth, method, &map, err);
    nt_terminal_progress(NULL);
    if (rc != 0)
        return -1;
    rc = nt_map_write(map, false, &text, &bytes, err);
    nt_map_destroy(map);
    if (rc != 0)
        return -1;
    rc = nt_file_write(output, text, bytes, err);
    free(text);
    return rc;
}

const struct nt_verb nt_verb_solve = {"solve", "measurements to map", help, run};
