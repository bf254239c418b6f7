/* SPDX-License-Identifier: Apache-2.0 */
#include "map_record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "loggp.h"
#include "loggp_fit.h"
#include "loggp_time.h"
#include "machine_text.h"
#include "memory.h"
#include "names.h"
#include "prior.h"
#include "prtt.h"
#include "rail_links.h"
#include "reach.h"
#include "stats.h"
#include "stress.h"

/* The map's host of each host of the samples; UINT32_MAX: the map does not have it. */
static void find_in_map(const struct nt_samples *s, const struct nt_map *map, uint32_t *vertex)
{
    for (size_t h = 0; h < s->hosts; h++)
        vertex[h] = UINT32_MAX;
    for (uint32_t v = 0; v < map->model->hosts; v++) {
        uint32_t h = nt_names_find(s->names, map->host_name[v], strlen(map->host_name[v]));
        if (h != NT_NAMES_NONE)
            vertex[h] = v;
    }
}

/* ---- LogGP ---- */

static const double R2_LEAST = 0.9; /* of the fit: below it has no power */

/* A PRTT sample and its class and rail. */
struct record {
    uint32_t hops, switches;
    const char *rail; /* NULL: selected by the transport */
    size_t number;    /* of the sample: the order stays */
    struct nt_prtt m;
};

struct records {
    const struct nt_samples *samples;
    struct nt_map *map;
    bool *is_first;   /* the samples' hosts that are first in a record */
    uint32_t *vertex; /* the samples' hosts: see find_in_map */
    size_t n;
    struct record *record;
    struct nt_prtt *scratch;
    bool rails; /* some record has one */
};

/* Those of single links on each rail are not of this. */
static bool is_ours(const struct nt_samples *s, size_t number)
{
    const struct nt_sample *x = &s->sample[number];
    return x->kind == NT_SAMPLE_PRTT && strcmp(s->phase[x->phase].name, NT_RAIL_LINKS_PHASE) != 0;
}

static size_t count_prtt(const struct nt_samples *s)
{
    size_t n = 0;
    for (size_t k = 0; k < s->samples; k++)
        n += is_ours(s, k);
    return n;
}

/* ---- records ---- */

static int find_used_hosts(struct records *r, struct nt_err *err)
{
    const struct nt_samples *s = r->samples;
    find_in_map(s, r->map, r->vertex);
    for (size_t k = 0; k < s->samples; k++) {
        uint32_t a = s->sample[k].a, b = s->sample[k].b;
        if (!is_ours(s, k))
            continue;
        if (r->vertex[a] == UINT32_MAX || r->vertex[b] == UINT32_MAX)
            return nt_err_set(err, NT_ERR_INPUT, "host %s is not in the map",
                              s->host_name[r->vertex[a] == UINT32_MAX ? a : b]);
        r->is_first[a] = true;
    }
    return 0;
}

static void add_record(struct records *r, size_t number, const struct nt_reach *reach)
{
    const struct nt_samples *s = r->samples;
    const struct nt_sample *x = &s->sample[number];
    uint32_t to = r->vertex[x->b];
    if (reach->hops[to] == NT_REACH_NONE || x->bytes < 1 || x->count < 1)
        return;
    r->record[r->n++] =
        (struct record){.hops = reach->hops[to],
                        .switches = reach->switches[to],
                        .rail = x->text > 0 ? s->text[x->text - 1] : NULL,
                        .number = number,
                        .m = {.bytes = x->bytes,
                              .count = x->count,
                              .delay_us = x->prtt.delay_us,
                              .hold_us = x->prtt.hold_us,
                              .time_us = x->value_us,
                              .se_us = x->prtt.se_us,
                              .check = strcmp(s->phase[x->phase].name, NT_LOGGP_CHECK_PHASE) == 0}};
    r->rails = r->rails || x->text > 0;
}

static int add_records_from(struct records *r, uint32_t source, struct nt_err *err)
{
    struct nt_reach *reach = NULL;
    for (size_t k = 0; k < r->samples->samples; k++) {
        const struct nt_sample *x = &r->samples->sample[k];
        if (!is_ours(r->samples, k) || x->a != source)
            continue;
        if (reach == NULL && nt_reach_create(r->map->model, r->vertex[source], &reach, err) != 0)
            return -1;
        add_record(r, k, reach);
    }
    nt_reach_destroy(reach);
    return 0;
}

