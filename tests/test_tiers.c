/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "rng.h"
#include "search.h"
#include "tiers.h"
#include "wide_noise.h"

enum { HOSTS = 32, VALUES = HOSTS * HOSTS };

struct known {
    uint32_t hosts, leaf[HOSTS], pod[HOSTS];
    double end[HOSTS], leaf_us, pod_us;
    size_t count;
    struct nt_pair_value value[VALUES];
};

/* per_leaf hosts on each leaf, two leaves per pod; ends of 0.6 us, uplinks of 0.15 and 0.2 us. */
static void draw(struct known *k, uint32_t hosts, uint32_t per_leaf, double noise,
                 struct nt_rng *rng)
{
    *k = (struct known){.hosts = hosts, .leaf_us = 0.15, .pod_us = 0.2};
    for (uint32_t i = 0; i < hosts; i++) {
        k->leaf[i] = i / per_leaf;
        k->pod[i] = k->leaf[i] / 2;
        k->end[i] = 0.6 * (1 + 0.003 * nt_rng_normal(rng));
    }
    for (uint32_t i = 0; i < hosts; i++)
        for (uint32_t j = 0; j < hosts; j++) {
            double us = k->end[i] + k->end[j] + (k->leaf[i] != k->leaf[j] ? 2 * k->leaf_us : 0) +
                        (k->pod[i] != k->pod[j] ? 2 * k->pod_us : 0);
            if (i != j)
                k->value[k->count++] = (struct nt_pair_value){
                    .a = i, .b = j, .us = us * (1 + noise * nt_rng_normal(rng))};
        }
}

static struct nt_tiers *solve(const struct known *k)
{
    struct nt_pairs *p = NULL;
    struct nt_tiers *t = NULL;
    assert_int_equal(nt_pairs_create(k->hosts, k->value, k->count, &p, NULL), 0);
    assert_int_equal(nt_tiers_solve(p, &t, NULL), 0);
    nt_pairs_destroy(p);
    return t;
}

/* The search alone; *pairs: what it is of. */
static struct nt_search *search(const struct known *k, struct nt_pairs **pairs)
{
    struct nt_search *s = NULL;
    assert_int_equal(nt_pairs_create(k->hosts, k->value, k->count, pairs, NULL), 0);
    assert_int_equal(nt_search_create(*pairs, &s, NULL), 0);
    return s;
}

static size_t outliers_of(const struct known *k)
{
    struct nt_pairs *p = NULL;
    struct nt_search *s = search(k, &p);
    size_t count = s->outliers.count;
    nt_search_destroy(s);
    nt_pairs_destroy(p);
    return count;
}

static bool below(const struct nt_tiers *t, uint32_t host, uint32_t group)
{
    uint32_t g = t->group_of[host];
    while (g != NT_TIERS_NONE && g != group)
        g = t->group[g].parent;
    return g == group;
}

/* The group of exactly the hosts with this label, or NT_TIERS_NONE. */
static uint32_t group_of(const struct nt_tiers *t, const uint32_t *label, uint32_t wanted)
{
    for (uint32_t g = 0; g < t->groups; g++) {
        bool same = true;
        for (uint32_t i = 0; i < t->hosts; i++)
            same = same && below(t, i, g) == (label[i] == wanted);
        if (same)
            return g;
    }
    return NT_TIERS_NONE;
}

