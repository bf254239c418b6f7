/* SPDX-License-Identifier: Apache-2.0 */
#include "request.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decimal.h"

static int read_number(const char *what, const char *text, uint64_t max, uint64_t *value,
                       struct nt_err *err)
{
    if (text == NULL)
        return nt_err_set(err, NT_ERR_USAGE, "%s is missing", what);
    if (nt_decimal_whole(text, strlen(text), max, value) != 0)
        return nt_err_set(err, NT_ERR_USAGE, "%s: expected a number, found \"%.20s\"", what, text);
    return 0;
}

/* Slurm and the kernel reserve the two largest values for "none" and "any". */
static int read_ids(struct nt_request *request, const char *job, const char *uid, const char *gid,
                    struct nt_err *err)
{
    bool script = request->from_script;
    uint64_t j, u, g;
    if (read_number(script ? "SLURM_JOB_ID" : "--job", job, UINT32_MAX - 2, &j, err) != 0 ||
        read_number(script ? "SLURM_JOB_UID" : "--uid", uid, UINT32_MAX - 2, &u, err) != 0)
        return -1;
    if (j == 0)
        return nt_err_set(err, NT_ERR_USAGE, "%s: expected a job ID, found 0",
                          script ? "SLURM_JOB_ID" : "--job");
    if (gid != NULL) {
        if (read_number(script ? "SLURM_JOB_GID" : "--gid", gid, UINT32_MAX - 2, &g, err) != 0)
            return -1;
    } else {
        const struct passwd *user = getpwuid((uid_t)u);
        if (user == NULL)
            return nt_err_set(err, NT_ERR_USAGE, "uid %s is unknown on this host: pass --gid", uid);
        g = user->pw_gid;
    }
    request->job = (uint32_t)j;
    request->uid = (uid_t)u;
    request->gid = (gid_t)g;
    return 0;
}

/* Slurm passes an option without a value as the text "(null)". */
static const char *option_value(const char *text)
{
    return text != NULL && strcmp(text, "(null)") == 0 ? "" : text;
}

static int read_script_environment(struct nt_request *request, struct nt_err *err)
{
    const char *option = getenv("SPANK_NETTOPO");
    if (option == NULL)
        option = getenv("SPANK__SLURM_SPANK_OPTION_nettopo_nettopo");
    request->from_script = true;
    request->wanted = option != NULL;
    if (nt_option_parse(option_value(option), &request->option, err) != 0)
        return nt_err_prefix(err, "option");
    return read_ids(request, getenv("SLURM_JOB_ID"), getenv("SLURM_JOB_UID"),
                    getenv("SLURM_JOB_GID"), err);
}

struct arguments {
    const char *conf, *job, *uid, *gid, *option;
};

static int read_arguments(struct arguments *arguments, int argc, char **argv, struct nt_err *err)
{
    struct {
        const char *name, **value;
    } table[] = {{"--conf", &arguments->conf},
                 {"--job", &arguments->job},
                 {"--uid", &arguments->uid},
                 {"--gid", &arguments->gid},
                 {"--option", &arguments->option}};
    enum { N = sizeof table / sizeof *table };
    for (int k = 0; k < argc; k += 2) {
        size_t t = 0;
        while (t < N && strcmp(argv[k], table[t].name) != 0)
            t++;
        if (t == N)
            return nt_err_set(err, NT_ERR_USAGE, "unknown argument \"%.40s\"; see --help", argv[k]);
        if (k + 1 == argc)
            return nt_err_set(err, NT_ERR_USAGE, "%s: missing value", argv[k]);
        *table[t].value = argv[k + 1];
    }
    return 0;
}

int nt_request_read(struct nt_request *request, int argc, char **argv, struct nt_err *err)
{
    static const struct {
        const char *name;
        enum nt_request_verb verb;
        bool script;
    } verbs[] = {{"run", NT_VERB_RUN, false},
                 {"remove", NT_VERB_REMOVE, false},
                 {"--from-prolog-script", NT_VERB_RUN, true},
                 {"--from-epilog-script", NT_VERB_REMOVE, true},
                 {"--help", NT_VERB_HELP, false},
                 {"-h", NT_VERB_HELP, false},
                 {"--version", NT_VERB_VERSION, false},
                 {"-V", NT_VERB_VERSION, false}};
    enum { N = sizeof verbs / sizeof *verbs };
    struct arguments arguments = {0};
    *request = (struct nt_request){0};
    size_t v = 0;
    while (argc >= 2 && v < N && strcmp(argv[1], verbs[v].name) != 0)
        v++;
    if (argc < 2 || v == N)
        return nt_err_set(err, NT_ERR_USAGE,
                          "missing command: expected run, remove, --from-prolog-script, "
                          "--from-epilog-script, --check, --help or --version");
    request->verb = verbs[v].verb;
    request->from_script = verbs[v].script;
    if (request->verb == NT_VERB_HELP || request->verb == NT_VERB_VERSION)
        return 0;
    if (read_arguments(&arguments, argc - 2, argv + 2, err) != 0)
        return -1;
    request->conf = arguments.conf;
    if (verbs[v].script)
        return read_script_environment(request, err);
    request->wanted = true;
    if (arguments.option == NULL)
        arguments.option =
            getenv("NETTOPO_OPTION"); /* set by the plugin, because other users can see arguments */
    if (nt_option_parse(option_value(arguments.option), &request->option, err) != 0)
        return nt_err_prefix(err, "--option");
    if (request->verb == NT_VERB_REMOVE && arguments.uid == NULL)
        arguments.uid = arguments.gid = "0"; /* not used */
    return read_ids(request, arguments.job, arguments.uid, arguments.gid, err);
}

