/* SPDX-License-Identifier: Apache-2.0 */
#include "map_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "attachment.h"
#include "faults_text.h"
#include "json_write.h"
#include "number.h"
#include "switch_support.h"

static void text_if(struct nt_json_writer *w, const char *name, const char *value)
{
    if (value[0] != '\0')
        nt_json_put_text(w, name, value);
}

static void put_positive(struct nt_json_writer *w, const char *name, double value)
{
    if (value > 0)
        nt_json_put_number(w, name, value);
}

static void flag_if(struct nt_json_writer *w, const char *name, bool value)
{
    if (value)
        nt_json_put_flag(w, name, true);
}

/* Models are named by their number, from 1. */
static void put_model_name(struct nt_json_writer *w, const char *name, size_t index)
{
    char text[32];
    (void)snprintf(text, sizeof text, "m%zu", index + 1);
    nt_json_put_text(w, name, text);
}

/* ---- parts of the map ------------------------------------------------------------------------ */

static void put_job(struct nt_json_writer *w, const struct nt_map *map)
{
    if (map->job_id == 0 && !*map->cluster && !*map->level && !*map->created)
        return;
    nt_json_begin(w, "job", '{', false);
    if (map->job_id != 0)
        nt_json_put_whole(w, "id", map->job_id);
    text_if(w, "cluster", map->cluster);
    text_if(w, "level", map->level);
    text_if(w, "created", map->created);
    nt_json_end(w, '}');
}

static void put_transports(struct nt_json_writer *w, const struct nt_sweep *s)
{
    if (s->transports == 0)
        return;
    nt_json_begin(w, "transports", '[', false);
    for (size_t k = 0; k < s->transports; k++) {
        nt_json_begin(w, NULL, '{', false);
        nt_json_put_text(w, "used", s->transport[k].used);
        nt_json_put_whole(w, "hosts", s->transport[k].hosts);
        nt_json_end(w, '}');
    }
    nt_json_end(w, ']');
}

static void put_sweep(struct nt_json_writer *w, const struct nt_map *map)
{
    const struct nt_sweep *s = &map->sweep;
    nt_json_begin(w, "sweep", '{', false);
    nt_json_put_whole(w, "hosts", map->model->hosts);
    nt_json_put_whole(w, "pairs_measured", s->pairs_measured);
    nt_json_put_whole(w, "pairs_total", s->pairs_total);
    if (s->rounds > 0)
        nt_json_put_whole(w, "rounds", s->rounds);
    put_positive(w, "seconds", s->seconds);
    if (s->phases > 0) {
        nt_json_begin(w, "phases", '[', false);
        for (size_t k = 0; k < s->phases; k++) {
            nt_json_begin(w, NULL, '{', false);
            nt_json_put_text(w, "name", s->phase[k].name);
            nt_json_put_whole(w, "rounds", s->phase[k].rounds);
            nt_json_put_number(w, "seconds", s->phase[k].seconds);
            nt_json_end(w, '}');
        }
        nt_json_end(w, ']');
    }
    if (s->prior.given) {
        nt_json_begin(w, "prior", '{', false);
        nt_json_put_flag(w, "used", s->prior.used);
        nt_json_put_whole(w, "pairs_taken", s->prior.pairs_taken);
        nt_json_put_whole(w, "pairs_verified", s->prior.pairs_verified);
        nt_json_put_whole(w, "pairs_contradicted", s->prior.pairs_contradicted);
        nt_json_put_whole(w, "hosts_moved", s->prior.hosts_moved);
        text_if(w, "reason", s->prior.reason);
        if (s->prior.all_taken)
            nt_json_put_number(w, "support", s->prior.support);
        text_if(w, "oldest", s->prior.oldest);
        nt_json_end(w, '}');
    }
    put_transports(w, s);
    nt_json_end(w, '}');
}

static void put_model_of(struct nt_json_writer *w, const struct nt_map *map, size_t host)
{
    if (map->machine_of == NULL || map->machine_of[host] >= map->machines)
        return;
    put_model_name(w, "model", map->machine_of[host]);
}

static void put_populations(struct nt_json_writer *w, const struct nt_map *map)
{
    if (map->populations == 0)
        return;
    nt_json_begin(w, "populations", '[', true);
    for (size_t k = 0; k < map->populations; k++) {
        const struct nt_population *p = &map->population[k];
        nt_json_begin(w, NULL, '{', false);
        nt_json_put_whole(w, "hosts", p->hosts);
        put_positive(w, "latency_us", p->latency_us);
        put_positive(w, "bandwidth_MBps", p->bandwidth_MBps);
        nt_json_end(w, '}');
    }
    nt_json_end(w, ']');
}

