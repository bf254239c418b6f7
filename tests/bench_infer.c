/* The figures that we state for inference: exact shapes against noise and wrong pairs (the clique
 * method of the thesis at its best epsilon beside ours), false splits, reliability of the
 * confidence, coverage of the standard errors, time.
 *
 *     build/tests/bench_infer [SEEDS, default 10 [TABLES, default sudfcet]]
 *
 * TABLES: s shapes, u uneven small trees, d direct networks, f false splits, c confidence, e
 * standard errors, t time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bufe.h"
#include "known_network.h"

#define FAN(...) ((const size_t[]){__VA_ARGS__})
#define US(...) ((const double[]){__VA_ARGS__})

static const char *const names[] = {"star of 16",     "2 leaves of 2",  "leaves of 3+5",
                                    "4 leaves of 4",  "2x2x2",          "2x2x4",
                                    "4x4x8",          "3x2x3x6",        "leaves 3,5,12,20",
                                    "chain of 4 x 6", "16 leaves of 2", "4x4x8, mixed hosts",
                                    "8x8x16"};
enum { SHAPES = sizeof names / sizeof *names, MIXED = 11, LARGE = 12 };

static struct nt_model *shape(size_t k)
{
    switch (k) {
    case 0:
        return known_balanced(1, FAN(16), US(0.6));
    case 1:
        return known_balanced(2, FAN(2, 2), US(0.6, 0.3));
    case 2:
        return known_leaves(2, FAN(3, 5), 0.6, 0.3);
    case 3:
        return known_balanced(2, FAN(4, 4), US(0.6, 0.25));
    case 4:
        return known_balanced(3, FAN(2, 2, 2), US(0.6, 0.3, 0.6));
    case 5:
        return known_balanced(3, FAN(2, 2, 4), US(0.6, 0.3, 0.6));
    case 7:
        return known_balanced(4, FAN(3, 2, 3, 6), US(0.6, 0.25, 0.4, 0.5));
    case 8:
        return known_leaves(4, FAN(3, 5, 12, 20), 0.6, 0.25);
    case 9:
        return known_chain(4, 6, 0.6, 0.4);
    case 10:
        return known_balanced(2, FAN(16, 2), US(0.6, 0.4));
    case LARGE:
        return known_balanced(3, FAN(8, 8, 16), US(0.6, 0.25, 0.4));
    default:
        return known_balanced(3, FAN(4, 4, 8), US(0.6, 0.25, 0.4));
    }
}

static double now(void)
{
    struct timespec t; /* of this process: others may share the machine */
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct nt_model *infer(const struct nt_matrix *x)
{
    struct nt_model *m;
    struct nt_err err;
    known_must(nt_infer_latency(x, NULL, 1, &m, &err), &err);
    return m;
}

/* The published method at the epsilon that suits the truth best, which no user could know. */
static bool cliques_exact(const struct nt_matrix *x, const struct nt_model *truth)
{
    const double epsilons[] = {0.02, 0.05, 0.1, 0.15};
    bool exact = false;
    for (size_t k = 0; k < 4 && !exact && x->n <= 128; k++) {
        struct nt_bufe_options options;
        struct nt_bufe_result *r;
        struct nt_err err;
        nt_bufe_default(&options);
        options.epsilon = epsilons[k];
        options.work_max = 2000000;
        if (nt_bufe_infer(x, NULL, &options, &r, &err) < 0)
            continue;
        exact = known_same_shape(truth, r->model);
        nt_bufe_destroy(r);
    }
    return exact;
}

struct cell {
    double sd, wrong, missing;
};

static void bench_shapes(size_t seeds)
{
    const struct cell cells[] = {{0.02, 0, 0},    {0.04, 0, 0},   {0.1, 0, 0},     {0.13, 0, 0},
                                 {0.16, 0, 0},    {0.2, 0, 0},    {0.3, 0, 0},     {0.02, 0.01, 0},
                                 {0.02, 0.05, 0}, {0.02, 0.1, 0}, {0.02, 0.15, 0}, {0.02, 0.2, 0},
                                 {0.02, 0, 0.3},  {0.02, 0, 0.6}};
    printf("\nExact shapes of %zu (ours/cliques at the best of four epsilons)\n\n|", seeds);
    for (size_t c = 0; c < sizeof cells / sizeof *cells; c++)
        printf(" | %.0f%%,%.0f%%,%.0f%%", 100 * cells[c].sd, 100 * cells[c].wrong,
               100 * cells[c].missing);
    printf(" |   (noise, wrong pairs, missing pairs)\n");
    for (size_t k = 0; k < SHAPES; k++) {
        printf("| %-18s", names[k]);
        for (size_t c = 0; c < sizeof cells / sizeof *cells; c++) {
            size_t exact = 0, cliques = 0, runs = k == LARGE ? 2 : seeds;
            for (size_t s = 0; s < runs; s++) {
                struct known_noise noise = {.sd = cells[c].sd,
                                            .outliers = cells[c].wrong,
                                            .missing = cells[c].missing,
                                            .spread = k == MIXED ? 0.2 : 0};
                struct nt_rng rng;
                nt_rng_init(&rng, s * 1000 + k);
                struct nt_model *truth = shape(k);
                struct nt_matrix *x = known_measure(truth, &noise, &rng);
                struct nt_model *m = infer(x);
                exact += known_same_shape(truth, m);
                cliques += cliques_exact(x, truth);
                nt_matrix_destroy(x);
                nt_model_destroy(truth);
                nt_model_destroy(m);
            }
            printf(" | %zu/%zu", exact, cliques);
            fflush(stdout);
        }
        printf(" |%s\n", k == LARGE ? " of 2, cliques not run" : "");
    }
}

