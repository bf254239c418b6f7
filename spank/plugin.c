/* SPDX-License-Identifier: Apache-2.0 */
/* spank_nettopo.so: the option --nettopo, the prolog and epilog callbacks, the job's variables.
 *
 * Slurm loads it into sbatch, salloc, srun and slurmstepd. So it is small, keeps no state except
 * the option given at submission, and calls nothing that can exit or abort. Slurm may drain the
 * node or fail the job if a callback fails. Every callback except the one that parses the option
 * therefore logs errors and returns success. */
#pragma GCC visibility push(default)
#include <slurm/spank.h>

SPANK_PLUGIN(nettopo, 1)
#pragma GCC visibility pop

#include <errno.h>
#include <slurm/slurm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "conf.h"
#include "decimal.h"
#include "environ.h"
#include "file.h"
#include "option.h"
#include "order.h"
#include "spawn.h"
#include "step.h"

/* Time limits of the agent: beyond its budget, and for removing files. By then the agent has
 * published; it may still wait for processes that cannot be killed. */
static const double AGENT_SLACK_S = NT_AGENT_SLACK_MS / 1e3, REMOVE_S = 2.0;

/* ---- the option ---- */

/* Slurm passes an option without a value as the text "(null)". */
static const char *option_value(const char *value)
{
    return value != NULL && strcmp(value, "(null)") == 0 ? NULL : value;
}

/* Makes the path of a pattern file absolute: it is relative to the user's working directory. */
static int resolve_option_path(struct nt_option *option, struct nt_err *err)
{
    char dir[NT_PATTERN_TEXT_BYTES];
    const char *path = nt_pattern_matrix(option->pattern);
    if (path == NULL || path[0] == '/')
        return 0;
    if (getcwd(dir, sizeof dir) == NULL)
        return nt_err_set(err, NT_ERR_USAGE, "pattern \"%.60s\": %s", option->pattern,
                          errno == ERANGE ? "the path of this directory is too long"
                                          : "the current directory cannot be determined");
    return nt_option_resolve_path(option, dir, err);
}

/* The option at submission, with an absolute path. If it is given several times, for example in a
 * script and on the command line, Slurm calls back last for the one that takes effect. Kept between
 * callbacks because spank_option_getopt does not work in init_post_opt. */
static struct nt_option submitted;
static bool is_submitted;

/* Slurm uses the text of the last option only: the items of an earlier one are lost. */
static void report_override(const struct nt_option *option)
{
    char was[NT_OPTION_TEXT_BYTES], is[NT_OPTION_TEXT_BYTES];
    if (is_submitted && nt_option_format(&submitted, was, sizeof was, NULL) == 0 &&
        nt_option_format(option, is, sizeof is, NULL) == 0 && strcmp(was, is) != 0)
        slurm_info("nettopo: --nettopo=%s replaces --nettopo=%s, whose items have no effect", is,
                   was);
}

/* Rejects an invalid item at submission, but never when a step is launched. */
static int check_option(int val, const char *value, int remote)
{
    struct nt_option option;
    struct nt_err err;
    (void)val;
    if (remote) { /* in slurmstepd, for write_order */
        is_submitted = true;
        if (nt_option_parse(option_value(value), &submitted, NULL) != 0)
            nt_option_parse(NULL, &submitted, NULL);
        return 0;
    }
    if (nt_option_parse(option_value(value), &option, &err) == 0 &&
        resolve_option_path(&option, &err) == 0) {
        report_override(&option);
        submitted = option;
        is_submitted = true;
        return 0;
    }
    slurm_error("--nettopo: %s", err.text);
    return -1;
}

static struct spank_option nettopo_option = {
    .name = "nettopo",
    .arginfo = "ITEM,...",
    .usage = "measure the job's network first: quick|standard|full, budget=S, pattern=P, spare=K, "
             "sweep=KIND, apply, debug, off",
    .has_arg = 2,
    .val = 0,
    .cb = check_option,
};

/* 1: given, 0: not given, -1: given and invalid. */
static int get_option(spank_t spank, struct nt_option *option, struct nt_err *err)
{
    char *value = NULL;
    if (spank_option_getopt(spank, &nettopo_option, &value) != ESPANK_SUCCESS) {
        nt_option_parse(NULL, option, NULL);
        return 0;
    }
    return nt_option_parse(option_value(value), option, err) == 0 ? 1 : -1;
}

