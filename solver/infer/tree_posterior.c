/* SPDX-License-Identifier: Apache-2.0 */
/* All trees of few branches, by their splits.
 *
 * A reading is the sum of two branches and of the splits that part them. The branches are in every
 * tree: they are taken out of the equations first (a Schur complement), and a walk over the sets of
 * splits that do not cross adds one column of a Cholesky factor at a time. With noise s of unknown
 * size, s^2 from a scaled inverse chi-squared distribution, and flat lengths, the likelihood of a
 * tree is known in closed form (Gelman et al., Bayesian Data Analysis, 3rd ed., section 14.2).
 * Each tree is tried with links of any lengths, and with inner links that are all as long: then one
 * length is told by all readings, which shows groups that no link by itself would. */
#include "tree_posterior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"
#include "tree_noise.h"

enum {
    BRANCHES = NT_TREE_POSTERIOR_MAX,
    ROWS = BRANCHES * (BRANCHES - 1) / 2,
    SPLITS_MAX = 119, /* of eight branches */
    CLASSES = 1 << 9, /* of trees, see class_of_split() */
    SINGLES_ALL = 6,  /* branches up to which each reading in turn is taken for wrong */
    SUSPECTS = 6,     /* readings tried beyond that */
    WRONG_MOST = 3    /* readings that may be wrong together */
};

/* Lengths of inner links are below half of the middle latency, flat. */
static const double INNER_MOST = 0.5;
/* Shares of readings that are too high and too low, over a range of the middle latency: what
 * disturbs a message makes it late, and hardly anything makes it early. */
static const double HIGH_SHARE = 0.01, LOW_SHARE = 0.0005;

struct row {
    uint8_t a, b;
    double value, weight; /* in units of the level; 1 / variance */
};

/* Of splits, by index. */
struct set {
    uint64_t of[2];
};

/* Likelihoods of trees, relative to exp(top): all together, those with each split, and the best. */
struct sums {
    double top, total, by_split[SPLITS_MAX];
    double best; /* ln */
    uint8_t chosen[NT_TREE_POSTERIOR_SPLITS];
    size_t count;
};

struct search {
    const struct nt_tree_posterior_input *in;
    size_t k, rows, splits, deepest;
    double level; /* us */
    struct row row[ROWS];
    bool without[ROWS]; /* taken for wrong */
    uint8_t split[SPLITS_MAX];
    struct set every, agree[SPLITS_MAX];          /* all; those that do not cross one */
    uint16_t class_of[SPLITS_MAX];                /* see class_of_split() */
    double trees[CLASSES];                        /* of each class, */
    double classes[NT_TREE_POSTERIOR_SPLITS + 1]; /* classes of so many splits */
    double ln_share[CLASSES];                     /* of one tree of a class */
    size_t priors;                                /* see search_init() */
    /* by the number of lengths of inner links */
    double prior[NT_TREE_POSTERIOR_SPLITS + 1][NT_TREE_NOISES],
        power[NT_TREE_POSTERIOR_SPLITS + 1][NT_TREE_NOISES];
    double ln_fixed[NT_TREE_POSTERIOR_SPLITS + 1][NT_TREE_NOISES];
    double rss_most[NT_TREE_POSTERIOR_SPLITS + 1]; /* see set_limits() */
    /* branches taken out: what is left of the equations of the splits */
    double m[SPLITS_MAX][SPLITS_MAX], right[SPLITS_MAX], rss, ln_det;
    size_t kept; /* rows */
    /* the walk */
    double factor[NT_TREE_POSTERIOR_SPLITS][NT_TREE_POSTERIOR_SPLITS], y[NT_TREE_POSTERIOR_SPLITS];
    uint8_t chosen[NT_TREE_POSTERIOR_SPLITS]; /* indices of splits */
    struct sums now, all; /* of one hypothesis about wrong readings, of all hypotheses */
    bool best_without[ROWS];
    bool counting; /* trees, not likelihoods */
};

static bool split_parts(uint8_t split, const struct row *r)
{
    return ((split >> r->a ^ split >> r->b) & 1) != 0;
}

/* Neither contains branch 0: they agree when one holds the other, or they have nothing in common.
 */
