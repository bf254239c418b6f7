/* SPDX-License-Identifier: Apache-2.0 */
#include "faults_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

static const char *const kinds[NT_FAULT_KINDS] = {[NT_FAULT_LINK_SLOW] = "link-slow",
                                                  [NT_FAULT_LINK_NARROW] = "link-narrow",
                                                  [NT_FAULT_LINK_LOSSY] = "link-lossy",
                                                  [NT_FAULT_HOST_SLOW] = "host-slow",
                                                  [NT_FAULT_PATH_SHARED] = "path-shared"};
static const char *const units[NT_FAULT_KINDS] = {[NT_FAULT_LINK_SLOW] = "us",
                                                  [NT_FAULT_LINK_NARROW] = "MB/s",
                                                  [NT_FAULT_LINK_LOSSY] = "%",
                                                  [NT_FAULT_HOST_SLOW] = "us",
                                                  [NT_FAULT_PATH_SHARED] = "MB/s"};
static const char *const ways[NT_FAULT_WAYS] = {
    [NT_FAULT_BOTH] = "both", [NT_FAULT_UP] = "up", [NT_FAULT_DOWN] = "down"};

const char *nt_fault_kind_name(enum nt_fault_kind kind)
{
    return kinds[kind];
}

const char *nt_fault_unit(const struct nt_fault *f)
{
    return units[f->by_rate ? NT_FAULT_LINK_NARROW : f->part.kind];
}

const char *nt_fault_way_name(enum nt_fault_way way)
{
    return ways[way];
}

/* ---- JSON ------------------------------------------------------------------------------------*/

static void put_part(struct nt_json_writer *w, const struct nt_map *map, const char *name,
                     const struct nt_fault_part *part)
{
    nt_json_begin(w, name, '{', false);
    nt_json_put_text(w, "a", nt_map_vertex_name(map, part->a));
    if (part->b != part->a)
        nt_json_put_text(w, "b", nt_map_vertex_name(map, part->b));
    nt_json_end(w, '}');
}

static void put_other(struct nt_json_writer *w, const struct nt_map *map,
                      const struct nt_fault_part *part)
{
    nt_json_begin(w, NULL, '{', false);
    nt_json_put_text(w, "kind", kinds[part->kind]);
    put_part(w, map, "part", part);
    nt_json_end(w, '}');
}

void nt_faults_write(struct nt_json_writer *w, const struct nt_map *map)
{
    if (!map->judged)
        return;
    nt_json_begin(w, "findings", '[', true);
    for (size_t k = 0; k < map->faults; k++) {
        const struct nt_fault *f = &map->fault[k];
        nt_json_begin(w, NULL, '{', false);
        nt_json_put_text(w, "kind", kinds[f->part.kind]);
        put_part(w, map, "part", &f->part);
        nt_json_begin(w, "alternatives", '[', false);
        for (uint32_t o = 0; o < f->others; o++)
            put_other(w, map, &f->other[o]);
        nt_json_end(w, ']');
        nt_json_put_number(w, "found", f->found);
        nt_json_put_number(w, "expected", f->expected);
        nt_json_put_text(w, "unit", nt_fault_unit(f));
        nt_json_put_text(w, "way", ways[f->way]);
        if (f->rail[0] != '\0')
            nt_json_put_text(w, "rail", f->rail);
        nt_json_put_number(w, "confidence", f->confidence);
        nt_json_end(w, '}');
    }
    nt_json_end(w, ']');
}

/* The index of a word; noted, and count, when it is none of them. */
static size_t read_word(struct nt_json_reader *r, struct json_object *from, const char *key,
                        const char *const *word, size_t count)
{
    const char *text = nt_json_string(r, from, key, NT_JSON_MUST);
    size_t k = 0;
    while (text != NULL && k < count && strcmp(text, word[k]) != 0)
        k++;
    if (text != NULL && k == count)
        nt_json_wrong(r, key, "expected one of %s to %s, found \"%.64s\"", word[0], word[count - 1],
                      text);
    return text == NULL ? count : k;
}

