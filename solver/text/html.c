/* SPDX-License-Identifier: Apache-2.0 */
#include "html.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "faults_text.h"
#include "graph.h"
#include "layout.h"
#include "number.h"
#include "strbuf.h"
#include "switch_support.h"

/* The page, with marks for its style, its data and its script, and the files that go there. */
#define INCLUDE(file) ".incbin \"solver/text/" file "\"\n"
#define EMBED(name, files)                                                                         \
    __asm__(".section .rodata\n"                                                                   \
            ".local " #name ", " #name "_bytes\n" #name ":\n" files "1:\n"                         \
            ".balign 8\n" #name "_bytes:\n"                                                        \
            ".quad 1b - " #name "\n"                                                               \
            ".previous\n");                                                                        \
    extern const char(name)[];                                                                     \
    extern const uint64_t name##_bytes
EMBED(nt_page, INCLUDE("page.html"));
EMBED(nt_page_css, INCLUDE("page.css"));
EMBED(nt_page_script, INCLUDE("page_net.js") INCLUDE("page_draw.js") INCLUDE("page_view.js"));

/* Largest number of vertices for which a tree is also laid out by latencies, and any network in
 * space. */
enum { BY_LATENCY_MAX = 300 };

/* Writes a JSON string that is safe inside a script element. */
static void put_string(struct nt_strbuf *d, const char *text)
{
    nt_strbuf_puts(d, "\"");
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&')
            nt_strbuf_print(d, "\\u%04x", c);
        else
            nt_strbuf_put(d, text, 1);
    }
    nt_strbuf_puts(d, "\"");
}

static void put_key(struct nt_strbuf *d, const char *key, const char *text)
{
    nt_strbuf_print(d, ",\"%s\":", key);
    put_string(d, text);
}

/* Appends the written text and frees it. */
static void put_written(struct nt_strbuf *d, const char *key, struct nt_strbuf *written)
{
    char *text;
    struct nt_err err;
    if (nt_strbuf_finish(written, &text, NULL, &err) != 0) {
        d->failed = true;
        return;
    }
    put_key(d, key, text);
    free(text);
}

static void put_figure(struct nt_strbuf *d, const char *key, double value)
{
    if (isfinite(value))
        nt_strbuf_print(d, ",\"%s\":%.6g", key, value);
}

/* Writes a value in the form in which the page prints it. */
static void put_value(struct nt_strbuf *d, const char *key, const char *text)
{
    if (text[0] != '\0')
        put_key(d, key, text);
}

static void put_plain(struct nt_strbuf *d, const char *key, double value)
{
    char text[NT_NUMBER_BYTES];
    if (!isfinite(value))
        return;
    nt_number_plain(value, NT_FIGURE_DIGITS, text);
    put_key(d, key, text);
}

/* Writes a probability in percent and its opacity. */
static void put_probability(struct nt_strbuf *d, double probability)
{
    double opacity = nt_picture_opacity(probability);
    if (isfinite(probability))
        nt_strbuf_print(d, ",\"p\":\"%u\"", nt_percent(probability));
    put_figure(d, "opacity", opacity < 1 ? opacity : (double)NAN);
}

static void put_place(struct nt_strbuf *d, const char *key, const struct nt_layout *l, size_t v)
{
    if (l == NULL)
        return;
    nt_strbuf_print(d, ",\"%s\":[", key);
    for (int k = 0; k < l->dimensions; k++)
        nt_strbuf_print(d, "%s%.4f", k == 0 ? "" : ",",
                        l->at[v * (size_t)l->dimensions + (size_t)k]);
    nt_strbuf_puts(d, "]");
}

/* One of the picture's maps. */
struct side {
    const struct nt_picture *picture;
    const struct nt_map *map;
    struct nt_look look;
    struct nt_layout *flat, *solid; /* NULL: no such layout */
};

