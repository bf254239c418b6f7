/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep that starts from what is believed: few rounds where that is right, and the truth or
 * nothing where it is wrong. */
#include "asserts.h"
#include "made_belief.h"
#include "made_network.h"
#include "measure.h"
#include "shape.h"
#include "sweep_prior.h"

struct swept {
    enum nt_sparse_verdict verdict;
    size_t rounds;
    bool exact; /* the network has the shape of the truth */
    double confidence;
};

/* Drives the sweep over the network. */
static struct swept swept_from(const struct nt_belief *belief, const struct nt_network *n,
                               const struct nt_model *truth, struct nt_measure_noise noise,
                               uint64_t seed)
{
    struct nt_planner *p;
    struct nt_order o;
    struct swept s = {0};
    struct nt_result *result = calloc(n->hosts + 1, sizeof *result);
    bool *busy = calloc(n->hosts + 1, sizeof *busy);
    int more;
    const struct nt_sweep_setup setup = {belief->hosts, NULL, 0, 3, 10, seed};
    if (nt_sweep_prior_create(belief, &setup, &p, &err) < 0)
        fail_msg("%s", err.text);
    while ((more = p->ops->next(p, &o, &err)) > 0) {
        size_t told = 0;
        memset(busy, 0, n->hosts);
        for (size_t k = 0; k < o.pairs; k++) {
            uint32_t a = o.pair[k][0], b = o.pair[k][1];
            assert_true(a < n->hosts && b < n->hosts && a != b && !busy[a] && !busy[b]);
            busy[a] = busy[b] = true;
            struct nt_reading r =
                nt_measure_batches(n, &noise, a, b, (uint32_t)s.rounds, o.batches);
            if (!isnan(r.value_us))
                result[told++] = (struct nt_result){.a = a,
                                                    .b = b,
                                                    .ok = true,
                                                    .value_us = r.value_us,
                                                    .se_us = r.se_us,
                                                    .count = o.batches * o.count};
        }
        s.rounds++;
        assert_below(s.rounds, 100 + 2 * n->hosts);
        assert_int_equal(p->ops->tell(p, result, told, &err), 0);
    }
    if (more < 0)
        fail_msg("%s", err.text);
    s.verdict = nt_sweep_prior_verdict(p);
    if (s.verdict == NT_SPARSE_SOUND) {
        struct nt_sparse known;
        SCOPED(model) *found = NULL;
        if (nt_sweep_prior_network(p, &known, &err) < 0 ||
            nt_sparse_model(&known, &found, &err) < 0)
            fail_msg("%s", err.text);
        s.exact = nt_shape_equal(found, truth);
        s.confidence = found->confidence;
        nt_sparse_fini(&known);
    }
    free(result);
    free(busy);
    nt_planner_destroy(p);
    return s;
}

static uint32_t *at_home(size_t hosts)
{
    uint32_t *stands = calloc(hosts + 1, sizeof *stands);
    for (uint32_t h = 0; h < hosts; h++)
        stands[h] = h;
    return stands;
}

/* What is believed is true. */
TEST(test_right)
{
    static const struct {
        const char *topology;
        double sd, outliers;
        unsigned seeds;
        size_t most;
    } table[] = {
        {"tree:4x4", 0.02, 0, 40, 5},      {"tree:8x8", 0.02, 0.01, 40, 5},
        {"tree:4x16", 0.02, 0.01, 40, 5},  {"tree:4x4x4", 0.02, 0.01, 40, 6},
        {"tree:8x8", 0.05, 0.05, 40, 9},   {"tree:8x128", 0.02, 0.01, 5, 8},
        {"tree:4x8x32", 0.02, 0.01, 5, 8}, {"tree:8x8x16", 0.03, 0.01, 5, 8},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_network *n = made_machine(table[k].topology);
        struct nt_model *truth = true_model(n);
        struct nt_belief *belief = belief_of(truth, NULL);
        unsigned open = 0;
        size_t most = 0;
        double least = 1;
        for (uint64_t seed = 1; seed <= table[k].seeds; seed++) {
            struct swept s =
                swept_from(belief, n, truth,
                           (struct nt_measure_noise){
                               .sd = table[k].sd, .outliers = table[k].outliers, .seed = seed},
                           seed);
            open += s.verdict != NT_SPARSE_SOUND;
            if (s.verdict != NT_SPARSE_SOUND) {
                print_message("%s seed %u: verdict %d\n", table[k].topology, (unsigned)seed,
                              (int)s.verdict);
                continue;
            }
            assert_true(s.exact);
            most = s.rounds > most ? s.rounds : most;
            least = fmin(least, s.confidence);
        }
        print_message("%s: %u of %u open, at most %zu rounds, confidence from %.3f\n",
                      table[k].topology, open, table[k].seeds, most, least);
        if (most > table[k].most)
            fail_msg("%s: %zu rounds", table[k].topology, most);
        nt_belief_destroy(belief);
        nt_model_destroy(truth);
        nt_network_destroy(n);
    }
}