static void read_end(struct nt_json_reader *r, const struct nt_names *names, const char *key,
                     const char *text, uint32_t *vertex)
{
    uint32_t found = nt_names_find(names, text, strlen(text));
    if (found == NT_NAMES_NONE)
        nt_json_wrong(r, key, "expected the name of a node or switch, found \"%.64s\"", text);
    else
        *vertex = found;
}

/* Of an object with a kind and a part. */
static void read_part(struct nt_json_reader *r, struct json_object *from,
                      const struct nt_names *names, struct nt_fault_part *out)
{
    char where[NT_JSON_WHERE_BYTES];
    memcpy(where, r->where, sizeof where);
    size_t kind = read_word(r, from, "kind", kinds, NT_FAULT_KINDS);
    out->kind = kind < NT_FAULT_KINDS ? (enum nt_fault_kind)kind : NT_FAULT_LINK_SLOW;
    struct json_object *part = nt_json_enter_object(r, from, "part");
    if (part == NULL)
        nt_json_wrong(r, "part", "expected an object with a, found none");
    const char *a = nt_json_string(r, part, "a", NT_JSON_MUST);
    const char *b = nt_json_string(r, part, "b", NT_JSON_MAY);
    if (a != NULL)
        read_end(r, names, "a", a, &out->a);
    out->b = out->a;
    if (b != NULL)
        read_end(r, names, "b", b, &out->b);
    memcpy(r->where, where, sizeof where);
}

static void read_others(struct nt_json_reader *r, struct json_object *entry,
                        const struct nt_names *names, struct nt_fault *f)
{
    char where[NT_JSON_WHERE_BYTES];
    struct json_object *list = nt_json_array(r, entry, "alternatives", NT_JSON_MAY);
    if (nt_json_length(list) > NT_FAULT_OTHERS_MAX) {
        nt_json_wrong(r, "alternatives", "expected at most %d, found %zu", (int)NT_FAULT_OTHERS_MAX,
                      nt_json_length(list));
        return;
    }
    memcpy(where, r->where, sizeof where);
    for (; f->others < nt_json_length(list); f->others++) {
        struct json_object *item = nt_json_enter(r, "alternatives", list, f->others);
        read_part(r, item, names, &f->other[f->others]);
        memcpy(r->where, where, sizeof where);
    }
}

static void read_fault(struct nt_json_reader *r, struct json_object *entry,
                       const struct nt_names *names, struct nt_fault *f)
{
    read_part(r, entry, names, &f->part);
    read_others(r, entry, names, f);
    nt_json_number(r, entry, "found", &f->found);
    nt_json_number(r, entry, "expected", &f->expected);
    nt_json_number_between(r, entry, "confidence", 0, 1, &f->confidence);
    size_t way = read_word(r, entry, "way", ways, NT_FAULT_WAYS);
    f->way = way < NT_FAULT_WAYS ? (enum nt_fault_way)way : NT_FAULT_BOTH;
    const char *unit = nt_json_string(r, entry, "unit", NT_JSON_MAY);
    f->by_rate = f->part.kind == NT_FAULT_HOST_SLOW && unit != NULL &&
                 strcmp(unit, units[NT_FAULT_LINK_NARROW]) == 0;
    const char *rail = nt_json_string(r, entry, "rail", NT_JSON_MAY);
    if (rail != NULL && strlen(rail) >= sizeof f->rail)
        nt_json_wrong(r, "rail", "expected at most %zu characters, found \"%.64s\"",
                      sizeof f->rail - 1, rail);
    else if (rail != NULL)
        memcpy(f->rail, rail, strlen(rail) + 1);
}

void nt_faults_read(struct nt_json_reader *r, struct json_object *root,
                    const struct nt_names *names, struct nt_map *map)
{
    struct json_object *list = nt_json_array(r, root, "findings", NT_JSON_MAY);
    size_t count = nt_json_length(list);
    map->judged = list != NULL;
    if (count > NT_FAULTS_MAX) {
        nt_json_wrong(r, "findings", "expected at most %d, found %zu", (int)NT_FAULTS_MAX, count);
        return;
    }
    map->fault = calloc(count + 1, sizeof *map->fault);
    if (map->fault == NULL) {
        nt_json_lack_memory(r);
        return;
    }
    for (; map->faults < count; map->faults++)
        read_fault(r, nt_json_enter(r, "findings", list, map->faults), names,
                   &map->fault[map->faults]);
    nt_json_leave(r);
}

