/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "pair_ucx.h"
#include "stats.h"
#include "stress.h"
#include "workload.h"

/* KERNEL_BARRIER + k: step k of the barrier */
enum kernel_tag {
    KERNEL_MESSAGE = 0x40,
    KERNEL_TIME,
    KERNEL_CONTINUE,
    KERNEL_HELLO,
    KERNEL_BARRIER
};
enum { TIMES_MAX = 64, EXCHANGES = 3 };

struct kernel {
    struct nt_kernel_group group;
    ucp_ep_h ep[NT_KERNEL_GROUP_MAX];
    /* By participant: why its connection failed; UCS_OK: it did not */
    ucs_status_t failed[NT_KERNEL_GROUP_MAX];
    struct nt_program program;
    double compute_us;
    ucs_status_ptr_t *sent,
        *received; /* by message of the program; NULL: complete, or of other participants */
    double time_s[NT_KERNEL_GROUP_MAX]; /* on participant 0: duration of each participant */
};

/* ---- one request ---------------------------------------------------------------------------- */

static ucp_tag_t make_tag(const struct kernel *c, unsigned tag, size_t sender)
{
    return (ucp_tag_t)c->group.round << 32 | (ucp_tag_t)tag << 24 | sender;
}

static ucs_status_ptr_t send_to(struct nt_pair *pair, size_t to, unsigned tag, const void *data,
                                size_t bytes)
{
    struct kernel *c = pair->kernel;
    ucp_request_param_t param = {0};
    return ucp_tag_send_nbx(c->ep[to], data, bytes, make_tag(c, tag, c->group.self), &param);
}

static ucs_status_ptr_t receive_from(struct nt_pair *pair, size_t from, unsigned tag, void *data,
                                     size_t bytes)
{
    ucp_request_param_t param = {0};
    return ucp_tag_recv_nbx(pair->net->worker, data, bytes, make_tag(pair->kernel, tag, from),
                            UINT64_MAX, &param);
}

/* Waits for a request of the connection with a participant, and frees it. The failure of another
 * connection is no error: at the end each participant leaves when it hears from participant 0, some
 * before others. */
static int wait_with(struct nt_pair *pair, ucs_status_ptr_t *slot, size_t with, double deadline_s,
                     struct nt_err *err)
{
    const ucs_status_t *failed = &pair->kernel->failed[with];
    ucs_status_ptr_t request = *slot;
    struct pair_idle idle = {0};
    while (!nt_pair_request_done(request)) {
        if (*failed != UCS_OK)
            return nt_err_set(err, NT_ERR_SYSTEM, "kernel: %s", ucs_status_string(*failed));
        if (!nt_pair_step(pair, &idle, deadline_s))
            return nt_err_set(err, NT_ERR_SYSTEM, "kernel: a message did not arrive in time");
    }
    *slot = NULL;
    return nt_pair_wait(pair, request, deadline_s, "kernel", err);
}

static int exchange_byte(struct nt_pair *pair, size_t to, size_t from, unsigned tag,
                         double deadline_s, struct nt_err *err)
{
    unsigned char out = 1, in = 0;
    ucs_status_ptr_t receive = receive_from(pair, from, tag, &in, 1);
    ucs_status_ptr_t send = send_to(pair, to, tag, &out, 1);
    int rc = wait_with(pair, &send, to, deadline_s, err);
    if (rc == 0)
        rc = wait_with(pair, &receive, from, deadline_s, err);
    nt_pair_cancel(pair, send);
    nt_pair_cancel(pair, receive);
    return rc;
}

static int kernel_barrier(struct nt_pair *pair, double deadline_s, struct nt_err *err)
{
    size_t n = pair->kernel->group.n, self = pair->kernel->group.self;
    unsigned step = 0;
    for (size_t far = 1; far < n; far *= 2, step++)
        if (exchange_byte(pair, (self + far) % n, (self + n - far) % n, KERNEL_BARRIER + step,
                          deadline_s, err) != 0)
            return -1;
    return 0;
}

/* ---- the connections ------------------------------------------------------------------------ */

