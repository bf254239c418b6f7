/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the map's fields, after the functions of fields that are more than a value at a
 * place. */
#include "map_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attachment.h"
#include "csv_dialect.h"
#include "faults_text.h"
#include "import.h"
#include "json.h"
#include "json_write.h"
#include "names.h"
#include "number.h"
#include "prior.h"
#include "switch_support.h"

static const double SUPPORT_ROUNDED = 1e-5;

/* Bases of values; 0 is the current row. */
enum base { MAP = 1, MODEL, TEXT };

/* Passes of reading: fields that repeat others come after them. */
enum { NAMES = 1, PLACES, SUPPORT, POPULATION, MODEL_NAME, MEMBERS };

/* Fields of the text that the map does not contain. */
struct text {
    bool schema;
    uint32_t hosts;
    struct nt_names names; /* read: of vertices, hosts, then switches; borrowed from the tree */
    struct nt_attachment places;
    double *support;   /* of switches */
    uint32_t *members; /* hosts of each model */
};

static struct nt_map *read_map(const struct nt_json_reader *r)
{
    return r->base[MAP];
}

static const struct nt_map *written_map(const struct nt_json_writer *w)
{
    return w->base[MAP];
}

static struct text *read_text(const struct nt_json_reader *r)
{
    return r->base[TEXT];
}

/* ---- names ----------------------------------------------------------------------------------- */

enum what { NODE, SWITCH, VERTEX };

/* Returns the vertex that the field names; NT_NAMES_NONE (noted) if no such part has the name. */
static uint32_t find_named(struct nt_json_reader *r, const struct nt_json_field *f, enum what what)
{
    static const char *const whats[] = {"node", "switch", "node or switch"};
    const char *name = nt_json_string(r, f);
    if (name == NULL)
        return NT_NAMES_NONE;
    uint32_t v = nt_names_find(&read_text(r)->names, name, strlen(name));
    bool node = v < read_map(r)->model->hosts;
    if (v != NT_NAMES_NONE && (what == VERTEX || node == (what == NODE)))
        return v;
    nt_json_note_error(r, f->name, "expected the name of a %s, found \"%.64s\"", whats[what], name);
    return NT_NAMES_NONE;
}

/* Reads the name of a node or switch; the map is created after all names. */
static void take_name(struct nt_json_reader *r, const struct nt_json_field *f)
{
    const char *name = nt_json_string(r, f);
    struct nt_err why = {0};
    uint32_t index;
    if (name == NULL || r->no_memory)
        return;
    if (nt_host_name_check(name, &why) != 0) {
        nt_json_note_error(r, f->name, "%s", why.text);
        return;
    }
    int rc = nt_names_add(&read_text(r)->names, name, &index, r->err);
    if (rc > 0)
        nt_json_note_error(r, f->name, "expected each name once, found %s again", name);
    r->no_memory |= rc < 0;
}

static void put_vertex(struct nt_json_writer *w, const struct nt_json_field *f)
{
    nt_json_put_text(w, f->name, nt_map_vertex_name(written_map(w), *(uint32_t *)w->value));
}

static void take_vertex(struct nt_json_reader *r, const struct nt_json_field *f)
{
    *(uint32_t *)r->at.value = find_named(r, f, VERTEX);
}

static void take_node(struct nt_json_reader *r, const struct nt_json_field *f)
{
    *(uint32_t *)r->at.value = find_named(r, f, NODE);
}

/* ---- nodes, switches, and fields that repeat links ------------------------------------------- */

static void put_switch(struct nt_json_writer *w, const struct nt_json_field *f)
{
    uint32_t on = *(uint32_t *)w->value;
    if (on != NT_ATTACHMENT_NOWHERE)
        nt_json_put_text(w, f->name, written_map(w)->switch_name[on]);
}

static void take_switch(struct nt_json_reader *r, const struct nt_json_field *f)
{
    const struct nt_map *map = read_map(r);
    uint32_t on = find_named(r, f, SWITCH);
    if (on != NT_NAMES_NONE && *(uint32_t *)r->at.value != on - map->model->hosts)
        nt_json_note_error(r, f->name, "expected the switch that %s is linked with, found %s",
                           map->host_name[r->at.index], read_text(r)->names.name[on]);
}

/* Reads a switch's support, which repeats the probability of its link; both have been rounded. */
static void take_support(struct nt_json_reader *r, const struct nt_json_field *f)
{
    double support = *(double *)r->at.value, stated = (double)NAN;
    nt_json_read_field(r, f, &stated);
    if (isfinite(stated) && isnan(support))
        nt_json_note_error(
            r, f->name,
            "expected no support outside of a tree or without structure.confidence, found %g",
            stated);
    else if (fabs(stated - support) > SUPPORT_ROUNDED)
        nt_json_note_error(r, f->name, "expected the probability of its uplink, %g, found %g",
                           support, stated);
}

static void put_max_at_least(struct nt_json_writer *w, const struct nt_json_field *f)
{
    const struct nt_throughput *most = &written_map(w)->model->throughput[w->index];
    if (most->MBps > 0 && most->at_least)
        nt_json_put_flag(w, f->name, true);
}

static void compare_places(struct nt_json_reader *r)
{
    if (r->findings->count > 0)
        return; /* the links may name nothing */
    if (nt_attachment_init(&read_text(r)->places, r->base[MODEL], r->err) != 0) {
        r->no_memory = true;
        return;
    }
    nt_json_read(r, nt_map_fields, "nodes", PLACES);
    nt_json_read(r, nt_map_fields, "switches", PLACES);
    nt_attachment_fini(&read_text(r)->places);
}

