/* SPDX-License-Identifier: Apache-2.0 */
/* Compares maps with the networks that were measured, for every kind of network, noise and job.
 *
 *     build/tests/bench_truth [--strict] [--method METHOD] [--dump DIR] [TABLE [SEED [SCALE]]]
 *
 * TABLE is one of --tables, or all (the default). SEED and SCALE are 1 by default; SCALE multiplies
 * the networks. METHOD is a method of nettopo solve. --dump writes each matrix as DIR/TABLE-N.csv
 * and its truth as DIR/TABLE-N.truth. The last line is ok, or the required figures that are missed;
 * with --strict the exit code is 1 then. truth_judge.h defines truth, and which map is right. */
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bufe.h"
#include "recorded_sweep.h"
#include "scattered_network.h"
#include "truth_findings.h"
#include "truth_judge.h"
#include "truth_measured.h"

/* ---- trees -----------------------------------------------------------------------------------*/

/* Trees, nested and uneven in turn. */
static void one_tree(struct run *r, enum truth_kind kind, size_t hosts, size_t network,
                     struct tally shape[2], struct tally *t)
{
    struct nt_rng rng;
    struct truth_net net;
    struct truth_noise noise;
    struct tally mine = {0};
    bool uneven = network % 2;
    stream(r, kind, hosts, network, &rng);
    double older = kind == TRUTH_OLDER ? truth_between(&rng, 0.2, 0.5) : 0;
    if (uneven)
        truth_uneven(hosts, older, &rng, &net);
    else
        truth_nested(hosts, truth_placement_draw(&rng), older, &rng, &net);
    double more_us = kind == TRUTH_ETHERNET ? truth_between(&rng, 1, 4) : 0;
    for (size_t h = 0; h < hosts; h++)
        net.end_us[h] += more_us * exp(0.01 * nt_rng_normal(&rng));
    truth_net_median(&net);
    truth_noise_draw(kind, &rng, &noise);
    one(r, &net, &noise, VISIBLE_SD, &rng, &mine);
    add(&shape[uneven], &mine);
    add(t, &mine);
    truth_net_fini(&net);
}

static void bench_trees(struct run *r)
{
    static const size_t sizes[] = {4, 6, 8, 16, 32, 64, 128, 256};
    static const double networks[] = {24, 16, 16, 12, 8, 6, 2, 2};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    struct tally by_size[SIZES] = {{0}}, shape[2] = {{0}}, few = {0}, many = {0};
    print_head("CPU ms");
    for (size_t k = 0; k < TRUTH_KINDS; k++) {
        struct tally all = {0};
        for (size_t s = 0; s < SIZES; s++) {
            struct tally t = {0};
            for (size_t i = 0; i < scaled(r, networks[s]); i++)
                one_tree(r, (enum truth_kind)k, sizes[s], i, shape, &t);
            print_size(r, truth_kind_names[k], sizes[s], &t);
            add(&all, &t);
            add(&by_size[s], &t);
            add(sizes[s] < 128 ? &few : &many, &t);
        }
        print_row(r, truth_kind_names[k], "all", &all);
    }
    for (size_t s = 0; s < SIZES; s++)
        print_size(r, "all", sizes[s], &by_size[s]);
    print_row(r, "nested", "all", &shape[0]);
    print_row(r, "uneven", "all", &shape[1]);
    print_row(r, "all", "4-64", &few);
    print_row(r, "all", "128-256", &many);
    require(r, share(few.right, few.maps) >= 0.97, "trees 4-64: exact %.3f < .97",
            share(few.right, few.maps));
    require(r, share(many.right, many.maps) >= 0.92, "trees 128-256: exact %.3f < .92",
            share(many.right, many.maps));
    require(r,
            few.middle < 30 || (share(few.middle_right, few.middle) >= 0.5 &&
                                share(few.middle_right, few.middle) <= 0.85),
            "trees 4-64: maps at .5 to .8 right %zu/%zu", few.middle_right, few.middle);
}

/* A network whose links at the leaves are gap sd of a pair's reading apart. */
static struct truth_noise noise_of_gap(const struct truth_net *net, double gap_us, double gap,
                                       struct nt_rng *rng)
{
    struct truth_noise noise = {.one_way = nt_rng_below(rng, 2) == 0};
    noise.core = gap_us / gap / net->median_us * (noise.one_way ? 1 : sqrt(2));
    return noise;
}

static void one_small(struct run *r, size_t hosts, double gap, size_t network, struct tally *t)
{
    static struct truth_pod_shape shape[TRUTH_POD_SHAPES];
    static struct truth_placement_shape all[2048];
    struct nt_rng rng;
    struct truth_net net;
    struct truth_placement_shape now = {0};
    stream(r, (uint64_t)(10 * gap), hosts, network, &rng);
    size_t shapes = truth_pod_shapes(hosts, shape);
    size_t count = truth_placements(hosts, shape, shapes - 1, &now, all);
    double us[3] = {truth_between(&rng, 0.4, 1)};
    us[1] = us[0] * truth_between(&rng, 0.15, 0.4);
    us[2] = us[1] * truth_between(&rng, 0.8, 1.25);
    truth_placed(&all[nt_rng_below(&rng, count)], shape, us, 0.02, &rng, &net);
    struct truth_noise noise = noise_of_gap(&net, 2 * us[1], gap, &rng);
    one(r, &net, &noise, 0, &rng, t);
    truth_net_fini(&net);
}

