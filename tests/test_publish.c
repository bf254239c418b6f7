/* SPDX-License-Identifier: Apache-2.0 */
#define TEST_BEFORE make_ground
#define TEST_AFTER remove_ground

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asserts.h"
#include "publish.h"

enum { JOB = 42, LIMIT = 100000 };

struct ground {
    char top[64], run[80];
};

static int make_ground(void **state)
{
    struct ground *g = calloc(1, sizeof *g);
    snprintf(g->top, sizeof g->top, "/tmp/nettopo-publish-XXXXXX");
    if (g == NULL || mkdtemp(g->top) == NULL)
        return -1;
    chmod(g->top, 0755);
    snprintf(g->run, sizeof g->run, "%s/run", g->top);
    *state = g;
    return 0;
}

static int remove_ground(void **state)
{
    struct ground *g = *state;
    char victim[96], job[96];
    nt_publish_remove(g->run, JOB, NULL);
    snprintf(victim, sizeof victim, "%s/victim", g->top);
    snprintf(job, sizeof job, "%s/link", g->top);
    unlink(victim);
    unlink(job);
    rmdir(g->run);
    int rc = rmdir(g->top);
    free(g);
    return rc;
}

static int begin(struct nt_publish *p, const char *run, uint32_t job, uid_t uid, gid_t gid,
                 struct nt_err *err)
{
    struct nt_conf conf = {.publish_limit_bytes = LIMIT};
    snprintf(conf.run_dir, sizeof conf.run_dir, "%s", run);
    return nt_publish_begin(p, &conf, job, uid, gid, err);
}

static struct nt_publish begun(const struct ground *g)
{
    struct nt_publish p;
    must(begin(&p, g->run, JOB, getuid(), getgid(), &err));
    return p;
}

static void read_back(const struct ground *g, const char *name, char *text, size_t room)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%d/%s", g->run, JOB, name);
    int fd = open(path, O_RDONLY);
    assert_at_least(fd, 0);
    ssize_t n = read(fd, text, room - 1);
    assert_at_least(n, 0);
    text[n] = '\0';
    close(fd);
}

static int entries(const char *path)
{
    DIR *dir = opendir(path);
    int n = 0;
    if (dir == NULL)
        return -1;
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n - 2;
}

static int write_artifact(struct nt_publish *p, enum nt_artifact number, bool more,
                          const char *text, struct nt_err *err)
{
    return nt_artifact_files_write(&p->artifacts, (uint32_t)number, more, text, strlen(text), err);
}

TEST(artifacts_appear_together)
{
    struct ground *g = *state;
    struct nt_publish p = begun(g);
    char text[64], dir[96];
    snprintf(dir, sizeof dir, "%s/%d", g->run, JOB);
    assert_int_equal(write_artifact(&p, NT_ARTIFACT_MAP, true, "one ", NULL), 0);
    assert_int_equal(write_artifact(&p, NT_ARTIFACT_ENV, false, "NETTOPO_STATUS=ok\n", NULL), 0);
    assert_int_equal(write_artifact(&p, NT_ARTIFACT_MAP, false, "two", NULL), 0);
    assert_int_equal(access(dir, F_OK), -1);
    assert_int_equal(nt_publish_finish(&p, NULL), 0);
    nt_publish_fini(&p);
    read_back(g, "map.json", text, sizeof text);
    assert_string_equal(text, "one two");
    read_back(g, "hint.env", text, sizeof text);
    assert_string_equal(text, "NETTOPO_STATUS=ok\n");
    assert_int_equal(entries(g->run), 1);
    struct stat st;
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 0007, 0);
    assert_int_equal(nt_publish_remove(g->run, JOB, NULL), 0);
    assert_int_equal(entries(g->run), 0);
    assert_int_equal(nt_publish_remove(g->run, JOB, NULL), 0);
}

/* What is for the archive has no name in the job's directory, and can be read once that is there.
 */
