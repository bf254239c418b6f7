/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "clock.h"
#include "pair_ucx.h"
#include "stats.h"

/* The first byte of a message shows the answering end whether another one follows. */
enum { LAST = 1, MORE = 2 };

/* ---- figures of a measurement from its batches of repetitions ---- */
enum { BATCHES_MAX = 64 };

struct batches {
    size_t n;
    double low[BATCHES_MAX]; /* lowest tenth of each batch in s */
};

/* Adds a batch of n repetitions with their times in s; keeps at most BATCHES_MAX batches. */
static void add_batch(struct batches *b, const float *times, size_t n)
{
    float values[512];
    n = n < 512 ? n : 512;
    if (n == 0 || b->n == BATCHES_MAX)
        return;
    memcpy(values, times, n * sizeof *values);
    b->low[b->n++] = (double)nt_stats_quantile(values, n, 0.1);
}

/* Returns the standard error of the batches' mean; for a single batch half its value. */
static double batch_standard_error(const struct batches *b)
{
    double mean = 0, square = 0;
    if (b->n < 2)
        return b->n == 0 ? 0 : b->low[0] / 2;
    for (size_t i = 0; i < b->n; i++)
        mean += b->low[i] / (double)b->n;
    for (size_t i = 0; i < b->n; i++)
        square += (b->low[i] - mean) * (b->low[i] - mean);
    return sqrt(square / (double)(b->n - 1) / (double)b->n);
}

/* Returns the difference between the two lowest batches. A disturbance only adds time, and on
 * shared cores most turns are disturbed: the other batches do not show the error of the lowest
 * ones. */
static double lowest_gap(const struct batches *b)
{
    double lowest = INFINITY, second = INFINITY;
    if (b->n < 2)
        return b->n == 0 ? 0 : b->low[0] / 2;
    for (size_t i = 0; i < b->n; i++) {
        second = fmin(second, fmax(lowest, b->low[i]));
        lowest = fmin(lowest, b->low[i]);
    }
    return second - lowest;
}

static void set_result(float *times, size_t n, const struct batches *b, double scale,
                       struct nt_result *result)
{
    result->ok = true;
    result->value_us = (double)nt_stats_quantile(times, n, 0.1) * scale;
    result->median_us = (double)nt_stats_quantile(times, n, 0.5) * scale;
    result->se_us = batch_standard_error(b) * scale;
}

/* ---- a latency: ping-pong ---- */
/* On an own core a batch lasts at least this long. */
static const double MIN_BATCH_S = 100e-6;

static int ping_once(struct nt_pair *pair, size_t bytes, bool more, double deadline_s,
                     struct nt_err *err)
{
    unsigned char *out = nt_pair_slot(pair, 0), *in = nt_pair_slot(pair, 1);
    out[0] = more ? MORE : LAST;
    ucs_status_ptr_t pong = nt_pair_receive(pair, TAG_PONG, in, bytes);
    ucs_status_ptr_t ping = nt_pair_send(pair, TAG_PING, out, bytes);
    if (nt_pair_wait(pair, ping, deadline_s, "ping", err) != 0) {
        nt_pair_cancel(pair, pong);
        return -1;
    }
    return nt_pair_wait(pair, pong, deadline_s, "ping", err);
}

static int ping_initiate(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                         double deadline_s, struct nt_result *result, struct nt_err *err)
{
    struct batches batches = {0};
    size_t bytes = nt_pair_message_bytes(order), n = 0, begin = 0, batch = 0;
    double min_s = pair->spin_s > 0 ? MIN_BATCH_S : 0;
    double first_message_by_s = fmin(pair->first_message_by_s, deadline_s);
    double t = nt_clock_s(), began = t, trip = 0;
    for (bool more = true; more;) {
        /* whether this ping ends its batch. The clock is read once per ping, and the value includes
         * this cost */
        bool full = n + 1 - begin >= order->count && t + trip - began >= min_s;
        more = t < soft_s && n + 1 < PAIR_TIMES_MAX && !(full && batch + 1 >= order->batches);
        if (ping_once(pair, bytes, more, n > 0 ? deadline_s : first_message_by_s, err) != 0)
            return -1;
        double now = nt_clock_s();
        trip = now - t;
        pair->times[n++] = (float)trip;
        t = now;
        if (n == 1) /* the first ping may have waited for the other end */
            pair->first_message_s = began = now;
        if (full || !more) {
            add_batch(&batches, pair->times + begin, n - begin);
            begin = n;
            batch++;
            began = t = nt_clock_s();
        }
    }
    result->count = (uint32_t)n;
    result->bytes = order->message_bytes;
    set_result(pair->times, n, &batches, 1e6 / 2, result);
    return 0;
}

