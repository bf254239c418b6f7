/* SPDX-License-Identifier: Apache-2.0 */
/* Maps held against the networks that were measured, for every kind of network, noise and job.
 *     build/tests/bench_truth [--strict] [--method METHOD] [--dump DIR] [TABLE, default all [SEED,
 * default 1 [SCALE, default 1]]] METHOD is that of nettopo solve. TABLE is trees, small,
 * placements, pairs, nontrees, invariance, speed or all. SCALE multiplies the networks. --dump
 * writes each matrix as DIR/TABLE-N.csv and its truth as DIR/TABLE-N.truth. The last line is ok, or
 * the required figures that are missed; with --strict the exit code is 1 then.
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
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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
    size_t bin[BINS], bin_real[BINS]; /* supports of the table's groups */
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

/* name: of each host in the order of x, or NULL: n0, n1, ... */
static struct nt_published published; /* --method */

static struct nt_map *solve(const struct nt_matrix *x, const char *const *name, double *ms)
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
    struct nt_solve_input input = {.latency = x, .host_name = names, .pattern = ""};
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
    for (size_t k = 0; k < s->groups.count; k++) {
        const struct job_group *g = &s->groups.group[k];
        bool real =
            job_groups_find(&net->groups, g) != NULL || (!net->tree && is_real_split(net, g));
        size_t bin = BINS - 1;
        while (bin > 0 && !(g->support >= bin_from[bin]))
            bin--;
        r->bin[bin]++;
        r->bin_real[bin] += real;
        t->stated++;
        t->invented += !real;
        t->high += g->support >= SURE;
        t->high_invented += !real && g->support >= SURE;
    }
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

