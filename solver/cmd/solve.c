/* SPDX-License-Identifier: Apache-2.0 */
#include "solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "inputs.h"
#include "map_json.h"
#include "matrix_csv.h"
#include "published.h"
#include "samples.h"
#include "solve_sized.h"
#include "terminal.h"
#include "verbs.h"

/* Further matrices may be in one text: PARUS writes one per message size. */
enum { LATENCY_FILES_MAX = 32 };
static const double MESSAGE_MAX = 1e12;

struct arguments {
    const char *latency[LATENCY_FILES_MAX]; /* NULL after the last */
    const char
        *message[LATENCY_FILES_MAX]; /* message size of each, as given; NULL after the last */
    double message_bytes[LATENCY_FILES_MAX];
    const char *bandwidth, *from, *lengths, *unit[2], *names, *output, *samples;
    const char *method, *epsilon, *shared, *duplex;
    bool round_trip;
    struct nt_csv_given given[2]; /* by kind */
    enum nt_matrix_text text;
    struct nt_published published;
};

static const struct nt_flag flags[] = {
    {"latency", 0, "FILE", NT_AT(latency), LATENCY_FILES_MAX,
     "Matrix of latencies in us, one way: a CSV with host names in the first row and column, where "
     "an empty cell is not measured, or the output of PARUS or of a benchmark such as OSU or "
     "perftest. Once per message size, the smallest first (up to 32)"},
    {"message-bytes", 0, "N", NT_AT(message), LATENCY_FILES_MAX,
     "Message size of a CSV matrix, once for each --latency in order. Links then get the latency "
     "of an empty message and, without --bandwidth, a bandwidth"},
    {"bandwidth", 0, "FILE", NT_AT(bandwidth), 1,
     "Matrix of bandwidths in MB/s of the same hosts, or the output of mpiGraph or of a benchmark. "
     "Without --latency, it shows groups of hosts if links between switches are narrower than "
     "links of hosts"},
    {"unit", 0, "UNIT", NT_AT(unit), 2,
     "Unit of a CSV matrix: ns, us, ms or s for latencies; MB/s, MiB/s, GB/s, GiB/s, Mbit/s or "
     "Gbit/s for bandwidths. Once for either"},
    {"round-trip", 0, NULL, NT_AT(round_trip), 1,
     "Take half of each latency, which is a round trip"},
    {"names", 0, "FILE", NT_AT(names), 1,
     "File with one host name per line, for a CSV matrix without names"},
    {"from", 0, "csv|mpigraph|benchmark|parus", NT_AT(from), 1,
     "Format of the files, if their first lines do not identify it"},
    {"method", 0, "auto|bufe|parus", NT_AT(method), 1,
     "Method (default auto). bufe and parus are published methods, for comparison"},
    {"epsilon", 0, "E", NT_AT(epsilon), 1, "bufe: relative tolerance (default 0.15)"},
    {"eps-shared", 0, "E", NT_AT(shared), 1,
     "parus: spread of latencies within a group on shared memory (default 0.1)"},
    {"eps-duplex", 0, "E", NT_AT(duplex), 1,
     "parus: difference of two directions up to which a channel has both (default 0.5)"},
    {"lengths", 0, "L", NT_AT(lengths), 1,
     "parus: message size in bytes that gives links their latencies, or the mean or median of all "
     "sizes (default: the smallest)"},
    NT_FLAG_OUTPUT,
    NT_OPERANDS(samples, 1)};

static const struct nt_command_help help = {
    "nettopo solve [OPTION...] SAMPLES\n"
    "nettopo solve [OPTION...] --latency FILE... [--bandwidth FILE]\n"
    "nettopo solve [OPTION...] --bandwidth FILE",
    "Build a map from measurements: from the samples of a sweep (nettopo-probe --samples), or from "
    "matrices of latencies, of bandwidths or of both. - is standard input.\n",
    flags, "nettopo solve --latency latency.csv -o map.json"};

/* Returns whether samples of several hosts have no measurement and no reason for that: no status
 * other than ok, and no prior in place of a sweep. */
