/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs drawn at random over everything that readings differ in: size, kind of network, gap, noise.
 * For benches of what maps state. */
#ifndef JOB_DRAW_H
#define JOB_DRAW_H

#include "job_groups.h"
#include "job_network.h"

enum job_draw_kind {
    DRAW_STAR,
    DRAW_FEW,
    DRAW_WHOLE,
    DRAW_FRAGMENTS,
    DRAW_SCATTERED,
    DRAW_TIERS,
    DRAW_CHAIN,
    DRAW_UNEVEN,
    DRAW_DRAGONFLY,
    DRAW_DIRECT,
    DRAW_KINDS
};

static const char *const job_draw_names[DRAW_KINDS] = {
    "star",        "few hosts", "whole leaves",      "fragments", "pairs, triples",
    "three tiers", "chain",     "uneven small tree", "dragonfly", "direct"};

struct job_drawn {
    enum job_draw_kind kind;
    struct nt_model *truth;
    struct nt_matrix *x, *undisturbed; /* all readings; those that are no outliers */
    struct job_groups groups;          /* of the truth */
    double sd_us;                      /* of the mean of a pair's readings, see job_noise_sd */
    struct job_noise noise;
};

static inline double job_between(struct nt_rng *rng, double low, double high)
{
    return low + (high - low) * nt_rng_uniform(rng);
}

/* Log-uniform; of over 512 hosts one in three, for they take most of the time. */
static inline size_t job_draw_hosts(struct nt_rng *rng)
{
    for (;;) {
        size_t hosts = (size_t)exp(job_between(rng, log(2), log(1024.9)));
        if (hosts <= 512 || nt_rng_below(rng, 3) == 0)
            return hosts;
    }
}

/* In hundredths; direct networks and dragonflies have a size of their own. */
static inline enum job_draw_kind job_draw_kind(size_t hosts, struct nt_rng *rng)
{
    static const struct {
        size_t share, least, most;
    } of[DRAW_KINDS] = {{10, 2, 1024}, {20, 4, 8},   {12, 6, 1024}, {12, 6, 1024}, {20, 6, 1024},
                        {14, 9, 1024}, {8, 6, 1024}, {8, 6, 24},    {5, 16, 256},  {6, 8, 256}};
    for (;;) {
        size_t at = nt_rng_below(rng, 115), kind = 0;
        while (at >= of[kind].share)
            at -= of[kind++].share;
        if (hosts >= of[kind].least && hosts <= of[kind].most)
            return (enum job_draw_kind)kind;
    }
}

static const double JOB_HOST_US = 0.56;

/* Host links of 0.56 us, those between switches as often up_us as they are 100 now. */
static inline struct nt_model *job_draw_uneven(double up_us, struct nt_rng *rng)
{
    struct nt_model *m = known_uneven(rng);
    for (size_t k = 0; k < m->links; k++)
        m->link[k].latency_us =
            m->link[k].a < m->hosts ? JOB_HOST_US : m->link[k].latency_us / 100 * up_us;
    return m;
}

/* Routers gap nearer than the others of a group, groups once to three times as much. States the
 * routers' and the groups' hosts as groups. */
static inline struct nt_model *job_draw_dragonfly(double gap_us, struct nt_rng *rng, double *far_us)
{
    static const size_t shape[][3] = {{4, 2, 2}, {3, 3, 3}, {4, 4, 2}, {4, 2, 8},
                                      {5, 4, 3}, {5, 4, 4}, {6, 3, 6}, {9, 4, 4}};
    const size_t *s = shape[nt_rng_below(rng, sizeof shape / sizeof *shape)];
    struct nt_model *m = known_dragonfly(s[0], s[1], s[2], 1);
    *far_us = gap_us * job_between(rng, 1, 3);
    for (size_t k = 0; k < m->links; k++)
        m->link[k].latency_us = m->link[k].a < m->hosts       ? JOB_HOST_US
                                : m->link[k].latency_us < 0.5 ? gap_us
                                                              : *far_us;
    return m;
}

