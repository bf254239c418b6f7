/* SPDX-License-Identifier: Apache-2.0 */
/* What a process's TCP connections sent again. Loss itself is shown by bench_blame_wire. */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "asserts.h"
#include "resent.h"

TEST(a_difference_is_never_negative)
{
    struct nt_resent few = {10, 2}, many = {30, 7};
    struct nt_resent d = nt_resent_since(few, many);
    assert_int_equal(d.segments, 20);
    assert_int_equal(d.again, 5);
    d = nt_resent_since(many, few);
    assert_int_equal(d.segments, 0);
    assert_int_equal(d.again, 0);
}

/* What a launcher says to its processes on this machine is no measurement. */
TEST(connections_to_this_machine_do_not_count)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    char text[1000] = {0};
    struct nt_resent before = nt_resent_read();
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &bytes), 0);
    int out = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(out, (struct sockaddr *)&at, sizeof at), 0);
    int in = accept(listener, NULL, NULL);
    assert_int_equal(write(out, text, sizeof text), sizeof text);
    struct nt_resent d = nt_resent_since(before, nt_resent_read());
    assert_int_equal(d.segments, 0);
    assert_int_equal(d.again, 0);
    close(in);
    close(out);
    close(listener);
}

RUN_TESTS
