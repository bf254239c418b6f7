/* SPDX-License-Identifier: Apache-2.0 */
/* A deterministic stream of random numbers: splitmix64 (Steele, Lea, Flood, OOPSLA 2014, figure
 * 17). The seed is an argument, never the clock.
 * Tests: test_disturbed.c, test_latencies.c. */
#ifndef NT_RNG_H
#define NT_RNG_H

#include <stddef.h>
#include <stdint.h>

struct nt_rng {
    uint64_t state;
};

static inline void nt_rng_init(struct nt_rng *rng, uint64_t seed)
{
    rng->state = seed;
}

uint64_t nt_rng_next(struct nt_rng *rng);
double nt_rng_uniform(struct nt_rng *rng);         /* in (0, 1) */
size_t nt_rng_below(struct nt_rng *rng, size_t n); /* in [0, n), n > 0, without bias */
double nt_rng_normal(struct nt_rng *rng);          /* mean 0, sd 1 */
void nt_rng_shuffle(struct nt_rng *rng, uint32_t *values, size_t n);

#endif
