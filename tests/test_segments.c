/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "reach.h"
#include "rng.h"
#include "segments.h"

enum { N = 60 };

/* Three pieces: 0..19 falls nowhere, 20..39 steep after a jump up, 40.. flat after one down. */
static double truth(double x)
{
    if (x < 20)
        return 10 + 0.5 * x;
    return x < 40 ? 40 + 2 * x : 60;
}

static void fill(struct nt_point *p, double noise, uint64_t seed)
{
    struct nt_rng rng;
    nt_rng_init(&rng, seed);
    for (size_t i = 0; i < N; i++)
        p[i] = (struct nt_point){(double)i, truth((double)i) + noise * nt_rng_normal(&rng),
                                 noise > 0 ? noise : 0.1};
}

static const struct nt_segments_limits LIMITS = {0, 3, 8};

TEST(pieces_and_their_ends_are_found)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct nt_point p[N];
        struct nt_line line[NT_SEGMENTS_MAX];
        size_t n = 0;
        fill(p, seed == 0 ? 0 : 0.5, seed);
        must(nt_segments_fit(p, N, &LIMITS, line, &n, &err));
        assert_int_equal(n, 3);
        assert_int_equal(line[0].first, 0);
        assert_int_equal(line[1].first, 20);
        assert_int_equal(line[2].first, 40);
        assert_int_equal(line[2].count, 20);
        assert_at_most(fabs(line[1].slope - 2), 4 * line[1].slope_se + 1e-9);
        assert_at_most(fabs(line[1].level - 40), 4 * line[1].level_se + 1e-9);
        assert_below(line[2].slope, 0.2);
        assert_above(line[1].r2, 0.99);
    }
}

TEST(one_line_stays_one)
{
    unsigned more = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct nt_point p[N];
        struct nt_line line[NT_SEGMENTS_MAX];
        struct nt_rng rng;
        size_t n = 0;
        nt_rng_init(&rng, seed);
        for (size_t i = 0; i < N; i++)
            p[i] = (struct nt_point){(double)i, 5 + 3 * (double)i + nt_rng_normal(&rng), 1};
        must(nt_segments_fit(p, N, &LIMITS, line, &n, &err));
        more += n > 1;
    }
    assert_at_most(more, 4);
}

TEST(lines_never_fall)
{
    const struct nt_point p[] = {{1, 9, 1}, {2, 6, 1}, {3, 3, 1}};
    struct nt_line line;
    nt_line_fit(p, 3, 0, &line);
    assert_true(line.slope == 0);
    assert_close(line.level, 6, 1e-9);
    nt_line_fit(p, 1, 0, &line);
    assert_true(line.slope == 0 && line.level == 9);
}

TEST(bounds)
{
    struct nt_line line[NT_SEGMENTS_MAX];
    const struct nt_point p[] = {{1, 1, 1}, {2, 2, 1}};
    size_t n = 0;
    assert_int_equal(nt_segments_fit(p, 0, &LIMITS, line, &n, &err), -1);
    assert_int_equal(nt_segments_fit(p, NT_SEGMENTS_POINTS_MAX + 1, &LIMITS, line, &n, &err), -1);
    assert_int_equal(n, 0);
    must(nt_segments_fit(p, 2, &LIMITS, line, &n, &err));
    assert_int_equal(n, 1);
    assert_int_equal(line[0].count, 2);
}

/* h0 - s0 - s1 - h1, and h2 that nothing joins. */
TEST(ways_through_a_model)
{
    SCOPED(model) *m;
    struct nt_reach *r;
    must(nt_model_create(3, 2, 3, &m, &err));
    static const uint32_t ends[3][2] = {{0, 3}, {1, 4}, {3, 4}};
    for (size_t k = 0; k < 3; k++) {
        m->link[k].a = ends[k][0];
        m->link[k].b = ends[k][1];
    }
    must(nt_reach_create(m, 0, &r, &err));
    assert_int_equal(r->hops[1], 3);
    assert_int_equal(r->switches[1], 2);
    assert_int_equal(r->hops[2], NT_REACH_NONE);
    assert_int_equal(r->hops[0], NT_REACH_NONE);
    assert_int_equal(r->link[1], 1);
    assert_int_equal(r->from[1], 4);
    assert_int_equal(r->from[4], 3);
    nt_reach_destroy(r);
    assert_int_equal(nt_reach_create(m, 5, &r, &err), -1);
}

RUN_TESTS
