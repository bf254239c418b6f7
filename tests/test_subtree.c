/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of agents: which host connects to which, for which hosts it may send, and the way of a
 * unicast. */
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "asserts.h"
#include "subtree.h"

/* 10 hosts in blocks of 4: 0 leads 1 to 3, 4 leads 5 to 7, 8 leads 9. */
enum { HOSTS = 10, BLOCK = 4 };

struct scene {
    struct nt_subtree subtree;
    struct nt_conn peer[HOSTS]; /* the far ends */
};

static void add_child(struct scene *s, size_t host)
{
    int fd[2];
    struct nt_conn conn;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    assert_int_equal(nt_conn_init(&conn, fd[0], NT_PROOF_MAX, NT_QUEUE_MAX, NULL), 0);
    assert_int_equal(nt_conn_init(&s->peer[host], fd[1], NT_FRAME_PAYLOAD_MAX, NT_QUEUE_MAX, NULL),
                     0);
    assert_true(
        nt_children_add(&s->subtree.children, host, &conn, NT_FRAME_PAYLOAD_MAX, NT_QUEUE_MAX));
}

static void set(struct scene *s, size_t self)
{
    memset(s, 0, sizeof *s);
    for (size_t h = 0; h < HOSTS; h++)
        s->peer[h].fd = -1;
    assert_int_equal(nt_subtree_init(&s->subtree, HOSTS, self, BLOCK, NULL), 0);
}

static void end(struct scene *s)
{
    for (size_t h = 0; h < HOSTS; h++)
        nt_conn_fini(&s->peer[h]);
    nt_subtree_fini(&s->subtree);
}

static void close_peer(struct scene *s, size_t host)
{
    nt_conn_fini(&s->peer[host]);
    s->subtree.children.ready[host] = true; /* as poll would report */
}

static void send_as(struct scene *s, size_t from, uint32_t as)
{
    struct nt_frame frame = {.type = NT_FRAME_GATHER, .seq = 1, .host = as, .payload_bytes = 1};
    assert_int_equal(nt_conn_send(&s->peer[from], &frame, "x", NULL), 0);
    s->subtree.children.ready[from] = true;
}

/* The origins of the frames that the subtree returns now, "4 5 ". */
static const char *received(struct scene *s)
{
    static char text[128];
    struct nt_frame frame;
    const unsigned char *payload;
    text[0] = '\0';
    while (nt_subtree_next(&s->subtree, &frame, &payload) == 1)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%u ", frame.host);
    return text;
}

/* The peers that received frames, each once a frame. */
static const char *reached(struct scene *s)
{
    static char text[128];
    struct nt_frame frame;
    const unsigned char *payload;
    text[0] = '\0';
    nt_subtree_step(&s->subtree);
    for (size_t h = 0; h < HOSTS; h++)
        while (nt_conn_is_open(&s->peer[h]) &&
               nt_conn_next(&s->peer[h], &frame, &payload, NULL) == 1)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%zu ", h);
    return text;
}

static const char *lost(struct scene *s, double now)
{
    static char text[128];
    size_t host;
    text[0] = '\0';
    while (nt_subtree_next_lost(&s->subtree, now, &host) == 1)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%zu ", host);
    return text;
}

static void send_unicast(struct scene *s, uint32_t host)
{
    struct nt_frame frame = {
        .type = NT_FRAME_BCAST, .flags = NT_FRAME_UNICAST, .host = host, .payload_bytes = 2};
    nt_subtree_send(&s->subtree, &frame, "hi");
}

