/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "coordinator_round.h"
#include "failure_detector.h"
#include "level_choice.h"
#include "measured_pairs.h"
#include "pair_failures.h"
#include "pattern_file.h"
#include "prior_file.h"
#include "probe_log.h"
#include "record.h"
#include "slots.h"
#include "sweep_status.h"

struct sweep {
    struct nt_oob *oob;
    const struct nt_probe_job *job;
    struct nt_participant *participant;
    const struct nt_coordinator_options *how;
    struct nt_membership *membership;
    struct nt_failure_detector detector;
    struct nt_coordinator_round round;
    struct nt_timeouts timeouts;
    struct nt_campaign *campaign;
    struct nt_samples *samples;
    const char *rail[NT_PAIR_RAILS_MAX]; /* names, the pair's */
    struct nt_result *results;           /* for the planner; hosts of them */
    bool *unreported;                    /* hosts of them */
    struct nt_belief *belief;            /* of what earlier jobs said; NULL: nothing */
    struct nt_level_choice choice;       /* what is measured */
    size_t pairs_total;
    uint32_t rounds;
    double window_s; /* of the last order */
    double phase_began_s;
    char phase[32];
    bool time_up;
    char networks[NT_NETWORKS_WARNING_BYTES];
    char first_failure[NT_WIRE_REASON_BYTES]; /* the first failure, for the reason */
};

/* ---- the record ---- */
static int begin_record(struct sweep *s, struct nt_err *err)
{
    struct nt_samples *r = s->samples;
    const struct nt_option *option = &s->job->option;
    const char *texts[] = {("nettopo " NT_VERSION), s->job->cluster, nt_level_name(option->level),
                           s->how->created, option->pattern};
    char **fields[] = {&r->generator, &r->cluster, &r->level, &r->created, &r->pattern};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        if (nt_samples_set_word(fields[k], texts[k], err) != 0)
            return -1;
    r->job_id = s->job->job_id;
    r->restart = s->job->restart;
    r->budget_s = option->budget_s;
    r->spare = option->spare;
    if (s->job->warning != NULL && s->job->warning[0] != '\0' &&
        nt_samples_warn(r, err, "%s", s->job->warning) != 0)
        return -1;
    if (s->job->use_unknown &&
        nt_samples_warn(r, err,
                        "slurmctld did not say in time how many tasks the job has: the hint is for "
                        "one a host; see nettopo hint --ntasks-per-node") != 0)
        return -1;
    for (size_t h = 0; h < s->membership->hosts; h++)
        if (nt_samples_add_host(r, s->membership->name[h], err) != 0)
            return -1;
    if (s->networks[0] != '\0' && nt_samples_warn(r, err, "%s", s->networks) != 0)
        return -1;
    if (nt_membership_record_hardware(s->membership, r, err) != 0 ||
        nt_slots_record(s->job, r, err) != 0)
        return -1;
    double wait_s = nt_timeouts_file_s(&s->timeouts);
    bool believes = option->sweep == NT_SWEEP_AUTO || option->sweep == NT_SWEEP_ADAPTIVE;
    struct nt_prior_facts facts = {0};
    if ((believes && nt_prior_file_record(s->job->prior, s->job->prior_fd, wait_s, r, &s->belief,
                                          &facts, err)) != 0 ||
        nt_level_choose(s->job, s->membership, s->belief, &facts, r, &s->choice, err) != 0)
        return -1;
    return nt_pattern_file_record(option->pattern, s->job->traffic_fd, wait_s, r, err);
}

static int enter_phase(struct sweep *s, const char *name, struct nt_err *err)
{
    double now = nt_clock_s();
    if (strcmp(s->phase, name) == 0)
        return 0;
    if (s->phase[0] != '\0') {
        if (nt_samples_end_phase(s->samples, now - s->phase_began_s, err) != 0)
            return -1;
        nt_probe_log(NT_LOG_INFO, "%s ends after %.4f s, round %u", s->phase,
                     now - s->phase_began_s, s->rounds);
    }
    s->phase_began_s = now;
    snprintf(s->phase, sizeof s->phase, "%s", name);
    if (name[0] == '\0')
        return 0;
    return nt_samples_begin_phase(s->samples, name, err) != 0
               ? -1
               : nt_samples_date_phase(s->samples, now - s->timeouts.began_s, err);
}