static int compare_records(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    const bool no_rail = x->rail == NULL, no_other = y->rail == NULL;
    const int by_name = no_rail || no_other ? 0 : nt_name_compare(x->rail, y->rail);
    const int last = by_name != 0 ? by_name : NT_ORDER(x->number, y->number, 0);
    return NT_ORDER(x->hops, y->hops,
                    NT_ORDER(x->switches, y->switches, NT_ORDER(no_rail, no_other, last)));
}

static bool same_fit(const struct record *a, const struct record *b)
{
    return a->hops == b->hops && a->switches == b->switches &&
           (a->rail == NULL) == (b->rail == NULL) &&
           (a->rail == NULL || strcmp(a->rail, b->rail) == 0);
}

/* ---- the map's entries ---- */

/* A line that explains little, or whose slope is below its error, is noise. */
static bool has_power(const struct nt_loggp *g)
{
    return !(g->r2 < R2_LEAST) && g->G_us_per_byte > 0 &&
           g->G_se_us_per_byte <= g->G_us_per_byte / 2;
}

static int keep_fit(struct records *r, const struct record *of, const struct nt_loggp_fit *fit,
                    struct nt_err *err)
{
    struct nt_map *map = r->map;
    struct nt_loggp *grown = realloc(map->loggp, (map->loggps + fit->regimes) * sizeof *map->loggp);
    if (grown == NULL)
        return nt_err_memory(err);
    map->loggp = grown;
    for (size_t k = 0; k < fit->regimes; k++) {
        if (!has_power(&fit->regime[k]))
            continue;
        struct nt_loggp *g = &grown[map->loggps++];
        const char *rail = of->rail != NULL ? of->rail : r->rails ? NT_LOGGP_ALL_RAILS : "";
        *g = fit->regime[k];
        nt_path_class_name(of->hops, of->switches, g->class_name);
        strncpy(g->rail, rail, sizeof g->rail - 1);
    }
    return 0;
}

static int fit_classes(struct records *r, struct nt_err *err)
{
    for (size_t begin = 0, end; begin < r->n; begin = end) {
        struct nt_loggp_fit fit;
        struct nt_err why = {0};
        for (end = begin; end < r->n && same_fit(&r->record[begin], &r->record[end]); end++)
            r->scratch[end - begin] = r->record[end].m;
        if (nt_loggp_fit(r->scratch, end - begin, &fit, &why) == 0) {
            if (keep_fit(r, &r->record[begin], &fit, err) != 0)
                return -1;
        } else if (why.kind != NT_ERR_INPUT) { /* too little was measured: no entry */
            *err = why;
            return -1;
        }
    }
    return 0;
}

/* ---- measurements of earlier jobs -------------------------------------------------------- */

enum { SOURCES_MAX = 32, LENGTH_MAX = 64 };

/* Paths between hosts, by their links and the switches on them. */
struct lengths {
    bool seen[LENGTH_MAX][LENGTH_MAX];
};

/* From hosts spread over all, like the hosts that measure LogGP. */
static int find_lengths(const struct nt_model *m, struct lengths *out, struct nt_err *err)
{
    *out = (struct lengths){0};
    for (size_t h = 0; h < m->hosts; h += m->hosts / SOURCES_MAX + 1) {
        struct nt_reach *reach;
        if (nt_reach_create(m, (uint32_t)h, &reach, err) != 0)
            return -1;
        for (size_t to = 0; to < m->hosts; to++)
            if (reach->hops[to] != NT_REACH_NONE && reach->hops[to] < LENGTH_MAX &&
                reach->switches[to] < LENGTH_MAX)
                out->seen[reach->hops[to]][reach->switches[to]] = true;
        nt_reach_destroy(reach);
    }
    return 0;
}

static bool has_class(const struct lengths *lengths, const char *name)
{
    char own[NT_PATH_CLASS_BYTES];
    for (uint32_t hops = 0; hops < LENGTH_MAX; hops++)
        for (uint32_t switches = 0; switches < LENGTH_MAX; switches++) {
            if (!lengths->seen[hops][switches])
                continue;
            nt_path_class_name(hops, switches, own);
            if (strcmp(own, name) == 0)
                return true;
        }
    return false;
}

