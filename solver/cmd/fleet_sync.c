/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "export.h"
#include "files.h"
#include "fleet.h"
#include "import.h"
#include "lines.h"
#include "memory.h"
#include "names.h"
#include "rooted_tree.h"
#include "slurm_topology.h"
#include "strbuf.h"
#include "topology_merge.h"

/* ---- the state of slurmctld, and commands to it
 * ----------------------------------------------------------
 */

enum { TEXT_MAX = 64 << 20, ARGUMENTS_MAX = 8 };

static int read_pipe(int fd, char **out, struct nt_err *err)
{
    struct nt_strbuf d = {0};
    char piece[4096];
    size_t bytes;
    ssize_t n;
    while ((n = read(fd, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0 && d.used + (size_t)n <= TEXT_MAX)
            nt_strbuf_put(&d, piece, (size_t)n);
    nt_strbuf_puts(&d, "");
    return nt_strbuf_finish(&d, out, &bytes, err);
}

static void run_scontrol(const char *const *arguments)
{
    const char *argv[ARGUMENTS_MAX + 2] = {"scontrol"};
    for (size_t k = 0; k < ARGUMENTS_MAX && arguments[k] != NULL; k++)
        argv[k + 1] = arguments[k];
    execvp("scontrol", (char *const *)argv);
    _exit(127);
}

static int check_exit(int status, struct nt_err *err)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return nt_err_set(err, NT_ERR_SYSTEM, "cannot run scontrol: not found in PATH");
    return 0;
}

/* Runs scontrol with these arguments (NULL last) and returns its output in *text, which the caller
 * frees. Ignores its exit status, because a cluster without a topology has another one.
 * NT_ERR_SYSTEM: it cannot run. */
static int ask_slurm(const char *const *arguments, char **text, struct nt_err *err)
{
    int ends[2], status = 0;
    if (pipe(ends) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        run_scontrol(arguments);
    }
    close(ends[1]);
    int rc = pid > 0 ? read_pipe(ends[0], text, err)
                     : nt_err_set(err, NT_ERR_SYSTEM, "fork: %s", strerror(errno));
    close(ends[0]);
    if (pid > 0)
        waitpid(pid, &status, 0);
    if (rc == 0 && check_exit(status, err) != 0) {
        free(*text);
        rc = -1;
    }
    return rc;
}

/* Runs scontrol, which must succeed and prints its own errors. */
static int tell_slurm(const char *const *arguments, struct nt_err *err)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        run_scontrol(arguments);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return nt_err_set(err, NT_ERR_SYSTEM, "cannot run scontrol: %s", strerror(errno));
    if (check_exit(status, err) != 0)
        return -1;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "scontrol rejected this update: %.40s %.200s %.200s",
                          arguments[0], arguments[1], arguments[2]);
    return 0;
}

/* Reads Slurm's switches or blocks as a map. topology: its name; NULL: the cluster's. *out and
 * *block are unchanged if there is none. */
static int read_slurm(const char *topology, struct nt_map **out, bool *block, struct nt_err *err)
{
    const char *const ask[] = {"show", "topology", topology, NULL};
    char *said;
    if (ask_slurm(ask, &said, err) != 0)
        return -1;
    int rc = nt_topology_read(
        &(struct nt_topology_text){.file = "scontrol", .text = said, .bytes = strlen(said)}, NULL,
        out, block, err);
    free(said);
    return rc;
}

/* ---- where nodes are ---- */

enum { NAMES_MAX = 512 }; /* maximum names per command */

struct sync {
    const char *topology;
    const struct nt_map *current, *merged;
    struct nt_rooted_tree *is, *was;
    struct nt_names hosts, switches; /* names in current */
    struct nt_names shown;           /* nodes in scontrol's output */
    const char **line;               /* by node: its line */
    char *nodes;                     /* scontrol's output */
    bool run, tell;                  /* run: otherwise only check that each node has a place */
    struct nt_json_writer *json;     /* may be NULL */
    struct nt_arena memory;
};

static uint32_t find(const struct nt_names *names, const char *name)
{
    return nt_names_find(names, name, strlen(name));
}

/* Appends the name of a switch. If a switch has both switches and hosts below it, its hosts are on
 * a leaf switch of their own, as in the exported files. */