/* The hosts of each router, and of the routers that near links join. A dragonfly is no tree: call
 * it when the hosts have their names. */
static inline void job_dragonfly_groups(const struct nt_model *m, double near_us, double far_us,
                                        struct job_groups *g)
{
    uint32_t *of = malloc((m->switches + 1) * sizeof *of);
    uint32_t *in = malloc((m->hosts + 1) * sizeof *in);
    job_groups_init(g, m->hosts);
    for (uint32_t s = 0; s < m->switches; s++)
        of[s] = s;
    for (int level = 0; level < 2; level++) {
        for (uint32_t s = 0; s < m->switches; s++) {
            size_t count = 0;
            for (size_t k = 0; k < m->links; k++)
                if (m->link[k].a < m->hosts && of[m->link[k].b - m->hosts] == s)
                    in[count++] = m->link[k].a;
            job_groups_add(g, in, count, (level == 0 ? near_us : far_us) / 2, 1);
        }
        for (size_t k = 0; k < m->links; k++) { /* all routers of a group are joined */
            const struct nt_link *l = &m->link[k];
            if (l->a < m->hosts || fabs(l->latency_us - near_us) > 1e-9 * near_us)
                continue;
            size_t a = l->a - m->hosts, b = l->b - m->hosts;
            uint32_t low = of[a] < of[b] ? of[a] : of[b], high = of[a] < of[b] ? of[b] : of[a];
            for (uint32_t s = 0; s < m->switches; s++)
                of[s] = of[s] == high ? low : of[s];
        }
    }
    free(of);
    free(in);
}

static inline struct nt_model *job_draw_direct(double hop_us, struct nt_rng *rng)
{
    static const struct {
        size_t dimensions, size[4];
        bool wraps;
        size_t twist;
    } net[] = {{1, {8}, true, 0},       {1, {16}, true, 0},        {2, {4, 4}, true, 0},
               {2, {6, 5}, true, 0},    {2, {8, 8}, true, 0},      {2, {8, 4}, true, 4},
               {2, {4, 4}, false, 0},   {2, {6, 5}, false, 0},     {3, {3, 3, 3}, false, 0},
               {3, {4, 4, 4}, true, 0}, {3, {5, 4, 3}, true, 0},   {3, {2, 2, 2}, true, 0},
               {2, {3, 3}, false, 0},   {4, {2, 2, 2, 2}, true, 0}};
    size_t k = nt_rng_below(rng, sizeof net / sizeof *net);
    return known_lattice(net[k].dimensions, net[k].size, net[k].wraps, net[k].twist, JOB_HOST_US,
                         hop_us);
}

/* The job's leaves by its kind. */
static inline struct nt_model *job_draw_leaves(enum job_draw_kind kind, size_t hosts, double up_us,
                                               struct nt_rng *rng)
{
    struct job_leaves leaves;
    enum job_kind how = kind == DRAW_WHOLE ? JOB_WHOLE : JOB_FRAGMENTS;
    if (kind == DRAW_TIERS)
        how = (enum job_kind)nt_rng_below(rng, JOB_KINDS);
    if (kind == DRAW_SCATTERED) {
        static const enum job_kind small[] = {JOB_SCATTERED, JOB_PAIRS, JOB_TRIPLES};
        how = small[nt_rng_below(rng, 3)];
    }
    job_leaves_draw(&leaves, how, hosts, rng);
    return job_tree(&leaves, kind == DRAW_TIERS ? 2 + nt_rng_below(rng, 6) : 0, JOB_HOST_US, up_us);
}

