#include "map_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attachment.h"
#include "number.h"
#include "strbuf.h"
#include "switch_support.h"

enum { DIGITS = 6, DEPTH_MAX = 8 };

/* Where the writing stands. A container is tall (an item a line) or flat. */
struct pen {
    struct nt_strbuf buf;
    bool compact;
    unsigned depth;
    bool tall[DEPTH_MAX], filled[DEPTH_MAX];
};

/* ---- the pen --------------------------------------------------------------------------------- */

static void newline(struct pen *p)
{
    nt_strbuf_puts(&p->buf, "\n");
    for (unsigned k = 0; k < p->depth; k++)
        nt_strbuf_puts(&p->buf, "  ");
}

/* Before each item of the container that is open. */
static void separate(struct pen *p)
{
    if (p->depth == 0)
        return;
    bool tall = p->tall[p->depth - 1] && !p->compact;
    if (p->filled[p->depth - 1])
        nt_strbuf_puts(&p->buf, tall || p->compact ? "," : ", ");
    if (tall)
        newline(p);
    p->filled[p->depth - 1] = true;
}

static void put_string(struct pen *p, const char *text)
{
    nt_strbuf_puts(&p->buf, "\"");
    for (;;) {
        size_t plain = strcspn(text, "\"\\");
        size_t from = p->buf.used;
        nt_strbuf_put(&p->buf, text, plain);
        nt_strbuf_clean(&p->buf, from);
        text += plain;
        if (*text == '\0')
            break;
        nt_strbuf_puts(&p->buf, "\\");
        nt_strbuf_put(&p->buf, text++, 1);
    }
    nt_strbuf_puts(&p->buf, "\"");
}

static void key(struct pen *p, const char *name)
{
    separate(p);
    put_string(p, name);
    nt_strbuf_puts(&p->buf, p->compact ? ":" : ": ");
}

/* name NULL: an item of an array */
static void begin(struct pen *p, const char *name, char bracket, bool tall)
{
    if (name != NULL)
        key(p, name);
    else
        separate(p);
    nt_strbuf_put(&p->buf, &bracket, 1);
    p->tall[p->depth] = tall;
    p->filled[p->depth] = false;
    p->depth++;
}

static void end(struct pen *p, char bracket)
{
    p->depth--;
    if (p->tall[p->depth] && p->filled[p->depth] && !p->compact)
        newline(p);
    nt_strbuf_put(&p->buf, &bracket, 1);
}

static void string(struct pen *p, const char *name, const char *value)
{
    key(p, name);
    put_string(p, value);
}

static void string_if(struct pen *p, const char *name, const char *value)
{
    if (value[0] != '\0')
        string(p, name, value);
}

static void item(struct pen *p, const char *value)
{
    separate(p);
    put_string(p, value);
}

static void number(struct pen *p, const char *name, double value)
{
    char text[NT_NUMBER_BYTES];
    if (!isfinite(value))
        return;
    nt_number_plain(value, DIGITS, text);
    key(p, name);
    nt_strbuf_puts(&p->buf, text);
}

static void positive(struct pen *p, const char *name, double value)
{
    if (value > 0)
        number(p, name, value);
}

static void whole(struct pen *p, const char *name, uint64_t value)
{
    key(p, name);
    nt_strbuf_print(&p->buf, "%llu", (unsigned long long)value);
}

static void flag(struct pen *p, const char *name, bool value)
{
    key(p, name);
    nt_strbuf_puts(&p->buf, value ? "true" : "false");
}

static void flag_if(struct pen *p, const char *name, bool value)
{
    if (value)
        flag(p, name, true);
}

/* ---- parts of the map ------------------------------------------------------------------------ */

static void put_job(struct pen *p, const struct nt_map *map)
{
    if (map->job_id == 0 && !*map->cluster && !*map->level && !*map->created)
        return;
    begin(p, "job", '{', false);
    if (map->job_id != 0)
        whole(p, "id", map->job_id);
    string_if(p, "cluster", map->cluster);
    string_if(p, "level", map->level);
    string_if(p, "created", map->created);
    end(p, '}');
}