static int ping_respond(struct nt_pair *pair, const struct nt_order *order, double deadline_s,
                        struct nt_err *err)
{
    size_t bytes = nt_pair_message_bytes(order), k = 0;
    unsigned char *in[2] = {nt_pair_slot(pair, 0), nt_pair_slot(pair, 1)};
    unsigned char *out = nt_pair_slot(pair, 2);
    ucs_status_ptr_t ping = nt_pair_receive(pair, TAG_PING, in[k], bytes);
    double until_s = fmin(pair->first_message_by_s, deadline_s);
    pair->first_message_s = 0;
    for (bool more = true; more; k ^= 1) {
        if (nt_pair_wait(pair, ping, until_s, "pong", err) != 0)
            return -1;
        until_s = deadline_s;
        if (pair->first_message_s == 0)
            pair->first_message_s = nt_clock_s();
        more = in[k][0] == MORE;
        ping = more ? nt_pair_receive(pair, TAG_PING, in[k ^ 1], bytes) : NULL;
        ucs_status_ptr_t pong = nt_pair_send(pair, TAG_PONG, out, bytes);
        if (nt_pair_wait(pair, pong, deadline_s, "pong", err) != 0) {
            nt_pair_cancel(pair, ping);
            return -1;
        }
    }
    return 0;
}

/* ---- PRTT(n, d, s) (core/prtt.h) ---- */
/* This many polls without progress show that no message has arrived. */
enum { EMPTY_POLLS = 3 };

/* Time before the end of a hold at which to wake up. */
static const double WAKE_EARLY_S = 200e-6;

/* Waits for the delay d of the method with progress on the network: without progress, messages that
 * need the CPU would not leave the host during the delay. */
static void progress_for(struct nt_pair *pair, double seconds)
{
    double until = nt_clock_s() + seconds;
    while (nt_clock_s() < until)
        ucp_worker_progress(pair->net->worker);
}

/* Waits without progress: messages that arrive are not read. On a shared core a spinning process
 * could delay the answer that it waits for, so it sleeps most of the time. Returns the seconds by
 * which it woke up too late, which do not belong to the hold. */
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

/* Sends a train of n messages. */
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

/* Returns whether the answer has arrived, so that only receiving it is left. */
static bool has_arrived(struct nt_pair *pair, ucs_status_ptr_t answer)
{
    for (int empty = 0; empty < EMPTY_POLLS && !nt_pair_request_done(answer);)
        if (ucp_worker_progress(pair->net->worker) == 0)
            empty++;
    return nt_pair_request_done(answer);
}

/* Sends a train and waits for its answer. time_s: the duration. With a hold the duration starts at
 * the end of the hold after the last send. NaN: the answer arrived after the hold, so that the
 * duration would include waiting for it. */
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
    struct batches batches = {0};
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
        return 0; /* the peer answers, but never before the end of the hold */
    for (size_t begin = 0, part = (n + 3) / 4; begin < n; begin += part)
        add_batch(&batches, pair->times + begin, n - begin < part ? n - begin : part);
    result->count = order->count;
    result->bytes = order->message_bytes;
    set_result(pair->times, n, &batches, 1e6, result);
    result->se_us = lowest_gap(&batches) * 1e6;
    return 0;
}

/* Posts the receives for the first messages of a train before it can start. */
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

/* ---- a flow: messages in a window, for a time, until the other end has them all ---- */
/* The rate is measured in the middle of the flow. At the start other hosts of the round may not
 * send yet, and at the end they may have finished, so these messages do not show the shared
 * rate. */
enum { WINDOW = 8, FLOW_MESSAGES_MAX = 100000000, STEADY_MIN = 6 };

/* The receiver acknowledges every quarter of a window. */
enum { ACKS_PER_WINDOW = 4 };
static const unsigned char ACK[1] = {1};

/* Share of the time, from the first arrival, that counts as the start. */
static const double START_SHARE = 0.15;
/* Largest share of the time that start and end may have cost. A larger share is an artifact of a
 * receiver that woke up late and found many messages. */
static const double ENDS_SHARE = 0.06;

/* The receiver's report at the end. */
struct flow_done {
    uint64_t received;
    double message_s; /* interval of arrivals in the middle of the flow in s; 0: too few arrivals */
};

/* Arrivals in the middle of the flow: sums for a line through their times, on which single late
 * arrivals have little effect. */
struct arrival_fit {
    double from_s, until_s; /* start and end of the middle; 0: no arrival yet */
    double n, t, k, tk,
        kk; /* n: number of arrivals; sums of times since from_s and of arrival numbers */
};

static void arrival_add(struct arrival_fit *s, double window_s)
{
    double now = nt_clock_s();
    if (s->until_s <= 0) {
        s->from_s = now + START_SHARE * window_s;
        s->until_s = now + window_s;
    }
    if (now < s->from_s || now > s->until_s)
        return;
    double t = now - s->from_s, k = s->n++;
    s->t += t;
    s->k += k;
    s->tk += t * k;
    s->kk += k * k;
}

