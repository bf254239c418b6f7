/* SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

#include "asserts.h"
#include "known_loggp.h"
#include "loggp_fit.h"
#include "loggp_time.h"

static void assert_near(const char *what, double found, double expected, double within)
{
    if (!(fabs(found - expected) <= within))
        fail_msg("%s: expected %g within %g, found %g", what, expected, within, found);
}

static const double SIZES[] = {1,     16,    64,    256,    512,     1024,   1400,
                               1500,  2048,  4096,  6000,   8000,    8192,   8400,
                               12000, 16384, 65536, 262144, 1048576, 4194304};
enum { SIZES_N = sizeof SIZES / sizeof *SIZES };

/* Every kind of measurement, at fixed sizes. */
static size_t measure_all(struct known_loggp *k, struct nt_prtt *m)
{
    size_t n = 0;
    for (size_t i = 0; i < SIZES_N; i++) {
        m[n++] = known_message(k, SIZES[i], 1, 0, 0);
        m[n++] = known_message(k, SIZES[i], 16, 0, 0);
        if (SIZES[i] > 16384)
            continue;
        /* well over the gap, and short: 1 % of it counts as an error of the overhead */
        double delay = 1.5 * (known_regime(k, SIZES[i])->g + SIZES[i] * 0.045);
        m[n++] = known_message(k, SIZES[i], 8, delay, 0);
        m[n++] = known_message(k, SIZES[i], 1, 0, 40000);
        m[n++] = known_message(k, SIZES[i], 16, 0, 40000);
    }
    for (double s = 9; s < 4e6; s *= 3.3) {
        m[n] = known_message(k, floor(s), 1, 0, 0);
        m[n++].check = true;
    }
    return n;
}

TEST(an_exact_curve_gives_its_figures_back)
{
    struct nt_prtt m[200];
    struct nt_loggp_fit fit;
    struct known_loggp k = known_tcp(0, 0, 1);
    size_t n = measure_all(&k, m);
    must(nt_loggp_fit(m, n, &fit, &err));
    assert_int_equal(fit.regimes, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct known_regime *r = &k.regime[i];
        const struct nt_loggp *g = &fit.regime[i];
        assert_near("G", g->G_us_per_byte, r->G, 1e-6);
        assert_near("gap", g->gap_us_per_byte, r->gap, 1e-6);
        assert_near("g", g->g_us, r->g, 0.01);
        if (i == 2)
            r = &k.regime[1]; /* a rendezvous: the overheads of before, the rest is L */
        assert_near("o of the sender", g->o_send_us, r->o_send, 0.01);
        assert_near("o of the receiver", g->o_recv_us, r->o_recv, 0.01);
        r = &k.regime[i];
        double level = r->o_send + r->L + r->o_recv;
        assert_near("o + L + o", g->o_send_us + g->L_us + g->o_recv_us, level, 0.05);
        assert_near("r2", g->r2, 1, 1e-6);
    }
    assert_at_least(fit.regime[0].max_bytes, 1400);
    assert_below(fit.regime[0].max_bytes, 1500);
    assert_at_least(fit.regime[1].max_bytes, 8192);
    assert_below(fit.regime[1].max_bytes, 8400);
    assert_below(fit.check_percent, 0.01);
}

/* Table 3.5.3.1 of the source: g, G, o and L of its three networks. The third has an overhead above
 * its gap, which trains of short messages then show (3.2.3): g is no lower than that line's. */
TEST(the_networks_of_the_source)
{
    static const struct known_regime table[] = {
        {INFINITY, 1.4, 1.4, 2.82, 1.4, 0.00103, 0.00103},
        {INFINITY, 1.9, 1.9, 24.3, 3.4, 0.00409, 0.00409},
        {INFINITY, 6.1, 6.1, 65.4, 0.897, 0.00849, 0.00849}};
    for (size_t k = 0; k < 3; k++) {
        struct nt_prtt m[200];
        struct nt_loggp_fit fit;
        struct known_loggp net = {.regimes = 1, .regime = {table[k]}};
        size_t n = measure_all(&net, m);
        must(nt_loggp_fit(m, n, &fit, &err));
        assert_int_equal(fit.regimes, 1);
        assert_near("G", fit.regime[0].G_us_per_byte, table[k].G, 1e-7);
        assert_near("o", fit.regime[0].o_send_us, table[k].o_send, 0.001);
        assert_near("o", fit.regime[0].o_recv_us, table[k].o_recv, 0.001);
        assert_near("L", fit.regime[0].L_us, table[k].L, 0.001);
        if (k < 2) {
            assert_near("g", fit.regime[0].g_us, table[k].g, 0.001);
            assert_near("gap", fit.regime[0].gap_us_per_byte, table[k].gap, 1e-7);
        } else {
            assert_at_least(fit.regime[0].g_us, table[k].g);
            assert_at_most(fit.regime[0].g_us, table[k].o_send);
        }
    }
}

