/* SPDX-License-Identifier: Apache-2.0 */
/* Complete agents: the leader and its members as processes on this machine, with a munged of the
 * test, and this program itself as their probe. The hosts are names of the
 * loopback, so that a member finds its leader as it would on a network. */
#define TEST_BEFORE make_scene
#define TEST_AFTER remove_scene

#include <netinet/in.h>
#include <sys/prctl.h>

#include "asserts.h"
#include "clock.h"
#include "listener.h"
#include "monitor.h"
#include "own_munge.h"
#include "toy_probe.h"

/* AMPLE_S: the budget of what ends long before it, also on a machine that does much else */
enum { HOSTS = 3, MANY = 10, BLOCK = 4, JOB = 4711, AMPLE_S = 60 };
static const char *const names[MANY] = {"localhost", "127.0.0.2", "127.0.0.3", "127.0.0.4",
                                        "127.0.0.5", "127.0.0.6", "127.0.0.7", "127.0.0.8",
                                        "127.0.0.9", "127.0.0.10"};

static struct own_munge munge;
static char self[TOY_PATH_BYTES];

static int start(void **state)
{
    char path[TOY_PATH_BYTES + 8];
    (void)state;
    if (toy_copy_self(self) != 0)
        return -1;
    toy_met_path(self, path);
    if (mkfifo(path, 0644) != 0)
        return -1;
    own_munge_start(&munge);
    /* otherwise libslurm queries the DNS for its configuration, which may take long */
    return setenv("SLURM_CONF", "/dev/null", 1);
}

static int stop(void **state)
{
    char path[TOY_PATH_BYTES + 8];
    (void)state;
    toy_met_path(self, path);
    unlink(path);
    unlink(self);
    if (munge.pid > 0)
        own_munge_stop(&munge);
    return 0;
}

struct scene {
    char top[64];
    int hosts;
    uint32_t block_hosts;
    bool one_prolog;
    pid_t pid[MANY];
    double began;
};

static void run_dir_of(const struct scene *s, int host, char path[96])
{
    snprintf(path, 96, "%s/%d", s->top, host);
}

static int make_scene(void **state)
{
    struct scene *s = calloc(1, sizeof *s);
    if (s == NULL)
        return -1;
    /* in memory, as /run is: on a disk a file may wait for what others write */
    snprintf(s->top, sizeof s->top, "/dev/shm/nettopo-agent-XXXXXX");
    s->hosts = HOSTS;
    *state = s;
    return mkdtemp(s->top) == NULL || chmod(s->top, 0755) != 0;
}

static int remove_scene(void **state)
{
    struct scene *s = *state;
    char path[96];
    for (int k = 0; k < s->hosts; k++) {
        run_dir_of(s, k, path);
        nt_publish_remove(path, JOB, NULL);
        rmdir(path);
    }
    int rc = rmdir(s->top);
    free(s);
    return rc;
}

static struct nt_conf conf_of(const struct scene *s, int host)
{
    struct nt_conf conf;
    nt_conf_default(&conf);
    conf.port_first = 31700;
    conf.port_last = 31860;
    conf.block_hosts = s->block_hosts;
    run_dir_of(s, host, conf.run_dir);
    snprintf(conf.probe, sizeof conf.probe, "%s", self);
    snprintf(conf.munge_socket, sizeof conf.munge_socket, "%s", munge.socket);
    return conf;
}

/* The agent of one host, in a child. */
static void begin_as(struct scene *s, uid_t uid, int host, struct nt_conf conf, const char *option,
                     double budget)
{
    char list[256] = "";
    struct nt_request request = {.verb = NT_VERB_RUN,
                                 .wanted = true,
                                 .one_prolog = s->one_prolog,
                                 .job = JOB,
                                 .uid = uid,
                                 .gid = uid};
    if (geteuid() != 0 && uid != 0) {
        request.uid = geteuid();
        request.gid = getegid();
    }
    assert_int_equal(nt_option_parse(option, &request.option, NULL), 0);
    s->pid[host] = fork();
    if (s->pid[host] != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int k = 0; k < s->hosts; k++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", k > 0 ? "," : "",
                 names[k]);
    setenv("SLURM_JOB_NODELIST", list, 1);
    setenv("SLURMD_NODENAME", names[host], 1);
    _exit(nt_monitor_run(&request, &conf, budget, nt_clock_s(), &err) == 0 ? 0 : 1);
}