static void put_switch_name(struct nt_strbuf *d, const struct sync *s, uint32_t v, bool hosts)
{
    const struct nt_rooted_tree *t = s->is;
    uint32_t last = t->first[v + 1] > t->first[v] ? t->child[t->first[v + 1] - 1] : 0;
    nt_strbuf_puts(d, nt_map_vertex_name(s->merged, v));
    if (hosts && last >= s->merged->model->hosts)
        nt_strbuf_puts(d, "-hosts");
}

/* Returns the text of d in memory of the sync, and frees d. */
static const char *keep_text(struct sync *s, struct nt_strbuf *d, struct nt_err *err)
{
    const char *kept =
        d->failed ? NULL : nt_arena_text(&s->memory, d->text != NULL ? d->text : "", d->used);
    free(d->text);
    if (kept == NULL)
        nt_err_memory(err);
    return kept;
}

static const char *leaf_name(struct sync *s, uint32_t v, struct nt_err *err)
{
    struct nt_strbuf d = {0};
    put_switch_name(&d, s, v, true);
    return keep_text(s, &d, err);
}

/* Appends "TOPOLOGY:SWITCH", or for a new switch ":ABOVE:...:SWITCH" from a switch that Slurm
 * has. */
static int put_place(struct nt_strbuf *d, struct sync *s, uint32_t v, const char *leaf,
                     struct nt_err *err)
{
    uint32_t path[64];
    size_t n = 0;
    bool own = strcmp(leaf, nt_map_vertex_name(s->merged, v)) != 0;
    bool known = find(&s->switches, leaf) != NT_NAMES_NONE;
    uint32_t up = own ? v : s->is->parent[v];
    for (; !known && up != NT_NO_VERTEX && n < 64; up = s->is->parent[up]) {
        path[n++] = up;
        known = find(&s->switches, nt_map_vertex_name(s->merged, up)) != NT_NAMES_NONE;
    }
    if (!known)
        return nt_err_set(err, NT_ERR_INPUT,
                          "no switch above %.64s is in Slurm's topology. Write its file first: "
                          "--format topology.conf or topology.yaml.",
                          leaf);
    nt_strbuf_puts(d, s->topology);
    while (n > 0) {
        nt_strbuf_puts(d, ":");
        put_switch_name(d, s, path[--n], false);
    }
    nt_strbuf_puts(d, ":");
    nt_strbuf_puts(d, leaf);
    return 0;
}

static int index_nodes(struct sync *s, struct nt_err *err)
{
    static const char key[] = "NodeName=";
    size_t lines = 1;
    for (const char *at = s->nodes; *at != '\0'; at++)
        lines += *at == '\n';
    s->line = nt_arena_array(&s->memory, lines, sizeof *s->line);
    int rc = nt_arena_check(&s->memory, err);
    for (const char *at = s->nodes; rc >= 0 && *at != '\0';) {
        size_t n = strcspn(at, "\n"), name = strcspn(at, " \n");
        uint32_t index;
        if (name > sizeof key - 1 && memcmp(at, key, sizeof key - 1) == 0) {
            rc = nt_names_add_copy(&s->shown, at + sizeof key - 1, name - (sizeof key - 1), &index,
                                   err);
            if (rc >= 0)
                s->line[index] = at;
        }
        at += n + (at[n] == '\n');
    }
    return rc < 0 ? -1 : 0;
}

/* Appends the host's places in other topologies, "NAME:UNIT,", from scontrol's output. */
static void put_others(struct nt_strbuf *d, const struct sync *s, const char *host)
{
    static const char key[] = " Topology=";
    uint32_t node = find(&s->shown, host);
    size_t own = strlen(s->topology);
    if (node == NT_NAMES_NONE)
        return;
    const char *line = s->line[node], *end = line + strcspn(line, "\n");
    const char *at = memmem(line, (size_t)(end - line), key, sizeof key - 1);
    for (at = at != NULL ? at + sizeof key - 1 : end; at < end && *at != ' ';) {
        size_t one = strcspn(at, ", \n");
        if (one <= own || memcmp(at, s->topology, own) != 0 || at[own] != ':') {
            nt_strbuf_put(d, at, one);
            nt_strbuf_puts(d, ",");
        }
        at += one + (at[one] == ',');
    }
}

static bool is_there(const struct sync *s, uint32_t host, const char *leaf)
{
    uint32_t was = s->current != NULL ? find(&s->hosts, s->merged->host_name[host]) : NT_NAMES_NONE;
    uint32_t on = was != NT_NAMES_NONE ? s->was->parent[was] : NT_NO_VERTEX;
    return on != NT_NO_VERTEX && strcmp(nt_map_vertex_name(s->current, on), leaf) == 0;
}

