/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export.h"
#include "files.h"
#include "fleet_cluster.h"
#include "fleet_sync_nodes.h"
#include "import.h"
#include "import_dot.h"
#include "slurm_control.h"
#include "strbuf.h"
#include "topology_blocks.h"
#include "topology_merge.h"
#include "topology_text.h"

static const char help[] =
    "usage: nettopo fleet sync --format topology.conf|topology.yaml|nodes [OPTION...]\n"
    "\n"
    "What would change in Slurm's own topology, a line each; with --apply it is done. Switches\n"
    "keep the names that Slurm has for them, and hosts that jobs have not placed with enough\n"
    "support stay where Slurm has them. In topology.yaml one topology is replaced, others stay as\n"
    "they are. Slurm is not told of a file: scontrol reconfigure is yours. With nodes slurmctld "
    "is\n"
    "asked, and told where each node is (Topology= of a node, from Slurm 25.05 on) until it is\n"
    "configured anew: the commands are printed.\n"
    "\n"
    "  --store FILE       default: fleet_store of nettopo.conf\n"
    "  -f, --format F     topology.conf, topology.yaml or nodes\n"
    "  --against WHAT     a file in that format, or scontrol: what slurmctld says; default: what\n"
    "                     --output holds, or nothing\n"
    "  --topology NAME    of topology.yaml (default nettopo) or of nodes (default default)\n"
    "  --block            topology/block, where there is no topology yet: a leaf is a block\n"
    "  --days SPAN        readings of so long before the last job; default 90d\n"
    "  --support P        of a host that counts as placed; default 0.9\n"
    "  --apply            write --output, or with nodes tell slurmctld\n"
    "  --json             the changes as JSON, and of nodes the updates\n"
    "  -o, --output FILE  written whole or not at all, by rename\n"
    "\n"
    "Example: nettopo fleet sync --format topology.conf --against scontrol\n";

enum { TEXT_MAX = 64 << 20 };

struct arguments {
    const char *store, *format, *against, *topology, *output;
    bool apply, yaml, nodes, block, json;
    int64_t days_s;
    double support;
};

/* ---- the command ---- */

static int read_old(const char *path, struct nt_topology_text *out, struct nt_err *err)
{
    if (path != NULL && strcmp(path, "-") != 0 && access(path, F_OK) == 0)
        return nt_file_read(path, TEXT_MAX, &out->text, &out->bytes, err);
    *out = (struct nt_topology_text){.text = calloc(1, 1)};
    return out->text != NULL ? 0 : nt_err_memory(err);
}

/* A topology of a file; NULL when it holds none. block: set to whether it is topology/block. */
static int read_topology(const struct arguments *a, const char *name,
                         const struct nt_topology_text *file, struct nt_map **out, bool *block,
                         struct nt_err *err)
{
    const char *at = file->text;
    size_t bytes = file->bytes;
    if (a->yaml && nt_topology_find(file, a->topology, &at, &bytes, err) != 0)
        return -1;
    bool blocks = bytes > 0 && nt_topology_is_block(at, bytes, a->yaml);
    bool tree = bytes > 0 &&
                memmem(at, bytes, a->yaml ? "\n  tree:" : "SwitchName=", a->yaml ? 8 : 11) != NULL;
    if (!blocks && !tree)
        return 0;
    *block = blocks;
    return a->yaml ? nt_import_topology_yaml(name, at, bytes, out, err)
                   : nt_import_topology_conf(name, at, bytes, out, err);
}

/* NULL when there is no topology. */
static int read_current(struct arguments *a, const struct nt_topology_text *old,
                        struct nt_map **out, struct nt_err *err)
{
    struct nt_topology_text file = {0};
    bool asks = a->against != NULL && strcmp(a->against, "scontrol") == 0;
    if (a->nodes || asks) {
        /* of a file slurmctld has one, or it is the cluster's */
        const char *name = a->nodes && strcmp(a->topology, "default") != 0 ? a->topology : NULL;
        return nt_slurm_topology(name, out, &a->block, err);
    }
    if (a->against == NULL)
        return read_topology(a, a->output, old, out, &a->block, err);
    if (nt_file_read(a->against, TEXT_MAX, &file.text, &file.bytes, err) != 0)
        return -1;
    int rc = read_topology(a, a->against, &file, out, &a->block, err);
    free(file.text);
    return rc;
}

static int export_topology(const struct arguments *a, const struct nt_map *map, char **text,
                           struct nt_err *err)
{
    size_t bytes;
    if (a->block)
        return a->yaml ? nt_export_blocks_yaml(map, text, &bytes, err)
                       : nt_export_blocks_conf(map, text, &bytes, err);
    return a->yaml ? nt_export_topology_yaml(map, text, &bytes, err)
                   : nt_export_topology_conf(map, text, &bytes, err);
}

static int write_merged(const struct arguments *a, const struct nt_topology_text *old,
                        const struct nt_map *merged, struct nt_err *err)
{
    struct nt_strbuf d = {0};
    char *text, *whole;
    size_t bytes;
    int rc = 0;
    if (export_topology(a, merged, &text, err) != 0)
        return -1;
    if (a->yaml)
        rc = nt_topology_put_yaml(&d, old, a->topology, text, err);
    else
        nt_topology_put_conf(&d, old, text);
    free(text);
    if (rc != 0) {
        free(d.text);
        return -1;
    }
    if (nt_strbuf_finish(&d, &whole, &bytes, err) != 0)
        return -1;
    rc = nt_file_write(a->output, whole, bytes, err);
    free(whole);
    return rc;
}