static bool judge(struct run *r, const struct truth_net *net, const struct nt_map *map,
                  const struct readings *read, struct tally *to)
{
    const struct nt_model *m = map->model;
    struct tally t = {.maps = 1};
    struct stated s;
    double confidence = isnan(m->confidence) ? 0 : m->confidence;
    state(m, &s);
    judge_groups(r, net, &s, read, &t);
    bool right = t.found == t.visible && t.invented == 0 && (s.tree || !net->tree);
    if (net->lattice)
        right = is_found(net, m);
    t.right = right;
    t.sure = confidence >= SURE;
    t.sure_right = right && confidence >= SURE;
    t.middle = confidence >= 0.5 && confidence < 0.8;
    t.middle_right = t.middle && right;
    t.brier = (confidence - right) * (confidence - right);
    stated_fini(&s);
    add(to, &t);
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

/* Measures, solves and judges one network. multiple: VISIBLE_SD, or 0 if all groups count. */
static bool one(struct run *r, struct truth_net *net, const struct truth_noise *noise,
                double multiple, struct nt_rng *rng, struct tally *t)
{
    double ms = 0;
    if (!net->tree)
        switch_groups(net);
    struct nt_matrix *x = truth_measure(net, noise, rng);
    double sd_us = truth_noise_us(net, noise, rng);
    const struct readings read = {.x = x, .least_us = multiple * sd_us};
    if (r->dump != NULL)
        dump(r, net, &read, sd_us);
    struct nt_map *map = solve(x, NULL, &ms);
    t->ms += ms;
    bool right = judge(r, net, map, &read, t);
    nt_map_destroy(map);
    nt_matrix_destroy(x);
    return right;
}

/* ---- tables ----------------------------------------------------------------------------------*/

static double share(size_t a, size_t b)
{
    return b == 0 ? 1 : (double)a / (double)b;
}

static void print_table(struct run *r, const char *table, const char *title)
{
    r->table = table;
    r->dumped = 0;
    memset(r->bin, 0, sizeof r->bin);
    memset(r->bin_real, 0, sizeof r->bin_real);
    printf("\n# %s: %s\n", table, title);
}

static void print_head(struct run *r, const char *table, const char *title)
{
    print_table(r, table, title);
    printf("%-18s %9s %8s %6s %6s %12s %9s %11s %11s %9s %6s %9s\n", "kind", "size", "networks",
           "exact", "share", "found", "invented", "at >= .9", "sure:right", ".5-.8", "Brier",
           "CPU ms");
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

static void print_supports(const struct run *r)
{
    printf("supports stated, real/all:");
    for (size_t k = 0; k < BINS; k++)
        printf("  %.2f+: %zu/%zu", bin_from[k], r->bin_real[k], r->bin[k]);
    printf("\n");
}

static void print_size(struct run *r, const char *kind, size_t size, const struct tally *t)
{
    char text[24];
    snprintf(text, sizeof text, "%zu", size);
    print_row(r, kind, text, t);
}

/* Trees, nested and uneven in turn. */
static void one_tree(struct run *r, enum truth_kind kind, size_t hosts, size_t network,
                     struct tally shape[2], struct tally *t)
{
    struct nt_rng rng;
    struct truth_net net;
    struct truth_noise noise;
    struct tally mine = {0};
    bool uneven = network % 2;
    stream(r, kind, hosts, network, &rng);
    double older = kind == TRUTH_OLDER ? truth_between(&rng, 0.2, 0.5) : 0;
    if (uneven)
        truth_uneven(hosts, older, &rng, &net);
    else
        truth_nested(hosts, truth_placement_draw(&rng), older, &rng, &net);
    double more_us = kind == TRUTH_ETHERNET ? truth_between(&rng, 1, 4) : 0;
    for (size_t h = 0; h < hosts; h++)
        net.end_us[h] += more_us * exp(0.01 * nt_rng_normal(&rng));
    truth_net_median(&net);
    truth_noise_draw(kind, &rng, &noise);
    one(r, &net, &noise, VISIBLE_SD, &rng, &mine);
    add(&shape[uneven], &mine);
    add(t, &mine);
    truth_net_fini(&net);
}

static void bench_trees(struct run *r)
{
    static const size_t sizes[] = {4, 6, 8, 16, 32, 64, 128, 256};
    static const double networks[] = {24, 16, 16, 12, 8, 6, 2, 2};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    struct tally by_size[SIZES] = {{0}}, shape[2] = {{0}}, few = {0}, many = {0};
    print_head(r, "trees", "nested and uneven, 14 kinds of noise, visible from 5 sd");
    for (size_t k = 0; k < TRUTH_KINDS; k++) {
        struct tally all = {0};
        for (size_t s = 0; s < SIZES; s++) {
            struct tally t = {0};
            for (size_t i = 0; i < scaled(r, networks[s]); i++)
                one_tree(r, (enum truth_kind)k, sizes[s], i, shape, &t);
            print_size(r, truth_kind_names[k], sizes[s], &t);
            add(&all, &t);
            add(&by_size[s], &t);
            add(sizes[s] < 128 ? &few : &many, &t);
        }
        print_row(r, truth_kind_names[k], "all", &all);
    }
    for (size_t s = 0; s < SIZES; s++)
        print_size(r, "all", sizes[s], &by_size[s]);
    print_row(r, "nested", "all", &shape[0]);
    print_row(r, "uneven", "all", &shape[1]);
    print_row(r, "all", "4-64", &few);
    print_row(r, "all", "128-256", &many);
    print_supports(r);
    require(r, share(few.right, few.maps) >= 0.97, "trees 4-64: exact %.3f < .97",
            share(few.right, few.maps));
    require(r, share(many.right, many.maps) >= 0.92, "trees 128-256: exact %.3f < .92",
            share(many.right, many.maps));
    require(r,
            few.middle < 30 || (share(few.middle_right, few.middle) >= 0.5 &&
                                share(few.middle_right, few.middle) <= 0.85),
            "trees 4-64: maps at .5 to .8 right %zu/%zu", few.middle_right, few.middle);
}

/* A network whose links at the leaves are gap sd of a pair's reading apart. */
static struct truth_noise noise_of_gap(const struct truth_net *net, double gap_us, double gap,
                                       struct nt_rng *rng)
{
    struct truth_noise noise = {.one_way = nt_rng_below(rng, 2) == 0};
    noise.core = gap_us / gap / net->median_us * (noise.one_way ? 1 : sqrt(2));
    return noise;
}

static void one_small(struct run *r, size_t hosts, double gap, size_t network, struct tally *t)
{
    static struct truth_pod_shape shape[TRUTH_POD_SHAPES];
    static struct truth_placement_shape all[2048];
    struct nt_rng rng;
    struct truth_net net;
    struct truth_placement_shape now = {0};
    stream(r, (uint64_t)(10 * gap), hosts, network, &rng);
    size_t shapes = truth_pod_shapes(hosts, shape);
    size_t count = truth_placements(hosts, shape, shapes - 1, &now, all);
    double us[3] = {truth_between(&rng, 0.4, 1)};
    us[1] = us[0] * truth_between(&rng, 0.15, 0.4);
    us[2] = us[1] * truth_between(&rng, 0.8, 1.25);
    truth_placed(&all[nt_rng_below(&rng, count)], shape, us, 0.02, &rng, &net);
    struct truth_noise noise = noise_of_gap(&net, 2 * us[1], gap, &rng);
    one(r, &net, &noise, 0, &rng, t);
    truth_net_fini(&net);
}

static void bench_small(struct run *r)
{
    static const double gaps[] = {20, 10, 6.7, 5, 3}, least[] = {0, 0, 0.93, 0.88, 0};
    struct tally all = {0};
    print_head(r, "small", "pods of leaves, kind: gap in sd of a reading, all groups count");
    for (size_t g = 0; g < 5; g++) {
        struct tally of_gap = {0};
        char kind[24];
        snprintf(kind, sizeof kind, "gap %g sd", gaps[g]);
        for (size_t hosts = 4; hosts <= 7; hosts++) {
            struct tally t = {0};
            for (size_t i = 0; i < scaled(r, 48); i++)
                one_small(r, hosts, gaps[g], i, &t);
            print_size(r, kind, hosts, &t);
            add(&of_gap, &t);
        }
        print_row(r, kind, "4-7", &of_gap);
        require(r, share(of_gap.right, of_gap.maps) >= least[g], "small %s: exact %.3f < %.2f",
                kind, share(of_gap.right, of_gap.maps), least[g]);
        add(&all, &of_gap);
    }
    print_row(r, "all", "4-7", &all);
    print_supports(r);
    require(r, share(all.sure_right, all.sure) >= 0.99, "small: sure maps right %zu/%zu",
            all.sure_right, all.sure);
}

/* Ends .58 us, uplinks .15 and .18 us. */
static void one_placement(struct run *r, size_t hosts, const struct truth_noise *noise,
                          size_t which, size_t kind, struct tally *t)
{
    static const double us[3] = {0.58, 0.15, 0.18};
    static struct truth_pod_shape shape[TRUTH_POD_SHAPES];
    static struct truth_placement_shape all[2048];
    static size_t made;
    struct truth_placement_shape now = {0};
    struct nt_rng rng;
    struct truth_net net;
    if (made != hosts)
        truth_placements(hosts, shape, truth_pod_shapes(hosts, shape) - 1, &now, all);
    made = hosts;
    stream(r, kind, hosts, which, &rng);
    truth_placed(&all[which], shape, us, noise->core > 0 ? 0.003 : 0, &rng, &net);
    one(r, &net, noise, 0, &rng, t);
    truth_net_fini(&net);
}

static void bench_placements(struct run *r)
{
    static const struct truth_noise noise[] = {{.one_way = true},
                                               {.core = 0.01, .one_way = true},
                                               {.core = 0.01, .quantum_us = 0.1, .one_way = true}};
    static const char *const kinds[] = {"exact", "1 %", "1 %, 0.1 us timer"};
    static const size_t count[] = {58, 111, 223, 424, 817, 1527};
    print_head(r, "placements",
               "every placement on a three-tier tree (SCALE under 1: one in so "
               "many), all groups count");
    for (size_t k = 0; k < 3; k++) {
        struct tally all = {0};
        for (size_t hosts = 6; hosts <= TRUTH_FEW; hosts++) {
            struct tally t = {0};
            size_t step = (size_t)fmax(1, 1 / r->scale);
            for (size_t i = 0; i < count[hosts - 6]; i += step)
                one_placement(r, hosts, &noise[k], i, k, &t);
            print_size(r, kinds[k], hosts, &t);
            add(&all, &t);
        }
        print_row(r, kinds[k], "6-11", &all);
        require(r, share(all.right, all.maps) >= 0.99, "placements %s: exact %.4f < .99", kinds[k],
                share(all.right, all.maps));
        require(r, share(all.sure - all.sure_right, all.maps) <= 0.005 || all.maps == 0,
                "placements %s: sure and wrong %zu of %zu", kinds[k], all.sure - all.sure_right,
                all.maps);
    }
    print_supports(r);
}

/* Pairs or triples among single hosts, whose leaves have the same uplinks. */
static void one_pairs(struct run *r, size_t hosts, size_t size, double least, double most,
                      size_t network, struct tally *t)
{
    struct nt_rng rng;
    struct truth_net net;
    uint32_t *pod = truth_alloc(hosts, sizeof *pod), *leaf = truth_alloc(hosts, sizeof *leaf);
    stream(r, size * 100 + (uint64_t)most, hosts, network, &rng);
    double us[3] = {truth_between(&rng, 0.4, 1)}, gap = truth_scale(&rng, least, most);
    us[1] = us[0] * truth_between(&rng, 0.15, 0.4);
    size_t groups = truth_count(&rng, 1, hosts / size / 2);
    for (uint32_t h = 0; h < hosts; h++)
        leaf[h] = h < groups * size ? h / (uint32_t)size : h;
    truth_pods(hosts, pod, leaf, us, 0.01, &rng, &net);
    struct truth_noise noise = noise_of_gap(&net, 2 * us[1], gap, &rng);
    one(r, &net, &noise, 0, &rng, t);
    truth_net_fini(&net);
    free(pod);
    free(leaf);
}

static void bench_pairs(struct run *r)
{
    static const size_t sizes[] = {8, 16, 32, 64, 128};
    static const double networks[] = {40, 30, 20, 10, 4}, most[] = {5, 15};
    static const char *const kinds[2][2] = {{"pairs, 5 sd", "pairs, 5-15 sd"},
                                            {"triples, 5 sd", "triples, 5-15 sd"}};
    print_head(r, "pairs", "pairs and triples among singles, all groups count");
    for (size_t size = 2; size <= 3; size++)
        for (size_t g = 0; g < 2; g++) {
            struct tally all = {0};
            const char *kind = kinds[size - 2][g];
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                struct tally t = {0};
                for (size_t i = 0; i < scaled(r, networks[s]); i++)
                    one_pairs(r, sizes[s], size, 5, most[g], i, &t);
                print_size(r, kind, sizes[s], &t);
                add(&all, &t);
            }
            print_row(r, kind, "all", &all);
            require(r, g == 0 || share(all.found, all.visible) >= 0.98, "%s: found %.3f < .98",
                    kind, share(all.found, all.visible));
        }
    print_supports(r);
}

/* ---- networks that are no trees --------------------------------------------------------------*/

enum part {
    CYCLE_SCATTERED,
    CYCLE_RUNS,
    CYCLE_PAIRS,
    HYPERX,
    SLIMFLY,
    TORUS_PART,
    DRAGONFLY_PART,
    PARTS
};
static const char *const part_names[PARTS] = {"cycle, scattered", "cycle, runs", "cycle, pairs",
                                              "HyperX",           "Slim Fly",    "torus, part",
                                              "dragonfly, part"};

/* A job on a part of the network. */
static void draw_part(enum part kind, size_t hosts, struct nt_rng *rng, struct truth_net *net)
{
    static struct truth_graph g;
    static const size_t shapes[][3] = {{6, 6, 1}, {8, 4, 1}, {4, 4, 3}}, torus[] = {6, 6, 4};
    enum truth_placement how = truth_placement_draw(rng);
    double host_us = truth_between(rng, 0.45, 0.65), us = truth_between(rng, 0.1, 0.25);
    size_t on_switch = truth_count(rng, 2, 4);
    if (kind <= CYCLE_PAIRS) {
        truth_cycle(&g, 0.11);
        how = kind == CYCLE_RUNS ? TRUTH_PACKED : TRUTH_SCATTERED;
        on_switch = kind != CYCLE_PAIRS ? 18 : hosts < 14 ? 2 : (hosts + 6) / 7;
        truth_graph_some(&g, how, 7, on_switch, hosts, 0.55, rng, net);
        return;
    }
    if (kind == HYPERX)
        truth_hyperx(&g, 3, shapes[nt_rng_below(rng, 3)], us);
    else if (kind == SLIMFLY)
        truth_slimfly(&g, us);
    else if (kind == TORUS_PART)
        truth_lattice(&g, 3, torus, true, us), on_switch = truth_count(rng, 1, 2);
    else
        truth_dragonfly(&g, 9, 6, us, us * truth_between(rng, 1, 3));
    truth_graph_some(&g, how, g.switches, on_switch, hosts, host_us, rng, net);
}

static void one_part(struct run *r, enum part kind, size_t hosts, size_t network, struct tally *t)
{
    struct nt_rng rng;
    struct truth_net net;
    struct truth_noise noise;
    stream(r, kind, hosts, network, &rng);
    draw_part(kind, hosts, &rng, &net);
    truth_noise_draw(nt_rng_below(&rng, 2) == 0 ? TRUTH_PLAIN : TRUTH_TAILS, &rng, &noise);
    noise.core = truth_scale(&rng, 0.004, 0.02);
    one(r, &net, &noise, VISIBLE_SD, &rng, t);
    truth_net_fini(&net);
}

enum whole { RING, MESH, TORUS_2, TORUS_3, CUBE, DRAGONFLY, WHOLES };
static const char *const whole_names[WHOLES] = {"ring 3-12",   "mesh",      "torus 4x4",
                                                "torus 3x3x3", "hypercube", "dragonfly"};

/* 1 to 6 hosts per switch. */
static void draw_whole(enum whole kind, size_t network, struct nt_rng *rng, struct truth_net *net)
{
    static struct truth_graph g;
    static const size_t meshes[][2] = {{3, 3}, {4, 3}, {4, 4}}, four[] = {4, 4};
    static const size_t three[] = {3, 3, 3}, two[] = {2, 2, 2, 2};
    static const size_t flies[][2] = {{4, 3}, {5, 4}, {6, 3}};
    double host_us = truth_between(rng, 0.45, 0.65), us = truth_between(rng, 0.15, 0.3);
    size_t ring = 3 + network % 10, on_switch = 1 + (network / 10 + network) % 6;
    if (kind == RING)
        truth_lattice(&g, 1, &ring, true, us);
    else if (kind == MESH)
        truth_lattice(&g, 2, meshes[network / 6 % 3], false, us);
    else if (kind == TORUS_2)
        truth_lattice(&g, 2, four, true, us);
    else if (kind == TORUS_3)
        truth_lattice(&g, 3, three, true, us);
    else if (kind == CUBE)
        truth_lattice(&g, 3 + network / 6 % 2, two, false, us);
    else
        truth_dragonfly(&g, flies[network / 6 % 3][0], flies[network / 6 % 3][1], us,
                        us * truth_between(rng, 1, 3));
    truth_graph_whole(&g, on_switch, host_us, rng, net);
}

static void bench_wholes(struct run *r, struct tally *all)
{
    static const double cores[] = {0, 0.01, 0.03};
    static const double networks[WHOLES] = {60, 18, 12, 6, 12, 12};
    for (size_t k = 0; k < WHOLES; k++)
        for (size_t c = 0; c < 3; c++) {
            struct truth_noise noise = {.core = cores[c]};
            struct tally t = {0};
            char size[24];
            for (size_t i = 0; i < scaled(r, networks[k]); i++) {
                struct nt_rng rng;
                struct truth_net net;
                stream(r, 100 + 10 * k + c, 0, i, &rng);
                draw_whole((enum whole)k, i, &rng, &net);
                one(r, &net, &noise, VISIBLE_SD, &rng, &t);
                truth_net_fini(&net);
            }
            snprintf(size, sizeof size, "%.0f %%", 100 * cores[c]);
            print_row(r, whole_names[k], size, &t);
            add(all, &t);
            require(r, k == DRAGONFLY || share(t.right, t.maps) >= 0.9,
                    "nontrees %s %s: found %zu/%zu", whole_names[k], size, t.right, t.maps);
            require(r, k == DRAGONFLY || t.sure == t.sure_right,
                    "nontrees %s %s: sure and wrong %zu", whole_names[k], size,
                    t.sure - t.sure_right);
        }
}

static void bench_nontrees(struct run *r)
{
    static const size_t sizes[] = {6, 8, 12, 16, 32};
    struct tally all = {0};
    print_head(r, "nontrees",
               "parts of networks by hosts; whole networks by noise, 1 to 6 hosts "
               "per switch");
    for (size_t k = 0; k < PARTS; k++) {
        struct tally of_kind = {0};
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            struct tally t = {0};
            for (size_t i = 0; i < scaled(r, 10); i++)
                one_part(r, (enum part)k, sizes[s], i, &t);
            print_size(r, part_names[k], sizes[s], &t);
            add(&of_kind, &t);
        }
        print_row(r, part_names[k], "all", &of_kind);
        add(&all, &of_kind);
    }
    bench_wholes(r, &all);
    print_row(r, "all", "all", &all);
    print_supports(r);
    require(r, share(r->bin_real[2], r->bin[2]) >= 0.7, "nontrees: supports .8 to .9 real %zu/%zu",
            r->bin_real[2], r->bin[2]);
}

