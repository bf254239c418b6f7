/* SPDX-License-Identifier: Apache-2.0 */
#include "rails.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "loggp_time.h"

static const double LEAST_BYTES = 8, MOST_BYTES = 4 << 20;
/* A division with a lower gain is not worth its additional messages. */
static const double WORTH = 1.1;

static double time_us(const struct nt_rail *rail, double bytes)
{
    return nt_loggp_time_us(rail->regime, rail->regimes, bytes);
}

static double gap_us(const struct nt_rail *rail, double bytes)
{
    return nt_loggp_gap_us(rail->regime, rail->regimes, bytes);
}

static const struct nt_loggp *rail_regime(const struct nt_rail *rail, double bytes)
{
    return &rail->regime[nt_loggp_regime(rail->regime, rail->regimes, bytes)];
}

static double known_or_zero(double value)
{
    return isnan(value) ? 0 : value;
}

/* ---- the scheduler ---- */
/* Returns o + L + o, the part of a message's time that does not depend on its size. */
static double level_us(const struct nt_rail *rail, double bytes)
{
    return time_us(rail, bytes) - (bytes - 1) * rail_regime(rail, bytes)->G_us_per_byte;
}

/* A sender's state for one receiver. */
struct receiver {
    size_t last;               /* last rail; rails: none yet */
    double row;                /* number of consecutive messages over it */
    double fair[NT_RAILS_MAX]; /* virtual finishing time of the next message */
};

struct schedule {
    const struct nt_rail *rail;
    size_t rails;
    double weight[NT_RAILS_MAX];
    double finish[NT_RAILS_MAX], now; /* for all receivers */
    struct receiver receiver[NT_RAIL_HOSTS_MAX];
};

static void schedule_init(struct schedule *s, const struct nt_rail *rail, size_t rails)
{
    double all = 0;
    *s = (struct schedule){.rail = rail, .rails = rails};
    for (size_t i = 0; i < rails; i++) {
        const struct nt_loggp *g = &rail[i].regime[rail[i].regimes - 1];
        double us = isnan(g->gap_us_per_byte) ? g->G_us_per_byte : g->gap_us_per_byte;
        s->weight[i] = 1 / fmax(us, 1e-9);
        all += s->weight[i];
    }
    for (size_t k = 0; k < NT_RAIL_HOSTS_MAX; k++) {
        s->receiver[k].last = rails;
        for (size_t i = 0; i < rails; i++)
            s->receiver[k].fair[i] = all / s->weight[i];
    }
}

static bool reaches(const struct nt_rail_message *m, size_t i)
{
    return m->over == 0 || (m->over >> i & 1) != 0;
}

/* Returns the number of consecutive messages: the weight divided by the lowest weight of the rails
 * that reach the receiver. */
static double row_of(const struct schedule *s, const struct nt_rail_message *m, size_t i)
{
    double least = INFINITY;
    for (size_t k = 0; k < s->rails; k++)
        if (reaches(m, k))
            least = fmin(least, s->weight[k]);
    return round(s->weight[i] / least);
}

static size_t choose_in_turn(struct schedule *s, const struct nt_rail_message *m, bool weighted)
{
    struct receiver *r = &s->receiver[m->to];
    if (r->last == s->rails || !weighted || r->row >= row_of(s, m, r->last)) {
        size_t next = r->last == s->rails ? 0 : r->last + 1;
        while (!reaches(m, next % s->rails))
            next++;
        r->last = next % s->rails;
        r->row = 0;
    }
    r->row++;
    return r->last;
}

/* Returns the key whose minimum selects the rail: the virtual finishing time, or the arrival of the
 * message. */
static double rank_of(const struct schedule *s, const struct nt_rail_message *m, size_t i,
                      enum nt_rail_policy policy)
{
    double begins = fmax(s->finish[i], s->now);
    if (policy == NT_RAILS_FAIR)
        return s->receiver[m->to].fair[i];
    return begins + (policy == NT_RAILS_VFT ? level_us(&s->rail[i], m->bytes)
                                            : time_us(&s->rail[i], m->bytes));
}

