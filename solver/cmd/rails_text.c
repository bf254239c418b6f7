/* SPDX-License-Identifier: Apache-2.0 */
#include "rails_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_write.h"
#include "loggp_time.h"
#include "rails.h"

/* Returns the number of rails of a class at its first entry; 0 at its other entries, or if there is
 * only one rail. */
static size_t rails_of(const struct nt_map *map, size_t k, struct nt_rail *rail,
                       struct nt_rail *together)
{
    const char *name = map->loggp[k].class_name;
    for (size_t j = 0; j < k; j++)
        if (strcmp(map->loggp[j].class_name, name) == 0)
            return 0;
    size_t rails = nt_rails_from_map(map, name, rail, together);
    return rails < 2 ? 0 : rails;
}

/* ---- advice --------------------------------------------------------------------------------- */

static void put_limit(struct nt_strbuf *d, double bytes)
{
    if (bytes >= 1 << 20)
        nt_strbuf_print(d, "%.3g MiB", bytes / (1 << 20));
    else if (bytes >= 1 << 10)
        nt_strbuf_print(d, "%.3g KiB", bytes / (1 << 10));
    else
        nt_strbuf_print(d, "%.0f bytes", bytes);
}

static void put_range(struct nt_strbuf *d, const struct nt_rail *rail, size_t rails,
                      const struct nt_rail_range *range, bool last)
{
    if (range->min_bytes > 1) {
        nt_strbuf_puts(d, "over ");
        put_limit(d, range->min_bytes - 1);
        nt_strbuf_puts(d, " ");
    } else if (!last) {
        nt_strbuf_puts(d, "up to ");
        put_limit(d, range->max_bytes);
        nt_strbuf_puts(d, " ");
    }
    if (!range->split) {
        nt_strbuf_put_line(d, rail[range->rail].name);
        return;
    }
    for (size_t i = 0, put = 0; i < rails; i++) {
        if (range->share[i] < 0.005)
            continue;
        nt_strbuf_print(d, "%s%.0f %% by ", put++ > 0 ? " and " : "", 100 * range->share[i]);
        nt_strbuf_put_line(d, rail[i].name);
    }
    nt_strbuf_print(d, " (%.2f times as fast as ", range->gain);
    nt_strbuf_put_line(d, rail[range->rail].name);
    nt_strbuf_puts(d, " alone, for a program that divides its messages)");
}

/* UCX divides rendezvous messages by its own rule, never by given shares: use all devices or
 * one. */
static void put_settings(struct nt_strbuf *d, const struct nt_rail *rail, size_t rails,
                         const struct nt_rail_advice *advice)
{
    nt_strbuf_puts(d, "       UCX_NET_DEVICES=");
    for (size_t i = 0; i < rails; i++) {
        if (!advice->together && i != advice->best)
            continue;
        if (advice->together && i > 0)
            nt_strbuf_puts(d, ",");
        nt_strbuf_put_line(d, rail[i].name);
    }
    if (advice->together)
        nt_strbuf_print(d, " UCX_MAX_RNDV_RAILS=%zu UCX_MAX_EAGER_RAILS=1\n", rails);
    else if (advice->loses > 1.05)
        nt_strbuf_print(d, "   (divided evenly, large messages take %.1f times as long)\n",
                        advice->loses);
    else
        nt_strbuf_puts(d, "\n");
}

int nt_rails_put_advice(struct nt_strbuf *d, const struct nt_map *map, struct nt_err *err)
{
    bool any = false;
    for (size_t k = 0; k < map->loggps; k++) {
        struct nt_rail rail[NT_RAILS_MAX], together;
        struct nt_rail_advice advice;
        size_t rails = rails_of(map, k, rail, &together);
        if (rails == 0)
            continue;
        if (nt_rails_advise(rail, rails, &together, &advice, err) != 0)
            return -1;
        nt_strbuf_puts(d, any ? "       " : "\nrails  ");
        nt_strbuf_put_line(d, map->loggp[k].class_name);
        nt_strbuf_puts(d, ": ");
        for (size_t r = 0; r < advice.ranges; r++) {
            nt_strbuf_puts(d, r > 0 ? "; " : "");
            put_range(d, rail, rails, &advice.range[r], r + 1 == advice.ranges);
        }
        nt_strbuf_puts(d, "\n");
        put_settings(d, rail, rails, &advice);
        any = true;
    }
    return 0;
}

/* ---- the table ------------------------------------------------------------------------------ */

/* Sizes of messages: LEAST_BYTES times powers of STEP */
enum { LEAST_BYTES = 8, MOST_BYTES = 4194304, STEP = 8, SIZES = 7, TRAIN = 16, CELL_BYTES = 32 };
_Static_assert((int)TRAIN <= (int)NT_RAIL_HOSTS_MAX, "a receiver each");

