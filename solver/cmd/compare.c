/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "comparison_report.h"
#include "deviation.h"
#include "deviation_text.h"
#include "file_write.h"
#include "files.h"
#include "inputs.h"
#include "reference_match.h"
#include "strbuf.h"
#include "verbs.h"

struct arguments {
    const char *tolerance, *coloured, *message, *names, *topology, *raster, *output, *file[2];
    bool json, bandwidth;
    double least, message_bytes; /* values of --tolerance and --message-bytes */
};

static const struct nt_flag flags[] = {
    {"tolerance", 0, "T", NT_AT(tolerance), 1,
     "Relative difference above which a value is reported (default 0.25)"},
    {"json", 0, NULL, NT_AT(json), 1, "Print the report as JSON"},
    {"coloured", 0, "DOT", NT_AT(coloured), 1,
     "Also write the reference as DOT, coloured by the measured times of the paths over each link"},
    {"message-bytes", 0, "N", NT_AT(message), 1,
     "Message size for --coloured (default 1M, and 8 for a map without bandwidths). For "
     "measurements of several message sizes: the size to compare, otherwise the smallest is "
     "compared"},
    {"bandwidth", 0, NULL, NT_AT(bandwidth), 1,
     "Compare bandwidths in MB/s: of matrices, or of nettopo-probe --plan --bandwidth"},
    {"raster", 0, "SVG", NT_AT(raster), 1,
     "Also draw both measurements and their differences, one cell per pair"},
    NT_FLAG_NAMES(names),
    NT_FLAG_TOPOLOGY("topology", topology),
    NT_FLAG_OUTPUT,
    NT_OPERANDS(file, 2)};

static const struct nt_command_help help = {
    "nettopo compare [OPTION...] MAP REFERENCE\n"
    "nettopo compare [OPTION...] MEASURED MEASURED",
    "Compare a map with a reference: another map, Graphviz DOT with link rates in Gbit/s, TGF, "
    "Slurm's topology.conf or topology.yaml, the output of scontrol show topology, or a scan of "
    "ibnetdiscover. Hosts are matched by name, switches by the hosts under them. A reference may "
    "have more hosts than the map.\n"
    "\n"
    "Or compare two measurements of the same hosts, samples or matrices as solve reads them: "
    "deviations, quartiles, histograms, and the pairs that differ by more than the tolerance. The "
    "exit status is 1 if there are differences.\n",
    flags, "nettopo compare map.json topology.conf"};

/* ---- a map and a reference ---- */

static int write_report(const struct arguments *a, const struct nt_reference_match *match,
                        struct nt_err *err)
{
    char *text;
    size_t bytes;
    int rc = a->json ? nt_comparison_report_json(match, &text, &bytes, err)
                     : nt_comparison_report_text(match, &text, &bytes, err);
    if (rc == 0) {
        rc = nt_file_write(a->output, text, bytes, err);
        free(text);
    }
    return rc;
}

static int write_coloured(const struct arguments *a, const struct nt_reference_match *match,
                          struct nt_err *err)
{
    char *text;
    size_t bytes;
    if (nt_comparison_report_dot(match, a->message_bytes, &text, &bytes, err) != 0)
        return -1;
    return nt_file_write_text(a->coloured, text, bytes, err);
}

static int compare_maps(const struct arguments *a, struct nt_err *err)
{
    struct nt_map *map = NULL, *reference = NULL;
    struct nt_reference_match *match = NULL;
    if (a->bandwidth || a->raster != NULL)
        return nt_err_set(err, NT_ERR_USAGE, "--%s requires two measurements",
                          a->bandwidth ? "bandwidth" : "raster");
    int rc = nt_file_read_map(a->file[0], &map, err);
    if (rc == 0)
        rc = nt_reference_read(&(struct nt_network_description){a->file[1], a->names, a->topology},
                               &reference, err);
    if (rc == 0 && (rc = nt_reference_match_create(map, reference, a->least, &match, err)) != 0)
        nt_err_prefix(err, "%s and %s", nt_file_name(a->file[0]), nt_file_name(a->file[1]));
    if (rc == 0 && a->coloured != NULL)
        rc = write_coloured(a, match, err);
    if (rc == 0)
        rc = write_report(a, match, err);
    if (rc == 0 && nt_comparison_report_differs(match)) {
        nt_err_set(err, NT_ERR_NO, "%s", "");
        rc = -1;
    }
    nt_reference_match_destroy(match);
    nt_map_destroy(map);
    nt_map_destroy(reference);
    return rc;
}

/* ---- two measurements ---- */

struct measured {
    struct nt_named_matrix *all[2];
    struct nt_names hosts; /* hosts of both */
    struct nt_matrix *common[2];
};