static void put_node(struct nt_strbuf *d, const struct side *s, size_t v)
{
    const struct nt_model *m = s->map->model;
    char ratio[NT_VALUE_BYTES];
    nt_strbuf_puts(d, v == 0 ? "{\"name\":" : ",\n{\"name\":");
    put_string(d, nt_map_vertex_name(s->map, (uint32_t)v));
    if (v < m->hosts) {
        if (m->missing[v])
            nt_strbuf_puts(d, ",\"missing\":true");
        if (m->host_suspect[v])
            nt_strbuf_puts(d, ",\"suspect\":true");
        put_plain(d, "over", m->overhead_us[v] > 0 ? m->overhead_us[v] : (double)NAN);
    } else {
        nt_strbuf_print(d, ",\"switch\":true,\"tier\":%u", m->tier[v - m->hosts]);
        put_probability(d, s->look.support[v - m->hosts]);
        nt_ratio_text(m->oversubscription[v - m->hosts], ratio);
        put_value(d, "ratio", ratio);
    }
    put_place(d, "flat", s->flat, v);
    put_place(d, "solid", s->solid, v);
    nt_strbuf_puts(d, "}");
}

static void put_link(struct nt_strbuf *d, const struct side *s, size_t k)
{
    const struct nt_link *l = &s->map->model->link[k];
    char text[NT_VALUE_BYTES];
    double end[2];
    nt_strbuf_print(d, "%s{\"a\":%u,\"b\":%u", k == 0 ? "" : ",\n", l->a, l->b);
    nt_latency_text(l->latency_us, text);
    put_value(d, "us", text);
    nt_error_text(l->latency_se_us, text);
    put_value(d, "se", text);
    nt_rate_text(l, NT_WAY_FORTH, true, text);
    put_value(d, "MBps", text);
    nt_rate_text(l, NT_WAY_BACK, true, text);
    put_value(d, "backMBps", text);
    put_probability(d, l->probability);
    put_figure(d, "px", nt_number_round(nt_look_thickness(&s->look, k), 2));
    if (s->flat != NULL && nt_layout_short_end(s->flat, k, end))
        nt_strbuf_print(d, ",\"end\":[%.4f,%.4f]", end[0], end[1]);
    if (s->map == s->picture->map && s->picture->load != NULL)
        put_plain(d, "load", s->picture->load[k]);
    nt_strbuf_print(d, "%s%s}", l->simplex ? ",\"simplex\":true" : "",
                    l->suspect ? ",\"suspect\":true" : "");
}

static void put_findings(struct nt_strbuf *d, const struct nt_map *map)
{
    nt_strbuf_puts(d, ",\n\"findings\":[");
    for (size_t k = 0; k < map->faults; k++) {
        struct nt_strbuf words = {0};
        nt_fault_put_sentence(&words, map, &map->fault[k]);
        nt_strbuf_print(d, "%s{\"a\":%u,\"b\":%u", k == 0 ? "" : ",\n", map->fault[k].part.a,
                        map->fault[k].part.b);
        put_written(d, "text", &words);
        nt_strbuf_puts(d, "}");
    }
    nt_strbuf_puts(d, "]");
}

/* Writes the first warnings: a map may have a thousand. */
static void put_warnings(struct nt_strbuf *d, const struct nt_map *map)
{
    enum { MOST = 50 };
    nt_strbuf_puts(d, ",\n\"warnings\":[");
    for (size_t k = 0; k < map->warnings && k < MOST; k++) {
        nt_strbuf_puts(d, k == 0 ? "" : ",\n");
        put_string(d, map->warning[k]);
    }
    nt_strbuf_puts(d, "]");
    nt_strbuf_print(d, ",\"moreWarnings\":%zu", map->warnings > MOST ? map->warnings - MOST : 0);
}

