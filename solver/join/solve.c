/* SPDX-License-Identifier: Apache-2.0 */
#include "solve.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "disturbed_confidence.h"
#include "infer.h"
#include "link_bandwidth.h"
#include "link_flows.h"
#include "link_latency.h"
#include "map_faults.h"
#include "map_loggp.h"
#include "map_machines.h"
#include "map_placement.h"
#include "map_stress.h"
#include "memory.h"
#include "option.h"
#include "pair_failures.h"
#include "solve_adaptive.h"
#include "solve_prior.h"
#include "solve_rates.h"
#include "stats.h"
#include "sweep_adaptive.h"
#include "sweep_latency.h"

/* Any fixed number: the same measurements must give the same map. */
static const uint64_t seed = 1;

/* ---- hosts by name ----------------------------------------------------------------------------
 */

/* Sorting before inferring makes the map the same for any order of the hosts, and lets the model's
 * own canonical order (by smallest host) be the order of names. */
struct sorted {
    size_t n;
    uint32_t *order; /* order[k]: where the host that comes k-th by name stood */
    const char **name;
    const char **missing;       /* NULL, or why */
    uint32_t *slots;            /* tasks */
    struct nt_matrix **latency; /* sizes of them; none where the network is inferred without */
    struct nt_matrix **errors;  /* sizes of them, of those; each may be NULL */
    size_t sizes;
    struct nt_matrix *bandwidth;
    struct nt_arena memory; /* of all arrays */
};

static void sorted_fini(struct sorted *s)
{
    for (size_t k = 0; k < s->sizes; k++) {
        nt_matrix_destroy(s->latency[k]);
        nt_matrix_destroy(s->errors[k]);
    }
    nt_matrix_destroy(s->bandwidth);
    nt_arena_fini(&s->memory);
}

static int by_name(const void *a, const void *b, void *names)
{
    const char *const *name = names;
    return nt_name_compare(name[*(const uint32_t *)a], name[*(const uint32_t *)b]);
}

/* The matrix in the order of names, without the rows and columns of missing hosts. */
static int sort_matrix(const struct sorted *s, const struct nt_matrix *m, struct nt_matrix **out,
                       struct nt_err *err)
{
    struct nt_matrix *sorted;
    if (nt_matrix_create(s->n, m->kind, &sorted, err) != 0)
        return -1;
    for (size_t i = 0; i < s->n; i++) {
        if (s->missing[i] != NULL)
            continue;
        for (size_t j = 0; j < s->n; j++)
            if (s->missing[j] == NULL && i != j)
                nt_matrix_set(sorted, i, j, nt_matrix_get(m, s->order[i], s->order[j]));
    }
    *out = sorted;
    return 0;
}

/* errors: of each, or NULL. */
static int sort_latencies(struct sorted *s, const struct nt_matrix *const *latency,
                          const struct nt_matrix *const *errors, size_t sizes, struct nt_err *err)
{
    s->latency = nt_arena_array(&s->memory, sizes + 1, sizeof(struct nt_matrix *));
    s->errors = nt_arena_array(&s->memory, sizes + 1, sizeof(struct nt_matrix *));
    if (nt_arena_check(&s->memory, err) != 0)
        return -1;
    for (size_t k = 0; k < sizes; k++) {
        s->sizes = k + 1;
        if (sort_matrix(s, latency[k], &s->latency[k], err) != 0)
            return -1;
        if (errors != NULL && errors[k] != NULL &&
            sort_matrix(s, errors[k], &s->errors[k], err) != 0)
            return -1;
    }
    return 0;
}