/* Classes that the job's network has and its sweep did not measure. */
static int add_earlier(const struct nt_samples *samples, struct nt_map *map, struct nt_err *err)
{
    struct lengths lengths;
    size_t measured = map->loggps;
    if (samples->loggps == 0 || map->model->links == 0)
        return 0;
    if (find_lengths(map->model, &lengths, err) != 0)
        return -1;
    for (size_t k = 0; k < samples->loggps; k++) {
        const struct nt_loggp *g = &samples->loggp[k];
        bool has = false;
        for (size_t j = 0; j < measured && !has; j++)
            has = strcmp(map->loggp[j].class_name, g->class_name) == 0 &&
                  strcmp(map->loggp[j].rail, g->rail) == 0;
        if (!has && has_class(&lengths, g->class_name) &&
            nt_loggps_add(&map->loggp, &map->loggps, g, err) != 0)
            return -1;
    }
    return 0;
}

static int add_measured(const struct nt_samples *samples, struct nt_map *map, struct nt_err *err)
{
    size_t n = count_prtt(samples);
    if (n == 0)
        return 0;
    NT_SCOPED struct nt_arena memory = {0};
    struct records r = {.samples = samples, .map = map};
    r.is_first = nt_arena_array(&memory, samples->hosts, sizeof *r.is_first);
    r.vertex = nt_arena_array(&memory, samples->hosts, sizeof *r.vertex);
    r.record = nt_arena_array(&memory, n, sizeof *r.record);
    r.scratch = nt_arena_array(&memory, n, sizeof *r.scratch);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    int rc = find_used_hosts(&r, err);
    for (uint32_t h = 0; rc == 0 && h < samples->hosts; h++)
        if (r.is_first[h])
            rc = add_records_from(&r, h, err);
    if (rc == 0) {
        qsort(r.record, r.n, sizeof *r.record, compare_records);
        rc = fit_classes(&r, err);
    }
    return rc;
}

/* A message of a train takes max(o, g + (s - 1) gap) (Lichei 2006, equation 3.2.2.3). If o of the
 * shortest message is not shorter by two standard errors, trains show o. */
static bool hides_gap(const struct nt_loggp *g)
{
    double se = hypot(isnan(g->o_se_us) ? 0 : g->o_se_us, isnan(g->g_se_us) ? 0 : g->g_se_us);
    double shortest_us = nt_loggp_gap_us(g, 1, g->min_bytes);
    return !isnan(g->g_us) && shortest_us <= g->o_send_us + 2 * se; /* false: one is unknown */
}

static int warn_of_gaps(struct nt_map *map, struct nt_err *err)
{
    size_t hidden = 0, known = 0;
    for (size_t k = 0; k < map->loggps; k++) {
        known += isnan(map->loggp[k].g_us) ? 0 : 1;
        hidden += hides_gap(&map->loggp[k]) ? 1 : 0;
    }
    return hidden == 0
               ? 0
               : nt_map_warn(map, err,
                             "LogGP: in %zu of %zu entries g is an upper bound: a host needs as "
                             "long to send a message (o), so the gap between messages may be "
                             "shorter",
                             hidden, known);
}

int nt_map_loggp(const struct nt_samples *samples, struct nt_map *map, struct nt_err *err)
{
    return add_measured(samples, map, err) == 0 && add_earlier(samples, map, err) == 0
               ? warn_of_gaps(map, err)
               : -1;
}

/* ---- stress kernels ---- */

/* A prediction is as precise as LogGP, a tenth: smaller excesses are not congestion. */
static const double DIFFERS = 1.1;

/* Links of a tier within this share of its busiest are as busy. */
static const double AS_BUSY = 0.9;

/* Packets of a message, so that messages share a link at the same time, and of all together, so
 * that 64 hosts take milliseconds. */
enum { PACKETS_EACH = 16, PACKETS_ALL = 16384, CROWD = NT_SAMPLES_PARTICIPANTS_MAX };

/* The hosts of a kernel as hosts 0, 1, ... of a network in which all other vertices are switches.
 * Consecutive kernels of the same hosts share the network. */
