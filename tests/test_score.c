/* SPDX-License-Identifier: Apache-2.0 */
/* The fast score against the definition: the density of all readings as one normal vector. */
#include "asserts.h"
#include "rng.h"
#include "score.h"

/* What a score with many odd pairs may differ by, of the number of readings and of itself. */
static const double NEARLY = 0.05;

enum { HOSTS = 24, PAIRS = HOSTS * (HOSTS - 1) / 2 };

/* A chain of up to tiers tiers, each host and group somewhere. */
static void draw_chain(struct nt_chain *c, uint32_t tiers, struct nt_rng *rng, uint32_t *map)
{
    uint32_t of[HOSTS], units = c->hosts;
    for (uint32_t i = 0; i < c->hosts; i++)
        of[i] = i;
    c->tiers = tiers;
    for (uint32_t k = 0; k < tiers; k++) {
        uint32_t groups = 1 + (uint32_t)nt_rng_below(rng, units), to[HOSTS];
        for (uint32_t u = 0; u < units; u++)
            to[u] = (uint32_t)nt_rng_below(rng, groups);
        for (uint32_t i = 0; i < c->hosts; i++)
            c->label[i].tier[k] = of[i] = to[of[i]];
        units = groups;
    }
    nt_chain_canonicalise(c, map);
}

static struct nt_pairs *draw_pairs(uint32_t hosts, double missing, double light, bool coarse,
                                   struct nt_rng *rng)
{
    struct nt_pair_value value[PAIRS];
    size_t n = 0;
    for (uint32_t i = 0; i < hosts; i++)
        for (uint32_t j = 0; j < i; j++) {
            double us = 2 + 0.3 * (i / 3 != j / 3) + 0.05 * nt_rng_normal(rng);
            if (nt_rng_uniform(rng) < missing)
                continue;
            value[n++] = (struct nt_pair_value){.a = i,
                                                .b = j,
                                                .us = coarse ? round(us * 10) / 10 : us,
                                                .weight = nt_rng_uniform(rng) < light ? 0.5 : 1};
        }
    struct nt_pairs *p = NULL;
    assert_int_equal(nt_pairs_create(hosts, value, n, &p, NULL), 0);
    return p;
}

struct dense {
    size_t count;
    double y[PAIRS], x[PAIRS], w[PAIRS], c[PAIRS][PAIRS], step[NT_TIERS_MAX][PAIRS];
    double second[PAIRS];
};

/* L of c in place, and y solved through it. ln det of c. */
static double factor(struct dense *d)
{
    double log_det = 0;
    for (size_t i = 0; i < d->count; i++)
        for (size_t j = 0; j <= i; j++) {
            double v = d->c[i][j];
            for (size_t k = 0; k < j; k++)
                v -= d->c[i][k] * d->c[j][k];
            d->c[i][j] = i == j ? sqrt(v) : v / d->c[j][j];
            log_det += i == j ? log(v) : 0;
        }
    return log_det;
}

static void forward(struct dense *d, const double *b, double *out)
{
    for (size_t i = 0; i < d->count; i++) {
        out[i] = b[i];
        for (size_t k = 0; k < i; k++)
            out[i] -= d->c[i][k] * out[k];
        out[i] /= d->c[i][i];
    }
}

static double overlap(const uint32_t *p, const uint32_t *q)
{
    return (p[0] == q[0]) + (p[0] == q[1]) + (p[1] == q[0]) + (p[1] == q[1]);
}

/* Covariance of two pairs' readings over s^2, from the definition: shared hosts, shared links of
 * each tier that both cross, shared means. */
static double covariance(const struct nt_chain *c, const bool *second, const uint32_t *p,
                         const uint32_t *q, double ends, double links, double sd)
{
    double s2 = sd * sd, sum = ends * overlap(p, q) + 1 / s2;
    uint32_t cp = nt_chain_class(c, p[0], p[1]), cq = nt_chain_class(c, q[0], q[1]);
    for (uint32_t k = 0; k < c->tiers; k++) {
        if (k >= cp || k >= cq)
            continue;
        uint32_t g[2] = {c->label[p[0]].tier[k], c->label[p[1]].tier[k]};
        uint32_t h[2] = {c->label[q[0]].tier[k], c->label[q[1]].tier[k]};
        sum += links * overlap(g, h) + 0.09 / s2;
    }
    if (second != NULL)
        sum += (second[p[0]] + second[p[1]]) * (second[q[0]] + second[q[1]]) * 0.15 * 0.15 / s2;
    return sum;
}

/* ln of Student's density with 3 degrees of freedom, per step of the grid. */
static double log_student(double value, double median, double spread)
{
    double z = log(value / median) / spread;
    return log(2 / (M_PI * sqrt(3))) - 2 * log(1 + z * z / 3) - log(spread / log(2.5));
}

