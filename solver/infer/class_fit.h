/* SPDX-License-Identifier: Apache-2.0 */
/* Which latencies a network has: the classes of a one-dimensional mixture.
 *
 * In a network of tiers the latency of a pair depends on the lowest tier that both hosts are under,
 * so that the logarithms of all latencies form a few peaks. A peak is as wide as one reading's
 * noise and the difference between hosts make it: sd^2 = noise^2 + (spread / mean)^2. Fitted by
 * expectation and maximisation (Dempster, Laird, Rubin 1977) from the peaks of a kernel density on,
 * with uniform outliers; classes are then taken away while they gain less likelihood than
 * ln(values) + 4 (near to Schwarz 1978).
 * Tests: test_slow_hosts.c, test_adaptive_parts.c. */
#ifndef NT_CLASS_FIT_H
#define NT_CLASS_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "readings.h"

enum { NT_CLASSES_MAX = 12 };

struct nt_classes {
    size_t count;                  /* 1 .. NT_CLASSES_MAX */
    double mean[NT_CLASSES_MAX];   /* ln us, rising */
    double weight[NT_CLASSES_MAX]; /* shares, sum 1 */
    double noise;                  /* relative sd of one reading */
    double spread_us;              /* sd between pairs of one class beyond noise */
    double outliers;               /* share of readings that are wrong */
    double low_share;              /* of those, how many are too low */
};

/* value[n] (n > 0; is sorted) are logarithms of latencies in us, each with the relative sd noise
 * (> 0). Leaves out->noise as given: a caller whose single readings are wider sets it. */
int nt_classes_fit(double *value, size_t n, double noise, double outliers, struct nt_classes *out,
                   struct nt_err *err);

/* The relative sd of one reading in class c. */
double nt_classes_sd(const struct nt_classes *classes, size_t c);

/* Evidence of one reading: ln of the likelihood of the best class up to `level` over that of the
 * best one above it, within -7 (a slow reading may always be an outlier) and +12. 0 when there is
 * no class above. */
double nt_classes_llr(const struct nt_classes *classes, double ln, size_t level);

/* The nearest class; *sds (may be NULL) by how many sd the reading is off it. */
size_t nt_classes_nearest(const struct nt_classes *classes, double ln, double *sds);

/* The smallest difference between two latencies that would have become two classes, us. */
double nt_classes_resolution_us(const struct nt_classes *classes);

/* The smallest distance of two neighbouring classes in sd of one reading; infinite for one. */
double nt_classes_gap_sds(const struct nt_classes *classes);

/* ---- noise and classes from pairs that were read twice -----------------------------------------
 *
 * Two readings that disagree by more than 4.5 sd show an outlier and are not used for the classes.
 */

struct nt_double_reading {
    uint32_t a, b;
    float first, second; /* ln us; NaN: no reading */
};

struct nt_calibration {
    size_t seats, count;
    struct nt_double_reading *at; /* count of them; borrowed */
    double noise;                 /* relative sd of one reading, */
    double outliers;              /* share of readings, */
    size_t random_pairs; /* that were read and are no neighbours in the order of seats: once the
                            classes are known */
};

/* All readings into the ledger, and the classes. NT_ERR_INPUT when hardly any pair was read twice.
 */
int nt_calibration_classes(struct nt_calibration *calibration, struct nt_readings *ledger,
                           struct nt_classes *classes, struct nt_err *err);

/* After that: whether the pair was read twice and both readings agree. */
bool nt_calibration_agrees(const struct nt_calibration *calibration,
                           const struct nt_double_reading *twice);

#endif
