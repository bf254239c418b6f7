/* SPDX-License-Identifier: Apache-2.0 */
#include "faults_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

const char *const nt_fault_kind_names[NT_FAULT_KINDS] = {[NT_FAULT_LINK_SLOW] = "link-slow",
                                                         [NT_FAULT_LINK_NARROW] = "link-narrow",
                                                         [NT_FAULT_LINK_LOSSY] = "link-lossy",
                                                         [NT_FAULT_HOST_SLOW] = "host-slow",
                                                         [NT_FAULT_PATH_SHARED] = "path-shared"};
static const char *const units[NT_FAULT_KINDS] = {[NT_FAULT_LINK_SLOW] = "us",
                                                  [NT_FAULT_LINK_NARROW] = "MB/s",
                                                  [NT_FAULT_LINK_LOSSY] = "%",
                                                  [NT_FAULT_HOST_SLOW] = "us",
                                                  [NT_FAULT_PATH_SHARED] = "MB/s"};
const char *const nt_fault_way_names[NT_FAULT_WAYS] = {
    [NT_FAULT_BOTH] = "both", [NT_FAULT_UP] = "up", [NT_FAULT_DOWN] = "down"};

const char *nt_fault_unit(const struct nt_fault *f)
{
    return units[f->by_rate ? NT_FAULT_LINK_NARROW : f->part.kind];
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
        nt_strbuf_print(&one, "%s%s %s%s%s %s/%s %s %.2f", k > 0 ? ";" : "",
                        nt_fault_kind_names[f->part.kind], nt_map_vertex_name(map, f->part.a),
                        link ? " " : "", link ? nt_map_vertex_name(map, f->part.b) : "", found,
                        expected, nt_fault_unit(f), f->confidence);
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
    static const char *const worse[NT_FAULT_KINDS] = {[NT_FAULT_LINK_SLOW] = "is slow",
                                                      [NT_FAULT_LINK_NARROW] = "is narrow",
                                                      [NT_FAULT_LINK_LOSSY] = "loses messages",
                                                      [NT_FAULT_HOST_SLOW] = "is slow",
                                                      [NT_FAULT_PATH_SHARED] = "share a path"};
    static const char *const one_way[NT_FAULT_WAYS] = {
        [NT_FAULT_BOTH] = "", [NT_FAULT_UP] = " upwards", [NT_FAULT_DOWN] = " downwards"};
    char found[NT_NUMBER_BYTES], expected[NT_NUMBER_BYTES];
    nt_number_plain(f->found, 3, found);
    nt_number_plain(f->expected, 3, expected);
    put_part_words(to, map, &f->part);
    nt_strbuf_print(to, " %s%s%s%s: %s %s, expected %s (", worse[f->part.kind], one_way[f->way],
                    f->rail[0] != '\0' ? " on rail " : "", f->rail, found, nt_fault_unit(f),
                    expected);
    nt_strbuf_print(to, f->confidence < 0.995 ? "%.0f %% certain)" : ">99 %% certain)",
                    100 * f->confidence);
    for (uint32_t k = 0; k < f->others; k++) {
        nt_strbuf_puts(to, k == 0 ? ", or " : " or ");
        put_part_words(to, map, &f->other[k]);
    }
    if (f->others > 0) {
        bool links = f->other[f->others - 1].kind == NT_FAULT_PATH_SHARED;
        nt_strbuf_puts(to, links ? " are the cause" : " is the cause");
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