static int sorted_init(struct sorted *s, const struct nt_solve_input *from, struct nt_err *err)
{
    size_t n = from->latency != NULL   ? from->latency->n
               : from->samples != NULL ? from->samples->hosts
                                       : from->bandwidth->n;
    *s = (struct sorted){.n = n};
    s->order = nt_arena_array(&s->memory, n + 1, sizeof *s->order);
    s->name = nt_arena_array(&s->memory, n + 1, sizeof *s->name);
    s->missing = nt_arena_array(&s->memory, n + 1, sizeof *s->missing);
    s->slots = nt_arena_array(&s->memory, n + 1, sizeof *s->slots);
    if (nt_arena_check(&s->memory, err) != 0)
        goto fini;
    for (size_t k = 0; k < n; k++)
        s->order[k] = (uint32_t)k;
    qsort_r(s->order, n, sizeof *s->order, by_name, (void *)from->host_name);
    for (size_t k = 0; k < n; k++) {
        s->name[k] = from->host_name[s->order[k]];
        s->missing[k] = from->missing == NULL ? NULL : from->missing[s->order[k]];
        s->slots[k] = from->slots == NULL ? 1 : from->slots[s->order[k]];
    }
    if (from->bandwidth != NULL && sort_matrix(s, from->bandwidth, &s->bandwidth, err) != 0)
        goto fini;
    return 0;
fini:
    sorted_fini(s);
    return -1;
}

/* ---- the map's other parts --------------------------------------------------------------------
 */

static uint64_t count_pairs(const struct nt_matrix *m)
{
    uint64_t pairs = 0;
    for (size_t i = 0; i < m->n; i++)
        for (size_t j = i + 1; j < m->n; j++)
            pairs += !isnan(nt_matrix_get(m, i, j)) || !isnan(nt_matrix_get(m, j, i));
    return pairs;
}

/* A warning each, of so many: an unbounded list would break the map's bound. */
enum { MISSING_NAMED_MAX = 1000 };

static int name_missing(struct nt_map *map, const struct sorted *s, struct nt_err *err)
{
    size_t missing = 0;
    for (size_t k = 0; k < s->n; k++) {
        if (s->missing[k] != NULL)
            map->model->missing[k] = true;
        if (!map->model->missing[k])
            continue;
        if (map->status == NT_STATUS_OK)
            map->status = NT_STATUS_PARTIAL;
        const char *why = s->missing[k] != NULL ? s->missing[k] : "nothing was measured";
        if (missing++ < MISSING_NAMED_MAX &&
            nt_map_warn(map, err, "host %s is missing: %s", s->name[k], why) != 0)
            return -1;
    }
    if (missing <= MISSING_NAMED_MAX)
        return 0;
    return nt_map_warn(map, err, "%zu hosts more are missing", missing - MISSING_NAMED_MAX);
}

/* What the source of bandwidths does not show of links: those between switches, where all hosts
 * sent at the same time; any, where messages were short. */
static int limit_claims(struct nt_map *map, const struct nt_solve_input *from, struct nt_err *err)
{
    bool small = from->rate_bytes > 0 && from->rate_bytes < NT_SOLVE_RATE_BYTES;
    if (from->contended && nt_link_bandwidth_bound(map->model, false) > 0 &&
        nt_map_warn(map, err,
                    "all hosts sent at the same time: links between switches have "
                    "at least the bandwidths stated") != 0)
        return -1;
    if (small && nt_link_bandwidth_bound(map->model, true) > 0)
        return nt_map_warn(map, err,
                           "bandwidths are of messages of %g bytes: links have at least those "
                           "stated; messages of %g bytes and more show what links have",
                           from->rate_bytes, NT_SOLVE_RATE_BYTES);
    return 0;
}

static int set_bandwidths(struct nt_map *map, const struct nt_matrix *bandwidth,
                          const struct nt_solve_input *from, struct nt_err *err)
{
    if (bandwidth == NULL)
        return 0;
    int rc = nt_link_bandwidth(map->model, bandwidth, err);
    if (rc == 1)
        return limit_claims(map, from, err);
    if (rc == 0)
        rc = nt_map_warn(map, err, "bandwidths are left out: the network found is no tree");
    return rc < 0 ? -1 : 0;
}

/* Latencies do not tell a hierarchy with shortcuts from a tree. */
static int warn_of_shortcuts(struct nt_map *map, struct nt_err *err)
{
    if (!map->model->shortcuts)
        return 0;
    return nt_map_warn(map, err,
                       "the latencies are not those of a tree: there may be links between "
                       "switches besides those stated (dragonfly), and what has no support of 0.9 "
                       "may be a group that such links bring near each other");
}