/* ---- invariance ------------------------------------------------------------------------------*/

enum change { REORDERED, RENAMED, SCALED, SHIFTED, THINNED, CHANGES };
static const char *const change_names[CHANGES] = {"other order", "other names", "times 1,000",
                                                  "plus a constant", "30 % missing"};

/* Row and column k of the result are those of host order[k]. */
static struct nt_matrix *changed(const struct nt_matrix *x, enum change change,
                                 const uint32_t *order, struct nt_rng *rng)
{
    struct nt_matrix *y;
    struct nt_err err;
    known_must(nt_matrix_create(x->n, NT_MATRIX_LATENCY_US, &y, &err), &err);
    for (size_t i = 0; i < x->n; i++)
        for (size_t j = 0; j < i; j++) {
            bool none = change == THINNED && nt_rng_uniform(rng) < 0.3;
            for (size_t way = 0; way < 2; way++) {
                size_t a = way ? i : j, b = way ? j : i;
                float v = nt_matrix_get(x, order[a], order[b]);
                v = change == SCALED ? v * 1000 : change == SHIFTED ? v + 2 : none ? NAN : v;
                nt_matrix_set(y, a, b, v);
            }
        }
    return y;
}

struct invariance {
    size_t maps, shapes, families, findings, crosses, wrong_new, lost;
    double confidence, link; /* largest changes; of a link between switches relative */
};