static int record_good(struct sweep *s, const struct nt_order *order, struct nt_result *r,
                       struct nt_err *err)
{
    if (nt_samples_add(s->samples, nt_record_of(order, r),
                       order->rail[0] == '\0' ? NULL : order->rail, err) != 0)
        return -1;
    nt_record_as_kept(s->samples, r);
    return 0;
}

static int record_failed(struct sweep *s, const struct nt_order *order, size_t k,
                         const char *reason, struct nt_err *err)
{
    struct nt_sample sample = {
        .kind = NT_SAMPLE_FAILED, .a = order->pair[k][0], .b = order->pair[k][1]};
    if (s->first_failure[0] == '\0')
        snprintf(s->first_failure, sizeof s->first_failure, "%s", reason);
    nt_probe_log(NT_LOG_DEBUG, "round %u: %s and %s: %s", s->rounds, s->membership->name[sample.a],
                 s->membership->name[sample.b], reason);
    return nt_samples_add(s->samples, sample, reason, err);
}

/* ---- lost hosts: what failure_detector.c needs of the sweep ---- */
static bool is_time_over(void *context)
{
    const struct sweep *s = context;
    return nt_clock_s() >= s->timeouts.stop_s;
}

static void on_lost(void *context, uint32_t host, const char *reason)
{
    struct sweep *s = context;
    nt_probe_log(NT_LOG_INFO, "%s is lost: %s", s->membership->name[host], reason);
    nt_campaign_lose(s->campaign, host);
}

static int probe_pair(void *context, uint32_t a, uint32_t b, bool *ok, struct nt_err *err)
{
    struct sweep *s = context;
    uint32_t pair[1][2] = {{a, b}};
    const struct nt_order order = {.kind = NT_ORDER_LATENCY,
                                   .pairs = 1,
                                   .pair = pair,
                                   .message_bytes = 8,
                                   .batches = 1,
                                   .count = 4};
    const struct nt_timeouts timeouts = nt_timeouts_extended(&s->timeouts, s->window_s);
    if (nt_coordinator_round_run(&s->round, &order, s->rounds, &timeouts, s->unreported, err) != 0)
        return -1;
    s->rounds++;
    *ok = s->round.outcome[0].status == NT_PAIR_OK;
    return is_time_over(s) ? 0 : nt_failure_note_reports(&s->detector, s->unreported, err);
}

static const struct nt_failure_ops FAILURE_OPS = {probe_pair, is_time_over, on_lost};

/* ---- rounds ---- */
/* A kernel is one measurement of all its participants, and participant 0 reports it. When one fails
 * all do, which is no sign of which host is at fault. */
static int record_kernel(struct sweep *s, const struct nt_order *order, size_t *results,
                         struct nt_err *err)
{
    const struct nt_pair_outcome *o = s->round.outcome;
    const char *why = "a host stopped answering";
    *results = 0;
    for (size_t k = 0; k < order->pairs && !s->round.all_ok; k++)
        if (o[k].status == NT_PAIR_FAILED && o[k].reason[0] != '\0')
            why = o[k].reason;
    if (!s->round.all_ok || o->result.count == 0)
        return nt_samples_warn(s->samples, err, "kernel %s: not measured, %s", order->kernel, why);
    s->results[(*results)++] = o->result;
    uint32_t *host = malloc((order->pairs + 1) * sizeof *host);
    if (host == NULL)
        return nt_err_memory(err);
    for (size_t k = 0; k < order->pairs; k++)
        host[k] = order->pair[k][0];
    int rc = nt_samples_add_kernel(s->samples, nt_record_of(order, &o->result), order->kernel, host,
                                   err);
    free(host);
    return rc;
}

static int record_resent(struct sweep *s, const struct nt_result *r, int end, struct nt_err *err)
{
    struct nt_sample sample = nt_record_of_sent(r, end);
    if (sample.count == 0 || sample.count > sample.segments)
        return 0;
    return nt_samples_add(s->samples, sample, NULL, err);
}

/* One that was measured; it is the next of the results. */
static int record_pair(struct sweep *s, const struct nt_order *order, size_t k,
                       const struct nt_pair_outcome *o, size_t *results, struct nt_err *err)
{
    struct nt_result *told = &s->results[(*results)++];
    *told = o->result;
    int rc = told->count == 0 ? 0 : record_good(s, order, told, err);
    for (int end = 0; end < 2 && rc == 0 && o->result.count > 0; end++)
        rc = record_resent(s, &o->result, end, err);
    if (rc == 0 && !s->time_up && order->rail[0] == '\0')
        nt_failure_note_pair(&s->detector, order->pair[k][0], order->pair[k][1], true);
    return rc;
}

