/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "known_loggp.h"
#include "known_network.h"
#include "loggp.h"
#include "loggp_fit.h"
#include "loggp_time.h"
#include "reach.h"

enum { CLASSES = 4, PER_CLASS = 400, LOOKED_AT = 400 };

/* All that a planner made one measure, by class of path (hops - 2). */
struct seen {
    struct nt_prtt m[CLASSES][PER_CLASS];
    size_t n[CLASSES];
    size_t rounds, pairs;
    double seconds;
};

static uint32_t hops_between(const struct nt_model *model, uint32_t a, uint32_t b)
{
    struct nt_reach *reach;
    must(nt_reach_create(model, a, &reach, &err));
    uint32_t hops = reach->hops[b];
    nt_reach_destroy(reach);
    return hops;
}

static void mark_links(const struct nt_model *model, uint32_t a, uint32_t b, bool *used)
{
    struct nt_reach *reach;
    must(nt_reach_create(model, a, &reach, &err));
    for (uint32_t v = b; v != a; v = reach->from[v]) {
        assert_false(used[reach->link[v]]);
        used[reach->link[v]] = true;
    }
    nt_reach_destroy(reach);
}

/* In a round: hosts that exist, no host twice, no link twice. */
static void check_order(const struct nt_model *model, const struct nt_order *order)
{
    bool busy[64] = {false}, used[256] = {false};
    assert_int_equal(order->kind, NT_ORDER_PRTT);
    assert_above(order->pairs, 0);
    assert_at_least(order->batches, 2);
    assert_at_least(order->count, 1);
    assert_at_least(order->message_bytes, 1);
    assert_above(order->window_s, 0);
    for (size_t k = 0; k < order->pairs; k++) {
        for (int end = 0; end < 2; end++) {
            assert_below(order->pair[k][end], model->hosts);
            assert_false(busy[order->pair[k][end]]);
            busy[order->pair[k][end]] = true;
        }
        mark_links(model, order->pair[k][0], order->pair[k][1], used);
    }
}

static void play(const struct nt_model *model, struct known_loggp *truth,
                 const struct nt_order *order, struct seen *seen, struct nt_result *results)
{
    for (size_t k = 0; k < order->pairs; k++) {
        uint32_t a = order->pair[k][0], b = order->pair[k][1];
        size_t class = hops_between(model, a, b) - 2;
        assert_below(class, CLASSES);
        assert_below(seen->n[class], PER_CLASS);
        struct nt_prtt m = known_message(&truth[class], order->message_bytes, order->count,
                                         order->delay_us, order->hold_us);
        m.check = strcmp(order->phase, NT_LOGGP_CHECK_PHASE) == 0;
        seen->m[class][seen->n[class]++] = m;
        results[k] =
            (struct nt_result){.a = a, .b = b, .ok = true, .value_us = m.time_us, .se_us = m.se_us};
    }
    seen->rounds++;
    seen->pairs += order->pairs;
    seen->seconds += order->window_s;
}

static void drive(const struct nt_model *model, const struct nt_loggp_settings *settings,
                  struct known_loggp *truth, struct seen *seen)
{
    SCOPED(planner) *planner = NULL;
    struct nt_order order;
    struct nt_result results[NT_LOGGP_CLASSES_MAX];
    memset(seen, 0, sizeof *seen);
    must(nt_loggp_create(model, settings, &planner, &err));
    int rc;
    while ((rc = planner->ops->next(planner, &order, &err)) == 1) {
        check_order(model, &order);
        play(model, truth, &order, seen, results);
        assert_int_equal(planner->ops->tell(planner, results, order.pairs, &err), 0);
        assert_below(seen->rounds, 1000);
    }
    assert_int_equal(rc, 0);
    size_t optional;
    assert_int_equal(nt_loggp_rounds_left(planner, &optional), 0);
}

static void truths(struct known_loggp *truth, double noise, double outliers, uint64_t seed)
{
    for (size_t c = 0; c < CLASSES; c++) {
        truth[c] = known_tcp(noise, outliers, seed * 10 + c);
        for (size_t r = 0; r < truth[c].regimes; r++)
            truth[c].regime[r].L *= 1 + (double)c;
    }
}