TEST(a_known_network_is_found)
{
    static const uint32_t size[][2] = {{8, 2}, {16, 4}, {32, 4}, {32, 2}};
    for (size_t c = 0; c < sizeof size / sizeof *size; c++) {
        struct nt_rng rng;
        struct known k;
        nt_rng_init(&rng, c + 1);
        draw(&k, size[c][0], size[c][1], 0.01, &rng);
        SCOPED(tiers) *t = solve(&k);
        uint32_t leaves = k.leaf[k.hosts - 1] + 1, pods = k.pod[k.hosts - 1] + 1;
        assert_int_equal(t->groups, leaves + pods);
        assert_above(t->confidence, 0.9);
        for (uint32_t a = 0; a < leaves; a++) {
            uint32_t g = group_of(t, k.leaf, a);
            assert_int_not_equal(g, NT_TIERS_NONE);
            assert_below(fabs(t->group[g].length_us - k.leaf_us), 5 * t->group[g].error_us + 0.002);
            assert_below(t->group[g].error_us, 0.02);
        }
        for (uint32_t a = 0; a < pods; a++)
            assert_int_not_equal(group_of(t, k.pod, a), NT_TIERS_NONE);
        for (uint32_t i = 0; i < k.hosts; i++)
            assert_below(fabs(t->end_us[i] - k.end[i]), 5 * t->end_error_us[i] + 0.002);
        assert_above(t->noise_us, 0.005);
        assert_below(t->noise_us, 0.03);
    }
}

/* Switches of an uneven tree: parent, before the switch, and hosts. Switch 0 is the root. */
struct uneven {
    uint32_t parent, hosts;
};

/* ln of the links' lengths is uniform over a factor of 4. Returns whether each switch with two
 * hosts or more below it is a group. */
static bool is_uneven_found(const struct uneven *tree, uint32_t switches, uint64_t seed)
{
    struct nt_rng rng;
    struct known k = {.hosts = 0};
    uint32_t at[HOSTS], in[HOSTS];
    double up[16] = {0};
    nt_rng_init(&rng, seed);
    for (uint32_t s = 0; s < switches; s++) {
        up[s] = s > 0 ? 0.1 * pow(4, nt_rng_uniform(&rng)) : 0;
        for (uint32_t h = 0; h < tree[s].hosts; h++)
            at[k.hosts++] = s;
    }
    for (uint32_t i = 0; i < k.hosts; i++)
        for (uint32_t j = 0; j < k.hosts; j++) {
            double us = 1.2;
            for (uint32_t a = at[i], b = at[j]; a != b;) { /* the later switch is the lower one */
                us += up[a > b ? a : b];
                *(a > b ? &a : &b) = tree[a > b ? a : b].parent;
            }
            if (i != j)
                k.value[k.count++] = (struct nt_pair_value){
                    .a = i, .b = j, .us = us * (1 + 0.006 * nt_rng_normal(&rng))};
        }
    SCOPED(tiers) *t = solve(&k);
    bool found = true;
    for (uint32_t s = 1; s < switches; s++) {
        for (uint32_t i = 0; i < k.hosts; i++) {
            uint32_t v = at[i];
            while (v > s)
                v = tree[v].parent;
            in[i] = v == s;
        }
        /* or all other hosts, if the root is elsewhere */
        found =
            found && (group_of(t, in, 1) != NT_TIERS_NONE || group_of(t, in, 0) != NT_TIERS_NONE);
    }
    return found;
}

TEST(links_of_one_tier_can_be_unlike)
{
    static const struct uneven tree[] = {{0, 2}, {0, 0}, {1, 2}, {2, 4}, {1, 1},
                                         {4, 4}, {4, 3}, {0, 5}, {7, 4}, {0, 6}};
    /* of 60 seeds, those with which tiers of near hosts are not enough */
    static const uint64_t seed[] = {5, 20, 39, 59};
    for (size_t k = 0; k < sizeof seed / sizeof *seed; k++)
        assert_true(is_uneven_found(tree, sizeof tree / sizeof *tree, seed[k]));
}

static void assert_near(double a, double b, double accuracy)
{
    assert_at_most(fabs(a - b), accuracy);
}

