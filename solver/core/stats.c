/* SPDX-License-Identifier: Apache-2.0 */
#include "stats.h"

#include <math.h>
#include <stdint.h>

#define COMPARE(name, number)                                                                      \
    int name(const void *a, const void *b)                                                         \
    {                                                                                              \
        const number *x = a, *y = b;                                                               \
        return (*x > *y) - (*x < *y);                                                              \
    }

COMPARE(nt_compare_floats, float)
COMPARE(nt_compare_doubles, double)
COMPARE(nt_compare_u32, uint32_t)
COMPARE(nt_compare_u64, uint64_t)

/* Narrows low..high until values[k] is the k-th smallest. */
static void select_between(float *values, size_t low, size_t high, size_t k)
{
    while (low < high) {
        if (high - low > 600) {
            /* between two values of a sample near this position */
            double n = (double)(high - low + 1), i = (double)(k - low + 1), z = log(n);
            double size = 0.5 * exp(2 * z / 3);
            double spread = 0.5 * sqrt(z * size * (n - size) / n) * (2 * i < n ? -1 : 1);
            double first = (double)k - i * size / n + spread, last = first + size;
            size_t from = first < (double)low ? low : (size_t)first;
            size_t to = last > (double)high ? high : (size_t)last;
            select_between(values, from, to, k);
        }
        /* each value is moved whether it is below the pivot or not: a branch would be guessed wrong
         * half of the time */
        float pivot = values[k];
        size_t below = low, same;
        values[k] = values[high];
        for (size_t i = low; i < high; i++) {
            float v = values[i];
            values[i] = values[below];
            values[below] = v;
            below += v < pivot;
        }
        values[high] = values[below];
        values[below] = pivot;
        same = below + 1;
        if (below == low) /* all equal values at once, since there may be many */
            for (size_t i = same; i <= high; i++) {
                float v = values[i];
                values[i] = values[same];
                values[same] = v;
                same += !(v > pivot);
            }
        if (k < below)
            high = below - 1;
        else if (k >= same)
            low = same;
        else
            return;
    }
}

float nt_stats_select(float *values, size_t n, size_t k)
{
    select_between(values, 0, n - 1, k);
    return values[k];
}

/* A few values are sorted faster than selected from. */
static void insert_sort(float *values, size_t n)
{
    for (size_t k = 1; k < n; k++) {
        float v = values[k];
        size_t p = k;
        for (; p > 0 && values[p - 1] > v; p--)
            values[p] = values[p - 1];
        values[p] = v;
    }
}

float nt_stats_median(float *values, size_t n)
{
    if (n == 0)
        return NAN;
    if (n <= 20) {
        insert_sort(values, n);
        return n % 2 == 1 ? values[n / 2] : 0.5f * (values[n / 2 - 1] + values[n / 2]);
    }
    float upper = nt_stats_select(values, n, n / 2);
    if (n % 2 == 1)
        return upper;
    float lower = values[0];
    for (size_t k = 1; k < n / 2; k++)
        lower = values[k] > lower ? values[k] : lower;
    return 0.5f * (lower + upper);
}

float nt_stats_quantile(float *values, size_t n, double q)
{
    double at = q * (double)(n - 1);
    size_t k = (size_t)at;
    float lower = nt_stats_select(values, n, k);
    if (k + 1 >= n)
        return lower;
    float upper = values[k + 1];
    for (size_t i = k + 2; i < n; i++)
        upper = values[i] < upper ? values[i] : upper;
    return lower + (float)(at - (double)k) * (upper - lower);
}

/* Selection by three-way partition (Dijkstra's flag): no sort. */
float nt_stats_weighted_median(struct nt_weighted *values, size_t n)
{
    double total = 0, below = 0;
    for (size_t k = 0; k < n; k++)
        total += (double)values[k].weight;
    size_t low = 0, high = n;
    while (high - low > 1) {
        float pivot = values[low + (high - low) / 2].value;
        size_t less = low, k = low, more = high;
        double weight_less = 0, weight_same = 0;
        while (k < more) { /* three parts: less, same, more */
            struct nt_weighted v = values[k];
            if (v.value < pivot) {
                weight_less += (double)v.weight;
                values[k++] = values[less];
                values[less++] = v;
            } else if (v.value > pivot) {
                values[k] = values[--more];
                values[more] = v;
            } else {
                weight_same += (double)v.weight;
                k++;
            }
        }
        if (2 * (below + weight_less) > total) {
            high = less;
        } else if (2 * (below + weight_less) == total && less > low) {
            /* half is reached exactly between the parts */
            float lower = values[low].value;
            for (size_t l = low; l < less; l++)
                lower = values[l].value > lower ? values[l].value : lower;
            return 0.5f * (lower + pivot);
        } else if (2 * (below + weight_less + weight_same) > total) {
            return pivot;
        } else {
            below += weight_less + weight_same;
            if (2 * below == total && more < high) {
                float upper = values[more].value;
                for (size_t l = more; l < high; l++)
                    upper = values[l].value < upper ? values[l].value : upper;
                return 0.5f * (pivot + upper);
            }
            if (more == high)
                return pivot;
            low = more;
        }
    }
    return n == 0 ? NAN : values[low].value;
}

float nt_stats_mad(float *values, size_t n)
{
    float middle = nt_stats_median(values, n);
    for (size_t k = 0; k < n; k++)
        values[k] = fabsf(values[k] - middle);
    return (float)NT_SD_OF_MEDIAN * nt_stats_median(values, n);
}

double nt_log_sum(double a, double b)
{
    double most = fmax(a, b), least = fmin(a, b);
    return isfinite(least) ? most + log1p(exp(least - most)) : most;
}

double nt_log_beta(double a, double b)
{
    return lgamma(a) + lgamma(b) - lgamma(a + b);
}

double nt_normal_cdf(double z)
{
    return 0.5 * erfc(-z * M_SQRT1_2);
}

double nt_normal_quantile(double p)
{
    /* erfc has no inverse in libm: bisect, it is called a few times a model */
    double low = -40, high = 40;
    for (int k = 0; k < 80; k++) {
        double middle = 0.5 * (low + high);
        if (nt_normal_cdf(middle) < p)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

double nt_student_quantile(double p, double df)
{
    /* Cornish-Fisher expansion (Abramowitz and Stegun 26.7.5), exact for 1 and 2 */
    if (df <= 1.5)
        return tan(M_PI * (p - 0.5));
    if (df <= 2.5)
        return (2 * p - 1) / sqrt(2 * p * (1 - p));
    double z = nt_normal_quantile(p), q = z * z;
    return z + z * (q + 1) / (4 * df) + z * ((5 * q + 16) * q + 3) / (96 * df * df) +
           z * (((3 * q + 19) * q + 17) * q - 15) / (384 * df * df * df);
}