static void put_size(struct nt_strbuf *d, double bytes)
{
    char text[CELL_BYTES];
    if (bytes >= 1 << 20)
        snprintf(text, sizeof text, "%.0f MiB", bytes / (1 << 20));
    else if (bytes >= 1 << 10)
        snprintf(text, sizeof text, "%.0f KiB", bytes / (1 << 10));
    else
        snprintf(text, sizeof text, "%.0f B", bytes);
    nt_strbuf_print(d, "%8s", text);
}

static void put_time(struct nt_strbuf *d, double us)
{
    if (isfinite(us))
        nt_strbuf_print(d, " %11.5g", us);
    else
        nt_strbuf_print(d, " %11s", "-");
}

/* Appends the saving compared with the best single rail; nothing if it is slower. */
static void put_saved(struct nt_strbuf *d, double best_us, double us)
{
    if (isfinite(us) && isfinite(best_us))
        nt_strbuf_print(d, " %6.0f %%", 100 * fmax(0, 1 - us / best_us));
    else
        nt_strbuf_print(d, " %8s", "-");
}

static bool is_measured(const struct nt_rail *rail, double bytes)
{
    return rail->regimes > 0 && nt_loggp_is_measured(rail->regime, rail->regimes, bytes);
}

static double alone_us(const struct nt_rail *rail, double bytes)
{
    return is_measured(rail, bytes) ? nt_loggp_time_us(rail->regime, rail->regimes, bytes)
                                    : (double)NAN;
}

/* Returns the best rail; SIZE_MAX: none was measured at that size. */
static size_t best_rail(const struct nt_rail *rail, size_t rails, double bytes)
{
    size_t best = SIZE_MAX;
    for (size_t k = 0; k < rails; k++)
        if (isfinite(alone_us(&rail[k], bytes)) &&
            (best == SIZE_MAX || alone_us(&rail[k], bytes) < alone_us(&rail[best], bytes)))
            best = k;
    return best;
}

static bool all_measured(const struct nt_rail *rail, size_t rails, double bytes)
{
    for (size_t k = 0; k < rails; k++)
        if (!is_measured(&rail[k], bytes))
            return false;
    return true;
}

enum receivers { TO_ONE, TO_EACH, TO_TWO };

/* Creates a train. TO_TWO: every second message is for a host that only one rail reaches. */
static void make_train(struct nt_rail_message train[TRAIN], double bytes, enum receivers to,
                       size_t only)
{
    for (uint32_t k = 0; k < TRAIN; k++) {
        train[k] = (struct nt_rail_message){.bytes = bytes, .to = to == TO_EACH ? k : 0};
        if (to == TO_TWO && k % 2 == 0)
            train[k] = (struct nt_rail_message){bytes, 1, UINT32_C(1) << only};
    }
}

/* Open MPI does not divide messages up to this size over TCP (btl_tcp_eager_limit; section 4.3.3.1;
 * less over others). */
static const double EAGER_BYTES = 65536;

/* Times of one message and of a train, in us; NaN: not measured. */
struct times {
    double bytes;
    size_t best; /* rail; SIZE_MAX: none was measured */
    double alone, divided, by_rates, ucx;
    double train_alone, train_turns, train_scheduled, train_ucx;
};

/* UCX's use of all rails is measured, for single messages and trains; the rest is simulated from
 * each rail's values. */
