/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "pattern_file.h"

static char dir[64], path[96];

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/pattern_file.XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/t", dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(dir);
}

static void write_text(const char *text, size_t bytes)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
}

/* A record of pattern matrix:FILE, after FILE was looked at. */
static struct nt_samples *recorded(const char *file, double wait_s)
{
    struct nt_samples *s;
    struct nt_err err = {0};
    char pattern[200];
    snprintf(pattern, sizeof pattern, "matrix:%s", file);
    assert_int_equal(nt_samples_create(&s, &err), 0);
    assert_int_equal(nt_samples_set_word(&s->pattern, pattern, &err), 0);
    assert_int_equal(nt_pattern_file_record(pattern, 0, wait_s, s, &err), 0);
    return s;
}

static void what_ranks_send_each_other_is_kept_once(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0,10,0\n5,7,0\n0,4,0\n",
        "# sparse\n1 0 5\n0 1 10\n2 1 3\n2 1 1\n1 1 7\n",
    };
    for (size_t k = 0; k < 2; k++) {
        write_text(texts[k], strlen(texts[k]));
        struct nt_samples *s = recorded(path, 1);
        assert_int_equal(s->warnings, 0);
        assert_int_equal(s->traffic.n, 2);
        assert_int_equal(s->traffic.ntasks, 3);
        assert_int_equal(s->traffic.pair[0][0], 0);
        assert_int_equal(s->traffic.pair[0][1], 1);
        assert_true(s->traffic.bytes[0] == 15);
        assert_int_equal(s->traffic.pair[1][0], 1);
        assert_int_equal(s->traffic.pair[1][1], 2);
        assert_true(s->traffic.bytes[1] == 4);
        nt_samples_destroy(s);
    }
}

static void expect_neighbour(struct nt_samples *s, const char *says)
{
    assert_string_equal(s->pattern, "neighbour");
    assert_int_equal(s->warnings, 1);
    assert_int_equal(s->traffic.n, 0);
    assert_int_equal(s->traffic.ntasks, 0);
    if (strstr(s->warning[0], says) == NULL)
        fail_msg("expected \"%s\" in \"%s\"", says, s->warning[0]);
    assert_non_null(strstr(s->warning[0], "; the hint is for neighbour"));
    nt_samples_destroy(s);
}

static void a_bad_file_costs_a_warning_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } table[] = {
        {"", "/t: expected a communication matrix, found nothing"},
        {"0 1 5\n0 x 5\n", "/t:2: expected RANK RANK BYTES"},
        {"0,1\n1\n", "/t:2: expected 2 columns, found 1"},
        {"0,1\n1,0\n0,0\n", "/t:3: more rows than columns"},
        {"0 1 -5\n", "/t:1: expected bytes"},
        {"0,0\n0,0\n", "/t: no two ranks talk"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        write_text(table[k].text, strlen(table[k].text));
        expect_neighbour(recorded(path, 1), table[k].says);
    }
}

static void what_is_no_file_of_that_size_is_not_read(void **state)
{
    (void)state;
    expect_neighbour(recorded("/nowhere/t", 1), "/nowhere/t: No such file");
    expect_neighbour(recorded("t", 1), "t: expected a path that begins with /");
    expect_neighbour(recorded(dir, 1), "expected a regular file");
    expect_neighbour(recorded("/dev/zero", 1), "/dev/zero: expected a regular file");
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_neighbour(recorded(path, 5), "expected a regular file");
    unlink(path);
    write_text("0 1 5\n", 6);
    assert_int_equal(truncate(path, NT_PATTERN_FILE_MAX + 1), 0);
    expect_neighbour(recorded(path, 5), "/t: over 4 MiB");
}

static void more_pairs_than_a_record_holds_are_not_kept(void **state)
{
    (void)state;
    enum { RANKS = NT_SAMPLES_TRAFFIC_MAX + 2, LINE = 20 };
    char *text = malloc((size_t)RANKS * LINE);
    assert_non_null(text);
    size_t used = 0;
    for (int k = 1; k < RANKS - 1; k++)
        used += (size_t)snprintf(text + used, LINE, "0 %d 1\n", k);
    write_text(text, used);
    struct nt_samples *s = recorded(path, 5);
    assert_int_equal(s->warnings, 0);
    assert_int_equal(s->traffic.n, NT_SAMPLES_TRAFFIC_MAX);
    nt_samples_destroy(s);
    used += (size_t)snprintf(text + used, LINE, "0 %d 1\n", RANKS - 1);
    write_text(text, used);
    expect_neighbour(recorded(path, 5), "65537 pairs of ranks talk, at most 65536");
    free(text);
}

static void other_patterns_need_no_file(void **state)
{
    (void)state;
    struct nt_samples *s;
    struct nt_err err = {0};
    assert_int_equal(nt_samples_create(&s, &err), 0);
    assert_int_equal(nt_samples_set_word(&s->pattern, "ring", &err), 0);
    assert_int_equal(nt_pattern_file_record("ring", 0, 1, s, &err), 0);
    assert_string_equal(s->pattern, "ring");
    assert_int_equal(s->warnings, 0);
    nt_samples_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ranks_send_each_other_is_kept_once),
        cmocka_unit_test(a_bad_file_costs_a_warning_with_its_line),
        cmocka_unit_test(what_is_no_file_of_that_size_is_not_read),
        cmocka_unit_test(more_pairs_than_a_record_holds_are_not_kept),
        cmocka_unit_test(other_patterns_need_no_file),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
