/* SPDX-License-Identifier: Apache-2.0 */
#include "export.h"

#include <stdbool.h>
#include <string.h>

#include "deviation_dot.h"
#include "draw.h"
#include "files.h"
#include "html.h"
#include "inside.h"
#include "matrix_csv.h"
#include "prior.h"
#include "reference.h"
#include "reference_match.h"
#include "svg.h"
#include "terminal.h"
#include "verbs.h"

static const char help[] =
    "usage: nettopo export --format FORMAT [--reference FILE] [-o FILE] [MAP]\n"
    "\n"
    "Writes a map for other programs. MAP defaults to $NETTOPO_MAP.\n"
    "\n"
    "  -f, --format FORMAT     one of\n"
    "      dot                 Graphviz\n"
    "      svg                 a picture for a document\n"
    "      html                a page to look into, complete in itself\n"
    "      tgf                 Trivial Graph Format\n"
    "      graphml             GraphML\n"
    "      topology.conf       Slurm's topology/tree\n"
    "      topology.yaml       the same for Slurm 25.05 and newer\n"
    "      prior               what sweeps of these hosts start from (nettopo.conf(5))\n"
    "      csv                 the modelled latencies of all pairs\n"
    "  -r, --reference FILE    as in nettopo compare. svg: what differs is in the strong colour;\n"
    "                          html: the reference is also drawn beside the map; dot: the "
    "reference\n"
    "                          is drawn, coloured as by compare --coloured\n"
    "  -i, --inside            tgf and graphml: with the packages, memory nodes and cores of "
    "hosts\n"
    "                          whose model the map has\n"
    "  -o, --output FILE       written whole or not at all; default -\n"
    "\n"
    "Example: nettopo export --format svg -o map.svg map.json\n";

struct arguments {
    const char *format, *reference, *output, *map;
    bool inside;
};

static int to_dot(const struct nt_map *map, char **text, size_t *bytes, struct nt_err *err)
{
    return nt_export_dot(map, NULL, text, bytes, err);
}

/* The modelled latencies, as a matrix that `nettopo solve --latency` reads. */
static int to_csv(const struct nt_map *map, char **text, size_t *bytes, struct nt_err *err)
{
    struct nt_matrix *latency;
    if (nt_model_latencies(map->model, &latency, err) != 0)
        return -1;
    int rc = nt_matrix_csv_write(latency, (const char *const *)map->host_name, text, bytes, err);
    nt_matrix_destroy(latency);
    return rc;
}

/* Where the next sweep of these hosts starts. */
static int to_prior(const struct nt_map *map, char **text, size_t *bytes, struct nt_err *err)
{
    struct nt_prior *prior;
    if (nt_prior_of_map(map, NULL, &prior, err) != 0)
        return -1;
    int rc = nt_prior_write(prior, text, bytes, err);
    nt_prior_destroy(prior);
    return rc;
}

static const struct {
    const char *name;
    int (*write)(const struct nt_map *, char **, size_t *, struct nt_err *);
} formats[] = {{"dot", to_dot},
               {"csv", to_csv},
               {"tgf", nt_export_tgf},
               {"graphml", nt_export_graphml},
               {"prior", to_prior},
               {"topology.conf", nt_export_topology_conf},
               {"topology.yaml", nt_export_topology_yaml}};

static nt_picture_writer *picture_writer(const char *format)
{
    return strcmp(format, "html") == 0  ? nt_html_write
           : strcmp(format, "svg") == 0 ? nt_svg_write
                                        : NULL;
}

static int draw_picture(const struct arguments *a, const struct nt_map *map,
                        const struct nt_map *reference, char **text, size_t *bytes,
                        struct nt_err *err)
{
    const char *name = a->map == NULL || a->reference == NULL ? "this map" : a->map;
    nt_terminal_progress("drawing");
    int rc =
        nt_draw(map, name, reference, a->reference, picture_writer(a->format), text, bytes, err);
    nt_terminal_progress(NULL);
    return rc;
}