/* The same network under other names, in another order, or in another unit. */
static void compare(const struct known *k, const uint32_t *name, double factor)
{
    struct known other = *k;
    for (size_t v = 0; v < k->count; v++) {
        other.value[k->count - 1 - v] = (struct nt_pair_value){
            .a = name[k->value[v].a], .b = name[k->value[v].b], .us = factor * k->value[v].us};
    }
    SCOPED(tiers) *t = solve(k), *o = solve(&other);
    assert_int_equal(t->groups, o->groups);
    assert_near(t->confidence, o->confidence, 1e-6);
    for (uint32_t g = 0; g < t->groups; g++) {
        uint32_t label[HOSTS] = {0};
        for (uint32_t i = 0; i < k->hosts; i++)
            label[name[i]] = below(t, i, g);
        uint32_t h = group_of(o, label, 1);
        assert_int_not_equal(h, NT_TIERS_NONE);
        assert_near(t->group[g].support, o->group[h].support, 1e-6);
        assert_near(factor * t->group[g].length_us, o->group[h].length_us, 1e-6 * factor);
    }
}

TEST(names_order_and_unit_change_nothing)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct nt_rng rng;
        struct known k;
        uint32_t name[HOSTS];
        nt_rng_init(&rng, seed);
        draw(&k, 5 + (uint32_t)nt_rng_below(&rng, 20), 2, seed % 3 == 0 ? 0 : 0.05, &rng);
        for (uint32_t i = 0; i < k.hosts; i++)
            name[i] = i;
        compare(&k, name, 1000);
        nt_rng_shuffle(&rng, name, k.hosts);
        compare(&k, name, seed % 2 == 0 ? 1 : 0.001);
    }
}

TEST(missing_pairs_are_left_out)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct nt_rng rng;
        struct known k;
        nt_rng_init(&rng, seed);
        draw(&k, seed % 2 == 0 ? 12 : 32, 4, 0.01, &rng);
        size_t kept = 0;
        for (size_t v = 0; v < k.count; v++)
            if (nt_rng_uniform(&rng) < 0.6)
                k.value[kept++] = k.value[v];
        k.count = kept;
        SCOPED(tiers) *t = solve(&k);
        for (uint32_t a = 0; a <= k.leaf[k.hosts - 1]; a++)
            assert_int_not_equal(group_of(t, k.leaf, a), NT_TIERS_NONE);
    }
}

TEST(readings_that_are_too_high_are_outliers)
{
    struct nt_rng rng;
    struct known k;
    nt_rng_init(&rng, 3);
    draw(&k, 16, 4, 0.01, &rng);
    for (size_t v = 0; v < k.count; v++)
        if ((k.value[v].a == 1 && k.value[v].b == 2) || (k.value[v].a == 2 && k.value[v].b == 1) ||
            (k.value[v].a == 5 && k.value[v].b == 14) || (k.value[v].a == 14 && k.value[v].b == 5))
            k.value[v].us += 0.8;
    SCOPED(tiers) *t = solve(&k);
    assert_int_equal(outliers_of(&k), 2);
    assert_int_equal(t->groups, 6);
}

/* Its readings are several times longer, and so is their noise. */
TEST(a_slow_host_stays_on_its_switch)
{
    size_t found = 0, wrong = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct nt_rng rng;
        struct known k;
        nt_rng_init(&rng, seed);
        draw(&k, 32, 8, 0.05, &rng);
        uint32_t slow = (uint32_t)nt_rng_below(&rng, k.hosts);
        for (size_t v = 0; v < k.count; v++)
            if (k.value[v].a == slow || k.value[v].b == slow)
                k.value[v].us += 3 * (1 + 0.05 * nt_rng_normal(&rng));
        SCOPED(tiers) *t = solve(&k);
        bool right = true;
        for (uint32_t a = 0; a <= k.leaf[k.hosts - 1]; a++)
            right = right && group_of(t, k.leaf, a) != NT_TIERS_NONE;
        found += right;
        wrong += !right && t->confidence >= 0.9;
    }
    assert_at_least(found, 11);
    assert_at_most(wrong, 1);
}