/* What is asked for: only to be shown, to be written, or to be told. */
static int apply(const struct arguments *a, const struct nt_topology_text *old,
                 const struct nt_map *current, const struct nt_map *merged,
                 struct nt_json_writer *json, struct nt_err *err)
{
    if (!a->nodes)
        return a->apply ? write_merged(a, old, merged, err) : 0;
    if (json != NULL)
        nt_json_begin(json, "updates", '[', true);
    int rc = nt_fleet_sync_nodes(a->topology, current, merged, a->apply, json, err);
    if (json != NULL)
        nt_json_end(json, ']');
    return rc;
}

static int merge(struct arguments *a, const struct nt_map *measured,
                 const struct nt_topology_text *old, struct nt_err *err)
{
    struct nt_map *current = NULL, *merged = NULL, *blocks = NULL;
    struct nt_strbuf changes = {0};
    struct nt_json_writer w = {0}, *json = a->json ? &w : NULL;
    if (read_current(a, old, &current, err) != 0)
        return -1;
    int rc = a->block ? nt_topology_blocks(measured, &blocks, err) : 0;
    nt_json_begin(&w, NULL, '{', true);
    nt_json_begin(&w, "changes", '[', true);
    if (rc == 0)
        rc = nt_topology_merge(blocks != NULL ? blocks : measured, current, &merged, &changes, json,
                               err);
    nt_json_end(&w, ']');
    if (rc == 0 && changes.failed)
        rc = nt_err_memory(err);
    if (rc == 0 && !a->json)
        fputs(changes.used > 0 ? changes.text : "nothing changes\n", stdout);
    if (rc == 0)
        rc = apply(a, old, current, merged, json, err);
    if (rc == 0 && a->json)
        rc = nt_file_write_json("-", &w, err);
    free(w.buf.text);
    free(changes.text);
    nt_map_destroy(merged);
    nt_map_destroy(blocks);
    nt_map_destroy(current);
    return rc;
}

static int sync_topology(struct arguments *a, struct nt_err *err)
{
    struct nt_fleet_cluster fleet;
    struct nt_map *measured = NULL;
    struct nt_topology_text old = {0};
    if (nt_fleet_cluster_load(a->store, a->days_s, &fleet, err) != 0)
        return -1;
    int rc = fleet.map != NULL ? 0 : nt_err_set(err, NT_ERR_NO, "no map: %s", fleet.why.text);
    if (rc == 0)
        rc = nt_fleet_cluster_confirmed(&fleet, a->support, &measured, NULL, err);
    if (rc == 0)
        rc = read_old(a->output, &old, err);
    if (rc == 0)
        rc = merge(a, measured, &old, err);
    free(old.text);
    nt_map_destroy(measured);
    nt_fleet_cluster_fini(&fleet);
    return rc;
}

static int check_arguments(struct arguments *a, const char *support, struct nt_err *err)
{
    char *end;
    a->yaml = a->format != NULL && strcmp(a->format, "topology.yaml") == 0;
    a->nodes = a->format != NULL && strcmp(a->format, "nodes") == 0;
    if (a->format == NULL || (!a->yaml && !a->nodes && strcmp(a->format, "topology.conf") != 0))
        return nt_err_set(err, NT_ERR_USAGE,
                          "expected --format topology.conf, topology.yaml or nodes");
    if (a->topology == NULL)
        a->topology = a->nodes ? "default" : "nettopo";
    if (a->nodes && (a->output != NULL || a->against != NULL))
        return nt_err_set(err, NT_ERR_USAGE,
                          "--format nodes: slurmctld is asked and told, expected no --output and "
                          "no --against");
    if (a->apply && !a->nodes && a->output == NULL)
        return nt_err_set(err, NT_ERR_USAGE, "--apply: expected --output FILE");
    a->support = strtod(support, &end);
    if (end == support || *end != '\0' || !(a->support >= 0 && a->support <= 1))
        return nt_err_set(err, NT_ERR_USAGE, "--support: expected 0 to 1, found \"%.32s\"",
                          support);
    return 0;
}

static int sync_run(int argc, char **argv, struct nt_err *err)
{
    struct arguments a = {0};
    const char *days = "90d", *support = "0.9";
    const struct nt_flag flags[] = {
        {"store", 0, &a.store, NULL},     {"format", 'f', &a.format, NULL},
        {"against", 0, &a.against, NULL}, {"topology", 0, &a.topology, NULL},
        {"days", 0, &days, NULL},         {"support", 0, &support, NULL},
        {"apply", 0, NULL, &a.apply},     {"output", 'o', &a.output, NULL},
        {"block", 0, NULL, &a.block},     {"json", 0, NULL, &a.json}};
    if (nt_command_line_options(argc, argv, flags, 10, NULL, 0, err) != 0 ||
        nt_fleet_span("days", days, &a.days_s, err) != 0 || check_arguments(&a, support, err) != 0)
        return -1;
    return sync_topology(&a, err);
}

const struct nt_verb nt_fleet_sync = {"sync", "what would change in Slurm's topology", help,
                                      sync_run};
