/* SPDX-License-Identifier: Apache-2.0 */
/* What a fleet of jobs knows of a planted cluster: 5,000 hosts in 100 leaves below 5 switches, or
 * in the 5 groups of a dragonfly+, 2,000 jobs of 2 to 256 hosts, 30 faults with dates, 20 hosts
 * that move.
 *
 *     build/tests/bench_fleet [JOBS, default 2000 [MAPS, default 2000 [SHAPE: 0 tree, 1 dragonfly+;
 *     default both]]]
 *
 * Jobs are drawn as schedulers do: whole leaves, fragments, and hosts of an earlier job again; of
 * 40 users, over 30 days. Each job's readings (all pairs, sd 2 %, a job's own factor of sd 5 %, one
 * in 200 an outlier) are solved as those of a sweep are, and go with the map through the store. A
 * fault makes a host's link slower by 43 % from its day on. After each tenth: hosts in a job so
 * far; hosts whose leaf in the cluster's map is theirs, of those; faults whose host was in three
 * jobs since, those found, the middle number of jobs until then, false alarms; hosts that moved and
 * were in a job before and in two since, moves seen of them, and moves seen of hosts that did not;
 * the store's bytes and those a job; milliseconds to take a map in; seconds for the map and for the
 * changes. The last line says how many maps a second are taken in from the files of an archive,
 * unpacked and parsed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "changes.h"
#include "clock.h"
#include "cluster_map.h"
#include "fleet_job.h"
#include "map_json.h"
#include "network.h"
#include "packed.h"
#include "rng.h"
#include "samples.h"
#include "solve.h"
#include "spec.h"
#include "store.h"
#include "utc.h"

enum { HOSTS = 5000, LEAF = 50, USERS = 40, DAYS = 30, FAULTS = 30, MOVES = 20 };
enum { MOST = 256, NONE = UINT32_MAX };
static const double HOST_US = 0.56;
static const char *const shapes[] = {"tree:5x20x50", "dragonfly+:5x20x4x50"};
static const int64_t START_S = INT64_C(1790000000);

struct planted {
    const struct nt_network *network;
    uint32_t stands[HOSTS]; /* where each host is: place / LEAF is its leaf */
    float link_us[HOSTS];
    uint32_t fault_host[FAULTS], fault_job[FAULTS];
    uint32_t move_host[MOVES], move_to[MOVES], move_job[MOVES];
    uint32_t crossed[FAULTS];          /* jobs with the host since its fault */
    uint32_t left[MOVES], came[MOVES]; /* jobs with the host before it moved, and since */
    bool met[HOSTS];
};

struct drawn {
    uint32_t host[MOST];
    size_t hosts;
};

static struct nt_err err;

static void must(int rc)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "bench_fleet: %s\n", err.text);
    exit(1);
}

static void plant(struct planted *p, uint32_t jobs, struct nt_rng *rng)
{
    for (uint32_t h = 0; h < HOSTS; h++) {
        p->stands[h] = h;
        p->link_us[h] = (float)(HOST_US * 0.01 * nt_rng_normal(rng));
    }
    for (uint32_t f = 0; f < FAULTS; f++) {
        p->fault_host[f] = f * (HOSTS / FAULTS) + 7;
        p->fault_job[f] = jobs / 4 + (uint32_t)nt_rng_below(rng, jobs / 2);
    }
    for (uint32_t m = 0; m < MOVES; m++) {
        p->move_host[m] = m * (HOSTS / MOVES) + 31;
        p->move_to[m] = (uint32_t)nt_rng_below(rng, HOSTS);
        p->move_job[m] = jobs / 4 + (uint32_t)nt_rng_below(rng, jobs / 2);
    }
}

