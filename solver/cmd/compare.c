/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "comparison_report.h"
#include "files.h"
#include "inputs.h"
#include "reference_match.h"
#include "strbuf.h"
#include "terminal.h"
#include "verbs.h"

static const char help[] =
    "usage: nettopo compare [--tolerance T] [--json] [--coloured DOT] [--message-bytes N]\n"
    "                       [--names FILE] [-o FILE] MAP REFERENCE\n"
    "\n"
    "Compares a map with a reference: another map, Graphviz DOT with link rates in Gbit/s, "
    "TGF,\n"
    "Slurm's topology.conf or topology.yaml, what scontrol show topology prints, or a scan of\n"
    "ibnetdiscover. Hosts are matched by name, switches by the hosts under them; a reference may\n"
    "have more hosts than the map. Exits with 1 if there are differences.\n"
    "\n"
    "  -t, --tolerance T    relative difference of a link's figure that counts; default 0.25\n"
    "  --json               the report as JSON\n"
    "  --coloured DOT       also write the reference, coloured by the measured times of the paths\n"
    "                       over each link: grey within a tenth of those of a healthy network or\n"
    "                       if one of the paths is, red below, blue over\n"
    "  --message-bytes N    of those times; default 1048576, and 8 for a map without bandwidths\n"
    "  --names FILE         of nodes of a scan of ibnetdiscover: lines 0xGUID \"NAME\"\n"
    "  -o, --output FILE    written whole or not at all; default -\n"
    "\n"
    "Example: nettopo compare map.json /etc/slurm/topology.conf\n";

struct arguments {
    const char *tolerance, *coloured, *message, *names, *output, *file[2];
    bool json;
};

static int write_report(const struct arguments *a, const struct nt_reference_match *match,
                        struct nt_err *err)
{
    struct nt_terminal terminal;
    char *text;
    size_t bytes;
    nt_terminal_look(&terminal);
    int rc = a->json ? nt_comparison_report_json(match, &text, &bytes, err)
                     : nt_comparison_report_text(match, &text, &bytes, err);
    if (rc == 0) {
        rc = nt_file_write(a->output, text, bytes, err);
        free(text);
    }
    return rc;
}

static int write_coloured(const struct arguments *a, const struct nt_reference_match *match,
                          double message_bytes, struct nt_err *err)
{
    char *text;
    size_t bytes;
    if (nt_comparison_report_dot(match, message_bytes, &text, &bytes, err) != 0)
        return -1;
    return nt_file_write_text(a->coloured, text, bytes, err);
}

static int compare_run(int argc, char **argv, struct nt_err *err)
{
    struct arguments a = {.tolerance = "0.25", .output = "-"};
    const struct nt_flag flags[] = {
        {"tolerance", 't', &a.tolerance, NULL}, {"json", 0, NULL, &a.json},
        {"coloured", 0, &a.coloured, NULL},     {"message-bytes", 0, &a.message, NULL},
        {"names", 0, &a.names, NULL},           {"output", 'o', &a.output, NULL}};
    double tolerance = 0, message = 0;
    struct nt_map *map = NULL, *reference = NULL;
    struct nt_reference_match *match = NULL;
    if (nt_command_line_options(argc, argv, flags, sizeof flags / sizeof *flags, a.file, 2, err) !=
            0 ||
        nt_command_line_number("tolerance", a.tolerance, 0, 1000, &tolerance, err) != 0 ||
        nt_command_line_number("message-bytes", a.message, 1, 1e12, &message, err) != 0)
        return -1;
    if (a.file[1] == NULL)
        return nt_err_set(err, NT_ERR_USAGE, "expected MAP REFERENCE, found %s",
                          a.file[0] == NULL ? "nothing" : "one file");
    int rc = nt_file_read_map(a.file[0], &map, err);
    if (rc == 0)
        rc = nt_reference_read(a.file[1], a.names, &reference, err);
    if (rc == 0 && (rc = nt_reference_match_create(map, reference, tolerance, &match, err)) != 0)
        nt_err_prefix(err, "%s and %s", nt_file_name(a.file[0]), nt_file_name(a.file[1]));
    if (rc == 0 && a.coloured != NULL)
        rc = write_coloured(&a, match, message, err);
    if (rc == 0)
        rc = write_report(&a, match, err);
    if (rc == 0 && nt_comparison_report_differs(match)) {
        nt_err_set(err, NT_ERR_NO, "%s", "");
        rc = -1;
    }
    nt_reference_match_destroy(match);
    nt_map_destroy(map);
    nt_map_destroy(reference);
    return rc;
}

const struct nt_verb nt_verb_compare = {"compare", "compare a map with a reference", help,
                                        compare_run};