static double log_twice_phi(double z)
{
    double x = -z / sqrt(2);
    return x < 5 ? log(erfc(x)) : -x * x - log(x * sqrt(M_PI)) + log1p(-0.5 / (x * x));
}

/* A tenth of the links is over 0, the others over a quarter of the mean. */
static double log_link(double length, double error, double mean)
{
    double any = log(0.1) + log_twice_phi(length / error);
    double most = log(0.9) + log_twice_phi((length - mean / 4) / error);
    return any + log1p(exp(most - any)); /* any is not far less */
}

/* What the groups' links bring since none is shorter than 0 and few are much shorter than others,
 * by the readings that cross each and those below it. */
static double above_zero(struct nt_score *s, const struct nt_score_value *value, double links,
                         const double *density)
{
    const struct nt_chain_tree *t = nt_score_fit(s).tree;
    const double *length = nt_score_fit(s).length;
    double sum = 0, weight[NT_CHAIN_CLASSES];
    for (uint32_t c = 0; c < t->classes; c++)
        weight[c] = nt_score_fit(s).weight[c] * density[c];
    for (uint32_t v = t->hosts; v + 1 < t->nodes; v++) {
        double across = 0, below = (double)t->size[v] * t->size[v], mean = 0;
        for (uint32_t u = v; u + 1 < t->nodes; u = t->parent[u])
            across += weight[t->class[t->parent[u]]] * (t->size[t->parent[u]] - t->size[u]);
        across *= t->size[v];
        for (uint32_t u = 0; u < v; u++)
            below -= t->parent[u] == v ? (double)t->size[u] * t->size[u] : 0;
        below *= 2 * weight[t->class[v]];
        for (int k = 0; k < NT_TIERS_MAX; k++)
            mean += t->mask[v] >> k & 1 ? value->mean[1 + k] / 2 : 0;
        double error =
            value->sd / sqrt(across * below / (across + below) + 1 / (links * t->alone[v]));
        mean = fmax(mean, 0);
        sum += log_link(length[v], error, mean) -
               log_link(mean, value->sd * sqrt(links * t->alone[v]), mean);
    }
    return sum;
}

static double integral(double n, double square, double least)
{
    double mode = fmax(log(sqrt(square / n)), log(least)), step = 1 / sqrt(2 * n);
    double from = fmax(log(sqrt(square / n)) - 3 * step, log(least)), sum = 0;
    double top = -n * mode - square / 2 * exp(-2 * mode);
    for (int k = 0; k < 8; k++) {
        double u = from + k * step, v = exp(-n * u - square / 2 * exp(-2 * u) - top);
        sum += k == 0 ? v / 2 : v;
    }
    return top + log(sum * step);
}

static double by_definition(const struct nt_pairs *p, const struct nt_chain *c, const bool *off,
                            const bool *second, double power, struct nt_score_place place,
                            double sd)
{
    static struct dense d;
    static uint32_t pair[PAIRS][2];
    double sum[4] = {0}, weight[4] = {0};
    d.count = 0;
    for (uint32_t i = 0; i < p->hosts; i++)
        for (size_t k = p->start[i]; k < p->start[i + 1]; k++)
            if (p->entry[k].host > i && !off[k]) {
                uint32_t class = nt_chain_class(c, i, p->entry[k].host);
                sum[class] += nt_pairs_weight(p, k) * (1 + (double)p->entry[k].value);
                weight[class] += nt_pairs_weight(p, k);
                pair[d.count][0] = i;
                pair[d.count][1] = p->entry[k].host;
                d.w[d.count] = nt_pairs_weight(p, k);
                d.y[d.count++] = (double)p->entry[k].value;
            }
    double ends = pow(0.16 * pow(2.5, place.ends), 2), links = pow(0.16 * pow(2.5, place.links), 2);
    for (size_t a = 0; a < d.count; a++) {
        uint32_t class = nt_chain_class(c, pair[a][0], pair[a][1]);
        double w = pow(sum[class] / weight[class], -2 * power);
        for (size_t b = 0; b <= a; b++)
            d.c[a][b] = covariance(c, second, pair[a], pair[b], ends, links, sd) +
                        (a == b ? 1 / (w * d.w[a]) : 0);
    }
    double n = (double)d.count, least = fmax(0.0015, 0.4 * p->quantum), square = 0;
    double log_det = factor(&d);
    forward(&d, d.y, d.x);
    for (size_t a = 0; a < d.count; a++) {
        square += d.x[a] * d.x[a];
        log_det += log(d.w[a]); /* the score leaves out the constant of the weights given */
    }
    double value = -0.5 * (n * log(2 * M_PI) + log_det) + integral(n, square, least);
    value += log_student(fmax(sqrt(square / n), least), 0.015, 1) - log(log(2.5));
    value += log_student(0.16 * pow(2.5, place.ends) * sd, 0.008, 1.1);
    if (c->tiers > 0)
        value += log_student(0.16 * pow(2.5, place.links) * sd, 0.005, 0.9);
    for (uint32_t k = 0; k < c->tiers; k++) {
        double u[PAIRS], column[PAIRS], mean = 0, variance = 0.09;
        for (size_t a = 0; a < d.count; a++)
            column[a] = 0.09 / sd * (nt_chain_class(c, pair[a][0], pair[a][1]) > k);
        forward(&d, column, u);
        for (size_t a = 0; a < d.count; a++) {
            mean += u[a] * d.x[a] / sd;
            variance -= u[a] * u[a];
        }
        value += log(erfc(-mean / sqrt(2 * variance)));
    }
    return value;
}