static void bench_small(struct run *r)
{
    static const double gaps[] = {20, 10, 6.7, 5, 3}, least[] = {0, 0, 0.93, 0.88, 0};
    struct tally all = {0};
    print_head("CPU ms");
    for (size_t g = 0; g < 5; g++) {
        struct tally of_gap = {0};
        char kind[24];
        snprintf(kind, sizeof kind, "gap %g sd", gaps[g]);
        for (size_t hosts = 4; hosts <= 7; hosts++) {
            struct tally t = {0};
            for (size_t i = 0; i < scaled(r, 48); i++)
                one_small(r, hosts, gaps[g], i, &t);
            print_size(r, kind, hosts, &t);
            add(&of_gap, &t);
        }
        print_row(r, kind, "4-7", &of_gap);
        require(r, share(of_gap.right, of_gap.maps) >= least[g], "small %s: exact %.3f < %.2f",
                kind, share(of_gap.right, of_gap.maps), least[g]);
        add(&all, &of_gap);
    }
    print_row(r, "all", "4-7", &all);
    require(r, share(all.sure_right, all.sure) >= 0.99, "small: sure maps right %zu/%zu",
            all.sure_right, all.sure);
}

/* Ends .58 us, uplinks .15 and .18 us. */
static void one_placement(struct run *r, size_t hosts, const struct truth_noise *noise,
                          size_t which, size_t kind, struct tally *t)
{
    static const double us[3] = {0.58, 0.15, 0.18};
    static struct truth_pod_shape shape[TRUTH_POD_SHAPES];
    static struct truth_placement_shape all[2048];
    static size_t made;
    struct truth_placement_shape now = {0};
    struct nt_rng rng;
    struct truth_net net;
    if (made != hosts)
        truth_placements(hosts, shape, truth_pod_shapes(hosts, shape) - 1, &now, all);
    made = hosts;
    stream(r, kind, hosts, which, &rng);
    truth_placed(&all[which], shape, us, noise->core > 0 ? 0.003 : 0, &rng, &net);
    one(r, &net, noise, 0, &rng, t);
    truth_net_fini(&net);
}

static void bench_placements(struct run *r)
{
    static const struct truth_noise noise[] = {{.one_way = true},
                                               {.core = 0.01, .one_way = true},
                                               {.core = 0.01, .quantum_us = 0.1, .one_way = true}};
    static const char *const kinds[] = {"exact", "1 %", "1 %, 0.1 us timer"};
    static const size_t count[] = {58, 111, 223, 424, 817, 1527};
    print_head("CPU ms");
    for (size_t k = 0; k < 3; k++) {
        struct tally all = {0};
        for (size_t hosts = 6; hosts <= TRUTH_FEW; hosts++) {
            struct tally t = {0};
            size_t step = (size_t)fmax(1, 1 / r->scale);
            for (size_t i = 0; i < count[hosts - 6]; i += step)
                one_placement(r, hosts, &noise[k], i, k, &t);
            print_size(r, kinds[k], hosts, &t);
            add(&all, &t);
        }
        print_row(r, kinds[k], "6-11", &all);
        require(r, share(all.right, all.maps) >= 0.99, "placements %s: exact %.4f < .99", kinds[k],
                share(all.right, all.maps));
        require(r, share(all.sure - all.sure_right, all.maps) <= 0.005 || all.maps == 0,
                "placements %s: sure and wrong %zu of %zu", kinds[k], all.sure - all.sure_right,
                all.maps);
    }
}

/* Pairs or triples among single hosts, whose leaves have the same uplinks. */
static void one_pairs(struct run *r, size_t hosts, size_t size, double least, double most,
                      size_t network, struct tally *t)
{
    struct nt_rng rng;
    struct truth_net net;
    uint32_t *pod = truth_alloc(hosts, sizeof *pod), *leaf = truth_alloc(hosts, sizeof *leaf);
    stream(r, size * 100 + (uint64_t)most, hosts, network, &rng);
    double us[3] = {truth_between(&rng, 0.4, 1)}, gap = truth_scale(&rng, least, most);
    us[1] = us[0] * truth_between(&rng, 0.15, 0.4);
    size_t groups = truth_count(&rng, 1, hosts / size / 2);
    for (uint32_t h = 0; h < hosts; h++)
        leaf[h] = h < groups * size ? h / (uint32_t)size : h;
    truth_pods(hosts, pod, leaf, us, 0.01, &rng, &net);
    struct truth_noise noise = noise_of_gap(&net, 2 * us[1], gap, &rng);
    one(r, &net, &noise, 0, &rng, t);
    truth_net_fini(&net);
    free(pod);
    free(leaf);
}

static void bench_pairs(struct run *r)
{
    static const size_t sizes[] = {8, 16, 32, 64, 128};
    static const double networks[] = {40, 30, 20, 10, 4}, most[] = {5, 15};
    static const char *const kinds[2][2] = {{"pairs, 5 sd", "pairs, 5-15 sd"},
                                            {"triples, 5 sd", "triples, 5-15 sd"}};
    print_head("CPU ms");
    for (size_t size = 2; size <= 3; size++)
        for (size_t g = 0; g < 2; g++) {
            struct tally all = {0};
            const char *kind = kinds[size - 2][g];
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                struct tally t = {0};
                for (size_t i = 0; i < scaled(r, networks[s]); i++)
                    one_pairs(r, sizes[s], size, 5, most[g], i, &t);
                print_size(r, kind, sizes[s], &t);
                add(&all, &t);
            }
            print_row(r, kind, "all", &all);
            require(r, g == 0 || share(all.found, all.visible) >= 0.98, "%s: found %.3f < .98",
                    kind, share(all.found, all.visible));
        }
}