TEST(what_is_for_the_archive_is_not_published)
{
    struct ground *g = *state;
    struct nt_publish p = begun(g);
    char text[64] = "", path[128];
    assert_int_equal(nt_publish_archive_fd(&p), -1);
    assert_int_equal(write_artifact(&p, NT_ARTIFACT_ENV, false, "NETTOPO_STATUS=ok\n", NULL), 0);
    assert_int_equal(write_artifact(&p, NT_ARTIFACT_ARCHIVE, false, "packed", NULL), 0);
    assert_int_equal(nt_publish_finish(&p, NULL), 0);
    snprintf(path, sizeof path, "%s/%d/archive", g->run, JOB);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(pread(nt_publish_archive_fd(&p), text, sizeof text, 0), 6);
    assert_string_equal(text, "packed");
    nt_publish_fini(&p);
}

TEST(a_later_run_replaces_an_earlier)
{
    struct ground *g = *state;
    for (int run = 0; run < 2; run++) {
        struct nt_publish left = begun(g); /* an agent that was killed */
        close(left.dir_fd);
        close(left.run_fd);
        struct nt_publish p = begun(g);
        assert_int_equal(entries(g->run), 1); /* what it and the last run left is removed */
        assert_int_equal(
            write_artifact(&p, NT_ARTIFACT_ENV, false, run == 0 ? "first\n" : "second\n", NULL), 0);
        if (run == 0)
            assert_int_equal(write_artifact(&p, NT_ARTIFACT_MAP, false, "old", NULL), 0);
        assert_int_equal(nt_publish_finish(&p, NULL), 0);
        nt_publish_fini(&p);
    }
    char text[64], map[128];
    read_back(g, "hint.env", text, sizeof text);
    assert_string_equal(text, "second\n");
    snprintf(map, sizeof map, "%s/%d/map.json", g->run, JOB);
    assert_int_equal(access(map, F_OK), -1);
}

TEST(an_incomplete_artifact_is_never_published)
{
    struct ground *g = *state;
    struct nt_publish p = begun(g);
    char text[128], map[128];
    assert_int_equal(nt_publish_finish(&p, &err), -1);
    assert_non_null(strstr(err.text, "no hint.env"));
    assert_int_equal(write_artifact(&p, NT_ARTIFACT_ENV, false, "NETTOPO_STATUS=ok\n", NULL), 0);
    assert_int_equal(write_artifact(&p, NT_ARTIFACT_MAP, true, "half", NULL), 0);
    assert_int_equal(nt_publish_finish(&p, &err), -1);
    assert_string_equal(err.text, "map.json is not complete");
    assert_int_equal(nt_publish_failed(&p, "it\nbroke", NULL), 0);
    nt_publish_fini(&p);
    read_back(g, "hint.env", text, sizeof text);
    assert_string_equal(text, "NETTOPO_STATUS=failed\nNETTOPO_REASON=it?broke\n");
    snprintf(map, sizeof map, "%s/%d/map.json", g->run, JOB);
    assert_int_equal(access(map, F_OK), -1);
}

TEST(the_log_is_published_with_artifacts_and_with_a_failure)
{
    struct ground *g = *state;
    char text[128];
    for (int failed = 0; failed <= 1; failed++) {
        struct nt_publish p = begun(g);
        assert_int_equal(write_artifact(&p, NT_ARTIFACT_ENV, false, "NETTOPO_STATUS=ok\n", NULL),
                         0);
        nt_publish_log(&p, "before\n", 7);
        nt_publish_log(&p, "said\n", 5);
        int rc = failed ? nt_publish_failed(&p, "why", NULL) : nt_publish_finish(&p, NULL);
        assert_int_equal(rc, 0);
        nt_publish_fini(&p);
        read_back(g, "sweep.log", text, sizeof text);
        assert_string_equal(text, "said\n");
        read_back(g, "hint.env", text, sizeof text);
        assert_string_equal(text, failed ? "NETTOPO_STATUS=failed\nNETTOPO_REASON=why\n"
                                           "NETTOPO_LOG=sweep.log\n"
                                         : "NETTOPO_STATUS=ok\n");
    }
}

