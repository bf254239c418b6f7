/* SPDX-License-Identifier: Apache-2.0 */
/* Whether maps are right: how bench_truth solves what is measured, judges the map and prints a row.
 * Header only, so that each program stays one file.
 *
 * Truth comes from the generator's network and the job's hosts alone.
 * - A group is the set of hosts on one side of a link between switches, two or more on each side.
 *   In trees all such sets are real, and only these. The gap of a group is what the link adds to
 *   the readings that cross it twice: twice its latency (chains of links count as one link).
 * - In networks that are no trees the groups are the hosts of one switch, with the shortest link
 *   between switches as gap. Another set is real if in 400 quartets, two hosts i, j of it and two
 *   others u, v, min(d_iu + d_jv, d_iv + d_ju) > d_ij + d_uv without noise.
 * - Noise is the robust sd of a pair's reading (truth_noise_us). A group is visible if its gap is
 *   VISIBLE_SD times the noise or more, and if each host on its smaller side has readings inside
 *   that show it: errors of less than half the gap, in the median over its pairs inside. Otherwise
 *   the reading that decides on a pair of hosts may be one of those that are wrong. In the tables
 *   small, placements and pairs groups have a known gap, and all of them count.
 * - A map is right (exact) if it states every visible group and none that is not real, and is a
 *   tree if the network is one. In networks that are no trees a map states the hosts of one switch
 *   also by attaching exactly these to a switch, or these and hosts that hang on it: a host alone
 *   on its switch, all of whose paths lead over one other switch, is as a host of that with a
 *   longer link, as in trees. Whole rings, meshes, tori and hypercubes are right
 *   (found) if each host is with the hosts of its switch and the map's latencies of all pairs are
 *   right to a quarter of a link: no other network has these.
 */
#ifndef TRUTH_JUDGE_H
#define TRUTH_JUDGE_H

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "published.h"
#include "solve.h"
#include "truth_readings.h"

static const double VISIBLE_SD = 5, SURE = 0.9;

/* ---- the run ---------------------------------------------------------------------------------*/

enum { BINS = 6, FAILS = 32768 };
static const double bin_from[BINS] = {0, 0.5, 0.8, 0.9, 0.95, 0.99};

struct run {
    uint64_t seed;
    double scale;
    const char *table, *dump;
    size_t dumped;
    size_t bin[BINS], bin_real[BINS];        /* supports of the table's groups */
    size_t of_map[BINS], of_map_right[BINS]; /* confidences of its maps */
    char fails[FAILS];
};

struct tally {
    size_t maps, right, visible, found, stated, invented, high, high_invented;
    size_t sure, sure_right, middle, middle_right;
    double brier, ms;
};

static size_t scaled(const struct run *r, double networks)
{
    return (size_t)fmax(1, round(networks * r->scale));
}

/* A stream of its own for each network, whatever else is run. */
static void stream(const struct run *r, uint64_t kind, uint64_t size, uint64_t network,
                   struct nt_rng *rng)
{
    nt_rng_init(rng, r->seed);
    for (const char *c = r->table; *c != '\0'; c++)
        nt_rng_init(rng, nt_rng_next(rng) ^ (uint64_t)*c);
    nt_rng_init(rng, nt_rng_next(rng) ^ kind);
    nt_rng_init(rng, nt_rng_next(rng) ^ size);
    nt_rng_init(rng, nt_rng_next(rng) ^ network);
}