static void put_vertices(struct nt_json_writer *w, const struct nt_map *map,
                         const struct nt_attachment *at, const double *support)
{
    const struct nt_model *m = map->model;
    nt_json_begin(w, "nodes", '[', true);
    for (size_t k = 0; k < m->hosts; k++) {
        nt_json_begin(w, NULL, '{', false);
        nt_json_put_text(w, "name", map->host_name[k]);
        if (at->switch_of[k] != NT_ATTACHMENT_NOWHERE)
            nt_json_put_text(w, "switch", map->switch_name[at->switch_of[k]]);
        put_positive(w, "overhead_us", m->overhead_us[k]);
        put_model_of(w, map, k);
        if (map->population_of != NULL && map->population_of[k] < map->populations)
            nt_json_put_whole(w, "population", map->population_of[k] + 1);
        flag_if(w, "suspect", m->host_suspect[k]);
        if (m->missing[k])
            nt_json_put_text(w, "status", "missing");
        nt_json_end(w, '}');
    }
    nt_json_end(w, ']');
    nt_json_begin(w, "switches", '[', true);
    for (size_t k = 0; k < m->switches; k++) {
        nt_json_begin(w, NULL, '{', false);
        nt_json_put_text(w, "name", map->switch_name[k]);
        nt_json_put_whole(w, "tier", m->tier[k]);
        nt_json_put_whole(w, "hosts", at->hosts_on[k]);
        nt_json_put_number(w, "support", support[k]);
        nt_json_put_number(w, "max_MBps", m->throughput[k].MBps);
        flag_if(w, "max_at_least", m->throughput[k].MBps > 0 && m->throughput[k].at_least);
        nt_json_end(w, '}');
    }
    nt_json_end(w, ']');
}

static void put_nics(struct nt_json_writer *w, const struct nt_machine *m)
{
    if (m->nics == 0)
        return;
    nt_json_begin(w, "nics", '[', false);
    for (size_t k = 0; k < m->nics; k++) {
        nt_json_begin(w, NULL, '{', false);
        nt_json_put_text(w, "name", m->nic[k].name);
        text_if(w, "pci", m->nic[k].pci);
        if (m->nic[k].numa >= 0)
            nt_json_put_whole(w, "numa_node", (uint64_t)m->nic[k].numa);
        text_if(w, "transports", m->nic[k].transports);
        nt_json_end(w, '}');
    }
    nt_json_end(w, ']');
}

static void put_gpus(struct nt_json_writer *w, const struct nt_machine *m)
{
    if (m->gpus == 0)
        return;
    nt_json_begin(w, "gpus", '[', false);
    for (size_t k = 0; k < m->gpus; k++) {
        nt_json_begin(w, NULL, '{', false);
        nt_json_put_text(w, "pci", m->gpu[k].pci);
        if (m->gpu[k].numa >= 0)
            nt_json_put_whole(w, "numa_node", (uint64_t)m->gpu[k].numa);
        text_if(w, "nics", m->gpu[k].nics);
        nt_json_end(w, '}');
    }
    nt_json_end(w, ']');
}

static void put_core_latencies(struct nt_json_writer *w, const struct nt_machine *m)
{
    bool any = false;
    for (int b = 0; b < NT_BETWEEN_END; b++) {
        const struct nt_core_latency *l = &m->between[b];
        if (l->hosts == 0)
            continue;
        if (!any)
            nt_json_begin(w, "core_latency", '[', false);
        any = true;
        nt_json_begin(w, NULL, '{', false);
        nt_json_put_text(w, "between", nt_between_name((enum nt_between)b));
        nt_json_put_whole(w, "hosts", l->hosts);
        nt_json_put_number(w, "latency_us", l->latency_us);
        nt_json_put_number(w, "low_us", l->low_us);
        nt_json_put_number(w, "high_us", l->high_us);
        nt_json_end(w, '}');
    }
    if (any)
        nt_json_end(w, ']');
}

