/* SPDX-License-Identifier: Apache-2.0 */
#include "pair_ucx.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "pair.h"

enum { BUFFER_MAX = 256 * 1024 * 1024 };

/* ---- waiting ---- */
/* UCX 1.13 reports events continuously while a message waits for a TCP connection, because the
 * socket is writable. All hosts connect at the same time, and this would occupy cores that they may
 * share. After WOKEN_MAX events without progress a wait sleeps for WOKEN_S. */
enum { WOKEN_MAX = 3 };
static const double WOKEN_S = 200e-6;

bool nt_pair_step(struct nt_pair *pair, struct pair_idle *idle, double deadline_s)
{
    if (ucp_worker_progress(pair->net->worker) != 0) {
        idle->since_s = 0;
        idle->woken = 0;
        return true;
    }
    /* reading the clock costs as much as one progress call */
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
    if (++idle->woken > WOKEN_MAX)
        nt_clock_sleep(WOKEN_S);
    return true;
}

bool nt_pair_request_done(ucs_status_ptr_t request)
{
    return !UCS_PTR_IS_PTR(request) || ucp_request_check_status(request) != UCS_INPROGRESS;
}

/* Progresses for a moment so that a cancelled or broken request can end, and frees it. Freeing a
 * request in flight is allowed: UCX keeps its own copy, and the buffers outlive the worker. If one
 * request of a window did not end, the others will not end either, and waiting for each would delay
 * this end's report. */
static void release_request(struct nt_pair *pair, ucs_status_ptr_t request)
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
    release_request(pair, request);
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
        /* after the death of the peer UCX calls the error callback, but the receive stays
         * pending */
        if (!late && pair->peer_failed == UCS_OK)
            continue;
        if (nt_pair_request_done(request))
            continue;
        status = late ? UCS_ERR_TIMED_OUT : pair->peer_failed;
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
static ucp_tag_t make_tag(const struct nt_pairing *m, enum pair_tag tag, uint32_t sender)
{
    return (ucp_tag_t)m->round << 32 | (ucp_tag_t)tag << 24 | (sender & 0xffffff);
}

ucs_status_ptr_t nt_pair_send(struct nt_pair *pair, enum pair_tag tag, const void *data,
                              size_t bytes)
{
    ucp_request_param_t param = {0};
    return ucp_tag_send_nbx(pair->peer, data, bytes,
                            make_tag(&pair->pairing, tag, pair->pairing.self), &param);
}

ucs_status_ptr_t nt_pair_receive(struct nt_pair *pair, enum pair_tag tag, void *data, size_t bytes)
{
    ucp_request_param_t param = {0};
    return ucp_tag_recv_nbx(pair->net->worker, data, bytes,
                            make_tag(&pair->pairing, tag, pair->pairing.peer), UINT64_MAX, &param);
}

/* ---- endpoints ---- */
static void endpoint_failed(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    struct nt_pair *pair = arg;
    if (ep == pair->peer || ep == pair->home_peer)
        pair->peer_failed = status;
    for (size_t k = 0; k < PAIR_RESTING_MAX; k++)
        if (pair->resting[k].ep == ep)
            pair->resting[k].failed = status;
}

ucs_status_t nt_pair_create_endpoint(struct nt_pair *pair, const void *address,
                                     ucp_err_handler_cb_t failed, ucp_ep_h *ep)
{
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = address,
        .err_mode = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler = {failed, pair},
    };
    return ucp_ep_create(pair->net->worker, &params, ep);
}

int nt_pair_open_endpoint(struct nt_pair *pair, const void *address, struct nt_err *err)
{
    ucp_ep_h ep = NULL;
    pair->peer_failed = UCS_OK;
    ucs_status_t status = nt_pair_create_endpoint(pair, address, endpoint_failed, &ep);
    if (status != UCS_OK)
        return nt_err_set(err, NT_ERR_SYSTEM, "connect: %s", ucs_status_string(status));
    pair->peer = ep;
    return 0;
}

void nt_pair_close_endpoint(struct nt_pair *pair, ucp_ep_h *peer)
{
    if (*peer == NULL)
        return;
    /* UCX 1.13 aborts the process (an assertion) if an endpoint with pending requests is closed.
     * The endpoint is left open, and so is its worker at the end */
    pair->left_behind = pair->left_behind || pair->unfinished;
    if (pair->unfinished) {
        *peer = NULL;
        return;
    }
    /* by force: both ends have finished, and a lost peer would not answer */
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                 .flags = UCP_EP_CLOSE_FLAG_FORCE};
    ucs_status_ptr_t request = ucp_ep_close_nbx(*peer, &param);
    *peer = NULL;
    if (UCS_PTR_IS_PTR(request))
        release_request(pair, request);
}

