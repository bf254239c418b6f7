/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "loggp_time.h"
#include "rails.h"

/* Lichei (2006), table 3.5.3.1: g, G, o, L in us. */
static struct nt_loggp loggp(double g, double G, double o, double L)
{
    return (struct nt_loggp){.class_name = "same switch",
                             .min_bytes = 1,
                             .max_bytes = 4194304,
                             .L_us = L,
                             .o_send_us = o,
                             .o_recv_us = o,
                             .g_us = g,
                             .G_us_per_byte = G,
                             .gap_us_per_byte = G};
}

#define INFINIBAND loggp(1.4, 0.00103, 1.4, 2.82)
#define GIGABIT loggp(0.897, 0.00849, 6.1, 65.4)
#define FAST_ETHERNET loggp(0.897, 0.0849, 6.1, 65.4) /* a tenth of its rate, section 5.8.6 */

enum { MESSAGES = 1000 };

struct figures {
    double round_robin, vft, earliest, alone;
};

static struct figures run(struct nt_loggp a, struct nt_loggp b, double bytes)
{
    struct nt_rail rail[] = {{"a", &a, 1}, {"b", &b, 1}};
    double sizes[MESSAGES];
    for (size_t k = 0; k < MESSAGES; k++)
        sizes[k] = bytes;
    return (struct figures){
        .round_robin = nt_rails_simulate(rail, 2, sizes, MESSAGES, NT_RAILS_ROUND_ROBIN),
        .vft = nt_rails_simulate(rail, 2, sizes, MESSAGES, NT_RAILS_VFT),
        .earliest = nt_rails_simulate(rail, 2, sizes, MESSAGES, NT_RAILS_EARLIEST),
        .alone = nt_rails_simulate(rail, 1, sizes, MESSAGES, NT_RAILS_VFT)};
}

static void assert_between(const char *what, double found, double low, double high)
{
    if (!(found >= low && found <= high))
        fail_msg("%s: expected %g to %g, found %g", what, low, high, found);
}

/* Section 5.8.4: over two equal interconnects round robin is optimal and the scheduler as good;
 * section 5.8.6: two gigabit networks nearly double the bandwidth. */
TEST(equal_rails_are_shared_as_by_round_robin)
{
    struct figures f = run(GIGABIT, GIGABIT, 32768);
    assert_between("against round robin", f.vft / f.round_robin, 0.98, 1.02);
    assert_between("against one rail", f.alone / f.vft, 1.8, 2.0);
}

/* Section 5.8.5: with different interconnects round robin is significantly worse. */
TEST(round_robin_loses_on_different_rails)
{
    struct figures ib = run(INFINIBAND, GIGABIT, 4096), fe = run(GIGABIT, FAST_ETHERNET, 16384);
    assert_between("InfiniBand and gigabit", ib.round_robin / ib.vft, 2, 100);
    assert_between("gigabit and fast Ethernet", fe.round_robin / fe.vft, 4, 100);
    /* and is worse than leaving the slow rail alone */
    assert_true(ib.round_robin > 2 * ib.alone && fe.round_robin > 4 * fe.alone);
}

/* Section 5.8.6: a rail of a tenth of the bandwidth gives at best ten percent, and a small but
 * visible increase in practice. */
TEST(a_slow_second_rail_gains_a_little)
{
    struct figures f = run(GIGABIT, FAST_ETHERNET, 16384);
    assert_between("gain", f.alone / f.vft, 1.04, 1.101);
    assert_between("gain with the message's own bytes", f.alone / f.earliest, 1.04, 1.101);
}

/* Section 5.8.6: InfiniBand with gigabit Ethernet gains nothing for small messages: TCP's overhead
 * is more than the time InfiniBand needs for a message. */
TEST(an_overhead_above_the_gap_leaves_no_gain)
{
    struct figures f = run(INFINIBAND, GIGABIT, 64);
    assert_between("gain", f.alone / f.earliest, 0.9, 1.02);
}

TEST(messages_of_different_sizes_are_weighed_by_their_bytes)
{
    struct nt_loggp a = GIGABIT, b = GIGABIT;
    struct nt_rail rail[] = {{"a", &a, 1}, {"b", &b, 1}};
    double sizes[MESSAGES];
    for (size_t k = 0; k < MESSAGES; k++) /* every second one large: round robin sends these all
                                             over one rail */
        sizes[k] = k % 2 == 0 ? 65536 : 64;
    double robin = nt_rails_simulate(rail, 2, sizes, MESSAGES, NT_RAILS_ROUND_ROBIN);
    double vft = nt_rails_simulate(rail, 2, sizes, MESSAGES, NT_RAILS_VFT);
    assert_between("gain", robin / vft, 1.8, 2.1);
}

