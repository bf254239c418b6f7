/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decimal.h"
#include "err.h"
#include "request.h"

static const char DEFAULT_CONF[] = NT_SYSCONFDIR "/nettopo/nettopo.conf";

static const char HELP[] =
    "Usage: nettopo-prolog --check [--conf FILE] [--host HOST]\n"
    "\n"
    "Test the installation on this node, as root. Print one line for each part: \"ok\", or\n"
    "\"FAIL\" and a remedy.\n"
    "\n"
    "  --conf FILE    Configuration (default " NT_SYSCONFDIR "/nettopo/nettopo.conf)\n"
    "  --host HOST    Also test if the ports of HOST can be reached, if large messages\n"
    "                 arrive, and if another host has an address of this host\n"
    "  -h, --help     Print this help\n"
    "  -V, --version  Print the version\n"
    "\n"
    "Exit status: 0 all is ok, 1 a test failed, 2 usage, 4 not root.\n"
    "\n"
    "Example: nettopo-prolog --check --host n2\n";

enum { LINE_BYTES = 1024 };

static void print_line(const char *word, const char *what, const char *format, va_list args,
                       const char *remedy) __attribute__((format(printf, 3, 0)));
static void print_line(const char *word, const char *what, const char *format, va_list args,
                       const char *remedy)
{
    char found[LINE_BYTES];
    vsnprintf(found, sizeof found, format, args);
    nt_text_clean(found); /* may contain text of files and other programs */
    if (remedy == NULL)
        printf("%-6s %s: %s\n", word, what, found);
    else
        printf("%-6s %s: %s%s %s.\n", word, what, found,
               found[0] != '\0' && found[strlen(found) - 1] == '.' ? "" : ".", remedy);
    fflush(stdout); /* before a call that may block */
}

void nt_check_ok(const char *what, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line("ok", what, format, args, NULL);
    va_end(args);
}

void nt_check_fail(struct nt_check *check, const char *what, const char *remedy, const char *format,
                   ...)
{
    va_list args;
    va_start(args, format);
    print_line("FAIL", what, format, args, remedy);
    va_end(args);
    check->failed++;
}

/* ---- the configuration ---- */

/* Returns false if nothing that depends on the configuration can be checked. */
static bool check_configuration(struct nt_check *check)
{
    struct nt_err err;
    struct stat st;
    if (nt_conffile_read(check->conf_path, !check->conf_is_given, &check->conf, &err) != 0) {
        bool owner = strstr(err.text, "writable by") != NULL;
        nt_check_fail(check, "configuration",
                      owner ? "Run chown root and chmod 644 on that file"
                            : "Correct that file (nettopo.conf(5)). Until then nothing is "
                              "measured, and the other parts cannot be checked",
                      "%s", err.text);
        return false;
    }
    if (stat(check->conf_path, &st) != 0) {
        nt_check_ok("configuration", "no %s, so that the defaults apply", check->conf_path);
    } else if (!check->conf.enabled) {
        nt_check_fail(check, "configuration", "Set enabled = yes to measure jobs",
                      "%s: enabled = no", check->conf_path);
    } else {
        const struct nt_conf *conf = &check->conf;
        nt_check_ok("configuration", "%s, owner %u, mode %04o%s%s%s%s", check->conf_path,
                    (unsigned)st.st_uid, (unsigned)st.st_mode & 07777U,
                    conf->admitted.users[0] != '\0' ? "; only users " : "", conf->admitted.users,
                    conf->admitted.partitions[0] != '\0' ? "; only partitions " : "",
                    conf->admitted.partitions);
    }
    return true;
}

static void check_program(struct nt_check *check, const char *key, const char *path)
{
    struct stat st;
    char what[32];
    snprintf(what, sizeof what, "program %s", key);
    if (stat(path, &st) != 0)
        nt_check_fail(check, what, "Install nettopo, or set its path in nettopo.conf", "%s: %s",
                      path, strerror(errno));
    else if (!S_ISREG(st.st_mode) || access(path, X_OK) != 0)
        nt_check_fail(check, what, "Install nettopo again", "%s is not a program", path);
    else if (st.st_uid != 0 || (st.st_mode & 022) != 0)
        nt_check_fail(check, what, "Run chown root and chmod go-w on that file",
                      "%s can be written by users other than root", path);
    else
        nt_check_ok(what, "%s", path);
}

/* ---- the daemon ---- */

static bool is_slurmd(pid_t pid)
{
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    bool is = fgets(name, sizeof name, file) != NULL && strcmp(name, "slurmd\n") == 0;
    fclose(file);
    return is;
}

/* Returns whether a process is in this process's network namespace: hosts of a test may share one
 * process table. */
static bool is_in_our_network(pid_t pid)
{
    char path[64];
    struct stat theirs, ours;
    snprintf(path, sizeof path, "/proc/%d/ns/net", (int)pid);
    return stat(path, &theirs) == 0 && stat("/proc/self/ns/net", &ours) == 0 &&
           theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev;
}

static pid_t find_slurmd(void)
{
    pid_t found = 0;
    DIR *proc = opendir("/proc");
    for (struct dirent *e; proc != NULL && found == 0 && (e = readdir(proc)) != NULL;) {
        uint64_t pid;
        if (nt_decimal_whole(e->d_name, strlen(e->d_name), INT32_MAX, &pid) == 0 &&
            is_slurmd((pid_t)pid) && is_in_our_network((pid_t)pid))
            found = (pid_t)pid;
    }
    if (proc != NULL)
        closedir(proc);
    return found;
}

/* ---- the command line ---- */

/* Returns 1 to continue, 0 if done, otherwise the exit code. */
static int read_arguments(struct nt_check *check, int argc, char **argv)
{
    for (int k = 1; k < argc; k++) {
        bool conf = strcmp(argv[k], "--conf") == 0, host = strcmp(argv[k], "--host") == 0;
        if (strcmp(argv[k], "--check") == 0)
            continue;
        bool help = strcmp(argv[k], "--help") == 0 || strcmp(argv[k], "-h") == 0;
        if (help || strcmp(argv[k], "--version") == 0 || strcmp(argv[k], "-V") == 0) {
            fputs(help ? HELP : "nettopo-check " NT_VERSION "\n", stdout);
            return 0;
        }
        if ((!conf && !host) || k + 1 == argc) {
            fprintf(stderr, "nettopo-check: %s: %s; see --help\n", argv[k],
                    conf || host ? "missing value" : "unknown argument");
            return NT_ERR_USAGE;
        }
        k++;
        check->conf_path = conf ? argv[k] : check->conf_path;
        check->conf_is_given |= conf;
        check->peer = host ? argv[k] : check->peer;
    }
    return -1;
}

static void check_parts(struct nt_check *check)
{
    check_program(check, "prolog", check->conf.prolog);
    check_program(check, "probe", check->conf.probe);
    check->slurmd = find_slurmd();
    nt_check_slurm(check);
    nt_check_host(check);
    nt_check_network(check);
    nt_check_peer(check);
}

int main(int argc, char **argv)
{
    struct nt_check check = {.conf_path = DEFAULT_CONF};
    int done = read_arguments(&check, argc, argv);
    if (done >= 0)
        return done;
    if (geteuid() != 0) {
        fputs("nettopo-check: run it as root, as slurmd runs the prolog\n", stderr);
        return NT_ERR_SYSTEM;
    }
    signal(SIGPIPE, SIG_IGN);
    if (check_configuration(&check))
        check_parts(&check);
    free(check.slurm_text);
    if (check.failed > 0)
        printf("%u failed\n", check.failed);
    return check.failed > 0 ? NT_ERR_NO : 0;
}