static void compare_support(struct nt_json_reader *r)
{
    if (r->findings->count > 0)
        return; /* the links may name nothing */
    if (nt_support_create(r->base[MODEL], &read_text(r)->support, r->err) != 0) {
        r->no_memory = true;
        return;
    }
    nt_json_read(r, nt_map_fields, "switches", SUPPORT);
    free(read_text(r)->support);
}

/* ---- populations and models of hosts --------------------------------------------------------- */

/* Counted from 1. */
static void put_population(struct nt_json_writer *w, const struct nt_json_field *f)
{
    const uint32_t *of = w->value;
    if (of != NULL && *of < written_map(w)->populations)
        nt_json_put_whole(w, f->name, *of + 1);
}

static void take_population(struct nt_json_reader *r, const struct nt_json_field *f)
{
    uint32_t number = 0;
    nt_json_whole32(r, f->name, (uint32_t)read_map(r)->populations, &number);
    *(uint32_t *)r->at.value = number - 1;
}

/* Compares the hosts of each population with the nodes that name it. */
static void count_populations(struct nt_json_reader *r)
{
    const struct nt_map *map = read_map(r);
    uint32_t count[NT_POPULATIONS_MAX] = {0};
    nt_json_read(r, nt_map_fields, "nodes", POPULATION);
    for (size_t k = 0; k < map->model->hosts; k++)
        if (map->population_of[k] < map->populations)
            count[map->population_of[k]]++;
    for (size_t k = 0; k < map->populations; k++) {
        char key[32];
        snprintf(key, sizeof key, "populations[%zu].hosts", k);
        if (map->population[k].hosts != count[k])
            nt_json_note_error(r, key,
                               "expected %u, the number of nodes of this population, found %u",
                               count[k], map->population[k].hosts);
    }
}

/* Writes the name of a model, its number from 1. */
static void put_numbered(struct nt_json_writer *w, const char *key, size_t model)
{
    char name[32];
    (void)snprintf(name, sizeof name, "m%zu", model + 1);
    nt_json_put_text(w, key, name);
}

static void put_model(struct nt_json_writer *w, const struct nt_json_field *f)
{
    const uint32_t *of = w->value;
    if (of != NULL && *of < written_map(w)->machines)
        put_numbered(w, f->name, *of);
}

static void take_model(struct nt_json_reader *r, const struct nt_json_field *f)
{
    const char *name = nt_json_string(r, f);
    char own[32], *end;
    *(uint32_t *)r->at.value = NT_MAP_NO_MACHINE;
    if (name == NULL)
        return;
    unsigned long number = name[0] == 'm' ? strtoul(name + 1, &end, 10) : 0;
    snprintf(own, sizeof own, "m%lu", number);
    if (number >= 1 && number <= read_map(r)->machines && strcmp(own, name) == 0)
        *(uint32_t *)r->at.value = (uint32_t)(number - 1);
    else
        nt_json_note_error(r, f->name, "expected the name of a model, found \"%.32s\"", name);
}

static void put_model_name(struct nt_json_writer *w, const struct nt_json_field *f)
{
    put_numbered(w, f->name, w->index);
}

static void take_model_name(struct nt_json_reader *r, const struct nt_json_field *f)
{
    const char *name = nt_json_string(r, f);
    char own[32];
    snprintf(own, sizeof own, "m%zu", r->at.index + 1);
    if (name != NULL && strcmp(name, own) != 0)
        nt_json_note_error(r, f->name, "expected \"%s\", found \"%.32s\"", own, name);
}

/* Counts the hosts of each model. */
static int count_members(struct text *t, const struct nt_map *map, struct nt_err *err)
{
    t->members = calloc(map->machines + 1, sizeof *t->members);
    if (t->members == NULL)
        return nt_err_memory(err);
    for (size_t k = 0; map->machine_of != NULL && k < map->model->hosts; k++)
        if (map->machine_of[k] < map->machines)
            t->members[map->machine_of[k]]++;
    return 0;
}

static void compare_members(struct nt_json_reader *r)
{
    nt_json_read(r, nt_map_fields, "nodes", MODEL_NAME);
    if (count_members(read_text(r), read_map(r), r->err) != 0)
        r->no_memory = true;
    else if (read_map(r)->machines > 0)
        nt_json_read(r, nt_map_fields, "models", MEMBERS);
}

static void take_members(struct nt_json_reader *r, const struct nt_json_field *f)
{
    const struct nt_machine *m = r->at.row;
    uint32_t members = *(uint32_t *)r->at.value;
    nt_json_read_field(r, f, &members);
    for (int b = 0; b < NT_BETWEEN_END; b++)
        if (m->between[b].hosts > members)
            nt_json_note_error(r, "core_latency", "expected at most %u hosts, found %u", members,
                               m->between[b].hosts);
}

static bool is_unmeasured(const void *item)
{
    return ((const struct nt_core_latency *)item)->hosts == 0;
}

static void put_between(struct nt_json_writer *w, const struct nt_json_field *f)
{
    nt_json_put_text(w, f->name, nt_between_names[w->index]);
}

/* Selects the row of that name for the rest of the item. */
static void take_between(struct nt_json_reader *r, const struct nt_json_field *f)
{
    unsigned between = NT_BETWEEN_END;
    nt_json_read_field(r, f, &between);
    if (between == NT_BETWEEN_END) {
        r->at.from = NULL;
        return;
    }
    struct nt_core_latency *l = (struct nt_core_latency *)r->at.row + between;
    *l = (struct nt_core_latency){1, (double)NAN, (double)NAN, (double)NAN};
    r->at.row = l;
}

/* ---- links and findings ---------------------------------------------------------------------- */

static void check_link(struct nt_json_reader *r, void *row)
{
    const struct nt_link *l = row;
    if (l->a == l->b && l->a != NT_NAMES_NONE)
        nt_json_note_error(r, "b", "expected two different ends, found %s twice",
                           read_text(r)->names.name[l->a]);
}

