/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "stats.h"

#define ALIKE 0.5 /* logarithms within this share of the largest are about the same */
#define KNOWN 3.0 /* a long message must exceed a short one by this number of standard errors */

/* The link of a host on a rail; NaN: unknown. worse: ln of the value over the usual one, positive
 * if worse. */
struct figure {
    double value, se, worse;
    const struct nt_fault *fault; /* of that rail's own; NULL: none */
};

enum { LATENCY, RATE, FIGURES };

struct rails {
    const struct nt_model *model;
    struct nt_rail_measurement *seen; /* by rail, hosts, size */
    size_t seen_count, rails;
    const char *const *name;
    struct figure *at[FIGURES]; /* [rail * hosts + host] */
    size_t *link;               /* hosts of them: to a switch; links of the model: none */
    double *lowest;             /* hosts of them, for one rail */
    float *value;
    struct nt_fault *fault;
    size_t *count;
};

/* ---- figures ----------------------------------------------------------------------------------*/

static double shortest_message(const struct rails *s)
{
    double bytes = INFINITY;
    for (size_t k = 0; k < s->seen_count; k++)
        bytes = fmin(bytes, s->seen[k].bytes);
    return bytes;
}

static bool is_of(const struct rails *s, size_t k, size_t rail, bool shorts, double shortest)
{
    const struct nt_rail_measurement *x = &s->seen[k];
    return x->rail == rail && (x->bytes == shortest) == shorts && x->us > 0;
}

static void keep_latency(struct figure *f, double us, double se_us)
{
    if (!(f->value <= us))
        *f = (struct figure){.value = us, .se = se_us, .worse = NAN};
}

static void find_latencies(struct rails *s, size_t rail, double shortest)
{
    size_t hosts = s->model->hosts;
    struct figure *at = &s->at[LATENCY][rail * hosts];
    for (size_t h = 0; h < hosts; h++)
        s->lowest[h] = NAN;
    for (size_t k = 0; k < s->seen_count; k++) {
        const struct nt_rail_measurement *x = &s->seen[k];
        if (!is_of(s, k, rail, true, shortest))
            continue;
        s->lowest[x->a] = fmin(s->lowest[x->a], x->us / 2);
        s->lowest[x->b] = fmin(s->lowest[x->b], x->us / 2);
    }
    for (size_t k = 0; k < s->seen_count; k++) {
        const struct nt_rail_measurement *x = &s->seen[k];
        if (!is_of(s, k, rail, true, shortest))
            continue;
        keep_latency(&at[x->a], x->us - s->lowest[x->b], x->se_us);
        keep_latency(&at[x->b], x->us - s->lowest[x->a], x->se_us);
    }
}

/* The short message of the same two hosts over this rail, which precedes it; NULL: none. */
static const struct nt_rail_measurement *short_of(const struct rails *s, size_t k, double shortest)
{
    const struct nt_rail_measurement *of = &s->seen[k];
    if (k == 0 || !is_of(s, k - 1, of->rail, true, shortest) || of[-1].a != of->a ||
        of[-1].b != of->b)
        return NULL;
    return of - 1;
}

static double square_of(double se)
{
    return isnan(se) ? 0 : se * se;
}

static void find_rates(struct rails *s, size_t rail, double shortest)
{
    struct figure *at = &s->at[RATE][rail * s->model->hosts];
    for (size_t k = 0; k < s->seen_count; k++) {
        const struct nt_rail_measurement *x = &s->seen[k];
        if (!is_of(s, k, rail, false, shortest))
            continue;
        const struct nt_rail_measurement *small = short_of(s, k, shortest);
        double us = small == NULL ? 0 : x->us - small->us;
        double se = small == NULL ? 0 : sqrt(square_of(x->se_us) + square_of(small->se_us));
        if (!(us > KNOWN * se) || !(us > 0))
            continue;
        double rate = (x->bytes - small->bytes) / us;
        uint32_t ends[] = {x->a, x->b};
        for (size_t e = 0; e < 2; e++)
            if (!(at[ends[e]].value >= rate))
                at[ends[e]] = (struct figure){.value = rate, .se = rate * se / us, .worse = NAN};
    }
}

