/* SPDX-License-Identifier: Apache-2.0 */
/* Timeouts of a round, adapted to the durations of earlier rounds, and the time when measuring
 * stops, so that solving and publishing still fit. No clock: all times are points on one clock, or
 * durations, in seconds. */
#ifndef NT_TIMEOUTS_H
#define NT_TIMEOUTS_H

#include <stdbool.h>

#include "wire.h"

struct nt_timeouts {
    double began_s, stop_s; /* start and end of measuring */
    unsigned rounds;
    double connect_s, measure_s; /* durations in the slowest of the recent rounds */
};

/* Sets the end of measuring so that the rest of the time is left for solving
 * (nt_campaign_measuring_s). */
void nt_timeouts_init(struct nt_timeouts *timeouts, double now_s, double deadline_s);

/* Returns how long to wait for the greetings. */
double nt_timeouts_greeting_s(const struct nt_timeouts *timeouts);

/* Returns how long reading a file of the user or administrator may take, at the start, when there
 * is no other work. */
double nt_timeouts_file_s(const struct nt_timeouts *timeouts);

/* Returns the time limit for connecting in the next round. In a kernel each rank connects to many
 * others and waits for all. */
double nt_timeouts_connect_s(const struct nt_timeouts *timeouts, const struct nt_order *order,
                             double now_s);

/* Sets the limits of measuring in go. round_trip_s: the longest of the round's pairs. */
void nt_timeouts_measure(const struct nt_timeouts *timeouts, const struct nt_order *order,
                         double round_trip_s, double now_s, struct nt_go *go);

/* Sets all limits of a series of turns, each of which resembles the order. A rank that is lost
 * during the series is detected after series_s. */
void nt_timeouts_series(const struct nt_timeouts *timeouts, const struct nt_order *order,
                        size_t turns, double now_s, struct nt_round *round);

/* Returns longer timeouts, for an indirect probe, which decides whether a host is lost. window_s:
 * of the failed order. */
struct nt_timeouts nt_timeouts_extended(const struct nt_timeouts *timeouts, double window_s);

/* Returns longer timeouts for a round with a suspect host, whose failure would decide too. If there
 * is time, they allow the first message of a connection to be lost once. */
struct nt_timeouts nt_timeouts_patient(const struct nt_timeouts *timeouts, double window_s,
                                       double now_s);

/* Returns how much longer than its limit a gather waits, to allow for relaying and for busy hosts.
 * Longer if more time is left. */
double nt_timeouts_slack_s(const struct nt_timeouts *timeouts, double now_s);

/* Learns from a round: the longest durations among the hosts that succeeded; 0: none did.
 * connect_s: among new connections only, because kept ones take no time. */
void nt_timeouts_update(struct nt_timeouts *timeouts, double connect_s, double measure_s);

#endif
