/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults_text.h"
#include "files.h"
#include "fleet.h"
#include "hostlist.h"
#include "json_write.h"
#include "map_json.h"
#include "memory.h"
#include "number.h"
#include "picture.h"
#include "rails_text.h"
#include "samples.h"
#include "show_net.h"
#include "strbuf.h"
#include "switch_support.h"
#include "terminal.h"
#include "utc.h"
#include "verbs.h"

enum { WIDE = 1000 }; /* more columns than any output here */

struct arguments {
    bool all, wide, plain, trace, legend, json;
    const char *store, *map;
};

static const struct nt_flag flags[] = {
    {"all", 'a', NULL, NT_AT(all), 1,
     "Print every host and link on its own line, and the peak throughput of switches"},
    {"legend", 0, NULL, NT_AT(legend), 1,
     "Append a legend of all words and symbols (on a terminal: always). Without it, up to two "
     "lines "
     "explain the symbols"},
    {"wide", 'w', NULL, NT_AT(wide), 1, "Do not limit the width of lines"},
    {"plain", 0, NULL, NT_AT(plain), 1, "Print ASCII without colours"},
    {"json", 0, NULL, NT_AT(json), 1,
     "Print the map as JSON (nettopo-map/1), or with --trace the phases"},
    {"trace", 0, NULL, NT_AT(trace), 1,
     "Print the phases of the sweep, with their times, rounds, pairs and failures. SAMPLES "
     "defaults to the file samples beside $NETTOPO_MAP"},
    {"store", 0, "FILE", NT_AT(store), 1,
     "Store of earlier jobs, which date each slow link (default: fleet_store in nettopo.conf)"},
    NT_OPERANDS(map, 1)};

static const struct nt_command_help help = {
    "nettopo show [OPTION...] [MAP]\n"
    "nettopo show --trace [OPTION...] [SAMPLES]",
    "Print a map: the tree of switches with the latency and bandwidth of each uplink, degraded and "
    "missing parts, uncertain switches, and the placement hint. A large map has a summary of each "
    "tier. Similar hosts of a switch share a line, and subtrees without findings are folded. MAP "
    "defaults to $NETTOPO_MAP; - is standard input.\n",
    flags, "nettopo show map.json"};

/* ---- the head ---- */

static void put_number(struct nt_strbuf *d, const char *before, double value, const char *after)
{
    char text[NT_NUMBER_BYTES];
    if (!isfinite(value))
        return;
    nt_number_plain(value, NT_FIGURE_DIGITS, text);
    nt_strbuf_print(d, "%s%s%s", before, text, after);
}

static void put_status(struct nt_strbuf *d, const struct nt_map *map, const struct nt_terminal *t)
{
    enum nt_style style = map->status == NT_STATUS_OK ? NT_STYLE_SWITCH : NT_STYLE_BAD;
    nt_strbuf_print(d, "%s%s%s", nt_style_begin(style, t), nt_status_name(map->status),
                    nt_style_end(t));
    if (map->job_id != 0)
        nt_strbuf_print(d, ", job %llu", (unsigned long long)map->job_id);
    if (map->cluster[0] != '\0') {
        nt_strbuf_puts(d, " on ");
        nt_strbuf_put_line(d, map->cluster);
    }
    const char *const words[] = {map->level, map->created};
    for (size_t k = 0; k < 2; k++) {
        if (words[k][0] == '\0')
            continue;
        nt_strbuf_puts(d, ", ");
        nt_strbuf_put_line(d, words[k]);
    }
    nt_strbuf_puts(d, "\n");
}

/* Prints how the prior was used. */
static void put_prior(struct nt_strbuf *d, const struct nt_prior_use *use)
{
    if (!use->given)
        return;
    if (use->all_taken)
        nt_strbuf_print(
            d, "not measured, from a prior: last seen on %s or later, support %.2g or more",
            use->oldest, use->support);
    else if (use->used)
        nt_strbuf_print(d, "from a prior: %llu pairs verified, %llu taken",
                        (unsigned long long)use->pairs_verified,
                        (unsigned long long)use->pairs_taken);
    else
        nt_strbuf_puts(d, "the prior was not used: ");
    if (!use->used)
        nt_strbuf_put_line(d, use->reason);
    if (use->used && use->hosts_moved > 0)
        nt_strbuf_print(d, ", %llu host%s placed anew", (unsigned long long)use->hosts_moved,
                        use->hosts_moved == 1 ? "" : "s");
    nt_strbuf_puts(d, "\n");
}