static bool same_sets(const struct job_groups *a, const struct job_groups *b)
{
    bool same = a->count == b->count;
    for (size_t k = 0; k < a->count; k++)
        same = same && job_groups_find(b, &a->group[k]) != NULL;
    return same;
}

/* The wrong groups that b states and a does not; of the right ones the other way around. */
static size_t wrong_new(const struct truth_net *net, const struct stated *a, const struct stated *b,
                        bool real)
{
    size_t count = 0;
    for (size_t k = 0; k < b->groups.count; k++) {
        const struct job_group *g = &b->groups.group[k];
        bool is = job_groups_find(&net->groups, g) != NULL || (!net->tree && is_real_split(net, g));
        count += is == real && job_groups_find(&a->groups, g) == NULL;
    }
    return count;
}

static void compare(const struct truth_net *net, const struct nt_map *was, const struct nt_map *is,
                    struct invariance *v)
{
    const struct nt_model *a = was->model, *b = is->model;
    struct stated before, after;
    state(a, &before);
    state(b, &after);
    bool same = same_sets(&before.groups, &after.groups) && same_sets(&before.seats, &after.seats);
    v->maps++;
    v->shapes += !same || a->links != b->links;
    v->families += a->family != b->family;
    v->findings += was->faults != is->faults;
    v->crosses += (a->confidence >= SURE) != (b->confidence >= SURE);
    v->confidence = fmax(v->confidence, fabs(a->confidence - b->confidence));
    v->lost += wrong_new(net, &after, &before, true);
    if (b->confidence >= SURE)
        v->wrong_new += wrong_new(net, &before, &after, false);
    for (size_t k = 0; k < before.groups.count && same; k++) {
        double x = before.groups.group[k].latency_us, y = after.groups.group[k].latency_us;
        v->link = fmax(v->link, fabs(y - x) / x);
    }
    stated_fini(&before);
    stated_fini(&after);
}