static struct times find_times(const struct nt_rail *rail, size_t rails,
                               const struct nt_rail *together, double bytes)
{
    double part[NT_RAILS_MAX];
    struct nt_rail_message train[TRAIN];
    struct times t = {bytes, best_rail(rail, rails, bytes), NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    make_train(train, bytes, TO_ONE, 0);
    if (t.best < rails) {
        t.alone = alone_us(&rail[t.best], bytes);
        t.train_alone = nt_rails_simulate(&rail[t.best], 1, train, TRAIN, NT_RAILS_EARLIEST, NULL);
    }
    if (all_measured(rail, rails, bytes)) {
        t.divided = nt_rails_split(rail, rails, bytes, part);
        if (bytes > EAGER_BYTES)
            t.by_rates = nt_rails_by_bandwidth(rail, rails, bytes);
        t.train_turns = nt_rails_simulate(rail, rails, train, TRAIN, NT_RAILS_ROUND_ROBIN, NULL);
        t.train_scheduled = nt_rails_simulate(rail, rails, train, TRAIN, NT_RAILS_EARLIEST, NULL);
    }
    t.ucx = alone_us(together, bytes);
    if (is_measured(together, bytes))
        t.train_ucx = nt_rails_simulate(together, 1, train, TRAIN, NT_RAILS_EARLIEST, NULL);
    return t;
}

/* The time of the train by each policy. */
static void time_policies(const struct nt_rail *rail, size_t rails,
                          const struct nt_rail_message train[TRAIN], double us[NT_RAIL_POLICIES])
{
    bool measured = all_measured(rail, rails, train[0].bytes);
    for (int p = 0; p < NT_RAIL_POLICIES; p++)
        us[p] = measured
                    ? nt_rails_simulate(rail, rails, train, TRAIN, (enum nt_rail_policy)p, NULL)
                    : (double)NAN;
}

/* Appends a row: one message, then a train of messages over one rail or all. */
static void put_row(struct nt_strbuf *d, const struct nt_rail *rail, size_t rails,
                    const struct times *t)
{
    put_size(d, t->bytes);
    nt_strbuf_print(d, " %-10.10s", t->best < rails ? rail[t->best].name : "-");
    put_time(d, t->alone);
    put_time(d, t->divided);
    put_saved(d, t->alone, t->divided);
    put_time(d, t->ucx);
    put_saved(d, t->alone, t->ucx);
    put_time(d, t->train_alone);
    put_time(d, t->train_turns);
    put_time(d, t->train_scheduled);
    put_saved(d, t->train_alone, t->train_scheduled);
    put_time(d, t->train_ucx);
    put_saved(d, t->train_alone, t->train_ucx);
    nt_strbuf_puts(d, "\n");
}

/* Appends the times of policies, and the saving of the schedule compared with the fastest policy
 * that only knows bandwidths. */
static void put_policies(struct nt_strbuf *d, double bytes, const double us[NT_RAIL_POLICIES])
{
    double fastest = NAN;
    put_size(d, bytes);
    for (int p = 0; p < NT_RAIL_POLICIES; p++)
        put_time(d, us[p]);
    for (int p = 0; p <= NT_RAILS_FAIR; p++)
        fastest = fmin(fastest, us[p]); /* fmin ignores NaN */
    put_saved(d, fastest, us[NT_RAILS_EARLIEST]);
    nt_strbuf_puts(d, "\n");
}

static void put_trains(struct nt_strbuf *d, const struct nt_rail *rail, size_t rails,
                       enum receivers to, size_t only)
{
    static const char *const titles[] = {"16 messages to one host", "16 messages to a host each",
                                         "16 messages to two hosts, one of them only over "};
    struct nt_rail_message train[TRAIN];
    double us[NT_RAIL_POLICIES];
    nt_strbuf_puts(d, titles[to]);
    if (to == TO_TWO)
        nt_strbuf_put_line(d, rail[only].name);
    nt_strbuf_print(d, "\n%8s %11s %11s %11s %11s %11s %8s\n", "message", "in turn", "weighted",
                    "fair", "4.4.8", "scheduled", "saved");
    for (double bytes = LEAST_BYTES; bytes <= MOST_BYTES; bytes *= STEP) {
        make_train(train, bytes, to, only);
        time_policies(rail, rails, train, us);
        put_policies(d, bytes, us);
    }
}

/* Appends the division of one message. */
static void put_division(struct nt_strbuf *d, const struct times *t)
{
    put_size(d, t->bytes);
    put_time(d, t->alone);
    put_time(d, t->by_rates);
    put_time(d, t->divided);
    put_saved(d, t->by_rates, t->divided);
    nt_strbuf_puts(d, "\n");
}

static void put_class(struct nt_strbuf *d, const char *name, const struct nt_rail *rail,
                      size_t rails, const struct nt_rail *together)
{
    struct times times[SIZES];
    size_t sizes = 0;
    nt_strbuf_put_line(d, name);
    nt_strbuf_print(d, "\n%8s %-10s %11s %11s %8s %11s %8s %11s %11s %11s %8s %11s %8s\n",
                    "message", "best rail", "alone us", "divided us", "saved", "UCX us", "saved",
                    "16 alone", "in turn", "scheduled", "saved", "16 UCX", "saved");
    for (double bytes = LEAST_BYTES; sizes < SIZES; bytes *= STEP) {
        times[sizes] = find_times(rail, rails, together, bytes);
        put_row(d, rail, rails, &times[sizes++]);
    }
    nt_strbuf_print(d, "one message divided\n%8s %11s %11s %11s %8s\n", "message", "alone us",
                    "by rates us", "divided us", "saved");
    for (size_t k = 0; k < sizes; k++)
        put_division(d, &times[k]);
    put_trains(d, rail, rails, TO_ONE, 0);
    put_trains(d, rail, rails, TO_EACH, 0);
    size_t only = best_rail(rail, rails, MOST_BYTES);
    if (only < rails)
        put_trains(d, rail, rails, TO_TWO, only);
}

/* ---- the same as JSON ----------------------------------------------------------------------- */

static void write_times(struct nt_json_writer *w, const struct nt_rail *rail, size_t rails,
                        const struct times *t)
{
    nt_json_begin(w, NULL, '{', false);
    nt_json_put_whole(w, "bytes", (uint64_t)t->bytes);
    if (t->best < rails)
        nt_json_put_text(w, "best", rail[t->best].name);
    nt_json_put_number(w, "alone_us", t->alone);
    nt_json_put_number(w, "divided_us", t->divided);
    nt_json_put_number(w, "by_rates_us", t->by_rates);
    nt_json_put_number(w, "ucx_us", t->ucx);
    nt_json_put_number(w, "alone_16_us", t->train_alone);
    nt_json_put_number(w, "in_turn_16_us", t->train_turns);
    nt_json_put_number(w, "scheduled_16_us", t->train_scheduled);
    nt_json_put_number(w, "ucx_16_us", t->train_ucx);
    nt_json_end(w, '}');
}

static void write_trains(struct nt_json_writer *w, const struct nt_rail *rail, size_t rails,
                         enum receivers to, size_t only)
{
    static const char *const receivers[] = {"one host", "a host each", "two hosts"};
    static const char *const names[NT_RAIL_POLICIES] = {"in_turn_us", "weighted_us", "fair_us",
                                                        "final_us", "scheduled_us"};
    struct nt_rail_message train[TRAIN];
    double us[NT_RAIL_POLICIES];
    nt_json_begin(w, NULL, '{', true);
    nt_json_put_text(w, "to", receivers[to]);
    if (to == TO_TWO)
        nt_json_put_text(w, "only", rail[only].name);
    nt_json_begin(w, "messages", '[', true);
    for (double bytes = LEAST_BYTES; bytes <= MOST_BYTES; bytes *= STEP) {
        make_train(train, bytes, to, only);
        time_policies(rail, rails, train, us);
        nt_json_begin(w, NULL, '{', false);
        nt_json_put_whole(w, "bytes", (uint64_t)bytes);
        for (int p = 0; p < NT_RAIL_POLICIES; p++)
            nt_json_put_number(w, names[p], us[p]);
        nt_json_end(w, '}');
    }
    nt_json_end(w, ']');
    nt_json_end(w, '}');
}

static void write_class(struct nt_json_writer *w, const char *name, const struct nt_rail *rail,
                        size_t rails, const struct nt_rail *together)
{
    nt_json_begin(w, NULL, '{', true);
    nt_json_put_text(w, "class", name);
    nt_json_begin(w, "rails", '[', false);
    for (size_t k = 0; k < rails; k++)
        nt_json_put_text(w, NULL, rail[k].name);
    nt_json_end(w, ']');
    nt_json_begin(w, "messages", '[', true);
    for (double bytes = LEAST_BYTES; bytes <= MOST_BYTES; bytes *= STEP) {
        struct times t = find_times(rail, rails, together, bytes);
        write_times(w, rail, rails, &t);
    }
    nt_json_end(w, ']');
    nt_json_begin(w, "trains", '[', true);
    write_trains(w, rail, rails, TO_ONE, 0);
    write_trains(w, rail, rails, TO_EACH, 0);
    size_t only = best_rail(rail, rails, MOST_BYTES);
    if (only < rails)
        write_trains(w, rail, rails, TO_TWO, only);
    nt_json_end(w, ']');
    nt_json_end(w, '}');
}

int nt_rails_table(const struct nt_map *map, bool json, char **text, size_t *bytes,
                   struct nt_err *err)
{
    struct nt_json_writer w = {0}; /* for the table only its buffer is used */
    size_t classes = 0;
    if (json) {
        nt_json_begin(&w, NULL, '{', true);
        nt_json_begin(&w, "classes", '[', true);
    }
    for (size_t k = 0; k < map->loggps; k++) {
        struct nt_rail rail[NT_RAILS_MAX], together;
        const char *name = map->loggp[k].class_name;
        size_t rails = rails_of(map, k, rail, &together);
        if (rails == 0)
            continue;
        if (!json && classes > 0)
            nt_strbuf_puts(&w.buf, "\n");
        if (json)
            write_class(&w, name, rail, rails, &together);
        else
            put_class(&w.buf, name, rail, rails, &together);
        classes++;
    }
    if (json) {
        nt_json_end(&w, ']');
        nt_json_end(&w, '}');
    }
    int rc = nt_strbuf_finish(&w.buf, text, bytes, err);
    if (rc != 0 || classes > 0)
        return rc;
    free(*text);
    return nt_err_set(err, NT_ERR_INPUT,
                      "the map has no LogGP parameters of two rails. Measure hosts with several "
                      "devices with --nettopo=full.");
}