/* ---- networks that are no trees --------------------------------------------------------------*/

enum part {
    CYCLE_SCATTERED,
    CYCLE_RUNS,
    CYCLE_PAIRS,
    HYPERX,
    SLIMFLY,
    TORUS_PART,
    DRAGONFLY_PART,
    PARTS
};
static const char *const part_names[PARTS] = {"cycle, scattered", "cycle, runs", "cycle, pairs",
                                              "HyperX",           "Slim Fly",    "torus, part",
                                              "dragonfly, part"};

/* A job on a part of the network. */
static void draw_part(enum part kind, size_t hosts, struct nt_rng *rng, struct truth_net *net)
{
    static struct truth_graph g;
    static const size_t shapes[][3] = {{6, 6, 1}, {8, 4, 1}, {4, 4, 3}}, torus[] = {6, 6, 4};
    enum truth_placement how = truth_placement_draw(rng);
    double host_us = truth_between(rng, 0.45, 0.65), us = truth_between(rng, 0.1, 0.25);
    size_t on_switch = truth_count(rng, 2, 4);
    if (kind <= CYCLE_PAIRS) {
        truth_cycle(&g, 0.11);
        how = kind == CYCLE_RUNS ? TRUTH_PACKED : TRUTH_SCATTERED;
        on_switch = kind != CYCLE_PAIRS ? 18 : hosts < 14 ? 2 : (hosts + 6) / 7;
        truth_graph_some(&g, how, 7, on_switch, hosts, 0.55, rng, net);
        return;
    }
    if (kind == HYPERX)
        truth_hyperx(&g, 3, shapes[nt_rng_below(rng, 3)], us);
    else if (kind == SLIMFLY)
        truth_slimfly(&g, us);
    else if (kind == TORUS_PART)
        truth_lattice(&g, 3, torus, true, us), on_switch = truth_count(rng, 1, 2);
    else
        truth_dragonfly(&g, 9, 6, us, us * truth_between(rng, 1, 3));
    truth_graph_some(&g, how, g.switches, on_switch, hosts, host_us, rng, net);
}

static void one_part(struct run *r, enum part kind, size_t hosts, size_t network, struct tally *t)
{
    struct nt_rng rng;
    struct truth_net net;
    struct truth_noise noise;
    stream(r, kind, hosts, network, &rng);
    draw_part(kind, hosts, &rng, &net);
    truth_noise_draw(nt_rng_below(&rng, 2) == 0 ? TRUTH_PLAIN : TRUTH_TAILS, &rng, &noise);
    noise.core = truth_scale(&rng, 0.004, 0.02);
    one(r, &net, &noise, VISIBLE_SD, &rng, t);
    truth_net_fini(&net);
}

enum whole { RING, MESH, TORUS_2, TORUS_3, CUBE, DRAGONFLY, WHOLES };
static const char *const whole_names[WHOLES] = {"ring 3-12",   "mesh",      "torus 4x4",
                                                "torus 3x3x3", "hypercube", "dragonfly"};

/* 1 to 6 hosts per switch. */
static void draw_whole(enum whole kind, size_t network, struct nt_rng *rng, struct truth_net *net)
{
    static struct truth_graph g;
    static const size_t meshes[][2] = {{3, 3}, {4, 3}, {4, 4}}, four[] = {4, 4};
    static const size_t three[] = {3, 3, 3}, two[] = {2, 2, 2, 2};
    static const size_t flies[][2] = {{4, 3}, {5, 4}, {6, 3}};
    double host_us = truth_between(rng, 0.45, 0.65), us = truth_between(rng, 0.15, 0.3);
    size_t ring = 3 + network % 10, on_switch = 1 + (network / 10 + network) % 6;
    if (kind == RING)
        truth_lattice(&g, 1, &ring, true, us);
    else if (kind == MESH)
        truth_lattice(&g, 2, meshes[network / 6 % 3], false, us);
    else if (kind == TORUS_2)
        truth_lattice(&g, 2, four, true, us);
    else if (kind == TORUS_3)
        truth_lattice(&g, 3, three, true, us);
    else if (kind == CUBE)
        truth_lattice(&g, 3 + network / 6 % 2, two, false, us);
    else
        truth_dragonfly(&g, flies[network / 6 % 3][0], flies[network / 6 % 3][1], us,
                        us * truth_between(rng, 1, 3));
    truth_graph_whole(&g, on_switch, host_us, rng, net);
}

static void bench_wholes(struct run *r, struct tally *all)
{
    static const double cores[] = {0, 0.01, 0.03};
    static const double networks[WHOLES] = {60, 18, 12, 6, 12, 12};
    for (size_t k = 0; k < WHOLES; k++)
        for (size_t c = 0; c < 3; c++) {
            struct truth_noise noise = {.core = cores[c]};
            struct tally t = {0};
            char size[24];
            for (size_t i = 0; i < scaled(r, networks[k]); i++) {
                struct nt_rng rng;
                struct truth_net net;
                stream(r, 100 + 10 * k + c, 0, i, &rng);
                draw_whole((enum whole)k, i, &rng, &net);
                one(r, &net, &noise, VISIBLE_SD, &rng, &t);
                truth_net_fini(&net);
            }
            snprintf(size, sizeof size, "%.0f %%", 100 * cores[c]);
            print_row(r, whole_names[k], size, &t);
            add(all, &t);
            require(r, k == DRAGONFLY || share(t.right, t.maps) >= 0.9,
                    "nontrees %s %s: found %zu/%zu", whole_names[k], size, t.right, t.maps);
            require(r, k == DRAGONFLY || t.sure == t.sure_right,
                    "nontrees %s %s: sure and wrong %zu", whole_names[k], size,
                    t.sure - t.sure_right);
        }
}

