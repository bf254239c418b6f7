/* SPDX-License-Identifier: Apache-2.0 */
/* A socket whose last close takes LINGER_S: its peer reads nothing. */
#ifndef NT_TEST_LINGERING_H
#define NT_TEST_LINGERING_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINGER_S = 60 };

/* Accepts nothing and reads nothing; *port is where it listens. -1 on error. */
static int open_silent(uint16_t *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 1) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &bytes) != 0)
        return -1;
    *port = ntohs(at.sin_port);
    return fd;
}

/* Connected to that port, with more to send than is taken. -1 on error. */
static int open_lingering(uint16_t port)
{
    static char much[1 << 16];
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct linger linger = {.l_onoff = 1, .l_linger = LINGER_S};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) != 0)
        return -1;
    while (send(fd, much, sizeof much, MSG_DONTWAIT) > 0)
        ;
    return setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) == 0 ? fd : -1;
}

/* Passes fd along with one byte. */
static int pass_descriptor(int through, int fd)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.head = {.cmsg_level = SOL_SOCKET,
                          .cmsg_type = SCM_RIGHTS,
                          .cmsg_len = CMSG_LEN(sizeof(int))}};
    struct iovec part = {.iov_base = "x", .iov_len = 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    return sendmsg(through, &message, 0) == 1 ? 0 : -1;
}

#endif
