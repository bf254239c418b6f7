/* Ping-pong, and PRTT (core/prtt.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pair_ucx.h"

enum { BATCHES_KEPT = 64 };

/* With a core of its own a batch lasts at least this long. */
static const double MIN_BATCH_S = 100e-6;

/* So often nothing new means that nothing has come. */
enum { EMPTY_LOOKS = 3 };

/* Awake again so long before a hold ends. */
static const double AWAKE_S = 200e-6;

/* The first byte of a message tells the answering end whether to expect another one. */
enum { LAST = 1, MORE = 2 };

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double nt_pair_quantile(double *values, size_t n, double q)
{
    qsort(values, n, sizeof *values, rising);
    double at = q * (double)(n - 1);
    size_t i = (size_t)at;
    return i + 1 < n ? values[i] + (at - (double)i) * (values[i + 1] - values[i]) : values[i];
}

static size_t message_bytes(const struct nt_order *order)
{
    return order->message_bytes < 1 ? 1 : (size_t)order->message_bytes;
}

/* ---- what the batches say ---- */
struct batches {
    size_t n;
    double low[BATCHES_KEPT]; /* of a round trip, s */
};

static void end_batch(struct batches *b, const double *times, size_t n)
{
    double sorted[512];
    n = n < 512 ? n : 512;
    if (n == 0 || b->n == BATCHES_KEPT)
        return;
    memcpy(sorted, times, n * sizeof *sorted);
    b->low[b->n++] = nt_pair_quantile(sorted, n, 0.1);
}

/* Standard error of the batches' mean. One batch knows nothing of its error: half its value. */
static double spread(const struct batches *b)
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

/* How well the lowest batches agree. What disturbs only ever adds, and on shared cores most turns
 * are disturbed: the others say nothing of the lowest ones. */
static double agreement(const struct batches *b)
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

/* scale: 1e6 / 2 for half a round trip in us. */
static void conclude(struct nt_pair *pair, size_t n, const struct batches *b, double scale,
                     struct nt_result *result)
{
    result->ok = true;
    result->value_us = nt_pair_quantile(pair->times, n, 0.1) * scale;
    result->median_us = nt_pair_quantile(pair->times, n, 0.5) * scale;
    result->se_us = spread(b) * scale;
}

/* ---- ping-pong ---- */
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

static int ask(struct nt_pair *pair, const struct nt_order *order, double soft_s, double deadline_s,
               struct nt_result *result, struct nt_err *err)
{
    struct batches batches = {0};
    size_t bytes = message_bytes(order), n = 0, begin = 0, batch = 0;
    double min_s = pair->spin_s > 0 ? MIN_BATCH_S : 0;
    double t = nt_clock_s(), began = t, trip = 0;
    for (bool more = true; more;) {
        /* this ping ends its batch? the clock is read once a ping: its cost is in the figure */
        bool full = n + 1 - begin >= order->count && t + trip - began >= min_s;
        more = t < soft_s && n + 1 < PAIR_TIMES_MAX && !(full && batch + 1 >= order->batches);
        if (ping_once(pair, bytes, more, deadline_s, err) != 0)
            return -1;
        double now = nt_clock_s();
        trip = pair->times[n++] = now - t;
        t = now;
        if (full || !more) {
            end_batch(&batches, pair->times + begin, n - begin);
            begin = n;
            batch++;
            began = t = nt_clock_s();
        }
    }
    result->count = (uint32_t)n;
    result->bytes = order->message_bytes;
    conclude(pair, n, &batches, 1e6 / 2, result);
    return 0;
}