static void put_sweep(struct nt_strbuf *d, const struct nt_map *map)
{
    const struct nt_sweep *s = &map->sweep;
    nt_strbuf_print(d, "%llu of %llu pairs", (unsigned long long)s->pairs_measured,
                    (unsigned long long)s->pairs_total);
    if (s->rounds > 0)
        nt_strbuf_print(d, " in %llu rounds", (unsigned long long)s->rounds);
    if (s->seconds > 0)
        put_number(d, ", ", s->seconds, " s");
    if (map->model->rms_us > 0) { /* else the model has as many parameters as there are pairs */
        put_number(d, "; fit r2 ", map->model->r2, "");
        put_number(d, ", rms ", map->model->rms_us, " us");
        put_number(d, ", resolution ", map->model->resolution_us, " us");
    }
    if (map->model->pairs_off > 0)
        nt_strbuf_print(d, ", %zu pair%s off", map->model->pairs_off,
                        map->model->pairs_off == 1 ? "" : "s");
    nt_strbuf_puts(d, "\n");
    put_prior(d, &s->prior);
    if (isfinite(map->model->bisection_MBps))
        put_number(d, map->model->bisection_at_most ? "bisection at most " : "bisection ",
                   map->model->bisection_MBps, " MB/s\n");
}

/* Prints one line about uncertain parts of the map. */
static int put_uncertain(struct nt_strbuf *d, const struct nt_model *m, const struct nt_terminal *t,
                         struct nt_err *err)
{
    double *support;
    size_t unsure = 0;
    if (nt_support_create(m, &support, err) != 0)
        return -1;
    for (size_t s = 0; s < m->switches; s++)
        unsure += support[s] < NT_SUPPORT_USED;
    free(support);
    if (unsure == 0 && !(m->confidence < NT_SUPPORT_USED))
        return 0;
    nt_strbuf_puts(d, nt_style_begin(NT_STYLE_BAD, t));
    if (unsure > 0)
        nt_strbuf_print(
            d, "low confidence: %zu of %zu switches are below 90 %%; the hint ignores them", unsure,
            m->switches);
    else
        nt_strbuf_print(d, "low confidence: %s may be missing",
                        m->switches > 0 ? "groups of hosts" : "links");
    nt_strbuf_print(d, "%s\n", nt_style_end(t));
    return 0;
}

static void put_warnings(struct nt_strbuf *d, const struct nt_map *map, const struct nt_terminal *t)
{
    for (size_t k = 0; k < map->warnings; k++) {
        nt_strbuf_print(d, "%swarning: ", nt_style_begin(NT_STYLE_BAD, t));
        nt_strbuf_put_line(d, map->warning[k]);
        nt_strbuf_print(d, "%s\n", nt_style_end(t));
    }
}

/* ---- the hosts ------------------------------------------------------------------------------ */

static void put_count(struct nt_strbuf *d, const char *before, uint32_t count, const char *what)
{
    nt_strbuf_print(d, "%s%u %s%s", before, count, what, count == 1 ? "" : "s");
}

static void put_nics(struct nt_strbuf *d, const struct nt_machine *m)
{
    for (size_t k = 0; k < m->nics; k++) {
        nt_strbuf_puts(d, k == 0 ? "\n       network: " : ", ");
        nt_strbuf_put_line(d, m->nic[k].name);
        if (m->nic[k].transports[0] != '\0') {
            nt_strbuf_puts(d, " by ");
            nt_strbuf_put_line(d, m->nic[k].transports);
        }
        if (m->nic[k].numa >= 0)
            nt_strbuf_print(d, " at NUMA node %d", m->nic[k].numa);
        if (m->nic[k].pci[0] != '\0') {
            nt_strbuf_puts(d, " (");
            nt_strbuf_put_line(d, m->nic[k].pci);
            nt_strbuf_puts(d, ")");
        }
    }
}

static void put_gpus(struct nt_strbuf *d, const struct nt_machine *m)
{
    for (size_t k = 0; k < m->gpus; k++) {
        nt_strbuf_puts(d, k == 0 ? "\n       GPUs: " : "; ");
        nt_strbuf_put_line(d, m->gpu[k].pci);
        if (m->gpu[k].numa >= 0)
            nt_strbuf_print(d, " at NUMA node %d", m->gpu[k].numa);
        if (m->gpu[k].nics[0] != '\0') {
            nt_strbuf_puts(d, ", nearest ");
            nt_strbuf_put_line(d, m->gpu[k].nics);
        }
    }
}

static void put_transports(struct nt_strbuf *d, const struct nt_map *map)
{
    const struct nt_sweep *s = &map->sweep;
    if (s->transports == 0)
        return;
    nt_strbuf_puts(d, map->machines == 0 ? "\n" : "");
    for (size_t k = 0; k < s->transports; k++) {
        nt_strbuf_puts(d, k == 0 ? "UCX    used " : "; ");
        nt_strbuf_put_line(d, s->transport[k].used);
        nt_strbuf_print(d, " (%u host%s)", s->transport[k].hosts,
                        s->transport[k].hosts == 1 ? "" : "s");
    }
    nt_strbuf_puts(d, "\n");
}