struct map_network {
    struct nt_map *map;
    const uint32_t *vertex; /* the samples' hosts: see find_in_map */
    size_t n;
    uint32_t host[CROWD];     /* the map's */
    uint32_t *back;           /* vertices of the predicted network to those of the map */
    struct nt_network *net;   /* a link that was never the bottleneck limits nothing; NULL: none */
    double bytes, compute_us; /* of a message; of each host after a wave */
    double rails;             /* that a host's connections are spread over, each on one of them */
    double time_us[CROWD][CROWD]; /* of a single message; NaN: unknown */
    double port_us[CROWD][CROWD]; /* for which it keeps its sender's link */
};

/* ---- rails ---- */

enum { DEVICES_MAX = 32 };

/* The devices in "rc_mlx5/mlx5_0:1,rc_mlx5/mlx5_1:1", each once in device; their number. */
static size_t list_devices(const char *used, char (*device)[NT_TRANSPORT_USED_BYTES], size_t n)
{
    char text[NT_TRANSPORT_USED_BYTES], *rest = text, *word;
    snprintf(text, sizeof text, "%s", used);
    while ((word = strsep(&rest, ",")) != NULL) {
        const char *name = strchr(word, '/');
        size_t k = 0;
        while (name != NULL && k < n && strcmp(device[k], name) != 0)
            k++;
        if (name != NULL && k == n && n < DEVICES_MAX)
            snprintf(device[n++], sizeof *device, "%s", name);
    }
    return n;
}

/* A connection uses some of the devices, for which the map has values; connections to several
 * partners use all. */
static double count_rails(const struct nt_samples *samples)
{
    char all[DEVICES_MAX][NT_TRANSPORT_USED_BYTES], own[DEVICES_MAX][NT_TRANSPORT_USED_BYTES];
    size_t n = 0, most = 1;
    for (size_t k = 0; k < samples->transports; k++) {
        n = list_devices(samples->transport[k].used, all, n);
        size_t each = list_devices(samples->transport[k].used, own, 0);
        most = each > most ? each : most;
    }
    return n > most ? (double)n / (double)most : 1;
}

/* ---- the ground ------------------------------------------------------------------------------ */

static void copy_link(const struct nt_link *from, size_t hosts, double rails, struct nt_link *to)
{
    bool inner = from->a >= hosts && from->b >= hosts;
    uint32_t a = to->a, b = to->b;
    *to = *from;
    to->a = a;
    to->b = b;
    to->bandwidth_MBps *= rails;
    to->bandwidth_back_MBps *= rails;
    if (inner && (from->at_least || from->forth_at_least))
        to->bandwidth_MBps = NAN;
    if (inner && (from->at_least || from->back_at_least))
        to->bandwidth_back_MBps = NAN;
}

static void map_network_fini(struct map_network *g)
{
    free(g->back);
    g->back = NULL;
    nt_network_destroy(g->net);
    g->net = NULL;
}

static int make_network(struct map_network *g, struct nt_err *err)
{
    const struct nt_model *m = g->map->model;
    size_t vertices = m->hosts + m->switches, next = g->n;
    uint32_t *place = malloc((vertices + 1) * sizeof *place);
    struct nt_model *model = NULL;
    g->back = malloc((vertices + 1) * sizeof *g->back);
    if (place == NULL || g->back == NULL) {
        free(place);
        return nt_err_memory(err);
    }
    for (size_t v = 0; v < vertices; v++)
        place[v] = UINT32_MAX;
    for (size_t k = 0; k < g->n; k++)
        place[g->host[k]] = (uint32_t)k;
    for (size_t v = 0; v < vertices; v++) {
        if (place[v] == UINT32_MAX)
            place[v] = (uint32_t)next++;
        g->back[place[v]] = (uint32_t)v;
    }
    int rc = nt_model_create(g->n, vertices - g->n, m->links, &model, err);
    for (size_t k = 0; rc == 0 && k < m->links; k++) {
        model->link[k].a = place[m->link[k].a];
        model->link[k].b = place[m->link[k].b];
        copy_link(&m->link[k], m->hosts, g->rails, &model->link[k]);
    }
    for (size_t k = 0; rc == 0 && k < g->n; k++)
        model->overhead_us[k] = m->overhead_us[g->host[k]];
    if (rc == 0)
        rc = nt_network_from_model(model, &g->net, err);
    nt_model_destroy(model);
    free(place);
    return rc;
}

/* ---- a message alone ------------------------------------------------------------------------- */

