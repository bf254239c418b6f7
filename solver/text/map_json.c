/* SPDX-License-Identifier: Apache-2.0 */
#include "map_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attachment.h"
#include "faults_text.h"
#include "json.h"
#include "machines_json.h"
#include "names.h"
#include "prior.h"
#include "switch_support.h"

enum { COUNT_MAX = 1 << 27, KEY_BYTES = 48 };

static const double SUPPORT_ROUNDED = 1e-5;

struct reading {
    struct nt_json_reader json;
    struct nt_map *map;
    struct nt_names names; /* of vertices: hosts, then switches; borrowed from the tree */
};

/* ---- names ----------------------------------------------------------------------------------- */

enum what { NODE, SWITCH, VERTEX };

/* The vertex that a string names; NT_NAMES_NONE (noted) when nothing of that kind bears it. */
static uint32_t find_named(struct reading *r, const char *key, const char *text, enum what what)
{
    static const char *const whats[] = {"node", "switch", "node or switch"};
    if (text == NULL)
        return NT_NAMES_NONE;
    uint32_t v = nt_names_find(&r->names, text, strlen(text));
    bool node = v < r->map->model->hosts;
    if (v != NT_NAMES_NONE && (what == VERTEX || node == (what == NODE)))
        return v;
    nt_json_wrong(&r->json, key, "expected the name of a %s, found \"%.64s\"", whats[what], text);
    return NT_NAMES_NONE;
}

static void read_names(struct reading *r, const char *list_name, struct json_object *list)
{
    for (size_t k = 0; k < nt_json_length(list) && !r->json.no_memory; k++) {
        struct json_object *entry = nt_json_enter(&r->json, list_name, list, k);
        const char *name = nt_json_string(&r->json, entry, "name", NT_JSON_MUST);
        struct nt_err why = {0};
        uint32_t index;
        if (name != NULL && nt_host_name_check(name, &why) != 0) {
            nt_json_wrong(&r->json, "name", "%s", why.text);
        } else if (name != NULL) {
            int rc = nt_names_add(&r->names, name, &index, r->json.err);
            if (rc > 0)
                nt_json_wrong(&r->json, "name", "expected each name once, found %s again", name);
            r->json.no_memory |= rc < 0;
        }
        nt_json_leave(&r->json);
    }
}

/* ---- vertices and links ---------------------------------------------------------------------- */

/* After the nodes. Each population has as many hosts as nodes name it. */
static void read_populations(struct reading *r, struct json_object *root, struct json_object *nodes)
{
    struct nt_map *map = r->map;
    struct json_object *list = nt_json_array(&r->json, root, "populations", NT_JSON_MAY);
    size_t hosts = map->model->hosts, n = nt_json_length(list);
    uint32_t count[NT_POPULATIONS_MAX + 1] = {0};
    map->population_of = calloc(hosts + 1, sizeof *map->population_of);
    if (map->population_of == NULL) {
        nt_json_lack_memory(&r->json);
        return;
    }
    if (n > NT_POPULATIONS_MAX)
        nt_json_wrong(&r->json, "populations", "expected at most %d, found %zu", NT_POPULATIONS_MAX,
                      n);
    map->populations = n < NT_POPULATIONS_MAX ? n : NT_POPULATIONS_MAX;
    for (size_t k = 0; k < hosts; k++) {
        struct json_object *node = nt_json_enter(&r->json, "nodes", nodes, k);
        uint32_t number = 0;
        nt_json_whole32(&r->json, node, "population", (uint32_t)map->populations, &number);
        map->population_of[k] = number - 1;
        count[number <= NT_POPULATIONS_MAX ? number : 0]++;
        nt_json_leave(&r->json);
    }
    for (size_t k = 0; k < map->populations; k++) {
        struct json_object *entry = nt_json_enter(&r->json, "populations", list, k);
        struct nt_population *p = &map->population[k];
        *p = (struct nt_population){0, (double)NAN, (double)NAN};
        nt_json_whole32(&r->json, entry, "hosts", COUNT_MAX, &p->hosts);
        nt_json_number(&r->json, entry, "latency_us", &p->latency_us);
        nt_json_number(&r->json, entry, "bandwidth_MBps", &p->bandwidth_MBps);
        if (p->hosts != count[k + 1])
            nt_json_wrong(&r->json, "hosts", "expected %u, which nodes have it, found %u",
                          count[k + 1], p->hosts);
        nt_json_leave(&r->json);
    }
}

