/* SPDX-License-Identifier: Apache-2.0 */
#include "children.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "clock.h"

int nt_children_init(struct nt_children *children, size_t hosts, size_t self, struct nt_err *err)
{
    struct nt_children s = {.hosts = hosts, .self = self};
    s.conn = calloc(hosts, sizeof *s.conn);
    s.ever_joined = calloc(hosts, sizeof *s.ever_joined);
    s.ready = calloc(hosts, sizeof *s.ready);
    s.online = calloc(hosts, sizeof *s.online);
    if (s.conn == NULL || s.ever_joined == NULL || s.ready == NULL || s.online == NULL) {
        nt_children_fini(&s);
        return nt_err_memory(err);
    }
    *children = s;
    return 0;
}

void nt_children_fini(struct nt_children *children)
{
    for (size_t k = 0; k < children->online_count; k++)
        nt_conn_fini(&children->conn[children->online[k]]);
    free(children->conn);
    free(children->ever_joined);
    free(children->ready);
    free(children->online);
    *children = (struct nt_children){0};
}

bool nt_children_add(struct nt_children *children, size_t host, struct nt_conn *conn,
                     size_t payload_max, size_t queue_max)
{
    if (host == children->self || host >= children->hosts || children->ever_joined[host] ||
        nt_conn_raise_limits(conn, payload_max, queue_max, NULL) != 0) {
        nt_conn_fini(conn);
        return false;
    }
    children->ever_joined[host] = true;
    children->ready[host] = true; /* data may have arrived before poll watched it */
    children->joined_count++;
    children->conn[host] = *conn;
    children->online[children->online_count++] = host;
    *conn = (struct nt_conn){.fd = -1};
    return true;
}

void nt_children_remove(struct nt_children *children, size_t host)
{
    if (!nt_children_is_online(children, host))
        return;
    nt_conn_fini(&children->conn[host]);
    children->lost_count++;
    size_t k = 0;
    while (children->online[k] != host)
        k++;
    children->online[k] = children->online[--children->online_count];
}

bool nt_children_is_online(const struct nt_children *children, size_t host)
{
    return host < children->hosts && children->ever_joined[host] &&
           nt_conn_is_open(&children->conn[host]);
}

bool nt_children_is_lost(const struct nt_children *children, size_t host)
{
    return children->ever_joined[host] && !nt_conn_is_open(&children->conn[host]);
}

size_t nt_children_pollfds(const struct nt_children *children, bool read, struct pollfd *polls)
{
    for (size_t k = 0; k < children->online_count; k++) {
        const struct nt_conn *conn = &children->conn[children->online[k]];
        short events = (short)((read ? POLLIN : 0) | (nt_conn_queued(conn) > 0 ? POLLOUT : 0));
        polls[k] = (struct pollfd){.fd = events != 0 ? conn->fd : -1, .events = events};
    }
    return children->online_count;
}

void nt_children_poll_events(struct nt_children *children, const struct pollfd *polls)
{
    for (size_t k = 0; k < children->online_count; k++)
        if ((polls[k].revents & ~POLLOUT) != 0)
            children->ready[children->online[k]] = true;
}

void nt_children_bcast(struct nt_children *children, const struct nt_frame *frame,
                       const void *payload)
{
    for (size_t k = 0; k < children->online_count;) {
        size_t host = children->online[k];
        struct nt_conn *conn = &children->conn[host];
        if (nt_conn_send(conn, frame, payload, NULL) != 0) {
            nt_children_remove(children, host); /* moves another host to k */
            continue;
        }
        children->is_congested = children->is_congested || nt_conn_queued(conn) >= NT_QUEUE_HIGH;
        k++;
    }
}

void nt_children_send(struct nt_children *children, size_t host, const struct nt_frame *frame,
                      const void *payload)
{
    struct nt_conn *conn = &children->conn[host];
    if (nt_conn_queue(conn, frame, payload, NULL) != 0)
        nt_children_remove(children, host);
    else
        children->is_congested = children->is_congested || nt_conn_queued(conn) >= NT_QUEUE_HIGH;
}

void nt_children_flush(struct nt_children *children, double stall_s)
{
    double now = nt_clock_s();
    children->is_congested = false;
    for (size_t k = 0; k < children->online_count;) {
        size_t host = children->online[k];
        struct nt_conn *conn = &children->conn[host];
        if (nt_conn_queued(conn) > 0 &&
            (nt_conn_flush(conn, NULL) != 0 ||
             (nt_conn_queued(conn) > 0 && now - conn->progress_at > stall_s))) {
            nt_children_remove(children, host);
            continue;
        }
        children->is_congested = children->is_congested || nt_conn_queued(conn) >= NT_QUEUE_HIGH;
        k++;
    }
}

bool nt_children_have_queued(const struct nt_children *children)
{
    for (size_t k = 0; k < children->online_count; k++)
        if (nt_conn_queued(&children->conn[children->online[k]]) > 0)
            return true;
    return false;
}

void nt_children_shutdown(struct nt_children *children)
{
    for (size_t k = 0; k < children->online_count; k++)
        if (nt_conn_queued(&children->conn[children->online[k]]) == 0)
            shutdown(children->conn[children->online[k]].fd, SHUT_WR);
}