/* Small trees with hosts anywhere, one-sided noise as of real timers. */
static void bench_uneven(size_t runs)
{
    const double sds[] = {0.003, 0.01, 0.02, 0.03, 0.05, 0.08};
    printf("\nRandom trees of 2-6 switches and 6-24 hosts anywhere, one-sided noise\n\n"
           "| noise | exact | of |\n");
    for (size_t c = 0; c < sizeof sds / sizeof *sds; c++) {
        size_t exact = 0;
        for (size_t s = 0; s < runs; s++) {
            struct nt_rng rng;
            nt_rng_init(&rng, 31 * s + c);
            struct nt_model *truth = known_uneven(&rng);
            struct known_noise noise = {.sd = sds[c], .one_sided = true};
            struct nt_matrix *x = known_measure(truth, &noise, &rng);
            struct nt_model *m = infer(x);
            exact += known_same_shape(truth, m);
            nt_matrix_destroy(x);
            nt_model_destroy(truth);
            nt_model_destroy(m);
        }
        printf("| %.1f%% | %zu | %zu |\n", 100 * sds[c], exact, runs);
    }
}

static const struct {
    const char *what;
    size_t dimensions, size[5];
    bool wraps;
    size_t twist;
    double overhead_us, hop_us;
} nets[] = {{"ring 16", 1, {16}, true, 0, 0.5, 0.5},
            {"torus 8x4", 2, {8, 4}, true, 0, 0.5, 0.5},
            {"torus 4x4x4", 3, {4, 4, 4}, true, 0, 0.5, 0.5},
            {"twisted 8x4", 2, {8, 4}, true, 4, 0.5, 0.5},
            {"mesh 6x5", 2, {6, 5}, false, 0, 0.5, 0.5},
            {"hypercube 5", 5, {2, 2, 2, 2, 2}, true, 0, 0.5, 0.5},
            {"torus 8x8x4", 3, {8, 8, 4}, true, 0, 0.5, 0.5},
            {"8x8, 4.35+0.1", 2, {8, 8}, true, 0, 2.175, 0.1}};
enum { NETS = sizeof nets / sizeof *nets };

static struct nt_model *net(size_t k)
{
    return known_lattice(nets[k].dimensions, nets[k].size, nets[k].wraps, nets[k].twist,
                         nets[k].overhead_us, nets[k].hop_us);
}

static void bench_direct(size_t seeds)
{
    const struct cell cells[] = {{0.01, 0, 0},      {0.02, 0, 0},      {0.05, 0, 0},
                                 {0.1, 0, 0},       {0.02, 0.01, 0},   {0.02, 0.05, 0},
                                 {0.02, 0, 0.1},    {0.02, 0, 0.3},    {0.02, 0.01, 0.1},
                                 {0.02, 0.03, 0.2}, {0.05, 0.03, 0.2}, {0.1, 0.05, 0.3}};
    enum { CELLS = sizeof cells / sizeof *cells };
    printf("\nDirect networks, exact of %zu (noise, wrong pairs, missing pairs)\n\n|", seeds);
    for (size_t c = 0; c < CELLS; c++)
        printf(" | %.0f%%,%.0f%%,%.0f%%", 100 * cells[c].sd, 100 * cells[c].wrong,
               100 * cells[c].missing);
    printf(" |\n");
    for (size_t k = 0; k < NETS; k++) {
        printf("| %-13s", nets[k].what);
        for (size_t c = 0; c < CELLS; c++) {
            size_t exact = 0;
            for (size_t s = 0; s < seeds; s++) {
                struct known_noise noise = {
                    .sd = cells[c].sd, .outliers = cells[c].wrong, .missing = cells[c].missing};
                struct nt_rng rng;
                nt_rng_init(&rng, s * 1000 + k);
                struct nt_model *truth = net(k);
                struct nt_matrix *x = known_measure(truth, &noise, &rng);
                struct nt_model *m = infer(x);
                exact += known_same_shape(truth, m);
                nt_matrix_destroy(x);
                nt_model_destroy(truth);
                nt_model_destroy(m);
            }
            printf(" | %zu", exact);
            fflush(stdout);
        }
        printf(" |\n");
    }
}

