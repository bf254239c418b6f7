/* SPDX-License-Identifier: Apache-2.0 */
#include "map_loggp.h"

#include <stdlib.h>
#include <string.h>

#include "loggp.h"
#include "loggp_fit.h"
#include "loggp_time.h"
#include "memory.h"
#include "names.h"
#include "prtt.h"
#include "rail_links.h"
#include "reach.h"

static const double R2_LEAST = 0.9; /* of the fit: below it has no power */

/* A PRTT sample, and what it belongs to. */
struct record {
    uint32_t hops, switches;
    const char *rail; /* NULL: what the transport chose */
    size_t number;    /* of the sample: the order stays */
    struct nt_prtt m;
};

struct records {
    const struct nt_samples *samples;
    struct nt_map *map;
    bool *is_first, *is_used; /* the samples' hosts that are first in a record, or in one at all */
    uint32_t *vertex;         /* of those */
    size_t n;
    struct record *record;
    struct nt_prtt *scratch;
    bool rails; /* some record has one */
};

/* Those of single links on each rail are not of this. */
static bool is_ours(const struct nt_samples *s, size_t number)
{
    const struct nt_sample *x = &s->sample[number];
    return x->kind == NT_SAMPLE_PRTT && strcmp(s->phase[x->phase].name, NT_RAIL_LINKS_PHASE) != 0;
}

static size_t count_prtt(const struct nt_samples *s)
{
    size_t n = 0;
    for (size_t k = 0; k < s->samples; k++)
        n += is_ours(s, k);
    return n;
}

/* ---- records ---- */
static int find_hosts(struct records *r, struct nt_err *err)
{
    const struct nt_samples *s = r->samples;
    for (size_t k = 0; k < s->samples; k++)
        if (is_ours(s, k))
            r->is_first[s->sample[k].a] = r->is_used[s->sample[k].a] = r->is_used[s->sample[k].b] =
                true;
    for (size_t h = 0; h < s->hosts; h++) {
        if (!r->is_used[h])
            continue;
        r->vertex[h] = UINT32_MAX;
        for (uint32_t v = 0; v < r->map->model->hosts; v++)
            if (strcmp(s->host_name[h], r->map->host_name[v]) == 0)
                r->vertex[h] = v;
        if (r->vertex[h] == UINT32_MAX)
            return nt_err_set(err, NT_ERR_INPUT, "host %s: expected in the map", s->host_name[h]);
    }
    return 0;
}

static void add_record(struct records *r, size_t number, const struct nt_reach *reach)
{
    const struct nt_samples *s = r->samples;
    const struct nt_sample *x = &s->sample[number];
    uint32_t to = r->vertex[x->b];
    if (reach->hops[to] == NT_REACH_NONE || x->bytes < 1 || x->count < 1)
        return;
    r->record[r->n++] =
        (struct record){.hops = reach->hops[to],
                        .switches = reach->switches[to],
                        .rail = x->text > 0 ? s->text[x->text - 1] : NULL,
                        .number = number,
                        .m = {.bytes = x->bytes,
                              .count = x->count,
                              .delay_us = x->prtt.delay_us,
                              .hold_us = x->prtt.hold_us,
                              .time_us = x->value_us,
                              .se_us = x->prtt.se_us,
                              .check = strcmp(s->phase[x->phase].name, NT_LOGGP_CHECK_PHASE) == 0}};
    r->rails = r->rails || x->text > 0;
}

static int add_records_from(struct records *r, uint32_t source, struct nt_err *err)
{
    struct nt_reach *reach = NULL;
    for (size_t k = 0; k < r->samples->samples; k++) {
        const struct nt_sample *x = &r->samples->sample[k];
        if (!is_ours(r->samples, k) || x->a != source)
            continue;
        if (reach == NULL && nt_reach_create(r->map->model, r->vertex[source], &reach, err) != 0)
            return -1;
        add_record(r, k, reach);
    }
    nt_reach_destroy(reach);
    return 0;
}

