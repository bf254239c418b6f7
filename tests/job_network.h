/* SPDX-License-Identifier: Apache-2.0 */
/* Networks of jobs: every tree of a few hosts, and the groups that schedulers give larger ones,
 * with readings of them. Random by the stream that is given. */
#ifndef JOB_NETWORK_H
#define JOB_NETWORK_H

#include "known_network.h"

/* ---- every tree of a few hosts ---- */

enum { JOB_FEW = 8, JOB_SHAPES_MAX = 64 };

/* A tree of switches with at least three links each, up to the names of its hosts; as known_tree
 * takes it. */
struct job_shape {
    size_t hosts, switches;
    uint32_t at[JOB_FEW], parent[JOB_FEW];
};

enum { JOB_NAME = 4 * JOB_FEW };

static inline int job_names_order(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* The tree below switch s as seen from switch `from`: hosts and switches nested, in one order. */
static inline void job_name_below(const struct job_shape *t, uint32_t s, uint32_t from,
                                  char name[JOB_NAME])
{
    char part[JOB_FEW][JOB_NAME];
    size_t parts = 0, length = 0;
    for (size_t h = 0; h < t->hosts; h++)
        if (t->at[h] == s)
            memcpy(part[parts++], "o", 2);
    for (uint32_t u = 0; u < t->switches; u++)
        if (u != from && u != s && (t->parent[u] == s || t->parent[s] == u))
            job_name_below(t, u, s, part[parts++]);
    qsort(part, parts, JOB_NAME, job_names_order);
    name[length++] = '(';
    for (size_t k = 0; k < parts; k++)
        for (const char *p = part[k]; *p != '\0'; p++)
            name[length++] = *p;
    name[length++] = ')';
    name[length] = '\0';
}

/* The same for two trees that differ by names only. */
static inline void job_name(const struct job_shape *t, char name[JOB_NAME])
{
    char other[JOB_NAME];
    job_name_below(t, 0, 0, name);
    for (uint32_t s = 1; s < t->switches; s++) {
        job_name_below(t, s, s, other);
        if (strcmp(other, name) < 0)
            memcpy(name, other, JOB_NAME);
    }
}

/* One more host: at a switch, or at a new one within the link above host or switch `place`. */
static inline struct job_shape job_shape_grown(const struct job_shape *t, size_t place)
{
    struct job_shape new = *t;
    uint32_t added = (uint32_t)t->switches, host = (uint32_t) new.hosts++;
    if (place < t->switches) {
        new.at[host] = (uint32_t)place;
        return new;
    }
    place -= t->switches;
    new.switches++;
    new.at[host] = added;
    if (place < t->hosts) {
        new.parent[added] = t->at[place];
        new.at[place] = added;
    } else {
        uint32_t below = (uint32_t)(place - t->hosts);
        new.parent[added] = t->parent[below];
        new.parent[below] = added;
    }
    return new;
}

/* All trees of 3..JOB_FEW hosts; their number (1, 2, 3, 7, 13, 32). A tree without one of its
 * hosts is a tree of one host less, so growing those in every way makes all of them. */
static inline size_t job_shapes(size_t hosts, struct job_shape shape[JOB_SHAPES_MAX])
{
    char name[JOB_SHAPES_MAX][JOB_NAME];
    size_t count = 1;
    shape[0] = (struct job_shape){.hosts = 3, .switches = 1};
    for (size_t n = 3; n < hosts; n++) {
        struct job_shape last[JOB_SHAPES_MAX];
        size_t lasts = count;
        memcpy(last, shape, count * sizeof *shape);
        count = 0;
        for (size_t k = 0; k < lasts; k++)
            for (size_t place = 0; place < 2 * last[k].switches + n; place++) {
                if (place >= last[k].switches + n &&
                    last[k].parent[place - last[k].switches - n] == place - last[k].switches - n)
                    continue; /* nothing is above the top */
                size_t same = 0;
                shape[count] = job_shape_grown(&last[k], place);
                job_name(&shape[count], name[count]);
                while (strcmp(name[same], name[count]) != 0)
                    same++;
                count += same == count;
            }
    }
    return count;
}

/* The shape with links drawn: host links 0.4 to 1 us, or all 0.7; others 0.1 to 0.6. */
static inline struct nt_model *job_few(const struct job_shape *t, bool equal, struct nt_rng *rng)
{
    double up[JOB_FEW] = {0};
    for (size_t s = 0; s < t->switches; s++)
        up[s] = 0.1 + 0.5 * nt_rng_uniform(rng);
    struct nt_model *m = known_tree(t->hosts, t->at, 0.7, t->switches, t->parent, up);
    for (size_t h = 0; h < t->hosts && !equal; h++)
        m->link[h].latency_us = 0.4 + 0.6 * nt_rng_uniform(rng);
    return m;
}

/* ---- the groups of a job ---- */

enum { JOB_HOSTS_MAX = 1024 };

/* How a scheduler gave the hosts: leaf k has size[k] of them, a leaf of one is a single. */
struct job_leaves {
    size_t count;
    size_t size[JOB_HOSTS_MAX];
};

static inline void job_leaves_add(struct job_leaves *l, size_t count, size_t size)
{
    while (count-- > 0)
        l->size[l->count++] = size;
}

/* groups of size, and singles up to hosts. */
static inline void job_leaves_some(struct job_leaves *l, size_t hosts, size_t groups, size_t size)
{
    l->count = 0;
    job_leaves_add(l, groups, size);
    job_leaves_add(l, hosts - groups * size, 1);
}

enum job_kind { JOB_SCATTERED, JOB_PAIRS, JOB_FRAGMENTS, JOB_TRIPLES, JOB_WHOLE, JOB_KINDS };

/* For six hosts or more. Mostly singles with a few pairs and triples; n/8..n/2 pairs; fragments of
 * 1 to 4; n/8..n/3 triples; whole leaves of 4 to 8, the last one what is left. */
static inline void job_leaves_draw(struct job_leaves *l, enum job_kind kind, size_t hosts,
                                   struct nt_rng *rng)
{
    size_t whole = 4 + nt_rng_below(rng, 5), left = hosts;
    l->count = 0;
    if (hosts < 3 * whole)
        whole = hosts / 3;
    switch (kind) {
    case JOB_PAIRS:
        job_leaves_some(l, hosts, hosts / 8 + nt_rng_below(rng, hosts / 2 - hosts / 8 + 1), 2);
        return;
    case JOB_TRIPLES:
        job_leaves_some(l, hosts, hosts / 8 + nt_rng_below(rng, hosts / 3 - hosts / 8 + 1), 3);
        return;
    default:
        break;
    }
    while (left > 0) {
        size_t size = whole;
        if (kind == JOB_FRAGMENTS)
            size = 1 + nt_rng_below(rng, 4);
        if (kind == JOB_SCATTERED) {
            size_t one = nt_rng_below(rng, 16);
            size = one < 2 ? 2 : one < 3 ? 3 : 1;
        }
        size = size < left ? size : left;
        size = size + 2 < hosts ? size : 1; /* the other side is no single */
        job_leaves_add(l, 1, size);
        left -= size;
    }
}

/* The job's tree: leaves below one top, or below pods of `pod` leaves (0: no pods) below it; every
 * link between switches is up_us. A leaf of one host is a longer link of the host. */
static inline struct nt_model *job_tree(const struct job_leaves *l, size_t pod, double host_us,
                                        double up_us)
{
    size_t pods = pod > 1 ? l->count / pod : 0, hosts = 0;
    if (pods < 3) /* two pods are two ends of one link */
        pods = 0;
    size_t switches = 1 + pods;
    uint32_t *at = malloc(JOB_HOSTS_MAX * sizeof *at);
    uint32_t *parent = calloc(2 * JOB_HOSTS_MAX, sizeof *parent);
    double *up = calloc(2 * JOB_HOSTS_MAX, sizeof *up), more[JOB_HOSTS_MAX] = {0};
    for (size_t p = 1; p <= pods; p++)
        up[p] = up_us;
    for (size_t k = 0; k < l->count; k++) {
        uint32_t above = pods > 0 ? (uint32_t)(1 + k % pods) : 0;
        uint32_t leaf = above;
        if (l->size[k] > 1) {
            leaf = (uint32_t)switches++;
            parent[leaf] = above;
            up[leaf] = up_us;
        }
        for (size_t i = 0; i < l->size[k]; i++) {
            more[hosts] = l->size[k] > 1 ? 0 : up_us;
            at[hosts++] = leaf;
        }
    }
    struct nt_model *m = known_tree(hosts, at, host_us, switches, parent, up);
    for (size_t h = 0; h < hosts; h++)
        m->link[h].latency_us += more[h];
    free(at);
    free(parent);
    free(up);
    return m;
}

/* ---- readings ---- */

struct job_noise {
    double sd_us;    /* of a reading */
    double sd;       /* and relative to it */
    double outliers; /* share of the readings that are 0.5 to 2 us high */
    double low;      /* share of those that are a fifth to three fifths low instead */
    double host;     /* sd of an error that a host's readings share, in those of a reading */
    double missing;  /* share of the pairs */
    double burst;    /* share of the pairs with four times the sd */
    bool skewed;     /* exponential tail upwards instead of normal */
    bool one_sided;  /* only upwards: the absolute of a normal one */
    bool directions; /* both directions measured apart */
};

static inline double job_reading(double truth, double shared, const struct job_noise *noise,
                                 struct nt_rng *rng, bool *disturbed)
{
    struct known_noise kind = {.one_sided = noise->one_sided, .skewed = noise->skewed};
    double v = truth + (noise->sd_us + noise->sd * truth) * (known_error(&kind, rng) + shared);
    *disturbed = nt_rng_uniform(rng) < noise->outliers;
    if (*disturbed) {
        bool low = nt_rng_uniform(rng) < noise->low;
        double much = nt_rng_uniform(rng);
        v = low ? v * (0.8 - 0.4 * much) : v + 0.5 + 1.5 * much;
    }
    return fmax(v, 0.001);
}

/* Measures m (hosts first shuffled); m becomes the canonical truth. *undisturbed, where it is
 * wanted: the readings that are no outliers, NaN for the others. */
static inline struct nt_matrix *job_measure_known(struct nt_model *m, const struct job_noise *noise,
                                                  struct nt_rng *rng,
                                                  struct nt_matrix **undisturbed)
{
    struct nt_err err;
    struct nt_matrix *x;
    double *own = malloc((m->hosts + 1) * sizeof *own);
    known_shuffle(m, rng);
    known_must(nt_model_latencies(m, &x, &err), &err);
    if (undisturbed != NULL)
        known_must(nt_matrix_create(m->hosts, NT_MATRIX_LATENCY_US, undisturbed, &err), &err);
    for (size_t i = 0; i < m->hosts; i++)
        own[i] = noise->host > 0 ? noise->host * nt_rng_normal(rng) : 0;
    for (size_t i = 0; i < m->hosts; i++)
        for (size_t j = 0; j < i; j++) {
            double t = (double)nt_matrix_get(x, i, j), shared = own[i] + own[j];
            bool off, off_back;
            struct job_noise now = *noise;
            if (noise->burst > 0 && nt_rng_uniform(rng) < noise->burst) {
                now.sd_us *= 4;
                now.sd *= 4;
            }
            double there = job_reading(t, shared, &now, rng, &off), back = there;
            off_back = off;
            if (noise->directions)
                back = job_reading(t, shared, &now, rng, &off_back);
            bool none = nt_rng_uniform(rng) < noise->missing;
            nt_matrix_set(x, i, j, none ? NAN : (float)there);
            nt_matrix_set(x, j, i, none ? NAN : (float)back);
            if (undisturbed != NULL) {
                nt_matrix_set(*undisturbed, i, j, none || off ? NAN : (float)there);
                nt_matrix_set(*undisturbed, j, i, none || off_back ? NAN : (float)back);
            }
        }
    known_must(nt_model_canonicalise(m, &err), &err);
    free(own);
    return x;
}

static inline struct nt_matrix *job_measure(struct nt_model *m, const struct job_noise *noise,
                                            struct nt_rng *rng)
{
    return job_measure_known(m, noise, rng, NULL);
}

/* Four hosts, exact: 1 and 4 on one side, 2 and 3 on the other. */
static inline struct nt_matrix *job_four(void)
{
    static const float us[4][4] = {
        {0, 440, 340, 240}, {440, 0, 340, 440}, {340, 340, 0, 340}, {240, 440, 340, 0}};
    struct nt_matrix *x;
    struct nt_err err;
    known_must(nt_matrix_create(4, NT_MATRIX_LATENCY_US, &x, &err), &err);
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 4; j++)
            if (i != j)
                nt_matrix_set(x, i, j, us[i][j]);
    return x;
}

#endif
