#include "pair.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "pair_crowd.h"
#include "pair_ucx.h"

enum {
    PREEMPTIONS = 3, /* in one measurement: somebody else uses this core */
    WARM_EXCHANGES = 3,
    WARM_BYTES = 8,
    BUFFER_MAX = 256 * 1024 * 1024
};

/* Waits that end within this on a core of our own cost no sleep; longer ones leave the core. */
static const double SPIN_S = 0.01;

/* ---- the one way to wait ---- */
bool nt_pair_step(struct nt_pair *pair, struct pair_idle *idle, double deadline_s)
{
    if (ucp_worker_progress(pair->net->worker) != 0) {
        idle->since_s = 0;
        return true;
    }
    /* reading the clock costs as much as a look at the network */
    if (pair->spin_s > 0 && ++idle->looks % 8 != 0)
        return true;
    double now = nt_clock_s();
    if (now > deadline_s)
        return false;
    if (pair->spin_s > 0) {
        if (idle->since_s <= 0)
            idle->since_s = now;
        if (now - idle->since_s < pair->spin_s)
            return true;
    }
    if (ucp_worker_arm(pair->net->worker) == UCS_ERR_BUSY)
        return true;
    struct pollfd fd = {pair->net->event_fd, POLLIN, 0};
    poll(&fd, 1, nt_clock_left_ms(deadline_s));
    return true;
}

bool nt_pair_request_done(ucs_status_ptr_t request)
{
    return !UCS_PTR_IS_PTR(request) || ucp_request_check_status(request) != UCS_INPROGRESS;
}

/* Progresses for a moment so that a cancelled or broken request can end. Freeing it then is right
 * in any case: UCX keeps what is still in flight, and the buffers outlive the worker. Where one of
 * a window did not end the others will not either, and waiting for each would make this end late
 * for its report. */
static void let_go(struct nt_pair *pair, ucs_status_ptr_t request)
{
    double until = nt_clock_s() + (pair->unfinished ? 0 : 0.02);
    while (!nt_pair_request_done(request) && nt_clock_s() < until)
        ucp_worker_progress(pair->net->worker);
    pair->unfinished = pair->unfinished || !nt_pair_request_done(request);
    ucp_request_free(request);
}

void nt_pair_cancel(struct nt_pair *pair, ucs_status_ptr_t request)
{
    if (!UCS_PTR_IS_PTR(request))
        return;
    if (!nt_pair_request_done(request))
        ucp_request_cancel(pair->net->worker, request);
    let_go(pair, request);
}

int nt_pair_wait(struct nt_pair *pair, ucs_status_ptr_t request, double deadline_s,
                 const char *what, struct nt_err *err)
{
    ucs_status_t status = UCS_PTR_STATUS(request);
    if (!UCS_PTR_IS_PTR(request))
        return status == UCS_OK
                   ? 0
                   : nt_err_set(err, NT_ERR_SYSTEM, "%s: %s", what, ucs_status_string(status));
    struct pair_idle idle = {0};
    while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) {
        bool late = !nt_pair_step(pair, &idle, deadline_s);
        /* a killed peer calls the error callback but leaves our receive pending */
        if (!late && pair->peer_died == UCS_OK)
            continue;
        if (nt_pair_request_done(request))
            continue;
        status = late ? UCS_ERR_TIMED_OUT : pair->peer_died;
        nt_pair_cancel(pair, request);
        return nt_err_set(err, NT_ERR_SYSTEM, "%s: %s", what,
                          late ? "no answer in time" : ucs_status_string(status));
    }
    ucp_request_free(request);
    if (status != UCS_OK)
        return nt_err_set(err, NT_ERR_SYSTEM, "%s: %s", what, ucs_status_string(status));
    return 0;
}

/* ---- messages ---- */
static ucp_tag_t make_tag(const struct nt_meeting *m, enum pair_tag tag, uint32_t sender)
{
    return (ucp_tag_t)m->round << 32 | (ucp_tag_t)tag << 24 | (sender & 0xffffff);
}

ucs_status_ptr_t nt_pair_send(struct nt_pair *pair, enum pair_tag tag, const void *data,
                              size_t bytes)
{
    ucp_request_param_t param = {0};
    return ucp_tag_send_nbx(pair->peer, data, bytes,
                            make_tag(&pair->meeting, tag, pair->meeting.self), &param);
}

