/* SPDX-License-Identifier: Apache-2.0 */
#include "publish.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "decimal.h"
#include "log_line.h"
#include "write_all.h"

/* REASON_FILE holds the space for the hint.env of a failure until it is renamed. */
enum { REASON_BYTES = NT_ERR_TEXT_BYTES + 64 };
static const char REASON_FILE[] = ".reason";

static int system_error(struct nt_err *err, const char *where, const char *what)
{
    return nt_err_set(err, NT_ERR_SYSTEM, "%s: %s: %s", where, what, strerror(errno));
}

/* ---- the directory of all jobs ---- */

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

static int open_run_dir(const char *run_dir, bool make, int *out, struct nt_err *err)
{
    if (make && mkdir(run_dir, 0755) != 0 && errno != EEXIST)
        return system_error(err, run_dir, "mkdir");
    int fd = open(run_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return system_error(err, run_dir, "open");
    struct stat st;
    if (fstat(fd, &st) != 0) {
        system_error(err, run_dir, "stat");
        goto close_dir;
    }
    if ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & 022) != 0) {
        nt_err_set(err, NT_ERR_SYSTEM, "%s is writable by users other than root", run_dir);
        goto close_dir;
    }
    *out = fd;
    return 0;
close_dir:
    close(fd);
    return -1;
}

/* ---- removing: one level deep, following nothing ---- */

static int remove_entries(int dir_fd, const char *name, struct nt_err *err)
{
    DIR *dir = fdopendir(dir_fd);
    if (dir == NULL) {
        system_error(err, name, "open");
        close(dir_fd);
        return -1;
    }
    int rc = 0;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (!is_self_or_parent(e->d_name) && unlinkat(dirfd(dir), e->d_name, 0) != 0 &&
            errno != ENOENT)
            rc = system_error(err, name, e->d_name);
    }
    closedir(dir);
    return rc;
}

