/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "coordinator_round.h"
#include "failure_detector.h"
#include "job_record.h"
#include "measured_pairs.h"
#include "pair_failures.h"
#include "probe_log.h"
#include "record.h"

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
    const char *rail[NT_PAIR_RAILS_MAX]; /* names, borrowed from the pair */
    struct nt_result *results;           /* results of a round for the planner */
    bool *unreported;                    /* by host */
    struct nt_prior_found prior;         /* results of earlier jobs */
    struct nt_level_choice choice;       /* the level that is measured */
    struct nt_plan *plan;                /* plan of the user; NULL: none */
    size_t pairs_total;
    uint32_t rounds;
    double window_s; /* window of the last order */
    double phase_began_s;
    char phase[32];
    bool time_up;
    char networks[NT_NETWORKS_WARNING_BYTES];
    char first_failure[NT_WIRE_REASON_BYTES]; /* for the reason of the status */
};

/* ---- the record ---- */
static int begin_record(struct sweep *s, struct nt_err *err)
{
    struct nt_samples *r = s->samples;
    const struct nt_option *option = &s->job->option;
    const char *texts[] = {("nettopo " NT_VERSION), s->job->cluster == NULL ? "" : s->job->cluster,
                           nt_level_name(option->level), s->how->created, option->pattern};
    char **fields[] = {&r->job.generator, &r->job.cluster, &r->job.level, &r->job.created,
                       &r->job.pattern};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        if (nt_samples_set_word(fields[k], texts[k], err) != 0)
            return -1;
    r->job.id = s->job->job_id;
    r->job.restart = s->job->restart;
    r->job.budget_s = option->budget_s;
    r->job.spare = option->spare;
    if (s->job->warning != NULL && s->job->warning[0] != '\0' &&
        nt_samples_warn(r, err, "%s", s->job->warning) != 0)
        return -1;
    if (s->job->use_unknown &&
        nt_samples_warn(r, err,
                        "slurmctld did not report the number of tasks in time: the hint is for one "
                        "task per host (use \"nettopo hint --ntasks-per-node N\")") != 0)
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
    if ((believes &&
         nt_prior_file_record(s->job->prior, s->job->prior_fd, wait_s, r, &s->prior, err) != 0) ||
        nt_level_choose(s->job, s->membership, &s->prior, r, &s->choice, err) != 0)
        return -1;
    if (s->job->plan != NULL && nt_planned_file_record(s->job->plan, wait_s, r, &s->plan, err) != 0)
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
    nt_record_round(s->samples, r);
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
                                   .message_bytes = NT_PING_BYTES,
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
/* Records a kernel, which is one measurement of all its participants that participant 0 reports. If
 * one participant fails, all fail, which does not show which host is at fault. */
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

/* Records a measured pair and appends it to the results. */
static int record_pair(struct sweep *s, const struct nt_order *order, size_t k,
                       const struct nt_pair_outcome *o, size_t *results, struct nt_err *err)
{
    struct nt_result *result = &s->results[(*results)++];
    *result = o->result;
    int rc = result->count == 0 ? 0 : record_good(s, order, result, err);
    for (int end = 0; end < 2 && rc == 0 && o->result.count > 0; end++)
        rc = record_resent(s, &o->result, end, err);
    if (rc == 0 && !s->time_up && order->rail[0] == '\0')
        nt_failure_note_pair(&s->detector, order->pair[k][0], order->pair[k][1], true);
    return rc;
}

/* Records a failed pair. The failure of one rail of several is no evidence against the host. */
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
    /* a failure because the time is over is no evidence against a host */
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

/* Runs a single round, which starts with a barrier, so that its failures are evidence against
 * hosts. */
static int run_single_round(struct sweep *s, const struct nt_order *order, struct nt_err *err)
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
    /* a host that stopped answering took its whole timeout, so the duration shows nothing about
     * other rounds */
    double took = s->round.all_ok && s->round.all_reported ? nt_clock_s() - began : 0;
    if (nt_failure_resolve(&s->detector, order, err) != 0)
        return -1;
    return nt_campaign_tell(s->campaign, s->results, results, took, err);
}

/* ---- rounds at once ---- */
/* Returns whether the round may start a series. Latencies need no barrier, because each pair is
 * measured by itself. No host may be suspect, and earlier rounds must have shown their duration. */
