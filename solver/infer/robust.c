/* SPDX-License-Identifier: Apache-2.0 */
#include "robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "memory.h"
#include "stats.h"

#define HUBER 1.345
#define CUT 4.0        /* deleted residual beyond which a measurement does not fit */
#define WEIGHT 1e-4    /* of one that does not: little, but the rank stays */
#define EXACT 1e-9     /* of the largest measurement: finer differences are rounding */
#define ESSENTIAL 0.02 /* 1 - leverage below which no other row tests whether one fits */
/* FREEDOM_LEAST: below it a median says less than the sum of squares */
enum { HUBER_STEPS = 40, ROUNDS = 6, FREEDOM_LEAST = 12 };

struct fit {
    const struct nt_rows *rows;
    const double *measured;
    struct nt_robust *r;
    double *work;        /* rows + unknowns */
    struct change *list; /* rows */
    float *sizes;        /* rows */
    double scale;        /* of a measurement, so far */
    double least;        /* below this it is rounding */
};

void nt_robust_destroy(struct nt_robust *robust)
{
    if (robust == NULL)
        return;
    free(robust->inverse);
    nt_object_destroy(robust);
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
static void add_solution(struct fit *f, const double *b, bool add)
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
        double x = cblas_ddot((int)r->unknowns, r->inverse + u * r->unknowns, 1, sum, 1);
        r->x[u] = add ? r->x[u] + x : x;
    }
}

/* Least squares with the weights as they are. */
static void solve_normal(struct fit *f)
{
    for (size_t i = 0; i < f->rows->rows; i++)
        f->work[i] = (f->r->rejected[i] ? WEIGHT : 1) * f->measured[i];
    add_solution(f, f->work, false);
    find_residuals(f);
}

static double spare_leverage(const struct fit *f, size_t i)
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
        if (spare_leverage(f, i) > 0 && !f->r->rejected[i])
            f->sizes[n++] = (float)(fabs(f->r->residual[i]) / sqrt(spare_leverage(f, i)));
    }
    double scale = n == 0 ? 0 : NT_SD_OF_MEDIAN * (double)nt_stats_median(f->sizes, n);
    return scale > f->least ? scale : f->least;
}

/* Huber's method of modified residuals: x += inverse A' (residuals cut off at the limit), which
 * ends where the weighted equations hold, with one inverse for all steps. */
