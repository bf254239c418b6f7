/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster_network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "infer_steps.h"
#include "memory.h"
#include "stats.h"
#include "switch_support.h"

/* Number of units that the model processes in a second if two of three pairs were not read; its
 * time grows with about the third power of them. */
enum { NONE = UINT32_MAX, UNITS_MOST = 64, FITTED_MOST = 200000 };

/* A step of a tier is half-normal with 0.3 of a latency (score.h); a link is half of it. */
static const double LINK_SD = 0.15;

/* One reading between two units, or within one. */
struct reading {
    uint32_t x, y;
    struct nt_user_value ln;
};

struct unit {
    uint32_t hosts, first;
    double inner_us; /* latency between two of its hosts; NaN: not read */
    /* Latency and error of the link to its switch in the network of units, including the share of
     * the hosts */
    double us, error_us;
    double sure;
    uint32_t up; /* index of that switch */
    bool read;   /* read with another unit */
    bool own;    /* it has a switch of its own */
};

struct draft {
    const struct nt_evidence *e;
    const struct nt_cluster_tiers *t;
    const bool *ignored;
    uint32_t units;
    uint32_t *of; /* by host: its unit; NONE: missing */
    struct unit *unit;
    size_t values;
    struct nt_pair_value *value;
    float *scratch; /* entries */
    struct nt_user_value *ln;
};

/* ---- units and their readings ---- */

static int compare_readings(const void *p, const void *q)
{
    const struct reading *x = p, *y = q;
    return NT_ORDER(x->x, y->x, NT_ORDER(x->y, y->y, 0));
}

static double error_of(const struct draft *d, double us, size_t readings)
{
    double n = (double)readings;
    return us * d->t->classes.noise * (readings > 2 ? NT_SD_OF_MEAN : 1) / sqrt(n);
}

static void take_pair(struct draft *d, const struct reading *reading, size_t n)
{
    uint32_t x = reading->x, y = reading->y;
    for (size_t k = 0; k < n; k++)
        d->ln[k] = reading[k].ln;
    size_t users = nt_user_medians(d->ln, n, d->scratch);
    double us = exp((double)nt_stats_median(d->scratch, users));
    if (x == y) {
        d->unit[x].inner_us = us;
        return;
    }
    d->unit[x].read = d->unit[y].read = true;
    d->value[d->values++] =
        (struct nt_pair_value){.a = x, .b = y, .us = us, .se_us = error_of(d, us, n)};
}

static int read_pairs(struct draft *d, struct nt_arena *memory, struct nt_err *err)
{
    const struct nt_evidence *e = d->e;
    struct reading *reading = nt_arena_array(memory, e->entries + 1, sizeof *reading);
    size_t n = 0;
    d->value = nt_arena_array(memory, e->entries + 1, sizeof *d->value);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t k = 0; k < e->entries; k++) {
        uint32_t x = d->of[e->entry[k].a], y = d->of[e->entry[k].b];
        if (x != NONE && y != NONE && !d->ignored[k])
            reading[n++] = (struct reading){
                x < y ? x : y, x < y ? y : x, {e->job[e->entry[k].job].user, e->entry[k].ln}};
    }
    if (n > 0)
        qsort(reading, n, sizeof *reading, compare_readings);
    for (size_t k = 0, end; k < n; k = end) {
        for (end = k; end < n && reading[end].x == reading[k].x && reading[end].y == reading[k].y;
             end++)
            ;
        take_pair(d, &reading[k], end - k);
    }
    return 0;
}

