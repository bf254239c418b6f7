/* SPDX-License-Identifier: Apache-2.0 */
#include "export.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comparison_report.h"
#include "cost.h"
#include "distance.h"
#include "files.h"
#include "html.h"
#include "inputs.h"
#include "inside.h"
#include "matrix_csv.h"
#include "prior.h"
#include "reference_match.h"
#include "svg.h"
#include "terminal.h"
#include "traffic.h"
#include "verbs.h"

struct arguments {
    const char *format, *probability, *output, *map;
    struct nt_network_description reference; /* path NULL: none */
    bool inside;
};

static const struct nt_flag flags[] = {
    {"format", 'f', "dot|svg|html|tgf|graphml|topology.conf|topology.yaml|prior|csv", NT_AT(format),
     1,
     "Output format (required): dot for Graphviz; svg, a picture for a document; html, a page to "
     "explore; tgf and graphml for graph programs; topology.conf or, from Slurm 25.05, "
     "topology.yaml; prior for later sweeps (nettopo.conf(5)); csv, the modelled latencies of all "
     "pairs, or the measured latencies if MAP is a measurement"},
    {"reference", 'r', "FILE", NT_AT(reference.path), 1,
     "Reference, as for nettopo compare: svg marks the differences, html also draws the reference, "
     "dot draws the reference as compare --coloured does"},
    NT_FLAG_NAMES(reference.names),
    NT_FLAG_TOPOLOGY("topology", reference.topology),
    {"inside", 'i', NULL, NT_AT(inside), 1,
     "Add packages, memory nodes and cores of hosts (tgf, graphml)"},
    {"probability", 0, "P", NT_AT(probability), 1,
     "Leave out links that are less probable than P (dot, svg, html)"},
    NT_FLAG_OUTPUT,
    NT_OPERANDS(map, 1)};

static const struct nt_command_help help = {
    "nettopo export --format FORMAT [OPTION...] [MAP]",
    "Convert a map for other programs. MAP defaults to $NETTOPO_MAP.\n", flags,
    "nettopo export --format svg -o map.svg map.json"};

/* ---- pictures with all that they show -------------------------------------------------------*/

/* Largest number of hosts for which the pattern's load is computed: alltoall of more hosts takes
 * long. */
enum { FOLLOWED_MAX = 1024 };

/* Computes the time that each link needs for its load by the pattern, with the ranks in the hint's
 * order and one per host: the longer of the two directions. bytes: load per direction. */
static bool loads_of(const struct nt_model *m, const double *bytes, double *load)
{
    bool timed = false;
    for (size_t k = 0; k < m->links; k++)
        timed = timed || m->link[k].bandwidth_MBps > 0;
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        bool back = l->bandwidth_back_MBps > 0;
        load[k] = timed
                      ? fmax(bytes[2 * k] / l->bandwidth_MBps,
                             bytes[2 * k + 1] / (back ? l->bandwidth_back_MBps : l->bandwidth_MBps))
                      : fmax(bytes[2 * k], bytes[2 * k + 1]);
    }
    return timed;
}

/* Returns the load per link; NULL if it is not known: no hint, or a pattern that is a file or needs
 * several ranks per host. */
static double *load_links(const struct nt_map *map, bool *is_time)
{
    const struct nt_placement *p = map->placement;
    const struct nt_model *m = map->model;
    struct nt_traffic *traffic = NULL;
    struct nt_distance *distance = NULL;
    struct nt_metrics metrics;
    struct nt_err ignored;
    size_t used = 0;
    if (p == NULL || p->hosts > FOLLOWED_MAX)
        return NULL;
    while (used < p->hosts && !m->missing[p->order[used]])
        used++;
    double *load = calloc(m->links + 1, sizeof *load);
    double *bytes = calloc(2 * m->links + 1, sizeof *bytes);
    if (load == NULL || bytes == NULL || strncmp(p->pattern, "matrix:", 7) == 0 ||
        nt_traffic_create(p->pattern, used, &traffic, &ignored) != 0 ||
        nt_distance_create(m, &distance, &ignored) != 0 ||
        nt_cost_loads(distance, traffic, p->order, bytes, &metrics, &ignored) != 0) {
        free(load);
        load = NULL;
    } else {
        *is_time = loads_of(m, bytes, load);
    }
    nt_traffic_destroy(traffic);
    nt_distance_destroy(distance);
    free(bytes);
    return load;
}

typedef int picture_writer(const struct nt_picture *picture, char **text, size_t *bytes,
                           struct nt_err *err);