static bool is_empty(const struct nt_samples *s)
{
    return s->samples == 0 && s->hosts > 1 && s->status == NT_STATUS_OK &&
           !(s->belief != NULL && s->belief->taken);
}

static int solve_samples(const struct arguments *a, struct nt_map **map, struct nt_err *err)
{
    struct nt_method method, *by = nt_published_method(&a->published, &method) ? &method : NULL;
    struct nt_samples *samples;
    if (nt_published_check(&a->published, 1, err) != 0 ||
        nt_file_read_samples(a->samples, &samples, err) != 0)
        return -1;
    nt_terminal_progress("solving %zu hosts", samples->hosts);
    int rc = is_empty(samples)
                 ? nt_err_set(err, NT_ERR_INPUT, "%s: expected measurements of pairs, found none",
                              nt_file_name(a->samples))
                 : nt_solve_samples(samples, by, NULL, map, err);
    nt_samples_destroy(samples);
    return rc;
}

/* ---- matrices ---- */

/* The first text contains the names of hosts; the matrices of the others are arranged in its
 * order. */
struct matrices {
    struct nt_named_matrix *latency, *rates;
    struct nt_matrix **larger;
    size_t larger_sizes;
    double *bytes; /* message size of latency and of each of larger; NaN: not known */
    struct nt_matrix *bandwidth;
};

static void matrices_fini(struct matrices *m)
{
    for (size_t k = 0; k < m->larger_sizes; k++)
        nt_matrix_destroy(m->larger[k]);
    free(m->larger);
    free(m->bytes);
    nt_matrix_destroy(m->bandwidth);
    nt_named_matrix_destroy(m->latency);
    nt_named_matrix_destroy(m->rates);
}

/* Returns the text with the names of hosts. */
static const struct nt_named_matrix *first_text(const struct matrices *m)
{
    return m->latency != NULL ? m->latency : m->rates;
}

static int arrange_matrix(const struct matrices *m, const char *path,
                          const struct nt_named_matrix *from, const struct nt_matrix *which,
                          struct nt_matrix **out, struct nt_err *err)
{
    if (nt_matrix_arrange(which, &from->host, &first_text(m)->host, out, err) != 0)
        return nt_err_prefix(err, "%s", nt_file_name(path));
    return 0;
}

/* Adds the matrices of a text from index first on; index 0 has the smallest messages. */
static int add_sizes(struct matrices *m, const char *path, const struct nt_named_matrix *from,
                     size_t first, struct nt_err *err)
{
    size_t most = m->larger_sizes + from->larger_sizes + 1;
    struct nt_matrix **grown = realloc(m->larger, most * sizeof *grown);
    if (grown != NULL)
        m->larger = grown;
    double *bytes = realloc(m->bytes, (most + 1) * sizeof *bytes);
    if (bytes != NULL)
        m->bytes = bytes;
    if (grown == NULL || bytes == NULL)
        return nt_err_memory(err);
    if (first > 0)
        bytes[0] = from->message_bytes;
    for (size_t k = first; k <= from->larger_sizes; k++, m->larger_sizes++) {
        bytes[m->larger_sizes + 1] = k == 0 ? from->message_bytes : from->larger_bytes[k - 1];
        if (arrange_matrix(m, path, from, k == 0 ? from->matrix : from->larger[k - 1],
                           &m->larger[m->larger_sizes], err) != 0)
            return -1;
    }
    return 0;
}

/* Returns the sizes if all are known and ascending. */
static const double *known_bytes(const struct matrices *m)
{
    double last = -1;
    for (size_t k = 0; m->bytes != NULL && k <= m->larger_sizes; k++) {
        if (!(m->bytes[k] > last))
            return NULL;
        last = m->bytes[k];
    }
    return m->bytes;
}

/* Returns the format of --from, unless it cannot contain this kind of values; then it applies to
 * the other kind. */
static enum nt_matrix_text text_of(const struct arguments *a, enum nt_matrix_text unfit)
{
    return a->text == unfit ? NT_TEXT_ANY : a->text;
}

