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
#define MYRINET loggp(3.4, 0.00409, 1.9, 24.3)
#define GIGABIT loggp(0.897, 0.00849, 6.1, 65.4)
#define FAST_ETHERNET loggp(0.897, 0.0849, 6.1, 65.4) /* a tenth of its rate, section 5.8.6 */

enum { MESSAGES = 1000 };

struct figures {
    double round_robin, weighted, fair, vft, earliest, alone;
};

static struct figures run_train(struct nt_loggp a, struct nt_loggp b, double bytes, size_t n)
{
    struct nt_rail rail[] = {{"a", &a, 1}, {"b", &b, 1}};
    struct nt_rail_message train[MESSAGES] = {{0}};
    for (size_t k = 0; k < n; k++)
        train[k].bytes = bytes;
    return (struct figures){
        .round_robin = nt_rails_simulate(rail, 2, train, n, NT_RAILS_ROUND_ROBIN, NULL),
        .weighted = nt_rails_simulate(rail, 2, train, n, NT_RAILS_WEIGHTED_ROBIN, NULL),
        .fair = nt_rails_simulate(rail, 2, train, n, NT_RAILS_FAIR, NULL),
        .vft = nt_rails_simulate(rail, 2, train, n, NT_RAILS_VFT, NULL),
        .earliest = nt_rails_simulate(rail, 2, train, n, NT_RAILS_EARLIEST, NULL),
        .alone = nt_rails_simulate(rail, 1, train, n, NT_RAILS_VFT, NULL)};
}

static struct figures run(struct nt_loggp a, struct nt_loggp b, double bytes)
{
    return run_train(a, b, bytes, MESSAGES);
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
    assert_above(ib.round_robin, 2 * ib.alone);
    assert_above(fe.round_robin, 4 * fe.alone);
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
    struct nt_rail_message train[MESSAGES] = {{0}};
    for (size_t k = 0; k < MESSAGES; k++) /* every second one large: round robin sends these all
                                             over one rail */
        train[k].bytes = k % 2 == 0 ? 65536 : 64;
    double robin = nt_rails_simulate(rail, 2, train, MESSAGES, NT_RAILS_ROUND_ROBIN, NULL);
    double vft = nt_rails_simulate(rail, 2, train, MESSAGES, NT_RAILS_VFT, NULL);
    assert_between("gain", robin / vft, 1.8, 2.1);
}

/* Section 4.3.4.2: of shares 3, 2, 1 the first three tasks are for A, two for B, one for C, and
 * again; section 4.3.4.3: by the smallest virtual finishing time, which begins with and grows by
 * 1/share: A B A, then equal ones in order. */
TEST(shares_of_three_two_and_one)
{
    struct nt_loggp a = loggp(1, 1.0 / 3, 1, 1), b = loggp(1, 1.0 / 2, 1, 1), c = loggp(1, 1, 1, 1);
    struct nt_rail rail[] = {{"a", &a, 1}, {"b", &b, 1}, {"c", &c, 1}};
    static const struct {
        enum nt_rail_policy policy;
        const char *order;
    } expected[] = {{NT_RAILS_ROUND_ROBIN, "abcabcabcabc"},
                    {NT_RAILS_WEIGHTED_ROBIN, "aaabbcaaabbc"},
                    {NT_RAILS_FAIR, "abaabcabaabc"}};
    for (size_t k = 0; k < 3; k++) {
        struct nt_rail_message train[12] = {{0}};
        double before[3] = {0}, carried[3];
        char order[13] = "";
        for (size_t n = 1; n <= 12; n++) {
            train[n - 1].bytes = 10;
            nt_rails_simulate(rail, 3, train, n, expected[k].policy, carried);
            for (size_t i = 0; i < 3; i++) {
                if (carried[i] > before[i])
                    order[n - 1] = "abc"[i];
                before[i] = carried[i];
            }
        }
        assert_string_equal(order, expected[k].order);
    }
}

/* The thesis's networks (table 3.5.3.1) by each policy, by hand. 16 messages of 8 bytes over
 * InfiniBand and TCP: in turn the last over TCP begins after eight o of InfiniBand and seven of
 * TCP, and takes 77.66 us; fair queuing gives the ninth to TCP, for which the weight is 8.2 times
 * smaller; the schedule leaves TCP alone. */
