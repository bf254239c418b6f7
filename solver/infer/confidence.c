/* SPDX-License-Identifier: Apache-2.0 */
/* How certain the shape is: the probability that every group that the readings can show is in the
 * map, and none that is not there. How well what is stated meets the truth is shown by `make bench`
 * (tests/bench believe and confidence). */
#include "confidence.h"

#include "stats.h"

/* Expected number of stated groups that are not there as they are stated. */
static double invented_groups(const struct nt_model *m)
{
    double risk = 0;
    for (size_t k = 0; k < m->links; k++)
        risk +=
            m->link[k].a >= m->hosts && m->link[k].b >= m->hosts ? 1 - m->link[k].probability : 0;
    return risk;
}

/* How much nearer two hosts are whose switch the map may have missed: as the nearest switches that
 * it has, or a hop of a large machine, which is 7 to 10 % of the latency. */
static double usual_hop(const struct nt_work *w, const struct nt_model *m, double level)
{
    double least = 0.08 * level;
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a >= m->hosts && m->link[k].b >= m->hosts && m->link[k].latency_us > 0)
            least = fmin(least, 2 * m->link[k].latency_us);
    return fmax(least, 2 * nt_noise_sd(&w->noise, level));
}

/* Chance that two hosts of a switch, a hop nearer to each other, would not have been found among
 * its hosts, of the switch where it is most likely. */
static double missed_groups(const struct nt_work *w, const struct nt_model *m)
{
    double most = 0;
    for (size_t g = 0; g < w->groups; g++) {
        double hosts = (double)nt_work_size(w, g);
        double level = 2 * (double)w->offset[w->member[w->start[g]]];
        if (hosts < 3)
            continue;
        double z = usual_hop(w, m, level) / nt_noise_sd(&w->noise, level);
        double limit = sqrt(2 * log(hosts * (hosts - 1) / 2));
        most = fmax(most, nt_normal_cdf(limit - z));
    }
    return most;
}

/* Evidence against the shape, each with its weight in the ln of the odds, fitted (logistic
 * regression) to the jobs of tests/bench believe and the networks of bench_confidence with seeds of
 * their own. */
struct evidence {
    double invented, missed;
    double off, low; /* shares of pairs that do not fit, and of those far too near */
    double unknown;  /* share of pairs that were not measured */
    double pattern;  /* of the residuals, over noise */
    double hosts;    /* ln */
    bool line;       /* a switch for each host: links between hosts would look the same */
};

static struct evidence find_evidence(const struct nt_work *w, const struct nt_model *model,
                                     double misfit)
{
    double n = (double)w->n;
    return (struct evidence){.invented = invented_groups(model),
                             .missed = missed_groups(w, model),
                             .off = (double)model->pairs_off / (double)w->pairs,
                             .low = w->low_share,
                             .unknown = 1 - 2 * (double)w->pairs / (n * (n - 1)),
                             .pattern = fmax(0, misfit - 1),
                             .hosts = log(n),
                             .line = model->switches + 2 >= w->n};
}

double nt_confidence(const struct nt_work *w, const struct nt_model *model, double misfit)
{
    if (w->n < 2)
        return 0;
    if (w->n < 4) /* fewer than four hosts are always a star */
        return 1;
    struct evidence e = find_evidence(w, model, misfit);
    double odds = 3.7 - 0.49 * log10(1 + e.invented / 1e-3) - 1.42 * e.missed + 0.05 * e.hosts;
    odds -= 3.09 * sqrt(e.off) + 3.42 * sqrt(e.low) + 2.18 * e.unknown + 0.77 * e.pattern +
            0.9 * e.line;
    return 1 / (1 + exp(-odds));
}

static bool measured(const struct nt_matrix *x, uint32_t a, uint32_t b)
{
    return nt_work_usable(nt_matrix_get(x, a, b)) || nt_work_usable(nt_matrix_get(x, b, a));
}

/* Links that lead to a host: the other end of k is its switch. */
static bool host_link(const struct nt_model *m, size_t k, uint32_t *host, uint32_t *at)
{
    *host = m->link[k].a < m->link[k].b ? m->link[k].a : m->link[k].b;
    *at = m->link[k].a < m->link[k].b ? m->link[k].b : m->link[k].a;
    return *host < m->hosts;
}

void nt_confidence_hidden_pairs(struct nt_model *m, const struct nt_matrix *latency)
{
    const double EITHER = 0.5;
    double least = INFINITY;
    uint32_t a, b, at_a, at_b;
    for (size_t k = 0; k < m->links; k++)
        least = host_link(m, k, &a, &at_a) ? fmin(least, m->link[k].latency_us) : least;
    double longer = least + m->resolution_us;
    for (size_t k = 0; k < m->links; k++) {
        if (!host_link(m, k, &a, &at_a) || !(m->link[k].latency_us > longer))
            continue;
        for (size_t l = 0; l < k; l++)
            if (host_link(m, l, &b, &at_b) && at_a == at_b && m->link[l].latency_us > longer &&
                !measured(latency, a, b))
                m->confidence *= EITHER;
    }
}