/* Reads the k-th text; --message-bytes sets the size of its messages. */
static int read_latency(const struct arguments *a, size_t k, struct nt_named_matrix **out,
                        struct nt_err *err)
{
    if (nt_matrices_read(a->latency[k], text_of(a, NT_TEXT_MPIGRAPH), NT_MATRIX_LATENCY_US,
                         &a->given[NT_MATRIX_LATENCY_US], out, err) != 0)
        return -1;
    if (a->message[0] == NULL)
        return 0;
    if (isnan((*out)->message_bytes)) {
        (*out)->message_bytes = a->message_bytes[k];
        return 0;
    }
    nt_named_matrix_destroy(*out);
    *out = NULL;
    return nt_err_set(err, NT_ERR_USAGE,
                      "--message-bytes: %s contains its message sizes. Omit the option.",
                      nt_file_name(a->latency[k]));
}

static int read_latencies(const struct arguments *a, struct matrices *m, struct nt_err *err)
{
    if (read_latency(a, 0, &m->latency, err) != 0 ||
        add_sizes(m, a->latency[0], m->latency, 1, err) != 0)
        return -1;
    for (size_t k = 1; k < LATENCY_FILES_MAX && a->latency[k] != NULL; k++) {
        struct nt_named_matrix *more;
        if (read_latency(a, k, &more, err) != 0)
            return -1;
        int rc = add_sizes(m, a->latency[k], more, 0, err);
        nt_named_matrix_destroy(more);
        if (rc != 0)
            return -1;
    }
    return 0;
}

static int read_bandwidths(const struct arguments *a, struct matrices *m, struct nt_err *err)
{
    if (nt_matrices_read(a->bandwidth, text_of(a, NT_TEXT_PARUS), NT_MATRIX_BANDWIDTH_MBPS,
                         &a->given[NT_MATRIX_BANDWIDTH_MBPS], &m->rates, err) != 0)
        return -1;
    return arrange_matrix(m, a->bandwidth, m->rates, m->rates->matrix, &m->bandwidth, err);
}

static int read_names(struct arguments *a, struct nt_name_file *names, struct nt_err *err)
{
    if (nt_names_read(a->names, names, err) != 0)
        return -1;
    if (names->by_guid)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: expected a host name, found a GUID before it",
                          nt_file_name(a->names), names->entry[0].line);
    for (size_t k = 0; k < 2; k++)
        a->given[k].names = names;
    return 0;
}

/* Selects the matrix for the latencies of links, or all. */
static int choose_lengths(struct arguments *a, const struct matrices *m, struct nt_err *err)
{
    struct nt_published *p = &a->published;
    double bytes = NAN;
    if (a->lengths == NULL)
        return 0;
    p->lengths = strcmp(a->lengths, "mean") == 0     ? NT_PARUS_MEAN
                 : strcmp(a->lengths, "median") == 0 ? NT_PARUS_MEDIAN
                                                     : NT_PARUS_OF_SIZE;
    if (p->lengths != NT_PARUS_OF_SIZE)
        return 0;
    if (nt_command_line_bytes("lengths", a->lengths, 0, MESSAGE_MAX, &bytes, err) != 0)
        return -1;
    for (p->size = 0; p->size <= m->larger_sizes; p->size++)
        if (m->bytes[p->size] == bytes)
            return 0;
    return nt_err_set(err, NT_ERR_INPUT,
                      "%s: expected a matrix of messages of %g bytes, found none",
                      nt_file_name(a->latency[0]), bytes);
}

/* In 1 ns a core reads its own cache, and light travels 0.3 m: nothing between two hosts or two
 * cores is faster. */
static const float LEAST_US = 1e-3F;

/* Warns if no latency is possible, as in a matrix in seconds that is read as one in us. */
static int warn_of_unit(const struct nt_matrix *latency, struct nt_map *map, struct nt_err *err)
{
    float most = 0;
    for (size_t k = 0; k < latency->n * latency->n; k++)
        most = fmaxf(most, latency->at[k]); /* not NaN */
    return !(most > 0) || most >= LEAST_US
               ? 0
               : nt_map_warn(map, err,
                             "all latencies are below 1 ns, in which light travels 0.3 m. If the "
                             "values are not in us, pass their unit with --unit.");
}

