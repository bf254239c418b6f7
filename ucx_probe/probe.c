/* SPDX-License-Identifier: Apache-2.0 */
/* nettopo-probe: measures the network between the hosts of a job, with one process per host. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "command_line.h"
#include "conf.h"
#include "coordinator_output.h"
#include "decimal.h"
#include "deny.h"
#include "device_network.h"
#include "guard.h"
#include "participant.h"
#include "probe_log.h"
#include "rescue.h"
#include "stress.h"
#include "wire.h"

enum { BUDGET_MS = 5000, BUDGET_MIN_MS = 100, BUDGET_MAX_MS = 3600000 };

struct settings {
    int agent_fd; /* -1: started without an agent, by a user */
    enum nt_level level;
    enum nt_sweep_mode sweep;
    double budget_s, max_load;
    const char *map_path, *samples_path, *trace_path, *prior, *conf_path, *plan;
    struct nt_workload stress[NT_STRESS_CHOSEN_MAX];
    size_t stresses;
    enum nt_log_level log; /* without an agent; 0: log nothing but fatal errors */
    bool plan_flows;       /* of the plan: bandwidths, not latencies */
    bool lists_transports; /* list the transports and exit */
    int output_fd;         /* the user's standard output, without UCX's log */
};

/* The options as they are given. */
struct arguments {
    const char *level, *budget, *max_load, *sweep, *plan, *stress[NT_STRESS_CHOSEN_MAX], *prior;
    const char *output, *samples, *trace, *log, *conf, *agent_fd;
    bool bandwidth, transports;
};

static const struct nt_flag flags[] = {
    {"level", 'l', "quick|standard|full", NT_AT(level), 1,
     "Measurements to make (default standard)"},
    {"budget", 'b', "SECONDS", NT_AT(budget), 1, "Time for the whole sweep (default 5)"},
    {"max-load", 'm', "SHARE", NT_AT(max_load), 1,
     "Share of a link that the sweep may use on average (default 1)"},
    {"sweep", 0, "auto|all|adaptive|sequential", NT_AT(sweep), 1,
     "Pairs of which latencies are measured (default auto)"},
    {"plan", 'P', "PLAN", NT_AT(plan), 1,
     "Measure only the pairs of nettopo plan, in its rounds, as often as the time allows. There is "
     "no map: the samples, for nettopo estimate, go to standard output or to --samples"},
    {"bandwidth", 0, NULL, NT_AT(bandwidth), 1,
     "With --plan: measure bandwidths instead of latencies, from the first to the second host of "
     "each pair, all pairs of a round at once"},
    {"stress", 'S', "KERNEL", NT_AT(stress), NT_STRESS_CHOSEN_MAX,
     "Run this stress kernel in place of those of level full, at any level (up to 8 times). "
     "KERNEL[,bytes=N][,messages=N][,tasks=N][,compute=US]; KERNEL is a2a, o2a, a2o, sr:W, gups, "
     "hot:PERCENT, region:PERCENT, transpose, complement, reverse or shuffle; see nettopo(1), "
     "STRESS KERNELS"},
    {"prior", 0, "FILE", NT_AT(prior), 1,
     "Start from the results of earlier jobs (nettopo fleet prior); the path begins with /"},
    {"output", 'o', "MAP", NT_AT(output), 1,
     "Output file for the map, written atomically (default -, standard output)"},
    {"samples", 's', "FILE", NT_AT(samples), 1, "Also write the measurements"},
    {"trace", 0, "FILE", NT_AT(trace), 1,
     "Append a line when a round begins: seconds, phase, round"},
    {"log", 'L', "error|info|debug", NT_AT(log), 1,
     "Log to standard error (default: only errors that end the sweep)"},
    {"conf", 'c', "FILE", NT_AT(conf), 1,
     "Read net_devices and tls from FILE, if UCX_NET_DEVICES and UCX_TLS are not set "
     "(default " NT_SYSCONFDIR "/nettopo/nettopo.conf, if it is readable)"},
    {"transports", 0, NULL, NT_AT(transports), 1,
     "Only list what UCX can use on this host: transport, device, network"},
    {"help", 'h', NULL, 0, 0, "Print this help"},
    {"version", 'V', NULL, 0, 0, "Print the version"},
    {"agent-fd", 0, "N", NT_AT(agent_fd), 1, NULL},
    {0}};

