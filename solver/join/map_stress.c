/* SPDX-License-Identifier: Apache-2.0 */
#include "map_stress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "loggp_time.h"
#include "memory.h"
#include "program.h"
#include "reach.h"
#include "stress.h"

/* A prediction is as good as LogGP's, a tenth: what is not longer by more is not congestion. */
static const double DIFFERS = 1.1;

/* Links of a tier within this share of its busiest are as busy. */
static const double AS_BUSY = 0.9;

/* Packets of a message, so that messages share a link at the same time, and of all together, so
 * that 64 hosts take milliseconds. */
enum { PACKETS_EACH = 16, PACKETS_ALL = 16384, CROWD = NT_SAMPLES_CROWD_MAX };

/* The hosts of a kernel as hosts 0, 1, ... of a network in which all other vertices pass on. The
 * network stays as long as kernels are among the same hosts. */
struct map_network {
    struct nt_map *map;
    size_t n;
    uint32_t host[CROWD];   /* the map's */
    uint32_t *back;         /* vertices: of the ground to those of the map */
    struct nt_network *net; /* a link that was never the bottleneck limits nothing; NULL: none */
    double bytes;
    double rails; /* that a host's connections are spread over, each on one of them */
    double time_us[CROWD][CROWD]; /* of a message alone; NaN: not known */
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

/* A connection uses some of the devices, which is what the map's figures are of; those to several
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

/* The regimes of a class, of what the transport chose; NULL: the map has none. */
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
    double now_us, port_us; /* its program stands at; its link is free from */
};

static bool to_itself(const struct nt_message *m)
{
    return m->from == m->to;
}

/* Goes on until it waits for what is not sent yet. True: it went on. */
static bool advance_host(const struct map_network *g, struct nt_program *p, uint32_t host,
                         struct player *player)
{
    uint32_t began = player->op;
    for (; player->op < p->first[host + 1]; player->op++) {
        uint32_t op = p->op[player->op];
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

/* NaN when a time of a pair is not known. */
static double play_alone(const struct map_network *g, struct nt_program *p)
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

static int play_shared(const struct map_network *g, struct nt_workload load, size_t messages,
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

/* What an arc carries, and whether it is for all of it the sender's own link: that is no
 * congestion, the sender's program is as long. */
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
    s->alone_us = play_alone(g, p);
    if (isnan(s->alone_us) || s->messages == 0)
        return 0;
    if (play_shared(g, *load, p->messages, &shared, err) != 0)
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

/* The map's hosts of those who took part; false: not all are in it, or it is not known. */
static bool find_crowd(const struct nt_samples *samples, const struct nt_sample *x,
                       struct map_network *g)
{
    const struct nt_map *map = g->map;
    uint32_t host[CROWD], found[CROWD] = {0};
    size_t n = nt_samples_crowd(samples, x, host);
    for (size_t k = 0; k < n; k++) {
        found[k] = UINT32_MAX;
        for (uint32_t v = 0; v < map->model->hosts && found[k] == UINT32_MAX; v++)
            if (strcmp(samples->host_name[host[k]], map->host_name[v]) == 0)
                found[k] = v;
        if (found[k] == UINT32_MAX || map->model->missing[found[k]])
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
    snprintf(s->kernel, sizeof s->kernel, "%.15s", samples->text[x->text]);
    g->bytes = x->bytes;
    if (nt_workload_parse(samples->text[x->text], &load, NULL) == 0 && x->bytes >= 1 &&
        find_crowd(samples, x, g))
        return predict_stress(g, &load, s, err);
    return 0;
}

int nt_map_stress(const struct nt_samples *samples, struct nt_map *map, struct nt_err *err)
{
    size_t kernels = 0;
    for (size_t k = 0; k < samples->samples; k++)
        kernels += samples->sample[k].kind == NT_SAMPLE_KERNEL;
    if (kernels == 0)
        return 0;
    struct nt_stress *stress = calloc(kernels, sizeof *stress);
    struct map_network *g = calloc(1, sizeof *g);
    if (stress == NULL || g == NULL) {
        free(stress);
        free(g);
        return nt_err_memory(err);
    }
    free(map->stress);
    map->stress = stress;
    map->stresses = 0;
    g->map = map;
    g->rails = count_rails(samples);
    int rc = 0;
    for (size_t k = 0; k < samples->samples && rc == 0; k++) {
        const struct nt_sample *x = &samples->sample[k];
        /* a kernel that took no time, or whose interval does not hold its median, says nothing */
        if (x->kind != NT_SAMPLE_KERNEL || !(x->value_us > 0) || x->kernel.low_us > x->value_us ||
            x->kernel.high_us < x->value_us)
            continue;
        rc = add_kernel(samples, x, g, &stress[map->stresses], err);
        map->stresses += rc == 0;
    }
    map_network_fini(g);
    free(g);
    return rc;
}
