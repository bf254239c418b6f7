/* SPDX-License-Identifier: Apache-2.0 */
/* What a LogGP says of a message: regimes of one class of paths over one rail, sizes rising.
 * Tests: test_rails.c, test_loggp_fit.c. */
#ifndef NT_LOGGP_TIME_H
#define NT_LOGGP_TIME_H

#include <stdbool.h>
#include <stddef.h>

#include "map.h"

/* The rail of an entry for which the transport chose among several devices. */
#define NT_LOGGP_ALL_RAILS "all"

/* Which regime holds for a message of so many bytes; the nearest one outside the measured sizes.
 * regimes > 0, here and below. */
size_t nt_loggp_regime(const struct nt_loggp *regime, size_t regimes, double bytes);

/* Whether the size is among those that were measured. */
bool nt_loggp_is_measured(const struct nt_loggp *regime, size_t regimes, double bytes);

/* The time of a message, one way: o_send + L + o_recv + (s - 1) G. What is unknown of the first
 * three is below its error and counts as 0. */
double nt_loggp_time_us(const struct nt_loggp *regime, size_t regimes, double bytes);

/* The time for which a message keeps the sender's network: g + (s - 1) gap, g as above. NaN: no
 * trains were measured. */
double nt_loggp_gap_us(const struct nt_loggp *regime, size_t regimes, double bytes);

#endif