static void one_change(const struct truth_net *net, const struct nt_matrix *x, enum change change,
                       const struct nt_map *was, struct nt_rng *rng, struct invariance *v)
{
    double ms;
    size_t n = net->hosts;
    uint32_t *order = truth_alloc(n, sizeof *order), *number = truth_alloc(n, sizeof *number);
    char(*text)[24] = truth_alloc(n, sizeof *text);
    const char **name = truth_alloc(n, sizeof *name);
    for (uint32_t h = 0; h < n; h++)
        order[h] = number[h] = h;
    if (change == REORDERED)
        nt_rng_shuffle(rng, order, n);
    if (change == RENAMED)
        nt_rng_shuffle(rng, number, n);
    for (size_t h = 0; h < n; h++) {
        snprintf(text[h], sizeof *text, "n%u", number[order[h]]);
        name[h] = text[h];
    }
    struct nt_matrix *y = changed(x, change, order, rng);
    struct nt_map *is = solve(y, name, &ms);
    struct nt_model *m = is->model;
    for (uint32_t h = 0; h < n; h++)
        order[number[h]] = h;
    for (size_t k = 0; k < m->links && change == RENAMED; k++) {
        struct nt_link *l = &m->link[k];
        l->a = l->a < n ? order[l->a] : l->a;
        l->b = l->b < n ? order[l->b] : l->b;
    }
    for (size_t k = 0; k < m->links && change == SCALED; k++)
        m->link[k].latency_us /= 1000;
    compare(net, was, is, v);
    nt_map_destroy(is);
    nt_matrix_destroy(y);
    free(order);
    free(number);
    free(text);
    free(name);
}