static bool may_run_series(const struct sweep *s, const struct nt_order *order)
{
    return order->kind == NT_ORDER_LATENCY && order->rail[0] == '\0' && s->timeouts.rounds > 0 &&
           !has_suspect(s, order);
}

/* Records the successful pairs of a turn. */
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

/* Returns whether a pair has failed in an earlier single round: that failure is recorded already
 * and adds no evidence. */
static bool has_failed(const struct sweep *s, const uint32_t pair[2])
{
    const struct nt_sample *x = s->samples->sample;
    for (size_t k = 0; k < s->samples->samples; k++)
        if (x[k].kind == NT_SAMPLE_FAILED &&
            ((x[k].a == pair[0] && x[k].b == pair[1]) || (x[k].a == pair[1] && x[k].b == pair[0])))
            return true;
    return false;
}

/* Measures the failed pairs of a turn again, between hosts that are not lost. In a series a failed
 * pair can make others fail that wait for one of its hosts; in a single round it cannot. */
static int run_failed_again(struct sweep *s, struct nt_order order, struct nt_err *err)
{
    size_t n = 0;
    for (size_t k = 0; k < order.pairs; k++)
        if (s->membership->lost[order.pair[k][0]] == NULL &&
            s->membership->lost[order.pair[k][1]] == NULL && !has_failed(s, order.pair[k]))
            memmove(order.pair[n++], order.pair[k], sizeof *order.pair);
    order.pairs = n;
    return n == 0 || is_time_over(s) ? 0 : run_single_round(s, &order, err);
}