static void put_machines(struct nt_json_writer *w, const struct nt_map *map)
{
    if (map->machines == 0)
        return;
    nt_json_begin(w, "models", '[', true);
    for (size_t k = 0; k < map->machines; k++) {
        const struct nt_machine *m = &map->machine[k];
        nt_json_begin(w, NULL, '{', false);
        put_model_name(w, "name", k);
        nt_json_put_whole(w, "hosts", nt_map_machine_hosts(map, k));
        text_if(w, "cpu", m->cpu);
        nt_json_put_whole(w, "packages", m->packages);
        nt_json_put_whole(w, "numa_nodes", m->numas);
        nt_json_put_whole(w, "cores", m->cores);
        nt_json_put_whole(w, "threads", m->threads);
        nt_json_put_whole(w, "threads_allowed", m->allowed);
        if (m->l2_bytes > 0)
            nt_json_put_whole(w, "l2_bytes", m->l2_bytes);
        if (m->l3_bytes > 0)
            nt_json_put_whole(w, "l3_bytes", m->l3_bytes);
        put_nics(w, m);
        put_gpus(w, m);
        put_core_latencies(w, m);
        nt_json_end(w, '}');
    }
    nt_json_end(w, ']');
}

static void put_links(struct nt_json_writer *w, const struct nt_map *map)
{
    nt_json_begin(w, "links", '[', true);
    for (size_t k = 0; k < map->model->links; k++) {
        const struct nt_link *l = &map->model->link[k];
        nt_json_begin(w, NULL, '{', false);
        nt_json_put_text(w, "a", nt_map_vertex_name(map, l->a));
        nt_json_put_text(w, "b", nt_map_vertex_name(map, l->b));
        nt_json_put_number(w, "latency_us", l->latency_us);
        nt_json_put_number(w, "latency_se_us", l->latency_se_us);
        nt_json_put_number(w, "bandwidth_MBps", l->bandwidth_MBps);
        nt_json_put_number(w, "bandwidth_back_MBps", l->bandwidth_back_MBps);
        nt_json_put_number(w, "bandwidth_se_MBps", l->bandwidth_se_MBps);
        nt_json_put_number(w, "bandwidth_back_se_MBps", l->bandwidth_back_se_MBps);
        flag_if(w, "bandwidth_at_least", l->at_least);
        flag_if(w, "bandwidth_forth_at_least", l->forth_at_least);
        flag_if(w, "bandwidth_back_at_least", l->back_at_least);
        flag_if(w, "bandwidth_effective", l->effective);
        if (l->loaded_MBps > 0)
            nt_json_put_number(w, "bandwidth_loaded_MBps", l->loaded_MBps);
        nt_json_put_number(w, "probability", l->probability);
        flag_if(w, "simplex", l->simplex);
        nt_json_put_flag(w, "suspect", l->suspect);
        nt_json_end(w, '}');
    }
    nt_json_end(w, ']');
}

static void dimension_list(struct nt_json_writer *w, const uint32_t *dimension, size_t count)
{
    nt_json_begin(w, "dimensions", '[', false);
    for (size_t k = 0; k < count; k++)
        nt_json_put_whole(w, NULL, dimension[k]);
    nt_json_end(w, ']');
}

/* The other name of the same graph: a ring of four is a square, and two dimensions of a cube are
 * one of four in a torus. */
static void put_also(struct nt_json_writer *w, const struct nt_model *m)
{
    const uint32_t square[] = {2, 2};
    bool ring = m->family == NT_FAMILY_RING && m->dimensions == 1 && m->dimension[0] == 4;
    bool cube = m->family == NT_FAMILY_HYPERCUBE && m->dimensions > 2;
    uint32_t torus[NT_DIMENSIONS_MAX];
    size_t sizes = 0;
    if (!ring && !cube)
        return;
    for (size_t left = m->dimensions; left > 0; left -= left > 1 ? 2 : 1)
        torus[sizes++] = left > 1 ? 4 : 2;
    nt_json_begin(w, "also", '{', false);
    nt_json_put_text(w, "family", nt_family_name(ring ? NT_FAMILY_HYPERCUBE : NT_FAMILY_TORUS));
    dimension_list(w, ring ? square : torus, ring ? 2 : sizes);
    nt_json_end(w, '}');
}

static void put_structure(struct nt_json_writer *w, const struct nt_model *m)
{
    nt_json_begin(w, "structure", '{', false);
    nt_json_put_text(w, "family", nt_family_name(m->family));
    nt_json_put_whole(w, "tiers", m->tiers);
    nt_json_put_number(w, "confidence", m->confidence);
    nt_json_begin(w, "parameters", '{', false);
    if (m->dimensions > 0)
        dimension_list(w, m->dimension,
                       m->dimensions < NT_DIMENSIONS_MAX ? m->dimensions : NT_DIMENSIONS_MAX);
    if (m->twist > 0)
        nt_json_put_whole(w, "twist", m->twist);
    if (m->family == NT_FAMILY_DRAGONFLY && m->dimensions == 3) {
        nt_json_put_whole(w, "groups", m->dimension[0]);
        nt_json_put_whole(w, "routers", m->dimension[1]);
        nt_json_put_whole(w, "hosts", m->dimension[2]);
    }
    put_also(w, m);
    nt_json_end(w, '}');
    nt_json_end(w, '}');
}