/* The regimes of a class for the transport's selection of devices; NULL: the map has none. */
static const struct nt_loggp *find_class(const struct nt_map *map, const char *name, size_t *count)
{
    for (size_t k = 0; k < map->loggps; k++) {
        const struct nt_loggp *g = &map->loggp[k];
        if (strcmp(g->class_name, name) != 0 ||
            (g->rail[0] != '\0' && strcmp(g->rail, NT_LOGGP_ALL_RAILS) != 0))
            continue;
        size_t end = k + 1;
        while (end < map->loggps && strcmp(map->loggp[end].class_name, name) == 0 &&
               strcmp(map->loggp[end].rail, g->rail) == 0)
            end++;
        *count = end - k;
        return g;
    }
    return NULL;
}

static double fastest_at(const struct nt_network *net, uint32_t host)
{
    double rate = NAN;
    for (uint32_t k = net->first[host]; k < net->first[host + 1]; k++)
        rate = fmax(rate, net->arc[net->out[k]].rate_MBps); /* of NaN and a number: the number */
    return rate;
}

static void time_pair(struct map_network *g, uint32_t a, uint32_t b)
{
    const struct nt_network *net = g->net;
    char name[NT_PATH_CLASS_BYTES];
    double latency = nt_network_latency(net, a, b), rate = NAN, *time = &g->time_us[a][b];
    uint32_t hops = 0, switches = 0, arc;
    size_t regimes = 0;
    struct nt_walk walk;
    for (nt_walk_begin(net, a, b, &walk); nt_walk_next(&walk, &arc); hops++) {
        rate = fmin(rate, net->arc[arc].rate_MBps);
        switches += net->arc[arc].to >= g->n && g->back[net->arc[arc].to] >= g->map->model->hosts;
    }
    nt_path_class_name(hops, switches, name);
    const struct nt_loggp *class = find_class(g->map, name, &regimes);
    *time = latency + g->bytes * g->rails / rate;
    g->port_us[a][b] = g->bytes / fastest_at(net, a);
    if (class == NULL || hops == 0)
        return;
    *time = fmax(*time, nt_loggp_time_us(class, regimes, g->bytes));
    double gap = nt_loggp_gap_us(class, regimes, g->bytes);
    if (isnan(g->port_us[a][b])) /* without trains its time, the safe side */
        g->port_us[a][b] = (isnan(gap) ? *time : gap) / g->rails;
    g->port_us[a][b] = fmax(g->port_us[a][b], class->g_us);
}

/* ---- the program alone ----------------------------------------------------------------------- */

struct player {
    uint32_t op;
    double now_us, port_us; /* current time of its program; time at which its link is free */
};

static bool to_itself(const struct nt_message *m)
{
    return m->from == m->to;
}

/* Continues until the host waits for a message that was not sent yet. true: it continued. */
static bool advance_host(const struct map_network *g, struct nt_program *p, uint32_t host,
                         struct player *player)
{
    uint32_t began = player->op;
    for (; player->op < p->first[host + 1]; player->op++) {
        uint32_t op = p->op[player->op];
        if (op == NT_PROGRAM_COMPUTE) {
            player->now_us += g->compute_us;
            continue;
        }
        struct nt_message *m = &p->message[op / 2];
        if (to_itself(m))
            continue;
        if (op % 2 == 0) {
            m->sent_us = fmax(player->now_us, player->port_us);
            player->port_us = m->sent_us + g->port_us[m->from][m->to];
            m->received_us = m->sent_us + g->time_us[m->from][m->to];
        } else if (m->received_us < 0) {
            break;
        } else {
            player->now_us = fmax(player->now_us, m->received_us);
        }
    }
    return player->op > began;
}

/* NaN: the time of some pair is unknown. */
static double predict_alone(const struct map_network *g, struct nt_program *p)
{
    struct player player[CROWD] = {{0}};
    double end = 0;
    for (size_t m = 0; m < p->messages; m++) {
        p->message[m].received_us = -1;
        if (!to_itself(&p->message[m]) && isnan(g->time_us[p->message[m].from][p->message[m].to] +
                                                g->port_us[p->message[m].from][p->message[m].to]))
            return NAN;
    }
    for (uint32_t h = 0; h < g->n; h++)
        player[h].op = p->first[h];
    for (bool more = true; more;) {
        more = false;
        for (uint32_t h = 0; h < g->n; h++)
            more |= advance_host(g, p, h, &player[h]);
    }
    for (uint32_t h = 0; h < g->n; h++)
        end = fmax(end, fmax(player[h].now_us, player[h].port_us));
    return end;
}