static void put_sweep(struct pen *p, const struct nt_map *map)
{
    const struct nt_sweep *s = &map->sweep;
    begin(p, "sweep", '{', false);
    whole(p, "hosts", map->model->hosts);
    whole(p, "pairs_measured", s->pairs_measured);
    whole(p, "pairs_total", s->pairs_total);
    if (s->rounds > 0)
        whole(p, "rounds", s->rounds);
    positive(p, "seconds", s->seconds);
    if (s->phases > 0) {
        begin(p, "phases", '[', false);
        for (size_t k = 0; k < s->phases; k++) {
            begin(p, NULL, '{', false);
            string(p, "name", s->phase[k].name);
            whole(p, "rounds", s->phase[k].rounds);
            number(p, "seconds", s->phase[k].seconds);
            end(p, '}');
        }
        end(p, ']');
    }
    end(p, '}');
}

/* Models are named by their number, from 1. */
static void put_model_of(struct pen *p, const struct nt_map *map, size_t host)
{
    if (map->machine_of == NULL || map->machine_of[host] >= map->machines)
        return;
    key(p, "model");
    nt_strbuf_print(&p->buf, "\"m%u\"", map->machine_of[host] + 1);
}

static void put_vertices(struct pen *p, const struct nt_map *map, const struct nt_attachment *at,
                         const double *support)
{
    const struct nt_model *m = map->model;
    begin(p, "nodes", '[', true);
    for (size_t k = 0; k < m->hosts; k++) {
        begin(p, NULL, '{', false);
        string(p, "name", map->host_name[k]);
        if (at->switch_of[k] != NT_ATTACHMENT_NOWHERE)
            string(p, "switch", map->switch_name[at->switch_of[k]]);
        positive(p, "overhead_us", m->overhead_us[k]);
        put_model_of(p, map, k);
        flag_if(p, "suspect", m->host_suspect[k]);
        if (m->missing[k])
            string(p, "status", "missing");
        end(p, '}');
    }
    end(p, ']');
    begin(p, "switches", '[', true);
    for (size_t k = 0; k < m->switches; k++) {
        begin(p, NULL, '{', false);
        string(p, "name", map->switch_name[k]);
        whole(p, "tier", m->tier[k]);
        whole(p, "hosts", at->hosts_on[k]);
        number(p, "support", support[k]);
        end(p, '}');
    }
    end(p, ']');
}

static void put_nics(struct pen *p, const struct nt_machine *m)
{
    if (m->nics == 0)
        return;
    begin(p, "nics", '[', false);
    for (size_t k = 0; k < m->nics; k++) {
        begin(p, NULL, '{', false);
        string(p, "name", m->nic[k].name);
        string_if(p, "pci", m->nic[k].pci);
        if (m->nic[k].numa >= 0)
            whole(p, "numa_node", (uint64_t)m->nic[k].numa);
        end(p, '}');
    }
    end(p, ']');
}

static void put_core_latencies(struct pen *p, const struct nt_machine *m)
{
    bool any = false;
    for (int b = 0; b < NT_BETWEEN_END; b++) {
        const struct nt_core_latency *l = &m->between[b];
        if (l->hosts == 0)
            continue;
        if (!any)
            begin(p, "core_latency", '[', false);
        any = true;
        begin(p, NULL, '{', false);
        string(p, "between", nt_between_name((enum nt_between)b));
        whole(p, "hosts", l->hosts);
        number(p, "latency_us", l->latency_us);
        number(p, "low_us", l->low_us);
        number(p, "high_us", l->high_us);
        end(p, '}');
    }
    if (any)
        end(p, ']');
}

static void put_machines(struct pen *p, const struct nt_map *map)
{
    if (map->machines == 0)
        return;
    begin(p, "models", '[', true);
    for (size_t k = 0; k < map->machines; k++) {
        const struct nt_machine *m = &map->machine[k];
        begin(p, NULL, '{', false);
        key(p, "name");
        nt_strbuf_print(&p->buf, "\"m%zu\"", k + 1);
        whole(p, "hosts", nt_map_machine_hosts(map, k));
        string_if(p, "cpu", m->cpu);
        whole(p, "packages", m->packages);
        whole(p, "numa_nodes", m->numas);
        whole(p, "cores", m->cores);
        whole(p, "threads", m->threads);
        whole(p, "threads_allowed", m->allowed);
        if (m->l2_bytes > 0)
            whole(p, "l2_bytes", m->l2_bytes);
        if (m->l3_bytes > 0)
            whole(p, "l3_bytes", m->l3_bytes);
        put_nics(p, m);
        put_core_latencies(p, m);
        end(p, '}');
    }
    end(p, ']');
}