static int compare_records(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    if (x->hops != y->hops)
        return x->hops < y->hops ? -1 : 1;
    if (x->switches != y->switches)
        return x->switches < y->switches ? -1 : 1;
    if ((x->rail == NULL) != (y->rail == NULL))
        return x->rail == NULL ? 1 : -1;
    int order = x->rail == NULL ? 0 : nt_name_compare(x->rail, y->rail);
    if (order != 0)
        return order;
    return (x->number > y->number) - (x->number < y->number);
}

static bool same_fit(const struct record *a, const struct record *b)
{
    return a->hops == b->hops && a->switches == b->switches &&
           (a->rail == NULL) == (b->rail == NULL) &&
           (a->rail == NULL || strcmp(a->rail, b->rail) == 0);
}

/* ---- the map's entries ---- */

/* A line that explains little, or whose slope is below its error, would be noise. */
static bool has_power(const struct nt_loggp *g)
{
    return !(g->r2 < R2_LEAST) && g->G_us_per_byte > 0 &&
           g->G_se_us_per_byte <= g->G_us_per_byte / 2;
}

static int keep_fit(struct records *r, const struct record *of, const struct nt_loggp_fit *fit,
                    struct nt_err *err)
{
    struct nt_map *map = r->map;
    struct nt_loggp *grown = realloc(map->loggp, (map->loggps + fit->regimes) * sizeof *map->loggp);
    if (grown == NULL)
        return nt_err_memory(err);
    map->loggp = grown;
    for (size_t k = 0; k < fit->regimes; k++) {
        if (!has_power(&fit->regime[k]))
            continue;
        struct nt_loggp *g = &grown[map->loggps++];
        const char *rail = of->rail != NULL ? of->rail : r->rails ? NT_LOGGP_ALL_RAILS : "";
        *g = fit->regime[k];
        nt_path_class_name(of->hops, of->switches, g->class_name);
        strncpy(g->rail, rail, sizeof g->rail - 1);
    }
    return 0;
}

static int fit_classes(struct records *r, struct nt_err *err)
{
    for (size_t begin = 0, end; begin < r->n; begin = end) {
        struct nt_loggp_fit fit;
        struct nt_err why = {0};
        for (end = begin; end < r->n && same_fit(&r->record[begin], &r->record[end]); end++)
            r->scratch[end - begin] = r->record[end].m;
        if (nt_loggp_fit(r->scratch, end - begin, &fit, &why) == 0) {
            if (keep_fit(r, &r->record[begin], &fit, err) != 0)
                return -1;
        } else if (why.kind != NT_ERR_INPUT) { /* too little was measured: no entry */
            *err = why;
            return -1;
        }
    }
    return 0;
}

int nt_map_loggp(const struct nt_samples *samples, struct nt_map *map, struct nt_err *err)
{
    size_t n = count_prtt(samples);
    if (n == 0)
        return 0;
    NT_SCOPED struct nt_arena memory = {0};
    struct records r = {.samples = samples, .map = map};
    r.is_first = nt_arena_array(&memory, samples->hosts, sizeof *r.is_first);
    r.is_used = nt_arena_array(&memory, samples->hosts, sizeof *r.is_used);
    r.vertex = nt_arena_array(&memory, samples->hosts, sizeof *r.vertex);
    r.record = nt_arena_array(&memory, n, sizeof *r.record);
    r.scratch = nt_arena_array(&memory, n, sizeof *r.scratch);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    int rc = find_hosts(&r, err);
    for (uint32_t h = 0; rc == 0 && h < samples->hosts; h++)
        if (r.is_first[h])
            rc = add_records_from(&r, h, err);
    if (rc == 0) {
        qsort(r.record, r.n, sizeof *r.record, compare_records);
        rc = fit_classes(&r, err);
    }
    return rc;
}