static size_t choose_rail(struct schedule *s, const struct nt_rail_message *m,
                          enum nt_rail_policy policy)
{
    size_t best = 0;
    double least = INFINITY, all = 0;
    if (policy == NT_RAILS_ROUND_ROBIN || policy == NT_RAILS_WEIGHTED_ROBIN)
        return choose_in_turn(s, m, policy == NT_RAILS_WEIGHTED_ROBIN);
    for (size_t i = 0; i < s->rails; i++) {
        all += s->weight[i];
        if (!reaches(m, i) || rank_of(s, m, i, policy) >= least)
            continue;
        least = rank_of(s, m, i, policy);
        best = i;
    }
    s->receiver[m->to].fair[best] += all / s->weight[best];
    return best;
}

/* Returns the overhead of sending; if not known, the gap, its maximum, because a lower value would
 * invent savings. */
static double sending_us(const struct nt_loggp *g)
{
    return isnan(g->o_send_us) ? known_or_zero(g->g_us) : g->o_send_us;
}

double nt_rails_simulate(const struct nt_rail *rail, size_t rails,
                         const struct nt_rail_message *message, size_t n,
                         enum nt_rail_policy policy, double *carried)
{
    struct schedule s;
    double last = 0;
    schedule_init(&s, rail, rails);
    for (size_t i = 0; carried != NULL && i < rails; i++)
        carried[i] = 0;
    for (size_t k = 0; k < n; k++) {
        double bytes = message[k].bytes;
        size_t i = choose_rail(&s, &message[k], policy);
        double begins = fmax(s.finish[i], s.now);
        last = fmax(last, begins + time_us(&rail[i], bytes));
        double gap = gap_us(&rail[i], bytes);
        if (isnan(gap))
            return (double)NAN;
        s.finish[i] = begins + gap;
        s.now += sending_us(rail_regime(&rail[i], bytes));
        if (carried != NULL)
            carried[i] += bytes;
    }
    return last;
}

/* ---- dividing one message ---- */
/* Returns the maximum bytes that arrive within the time. Times increase with sizes except at the
 * start of a new regime, where the smaller answer is safe. */
static double fitting_bytes(const struct nt_rail *rail, double within_us, double most)
{
    double low = 0, high = most;
    if (time_us(rail, 1) > within_us)
        return 0;
    if (time_us(rail, most) <= within_us)
        return most;
    while (high - low > 0.5) {
        double mid = (low + high) / 2;
        if (time_us(rail, mid) <= within_us)
            low = mid;
        else
            high = mid;
    }
    return low;
}

static double fitting_all(const struct nt_rail *rail, size_t rails, double within_us, double most,
                          double *part)
{
    double sum = 0;
    for (size_t i = 0; i < rails; i++)
        sum += part[i] = fitting_bytes(&rail[i], within_us, most);
    return sum;
}

static size_t best_alone(const struct nt_rail *rail, size_t rails, double bytes)
{
    size_t best = 0;
    for (size_t i = 1; i < rails; i++)
        if (time_us(&rail[i], bytes) < time_us(&rail[best], bytes))
            best = i;
    return best;
}

double nt_rails_split(const struct nt_rail *rail, size_t rails, double bytes, double *part)
{
    double low = 0, high = time_us(&rail[best_alone(rail, rails, bytes)], bytes);
    while (high - low > 1e-6 * high) {
        double mid = (low + high) / 2;
        if (fitting_all(rail, rails, mid, bytes, part) >= bytes)
            high = mid;
        else
            low = mid;
    }
    double sum = fitting_all(rail, rails, high, bytes, part);
    for (size_t i = 0; i < rails && sum > 0; i++)
        part[i] *= bytes / sum;
    return high;
}

double nt_rails_by_bandwidth(const struct nt_rail *rail, size_t rails, double bytes)
{
    struct schedule s;
    double all = 0, last = 0;
    schedule_init(&s, rail, rails);
    for (size_t i = 0; i < rails; i++)
        all += s.weight[i];
    for (size_t i = 0; i < rails; i++)
        last = fmax(last, time_us(&rail[i], bytes * s.weight[i] / all));
    return last;
}

/* ---- advice ---- */
static void choose_for(const struct nt_rail *rail, size_t rails, double bytes,
                       struct nt_rail_range *out)
{
    double part[NT_RAILS_MAX];
    *out = (struct nt_rail_range){.rail = best_alone(rail, rails, bytes)};
    double alone = time_us(&rail[out->rail], bytes);
    out->gain = alone / nt_rails_split(rail, rails, bytes, part);
    out->split = out->gain >= WORTH;
    for (size_t i = 0; i < rails; i++)
        out->share[i] = out->split ? part[i] / bytes : i == out->rail;
}

