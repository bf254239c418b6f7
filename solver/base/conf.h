/* SPDX-License-Identifier: Apache-2.0 */
/* /etc/nettopo/nettopo.conf: lines "key = value", '#' comments, a default for every key. The plugin
 * and the agent read the file and pass its text. An unknown key or an invalid value is an error
 * that names file and line. No allocation, libc only, so it does not use lines.h. */
#ifndef NT_CONF_H
#define NT_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "log_line.h"
#include "option.h"

/* Time after its budget when the agent has ended, or is killed. */
enum { NT_AGENT_SLACK_MS = 850 };

enum {
    NT_CONF_PATH_BYTES = 256,
    NT_CONF_WORD_BYTES = 256,
    NT_CONF_USER_BYTES = 32,
    NT_CONF_TEXT_MAX = 65536
};

/* What a job may measure if it shares hosts with other jobs. */
enum nt_shared_policy { NT_SHARED_LATENCY = 1, NT_SHARED_FULL, NT_SHARED_OFF };

/* UCX_LOG_LEVEL of the probe, with UCX's names. */
enum nt_ucx_log {
    NT_UCX_LOG_FATAL,
    NT_UCX_LOG_ERROR,
    NT_UCX_LOG_WARN,
    NT_UCX_LOG_DIAG,
    NT_UCX_LOG_INFO,
    NT_UCX_LOG_DEBUG
};

/* The archive of maps. */
struct nt_conf_archive {
    char dir[NT_CONF_PATH_BYTES]; /* archive = (empty: no archive) */
    uint64_t limit_bytes;         /* archive_limit = 1073741824, size of all files */
    uint32_t mode;                /* archive_mode = 0600, mode of each file */
};

/* Log levels and formats. */
struct nt_conf_log {
    enum nt_log_level agent; /* debug = info, level of the agent */
    bool json;               /* log_format = text | json, form of a job's line */
    enum nt_ucx_log ucx;     /* ucx_log = warn */
};

/* Users and partitions whose jobs are measured. */
struct nt_conf_admitted {
    char users[NT_CONF_WORD_BYTES];      /* users = (empty: all): a,b */
    char partitions[NT_CONF_WORD_BYTES]; /* partitions = (empty: all): a,b */
};

struct nt_conf {
    bool enabled;            /* enabled = yes; no: --nettopo only reports that it is disabled */
    bool default_on;         /* default = no */
    enum nt_level level;     /* level = standard, for jobs that name none */
    bool level_auto;         /* level = auto: the probe decides, up to level */
    enum nt_level level_max; /* level_max = full */
    double budget_default_s; /* budget_default = 5 */
    double budget_max_s;     /* budget_max = 7 */
    uint16_t port_first, port_last; /* ports = 24500-24627 */
    bool reserved_ports;            /* reserved_ports = yes: agents connect from ports below 1024 */
    /* interface = (empty: all), device on which leaders listen */
    char interface[NT_CONF_USER_BYTES];
    enum nt_shared_policy shared_hosts; /* shared_hosts = latency | full | off */
    double max_load;                    /* max_load = 1, share of a link that the sweep may use */
    uint32_t inline_limit_bytes;  /* inline_limit = 32768, size of NETTOPO_JSON, at most 122880 */
    uint32_t publish_limit_bytes; /* publish_limit = 4194304, size of all files of one job */
    uint64_t run_dir_limit_bytes; /* run_dir_limit = 67108864, size of all files of all jobs */
    uint32_t block_hosts;         /* block_hosts = 0 (depends on the number of hosts) */
    char run_dir[NT_CONF_PATH_BYTES]; /* run_dir = /run/nettopo */
    char prolog[NT_CONF_PATH_BYTES];  /* prolog = LIBEXECDIR/nettopo/nettopo-prolog */
    char probe[NT_CONF_PATH_BYTES];   /* probe = LIBEXECDIR/nettopo/nettopo-probe */
    /* relay_user = nettopo; nobody if that user does not exist */
    char relay_user[NT_CONF_USER_BYTES];
    char probe_user[NT_CONF_USER_BYTES]; /* probe_user = nettopo-probe; job: the job's user */
    struct nt_conf_archive archive;
    char fleet_store[NT_CONF_PATH_BYTES];  /* fleet_store = (empty: --store is required) */
    char munge_socket[NT_CONF_PATH_BYTES]; /* munge_socket = (empty: munge's default) */
    char prior[NT_CONF_PATH_BYTES];        /* prior = (empty: sweeps have no prior) */
    char net_devices[NT_CONF_WORD_BYTES];  /* net_devices = (empty: UCX chooses) */
    char tls[NT_CONF_WORD_BYTES];          /* tls = ^shm,self */
    struct nt_conf_log log;
    struct nt_conf_admitted admitted;
};

/* Sets the built-in defaults. */
void nt_conf_default(struct nt_conf *conf);

/* Parses text (bytes long, need not be terminated) and sets its keys in conf; other values stay.
 * file is the name in errors. On error, conf is unchanged except default_on, which has the value of
 * the valid lines: a job that would have been measured must report why it is not. */
int nt_conf_parse(const char *file, const char *text, size_t bytes, struct nt_conf *conf,
                  struct nt_err *err);

/* Returns why jobs of that user in that partition are not measured, for the job's reason; NULL:
 * they are. A name that is NULL is unknown and in no list. */
const char *nt_conf_refusal(const struct nt_conf *conf, const char *user, const char *partition);

/* Returns UCX's name of a level. */
const char *nt_ucx_log_name(enum nt_ucx_log level);

#endif