/* ---- connections that no round uses ---- */
static struct pair_resting *find_resting(struct nt_pair *pair, uint32_t peer)
{
    for (size_t k = 0; k < PAIR_RESTING_MAX; k++)
        if (pair->resting[k].ep != NULL && pair->resting[k].peer == peer)
            return &pair->resting[k];
    return NULL;
}

int nt_pair_take_resting(struct nt_pair *pair, struct nt_err *err)
{
    struct pair_resting *r = find_resting(pair, pair->pairing.peer);
    if (r == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "connect: the connection was not kept");
    pair->peer = r->ep;
    pair->peer_failed = r->failed;
    r->ep = NULL;
    if (pair->peer_failed == UCS_OK)
        return 0;
    return nt_err_set(err, NT_ERR_SYSTEM, "connect: %s", ucs_status_string(pair->peer_failed));
}

void nt_pair_forget(struct nt_pair *pair, uint32_t peer)
{
    struct pair_resting *r = find_resting(pair, peer);
    if (r != NULL)
        nt_pair_close_endpoint(pair, &r->ep);
    nt_kept_drop(&pair->kept, peer);
}

/* Stores a connection that no round uses, and sets *ep to NULL if there was room. */
static void store_resting(struct nt_pair *pair, struct pair_resting r, ucp_ep_h *ep)
{
    for (size_t k = 0; k < PAIR_RESTING_MAX && *ep != NULL; k++)
        if (pair->resting[k].ep == NULL) {
            r.ep = *ep;
            pair->resting[k] = r;
            *ep = NULL;
        }
}

void nt_pair_keep(struct nt_pair *pair, ucp_ep_h *peer)
{
    uint32_t out = nt_kept_use(&pair->kept, pair->pairing.peer);
    if (out != NT_KEPT_NONE)
        nt_pair_forget(pair, out);
    store_resting(
        pair, (struct pair_resting){.peer = pair->pairing.peer, .failed = pair->peer_failed}, peer);
}

bool nt_pair_is_ahead(struct nt_pair *pair, uint32_t peer)
{
    const struct pair_resting *r = find_resting(pair, peer);
    return r != NULL && r->ahead;
}

void nt_pair_connect_ahead(struct nt_pair *pair, const struct nt_pairing *pairing)
{
    ucp_ep_h ep = NULL;
    size_t ahead = 0;
    for (size_t k = 0; k < PAIR_RESTING_MAX; k++)
        ahead += pair->resting[k].ep != NULL && pair->resting[k].ahead;
    nt_pair_forget(pair, pairing->peer);
    if (ahead < PAIR_AHEAD_MAX &&
        nt_pair_create_endpoint(pair, pairing->address, endpoint_failed, &ep) == UCS_OK)
        store_resting(pair, (struct pair_resting){.peer = pairing->peer, .ahead = true}, &ep);
    nt_pair_close_endpoint(pair, &ep);
}

void nt_pair_drop_ahead(struct nt_pair *pair)
{
    for (size_t k = 0; k < PAIR_RESTING_MAX; k++)
        if (pair->resting[k].ep != NULL && pair->resting[k].ahead)
            nt_pair_close_endpoint(pair, &pair->resting[k].ep);
}

/* ---- buffers ---- */
int nt_pair_reserve_buffer(struct nt_pair *pair, const struct nt_order *order, struct nt_err *err)
{
    size_t message = order->message_bytes < PAIR_UNTIMED_BYTES ? PAIR_UNTIMED_BYTES
                                                               : (size_t)order->message_bytes;
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
        /* a request that did not end may still use the old buffer */
        if (!pair->left_behind)
            free(pair->buffer);
        pair->buffer = buffer;
        pair->buffer_bytes = bytes;
    }
    pair->stride = stride;
    return 0;
}

/* ---- contexts and workers ---- */
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

/* ---- rails: which there are ---- */

static void add_rail(void *context, const char *transport, const char *device)
{
    struct nt_pair *pair = context;
    size_t k = 0;
    while (k < pair->rails && strcmp(pair->rail[k].name, device) != 0)
        k++;
    if (k == PAIR_RAILS_MAX)
        return;
    if (k == pair->rails)
        snprintf(pair->rail[pair->rails++].name, sizeof pair->rail->name, "%s", device);
    nt_ucx_text_add(pair->rail[k].transports, sizeof pair->rail[k].transports, transport);
}

