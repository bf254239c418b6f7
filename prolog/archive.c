/* SPDX-License-Identifier: Apache-2.0 */
#include "archive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "artifact_files.h"
#include "space.h"

enum { NAME_BYTES = 128, COMMENT_BYTES = 65536, PIECE_BYTES = 65536, LEFT_S = 3600 };

static int archive_error(const struct nt_conf *conf, const char *what, struct nt_err *err)
{
    return nt_err_set(err, NT_ERR_SYSTEM, "archive %s: %s: %s", conf->archive, what,
                      strerror(errno));
}

/* A descriptor, or -1. */
static int open_folder(const struct nt_conf *conf, struct nt_err *err)
{
    struct stat st;
    int fd = open(conf->archive, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        archive_error(conf, "open", err);
    } else if ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & 022) != 0) {
        nt_err_set(err, NT_ERR_SYSTEM, "archive %s: writable by users other than root",
                   conf->archive);
    } else {
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Whether each character may stand in a comment that is cut at blanks. */
static bool is_host_list(const char *list)
{
    return list != NULL && list[0] != '\0' &&
           strspn(list, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                        ".-_,[]") == strlen(list);
}

/* The head of the file: magic, deflate, with a comment, no time, fastest, Unix. Returns its bytes;
 * 0: too long. */
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
            return nt_err_set(err, NT_ERR_SYSTEM, "archive: over publish_limit");
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
        return nt_err_set(err, NT_ERR_SYSTEM, "archive %s: the file system is full", conf->archive);
    return 0;
}

static int write_file(const struct nt_conf *conf, const struct nt_job *job, int folder,
                      const char *name, int from, int64_t time_s, struct nt_err *err)
{
    static char head[COMMENT_BYTES]; /* too large for the stack */
    size_t bytes = format_head(job, time_s, head, sizeof head);
    if (bytes == 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "archive: the job's host list is too long");
    unlinkat(folder, name, 0);
    int to = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0)
        return archive_error(conf, name, err);
    int rc = nt_write_all(to, head, bytes) == 0 && fchmod(to, (mode_t)conf->archive_mode) == 0
                 ? copy(conf, from, to, err)
                 : archive_error(conf, name, err);
    if (close(to) != 0 && rc == 0)
        rc = archive_error(conf, name, err);
    return rc;
}

int nt_archive_keep(const struct nt_conf *conf, const struct nt_job *job, int fd, int64_t time_s,
                    struct nt_err *err)
{
    char name[NAME_BYTES], beside[NAME_BYTES];
    snprintf(name, sizeof name, "%u.%u.%s.gz", job->id, job->restart,
             job->cluster[0] != '\0' ? job->cluster : "none");
    snprintf(beside, sizeof beside, ".%.120s.tmp", name);
    int folder = open_folder(conf, err);
    if (folder < 0)
        return -1;
    int rc = check_room(conf, folder, fd, err);
    if (rc == 0)
        rc = write_file(conf, job, folder, beside, fd, time_s, err);
    if (rc == 0 && renameat(folder, beside, folder, name) != 0)
        rc = archive_error(conf, "rename", err);
    if (rc != 0)
        unlinkat(folder, beside, 0);
    close(folder);
    return rc;
}

/* ---- the oldest out ---- */

struct kept {
    int64_t time_ns;
    uint64_t bytes;
    char name[NAME_BYTES];
};

struct listing {
    size_t count, room;
    uint64_t bytes;
    struct kept *at;
};

static int compare_ages(const void *x, const void *y)
{
    const struct kept *p = x, *q = y;
    return p->time_ns != q->time_ns ? (p->time_ns > q->time_ns) - (p->time_ns < q->time_ns)
                                    : strcmp(p->name, q->name);
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

/* An entry that is no file of the archive is passed over, one that was left is removed. */
static int list_entry(struct listing *list, int folder, const char *name, int64_t now_s)
{
    struct stat st;
    bool left = name[0] == '.' && ends_in(name, ".gz.tmp");
    if ((!left && (name[0] == '.' || !ends_in(name, ".gz"))) || strlen(name) >= NAME_BYTES ||
        fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
        return 0;
    if (left) {
        if (now_s - st.st_mtim.tv_sec > LEFT_S)
            unlinkat(folder, name, 0);
        return 0;
    }
    if (list->count == list->room) {
        size_t room = list->room == 0 ? 1024 : list->room * 2;
        struct kept *grown = realloc(list->at, room * sizeof *grown);
        if (grown == NULL)
            return -1;
        list->at = grown;
        list->room = room;
    }
    struct kept *k = &list->at[list->count++];
    k->time_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    k->bytes = (uint64_t)st.st_size;
    memcpy(k->name, name, strlen(name) + 1);
    list->bytes += k->bytes;
    return 0;
}

static void remove_oldest(struct listing *list, int folder, uint64_t limit_bytes)
{
    qsort(list->at, list->count, sizeof *list->at, compare_ages);
    for (size_t k = 0; k < list->count && (list->bytes > limit_bytes ||
                                           list->count - k > (size_t)NT_ARCHIVE_FILES_MAX);
         k++) {
        unlinkat(folder, list->at[k].name, 0);
        list->bytes -= list->at[k].bytes;
    }
}

void nt_archive_add(const struct nt_conf *conf, const struct nt_job *job, const struct nt_log *log,
                    int fd)
{
    struct nt_err err;
    if (nt_archive_keep(conf, job, fd, (int64_t)time(NULL), &err) != 0)
        syslog(LOG_WARNING, "%s: not archived: %s", log->prefix, err.text);
    close(fd);
}

int nt_archive_prune(const struct nt_conf *conf, struct nt_err *err)
{
    struct listing list = {0};
    struct timespec now;
    int rc = 0, folder = open_folder(conf, err);
    if (folder < 0)
        return -1;
    DIR *dir = fdopendir(folder);
    if (dir == NULL) {
        close(folder);
        return archive_error(conf, "open", err);
    }
    clock_gettime(CLOCK_REALTIME, &now);
    for (struct dirent *e; rc == 0 && (e = readdir(dir)) != NULL;)
        rc = list_entry(&list, folder, e->d_name, now.tv_sec);
    if (rc == 0)
        remove_oldest(&list, folder, conf->archive_limit_bytes);
    closedir(dir);
    free(list.at);
    return rc == 0 ? 0 : nt_err_memory(err);
}