static void put_differences(struct nt_strbuf *d, const struct side *s)
{
    bool is_map = s->map == s->picture->map, first = true;
    nt_strbuf_puts(d, ",\n\"differences\":[");
    for (size_t k = 0; k < s->picture->remarks; k++) {
        const struct nt_remark *r = &s->picture->remark[k];
        const uint32_t *at = is_map ? r->in_map : r->in_reference;
        if (!is_map && at[0] == NT_NO_VERTEX)
            continue;
        nt_strbuf_print(d, "%s{\"k\":%zu", first ? "" : ",\n", k);
        if (at[0] != NT_NO_VERTEX)
            nt_strbuf_print(d, ",\"a\":%u,\"b\":%u", at[0], at[1]);
        put_key(d, "text", r->text);
        nt_strbuf_puts(d, "}");
        first = false;
    }
    nt_strbuf_puts(d, "]");
}

/* Writes the kind of network, the measuring job, the differences of hosts' links, and the gain of
 * the hint. */
static void put_job(struct nt_strbuf *d, const struct nt_map *map)
{
    struct nt_strbuf what = {0}, job = {0}, populations = {0}, hint = {0};
    char gain[NT_NUMBER_BYTES];
    nt_picture_put_what(&what, map->model);
    put_written(d, "what", &what);
    nt_picture_put_job(&job, map);
    put_written(d, "job", &job);
    if (map->populations > 0) {
        nt_populations_put(&populations, map);
        put_written(d, "populations", &populations);
    }
    if (map->placement != NULL) {
        nt_number_plain(map->placement->gain, NT_FIGURE_DIGITS, gain);
        nt_strbuf_print(&hint, "hint for %s: gain %s", map->placement->pattern, gain);
        put_written(d, "hint", &hint);
        put_key(d, "pattern", map->placement->pattern);
    }
}

/* Computes the layouts. A tree needs none: the page places it itself, which is easier to read. */
static int lay_out(struct side *s, struct nt_err *err)
{
    const struct nt_model *m = s->map->model;
    size_t vertices = m->hosts + m->switches;
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *up = nt_arena_array(&memory, vertices, sizeof *up);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    bool tree = m->switches > 0 && nt_links_are_forest(m->link, m->links, up, vertices);
    if (tree && vertices > BY_LATENCY_MAX)
        return 0;
    if (nt_layout_create(m, 2, NT_PICTURE_SEED, &s->flat, err) != 0)
        return -1;
    s->look.thin = s->flat->unit > 0;
    return vertices > BY_LATENCY_MAX ? 0 : nt_layout_create(m, 3, NT_PICTURE_SEED, &s->solid, err);
}

/* Returns the latency of a host's link while a change lasts; NaN: as in the map. */
static double changed_us(const struct nt_event *e, const struct nt_model *m)
{
    for (size_t k = 0; e->added_us > 0 && k < m->links; k++)
        if (m->link[k].a == e->at[0])
            return m->link[k].latency_us + e->added_us;
    return NAN;
}

static void put_history(struct nt_strbuf *d, const struct nt_history *h, const struct nt_model *m)
{
    char us[NT_VALUE_BYTES];
    static const char *const kinds[] = {"better", "worse", "moved"};
    nt_strbuf_print(d, ",\n\"history\":{\"first\":\"%s\",\"last\":\"%s\",\"events\":[", h->first,
                    h->last);
    for (size_t k = 0; k < h->events; k++) {
        const struct nt_event *e = &h->event[k];
        nt_strbuf_print(d, "%s{\"kind\":\"%s\",\"day\":\"%s\",\"series\":%u", k == 0 ? "" : ",\n",
                        kinds[e->kind], e->day, e->series);
        if (e->at[0] != NT_NO_VERTEX)
            nt_strbuf_print(d, ",\"a\":%u,\"b\":%u", e->at[0], e->at[1]);
        if (e->was != NT_NO_VERTEX)
            nt_strbuf_print(d, ",\"was\":%u", e->was);
        nt_latency_text(changed_us(e, m), us);
        put_value(d, "us", us);
        put_key(d, "text", e->text);
        nt_strbuf_puts(d, "}");
    }
    nt_strbuf_puts(d, "],\"seen\":[");
    for (size_t v = 0; v < m->hosts + m->switches; v++)
        nt_strbuf_print(d, "%s\"%s\"", v == 0 ? "" : ",", h->seen[v]);
    nt_strbuf_puts(d, "]}");
}

