/* SPDX-License-Identifier: Apache-2.0 */
#define TEST_BEFORE make_ground
#define TEST_AFTER remove_ground

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive.h"
#include "archive_prune.h"
#include "asserts.h"
#include "coordinator_output.h"
#include "origin.h"

static const char map[] = "{\n  \"schema\": \"nettopo-map/1\"\n}\n";
static const char record[] = "nettopo-samples/1\nend ok 1\n";

struct ground {
    char top[64];
    struct nt_conf conf;
    struct nt_job job;
};

static int make_ground(void **state)
{
    struct ground *g = calloc(1, sizeof *g);
    if (g == NULL)
        return -1;
    snprintf(g->top, sizeof g->top, "/tmp/nettopo-archive-XXXXXX");
    if (mkdtemp(g->top) == NULL)
        return -1;
    chmod(g->top, 0755);
    nt_conf_default(&g->conf);
    snprintf(g->conf.archive.dir, sizeof g->conf.archive.dir, "%s/maps", g->top);
    g->job = (struct nt_job){
        .id = 42, .restart = 1, .uid = 1001, .cluster = "c", .list = "n[1-3],m", .hosts = 4};
    *state = g;
    return mkdir(g->conf.archive.dir, 0755);
}

static int remove_ground(void **state)
{
    struct ground *g = *state;
    DIR *dir = opendir(g->conf.archive.dir);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
        unlinkat(dirfd(dir), e->d_name, 0);
    if (dir != NULL)
        closedir(dir);
    unlink(g->conf.archive.dir);
    rmdir(g->conf.archive.dir);
    int rc = rmdir(g->top);
    free(g);
    return rc;
}

static int packed_file(size_t padding)
{
    char *packed, *text = calloc(1, sizeof record + padding);
    size_t bytes;
    int fd = memfd_create("packed", 0);
    memcpy(text, record, sizeof record - 1);
    for (size_t k = 0; k < padding; k++) /* does not become smaller */
        text[sizeof record - 1 + k] = (char)(k * k * 2654435761u >> 13);
    const struct nt_archive_texts texts = {map, text, sizeof map - 1, sizeof record - 1 + padding};
    must(nt_archive_pack(&texts, &packed, &bytes, &err));
    assert_int_equal(write(fd, packed, bytes), bytes);
    free(packed);
    free(text);
    return fd;
}

static void keep(struct ground *g, size_t padding)
{
    int fd = packed_file(padding);
    must(nt_archive_keep(&g->conf, &g->job, fd, 1764009370, &err));
    close(fd);
}

static void path_of(const struct ground *g, const char *name, char path[512])
{
    snprintf(path, 512, "%s/%s", g->conf.archive.dir, name);
}

static bool is_there(const struct ground *g, const char *name)
{
    char path[512];
    path_of(g, name, path);
    return access(path, F_OK) == 0;
}

static size_t files_in(const struct ground *g)
{
    size_t n = 0;
    DIR *dir = opendir(g->conf.archive.dir);
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n - 2;
}

/* What the agent and the probe write is what ingest reads. */
TEST(a_file_says_what_root_knows)
{
    struct ground *g = *state;
    char path[512], file[4096];
    struct stat st;
    struct nt_archive_text text;
    struct nt_origin o;
    g->conf.archive.mode = 0640;
    keep(g, 0);
    keep(g, 0); /* the same run of the job again */
    assert_int_equal(files_in(g), 1);
    path_of(g, "42.1.c.gz", path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    int fd = open(path, O_RDONLY);
    ssize_t bytes = read(fd, file, sizeof file);
    close(fd);
    assert_above(bytes, 0);
    assert_below((size_t)bytes, sizeof file);
    must(nt_archive_text_read(file, (size_t)bytes, sizeof file, &text, &err));
    assert_int_equal(text.map_bytes, sizeof map - 1);
    assert_memory_equal(text.text, map, sizeof map - 1);
    assert_string_equal(text.text + text.map_bytes, record);
    must(nt_origin_parse(text.comment, strlen(text.comment), &o, &err));
    assert_string_equal(o.cluster, "c");
    assert_int_equal(o.job, 42);
    assert_int_equal(o.restart, 1);
    assert_int_equal(o.user, 1001);
    assert_int_equal(o.time_s, 1764009370);
    assert_int_equal(o.hosts.count, 4);
    nt_origin_fini(&o);
    nt_archive_text_fini(&text);
}

/* A host list with a blank would let its job's name speak on. */
TEST(what_slurm_never_writes_is_left_out)
{
    struct ground *g = *state;
    char path[512], file[256] = {0};
    g->job.list = "n1 uid=0";
    keep(g, 0);
    path_of(g, "42.1.c.gz", path);
    int fd = open(path, O_RDONLY);
    assert_true(read(fd, file, sizeof file - 1) > 10);
    close(fd);
    assert_string_equal(file + 10, "nettopo-archive/1 cluster=c job=42 restart=1 uid=1001 "
                                   "time=1764009370");
}

static void fails_with(struct ground *g, const char *words)
{
    int fd = packed_file(0);
    assert_int_equal(nt_archive_keep(&g->conf, &g->job, fd, 1, &err), -1);
    if (strstr(err.text, words) == NULL)
        fail_msg("%s", err.text);
    close(fd);
}

TEST(a_wrong_folder_is_not_written_to)
{
    struct ground *g = *state;
    char elsewhere[512], good[NT_CONF_PATH_BYTES];
    chmod(g->conf.archive.dir, 0777);
    fails_with(g, "writable by users other than root");
    chmod(g->conf.archive.dir, 0755);
    memcpy(good, g->conf.archive.dir, sizeof good);
    snprintf(g->conf.archive.dir, sizeof g->conf.archive.dir, "%s/none", g->top);
    fails_with(g, "No such file");
    snprintf(elsewhere, sizeof elsewhere, "%s/link", g->top);
    assert_int_equal(symlink(good, elsewhere), 0);
    memcpy(g->conf.archive.dir, elsewhere, sizeof g->conf.archive.dir);
    fails_with(g, "cannot open archive");
    unlink(elsewhere);
    memcpy(g->conf.archive.dir, good, sizeof good);
    g->conf.publish_limit_bytes = 10;
    fails_with(g, "larger than publish_limit");
    assert_int_equal(files_in(g), 0);
}

/* A link of the file's name, or of the one beside it, is replaced, never followed. */
TEST(links_are_not_followed)
{
    struct ground *g = *state;
    char victim[512], path[512];
    struct stat st;
    snprintf(victim, sizeof victim, "%s/victim", g->top);
    close(open(victim, O_CREAT | O_WRONLY, 0600));
    path_of(g, "42.1.c.gz", path);
    assert_int_equal(symlink(victim, path), 0);
    path_of(g, ".42.1.c.gz.tmp", path);
    assert_int_equal(symlink(victim, path), 0);
    keep(g, 0);
    assert_int_equal(stat(victim, &st), 0);
    assert_int_equal(st.st_size, 0);
    path_of(g, "42.1.c.gz", path);
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISREG(st.st_mode));
    assert_above(st.st_size, 0);
    unlink(victim);
}