static void put_links(struct pen *p, const struct nt_map *map)
{
    begin(p, "links", '[', true);
    for (size_t k = 0; k < map->model->links; k++) {
        const struct nt_link *l = &map->model->link[k];
        begin(p, NULL, '{', false);
        string(p, "a", nt_map_vertex_name(map, l->a));
        string(p, "b", nt_map_vertex_name(map, l->b));
        number(p, "latency_us", l->latency_us);
        number(p, "latency_se_us", l->latency_se_us);
        number(p, "bandwidth_MBps", l->bandwidth_MBps);
        number(p, "bandwidth_back_MBps", l->bandwidth_back_MBps);
        number(p, "bandwidth_se_MBps", l->bandwidth_se_MBps);
        number(p, "bandwidth_back_se_MBps", l->bandwidth_back_se_MBps);
        flag_if(p, "bandwidth_at_least", l->at_least);
        flag_if(p, "bandwidth_forth_at_least", l->forth_at_least);
        flag_if(p, "bandwidth_back_at_least", l->back_at_least);
        flag_if(p, "bandwidth_effective", l->effective);
        number(p, "probability", l->probability);
        flag_if(p, "simplex", l->simplex);
        flag(p, "suspect", l->suspect);
        end(p, '}');
    }
    end(p, ']');
}

static void dimension_list(struct pen *p, const uint32_t *dimension, size_t count)
{
    begin(p, "dimensions", '[', false);
    for (size_t k = 0; k < count; k++) {
        separate(p);
        nt_strbuf_print(&p->buf, "%u", dimension[k]);
    }
    end(p, ']');
}

/* The other name of the same graph: a ring of four is a square, and two dimensions of a cube are
 * one of four in a torus. */
static void put_also(struct pen *p, const struct nt_model *m)
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
    begin(p, "also", '{', false);
    string(p, "family", nt_family_name(ring ? NT_FAMILY_HYPERCUBE : NT_FAMILY_TORUS));
    dimension_list(p, ring ? square : torus, ring ? 2 : sizes);
    end(p, '}');
}

static void put_structure(struct pen *p, const struct nt_model *m)
{
    begin(p, "structure", '{', false);
    string(p, "family", nt_family_name(m->family));
    whole(p, "tiers", m->tiers);
    number(p, "confidence", m->confidence);
    begin(p, "parameters", '{', false);
    if (m->dimensions > 0)
        dimension_list(p, m->dimension,
                       m->dimensions < NT_DIMENSIONS_MAX ? m->dimensions : NT_DIMENSIONS_MAX);
    if (m->twist > 0)
        whole(p, "twist", m->twist);
    put_also(p, m);
    end(p, '}');
    end(p, '}');
}

static void put_fit(struct pen *p, const struct nt_map *map)
{
    const struct nt_model *m = map->model;
    begin(p, "fit", '{', false);
    number(p, "r2", m->r2);
    number(p, "rms_us", m->rms_us);
    number(p, "resolution_us", m->resolution_us);
    begin(p, "pairs_off", '[', false);
    for (size_t k = 0; k < m->pairs_off; k++) {
        begin(p, NULL, '[', false);
        item(p, map->host_name[m->pair_off[k][0]]);
        item(p, map->host_name[m->pair_off[k][1]]);
        end(p, ']');
    }
    end(p, ']');
    end(p, '}');
}

static void put_capacity(struct pen *p, const struct nt_map *map)
{
    const struct nt_model *m = map->model;
    number(p, "bisection_MBps", m->bisection_MBps);
    bool any = false;
    for (size_t k = 0; k < m->switches; k++) {
        if (!isfinite(m->oversubscription[k]))
            continue;
        if (!any)
            begin(p, "oversubscription", '[', true);
        any = true;
        begin(p, NULL, '{', false);
        string(p, "switch", map->switch_name[k]);
        number(p, "ratio", m->oversubscription[k]);
        end(p, '}');
    }
    if (any)
        end(p, ']');
}

/* The o of both sides is their mean, of the rounded ones so that writing again gives the same. */
static double mean_overhead(const struct nt_loggp *g)
{
    return (nt_number_round(g->o_send_us, DIGITS) + nt_number_round(g->o_recv_us, DIGITS)) / 2;
}

