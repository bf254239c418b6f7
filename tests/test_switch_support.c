/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "known_tree.h"
#include "switch_support.h"

static double *support_of(const struct nt_model *m)
{
    double *support;
    must(nt_support_create(m, &support, &err));
    return support;
}

/* The link between two vertices. */
static struct nt_link *between(struct nt_model *m, uint32_t a, uint32_t b)
{
    for (size_t k = 0; k < m->links; k++)
        if ((m->link[k].a == a && m->link[k].b == b) || (m->link[k].a == b && m->link[k].b == a))
            return &m->link[k];
    fail_msg("no link %u %u", a, b);
    return NULL;
}

/* Switches of known_tree: the top, the pods, the leaves. */
TEST(a_switch_has_the_probability_of_its_link_upwards)
{
    SCOPED(model) *m = known_tree(2, 2, 2, false, false, 1);
    uint32_t top = (uint32_t)m->hosts;
    m->link[0].probability = 0.3; /* of a host: no switch's */
    between(m, top + 1, top)->probability = 0.7;
    between(m, top + 5, top + 2)->probability = 0.8;
    struct nt_link *turned = between(m, top + 6, top + 2);
    turned->a = top + 2;
    turned->b = top + 6;
    turned->probability = 0.6;
    double *support = support_of(m);
    static const double expected[] = {1, 0.7, 1, 1, 1, 0.8, 0.6};
    for (size_t s = 0; s < m->switches; s++)
        assert_close(support[s], expected[s], 1e-12);
    free(support);
}

/* A top that stands over one switch divides the hosts as that one does. */
TEST(a_top_over_one_switch_is_as_sure_as_that)
{
    SCOPED(model) *m;
    must(nt_model_create(4, 2, 5, &m, &err));
    for (uint32_t h = 0; h < 4; h++)
        m->link[h] = (struct nt_link){.a = h, .b = h < 2 ? 4 : 5, .probability = 1};
    m->link[4] = (struct nt_link){.a = 4, .b = 5, .probability = 0.8};
    m->tier[1] = 2;
    double *support = support_of(m);
    assert_close(support[0], 0.8, 1e-12);
    assert_close(support[1], 0.8, 1e-12);
    free(support);
}

TEST(a_single_switch_is_sure)
{
    SCOPED(model) *m = known_tree(1, 1, 4, false, false, 1);
    m->switches = 1;
    m->links = 4;
    for (uint32_t k = 0; k < 4; k++)
        m->link[k] = (struct nt_link){.a = k, .b = 4, .probability = 0.4};
    double *support = support_of(m);
    assert_close(support[0], 1, 1e-12);
    free(support);
}

TEST(loops_strays_and_methods_without_confidence_state_none)
{
    SCOPED(model) *m = known_tree(1, 2, 2, false, false, 1);
    uint32_t top = (uint32_t)m->hosts;
    double *support;
    m->confidence = (double)NAN;
    support = support_of(m);
    for (size_t s = 0; s < m->switches; s++)
        assert_true(isnan(support[s]));
    free(support);
    m->confidence = 0;
    struct nt_link *host = between(m, 0, top + 2), was = *host;
    *host = (struct nt_link){.a = top, .b = top + 2, .probability = 1}; /* a way round */
    support = support_of(m);
    for (size_t s = 0; s < m->switches; s++)
        assert_true(isnan(support[s]));
    free(support);
    *host = was;
    struct nt_link *up = between(m, top + 3, top + 1);
    *up = m->link[--m->links]; /* the last leaf has no link */
    support = support_of(m);
    for (size_t s = 0; s < m->switches; s++)
        assert_true(isnan(support[s]) == (s == 3));
    free(support);
}

RUN_TESTS
