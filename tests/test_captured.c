/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps that were measured on emulated fabrics: tests/data/samples, and the fabrics behind them.
 */
#include "asserts.h"
#include "known_network.h"
#include "samples.h"

static struct nt_matrix *latency_of(const char *path, struct nt_matrix **error)
{
    static char text[1 << 16];
    struct nt_samples_reader *r;
    struct nt_samples *s;
    struct nt_matrix *m;
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    known_must(nt_samples_reader_create(path, &r, &err), &err);
    for (size_t got; (got = fread(text, 1, sizeof text, f)) > 0;)
        known_must(nt_samples_reader_feed(r, text, got, &err), &err);
    fclose(f);
    known_must(nt_samples_reader_finish(r, &s, &err), &err);
    nt_samples_reader_destroy(r);
    known_must(nt_samples_latency(s, 0, &m, error, &err), &err);
    nt_samples_destroy(s);
    return m;
}

/* A fabric's hosts and their switches, the last of which is the root. */
struct fabric {
    size_t hosts, switches;
    uint32_t at[15], parent[6];
    double host_us, up_us[6];
};

static void is_found(const struct fabric *f, const char *path)
{
    struct nt_matrix *error, *x = latency_of(path, &error);
    struct nt_model *m,
        *truth = known_tree(f->hosts, f->at, f->host_us, f->switches, f->parent, f->up_us);
    known_must(nt_model_canonicalise(truth, &err), &err);
    known_must(nt_infer_latency(x, error, 1, &m, &err), &err);
    assert_true(known_same_shape(truth, m));
    nt_matrix_destroy(x);
    nt_matrix_destroy(error);
    nt_model_destroy(truth);
    nt_model_destroy(m);
}

/* uneven12.fabric: leaves of two, three and four, one host above two leaves, two at the core. */
TEST(test_uneven12)
{
    static const struct fabric uneven = {
        12, 5, {0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 4, 4}, {3, 3, 4, 4, 4}, 100, {100, 100, 200, 200, 0}};
    is_found(&uneven, "tests/data/samples/uneven12-1.samples");
    is_found(&uneven, "tests/data/samples/uneven12-2.samples");
}

/* Four leaves and one host; of one leaf the readings of one host to the other three were late, and
 * their standard errors say so. */
TEST(test_disturbed15)
{
    static const struct fabric leaves = {15,
                                         5,
                                         {0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4},
                                         {4, 4, 4, 4, 4},
                                         180,
                                         {260, 260, 260, 260, 0}};
    is_found(&leaves, "tests/data/samples/disturbed15.samples");
}

/* Three hosts and three; the first host's link became 80 us longer in the sweep. */
TEST(test_changed6)
{
    static const struct fabric two = {6, 2, {1, 1, 1, 0, 0, 0}, {1, 1}, 175, {520, 0}};
    is_found(&two, "tests/data/samples/changed6.samples");
}

/* Six hosts and two; one of the readings of two of the six was 13 us too low. */
TEST(test_low8)
{
    static const struct fabric two = {8, 2, {1, 1, 1, 1, 1, 1, 0, 0}, {1, 1}, 175, {520, 0}};
    is_found(&two, "tests/data/samples/low8.samples");
}

/* The same; one of three readings between two of the six was low, and of a few other pairs, too:
 * the others of each do not agree with it. */
TEST(test_unsteady8)
{
    static const struct fabric two = {8, 2, {0, 0, 0, 0, 0, 0, 1, 1}, {0, 0}, 175, {0, 520}};
    is_found(&two, "tests/data/samples/unsteady8.samples");
}

/* Leaves of two, two, four, three and two; near readings were as noisy as far ones, and two of the
 * leaf of four were low, of different hosts. */
TEST(test_flat13)
{
    static const struct fabric leaves = {13,
                                         6,
                                         {0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4},
                                         {5, 5, 5, 5, 5, 5},
                                         175,
                                         {260, 260, 260, 260, 260, 0}};
    is_found(&leaves, "tests/data/samples/flat13.samples");
}

/* Five hosts and two; of the five three were 6 us nearer to each other. */
TEST(test_triple7)
{
    static const struct fabric two = {7, 2, {0, 0, 0, 0, 0, 1, 1}, {0, 0}, 175, {0, 520}};
    is_found(&two, "tests/data/samples/triple7.samples");
}

RUN_TESTS