static void require(struct run *r, bool holds, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void require(struct run *r, bool holds, const char *format, ...)
{
    va_list list;
    size_t used = strlen(r->fails);
    if (holds)
        return;
    used += (size_t)snprintf(r->fails + used, FAILS - used, "%s", used > 0 ? "; " : "");
    va_start(list, format);
    if (used < FAILS)
        vsnprintf(r->fails + used, FAILS - used, format, list);
    va_end(list);
}

/* ---- readings in, map out --------------------------------------------------------------------*/

static double cpu_ms(void)
{
    return 1e3 * (double)clock() / CLOCKS_PER_SEC;
}

static struct nt_published published; /* --method */

/* rates: NULL: not measured. name: of each host in the order of x, or NULL: n0, n1, ... */
static struct nt_map *solve(const struct nt_matrix *x, const struct nt_matrix *rates,
                            const char *const *name, double *ms)
{
    struct nt_method method;
    char(*made)[24] = truth_alloc(x->n, sizeof *made);
    const char **names = truth_alloc(x->n, sizeof *names);
    struct nt_map *map;
    struct nt_err err = {0};
    for (size_t h = 0; h < x->n; h++) {
        snprintf(made[h], sizeof *made, "n%zu", h);
        names[h] = name != NULL ? name[h] : made[h];
    }
    struct nt_solve_input input = {
        .latency = x, .bandwidth = rates, .host_name = names, .pattern = ""};
    input.method = nt_published_method(&published, &method) ? &method : NULL;
    double from = cpu_ms();
    known_must(nt_solve_measured(&input, &map, &err), &err);
    *ms = cpu_ms() - from;
    free(made);
    free(names);
    return map;
}

/* Marks all that hangs together with vertex v without link `but`. */
static void reach(const struct nt_model *m, uint32_t v, size_t but, bool *seen)
{
    bool more = true;
    seen[v] = true;
    while (more) {
        more = false;
        for (size_t k = 0; k < m->links; k++) {
            uint32_t a = m->link[k].a, b = m->link[k].b;
            if (k == but || seen[a] == seen[b])
                continue;
            seen[a] = seen[b] = more = true;
        }
    }
}

/* What a map states of hosts. */
struct stated {
    struct job_groups groups; /* links between switches that part the map */
    struct job_groups seats;  /* the hosts that are attached to one switch */
    bool tree;
};

static void state(const struct nt_model *m, struct stated *s)
{
    size_t n = m->hosts, vertices = n + m->switches, count, bridges = 0;
    uint32_t *host = truth_alloc(n, sizeof *host);
    bool *seen = truth_alloc(vertices, sizeof *seen);
    job_groups_init(&s->groups, n);
    job_groups_init(&s->seats, n);
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        memset(seen, 0, vertices * sizeof *seen);
        reach(m, l->a, k, seen);
        bridges += !seen[l->b];
        if (l->a < n || l->b < n || seen[l->b])
            continue;
        count = 0;
        for (uint32_t h = 0; h < n; h++)
            if (seen[h])
                host[count++] = h;
        job_groups_add(&s->groups, host, count, l->latency_us, l->probability);
    }
    for (size_t v = n; v < vertices; v++) {
        count = 0;
        for (size_t k = 0; k < m->links; k++) {
            const struct nt_link *l = &m->link[k];
            if ((l->a < n && l->b == v) || (l->b < n && l->a == v))
                host[count++] = l->a < n ? l->a : l->b;
        }
        job_groups_add(&s->seats, host, count, 0, 1);
    }
    s->tree = bridges == m->links && (m->switches > 0 || n < 3);
    free(host);
    free(seen);
}

static void stated_fini(struct stated *s)
{
    job_groups_fini(&s->groups);
    job_groups_fini(&s->seats);
}

/* ---- judgement -------------------------------------------------------------------------------*/

/* Two hosts of the group, or two others. */
static void draw_two(const struct job_group *g, size_t hosts, bool in, struct nt_rng *rng,
                     uint32_t two[2])
{
    for (size_t k = 0; k < 2; k++)
        do
            two[k] = (uint32_t)nt_rng_below(rng, hosts);
        while (job_holds(g, two[k]) != in || (k == 1 && two[1] == two[0]));
}

/* In a network that is no tree: see the top. */
static bool is_real_split(const struct truth_net *net, const struct job_group *g)
{
    struct nt_rng rng;
    nt_rng_init(&rng, 1);
    for (size_t k = 0; k < 400; k++) {
        uint32_t i[2], u[2];
        draw_two(g, net->hosts, true, &rng, i);
        draw_two(g, net->hosts, false, &rng, u);
        double one = truth_apart(net, i[0], u[0]) + truth_apart(net, i[1], u[1]);
        double other = truth_apart(net, i[0], u[1]) + truth_apart(net, i[1], u[0]);
        double inside = truth_apart(net, i[0], i[1]) + truth_apart(net, u[0], u[1]);
        if (fmin(one, other) < inside + 1e-9)
            return false;
    }
    return true;
}

/* In a network that is no tree: the hosts of one switch. */
static void switch_groups(struct truth_net *net)
{
    uint32_t *host = truth_alloc(net->hosts, sizeof *host);
    for (uint32_t s = 0; s < net->switches; s++) {
        size_t count = 0;
        for (uint32_t h = 0; h < net->hosts; h++)
            if (net->at[h] == s)
                host[count++] = h;
        job_groups_add(&net->groups, host, count, net->hop_us / 2, 1);
    }
    free(host);
}