static int draw_beside(struct nt_picture *picture, picture_writer *write, char **text,
                       size_t *bytes, struct nt_err *err)
{
    struct nt_reference_match *match;
    struct nt_remarks remarks = {0};
    char summary[160];
    if (nt_reference_match_create(picture->map, picture->reference, 0, &match, err) != 0)
        return nt_err_prefix(err, "%s", picture->title[1]);
    int rc = nt_remarks_create(match, picture->map, picture->reference, &remarks, err);
    if (rc == 0) {
        nt_comparison_report_summary(match, summary, sizeof summary);
        picture->summary = summary;
        picture->remark = remarks.remark;
        picture->remarks = remarks.count;
        rc = write(picture, text, bytes, err);
    }
    nt_remarks_fini(&remarks);
    nt_reference_match_destroy(match);
    return rc;
}

/* Adds the load of links and the differences to picture, which has its maps and titles, and writes
 * it. */
static int draw(struct nt_picture *picture, picture_writer *write, char **text, size_t *bytes,
                struct nt_err *err)
{
    nt_terminal_progress("drawing");
    double *load = load_links(picture->map, &picture->load_is_time);
    picture->load = load;
    int rc = picture->reference != NULL ? draw_beside(picture, write, text, bytes, err)
                                        : write(picture, text, bytes, err);
    free(load);
    nt_terminal_progress(NULL);
    return rc;
}

/* Removes links with a lower probability. */
static void drop_links(struct nt_model *m, double probability)
{
    size_t kept = 0;
    for (size_t k = 0; k < m->links; k++)
        if (!(m->link[k].probability < probability))
            m->link[kept++] = m->link[k];
    m->links = kept;
}

/* ---- formats --------------------------------------------------------------------------------*/

static int to_dot(const struct nt_map *map, char **text, size_t *bytes, struct nt_err *err)
{
    return nt_export_dot(map, NULL, text, bytes, err);
}

/* Draws the reference, coloured by its differences from the map. */
static int to_dot_beside(const struct arguments *a, const struct nt_map *map,
                         const struct nt_map *reference, char **text, size_t *bytes,
                         struct nt_err *err)
{
    struct nt_reference_match *match;
    if (nt_reference_match_create(map, reference, 0, &match, err) != 0)
        return nt_err_prefix(err, "%s", nt_file_name(a->reference.path));
    int rc = nt_comparison_report_dot(match, 0, text, bytes, err);
    nt_reference_match_destroy(match);
    return rc;
}

/* Writes the modelled latencies as a matrix that `nettopo solve --latency` reads. */
static int to_csv(const struct nt_map *map, char **text, size_t *bytes, struct nt_err *err)
{
    struct nt_matrix *latency;
    if (nt_model_latencies(map->model, &latency, err) != 0)
        return -1;
    int rc = nt_matrix_csv_write(latency, (const char *const *)map->host_name, text, bytes, err);
    nt_matrix_destroy(latency);
    return rc;
}

/* Writes the measured latencies as such a matrix. */
static int measured_to_csv(const char *path, char **text, size_t *bytes, struct nt_err *err)
{
    struct nt_named_matrix *m;
    if (nt_measurement_read(path, NT_MATRIX_LATENCY_US, 0, &m, err) != 0)
        return -1;
    int rc = nt_matrix_csv_write(m->matrix, m->host.name, text, bytes, err);
    nt_named_matrix_destroy(m);
    return rc;
}

/* Writes the prior for the next sweep of these hosts. */
static int to_prior(const struct nt_map *map, char **text, size_t *bytes, struct nt_err *err)
{
    struct nt_prior *prior;
    if (nt_prior_from_map(map, NULL, &prior, err) != 0)
        return -1;
    int rc = nt_prior_write(prior, text, bytes, err);
    nt_prior_destroy(prior);
    return rc;
}

/* A format is written by write or drawn by draw. inside: it supports the hardware of hosts.
 * refuse_format lists the formats in this order. */
static const struct format {
    const char *name;
    int (*write)(const struct nt_map *, char **, size_t *, struct nt_err *);
    picture_writer *draw;
    bool inside;
} formats[] = {
    {"dot", to_dot, NULL, false},
    {"svg", NULL, nt_svg_write, false},
    {"html", NULL, nt_html_write, false},
    {"tgf", nt_export_tgf, NULL, true},
    {"graphml", nt_export_graphml, NULL, true},
    {"csv", to_csv, NULL, false},
    {"prior", to_prior, NULL, false},
    {"topology.conf", nt_export_topology_conf, NULL, false},
    {"topology.yaml", nt_export_topology_yaml, NULL, false},
};