static void put_core_latencies(struct nt_strbuf *d, const struct nt_machine *m)
{
    static const char *const words[NT_BETWEEN_END] = {[NT_BETWEEN_CORE] = "threads of a core",
                                                      [NT_BETWEEN_CACHE] = "sharing a cache",
                                                      [NT_BETWEEN_NUMA] = "in a NUMA node",
                                                      [NT_BETWEEN_PACKAGE] = "in a package",
                                                      [NT_BETWEEN_MACHINE] = "across packages"};
    bool any = false;
    for (int b = 0; b < NT_BETWEEN_END; b++) {
        const struct nt_core_latency *l = &m->between[b];
        char text[NT_NUMBER_BYTES];
        if (l->hosts == 0 || !isfinite(l->latency_us))
            continue;
        nt_number_plain(l->latency_us, 3, text);
        nt_strbuf_print(d, "%s%s %s us", any ? ", " : "\n       core to core: ", words[b], text);
        any = true;
    }
}

/* Prints the hardware of the hosts, one line per model. */
static void put_machines(struct nt_strbuf *d, const struct nt_map *map)
{
    nt_strbuf_puts(d, map->populations > 0 ? "\nlinks  " : "");
    nt_populations_put(d, map);
    nt_strbuf_puts(d, map->populations > 0 ? "\n" : "");
    for (size_t k = 0; k < map->machines; k++) {
        const struct nt_machine *m = &map->machine[k];
        nt_strbuf_puts(d, k == 0 ? "\nhosts  " : "       ");
        put_count(d, "", nt_map_machine_hosts(map, k), "host");
        nt_strbuf_print(d, " (m%zu): ", k + 1);
        if (m->cpu[0] != '\0') {
            nt_strbuf_put_line(d, m->cpu);
            nt_strbuf_puts(d, ", ");
        }
        put_count(d, "", m->packages, "package");
        put_count(d, ", ", m->numas, "NUMA node");
        put_count(d, ", ", m->cores, "core");
        put_count(d, ", ", m->threads, "thread");
        if (m->allowed < m->threads)
            nt_strbuf_print(d, " (%u for the sweep)", m->allowed);
        put_nics(d, m);
        put_gpus(d, m);
        put_core_latencies(d, m);
        nt_strbuf_puts(d, "\n");
    }
    put_transports(d, map);
}

/* ---- since when ----------------------------------------------------------------------------- */

enum { JOBS_MAX = 1000000, LINES_MAX = 20 };
static const int64_t DAYS_S = INT64_C(30) * NT_DAY_S;

static void put_changed_host(struct nt_strbuf *d, const struct nt_fleet_changes *changes,
                             uint32_t host, size_t *lines)
{
    const struct nt_cluster_move *move = nt_fleet_changes_moved(changes, host);
    if (move != NULL && *lines < LINES_MAX) {
        nt_strbuf_puts(d, *lines == 0 ? "\n" : "");
        nt_fleet_cluster_put_move(d, &changes->fleet, move);
        ++*lines;
    }
    for (size_t k = 0; k < changes->count && *lines < LINES_MAX; k++) {
        const struct nt_fleet_change *c = &changes->change[k];
        char since[NT_SINCE_BYTES], now[NT_NUMBER_BYTES], before[NT_NUMBER_BYTES];
        if (!nt_fleet_change_is_worse_for(c, host))
            continue;
        nt_fleet_since_text(c, since);
        nt_number_plain(c->to, 4, now);
        nt_number_plain(c->from, 4, before);
        nt_strbuf_print(d, "%s%.255s: %s %s, in %u jobs of %u users: %s %s, before %s %s\n",
                        *lines == 0 ? "\n" : "", changes->fleet.hosts.name[host],
                        c->kind == NT_FIGURE_LATENCY ? "slow" : "narrow", since, c->jobs, c->users,
                        nt_fleet_kind_name(c->kind), now, before, nt_fleet_kind_unit(c->kind));
        ++*lines;
    }
}

/* Loads the places of hosts that seem slow. number: by host of the map, or NT_NAMES_NONE. */
static int place_hosts(struct nt_fleet_changes *changes, const struct nt_map *map,
                       const char *store, uint32_t *number, struct nt_err *err)
{
    for (size_t h = 0; h < map->model->hosts; h++)
        number[h] =
            nt_names_find(&changes->fleet.hosts, map->host_name[h], strlen(map->host_name[h]));
    return nt_fleet_changes_place(changes, store, DAYS_S, number, map->model->hosts, err);
}

/* Prints a line for each host whose link is worse than before, with the date, if fleet_store of
 * nettopo.conf (or store, if not NULL) can be read and is of this cluster. */
static void put_since(struct nt_strbuf *d, const struct nt_map *map, const char *store)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_fleet_cluster fleet;
    struct nt_fleet_changes changes;
    struct nt_err ignored;
    size_t lines = 0;
    if (nt_fleet_cluster_load(store, 0, false, &fleet, &ignored) != 0)
        return;
    bool fits = strcmp(fleet.sums.cluster, map->cluster) == 0 && fleet.sums.jobs <= JOBS_MAX;
    nt_fleet_cluster_fini(&fleet);
    if (!fits || nt_fleet_changes_load(store, DAYS_S, false, &changes, &ignored) != 0)
        return;
    uint32_t *number = nt_arena_array(&memory, map->model->hosts, sizeof *number);
    if (number != NULL && place_hosts(&changes, map, store, number, &ignored) == 0)
        for (size_t h = 0; h < map->model->hosts; h++)
            if (number[h] != NT_NAMES_NONE)
                put_changed_host(d, &changes, number[h], &lines);
    nt_fleet_changes_fini(&changes);
}

