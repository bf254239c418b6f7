/* SPDX-License-Identifier: Apache-2.0 */
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

static const char help[] =
    "usage: nettopo plan [--redundancy R] [--hosts LIST] [-o FILE] --routes FILE\n"
    "       nettopo plan [--redundancy R] [--names FILE] [--topology NAME] [-o FILE] [FILE]\n"
    "\n"
    "Which pairs of hosts to measure so that the latencies of all pairs follow, and in which\n"
    "rounds: pairs of one round share no host and no link in either direction. Routes are lines\n"
    "HOST HOST LINK [LINK...]; both directions of a pair may be given. Without them the shortest\n"
    "paths of a network are taken: of a map (default $NETTOPO_MAP), DOT, ibnetdiscover's scan,\n"
    "topology.conf or topology.yaml; a tree may have any size.\n"
    "\n"
    "  --routes FILE     - is standard input\n"
    "  --hosts LIST      only the routes between these, as Slurm writes them; default: all\n"
    "  --redundancy R    R pairs for each independent one; 1 (default) is a minimal set, which\n"
    "                    amplifies noise, 2 to 4 are well-conditioned\n"
    "  --names FILE      of nodes of a scan of ibnetdiscover: lines 0xGUID \"NAME\"\n"
    "  --topology NAME   of several in a topology.yaml; default: the cluster's\n"
    "  -o, --output FILE JSON, written whole or not at all; default -\n"
    "\n"
    "nettopo-probe --plan measures a plan in a job, nettopo estimate makes latencies of that.\n"
    "\n"
    "Example: nettopo plan --hosts $SLURM_JOB_NODELIST --routes routes.txt -o plan.json\n";

/* The same seed always: the plan is a function of the routes. */
enum { SEED = 1 };

static int add_host(void *names, const char *name, struct nt_err *err)
{
    uint32_t index;
    return nt_names_add_copy(names, name, strlen(name), &index, err) < 0 ? -1 : 0;
}

/* The routes between the hosts of the list; all without one. */
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

static int plan_map(struct nt_described network, double redundancy, char **text, size_t *bytes,
                    struct nt_err *err)
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
    const char *routes = NULL, *redundancy_text = NULL, *hosts = NULL, *output = "-";
    struct nt_described network = {0};
    const struct nt_flag flags[] = {{"routes", 0, &routes, NULL},
                                    {"hosts", 0, &hosts, NULL},
                                    {"redundancy", 0, &redundancy_text, NULL},
                                    {"names", 0, &network.names, NULL},
                                    {"topology", 0, &network.topology, NULL},
                                    {"output", 'o', &output, NULL}};
    double redundancy = 1;
    char *text;
    size_t bytes;
    if (nt_command_line_options(argc, argv, flags, sizeof flags / sizeof *flags, &network.path, 1,
                                err) != 0 ||
        nt_command_line_number("redundancy", redundancy_text, 1, 1e6, &redundancy, err) != 0)
        return -1;
    if (routes != NULL && network.path != NULL)
        return nt_err_set(err, NT_ERR_USAGE, "expected --routes FILE or a network, found both");
    if (routes != NULL && (network.names != NULL || network.topology != NULL))
        return nt_err_set(err, NT_ERR_USAGE, "--%s: expected with a network, found routes",
                          network.names != NULL ? "names" : "topology");
    if (routes == NULL && hosts != NULL)
        return nt_err_set(err, NT_ERR_USAGE,
                          "--hosts: expected with --routes FILE; nettopo simulate --format routes "
                          "writes those of a network");
    int rc = routes != NULL ? plan_routes(routes, hosts, redundancy, &text, &bytes, err)
                            : plan_map(network, redundancy, &text, &bytes, err);
    if (rc != 0)
        return -1;
    return nt_file_write_text(output, text, bytes, err);
}

const struct nt_verb nt_verb_plan = {"plan", "choose which pairs to measure", help, plan_run};
