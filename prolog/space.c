/* SPDX-License-Identifier: Apache-2.0 */
#include "space.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { FREE_BYTES = 64 << 20, FREE_FILES = 4096, SHARE = 10 };

static DIR *open_directory(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL && fd >= 0)
        close(fd);
    return dir;
}

static bool is_self_or_parent(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* A file system may allocate whole pages, or later than it is told. */
static uint64_t file_bytes(const struct stat *st)
{
    uint64_t allocated = (uint64_t)st->st_blocks * 512, size = (uint64_t)st->st_size;
    return allocated > size ? allocated : size;
}

static uint64_t directory_bytes(int run_fd, const char *name)
{
    struct stat st;
    uint64_t sum = 0;
    DIR *dir = open_directory(run_fd, name);
    if (dir == NULL)
        return 0; /* removed meanwhile, or not a directory */
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        if (!is_self_or_parent(e->d_name) &&
            fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            sum += file_bytes(&st);
    closedir(dir);
    return sum;
}

int nt_space_check_total(int run_fd, uint64_t limit_bytes, struct nt_err *err)
{
    uint64_t sum = 0;
    DIR *run = open_directory(run_fd, ".");
    if (run == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "run_dir: %s", strerror(errno));
    for (struct dirent *e; (e = readdir(run)) != NULL;)
        if (!is_self_or_parent(e->d_name))
            sum += directory_bytes(run_fd, e->d_name);
    closedir(run);
    if (sum <= limit_bytes)
        return 0;
    return nt_err_set(err, NT_ERR_SYSTEM,
                      "the files of all jobs on this host take %llu bytes, run_dir_limit is %llu",
                      (unsigned long long)sum, (unsigned long long)limit_bytes);
}

static uint64_t floor_of(uint64_t total, uint64_t most)
{
    return total / SHARE < most ? total / SHARE : most;
}

int nt_space_check_free(int run_fd, size_t more, struct nt_err *err)
{
    struct statvfs fs;
    if (fstatvfs(run_fd, &fs) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "run_dir: %s", strerror(errno));
    uint64_t left = (uint64_t)fs.f_bavail * fs.f_frsize;
    uint64_t floor = floor_of((uint64_t)fs.f_blocks * fs.f_frsize, FREE_BYTES);
    if (left < floor || left - floor < more)
        return nt_err_set(err, NT_ERR_SYSTEM,
                          "the file system of run_dir has %llu bytes free, %llu stay free for "
                          "others",
                          (unsigned long long)left, (unsigned long long)floor);
    /* some file systems do not count their files */
    if (fs.f_files > 0 && fs.f_favail < floor_of(fs.f_files, FREE_FILES))
        return nt_err_set(err, NT_ERR_SYSTEM, "the file system of run_dir has %llu files free",
                          (unsigned long long)fs.f_favail);
    return 0;
}