static const struct nt_command_help help = {
    "srun --mpi=pmix nettopo-probe [OPTION...]\n"
    "mpirun nettopo-probe [OPTION...]",
    "Measure the network between the hosts of a job, with one process per host. Rank 0 writes the "
    "map.\n",
    flags, "srun --mpi=pmix --ntasks-per-node=1 nettopo-probe -o map.json"};

/* ---- the environment before the libraries load ---- */
/* UCX catches signals and reads its configuration when it is loaded, before main. So the variables
 * are set, and this program executes itself again, once. Returns whether the variable was
 * changed. */
static bool set_variable(const char *name, const char *value, bool always)
{
    const char *now = getenv(name);
    if (now != NULL && (!always || strcmp(now, value) == 0))
        return false;
    return setenv(name, value, 1) == 0;
}

/* Reads nettopo.conf, whoever owns it. path NULL: the default file; if that cannot be read, the
 * default values without an error. */
static int read_conf(const char *path, struct nt_conf *conf, struct nt_err *err)
{
    const char *name = path != NULL ? path : NT_SYSCONFDIR "/nettopo/nettopo.conf";
    int rc = -1;
    nt_conf_default(conf);
    FILE *file = fopen(name, "re");
    if (file == NULL)
        return path == NULL ? 0 : nt_err_set(err, NT_ERR_INPUT, "%s: %s", name, strerror(errno));
    char *text = malloc(NT_CONF_TEXT_MAX + 1);
    if (text == NULL)
        nt_err_memory(err);
    else
        rc = nt_conf_parse(name, text, fread(text, 1, NT_CONF_TEXT_MAX + 1, file), conf, err);
    free(text);
    fclose(file);
    return rc;
}

/* Sets the devices of nettopo.conf, so that a user measures over the same devices as a prolog.
 * Returns whether a variable was changed. */
static bool set_devices(const char *path, struct nt_err *err)
{
    struct nt_conf conf;
    bool changed = false;
    if (read_conf(path, &conf, err) != 0)
        return false;
    if (conf.net_devices[0] != '\0')
        changed |= set_variable("UCX_NET_DEVICES", conf.net_devices, false);
    if (conf.tls[0] != '\0')
        changed |= set_variable("UCX_TLS", conf.tls, false);
    return changed;
}

static void set_environment(char **argv, bool changed)
{
    static const char guard[] = "NETTOPO_PROBE_ENVIRONMENT";
    changed |= set_variable("UCX_HANDLE_ERRORS", "none", true);
    changed |= set_variable("UCX_DEBUG_SIGNO", "", true);
    changed |= set_variable("UCX_TCP_CONN_NB", "y", true);
    changed |= set_variable("UCX_WARN_UNUSED_ENV_VARS", "n", true);
    changed |= set_variable("UCX_VFS_ENABLE", "n", true);
    changed |= set_variable("UCX_TLS", "^shm,self", false);
    changed |= set_variable("PMIX_MCA_gds", "hash", true);
    changed |= set_variable("HWLOC_COMPONENTS", "-gl,-opencl,-pci,-linuxio", false);
    if (!changed || getenv(guard) != NULL)
        return;
    setenv(guard, "1", 1);
    execv("/proc/self/exe", argv);
    /* without /proc the variables are set too late for UCX, but the sweep still works */
}

/* ---- what it gives up ---- */
/* Opens the directory in which an output file is created and renamed, after following links; -1:
 * none. */
static int open_directory_of(const char *path)
{
    if (path == NULL || strcmp(path, "-") == 0)
        return -1;
    char *real = realpath(path, NULL), *end; /* NULL: the file does not exist yet */
    char *name = real != NULL ? real : strdup(path);
    if (name == NULL)
        return -1;
    end = strrchr(name, '/');
    if (end != NULL)
        end[end == name] = '\0';
    int fd = open(end != NULL ? name : ".", O_PATH | O_CLOEXEC);
    free(name);
    return fd;
}

