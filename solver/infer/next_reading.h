/* SPDX-License-Identifier: Apache-2.0 */
/* What the next reading of two hosts says of their lowest.
 *
 * A group of two hosts is known from their one latency, the lowest of their readings. Where there
 * is such a group, the next reading is above it by as much as those of other pairs are above theirs
 * (exponential: readings are late, see min_latency.h). Where there is none and the lowest reading
 * is wrong, the next one is the usual lowest: near the latency of the hosts' other pairs.
 * Tests: test_next_reading.c. */
#ifndef NT_NEXT_READING_H
#define NT_NEXT_READING_H

#include <stddef.h>

#include "work.h"

/* ln of the likelihood of the next reading of hosts a and b (of the input) when they are a group,
 * by near_us nearer than other pairs, over that when their lowest reading is wrong. At most 2: what
 * made one reading wrong may have lasted. sd_us: of a latency. 0: too few readings, or over 64
 * hosts. */
double nt_next_reading_ln(const struct nt_work *w, uint32_t a, uint32_t b, double near_us,
                          double sd_us);

/* How many times the usual variance the lowest reading of hosts a and b (of the input), us, has by
 * their own repeats; at least 1, and 1 where those say nothing. Needs noise.repeats of w. */
double nt_next_reading_variance(const struct nt_work *w, uint32_t a, uint32_t b, double us);

#endif
