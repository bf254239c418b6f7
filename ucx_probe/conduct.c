#include "conduct.h"

#include "room.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "match.h"
#include "measured_pairs.h"
#include "pattern_file.h"
#include "probe_log.h"
#include "record.h"
#include "verdict.h"

enum { LAST_DOUBT = 3 }; /* failures of the same two in a row */
enum { WITNESSES = 2 };  /* that are asked of two in doubt: each may wait for both in vain */

struct sweep {
    struct nt_meet *meet;
    struct nt_turn *turn;
    const struct nt_conductor *how;
    struct nt_crew *crew;
    struct nt_match match;
    struct nt_pace pace;
    struct nt_campaign *campaign;
    struct nt_samples *samples;
    const char *rail[NT_PAIR_RAILS_MAX]; /* names, the pair's */
    struct nt_result *results;           /* what the planner is told; hosts of them */
    bool *silent;                        /* hosts of them */
    size_t pairs_total;
    uint32_t rounds;
    double window_s; /* of the last order */
    double phase_began_s;
    char phase[32];
    bool time_up;
    char trouble[NT_WIRE_REASON_BYTES]; /* the first failure, for the reason */
};

static int no_memory(struct nt_err *err)
{
    return nt_err_set(err, NT_ERR_SYSTEM, "the sweep: out of memory");
}

/* ---- the record ---- */
static int begin_record(struct sweep *s, struct nt_err *err)
{
    struct nt_samples *r = s->samples;
    const struct nt_option *option = &s->meet->option;
    const char *texts[] = {("nettopo " NT_VERSION), s->meet->cluster, nt_level_name(option->level),
                           s->how->created, option->pattern};
    char **fields[] = {&r->generator, &r->cluster, &r->level, &r->created, &r->pattern};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        if (nt_samples_set_word(fields[k], texts[k], err) != 0)
            return -1;
    r->job_id = s->meet->job_id;
    r->restart = s->meet->restart;
    r->budget_s = option->budget_s;
    for (size_t h = 0; h < s->crew->hosts; h++)
        if (nt_samples_add_host(r, s->crew->name[h], err) != 0)
            return -1;
    if (nt_crew_record_inside(s->crew, r, err) != 0 || nt_room_record(s->meet, r, err) != 0)
        return -1;
    return nt_pattern_file_record(option->pattern, nt_pace_meet_s(&s->pace), r, err);
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
               : nt_samples_date_phase(s->samples, now - s->pace.began_s, err);
}

static int record_good(struct sweep *s, const struct nt_order *order, const struct nt_result *r,
                       struct nt_err *err)
{
    return nt_samples_add(s->samples, nt_record_of(order, r),
                          order->rail[0] == '\0' ? NULL : order->rail, err);
}

static int record_failed(struct sweep *s, const struct nt_order *order, size_t k,
                         const char *reason, struct nt_err *err)
{
    struct nt_sample sample = {
        .kind = NT_SAMPLE_FAILED, .a = order->pair[k][0], .b = order->pair[k][1]};
    if (s->trouble[0] == '\0')
        snprintf(s->trouble, sizeof s->trouble, "%s", reason);
    nt_probe_log(NT_LOG_DEBUG, "round %u: %s and %s: %s", s->rounds, s->crew->name[sample.a],
                 s->crew->name[sample.b], reason);
    return nt_samples_add(s->samples, sample, reason, err);
}

/* ---- who is out ---- */
static int lose(struct sweep *s, uint32_t host, const char *reason, struct nt_err *err)
{
    if (host == NT_NOBODY || s->crew->gone[host] != NULL)
        return 0;
    nt_probe_log(NT_LOG_INFO, "%s is lost: %s", s->crew->name[host], reason);
    nt_campaign_lose(s->campaign, host);
    return nt_crew_lose(s->crew, host, reason, err);
}

static int lose_the_silent(struct sweep *s, struct nt_err *err)
{
    char reason[64];
    snprintf(reason, sizeof reason, "stopped answering in round %u", s->rounds);
    for (uint32_t h = 0; h < s->crew->hosts; h++)
        if (s->silent[h] && lose(s, h, reason, err) != 0)
            return -1;
    return 0;
}

