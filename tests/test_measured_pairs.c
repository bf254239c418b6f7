/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "measured_pairs.h"
#include "rng.h"

/* Against a table of all pairs. */
TEST(each_pair_counts_once)
{
    enum { HOSTS = 61, NOTES = 3000 };
    static bool seen[HOSTS][HOSTS];
    uint32_t partners[HOSTS] = {0};
    size_t pairs = 0;
    struct nt_measured_pairs measured;
    struct nt_rng rng;
    nt_rng_init(&rng, 7);
    assert_int_equal(nt_measured_pairs_init(&measured, HOSTS, NULL), 0);
    for (int k = 0; k < NOTES; k++) {
        uint32_t a = (uint32_t)nt_rng_below(&rng, HOSTS), b = (uint32_t)nt_rng_below(&rng, HOSTS);
        assert_int_equal(nt_measured_pairs_note(&measured, a, b, NULL), 0);
        if (a == b || seen[a][b])
            continue;
        seen[a][b] = seen[b][a] = true;
        partners[a]++;
        partners[b]++;
        pairs++;
    }
    assert_int_equal(measured.pairs, pairs);
    assert_memory_equal(measured.partners, partners, sizeof partners);
    nt_measured_pairs_fini(&measured);
    nt_measured_pairs_fini(&measured);
}

/* Twelve partners each of 65,536 hosts: as much memory as there are pairs. */
TEST(many_hosts_cost_what_they_measure)
{
    enum { HOSTS = 65536, ROUNDS = 12 };
    struct nt_measured_pairs measured;
    assert_int_equal(nt_measured_pairs_init(&measured, HOSTS, NULL), 0);
    for (uint32_t round = 0; round < ROUNDS; round++)
        for (uint32_t a = 0; a < HOSTS; a++)
            if ((a & 1u << round) == 0)
                assert_int_equal(nt_measured_pairs_note(&measured, a, a | 1u << round, NULL), 0);
    assert_int_equal(measured.pairs, ROUNDS * HOSTS / 2);
    assert_true(measured.bit == NULL && measured.capacity <= 4 * measured.pairs);
    for (size_t h = 0; h < HOSTS; h++)
        assert_int_equal(measured.partners[h], ROUNDS);
    nt_measured_pairs_fini(&measured);
}

/* All pairs, twice: a bit each, from where slots would be more. */
TEST(all_pairs_take_a_bit_each)
{
    enum { HOSTS = 700 };
    struct nt_measured_pairs measured;
    assert_int_equal(nt_measured_pairs_init(&measured, HOSTS, NULL), 0);
    for (int twice = 0; twice < 2; twice++)
        for (uint32_t a = 0; a < HOSTS; a++)
            for (uint32_t b = 0; b < HOSTS; b++) {
                assert_int_equal(nt_measured_pairs_note(&measured, a, b, NULL), 0);
                assert_at_most(64 * measured.capacity, HOSTS * HOSTS / 2);
            }
    assert_int_equal(measured.pairs, HOSTS * (HOSTS - 1) / 2);
    assert_true(measured.bit != NULL && measured.capacity == 0);
    for (size_t h = 0; h < HOSTS; h++)
        assert_int_equal(measured.partners[h], HOSTS - 1);
    nt_measured_pairs_fini(&measured);
}

RUN_TESTS
