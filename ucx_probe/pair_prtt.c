/* SPDX-License-Identifier: Apache-2.0 */
#include "pair_prtt.h"

#include <math.h>

#include "clock.h"
#include "pair_batches.h"

/* So often nothing new means that nothing has come. */
enum { EMPTY_POLLS = 3 };

/* Awake again so long before a hold ends. */
static const double WAKE_EARLY_S = 200e-6;

/* The first byte of a message tells the answering end whether to expect another train. */
enum { LAST = 1, MORE = 2 };

/* Computes for d, as the method asks, but lets the network move: without progress nothing that
 * needs the CPU would leave the host during the delay. */
static void progress_for(struct nt_pair *pair, double seconds)
{
    double until = nt_clock_s() + seconds;
    while (nt_clock_s() < until)
        ucp_worker_progress(pair->net->worker);
}

/* Looks at nothing: what arrives meanwhile waits. On a shared core a spinning process keeps the
 * very answer away that it waits for, so most of the time it sleeps. Returns by how many seconds it
 * woke too late, which is no part of what was asked for. */
static double hold_without_progress(const struct nt_pair *pair, double seconds)
{
    double now, until = nt_clock_s() + seconds;
    if (pair->spin_s <= 0 && seconds > WAKE_EARLY_S)
        nt_clock_sleep(seconds - WAKE_EARLY_S);
    do
        now = nt_clock_s();
    while (now < until);
    return now - until;
}

/* The train of n messages. request: PAIR_WINDOW_MAX slots, all empty before and after. */
static int send_train(struct nt_pair *pair, const struct nt_order *order, bool more,
                      double deadline_s, struct nt_err *err)
{
    ucs_status_ptr_t request[PAIR_WINDOW_MAX] = {NULL};
    size_t bytes = nt_pair_message_bytes(order), n = order->count < 1 ? 1 : order->count;
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        size_t slot = i % PAIR_WINDOW_MAX;
        unsigned char *out = nt_pair_slot(pair, slot);
        if (i > 0 && order->delay_us > 0)
            progress_for(pair, order->delay_us * 1e-6);
        rc = nt_pair_wait(pair, request[slot], deadline_s, "prtt", err);
        request[slot] = NULL;
        out[0] = more ? MORE : LAST;
        if (rc == 0)
            request[slot] = nt_pair_send(pair, TAG_PING, out, bytes);
    }
    for (size_t slot = 0; slot < PAIR_WINDOW_MAX; slot++)
        if (rc == 0)
            rc = nt_pair_wait(pair, request[slot], deadline_s, "prtt", err);
        else
            nt_pair_cancel(pair, request[slot]);
    return rc;
}

/* Whether it is here by now, so that only taking it in is left. */
static bool has_arrived(struct nt_pair *pair, ucs_status_ptr_t answer)
{
    for (int empty = 0; empty < EMPTY_POLLS && !nt_pair_request_done(answer);)
        if (ucp_worker_progress(pair->net->worker) == 0)
            empty++;
    return nt_pair_request_done(answer);
}

/* A train and its answer; time_s: what it took. With a hold it counts from the end of the last
 * send, which the network may have taken the core for; NaN: the answer came after the hold, so that
 * the wait for it would pass for taking it in. */
static int prtt_once(struct nt_pair *pair, const struct nt_order *order, bool more,
                     double deadline_s, double *time_s, struct nt_err *err)
{
    double began = nt_clock_s();
    ucs_status_ptr_t answer = nt_pair_receive(pair, TAG_PONG, nt_pair_slot(pair, PAIR_WINDOW_MAX),
                                              nt_pair_message_bytes(order));
    if (send_train(pair, order, more, deadline_s, err) != 0) {
        nt_pair_cancel(pair, answer);
        return -1;
    }
    bool arrived = true;
    if (order->hold_us > 0) {
        began = nt_clock_s();
        began += hold_without_progress(pair, order->hold_us * 1e-6);
        arrived = has_arrived(pair, answer);
    }
    if (nt_pair_wait(pair, answer, deadline_s, "prtt", err) != 0)
        return -1;
    *time_s = arrived ? nt_clock_s() - began : NAN;
    return 0;
}