/* Sizes are even on a logarithmic scale, as job logs have them, more small than large ones. */
static void draw(const struct drawn *before, size_t n, struct nt_rng *rng, struct drawn *job)
{
    double u = nt_rng_uniform(rng);
    size_t hosts = (size_t)exp2(1 + 7 * u * u);
    uint64_t kind = nt_rng_below(rng, 10);
    if (kind < 2 && n > 0) {
        *job = before[nt_rng_below(rng, n)];
        return;
    }
    uint32_t at = (uint32_t)nt_rng_below(rng, HOSTS);
    if (kind < 6)
        at -= at % LEAF;
    job->hosts = 0;
    for (uint32_t k = 0; job->hosts < hosts; k++)
        if (kind < 6 || nt_rng_below(rng, 3) > 0)
            job->host[job->hosts++] = (at + k) % HOSTS;
}

static double latency_us(const struct planted *p, uint32_t a, uint32_t b, uint32_t job)
{
    double us = nt_network_latency(p->network, p->stands[a], p->stands[b]);
    us += p->link_us[a] + p->link_us[b];
    for (uint32_t f = 0; f < FAULTS; f++)
        if (job >= p->fault_job[f] && (a == p->fault_host[f] || b == p->fault_host[f]))
            us += 0.24;
    return us;
}

static struct nt_samples *measure(const struct planted *p, const struct drawn *job, uint32_t number,
                                  int64_t time_s, struct nt_rng *rng)
{
    struct nt_samples *s;
    char text[NT_UTC_BYTES];
    double factor = exp(0.05 * nt_rng_normal(rng));
    must(nt_samples_create(&s, &err));
    s->job_id = number + 1;
    nt_utc_format(time_s, text);
    must(nt_samples_set_word(&s->cluster, "c", &err));
    must(nt_samples_set_word(&s->level, "quick", &err));
    must(nt_samples_set_word(&s->created, text, &err));
    for (size_t k = 0; k < job->hosts; k++) {
        snprintf(text, sizeof text, "n%u", job->host[k] + 1);
        must(nt_samples_add_host(s, text, &err));
    }
    must(nt_samples_begin_phase(s, "latency", &err));
    must(nt_samples_begin_round(s, &err));
    for (uint32_t a = 0; a < job->hosts; a++)
        for (uint32_t b = a + 1; b < job->hosts; b++) {
            double us = factor * latency_us(p, job->host[a], job->host[b], number);
            us *= 1 + 0.02 * nt_rng_normal(rng);
            us *= nt_rng_below(rng, 200) == 0 ? 1.2 + 2 * nt_rng_uniform(rng) : 1;
            struct nt_sample sample = {.kind = NT_SAMPLE_LATENCY,
                                       .a = a,
                                       .b = b,
                                       .count = 30,
                                       .bytes = 8,
                                       .value_us = us,
                                       .latency = {.se_us = us * 0.01, .median_us = us}};
            must(nt_samples_add(s, sample, NULL, &err));
        }
    must(nt_samples_end_phase(s, 1, &err));
    nt_samples_finish(s, NT_STATUS_OK, 1);
    return s;
}

/* ---- what is known ---- */

struct known {
    size_t met, right, faults, found, alarms, moved, moves, invented;
    double delay, map_s, changes_s;
};

static int compare_numbers(const void *x, const void *y)
{
    const double *a = x, *b = y;
    return (*a > *b) - (*a < *b);
}

static void judge_moves(const struct planted *p, const struct nt_cluster_map *map,
                        const struct nt_names *names, struct known *k)
{
    for (size_t n = 0; n < map->moves; n++) {
        uint32_t host = (uint32_t)strtoul(names->name[map->move[n].host] + 1, NULL, 10) - 1, m = 0;
        while (m < MOVES && (p->move_host[m] != host || p->came[m] == 0))
            m++;
        k->moves += m < MOVES;
        k->invented += m == MOVES;
    }
    for (uint32_t m = 0; m < MOVES; m++)
        k->moved += p->left[m] > 0 && p->came[m] > 1;
}