static void kernel_peer_failed(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    struct nt_pair *pair = arg;
    for (size_t k = 0; pair->kernel != NULL && k < pair->kernel->group.n; k++)
        if (pair->kernel->ep[k] == ep)
            pair->kernel->failed[k] = status;
}

static int open_endpoint(struct nt_pair *pair, size_t to, struct nt_err *err)
{
    struct kernel *c = pair->kernel;
    ucp_ep_h ep = NULL;
    if (c->ep[to] != NULL || to == c->group.self)
        return 0;
    ucs_status_t status =
        nt_pair_create_endpoint(pair, c->group.address[to], kernel_peer_failed, &ep);
    if (status != UCS_OK)
        return nt_err_set(err, NT_ERR_SYSTEM, "kernel: connect: %s", ucs_status_string(status));
    c->ep[to] = ep;
    return 0;
}

/* Opens the connections of the barrier, of the program, and between participant 0 and all others.
 * Both ends open each connection, because UCX connects its transports by an exchange that must not
 * be interrupted. */
static int open_endpoints(struct nt_pair *pair, struct nt_err *err)
{
    struct kernel *c = pair->kernel;
    size_t n = c->group.n, self = c->group.self;
    for (size_t far = 1; far < n; far *= 2)
        if (open_endpoint(pair, (self + far) % n, err) != 0 ||
            open_endpoint(pair, (self + n - far) % n, err) != 0)
            return -1;
    for (size_t m = 0; m < c->program.messages; m++) {
        size_t from = c->program.message[m].from, to = c->program.message[m].to;
        if ((from == self && open_endpoint(pair, to, err) != 0) ||
            (to == self && open_endpoint(pair, from, err) != 0))
            return -1;
    }
    for (size_t k = 0; k < (self == 0 ? n : 1); k++)
        if (open_endpoint(pair, k, err) != 0)
            return -1;
    return 0;
}

/* Exchanges a byte with each connected participant. */
static int exchange_hello(struct nt_pair *pair, double deadline_s, struct nt_err *err)
{
    struct kernel *c = pair->kernel;
    ucs_status_ptr_t sent[NT_KERNEL_GROUP_MAX] = {NULL}, received[NT_KERNEL_GROUP_MAX] = {NULL};
    unsigned char out = 1, in[NT_KERNEL_GROUP_MAX];
    int rc = 0;
    for (size_t k = 0; k < c->group.n; k++)
        if (c->ep[k] != NULL) {
            received[k] = receive_from(pair, k, KERNEL_HELLO, &in[k], 1);
            sent[k] = send_to(pair, k, KERNEL_HELLO, &out, 1);
        }
    for (size_t k = 0; k < c->group.n && rc == 0; k++)
        if (wait_with(pair, &sent[k], k, deadline_s, err) != 0 ||
            wait_with(pair, &received[k], k, deadline_s, err) != 0)
            rc = -1;
    for (size_t k = 0; k < c->group.n; k++) {
        nt_pair_cancel(pair, sent[k]);
        nt_pair_cancel(pair, received[k]);
    }
    return rc;
}

static int make_program(struct kernel *c, const struct nt_order *order, struct nt_err *err)
{
    struct nt_workload load = {.messages = order->count, .seed = NT_STRESS_SEED};
    if (nt_workload_parse(order->kernel, &load, err) != 0 ||
        nt_program_create(c->group.n, &load, &c->program, err) != 0)
        return -1;
    c->compute_us = load.compute_us;
    c->sent = calloc(c->program.messages + 1, sizeof *c->sent);
    c->received = calloc(c->program.messages + 1, sizeof *c->received);
    if (c->sent == NULL || c->received == NULL)
        return nt_err_memory(err);
    return 0;
}

int nt_pair_kernel_connect(struct nt_pair *pair, const struct nt_kernel_group *group,
                           const struct nt_order *order, double deadline_s, struct nt_err *err)
{
    pair->kernel = calloc(1, sizeof *pair->kernel);
    if (pair->kernel == NULL)
        return nt_err_memory(err);
    pair->kernel->group = *group;
    pair->peer_failed = UCS_OK;
    if (make_program(pair->kernel, order, err) != 0 ||
        nt_pair_reserve_buffer(pair, order, err) != 0 || open_endpoints(pair, err) != 0)
        return -1;
    for (int k = 0; k < EXCHANGES; k++)
        if (exchange_hello(pair, deadline_s, err) != 0)
            return -1;
    return kernel_barrier(pair, deadline_s, err);
}