static void bench_false_splits(size_t runs)
{
    const size_t sizes[] = {4, 8, 16, 64, 256};
    const char *const kinds[] = {"normal", "skewed", "quantised"};
    printf("\nFalse splits in stars of pure noise, 1 to 10 %%\n\n| hosts | kind | false | of |\n");
    for (size_t s = 0; s < 5; s++)
        for (size_t kind = 0; kind < 3; kind++) {
            size_t wrong = 0;
            for (size_t r = 0; r < runs; r++) {
                struct known_noise noise = {.sd = 0.01 * (double)(1 + r % 10)};
                struct nt_rng rng;
                nt_rng_init(&rng, r * 7 + s);
                noise.skewed = kind == 1;
                if (kind == 2) /* a fixed step, or one near the noise */
                    noise.quantum = r % 3 == 0 ? 0.1 : noise.sd * (r % 2 == 0 ? 0.36 : 1.2);
                struct nt_model *truth = known_balanced(1, &sizes[s], US(0.6));
                struct nt_matrix *x = known_measure(truth, &noise, &rng);
                struct nt_model *m = infer(x);
                wrong += m->switches != 1;
                nt_matrix_destroy(x);
                nt_model_destroy(truth);
                nt_model_destroy(m);
            }
            printf("| %zu | %s | %zu | %zu |\n", sizes[s], kinds[kind], wrong, runs);
        }
}

/* Of the maps that state a confidence, how many are exact. */
struct reliability {
    size_t count[11], exact[11];
    double stated[11];
};

static void rely(struct reliability *r, struct nt_model *truth, const struct known_noise *noise,
                 struct nt_rng *rng)
{
    struct nt_matrix *x = known_measure(truth, noise, rng);
    struct nt_model *m = infer(x);
    size_t bin = (size_t)(m->confidence * 10);
    r->count[bin]++;
    r->stated[bin] += m->confidence;
    r->exact[bin] += known_same_shape(truth, m);
    nt_matrix_destroy(x);
    nt_model_destroy(truth);
    nt_model_destroy(m);
}

static void print_reliability(const char *what, const struct reliability *r)
{
    printf("\nReliability of structure.confidence, %s\n\n| stated | maps | exact |\n", what);
    for (size_t b = 0; b < 11; b++)
        if (r->count[b] > 0)
            printf("| %.2f | %zu | %.2f |\n", r->stated[b] / (double)r->count[b], r->count[b],
                   (double)r->exact[b] / (double)r->count[b]);
}

static void bench_confidence(size_t seeds)
{
    const double sds[] = {0.01, 0.02, 0.04, 0.07, 0.1, 0.13, 0.16, 0.2, 0.25};
    struct reliability trees = {0}, uneven = {0}, direct = {0}, all = {0};
    for (size_t k = 0; k < LARGE; k++)
        for (size_t c = 0; c < 9; c++)
            for (size_t s = 0; s < seeds; s++) {
                struct nt_rng rng;
                struct known_noise noise = {.sd = sds[c],
                                            .outliers = s % 3 == 0 ? 0.02 * (double)(s % 4) : 0};
                nt_rng_init(&rng, s * 777 + k * 100 + c);
                rely(&trees, shape(k), &noise, &rng);
            }
    for (size_t c = 0; c < 9; c++)
        for (size_t s = 0; s < 12 * seeds; s++) {
            struct nt_rng rng;
            struct known_noise noise = {.sd = sds[c], .one_sided = true};
            nt_rng_init(&rng, s * 777 + c);
            struct nt_model *truth = known_uneven(&rng);
            rely(&uneven, truth, &noise, &rng);
        }
    for (size_t k = 0; k < NETS; k++)
        for (size_t c = 0; c < 5; c++)
            for (size_t s = 0; s < seeds; s++) {
                struct nt_rng rng;
                struct known_noise noise = {.sd = sds[c],
                                            .outliers = s % 3 == 0 ? 0.01 * (double)(s % 4) : 0,
                                            .missing = s % 4 == 1 ? 0.1 : 0};
                nt_rng_init(&rng, s * 777 + k * 100 + c);
                rely(&direct, net(k), &noise, &rng);
            }
    for (size_t b = 0; b < 11; b++) {
        all.count[b] = trees.count[b] + uneven.count[b] + direct.count[b];
        all.exact[b] = trees.exact[b] + uneven.exact[b] + direct.exact[b];
        all.stated[b] = trees.stated[b] + uneven.stated[b] + direct.stated[b];
    }
    print_reliability("trees", &trees);
    print_reliability("random small trees", &uneven);
    print_reliability("direct networks", &direct);
    print_reliability("all", &all);
}

