/* SPDX-License-Identifier: Apache-2.0 */
#include "pair_flow.h"

#include <math.h>
#include <string.h>

#include "clock.h"

enum { WINDOW = 8, FLOW_MESSAGES_MAX = 100000000, STEADY_MIN = 6 };

/* The receiver acknowledges every quarter of a window. */
enum { ACKS_A_WINDOW = 4 };
static const unsigned char ACK[1] = {1};

/* Share of the time, from the first arrival, that counts as the start. */
static const double START_SHARE = 0.15;
/* What start and end may have cost at most; more only seems so, when the receiver woke up late
 * and saw many arrivals at once. */
static const double ENDS_SHARE = 0.06;

/* What the receiver says at the end. */
struct flow_done {
    uint64_t received;
    double message_s; /* between two arrivals in mid-flow; 0: too few to tell */
};

/* Arrivals in mid-flow: sums for a line through their times, which single late ones hardly move. */
struct arrival_fit {
    double from_s, until_s; /* 0: nothing has come */
    double n, t, k, tk, kk; /* times since from_s, numbers since the first */
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

static size_t messages_an_ack(const struct nt_order *order)
{
    return (window(order) + ACKS_A_WINDOW - 1) / ACKS_A_WINDOW;
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

/* Keeps the window full until the time is over: so many messages are not acknowledged. Sockets
 * would take more, and on slow links what they hold takes longer to drain than a round measures. */
static int send_stream(struct nt_pair *pair, const struct nt_order *order, double until_s,
                       double deadline_s, uint64_t *sent, struct nt_err *err)
{
    ucs_status_ptr_t request[PAIR_WINDOW_MAX] = {NULL};
    size_t bytes = nt_pair_message_bytes(order), slots = window(order),
           each = messages_an_ack(order);
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

/* How many send_stream has waited for. */
static uint64_t acks_waited(const struct nt_order *order, uint64_t sent)
{
    size_t slots = window(order), each = messages_an_ack(order);
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
    for (uint64_t k = acks_waited(order, sent); k < sent / messages_an_ack(order); k++)
        if (wait_ack(pair, deadline_s, err) != 0)
            return -1;
    memcpy(&done_message, nt_pair_slot(pair, PAIR_WINDOW_MAX), sizeof done_message);
    if (done_message.received != sent)
        return nt_err_set(err, NT_ERR_SYSTEM, "flow: %llu of %llu messages came",
                          (unsigned long long)done_message.received, (unsigned long long)sent);
    result->ok = true;
    if (done_message.message_s > 0)
        seconds = fmax(done_message.message_s * (double)sent, (1 - ENDS_SHARE) * seconds);
    result->value_us = seconds * 1e6;
    result->bytes = (double)sent * (double)nt_pair_message_bytes(order);
    result->count = (uint32_t)sent;
    return 0;
}

/* Receives until the end has come and all that it announces. */
static int receive_all(struct nt_pair *pair, const struct nt_order *order,
                       ucs_status_ptr_t *request, ucs_status_ptr_t end, double deadline_s,
                       struct flow_done *done, struct nt_err *err)
{
    size_t bytes = nt_pair_message_bytes(order), slots = window(order);
    struct arrival_fit steady = {0};
    uint64_t *received = &done->received;
    struct pair_idle idle = {0};
    uint64_t announced = UINT64_MAX;
    for (;;) {
        size_t slot = *received % slots;
        if (announced == UINT64_MAX && nt_pair_request_done(end))
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
            if (*received % messages_an_ack(order) == 0 && send_ack(pair, deadline_s, err) != 0)
                return -1;
            idle = (struct pair_idle){0};
        } else if (!nt_pair_step(pair, &idle, deadline_s)) {
            return nt_err_set(err, NT_ERR_SYSTEM, "flow: no more in time");
        } else if (pair->peer_failed != UCS_OK) {
            return nt_err_set(err, NT_ERR_SYSTEM, "flow: %s", ucs_status_string(pair->peer_failed));
        }
    }
}

static int flow_receive(struct nt_pair *pair, const struct nt_order *order, double deadline_s,
                        struct nt_err *err)
{
    ucs_status_ptr_t request[PAIR_WINDOW_MAX] = {NULL};
    size_t slots = window(order);
    struct flow_done done = {0};
    ucs_status_ptr_t end = nt_pair_receive(pair, TAG_FLOW_END, nt_pair_slot(pair, PAIR_WINDOW_MAX),
                                           sizeof done.received);
    for (size_t slot = 0; slot < slots; slot++)
        request[slot] =
            nt_pair_receive(pair, TAG_FLOW, nt_pair_slot(pair, slot), nt_pair_message_bytes(order));
    int rc = receive_all(pair, order, request, end, deadline_s, &done, err);
    for (size_t slot = 0; slot < slots; slot++)
        nt_pair_cancel(pair, request[slot]);
    nt_pair_cancel(pair, end);
    if (rc != 0)
        return -1;
    memcpy(nt_pair_slot(pair, 0), &done, sizeof done);
    return nt_pair_wait(pair, nt_pair_send(pair, TAG_FLOW_DONE, nt_pair_slot(pair, 0), sizeof done),
                        deadline_s, "flow's acknowledgement", err);
}

int nt_pair_flow(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                 double deadline_s, struct nt_result *result, struct nt_err *err)
{
    return pair->pairing.first ? flow_send(pair, order, soft_s, deadline_s, result, err)
                               : flow_receive(pair, order, deadline_s, err);
}
