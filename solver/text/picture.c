/* SPDX-License-Identifier: Apache-2.0 */
#include "picture.h"

#include <math.h>
#include <stdlib.h>

#include "graph.h"
#include "switch_support.h"

static const double THICKEST = 10, ALL_ALIKE = 4, THINNEST = 1.6, UNKNOWN = 2, PALEST = 0.45;

double nt_picture_opacity(double sure)
{
    return sure < NT_SUPPORT_SHOWN ? fmax(PALEST, sure * sure * sure) : 1;
}

double nt_picture_rate(const struct nt_link *l)
{
    return fmin(l->bandwidth_MBps, l->bandwidth_back_MBps); /* fmin: the one that is known */
}

double nt_look_thickest(const struct nt_look *look)
{
    return look->narrowest_MBps > 0.5 * look->widest_MBps ? ALL_ALIKE : THICKEST;
}

double nt_look_thickness(const struct nt_look *look, const struct nt_link *l)
{
    double rate = nt_picture_rate(l);
    return isfinite(rate) ? fmax(THINNEST, nt_look_thickest(look) * rate / look->widest_MBps)
                          : UNKNOWN;
}

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
    *look = (struct nt_look){.narrowest_MBps = INFINITY};
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

void nt_picture_put_what(struct nt_strbuf *d, const struct nt_model *m)
{
    nt_strbuf_print(d, "%zu host%s", m->hosts, m->hosts == 1 ? "" : "s");
    if (m->switches > 0)
        nt_strbuf_print(d, ", %zu switch%s", m->switches, m->switches == 1 ? "" : "es");
    nt_strbuf_print(d, ": %s", nt_family_name(m->family));
    if (isfinite(m->confidence))
        nt_strbuf_print(d, ", confidence %.2f", floor(100 * m->confidence) / 100);
}

void nt_picture_put_job(struct nt_strbuf *d, const struct nt_map *map)
{
    nt_strbuf_puts(d, nt_status_name(map->status));
    if (map->job_id != 0)
        nt_strbuf_print(d, ", job %llu", (unsigned long long)map->job_id);
    const char *const words[] = {map->cluster, map->level, map->created};
    for (size_t k = 0; k < 3; k++) {
        nt_strbuf_puts(d, words[k][0] == '\0' ? "" : k == 0 ? " on " : ", ");
        nt_strbuf_put_line(d, words[k]);
    }
}
