/* SPDX-License-Identifier: Apache-2.0 */
/* How often readings are disturbed, and so how many passes over all pairs it takes.
 *
 * What shares a host, a link or the whole machine only ever adds to a latency. The lowest of
 * several readings of a pair is right as long as one of them was not disturbed; when all were, the
 * pair is too long. The share of readings that are well above their pair's lowest tells how likely
 * that is: with a share q of them and k readings of a pair, q^k.
 *
 * What slows one host or its link down for a time does so for all that is read of it meanwhile, so
 * that those readings are not independent. Where the readings of a host's pairs that can tell are
 * all well above their lowest from one moment to another, pairs that were read in that time alone
 * are counted themselves. */
#ifndef NT_DISTURBED_H
#define NT_DISTURBED_H

#include "err.h"
#include "latencies.h"

enum { NT_DISTURBED_READINGS_MAX = 12 }; /* of a pair, in either direction: the first ones count */

struct nt_disturbed {
    double share; /* how likely a reading is to be disturbed, from those a tenth or more above the
                     lowest of their pair that another one agrees with (the lowest of all, where
                     none agrees); 0: none known */
    double pairs; /* of those that were read, how many are to be expected to have disturbed readings
                     alone: by the share, or those counted, whichever is more */
};

/* All 0 of more than NT_LATENCIES_LISTED_HOSTS hosts. Time and memory: readings and pairs. */
int nt_disturbed_find(const struct nt_latencies *latencies, struct nt_disturbed *out,
                      struct nt_err *err);

#endif