TEST(unpublished_files_are_removed)
{
    struct ground *g = *state;
    struct nt_publish p = begun(g);
    assert_int_equal(write_artifact(&p, NT_ARTIFACT_MAP, true, "half", NULL), 0);
    nt_publish_fini(&p);
    nt_publish_fini(&p);
    assert_int_equal(entries(g->run), 0);
}

TEST(numbers_and_sizes_are_bounded)
{
    struct ground *g = *state;
    struct nt_publish p = begun(g);
    static char much[LIMIT + 1];
    assert_int_equal(nt_artifact_files_write(&p.artifacts, 0, false, "x", 1, &err), -1);
    assert_int_equal(nt_artifact_files_write(&p.artifacts, NT_ARTIFACT_END, false, "x", 1, &err),
                     -1);
    assert_int_equal(nt_artifact_files_write(&p.artifacts, 0xffffffffu, false, "x", 1, &err), -1);
    assert_string_equal(err.text, "unknown artifact 4294967295");
    assert_int_equal(
        nt_artifact_files_write(&p.artifacts, NT_ARTIFACT_MAP, false, much, LIMIT + 1, &err), -1);
    assert_int_equal(
        nt_artifact_files_write(&p.artifacts, NT_ARTIFACT_MAP, true, much, LIMIT - 1, &err), 0);
    must(nt_artifact_files_write(&p.artifacts, NT_ARTIFACT_MAP, false, much, 1, &err));
    assert_int_equal(nt_artifact_files_write(&p.artifacts, NT_ARTIFACT_MAP, false, "", 0, &err),
                     -1);
    assert_non_null(strstr(err.text, "after its last part"));
    assert_int_equal(write_artifact(&p, NT_ARTIFACT_ENV, false, "x", &err), -1);
    assert_non_null(strstr(err.text, "larger than publish_limit, 100000 bytes"));
    nt_publish_fini(&p);
}

/* The map is worth more than the record that it was made from. */
TEST(a_record_over_the_limit_is_left_out)
{
    struct ground *g = *state;
    static char much[LIMIT];
    struct nt_publish p = begun(g);
    assert_int_equal(write_artifact(&p, NT_ARTIFACT_MAP, false, "{}", NULL), 0);
    assert_int_equal(
        nt_artifact_files_write(&p.artifacts, NT_ARTIFACT_SAMPLES, true, much, LIMIT / 2, NULL), 0);
    assert_false(p.artifacts.dropped[NT_ARTIFACT_SAMPLES]);
    assert_int_equal(
        nt_artifact_files_write(&p.artifacts, NT_ARTIFACT_SAMPLES, true, much, LIMIT, NULL), 0);
    assert_true(p.artifacts.dropped[NT_ARTIFACT_SAMPLES]);
    assert_int_equal(
        nt_artifact_files_write(&p.artifacts, NT_ARTIFACT_SAMPLES, false, "x", 1, NULL), 0);
    assert_int_equal(p.artifacts.used_bytes, 2);
    assert_int_equal(write_artifact(&p, NT_ARTIFACT_ENV, false, "NETTOPO_STATUS=ok\n", NULL), 0);
    assert_int_equal(nt_publish_finish(&p, NULL), 0);
    nt_publish_fini(&p);
    char dir[96];
    snprintf(dir, sizeof dir, "%s/%d", g->run, JOB);
    assert_int_equal(entries(dir), 2);
}

