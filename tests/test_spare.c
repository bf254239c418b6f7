/* SPDX-License-Identifier: Apache-2.0 */
/* Which hosts are left out. */
#include "asserts.h"
#include "made_network.h"
#include "spare.h"

enum { HOSTS_MAX = 16 };

struct input {
    const char *spec, *pattern;
    size_t spares;
    int missing, faulty;  /* a host; -1: none */
    const char *expected; /* as "7 6" */
};

static void assert_left_out(const struct input *in)
{
    SCOPED(network) *net = made_network(in->spec);
    struct nt_model *m = net->model;
    struct nt_map map = {.model = m};
    struct nt_fault fault = {.part = {NT_FAULT_LINK_NARROW, 0, (uint32_t)m->hosts},
                             .confidence = 0.9};
    uint32_t capacity[HOSTS_MAX], left_out[HOSTS_MAX];
    char text[64] = "";
    size_t count;
    if (in->missing >= 0)
        m->missing[in->missing] = true;
    if (in->faulty >= 0) {
        fault.part.a = (uint32_t)in->faulty;
        map.faults = 1;
        map.fault = &fault;
    }
    for (size_t h = 0; h < m->hosts; h++)
        capacity[h] = 1;
    const struct nt_hint_request asked = {.pattern = in->pattern, .capacity = capacity};
    if (nt_spare_choose(&map, &asked, in->spares, left_out, &count, &err) != 0)
        fail_msg("%s: %s", in->spec, err.text);
    for (size_t k = 0; k < count; k++) {
        assert_int_equal(capacity[left_out[k]], 0);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%u", k > 0 ? " " : "",
                 left_out[k]);
    }
    if (strcmp(text, in->expected) != 0)
        fail_msg("%s, %zu of them: expected %s, found %s", in->spec, in->spares, in->expected,
                 text);
}

TEST(the_worst_go_first)
{
    static const struct input table[] = {
        /* all alike: the last ones; of two switches those that then are on one */
        {"star:4", "ring", 1, -1, -1, "3"},
        {"star:4", "ring", 9, -1, -1, "3 2 1"},
        {"tree:2x2", "ring", 2, -1, -1, "3 2"},
        {"tree:2x4", "neighbour", 4, -1, -1, "7 6 5 4"},
        /* missing, then with a finding, then far */
        {"star:6", "ring", 1, 2, -1, "2"},
        {"star:6", "ring", 1, -1, 2, "2"},
        {"star:6", "ring", 2, 4, 2, "4 2"},
        {"star:6", "ring", 3, 4, 2, "4 2 5"},
        /* the first host goes only then */
        {"star:4", "ring", 3, -1, -1, "3 2 1"},
        {"star:4", "ring", 1, 0, -1, "0"},
        {"star:4", "ring", 1, -1, 0, "0"},
        /* a pattern that fits one number of tasks alone */
        {"tree:2x4", "stencil:2x2", 4, -1, -1, "7 6 5 4"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        assert_left_out(&table[k]);
}

/* The slow link has the more probable finding, the narrow link makes the pattern slower. */
TEST(the_finding_that_delays_the_pattern_goes_first)
{
    SCOPED(network) *net = made_network("star:6");
    struct nt_model *m = net->model;
    enum { SLOW = 1, NARROW = 3 };
    struct nt_fault fault[] = {
        {.part = {NT_FAULT_LINK_SLOW, SLOW, (uint32_t)m->hosts}, .confidence = 0.99},
        {.part = {NT_FAULT_LINK_NARROW, NARROW, (uint32_t)m->hosts}, .confidence = 0.98}};
    struct nt_map map = {.model = m, .fault = fault, .faults = 2};
    uint32_t left_out[2], capacity[] = {1, 1, 1, 1, 1, 1};
    size_t count;
    for (size_t k = 0; k < m->links; k++) {
        struct nt_link *l = &m->link[k];
        bool narrow = l->a == NARROW || l->b == NARROW, slow = l->a == SLOW || l->b == SLOW;
        l->bandwidth_MBps = l->bandwidth_back_MBps = narrow ? 1250 : 12500;
        l->latency_us = slow ? 1.5 : 0.5;
        l->suspect = narrow || slow;
    }
    const struct nt_hint_request asked = {.pattern = "ring", .capacity = capacity};
    must(nt_spare_choose(&map, &asked, 2, left_out, &count, &err));
    assert_int_equal(count, 2);
    assert_int_equal(left_out[0], NARROW);
    assert_int_equal(left_out[1], SLOW);
}

RUN_TESTS
