#include "pace.h"

#include <math.h>

static const double RESERVE_SHARE = 0.15, RESERVE_MIN_S = 0.1;
static const double LIMIT_MIN_S = 0.15, LIMIT_MAX_S = 2, SLACK_S = 0.25;

static double clamp(double v, double low, double high)
{
    return v < low ? low : v > high ? high : v;
}

void nt_pace_init(struct nt_pace *pace, double now_s, double deadline_s)
{
    double reserve = fmax((deadline_s - now_s) * RESERVE_SHARE, RESERVE_MIN_S);
    *pace = (struct nt_pace){.began_s = now_s, .stop_s = deadline_s - reserve};
}

double nt_pace_meet_s(const struct nt_pace *pace)
{
    return clamp((pace->stop_s - pace->began_s) / 4, 0.01, 1);
}

bool nt_pace_fits(const struct nt_pace *pace, double now_s, double window_s)
{
    return now_s + 1.2 * pace->round_s + window_s < pace->stop_s;
}

void nt_pace_limit(const struct nt_pace *pace, double now_s, struct nt_round *round)
{
    double left = fmax(pace->stop_s - now_s, 0.01), window = round->order.window_s;
    /* nothing is known of this network yet: generous, but never most of the time */
    double warm = clamp(left / 4, 0.01, 1), measure = clamp(left / 3, 0.01, LIMIT_MAX_S);
    if (pace->rounds > 0) {
        warm = clamp(8 * pace->warm_s, LIMIT_MIN_S, 1);
        measure = clamp(4 * pace->measure_s, LIMIT_MIN_S, LIMIT_MAX_S);
    }
    round->warm_s = fmin(warm, left);
    round->measure_s = fmin(window + measure, left);
    round->give_up_s = fmin(window + 1.5 * measure + 0.05, left);
}

double nt_pace_slack_s(void)
{
    return SLACK_S;
}

/* The slowest round fades, so that one bad moment does not set the pace for ever. */
static double follow(double seen, double now)
{
    return fmax(now, 0.9 * seen);
}

void nt_pace_learn(struct nt_pace *pace, double warm_s, double measure_s, double round_s)
{
    if (!(warm_s > 0) || !(measure_s > 0))
        return; /* a round in which nobody succeeded teaches nothing */
    pace->rounds++;
    pace->warm_s = follow(pace->warm_s, warm_s);
    pace->measure_s = follow(pace->measure_s, measure_s);
    pace->round_s = follow(pace->round_s, round_s);
}