/* ---- the program with links shared ----------------------------------------------------------- */

static int predict_shared(const struct map_network *g, struct nt_workload load, size_t messages,
                          double *time_us, struct nt_err *err)
{
    struct nt_kernel_result result;
    struct nt_err why = {0};
    double packets = fmin(PACKETS_EACH, floor((double)PACKETS_ALL / (double)(messages + 1)));
    load.packet_bytes = ceil(load.bytes / fmax(packets, 1));
    if (nt_kernel_run(g->net, &load, &result, &why) != 0) {
        if (why.kind == NT_ERR_SYSTEM && err != NULL)
            *err = why;
        return why.kind == NT_ERR_SYSTEM ? -1 : 0;
    }
    *time_us = result.time_us;
    nt_kernel_result_fini(&result);
    return 0;
}

/* The load of an arc, and whether all of it leaves one sender over its own link. That is not
 * congestion, since the sender's program takes as long. */
struct load {
    double bytes;
    bool shared;
};

static void lay_messages(const struct map_network *g, const struct nt_program *p, struct load *load)
{
    for (size_t m = 0; m < p->messages; m++) {
        struct nt_walk walk;
        uint32_t arc;
        bool first = true;
        if (to_itself(&p->message[m]))
            continue;
        nt_walk_begin(g->net, p->message[m].from, p->message[m].to, &walk);
        for (; nt_walk_next(&walk, &arc); first = false) {
            load[arc].bytes += g->bytes;
            load[arc].shared = load[arc].shared || !first;
        }
    }
}

static double busy_us(const struct map_network *g, const struct load *load, size_t arc)
{
    double rate = g->net->arc[arc].rate_MBps;
    return load[arc].shared && rate > 0 ? load[arc].bytes / rate : 0;
}

static uint32_t tier_of_arc(const struct map_network *g, size_t arc)
{
    uint32_t from = nt_model_tier(g->map->model, g->back[g->net->arc[arc].from]);
    uint32_t to = nt_model_tier(g->map->model, g->back[g->net->arc[arc].to]);
    return from < to ? from : to;
}

static int find_congested(const struct map_network *g, const struct nt_program *p,
                          struct nt_stress *s, struct nt_err *err)
{
    const struct nt_network *net = g->net;
    NT_SCOPED struct nt_arena memory = {0};
    struct load *load = nt_arena_array(&memory, net->arcs, sizeof *load);
    size_t worst = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    lay_messages(g, p, load);
    for (size_t arc = 1; arc < net->arcs; arc++)
        if (busy_us(g, load, arc) > busy_us(g, load, worst))
            worst = arc;
    if (net->arcs > 0 && busy_us(g, load, worst) > 0) {
        s->congested = true;
        s->from = g->back[net->arc[worst].from];
        s->to = g->back[net->arc[worst].to];
        s->tier = tier_of_arc(g, worst);
        s->busy_us = busy_us(g, load, worst);
        s->capacity_MBps = net->arc[worst].rate_MBps;
        for (size_t arc = 0; arc < net->arcs; arc++)
            s->links +=
                tier_of_arc(g, arc) == s->tier && busy_us(g, load, arc) >= AS_BUSY * s->busy_us;
    }
    return 0;
}

/* It took longer than alone beyond its own spread, and links that are shared explain at least half
 * of that. */
static bool is_congested(const struct nt_stress *s)
{
    return s->low_us > DIFFERS * s->alone_us && s->shared_us > DIFFERS * s->alone_us &&
           s->shared_us - s->alone_us >= (s->time_us - s->alone_us) / 2;
}

/* ---- a kernel -------------------------------------------------------------------------------- */