static void bench_nontrees(struct run *r)
{
    static const size_t sizes[] = {6, 8, 12, 16, 32};
    struct tally all = {0};
    print_head("CPU ms");
    for (size_t k = 0; k < PARTS; k++) {
        struct tally of_kind = {0};
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            struct tally t = {0};
            for (size_t i = 0; i < scaled(r, 10); i++)
                one_part(r, (enum part)k, sizes[s], i, &t);
            print_size(r, part_names[k], sizes[s], &t);
            add(&of_kind, &t);
        }
        print_row(r, part_names[k], "all", &of_kind);
        add(&all, &of_kind);
    }
    bench_wholes(r, &all);
    print_row(r, "all", "all", &all);
    require(r, share(r->bin_real[2], r->bin[2]) >= 0.7, "nontrees: supports .8 to .9 real %zu/%zu",
            r->bin_real[2], r->bin[2]);
}

/* ---- networks of groups, as they are simulated -----------------------------------------------*/

static struct nt_network *simulated(const char *text, bool adaptive)
{
    struct nt_spec spec;
    struct nt_network *n;
    struct nt_err err;
    known_must(nt_spec_parse(text, &spec, &err), &err);
    known_must(nt_network_build(&spec, NULL, &n, &err), &err);
    n->adaptive = adaptive;
    return n;
}

/* The job's hosts in a network of groups: those of a router, and of a group where paths show it. */
static void truth_of_job(const struct nt_network *n, const uint32_t *job, size_t hosts,
                         struct truth_net *net)
{
    const struct nt_spec *spec = &n->spec;
    uint32_t on_router = spec->dimension[spec->dimensions - 1];
    uint32_t in_group = (uint32_t)(n->hosts / spec->dimension[0]);
    uint32_t *in = truth_alloc(hosts, sizeof *in);
    double us = n->arc[0].latency_us;
    truth_net_init(net, hosts, n->hosts / on_router);
    net->hop_us = INFINITY;
    for (size_t h = 0; h < hosts; h++) {
        net->at[h] = job[h] / on_router;
        net->end_us[h] = us;
    }
    for (size_t i = 0; i < hosts; i++)
        for (size_t j = 0; j < hosts; j++) {
            if (net->at[i] == net->at[j])
                continue;
            double apart = nt_network_latency(n, job[i], job[j]) - 2 * us;
            net->us[net->at[i] * net->switches + net->at[j]] = apart;
            net->hop_us = fmin(net->hop_us, apart);
        }
    switch_groups(net);
    for (uint32_t group = 0; group < spec->dimension[0]; group++) {
        size_t count = 0;
        for (uint32_t h = 0; h < hosts; h++)
            if (job[h] / in_group == group)
                in[count++] = h;
        struct job_groups alone;
        job_groups_init(&alone, hosts);
        job_groups_add(&alone, in, count, net->hop_us / 2, 1);
        if (alone.count > 0 && is_real_split(net, &alone.group[0]))
            job_groups_add(&net->groups, in, count, net->hop_us / 2, 1);
        job_groups_fini(&alone);
    }
    truth_net_median(net);
    free(in);
}

static void one_of_groups(struct run *r, const char *text, bool adaptive, size_t hosts,
                          bool anywhere, double sd, size_t number, struct tally *t)
{
    struct nt_network *n = simulated(text, adaptive);
    const struct nt_measure_noise noise = {.sd = sd, .seed = number + 1};
    uint32_t *job = truth_alloc(n->hosts, sizeof *job);
    struct nt_matrix *all, *x;
    struct truth_net net;
    struct nt_rng rng;
    struct nt_err err;
    stream(r, hosts, (uint64_t)(1000 * sd), number, &rng);
    for (uint32_t h = 0; h < n->hosts; h++)
        job[h] = h;
    if (anywhere)
        nt_rng_shuffle(&rng, job, n->hosts);
    truth_of_job(n, job, hosts, &net);
    known_must(nt_measure_latencies(n, &noise, &all, &err), &err);
    known_must(nt_matrix_create(hosts, NT_MATRIX_LATENCY_US, &x, &err), &err);
    for (size_t a = 0; a < hosts; a++)
        for (size_t b = 0; b < hosts; b++)
            nt_matrix_set(x, a, b, nt_matrix_get(all, job[a], job[b]));
    one_matrix(r, &net, x, sd * net.median_us / sqrt(2), VISIBLE_SD, t);
    nt_matrix_destroy(all);
    nt_matrix_destroy(x);
    truth_net_fini(&net);
    nt_network_destroy(n);
    free(job);
}