TEST(readings_that_are_too_low_are_no_groups)
{
    struct nt_rng rng;
    struct known k;
    nt_rng_init(&rng, 4);
    draw(&k, 32, 4, 0.01, &rng);
    for (size_t v = 0; v < k.count; v++)
        if (k.value[v].a + 9 == k.value[v].b || k.value[v].b + 9 == k.value[v].a)
            k.value[v].us *= k.value[v].a % 5 == 0 && k.value[v].b % 5 == 4 ? 0.7 : 1;
    SCOPED(tiers) *t = solve(&k);
    assert_int_equal(t->groups, 12);
    assert_at_least(outliers_of(&k), 3);
}

TEST(hosts_have_one_kind_of_ends_or_two)
{
    for (int two = 0; two < 2; two++) {
        struct nt_rng rng;
        struct known k;
        nt_rng_init(&rng, 5);
        draw(&k, 24, 4, 0.005, &rng);
        for (size_t v = 0; two && v < k.count; v++)
            k.value[v].us += 0.12 * ((k.value[v].a % 3 == 0) + (k.value[v].b % 3 == 0));
        struct nt_tiers *t = solve(&k);
        assert_int_equal(t->groups, 9);
        nt_tiers_destroy(t);
        struct nt_pairs *p = NULL;
        struct nt_search *s = search(&k, &p);
        double longer = s->populations ? s->value.mean[1 + s->best.tiers] * p->scale_us : 0;
        assert_near(longer, 0.12 * two, 0.03);
        for (uint32_t i = 0; two && i < k.hosts; i++)
            assert_int_equal(s->second[i], p->origin[i] % 3 == 0);
        nt_search_destroy(s);
        nt_pairs_destroy(p);
    }
}

/* Readings that agree with each other and with no hierarchy: four switches in a ring. */
TEST(a_ring_is_no_hierarchy)
{
    struct nt_rng rng;
    struct known k = {.hosts = 12};
    nt_rng_init(&rng, 6);
    for (uint32_t i = 0; i < k.hosts; i++)
        for (uint32_t j = 0; j < k.hosts; j++) {
            uint32_t steps = (i / 3 + 4 - j / 3) % 4;
            double us = 1 + 0.4 * (steps == 3 ? 1 : steps) + 0.01 * nt_rng_normal(&rng);
            k.leaf[i] = i / 3;
            if (i != j)
                k.value[k.count++] = (struct nt_pair_value){.a = i, .b = j, .us = us};
        }
    SCOPED(tiers) *t = solve(&k);
    assert_below(t->hierarchy, 0.1);
    assert_below(t->confidence, 0.1);
    for (uint32_t a = 0; a < 4; a++) /* the switches are real */
        assert_int_not_equal(group_of(t, k.leaf, a), NT_TIERS_NONE);
    assert_int_equal(t->groups, 4);
}

TEST(the_step_of_a_timer_is_found)
{
    static const double step[] = {0, 1, 0.1, 0.05};
    for (size_t c = 0; c < sizeof step / sizeof *step; c++) {
        struct nt_rng rng;
        struct known k;
        struct nt_pairs *p = NULL;
        nt_rng_init(&rng, c + 1);
        draw(&k, 12, 3, 0.05, &rng);
        for (size_t v = 0; v < k.count; v++) {
            double us = step[c] > 0.5 ? 10 * k.value[v].us : k.value[v].us;
            k.value[v].us = (double)(float)(step[c] > 0 ? round(us / step[c]) * step[c] : us);
        }
        assert_int_equal(nt_pairs_create(k.hosts, k.value, k.count, &p, NULL), 0);
        assert_near(p->quantum * p->scale_us * sqrt(2), step[c], 1e-5);
        nt_pairs_destroy(p);
    }
}

/* Two hosts of a switch of 24 are so much nearer that they could be a leaf of their own: their pair
 * tells that. Where nothing is uncertain no pair does. */
