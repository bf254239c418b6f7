/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep_sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bandwidth.h"
#include "flows.h"
#include "infer.h"
#include "rail_links.h"
#include "remeasure.h"
#include "shape.h"
#include "sweep_adaptive.h"
#include "sweep_latency.h"

enum {
    MATRIX_HOSTS_MAX = 16384,
    PASSES = 3,
    BATCHES = NT_SWEEP_SIM_BATCHES,
    PINGS = NT_SWEEP_SIM_PINGS,
    REPEATS_ROUNDS = 24
};

static const uint64_t SOLVE_SEED = 1;

/* ---- the kinds of sweep -------------------------------------------------------------------- */

static struct nt_sweep_setup setup_of(const struct nt_sweep_input *input)
{
    return (struct nt_sweep_setup){.hosts = input->network->hosts,
                                   .passes = PASSES,
                                   .batches = BATCHES,
                                   .count = PINGS,
                                   .seed = input->seed};
}

static int create_all(const struct nt_sweep_input *input, struct nt_planner **out,
                      struct nt_err *err)
{
    const struct nt_sweep_setup setup = setup_of(input);
    return nt_sweep_all_create(&setup, out, err);
}

static int create_sequential(const struct nt_sweep_input *input, struct nt_planner **out,
                             struct nt_err *err)
{
    const struct nt_sweep_setup setup = setup_of(input);
    return nt_sweep_sequential_create(&setup, out, err);
}

static uint64_t bound_sequential(const struct nt_model *truth)
{
    return PASSES * (uint64_t)truth->hosts * (truth->hosts - (truth->hosts > 0)) / 2;
}

static uint64_t bound_all(const struct nt_model *truth)
{
    return PASSES * nt_sweep_all_rounds(truth->hosts);
}

static int create_adaptive(const struct nt_sweep_input *input, struct nt_planner **out,
                           struct nt_err *err)
{
    const struct nt_sweep_setup setup = setup_of(input);
    return nt_sweep_adaptive_create(&setup, input->order, out, err);
}

static int solve_adaptive(struct nt_planner *planner, struct nt_model **out, struct nt_err *err)
{
    return nt_sparse_model(nt_sweep_adaptive_state(planner), out, err);
}

static int create_prior(const struct nt_sweep_input *input, struct nt_planner **out,
                        struct nt_err *err)
{
    const struct nt_sweep_setup setup = setup_of(input);
    size_t rounds;
    if (nt_sweep_latency_create(&setup, NT_SWEEP_ADAPTIVE, out, &rounds, err) < 0)
        return -1;
    if (input->belief->levels == 0 || nt_sweep_latency_set_prior(*out, input->belief, err) == 0)
        return 0;
    nt_planner_destroy(*out);
    return -1;
}

/* All pairs if neither the prior nor the adaptive sweep was right; no network without all pairs. */
static int solve_prior(struct nt_planner *planner, struct nt_model **out, struct nt_err *err)
{
    const struct nt_sparse *sound = nt_sweep_latency_verified(planner);
    struct nt_matrix *latency;
    if (sound != NULL)
        return nt_sparse_model(sound, out, err);
    if (nt_sweep_latency_matrix(planner, &latency, NULL, err) < 0)
        return -1;
    int rc = nt_infer_latency(latency, NULL, SOLVE_SEED, out, err);
    nt_matrix_destroy(latency);
    return rc;
}

/* Without a hint a host is read with each branch of each tier: the sum over the tiers of the most
 * links that a switch has. */
static uint64_t bound_adaptive(const struct nt_model *truth)
{
    uint64_t most[UINT8_MAX + 1] = {0}, sum = 0;
    uint32_t *links = calloc(truth->switches + 1, sizeof *links);
    for (size_t k = 0; links != NULL && k < truth->links; k++)
        for (int end = 0; end < 2; end++) {
            uint32_t v = end == 0 ? truth->link[k].a : truth->link[k].b;
            uint32_t w = end == 0 ? truth->link[k].b : truth->link[k].a;
            if (v >= truth->hosts &&
                w >= truth->hosts) /* hosts of one switch are not distinguished */
                links[v - truth->hosts] +=
                    truth->tier[w - truth->hosts] < truth->tier[v - truth->hosts];
        }
    for (size_t s = 0; links != NULL && s < truth->switches; s++)
        if (truth->tier[s] <= UINT8_MAX && links[s] > most[truth->tier[s]])
            most[truth->tier[s]] = links[s];
    for (size_t t = 0; t <= UINT8_MAX; t++)
        sum += most[t];
    free(links);
    return sum;
}

