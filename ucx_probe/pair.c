/* SPDX-License-Identifier: Apache-2.0 */
#include "pair.h"

#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "clock.h"
#include "pair_ucx.h"
#include "resent.h"

enum {
    PREEMPTIONS = 3,       /* in one measurement: then another process uses this core */
    UNTIMED_EXCHANGES = 2, /* the first exchange connects the transports */
};

/* On an own core a wait spins for this long before it sleeps. */
static const double SPIN_S = 0.01;

static int exchange_untimed(struct nt_pair *pair, double deadline_s, struct nt_err *err)
{
    unsigned char *out = nt_pair_slot(pair, 0), *in = nt_pair_slot(pair, 1);
    ucs_status_ptr_t receive = nt_pair_receive(pair, TAG_CONNECT, in, PAIR_UNTIMED_BYTES);
    if (!pair->pairing.first && nt_pair_wait(pair, receive, deadline_s, "connect", err) != 0)
        return -1;
    int rc = nt_pair_wait(pair, nt_pair_send(pair, TAG_CONNECT, out, PAIR_UNTIMED_BYTES),
                          deadline_s, "connect", err);
    if (!pair->pairing.first)
        return rc;
    if (rc != 0) {
        nt_pair_cancel(pair, receive);
        return -1;
    }
    return nt_pair_wait(pair, receive, deadline_s, "connect", err);
}

static int connect_exchange(struct nt_pair *pair, int exchanges, double deadline_s,
                            double *round_trip_s, struct nt_err *err)
{
    double before = 0;
    for (int k = 0; k < exchanges; k++) {
        before = nt_clock_s();
        if (exchange_untimed(pair, deadline_s, err) != 0)
            return -1;
    }
    *round_trip_s = nt_clock_s() - before;
    return 0;
}

static int open_or_take(struct nt_pair *pair, struct nt_err *err)
{
    if (pair->pairing.kept || nt_pair_is_ahead(pair, pair->pairing.peer))
        return nt_pair_take_resting(pair, err);
    nt_pair_forget(pair, pair->pairing.peer);
    return nt_pair_open_endpoint(pair, pair->pairing.address, err);
}

int nt_pair_connect(struct nt_pair *pair, const struct nt_pairing *pairing,
                    const struct nt_order *order, double deadline_s, double *round_trip_s,
                    struct nt_err *err)
{
    nt_pair_close(pair, false);
    pair->pairing = *pairing;
    pair->paired = true;
    if (nt_pair_reserve_buffer(pair, order, err) != 0 || open_or_take(pair, err) != 0)
        return -1;
    pair->first_message_by_s = round_trip_s == NULL ? deadline_s : INFINITY;
    if (round_trip_s == NULL)
        return 0;
    int exchanges = pairing->kept ? 1 : UNTIMED_EXCHANGES;
    if (connect_exchange(pair, exchanges, deadline_s, round_trip_s, err) != 0)
        return -1;
    if (order->rail[0] == '\0')
        return 0;
    if (nt_pair_use_rail(pair, order->rail, deadline_s, err) != 0)
        return -1;
    return connect_exchange(pair, UNTIMED_EXCHANGES, deadline_s, round_trip_s, err);
}

int nt_pair_connect_group(struct nt_pair *pair, const struct nt_kernel_group *group,
                          const struct nt_order *order, double deadline_s, struct nt_err *err)
{
    nt_pair_close(pair, false);
    return nt_pair_kernel_connect(pair, group, order, deadline_s, err);
}

bool nt_pair_can_keep(const struct nt_pair *pair)
{
    return (pair->home_peer != NULL || pair->peer != NULL) && !pair->unfinished &&
           pair->peer_failed == UCS_OK;
}

void nt_pair_close(struct nt_pair *pair, bool keep)
{
    ucp_ep_h *home = pair->home_peer != NULL ? &pair->home_peer : &pair->peer;
    nt_pair_kernel_close(pair);
    if (*home != NULL && keep && !pair->unfinished)
        nt_pair_keep(pair, home);
    else if (pair->paired)
        nt_pair_forget(pair, pair->pairing.peer);
    nt_pair_close_endpoint(pair, &pair->peer);
    pair->net = &pair->home;
    nt_pair_close_endpoint(pair, &pair->home_peer);
    pair->unfinished = pair->paired = false;
}

/* Returns how often the scheduler preempted this thread. */
static long preemptions(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

int nt_pair_measure(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                    double deadline_s, struct nt_result *result, struct nt_err *err)
{
    if (order->kind == NT_ORDER_KERNEL)
        return nt_pair_kernel_run(pair, order, soft_s, deadline_s, result, err);
    long before = preemptions();
    struct nt_resent sent = nt_resent_read();
    int rc = nt_pair_run_order(pair, order, soft_s, deadline_s, result, err);
    sent = nt_resent_since(sent, nt_resent_read());
    if (rc == 0 && order->rail[0] == '\0')
        nt_pair_find_used(pair);
    result->sent[0].segments = (uint32_t)(sent.segments < UINT32_MAX ? sent.segments : UINT32_MAX);
    result->sent[0].again = (uint32_t)(sent.again < UINT32_MAX ? sent.again : UINT32_MAX);
    /* this process does not have the core to itself, whatever the greetings showed: spinning would
     * measure the scheduler */
    if (pair->spin_s > 0 && preemptions() - before >= PREEMPTIONS)
        pair->spin_s = 0;
    return rc;
}

/* ---- life ---- */
int nt_pair_create(struct nt_pair **out, struct nt_err *err)
{
    struct nt_pair *pair = calloc(1, sizeof *pair);
    if (pair == NULL)
        return nt_err_memory(err);
    pair->net = &pair->home;
    pair->times = calloc(PAIR_TIMES_MAX, sizeof *pair->times);
    if (pair->times == NULL)
        nt_err_memory(err);
    else if (nt_pair_net_open(&pair->home, NULL, err) == 0) {
        nt_pair_find_rails(pair);
        *out = pair;
        return 0;
    }
    nt_pair_destroy(pair);
    return -1;
}

void nt_pair_destroy(struct nt_pair *pair)
{
    if (pair == NULL)
        return;
    nt_pair_close(pair, false);
    nt_pair_drop_ahead(pair);
    while (pair->kept.n > 0)
        nt_pair_forget(pair, pair->kept.peer[0]);
    if (pair->left_behind)
        return; /* leaks everything that UCX may still access */
    nt_pair_close_rails(pair);
    nt_pair_net_close(&pair->home);
    free(pair->buffer);
    free(pair->times);
    free(pair);
}

const void *nt_pair_address(const struct nt_pair *pair, size_t *bytes)
{
    *bytes = pair->home.address_bytes;
    return pair->home.address;
}

void nt_pair_set_own_core(struct nt_pair *pair, bool own)
{
    pair->spin_s = own ? SPIN_S : 0;
}

double nt_pair_first_message_s(const struct nt_pair *pair)
{
    return pair->first_message_s;
}

const char *nt_pair_used(const struct nt_pair *pair)
{
    return pair->used;
}

const char *nt_pair_transports(const struct nt_pair *pair, size_t rail)
{
    return pair->rail[rail].transports;
}

size_t nt_pair_rails(const struct nt_pair *pair, const char *names[NT_PAIR_RAILS_MAX])
{
    for (size_t k = 0; k < pair->rails; k++)
        names[k] = pair->rail[k].name;
    return pair->rails;
}