static void begin(struct scene *s, int host, struct nt_conf conf, const char *option, double budget)
{
    begin_as(s, 65534, host, conf, option, budget);
}

static void begin_all(struct scene *s, const char *option, double budget)
{
    s->began = nt_clock_s();
    for (int k = 0; k < s->hosts; k++)
        begin(s, k, conf_of(s, k), option, budget);
}

/* Waits for all; the longest, in seconds. */
static double end_all(struct scene *s)
{
    for (int k = 0; k < s->hosts; k++)
        if (s->pid[k] > 0)
            waitpid(s->pid[k], NULL, 0);
    return nt_clock_s() - s->began;
}

static void published(const struct scene *s, int host, const char *name, char text[4096])
{
    char path[160], dir[96];
    run_dir_of(s, host, dir);
    snprintf(path, sizeof path, "%s/%d/%s", dir, JOB, name);
    int fd = open(path, O_RDONLY);
    ssize_t n = fd >= 0 ? read(fd, text, 4095) : 0;
    text[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

static void end_within(struct scene *s, double seconds)
{
    double took = end_all(s);
    if (took < seconds)
        return;
    for (int k = 0; k < s->hosts; k++) {
        char text[4096];
        published(s, k, "hint.env", text);
        print_error("host %d: %s\n", k, text);
    }
    fail_msg("expected the end within %g s, found it after %.2f s", seconds, took);
}

static void expect(const struct scene *s, int host, const char *part)
{
    char text[4096];
    published(s, host, "hint.env", text);
    if (strstr(text, part) == NULL)
        fail_msg("host %d: expected %s, found \"%s\"", host, part, text);
}

/* Without a fault an agent ends before its budget, with one at most a second after it: that second
 * is judged by the storm, in simulated time, and with FULL=1. Who has no processor is late. */
static double late_s(void)
{
    const char *full = getenv("FULL");
    return full != NULL && strcmp(full, "1") == 0 ? 1 : 50;
}

/* With the reason of a monitor, worker or leader that waited in vain for who had no processor. */
static bool ended_by_monitor(const struct scene *s)
{
    bool ended = false;
    for (int k = 0; k < s->hosts && late_s() > 1; k++) {
        char text[4096];
        published(s, k, "hint.env", text);
        ended |= strstr(text, "the agent's worker did not end within the budget") != NULL ||
                 strstr(text, "the relay could not be ended") != NULL ||
                 strstr(text, "hosts are missing") != NULL;
    }
    return ended;
}

TEST(all_hosts_connect_and_get_the_artifacts)
{
    struct scene *s = *state;
    char text[4096];
    if (munge.pid == 0)
        skip();
    begin_all(s, "quick", AMPLE_S);
    end_within(s, AMPLE_S);
    for (int k = 0; k < HOSTS; k++) {
        expect(s, k, "NETTOPO_STATUS=ok\n");
        expect(s, k, "NETTOPO_NODE_ORDER=localhost,127.0.0.2,127.0.0.3\n");
        published(s, k, "map.json", text);
        assert_non_null(strstr(text, geteuid() == 0 ? "\"uid\": 65534" : "\"came\": 3"));
    }
}

TEST(a_large_artifact_arrives_complete)
{
    struct scene *s = *state;
    char path[160], dir[96];
    struct stat st;
    if (munge.pid == 0)
        skip();
    begin_all(s, "quick,pattern=matrix:big", AMPLE_S);
    end_all(s);
    for (int k = 0; k < HOSTS; k++) {
        run_dir_of(s, k, dir);
        snprintf(path, sizeof path, "%s/%d/map.json", dir, JOB);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_size, 3 << 20);
    }
}

TEST(a_faulty_probe_never_delays_the_result)
{
    struct scene *s = *state;
    enum { SHORT_S = 2 };
    static const struct {
        const char *what, *first, *other;
    } table[] = {
        {"exit-0", "probe of localhost: exit 9", "probe of localhost: exit 9"},
        {"exit-1", "STATUS=partial", "NODE_ORDER=localhost,127.0.0.3\n"},
        {"garbage-0", "not a nettopo frame", "not a nettopo frame"},
        {"garbage-2", "STATUS=partial", "NODE_ORDER=localhost,127.0.0.2\n"},
        {"huge-1", "STATUS=partial", "NODE_ORDER=localhost,127.0.0.3\n"},
        {"hang-0", "the budget was over", "STATUS=failed"},
        {"hang-1", "the budget was over", "STATUS=failed"}, /* rank 0 waits longer than that */
        {"leave-0", "STATUS=ok", "STATUS=ok"},
        {"leave-2", "STATUS=ok", "STATUS=ok"},
    };
    if (munge.pid == 0)
        skip();
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        char option[64];
        snprintf(option, sizeof option, "quick,pattern=matrix:%s", table[k].what);
        bool waits = strncmp(table[k].what, "hang", 4) == 0;
        for (int tries = waits ? 3 : 1; tries > 0; tries = ended_by_monitor(s) ? tries - 1 : 0) {
            begin_all(s, option, waits ? SHORT_S : AMPLE_S);
            end_within(s, waits ? SHORT_S + late_s() : AMPLE_S);
        }
        expect(s, 0, table[k].first);
        expect(s, 1, table[k].other);
        expect(s, 2, table[k].other);
    }
}

