/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "export.h"
#include "files.h"
#include "fleet_cluster.h"
#include "import.h"
#include "import_dot.h"
#include "strbuf.h"
#include "topology_merge.h"

static const char help[] =
    "usage: nettopo fleet sync --format topology.conf|topology.yaml [OPTION...]\n"
    "\n"
    "What would change in Slurm's own topology, a line each; with --apply it is written. Switches\n"
    "keep the names that Slurm has for them, and hosts that jobs have not placed with enough\n"
    "support stay where Slurm has them. In topology.yaml one topology is replaced, others stay as\n"
    "they are. Slurm is not told: scontrol reconfigure is yours.\n"
    "\n"
    "  --store FILE       default: fleet_store of nettopo.conf\n"
    "  -f, --format F     topology.conf or topology.yaml\n"
    "  --against WHAT     a file in that format, or scontrol: what slurmctld says; default: what\n"
    "                     --output holds, or nothing\n"
    "  --topology NAME    of topology.yaml; default nettopo\n"
    "  --days SPAN        readings of so long before the last job; default 90d\n"
    "  --support P        of a host that counts as placed; default 0.9\n"
    "  --apply            write --output\n"
    "  -o, --output FILE  written whole or not at all, by rename\n";

enum { TEXT_MAX = 64 << 20 };

struct arguments {
    const char *store, *format, *against, *topology, *output;
    bool apply, yaml;
    int64_t days_s;
    double support;
};

/* ---- what Slurm has ---- */

struct text {
    char *text; /* "" when there is none; owned */
    size_t bytes;
};