static int prtt_initiate(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                         double deadline_s, struct nt_result *result, struct nt_err *err)
{
    struct nt_pair_batches batches = {0};
    size_t n = 0, tried = 0, turns = order->batches < 1 ? 1 : order->batches;
    for (bool more = true; more;) {
        double time;
        tried++;
        more =
            nt_clock_s() < soft_s && n + 1 < turns && tried < 2 * turns && n + 1 < PAIR_TIMES_MAX;
        if (prtt_once(pair, order, more, deadline_s, &time, err) != 0)
            return -1;
        if (!isnan(time))
            pair->times[n++] = (float)time;
    }
    result->ok = true;
    if (n == 0)
        return 0; /* the peer answers, only never by the end of the hold */
    for (size_t begin = 0, part = (n + 3) / 4; begin < n; begin += part)
        nt_pair_batch_add(&batches, pair->times + begin, n - begin < part ? n - begin : part);
    result->count = order->count;
    result->bytes = order->message_bytes;
    nt_pair_batch_result(pair->times, n, &batches, 1e6, result);
    result->se_us = nt_pair_batch_lowest_gap(&batches) * 1e6;
    return 0;
}

/* Receives for the first messages of a train, posted before it can begin. */
static void post_train(struct nt_pair *pair, const struct nt_order *order, size_t n,
                       ucs_status_ptr_t *request)
{
    for (size_t slot = 0; slot < PAIR_WINDOW_MAX; slot++)
        request[slot] = slot < n ? nt_pair_receive(pair, TAG_PING, nt_pair_slot(pair, slot),
                                                   nt_pair_message_bytes(order))
                                 : NULL;
}

static int receive_train(struct nt_pair *pair, const struct nt_order *order, size_t n,
                         ucs_status_ptr_t *request, double deadline_s, struct nt_err *err)
{
    for (size_t i = 0; i < n; i++) {
        size_t slot = i % PAIR_WINDOW_MAX;
        ucs_status_ptr_t next = request[slot];
        request[slot] = NULL;
        if (nt_pair_wait(pair, next, deadline_s, "prtt", err) != 0)
            return -1;
        if (i + PAIR_WINDOW_MAX < n)
            request[slot] = nt_pair_receive(pair, TAG_PING, nt_pair_slot(pair, slot),
                                            nt_pair_message_bytes(order));
    }
    return 0;
}

static int prtt_respond(struct nt_pair *pair, const struct nt_order *order, double deadline_s,
                        struct nt_err *err)
{
    ucs_status_ptr_t request[PAIR_WINDOW_MAX] = {NULL};
    size_t n = order->count < 1 ? 1 : order->count;
    int rc = 0;
    post_train(pair, order, n, request);
    for (bool more = true; more && rc == 0;) {
        rc = receive_train(pair, order, n, request, deadline_s, err);
        more = nt_pair_slot(pair, (n - 1) % PAIR_WINDOW_MAX)[0] == MORE;
        if (rc == 0 && more)
            post_train(pair, order, n, request);
        if (rc == 0)
            rc = nt_pair_wait(pair,
                              nt_pair_send(pair, TAG_PONG, nt_pair_slot(pair, PAIR_WINDOW_MAX),
                                           nt_pair_message_bytes(order)),
                              deadline_s, "prtt", err);
    }
    for (size_t slot = 0; slot < PAIR_WINDOW_MAX; slot++)
        nt_pair_cancel(pair, request[slot]);
    return rc;
}

int nt_pair_prtt(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                 double deadline_s, struct nt_result *result, struct nt_err *err)
{
    return pair->pairing.first ? prtt_initiate(pair, order, soft_s, deadline_s, result, err)
                               : prtt_respond(pair, order, deadline_s, err);
}
