/* SPDX-License-Identifier: Apache-2.0 */
/* The transport below the measurements: UCX handles, tagged messages, the only wait with a
 * deadline, and rails, which are the network devices of this host.
 *
 * pair*.c are the only files that use UCX (1.13 or newer). pair.c connects and selects the kind of
 * measurement; it uses pair_measure.c and pair_kernel.c, and these use pair_ucx.c.
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

/* A UCX context with its worker. worker NULL: not open. */
struct pair_net {
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_address_t *address;
    size_t address_bytes;
    int event_fd;
};

struct pair_rail {
    char name[NT_UCX_NAME_BYTES];
    char transports[NT_PAIR_TRANSPORTS_BYTES]; /* transports that may use it, separated by commas */
    struct pair_net net;
};

/* Connections for later rounds, in addition to the kept ones. */
enum { PAIR_AHEAD_MAX = 16, PAIR_RESTING_MAX = NT_KEPT_MAX + PAIR_AHEAD_MAX };

/* A connection over home that no round uses at the moment. */
struct pair_resting {
    uint32_t peer;
    ucp_ep_h ep;         /* NULL: this entry is free */
    ucs_status_t failed; /* UCS_OK: it has not failed */
    bool ahead;          /* opened for a later round, unused so far */
};

struct nt_pair {
    struct pair_net home; /* over all devices that the environment allows */
    struct pair_net *net; /* in use: home, or the net of the round's rail */
    size_t rails;
    struct pair_rail rail[PAIR_RAILS_MAX];
    /* Transports of the first connection: "tcp/fab0,tcp/fab1"; "": not known */
    char used[NT_PAIR_USED_BYTES];
    ucp_ep_h home_peer; /* the connection over home while a rail is in use; otherwise NULL */
    double spin_s;      /* how long a wait spins before it sleeps */

    ucp_ep_h peer;            /* NULL: no connection */
    ucs_status_t peer_failed; /* UCS_OK: it has not failed */
    struct nt_pairing pairing;
    struct nt_kept kept; /* includes the connection in use if it was kept */
    struct pair_resting resting[PAIR_RESTING_MAX];
    bool paired;      /* a round with pairing.peer has started */
    bool unfinished;  /* a request of this connection was freed before it ended */
    bool left_behind; /* a connection with such a request was never closed */

    /* Messages in slots of stride bytes; freed only by nt_pair_destroy, so that a request that did
     * not end never uses freed memory */
    unsigned char *buffer;
    size_t buffer_bytes, stride;
    float *times;              /* PAIR_TIMES_MAX times in s */
    double first_message_by_s; /* deadline of the first ping (nt_clock_s) */
    double first_message_s;    /* when the first ping was answered or arrived */
    struct kernel *kernel;     /* state of a stress kernel (pair_kernel.c); NULL: none */
};

static inline size_t nt_pair_message_bytes(const struct nt_order *order)
{
    return order->message_bytes < 1 ? 1 : (size_t)order->message_bytes;
}

static inline unsigned char *nt_pair_slot(const struct nt_pair *pair, size_t i)
{
    return pair->buffer + i * pair->stride;
}

/* The purpose of a message. Part of the tag, so that messages of different rounds or purposes never
 * match. */
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

/* State of a wait without progress. Initialize with zeros. */
struct pair_idle {
    unsigned looks, woken;
    double since_s;
};

/* Progresses the network once, or sleeps until an event. Returns false after the deadline. */
bool nt_pair_step(struct nt_pair *pair, struct pair_idle *idle, double deadline_s);

bool nt_pair_request_done(ucs_status_ptr_t request);

/* Waits for a request (NULL: already complete) and frees it in every case. what: "ping", ..., for
 * the error. */
int nt_pair_wait(struct nt_pair *pair, ucs_status_ptr_t request, double deadline_s,
                 const char *what, struct nt_err *err);

/* Allocates buffers for a window of the order's messages, and writes to them so that no page fault
 * is timed. */
int nt_pair_reserve_buffer(struct nt_pair *pair, const struct nt_order *order, struct nt_err *err);

/* Closes a connection at once and sets *peer to NULL. */
void nt_pair_close_endpoint(struct nt_pair *pair, ucp_ep_h *peer);

/* Takes a connection to the partner that was kept or opened ahead into use. -1: there is none, or
 * it has failed. */
int nt_pair_take_resting(struct nt_pair *pair, struct nt_err *err);
bool nt_pair_is_ahead(struct nt_pair *pair, uint32_t peer);

/* Keeps *peer, a connection over home, for later rounds and sets *peer to NULL if there is room. */
void nt_pair_keep(struct nt_pair *pair, ucp_ep_h *peer);

/* Cancels and frees a request; does nothing for NULL. */
void nt_pair_cancel(struct nt_pair *pair, ucs_status_ptr_t request);

/* Opens a context over one device (NULL: all allowed ones), with a worker. */
int nt_pair_net_open(struct pair_net *net, const char *device, struct nt_err *err);
void nt_pair_net_close(struct pair_net *net);

/* Creates an endpoint over the net in use. failed is called with pair if the endpoint fails. */
ucs_status_t nt_pair_create_endpoint(struct nt_pair *pair, const void *address,
                                     ucp_err_handler_cb_t failed, ucp_ep_h *ep);

/* Creates the endpoint to the round's partner. */
int nt_pair_open_endpoint(struct nt_pair *pair, const void *address, struct nt_err *err);

/* ---- rails: UCX chooses devices for a whole context, so each rail has a context and a worker of
 * its own, made at the first request. Addresses are exchanged over the open connection, and
 * only those that a round needs ---- */
void nt_pair_find_rails(struct nt_pair *pair);
/* Stores the transports of the open connection in used, once. */
void nt_pair_find_used(struct nt_pair *pair);
/* Both partners call it: until nt_pair_close all messages use this device. */
int nt_pair_use_rail(struct nt_pair *pair, const char *name, double deadline_s, struct nt_err *err);
void nt_pair_close_rails(struct nt_pair *pair);

/* ---- measurements: nt_pair_measure has their arguments and results ---- */
/* Executes an order other than a kernel with the connected partner (pair_measure.c). */
int nt_pair_run_order(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                      double deadline_s, struct nt_result *result, struct nt_err *err);

/* A stress kernel, in which many hosts send at the same time. Only pair.c calls these functions.
 *
 * Every participant runs its own program (sim/kernels.h): sends do not block; a wait blocks until
 * that message has arrived. A repetition starts with a barrier over the measured network
 * (dissemination: participant i to i + 1, i + 2, i + 4, ..., Hensgen, Finkel, Manber 1988) and ends
 * for a participant with its program. Each participant sends its duration to participant 0, which
 * takes the longest and decides whether to repeat. */
/* Connects to all participants that this one communicates with, and waits until all of them answer.
 * After an error the caller still calls nt_pair_close. */
int nt_pair_kernel_connect(struct nt_pair *pair, const struct nt_kernel_group *group,
                           const struct nt_order *order, double deadline_s, struct nt_err *err);

/* Runs the repetitions; none starts after soft_s. On participant 0, *result is the completion time:
 * value_us: its median; median_us and se_us: the ends of the median's 95 % confidence interval
 * (order statistics; the lowest and the highest for fewer than six repetitions); count:
 * repetitions; bytes: per message. The other participants only report that they took part. */
int nt_pair_kernel_run(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                       double deadline_s, struct nt_result *result, struct nt_err *err);

/* Called by nt_pair_close. */
void nt_pair_kernel_close(struct nt_pair *pair);

#endif
