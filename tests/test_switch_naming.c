/* SPDX-License-Identifier: Apache-2.0 */
/* Names of switches from day to day. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "made_network.h"
#include "switch_naming.h"

static struct nt_model *truth_of(const char *topology)
{
    struct nt_network *n = made_machine(topology);
    struct nt_model *m;
    struct nt_err err = {0};
    if (nt_network_truth(n, &m, &err) < 0)
        fail_msg("%s", err.text);
    nt_network_destroy(n);
    return m;
}

static uint32_t switch_of(const struct nt_model *m, uint32_t host)
{
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a == host)
            return m->link[k].b - (uint32_t)m->hosts;
    fail_msg("host %u is on no link", host);
    return 0;
}

/* The host hangs at the switch of another from now on. */
static void move(struct nt_model *m, uint32_t host, uint32_t beside)
{
    uint32_t to = switch_of(m, beside) + (uint32_t)m->hosts;
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a == host)
            m->link[k].b = to;
}

static void test_stay(void **state)
{
    struct nt_model *m = truth_of("tree:2x3x4");
    struct nt_switch_naming naming = {0};
    struct nt_err err;
    uint32_t first[32], later[32];
    (void)state;
    assert_int_equal(nt_switch_naming_match(&naming, m, first, &naming, &err), 0);
    assert_int_equal(naming.last, m->switches);
    assert_int_equal(nt_switch_naming_match(&naming, m, later, &naming, &err), 0);
    assert_memory_equal(first, later, m->switches * sizeof *first);

    uint32_t old = switch_of(m, 0), new = switch_of(m, 23);
    move(m, 0, 23); /* one of four: both leaves stay what they are */
    assert_int_equal(nt_switch_naming_match(&naming, m, later, &naming, &err), 0);
    assert_memory_equal(first, later, m->switches * sizeof *first);
    assert_true(switch_of(m, 0) == new);

    for (uint32_t h = 1; h < 4; h++) /* nobody is left there: the model has no such leaf in truth */
        move(m, h, 23);
    assert_int_equal(nt_switch_naming_match(&naming, m, later, &naming, &err), 0);
    assert_int_not_equal(later[old], first[old]); /* a number that none has had */
    assert_true(later[old] > m->switches);
    nt_switch_naming_fini(&naming);
    nt_model_destroy(m);
}

/* Numbered otherwise, the switches keep their names. */
static void test_renumbered(void **state)
{
    struct nt_model *m = truth_of("tree:2x3x4"), *other;
    struct nt_switch_naming naming = {0};
    struct nt_err err;
    uint32_t first[32], later[32];
    size_t s = m->switches;
    (void)state;
    assert_int_equal(nt_switch_naming_match(&naming, m, first, &naming, &err), 0);
    assert_int_equal(nt_model_copy(m, &other, &err), 0);
    for (size_t k = 0; k < m->links; k++)
        for (int end = 0; end < 2; end++) {
            uint32_t *v = end ? &other->link[k].b : &other->link[k].a;
            if (*v >= m->hosts)
                *v = (uint32_t)(m->hosts + (*v - m->hosts + 1) % s);
        }
    for (size_t k = 0; k < s; k++)
        other->tier[(k + 1) % s] = m->tier[k];
    assert_int_equal(nt_switch_naming_match(&naming, other, later, NULL, &err), 0);
    for (size_t k = 0; k < s; k++)
        assert_int_equal(later[(k + 1) % s], first[k]);
    nt_switch_naming_fini(&naming);
    nt_model_destroy(m);
    nt_model_destroy(other);
}

static void test_refuses(void **state)
{
    struct nt_switch_naming naming = {0};
    struct nt_err err;
    (void)state;
    assert_int_equal(nt_switch_naming_add(&naming, (struct nt_switch_member){1, 0, 1}, &err), -1);
    assert_int_equal(nt_switch_naming_add(&naming, (struct nt_switch_member){1, 1, 0}, &err), -1);
    nt_switch_naming_fini(&naming);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stay),
                                       cmocka_unit_test(test_renumbered),
                                       cmocka_unit_test(test_refuses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