/* Jobs that each keep to their own limit: they get a status and a reason, and no more room. */
TEST(many_jobs_do_not_fill_run_dir)
{
    struct ground *g = *state;
    enum { JOBS = 30, ALL = 8 * LIMIT };
    static char much[LIMIT - 1000];
    int published = 0;
    for (int k = 0; k < JOBS; k++) {
        struct nt_publish p;
        assert_int_equal(begin(&p, g->run, (uint32_t)(JOB + k), getuid(), getgid(), &err), 0);
        if (nt_publish_limit_total(&p, ALL, &err) == 0 &&
            nt_artifact_files_write(&p.artifacts, NT_ARTIFACT_MAP, false, much, sizeof much,
                                    &err) == 0 &&
            write_artifact(&p, NT_ARTIFACT_ENV, false, "NETTOPO_STATUS=ok\n", &err) == 0 &&
            nt_publish_finish(&p, &err) == 0) {
            published++;
        } else {
            assert_non_null(strstr(err.text, "more than run_dir_limit, 800000 bytes"));
            must(nt_publish_failed(&p, err.text, &err));
        }
        nt_publish_fini(&p);
    }
    assert_int_equal(published, 7);
    assert_int_equal(entries(g->run), JOBS); /* each has a status */
    assert_int_equal(nt_publish_remove(g->run, JOB, NULL), 0);
    for (int k = 1; k < JOBS; k++)
        assert_int_equal(nt_publish_remove(g->run, (uint32_t)(JOB + k), NULL), 0);
}

