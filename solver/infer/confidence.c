/* How sure the shape is: the chance that no host stands in a wrong group, that every switch is
 * real, and that none was missed. How well what is stated meets the truth is shown by `make bench`
 * (reliability table). */
#include "confidence.h"

#include "stats.h"

/* Chance that some host belongs to the nearest other group. A host's pairs with both groups would
 * all shift by the distance of the groups; the choice errs where noise exceeds half of that. */
static double misplaced(const struct nt_work *w)
{
    double risk = 0;
    for (size_t a = 0; a < w->groups; a++) {
        double size = (double)nt_work_size(w, a), least = INFINITY;
        for (size_t b = 0; b < w->groups; b++) {
            double t = (double)w->t[a * w->groups + b], sd = (double)w->sd[a * w->groups + b];
            double other = (double)nt_work_size(w, b), pairs = size - 1 + other;
            if (b == a || !(t > 0) || pairs < 1)
                continue;
            if (w->holes)
                pairs *= 2 * (double)w->pairs / ((double)w->n * ((double)w->n - 1));
            /* one offset is fitted to the host, which takes what both groups share */
            double even = 4 * (size - 1) * other / (pairs * pairs);
            double d = t / sd * sqrt(pairs * fmax(even, 1e-3));
            least = fmin(least, d);
        }
        if (size > 1 && isfinite(least))
            risk += size * nt_normal_cdf(-0.5 * least);
    }
    return risk;
}

/* Chance that a link between switches came out of noise. */
static double invented(const struct nt_model *m)
{
    double risk = 0;
    for (size_t k = 0; k < m->links; k++)
        risk += 1 - m->link[k].probability;
    return risk;
}

/* Chance that parts of h hosts each, a quarter of the latency apart, would have stayed hidden in a
 * group of m: then their common contrast does not pass the test that splits a group. */
static double hidden(const struct nt_work *w, double m, double h, double level)
{
    double inside = 0.5 * m * (h - 1), between = 0.5 * m * (m - h);
    double known = w->holes ? 2 * (double)w->pairs / ((double)w->n * ((double)w->n - 1)) : 1;
    double variance = (1 / inside + 1 / between) / known;
    double z = 0.25 * level / (nt_noise_sd(&w->noise, level) * sqrt(variance));
    double ln_ways = lgamma(m + 1) - m / h * lgamma(h + 1);
    return nt_normal_cdf(nt_null_limit(ln_ways, w->noise.df) - z);
}

/* The same for the group where it is most likely, over parts of 2, 4, 8, ... hosts. */
static double missed(const struct nt_work *w)
{
    double most = 0;
    for (size_t g = 0; g < w->groups; g++) {
        double m = (double)nt_work_size(w, g), sum = 0, count = 0;
        double level = 2 * (double)w->offset[w->member[w->start[g]]];
        for (double h = 2; 2 * h <= m; h *= 2, count++)
            sum += hidden(w, m, h, level);
        if (count > 0)
            most = fmax(most, sum / count);
    }
    return most;
}

/* What speaks against the shape, each with its weight in the ln of the odds. The error rates are of
 * tests that hold where the model does; how much they and the signs that it does not are worth was
 * fitted (logistic regression) to four thousand simulated networks of all kinds, noise, wrong and
 * missing pairs of tests/bench_confidence, and holds for others: its table is in `make bench`. */
struct evidence {
    double misplaced, invented, missed; /* chances */
    double off, low; /* shares of pairs that do not fit, and of those far too near */
    double unknown;  /* share of pairs that were not measured */
    double pattern;  /* of the residuals, over noise */
    double small;    /* share of groups of two or three hosts, which a few wrong pairs make */
    bool line;       /* a switch for each host: links between hosts would look the same */
};

static struct evidence find_evidence(const struct nt_work *w, const struct nt_model *model,
                                     double misfit)
{
    double n = (double)w->n, groups = 0;
    for (size_t g = 0; g < w->groups; g++)
        groups += nt_work_size(w, g) == 2 || nt_work_size(w, g) == 3;
    return (struct evidence){.misplaced = misplaced(w),
                             .invented = invented(model),
                             .missed = missed(w),
                             .off = (double)model->pairs_off / (double)w->pairs,
                             .low = w->low_share,
                             .unknown = 1 - 2 * (double)w->pairs / (n * (n - 1)),
                             .pattern = fmax(0, misfit - 1),
                             .small = fmin(1, 4 * groups / n),
                             .line = model->switches + 2 >= w->n};
}

double nt_confidence(const struct nt_work *w, const struct nt_model *model, double misfit)
{
    if (w->n < 2)
        return 0;
    if (w->n < 4) /* fewer than four hosts are always a star */
        return 1;
    struct evidence e = find_evidence(w, model, misfit);
    /* chances below the first figure are as good as none; each ten times more costs the second */
    double odds = 3.95 - 0.36 * log10(1 + e.misplaced / 1e-6) - 0.11 * log10(1 + e.invented / 1e-9);
    odds -= 2.1 * e.missed + 3.8 * sqrt(e.off) + 3.7 * sqrt(e.low) + 3.6 * e.unknown;
    odds -= 11 * e.pattern + 1.3 * e.small + 0.8 * e.line;
    return 1 / (1 + exp(-odds));
}