/* Hosts share a switch of the map if and only if they share one of the network. */
static bool same_seats(const struct truth_net *net, const struct nt_model *m)
{
    uint32_t *at = truth_alloc(net->hosts, sizeof *at);
    bool same = true;
    for (uint32_t h = 0; h < net->hosts; h++)
        at[h] = h;
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        if (l->a < net->hosts && l->b >= net->hosts)
            at[l->a] = l->b;
        if (l->b < net->hosts && l->a >= net->hosts)
            at[l->b] = l->a;
    }
    for (size_t i = 0; i < net->hosts; i++)
        for (size_t j = 0; j < i; j++)
            same &= (at[i] == at[j]) == (net->at[i] == net->at[j]);
    free(at);
    return same;
}

/* A single host per switch: a map may attach several to one where the latencies are the same. */
static bool is_found(const struct truth_net *net, const struct nt_model *m)
{
    bool single = net->hosts == net->switches;
    return truth_same_latencies(net, m) && (single || same_seats(net, m));
}

/* The readings that one sweep gave. */
struct readings {
    const struct nt_matrix *x;
    double least_us; /* gap from which a group is visible; 0: all groups are */
};

static double error_us(const struct truth_net *net, const struct nt_matrix *x, size_t i, size_t j)
{
    double there = (double)nt_matrix_get(x, i, j), back = (double)nt_matrix_get(x, j, i);
    return fabs((there + back) / 2 - truth_us(net, i, j));
}

static bool is_visible(const struct truth_net *net, const struct readings *read,
                       const struct job_group *g)
{
    double gap_us = 2 * g->latency_us, *off = truth_alloc(net->hosts, sizeof *off);
    size_t holds = 0, count;
    bool visible = gap_us >= read->least_us;
    for (size_t h = 0; h < net->hosts; h++)
        holds += job_holds(g, h);
    bool small = holds == g->size; /* the side that is kept */
    for (size_t i = 0; i < net->hosts && visible && read->least_us > 0; i++) {
        count = 0;
        for (size_t j = 0; j < net->hosts && job_holds(g, i) == small; j++)
            if (j != i && job_holds(g, j) == small)
                off[count++] = error_us(net, read->x, i, j);
        visible = truth_median(off, count) < gap_us / 2;
    }
    free(off);
    return visible;
}

/* Whether a host is alone on its switch and all its paths lead over the switch of another: it is as
 * a host of that switch with a longer link. */
static bool hangs_on(const struct truth_net *net, size_t host, size_t other)
{
    bool hangs = true;
    for (size_t h = 0; h < net->hosts && hangs; h++) {
        double over = truth_apart(net, host, other) + truth_apart(net, other, h);
        hangs =
            h == host || (net->at[h] != net->at[host] && over < truth_apart(net, host, h) + 1e-9);
    }
    return hangs;
}

/* Whether a map attaches the hosts of one switch, and none that does not hang on it, to one. */
static bool is_seat(const struct truth_net *net, const struct job_groups *seats,
                    const struct job_group *g)
{
    size_t first[2] = {SIZE_MAX, SIZE_MAX};
    bool one[2] = {true, true}; /* the hosts outside, and inside: all on one switch */
    for (size_t h = 0; h < net->hosts; h++) {
        bool in = job_holds(g, h);
        first[in] = first[in] == SIZE_MAX ? h : first[in];
        one[in] = one[in] && net->at[h] == net->at[first[in]];
    }
    size_t member = one[true] ? first[true] : first[false];
    for (size_t k = 0; k < seats->count; k++) {
        bool side = job_holds(&seats->group[k], member), same = one[true] || one[false];
        for (size_t h = 0; h < net->hosts && same; h++)
            same = net->at[h] == net->at[member]
                       ? job_holds(&seats->group[k], h) == side
                       : job_holds(&seats->group[k], h) != side || hangs_on(net, h, member);
        if (same)
            return true;
    }
    return false;
}

static size_t bin_of(double stated)
{
    size_t bin = BINS - 1;
    while (bin > 0 && !(stated >= bin_from[bin]))
        bin--;
    return bin;
}

