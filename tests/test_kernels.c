/* SPDX-License-Identifier: Apache-2.0 */
/* Stress kernels: conservation, causality, what can be computed by hand, the published directions.
 */
#include "asserts.h"
#include "kernels.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* latency us, MB/s, no overhead */
static struct nt_network *made(const char *text, double latency, double rate)
{
    struct nt_spec spec;
    struct nt_figures f;
    struct nt_network *n;
    if (nt_spec_parse(text, &spec, &err) < 0)
        fail_msg("%s", err.text);
    nt_figures_default(&spec, &f);
    f.overhead_us = 0;
    f.host_latency_us = latency;
    f.host_MBps = rate;
    for (size_t k = 0; k < NT_DIMENSIONS_MAX; k++) {
        f.link_latency_us[k] = latency;
        f.link_MBps[k] = rate;
    }
    if (nt_network_build(&spec, &f, &n, &err) < 0)
        fail_msg("%s", err.text);
    return n;
}

static struct nt_kernel_result run(const struct nt_network *n, const char *kernel,
                                   struct nt_workload w)
{
    struct nt_kernel_result r = {0};
    if (nt_workload_parse(kernel, &w, &err) < 0 || nt_kernel_run(n, &w, &r, &err) < 0)
        fail_msg("%s: %s", kernel, err.text);
    return r;
}

static double time_of(const struct nt_network *n, const char *kernel, struct nt_workload w)
{
    struct nt_kernel_result r = run(n, kernel, w);
    nt_kernel_result_fini(&r);
    return r.time_us;
}

/* 1000 bytes at 100 MB/s are 10 us; a link takes 1 us. */
TEST(test_by_hand)
{
    static const struct {
        const char *network, *kernel;
        struct nt_workload w;
        double time_us;
    } table[] = {
        /* host 0 sends three in a row over a switch: 30 us of sending, two links of way */
        {"star:4", "o2a", {.bytes = 1000}, 32},
        {"star:4", "a2o", {.bytes = 1000}, 32},
        {"star:4", "o2a", {.bytes = 1000, .packet_bytes = 250}, 32},
        {"star:2", "a2a", {.bytes = 1000}, 12}, /* both ways at once */
        {"star:1", "a2a", {.bytes = 1000}, 0},
        {"star:2", "o2a", {.bytes = 1000, .packet_bytes = 400}, 12}, /* the last one is shorter */
        {"mesh:3", "a2o", {.bytes = 1000}, 21},                      /* the near one first */
        {"mesh:2", "o2a", {.bytes = 1000, .port_MBps = 50}, 21},
        {"torus:4", "a2a", {.bytes = 1000}, 32}, /* 30 us to send, the last two hops away */
        {"star:4", "complement", {.bytes = 1000}, 12},
        {"star:4", "complement,messages=12", {.bytes = 1000}, 32},
        {"star:4", "a2a,tasks=2", {.bytes = 1000}, 12},
        {"mesh:4", "o2a,tasks=2", {.bytes = 1000}, 12}, /* hosts 0 and 2 */
        {"star:4", "a2a,compute=7", {.bytes = 1000}, 39},
    };
    for (size_t k = 0; k < COUNT(table); k++) {
        SCOPED(network) *n = made(table[k].network, 1, 100);
        double t = time_of(n, table[k].kernel, table[k].w);
        if (fabs(t - table[k].time_us) > 1e-9)
            fail_msg("%s %s: %g us, expected %g", table[k].network, table[k].kernel, t,
                     table[k].time_us);
    }
}

/* What differs along the way: a slow link's bytes come late to a fast one, both ends cost. */
TEST(test_uneven)
{
    SCOPED(network) *n = made("mesh:3", 1, 100);
    n->arc[2].rate_MBps = 1000; /* host 1 to 2 */
    n->overhead_us[0] = 0.25;
    n->overhead_us[2] = 0.5;
    struct nt_kernel_result r = run(n, "o2a", (struct nt_workload){.bytes = 1000});
    assert_close(r.message[0].received_us, 0.25 + 10 + 1, 1e-9);
    assert_close(r.message[1].received_us, 0.25 + 20 + 2 + 0.5, 1e-9);
    nt_kernel_result_fini(&r);
}

static const char *const networks[] = {"torus:4x4",   "ttorus:6x3:2",    "tree:3x4", "fattree:4,3",
                                       "hypercube:4", "dragonfly:3x2x2", "mesh:4x3"};
