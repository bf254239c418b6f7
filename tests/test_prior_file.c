/* SPDX-License-Identifier: Apache-2.0 */
/* The prior's file on rank 0: whose it may be, and that nothing wrong with it stops a sweep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "prior_file.h"

static char dir[64], path[96];

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/prior_file.XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/prior", dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    rmdir(dir);
    return 0;
}

static void write_prior(const char *text, mode_t mode)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    assert_int_equal(chmod(path, mode), 0);
}

static struct nt_samples *record_of(const char *const *name, size_t hosts)
{
    struct nt_samples *s;
    assert_int_equal(nt_samples_create(&s, NULL), 0);
    for (size_t h = 0; h < hosts; h++)
        assert_int_equal(nt_samples_add_host(s, name[h], NULL), 0);
    return s;
}

#define PRIOR                                                                                      \
    "nettopo-prior/1\nswitch t - 2 1 2026-01-05\nswitch a t 1 1 2026-01-04\nswitch b t 1 1 "       \
    "2026-01-05\nhost n1 a 1 2026-01-05\nhost n2 a 1 2026-01-05\nhost n3 b 1 2026-01-05\nhost n4 " \
    "b 1 2026-01-05\nend\n"

static const char *const known[] = {"n1", "n2", "n3", "n4"}, *const unknown[] = {"u", "v", "w",
                                                                                 "x"};

static void expect(const char *const *name, const char *at, const char *warning, bool found)
{
    struct nt_samples *s = record_of(name, 4);
    struct nt_belief *b;
    struct nt_prior_facts facts;
    struct nt_err err = {0};
    assert_int_equal(nt_prior_file_record(at, 0, 1, s, &b, &facts, &err), 0);
    assert_int_equal(facts.known, found ? 4 : 0);
    assert_true(!found || facts.oldest_day == 20457);
    assert_int_equal(s->warnings, warning != NULL);
    if (warning != NULL && strstr(s->warning[0], warning) == NULL)
        fail_msg("%s", s->warning[0]);
    assert_int_equal(b != NULL, found);
    assert_int_equal(s->belief != NULL, found);
    nt_belief_destroy(b);
    nt_samples_destroy(s);
}

static void test_file(void **state)
{
    (void)state;
    expect(known, NULL, NULL, false);
    expect(known, "", NULL, false);
    expect(known, path, "No such file", false);
    expect(known, "prior", "begins with /", false);
    expect(known, dir, "regular file", false);
    write_prior(PRIOR, 0644);
    expect(known, path, NULL, true);
    expect(unknown, path, NULL, false);
    write_prior(PRIOR, 0664);
    expect(known, path, "nobody else can write", false);
    write_prior(PRIOR, 0646);
    expect(known, path, "nobody else can write", false);
    write_prior("nettopo-prior/1\nrubbish\nend\n", 0644);
    expect(known, path, ":2: ", false);
    write_prior(PRIOR, 0644);
    if (geteuid() == 0) { /* another user's is not root's nor ours */
        assert_int_equal(chown(path, 65534, 65534), 0);
        expect(known, path, "expected a file of root", false);
    }
    unlink(path);
    assert_int_equal(mkfifo(path, 0644), 0);
    expect(known, path, "regular file", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_file, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
