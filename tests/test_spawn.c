/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "asserts.h"
#include "file.h"
#include "spawn.h"

static int sh(const char *script, double seconds, struct nt_err *err)
{
    char *const argv[] = {"/bin/sh", "-c", (char *)script, NULL};
    return nt_spawn_wait(argv, "quick,budget=2", seconds, err);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

TEST(success_and_failure_are_distinguished)
{
    assert_int_equal(sh("exit 0", 60, &err), 0);
    assert_int_equal(sh("echo chatter; exit 0", 60, &err), 0);
    assert_int_equal(sh("[ \"$NETTOPO_OPTION\" = quick,budget=2 ]", 60, &err), 0);
    assert_int_equal(sh("echo first >&2; echo second >&2; exit 3", 60, &err), -1);
    assert_string_equal(err.text, "/bin/sh: exit status 3: first");
    assert_int_equal(sh("kill -9 $$", 60, &err), -1);
    assert_string_equal(err.text, "/bin/sh: killed by signal 9");
    char *const none[] = {"/nonexistent/agent", NULL};
    assert_int_equal(nt_spawn_wait(none, NULL, 60, &err), -1);
    assert_string_equal(err.text, "/nonexistent/agent could not be started");
}

TEST(no_process_outlives_the_deadline)
{
    char path[] = "/tmp/nettopo-spawn-XXXXXX", script[128], text[32] = "";
    int fd = mkstemp(path);
    assert_at_least(fd, 0);
    snprintf(script, sizeof script, "sleep 300 & echo $! > %s; trap '' TERM; wait", path);
    double began = now();
    assert_int_equal(sh(script, 0.3, &err), -1);
    assert_below(now() - began, 60); /* and not when that ends */
    assert_string_equal(err.text, "/bin/sh: killed after 0.3 s");
    assert_true(read(fd, text, sizeof text - 1) > 0);
    int gone = -1;
    for (int k = 0; k < 12000 && gone != 0; k++) { /* its parent has exited: init reaps it */
        char stat_path[64], line[256] = "";
        snprintf(stat_path, sizeof stat_path, "/proc/%ld/stat", strtol(text, NULL, 10));
        FILE *file = fopen(stat_path, "r");
        gone =
            file != NULL && fgets(line, sizeof line, file) != NULL && strstr(line, ") Z ") == NULL;
        if (file != NULL)
            fclose(file);
        usleep(5000);
    }
    assert_int_equal(gone, 0);
    close(fd);
    unlink(path);
}

TEST(little_is_inherited)
{
    int fd = open("/dev/null", O_RDONLY);
    assert_int_equal(dup2(fd, 77), 77);
    setenv("SECRET", "x", 1);
    setenv("SLURMD_NODENAME", "n1", 1);
    assert_int_equal(sh("test ! -e /proc/$$/fd/77", 60, &err), 0);
    assert_int_equal(sh("test -z \"$SECRET\"", 60, &err), 0);
    assert_int_equal(sh("test \"$SLURMD_NODENAME\" = n1", 60, &err), 0);
    assert_int_equal(sh("test \"$PWD\" = /", 60, &err), 0);
    assert_int_equal(sh("test \"$(readlink /proc/$$/fd/1)\" = /dev/null", 60, &err), 0);
    /* signals that the plugin's process ignores or blocks are reset */
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(sh("kill -PIPE $$; exit 0", 60, &err), -1);
    signal(SIGPIPE, SIG_DFL);
    close(fd);
    close(77);
}

/* What an agent leaves that is killed before it could rename its directory. */
TEST(a_job_that_was_begun_is_told_from_others)
{
    char run_dir[] = "/tmp/nettopo-run-XXXXXX", begun[64], done[64];
    assert_non_null(mkdtemp(run_dir));
    snprintf(begun, sizeof begun, "%s/42.tmp-0011", run_dir);
    snprintf(done, sizeof done, "%s/421", run_dir);
    assert_int_equal(mkdir(begun, 0700), 0);
    assert_int_equal(mkdir(done, 0700), 0);
    assert_true(nt_file_job_is_unfinished(run_dir, 42));
    assert_false(nt_file_job_is_unfinished(run_dir, 4));
    assert_false(nt_file_job_is_unfinished(run_dir, 2));
    assert_false(nt_file_job_is_unfinished(run_dir, 421));
    rmdir(begun);
    rmdir(done);
    rmdir(run_dir);
    assert_false(nt_file_job_is_unfinished(run_dir, 42));
}

TEST(files_of_others_are_not_read)
{
    struct nt_conf conf;
    char *text, path[] = "/tmp/nettopo-file-XXXXXX", link[64];
    size_t bytes;
    bool missing;
    if (geteuid() != 0)
        skip();
    int fd = mkstemp(path);
    assert_int_equal(write(fd, "enabled = no\n", 13), 13);
    fchmod(fd, 0644);
    must(nt_file_read_conf(path, &conf, &err));
    assert_false(conf.enabled);
    assert_int_equal(nt_file_load(path, 12, &text, &bytes, &missing, &err), -1);
    assert_false(missing);
    fchmod(fd, 0666);
    assert_int_equal(nt_file_read_conf(path, &conf, &err), -1);
    assert_non_null(strstr(err.text, "must be a regular file that only root can write"));
    fchmod(fd, 0644);
    assert_int_equal(fchown(fd, 12345, 0), 0);
    assert_int_equal(nt_file_read_conf(path, &conf, &err), -1);
    assert_int_equal(fchown(fd, 0, 0), 0);
    snprintf(link, sizeof link, "%s.link", path);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(nt_file_load(link, 100, &text, &bytes, &missing, &err), -1);
    assert_int_equal(nt_file_load("/nonexistent", 100, &text, &bytes, &missing, &err), -1);
    assert_true(missing);
    assert_int_equal(nt_file_read_conf("/nonexistent", &conf, &err), -1);
    unlink(link);
    unlink(path);
    close(fd);
}

RUN_TESTS