static int judge_pair(struct sweep *s, uint32_t a, uint32_t b, bool good, struct nt_err *err)
{
    char reason[64];
    uint32_t lost;
    snprintf(reason, sizeof reason, "not reached by two hosts, last in round %u", s->rounds);
    nt_crew_judge(s->crew, a, b, good, &lost);
    return lose(s, lost, reason, err);
}

/* ---- rounds ---- */
/* A kernel is one measurement of all who take part; participant 0 has it. When one of them fails
 * all do, which says nothing of any. */
static int record_kernel(struct sweep *s, const struct nt_order *order, size_t *results,
                         struct nt_err *err)
{
    const struct nt_match_outcome *o = s->match.outcome;
    const char *why = "somebody stopped answering";
    *results = 0;
    for (size_t k = 0; k < order->pairs && !s->match.clean; k++)
        if (o[k].standing == NT_FAILED && o[k].reason[0] != '\0')
            why = o[k].reason;
    if (!s->match.clean || o->result.count == 0)
        return nt_samples_warn(s->samples, err, "kernel %s: not measured, %s", order->kernel, why);
    s->results[(*results)++] = o->result;
    uint32_t *host = malloc((order->pairs + 1) * sizeof *host);
    if (host == NULL)
        return no_memory(err);
    for (size_t k = 0; k < order->pairs; k++)
        host[k] = order->pair[k][0];
    int rc = nt_samples_add_kernel(s->samples, nt_record_of(order, &o->result), order->kernel, host,
                                   err);
    free(host);
    return rc;
}

static int record_round(struct sweep *s, const struct nt_order *order, size_t *results,
                        struct nt_err *err)
{
    size_t n = 0;
    if (nt_samples_begin_round(s->samples, err) != 0)
        return -1;
    /* what the end of the time has cut says nothing of a host */
    s->time_up = nt_clock_s() >= s->pace.stop_s;
    if (!s->time_up && lose_the_silent(s, err) != 0)
        return -1;
    if (order->kind == NT_ORDER_KERNEL)
        return record_kernel(s, order, results, err);
    for (size_t k = 0; k < order->pairs; k++) {
        const struct nt_match_outcome *o = &s->match.outcome[k];
        int rc = 0;
        if (o->standing == NT_GOOD) {
            s->results[n++] = o->result;
            rc = o->result.count == 0 ? 0 : record_good(s, order, &o->result, err);
        } else if (!s->time_up) {
            rc = record_failed(s, order, k,
                               o->standing == NT_FAILED ? o->reason : "one end stopped answering",
                               err);
        }
        /* one rail of several that does not work says nothing of the host */
        if (rc == 0 && !s->time_up && o->standing != NT_EXCUSED && order->rail[0] == '\0')
            rc = judge_pair(s, order->pair[k][0], order->pair[k][1], o->standing == NT_GOOD, err);
        if (rc != 0)
            return -1;
    }
    *results = n;
    return 0;
}

static void show(const struct sweep *s)
{
    struct nt_campaign_progress progress;
    if (s->how->progress == NULL)
        return;
    nt_campaign_progress(s->campaign, &progress);
    s->how->progress(s->how->progress_context, &progress);
}

/* ---- who of two ---- */
static bool may_ask(const struct sweep *s, uint32_t a, uint32_t b)
{
    return s->crew->gone[a] == NULL && s->crew->gone[b] == NULL && nt_clock_s() < s->pace.stop_s;
}