/* Pairs that are missing, off or of less than the full weight. */
static size_t odd_pairs(const struct nt_pairs *p, const bool *off)
{
    size_t full = 0;
    for (size_t k = 0; k < 2 * p->count; k++)
        full += !off[k] && nt_pairs_weight(p, k) >= 1;
    return (size_t)p->hosts * (p->hosts - 1) / 2 - full / 2;
}

/* The mean weight of each class's pairs. */
static void find_density(const struct nt_pairs *p, const struct nt_chain *c, const bool *off,
                         double *density)
{
    double weight[NT_CHAIN_CLASSES] = {0}, all[NT_CHAIN_CLASSES] = {0};
    for (uint32_t i = 0; i < p->hosts; i++)
        for (uint32_t j = 0; j < i; j++) {
            const struct nt_pair_entry *e = nt_pairs_find(p, i, j);
            uint32_t class = nt_chain_class(c, i, j);
            all[class]++;
            weight[class] +=
                e != NULL && !off[e - p->entry] ? nt_pairs_weight(p, (size_t)(e - p->entry)) : 0;
        }
    for (uint32_t k = 0; k <= c->tiers; k++)
        density[k] = all[k] > 0 ? weight[k] / all[k] : 1;
}

struct given {
    double missing, light, power;
    bool coarse, population;
    uint32_t outliers;
};

static void compare(const struct given *g, uint64_t seed, double accuracy)
{
    struct nt_rng rng;
    nt_rng_init(&rng, seed);
    struct nt_arena memory = {0};
    uint32_t hosts = 4 + (uint32_t)nt_rng_below(&rng, HOSTS - 3), map[2 * HOSTS];
    struct nt_pairs *p = draw_pairs(hosts, g->missing, g->light, g->coarse, &rng);
    struct nt_chain chain;
    struct nt_score *s = NULL;
    assert_int_equal(nt_chain_init(&chain, p->hosts, &memory, NULL), 0);
    assert_int_equal(nt_score_create(p, &s, NULL), 0);
    draw_chain(&chain, (uint32_t)nt_rng_below(&rng, 4), &rng, map);
    bool *drawn = calloc(2 * p->count, sizeof *drawn), second[HOSTS];
    assert_non_null(drawn);
    struct nt_outlier list[PAIRS];
    struct nt_outliers outliers = {.at = list};
    for (uint32_t k = 0; k < g->outliers; k++) {
        size_t e = nt_rng_below(&rng, 2 * p->count);
        uint32_t a = 0;
        while (p->start[a + 1] <= e)
            a++;
        if (a > p->entry[e].host) {
            uint32_t b = p->entry[e].host;
            e = (size_t)(nt_pairs_find(p, b, a) - p->entry);
            a = b;
        }
        if (!drawn[e])
            list[outliers.count++] = (struct nt_outlier){a, e};
        drawn[e] = true;
    }
    free(drawn);
    for (uint32_t i = 0; i < hosts; i++)
        second[i] = nt_rng_below(&rng, 3) == 0;
    nt_score_set_off(s, &outliers);
    const bool *off = nt_score_fit(s).off;
    nt_score_set_power(s, g->power);
    nt_score_set_population(s, g->population ? second : NULL);
    nt_score_set_chain(s, &chain);
    struct nt_score_place place = {(double)nt_rng_below(&rng, NT_RATIOS),
                                   (double)nt_rng_below(&rng, NT_RATIOS)};
    struct nt_score_value value;
    double fast = nt_score_evaluate(s, place, &value);
    double slow =
        by_definition(p, &chain, off, g->population ? second : NULL, g->power, place, value.sd);
    double density[NT_CHAIN_CLASSES] = {1, 1, 1, 1};
    if (odd_pairs(p, off) > NT_SCORE_DOWNDATES) {
        find_density(p, &chain, off, density);
        accuracy = NEARLY;
    }
    slow += above_zero(s, &value, pow(0.16 * pow(2.5, place.links), 2), density);
    double readings = accuracy == NEARLY ? (double)p->count : 1;
    assert_below(fabs(fast - slow), accuracy * (readings + fabs(slow)));
    nt_score_destroy(s);
    nt_pairs_destroy(p);
    nt_arena_fini(&memory);
}