static void add_limit_note(struct nt_request *request, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add_limit_note(struct nt_request *request, const char *format, ...)
{
    size_t used = strlen(request->limit_note);
    va_list args;
    va_start(args, format);
    used += (size_t)snprintf(request->limit_note + used, sizeof request->limit_note - used, "%s",
                             used > 0 ? "; " : "");
    vsnprintf(request->limit_note + used, sizeof request->limit_note - used, format, args);
    va_end(args);
}

/* Slurm's reaction to a prolog that takes too long is worse for the job than a short sweep. */
double nt_request_limit(struct nt_request *request, const struct nt_conf *conf,
                        const struct nt_slurm_conf *slurm)
{
    struct nt_option *option = &request->option;
    const char *why = "";
    double asked_s = option->budget_s, bound_s = nt_slurm_conf_budget_s(slurm, &why);
    request->limit_note[0] = '\0';
    option->level_auto = !option->level_named && conf->level_auto;
    if (!option->level_named)
        option->level = conf->level;
    option->level_named = true;
    if (option->level > conf->level_max && !option->level_auto)
        add_limit_note(request, "level %s was reduced to %s by level_max in nettopo.conf",
                       nt_level_name(option->level), nt_level_name(conf->level_max));
    if (option->level > conf->level_max)
        option->level = conf->level_max;
    if (option->budget_s == 0)
        option->budget_s = conf->budget_default_s;
    if (option->budget_s > conf->budget_max_s)
        option->budget_s = conf->budget_max_s;
    bool by_slurm = option->budget_s > bound_s;
    if (by_slurm)
        option->budget_s = bound_s;
    if (by_slurm || asked_s > option->budget_s)
        add_limit_note(request, "budget %g s was reduced to %g s by %s in %s",
                       asked_s > 0 ? asked_s : conf->budget_default_s, option->budget_s,
                       by_slurm ? why : "budget_max", by_slurm ? "slurm.conf" : "nettopo.conf");
    return option->budget_s;
}

/* ---- the configuration file ---- */

static int check_owner(int fd, const char *path, struct nt_err *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return nt_err_set(err, NT_ERR_INPUT, "%s is not a regular file", path);
    if ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & 022) != 0)
        return nt_err_set(err, NT_ERR_INPUT, "%s is writable by users other than root", path);
    return 0;
}

/* Reads a whole file. Returns the number of bytes, or -1. */
static ssize_t read_text(int fd, char *text, size_t room)
{
    size_t have = 0;
    while (have < room) {
        ssize_t n = read(fd, text + have, room - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

int nt_conffile_read(const char *path, bool is_optional, struct nt_conf *conf, struct nt_err *err)
{
    nt_conf_default(conf);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT && is_optional)
        return 0;
    if (fd < 0 && errno == ELOOP)
        return nt_err_set(err, NT_ERR_INPUT, "%s is a symbolic link, but must be a file", path);
    if (fd < 0)
        return nt_err_set(err, errno == ENOENT || errno == ENOTDIR ? NT_ERR_INPUT : NT_ERR_SYSTEM,
                          "cannot open %s: %s", path, strerror(errno));
    int rc = check_owner(fd, path, err);
    char *text = malloc(NT_CONF_TEXT_MAX + 1);
    ssize_t bytes = rc == 0 && text != NULL ? read_text(fd, text, NT_CONF_TEXT_MAX + 1) : -1;
    if (rc == 0 && bytes < 0)
        rc = nt_err_set(err, NT_ERR_SYSTEM, "cannot read %s", path);
    if (rc == 0)
        rc = nt_conf_parse(path, text, (size_t)bytes, conf, err);
    free(text);
    close(fd);
    return rc;
}
