/* SPDX-License-Identifier: Apache-2.0 */
/* /etc/nettopo/nettopo.conf: "key = value" lines, '#' comments, every key with a default.
 *
 * The plugin and the agent read the file and pass its text; an unknown key or a bad value is an
 * error that names file and line. No allocation, libc only, hence lines of its own, not lines.h. */
#ifndef NT_CONF_H
#define NT_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "log_line.h"
#include "option.h"

/* How long after its budget the agent has ended, or is ended. */
enum { NT_AGENT_SLACK_MS = 850 };

enum {
    NT_CONF_PATH_BYTES = 256,
    NT_CONF_WORD_BYTES = 256,
    NT_CONF_USER_BYTES = 32,
    NT_CONF_TEXT_MAX = 65536
};

/* What a job may measure when it shares hosts with other jobs. */
enum nt_shared_policy { NT_SHARED_LATENCY = 1, NT_SHARED_FULL, NT_SHARED_OFF };

/* UCX_LOG_LEVEL of the probe, by UCX's names. */
enum nt_ucx_log {
    NT_UCX_LOG_FATAL,
    NT_UCX_LOG_ERROR,
    NT_UCX_LOG_WARN,
    NT_UCX_LOG_DIAG,
    NT_UCX_LOG_INFO,
    NT_UCX_LOG_DEBUG
};

/* Where maps are kept. */
struct nt_conf_archive {
    char dir[NT_CONF_PATH_BYTES]; /* archive = (empty: maps are not kept) */
    uint64_t limit_bytes;         /* archive_limit = 1073741824, all files in it */
    uint32_t mode;                /* archive_mode = 0600, of a file */
};

/* What is logged. */
struct nt_conf_log {
    enum nt_log_level agent; /* debug = info: by the agent */
    bool json;               /* log_format = text | json: of the line of a job */
    enum nt_ucx_log ucx;     /* ucx_log = warn */
};

/* Whose jobs are measured. */
struct nt_conf_admitted {
    char users[NT_CONF_WORD_BYTES];      /* users = (empty: all): a,b */
    char partitions[NT_CONF_WORD_BYTES]; /* partitions = (empty: all): a,b */
};

struct nt_conf {
    bool enabled;                        /* enabled = yes; no: --nettopo only reports that */
    bool default_on;                     /* default = no */
    enum nt_level level;                 /* level = standard, of jobs that name none */
    bool level_auto;                     /* level = auto: the probe decides, up to level */
    enum nt_level level_max;             /* level_max = full */
    double budget_default_s;             /* budget_default = 5 */
    double budget_max_s;                 /* budget_max = 7 */
    uint16_t port_first, port_last;      /* ports = 24500-24627 */
    bool reserved_ports;                 /* reserved_ports = yes: agents connect from below 1024 */
    char interface[NT_CONF_USER_BYTES];  /* interface = (empty: all), on which leaders listen */
    enum nt_shared_policy shared_hosts;  /* shared_hosts = latency | full | off */
    double max_load;                     /* max_load = 1 (share of a link the sweep may use) */
    uint32_t inline_limit_bytes;         /* inline_limit = 32768 (NETTOPO_JSON), at most 122880 */
    uint32_t publish_limit_bytes;        /* publish_limit = 4194304, all files of one job */
    uint64_t run_dir_limit_bytes;        /* run_dir_limit = 67108864, all files of all jobs */
    uint32_t block_hosts;                /* block_hosts = 0 (by the number of hosts) */
    char run_dir[NT_CONF_PATH_BYTES];    /* run_dir = /run/nettopo */
    char prolog[NT_CONF_PATH_BYTES];     /* prolog = LIBEXECDIR/nettopo/nettopo-prolog */
    char probe[NT_CONF_PATH_BYTES];      /* probe = LIBEXECDIR/nettopo/nettopo-probe */
    char relay_user[NT_CONF_USER_BYTES]; /* relay_user = nettopo; nobody where there is none */
    char probe_user[NT_CONF_USER_BYTES]; /* probe_user = nettopo-probe, or job: the job's user */
    struct nt_conf_archive archive;
    char fleet_store[NT_CONF_PATH_BYTES];  /* fleet_store = (empty: --store says) */
    char munge_socket[NT_CONF_PATH_BYTES]; /* munge_socket = (empty: munge's default) */
    char prior[NT_CONF_PATH_BYTES];        /* prior = (empty: each sweep starts from nothing) */
    char net_devices[NT_CONF_WORD_BYTES];  /* net_devices = (empty: UCX chooses) */
    char tls[NT_CONF_WORD_BYTES];          /* tls = ^shm,self */
    struct nt_conf_log log;
    struct nt_conf_admitted admitted;
};

/* The built-in defaults. */
void nt_conf_default(struct nt_conf *conf);

/* Reads text (bytes long, need not be terminated) and sets its keys in conf, whose other values
 * stay. file is its name in errors. On error conf is unchanged but for default_on, which is what
 * the lines that are right say: a job that would have been measured is to learn why it is not. */
int nt_conf_parse(const char *file, const char *text, size_t bytes, struct nt_conf *conf,
                  struct nt_err *err);

/* Why jobs of that user in that partition are not measured, as the reason that they get; NULL: they
 * are. A name that is NULL is not known, which no list has. */
const char *nt_conf_refusal(const struct nt_conf *conf, const char *user, const char *partition);

/* UCX's name of a level. */
const char *nt_ucx_log_name(enum nt_ucx_log level);

#endif