/* Figures within four of their own standard errors, times within three percent, over many seeds. */
TEST(noise_is_told_by_the_errors)
{
    unsigned far = 0, all = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct nt_prtt m[200];
        struct nt_loggp_fit fit;
        struct known_loggp k = known_tcp(0.01, 0, seed);
        size_t n = measure_all(&k, m);
        must(nt_loggp_fit(m, n, &fit, &err));
        for (double s = 8; s <= 4194304; s *= 1.37) {
            double at = floor(s);
            if (fabs(at - 1460) < 100 || fabs(at - 8192) < 300)
                continue; /* where exactly a protocol changes lies between two measured sizes */
            double off =
                fabs(nt_loggp_time_us(fit.regime, fit.regimes, at) / known_time(&k, at) - 1);
            assert_near("time", off, 0, 0.03);
        }
        assert_near("check", fit.check_percent, 0, 6);
        if (fit.regimes != 3)
            continue;
        for (size_t i = 0; i < 3; i++) {
            const struct known_regime *r = &k.regime[i];
            const struct nt_loggp *g = &fit.regime[i];
            all += 3;
            far += fabs(g->G_us_per_byte - r->G) > 4 * g->G_se_us_per_byte;
            far += fabs(g->g_us - r->g) > 4 * g->g_se_us;
            far += i < 2 && fabs(g->L_us - r->L) > 4 * g->L_se_us;
        }
    }
    assert_above(all, 500);
    assert_below(far * 50, all);
}

TEST(what_was_not_measured_is_not_invented)
{
    struct nt_prtt m[SIZES_N];
    struct nt_loggp_fit fit;
    struct known_loggp k = known_tcp(0, 0, 1);
    for (size_t i = 0; i < SIZES_N; i++)
        m[i] = known_message(&k, SIZES[i], 1, 0, 0);
    must(nt_loggp_fit(m, SIZES_N, &fit, &err));
    assert_true(isnan(fit.check_percent));
    for (size_t i = 0; i < fit.regimes; i++) {
        assert_true(isnan(fit.regime[i].g_us));
        assert_true(isnan(fit.regime[i].o_send_us) && isnan(fit.regime[i].o_recv_us));
        assert_near("L holds the whole level", fit.regime[i].L_us,
                    k.regime[i].o_send + k.regime[i].L + k.regime[i].o_recv, 0.05);
    }
    assert_near("time", nt_loggp_time_us(fit.regime, fit.regimes, 4096), known_time(&k, 4096), 0.1);
}

/* On a loaded host: single messages are as they are, trains and holds vary by as much as they take.
 */
TEST(noise_is_no_overhead)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct nt_prtt m[3 * SIZES_N];
        struct nt_loggp_fit fit;
        struct known_loggp k = known_tcp(0.003, 0, seed);
        size_t n = 0;
        for (size_t i = 0; i < SIZES_N; i++) {
            m[n++] = known_message(&k, SIZES[i], 1, 0, 0);
            k.noise = 0.3;
            m[n++] = known_message(&k, SIZES[i], 8, 4000, 0);
            m[n++] = known_message(&k, SIZES[i], 1, 0, 40000);
            k.noise = 0.003;
        }
        must(nt_loggp_fit(m, n, &fit, &err));
        for (size_t i = 0; i < fit.regimes; i++) {
            const struct nt_loggp *g = &fit.regime[i];
            assert_holds(isnan(g->L_us) || g->L_se_us <= g->L_us / 2, "L %g +-%g us", g->L_us,
                         g->L_se_us);
            assert_holds(isnan(g->g_us) || g->g_se_us <= g->g_us / 2, "g %g +-%g us", g->g_us,
                         g->g_se_us);
            double o = (g->o_send_us + g->o_recv_us) / 2;
            assert_holds(isnan(o) || g->o_se_us <= o / 2, "o %g +-%g us", o, g->o_se_us);
        }
        assert_near("time", nt_loggp_time_us(fit.regime, fit.regimes, 64), known_time(&k, 64), 5);
    }
}

TEST(no_round_trips_is_an_error)
{
    struct nt_loggp_fit fit;
    struct known_loggp k = known_tcp(0, 0, 1);
    struct nt_prtt train = known_message(&k, 8, 16, 0, 0);
    assert_int_equal(nt_loggp_fit(&train, 1, &fit, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    assert_int_equal(nt_loggp_fit(NULL, 0, &fit, &err), -1);
}

TEST(a_single_size_is_a_level)
{
    struct nt_loggp_fit fit;
    struct nt_prtt one = {.bytes = 8, .count = 1, .time_us = 400};
    must(nt_loggp_fit(&one, 1, &fit, &err));
    assert_int_equal(fit.regimes, 1);
    assert_near("time", nt_loggp_time_us(fit.regime, 1, 8), 200, 1e-9);
}

/* As many as there may be are checked in less than every one against every other takes. */
TEST(many_measurements_take_little_time)
{
    struct nt_prtt *m = calloc(NT_PRTT_MAX, sizeof *m);
    struct nt_loggp_fit fit;
    assert_non_null(m);
    for (size_t i = 0; i < NT_PRTT_MAX; i++) {
        double bytes = (double)(1 + i % 400 * 100);
        m[i] = (struct nt_prtt){.bytes = bytes, .count = 1, .time_us = 10 + 0.01 * bytes};
        m[i].check = i % 2 == 1;
        m[i].time_us += i % 2 == 1 && i > 400; /* the lowest of a size's checks counts */
    }
    clock_t began = clock();
    must(nt_loggp_fit(m, NT_PRTT_MAX, &fit, &err));
    assert_below((clock() - began) / CLOCKS_PER_SEC, 5);
    assert_near("check", fit.check_percent, 0, 1);
    free(m);
}

RUN_TESTS
