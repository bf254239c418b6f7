/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <string.h>

#include "files.h"
#include "hostlist.h"
#include "inputs.h"
#include "names.h"
#include "plan_json.h"
#include "plan_model.h"
#include "plan_routes.h"
#include "routes_text.h"
#include "terminal.h"
#include "verbs.h"

struct arguments {
    const char *routes, *redundancy, *hosts, *output;
    struct nt_network_description network;
    bool json;
};

static const struct nt_flag flags[] = {
    {"routes", 0, "FILE", NT_AT(routes), 1, "File of routes, or - for standard input"},
    {"hosts", 0, "LIST", NT_AT(hosts), 1,
     "Use only the routes between these hosts, a list in Slurm's notation (default: all)"},
    {"redundancy", 0, "R", NT_AT(redundancy), 1,
     "Pairs per independent pair (default 1): 1 is a minimal set, which amplifies noise; 2 to 4 "
     "are well-conditioned"},
    NT_FLAG_NAMES(network.names),
    NT_FLAG_TOPOLOGY("topology", network.topology),
    {"json", 0, NULL, NT_AT(json), 1, "Print JSON, which is the only format"},
    NT_FLAG_OUTPUT,
    NT_OPERANDS(network.path, 1)};

static const struct nt_command_help help = {
    "nettopo plan [OPTION...] --routes FILE\n"
    "nettopo plan [OPTION...] [FILE]",
    "Choose pairs of hosts to measure from which the latencies of all pairs follow, in rounds. "
    "Pairs of one round share no host and no link in either direction. Routes are lines HOST HOST "
    "LINK [LINK...]. Both directions of a pair may be given. Without routes, the shortest paths of "
    "a network are used: of a map (default $NETTOPO_MAP), DOT, a scan of ibnetdiscover, "
    "topology.conf or topology.yaml.\n"
    "\n"
    "nettopo-probe --plan measures a plan in a job, and nettopo estimate evaluates it.\n",
    flags, "nettopo plan --hosts n[1-4] --routes routes.txt -o plan.json"};

/* Fixed seed, so that the plan depends on the routes only. */
enum { SEED = 1 };

static int add_host(void *names, const char *name, struct nt_err *err)
{
    uint32_t index;
    return nt_names_add_copy(names, name, strlen(name), &index, err) < 0 ? -1 : 0;
}

/* Reads the routes between the hosts of the list, or all without a list. */
static int read_routes(const char *path, const char *list, struct nt_routes_text **routes,
                       struct nt_err *err)
{
    const struct nt_text_source source = nt_file_source(path);
    struct nt_names only = {0};
    const struct nt_routes_wanted wanted = {.hosts = list != NULL ? &only : NULL};
    int rc = 0;
    if (list != NULL && nt_hostlist_visit(list, strlen(list), add_host, &only, err) != 0) {
        rc = nt_err_prefix(err, "--hosts");
        err->kind = NT_ERR_USAGE;
    }
    if (rc == 0)
        rc = nt_routes_read(&source, &wanted, routes, err);
    nt_names_fini(&only);
    return rc;
}

static int plan_routes(const char *path, const char *list, double redundancy, char **text,
                       size_t *bytes, struct nt_err *err)
{
    struct nt_routes_text *routes;
    struct nt_plan *plan;
    if (read_routes(path, list, &routes, err) != 0)
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

static int plan_map(struct nt_network_description network, double redundancy, char **text,
                    size_t *bytes, struct nt_err *err)
{
    struct nt_map *map;
    struct nt_plan *plan;
    network.path = nt_file_map_path(network.path, err);
    if (network.path == NULL || nt_reference_read(&network, &map, err) != 0)
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
    struct arguments a = {.output = "-"};
    double redundancy = 1;
    char *text;
    size_t bytes;
    if (nt_command_line_options(argc, argv, flags, &a, err) != 0 ||
        nt_command_line_number("redundancy", a.redundancy, 1, 1e6, &redundancy, err) != 0)
        return -1;
    if (a.routes != NULL && a.network.path != NULL)
        return nt_err_set(err, NT_ERR_USAGE, "--routes cannot be combined with a network file");
    if (a.routes != NULL && (a.network.names != NULL || a.network.topology != NULL))
        return nt_err_set(err, NT_ERR_USAGE, "--%s requires a network, found routes",
                          a.network.names != NULL ? "names" : "topology");
    if (a.routes == NULL && a.hosts != NULL)
        return nt_err_set(err, NT_ERR_USAGE,
                          "--hosts requires --routes FILE. \"nettopo simulate --format routes\" "
                          "writes the routes of a network.");
    int rc = a.routes != NULL ? plan_routes(a.routes, a.hosts, redundancy, &text, &bytes, err)
                              : plan_map(a.network, redundancy, &text, &bytes, err);
    if (rc != 0)
        return -1;
    return nt_file_write_text(a.output, text, bytes, err);
}

const struct nt_verb nt_verb_plan = {"plan", "choose which pairs to measure", &help, plan_run};
