/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet_job.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "prior.h"
#include "rooted_tree.h"
#include "utc.h"

static const int64_t FIRST_S =
    INT64_C(1262304000); /* 2010: older times are before the program existed */
static const double FIGURE_MAX = 1e9;

/* ---- whose it is ---- */

static int check_names(const struct nt_map *map, const struct nt_origin *origin, struct nt_err *err)
{
    for (size_t k = 0; origin->hosts.count > 0 && k < map->model->hosts; k++)
        if (nt_names_find(&origin->hosts, map->host_name[k], strlen(map->host_name[k])) ==
            NT_NAMES_NONE)
            return nt_err_set(err, NT_ERR_INPUT, "host %s was not in job %llu", map->host_name[k],
                              (unsigned long long)map->job_id);
    return 0;
}

static int check_origin(const struct nt_map *map, const struct nt_origin *origin,
                        struct nt_err *err)
{
    if (map->job_id == 0 || map->job_id > UINT32_MAX)
        return nt_err_set(err, NT_ERR_INPUT,
                          "the map has no job ID: only maps of Slurm jobs can be imported");
    if (origin->has_job && origin->job != map->job_id)
        return nt_err_set(err, NT_ERR_INPUT, "the map is from job %llu, its file from job %llu",
                          (unsigned long long)map->job_id, (unsigned long long)origin->job);
    if (origin->cluster[0] != '\0' && strcmp(origin->cluster, map->cluster) != 0)
        return nt_err_set(err, NT_ERR_INPUT, "the map is from cluster %.64s, its file from %.64s",
                          map->cluster, origin->cluster);
    return check_names(map, origin, err);
}

static int set_time(struct nt_fleet_job *job, const struct nt_map *map,
                    const struct nt_origin *origin, int64_t now_s, struct nt_err *err)
{
    job->time_s = origin->time_s > 0 ? origin->time_s : nt_utc_parse(map->created);
    if (job->time_s >= FIRST_S && job->time_s <= now_s + NT_DAY_S)
        return 0;
    return nt_err_set(err, NT_ERR_INPUT, "expected the time of the sweep, found \"%.32s\"",
                      map->created);
}

static int set_words(struct nt_fleet_job *job, const struct nt_map *map, struct nt_err *err)
{
    size_t n = map->model->hosts;
    job->cluster = nt_arena_text(&job->memory, map->cluster, strlen(map->cluster));
    job->level = nt_arena_text(&job->memory, map->level, strlen(map->level));
    job->host = nt_arena_array(&job->memory, n, sizeof *job->host);
    if (nt_arena_check(&job->memory, err) != 0)
        return -1;
    for (size_t k = 0; k < n; k++)
        job->host[k] = nt_arena_text(&job->memory, map->host_name[k], strlen(map->host_name[k]));
    job->hosts = n;
    return nt_arena_check(&job->memory, err);
}

/* ---- latencies of pairs ---- */

/* Sets place[k] to the job's index of host k of the samples. */
static int match_hosts(const struct nt_fleet_job *job, const struct nt_samples *samples,
                       uint32_t *place, struct nt_err *err)
{
    struct nt_names names = {0};
    int rc = 0;
    uint32_t index;
    for (size_t k = 0; rc >= 0 && k < job->hosts; k++)
        rc = nt_names_add(&names, job->host[k], &index, err);
    for (size_t k = 0; rc >= 0 && k < samples->hosts; k++) {
        place[k] = nt_names_find(&names, samples->host_name[k], strlen(samples->host_name[k]));
        if (place[k] == NT_NAMES_NONE)
            rc = nt_err_set(err, NT_ERR_INPUT, "host %s is in the samples, but not in the map",
                            samples->host_name[k]);
    }
    nt_names_fini(&names);
    return rc < 0 ? -1 : 0;
}

static int compare_pairs(const void *x, const void *y)
{
    const struct nt_evidence_entry *p = x, *q = y;
    return NT_ORDER(p->a, q->a, NT_ORDER(p->b, q->b, NT_ORDER(p->lowest_us, q->lowest_us, 0)));
}