static void read_nodes(struct reading *r, struct json_object *list)
{
    struct nt_model *m = r->map->model;
    for (size_t k = 0; k < m->hosts; k++) {
        struct json_object *node = nt_json_enter(&r->json, "nodes", list, k);
        const char *status = nt_json_string(&r->json, node, "status", NT_JSON_MAY);
        m->missing[k] = status != NULL;
        if (status != NULL && strcmp(status, "missing") != 0)
            nt_json_wrong(&r->json, "status", "expected \"missing\", found \"%.64s\"", status);
        nt_json_number(&r->json, node, "overhead_us", &m->overhead_us[k]);
        nt_json_flag(&r->json, node, "suspect", &m->host_suspect[k]);
        nt_json_leave(&r->json);
    }
}

static void read_switches(struct reading *r, struct json_object *list)
{
    for (size_t k = 0; k < r->map->model->switches; k++) {
        struct json_object *entry = nt_json_enter(&r->json, "switches", list, k);
        struct nt_throughput *most = &r->map->model->throughput[k];
        nt_json_whole32(&r->json, entry, "tier", COUNT_MAX, &r->map->model->tier[k]);
        nt_json_number(&r->json, entry, "max_MBps", &most->MBps);
        nt_json_flag(&r->json, entry, "max_at_least", &most->at_least);
        nt_json_leave(&r->json);
    }
}

static void read_links(struct reading *r, struct json_object *list)
{
    for (size_t k = 0; k < r->map->model->links; k++) {
        struct json_object *entry = nt_json_enter(&r->json, "links", list, k);
        struct nt_link *l = &r->map->model->link[k];
        const char *a = nt_json_string(&r->json, entry, "a", NT_JSON_MUST);
        const char *b = nt_json_string(&r->json, entry, "b", NT_JSON_MUST);
        l->a = find_named(r, "a", a, VERTEX);
        l->b = find_named(r, "b", b, VERTEX);
        if (l->a == l->b && l->a != NT_NAMES_NONE)
            nt_json_wrong(&r->json, "b", "expected two different ends, found %s twice", a);
        nt_json_number(&r->json, entry, "latency_us", &l->latency_us);
        nt_json_number(&r->json, entry, "latency_se_us", &l->latency_se_us);
        nt_json_number(&r->json, entry, "bandwidth_MBps", &l->bandwidth_MBps);
        nt_json_number(&r->json, entry, "bandwidth_back_MBps", &l->bandwidth_back_MBps);
        nt_json_number(&r->json, entry, "bandwidth_se_MBps", &l->bandwidth_se_MBps);
        nt_json_number(&r->json, entry, "bandwidth_back_se_MBps", &l->bandwidth_back_se_MBps);
        nt_json_number(&r->json, entry, "bandwidth_loaded_MBps", &l->loaded_MBps);
        nt_json_number_between(&r->json, entry, "probability", 0, 1, &l->probability);
        nt_json_flag(&r->json, entry, "bandwidth_at_least", &l->at_least);
        nt_json_flag(&r->json, entry, "bandwidth_forth_at_least", &l->forth_at_least);
        nt_json_flag(&r->json, entry, "bandwidth_back_at_least", &l->back_at_least);
        nt_json_flag(&r->json, entry, "bandwidth_effective", &l->effective);
        nt_json_flag(&r->json, entry, "simplex", &l->simplex);
        nt_json_flag(&r->json, entry, "suspect", &l->suspect);
        nt_json_leave(&r->json);
    }
}

