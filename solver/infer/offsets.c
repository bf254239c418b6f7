/* SPDX-License-Identifier: Apache-2.0 */
#include "offsets.h"

#include <math.h>
#include <stdlib.h>

#include "memory.h"
#include "stats.h"

enum { ITERATIONS = 6 };

static const double MEDIAN_VARIANCE = 1.5708; /* pi/2: of a median over that of a mean */

struct fit {
    size_t seats;
    const struct nt_readings *readings;
    float *rest;     /* readings: less the class, us */
    uint32_t *first; /* seats + 1: readings of seat k are list[first[k]..first[k+1]-1] */
    uint32_t *list;
    float *scratch;
};

static void list_by_seat(struct fit *f)
{
    const struct nt_readings *r = f->readings;
    for (size_t k = 0; k < r->count; k++) {
        f->first[r->at[k].a + 2]++;
        f->first[r->at[k].b + 2]++;
    }
    for (size_t i = 2; i < f->seats + 2; i++)
        f->first[i] += f->first[i - 1];
    for (size_t k = 0; k < r->count; k++) {
        f->list[f->first[r->at[k].a + 1]++] = (uint32_t)k;
        f->list[f->first[r->at[k].b + 1]++] = (uint32_t)k;
    }
}

static int fit_init(struct fit *f, size_t seats, const struct nt_classes *classes,
                    const struct nt_clusters *clusters, const struct nt_readings *r,
                    struct nt_arena *memory, struct nt_err *err)
{
    *f = (struct fit){.seats = seats, .readings = r};
    f->rest = nt_arena_array(memory, r->count + 1, sizeof *f->rest);
    f->first = nt_arena_array(memory, seats + 2, sizeof *f->first);
    f->list = nt_arena_array(memory, 2 * r->count + 1, sizeof *f->list);
    f->scratch = nt_arena_array(memory, 2 * r->count + 1, sizeof *f->scratch);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t k = 0; k < r->count; k++) {
        size_t class = nt_clusters_meet(clusters, r->at[k].a, r->at[k].b);
        f->rest[k] = (float)(exp((double)r->at[k].ln) - exp(classes->mean[class]));
    }
    list_by_seat(f);
    return 0;
}

/* host: variance that hosts differ by; noise: of one reading. us^2 */
static void adapt_offset(const struct fit *f, uint32_t seat, double host, double noise,
                         struct nt_offsets *o)
{
    size_t n = f->first[seat + 1] - f->first[seat];
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++) {
        size_t k = f->list[f->first[seat] + i];
        const struct nt_pair_reading *r = &f->readings->at[k];
        f->scratch[i] = (float)((double)f->rest[k] - o->us[r->a == seat ? r->b : r->a]);
    }
    double of_median = MEDIAN_VARIANCE * noise / (double)n, weight = host / (host + of_median);
    o->us[seat] = weight * (double)nt_stats_median(f->scratch, n);
    o->variance[seat] = host * (1 - weight);
}

int nt_offsets_fit(size_t seats, const struct nt_classes *classes,
                   const struct nt_clusters *clusters, const struct nt_slow *slow,
                   const struct nt_readings *readings, struct nt_offsets *out, struct nt_err *err)
{
    struct nt_offsets o = {calloc(seats + 1, sizeof *o.us), calloc(seats + 1, sizeof *o.variance)};
    double host = classes->spread_us * classes->spread_us / 2;
    double noise = classes->noise * exp(classes->mean[0]);
    NT_SCOPED struct nt_arena memory = {0};
    struct fit f;
    if (o.us == NULL || o.variance == NULL) {
        nt_offsets_fini(&o);
        return nt_err_memory(err);
    }
    for (size_t k = 0; k < slow->count; k++) {
        o.us[slow->host[k].seat] = slow->host[k].us;
        o.variance[slow->host[k].seat] = slow->host[k].variance;
    }
    if (host > 0) {
        if (fit_init(&f, seats, classes, clusters, readings, &memory, err) < 0) {
            nt_offsets_fini(&o);
            return -1;
        }
        for (int k = 0; k < ITERATIONS; k++)
            for (uint32_t i = 0; i < seats; i++)
                if (!nt_slow_has(slow, i))
                    adapt_offset(&f, i, host, noise * noise, &o);
    }
    *out = o;
    return 0;
}

void nt_offsets_fini(struct nt_offsets *o)
{
    free(o->us);
    free(o->variance);
    *o = (struct nt_offsets){0};
}
