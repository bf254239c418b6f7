/* SPDX-License-Identifier: Apache-2.0 */
#include "hint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decimal.h"
#include "files.h"
#include "hint_json.h"
#include "launch.h"
#include "memory.h"
#include "option.h"
#include "rails.h"
#include "rails_text.h"
#include "spare.h"
#include "strbuf.h"
#include "terminal.h"
#include "traffic_text.h"
#include "verbs.h"

enum { MATRIX_FILE_MAX = 256 * 1024 * 1024 };

struct arguments {
    const char *ntasks, *each, *list, *cpus, *spare, *pattern, *bytes, *format, *output, *map;
    uint64_t cores, spares;
    double message_bytes; /* 0: the default */
    bool rails, any_first, json;
};

static const struct nt_flag flags[] = {
    {"ntasks", 'n', "N", NT_AT(ntasks), 1, "Number of tasks (default: as many as the hosts hold)"},
    {"ntasks-per-node", 0, "K", NT_AT(each), 1, "Tasks per host (default 1)"},
    {"tasks-per-node", 0, "LIST", NT_AT(list), 1,
     "Tasks of each host, as in $SLURM_TASKS_PER_NODE: 4(x2),3"},
    {"cpus-per-task", 0, "C", NT_AT(cpus), 1, "Cores of each rank in a rankfile (default 1)"},
    {"pattern", 'p', "P", NT_AT(pattern), 1,
     "Communication pattern (default neighbour). P is neighbour, ring, tree, alltoall, "
     "allreduce[:ring|:tree], stencil:AxB[xC][:periodic], halo:AxB[xC][:periodic], "
     "megatron:tp=T,pp=P,dp=D[,ep=E] or matrix:PATH. A matrix is a file of lines RANK RANK "
     "BYTES or of rows of bytes"},
    {"bytes", 0, "N", NT_AT(bytes), 1,
     "Message size of a named pattern per direction (default 64K)"},
    {"spare", 0, "K", NT_AT(spare), 1,
     "Leave out K hosts: first missing hosts, then hosts with a finding, then the hosts without "
     "which the pattern is fastest"},
    {"any-first", 0, NULL, NT_AT(any_first), 1,
     "Allow rank 0 on any host (default: on the first host, which job scripts take as the master)"},
    {"format", 'f', "json|env|csh|hostfile|rankfile|mpich|machinefile|torchrun|ray|dlrover",
     NT_AT(format), 1,
     "Output format (default json). env and csh are lines for a shell, dlrover lists hosts with "
     "their switches. The others are files of launchers: hostfile (srun --distribution=arbitrary, "
     "Flux), rankfile (Open MPI), mpich, machinefile (Intel MPI), torchrun, ray"},
    {"json", 0, NULL, NT_AT(json), 1, "Same as --format json; with --rails, its tables as JSON"},
    {"rails", 0, NULL, NT_AT(rails), 1,
     "Print instead how to use several network devices per host: times of messages on the best "
     "device, divided among devices, and scheduled"},
    NT_FLAG_OUTPUT,
    NT_OPERANDS(map, 1)};

static const struct nt_command_help help = {
    "nettopo hint [OPTION...] [MAP]",
    "Suggest a placement that puts tasks near each other if they communicate heavily. The gain is "
    "the predicted time of one round of the pattern in the scheduler's order, divided by the time "
    "in the suggested order. 1 means no change. See nettopo(1), PATTERNS AND GAIN. MAP defaults to "
    "$NETTOPO_MAP.\n",
    flags, "nettopo hint --ntasks 64 --pattern ring --format hostfile -o hosts map.json"};

typedef int launcher(const struct nt_launch_placement *, char **, size_t *, struct nt_err *);

static const struct {
    const char *name;
    launcher *write;
} launchers[] = {{"hostfile", nt_launch_hostfile}, {"rankfile", nt_launch_rankfile},
                 {"mpich", nt_launch_mpich},       {"machinefile", nt_launch_machinefile},
                 {"torchrun", nt_launch_torchrun}, {"ray", nt_launch_ray}};

static launcher *find_launcher(const char *format)
{
    for (size_t k = 0; k < sizeof launchers / sizeof *launchers; k++)
        if (strcmp(format, launchers[k].name) == 0)
            return launchers[k].write;
    return NULL;
}

static int check_message(struct arguments *a, struct nt_err *err)
{
    if (a->bytes == NULL)
        return 0;
    if (nt_pattern_matrix(a->pattern) != NULL)
        return nt_err_set(err, NT_ERR_USAGE,
                          "--bytes cannot be combined with a matrix, which contains its own sizes");
    return nt_command_line_bytes("bytes", a->bytes, 1, NT_TRAFFIC_MESSAGE_MAX, &a->message_bytes,
                                 err);
}

