/* SPDX-License-Identifier: Apache-2.0 */
/* This host's end of the measured network: one partner at a time, measured by tagged messages.
 *
 * pair*.c are the only files that know UCX (1.13 or newer). Every wait has a deadline: a hung
 * peer or a dead link gives no UCX error for half a minute. Deadlines are points on the
 * monotonic clock (clock.h). Not thread safe.
 * Tests: test_prtt_hold.c, test_pair_rounds.c. */
#ifndef NT_PAIR_H
#define NT_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "pairing.h"

struct nt_pair;

int nt_pair_create(struct nt_pair **out, struct nt_err *err);
void nt_pair_destroy(struct nt_pair *pair);

/* The network devices that UCX may use here, in its order: names that an order's rail may have.
 * Returns how many; names live as long as the pair. */
size_t nt_pair_rails(const struct nt_pair *pair, const char *names[NT_PAIR_RAILS_MAX]);

/* Calls found for each transport on each network device that UCX may use here. */
void nt_pair_each_rail(const struct nt_pair *pair,
                       void (*found)(void *context, const char *transport, const char *device),
                       void *context);

/* The transports that may use a rail, with commas between; borrowed. */
const char *nt_pair_transports(const struct nt_pair *pair, size_t rail);

/* What the first measured connection went over, "tcp/fab0,tcp/fab1"; "": there was none. Borrowed.
 */
const char *nt_pair_used(const struct nt_pair *pair);

/* This host's address, for the partners; valid as long as the pair. */
const void *nt_pair_address(const struct nt_pair *pair, size_t *bytes);

/* own: this process has a core to itself, so waiting may spin. Otherwise (and at first) every
 * wait sleeps: probes that spin on shared cores measure the scheduler. */
void nt_pair_set_own_core(struct nt_pair *pair, bool own);

/* Makes the connection, and the memory that the order needs. *round_trip_s: of the last of a few
 * untimed messages, so that both ends are there. NULL: not for a rail, and none are exchanged: the
 * first ping waits for the other end, and for the transports, until deadline_s. After an error
 * nt_pair_close is still due. */
int nt_pair_connect(struct nt_pair *pair, const struct nt_pairing *pairing,
                    const struct nt_order *order, double deadline_s, double *round_trip_s,
                    struct nt_err *err);

/* Begins to connect with the partner of a later round, which must not be kept; nt_pair_connect goes
 * on with it. Says nothing when that is not possible: nt_pair_connect begins then. */
void nt_pair_connect_ahead(struct nt_pair *pair, const struct nt_pairing *pairing);

/* Takes down what was begun so and no round has used. */
void nt_pair_drop_ahead(struct nt_pair *pair);

/* The same with all participants of a stress kernel. */
int nt_pair_connect_group(struct nt_pair *pair, const struct nt_kernel_group *group,
                          const struct nt_order *order, double deadline_s, struct nt_err *err);

/* Does the order with the connected partner, or the connected group. At soft_s the first end stops
 * and says what it has (an error when it is nothing); at deadline_s either end fails. The first
 * end's *result counts:
 *
 * latency    value_us: lowest tenth of the half round trips; se_us: from the spread of the batches'
 *            own lowest tenths; median_us; count: pings; bytes: of a message
 *
 * bandwidth  value_us: from the first send to the final acknowledgement; bytes: all carried
 *
 * prtt       value_us: lowest tenth of order->batches repetitions of PRTT(n, d, s) (Lichei 2006,
 *            section 3.2.1): n messages of s bytes, d between the end of one send and the next, one
 *            message of s bytes back; se_us: between the lowest two of four parts of the
 *            repetitions; median_us of it; count: n; bytes: s. For hold_us after the last send the
 *            first end looks at nothing; then its end is where the times begin, and repetitions
 *            whose answer came after the hold are dropped (none left: count 0)
 *
 * In every batch of a latency order there are at least order->count pings and, with a core of its
 * own, at least MIN_BATCH_S of them: on a fast network more pings cost nothing. */
int nt_pair_measure(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                    double deadline_s, struct nt_result *result, struct nt_err *err);

/* When the other end was first heard of in the pings last measured. */
double nt_pair_met_s(const struct nt_pair *pair);

/* Takes the kept connection with this peer down, if there is one: it is lost. */
void nt_pair_forget(struct nt_pair *pair, uint32_t peer);

/* Whether the round's connection is sound, so that a later round may use it. Those of a rail and of
 * a kernel are for one round; the one that a rail's began with is not. */
bool nt_pair_can_keep(const struct nt_pair *pair);

/* Ends the round; nothing is left pending. keep: the connection stays for a later round
 * (pairing.h); only after nt_pair_can_keep. Else it is taken down at once. */
void nt_pair_close(struct nt_pair *pair, bool keep);

#endif