static void bench_groups(struct run *r)
{
    static const struct {
        const char *kind, *spec;
        bool adaptive;
        size_t hosts;
        bool anywhere;
    } rows[] = {{"dragonfly", "dragonfly:5x4x4", false, 80, false},
                {"dragonfly", "dragonfly:9x4x2", false, 72, false},
                {"dragonfly", "dragonfly:7x6x3", false, 126, false},
                {"dragonfly", "dragonfly:9x8x4", false, 288, false},
                {"dragonfly, run", "dragonfly:9x8x4", false, 64, false},
                {"dragonfly, any", "dragonfly:9x8x4", false, 144, true},
                {"dragonfly, any", "dragonfly:33x8x4", false, 64, true},
                {"dragonfly, adapt.", "dragonfly:9x8x4", true, 288, false},
                {"dragonfly, adapt.", "dragonfly:9x8x4", true, 64, true},
                {"aries", "aries:6x2x4x4", false, 192, false},
                {"aries, adaptive", "aries:6x2x4x4", true, 192, false},
                {"aries, any", "aries:6x2x4x4", false, 64, true},
                {"dragonfly+", "dragonfly+:6x4x4x8", false, 192, false},
                {"dragonfly+, adapt.", "dragonfly+:6x4x4x8", true, 192, false},
                {"dragonfly+, any", "dragonfly+:6x4x4x8", false, 64, true}};
    static const double sds[] = {0.01, 0.02, 0.05};
    print_head("CPU ms");
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        for (size_t c = 0; c < 3; c++) {
            struct tally t = {0};
            char size[32];
            for (size_t i = 0; i < scaled(r, 7); i++)
                one_of_groups(r, rows[k].spec, rows[k].adaptive, rows[k].hosts, rows[k].anywhere,
                              sds[c], i, &t);
            snprintf(size, sizeof size, "%zu, %.0f %%", rows[k].hosts, 100 * sds[c]);
            print_row(r, rows[k].kind, size, &t);
        }
}

/* ---- sweeps ----------------------------------------------------------------------------------*/

/* How a job is swept: two per cent of noise. passes: at most; 0: as many as it asks for. */
struct sweep_kind {
    const char *name;
    enum nt_sweep_mode mode;
    double outliers, disturbed;
    size_t passes;
    bool unrepeated;
};

/* The map of a sweep has the network's groups, and no others. */
static void one_sweep(struct run *r, const struct nt_network *n, const struct sweep_kind *kind,
                      uint64_t seed, struct tally *to)
{
    size_t pass = nt_sweep_all_rounds(n->hosts);
    struct recording how = {.level = NT_LEVEL_QUICK,
                            .mode = kind->mode,
                            .noise = {.sd = 0.02, .outliers = kind->outliers, .seed = seed},
                            .disturbed = kind->disturbed,
                            .most_rounds = kind->passes * pass,
                            .unrepeated = kind->unrepeated};
    struct recorded record = record_sweep(n, &how);
    struct nt_model *model = scattered_truth(n);
    struct stated is, truth;
    struct nt_map *map;
    struct nt_err err;
    struct tally t = {.ms = (double)record.rounds / (double)pass};
    known_must(nt_solve_samples(record.samples, NULL, NULL, &map, &err), &err);
    state(model, &truth);
    state(map->model, &is);
    t.visible = truth.groups.count;
    for (size_t k = 0; k < truth.groups.count; k++)
        t.found += job_groups_find(&is.groups, &truth.groups.group[k]) != NULL;
    count_stated(r, &is, NULL, &truth.groups, &t);
    judge_map(r, map->model, is.tree && t.found == t.visible && t.invented == 0, &t, to);
    stated_fini(&is);
    stated_fini(&truth);
    nt_model_destroy(model);
    nt_map_destroy(map);
    nt_samples_destroy(record.samples);
}

static void bench_sweeps(struct run *r)
{
    static const struct sweep_kind kinds[] = {{"auto", .mode = NT_SWEEP_AUTO, .outliers = 0.01},
                                              {"all", .mode = NT_SWEEP_ALL, .outliers = 0.01},
                                              {"all, once", NT_SWEEP_ALL, 0.01, 0, 0, true},
                                              {"10 %", NT_SWEEP_ALL, 0.01, 0.1, 0, false},
                                              {"30 %, 1x", NT_SWEEP_ALL, 0, 0.3, 1, false},
                                              {"30 %", NT_SWEEP_ALL, 0, 0.3, 0, false},
                                              {"60 %", NT_SWEEP_ALL, 0, 0.6, 0, false}};
    static const struct {
        const char *name, *spec; /* spec NULL: of scattered leaves */
        struct scattered job;
        double sweeps;
    } jobs[] = {
        {"star of 8", "star:8", {0}, 20},
        {"tree of 2x4", "tree:2x4", {0}, 20},
        {"tree of 2x2x4", "tree:2x2x4", {0}, 20},
        {"8: 2 pairs", NULL, {.pairs = 2, .singles = 4, .host_us = 0.56, .up_us = 0.15}, 20},
        {"32: singles", NULL, {.singles = 32, .host_us = 0.56, .up_us = 0.15}, 10},
        {"32: pairs, .08", NULL, {.pairs = 8, .singles = 16, .host_us = 0.56, .up_us = 0.08}, 10},
        {"32: pairs", NULL, {.pairs = 8, .singles = 16, .host_us = 0.56, .up_us = 0.15}, 10},
        {"40: 1 to 4",
         NULL,
         {.pairs = 4, .triples = 4, .quads = 4, .singles = 4, .host_us = 0.56, .up_us = 0.15},
         10},
        {"64: pairs, pods",
         NULL,
         {.pairs = 16, .singles = 32, .host_us = 0.56, .up_us = 0.15, .pods = 4, .pod_us = 0.15},
         10},
        {"256: pairs", NULL, {.pairs = 64, .singles = 128, .host_us = 0.56, .up_us = 0.15}, 1}};
    print_head("passes");
    for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            struct tally t = {0};
            for (uint64_t i = 1; i <= scaled(r, jobs[j].sweeps); i++) {
                struct nt_network *n = jobs[j].spec != NULL
                                           ? simulated(jobs[j].spec, false)
                                           : scattered_network(&jobs[j].job, r->seed * 1000 + i);
                one_sweep(r, n, &kinds[k], r->seed * 1000 + i, &t);
                nt_network_destroy(n);
            }
            print_row(r, jobs[j].name, kinds[k].name, &t);
        }
}