/* Writes the other end; a host has none. */
static void put_other_end(struct nt_json_writer *w, const struct nt_json_field *f)
{
    const struct nt_fault_part *part = w->row;
    if (part->b != part->a)
        put_vertex(w, f);
}

static void take_other_end(struct nt_json_reader *r, const struct nt_json_field *f)
{
    struct nt_fault_part *part = r->at.row;
    take_vertex(r, f);
    if (part->b == NT_NAMES_NONE)
        part->b = part->a;
}

static void take_part(struct nt_json_reader *r, const struct nt_json_field *f)
{
    struct nt_json_field part = *f;
    part.must = false;
    if (!nt_json_read_field(r, &part, r->at.value))
        nt_json_note_error(r, f->name, "expected an object with a, found none");
}

static void put_unit(struct nt_json_writer *w, const struct nt_json_field *f)
{
    nt_json_put_text(w, f->name, nt_fault_unit(w->row));
}

static void take_unit(struct nt_json_reader *r, const struct nt_json_field *f)
{
    static const struct nt_fault narrow = {.part.kind = NT_FAULT_LINK_NARROW};
    struct nt_fault *fault = r->at.row;
    const char *unit = nt_json_string(r, f);
    fault->by_rate = fault->part.kind == NT_FAULT_HOST_SLOW && unit != NULL &&
                     strcmp(unit, nt_fault_unit(&narrow)) == 0;
}

static void take_rail(struct nt_json_reader *r, const struct nt_json_field *f)
{
    const char *rail = nt_json_string(r, f);
    if (rail != NULL && strlen(rail) >= f->bytes)
        nt_json_note_error(r, f->name, "expected at most %zu characters, found \"%.64s\"",
                           f->bytes - 1, rail);
    else if (rail != NULL)
        memcpy(r->at.value, rail, strlen(rail) + 1);
}

/* ---- structure, capacity --------------------------------------------------------------------- */

/* Writes one of the three sizes of a dragonfly. */
static void put_dragonfly(struct nt_json_writer *w, const struct nt_json_field *f)
{
    const struct nt_model *m = w->row;
    if (m->family == NT_FAMILY_DRAGONFLY && m->dimensions == 3)
        nt_json_put_whole(w, f->name, *(uint32_t *)w->value);
}

/* Writes the other name of the same graph: a ring of four is a square, and two dimensions of a cube
 * are one of four in a torus. */
static void put_also(struct nt_json_writer *w, const struct nt_json_field *f)
{
    const struct nt_model *m = w->row;
    struct nt_model also = {.family = NT_FAMILY_HYPERCUBE, .dimensions = 2, .dimension = {2, 2}};
    bool ring = m->family == NT_FAMILY_RING && m->dimensions == 1 && m->dimension[0] == 4;
    if (!ring && (m->family != NT_FAMILY_HYPERCUBE || m->dimensions < 3))
        return;
    if (!ring) {
        also = (struct nt_model){.family = NT_FAMILY_TORUS};
        for (size_t left = m->dimensions; left > 0; left -= left > 1 ? 2 : 1)
            also.dimension[also.dimensions++] = left > 1 ? 4 : 2;
    }
    w->row = &also;
    nt_json_begin(w, f->name, '{', false);
    nt_json_put_fields(w, f->fields);
    nt_json_end(w, '}');
    w->row = (void *)m;
}

static bool is_no_figure(const void *item)
{
    return !isfinite(*(const double *)item);
}

static void put_switch_name(struct nt_json_writer *w, const struct nt_json_field *f)
{
    nt_json_put_text(w, f->name, written_map(w)->switch_name[w->index]);
}

/* Selects the row of that switch for the rest of the item. */
static void take_switch_name(struct nt_json_reader *r, const struct nt_json_field *f)
{
    uint32_t v = find_named(r, f, SWITCH);
    if (v == NT_NAMES_NONE)
        r->at.from = NULL;
    else
        r->at.row = (double *)r->at.row + (v - read_map(r)->model->hosts);
}

/* ---- the head, sweep, LogGP, stress, placement ----------------------------------------------- */

static void take_warning(struct nt_json_reader *r, const struct nt_json_field *f)
{
    const char *text = nt_json_string(r, f);
    struct nt_err why = {0};
    if (text == NULL || nt_map_warn(read_map(r), &why, "%s", text) == 0)
        return;
    nt_json_note_error(r, f->name, "%s", why.text);
    r->at.from = NULL; /* one error for all that follow */
}

static void put_prior_support(struct nt_json_writer *w, const struct nt_json_field *f)
{
    if (written_map(w)->sweep.prior.all_taken)
        nt_json_put_number(w, f->name, *(double *)w->value);
}

static void check_prior(struct nt_json_reader *r, void *row)
{
    struct nt_prior_use *use = row;
    int32_t day;
    (void)r;
    use->all_taken = nt_prior_day(use->oldest, strlen(use->oldest), &day) == 0 &&
                     use->support >= 0 && use->support <= 1;
    if (!use->all_taken)
        use->oldest[0] = '\0';
}

/* Writes o of both sides, the mean of the rounded values, so that writing again gives the same
 * text. */
static void put_overhead(struct nt_json_writer *w, const struct nt_json_field *f)
{
    const struct nt_loggp *g = w->row;
    double send = nt_number_round(g->o_send_us, NT_JSON_DIGITS);
    nt_json_put_number(w, f->name, (send + nt_number_round(g->o_recv_us, NT_JSON_DIGITS)) / 2);
}

static void put_seen_support(struct nt_json_writer *w, const struct nt_json_field *f)
{
    if (((struct nt_loggp *)w->row)->seen[0] != '\0')
        nt_json_put_number(w, f->name, *(double *)w->value);
}