/* Gives up rights before other hosts can connect: an attacker who takes over this process gets no
 * shell, and access to no files except those beside its results. Under the agent the process has
 * fewer rights already. */
static int give_up_rights(const struct settings *set, struct nt_err *err)
{
    enum { ALL = 5, BY_HAND = NT_DENY_PROCESSES | NT_DENY_OTHERS | NT_DENY_EXEC };
    const int open_to_write[ALL] = {
        open("/dev/null", O_PATH | O_CLOEXEC), open("/dev/infiniband", O_PATH | O_CLOEXEC),
        open_directory_of(set->map_path), open_directory_of(set->samples_path),
        open_directory_of(set->trace_path)};
    int except[ALL];
    size_t n = 0;
    for (size_t k = 0; k < ALL; k++)
        if (open_to_write[k] >= 0)
            except[n++] = open_to_write[k];
    bool by_hand = set->agent_fd < 0;
    int rc =
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && (!by_hand || nt_deny_writes(except, n)) &&
                nt_deny_calls(by_hand ? BY_HAND : NT_DENY_EXEC, NULL)
            ? 0
            : nt_err_set(err, NT_ERR_SYSTEM, "cannot give up its privileges: %s", strerror(errno));
    while (n > 0)
        close(except[--n]);
    return rc;
}

/* ---- the command line ---- */
static int read_stress(const struct arguments *a, struct settings *set, struct nt_err *err)
{
    for (; set->stresses < NT_STRESS_CHOSEN_MAX; set->stresses++) {
        const char *text = a->stress[set->stresses];
        struct nt_workload w = {0};
        if (text == NULL)
            return 0;
        if (nt_workload_parse(text, &w, err) != 0)
            return nt_err_prefix(err, "--stress");
        if (w.messages > NT_WIRE_COUNT_MAX || w.bytes > NT_WIRE_MESSAGE_MAX ||
            w.tasks > NT_STRESS_HOSTS_MAX)
            return nt_err_set(
                err, NT_ERR_USAGE,
                "--stress %.100s: expected at most %d messages, %d bytes and %d tasks", text,
                (int)NT_WIRE_COUNT_MAX, (int)NT_WIRE_MESSAGE_MAX, (int)NT_STRESS_HOSTS_MAX);
        set->stress[set->stresses] = w;
    }
    return 0;
}

/* A number with at most three digits after the point; text NULL: *value stays. */
static int read_thousandths(const char *text, uint64_t least, uint64_t most, double *value)
{
    uint64_t thousandths;
    if (text == NULL)
        return 0;
    if (nt_decimal_thousandths(text, strlen(text), most, &thousandths) != 0 || thousandths < least)
        return -1;
    *value = (double)thousandths * 1e-3;
    return 0;
}

static int read_settings(const struct arguments *a, struct settings *set, struct nt_err *err)
{
    uint64_t fd;
    if (a->level != NULL && nt_level_parse(a->level, &set->level) != 0)
        return nt_err_set(err, NT_ERR_USAGE, "--level %.64s: expected quick, standard or full",
                          a->level);
    if (read_thousandths(a->budget, BUDGET_MIN_MS, BUDGET_MAX_MS, &set->budget_s) != 0)
        return nt_err_set(err, NT_ERR_USAGE, "--budget %.64s: expected seconds from 0.1 to 3600",
                          a->budget);
    if (read_thousandths(a->max_load, 1, 1000, &set->max_load) != 0)
        return nt_err_set(err, NT_ERR_USAGE,
                          "--max-load %.64s: expected a share above 0, at most 1", a->max_load);
    if (a->sweep != NULL && nt_sweep_mode_parse(a->sweep, &set->sweep) != 0)
        return nt_err_set(err, NT_ERR_USAGE,
                          "--sweep %.64s: expected auto, all, adaptive or sequential", a->sweep);
    if (a->prior != NULL && a->prior[0] != '/')
        return nt_err_set(err, NT_ERR_USAGE, "--prior %.64s: expected a path that begins with /",
                          a->prior);
    if (a->log != NULL && nt_log_level_parse(a->log, &set->log) != 0)
        return nt_err_set(err, NT_ERR_USAGE, "--log %.64s: expected error, info or debug", a->log);
    if (a->agent_fd != NULL) {
        if (nt_decimal_whole(a->agent_fd, strlen(a->agent_fd), 1 << 20, &fd) != 0)
            return nt_err_set(err, NT_ERR_USAGE, "--agent-fd %.64s: expected a descriptor",
                              a->agent_fd);
        set->agent_fd = (int)fd;
    }
    return read_stress(a, set, err);
}