/* Combines the readings of one pair; until the end sd is the sum of squared differences. */
static size_t fold_pairs(struct nt_evidence_entry *pair, size_t n)
{
    size_t kept = 0;
    for (size_t k = 0; k < n; k++) {
        struct nt_evidence_entry *last = kept > 0 ? &pair[kept - 1] : NULL;
        if (last == NULL || last->a != pair[k].a || last->b != pair[k].b) {
            pair[kept++] = pair[k];
            continue;
        }
        double x = pair[k].lowest_us,
               delta = x - last->mean_us; /* sorted, so the first is the lowest */
        last->count++;
        last->mean_us += (float)(delta / last->count);
        last->sd_us += (float)(delta * (x - last->mean_us));
    }
    for (size_t k = 0; k < kept; k++)
        if (pair[k].count > 1)
            pair[k].sd_us = sqrtf(pair[k].sd_us / (float)(pair[k].count - 1));
    return kept;
}

static bool is_reading(const struct nt_sample *s, const struct nt_samples *samples, double bytes)
{
    return s->kind == NT_SAMPLE_LATENCY && s->bytes <= bytes && s->value_us > 0 &&
           s->value_us < FIGURE_MAX && s->a != s->b && samples->missing[s->a] == NULL &&
           samples->missing[s->b] == NULL;
}

static int add_pairs(struct nt_fleet_job *job, const struct nt_samples *samples, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *place = nt_arena_array(&memory, samples->hosts, sizeof *place);
    double bytes = nt_samples_latency_bytes(samples);
    size_t n = 0;
    if (place == NULL || match_hosts(job, samples, place, err) != 0)
        return place == NULL ? nt_arena_check(&memory, err) : -1;
    for (size_t k = 0; k < samples->samples; k++)
        n += is_reading(&samples->sample[k], samples, bytes);
    if (n > NT_FLEET_PAIRS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "%zu latencies: expected at most %d", n,
                          NT_FLEET_PAIRS_MAX);
    job->pair = nt_arena_array(&job->memory, n, sizeof *job->pair);
    if (job->pair == NULL)
        return nt_arena_check(&job->memory, err);
    for (size_t k = 0; k < samples->samples; k++) {
        const struct nt_sample *s = &samples->sample[k];
        if (!is_reading(s, samples, bytes))
            continue;
        uint32_t a = place[s->a], b = place[s->b];
        job->pair[job->pairs++] = (struct nt_evidence_entry){.a = a < b ? a : b,
                                                             .b = a < b ? b : a,
                                                             .count = 1,
                                                             .lowest_us = (float)s->value_us,
                                                             .mean_us = (float)s->value_us};
    }
    qsort(job->pair, job->pairs, sizeof *job->pair, compare_pairs);
    job->pairs = fold_pairs(job->pair, job->pairs);
    return 0;
}

static int add_record(struct nt_fleet_job *job, const struct nt_samples *samples,
                      struct nt_err *err)
{
    if (samples->job.id != job->job)
        return nt_err_set(err, NT_ERR_INPUT,
                          "the samples are from job %llu, the map is from job %llu",
                          (unsigned long long)samples->job.id, (unsigned long long)job->job);
    if (strcmp(samples->job.cluster, job->cluster) != 0)
        return nt_err_set(err, NT_ERR_INPUT,
                          "the samples are from cluster %.64s, the map is from %.64s",
                          samples->job.cluster, job->cluster);
    job->restart = samples->job.restart;
    return add_pairs(job, samples, err);
}

/* ---- figures of links ---- */

static void add_figure(struct nt_fleet_job *job, struct nt_fleet_figure figure, double value)
{
    if (!(value > 0) || !(value < FIGURE_MAX))
        return;
    figure.value = (float)value;
    job->figure[job->figures++] = figure;
}

static uint32_t first_host(const struct nt_rooted_tree *rooted, uint32_t vertex)
{
    uint32_t first = UINT32_MAX;
    for (uint32_t k = rooted->head[vertex]; k < rooted->tail[vertex]; k++)
        first = rooted->host[k] < first ? rooted->host[k] : first;
    return first;
}

