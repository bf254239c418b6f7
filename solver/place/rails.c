/* SPDX-License-Identifier: Apache-2.0 */
#include "rails.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "loggp_time.h"

static const double LEAST_BYTES = 8, MOST_BYTES = 4 << 20;
/* A division that gains less than this is not worth its second set of messages. */
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
/* o + L + o: what of a message's time does not depend on its bytes. */
static double level_us(const struct nt_rail *rail, double bytes)
{
    return time_us(rail, bytes) - (bytes - 1) * rail_regime(rail, bytes)->G_us_per_byte;
}

static size_t choose_rail(const struct nt_rail *rail, size_t rails, const double *finish,
                          double now, double bytes, enum nt_rail_policy policy, size_t turn)
{
    size_t best = turn % rails;
    double least = INFINITY;
    for (size_t i = 0; policy != NT_RAILS_ROUND_ROBIN && i < rails; i++) {
        double own = policy == NT_RAILS_VFT ? level_us(&rail[i], bytes) : time_us(&rail[i], bytes);
        double arrives = fmax(finish[i], now) + own;
        if (arrives < least) {
            least = arrives;
            best = i;
        }
    }
    return best;
}

/* An overhead that is not known is at most the gap: a lower one would invent savings. */
static double sending_us(const struct nt_loggp *g)
{
    return isnan(g->o_send_us) ? known_or_zero(g->g_us) : g->o_send_us;
}

double nt_rails_simulate(const struct nt_rail *rail, size_t rails, const double *bytes, size_t n,
                         enum nt_rail_policy policy)
{
    double finish[NT_RAILS_MAX] = {0}, now = 0, last = 0;
    for (size_t k = 0; k < n; k++) {
        size_t i = choose_rail(rail, rails, finish, now, bytes[k], policy, k);
        double begins = fmax(finish[i], now);
        last = fmax(last, begins + time_us(&rail[i], bytes[k]));
        double gap = gap_us(&rail[i], bytes[k]);
        if (isnan(gap))
            return (double)NAN;
        finish[i] = begins + gap;
        now += sending_us(rail_regime(&rail[i], bytes[k]));
    }
    return last;
}

/* ---- dividing one message ---- */
/* The most bytes that arrive within the time; times rise with sizes but for the jumps of
 * regimes, where the smaller answer is the safe one. */
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
size_t nt_rails_of_map(const struct nt_map *map, const char *class_name, struct nt_rail *rail,
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

/* Shells, and the plugin, read what has these characters only. */
static const char SAFE[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-:,";

void nt_rails_devices(const struct nt_map *map, char devices[NT_RAILS_DEVICES_BYTES])
{
    char last[NT_RAILS_DEVICES_BYTES];
    devices[0] = '\0';
    for (size_t k = 0; k < map->loggps; k++) {
        struct nt_rail rail[NT_RAILS_MAX], together;
        struct nt_rail_advice advice;
        size_t rails = nt_rails_of_map(map, map->loggp[k].class_name, rail, &together);
        if (rails < 2 || nt_rails_advise(rail, rails, &together, &advice, NULL) != 0)
            continue;
        put_devices(rail, rails, &advice, last);
        if ((devices[0] != '\0' && strcmp(devices, last) != 0) ||
            last[strspn(last, SAFE)] != '\0') {
            devices[0] = '\0';
            return;
        }
        memcpy(devices, last, sizeof last);
    }
}