const struct nt_sweep_kind nt_sweep_kind_all = {"all", create_all, NULL, bound_all};
const struct nt_sweep_kind nt_sweep_kind_sequential = {"sequential", create_sequential, NULL,
                                                       bound_sequential};
const struct nt_sweep_kind nt_sweep_kind_adaptive = {"adaptive", create_adaptive, solve_adaptive,
                                                     bound_adaptive};
const struct nt_sweep_kind nt_sweep_kind_prior = {"adaptive", create_prior, solve_prior,
                                                  bound_adaptive};

/* ---- answering ------------------------------------------------------------------------------ */

struct field {
    const struct nt_network *network;
    const struct nt_measure_noise *noise;
    /* by pair and direction; NULL: the planner keeps its own readings */
    struct nt_matrix *min_latency;
    struct nt_result *result;
    struct nt_flow *flow;
    size_t capacity;
};

static int make_room(struct field *f, size_t pairs, struct nt_err *err)
{
    if (pairs <= f->capacity)
        return 0;
    struct nt_result *result = realloc(f->result, pairs * sizeof *result);
    if (result != NULL)
        f->result = result;
    struct nt_flow *flow = realloc(f->flow, pairs * sizeof *flow);
    if (flow != NULL)
        f->flow = flow;
    if (result == NULL || flow == NULL)
        return nt_err_memory(err);
    f->capacity = pairs;
    return 0;
}

static void keep_lowest(struct field *f, uint32_t a, uint32_t b, double value)
{
    if (f->min_latency == NULL || isnan(value))
        return;
    if (!(nt_matrix_get(f->min_latency, a, b) <= value))
        nt_matrix_set(f->min_latency, a, b, (float)value);
}

static void answer_latency(struct field *f, const struct nt_order *order, uint32_t round)
{
    uint32_t batches = order->batches > 0 ? order->batches : 1;
    for (size_t k = 0; k < order->pairs; k++) {
        uint32_t a = order->pair[k][0], b = order->pair[k][1];
        struct nt_reading r = nt_measure_batches(f->network, f->noise, a, b, round, batches);
        f->result[k] = (struct nt_result){.a = a,
                                          .b = b,
                                          .ok = !isnan(r.value_us),
                                          .value_us = r.value_us,
                                          .se_us = r.se_us,
                                          .median_us = r.value_us,
                                          .count = batches * order->count,
                                          .bytes = order->message_bytes};
        keep_lowest(f, a, b, r.value_us);
    }
}

static int answer_bandwidth(struct field *f, const struct nt_order *order, uint32_t round,
                            struct nt_err *err)
{
    for (size_t k = 0; k < order->pairs; k++)
        f->flow[k] = (struct nt_flow){order->pair[k][0], order->pair[k][1], 0};
    if (nt_flows_share(f->network, f->flow, order->pairs, err) < 0)
        return -1;
    for (size_t k = 0; k < order->pairs; k++) {
        uint32_t a = f->flow[k].from, b = f->flow[k].to;
        double us = order->window_s * 1e6, rate = f->flow[k].rate_MBps;
        bool ok = isfinite(rate) && rate > 0;
        f->result[k] = (struct nt_result){
            .a = a,
            .b = b,
            .ok = ok,
            .value_us = us,
            .count = 1,
            .bytes = ok ? rate * us * nt_measure_factor(f->noise, a, b, round) : 0};
    }
    return 0;
}