static double arrival_interval_s(const struct arrival_fit *s)
{
    double spread = s->n * s->kk - s->k * s->k;
    return s->n < STEADY_MIN || !(spread > 0) ? 0 : (s->n * s->tk - s->t * s->k) / spread;
}

static size_t window(const struct nt_order *order)
{
    if (order->count == 0)
        return WINDOW;
    return order->count < PAIR_WINDOW_MAX ? order->count : PAIR_WINDOW_MAX;
}

static size_t messages_per_ack(const struct nt_order *order)
{
    return (window(order) + ACKS_PER_WINDOW - 1) / ACKS_PER_WINDOW;
}

static int send_ack(struct nt_pair *pair, double deadline_s, struct nt_err *err)
{
    return nt_pair_wait(pair, nt_pair_send(pair, TAG_FLOW_ACK, ACK, sizeof ACK), deadline_s, "flow",
                        err);
}

static int wait_ack(struct nt_pair *pair, double deadline_s, struct nt_err *err)
{
    ucs_status_ptr_t ack =
        nt_pair_receive(pair, TAG_FLOW_ACK, nt_pair_slot(pair, PAIR_WINDOW_MAX + 1), sizeof ACK);
    return nt_pair_wait(pair, ack, deadline_s, "flow", err);
}

static int wait_all(struct nt_pair *pair, ucs_status_ptr_t *request, size_t slots,
                    double deadline_s, struct nt_err *err)
{
    int rc = 0;
    for (size_t slot = 0; slot < slots; slot++)
        if (rc == 0)
            rc = nt_pair_wait(pair, request[slot], deadline_s, "flow", err);
        else
            nt_pair_cancel(pair, request[slot]);
    return rc;
}

/* Keeps a window of unacknowledged messages full until the time is over. Sockets would accept more
 * messages, but a slow link would take longer than a round to send them. */
static int send_stream(struct nt_pair *pair, const struct nt_order *order, double until_s,
                       double deadline_s, uint64_t *sent, struct nt_err *err)
{
    ucs_status_ptr_t request[PAIR_WINDOW_MAX] = {NULL};
    size_t bytes = nt_pair_message_bytes(order), slots = window(order),
           each = messages_per_ack(order);
    int rc = 0;
    *sent = 0;
    do {
        size_t slot = *sent % slots;
        rc = nt_pair_wait(pair, request[slot], deadline_s, "flow", err);
        request[slot] = NULL;
        if (rc == 0 && *sent >= slots && (*sent - slots) % each == 0)
            rc = wait_ack(pair, deadline_s, err);
        if (rc == 0) {
            request[slot] = nt_pair_send(pair, TAG_FLOW, nt_pair_slot(pair, slot), bytes);
            ++*sent;
        }
    } while (rc == 0 && nt_clock_s() < until_s && *sent < FLOW_MESSAGES_MAX);
    if (rc == 0)
        return wait_all(pair, request, slots, deadline_s, err);
    for (size_t slot = 0; slot < slots; slot++)
        nt_pair_cancel(pair, request[slot]);
    return rc;
}

/* Returns the number of acknowledgements that send_stream has waited for. */
static uint64_t acks_waited(const struct nt_order *order, uint64_t sent)
{
    size_t slots = window(order), each = messages_per_ack(order);
    return sent > slots ? (sent - slots + each - 1) / each : 0;
}

static int flow_send(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                     double deadline_s, struct nt_result *result, struct nt_err *err)
{
    double start = nt_clock_s(), until = start + order->window_s;
    uint64_t sent = 0;
    struct flow_done done_message;
    ucs_status_ptr_t done = nt_pair_receive(
        pair, TAG_FLOW_DONE, nt_pair_slot(pair, PAIR_WINDOW_MAX), sizeof done_message);
    if (send_stream(pair, order, until < soft_s ? until : soft_s, deadline_s, &sent, err) != 0) {
        nt_pair_cancel(pair, done);
        return -1;
    }
    memcpy(nt_pair_slot(pair, 0), &sent, sizeof sent);
    ucs_status_ptr_t end = nt_pair_send(pair, TAG_FLOW_END, nt_pair_slot(pair, 0), sizeof sent);
    if (nt_pair_wait(pair, end, deadline_s, "flow", err) != 0) {
        nt_pair_cancel(pair, done);
        return -1;
    }
    if (nt_pair_wait(pair, done, deadline_s, "flow's acknowledgement", err) != 0)
        return -1;
    double seconds = nt_clock_s() - start;
    for (uint64_t k = acks_waited(order, sent); k < sent / messages_per_ack(order); k++)
        if (wait_ack(pair, deadline_s, err) != 0)
            return -1;
    memcpy(&done_message, nt_pair_slot(pair, PAIR_WINDOW_MAX), sizeof done_message);
    if (done_message.received != sent)
        return nt_err_set(err, NT_ERR_SYSTEM, "flow: %llu of %llu messages arrived",
                          (unsigned long long)done_message.received, (unsigned long long)sent);
    result->ok = true;
    if (done_message.message_s > 0)
        seconds = fmax(done_message.message_s * (double)sent, (1 - ENDS_SHARE) * seconds);
    result->value_us = seconds * 1e6;
    result->bytes = (double)sent * (double)nt_pair_message_bytes(order);
    result->count = (uint32_t)sent;
    return 0;
}

