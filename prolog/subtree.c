/* SPDX-License-Identifier: Apache-2.0 */
#include "subtree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "clock.h"

/* A member that accepts no data for this long is lost. The limit is a share of the remaining time,
 * because this agent stops reading from above while frames for the member are queued. In a block it
 * is half as long, so that the block's leader is not lost because of its member. */
static const double STALL_MIN_S = 0.25, STALL_MAX_S = 1.0, STALL_SHARE = 0.3, BLOCK_STALL = 0.5;
/* Time for the hosts of a lost block leader to connect to the first host. */
static const double REJOIN_S = 1.0;

enum { FLAT_HOSTS_MAX = 256, BLOCK_HOSTS_MIN = 32, OTHER_FILES = 256 };

/* ---- blocks ---- */

size_t nt_block_hosts(size_t hosts, uint32_t configured)
{
    size_t block = BLOCK_HOSTS_MIN;
    if (configured != 0)
        return configured < hosts ? configured : hosts;
    if (hosts <= FLAT_HOSTS_MAX)
        return hosts;
    while (block * block < hosts)
        block *= 2;
    return block;
}

size_t nt_block_leader(size_t block, size_t host)
{
    size_t leader = host - host % block;
    return leader == host ? 0 : leader;
}

/* ---- create and destroy ---- */

/* Every child is an open file. Does not exceed the hard limit, which the administrator sets. */
static void raise_file_limit(size_t members)
{
    struct rlimit limit;
    rlim_t want = (rlim_t)members + OTHER_FILES;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= want)
        return;
    limit.rlim_cur = want < limit.rlim_max ? want : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int nt_subtree_init(struct nt_subtree *subtree, size_t hosts, size_t self, size_t block,
                    struct nt_err *err)
{
    memset(subtree, 0, sizeof *subtree);
    subtree->listener.fd = -1;
    subtree->hosts = subtree->lost_next = hosts;
    subtree->self = self;
    subtree->block = block;
    subtree->give_up = INFINITY;
    if (nt_children_init(&subtree->children, hosts, self, err) != 0)
        return -1;
    subtree->recheck_at = INFINITY;
    subtree->loss_reported = calloc(hosts, sizeof *subtree->loss_reported);
    subtree->rejoin_until = calloc(hosts / block + 1, sizeof *subtree->rejoin_until);
    if (subtree->loss_reported == NULL || subtree->rejoin_until == NULL) {
        nt_subtree_fini(subtree);
        return nt_err_memory(err);
    }
    raise_file_limit(nt_subtree_expected(subtree));
    return 0;
}

void nt_subtree_fini(struct nt_subtree *subtree)
{
    nt_listener_fini(&subtree->listener);
    nt_children_fini(&subtree->children);
    free(subtree->loss_reported);
    free(subtree->rejoin_until);
    subtree->loss_reported = NULL;
    subtree->rejoin_until = NULL;
}

size_t nt_subtree_expected(const struct nt_subtree *subtree)
{
    size_t left = subtree->hosts - subtree->self,
           own = left < subtree->block ? left : subtree->block;
    size_t blocks = (subtree->hosts + subtree->block - 1) / subtree->block;
    return own - 1 + (subtree->self == 0 ? blocks - 1 : 0);
}

/* ---- connections ---- */

size_t nt_subtree_pollfds_max(const struct nt_subtree *subtree)
{
    return NT_LISTENER_POLLFDS + subtree->hosts;
}

size_t nt_subtree_pollfds(const struct nt_subtree *subtree, bool read, struct pollfd *polls)
{
    size_t n = nt_children_pollfds(&subtree->children, read, polls);
    return n + nt_listener_pollfds(&subtree->listener, polls + n);
}

void nt_subtree_poll_events(struct nt_subtree *subtree, const struct pollfd *polls)
{
    nt_children_poll_events(&subtree->children, polls);
}

static void accept_children(struct nt_subtree *subtree)
{
    struct nt_conn conn;
    size_t host;
    if (nt_listener_step(&subtree->listener, &host, &conn) == 1 &&
        nt_children_add(&subtree->children, host, &conn, NT_FRAME_PAYLOAD_MAX, NT_QUEUE_MAX) &&
        subtree->announcement.payload_bytes > 0)
        nt_children_send(&subtree->children, host, &subtree->announcement,
                         subtree->announcement_text);
}

static double stall_s(const struct nt_subtree *subtree)
{
    double left = STALL_SHARE * (subtree->give_up - nt_clock_s());
    double s = left < STALL_MIN_S ? STALL_MIN_S : left < STALL_MAX_S ? left : STALL_MAX_S;
    return subtree->self == 0 ? s : BLOCK_STALL * s;
}

void nt_subtree_step(struct nt_subtree *subtree)
{
    accept_children(subtree);
    nt_children_flush(&subtree->children, stall_s(subtree));
}

/* ---- down ---- */

