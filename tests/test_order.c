/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler's order as files, for jobs whose sweep failed. */
#include <sys/stat.h>
#include <unistd.h>

#include "asserts.h"
#include "order.h"

static struct nt_slurm_order hosts_of(size_t hosts)
{
    struct nt_slurm_order order = {.cores = 1};
    for (size_t k = 0; k < hosts; k++) {
        char name[16];
        snprintf(name, sizeof name, "n%zu", k + 1);
        assert_int_equal(nt_slurm_order_add(&order, strdup(name)), 0);
    }
    return order;
}

TEST(tasks_are_spread_as_slurm_does)
{
    static const struct {
        const char *layout;
        uint32_t ntasks, tasks[3];
    } table[] = {{NULL, 0, {1, 1, 1}},
                 {NULL, 7, {3, 2, 2}},
                 {"2(x3)", 6, {2, 2, 2}},
                 {"3,2(x2)", 7, {3, 2, 2}},
                 {"1,4,2", 7, {1, 4, 2}},
                 {"2(x3)", 3, {1, 1, 1}},
                 {"2(x4)", 8, {3, 3, 2}},
                 {"2", 2, {1, 1, 0}},
                 {"2(x3", 6, {2, 2, 2}},
                 {"2(x3),", 5, {2, 2, 1}},
                 {"x", 3, {1, 1, 1}},
                 {"", 4, {2, 1, 1}},
                 {"2(x99999999999999)", 6, {2, 2, 2}}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_slurm_order order = hosts_of(3);
        assert_int_equal(nt_slurm_order_spread(&order, table[k].layout, table[k].ntasks, 0, NULL),
                         0);
        assert_memory_equal(order.tasks, table[k].tasks, sizeof table[k].tasks);
        nt_slurm_order_fini(&order);
    }
}

TEST(one_host_always_stays)
{
    static const size_t spares[][2] = {{0, 0}, {1, 1}, {2, 2}, {3, 2}, {9, 2}};
    for (size_t k = 0; k < sizeof spares / sizeof *spares; k++) {
        struct nt_slurm_order order = hosts_of(3);
        assert_int_equal(nt_slurm_order_spread(&order, NULL, 0, spares[k][0], NULL), 0);
        assert_int_equal(order.spares, spares[k][1]);
        nt_slurm_order_fini(&order);
    }
    struct nt_slurm_order none = hosts_of(0);
    assert_int_equal(nt_slurm_order_spread(&none, "1", 1, 1, NULL), 0);
    assert_int_equal(none.spares, 0);
    nt_slurm_order_fini(&none);
}

static void assert_file(const char *dir, const char *name, const char *expected)
{
    char path[128], text[256];
    snprintf(path, sizeof path, "%s/42/%s", dir, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, expected);
}

TEST(the_files_are_whole_and_go_again)
{
    char dir[] = "/tmp/nettopo-order-XXXXXX", path[128];
    assert_non_null(mkdtemp(dir));
    struct nt_slurm_order order = hosts_of(3);
    assert_int_equal(nt_slurm_order_spread(&order, "2,1(x2)", 4, 1, NULL), 0);
    order.cores = 2;
    for (int again = 0; again < 2; again++) {
        must(nt_slurm_order_write(&order, dir, 42, getgid(), 4096, &err));
        assert_file(dir, "hostfile", "n1\nn1\nn2\n");
        assert_file(dir, "rankfile",
                    "rank 0=n1 slot=0-1\nrank 1=n1 slot=2-3\nrank 2=n2 slot=0-1\n");
        assert_file(dir, "rankorder", "0,1,2\n");
    }
    char *used = nt_slurm_order_text(&order, 0, 2), *spare = nt_slurm_order_text(&order, 2, 3);
    assert_string_equal(used, "n1,n2");
    assert_string_equal(spare, "n3");
    free(used);
    free(spare);
    /* what others wrote stays */
    snprintf(path, sizeof path, "%s/42/hint.env", dir);
    FILE *other = fopen(path, "w");
    assert_non_null(other);
    fclose(other);
    nt_slurm_order_remove(dir, 42);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(unlink(path), 0);
    nt_slurm_order_remove(dir, 42);
    assert_int_equal(rmdir(dir), 0); /* nothing is left in it */
    nt_slurm_order_fini(&order);
}

/* By a writer that was killed before it had given it to the job's group. */
TEST(a_directory_left_closed_is_opened)
{
    char dir[] = "/tmp/nettopo-order-XXXXXX", path[128];
    struct stat st;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/42", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    struct nt_slurm_order order = hosts_of(1);
    assert_int_equal(nt_slurm_order_spread(&order, NULL, 0, 0, NULL), 0);
    assert_int_equal(nt_slurm_order_write(&order, dir, 42, getgid(), 4096, NULL), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0750);
    nt_slurm_order_remove(dir, 42);
    assert_int_equal(rmdir(dir), 0);
    nt_slurm_order_fini(&order);
}

/* Others could put files there that a job takes for root's. */
TEST(a_directory_of_others_is_refused)
{
    char dir[] = "/tmp/nettopo-order-XXXXXX";
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chmod(dir, 0777), 0);
    struct nt_slurm_order order = hosts_of(1);
    assert_int_equal(nt_slurm_order_spread(&order, NULL, 0, 0, NULL), 0);
    assert_int_equal(nt_slurm_order_write(&order, dir, 42, getgid(), 4096, &err), -1);
    assert_int_equal(err.kind, NT_ERR_SYSTEM);
    assert_int_equal(rmdir(dir), 0);
    nt_slurm_order_fini(&order);
}

/* A step's user may set SLURM_NTASKS to anything. */
TEST(root_writes_no_more_than_the_limit)
{
    enum { LIMIT = 100000 };
    static const char *const names[] = {"hostfile", "rankfile", "rankorder"};
    char dir[] = "/tmp/nettopo-order-XXXXXX", path[128];
    struct stat st;
    off_t bytes = 0;
    assert_non_null(mkdtemp(dir));
    struct nt_slurm_order order = hosts_of(2);
    assert_int_equal(nt_slurm_order_spread(&order, NULL, NT_SLURM_ORDER_TASKS_MAX, 0, NULL), 0);
    assert_int_equal(nt_slurm_order_write(&order, dir, 42, getgid(), LIMIT, &err), -1);
    assert_non_null(strstr(err.text, "publish_limit"));
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        snprintf(path, sizeof path, "%s/42/%s", dir, names[k]);
        bytes += stat(path, &st) == 0 ? st.st_size : 0;
    }
    assert_below(bytes, LIMIT);
    nt_slurm_order_remove(dir, 42);
    assert_int_equal(rmdir(dir), 0); /* no temporary file is left */
    nt_slurm_order_fini(&order);
}

TEST(a_list_has_room_in_a_variable)
{
    char variable[131072] = "NETTOPO_NODE_ORDER="; /* the kernel's limit */
    struct nt_slurm_order order = hosts_of(30000);
    char *text = nt_slurm_order_text(&order, 0, 15000);
    assert_non_null(text);
    assert_below(strlen(variable) + strlen(text), sizeof variable);
    free(text);
    assert_null(nt_slurm_order_text(&order, 0, 30000));
    nt_slurm_order_fini(&order);
}

RUN_TESTS