/* Whether no two hosts are on one switch, though the end of a line of switches, which has no other
 * link, is part of its host's link: of two hosts at a switch the farther must be farther by about a
 * link between switches. The middle between none and the shortest such link separates the two. */
static bool has_one_host_each(const struct nt_model *m)
{
    double shortest = INFINITY;
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a >= m->hosts && m->link[k].b >= m->hosts)
            shortest = fmin(shortest, m->link[k].latency_us);
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        for (size_t e = 0; e < k && l->a < m->hosts; e++)
            if (m->link[e].a < m->hosts && m->link[e].b == l->b &&
                fabs(m->link[e].latency_us - l->latency_us) < shortest / 2)
                return false;
    }
    return true;
}

/* A line of switches with one host each and hosts linked in a line measure the same. */
static int warn_of_lines(struct nt_map *map, struct nt_err *err)
{
    const struct nt_model *m = map->model;
    bool hosts = m->family == NT_FAMILY_MESH && m->dimensions == 1 && m->switches == 0;
    bool switches = m->family == NT_FAMILY_TREE && m->hosts > 3 && m->switches + 2 >= m->hosts &&
                    has_one_host_each(m);
    if (!hosts && !switches)
        return 0;
    return nt_map_warn(map, err,
                       hosts ? "hosts in a line: a line of switches with one host each would "
                               "measure the same"
                             : "switches with one host each: hosts linked to each other would "
                               "measure the same");
}

/* ---- the network ------------------------------------------------------------------------------
 */

/* With this share of the pairs the network is inferred, whichever are missing. In trees of two to
 * four leaves of four hosts all groups that are stated at 0.9 are then real
 * (test_pair_failures.c). */
static const double COVERED = 0.65;

/* A matrix of so many hosts is small, or no more than a few times what the record itself takes. */
static bool is_worth_matrix(const struct nt_measured_pairs *measured)
{
    return measured->hosts <= NT_SWEEP_ALL_HOSTS_MAX ||
           measured->pairs >= measured->hosts * measured->hosts / 16;
}

/* Whether enough pairs were measured of the hosts that are there. */
static bool is_covered(const struct nt_measured_pairs *measured, char *const *missing)
{
    double ends = 0, present = 0;
    for (size_t i = 0; i < measured->hosts; i++)
        if (missing[i] == NULL) {
            present++;
            ends += measured->partners[i];
        }
    if (present == 1 && measured->hosts > 1)
        return false; /* the last one that answers: nothing of it is left to be measured */
    return ends >= COVERED * present * (present - 1) && is_worth_matrix(measured);
}

/* The network is undetermined: hosts, and nothing between them. */
static int infer_nothing(const struct sorted *s, struct nt_model **out, struct nt_err *err)
{
    if (nt_model_create(s->n, 0, 0, out, err) != 0)
        return -1;
    for (size_t k = 0; k < s->n; k++)
        (*out)->missing[k] = s->missing[k] != NULL;
    return 0;
}

/* ---- message sizes ----------------------------------------------------------------------------
 */

enum { SIZES_MAX = 8 };

/* The sizes of phase "sizes", rising. */
static size_t list_sizes(const struct nt_samples *s, double sizes[SIZES_MAX])
{
    size_t n = 0;
    for (size_t k = 0; k < s->samples && n < SIZES_MAX; k++) {
        const struct nt_sample *x = &s->sample[k];
        size_t at = 0;
        if (x->kind != NT_SAMPLE_LATENCY || strcmp(s->phase[x->phase].name, "sizes") != 0)
            continue;
        while (at < n && sizes[at] != x->bytes)
            at++;
        if (at == n)
            sizes[n++] = x->bytes;
    }
    qsort(sizes, n, sizeof *sizes, nt_compare_doubles);
    return n;
}

