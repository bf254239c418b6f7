/* SPDX-License-Identifier: Apache-2.0 */

#include "files.h"
#include "inputs.h"
#include "plan_json.h"
#include "plan_model.h"
#include "plan_routes.h"
#include "routes_text.h"
#include "terminal.h"
#include "verbs.h"

static const char help[] =
    "usage: nettopo plan [--redundancy R] [-o FILE] --routes FILE\n"
    "       nettopo plan [--redundancy R] [-o FILE] [FILE]\n"
    "\n"
    "Which pairs of hosts to measure so that the latencies of all pairs follow, and in which\n"
    "rounds: pairs of one round share no host and no link in either direction. Routes are lines\n"
    "HOST HOST LINK [LINK...]; both directions of a pair may be given. Without them the shortest\n"
    "paths of a network are taken: of a map (default $NETTOPO_MAP), DOT, ibnetdiscover's dump,\n"
    "topology.conf or topology.yaml; a tree may have any size.\n"
    "\n"
    "  --routes FILE     - is standard input\n"
    "  --redundancy R    R pairs for each independent one; 1 (default) is a minimal set, which\n"
    "                    amplifies noise, 2 to 4 are well-conditioned\n"
    "  -o, --output FILE JSON, written whole or not at all; default -\n"
    "\n"
    "Example: nettopo plan --redundancy 2 --routes routes.txt\n";

/* The same seed always: the plan is a function of the routes. */
enum { SEED = 1 };

static int plan_routes(const char *path, double redundancy, char **text, size_t *bytes,
                       struct nt_err *err)
{
    const struct nt_text_source source = nt_file_source(path);
    struct nt_routes_text *routes;
    struct nt_plan *plan;
    if (nt_routes_read(&source, &routes, err) != 0)
        return -1;
    nt_terminal_progress("planning over %zu pairs", routes->routes->pairs);
    int rc = nt_plan_routes(routes->routes, redundancy, SEED, &plan, err);
    nt_terminal_progress(NULL);
    if (rc == 0) {
        rc = nt_plan_write(plan, routes->hosts.name, text, bytes, err);
        nt_plan_destroy(plan);
    }
    nt_routes_text_destroy(routes);
    return rc;
}

static int plan_map(const char *path, double redundancy, char **text, size_t *bytes,
                    struct nt_err *err)
{
    struct nt_map *map;
    struct nt_plan *plan;
    path = nt_file_map_path(path, err);
    if (path == NULL || nt_reference_read(path, &map, err) != 0)
        return -1;
    nt_terminal_progress("planning over %zu hosts", map->model->hosts);
    int rc = nt_plan_model(map->model, redundancy, SEED, &plan, err);
    nt_terminal_progress(NULL);
    if (rc == 0) {
        rc = nt_plan_write(plan, (const char *const *)map->host_name, text, bytes, err);
        nt_plan_destroy(plan);
    }
    nt_map_destroy(map);
    return rc;
}

static int plan_run(int argc, char **argv, struct nt_err *err)
{
    const char *routes = NULL, *redundancy_text = NULL, *output = "-", *map = NULL;
    const struct nt_flag flags[] = {{"routes", 0, &routes, NULL},
                                    {"redundancy", 0, &redundancy_text, NULL},
                                    {"output", 'o', &output, NULL}};
    double redundancy = 1;
    char *text;
    size_t bytes;
    if (nt_command_line_options(argc, argv, flags, sizeof flags / sizeof *flags, &map, 1, err) !=
            0 ||
        nt_command_line_number("redundancy", redundancy_text, 1, 1e6, &redundancy, err) != 0)
        return -1;
    if (routes != NULL && map != NULL)
        return nt_err_set(err, NT_ERR_USAGE, "expected --routes FILE or a network, found both");
    int rc = routes != NULL ? plan_routes(routes, redundancy, &text, &bytes, err)
                            : plan_map(map, redundancy, &text, &bytes, err);
    if (rc != 0)
        return -1;
    return nt_file_write_text(output, text, bytes, err);
}

const struct nt_verb nt_verb_plan = {"plan", "which pairs to measure, and in which rounds", help,
                                     plan_run};