static int draft_init(struct draft *d, const bool *missing, struct nt_arena *memory,
                      struct nt_err *err)
{
    size_t hosts = d->e->hosts;
    uint32_t *number = nt_arena_array(memory, hosts + 1, sizeof *number);
    d->of = nt_arena_array(memory, hosts + 1, sizeof *d->of);
    d->unit = nt_arena_array(memory, hosts + 1, sizeof *d->unit);
    d->scratch = nt_arena_array(memory, d->e->entries + 1, sizeof *d->scratch);
    d->ln = nt_arena_array(memory, d->e->entries + 1, sizeof *d->ln);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    memset(number, 0xff, hosts * sizeof *number);
    for (uint32_t h = 0; h < hosts; h++) {
        uint32_t *own = &number[d->t->up[0][h]];
        d->of[h] = NONE;
        if (missing[h])
            continue;
        if (*own == NONE) {
            *own = d->units++;
            d->unit[*own] = (struct unit){
                .first = h, .inner_us = NAN, .sure = 1 - (double)d->t->error[0][d->t->up[0][h]]};
        }
        d->of[h] = *own;
        d->unit[*own].hosts++;
    }
    return read_pairs(d, memory, err);
}

int nt_cluster_network_fits(const struct nt_evidence *e, const struct nt_cluster_tiers *t,
                            bool *fits, struct nt_err *err)
{
    bool *seen = calloc(e->hosts + 1, sizeof *seen);
    size_t units = 0;
    if (seen == NULL)
        return nt_err_memory(err);
    for (size_t k = 0; k < e->entries; k++) {
        const uint32_t end[2] = {t->up[0][e->entry[k].a], t->up[0][e->entry[k].b]};
        units += !seen[end[0]];
        seen[end[0]] = true;
        units += !seen[end[1]];
        seen[end[1]] = true;
    }
    free(seen);
    *fits = units > 1 && units <= UNITS_MOST;
    return 0;
}

/* ---- the network of the units, and of their hosts ---- */

/* Returns ln of the odds of a link with this latency and error, half-normal with that sd, against
 * no link. */
static double link_odds(double us, double error, double sd)
{
    double both = hypot(error, sd), part = sd / both, z = us / error;
    return z * z / 2 * part * part + log(2 * error / both) +
           log(fmax(nt_normal_cdf(z * part), 1e-300));
}

/* Connects the units as in their network. Returns the number of units with a switch. */
static size_t place_units(struct draft *d, const struct nt_model *m)
{
    size_t own = 0;
    double sum = 0;
    for (size_t k = 0; k < d->values; k++)
        sum += d->value[k].us / (double)d->values;
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        if (l->a >= m->hosts)
            continue;
        d->unit[l->a].up = l->b - (uint32_t)m->hosts;
        d->unit[l->a].us = l->latency_us;
        d->unit[l->a].error_us = fmax(l->latency_se_us, 0);
    }
    struct unit *one = &d->unit[d->unit[0].hosts > 1 ? 0 : 1];
    if (d->units == 2 && one->inner_us > 0) { /* their paths turn at the switch of one of them */
        d->unit[one == d->unit ? 1 : 0].us += one->us - one->inner_us / 2;
        one->us = one->inner_us / 2;
    }
    for (struct unit *u = d->unit; u < d->unit + d->units; u++) {
        double height = u->inner_us / 2, up = u->us - height;
        if (!(up > 0)) /* not known for a single host */
            continue;
        double error = fmax(hypot(u->error_us, error_of(d, height, u->hosts)), 1e-9);
        u->own = u->sure >= NT_SUPPORT_REPORTED && link_odds(up, error, LINK_SD * sum) > 0;
        own += u->own;
    }
    return own;
}

static struct nt_link *add_link(struct nt_model *m, uint32_t a, uint32_t b, double us, double sure)
{
    struct nt_link *l = &m->link[m->links++];
    l->a = a;
    l->b = b;
    l->latency_us = us;
    l->probability = sure;
    return l;
}

static void add_links(const struct draft *d, const struct nt_model *units, struct nt_model *m)
{
    uint32_t hosts = (uint32_t)m->hosts, next = hosts + (uint32_t)units->switches;
    m->links = 0;
    for (size_t k = 0; k < units->links; k++) {
        const struct nt_link *l = &units->link[k];
        if (l->a >= units->hosts)
            add_link(m, l->a - (uint32_t)units->hosts + hosts,
                     l->b - (uint32_t)units->hosts + hosts, l->latency_us, l->probability);
    }
    for (uint32_t u = 0; u < d->units; u++) {
        const struct unit *x = &d->unit[u];
        uint32_t on = hosts + x->up;
        bool together = x->inner_us > 0 && x->sure >= NT_SUPPORT_REPORTED;
        double us = together ? x->inner_us / 2 : x->us;
        if (x->own) {
            add_link(m, next, on, x->us - us, x->sure);
            on = next++;
        }
        for (uint32_t h = x->first; h < hosts; h++)
            if (d->of[h] == u)
                add_link(m, h, on, us, x->hosts > 1 ? 1 : x->sure);
    }
}