/* ---- steps that follow the hint ---- */

enum { WORDS_MAX = 4096, COMMAND_BYTES_MAX = 1 << 20, HOSTFILE_BYTES_MAX = 32 << 20 };

/* Reads srun's own command line, which SPANK does not provide this early. words point into *text,
 * which the caller frees. Returns 0 if the command line is unusually long. */
static size_t read_command(char **text, const char *words[WORDS_MAX])
{
    size_t bytes = 0, count = 0;
    FILE *file = fopen("/proc/self/cmdline", "re");
    *text = malloc(COMMAND_BYTES_MAX + 1);
    if (file != NULL && *text != NULL)
        bytes = fread(*text, 1, COMMAND_BYTES_MAX, file);
    if (file != NULL)
        fclose(file);
    if (*text != NULL)
        (*text)[bytes] = '\0';
    for (size_t at = 0; at < bytes && count < WORDS_MAX; at += strlen(*text + at) + 1)
        words[count++] = *text + at;
    return bytes == COMMAND_BYTES_MAX || count == WORDS_MAX ? 0 : count;
}

static bool is_step_placed(const char *host_file)
{
    const char *words[WORDS_MAX], *tasks = getenv("SLURM_NTASKS"), *nodes = getenv("SLURM_NNODES");
    struct nt_step_defaults defaults = {.tasks = tasks != NULL ? tasks : getenv("SLURM_NPROCS"),
                                        .nodes = nodes,
                                        .rejects_nodes =
                                            SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)};
    char *command, *hosts;
    size_t bytes, count;
    if (nt_file_load(host_file, HOSTFILE_BYTES_MAX, &hosts, &bytes, NULL, NULL) != 0)
        return false;
    struct nt_step_hint hint = nt_step_count_hosts(hosts, bytes);
    free(hosts);
    count = read_command(&command, words);
    bool placed = nt_step_is_placed(words, count, &hint, &defaults);
    free(command);
    return placed;
}

/* Runs in srun before srun reads its environment. If the hint does not apply to the step, removes
 * the two variables that apply set, so that Slurm places the step itself. If a variable has another
 * value, the user set it and it is kept. */
static void choose_placement(void)
{
    const char *applied = getenv("SLURM_HOSTFILE"), *ours = getenv("NETTOPO_HOSTFILE");
    const char *distribution = getenv("SLURM_DISTRIBUTION");
    if (applied == NULL || ours == NULL || strcmp(applied, ours) != 0 || distribution == NULL ||
        strcmp(distribution, "arbitrary") != 0 || is_step_placed(ours))
        return;
    unsetenv("SLURM_HOSTFILE");
    unsetenv("SLURM_DISTRIBUTION");
}

int slurm_spank_init(spank_t spank, int ac, char **av)
{
    (void)ac;
    (void)av;
    if (spank_option_register(spank, &nettopo_option) != ESPANK_SUCCESS)
        slurm_error("nettopo: the option --nettopo cannot be registered");
    if (spank_context() == S_CTX_LOCAL)
        choose_placement();
    return 0;
}

/* ---- the configuration ---- */

/* Returns the value of conf=, the plugin's only argument; NULL: the default file. */
static const char *conf_path(int ac, char **av)
{
    const char *path = NULL;
    for (int k = 0; k < ac; k++) {
        if (strncmp(av[k], "conf=", 5) == 0)
            path = av[k] + 5;
        else
            slurm_error("nettopo: unknown argument \"%.60s\" in plugstack.conf: expected conf=FILE",
                        av[k]);
    }
    return path;
}

/* ---- prolog and epilog ---- */

struct agent_arguments {
    char job[16], uid[16], gid[16], option[NT_OPTION_TEXT_BYTES];
};

static int run_agent(const struct nt_conf *conf, const char *path,
                     const struct agent_arguments *arguments, double seconds, struct nt_err *err)
{
    char *const argv[] = {(char *)conf->prolog,
                          "run",
                          "--job",
                          (char *)arguments->job,
                          "--uid",
                          (char *)arguments->uid,
                          "--gid",
                          (char *)arguments->gid,
                          path != NULL ? "--conf" : NULL,
                          (char *)path,
                          NULL};
    return nt_spawn_wait(argv, arguments->option, seconds, err);
}