/* What a plan has no use for. */
static int check_plan(const struct arguments *a, struct nt_err *err)
{
    const char *const of_sweep[][2] = {{"level", a->level},
                                       {"sweep", a->sweep},
                                       {"prior", a->prior},
                                       {"stress", a->stress[0]},
                                       {"output", a->output}};
    for (size_t k = 0; k < sizeof of_sweep / sizeof *of_sweep; k++)
        if (a->plan != NULL && of_sweep[k][1] != NULL)
            return nt_err_set(err, NT_ERR_USAGE,
                              "--plan: expected without --%s, which is for a sweep",
                              of_sweep[k][0]);
    if (a->plan == NULL && a->bandwidth)
        return nt_err_set(err, NT_ERR_USAGE, "--bandwidth: expected with --plan");
    return 0;
}

static int read_arguments(int argc, char **argv, struct settings *set, struct nt_err *err)
{
    struct arguments a = {0};
    if (nt_command_line_options(argc, argv, flags, &a, err) != 0 || check_plan(&a, err) != 0 ||
        read_settings(&a, set, err) != 0)
        return -1;
    set->plan = a.plan;
    set->plan_flows = a.bandwidth;
    set->prior = a.prior;
    set->trace_path = a.trace;
    set->conf_path = a.conf;
    set->lists_transports = a.transports;
    set->samples_path = a.samples;
    if (a.plan != NULL) {
        set->level = NT_LEVEL_QUICK;
        set->samples_path = a.samples == NULL ? "-" : a.samples;
        set->map_path = NULL;
        return 0;
    }
    set->map_path = a.output != NULL ? a.output : "-";
    if (a.samples != NULL && strcmp(a.samples, "-") == 0 && strcmp(set->map_path, "-") == 0)
        return nt_err_set(err, NT_ERR_USAGE, "--samples -: expected a file, the map goes there");
    return 0;
}

static int print_help(void)
{
    struct nt_strbuf text = {0};
    nt_command_line_help(&help, &text);
    if (!text.failed)
        fputs(text.text, stdout);
    free(text.text);
    return text.failed || fflush(stdout) != 0 ? NT_ERR_SYSTEM : 0;
}

/* ---- the sweep ---- */
/* Destinations of progress messages. */
struct progress_output {
    bool terminal;
    int trace; /* descriptor; -1: none */
    double began_s;
};

/* Rewrites one line on the terminal. */
static void show_on_terminal(const struct nt_campaign_progress *p)
{
    char of[32] = "";
    if (p->rounds > 0)
        snprintf(of, sizeof of, " of %zu", p->rounds > p->round ? p->rounds : p->round);
    fprintf(stderr, "\rnettopo-probe: %s, round %zu%s, %.1f s left\033[K", p->phase, p->round, of,
            p->left_s);
}

/* Writes a line to the trace; errors do not stop the sweep. */
static void write_trace(const struct progress_output *w, const char *phase, size_t round)
{
    char line[96];
    nt_probe_log(NT_LOG_DEBUG, "%s, round %zu begins", phase, round);
    int n =
        snprintf(line, sizeof line, "%.4f %.48s %zu\n", nt_clock_s() - w->began_s, phase, round);
    if (w->trace >= 0 && write(w->trace, line, (size_t)n) < 0)
        return;
}

static void show_progress(void *context, const struct nt_campaign_progress *p)
{
    const struct progress_output *w = context;
    if (w->terminal)
        show_on_terminal(p);
    write_trace(w, p->phase, p->round);
}

