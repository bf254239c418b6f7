/* SPDX-License-Identifier: Apache-2.0 */
#include "archive_prune.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "memory.h"

enum { NAME_BYTES = 128, HEAD_BYTES = 512, LEFT_S = 3600, AT_ONCE = 64 };

int nt_archive_open(const char *folder, struct nt_err *err)
{
    struct stat st;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        nt_err_set(err, NT_ERR_SYSTEM, "cannot open archive %s: %s", folder, strerror(errno));
    } else if ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & 022) != 0) {
        nt_err_set(err, NT_ERR_SYSTEM, "archive %s: writable by users other than root", folder);
    } else {
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

struct kept {
    int64_t time_ns;
    uint64_t bytes, user;
    char name[NAME_BYTES];
};

struct listing {
    int folder;
    double until_s;
    size_t count, room, looks;
    uint64_t bytes;
    struct kept *at;
};

enum answer { LATE = 1 };

static int compare_ages(const void *x, const void *y)
{
    const struct kept *p = x, *q = y;
    return NT_ORDER(p->time_ns, q->time_ns, strcmp(p->name, q->name));
}

static int compare_users(const void *x, const void *y)
{
    const struct kept *p = x, *q = y;
    return NT_ORDER(p->user, q->user, compare_ages(x, y));
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

static bool is_late(struct listing *list)
{
    return ++list->looks % AT_ONCE == 0 && nt_clock_s() > list->until_s;
}

/* Adds an entry to the list. Ignores files that do not belong to the archive, and removes old
 * temporary files. */
static int list_entry(struct listing *list, const char *name, int64_t now_s)
{
    struct stat st;
    bool left = name[0] == '.' && ends_in(name, ".gz.tmp");
    if ((!left && (name[0] == '.' || !ends_in(name, ".gz"))) || strlen(name) >= NAME_BYTES ||
        fstatat(list->folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
        return 0;
    if (left) {
        if (now_s - st.st_mtim.tv_sec > LEFT_S)
            unlinkat(list->folder, name, 0);
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
    *k = (struct kept){.time_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
                       .bytes = (uint64_t)st.st_size};
    memcpy(k->name, name, strlen(name) + 1);
    list->bytes += k->bytes;
    return 0;
}

static int list_all(struct listing *list, DIR *dir)
{
    struct timespec now;
    int rc = 0;
    clock_gettime(CLOCK_REALTIME, &now);
    for (struct dirent *e; rc == 0 && (e = readdir(dir)) != NULL;)
        rc = is_late(list) ? LATE : list_entry(list, e->d_name, now.tv_sec);
    return rc;
}

/* Returns the user of a file from the header that root wrote; UINT64_MAX: unknown. */
static uint64_t read_user(int folder, const char *name)
{
    static const char key[] = " uid=";
    char head[HEAD_BYTES + 1];
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, head, HEAD_BYTES) : -1;
    if (fd >= 0)
        close(fd);
    const char *found = n > 0 ? memmem(head, (size_t)n, key, sizeof key - 1) : NULL;
    if (found == NULL)
        return UINT64_MAX;
    head[n] = '\0';
    return strtoull(found + sizeof key - 1, NULL, 10);
}

static bool is_full(const struct listing *list, uint64_t limit_bytes)
{
    return list->bytes > limit_bytes || list->count > (size_t)NT_ARCHIVE_FILES_MAX;
}

static void remove_file(struct listing *list, struct kept *k)
{
    unlinkat(list->folder, k->name, 0);
    list->bytes -= k->bytes;
    k->name[0] = '\0';
}

/* Removes the oldest files of users with more than their share until they have that, then the
 * oldest files of all. */
static int remove_oldest(struct listing *list, uint64_t limit_bytes)
{
    for (size_t k = 0; k < list->count; k++) {
        if (is_late(list))
            return LATE;
        list->at[k].user = read_user(list->folder, list->at[k].name);
    }
    size_t count = list->count;
    qsort(list->at, count, sizeof *list->at, compare_users);
    for (size_t from = 0, to; from < count; from = to) {
        uint64_t bytes = 0;
        for (to = from; to < count && list->at[to].user == list->at[from].user; to++)
            bytes += list->at[to].bytes;
        size_t least = (size_t)NT_ARCHIVE_FILES_MAX / NT_ARCHIVE_SHARE;
        for (size_t k = from; k < to && is_full(list, limit_bytes) &&
                              (bytes > limit_bytes / NT_ARCHIVE_SHARE || to - k > least);
             k++) {
            bytes -= list->at[k].bytes;
            remove_file(list, &list->at[k]);
            list->count--;
        }
    }
    qsort(list->at, count, sizeof *list->at, compare_ages);
    for (size_t k = 0; k < count && is_full(list, limit_bytes); k++)
        if (list->at[k].name[0] != '\0') {
            remove_file(list, &list->at[k]);
            list->count--;
        }
    return 0;
}

int nt_archive_prune(const char *folder, uint64_t limit_bytes, double until_s, bool *done,
                     struct nt_err *err)
{
    struct listing list = {.folder = nt_archive_open(folder, err), .until_s = until_s};
    if (list.folder < 0)
        return -1;
    DIR *dir = fdopendir(list.folder);
    if (dir == NULL) {
        close(list.folder);
        return nt_err_set(err, NT_ERR_SYSTEM, "archive %s: %s", folder, strerror(errno));
    }
    int rc = list_all(&list, dir);
    if (rc == 0 && is_full(&list, limit_bytes))
        rc = remove_oldest(&list, limit_bytes);
    closedir(dir);
    free(list.at);
    *done = rc == 0;
    return rc >= 0 ? 0 : nt_err_memory(err);
}