/* Hosts were moved, two leaves exchanged, a leaf went to another pod, all are elsewhere. */
TEST(test_wrong)
{
    static const char *const table[] = {"tree:4x4", "tree:8x8", "tree:4x4x4", "tree:3x3x6",
                                        "star:20"};
    enum { KINDS = 6 };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        SCOPED(network) *n = made_machine(table[k]);
        SCOPED(model) *truth = true_model(n);
        unsigned sound[KINDS] = {0}, refuted[KINDS] = {0};
        size_t most[KINDS] = {0};
        for (uint64_t seed = 1; seed <= 30 * KINDS; seed++) {
            size_t kind = seed % KINDS;
            struct nt_rng rng;
            uint32_t *stands = at_home(n->hosts);
            nt_rng_init(&rng, seed);
            size_t moved = kind < 3 ? kind + 1 : 0;
            for (size_t i = 0; i < moved; i++) { /* exchanges: the belief is of the same network */
                size_t x = nt_rng_below(&rng, n->hosts), y = nt_rng_below(&rng, n->hosts);
                uint32_t swap = stands[x];
                stands[x] = stands[y];
                stands[y] = swap;
            }
            if (kind == 3)
                nt_rng_shuffle(&rng, stands, n->hosts);
            if (kind == 4) /* another order of the same names */
                for (uint32_t h = 0; h < n->hosts; h++)
                    stands[h] = (uint32_t)((h + 3) % n->hosts);
            SCOPED(belief) *belief = belief_of(truth, stands);
            if (kind == 5 && belief->levels > 1) /* some are not known */
                for (size_t i = 0; i < n->hosts / 5; i++) {
                    size_t h = nt_rng_below(&rng, n->hosts);
                    for (size_t l = 0; l + 1 < belief->levels; l++)
                        belief->cluster[l * n->hosts + h] = NT_BELIEF_LOOSE;
                }
            struct swept s = swept_from(
                belief, n, truth,
                (struct nt_measure_noise){.sd = 0.02, .outliers = 0.01, .seed = seed}, seed);
            if (s.verdict == NT_SPARSE_SOUND && !s.exact)
                fail_msg("%s seed %u: another network", table[k], (unsigned)seed);
            sound[kind] += s.verdict == NT_SPARSE_SOUND;
            refuted[kind] += s.verdict != NT_SPARSE_SOUND;
            most[kind] = s.rounds > most[kind] ? s.rounds : most[kind];
            free(stands);
        }
        for (size_t i = 0; i < KINDS; i++)
            print_message("%s kind %zu: %u found, %u given up, at most %zu rounds\n", table[k], i,
                          sound[i], refuted[i], most[i]);
    }
}

/* A belief of one network about another. */
TEST(test_other_network)
{
    static const char *const table[] = {"star:24",   "tree:4x6", "tree:6x4", "tree:2x3x4",
                                        "tree:12x2", "torus:24", "torus:4x6"};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        for (size_t i = 0; i < 5; i++) {
            SCOPED(network) *n = made_machine(table[k]), *other = made_machine(table[i]);
            SCOPED(model) *truth = true_model(n), *others = true_model(other);
            SCOPED(belief) *belief = belief_of(others, NULL);
            unsigned wrong = 0;
            for (uint64_t seed = 1; seed <= 40; seed++) {
                struct swept s = swept_from(
                    belief, n, truth,
                    (struct nt_measure_noise){.sd = 0.02, .outliers = 0.01, .seed = seed}, seed);
                wrong += s.verdict == NT_SPARSE_SOUND && !s.exact;
            }
            assert_int_equal(wrong, 0);
        }
}

RUN_TESTS