/* ---- stress kernels ------------------------------------------------------------------------- */

/* TABLE_COLUMNS: the heading of the table of kernels, with names of KERNEL_COLUMNS. */
enum { CELL_BYTES = 48, TABLE_COLUMNS = 97, KERNEL_COLUMNS = 8 };

/* Prints the time of a kernel, from microseconds to seconds, with four digits in us. */
static void put_time(struct nt_strbuf *d, int width, double us)
{
    char cell[CELL_BYTES] = "-";
    if (isfinite(us))
        snprintf(cell, sizeof cell, "%.*f", us < 100 ? 1 : 0, us);
    nt_strbuf_print(d, " %*s", width, cell);
}

static void put_congested(struct nt_strbuf *d, const struct nt_map *map, const struct nt_stress *s)
{
    if (s->tier == 0)
        nt_strbuf_puts(d, "  hosts' links: ");
    else
        nt_strbuf_print(d, "  links over tier %u: ", s->tier);
    nt_strbuf_puts(d, nt_map_vertex_name(map, s->from));
    nt_strbuf_puts(d, " to ");
    nt_strbuf_puts(d, nt_map_vertex_name(map, s->to));
    if (s->links > 1)
        nt_strbuf_print(d, " and %u more", s->links - 1);
}

/* Prints a kernel. named: width of the names. */
static void put_kernel(struct nt_strbuf *d, const struct nt_map *map, const struct nt_stress *s,
                       int named)
{
    char interval[CELL_BYTES];
    size_t from = d->used;
    nt_strbuf_print(d, "       %-*s", named, s->kernel);
    nt_strbuf_clean(d, from);
    nt_strbuf_print(d, " %5u %9.0f", s->hosts, s->bytes);
    put_time(d, 9, s->time_us);
    snprintf(interval, sizeof interval, "%.0f-%.0f", s->low_us, s->high_us);
    nt_strbuf_print(d, " %17s", interval);
    put_time(d, 9, s->alone_us);
    put_time(d, 9, s->shared_us);
    if (isfinite(s->alone_us))
        nt_strbuf_print(d, " %6.2f", s->time_us / s->alone_us);
    else
        nt_strbuf_print(d, " %6s", "-");
    if (s->congested)
        put_congested(d, map, s);
    nt_strbuf_puts(d, "\n");
}

static void put_part(struct nt_strbuf *d, const char *before, double us)
{
    if (isfinite(us))
        nt_strbuf_print(d, "%s%.*f", before, us < 100 ? 1 : 0, us);
}

/* Prints a kernel as a sentence, if a row has no room. */
static void put_sentence(struct nt_strbuf *d, const struct nt_map *map, const struct nt_stress *s)
{
    size_t from = d->used;
    nt_strbuf_print(d, "       %s", s->kernel);
    nt_strbuf_clean(d, from);
    nt_strbuf_print(d, " of %u hosts, %.0f bytes:", s->hosts, s->bytes);
    put_part(d, " ", s->time_us);
    nt_strbuf_print(d, " us (95 %%: %.0f-%.0f)", s->low_us, s->high_us);
    put_part(d, ", alone ", s->alone_us);
    put_part(d, ", shared ", s->shared_us);
    if (isfinite(s->alone_us))
        nt_strbuf_print(d, ", ratio %.2f", s->time_us / s->alone_us);
    if (s->congested)
        put_congested(d, map, s);
    nt_strbuf_puts(d, "\n");
}

/* Prints the stress kernels as a table, or as sentences if there are fewer than width columns for
 * it. */
static void put_stress(struct nt_strbuf *d, const struct nt_map *map, size_t width)
{
    size_t named = KERNEL_COLUMNS;
    if (map->stresses == 0)
        return;
    for (size_t k = 0; k < map->stresses; k++)
        named = strlen(map->stress[k].kernel) > named ? strlen(map->stress[k].kernel) : named;
    if (width < TABLE_COLUMNS + named - KERNEL_COLUMNS) {
        nt_strbuf_puts(d, "\nstress kernels\n");
        for (size_t k = 0; k < map->stresses; k++)
            put_sentence(d, map, &map->stress[k]);
        return;
    }
    nt_strbuf_print(d, "\nstress %-*s %5s %9s %9s %17s %9s %9s %6s  %s\n", (int)named, "kernel",
                    "hosts", "bytes", "us", "95 %", "alone", "shared", "ratio", "congested");
    for (size_t k = 0; k < map->stresses; k++)
        put_kernel(d, map, &map->stress[k], (int)named);
}

/* ---- the legend ----------------------------------------------------------------------------- */

enum { LEGEND_COLUMN = 15 };

/* The words and symbols that this map contains. */
struct signs {
    bool latency, host_latency, error, rate, at_least, effective, unsure, suspect, simplex;
};