/* Leaves of four hosts below one switch. */
static struct nt_model *leaves(size_t n)
{
    static const size_t size[] = {4, 4, 4, 4};
    return known_leaves(n, size, 100, 100);
}

/* The largest error of the prediction over many sizes. */
static double worst_error(const struct known_loggp *truth, const struct nt_loggp_fit *fit,
                          double *at)
{
    double worst = 0;
    for (size_t i = 0; i < LOOKED_AT; i++) {
        double s = floor(8 * pow(4194304.0 / 8, (double)i / (LOOKED_AT - 1)));
        if (fabs(s / 8192 - 1) < 0.02 || fabs(s / 1460 - 1) < 0.02)
            continue; /* jumps are narrowed down to this */
        double off =
            fabs(nt_loggp_time_us(fit->regime, fit->regimes, s) / known_time(truth, s) - 1);
        if (off > worst) {
            worst = off;
            *at = s;
        }
    }
    return worst;
}

static void predict(double noise, double outliers, uint64_t seed, double within, struct seen *seen)
{
    struct known_loggp truth[CLASSES];
    struct nt_model *model = leaves(3);
    truths(truth, noise, outliers, seed);
    drive(model, NULL, truth, seen);
    nt_model_destroy(model);
    for (size_t c = 0; c < CLASSES; c++) {
        struct nt_loggp_fit fit;
        double at = 0;
        if (c != 0 && c != 2) { /* two links, or four */
            assert_int_equal(seen->n[c], 0);
            continue;
        }
        must(nt_loggp_fit(seen->m[c], seen->n[c], &fit, &err));
        double worst = worst_error(&truth[c], &fit, &at);
        if (!(worst < within))
            fail_msg("seed %llu, class %zu: %.1f %% off at %.0f bytes", (unsigned long long)seed, c,
                     100 * worst, at);
        for (size_t r = 0; noise == 0 && r < fit.regimes; r++)
            assert_false(isnan(fit.regime[r].g_us) || isnan(fit.regime[r].o_send_us) ||
                         isnan(fit.regime[r].o_recv_us) || isnan(fit.regime[r].check_percent));
    }
}

TEST(exact_measurements_predict_every_size)
{
    static struct seen seen;
    predict(0, 0, 1, 0.06, &seen);
    /* both classes in the same rounds */
    assert_int_equal(seen.pairs, 2 * seen.rounds);
    assert_in_range(seen.rounds, 30, 130);
}

TEST(noise_and_outliers_cost_little)
{
    static struct seen seen;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        predict(0.01, 0, seed, 0.10, &seen);
        predict(0.02, 0.01, seed, 0.15, &seen);
        assert_in_range(seen.rounds, 30, 180);
    }
}

/* How often a size was asked for, how far its two lowest times are apart, as a share. */
static size_t times_of(const struct seen *seen, size_t class, double bytes, double *apart)
{
    double lowest = INFINITY, second = INFINITY;
    size_t times = 0;
    for (size_t i = 0; i < seen->n[class]; i++) {
        const struct nt_prtt *m = &seen->m[class][i];
        if (m->bytes != bytes || m->count != 1 || m->hold_us > 0 || m->check)
            continue;
        second = fmin(second, fmax(lowest, m->time_us));
        lowest = fmin(lowest, m->time_us);
        times++;
    }
    *apart = second / lowest - 1;
    return times;
}

/* Every tenth round is half as long again as it should be, and each says of itself that it is
 * good. */
TEST(short_messages_are_asked_until_two_rounds_agree)
{
    static struct seen seen;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct known_loggp truth[CLASSES];
        struct nt_model *model = leaves(3);
        truths(truth, 0.002, 0.1, seed);
        drive(model, NULL, truth, &seen);
        nt_model_destroy(model);
        for (size_t c = 0; c < CLASSES; c += 2)
            for (double bytes = 1; bytes <= 256; bytes *= 4) {
                double apart;
                /* four times for a class, and with the other one when that wants it */
                size_t times = times_of(&seen, c, bytes, &apart);
                assert_in_range(times, 2, 8);
                assert_holds(apart <= 0.04 || times >= 4, "%g apart after %zu times", apart, times);
            }
    }
}

