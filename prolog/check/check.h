/* SPDX-License-Identifier: Apache-2.0 */
/* nettopo-check: tests the installation on a node and prints one line per part. "nettopo-prolog
 * --check" executes it. It is a separate program so that a job's prolog contains none of it.
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
    bool conf_is_given;    /* given by --conf */
    struct nt_conf conf;
    const char *peer;  /* host to test; NULL: none */
    char devices[400]; /* network devices that sweeps use, separated by commas */
    pid_t slurmd;      /* process id; 0: none runs here */
    const char *slurm_path;
    char *slurm_text; /* text of slurm.conf; owned; NULL: it cannot be read */
    size_t slurm_bytes;
    struct nt_slurm_conf slurm;
    unsigned failed; /* number of lines with FAIL */
};

/* Prints "ok     WHAT: ...". */
void nt_check_ok(const char *what, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints "FAIL   WHAT: FOUND. REMEDY." and counts it. remedy: a sentence without its full stop. */
void nt_check_fail(struct nt_check *check, const char *what, const char *remedy, const char *format,
                   ...) __attribute__((format(printf, 4, 5)));

/* The parts of the test. Each prints its lines. */
void nt_check_slurm(struct nt_check *check); /* slurm.conf, plugstack.conf, the plugin */
void nt_check_host(
    struct nt_check *check); /* MUNGE, ports, directories, limits, the relay's user */
void nt_check_network(
    struct nt_check *check); /* devices, and UCX transports as the probe lists them */
void nt_check_peer(struct nt_check *check); /* ports of another host, and messages to it; call it
                                               after nt_check_network */

#endif