TEST(the_score_is_the_density_of_all_readings)
{
    static const struct given full[] = {
        {0},
        {.power = 1},
        {.coarse = true},
        {.population = true},
        {.outliers = 3},
        {.missing = 0.2, .power = 0.5},
        {.light = 0.2, .outliers = 2},
        {.missing = 0.3, .population = true},
    };
    for (size_t k = 0; k < sizeof full / sizeof *full; k++)
        for (uint64_t seed = 1; seed <= 40; seed++)
            compare(&full[k], seed, 1e-9);
}

/* With few readings the determinant is that of each class's mean weight, which moves all chains
 * by about the same: what compares two chains is the same to a fraction of a unit. */
TEST(few_readings_are_scored_nearly)
{
    static const struct given few = {.missing = 0.6, .power = 1};
    for (uint64_t seed = 1; seed <= 40; seed++)
        compare(&few, seed, NEARLY);
}

/* Leaves of four hosts, whose links differ by ends, and uplinks. */
static struct nt_pairs *draw_leaves(uint32_t hosts, double ends, double links, struct nt_rng *rng,
                                    struct nt_chain *chain)
{
    size_t n = 0;
    struct nt_pair_value *value = calloc((size_t)hosts * hosts, sizeof *value);
    double *end = calloc(hosts, sizeof *end), *up = calloc(hosts, sizeof *up);
    assert_true(value != NULL && end != NULL && up != NULL);
    for (uint32_t i = 0; i < hosts; i++) {
        end[i] = 1 + ends * nt_rng_normal(rng);
        up[i] = i % 4 == 0 ? 0.15 + links * nt_rng_normal(rng) : up[i - 1];
        for (uint32_t j = 0; j < i; j++) {
            double us = end[i] + end[j] + (i / 4 != j / 4 ? up[i] + up[j] : 0);
            value[n++] = (struct nt_pair_value){i, j, us + 0.01 * nt_rng_normal(rng), 0, 0};
        }
    }
    struct nt_pairs *p = NULL;
    assert_int_equal(nt_pairs_create(hosts, value, n, &p, NULL), 0);
    chain->tiers = 1;
    for (uint32_t i = 0; i < hosts; i++)
        chain->label[i].tier[0] = p->origin[i] / 4;
    free(value);
    free(end);
    free(up);
    return p;
}

/* ln of the sum of all places around one, which are finer than the widths of the maximum. */
static double sum_places(struct nt_score *s, struct nt_score_place around)
{
    const double ends = 0.02, links = 0.05;
    struct nt_score_value value;
    double top = nt_score_evaluate(s, around, &value), sum = 0;
    for (int i = -50; i <= 50; i++)
        for (int j = -30; j <= 30; j++) {
            struct nt_score_place place = {around.ends + i * ends, around.links + j * links};
            sum += exp(nt_score_evaluate(s, place, &value) - top) * ends * links;
        }
    return top + log(sum);
}

/* With many hosts the maximum is far narrower than the steps of the grid, between which it lies. */
TEST(the_sum_over_places_is_right_between_places_of_the_grid)
{
    enum { MANY = 160 };
    const double per_seed = 1.2;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct nt_rng rng;
        nt_rng_init(&rng, seed);
        struct nt_arena memory = {0};
        struct nt_chain chain;
        struct nt_score *s = NULL;
        struct nt_score_place place = {2, 2};
        struct nt_score_value value;
        uint32_t map[2 * MANY];
        assert_int_equal(nt_chain_init(&chain, MANY, &memory, NULL), 0);
        double factor = pow(per_seed, (double)seed);
        struct nt_pairs *p = draw_leaves(MANY, 0.01 * factor, 0.008 * factor, &rng, &chain);
        nt_chain_canonicalise(&chain, map);
        assert_int_equal(nt_score_create(p, &s, NULL), 0);
        nt_score_set_chain(s, &chain);
        double sum = nt_score_integrate(s, &place, &value);
        assert_below(fabs(sum - sum_places(s, place)), 0.2);
        nt_score_destroy(s);
        nt_pairs_destroy(p);
        nt_arena_fini(&memory);
    }
}

RUN_TESTS