static void put_loggp(struct pen *p, const struct nt_map *map)
{
    if (map->loggps == 0)
        return;
    begin(p, "loggp", '[', true);
    for (size_t k = 0; k < map->loggps; k++) {
        const struct nt_loggp *g = &map->loggp[k];
        begin(p, NULL, '{', false);
        string(p, "class", g->class_name);
        string_if(p, "rail", g->rail);
        number(p, "min_bytes", g->min_bytes);
        number(p, "max_bytes", g->max_bytes);
        number(p, "L_us", g->L_us);
        number(p, "o_us", mean_overhead(g));
        number(p, "o_send_us", g->o_send_us);
        number(p, "o_recv_us", g->o_recv_us);
        number(p, "g_us", g->g_us);
        number(p, "G_us_per_byte", g->G_us_per_byte);
        number(p, "gap_us_per_byte", g->gap_us_per_byte);
        number(p, "L_se_us", g->L_se_us);
        number(p, "o_se_us", g->o_se_us);
        number(p, "g_se_us", g->g_se_us);
        number(p, "G_se_us_per_byte", g->G_se_us_per_byte);
        number(p, "r2", g->r2);
        number(p, "check_percent", g->check_percent);
        end(p, '}');
    }
    end(p, ']');
}

static void put_congested(struct pen *p, const struct nt_map *map, const struct nt_stress *s)
{
    begin(p, "congested", '{', false);
    whole(p, "tier", s->tier);
    string(p, "from", nt_map_vertex_name(map, s->from));
    string(p, "to", nt_map_vertex_name(map, s->to));
    whole(p, "links", s->links);
    number(p, "bandwidth_MBps", s->capacity_MBps);
    number(p, "busy_us", s->busy_us);
    end(p, '}');
}

/* Of the rounded figures, so that writing again gives the same. */
static double stress_ratio(const struct nt_stress *s)
{
    return nt_number_round(s->time_us, DIGITS) / nt_number_round(s->alone_us, DIGITS);
}

static void put_stress(struct pen *p, const struct nt_map *map)
{
    if (map->stresses == 0)
        return;
    begin(p, "stress", '[', true);
    for (size_t k = 0; k < map->stresses; k++) {
        const struct nt_stress *s = &map->stress[k];
        begin(p, NULL, '{', false);
        string(p, "kernel", s->kernel);
        whole(p, "hosts", s->hosts);
        if (s->messages > 0) {
            whole(p, "messages", s->messages);
            whole(p, "waves", s->waves);
        }
        number(p, "bytes", s->bytes);
        whole(p, "repetitions", s->repetitions);
        number(p, "time_us", s->time_us);
        number(p, "time_low_us", s->low_us);
        number(p, "time_high_us", s->high_us);
        number(p, "alone_us", s->alone_us);
        number(p, "ratio", stress_ratio(s));
        number(p, "shared_us", s->shared_us);
        if (s->congested)
            put_congested(p, map, s);
        end(p, '}');
    }
    end(p, ']');
}

static void put_placement(struct pen *p, const struct nt_map *map)
{
    const struct nt_placement *place = map->placement;
    if (place == NULL)
        return;
    begin(p, "placement", '{', false);
    string(p, "pattern", place->pattern);
    begin(p, "node_order", '[', false);
    for (size_t k = 0; k < place->hosts; k++)
        item(p, map->host_name[place->order[k]]);
    end(p, ']');
    number(p, "cost", place->cost);
    number(p, "cost_default", place->cost_default);
    number(p, "gain", place->gain);
    end(p, '}');
}

static void put_map(struct pen *p, const struct nt_map *map, const struct nt_attachment *at,
                    const double *support)
{
    begin(p, NULL, '{', true);
    string(p, "schema", "nettopo-map/1");
    string(p, "generator", map->generator);
    string(p, "status", nt_status_name(map->status));
    begin(p, "warnings", '[', true);
    for (size_t k = 0; k < map->warnings; k++)
        item(p, map->warning[k]);
    end(p, ']');
    put_job(p, map);
    put_sweep(p, map);
    put_vertices(p, map, at, support);
    put_machines(p, map);
    put_links(p, map);
    put_structure(p, map->model);
    put_fit(p, map);
    put_capacity(p, map);
    put_loggp(p, map);
    put_stress(p, map);
    put_placement(p, map);
    end(p, '}');
}

int nt_map_write(const struct nt_map *map, bool compact, char **text, size_t *bytes,
                 struct nt_err *err)
{
    struct nt_attachment at;
    struct pen pen = {.compact = compact};
    double *support;
    if (nt_attachment_init(&at, map->model, err) != 0)
        return -1;
    if (nt_support_create(map->model, &support, err) != 0) {
        nt_attachment_fini(&at);
        return -1;
    }
    put_map(&pen, map, &at, support);
    nt_attachment_fini(&at);
    free(support);
    if (!compact)
        nt_strbuf_puts(&pen.buf, "\n");
    return nt_strbuf_finish(&pen.buf, text, bytes, err);
}
