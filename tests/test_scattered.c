/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps of jobs whose hosts are scattered over leaves: what some pairs determine is right, or the
 * map says that it is uncertain. */
#include "asserts.h"
#include "map_json.h"
#include "recorded_sweep.h"
#include "scattered_network.h"
#include "shape.h"
#include "solve.h"

static size_t jobs(void)
{
    return draws(2, 12);
}

static const double SURE = 0.9;

struct tally {
    unsigned verified, exact, sure, wrong; /* of those verified; wrong: and sure */
    size_t rounds;
};

/* As nettopo validate: among others no switch is stated that is less sure than not. */
static void assert_valid(const struct nt_map *map)
{
    struct nt_findings findings = {0};
    assert_int_equal(nt_map_check(map, &findings, NULL), 0);
    if (findings.count > 0)
        fail_msg("%zu findings, the first %s", findings.count, findings.line[0]);
    nt_findings_fini(&findings);
}

static struct tally swept(const struct scattered *job, enum nt_sweep_mode mode)
{
    struct tally t = {0};
    for (uint64_t seed = 1; seed <= jobs(); seed++) {
        SCOPED(network) *n = scattered_network(job, seed);
        SCOPED(model) *truth = scattered_truth(n);
        struct recording how = {.level = NT_LEVEL_QUICK,
                                .mode = mode,
                                .noise = {.sd = 0.02, .outliers = 0.01, .seed = seed}};
        struct recorded r = record_sweep(n, &how);
        struct nt_map *map;
        assert_int_equal(nt_solve_samples(r.samples, NULL, NULL, &map, NULL), 0);
        assert_valid(map);
        bool exact = nt_shape_equal(map->model, truth), sure = map->model->confidence >= SURE;
        t.verified += r.verified;
        t.exact += r.verified && exact;
        t.sure += r.verified && sure;
        t.wrong += r.verified && sure && !exact;
        t.rounds += r.rounds;
        nt_map_destroy(map);
        nt_samples_destroy(r.samples);
    }
    print_message("%3zu hosts, %2zu pairs, %2zu triples, %zu pods: %2u verified, %2u exact, %2u "
                  "sure, %u of them wrong; %zu rounds\n",
                  scattered_hosts(job), job->pairs, job->triples, job->pods, t.verified, t.exact,
                  t.sure, t.wrong, t.rounds / jobs());
    return t;
}

TEST(pairs_do_not_hide)
{
    static const struct scattered job[] = {
        {.pairs = 1, .singles = 22, .host_us = 0.56, .up_us = 0.15},
        {.pairs = 3, .singles = 18, .host_us = 0.56, .up_us = 0.15},
        {.pairs = 8, .singles = 16, .host_us = 0.56, .up_us = 0.08},
        {.pairs = 4, .singles = 56, .host_us = 0.56, .up_us = 0.15},
        {.pairs = 16, .singles = 32, .host_us = 0.56, .up_us = 0.15},
        {.pairs = 4, .singles = 120, .host_us = 0.56, .up_us = 0.15},
        {.triples = 2, .singles = 122, .host_us = 0.56, .up_us = 0.15},
        {.pairs = 16, .singles = 32, .host_us = 0.56, .up_us = 0.15, .pods = 4, .pod_us = 0.15},
    };
    for (size_t k = 0; k < sizeof job / sizeof *job; k++)
        assert_int_equal(swept(&job[k], NT_SWEEP_AUTO).wrong, 0);
}

/* Hosts of one switch are determined in hardly more rounds than one and a half passes, and by their
 * record, too, when nothing was left to verify. */
TEST(a_switch_of_single_hosts_is_sure)
{
    for (size_t hosts = 4; hosts <= 200; hosts += hosts < 8 ? 1 : 64) {
        struct scattered job = {.singles = hosts, .host_us = 0.56, .up_us = 0.15};
        struct tally t = swept(&job, NT_SWEEP_ADAPTIVE);
        assert_at_least(12 * t.verified, 11 * jobs());
        assert_int_equal(t.exact, t.verified);
        assert_int_equal(t.sure, t.verified);
        assert_at_most(2 * t.rounds, (3 * hosts + 30) * jobs());
    }
}

/* Of more hosts not every pair is asked for, and the map says what that means. */
TEST(of_many_alike_nobody_is_sure)
{
    static const struct scattered job[] = {
        {.singles = 300, .host_us = 0.56, .up_us = 0.15},
        {.pairs = 3, .singles = 294, .host_us = 0.56, .up_us = 0.15},
    };
    for (size_t k = 0; k < 2; k++) {
        struct tally t = swept(&job[k], NT_SWEEP_AUTO);
        assert_at_least(2 * t.verified, jobs());
        assert_int_equal(t.sure, 0);
    }
}

TEST(leaves_of_a_few_are_found)
{
    static const struct scattered job[] = {
        {.pairs = 6, .triples = 6, .singles = 2, .host_us = 0.56, .up_us = 0.15},
        {.pairs = 6, .triples = 6, .quads = 6, .singles = 10, .host_us = 0.56, .up_us = 0.08},
        {.pairs = 12, .triples = 12, .quads = 12, .singles = 20, .host_us = 0.56, .up_us = 0.15},
    };
    for (size_t k = 0; k < 3; k++) {
        struct tally t = swept(&job[k], NT_SWEEP_AUTO);
        assert_at_least(6 * t.exact, 5 * jobs());
        assert_at_least(6 * t.sure, 5 * jobs());
        assert_int_equal(t.wrong, 0);
    }
}

RUN_TESTS
