#include "robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dense.h"
#include "stats.h"

#define HUBER 1.345
#define MAD_TO_SD 1.4826 /* of a normal distribution */
#define CUT 4.0          /* deleted residual beyond which a measurement does not fit */
#define WEIGHT 1e-4      /* of one that does not: little, but the rank stays */
#define EXACT 1e-9       /* of the largest measurement: finer differences are rounding */
#define ESSENTIAL 0.02   /* 1 - leverage below which nothing else tells whether one fits */
enum { HUBER_STEPS = 40, ROUNDS = 4 };

struct fit {
    const struct nt_rows *rows;
    const double *measured;
    struct nt_robust *r;
    double *work; /* rows + unknowns */
    float *sizes; /* rows */
    double scale; /* of a measurement, so far */
    double least; /* below this it is rounding */
};

void nt_robust_destroy(struct nt_robust *robust)
{
    if (robust == NULL)
        return;
    free(robust->x);
    free(robust->inverse);
    free(robust->residual);
    free(robust->leverage);
    free(robust->rejected);
    free(robust);
}

double nt_robust_variance(const struct nt_robust *r, const uint32_t *column, const double *value,
                          size_t n)
{
    double sum = 0;
    for (size_t k = 0; k < n;
         k++) { /* by the rows of the first columns: pairs come by first host */
        const double *row = r->inverse + column[k] * r->unknowns;
        double part = 0.5 * value[k] * row[column[k]];
        for (size_t l = k + 1; l < n; l++)
            part += value[l] * row[column[l]];
        sum += 2 * value[k] * part;
    }
    return sum > 0 ? sum : 0;
}

static void find_leverages(struct fit *f)
{
    const struct nt_rows *rows = f->rows;
    for (size_t i = 0; i < rows->rows; i++)
        f->r->leverage[i] =
            nt_robust_variance(f->r, rows->column + rows->start[i], rows->value + rows->start[i],
                               rows->start[i + 1] - rows->start[i]);
}

static void find_residuals(struct fit *f)
{
    const struct nt_rows *rows = f->rows;
    for (size_t i = 0; i < rows->rows; i++) {
        double fitted = 0;
        for (size_t k = rows->start[i]; k < rows->start[i + 1]; k++)
            fitted += rows->value[k] * f->r->x[rows->column[k]];
        f->r->residual[i] = f->measured[i] - fitted;
    }
}

/* x := (add ? x : 0) + inverse A' b */
static void apply(struct fit *f, const double *b, bool add)
{
    const struct nt_rows *rows = f->rows;
    struct nt_robust *r = f->r;
    double *sum = f->work + rows->rows;
    memset(sum, 0, r->unknowns * sizeof *sum);
    for (size_t i = 0; i < rows->rows; i++) {
        for (size_t k = rows->start[i]; k < rows->start[i + 1]; k++)
            sum[rows->column[k]] += rows->value[k] * b[i];
    }
    for (size_t u = 0; u < r->unknowns; u++) {
        double x = nt_dense_dot(r->inverse + u * r->unknowns, sum, r->unknowns);
        r->x[u] = add ? r->x[u] + x : x;
    }
}

/* Least squares with the weights as they are. */
static void solve(struct fit *f)
{
    for (size_t i = 0; i < f->rows->rows; i++)
        f->work[i] = (f->r->rejected[i] ? WEIGHT : 1) * f->measured[i];
    apply(f, f->work, false);
    find_residuals(f);
}

static double spare(const struct fit *f, size_t i)
{
    double d = 1 - f->r->leverage[i];
    return d > 1e-6 ? d : 0;
}

/* The scale by the median of the residuals that could differ from 0; never below the least, so
 * that rounding is not judged. */
static double find_scale(struct fit *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->rows->rows; i++) {
        if (spare(f, i) > 0)
            f->sizes[n++] = (float)(fabs(f->r->residual[i]) / sqrt(spare(f, i)));
    }
    double scale = n == 0 ? 0 : MAD_TO_SD * (double)nt_stats_median(f->sizes, n);
    return scale > f->least ? scale : f->least;
}

/* Huber's method of modified residuals: x += inverse A' (residuals cut off at the limit), which
 * ends where the weighted equations hold, with one inverse for all steps. */