static void check_loggp(struct nt_json_reader *r, void *row)
{
    struct nt_loggp *g = row;
    double both = (double)NAN;
    nt_json_number(r, "o_us", &both);
    if (isnan(g->o_send_us) && isnan(g->o_recv_us)) /* given as one for both sides */
        g->o_send_us = g->o_recv_us = both;
}

static void put_waves(struct nt_json_writer *w, const struct nt_json_field *f)
{
    if (((struct nt_stress *)w->row)->messages > 0)
        nt_json_put_whole(w, f->name, *(uint32_t *)w->value);
}

/* Computes the ratio from the rounded values, so that writing again gives the same text. */
static void put_ratio(struct nt_json_writer *w, const struct nt_json_field *f)
{
    const struct nt_stress *s = w->row;
    double alone_us = nt_number_round(s->alone_us, NT_JSON_DIGITS);
    nt_json_put_number(w, f->name, nt_number_round(s->time_us, NT_JSON_DIGITS) / alone_us);
}

static void put_prediction(struct nt_json_writer *w, const struct nt_json_field *f)
{
    if (isfinite(((struct nt_placement *)w->row)->message_bytes))
        nt_json_put_number(w, f->name, *(double *)w->value);
}

static void put_first_percent(struct nt_json_writer *w, const struct nt_json_field *f)
{
    if (*(double *)w->value > 0)
        nt_json_put_figure(w, f->name, *(double *)w->value, 3);
}

/* Compares the cost with its repetition under the name with the unit. */
static void compare_prediction(struct nt_json_reader *r, const char *key, double cost)
{
    double us = cost;
    nt_json_number(r, key, &us);
    if (isfinite(us) && !(fabs(us - cost) <= 1e-5 * cost))
        nt_json_note_error(r, key, "expected the cost, %g, found %g", cost, us);
}

static void check_placement(struct nt_json_reader *r, void *row)
{
    struct nt_placement *p = row;
    if (isnan(p->first_percent))
        p->first_percent = 0;
    compare_prediction(r, "predicted_us", p->cost);
    compare_prediction(r, "predicted_default_us", p->cost_default);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct nt_json_words statuses = {nt_status_names, NT_STATUS_FAILED + 1,
                                              "ok, partial or failed", 64};
static const struct nt_json_words betweens = {nt_between_names, NT_BETWEEN_END,
                                              "core, cache, numa, package or machine", 32};
static const struct nt_json_words kinds = {nt_fault_kind_names, NT_FAULT_KINDS,
                                           "one of link-slow to path-shared", 64};
static const struct nt_json_words ways = {nt_fault_way_names, NT_FAULT_WAYS, "one of both to down",
                                          64};
static const struct nt_json_words families = {
    nt_family_names, NT_FAMILY_DRAGONFLY + 1,
    "star, tree, torus, mesh, ring, hypercube, full-mesh, irregular, dragonfly or undetermined",
    64};

/* The place of a member, which must be of this type. */
#define AT(row, member, of_type)                                                                   \
    .place.at = offsetof(struct row, member) +                                                     \
                0 * sizeof((of_type *)NULL == &((struct row *)NULL)->member)
#define SIZE(row, member) sizeof(((struct row *)NULL)->member)
#define NUMBER(key, row, member) key, NT_JSON_NUMBER, AT(row, member, double)
#define SHARE(key, row, member) NUMBER(key, row, member), .most = 1
#define R2(row) NUMBER("r2", row, r2), .least = -1e15, .most = 1
#define WHOLE(key, row, member) key, NT_JSON_WHOLE32, AT(row, member, uint32_t)
#define WHOLE64(key, row, member) key, NT_JSON_WHOLE64, AT(row, member, uint64_t)
#define FLAG(key, row, member) key, NT_JSON_FLAG, AT(row, member, bool)
#define CHARS(key, row, member)                                                                    \
    key, NT_JSON_TEXT, .place.at = offsetof(struct row, member), .bytes = SIZE(row, member)
#define STRING(key, row, member) key, NT_JSON_STRING, AT(row, member, char *)
#define WORD(key, row, member, type, names) key, NT_JSON_WORD, AT(row, member, type), .word = &names
#define COLUMN(row, member, of_type)                                                               \
    AT(row, member, of_type), .place.stride = sizeof(*((struct row *)NULL)->member)
#define MADE(by) .put = put_##by, .take = take_##by
#define REPEATED(by) .put = put_##by, .take = nt_json_skip_field
#define MUST .must = true
#define IF_ANY .when = NT_JSON_IF_ANY
#define IF_GIVEN(row, flag) .when = NT_JSON_IF_GIVEN, .given_at = offsetof(struct row, flag)

#define OBJECT(key) key, NT_JSON_OBJECT
#define LIST(key) key, NT_JSON_LIST
#define FIELDS(...)                                                                                \
    .fields = (const struct nt_json_field[])                                                       \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            .name = NULL                                                                           \
        }                                                                                          \
    }
#define COUNT(row, count) .count_at = offsetof(struct row, count), .count_bytes = SIZE(row, count)
#define ITEMS(row, member, count)                                                                  \
    .place.at = offsetof(struct row, member), .bytes = sizeof(*((struct row *)NULL)->member),      \
    COUNT(row, count)
#define WITHIN(row, member, count, room)                                                           \
    ITEMS(row, member, count), .within = true, .items_max = (room)
#define VERTEX(key, row, member) key, NT_JSON_TEXT, AT(row, member, uint32_t), MADE(vertex)

/* clang-format off */
static const struct nt_json_field node_item = {
    .type = NT_JSON_TEXT, .put = put_vertex, .take = take_node};

