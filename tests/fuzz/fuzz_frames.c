/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes from a peer, in any fragments: through nt_conn into the gather state, as at the leader.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "conn.h"
#include "fuzz.h"
#include "gather.h"

enum { HOSTS = 4, PAYLOAD_MAX = 4096 };

static void take(struct nt_gather *gather, const struct nt_frame *frame)
{
    if (frame->payload_bytes > PAYLOAD_MAX)
        abort();
    if (frame->type == NT_FRAME_GATHER)
        nt_gather_contribution(gather, frame->host, frame->seq,
                               (frame->flags & NT_FRAME_MORE) != 0);
    else if (frame->type == NT_FRAME_DONE)
        nt_gather_set_lost(gather, frame->host);
    else if (frame->type == NT_FRAME_BCAST)
        nt_gather_open(gather, frame->seq, 1, NULL);
    else if (gather->is_open)
        nt_gather_close(gather);
    if (gather->awaited > HOSTS || (!gather->is_open && gather->awaited != 0))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd[2];
    struct nt_conn conn;
    struct nt_gather gather;
    struct nt_frame frame;
    const unsigned char *payload;
    struct nt_err err;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
        return 0;
    if (nt_conn_init(&conn, fd[0], PAYLOAD_MAX, 0, &err) != 0)
        abort();
    if (nt_gather_init(&gather, HOSTS, &err) != 0)
        abort();
    int got = 0;
    for (size_t at = 0; at < size && got >= 0;) {
        size_t part = (size_t)data[at] + 1; /* the input determines the fragments */
        part = part < size - at ? part : size - at;
        if (write(fd[1], data + at, part) != (ssize_t)part)
            abort();
        at += part;
        while ((got = nt_conn_next(&conn, &frame, &payload, &err)) == 1)
            take(&gather, &frame);
    }
    nt_gather_fini(&gather);
    nt_conn_fini(&conn);
    close(fd[1]);
    return 0;
}