TEST(classes_that_share_links_take_turns)
{
    static struct seen seen;
    struct known_loggp truth[CLASSES];
    /* two hosts a leaf: what crosses the top uses the links of what stays below it */
    static const size_t size[] = {2, 2};
    SCOPED(model) *model = known_leaves(2, size, 100, 100);
    truths(truth, 0, 0, 1);
    drive(model, NULL, truth, &seen);
    assert_above(seen.n[0], 30);
    assert_above(seen.n[1], 30);
}

TEST(each_rail_and_all_of_them)
{
    static const char *const names[] = {"fab0", "fab1"};
    const struct nt_loggp_settings two = {.rails = 2, .rail = names};
    SCOPED(model) *model = leaves(3);
    SCOPED(planner) *planner = NULL;
    struct nt_order order;
    struct nt_result results[NT_LOGGP_CLASSES_MAX];
    static struct seen seen;
    struct known_loggp truth[CLASSES];
    size_t on[3] = {0}, coarse[3] = {0};
    truths(truth, 0, 0, 1);
    must(nt_loggp_create(model, &two, &planner, &err));
    while (planner->ops->next(planner, &order, &err) == 1) {
        size_t rail = order.rail[0] == '\0' ? 2 : strcmp(order.rail, "fab0") == 0 ? 0 : 1;
        if (rail < 2)
            assert_string_equal(order.rail, names[rail]);
        memset(seen.n, 0, sizeof seen.n);
        play(model, truth, &order, &seen, results);
        assert_int_equal(planner->ops->tell(planner, results, order.pairs, &err), 0);
        on[rail]++;
        if (seen.rounds <= 36)
            coarse[rail]++;
    }
    /* a step on every rail before any goes on: cut short, all rails have their sizes */
    for (size_t r = 0; r < 3; r++) {
        assert_int_equal(on[r], on[0]);
        assert_int_equal(coarse[r], 12);
    }
}

TEST(a_lost_host_is_replaced_and_a_class_without_hosts_ends)
{
    SCOPED(model) *model = leaves(3);
    SCOPED(planner) *planner = NULL;
    struct nt_order order;
    bool lost[12] = {false};
    size_t rounds = 0;
    must(nt_loggp_create(model, NULL, &planner, &err));
    while (planner->ops->next(planner, &order, &err) == 1 && rounds < 1000) {
        struct nt_result results[NT_LOGGP_CLASSES_MAX];
        check_order(model, &order);
        for (size_t k = 0; k < order.pairs; k++) {
            assert_false(lost[order.pair[k][0]] || lost[order.pair[k][1]]);
            results[k] = (struct nt_result){.a = order.pair[k][0],
                                            .b = order.pair[k][1],
                                            .ok = true,
                                            .value_us = 100 + order.message_bytes};
        }
        assert_int_equal(planner->ops->tell(planner, results, order.pairs, &err), 0);
        if (++rounds % 4 == 0) {
            planner->ops->lose(planner, order.pair[0][0]);
            lost[order.pair[0][0]] = true;
        }
    }
    size_t left = 0;
    for (size_t h = 0; h < 12; h++)
        left += !lost[h];
    assert_at_least(rounds, 16);
    assert_below(rounds, 1000);
    assert_at_most(left, 5);
}

TEST(a_pair_that_always_fails_is_given_up)
{
    SCOPED(model) *model = leaves(3);
    SCOPED(planner) *planner = NULL;
    struct nt_order order;
    size_t rounds = 0;
    must(nt_loggp_create(model, NULL, &planner, &err));
    while (planner->ops->next(planner, &order, &err) == 1) {
        assert_int_equal(planner->ops->tell(planner, NULL, 0, &err), 0);
        rounds++;
    }
    assert_in_range(rounds, 1, 6);
}