static bool splits_agree(uint8_t a, uint8_t b)
{
    uint8_t both = a & b;
    return both == 0 || both == a || both == b;
}

/* Trees are of one class when the smaller sides of their splits have the same sizes: how many have
 * two branches, three, and four, three bits each. */
static uint16_t class_of_split(const struct search *s, unsigned size)
{
    unsigned smaller = size < s->k - size ? size : (unsigned)s->k - size;
    return (uint16_t)(1u << 3 * (smaller - 2));
}

static void list_splits(struct search *s)
{
    for (unsigned mask = 2; mask < 1u << s->k; mask += 2) {
        unsigned size = (unsigned)__builtin_popcount(mask);
        if (size < 2 || size > s->k - 2)
            continue;
        s->class_of[s->splits] = class_of_split(s, size);
        s->split[s->splits++] = (uint8_t)mask;
    }
    for (size_t c = 0; c < s->splits; c++) {
        s->every.of[c / 64] |= (uint64_t)1 << c % 64;
        for (size_t e = 0; e < s->splits; e++)
            if (e != c && splits_agree(s->split[c], s->split[e]))
                s->agree[c].of[e / 64] |= (uint64_t)1 << e % 64;
    }
    s->deepest = s->k - 3;
}

static int list_rows(struct search *s)
{
    const struct nt_tree_posterior_input *in = s->in;
    float values[ROWS];
    size_t k = s->k;
    for (size_t a = 1; a < k; a++)
        for (size_t b = 0; b < a; b++)
            if (in->d[a * k + b] == in->d[a * k + b]) {
                values[s->rows] = (float)in->d[a * k + b];
                s->row[s->rows++] = (struct row){(uint8_t)a, (uint8_t)b, in->d[a * k + b],
                                                 1 / in->variance[a * k + b]};
            }
    double level = s->level = in->level > 0 ? in->level : (double)nt_stats_median(values, s->rows);
    for (size_t r = 0; r < s->rows; r++)
        s->row[r].value /= level;
    return s->rows >= k && level > 0 ? 0 : -1;
}

/* Takes the branches out of the normal equations; false when the readings do not tell them. */
static bool take_out_branches(struct search *s)
{
    size_t k = s->k, n = s->splits;
    double l[BRANCHES][BRANCHES] = {{0}}, z[BRANCHES] = {0}, w[BRANCHES][SPLITS_MAX];
    memset(w, 0, sizeof w);
    memset(s->m, 0, sizeof s->m);
    memset(s->right, 0, sizeof s->right);
    s->rss = s->ln_det = 0;
    s->kept = 0;
    for (size_t r = 0; r < s->rows; r++) {
        const struct row *x = &s->row[r];
        uint8_t over[SPLITS_MAX];
        size_t count = 0;
        if (s->without[r])
            continue;
        s->kept++;
        for (size_t c = 0; c < n; c++)
            if (split_parts(s->split[c], x))
                over[count++] = (uint8_t)c;
        l[x->a][x->a] += x->weight;
        l[x->b][x->b] += x->weight;
        l[x->a][x->b] += x->weight;
        z[x->a] += x->weight * x->value;
        z[x->b] += x->weight * x->value;
        s->rss += x->weight * x->value * x->value;
        s->ln_det -= log(x->weight); /* the density of a reading has its weight's root */
        for (size_t c = 0; c < count; c++) {
            w[x->a][over[c]] += x->weight;
            w[x->b][over[c]] += x->weight;
            s->right[over[c]] += x->weight * x->value;
            for (size_t e = 0; e <= c; e++)
                s->m[over[c]][over[e]] += x->weight;
        }
    }
    for (size_t i = 0; i < k; i++) {
        double own = l[i][i];
        for (size_t j = 0; j < i; j++) {
            double v = l[i][j];
            for (size_t h = 0; h < j; h++)
                v -= l[i][h] * l[j][h];
            l[i][j] = v / l[j][j];
            own -= l[i][j] * l[i][j];
            z[i] -= l[i][j] * z[j];
        }
        if (!(own > 1e-9))
            return false;
        l[i][i] = sqrt(own);
        z[i] /= l[i][i];
        s->rss -= z[i] * z[i];
        s->ln_det += log(own);
        for (size_t c = 0; c < n; c++) {
            for (size_t h = 0; h < i; h++)
                w[i][c] -= l[i][h] * w[h][c];
            w[i][c] /= l[i][i];
            s->right[c] -= w[i][c] * z[i];
        }
    }
    for (size_t c = 0; c < n; c++)
        for (size_t e = 0; e <= c; e++)
            for (size_t h = 0; h < k; h++)
                s->m[c][e] -= w[h][c] * w[h][e];
    return true;
}