/* One that failed. One rail of several that does not work says nothing of the host. */
static int record_failure(struct sweep *s, const struct nt_order *order, size_t k,
                          const struct nt_pair_outcome *o, struct nt_err *err)
{
    if (s->time_up)
        return 0;
    int rc = record_failed(
        s, order, k, o->status == NT_PAIR_FAILED ? o->reason : "one end stopped answering", err);
    if (rc == 0 && o->status != NT_PAIR_NO_REPORT && order->rail[0] == '\0')
        nt_failure_note_pair(&s->detector, order->pair[k][0], order->pair[k][1], false);
    return rc;
}

static int record_round(struct sweep *s, const struct nt_order *order, size_t *results,
                        struct nt_err *err)
{
    size_t n = 0;
    if (nt_samples_begin_round(s->samples, err) != 0)
        return -1;
    /* what the end of the time has cut says nothing of a host */
    s->time_up = is_time_over(s);
    if (!s->time_up && nt_failure_note_reports(&s->detector, s->unreported, err) != 0)
        return -1;
    if (order->kind == NT_ORDER_KERNEL)
        return record_kernel(s, order, results, err);
    for (size_t k = 0; k < order->pairs; k++) {
        const struct nt_pair_outcome *o = &s->round.outcome[k];
        int rc = o->status == NT_PAIR_OK ? record_pair(s, order, k, o, &n, err)
                                         : record_failure(s, order, k, o, err);
        if (rc != 0)
            return -1;
    }
    *results = n;
    return 0;
}

static void show_progress(const struct sweep *s)
{
    struct nt_campaign_progress progress;
    if (s->how->progress == NULL)
        return;
    nt_campaign_progress(s->campaign, &progress);
    s->how->progress(s->how->progress_context, &progress);
}

static bool has_suspect(const struct sweep *s, const struct nt_order *order)
{
    for (size_t k = 0; k < order->pairs; k++)
        if (s->membership->suspicion[order->pair[k][0]] > 0 ||
            (order->kind != NT_ORDER_KERNEL && s->membership->suspicion[order->pair[k][1]] > 0))
            return true;
    return false;
}

/* A round of its own, with a barrier before it begins: what fails in it says something of hosts. */
static int run_alone(struct sweep *s, const struct nt_order *order, struct nt_err *err)
{
    size_t results;
    double began = nt_clock_s();
    struct nt_timeouts timeouts = has_suspect(s, order)
                                      ? nt_timeouts_patient(&s->timeouts, order->window_s, began)
                                      : s->timeouts;
    if (nt_coordinator_round_run(&s->round, order, s->rounds, &timeouts, s->unreported, err) != 0 ||
        record_round(s, order, &results, err) != 0)
        return -1;
    nt_probe_log(NT_LOG_DEBUG,
                 "round %u, %s: %zu of %zu measured in %.4f s, of it at most %.4f s to connect, "
                 "%.4f s to measure",
                 s->rounds, s->phase, results, order->pairs, nt_clock_s() - began,
                 s->round.connect_s, s->round.measure_s);
    s->rounds++;
    s->window_s = order->window_s;
    nt_timeouts_update(&s->timeouts, s->round.connect_s, s->round.measure_s);
    /* whoever stopped answering was waited for: it says nothing of other rounds */
    double took = s->round.all_ok && s->round.all_reported ? nt_clock_s() - began : 0;
    if (nt_failure_resolve(&s->detector, order, err) != 0)
        return -1;
    return nt_campaign_tell(s->campaign, s->results, results, took, err);
}

/* ---- rounds at once ---- */
/* Latencies need no barrier: each pair has its own time. Nobody is known to be at fault, and rounds
 * have shown how long they take. */
static bool may_run_series(const struct sweep *s, const struct nt_order *order)
{
    return order->kind == NT_ORDER_LATENCY && order->rail[0] == '\0' && s->timeouts.rounds > 0 &&
           !has_suspect(s, order);
}

/* What was good in the turn. */
static int record_turn(struct sweep *s, const struct nt_order *order,
                       const struct nt_pair_outcome *outcome, double took, struct nt_err *err)
{
    size_t n = 0;
    if (nt_samples_begin_round(s->samples, err) != 0)
        return -1;
    for (size_t k = 0; k < order->pairs; k++)
        if (outcome[k].status == NT_PAIR_OK && record_pair(s, order, k, &outcome[k], &n, err) != 0)
            return -1;
    s->rounds++;
    return nt_campaign_tell(s->campaign, s->results, n, took, err);
}