/* Answers that take long on their way come after the holds that the times of messages suggest. */
TEST(a_hold_without_an_answer_is_made_longer_and_costs_nothing_else)
{
    static struct seen seen;
    struct known_loggp truth[CLASSES];
    SCOPED(model) *model = leaves(1);
    SCOPED(planner) *planner = NULL;
    struct nt_order order;
    struct nt_result results[NT_LOGGP_CLASSES_MAX];
    size_t silent = 0, heard = 0;
    double shortest_us = 0;
    bool checked = false;
    memset(&seen, 0, sizeof seen);
    truths(truth, 0, 0, 1);
    must(nt_loggp_create(model, NULL, &planner, &err));
    while (planner->ops->next(planner, &order, &err) == 1) {
        play(model, truth, &order, &seen, results);
        if (order.hold_us > 0 && shortest_us == 0)
            shortest_us = order.hold_us;
        bool late = order.hold_us > 0 && order.hold_us < 3 * shortest_us;
        for (size_t k = 0; late && k < order.pairs; k++)
            results[k] = (struct nt_result){.a = results[k].a, .b = results[k].b, .ok = true};
        silent += late;
        heard += order.hold_us > 0 && !late;
        checked = checked || strcmp(order.phase, NT_LOGGP_CHECK_PHASE) == 0;
        assert_int_equal(planner->ops->tell(planner, results, order.pairs, &err), 0);
    }
    assert_above(silent, 0);
    assert_int_equal(heard, silent);
    assert_true(checked);
}

TEST(long_rounds_are_not_ordered)
{
    static struct seen seen;
    const struct nt_loggp_settings brief = {.longest_s = 0.05};
    struct known_loggp truth[CLASSES];
    SCOPED(model) *model = leaves(2);
    truths(truth, 0, 0, 1);
    drive(model, &brief, truth, &seen);
    for (size_t i = 0; i < seen.n[0]; i++)
        assert_below(seen.m[0][i].time_us, 0.05 * 1e6);
    assert_above(seen.n[0], 20);
}

TEST(a_short_time_still_has_its_check)
{
    static struct seen seen;
    struct known_loggp truth[CLASSES];
    SCOPED(model) *model = leaves(3);
    truths(truth, 0, 0, 1);
    drive(model, NULL, truth, &seen);
    double all = seen.seconds;
    for (double share = 0.3; share < 1; share += 0.2) {
        const struct nt_loggp_settings brief = {.seconds = share * all};
        struct nt_loggp_fit fit;
        drive(model, &brief, truth, &seen);
        assert_below(seen.seconds, share * all + 0.4 * all);
        must(nt_loggp_fit(seen.m[0], seen.n[0], &fit, &err));
        assert_true(!isnan(fit.check_percent) && !isnan(fit.regime[0].o_recv_us));
    }
}

TEST(nothing_to_measure_is_no_error)
{
    for (size_t hosts = 0; hosts < 2; hosts++) {
        SCOPED(model) *model;
        SCOPED(planner) *planner;
        struct nt_order order;
        must(nt_model_create(hosts, 0, 0, &model, &err));
        must(nt_loggp_create(model, NULL, &planner, &err));
        assert_int_equal(planner->ops->next(planner, &order, &err), 0);
    }
}

TEST(too_many_rails_are_refused)
{
    static const char *const names[9] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    static const char *const odd[2] = {"a", "a-name-of-more-than-thirty-one-bytes"};
    const struct nt_loggp_settings nine = {.rails = 9, .rail = names},
                                   two = {.rails = 2, .rail = odd};
    SCOPED(model) *model = leaves(2);
    struct nt_planner *planner = NULL;
    assert_int_equal(nt_loggp_create(model, &nine, &planner, &err), -1);
    assert_int_equal(nt_loggp_create(model, &two, &planner, &err), -1);
    assert_null(planner);
}

TEST(names_of_classes)
{
    char name[NT_PATH_CLASS_BYTES];
    nt_path_class_name(2, 1, name);
    assert_string_equal(name, "same switch");
    nt_path_class_name(4, 3, name);
    assert_string_equal(name, "through 3 switches");
    nt_path_class_name(1, 0, name);
    assert_string_equal(name, "neighbours");
    nt_path_class_name(3, 0, name);
    assert_string_equal(name, "3 hops");
}

RUN_TESTS
