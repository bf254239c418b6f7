/* SPDX-License-Identifier: Apache-2.0 */
/* This host's end of the measured network: connects to one partner at a time and measures with
 * tagged messages. pair*.c are the only files that use UCX (1.13 or newer). Does not decide which
 * pairs are measured.
 *
 * Every wait has a deadline, because UCX reports no error for half a minute if a peer hangs or a
 * link is down. Deadlines are times of the monotonic clock (clock.h). Not thread-safe.
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

/* Lists the network devices that UCX may use on this host, in UCX's order. The rail of an order is
 * one of these names. Returns their number; the names are valid as long as the pair. */
size_t nt_pair_rails(const struct nt_pair *pair, const char *names[NT_PAIR_RAILS_MAX]);

/* Calls found for each transport on each network device that UCX may use on this host. */
void nt_pair_each_rail(const struct nt_pair *pair,
                       void (*found)(void *context, const char *transport, const char *device),
                       void *context);

/* Returns the transports that may use a rail, separated by commas; borrowed. */
const char *nt_pair_transports(const struct nt_pair *pair, size_t rail);

/* Returns the transports and devices of the first measured connection, "tcp/fab0,tcp/fab1"; "":
 * none yet. Borrowed. */
const char *nt_pair_used(const struct nt_pair *pair);

/* Returns this host's address for its partners; valid as long as the pair. */
const void *nt_pair_address(const struct nt_pair *pair, size_t *bytes);

/* own: this process has a core to itself, so that waiting may spin. Otherwise, and initially, every
 * wait sleeps: probes that spin on shared cores measure the scheduler. */
void nt_pair_set_own_core(struct nt_pair *pair, bool own);

/* Connects to the partner and allocates the buffers that the order needs. *round_trip_s: duration
 * in s of the last of a few untimed exchanges, which show that both ends are connected. NULL: not
 * for a rail; no untimed exchange takes place, and the first ping waits for the other end and for
 * the transports until deadline_s. After an error the caller still calls nt_pair_close. */
int nt_pair_connect(struct nt_pair *pair, const struct nt_pairing *pairing,
                    const struct nt_order *order, double deadline_s, double *round_trip_s,
                    struct nt_err *err);

/* Starts to connect to the partner of a later round; there must be no kept connection to it.
 * nt_pair_connect uses the connection. Ignores errors; then nt_pair_connect starts again. */
void nt_pair_connect_ahead(struct nt_pair *pair, const struct nt_pairing *pairing);

/* Closes connections of nt_pair_connect_ahead that no round has used. */
void nt_pair_drop_ahead(struct nt_pair *pair);

/* Connects to the participants of a stress kernel. */
int nt_pair_connect_group(struct nt_pair *pair, const struct nt_kernel_group *group,
                          const struct nt_order *order, double deadline_s, struct nt_err *err);

/* Executes the order with the connected partner or group. At soft_s the first end stops and returns
 * its results so far (an error if there are none); at deadline_s either end fails. Only the first
 * end's *result is used:
 *
 *   latency    value_us: lowest tenth of the half round trips; se_us: from the spread of the
 *              batches' own lowest tenths; median_us; count: pings; bytes: per message
 *
 *   bandwidth  value_us: number of messages times the interval between arrivals in the middle of
 *              the flow, but little less than the time from the first send to the final
 *              acknowledgement; bytes: all messages
 *
 *   prtt       value_us: lowest tenth of order->batches repetitions of PRTT(n, d, s) (Lichei 2006,
 *              section 3.2.1): n messages of s bytes, d between the end of one send and the next,
 *              then one message of s bytes back; se_us: difference between the lowest two of four
 *              parts of the repetitions; median_us; count: n; bytes: s. With hold_us the first end
 *              makes no progress for that time after the last send. Its times then begin at the end
 *              of the hold, and repetitions whose answer arrived later are dropped (count 0: all)
 *
 * Every batch of a latency order contains at least order->count pings and, on an own core, takes at
 * least MIN_BATCH_S: on a fast network more pings cost nothing. */
int nt_pair_measure(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                    double deadline_s, struct nt_result *result, struct nt_err *err);

/* Returns when the first message of the other end arrived in the last pings (nt_clock_s). */
double nt_pair_first_message_s(const struct nt_pair *pair);

/* Closes the kept connection to this peer, if there is one, because the peer is lost. */
void nt_pair_forget(struct nt_pair *pair, uint32_t peer);

/* Returns whether a later round may use this round's connection. Connections over a rail or of a
 * kernel last one round; the connection over which a rail was set up can be kept. */
bool nt_pair_can_keep(const struct nt_pair *pair);

/* Ends the round; no request stays pending. keep: keep the connection for a later round
 * (pairing.h); allowed only after nt_pair_can_keep. Otherwise closes it at once. */
void nt_pair_close(struct nt_pair *pair, bool keep);

#endif