/* A command under construction: nodes with the same new place. */
struct command {
    const char *place;
    struct nt_strbuf names;
    size_t count;
};

/* Prints the command and runs it if requested. */
static int end_command(struct sync *s, struct command *c, struct nt_err *err)
{
    struct nt_strbuf node = {0}, topology = {0};
    const char *names = keep_text(s, &c->names, err);
    if (names == NULL)
        return -1;
    nt_strbuf_print(&node, "NodeName=%s", names);
    nt_strbuf_print(&topology, "Topology=%s", c->place);
    if (s->json != NULL) {
        nt_json_begin(s->json, NULL, '{', false);
        nt_json_put_text(s->json, "NodeName", names);
        nt_json_put_text(s->json, "Topology", c->place);
        nt_json_end(s->json, '}');
    } else {
        printf("scontrol update NodeName=%s Topology=%s\n", names, c->place);
    }
    *c = (struct command){0};
    const char *what = keep_text(s, &node, err), *where = keep_text(s, &topology, err);
    if (what == NULL || where == NULL)
        return -1;
    const char *const arguments[] = {"update", what, where, NULL};
    fflush(stdout);
    return s->tell ? tell_slurm(arguments, err) : 0;
}

static int add_node(struct sync *s, struct command *c, uint32_t host, uint32_t v, const char *leaf,
                    struct nt_err *err)
{
    struct nt_strbuf d = {0};
    put_others(&d, s, s->merged->host_name[host]);
    if (put_place(&d, s, v, leaf, err) != 0) {
        free(d.text);
        return -1;
    }
    const char *place = keep_text(s, &d, err);
    if (place == NULL || !s->run)
        return place != NULL ? 0 : -1;
    if (c->count > 0 && (strcmp(c->place, place) != 0 || c->count == NAMES_MAX) &&
        end_command(s, c, err) != 0)
        return -1;
    c->place = place;
    nt_strbuf_print(&c->names, "%s%s", c->count++ > 0 ? "," : "", s->merged->host_name[host]);
    return 0;
}

/* Handles each switch. Without run only checks that each node has a place. */
static int each_switch(struct sync *s, struct nt_err *err)
{
    const struct nt_rooted_tree *t = s->is;
    struct command c = {0};
    int rc = 0;
    for (uint32_t v = (uint32_t)t->hosts; rc == 0 && v < t->vertices; v++) {
        const char *leaf = leaf_name(s, v, err);
        rc = leaf == NULL ? -1 : 0;
        for (uint32_t k = t->first[v]; rc == 0 && k < t->first[v + 1]; k++)
            if (t->child[k] < t->hosts && !is_there(s, t->child[k], leaf))
                rc = add_node(s, &c, t->child[k], v, leaf, err);
    }
    if (rc == 0 && c.count > 0)
        return end_command(s, &c, err);
    free(c.names.text);
    return rc;
}

static int list_names(struct sync *s, struct nt_err *err)
{
    uint32_t index;
    for (size_t k = 0; s->current != NULL && k < s->current->model->hosts; k++)
        if (nt_names_add(&s->hosts, s->current->host_name[k], &index, err) < 0)
            return -1;
    for (size_t k = 0; s->current != NULL && k < s->current->model->switches; k++)
        if (nt_names_add(&s->switches, s->current->switch_name[k], &index, err) < 0)
            return -1;
    return 0;
}

/* Prints a command for the nodes of each switch that are not on it yet, and runs the commands if
 * requested, until one fails. A switch that Slurm does not have is named with the switches above
 * it, starting at one that Slurm has: NT_ERR_INPUT if there is none; then no command runs. A node
 * keeps its places in other topologies. s->current NULL: Slurm has no switches. s->json not NULL:
 * receives the commands instead of standard output. */
static int sync_nodes(struct sync s, struct nt_err *err)
{
    static const char *const ask[] = {"-o", "show", "node", NULL};
    bool can = nt_rooted_tree_create(s.merged->model, &s.is, err) == 0 &&
               (s.current == NULL || nt_rooted_tree_create(s.current->model, &s.was, err) == 0) &&
               list_names(&s, err) == 0 && ask_slurm(ask, &s.nodes, err) == 0 &&
               index_nodes(&s, err) == 0 && each_switch(&s, err) == 0;
    s.run = true;
    int rc = can ? each_switch(&s, err) : -1;
    free(s.nodes);
    nt_names_fini(&s.shown);
    nt_names_fini(&s.hosts);
    nt_names_fini(&s.switches);
    nt_rooted_tree_destroy(s.is);
    nt_rooted_tree_destroy(s.was);
    nt_arena_fini(&s.memory);
    return rc;
}

