/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>
#include <unistd.h>

#include "asserts.h"
#include "job_record.h"

static char dir[64], path[96];

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/job_record.XXXXXX");
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
    char pattern[200];
    snprintf(pattern, sizeof pattern, "matrix:%s", file);
    must(nt_samples_create(&s, &err));
    must(nt_samples_set_word(&s->job.pattern, pattern, &err));
    must(nt_pattern_file_record(pattern, 0, wait_s, s, &err));
    return s;
}

TEST(what_ranks_send_each_other_is_kept_once)
{
    static const char *const texts[] = {
        "0,10,0\n5,7,0\n0,4,0\n",
        "# sparse\n1 0 5\n0 1 10\n2 1 3\n2 1 1\n1 1 7\n",
    };
    for (size_t k = 0; k < 2; k++) {
        write_text(texts[k], strlen(texts[k]));
        SCOPED(samples) *s = recorded(path, 1);
        assert_int_equal(s->warnings, 0);
        assert_int_equal(s->traffic.n, 2);
        assert_int_equal(s->traffic.ntasks, 3);
        assert_int_equal(s->traffic.pair[0][0], 0);
        assert_int_equal(s->traffic.pair[0][1], 1);
        assert_true(s->traffic.bytes[0] == 15);
        assert_int_equal(s->traffic.pair[1][0], 1);
        assert_int_equal(s->traffic.pair[1][1], 2);
        assert_true(s->traffic.bytes[1] == 4);
    }
}

static void expect_neighbour(struct nt_samples *s, const char *says)
{
    assert_string_equal(s->job.pattern, "neighbour");
    assert_int_equal(s->warnings, 1);
    assert_int_equal(s->traffic.n, 0);
    assert_int_equal(s->traffic.ntasks, 0);
    if (strstr(s->warning[0], says) == NULL)
        fail_msg("expected \"%s\" in \"%s\"", says, s->warning[0]);
    assert_non_null(strstr(s->warning[0], "; the hint is for neighbour"));
    nt_samples_destroy(s);
}

