/* SPDX-License-Identifier: Apache-2.0 */
/* The transport under the measurements: UCX handles, tagged messages, the one wait with a deadline,
 * and rails, which are the network devices of this host.
 *
 * pair*.c are the only files that know UCX (1.13 or newer), and they include one way: pair.c
 * (connects, and chooses the kind of measurement), under it pair_measure.c and pair_kernel.c, under
 * all of them this.
 * Tests: test_prtt_hold.c, test_pair_rounds.c, bats/loggp.bats. */
#ifndef NT_PAIR_UCX_H
#define NT_PAIR_UCX_H

#include <stdbool.h>
#include <stddef.h>
#include <ucp/api/ucp.h>

#include "err.h"
#include "pairing.h"
#include "ucx_text.h"

enum {
    PAIR_UNTIMED_BYTES = NT_PING_BYTES,
    PAIR_WINDOW_MAX = 16,
    PAIR_SLOTS = PAIR_WINDOW_MAX + 2,
    PAIR_TIMES_MAX = 65536
};

enum { PAIR_RAILS_MAX = NT_PAIR_RAILS_MAX, PAIR_RAIL_ADDRESS_MAX = 16384 };

/* A context with its worker. worker NULL: not open. */
struct pair_net {
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_address_t *address;
    size_t address_bytes;
    int event_fd;
};

struct pair_rail {
    char name[NT_UCX_NAME_BYTES];
    char transports[NT_PAIR_TRANSPORTS_BYTES]; /* that may use it, with commas between */
    struct pair_net net;
};

/* Of rounds to come, beside those that are kept. */
enum { PAIR_AHEAD_MAX = 16, PAIR_RESTING_MAX = NT_KEPT_MAX + PAIR_AHEAD_MAX };

/* A connection of home that no round uses. */
struct pair_resting {
    uint32_t peer;
    ucp_ep_h ep;         /* NULL: this place is free */
    ucs_status_t failed; /* UCS_OK: it did not */
    bool ahead;          /* no round has used it yet */
};

struct nt_pair {
    struct pair_net home; /* over all devices that the environment allows */
    struct pair_net *net; /* in use: home, or that of the round's rail */
    size_t rails;
    struct pair_rail rail[PAIR_RAILS_MAX];
    char used[NT_PAIR_USED_BYTES]; /* by the first connection: "tcp/fab0,tcp/fab1"; "": not known */
    ucp_ep_h home_peer;            /* the connection of home while a rail's is in use; else NULL */
    double spin_s;                 /* how long a wait looks at the network before it sleeps */

    ucp_ep_h peer;            /* NULL: no connection */
    ucs_status_t peer_failed; /* UCS_OK: it did not */
    struct nt_pairing pairing;
    struct nt_kept kept; /* that of the round is among them when it was there before */
    struct pair_resting resting[PAIR_RESTING_MAX];
    bool paired;      /* a round with pairing.peer has begun */
    bool unfinished;  /* a request of this connection did not end when it was let go */
    bool left_behind; /* such a connection was never closed */

    unsigned char *buffer; /* slots of stride bytes: messages; lives until destroy, so that a
                              request which could not be finished never touches freed memory */
    size_t buffer_bytes, stride;
    float *times;          /* PAIR_TIMES_MAX, s */
    double meet_by_s;      /* when the first of the pings is to be answered, or to arrive, */
    double met_s;          /* and when it was */
    struct kernel *kernel; /* of a stress kernel (pair_kernel.c); NULL: none */
};

static inline size_t nt_pair_message_bytes(const struct nt_order *order)
{
    return order->message_bytes < 1 ? 1 : (size_t)order->message_bytes;
}

static inline unsigned char *nt_pair_slot(const struct nt_pair *pair, size_t i)
{
    return pair->buffer + i * pair->stride;
}

/* What a message is for; part of the tag, so that rounds and purposes never mix. */
enum pair_tag {
    TAG_CONNECT = 1,
    TAG_PING,
    TAG_PONG,
    TAG_FLOW,
    TAG_FLOW_ACK,
    TAG_FLOW_END,
    TAG_FLOW_DONE,
    TAG_RAIL_SIZE,
    TAG_RAIL,
};

ucs_status_ptr_t nt_pair_send(struct nt_pair *pair, enum pair_tag tag, const void *data,
                              size_t bytes);