static void prune(const struct ground *g)
{
    bool done = false;
    must(nt_archive_prune(g->conf.archive.dir, g->conf.archive.limit_bytes, (double)INFINITY, &done,
                          &err));
    assert_true(done);
}

TEST(the_oldest_go_first)
{
    struct ground *g = *state;
    char path[512];
    for (uint32_t k = 0; k < 8; k++) {
        g->job.id = 100 + k;
        keep(g, 20000);
        char name[32];
        snprintf(name, sizeof name, "%u.1.c.gz", g->job.id);
        path_of(g, name, path);
        struct timespec times[2] = {{1000 - k, 0}, {1000 - k, 0}}; /* the last is the oldest */
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    }
    path_of(g, "README", path);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    path_of(g, ".7.0.c.gz.tmp", path); /* of a killed agent */
    close(open(path, O_CREAT | O_WRONLY, 0600));
    struct timespec old[2] = {{1, 0}, {1, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    g->conf.archive.limit_bytes = 70000;
    prune(g);
    assert_true(is_there(g, "100.1.c.gz") && is_there(g, "101.1.c.gz"));
    assert_true(is_there(g, "102.1.c.gz") && !is_there(g, "103.1.c.gz"));
    assert_true(is_there(g, "README") && !is_there(g, ".7.0.c.gz.tmp"));
    assert_int_equal(files_in(g), 4);
    prune(g);
    assert_int_equal(files_in(g), 4);
}

/* Fifty files of one user are newer than three of others, which stay. */
TEST(one_user_does_not_push_all_others_out)
{
    struct ground *g = *state;
    char path[512], name[32];
    for (uint32_t k = 0; k < 53; k++) {
        g->job.id = 100 + k;
        g->job.uid = k < 3 ? 2000 + k : 6666;
        keep(g, 20000);
        snprintf(name, sizeof name, "%u.1.c.gz", g->job.id);
        path_of(g, name, path);
        struct timespec times[2] = {{1000 + k, 0}, {1000 + k, 0}};
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    }
    g->conf.archive.limit_bytes = 400000;
    prune(g);
    for (uint32_t k = 0; k < 3; k++) {
        snprintf(name, sizeof name, "%u.1.c.gz", 100 + k);
        assert_true(is_there(g, name));
    }
    assert_true(!is_there(g, "103.1.c.gz") && is_there(g, "152.1.c.gz"));
    assert_above(files_in(g), 15); /* no more than has to go */
}

/* With no time nothing is looked at to the end, and nothing is removed. */
TEST(it_gives_up_in_time)
{
    struct ground *g = *state;
    char path[512], name[32];
    bool done = true;
    for (uint32_t k = 0; k < 100; k++) {
        snprintf(name, sizeof name, "%u.1.c.gz", k);
        path_of(g, name, path);
        close(open(path, O_CREAT | O_WRONLY, 0600));
    }
    must(nt_archive_prune(g->conf.archive.dir, 65536, -1, &done, &err));
    assert_false(done);
    assert_int_equal(files_in(g), 100);
}

RUN_TESTS
