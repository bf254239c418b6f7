#include "solve.h"

#include <stdlib.h>

#include "files.h"
#include "map_json.h"
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

static int run(int argc, char **argv, struct nt_err *err)
{
    const char *method = "auto", *output = "-";
    const char *samples = NULL;
    const struct nt_flag flags[] = {{"method", 0, &method, NULL}, {"output", 'o', &output, NULL}};
    if (nt_front_options(argc, argv, flags, sizeof flags / sizeof *flags, &samples, 1, err) != 0)
        return -1;
    if (samples == NULL)
        return nt_err_set(err, NT_ERR_USAGE, "expected SAMPLES, found nothing");
    struct nt_map *map;
    char *text;
    size_t bytes;
    int rc = solve_samples(samples, method, &map, err);
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
