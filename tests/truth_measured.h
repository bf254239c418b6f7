/* SPDX-License-Identifier: Apache-2.0 */
/* Groups found in matrices that were measured on machines whose groups are known, and in jobs of
 * few of their hosts, drawn at random.
 *
 * tests/data/seeds and build/measured (made by tests/measured) have the matrices,
 * tests/data/measured the groups that are known. A group that a map states is real, not real, or
 * unknown; unknown groups do not count. A group is visible when the median latency from it to
 * what is around it is over that between its parts by a twentieth, and by one standard deviation of
 * either (by the median). */
#ifndef TRUTH_MEASURED_H
#define TRUTH_MEASURED_H

#include <dirent.h>

#include "matrix_csv.h"
#include "measured_groups.h"
#include "truth_judge.h"

enum { MATRICES_MAX = 64 };

/* The median of |x - its median|, as a standard deviation. */
static inline double spread(double *x, size_t n)
{
    double middle = truth_median(x, n);
    for (size_t k = 0; k < n; k++)
        x[k] = fabs(x[k] - middle);
    return 1.4826 * truth_median(x, n);
}

static inline bool same_part(const struct measured_groups *t, const struct host_set *whole,
                             size_t a, size_t b)
{
    for (size_t g = 0; g < t->groups; g++)
        if (set_has(&t->below[g], a) && set_has(&t->below[g], b) &&
            set_within(&t->below[g], whole) && !set_same(&t->below[g], whole))
            return true;
    return false;
}

/* Whether the readings show a group that is there. */
static inline bool is_shown(const struct measured_groups *t, size_t group,
                            const struct nt_matrix *m)
{
    enum { READINGS_MAX = MEASURED_HOSTS_MAX * MEASURED_HOSTS_MAX };
    static double in[READINGS_MAX], out[READINGS_MAX];
    const struct host_set *s = &t->below[group];
    size_t around = measured_around(t, s), ins = 0, outs = 0;
    for (size_t a = 0; a < t->hosts; a++)
        for (size_t b = 0; b < t->hosts; b++) {
            float x = a == b ? NAN : nt_matrix_get(m, a, b);
            x = isnan(x) && a != b ? nt_matrix_get(m, b, a) : x;
            if (isnan(x) || !set_has(s, a))
                continue;
            if (set_has(s, b) && a < b && !same_part(t, s, a, b))
                in[ins++] = (double)x;
            if (!set_has(s, b) && (around == t->groups || set_has(&t->below[around], b)))
                out[outs++] = (double)x;
        }
    double far = truth_median(out, outs), gap = far - truth_median(in, ins);
    double sd_in = spread(in, ins), sd_out = spread(out, outs);
    return outs > 0 && ins > 0 && gap >= far / 20 && gap >= sd_in && gap >= sd_out;
}

static inline void judge_measured(struct run *r, const struct nt_matrix *latency,
                                  const struct measured_groups *truth, struct tally *to)
{
    static struct host_set group[2 * MEASURED_HOSTS_MAX];
    struct tally t = {0};
    struct stated s;
    struct nt_map *map = solve(latency, NULL, NULL, &t.ms);
    state(map->model, &s);
    for (size_t k = 0; k < s.groups.count; k++) {
        const struct job_group *g = &s.groups.group[k];
        group[k] = (struct host_set){{0}};
        for (size_t h = 0; h < latency->n; h++)
            if (job_holds(g, h))
                set_add(&group[k], h);
        enum verdict verdict = measured_judge(truth, &group[k]);
        if (verdict == MEASURED_UNKNOWN)
            continue;
        count_verdict(r, verdict == MEASURED_REAL, g->support, &t);
    }
    for (size_t g = 0; g < truth->groups; g++) {
        bool found = false, counts = !measured_is_said(truth, g) && is_shown(truth, g, latency);
        for (size_t k = 0; k < s.groups.count && counts; k++)
            found = found || set_same(&group[k], &truth->group[g]);
        t.visible += counts;
        t.found += found;
    }
    stated_fini(&s);
    judge_map(r, map->model, t.invented == 0 && t.found == t.visible, &t, to);
    nt_map_destroy(map);
}

struct measured {
    char name[64];
    struct nt_named_matrix *table;
    struct measured_groups truth;
};

