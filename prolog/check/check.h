/* SPDX-License-Identifier: Apache-2.0 */
/* nettopo-check: tests the installation on a node, one line for each part. A program of its own,
 * which "nettopo-prolog --check" becomes: nothing of it is part of what runs in a job's prolog.
 * Tests: bats/check.bats. */
#ifndef NT_CHECK_H
#define NT_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "conf.h"
#include "slurm_conf.h"

struct nt_check {
    const char *conf_path; /* the file that was read */
    bool conf_is_given;    /* by --conf */
    struct nt_conf conf;
    const char *peer;  /* a host that is tried; NULL: none */
    char devices[400]; /* that sweeps use, with commas between */
    pid_t slurmd;      /* 0: none runs here */
    const char *slurm_path;
    char *slurm_text; /* slurm.conf; owned; NULL: it cannot be read */
    size_t slurm_bytes;
    struct nt_slurm_conf slurm;
    unsigned to_do; /* lines that say what to do */
};

/* "ok     WHAT: ..." */
void nt_check_ok(const char *what, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "TO DO  WHAT: FOUND; ADVICE", and counts it. */
void nt_check_to_do(struct nt_check *check, const char *what, const char *advice,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The parts. Each prints its lines. */
void nt_check_slurm(struct nt_check *check);   /* slurm.conf, plugstack.conf, the plugin */
void nt_check_host(struct nt_check *check);    /* MUNGE, ports, folders, limits, the relay's user */
void nt_check_network(struct nt_check *check); /* devices, and UCX transports by asking the probe */
void nt_check_peer(struct nt_check *check);    /* ports of another host, and messages to it; after
                                                  the devices are known */

#endif
