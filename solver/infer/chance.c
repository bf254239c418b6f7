/* Groups that outliers alone could make. A reading that is far too low makes its two hosts look
 * like a switch of their own; with enough of them some sets of three or four do. Groups of a size
 * are believed when there are more of them than the low outliers seen elsewhere would make. */
#include "work.h"

static double ln_choose(double n, double k)
{
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* Share of pairs far below the fit, where the fit is not made by the pair itself. */
static double low_share(const struct nt_work *w)
{
    double low = 0, all = 0;
    for (size_t i = 1; i < w->n; i++) {
        size_t a = w->group[i], na = nt_work_size(w, a);
        for (size_t j = 0; j < i; j++) {
            size_t b = w->group[j], nb = nt_work_size(w, b);
            float v = w->d[i * w->n + j];
            if (v != v || (a == b ? na < 5 : na * nb < 8))
                continue;
            float p = nt_work_predict(w, i, j);
            all++;
            low += (double)(v - p) < -4 * nt_noise_sd(&w->noise, (double)p);
        }
    }
    return (low + 0.02) / (all + 1);
}

/* Chance of at least k events where e are expected. */
static double poisson_tail(double e, size_t k)
{
    double term = exp(-e), below = 0;
    for (size_t x = 0; x < k; x++) {
        below += term;
        term *= e / (double)(x + 1);
    }
    if (below < 0.999999)
        return 1 - below;
    return term; /* the first term beyond, all that is left of it */
}

void nt_chance_groups(struct nt_work *w)
{
    double n = (double)w->n, squares = 0;
    size_t count[NT_WEAK_SIZES] = {0};
    for (size_t g = 0; g < w->groups; g++) {
        size_t size = nt_work_size(w, g);
        squares += (double)size * (double)size;
        if (size < NT_WEAK_SIZES)
            count[size]++;
    }
    for (size_t m = 0; m < NT_WEAK_SIZES; m++)
        w->weak[m] = false;
    double ln_p = log(low_share(w)), usual = squares / n;
    for (size_t m = 2; m < NT_WEAK_SIZES && (double)m <= n / 2; m++) {
        double size = (double)m, pairs = size * (size - 1) / 2, needed = ceil(pairs / 2);
        /* within a switch of the usual size, at least twice as large as the group itself */
        double among = fmin(n, fmax(usual, 2 * size));
        double ln_expected =
            log(n / among) + ln_choose(among, size) + ln_choose(pairs, needed) + needed * ln_p;
        double expected = ln_expected > 10 ? 22000 : exp(ln_expected);
        w->weak[m] = expected > 500 || poisson_tail(expected, count[m] > 0 ? count[m] : 1) > 0.02;
        if (!w->weak[m])
            break;
    }
}
