/* SPDX-License-Identifier: Apache-2.0 */
/* Which link loses messages, by what was sent again over the paths of a known tree. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "asserts.h"
#include "known_tree.h"
#include "losses.h"
#include "map_faults.h"
#include "rng.h"
#include "rooted_tree.h"
#include "samples.h"
#include "solve.h"

enum { PINGS = 90, SEGMENTS = 1000, SEEDS = 40 };

struct lossy {
    uint32_t link;
    double forth, back; /* shares lost, from a to b of the link and back */
};

static double draw_lost(struct nt_rng *rng, double segments, double rate)
{
    double lost = 0;
    for (double k = 0; k < segments; k++)
        lost += nt_rng_uniform(rng) < rate;
    return lost;
}

/* A ping-pong of all pairs, and one flow each way of neighbours. */
static size_t measure(const struct nt_model *m, const struct lossy *at, double usual,
                      struct nt_rng *rng, struct nt_loss_seen *seen)
{
    struct nt_rooted_tree *rooted;
    struct nt_err err;
    uint32_t channel[256];
    size_t n = 0;
    assert_int_equal(nt_rooted_tree_create(m, &rooted, &err), 0);
    assert_true(nt_rooted_tree_room(rooted) <= 256);
    for (uint32_t a = 0; a < m->hosts; a++)
        for (uint32_t b = 0; b < m->hosts; b++) {
            double rate[2] = {usual, usual};
            size_t hops = a == b ? 0 : nt_rooted_tree_path(rooted, a, b, channel);
            for (size_t k = 0; k < hops; k++)
                if (channel[k] / 2 == at->link) {
                    rate[0] += channel[k] % 2 == 0 ? at->forth : at->back;
                    rate[1] += channel[k] % 2 == 0 ? at->back : at->forth;
                }
            if (a < b)
                seen[n++] = (struct nt_loss_seen){a, b, false, PINGS,
                                                  2 * draw_lost(rng, PINGS / 2.0, rate[0]) +
                                                      draw_lost(rng, PINGS / 2.0, rate[1])};
            if (hops > 0 && (a + 1 == b || b + 1 == a))
                seen[n++] =
                    (struct nt_loss_seen){a, b, true, SEGMENTS, draw_lost(rng, SEGMENTS, rate[0])};
        }
    nt_rooted_tree_destroy(rooted);
    for (size_t k = 0; k < n; k++)
        seen[k].again = fmin(seen[k].again, seen[k].segments);
    return n;
}

static size_t find(const struct nt_model *m, const struct lossy *at, double usual, uint64_t seed,
                   struct nt_fault *fault)
{
    struct nt_loss_seen seen[2048];
    struct nt_rng rng;
    struct nt_err err;
    size_t count = 0;
    nt_rng_init(&rng, seed);
    size_t n = measure(m, at, usual, &rng, seen);
    assert_int_equal(nt_losses_find(m, seen, n, fault, &count, &err), 0);
    return count;
}

static struct nt_fault fault[NT_FAULTS_MAX];

/* Of hosts, and of a leaf's uplink, whose hosts all lose. */
static void the_lossy_link_is_named(void **state)
{
    struct nt_model *m = known_tree(2, 2, 4, true, true, 3);
    size_t right = 0;
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct lossy at = {.link = (uint32_t)(seed * 7 % 20), .forth = 0.02, .back = 0.02};
        size_t count = find(m, &at, 0, seed, fault);
        right += count == 1 && fault[0].part.kind == NT_FAULT_LINK_LOSSY &&
                 fault[0].part.a == m->link[at.link].a && fault[0].part.b == m->link[at.link].b;
        assert_true(count <= 1);
        assert_true(count == 0 || fault[0].found > 0.5);
    }
    assert_true(right >= SEEDS - 2);
    nt_model_destroy(m);
}

static void one_way_is_told_by_flows(void **state)
{
    struct nt_model *m = known_tree(1, 2, 4, false, true, 1);
    (void)state;
    for (int down = 0; down < 2; down++) {
        struct lossy at = {.link = 2, .forth = down ? 0 : 0.03, .back = down ? 0.03 : 0};
        assert_int_equal(find(m, &at, 0, 5, fault), 1);
        assert_int_equal(fault[0].way, down ? NT_FAULT_DOWN : NT_FAULT_UP);
        assert_int_equal(fault[0].others, 1); /* the host */
    }
    nt_model_destroy(m);
}

/* What all paths lose is usual. */
static void what_is_usual_is_no_finding(void **state)
{
    struct nt_model *m = known_tree(2, 2, 4, true, true, 3);
    struct lossy none = {.link = UINT32_MAX};
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        assert_int_equal(find(m, &none, 0.002, seed, fault), 0);
        assert_int_equal(find(m, &none, 0, seed, fault), 0);
    }
    nt_model_destroy(m);
}