static uint32_t degree_of(const struct nt_rooted_tree *rooted, uint32_t vertex)
{
    return rooted->first[vertex + 1] - rooted->first[vertex] +
           (rooted->parent[vertex] != NT_NO_VERTEX);
}

/* Adds the values of the uplink of a vertex, identified by the first host below it. */
static void add_link(struct nt_fleet_job *job, const struct nt_model *model,
                     const struct nt_rooted_tree *rooted, uint32_t vertex)
{
    uint32_t up = rooted->up[vertex], parent = rooted->parent[vertex];
    uint32_t tier = nt_model_tier(model, vertex);
    const struct nt_link *l = &model->link[up / 2];
    bool upward = up % 2 == 0;
    if (tier >= NT_FLEET_TIERS)
        return;
    struct nt_fleet_figure f = {.host = first_host(rooted, vertex),
                                .tier = (uint8_t)tier,
                                .kind = NT_FIGURE_LATENCY,
                                .shared = degree_of(rooted, parent) < 3};
    /* a host that is alone on its leaf switch is connected to the switch above in the job's map:
     * its latency is that of several links */
    if (vertex >= model->hosts || nt_model_tier(model, parent) == 1)
        add_figure(job, f, l->latency_us);
    f.kind = NT_FIGURE_UP;
    f.bound = l->at_least || (upward ? l->forth_at_least : l->back_at_least);
    add_figure(job, f, upward ? l->bandwidth_MBps : l->bandwidth_back_MBps);
    f.kind = NT_FIGURE_DOWN;
    f.bound = l->at_least || (upward ? l->back_at_least : l->forth_at_least);
    add_figure(job, f, upward ? l->bandwidth_back_MBps : l->bandwidth_MBps);
}

static int compare_figures(const void *x, const void *y)
{
    const struct nt_fleet_figure *p = x, *q = y;
    return NT_ORDER(p->host, q->host, NT_ORDER(p->tier, q->tier, NT_ORDER(p->kind, q->kind, 0)));
}

/* Removes duplicates: two switches may have the same first host and tier if one has a single child;
 * the lower one counts. */
static void drop_doubles(struct nt_fleet_job *job)
{
    size_t kept = 0;
    for (size_t k = 0; k < job->figures; k++)
        if (kept == 0 || compare_figures(&job->figure[kept - 1], &job->figure[k]) != 0)
            job->figure[kept++] = job->figure[k];
    job->figures = kept;
}

static void add_figures(struct nt_fleet_job *job, const struct nt_model *model,
                        const struct nt_rooted_tree *rooted)
{
    for (size_t k = 0; k < rooted->reached; k++) {
        uint32_t v = rooted->order[k];
        if (rooted->parent[v] != NT_NO_VERTEX && nt_rooted_tree_count(rooted, v) > 0)
            add_link(job, model, rooted, v);
    }
    qsort(job->figure, job->figures, sizeof *job->figure, compare_figures);
    drop_doubles(job);
}

/* Finds the place of a finding: for a link between switches its lower end, otherwise the host. */
static bool place_finding(const struct nt_model *model, const struct nt_rooted_tree *rooted,
                          const struct nt_fault_part *part, uint32_t *host, uint32_t *tier)
{
    uint32_t v = part->a;
    if (part->a >= model->hosts && part->b >= model->hosts && rooted->parent[part->b] == part->a)
        v = part->b;
    if (part->a >= model->hosts && part->b < model->hosts)
        v = part->b;
    *tier = nt_model_tier(model, v);
    *host = v < model->hosts ? v : first_host(rooted, v);
    return *host < model->hosts && *tier < NT_FLEET_TIERS;
}

