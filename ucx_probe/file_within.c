/* SPDX-License-Identifier: Apache-2.0 */
#include "file_within.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SHOWN_BYTES = 160, PATH_BYTES = 1200 };

/* A read that hangs cannot be called back: whoever waited in vain leaves all of this to it. */
struct file_read {
    char path[PATH_BYTES];
    struct nt_file_within file;
    char *text;
    size_t bytes;
    int rc;
    struct nt_err err;
};

const char *nt_file_within_name(const char *path)
{
    size_t n = strlen(path);
    return n > SHOWN_BYTES ? path + n - SHOWN_BYTES : path;
}

static int read_error(struct file_read *r, const char *why)
{
    return nt_err_set(&r->err, NT_ERR_INPUT, "%s: %s", nt_file_within_name(r->path), why);
}

static bool is_trusted(const struct stat *st)
{
    return (st->st_uid == 0 || st->st_uid == geteuid()) && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static int read_to_end(struct file_read *r, int fd)
{
    size_t most = r->file.bytes_max, room = 65536;
    while (r->bytes <= most) {
        if (r->text == NULL || r->bytes == room) {
            room = r->text == NULL ? room : 2 * room;
            room = room < most + 1 ? room : most + 1;
            char *more = realloc(r->text, room);
            if (more == NULL)
                return read_error(r, "no memory for it");
            r->text = more;
        }
        ssize_t n = read(fd, r->text + r->bytes, room - r->bytes);
        if (n == 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return read_error(r, strerror(errno));
        r->bytes += n > 0 ? (size_t)n : 0;
    }
    return nt_err_set(&r->err, NT_ERR_INPUT, "%s: over %zu MiB", nt_file_within_name(r->path),
                      most >> 20);
}

static int read_open(struct file_read *r, int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return read_error(r, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return read_error(r, "expected a regular file");
    if (r->file.trusted && !is_trusted(&st))
        return read_error(r, "expected a file of root that nobody else can write");
    return read_to_end(r, fd);
}

/* From a pipe: '+' and the file, or '-' and why there is none. */
static int read_pipe(struct file_read *r, int fd)
{
    char mark = '\0';
    ssize_t n;
    while ((n = read(fd, &mark, 1)) < 0 && errno == EINTR)
        ;
    if (n != 1 || (mark != '+' && mark != '-'))
        return read_error(r, "no process could read it");
    int rc = read_to_end(r, fd);
    if (rc != 0 || mark == '+')
        return rc;
    char why[SHOWN_BYTES];
    snprintf(why, sizeof why, "%.*s", (int)r->bytes, r->text);
    return read_error(r, why);
}

static void *read_file(void *context)
{
    struct file_read *r = context;
    if (r->file.fd > 0) {
        r->rc = read_pipe(r, r->file.fd);
        close(r->file.fd);
        return NULL;
    }
    if (r->path[0] != '/') {
        r->rc = read_error(r, "expected a path that begins with /");
        return NULL;
    }
    /* a pipe without a writer must not hold us */
    int fd = open(r->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        r->rc = read_error(r, strerror(errno));
        return NULL;
    }
    r->rc = read_open(r, fd);
    close(fd);
    return NULL;
}

static void file_read_free(struct file_read *r)
{
    if (r != NULL)
        free(r->text);
    free(r);
}

static struct timespec time_after(double wait_s)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    double whole = floor(wait_s);
    until.tv_sec += (time_t)whole;
    until.tv_nsec += (long)((wait_s - whole) * 1e9);
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    return until;
}

int nt_file_within_read(const struct nt_file_within *file, char **text, size_t *bytes,
                        struct nt_err *why)
{
    pthread_t thread;
    struct timespec until = time_after(file->wait_s);
    struct file_read *r = calloc(1, sizeof *r);
    if (r == NULL)
        return nt_err_memory(why);
    if (strlen(file->path) >= sizeof r->path) {
        file_read_free(r);
        return nt_err_set(why, NT_ERR_INPUT, "%s: its path is too long",
                          nt_file_within_name(file->path));
    }
    strncpy(r->path, file->path, sizeof r->path - 1);
    r->file = *file;
    if (pthread_create(&thread, NULL, read_file, r) != 0) {
        file_read_free(r);
        return nt_err_set(why, NT_ERR_SYSTEM, "no thread to read it");
    }
    if (pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until) != 0) {
        pthread_detach(thread);
        return nt_err_set(why, NT_ERR_INPUT, "%s: not read within %.2g s",
                          nt_file_within_name(file->path), file->wait_s);
    }
    int rc = r->rc;
    if (rc != 0) {
        *why = r->err;
    } else {
        *text = r->text;
        *bytes = r->bytes;
        r->text = NULL;
    }
    file_read_free(r);
    return rc;
}