/* A burst on one path is no link. */
static void one_path_is_not_enough(void **state)
{
    struct nt_model *m = known_tree(1, 2, 4, false, true, 1);
    struct lossy none = {.link = UINT32_MAX};
    struct nt_loss_seen seen[256];
    struct nt_rng rng;
    struct nt_err err;
    size_t count = 0;
    (void)state;
    nt_rng_init(&rng, 1);
    size_t n = measure(m, &none, 0, &rng, seen);
    seen[3].again = 40;
    assert_int_equal(nt_losses_find(m, seen, n, fault, &count, &err), 0);
    assert_int_equal(count, 0);
    nt_model_destroy(m);
}

/* A narrow link drops what comes too fast; a lossy one is slow for flows. */
static void a_narrow_link_is_one_finding(void **state)
{
    struct nt_model *m = known_tree(1, 2, 4, false, true, 1);
    struct lossy at = {.link = 1, .forth = 0.03, .back = 0.03};
    struct nt_loss_seen seen[256];
    struct nt_rng rng;
    struct nt_err err;
    (void)state;
    for (int pings = 0; pings < 2; pings++) {
        const struct nt_fault narrow = {.part = {NT_FAULT_LINK_NARROW, 1, m->link[1].b},
                                        .found = 10,
                                        .expected = 100,
                                        .confidence = 1};
        size_t count = 1;
        fault[0] = narrow;
        nt_rng_init(&rng, 9);
        size_t n = measure(m, &at, 0, &rng, seen);
        for (size_t k = 0; k < n && !pings; k++)
            if (!seen[k].flow)
                seen[k].again = 0;
        assert_int_equal(nt_losses_find(m, seen, n, fault, &count, &err), 0);
        assert_int_equal(count, 1);
        assert_int_equal(fault[0].part.kind, pings ? NT_FAULT_LINK_LOSSY : NT_FAULT_LINK_NARROW);
        assert_int_equal(fault[0].other[pings ? 0 : fault[0].others - 1].kind,
                         pings ? NT_FAULT_HOST_SLOW : NT_FAULT_LINK_LOSSY);
    }
    nt_model_destroy(m);
}

/* The lines of a record, to the map's findings. */
static void a_record_has_what_was_sent_again(void **state)
{
    struct nt_samples *s;
    struct nt_map *map;
    struct nt_err err;
    char name[8];
    (void)state;
    assert_int_equal(nt_samples_create(&s, &err), 0);
    for (int h = 0; h < 6; h++) {
        snprintf(name, sizeof name, "n%d", 6 - h);
        assert_int_equal(nt_samples_add_host(s, name, &err), 0);
    }
    assert_int_equal(nt_samples_begin_phase(s, "latency", &err), 0);
    for (uint32_t a = 0; a < 6; a++)
        for (uint32_t b = a + 1; b < 6; b++) {
            assert_int_equal(nt_samples_begin_round(s, &err), 0);
            struct nt_sample x = {
                .kind = NT_SAMPLE_LATENCY, .a = a, .b = b, .count = 60, .bytes = 8, .value_us = 10};
            assert_int_equal(nt_samples_add(s, x, NULL, &err), 0);
            struct nt_sample again = {
                .kind = NT_SAMPLE_RESENT, .a = b, .b = a, .count = 4, .segments = 66};
            if (a == 2 || b == 2)
                assert_int_equal(nt_samples_add(s, again, NULL, &err), 0);
        }
    assert_int_equal(nt_samples_end_phase(s, 1, &err), 0);
    nt_samples_finish(s, NT_STATUS_OK, 1);
    assert_int_equal(nt_solve_samples(s, &map, &err), 0);
    assert_int_equal(map->faults, 1);
    assert_int_equal(map->fault[0].part.kind, NT_FAULT_LINK_LOSSY);
    assert_string_equal(map->host_name[map->fault[0].part.a], "n4");
    assert_close(map->fault[0].found, 100 * 4 / 120.0, 0.01);
    assert_true(map->warnings == 1 && strstr(map->warning[0], "loses messages") != NULL);
    nt_map_destroy(map);
    nt_samples_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lossy_link_is_named),
        cmocka_unit_test(one_way_is_told_by_flows),
        cmocka_unit_test(what_is_usual_is_no_finding),
        cmocka_unit_test(one_path_is_not_enough),
        cmocka_unit_test(a_narrow_link_is_one_finding),
        cmocka_unit_test(a_record_has_what_was_sent_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