/* What nodes and switches repeat of the links, for simple readers. */
static void compare_places(struct reading *r, struct json_object *nodes,
                           struct json_object *switches)
{
    const struct nt_model *m = r->map->model;
    struct nt_attachment attachment;
    if (r->json.findings->count > 0)
        return; /* the links may name nothing */
    if (nt_attachment_init(&attachment, m, r->json.err) != 0) {
        r->json.no_memory = true;
        return;
    }
    for (size_t k = 0; k < m->hosts; k++) {
        struct json_object *node = nt_json_enter(&r->json, "nodes", nodes, k);
        const char *text = nt_json_string(&r->json, node, "switch", NT_JSON_MAY);
        uint32_t on = find_named(r, "switch", text, SWITCH);
        if (on != NT_NAMES_NONE && attachment.switch_of[k] != on - m->hosts)
            nt_json_wrong(&r->json, "switch",
                          "expected the switch that %s is linked with, found %s",
                          r->map->host_name[k], text);
    }
    for (size_t k = 0; k < m->switches; k++) {
        struct json_object *entry = nt_json_enter(&r->json, "switches", switches, k);
        uint32_t hosts = attachment.hosts_on[k];
        nt_json_whole32(&r->json, entry, "hosts", COUNT_MAX, &hosts);
        if (hosts != attachment.hosts_on[k])
            nt_json_wrong(&r->json, "hosts", "expected the hosts linked with it, %u, found %u",
                          attachment.hosts_on[k], hosts);
    }
    nt_json_leave(&r->json);
    nt_attachment_fini(&attachment);
}

/* A switch's support is its link's probability again: the figures of both have been rounded. */
static void compare_support(struct reading *r, struct json_object *switches)
{
    const struct nt_model *m = r->map->model;
    double *support;
    if (r->json.findings->count > 0)
        return; /* the links may name nothing */
    if (nt_support_create(m, &support, r->json.err) != 0) {
        r->json.no_memory = true;
        return;
    }
    for (size_t k = 0; k < m->switches; k++) {
        struct json_object *entry = nt_json_enter(&r->json, "switches", switches, k);
        double stated = (double)NAN;
        nt_json_number_between(&r->json, entry, "support", 0, 1, &stated);
        if (isfinite(stated) && isnan(support[k]))
            nt_json_wrong(&r->json, "support",
                          "expected none without structure.confidence or off a tree, found %g",
                          stated);
        else if (fabs(stated - support[k]) > SUPPORT_ROUNDED)
            nt_json_wrong(&r->json, "support",
                          "expected the probability of its link upwards, %g, found %g", support[k],
                          stated);
        nt_json_leave(&r->json);
    }
    free(support);
}

/* ---- structure, fit, capacity ---------------------------------------------------------------- */

static void read_parameters(struct reading *r, struct json_object *structure)
{
    struct nt_model *m = r->map->model;
    struct json_object *parameters = nt_json_enter_object(&r->json, structure, "parameters");
    struct json_object *sizes = nt_json_array(&r->json, parameters, "dimensions", NT_JSON_MAY);
    if (nt_json_length(sizes) > NT_DIMENSIONS_MAX)
        nt_json_wrong(&r->json, "dimensions", "expected at most %d, found %zu",
                      (int)NT_DIMENSIONS_MAX, nt_json_length(sizes));
    for (size_t k = 0; k < nt_json_length(sizes) && k < NT_DIMENSIONS_MAX; k++) {
        nt_json_item_whole32(&r->json, "dimensions", sizes, k, COUNT_MAX, &m->dimension[k]);
        m->dimensions = (uint32_t)k + 1;
    }
    nt_json_whole32(&r->json, parameters, "twist", COUNT_MAX, &m->twist);
}

