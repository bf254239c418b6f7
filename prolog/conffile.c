/* SPDX-License-Identifier: Apache-2.0 */
#include "conffile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check_owner(int fd, const char *path, struct nt_err *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return nt_err_set(err, NT_ERR_INPUT, "%s: not a regular file", path);
    if ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & 022) != 0)
        return nt_err_set(err, NT_ERR_INPUT, "%s: writable by users other than root", path);
    return 0;
}

/* The number of bytes, or -1. */
static ssize_t read_text(int fd, char *text, size_t room)
{
    size_t have = 0;
    while (have < room) {
        ssize_t n = read(fd, text + have, room - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

int nt_conffile_read(const char *path, bool is_optional, struct nt_conf *conf, struct nt_err *err)
{
    nt_conf_default(conf);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT && is_optional)
        return 0;
    if (fd < 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "%s: %s", path, strerror(errno));
    int rc = check_owner(fd, path, err);
    char *text = malloc(NT_CONF_TEXT_MAX + 1);
    ssize_t bytes = rc == 0 && text != NULL ? read_text(fd, text, NT_CONF_TEXT_MAX + 1) : -1;
    if (rc == 0 && bytes < 0)
        rc = nt_err_set(err, NT_ERR_SYSTEM, "%s: cannot be read", path);
    if (rc == 0)
        rc = nt_conf_parse(path, text, (size_t)bytes, conf, err);
    free(text);
    close(fd);
    return rc;
}
