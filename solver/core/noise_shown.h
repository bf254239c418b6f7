/* SPDX-License-Identifier: Apache-2.0 */
/* The noise that readings show by themselves: the middle of their relative standard errors.
 * Tests: test_sweep_prior.c. */
#ifndef NT_NOISE_SHOWN_H
#define NT_NOISE_SHOWN_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct nt_noise_shown {
    size_t count, capacity;
    uint32_t most_pings; /* of a reading */
    struct {
        float relative;
        uint32_t pings;
    } * at; /* owned */
};

/* A reading without a standard error does not count. All zero: empty. */
int nt_noise_shown_note(struct nt_noise_shown *shown, double us, double se_us, uint32_t pings,
                        struct nt_err *err);

/* Of a reading of most pings; readings of less than half of those do not count. 0: not known. */
double nt_noise_shown(const struct nt_noise_shown *shown);

void nt_noise_shown_fini(struct nt_noise_shown *shown);

#endif
