#include "pair_crowd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pair_ucx.h"
#include "program.h"
#include "stress.h"

/* CROWD_BARRIER + k: the barrier's step k */
enum crowd_tag { CROWD_MESSAGE = 0x40, CROWD_TIME, CROWD_VERDICT, CROWD_HELLO, CROWD_BARRIER };
enum { TIMES_MAX = 64, EXCHANGES = 3 };

struct crowd {
    struct nt_crowd who;
    ucp_ep_h ep[NT_CROWD_MAX];
    ucs_status_t died[NT_CROWD_MAX]; /* why the connection with each is over; UCS_OK */
    struct nt_program program;
    ucs_status_ptr_t *sent, *received; /* program.messages of them; NULL: done, or not mine */
    double time_s[NT_CROWD_MAX];       /* that each took, on participant 0 */
};

/* ---- one request ---------------------------------------------------------------------------- */

static ucp_tag_t make_tag(const struct crowd *c, unsigned tag, size_t sender)
{
    return (ucp_tag_t)c->who.round << 32 | (ucp_tag_t)tag << 24 | sender;
}

static ucs_status_ptr_t send_to(struct nt_pair *pair, size_t to, unsigned tag, const void *data,
                                size_t bytes)
{
    struct crowd *c = pair->crowd;
    ucp_request_param_t param = {0};
    return ucp_tag_send_nbx(c->ep[to], data, bytes, make_tag(c, tag, c->who.self), &param);
}

static ucs_status_ptr_t receive_from(struct nt_pair *pair, size_t from, unsigned tag, void *data,
                                     size_t bytes)
{
    ucp_request_param_t param = {0};
    return ucp_tag_recv_nbx(pair->net->worker, data, bytes, make_tag(pair->crowd, tag, from),
                            UINT64_MAX, &param);
}

/* Finishes the request with a participant and forgets it. Another who is gone has what he came for:
 * at the end each leaves as soon as he has heard so, and the others hear it after him. */
static int finish(struct nt_pair *pair, ucs_status_ptr_t *slot, size_t with, double deadline_s,
                  struct nt_err *err)
{
    const ucs_status_t *died = &pair->crowd->died[with];
    ucs_status_ptr_t request = *slot;
    struct pair_idle idle = {0};
    while (!nt_pair_request_done(request)) {
        if (*died != UCS_OK)
            return nt_err_set(err, NT_ERR_SYSTEM, "kernel: %s", ucs_status_string(*died));
        if (!nt_pair_step(pair, &idle, deadline_s))
            return nt_err_set(err, NT_ERR_SYSTEM, "kernel: no message in time");
    }
    *slot = NULL;
    return nt_pair_wait(pair, request, deadline_s, "kernel", err);
}

static int talk(struct nt_pair *pair, size_t to, size_t from, unsigned tag, double deadline_s,
                struct nt_err *err)
{
    unsigned char out = 1, in = 0;
    ucs_status_ptr_t receive = receive_from(pair, from, tag, &in, 1);
    ucs_status_ptr_t send = send_to(pair, to, tag, &out, 1);
    int rc = finish(pair, &send, to, deadline_s, err);
    if (rc == 0)
        rc = finish(pair, &receive, from, deadline_s, err);
    nt_pair_cancel(pair, send);
    nt_pair_cancel(pair, receive);
    return rc;
}

static int barrier(struct nt_pair *pair, double deadline_s, struct nt_err *err)
{
    size_t n = pair->crowd->who.n, self = pair->crowd->who.self;
    unsigned step = 0;
    for (size_t far = 1; far < n; far *= 2, step++)
        if (talk(pair, (self + far) % n, (self + n - far) % n, CROWD_BARRIER + step, deadline_s,
                 err) != 0)
            return -1;
    return 0;
}

/* ---- the crowd ------------------------------------------------------------------------------ */

static void peer_died(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    struct nt_pair *pair = arg;
    for (size_t k = 0; pair->crowd != NULL && k < pair->crowd->who.n; k++)
        if (pair->crowd->ep[k] == ep)
            pair->crowd->died[k] = status;
}

static int reach(struct nt_pair *pair, size_t to, struct nt_err *err)
{
    struct crowd *c = pair->crowd;
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = c->who.address[to],
        .err_mode = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler = {peer_died, pair},
    };
    ucp_ep_h ep = NULL;
    if (c->ep[to] != NULL || to == c->who.self)
        return 0;
    ucs_status_t status = ucp_ep_create(pair->net->worker, &params, &ep);
    if (status != UCS_OK)
        return nt_err_set(err, NT_ERR_SYSTEM, "kernel: connect: %s", ucs_status_string(status));
    c->ep[to] = ep;
    return 0;
}

/* Those of the barrier, of the program, and participant 0 with everyone; each from both ends, as
 * UCX wires up by an exchange and must not be interrupted in it. */
