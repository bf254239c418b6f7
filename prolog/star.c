#include "star.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "now.h"

int nt_star_init(struct nt_star *star, size_t hosts, size_t me, struct nt_err *err)
{
    struct nt_star s = {.hosts = hosts, .me = me};
    s.conn = calloc(hosts, sizeof *s.conn);
    s.was_here = calloc(hosts, sizeof *s.was_here);
    s.ready = calloc(hosts, sizeof *s.ready);
    s.order = calloc(hosts, sizeof *s.order);
    if (s.conn == NULL || s.was_here == NULL || s.ready == NULL || s.order == NULL) {
        nt_star_fini(&s);
        return nt_err_set(err, NT_ERR_SYSTEM, "out of memory");
    }
    *star = s;
    return 0;
}

void nt_star_fini(struct nt_star *star)
{
    for (size_t k = 0; k < star->here; k++)
        nt_conn_fini(&star->conn[star->order[k]]);
    free(star->conn);
    free(star->was_here);
    free(star->ready);
    free(star->order);
    *star = (struct nt_star){0};
}

bool nt_star_join(struct nt_star *star, size_t host, struct nt_conn *conn, size_t payload_max,
                  size_t queue_max)
{
    if (host == star->me || host >= star->hosts || star->was_here[host] ||
        nt_conn_widen(conn, payload_max, queue_max, NULL) != 0) {
        nt_conn_fini(conn);
        return false;
    }
    star->was_here[host] = true;
    star->ready[host] = true; /* may have spoken while it was not ours */
    star->joined++;
    star->conn[host] = *conn;
    star->order[star->here++] = host;
    *conn = (struct nt_conn){.fd = -1};
    return true;
}

void nt_star_drop(struct nt_star *star, size_t host)
{
    if (!nt_star_has(star, host))
        return;
    nt_conn_fini(&star->conn[host]);
    star->dropped++;
    size_t k = 0;
    while (star->order[k] != host)
        k++;
    star->order[k] = star->order[--star->here];
}

bool nt_star_has(const struct nt_star *star, size_t host)
{
    return host < star->hosts && star->was_here[host] && nt_conn_is_open(&star->conn[host]);
}

bool nt_star_has_lost(const struct nt_star *star, size_t host)
{
    return star->was_here[host] && !nt_conn_is_open(&star->conn[host]);
}

size_t nt_star_polls(const struct nt_star *star, bool read, struct pollfd *polls)
{
    for (size_t k = 0; k < star->here; k++) {
        const struct nt_conn *conn = &star->conn[star->order[k]];
        short events = (short)((read ? POLLIN : 0) | (nt_conn_queued(conn) > 0 ? POLLOUT : 0));
        polls[k] = (struct pollfd){.fd = events != 0 ? conn->fd : -1, .events = events};
    }
    return star->here;
}

void nt_star_heed(struct nt_star *star, const struct pollfd *polls)
{
    for (size_t k = 0; k < star->here; k++)
        if ((polls[k].revents & ~POLLOUT) != 0)
            star->ready[star->order[k]] = true;
}

void nt_star_cast(struct nt_star *star, const struct nt_frame *frame, const void *payload)
{
    for (size_t k = 0; k < star->here;) {
        size_t host = star->order[k];
        struct nt_conn *conn = &star->conn[host];
        if (nt_conn_send(conn, frame, payload, NULL) != 0) {
            nt_star_drop(star, host); /* another stands at k now */
            continue;
        }
        star->is_full = star->is_full || nt_conn_queued(conn) >= NT_QUEUE_HIGH;
        k++;
    }
}

void nt_star_send(struct nt_star *star, size_t host, const struct nt_frame *frame,
                  const void *payload)
{
    struct nt_conn *conn = &star->conn[host];
    if (nt_conn_queue(conn, frame, payload, NULL) != 0)
        nt_star_drop(star, host);
    else
        star->is_full = star->is_full || nt_conn_queued(conn) >= NT_QUEUE_HIGH;
}

void nt_star_flush(struct nt_star *star, double stall_s)
{
    double now = nt_now();
    star->is_full = false;
    for (size_t k = 0; k < star->here;) {
        size_t host = star->order[k];
        struct nt_conn *conn = &star->conn[host];
        if (nt_conn_queued(conn) > 0 &&
            (nt_conn_flush(conn, NULL) != 0 ||
             (nt_conn_queued(conn) > 0 && now - conn->moved_at > stall_s))) {
            nt_star_drop(star, host);
            continue;
        }
        star->is_full = star->is_full || nt_conn_queued(conn) >= NT_QUEUE_HIGH;
        k++;
    }
}

void nt_star_close_out(struct nt_star *star)
{
    for (size_t k = 0; k < star->here; k++)
        if (nt_conn_queued(&star->conn[star->order[k]]) == 0)
            shutdown(star->conn[star->order[k]].fd, SHUT_WR);
}