static void judge_leaves(const struct planted *p, struct nt_store *store,
                         const struct nt_names *names, struct known *k)
{
    struct nt_evidence evidence;
    struct nt_switch_naming naming = {0};
    struct nt_cluster_map *map;
    double began = nt_clock_s();
    must(nt_store_evidence(store, 0, 100000000, &evidence, &err));
    must(nt_cluster_map_create(&evidence, &naming, NULL, &map, &err));
    k->map_s = nt_clock_s() - began;
    const struct nt_model *m = map->model;
    enum { LEAVES = HOSTS / LEAF };
    uint32_t(*votes)[LEAVES] = calloc(m->switches + 1, sizeof *votes);
    uint32_t *leaf = malloc((m->hosts + 1) * sizeof *leaf);
    for (size_t h = 0; h < m->hosts; h++)
        leaf[h] = NONE;
    for (size_t l = 0; l < m->links; l++) {
        const struct nt_link *x = &m->link[l];
        if (x->a < m->hosts && x->b >= m->hosts)
            leaf[x->a] = x->b - (uint32_t)m->hosts;
    }
    for (size_t h = 0; h < m->hosts; h++) {
        uint32_t host = (uint32_t)strtoul(names->name[h] + 1, NULL, 10) - 1;
        if (leaf[h] != NONE && m->tier[leaf[h]] == 1)
            votes[leaf[h]][p->stands[host] / LEAF]++;
    }
    for (size_t h = 0; h < m->hosts; h++) {
        uint32_t host = (uint32_t)strtoul(names->name[h] + 1, NULL, 10) - 1, best = 0;
        if (leaf[h] == NONE || m->tier[leaf[h]] != 1)
            continue;
        for (uint32_t t = 1; t < LEAVES; t++)
            if (votes[leaf[h]][t] > votes[leaf[h]][best])
                best = t;
        k->right += best == p->stands[host] / LEAF;
    }
    judge_moves(p, map, names, k);
    free(votes);
    free(leaf);
    nt_cluster_map_destroy(map);
    nt_evidence_fini(&evidence);
}

struct gathering {
    struct nt_changes changes;
    size_t hosts;
};

static int take_figure(void *context, const struct nt_fleet_figure *f, struct nt_err *e)
{
    struct gathering *g = context;
    return f->tier == 0 ? nt_changes_add(&g->changes, f, f->host, e) : 0;
}

static int take_job(void *context, const struct nt_store_job *job, struct nt_err *e)
{
    struct gathering *g = context;
    struct nt_changes_job j = {job->time_s, job->job, job->user};
    if (nt_changes_add_job(&g->changes, j, e) != 0)
        return -1;
    return nt_packed_visit_figures(job->figures, job->figures_bytes, g->hosts, take_figure, g, e);
}

static void judge_changes(const struct planted *p, struct nt_store *store,
                          const struct nt_names *names, struct known *k)
{
    struct gathering g = {.hosts = names->count};
    struct nt_fleet_change *c;
    size_t count;
    double delay[FAULTS], began = nt_clock_s();
    bool found[FAULTS] = {false};
    must(nt_store_visit_jobs(store, 0, take_job, &g, &err));
    must(nt_changes_find(&g.changes, &c, &count, &err));
    nt_changes_fini(&g.changes);
    k->changes_s = nt_clock_s() - began;
    for (size_t n = 0; n < count; n++) {
        uint32_t f = 0, host = c[n].part == NT_CHANGE_CLASS
                                   ? NONE
                                   : (uint32_t)strtoul(names->name[c[n].part] + 1, NULL, 10) - 1;
        while (f < FAULTS && p->fault_host[f] != host)
            f++;
        if (f < FAULTS && c[n].worse && c[n].first_job > p->fault_job[f]) {
            if (!found[f])
                delay[k->found++] = c[n].jobs_to_sure;
            found[f] = true;
        } else {
            k->alarms++;
        }
    }
    for (uint32_t f = 0; f < FAULTS; f++)
        k->faults += p->crossed[f] >= 3;
    qsort(delay, k->found, sizeof *delay, compare_numbers);
    k->delay = k->found > 0 ? delay[k->found / 2] : NAN;
    free(c);
}

