/* SPDX-License-Identifier: Apache-2.0 */
/* nettopo-prolog, the agent: the part of a sweep in a job's prolog and epilog on each host.
 *
 * It authenticates the job's hosts to each other, starts the probe as a system user, relays frames
 * between the probes without reading them, keeps the deadline, and publishes what rank 0 wrote.
 *
 * The command      agent.c, request.c (arguments, nettopo.conf), slurm_conf.c; --check is the
 *                  program in check/
 * Three processes  monitor.c (root) starts the worker, keeps the time, and replaces its result by
 *                  failed when it dies or is late. worker.c (root) knows the job (job.c), starts
 *                  the probe (child.c, confine.c), makes the directory (publish.c), and
 *                  starts relay.c (a user without rights, sandbox.c), which does the rest
 * Between them     client.c asks, service.c answers: credentials (auth.c, MUNGE), addresses and the
 *                  use of the hosts (lookup.c), the end of the probe, the result. publish.c
 *                  writes the files that are open
 * After the job    archive.c keeps its map, where the administrator wants that
 * One host's part  session.c: the probe's frames and the result; log.c, outcome.c
 * Roles            leader.c on the job's first host, member.c on all others (session.h)
 * Between hosts    listener.c accepts and connector.c connects, both from reserved ports
 *                  (ports.c); conn.c sends and receives frames (base/frame.h) with
 *                  tags; children.c holds the connections of one agent, subtree.c the
 *                  tree of agents below it; gather.c which hosts contributed
 *
 * States of a leader:
 *   lookup       asks slurmctld which jobs share the hosts; members connect and wait
 *   measuring    START is sent to all; frames pass between rank 0 and the others
 *   publishing   from the first artifact of rank 0 on; members that connect now are refused
 *   decided      DONE of rank 0, or a failure of its own: published, members drained
 * States of a member:
 *   resolving    the address of its leader: that of its block, else the job's first host
 *   connecting   connector.c; without its block leader within 0.7 s, or after losing it, the host
 *                connects to the job's first host
 *   measuring    frames pass in both directions; a block leader also serves its block
 *   publishing   artifacts are written and passed on to the block
 *   decided      DONE came, the leader was lost, or time is over: published, block drained
 * In each state the time limit leads to "decided" with status failed. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <syslog.h>
#include <unistd.h>

#include "archive_prune.h"
#include "clock.h"
#include "confine.h"
#include "job.h"
#include "lookup.h"
#include "monitor.h"
#include "publish.h"
#include "request.h"
#include "slurm_conf.h"

static const char DEFAULT_CONF[] = NT_SYSCONFDIR "/nettopo/nettopo.conf";

/* Time limit for everything except a sweep: the configuration, the user database, the removal of
 * files, the log. */
static const double OTHER_S = 3;

static const char HELP[] =
    "Usage: nettopo-prolog run --job ID --uid UID [--gid GID] [--option TEXT] [--conf FILE]\n"
    "       nettopo-prolog remove --job ID [--conf FILE]\n"
    "       nettopo-prolog --from-prolog-script [--conf FILE]\n"
    "       nettopo-prolog --from-epilog-script [--conf FILE]\n"
    "       nettopo-prolog --check [--conf FILE] [--host HOST]\n"
    "\n"
    "Measure the network of a job in its prolog, and publish a map. The plugin\n"
    "spank_nettopo.so runs it, or a Prolog script if Slurm does not call plugins\n"
    "(PrologFlags=RunInJob). See spank_nettopo(8).\n"
    "\n"
    "  run                   Measure a job and publish its map\n"
    "  remove                Remove the files of a job\n"
    "\n"
    "  --job ID              Job\n"
    "  --uid UID             User of the job\n"
    "  --gid GID             Group of the job (default: the group of the user)\n"
    "  --option TEXT         Items of --nettopo, such as quick,budget=2\n"
    "  --conf FILE           Configuration (default " NT_SYSCONFDIR "/nettopo/nettopo.conf)\n"
    "  --from-prolog-script  Measure the job in whose Prolog script this runs\n"
    "  --from-epilog-script  Remove the files of the job in whose Epilog script this runs\n"
    "  --check               Test the installation on this node\n"
    "  --host HOST           With --check: also test the connection to HOST\n"
    "  -h, --help            Print this help; after --check, its help\n"
    "  -V, --version         Print the version\n"
    "\n"
    "Example: nettopo-prolog --check\n";