static int answer_order(struct field *f, const struct nt_order *order, uint32_t round,
                        size_t *results, struct nt_err *err)
{
    *results = 0;
    if (order->kind == NT_ORDER_KERNEL)
        return 0;
    for (size_t k = 0; k < order->pairs; k++)
        if (order->pair[k][0] >= f->network->hosts || order->pair[k][1] >= f->network->hosts ||
            order->pair[k][0] == order->pair[k][1])
            return nt_err_set(err, NT_ERR_SYSTEM, "round %u: a pair of hosts %u and %u", round,
                              order->pair[k][0], order->pair[k][1]);
    if (make_room(f, order->pairs, err) < 0)
        return -1;
    if (order->kind == NT_ORDER_LATENCY)
        answer_latency(f, order, round);
    else if (order->kind != NT_ORDER_BANDWIDTH)
        return 0;
    else if (answer_bandwidth(f, order, round, err) < 0)
        return -1;
    *results = order->pairs;
    return 0;
}

int nt_order_answer(const struct nt_noisy_network *from, const struct nt_order *order,
                    uint32_t round, struct nt_result *results, size_t *n, struct nt_err *err)
{
    struct field f = {.network = from->network, .noise = from->noise};
    int rc = answer_order(&f, order, round, n, err);
    if (rc == 0 && *n > 0)
        memcpy(results, f.result, *n * sizeof *results);
    free(f.result);
    free(f.flow);
    return rc;
}

/* ---- the sweep ------------------------------------------------------------------------------ */

struct stopwatch {
    double (*now_s)(void);
    double since, sum, most;
};

static void stopwatch_start(struct stopwatch *w)
{
    w->since = w->now_s != NULL ? w->now_s() : 0;
}

static void stopwatch_stop(struct stopwatch *w)
{
    double took = w->now_s != NULL ? w->now_s() - w->since : 0;
    w->sum += took;
    w->most = took > w->most ? took : w->most;
}

static int drive_planner(struct nt_planner *planner, struct field *f, struct stopwatch *watch,
                         struct nt_sweep_run *run, struct nt_err *err)
{
    for (;;) {
        struct nt_order order = {0};
        size_t results;
        stopwatch_start(watch);
        int more = planner->ops->next(planner, &order, err);
        stopwatch_stop(watch);
        if (more <= 0)
            return more;
        if (answer_order(f, &order, (uint32_t)run->rounds, &results, err) < 0)
            return -1;
        run->rounds++;
        run->tests += strcmp(order.phase, NT_SWEEP_ADAPTIVE_VERIFICATION) == 0;
        run->pairs += order.pairs;
        stopwatch_start(watch);
        int told = planner->ops->tell(planner, f->result, results, err);
        stopwatch_stop(watch);
        if (told < 0)
            return -1;
    }
}

/* Solves all pairs, and measures deciding pairs again if the network is uncertain; their readings
 * are used as the planner does. */
static int solve_all(struct field *f, struct stopwatch *watch, struct nt_sweep_run *run,
                     struct nt_err *err)
{
    struct nt_matrix *min_latency = f->min_latency;
    struct nt_planner *planner = NULL;
    struct nt_remeasure_input input = {.min_latency = min_latency,
                                       .passes = PASSES,
                                       .most_rounds = REPEATS_ROUNDS,
                                       .batches = BATCHES,
                                       .count = PINGS,
                                       .seed = SOLVE_SEED};
    size_t rounds;
    stopwatch_start(watch);
    int rc = nt_infer_latency(min_latency, NULL, SOLVE_SEED, &run->model, err);
    input.model = run->model;
    if (rc == 0)
        rc = nt_remeasure_create(&input, &planner, &rounds, err);
    stopwatch_stop(watch);
    if (rc != 0 || planner == NULL)
        return rc;
    f->min_latency = NULL;
    rc = drive_planner(planner, f, watch, run, err);
    f->min_latency = min_latency;
    if (rc == 0) {
        nt_model_destroy(run->model);
        run->model = NULL;
        rc = nt_remeasure_model(planner, &run->model, err);
    }
    nt_planner_destroy(planner);
    return rc;
}

static int judge_network(const struct nt_sweep_kind *kind, const struct nt_network *network,
                         struct nt_sweep_run *run, struct nt_err *err)
{
    struct nt_model *truth;
    if (nt_network_truth(network, &truth, err) < 0)
        return -1;
    run->bound_rounds = kind->bound_rounds(truth);
    run->exact = nt_shape_equal(run->model, truth);
    nt_model_destroy(truth);
    return 0;
}