static const char *const kernels[] = {"a2a", "o2a", "a2o", "sr:1", "sr:7", "sr:64", "gups"};

/* Each message arrives once, no sooner than light and its links allow, over its route. */
TEST(test_conservation)
{
    for (size_t i = 0; i < COUNT(networks); i++)
        for (size_t j = 0; j < COUNT(kernels); j++)
            for (uint32_t buffers = 0; buffers <= 4; buffers += 2) {
                SCOPED(network) *n = made(networks[i], 1, 100);
                struct nt_kernel_result r = run(n, kernels[j],
                                                (struct nt_workload){.messages = 200,
                                                                     .bytes = 900,
                                                                     .packet_bytes = 400,
                                                                     .seed = 3,
                                                                     .adaptive = buffers == 4,
                                                                     .consume_all = buffers == 2,
                                                                     .buffer_packets = buffers});
                uint64_t hops = 0, packets = 0;
                double last = 0;
                for (size_t m = 0; m < r.messages; m++) {
                    const struct nt_message *x = &r.message[m];
                    struct nt_walk walk;
                    uint32_t arc, length = 0;
                    for (nt_walk_begin(n, x->from, x->to, &walk); nt_walk_next(&walk, &arc);)
                        length++;
                    double least = x->from == x->to ? 0 : length + 9;
                    if (!(x->received_us >= x->sent_us + least - 1e-9))
                        fail_msg("%s %s: message %zu took %g us over %u links", networks[i],
                                 kernels[j], m, x->received_us - x->sent_us, length);
                    hops += 3 * length;
                    packets += x->from == x->to ? 0 : 3;
                    last = fmax(last, x->received_us);
                }
                assert_int_equal(r.packets, packets);
                assert_int_equal(r.packet_hops, hops);
                assert_close(r.time_us, last, 1e-9);
                assert_above(r.busiest, 0);
                assert_at_most(r.busiest, 1 + 1e-9);
                nt_kernel_result_fini(&r);
            }
}

/* What a host sends in a wave leaves after all it receives in the waves before. */
TEST(test_causality)
{
    for (uint32_t wave = 1; wave <= 50; wave += 7) {
        SCOPED(network) *n = made("torus:4x4", 1, 100);
        struct nt_workload w = {
            .kernel = NT_KERNEL_SR, .wave = wave, .messages = 300, .bytes = 1000, .seed = 9};
        struct nt_kernel_result r;
        double heard[16] = {0}, next[16];
        assert_int_equal(nt_kernel_run(n, &w, &r, NULL), 0);
        for (size_t m = 0; m < r.messages; m++) {
            if (m % wave == 0 && m > 0)
                memcpy(heard, next, sizeof heard);
            else if (m == 0)
                memset(next, 0, sizeof next);
            assert_at_least(r.message[m].sent_us, heard[r.message[m].from]);
            next[r.message[m].to] = fmax(next[r.message[m].to], r.message[m].received_us);
        }
        nt_kernel_result_fini(&r);
    }
}

/* One at a time, nothing queues: the sum of the ways where each waits for the one before. */
TEST(test_wave_of_one)
{
    SCOPED(network) *n = made("star:2", 1, 100);
    struct nt_workload w = {.messages = 500, .bytes = 1000, .seed = 4};
    struct nt_kernel_result r = run(n, "sr:1", w);
    for (size_t m = 0; m < r.messages; m++)
        if (r.message[m].from != r.message[m].to)
            assert_at_least(r.message[m].received_us - r.message[m].sent_us, 12 - 1e-9);
    assert_below(r.time_us, 12.0 * 500);
    nt_kernel_result_fini(&r);
}

TEST(test_same_seed_same_times)
{
    SCOPED(network) *n = made("torus:4x4", 0.05, 175);
    for (size_t j = 0; j < COUNT(kernels); j++) {
        struct nt_workload w = {.messages = 300, .bytes = 1000, .packet_bytes = 256, .seed = 5};
        struct nt_kernel_result a = run(n, kernels[j], w), b = run(n, kernels[j], w);
        assert_int_equal(a.messages, b.messages);
        assert_memory_equal(a.message, b.message, a.messages * sizeof *a.message);
        nt_kernel_result_fini(&a);
        nt_kernel_result_fini(&b);
    }
    struct nt_workload w = {.messages = 300, .bytes = 1000, .seed = 5}, other = w;
    other.seed = 6;
    assert_true(time_of(n, "gups", w) != time_of(n, "gups", other));
}