static void huber_fit(struct fit *f)
{
    for (int step = 0; step < HUBER_STEPS; step++) {
        double most = 0;
        f->scale = find_scale(f);
        for (size_t i = 0; i < f->rows->rows; i++) {
            double limit = HUBER * f->scale * sqrt(spare_leverage(f, i)), r = f->r->residual[i];
            f->work[i] = spare_leverage(f, i) > 0 && fabs(r) > limit ? copysign(limit, r) : r;
        }
        add_solution(f, f->work, true);
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

/* A measurement whose weight should change. */
struct change {
    double size; /* of its residual, in standard deviations */
    uint32_t row;
    bool reject; /* else taken back */
};

/* Those to be taken back first, then the worst first. */
static int by_size(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    if (x->reject != y->reject)
        return x->reject ? 1 : -1;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* What does not fit now and is in, or fits as a prediction and is out. */
static size_t list_outliers(const struct fit *f, struct change *list)
{
    size_t n = 0;
    for (size_t i = 0; i < f->rows->rows; i++) {
        bool was = f->r->rejected[i];
        double d = was ? 1 + f->r->leverage[i] : 1 - f->r->leverage[i];
        double size = d > ESSENTIAL ? fabs(f->r->residual[i]) / sqrt(d) / f->scale : 0;
        if ((size > CUT) != was)
            list[n++] = (struct change){.size = size, .row = (uint32_t)i, .reject = !was};
    }
    qsort(list, n, sizeof *list, by_size);
    return n;
}

/* The inverse in the making: inverse + sum of sign a a'. */
struct update {
    size_t used, entries, signs; /* room for the latter two */
    double *a;                   /* used * unknowns */
    double *sign;                /* used */
};

static int update_reserve(struct update *u, size_t unknowns, struct nt_arena *memory,
                          struct nt_err *err)
{
    u->a = nt_arena_grow(memory, u->a, &u->entries, (u->used + 1) * unknowns, sizeof *u->a);
    u->sign = nt_arena_grow(memory, u->sign, &u->signs, u->used + 1, sizeof *u->sign);
    return nt_arena_check(memory, err);
}

static double row_product(const struct nt_rows *rows, size_t i, const double *x)
{
    double sum = 0;
    for (size_t k = rows->start[i]; k < rows->start[i + 1]; k++)
        sum += rows->value[k] * x[rows->column[k]];
    return sum;
}

/* One weight changes (Sherman and Morrison). A measurement that no other one tests after the
 * rejections before stays: of measurements that contradict each other only the worst is rejected.
 */
static void change_weight(struct fit *f, struct update *u, const struct change *c)
{
    const struct nt_rows *rows = f->rows;
    size_t n = f->r->unknowns;
    double *t = u->a + u->used * n, sign = c->reject ? 1 : -1;
    memset(t, 0, n * sizeof *t);
    for (size_t k = rows->start[c->row]; k < rows->start[c->row + 1]; k++)
        cblas_daxpy((int)n, rows->value[k], f->r->inverse + rows->column[k] * n, 1, t, 1);
    for (size_t p = 0; p < u->used; p++) {
        const double *a = u->a + p * n;
        cblas_daxpy((int)n, u->sign[p] * row_product(rows, c->row, a), a, 1, t, 1);
    }
    double leverage = row_product(rows, c->row, t);
    if (c->reject && 1 - leverage < ESSENTIAL)
        return;
    double scale = 1 / sqrt(1 / (1 - WEIGHT) - sign * leverage);
    for (size_t k = 0; k < n; k++)
        t[k] *= scale;
    u->sign[u->used++] = sign;
    f->r->rejected[c->row] = c->reject;
    f->r->rejections += c->reject ? 1 : (size_t)-1;
}

static void apply_update(struct nt_robust *r, const struct update *u)
{
    size_t n = r->unknowns;
    for (size_t k = 0; k < n; k++) {
        for (size_t p = 0; p < u->used; p++) {
            const double *a = u->a + p * n;
            cblas_daxpy((int)(n - k), u->sign[p] * a[k], a + k, 1, r->inverse + k * n + k, 1);
        }
    }
    for (size_t k = 0; k < n; k++) {
        for (size_t l = k + 1; l < n; l++)
            r->inverse[l * n + k] = r->inverse[k * n + l];
    }
}

static int change_weights(struct fit *f, const struct change *list, size_t n, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct update u = {0};
    size_t least = f->rows->rows - (f->rows->rows - f->r->unknowns) / 2; /* half the freedom */
    for (size_t k = 0; k < n; k++) {
        if (list[k].reject && f->rows->rows - f->r->rejections <= least)
            break;
        if (update_reserve(&u, f->r->unknowns, &memory, err) != 0)
            return -1;
        change_weight(f, &u, &list[k]);
    }
    if (u.used > 0)
        apply_update(f->r, &u);
    return 0;
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

static int reject_outliers(struct fit *f, struct nt_err *err)
{
    int rc = 0;
    for (int round = 0; round < ROUNDS && rc == 0; round++) {
        size_t n = list_outliers(f, f->list);
        if (n == 0 && round > 0)
            break;
        rc = change_weights(f, f->list, n, err);
        solve_normal(f);
        find_leverages(f);
        find_sigma(f);
        if (f->r->freedom == 0)
            break;
        /* one that is still included would enlarge the sum of squares, and so hide itself and
         * others */
        f->scale = f->r->freedom < FREEDOM_LEAST ? fmax(f->r->sigma, f->least) : find_scale(f);
    }
    return rc;
}

static int fit_init(struct fit *f, struct nt_arena *memory, struct nt_err *err)
{
    size_t m = f->rows->rows, n = f->rows->columns;
    struct nt_robust *r = f->r;
    r->rows = m;
    r->unknowns = n;
    r->x = nt_arena_array(&r->memory, n, sizeof *r->x);
    r->residual = nt_arena_array(&r->memory, m, sizeof *r->residual);
    r->leverage = nt_arena_array(&r->memory, m, sizeof *r->leverage);
    r->rejected = nt_arena_array(&r->memory, m, sizeof *r->rejected);
    f->work = nt_arena_array(memory, m + n + 1, sizeof *f->work);
    f->list = nt_arena_array(memory, m + 1, sizeof *f->list);
    f->sizes = nt_arena_array(memory, m + 1, sizeof *f->sizes);
    return nt_arena_check(&r->memory, err) != 0 ? -1 : nt_arena_check(memory, err);
}

static int robust_fit(struct fit *f, struct nt_arena *memory, struct nt_err *err)
{
    if (fit_init(f, memory, err) != 0 || nt_normal_inverse(f->rows, &f->r->inverse, err) != 0)
        return -1;
    find_leverages(f);
    solve_normal(f);
    find_sigma(f);
    if (f->r->freedom == 0)
        return 0;
    for (size_t i = 0; i < f->rows->rows; i++)
        f->least = fmax(f->least, EXACT * fabs(f->measured[i]));
    if (f->r->sigma <= f->least) /* the noise is only rounding: there are no outliers to resist */
        return 0;
    huber_fit(f);
    return reject_outliers(f, err);
}

int nt_robust_fit(const struct nt_rows *rows, const double *measured, struct nt_robust **out,
                  struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct fit f = {.rows = rows, .measured = measured, .r = nt_object_create(sizeof *f.r, err)};
    if (f.r == NULL)
        return -1;
    int rc = robust_fit(&f, &memory, err);
    if (rc != 0) {
        nt_robust_destroy(f.r);
        return -1;
    }
    *out = f.r;
    return 0;
}