static void put_map(struct nt_strbuf *d, const struct side *s)
{
    const struct nt_picture *picture = s->picture;
    const struct nt_model *m = s->map->model;
    bool is_map = s->map == picture->map;
    nt_strbuf_puts(d, is_map ? "{\"title\":" : ",\n{\"title\":");
    put_string(d, picture->title[is_map ? 0 : 1]);
    put_job(d, s->map);
    put_key(d, "summary", picture->summary == NULL ? "" : picture->summary);
    put_key(d, "loadUnit", picture->load_is_time ? "us" : "bytes");
    nt_strbuf_print(d, ",\"judged\":%s", s->map->judged ? "true" : "false");
    if (is_map && picture->history != NULL)
        put_history(d, picture->history, m);
    put_figure(d, "grid", s->look.thin ? s->flat->unit : (double)NAN);
    put_findings(d, s->map);
    put_warnings(d, s->map);
    put_differences(d, s);
    nt_strbuf_puts(d, ",\n\"nodes\":[");
    for (size_t v = 0; v < m->hosts + m->switches; v++)
        put_node(d, s, v);
    nt_strbuf_puts(d, "],\n\"links\":[");
    for (size_t k = 0; k < m->links; k++)
        put_link(d, s, k);
    nt_strbuf_puts(d, "]}");
}

/* Values of links by which they are coloured. */
enum coloured { LATENCY, BANDWIDTH, LOAD, PROBABILITY, COLOURED };

static double coloured_by(const struct side *s, enum coloured by, size_t k)
{
    const struct nt_link *l = &s->map->model->link[k];
    switch (by) {
    case LATENCY:
        return l->latency_us;
    case BANDWIDTH:
        return nt_picture_rate(l);
    case LOAD:
        return s->map == s->picture->map && s->picture->load != NULL ? s->picture->load[k]
                                                                     : (double)NAN;
    default:
        return nt_percent(l->probability);
    }
}

/* Writes the ends of the colour scale: at least a factor of two, so that noise of some per cent has
 * no colour. Load starts at 0, probability ends at 100. */
static void put_range(struct nt_strbuf *d, const struct side *side, size_t maps, enum coloured by)
{
    static const char *const names[COLOURED] = {"latency", "bandwidth", "load", "probability"};
    double low = INFINITY, high = -INFINITY;
    for (size_t s = 0; s < maps; s++)
        for (size_t k = 0; k < side[s].map->model->links; k++) {
            double value = coloured_by(&side[s], by, k);
            if (isfinite(value)) {
                low = fmin(low, value);
                high = fmax(high, value);
            }
        }
    const struct nt_history *history = by == LATENCY ? side[0].picture->history : NULL;
    for (size_t k = 0; history != NULL && k < history->events; k++) /* fmax ignores NaN */
        high = fmax(high, changed_us(&history->event[k], side[0].map->model));
    if (by == PROBABILITY) {
        low = fmin(low, 100 * NT_SUPPORT_REPORTED);
        high = 100;
    }
    low = by == LOAD ? 0 : low;
    nt_strbuf_print(d, ",\n\"%s\":{\"known\":%s", names[by], isfinite(high) ? "true" : "false");
    put_plain(d, "low", low);
    put_plain(d, "high", by == PROBABILITY ? high : fmax(high, 2 * low));
    nt_strbuf_puts(d, "}");
}

