/* SPDX-License-Identifier: Apache-2.0 */
#include "control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "change.h"

enum { ANSWER_S = 5 };

static int refuse(const char *path, struct nt_err *err)
{
    return nt_err_set(err, NT_ERR_SYSTEM, "%s: %s", path, strerror(errno));
}

static int make_address(const char *path, struct sockaddr_un *address, struct nt_err *err)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address->sun_path)
        return nt_err_set(err, NT_ERR_SYSTEM, "%s: expected under %zu bytes", path,
                          sizeof address->sun_path);
    memcpy(address->sun_path, path, strlen(path) + 1);
    return 0;
}

int nt_fab_control_open(const char *path, struct nt_err *err)
{
    struct sockaddr_un address;
    if (make_address(path, &address, err) != 0)
        return -1;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return refuse(path, err);
    mode_t mask = umask(0177);
    int status = bind(fd, (struct sockaddr *)&address, sizeof address);
    umask(mask);
    if (status == 0)
        return fd;
    refuse(path, err);
    close(fd);
    return -1;
}

void nt_fab_control_serve(int control, struct nt_fab *fab)
{
    char text[NT_FAB_CHANGE_BYTES + 1];
    struct sockaddr_un from;
    socklen_t length = sizeof from;
    ssize_t got = recvfrom(control, text, sizeof text - 1, 0, (struct sockaddr *)&from, &length);
    if (got < 0)
        return;
    text[got] = '\0';
    struct nt_err err = {0};
    (void)nt_fab_change(fab, text, &err);
    sendto(control, err.text, strlen(err.text), MSG_DONTWAIT, (struct sockaddr *)&from, length);
}

/* A socket with a name that the kernel chose, so that there can be an answer. */
static int connect_to(const char *path, struct nt_err *err)
{
    struct sockaddr_un to, own = {.sun_family = AF_UNIX};
    struct timeval timeout = {.tv_sec = ANSWER_S};
    if (make_address(path, &to, err) != 0)
        return -1;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return refuse(path, err);
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) == 0 &&
        bind(fd, (struct sockaddr *)&own, sizeof own.sun_family) == 0 &&
        connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    refuse(path, err);
    close(fd);
    return -1;
}

int nt_fab_control_ask(const char *path, char *const *words, int count, struct nt_err *err)
{
    char text[NT_FAB_CHANGE_BYTES] = "", answer[NT_ERR_TEXT_BYTES];
    size_t length = 0;
    for (int k = 0; k < count && length < sizeof text; k++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", k > 0 ? " " : "",
                                   words[k]);
    if (length >= sizeof text)
        return nt_err_set(err, NT_ERR_INPUT, "expected under %zu bytes", sizeof text);
    int fd = connect_to(path, err);
    if (fd < 0)
        return -1;
    ssize_t got = -1;
    if (send(fd, text, length, 0) >= 0)
        got = recv(fd, answer, sizeof answer - 1, 0);
    int status = 0;
    if (got < 0) {
        status = refuse(path, err);
    } else if (got > 0) {
        answer[got] = '\0';
        status = nt_err_set(err, NT_ERR_INPUT, "%s", answer);
    }
    close(fd);
    return status;
}