/* Opens /dev/null as descriptors 0 to 2 if they are closed. Otherwise a socket could get one of
 * these numbers. */
static void open_standard_descriptors(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= 2);
    if (fd > 2)
        close(fd);
}

/* Ends this process with status 0. Slurm never ends a Prolog script unless a timeout is set, and
 * then drains the host. A process that the plugin starts has a time limit there. */
static void give_up(int number)
{
    (void)number;
    _exit(0);
}

/* Ends this process after that time, whatever a system call waits for, such as syslogd or the user
 * database. Its worker and probe end with it. A Prolog script ends with status 0. */
static void limit_run_time(bool is_script, double seconds)
{
    struct itimerval timer = {.it_value.tv_sec = (time_t)seconds};
    sigset_t alarm_only;
    timer.it_value.tv_usec = (suseconds_t)((seconds - (double)timer.it_value.tv_sec) * 1e6);
    if (is_script)
        signal(SIGALRM, give_up);
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &alarm_only, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

static int report_error(const struct nt_request *request, struct nt_err *err)
{
    syslog(LOG_WARNING, "%s", err->text);
    fprintf(stderr, "nettopo-prolog: %s\n", err->text);
    return request->from_script ? 0 : (int)err->kind;
}

/* ---- what earlier jobs left ---- */

enum { ORPHANS = 8, ORPHANS_MS = 800, PRUNE_EACH = 8, PRUNE_MS = 400 };
static const double PRUNE_S = 0.3;

static int find_ended_jobs(const void *query, void *bytes)
{
    const uint32_t *jobs = query;
    bool *over = bytes;
    for (size_t k = 0; k < ORPHANS && jobs[k] != 0; k++)
        over[k] = nt_job_is_over(jobs[k]);
    return 0;
}

/* Removes directories of jobs whose epilog did not remove them, because the host crashed or the
 * configuration was invalid at that time. Runs in an epilog, where no job waits. Asks slurmctld
 * only if there are old directories. */
static void remove_orphans(const struct nt_conf *conf)
{
    uint32_t jobs[ORPHANS] = {0};
    static struct nt_lookup lookup;
    bool over[ORPHANS];
    if (nt_publish_find_orphans(conf->run_dir, jobs, ORPHANS) == 0 ||
        nt_lookup_start(&lookup, sizeof over, find_ended_jobs, jobs, NULL) != 0)
        return;
    struct pollfd answer = {.fd = lookup.fd, .events = POLLIN};
    if (poll(&answer, 1, ORPHANS_MS) > 0 && nt_lookup_poll(&lookup) == 1) {
        memcpy(over, lookup.bytes, sizeof over);
        for (size_t k = 0; k < ORPHANS && jobs[k] != 0; k++)
            if (over[k])
                nt_publish_remove(conf->run_dir, jobs[k], NULL);
    }
    nt_lookup_fini(&lookup);
}

static int prune_until(const void *query, void *bytes)
{
    const struct nt_conf *conf = query;
    struct nt_err err;
    nt_confine_standard(); /* slurmd must not wait for this process if it hangs */
    if (nt_archive_prune(conf->archive.dir, conf->archive.limit_bytes, nt_clock_s() + PRUNE_S,
                         bytes, &err) != 0)
        syslog(LOG_WARNING, "%s", err.text);
    return 0;
}

/* Prunes the archive on the job's first host, which wrote to it, at the end of one job in
 * PRUNE_EACH. nettopo fleet ingest prunes an archive that takes longer. If the file system does not
 * respond, as NFS may, the process that waits for it is abandoned. */
static void prune_archive(const struct nt_request *request, const struct nt_conf *conf)
{
    struct nt_job job;
    static struct nt_lookup lookup;
    if (conf->archive.dir[0] == '\0' || request->job % PRUNE_EACH != 0 ||
        nt_job_read(&job, request->job, request->uid, request->gid, NULL) != 0)
        return;
    if (job.self == 0 && nt_lookup_start(&lookup, sizeof(bool), prune_until, conf, NULL) == 0) {
        struct pollfd answer = {.fd = lookup.fd, .events = POLLIN};
        poll(&answer, 1, PRUNE_MS);
        nt_lookup_fini(&lookup);
    }
    nt_job_fini(&job);
}

static int run_job(struct nt_request *request, const struct nt_conf *conf, double began,
                   struct nt_err *err)
{
    struct nt_slurm_conf slurm;
    if (request->option.off || (!request->wanted && !conf->default_on) || !conf->enabled)
        return 0;
    if (request->from_script && /* the plugin checks this itself for the jobs that it starts */
        nt_conf_refusal(conf, getenv("SLURM_JOB_USER"), getenv("SLURM_JOB_PARTITION")) != NULL)
        return 0;
    nt_slurm_conf_read(&slurm);
    request->one_prolog = slurm.serial;
    request->late_prologs = !slurm.alloc;
    double budget_s = nt_request_limit(request, conf, &slurm);
    limit_run_time(request->from_script,
                   budget_s + NT_AGENT_SLACK_MS / 1e3 - (nt_clock_s() - began));
    return nt_monitor_run(request, conf, budget_s, began, err);
}

/* Executes the program nettopo-check, which is installed beside this one. It is a separate program
 * so that a prolog never contains it. */
static int become_check(char **argv)
{
    static const char name[] = "nettopo-check";
    char path[512];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - sizeof name);
    while (n > 0 && path[n - 1] != '/')
        n--;
    if (n > 0) {
        memcpy(path + n, name, sizeof name);
        execv(path, argv);
    }
    fprintf(stderr, "nettopo-prolog: cannot run %s, which must be beside this program: %s\n", name,
            strerror(errno));
    return NT_ERR_SYSTEM;
}