static void bench_coverage(size_t seeds)
{
    const struct cell cells[] = {{0.02, 0, 0}, {0.05, 0, 0}, {0.03, 0.02, 0}, {0.03, 0.01, 0.1}};
    printf("\nTruth within 1.96 standard errors\n\n| noise, wrong, missing | host links | of | "
           "trunks | of | false alarms, networks | of |\n");
    for (size_t c = 0; c < 4; c++) {
        size_t in[2] = {0}, all[2] = {0}, alarms = 0, networks = 0;
        for (size_t k = 0; k < LARGE; k++)
            for (size_t s = 0; s < seeds; s++) {
                struct nt_rng rng;
                struct known_noise noise = {.sd = cells[c].sd,
                                            .outliers = cells[c].wrong,
                                            .missing = cells[c].missing,
                                            .spread = k == MIXED ? 0.2 : 0};
                nt_rng_init(&rng, s * 77 + k);
                struct nt_model *truth = shape(k);
                struct nt_matrix *x = known_measure(truth, &noise, &rng);
                struct nt_model *m = infer(x);
                bool exact = known_same_shape(truth, m), alarm = false;
                for (size_t l = 0; l < m->links && exact; l++) {
                    const struct nt_link *f = &m->link[l];
                    int trunk = f->a >= m->hosts;
                    alarm |= f->suspect;
                    if (!(f->latency_se_us >= 0))
                        continue;
                    all[trunk]++;
                    in[trunk] += fabs(f->latency_us - truth->link[l].latency_us) <=
                                 1.95996 * f->latency_se_us;
                }
                alarms += alarm;
                networks += exact;
                nt_matrix_destroy(x);
                nt_model_destroy(truth);
                nt_model_destroy(m);
            }
        printf("| %.0f%%,%.0f%%,%.0f%% | %.1f%% | %zu | %.1f%% | %zu | %zu | %zu |\n",
               100 * cells[c].sd, 100 * cells[c].wrong, 100 * cells[c].missing,
               100 * (double)in[0] / (double)all[0], all[0], 100 * (double)in[1] / (double)all[1],
               all[1], alarms, networks);
    }
}

static void bench_time(void)
{
    const size_t fans[][3] = {{4, 4, 8}, {8, 8, 16}, {8, 16, 32}};
    const struct cell cells[] = {{0.03, 0, 0}, {0.03, 0.02, 0}, {0.03, 0.01, 0.3}};
    printf("\nProcessor time of inference\n\n| hosts | noise, wrong, missing | ms | exact |\n");
    for (size_t f = 0; f < 3; f++)
        for (size_t c = 0; c < 3; c++) {
            struct nt_rng rng;
            struct known_noise noise = {
                .sd = cells[c].sd, .outliers = cells[c].wrong, .missing = cells[c].missing};
            nt_rng_init(&rng, 1);
            struct nt_model *truth = known_balanced(3, fans[f], US(0.6, 0.25, 0.4));
            struct nt_matrix *x = known_measure(truth, &noise, &rng);
            size_t runs = f == 0 ? 20 : f == 1 ? 5 : 1;
            double start = now();
            struct nt_model *m = NULL;
            for (size_t r = 0; r < runs; r++) {
                nt_model_destroy(m);
                m = infer(x);
            }
            printf("| %zu | %.0f%%,%.0f%%,%.0f%% | %.1f | %s |\n", x->n, 100 * cells[c].sd,
                   100 * cells[c].wrong, 100 * cells[c].missing,
                   1e3 * (now() - start) / (double)runs, known_same_shape(truth, m) ? "yes" : "no");
            nt_matrix_destroy(x);
            nt_model_destroy(truth);
            nt_model_destroy(m);
        }
}

int main(int argc, char **argv)
{
    size_t seeds = argc > 1 ? (size_t)atoi(argv[1]) : 5; /* minutes, not hours */
    const char *tables = argc > 2 ? argv[2] : "sudfcet";
    if (strchr(tables, 's'))
        bench_shapes(seeds);
    if (strchr(tables, 'u'))
        bench_uneven(20 * seeds);
    if (strchr(tables, 'd'))
        bench_direct(seeds);
    if (strchr(tables, 'f'))
        bench_false_splits(seeds < 10 ? 1000 : 100 * seeds);
    if (strchr(tables, 'c'))
        bench_confidence(2 * seeds);
    if (strchr(tables, 'e'))
        bench_coverage(5 * seeds);
    if (strchr(tables, 't'))
        bench_time();
    return 0;
}