static void print_known(const struct planted *p, struct nt_store *store, uint32_t jobs,
                        const char *file, double taken_s)
{
    struct known k = {0};
    struct nt_names names = {0};
    struct stat st;
    char wal[128];
    must(nt_store_hosts(store, &names, NULL, &err));
    for (uint32_t h = 0; h < HOSTS; h++)
        k.met += p->met[h];
    judge_leaves(p, store, &names, &k);
    judge_changes(p, store, &names, &k);
    must(stat(file, &st));
    uint64_t stored = (uint64_t)st.st_size;
    snprintf(wal, sizeof wal, "%s-wal", file);
    stored += stat(wal, &st) == 0 ? (uint64_t)st.st_size : 0;
    printf("%5u %5zu %6.2f %7zu %6zu %6.1f %7zu %6zu %6zu %6zu %6.1f %8.0f %9.2f %6.2f %8.2f\n",
           jobs, k.met, 100.0 * (double)k.right / (double)k.met, k.faults, k.found, k.delay,
           k.alarms, k.moved, k.moves, k.invented, (double)stored / 1e6, (double)stored / jobs,
           taken_s / jobs * 1e3, k.map_s, k.changes_s);
    fflush(stdout);
    nt_names_fini(&names);
}

/* ---- jobs ---- */

static void note_job(struct planted *p, const struct drawn *job, uint32_t number)
{
    for (uint32_t m = 0; m < MOVES; m++)
        if (number == p->move_job[m])
            p->stands[p->move_host[m]] = p->move_to[m];
    for (size_t k = 0; k < job->hosts; k++) {
        p->met[job->host[k]] = true;
        for (uint32_t m = 0; m < MOVES; m++)
            if (job->host[k] == p->move_host[m])
                ++*(number < p->move_job[m] ? &p->left[m] : &p->came[m]);
        for (uint32_t f = 0; f < FAULTS; f++)
            p->crossed[f] += job->host[k] == p->fault_host[f] && number >= p->fault_job[f];
    }
}

static double take_in(struct nt_store *store, const struct nt_map *map, const struct nt_samples *s,
                      uint32_t user)
{
    struct nt_fleet_job *job;
    struct nt_origin origin = NT_ORIGIN_NONE;
    double began = nt_clock_s();
    origin.user = user;
    must(nt_fleet_job_create(map, s, &origin, START_S * 2, &job, &err));
    must(nt_store_put(store, job, &err));
    nt_fleet_job_destroy(job);
    return nt_clock_s() - began;
}

static void remove_store(const char *file)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    char name[128];
    for (size_t k = 0; k < 3; k++) {
        snprintf(name, sizeof name, "%s%s", file, ends[k]);
        unlink(name);
    }
}

/* A job of 16 hosts as text, which ingest parses: so many times. */
static void print_rate(const struct nt_samples *s, uint32_t maps)
{
    struct nt_map *map;
    char *map_text, *text;
    size_t map_bytes, bytes;
    must(nt_solve_samples(s, &map, &err));
    must(nt_map_write(map, false, &map_text, &map_bytes, &err));
    must(nt_samples_write(s, &text, &bytes, &err));
    nt_map_destroy(map);
    struct nt_store *store;
    char file[64];
    snprintf(file, sizeof file, "/dev/shm/nettopo-bench-rate-%d", (int)getpid());
    must(nt_store_open(file, false, &store, &err));
    double began = nt_clock_s();
    for (uint32_t k = 1; k <= maps; k++) {
        struct nt_samples_reader *reader;
        struct nt_samples *again;
        must(nt_map_read("map", map_text, map_bytes, &map, &err));
        must(nt_samples_reader_create("samples", &reader, &err));
        must(nt_samples_reader_feed(reader, text, bytes, &err));
        must(nt_samples_reader_finish(reader, &again, &err));
        nt_samples_reader_destroy(reader);
        map->job_id = again->job_id = k;
        take_in(store, map, again, k % USERS);
        nt_samples_destroy(again);
        nt_map_destroy(map);
        if (k % 512 == 0)
            must(nt_store_commit(store, &err));
    }
    must(nt_store_commit(store, &err));
    printf("\n%u maps of %zu hosts, parsed and taken in: %.0f a second\n", maps, s->hosts,
           maps / (nt_clock_s() - began));
    nt_store_close(store);
    remove_store(file);
    free(map_text);
    free(text);
}

