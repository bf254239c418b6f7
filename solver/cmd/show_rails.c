/* SPDX-License-Identifier: Apache-2.0 */
#include "show.h"

#include <stdbool.h>
#include <string.h>

#include "rails.h"

static void put_size(struct nt_strbuf *d, double bytes)
{
    if (bytes >= 1 << 20)
        nt_strbuf_print(d, "%.3g MiB", bytes / (1 << 20));
    else if (bytes >= 1 << 10)
        nt_strbuf_print(d, "%.3g KiB", bytes / (1 << 10));
    else
        nt_strbuf_print(d, "%.0f bytes", bytes);
}

static void put_range(struct nt_strbuf *d, const struct nt_rail *rail, size_t rails,
                      const struct nt_rail_range *range, bool last)
{
    if (range->min_bytes > 1) {
        nt_strbuf_puts(d, "over ");
        put_size(d, range->min_bytes - 1);
        nt_strbuf_puts(d, " ");
    } else if (!last) {
        nt_strbuf_puts(d, "up to ");
        put_size(d, range->max_bytes);
        nt_strbuf_puts(d, " ");
    }
    if (!range->split) {
        nt_strbuf_put_line(d, rail[range->rail].name);
        return;
    }
    for (size_t i = 0, put = 0; i < rails; i++) {
        if (range->share[i] < 0.005)
            continue;
        nt_strbuf_print(d, "%s%.0f %% by ", put++ > 0 ? " and " : "", 100 * range->share[i]);
        nt_strbuf_put_line(d, rail[i].name);
    }
    nt_strbuf_print(d, " (%.2f times as fast as ", range->gain);
    nt_strbuf_put_line(d, rail[range->rail].name);
    nt_strbuf_puts(d, " alone, for a program that divides its messages)");
}

/* UCX divides rendezvous messages as it likes, never by given shares: all or one. */
static void put_settings(struct nt_strbuf *d, const struct nt_rail *rail, size_t rails,
                         const struct nt_rail_advice *advice)
{
    nt_strbuf_puts(d, "       UCX_NET_DEVICES=");
    for (size_t i = 0; i < rails; i++) {
        if (!advice->together && i != advice->best)
            continue;
        if (advice->together && i > 0)
            nt_strbuf_puts(d, ",");
        nt_strbuf_put_line(d, rail[i].name);
    }
    if (advice->together)
        nt_strbuf_print(d, " UCX_MAX_RNDV_RAILS=%zu UCX_MAX_EAGER_RAILS=1\n", rails);
    else if (advice->loses > 1.05)
        nt_strbuf_print(d, "   (divided evenly, large messages take %.1f times as long)\n",
                        advice->loses);
    else
        nt_strbuf_puts(d, "\n");
}

static bool seen_before(const struct nt_map *map, size_t k)
{
    for (size_t j = 0; j < k; j++)
        if (strcmp(map->loggp[j].class_name, map->loggp[k].class_name) == 0)
            return true;
    return false;
}

int nt_show_rails(struct nt_strbuf *d, const struct nt_map *map, struct nt_err *err)
{
    bool any = false;
    for (size_t k = 0; k < map->loggps; k++) {
        struct nt_rail rail[NT_RAILS_MAX], together;
        struct nt_rail_advice advice;
        if (seen_before(map, k))
            continue;
        size_t rails = nt_rails_of_map(map, map->loggp[k].class_name, rail, &together);
        if (rails < 2)
            continue;
        if (nt_rails_advise(rail, rails, &together, &advice, err) != 0)
            return -1;
        nt_strbuf_puts(d, any ? "       " : "\nrails  ");
        nt_strbuf_put_line(d, map->loggp[k].class_name);
        nt_strbuf_puts(d, ": ");
        for (size_t r = 0; r < advice.ranges; r++) {
            nt_strbuf_puts(d, r > 0 ? "; " : "");
            put_range(d, rail, rails, &advice.range[r], r + 1 == advice.ranges);
        }
        nt_strbuf_puts(d, "\n");
        put_settings(d, rail, rails, &advice);
        any = true;
    }
    return 0;
}