/* Trees and other networks in turn. */
static void one_invariance(struct run *r, size_t network, struct invariance *v)
{
    static const size_t sizes[] = {4, 6, 8, 12, 16, 24, 32, 64};
    size_t hosts = sizes[network / 3 % 8];
    struct nt_rng rng;
    struct truth_net net;
    struct truth_noise noise;
    double ms;
    stream(r, 0, hosts, network, &rng);
    if (network % 3 == 0)
        truth_nested(hosts, truth_placement_draw(&rng), 0, &rng, &net);
    else if (network % 3 == 1)
        truth_uneven(hosts, 0, &rng, &net);
    else
        draw_part((enum part)(network / 3 % PARTS), hosts, &rng, &net);
    if (!net.tree)
        switch_groups(&net);
    truth_noise_draw((enum truth_kind)(network % TRUTH_KINDS), &rng, &noise);
    struct nt_matrix *x = truth_measure(&net, &noise, &rng);
    struct nt_map *was = solve(x, NULL, &ms);
    for (size_t c = 0; c < CHANGES; c++)
        one_change(&net, x, (enum change)c, was, &rng, &v[c]);
    nt_map_destroy(was);
    nt_matrix_destroy(x);
    truth_net_fini(&net);
}

static void bench_invariance(struct run *r)
{
    struct invariance all[CHANGES] = {{0}};
    print_table(r, "invariance", "maps that change, and the largest change of confidence");
    for (size_t i = 0; i < scaled(r, 96); i++)
        one_invariance(r, i, all);
    printf("%-16s %6s %6s %6s %8s %10s %10s %10s %12s %12s\n", "change", "maps", "shape", "family",
           "findings", "crosses .9", "confidence", "link", "groups lost", "wrong, sure");
    for (size_t c = 0; c < CHANGES; c++) {
        const struct invariance *v = &all[c];
        printf("%-16s %6zu %6zu %6zu %8zu %10zu %10.2g %10.2g %12zu %12zu\n", change_names[c],
               v->maps, v->shapes, v->families, v->findings, v->crosses, v->confidence, v->link,
               v->lost, v->wrong_new);
        if (c == THINNED)
            require(r, v->wrong_new == 0, "invariance, %s: wrong groups new in sure maps %zu",
                    change_names[c], v->wrong_new);
        else
            require(r,
                    v->shapes + v->families + v->findings == 0 &&
                        (c == SHIFTED || v->confidence <= 1e-6),
                    "invariance, %s: %zu shapes, %zu families, %zu findings, confidence %.2g",
                    change_names[c], v->shapes, v->families, v->findings, v->confidence);
    }
}