static int set_announcement(struct nt_subtree *subtree, const struct nt_frame *frame,
                            const void *payload)
{
    if (frame->payload_bytes > sizeof subtree->announcement_text)
        return -1;
    subtree->announcement = *frame;
    memcpy(subtree->announcement_text, payload, frame->payload_bytes);
    return 0;
}

int nt_subtree_announce(struct nt_subtree *subtree, const struct nt_frame *frame,
                        const void *payload)
{
    if (set_announcement(subtree, frame, payload) != 0)
        return -1;
    nt_children_bcast(&subtree->children, frame, payload);
    return 0;
}

void nt_subtree_reject_late(struct nt_subtree *subtree)
{
    static const char late[] = "failed connected after the result was sent";
    struct nt_frame frame = {
        .type = NT_FRAME_DONE, .flags = NT_FRAME_AGENT, .payload_bytes = sizeof late - 1};
    set_announcement(subtree, &frame, late);
}

void nt_subtree_send(struct nt_subtree *subtree, const struct nt_frame *frame, const void *payload)
{
    if ((frame->flags & NT_FRAME_UNICAST) == 0) {
        nt_children_bcast(&subtree->children, frame, payload);
        return;
    }
    size_t host = frame->host, leader = host - host % subtree->block;
    if (host >= subtree->hosts)
        return;
    if (nt_children_is_online(&subtree->children, host))
        nt_children_send(&subtree->children, host, frame, payload);
    else if (leader != subtree->self && nt_children_is_online(&subtree->children, leader))
        nt_children_send(&subtree->children, leader, frame, payload);
}

/* ---- up ---- */

/* Checks and sets the origin of a frame. A host may send in its own name; a block leader may also
 * send in the name of hosts of its block, except those that are connected here themselves. */
static bool source_is_valid(const struct nt_subtree *subtree, size_t from, struct nt_frame *frame)
{
    bool leads = subtree->block < subtree->hosts && from % subtree->block == 0;
    if (!leads || frame->host == from) {
        frame->host = (uint32_t)from;
        return true;
    }
    return frame->host < subtree->hosts && frame->host / subtree->block == from / subtree->block &&
           !nt_children_is_online(&subtree->children, frame->host);
}

int nt_subtree_next(struct nt_subtree *subtree, struct nt_frame *frame,
                    const unsigned char **payload)
{
    struct nt_children *children = &subtree->children;
    while (subtree->next_child < children->online_count) {
        size_t from = children->online[subtree->next_child];
        int got = children->ready[from]
                      ? nt_conn_next(&children->conn[from], frame, payload, &children->last_error)
                      : 0;
        if (got == 0) {
            children->ready[from] = false;
            subtree->next_child++;
        } else if (got < 0 || (frame->type != NT_FRAME_GATHER && frame->type != NT_FRAME_DONE)) {
            nt_children_remove(children, from); /* moves another host to this position */
        } else if (source_is_valid(subtree, from, frame)) {
            return 1;
        }
    }
    subtree->next_child = 0;
    return 0;
}

/* Returns whether a host is lost: it has been connected here but no longer is, or its block leader
 * is lost and it has not connected here itself in time. */
static bool host_is_lost(struct nt_subtree *subtree, size_t host, double now)
{
    size_t leader = host - host % subtree->block;
    double *until = &subtree->rejoin_until[host / subtree->block];
    if (host == subtree->self || nt_children_is_online(&subtree->children, host))
        return false;
    if (nt_children_is_lost(&subtree->children, host))
        return true;
    if (leader == subtree->self || !nt_children_is_lost(&subtree->children, leader))
        return false;
    if (*until == 0)
        *until = now + REJOIN_S;
    if (now < *until && *until < subtree->recheck_at)
        subtree->recheck_at = *until;
    return now >= *until;
}

int nt_subtree_next_lost(struct nt_subtree *subtree, double now, size_t *host)
{
    if (subtree->lost_count_seen != subtree->children.lost_count || now >= subtree->recheck_at) {
        subtree->lost_count_seen = subtree->children.lost_count;
        subtree->lost_next = 0;
        subtree->recheck_at = INFINITY;
    }
    while (subtree->lost_next < subtree->hosts) {
        size_t k = subtree->lost_next++;
        if (subtree->loss_reported[k] || !host_is_lost(subtree, k, now))
            continue;
        subtree->loss_reported[k] = true;
        *host = k;
        return 1;
    }
    return 0;
}

bool nt_subtree_drain(struct nt_subtree *subtree, double idle_until)
{
    struct nt_frame frame;
    const unsigned char *payload;
    nt_subtree_step(subtree);
    nt_children_shutdown(&subtree->children);
    while (nt_subtree_next(subtree, &frame, &payload) == 1)
        ; /* too late, discarded */
    return subtree->children.online_count == 0 ||
           (nt_clock_s() >= idle_until && !nt_children_have_queued(&subtree->children));
}