/* ---- wrong measurements ----------------------------------------------------------------------*/

/* Equation 3.5 is P = p^(n(n-1)/2): every pair must be measured right. Trees of two tiers, 2 % of
 * noise; a wrong measurement is off by a factor of 0.6 to 1.6. Found: every switch, each host on
 * its own. */
static void bench_wrong(struct run *r)
{
    static const size_t fan[][2] = {{3, 4}, {4, 4}, {4, 8}, {8, 8}, {8, 16}, {16, 16}};
    static const double wrong[] = {0.01, 0.001, 0.0001};
    printf("%6s %8s %8s %16s %8s\n", "hosts", "wrong", "formula", "thesis's method", "ours");
    for (size_t w = 0; w < 3; w++)
        for (size_t k = 0; k < sizeof fan / sizeof *fan; k++) {
            const struct known_noise noise = {.sd = 0.02, .outliers = wrong[w]};
            double n = (double)(fan[k][0] * fan[k][1]);
            size_t networks = scaled(r, 20), theirs = scaled(r, 4), found[2] = {0};
            for (size_t i = 0; i < networks; i++) {
                struct nt_rng rng;
                struct nt_bufe_result *cliques;
                struct nt_model *m;
                struct nt_err err;
                stream(r, w, k, i, &rng);
                struct nt_model *truth = known_balanced(2, fan[k], (const double[]){0.6, 0.3});
                struct nt_matrix *x = known_measure(truth, &noise, &rng);
                known_must(nt_infer_latency(x, NULL, 1, &m, &err), &err);
                found[0] += known_same_shape(truth, m);
                if (i < theirs && nt_bufe_infer(x, NULL, NULL, &cliques, &err) == 0) {
                    found[1] += known_same_shape(truth, cliques->model);
                    nt_bufe_destroy(cliques); /* else more cliques than can be looked at */
                }
                nt_matrix_destroy(x);
                nt_model_destroy(truth);
                nt_model_destroy(m);
            }
            printf("%6.0f %7g%% %7.1f%% %15.0f%% %7.1f%%\n", n, 100 * wrong[w],
                   100 * pow(1 - wrong[w], n * (n - 1) / 2), 100 * share(found[1], theirs),
                   100 * share(found[0], networks));
            fflush(stdout);
        }
}

/* ---- invariance ------------------------------------------------------------------------------*/

enum change { REORDERED, RENAMED, SCALED, SHIFTED, THINNED, CHANGES };
static const char *const change_names[CHANGES] = {"other order", "other names", "times 1,000",
                                                  "plus a constant", "30 % missing"};

/* Row and column k of the result are those of host order[k]. */
static struct nt_matrix *changed(const struct nt_matrix *x, enum change change,
                                 const uint32_t *order, struct nt_rng *rng)
{
    struct nt_matrix *y;
    struct nt_err err;
    known_must(nt_matrix_create(x->n, NT_MATRIX_LATENCY_US, &y, &err), &err);
    for (size_t i = 0; i < x->n; i++)
        for (size_t j = 0; j < i; j++) {
            bool none = change == THINNED && nt_rng_uniform(rng) < 0.3;
            for (size_t way = 0; way < 2; way++) {
                size_t a = way ? i : j, b = way ? j : i;
                float v = nt_matrix_get(x, order[a], order[b]);
                v = change == SCALED ? v * 1000 : change == SHIFTED ? v + 2 : none ? NAN : v;
                nt_matrix_set(y, a, b, v);
            }
        }
    return y;
}

struct invariance {
    size_t maps, shapes, families, findings, crosses, wrong_new, lost;
    double confidence, link; /* largest changes; of a link between switches relative */
};

static bool same_sets(const struct job_groups *a, const struct job_groups *b)
{
    bool same = a->count == b->count;
    for (size_t k = 0; k < a->count; k++)
        same = same && job_groups_find(b, &a->group[k]) != NULL;
    return same;
}

/* The wrong groups that b states and a does not; of the right ones the other way around. */
static size_t wrong_new(const struct truth_net *net, const struct stated *a, const struct stated *b,
                        bool real)
{
    size_t count = 0;
    for (size_t k = 0; k < b->groups.count; k++) {
        const struct job_group *g = &b->groups.group[k];
        bool is = job_groups_find(&net->groups, g) != NULL || (!net->tree && is_real_split(net, g));
        count += is == real && job_groups_find(&a->groups, g) == NULL;
    }
    return count;
}

static void compare(const struct truth_net *net, const struct nt_map *was, const struct nt_map *is,
                    struct invariance *v)
{
    const struct nt_model *a = was->model, *b = is->model;
    struct stated before, after;
    state(a, &before);
    state(b, &after);
    bool same = same_sets(&before.groups, &after.groups) && same_sets(&before.seats, &after.seats);
    v->maps++;
    v->shapes += !same || a->links != b->links;
    v->families += a->family != b->family;
    v->findings += was->faults != is->faults;
    v->crosses += (a->confidence >= SURE) != (b->confidence >= SURE);
    v->confidence = fmax(v->confidence, fabs(a->confidence - b->confidence));
    v->lost += wrong_new(net, &after, &before, true);
    if (b->confidence >= SURE)
        v->wrong_new += wrong_new(net, &before, &after, false);
    for (size_t k = 0; k < before.groups.count && same; k++) {
        double x = before.groups.group[k].latency_us, y = after.groups.group[k].latency_us;
        v->link = fmax(v->link, fabs(y - x) / x);
    }
    stated_fini(&before);
    stated_fini(&after);
}