static void huber(struct fit *f)
{
    for (int step = 0; step < HUBER_STEPS; step++) {
        double most = 0;
        f->scale = find_scale(f);
        for (size_t i = 0; i < f->rows->rows; i++) {
            double limit = HUBER * f->scale * sqrt(spare(f, i)), r = f->r->residual[i];
            f->work[i] = spare(f, i) > 0 && fabs(r) > limit ? copysign(limit, r) : r;
        }
        apply(f, f->work, true);
        for (size_t i = 0; i < f->rows->rows; i++)
            f->work[i] = f->r->residual[i];
        find_residuals(f);
        for (size_t i = 0; i < f->rows->rows; i++) {
            double moved = fabs(f->work[i] - f->r->residual[i]);
            most = moved > most ? moved : most;
        }
        if (most < 1e-3 * f->scale)
            return;
    }
}

/* Which measurements do not fit now: more of them in list, with +1 for newly rejected and -1 for
 * taken back. A rejected one is judged as a prediction. */
static size_t judge(const struct fit *f, uint32_t *list, signed char *change)
{
    size_t n = 0;
    for (size_t i = 0; i < f->rows->rows; i++) {
        bool was = f->r->rejected[i];
        double d = was ? 1 + f->r->leverage[i] : 1 - f->r->leverage[i];
        bool off = d > ESSENTIAL && fabs(f->r->residual[i]) / sqrt(d) > CUT * f->scale;
        if (off == was)
            continue;
        list[n] = (uint32_t)i;
        change[n++] = off ? 1 : -1;
    }
    return n;
}

/* t (r by n) := rows of the list times the inverse. */
static void multiply_rows(const struct fit *f, const uint32_t *list, size_t r, double *t)
{
    const struct nt_rows *rows = f->rows;
    size_t n = f->r->unknowns;
    memset(t, 0, r * n * sizeof *t);
    for (size_t a = 0; a < r; a++) {
        for (size_t k = rows->start[list[a]]; k < rows->start[list[a] + 1]; k++) {
            nt_dense_add(t + a * n, rows->value[k], f->r->inverse + rows->column[k] * n, n);
        }
    }
}

/* g := I / delta - sign * V t', lower triangle in column order. */
static void inner(const struct fit *f, const uint32_t *list, size_t r, const double *t, double sign,
                  double *g)
{
    const struct nt_rows *rows = f->rows;
    for (size_t b = 0; b < r; b++) {
        for (size_t a = b; a < r; a++) {
            double sum = 0;
            for (size_t k = rows->start[list[a]]; k < rows->start[list[a] + 1]; k++)
                sum += rows->value[k] * t[b * f->r->unknowns + rows->column[k]];
            g[b * r + a] = (a == b ? 1 / (1 - WEIGHT) : 0) - sign * sum;
        }
    }
}

/* inverse += sign * t' t, then t := inverse(L) t before. */
static void add_square(struct nt_robust *r, double *t, size_t count, const double *l, double sign)
{
    size_t n = r->unknowns;
    for (size_t a = 0; a < count; a++) {
        for (size_t b = 0; b < a; b++) {
            nt_dense_add(t + a * n, -l[b * count + a], t + b * n, n);
        }
        for (size_t u = 0; u < n; u++)
            t[a * n + u] /= l[a * count + a];
    }
    for (size_t u = 0; u < n; u++) {
        double *row = r->inverse + u * n;
        for (size_t a = 0; a < count; a++) {
            nt_dense_add(row + u, sign * t[a * n + u], t + a * n + u, n - u);
        }
    }
    for (size_t u = 0; u < n; u++) {
        for (size_t v = u + 1; v < n; v++)
            r->inverse[v * n + u] = r->inverse[u * n + v];
    }
}

/* The inverse after the rows of the list lost (sign 1) or got back (-1) their weight (Sherman,
 * Morrison and Woodbury). */
static int reweigh(struct fit *f, const uint32_t *list, size_t count, double sign,
                   struct nt_err *err)
{
    if (count == 0)
        return 0;
    double *t = malloc(count * f->r->unknowns * sizeof *t);
    double *g = malloc(count * count * sizeof *g);
    int rc = -1;
    if (t == NULL || g == NULL) {
        (void)nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu rejected measurements", count);
    } else {
        multiply_rows(f, list, count, t);
        inner(f, list, count, t, sign, g);
        rc = nt_dense_factor(g, count, err);
        if (rc == 0)
            add_square(f->r, t, count, g, sign);
    }
    free(t);
    free(g);
    return rc;
}

