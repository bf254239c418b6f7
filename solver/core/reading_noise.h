/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates the noise of readings from their own standard errors: the median of their relative
 * standard errors.
 * Tests: test_sweep_prior.c. */
#ifndef NT_READING_NOISE_H
#define NT_READING_NOISE_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct nt_reading_noise {
    size_t count, capacity;
    uint32_t most_pings; /* largest number of pings per reading */
    struct {
        float relative;
        uint32_t pings;
    } * at; /* owned */
};

/* Adds a reading of us with standard error se_us. Readings without a standard error are ignored.
 * All zero: empty. */
int nt_reading_noise_note(struct nt_reading_noise *shown, double us, double se_us, uint32_t pings,
                          struct nt_err *err);

/* Relative standard deviation of a reading with most_pings pings; 0: unknown. Readings with fewer
 * than half of these pings are ignored. */
double nt_reading_noise_sd(const struct nt_reading_noise *shown);

void nt_reading_noise_fini(struct nt_reading_noise *shown);

#endif