/* Of each tree: how often there are no splits is given; of the others any number of them is as
 * likely, and any class of so many: leaves of as many hosts are not as rare as drawing them would
 * make them. */
static void share_trees(struct search *s)
{
    double others = fmax((double)s->deepest, 1), none = s->in->none;
    for (size_t class = 0; class < CLASSES; class ++) {
        size_t count = (class & 7) + (class >> 3 & 7) + (class >> 6);
        if (s->trees[class] > 0)
            s->ln_share[class] = log((count == 0 ? none : (1 - none) / others) /
                                     (s->classes[count] * s->trees[class]));
    }
}

static void count_tree(struct search *s, size_t count, size_t class)
{
    s->classes[count] += s->trees[class] == 0;
    s->trees[class]++;
}

/* What the likelihood of a tree of `count` lengths has beside its residuals, by kind of noise. */
static void search_init(struct search *s)
{
    const struct nt_tree_posterior_input *in = s->in;
    s->priors = in->noise_df > 0 ? 1 : NT_TREE_NOISES;
    for (size_t count = 0; count <= s->deepest; count++)
        s->rss_most[count] = INFINITY;
    for (size_t count = 0; count <= s->deepest; count++)
        for (size_t p = 0; p < s->priors; p++) {
            struct nt_tree_noise of = nt_tree_noise(in, p);
            double nu = of.df, df = (double)s->kept - (double)s->k - (double)count;
            /* the least is in each reading, seen or not */
            s->prior[count][p] = nu * of.sd * of.sd + (nu + df) * in->least * in->least;
            s->power[count][p] = 0.5 * (df + nu);
            s->ln_fixed[count][p] = log(of.share) + 0.5 * nu * log(s->prior[count][p] / 2) -
                                    lgamma(0.5 * nu) + lgamma(0.5 * (df + nu)) -
                                    0.5 * df * log(2 * M_PI) - (double)count * log(INNER_MOST);
        }
}

/* ln of the likelihood of the readings under a tree of so many lengths, these and the noise
 * integrated out. */
static double ln_likelihood(const struct search *s, double rss, double ln_det, size_t lengths)
{
    double ln[NT_TREE_NOISES] = {0}, square = rss > 1e-12 ? rss : 1e-12, most = -INFINITY, sum = 0;
    for (size_t p = 0; p < s->priors; p++) {
        ln[p] = s->ln_fixed[lengths][p] -
                s->power[lengths][p] * log((square + s->prior[lengths][p]) / 2);
        most = ln[p] > most ? ln[p] : most;
    }
    for (size_t p = 0; p < s->priors; p++)
        sum += ln[p] > most - 40 ? exp(ln[p] - most) : 0;
    return most + log(fmax(sum, 1)) - 0.5 * ln_det; /* the largest is one of them */
}

static const struct sums no_sums = {.top = -INFINITY, .best = -INFINITY};

/* The sums stay within the range of a double. */
static void rescale_sums(struct sums *sums, double ln)
{
    double scale = ln > sums->top ? exp(sums->top - ln) : 1;
    if (scale == 1)
        return;
    sums->total *= scale;
    for (size_t c = 0; c < SPLITS_MAX; c++)
        sums->by_split[c] *= scale;
    sums->top = ln;
}

/* Residuals over which a tree of so many lengths has no part in the sums: it would be less likely
 * than the likeliest by exp(25), were its equations told by exp(12) less than the branches'. */