static void read_structure(struct reading *r, struct json_object *root)
{
    struct nt_model *m = r->map->model;
    struct json_object *structure = nt_json_enter_object(&r->json, root, "structure");
    const char *family = nt_json_string(&r->json, structure, "family", NT_JSON_MUST);
    if (family != NULL && nt_family_parse(family, &m->family) != 0)
        nt_json_wrong(&r->json, "family",
                      "expected star, tree, torus, mesh, ring, hypercube, full-mesh, irregular, "
                      "dragonfly or undetermined, found \"%.64s\"",
                      family);
    nt_json_whole32(&r->json, structure, "tiers", COUNT_MAX, &m->tiers);
    nt_json_number_between(&r->json, structure, "confidence", 0, 1, &m->confidence);
    read_parameters(r, structure);
    nt_json_leave(&r->json);
}

static void read_pairs_off(struct reading *r, struct json_object *pairs)
{
    struct nt_model *m = r->map->model;
    uint32_t(*pair_off)[2] = calloc(nt_json_length(pairs) + 1, sizeof *pair_off);
    if (pair_off == NULL) {
        nt_json_lack_memory(&r->json);
        return;
    }
    free(m->pair_off);
    m->pair_off = pair_off;
    m->pairs_off = nt_json_length(pairs);
    for (size_t k = 0; k < m->pairs_off; k++) {
        char key[KEY_BYTES];
        snprintf(key, sizeof key, "pairs_off[%zu]", k);
        struct json_object *pair = nt_json_item_array(&r->json, key, pairs, k, 2);
        for (size_t e = 0; pair != NULL && e < 2; e++)
            pair_off[k][e] = find_named(r, key, nt_json_item_string(&r->json, key, pair, e), NODE);
    }
}

static void read_fit(struct reading *r, struct json_object *root)
{
    struct nt_model *m = r->map->model;
    struct json_object *fit = nt_json_enter_object(&r->json, root, "fit");
    nt_json_number_between(&r->json, fit, "r2", -1e15, 1, &m->r2);
    nt_json_number(&r->json, fit, "rms_us", &m->rms_us);
    nt_json_number(&r->json, fit, "resolution_us", &m->resolution_us);
    read_pairs_off(r, nt_json_array(&r->json, fit, "pairs_off", NT_JSON_MAY));
    nt_json_leave(&r->json);
}

static void read_capacity(struct reading *r, struct json_object *root)
{
    struct nt_model *m = r->map->model;
    nt_json_number(&r->json, root, "bisection_MBps", &m->bisection_MBps);
    struct json_object *list = nt_json_array(&r->json, root, "oversubscription", NT_JSON_MAY);
    for (size_t k = 0; k < nt_json_length(list); k++) {
        struct json_object *entry = nt_json_enter(&r->json, "oversubscription", list, k);
        const char *name = nt_json_string(&r->json, entry, "switch", NT_JSON_MUST);
        uint32_t v = find_named(r, "switch", name, SWITCH);
        if (v != NT_NAMES_NONE)
            nt_json_number(&r->json, entry, "ratio", &m->oversubscription[v - m->hosts]);
        nt_json_leave(&r->json);
    }
}

/* ---- sweep, LogGP, placement ----------------------------------------------------------------- */

static void read_prior(struct reading *r, struct json_object *sweep)
{
    struct nt_prior_use *use = &r->map->sweep.prior;
    struct json_object *prior = nt_json_enter_object(&r->json, sweep, "prior");
    use->given = prior != NULL;
    nt_json_flag(&r->json, prior, "used", &use->used);
    nt_json_whole(&r->json, prior, "pairs_taken", INT64_MAX, &use->pairs_taken);
    nt_json_whole(&r->json, prior, "pairs_verified", INT64_MAX, &use->pairs_verified);
    nt_json_whole(&r->json, prior, "pairs_contradicted", INT64_MAX, &use->pairs_contradicted);
    nt_json_whole(&r->json, prior, "hosts_moved", INT64_MAX, &use->hosts_moved);
    nt_json_string_in(&r->json, prior, "reason", use->reason, sizeof use->reason, NT_JSON_MAY);
    nt_json_string_in(&r->json, prior, "oldest", use->oldest, sizeof use->oldest, NT_JSON_MAY);
    nt_json_number(&r->json, prior, "support", &use->support);
    int32_t day;
    use->all_taken = nt_prior_day(use->oldest, strlen(use->oldest), &day) == 0 &&
                     use->support >= 0 && use->support <= 1;
    if (!use->all_taken)
        use->oldest[0] = '\0';
    nt_json_leave(&r->json);
}