/* ---- the command ---- */

struct arguments {
    const char *store, *format, *against, *topology, *days, *least_support, *output;
    bool apply, yaml, nodes, block, json;
    bool chosen; /* a topology was selected by name */
    int64_t days_s;
    double support;
};

static const struct nt_flag flags[] = {
    NT_FLAG_STORE,
    {"format", 'f', "topology.conf|topology.yaml|nodes", NT_AT(format), 1,
     "What to update (required): topology.conf, topology.yaml, or with nodes the place of each "
     "node in slurmctld (Slurm 25.05 or newer), until it is reconfigured"},
    {"against", 0, "WHAT", NT_AT(against), 1,
     "Topology to compare with: a file in that format, or scontrol for the topology of slurmctld "
     "(default: the content of --output)"},
    {"topology", 0, "NAME", NT_AT(topology), 1,
     "Topology of topology.yaml to replace (default nettopo), or of nodes (default default)"},
    {"block", 0, NULL, NT_AT(block), 1,
     "Create blocks (topology/block), one per leaf switch, if there is no topology yet"},
    NT_FLAG_DAYS,
    {"support", 0, "P", NT_AT(least_support), 1,
     "Minimum support of a host that counts as placed (default 0.9)"},
    {"apply", 0, NULL, NT_AT(apply), 1, "Write --output, or with nodes run scontrol update"},
    {"json", 0, NULL, NT_AT(json), 1, "Print the changes as JSON, and with nodes the updates"},
    {"output", 'o', "FILE", NT_AT(output), 1, "File to write with --apply, atomically"},
    {0}};

static const struct nt_command_help help = {
    "nettopo fleet sync --format topology.conf|topology.yaml|nodes [OPTION...]",
    "Print what would change in Slurm's topology, one line per change, and change it only with "
    "--apply. Switches keep their names in Slurm. Hosts without enough support, and other "
    "topologies of topology.yaml, stay as they are. Slurm does not notice a new file: run scontrol "
    "reconfigure.\n",
    flags, "nettopo fleet sync --store fleet.db --format topology.conf --against scontrol"};

/* ---- the command ---- */

/* Reads a file in Slurm's format. The caller frees the text. */
static int read_file(const struct arguments *a, const char *path, struct nt_topology_text *out,
                     struct nt_err *err)
{
    char *text;
    *out = (struct nt_topology_text){.file = path, .yaml = a->yaml};
    if (nt_file_read(path, TEXT_MAX, &text, &out->bytes, err) != 0)
        return -1;
    out->text = text;
    return 0;
}

/* Reads the old file; empty if there is none. */
static int read_old(const struct arguments *a, struct nt_topology_text *out, struct nt_err *err)
{
    const char *path = a->output;
    if (path != NULL && strcmp(path, "-") != 0 && access(path, F_OK) == 0)
        return read_file(a, path, out, err);
    *out = (struct nt_topology_text){.file = path, .text = calloc(1, 1), .yaml = a->yaml};
    return out->text != NULL ? 0 : nt_err_memory(err);
}

/* Reads the file to edit and checks that its topology can be replaced. */
static int read_edited(const struct arguments *a, const struct nt_topology_text *old,
                       struct nt_map **out, bool *block, struct nt_err *err)
{
    const char *at;
    size_t bytes;
    if (nt_topology_read(old, a->topology, out, block, err) != 0)
        return -1;
    if (!a->yaml || nt_topology_find(old, a->topology, &at, &bytes, err) != 0)
        return a->yaml ? -1 : 0;
    return bytes > 0 || *out == NULL
               ? 0
               : nt_err_set(err, NT_ERR_INPUT,
                            "%s: topology %.64s: expected its entry to begin with \"- topology:\"",
                            old->file, a->topology);
}