static void set_limits(struct search *s)
{
    const double NO_PART = 25, DETERMINANT = 12;
    double least = s->now.top - NO_PART - DETERMINANT + 0.5 * s->ln_det;
    for (size_t n = 0; n <= s->deepest; n++) {
        s->rss_most[n] = 0;
        for (size_t p = 0; p < s->priors; p++) {
            double ln = (s->ln_fixed[n][p] + log(NT_TREE_NOISES) - least) / s->power[n][p];
            s->rss_most[n] = fmax(s->rss_most[n], 2 * exp(fmin(ln, 700)) - s->prior[n][p]);
        }
    }
}

static void visit_tree(struct search *s, double ln, size_t count)
{
    struct sums *now = &s->now;
    if (ln < now->top - 40)
        return;
    bool likeliest = ln > now->top;
    rescale_sums(now, ln);
    if (likeliest)
        set_limits(s);
    double share = exp(ln - now->top);
    now->total += share;
    for (size_t c = 0; c < count; c++)
        now->by_split[s->chosen[c]] += share;
    if (ln <= now->best)
        return;
    now->best = ln;
    now->count = count;
    memcpy(now->chosen, s->chosen, sizeof now->chosen);
}

/* The lengths of the splits that the walk has chosen; true when all are above 0: a tree with a
 * link that is not there is another tree. */
static bool tree_lengths(const struct search *s, size_t count, double *x)
{
    for (size_t i = count; i-- > 0;) {
        double v = s->y[i];
        for (size_t j = i + 1; j < count; j++)
            v -= s->factor[j][i] * x[j];
        x[i] = v / s->factor[i][i];
        if (!(x[i] > 0))
            return false;
    }
    return true;
}

/* ln of the likelihood of the chosen tree when its inner links are all as long: one column, the
 * sum of theirs. -INFINITY: that length is not above 0. */
static double ln_alike(const struct search *s, size_t count)
{
    double own = 0, right = 0;
    for (size_t i = 0; i < count; i++) {
        right += s->right[s->chosen[i]];
        for (size_t j = 0; j < i; j++)
            own += 2 * s->m[s->chosen[i]][s->chosen[j]]; /* chosen ones come in order */
        own += s->m[s->chosen[i]][s->chosen[i]];
    }
    if (!(own > 1e-9) || !(right > 0))
        return -INFINITY;
    double rss = s->rss - right * right / own;
    if (rss > s->rss_most[1])
        return -INFINITY;
    return ln_likelihood(s, rss, s->ln_det + log(own), 1);
}

static double ln_sum(double a, double b)
{
    double most = fmax(a, b);
    return most > -INFINITY ? most + log(exp(a - most) + exp(b - most)) : most;
}

/* The same of both kinds, times the share of that tree; det: of the splits' factor, squared.
 * -INFINITY: it has no part, or of neither all lengths are above 0. */
static double ln_of_tree(const struct search *s, double rss, double det, size_t count, size_t class)
{
    double x[NT_TREE_POSTERIOR_SPLITS], alike = count > 1 ? s->in->alike : 0;
    double any = -INFINITY, one = alike > 0 ? ln_alike(s, count) : -INFINITY;
    if (!(rss > s->rss_most[count]) && tree_lengths(s, count, x))
        any = ln_likelihood(s, rss, s->ln_det + log(det), count) + (alike > 0 ? log1p(-alike) : 0);
    if (one > -INFINITY)
        any = ln_sum(any, one + log(alike));
    return any + s->ln_share[class];
}

/* Adds split c to the chosen ones as a column of the factor; false when the readings do not tell it
 * from them. */
static bool add_column(struct search *s, size_t c, size_t count)
{
    double own = s->m[c][c], y = s->right[c], *row = s->factor[count];
    for (size_t i = 0; i < count; i++) {
        double v = s->m[c][s->chosen[i]]; /* chosen ones come before c */
        for (size_t j = 0; j < i; j++)
            v -= row[j] * s->factor[i][j];
        row[i] = v / s->factor[i][i];
        own -= row[i] * row[i];
        y -= row[i] * s->y[i];
    }
    if (!(own > 1e-9))
        return false;
    row[count] = sqrt(own);
    s->y[count] = y / row[count];
    return true;
}

/* All sets of splits that begin with the `count` chosen ones and go on with some of `open`, which
 * cross none of them and come later. */
