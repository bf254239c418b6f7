/* SPDX-License-Identifier: Apache-2.0 */
#include "picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "switch_support.h"

static const double THICKEST = 10, ALL_EQUAL = 4, THINNEST = 1.6, UNKNOWN = 2, GRID = 1;
static const double PALEST = 0.45, OVERSUBSCRIBED = 1.1;

double nt_picture_opacity(double probability)
{
    return probability < NT_SUPPORT_USED ? fmax(PALEST, probability * probability * probability)
                                         : 1;
}

/* ---- values ----------------------------------------------------------------------------------*/

double nt_picture_rate(const struct nt_link *l)
{
    return fmin(l->bandwidth_MBps, l->bandwidth_back_MBps); /* fmin ignores NaN */
}

void nt_latency_text(double us, char text[NT_VALUE_BYTES])
{
    text[0] = '\0';
    if (isfinite(us))
        nt_number_figure(us, NT_FIGURE_DIGITS, text);
}

void nt_error_text(double us, char text[NT_VALUE_BYTES])
{
    enum { DIGITS = 2 };
    text[0] = '\0';
    if (isfinite(us))
        nt_number_figure(us, DIGITS, text);
}

void nt_rate_text(const struct nt_link *l, enum nt_link_way way, bool unicode,
                  char text[NT_VALUE_BYTES])
{
    bool forth = way == NT_WAY_FORTH ||
                 (way == NT_WAY_NARROWER && !(l->bandwidth_back_MBps < l->bandwidth_MBps) &&
                  isfinite(l->bandwidth_MBps));
    bool bound = l->at_least || (forth ? l->forth_at_least : l->back_at_least);
    double value = forth ? l->bandwidth_MBps : l->bandwidth_back_MBps;
    char number[NT_NUMBER_BYTES];
    text[0] = '\0';
    if (!isfinite(value))
        return;
    nt_number_figure(value, NT_FIGURE_DIGITS, number);
    snprintf(text, NT_VALUE_BYTES, "%s%s",
             l->effective ? "~"
             : !bound     ? ""
             : unicode    ? "\xe2\x89\xa5"
                          : ">=",
             number);
}

void nt_ratio_text(double oversubscription, char text[NT_VALUE_BYTES])
{
    char number[NT_NUMBER_BYTES];
    text[0] = '\0';
    if (!(oversubscription > OVERSUBSCRIBED))
        return;
    nt_number_plain(oversubscription, NT_FIGURE_DIGITS, number);
    snprintf(text, NT_VALUE_BYTES, "%s:1", number);
}

unsigned nt_percent(double probability)
{
    return probability > 0 ? (unsigned)floor(100 * fmin(probability, 1)) : 0;
}

/* ---- thickness -------------------------------------------------------------------------------*/

static double thickest(const struct nt_look *look)
{
    if (!(look->narrowest_MBps > 0.5 * look->widest_MBps))
        return THICKEST;
    return look->crossed ? THINNEST : ALL_EQUAL;
}

/* A planar graph of n vertices has at most 3 n - 6 links. Hosts on switches do not count: they can
 * be beside their switch. */
static bool must_cross(const struct nt_model *m)
{
    size_t vertices = m->switches > 0 ? m->switches : m->hosts, links = 0;
    for (size_t k = 0; k < m->links; k++)
        links += m->switches == 0 || (m->link[k].a >= m->hosts && m->link[k].b >= m->hosts);
    return vertices > 2 && links > 3 * vertices - 6;
}

double nt_look_thickness(const struct nt_look *look, size_t link)
{
    double rate = nt_picture_rate(&look->model->link[link]), px = UNKNOWN;
    if (look->thin)
        px = GRID;
    else if (isfinite(rate))
        px = fmax(THINNEST, thickest(look) * rate / look->widest_MBps);
    return look->link_bad[link] ? fmax(NT_BAD_PX, px) : px;
}

/* Lists the bandwidths for the legend: 10, 100 and 400 Gbit/s, in slower networks the power of ten
 * below the widest link. Among rates with the minimum thickness only the largest is listed. */
size_t nt_look_strokes(const struct nt_look *look, struct nt_stroke stroke[NT_STROKES_MAX])
{
    const double MBps = 125,
                 near = 1.1; /* MB/s per Gbit/s; headers take a share of a link's rate */
    double widest = look->widest_MBps / MBps;
    double common[NT_STROKES_MAX] = {400, 100, 10};
    size_t n = 0;
    if (look->thin || !(widest > 0))
        return 0;
    if (widest * near < 10)
        common[2] = pow(10, floor(log10(widest * near)));
    for (size_t k = 0; k < NT_STROKES_MAX; k++) {
        char rate[NT_NUMBER_BYTES], bytes[NT_NUMBER_BYTES];
        double px = thickest(look) * common[k] / widest;
        if (common[k] > near * widest || (n > 0 && px < THINNEST))
            continue;
        nt_number_plain(common[k], NT_FIGURE_DIGITS, rate);
        nt_number_plain(common[k] * MBps, NT_FIGURE_DIGITS, bytes);
        stroke[n].px = fmax(THINNEST, px);
        snprintf(stroke[n].text, sizeof stroke[n].text, "%s Gbit/s (%s MB/s)", rate, bytes);
        n++;
    }
    return n;
}