static void put_fit(struct nt_json_writer *w, const struct nt_map *map)
{
    const struct nt_model *m = map->model;
    nt_json_begin(w, "fit", '{', false);
    nt_json_put_number(w, "r2", m->r2);
    nt_json_put_number(w, "rms_us", m->rms_us);
    nt_json_put_number(w, "resolution_us", m->resolution_us);
    nt_json_begin(w, "pairs_off", '[', false);
    for (size_t k = 0; k < m->pairs_off; k++) {
        nt_json_begin(w, NULL, '[', false);
        nt_json_put_text(w, NULL, map->host_name[m->pair_off[k][0]]);
        nt_json_put_text(w, NULL, map->host_name[m->pair_off[k][1]]);
        nt_json_end(w, ']');
    }
    nt_json_end(w, ']');
    nt_json_end(w, '}');
}

static void put_capacity(struct nt_json_writer *w, const struct nt_map *map)
{
    const struct nt_model *m = map->model;
    nt_json_put_number(w, "bisection_MBps", m->bisection_MBps);
    bool any = false;
    for (size_t k = 0; k < m->switches; k++) {
        if (!isfinite(m->oversubscription[k]))
            continue;
        if (!any)
            nt_json_begin(w, "oversubscription", '[', true);
        any = true;
        nt_json_begin(w, NULL, '{', false);
        nt_json_put_text(w, "switch", map->switch_name[k]);
        nt_json_put_number(w, "ratio", m->oversubscription[k]);
        nt_json_end(w, '}');
    }
    if (any)
        nt_json_end(w, ']');
}

/* The o of both sides is their mean, of the rounded ones so that writing again gives the same. */
static double mean_overhead(const struct nt_loggp *g)
{
    return (nt_number_round(g->o_send_us, NT_JSON_DIGITS) +
            nt_number_round(g->o_recv_us, NT_JSON_DIGITS)) /
           2;
}

static void put_loggp(struct nt_json_writer *w, const struct nt_map *map)
{
    if (map->loggps == 0)
        return;
    nt_json_begin(w, "loggp", '[', true);
    for (size_t k = 0; k < map->loggps; k++) {
        const struct nt_loggp *g = &map->loggp[k];
        nt_json_begin(w, NULL, '{', false);
        nt_json_put_text(w, "class", g->class_name);
        text_if(w, "rail", g->rail);
        nt_json_put_number(w, "min_bytes", g->min_bytes);
        nt_json_put_number(w, "max_bytes", g->max_bytes);
        nt_json_put_number(w, "L_us", g->L_us);
        nt_json_put_number(w, "o_us", mean_overhead(g));
        nt_json_put_number(w, "o_send_us", g->o_send_us);
        nt_json_put_number(w, "o_recv_us", g->o_recv_us);
        nt_json_put_number(w, "g_us", g->g_us);
        nt_json_put_number(w, "G_us_per_byte", g->G_us_per_byte);
        nt_json_put_number(w, "gap_us_per_byte", g->gap_us_per_byte);
        nt_json_put_number(w, "L_se_us", g->L_se_us);
        nt_json_put_number(w, "o_se_us", g->o_se_us);
        nt_json_put_number(w, "g_se_us", g->g_se_us);
        nt_json_put_number(w, "G_se_us_per_byte", g->G_se_us_per_byte);
        nt_json_put_number(w, "r2", g->r2);
        nt_json_put_number(w, "check_percent", g->check_percent);
        nt_json_end(w, '}');
    }
    nt_json_end(w, ']');
}

static void put_congested(struct nt_json_writer *w, const struct nt_map *map,
                          const struct nt_stress *s)
{
    nt_json_begin(w, "congested", '{', false);
    nt_json_put_whole(w, "tier", s->tier);
    nt_json_put_text(w, "from", nt_map_vertex_name(map, s->from));
    nt_json_put_text(w, "to", nt_map_vertex_name(map, s->to));
    nt_json_put_whole(w, "links", s->links);
    nt_json_put_number(w, "bandwidth_MBps", s->capacity_MBps);
    nt_json_put_number(w, "busy_us", s->busy_us);
    nt_json_end(w, '}');
}

