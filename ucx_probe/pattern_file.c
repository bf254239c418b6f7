/* SPDX-License-Identifier: Apache-2.0 */
#include "pattern_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "option.h"
#include "traffic.h"

enum { SHOWN_BYTES = 160 }; /* of a path, its end: what stands behind it must be read too */

/* A read that hangs cannot be called back: whoever waited in vain leaves all of this to it. */
struct file_read {
    char path[NT_PATTERN_TEXT_BYTES];
    char *text;
    size_t bytes;
    int rc;
    struct nt_err err;
};

static const char *path_end(const char *path)
{
    size_t n = strlen(path);
    return n > SHOWN_BYTES ? path + n - SHOWN_BYTES : path;
}

static int read_error(struct file_read *r, const char *why)
{
    return nt_err_set(&r->err, NT_ERR_INPUT, "%s: %s", path_end(r->path), why);
}

static int read_open(struct file_read *r, int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return read_error(r, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return read_error(r, "expected a regular file");
    r->text = malloc(NT_PATTERN_FILE_MAX + 1);
    if (r->text == NULL)
        return read_error(r, "no memory for it");
    while (r->bytes <= NT_PATTERN_FILE_MAX) {
        ssize_t n = read(fd, r->text + r->bytes, NT_PATTERN_FILE_MAX + 1 - r->bytes);
        if (n == 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return read_error(r, strerror(errno));
        r->bytes += n > 0 ? (size_t)n : 0;
    }
    return nt_err_set(&r->err, NT_ERR_INPUT, "%s: over %d MiB", path_end(r->path),
                      NT_PATTERN_FILE_MAX >> 20);
}

static void *read_file(void *context)
{
    struct file_read *r = context;
    if (r->path[0] != '/') { /* the probe stands elsewhere than the user did */
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

/* The file as *out, which is forgotten by the caller; -1 with the reason. */
static int read_within(const char *path, double wait_s, struct file_read **out, struct nt_err *why)
{
    pthread_t thread;
    struct timespec until;
    struct file_read *r = calloc(1, sizeof *r);
    if (r == NULL)
        return nt_err_memory(why);
    strncpy(r->path, path, sizeof r->path - 1);
    clock_gettime(CLOCK_MONOTONIC, &until);
    double whole = floor(wait_s);
    until.tv_sec += (time_t)whole;
    until.tv_nsec += (long)((wait_s - whole) * 1e9);
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    if (pthread_create(&thread, NULL, read_file, r) != 0) {
        file_read_free(r);
        return nt_err_set(why, NT_ERR_SYSTEM, "no thread to read it");
    }
    if (pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until) != 0) {
        pthread_detach(thread);
        return nt_err_set(why, NT_ERR_INPUT, "%s: not read within %.2g s", path_end(path), wait_s);
    }
    if (r->rc != 0) {
        *why = r->err;
        file_read_free(r);
        return -1;
    }
    *out = r;
    return 0;
}

/* Each pair once, ascending: the form of the record. */
static int record_traffic(const struct nt_traffic *t, struct nt_samples *samples,
                          struct nt_err *why)
{
    if (t->start[t->tasks] / 2 > NT_SAMPLES_TRAFFIC_MAX)
        return nt_err_set(why, NT_ERR_INPUT, "%zu pairs of ranks talk, at most %d in a job's hint",
                          t->start[t->tasks] / 2, (int)NT_SAMPLES_TRAFFIC_MAX);
    for (size_t a = 0; a < t->tasks; a++)
        for (size_t k = t->start[a]; k < t->start[a + 1]; k++)
            if (t->partner[k] > a && nt_samples_add_traffic(samples, (uint32_t)a, t->partner[k],
                                                            (double)t->bytes[k], why) != 0)
                return -1;
    return 0;
}

static int record_file(const char *path, double wait_s, struct nt_samples *samples,
                       struct nt_err *why)
{
    struct file_read *r = NULL;
    struct nt_triples t;
    struct nt_traffic *traffic;
    if (read_within(path, wait_s, &r, why) != 0)
        return -1;
    int rc = nt_triples_read(path_end(path), r->text, r->bytes, &t, why);
    file_read_free(r);
    if (rc != 0)
        return -1;
    rc = t.n == 0 ? nt_err_set(why, NT_ERR_INPUT, "%s: no two ranks talk", path_end(path))
                  : nt_traffic_from_triples(t.ntasks, (const uint32_t(*)[2])t.pair, t.bytes, t.n,
                                            &traffic, why);
    nt_triples_fini(&t);
    if (rc != 0)
        return -1;
    rc = record_traffic(traffic, samples, why);
    nt_traffic_destroy(traffic);
    return rc;
}

int nt_pattern_file_record(const char *pattern, double wait_s, struct nt_samples *samples,
                           struct nt_err *err)
{
    struct nt_err why;
    const char *path = nt_pattern_matrix(pattern);
    if (path == NULL || record_file(path, wait_s, samples, &why) == 0)
        return 0;
    nt_samples_clear_traffic(samples);
    if (nt_samples_set_word(&samples->pattern, "neighbour", err) != 0)
        return -1;
    return nt_samples_warn(samples, err, "pattern matrix: %s; the hint is for neighbour", why.text);
}