/* 1: a map can be made of the matrix of those messages; 0: too few of its pairs were measured. */
static int is_measured(const struct nt_samples *s, double bytes, struct nt_err *err)
{
    struct nt_measured_pairs measured;
    if (nt_samples_measured_pairs(s, bytes, &measured, err) != 0)
        return -1;
    bool covered = is_covered(&measured, s->missing);
    nt_measured_pairs_fini(&measured);
    return covered;
}

/* Latencies, and their standard errors where inference uses them: else NULL. */
struct matrices {
    size_t n;
    struct nt_matrix *latency[SIZES_MAX + 1], *errors[SIZES_MAX + 1];
};

static int add_matrix(const struct nt_samples *s, double bytes, struct matrices *m,
                      struct nt_err *err)
{
    bool few = s->hosts <= NT_INFER_ERRORS_HOSTS;
    if (nt_samples_latency(s, bytes, &m->latency[m->n], few ? &m->errors[m->n] : NULL, err) != 0)
        return -1;
    m->n++;
    return 0;
}

/* First those of the smallest message; then those of the other sizes in which enough was measured
 * to find structure in them. What is made stays, on failure too. */
static int list_matrices(const struct nt_samples *s, struct matrices *m, struct nt_err *err)
{
    double sizes[SIZES_MAX] = {0};
    size_t count = list_sizes(s, sizes);
    if (add_matrix(s, 0, m, err) != 0)
        return -1;
    for (size_t k = 0; k < count; k++) {
        int measured = is_measured(s, sizes[k], err);
        if (measured < 0 || (measured > 0 && add_matrix(s, sizes[k], m, err) != 0))
            return -1;
    }
    return 0;
}

static int infer_matrices(struct sorted *s, const struct nt_solve_input *from,
                          const struct nt_matrix *const *latency,
                          const struct nt_matrix *const *errors, size_t sizes,
                          struct nt_model **out, struct nt_err *err)
{
    if (sort_latencies(s, latency, errors, sizes, err) != 0)
        return -1;
    const struct nt_matrix *const *sorted = (const struct nt_matrix *const *)s->latency;
    const struct nt_method *method = from->method;
    if (method == NULL)
        return nt_infer_sizes(sorted, (const struct nt_matrix *const *)s->errors, s->sizes, seed,
                              from->known, out, err);
    return method->infer(method->settings, sorted, s->sizes, s->bandwidth, out, err);
}

static int infer_pairs(struct sorted *s, const struct nt_solve_input *from, struct nt_model **out,
                       struct nt_err *err)
{
    struct matrices m = {0};
    int rc = list_matrices(from->samples, &m, err);
    bool one = from->method != NULL && m.n > from->method->sizes_max;
    if (rc == 0)
        rc = infer_matrices(s, from, (const struct nt_matrix *const *)m.latency,
                            (const struct nt_matrix *const *)m.errors, one ? 1 : m.n, out, err);
    for (size_t k = 0; k < m.n; k++) {
        nt_matrix_destroy(m.latency[k]);
        nt_matrix_destroy(m.errors[k]);
    }
    return rc;
}

struct found {
    struct nt_model *model;
    bool determined; /* else there are hosts and nothing between them */
    bool adaptive;   /* inferred from some pairs */
    uint64_t pairs;  /* with a latency */
    struct nt_prior_use prior;
};

static int find_in_record(struct sorted *s, const struct nt_solve_input *from, struct found *f,
                          struct nt_err *err)
{
    struct nt_measured_pairs measured;
    if (nt_samples_measured_pairs(from->samples, 0, &measured, err) != 0)
        return -1;
    f->pairs = measured.pairs;
    f->determined = is_covered(&measured, from->samples->missing);
    nt_measured_pairs_fini(&measured);
    int rc = from->method == NULL
                 ? nt_solve_prior(from->samples, s->order, &f->model, &f->pairs, &f->prior, err)
                 : 0;
    if (rc == 0 && from->method == NULL)
        rc = nt_solve_adaptive(from->samples, s->order, &f->model, err);
    f->adaptive = rc > 0;
    if (rc == 0)
        return f->determined ? infer_pairs(s, from, &f->model, err)
                             : infer_nothing(s, &f->model, err);
    f->determined = true;
    return rc < 0 ? -1 : 0;
}