static int predict_on(struct map_network *g, const struct nt_workload *load, struct nt_program *p,
                      struct nt_stress *s, struct nt_err *err)
{
    double shared = NAN;
    for (uint32_t a = 0; a < g->n; a++)
        for (uint32_t b = 0; b < g->n; b++)
            if (a != b)
                time_pair(g, a, b);
    s->messages = 0;
    for (size_t m = 0; m < p->messages; m++)
        s->messages += !to_itself(&p->message[m]);
    s->waves = 1;
    if (load->kernel == NT_KERNEL_SR)
        s->waves = (uint32_t)((p->messages + load->wave - 1) / load->wave);
    s->alone_us = predict_alone(g, p);
    if (isnan(s->alone_us) || s->messages == 0)
        return 0;
    if (predict_shared(g, *load, p->messages, &shared, err) != 0)
        return -1;
    s->shared_us = fmax(shared, s->alone_us); /* of a NaN: the other */
    return is_congested(s) ? find_congested(g, p, s, err) : 0;
}

static int predict_stress(struct map_network *g, const struct nt_workload *load,
                          struct nt_stress *s, struct nt_err *err)
{
    struct nt_program program;
    struct nt_err why = {0};
    if (nt_program_create(g->n, load, &program, &why) != 0) {
        if (why.kind == NT_ERR_SYSTEM && err != NULL)
            *err = why;
        return why.kind == NT_ERR_SYSTEM ? -1 : 0;
    }
    int rc = g->net == NULL ? make_network(g, err) : 0;
    if (rc == 0)
        rc = predict_on(g, load, &program, s, err);
    nt_program_fini(&program);
    return rc;
}

/* The map's hosts of the participants; false: some are not in the map, or they are unknown. */
static bool find_crowd(const struct nt_samples *samples, const struct nt_sample *x,
                       struct map_network *g)
{
    uint32_t host[CROWD], found[CROWD] = {0};
    size_t n = nt_samples_participants(samples, x, host);
    for (size_t k = 0; k < n; k++) {
        found[k] = g->vertex[host[k]];
        if (found[k] == UINT32_MAX || g->map->model->missing[found[k]])
            return false;
    }
    if (n != g->n || memcmp(found, g->host, sizeof found) != 0)
        map_network_fini(g);
    g->n = n;
    memcpy(g->host, found, sizeof found);
    return n >= 2;
}

static int add_kernel(const struct nt_samples *samples, const struct nt_sample *x,
                      struct map_network *g, struct nt_stress *s, struct nt_err *err)
{
    struct nt_workload load = {.messages = x->b, .bytes = x->bytes, .seed = NT_STRESS_SEED};
    *s = (struct nt_stress){.hosts = x->a,
                            .repetitions = x->count,
                            .bytes = x->bytes,
                            .time_us = x->value_us,
                            .low_us = x->kernel.low_us,
                            .high_us = x->kernel.high_us,
                            .alone_us = NAN,
                            .shared_us = NAN,
                            .busy_us = NAN,
                            .capacity_MBps = NAN};
    snprintf(s->kernel, sizeof s->kernel, "%s", samples->text[x->text]);
    g->bytes = x->bytes;
    if (nt_workload_parse(samples->text[x->text], &load, NULL) != 0 || x->bytes < 1 ||
        !find_crowd(samples, x, g))
        return 0;
    load.bytes = x->bytes; /* replaces a value that no probe writes into names */
    load.messages = x->b;
    load.tasks = 0;
    g->compute_us = load.compute_us;
    return predict_stress(g, &load, s, err);
}

int nt_map_stress(const struct nt_samples *samples, struct nt_map *map, struct nt_err *err)
{
    size_t kernels = 0;
    for (size_t k = 0; k < samples->samples; k++)
        kernels += samples->sample[k].kind == NT_SAMPLE_KERNEL;
    if (kernels == 0)
        return 0;
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_stress *stress = calloc(kernels, sizeof *stress);
    struct map_network *g = nt_arena_array(&memory, 1, sizeof *g);
    uint32_t *vertex = nt_arena_array(&memory, samples->hosts, sizeof *vertex);
    if (stress == NULL || nt_arena_check(&memory, err) != 0) {
        free(stress);
        return nt_err_memory(err);
    }
    find_in_map(samples, map, vertex);
    free(map->stress);
    map->stress = stress;
    map->stresses = 0;
    g->map = map;
    g->vertex = vertex;
    g->rails = count_rails(samples);
    int rc = 0;
    for (size_t k = 0; k < samples->samples && rc == 0; k++) {
        const struct nt_sample *x = &samples->sample[k];
        /* a kernel without duration, or whose interval does not contain its median, is ignored */
        if (x->kind != NT_SAMPLE_KERNEL || !(x->value_us > 0) || x->kernel.low_us > x->value_us ||
            x->kernel.high_us < x->value_us)
            continue;
        rc = add_kernel(samples, x, g, &stress[map->stresses], err);
        map->stresses += rc == 0;
    }
    map_network_fini(g);
    return rc;
}