ucs_status_ptr_t nt_pair_receive(struct nt_pair *pair, enum pair_tag tag, void *data, size_t bytes)
{
    ucp_request_param_t param = {0};
    return ucp_tag_recv_nbx(pair->net->worker, data, bytes,
                            make_tag(&pair->meeting, tag, pair->meeting.peer), UINT64_MAX, &param);
}

/* ---- the connection ---- */
static void peer_died(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    struct nt_pair *pair = arg;
    if (ep == pair->peer)
        pair->peer_died = status;
}

int nt_pair_open_endpoint(struct nt_pair *pair, const void *address, struct nt_err *err)
{
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = address,
        .err_mode = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler = {peer_died, pair},
    };
    ucp_ep_h ep = NULL;
    pair->peer_died = UCS_OK;
    ucs_status_t status = ucp_ep_create(pair->net->worker, &params, &ep);
    if (status != UCS_OK)
        return nt_err_set(err, NT_ERR_SYSTEM, "connect: %s", ucs_status_string(status));
    pair->peer = ep;
    return 0;
}

static int warm_once(struct nt_pair *pair, double deadline_s, struct nt_err *err)
{
    unsigned char *out = nt_pair_slot(pair, 0), *in = nt_pair_slot(pair, 1);
    ucs_status_ptr_t receive = nt_pair_receive(pair, TAG_WARM, in, WARM_BYTES);
    if (!pair->meeting.first && nt_pair_wait(pair, receive, deadline_s, "connect", err) != 0)
        return -1;
    int rc = nt_pair_wait(pair, nt_pair_send(pair, TAG_WARM, out, WARM_BYTES), deadline_s,
                          "connect", err);
    if (!pair->meeting.first)
        return rc;
    if (rc != 0) {
        nt_pair_cancel(pair, receive);
        return -1;
    }
    return nt_pair_wait(pair, receive, deadline_s, "connect", err);
}

/* Enough room for a window of the order's messages, touched so that no page fault is timed. */
int nt_pair_make_room(struct nt_pair *pair, const struct nt_order *order, struct nt_err *err)
{
    size_t message = order->message_bytes < WARM_BYTES ? WARM_BYTES : (size_t)order->message_bytes;
    size_t stride = (message + 63) / 64 * 64;
    if (stride > BUFFER_MAX / PAIR_SLOTS)
        return nt_err_set(err, NT_ERR_INPUT, "messages of %zu bytes: at most %d", message,
                          BUFFER_MAX / PAIR_SLOTS);
    size_t bytes = stride * PAIR_SLOTS;
    if (bytes > pair->buffer_bytes) {
        unsigned char *buffer = calloc(1, bytes);
        if (buffer == NULL)
            return nt_err_set(err, NT_ERR_SYSTEM, "messages of %zu bytes: out of memory", message);
        memset(buffer, 1, bytes);
        free(pair->buffer);
        pair->buffer = buffer;
        pair->buffer_bytes = bytes;
    }
    pair->stride = stride;
    return 0;
}

static int warm(struct nt_pair *pair, double deadline_s, double *round_trip_s, struct nt_err *err)
{
    double before = 0;
    for (int k = 0; k < WARM_EXCHANGES; k++) {
        before = nt_clock_s();
        if (warm_once(pair, deadline_s, err) != 0)
            return -1;
    }
    *round_trip_s = nt_clock_s() - before;
    return 0;
}

int nt_pair_connect(struct nt_pair *pair, const struct nt_meeting *meeting,
                    const struct nt_order *order, double deadline_s, double *round_trip_s,
                    struct nt_err *err)
{
    nt_pair_close(pair);
    pair->meeting = *meeting;
    if (nt_pair_make_room(pair, order, err) != 0 ||
        nt_pair_open_endpoint(pair, meeting->address, err) != 0 ||
        warm(pair, deadline_s, round_trip_s, err) != 0)
        return -1;
    if (order->rail[0] == '\0')
        return 0;
    if (nt_pair_take_rail(pair, order->rail, deadline_s, err) != 0)
        return -1;
    return warm(pair, deadline_s, round_trip_s, err);
}

void nt_pair_close_endpoint(struct nt_pair *pair, ucp_ep_h *peer)
{
    if (*peer == NULL)
        return;
    /* UCX 1.13 ends the process (an assertion) when an endpoint is closed with something in
     * flight on it: it is left as it is, and so is its worker at the end */
    pair->left_behind = pair->left_behind || pair->unfinished;
    if (pair->unfinished) {
        *peer = NULL;
        return;
    }
    /* by force: both ends have all they came for, and a peer that is gone would not answer */
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                 .flags = UCP_EP_CLOSE_FLAG_FORCE};
    ucs_status_ptr_t request = ucp_ep_close_nbx(*peer, &param);
    *peer = NULL;
    if (UCS_PTR_IS_PTR(request))
        let_go(pair, request);
}