static int solve_matrices(struct arguments *a, struct nt_map **map, struct nt_err *err)
{
    struct matrices m = {0};
    struct nt_method method;
    size_t files = 1;
    while (files < LATENCY_FILES_MAX && a->latency[files] != NULL)
        files++;
    struct nt_name_file names = {0};
    int rc = nt_published_check(&a->published, files, err); /* before long files are read */
    if (rc == 0 && a->names != NULL)
        rc = read_names(a, &names, err);
    if (rc == 0 && a->latency[0] != NULL)
        rc = read_latencies(a, &m, err);
    if (rc == 0 && a->bandwidth != NULL)
        rc = read_bandwidths(a, &m, err);
    if (rc == 0)
        rc = choose_lengths(a, &m, err);
    bool sized = m.larger_sizes > 0 || a->message[0] != NULL;
    if (rc == 0) {
        struct nt_solve_input measured = {
            .latency = m.latency == NULL ? NULL : m.latency->matrix,
            .larger = (const struct nt_matrix *const *)m.larger,
            .larger_sizes = m.larger_sizes,
            .bandwidth = m.bandwidth,
            .contended = m.rates != NULL && m.rates->contended,
            .rate_bytes = m.rates == NULL ? 0 : m.rates->message_bytes,
            .host_name = first_text(&m)->host.name,
            .pattern = "",
            .method = nt_published_method(&a->published, &method) ? &method : NULL,
        };
        nt_terminal_progress("solving %zu hosts", first_text(&m)->host.count);
        rc = nt_solve_sized(&measured, sized ? known_bytes(&m) : NULL, map, err);
    }
    if (rc == 0 && m.latency != NULL && warn_of_unit(m.latency->matrix, *map, err) != 0) {
        nt_map_destroy(*map);
        rc = -1;
    }
    nt_name_file_fini(&names);
    matrices_fini(&m);
    return rc;
}

/* ---- the command line ---- */

/* Checks that there are as many message sizes as matrices, ascending, and that they are used. */
static int check_messages(struct arguments *a, struct nt_err *err)
{
    double last = -1;
    size_t k = 0;
    for (; k < LATENCY_FILES_MAX && a->message[k] != NULL; k++) {
        if (nt_command_line_bytes("message-bytes", a->message[k], 0, MESSAGE_MAX,
                                  &a->message_bytes[k], err) != 0)
            return -1;
        if (a->latency[k] == NULL || !(a->message_bytes[k] > last))
            return nt_err_set(
                err, NT_ERR_USAGE,
                "--message-bytes: expected one per --latency, each larger than the one before");
        last = a->message_bytes[k];
    }
    if (k > 0 && k < LATENCY_FILES_MAX && a->latency[k] != NULL)
        return nt_err_set(err, NT_ERR_USAGE, "--message-bytes: expected one per --latency");
    if (k == 1 && a->bandwidth == NULL)
        return nt_err_set(err, NT_ERR_USAGE,
                          "--message-bytes requires --bandwidth, or --latency of several sizes");
    if (k > 0 && strcmp(a->published.name, "parus") == 0)
        return nt_err_set(err, NT_ERR_USAGE,
                          "--message-bytes cannot be combined with --method parus");
    return 0;
}