/* A few pings while all others rest, for the judgement alone. */
static int try_two(struct sweep *s, uint32_t a, uint32_t b, bool *good, struct nt_err *err)
{
    uint32_t pair[1][2] = {{a, b}};
    const struct nt_order order = {.kind = NT_ORDER_LATENCY,
                                   .pairs = 1,
                                   .pair = pair,
                                   .message_bytes = 8,
                                   .batches = 1,
                                   .count = 4};
    const struct nt_pace pace = nt_pace_patient(&s->pace, s->window_s);
    *good = false;
    if (!may_ask(s, a, b))
        return 0;
    if (nt_match_run(&s->match, &order, s->rounds, &pace, s->silent, err) != 0)
        return -1;
    s->rounds++;
    *good = s->match.outcome[0].standing == NT_GOOD;
    return nt_clock_s() < s->pace.stop_s ? lose_the_silent(s, err) : 0;
}

/* Whom a witness reaches is well, and the other of the two is not. A witness that reaches neither
 * may be away itself, and one that was lost meanwhile is: *told is false, and it is no witness any
 * more. */
static int ask_witness(struct sweep *s, uint32_t a, uint32_t b, uint32_t witness, bool *told,
                       struct nt_err *err)
{
    bool a_good, b_good;
    *told = true;
    if (try_two(s, a, witness, &a_good, err) != 0 || try_two(s, b, witness, &b_good, err) != 0)
        return -1;
    if (!may_ask(s, a, b))
        return 0;
    *told = s->crew->gone[witness] == NULL && (a_good || b_good);
    if (!*told)
        return nt_crew_suspect(s->crew, witness), 0;
    /* the good one first: it speaks for the witness */
    uint32_t first = a_good ? a : b, second = a_good ? b : a;
    return judge_pair(s, first, witness, true, err) != 0
               ? -1
               : judge_pair(s, second, witness, a_good && b_good, err);
}

/* Nobody else is left to ask: from here it is the other one that cannot be reached. */
static int lose_the_farther(struct sweep *s, uint32_t a, uint32_t b, struct nt_err *err)
{
    char reason[64];
    snprintf(reason, sizeof reason, "not reached, last in round %u", s->rounds);
    return lose(s, a > b ? a : b, reason, err);
}

/* Hosts that nothing speaks against tell which of the two it is. Without one they try each other:
 * flows that got into each other's way say nothing of a host. */
static int settle_doubt(struct sweep *s, uint32_t a, uint32_t b, struct nt_err *err)
{
    bool told = false, good;
    for (int k = 0; k < WITNESSES && !told; k++) {
        uint32_t witness = nt_crew_witness(s->crew);
        if (witness == NT_NOBODY)
            break;
        if (ask_witness(s, a, b, witness, &told, err) != 0)
            return -1;
    }
    if (told)
        return 0;
    if (try_two(s, a, b, &good, err) != 0)
        return -1;
    if (!may_ask(s, a, b))
        return 0;
    if (judge_pair(s, a, b, good, err) != 0)
        return -1;
    return nt_crew_in_doubt(s->crew, a, b, LAST_DOUBT) ? lose_the_farther(s, a, b, err) : 0;
}

/* Latencies change partners, which tells who of two has gone; flows may ask the same pair again
 * and again. */
static int settle_doubts(struct sweep *s, const struct nt_order *order, struct nt_err *err)
{
    unsigned strikes = order->kind == NT_ORDER_LATENCY ? 2 : 1;
    for (size_t k = 0; k < order->pairs && order->kind != NT_ORDER_KERNEL; k++) {
        uint32_t a = order->pair[k][0], b = order->pair[k][1];
        if (nt_clock_s() < s->pace.stop_s && nt_crew_in_doubt(s->crew, a, b, strikes) &&
            settle_doubt(s, a, b, err) != 0)
            return -1;
    }
    return 0;
}

