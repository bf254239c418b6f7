/* SPDX-License-Identifier: Apache-2.0 */
#include "estimate.h"

#include "estimate_json.h"
#include "estimate_routes.h"
#include "files.h"
#include "routes_text.h"
#include "terminal.h"
#include "verbs.h"

static const char help[] =
    "usage: nettopo estimate [-o FILE] --routes FILE --measured FILE\n"
    "\n"
    "The latencies of links, of runs of links that are known as a sum only, and of all pairs that\n"
    "follow from the measurements, with standard errors. Routes are lines HOST HOST LINK "
    "[LINK...]\n"
    "(both directions of a pair may be given: a measurement is then the mean of the two paths),\n"
    "measurements are lines HOST HOST LATENCY_US, one way.\n"
    "\n"
    "  --routes FILE     - is standard input\n"
    "  --measured FILE   pairs of the routes; one measured several times counts several times\n"
    "  -o, --output FILE JSON, written whole or not at all; default -\n"
    "\n"
    "Example: nettopo estimate --routes routes.txt --measured measured.txt\n";

static int estimate_text(const char *routes_path, const char *measured_path, char **text,
                         size_t *bytes, struct nt_err *err)
{
    const struct nt_text_source from[2] = {nt_file_source(routes_path),
                                           nt_file_source(measured_path)};
    struct nt_routes_text *routes;
    struct nt_measured *measured = NULL;
    struct nt_estimate *e = NULL;
    if (nt_routes_read(&from[0], &routes, err) != 0)
        return -1;
    int rc = nt_measured_read(&from[1], routes, &measured, err);
    if (rc == 0) {
        nt_terminal_progress("estimating %zu links", routes->routes->links);
        rc = nt_estimate_routes(routes->routes, measured, &e, err);
        nt_terminal_progress(NULL);
    }
    if (rc == 0)
        rc = nt_estimate_write(e, routes->hosts.name, routes->links.name, text, bytes, err);
    nt_estimate_destroy(e);
    nt_measured_destroy(measured);
    nt_routes_text_destroy(routes);
    return rc;
}

static int estimate_run(int argc, char **argv, struct nt_err *err)
{
    const char *routes = NULL, *measured = NULL, *output = "-";
    const struct nt_flag flags[] = {{"routes", 0, &routes, NULL},
                                    {"measured", 0, &measured, NULL},
                                    {"output", 'o', &output, NULL}};
    char *text;
    size_t bytes;
    if (nt_command_line_options(argc, argv, flags, sizeof flags / sizeof *flags, NULL, 0, err) != 0)
        return -1;
    if (routes == NULL || measured == NULL)
        return nt_err_set(err, NT_ERR_USAGE, "expected --routes FILE and --measured FILE");
    if (estimate_text(routes, measured, &text, &bytes, err) != 0)
        return -1;
    return nt_file_write_text(output, text, bytes, err);
}

const struct nt_verb nt_verb_estimate = {"estimate", "measurements over routes to link latencies",
                                         help, estimate_run};