TEST(a_host_that_does_not_connect_is_missing)
{
    struct scene *s = *state;
    if (munge.pid == 0)
        skip();
    s->began = nt_clock_s();
    begin(s, 0, conf_of(s, 0), "quick", AMPLE_S);
    begin(s, 2, conf_of(s, 2), "quick", AMPLE_S);
    end_within(s, AMPLE_S);
    expect(s, 0, "STATUS=partial");
    expect(s, 2, "NODE_ORDER=localhost,127.0.0.3\n");
}

TEST(members_report_a_missing_leader)
{
    struct scene *s = *state;
    if (munge.pid == 0)
        skip();
    for (int tries = 3; tries > 0; tries = ended_by_monitor(s) ? tries - 1 : 0) {
        s->began = nt_clock_s();
        begin(s, 1, conf_of(s, 1), "quick", 2);
        end_within(s, 2 + late_s());
    }
    expect(s, 1,
           "no connection to the job's first host localhost within the budget: Connection refused");
}

TEST(a_killed_leader_is_detected)
{
    struct scene *s = *state;
    if (munge.pid == 0)
        skip();
    begin_all(s, "quick,pattern=matrix:slow", AMPLE_S);
    toy_await_met(self, AMPLE_S);
    kill(s->pid[0], SIGKILL); /* the kernel kills its worker and the probe, too */
    end_within(s, AMPLE_S);
    expect(s, 1, "lost the connection to the job's first host localhost");
    expect(s, 2, "lost the connection to the job's first host localhost");
}

TEST(a_hanging_munged_takes_no_longer_than_the_budget)
{
    struct scene *s = *state;
    if (munge.pid == 0)
        skip();
    for (int tries = 3; tries > 0; tries = ended_by_monitor(s) ? tries - 1 : 0) {
        kill(munge.pid, SIGSTOP);
        begin_all(s, "quick", 1);
        double took = end_all(s);
        kill(munge.pid, SIGCONT);
        assert_in_range(took * 1e3, 0, 1e3 * (1 + late_s()));
    }
    for (int k = 1; k < HOSTS; k++)
        expect(s, k, "NETTOPO_REASON=munged on this host did not answer\n");
}

TEST(a_missing_probe_program_fails_early)
{
    struct scene *s = *state;
    if (munge.pid == 0)
        skip();
    s->began = nt_clock_s();
    for (int k = 0; k < HOSTS; k++) {
        struct nt_conf conf = conf_of(s, k);
        if (k == 0)
            snprintf(conf.probe, sizeof conf.probe, "/nonexistent/probe");
        begin(s, k, conf, "quick", AMPLE_S);
    }
    end_within(s, AMPLE_S);
    for (int k = 0; k < HOSTS; k++)
        expect(s, k, "probe of localhost: /nonexistent/probe: No such file or directory");
}

/* With a status for the job as of any sweep that failed, and the job goes on. */
TEST(root_is_no_user_of_a_probe)
{
    struct scene *s = *state;
    struct nt_conf conf = conf_of(s, 0);
    int status;
    if (geteuid() != 0)
        skip();
    snprintf(conf.probe_user, sizeof conf.probe_user, "job");
    begin_as(s, 0, 0, conf, "quick", AMPLE_S);
    waitpid(s->pid[0], &status, 0);
    s->pid[0] = 0;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    expect(s, 0, "NETTOPO_STATUS=failed\nNETTOPO_REASON=a job of root is not measured: ");
}