static int remove_dir(int run_fd, const char *name, struct nt_err *err)
{
    int fd = openat(run_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        if (errno == ENOENT)
            return 0;
        /* a file or link of that name is removed itself, never followed */
        if (unlinkat(run_fd, name, 0) != 0 && errno != ENOENT)
            return system_error(err, name, "unlink");
        return 0;
    }
    if (remove_entries(fd, name, err) != 0)
        return -1;
    if (unlinkat(run_fd, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
        return system_error(err, name, "rmdir");
    return 0;
}

static bool is_tmp_name(const char *entry, const char *name)
{
    size_t n = strlen(name);
    return strncmp(entry, name, n) == 0 && strncmp(entry + n, ".tmp-", 5) == 0;
}

/* Removes the job's directory and the temporary ones that killed agents left. */
static int remove_job(int run_fd, const char *name, struct nt_err *err)
{
    int rc = remove_dir(run_fd, name, err);
    DIR *dir = open_directory(run_fd, ".");
    if (dir == NULL)
        return system_error(err, name, "open");
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        if (is_tmp_name(e->d_name, name) && remove_dir(run_fd, e->d_name, err) != 0)
            rc = -1;
    closedir(dir);
    return rc;
}

static void format_job_name(uint32_t job, char name[16])
{
    snprintf(name, 16, "%u", job);
}

int nt_publish_remove(const char *run_dir, uint32_t job, struct nt_err *err)
{
    struct stat st;
    char name[16];
    int run_fd;
    if (lstat(run_dir, &st) != 0 && errno == ENOENT)
        return 0;
    if (open_run_dir(run_dir, false, &run_fd, err) != 0)
        return -1;
    format_job_name(job, name);
    int rc = remove_job(run_fd, name, err);
    close(run_fd);
    return rc;
}

/* Returns whether a directory is older than any sweep: a budget is at most an hour
 * (nt_conf_parse). */
static bool is_old(int run_fd, const char *name)
{
    enum { OLD_S = 2 * 3600 };
    struct stat st;
    struct timespec now;
    return fstatat(run_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
           clock_gettime(CLOCK_REALTIME, &now) == 0 && now.tv_sec - st.st_mtim.tv_sec > OLD_S;
}

/* Returns whether a running sweep uses the directory: it holds a lock. After a step of the clock
 * all directories may look old. */
static bool is_in_use(int run_fd, const char *name)
{
    int fd = openat(run_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd >= 0)
        close(fd);
    return locked;
}

size_t nt_publish_find_orphans(const char *run_dir, uint32_t *jobs, size_t max)
{
    int run_fd;
    size_t found = 0;
    DIR *dir = opendir(run_dir);
    if (dir == NULL)
        return 0;
    if (open_run_dir(run_dir, false, &run_fd, NULL) != 0)
        goto close_dir;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        uint64_t job;
        size_t digits = strspn(e->d_name, "0123456789");
        if (digits == 0 || nt_decimal_whole(e->d_name, digits, UINT32_MAX, &job) != 0 ||
            !is_old(run_fd, e->d_name))
            continue;
        if (e->d_name[digits] == '\0' && found < max)
            jobs[found++] = (uint32_t)job;
        else if (strncmp(e->d_name + digits, ".tmp-", 5) == 0 && !is_in_use(run_fd, e->d_name))
            remove_dir(run_fd, e->d_name, NULL);
    }
    close(run_fd);
close_dir:
    closedir(dir);
    return found;
}

/* ---- who may read ---- */

static void put16(unsigned char *p, unsigned v)
{
    p[0] = (unsigned char)(v & 0xff);
    p[1] = (unsigned char)(v >> 8 & 0xff);
}

static void put_entry(unsigned char *p, unsigned tag, unsigned perm, uint32_t id)
{
    put16(p, tag);
    put16(p + 2, perm);
    put16(p + 4, id & 0xffff);
    put16(p + 6, id >> 16);
}

/* Gives the job's user read access by an ACL with r-x for this user only: the user's group may have
 * other members. Layout: linux/posix_acl_xattr.h. On a file system without ACLs the group may
 * read. */
static int grant_user_read(int dir_fd, uid_t uid, gid_t gid, const char *where, struct nt_err *err)
{
    enum { USER_OBJ = 1, USER = 2, GROUP_OBJ = 4, MASK = 16, OTHER = 32, ENTRIES = 5 };
    static const uint32_t nobody = 0xffffffffu;
    unsigned char acl[4 + 8 * ENTRIES] = {2, 0, 0, 0};
    put_entry(acl + 4, USER_OBJ, 7, nobody);
    put_entry(acl + 12, USER, 5, uid);
    put_entry(acl + 20, GROUP_OBJ, 0, nobody);
    put_entry(acl + 28, MASK, 5, nobody);
    put_entry(acl + 36, OTHER, 0, nobody);
    if (fsetxattr(dir_fd, "system.posix_acl_access", acl, sizeof acl, 0) == 0)
        return 0;
    if (errno != EOPNOTSUPP)
        return system_error(err, where, "acl");
    if (fchown(dir_fd, (uid_t)-1, gid) != 0 || fchmod(dir_fd, 0750) != 0)
        return system_error(err, where, "group");
    return 0;
}

/* ---- writing ---- */

/* Creates a file. Returns its descriptor, or -1 with err set. mode: O_WRONLY, or O_RDWR for a file
 * that is copied later. */
static int create_file(const struct nt_publish *publish, const char *name, int mode,
                       struct nt_err *err)
{
    int fd = openat(publish->dir_fd, name, mode | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return system_error(err, publish->tmp_name, name);
    if (fchmod(fd, 0644) != 0) { /* independent of the umask; the directory restricts access */
        system_error(err, publish->tmp_name, name);
        close(fd);
        return -1;
    }
    return fd;
}

/* Reserves space for a failure's reason now, because other programs may fill the file system
 * later. */
static int reserve_reason(struct nt_publish *publish, struct nt_err *err)
{
    static const char empty[REASON_BYTES];
    publish->reason_fd = create_file(publish, REASON_FILE, O_WRONLY, err);
    if (publish->reason_fd < 0)
        return -1;
    return nt_write_all(publish->reason_fd, empty, sizeof empty) == 0
               ? 0
               : system_error(err, publish->tmp_name, REASON_FILE);
}

static int create_artifacts(struct nt_publish *publish, struct nt_err *err)
{
    for (uint32_t k = 1; k < NT_ARTIFACT_END; k++) {
        publish->artifacts.fd[k] = create_file(publish, nt_artifact_name(k),
                                               k == NT_ARTIFACT_ARCHIVE ? O_RDWR : O_WRONLY, err);
        if (publish->artifacts.fd[k] < 0)
            return -1;
    }
    return 0;
}

int nt_publish_begin(struct nt_publish *publish, const struct nt_conf *conf, uint32_t job,
                     uid_t uid, gid_t gid, struct nt_err *err)
{
    const char *run_dir = conf->run_dir;
    unsigned char salt[8];
    struct nt_publish p = {.run_fd = -1,
                           .dir_fd = -1,
                           .reason_fd = -1,
                           .limit_bytes = conf->publish_limit_bytes,
                           .uid = uid,
                           .gid = gid};
    nt_artifact_files_init(&p.artifacts, p.limit_bytes);
    *publish = p;
    format_job_name(job, p.name);
    if (getrandom(salt, sizeof salt, 0) != sizeof salt)
        return system_error(err, run_dir, "getrandom");
    int n = snprintf(p.tmp_name, sizeof p.tmp_name, "%s.tmp-", p.name);
    for (size_t k = 0; k < sizeof salt; k++)
        n += snprintf(p.tmp_name + n, sizeof p.tmp_name - (size_t)n, "%02x", salt[k]);
    if (open_run_dir(run_dir, true, &p.run_fd, err) != 0)
        return -1;
    if (remove_job(p.run_fd, p.name, err) != 0)
        goto fail;
    if (mkdirat(p.run_fd, p.tmp_name, 0700) != 0) {
        system_error(err, run_dir, p.tmp_name);
        goto fail;
    }
    p.dir_fd = openat(p.run_fd, p.tmp_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (p.dir_fd < 0) {
        system_error(err, run_dir, p.tmp_name);
        goto fail;
    }
    /* For is_in_use; without locks only the age shows whether a directory is unused */
    flock(p.dir_fd, LOCK_EX | LOCK_NB);
    if (reserve_reason(&p, err) != 0 || create_artifacts(&p, err) != 0)
        goto fail;
    *publish = p;
    return 0;
fail:
    *publish = p;
    nt_publish_fini(publish);
    return -1;
}

int nt_publish_limit_total(struct nt_publish *publish, uint64_t limit_bytes, struct nt_err *err)
{
    publish->total_limit_bytes = limit_bytes;
    publish->artifacts.keeps_room = true;
    if (nt_space_check_free(publish->run_fd, 0, err) != 0)
        return -1;
    return nt_space_check_total(publish->run_fd, limit_bytes, err);
}

static uint64_t artifact_bytes(const struct nt_publish *publish)
{
    uint64_t sum = 0;
    struct stat st;
    for (uint32_t k = 1; k < NT_ARTIFACT_END; k++)
        if (publish->artifacts.fd[k] >= 0 && fstat(publish->artifacts.fd[k], &st) == 0)
            sum += (uint64_t)st.st_size;
    return sum;
}

void nt_publish_log(struct nt_publish *publish, const char *text, size_t bytes)
{
    uint64_t used = artifact_bytes(publish);
    uint64_t left = used < publish->limit_bytes ? publish->limit_bytes - used : 0;
    if (publish->dir_fd < 0)
        return;
    unlinkat(publish->dir_fd, NT_LOG_FILE, 0);
    int fd = create_file(publish, NT_LOG_FILE, O_WRONLY, NULL);
    publish->has_log = false;
    if (fd < 0)
        return;
    publish->has_log = nt_write_all(fd, text, bytes < left ? bytes : (size_t)left) == 0;
    if (close(fd) != 0 || !publish->has_log)
        unlinkat(publish->dir_fd, NT_LOG_FILE, 0);
}

int nt_publish_archive_fd(const struct nt_publish *publish)
{
    return publish->artifacts.complete[NT_ARTIFACT_ARCHIVE] &&
                   !publish->artifacts.dropped[NT_ARTIFACT_ARCHIVE]
               ? publish->artifacts.fd[NT_ARTIFACT_ARCHIVE]
               : -1;
}

/* Removes files without data, and the name of the text for the archive. -1 if a file is
 * incomplete. */
static int keep_complete(struct nt_publish *publish, struct nt_err *err)
{
    for (uint32_t k = 1; k < NT_ARTIFACT_END; k++) {
        struct stat st;
        bool is_published = k != NT_ARTIFACT_ARCHIVE;
        if (publish->artifacts.complete[k] && is_published)
            continue;
        if (is_published && publish->artifacts.fd[k] >= 0 &&
            fstat(publish->artifacts.fd[k], &st) == 0 && st.st_size > 0)
            return nt_err_set(err, NT_ERR_INPUT, "%s is not complete", nt_artifact_name(k));
        unlinkat(publish->dir_fd, nt_artifact_name(k), 0);
    }
    return 0;
}

int nt_publish_finish(struct nt_publish *publish, struct nt_err *err)
{
    if (publish->dir_fd < 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "the job has no directory");
    if (keep_complete(publish, err) != 0)
        return -1;
    if (!publish->artifacts.complete[NT_ARTIFACT_ENV])
        return nt_err_set(err, NT_ERR_INPUT, "the probe published no %s",
                          nt_artifact_name(NT_ARTIFACT_ENV));
    if (artifact_bytes(publish) > publish->limit_bytes)
        return nt_err_set(err, NT_ERR_INPUT,
                          "the job's files are larger than publish_limit, %llu bytes",
                          (unsigned long long)publish->limit_bytes);
    if (publish->total_limit_bytes > 0 &&
        nt_space_check_total(publish->run_fd, publish->total_limit_bytes, err) != 0)
        return -1;
    unlinkat(publish->dir_fd, REASON_FILE, 0);
    if (grant_user_read(publish->dir_fd, publish->uid, publish->gid, publish->tmp_name, err) != 0)
        return -1;
    if (renameat(publish->run_fd, publish->tmp_name, publish->run_fd, publish->name) != 0)
        return system_error(err, publish->tmp_name, "rename");
    close(publish->dir_fd);
    publish->dir_fd = -1;
    return 0;
}

static void remove_artifacts(struct nt_publish *publish)
{
    nt_artifact_files_fini(&publish->artifacts);
    nt_artifact_files_init(&publish->artifacts, publish->limit_bytes);
    for (uint32_t k = 1; k < NT_ARTIFACT_END; k++)
        unlinkat(publish->dir_fd, nt_artifact_name(k), 0);
}

/* Writes the reason into the reserved space. */
static int write_reason(struct nt_publish *publish, const char *text, size_t bytes,
                        struct nt_err *err)
{
    int dir = publish->dir_fd, fd = publish->reason_fd;
    if (pwrite(fd, text, bytes, 0) != (ssize_t)bytes || ftruncate(fd, (off_t)bytes) != 0 ||
        renameat(dir, REASON_FILE, dir, nt_artifact_name(NT_ARTIFACT_ENV)) != 0)
        return system_error(err, publish->tmp_name, nt_artifact_name(NT_ARTIFACT_ENV));
    publish->artifacts.complete[NT_ARTIFACT_ENV] = true;
    return 0;
}

int nt_publish_failed(struct nt_publish *publish, const char *reason, struct nt_err *err)
{
    char text[REASON_BYTES];
    struct nt_err line; /* only to convert the reason to one printable line */
    if (publish->dir_fd < 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "the job has no directory");
    nt_err_set(&line, NT_ERR_NONE, "%s", reason);
    int n = snprintf(text, sizeof text, "NETTOPO_STATUS=failed\nNETTOPO_REASON=%s\n%s", line.text,
                     publish->has_log ? "NETTOPO_LOG=" NT_LOG_FILE "\n" : "");
    remove_artifacts(publish);
    publish->total_limit_bytes = 0;
    if (write_reason(publish, text, (size_t)n, err) != 0)
        return -1;
    return nt_publish_finish(publish, err);
}

void nt_publish_fini(struct nt_publish *publish)
{
    nt_artifact_files_fini(&publish->artifacts);
    if (publish->reason_fd >= 0)
        close(publish->reason_fd);
    bool unpublished = publish->dir_fd >= 0;
    if (unpublished)
        close(publish->dir_fd);
    if (publish->run_fd >= 0) {
        if (unpublished)
            remove_dir(publish->run_fd, publish->tmp_name, NULL);
        close(publish->run_fd);
    }
    publish->run_fd = publish->dir_fd = publish->reason_fd = -1;
}

/* ---- the files while they are written ---- */

void nt_artifact_files_init(struct nt_artifact_files *artifacts, uint64_t limit_bytes)
{
    *artifacts = (struct nt_artifact_files){.limit_bytes = limit_bytes};
    for (int k = 0; k < NT_ARTIFACT_END; k++)
        artifacts->fd[k] = -1;
}

void nt_artifact_files_fini(struct nt_artifact_files *artifacts)
{
    for (int k = 0; k < NT_ARTIFACT_END; k++) {
        if (artifacts->fd[k] >= 0)
            close(artifacts->fd[k]);
        artifacts->fd[k] = -1;
    }
}

static void drop(struct nt_artifact_files *artifacts, uint32_t artifact)
{
    int fd = artifacts->fd[artifact];
    off_t bytes = lseek(fd, 0, SEEK_CUR);
    artifacts->dropped[artifact] = true;
    if (bytes > 0 && ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0)
        artifacts->used_bytes -= (uint64_t)bytes;
}

static int check_limits(const struct nt_artifact_files *artifacts, uint32_t artifact, size_t bytes,
                        struct nt_err *err)
{
    if (bytes > artifacts->limit_bytes - artifacts->used_bytes)
        return nt_err_set(err, NT_ERR_INPUT,
                          "%s: the job's files are larger than publish_limit, %llu bytes",
                          nt_artifact_name(artifact), (unsigned long long)artifacts->limit_bytes);
    return artifacts->keeps_room ? nt_space_check_free(artifacts->fd[artifact], bytes, err) : 0;
}

int nt_artifact_files_write(struct nt_artifact_files *artifacts, uint32_t artifact, bool more,
                            const void *data, size_t bytes, struct nt_err *err)
{
    const char *name = nt_artifact_name(artifact);
    if (name == NULL)
        return nt_err_set(err, NT_ERR_INPUT, "unknown artifact %u", artifact);
    if (artifacts->fd[artifact] < 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "the job has no directory");
    if (artifacts->complete[artifact])
        return nt_err_set(err, NT_ERR_INPUT, "%s: data after its last part", name);
    bool may_lack = artifact == NT_ARTIFACT_SAMPLES || artifact == NT_ARTIFACT_ARCHIVE;
    if (may_lack &&
        (artifacts->dropped[artifact] || bytes > artifacts->limit_bytes - artifacts->used_bytes)) {
        drop(artifacts, artifact);
        return 0;
    }
    if (check_limits(artifacts, artifact, bytes, err) != 0)
        return -1;
    if (nt_write_all(artifacts->fd[artifact], data, bytes) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "%s: %s", name, strerror(errno));
    artifacts->used_bytes += bytes;
    artifacts->complete[artifact] = !more;
    return 0;
}

/* ---- room ---- */

enum { FREE_BYTES = 64 << 20, FREE_FILES = 4096, SHARE = 10 };

/* A file system may allocate whole pages, or allocate space only later. */
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
        return 0; /* removed in the meantime, or not a directory */
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
        return nt_err_set(err, NT_ERR_SYSTEM, "cannot read run_dir: %s", strerror(errno));
    for (struct dirent *e; (e = readdir(run)) != NULL;)
        if (!is_self_or_parent(e->d_name))
            sum += directory_bytes(run_fd, e->d_name);
    closedir(run);
    if (sum <= limit_bytes)
        return 0;
    return nt_err_set(
        err, NT_ERR_SYSTEM,
        "the files of all jobs on this host take %llu bytes, more than run_dir_limit, %llu bytes",
        (unsigned long long)sum, (unsigned long long)limit_bytes);
}

static uint64_t reserved_amount(uint64_t total, uint64_t most)
{
    return total / SHARE < most ? total / SHARE : most;
}

int nt_space_check_free(int run_fd, size_t more, struct nt_err *err)
{
    struct statvfs fs;
    if (fstatvfs(run_fd, &fs) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "cannot read run_dir: %s", strerror(errno));
    uint64_t left = (uint64_t)fs.f_bavail * fs.f_frsize;
    uint64_t floor = reserved_amount((uint64_t)fs.f_blocks * fs.f_frsize, FREE_BYTES);
    if (left < floor || left - floor < more)
        return nt_err_set(err, NT_ERR_SYSTEM,
                          "run_dir has %llu bytes free, but %llu bytes must stay free for others",
                          (unsigned long long)left, (unsigned long long)floor);
    /* some file systems do not count their files */
    if (fs.f_files > 0 && fs.f_favail < reserved_amount(fs.f_files, FREE_FILES))
        return nt_err_set(err, NT_ERR_SYSTEM, "run_dir has room for %llu files only",
                          (unsigned long long)fs.f_favail);
    return 0;
}