TEST(blocks_have_about_sqrt_hosts)
{
    static const struct {
        size_t hosts;
        uint32_t configured;
        size_t block;
    } table[] = {{1, 0, 1},     {256, 0, 256}, {257, 0, 32},    {1024, 0, 32},
                 {1025, 0, 64}, {4096, 0, 64}, {65536, 0, 256}, {64, 8, 8},
                 {64, 64, 64},  {64, 100, 64}, {65536, 2, 2}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        assert_int_equal(nt_block_hosts(table[k].hosts, table[k].configured), table[k].block);
    for (size_t hosts = 257; hosts <= 65536; hosts += 97) {
        struct nt_subtree subtree = {.hosts = hosts, .block = nt_block_hosts(hosts, 0)};
        assert_at_most(nt_subtree_expected(&subtree), 2 * 256);
        assert_at_most(4 * nt_subtree_expected(&subtree) * nt_subtree_expected(&subtree),
                       25 * hosts);
    }
}

TEST(every_host_is_expected_by_its_leader)
{
    for (size_t hosts = 1; hosts < 40; hosts++)
        for (size_t block = 2; block <= hosts; block++) {
            size_t comes[40] = {0}, all = 0;
            for (size_t h = 1; h < hosts; h++)
                comes[nt_block_leader(block, h)]++;
            for (size_t h = 0; h < hosts; h += block) {
                struct nt_subtree subtree = {.hosts = hosts, .self = h, .block = block};
                assert_int_equal(nt_subtree_expected(&subtree), comes[h]);
                all += comes[h];
            }
            assert_int_equal(all, hosts - 1);
        }
}

TEST(a_block_leader_sends_only_for_its_block)
{
    struct scene s;
    set(&s, 0);
    add_child(&s, 1);
    add_child(&s, 4);
    add_child(&s, 8);
    send_as(&s, 1, 7); /* leads no block: always its own origin */
    send_as(&s, 1, 4);
    assert_string_equal(received(&s), "1 1 ");
    send_as(&s, 4, 4);
    send_as(&s, 4, 7);
    send_as(&s, 4, 1); /* of another block */
    send_as(&s, 4, 8);
    send_as(&s, 4, HOSTS);
    send_as(&s, 8, 9);
    send_as(&s, 8, 10); /* beyond the last host */
    send_as(&s, 8, UINT32_MAX);
    assert_string_equal(received(&s), "4 7 9 ");
    add_child(&s, 7); /* is connected itself */
    send_as(&s, 4, 7);
    send_as(&s, 4, 6);
    send_as(&s, 7, 6);
    assert_string_equal(received(&s), "6 7 ");
    end(&s);
}

TEST(an_invalid_frame_type_closes_the_connection)
{
    struct scene s;
    set(&s, 0);
    add_child(&s, 4);
    add_child(&s, 8);
    struct nt_frame frame = {.type = NT_FRAME_BCAST, .host = 5};
    assert_int_equal(nt_conn_send(&s.peer[4], &frame, NULL, NULL), 0);
    send_as(&s, 8, 8);
    assert_string_equal(received(&s), "8 ");
    assert_false(nt_children_is_online(&s.subtree.children, 4));
    end(&s);
}

TEST(a_unicast_reaches_one_host_only)
{
    struct scene s;
    struct nt_frame all = {.type = NT_FRAME_BCAST, .payload_bytes = 2};
    set(&s, 0);
    add_child(&s, 1);
    add_child(&s, 4);
    add_child(&s, 8);
    send_unicast(&s, 1);
    assert_string_equal(reached(&s), "1 ");
    send_unicast(&s, 6);
    send_unicast(&s, 4);
    assert_string_equal(reached(&s), "4 4 ");
    send_unicast(&s, 2); /* of our block, and not connected */
    send_unicast(&s, 0);
    send_unicast(&s, HOSTS);
    send_unicast(&s, UINT32_MAX);
    assert_string_equal(reached(&s), "");
    add_child(&s, 6);
    send_unicast(&s, 6);
    assert_string_equal(reached(&s), "6 ");
    nt_subtree_send(&s.subtree, &all, "hi");
    assert_string_equal(reached(&s), "1 4 6 8 ");
    end(&s);
    set(&s, 4); /* a block leader */
    add_child(&s, 5);
    add_child(&s, 7);
    send_unicast(&s, 5);
    send_unicast(&s, 6);
    send_unicast(&s, 4);
    send_unicast(&s, 9);
    assert_string_equal(reached(&s), "5 ");
    end(&s);
}

TEST(hosts_of_a_lost_leader_that_do_not_connect_are_lost)
{
    struct scene s;
    set(&s, 0);
    add_child(&s, 2);
    add_child(&s, 4);
    add_child(&s, 8);
    add_child(&s, 6); /* did not wait for 4 */
    assert_string_equal(lost(&s, 10), "");
    close_peer(&s, 4);
    assert_string_equal(received(&s), "");
    assert_string_equal(lost(&s, 10), "4 "); /* the others may still connect */
    assert_string_equal(lost(&s, 10.5), "");
    add_child(&s, 5);
    assert_string_equal(lost(&s, 11), "7 ");
    assert_string_equal(lost(&s, 12), "");
    close_peer(&s, 2);
    close_peer(&s, 6);
    received(&s);
    assert_string_equal(lost(&s, 12), "2 6 ");
    end(&s);
}

TEST(a_new_child_gets_the_announcement)
{
    struct scene s;
    static char long_text[NT_ANNOUNCEMENT_BYTES + 1];
    struct nt_frame frame = {.type = NT_FRAME_START, .payload_bytes = 2};
    set(&s, 0);
    add_child(&s, 1);
    assert_int_equal(nt_subtree_announce(&s.subtree, &frame, "hi"), 0);
    assert_string_equal(reached(&s), "1 ");
    frame.payload_bytes = sizeof long_text;
    assert_int_equal(nt_subtree_announce(&s.subtree, &frame, long_text), -1);
    assert_string_equal(reached(&s), "");
    assert_int_equal(s.subtree.announcement.type, NT_FRAME_START);
    assert_memory_equal(s.subtree.announcement_text, "hi", 2);
    frame = (struct nt_frame){.type = NT_FRAME_DONE, .payload_bytes = NT_ANNOUNCEMENT_BYTES};
    assert_int_equal(nt_subtree_announce(&s.subtree, &frame, long_text), 0);
    assert_int_equal(s.subtree.announcement.payload_bytes, NT_ANNOUNCEMENT_BYTES);
    nt_subtree_reject_late(&s.subtree);
    assert_int_equal(s.subtree.announcement.type, NT_FRAME_DONE);
    assert_memory_equal(s.subtree.announcement_text, "failed ", 7);
    end(&s);
}

RUN_TESTS