static void count_verdict(struct run *r, bool real, double support, struct tally *t)
{
    size_t bin = bin_of(support);
    r->bin[bin]++;
    r->bin_real[bin] += real;
    t->stated++;
    t->invented += !real;
    t->high += support >= SURE;
    t->high_invented += !real && support >= SURE;
}

/* net: whose paths may show more than the groups; NULL: nothing else is real. */
static void count_stated(struct run *r, const struct stated *s, const struct truth_net *net,
                         const struct job_groups *groups, struct tally *t)
{
    for (size_t k = 0; k < s->groups.count; k++) {
        const struct job_group *g = &s->groups.group[k];
        bool real = job_groups_find(groups, g) != NULL ||
                    (net != NULL && !net->tree && is_real_split(net, g));
        count_verdict(r, real, g->support, t);
    }
}

static void judge_groups(struct run *r, const struct truth_net *net, const struct stated *s,
                         const struct readings *read, struct tally *t)
{
    for (size_t k = 0; k < net->groups.count; k++) {
        const struct job_group *g = &net->groups.group[k];
        if (!is_visible(net, read, g))
            continue;
        t->visible++;
        t->found +=
            job_groups_find(&s->groups, g) != NULL || (!net->tree && is_seat(net, &s->seats, g));
    }
    count_stated(r, s, net, &net->groups, t);
}

static void add(struct tally *to, const struct tally *t)
{
    to->maps += t->maps;
    to->right += t->right;
    to->visible += t->visible;
    to->found += t->found;
    to->stated += t->stated;
    to->invented += t->invented;
    to->high += t->high;
    to->high_invented += t->high_invented;
    to->sure += t->sure;
    to->sure_right += t->sure_right;
    to->middle += t->middle;
    to->middle_right += t->middle_right;
    to->brier += t->brier;
    to->ms += t->ms;
}

/* Adds a map whose groups are in t. */
static void judge_map(struct run *r, const struct nt_model *m, bool right, struct tally *t,
                      struct tally *to)
{
    double confidence = isnan(m->confidence) ? 0 : m->confidence;
    size_t bin = bin_of(confidence);
    r->of_map[bin]++;
    r->of_map_right[bin] += right;
    t->maps = 1;
    t->right = right;
    t->sure = confidence >= SURE;
    t->sure_right = right && confidence >= SURE;
    t->middle = confidence >= 0.5 && confidence < 0.8;
    t->middle_right = t->middle && right;
    t->brier = (confidence - right) * (confidence - right);
    add(to, t);
}

static bool judge(struct run *r, const struct truth_net *net, const struct nt_map *map,
                  const struct readings *read, struct tally *to)
{
    struct tally t = {0};
    struct stated s;
    state(map->model, &s);
    judge_groups(r, net, &s, read, &t);
    bool right = t.found == t.visible && t.invented == 0 && (s.tree || !net->tree);
    if (net->lattice)
        right = is_found(net, map->model);
    stated_fini(&s);
    judge_map(r, map->model, right, &t, to);
    return right;
}

static void write_csv(FILE *f, const struct nt_matrix *x)
{
    for (size_t i = 0; i < x->n; i++)
        fprintf(f, ",n%zu", i);
    for (size_t i = 0; i < x->n; i++) {
        fprintf(f, "\nn%zu", i);
        for (size_t j = 0; j < x->n; j++)
            if (i == j || isnan(nt_matrix_get(x, i, j)))
                fputc(',', f);
            else
                fprintf(f, ",%.7g", (double)nt_matrix_get(x, i, j));
    }
    fputc('\n', f);
}

static FILE *open_dump(const struct run *r, const char *suffix)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s-%05zu.%s", r->dump, r->table, r->dumped, suffix);
    FILE *f = fopen(path, "w");
    if (f == NULL) {
        fprintf(stderr, "bench_truth: cannot write %s: %s\n", path, strerror(errno));
        exit(4);
    }
    return f;
}

/* The truth: lines "group GAP_IN_SD visible|hidden HOST..." and "switch N HOST...". */
static void dump(struct run *r, const struct truth_net *net, const struct readings *read,
                 double sd_us)
{
    FILE *f = open_dump(r, "csv");
    write_csv(f, read->x);
    fclose(f);
    f = open_dump(r, "truth");
    for (size_t k = 0; k < net->groups.count; k++) {
        const struct job_group *g = &net->groups.group[k];
        fprintf(f, "group %.2f %s", 2 * g->latency_us / sd_us,
                is_visible(net, read, g) ? "visible" : "hidden");
        for (size_t h = 0; h < net->hosts; h++)
            if (job_holds(g, h))
                fprintf(f, " n%zu", h);
        fputc('\n', f);
    }
    for (size_t h = 0; h < net->hosts; h++)
        fprintf(f, "host n%zu switch %u\n", h, net->at[h]);
    fclose(f);
    r->dumped++;
}