static int find_in_matrices(struct sorted *s, const struct nt_solve_input *from, struct found *f,
                            struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    const struct nt_matrix **latency =
        nt_arena_array(&memory, from->larger_sizes + 2, sizeof(struct nt_matrix *));
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    latency[0] = from->latency;
    for (size_t k = 0; k < from->larger_sizes; k++)
        latency[k + 1] = from->larger[k];
    int rc = infer_matrices(s, from, latency, NULL, 1 + from->larger_sizes, &f->model, err);
    f->determined = true;
    f->pairs = rc == 0 ? count_pairs(s->latency[0]) : 0;
    return rc;
}

static int find_in_bandwidths(struct sorted *s, struct found *f, struct nt_err *err)
{
    if (nt_solve_rates(s->bandwidth, seed, &f->model, err) != 0)
        return -1;
    f->determined = f->model->links > 0;
    f->pairs = count_pairs(s->bandwidth);
    return 0;
}

/* ---- what a sweep's record has beside latencies of pairs ---------------------------------------
 */

/* adaptive: the map is from such a sweep, which takes all pairs of a tier for equal; its readings
 * show more. */
static int refine_links(struct nt_map *map, const struct sorted *s,
                        const struct nt_samples *samples, bool adaptive, struct nt_err *err)
{
    static const char *const planned[] = {NT_SAMPLES_LINK_LATENCY, NULL};
    static const char *const adapted[] = {NT_SWEEP_ADAPTIVE_CALIBRATION, NT_SWEEP_ADAPTIVE_PHASE,
                                          NT_SWEEP_ADAPTIVE_VERIFICATION, NT_SAMPLES_PRIOR, NULL};
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *vertex = nt_arena_array(&memory, s->n + 1, sizeof *vertex);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < s->n; k++)
        vertex[s->order[k]] = (uint32_t)k;
    int rc = nt_link_latency(samples, vertex, planned, false, map->model, err);
    if (rc == 0 && adaptive && map->model->links <= NT_LINK_LATENCY_LINKS_SOON)
        rc = nt_link_latency(samples, vertex, adapted, true, map->model, err);
    return rc < 0 ? -1 : 0;
}

/* ---- solving ----------------------------------------------------------------------------------
 */

/* The record behind the measurements has more than latencies: links measured again, flows. Then
 * every link has its figures. */
static int refine_from(struct nt_map *map, const struct sorted *s,
                       const struct nt_solve_input *from, bool adaptive, struct nt_err *err)
{
    int flows = 0;
    if (from->samples != NULL) {
        if (refine_links(map, s, from->samples, adaptive, err) != 0)
            return -1;
        flows = nt_link_flows(map, from->samples, s->order, err);
    }
    struct nt_faults_source source = {
        .flows = flows > 0,
        .samples = from->samples,
        .order = s->order,
        .latency = from->samples == NULL && s->sizes > 0 ? s->latency[0] : NULL};
    return flows < 0 ? -1 : nt_map_faults(map, &source, err);
}

