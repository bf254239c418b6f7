/* SPDX-License-Identifier: Apache-2.0 */
/* Rails: the network devices of this host, and one of them alone.
 *
 * UCX chooses devices for a whole context, so each rail has a context and a worker of its own,
 * made when it is first asked for. Their addresses travel over the connection that is there
 * already: only what a round needs is ever exchanged. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"
#include "pair_rail.h"

/* ---- which there are ---- */

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
    char *text = NULL, *rest, *line;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (stream == NULL)
        return;
    ucp_context_print_info(pair->home.context, stream);
    if (fclose(stream) == 0 && text != NULL)
        for (rest = text; (line = strsep(&rest, "\n")) != NULL;) {
            struct nt_ucx_transport transport;
            if (nt_ucx_text_resource(line, &transport))
                found(context, transport.name, transport.device);
        }
    free(text);
}

void nt_pair_find_used(struct nt_pair *pair)
{
    char *text = NULL, *rest, *line;
    size_t bytes = 0;
    FILE *stream =
        pair->used[0] != '\0' || pair->peer == NULL ? NULL : open_memstream(&text, &bytes);
    if (stream == NULL)
        return;
    ucp_ep_print_info(pair->peer, stream);
    if (fclose(stream) == 0 && text != NULL)
        for (rest = text; (line = strsep(&rest, "\n")) != NULL;) {
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

/* ---- one of them ---- */
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

/* Sends ours and takes theirs; a length first, as the other end cannot know it. */
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