static void format_time(char text[32])
{
    time_t now = time(NULL);
    struct tm tm;
    if (gmtime_r(&now, &tm) == NULL || strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        text[0] = '\0';
}

static int print_error(const struct nt_err *err)
{
    fprintf(stderr, "nettopo-probe: %s\n", err->text);
    return (int)err->kind;
}

static int run_coordinator(struct nt_oob *oob, const struct nt_probe_job *job,
                           struct nt_participant *participant, const struct settings *set,
                           struct nt_err *err)
{
    struct nt_coordinator_result done = {0};
    char created[32];
    bool by_hand = set->agent_fd < 0;
    struct progress_output progress = {by_hand && isatty(STDERR_FILENO), -1, nt_clock_s()};
    struct nt_coordinator_options how = {
        .progress = show_progress, .progress_context = &progress, .created = created};
    if (set->trace_path != NULL)
        progress.trace = open(set->trace_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    format_time(created);
    write_trace(&progress, "meet", 0);
    int rc = nt_coordinator_run(oob, job, participant, &how, &done, err);
    write_trace(&progress, "solve", 0);
    if (progress.trace >= 0)
        close(progress.trace);
    if (progress.terminal)
        fputs("\r\033[K", stderr);
    if (rc != 0) {
        if (!by_hand)
            oob->ops->done(oob, NT_STATUS_FAILED, err->text, NULL);
        return -1;
    }
    rc = by_hand ? nt_output_to_files(&done, set->map_path, set->samples_path, set->output_fd, err)
                 : nt_output_to_agent(oob, job, &done, err);
    if (rc == 0 && by_hand && done.networks[0] != '\0')
        fprintf(stderr, "nettopo-probe: %s\n", done.networks);
    if (rc == 0 && by_hand && done.reason[0] != '\0')
        fprintf(stderr, "nettopo-probe: %s: %s\n", nt_status_name(done.samples->status),
                done.reason);
    nt_coordinator_result_fini(&done);
    return rc;
}

static void set_job_by_hand(struct nt_oob *oob, struct nt_probe_job *job,
                            const struct settings *set)
{
    nt_option_parse(NULL, &job->option, NULL);
    job->option.level = set->level;
    job->option.budget_s = set->budget_s;
    job->max_load = set->max_load;
    job->option.sweep = set->sweep;
    job->log = set->log;
    job->prior = set->prior;
    job->plan = set->plan;
    job->plan_flows = set->plan_flows;
    job->stress = set->stress;
    job->stresses = set->stresses;
    oob->deadline_s = nt_clock_s() + set->budget_s;
}

/* Detects the hardware if the sweep is not short, because this takes milliseconds before the
 * greeting. Measures between cores only if no other job uses them. */
static void inspect_host(struct nt_participant *participant, const struct nt_probe_job *job)
{
    const double least_s = 1, share = 0.01, most_s = 0.045;
    const struct nt_option *option = &job->option;
    double cores_s = share * option->budget_s < most_s ? share * option->budget_s : most_s;
    if (option->level >= NT_LEVEL_STANDARD && option->budget_s >= least_s)
        nt_participant_inspect_host(
            participant, option->level == NT_LEVEL_FULL && !job->latency_only ? cores_s : 0);
}

static int run_rank(struct nt_oob *oob, const struct nt_probe_job *job, const struct settings *set,
                    bool *has_network, struct nt_err *err)
{
    struct nt_pair *pair = NULL;
    struct nt_participant participant;
    struct nt_err no_pair_reason = {0};
    nt_guard_close();
    if (nt_pair_create(&pair, &no_pair_reason) != 0) {
        char fault[NT_NETWORK_BYTES];
        pair = NULL;
        nt_device_network_fault(getenv("UCX_NET_DEVICES"), fault);
        if (fault[0] != '\0')
            nt_err_set(&no_pair_reason, NT_ERR_SYSTEM, "UCX: no usable network: %s", fault);
        nt_probe_log(NT_LOG_ERROR, "%s has no network: %s; to do: %s", job->host,
                     no_pair_reason.text, nt_no_network_advice);
    }
    *has_network = pair != NULL;
    nt_participant_init(&participant, oob, pair, no_pair_reason.text);
    inspect_host(&participant, job);
    _Static_assert((int)NT_DEVICE_NETWORKS_BYTES <= (int)NT_WIRE_NETWORKS_BYTES, "a list fits");
    nt_device_network_list(pair, participant.networks);
    /* a rank without a network only reports that; without an agent all ranks stay to the end */
    bool only_greets = pair == NULL && set->agent_fd >= 0;
    int rc = oob->rank == 0 ? run_coordinator(oob, job, &participant, set, err)
             : only_greets  ? nt_participant_send_greeting(oob, job, &participant, err)
                            : nt_participant_run(oob, job, &participant, err);
    nt_participant_fini(&participant);
    nt_pair_destroy(participant.pair);
    return rc;
}

/* Under a launcher a rank that exits with an error ends the whole job. So by hand only rank 0,
 * which has written by then, reports an error by its exit status. Under the agent the exit status
 * reports a problem of this host. */
static int run_probe(const struct settings *set)
{
    struct nt_oob *oob = NULL;
    struct nt_probe_job job;
    struct nt_err err = {0};
    bool by_hand = set->agent_fd < 0, has_network;
    int rc = by_hand ? nt_oob_pmix_create(&oob, &job, &err)
                     : nt_oob_tcp_create(set->agent_fd, &oob, &job, &err);
    if (rc != 0)
        return print_error(&err);
    if (by_hand)
        set_job_by_hand(oob, &job, set);
    else
        job.traffic_fd = set->agent_fd + 1, job.prior_fd = set->agent_fd + 2;
    if (!by_hand && oob->rank == 0)
        nt_rescue_install();
    nt_probe_log_set(job.log, nt_clock_s());
    nt_probe_log(NT_LOG_INFO, "%s, rank %u of %u, level %s, %.3f s", job.host, oob->rank, oob->size,
                 nt_level_name(job.option.level), oob->deadline_s - nt_clock_s());
    rc = run_rank(oob, &job, set, &has_network, &err);
    int status = by_hand || has_network ? 0 : NT_ERR_SYSTEM;
    if (rc != 0)
        status = oob->rank == 0 || !by_hand ? print_error(&err) : 0;
    oob->ops->destroy(oob);
    return status;
}

/* ---- what UCX may use ---- */
static void print_transport(void *context, const char *transport, const char *device)
{
    char network[NT_NETWORK_BYTES];
    nt_device_network_find(device, network);
    dprintf(*(const int *)context, "transport %s %s %s\n", transport, device, network);
}

static int list_transports(int fd)
{
    struct nt_pair *pair = NULL;
    struct nt_err err;
    if (nt_pair_create(&pair, &err) != 0)
        return print_error(&err);
    nt_pair_each_rail(pair, print_transport, &fd);
    nt_pair_destroy(pair);
    return 0;
}

int main(int argc, char **argv)
{
    struct settings set = {
        .agent_fd = -1, .level = NT_LEVEL_STANDARD, .budget_s = BUDGET_MS * 1e-3, .max_load = 1};
    struct nt_err err = {0};
    if (nt_command_line_asks(argc, argv, "--help", "-h"))
        return print_help();
    if (nt_command_line_asks(argc, argv, "--version", "-V"))
        return puts("nettopo-probe " NT_VERSION) < 0 ? NT_ERR_SYSTEM : 0;
    if (read_arguments(argc, argv, &set, &err) != 0)
        return print_error(&err);
    if (set.agent_fd >= 0) /* outside the job's limits, so its user must not trace it */
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    bool changed = set.agent_fd < 0 && getenv("NETTOPO_PROBE_ENVIRONMENT") == NULL &&
                   set_devices(set.conf_path, &err);
    if (err.kind != NT_ERR_NONE && set.conf_path != NULL)
        return print_error(&err);
    if (err.kind != NT_ERR_NONE)
        fprintf(stderr, "nettopo-probe: %s; the configuration is not used\n", err.text);
    set_environment(argv, changed);
    if (give_up_rights(&set, &err) != 0)
        return print_error(&err);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_TIMERSLACK,
          1UL); /* the default slack of 50 us is as long as the latencies to be measured */
    /* UCX logs to standard output, which may receive a map */
    set.output_fd = dup(STDOUT_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    int rc = set.lists_transports ? list_transports(set.output_fd) : run_probe(&set);
    if (nt_rescue_was_needed())
        _exit(rc);
    return rc;
}