static int read_count(const char *what, const char *text, uint64_t *value, struct nt_err *err)
{
    if (text == NULL)
        return 0;
    if (nt_decimal_whole(text, strlen(text), NT_TASKS_MAX, value) != 0 || *value == 0)
        return nt_err_set(err, NT_ERR_USAGE, "%s %s: expected a number from 1 to %d", what, text,
                          (int)NT_TASKS_MAX);
    return 0;
}

static int check_options(struct arguments *a, struct nt_err *err)
{
    if (a->json && a->format != NULL && strcmp(a->format, "json") != 0)
        return nt_err_set(err, NT_ERR_USAGE, "--json: not with another --format");
    if (a->format == NULL)
        a->format = "json";
    if (find_launcher(a->format) == NULL && strcmp(a->format, "json") != 0 &&
        strcmp(a->format, "env") != 0 && strcmp(a->format, "csh") != 0 &&
        strcmp(a->format, "dlrover") != 0)
        return nt_err_set(
            err, NT_ERR_USAGE,
            "--format %.64s: expected json, env, csh, hostfile, rankfile, mpich, machinefile, "
            "torchrun, ray or dlrover",
            a->format);
    if (a->each != NULL && a->list != NULL)
        return nt_err_set(err, NT_ERR_USAGE,
                          "--ntasks-per-node and --tasks-per-node cannot be combined");
    struct nt_err why = {0};
    if (nt_pattern_check(a->pattern, &why) != 0)
        return nt_err_set(err, NT_ERR_USAGE, "%s", why.text);
    if (read_count("--cpus-per-task", a->cpus, &a->cores, err) != 0 ||
        (a->spare != NULL && strcmp(a->spare, "0") != 0 &&
         read_count("--spare", a->spare, &a->spares, err) != 0))
        return -1;
    return check_message(a, err);
}

/* Reads the number of tasks that fit on each host, and the number of tasks; 0: as many as fit. */
static int read_capacities(const struct arguments *a, const struct nt_map *map, uint32_t *capacity,
                           size_t *ntasks, struct nt_err *err)
{
    const struct nt_model *m = map->model;
    uint64_t each = 1, arguments = 0;
    if (read_count("--ntasks-per-node", a->each, &each, err) != 0)
        return -1;
    if (read_count("--ntasks", a->ntasks, &arguments, err) != 0)
        return -1;
    size_t hosts = m->hosts > a->spares ? m->hosts - (size_t)a->spares : 1;
    if (a->each == NULL && a->list == NULL && arguments > hosts)
        each = (arguments + hosts - 1) / hosts; /* as a scheduler would distribute them */
    for (size_t h = 0; h < m->hosts; h++)
        capacity[h] = (uint32_t)each;
    if (a->list != NULL && nt_tasks_per_node_read(a->list, capacity, m->hosts, err) != 0)
        return -1;
    *ntasks = (size_t)arguments;
    return 0;
}

static int read_traffic(const char *path, size_t *ntasks, bool given, struct nt_traffic **out,
                        struct nt_err *err)
{
    char *text;
    size_t bytes;
    struct nt_triples t;
    if (nt_file_read(path, MATRIX_FILE_MAX, &text, &bytes, err) != 0)
        return -1;
    int rc = nt_triples_read(nt_file_name(path), text, bytes, &t, err);
    free(text);
    if (rc != 0)
        return -1;
    if (!given || *ntasks < t.ntasks) {
        if (given)
            rc = nt_err_set(err, NT_ERR_INPUT, "%s needs %zu tasks, but the job has %zu", path,
                            t.ntasks, *ntasks);
        *ntasks = t.ntasks;
    }
    if (rc == 0)
        rc = nt_traffic_from_triples(*ntasks, (const uint32_t(*)[2])t.pair, t.bytes, t.n, out, err);
    nt_triples_fini(&t);
    return rc;
}

/* The spare hosts and the hint for the others. */
struct found {
    struct nt_hint *hint;
    struct nt_arena memory;
    uint32_t *spare; /* spares hosts */
    size_t spares;
};

static bool is_spare(const struct found *f, uint32_t host)
{
    for (size_t k = 0; k < f->spares; k++)
        if (f->spare[k] == host)
            return true;
    return false;
}

/* Sets the capacity of spare hosts to 0. The request's tasks become those on hosts that answered.
 * Missing hosts get only tasks that these hosts have no room for, or their own tasks if no number
 * is given. */