TEST(a_bad_file_costs_a_warning_with_its_line)
{
    static const struct {
        const char *text, *says;
    } table[] = {
        {"", "/t: expected a communication matrix, found nothing"},
        {"0 1 5\n0 x 5\n", "/t:2: expected RANK RANK BYTES"},
        {"0,1\n1\n", "/t:2: expected 2 columns, found 1"},
        {"0,1\n1,0\n0,0\n", "/t:3: more rows than columns"},
        {"0 1 -5\n", "/t:1: expected bytes"},
        {"0,0\n0,0\n", "/t: expected ranks that communicate, found none"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        write_text(table[k].text, strlen(table[k].text));
        expect_neighbour(recorded(path, 1), table[k].says);
    }
}

TEST(what_is_no_file_of_that_size_is_not_read)
{
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

TEST(more_pairs_than_a_record_holds_are_not_kept)
{
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
    expect_neighbour(recorded(path, 5), "65537 pairs of ranks communicate, expected at most 65536");
    free(text);
}

TEST(other_patterns_need_no_file)
{
    SCOPED(samples) *s;
    must(nt_samples_create(&s, &err));
    must(nt_samples_set_word(&s->job.pattern, "ring", &err));
    must(nt_pattern_file_record("ring", 0, 1, s, &err));
    assert_string_equal(s->job.pattern, "ring");
    assert_int_equal(s->warnings, 0);
}

/* ---- the prior: whose file it may be, and that nothing wrong with it stops a sweep ---- */
static void write_prior(const char *text, mode_t mode)
{
    write_text(text, strlen(text));
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

static void expect_belief(const char *const *name, const char *at, const char *warning,
                          bool known_all)
{
    SCOPED(samples) *s = record_of(name, 4);
    struct nt_prior_found found;
    must(nt_prior_file_record(at, 0, 1, s, &found, &err));
    assert_int_equal(found.facts.known, known_all ? 4 : 0);
    assert_true(!known_all || found.facts.oldest_day == 20457);
    assert_int_equal(s->warnings, warning != NULL);
    if (warning != NULL && strstr(s->warning[0], warning) == NULL)
        fail_msg("%s", s->warning[0]);
    assert_int_equal(found.belief != NULL, known_all);
    assert_int_equal(s->belief != NULL, known_all);
    nt_belief_destroy(found.belief);
}

/* LogGP of earlier jobs comes into the record of a sweep that would measure it, on hosts that the
 * prior knows. */
TEST(loggp_of_earlier_jobs)
{
    static const char text[] =
        "nettopo-prior/1\nswitch a - 1 1 2026-01-04\nhost n1 a 1 2026-01-05\nhost n2 a 1 "
        "2026-01-05\nhost n3 a 1 2026-01-05\nhost n4 a 1 2026-01-05\n#loggp - 1 64 65.4 6.1 6.1 "
        "0.897 0.00849 0.00849 0.75 2026-01-05 same switch\nend\n";
    static const struct {
        const char *level;
        const char *const *name;
        size_t loggps;
    } table[] = {{"full", known, 1}, {"standard", known, 0}, {"full", unknown, 0}};
    unlink(path);
    write_prior(text, 0644);
    for (size_t k = 0; k < 3; k++) {
        SCOPED(samples) *s = record_of(table[k].name, 4);
        struct nt_prior_found found;
        must(nt_samples_set_word(&s->job.level, table[k].level, &err));
        must(nt_prior_file_record(path, 0, 1, s, &found, &err));
        assert_int_equal(s->warnings, 0);
        assert_int_equal(s->loggps, table[k].loggps);
        nt_belief_destroy(found.belief);
    }
    unlink(path);
}

TEST(the_prior_is_a_file_of_root)
{
    unlink(path);
    expect_belief(known, NULL, NULL, false);
    expect_belief(known, "", NULL, false);
    expect_belief(known, path, "No such file", false);
    expect_belief(known, "t", "begins with /", false);
    expect_belief(known, dir, "regular file", false);
    write_prior(PRIOR, 0644);
    expect_belief(known, path, NULL, true);
    expect_belief(unknown, path, NULL, false);
    write_prior(PRIOR, 0664);
    expect_belief(known, path, "nobody else can write", false);
    write_prior(PRIOR, 0646);
    expect_belief(known, path, "nobody else can write", false);
    write_prior("nettopo-prior/1\nrubbish\nend\n", 0644);
    expect_belief(known, path, ":2: ", false);
    write_prior(PRIOR, 0644);
    if (geteuid() == 0) { /* another user's is not root's nor ours */
        assert_int_equal(chown(path, 65534, 65534), 0);
        expect_belief(known, path, "expected a file of root", false);
    }
    unlink(path);
    assert_int_equal(mkfifo(path, 0644), 0);
    expect_belief(known, path, "regular file", false);
    unlink(path);
}

/* ---- slots and networks ---- */
TEST(tasks_sit_evenly_within_the_cpus)
{
    static const struct {
        uint32_t tasks, task_cpus;
        bool known;
        uint32_t cpus[4], slots[4];
    } table[] = {
        {0, 0, false, {0}, {1, 1, 1, 1}},
        {4, 1, false, {0}, {1, 1, 1, 1}},
        {7, 1, false, {0}, {2, 2, 2, 1}},
        {8, 1, true, {4, 4, 4, 4}, {2, 2, 2, 2}},
        {8, 1, true, {1, 4, 4, 4}, {1, 3, 2, 2}},
        {8, 2, true, {4, 4, 4, 4}, {2, 2, 2, 2}},
        {6, 2, true, {2, 8, 2, 2}, {1, 3, 1, 1}},
        {40, 1, true, {4, 4, 4, 4}, {10, 10, 10, 10}}, /* more than the CPUs hold */
        {2, 1, true, {4, 4, 4, 4}, {1, 1, 0, 0}},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        uint32_t slots[4];
        nt_slots_spread(table[k].tasks, table[k].task_cpus, table[k].known ? table[k].cpus : NULL,
                        slots, 4);
        assert_memory_equal(slots, table[k].slots, sizeof slots);
    }
}

TEST(the_record_holds_what_the_agent_said)
{
    struct nt_probe_job job = {.tasks = 5, .task_cpus = 1, .cpus = "4,1"};
    SCOPED(samples) *s;
    must(nt_samples_create(&s, &err));
    must(nt_samples_add_host(s, "a", &err));
    must(nt_samples_add_host(s, "b", &err));
    must(nt_slots_record(&job, s, &err));
    assert_int_equal(s->slots[0], 4);
    assert_int_equal(s->slots[1], 1);
    job.cpus = "4(x7"; /* not Slurm's form: as if nothing had been said */
    must(nt_slots_record(&job, s, &err));
    assert_int_equal(s->slots[0], 3);
}

TEST(hosts_of_one_network_and_others)
{
    static const char *const host[] = {"n1", "n2", "n3"};
    static const struct {
        const char *list[3], *says;
    } table[] = {
        {{"fab0 10.77.0.0/17", "fab0 10.77.0.0/17", "fab0 10.77.0.0/17"}, ""},
        {{"", "", ""}, ""},
        {{NULL, NULL, NULL}, ""},
        {{"", "fab0 10.77.0.0/17", NULL}, ""},
        /* routed: each host has a network of its own */
        {{"eth0 10.0.0.0/31", "eth0 10.0.0.2/31", "eth0 10.0.0.4/31"}, ""},
        /* what differs in name alone */
        {{"enp1 10.0.0.0/24", "enp2 10.0.0.0/24", "enp1 10.0.0.0/24"}, ""},
        {{"fab0 10.77.0.0/17", "", "eth0 10.219.0.0/24"},
         "the hosts' devices do not lie in one network (n1: fab0 10.77.0.0/17; n3: eth0 "
         "10.219.0.0/24): name"},
        {{"fab0 10.77.0.0/17", "fab0 10.77.0.0/17,br0 172.17.0.0/16", ""},
         "UCX may use devices of several networks (n2: fab0 10.77.0.0/17,br0 172.17.0.0/16)"},
        /* no list at all */
        {{"fab0 10.77.0.0/17", "eth0 \x1b[1m", "fab0 10.77.0.0/17"}, ""},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        char warning[NT_NETWORKS_WARNING_BYTES];
        nt_networks_compare(host, table[k].list, 3, warning);
        if (table[k].says[0] == '\0')
            assert_string_equal(warning, "");
        else
            assert_memory_equal(warning, table[k].says, strlen(table[k].says));
    }
}

TEST(long_texts_are_cut)
{
    static char name[300], list[128];
    char warning[NT_NETWORKS_WARNING_BYTES];
    memset(name, 'n', sizeof name - 1);
    memset(list, ',', sizeof list - 1);
    const char *host[] = {name}, *lists[] = {list};
    nt_networks_compare(host, lists, 1, warning);
    assert_non_null(strstr(warning, "UCX_NET_DEVICES"));
}

TEST(a_plan_is_of_the_jobs_hosts)
{
    static const char plan[] = "{\"rounds\": [[[\"a\", \"b\"]], [[\"b\", \"x\"], [\"c\", \"a\"]]]}";
    static const char *const hosts[] = {"a", "b", "c", "d", "e"};
    SCOPED(samples) *s;
    struct nt_plan *read;
    must(nt_samples_create(&s, &err));
    for (size_t k = 0; k < 5; k++)
        must(nt_samples_add_host(s, hosts[k], &err));
    write_text(plan, strlen(plan));
    must(nt_planned_file_record(path, 1, s, &read, &err));
    assert_int_equal(read->pairs, 2);
    assert_int_equal(s->warnings, 2);
    assert_string_equal(s->warning[0], "plan: 1 of 3 pairs have a host that is not in this job");
    assert_string_equal(s->warning[1], "plan: 2 of 5 hosts are in no pair: d and others");
    nt_plan_destroy(read);
    write_text("{", 1);
    assert_int_equal(nt_planned_file_record(path, 1, s, &read, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    assert_int_equal(nt_planned_file_record("/absent/plan", 1, s, &read, &err), -1);
    assert_non_null(strstr(err.text, "No such file"));
}

int main(void)
{
    return run_group(make_dir, remove_dir);
}