int nt_sweep_simulate(const struct nt_sweep_kind *kind, const struct nt_noisy_network *from,
                      const struct nt_sweep_how *how, struct nt_sweep_run *run, struct nt_err *err)
{
    static const struct nt_sweep_how plain;
    how = how != NULL ? how : &plain;
    const struct nt_network *network = from->network;
    struct nt_sweep_input input = {network, how->order, from->noise->seed, how->belief};
    struct field f = {.network = network, .noise = from->noise};
    struct stopwatch watch = {.now_s = how->now_s};
    struct nt_sweep_run done = {0};
    struct nt_planner *planner = NULL;
    int rc = -1;
    if (kind->solve == NULL && network->hosts > MATRIX_HOSTS_MAX)
        return nt_err_set(err, NT_ERR_INPUT,
                          "a sweep of all pairs of %zu hosts: at most %d, or the adaptive one",
                          network->hosts, MATRIX_HOSTS_MAX);
    if (kind->solve == NULL &&
        nt_matrix_create(network->hosts, NT_MATRIX_LATENCY_US, &f.min_latency, err) < 0)
        return -1;
    if (kind->create(&input, &planner, err) < 0 ||
        drive_planner(planner, &f, &watch, &done, err) < 0)
        goto out;
    done.slowest_s = watch.most;
    if (kind->solve == NULL) {
        rc = solve_all(&f, &watch, &done, err);
    } else {
        stopwatch_start(&watch);
        rc = kind->solve(planner, &done.model, err);
        stopwatch_stop(&watch);
    }
    if (rc == 0)
        rc = judge_network(kind, network, &done, err);
    if (rc == 0) {
        done.planning_s = watch.sum;
        *run = done;
    } else {
        nt_model_destroy(done.model);
    }
out:
    nt_planner_destroy(planner);
    nt_matrix_destroy(f.min_latency);
    free(f.result);
    free(f.flow);
    return rc;
}

/* ---- samples -------------------------------------------------------------------------------- */

static int record_latency(struct nt_samples *s, const struct field *f, uint32_t a, uint32_t b,
                          struct nt_err *err)
{
    double value = nt_measure_latency(f->network, f->noise, a, b, 0);
    struct nt_sample x = {.kind = NT_SAMPLE_LATENCY,
                          .a = a,
                          .b = b,
                          .count = PINGS,
                          .bytes = NT_PING_BYTES,
                          .value_us = value,
                          .latency.median_us = value};
    return isnan(value) ? 0 : nt_samples_add(s, x, NULL, err);
}

/* ---- rails ---- */

enum { RAIL_NAME_BYTES = 16 };

static const struct nt_network *find_rail(const struct nt_network *network, const char *name,
                                          uint32_t *number)
{
    char text[RAIL_NAME_BYTES];
    for (*number = 0; network != NULL; network = network->next_rail, (*number)++) {
        snprintf(text, sizeof text, "rail%u", *number);
        if (strcmp(text, name) == 0)
            return network;
    }
    return NULL;
}

/* A round trip of one message, all pairs of the round at the same time. */
static int record_rail(struct nt_samples *s, struct field *f, const struct nt_order *order,
                       struct nt_err *err)
{
    uint32_t number;
    const struct nt_network *rail = find_rail(f->network, order->rail, &number);
    uint32_t stream = number << 16 | (uint32_t)s->rounds;
    for (size_t k = 0; k < order->pairs; k++)
        f->flow[k] = (struct nt_flow){order->pair[k][0], order->pair[k][1], 0};
    if (rail == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "rail %s: the network has none", order->rail);
    if (nt_flows_share_rail(rail, f->flow, order->pairs, err) < 0)
        return -1;
    for (size_t k = 0; k < order->pairs; k++) {
        uint32_t a = order->pair[k][0], b = order->pair[k][1];
        struct nt_reading r =
            nt_measure_batches(rail, f->noise, a, b, stream, NT_SWEEP_SIM_BATCHES);
        double factor = r.value_us / nt_network_latency(rail, a, b);
        double us = r.value_us + order->message_bytes / f->flow[k].rate_MBps * factor;
        struct nt_sample x = {.kind = NT_SAMPLE_PRTT,
                              .a = a,
                              .b = b,
                              .count = 1,
                              .bytes = order->message_bytes,
                              .value_us = 2 * us,
                              .prtt.se_us = 2 * us * r.se_us / r.value_us};
        if (us > 0 && isfinite(us) && nt_samples_add(s, x, order->rail, err) < 0)
            return -1;
    }
    return 0;
}

