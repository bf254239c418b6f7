/* SPDX-License-Identifier: Apache-2.0 */
#include "estimate.h"

#include <stdbool.h>
#include <string.h>

#include "estimate_json.h"
#include "estimate_routes.h"
#include "files.h"
#include "memory.h"
#include "routes_text.h"
#include "terminal.h"
#include "verbs.h"

struct arguments {
    const char *routes, *measured, *output;
    bool one_way, json;
};

static const struct nt_flag flags[] = {
    {"routes", 0, "FILE", NT_AT(routes), 1, "File of routes, or - for standard input (required)"},
    {"measured", 0, "FILE", NT_AT(measured), 1,
     "File of measurements (required). A pair that is there several times counts several times"},
    {"one-way", 0, NULL, NT_AT(one_way), 1,
     "Take each measurement as the latency from its first host to its second, as synchronised "
     "clocks or a simulator give it"},
    {"json", 0, NULL, NT_AT(json), 1, "Print JSON, which is the only format"},
    NT_FLAG_OUTPUT,
    {0}};

static const struct nt_command_help help = {
    "nettopo estimate [OPTION...] --routes FILE --measured FILE",
    "Compute latencies with standard errors: of each link, of chains of links that are known only "
    "as a sum, and of every pair that follows from the measurements.\n"
    "\n"
    "Routes are lines HOST HOST LINK [LINK...]. If both directions of a pair are given, a "
    "measurement is the mean of the two paths, and each direction is estimated, too, if the "
    "measurements determine it. Measurements are lines HOST HOST LATENCY_US, or the samples of "
    "nettopo-probe --plan or of another sweep.\n",
    flags, "nettopo estimate --routes routes.txt --measured measured.txt"};

/* Returns the names of the routes' hosts. With one-way routes each host appears as source and as
 * target with the same name. */
static const char **host_names(const struct nt_routes_text *routes, struct nt_arena *memory)
{
    const char **name = nt_arena_array(memory, 2 * routes->hosts.count + 1, sizeof *name);
    for (uint32_t h = 0; name != NULL && h < routes->hosts.count; h++)
        if (routes->one_way)
            name[nt_routes_source(h)] = name[nt_routes_target(h)] = routes->hosts.name[h];
        else
            name[h] = routes->hosts.name[h];
    return name;
}

static int write_estimate(const struct nt_estimate *e, const struct nt_routes_text *routes,
                          char **text, size_t *bytes, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    const char **host = host_names(routes, &memory);
    return nt_arena_check(&memory, err) != 0
               ? -1
               : nt_estimate_write(e, host, routes->links.name, text, bytes, err);
}

static int estimate_text(const struct arguments *a, char **text, size_t *bytes, struct nt_err *err)
{
    const struct nt_text_source from[2] = {nt_file_source(a->routes), nt_file_source(a->measured)};
    const struct nt_routes_wanted wanted = {.one_way = a->one_way};
    struct nt_routes_text *routes;
    struct nt_measured *measured = NULL;
    struct nt_estimate *e = NULL;
    if (nt_routes_read(&from[0], &wanted, &routes, err) != 0)
        return -1;
    int rc = nt_measured_read(&from[1], routes, &measured, err);
    if (rc == 0) {
        nt_terminal_progress("estimating %zu links", routes->routes->links);
        rc = nt_estimate_routes(routes->routes, measured, &e, err);
        nt_terminal_progress(NULL);
    }
    if (rc == 0)
        rc = write_estimate(e, routes, text, bytes, err);
    nt_estimate_destroy(e);
    nt_measured_destroy(measured);
    nt_routes_text_destroy(routes);
    return rc;
}

static int estimate_run(int argc, char **argv, struct nt_err *err)
{
    struct arguments a = {.output = "-"};
    char *text;
    size_t bytes;
    if (nt_command_line_options(argc, argv, flags, &a, err) != 0)
        return -1;
    if (a.routes == NULL || a.measured == NULL)
        return nt_err_set(err, NT_ERR_USAGE, "--routes FILE and --measured FILE are required");
    if (strcmp(a.routes, "-") == 0 && strcmp(a.measured, "-") == 0)
        return nt_err_set(err, NT_ERR_USAGE, "-: standard input can be read only once");
    if (estimate_text(&a, &text, &bytes, err) != 0)
        return -1;
    return nt_file_write_text(a.output, text, bytes, err);
}

const struct nt_verb nt_verb_estimate = {"estimate", "derive link latencies from measured pairs",
                                         &help, estimate_run};
