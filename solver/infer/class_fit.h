/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the classes of latencies of a network: the components of a one-dimensional mixture.
 *
 * In a network of tiers the latency of a pair depends on the lowest tier above both hosts, so the
 * logarithms of all latencies form a few peaks. The width of a peak comes from the noise of a
 * reading and from differences between hosts: sd^2 = noise^2 + (spread / mean)^2. The fit uses
 * expectation-maximisation (Dempster, Laird, Rubin 1977) with uniform outliers, starting from the
 * peaks of a kernel density. It then removes classes that increase the log likelihood by less than
 * ln(values) + 4 (similar to Schwarz 1978).
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
    double mean[NT_CLASSES_MAX];   /* ln us, ascending */
    double weight[NT_CLASSES_MAX]; /* share of the readings; the sum is 1 */
    double noise;                  /* relative sd of one reading */
    double spread_us;              /* sd between pairs of one class in addition to noise */
    double outliers;               /* share of the readings */
    double low_share;              /* share of outliers that are too low */
};

/* value[n], n > 0: logarithms of latencies in us, each with the relative sd noise > 0; sorts them.
 * Sets out->noise to noise; a caller whose single readings have a larger sd changes it. */
int nt_classes_fit(double *value, size_t n, double noise, double outliers, struct nt_classes *out,
                   struct nt_err *err);

/* Relative sd of one reading of class c. */
double nt_classes_sd(const struct nt_classes *classes, size_t c);

/* Log-likelihood ratio of one reading: the best class up to level against the best class above it,
 * limited to -7 (a high reading may always be an outlier) and +12. 0 if there is no class above. */
double nt_classes_llr(const struct nt_classes *classes, double ln, size_t level);

/* The nearest class. *sds (may be NULL): distance of the reading from it in sd. */
size_t nt_classes_nearest(const struct nt_classes *classes, double ln, double *sds);

/* The smallest difference in us between two latencies that would become two classes. */
double nt_classes_resolution_us(const struct nt_classes *classes);

/* The smallest distance of two neighbouring classes in sd of one reading; infinite for one
 * class. */
double nt_classes_gap_sds(const struct nt_classes *classes);

/* ---- noise and classes from pairs that were read twice -----------------------------------------
 *
 * Two readings that differ by more than 4.5 sd contain an outlier and are not used for the
 * classes. */

struct nt_double_reading {
    uint32_t a, b;
    float first, second; /* ln us; NaN: no reading */
};

struct nt_calibration {
    size_t seats, count;
    struct nt_double_reading *at; /* count elements; borrowed */
    double noise;                 /* relative sd of one reading */
    double outliers;              /* share of readings */
    /* Pairs that were read and are not neighbours in the order of seats; set with the classes */
    size_t random_pairs;
};

/* Adds all readings to ledger and finds the classes. NT_ERR_INPUT: too few pairs were read
 * twice. */
int nt_calibration_classes(struct nt_calibration *calibration, struct nt_readings *ledger,
                           struct nt_classes *classes, struct nt_err *err);

/* Whether the pair was read twice and both readings agree. Valid after nt_calibration_classes. */
bool nt_calibration_agrees(const struct nt_calibration *calibration,
                           const struct nt_double_reading *twice);

#endif
