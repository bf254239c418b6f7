/* SPDX-License-Identifier: Apache-2.0 */
#include "order.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "environ.h"

int nt_slurm_order_add(struct nt_slurm_order *order, char *name)
{
    size_t n = order->hosts;
    if ((n & (n - 1)) == 0 &&
        n < NT_SLURM_ORDER_HOSTS_MAX) { /* the array is full at 0, 1, 2, 4, 8, ... hosts */
        char **host = realloc(order->host, (n == 0 ? 1 : 2 * n) * sizeof *host);
        if (host != NULL)
            order->host = host;
        else
            n = NT_SLURM_ORDER_HOSTS_MAX;
    }
    if (n >= NT_SLURM_ORDER_HOSTS_MAX) {
        free(name);
        return -1;
    }
    order->host[order->hosts++] = name;
    return 0;
}

/* ---- tasks per host ---- */

/* Reads a layout such as "2(x3),1"; false if the text is invalid or its sum is not ntasks. */
static bool read_layout(const char *text, uint32_t ntasks, uint32_t *tasks, size_t hosts)
{
    size_t h = 0;
    uint64_t sum = 0;
    while (*text >= '0' && *text <= '9') {
        char *end;
        unsigned long each = strtoul(text, &end, 10), times = 1;
        if (strncmp(end, "(x", 2) == 0) {
            times = strtoul(end + 2, &end, 10);
            if (*end++ != ')')
                return false;
        }
        for (; times > 0 && h < hosts && each <= NT_SLURM_ORDER_TASKS_MAX; times--) {
            tasks[h++] = (uint32_t)each;
            sum += each;
        }
        if (times > 0 || (*end != ',' && *end != '\0'))
            return false;
        text = *end == ',' ? end + 1 : end;
    }
    return *text == '\0' && h == hosts && sum == ntasks;
}

int nt_slurm_order_spread(struct nt_slurm_order *order, const char *layout, uint32_t ntasks,
                          size_t spares, struct nt_err *err)
{
    size_t hosts = order->hosts;
    free(order->tasks);
    order->tasks = calloc(hosts + 1, sizeof *order->tasks);
    if (order->tasks == NULL)
        return nt_err_memory(err);
    order->spares = hosts == 0 ? 0 : spares < hosts ? spares : hosts - 1;
    if (ntasks == 0 || ntasks > NT_SLURM_ORDER_TASKS_MAX)
        ntasks = (uint32_t)hosts;
    if (layout == NULL || !read_layout(layout, ntasks, order->tasks, hosts))
        for (size_t h = 0; h < hosts; h++)
            order->tasks[h] = (uint32_t)(ntasks / hosts + (h < ntasks % hosts));
    return 0;
}

char *nt_slurm_order_text(const struct nt_slurm_order *order, size_t first, size_t last)
{
    size_t bytes = 1, used = 0;
    for (size_t h = first; h < last; h++)
        bytes += strlen(order->host[h]) + 1;
    char *text = bytes <= NT_ENVIRON_VALUE_MAX ? malloc(bytes) : NULL;
    if (text == NULL)
        return NULL;
    for (size_t h = first; h < last; h++) {
        size_t length = strlen(order->host[h]);
        if (h > first)
            text[used++] = ',';
        memcpy(text + used, order->host[h], length);
        used += length;
    }
    text[used] = '\0';
    return text;
}

void nt_slurm_order_fini(struct nt_slurm_order *order)
{
    for (size_t h = 0; h < order->hosts; h++)
        free(order->host[h]);
    free(order->host);
    free(order->tasks);
    *order = (struct nt_slurm_order){0};
}

/* ---- files ---- */

enum file { HOSTFILE, RANKFILE, RANK_ORDER, FILES };
static const char *const names[FILES] = {"hostfile", "rankfile", "rankorder"};

/* Prints the entry of one rank. Returns its number of bytes, or -1. */
static int print_rank(FILE *to, enum file file, const struct nt_slurm_order *order, size_t host,
                      uint32_t local, uint64_t rank)
{
    uint64_t first = (uint64_t)local * order->cores, last = first + order->cores - 1;
    if (file == HOSTFILE)
        return fprintf(to, "%s\n", order->host[host]);
    if (file == RANK_ORDER)
        return fprintf(to, "%s%llu", rank > 0 ? "," : "", (unsigned long long)rank);
    if (order->cores > 1)
        return fprintf(to, "rank %llu=%s slot=%llu-%llu\n", (unsigned long long)rank,
                       order->host[host], (unsigned long long)first, (unsigned long long)last);
    return fprintf(to, "rank %llu=%s slot=%u\n", (unsigned long long)rank, order->host[host],
                   local);
}