static void add_findings(struct nt_fleet_job *job, const struct nt_map *map,
                         const struct nt_rooted_tree *rooted)
{
    for (size_t k = 0; k < map->faults && job->findings < NT_FLEET_FINDINGS_MAX; k++) {
        const struct nt_fault *f = &map->fault[k];
        uint32_t host, tier;
        if (!place_finding(map->model, rooted, &f->part, &host, &tier))
            continue;
        job->finding[job->findings++] =
            (struct nt_fleet_finding){.host = host,
                                      .tier = (uint8_t)tier,
                                      .kind = (uint8_t)f->part.kind,
                                      .way = (uint8_t)f->way,
                                      .alone = f->others == 0,
                                      .found = (float)f->found,
                                      .expected = (float)f->expected,
                                      .confidence = (float)f->confidence};
    }
}

static int add_links(struct nt_fleet_job *job, const struct nt_map *map, struct nt_err *err)
{
    struct nt_rooted_tree *rooted = NULL;
    job->figure =
        nt_arena_array(&job->memory, map->model->links * NT_FIGURE_KINDS, sizeof *job->figure);
    job->finding = nt_arena_array(&job->memory, NT_FLEET_FINDINGS_MAX, sizeof *job->finding);
    if (nt_arena_check(&job->memory, err) != 0)
        return -1;
    /* a map taken from earlier jobs is no evidence */
    if (map->model->switches == 0 || map->sweep.prior.all_taken)
        return 0;
    if (nt_rooted_tree_create(map->model, &rooted, err) != 0)
        return -1;
    if (rooted->tree) {
        add_figures(job, map->model, rooted);
        add_findings(job, map, rooted);
    }
    nt_rooted_tree_destroy(rooted);
    return 0;
}

/* ---- LogGP ---- */

/* Adds LogGP. Omits entries that do not fit a line, and those taken from earlier jobs, which are no
 * evidence. */
static int add_loggp(struct nt_fleet_job *job, const struct nt_map *map, struct nt_err *err)
{
    struct nt_loggp *all = NULL;
    size_t n = 0;
    struct nt_err why = {0};
    for (size_t k = 0; k < map->loggps && n < NT_LOGGPS_MAX && why.kind != NT_ERR_SYSTEM; k++)
        if (map->loggp[k].seen[0] == '\0' && nt_loggps_add(&all, &n, &map->loggp[k], &why) == 0)
            all[n - 1].support = NAN;
    job->loggp = nt_arena_array(&job->memory, n + 1, sizeof *job->loggp);
    if (job->loggp != NULL && n > 0)
        memcpy(job->loggp, all, n * sizeof *all);
    free(all);
    job->loggps = n;
    return why.kind == NT_ERR_SYSTEM ? nt_err_memory(err) : nt_arena_check(&job->memory, err);
}

int nt_fleet_job_create(const struct nt_map *map, const struct nt_samples *samples,
                        const struct nt_origin *origin, int64_t now_s, struct nt_fleet_job **out,
                        struct nt_err *err)
{
    struct nt_fleet_job *job;
    if (check_origin(map, origin, err) != 0)
        return -1;
    job = nt_object_create(sizeof *job, err);
    if (job == NULL)
        return -1;
    job->job = map->job_id;
    job->user = origin->user;
    job->status = map->status;
    int rc = set_time(job, map, origin, now_s, err);
    if (rc == 0)
        rc = set_words(job, map, err);
    if (rc == 0 && samples != NULL)
        rc = add_record(job, samples, err);
    if (rc == 0)
        rc = add_links(job, map, err);
    if (rc == 0)
        rc = add_loggp(job, map, err);
    if (rc == 0 && origin->has_restart && samples != NULL && job->restart != origin->restart)
        rc = nt_err_set(err, NT_ERR_INPUT, "the samples are from restart %u, their file is from %u",
                        job->restart, origin->restart);
    if (rc == 0 && origin->has_restart)
        job->restart = origin->restart;
    if (rc != 0) {
        nt_fleet_job_destroy(job);
        return -1;
    }
    *out = job;
    return 0;
}

void nt_fleet_job_destroy(struct nt_fleet_job *job)
{
    nt_object_destroy(job);
}

/* ---- in few bytes ---- */

