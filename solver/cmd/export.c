#include "export.h"

#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "graphviz.h"
#include "html.h"
#include "terminal.h"
#include "verbs.h"

static const char help[] =
    "usage: nettopo export --format FORMAT [--reference MAP] [-o FILE] [MAP]\n"
    "\n"
    "Writes a map for other programs. MAP defaults to $NETTOPO_MAP.\n"
    "\n"
    "  --format dot            Graphviz\n"
    "           svg            a picture, drawn by Graphviz's neato (must be installed)\n"
    "           html           a page to look into, complete in itself\n"
    "           tgf            Trivial Graph Format\n"
    "           graphml        GraphML\n"
    "           topology.conf  Slurm's topology/tree\n"
    "           topology.yaml  the same for Slurm 25.05 and newer\n"
    "           csv            the modelled latencies of all pairs\n"
    "  --reference MAP         html: drawn beside the map, with what differs marked\n"
    "  -o, --output FILE       written whole or not at all; default -\n";

struct asked {
    const char *format, *reference, *output, *map;
};

static int to_dot(const struct nt_map *map, char **text, size_t *bytes, struct nt_err *err)
{
    return nt_export_dot(map, NULL, text, bytes, err);
}

static int to_svg(const struct nt_map *map, char **text, size_t *bytes, struct nt_err *err)
{
    char *dot;
    size_t dot_bytes;
    if (nt_export_dot(map, NULL, &dot, &dot_bytes, err) != 0)
        return -1;
    int rc = nt_graphviz_svg(dot, dot_bytes, text, bytes, err);
    free(dot);
    return rc;
}

static const struct {
    const char *name;
    int (*write)(const struct nt_map *, char **, size_t *, struct nt_err *);
} formats[] = {{"dot", to_dot},
               {"svg", to_svg},
               {"tgf", nt_export_tgf},
               {"graphml", nt_export_graphml},
               {"topology.conf", nt_export_topology_conf},
               {"topology.yaml", nt_export_topology_yaml}};

static int to_html(const struct asked *a, const struct nt_map *map, char **text, size_t *bytes,
                   struct nt_err *err)
{
    struct nt_map *reference = NULL;
    const char *titles[2] = {"this map", "reference"};
    if (a->reference != NULL) {
        if (nt_file_read_map(a->reference, &reference, err) != 0)
            return -1;
        titles[0] = a->map == NULL ? "this map" : a->map;
        titles[1] = a->reference;
    }
    nt_terminal_progress("drawing");
    int rc = nt_html_write(map, reference, titles, text, bytes, err);
    nt_terminal_progress(NULL);
    nt_map_destroy(reference);
    return rc;
}

static int write_as(const struct asked *a, const struct nt_map *map, char **text, size_t *bytes,
                    struct nt_err *err)
{
    if (strcmp(a->format, "html") == 0)
        return to_html(a, map, text, bytes, err);
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        if (strcmp(a->format, formats[k].name) == 0)
            return formats[k].write(map, text, bytes, err);
    return nt_err_set(err, NT_ERR_USAGE,
                      "format %s: expected dot, svg, html, tgf, graphml, topology.conf or "
                      "topology.yaml",
                      a->format);
}

static int run(int argc, char **argv, struct nt_err *err)
{
    struct asked a = {.output = "-"};
    const struct nt_flag flags[] = {{"format", 'f', &a.format, NULL},
                                    {"reference", 'r', &a.reference, NULL},
                                    {"output", 'o', &a.output, NULL}};
    struct nt_map *map;
    char *text;
    size_t bytes;
    if (nt_front_options(argc, argv, flags, sizeof flags / sizeof *flags, &a.map, 1, err) != 0)
        return -1;
    if (a.format == NULL)
        return nt_err_set(err, NT_ERR_USAGE, "expected --format");
    if (nt_file_read_map(a.map, &map, err) != 0)
        return -1;
    int rc = write_as(&a, map, &text, &bytes, err);
    nt_map_destroy(map);
    if (rc != 0)
        return -1;
    rc = nt_file_write(a.output, text, bytes, err);
    free(text);
    return rc;
}

const struct nt_verb nt_verb_export = {"export", "a map for other programs", help, run};