static const struct nt_json_field part_fields[] = {
    {VERTEX("a", nt_fault_part, a), MUST},
    {"b", NT_JSON_TEXT, AT(nt_fault_part, b, uint32_t), MADE(other_end)},
    {.name = NULL}};

static const struct nt_json_field sweep_fields[] = {
    {WHOLE("hosts", text, hosts), .place.base = TEXT, .repeats = "the number of nodes"},
    {WHOLE64("pairs_measured", nt_sweep, pairs_measured)},
    {WHOLE64("pairs_total", nt_sweep, pairs_total)},
    {WHOLE64("rounds", nt_sweep, rounds), IF_ANY},
    {NUMBER("seconds", nt_sweep, seconds), IF_ANY},
    {LIST("phases"), ITEMS(nt_sweep, phase, phases), IF_ANY, .all_unknown = true, FIELDS(
        {CHARS("name", nt_phase, name), MUST},
        {WHOLE64("rounds", nt_phase, rounds)},
        {NUMBER("seconds", nt_phase, seconds)})},
    {OBJECT("prior"), .place.at = offsetof(struct nt_sweep, prior), IF_GIVEN(nt_sweep, prior.given),
     .check = check_prior, FIELDS(
        {FLAG("used", nt_prior_use, used)},
        {WHOLE64("pairs_taken", nt_prior_use, pairs_taken)},
        {WHOLE64("pairs_verified", nt_prior_use, pairs_verified)},
        {WHOLE64("pairs_contradicted", nt_prior_use, pairs_contradicted)},
        {WHOLE64("hosts_moved", nt_prior_use, hosts_moved)},
        {CHARS("reason", nt_prior_use, reason), IF_ANY},
        {NUMBER("support", nt_prior_use, support), .put = put_prior_support},
        {CHARS("oldest", nt_prior_use, oldest), IF_ANY})},
    {LIST("transports"), IF_ANY,
     WITHIN(nt_sweep, transport, transports, NT_SWEEP_TRANSPORTS_MAX), FIELDS(
        {CHARS("used", nt_sweep_transport, used), MUST},
        {WHOLE("hosts", nt_sweep_transport, hosts)})},
    {.name = NULL}};

static const struct nt_json_field machine_fields[] = {
    {"name", NT_JSON_TEXT, MADE(model_name), MUST},
    {"hosts", NT_JSON_WHOLE32, COLUMN(text, members, uint32_t *), .place.base = TEXT, .late = MEMBERS,
     .repeats = "the nodes of this model", .take = take_members},
    {CHARS("cpu", nt_machine, cpu), IF_ANY},
    {WHOLE("packages", nt_machine, packages)},
    {WHOLE("numa_nodes", nt_machine, numas)},
    {WHOLE("cores", nt_machine, cores)},
    {WHOLE("threads", nt_machine, threads)},
    {WHOLE("threads_allowed", nt_machine, allowed)},
    {WHOLE64("l2_bytes", nt_machine, l2_bytes), IF_ANY, .whole_most = (uint64_t)1 << 40},
    {WHOLE64("l3_bytes", nt_machine, l3_bytes), IF_ANY, .whole_most = (uint64_t)1 << 40},
    {LIST("nics"), WITHIN(nt_machine, nic, nics, NT_MACHINE_NICS_MAX), IF_ANY, FIELDS(
        {CHARS("name", nt_nic, name), MUST},
        {CHARS("pci", nt_nic, pci), IF_ANY},
        {"numa_node", NT_JSON_WHOLE32, NT_JSON_IF_KNOWN, AT(nt_nic, numa, int32_t)},
        {CHARS("transports", nt_nic, transports), IF_ANY})},
    {LIST("gpus"), WITHIN(nt_machine, gpu, gpus, NT_MACHINE_GPUS_MAX), IF_ANY, FIELDS(
        {CHARS("pci", nt_gpu, pci), MUST},
        {"numa_node", NT_JSON_WHOLE32, NT_JSON_IF_KNOWN, AT(nt_gpu, numa, int32_t)},
        {CHARS("nics", nt_gpu, nics), IF_ANY})},
    {LIST("core_latency"), .place.at = offsetof(struct nt_machine, between), .within = true,
     .bytes = sizeof(struct nt_core_latency), .keyed = true, .items_max = NT_BETWEEN_END,
     .skip = is_unmeasured, IF_ANY, FIELDS(
        {"between", NT_JSON_WORD, .word = &betweens, MADE(between), MUST},
        {WHOLE("hosts", nt_core_latency, hosts)},
        {NUMBER("latency_us", nt_core_latency, latency_us)},
        {NUMBER("low_us", nt_core_latency, low_us)},
        {NUMBER("high_us", nt_core_latency, high_us)})},
    {.name = NULL}};

static const struct nt_json_field link_fields[] = {
    {VERTEX("a", nt_link, a), MUST},
    {VERTEX("b", nt_link, b), MUST},
    {NUMBER("latency_us", nt_link, latency_us)},
    {NUMBER("latency_se_us", nt_link, latency_se_us)},
    {NUMBER("bandwidth_MBps", nt_link, bandwidth_MBps)},
    {NUMBER("bandwidth_back_MBps", nt_link, bandwidth_back_MBps)},
    {NUMBER("bandwidth_se_MBps", nt_link, bandwidth_se_MBps)},
    {NUMBER("bandwidth_back_se_MBps", nt_link, bandwidth_back_se_MBps)},
    {FLAG("bandwidth_at_least", nt_link, at_least), IF_ANY},
    {FLAG("bandwidth_forth_at_least", nt_link, forth_at_least), IF_ANY},
    {FLAG("bandwidth_back_at_least", nt_link, back_at_least), IF_ANY},
    {FLAG("bandwidth_effective", nt_link, effective), IF_ANY},
    {NUMBER("bandwidth_loaded_MBps", nt_link, loaded_MBps), IF_ANY},
    {SHARE("probability", nt_link, probability)},
    {FLAG("simplex", nt_link, simplex), IF_ANY},
    {FLAG("suspect", nt_link, suspect)},
    {.name = NULL}};