/* Reads the current topology; NULL if there is none. */
static int read_current(struct arguments *a, const struct nt_topology_text *old,
                        struct nt_map **out, struct nt_err *err)
{
    struct nt_topology_text file;
    bool asks = a->against != NULL && strcmp(a->against, "scontrol") == 0;
    if (a->nodes || asks) {
        /* slurmctld has the topology of a file, or the cluster's default */
        bool named = a->nodes ? strcmp(a->topology, "default") != 0 : a->yaml && a->chosen;
        return read_slurm(named ? a->topology : NULL, out, &a->block, err);
    }
    if (a->against == NULL)
        return read_edited(a, old, out, &a->block, err);
    if (read_file(a, a->against, &file, err) != 0)
        return -1;
    int rc = nt_topology_read(&file, a->topology, out, &a->block, err);
    free((char *)file.text);
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
    if (export_topology(a, merged, &text, err) != 0)
        return -1;
    int rc = a->yaml ? nt_topology_put_yaml(&d, old, a->topology, text, err)
                     : nt_topology_put_conf(&d, old, text, err);
    free(text);
    if (rc != 0) {
        free(d.text);
        return -1;
    }
    return nt_strbuf_finish(&d, &whole, &bytes, err) == 0
               ? nt_file_write_text(a->output, whole, bytes, err)
               : -1;
}

/* Shows the changes, writes the file or runs the commands, as requested. */
static int apply(const struct arguments *a, const struct nt_topology_text *old,
                 const struct nt_map *current, const struct nt_map *merged,
                 struct nt_json_writer *json, struct nt_err *err)
{
    if (!a->nodes)
        return a->apply ? write_merged(a, old, merged, err) : 0;
    if (json != NULL)
        nt_json_begin(json, "updates", '[', true);
    int rc = sync_nodes((struct sync){.topology = a->topology,
                                      .current = current,
                                      .merged = merged,
                                      .tell = a->apply,
                                      .json = json},
                        err);
    if (json != NULL)
        nt_json_end(json, ']');
    return rc;
}

static int merge(struct arguments *a, struct nt_map *measured, const struct nt_topology_text *old,
                 struct nt_err *err)
{
    struct nt_map *current = NULL, *merged = NULL, *blocks = NULL;
    struct nt_strbuf changes = {0};
    struct nt_json_writer w = {0}, *json = a->json ? &w : NULL;
    if (read_current(a, old, &current, err) != 0)
        return -1;
    int rc = nt_topology_keep_alone(measured, current, err);
    if (rc == 0 && a->block)
        rc = nt_topology_blocks(measured, &blocks, err);
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
    if (nt_fleet_cluster_load(a->store, a->days_s, true, &fleet, err) != 0)
        return -1;
    int rc = fleet.map != NULL ? 0 : nt_err_set(err, NT_ERR_NO, "no map: %s", fleet.why.text);
    if (rc == 0 && (nt_fleet_cluster_confirmed(&fleet, a->support, &measured, NULL, err) != 0 ||
                    read_old(a, &old, err) != 0 || merge(a, measured, &old, err) != 0))
        rc = -1;
    free((char *)old.text);
    nt_map_destroy(measured);
    nt_fleet_cluster_fini(&fleet);
    return rc;
}

static int check_arguments(struct arguments *a, struct nt_err *err)
{
    const char *support = a->least_support;
    char *end;
    a->yaml = a->format != NULL && strcmp(a->format, "topology.yaml") == 0;
    a->nodes = a->format != NULL && strcmp(a->format, "nodes") == 0;
    if (a->format == NULL || (!a->yaml && !a->nodes && strcmp(a->format, "topology.conf") != 0))
        return nt_err_set(err, NT_ERR_USAGE,
                          "--format is required: topology.conf, topology.yaml or nodes");
    a->chosen = a->topology != NULL;
    if (!a->chosen)
        a->topology = a->nodes ? "default" : "nettopo";
    if (a->nodes && (a->output != NULL || a->against != NULL))
        return nt_err_set(err, NT_ERR_USAGE,
                          "--format nodes cannot be combined with --output or --against: it reads "
                          "and updates slurmctld");
    if (a->apply && !a->nodes && a->output == NULL)
        return nt_err_set(err, NT_ERR_USAGE, "--apply requires --output FILE");
    a->support = strtod(support, &end);
    if (end == support || *end != '\0' || !(a->support >= 0 && a->support <= 1))
        return nt_err_set(err, NT_ERR_USAGE, "--support %.32s: expected a number from 0 to 1",
                          support);
    return 0;
}

static int sync_run(int argc, char **argv, struct nt_err *err)
{
    struct arguments a = {.days = "90d", .least_support = "0.9"};
    if (nt_command_line_options(argc, argv, flags, &a, err) != 0 ||
        nt_fleet_span("days", a.days, &a.days_s, err) != 0 || check_arguments(&a, err) != 0)
        return -1;
    return sync_topology(&a, err);
}

const struct nt_verb nt_fleet_sync = {"sync", "update Slurm's topology", &help, sync_run};
