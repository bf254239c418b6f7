/* SPDX-License-Identifier: Apache-2.0 */
#include "map_rails.h"

#include <string.h>

#include "loggp.h"
#include "memory.h"
#include "rail_faults.h"
#include "rail_links.h"

static bool is_of_rails(const struct nt_samples *s, const struct nt_sample *x)
{
    return x->kind == NT_SAMPLE_PRTT && x->text > 0 && x->count == 1 &&
           strcmp(s->phase[x->phase].name, NT_RAIL_LINKS_PHASE) == 0;
}

/* The number of a rail; it is added when it is new, NT_LOGGP_RAILS_MAX when there are too many. */
static uint32_t number_of(const char *rail, const char **name, size_t *rails)
{
    uint32_t k = 0;
    while (k < *rails && strcmp(name[k], rail) != 0)
        k++;
    if (k == *rails && k < NT_LOGGP_RAILS_MAX)
        name[(*rails)++] = rail;
    return k;
}

int nt_map_rails(const struct nt_samples *samples, const uint32_t *order, struct nt_map *map,
                 struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    const char *name[NT_LOGGP_RAILS_MAX];
    size_t n = 0, rails = 0;
    for (size_t k = 0; k < samples->samples; k++)
        n += is_of_rails(samples, &samples->sample[k]);
    if (n == 0)
        return 0;
    struct nt_rail_seen *seen = nt_arena_array(&memory, n, sizeof *seen);
    uint32_t *host = nt_arena_array(&memory, samples->hosts + 1, sizeof *host);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (uint32_t k = 0; k < samples->hosts; k++)
        host[order[k]] = k;
    n = 0;
    for (size_t k = 0; k < samples->samples; k++) {
        const struct nt_sample *x = &samples->sample[k];
        if (!is_of_rails(samples, x))
            continue;
        uint32_t rail = number_of(samples->text[x->text - 1], name, &rails);
        if (rail < NT_LOGGP_RAILS_MAX)
            seen[n++] = (struct nt_rail_seen){.rail = rail,
                                              .a = host[x->a],
                                              .b = host[x->b],
                                              .bytes = x->bytes,
                                              .us = x->value_us / 2,
                                              .se_us = x->prtt.se_us / 2};
    }
    return nt_rail_faults_find(map->model, seen, n, name, rails, map->fault, &map->faults, err);
}