TEST(what_mpi_does_and_the_schedule)
{
    struct figures f = run_train(INFINIBAND, GIGABIT, 8, 16);
    assert_close(f.round_robin, 8 * 1.4 + 7 * 6.1 + 2 * 6.1 + 65.4 + 7 * 0.00849, 0.001);
    assert_close(f.fair, 8 * 1.4 + 2 * 6.1 + 65.4 + 7 * 0.00849, 0.001);
    assert_close(f.earliest, 15 * (1.4 + 7 * 0.00103) + 2 * 1.4 + 2.82 + 7 * 0.00103, 0.001);
    f = run_train(INFINIBAND, GIGABIT, 32768, 16);
    assert_between("in turn", f.round_robin, 2310.7, 2310.9);
    assert_close(f.fair, f.earliest, 1e-9);
    assert_between("fair", f.fair, 531.4, 531.5);
    f = run_train(INFINIBAND, MYRINET, 16384, 16); /* 13 of them over the first */
    assert_between("shares of four to one", f.weighted / f.alone, 0.75, 0.85);
    f = run_train(GIGABIT, FAST_ETHERNET, 4096, 16); /* without the message's bytes: 4.4.8 */
    assert_between("the final algorithm", f.vft / f.alone, 1.1, 1.3);
    assert_between("with the message's bytes", f.earliest, 611, 612);
    assert_between("one rail", f.alone, 647, 648);
}

/* Section 4.2: Open MPI divides a long message by bandwidths, 89 % for InfiniBand; then that waits
 * for the latency of TCP, and 64 KiB are slower than over InfiniBand alone. */
TEST(a_message_divided_by_bandwidths)
{
    struct nt_loggp a = INFINIBAND, b = GIGABIT;
    struct nt_rail rail[] = {{"a", &a, 1}, {"b", &b, 1}};
    const double bytes = 2097152, part = 0.00103 / (0.00103 + 0.00849);
    double time = nt_rails_by_bandwidth(rail, 2, bytes), parts[2];
    assert_close(time, 2 * 6.1 + 65.4 + (bytes * part - 1) * 0.00849, 1e-6);
    assert_between("so that all arrive together", nt_rails_split(rail, 2, bytes, parts), 1939.7,
                   1939.9);
    assert_between("InfiniBand's share", parts[0] / bytes, 0.89, 0.9);
    assert_above(nt_rails_by_bandwidth(rail, 2, 65536), 1.5 * nt_loggp_time_us(&a, 1, 65536));
}

/* Section 4.3.3.1: a message to each of several processes goes over the first rail only, since each
 * has a list of its own that begins there. Section 4.3.3.2: A is reached over rail 1 only, B over
 * both, which are identical, with two messages of one size that are sent in two parts: rail 1
 * carries three times as much as rail 2. The schedule knows what all messages keep busy (4.4.6). */
