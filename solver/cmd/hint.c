/* SPDX-License-Identifier: Apache-2.0 */
#include "hint.h"
#include "hint_rails.h"

#include <stdlib.h>
#include <string.h>

#include "decimal.h"
#include "files.h"
#include "hint_json.h"
#include "launch.h"
#include "memory.h"
#include "option.h"
#include "strbuf.h"
#include "terminal.h"
#include "traffic_text.h"
#include "verbs.h"

enum { MATRIX_FILE_MAX = 256 * 1024 * 1024 };
static const uint64_t SEED = 1; /* the same map gives the same hint */

static const char help[] =
    "usage: nettopo hint [--ntasks N] [--ntasks-per-node K | --tasks-per-node LIST]\n"
    "                    [--pattern P] [--bytes N] [--format F] [-o FILE] [MAP]\n"
    "\n"
    "Places tasks so that those that communicate much are near each other on the map. MAP "
    "defaults\n"
    "to $NETTOPO_MAP. Prints the predicted time of one round of the pattern in microseconds, in "
    "the\n"
    "hint's order and in the scheduler's; the gain is their quotient, and 1 means that the\n"
    "scheduler's order is kept. nettopo(1), PATTERNS AND GAIN, says for which message size, and\n"
    "when not to rely on it.\n"
    "\n"
    "  -n, --ntasks N        tasks; default: as many as the hosts hold\n"
    "  --ntasks-per-node K   each host holds K tasks; default 1\n"
    "  --tasks-per-node LIST hosts hold different numbers, as in $SLURM_TASKS_PER_NODE: 4(x2),3\n"
    "  -p, --pattern P       neighbour (default), ring, stencil:AxB[xC][:periodic] or halo:,\n"
    "                        tree, alltoall, allreduce[:ring|:tree], training as\n"
    "                        megatron:tp=T,pp=P,dp=D[,ep=E], or matrix:PATH with what the ranks\n"
    "                        send each other: lines of RANK RANK BYTES, or comma separated rows "
    "of\n"
    "                        bytes\n"
    "  -b, --bytes N         of a message of a named pattern, each way; default 65536\n"
    "  -f, --format F        json (default); env: lines for a shell; or a launcher's file:\n"
    "                        hostfile (srun --distribution=arbitrary, Flux), rankfile (Open MPI),\n"
    "                        mpich, machinefile (Intel MPI), torchrun, ray; dlrover: hosts and\n"
    "                        their switches\n"
    "  --rails               instead: of several network devices a host, by message size, what\n"
    "                        one alone, a divided message, UCX's own division (measured) and\n"
    "                        messages scheduled over all take, and how much of the time is saved\n"
    "  -o, --output FILE     written whole or not at all; default -\n";

struct arguments {
    const char *ntasks, *each, *list, *pattern, *bytes, *format, *output, *map;
    uint64_t message_bytes; /* 0: the default */
    bool rails;
};

typedef int launcher(const struct nt_seating *, char **, size_t *, struct nt_err *);

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
        return nt_err_set(err, NT_ERR_USAGE, "--bytes is for named patterns: a matrix has its own");
    if (nt_decimal_whole(a->bytes, strlen(a->bytes), NT_TRAFFIC_MESSAGE_MAX, &a->message_bytes) !=
            0 ||
        a->message_bytes == 0)
        return nt_err_set(err, NT_ERR_USAGE, "--bytes %s: expected a number from 1 to %d", a->bytes,
                          (int)NT_TRAFFIC_MESSAGE_MAX);
    return 0;
}

static int check_options(struct arguments *a, struct nt_err *err)
{
    if (find_launcher(a->format) == NULL && strcmp(a->format, "json") != 0 &&
        strcmp(a->format, "env") != 0 && strcmp(a->format, "dlrover") != 0)
        return nt_err_set(err, NT_ERR_USAGE,
                          "format %s: expected json, env, hostfile, rankfile, mpich, machinefile, "
                          "torchrun, ray or dlrover",
                          a->format);
    if (a->each != NULL && a->list != NULL)
        return nt_err_set(err, NT_ERR_USAGE,
                          "--ntasks-per-node and --tasks-per-node say the same thing twice");
    struct nt_err why = {0};
    if (nt_pattern_check(a->pattern, &why) != 0)
        return nt_err_set(err, NT_ERR_USAGE, "%s", why.text);
    return check_message(a, err);
}

static int read_count(const char *what, const char *text, uint64_t *value, struct nt_err *err)
{
    if (nt_decimal_whole(text, strlen(text), NT_TASKS_MAX, value) != 0 || *value == 0)
        return nt_err_set(err, NT_ERR_USAGE, "%s %s: expected a number from 1 to %d", what, text,
                          (int)NT_TASKS_MAX);
    return 0;
}

