/* SPDX-License-Identifier: Apache-2.0 */
#include "timeouts.h"

#include <math.h>

#include "campaign.h"

static const double LIMIT_MIN_S = 0.15, LIMIT_MAX_S = 2;

/* Time for relaying and for busy hosts. A later host is lost, so the slack is longer if there is
 * time. */
static const double SLACK_SHARE = 0.15, SLACK_MIN_S = 0.25, SLACK_MAX_S = 1.25;

/* Factors of limits over the durations of rounds so far. */
static const double CONNECT_FACTOR = 8, CONNECT_MAX_S = 1.4, LIMIT_FACTOR = 4, SERIES_FACTOR = 2;

/* If flows share a link, messages are lost, and TCP retransmits after 0.2 s at first (Linux's
 * minimum) and after twice as long each further time (RFC 6298, section 5.5). Data in flight is
 * sent at a share of the rate that the messages were sized for. */
static const double FLOW_S = 0.6, FLOW_WINDOWS = 1;

/* A kernel is as slow as its slowest host, whose core may be taken by another process for a while.
 * The durations of pairs do not predict this. */
static const double KERNEL_S = 0.9, KERNEL_HOST_S = 0.02;

/* A measurement that decides whether a host is lost may take as long as another process keeps a
 * core, or as a retransmission takes on a healthy host. In addition, unfinished messages of the
 * previous order may still be in its links. */
static const double EXTENDED_S = 0.5;

static double clamp(double v, double low, double high)
{
    return v < low ? low : v > high ? high : v;
}

/* A lost SYN is retransmitted after a second (RFC 6298, section 2.1). PATIENT_SHARE: the largest
 * share of the remaining time for it. */
static const double SYN_AGAIN_S = 1.4, PATIENT_SHARE = 0.125;

void nt_timeouts_init(struct nt_timeouts *timeouts, double now_s, double deadline_s)
{
    *timeouts = (struct nt_timeouts){.began_s = now_s,
                                     .stop_s = now_s + nt_campaign_measuring_s(deadline_s - now_s)};
}

static double quarter_s(const struct nt_timeouts *timeouts, double most_s)
{
    return clamp((timeouts->stop_s - timeouts->began_s) / 4, 0.01, most_s);
}

double nt_timeouts_greeting_s(const struct nt_timeouts *timeouts)
{
    return quarter_s(timeouts, 1);
}

double nt_timeouts_file_s(const struct nt_timeouts *timeouts)
{
    return quarter_s(timeouts, 5);
}

static double left_s(const struct nt_timeouts *timeouts, double now_s)
{
    return fmax(timeouts->stop_s - now_s, 0.01);
}

static double kernel_s(const struct nt_order *order)
{
    return KERNEL_S + KERNEL_HOST_S * (double)order->pairs;
}

static double minimum_s(const struct nt_order *order)
{
    switch (order->kind) {
    case NT_ORDER_KERNEL:
        return kernel_s(order);
    case NT_ORDER_BANDWIDTH:
        return FLOW_S + FLOW_WINDOWS * order->window_s;
    case NT_ORDER_LATENCY:
    case NT_ORDER_PRTT:
        break;
    }
    return LIMIT_MIN_S;
}

double nt_timeouts_connect_s(const struct nt_timeouts *timeouts, const struct nt_order *order,
                             double now_s)
{
    double left = left_s(timeouts, now_s);
    /* without earlier rounds: generous, but never most of the time */
    double connect = timeouts->rounds == 0
                         ? clamp(left / 3, 0.01, 1)
                         : clamp(CONNECT_FACTOR * timeouts->connect_s, LIMIT_MIN_S, CONNECT_MAX_S);
    return fmin(order->kind == NT_ORDER_KERNEL ? fmax(connect, kernel_s(order)) : connect, left);
}

/* Returns the duration of an order if each message takes the measured round trip. */
static double expected_s(const struct nt_order *order, double round_trip_s)
{
    double messages = (double)order->batches * order->count;
    switch (order->kind) {
    case NT_ORDER_LATENCY:
        return messages * round_trip_s;
    case NT_ORDER_PRTT:
        return messages * (round_trip_s + order->delay_us * 1e-6);
    case NT_ORDER_BANDWIDTH:
    case NT_ORDER_KERNEL:
        break;
    }
    return 16 * round_trip_s;
}

void nt_timeouts_measure(const struct nt_timeouts *timeouts, const struct nt_order *order,
                         double round_trip_s, double now_s, struct nt_go *go)
{
    double expected =
        fmax(2 * expected_s(order, round_trip_s), timeouts->measure_s - order->window_s);
    double left = left_s(timeouts, now_s);
    double limit = fmax(clamp(LIMIT_FACTOR * expected, LIMIT_MIN_S, LIMIT_MAX_S), minimum_s(order));
    go->measure_s = fmin(order->window_s + limit, left);
    go->give_up_s = fmin(order->window_s + 1.5 * limit, left);
}

void nt_timeouts_series(const struct nt_timeouts *timeouts, const struct nt_order *order,
                        size_t turns, double now_s, struct nt_round *round)
{
    struct nt_go go;
    double usual = (double)turns * (timeouts->connect_s + timeouts->measure_s);
    nt_timeouts_measure(timeouts, order, 0, now_s, &go);
    round->connect_s = nt_timeouts_connect_s(timeouts, order, now_s);
    round->measure_s = go.measure_s;
    round->give_up_s = go.give_up_s;
    round->series_s = fmin(fmax(SERIES_FACTOR * usual, round->connect_s + round->give_up_s),
                           left_s(timeouts, now_s));
}

struct nt_timeouts nt_timeouts_extended(const struct nt_timeouts *timeouts, double window_s)
{
    struct nt_timeouts extended = *timeouts;
    double limit = EXTENDED_S + window_s;
    extended.connect_s = fmax(timeouts->connect_s, limit / CONNECT_FACTOR);
    extended.measure_s = fmax(timeouts->measure_s, limit / LIMIT_FACTOR);
    return extended;
}

struct nt_timeouts nt_timeouts_patient(const struct nt_timeouts *timeouts, double window_s,
                                       double now_s)
{
    struct nt_timeouts patient = nt_timeouts_extended(timeouts, window_s);
    double again = fmin(SYN_AGAIN_S, PATIENT_SHARE * left_s(timeouts, now_s));
    patient.connect_s = fmax(patient.connect_s, again / CONNECT_FACTOR);
    return patient;
}

double nt_timeouts_slack_s(const struct nt_timeouts *timeouts, double now_s)
{
    return clamp(SLACK_SHARE * left_s(timeouts, now_s), SLACK_MIN_S, SLACK_MAX_S);
}

/* The weight of the slowest round decreases, so that one disturbed round does not lengthen the
 * timeouts forever. */
static double decaying_max(double seen, double now)
{
    return fmax(now, 0.9 * seen);
}

void nt_timeouts_update(struct nt_timeouts *timeouts, double connect_s, double measure_s)
{
    if (!(measure_s > 0))
        return; /* no pair succeeded, so there is no duration */
    timeouts->rounds++;
    if (connect_s > 0) /* there were new connections */
        timeouts->connect_s = decaying_max(timeouts->connect_s, connect_s);
    timeouts->measure_s = decaying_max(timeouts->measure_s, measure_s);
}