/* Alone, in an earlier round: it is known, and says nothing new of its hosts. */
static bool has_failed(const struct sweep *s, const uint32_t pair[2])
{
    const struct nt_sample *x = s->samples->sample;
    for (size_t k = 0; k < s->samples->samples; k++)
        if (x[k].kind == NT_SAMPLE_FAILED &&
            ((x[k].a == pair[0] && x[k].b == pair[1]) || (x[k].a == pair[1] && x[k].b == pair[0])))
            return true;
    return false;
}

/* Of a turn, between hosts that are still there. Where one fails others may fail for it, as they
 * waited for one of its hosts: alone they show which. */
static int run_failed_again(struct sweep *s, struct nt_order order, struct nt_err *err)
{
    size_t n = 0;
    for (size_t k = 0; k < order.pairs; k++)
        if (s->membership->lost[order.pair[k][0]] == NULL &&
            s->membership->lost[order.pair[k][1]] == NULL && !has_failed(s, order.pair[k]))
            memmove(order.pair[n++], order.pair[k], sizeof *order.pair);
    order.pairs = n;
    return n == 0 || is_time_over(s) ? 0 : run_alone(s, &order, err);
}

static int run_series(struct sweep *s, const struct nt_order *first, struct nt_err *err)
{
    struct nt_coordinator_round *m = &s->round;
    struct nt_order order;
    int rc = 1;
    nt_coordinator_series_begin(m, first);
    while (m->series.turns < m->turns_max &&
           (rc = nt_campaign_also(s->campaign, m->series.turns, &order, err)) == 1) {
        nt_coordinator_series_add(m, &order);
        show_progress(s);
    }
    double began = nt_clock_s();
    if (rc < 0 || nt_coordinator_series_run(m, s->rounds, &s->timeouts, s->unreported, err) != 0)
        return -1;
    s->time_up = is_time_over(s);
    if (!s->time_up && nt_failure_note_reports(&s->detector, s->unreported, err) != 0)
        return -1;
    bool well = m->all_ok && m->all_reported;
    double took = nt_clock_s() - began, turns = m->series.turns;
    nt_probe_log(NT_LOG_DEBUG, "rounds %u to %u, %s: measured in %.4f s%s, one in at most %.4f s",
                 s->rounds, s->rounds + m->series.turns - 1, s->phase, took,
                 well ? "" : ", not all of them", m->measure_s);
    s->window_s = 0;
    nt_timeouts_update(&s->timeouts, 0, m->measure_s);
    for (size_t t = 0; t < m->series.turns; t++) {
        order = nt_coordinator_series_turn(m, t);
        if (record_turn(s, &order, m->outcome + m->series.begin[t], well ? took / turns : 0, err) !=
            0)
            return -1;
    }
    nt_coordinator_series_keep_failed(m);
    for (size_t t = 0; t < m->series.turns && rc >= 0 && !well; t++)
        rc = run_failed_again(s, nt_coordinator_series_turn(m, t), err);
    return rc < 0 ? -1 : 0;
}

/* 1: go on; 0: that was all, or the time is up; -1: broken */
static int run_round(struct sweep *s, struct nt_err *err)
{
    struct nt_order order;
    int rc = nt_campaign_next(s->campaign, nt_clock_s() - s->timeouts.began_s, &order, err);
    if (rc != 1)
        return rc;
    show_progress(s);
    /* before it, so that the phase has the time of its first round */
    if (enter_phase(s, order.phase, err) != 0)
        return -1;
    nt_clock_sleep(nt_campaign_rest_s(s->campaign));
    return (may_run_series(s, &order) ? run_series : run_alone)(s, &order, err) == 0 ? 1 : -1;
}

/* ---- beginning and end ---- */
/* Where each round says where to find the partner, only from where partners connect. */
static int send_table(struct sweep *s, const struct nt_peer_table *table, struct nt_err *err)
{
    struct nt_bytes bytes;
    struct nt_peer_table sent = *table;
    if (s->oob->ops->scatter != NULL)
        sent.ranks = 0;
    if (nt_peer_table_encode(&sent, &bytes, err) != 0)
        return -1;
    int rc = s->oob->ops->bcast(s->oob, bytes.data, bytes.bytes, NULL, NULL, 1, err);
    free(bytes.data);
    return rc;
}