/* Section 4.3.1.1: all parts end together. */
TEST(parts_arrive_together)
{
    static const double sizes[] = {1e5, 1e6, 4e6};
    struct nt_loggp a = GIGABIT, b = FAST_ETHERNET;
    struct nt_rail rail[] = {{"a", &a, 1}, {"b", &b, 1}};
    for (size_t k = 0; k < 3; k++) {
        double part[2], time = nt_rails_split(rail, 2, sizes[k], part);
        assert_between("bytes", part[0] + part[1], sizes[k] - 1, sizes[k] + 1);
        for (int i = 0; i < 2; i++)
            assert_between("time", nt_loggp_time_us(rail[i].regime, 1, part[i]) / time, 0.999,
                           1.001);
        assert_between("gain", nt_loggp_time_us(&a, 1, sizes[k]) / time, 1.05, 1.1001);
    }
    double part[2], time = nt_rails_split(rail, 2, 64, part);
    assert_between("a short one", nt_loggp_time_us(&a, 1, 64) / time, 1, 1.01);
}

TEST(advice)
{
    struct nt_err err = {0};
    struct nt_rail_advice out;
    struct nt_loggp a = loggp(20, 0.0425, 5, 210), b = loggp(20, 0.2128, 5, 210);
    struct nt_rail rail[] = {{"fab1", &b, 1}, {"fab0", &a, 1}};
    assert_int_equal(nt_rails_advise(rail, 2, NULL, &out, &err), 0);
    assert_int_equal(out.best, 1);
    assert_false(out.together); /* an even division waits for the slow rail */
    assert_between("an even division", out.loses, 2.3, 2.6);
    assert_true(out.range[0].min_bytes == 1 && out.range[out.ranges - 1].max_bytes == 4194304);
    assert_false(out.range[0].split);
    assert_true(out.range[out.ranges - 1].split);
    assert_between("share", out.range[out.ranges - 1].share[1], 0.82, 0.85);
    /* equal rails: together; and measured figures count more than the division */
    struct nt_rail equal[] = {{"fab0", &a, 1}, {"fab1", &a, 1}}, measured = {"all", &b, 1};
    assert_int_equal(nt_rails_advise(equal, 2, NULL, &out, &err), 0);
    assert_true(out.together);
    assert_int_equal(nt_rails_advise(equal, 2, &measured, &out, &err), 0);
    assert_false(out.together);
    assert_int_equal(nt_rails_advise(equal, 0, NULL, &out, &err), -1);
}

/* Without its gap a train has no time, and an overhead that is not known is taken as the gap. */
TEST(what_was_not_measured_has_no_time)
{
    struct nt_loggp bare = GIGABIT, busy = GIGABIT, whole = GIGABIT;
    bare.g_us = bare.gap_us_per_byte = NAN;
    busy.o_send_us = NAN;
    struct nt_rail one[] = {{"a", &bare, 1}}, both[] = {{"a", &whole, 1}, {"b", &bare, 1}};
    struct nt_rail equal[] = {{"a", &busy, 1}, {"b", &busy, 1}};
    const double sizes[] = {8, 8, 8, 8};
    assert_true(isnan(nt_rails_simulate(one, 1, sizes, 4, NT_RAILS_EARLIEST)));
    assert_true(isnan(nt_rails_simulate(both, 2, sizes, 4, NT_RAILS_ROUND_ROBIN)));
    double alone = nt_rails_simulate(equal, 1, sizes, 4, NT_RAILS_EARLIEST);
    assert_between("short ones", nt_rails_simulate(equal, 2, sizes, 4, NT_RAILS_EARLIEST) / alone,
                   0.99, 1);
    assert_true(nt_loggp_is_measured(&whole, 1, 4194304) &&
                !nt_loggp_is_measured(&whole, 1, 4194305));
}

TEST(rails_of_a_map)
{
    struct nt_loggp g[6];
    struct nt_rail rail[NT_RAILS_MAX], together;
    static const char *const names[] = {"fab0", "fab0", "fab1", "all", "fab0", ""};
    for (size_t k = 0; k < 6; k++) {
        g[k] = GIGABIT;
        snprintf(g[k].rail, sizeof g[k].rail, "%s", names[k]);
        if (k >= 4)
            snprintf(g[k].class_name, sizeof g[k].class_name, "through 3 switches");
    }
    struct nt_map map = {.loggps = 6, .loggp = g};
    assert_int_equal(nt_rails_of_map(&map, "same switch", rail, &together), 2);
    assert_string_equal(rail[0].name, "fab0");
    assert_int_equal(rail[0].regimes, 2);
    assert_int_equal(rail[1].regimes, 1);
    assert_int_equal(together.regimes, 1);
    assert_int_equal(nt_rails_of_map(&map, "through 3 switches", rail, &together), 1);
    assert_int_equal(together.regimes, 0);
    assert_int_equal(nt_rails_of_map(&map, "nowhere", rail, &together), 0);
    char devices[NT_RAILS_DEVICES_BYTES];
    nt_rails_devices(&map, devices); /* "all" is no faster than one of the equal ones */
    assert_string_equal(devices, "fab0");
    map.loggps = 3; /* nothing is known of "all": dividing evenly pays */
    nt_rails_devices(&map, devices);
    assert_string_equal(devices, "fab0,fab1");
    snprintf(g[2].rail, sizeof g[2].rail, "fab1;reboot");
    nt_rails_devices(&map, devices);
    assert_string_equal(devices, "");
    map.loggps = 2;
    nt_rails_devices(&map, devices);
    assert_string_equal(devices, "");
}

RUN_TESTS