static struct signs look_for(const struct nt_model *m)
{
    struct signs s = {0};
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        s.latency = s.latency || isfinite(l->latency_us);
        s.host_latency =
            s.host_latency || (isfinite(l->latency_us) && l->a < m->hosts && l->b >= m->hosts);
        s.error = s.error || isfinite(l->latency_se_us);
        s.rate = s.rate || isfinite(l->bandwidth_MBps);
        s.at_least = s.at_least || (l->at_least && isfinite(l->bandwidth_MBps));
        s.effective = s.effective || (l->effective && isfinite(l->bandwidth_MBps));
        s.unsure = s.unsure || l->probability < NT_SUPPORT_SHOWN;
        s.suspect = s.suspect || l->suspect;
        s.simplex = s.simplex || l->simplex;
    }
    return s;
}

/* Formats the first oversubscription in the map; "": there is none. */
static void first_ratio(const struct nt_model *m, char ratio[NT_VALUE_BYTES])
{
    ratio[0] = '\0';
    for (size_t s = 0; s < m->switches && ratio[0] == '\0'; s++)
        nt_ratio_text(m->oversubscription[s], ratio);
}

/* A symbol or word, printed with its meaning if the map contains it. in_short: also in a job's
 * output, the least obvious ones first. */
struct entry {
    bool shown;
    const char *sign, *words, *in_short;
};

/* Prints as many entries as fit into one or two lines. */
static void put_short_legend(struct nt_strbuf *d, const struct entry *entry, size_t entries,
                             size_t width)
{
    struct nt_strbuf line = {0};
    size_t column = 0, lines = 1;
    for (size_t k = 0; k < entries; k++) {
        size_t wide = strlen(entry[k].in_short) + strlen(entry[k].sign) + 3;
        if (!entry[k].shown || entry[k].in_short[0] == '\0')
            continue;
        if (column + wide > width) {
            if (lines++ == 2)
                break;
            column = 0;
        }
        nt_strbuf_print(&line, "%s%s: %s",
                        line.used == 0 ? ""
                        : column == 0  ? "\n"
                                       : "; ",
                        entry[k].sign, entry[k].in_short);
        column += wide;
    }
    if (line.used > 0)
        nt_strbuf_print(d, "\n%s\n", line.text);
    d->failed |= line.failed;
    free(line.text);
}

/* Prints the meaning of the words and symbols in the map; all of them on a terminal. */
static void put_legend(struct nt_strbuf *d, const struct nt_map *map, const struct nt_terminal *t,
                       bool all)
{
    const struct nt_model *m = map->model;
    struct signs s = look_for(m);
    char ratio[NT_VALUE_BYTES];
    first_ratio(m, ratio);
    const char *at_least = t->unicode ? "\xe2\x89\xa5" : ">=",
               *error = t->unicode ? "\xc2\xb1" : "+-";
    const struct entry entry[] = {
        {isfinite(m->confidence), "confidence",
         "probability that the map shows all groups of hosts that the measurements can reveal, and "
         "no false ones",
         ""},
        {s.suspect, "SUSPECT", "clearly worse than comparable links",
         "clearly worse than comparable links"},
        {ratio[0] != '\0', ratio,
         "oversubscription: bandwidth of the hosts below the switch, divided by that of its "
         "uplinks",
         "bandwidth of hosts to that of uplinks"},
        {s.rate, "MB/s up, down", "10^6 bytes per second, towards the root and from it", ""},
        {s.at_least, at_least, "at least: the link was never the bottleneck", "at least"},
        {s.effective, "~", "depends on how flows are routed", "depends on routing"},
        {isfinite(m->resolution_us), "resolution",
         "a link between switches that is shorter than this is not in the map", ""},
        {s.latency, "latency us", "one way, of the uplink", ""},
        {s.host_latency, "",
         "for hosts, this includes the overhead of software and adapter, not only the cable", ""},
        {s.error, error, "standard error of the latency", "standard error"},
        {s.unsure, "support",
         "probability that exactly the hosts below a switch share it, or that a host is in its "
         "place",
         "probability that the place is right"},
        {s.simplex, "one direction", "measured from the host to the switch only", ""},
        {isfinite(m->bisection_MBps), "bisection",
         "bandwidth from one half of the hosts to the other", ""},
        {map->placement != NULL, "gain",
         "predicted time of one round of the pattern in the scheduler's order, divided by that in "
         "the hint's order; 1: no change",
         ""}};
    nt_strbuf_puts(d, nt_style_begin(NT_STYLE_FAINT, t));
    if (all)
        nt_strbuf_puts(d, "\n");
    else
        put_short_legend(d, entry, sizeof entry / sizeof *entry, t->width);
    for (size_t k = 0; all && k < sizeof entry / sizeof *entry; k++)
        if (entry[k].shown)
            nt_text_put_entry(d, entry[k].sign, entry[k].words, t->width, LEGEND_COLUMN);
    nt_strbuf_puts(d, nt_style_end(t));
}

