/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "plugin.h"
#include "run.h"

enum { PLUGIN_BYTES_MAX = 1 << 20, RELEASE_BYTES = 32 };

/* ---- slurm.conf ---- */

static void find_slurm_conf(struct nt_check *check)
{
    /* the last two are files that slurmd has fetched (configless) */
    const char *const paths[] = {getenv("SLURM_CONF"), "/etc/slurm/slurm.conf",
                                 "/run/slurm/conf/slurm.conf",
                                 "/var/spool/slurmd/conf-cache/slurm.conf"};
    for (size_t k = 0; k < sizeof paths / sizeof *paths && check->slurm_text == NULL; k++)
        if (paths[k] != NULL) {
            check->slurm_path = paths[k];
            check->slurm_text = nt_slurm_conf_load(paths[k], &check->slurm_bytes);
        }
    nt_slurm_conf_parse(&check->slurm, check->slurm_text, check->slurm_bytes);
}

static void check_prolog_flags(struct nt_check *check)
{
    static const char what[] = "PrologFlags";
    char flags[256] = "(none)";
    const struct nt_slurm_conf *slurm = &check->slurm;
    nt_slurm_conf_value(check->slurm_text, check->slurm_bytes, what, flags, sizeof flags);
    if (!slurm->alloc)
        nt_check_fail(check, what,
                      "Set PrologFlags=Alloc,DeferBatch in slurm.conf and restart slurmctld and "
                      "slurmd. Without Alloc, only a job's first host runs its prolog in time",
                      "%s", flags);
    else if (slurm->serial)
        nt_check_fail(check, what,
                      "Remove Serial, because jobs of several hosts are not measured with it", "%s",
                      flags);
    else if (!slurm->defer_batch)
        nt_check_fail(check, what,
                      "Add DeferBatch, because without it the batch script may start before all "
                      "hosts have the map",
                      "%s", flags);
    else
        nt_check_ok(what, "%s", flags);
}

static void check_timeouts(struct nt_check *check)
{
    static const char what[] = "timeouts of Slurm";
    const struct nt_slurm_conf *slurm = &check->slurm;
    const char *why = "";
    double bound_s = nt_slurm_conf_budget_s(slurm, &why);
    if (check->conf.budget_max_s > bound_s)
        nt_check_fail(check, what,
                      "Raise it in slurm.conf, or lower budget_max and budget_default in "
                      "nettopo.conf. Until then longer budgets are cut",
                      "%s allows budgets up to %g s, but budget_max is %g s", why, bound_s,
                      check->conf.budget_max_s);
    else
        nt_check_ok(what,
                    "MessageTimeout %u s, BatchStartTimeout %u s, prolog timeout %u s (0: none) "
                    "allow budgets up to budget_max, %g s",
                    slurm->message_timeout_s, slurm->batch_start_timeout_s, slurm->prolog_timeout_s,
                    check->conf.budget_max_s);
}

/* ---- the plugin ---- */

/* Formats a number such as SLURM_VERSION_NUMBER as "22.05". */
static void format_release(uint32_t version, char text[RELEASE_BYTES])
{
    snprintf(text, RELEASE_BYTES, "%u.%02u", version >> 16, version >> 8 & 0xff);
}

/* Extracts "22.05" from "slurm-wlm 22.05.8". */
static bool read_release(const char *said, char release[RELEASE_BYTES])
{
    static const char digits[] = "0123456789";
    const char *major = strpbrk(said, digits);
    size_t a = major != NULL ? strspn(major, digits) : 0;
    size_t b = a > 0 && major[a] == '.' ? strspn(major + a + 1, digits) : 0;
    if (b == 0 || a + b + 2 > RELEASE_BYTES)
        return false;
    snprintf(release, RELEASE_BYTES, "%.*s", (int)(a + 1 + b), major);
    return true;
}

/* Asks the slurmd that runs here for its release, otherwise the one that would run. */
static int ask_slurmd(const struct nt_check *check, char release[RELEASE_BYTES], struct nt_err *err)
{
    char running[64], output[256];
    char *const argv[] = {"slurmd", "-V", NULL}, *const env[] = {"LANG=C", NULL};
    const char *const paths[] = {running, "/usr/sbin/slurmd", "/usr/local/sbin/slurmd"};
    snprintf(running, sizeof running, "/proc/%d/exe", (int)check->slurmd);
    size_t k = check->slurmd > 0 ? 0 : 1;
    while (k + 1 < sizeof paths / sizeof *paths && access(paths[k], X_OK) != 0)
        k++;
    struct nt_check_run run = {.path = paths[k], .argv = argv, .env = env, .seconds = 3};
    if (nt_check_run(&run, output, sizeof output, err) != 0)
        return -1;
    if (!read_release(output, release))
        return nt_err_set(err, NT_ERR_INPUT, "slurmd -V prints no release: %.60s", output);
    return 0;
}