static void read_transports(struct reading *r, struct json_object *sweep, struct nt_sweep *s)
{
    struct json_object *list = nt_json_array(&r->json, sweep, "transports", NT_JSON_MAY);
    size_t n = nt_json_length(list);
    if (n > NT_SWEEP_TRANSPORTS_MAX)
        nt_json_wrong(&r->json, "transports", "expected at most %d, found %zu",
                      (int)NT_SWEEP_TRANSPORTS_MAX, n);
    for (; s->transports < n && s->transports < NT_SWEEP_TRANSPORTS_MAX; s->transports++) {
        struct json_object *entry =
            nt_json_enter(&r->json, "sweep.transports", list, s->transports);
        struct nt_sweep_transport *t = &s->transport[s->transports];
        uint64_t hosts = 0;
        nt_json_string_in(&r->json, entry, "used", t->used, sizeof t->used, NT_JSON_MUST);
        nt_json_whole(&r->json, entry, "hosts", COUNT_MAX, &hosts);
        t->hosts = (uint32_t)hosts;
    }
}

static void read_sweep(struct reading *r, struct json_object *root)
{
    struct nt_sweep *s = &r->map->sweep;
    struct json_object *sweep = nt_json_enter_object(&r->json, root, "sweep");
    uint64_t hosts = r->map->model->hosts;
    nt_json_whole(&r->json, sweep, "hosts", COUNT_MAX, &hosts);
    if (hosts != r->map->model->hosts)
        nt_json_wrong(&r->json, "hosts", "expected the number of nodes, %zu, found %llu",
                      r->map->model->hosts, (unsigned long long)hosts);
    nt_json_whole(&r->json, sweep, "pairs_measured", INT64_MAX, &s->pairs_measured);
    nt_json_whole(&r->json, sweep, "pairs_total", INT64_MAX, &s->pairs_total);
    nt_json_whole(&r->json, sweep, "rounds", INT64_MAX, &s->rounds);
    nt_json_number(&r->json, sweep, "seconds", &s->seconds);
    struct json_object *phases = nt_json_array(&r->json, sweep, "phases", NT_JSON_MAY);
    s->phase = calloc(nt_json_length(phases) + 1, sizeof *s->phase);
    if (s->phase == NULL) {
        nt_json_lack_memory(&r->json);
        return;
    }
    s->phases = nt_json_length(phases);
    for (size_t k = 0; k < s->phases; k++) {
        struct json_object *entry = nt_json_enter(&r->json, "sweep.phases", phases, k);
        struct nt_phase *phase = &s->phase[k];
        phase->seconds = NAN;
        nt_json_string_in(&r->json, entry, "name", phase->name, sizeof phase->name, NT_JSON_MUST);
        nt_json_whole(&r->json, entry, "rounds", INT64_MAX, &phase->rounds);
        nt_json_number(&r->json, entry, "seconds", &phase->seconds);
    }
    read_transports(r, sweep, s);
    nt_json_leave(&r->json);
    read_prior(r, sweep);
}