static int change_weights(struct fit *f, uint32_t *list, const signed char *change, size_t n,
                          struct nt_err *err)
{
    static const signed char directions[] = {1, -1};
    uint32_t *some = malloc((n + 1) * sizeof *some);
    if (some == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu rejected measurements", n);
    int rc = 0;
    for (size_t d = 0; d < 2 && rc == 0; d++) {
        size_t count = 0;
        for (size_t k = 0; k < n; k++) {
            if (change[k] != directions[d])
                continue;
            some[count++] = list[k];
            f->r->rejected[list[k]] = directions[d] > 0;
        }
        rc = reweigh(f, some, count, directions[d], err);
        f->r->rejections += directions[d] > 0 ? count : 0;
        f->r->rejections -= directions[d] > 0 ? 0 : count;
    }
    free(some);
    return rc;
}

static void find_sigma(struct fit *f)
{
    struct nt_robust *r = f->r;
    size_t kept = r->rows - r->rejections;
    double sum = 0;
    for (size_t i = 0; i < r->rows; i++)
        sum += r->rejected[i] ? 0 : r->residual[i] * r->residual[i];
    r->freedom = kept > r->unknowns ? kept - r->unknowns : 0;
    r->sigma = r->freedom > 0 ? sqrt(sum / (double)r->freedom) : NAN;
}

static int reject(struct fit *f, struct nt_err *err)
{
    uint32_t *list = malloc((f->rows->rows + 1) * sizeof *list);
    signed char *change = malloc(f->rows->rows + 1);
    int rc = 0;
    if (list == NULL || change == NULL)
        rc = nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu measurements", f->rows->rows);
    for (int round = 0; round < ROUNDS && rc == 0; round++) {
        size_t n = judge(f, list, change);
        if (n == 0 && round > 0)
            break;
        rc = change_weights(f, list, change, n, err);
        if (rc != 0)
            break;
        solve(f);
        find_leverages(f);
        find_sigma(f);
        if (f->r->freedom == 0)
            break;
        f->scale = fmax(f->r->sigma, f->least);
    }
    free(list);
    free(change);
    return rc;
}

static int allocate(struct fit *f, struct nt_err *err)
{
    size_t m = f->rows->rows, n = f->rows->columns;
    struct nt_robust *r = f->r;
    r->rows = m;
    r->unknowns = n;
    r->x = calloc(n + 1, sizeof *r->x);
    r->residual = calloc(m + 1, sizeof *r->residual);
    r->leverage = calloc(m + 1, sizeof *r->leverage);
    r->rejected = calloc(m + 1, sizeof *r->rejected);
    f->work = malloc((m + n + 1) * sizeof *f->work);
    f->sizes = malloc((m + 1) * sizeof *f->sizes);
    if (r->x == NULL || r->residual == NULL || r->leverage == NULL || r->rejected == NULL ||
        f->work == NULL || f->sizes == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu measurements", m);
    return 0;
}

static int run(struct fit *f, struct nt_err *err)
{
    struct nt_normal *normal;
    if (allocate(f, err) != 0 || nt_normal_create(f->rows, &normal, err) != 0)
        return -1;
    int rc = nt_normal_inverse(normal, &f->r->inverse, err);
    nt_normal_destroy(normal);
    if (rc != 0)
        return -1;
    find_leverages(f);
    solve(f);
    find_sigma(f);
    if (f->r->freedom == 0)
        return 0;
    for (size_t i = 0; i < f->rows->rows; i++)
        f->least = fmax(f->least, EXACT * fabs(f->measured[i]));
    if (f->r->sigma <= f->least) /* noise that is only rounding: nothing to be robust against */
        return 0;
    huber(f);
    return reject(f, err);
}

int nt_robust_fit(const struct nt_rows *rows, const double *measured, struct nt_robust **out,
                  struct nt_err *err)
{
    struct fit f = {.rows = rows, .measured = measured, .r = calloc(1, sizeof *f.r)};
    if (f.r == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu measurements", rows->rows);
    int rc = run(&f, err);
    free(f.work);
    free(f.sizes);
    if (rc != 0) {
        nt_robust_destroy(f.r);
        return -1;
    }
    *out = f.r;
    return 0;
}
