/* SPDX-License-Identifier: Apache-2.0 */
/* What a fleet of jobs knows of a planted cluster: 5,000 hosts in 100 leaves below 5 switches, or
 * in the 5 groups of a dragonfly+, 2,000 jobs of 2 to 256 hosts, 30 faults with dates, 20 hosts
 * that move.
 *
 *     build/tests/bench_fleet [JOBS, default 2000 [MAPS, default 2000 [SHAPE: 0 tree, 1 dragonfly+,
 *     2 both, the default [SEED, default 1]]]]
 *
 * Jobs are drawn as schedulers do: whole leaves, fragments, and hosts of an earlier job again; of
 * 40 users, over 30 days. Each job's readings (all pairs, sd 2 %, a job's own factor of sd 5 %, one
 * in 200 an outlier) are solved as those of a sweep are, and go with the map through the store;
 * what is found is what nettopo fleet since and show say. A fault makes a host's link 43 % slower
 * from its day on; every third is mended after a quarter of the jobs. After each tenth:
 * - hosts in a job so far; right%, hosts whose leaf in the cluster's map is theirs, of those;
 *   unmet, that moved and have met nobody of their new leaf since: no reading says where they are
 * - cross, faults whose host was in three jobs before it was mended; shown, those with three jobs
 *   that show it: of five hosts, three of them on its leaf (of two alike nobody can say which is
 *   slow); found, of those; others, found with fewer such jobs; in 3, found with the third one
 * - mended, faults found that are mended, with three such jobs since; seen, told as better
 * - alarms, changes that are none of these; moved, those of a host that has moved and since then
 *   was with hosts of its former leaf alone, which a slow link explains as well
 * - moves, hosts in a job before they moved and in two since, in one of them with three hosts of
 *   other leaves than the former; seen; false, moves seen of hosts that did not
 * - the store's bytes and those a job; milliseconds to take a map in; seconds for map and changes
 * The last line says how many maps a second are taken in from the files of an archive, unpacked and
 * parsed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "fleet.h"
#include "fleet_job.h"
#include "map_json.h"
#include "network.h"
#include "rng.h"
#include "samples.h"
#include "solve.h"
#include "spec.h"
#include "store.h"
#include "utc.h"

enum { HOSTS = 5000, LEAF = 50, USERS = 40, DAYS = 30, FAULTS = 30, MOVES = 20 };
enum { MOST = 256, NONE = UINT32_MAX, ENOUGH = 3, MENDED_EACH = 3, SHOWING_HOSTS = 5 };
static const double HOST_US = 0.56;
static const char *const shapes[] = {"tree:5x20x50", "dragonfly+:5x20x4x50"};
static const int64_t START_S = INT64_C(1790000000);

struct planted {
    const struct nt_network *network;
    uint32_t stands[HOSTS]; /* where each host is: place / LEAF is its leaf */
    float link_us[HOSTS];
    uint32_t fault_host[FAULTS], fault_job[FAULTS], mended_job[FAULTS];
    uint32_t move_host[MOVES], move_to[MOVES], move_job[MOVES];
    uint32_t crossed[FAULTS], shown[FAULTS], after[FAULTS]; /* jobs; since it was mended */
    uint32_t first_shown[FAULTS];                           /* the first that shows it */
    uint32_t left[MOVES], came[MOVES];    /* jobs with the host before it moved, and since, */
    uint32_t told[MOVES], met_new[MOVES]; /* with others than of its former leaf; of the new one */
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
        p->mended_job[f] = f % MENDED_EACH == 0 ? p->fault_job[f] + jobs / 4 : NONE;
    }
    for (uint32_t m = 0; m < MOVES; m++) {
        p->move_host[m] = m * (HOSTS / MOVES) + 31;
        do
            p->move_to[m] = (uint32_t)nt_rng_below(rng, HOSTS);
        while (p->move_to[m] / LEAF == p->move_host[m] / LEAF);
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

static bool is_faulty(const struct planted *p, uint32_t f, uint32_t job)
{
    return job >= p->fault_job[f] && job < p->mended_job[f];
}

static double latency_us(const struct planted *p, uint32_t a, uint32_t b, uint32_t job)
{
    uint32_t x = p->stands[a], y = p->stands[b];
    /* who moved has a port of its own beside the host that was there */
    double us = nt_network_latency(p->network, x, x != y ? y : y ^ 1);
    us += p->link_us[a] + p->link_us[b];
    for (uint32_t f = 0; f < FAULTS; f++)
        if (is_faulty(p, f, job) && (a == p->fault_host[f] || b == p->fault_host[f]))
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
    s->job.id = number + 1;
    nt_utc_format(time_s, text);
    must(nt_samples_set_word(&s->job.cluster, "c", &err));
    must(nt_samples_set_word(&s->job.level, "quick", &err));
    must(nt_samples_set_word(&s->job.created, text, &err));
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
    size_t met, right, unmet, crossed, shown, found, others, quick, mended, better, alarms, unsure;
    size_t moved, moves, invented;
};

static uint32_t number_of(const char *name)
{
    return (uint32_t)strtoul(name + 1, NULL, 10) - 1;
}

static void judge_moves(const struct planted *p, const struct nt_fleet_cluster *fleet,
                        uint32_t jobs, struct known *k)
{
    for (size_t n = 0; n < fleet->cluster->moves; n++) {
        uint32_t host = number_of(fleet->hosts.name[fleet->cluster->move[n].host]), m = 0;
        while (m < MOVES && (p->move_host[m] != host || p->came[m] == 0))
            m++;
        k->moves += m < MOVES;
        k->invented += m == MOVES;
    }
    for (uint32_t m = 0; m < MOVES; m++) {
        k->moved += p->left[m] > 0 && p->came[m] > 1 && p->told[m] > 0;
        k->unmet += p->move_job[m] < jobs && p->left[m] > 0 && p->met_new[m] == 0;
    }
}

static void judge_leaves(const struct planted *p, const struct nt_fleet_cluster *fleet,
                         struct known *k)
{
    const struct nt_model *m = fleet->cluster->model;
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
    for (size_t h = 0; h < m->hosts; h++)
        if (leaf[h] != NONE && m->tier[leaf[h]] == 1)
            votes[leaf[h]][p->stands[number_of(fleet->hosts.name[h])] / LEAF]++;
    for (size_t h = 0; h < m->hosts; h++) {
        uint32_t best = 0;
        if (leaf[h] == NONE || m->tier[leaf[h]] != 1)
            continue;
        for (uint32_t t = 1; t < LEAVES; t++)
            if (votes[leaf[h]][t] > votes[leaf[h]][best])
                best = t;
        k->right += best == p->stands[number_of(fleet->hosts.name[h])] / LEAF;
    }
    free(votes);
    free(leaf);
}

static void note_alarm(const struct planted *p, uint32_t host, struct known *k)
{
    uint32_t m = 0;
    while (m < MOVES && (p->move_host[m] != host || p->came[m] == 0 || p->told[m] > 0))
        m++;
    *(m < MOVES ? &k->unsure : &k->alarms) += 1;
}

static void judge_changes(const struct planted *p, const struct nt_fleet_changes *changes,
                          struct known *k)
{
    bool found[FAULTS] = {false}, better[FAULTS] = {false};
    const struct nt_names *names = &changes->fleet.hosts;
    for (size_t n = 0; n < changes->count; n++) {
        const struct nt_fleet_change *c = &changes->change[n];
        uint32_t f = 0, host = c->part < names->count ? number_of(names->name[c->part]) : NONE;
        while (f < FAULTS && p->fault_host[f] != host)
            f++;
        uint64_t first = c->first_job - 1;
        if (f < FAULTS && c->worse && first >= p->fault_job[f] && first < p->mended_job[f]) {
            k->quick += !found[f] && p->shown[f] >= ENOUGH && first <= p->first_shown[f] &&
                        c->jobs_to_sure <= ENOUGH;
            found[f] = true;
        } else if (f < FAULTS && !c->worse && first >= p->mended_job[f]) {
            better[f] = true;
        } else {
            note_alarm(p, host, k);
        }
    }
    for (uint32_t f = 0; f < FAULTS; f++) {
        bool shown = p->shown[f] >= ENOUGH, mended = found[f] && p->after[f] >= ENOUGH;
        k->crossed += p->crossed[f] >= ENOUGH;
        k->shown += shown;
        k->found += found[f] && shown;
        k->others += found[f] && !shown;
        k->mended += mended;
        k->better += mended && better[f];
    }
}

static uint64_t bytes_of(const char *file)
{
    struct stat st;
    char wal[128];
    must(stat(file, &st));
    uint64_t bytes = (uint64_t)st.st_size;
    snprintf(wal, sizeof wal, "%s-wal", file);
    return bytes + (stat(wal, &st) == 0 ? (uint64_t)st.st_size : 0);
}

static void print_known(const struct planted *p, uint32_t jobs, const char *file, double taken_s)
{
    struct known k = {0};
    struct nt_fleet_changes changes;
    double began = nt_clock_s();
    must(nt_fleet_changes_load(file, 2 * DAYS * NT_DAY_S, true, &changes, &err));
    double found_s = nt_clock_s() - began;
    if (changes.fleet.cluster == NULL) {
        printf("%5u %s\n", jobs, changes.fleet.why.text);
        nt_fleet_changes_fini(&changes);
        return;
    }
    for (uint32_t h = 0; h < HOSTS; h++)
        k.met += p->met[h];
    judge_leaves(p, &changes.fleet, &k);
    judge_moves(p, &changes.fleet, jobs, &k);
    judge_changes(p, &changes, &k);
    nt_fleet_changes_fini(&changes);
    uint64_t stored = bytes_of(file);
    printf("%5u %5zu %6.2f %5zu | %5zu %5zu %5zu %6zu %5zu | %6zu %5zu | %6zu %5zu | %5zu %5zu "
           "%5zu | %6.1f %7.0f %9.2f %7.1f\n",
           jobs, k.met, 100.0 * (double)k.right / (double)k.met, k.unmet, k.crossed, k.shown,
           k.found, k.others, k.quick, k.mended, k.better, k.alarms, k.unsure, k.moved, k.moves,
           k.invented, (double)stored / 1e6, (double)stored / jobs, taken_s / jobs * 1e3, found_s);
    fflush(stdout);
}

/* ---- jobs ---- */

/* Other hosts of the job on that leaf. */
static size_t others_on(const struct planted *p, const struct drawn *job, uint32_t host,
                        uint32_t leaf)
{
    size_t n = 0;
    for (size_t k = 0; k < job->hosts; k++)
        n += job->host[k] != host && p->stands[job->host[k]] / LEAF == leaf;
    return n;
}

static void note_move(struct planted *p, const struct drawn *job, uint32_t number, uint32_t m)
{
    uint32_t host = p->move_host[m], former = host / LEAF;
    if (number < p->move_job[m]) {
        p->left[m]++;
        return;
    }
    p->came[m]++;
    p->told[m] += job->hosts - 1 - others_on(p, job, host, former) >= ENOUGH;
    p->met_new[m] += others_on(p, job, host, p->move_to[m] / LEAF) > 0;
}

static void note_fault(struct planted *p, const struct drawn *job, uint32_t number, uint32_t f)
{
    uint32_t host = p->fault_host[f];
    bool shows =
        job->hosts >= SHOWING_HOSTS && others_on(p, job, host, p->stands[host] / LEAF) >= 2;
    if (is_faulty(p, f, number)) {
        if (shows && p->shown[f]++ == 0)
            p->first_shown[f] = number;
        p->crossed[f]++;
    } else if (number >= p->fault_job[f]) {
        p->after[f] += shows;
    }
}

static void note_job(struct planted *p, const struct drawn *job, uint32_t number)
{
    for (uint32_t m = 0; m < MOVES; m++)
        if (number == p->move_job[m])
            p->stands[p->move_host[m]] = p->move_to[m];
    for (size_t k = 0; k < job->hosts; k++) {
        p->met[job->host[k]] = true;
        for (uint32_t m = 0; m < MOVES; m++)
            if (job->host[k] == p->move_host[m])
                note_move(p, job, number, m);
        for (uint32_t f = 0; f < FAULTS; f++)
            if (job->host[k] == p->fault_host[f])
                note_fault(p, job, number, f);
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
    must(nt_solve_samples(s, NULL, NULL, &map, &err));
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
        map->job_id = again->job.id = k;
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
        must(nt_solve_samples(s, NULL, NULL, &map, &err));
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
        print_known(p, j + 1, file, taken_s);
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

static void run_shape(const char *shape, uint32_t jobs, uint32_t maps, uint64_t seed)
{
    static struct planted p;
    char file[64];
    struct nt_network *network = make_network(shape);
    struct nt_rng rng;
    snprintf(file, sizeof file, "/dev/shm/nettopo-bench-fleet-%d", (int)getpid());
    nt_rng_init(&rng, seed);
    p = (struct planted){.network = network};
    plant(&p, jobs, &rng);
    printf("%s, seed %llu\n jobs hosts right%% unmet | cross shown found others  in 3 | mended  "
           "seen | alarms moved | moves  seen false |     MB bytes/j ms/ingest since_s\n",
           shape, (unsigned long long)seed);
    run_jobs(&p, jobs, maps, file, &rng);
    remove_store(file);
    nt_network_destroy(network);
}

int main(int argc, char **argv)
{
    uint32_t jobs = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 2000;
    uint32_t maps = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 2000;
    size_t count = sizeof shapes / sizeof *shapes;
    size_t only = argc > 3 ? strtoul(argv[3], NULL, 10) : count;
    uint64_t seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
    for (size_t k = 0; k < count; k++)
        if (only >= count || only == k)
            run_shape(shapes[k], jobs < 10 ? 10 : jobs, k == 0 ? maps : 0, seed);
    return 0;
}