void nt_pair_kernel_close(struct nt_pair *pair)
{
    struct kernel *c = pair->kernel;
    if (c == NULL)
        return;
    for (size_t k = 0; k < c->group.n; k++)
        nt_pair_close_endpoint(pair, &c->ep[k]);
    pair->kernel = NULL;
    nt_program_fini(&c->program);
    free(c->sent);
    free(c->received);
    free(c);
}

/* ---- a repetition --------------------------------------------------------------------------- */

/* Returns whether this participant sends or receives the message. Messages to oneself are no
 * traffic. The content does not matter: all messages share two buffers. */
static bool is_mine(const struct nt_message *m, size_t self, bool as_receiver)
{
    return m->from != m->to && (as_receiver ? m->to : m->from) == self;
}

static void post_receives(struct nt_pair *pair, size_t bytes)
{
    struct kernel *c = pair->kernel;
    for (size_t m = 0; m < c->program.messages; m++)
        if (is_mine(&c->program.message[m], c->group.self, true))
            c->received[m] = receive_from(pair, c->program.message[m].from, KERNEL_MESSAGE,
                                          nt_pair_slot(pair, 1), bytes);
}

/* Computes without progress on the network, as an application does. */
static void compute(double us, double deadline_s)
{
    double until = fmin(nt_clock_s() + us * 1e-6, deadline_s);
    while (nt_clock_s() < until)
        ;
}

static int run_program(struct nt_pair *pair, size_t bytes, double deadline_s, struct nt_err *err)
{
    struct kernel *c = pair->kernel;
    const struct nt_program *p = &c->program;
    for (uint32_t k = p->first[c->group.self]; k < p->first[c->group.self + 1]; k++) {
        if (p->op[k] == NT_PROGRAM_COMPUTE) {
            compute(c->compute_us, deadline_s);
            continue;
        }
        uint32_t m = p->op[k] / 2;
        bool wait = p->op[k] % 2 != 0;
        if (!is_mine(&p->message[m], c->group.self, wait))
            continue;
        if (wait && wait_with(pair, &c->received[m], p->message[m].from, deadline_s, err) != 0)
            return -1;
        if (!wait)
            c->sent[m] =
                send_to(pair, p->message[m].to, KERNEL_MESSAGE, nt_pair_slot(pair, 0), bytes);
    }
    for (size_t m = 0; m < p->messages; m++)
        if (wait_with(pair, &c->sent[m], p->message[m].to, deadline_s, err) != 0)
            return -1;
    return 0;
}

/* Frees the requests. A send in flight cannot be cancelled, and waiting for each would take too
 * long. */
static void drop_requests(struct nt_pair *pair)
{
    struct kernel *c = pair->kernel;
    for (size_t m = 0; m < c->program.messages; m++) {
        if (UCS_PTR_IS_PTR(c->sent[m])) {
            pair->unfinished = pair->unfinished || !nt_pair_request_done(c->sent[m]);
            ucp_request_free(c->sent[m]);
        }
        nt_pair_cancel(pair, c->received[m]);
        c->sent[m] = c->received[m] = NULL;
    }
}

static int collect_times(struct nt_pair *pair, double deadline_s, double *longest_s,
                         struct nt_err *err)
{
    struct kernel *c = pair->kernel;
    ucs_status_ptr_t request[NT_KERNEL_GROUP_MAX] = {NULL};
    int rc = 0;
    for (size_t k = 1; k < c->group.n; k++)
        request[k] = receive_from(pair, k, KERNEL_TIME, &c->time_s[k], sizeof c->time_s[k]);
    for (size_t k = 1; k < c->group.n && rc == 0; k++) {
        rc = wait_with(pair, &request[k], k, deadline_s, err);
        *longest_s = rc == 0 && c->time_s[k] > *longest_s ? c->time_s[k] : *longest_s;
    }
    for (size_t k = 1; k < c->group.n; k++)
        nt_pair_cancel(pair, request[k]);
    return rc;
}

