/* SPDX-License-Identifier: Apache-2.0 */
#include "solve.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disturbed.h"
#include "graph.h"
#include "infer.h"
#include "link_figures.h"
#include "map_faults.h"
#include "map_placement.h"
#include "map_record.h"
#include "memory.h"
#include "number.h"
#include "option.h"
#include "pair_failures.h"
#include "prior.h"
#include "prior_check.h"
#include "reading_noise.h"
#include "readings.h"
#include "sparse.h"
#include "stats.h"
#include "sweep_adaptive.h"
#include "sweep_latency.h"

/* Any fixed number: the same measurements must give the same map. */
static const uint64_t seed = 1;

/* ---- hosts by name ---- */

/* Sorting before inferring makes the map the same for any order of the hosts, and lets the model's
 * own canonical order (by smallest host) be the order of names. */
struct sorted {
    size_t n;
    uint32_t *order; /* order[k]: the earlier index of the host that is k-th by name */
    uint32_t *place; /* and of who stood there: k */
    const char **name;
    const char **missing;       /* NULL, or why */
    uint32_t *slots;            /* tasks */
    struct nt_matrix **latency; /* sizes of them; none where the network is inferred without */
    struct nt_matrix **errors;  /* sizes of these; each may be NULL */
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
    s->place = nt_arena_array(&s->memory, n + 1, sizeof *s->place);
    s->name = nt_arena_array(&s->memory, n + 1, sizeof *s->name);
    s->missing = nt_arena_array(&s->memory, n + 1, sizeof *s->missing);
    s->slots = nt_arena_array(&s->memory, n + 1, sizeof *s->slots);
    if (nt_arena_check(&s->memory, err) != 0)
        goto fini;
    for (size_t k = 0; k < n; k++)
        s->order[k] = (uint32_t)k;
    qsort_r(s->order, n, sizeof *s->order, by_name, (void *)from->host_name);
    for (size_t k = 0; k < n; k++) {
        s->place[s->order[k]] = (uint32_t)k;
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

struct found {
    struct nt_model *model;
    bool determined;  /* false: hosts without a network between them */
    uint32_t part[2]; /* hosts that no chain of measured pairs connects; twice the same: none */
    bool adaptive;    /* inferred from some pairs */
    uint64_t pairs;   /* with a latency */
    struct nt_prior_use prior;
};

/* ---- the network from a prior ------------------------------------------------------------ */

/* Takes the readings of the phase, in their order. */
static int read_phase(const struct nt_samples *s, struct nt_readings *out,
                      struct nt_reading_noise *shown, struct nt_err *err)
{
    for (size_t k = 0; k < s->samples; k++) {
        const struct nt_sample *x = &s->sample[k];
        if (x->kind != NT_SAMPLE_LATENCY || x->count == 0 ||
            strcmp(s->phase[x->phase].name, NT_PRIOR_PHASE) != 0)
            continue;
        if (nt_readings_note(out, x->a, x->b, x->count, x->value_us, err) < 0 ||
            nt_reading_noise_note(shown, x->value_us, x->latency.se_us, x->count, err) < 0)
            return -1;
    }
    return 0;
}

/* Renumbers the hosts by name: the prior was judged in the order of the record, as in the sweep. */
static int reorder(const struct nt_prior_check *from, const struct nt_readings *readings,
                   const struct sorted *by, struct nt_prior_check *to, struct nt_readings *out,
                   struct nt_err *err)
{
    size_t n = from->hosts, rows = from->levels > 1 ? from->levels - 1 : 0;
    *to = *from;
    to->memory = (struct nt_arena){0};
    to->cluster = nt_arena_array(&to->memory, rows * n + 1, sizeof *to->cluster);
    to->away = nt_arena_array(&to->memory, n + 1, sizeof *to->away);
    if (nt_arena_check(&to->memory, err) != 0)
        return -1;
    for (uint32_t k = 0; k < n; k++) {
        to->away[k] = from->away[by->order[k]];
        for (size_t l = 0; l < rows; l++)
            to->cluster[l * n + k] = from->cluster[l * n + by->order[k]];
    }
    for (size_t k = 0; k < readings->count; k++) {
        const struct nt_pair_reading *r = &readings->at[k];
        if (nt_readings_add(out, by->place[r->a], by->place[r->b], r->pings, r->ln, err) < 0)
            return -1;
    }
    nt_readings_sort(out);
    return 0;
}

static int make_model(const struct nt_prior_check *b, const struct nt_readings *readings,
                      const struct sorted *by, struct nt_model **out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_prior_check sorted = {0};
    struct nt_readings in_order = {0};
    struct nt_sparse known;
    bool *gone = nt_arena_array(&memory, b->hosts + 1, sizeof *gone);
    int rc = nt_arena_check(&memory, err);
    for (size_t k = 0; rc == 0 && k < b->hosts; k++)
        gone[k] = by->missing[k] != NULL;
    if (rc == 0)
        rc = reorder(b, readings, by, &sorted, &in_order, err);
    if (rc == 0)
        rc = nt_prior_check_sparse(&sorted, gone, &in_order, &known, err);
    if (rc == 0) {
        rc = nt_sparse_model(&known, out, err);
        nt_sparse_fini(&known);
    }
    nt_readings_fini(&in_order);
    nt_prior_check_fini(&sorted);
    return rc;
}

static uint64_t count_read_pairs(const struct nt_readings *r, const bool *missing)
{
    uint64_t pairs = 0;
    for (size_t k = 0; k < r->count; k = nt_readings_next_pair(r, k))
        pairs += !missing[r->at[k].a] && !missing[r->at[k].b];
    return pairs;
}

static struct nt_prior_use prior_use(const struct nt_prior_check *b, uint64_t known)
{
    bool sound = b->verdict == NT_SPARSE_SOUND;
    const char *why = b->why != NULL ? b->why : "too little of it could be verified";
    uint64_t pairs = known * (known - (known > 0)) / 2, read = b->verified + b->against;
    struct nt_prior_use use = {.given = true,
                               .used = sound,
                               .pairs_taken = sound && pairs > read ? pairs - read : 0,
                               .pairs_verified = b->verified,
                               .pairs_contradicted = b->against,
                               .hosts_moved = sound ? b->contradicted : 0};
    if (!sound)
        snprintf(use.reason, sizeof use.reason, "%s", why);
    return use;
}

/* A host that was lost later, when the network was verified, took part in that. */
static int judge(const struct nt_samples *s, const bool *missing, struct nt_readings *readings,
                 double noise, struct nt_prior_check *out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    bool *absent = nt_arena_array(&memory, s->hosts + 1, sizeof *absent);
    bool differs = false;
    if (nt_arena_check(&memory, err) != 0 ||
        nt_prior_check_run(s->belief, missing, readings, noise, out, err) < 0)
        return -1;
    if (out->verdict == NT_SPARSE_SOUND)
        return 0;
    memcpy(absent, missing, s->hosts * sizeof *absent);
    for (size_t k = 0; k < readings->count; k++) {
        const struct nt_pair_reading *r = &readings->at[k];
        differs |= absent[r->a] || absent[r->b];
        absent[r->a] = absent[r->b] = false;
    }
    if (!differs)
        return 0;
    nt_prior_check_fini(out);
    return nt_prior_check_run(s->belief, absent, readings, noise, out, err);
}

/* Nothing was measured: the network is the prior. */
static int take_prior(const struct nt_samples *s, const bool *missing, const uint32_t *order,
                      struct found *f, struct nt_err *err)
{
    uint64_t present = 0;
    for (size_t h = 0; h < s->hosts; h++)
        present += !missing[h];
    int rc = nt_belief_model(s->belief, missing, order, &f->model, err);
    if (rc != 1)
        return rc;
    f->prior = (struct nt_prior_use){.given = true,
                                     .used = true,
                                     .pairs_taken = present * (present - 1) / 2,
                                     .all_taken = true,
                                     .support = s->belief->support};
    nt_prior_day_write(s->belief->oldest_day, f->prior.oldest);
    return 1;
}

/* Solves the record of a sweep that verified a prior. f->prior: how the prior was used, if it is in
 * the record. 1: f->model is the network, which all readings support, and f->pairs the number of
 * read pairs; 0: the record has no such network, and neither is set. */
static int solve_prior(const struct nt_samples *s, const struct sorted *by, struct found *f,
                       struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_readings readings = {0};
    struct nt_reading_noise shown = {0};
    struct nt_prior_check check = {0};
    if (s->belief == NULL || s->belief->levels == 0)
        return 0;
    bool *missing = nt_arena_array(&memory, s->hosts + 1, sizeof *missing);
    int rc = nt_arena_check(&memory, err);
    uint64_t known = 0;
    for (size_t h = 0; rc == 0 && h < s->hosts; h++) {
        missing[h] = s->missing[h] != NULL;
        known += s->belief->levels == 1 || s->belief->cluster[h] != NT_BELIEF_LOOSE;
    }
    if (rc == 0 && s->belief->taken && s->samples == 0) {
        f->pairs = 0;
        return take_prior(s, missing, by->order, f, err);
    }
    if (rc == 0)
        rc = read_phase(s, &readings, &shown, err);
    if (rc == 0)
        rc = judge(s, missing, &readings, nt_reading_noise_sd(&shown), &check, err);
    if (rc == 0) {
        f->prior = prior_use(&check, known);
        if (f->prior.used && readings.count > 0) {
            rc = make_model(&check, &readings, by, &f->model, err);
            f->pairs = count_read_pairs(&readings, missing);
            rc = rc < 0 ? -1 : 1;
        }
    }
    f->prior.used &= rc == 1;
    nt_prior_check_fini(&check);
    nt_reading_noise_fini(&shown);
    nt_readings_fini(&readings);
    return rc;
}

/* ---- the network from an adaptive sweep ---- */

/* The readings of one of its phases. place: of the record's hosts in the model. */
static int take_phase(const struct nt_samples *s, const uint32_t *place, const char *phase,
                      struct nt_readings *out, struct nt_err *err)
{
    for (size_t k = 0; k < s->samples; k++) {
        const struct nt_sample *x = &s->sample[k];
        bool failed = x->kind == NT_SAMPLE_FAILED;
        if ((x->kind != NT_SAMPLE_LATENCY && !failed) || s->missing[x->a] != NULL ||
            s->missing[x->b] != NULL || strcmp(s->phase[x->phase].name, phase) != 0)
            continue;
        uint32_t a = place[x->a], b = place[x->b];
        if ((failed ? nt_readings_note_failure(out, a, b, err)
                    : nt_readings_note(out, a, b, x->count, x->value_us, err)) < 0)
            return -1;
    }
    return 0;
}

static int take_adaptive(const struct nt_samples *s, const uint32_t *place, struct nt_readings *out,
                         struct nt_err *err)
{
    if (take_phase(s, place, NT_SWEEP_ADAPTIVE_CALIBRATION, out, err) < 0)
        return -1;
    out->calibration = out->count;
    if (take_phase(s, place, NT_SWEEP_ADAPTIVE_PHASE, out, err) < 0)
        return -1;
    out->planning = out->count;
    return take_phase(s, place, NT_SWEEP_ADAPTIVE_VERIFICATION, out, err);
}

static int infer_readings(const struct nt_readings *readings, size_t hosts, const bool *missing,
                          struct nt_model **out, struct nt_err *err)
{
    struct nt_sparse_check check;
    struct nt_model *model;
    struct nt_err why = {0};
    if (readings->count == readings->planning)
        return 0; /* cut short: its result may be wrong */
    if (nt_infer_sparse(hosts, missing, readings, &model, &check, &why) < 0)
        return why.kind == NT_ERR_SYSTEM ? nt_err_set(err, why.kind, "%s", why.text) : 0;
    if (check.verdict != NT_SPARSE_SOUND) {
        nt_model_destroy(model);
        return 0;
    }
    *out = model;
    return 1;
}

/* The network from the record of an adaptive sweep, where that was verified. Time and memory are
 * about linear in the readings. 1: *out is the network, which all readings support; 0: the record
 * has none such, and *out is not set. */
static int solve_adaptive(const struct nt_samples *samples, const struct sorted *by,
                          struct nt_model **out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    bool *missing = nt_arena_array(&memory, by->n, sizeof *missing);
    struct nt_readings readings = {0};
    if (missing == NULL)
        return nt_arena_check(&memory, err);
    for (size_t k = 0; k < by->n; k++)
        missing[k] = by->missing[k] != NULL;
    int rc = take_adaptive(samples, by->place, &readings, err);
    if (rc == 0)
        rc = infer_readings(&readings, by->n, missing, out, err);
    nt_readings_fini(&readings);
    return rc;
}

/* ---- the network from bandwidths alone ---- */

#define NARROWER 0.9 /* of the usual best pair of a host: below, the host's place is unknown */
#define UNSURE 0.5

/* A byte at B * 10^6 bytes per second takes 1/B us; for 1,000 bytes values are of usual size. */
static int invert(const struct nt_matrix *bandwidth, struct nt_matrix **out, struct nt_err *err)
{
    struct nt_matrix *us;
    if (nt_matrix_create(bandwidth->n, NT_MATRIX_LATENCY_US, &us, err) != 0)
        return -1;
    for (size_t k = 0; k < bandwidth->n * bandwidth->n; k++)
        us->at[k] = bandwidth->at[k] > 0 ? 1000 / bandwidth->at[k] : NAN;
    *out = us;
    return 0;
}

static float best_of(const struct nt_matrix *m, size_t host)
{
    float best = 0;
    for (size_t k = 0; k < m->n; k++) {
        best = fmaxf(best, isnan(nt_matrix_get(m, host, k)) ? 0 : nt_matrix_get(m, host, k));
        best = fmaxf(best, isnan(nt_matrix_get(m, k, host)) ? 0 : nt_matrix_get(m, k, host));
    }
    return best;
}

/* Each host's best pair in best[] (0: none), and the usual one. */
static int find_best(const struct nt_matrix *m, float *best, float *usual, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    float *copy = nt_arena_array(&memory, m->n + 1, sizeof *copy);
    size_t n = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < m->n; k++) {
        best[k] = best_of(m, k);
        if (best[k] > 0)
            copy[n++] = best[k];
    }
    *usual = n == 0 ? 0 : nt_stats_median(copy, n);
    return 0;
}

static bool is_narrow(float best, float usual)
{
    return best > 0 && (double)best < NARROWER * (double)usual;
}

/* Removes latencies that were times of bytes, which bandwidths describe better. */
static void drop_figures(struct nt_model *m)
{
    for (size_t k = 0; k < m->links; k++)
        m->link[k].latency_us = m->link[k].latency_se_us = NAN;
    memset(m->overhead_us, 0, m->hosts * sizeof *m->overhead_us);
    m->r2 = m->rms_us = m->resolution_us = NAN;
    m->pairs_off = 0;
}

static void doubt_all(struct nt_model *m)
{
    for (size_t k = 0; k < m->links; k++)
        m->link[k].probability = fmin(m->link[k].probability, UNSURE);
    m->confidence = fmin(m->confidence, UNSURE);
}

static int make_nothing(struct nt_model **model, struct nt_err *err)
{
    struct nt_model *empty;
    if (nt_model_create((*model)->hosts, 0, 0, &empty, err) != 0)
        return -1;
    memcpy(empty->missing, (*model)->missing, empty->hosts * sizeof *empty->missing);
    nt_model_destroy(*model);
    *model = empty;
    return 0;
}

/* Infers a network from bandwidths of pairs alone. A pair has the bandwidth of the narrowest link
 * on its path. So if links become narrower towards the root, for a single flow, the times of a byte
 * between hosts form an ultrametric: they are inferred like latencies, and the latencies are
 * removed from the links.
 *
 * *out: a tree of the groups of hosts with more bandwidth inside than to others. The family is
 * undetermined, without links, if there are none, since a network whose upper links are wide enough
 * shows no groups. Two hosts are a star, as with latencies. A host that has no more bandwidth to
 * any host than other hosts have across groups can be anywhere; if there is one, the support of
 * groups is at most 1/2. */
static int solve_rates(const struct nt_matrix *bandwidth, struct nt_model **out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_matrix *us;
    struct nt_model *m;
    bool narrow = false;
    float usual, *best = nt_arena_array(&memory, bandwidth->n + 1, sizeof *best);
    if (nt_arena_check(&memory, err) != 0 || find_best(bandwidth, best, &usual, err) != 0 ||
        invert(bandwidth, &us, err) != 0)
        return -1;
    for (size_t k = 0; k < bandwidth->n; k++)
        narrow = narrow || is_narrow(best[k], usual);
    int rc = nt_infer_latency(us, NULL, seed, &m, err);
    nt_matrix_destroy(us);
    if (rc != 0)
        return -1;
    bool two = m->hosts == 2 && m->family == NT_FAMILY_STAR; /* nothing else is possible */
    if (m->family != NT_FAMILY_TREE && !two && make_nothing(&m, err) != 0) {
        nt_model_destroy(m);
        return -1;
    }
    drop_figures(m);
    if (narrow)
        doubt_all(m);
    *out = m;
    return 0;
}

/* A warning each, of the first; an unbounded list would break the map's bound. */
enum { NARROW_NAMED_MAX = 100 };

/* Warns about properties that such a map cannot show, and about hosts whose every pair is narrower
 * than usual. bandwidth: in the order of the map's hosts. */
static int warn_of_rates(struct nt_map *map, const struct nt_matrix *bandwidth, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t narrow = 0;
    float usual, *best = nt_arena_array(&memory, bandwidth->n + 1, sizeof *best);
    if (nt_arena_check(&memory, err) != 0 || find_best(bandwidth, best, &usual, err) != 0)
        return -1;
    for (size_t k = 0; k < bandwidth->n; k++) {
        char has[NT_NUMBER_BYTES], others[NT_NUMBER_BYTES];
        if (!is_narrow(best[k], usual) || narrow++ >= NARROW_NAMED_MAX)
            continue;
        nt_number_plain((double)best[k], 3, has);
        nt_number_plain((double)usual, 3, others);
        if (nt_map_warn(map, err,
                        "host %s has at most %s MB/s to every other host, other hosts have %s: the "
                        "host or its link is narrow, and its switch could not be determined",
                        map->host_name[k], has, others) != 0)
            return -1;
    }
    return nt_map_warn(map, err,
                       map->model->links > 0
                           ? "this map is from bandwidths alone: it shows only switches whose "
                             "uplinks have less bandwidth than their hosts' links"
                           : "bandwidths alone show no groups of hosts: the network may be one "
                             "switch, or every uplink has enough bandwidth for a pair");
}

/* ---- confidence ---- */

/* Fitted to tests/bench sweeps, so that the confidence of maps is about the share of exact maps. */
static const double CONFIDENCE_LOSS = 0.07, WARN_FROM = 0.3;

/* Lowers the confidence for pairs that are expected to have only disturbed readings (disturbed.h),
 * which may lead to another network without a sign in the noise. A warning follows from 0.3
 * expected pairs on. For maps of all pairs. */
static int lower_confidence(const struct nt_samples *samples, struct nt_map *map,
                            struct nt_err *err)
{
    if (samples->hosts > NT_LATENCIES_LISTED_HOSTS)
        return 0;
    struct nt_latencies latencies;
    struct nt_disturbed d;
    double bytes = nt_samples_latency_bytes(samples);
    int rc = 0;
    nt_latencies_init(&latencies, samples->hosts);
    for (size_t k = 0; k < samples->samples && rc == 0; k++) {
        const struct nt_sample *x = &samples->sample[k];
        if (x->kind == NT_SAMPLE_LATENCY && x->bytes == bytes)
            rc = nt_latencies_note(&latencies, x->a, x->b, x->value_us, x->latency.se_us, err);
    }
    if (rc == 0)
        rc = nt_disturbed_find(&latencies, &d, err);
    nt_latencies_fini(&latencies);
    if (rc != 0)
        return -1;
    map->model->confidence *= exp(-CONFIDENCE_LOSS * d.pairs);
    if (d.pairs < WARN_FROM)
        return 0;
    return nt_map_warn(map, err,
                       "latency: at least %.0f %% of the measurements were disturbed, and some "
                       "pairs may have no undisturbed one",
                       100 * d.share);
}

/* ---- the map's other parts ---- */

static uint64_t count_pairs(const struct nt_matrix *m)
{
    uint64_t pairs = 0;
    for (size_t i = 0; i < m->n; i++)
        for (size_t j = i + 1; j < m->n; j++)
            pairs += !isnan(nt_matrix_get(m, i, j)) || !isnan(nt_matrix_get(m, j, i));
    return pairs;
}

/* Limit of warnings; the size of a map is limited. */
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
    return nt_map_warn(map, err, "%zu more hosts are missing", missing - MISSING_NAMED_MAX);
}