/* Checks that options for units and round trips match the given matrices. */
static int check_given(struct arguments *a, struct nt_err *err)
{
    const bool there[2] = {[NT_MATRIX_LATENCY_US] = a->latency[0] != NULL,
                           [NT_MATRIX_BANDWIDTH_MBPS] = a->bandwidth != NULL};
    for (size_t k = 0; k < 2 && a->unit[k] != NULL; k++) {
        enum nt_matrix_kind kind;
        double factor;
        if (!nt_unit_named(a->unit[k], strlen(a->unit[k]), &kind, &factor))
            return nt_err_set(
                err, NT_ERR_USAGE,
                "--unit %.32s: expected ns, us, ms or s, or MB/s, MiB/s, GB/s, GiB/s, "
                "Mbit/s or Gbit/s",
                a->unit[k]);
        if (!there[kind])
            return nt_err_set(err, NT_ERR_USAGE, "--unit %.32s requires --%s", a->unit[k],
                              kind == NT_MATRIX_LATENCY_US ? "latency" : "bandwidth");
        if (a->given[kind].factor > 0)
            return nt_err_set(
                err, NT_ERR_USAGE,
                "--unit %.32s: expected one unit for latencies and one for bandwidths", a->unit[k]);
        a->given[kind].factor = factor;
    }
    if (a->round_trip && !there[NT_MATRIX_LATENCY_US])
        return nt_err_set(err, NT_ERR_USAGE, "--round-trip requires --latency");
    a->given[NT_MATRIX_LATENCY_US].round_trip = a->round_trip;
    size_t inputs = a->bandwidth != NULL && strcmp(a->bandwidth, "-") == 0;
    for (size_t k = 0; k < LATENCY_FILES_MAX && a->latency[k] != NULL; k++)
        inputs += strcmp(a->latency[k], "-") == 0;
    return inputs <= 1 ? 0
                       : nt_err_set(err, NT_ERR_USAGE, "-: standard input can be read only once");
}

static int read_options(int argc, char **argv, struct arguments *a, struct nt_err *err)
{
    if (nt_command_line_options(argc, argv, flags, a, err) != 0)
        return -1;
    a->published = nt_published_named(a->method);
    if (a->lengths != NULL && (strcmp(a->method, "parus") != 0 || a->latency[0] == NULL))
        return nt_err_set(err, NT_ERR_USAGE, "--lengths requires --method parus and --latency");
    if (nt_command_line_number("epsilon", a->epsilon, -INFINITY, INFINITY, &a->published.epsilon,
                               err) != 0 ||
        nt_command_line_number("eps-shared", a->shared, -INFINITY, INFINITY,
                               &a->published.eps_shared, err) != 0 ||
        nt_command_line_number("eps-duplex", a->duplex, -INFINITY, INFINITY,
                               &a->published.eps_duplex, err) != 0 ||
        check_messages(a, err) != 0 || check_given(a, err) != 0)
        return -1;
    return nt_matrix_text_named(a->from, &a->text, err);
}

static int solve_run(int argc, char **argv, struct nt_err *err)
{
    struct arguments a = {.method = "auto", .output = "-"};
    if (read_options(argc, argv, &a, err) != 0)
        return -1;
    bool matrices = a.latency[0] != NULL || a.bandwidth != NULL;
    if ((a.samples != NULL) == matrices)
        return nt_err_set(err, NT_ERR_USAGE,
                          matrices ? "SAMPLES cannot be combined with --latency or --bandwidth"
                                   : "no measurements given. Pass SAMPLES, --latency FILE or "
                                     "--bandwidth FILE.");
    if (a.samples != NULL && (a.from != NULL || a.names != NULL))
        return nt_err_set(err, NT_ERR_USAGE, "--%s requires --latency or --bandwidth",
                          a.from != NULL ? "from" : "names");
    if (a.latency[0] == NULL && matrices &&
        nt_published_method(&a.published, &(struct nt_method){0}))
        return nt_err_set(err, NT_ERR_USAGE, "--method requires --latency");
    struct nt_map *map;
    char *text;
    size_t bytes;
    int rc = a.samples != NULL ? solve_samples(&a, &map, err) : solve_matrices(&a, &map, err);
    nt_terminal_progress(NULL);
    if (rc != 0)
        return -1;
    rc = nt_map_write(map, false, &text, &bytes, err);
    nt_map_destroy(map);
    if (rc != 0)
        return -1;
    return nt_file_write_text(a.output, text, bytes, err);
}

const struct nt_verb nt_verb_solve = {"solve", "build a map from measurements", &help, solve_run};