static void compare_with_usual(struct rails *s, size_t rail, int kind)
{
    struct figure *at = &s->at[kind][rail * s->model->hosts];
    size_t n = 0;
    for (size_t h = 0; h < s->model->hosts; h++)
        if (at[h].value > 0)
            s->value[n++] = (float)at[h].value;
    double usual = n == 0 ? (double)NAN : (double)nt_stats_median(s->value, n);
    for (size_t h = 0; h < s->model->hosts; h++)
        at[h].worse = kind == LATENCY ? log(at[h].value / usual) : log(usual / at[h].value);
}

/* ---- a rail's own findings ---- */

/* The model with this rail's links. */
static int make_rail_model(const struct rails *s, size_t rail, struct nt_model **out,
                           struct nt_err *err)
{
    size_t hosts = s->model->hosts;
    if (nt_model_copy(s->model, out, err) != 0)
        return -1;
    (*out)->pairs_off = 0;
    for (size_t h = 0; h < hosts; h++) {
        if (s->link[h] == s->model->links)
            continue;
        const struct figure *latency = &s->at[LATENCY][rail * hosts + h];
        const struct figure *rate = &s->at[RATE][rail * hosts + h];
        struct nt_link *l = &(*out)->link[s->link[h]];
        *l = (struct nt_link){.a = l->a,
                              .b = l->b,
                              .latency_us = latency->value,
                              .latency_se_us = latency->se,
                              .bandwidth_MBps = rate->value,
                              .bandwidth_back_MBps = rate->value,
                              .bandwidth_se_MBps = rate->se,
                              .bandwidth_back_se_MBps = rate->se,
                              .probability = l->probability};
    }
    return 0;
}

static int kind_of(const struct nt_fault *f)
{
    return f->part.kind == NT_FAULT_LINK_SLOW     ? LATENCY
           : f->part.kind == NT_FAULT_LINK_NARROW ? RATE
                                                  : FIGURES;
}

static int find_of_rail(struct rails *s, size_t rail, struct nt_faults_found *found,
                        struct nt_err *err)
{
    struct nt_model *model;
    size_t hosts = s->model->hosts;
    if (make_rail_model(s, rail, &model, err) != 0)
        return -1;
    int rc = nt_faults_find(model, false, found, err);
    nt_model_destroy(model);
    for (size_t k = 0; rc == 0 && k < found->count; k++) {
        const struct nt_fault *f = &found->fault[k];
        if (f->part.a < hosts && f->part.b >= hosts && kind_of(f) < FIGURES)
            s->at[kind_of(f)][rail * hosts + f->part.a].fault = f;
    }
    return rc;
}

/* ---- the result of all rails ---------------------------------------------------------------- */

enum verdict { UNDECIDED, CABLE, HOST };

static enum verdict decide(const struct rails *s, int kind, size_t host)
{
    size_t bad = 0, alike = 0, sound = 0;
    double worst = 0;
    for (size_t r = 0; r < s->rails; r++) {
        const struct figure *f = &s->at[kind][r * s->model->hosts + host];
        if (f->fault != NULL)
            worst = fmax(worst, f->worse);
    }
    for (size_t r = 0; r < s->rails; r++) {
        const struct figure *f = &s->at[kind][r * s->model->hosts + host];
        double error = f->value > 0 && !isnan(f->se) ? 2 * f->se / f->value : 0;
        bad += f->fault != NULL;
        alike += f->fault != NULL && f->worse >= ALIKE * worst;
        sound += f->fault == NULL && f->worse + error < ALIKE * worst;
    }
    if (alike == s->rails)
        return HOST;
    return bad > 0 && sound > 0 && bad + sound == s->rails ? CABLE : UNDECIDED;
}

static struct nt_fault *find_stated(const struct rails *s, int kind, size_t host)
{
    for (size_t k = 0; k < *s->count; k++) {
        struct nt_fault *f = &s->fault[k];
        if (kind_of(f) == kind && f->part.a == host && f->part.b >= s->model->hosts)
            return f;
    }
    return NULL;
}

static struct nt_fault *add_fault(struct rails *s, const struct nt_fault *fault)
{
    if (*s->count == NT_FAULTS_MAX)
        return NULL;
    s->fault[*s->count] = *fault;
    return &s->fault[(*s->count)++];
}

/* Removes the host as alternative of a finding that also has lossy as alternative. */
static void drop_host(struct nt_fault *f)
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < f->others; k++)
        if (f->other[k].kind != NT_FAULT_HOST_SLOW)
            f->other[kept++] = f->other[k];
    f->others = kept;
}

