/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>
#include <unistd.h>

#include "asserts.h"
#include "children.h"
#include "clock.h"
#include "conn.h"
#include "lingering.h"

/* The two ends of a connection: nt_conn and a descriptor. */
struct ends {
    struct nt_conn conn;
    int peer;
};

static struct ends pair(size_t payload_max, size_t queue_max)
{
    struct ends e;
    int fd[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    assert_int_equal(nt_conn_init(&e.conn, fd[0], payload_max, queue_max, NULL), 0);
    e.peer = fd[1];
    return e;
}

static void finish(struct ends *e)
{
    nt_conn_fini(&e->conn);
    nt_conn_fini(&e->conn);
    if (e->peer >= 0)
        close(e->peer);
}

static void put(int fd, enum nt_frame_type type)
{
    unsigned char head[NT_FRAME_HEAD_BYTES];
    nt_frame_encode(&(struct nt_frame){.type = type}, head);
    assert_int_equal(write(fd, head, sizeof head), sizeof head);
}

TEST(frames_arrive_complete_from_any_fragments)
{
    struct ends e = pair(100, 1000);
    unsigned char wire[2 * (NT_FRAME_HEAD_BYTES + 5)], *at = wire;
    for (uint32_t k = 0; k < 2; k++) {
        nt_frame_encode(
            &(struct nt_frame){.type = NT_FRAME_BCAST, .seq = k + 1, .payload_bytes = 5}, at);
        memcpy(at + NT_FRAME_HEAD_BYTES, k == 0 ? "first" : "other", 5);
        at += NT_FRAME_HEAD_BYTES + 5;
    }
    struct nt_frame frame;
    const unsigned char *payload;
    uint32_t seen = 0;
    for (size_t k = 0; k < sizeof wire; k++) {
        assert_int_equal(write(e.peer, wire + k, 1), 1);
        int got = nt_conn_next(&e.conn, &frame, &payload, NULL);
        assert_int_equal(got, k + 1 == sizeof wire / 2 || k + 1 == sizeof wire);
        if (got == 1) {
            assert_int_equal(frame.seq, ++seen);
            assert_memory_equal(payload, seen == 1 ? "first" : "other", 5);
        }
    }
    /* and both at once */
    assert_int_equal(write(e.peer, wire, sizeof wire), sizeof wire);
    assert_int_equal(nt_conn_next(&e.conn, &frame, &payload, NULL), 1);
    assert_memory_equal(payload, "first", 5);
    assert_int_equal(nt_conn_next(&e.conn, &frame, &payload, NULL), 1);
    assert_memory_equal(payload, "other", 5);
    assert_int_equal(nt_conn_next(&e.conn, &frame, &payload, NULL), 0);
    finish(&e);
}

TEST(invalid_frames_are_rejected)
{
    struct nt_frame frame;
    const unsigned char *payload;
    struct ends e = pair(100, 1000);
    static const char garbage[NT_FRAME_HEAD_BYTES] = "GET / HTTP/1.0";
    assert_int_equal(write(e.peer, garbage, sizeof garbage), sizeof garbage);
    assert_int_equal(nt_conn_next(&e.conn, &frame, &payload, &err), -1);
    assert_non_null(strstr(err.text, "not a nettopo frame"));
    finish(&e);

    e = pair(100, 1000); /* a frame over the limit of this connection */
    put(e.peer, NT_FRAME_BCAST);
    assert_int_equal(nt_conn_next(&e.conn, &frame, &payload, &err), 1);
    unsigned char head[NT_FRAME_HEAD_BYTES];
    nt_frame_encode(&(struct nt_frame){.type = NT_FRAME_BCAST, .payload_bytes = 101}, head);
    assert_int_equal(write(e.peer, head, sizeof head), sizeof head);
    assert_int_equal(nt_conn_next(&e.conn, &frame, &payload, &err), -1);
    assert_non_null(strstr(err.text, "expected at most 100 bytes, found 101"));
    finish(&e);

    e = pair(100, 1000); /* it closes within a frame */
    assert_int_equal(write(e.peer, head, 7), 7);
    must(nt_conn_next(&e.conn, &frame, &payload, &err));
    close(e.peer);
    e.peer = -1;
    assert_int_equal(nt_conn_next(&e.conn, &frame, &payload, &err), -1);
    assert_string_equal(err.text, "connection closed within a frame");
    finish(&e);
}

/* Reading it without room for the descriptor waited for as long as its socket lingers. */
TEST(a_passed_descriptor_does_not_block)
{
    struct ends e = pair(100, 1000);
    struct nt_frame frame;
    const unsigned char *payload;
    uint16_t port = 0;
    int silent = open_silent(&port), fd = open_lingering(port);
    assert_at_least(silent, 0);
    assert_at_least(fd, 0);
    assert_int_equal(pass_descriptor(e.peer, fd), 0);
    close(fd); /* the last reference is under way */
    double began = nt_clock_s();
    assert_int_equal(nt_conn_next(&e.conn, &frame, &payload, &err), -1);
    assert_below(nt_clock_s() - began, LINGER_S / 2.);
    assert_string_equal(err.text, "unexpected file descriptors");
    finish(&e);
    close(silent);
}

TEST(a_peer_that_does_not_read_reaches_the_limit)
{
    enum { QUEUE = 1 << 20 };
    struct ends e = pair(100, QUEUE);
    static unsigned char payload[NT_FRAME_PAYLOAD_MAX];
    struct nt_frame frame = {.type = NT_FRAME_ARTIFACT, .payload_bytes = sizeof payload};
    int sent = 0;
    for (size_t k = 0; k < sizeof payload; k++)
        payload[k] = (unsigned char)(k * 7);
    while (nt_conn_send(&e.conn, &frame, payload, &err) == 0) {
        assert_at_most(nt_conn_queued(&e.conn), QUEUE);
        assert_true(++sent < 1000);
    }
    assert_non_null(strstr(err.text, "does not read"));
    /* what was queued arrives complete and in order once the peer reads */
    struct ends back = {.peer = -1};
    assert_int_equal(nt_conn_init(&back.conn, dup(e.peer), NT_FRAME_PAYLOAD_MAX, 0, NULL), 0);
    for (int got = 0; got < sent;) {
        const unsigned char *data;
        assert_int_equal(nt_conn_flush(&e.conn, NULL), 0);
        int rc = nt_conn_next(&back.conn, &frame, &data, &err);
        assert_at_least(rc, 0);
        if (rc == 1) {
            assert_memory_equal(data, payload, sizeof payload);
            got++;
        }
    }
    assert_int_equal(nt_conn_queued(&e.conn), 0);
    finish(&back);
    finish(&e);
}

TEST(a_dead_peer_is_an_error_and_no_signal)
{
    struct ends e = pair(100, 1000);
    struct nt_frame frame = {.type = NT_FRAME_DONE};
    close(e.peer);
    e.peer = -1;
    assert_int_equal(nt_conn_send(&e.conn, &frame, NULL, NULL), -1);
    finish(&e);
    assert_int_equal(nt_conn_send(&e.conn, &frame, NULL, NULL), -1);
}

TEST(a_broadcast_reaches_all_and_removes_lost_children)
{
    struct nt_children children;
    struct ends e[4];
    struct nt_frame frame = {.type = NT_FRAME_BCAST, .payload_bytes = 2};
    assert_int_equal(nt_children_init(&children, 5, 0, NULL), 0);
    for (size_t k = 0; k < 4; k++) {
        e[k] = pair(100, 1000);
        assert_true(nt_children_add(&children, k + 1, &e[k].conn, 100, 1000));
    }
    struct ends again = pair(100, 1000), leader = pair(100, 1000), beyond = pair(100, 1000);
    assert_false(
        nt_children_add(&children, 2, &again.conn, 100, 1000)); /* host 2 is connected already */
    assert_false(nt_children_add(&children, 0, &leader.conn, 100, 1000));
    assert_false(nt_children_add(&children, 5, &beyond.conn, 100, 1000));
    close(e[1].peer);
    e[1].peer = -1;
    nt_children_bcast(&children, &frame, "hi");
    assert_int_equal(children.online_count, 3);
    assert_true(nt_children_is_lost(&children, 2));
    assert_false(nt_children_is_lost(&children, 1));
    for (size_t k = 0; k < 4; k++) {
        char got[100];
        if (k != 1)
            assert_int_equal(read(e[k].peer, got, sizeof got), NT_FRAME_HEAD_BYTES + 2);
    }
    /* a stalled child is removed, the others stay */
    char *much = calloc(1, 60000);
    frame.payload_bytes = 60000;
    children.conn[3].queue_max = 10 << 20;
    children.conn[3].payload_max = NT_FRAME_PAYLOAD_MAX;
    while (nt_conn_queued(&children.conn[3]) == 0)
        assert_int_equal(nt_conn_send(&children.conn[3], &frame, much, NULL), 0);
    free(much);
    nt_children_flush(&children, 1000);
    assert_int_equal(children.online_count, 3);
    nt_children_flush(&children, -1);
    assert_int_equal(children.online_count, 2);
    assert_true(nt_children_is_lost(&children, 3));
    for (size_t k = 0; k < 4; k++)
        if (e[k].peer >= 0)
            close(e[k].peer);
    close(again.peer);
    close(leader.peer);
    close(beyond.peer);
    nt_children_fini(&children);
}

/* Two ends with keys, and a wire between them that a test can touch. */
struct keyed {
    struct nt_conn a, b; /* a sends to b */
    int a_wire, b_wire;
    struct nt_frame_key forth, back;
};

static void set_keyed(struct keyed *k)
{
    static const unsigned char one[NT_SECRET_BYTES] = "one", other[NT_SECRET_BYTES] = "other";
    int fd[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    assert_int_equal(nt_conn_init(&k->a, fd[0], 100, 1000, NULL), 0);
    k->a_wire = fd[1];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    assert_int_equal(nt_conn_init(&k->b, fd[0], 100, 1000, NULL), 0);
    k->b_wire = fd[1];
    nt_frame_key_derive(one, other, "forth", &k->forth);
    nt_frame_key_derive(one, other, "back", &k->back);
    nt_conn_set_keys(&k->a, &k->forth, &k->back);
    nt_conn_set_keys(&k->b, &k->back, &k->forth);
}

static void finish_keyed(struct keyed *k)
{
    nt_conn_fini(&k->a);
    nt_conn_fini(&k->b);
    close(k->a_wire);
    close(k->b_wire);
}

enum { KEYED_BYTES = NT_FRAME_HEAD_BYTES + 2 + NT_TAG_BYTES };

/* What a sends as its next frame. */
static void next_on_wire(struct keyed *k, const char *two, unsigned char wire[KEYED_BYTES])
{
    struct nt_frame frame = {.type = NT_FRAME_GATHER, .payload_bytes = 2};
    assert_int_equal(nt_conn_send(&k->a, &frame, two, NULL), 0);
    assert_int_equal(read(k->a_wire, wire, KEYED_BYTES), KEYED_BYTES);
}

static int received(struct keyed *k, const unsigned char *wire, size_t bytes, struct nt_err *err)
{
    struct nt_frame frame;
    const unsigned char *payload;
    assert_int_equal(write(k->b_wire, wire, bytes), (ssize_t)bytes);
    return nt_conn_next(&k->b, &frame, &payload, err);
}

TEST(frames_with_keys_arrive_in_order_only)
{
    struct keyed k;
    unsigned char first[KEYED_BYTES], second[KEYED_BYTES], third[KEYED_BYTES];
    set_keyed(&k);
    next_on_wire(&k, "11", first);
    next_on_wire(&k, "22", second);
    next_on_wire(&k, "33", third);
    assert_int_equal(received(&k, first, KEYED_BYTES - 1, &err), 0);
    assert_int_equal(received(&k, first + KEYED_BYTES - 1, 1, &err), 1);
    assert_int_equal(received(&k, second, KEYED_BYTES, &err), 1);
    assert_int_equal(received(&k, second, KEYED_BYTES, &err), -1); /* repeated */
    assert_string_equal(
        err.text, "frame: wrong tag, so that it was altered, repeated or injected on the way");
    finish_keyed(&k);
    set_keyed(&k);
    next_on_wire(&k, "11", first);
    next_on_wire(&k, "22", second);
    assert_int_equal(received(&k, second, KEYED_BYTES, &err), -1); /* one is left out */
    finish_keyed(&k);
}

TEST(every_altered_byte_of_a_frame_is_seen)
{
    for (size_t at = 0; at < KEYED_BYTES; at++) {
        struct keyed k;
        unsigned char wire[KEYED_BYTES];
        set_keyed(&k);
        next_on_wire(&k, "11", wire);
        wire[at] ^= 1;
        /* -1 at once, or 0 where a longer payload is announced now: the next bytes end it */
        int got = received(&k, wire, KEYED_BYTES, NULL);
        assert_holds(got == -1 || got == 0, "%d", got);
        if (got == 0)
            assert_int_equal(received(&k, wire, KEYED_BYTES, NULL), -1);
        finish_keyed(&k);
    }
}

TEST(frames_of_others_are_seen)
{
    struct keyed k;
    unsigned char wire[KEYED_BYTES], head[NT_FRAME_HEAD_BYTES];
    set_keyed(&k); /* sent back to its sender */
    next_on_wire(&k, "11", wire);
    struct nt_frame frame;
    const unsigned char *payload;
    assert_int_equal(write(k.a_wire, wire, KEYED_BYTES), KEYED_BYTES);
    assert_int_equal(nt_conn_next(&k.a, &frame, &payload, NULL), -1);
    finish_keyed(&k);
    set_keyed(&k); /* without a tag, before a right one */
    next_on_wire(&k, "11", wire);
    nt_frame_encode(&(struct nt_frame){.type = NT_FRAME_GATHER}, head);
    assert_int_equal(received(&k, head, sizeof head, NULL), 0);
    assert_int_equal(received(&k, wire, KEYED_BYTES, NULL), -1);
    finish_keyed(&k);
}

RUN_TESTS