static void measured_fini(struct measured *m)
{
    for (int k = 0; k < 2; k++) {
        nt_named_matrix_destroy(m->all[k]);
        nt_matrix_destroy(m->common[k]);
    }
    nt_names_fini(&m->hosts);
}

/* Extracts the values of the common hosts in their order. */
static int take_common(struct measured *m, int k, struct nt_err *err)
{
    const struct nt_named_matrix *from = m->all[k];
    size_t n = m->hosts.count;
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *at = nt_arena_array(&memory, n, sizeof *at);
    if (nt_arena_check(&memory, err) != 0 ||
        nt_matrix_create(n, from->matrix->kind, &m->common[k], err) != 0)
        return -1;
    for (size_t h = 0; h < n; h++)
        at[h] = nt_names_find(&from->host, m->hosts.name[h], strlen(m->hosts.name[h]));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            nt_matrix_set(m->common[k], i, j, nt_matrix_get(from->matrix, at[i], at[j]));
    return 0;
}

static int read_measured(const struct arguments *a, struct measured *m, struct nt_err *err)
{
    enum nt_matrix_kind kind = a->bandwidth ? NT_MATRIX_BANDWIDTH_MBPS : NT_MATRIX_LATENCY_US;
    uint32_t index;
    for (int k = 0; k < 2; k++)
        if (nt_measurement_read(a->file[k], kind, a->message_bytes, &m->all[k], err) != 0)
            return -1;
    const struct nt_names *host = &m->all[0]->host;
    for (size_t h = 0; h < host->count; h++) {
        size_t bytes = strlen(host->name[h]);
        if (nt_names_find(&m->all[1]->host, host->name[h], bytes) != NT_NAMES_NONE &&
            nt_names_add(&m->hosts, host->name[h], &index, err) < 0)
            return -1;
    }
    return take_common(m, 0, err) != 0 ? -1 : take_common(m, 1, err);
}

static int write_measured(const struct arguments *a, const struct nt_deviation_report *r,
                          struct nt_err *err)
{
    char *text;
    size_t bytes;
    if (a->raster != NULL && (nt_deviation_svg(r, &text, &bytes, err) != 0 ||
                              nt_file_write_text(a->raster, text, bytes, err) != 0))
        return -1;
    if ((a->json ? nt_deviation_json : nt_deviation_text)(r, &text, &bytes, err) != 0)
        return -1;
    return nt_file_write_text(a->output, text, bytes, err);
}

static int compare_measured(const struct arguments *a, struct nt_err *err)
{
    struct measured m = {0};
    struct nt_deviation d = {0};
    if (a->coloured != NULL || a->names != NULL || a->topology != NULL)
        return nt_err_set(err, NT_ERR_USAGE, "--%s requires a map and a reference",
                          a->coloured != NULL ? "coloured"
                          : a->names != NULL  ? "names"
                                              : "topology");
    int rc = read_measured(a, &m, err);
    if (rc == 0 && (rc = nt_deviation_init(&d, m.common[0], m.common[1], a->least, err)) != 0)
        nt_err_prefix(err, "%s and %s", nt_file_name(a->file[0]), nt_file_name(a->file[1]));
    if (rc == 0) {
        const struct nt_deviation_report report = {
            .deviation = &d,
            .first = m.common[0],
            .second = m.common[1],
            .host_name = m.hosts.name,
            .title = {nt_file_name(a->file[0]), nt_file_name(a->file[1])},
            .alone = {m.all[0]->host.count - m.hosts.count, m.all[1]->host.count - m.hosts.count},
            .tolerance = a->least};
        rc = write_measured(a, &report, err);
    }
    if (rc == 0 && d.differing > 0) {
        nt_err_set(err, NT_ERR_NO, "%s", "");
        rc = -1;
    }
    nt_deviation_fini(&d);
    measured_fini(&m);
    return rc;
}

static int compare_run(int argc, char **argv, struct nt_err *err)
{
    struct arguments a = {.tolerance = "0.25", .output = "-"};
    if (nt_command_line_options(argc, argv, flags, &a, err) != 0 ||
        nt_command_line_number("tolerance", a.tolerance, 0, 1000, &a.least, err) != 0 ||
        nt_command_line_bytes("message-bytes", a.message, 1, 1e12, &a.message_bytes, err) != 0)
        return -1;
    if (a.file[1] == NULL)
        return nt_err_set(err, NT_ERR_USAGE,
                          "missing %s: pass a map and a reference, or two measurements",
                          a.file[0] == NULL ? "files" : "second file");
    return nt_is_measurement(a.file[0]) ? compare_measured(&a, err) : compare_maps(&a, err);
}

const struct nt_verb nt_verb_compare = {"compare", "compare a map with a reference", &help,
                                        compare_run};