/* Receives until the end message (the last request) and all messages that it announces have
 * arrived. */
static int receive_all(struct nt_pair *pair, const struct nt_order *order,
                       ucs_status_ptr_t request[PAIR_WINDOW_MAX + 1], double deadline_s,
                       struct flow_done *done, struct nt_err *err)
{
    size_t bytes = nt_pair_message_bytes(order), slots = window(order);
    struct arrival_fit steady = {0};
    uint64_t *received = &done->received;
    struct pair_idle idle = {0};
    uint64_t announced = UINT64_MAX;
    for (;;) {
        size_t slot = *received % slots;
        if (announced == UINT64_MAX && nt_pair_request_done(request[PAIR_WINDOW_MAX]))
            memcpy(&announced, nt_pair_slot(pair, PAIR_WINDOW_MAX), sizeof announced);
        if (*received >= announced) {
            done->message_s = arrival_interval_s(&steady);
            return 0;
        }
        if (nt_pair_request_done(request[slot])) {
            int rc = nt_pair_wait(pair, request[slot], deadline_s, "flow", err);
            request[slot] = NULL;
            if (rc != 0)
                return -1;
            arrival_add(&steady, order->window_s);
            ++*received;
            request[slot] = nt_pair_receive(pair, TAG_FLOW, nt_pair_slot(pair, slot), bytes);
            if (*received % messages_per_ack(order) == 0 && send_ack(pair, deadline_s, err) != 0)
                return -1;
            idle = (struct pair_idle){0};
        } else if (!nt_pair_step(pair, &idle, deadline_s)) {
            return nt_err_set(err, NT_ERR_SYSTEM,
                              "flow: the other messages did not arrive in time");
        } else if (pair->peer_failed != UCS_OK) {
            return nt_err_set(err, NT_ERR_SYSTEM, "flow: %s", ucs_status_string(pair->peer_failed));
        }
    }
}

static int flow_receive(struct nt_pair *pair, const struct nt_order *order, double deadline_s,
                        struct nt_err *err)
{
    ucs_status_ptr_t request[PAIR_WINDOW_MAX + 1] = {NULL};
    size_t slots = window(order);
    struct flow_done done = {0};
    request[PAIR_WINDOW_MAX] = nt_pair_receive(
        pair, TAG_FLOW_END, nt_pair_slot(pair, PAIR_WINDOW_MAX), sizeof done.received);
    for (size_t slot = 0; slot < slots; slot++)
        request[slot] =
            nt_pair_receive(pair, TAG_FLOW, nt_pair_slot(pair, slot), nt_pair_message_bytes(order));
    int rc = receive_all(pair, order, request, deadline_s, &done, err);
    for (size_t slot = 0; slot <= PAIR_WINDOW_MAX; slot++)
        nt_pair_cancel(pair, request[slot]);
    if (rc != 0)
        return -1;
    memcpy(nt_pair_slot(pair, 0), &done, sizeof done);
    return nt_pair_wait(pair, nt_pair_send(pair, TAG_FLOW_DONE, nt_pair_slot(pair, 0), sizeof done),
                        deadline_s, "flow's acknowledgement", err);
}

int nt_pair_run_order(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                      double deadline_s, struct nt_result *result, struct nt_err *err)
{
    bool first = pair->pairing.first;
    if (pair->peer == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "not connected");
    switch (order->kind) {
    case NT_ORDER_LATENCY:
        return first ? ping_initiate(pair, order, soft_s, deadline_s, result, err)
                     : ping_respond(pair, order, deadline_s, err);
    case NT_ORDER_BANDWIDTH:
        return first ? flow_send(pair, order, soft_s, deadline_s, result, err)
                     : flow_receive(pair, order, deadline_s, err);
    case NT_ORDER_PRTT:
        return first ? prtt_initiate(pair, order, soft_s, deadline_s, result, err)
                     : prtt_respond(pair, order, deadline_s, err);
    case NT_ORDER_KERNEL:
        break;
    }
    return nt_err_set(err, NT_ERR_INPUT, "order %d: unknown to this probe", (int)order->kind);
}
