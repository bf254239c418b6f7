/* SPDX-License-Identifier: Apache-2.0 */
/* What counts as equal to a placement, and which of equal seatings is taken. */
#include "asserts.h"
#include "equal_parts.h"
#include "known_network.h"
#include "steady.h"

/* Figures of hosts' links on one switch. */
TEST(figures_within_their_errors_are_made_equal)
{
    static const struct {
        double us[6], se;
        bool suspect; /* the last */
        double to[6];
    } table[] = {
        {{1, 1.02, 1.04, 1.05, 1.06, 1.07},
         0.001,
         false,
         {1.045, 1.045, 1.045, 1.045, 1.045, 1.045}},
        {{1, 1, 1, 2, 2, 2}, 0.001, false, {1, 1, 1, 2, 2, 2}},
        {{1, 1, 1, 2, 2, 2}, 0.3, false, {1.5, 1.5, 1.5, 1.5, 1.5, 1.5}},
        {{1, 1, 1, 1, 1, 1.05}, 0.001, true, {1, 1, 1, 1, 1, 1.05}},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        SCOPED(model) *m, *alike;
        must(nt_model_create(6, 1, 6, &m, &err));
        for (uint32_t h = 0; h < 6; h++)
            m->link[h] = (struct nt_link){.a = h,
                                          .b = 6,
                                          .latency_us = table[k].us[h],
                                          .latency_se_us = table[k].se,
                                          .bandwidth_MBps = NAN,
                                          .bandwidth_back_MBps = NAN,
                                          .suspect = h == 5 && table[k].suspect};
        must(nt_equal_figures_create(m, &alike, &err));
        for (size_t h = 0; h < 6; h++)
            if (fabs(alike->link[h].latency_us - table[k].to[h]) > 1e-9)
                fail_msg("row %zu: link %zu has %g us", k, h, alike->link[h].latency_us);
    }
}

/* Leaves of the network: 0 2 4 and 1 3 5, the last host on a longer link. */
TEST(the_first_ranks_are_on_the_first_hosts)
{
    static const struct {
        double last_us;
        uint32_t was[6], is[6];
    } table[] = {
        {1, {5, 1, 3, 4, 0, 2}, {0, 2, 4, 1, 3, 5}}, /* leaves and hosts are alike */
        {1, {0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5}},
        {1, {4, 1, 2, 3, 0, 5}, {0, 1, 2, 3, 4, 5}},
        {2, {5, 1, 3, 4, 0, 2}, {5, 1, 3, 0, 2, 4}}, /* rank 0 is on the long link: so it stays */
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        const uint32_t capacity[6] = {1, 1, 1, 1, 1, 1};
        uint32_t seats[6];
        SCOPED(model) *m;
        must(nt_model_create(6, 2, 7, &m, &err));
        for (uint32_t h = 0; h < 7; h++)
            m->link[h] = (struct nt_link){.a = h,
                                          .b = h == 6 ? 7 : 6 + h % 2,
                                          .latency_us = h == 5 ? table[k].last_us : 1,
                                          .bandwidth_MBps = 100,
                                          .bandwidth_back_MBps = 100};
        memcpy(seats, table[k].was, sizeof seats);
        must(nt_equal_parts_order(m, capacity, 6, seats, &err));
        for (size_t r = 0; r < 6; r++)
            if (seats[r] != table[k].is[r])
                fail_msg("row %zu: rank %zu on host %u", k, r, seats[r]);
    }
}

/* Any seating stays as good: parts change places with their like alone. */
TEST(an_order_costs_what_it_did)
{
    struct nt_rng rng;
    nt_rng_init(&rng, 11);
    for (int turn = 0; turn < 200; turn++) {
        SCOPED(model) *m = known_uneven(&rng);
        SCOPED(matrix) *us;
        uint32_t *seats = calloc(m->hosts, sizeof *seats), *was = calloc(m->hosts, sizeof *was);
        uint32_t *capacity = calloc(m->hosts, sizeof *capacity);
        for (uint32_t h = 0; h < m->hosts; h++) {
            seats[h] = h;
            capacity[h] = 1;
        }
        nt_rng_shuffle(&rng, seats, m->hosts);
        memcpy(was, seats, m->hosts * sizeof *was);
        must(nt_model_latencies(m, &us, &err));
        must(nt_equal_parts_order(m, capacity, m->hosts, seats, &err));
        for (size_t a = 0; a < m->hosts; a++)
            for (size_t b = 0; b < a; b++)
                assert_close((double)nt_matrix_get(us, was[a], was[b]),
                             (double)nt_matrix_get(us, seats[a], seats[b]), 1e-5);
        free(seats);
        free(was);
        free(capacity);
    }
}

/* make bench steady has more. */
TEST(noise_changes_no_order)
{
    static const char *const specs[] = {"star:5", "tree:2x4", "tree:3x2x3"};
    double gain;
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
        for (int rates = 0; rates < 2; rates++) {
            size_t same = steady_count(specs[s], 0.05, rates, "ring", &gain);
            if (same < STEADY_SWEEPS - 1 || (s == 0 && gain > 1))
                fail_msg("%s: %zu of 20, gain %g", specs[s], same, gain);
        }
}

RUN_TESTS
