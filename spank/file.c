/* SPDX-License-Identifier: Apache-2.0 */
#include "file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char DEFAULT_CONF[] = NT_SYSCONFDIR "/nettopo/nettopo.conf";

static int check_owner(int fd, const char *path, struct nt_err *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode) || st.st_uid != 0 || (st.st_mode & 022) != 0)
        return nt_err_set(err, NT_ERR_INPUT, "%s must be a regular file that only root can write",
                          path);
    return 0;
}

static int read_all(int fd, const char *path, size_t max_bytes, char *text, size_t *bytes,
                    struct nt_err *err)
{
    size_t have = 0;
    for (;;) {
        ssize_t n = read(fd, text + have, max_bytes + 1 - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return nt_err_set(err, NT_ERR_SYSTEM, "%s: %s", path, strerror(errno));
        have += (size_t)n;
        if (have > max_bytes)
            return nt_err_set(err, NT_ERR_INPUT, "%s is larger than %zu bytes", path, max_bytes);
        if (n == 0)
            break;
    }
    *bytes = have;
    return 0;
}

int nt_file_load(const char *path, size_t max_bytes, char **text, size_t *bytes, bool *missing,
                 struct nt_err *err)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (missing != NULL)
        *missing = fd < 0 && errno == ENOENT;
    if (fd < 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "%s: %s", path, strerror(errno));
    int rc = -1;
    char *buffer = malloc(max_bytes + 1);
    if (buffer == NULL)
        nt_err_set(err, NT_ERR_SYSTEM, "%s: out of memory", path);
    else if (check_owner(fd, path, err) == 0)
        rc = read_all(fd, path, max_bytes, buffer, bytes, err);
    close(fd);
    if (rc != 0) {
        free(buffer);
        return -1;
    }
    *text = buffer;
    return 0;
}

bool nt_file_job_is_unfinished(const char *run_dir, uint32_t job)
{
    char begun[32];
    bool found = false;
    int n =
        snprintf(begun, sizeof begun, "%u.tmp-", job); /* the name that prolog/publish.c gives it */
    DIR *dir = opendir(run_dir);
    if (dir == NULL)
        return false;
    for (struct dirent *e; !found && (e = readdir(dir)) != NULL;)
        found = strncmp(e->d_name, begun, (size_t)n) == 0;
    closedir(dir);
    return found;
}

int nt_file_read_conf(const char *path, struct nt_conf *conf, struct nt_err *err)
{
    char *text;
    size_t bytes;
    bool missing, is_default = path == NULL;
    nt_conf_default(conf);
    if (is_default)
        path = DEFAULT_CONF;
    if (nt_file_load(path, NT_CONF_TEXT_MAX, &text, &bytes, &missing, err) != 0)
        return is_default && missing ? 0 : -1;
    int rc = nt_conf_parse(path, text, bytes, conf, err);
    free(text);
    return rc;
}