static void walk_trees(struct search *s, struct set open, size_t count, size_t class, double rss,
                       double det)
{
    if (s->counting)
        count_tree(s, count, class);
    else
        visit_tree(s, ln_of_tree(s, rss, det, count, class), count);
    if (count == s->deepest)
        return;
    for (size_t part = 0; part < 2; part++)
        while (open.of[part] != 0) {
            size_t c = part * 64 + (size_t)__builtin_ctzll(open.of[part]);
            open.of[part] &= open.of[part] - 1;
            struct set rest = {{open.of[0] & s->agree[c].of[0], open.of[1] & s->agree[c].of[1]}};
            s->chosen[count] = (uint8_t)c;
            if (s->counting)
                walk_trees(s, rest, count + 1, class + s->class_of[c], 0, 0);
            else if (add_column(s, c, count))
                walk_trees(s, rest, count + 1, class + s->class_of[c],
                           rss - s->y[count] * s->y[count],
                           det * s->factor[count][count] * s->factor[count][count]);
        }
}

/* The unknowns that a reading is the sum of: branches, then splits of the best tree. */
static size_t list_columns(const struct search *s, const struct sums *of, const struct row *x,
                           size_t *column)
{
    size_t count = 2;
    column[0] = x->a;
    column[1] = x->b;
    for (size_t c = 0; c < of->count; c++)
        if (split_parts(s->split[of->chosen[c]], x))
            column[count++] = s->k + c;
    return count;
}

enum { UNKNOWNS = BRANCHES + NT_TREE_POSTERIOR_SPLITS };

/* Lengths of the best tree: its branches, then its splits. */
static void fit_best(const struct search *s, const struct sums *of, const bool *without,
                     double *length)
{
    double a[UNKNOWNS][UNKNOWNS + 1] = {{0}};
    size_t n = s->k + of->count, column[UNKNOWNS];
    for (size_t r = 0; r < s->rows; r++) {
        const struct row *x = &s->row[r];
        size_t count = without[r] ? 0 : list_columns(s, of, x, column);
        for (size_t i = 0; i < count; i++) {
            for (size_t j = 0; j < count; j++)
                a[column[i]][column[j]] += x->weight;
            a[column[i]][n] += x->weight * x->value;
        }
    }
    for (size_t p = 0; p < n; p++) { /* Gauss and Jordan: the matrix is positive definite */
        a[p][p] += 1e-12;
        for (size_t i = 0; i < n; i++) {
            double f = i == p ? 0 : a[i][p] / a[p][p];
            for (size_t j = p; j <= n && f != 0; j++)
                a[i][j] -= f * a[p][j];
        }
    }
    for (size_t p = 0; p < n; p++)
        length[p] = a[p][n] / a[p][p];
}

/* How far each reading is above that fit, in units of its weight. */
static void tree_residuals(const struct search *s, const struct sums *of, const bool *without,
                           double *size)
{
    double length[UNKNOWNS];
    fit_best(s, of, without, length);
    for (size_t r = 0; r < s->rows; r++) {
        size_t column[UNKNOWNS], count = list_columns(s, of, &s->row[r], column);
        double rest = s->row[r].value;
        for (size_t i = 0; i < count; i++)
            rest -= length[column[i]];
        size[r] = rest * sqrt(s->row[r].weight);
    }
}

/* ln of how likely it is that just those readings are wrong that s->without names, each as high or
 * as low as the best tree says. */
static double ln_wrong(const struct search *s, const struct sums *of)
{
    double size[ROWS], ln = 0;
    tree_residuals(s, of, s->without, size);
    for (size_t r = 0; r < s->rows; r++)
        if (s->without[r])
            ln += log(size[r] > 0 ? HIGH_SHARE : LOW_SHARE);
    return ln;
}

/* All trees, with the readings that s->without names taken for wrong. *better: one of them is the
 * best so far. Returns whether the other readings tell all branches. */