static int get_job_ids(spank_t spank, struct agent_arguments *arguments, struct nt_err *err)
{
    uint32_t job = 0;
    uid_t uid = 0;
    gid_t gid = 0;
    if (spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_UID, &uid) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_GID, &gid) != ESPANK_SUCCESS)
        return nt_err_set(err, NT_ERR_SYSTEM, "Slurm provides no job ID, user or group");
    snprintf(arguments->job, sizeof arguments->job, "%u", job);
    snprintf(arguments->uid, sizeof arguments->uid, "%u", (unsigned)uid);
    snprintf(arguments->gid, sizeof arguments->gid, "%u", (unsigned)gid);
    return 0;
}

/* Restores the absolute path that was set at submission. A user who sets the variable can only name
 * another file, which is read with that user's rights. */
static void restore_pattern_path(struct nt_option *option)
{
    struct nt_option left;
    const char *path = nt_pattern_matrix(option->pattern), *text = getenv("SPANK_NETTOPO");
    if (path != NULL && path[0] != '/' && text != NULL && nt_option_parse(text, &left, NULL) == 0 &&
        nt_pattern_matrix(left.pattern) != NULL)
        memcpy(option->pattern, left.pattern, sizeof option->pattern);
}

static double agent_timeout_s(const struct nt_option *option, const struct nt_conf *conf)
{
    double budget = option->budget_s > 0 ? option->budget_s : conf->budget_default_s;
    return (budget < conf->budget_max_s ? budget : conf->budget_max_s) + AGENT_SLACK_S;
}

int slurm_spank_job_prolog(spank_t spank, int ac, char **av)
{
    const char *path = conf_path(ac, av);
    struct nt_option option;
    struct nt_conf conf;
    struct nt_err err;
    struct agent_arguments arguments;
    int given = get_option(spank, &option, &err);
    if (given < 0)
        goto log_error;
    int rc = nt_file_read_conf(path, &conf, &err);
    if ((given == 0 && !conf.default_on) || option.off)
        return 0;  /* even if the configuration is invalid */
    if (rc != 0) { /* the agent reports the same error and counts the job in its log */
        slurm_error("nettopo: %s", err.text);
        nt_conf_default(&conf);
    } else if (!conf.enabled || nt_conf_refusal(&conf, getenv("SLURM_JOB_USER"),
                                                getenv("SLURM_JOB_PARTITION")) != NULL) {
        return 0;
    }
    restore_pattern_path(&option);
    if (get_job_ids(spank, &arguments, &err) != 0 ||
        nt_option_format(&option, arguments.option, sizeof arguments.option, &err) != 0 ||
        (run_agent(&conf, path, &arguments, agent_timeout_s(&option, &conf), &err) != 0 && rc == 0))
        goto log_error;
    return 0;
log_error:
    slurm_error("nettopo: %s", err.text);
    return 0;
}

int slurm_spank_job_epilog(spank_t spank, int ac, char **av)
{
    const char *path = conf_path(ac, av);
    struct nt_conf conf;
    struct nt_err err;
    struct stat st;
    uint32_t job = 0;
    char dir[NT_CONF_PATH_BYTES + 16], id[16];
    if (spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS)
        return 0;
    int rc = nt_file_read_conf(path, &conf, NULL);
    nt_slurm_order_remove(conf.run_dir, job);
    if (rc != 0) /* the prolog has logged it */
        return 0;
    struct nt_option option;
    snprintf(id, sizeof id, "%u", job);
    snprintf(dir, sizeof dir, "%s/%s", conf.run_dir, id);
    /* Starts no process for a job without files. A job with the option may have left temporary
     * ones. */
    if (lstat(dir, &st) != 0 && get_option(spank, &option, NULL) == 0)
        return 0;
    char *const argv[] = {conf.prolog,  "remove", "--job", id, path != NULL ? "--conf" : NULL,
                          (char *)path, NULL};
    if (nt_spawn_wait(argv, NULL, REMOVE_S, &err) != 0)
        goto log_error;
    return 0;
log_error:
    slurm_error("nettopo: %s", err.text);
    return 0;
}

/* ---- the job's variables ---- */