/* What each host holds, and how many tasks there are. */
static int read_capacities(const struct arguments *a, const struct nt_map *map, uint32_t *capacity,
                           size_t *ntasks, struct nt_err *err)
{
    const struct nt_model *m = map->model;
    uint64_t each = 1, arguments = 0;
    if (a->each != NULL && read_count("--ntasks-per-node", a->each, &each, err) != 0)
        return -1;
    if (a->ntasks != NULL && read_count("--ntasks", a->ntasks, &arguments, err) != 0)
        return -1;
    size_t hosts = 0, slots = 0;
    for (size_t h = 0; h < m->hosts; h++)
        hosts += !m->missing[h];
    if (a->each == NULL && a->list == NULL && hosts > 0 && arguments > hosts)
        each = (arguments + hosts - 1) / hosts; /* as a scheduler would spread them */
    for (size_t h = 0; h < m->hosts; h++)
        capacity[h] = (uint32_t)each;
    if (a->list != NULL && nt_tasks_per_node_read(a->list, capacity, m->hosts, err) != 0)
        return -1;
    for (size_t h = 0; h < m->hosts; h++)
        slots += m->missing[h] ? 0 : capacity[h];
    *ntasks = arguments > 0 ? (size_t)arguments : slots;
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
            rc = nt_err_set(err, NT_ERR_INPUT, "%s: %zu ranks for %zu tasks", path, t.ntasks,
                            *ntasks);
        *ntasks = t.ntasks;
    }
    if (rc == 0)
        rc = nt_traffic_from_triples(*ntasks, (const uint32_t(*)[2])t.pair, t.bytes, t.n, out, err);
    nt_triples_fini(&t);
    return rc;
}

static int find_hint(const struct arguments *a, const struct nt_map *map, struct nt_hint **out,
                     struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *capacity = nt_arena_array(&memory, map->model->hosts + 1, sizeof *capacity);
    struct nt_traffic *traffic = NULL;
    size_t ntasks;
    int rc = -1;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    if (read_capacities(a, map, capacity, &ntasks, err) != 0)
        goto out;
    if (strncmp(a->pattern, "matrix:", 7) == 0)
        rc = read_traffic(a->pattern + 7, &ntasks, a->ntasks != NULL, &traffic, err);
    else
        rc = nt_traffic_create(a->pattern, ntasks, &traffic, err);
    if (rc == 0 && a->message_bytes > 0)
        nt_traffic_set_message(traffic, (double)a->message_bytes);
    if (rc == 0)
        rc = nt_hint_from_traffic(map, traffic, a->pattern, capacity, SEED, out, err);
out:
    nt_traffic_destroy(traffic);
    return rc;
}

static void copy_metrics(double to[3], const struct nt_metrics *m)
{
    to[0] = m->latency_us;
    to[1] = m->hop_bytes;
    to[2] = m->max_link_load;
}

/* Names and numbers only: safe for `eval` and for `export $(...)`. */
static int write_env(const struct nt_hint *h, const struct nt_map *map, char **text, size_t *bytes,
                     struct nt_err *err)
{
    struct nt_strbuf d = {0};
    nt_strbuf_puts(&d, "NETTOPO_NODE_ORDER=");
    for (size_t k = 0; k < h->hosts; k++) {
        nt_strbuf_puts(&d, k == 0 ? "" : ",");
        nt_strbuf_puts(&d, map->host_name[h->host_order[k]]);
    }
    nt_strbuf_print(&d, "\nNETTOPO_GAIN=%.6g\n", h->gain);
    return nt_strbuf_finish(&d, text, bytes, err);
}

static int write_hint(const char *format, const struct nt_hint *h, const struct nt_map *map,
                      char **text, size_t *bytes, struct nt_err *err)
{
    const char *const *names = (const char *const *)map->host_name;
    launcher *write = find_launcher(format);
    if (write != NULL) {
        struct nt_seating s = {h->ntasks, map->model->hosts, h->rank_host, names};
        return write(&s, text, bytes, err);
    }
    if (strcmp(format, "dlrover") == 0)
        return nt_launch_dlrover(map, text, bytes, err);
    if (strcmp(format, "env") == 0)
        return write_env(h, map, text, bytes, err);
    struct nt_hint_words w = {.pattern = h->pattern,
                              .ntasks = h->ntasks,
                              .rank_host = h->rank_host,
                              .host_name = names,
                              .message_bytes = h->message_bytes,
                              .cost = h->cost,
                              .cost_default = h->cost_default,
                              .gain = h->gain,
                              .lower_bound = h->lower_bound};
    copy_metrics(w.metrics, &h->metrics);
    copy_metrics(w.metrics_default, &h->metrics_default);
    return nt_hint_write_json(&w, text, bytes, err);
}

static int hint_run(int argc, char **argv, struct nt_err *err)
{
    struct arguments a = {.pattern = "neighbour", .format = "json", .output = "-"};
    const struct nt_flag flags[] = {
        {"ntasks", 'n', &a.ntasks, NULL},     {"ntasks-per-node", 0, &a.each, NULL},
        {"tasks-per-node", 0, &a.list, NULL}, {"pattern", 'p', &a.pattern, NULL},
        {"bytes", 'b', &a.bytes, NULL},       {"format", 'f', &a.format, NULL},
        {"output", 'o', &a.output, NULL},     {"rails", 0, NULL, &a.rails},
    };
    struct nt_map *map;
    struct nt_hint *hint;
    char *text;
    size_t bytes;
    if (nt_command_line_options(argc, argv, flags, sizeof flags / sizeof *flags, &a.map, 1, err) !=
            0 ||
        check_options(&a, err) != 0 || nt_file_read_map(a.map, &map, err) != 0)
        return -1;
    int rc;
    if (a.rails) {
        rc = nt_hint_rails(map, &text, &bytes, err);
    } else {
        nt_terminal_progress("placing");
        rc = find_hint(&a, map, &hint, err);
        nt_terminal_progress(NULL);
        if (rc == 0) {
            rc = write_hint(a.format, hint, map, &text, &bytes, err);
            nt_hint_destroy(hint);
        }
    }
    nt_map_destroy(map);
    if (rc != 0)
        return -1;
    return nt_file_write_text(a.output, text, bytes, err);
}

const struct nt_verb nt_verb_hint = {"hint", "where to put which rank", help, hint_run};