static bool one_matrix(struct run *r, const struct truth_net *net, const struct nt_matrix *x,
                       double sd_us, double multiple, struct tally *t)
{
    double ms = 0;
    const struct readings read = {.x = x, .least_us = multiple * sd_us};
    if (r->dump != NULL)
        dump(r, net, &read, sd_us);
    struct nt_map *map = solve(x, NULL, NULL, &ms);
    t->ms += ms;
    bool right = judge(r, net, map, &read, t);
    nt_map_destroy(map);
    return right;
}

/* Measures, solves and judges one network. multiple: VISIBLE_SD, or 0 if all groups count. */
static bool one(struct run *r, struct truth_net *net, const struct truth_noise *noise,
                double multiple, struct nt_rng *rng, struct tally *t)
{
    if (!net->tree)
        switch_groups(net);
    struct nt_matrix *x = truth_measure(net, noise, rng);
    bool right = one_matrix(r, net, x, truth_noise_us(net, noise, rng), multiple, t);
    nt_matrix_destroy(x);
    return right;
}

/* ---- tables ----------------------------------------------------------------------------------*/

static double share(size_t a, size_t b)
{
    return b == 0 ? 1 : (double)a / (double)b;
}

static void begin_table(struct run *r, const char *table, const char *title)
{
    r->table = table;
    r->dumped = 0;
    memset(r->bin, 0, sizeof r->bin);
    memset(r->bin_real, 0, sizeof r->bin_real);
    memset(r->of_map, 0, sizeof r->of_map);
    memset(r->of_map_right, 0, sizeof r->of_map_right);
    printf("\n# %s: %s\n", r->table, title);
}

static void print_head(const char *last)
{
    printf("%-18s %9s %8s %6s %6s %12s %9s %11s %11s %9s %6s %9s\n", "kind", "size", "networks",
           "exact", "share", "found", "invented", "at >= .9", "sure:right", ".5-.8", "Brier", last);
}

static void print_row(struct run *r, const char *kind, const char *size, const struct tally *t)
{
    char found[24], high[24], sure[24], middle[24];
    snprintf(found, sizeof found, "%zu/%zu", t->found, t->visible);
    snprintf(high, sizeof high, "%zu/%zu", t->high_invented, t->high);
    snprintf(sure, sizeof sure, "%zu/%zu", t->sure_right, t->sure);
    snprintf(middle, sizeof middle, "%zu/%zu", t->middle_right, t->middle);
    printf("%-18s %9s %8zu %6zu %6.3f %12s %9zu %11s %11s %9s %6.3f %9.2f\n", kind, size, t->maps,
           t->right, share(t->right, t->maps), found, t->invented, high, sure, middle,
           t->maps == 0 ? 0 : t->brier / (double)t->maps,
           t->maps == 0 ? 0 : t->ms / (double)t->maps);
    fflush(stdout);
    require(r, t->sure < 30 || share(t->sure_right, t->sure) >= 0.95,
            "%s %s %s: sure maps right %zu/%zu", r->table, kind, size, t->sure_right, t->sure);
    require(r, t->high < 30 || share(t->high_invented, t->high) <= 0.05,
            "%s %s %s: groups at .9 invented %zu/%zu", r->table, kind, size, t->high_invented,
            t->high);
}

static void print_bins(const char *what, const size_t *right, const size_t *all)
{
    size_t sum = 0;
    for (size_t k = 0; k < BINS; k++)
        sum += all[k];
    if (sum == 0)
        return;
    printf("%s:", what);
    for (size_t k = 0; k < BINS; k++)
        printf("  %.2f+: %zu/%zu", bin_from[k], right[k], all[k]);
    printf("\n");
}

static void print_size(struct run *r, const char *kind, size_t size, const struct tally *t)
{
    char text[24];
    snprintf(text, sizeof text, "%zu", size);
    print_row(r, kind, text, t);
}

#endif