/* ---- the foot ---- */

static bool same_path(const struct nt_loggp *a, const struct nt_loggp *b)
{
    return strcmp(a->class_name, b->class_name) == 0 && strcmp(a->rail, b->rail) == 0;
}

static void put_loggp(struct nt_strbuf *d, const struct nt_map *map)
{
    for (size_t k = 0; k < map->loggps; k++) {
        const struct nt_loggp *g = &map->loggp[k];
        nt_strbuf_puts(d, k == 0 ? "\nLogGP  " : "       ");
        nt_strbuf_put_line(d, g->class_name);
        if (g->rail[0] != '\0') {
            nt_strbuf_puts(d, " by ");
            nt_strbuf_put_line(d, g->rail);
        }
        if ((k > 0 && same_path(g - 1, g)) || (k + 1 < map->loggps && same_path(g, g + 1)))
            put_number(d, " to ", g->max_bytes, " bytes");
        put_number(d, ": L ", g->L_us, " us");
        put_number(d, ", o ", (g->o_send_us + g->o_recv_us) / 2, " us");
        put_number(d, ", g ", g->g_us, " us");
        put_number(d, ", G ", g->G_us_per_byte, " us/byte");
        if (g->seen[0] != '\0') {
            nt_strbuf_puts(d, " (from earlier jobs, last on ");
            nt_strbuf_put_line(d, g->seen);
            nt_strbuf_puts(d, ")");
        }
        nt_strbuf_puts(d, "\n");
    }
}

static void put_gain(struct nt_strbuf *d, const struct nt_map *map)
{
    const struct nt_placement *p = map->placement;
    nt_strbuf_puts(d, "\nhint   ");
    nt_strbuf_put_line(d, p->pattern);
    if (p->gain > 1)
        put_number(d, ": gain ", p->gain, "\n");
    else
        nt_strbuf_puts(d, isnan(p->cost)
                              ? ": the scheduler's order, because the network is undetermined\n"
                              : ": no better order than the scheduler's\n");
    if (p->first_percent > 0)
        put_number(d, "       rank 0 on the first host costs ", p->first_percent,
                   " % more than the best order (nettopo hint --any-first)\n");
    for (size_t k = 0; k < p->spares; k++)
        nt_strbuf_print(d, "%s%s%s", k == 0 ? "       left out: " : " ",
                        map->host_name[p->spare[k]], k + 1 == p->spares ? "\n" : "");
}

/* Prints the order, limited to one line of the terminal. */
static int put_order(struct nt_strbuf *d, const struct nt_map *map, const struct nt_terminal *t,
                     struct nt_err *err)
{
    const struct nt_placement *p = map->placement;
    NT_SCOPED struct nt_arena memory = {0};
    const char **names = nt_arena_array(&memory, p->hosts, sizeof *names);
    struct nt_strbuf folded = {0};
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < p->hosts; k++)
        names[k] = map->host_name[p->order[k]];
    nt_hostlist_format(&folded, names, p->hosts);
    nt_strbuf_puts(&folded, ""); /* an empty text without hosts */
    bool cut = folded.used + 7 > t->width;
    nt_strbuf_puts(d, "order  ");
    nt_strbuf_put(d, folded.text, cut ? t->width - 9 : folded.used);
    nt_strbuf_puts(d, cut ? "..\n" : "\n");
    d->failed |= folded.failed;
    free(folded.text);
    return 0;
}

static int put_head(struct nt_strbuf *d, const struct nt_map *map, const struct nt_terminal *t,
                    struct nt_err *err)
{
    struct nt_strbuf head = {0};
    put_status(&head, map, t);
    nt_picture_put_what(&head, map->model);
    nt_strbuf_puts(&head, "\n");
    put_sweep(&head, map);
    int rc = put_uncertain(&head, map->model, t, err);
    put_warnings(&head, map, t);
    nt_text_put_wrapped(d, &head, t->width, 2);
    nt_strbuf_puts(d, "\n");
    return rc;
}

/* Prints the switches at their limit; with all, also the highest throughput of the others. */
static void put_throughput(struct nt_strbuf *d, const struct nt_map *map, bool all)
{
    static const char *const head[] = {"full   ", "carried at least "};
    for (int bound = 0; bound < (all ? 2 : 1); bound++) {
        bool any = false;
        for (size_t s = 0; s < map->model->switches; s++) {
            const struct nt_throughput *most = &map->model->throughput[s];
            if (!(most->MBps > 0) || most->at_least != (bound == 1))
                continue;
            nt_strbuf_print(d, "%s%s", any ? ", " : head[bound], map->switch_name[s]);
            put_number(d, " ", most->MBps, "");
            any = true;
        }
        nt_strbuf_puts(d, any ? " MB/s\n" : "");
    }
}