static int answer(struct nt_pair *pair, const struct nt_order *order, double deadline_s,
                  struct nt_err *err)
{
    size_t bytes = message_bytes(order), k = 0;
    unsigned char *in[2] = {nt_pair_slot(pair, 0), nt_pair_slot(pair, 1)};
    unsigned char *out = nt_pair_slot(pair, 2);
    ucs_status_ptr_t ping = nt_pair_receive(pair, TAG_PING, in[k], bytes);
    for (bool more = true; more; k ^= 1) {
        if (nt_pair_wait(pair, ping, deadline_s, "pong", err) != 0)
            return -1;
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

int nt_pair_ping(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                 double deadline_s, struct nt_result *result, struct nt_err *err)
{
    return pair->meeting.first ? ask(pair, order, soft_s, deadline_s, result, err)
                               : answer(pair, order, deadline_s, err);
}

/* ---- PRTT(n, d, s) ---- */
/* Computes for d, as the method asks, but lets the network move: without progress nothing that
 * needs the CPU would leave the host during the delay. */
static void delay(struct nt_pair *pair, double seconds)
{
    double until = nt_clock_s() + seconds;
    while (nt_clock_s() < until)
        ucp_worker_progress(pair->net->worker);
}

/* Looks at nothing: what arrives meanwhile waits. On a shared core a spinning process keeps the
 * very answer away that it waits for, so most of the time it sleeps. Returns by how many seconds it
 * woke too late, which is no part of what was asked for. */
static double hold_still(const struct nt_pair *pair, double seconds)
{
    double now, until = nt_clock_s() + seconds;
    if (pair->spin_s <= 0 && seconds > AWAKE_S)
        nt_clock_sleep(seconds - AWAKE_S);
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
    size_t bytes = message_bytes(order), n = order->count < 1 ? 1 : order->count;
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        size_t slot = i % PAIR_WINDOW_MAX;
        unsigned char *out = nt_pair_slot(pair, slot);
        if (i > 0 && order->delay_us > 0)
            delay(pair, order->delay_us * 1e-6);
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
    for (int empty = 0; empty < EMPTY_LOOKS && !nt_pair_request_done(answer);)
        if (ucp_worker_progress(pair->net->worker) == 0)
            empty++;
    return nt_pair_request_done(answer);
}

/* A train and its answer; time_s: what it took. With a hold it counts from the end of the last
 * send, which the network may have taken the core for; NaN: the answer came after the hold, so that
 * the wait for it would pass for taking it in. */
static int ask_prtt_once(struct nt_pair *pair, const struct nt_order *order, bool more,
                         double deadline_s, double *time_s, struct nt_err *err)
{
    double began = nt_clock_s();
    ucs_status_ptr_t answer =
        nt_pair_receive(pair, TAG_PONG, nt_pair_slot(pair, PAIR_WINDOW_MAX), message_bytes(order));
    if (send_train(pair, order, more, deadline_s, err) != 0) {
        nt_pair_cancel(pair, answer);
        return -1;
    }
    bool arrived = true;
    if (order->hold_us > 0) {
        began = nt_clock_s();
        began += hold_still(pair, order->hold_us * 1e-6);
        arrived = has_arrived(pair, answer);
    }
    if (nt_pair_wait(pair, answer, deadline_s, "prtt", err) != 0)
        return -1;
    *time_s = arrived ? nt_clock_s() - began : NAN;
    return 0;
}

static int ask_prtt(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                    double deadline_s, struct nt_result *result, struct nt_err *err)
{
    struct batches batches = {0};
    size_t n = 0, tried = 0, turns = order->batches < 1 ? 1 : order->batches;
    for (bool more = true; more;) {
        double time;
        tried++;
        more =
            nt_clock_s() < soft_s && n + 1 < turns && tried < 2 * turns && n + 1 < PAIR_TIMES_MAX;
        if (ask_prtt_once(pair, order, more, deadline_s, &time, err) != 0)
            return -1;
        if (!isnan(time))
            pair->times[n++] = time;
    }
    result->ok = true;
    if (n == 0)
        return 0; /* the peer answers, only never by the end of the hold */
    for (size_t begin = 0, part = (n + 3) / 4; begin < n; begin += part)
        end_batch(&batches, pair->times + begin, n - begin < part ? n - begin : part);
    result->count = order->count;
    result->bytes = order->message_bytes;
    conclude(pair, n, &batches, 1e6, result);
    result->se_us = agreement(&batches) * 1e6;
    return 0;
}

/* Receives for the first messages of a train, posted before it can begin. */
static void expect_train(struct nt_pair *pair, const struct nt_order *order, size_t n,
                         ucs_status_ptr_t *request)
{
    for (size_t slot = 0; slot < PAIR_WINDOW_MAX; slot++)
        request[slot] = slot < n ? nt_pair_receive(pair, TAG_PING, nt_pair_slot(pair, slot),
                                                   message_bytes(order))
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
            request[slot] =
                nt_pair_receive(pair, TAG_PING, nt_pair_slot(pair, slot), message_bytes(order));
    }
    return 0;
}

static int answer_prtt(struct nt_pair *pair, const struct nt_order *order, double deadline_s,
                       struct nt_err *err)
{
    ucs_status_ptr_t request[PAIR_WINDOW_MAX] = {NULL};
    size_t n = order->count < 1 ? 1 : order->count;
    int rc = 0;
    expect_train(pair, order, n, request);
    for (bool more = true; more && rc == 0;) {
        rc = receive_train(pair, order, n, request, deadline_s, err);
        more = nt_pair_slot(pair, (n - 1) % PAIR_WINDOW_MAX)[0] == MORE;
        if (rc == 0 && more)
            expect_train(pair, order, n, request);
        if (rc == 0)
            rc = nt_pair_wait(pair,
                              nt_pair_send(pair, TAG_PONG, nt_pair_slot(pair, PAIR_WINDOW_MAX),
                                           message_bytes(order)),
                              deadline_s, "prtt", err);
    }
    for (size_t slot = 0; slot < PAIR_WINDOW_MAX; slot++)
        nt_pair_cancel(pair, request[slot]);
    return rc;
}

int nt_pair_prtt(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                 double deadline_s, struct nt_result *result, struct nt_err *err)
{
    return pair->meeting.first ? ask_prtt(pair, order, soft_s, deadline_s, result, err)
                               : answer_prtt(pair, order, deadline_s, err);
}
