/* SPDX-License-Identifier: Apache-2.0 */
#include "archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "archive_prune.h"
#include "publish.h"
#include "write_all.h"

enum { NAME_BYTES = 128, COMMENT_BYTES = 65536, PIECE_BYTES = 65536 };

static int archive_error(const struct nt_conf *conf, const char *what, struct nt_err *err)
{
    return nt_err_set(err, NT_ERR_SYSTEM, "archive %s: %s: %s", conf->archive.dir, what,
                      strerror(errno));
}

/* Returns whether the list contains only characters of host lists. Readers split the comment at
 * spaces. */
static bool is_host_list(const char *list)
{
    return list != NULL && list[0] != '\0' &&
           strspn(list, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                        ".-_,[]") == strlen(list);
}

/* Writes the gzip header: magic, deflate, with a comment, no time, fastest, Unix. Returns its
 * number of bytes; 0: too long. */
static size_t format_head(const struct nt_job *job, int64_t time_s, char *text, size_t room)
{
    static const unsigned char gzip[10] = {0x1f, 0x8b, 8, 0x10, 0, 0, 0, 0, 4, 3};
    memcpy(text, gzip, sizeof gzip);
    int n =
        snprintf(text + sizeof gzip, room - sizeof gzip,
                 "nettopo-archive/1%s%s job=%u restart=%u uid=%u time=%lld%s%s",
                 job->cluster[0] != '\0' ? " cluster=" : "", job->cluster, job->id, job->restart,
                 (unsigned)job->uid, (long long)time_s, is_host_list(job->list) ? " hosts=" : "",
                 is_host_list(job->list) ? job->list : "");
    return n > 0 && (size_t)n < room - sizeof gzip ? sizeof gzip + (size_t)n + 1 : 0;
}

static int copy(const struct nt_conf *conf, int from, int to, struct nt_err *err)
{
    char piece[PIECE_BYTES];
    size_t left = conf->publish_limit_bytes;
    off_t at = 0;
    ssize_t n;
    while ((n = pread(from, piece, sizeof piece, at)) > 0) {
        if ((size_t)n > left)
            return nt_err_set(err, NT_ERR_SYSTEM,
                              "archive: the files of the job are larger than publish_limit");
        if (nt_write_all(to, piece, (size_t)n) != 0)
            return archive_error(conf, "write", err);
        left -= (size_t)n;
        at += n;
    }
    return n == 0 ? 0 : archive_error(conf, "read", err);
}

static int check_room(const struct nt_conf *conf, int folder, int fd, struct nt_err *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return archive_error(conf, "stat", err);
    if (nt_space_check_free(folder, (size_t)st.st_size + COMMENT_BYTES, NULL) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "archive %s: the file system is full",
                          conf->archive.dir);
    return 0;
}

struct head {
    size_t bytes;
    char text[COMMENT_BYTES];
};

static int write_file(const struct nt_conf *conf, const struct head *head, int folder,
                      const char *name, int from, struct nt_err *err)
{
    unlinkat(folder, name, 0);
    int to = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0)
        return archive_error(conf, name, err);
    int rc = nt_write_all(to, head->text, head->bytes) == 0 &&
                     fchmod(to, (mode_t)conf->archive.mode) == 0
                 ? copy(conf, from, to, err)
                 : archive_error(conf, name, err);
    if (rc == 0 && fsync(to) != 0) /* a file with its final name is complete, also after a crash */
        rc = archive_error(conf, name, err);
    if (close(to) != 0 && rc == 0)
        rc = archive_error(conf, name, err);
    return rc;
}

int nt_archive_keep(const struct nt_conf *conf, const struct nt_job *job, int fd, int64_t time_s,
                    struct nt_err *err)
{
    static struct head head; /* too large for the stack */
    char name[NAME_BYTES], beside[NAME_BYTES];
    snprintf(name, sizeof name, "%u.%u.%s.gz", job->id, job->restart,
             job->cluster[0] != '\0' ? job->cluster : "none");
    snprintf(beside, sizeof beside, ".%.120s.tmp", name);
    head.bytes = format_head(job, time_s, head.text, sizeof head.text);
    if (head.bytes == 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "archive: the job's host list is too long");
    int folder = nt_archive_open(conf->archive.dir, err);
    if (folder < 0)
        return -1;
    int rc = check_room(conf, folder, fd, err);
    if (rc == 0)
        rc = write_file(conf, &head, folder, beside, fd, err);
    if (rc == 0 && renameat(folder, beside, folder, name) != 0)
        rc = archive_error(conf, "rename", err);
    if (rc != 0)
        unlinkat(folder, beside, 0);
    else
        fsync(folder); /* on a file system that cannot, the name appears on disk later */
    close(folder);
    return rc;
}

void nt_archive_add(const struct nt_conf *conf, const struct nt_job *job, const struct nt_log *log,
                    int fd)
{
    struct nt_err err;
    if (nt_archive_keep(conf, job, fd, (int64_t)time(NULL), &err) != 0)
        syslog(LOG_WARNING, "%s: not archived: %s", log->prefix, err.text);
    close(fd);
}