/* Prints the part below the network. */
static int put_foot(struct nt_strbuf *d, const struct nt_map *map, const struct arguments *a,
                    const struct nt_terminal *t, struct nt_err *err)
{
    struct nt_strbuf foot = {0};
    put_since(&foot, map, a->store);
    put_throughput(&foot, map, a->all);
    put_loggp(&foot, map);
    int rc = nt_rails_put_advice(&foot, map, err);
    put_stress(&foot, map, t->width);
    put_machines(&foot, map);
    if (map->placement != NULL)
        put_gain(&foot, map);
    nt_text_put_wrapped(d, &foot, t->width, 7);
    if (rc == 0 && map->placement != NULL)
        rc = put_order(d, map, t, err);
    if (rc == 0)
        put_legend(d, map, t, a->legend || t->interactive);
    return rc;
}

/* ---- the sweep ------------------------------------------------------------------------------ */

enum { BEGIN, SECONDS, ROUNDS, PAIRS };

static int beside_map(char *path, size_t capacity, struct nt_err *err)
{
    const char *map = nt_file_map_path(NULL, err);
    if (map == NULL)
        return -1;
    if (map == nt_file_inline_map)
        return nt_err_set(err, NT_ERR_INPUT,
                          "cannot read the samples beside NETTOPO_MAP. Make its directory visible "
                          "here (spank_nettopo(8), CONTAINERS).");
    const char *slash = strrchr(map, '/');
    int dir = slash == NULL ? 0 : (int)(slash + 1 - map);
    int n = snprintf(path, capacity, "%.*ssamples", dir, map);
    if (n < 0 || (size_t)n >= capacity)
        return nt_err_set(err, NT_ERR_USAGE, "NETTOPO_MAP: the path is too long");
    return 0;
}

static void put_seconds(char cell[NT_ROW_CELL_BYTES], double seconds)
{
    if (isfinite(seconds))
        snprintf(cell, NT_ROW_CELL_BYTES, "%.3f", seconds);
}

static void note_failures(const struct nt_samples *s, const struct nt_phase_account *a,
                          struct nt_row *row)
{
    if (a->failed == 0)
        return;
    row->style = NT_STYLE_BAD;
    int n = snprintf(row->note, sizeof row->note, "%zu", a->failed);
    if (a->hosts > 0)
        n += snprintf(row->note + n, sizeof row->note - (size_t)n, ": all of %.48s",
                      s->host_name[a->host]);
    if (a->hosts > 1)
        snprintf(row->note + n, sizeof row->note - (size_t)n, " and %zu more", a->hosts - 1);
}

static int add_phase(const struct nt_samples *s, size_t k, struct nt_text_table *rows,
                     struct nt_err *err)
{
    const struct nt_phase *phase = &s->phase[k];
    struct nt_phase_account account;
    if (nt_samples_account(s, k, &account, err) != 0)
        return -1;
    struct nt_row *row = nt_text_table_add(rows, NT_STYLE_PLAIN, "", phase->name);
    put_seconds(row->cell[BEGIN], s->phase_begin_s[k]);
    put_seconds(row->cell[SECONDS], phase->seconds);
    snprintf(row->cell[ROUNDS], sizeof row->cell[ROUNDS], "%llu",
             (unsigned long long)phase->rounds);
    if (account.pairs > 0)
        snprintf(row->cell[PAIRS], sizeof row->cell[PAIRS], "%zu", account.pairs);
    note_failures(s, &account, row);
    return 0;
}

/* Before the first phase hosts connect; newer records contain the time. */
static void add_meeting(const struct nt_samples *s, struct nt_text_table *rows)
{
    if (s->phases == 0 || isnan(s->phase_begin_s[0]))
        return;
    struct nt_row *row = nt_text_table_add(rows, NT_STYLE_PLAIN, "", "meet");
    put_seconds(row->cell[BEGIN], 0);
    put_seconds(row->cell[SECONDS], s->phase_begin_s[0]);
}

static void put_trace_end(struct nt_strbuf *d, const struct nt_samples *s)
{
    nt_strbuf_print(d, "\n%s after %.3f s", nt_status_name(s->status), s->seconds);
    if (s->job.budget_s > 0)
        nt_strbuf_print(d, " of %.3f", s->job.budget_s);
    nt_strbuf_print(d, ", %zu hosts\n", s->hosts);
    for (size_t k = 0; k < s->hosts; k++) {
        if (s->missing[k] == NULL)
            continue;
        nt_strbuf_print(d, "missing  %s: ", s->host_name[k]);
        nt_strbuf_put_line(d, s->missing[k]);
        nt_strbuf_puts(d, "\n");
    }
    for (size_t k = 0; k < s->warnings; k++) {
        nt_strbuf_puts(d, "warning  ");
        nt_strbuf_put_line(d, s->warning[k]);
        nt_strbuf_puts(d, "\n");
    }
}