static const struct nt_json_field finding_fields[] = {
    {WORD("kind", nt_fault, part.kind, enum nt_fault_kind, kinds), MUST},
    {OBJECT("part"), .place.at = offsetof(struct nt_fault, part), .fields = part_fields,
     .take = take_part, MUST},
    {LIST("alternatives"), WITHIN(nt_fault, other, others, NT_FAULT_OTHERS_MAX), FIELDS(
        {WORD("kind", nt_fault_part, kind, enum nt_fault_kind, kinds), MUST},
        {OBJECT("part"), .fields = part_fields, .take = take_part, MUST})},
    {NUMBER("found", nt_fault, found)},
    {NUMBER("expected", nt_fault, expected)},
    {"unit", NT_JSON_TEXT, MADE(unit)},
    {WORD("way", nt_fault, way, enum nt_fault_way, ways), MUST},
    {CHARS("rail", nt_fault, rail), IF_ANY, .take = take_rail},
    {SHARE("confidence", nt_fault, confidence)},
    {.name = NULL}};

#define DIMENSIONS LIST("dimensions"), \
    WITHIN(nt_model, dimension, dimensions, NT_DIMENSIONS_MAX), \
    .item = &(const struct nt_json_field){.type = NT_JSON_WHOLE32}

static const struct nt_json_field structure_fields[] = {
    {WORD("family", nt_model, family, enum nt_family, families), MUST},
    {WHOLE("tiers", nt_model, tiers)},
    {SHARE("confidence", nt_model, confidence)},
    {OBJECT("parameters"), FIELDS(
        {DIMENSIONS, IF_ANY},
        {WHOLE("twist", nt_model, twist), IF_ANY},
        {WHOLE("groups", nt_model, dimension[0]), REPEATED(dragonfly)},
        {WHOLE("routers", nt_model, dimension[1]), REPEATED(dragonfly)},
        {WHOLE("hosts", nt_model, dimension[2]), REPEATED(dragonfly)},
        {OBJECT("also"), REPEATED(also), FIELDS(
            {WORD("family", nt_model, family, enum nt_family, families)},
            {DIMENSIONS})})},
    {.name = NULL}};

static const struct nt_json_field loggp_fields[] = {
    {CHARS("class", nt_loggp, class_name), MUST},
    {CHARS("rail", nt_loggp, rail), IF_ANY},
    {NUMBER("min_bytes", nt_loggp, min_bytes)},
    {NUMBER("max_bytes", nt_loggp, max_bytes)},
    {NUMBER("L_us", nt_loggp, L_us)},
    {NUMBER("o_us", nt_loggp, o_send_us), REPEATED(overhead)}, /* read by check_loggp */
    {NUMBER("o_send_us", nt_loggp, o_send_us)},
    {NUMBER("o_recv_us", nt_loggp, o_recv_us)},
    {NUMBER("g_us", nt_loggp, g_us)},
    {NUMBER("G_us_per_byte", nt_loggp, G_us_per_byte)},
    {NUMBER("gap_us_per_byte", nt_loggp, gap_us_per_byte)},
    {NUMBER("L_se_us", nt_loggp, L_se_us)},
    {NUMBER("o_se_us", nt_loggp, o_se_us)},
    {NUMBER("g_se_us", nt_loggp, g_se_us)},
    {NUMBER("G_se_us_per_byte", nt_loggp, G_se_us_per_byte)},
    {R2(nt_loggp)},
    {NUMBER("check_percent", nt_loggp, check_percent)},
    {CHARS("seen", nt_loggp, seen), IF_ANY},
    {NUMBER("support", nt_loggp, support), .put = put_seen_support},
    {.name = NULL}};

static const struct nt_json_field stress_fields[] = {
    {CHARS("kernel", nt_stress, kernel), MUST},
    {WHOLE("hosts", nt_stress, hosts)},
    {WHOLE("messages", nt_stress, messages), IF_ANY},
    {WHOLE("waves", nt_stress, waves), .put = put_waves},
    {NUMBER("bytes", nt_stress, bytes)},
    {WHOLE("repetitions", nt_stress, repetitions)},
    {NUMBER("time_us", nt_stress, time_us)},
    {NUMBER("time_low_us", nt_stress, low_us)},
    {NUMBER("time_high_us", nt_stress, high_us)},
    {NUMBER("alone_us", nt_stress, alone_us)},
    {NUMBER("ratio", nt_stress, time_us), REPEATED(ratio)},
    {NUMBER("shared_us", nt_stress, shared_us)},
    {OBJECT("congested"), IF_GIVEN(nt_stress, congested), FIELDS(
        {WHOLE("tier", nt_stress, tier)},
        {VERTEX("from", nt_stress, from), MUST},
        {VERTEX("to", nt_stress, to), MUST},
        {WHOLE("links", nt_stress, links)},
        {NUMBER("bandwidth_MBps", nt_stress, capacity_MBps)},
        {NUMBER("busy_us", nt_stress, busy_us)})},
    {.name = NULL}};