TEST(pairs_that_tell_rivals_apart_are_named)
{
    enum { A = 5, B = 17, TRIES = 40 };
    size_t asked = 0, named = 0;
    for (uint64_t seed = 1; seed <= TRIES; seed++) {
        struct nt_rng rng;
        struct known k;
        nt_rng_init(&rng, seed);
        draw(&k, 24, 24, 0.02, &rng);
        for (size_t v = 0; v < k.count; v++)
            for (uint32_t n = 0; n < 2; n++) /* the second two by less */
                if (k.value[v].a + k.value[v].b == A + B + 2 * n &&
                    (k.value[v].a == A + n || k.value[v].a == B + n))
                    k.value[v].us *= 1 - (5 - n) * 0.02;
        struct nt_tiers *t = solve(&k);
        bool is_named = false;
        for (size_t n = 0; n < t->deciding; n++) {
            const struct nt_tiers_pair *p = &t->deciding_pair[n];
            bool is = (p->a == A && p->b == B) || (p->a == B && p->b == A);
            assert_below(p->a, 24);
            assert_below(p->b, 24);
            assert_above(p->gain, 0);
            assert_holds(n == 0 || p->gain <= t->deciding_pair[n - 1].gain,
                         "pair %zu gains %g, the one before %g", n, p->gain,
                         n > 0 ? t->deciding_pair[n - 1].gain : 0);
            is_named |= is;
        }
        asked += t->deciding > 0;
        named += is_named;
        nt_tiers_destroy(t);
        draw(&k, 24, 4, 0.002, &rng);
        t = solve(&k);
        assert_int_equal(t->deciding, 0);
        nt_tiers_destroy(t);
    }
    print_message("asked in %zu of %d, for the two hosts in %zu\n", asked, (int)TRIES, named);
    assert_above(asked, TRIES / 2);
    assert_int_equal(named, asked);
}

TEST(few_hosts_are_one_switch)
{
    for (uint32_t hosts = 0; hosts <= 3; hosts++) {
        struct nt_rng rng;
        struct known k;
        nt_rng_init(&rng, 1);
        draw(&k, hosts, 1, 0.01, &rng);
        SCOPED(tiers) *t = solve(&k);
        assert_int_equal(t->groups, 0);
    }
}

TEST(bad_readings_are_refused)
{
    static const struct nt_pair_value bad[] = {{.a = 0, .b = 0, .us = 1},
                                               {.a = 0, .b = 9, .us = 1},
                                               {.a = 0, .b = 1, .us = -1},
                                               {.a = 0, .b = 1, .us = NAN}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        struct nt_pairs *p = NULL;
        assert_int_equal(nt_pairs_create(4, &bad[k], 1, &p, &err), -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        assert_null(p);
    }
}

/* Fits differences between two readings with an sd of 1. A part of them has wide noise, or is of
 * the tail. */
static struct nt_wide_noise fit_wide(double part, double factor, bool tail)
{
    enum { DIFFERENCES = 5000 };
    static float differ[DIFFERENCES];
    struct nt_rng rng;
    nt_rng_init(&rng, 4);
    for (size_t k = 0; k < DIFFERENCES; k++) {
        bool other = nt_rng_uniform(&rng) < part;
        double sd = other && !tail ? factor : 1, late = nt_rng_uniform(&rng);
        differ[k] = (float)fabs(M_SQRT2 * sd * nt_rng_normal(&rng) +
                                (other && tail ? factor * tan(M_PI / 2 * late) : 0));
    }
    return nt_wide_noise_fit(differ, DIFFERENCES, 1, 10);
}

TEST(wide_noise_is_seen_in_differences)
{
    assert_true(fit_wide(0, 1, false).share == 0);
    assert_true(fit_wide(0.05, 10, true).share == 0);
    struct nt_wide_noise wide = fit_wide(0.1, 3, false);
    assert_above(wide.share, 0.07);
    assert_below(wide.share, 0.13);
    assert_above(wide.factor, 2.5);
    assert_below(wide.factor, 3.5);
}

RUN_TESTS