static inline struct nt_model *job_draw_network(struct job_drawn *d, size_t hosts, double gap_us,
                                                double *far_us, struct nt_rng *rng)
{
    struct job_shape shape[JOB_SHAPES_MAX];
    size_t switches, shapes;
    struct nt_model *m;
    switch (d->kind) {
    case DRAW_STAR:
        return known_balanced(1, &hosts, &JOB_HOST_US);
    case DRAW_FEW:
        shapes = job_shapes(hosts, shape);
        m = job_few(&shape[nt_rng_below(rng, shapes)], nt_rng_below(rng, 4) == 0, rng);
        for (size_t k = hosts; k < m->links; k++)
            m->link[k].latency_us *= 2 * gap_us; /* drawn 0.1 to 0.6 */
        return m;
    case DRAW_CHAIN:
        switches = 2 + nt_rng_below(rng, hosts / 2 > 8 ? 7 : hosts / 2 - 1);
        return known_chain(switches, hosts / switches, JOB_HOST_US, gap_us / 2);
    case DRAW_UNEVEN:
        return job_draw_uneven(gap_us / 2, rng);
    case DRAW_DRAGONFLY:
        return job_draw_dragonfly(gap_us, rng, far_us);
    case DRAW_DIRECT:
        return job_draw_direct(gap_us, rng);
    default:
        return job_draw_leaves(d->kind, hosts, gap_us / 2, rng);
    }
}

static inline struct job_noise job_draw_noise(struct nt_rng *rng)
{
    struct job_noise noise = {.sd = exp(job_between(rng, log(0.003), log(0.1)))};
    if (nt_rng_below(rng, 2) == 0)
        noise.outliers = job_between(rng, 0, 0.05);
    if (nt_rng_below(rng, 5) == 0)
        noise.low = 0.5;
    if (nt_rng_below(rng, 2) == 0)
        noise.host = job_between(rng, 0, 2);
    if (nt_rng_below(rng, 5) == 0)
        noise.missing = job_between(rng, 0, 0.5);
    noise.one_sided = nt_rng_below(rng, 5) == 0;
    noise.skewed = !noise.one_sided && nt_rng_below(rng, 4) == 0;
    noise.directions = nt_rng_below(rng, 3) == 0;
    return noise;
}

/* The sd of a pair's undisturbed readings. What a host's readings share is not in it, for it is the
 * same as a longer link of the host, and those have to be found anyway (job_pairs, job_variances).
 * One-sided: sd of |z|. */
static inline double job_noise_sd(const struct job_noise *noise, double truth_us)
{
    double one = noise->one_sided ? 0.6028 : 1;
    return (noise->sd_us + noise->sd * truth_us) * one / sqrt(noise->directions ? 2 : 1);
}

static inline double job_mean(const struct nt_model *m)
{
    struct nt_matrix *x;
    struct nt_err err;
    double sum = 0;
    known_must(nt_model_latencies(m, &x, &err), &err);
    for (size_t i = 0; i < x->n; i++)
        for (size_t j = 0; j < i; j++)
            sum += (double)nt_matrix_get(x, i, j);
    nt_matrix_destroy(x);
    return 2 * sum / (double)(m->hosts * (m->hosts - 1));
}

/* Gaps of 1 to 10 sd of a reading; a hop of a direct network of 3 to 10. */
static inline void job_draw(struct job_drawn *d, struct nt_rng *rng)
{
    size_t hosts = job_draw_hosts(rng);
    d->kind = job_draw_kind(hosts, rng);
    struct job_noise noise = job_draw_noise(rng);
    double least = d->kind == DRAW_DIRECT ? 3 : 1, far_us = 0;
    double gap_us = job_between(rng, least, 10) * noise.sd * 2 * JOB_HOST_US;
    d->truth = job_draw_network(d, hosts, gap_us, &far_us, rng);
    if (d->truth->hosts <= JOB_FEW)
        noise.missing = 0; /* or a host is left without a reading */
    d->sd_us = job_noise_sd(&noise, job_mean(d->truth));
    d->noise = noise;
    d->x = job_measure_known(d->truth, &noise, rng, &d->undisturbed);
    if (d->kind == DRAW_DRAGONFLY)
        job_dragonfly_groups(d->truth, gap_us, far_us, &d->groups);
    else
        job_groups_of(d->truth, &d->groups);
}

/* The groups are freed with the network that they are judged by. */
static inline void job_drawn_fini(struct job_drawn *d)
{
    nt_model_destroy(d->truth);
    nt_matrix_destroy(d->x);
    nt_matrix_destroy(d->undisturbed);
}

#endif