static int solve_sorted(struct sorted *s, const struct nt_solve_input *from, struct nt_map **out,
                        struct nt_err *err)
{
    struct found f = {0};
    struct nt_map *map;
    bool rates_alone = from->samples == NULL && from->latency == NULL;
    if ((from->samples != NULL ? find_in_record(s, from, &f, err)
         : rates_alone         ? find_in_bandwidths(s, &f, err)
                               : find_in_matrices(s, from, &f, err)) != 0)
        return -1;
    if (nt_map_create(f.model, s->name, &map, err) != 0) {
        nt_model_destroy(f.model);
        return -1;
    }
    map->sweep.pairs_measured = f.pairs;
    map->sweep.prior = f.prior;
    map->sweep.pairs_total = s->n == 0 ? 0 : (uint64_t)s->n * (s->n - 1) / 2;
    const struct nt_matrix *bandwidth =
        from->method != NULL && from->method->has_bandwidths ? NULL : s->bandwidth;
    if ((rates_alone && nt_solve_rates_warn(map, s->bandwidth, err) != 0) ||
        (!f.determined && !rates_alone &&
         nt_map_warn(map, err, "%llu of %llu pairs measured: too few to tell the network",
                     (unsigned long long)map->sweep.pairs_measured,
                     (unsigned long long)map->sweep.pairs_total) != 0) ||
        name_missing(map, s, err) != 0 ||
        (f.determined && set_bandwidths(map, bandwidth, from, err) != 0) ||
        (f.determined && !f.adaptive && from->samples != NULL &&
         nt_disturbed_confidence_apply(from->samples, map, err) != 0) ||
        (f.determined && (warn_of_lines(map, err) != 0 || warn_of_shortcuts(map, err) != 0 ||
                          refine_from(map, s, from, f.adaptive, err) != 0)) ||
        nt_map_place(map, s->slots, from->pattern, from->samples, f.determined, err) != 0) {
        nt_map_destroy(map);
        return -1;
    }
    *out = map;
    return 0;
}

int nt_solve_measured(const struct nt_solve_input *measured, struct nt_map **out,
                      struct nt_err *err)
{
    struct sorted s;
    if (sorted_init(&s, measured, err) != 0)
        return -1;
    int rc = solve_sorted(&s, measured, out, err);
    sorted_fini(&s);
    return rc;
}

/* What the record holds besides its figures. */
static int carry_kernels(const struct nt_samples *samples, struct nt_map *map, struct nt_err *err)
{
    char *cluster = strdup(samples->cluster), *level = strdup(samples->level);
    char *created = strdup(samples->created);
    struct nt_phase *phase = malloc((samples->phases + 1) * sizeof *phase);
    if (!cluster || !level || !created || !phase) {
        free(cluster);
        free(level);
        free(created);
        free(phase);
        return nt_err_memory(err);
    }
    free(map->cluster);
    free(map->level);
    free(map->created);
    map->cluster = cluster;
    map->level = level;
    map->created = created;
    map->job_id = samples->job_id;
    if (samples->phases > 0)
        memcpy(phase, samples->phase, samples->phases * sizeof *phase);
    map->sweep.phase = phase;
    map->sweep.phases = samples->phases;
    map->sweep.rounds = samples->rounds;
    map->sweep.seconds = samples->seconds;
    if (samples->status > map->status)
        map->status = samples->status;
    for (size_t k = 0; k < samples->warnings; k++)
        if (nt_map_warn(map, err, "%s", samples->warning[k]) != 0)
            return -1;
    return nt_map_pair_failures(samples, map, err);
}

static int solve_record(const struct nt_samples *samples, const struct nt_method *method,
                        const struct nt_inferred *known, struct nt_map **out, struct nt_err *err)
{
    struct nt_map *map;
    struct nt_solve_input measured = {.host_name = (const char *const *)samples->host_name,
                                      .missing = samples->missing,
                                      .slots = samples->slots,
                                      .pattern = samples->pattern,
                                      .method = method,
                                      .samples = samples,
                                      .known = known};
    if (nt_solve_measured(&measured, &map, err) != 0)
        return -1;
    if (carry_kernels(samples, map, err) != 0 || nt_map_loggp(samples, map, err) != 0 ||
        nt_map_stress(samples, map, err) != 0 || nt_map_machines(samples, map, err) != 0) {
        nt_map_destroy(map);
        return -1;
    }
    *out = map;
    return 0;
}

int nt_solve_samples_by(const struct nt_samples *samples, const struct nt_method *method,
                        struct nt_map **out, struct nt_err *err)
{
    return solve_record(samples, method, NULL, out, err);
}

int nt_solve_sweep(const struct nt_samples *samples, const struct nt_inferred *known,
                   struct nt_map **out, struct nt_err *err)
{
    return solve_record(samples, NULL, known, out, err);
}

int nt_solve_samples(const struct nt_samples *samples, struct nt_map **out, struct nt_err *err)
{
    return solve_record(samples, NULL, NULL, out, err);
}