/* Prints the trace as JSON. */
static int put_trace_json(struct nt_json_writer *w, const struct nt_samples *s, struct nt_err *err)
{
    nt_json_begin(w, NULL, '{', true);
    nt_json_put_text(w, "status", nt_status_name(s->status));
    nt_json_put_number(w, "seconds", s->seconds);
    nt_json_put_whole(w, "hosts", s->hosts);
    nt_json_begin(w, "phases", '[', true);
    for (size_t k = 0; k < s->phases; k++) {
        struct nt_phase_account account;
        if (nt_samples_account(s, k, &account, err) != 0)
            return -1;
        nt_json_begin(w, NULL, '{', false);
        nt_json_put_text(w, "phase", s->phase[k].name);
        nt_json_put_number(w, "begin_s", s->phase_begin_s[k]);
        nt_json_put_number(w, "seconds", s->phase[k].seconds);
        nt_json_put_whole(w, "rounds", s->phase[k].rounds);
        nt_json_put_whole(w, "pairs", account.pairs);
        nt_json_put_whole(w, "failed", account.failed);
        nt_json_end(w, '}');
    }
    nt_json_end(w, ']');
    nt_json_begin(w, "missing", '[', true);
    for (size_t k = 0; k < s->hosts; k++) {
        if (s->missing[k] == NULL)
            continue;
        nt_json_begin(w, NULL, '{', false);
        nt_json_put_text(w, "host", s->host_name[k]);
        nt_json_put_text(w, "reason", s->missing[k]);
        nt_json_end(w, '}');
    }
    nt_json_end(w, ']');
    nt_json_begin(w, "warnings", '[', true);
    for (size_t k = 0; k < s->warnings; k++)
        nt_json_put_text(w, NULL, s->warning[k]);
    nt_json_end(w, ']');
    nt_json_end(w, '}');
    nt_strbuf_puts(&w->buf, "\n");
    return 0;
}

static int put_trace(struct nt_strbuf *buf, const struct nt_samples *s,
                     const struct nt_terminal *terminal, struct nt_err *err)
{
    static const char *const titles[NT_ROW_CELLS] = {"begin s", "seconds", "rounds", "pairs"};
    struct nt_text_table rows = {0};
    int rc = 0;
    struct nt_row *head = nt_text_table_add_head(&rows, "phase", titles);
    snprintf(head->note, sizeof head->note, "failed");
    add_meeting(s, &rows);
    for (size_t k = 0; k < s->phases && rc == 0; k++)
        rc = add_phase(s, k, &rows, err);
    if (rc == 0) {
        nt_text_table_put(&rows, terminal, buf);
        put_trace_end(buf, s);
    }
    nt_text_table_fini(&rows);
    return rc;
}

static int show_trace(const char *path, const struct arguments *a, const struct nt_terminal *t,
                      struct nt_strbuf *buf, struct nt_err *err)
{
    char beside[4096];
    struct nt_samples *s;
    struct nt_json_writer w = {0};
    if (path == NULL && beside_map(beside, sizeof beside, err) != 0)
        return -1;
    if (nt_file_read_samples(path != NULL ? path : beside, &s, err) != 0)
        return -1;
    int rc = a->json ? put_trace_json(&w, s, err) : put_trace(buf, s, t, err);
    if (a->json)
        *buf = w.buf;
    nt_samples_destroy(s);
    return rc;
}

/* ---- the verb ------------------------------------------------------------------------------- */

static int show_map(const char *path, const struct arguments *a, const struct nt_terminal *t,
                    struct nt_strbuf *d, struct nt_err *err)
{
    struct nt_map *map;
    if (nt_file_read_map(path, &map, err) != 0)
        return -1;
    int rc = put_head(d, map, t, err);
    if (rc == 0)
        rc = nt_show_net(map, a->all, t, d, err);
    if (rc == 0)
        rc = put_foot(d, map, a, t, err);
    nt_map_destroy(map);
    return rc;
}

static int write_json(const char *path, char **text, size_t *bytes, struct nt_err *err)
{
    struct nt_map *map;
    if (nt_file_read_map(path, &map, err) != 0)
        return -1;
    int rc = nt_map_write(map, false, text, bytes, err);
    nt_map_destroy(map);
    return rc;
}

static int show_file(const struct arguments *arguments, char **text, size_t *bytes,
                     struct nt_err *err)
{
    const char *path = arguments->map;
    struct nt_terminal terminal;
    struct nt_strbuf d = {0};
    if (arguments->json && !arguments->trace)
        return write_json(path, text, bytes, err);
    nt_terminal_look(&terminal);
    if (arguments->wide)
        terminal.width = WIDE;
    if (arguments->plain)
        terminal.colour = terminal.unicode = false;
    int rc = arguments->trace ? show_trace(path, arguments, &terminal, &d, err)
                              : show_map(path, arguments, &terminal, &d, err);
    if (rc == 0)
        return nt_strbuf_finish(&d, text, bytes, err);
    free(d.text);
    return -1;
}

static int show_run(int argc, char **argv, struct nt_err *err)
{
    struct arguments arguments = {0};
    char *text;
    size_t bytes;
    if (nt_command_line_options(argc, argv, flags, &arguments, err) != 0 ||
        show_file(&arguments, &text, &bytes, err) != 0)
        return -1;
    return nt_file_write_text("-", text, bytes, err);
}

const struct nt_verb nt_verb_show = {"show", "print a map", &help, show_run};
