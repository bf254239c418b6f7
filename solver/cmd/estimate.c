/* SPDX-License-Identifier: Apache-2.0 */
#include "estimate.h"

#include <stdbool.h>

#include "estimate_json.h"
#include "estimate_routes.h"
#include "files.h"
#include "memory.h"
#include "routes_text.h"
#include "terminal.h"
#include "verbs.h"

static const char help[] =
    "usage: nettopo estimate [--one-way] [-o FILE] --routes FILE --measured FILE\n"
    "\n"
    "The latencies of links, of runs of links that are known as a sum only, and of all pairs that\n"
    "follow from the measurements, with standard errors. Routes are lines HOST HOST LINK "
    "[LINK...]\n"
    "(both directions of a pair may be given: a measurement is then the mean of the two paths),\n"
    "measurements are lines HOST HOST LATENCY_US, or the samples of nettopo-probe --plan or of\n"
    "another sweep. If the two paths of a pair differ, each way is given, too, where it follows\n"
    "from the measurements.\n"
    "\n"
    "  --routes FILE     - is standard input\n"
    "  --measured FILE   pairs of the routes; one measured several times counts several times\n"
    "  --one-way         a measurement is from its first host to its second, over that route\n"
    "                    alone: synchronised clocks, simulators\n"
    "  -o, --output FILE JSON, written whole or not at all; default -\n"
    "\n"
    "Example: nettopo estimate --routes routes.txt --measured measured.txt\n";

/* One way a host of the routes is there as a source and as a target, under one name. */
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

static int estimate_text(const char *const path[2], bool one_way, char **text, size_t *bytes,
                         struct nt_err *err)
{
    const struct nt_text_source from[2] = {nt_file_source(path[0]), nt_file_source(path[1])};
    const struct nt_routes_wanted wanted = {.one_way = one_way};
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
    const char *path[2] = {NULL, NULL}, *output = "-";
    bool one_way = false;
    const struct nt_flag flags[] = {{"routes", 0, &path[0], NULL},
                                    {"measured", 0, &path[1], NULL},
                                    {"one-way", 0, NULL, &one_way},
                                    {"output", 'o', &output, NULL}};
    char *text;
    size_t bytes;
    if (nt_command_line_options(argc, argv, flags, sizeof flags / sizeof *flags, NULL, 0, err) != 0)
        return -1;
    if (path[0] == NULL || path[1] == NULL)
        return nt_err_set(err, NT_ERR_USAGE, "expected --routes FILE and --measured FILE");
    if (estimate_text(path, one_way, &text, &bytes, err) != 0)
        return -1;
    return nt_file_write_text(output, text, bytes, err);
}

const struct nt_verb nt_verb_estimate = {"estimate", "derive link latencies from measured pairs",
                                         help, estimate_run};