static int leave_spares_out(const struct arguments *a, const struct nt_map *map,
                            struct nt_hint_request *asked, struct found *f, struct nt_err *err)
{
    f->spare = nt_arena_array(&f->memory, map->model->hosts + 1, sizeof *f->spare);
    if (nt_arena_check(&f->memory, err) != 0 ||
        (a->spares > 0 &&
         nt_spare_choose(map, asked, (size_t)a->spares, f->spare, &f->spares, err) != 0))
        return -1;
    if (f->spares < a->spares)
        fprintf(stderr,
                "nettopo hint: --spare %llu: the map has %zu host%s, so that %zu %s left out and "
                "one is kept\n",
                (unsigned long long)a->spares, map->model->hosts, map->model->hosts == 1 ? "" : "s",
                f->spares, f->spares == 1 ? "is" : "are");
    const struct nt_model *m = map->model;
    size_t slots = 0;
    for (size_t h = 0; h < m->hosts; h++)
        slots += m->missing[h] ? 0 : asked->capacity[h];
    bool matrix = asked->traffic != NULL;
    size_t left = asked->tasks > slots ? asked->tasks - slots : 0;
    for (size_t h = 0; h < m->hosts && (asked->tasks > 0 || matrix); h++) {
        uint32_t *room = &asked->capacity[h];
        if (!m->missing[h])
            continue;
        *room = matrix ? 0 : *room < left ? *room : (uint32_t)left;
        left -= *room;
    }
    if (!matrix && left == 0)
        asked->tasks = asked->tasks == 0 || asked->tasks > slots ? slots : asked->tasks;
    return 0;
}

static int find_hint(const struct arguments *a, const struct nt_map *map, struct found *f,
                     struct nt_err *err)
{
    struct nt_hint_request asked = {
        .pattern = a->pattern,
        .capacity = nt_arena_array(&f->memory, map->model->hosts + 1, sizeof *asked.capacity),
        .message_bytes = a->message_bytes,
        .any_first = a->any_first};
    struct nt_traffic *matrix = NULL;
    int rc = -1;
    if (nt_arena_check(&f->memory, err) != 0 ||
        read_capacities(a, map, asked.capacity, &asked.tasks, err) != 0)
        return -1;
    if (nt_pattern_matrix(a->pattern) != NULL &&
        read_traffic(nt_pattern_matrix(a->pattern), &asked.tasks, a->ntasks != NULL, &matrix,
                     err) != 0)
        return -1;
    asked.traffic = matrix;
    if (leave_spares_out(a, map, &asked, f, err) != 0)
        goto out;
    if (map->model->family == NT_FAMILY_UNDETERMINED) {
        fputs("nettopo hint: the network is not determined: this is the scheduler's order\n",
              stderr);
        rc = nt_hint_unchanged(map, a->pattern, asked.capacity, asked.tasks, &f->hint, err);
    } else {
        rc = nt_hint_create(map, &asked, &f->hint, err);
    }
    if (rc == 0)
        rc = nt_hint_add_missing(f->hint, map, asked.capacity, err);
out:
    nt_traffic_destroy(matrix);
    return rc;
}

static void copy_metrics(double to[3], const struct nt_metrics *m)
{
    to[0] = m->latency_us;
    to[1] = m->hop_bytes;
    to[2] = m->max_link_load;
}

static void put_variable(struct nt_strbuf *d, bool csh, const char *name, const char *value)
{
    nt_strbuf_puts(d, csh ? "setenv " : "");
    nt_strbuf_puts(d, name);
    nt_strbuf_puts(d, csh ? " \"" : "=");
    nt_strbuf_puts(d, value); /* of any length */
    nt_strbuf_puts(d, csh ? "\";\n" : "\n");
}

/* Names and numbers only: safe for `eval` and for `export $(...)`. */
static int write_env(const struct found *f, const struct nt_map *map, bool csh, char **text,
                     size_t *bytes, struct nt_err *err)
{
    const struct nt_hint *h = f->hint;
    struct nt_strbuf d = {0}, order = {0}, spares = {0};
    char gain[32], rails[32], devices[NT_RAILS_DEVICES_BYTES];
    for (size_t k = 0; k < h->hosts; k++)
        if (!is_spare(f, h->host_order[k]))
            nt_strbuf_print(&order, "%s%s", order.used > 0 ? "," : "",
                            map->host_name[h->host_order[k]]);
    for (size_t k = 0; k < f->spares; k++)
        nt_strbuf_print(&spares, "%s%s", k > 0 ? "," : "", map->host_name[f->spare[k]]);
    snprintf(gain, sizeof gain, "%.6g", h->gain);
    put_variable(&d, csh, "NETTOPO_NODE_ORDER", order.used > 0 ? order.text : "");
    put_variable(&d, csh, "NETTOPO_GAIN", gain);
    if (spares.used > 0)
        put_variable(&d, csh, "NETTOPO_SPARES", spares.text);
    size_t several = nt_rails_devices(map, devices);
    snprintf(rails, sizeof rails, "%zu", several);
    if (several > 0) {
        put_variable(&d, csh, "NETTOPO_NET_DEVICES", devices);
        put_variable(&d, csh, "UCX_NET_DEVICES", devices);
    }
    if (several > 1) {
        put_variable(&d, csh, "UCX_MAX_RNDV_RAILS", rails);
        put_variable(&d, csh, "UCX_MAX_EAGER_RAILS", "1");
    }
    d.failed = d.failed || order.failed || spares.failed;
    free(order.text);
    free(spares.text);
    return nt_strbuf_finish(&d, text, bytes, err);
}

