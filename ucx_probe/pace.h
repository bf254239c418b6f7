/* How the time is spent: limits for a round from what earlier rounds took, and the moment when
 * measuring stops so that solving and publishing still fit. Pure; all times are points on one
 * clock or durations, in seconds. */
#ifndef NT_PACE_H
#define NT_PACE_H

#include <stdbool.h>

#include "wire.h"

struct nt_pace {
    double began_s, stop_s; /* measuring happens between these */
    unsigned rounds;
    double warm_s, measure_s; /* what the slowest of the recent rounds took */
};

/* Measuring stops when the campaign says that the rest is for solving. */
void nt_pace_init(struct nt_pace *pace, double now_s, double deadline_s);

/* How long to wait for the first piece of everybody. */
double nt_pace_meet_s(const struct nt_pace *pace);

/* To connect in the next round. Those of a kernel connect with many, and wait for all. */
double nt_pace_warm_s(const struct nt_pace *pace, const struct nt_order *order, double now_s);

/* The limits of the measuring; round_trip_s: the longest of the pairs of the round. */
void nt_pace_limit(const struct nt_pace *pace, const struct nt_order *order, double round_trip_s,
                   double now_s, struct nt_go *go);

/* The same with patience, for a round that decides whether a host is lost; window_s: of the order
 * that failed before. */
struct nt_pace nt_pace_patient(const struct nt_pace *pace, double window_s);

/* How much longer than its limit a gather waits: relaying, and hosts that are busy. More where more
 * time is left. */
double nt_pace_slack_s(const struct nt_pace *pace, double now_s);

/* The longest of the hosts that succeeded; 0 when none did. */
void nt_pace_learn(struct nt_pace *pace, double warm_s, double measure_s);

#endif