static void make_old(const struct ground *g, const char *name)
{
    char path[128];
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    snprintf(path, sizeof path, "%s/%s", g->run, name);
    assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

TEST(old_temporary_directories_go_and_old_jobs_are_listed)
{
    struct ground *g = *state;
    uint32_t jobs[2] = {0};
    static const char *const names[] = {"7", "8.tmp-00ff", "text", "99999999999", "9", "10"};
    struct nt_publish running = begun(g);
    assert_int_equal(write_artifact(&running, NT_ARTIFACT_MAP, true, "half", NULL), 0);
    for (int k = 0; k < 6; k++)
        make_old(g, names[k]);
    make_old(g, running.tmp_name); /* the clock was set */
    assert_int_equal(nt_publish_find_orphans(g->run, jobs, 2), 2);
    assert_true(jobs[0] != jobs[1] && jobs[0] >= 7 && jobs[0] <= 10);
    assert_int_equal(entries(g->run), 6); /* the old temporary one is gone, ours is not */
    assert_int_equal(access(g->run, F_OK), 0);
    nt_publish_fini(&running);
    for (int k = 0; k < 6; k++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", g->run, names[k]);
        rmdir(path);
    }
    assert_int_equal(nt_publish_find_orphans("/nonexistent", jobs, 2), 0);
}

TEST(links_are_not_followed)
{
    struct ground *g = *state;
    char victim[96], link[96], text[16] = "";
    snprintf(victim, sizeof victim, "%s/victim", g->top);
    snprintf(link, sizeof link, "%s/%d", g->run, JOB);
    int fd = open(victim, O_WRONLY | O_CREAT, 0644);
    assert_int_equal(write(fd, "keep", 4), 4);
    close(fd);
    assert_int_equal(mkdir(g->run, 0755), 0);
    /* the job's name is a link to a directory that must not be emptied */
    assert_int_equal(symlink(g->top, link), 0);
    struct nt_publish p = begun(g);
    assert_int_equal(access(victim, F_OK), 0);
    assert_int_equal(readlink(link, text, sizeof text), -1); /* the link itself is removed */
    /* the name of an artifact is a link: what is written goes where no name is needed */
    char aside[160];
    snprintf(aside, sizeof aside, "%s/%s/map.json", g->run, p.tmp_name);
    assert_int_equal(unlink(aside), 0);
    assert_int_equal(symlink(victim, aside), 0);
    assert_int_equal(write_artifact(&p, NT_ARTIFACT_MAP, false, "gone", &err), 0);
    /* and that of one that is made for a failure */
    snprintf(aside, sizeof aside, "%s/%s/hint.env", g->run, p.tmp_name);
    assert_int_equal(unlink(aside), 0);
    assert_int_equal(symlink(victim, aside), 0);
    must(nt_publish_failed(&p, "why", &err));
    nt_publish_fini(&p);
    assert_int_equal(nt_publish_remove(g->run, JOB, NULL), 0);
    fd = open(victim, O_RDONLY);
    assert_int_equal(read(fd, text, sizeof text), 4);
    close(fd);
    /* run_dir is a link */
    assert_int_equal(rmdir(g->run), 0);
    snprintf(link, sizeof link, "%s/link", g->top);
    assert_int_equal(symlink(g->top, link), 0);
    assert_int_equal(begin(&p, link, JOB, 0, 0, &err), -1);
    nt_publish_fini(&p);
}

TEST(a_directory_that_others_may_write_is_refused)
{
    struct ground *g = *state;
    struct nt_publish p;
    assert_int_equal(mkdir(g->run, 0755), 0);
    assert_int_equal(chmod(g->run, 01777), 0);
    assert_int_equal(begin(&p, g->run, JOB, 0, 0, &err), -1);
    assert_non_null(strstr(err.text, "writable by users other than root"));
    assert_int_equal(nt_publish_failed(&p, "why", NULL), -1);
    nt_publish_fini(&p);
    assert_int_equal(nt_publish_remove(g->run, JOB, &err), -1);
    chmod(g->run, 0755);
}

/* Whether uid:gid can read map.json and list the directory. */
static bool can_read(const struct ground *g, uid_t uid, gid_t gid)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%d/map.json", g->run, JOB);
    pid_t pid = fork();
    if (pid == 0) {
        if (setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0)
            _exit(2);
        int fd = open(path, O_RDONLY);
        _exit(fd >= 0 ? 0 : errno == EACCES ? 1 : 3);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    assert_below(WEXITSTATUS(status), 2);
    return WEXITSTATUS(status) == 0;
}

TEST(only_the_job_s_user_may_read)
{
    struct ground *g = *state;
    if (geteuid() != 0)
        skip();
    struct nt_publish p;
    assert_int_equal(begin(&p, g->run, JOB, 12345, 23456, NULL), 0);
    write_artifact(&p, NT_ARTIFACT_ENV, false, "x\n", NULL);
    write_artifact(&p, NT_ARTIFACT_MAP, false, "{}", NULL);
    assert_int_equal(nt_publish_finish(&p, NULL), 0);
    nt_publish_fini(&p);
    assert_true(can_read(g, 12345, 34567));
    assert_false(can_read(g, 12346, 34567));
    assert_false(can_read(g, 12346, 0));
}

TEST(a_full_file_system_is_an_error)
{
    struct ground *g = *state;
    struct nt_publish p;
    if (geteuid() != 0 || mkdir(g->run, 0755) != 0 ||
        mount("tmpfs", g->run, "tmpfs", 0, "size=16k,mode=755") != 0)
        skip();
    p = begun(g);
    static char much[60000];
    assert_int_equal(
        nt_artifact_files_write(&p.artifacts, NT_ARTIFACT_MAP, false, much, sizeof much, &err), -1);
    assert_non_null(strstr(err.text, "No space left"));
    /* its bytes do not count any more, so that the reason fits */
    assert_int_equal(nt_publish_failed(&p, err.text, NULL), 0);
    nt_publish_fini(&p);
    char text[256];
    read_back(g, "hint.env", text, sizeof text);
    assert_non_null(strstr(text, "NETTOPO_STATUS=failed\n"));
    assert_int_equal(umount(g->run), 0);
}

TEST(others_that_fill_the_file_system_leave_room_for_the_reason)
{
    struct ground *g = *state;
    struct nt_publish p;
    static char much[60000];
    char path[256], text[256];
    if (geteuid() != 0 || mkdir(g->run, 0755) != 0 ||
        mount("tmpfs", g->run, "tmpfs", 0, "size=16k,mode=755") != 0)
        skip();
    p = begun(g);
    snprintf(path, sizeof path, "%s/others", g->run);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_at_least(fd, 0);
    while (write(fd, much, sizeof much) > 0)
        ;
    close(fd);
    assert_int_equal(nt_publish_failed(&p, "why", NULL), 0);
    nt_publish_fini(&p);
    read_back(g, "hint.env", text, sizeof text);
    assert_string_equal(text, "NETTOPO_STATUS=failed\nNETTOPO_REASON=why\n");
    assert_int_equal(umount(g->run), 0);
}

RUN_TESTS