static double even_us(const struct nt_rail *rail, size_t rails, double bytes)
{
    double time = 0;
    for (size_t i = 0; i < rails; i++)
        time = fmax(time, time_us(&rail[i], bytes / (double)rails));
    return time;
}

int nt_rails_advise(const struct nt_rail *rail, size_t rails, const struct nt_rail *together,
                    struct nt_rail_advice *out, struct nt_err *err)
{
    if (rails == 0 || rails > NT_RAILS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "%zu rails: expected 1 to %d", rails,
                          (int)NT_RAILS_MAX);
    struct nt_rail_advice made = {0};
    double most = MOST_BYTES;
    for (size_t i = 0; i < rails; i++)
        most = fmax(LEAST_BYTES, fmin(most, rail[i].regime[rail[i].regimes - 1].max_bytes));
    for (double s = LEAST_BYTES; s <= most; s *= 2) {
        struct nt_rail_range now, *last = made.ranges > 0 ? &made.range[made.ranges - 1] : NULL;
        choose_for(rail, rails, s, &now);
        if (last == NULL || ((last->split != now.split || last->rail != now.rail) &&
                             made.ranges < NT_RAIL_RANGES_MAX)) {
            now.min_bytes = last == NULL ? 1 : last->max_bytes + 1;
            made.range[made.ranges++] = now;
            last = &made.range[made.ranges - 1];
        }
        now.min_bytes = last->min_bytes;
        now.max_bytes = s;
        *last = now;
    }
    made.best = best_alone(rail, rails, most);
    double best = time_us(&rail[made.best], most);
    made.loses = even_us(rail, rails, most) / best;
    double all =
        together != NULL && together->regimes > 0 ? time_us(together, most) : made.loses * best;
    made.together = rails > 1 && best / all >= WORTH;
    *out = made;
    return 0;
}

/* ---- from a map ---- */
size_t nt_rails_from_map(const struct nt_map *map, const char *class_name, struct nt_rail *rail,
                         struct nt_rail *together)
{
    size_t rails = 0;
    *together = (struct nt_rail){0};
    for (size_t k = 0; k < map->loggps;) {
        const struct nt_loggp *g = &map->loggp[k];
        size_t n = 1;
        while (k + n < map->loggps && strcmp(g[n].class_name, g->class_name) == 0 &&
               strcmp(g[n].rail, g->rail) == 0)
            n++;
        k += n;
        struct nt_rail found = {g->rail, g, n};
        if (strcmp(g->class_name, class_name) != 0 || g->rail[0] == '\0')
            continue;
        if (strcmp(g->rail, NT_LOGGP_ALL_RAILS) == 0)
            *together = found;
        else if (rails < NT_RAILS_MAX)
            rail[rails++] = found;
    }
    return rails;
}

static void put_devices(const struct nt_rail *rail, size_t rails,
                        const struct nt_rail_advice *advice, char devices[NT_RAILS_DEVICES_BYTES])
{
    size_t used = 0;
    for (size_t i = 0; i < rails; i++)
        if (advice->together || i == advice->best)
            used += (size_t)snprintf(devices + used, NT_RAILS_DEVICES_BYTES - used, "%s%.63s",
                                     used > 0 ? "," : "", rail[i].name);
}

/* Characters that are safe in shells and in the plugin. */
static const char SAFE[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-:,";

size_t nt_rails_devices(const struct nt_map *map, char devices[NT_RAILS_DEVICES_BYTES])
{
    char last[NT_RAILS_DEVICES_BYTES];
    size_t count = 0;
    devices[0] = '\0';
    for (size_t k = 0; k < map->loggps; k++) {
        struct nt_rail rail[NT_RAILS_MAX], together;
        struct nt_rail_advice advice;
        size_t rails = nt_rails_from_map(map, map->loggp[k].class_name, rail, &together);
        if (rails < 2 || nt_rails_advise(rail, rails, &together, &advice, NULL) != 0)
            continue;
        put_devices(rail, rails, &advice, last);
        if ((devices[0] != '\0' && strcmp(devices, last) != 0) ||
            last[strspn(last, SAFE)] != '\0') {
            devices[0] = '\0';
            return 0;
        }
        memcpy(devices, last, sizeof last);
        count = advice.together ? rails : 1;
    }
    return count;
}