static void put_look(struct nt_strbuf *d, const struct side *side, size_t maps)
{
    struct nt_stroke stroke[NT_STROKES_MAX];
    size_t strokes = nt_look_strokes(&side[0].look, stroke);
    nt_strbuf_print(d,
                    "{\"look\":{\"pitch\":%d,\"lone\":%d,\"gap\":%d,\"sign\":%d,\"name\":%d,"
                    "\"small\":%d,\"bad\":%d,\"strokes\":[",
                    NT_PICTURE_PITCH, NT_PICTURE_LONE, NT_PICTURE_GAP, NT_PICTURE_SIGN,
                    NT_PICTURE_NAME, NT_PICTURE_SMALL, NT_BAD_PX);
    for (size_t k = 0; k < strokes; k++)
        nt_strbuf_print(d, "%s{\"px\":%.1f,\"text\":\"%s\"}", k == 0 ? "" : ",", stroke[k].px,
                        stroke[k].text);
    nt_strbuf_puts(d, "]");
    for (int by = 0; by < COLOURED; by++)
        put_range(d, side, maps, (enum coloured)by);
    nt_strbuf_puts(d, "}");
}

/* Writes the maps and their appearance: the lines of both are in proportion to the widest link of
 * both. */
static int put_data(struct nt_strbuf *d, const struct nt_picture *picture, struct nt_err *err)
{
    struct side side[2] = {{.picture = picture, .map = picture->map},
                           {.picture = picture, .map = picture->reference}};
    struct nt_look *const look[2] = {&side[0].look, &side[1].look};
    size_t maps = picture->reference != NULL ? 2 : 1;
    int rc = 0;
    for (size_t k = 0; rc == 0 && k < maps; k++) {
        rc = nt_look_init(look[k], picture, side[k].map, err);
        if (rc == 0)
            rc = lay_out(&side[k], err);
    }
    if (rc == 0 && maps == 2) {
        look[0]->widest_MBps = look[1]->widest_MBps =
            fmax(look[0]->widest_MBps, look[1]->widest_MBps);
        look[0]->narrowest_MBps = look[1]->narrowest_MBps =
            fmin(look[0]->narrowest_MBps, look[1]->narrowest_MBps);
    }
    put_look(d, side, maps);
    nt_strbuf_puts(d, ",\n\"maps\":[");
    for (size_t k = 0; rc == 0 && k < maps; k++)
        put_map(d, &side[k]);
    nt_strbuf_puts(d, "]}");
    for (size_t k = 0; k < maps; k++) {
        nt_layout_destroy(side[k].flat);
        nt_layout_destroy(side[k].solid);
        nt_look_fini(look[k]);
    }
    return rc;
}

/* Appends the page up to the mark. Returns the rest of the page; NULL without the mark. */
static const char *put_until(struct nt_strbuf *d, const char *from, const char *mark)
{
    const char *end = nt_page + nt_page_bytes;
    const char *at = memmem(from, (size_t)(end - from), mark, strlen(mark));
    if (at == NULL)
        return NULL;
    nt_strbuf_put(d, from, (size_t)(at - from));
    return at + strlen(mark);
}

static int put_page(struct nt_strbuf *d, const struct nt_picture *picture, struct nt_err *err)
{
    const char *at = put_until(d, nt_page, "@STYLE@");
    nt_strbuf_puts(d, ":root{" NT_PICTURE_LIGHT "}\n:root[data-dark]{" NT_PICTURE_DARK "}\n");
    nt_strbuf_put(d, nt_page_css, (size_t)nt_page_css_bytes);
    at = at == NULL ? NULL : put_until(d, at, "@DATA@");
    if (put_data(d, picture, err) != 0)
        return -1;
    at = at == NULL ? NULL : put_until(d, at, "@SCRIPT@");
    if (at == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "the template of the page is incomplete");
    nt_strbuf_put(d, nt_page_script, (size_t)nt_page_script_bytes);
    nt_strbuf_put(d, at, (size_t)(nt_page + nt_page_bytes - at));
    return 0;
}

int nt_html_write(const struct nt_picture *picture, char **text, size_t *bytes, struct nt_err *err)
{
    struct nt_strbuf d = {0};
    if (put_page(&d, picture, err) == 0)
        return nt_strbuf_finish(&d, text, bytes, err);
    free(d.text);
    return -1;
}
