/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "in_pieces.h"
#include "measure.h"
#include "routes_text.h"

static const char *const topologies[] = {
    "star:3",          "tree:2x3x2",        "fattree:4,2",        "chain:3x2",
    "dragonfly:3x2x2", "torus:5",           "torus:4x3x2",        "ttorus:4x4:2",
    "mesh:3x2",        "torus:3x3,hosts=2", "hypercube:3",        "fullmesh:4",
    "fattree:4,3",     "dragonfly:4x3x2",   "dragonfly+:3x2x2x2", "aries:3x2x2x2",
};

static struct nt_network *build(const char *topology, double host_spread)
{
    struct nt_spec spec;
    struct nt_network *net = NULL;
    struct nt_measure_noise noise = {.host_spread = host_spread, .seed = 4};
    if (nt_spec_parse(topology, &spec, &err) != 0 ||
        nt_network_build(&spec, NULL, &net, &err) != 0 ||
        nt_measure_apply_structure(&noise, net, &err) != 0)
        fail_msg("%s: %s", topology, err.text);
    return net;
}

/* What each link of nt_network_routes adds. */
static double link_us(const struct nt_network *net, uint32_t link)
{
    size_t links = net->model->links;
    return link < links ? net->arc[2 * link].latency_us : net->overhead_us[link - links];
}

TEST(a_route_has_what_its_pair_takes)
{
    for (size_t t = 0; t < sizeof topologies / sizeof *topologies; t++) {
        SCOPED(network) *net = build(topologies[t], 0.2);
        SCOPED(routes) *r;
        struct nt_measured *m;
        const struct nt_measure_noise none = {.seed = 1};
        must(nt_network_routes(net, &r, &err));
        assert_int_equal(r->pairs, net->hosts * (net->hosts - 1) / 2);
        must(nt_network_measured(net, &none, r, &m, &err));
        assert_int_equal(m->count, r->pairs);
        for (uint32_t p = 0; p < r->pairs; p++) {
            uint32_t a = r->host[p][0], b = r->host[p][1];
            double there = 0, all = 0;
            for (size_t k = 0; k < nt_route_length(r, p); k++) {
                double us = link_us(net, nt_route_links(r, p)[k]);
                there += k < r->there[p] ? us : 0;
                all += us;
            }
            assert_close(there, nt_network_latency(net, a, b), 1e-9);
            assert_int_equal(m->pair[p], p);
            assert_close(all / nt_route_directions(r, p), m->latency_us[p], 1e-9);
        }
        nt_measured_destroy(m);
    }
}

TEST(missing_pairs_are_left_out)
{
    SCOPED(network) *net = build("star:40", 0);
    const struct nt_measure_noise noise = {.missing = 0.3, .seed = 1};
    SCOPED(routes) *r;
    struct nt_measured *m;
    assert_int_equal(nt_network_routes(net, &r, NULL), 0);
    assert_int_equal(nt_network_measured(net, &noise, r, &m, NULL), 0);
    assert_above(m->count, 780 / 2);
    assert_below(m->count, 780 * 9 / 10);
    for (size_t k = 0; k < m->count; k++)
        assert_true(isfinite(m->latency_us[k]));
    nt_measured_destroy(m);
}

TEST(too_many_hosts_are_refused)
{
    struct nt_network *net = build("star:4097", 0);
    struct nt_routes *r;
    assert_int_equal(nt_network_routes(net, &r, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    assert_string_equal(err.text, "routes of 4097 hosts: at most 4096");
    nt_network_destroy(net);
    net = build("star:1", 0);
    assert_int_equal(nt_network_routes(net, &r, &err), -1);
    assert_string_equal(err.text, "no two hosts are connected, so that there are no routes");
    nt_network_destroy(net);
}

static struct nt_routes_text *read_back(const char *text, size_t bytes)
{
    const struct in_pieces pieces = {text, bytes, 0};
    const struct nt_text_source source = pieces_source("r", &pieces);
    struct nt_routes_text *out = NULL;
    must(nt_routes_read(&source, NULL, &out, &err));
    return out;
}

/* Written, read and written again is the same text: names, pairs, both ways, links in order. */
TEST(what_is_written_is_read_back)
{
    static char made[200][8];
    const char *name[200];
    for (size_t k = 0; k < 200; k++) {
        snprintf(made[k], sizeof made[k], "x%zu", k);
        name[k] = made[k];
    }
    for (size_t t = 0; t < sizeof topologies / sizeof *topologies; t++) {
        SCOPED(network) *net = build(topologies[t], 0);
        SCOPED(routes) *r;
        char *text, *again;
        size_t bytes, again_bytes;
        must(nt_network_routes(net, &r, &err));
        assert_at_most(r->links, 200);
        must(nt_routes_write(r, name, name, &text, &bytes, &err));
        struct nt_routes_text *back = read_back(text, bytes);
        assert_int_equal(back->routes->pairs, r->pairs);
        must(nt_routes_write(back->routes, back->hosts.name, back->links.name, &again, &again_bytes,
                             &err));
        assert_int_equal(bytes, again_bytes);
        assert_memory_equal(text, again, bytes);
        free(text);
        free(again);
        nt_routes_text_destroy(back);
    }
}

TEST(a_measurement_is_written_to_twelve_digits)
{
    uint32_t pair[2] = {0, 0}, host[1][2] = {{1, 0}};
    double us[2] = {1.5, 1.0 / 3};
    const char *const name[] = {"a", "b"};
    const struct nt_measured m = {.count = 2, .pair = pair, .latency_us = us};
    const struct nt_routes r = {.hosts = 2, .pairs = 1, .host = host};
    char *text;
    size_t bytes;
    assert_int_equal(nt_measured_write(&m, &r, name, &text, &bytes, NULL), 0);
    assert_string_equal(text, "b a 1.5\nb a 0.333333333333\n");
    assert_int_equal(bytes, strlen(text));
    free(text);
}

RUN_TESTS