static int record_rails(struct nt_samples *s, struct field *f, const struct nt_model *truth,
                        struct nt_err *err)
{
    char text[NT_SPEC_RAILS_MAX][RAIL_NAME_BYTES];
    const char *name[NT_SPEC_RAILS_MAX];
    struct nt_rail_links_settings settings = {
        .rails = nt_network_rails(f->network), .rail = name, .rate_MBps = NAN};
    struct nt_planner *planner;
    struct nt_order order;
    size_t rounds;
    for (size_t k = 0; k < settings.rails; k++) {
        snprintf(text[k], sizeof text[k], "rail%zu", k);
        name[k] = text[k];
    }
    if (nt_rail_links_create(truth, &settings, &planner, &rounds, err) < 0)
        return -1;
    int more;
    while ((more = planner->ops->next(planner, &order, err)) > 0)
        if (make_room(f, order.pairs, err) < 0 || nt_samples_begin_round(s, err) < 0 ||
            record_rail(s, f, &order, err) < 0) {
            more = -1;
            break;
        }
    nt_planner_destroy(planner);
    return more;
}

static int record_rails_phase(struct nt_samples *s, struct field *f, struct nt_err *err)
{
    struct nt_model *truth;
    if (nt_network_truth(f->network, &truth, err) < 0)
        return -1;
    int rc = nt_samples_begin_phase(s, NT_RAIL_LINKS_PHASE, err);
    if (rc == 0)
        rc = record_rails(s, f, truth, err);
    nt_model_destroy(truth);
    return rc < 0 ? -1 : nt_samples_end_phase(s, 0, err);
}

/* Flows of one round, as a job records them. */
static int record_flows(struct nt_samples *s, struct field *f, const struct nt_order *order,
                        uint32_t round_number, struct nt_err *err)
{
    if (nt_samples_begin_round(s, err) < 0 || answer_bandwidth(f, order, round_number, err) < 0)
        return -1;
    for (size_t k = 0; k < order->pairs; k++) {
        const struct nt_result *r = &f->result[k];
        struct nt_sample x = {.kind = NT_SAMPLE_BANDWIDTH,
                              .a = r->a,
                              .b = r->b,
                              .count = 1,
                              .bytes = round(r->bytes),
                              .value_us = r->value_us};
        if (r->ok && nt_samples_add(s, x, NULL, err) < 0)
            return -1;
    }
    return 0;
}

/* Both directions of a round's pairs; all pairs of one direction at the same time. */
static int record_bandwidth(struct nt_samples *s, struct field *f, const struct nt_order *order,
                            double window_s, struct nt_err *err)
{
    struct nt_order flows = *order;
    flows.window_s = window_s;
    for (int way = 0; way < 2; way++) {
        if (record_flows(s, f, &flows, 0, err) < 0)
            return -1;
        for (size_t k = 0; k < flows.pairs; k++) {
            uint32_t turned = flows.pair[k][0];
            flows.pair[k][0] = flows.pair[k][1];
            flows.pair[k][1] = turned;
        }
    }
    return 0;
}

/* The rounds that a job plans, each in the phase that it names. */
static int record_planned(struct nt_samples *s, struct field *f, struct nt_planner *planner,
                          struct nt_err *err)
{
    char phase[sizeof((struct nt_order *)0)->phase] = "";
    struct nt_order order;
    int more;
    for (uint32_t k = 1; (more = planner->ops->next(planner, &order, err)) > 0; k++) {
        bool new_phase = strcmp(phase, order.phase) != 0;
        if ((new_phase && phase[0] != '\0' && nt_samples_end_phase(s, 0, err) < 0) ||
            (new_phase && nt_samples_begin_phase(s, order.phase, err) < 0) ||
            make_room(f, order.pairs, err) < 0 || record_flows(s, f, &order, k, err) < 0 ||
            planner->ops->tell(planner, f->result, order.pairs, err) < 0)
            return -1;
        memcpy(phase, order.phase, sizeof phase);
    }
    return more < 0 ? -1 : phase[0] != '\0' ? nt_samples_end_phase(s, 0, err) : 0;
}

