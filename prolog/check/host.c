/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "auth.h"
#include "check.h"
#include "clock.h"
#include "lookup.h"
#include "ports.h"
#include "publish.h"
#include "sandbox.h"

/* ---- MUNGE ---- */

static const double MUNGE_S = 3; /* a stopped munged never answers */

/* Authenticates as a leader and a member on this host would authenticate each other. */
static int make_round_trip(const void *query, void *bytes)
{
    static const unsigned char nonce[NT_NONCE_BYTES] = {1};
    const struct nt_claim claim = {.direction = NT_TO_LEADER,
                                   .cluster = "check",
                                   .leader = "check",
                                   .member = "check",
                                   .port = 1,
                                   .leader_nonce = nonce,
                                   .member_nonce = nonce};
    unsigned char secret[NT_SECRET_BYTES] = {2};
    char credential[NT_CREDENTIAL_MAX];
    struct nt_err err = {0};
    if (nt_auth_prove(query, &claim, secret, credential, &err) == 0)
        nt_auth_check(query, &claim, credential, secret, &err);
    memcpy(bytes, &err, sizeof err);
    return 0;
}

static void check_munge(struct nt_check *check)
{
    static const char what[] = "munge",
                      advice[] = "Start munged (systemctl start munge) and see its log. If it has "
                                 "another socket, set munge_socket in nettopo.conf";
    static struct nt_lookup lookup;
    struct nt_err err = {.text = "munged does not answer"};
    int got = -1;
    if (nt_lookup_start(&lookup, sizeof err, make_round_trip, check->conf.munge_socket, &err) ==
        0) {
        struct pollfd answer = {.fd = lookup.fd, .events = POLLIN};
        got = poll(&answer, 1, (int)(MUNGE_S * 1e3)) > 0 ? nt_lookup_poll(&lookup) : -1;
        if (got == 1)
            memcpy(&err, lookup.bytes, sizeof err);
        nt_lookup_fini(&lookup);
    }
    if (got != 1 || err.kind != NT_ERR_NONE)
        nt_check_fail(check, what, advice, "%s", err.text);
    else
        nt_check_ok(what, "a credential was created and decoded. To compare the keys of hosts, run "
                          "munge -n | ssh HOST unmunge");
}

/* ---- ports ---- */