static int reach_all(struct nt_pair *pair, struct nt_err *err)
{
    struct crowd *c = pair->crowd;
    size_t n = c->who.n, self = c->who.self;
    for (size_t far = 1; far < n; far *= 2)
        if (reach(pair, (self + far) % n, err) != 0 || reach(pair, (self + n - far) % n, err) != 0)
            return -1;
    for (size_t m = 0; m < c->program.messages; m++) {
        size_t from = c->program.message[m].from, to = c->program.message[m].to;
        if ((from == self && reach(pair, to, err) != 0) ||
            (to == self && reach(pair, from, err) != 0))
            return -1;
    }
    for (size_t k = 0; k < (self == 0 ? n : 1); k++)
        if (reach(pair, k, err) != 0)
            return -1;
    return 0;
}

/* A byte to and from everyone that this participant is connected with. */
static int exchange(struct nt_pair *pair, double deadline_s, struct nt_err *err)
{
    struct crowd *c = pair->crowd;
    ucs_status_ptr_t sent[NT_CROWD_MAX] = {NULL}, received[NT_CROWD_MAX] = {NULL};
    unsigned char out = 1, in[NT_CROWD_MAX];
    int rc = 0;
    for (size_t k = 0; k < c->who.n; k++)
        if (c->ep[k] != NULL) {
            received[k] = receive_from(pair, k, CROWD_HELLO, &in[k], 1);
            sent[k] = send_to(pair, k, CROWD_HELLO, &out, 1);
        }
    for (size_t k = 0; k < c->who.n && rc == 0; k++)
        if (finish(pair, &sent[k], k, deadline_s, err) != 0 ||
            finish(pair, &received[k], k, deadline_s, err) != 0)
            rc = -1;
    for (size_t k = 0; k < c->who.n; k++) {
        nt_pair_cancel(pair, sent[k]);
        nt_pair_cancel(pair, received[k]);
    }
    return rc;
}

static int make_program(struct crowd *c, const struct nt_order *order, struct nt_err *err)
{
    struct nt_workload load = {.messages = order->count, .seed = NT_STRESS_SEED};
    if (nt_workload_parse(order->kernel, &load, err) != 0 ||
        nt_program_create(c->who.n, &load, &c->program, err) != 0)
        return -1;
    c->sent = calloc(c->program.messages + 1, sizeof *c->sent);
    c->received = calloc(c->program.messages + 1, sizeof *c->received);
    if (c->sent == NULL || c->received == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "kernel: out of memory");
    return 0;
}

int nt_crowd_connect(struct nt_pair *pair, const struct nt_crowd *crowd,
                     const struct nt_order *order, double deadline_s, struct nt_err *err)
{
    nt_pair_close(pair);
    pair->crowd = calloc(1, sizeof *pair->crowd);
    if (pair->crowd == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "kernel: out of memory");
    pair->crowd->who = *crowd;
    pair->peer_died = UCS_OK;
    if (make_program(pair->crowd, order, err) != 0 || nt_pair_make_room(pair, order, err) != 0 ||
        reach_all(pair, err) != 0)
        return -1;
    for (int k = 0; k < EXCHANGES; k++)
        if (exchange(pair, deadline_s, err) != 0)
            return -1;
    return barrier(pair, deadline_s, err);
}

void nt_crowd_close(struct nt_pair *pair)
{
    struct crowd *c = pair->crowd;
    if (c == NULL)
        return;
    for (size_t k = 0; k < c->who.n; k++)
        nt_pair_close_endpoint(pair, &c->ep[k]);
    pair->crowd = NULL;
    nt_program_fini(&c->program);
    free(c->sent);
    free(c->received);
    free(c);
}

/* ---- a repetition --------------------------------------------------------------------------- */

/* Messages to oneself are no traffic. The content does not matter: all share two buffers. */
static bool is_mine(const struct nt_message *m, size_t self, bool as_receiver)
{
    return m->from != m->to && (as_receiver ? m->to : m->from) == self;
}

static void expect(struct nt_pair *pair, size_t bytes)
{
    struct crowd *c = pair->crowd;
    for (size_t m = 0; m < c->program.messages; m++)
        if (is_mine(&c->program.message[m], c->who.self, true))
            c->received[m] = receive_from(pair, c->program.message[m].from, CROWD_MESSAGE,
                                          nt_pair_slot(pair, 1), bytes);
}

static int play(struct nt_pair *pair, size_t bytes, double deadline_s, struct nt_err *err)
{
    struct crowd *c = pair->crowd;
    const struct nt_program *p = &c->program;
    for (uint32_t k = p->first[c->who.self]; k < p->first[c->who.self + 1]; k++) {
        uint32_t m = p->op[k] / 2;
        bool wait = p->op[k] % 2 != 0;
        if (!is_mine(&p->message[m], c->who.self, wait))
            continue;
        if (wait && finish(pair, &c->received[m], p->message[m].from, deadline_s, err) != 0)
            return -1;
        if (!wait)
            c->sent[m] =
                send_to(pair, p->message[m].to, CROWD_MESSAGE, nt_pair_slot(pair, 0), bytes);
    }
    for (size_t m = 0; m < p->messages; m++)
        if (finish(pair, &c->sent[m], p->message[m].to, deadline_s, err) != 0)
            return -1;
    return 0;
}