/* Links on cycles: all pairs at once do not show their rates, since the path of a flow is
 * unknown. */
static int record_cycles(struct nt_samples *s, struct field *f, struct nt_err *err)
{
    struct nt_model *truth;
    struct nt_planner *planner;
    const struct nt_bandwidth_options options = {.phases =
                                                     NT_BANDWIDTH_HOST_LINKS | NT_BANDWIDTH_TIERS};
    if (nt_network_truth(f->network, &truth, err) < 0)
        return -1;
    int rc = 0;
    if (truth->switches != 1 && truth->family != NT_FAMILY_TREE) {
        rc = nt_bandwidth_create(truth, NULL, &options, &planner, err);
        if (rc == 0) {
            rc = record_planned(s, f, planner, err);
            nt_planner_destroy(planner);
        }
    }
    nt_model_destroy(truth);
    return rc;
}

static int record_pass(struct nt_samples *s, struct field *f, double window_s, struct nt_err *err)
{
    struct nt_planner *planner;
    struct nt_order order;
    int more;
    const struct nt_sweep_setup setup = {
        .hosts = f->network->hosts, .passes = 1, .batches = 1, .count = PINGS};
    if (nt_sweep_all_create(&setup, &planner, err) < 0)
        return -1;
    while ((more = planner->ops->next(planner, &order, err)) > 0) {
        more = make_room(f, order.pairs, err);
        if (more == 0 && window_s > 0)
            more = record_bandwidth(s, f, &order, window_s, err);
        else if (more == 0)
            more = nt_samples_begin_round(s, err);
        for (size_t k = 0; more == 0 && window_s <= 0 && k < order.pairs; k++) {
            uint32_t a = order.pair[k][0], b = order.pair[k][1];
            if (record_latency(s, f, a, b, err) < 0 || record_latency(s, f, b, a, err) < 0)
                more = -1;
        }
        if (more < 0)
            break;
    }
    nt_planner_destroy(planner);
    return more;
}

static int record_sweep(struct nt_samples *s, struct field *f, const char *const *host_name,
                        double window_s, struct nt_err *err)
{
    bool rails = window_s > 0 && f->network->next_rail != NULL;
    const char *level = rails ? "full" : window_s > 0 ? "standard" : "quick";
    if (nt_samples_set_word(&s->job.level, level, err) < 0)
        return -1;
    for (size_t h = 0; h < f->network->hosts; h++)
        if (nt_samples_add_host(s, host_name[h], err) < 0)
            return -1;
    for (int phase = 0; phase < (window_s > 0 ? 2 : 1); phase++)
        if (nt_samples_begin_phase(s, phase == 0 ? "latency" : "bandwidth", err) < 0 ||
            record_pass(s, f, phase == 0 ? 0 : window_s, err) < 0 ||
            nt_samples_end_phase(s, 0, err) < 0)
            return -1;
    if (window_s > 0 && record_cycles(s, f, err) < 0)
        return -1;
    if (rails && record_rails_phase(s, f, err) < 0)
        return -1;
    nt_samples_finish(s, NT_STATUS_OK, 0);
    return 0;
}

int nt_samples_simulate(const struct nt_noisy_network *from, const char *const *host_name,
                        double window_s, struct nt_samples **out, struct nt_err *err)
{
    struct field f = {.network = from->network, .noise = from->noise};
    struct nt_samples *s;
    if (from->network->hosts > NT_SAMPLES_SIM_HOSTS)
        return nt_err_set(err, NT_ERR_INPUT, "samples of all pairs of %zu hosts: at most %d",
                          from->network->hosts, (int)NT_SAMPLES_SIM_HOSTS);
    if (nt_samples_create(&s, err) < 0)
        return -1;
    int rc = record_sweep(s, &f, host_name, window_s, err);
    free(f.result);
    free(f.flow);
    if (rc < 0)
        nt_samples_destroy(s);
    else
        *out = s;
    return rc;
}