static int send_continue(struct nt_pair *pair, unsigned char more, double deadline_s,
                         struct nt_err *err)
{
    for (size_t k = 1; k < pair->kernel->group.n; k++) {
        ucs_status_ptr_t request = send_to(pair, k, KERNEL_CONTINUE, &more, 1);
        int rc = wait_with(pair, &request, k, deadline_s, err);
        nt_pair_cancel(pair, request);
        if (rc != 0)
            return -1;
    }
    return 0;
}

static int receive_continue(struct nt_pair *pair, double mine_s, double deadline_s,
                            unsigned char *more, struct nt_err *err)
{
    ucs_status_ptr_t request = receive_from(pair, 0, KERNEL_CONTINUE, more, 1);
    ucs_status_ptr_t time = send_to(pair, 0, KERNEL_TIME, &mine_s, sizeof mine_s);
    int rc = wait_with(pair, &time, 0, deadline_s, err);
    if (rc == 0)
        rc = wait_with(pair, &request, 0, deadline_s, err);
    nt_pair_cancel(pair, time);
    nt_pair_cancel(pair, request);
    return rc;
}

static int run_repetition(struct nt_pair *pair, const struct nt_order *order, double deadline_s,
                          double *took_s, struct nt_err *err)
{
    size_t bytes = nt_pair_message_bytes(order);
    post_receives(pair, bytes);
    int rc = kernel_barrier(pair, deadline_s, err);
    double began = nt_clock_s();
    if (rc == 0)
        rc = run_program(pair, bytes, deadline_s, err);
    *took_s = nt_clock_s() - began;
    if (rc != 0)
        drop_requests(pair);
    return rc;
}

/* ---- the figures of the repetitions
 * --------------------------------------------------------------- */

/* Returns how many of the n sorted values may be omitted at each end so that the median is between
 * the others with a probability of at least 95 %. */
static size_t median_interval_cut(size_t n)
{
    double below = pow(0.5, (double)n), term = below;
    size_t k = 0;
    while (k + 1 < n / 2) {
        term *= (double)(n - k) / (double)(k + 1);
        if (2 * (below + term) > 0.05)
            break;
        below += term;
        k++;
    }
    return 2 * below > 0.05 ? 0 : k;
}

static void kernel_result(float *time_s, size_t n, const struct nt_order *order,
                          struct nt_result *result)
{
    double median_s = (double)nt_stats_median(time_s, n);
    size_t cut = median_interval_cut(n);
    *result = (struct nt_result){.ok = true,
                                 .value_us = median_s * 1e6,
                                 .median_us = (double)nt_stats_select(time_s, n, cut) * 1e6,
                                 .se_us = (double)nt_stats_select(time_s, n, n - 1 - cut) * 1e6,
                                 .count = (uint32_t)n,
                                 .bytes = order->message_bytes};
}

int nt_pair_kernel_run(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                       double deadline_s, struct nt_result *result, struct nt_err *err)
{
    float time_s[TIMES_MAX];
    double took_s;
    size_t n = 0, most = order->batches < TIMES_MAX ? order->batches : TIMES_MAX;
    if (pair->kernel == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "kernel: not connected");
    *result = (struct nt_result){.ok = true, .bytes = order->message_bytes};
    for (unsigned char more = 1; more != 0;) {
        if (run_repetition(pair, order, deadline_s, &took_s, err) != 0)
            return -1;
        if (pair->kernel->group.self != 0) {
            if (receive_continue(pair, took_s, deadline_s, &more, err) != 0)
                return -1;
            continue;
        }
        if (collect_times(pair, deadline_s, &took_s, err) != 0)
            return -1;
        time_s[n++] = (float)took_s;
        more = n < most && nt_clock_s() + 1.5 * took_s < soft_s;
        if (send_continue(pair, more, deadline_s, err) != 0)
            return -1;
    }
    if (n > 0)
        kernel_result(time_s, n, order, result);
    return 0;
}
