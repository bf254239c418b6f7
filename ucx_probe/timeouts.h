/* SPDX-License-Identifier: Apache-2.0 */
/* Timeouts of a round, adapted to what earlier rounds took, and the moment when measuring stops so
 * that solving and publishing still fit. Pure; all times are points on one
 * clock or durations, in seconds. */
#ifndef NT_TIMEOUTS_H
#define NT_TIMEOUTS_H

#include <stdbool.h>

#include "wire.h"

struct nt_timeouts {
    double began_s, stop_s; /* measuring happens between these */
    unsigned rounds;
    double connect_s, measure_s; /* what the slowest of the recent rounds took */
};

/* Measuring stops where the campaign (nt_campaign_measuring_s) leaves the rest for solving. */
void nt_timeouts_init(struct nt_timeouts *timeouts, double now_s, double deadline_s);

/* How long to wait for the greetings. */
double nt_timeouts_greeting_s(const struct nt_timeouts *timeouts);

/* To read a file of the user's or the admin's: at first, when there is no other work. */
double nt_timeouts_file_s(const struct nt_timeouts *timeouts);

/* To connect in the next round. In a kernel each connects with many, and waits for all. */
double nt_timeouts_connect_s(const struct nt_timeouts *timeouts, const struct nt_order *order,
                             double now_s);

/* The limits of the measuring; round_trip_s: the longest of the pairs of the round. */
void nt_timeouts_measure(const struct nt_timeouts *timeouts, const struct nt_order *order,
                         double round_trip_s, double now_s, struct nt_go *go);

/* All limits of a round of turns, all of which like the order. A rank that was lost in it is found
 * after series_s. */
void nt_timeouts_series(const struct nt_timeouts *timeouts, const struct nt_order *order,
                        size_t turns, double now_s, struct nt_round *round);

/* Longer ones, for an indirect probe, which decides whether a host is lost; window_s: of the order
 * that failed before. */
struct nt_timeouts nt_timeouts_extended(const struct nt_timeouts *timeouts, double window_s);

/* The same for a round in which a suspect host takes part: its failure decides too. Where there is
 * time, the first message of a connection may get lost once. */
struct nt_timeouts nt_timeouts_patient(const struct nt_timeouts *timeouts, double window_s,
                                       double now_s);

/* How much longer than its limit a gather waits: relaying, and hosts that are busy. More where more
 * time is left. */
double nt_timeouts_slack_s(const struct nt_timeouts *timeouts, double now_s);

/* The longest of the hosts that succeeded; 0 when none did. connect_s of those that connected anew:
 * what a kept connection takes says nothing of a new one. */
void nt_timeouts_update(struct nt_timeouts *timeouts, double connect_s, double measure_s);

#endif
