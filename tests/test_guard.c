/* SPDX-License-Identifier: Apache-2.0 */
/* Who may connect to a probe: sockets of the loopback network represent hosts. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "asserts.h"
#include "guard.h"

static int listener;
static struct sockaddr_in at = {.sin_family = AF_INET};

static int listen_anywhere(void **state)
{
    (void)state;
    socklen_t bytes = sizeof at;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    at.sin_addr.s_addr = inet_addr("127.0.0.1");
    return bind(listener, (const struct sockaddr *)&at, sizeof at) == 0 &&
                   listen(listener, 16) == 0 &&
                   getsockname(listener, (struct sockaddr *)&at, &bytes) == 0
               ? 0
               : -1;
}

static int connect_from(const char *source)
{
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = inet_addr(source)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&from, sizeof from), 0);
    assert_true(connect(fd, (const struct sockaddr *)&at, sizeof at) == 0 || errno == EINPROGRESS);
    assert_int_equal(write(fd, "x", 1) == 1 || errno == EAGAIN, 1);
    return fd;
}

static int accept_soon(void)
{
    struct pollfd ready = {.fd = listener, .events = POLLIN};
    poll(&ready, 1, 1000);
    return accept(listener, NULL, NULL);
}

/* The state of the other end: 'x' nothing yet, 'r' a reset, 'e' the end. */
static char end_of(int fd, int wait_ms)
{
    char byte;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    if (poll(&ready, 1, wait_ms) == 0)
        return 'x';
    return read(fd, &byte, 1) == 0 ? 'e' : 'r';
}

static struct nt_source source_of(const char *text)
{
    struct nt_source source = {{[10] = 0xff, [11] = 0xff}};
    assert_int_equal(inet_pton(AF_INET, text, source.at + 12), 1);
    return source;
}

TEST(only_hosts_of_the_job_are_accepted)
{
    int early = connect_from("127.0.0.9"); /* nobody has said that it is not to come */
    int fd = accept_soon();
    assert_at_least(fd, 0);
    close(fd);
    close(early);

    nt_guard_close();
    int stranger = connect_from("127.0.0.9"), host = connect_from("127.0.0.2");
    errno = 0;
    assert_int_equal(accept_soon(), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(end_of(stranger, 20), 'x'); /* it is not known yet who may come */

    const struct nt_source all[] = {source_of("127.0.0.2"), source_of("127.0.0.1"),
                                    source_of("127.0.0.3")};
    must(nt_guard_open(all, 3, &err));
    fd = accept_soon();
    assert_at_least(fd, 0);
    char byte = 0;
    assert_int_equal(recv(fd, &byte, 1, 0), 1);
    assert_int_equal(byte, 'x');
    assert_int_equal(end_of(host, 20), 'x');
    assert_int_equal(end_of(stranger, 1000), 'r');
    close(fd);
    close(host);
    close(stranger);

    /* from now on the kernel drops what strangers send, and own connections: 127.0.0.1 is only
     * this host's */
    stranger = connect_from("127.0.0.9");
    int self = connect_from("127.0.0.1");
    host = connect_from("127.0.0.3");
    fd = accept_soon();
    assert_at_least(fd, 0);
    assert_int_equal(accept(listener, NULL, NULL), -1);
    assert_int_equal(end_of(stranger, 20), 'x');
    assert_int_equal(end_of(self, 20), 'x');
    struct pollfd connected[] = {{.fd = stranger, .events = POLLOUT},
                                 {.fd = self, .events = POLLOUT},
                                 {.fd = host, .events = POLLOUT}};
    assert_int_equal(poll(connected, 3, 20), 1);
    close(fd);
    close(host);
    close(self);
    close(stranger);
}

/* A listener of IPv6 gets connections of IPv4 too, from addresses of the form ::ffff:a.b.c.d. The
 * same sources as before count. */
TEST(the_sources_of_ipv6_connections_are_checked)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    socklen_t bytes = sizeof six;
    int zero = 0, kept = listener;
    in_port_t kept_port = at.sin_port;
    listener = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0);
    setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
    bool up = bind(listener, (const struct sockaddr *)&six, sizeof six) == 0 &&
              listen(listener, 16) == 0 &&
              getsockname(listener, (struct sockaddr *)&six, &bytes) == 0;
    six.sin6_addr = in6addr_loopback;
    at.sin_port = six.sin6_port;
    for (int turn = 0; up && turn < 2; turn++) { /* the second time with the kernel's filter */
        int stranger = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0);
        up = connect(stranger, (const struct sockaddr *)&six, sizeof six) == 0 ||
             errno == EINPROGRESS;
        if (up) {
            assert_int_equal(accept_soon(), -1);
            assert_int_equal(end_of(stranger, 1000), 'r');
            int host = connect_from("127.0.0.2"), other = connect_from("127.0.0.9");
            int fd = accept_soon();
            assert_at_least(fd, 0);
            assert_int_equal(accept(listener, NULL, NULL), -1);
            assert_int_equal(end_of(host, 20), 'x');
            close(fd);
            close(host);
            close(other);
        }
        close(stranger);
    }
    close(listener);
    listener = kept;
    at.sin_port = kept_port;
    if (!up)
        skip(); /* no IPv6 here */
}

TEST(own_addresses_are_found)
{
    struct nt_source own[NT_SOURCES_MAX], loop = source_of("127.0.0.1");
    size_t with = nt_guard_own(true, own), found = 0;
    for (size_t k = 0; k < with; k++)
        found += memcmp(&own[k], &loop, sizeof loop) == 0;
    assert_int_equal(found, 1);
    size_t without = nt_guard_own(false, own);
    assert_below(without, with);
    for (size_t k = 0; k < without; k++)
        assert_memory_not_equal(&own[k], &loop, sizeof loop);
}

int main(void)
{
    return run_group(listen_anywhere, NULL);
}