ucs_status_ptr_t nt_pair_receive(struct nt_pair *pair, enum pair_tag tag, void *data, size_t bytes);

/* How long nothing has happened. Start with zeros. */
struct pair_idle {
    unsigned looks, woken;
    double since_s;
};

/* Looks at the network once, or sleeps until something happens. False: the deadline has passed. */
bool nt_pair_step(struct nt_pair *pair, struct pair_idle *idle, double deadline_s);

bool nt_pair_request_done(ucs_status_ptr_t request);

/* Finishes a request (NULL: already finished). what: "ping", ... for the error. The request is
 * gone afterwards in every case. */
int nt_pair_wait(struct nt_pair *pair, ucs_status_ptr_t request, double deadline_s,
                 const char *what, struct nt_err *err);

/* Enough room for a window of the order's messages, touched so that no page fault is timed. */
int nt_pair_reserve_buffer(struct nt_pair *pair, const struct nt_order *order, struct nt_err *err);

/* Closes at once; *peer is NULL afterwards. */
void nt_pair_close_endpoint(struct nt_pair *pair, ucp_ep_h *peer);

/* Takes the connection with the partner that was kept, or begun ahead, into use; an error when it
 * is not there, or has failed since. */
int nt_pair_take_resting(struct nt_pair *pair, struct nt_err *err);
bool nt_pair_is_ahead(struct nt_pair *pair, uint32_t peer);

/* Keeps *peer, of home, for later rounds; *peer is NULL afterwards. */
void nt_pair_keep(struct nt_pair *pair, ucp_ep_h *peer);

/* Cancels and frees a request; NULL: nothing. */
void nt_pair_cancel(struct nt_pair *pair, ucs_status_ptr_t request);

/* A context over one device (NULL: all that are allowed), with a worker. */
int nt_pair_net_open(struct pair_net *net, const char *device, struct nt_err *err);
void nt_pair_net_close(struct pair_net *net);

/* An endpoint of the net in use to the address; failed is called with pair when it fails. */
ucs_status_t nt_pair_create_endpoint(struct nt_pair *pair, const void *address,
                                     ucp_err_handler_cb_t failed, ucp_ep_h *ep);

/* The same for the round's partner. */
int nt_pair_open_endpoint(struct nt_pair *pair, const void *address, struct nt_err *err);

/* ---- rails: UCX chooses devices for a whole context, so each rail has a context and a worker of
 * its own, made at the first request. Addresses are exchanged over the open connection, and
 * only those that a round needs ---- */
void nt_pair_find_rails(struct nt_pair *pair);
/* Finds the devices of the open connection, once. */
void nt_pair_find_used(struct nt_pair *pair);
/* With the connected partner, which does the same: from now to nt_pair_close everything goes over
 * this device. */
int nt_pair_use_rail(struct nt_pair *pair, const char *name, double deadline_s, struct nt_err *err);
void nt_pair_close_rails(struct nt_pair *pair);

/* ---- measurements: nt_pair_measure has their arguments and results ---- */
/* pair_measure.c: of the connected partner, but for a kernel. */
int nt_pair_run_order(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                      double deadline_s, struct nt_result *result, struct nt_err *err);

/* A stress kernel, in which many hosts send at once. Only pair.c calls these.
 *
 * Every participant runs its own program (sim/kernels.h): sends do not block, a wait blocks until
 * that message is there. A repetition starts with a barrier over the measured network
 * (dissemination: participant i to i + 1, i + 2, i + 4, ..., Hensgen, Finkel, Manber 1988) and
 * ends for a participant with its program. Its time goes to participant 0, which takes the longest
 * and decides whether there is another repetition. */
/* Connects with everyone that this participant sends to, and waits until all of them answer.
 * After an error nt_pair_close is still due. */
int nt_pair_kernel_connect(struct nt_pair *pair, const struct nt_kernel_group *group,
                           const struct nt_order *order, double deadline_s, struct nt_err *err);

/* Runs the repetitions, none begun after soft_s. On participant 0 *result is the completion time:
 * value_us its median, median_us and se_us the ends of its 95 % interval (order statistics; of
 * fewer than six repetitions the lowest and the highest), count: repetitions; bytes: of a message.
 * The others only report that they took part. */
int nt_pair_kernel_run(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                       double deadline_s, struct nt_result *result, struct nt_err *err);

/* Called by nt_pair_close. */
void nt_pair_kernel_close(struct nt_pair *pair);

#endif