/* ---- what is bad -----------------------------------------------------------------------------*/

static void mark_bad(struct nt_look *look, const struct nt_model *m, const uint32_t at[2])
{
    if (at[0] == NT_NO_VERTEX)
        return;
    look->vertex_bad[at[0]] |= at[0] == at[1];
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        look->link_bad[k] |= (l->a == at[0] && l->b == at[1]) || (l->a == at[1] && l->b == at[0]);
    }
}

int nt_look_init(struct nt_look *look, const struct nt_picture *picture, const struct nt_map *map,
                 struct nt_err *err)
{
    const struct nt_model *m = map->model;
    *look = (struct nt_look){.model = m, .narrowest_MBps = INFINITY, .crossed = must_cross(m)};
    look->vertex_bad = nt_arena_array(&look->memory, m->hosts + m->switches, sizeof(bool));
    look->link_bad = nt_arena_array(&look->memory, m->links, sizeof(bool));
    if (nt_arena_check(&look->memory, err) != 0 || nt_support_create(m, &look->support, err) != 0)
        return -1;
    for (size_t k = 0; k < m->links; k++)
        look->link_bad[k] = m->link[k].suspect;
    for (size_t h = 0; h < m->hosts; h++)
        look->vertex_bad[h] = m->host_suspect[h];
    for (size_t k = 0; k < map->faults; k++)
        mark_bad(look, m, (uint32_t[]){map->fault[k].part.a, map->fault[k].part.b});
    for (size_t k = 0; k < picture->remarks; k++)
        mark_bad(look, m,
                 map == picture->map ? picture->remark[k].in_map : picture->remark[k].in_reference);
    for (size_t k = 0; k < m->links; k++) {
        double rate = nt_picture_rate(&m->link[k]);
        if (!isfinite(rate))
            continue;
        look->widest_MBps = fmax(look->widest_MBps, rate);
        if (!look->link_bad[k])
            look->narrowest_MBps = fmin(look->narrowest_MBps, rate);
    }
    return 0;
}

void nt_look_fini(struct nt_look *look)
{
    free(look->support);
    nt_arena_fini(&look->memory);
}

/* ---- heads -----------------------------------------------------------------------------------*/

void nt_picture_put_what(struct nt_strbuf *d, const struct nt_model *m)
{
    char number[NT_NUMBER_BYTES];
    nt_strbuf_print(d, "%zu host%s", m->hosts, m->hosts == 1 ? "" : "s");
    if (m->switches > 0)
        nt_strbuf_print(d, ", %zu switch%s", m->switches, m->switches == 1 ? "" : "es");
    nt_strbuf_print(d, ", %zu link%s: %s", m->links, m->links == 1 ? "" : "s",
                    nt_family_name(m->family));
    for (size_t k = 0; k < m->dimensions && k < NT_DIMENSIONS_MAX; k++)
        nt_strbuf_print(d, "%s%u", k == 0 ? " " : "x", m->dimension[k]);
    if (m->twist > 0)
        nt_strbuf_print(d, " twisted by %u", m->twist);
    if (m->switches > 0)
        nt_strbuf_print(d, ", %u tier%s", m->tiers, m->tiers == 1 ? "" : "s");
    if (!isfinite(m->confidence))
        return;
    nt_number_plain(m->confidence, NT_FIGURE_DIGITS, number);
    nt_strbuf_print(d, ", confidence %s", number);
}

/* Appends "2026-01-24T10:00:00Z" as date and time; any other text unchanged. */
static void put_created(struct nt_strbuf *d, const char *created)
{
    size_t bytes = strlen(created);
    if (bytes == strlen("2026-01-24T10:00:00Z") && created[10] == 'T' && created[bytes - 1] == 'Z')
        nt_strbuf_print(d, "%.10s at %.5s UTC", created, created + 11);
    else
        nt_strbuf_puts(d, created);
}

void nt_picture_put_job(struct nt_strbuf *d, const struct nt_map *map)
{
    size_t from = d->used;
    nt_strbuf_print(d, "Status %s", nt_status_name(map->status));
    if (map->job_id != 0)
        nt_strbuf_print(d, ", job %llu", (unsigned long long)map->job_id);
    if (map->cluster[0] != '\0')
        nt_strbuf_print(d, "%s cluster %s", map->job_id != 0 ? " on" : ",", map->cluster);
    if (strcmp(map->level, "fleet") == 0)
        nt_strbuf_puts(d, ", from the maps of many jobs");
    else if (map->level[0] != '\0')
        nt_strbuf_print(d, ", level %s", map->level);
    if (map->created[0] != '\0') {
        nt_strbuf_puts(d, ", measured on ");
        put_created(d, map->created);
    }
    nt_strbuf_clean(d, from);
}