/* 1: go on; 0: that was all, or the time is up; -1: broken */
static int run_round(struct sweep *s, struct nt_err *err)
{
    struct nt_order order;
    size_t results;
    int rc = nt_campaign_next(s->campaign, nt_clock_s() - s->pace.began_s, &order, err);
    if (rc != 1)
        return rc;
    show(s);
    /* before it, so that the phase has the time of its first round */
    if (enter_phase(s, order.phase, err) != 0)
        return -1;
    nt_clock_sleep(nt_campaign_rest_s(s->campaign));
    double began = nt_clock_s();
    if (nt_match_run(&s->match, &order, s->rounds, &s->pace, s->silent, err) != 0 ||
        record_round(s, &order, &results, err) != 0)
        return -1;
    nt_probe_log(NT_LOG_DEBUG, "round %u, %s: %zu of %zu measured in %.4f s", s->rounds, s->phase,
                 results, order.pairs, nt_clock_s() - began);
    s->rounds++;
    s->window_s = order.window_s;
    nt_pace_learn(&s->pace, s->match.warm_s, s->match.measure_s);
    double took = s->match.clean ? nt_clock_s() - began : 0;
    rc = settle_doubts(s, &order, err);
    if (rc == 0)
        rc = nt_campaign_tell(s->campaign, s->results, results, took, err);
    return rc != 0 ? -1 : 1;
}

/* ---- beginning and end ---- */
static int greet_all(struct sweep *s, struct nt_err *err)
{
    struct nt_meet *meet = s->meet;
    struct nt_bytes mine, bytes;
    struct nt_peer_table table = {0};
    struct nt_piece *pieces = calloc((size_t)meet->size + 1, sizeof *pieces);
    if (pieces == NULL)
        return no_memory(err);
    int rc = nt_turn_greet(s->turn, meet, &mine, err);
    if (rc == 0) {
        rc = meet->ops->gather(meet, mine.data, mine.bytes, nt_pace_meet_s(&s->pace), pieces, err);
        free(mine.data);
    }
    if (rc == 0)
        rc = nt_crew_create(pieces, meet->size, meet->host_names, &s->crew, &table, err);
    if (rc == 0)
        rc = nt_peer_table_encode(&table, &bytes, err);
    if (rc == 0)
        rc = nt_turn_sit_down(s->turn, bytes.data, bytes.bytes, err);
    /* else each round says where to find the partner */
    if (rc == 0 && meet->ops->scatter == NULL)
        rc = meet->ops->cast(meet, bytes.data, bytes.bytes, NULL, NULL, 1, err);
    for (size_t h = 0; rc == 0 && h < s->crew->hosts; h++)
        if (s->crew->gone[h] != NULL)
            nt_probe_log(NT_LOG_INFO, "%s is missing: %s", s->crew->name[h], s->crew->gone[h]);
    nt_peer_table_fini(&table);
    nt_pieces_free(pieces, meet->size);
    free(pieces);
    return rc;
}

static int prepare(struct sweep *s, struct nt_err *err)
{
    size_t n = s->crew->hosts;
    struct nt_campaign_options options = {.level = s->meet->option.level,
                                          .latency_only = s->meet->latency_only,
                                          .budget_s = s->meet->deadline_s - s->pace.began_s,
                                          .max_load = s->meet->max_load > 0 ? s->meet->max_load : 1,
                                          .seed = 1,
                                          .mode = s->meet->option.sweep};
    if (s->turn->pair != NULL) {
        options.rails = nt_pair_rails(s->turn->pair, s->rail);
        options.rail = s->rail;
    }
    bool *absent = calloc(n + 1, sizeof *absent);
    s->results = calloc(n + 1, sizeof *s->results);
    s->silent = calloc(n + 1, sizeof *s->silent);
    int rc = no_memory(err);
    if (absent != NULL && s->results != NULL && s->silent != NULL) {
        for (size_t h = 0; h < n; h++)
            absent[h] = s->crew->gone[h] != NULL;
        rc = nt_campaign_create(n, absent, &options, &s->campaign, err);
    }
    free(absent);
    s->pairs_total = n < 2 ? 0 : n * (n - 1) / 2;
    if (rc == 0)
        rc = nt_match_init(&s->match, s->meet, s->turn, s->crew, err);
    if (rc == 0)
        rc = nt_samples_create(&s->samples, err);
    return rc == 0 ? begin_record(s, err) : rc;
}

static void send_home(struct sweep *s)
{
    unsigned char end = NT_WIRE_END;
    s->meet->ops->cast(s->meet, &end, 1, NULL, NULL, 1, NULL);
}

