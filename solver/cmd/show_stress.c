/* SPDX-License-Identifier: Apache-2.0 */
#include "show.h"

#include <math.h>
#include <stdio.h>

enum { CELL_BYTES = 48, TABLE_COLUMNS = 80 };

/* Times of kernels go from microseconds to seconds: four digits of each, in us. */
static void put_time(struct nt_strbuf *d, int width, double us)
{
    char cell[CELL_BYTES] = "-";
    if (isfinite(us))
        snprintf(cell, sizeof cell, "%.*f", us < 100 ? 1 : 0, us);
    nt_strbuf_print(d, " %*s", width, cell);
}

static void put_congested(struct nt_strbuf *d, const struct nt_map *map, const struct nt_stress *s)
{
    if (s->tier == 0)
        nt_strbuf_puts(d, "  hosts' links: ");
    else
        nt_strbuf_print(d, "  links over tier %u: ", s->tier);
    nt_strbuf_puts(d, nt_map_vertex_name(map, s->from));
    nt_strbuf_puts(d, " to ");
    nt_strbuf_puts(d, nt_map_vertex_name(map, s->to));
    if (s->links > 1)
        nt_strbuf_print(d, " and %u more", s->links - 1);
}

static void put_kernel(struct nt_strbuf *d, const struct nt_map *map, const struct nt_stress *s)
{
    char interval[CELL_BYTES];
    size_t from = d->used;
    nt_strbuf_print(d, "       %-8s", s->kernel);
    nt_strbuf_clean(d, from);
    nt_strbuf_print(d, " %5u %9.0f", s->hosts, s->bytes);
    put_time(d, 9, s->time_us);
    snprintf(interval, sizeof interval, "%.0f-%.0f", s->low_us, s->high_us);
    nt_strbuf_print(d, " %17s", interval);
    put_time(d, 9, s->alone_us);
    put_time(d, 9, s->shared_us);
    if (isfinite(s->alone_us))
        nt_strbuf_print(d, " %6.2f", s->time_us / s->alone_us);
    else
        nt_strbuf_print(d, " %6s", "-");
    if (s->congested)
        put_congested(d, map, s);
    nt_strbuf_puts(d, "\n");
}

static void put_part(struct nt_strbuf *d, const char *before, double us)
{
    if (isfinite(us))
        nt_strbuf_print(d, "%s%.*f", before, us < 100 ? 1 : 0, us);
}

/* The same as a sentence, where a row has no room. */
static void put_sentence(struct nt_strbuf *d, const struct nt_map *map, const struct nt_stress *s)
{
    size_t from = d->used;
    nt_strbuf_print(d, "       %s", s->kernel);
    nt_strbuf_clean(d, from);
    nt_strbuf_print(d, " of %u hosts, %.0f bytes:", s->hosts, s->bytes);
    put_part(d, " ", s->time_us);
    nt_strbuf_print(d, " us (95 %%: %.0f-%.0f)", s->low_us, s->high_us);
    put_part(d, ", alone ", s->alone_us);
    put_part(d, ", shared ", s->shared_us);
    if (isfinite(s->alone_us))
        nt_strbuf_print(d, ", ratio %.2f", s->time_us / s->alone_us);
    if (s->congested)
        put_congested(d, map, s);
    nt_strbuf_puts(d, "\n");
}

void nt_show_stress(struct nt_strbuf *d, const struct nt_map *map, size_t width)
{
    if (map->stresses == 0)
        return;
    if (width < TABLE_COLUMNS) {
        nt_strbuf_puts(d, "\nstress kernels\n");
        for (size_t k = 0; k < map->stresses; k++)
            put_sentence(d, map, &map->stress[k]);
        return;
    }
    nt_strbuf_print(d, "\nstress %-8s %5s %9s %9s %17s %9s %9s %6s  %s\n", "kernel", "hosts",
                    "bytes", "us", "95 %", "alone", "shared", "ratio", "congested");
    for (size_t k = 0; k < map->stresses; k++)
        put_kernel(d, map, &map->stress[k]);
}
