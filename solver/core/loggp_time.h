/* SPDX-License-Identifier: Apache-2.0 */
/* Times of messages by the LogGP model. regime[regimes], regimes > 0: the entries of one class of
 * paths on one rail, by rising size.
 * Tests: test_rails.c, test_loggp_fit.c. */
#ifndef NT_LOGGP_TIME_H
#define NT_LOGGP_TIME_H

#include <stdbool.h>
#include <stddef.h>

#include "map.h"

/* The rail of an entry if the transport selected among several devices. */
#define NT_LOGGP_ALL_RAILS "all"

/* Index of the regime for a message of this size. Sizes that were not measured get the nearest
 * regime. */
size_t nt_loggp_regime(const struct nt_loggp *regime, size_t regimes, double bytes);

/* Whether the size is within the measured sizes. */
bool nt_loggp_is_measured(const struct nt_loggp *regime, size_t regimes, double bytes);

/* Time of a message, one way: o_send + L + o_recv + (s - 1) G, in us. An unknown L or overhead is
 * below its standard error and counts as 0. */
double nt_loggp_time_us(const struct nt_loggp *regime, size_t regimes, double bytes);

/* Time for which a message occupies the sender's network device: g + (s - 1) gap, in us, an unknown
 * g counts as 0. NaN: no trains of messages were measured. */
double nt_loggp_gap_us(const struct nt_loggp *regime, size_t regimes, double bytes);

#endif