static void one_change(const struct truth_net *net, const struct nt_matrix *x, enum change change,
                       const struct nt_map *was, struct nt_rng *rng, struct invariance *v)
{
    double ms;
    size_t n = net->hosts;
    uint32_t *order = truth_alloc(n, sizeof *order), *number = truth_alloc(n, sizeof *number);
    char(*text)[24] = truth_alloc(n, sizeof *text);
    const char **name = truth_alloc(n, sizeof *name);
    for (uint32_t h = 0; h < n; h++)
        order[h] = number[h] = h;
    if (change == REORDERED)
        nt_rng_shuffle(rng, order, n);
    if (change == RENAMED)
        nt_rng_shuffle(rng, number, n);
    for (size_t h = 0; h < n; h++) {
        snprintf(text[h], sizeof *text, "n%u", number[order[h]]);
        name[h] = text[h];
    }
    struct nt_matrix *y = changed(x, change, order, rng);
    struct nt_map *is = solve(y, NULL, name, &ms);
    struct nt_model *m = is->model;
    for (uint32_t h = 0; h < n; h++)
        order[number[h]] = h;
    for (size_t k = 0; k < m->links && change == RENAMED; k++) {
        struct nt_link *l = &m->link[k];
        l->a = l->a < n ? order[l->a] : l->a;
        l->b = l->b < n ? order[l->b] : l->b;
    }
    for (size_t k = 0; k < m->links && change == SCALED; k++)
        m->link[k].latency_us /= 1000;
    compare(net, was, is, v);
    nt_map_destroy(is);
    nt_matrix_destroy(y);
    free(order);
    free(number);
    free(text);
    free(name);
}

/* Trees and other networks in turn. */
static void one_invariance(struct run *r, size_t network, struct invariance *v)
{
    static const size_t sizes[] = {4, 6, 8, 12, 16, 24, 32, 64};
    size_t hosts = sizes[network / 3 % 8];
    struct nt_rng rng;
    struct truth_net net;
    struct truth_noise noise;
    double ms;
    stream(r, 0, hosts, network, &rng);
    if (network % 3 == 0)
        truth_nested(hosts, truth_placement_draw(&rng), 0, &rng, &net);
    else if (network % 3 == 1)
        truth_uneven(hosts, 0, &rng, &net);
    else
        draw_part((enum part)(network / 3 % PARTS), hosts, &rng, &net);
    if (!net.tree)
        switch_groups(&net);
    truth_noise_draw((enum truth_kind)(network % TRUTH_KINDS), &rng, &noise);
    struct nt_matrix *x = truth_measure(&net, &noise, &rng);
    struct nt_map *was = solve(x, NULL, NULL, &ms);
    for (size_t c = 0; c < CHANGES; c++)
        one_change(&net, x, (enum change)c, was, &rng, &v[c]);
    nt_map_destroy(was);
    nt_matrix_destroy(x);
    truth_net_fini(&net);
}

static void bench_invariance(struct run *r)
{
    struct invariance all[CHANGES] = {{0}};
    for (size_t i = 0; i < scaled(r, 96); i++)
        one_invariance(r, i, all);
    printf("%-16s %6s %6s %6s %8s %10s %10s %10s %12s %12s\n", "change", "maps", "shape", "family",
           "findings", "crosses .9", "confidence", "link", "groups lost", "wrong, sure");
    for (size_t c = 0; c < CHANGES; c++) {
        const struct invariance *v = &all[c];
        printf("%-16s %6zu %6zu %6zu %8zu %10zu %10.2g %10.2g %12zu %12zu\n", change_names[c],
               v->maps, v->shapes, v->families, v->findings, v->crosses, v->confidence, v->link,
               v->lost, v->wrong_new);
        if (c == THINNED)
            require(r, v->wrong_new == 0, "invariance, %s: wrong groups new in sure maps %zu",
                    change_names[c], v->wrong_new);
        else
            require(r,
                    v->shapes + v->families + v->findings == 0 &&
                        (c == SHIFTED || v->confidence <= 1e-6),
                    "invariance, %s: %zu shapes, %zu families, %zu findings, confidence %.2g",
                    change_names[c], v->shapes, v->families, v->findings, v->confidence);
    }
}

/* ---- speed -----------------------------------------------------------------------------------*/