static void run_jobs(struct planted *p, uint32_t jobs, uint32_t maps, const char *file,
                     struct nt_rng *rng)
{
    struct drawn *job = calloc(jobs, sizeof *job);
    struct nt_samples *small = NULL;
    struct nt_store *store;
    double taken_s = 0;
    must(nt_store_open(file, false, &store, &err));
    for (uint32_t j = 0; j < jobs; j++) {
        int64_t time_s = START_S + (int64_t)j * DAYS * NT_DAY_S / jobs;
        struct nt_map *map;
        draw(job, j, rng, &job[j]);
        note_job(p, &job[j], j);
        struct nt_samples *s = measure(p, &job[j], j, time_s, rng);
        must(nt_solve_samples(s, &map, &err));
        taken_s += take_in(store, map, s, (uint32_t)nt_rng_below(rng, USERS));
        nt_map_destroy(map);
        if (job[j].hosts == 16 && small == NULL)
            small = s;
        else
            nt_samples_destroy(s);
        if ((j + 1) % (jobs / 10) != 0)
            continue;
        double began = nt_clock_s();
        must(nt_store_commit(store, &err));
        taken_s += nt_clock_s() - began;
        print_known(p, store, j + 1, file, taken_s);
    }
    nt_store_close(store);
    if (small != NULL && maps > 0)
        print_rate(small, maps);
    nt_samples_destroy(small);
    free(job);
}

static struct nt_network *make_network(const char *shape)
{
    struct nt_figures figures = {.host_latency_us = HOST_US,
                                 .link_latency_us = {0.11, 0.22, 0.22},
                                 .host_MBps = 1000,
                                 .link_MBps = {1000, 1000, 1000}};
    struct nt_network *network = NULL;
    struct nt_spec spec;
    must(nt_spec_parse(shape, &spec, &err));
    must(nt_network_build(&spec, &figures, &network, &err));
    return network;
}

static void run_shape(const char *shape, uint32_t jobs, uint32_t maps)
{
    static struct planted p;
    char file[64];
    struct nt_network *network = make_network(shape);
    struct nt_rng rng;
    snprintf(file, sizeof file, "/dev/shm/nettopo-bench-fleet-%d", (int)getpid());
    nt_rng_init(&rng, 1);
    p = (struct planted){.network = network};
    plant(&p, jobs, &rng);
    printf("%s\n jobs hosts right%% crossed  found  delay  alarms  moved   seen  false     MB  "
           "bytes/j "
           "ms/ingest  map_s change_s\n",
           shape);
    run_jobs(&p, jobs, maps, file, &rng);
    remove_store(file);
    nt_network_destroy(network);
}

int main(int argc, char **argv)
{
    uint32_t jobs = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 2000;
    uint32_t maps = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 2000;
    size_t only = argc > 3 ? strtoul(argv[3], NULL, 10) : SIZE_MAX;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        if (only == SIZE_MAX || only == k)
            run_shape(shapes[k], jobs < 10 ? 10 : jobs, k == 0 ? maps : 0);
    return 0;
}