/* The existing finding gets the worst rail; findings of other rails follow. */
static void blame_cables(struct rails *s, int kind, size_t host)
{
    struct nt_fault *stated = find_stated(s, kind, host);
    for (size_t r = 0; r < s->rails; r++) {
        const struct nt_fault *own = s->at[kind][r * s->model->hosts + host].fault;
        if (own == NULL)
            continue;
        struct nt_fault f = *own;
        if (stated != NULL) {
            f.way = stated->way;
            f.others = stated->others;
            memcpy(f.other, stated->other, sizeof f.other);
        }
        drop_host(&f);
        snprintf(f.rail, sizeof f.rail, "%s", s->name[r]);
        if (stated != NULL && stated->rail[0] == '\0')
            *stated = f;
        else
            add_fault(s, &f);
    }
}

static void blame_host(struct rails *s, int kind, size_t host)
{
    struct nt_fault *f = find_stated(s, kind, host);
    const struct figure *at = s->at[kind];
    for (size_t r = 0; r < s->rails && f == NULL; r++)
        f = add_fault(s, at[r * s->model->hosts + host].fault);
    if (f == NULL)
        return;
    f->part = (struct nt_fault_part){NT_FAULT_HOST_SLOW, (uint32_t)host, (uint32_t)host};
    f->by_rate = kind == RATE;
    drop_host(f);
}

static int by_pair(const void *x, const void *y)
{
    const struct nt_rail_measurement *a = x, *b = y;
    const int by_value = NT_ORDER(a->bytes, b->bytes, NT_ORDER(a->us, b->us, 0));
    return NT_ORDER(a->rail, b->rail, NT_ORDER(a->a, b->a, NT_ORDER(a->b, b->b, by_value)));
}

/* ---- the search -------------------------------------------------------------------------- */

static void find_links(struct rails *s)
{
    const struct nt_model *m = s->model;
    for (size_t h = 0; h < m->hosts; h++)
        s->link[h] = m->links;
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        if (l->a < m->hosts && l->b >= m->hosts)
            s->link[l->a] = k;
        if (l->b < m->hosts && l->a >= m->hosts)
            s->link[l->b] = k;
    }
}

static int find_all(struct rails *s, struct nt_faults_found *found, struct nt_err *err)
{
    double shortest = shortest_message(s);
    find_links(s);
    for (size_t r = 0; r < s->rails; r++) {
        find_latencies(s, r, shortest);
        find_rates(s, r, shortest);
        for (int kind = 0; kind < FIGURES; kind++)
            compare_with_usual(s, r, kind);
        if (find_of_rail(s, r, &found[r], err) != 0)
            return -1;
    }
    for (int kind = 0; kind < FIGURES; kind++)
        for (size_t h = 0; h < s->model->hosts; h++) {
            enum verdict verdict = decide(s, kind, h);
            if (verdict == CABLE)
                blame_cables(s, kind, h);
            else if (verdict == HOST)
                blame_host(s, kind, h);
        }
    return 0;
}

int nt_rail_faults_find(const struct nt_model *model, const struct nt_rail_measurements *seen,
                        struct nt_fault *fault, size_t *count, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t seen_count = seen->count, rails = seen->rails;
    struct rails s = {.model = model,
                      .seen_count = seen_count,
                      .rails = rails,
                      .name = seen->name,
                      .fault = fault,
                      .count = count};
    if (rails < 2 || seen_count == 0)
        return 0;
    for (int kind = 0; kind < FIGURES; kind++)
        s.at[kind] = nt_arena_array(&memory, rails * model->hosts + 1, sizeof *s.at[kind]);
    s.link = nt_arena_array(&memory, model->hosts + 1, sizeof *s.link);
    s.lowest = nt_arena_array(&memory, model->hosts + 1, sizeof *s.lowest);
    s.value = nt_arena_array(&memory, model->hosts + 1, sizeof *s.value);
    struct nt_faults_found *found = nt_arena_array(&memory, rails, sizeof *found);
    s.seen = nt_arena_array(&memory, seen_count, sizeof *s.seen);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    memcpy(s.seen, seen->at, seen_count * sizeof *s.seen);
    qsort(s.seen, seen_count, sizeof *s.seen, by_pair);
    for (int kind = 0; kind < FIGURES; kind++)
        for (size_t k = 0; k < rails * model->hosts; k++)
            s.at[kind][k] = (struct figure){.value = NAN, .se = NAN, .worse = NAN};
    int rc = find_all(&s, found, err);
    for (size_t r = 0; r < rails; r++)
        nt_faults_found_fini(&found[r]);
    return rc;
}