enum { FORMATS = sizeof formats / sizeof *formats };

static int write_beside(const struct arguments *a, const struct format *f, const struct nt_map *map,
                        char **text, size_t *bytes, struct nt_err *err)
{
    struct nt_map *reference;
    if (nt_reference_read(&a->reference, &reference, err) != 0)
        return -1;
    struct nt_picture picture = {.map = map,
                                 .reference = reference,
                                 .title = {a->map == NULL ? "this map" : a->map, a->reference.path},
                                 .summary = ""};
    int rc = f->draw != NULL ? draw(&picture, f->draw, text, bytes, err)
                             : to_dot_beside(a, map, reference, text, bytes, err);
    nt_map_destroy(reference);
    return rc;
}

/* Writes the map with the hardware of its hosts. */
static int write_inside(const struct format *f, const struct nt_map *map, char **text,
                        size_t *bytes, struct nt_err *err)
{
    struct nt_map *whole;
    if (nt_inside_create(map, &whole, err) != 0)
        return -1;
    int rc = f->write(whole, text, bytes, err);
    nt_map_destroy(whole);
    return rc;
}

/* format: the one that does not exist; NULL: none was given. */
static void refuse_format(const char *format, struct nt_err *err)
{
    char names[200] = "";
    for (size_t k = 0; k < FORMATS; k++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s",
                 k == 0             ? ""
                 : k + 1 == FORMATS ? " or "
                                    : ", ",
                 formats[k].name);
    }
    if (format == NULL)
        nt_err_set(err, NT_ERR_USAGE, "--format is required: %s", names);
    else
        nt_err_set(err, NT_ERR_USAGE, "--format %.64s: expected %s", format, names);
}

/* Returns the requested format if the other options are valid with it. */
static const struct format *find_format(const struct arguments *a, struct nt_err *err)
{
    const struct format *f = NULL;
    for (size_t k = 0; k < FORMATS && a->format != NULL; k++)
        if (strcmp(a->format, formats[k].name) == 0)
            f = &formats[k];
    if (f == NULL)
        refuse_format(a->format, err);
    else if (a->inside && !f->inside)
        nt_err_set(err, NT_ERR_USAGE, "--inside requires --format tgf or graphml, found %s",
                   a->format);
    else if (a->reference.path == NULL && (a->reference.topology || a->reference.names))
        nt_err_set(err, NT_ERR_USAGE, "--%s requires --reference",
                   a->reference.topology != NULL ? "topology" : "names");
    else if ((a->reference.path != NULL || a->probability != NULL) && f->draw == NULL &&
             f->write != to_dot)
        nt_err_set(err, NT_ERR_USAGE, "--%s requires --format dot, svg or html, found %s",
                   a->reference.path != NULL ? "reference" : "probability", a->format);
    else
        return f;
    return NULL;
}

static int export_run(int argc, char **argv, struct nt_err *err)
{
    struct arguments a = {.output = "-"};
    struct nt_map *map;
    char *text;
    size_t bytes;
    double probability = 0;
    if (nt_command_line_options(argc, argv, flags, &a, err) != 0 ||
        nt_command_line_number("probability", a.probability, 0, 1, &probability, err) != 0)
        return -1;
    const struct format *f = find_format(&a, err);
    if (f != NULL && f->write == to_csv && a.map != NULL && nt_is_measurement(a.map))
        return measured_to_csv(a.map, &text, &bytes, err) != 0
                   ? -1
                   : nt_file_write_text(a.output, text, bytes, err);
    if (f == NULL || nt_file_read_map(a.map, &map, err) != 0)
        return -1;
    drop_links(map->model, probability);
    struct nt_picture picture = {.map = map, .title = {"this map", NULL}, .summary = ""};
    int rc = a.reference.path != NULL ? write_beside(&a, f, map, &text, &bytes, err)
             : a.inside               ? write_inside(f, map, &text, &bytes, err)
             : f->draw != NULL        ? draw(&picture, f->draw, &text, &bytes, err)
                                      : f->write(map, &text, &bytes, err);
    nt_map_destroy(map);
    return rc == 0 ? nt_file_write_text(a.output, text, bytes, err) : -1;
}

const struct nt_verb nt_verb_export = {
    "export", "convert a map (html, svg, dot, topology.conf, ...)", &help, export_run};