static const double STEPS = 1000;      /* steps per unit of a logarithm: 0.1 % each */
static const int64_t STEP_MAX = 40000; /* steps of 1e17 */

/* ---- writing ---- */

static void put_whole(struct nt_strbuf *buf, uint64_t value)
{
    char bytes[10];
    size_t n = 0;
    do {
        bytes[n] = (char)(value & 0x7f);
        value >>= 7;
        if (value != 0)
            bytes[n] = (char)(bytes[n] | (char)0x80);
        n++;
    } while (value != 0);
    nt_strbuf_put(buf, bytes, n);
}

/* Writes a signed number; small numbers of either sign are short (zigzag). */
static void put_signed(struct nt_strbuf *buf, int64_t value)
{
    put_whole(buf, value < 0 ? (uint64_t)(-(value + 1)) * 2 + 1 : (uint64_t)value * 2);
}

static int64_t steps_of(double value)
{
    double steps = round(log(value) * STEPS);
    return steps > (double)STEP_MAX    ? STEP_MAX
           : steps < -(double)STEP_MAX ? -STEP_MAX
                                       : (int64_t)steps;
}

void nt_packed_put_pairs(struct nt_strbuf *buf, const struct nt_evidence_entry *pair, size_t n)
{
    uint32_t a = 0, b = 0;
    int64_t last = 0;
    for (size_t k = 0; k < n; k++) {
        const struct nt_evidence_entry *p = &pair[k];
        int64_t lowest = steps_of(p->lowest_us), mean = steps_of(p->mean_us);
        if (k == 0 || p->a != a)
            b = p->a;
        put_whole(buf, p->a - a);
        put_whole(buf, p->b - b);
        put_whole(buf, p->count);
        put_signed(buf, lowest - last);
        if (p->count > 1) {
            put_whole(buf, mean > lowest ? (uint64_t)(mean - lowest) : 0);
            put_whole(buf, (uint64_t)fmin(1e6, round(p->sd_us / p->mean_us * STEPS)));
        }
        a = p->a;
        b = p->b;
        last = lowest;
    }
}

void nt_packed_put_figures(struct nt_strbuf *buf, const struct nt_fleet_figure *figure, size_t n)
{
    uint32_t host = 0;
    int64_t last[NT_FIGURE_KINDS] = {0};
    for (size_t k = 0; k < n; k++) {
        const struct nt_fleet_figure *f = &figure[k];
        int64_t steps = steps_of(f->value);
        put_whole(buf, f->host - host);
        put_whole(buf, (uint64_t)f->tier | (uint64_t)f->kind << 3 | (uint64_t)f->shared << 5 |
                           (uint64_t)f->bound << 6);
        put_signed(buf, steps - last[f->kind]);
        host = f->host;
        last[f->kind] = steps;
    }
}

static int pack_pairs(const struct nt_fleet_job *job, const uint32_t *number, struct nt_strbuf *buf,
                      struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_evidence_entry *pair = nt_arena_array(&memory, job->pairs, sizeof *pair);
    if (pair == NULL)
        return nt_arena_check(&memory, err);
    for (size_t k = 0; k < job->pairs; k++) {
        uint32_t a = number[job->pair[k].a], b = number[job->pair[k].b];
        pair[k] = job->pair[k];
        pair[k].a = a < b ? a : b;
        pair[k].b = a < b ? b : a;
    }
    qsort(pair, job->pairs, sizeof *pair, compare_pairs);
    nt_packed_put_pairs(buf, pair, job->pairs);
    return buf->failed ? nt_err_memory(err) : 0;
}

static int pack_figures(const struct nt_fleet_job *job, const uint32_t *number,
                        struct nt_strbuf *buf, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_fleet_figure *figure = nt_arena_array(&memory, job->figures, sizeof *figure);
    if (figure == NULL)
        return nt_arena_check(&memory, err);
    for (size_t k = 0; k < job->figures; k++) {
        figure[k] = job->figure[k];
        figure[k].host = number[job->figure[k].host];
    }
    qsort(figure, job->figures, sizeof *figure, compare_figures);
    nt_packed_put_figures(buf, figure, job->figures);
    return buf->failed ? nt_err_memory(err) : 0;
}