/* What is on its way cannot be called back, and waiting for each would take too long. */
static void drop_all(struct nt_pair *pair)
{
    struct crowd *c = pair->crowd;
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
    struct crowd *c = pair->crowd;
    ucs_status_ptr_t request[NT_CROWD_MAX] = {NULL};
    int rc = 0;
    for (size_t k = 1; k < c->who.n; k++)
        request[k] = receive_from(pair, k, CROWD_TIME, &c->time_s[k], sizeof c->time_s[k]);
    for (size_t k = 1; k < c->who.n && rc == 0; k++) {
        rc = finish(pair, &request[k], k, deadline_s, err);
        *longest_s = rc == 0 && c->time_s[k] > *longest_s ? c->time_s[k] : *longest_s;
    }
    for (size_t k = 1; k < c->who.n; k++)
        nt_pair_cancel(pair, request[k]);
    return rc;
}

static int tell_verdict(struct nt_pair *pair, unsigned char more, double deadline_s,
                        struct nt_err *err)
{
    for (size_t k = 1; k < pair->crowd->who.n; k++) {
        ucs_status_ptr_t request = send_to(pair, k, CROWD_VERDICT, &more, 1);
        int rc = finish(pair, &request, k, deadline_s, err);
        nt_pair_cancel(pair, request);
        if (rc != 0)
            return -1;
    }
    return 0;
}

static int hear_verdict(struct nt_pair *pair, double mine_s, double deadline_s, unsigned char *more,
                        struct nt_err *err)
{
    ucs_status_ptr_t verdict = receive_from(pair, 0, CROWD_VERDICT, more, 1);
    ucs_status_ptr_t time = send_to(pair, 0, CROWD_TIME, &mine_s, sizeof mine_s);
    int rc = finish(pair, &time, 0, deadline_s, err);
    if (rc == 0)
        rc = finish(pair, &verdict, 0, deadline_s, err);
    nt_pair_cancel(pair, time);
    nt_pair_cancel(pair, verdict);
    return rc;
}

static int repeat(struct nt_pair *pair, const struct nt_order *order, double deadline_s,
                  double *took_s, struct nt_err *err)
{
    size_t bytes = order->message_bytes < 1 ? 1 : (size_t)order->message_bytes;
    expect(pair, bytes);
    int rc = barrier(pair, deadline_s, err);
    double began = nt_clock_s();
    if (rc == 0)
        rc = play(pair, bytes, deadline_s, err);
    *took_s = nt_clock_s() - began;
    if (rc != 0)
        drop_all(pair);
    return rc;
}

/* ---- what the repetitions say --------------------------------------------------------------- */

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* How many of the n sorted values may be left out at each end: the median lies between the others
 * with at least 95 %. */
static size_t trim(size_t n)
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

static void conclude(double *time_s, size_t n, const struct nt_order *order,
                     struct nt_result *result)
{
    qsort(time_s, n, sizeof *time_s, rising);
    size_t cut = trim(n);
    *result = (struct nt_result){.ok = true,
                                 .value_us = nt_pair_quantile(time_s, n, 0.5) * 1e6,
                                 .median_us = time_s[cut] * 1e6,
                                 .se_us = time_s[n - 1 - cut] * 1e6,
                                 .count = (uint32_t)n,
                                 .bytes = order->message_bytes};
}

int nt_crowd_run(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                 double deadline_s, struct nt_result *result, struct nt_err *err)
{
    double time_s[TIMES_MAX], took_s;
    size_t n = 0, most = order->batches < TIMES_MAX ? order->batches : TIMES_MAX;
    if (pair->crowd == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "kernel: not connected");
    *result = (struct nt_result){.ok = true, .bytes = order->message_bytes};
    for (unsigned char more = 1; more != 0;) {
        if (repeat(pair, order, deadline_s, &took_s, err) != 0)
            return -1;
        if (pair->crowd->who.self != 0) {
            if (hear_verdict(pair, took_s, deadline_s, &more, err) != 0)
                return -1;
            continue;
        }
        if (collect_times(pair, deadline_s, &took_s, err) != 0)
            return -1;
        time_s[n++] = took_s;
        more = n < most && nt_clock_s() + 1.5 * took_s < soft_s;
        if (tell_verdict(pair, more, deadline_s, err) != 0)
            return -1;
    }
    if (n > 0)
        conclude(time_s, n, order, result);
    return 0;
}