static bool port_is_free(uint16_t port, const char *device)
{
    int fd = nt_port_listen(port, device);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* A job tries NT_PORT_TRIES consecutive ports; its number determines the first. */
static void check_ports(struct nt_check *check)
{
    static const char what[] = "ports",
                      advice[] = "End the programs that use them (ss -ltnp), or set another range "
                                 "in ports of nettopo.conf on all hosts";
    const struct nt_conf *conf = &check->conf;
    if (conf->interface[0] != '\0' && if_nametoindex(conf->interface) == 0) {
        nt_check_fail(check, "interface",
                      "Set interface in nettopo.conf to the device of Slurm's network",
                      "%s does not exist on this host", conf->interface);
        return;
    }
    unsigned taken = 0, in_a_row = 0, most = 0, an_example = 0, all = 0;
    for (unsigned port = conf->port_first; port <= conf->port_last; port++, all++) {
        bool is_free = port_is_free((uint16_t)port, conf->interface);
        in_a_row = is_free ? 0 : in_a_row + 1;
        most = in_a_row > most ? in_a_row : most;
        taken += !is_free;
        an_example = is_free ? an_example : port;
    }
    unsigned tries = (unsigned)nt_port_count(conf);
    if (most >= tries)
        nt_check_fail(check, what, advice,
                      "%u of the ports %u-%u are in use, %u in a row, such as %u", taken,
                      conf->port_first, conf->port_last, most, an_example);
    else
        nt_check_ok(
            what,
            "%u of the ports %u-%u are free. To test firewalls between hosts, use --host HOST",
            all - taken, conf->port_first, conf->port_last);
}

/* Without reserved ports any user can connect as an agent does, and take the slots of agents. */
static void check_reserved_ports(struct nt_check *check)
{
    static const char file[] = "/proc/sys/net/ipv4/ip_unprivileged_port_start";
    char line[16];
    unsigned long first = 1024;
    FILE *number = fopen(file, "re");
    if (number != NULL && fgets(line, sizeof line, number) != NULL)
        first = strtoul(line, NULL, 10);
    if (number != NULL)
        fclose(number);
    if (first < 1024 && check->conf.reserved_ports)
        nt_check_fail(check, "reserved_ports",
                      "Set net.ipv4.ip_unprivileged_port_start=1024 (sysctl) on all hosts",
                      "users of this node can open ports from %lu on", first);
}

/* ---- folders and files ---- */

/* Creates a directory there and removes it, as the agent will. */
static int try_making(int at, const char *name)
{
    if (mkdirat(at, name, 0755) != 0)
        return -1;
    unlinkat(at, name, AT_REMOVEDIR);
    return 0;
}

static void check_run_dir(struct nt_check *check)
{
    static const char what[] = "run_dir", inside[] = ".nettopo-check";
    const struct nt_conf *conf = &check->conf;
    struct nt_err err;
    struct stat st;
    int fd = open(conf->run_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && try_making(AT_FDCWD, conf->run_dir) == 0) {
        nt_check_ok(what, "the first job will create %s", conf->run_dir);
    } else if (fd < 0 || fstat(fd, &st) != 0) {
        nt_check_fail(check, what, "It must be a directory, or root must be able to create it",
                      "%s: %s", conf->run_dir, strerror(errno));
    } else if (st.st_uid != 0 || (st.st_mode & 022) != 0) {
        nt_check_fail(check, what, "Run chown root and chmod 755 on that directory",
                      "%s can be written by users other than root", conf->run_dir);
    } else if (nt_space_check_free(fd, conf->publish_limit_bytes, &err) != 0 ||
               nt_space_check_total(fd, conf->run_dir_limit_bytes, &err) != 0) {
        nt_check_fail(check, what,
                      "Free space there, or set run_dir or run_dir_limit in nettopo.conf", "%s: %s",
                      conf->run_dir, err.text);
    } else if (try_making(fd, inside) != 0) {
        nt_check_fail(check, what, "Make it writable for root", "%s: %s", conf->run_dir,
                      strerror(errno));
    } else {
        nt_check_ok(what, "%s: writable by root only, with free space", conf->run_dir);
    }
    if (fd >= 0)
        close(fd);
}

/* Checks the paths in nettopo.conf other than run_dir. A key without a value is not part of the
 * installation. */
static void check_named(struct nt_check *check)
{
    const struct nt_conf *conf = &check->conf;
    const struct {
        const char *key, *path;
        bool is_folder;
        const char *advice;
    } named[] = {
        {"archive", conf->archive.dir, true,
         "Create that directory (owner root, mode 755 or less). Until then no map is archived"},
        {"prior", conf->prior, false,
         "Write it with nettopo fleet prior -o. Until then sweeps start without a prior"},
        {"fleet_store", conf->fleet_store, false, "Create it with nettopo fleet ingest"},
    };
    for (size_t k = 0; k < sizeof named / sizeof *named; k++) {
        struct stat st;
        if (named[k].path[0] == '\0')
            continue;
        if (stat(named[k].path, &st) != 0)
            nt_check_fail(check, named[k].key, named[k].advice, "%s: %s", named[k].path,
                          strerror(errno));
        else if (named[k].is_folder ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode))
            nt_check_fail(check, named[k].key, named[k].advice, "%s is not a %s", named[k].path,
                          named[k].is_folder ? "directory" : "file");
        else if (named[k].is_folder && (st.st_uid != 0 || (st.st_mode & 022) != 0))
            nt_check_fail(check, named[k].key, "Run chown root and chmod 755 on that directory",
                          "%s can be written by users other than root", named[k].path);
        else
            nt_check_ok(named[k].key, "%s", named[k].path);
    }
}

/* ---- limits and users ---- */

static void check_limits(struct nt_check *check)
{
    static const char what[] = "limits";
    enum { OPEN_FILES = 1024, PROCESSES = 256 };
    struct rlimit files, processes;
    const char *whose = check->slurmd > 0 ? "slurmd" : "this shell";
    if (prlimit(check->slurmd, RLIMIT_NOFILE, NULL, &files) != 0 ||
        prlimit(check->slurmd, RLIMIT_NPROC, NULL, &processes) != 0)
        nt_check_fail(check, what, "Check whether root can read them with prlimit on this node",
                      "%s", strerror(errno));
    else if (files.rlim_max < OPEN_FILES || processes.rlim_max < PROCESSES)
        nt_check_fail(check, what,
                      "Raise LimitNOFILE and LimitNPROC of slurmd (systemctl edit slurmd)",
                      "%s is limited to %llu open files and %llu processes", whose,
                      (unsigned long long)files.rlim_max, (unsigned long long)processes.rlim_max);
    else
        nt_check_ok(what, "%s can have %llu open files", whose, (unsigned long long)files.rlim_max);
}