/* ---- for people and scripts ------------------------------------------------------------------*/

void nt_faults_put_line(struct nt_strbuf *to, const struct nt_map *map, size_t bytes_max)
{
    for (size_t k = 0; k < map->faults; k++) {
        const struct nt_fault *f = &map->fault[k];
        struct nt_strbuf one = {0};
        bool link = f->part.a != f->part.b;
        char found[NT_NUMBER_BYTES], expected[NT_NUMBER_BYTES];
        nt_number_plain(f->found, 3, found);
        nt_number_plain(f->expected, 3, expected);
        nt_strbuf_print(&one, "%s%s %s%s%s %s/%s %s %.2f", k > 0 ? ";" : "", kinds[f->part.kind],
                        nt_map_vertex_name(map, f->part.a), link ? " " : "",
                        link ? nt_map_vertex_name(map, f->part.b) : "", found, expected,
                        nt_fault_unit(f), f->confidence);
        bool fits = !one.failed && to->used + one.used <= bytes_max;
        if (fits)
            nt_strbuf_put(to, one.text, one.used);
        to->failed = to->failed || one.failed;
        free(one.text);
        if (!fits)
            return;
    }
}

static void put_part_words(struct nt_strbuf *to, const struct nt_map *map,
                           const struct nt_fault_part *part)
{
    if (part->kind == NT_FAULT_PATH_SHARED)
        nt_strbuf_print(to, "the links of %s and %s", nt_map_vertex_name(map, part->a),
                        nt_map_vertex_name(map, part->b));
    else if (part->a == part->b)
        nt_strbuf_print(to, "host %s", nt_map_vertex_name(map, part->a));
    else
        nt_strbuf_print(to, "link %s - %s", nt_map_vertex_name(map, part->a),
                        nt_map_vertex_name(map, part->b));
}

void nt_fault_put_sentence(struct nt_strbuf *to, const struct nt_map *map, const struct nt_fault *f)
{
    static const char *const worse[NT_FAULT_KINDS] = {
        [NT_FAULT_LINK_SLOW] = "is slower than its like",
        [NT_FAULT_LINK_NARROW] = "is narrower than its like",
        [NT_FAULT_LINK_LOSSY] = "loses messages",
        [NT_FAULT_HOST_SLOW] = "is slower than its like",
        [NT_FAULT_PATH_SHARED] = "share a path"};
    static const char *const one_way[NT_FAULT_WAYS] = {
        [NT_FAULT_BOTH] = "", [NT_FAULT_UP] = " upwards", [NT_FAULT_DOWN] = " downwards"};
    char found[NT_NUMBER_BYTES], expected[NT_NUMBER_BYTES];
    nt_number_plain(f->found, 4, found);
    nt_number_plain(f->expected, 4, expected);
    put_part_words(to, map, &f->part);
    nt_strbuf_print(to, " %s%s%s%s: %s %s, expected %s (%.0f %% sure)", worse[f->part.kind],
                    one_way[f->way], f->rail[0] != '\0' ? " on rail " : "", f->rail, found,
                    nt_fault_unit(f), expected, 100 * f->confidence);
    for (uint32_t k = 0; k < f->others; k++) {
        nt_strbuf_puts(to, k == 0 ? "; the cause may be " : " or ");
        put_part_words(to, map, &f->other[k]);
    }
}

void nt_populations_put(struct nt_strbuf *to, const struct nt_map *map)
{
    const double gbits = 8e-3; /* of a MB/s */
    char text[NT_NUMBER_BYTES];
    bool rates = false;
    for (size_t k = 1; k < map->populations; k++)
        rates =
            rates ||
            fabs(map->population[k].bandwidth_MBps / map->population[0].bandwidth_MBps - 1) > 0.05;
    for (size_t k = 0; k < map->populations; k++) {
        const struct nt_population *p = &map->population[k];
        nt_number_plain(rates ? gbits * p->bandwidth_MBps : p->latency_us, 3, text);
        nt_strbuf_print(to, "%s%u host%s at %s %s", k == 0 ? "" : ", ", p->hosts,
                        p->hosts == 1 ? "" : "s", text, rates ? "Gbit/s" : "us");
    }
}