static int read_pipe(int fd, struct text *out, struct nt_err *err)
{
    struct nt_strbuf d = {0};
    char piece[4096];
    ssize_t n;
    while ((n = read(fd, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0 && d.used + (size_t)n <= TEXT_MAX)
            nt_strbuf_put(&d, piece, (size_t)n);
    nt_strbuf_puts(&d, "");
    return nt_strbuf_finish(&d, &out->text, &out->bytes, err);
}

static int ask_scontrol(struct text *out, struct nt_err *err)
{
    int ends[2], status = 0;
    if (pipe(ends) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execlp("scontrol", "scontrol", "show", "topology", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    int rc = pid > 0 ? read_pipe(ends[0], out, err)
                     : nt_err_set(err, NT_ERR_SYSTEM, "fork: %s", strerror(errno));
    close(ends[0]);
    if (pid > 0)
        waitpid(pid, &status, 0);
    if (rc == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 127) {
        free(out->text);
        rc = nt_err_set(err, NT_ERR_SYSTEM, "scontrol: expected to run it, found none");
    }
    return rc; /* a cluster without a topology has its exit code */
}

/* Of a line of scontrol what topology.conf has: of a switch with switches its hosts are theirs. */
static void put_line(struct nt_strbuf *d, const char *line, size_t bytes)
{
    static const char *const keys[] = {"SwitchName=", "Switches=", "Nodes="};
    const char *found[3] = {NULL};
    size_t length[3] = {0};
    for (size_t at = 0; at < bytes;) {
        size_t n = 0;
        while (at + n < bytes && line[at + n] != ' ')
            n++;
        for (size_t k = 0; k < 3; k++)
            if (n > strlen(keys[k]) && strncmp(line + at, keys[k], strlen(keys[k])) == 0) {
                found[k] = line + at;
                length[k] = n;
            }
        at += n + 1;
    }
    size_t below = found[1] != NULL ? 1 : 2;
    if (found[0] == NULL || found[below] == NULL)
        return;
    nt_strbuf_put(d, found[0], length[0]);
    nt_strbuf_puts(d, " ");
    nt_strbuf_put(d, found[below], length[below]);
    nt_strbuf_puts(d, "\n");
}

static int read_scontrol(struct nt_map **out, struct nt_err *err)
{
    struct text said = {0}, text = {0};
    struct nt_strbuf d = {0};
    if (ask_scontrol(&said, err) != 0)
        return -1;
    for (const char *at = said.text; *at != '\0';) {
        size_t n = strcspn(at, "\n");
        put_line(&d, at, n);
        at += n + (at[n] == '\n');
    }
    free(said.text);
    nt_strbuf_puts(&d, "");
    if (nt_strbuf_finish(&d, &text.text, &text.bytes, err) != 0)
        return -1;
    int rc =
        text.bytes == 0 ? 0 : nt_import_topology_conf("scontrol", text.text, text.bytes, out, err);
    free(text.text);
    return rc;
}

/* ---- topology.yaml: several topologies in one file ---- */

struct part {
    const char *at;
    size_t bytes;
};

static bool is_named(const struct part *p, const char *name)
{
    const char *colon = memchr(p->at, ':', p->bytes);
    const char *end = p->at + strcspn(p->at, "\n"), *value = colon != NULL ? colon + 1 : end;
    while (value < end && (*value == ' ' || *value == '"' || *value == '\''))
        value++;
    size_t n = strlen(name);
    return (size_t)(end - value) >= n && memcmp(value, name, n) == 0 &&
           (value + n == end || strchr(" \"'\r", value[n]) != NULL);
}

/* The entry of that name; NULL bytes 0: there is none. */
static struct part find_topology(const struct text *file, const char *name)
{
    static const char begin[] = "- topology:";
    for (const char *at = file->text; at != NULL && *at != '\0';) {
        const char *next = strstr(at, "\n- ");
        struct part p = {at, next != NULL ? (size_t)(next + 1 - at) : strlen(at)};
        if (strncmp(at, begin, sizeof begin - 1) == 0 && is_named(&p, name))
            return p;
        at = next != NULL ? next + 1 : NULL;
    }
    return (struct part){0};
}

static void put_entry(struct nt_strbuf *d, const char *name, bool is_default, const char *text)
{
    const char *tree = strstr(text, "  tree:\n");
    nt_strbuf_puts(d, "- topology: ");
    nt_strbuf_puts(d, name);
    nt_strbuf_puts(d, is_default ? "\n  cluster_default: true\n" : "\n  cluster_default: false\n");
    nt_strbuf_puts(d, tree != NULL ? tree : "");
}

static void put_yaml(struct nt_strbuf *d, const struct text *file, const char *name,
                     const char *text)
{
    struct part p = find_topology(file, name);
    const char *mark = p.bytes > 0 ? memmem(p.at, p.bytes, "cluster_default: true", 21) : NULL;
    size_t before = p.bytes > 0 ? (size_t)(p.at - file->text) : file->bytes;
    nt_strbuf_put(d, file->text, before);
    if (before > 0 && file->text[before - 1] != '\n')
        nt_strbuf_puts(d, "\n");
    if (file->bytes == 0)
        nt_strbuf_puts(d, "---\n");
    put_entry(d, name, mark != NULL || strstr(file->text, "cluster_default: true") == NULL, text);
    if (p.bytes > 0)
        nt_strbuf_puts(d, p.at + p.bytes);
}

/* ---- topology.conf: what is no switch stays ---- */

static void put_conf(struct nt_strbuf *d, const struct text *file, const char *text)
{
    static const char key[] = "SwitchName=", ours[] = "# topology/tree, found by nettopo";
    for (const char *at = file->text; *at != '\0';) {
        size_t n = strcspn(at, "\n");
        if (strncasecmp(at, key, sizeof key - 1) != 0 && strncmp(at, ours, sizeof ours - 1) != 0) {
            nt_strbuf_put(d, at, n);
            nt_strbuf_puts(d, "\n");
        }
        at += n + (at[n] == '\n');
    }
    nt_strbuf_puts(d, text);
}

/* ---- the command ---- */

/* A copy whose hosts are linked only when they are placed. */
static int placed_only(const struct nt_fleet_cluster *fleet, double support, struct nt_map **out,
                       struct nt_err *err)
{
    struct nt_model *m;
    size_t kept = 0;
    if (nt_model_copy(fleet->map->model, &m, err) != 0)
        return -1;
    for (size_t k = 0; k < m->links; k++) {
        uint32_t a = m->link[k].a, b = m->link[k].b, host = a < m->hosts ? a : b;
        if (host >= m->hosts || fleet->part[host].support >= support)
            m->link[kept++] = m->link[k];
    }
    m->links = kept;
    if (nt_map_create(m, (const char *const *)fleet->map->host_name, out, err) != 0) {
        nt_model_destroy(m);
        return -1;
    }
    for (size_t s = 0; s < m->switches; s++) {
        char *name = strdup(fleet->map->switch_name[s]);
        if (name == NULL)
            return nt_err_memory(err);
        free((*out)->switch_name[s]);
        (*out)->switch_name[s] = name;
    }
    return 0;
}

static int read_old(const char *path, struct text *out, struct nt_err *err)
{
    if (path != NULL && strcmp(path, "-") != 0 && access(path, F_OK) == 0)
        return nt_file_read(path, TEXT_MAX, &out->text, &out->bytes, err);
    *out = (struct text){.text = calloc(1, 1)};
    return out->text != NULL ? 0 : nt_err_memory(err);
}

/* NULL when it holds no topology. */
static int read_current(const struct arguments *a, const struct text *old, struct nt_map **out,
                        struct nt_err *err)
{
    struct text file = {0};
    bool given = a->against != NULL;
    if (given && strcmp(a->against, "scontrol") == 0)
        return read_scontrol(out, err);
    if (given && nt_file_read(a->against, TEXT_MAX, &file.text, &file.bytes, err) != 0)
        return -1;
    struct text use = given ? file : *old;
    const char *name = given ? a->against : a->output;
    int rc = 0;
    if (a->yaml) {
        struct part p = find_topology(&use, a->topology);
        if (p.bytes > 0)
            rc = nt_import_topology_yaml(name, p.at, p.bytes, out, err);
    } else if (strstr(use.text, "SwitchName=") != NULL) {
        rc = nt_import_topology_conf(name, use.text, use.bytes, out, err);
    }
    free(file.text);
    return rc;
}

static int write_merged(const struct arguments *a, const struct text *old,
                        const struct nt_map *merged, struct nt_err *err)
{
    struct nt_strbuf d = {0};
    char *text, *whole;
    size_t bytes;
    int rc = a->yaml ? nt_export_topology_yaml(merged, &text, &bytes, err)
                     : nt_export_topology_conf(merged, &text, &bytes, err);
    if (rc != 0)
        return -1;
    if (a->yaml)
        put_yaml(&d, old, a->topology, text);
    else
        put_conf(&d, old, text);
    free(text);
    if (nt_strbuf_finish(&d, &whole, &bytes, err) != 0)
        return -1;
    rc = nt_file_write(a->output, whole, bytes, err);
    free(whole);
    return rc;
}

static int merge(const struct arguments *a, const struct nt_map *measured, const struct text *old,
                 struct nt_err *err)
{
    struct nt_map *current = NULL, *merged = NULL;
    struct nt_strbuf changes = {0};
    if (read_current(a, old, &current, err) != 0)
        return -1;
    int rc = nt_topology_merge(measured, current, &merged, &changes, err);
    if (rc == 0 && changes.failed)
        rc = nt_err_memory(err);
    if (rc == 0)
        fputs(changes.used > 0 ? changes.text : "nothing changes\n", stdout);
    if (rc == 0 && a->apply)
        rc = write_merged(a, old, merged, err);
    free(changes.text);
    nt_map_destroy(merged);
    nt_map_destroy(current);
    return rc;
}

static int sync_topology(const struct arguments *a, struct nt_err *err)
{
    struct nt_fleet_cluster fleet;
    struct nt_map *measured = NULL;
    struct text old = {0};
    if (nt_fleet_cluster_load(a->store, a->days_s, &fleet, err) != 0)
        return -1;
    int rc = fleet.map != NULL ? 0 : nt_err_set(err, NT_ERR_NO, "no map: %s", fleet.why.text);
    if (rc == 0)
        rc = placed_only(&fleet, a->support, &measured, err);
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
    if (a->format == NULL || (!a->yaml && strcmp(a->format, "topology.conf") != 0))
        return nt_err_set(err, NT_ERR_USAGE, "expected --format topology.conf or topology.yaml");
    if (a->apply && a->output == NULL)
        return nt_err_set(err, NT_ERR_USAGE, "--apply: expected --output FILE");
    a->support = strtod(support, &end);
    if (end == support || *end != '\0' || !(a->support >= 0 && a->support <= 1))
        return nt_err_set(err, NT_ERR_USAGE, "--support: expected 0 to 1, found \"%.32s\"",
                          support);
    return 0;
}

static int sync_run(int argc, char **argv, struct nt_err *err)
{
    struct arguments a = {.topology = "nettopo"};
    const char *days = "90d", *support = "0.9";
    const struct nt_flag flags[] = {
        {"store", 0, &a.store, NULL},     {"format", 'f', &a.format, NULL},
        {"against", 0, &a.against, NULL}, {"topology", 0, &a.topology, NULL},
        {"days", 0, &days, NULL},         {"support", 0, &support, NULL},
        {"apply", 0, NULL, &a.apply},     {"output", 'o', &a.output, NULL}};
    if (nt_command_line_options(argc, argv, flags, 8, NULL, 0, err) != 0 ||
        nt_fleet_span("days", days, &a.days_s, err) != 0 || check_arguments(&a, support, err) != 0)
        return -1;
    return sync_topology(&a, err);
}

const struct nt_verb nt_fleet_sync = {"sync", "what would change in Slurm's topology", help,
                                      sync_run};
