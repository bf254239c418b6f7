/* Seed 000, section 2.7: the Westmere cluster of section 3.3.1, cores under sockets under hosts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bufe.h"

static struct nt_model *model(size_t hosts, size_t switches, size_t links)
{
    struct nt_model *m;
    struct nt_err err = {0};
    assert_int_equal(nt_model_create(hosts, switches, links, &m, &err), 0);
    return m;
}

static void set(struct nt_model *m, size_t k, uint32_t a, uint32_t b, double latency)
{
    m->link[k].a = a;
    m->link[k].b = b;
    m->link[k].latency_us = latency;
}

/* Four cores on two sockets, and the outside (vertex 2, in the middle of the cores), nearer to
 * the first socket: cores 0, 1 | 3, 4; sockets 5 and 6. */
static struct nt_model *inside(void)
{
    struct nt_model *m = model(5, 2, 6);
    set(m, 0, 0, 5, 0.2);
    set(m, 1, 1, 5, 0.2);
    set(m, 2, 3, 6, 0.2);
    set(m, 3, 4, 6, 0.2);
    set(m, 4, 5, 6, 0.4);
    set(m, 5, 2, 5, 26.0);
    return m;
}

static double shortest(const struct nt_model *m, uint32_t from, uint32_t to)
{
    double d[64];
    size_t vertices = m->hosts + m->switches;
    assert_true(vertices <= 64);
    for (size_t v = 0; v < vertices; v++)
        d[v] = v == from ? 0 : INFINITY;
    for (size_t round = 0; round < vertices; round++)
        for (size_t k = 0; k < m->links; k++) {
            d[m->link[k].b] = fmin(d[m->link[k].b], d[m->link[k].a] + m->link[k].latency_us);
            d[m->link[k].a] = fmin(d[m->link[k].a], d[m->link[k].b] + m->link[k].latency_us);
        }
    return d[to];
}

static void cores_stand_below_their_host(void **state)
{
    (void)state;
    struct nt_model *network = model(3, 1, 3), *in = inside(), *joined;
    struct nt_err err = {0};
    network->family = NT_FAMILY_STAR;
    for (uint32_t h = 0; h < 3; h++)
        set(network, h, h, 3, 27);
    network->missing[2] = true;
    struct nt_bufe_inside insides[] = {{in, 2, 0}, {in, 2, 1}, {in, 2, 3}};
    assert_int_equal(nt_bufe_join(network, insides, &joined, &err), 0);
    assert_int_equal(joined->hosts, 12);
    assert_int_equal(joined->switches, 1 + 3 + 3 * 2);
    assert_int_equal(joined->links, 3 + 3 * 6);
    assert_int_equal(joined->family, NT_FAMILY_TREE);
    /* within a host, nothing has changed */
    assert_true(fabs(shortest(joined, 0, 1) - 0.4) < 1e-9);
    assert_true(fabs(shortest(joined, 0, 2) - 0.8) < 1e-9);
    /* the cores that were measured from are as far apart as the network model said */
    assert_true(fabs(shortest(joined, 0, 4 + 1) - 54) < 1e-9);
    assert_true(fabs(shortest(joined, 0, 8 + 2) - 54) < 1e-9);
    /* the others farther or nearer, by their own way to the outside */
    assert_true(fabs(shortest(joined, 0, 4 + 2) - 54.4) < 1e-9);
    assert_true(fabs(shortest(joined, 0, 8) - 53.6) < 1e-9);
    for (size_t c = 0; c < 12; c++)
        assert_int_equal(joined->missing[c], c >= 8);
    nt_model_destroy(joined);
    nt_model_destroy(network);
    nt_model_destroy(in);
}

static void a_network_shorter_than_the_inside_stops_at_zero(void **state)
{
    (void)state;
    struct nt_model *network = model(2, 0, 1), *in = inside(), *joined;
    struct nt_err err = {0};
    set(network, 0, 0, 1, 0.1);
    struct nt_bufe_inside insides[] = {{in, 2, 0}, {in, 2, 0}};
    assert_int_equal(nt_bufe_join(network, insides, &joined, &err), 0);
    assert_true(joined->link[0].latency_us == 0);
    assert_int_equal(joined->family, NT_FAMILY_IRREGULAR);
    nt_model_destroy(joined);
    nt_model_destroy(network);
    nt_model_destroy(in);
}

/* As in a network that was imported without figures: a latency of 0 would be a wrong one. */
static void an_unknown_latency_stays_unknown(void **state)
{
    (void)state;
    struct nt_model *network = model(2, 1, 2), *in = inside(), *joined;
    struct nt_err err = {0};
    set(network, 0, 0, 2, NAN);
    set(network, 1, 1, 2, 27);
    struct nt_bufe_inside insides[] = {{in, 2, 0}, {in, 2, 0}};
    assert_int_equal(nt_bufe_join(network, insides, &joined, &err), 0);
    assert_true(isnan(joined->link[0].latency_us));
    assert_true(fabs(joined->link[1].latency_us - 26.8) < 1e-9);
    nt_model_destroy(joined);
    nt_model_destroy(network);
    nt_model_destroy(in);
}

static void bad_insides_are_refused(void **state)
{
    (void)state;
    struct nt_model *network = model(1, 0, 0), *in = inside(), *joined = NULL;
    struct nt_err err = {0};
    struct nt_bufe_inside table[] = {{in, 2, 2}, {in, 5, 0}, {in, 2, 7}, {NULL, 0, 1}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        assert_int_equal(nt_bufe_join(network, &table[k], &joined, &err), -1);
        assert_non_null(strstr(err.text, "host 0"));
    }
    in->link[5].a = 0; /* cuts the outside off */
    struct nt_bufe_inside cut = {in, 2, 0};
    assert_int_equal(nt_bufe_join(network, &cut, &joined, &err), -1);
    assert_non_null(strstr(err.text, "no path"));
    in->link[0].latency_us = NAN;
    assert_int_equal(nt_bufe_join(network, &cut, &joined, &err), -1);
    assert_null(joined);
    nt_model_destroy(network);
    nt_model_destroy(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cores_stand_below_their_host),
        cmocka_unit_test(a_network_shorter_than_the_inside_stops_at_zero),
        cmocka_unit_test(an_unknown_latency_stays_unknown),
        cmocka_unit_test(bad_insides_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
