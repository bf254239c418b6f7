/* SPDX-License-Identifier: Apache-2.0 */
#define TEST_BEFORE make_ground
#define TEST_AFTER remove_ground

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "asserts.h"
#include "publish.h"

struct ground {
    char top[64];
    int fd;
};

static int make_ground(void **state)
{
    struct ground *g = calloc(1, sizeof *g);
    if (g == NULL)
        return -1;
    snprintf(g->top, sizeof g->top, "/tmp/nettopo-space-XXXXXX");
    if (mkdtemp(g->top) == NULL)
        return -1;
    *state = g;
    return 0;
}

static int remove_ground(void **state)
{
    struct ground *g = *state;
    int rc = rmdir(g->top);
    free(g);
    return rc;
}

static void write_file(int run_fd, const char *path, size_t bytes)
{
    static char much[1 << 20];
    int fd = openat(run_fd, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_at_least(fd, 0);
    assert_at_most(bytes, sizeof much);
    assert_int_equal(write(fd, much, bytes), (ssize_t)bytes);
    close(fd);
}

TEST(files_of_all_jobs_are_counted)
{
    struct ground *g = *state;
    static const char *const dirs[] = {"7", "8", "9.tmp-00"};
    static const char *const files[] = {"7/map.json", "8/map.json", "9.tmp-00/map.json"};
    int fd = open(g->top, O_RDONLY | O_DIRECTORY);
    must(nt_space_check_total(fd, 0, &err));
    for (int k = 0; k < 3; k++) {
        assert_int_equal(mkdirat(fd, dirs[k], 0755), 0);
        write_file(fd, files[k], 40960);
    }
    assert_int_equal(symlinkat("/usr", fd, "link"), 0); /* not followed */
    must(nt_space_check_total(fd, 130000, &err));
    assert_int_equal(nt_space_check_total(fd, 120000, &err), -1);
    assert_non_null(strstr(err.text, "more than run_dir_limit, 120000 bytes"));
    for (int k = 0; k < 3; k++) {
        unlinkat(fd, files[k], 0);
        unlinkat(fd, dirs[k], AT_REMOVEDIR);
    }
    unlinkat(fd, "link", 0);
    close(fd);
}

TEST(a_part_of_the_file_system_stays_free)
{
    struct ground *g = *state;
    if (geteuid() != 0 || mount("tmpfs", g->top, "tmpfs", 0, "size=1m,nr_inodes=100") != 0)
        skip();
    int fd = open(g->top, O_RDONLY | O_DIRECTORY);
    must(nt_space_check_free(fd, 900000, &err));
    assert_int_equal(nt_space_check_free(fd, 960000, &err), -1);
    write_file(fd, "much", 900000);
    must(nt_space_check_free(fd, 0, &err));
    assert_int_equal(nt_space_check_free(fd, 65536, &err), -1);
    assert_non_null(strstr(err.text, "must stay free for others"));
    write_file(fd, "much", 0);
    for (int k = 0; k < 90; k++) {
        char name[16];
        snprintf(name, sizeof name, "%d", k);
        write_file(fd, name, 0);
    }
    assert_int_equal(nt_space_check_free(fd, 0, &err), -1);
    assert_non_null(strstr(err.text, "has room for"));
    close(fd);
    assert_int_equal(umount(g->top), 0);
}

RUN_TESTS
