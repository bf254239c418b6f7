/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of measured machines: its text, and what it says of a group that is stated. */
#include <dirent.h>
#include <unistd.h>

#include "asserts.h"
#include "measured_groups.h"

static void read_text(const char *text, size_t hosts, struct measured_groups *t)
{
    char path[] = "/tmp/truth-XXXXXX";
    int file = mkstemp(path);
    assert_at_least(file, 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
    measured_read(path, hosts, t);
    unlink(path);
}

static struct host_set set_of(const char *text)
{
    size_t number[MEASURED_HOSTS_MAX];
    struct host_set s = {{0}};
    size_t count = measured_numbers(&text, SIZE_MAX, MEASURED_HOSTS_MAX, number);
    for (size_t k = 0; k < count; k++)
        set_add(&s, number[k]);
    return s;
}

static void expect(const struct measured_groups *t, const char *group, enum verdict verdict)
{
    struct host_set s = set_of(group), others = set_others(&s, t->hosts);
    if (measured_judge(t, &s) != verdict || measured_judge(t, &others) != verdict)
        fail_msg("%s: %d and %d, expected %d", group, (int)measured_judge(t, &s),
                 (int)measured_judge(t, &others), (int)verdict);
}

/* Two sockets of four cores with two threads each; the first socket is open. */
static const char machine[] = "# a machine\n"
                              "open 0-3 8-11\n"
                              "group 0-3 8-11\n"
                              "group 4-7 12-15\n"
                              "pairs 0-7 8-15\n";

TEST(groups_are_real_or_not_or_unknown)
{
    struct measured_groups t;
    read_text(machine, 16, &t);
    assert_int_equal(t.groups, 10);
    expect(&t, "0-3 8-11", MEASURED_REAL);
    expect(&t, "0 8", MEASURED_REAL);
    expect(&t, "7 15", MEASURED_REAL);
    expect(&t, "0-1 8-9", MEASURED_UNKNOWN); /* of the groups in one that is open */
    expect(&t, "4-5 12-13", MEASURED_NOT);   /* of those in one that is not */
    expect(&t, "0-1", MEASURED_NOT);         /* threads of two cores */
    expect(&t, "0-4 8-12", MEASURED_NOT);    /* a core of the other socket */
    expect(&t, "0-3 8", MEASURED_NOT);
    assert_true(measured_is_said(&t, 1)); /* two sockets part the hosts in one way */
    assert_false(measured_is_said(&t, 0));
}

TEST(some_hosts_show_some_of_it)
{
    struct measured_groups t, few;
    read_text(machine, 16, &t);
    measured_restrict(&t, (const uint32_t[]){0, 1, 2, 10, 4, 5}, 6, &few);
    assert_int_equal(few.groups, 3);
    expect(&few, "0-3", MEASURED_REAL);
    expect(&few, "2-3", MEASURED_REAL);
    expect(&few, "0-1", MEASURED_UNKNOWN);
    expect(&few, "0 4", MEASURED_NOT);

    measured_restrict(&t, (const uint32_t[]){0, 1, 2, 3}, 4, &few); /* of the open socket only */
    assert_int_equal(few.groups, 0);
    expect(&few, "0-1", MEASURED_UNKNOWN);
    measured_restrict(&t, (const uint32_t[]){4, 5, 6, 7}, 4, &few);
    expect(&few, "0-1", MEASURED_NOT);

    /* now one group, in the smaller of which all is known */
    read_text("open 0-7\ngroup 0-7\ngroup 0-3\n", 12, &t);
    measured_restrict(&t, (const uint32_t[]){0, 1, 2, 10, 11}, 5, &few);
    assert_int_equal(few.groups, 1);
    expect(&few, "0-1", MEASURED_NOT);
}

TEST(open_all_is_at_the_top)
{
    struct measured_groups t;
    read_text("open all\nruns 2 0-7\n", 8, &t);
    expect(&t, "2-3", MEASURED_REAL);
    expect(&t, "2-5", MEASURED_UNKNOWN);
    expect(&t, "1-2", MEASURED_NOT);
}

TEST(all_files_can_be_read)
{
    static const char folder[] = "tests/data/measured";
    size_t count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char path[512];
        struct measured_groups t;
        if (strstr(entry->d_name, ".truth") == NULL)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        measured_read(path, MEASURED_HOSTS_MAX, &t);
        for (size_t a = 0; a < t.groups; a++)
            for (size_t b = 0; b < a; b++)
                if (!set_within(&t.below[a], &t.below[b]) &&
                    !set_within(&t.below[b], &t.below[a]) && !set_apart(&t.below[a], &t.below[b]))
                    fail_msg("%s: groups %zu and %zu are neither nested nor apart", path, b, a);
        count++;
    }
    closedir(dir);
    assert_at_least(count, 39);
}

RUN_TESTS
