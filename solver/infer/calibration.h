/* SPDX-License-Identifier: Apache-2.0 */
/* The noise and the classes of latencies, from pairs that were read twice.
 *
 * Two readings that disagree by more than 4.5 sd show an outlier and are not used for the classes.
 * Tests: test_slow_hosts.c. */
#ifndef NT_CALIBRATION_H
#define NT_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "class_fit.h"
#include "err.h"
#include "readings.h"

struct nt_double_reading {
    uint32_t a, b;
    float first, second; /* ln us; NaN: no reading */
};

struct nt_calibration {
    size_t seats, count;
    struct nt_double_reading *at; /* count of them; owned */
    double noise;                 /* relative sd of one reading, */
    double outliers;              /* share of readings, */
    size_t random_pairs; /* that were read and are no neighbours in the order of seats: once the
                            classes are known */
};

/* Room for so many pairs; none is there yet. */
int nt_calibration_init(struct nt_calibration *calibration, size_t seats, size_t pairs,
                        struct nt_err *err);
void nt_calibration_fini(struct nt_calibration *calibration);

/* All readings into the ledger, and the classes. NT_ERR_INPUT when hardly any pair was read twice.
 */
int nt_calibration_classes(struct nt_calibration *calibration, struct nt_readings *ledger,
                           struct nt_classes *classes, struct nt_err *err);

/* After that: whether the pair was read twice and both readings agree. */
bool nt_calibration_agrees(const struct nt_calibration *calibration,
                           const struct nt_double_reading *twice);

#endif