static int read_plugin(const char *path, uint32_t *version, struct nt_err *err)
{
    int rc = -1;
    FILE *file = fopen(path, "re");
    char *bytes = file != NULL ? malloc(PLUGIN_BYTES_MAX) : NULL;
    if (bytes == NULL)
        nt_err_set(err, NT_ERR_SYSTEM, "%s", strerror(errno));
    else
        rc = nt_plugin_version_read(bytes, fread(bytes, 1, PLUGIN_BYTES_MAX, file), version, err);
    free(bytes);
    if (file != NULL)
        fclose(file);
    return rc;
}

static void check_plugin_release(struct nt_check *check, const char *path)
{
    static const char what[] = "plugin";
    char built_for[RELEASE_BYTES], runs[RELEASE_BYTES];
    uint32_t version;
    struct nt_err err;
    if (read_plugin(path, &version, &err) != 0) {
        nt_check_fail(check, what, "Install spank_nettopo.so there (make install)", "%s: %s", path,
                      err.text);
        return;
    }
    format_release(version, built_for);
    if (ask_slurmd(check, runs, &err) != 0)
        nt_check_fail(check, what, "Install slurmd on this node, or check why slurmd -V fails",
                      "%s is for Slurm %s, but the release on this node is unknown: %s", path,
                      built_for, err.text);
    else if (strcmp(built_for, runs) != 0)
        nt_check_fail(check, what,
                      "Build nettopo for the Slurm that runs here (make SLURM_PREFIX=DIR) and "
                      "install it. Slurm ignores a plugin for another release",
                      "%s is for Slurm %s, slurmd is %s", path, built_for, runs);
    else
        nt_check_ok(what, "%s, for Slurm %s, which runs here", path, built_for);
}

static void check_plugin(struct nt_check *check, const struct nt_plugstack_entry *entry)
{
    char dirs[NT_PLUGSTACK_PATH_BYTES] = NT_PLUGINDIR, path[2 * NT_PLUGSTACK_PATH_BYTES], *rest,
         *dir;
    if (entry->plugin[0] == '/') {
        check_plugin_release(check, entry->plugin);
        return;
    }
    nt_slurm_conf_value(check->slurm_text, check->slurm_bytes, "PluginDir", dirs, sizeof dirs);
    for (rest = dirs; (dir = strsep(&rest, ":")) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", dir, entry->plugin);
        if (access(path, F_OK) == 0 || rest == NULL) {
            check_plugin_release(check, path);
            return;
        }
    }
}

/* Finds PlugStackConfig, otherwise plugstack.conf beside slurm.conf. */
static void find_plugstack(const struct nt_check *check, char path[NT_PLUGSTACK_PATH_BYTES])
{
    const char *slash = strrchr(check->slurm_path, '/');
    if (!nt_slurm_conf_value(check->slurm_text, check->slurm_bytes, "PlugStackConfig", path,
                             NT_PLUGSTACK_PATH_BYTES))
        snprintf(path, NT_PLUGSTACK_PATH_BYTES, "%.*s/plugstack.conf",
                 slash != NULL ? (int)(slash - check->slurm_path) : 0, check->slurm_path);
}

static void check_plugstack(struct nt_check *check)
{
    static const char what[] = "plugstack.conf";
    char path[NT_PLUGSTACK_PATH_BYTES];
    struct nt_plugstack_entry entry;
    struct nt_err err = {.text = "no line loads spank_nettopo.so"};
    find_plugstack(check, path);
    if (nt_plugstack_find(path, &entry, &err) != 1) {
        nt_check_fail(check, what,
                      "Add \"optional spank_nettopo.so\" to it, or \"include\" with the path of "
                      "plugstack.conf.d/*.conf",
                      "%s: %s", path, err.text);
        return;
    }
    if (entry.required)
        nt_check_fail(check, what, "Write optional, because jobs fail if a required plugin fails",
                      "%s: required %s", entry.file, entry.plugin);
    else if (strcmp(entry.conf[0] != '\0' ? entry.conf : check->conf_path, check->conf_path) != 0)
        nt_check_fail(check, what, "Check that file with --check --conf FILE",
                      "%s: the plugin reads %s, but this check reads %s", entry.file, entry.conf,
                      check->conf_path);
    else
        nt_check_ok(what, "%s: optional %s", entry.file, entry.plugin);
    check_plugin(check, &entry);
}

void nt_check_slurm(struct nt_check *check)
{
    find_slurm_conf(check);
    if (check->slurm_text == NULL) {
        nt_check_fail(check, "slurm.conf", "Set SLURM_CONF to its path, or install Slurm here",
                      "%s: %s", check->slurm_path, strerror(errno));
        return;
    }
    nt_check_ok("slurm.conf", "%s; slurmd %s", check->slurm_path,
                check->slurmd > 0 ? "runs" : "does not run here");
    check_prolog_flags(check);
    check_timeouts(check);
    check_plugstack(check);
}