static int gather_greetings(struct sweep *s, struct nt_err *err)
{
    struct nt_oob *oob = s->oob;
    struct nt_bytes mine, bytes;
    struct nt_peer_table table = {0};
    struct nt_contribution *contributions = calloc((size_t)oob->size + 1, sizeof *contributions);
    if (contributions == NULL)
        return nt_err_memory(err);
    int rc = nt_participant_greeting(s->participant, s->job, &mine, err);
    if (rc == 0) {
        rc = oob->ops->gather(oob, mine.data, mine.bytes, nt_timeouts_greeting_s(&s->timeouts),
                              contributions, err);
        free(mine.data);
    }
    if (rc == 0)
        rc = nt_membership_create(contributions, oob->size, s->job->host_names, &s->membership,
                                  &table, err);
    if (rc == 0)
        rc = nt_peer_table_encode(&table, &bytes, err);
    if (rc == 0)
        rc = nt_participant_set_table(s->participant, bytes.data, bytes.bytes, err);
    if (rc == 0)
        rc = send_table(s, &table, err);
    for (size_t h = 0; rc == 0 && h < s->membership->hosts; h++)
        if (s->membership->lost[h] != NULL)
            nt_probe_log(NT_LOG_INFO, "%s is missing: %s", s->membership->name[h],
                         s->membership->lost[h]);
    nt_peer_table_fini(&table);
    nt_contributions_free(contributions, oob->size);
    free(contributions);
    return rc;
}

static int sweep_init(struct sweep *s, struct nt_err *err)
{
    const double NO_TIME_S = 1e-6; /* of which the campaign says that it was too short */
    size_t n = s->membership->hosts;
    struct nt_campaign_options options = {
        .latency_only = s->job->latency_only,
        .budget_s = fmax(s->oob->deadline_s - s->timeouts.began_s, NO_TIME_S),
        .asked_s = s->job->option.budget_s,
        .max_load = s->job->max_load > 0 ? s->job->max_load : 1,
        .seed = 1,
        .mode = s->job->option.sweep};
    if (s->participant->pair != NULL) {
        options.rails = nt_pair_rails(s->participant->pair, s->rail);
        options.rail = s->rail;
    }
    nt_networks_judge((const char *const *)s->membership->name,
                      (const char *const *)s->membership->networks, n, s->networks);
    bool *missing = calloc(n + 1, sizeof *missing);
    s->results = calloc(n + 1, sizeof *s->results);
    s->unreported = calloc(n + 1, sizeof *s->unreported);
    int rc = missing != NULL && s->results != NULL && s->unreported != NULL
                 ? nt_samples_create(&s->samples, err)
                 : nt_err_memory(err);
    if (rc == 0)
        rc = begin_record(s, err);
    options.belief = s->belief;
    options.level = s->choice.level;
    if (rc == 0) {
        for (size_t h = 0; h < n; h++)
            missing[h] = s->membership->lost[h] != NULL;
        rc = nt_campaign_create(n, missing, &options, &s->campaign, err);
    }
    free(missing);
    s->detector = (struct nt_failure_detector){
        .membership = s->membership, .ops = &FAILURE_OPS, .context = s, .round = &s->rounds};
    s->pairs_total = n < 2 ? 0 : n * (n - 1) / 2;
    if (rc == 0)
        rc = nt_coordinator_round_init(&s->round, s->oob, s->participant, s->membership, err);
    return rc;
}

static void send_end(struct sweep *s)
{
    unsigned char end = NT_WIRE_END;
    s->oob->ops->bcast(s->oob, &end, 1, NULL, NULL, 1, NULL);
}

/* What the campaign left out stands in the record. */
static int warn_of_campaign(struct sweep *s, struct nt_err *err)
{
    for (size_t k = 0; k < nt_campaign_warnings(s->campaign); k++)
        if (nt_samples_warn(s->samples, err, "%s", nt_campaign_warning(s->campaign, k)) != 0)
            return -1;
    return 0;
}

/* A host that has met fewer than half of the others is missing in the map; another keeps its
 * place, and the reason names it. */