static void read_class(struct reading *r, struct json_object *entry, struct nt_loggp *g)
{
    struct {
        const char *key;
        double *at;
    } const figures[] = {{"min_bytes", &g->min_bytes},
                         {"max_bytes", &g->max_bytes},
                         {"L_us", &g->L_us},
                         {"o_send_us", &g->o_send_us},
                         {"o_recv_us", &g->o_recv_us},
                         {"g_us", &g->g_us},
                         {"G_us_per_byte", &g->G_us_per_byte},
                         {"gap_us_per_byte", &g->gap_us_per_byte},
                         {"check_percent", &g->check_percent},
                         {"L_se_us", &g->L_se_us},
                         {"o_se_us", &g->o_se_us},
                         {"g_se_us", &g->g_se_us},
                         {"G_se_us_per_byte", &g->G_se_us_per_byte}};
    for (size_t k = 0; k < sizeof figures / sizeof *figures; k++) {
        *figures[k].at = NAN;
        nt_json_number(&r->json, entry, figures[k].key, figures[k].at);
    }
    double both = NAN;
    nt_json_number(&r->json, entry, "o_us", &both);
    if (isnan(g->o_send_us) && isnan(g->o_recv_us)) /* given as one for both sides */
        g->o_send_us = g->o_recv_us = both;
    g->r2 = NAN;
    nt_json_number_between(&r->json, entry, "r2", -1e15, 1, &g->r2);
    nt_json_string_in(&r->json, entry, "class", g->class_name, sizeof g->class_name, NT_JSON_MUST);
    nt_json_string_in(&r->json, entry, "rail", g->rail, sizeof g->rail, NT_JSON_MAY);
}

static void read_loggp(struct reading *r, struct json_object *root)
{
    struct json_object *list = nt_json_array(&r->json, root, "loggp", NT_JSON_MAY);
    struct nt_loggp *loggp = calloc(nt_json_length(list) + 1, sizeof *loggp);
    if (loggp == NULL) {
        nt_json_lack_memory(&r->json);
        return;
    }
    r->map->loggp = loggp;
    r->map->loggps = nt_json_length(list);
    for (size_t k = 0; k < r->map->loggps; k++) {
        read_class(r, nt_json_enter(&r->json, "loggp", list, k), &loggp[k]);
        nt_json_leave(&r->json);
    }
}

static void read_congested(struct reading *r, struct json_object *kernel, struct nt_stress *s)
{
    struct json_object *entry = nt_json_enter_object(&r->json, kernel, "congested");
    if (entry == NULL)
        return;
    s->congested = true;
    s->from = find_named(r, "from", nt_json_string(&r->json, entry, "from", NT_JSON_MUST), VERTEX);
    s->to = find_named(r, "to", nt_json_string(&r->json, entry, "to", NT_JSON_MUST), VERTEX);
    nt_json_whole32(&r->json, entry, "tier", COUNT_MAX, &s->tier);
    nt_json_whole32(&r->json, entry, "links", COUNT_MAX, &s->links);
    nt_json_number(&r->json, entry, "bandwidth_MBps", &s->capacity_MBps);
    nt_json_number(&r->json, entry, "busy_us", &s->busy_us);
}

static void read_kernel(struct reading *r, struct json_object *entry, struct nt_stress *s)
{
    struct {
        const char *key;
        double *at;
    } const figures[] = {{"bytes", &s->bytes},        {"time_us", &s->time_us},
                         {"time_low_us", &s->low_us}, {"time_high_us", &s->high_us},
                         {"alone_us", &s->alone_us},  {"shared_us", &s->shared_us}};
    for (size_t k = 0; k < sizeof figures / sizeof *figures; k++) {
        *figures[k].at = NAN;
        nt_json_number(&r->json, entry, figures[k].key, figures[k].at);
    }
    s->busy_us = s->capacity_MBps = NAN;
    nt_json_string_in(&r->json, entry, "kernel", s->kernel, sizeof s->kernel, NT_JSON_MUST);
    nt_json_whole32(&r->json, entry, "hosts", COUNT_MAX, &s->hosts);
    nt_json_whole32(&r->json, entry, "messages", COUNT_MAX, &s->messages);
    nt_json_whole32(&r->json, entry, "waves", COUNT_MAX, &s->waves);
    nt_json_whole32(&r->json, entry, "repetitions", COUNT_MAX, &s->repetitions);
    read_congested(r, entry, s);
}

static void read_stress(struct reading *r, struct json_object *root)
{
    struct json_object *list = nt_json_array(&r->json, root, "stress", NT_JSON_MAY);
    r->map->stress = calloc(nt_json_length(list) + 1, sizeof *r->map->stress);
    if (r->map->stress == NULL) {
        nt_json_lack_memory(&r->json);
        return;
    }
    r->map->stresses = nt_json_length(list);
    for (size_t k = 0; k < r->map->stresses; k++) {
        read_kernel(r, nt_json_enter(&r->json, "stress", list, k), &r->map->stress[k]);
        nt_json_leave(&r->json);
    }
}