static int write_hint(const struct arguments *a, const struct found *f, const struct nt_map *map,
                      char **text, size_t *bytes, struct nt_err *err)
{
    const struct nt_hint *h = f->hint;
    const char *format = a->format;
    const char *const *names = (const char *const *)map->host_name;
    launcher *write = find_launcher(format);
    if (write != NULL) {
        struct nt_launch_placement s = {h->ntasks, map->model->hosts, h->rank_host, names,
                                        (uint32_t)a->cores};
        return write(&s, text, bytes, err);
    }
    if (strcmp(format, "dlrover") == 0)
        return nt_launch_dlrover(map, f->spare, f->spares, text, bytes, err);
    if (strcmp(format, "env") == 0 || strcmp(format, "csh") == 0)
        return write_env(f, map, strcmp(format, "csh") == 0, text, bytes, err);
    char devices[NT_RAILS_DEVICES_BYTES];
    size_t rails = nt_rails_devices(map, devices);
    struct nt_hint_words w = {.devices = devices,
                              .rails = rails,
                              .pattern = h->pattern,
                              .ntasks = h->ntasks,
                              .rank_host = h->rank_host,
                              .host_name = names,
                              .message_bytes = h->message_bytes,
                              .cost = h->cost,
                              .cost_default = h->cost_default,
                              .gain = h->gain,
                              .lower_bound = h->lower_bound,
                              .first_percent = h->first_percent,
                              .spare = f->spare,
                              .spares = f->spares};
    copy_metrics(w.metrics, &h->metrics);
    copy_metrics(w.metrics_default, &h->metrics_default);
    return nt_hint_write_json(&w, text, bytes, err);
}

/* ---- in a job whose sweep failed ---- */

static bool is_failed_job(const struct arguments *a)
{
    const char *status = getenv("NETTOPO_STATUS");
    return a->map == NULL && !a->rails && status != NULL && strcmp(status, "failed") == 0 &&
           getenv("NETTOPO_NODE_ORDER") != NULL;
}

/* Creates a map with the job's hosts but without a network, so that scripts continue in this
 * order. */
static int make_failed_map(struct nt_map **map, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    const char *order = getenv("NETTOPO_NODE_ORDER");
    char *text = nt_arena_text(&memory, order, strlen(order)), *rest = NULL;
    const char **names = nt_arena_array(&memory, strlen(order) + 1, sizeof *names);
    struct nt_model *model;
    size_t n = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (char *name = strtok_r(text, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest))
        names[n++] = name;
    if (n == 0)
        return nt_err_set(err, NT_ERR_INPUT, "NETTOPO_NODE_ORDER contains no hosts");
    if (nt_model_create(n, 0, 0, &model, err) != 0)
        return -1;
    model->family = NT_FAMILY_UNDETERMINED;
    if (nt_map_create(model, names, map, err) != 0) {
        nt_model_destroy(model);
        return -1;
    }
    return 0;
}

static int hint_run(int argc, char **argv, struct nt_err *err)
{
    struct arguments a = {.pattern = "neighbour", .output = "-"};
    struct nt_map *map;
    struct found found = {0};
    char *text;
    size_t bytes;
    if (nt_command_line_options(argc, argv, flags, &a, err) != 0 || check_options(&a, err) != 0)
        return -1;
    int rc = is_failed_job(&a) ? make_failed_map(&map, err) : nt_file_read_map(a.map, &map, err);
    if (rc != 0)
        return -1;
    if (a.rails) {
        rc = nt_rails_table(map, a.json, &text, &bytes, err);
        if (rc != 0 && a.map != NULL)
            nt_err_prefix(err, "%s", nt_file_name(a.map));
    } else {
        nt_terminal_progress("placing");
        rc = find_hint(&a, map, &found, err);
        nt_terminal_progress(NULL);
        if (rc == 0)
            rc = write_hint(&a, &found, map, &text, &bytes, err);
        nt_hint_destroy(found.hint);
        nt_arena_fini(&found.memory);
    }
    nt_map_destroy(map);
    if (rc != 0)
        return -1;
    return nt_file_write_text(a.output, text, bytes, err);
}

const struct nt_verb nt_verb_hint = {"hint", "suggest a placement of tasks", &help, hint_run};