static int run_series(struct sweep *s, const struct nt_order *first, struct nt_err *err)
{
    struct nt_coordinator_round *m = &s->round;
    struct nt_order order;
    int rc = 1;
    nt_coordinator_series_begin(m, first);
    while (m->series.turns < m->turns_max &&
           (rc = nt_campaign_next_ahead(s->campaign, m->series.turns, &order, err)) == 1) {
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

/* Returns 1 to continue, 0 at the end of the plan or of the time, -1 if the sweep cannot
 * continue. */
static int run_round(struct sweep *s, struct nt_err *err)
{
    struct nt_order order;
    int rc = nt_campaign_next(s->campaign, nt_clock_s() - s->timeouts.began_s, &order, err);
    if (rc != 1)
        return rc;
    show_progress(s);
    /* first, so that the phase includes its first round */
    if (enter_phase(s, order.phase, err) != 0)
        return -1;
    nt_clock_sleep(nt_campaign_pause_s(s->campaign));
    return (may_run_series(s, &order) ? run_series : run_single_round)(s, &order, err) == 0 ? 1
                                                                                            : -1;
}

/* ---- beginning and end ---- */
/* Sends the table of peers. If each round contains the addresses of the partners, the table
 * contains only the sources of their connections. */
static int send_table(struct sweep *s, const struct nt_peer_table *table, struct nt_err *err)
{
    struct nt_bytes bytes;
    struct nt_peer_table sent = *table;
    if (s->oob->ops->scatter != NULL)
        sent.ranks = 0;
    if (nt_peer_table_encode(&sent, &bytes, err) != 0)
        return -1;
    int rc = s->oob->ops->bcast(s->oob, bytes.data, bytes.bytes, err);
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
    const double NO_TIME_S = 1e-6; /* the campaign reports it as too short */
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
    nt_networks_compare(s->membership->name, s->membership->networks, n, s->networks);
    bool *missing = calloc(n + 1, sizeof *missing);
    s->results = calloc(n + 1, sizeof *s->results);
    s->unreported = calloc(n + 1, sizeof *s->unreported);
    int rc = missing != NULL && s->results != NULL && s->unreported != NULL
                 ? nt_samples_create(&s->samples, err)
                 : nt_err_memory(err);
    if (rc == 0)
        rc = begin_record(s, err);
    options.belief = s->prior.belief;
    options.level = s->choice.level;
    options.plan = s->plan;
    options.plan_flows = s->job->plan_flows;
    options.stress = s->job->stress;
    options.stresses = s->job->stresses;
    if (rc == 0) {
        for (size_t h = 0; h < n; h++)
            missing[h] = s->membership->lost[h] != NULL;
        rc = nt_campaign_create(n, missing, &options, &s->campaign, err);
    }
    free(missing);
    s->detector = (struct nt_failure_detector){
        .membership = s->membership, .ops = &FAILURE_OPS, .context = s, .round = &s->rounds};
    s->pairs_total = s->plan != NULL ? s->plan->pairs : n < 2 ? 0 : n * (n - 1) / 2;
    if (rc == 0)
        rc = nt_coordinator_round_init(&s->round, s->oob, s->participant, s->membership, err);
    return rc;
}

static void send_end(struct sweep *s)
{
    unsigned char end = NT_WIRE_END;
    s->oob->ops->bcast(s->oob, &end, 1, NULL);
}

/* Adds the warnings of the campaign, about parts that it omitted, to the samples. */
static int warn_of_campaign(struct sweep *s, struct nt_err *err)
{
    for (size_t k = 0; k < nt_campaign_warnings(s->campaign); k++)
        if (nt_samples_warn(s->samples, err, "%s", nt_campaign_warning(s->campaign, k)) != 0)
            return -1;
    return 0;
}

static size_t first_lost(const struct nt_membership *membership, size_t *lost)
{
    size_t first = 0;
    *lost = 0;
    for (size_t h = 0; h < membership->hosts; h++)
        if (membership->lost[h] != NULL && (*lost)++ == 0)
            first = h;
    return first;
}

/* Writes why a host is lost: for one that never connected, how to find the cause. */
static void put_why(const struct nt_membership *m, size_t host, char why[NT_REASON_BYTES])
{
    if (m->rank_of[host] == NT_NO_INDEX)
        snprintf(why, NT_REASON_BYTES,
                 "never connected: nettopo-prolog --check --host %.32s tells munge, firewalls, a "
                 "prolog that did not start",
                 m->name[host]);
    else
        snprintf(why, NT_REASON_BYTES, "%.140s", m->lost[host]);
}

/* Records lost hosts. A host that was measured with fewer than half of the others is missing in the
 * map. Another one keeps its place, and a warning names it. The samples do not repeat the reason
 * that put_loss writes. */
static int record_lost(struct sweep *s, const struct nt_measured_pairs *measured,
                       struct nt_err *err)
{
    char more[NT_REASON_BYTES];
    size_t lost, first = first_lost(s->membership, &lost);
    for (size_t h = 0; h < s->membership->hosts; h++) {
        const char *why = s->membership->lost[h];
        if (why == NULL)
            continue;
        if (h == first) {
            put_why(s->membership, h, more);
            why = more;
        }
        bool placed = (size_t)2 * measured->partners[h] >= s->membership->hosts - 1 &&
                      measured->partners[h] > 0;
        int rc = placed ? nt_samples_warn(s->samples, err, "%s: %s", s->membership->name[h], why)
                        : nt_samples_set_missing(s->samples, h, why, err);
        if (rc != 0)
            return -1;
    }
    return 0;
}

/* ---- the status of a finished sweep, why it is not ok, and what to do about that ---- */
const char nt_no_network_advice[] = "compare net_devices and tls in nettopo.conf (by hand: "
                                    "UCX_NET_DEVICES, UCX_TLS) with what ucx_info -d lists there";
static const char advise_network[] =
    "UCX finds no way from one host to another: see on two of them that they "
    "have a network in common (ucx_info -d; net_devices and tls in "
    "nettopo.conf), that its links are up, and that no firewall is between";
static const char advise_budget[] =
    "give it more time: budget=SECONDS, within budget_max of nettopo.conf";
static const char advise_named_hosts[] = "look at this job in the log of the hosts that are named";
static const char advise_check[] =
    "run nettopo-prolog --check on the hosts (munged and its key, and with --host HOST the "
    "ports of nettopo.conf in firewalls), and check that the budget is not too short";
static const char advise_first_host[] = "look at this job in the log of its first host";

struct ending {
    const struct sweep *sweep;
    struct nt_measured_pairs measured;
    struct nt_pair_failures failures; /* among hosts that are not missing in the samples */
    const char *broken;               /* error that ended the sweep early; NULL: none */
};

struct verdict {
    enum nt_status status;
    char reason[NT_REASON_BYTES]; /* "" if the status is ok */
    char advice[NT_REASON_BYTES]; /* "": none */
    bool named;                   /* the map's own warnings are more specific (pair_failures.h,
                                     record_lost) */
};

struct cause {
    const char *what, *advice;
};

/* Returns whether no greeting of another host arrived. */
static bool is_alone(const struct nt_membership *membership)
{
    size_t greeted = 0;
    for (size_t h = 0; h < membership->hosts; h++)
        greeted += membership->rank_of[h] != NT_NO_INDEX;
    return greeted == 1;
}

/* Returns why not a single pair was measured. */
static struct cause cause_of_no_measurement(const struct ending *f)
{
    if (f->broken != NULL)
        return (struct cause){f->broken, advise_first_host};
    if (f->sweep->first_failure[0] != '\0')
        return (struct cause){f->sweep->first_failure, advise_network};
    if (is_alone(f->sweep->membership))
        return (struct cause){
            "no other host connected (nettopo-prolog --check tests munge and firewalls)",
            advise_check};
    if (nt_campaign_budget_warning(f->sweep->campaign) != NULL)
        return (struct cause){"the time was too short", advise_budget};
    for (size_t h = 0; h < f->sweep->membership->hosts; h++)
        if (f->sweep->membership->lost[h] != NULL) /* a lost host that greeted has no network */
            return (struct cause){f->sweep->membership->lost[h],
                                  f->sweep->membership->rank_of[h] == NT_NO_INDEX
                                      ? advise_named_hosts
                                      : nt_no_network_advice};
    return (struct cause){"no reason known", ""};
}

static struct cause cause_of_too_few(const struct ending *f, char text[NT_PAIR_FAILURE_BYTES],
                                     bool *named)
{
    const char *undetermined = nt_campaign_undetermined(f->sweep->campaign);
    if (undetermined != NULL)
        return (struct cause){undetermined, ""};
    if (f->failures.apart > 0) {
        nt_pair_failures_text(f->sweep->samples, &f->failures, false, text);
        *named = true;
        return (struct cause){text, advise_network};
    }
    if (f->sweep->first_failure[0] != '\0')
        return (struct cause){f->sweep->first_failure, advise_network};
    return (struct cause){"the time was up", advise_budget};
}

/* Writes the reason for the job's user, who cannot read the hosts' logs. */
static void put_loss(const struct nt_membership *m, size_t first, size_t lost,
                     char reason[NT_REASON_BYTES])
{
    char why[NT_REASON_BYTES];
    put_why(m, first, why);
    int n = snprintf(reason, NT_REASON_BYTES, "%zu of %zu hosts did not answer to the end: %.64s%s",
                     lost, m->hosts, m->name[first], lost > 1 ? " and others" : "");
    snprintf(reason + n, NT_REASON_BYTES - (size_t)n, " (%.140s)", why);
}

static void advise_mtu(const struct ending *f, char advice[NT_REASON_BYTES])
{
    const struct nt_pair_failure *pair = &f->failures.stuck_pair[0];
    const char *a = f->sweep->samples->host_name[pair->a],
               *b = f->sweep->samples->host_name[pair->b];
    snprintf(advice, NT_REASON_BYTES,
             "set one MTU (ip link) on %.32s, %.32s and the switches between; on %.32s: "
             "nettopo-prolog --check --host with the fabric's address of %.32s",
             a, b, a, b);
}

static void find_status(const struct ending *f, struct verdict *out)
{
    size_t present = nt_membership_online(f->sweep->membership), lost, measured = f->measured.pairs;
    size_t first = first_lost(f->sweep->membership, &lost);
    struct cause why = {"", ""};
    char pairs[NT_PAIR_FAILURE_BYTES];
    *out = (struct verdict){.status = NT_STATUS_PARTIAL};
    if (f->sweep->membership->hosts > 1 && measured == 0) {
        why = cause_of_no_measurement(f);
        out->status = NT_STATUS_FAILED;
        snprintf(out->reason, NT_REASON_BYTES, "no pair of hosts could be measured: %.160s",
                 why.what);
    } else if (lost > 0) {
        why.advice = advise_named_hosts;
        out->named = true;
        put_loss(f->sweep->membership, first, lost, out->reason);
    } else if (f->broken != NULL) {
        why.advice = advise_first_host;
        snprintf(out->reason, NT_REASON_BYTES, "the sweep broke off after %zu of %zu pairs: %.128s",
                 measured, f->sweep->pairs_total, f->broken);
    } else if (!nt_campaign_is_verified(f->sweep->campaign) && present > 1 &&
               measured < present * (present - 1) / 2) {
        why = cause_of_too_few(f, pairs, &out->named);
        snprintf(out->reason, NT_REASON_BYTES, "%zu of %zu pairs measured: %.200s", measured,
                 f->sweep->pairs_total, why.what);
    } else if (f->failures.stuck > 0) {
        out->named = true;
        nt_pair_failures_text(f->sweep->samples, &f->failures, true, pairs);
        snprintf(out->reason, NT_REASON_BYTES, "%.250s", pairs);
        advise_mtu(f, out->advice);
        return;
    } else if (nt_campaign_budget_warning(f->sweep->campaign) != NULL) {
        why.advice = advise_budget;
        snprintf(out->reason, NT_REASON_BYTES, "%s",
                 nt_campaign_budget_warning(f->sweep->campaign));
    } else {
        out->status = NT_STATUS_OK;
    }
    snprintf(out->advice, sizeof out->advice, "%s", why.advice);
}

static void log_status(const struct verdict *v)
{
    enum nt_log_level level = v->status == NT_STATUS_FAILED ? NT_LOG_ERROR : NT_LOG_INFO;
    nt_probe_log(level, "%s%s%s", nt_status_name(v->status), v->reason[0] == '\0' ? "" : ": ",
                 v->reason);
    if (v->advice[0] != '\0')
        nt_probe_log(level, "to do: %s", v->advice);
}

static int find_ending(struct sweep *s, struct ending *ending, struct nt_err *err)
{
    if (enter_phase(s, "", err) != 0 || warn_of_campaign(s, err) != 0 ||
        nt_samples_measured_pairs_any(s->samples, &ending->measured, err) != 0)
        return -1;
    int rc = record_lost(s, &ending->measured, err);
    return rc == 0 ? nt_pair_failures_find(s->samples, &ending->failures, err) : -1;
}

static int finish_record(struct sweep *s, const char *broken, char reason[NT_REASON_BYTES],
                         struct nt_err *err)
{
    struct ending ending = {.sweep = s, .broken = broken};
    struct verdict verdict = {.status = NT_STATUS_OK};
    int rc = find_ending(s, &ending, err);
    if (rc == 0 && !s->choice.taken)
        find_status(&ending, &verdict);
    nt_measured_pairs_fini(&ending.measured);
    if (rc != 0)
        return -1;
    for (size_t k = 0; k < s->round.transports; k++)
        if (nt_samples_add_transport(s->samples, s->round.transport[k].used,
                                     s->round.transport[k].hosts, NULL) != 0)
            nt_probe_log(NT_LOG_DEBUG, "received invalid transports of a host");
    log_status(&verdict);
    memcpy(reason, verdict.reason, NT_REASON_BYTES);
    const char *cut = nt_campaign_budget_warning(s->campaign);
    bool is_reported = verdict.named || (cut != NULL && strcmp(cut, reason) == 0);
    if (reason[0] != '\0' && !is_reported && nt_samples_warn(s->samples, err, "%s", reason) != 0)
        return -1;
    nt_samples_finish(s->samples, verdict.status, nt_clock_s() - s->timeouts.began_s);
    return 0;
}

static void sweep_fini(struct sweep *s)
{
    nt_campaign_destroy(s->campaign);
    nt_coordinator_round_fini(&s->round);
    nt_samples_destroy(s->samples);
    nt_belief_destroy(s->prior.belief);
    nt_plan_destroy(s->plan);
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
    int rc = gather_greetings(&s, err);
    if (rc == 0 && (rc = sweep_init(&s, err)) != 0)
        send_end(&s); /* so that the other ranks do not wait */
    if (rc != 0) {
        sweep_fini(&s);
        return -1;
    }
    memcpy(made.networks, s.networks, sizeof made.networks);
    rc = s.choice.taken ? 0 : 1;
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