/* The same figure under the name that says what it is. */
static void compare_prediction(struct reading *r, struct json_object *entry, const char *key,
                               double cost)
{
    double us = cost;
    nt_json_number(&r->json, entry, key, &us);
    if (isfinite(us) && !(fabs(us - cost) <= 1e-5 * cost))
        nt_json_wrong(&r->json, key, "expected the cost, %g, found %g", cost, us);
}

static uint32_t *read_hosts(struct reading *r, struct json_object *list, const char *name)
{
    uint32_t *host = calloc(nt_json_length(list) + 1, sizeof *host);
    for (size_t k = 0; host != NULL && k < nt_json_length(list); k++) {
        char key[KEY_BYTES];
        snprintf(key, sizeof key, "%s[%zu]", name, k);
        host[k] = find_named(r, key, nt_json_item_string(&r->json, key, list, k), NODE);
    }
    return host;
}

static void read_placement(struct reading *r, struct json_object *root)
{
    struct json_object *entry = nt_json_enter_object(&r->json, root, "placement");
    if (entry == NULL)
        return;
    struct json_object *list = nt_json_array(&r->json, entry, "node_order", NT_JSON_MUST);
    struct json_object *spares = nt_json_array(&r->json, entry, "spares", NT_JSON_MAY);
    struct nt_placement *p = r->map->placement = calloc(1, sizeof *p);
    if (p == NULL || (p->order = read_hosts(r, list, "node_order")) == NULL ||
        (p->spare = read_hosts(r, spares, "spares")) == NULL) {
        nt_json_lack_memory(&r->json);
        return;
    }
    p->hosts = nt_json_length(list);
    p->spares = nt_json_length(spares);
    p->cost = p->cost_default = p->gain = p->message_bytes = NAN;
    nt_json_string_in(&r->json, entry, "pattern", p->pattern, sizeof p->pattern, NT_JSON_MUST);
    nt_json_number(&r->json, entry, "message_bytes", &p->message_bytes);
    nt_json_number(&r->json, entry, "cost", &p->cost);
    nt_json_number(&r->json, entry, "cost_default", &p->cost_default);
    nt_json_number(&r->json, entry, "gain", &p->gain);
    nt_json_number(&r->json, entry, "first_host_percent", &p->first_percent);
    compare_prediction(r, entry, "predicted_us", p->cost);
    compare_prediction(r, entry, "predicted_default_us", p->cost_default);
    nt_json_leave(&r->json);
}

/* ---- the head, the whole --------------------------------------------------------------------- */

static void read_status(struct reading *r, const char *status)
{
    if (status == NULL)
        return;
    for (int s = NT_STATUS_OK; s <= NT_STATUS_FAILED; s++) {
        if (strcmp(status, nt_status_name((enum nt_status)s)) == 0) {
            r->map->status = (enum nt_status)s;
            return;
        }
    }
    nt_json_wrong(&r->json, "status", "expected ok, partial or failed, found \"%.64s\"", status);
}

static void read_head(struct reading *r, struct json_object *root)
{
    struct nt_map *map = r->map;
    nt_json_string_copy(&r->json, root, "generator", &map->generator, NT_JSON_MUST);
    read_status(r, nt_json_string(&r->json, root, "status", NT_JSON_MUST));
    struct json_object *warnings = nt_json_array(&r->json, root, "warnings", NT_JSON_MUST);
    for (size_t k = 0; k < nt_json_length(warnings); k++) {
        struct nt_err why = {0};
        const char *text = nt_json_item_string(&r->json, "warnings", warnings, k);
        if (text != NULL && nt_map_warn(map, &why, "%s", text) != 0) {
            nt_json_wrong(&r->json, "warnings", "%s", why.text);
            break;
        }
    }
    struct json_object *job = nt_json_enter_object(&r->json, root, "job");
    nt_json_whole(&r->json, job, "id", UINT64_MAX, &map->job_id);
    nt_json_string_copy(&r->json, job, "cluster", &map->cluster, NT_JSON_MAY);
    nt_json_string_copy(&r->json, job, "level", &map->level, NT_JSON_MAY);
    nt_json_string_copy(&r->json, job, "created", &map->created, NT_JSON_MAY);
    nt_json_leave(&r->json);
}

