/* SPDX-License-Identifier: Apache-2.0 */
/* A member on its way to its leader: imitators, addresses that do not answer, and no leader at all.
 */
#include "asserts.h"
#include "relay_scene.h"

/* Listens on the job's first ports before its leader does, and sends that job's HELLO. */
struct imitators {
    size_t n;
    int ear[NT_PORT_TRIES], open[64];
    size_t opens;
    bool refuse; /* the proof, as another job's leader does */
    bool more;   /* a byte in the step after the HELLO */
    size_t mores;
    size_t proofs;
};

static void imitate(const struct scene *s, struct imitators *i)
{
    for (size_t k = 0; k < i->n; k++) {
        int one = 1;
        struct sockaddr_in at = {.sin_family = AF_INET,
                                 .sin_port = htons(nt_port_candidate(&s->conf, s->leader.id, k)),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        i->ear[k] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        setsockopt(i->ear[k], SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        assert_int_equal(bind(i->ear[k], (struct sockaddr *)&at, sizeof at), 0);
        assert_int_equal(listen(i->ear[k], 5), 0);
    }
}

static void imitators_step(const struct scene *s, struct imitators *i)
{
    unsigned char bytes[NT_FRAME_HEAD_BYTES + NT_HELLO_BYTES];
    struct nt_hello hello = {
        .version = nt_auth_version(), .job = s->leader.id, .restart = s->leader.restart};
    struct nt_frame frame = {.type = NT_FRAME_HELLO, .payload_bytes = NT_HELLO_BYTES};
    nt_frame_encode(&frame, bytes);
    nt_hello_encode(&hello, bytes + NT_FRAME_HEAD_BYTES);
    for (; i->more && i->mores < i->opens; i->mores++)
        assert_int_equal(send(i->open[i->mores], bytes, 1, MSG_NOSIGNAL), 1);
    for (size_t k = 0; k < i->n; k++) {
        int fd = accept4(i->ear[k], NULL, NULL, SOCK_NONBLOCK);
        if (fd < 0)
            continue;
        assert_int_equal(send(fd, bytes, sizeof bytes, MSG_NOSIGNAL), (ssize_t)sizeof bytes);
        if (i->opens < sizeof i->open / sizeof *i->open)
            i->open[i->opens++] = fd;
        else
            close(fd);
    }
    for (size_t k = 0; k < i->opens && i->refuse;) {
        if (recv(i->open[k], bytes, sizeof bytes, 0) <= 0) {
            k++;
            continue;
        }
        i->proofs++;
        close(i->open[k]);
        i->open[k] = i->open[--i->opens];
    }
}

/* As connect_both, among imitators. */
static bool connect_among(struct scene *s, struct imitators *i, struct nt_connector *connector,
                          double seconds)
{
    struct nt_conn a, b;
    size_t host;
    bool in = false, out = false;
    for (double until = now_s + seconds; !(in && out) && now_s < until; pass_ms()) {
        imitators_step(s, i);
        in = in || nt_listener_step(&s->listener, &host, &a) == 1;
        out = out || nt_connector_step(connector, &b) == 1;
    }
    if (in)
        nt_conn_fini(&a);
    if (out)
        nt_conn_fini(&b);
    return in && out;
}

/* Each costs a proof that nobody can use, and not the time for its answer; one that refuses it gets
 * no other before the leader has one. */
TEST(imitators_of_the_leader_do_not_delay_a_member)
{
    static const size_t counts[] = {1, 3, NT_PORT_TRIES - 1};
    if (munge.pid == 0)
        skip();
    for (size_t c = 0; c < 2 * sizeof counts / sizeof *counts; c++) {
        struct scene s;
        struct imitators i = {.n = counts[c / 2], .refuse = c % 2 != 0};
        struct nt_connector connector;
        set(&s);
        nt_listener_fini(&s.listener);
        imitate(&s, &i);
        assert_int_equal(nt_listener_open(&s.listener, &s.conf, &s.leader, &s.leader_client, NULL),
                         0);
        nt_connector_init(&connector, &s.conf, &s.member, &s.member_client, 0, &s.addresses);
        /* less than one waits for an answer to its proof */
        assert_true(connect_among(&s, &i, &connector, 1.9));
        assert_at_most(i.proofs, i.n);
        nt_connector_fini(&connector);
        nt_listener_fini(&s.listener);
        for (size_t k = 0; k < i.n; k++)
            close(i.ear[k]);
        while (i.opens > 0)
            close(i.open[--i.opens]);
    }
}

/* The first address answers nothing: its backlog is full, and it drops requests. */
TEST(an_address_that_does_not_answer_costs_no_time)
{
    struct scene s;
    struct nt_connector connector;
    struct nt_conn a, b;
    size_t host;
    if (munge.pid == 0)
        skip();
    set(&s);
    int full = socket(AF_INET, SOCK_STREAM, 0), waits[8];
    struct sockaddr_in dead = {.sin_family = AF_INET,
                               .sin_port = htons(nt_port_candidate(&s.conf, s.leader.id, 0)),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1)};
    assert_int_equal(nt_port_count(&s.conf), NT_PORT_TRIES);
    nt_listener_fini(&s.listener);
    assert_int_equal(bind(full, (struct sockaddr *)&dead, sizeof dead), 0);
    assert_int_equal(listen(full, 0), 0);
    for (size_t k = 0; k < 8; k++) {
        waits[k] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(waits[k], (struct sockaddr *)&dead, sizeof dead);
    }
    s.conf.port_first = s.conf.port_last = ntohs(dead.sin_port);
    struct sockaddr_in live = dead;
    live.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    memcpy(&s.addresses.at[0], &dead, sizeof dead);
    memcpy(&s.addresses.at[1], &live, sizeof live);
    s.addresses.count = 2;
    s.listener.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    int one = 1;
    setsockopt(s.listener.fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    assert_int_equal(bind(s.listener.fd, (struct sockaddr *)&live, sizeof live), 0);
    assert_int_equal(listen(s.listener.fd, 5), 0);
    s.listener.port = ntohs(live.sin_port);
    nt_connector_init(&connector, &s.conf, &s.member, &s.member_client, 0, &s.addresses);
    assert_true(
        connect_both(&s, &connector, 0.9, &host, &a, &b)); /* before a request is repeated */
    nt_conn_fini(&a);
    nt_conn_fini(&b);
    nt_connector_fini(&connector);
    nt_listener_fini(&s.listener);
    for (size_t k = 0; k < 8; k++)
        close(waits[k]);
    close(full);
}

/* Without a leader a member tries again more and more rarely. */
TEST(a_member_without_a_leader_backs_off)
{
    struct scene s;
    struct nt_connector connector;
    struct nt_conn conn;
    struct pollfd polls[NT_CONNECTOR_ATTEMPTS];
    size_t count, steps = 0;
    set(&s);
    nt_listener_fini(&s.listener);
    nt_connector_init(&connector, &s.conf, &s.member, &s.member_client, 0, &s.addresses);
    for (double until = now_s + 1; now_s < until && steps < 1000; steps++) {
        assert_int_equal(nt_connector_step(&connector, &conn), 0);
        double wake = nt_connector_pollfds(&connector, polls, &count);
        if (poll(polls, (nfds_t)count, 0) == 0)
            now_s = wake + 1e-3;
    }
    /* eight ports, each after 10, 20, 40, 80, 160 ms and then every 100 to 200; it was over 500 */
    assert_in_range(steps, 4, 8 * 15);
    nt_connector_fini(&connector);
}

/* What comes after a HELLO is not read before its turn, and does not wake the member either. */
TEST(bytes_before_their_turn_wake_nobody)
{
    if (munge.pid == 0)
        skip();
    struct scene s;
    struct imitators i = {.n = 3, .more = true};
    struct nt_connector connector;
    struct nt_conn conn;
    struct pollfd polls[NT_CONNECTOR_ATTEMPTS];
    size_t count, steps = 0;
    set(&s);
    nt_listener_fini(&s.listener);
    imitate(&s, &i);
    nt_connector_init(&connector, &s.conf, &s.member, &s.member_client, 0, &s.addresses);
    for (double until = now_s + 0.5; now_s < until && steps < 1000; steps++) {
        imitators_step(&s, &i);
        assert_int_equal(nt_connector_step(&connector, &conn), 0);
        double wake = fmin(nt_connector_pollfds(&connector, polls, &count), now_s + 0.01);
        if (poll(polls, (nfds_t)count, 0) == 0)
            now_s = fmax(now_s, wake + 1e-3);
    }
    assert_in_range(steps, 4, 300); /* of ports that nobody has, and of ten milliseconds each */
    nt_connector_fini(&connector);
    for (size_t k = 0; k < i.n; k++)
        close(i.ear[k]);
    while (i.opens > 0)
        close(i.open[--i.opens]);
}

int main(void)
{
    first_port += 64;
    return run_group(start, stop);
}