/* ---- machines ---- */

struct inside {
    const struct nt_samples *samples;
    struct nt_map *map;
    uint32_t *host;    /* of the map's: the record's */
    uint32_t *machine; /* of the record's models: the map's */
    float *us;         /* room for the hosts of a model */
};

static int find_in_record(struct inside *w, struct nt_err *err)
{
    for (size_t k = 0; k < w->map->model->hosts; k++) {
        const char *name = w->map->host_name[k];
        w->host[k] = nt_names_find(w->samples->names, name, strlen(name));
        if (w->host[k] == NT_NAMES_NONE)
            return nt_err_set(err, NT_ERR_INPUT, "host %s is not in the samples", name);
    }
    return 0;
}

static int number_machines(struct inside *w, struct nt_err *err)
{
    struct nt_map *map = w->map;
    for (size_t k = 0; k < w->samples->models; k++)
        w->machine[k] = NT_MAP_NO_MACHINE;
    for (size_t k = 0; k < map->model->hosts; k++) {
        uint32_t model = w->samples->inside[w->host[k]].model;
        map->machine_of[k] = NT_MAP_NO_MACHINE;
        if (model == NT_SAMPLES_NO_MODEL || map->model->missing[k])
            continue;
        if (w->machine[model] == NT_MAP_NO_MACHINE) {
            if (nt_machine_parse(w->samples->model[model], &map->machine[map->machines], err) != 0)
                return -1;
            w->machine[model] = (uint32_t)map->machines++;
        }
        map->machine_of[k] = w->machine[model];
    }
    return 0;
}

static void sum_up(const struct inside *w, uint32_t machine, int between)
{
    float low = INFINITY, high = 0;
    uint32_t n = 0;
    for (size_t k = 0; k < w->map->model->hosts; k++) {
        float us = w->samples->inside[w->host[k]].latency_us[between];
        if (w->map->machine_of[k] != machine || !(us > 0))
            continue;
        low = fminf(low, us);
        high = fmaxf(high, us);
        w->us[n++] = us;
    }
    if (n > 0)
        w->map->machine[machine].between[between] =
            (struct nt_core_latency){.hosts = n,
                                     .latency_us = (double)nt_stats_median(w->us, n),
                                     .low_us = (double)low,
                                     .high_us = (double)high};
}

static int by_hosts(const void *a, const void *b)
{
    const struct nt_sweep_transport *x = a, *y = b;
    return NT_ORDER(y->hosts, x->hosts, strcmp(x->used, y->used));
}

int nt_map_machines(const struct nt_samples *samples, struct nt_map *map, struct nt_err *err)
{
    size_t hosts = map->model->hosts;
    memcpy(map->sweep.transport, samples->transport, sizeof map->sweep.transport);
    map->sweep.transports = samples->transports;
    qsort(map->sweep.transport, map->sweep.transports, sizeof *map->sweep.transport, by_hosts);
    if (samples->models == 0 || hosts == 0)
        return 0;
    NT_SCOPED struct nt_arena memory = {0};
    struct inside w = {.samples = samples, .map = map};
    w.host = nt_arena_array(&memory, hosts, sizeof *w.host);
    w.machine = nt_arena_array(&memory, samples->models, sizeof *w.machine);
    w.us = nt_arena_array(&memory, hosts, sizeof *w.us);
    free(map->machine);
    free(map->machine_of);
    map->machines = 0;
    map->machine = calloc(samples->models, sizeof *map->machine);
    map->machine_of = malloc(hosts * sizeof *map->machine_of);
    int rc = -1;
    if (!map->machine || !map->machine_of)
        nt_err_memory(err);
    else if (nt_arena_check(&memory, err) == 0 && find_in_record(&w, err) == 0)
        rc = number_machines(&w, err);
    for (uint32_t k = 0; rc == 0 && k < map->machines; k++)
        for (int between = 0; between < NT_BETWEEN_END; between++)
            sum_up(&w, k, between);
    return rc;
}