void nt_pair_close(struct nt_pair *pair)
{
    nt_crowd_close(pair);
    nt_pair_close_endpoint(pair, &pair->peer);
    pair->net = &pair->home;
    nt_pair_close_endpoint(pair, &pair->home_peer);
    pair->unfinished = false;
}

/* How often the kernel took the core away from us. */
static long preemptions(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

static int measure(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                   double deadline_s, struct nt_result *result, struct nt_err *err)
{
    if (pair->peer == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "not connected");
    switch (order->kind) {
    case NT_ORDER_LATENCY:
        return nt_pair_ping(pair, order, soft_s, deadline_s, result, err);
    case NT_ORDER_BANDWIDTH:
        return nt_pair_flow(pair, order, soft_s, deadline_s, result, err);
    case NT_ORDER_PRTT:
        return nt_pair_prtt(pair, order, soft_s, deadline_s, result, err);
    case NT_ORDER_KERNEL:
        break;
    }
    return nt_err_set(err, NT_ERR_INPUT, "order %d: this probe cannot do it", (int)order->kind);
}

int nt_pair_measure(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                    double deadline_s, struct nt_result *result, struct nt_err *err)
{
    long before = preemptions();
    int rc = measure(pair, order, soft_s, deadline_s, result, err);
    /* the core is not ours alone, whatever was counted: spinning would measure the scheduler */
    if (pair->spin_s > 0 && preemptions() - before >= PREEMPTIONS)
        pair->spin_s = 0;
    return rc;
}

/* ---- life ---- */
static int open_context(struct pair_net *net, const char *device, struct nt_err *err)
{
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME,
                           .features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP,
                           .name = "nettopo"};
    ucp_config_t *config = NULL;
    ucs_status_t status = ucp_config_read(NULL, NULL, &config);
    if (status != UCS_OK)
        return nt_err_set(err, NT_ERR_SYSTEM, "UCX: configuration: %s", ucs_status_string(status));
    if (device != NULL)
        status = ucp_config_modify(config, "NET_DEVICES", device);
    if (status == UCS_OK)
        status = ucp_init(&params, config, &net->context);
    ucp_config_release(config);
    if (status != UCS_OK)
        return nt_err_set(err, NT_ERR_SYSTEM, "UCX: no usable network: %s",
                          ucs_status_string(status));
    return 0;
}

static int open_worker(struct pair_net *net, struct nt_err *err)
{
    ucp_worker_params_t params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                  .thread_mode = UCS_THREAD_MODE_SINGLE};
    ucs_status_t status = ucp_worker_create(net->context, &params, &net->worker);
    if (status != UCS_OK)
        return nt_err_set(err, NT_ERR_SYSTEM, "UCX: worker: %s", ucs_status_string(status));
    status = ucp_worker_get_efd(net->worker, &net->event_fd);
    if (status == UCS_OK)
        status = ucp_worker_get_address(net->worker, &net->address, &net->address_bytes);
    if (status != UCS_OK)
        return nt_err_set(err, NT_ERR_SYSTEM, "UCX: address: %s", ucs_status_string(status));
    return 0;
}

int nt_pair_net_open(struct pair_net *net, const char *device, struct nt_err *err)
{
    if (open_context(net, device, err) == 0 && open_worker(net, err) == 0)
        return 0;
    nt_pair_net_close(net);
    return -1;
}

void nt_pair_net_close(struct pair_net *net)
{
    if (net->address != NULL)
        ucp_worker_release_address(net->worker, net->address);
    if (net->worker != NULL)
        ucp_worker_destroy(net->worker);
    if (net->context != NULL)
        ucp_cleanup(net->context);
    *net = (struct pair_net){0};
}

int nt_pair_create(struct nt_pair **out, struct nt_err *err)
{
    struct nt_pair *pair = calloc(1, sizeof *pair);
    if (pair == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "UCX: out of memory");
    pair->net = &pair->home;
    pair->times = calloc(PAIR_TIMES_MAX, sizeof *pair->times);
    if (pair->times == NULL)
        nt_err_set(err, NT_ERR_SYSTEM, "UCX: out of memory");
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
    nt_pair_close(pair);
    if (pair->left_behind)
        return; /* with all that UCX may still look at */
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