/* Jobs of one host have nobody to wait for. */
TEST(serial_prologs_are_refused_at_once)
{
    struct scene *s = *state;
    if (munge.pid == 0)
        skip();
    s->one_prolog = true;
    begin_all(s, "quick", AMPLE_S);
    end_within(s, AMPLE_S);
    for (int k = 0; k < HOSTS; k++)
        expect(s, k, "NETTOPO_STATUS=failed\nNETTOPO_REASON=PrologFlags=Serial in slurm.conf: ");
    s->hosts = 1;
    begin_all(s, "quick", AMPLE_S);
    end_all(s);
    s->hosts = HOSTS;
    expect(s, 0, "STATUS=ok");
}

TEST(a_host_that_cannot_publish_does_not_affect_others)
{
    struct scene *s = *state;
    if (munge.pid == 0)
        skip();
    s->began = nt_clock_s();
    for (int k = 0; k < HOSTS; k++) {
        struct nt_conf conf = conf_of(s, k);
        if (k == 0)
            snprintf(conf.run_dir, sizeof conf.run_dir, "/proc/nowhere");
        if (k == 1)
            conf.publish_limit_bytes = 10;
        begin(s, k, conf, "quick", AMPLE_S);
    }
    end_within(s, AMPLE_S);
    expect(s, 2, "STATUS=ok");
}

/* ---- blocks of hosts: 0 to 3, 4 to 7, 8 and 9; 4 and 8 lead a block ---- */

static bool blocks(struct scene *s)
{
    s->hosts = MANY;
    s->block_hosts = BLOCK;
    return munge.pid != 0;
}

TEST(all_hosts_connect_through_their_blocks)
{
    struct scene *s = *state;
    if (!blocks(s))
        skip();
    begin_all(s, "quick,pattern=matrix:big", AMPLE_S);
    end_within(s, AMPLE_S);
    for (int k = 0; k < MANY; k++) {
        struct stat st;
        char path[160], dir[96];
        expect(s, k, "NETTOPO_STATUS=ok\n");
        expect(s, k, "127.0.0.9,127.0.0.10\n");
        run_dir_of(s, k, dir);
        snprintf(path, sizeof path, "%s/%d/map.json", dir, JOB);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_size, 3 << 20);
    }
}

/* Waits until a process listens on that port. */
static void await_port(uint16_t port)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int k = 0, rc = -1; k < 100 * AMPLE_S && rc != 0; k++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        rc = connect(fd, (struct sockaddr *)&at, sizeof at);
        close(fd);
        if (rc != 0)
            poll(NULL, 0, 10);
    }
}

/* The members of the block can only use the port of their block leader. */
TEST(a_block_connects_to_its_leader)
{
    struct scene *s = *state;
    if (!blocks(s))
        skip();
    s->began = nt_clock_s();
    struct nt_conf first = conf_of(s, 0), fourth = conf_of(s, 4);
    begin(s, 0, first, "quick", AMPLE_S);
    await_port(nt_port_candidate(&first, JOB, 0));
    begin(s, 4, fourth, "quick", AMPLE_S); /* the second port, as the first is taken here */
    await_port(nt_port_candidate(&fourth, JOB, 1));
    for (int k = 1; k < MANY; k++) {
        struct nt_conf conf = conf_of(s, k);
        if (k / BLOCK == 1)
            conf.port_first = conf.port_last = nt_port_candidate(&conf, JOB, 1);
        if (k != 4)
            begin(s, k, conf, "quick", AMPLE_S);
    }
    end_within(s, AMPLE_S);
    for (int k = 0; k < MANY; k++)
        expect(s, k, "NETTOPO_STATUS=ok\n");
}

/* The job's log begins with the outcome and the advice, and ends with the output of the probe, made
 * printable. */