static const struct nt_json_field placement_fields[] = {
    {CHARS("pattern", nt_placement, pattern), MUST},
    {LIST("node_order"), ITEMS(nt_placement, order, hosts), .item = &node_item, .numbered = true,
     MUST},
    {LIST("spares"), ITEMS(nt_placement, spare, spares), .item = &node_item, .numbered = true,
     IF_ANY},
    {NUMBER("message_bytes", nt_placement, message_bytes)},
    {NUMBER("predicted_us", nt_placement, cost), REPEATED(prediction)}, /* see check_placement */
    {NUMBER("predicted_default_us", nt_placement, cost_default), REPEATED(prediction)},
    {NUMBER("cost", nt_placement, cost)},
    {NUMBER("cost_default", nt_placement, cost_default)},
    {NUMBER("gain", nt_placement, gain)},
    {NUMBER("first_host_percent", nt_placement, first_percent), .put = put_first_percent},
    {.name = NULL}};

const struct nt_json_field nt_map_fields[] = {
    {"schema", NT_JSON_MARK, .place.base = TEXT, AT(text, schema, bool), .mark = "nettopo-map/1", MUST},
    {STRING("generator", nt_map, generator), .place.base = MAP, MUST},
    {WORD("status", nt_map, status, enum nt_status, statuses), .place.base = MAP, MUST},
    {LIST("warnings"), .place.base = MAP, ITEMS(nt_map, warning, warnings), .made = true, MUST,
     .item = &(const struct nt_json_field){.type = NT_JSON_STRING, .take = take_warning}},
    {OBJECT("job"), .place.base = MAP, IF_ANY, FIELDS(
        {WHOLE64("id", nt_map, job_id), IF_ANY, .whole_most = UINT64_MAX},
        {STRING("cluster", nt_map, cluster), IF_ANY},
        {STRING("level", nt_map, level), IF_ANY},
        {STRING("created", nt_map, created), IF_ANY})},
    {OBJECT("sweep"), .place.base = MAP, .place.at = offsetof(struct nt_map, sweep), .fields = sweep_fields},
    {LIST("nodes"), .place.base = MODEL, COUNT(nt_model, hosts), MUST, FIELDS(
        {"name", NT_JSON_STRING, .place.base = MAP, COLUMN(nt_map, host_name, char **), MUST,
         .late = NAMES, .take = take_name},
        {"switch", NT_JSON_TEXT, .place.base = TEXT, COLUMN(text, places.switch_of, uint32_t *),
         .late = PLACES, MADE(switch)},
        {"overhead_us", NT_JSON_NUMBER, .place.base = MODEL, COLUMN(nt_model, overhead_us, double *),
         IF_ANY},
        {"model", NT_JSON_TEXT, .place.base = MAP, COLUMN(nt_map, machine_of, uint32_t *), MADE(model),
         .late = MODEL_NAME},
        {"population", NT_JSON_WHOLE32, .place.base = MAP, COLUMN(nt_map, population_of, uint32_t *),
         MADE(population), .late = POPULATION},
        {"suspect", NT_JSON_FLAG, .place.base = MODEL, COLUMN(nt_model, host_suspect, bool *), IF_ANY},
        {"status", NT_JSON_MARK, .place.base = MODEL, COLUMN(nt_model, missing, bool *),
         .mark = "missing"})},
    {LIST("switches"), .place.base = MODEL, COUNT(nt_model, switches), MUST, FIELDS(
        {"name", NT_JSON_STRING, .place.base = MAP, COLUMN(nt_map, switch_name, char **), MUST,
         .late = NAMES, .take = take_name},
        {"tier", NT_JSON_WHOLE32, .place.base = MODEL, COLUMN(nt_model, tier, uint32_t *)},
        {"hosts", NT_JSON_WHOLE32, .place.base = TEXT, COLUMN(text, places.hosts_on, uint32_t *),
         .late = PLACES, .repeats = "the hosts linked with it"},
        {"support", NT_JSON_NUMBER, .place.base = TEXT, COLUMN(text, support, double *), .most = 1,
         .late = SUPPORT, .take = take_support},
        {"max_MBps", NT_JSON_NUMBER, .place.base = MODEL,
         COLUMN(nt_model, throughput, struct nt_throughput *),
         .place.inner = offsetof(struct nt_throughput, MBps)},
        {"max_at_least", NT_JSON_FLAG, .place.base = MODEL,
         COLUMN(nt_model, throughput, struct nt_throughput *),
         .place.inner = offsetof(struct nt_throughput, at_least), .put = put_max_at_least})},
    {LIST("models"), .place.base = MAP, ITEMS(nt_map, machine, machines), IF_ANY,
     .fields = machine_fields, .done = compare_members},
    {LIST("populations"), .place.base = MAP, IF_ANY, .all_unknown = true, .done = count_populations,
     WITHIN(nt_map, population, populations, NT_POPULATIONS_MAX), FIELDS(
        {WHOLE("hosts", nt_population, hosts)},
        {NUMBER("latency_us", nt_population, latency_us), IF_ANY},
        {NUMBER("bandwidth_MBps", nt_population, bandwidth_MBps), IF_ANY})},
    {LIST("links"), .place.base = MODEL, ITEMS(nt_model, link, links), .made = true, MUST,
     .fields = link_fields, .check = check_link, .done = compare_places},
    {OBJECT("structure"), .place.base = MODEL, .fields = structure_fields, .done = compare_support},
    {LIST("findings"), .place.base = MAP, ITEMS(nt_map, fault, faults), .items_max = NT_FAULTS_MAX,
     IF_GIVEN(nt_map, judged), .fields = finding_fields},
    {OBJECT("fit"), .place.base = MODEL, FIELDS(
        {R2(nt_model)},
        {NUMBER("rms_us", nt_model, rms_us)},
        {NUMBER("resolution_us", nt_model, resolution_us)},
        {LIST("pairs_off"), ITEMS(nt_model, pair_off, pairs_off), .numbered = true,
         .item = &(const struct nt_json_field){.type = NT_JSON_LIST, .bytes = sizeof(uint32_t),
                                               .within = true, .items_max = 2,
                                               .item = &node_item}})},
    {NUMBER("bisection_MBps", nt_model, bisection_MBps), .place.base = MODEL},
    {FLAG("bisection_at_most", nt_model, bisection_at_most), .place.base = MODEL, IF_ANY},
    {LIST("oversubscription"), .place.base = MODEL, ITEMS(nt_model, oversubscription, switches),
     .keyed = true, .skip = is_no_figure, IF_ANY, FIELDS(
        {"switch", NT_JSON_TEXT, MADE(switch_name), MUST},
        {"ratio", NT_JSON_NUMBER, .place.at = 0})},
    {LIST("loggp"), .place.base = MAP, ITEMS(nt_map, loggp, loggps), IF_ANY, .all_unknown = true,
     .fields = loggp_fields, .check = check_loggp},
    {LIST("stress"), .place.base = MAP, ITEMS(nt_map, stress, stresses), IF_ANY, .all_unknown = true,
     .fields = stress_fields},
    {OBJECT("placement"), .place.base = MAP, .place.at = offsetof(struct nt_map, placement),
     .bytes = sizeof(struct nt_placement), .all_unknown = true, .fields = placement_fields,
     .check = check_placement},
    {.name = NULL}};