static bool has_file(const void *context, const char *file)
{
    char path[NT_CONF_PATH_BYTES + 64];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", (const char *)context, file);
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static void set_failed(spank_t spank, const char *reason)
{
    spank_setenv(spank, "NETTOPO_STATUS", "failed", 1);
    spank_setenv(spank, "NETTOPO_REASON", reason, 1);
}

/* Steps inherit the variables of apply from the batch script or the interactive step. An srun with
 * its own allocation has already placed its tasks. */
static bool starts_steps(spank_t spank)
{
    uint32_t step = 0;
    return spank_get_item(spank, S_JOB_STEPID, &step) == ESPANK_SUCCESS &&
           (step == SLURM_BATCH_SCRIPT || step == SLURM_INTERACTIVE_STEP);
}

/* Returns why the configuration excludes this step's job; NULL: it does not. */
static const char *refusal_of_job(spank_t spank, const struct nt_conf *conf)
{
    char user[NT_CONF_WORD_BYTES], part[NT_CONF_WORD_BYTES];
    spank_err_t user_rc = spank_getenv(spank, "SLURM_JOB_USER", user, sizeof user);
    spank_err_t part_rc = spank_getenv(spank, "SLURM_JOB_PARTITION", part, sizeof part);
    return nt_conf_refusal(conf, user_rc == ESPANK_SUCCESS ? user : NULL,
                           part_rc == ESPANK_SUCCESS ? part : NULL);
}

/* ---- the scheduler's order, where a sweep gave none ---- */

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
typedef hostlist_t *hostlist_handle;
#else
typedef hostlist_t hostlist_handle;
#endif
/* The processes that load this plugin define these functions. Without them the job gets no
 * order. */
#pragma weak slurm_hostlist_create
#pragma weak slurm_hostlist_shift
#pragma weak slurm_hostlist_destroy

static uint32_t number_variable(spank_t spank, const char *name)
{
    char text[16];
    uint64_t value;
    if (spank_getenv(spank, name, text, sizeof text) != ESPANK_SUCCESS ||
        nt_decimal_whole(text, strlen(text), NT_SLURM_ORDER_TASKS_MAX, &value) != 0)
        return 0;
    return (uint32_t)value;
}

/* Returns the number of cores per rank for the rank file. Slurm counts hardware threads as CPUs, a
 * rank file counts cores. A rank gets no core that the job may not use on this host. */
static uint32_t cores_of_rank(spank_t spank, const struct nt_slurm_order *order)
{
    uint32_t each = number_variable(spank, "SLURM_CPUS_PER_TASK"), most = 1;
    uint32_t cpus = number_variable(spank, "SLURM_CPUS_ON_NODE");
    FILE *file = fopen("/sys/devices/system/cpu/smt/active", "re");
    bool smt = file != NULL && fgetc(file) == '1';
    if (file != NULL)
        fclose(file);
    for (size_t h = 0; h < order->hosts; h++)
        most = order->tasks[h] > most ? order->tasks[h] : most;
    each = smt ? (each + 1) / 2 : each;
    uint32_t room = cpus / (smt ? 2 : 1) / most;
    each = each < room || cpus == 0 ? each : room;
    return each > 0 ? each : 1;
}

static int read_order(spank_t spank, size_t spares, struct nt_slurm_order *order,
                      struct nt_err *err)
{
    enum { LIST_BYTES = 65536, LAYOUT_BYTES = 4096 };
    char layout[LAYOUT_BYTES], *list = malloc(LIST_BYTES);
    *order = (struct nt_slurm_order){0};
    if (list == NULL)
        return nt_err_memory(err);
    hostlist_handle hosts = NULL;
    if (slurm_hostlist_create != NULL && slurm_hostlist_shift != NULL &&
        slurm_hostlist_destroy != NULL &&
        spank_getenv(spank, "SLURM_JOB_NODELIST", list, LIST_BYTES) == ESPANK_SUCCESS)
        hosts = slurm_hostlist_create(list);
    free(list);
    if (hosts == NULL)
        return nt_err_set(err, NT_ERR_INPUT, "the job's host list cannot be read");
    for (char *name; (name = slurm_hostlist_shift(hosts)) != NULL;)
        if (nt_slurm_order_add(order, name) != 0)
            break;
    slurm_hostlist_destroy(hosts);
    bool has_layout =
        spank_getenv(spank, "SLURM_TASKS_PER_NODE", layout, sizeof layout) == ESPANK_SUCCESS;
    if (nt_slurm_order_spread(order, has_layout ? layout : NULL,
                              number_variable(spank, "SLURM_NTASKS"), spares, err) != 0) {
        nt_slurm_order_fini(order);
        return -1;
    }
    order->cores = cores_of_rank(spank, order);
    return 0;
}

static void set_default_variable(spank_t spank, const struct nt_environ *environ, const char *name,
                                 const char *value)
{
    for (size_t k = 0; environ != NULL && k < environ->count; k++)
        if (strcmp(environ->var[k].name, name) == 0)
            return;
    spank_setenv(spank, name, value != NULL ? value : "", 1);
}

/* Sets every variable that scripts may use, whatever failed. environ (or NULL) contains the
 * variables that the sweep set. */
static void set_default_variables(spank_t spank, const char *dir, const struct nt_option *option,
                                  const struct nt_environ *environ)
{
    static const char *const files[][2] = {{"NETTOPO_HOSTFILE", "hostfile"},
                                           {"NETTOPO_RANKFILE", "rankfile"},
                                           {"NETTOPO_RANK_ORDER", "rankorder"}};
    char path[NT_CONF_PATH_BYTES + 64];
    struct nt_slurm_order order;
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[k][1]);
        set_default_variable(spank, environ, files[k][0], has_file(dir, files[k][1]) ? path : "");
    }
    if (read_order(spank, option->spare, &order, NULL) == 0) {
        size_t used = order.hosts - order.spares;
        char *hosts = nt_slurm_order_text(&order, 0, used), *spares;
        spares = nt_slurm_order_text(&order, used, order.hosts);
        set_default_variable(spank, environ, "NETTOPO_NODE_ORDER", hosts);
        if (option->spare > 0)
            set_default_variable(spank, environ, "NETTOPO_SPARES", spares);
        free(hosts);
        free(spares);
        nt_slurm_order_fini(&order);
    }
    set_default_variable(spank, environ, "NETTOPO_GAIN", "1");
    set_default_variable(spank, environ, "NETTOPO_FINDINGS", "");
}

