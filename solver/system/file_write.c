/* SPDX-License-Identifier: Apache-2.0 */
#include "file_write.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "write_all.h"

static bool is_standard(const char *path)
{
    return strcmp(path, "-") == 0;
}

static int fail_to_write(const char *path, struct nt_err *err)
{
    return nt_err_set(err, NT_ERR_SYSTEM, "cannot write %s: %s",
                      is_standard(path) ? "standard output" : path, strerror(errno));
}

static int write_plain(const char *path, const char *text, size_t bytes, struct nt_err *err)
{
    if (is_standard(path))
        return nt_write_all(STDOUT_FILENO, text, bytes) == 0 ? 0 : fail_to_write(path, err);
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return fail_to_write(path, err);
    int rc = nt_write_all(fd, text, bytes);
    if (close(fd) != 0 || rc != 0)
        return fail_to_write(path, err);
    return 0;
}

/* Returns the mode of a new file. The umask can only be read by setting it. */
static mode_t new_mode(void)
{
    mode_t mask = umask(077);
    umask(mask);
    return 0666 & ~mask;
}

/* Writes a temporary file beside path and renames it, or removes it on error. */
static int write_beside(const char *path, char *beside, mode_t mode, const char *text, size_t bytes)
{
    int fd = mkostemp(beside, O_CLOEXEC);
    if (fd < 0)
        return -1;
    int rc = nt_write_all(fd, text, bytes);
    if (rc == 0)
        rc = fchmod(fd, mode);
    if (rc == 0)
        rc = fsync(fd);
    if (close(fd) != 0)
        rc = -1;
    if (rc == 0)
        rc = rename(beside, path);
    if (rc != 0) {
        int saved = errno;
        unlink(beside);
        errno = saved;
    }
    return rc;
}

int nt_file_write(const char *path, const char *text, size_t bytes, struct nt_err *err)
{
    struct stat there;
    char real[PATH_MAX], beside[PATH_MAX + 16];
    bool exists = !is_standard(path) && stat(path, &there) == 0;
    if (is_standard(path) || (exists && !S_ISREG(there.st_mode)))
        return write_plain(path, text, bytes, err);
    if (exists && realpath(path, real) != NULL) /* replace the target of a link, not the link */
        path = real;
    const char *slash = strrchr(path, '/');
    size_t folder = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    if (strlen(path) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return fail_to_write(path, err);
    }
    snprintf(beside, sizeof beside, "%.*s.nettopo.XXXXXX", (int)folder, path);
    if (write_beside(path, beside, exists ? there.st_mode & 07777 : new_mode(), text, bytes) != 0)
        return fail_to_write(path, err);
    return 0;
}