/* *left: number of bytes that may still be written. 0 afterwards: the limit was reached. */
static void print_ranks(FILE *to, enum file file, const struct nt_slurm_order *order,
                        uint64_t *left)
{
    uint64_t rank = 0;
    for (size_t h = 0; h < order->hosts - order->spares; h++)
        for (uint32_t k = 0; k < order->tasks[h] && *left > 0; k++) {
            int bytes = print_rank(to, file, order, h, k, rank++);
            *left -= bytes > 0 && (uint64_t)bytes < *left ? (uint64_t)bytes : *left;
        }
}

static int write_file(int dir_fd, enum file file, const struct nt_slurm_order *order,
                      uint64_t *left, struct nt_err *err)
{
    char tmp[32];
    snprintf(tmp, sizeof tmp, "%s.%ld", names[file], (long)getpid());
    int fd = openat(dir_fd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    FILE *to = fd < 0 ? NULL : fdopen(fd, "w");
    if (to == NULL) {
        if (fd >= 0)
            close(fd);
        return nt_err_set(err, NT_ERR_SYSTEM, "%s: %s", tmp, strerror(errno));
    }
    fchmod(fd, 0644); /* independent of the umask; the directory restricts access */
    print_ranks(to, file, order, left);
    if (file == RANK_ORDER)
        fputs("\n", to);
    bool failed = ferror(to) != 0;
    if (fclose(to) == 0 && !failed && *left > 0 && renameat(dir_fd, tmp, dir_fd, names[file]) == 0)
        return 0;
    nt_err_set(err, NT_ERR_SYSTEM, "%s: %s", names[file],
               *left > 0 ? strerror(errno) : "the job's files are larger than publish_limit");
    unlinkat(dir_fd, tmp, 0);
    return -1;
}

/* Opens a directory that belongs to this process's user and that nobody else can write to; -1 with
 * errno set. */
static int open_dir(int at, const char *path)
{
    struct stat st;
    int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &st) != 0 || st.st_uid != geteuid() || (st.st_mode & 022) != 0)) {
        close(fd);
        errno = EPERM;
        return -1;
    }
    return fd;
}

int nt_slurm_order_write(const struct nt_slurm_order *order, const char *run_dir, uint32_t job,
                         gid_t gid, uint64_t limit_bytes, struct nt_err *err)
{
    char name[16];
    struct stat st;
    int rc = 0, run_fd, fd = -1;
    snprintf(name, sizeof name, "%u", job);
    if (mkdir(run_dir, 0755) == 0)
        chmod(run_dir, 0755);
    run_fd = open_dir(AT_FDCWD, run_dir);
    if (run_fd >= 0 && (mkdirat(run_fd, name, 0700) == 0 || errno == EEXIST))
        fd = open_dir(run_fd, name);
    /* mode 0700: new, or left by a process that was killed before it set the mode */
    if (fd >= 0 &&
        (fstat(fd, &st) != 0 || ((st.st_mode & 0777) == 0700 &&
                                 (fchown(fd, (uid_t)-1, gid) != 0 || fchmod(fd, 0750) != 0)))) {
        close(fd);
        fd = -1;
    }
    if (fd < 0)
        rc = nt_err_set(err, NT_ERR_SYSTEM, "%s/%s: %s", run_dir, name, strerror(errno));
    for (int file = 0; rc == 0 && file < FILES; file++)
        rc = write_file(fd, (enum file)file, order, &limit_bytes, err);
    if (fd >= 0)
        close(fd);
    if (run_fd >= 0)
        close(run_fd);
    return rc;
}

void nt_slurm_order_remove(const char *run_dir, uint32_t job)
{
    char name[16];
    snprintf(name, sizeof name, "%u", job);
    int run_fd = open_dir(AT_FDCWD, run_dir), fd = run_fd < 0 ? -1 : open_dir(run_fd, name);
    for (int file = 0; fd >= 0 && file < FILES; file++)
        unlinkat(fd, names[file], 0);
    if (fd >= 0) {
        close(fd);
        unlinkat(run_fd, name, AT_REMOVEDIR);
    }
    if (run_fd >= 0)
        close(run_fd);
}