/* Writes Slurm's order for a job without a hint. Runs in slurmstepd as root, before tasks start. */
static void write_order(spank_t spank, int ac, char **av)
{
    struct nt_conf conf;
    struct nt_err err;
    struct nt_slurm_order order;
    uint32_t job = 0, step = 0;
    gid_t gid = 0;
    char dir[NT_CONF_PATH_BYTES + 16];
    /* the step of PrologFlags=Contain has no tasks, and may start before the sweep has ended */
    if (spank_get_item(spank, S_JOB_STEPID, &step) == ESPANK_SUCCESS && step == SLURM_EXTERN_CONT)
        return;
    nt_file_read_conf(conf_path(ac, av), &conf, NULL); /* the defaults if the file is invalid */
    if ((is_submitted && submitted.off) || geteuid() != 0 ||
        spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_GID, &gid) != ESPANK_SUCCESS ||
        (!is_submitted && (!conf.default_on || refusal_of_job(spank, &conf) != NULL)))
        return;
    snprintf(dir, sizeof dir, "%s/%u", conf.run_dir, job);
    if (has_file(dir, "hostfile"))
        return;
    if (read_order(spank, is_submitted ? submitted.spare : 0, &order, &err) != 0) {
        slurm_error("nettopo: %s", err.text);
        return;
    }
    if (nt_slurm_order_write(&order, conf.run_dir, job, gid, conf.publish_limit_bytes, &err) != 0)
        slurm_error("nettopo: the scheduler's order was not written: %s", err.text);
    nt_slurm_order_fini(&order);
}

/* Returns whether this is salloc with a command. Slurm's programs parse their options with getopt,
 * so optind is the index of the command. */
static bool is_salloc_command(void)
{
    const char *words[WORDS_MAX];
    char *command;
    size_t count = read_command(&command, words);
    free(command);
    return strcmp(program_invocation_short_name, "salloc") == 0 && optind > 0 &&
           (size_t)optind < count;
}

/* Passes the option to prolog scripts and to the prolog callback as SPANK_NETTOPO, with an absolute
 * path. The text that Slurm itself passes contains the path as the user wrote it. */
