/* SPDX-License-Identifier: Apache-2.0 */
/* Plays the job's first host against a simulated network: its campaign, and the record of it. A
 * header so that any test and bench can include it. */
#ifndef NT_TEST_RECORDED_SWEEP_H
#define NT_TEST_RECORDED_SWEEP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "campaign.h"
#include "record.h"
#include "repeats.h"
#include "rng.h"
#include "samples.h"
#include "sweep_sim.h"

struct recording {
    enum nt_level level;
    enum nt_sweep_mode mode;
    struct nt_measure_noise noise;
    double disturbed;          /* so likely is a reading to take up to three times as long */
    size_t most_rounds;        /* cut there; 0: never */
    bool unrepeated;           /* cut where repeats begin */
    double budget_s;           /* 0: more than enough */
    double lap_s;              /* what a round takes beside its window; 0: hardly anything */
    double (*now_s)(void);     /* what the processor has done; NULL: nobody asks */
    bool by_name;              /* hosts are in the order of their names */
    struct nt_inferred *known; /* what the campaign knows at the end; NULL: nobody asks */
    /* pairs that cannot reach each other */
    const uint32_t (*blocked)[2];
    size_t blockeds;
};

struct recorded {
    struct nt_samples *samples;
    size_t rounds;
    bool verified;
    struct nt_rng rng;
    double ended_s;
    double repeats_s;     /* when the last round of repeats had ended; 0: there was none */
    double cpu_s, most_s; /* of planning and recording: in all, and of the longest round */
    char phase[32];       /* the last */
    char warned[512];     /* the campaign's warnings, one line each */
};

static void record_must(int rc, const struct nt_err *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "the recorded sweep: %s\n", err->text);
    exit(4);
}

static void record_hosts(struct nt_samples *s, size_t hosts, bool by_name)
{
    char name[32];
    struct nt_err err;
    for (size_t h = 0; h < hosts; h++) {
        snprintf(name, sizeof name, "n%zu", by_name ? h + 1 : hosts - h);
        record_must(nt_samples_add_host(s, name, &err), &err);
    }
}

static void record_round(struct nt_samples *s, const struct nt_order *order,
                         struct nt_result *results, size_t n, char phase[32])
{
    struct nt_err err;
    if (strcmp(phase, order->phase) != 0) {
        if (phase[0] != '\0')
            record_must(nt_samples_end_phase(s, 1, &err), &err);
        snprintf(phase, 32, "%s", order->phase);
        record_must(nt_samples_begin_phase(s, phase, &err), &err);
    }
    record_must(nt_samples_begin_round(s, &err), &err);
    for (size_t k = 0; k < n; k++) {
        record_must(nt_samples_add(s, nt_record_of(order, &results[k]), NULL, &err), &err);
        nt_record_round(s, &results[k]);
    }
}

static bool record_is_blocked(const struct recording *how, const struct nt_result *r)
{
    for (size_t k = 0; k < how->blockeds; k++)
        if ((how->blocked[k][0] == r->a && how->blocked[k][1] == r->b) ||
            (how->blocked[k][0] == r->b && how->blocked[k][1] == r->a))
            return true;
    return false;
}

/* Moves what failed behind the rest, whose number it returns. */
static size_t record_part(const struct recording *how, struct nt_result *results, size_t got)
{
    size_t good = 0;
    for (size_t k = 0; k < got; k++)
        if (!record_is_blocked(how, &results[k])) {
            struct nt_result r = results[k];
            results[k] = results[good];
            results[good++] = r;
        }
    return good;
}

static void record_failures(struct nt_samples *s, const struct nt_result *failed, size_t n)
{
    struct nt_err err;
    for (size_t k = 0; k < n; k++) {
        struct nt_sample x = {.kind = NT_SAMPLE_FAILED, .a = failed[k].a, .b = failed[k].b};
        record_must(nt_samples_add(s, x, "connect: no answer in time", &err), &err);
    }
}

static double record_clock(const struct recording *how)
{
    return how->now_s != NULL ? how->now_s() : 0;
}

/* One round, answered by the network; false: there was none. */
static bool record_next(const struct nt_network *n, const struct recording *how,
                        struct nt_campaign *c, struct nt_result *results, struct recorded *r)
{
    struct nt_order order;
    struct nt_err err = {0};
    size_t got = 0, all = 0;
    double began = record_clock(how), lap_s = how->lap_s > 0 ? how->lap_s : 0.001;
    int more = nt_campaign_next(c, r->ended_s, &order, &err);
    double planned = record_clock(how);
    record_must(more, &err);
    if (more == 0 || (how->unrepeated && nt_repeats_is_phase(order.phase)))
        return false;
    record_must(nt_order_answer(&(struct nt_noisy_network){n, &how->noise}, &order,
                                (uint32_t)r->rounds, results, &all, &err),
                &err);
    got = record_part(how, results, all);
    for (size_t k = 0; k < got; k++)
        if (how->disturbed > 0 && nt_rng_uniform(&r->rng) < how->disturbed)
            results[k].value_us *= 1.2 + 1.8 * nt_rng_uniform(&r->rng);
    double answered = record_clock(how);
    record_round(r->samples, &order, results, got, r->phase);
    record_failures(r->samples, results + got, all - got);
    lap_s += how->lap_s > 0 ? order.window_s : 0;
    record_must(nt_campaign_tell(c, results, got, lap_s, &err), &err);
    r->ended_s += lap_s;
    if (nt_repeats_is_phase(order.phase))
        r->repeats_s = r->ended_s;
    double took = planned - began + record_clock(how) - answered;
    r->cpu_s += took;
    r->most_s = took > r->most_s ? took : r->most_s;
    r->rounds++;
    return true;
}

static struct recorded record_sweep(const struct nt_network *n, const struct recording *how)
{
    struct nt_campaign_options options = {.level = how->level,
                                          .budget_s = how->budget_s > 0 ? how->budget_s : 1e5,
                                          .max_load = 1,
                                          .seed = 1,
                                          .mode = how->mode};
    struct nt_result *results = calloc(n->hosts + 1, sizeof *results);
    struct recorded r = {0};
    struct nt_campaign *c;
    struct nt_err err = {0};
    if (results == NULL)
        exit(4);
    nt_rng_init(&r.rng, how->noise.seed);
    record_must(nt_samples_create(&r.samples, &err), &err);
    record_hosts(r.samples, n->hosts, how->by_name);
    record_must(nt_campaign_create(n->hosts, NULL, &options, &c, &err), &err);
    while ((how->most_rounds == 0 || r.rounds < how->most_rounds) &&
           record_next(n, how, c, results, &r))
        ;
    for (size_t k = 0; k < nt_campaign_warnings(c); k++)
        snprintf(r.warned + strlen(r.warned), sizeof r.warned - strlen(r.warned), "%s\n",
                 nt_campaign_warning(c, k));
    record_must(nt_samples_end_phase(r.samples, 1, &err), &err);
    nt_samples_finish(r.samples, NT_STATUS_OK, 1);
    r.verified = nt_campaign_is_verified(c);
    if (how->known != NULL)
        nt_campaign_take_inferred(c, how->known);
    nt_campaign_destroy(c);
    free(results);
    return r;
}

#endif