/* clang-format on */

/* ---- the whole ------------------------------------------------------------------------------- */

/* Creates the map with the names that were read; other fields follow. */
static int make_map(struct nt_json_reader *r, size_t hosts, size_t switches, size_t links)
{
    const char **name = read_text(r)->names.name;
    struct nt_model *model;
    struct nt_map *map;
    if (nt_model_create(hosts, switches, links, &model, r->err) != 0)
        return -1;
    model->confidence = NAN;
    if (nt_map_create(model, name, &map, r->err) != 0) {
        nt_model_destroy(model);
        return -1;
    }
    r->base[MAP] = map;
    r->base[MODEL] = model;
    for (size_t k = 0; k < switches; k++)
        if (nt_map_set_text(&map->switch_name[k], name[hosts + k], r->err) != 0)
            return -1;
    map->population_of = calloc(hosts + 1, sizeof *map->population_of);
    map->machine_of = malloc((hosts + 1) * sizeof *map->machine_of);
    return map->population_of == NULL || map->machine_of == NULL ? nt_err_memory(r->err) : 0;
}

static int read_all(struct nt_json_reader *r)
{
    static const char *const named[] = {"nodes", "switches", "links"};
    size_t count[3];
    nt_json_read(r, nt_map_fields, "schema", 0);
    for (size_t k = 0; k < 3; k++) {
        count[k] = nt_json_items(r, named[k]);
        nt_json_read(r, nt_map_fields, named[k], NAMES);
    }
    if (r->no_memory)
        return -1;
    if (r->findings->count > 0)
        return 0; /* without its names nothing else can be judged */
    if (make_map(r, count[0], count[1], count[2]) != 0)
        return -1;
    read_map(r)->populations = nt_json_items(r, "populations");
    if (read_map(r)->populations > NT_POPULATIONS_MAX)
        read_map(r)->populations = NT_POPULATIONS_MAX;
    read_text(r)->hosts = (uint32_t)count[0];
    nt_json_read(r, nt_map_fields, NULL, 0);
    return r->no_memory ? -1 : 0;
}

int nt_map_inspect(const char *file, const char *text, size_t bytes, struct nt_findings *findings,
                   struct nt_map **out, struct nt_err *err)
{
    static const char samples[] = "nettopo-samples/";
    struct text t = {0};
    struct json_object *root = NULL;
    if (bytes >= sizeof samples && memcmp(text, samples, sizeof samples - 1) == 0)
        return nt_err_set(err, NT_ERR_INPUT,
                          "%s:1: this is a samples file, not a map. Run \"nettopo solve\" first.",
                          file);
    if (bytes > 0 && strchr("{[", text[0]) == NULL &&
        nt_import_is_matrix(text, bytes < NT_CSV_HEAD_MAX ? bytes : NT_CSV_HEAD_MAX))
        return nt_err_set(err, NT_ERR_INPUT,
                          "%s:1: this is a matrix or the output of a benchmark, not a map. Run "
                          "\"nettopo solve\" with --latency or --bandwidth first.",
                          file);
    if (nt_json_parse(file, text, bytes, &root, err) != 0)
        return -1;
    struct nt_json_reader r = {.findings = findings, .err = err, .base[TEXT] = &t, .at.from = root};
    int rc = read_all(&r);
    nt_names_fini(&t.names);
    free(t.members);
    nt_json_free(root);
    if (rc == 0 && findings->count == 0) {
        *out = read_map(&r);
        return 0;
    }
    nt_map_destroy(read_map(&r));
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

int nt_map_write(const struct nt_map *map, bool compact, char **text, size_t *bytes,
                 struct nt_err *err)
{
    struct text t = {.schema = true, .hosts = (uint32_t)map->model->hosts};
    struct nt_json_writer w = {.compact = compact,
                               .base = {[MAP] = (void *)map, [MODEL] = map->model, [TEXT] = &t}};
    int rc = nt_attachment_init(&t.places, map->model, err);
    if (rc != 0)
        return -1;
    rc = nt_support_create(map->model, &t.support, err);
    if (rc == 0)
        rc = count_members(&t, map, err);
    if (rc == 0) {
        nt_json_begin(&w, NULL, '{', true);
        nt_json_put_fields(&w, nt_map_fields);
        nt_json_end(&w, '}');
        if (!compact)
            nt_strbuf_puts(&w.buf, "\n");
        rc = nt_strbuf_finish(&w.buf, text, bytes, err);
    }
    nt_attachment_fini(&t.places);
    free(t.support);
    free(t.members);
    return rc;
}