int nt_fleet_job_pack(const struct nt_fleet_job *job, const uint32_t *number,
                      struct nt_strbuf *pairs, struct nt_strbuf *figures, struct nt_err *err)
{
    return pack_pairs(job, number, pairs, err) == 0 ? pack_figures(job, number, figures, err) : -1;
}

/* ---- reading ---- */

struct reader {
    const unsigned char *at, *end;
    bool bad;
};

static uint64_t take_whole(struct reader *r, uint64_t most)
{
    uint64_t value = 0;
    for (unsigned shift = 0; r->at < r->end && shift < 63; shift += 7) {
        unsigned char byte = *r->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            r->bad |= value > most;
            return r->bad ? 0 : value;
        }
    }
    r->bad = true;
    return 0;
}

static int64_t take_steps(struct reader *r, int64_t last)
{
    uint64_t value = take_whole(r, 8 * (uint64_t)STEP_MAX);
    int64_t steps = last + (value % 2 == 1 ? -(int64_t)(value / 2) - 1 : (int64_t)(value / 2));
    r->bad |= steps > STEP_MAX || steps < -STEP_MAX;
    return r->bad ? 0 : steps;
}

static float value_of(int64_t steps)
{
    return (float)exp((double)steps / STEPS);
}

static int bad_bytes(struct nt_err *err)
{
    return nt_err_set(err, NT_ERR_INPUT,
                      "the store is damaged: it has packed measurements that cannot be read");
}

int nt_packed_visit_pairs(const void *bytes, size_t n, size_t hosts, nt_packed_each_pair *each,
                          void *context, struct nt_err *err)
{
    struct reader r = {bytes, (const unsigned char *)bytes + n, false};
    uint64_t a = 0, b = 0;
    int64_t last = 0;
    while (r.at < r.end) {
        struct nt_evidence_entry p = {0};
        uint64_t more = take_whole(&r, UINT32_MAX);
        if (more != 0 || r.at == (const unsigned char *)bytes + 1)
            b = a + more;
        a += more;
        b += take_whole(&r, UINT32_MAX);
        p.count = (uint32_t)take_whole(&r, UINT32_MAX);
        last = take_steps(&r, last);
        p.lowest_us = p.mean_us = value_of(last);
        if (p.count > 1) {
            p.mean_us = value_of(last + (int64_t)take_whole(&r, (uint64_t)STEP_MAX));
            p.sd_us = p.mean_us * (float)((double)take_whole(&r, 1000000) / STEPS);
        }
        if (r.bad || a >= b || b >= hosts || p.count == 0)
            return bad_bytes(err);
        p.a = (uint32_t)a;
        p.b = (uint32_t)b;
        if (each(context, &p, err) != 0)
            return -1;
    }
    return 0;
}

int nt_packed_visit_figures(const void *bytes, size_t n, size_t hosts, nt_packed_each_figure *each,
                            void *context, struct nt_err *err)
{
    struct reader r = {bytes, (const unsigned char *)bytes + n, false};
    uint64_t host = 0;
    int64_t last[NT_FIGURE_KINDS] = {0};
    while (r.at < r.end) {
        host += take_whole(&r, UINT32_MAX);
        uint64_t what = take_whole(&r, 127), kind = what >> 3 & 3;
        if (r.bad || host >= hosts || kind >= NT_FIGURE_KINDS)
            return bad_bytes(err);
        last[kind] = take_steps(&r, last[kind]);
        struct nt_fleet_figure f = {.host = (uint32_t)host,
                                    .tier = (uint8_t)(what & 7),
                                    .kind = (uint8_t)kind,
                                    .shared = (what >> 5 & 1) != 0,
                                    .bound = what >> 6 != 0,
                                    .value = value_of(last[kind])};
        if (r.bad)
            return bad_bytes(err);
        if (each(context, &f, err) != 0)
            return -1;
    }
    return 0;
}