/* Computes how well the network explains an even sample of the readings, without outliers. */
static int state_fit(const struct draft *d, const struct nt_model *units, struct nt_model *m,
                     struct nt_err *err)
{
    const struct nt_evidence *e = d->e;
    double rest = 0, mean = 0, square = 0, n = 0, far = 6 * d->t->classes.noise;
    struct nt_matrix *between;
    if (nt_model_latencies(units, &between, err) != 0)
        return -1;
    for (size_t k = 0; k < e->entries; k += e->entries / FITTED_MOST + 1) {
        uint32_t x = d->of[e->entry[k].a], y = d->of[e->entry[k].b];
        if (d->ignored[k] || x == NONE || y == NONE)
            continue;
        double us = exp((double)e->entry[k].ln), step = us - mean;
        double off = us - (x == y ? d->unit[x].inner_us : (double)nt_matrix_get(between, x, y));
        if (!(fabs(off) < far * us))
            continue;
        rest += off * off;
        mean += step / ++n;
        square += step * (us - mean);
    }
    nt_matrix_destroy(between);
    m->rms_us = n > 0 ? sqrt(rest / n) : NAN;
    m->r2 = n > 0 && square > rest ? 1 - rest / square : 0;
    /* a link lengthens a path across it by twice its latency */
    m->resolution_us = nt_classes_resolution_us(&d->t->classes) / 2;
    nt_resolution_lower(m);
    return 0;
}

static int expand(struct draft *d, const struct nt_model *units, struct nt_model **out,
                  struct nt_err *err)
{
    size_t own = place_units(d, units), hosts = 0;
    struct nt_model *m;
    for (uint32_t u = 0; u < d->units; u++)
        hosts += d->unit[u].hosts;
    if (nt_model_create(d->e->hosts, units->switches + own, hosts + own + units->links, &m, err) !=
        0)
        return -1;
    add_links(d, units, m);
    for (size_t h = 0; h < m->hosts; h++)
        m->missing[h] = d->of[h] == NONE;
    m->family = m->switches > 1 ? NT_FAMILY_TREE : NT_FAMILY_STAR;
    m->confidence = units->confidence * fmax(1 - d->t->risk[0], 0);
    if (state_fit(d, units, m, err) != 0 || nt_model_canonicalise(m, err) != 0) {
        nt_model_destroy(m);
        return -1;
    }
    nt_confidence_limit(m);
    m->tiers = 0;
    for (size_t s = 0; s < m->switches; s++)
        m->tiers = m->tier[s] > m->tiers ? m->tier[s] : m->tiers;
    *out = m;
    return 0;
}

int nt_cluster_network_find(const struct nt_evidence *e, const bool *ignored, const bool *missing,
                            const struct nt_cluster_tiers *t, struct nt_model **out,
                            struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct draft d = {.e = e, .t = t, .ignored = ignored};
    struct nt_pairs *pairs = NULL;
    struct nt_model *units = NULL;
    struct nt_noise noise = {0};
    double evidence;
    *out = NULL;
    if (draft_init(&d, missing, &memory, err) != 0)
        return -1;
    for (uint32_t u = 0; u < d.units; u++)
        if (!d.unit[u].read)
            return 0;
    int rc = nt_pairs_create(d.units, d.value, d.values, &pairs, err);
    if (rc == 0)
        rc = nt_tiers_model(pairs, &units, &noise, &evidence, err);
    if (rc == 0)
        rc = expand(&d, units, out, err);
    nt_pairs_destroy(pairs);
    nt_model_destroy(units);
    return rc;
}