void nt_pair_each_rail(const struct nt_pair *pair,
                       void (*found)(void *context, const char *transport, const char *device),
                       void *context)
{
    char *text = NULL, *store_resting, *line;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (stream == NULL)
        return;
    ucp_context_print_info(pair->home.context, stream);
    if (fclose(stream) == 0 && text != NULL)
        for (store_resting = text; (line = strsep(&store_resting, "\n")) != NULL;) {
            struct nt_ucx_transport transport;
            if (nt_ucx_text_resource(line, &transport))
                found(context, transport.name, transport.device);
        }
    free(text);
}

void nt_pair_find_used(struct nt_pair *pair)
{
    char *text = NULL, *store_resting, *line;
    size_t bytes = 0;
    FILE *stream =
        pair->used[0] != '\0' || pair->peer == NULL ? NULL : open_memstream(&text, &bytes);
    if (stream == NULL)
        return;
    ucp_ep_print_info(pair->peer, stream);
    if (fclose(stream) == 0 && text != NULL)
        for (store_resting = text; (line = strsep(&store_resting, "\n")) != NULL;) {
            struct nt_ucx_transport lane;
            char word[2 * NT_UCX_NAME_BYTES];
            if (!nt_ucx_text_lane(line, &lane))
                continue;
            snprintf(word, sizeof word, "%s/%s", lane.name, lane.device);
            nt_ucx_text_add(pair->used, sizeof pair->used, word);
        }
    free(text);
}

void nt_pair_find_rails(struct nt_pair *pair)
{
    nt_pair_each_rail(pair, add_rail, pair);
}

/* ---- one rail alone ---- */
static struct pair_net *find_rail(struct nt_pair *pair, const char *name, struct nt_err *err)
{
    for (size_t k = 0; k < pair->rails; k++) {
        if (strcmp(pair->rail[k].name, name) != 0)
            continue;
        struct pair_net *net = &pair->rail[k].net;
        if (net->worker == NULL && nt_pair_net_open(net, name, err) != 0)
            return NULL;
        return net;
    }
    nt_err_set(err, NT_ERR_INPUT, "rail %s: this host has no such device", name);
    return NULL;
}

/* Sends this rail's address and receives the partner's, each after its length. */
static int exchange_addresses(struct nt_pair *pair, const struct pair_net *net, void *theirs,
                              size_t *bytes, double deadline_s, struct nt_err *err)
{
    uint32_t mine = (uint32_t)net->address_bytes, other = 0;
    ucs_status_ptr_t send, receive = nt_pair_receive(pair, TAG_RAIL_SIZE, &other, sizeof other);
    send = nt_pair_send(pair, TAG_RAIL_SIZE, &mine, sizeof mine);
    if (nt_pair_wait(pair, send, deadline_s, "rail", err) != 0) {
        nt_pair_cancel(pair, receive);
        return -1;
    }
    if (nt_pair_wait(pair, receive, deadline_s, "rail", err) != 0)
        return -1;
    if (other == 0 || other > PAIR_RAIL_ADDRESS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "rail: an address of %u bytes, at most %d", other,
                          (int)PAIR_RAIL_ADDRESS_MAX);
    receive = nt_pair_receive(pair, TAG_RAIL, theirs, other);
    send = nt_pair_send(pair, TAG_RAIL, net->address, net->address_bytes);
    if (nt_pair_wait(pair, send, deadline_s, "rail", err) != 0) {
        nt_pair_cancel(pair, receive);
        return -1;
    }
    *bytes = other;
    return nt_pair_wait(pair, receive, deadline_s, "rail", err);
}

int nt_pair_use_rail(struct nt_pair *pair, const char *name, double deadline_s, struct nt_err *err)
{
    size_t bytes = 0;
    struct pair_net *net = find_rail(pair, name, err);
    if (net == NULL)
        return -1;
    unsigned char *theirs = malloc(PAIR_RAIL_ADDRESS_MAX);
    if (theirs == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "rail %s: out of memory", name);
    int rc = exchange_addresses(pair, net, theirs, &bytes, deadline_s, err);
    if (rc == 0) {
        pair->home_peer = pair->peer;
        pair->peer = NULL;
        pair->net = net;
        rc = nt_pair_open_endpoint(pair, theirs, err);
    }
    free(theirs);
    return rc;
}

void nt_pair_close_rails(struct nt_pair *pair)
{
    for (size_t k = 0; k < pair->rails; k++)
        nt_pair_net_close(&pair->rail[k].net);
}