int main(int argc, char **argv)
{
    double began = nt_clock_s();
    struct nt_request request;
    struct nt_conf conf;
    struct nt_err err;
    if (argc > 1 && strcmp(argv[1], "--check") == 0)
        return become_check(argv);
    limit_run_time(argc > 1 && strncmp(argv[1], "--from-", 7) == 0, OTHER_S);
    open_standard_descriptors();
    umask(022);
    signal(SIGPIPE, SIG_IGN);
    openlog("nettopo", LOG_PID, LOG_DAEMON);
    if (nt_request_read(&request, argc, argv, &err) != 0)
        return report_error(&request, &err);
    if (request.verb == NT_VERB_HELP || request.verb == NT_VERB_VERSION) {
        fputs(request.verb == NT_VERB_HELP ? HELP : "nettopo-prolog " NT_VERSION "\n", stdout);
        return fflush(stdout) == 0 ? 0 : NT_ERR_SYSTEM;
    }
    bool is_optional = request.conf == NULL;
    if (nt_conffile_read(is_optional ? DEFAULT_CONF : request.conf, is_optional, &conf, &err) !=
        0) {
        nt_conf_default(&conf);
        if (request.verb == NT_VERB_RUN && request.wanted && !request.option.off)
            nt_monitor_refuse(&request, &conf, began, err.text);
        return report_error(&request, &err);
    }
    int rc = request.verb == NT_VERB_RUN ? run_job(&request, &conf, began, &err)
                                         : nt_publish_remove(conf.run_dir, request.job, &err);
    if (request.verb == NT_VERB_REMOVE) {
        remove_orphans(&conf);
        prune_archive(&request, &conf);
    }
    return rc == 0 ? 0 : report_error(&request, &err);
}
