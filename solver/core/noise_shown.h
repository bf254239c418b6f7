/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates the noise of readings from their own standard errors: the median of their relative
 * standard errors.
 * Tests: test_sweep_prior.c. */
#ifndef NT_NOISE_SHOWN_H
#define NT_NOISE_SHOWN_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct nt_noise_shown {
    size_t count, capacity;
    uint32_t most_pings; /* largest number of pings per reading */
    struct {
        float relative;
        uint32_t pings;
    } * at; /* owned */
};

/* Adds a reading of us with standard error se_us. Readings without a standard error are ignored.
 * All zero: empty. */
int nt_noise_shown_note(struct nt_noise_shown *shown, double us, double se_us, uint32_t pings,
                        struct nt_err *err);

/* Relative standard deviation of a reading with most_pings pings; 0: unknown. Readings with fewer
 * than half of these pings are ignored. */
double nt_noise_shown(const struct nt_noise_shown *shown);

void nt_noise_shown_fini(struct nt_noise_shown *shown);

#endif