/* Marks properties of links that the source of bandwidths does not show: of links between switches,
 * if all hosts sent at the same time; of any, if messages were short. */
static int mark_lower_bounds(struct nt_map *map, const struct nt_solve_input *from,
                             struct nt_err *err)
{
    bool small = from->rate_bytes > 0 && from->rate_bytes < NT_SOLVE_RATE_BYTES;
    if (from->contended && nt_link_bandwidth_bound(map->model, false) > 0 &&
        nt_map_warn(map, err,
                    "all hosts sent at the same time: links between switches have at least the "
                    "stated bandwidths") != 0)
        return -1;
    if (small && nt_link_bandwidth_bound(map->model, true) > 0)
        return nt_map_warn(map, err,
                           "bandwidths are from messages of %g bytes: links have at least the "
                           "stated bandwidths. Measure with messages of %g bytes or more.",
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
        return mark_lower_bounds(map, from, err);
    if (rc == 0)
        rc = nt_map_warn(map, err, "bandwidths omitted: the network is not a tree");
    return rc < 0 ? -1 : 0;
}

/* Latencies do not distinguish a hierarchy with shortcuts from a tree. */
static int warn_of_shortcuts(struct nt_map *map, struct nt_err *err)
{
    if (!map->model->shortcuts)
        return 0;
    return nt_map_warn(map, err,
                       "latencies do not fit a tree: there may be more links between switches (as "
                       "in a dragonfly), and such links may cause groups with a support below 0.9");
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
    return nt_map_warn(
        map, err,
        hosts ? "hosts in a line: a line of switches with one host each has the same latencies"
              : "switches with one host each: hosts linked to each other have the same latencies");
}

/* ---- the network ---- */

/* With this share of the pairs the network is inferred, whichever are missing. In trees of two to
 * four leaves of four hosts all groups that are stated at 0.9 are then real
 * (test_pair_failures.c). */
static const double COVERED = 0.65;

/* Whether a matrix of this number of hosts is small, or at most a few times the size of the
 * record. */
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
        return false; /* the last one that answers: it has no partner left */
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

/* ---- message sizes ---- */

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

/* 1: the matrix of messages of this size can give a map; 0: too few of its pairs were measured. */
static int is_measured(const struct nt_samples *s, double bytes, struct nt_err *err)
{
    struct nt_measured_pairs measured;
    if (nt_samples_measured_pairs(s, bytes, &measured, err) != 0)
        return -1;
    bool covered = is_covered(&measured, s->missing);
    nt_measured_pairs_fini(&measured);
    return covered;
}

/* Latencies, and their standard errors if inference uses them, else NULL. */
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

/* First the smallest message; then other sizes with enough measured pairs to find structure. After
 * an error, the matrices made so far remain. */
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

/* The first hosts of two parts of the network with measured pairs, but with none between the parts:
 * then there is no reading of the way from one to the other. */
static int find_parts(const struct nt_matrix *m, uint32_t part[2], struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t hosts = (uint32_t)m->n, parts = 0;
    uint32_t *up = nt_arena_array(&memory, m->n + 1, sizeof *up);
    bool *paired = nt_arena_array(&memory, m->n + 1, sizeof *paired);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    nt_sets_init(up, m->n);
    for (uint32_t i = 0; i < hosts; i++)
        for (uint32_t j = 0; j < hosts; j++)
            if (i != j && !isnan(nt_matrix_get(m, i, j))) {
                paired[i] = paired[j] = true;
                nt_sets_join(up, i, j);
            }
    for (uint32_t h = 0; h < hosts && parts < 2; h++)
        if (paired[h] && (parts == 0 || nt_sets_find(up, h) != nt_sets_find(up, part[0])))
            part[parts++] = h;
    part[1] = parts < 2 ? part[0] : part[1];
    return 0;
}

static int infer_sorted(const struct sorted *s, const struct nt_solve_input *from, struct found *f,
                        struct nt_err *err)
{
    const struct nt_size_latencies sizes = {s->sizes, (const struct nt_matrix *const *)s->latency,
                                            (const struct nt_matrix *const *)s->errors};
    const struct nt_method *method = from->method;
    if (find_parts(s->latency[0], f->part, err) != 0)
        return -1;
    f->determined = f->part[0] == f->part[1];
    if (!f->determined)
        return infer_nothing(s, &f->model, err);
    if (method == NULL)
        return nt_infer_sizes(&sizes, seed, from->known, &f->model, err);
    return method->infer(method->settings, sizes.latency, sizes.sizes, s->bandwidth, &f->model,
                         err);
}

static int infer_pairs(struct sorted *s, const struct nt_solve_input *from, struct found *f,
                       struct nt_err *err)
{
    struct matrices m = {0};
    int rc = list_matrices(from->samples, &m, err);
    bool one = from->method != NULL && m.n > from->method->sizes_max;
    if (rc == 0)
        rc = sort_latencies(s, (const struct nt_matrix *const *)m.latency,
                            (const struct nt_matrix *const *)m.errors, one ? 1 : m.n, err);
    if (rc == 0)
        rc = infer_sorted(s, from, f, err);
    for (size_t k = 0; k < m.n; k++) {
        nt_matrix_destroy(m.latency[k]);
        nt_matrix_destroy(m.errors[k]);
    }
    return rc;
}

static int find_in_record(struct sorted *s, const struct nt_solve_input *from, struct found *f,
                          struct nt_err *err)
{
    struct nt_measured_pairs measured;
    if (nt_samples_measured_pairs(from->samples, 0, &measured, err) != 0)
        return -1;
    f->pairs = measured.pairs;
    f->determined = is_covered(&measured, from->samples->missing);
    nt_measured_pairs_fini(&measured);
    int rc = from->method == NULL ? solve_prior(from->samples, s, f, err) : 0;
    if (rc == 0 && from->method == NULL)
        rc = solve_adaptive(from->samples, s, &f->model, err);
    f->adaptive = rc > 0;
    if (rc == 0)
        return f->determined ? infer_pairs(s, from, f, err) : infer_nothing(s, &f->model, err);
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
    if (sort_latencies(s, latency, NULL, 1 + from->larger_sizes, err) != 0 ||
        infer_sorted(s, from, f, err) != 0)
        return -1;
    f->pairs = count_pairs(s->latency[0]);
    return 0;
}

static int find_in_bandwidths(struct sorted *s, struct found *f, struct nt_err *err)
{
    if (solve_rates(s->bandwidth, &f->model, err) != 0)
        return -1;
    f->determined = f->model->links > 0;
    f->pairs = count_pairs(s->bandwidth);
    return 0;
}

/* ---- other parts of a sweep's record ----------------------------------------------------- */

/* adaptive: the map is from an adaptive sweep, which treats all pairs of a tier as equal; its
 * readings show more. */
static int refine_links(struct nt_map *map, const struct sorted *s,
                        const struct nt_samples *samples, bool adaptive, struct nt_err *err)
{
    static const char *const planned[] = {NT_SAMPLES_LINK_LATENCY, NULL};
    static const char *const adapted[] = {NT_SWEEP_ADAPTIVE_CALIBRATION, NT_SWEEP_ADAPTIVE_PHASE,
                                          NT_SWEEP_ADAPTIVE_VERIFICATION, NT_SAMPLES_PRIOR, NULL};
    int rc = nt_link_latency(samples, s->place, planned, false, map->model, err);
    if (rc == 0 && adaptive && map->model->links <= NT_LINK_LATENCY_LINKS_SOON)
        rc = nt_link_latency(samples, s->place, adapted, true, map->model, err);
    return rc < 0 ? -1 : 0;
}

/* ---- solving ---- */

/* The record contains more than latencies: repeated measurements of links, flows. Every link gets
 * the values that they show. */
static int refine_from(struct nt_map *map, const struct sorted *s,
                       const struct nt_solve_input *from, bool adaptive, struct nt_err *err)
{
    struct nt_faults_source source = {
        .samples = from->samples,
        .place = s->place,
        .latency = from->samples == NULL && s->sizes > 0 ? s->latency[0] : NULL};
    if (from->samples != NULL && refine_links(map, s, from->samples, adaptive, err) != 0)
        return -1;
    return nt_map_faults(map, &source, err);
}

static int warn_of_few(struct nt_map *map, const uint32_t part[2], struct nt_err *err)
{
    unsigned long long measured = map->sweep.pairs_measured, all = map->sweep.pairs_total;
    if (part[0] == part[1])
        return nt_map_warn(map, err,
                           "%llu of %llu pairs measured: too few to determine the network",
                           measured, all);
    return nt_map_warn(map, err,
                       "%llu of %llu pairs measured: no measured pair connects the hosts around %s "
                       "to the hosts around %s",
                       measured, all, map->host_name[part[0]], map->host_name[part[1]]);
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
    if ((rates_alone && warn_of_rates(map, s->bandwidth, err) != 0) ||
        (!f.determined && !rates_alone && warn_of_few(map, f.part, err) != 0) ||
        name_missing(map, s, err) != 0 ||
        (f.determined && set_bandwidths(map, bandwidth, from, err) != 0) ||
        (f.determined && !f.adaptive && from->samples != NULL &&
         lower_confidence(from->samples, map, err) != 0) ||
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

/* Copies cluster, level, phases, warnings and status of the sweep. */
static int copy_sweep(const struct nt_samples *samples, struct nt_map *map, struct nt_err *err)
{
    struct nt_phase *phase = malloc((samples->phases + 1) * sizeof *phase);
    if (phase == NULL)
        return nt_err_memory(err);
    if (samples->phases > 0)
        memcpy(phase, samples->phase, samples->phases * sizeof *phase);
    map->job_id = samples->job.id;
    map->sweep.phase = phase;
    map->sweep.phases = samples->phases;
    map->sweep.rounds = samples->rounds;
    map->sweep.seconds = samples->seconds;
    if (samples->status > map->status)
        map->status = samples->status;
    if (nt_map_set_text(&map->cluster, samples->job.cluster, err) != 0 ||
        nt_map_set_text(&map->level, samples->job.level, err) != 0 ||
        nt_map_set_text(&map->created, samples->job.created, err) != 0)
        return -1;
    for (size_t k = 0; k < samples->warnings; k++)
        if (nt_map_warn(map, err, "%s", samples->warning[k]) != 0)
            return -1;
    return nt_map_pair_failures(samples, map, err);
}

int nt_solve_samples(const struct nt_samples *samples, const struct nt_method *method,
                     const struct nt_inferred *known, struct nt_map **out, struct nt_err *err)
{
    struct nt_map *map;
    struct nt_solve_input measured = {.host_name = (const char *const *)samples->host_name,
                                      .missing = samples->missing,
                                      .slots = samples->slots,
                                      .pattern = samples->job.pattern,
                                      .method = method,
                                      .samples = samples,
                                      .known = known};
    if (nt_solve_measured(&measured, &map, err) != 0)
        return -1;
    if (copy_sweep(samples, map, err) != 0 || nt_map_loggp(samples, map, err) != 0 ||
        nt_map_stress(samples, map, err) != 0 || nt_map_machines(samples, map, err) != 0) {
        nt_map_destroy(map);
        return -1;
    }
    *out = map;
    return 0;
}