static int draw_coloured(const struct arguments *a, const struct nt_map *map,
                         const struct nt_map *reference, char **text, size_t *bytes,
                         struct nt_err *err)
{
    struct nt_reference_match *match;
    if (nt_reference_match_create(map, reference, 0, &match, err) != 0)
        return nt_err_prefix(err, "%s", nt_file_name(a->reference));
    int rc = nt_deviation_dot_make(match, 0, text, bytes, err);
    nt_reference_match_destroy(match);
    return rc;
}

static int write_beside(const struct arguments *a, const struct nt_map *map, char **text,
                        size_t *bytes, struct nt_err *err)
{
    struct nt_map *reference;
    bool drawn = picture_writer(a->format) != NULL;
    if (!drawn && strcmp(a->format, "dot") != 0)
        return nt_err_set(err, NT_ERR_USAGE, "--reference: goes with dot, svg or html, not with %s",
                          a->format);
    if (nt_reference_read(a->reference, &reference, err) != 0)
        return -1;
    int rc = (drawn ? draw_picture : draw_coloured)(a, map, reference, text, bytes, err);
    nt_map_destroy(reference);
    return rc;
}

static int write_as(const struct arguments *a, const struct nt_map *map, char **text, size_t *bytes,
                    struct nt_err *err)
{
    if (a->reference != NULL)
        return write_beside(a, map, text, bytes, err);
    if (picture_writer(a->format) != NULL)
        return draw_picture(a, map, NULL, text, bytes, err);
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        if (strcmp(a->format, formats[k].name) == 0)
            return formats[k].write(map, text, bytes, err);
    return nt_err_set(err, NT_ERR_SYSTEM, "format %s", a->format);
}

/* Hosts opened up, before it is written. */
static int write_inside(const struct arguments *a, const struct nt_map *map, char **text,
                        size_t *bytes, struct nt_err *err)
{
    struct nt_map *whole;
    if (nt_inside_create(map, &whole, err) != 0)
        return -1;
    int rc = write_as(a, whole, text, bytes, err);
    nt_map_destroy(whole);
    return rc;
}

static int check_options(const struct arguments *a, struct nt_err *err)
{
    if (a->format == NULL)
        return nt_err_set(err, NT_ERR_USAGE, "expected --format");
    if (a->inside && strcmp(a->format, "tgf") != 0 && strcmp(a->format, "graphml") != 0)
        return nt_err_set(err, NT_ERR_USAGE, "--inside: goes with tgf or graphml, not with %s",
                          a->format);
    if (picture_writer(a->format) != NULL)
        return 0;
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        if (strcmp(a->format, formats[k].name) == 0)
            return 0;
    return nt_err_set(err, NT_ERR_USAGE,
                      "format %s: expected dot, svg, html, tgf, graphml, csv, prior, "
                      "topology.conf or topology.yaml",
                      a->format);
}

static int export_run(int argc, char **argv, struct nt_err *err)
{
    struct arguments a = {.output = "-"};
    const struct nt_flag flags[] = {{"format", 'f', &a.format, NULL},
                                    {"reference", 'r', &a.reference, NULL},
                                    {"inside", 'i', NULL, &a.inside},
                                    {"output", 'o', &a.output, NULL}};
    struct nt_map *map;
    char *text;
    size_t bytes;
    if (nt_command_line_options(argc, argv, flags, sizeof flags / sizeof *flags, &a.map, 1, err) !=
        0)
        return -1;
    if (check_options(&a, err) != 0 || nt_file_read_map(a.map, &map, err) != 0)
        return -1;
    int rc = (a.inside ? write_inside : write_as)(&a, map, &text, &bytes, err);
    nt_map_destroy(map);
    if (rc != 0)
        return -1;
    return nt_file_write_text(a.output, text, bytes, err);
}

const struct nt_verb nt_verb_export = {"export", "a map for other programs", help, export_run};