/* CPU of gzip -1 of the matrix as CSV; NaN: there is no gzip. */
static double gzip_ms(const struct nt_matrix *x)
{
    FILE *csv = tmpfile();
    struct rusage use;
    int status;
    if (csv == NULL)
        return (double)NAN;
    write_csv(csv, x);
    rewind(csv);
    fflush(stdout); /* or the child prints it again */
    pid_t child = fork();
    if (child == 0) {
        dup2(fileno(csv), STDIN_FILENO);
        if (freopen("/dev/null", "w", stdout) != NULL)
            execlp("gzip", "gzip", "-1c", (char *)NULL);
        _exit(127);
    }
    bool ran = child > 0 && wait4(child, &status, 0, &use) == child && status == 0;
    fclose(csv);
    if (!ran)
        return (double)NAN;
    return 1e3 * (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-3 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

enum { UNEVEN = TRUTH_PLACEMENTS }; /* a kind of job beside the placements */

static void one_speed(struct run *r, unsigned job, size_t hosts, size_t network, double ms[3])
{
    struct nt_rng rng;
    struct truth_net net;
    struct truth_noise noise = {.core = 0.01, .tail = 0.01};
    double one;
    stream(r, job, hosts, network, &rng);
    if (job == UNEVEN)
        truth_uneven(hosts, 0, &rng, &net);
    else
        truth_nested(hosts, (enum truth_placement)job, 0, &rng, &net);
    struct nt_matrix *x = truth_measure(&net, &noise, &rng);
    nt_map_destroy(solve(x, NULL, NULL, &one));
    ms[0] += one;
    ms[1] = fmax(ms[1], one);
    ms[2] += gzip_ms(x);
    nt_matrix_destroy(x);
    truth_net_fini(&net);
}

static void bench_speed(struct run *r)
{
    static const size_t sizes[] = {8, 64, 256, 1024, 4096};
    static const double runs[] = {20, 8, 4, 2, 1};
    static const struct {
        const char *name;
        unsigned job;
        size_t most;
    } jobs[] = {{"packed", TRUTH_PACKED, 4096},
                {"scattered", TRUTH_SCATTERED, 4096},
                {"uneven", UNEVEN, 1024}};
    printf("%-10s %6s %6s %12s %12s %12s\n", "job", "hosts", "maps", "mean", "most", "gzip -1");
    for (size_t k = 0; k < sizeof jobs / sizeof *jobs; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes && sizes[s] <= jobs[k].most; s++) {
            double ms[3] = {0};
            size_t count = scaled(r, runs[s]);
            for (size_t i = 0; i < count; i++)
                one_speed(r, jobs[k].job, sizes[s], i, ms);
            ms[0] /= (double)count;
            ms[2] /= (double)count;
            printf("%-10s %6zu %6zu %12.2f %12.2f %12.2f\n", jobs[k].name, sizes[s], count, ms[0],
                   ms[1], ms[2]);
            fflush(stdout);
            require(r, jobs[k].job != TRUTH_PACKED || sizes[s] != 1024 || !(ms[0] > ms[2]),
                    "speed: %zu hosts take %.0f ms, gzip -1 %.0f", sizes[s], ms[0], ms[2]);
        }
}

int main(int argc, char **argv)
{
    static struct run r = {.seed = 1, .scale = 1};
    static const struct {
        const char *name, *title;
        void (*bench)(struct run *r);
    } tables[] = {
        {"trees", "nested and uneven, 14 kinds of noise, visible from 5 sd", bench_trees},
        {"small", "pods of leaves, kind: gap in sd of a reading, all groups count", bench_small},
        {"placements",
         "every placement on a three-tier tree (SCALE under 1: one in so many), all groups count",
         bench_placements},
        {"pairs", "pairs and triples among singles, all groups count", bench_pairs},
        {"nontrees", "parts of networks by hosts; whole networks by noise, 1 to 6 hosts per switch",
         bench_nontrees},
        {"groups",
         "networks of groups under minimal and adaptive routing: hosts of a router and of a group",
         bench_groups},
        {"sweeps",
         "what sweeps of a job find, by kind of sweep and share of disturbed readings; last: "
         "passes over all pairs",
         bench_sweeps},
        {"findings", "findings on sound networks and on networks with one planted fault",
         bench_findings},
        {"measured",
         "groups in matrices measured on machines whose groups are known, and in jobs of them",
         bench_measured},
        {"wrong",
         "shares found exactly where a share of all pairs is wrong (Bufe 2014, table 3.10)",
         bench_wrong},
        {"invariance", "maps that change, and the largest change of confidence", bench_invariance},
        {"speed", "CPU ms per map, and of gzip -1 of the CSV", bench_speed},
    };
    enum { TABLES = sizeof tables / sizeof *tables };
    const char *table = "all";
    size_t ran = 0;
    int at = 1;
    if (argc == 2 && strcmp(argv[1], "--tables") == 0) {
        for (size_t k = 0; k < TABLES; k++)
            printf("%-12s %s\n", tables[k].name, tables[k].title);
        return 0;
    }
    bool strict = at < argc && strcmp(argv[at], "--strict") == 0;
    at += strict ? 1 : 0;
    published = nt_published_named("auto");
    if (at + 1 < argc && strcmp(argv[at], "--method") == 0) {
        struct nt_err err;
        published = nt_published_named(argv[at + 1]);
        known_must(nt_published_check(&published, 1, &err), &err);
        at += 2;
    }
    if (at + 1 < argc && strcmp(argv[at], "--dump") == 0) {
        r.dump = argv[at + 1];
        at += 2;
    }
    if (at < argc && strchr("0123456789", argv[at][0]) == NULL)
        table = argv[at++];
    if (at < argc)
        r.seed = strtoull(argv[at++], NULL, 10);
    if (at < argc)
        r.scale = strtod(argv[at++], NULL);
    for (size_t k = 0; k < TABLES; k++)
        if (strcmp(table, "all") == 0 || strcmp(table, tables[k].name) == 0) {
            begin_table(&r, tables[k].name, tables[k].title);
            tables[k].bench(&r);
            print_bins("supports stated, real/all", r.bin_real, r.bin);
            print_bins("confidences stated, right/all", r.of_map_right, r.of_map);
            ran++;
        }
    if (ran == 0 || !(r.scale > 0)) {
        fprintf(stderr,
                "bench_truth: expected [--strict] [--method METHOD] [--dump DIR] [TABLE [SEED "
                "[SCALE]]], see its top\n");
        return 2;
    }
    printf("\n%s%s\n", r.fails[0] != '\0' ? "missed: " : "ok", r.fails);
    return strict && r.fails[0] != '\0';
}