int slurm_spank_init_post_opt(spank_t spank, int ac, char **av)
{
    char text[NT_OPTION_TEXT_BYTES];
    spank_context_t context = spank_context();
    if (context == S_CTX_REMOTE)
        write_order(spank, ac, av);
    if ((context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR) && is_submitted &&
        nt_option_format(&submitted, text, sizeof text, NULL) == 0)
        spank_job_control_setenv(spank, "NETTOPO", text, 1);
    if (context == S_CTX_LOCAL && is_submitted && submitted.apply && getenv("SLURM_JOB_ID") == NULL)
        slurm_info(
            "nettopo: apply has no effect on this step, because its tasks are placed before "
            "the network is measured. It has an effect in a script of sbatch, and in salloc");
    if (context == S_CTX_ALLOCATOR && is_submitted && submitted.apply && is_salloc_command())
        slurm_info("nettopo: apply has no effect on a command of salloc, because it runs outside "
                   "of the job. It has an effect in salloc's own shell and in a script of sbatch");
    return 0;
}

/* Sets the job's variables from hint.env. *missing: the file does not exist, which is an error. */
static int set_variables(spank_t spank, const char *dir, const struct nt_option *option,
                         bool *missing, struct nt_err *err)
{
    char path[NT_CONF_PATH_BYTES + 64], *text;
    size_t bytes;
    struct nt_environ environ;
    struct nt_environ_options options = {
        .dir = dir, .apply = option->apply && starts_steps(spank), .has = has_file, .context = dir};
    snprintf(path, sizeof path, "%s/hint.env", dir);
    if (nt_file_load(path, NT_ENVIRON_TEXT_MAX, &text, &bytes, missing, err) != 0)
        return -1;
    int rc = nt_environ_read(text, bytes, &options, &environ, err);
    free(text);
    if (rc != 0)
        return -1;
    for (size_t k = 0; k < environ.count; k++)
        spank_setenv(spank, environ.var[k].name, environ.var[k].value, 1);
    set_default_variables(spank, dir, option, &environ);
    nt_environ_fini(&environ);
    return 0;
}

/* Explains why a job has no result. If run_dir is full, the agent could not even store a reason. */
static void explain_missing_result(const struct nt_conf *conf, uint32_t job, const char *refusal,
                                   struct nt_err *err)
{
    enum { ROOM = 65536 };
    struct statvfs fs;
    if (!conf->enabled)
        nt_err_set(err, NT_ERR_INPUT, "disabled in nettopo.conf (enabled = no)");
    else if (refusal != NULL)
        nt_err_set(err, NT_ERR_INPUT, "%s", refusal);
    else if (statvfs(conf->run_dir, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize < ROOM)
        nt_err_set(err, NT_ERR_SYSTEM, "run_dir %s is full on this host. Free space there.",
                   conf->run_dir);
    else if (nt_file_job_is_unfinished(conf->run_dir, job))
        nt_err_set(err, NT_ERR_SYSTEM, "the agent was stopped or killed before it had a result");
    else
        nt_err_set(err, NT_ERR_INPUT, "nothing was measured in this job's prolog");
}

int slurm_spank_user_init(spank_t spank, int ac, char **av)
{
    struct nt_option option;
    struct nt_conf conf;
    struct nt_err err;
    uint32_t job = 0;
    char dir[NT_CONF_PATH_BYTES + 16];
    bool missing = false;
    nt_option_parse(NULL, &option, NULL);
    if (spank_remote(spank) != 1 || spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS)
        return 0;
    int given = get_option(spank, &option, &err);
    struct nt_err why;
    int rc = nt_file_read_conf(conf_path(ac, av), &conf, &why);
    snprintf(dir, sizeof dir, "%s/%u", conf.run_dir, job);
    if (given < 0)
        goto failed;
    if (option.off)
        return 0;
    if (rc != 0) {
        err = why;
        given = given != 0 || conf.default_on;
        goto failed;
    }
    if (set_variables(spank, dir, &option, &missing, &err) == 0)
        return 0;
    if (missing) {
        const char *refusal = refusal_of_job(spank, &conf);
        if (given == 0 && (!conf.default_on || refusal != NULL))
            return 0;
        explain_missing_result(&conf, job, refusal, &err);
        given = 1;
    } else {
        slurm_error("nettopo: %s", err.text);
        given = 1; /* the directory exists, so the job must get a status */
    }
failed:
    if (given != 0) {
        set_failed(spank, err.text);
        set_default_variables(spank, dir, &option, NULL);
    }
    return 0;
}
