/* A flow: messages in a window, for a time, until the other end has them all. */
#include <string.h>

#include "pair_ucx.h"

enum { WINDOW = 8, FLOW_MESSAGES_MAX = 100000000 };

static size_t message_bytes(const struct nt_order *order)
{
    return order->message_bytes < 1 ? 1 : (size_t)order->message_bytes;
}

static size_t window(const struct nt_order *order)
{
    if (order->count == 0)
        return WINDOW;
    return order->count < PAIR_WINDOW_MAX ? order->count : PAIR_WINDOW_MAX;
}

static int drain(struct nt_pair *pair, ucs_status_ptr_t *request, size_t slots, double deadline_s,
                 struct nt_err *err)
{
    int rc = 0;
    for (size_t slot = 0; slot < slots; slot++)
        if (rc == 0)
            rc = nt_pair_wait(pair, request[slot], deadline_s, "flow", err);
        else
            nt_pair_cancel(pair, request[slot]);
    return rc;
}

/* Keeps the window full until the time is over. */
static int stream(struct nt_pair *pair, const struct nt_order *order, double until_s,
                  double deadline_s, uint64_t *sent, struct nt_err *err)
{
    ucs_status_ptr_t request[PAIR_WINDOW_MAX] = {NULL};
    size_t bytes = message_bytes(order), slots = window(order);
    int rc = 0;
    *sent = 0;
    do {
        size_t slot = *sent % slots;
        rc = nt_pair_wait(pair, request[slot], deadline_s, "flow", err);
        request[slot] = NULL;
        if (rc == 0) {
            request[slot] = nt_pair_send(pair, TAG_FLOW, nt_pair_slot(pair, slot), bytes);
            ++*sent;
        }
    } while (rc == 0 && nt_clock_s() < until_s && *sent < FLOW_MESSAGES_MAX);
    if (rc == 0)
        return drain(pair, request, slots, deadline_s, err);
    for (size_t slot = 0; slot < slots; slot++)
        nt_pair_cancel(pair, request[slot]);
    return rc;
}

static int give(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                double deadline_s, struct nt_result *result, struct nt_err *err)
{
    double start = nt_clock_s(), until = start + order->window_s;
    uint64_t sent = 0, acknowledged = 0;
    ucs_status_ptr_t done =
        nt_pair_receive(pair, TAG_FLOW_DONE, nt_pair_slot(pair, PAIR_WINDOW_MAX), sizeof sent);
    if (stream(pair, order, until < soft_s ? until : soft_s, deadline_s, &sent, err) != 0) {
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
    memcpy(&acknowledged, nt_pair_slot(pair, PAIR_WINDOW_MAX), sizeof acknowledged);
    if (acknowledged != sent)
        return nt_err_set(err, NT_ERR_SYSTEM, "flow: %llu of %llu messages came",
                          (unsigned long long)acknowledged, (unsigned long long)sent);
    result->ok = true;
    result->value_us = seconds * 1e6;
    result->bytes = (double)sent * (double)message_bytes(order);
    result->count = (uint32_t)sent;
    return 0;
}

/* Receives until the end has come and all that it announces. */
static int swallow(struct nt_pair *pair, const struct nt_order *order, ucs_status_ptr_t *request,
                   ucs_status_ptr_t end, double deadline_s, uint64_t *received, struct nt_err *err)
{
    size_t bytes = message_bytes(order), slots = window(order);
    struct pair_idle idle = {0};
    uint64_t announced = UINT64_MAX;
    for (;;) {
        size_t slot = *received % slots;
        if (announced == UINT64_MAX && nt_pair_request_done(end))
            memcpy(&announced, nt_pair_slot(pair, PAIR_WINDOW_MAX), sizeof announced);
        if (*received >= announced)
            return 0;
        if (nt_pair_request_done(request[slot])) {
            int rc = nt_pair_wait(pair, request[slot], deadline_s, "flow", err);
            request[slot] = NULL;
            if (rc != 0)
                return -1;
            ++*received;
            request[slot] = nt_pair_receive(pair, TAG_FLOW, nt_pair_slot(pair, slot), bytes);
            idle = (struct pair_idle){0};
        } else if (!nt_pair_step(pair, &idle, deadline_s)) {
            return nt_err_set(err, NT_ERR_SYSTEM, "flow: no more in time");
        } else if (pair->peer_died != UCS_OK) {
            return nt_err_set(err, NT_ERR_SYSTEM, "flow: %s", ucs_status_string(pair->peer_died));
        }
    }
}

static int take(struct nt_pair *pair, const struct nt_order *order, double deadline_s,
                struct nt_err *err)
{
    ucs_status_ptr_t request[PAIR_WINDOW_MAX] = {NULL};
    size_t slots = window(order);
    uint64_t received = 0;
    ucs_status_ptr_t end =
        nt_pair_receive(pair, TAG_FLOW_END, nt_pair_slot(pair, PAIR_WINDOW_MAX), sizeof received);
    for (size_t slot = 0; slot < slots; slot++)
        request[slot] =
            nt_pair_receive(pair, TAG_FLOW, nt_pair_slot(pair, slot), message_bytes(order));
    int rc = swallow(pair, order, request, end, deadline_s, &received, err);
    for (size_t slot = 0; slot < slots; slot++)
        nt_pair_cancel(pair, request[slot]);
    nt_pair_cancel(pair, end);
    if (rc != 0)
        return -1;
    memcpy(nt_pair_slot(pair, 0), &received, sizeof received);
    return nt_pair_wait(pair,
                        nt_pair_send(pair, TAG_FLOW_DONE, nt_pair_slot(pair, 0), sizeof received),
                        deadline_s, "flow's acknowledgement", err);
}

int nt_pair_flow(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                 double deadline_s, struct nt_result *result, struct nt_err *err)
{
    return pair->meeting.first ? give(pair, order, soft_s, deadline_s, result, err)
                               : take(pair, order, deadline_s, err);
}
