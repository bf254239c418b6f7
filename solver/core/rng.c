/* SPDX-License-Identifier: Apache-2.0 */
#include "rng.h"

#include <math.h>

uint64_t nt_rng_next(struct nt_rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

double nt_rng_uniform(struct nt_rng *rng)
{
    return ((double)(nt_rng_next(rng) >> 11) + 0.5) * 0x1p-53;
}

size_t nt_rng_below(struct nt_rng *rng, size_t n)
{
    uint64_t limit = UINT64_MAX - UINT64_MAX % n; /* reject the uneven tail */
    uint64_t x;
    do {
        x = nt_rng_next(rng);
    } while (x >= limit);
    return (size_t)(x % n);
}

double nt_rng_normal(struct nt_rng *rng)
{
    double u = nt_rng_uniform(rng), v = nt_rng_uniform(rng);
    return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}

void nt_rng_shuffle(struct nt_rng *rng, uint32_t *values, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = nt_rng_below(rng, i);
        uint32_t t = values[i - 1];
        values[i - 1] = values[j];
        values[j] = t;
    }
}