static bool try_hypothesis(struct search *s, bool *better)
{
    struct sums *all = &s->all, *now = &s->now;
    *better = false;
    if (!take_out_branches(s))
        return false;
    search_init(s);
    *now = no_sums;
    walk_trees(s, s->every, 0, 0, s->rss, 1);
    double prior = ln_wrong(s, now), ln = now->top + prior;
    rescale_sums(all, ln);
    double share = exp(ln - all->top);
    all->total += share * now->total;
    for (size_t c = 0; c < s->splits; c++)
        all->by_split[c] += share * now->by_split[c];
    *better = now->best + prior > all->best;
    if (*better) {
        all->best = now->best + prior;
        all->count = now->count;
        memcpy(all->chosen, now->chosen, sizeof all->chosen);
        memcpy(s->best_without, s->without, sizeof s->without);
    }
    return true;
}

/* Each reading that may be wrong beside those that s->without names already; leaves there what
 * explains most, and says whether it explains more than without. */
static bool find_next_outlier(struct search *s)
{
    double size[ROWS];
    size_t best = s->rows, tries = s->k <= SINGLES_ALL ? s->rows : SUSPECTS;
    tree_residuals(s, &s->all, s->best_without, size);
    for (size_t r = 0; r < s->rows; r++)
        size[r] = s->without[r] ? 0 : fabs(size[r]);
    for (size_t t = 0; t < tries; t++) {
        bool better;
        size_t worst = 0;
        for (size_t r = 1; r < s->rows; r++)
            worst = size[r] > size[worst] ? r : worst;
        if (!(size[worst] > 0))
            break;
        size[worst] = 0;
        s->without[worst] = true;
        if (try_hypothesis(s, &better) && better)
            best = worst;
        s->without[worst] = false;
    }
    if (best < s->rows)
        s->without[best] = true;
    return best < s->rows;
}

/* Makes the tree of all splits that more than half of the probability has (they never cross:
 * Margush and McMorris 1981) the best one, for a split under that is not stated. */
static void take_majority(struct search *s)
{
    struct sums *all = &s->all;
    double rss, det = 1;
    size_t count = 0, class = 0;
    memcpy(s->without, s->best_without, sizeof s->without);
    if (!take_out_branches(s))
        return;
    search_init(s);
    rss = s->rss;
    for (size_t c = 0; c < s->splits; c++)
        if (all->by_split[c] > 0.5 * all->total && add_column(s, c, count)) {
            s->chosen[count] = (uint8_t)c;
            class += s->class_of[c];
            rss -= s->y[count] * s->y[count];
            det *= s->factor[count][count] * s->factor[count][count];
            count++;
        }
    memcpy(all->chosen, s->chosen, sizeof all->chosen);
    all->count = count;
    all->best = ln_of_tree(s, rss, det, count, class) + ln_wrong(s, all);
}

static void write_result(const struct search *s, struct nt_tree_posterior_result *out)
{
    const struct sums *all = &s->all;
    double length[UNKNOWNS];
    *out = (struct nt_tree_posterior_result){.splits = all->count,
                                             .posterior = exp(all->best - all->top) / all->total};
    fit_best(s, all, s->best_without, length);
    for (size_t b = 0; b < s->k; b++)
        out->branch_us[b] = length[b] * s->level;
    for (size_t i = 0; i < all->count; i++) {
        out->split[i] = s->split[all->chosen[i]];
        out->split_us[i] = length[s->k + i] * s->level;
        out->support[i] = all->by_split[all->chosen[i]] / all->total;
    }
}

int nt_tree_posterior(const struct nt_tree_posterior_input *in, bool *solved,
                      struct nt_tree_posterior_result *out, struct nt_err *err)
{
    struct search *s = calloc(1, sizeof *s);
    if (s == NULL)
        return nt_err_memory(err);
    s->in = in;
    s->k = in->branches;
    s->all = no_sums;
    list_splits(s);
    s->counting = true;
    walk_trees(s, s->every, 0, 0, 0, 0);
    s->counting = false;
    share_trees(s);
    bool better;
    *solved = list_rows(s) == 0 && try_hypothesis(s, &better);
    for (int wrong = 0; wrong < WRONG_MOST && *solved; wrong++)
        if (s->rows < s->k + 2 + (size_t)wrong || !find_next_outlier(s))
            break;
    if (*solved) {
        take_majority(s);
        write_result(s, out);
    }
    free(s);
    return 0;
}
