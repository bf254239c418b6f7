/* SPDX-License-Identifier: Apache-2.0 */
/* The job's first host from the first round to the map's text, when the sweep adapts: processor
 * time of planning and recording a round, of solving the record and of writing both, and memory,
 * to 65,536 hosts. What talking to the others takes is in bench_scale. With a network's name: only
 * the rows of that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "map_json.h"
#include "network.h"
#include "recorded_sweep.h"
#include "shape.h"
#include "solve.h"

/* As in bench_sweep. */
static const double NOISE = 0.02, OUTLIERS = 0.01, HOST_US = 0.56, LINK_US = 0.11;

struct row {
    const char *topology;
    enum nt_level level;
};

static const struct row rows[] = {
    {"tree:4x8x32", NT_LEVEL_QUICK},     {"tree:8x32x32", NT_LEVEL_QUICK},
    {"tree:16x64x64", NT_LEVEL_QUICK},   {"tree:4x8x32", NT_LEVEL_STANDARD},
    {"tree:8x32x32", NT_LEVEL_STANDARD}, {"tree:16x64x64", NT_LEVEL_STANDARD},
};

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A line of /proc/self/status, MB. */
static double memory_mb(const char *field)
{
    char line[128];
    double kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, field, strlen(field)) == 0)
            kb = strtod(line + strlen(field), NULL);
    if (f != NULL)
        fclose(f);
    return kb / 1024;
}

/* From here on the peak is counted again. */
static void forget_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (f == NULL)
        return;
    fputs("5", f);
    fclose(f);
}

static struct nt_network *build(const char *topology)
{
    struct nt_spec spec;
    struct nt_figures figures;
    struct nt_network *n = NULL;
    struct nt_err err;
    record_must(nt_spec_parse(topology, &spec, &err), &err);
    nt_figures_default(&spec, &figures);
    figures.host_latency_us = HOST_US;
    for (int t = 0; t < NT_DIMENSIONS_MAX; t++)
        figures.link_latency_us[t] = LINK_US;
    record_must(nt_network_build(&spec, &figures, &n, &err), &err);
    return n;
}

static bool is_exact(const struct nt_model *found, const struct nt_network *n)
{
    struct nt_model *truth;
    struct nt_err err;
    record_must(nt_network_truth(n, &truth, &err), &err);
    bool equal = nt_shape_equal(found, truth);
    nt_model_destroy(truth);
    return equal;
}

/* Peaks of measuring, of writing the record and of solving it to a map's text, the network that is
 * simulated apart. */
struct peaks {
    double measured, written, solved;
};

static double peak_over(double before)
{
    double peak = memory_mb("VmHWM:") - before;
    forget_peak();
    return peak;
}

static void run(const struct row *row)
{
    struct nt_network *n = build(row->topology);
    struct nt_map *map;
    struct nt_err err;
    struct peaks peak;
    char *text, *json;
    size_t bytes, json_bytes;
    double before = memory_mb("VmRSS:");
    forget_peak();
    struct recorded r =
        record_sweep(n, &(struct recording){.level = row->level,
                                            .noise = {.sd = NOISE, .outliers = OUTLIERS, .seed = 1},
                                            .now_s = cpu_s});
    peak.measured = peak_over(before);
    double at = cpu_s();
    record_must(nt_samples_write(r.samples, &text, &bytes, &err), &err);
    double wrote_s = cpu_s() - at;
    free(text);
    peak.written = peak_over(before);
    at = cpu_s();
    record_must(nt_solve_samples(r.samples, NULL, NULL, &map, &err), &err);
    double solved_s = cpu_s() - at;
    at = cpu_s();
    record_must(nt_map_write(map, false, &json, &json_bytes, &err), &err);
    double map_s = cpu_s() - at;
    free(json);
    peak.solved = peak_over(before);
    double all = (double)n->hosts * (double)(n->hosts - 1) / 2;
    printf("%7zu  %-14s %-9s %6zu %8zu %8.3f%% %8.2f %8.1f %6.2f %6.2f %6.2f %8.0f %8.0f %8.0f "
           "%6.0f %6.1f  %s\n",
           n->hosts, row->topology, nt_level_name(row->level), r.rounds, r.samples->samples,
           100 * (double)map->sweep.pairs_measured / all, 1e3 * r.cpu_s / (double)r.rounds,
           1e3 * r.most_s, wrote_s, solved_s, map_s, peak.measured, peak.written, peak.solved,
           (double)bytes / 1e6, (double)json_bytes / 1e6,
           is_exact(map->model, n) ? "exact" : "not exact");
    fputs(r.warned, stdout);
    nt_map_destroy(map);
    nt_samples_destroy(r.samples);
    nt_network_destroy(n);
}

/* In a process of its own, so that its memory is its own. */
static int in_child(const struct row *row)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        run(row);
        fflush(stdout);
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
    printf("The first host of a job whose sweep adapts; noise %.0f %%, outliers %.0f %%. CPU of\n"
           "planning and recording a round in ms; of writing the record, of solving it and of\n"
           "writing the map in s; memory at its peak and texts in MB\n\n",
           100 * NOISE, 100 * OUTLIERS);
    printf("%7s  %-14s %-9s %6s %8s %9s %8s %8s %6s %6s %6s %8s %8s %8s %6s %6s\n", "hosts",
           "network", "level", "rounds", "readings", "of pairs", "ms/round", "most ms", "record",
           "solve", "map", "MB sweep", "MB text", "MB solve", "record", "map");
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if ((argc < 2 || strcmp(argv[1], rows[k].topology) == 0) && in_child(&rows[k]) != 0)
            return 4;
    return 0;
}
