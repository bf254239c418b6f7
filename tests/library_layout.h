/* SPDX-License-Identifier: Apache-2.0 */
/* text/layout against Graphviz's neato (and sfdp, its way for large graphs), for bench_libraries:
 * CPU seconds, stress over all pairs (the mean squared relative error of the distances on the
 * picture, at the scale that suits it best) and how many links cross. All are given the links and
 * their latencies as lengths, nothing else. */
#ifndef LIBRARY_LAYOUT_H
#define LIBRARY_LAYOUT_H

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "layout.h"
#include "library_place.h"

/* Modelled latencies from v to all vertices; Bellman and Ford, for the small graphs of a bench. */
static inline void far_from(const struct nt_model *m, uint32_t v, double *far)
{
    for (size_t u = 0; u < m->hosts + m->switches; u++)
        far[u] = INFINITY;
    far[v] = 0;
    for (bool more = true; more;) {
        more = false;
        for (size_t k = 0; k < m->links; k++) {
            uint32_t a = m->link[k].a, b = m->link[k].b;
            double us = m->link[k].latency_us;
            if (far[a] + us < far[b] || far[b] + us < far[a]) {
                far[b] = fmin(far[b], far[a] + us);
                far[a] = fmin(far[a], far[b] + us);
                more = true;
            }
        }
    }
}

static inline double stress_over(const struct nt_model *m, const double *at)
{
    size_t n = m->hosts + m->switches;
    double *far = malloc(n * sizeof *far), once = 0, twice = 0, count = 0;
    if (far == NULL)
        stop("no memory");
    for (uint32_t v = 0; v < n; v++) {
        far_from(m, v, far);
        for (uint32_t u = 0; u < v; u++) {
            double ratio = hypot(at[2 * u] - at[2 * v], at[2 * u + 1] - at[2 * v + 1]) / far[u];
            once += ratio;
            twice += ratio * ratio;
            count++;
        }
    }
    free(far);
    return 1 - once * once / twice / count; /* at the scale once / twice */
}

static inline double side_of(const double *at, uint32_t a, uint32_t b, uint32_t c)
{
    return (at[2 * b] - at[2 * a]) * (at[2 * c + 1] - at[2 * a + 1]) -
           (at[2 * b + 1] - at[2 * a + 1]) * (at[2 * c] - at[2 * a]);
}

static inline size_t crossings_in(const struct nt_model *m, const double *at)
{
    size_t found = 0;
    for (size_t k = 0; k < m->links; k++) {
        for (size_t l = 0; l < k; l++) {
            uint32_t a = m->link[k].a, b = m->link[k].b, c = m->link[l].a, d = m->link[l].b;
            found += a != c && a != d && b != c && b != d &&
                     side_of(at, a, b, c) * side_of(at, a, b, d) < 0 &&
                     side_of(at, c, d, a) * side_of(at, c, d, b) < 0;
        }
    }
    return found;
}

/* Runs a Graphviz program over the DOT in the file; its CPU seconds, NaN when it is not there. */
static inline double draw_by(const char *program, const char *dot, const char *plain)
{
    struct rusage use;
    int status;
    pid_t child = fork();
    if (child == 0) {
        execlp(program, program, "-Tplain", "-o", plain, dot, (char *)NULL);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &use) < 0 || status != 0)
        return (double)NAN;
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static inline void write_dot(const struct nt_model *m, const char *path)
{
    FILE *f = fopen(path, "w");
    if (f == NULL)
        stop(path);
    fprintf(f, "graph g { node [shape=point]; start=1;\n");
    for (size_t v = 0; v < m->hosts + m->switches; v++)
        fprintf(f, "%zu;\n", v);
    for (size_t k = 0; k < m->links; k++)
        fprintf(f, "%u -- %u [len=%.9g];\n", m->link[k].a, m->link[k].b, m->link[k].latency_us);
    fprintf(f, "}\n");
    if (fclose(f) != 0)
        stop(path);
}

static inline void read_plain(const char *path, size_t n, double *at)
{
    char line[512];
    FILE *f = fopen(path, "r");
    if (f == NULL)
        stop(path);
    while (fgets(line, sizeof line, f) != NULL) {
        size_t v;
        double x, y;
        if (sscanf(line, "node %zu %lf %lf", &v, &x, &y) == 3 && v < n) {
            at[2 * v] = x;
            at[2 * v + 1] = y;
        }
    }
    fclose(f);
}

static inline void compare_layout(const char *network)
{
    static const char *const program[] = {"neato", "sfdp"};
    struct nt_model *m = scattered_model(network);
    size_t n = m->hosts + m->switches;
    struct nt_layout *l;
    struct nt_err err = {0};
    double *at = calloc(2 * n, sizeof *at);
    char dot[] = "/tmp/bench_libraries.XXXXXX", plain[sizeof dot + 8];
    int fd = mkstemp(dot);
    if (at == NULL || fd < 0)
        stop("no memory or no /tmp");
    close(fd);
    snprintf(plain, sizeof plain, "%s.plain", dot);
    write_dot(m, dot);
    double began = cpu_s();
    if (nt_layout_create(m, 2, 1, &l, &err) != 0)
        stop(err.text);
    double ours = cpu_s() - began;
    printf("%-16s %7zu | %8.3f %7.4f %8zu", network, n, ours, stress_over(m, l->at),
           crossings_in(m, l->at));
    for (size_t k = 0; k < 2; k++) {
        double theirs = draw_by(program[k], dot, plain);
        if (isnan(theirs)) {
            printf(" | %s is not there", program[k]);
            continue;
        }
        read_plain(plain, n, at);
        printf(" | %8.3f %7.4f %8zu %8.3f", theirs, stress_over(m, at), crossings_in(m, at),
               ours / theirs);
    }
    printf("\n");
    fflush(stdout);
    unlink(dot);
    unlink(plain);
    free(at);
    nt_layout_destroy(l);
    nt_model_destroy(m);
}

static inline void compare_layouts(void)
{
    static const char *const table[] = {"tree:3x2x4",  "torus:8x8",       "tree:4x8x16",
                                        "torus:8x8x8", "dragonfly:9x8x4", "tree:10x10x14"};
    printf(
        "\nlayout in two dimensions: CPU s, stress and crossing links, and ours/theirs in CPU s\n"
        "%-16s %7s | %25s | %34s | %34s\n",
        "network", "points", "ours", "neato", "sfdp");
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        compare_layout(table[k]);
}

#endif