TEST(the_log_reports_a_lost_probe)
{
    static const char *const hosts[] = {"shout-0", "shout-1"};
    struct scene *s = *state;
    if (munge.pid == 0)
        skip();
    for (int k = 0; k < 2; k++) {
        char option[64], text[4096], path[160], dir[96];
        struct stat st;
        snprintf(option, sizeof option, "quick,debug,pattern=matrix:%s", hosts[k]);
        begin_all(s, option, AMPLE_S);
        end_within(s, AMPLE_S);
        expect(s, k,
               k == 0 ? "REASON=probe of localhost: exit 9\nNETTOPO_LOG=sweep.log\n"
                      : "STATUS=partial");
        published(s, k, "sweep.log", text);
        if (strstr(text, "on ") == NULL || strstr(text, "\nto do: ") == NULL ||
            strstr(text, " error the probe failed: exit 9; to do: ") == NULL ||
            strstr(text, "\n?[31m%s%n?? lies\n") == NULL)
            fail_msg("host %d: \"%s\"", k, text);
        run_dir_of(s, k, dir);
        snprintf(path, sizeof path, "%s/%d/sweep.log", dir, JOB);
        assert_int_equal(stat(path, &st), 0);
        assert_below(st.st_size, 2 * 65536 + 4096);
        published(s, 2, "sweep.log", text);
        assert_null(strstr(text, "lies"));
    }
    char text[4096];
    published(s, 0, "sweep.log",
              text); /* of the second job: the first host reports the probe of the other */
    assert_non_null(strstr(text, "the probe of 127.0.0.2 failed: exit 9"));
}

/* Its block connects to the job's first host; only the leader itself is missing. */
TEST(a_block_without_its_leader_is_not_lost)
{
    struct scene *s = *state;
    if (!blocks(s))
        skip();
    s->began = nt_clock_s();
    for (int k = 0; k < MANY; k++)
        if (k != 4)
            begin(s, k, conf_of(s, k), "quick", AMPLE_S);
    end_within(s, AMPLE_S);
    for (int k = 0; k < MANY; k++)
        if (k != 4)
            expect(s, k,
                   "NODE_ORDER=localhost,127.0.0.2,127.0.0.3,127.0.0.4,127.0.0.6,127.0.0.7,"
                   "127.0.0.8,127.0.0.9,127.0.0.10\n");
}

TEST(a_lost_probe_in_a_block_affects_only_itself)
{
    struct scene *s = *state;
    static const char *const table[] = {"exit-4", "garbage-5", "exit-9"};
    static const char *const order[] = {
        "127.0.0.4,127.0.0.6,127.0.0.7,127.0.0.8,127.0.0.9,127.0.0.10\n",
        "127.0.0.5,127.0.0.7,127.0.0.8,127.0.0.9,127.0.0.10\n",
        "127.0.0.6,127.0.0.7,127.0.0.8,127.0.0.9\n"};
    if (!blocks(s))
        skip();
    for (size_t t = 0; t < sizeof table / sizeof *table; t++) {
        char option[64];
        snprintf(option, sizeof option, "quick,pattern=matrix:%s", table[t]);
        begin_all(s, option, AMPLE_S);
        end_within(s, AMPLE_S);
        for (int k = 0; k < MANY; k++) {
            expect(s, k, "STATUS=partial");
            expect(s, k, order[t]);
        }
    }
}

/* During the sweep: its block connects to the job's first host and continues there. */
TEST(a_killed_block_leader_affects_only_itself)
{
    struct scene *s = *state;
    if (!blocks(s))
        skip();
    begin_all(s, "quick,pattern=matrix:slow", AMPLE_S);
    toy_await_met(self, AMPLE_S);
    kill(s->pid[4], SIGKILL);
    end_within(s, AMPLE_S);
    for (int k = 0; k < MANY; k++)
        if (k != 4) {
            expect(s, k, "STATUS=partial");
            expect(s, k, "127.0.0.4,127.0.0.6,127.0.0.7,127.0.0.8,127.0.0.9,127.0.0.10\n");
        }
}

TEST(every_block_detects_a_killed_first_host)
{
    struct scene *s = *state;
    if (!blocks(s))
        skip();
    begin_all(s, "quick,pattern=matrix:slow", AMPLE_S);
    toy_await_met(self, AMPLE_S);
    kill(s->pid[0], SIGKILL);
    end_within(s, AMPLE_S);
    for (int k = 1; k < MANY; k++)
        expect(s, k, "lost the connection to the job's first host localhost");
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--agent-fd") == 0)
        toy_exit(toy_probe(argc, argv));
    return run_group(start, stop);
}
