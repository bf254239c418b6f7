/* SPDX-License-Identifier: Apache-2.0 */
#include "pair_ping.h"

#include <math.h>

#include "clock.h"
#include "pair_batches.h"

/* With a core of its own a batch lasts at least this long. */
static const double MIN_BATCH_S = 100e-6;

/* The first byte of a message tells the answering end whether to expect another one. */
enum { LAST = 1, MORE = 2 };

static int ping_once(struct nt_pair *pair, size_t bytes, bool more, double deadline_s,
                     struct nt_err *err)
{
    unsigned char *out = nt_pair_slot(pair, 0), *in = nt_pair_slot(pair, 1);
    out[0] = more ? MORE : LAST;
    ucs_status_ptr_t pong = nt_pair_receive(pair, TAG_PONG, in, bytes);
    ucs_status_ptr_t ping = nt_pair_send(pair, TAG_PING, out, bytes);
    if (nt_pair_wait(pair, ping, deadline_s, "ping", err) != 0) {
        nt_pair_cancel(pair, pong);
        return -1;
    }
    return nt_pair_wait(pair, pong, deadline_s, "ping", err);
}

static int ping_initiate(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                         double deadline_s, struct nt_result *result, struct nt_err *err)
{
    struct nt_pair_batches batches = {0};
    size_t bytes = nt_pair_message_bytes(order), n = 0, begin = 0, batch = 0;
    double min_s = pair->spin_s > 0 ? MIN_BATCH_S : 0;
    double meet_by_s = fmin(pair->meet_by_s, deadline_s);
    double t = nt_clock_s(), began = t, trip = 0;
    for (bool more = true; more;) {
        /* this ping ends its batch? the clock is read once a ping: its cost is in the figure */
        bool full = n + 1 - begin >= order->count && t + trip - began >= min_s;
        more = t < soft_s && n + 1 < PAIR_TIMES_MAX && !(full && batch + 1 >= order->batches);
        if (ping_once(pair, bytes, more, n > 0 ? deadline_s : meet_by_s, err) != 0)
            return -1;
        double now = nt_clock_s();
        trip = now - t;
        pair->times[n++] = (float)trip;
        t = now;
        if (n == 1) /* it may have waited for the other end */
            pair->met_s = began = now;
        if (full || !more) {
            nt_pair_batch_add(&batches, pair->times + begin, n - begin);
            begin = n;
            batch++;
            began = t = nt_clock_s();
        }
    }
    result->count = (uint32_t)n;
    result->bytes = order->message_bytes;
    nt_pair_batch_result(pair->times, n, &batches, 1e6 / 2, result);
    return 0;
}

static int ping_respond(struct nt_pair *pair, const struct nt_order *order, double deadline_s,
                        struct nt_err *err)
{
    size_t bytes = nt_pair_message_bytes(order), k = 0;
    unsigned char *in[2] = {nt_pair_slot(pair, 0), nt_pair_slot(pair, 1)};
    unsigned char *out = nt_pair_slot(pair, 2);
    ucs_status_ptr_t ping = nt_pair_receive(pair, TAG_PING, in[k], bytes);
    double until_s = fmin(pair->meet_by_s, deadline_s);
    pair->met_s = 0;
    for (bool more = true; more; k ^= 1) {
        if (nt_pair_wait(pair, ping, until_s, "pong", err) != 0)
            return -1;
        until_s = deadline_s;
        if (pair->met_s == 0)
            pair->met_s = nt_clock_s();
        more = in[k][0] == MORE;
        ping = more ? nt_pair_receive(pair, TAG_PING, in[k ^ 1], bytes) : NULL;
        ucs_status_ptr_t pong = nt_pair_send(pair, TAG_PONG, out, bytes);
        if (nt_pair_wait(pair, pong, deadline_s, "pong", err) != 0) {
            nt_pair_cancel(pair, ping);
            return -1;
        }
    }
    return 0;
}

int nt_pair_ping(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                 double deadline_s, struct nt_result *result, struct nt_err *err)
{
    return pair->pairing.first ? ping_initiate(pair, order, soft_s, deadline_s, result, err)
                               : ping_respond(pair, order, deadline_s, err);
}