TEST(several_receivers_share_the_rails)
{
    struct nt_loggp a = GIGABIT, b = GIGABIT;
    struct nt_rail rail[] = {{"1", &a, 1}, {"2", &b, 1}};
    struct nt_rail_message each[NT_RAIL_HOSTS_MAX];
    double carried[2];
    for (uint32_t k = 0; k < NT_RAIL_HOSTS_MAX; k++)
        each[k] = (struct nt_rail_message){32768, k, 0};
    for (int p = 0; p <= NT_RAILS_FAIR; p++) {
        nt_rails_simulate(rail, 2, each, NT_RAIL_HOSTS_MAX, (enum nt_rail_policy)p, carried);
        assert_true(carried[0] == NT_RAIL_HOSTS_MAX * 32768.0 && carried[1] == 0);
    }
    nt_rails_simulate(rail, 2, each, NT_RAIL_HOSTS_MAX, NT_RAILS_EARLIEST, carried);
    assert_true(carried[0] == carried[1]);
    const struct nt_rail_message two[] = {
        {500e3, 0, 1}, {500e3, 1, 0}, {500e3, 0, 1}, {500e3, 1, 0}};
    nt_rails_simulate(rail, 2, two, 4, NT_RAILS_FAIR, carried);
    assert_true(carried[0] == 3 * carried[1]);
    double fair = nt_rails_simulate(rail, 2, two, 4, NT_RAILS_FAIR, NULL);
    double scheduled = nt_rails_simulate(rail, 2, two, 4, NT_RAILS_EARLIEST, carried);
    assert_true(carried[0] == carried[1]);
    assert_between("gain", fair / scheduled, 1.4, 1.5);
    for (int p = 0; p < NT_RAIL_POLICIES; p++) { /* nothing goes where it does not arrive */
        const struct nt_rail_message only[] = {{64, 0, 2}, {64, 0, 2}, {65536, 0, 2}};
        nt_rails_simulate(rail, 2, only, 3, (enum nt_rail_policy)p, carried);
        assert_true(carried[0] == 0 && carried[1] == 65664);
    }
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
    struct nt_rail_advice out;
    struct nt_loggp a = loggp(20, 0.0425, 5, 210), b = loggp(20, 0.2128, 5, 210);
    struct nt_rail rail[] = {{"fab1", &b, 1}, {"fab0", &a, 1}};
    must(nt_rails_advise(rail, 2, NULL, &out, &err));
    assert_int_equal(out.best, 1);
    assert_false(out.together); /* an even division waits for the slow rail */
    assert_between("an even division", out.loses, 2.3, 2.6);
    assert_true(out.range[0].min_bytes == 1 && out.range[out.ranges - 1].max_bytes == 4194304);
    assert_false(out.range[0].split);
    assert_true(out.range[out.ranges - 1].split);
    assert_between("share", out.range[out.ranges - 1].share[1], 0.82, 0.85);
    /* equal rails: together; and measured figures count more than the division */
    struct nt_rail equal[] = {{"fab0", &a, 1}, {"fab1", &a, 1}}, measured = {"all", &b, 1};
    must(nt_rails_advise(equal, 2, NULL, &out, &err));
    assert_true(out.together);
    must(nt_rails_advise(equal, 2, &measured, &out, &err));
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
    const struct nt_rail_message train[] = {{8, 0, 0}, {8, 0, 0}, {8, 0, 0}, {8, 0, 0}};
    for (int p = 0; p < NT_RAIL_POLICIES; p++) /* bare arrives as early, so each takes it */
        assert_true(isnan(nt_rails_simulate(one, 1, train, 4, (enum nt_rail_policy)p, NULL)));
    assert_true(isnan(nt_rails_simulate(both, 2, train, 4, NT_RAILS_ROUND_ROBIN, NULL)));
    double alone = nt_rails_simulate(equal, 1, train, 4, NT_RAILS_EARLIEST, NULL);
    assert_between("short ones",
                   nt_rails_simulate(equal, 2, train, 4, NT_RAILS_EARLIEST, NULL) / alone, 0.99, 1);
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
    assert_int_equal(nt_rails_from_map(&map, "same switch", rail, &together), 2);
    assert_string_equal(rail[0].name, "fab0");
    assert_int_equal(rail[0].regimes, 2);
    assert_int_equal(rail[1].regimes, 1);
    assert_int_equal(together.regimes, 1);
    assert_int_equal(nt_rails_from_map(&map, "through 3 switches", rail, &together), 1);
    assert_int_equal(together.regimes, 0);
    assert_int_equal(nt_rails_from_map(&map, "nowhere", rail, &together), 0);
    char devices[NT_RAILS_DEVICES_BYTES];
    assert_int_equal(nt_rails_devices(&map, devices), 1); /* "all" is no faster than one of both */
    assert_string_equal(devices, "fab0");
    map.loggps = 3; /* nothing is known of "all": dividing evenly pays */
    assert_int_equal(nt_rails_devices(&map, devices), 2);
    assert_string_equal(devices, "fab0,fab1");
    snprintf(g[2].rail, sizeof g[2].rail, "fab1;reboot");
    assert_int_equal(nt_rails_devices(&map, devices), 0);
    assert_string_equal(devices, "");
    map.loggps = 2;
    nt_rails_devices(&map, devices);
    assert_string_equal(devices, "");
}

RUN_TESTS