/* With the names of r->names; nothing is copied yet but names. */
static int make_map(struct reading *r, size_t hosts, size_t switches, size_t links)
{
    struct nt_model *model;
    if (nt_model_create(hosts, switches, links, &model, r->json.err) != 0)
        return -1;
    model->confidence = NAN;
    if (nt_map_create(model, r->names.name, &r->map, r->json.err) != 0) {
        nt_model_destroy(model);
        return -1;
    }
    for (size_t k = 0; k < switches; k++) {
        char *copy = strdup(r->names.name[hosts + k]);
        if (copy == NULL)
            return nt_err_memory(r->json.err);
        free(r->map->switch_name[k]);
        r->map->switch_name[k] = copy;
    }
    return 0;
}

static int read_map(struct reading *r, struct json_object *root)
{
    const char *schema = nt_json_string(&r->json, root, "schema", NT_JSON_MUST);
    if (schema != NULL && strcmp(schema, "nettopo-map/1") != 0)
        nt_json_wrong(&r->json, "schema", "expected \"nettopo-map/1\", found \"%.64s\"", schema);
    struct json_object *nodes = nt_json_array(&r->json, root, "nodes", NT_JSON_MUST);
    struct json_object *switches = nt_json_array(&r->json, root, "switches", NT_JSON_MUST);
    struct json_object *links = nt_json_array(&r->json, root, "links", NT_JSON_MUST);
    read_names(r, "nodes", nodes);
    read_names(r, "switches", switches);
    if (r->json.no_memory)
        return -1;
    if (r->json.findings->count > 0)
        return 0; /* without its names nothing else can be judged */
    if (make_map(r, nt_json_length(nodes), nt_json_length(switches), nt_json_length(links)) != 0)
        return -1;
    read_head(r, root);
    read_sweep(r, root);
    read_nodes(r, nodes);
    read_populations(r, root, nodes);
    nt_machines_read(&r->json, root, nodes, r->map);
    read_switches(r, switches);
    read_links(r, links);
    compare_places(r, nodes, switches);
    read_structure(r, root);
    compare_support(r, switches);
    nt_faults_read(&r->json, root, &r->names, r->map);
    read_fit(r, root);
    read_capacity(r, root);
    read_loggp(r, root);
    read_stress(r, root);
    read_placement(r, root);
    return r->json.no_memory ? -1 : 0;
}

int nt_map_inspect(const char *file, const char *text, size_t bytes, struct nt_findings *findings,
                   struct nt_map **out, struct nt_err *err)
{
    struct json_object *root = NULL;
    struct reading r = {.json = {.findings = findings, .err = err}};
    if (nt_json_parse(file, text, bytes, &root, err) != 0)
        return -1;
    int rc = read_map(&r, root);
    nt_names_fini(&r.names);
    nt_json_free(root);
    if (rc == 0 && findings->count == 0) {
        *out = r.map;
        return 0;
    }
    nt_map_destroy(r.map);
    return rc == 0 ? 0 : nt_err_prefix(err, "%s", file);
}

int nt_map_read(const char *file, const char *text, size_t bytes, struct nt_map **out,
                struct nt_err *err)
{
    struct nt_findings findings = {0};
    int rc = nt_map_inspect(file, text, bytes, &findings, out, err);
    if (rc == 0 && findings.count > 0)
        rc = nt_err_set(err, NT_ERR_INPUT, "%s: %s", file, findings.line[0]);
    nt_findings_fini(&findings);
    return rc;
}