static int record_lost(struct sweep *s, const struct nt_measured_pairs *measured,
                       struct nt_err *err)
{
    for (size_t h = 0; h < s->membership->hosts; h++) {
        const char *why = s->membership->lost[h];
        if (why == NULL)
            continue;
        bool placed = (size_t)2 * measured->partners[h] >= s->membership->hosts - 1 &&
                      measured->partners[h] > 0;
        int rc = placed ? nt_samples_warn(s->samples, err, "%s: %s", s->membership->name[h], why)
                        : nt_samples_set_missing(s->samples, h, why, err);
        if (rc != 0)
            return -1;
    }
    return 0;
}

static void log_status(const struct nt_sweep_status *v)
{
    enum nt_log_level level = v->status == NT_STATUS_FAILED ? NT_LOG_ERROR : NT_LOG_INFO;
    nt_probe_log(level, "%s%s%s", nt_status_name(v->status), v->reason[0] == '\0' ? "" : ": ",
                 v->reason);
    if (v->advice[0] != '\0')
        nt_probe_log(level, "to do: %s", v->advice);
}

static int finish_record(struct sweep *s, const char *broken, char reason[NT_REASON_BYTES],
                         struct nt_err *err)
{
    struct nt_sweep_status status;
    struct nt_measured_pairs measured;
    struct nt_pair_failures failures = {0};
    if (enter_phase(s, "", err) != 0 || warn_of_campaign(s, err) != 0 ||
        nt_samples_measured_pairs_any(s->samples, &measured, err) != 0)
        return -1;
    const struct nt_sweep_facts facts = {.campaign = s->campaign,
                                         .membership = s->membership,
                                         .measured = &measured,
                                         .pairs_total = s->pairs_total,
                                         .first_failure = s->first_failure,
                                         .samples = s->samples,
                                         .failures = &failures,
                                         .broken = broken};
    int rc = record_lost(s, &measured, err);
    if (rc == 0)
        rc = nt_pair_failures_find(s->samples, &failures, err);
    if (s->choice.taken)
        status = (struct nt_sweep_status){.status = NT_STATUS_OK, .advice = ""};
    else
        nt_sweep_status_find(&facts, &status);
    nt_measured_pairs_fini(&measured);
    if (rc != 0)
        return -1;
    for (size_t k = 0; k < s->round.transports; k++)
        if (nt_samples_add_transport(s->samples, s->round.transport[k].used,
                                     s->round.transport[k].hosts, NULL) != 0)
            nt_probe_log(NT_LOG_DEBUG, "transports that no host can have said");
    log_status(&status);
    memcpy(reason, status.reason, NT_REASON_BYTES);
    const char *cut = nt_campaign_cut(s->campaign);
    bool said = status.named || (cut != NULL && strcmp(cut, reason) == 0);
    if (reason[0] != '\0' && !said && nt_samples_warn(s->samples, err, "%s", reason) != 0)
        return -1;
    nt_samples_finish(s->samples, status.status, nt_clock_s() - s->timeouts.began_s);
    return 0;
}

static void sweep_fini(struct sweep *s)
{
    nt_campaign_destroy(s->campaign);
    nt_coordinator_round_fini(&s->round);
    nt_samples_destroy(s->samples);
    nt_belief_destroy(s->belief);
    nt_membership_destroy(s->membership);
    free(s->results);
    free(s->unreported);
}

void nt_coordinator_result_fini(struct nt_coordinator_result *result)
{
    nt_samples_destroy(result->samples);
    nt_inferred_fini(&result->known);
    result->samples = NULL;
}

int nt_coordinator_run(struct nt_oob *oob, const struct nt_probe_job *job,
                       struct nt_participant *participant, const struct nt_coordinator_options *how,
                       struct nt_coordinator_result *out, struct nt_err *err)
{
    struct sweep s = {.oob = oob, .job = job, .participant = participant, .how = how};
    struct nt_coordinator_result made = {0};
    struct nt_err broken = {0};
    nt_timeouts_init(&s.timeouts, nt_clock_s(), oob->deadline_s);
    if (gather_greetings(&s, err) != 0 || sweep_init(&s, err) != 0) {
        sweep_fini(&s);
        return -1;
    }
    memcpy(made.networks, s.networks, sizeof made.networks);
    int rc = s.choice.taken ? 0 : 1;
    while (rc == 1)
        rc = run_round(&s, &broken);
    send_end(&s);
    rc = finish_record(&s, rc < 0 ? broken.text : NULL, made.reason, err);
    if (rc == 0) {
        made.samples = s.samples;
        s.samples = NULL;
        nt_campaign_take_inferred(s.campaign, &made.known);
        *out = made;
    }
    sweep_fini(&s);
    return rc;
}
