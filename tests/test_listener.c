/* SPDX-License-Identifier: Apache-2.0 */
#include <net/if.h>

#include "asserts.h"
#include "relay_scene.h"

static int connect_raw(const struct scene *s)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(s->listener.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* Steps both until the connector has found its leader and has an error; no member may be accepted.
 */
static void expect_rejected(struct scene *s, struct nt_connector *connector)
{
    struct nt_conn conn;
    size_t host;
    for (double until = now_s + 5;
         !(connector->leader_found && connector->last_error.kind != NT_ERR_NONE) && now_s < until;
         pass_ms()) {
        assert_int_equal(nt_listener_step(&s->listener, &host, &conn), 0);
        assert_int_equal(nt_connector_step(connector, &conn), 0);
    }
    assert_int_not_equal(connector->last_error.kind, NT_ERR_NONE);
}

/* Steps the listener for some time, and until that many connections are pending; no member may be
 * accepted. */
static void nobody_is_accepted(struct scene *s, double seconds, size_t pending)
{
    struct nt_conn conn;
    size_t host;
    double least = now_s + seconds, most = now_s + 5;
    for (; now_s < least || (s->listener.pending_count != pending && now_s < most); pass_ms())
        assert_int_equal(nt_listener_step(&s->listener, &host, &conn), 0);
    assert_int_equal(s->listener.pending_count, pending);
}

TEST(leader_and_member_connect_and_exchange_frames)
{
    struct scene s;
    struct nt_connector connector;
    struct nt_conn a, b;
    size_t host = 99;
    if (munge.pid == 0)
        skip();
    set(&s);
    nt_connector_init(&connector, &s.conf, &s.member, &s.member_client, 0, &s.addresses);
    if (!connect_both(&s, &connector, 5, &host, &a, &b))
        fail_msg("%s / %s", connector.last_error.text, s.listener.last_error.text);
    assert_int_equal(host, 1);
    struct nt_frame frame = {.type = NT_FRAME_BCAST, .payload_bytes = 2};
    const unsigned char *payload;
    assert_int_equal(nt_conn_send(&a, &frame, "hi", NULL), 0);
    int got = 0;
    for (double until = now_s + 5; got == 0 && now_s < until; pass_ms())
        got = nt_conn_next(&b, &frame, &payload, NULL);
    assert_int_equal(got, 1);
    assert_memory_equal(payload, "hi", 2);
    nt_conn_fini(&a);
    nt_conn_fini(&b);
    nt_connector_fini(&connector);
    nt_listener_fini(&s.listener);
    nt_listener_fini(&s.listener);
}

TEST(a_port_in_use_is_skipped)
{
    struct scene first, s;
    struct nt_connector connector;
    struct nt_conn a, b;
    size_t host;
    if (munge.pid == 0)
        skip();
    set(&first); /* another job's leader has the port and sends its own HELLO */
    set(&s);
    assert_int_not_equal(first.listener.port, s.listener.port);
    first.leader.id++;
    struct nt_conn none;
    size_t nobody;
    nt_connector_init(&connector, &s.conf, &s.member, &s.member_client, 0, &s.addresses);
    bool met = false, in = false, out = false;
    for (double until = now_s + 5; !met && now_s < until; pass_ms()) {
        assert_int_equal(nt_listener_step(&first.listener, &nobody, &none), 0);
        in = in || nt_listener_step(&s.listener, &host, &a) == 1;
        out = out || nt_connector_step(&connector, &b) == 1;
        met = in && out;
    }
    assert_true(met);
    nt_conn_fini(&a);
    nt_conn_fini(&b);
    nt_connector_fini(&connector);
    nt_listener_fini(&first.listener);
    nt_listener_fini(&s.listener);
}

TEST(another_restart_or_host_is_rejected)
{
    struct scene s;
    struct nt_connector connector;
    struct nt_conn a, b;
    size_t host;
    static char *other_names[] = {"n1", "nX", "n3"};
    if (munge.pid == 0)
        skip();
    set(&s);
    for (int k = 0; k < 3; k++) {
        struct nt_job member = s.member;
        if (k == 0)
            member.restart = 0; /* an agent of the previous run */
        else if (k == 1)
            member.host = other_names; /* has another host list */
        else
            member.self = 0; /* claims to be the leader */
        struct nt_service service;
        struct nt_client client = client_of(&service, &s.conf, &member);
        nt_connector_init(&connector, &s.conf, &member, &client, 0, &s.addresses);
        expect_rejected(&s, &connector);
        assert_false(connect_both(&s, &connector, 0.3, &host, &a, &b)); /* nor on another attempt */
        nt_connector_fini(&connector);
    }
    assert_above(s.listener.refused, 0);
    nt_listener_fini(&s.listener);
}

/* Each side says which releases the two hosts have, and no proof is made. */
TEST(another_version_is_refused_on_both_sides)
{
    struct scene s;
    struct nt_connector connector;
    struct nt_conn conn;
    size_t host;
    set(&s);
    nt_connector_init(&connector, &s.conf, &s.member, &s.member_client, 0, &s.addresses);
    s.listener.version = 0x03000200;
    connector.version = 0x03000109;
    expect_rejected(&s, &connector);
    assert_string_equal(connector.last_error.text,
                        "n1 has nettopo 0.2.0 (protocol 3), this host 0.1.9 (protocol 3). Install "
                        "one version on all hosts.");
    for (double until = nt_clock_s() + 60; s.listener.refused == 0 && nt_clock_s() < until;
         poll(NULL, 0, 1))
        assert_int_equal(nt_listener_step(&s.listener, &host, &conn), 0);
    assert_string_equal(s.listener.last_error.text,
                        "n2 has nettopo 0.1.9 (protocol 3), this host 0.2.0 (protocol 3). Install "
                        "one version on all hosts.");
    nt_connector_fini(&connector);
    nt_listener_fini(&s.listener);
}

TEST(agents_from_before_releases_are_named_as_older)
{
    assert_int_equal(nt_auth_refuse_version("n2", 2, nt_auth_version(), &err), -1);
    assert_string_equal(
        err.text,
        "n2 has an older nettopo (protocol 2) than this host. Install one version on all hosts.");
}

TEST(without_munge_no_member_is_accepted)
{
    struct scene s;
    struct nt_connector connector;
    struct nt_conn a, b;
    size_t host;
    if (munge.pid == 0)
        skip();
    set(&s);
    struct nt_conf deaf = s.conf;
    snprintf(deaf.munge_socket, sizeof deaf.munge_socket, "/nonexistent/socket");
    s.member_client = client_of(&s.member_service, &deaf, &s.member);
    nt_connector_init(&connector, &deaf, &s.member, &s.member_client, 0, &s.addresses);
    expect_rejected(&s, &connector);
    assert_non_null(strstr(connector.last_error.text, "munge: "));
    assert_false(connect_both(&s, &connector, 0.3, &host, &a, &b));
    nt_connector_fini(&connector);
    nt_listener_fini(&s.listener);
}

TEST(garbage_and_idle_connections_do_not_block_members)
{
    struct scene s;
    struct nt_connector connector;
    struct nt_conn a, b;
    size_t host;
    int idle[NT_LISTENER_PENDING_MAX + 20];
    unsigned char head[NT_FRAME_HEAD_BYTES];
    if (munge.pid == 0)
        skip();
    set(&s);
    int fd = connect_raw(&s);
    assert_int_equal(write(fd, "GET / HTTP/1.0\r\n\r\n............", 30), 30);
    nobody_is_accepted(&s, 0.05, 0);
    close(fd);
    fd = connect_raw(&s); /* a frame over the limit for pending connections */
    nt_frame_encode(
        &(struct nt_frame){.type = NT_FRAME_PROOF, .payload_bytes = NT_FRAME_PAYLOAD_MAX}, head);
    assert_int_equal(write(fd, head, sizeof head), sizeof head);
    nobody_is_accepted(&s, 0.05, 0);
    close(fd);
    for (size_t k = 0; k < NT_LISTENER_PENDING_MAX + 20; k++) {
        idle[k] = connect_raw(&s);
        if (k % 16 == 0 && k < NT_LISTENER_PENDING_MAX)
            nobody_is_accepted(&s, 0, k + 1);
    }
    nobody_is_accepted(&s, 0.05, NT_LISTENER_PENDING_MAX);
    nt_connector_init(&connector, &s.conf, &s.member, &s.member_client, 0, &s.addresses);
    assert_true(connect_both(&s, &connector, 3, &host, &a, &b));
    nt_conn_fini(&a);
    nt_conn_fini(&b);
    nobody_is_accepted(&s, 1.1, 0); /* they time out */
    for (size_t k = 0; k < NT_LISTENER_PENDING_MAX + 20; k++)
        close(idle[k]);
    nt_connector_fini(&connector);
    nt_listener_fini(&s.listener);
}

static int connect_as(const struct scene *s, const char *source)
{
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = inet_addr(source)},
                       to = {.sin_family = AF_INET,
                             .sin_port = htons(s->listener.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
    connect(fd, (struct sockaddr *)&to, sizeof to);
    return fd;
}

/* Seconds until a member is in while machines connect 2,000 times a second each and send nothing.
 * The member comes from another address. */
static double time_to_join(unsigned machines)
{
    enum { PER_MS = 2, BACKLOG_MS = 400, OPEN = 4096 };
    struct scene s;
    struct nt_connector connector;
    struct nt_conn a, b;
    size_t host, n = 0;
    static int flood[OPEN]; /* the last of them are open */
    bool in = false, out = false;
    double began = NAN;
    set(&s);
    nt_connector_init(&connector, &s.conf, &s.member, &s.member_client, 0, &s.addresses);
    for (unsigned ms = 0; (!in || !out) && ms < BACKLOG_MS + 5000; ms++, pass_ms()) {
        for (unsigned k = 0; k < machines * PER_MS; k++, n++) {
            char source[16];
            snprintf(source, sizeof source, "127.0.0.%u", 9 + k % machines);
            if (n >= OPEN)
                close(flood[n % OPEN]);
            flood[n % OPEN] = connect_as(&s, source);
        }
        in = in || nt_listener_step(&s.listener, &host, &a) == 1;
        if (ms < BACKLOG_MS) /* as many as wait otherwise */
            continue;
        began = isnan(began) ? now_s : began;
        out = out || nt_connector_step(&connector, &b) == 1;
    }
    assert_true(in && out);
    assert_int_equal(host, 1);
    nt_conn_fini(&a);
    nt_conn_fini(&b);
    for (size_t k = 0; k < OPEN && k < n; k++)
        close(flood[k]);
    nt_connector_fini(&connector);
    nt_listener_fini(&s.listener);
    return now_s - began;
}

TEST(machines_delay_a_member_little)
{
    static const unsigned machines[] = {1, 16};
    if (munge.pid == 0)
        skip();
    for (size_t k = 0; k < sizeof machines / sizeof *machines; k++) {
        double took = time_to_join(machines[k]);
        print_message("beside %u flooding machines a member joins after %.3f s\n", machines[k],
                      took);
        assert_below(took, 0.05);
    }
}

/* Without a free descriptor the listener pauses, and accepts the waiting connection later. */
TEST(without_descriptors_the_listener_pauses)
{
    struct scene s;
    struct rlimit usual, none;
    struct pollfd polls[NT_LISTENER_POLLFDS];
    struct nt_conn conn;
    size_t host;
    set(&s);
    int fd = connect_raw(&s);
    assert_int_equal(poll(polls, (nfds_t)nt_listener_pollfds(&s.listener, polls), 2000), 1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    none = usual;
    none.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int got = nt_listener_step(&s.listener, &host, &conn);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    assert_int_equal(got, 0);
    assert_int_equal(s.listener.pending_count, 0);
    assert_int_equal(poll(polls, (nfds_t)nt_listener_pollfds(&s.listener, polls), 0), 0);
    for (double until = now_s + 5;
         poll(polls, (nfds_t)nt_listener_pollfds(&s.listener, polls), 0) == 0; pass_ms())
        assert_below(now_s, until);
    nobody_is_accepted(&s, 0, 1);
    close(fd);
    nt_listener_fini(&s.listener);
}

/* A process on an earlier port of the leader's host relays every byte between the two. */
TEST(a_relay_on_another_port_is_detected)
{
    struct scene s, trap;
    struct nt_connector connector;
    struct nt_conn a, b;
    size_t host;
    if (munge.pid == 0)
        skip();
    set(&trap); /* takes the first port */
    set(&s);
    uint16_t port = trap.listener.port;
    nt_listener_fini(&trap.listener);
    int one = 1, ear = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    setsockopt(ear, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(bind(ear, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(ear, 5), 0);
    /* the member may only use the relay's port */
    struct nt_conf narrow = s.conf;
    narrow.port_first = narrow.port_last = port;
    nt_connector_init(&connector, &narrow, &s.member, &s.member_client, 0, &s.addresses);
    int in = -1, out = -1;
    size_t passed = 0;
    for (double until = now_s + 5; s.listener.last_error.kind == NT_ERR_NONE && now_s < until;
         pass_ms()) {
        unsigned char bytes[8192];
        ssize_t n;
        assert_int_equal(nt_listener_step(&s.listener, &host, &a), 0);
        assert_int_equal(nt_connector_step(&connector, &b), 0);
        if (in < 0 && (in = accept4(ear, NULL, NULL, SOCK_NONBLOCK)) >= 0)
            out = connect_raw(&s);
        if (in < 0)
            continue;
        while ((n = recv(out, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
            assert_int_equal(send(in, bytes, (size_t)n, MSG_NOSIGNAL), n);
        while ((n = recv(in, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
            passed += (size_t)n;
            if (send(out, bytes, (size_t)n, MSG_NOSIGNAL) != n)
                break;
        }
    }
    assert_above(passed, NT_FRAME_HEAD_BYTES + NT_NONCE_BYTES); /* the proof was relayed */
    assert_string_equal(s.listener.last_error.text,
                        "munge: credential does not match the connection");
    close(in);
    close(out);
    close(ear);
    nt_connector_fini(&connector);
    nt_listener_fini(&s.listener);
}

/* As an ordinary user's: closed, whatever they send, and they take no slot. */
TEST(connections_from_other_ports_take_no_slot)
{
    struct scene s;
    struct nt_connector connector;
    struct nt_conn a, b;
    size_t host;
    int fd[200];
    if (munge.pid == 0 || geteuid() != 0)
        skip();
    set(&s);
    nt_listener_fini(&s.listener);
    s.conf.reserved_ports = true;
    assert_int_equal(nt_listener_open(&s.listener, &s.conf, &s.leader, &s.leader_client, NULL), 0);
    for (size_t k = 0; k < 200; k++)
        fd[k] = connect_raw(&s);
    nt_connector_init(&connector, &s.conf, &s.member, &s.member_client, 0, &s.addresses);
    assert_true(connect_both(&s, &connector, 5, &host, &a, &b));
    assert_int_equal(s.listener.strangers, 200);
    assert_int_equal(s.listener.refused, 0);
    assert_int_equal(s.listener.pending_count, 0);
    nt_conn_fini(&a);
    nt_conn_fini(&b);
    for (size_t k = 0; k < 200; k++)
        close(fd[k]);
    nt_connector_fini(&connector);
    nt_listener_fini(&s.listener);
}

TEST(it_listens_on_the_device_that_is_named)
{
    struct scene s;
    struct nt_err err;
    char device[IFNAMSIZ] = "";
    socklen_t bytes = sizeof device;
    set(&s);
    nt_listener_fini(&s.listener);
    snprintf(s.conf.interface, sizeof s.conf.interface, "lo");
    if (nt_listener_open(&s.listener, &s.conf, &s.leader, &s.leader_client, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(getsockopt(s.listener.fd, SOL_SOCKET, SO_BINDTODEVICE, device, &bytes), 0);
    assert_string_equal(device, "lo");
    nt_listener_fini(&s.listener);
    snprintf(s.conf.interface, sizeof s.conf.interface, "nowhere0");
    assert_int_equal(nt_listener_open(&s.listener, &s.conf, &s.leader, &s.leader_client, &err), -1);
}

TEST(ports_stay_in_their_range)
{
    struct nt_conf conf;
    nt_conf_default(&conf);
    static const uint32_t jobs[] = {1, 127, 128, 4294967293u};
    for (size_t j = 0; j < 4; j++)
        for (size_t k = 0; k < nt_port_count(&conf); k++) {
            uint16_t port = nt_port_candidate(&conf, jobs[j], k);
            assert_in_range(port, conf.port_first, conf.port_last);
        }
    conf.port_last = conf.port_first;
    assert_int_equal(nt_port_count(&conf), 1);
    conf.port_first = 65535;
    conf.port_last = 65535;
    assert_int_equal(nt_port_candidate(&conf, 7, 0), 65535);
}

int main(void)
{
    return run_group(start, stop);
}