/* Enters the sandbox in a child process, because a process cannot leave it. */
static int enter_sandbox(struct nt_sandbox *sandbox, struct nt_err *err)
{
    int pipe_fd[2], status = 0;
    *err = (struct nt_err){.text = "the test process was killed"};
    if (pipe2(pipe_fd, O_CLOEXEC) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0) {
        struct nt_err why = {0};
        sandbox->fd[sandbox->fds++] = pipe_fd[1];
        int rc = nt_sandbox_enter(sandbox, &why);
        _exit(write(pipe_fd[1], &why, sizeof why) == (ssize_t)sizeof why && rc == 0 ? 0 : 1);
    }
    close(pipe_fd[1]);
    ssize_t n = pid > 0 ? read(pipe_fd[0], err, sizeof *err) : -1;
    close(pipe_fd[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return n == (ssize_t)sizeof *err && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* default_name: the default value, which may be missing. */
static void check_user(struct nt_check *check, const char *what, const char *name,
                       const char *default_name, struct nt_sandbox *sandbox)
{
    nt_sandbox_find_user(name, sandbox);
    const struct passwd *user = getpwnam(name);
    bool is_used = user != NULL && user->pw_uid == sandbox->uid;
    if (user == NULL && strcmp(name, default_name) != 0)
        nt_check_fail(check, what, "Set it to a user of this host",
                      "user %s does not exist, so that nobody is used", name);
    else if (user != NULL && !is_used)
        nt_check_fail(check, what, "Set it to a system user other than root",
                      "%s is root or in root's group", name);
    else
        nt_check_ok(what, "%s, uid %u", is_used ? name : "nobody", (unsigned)sandbox->uid);
}

/* RDMA devices must be accessible to the probe's user, to its first group or to all users. */
static void check_probe_user(struct nt_check *check)
{
    static const char what[] = "probe_user", folder[] = "/dev/infiniband";
    struct nt_sandbox user = {0};
    struct nt_conf defaults;
    struct dirent *entry;
    struct stat st;
    if (strcmp(check->conf.probe_user, "job") == 0) {
        nt_check_ok(what, "the job's user, whose files a compromised probe can read");
        return;
    }
    nt_conf_default(&defaults);
    check_user(check, what, check->conf.probe_user, defaults.probe_user, &user);
    DIR *devices = opendir(folder);
    while (devices != NULL && (entry = readdir(devices)) != NULL) {
        if (strncmp(entry->d_name, "uverbs", 6) != 0 ||
            fstatat(dirfd(devices), entry->d_name, &st, 0) != 0)
            continue;
        mode_t need = st.st_uid == user.uid ? 0600 : st.st_gid == user.gid ? 060 : 06;
        if ((st.st_mode & need) != need)
            nt_check_fail(check, what,
                          "Make the group of that device the primary group of the probe's user "
                          "(usermod -g), or set probe_user = job in nettopo.conf",
                          "uid %u, gid %u cannot open %s/%s", (unsigned)user.uid,
                          (unsigned)user.gid, folder, entry->d_name);
    }
    if (devices != NULL)
        closedir(devices);
}

static void check_relay(struct nt_check *check)
{
    const struct nt_conf *conf = &check->conf;
    struct nt_sandbox sandbox = {.binds_reserved_ports = conf->reserved_ports,
                                 .file_bytes = conf->publish_limit_bytes};
    struct nt_conf defaults;
    struct nt_err err;
    nt_conf_default(&defaults);
    check_user(check, "relay_user", conf->relay_user, defaults.relay_user, &sandbox);
    if (enter_sandbox(&sandbox, &err) != 0)
        nt_check_fail(check, "sandbox",
                      "Check whether a container or a security module on this node prevents root "
                      "from using chroot, setuid or seccomp",
                      "%s", err.text);
    else
        nt_check_ok("sandbox", "the relay's user, root directory and seccomp filter can be set");
}

void nt_check_host(struct nt_check *check)
{
    check_munge(check);
    check_ports(check);
    check_reserved_ports(check);
    check_run_dir(check);
    check_named(check);
    check_limits(check);
    check_relay(check);
    check_probe_user(check);
}