/* Of the rounded figures, so that writing again gives the same. */
static double stress_ratio(const struct nt_stress *s)
{
    return nt_number_round(s->time_us, NT_JSON_DIGITS) /
           nt_number_round(s->alone_us, NT_JSON_DIGITS);
}

static void put_stress(struct nt_json_writer *w, const struct nt_map *map)
{
    if (map->stresses == 0)
        return;
    nt_json_begin(w, "stress", '[', true);
    for (size_t k = 0; k < map->stresses; k++) {
        const struct nt_stress *s = &map->stress[k];
        nt_json_begin(w, NULL, '{', false);
        nt_json_put_text(w, "kernel", s->kernel);
        nt_json_put_whole(w, "hosts", s->hosts);
        if (s->messages > 0) {
            nt_json_put_whole(w, "messages", s->messages);
            nt_json_put_whole(w, "waves", s->waves);
        }
        nt_json_put_number(w, "bytes", s->bytes);
        nt_json_put_whole(w, "repetitions", s->repetitions);
        nt_json_put_number(w, "time_us", s->time_us);
        nt_json_put_number(w, "time_low_us", s->low_us);
        nt_json_put_number(w, "time_high_us", s->high_us);
        nt_json_put_number(w, "alone_us", s->alone_us);
        nt_json_put_number(w, "ratio", stress_ratio(s));
        nt_json_put_number(w, "shared_us", s->shared_us);
        if (s->congested)
            put_congested(w, map, s);
        nt_json_end(w, '}');
    }
    nt_json_end(w, ']');
}

static void put_placement(struct nt_json_writer *w, const struct nt_map *map)
{
    const struct nt_placement *place = map->placement;
    if (place == NULL)
        return;
    nt_json_begin(w, "placement", '{', false);
    nt_json_put_text(w, "pattern", place->pattern);
    nt_json_begin(w, "node_order", '[', false);
    for (size_t k = 0; k < place->hosts; k++)
        nt_json_put_text(w, NULL, map->host_name[place->order[k]]);
    nt_json_end(w, ']');
    if (place->spares > 0) {
        nt_json_begin(w, "spares", '[', false);
        for (size_t k = 0; k < place->spares; k++)
            nt_json_put_text(w, NULL, map->host_name[place->spare[k]]);
        nt_json_end(w, ']');
    }
    nt_json_put_number(w, "message_bytes", place->message_bytes);
    if (isfinite(place->message_bytes)) {
        nt_json_put_number(w, "predicted_us", place->cost);
        nt_json_put_number(w, "predicted_default_us", place->cost_default);
    }
    nt_json_put_number(w, "cost", place->cost);
    nt_json_put_number(w, "cost_default", place->cost_default);
    nt_json_put_number(w, "gain", place->gain);
    if (place->first_percent > 0)
        nt_json_put_figure(w, "first_host_percent", place->first_percent, 3);
    nt_json_end(w, '}');
}

static void put_map(struct nt_json_writer *w, const struct nt_map *map,
                    const struct nt_attachment *at, const double *support)
{
    nt_json_begin(w, NULL, '{', true);
    nt_json_put_text(w, "schema", "nettopo-map/1");
    nt_json_put_text(w, "generator", map->generator);
    nt_json_put_text(w, "status", nt_status_name(map->status));
    nt_json_begin(w, "warnings", '[', true);
    for (size_t k = 0; k < map->warnings; k++)
        nt_json_put_text(w, NULL, map->warning[k]);
    nt_json_end(w, ']');
    put_job(w, map);
    put_sweep(w, map);
    put_vertices(w, map, at, support);
    put_machines(w, map);
    put_populations(w, map);
    put_links(w, map);
    put_structure(w, map->model);
    nt_faults_write(w, map);
    put_fit(w, map);
    put_capacity(w, map);
    put_loggp(w, map);
    put_stress(w, map);
    put_placement(w, map);
    nt_json_end(w, '}');
}

int nt_map_write(const struct nt_map *map, bool compact, char **text, size_t *bytes,
                 struct nt_err *err)
{
    struct nt_attachment at;
    struct nt_json_writer writer = {.compact = compact};
    double *support;
    if (nt_attachment_init(&at, map->model, err) != 0)
        return -1;
    if (nt_support_create(map->model, &support, err) != 0) {
        nt_attachment_fini(&at);
        return -1;
    }
    put_map(&writer, map, &at, support);
    nt_attachment_fini(&at);
    free(support);
    if (!compact)
        nt_strbuf_puts(&writer.buf, "\n");
    return nt_strbuf_finish(&writer.buf, text, bytes, err);
}