/* ---- speed -----------------------------------------------------------------------------------*/

/* CPU of gzip -1 of the matrix as CSV; NaN: there is no gzip. */
static double gzip_ms(const struct nt_matrix *x)
{
    FILE *csv = tmpfile();
    struct rusage use;
    int status;
    if (csv == NULL)
        return (double)NAN;
    write_csv(csv, x);
    rewind(csv);
    fflush(stdout); /* or the child prints it again */
    pid_t child = fork();
    if (child == 0) {
        dup2(fileno(csv), STDIN_FILENO);
        if (freopen("/dev/null", "w", stdout) != NULL)
            execlp("gzip", "gzip", "-1c", (char *)NULL);
        _exit(127);
    }
    bool ran = child > 0 && wait4(child, &status, 0, &use) == child && status == 0;
    fclose(csv);
    if (!ran)
        return (double)NAN;
    return 1e3 * (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-3 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static void one_speed(struct run *r, enum truth_placement how, size_t hosts, size_t network,
                      double ms[3])
{
    struct nt_rng rng;
    struct truth_net net;
    struct truth_noise noise = {.core = 0.01, .tail = 0.01};
    double one;
    stream(r, how, hosts, network, &rng);
    truth_nested(hosts, how, 0, &rng, &net);
    struct nt_matrix *x = truth_measure(&net, &noise, &rng);
    nt_map_destroy(solve(x, NULL, &one));
    ms[0] += one;
    ms[1] = fmax(ms[1], one);
    ms[2] += gzip_ms(x);
    nt_matrix_destroy(x);
    truth_net_fini(&net);
}

static void bench_speed(struct run *r)
{
    static const size_t sizes[] = {8, 64, 256, 1024, 4096};
    static const double runs[] = {20, 8, 4, 2, 1};
    static const char *const jobs[] = {[TRUTH_PACKED] = "packed", [TRUTH_SCATTERED] = "scattered"};
    print_table(r, "speed", "CPU ms per map, and of gzip -1 of the CSV");
    printf("%-10s %6s %6s %12s %12s %12s\n", "job", "hosts", "maps", "mean", "most", "gzip -1");
    for (size_t how = TRUTH_PACKED; how <= TRUTH_SCATTERED; how += TRUTH_SCATTERED)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            double ms[3] = {0};
            size_t count = scaled(r, runs[s]);
            for (size_t i = 0; i < count; i++)
                one_speed(r, (enum truth_placement)how, sizes[s], i, ms);
            ms[0] /= (double)count;
            ms[2] /= (double)count;
            printf("%-10s %6zu %6zu %12.2f %12.2f %12.2f\n", jobs[how], sizes[s], count, ms[0],
                   ms[1], ms[2]);
            fflush(stdout);
            require(r, how != TRUTH_PACKED || sizes[s] != 1024 || !(ms[0] > ms[2]),
                    "speed: %zu hosts take %.0f ms, gzip -1 %.0f", sizes[s], ms[0], ms[2]);
        }
}

int main(int argc, char **argv)
{
    static struct run r = {.seed = 1, .scale = 1};
    static const struct {
        const char *name;
        void (*bench)(struct run *r);
    } tables[] = {
        {"trees", bench_trees}, {"small", bench_small},       {"placements", bench_placements},
        {"pairs", bench_pairs}, {"nontrees", bench_nontrees}, {"invariance", bench_invariance},
        {"speed", bench_speed}};
    enum { TABLES = sizeof tables / sizeof *tables };
    const char *table = "all";
    size_t ran = 0;
    int at = 1;
    bool strict = at < argc && strcmp(argv[at], "--strict") == 0;
    at += strict ? 1 : 0;
    published = nt_published_named("auto");
    if (at + 1 < argc && strcmp(argv[at], "--method") == 0) {
        struct nt_err err;
        published = nt_published_named(argv[at + 1]);
        known_must(nt_published_check(&published, 1, &err), &err);
        at += 2;
    }
    if (at + 1 < argc && strcmp(argv[at], "--dump") == 0) {
        r.dump = argv[at + 1];
        at += 2;
    }
    if (at < argc && strchr("0123456789", argv[at][0]) == NULL)
        table = argv[at++];
    if (at < argc)
        r.seed = strtoull(argv[at++], NULL, 10);
    if (at < argc)
        r.scale = strtod(argv[at++], NULL);
    for (size_t k = 0; k < TABLES; k++)
        if (strcmp(table, "all") == 0 || strcmp(table, tables[k].name) == 0) {
            tables[k].bench(&r);
            ran++;
        }
    if (ran == 0 || !(r.scale > 0)) {
        fprintf(stderr,
                "bench_truth: expected [--strict] [--method METHOD] [--dump DIR] [TABLE [SEED "
                "[SCALE]]], see its top\n");
        return 2;
    }
    printf("\n%s%s\n", r.fails[0] != '\0' ? "missed: " : "ok", r.fails);
    return strict && r.fails[0] != '\0';
}