/* Navaridas and Miguel-Alonso, section 4, figures 7 and 8, at fewer repetitions. */
TEST(test_published)
{
    SCOPED(network) *t = made("torus:8x4", 0.05, 175), *tt = made("ttorus:8x4:4", 0.05, 175);
    double gain[COUNT(kernels)] = {0};
    const char *kernel[] = {"a2a", "o2a", "a2o", "sr:10", "sr:100", "sr:1000", "gups"};
    for (size_t k = 0; k < COUNT(kernel); k++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct nt_workload w = {.bytes = k < 3 ? 10000 : 1000, .seed = seed};
            gain[k] += (1 - time_of(tt, kernel[k], w) / time_of(t, kernel[k], w)) / 3;
        }
    assert_above(gain[0], 0.13);
    assert_below(gain[0], 0.25);        /* "near 20 %" */
    assert_below(fabs(gain[1]), 0.001); /* bound by the one injection port */
    assert_below(fabs(gain[2]), 0.001); /* and by the one consumption port */
    assert_above(gain[3], 0.03);
    assert_above(gain[4], gain[3] + 0.01);
    assert_above(gain[5], gain[4] + 0.01);
    assert_above(gain[6], gain[4] + 0.01);
    for (size_t k = 1; k < COUNT(kernel); k++)
        assert_above(gain[0], gain[k]); /* a2a differs most */
}

/* Bounded queues hold packets up behind others, and never lock. */
TEST(test_buffers)
{
    SCOPED(network) *n = made("torus:8x4", 0.05, 175);
    struct nt_workload w = {.bytes = 1000, .messages = 3000, .packet_bytes = 250, .seed = 2};
    double unbounded = time_of(n, "gups", w);
    w.buffer_packets = 2;
    double tight = time_of(n, "gups", w);
    w.buffer_packets = 60000; /* only the order in a queue counts */
    double wide = time_of(n, "gups", w);
    assert_above(tight, 1.2 * unbounded);
    assert_above(tight, 1.2 * wide);
}

TEST(test_refusals)
{
    struct nt_network *n = made("star:4", 1, 100);
    const struct nt_workload wrong[] = {
        {.bytes = 0},
        {.bytes = -1},
        {.bytes = NAN},
        {.bytes = 1e9, .packet_bytes = 1},
        {.bytes = 8, .kernel = NT_KERNEL_SR},
        {.bytes = 8, .kernel = NT_KERNEL_GUPS, .messages = UINT32_MAX}};
    struct nt_kernel_result r;
    for (size_t k = 0; k < COUNT(wrong); k++) {
        assert_int_equal(nt_kernel_run(n, &wrong[k], &r, &err), -1);
        assert_int_equal(err.kind, NT_ERR_USAGE);
    }
    nt_network_destroy(n);
    struct nt_model *apart; /* two hosts without a link */
    assert_int_equal(nt_model_create(2, 0, 0, &apart, NULL), 0);
    assert_int_equal(nt_network_from_model(apart, &n, NULL), 0);
    const struct nt_workload o2a = {.bytes = 8, .kernel = NT_KERNEL_O2A};
    assert_int_equal(nt_kernel_run(n, &o2a, &r, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    nt_network_destroy(n);
    nt_model_destroy(apart);
}

/* Through one port all to one is as long on any network; from all links at once it is shorter, and
 * shortest where routers balance the ways on: then the twisted torus is faster, as published. */
TEST(test_consumption)
{
    SCOPED(network) *torus = made("torus:8x4", 0.05, 175);
    SCOPED(network) *twisted = made("ttorus:8x4:4", 0.05, 175);
    struct nt_workload w = {.bytes = 10000, .seed = 1};
    double one_port = time_of(torus, "a2o", w);
    assert_close(one_port, time_of(twisted, "a2o", w), 0.2);
    w.consume_all = true;
    double static_routes = time_of(torus, "a2o", w);
    assert_below(static_routes, 0.5 * one_port);
    w.adaptive = true;
    double torus_us = 0, twisted_us = 0;
    for (w.seed = 1; w.seed <= 10; w.seed++) {
        torus_us += time_of(torus, "a2o", w);
        twisted_us += time_of(twisted, "a2o", w);
    }
    assert_below(torus_us, 10 * static_routes);
    assert_below(twisted_us, 0.95 * torus_us);
}

RUN_TESTS