static inline struct nt_named_matrix *load_matrix(const char *folder, const char *name)
{
    char path[512], piece[1 << 14];
    struct nt_csv_reader *reader;
    struct nt_named_matrix *table;
    struct nt_err err;
    snprintf(path, sizeof path, "%s/%s.csv", folder, name);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return NULL;
    known_must(nt_csv_reader_create(path, NT_MATRIX_LATENCY_US, &reader, &err), &err);
    for (size_t got; (got = fread(piece, 1, sizeof piece, file)) > 0;)
        known_must(nt_csv_reader_feed(reader, piece, got, &err), &err);
    fclose(file);
    known_must(nt_csv_reader_finish(reader, &table, &err), &err);
    nt_csv_reader_destroy(reader);
    return table;
}

/* How many there are. */
static inline size_t load_measured(struct measured matrix[MATRICES_MAX])
{
    static const char truths[] = "tests/data/measured";
    struct dirent **entry;
    size_t matrices = 0, absent = 0;
    int count = scandir(truths, &entry, NULL, alphasort);
    for (int k = 0; k < count; k++) {
        struct measured *m = &matrix[matrices];
        char path[512], *dot = strstr(entry[k]->d_name, ".truth");
        if (dot != NULL && matrices < MATRICES_MAX) {
            snprintf(path, sizeof path, "%s/%s", truths, entry[k]->d_name);
            snprintf(m->name, sizeof m->name, "%.*s", (int)(dot - entry[k]->d_name),
                     entry[k]->d_name);
            m->table = load_matrix("tests/data/seeds", m->name);
            m->table = m->table != NULL ? m->table : load_matrix("build/measured", m->name);
            if (m->table != NULL)
                measured_read(path, m->table->matrix->n, &matrix[matrices++].truth);
            absent += m->table == NULL;
        }
        free(entry[k]);
    }
    if (count >= 0)
        free(entry);
    if (absent > 0 || count < 0)
        printf("%zu matrices are not in build/measured: %s/README.md says how they are got\n",
               absent, truths);
    return matrices;
}

/* Some of the hosts, drawn at random. */
static inline void one_measured_job(struct run *r, const struct measured *from, size_t hosts,
                                    struct nt_rng *rng, struct tally *t)
{
    uint32_t host[MEASURED_HOSTS_MAX];
    struct measured_groups truth;
    struct nt_matrix *m;
    struct nt_err err;
    size_t n = from->table->matrix->n;
    for (size_t h = 0; h < n; h++)
        host[h] = (uint32_t)h;
    nt_rng_shuffle(rng, host, n);
    known_must(nt_matrix_create(hosts, NT_MATRIX_LATENCY_US, &m, &err), &err);
    for (size_t a = 0; a < hosts; a++)
        for (size_t b = 0; b < hosts; b++)
            if (a != b)
                nt_matrix_set(m, a, b, nt_matrix_get(from->table->matrix, host[a], host[b]));
    measured_restrict(&from->truth, host, hosts, &truth);
    judge_measured(r, m, &truth, t);
    nt_matrix_destroy(m);
}

static inline void bench_measured(struct run *r)
{
    static const size_t sizes[] = {4, 5, 6, 8, 12, 16};
    static struct measured matrix[MATRICES_MAX];
    struct tally all = {0};
    size_t matrices = load_measured(matrix);
    print_head("CPU ms");
    for (size_t k = 0; k < matrices; k++) {
        struct tally t = {0};
        judge_measured(r, matrix[k].table->matrix, &matrix[k].truth, &t);
        print_size(r, matrix[k].name, matrix[k].table->matrix->n, &t);
        add(&all, &t);
    }
    print_row(r, "whole matrices", "all", &all);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct tally t = {0};
        for (size_t k = 0; k < matrices; k++)
            for (size_t i = 0; i < scaled(r, 10) && matrix[k].table->matrix->n > sizes[s]; i++) {
                struct nt_rng rng;
                stream(r, k, sizes[s], i, &rng);
                one_measured_job(r, &matrix[k], sizes[s], &rng, &t);
            }
        print_size(r, "jobs of them", sizes[s], &t);
    }
    for (size_t k = 0; k < matrices; k++)
        nt_named_matrix_destroy(matrix[k].table);
}

#endif