/* What the campaign left out is said in the record. */
static int warn_of_campaign(struct sweep *s, struct nt_err *err)
{
    for (size_t k = 0; k < nt_campaign_warnings(s->campaign); k++)
        if (nt_samples_warn(s->samples, err, "%s", nt_campaign_warning(s->campaign, k)) != 0)
            return -1;
    return 0;
}

/* A host that has met fewer than half of the others is missing in the map; another keeps its
 * place, and the reason names it. */
static int record_gone(struct sweep *s, const struct nt_measured_pairs *measured,
                       struct nt_err *err)
{
    for (size_t h = 0; h < s->crew->hosts; h++) {
        const char *why = s->crew->gone[h];
        if (why == NULL)
            continue;
        bool placed =
            (size_t)2 * measured->partners[h] >= s->crew->hosts - 1 && measured->partners[h] > 0;
        int rc = placed ? nt_samples_warn(s->samples, err, "%s: %s", s->crew->name[h], why)
                        : nt_samples_set_missing(s->samples, h, why, err);
        if (rc != 0)
            return -1;
    }
    return 0;
}

static void say_verdict(const struct nt_verdict *v)
{
    enum nt_log_level level = v->status == NT_STATUS_FAILED ? NT_LOG_ERROR : NT_LOG_INFO;
    nt_probe_log(level, "%s%s%s", nt_status_name(v->status), v->reason[0] == '\0' ? "" : ": ",
                 v->reason);
    if (v->to_do[0] != '\0')
        nt_probe_log(level, "to do: %s", v->to_do);
}

static int finish(struct sweep *s, const char *broken, char reason[NT_REASON_BYTES],
                  struct nt_err *err)
{
    struct nt_verdict verdict;
    struct nt_measured_pairs measured;
    if (enter_phase(s, "", err) != 0 || warn_of_campaign(s, err) != 0 ||
        nt_samples_measured_pairs_any(s->samples, &measured, err) != 0)
        return -1;
    const struct nt_sweep_facts findings = {.campaign = s->campaign,
                                            .crew = s->crew,
                                            .measured = &measured,
                                            .pairs_total = s->pairs_total,
                                            .trouble = s->trouble,
                                            .broken = broken};
    int rc = record_gone(s, &measured, err);
    nt_verdict_find(&findings, &verdict);
    nt_measured_pairs_fini(&measured);
    if (rc != 0)
        return -1;
    say_verdict(&verdict);
    memcpy(reason, verdict.reason, NT_REASON_BYTES);
    const char *cut = nt_campaign_cut(s->campaign);
    bool said = cut != NULL && strcmp(cut, reason) == 0;
    if (reason[0] != '\0' && !said && nt_samples_warn(s->samples, err, "%s", reason) != 0)
        return -1;
    nt_samples_finish(s->samples, verdict.status, nt_clock_s() - s->pace.began_s);
    return 0;
}

static void clear(struct sweep *s)
{
    nt_campaign_destroy(s->campaign);
    nt_match_fini(&s->match);
    nt_samples_destroy(s->samples);
    nt_crew_destroy(s->crew);
    free(s->results);
    free(s->silent);
}

int nt_conduct(struct nt_meet *meet, struct nt_turn *turn, const struct nt_conductor *how,
               struct nt_conducted *out, struct nt_err *err)
{
    struct sweep s = {.meet = meet, .turn = turn, .how = how};
    struct nt_conducted made = {0};
    struct nt_err broken = {0};
    nt_pace_init(&s.pace, nt_clock_s(), meet->deadline_s);
    if (greet_all(&s, err) != 0 || prepare(&s, err) != 0) {
        clear(&s);
        return -1;
    }
    int rc;
    while ((rc = run_round(&s, &broken)) == 1)
        ;
    send_home(&s);
    rc = finish(&s, rc < 0 ? broken.text : NULL, made.reason, err);
    if (rc == 0) {
        made.samples = s.samples;
        s.samples = NULL;
        *out = made;
    }
    clear(&s);
    return rc;
}
