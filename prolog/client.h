/* SPDX-License-Identifier: Apache-2.0 */
/* The relay's calls to the service (service.h), which runs as root in another process. Each call
 * waits for the answer, as long as munged or the end of a killed process takes.
 * Tests: test_service.c. */
#ifndef NT_CLIENT_H
#define NT_CLIENT_H

#include "service.h"

struct nt_client {
    int fd;                   /* socket to the service; -1: the service is in this process */
    struct nt_service *local; /* borrowed; used only if fd is -1 */
};

/* Creates a NUL-terminated credential for that connection. */
int nt_client_prove(const struct nt_client *client, const struct nt_handshake *handshake,
                    const unsigned char secret[NT_SECRET_BYTES], char credential[NT_CREDENTIAL_MAX],
                    struct nt_err *err);

/* Returns 0 and sets secret only if the credential is valid for that connection. */
int nt_client_check(const struct nt_client *client, const struct nt_handshake *handshake,
                    const char *credential, unsigned char secret[NT_SECRET_BYTES],
                    struct nt_err *err);

/* Starts to look up the addresses of a host. The result of lookup is a struct nt_addresses. */
int nt_client_look_up_addresses(const struct nt_client *client, size_t host,
                                struct nt_lookup *lookup, struct nt_err *err);

/* Starts to ask slurmctld about the job. The result of lookup is a struct nt_job_use. */
int nt_client_look_up_use(const struct nt_client *client, struct nt_lookup *lookup,
                          struct nt_err *err);

/* Returns whether the probe has ended, and sets end and the advice for that end. */
bool nt_client_probe_ended(const struct nt_client *client, char end[NT_PROBE_END_BYTES],
                           enum nt_advice *advice);

/* Kills the probe. */
void nt_client_stop_probe(const struct nt_client *client);

/* Reports the result of the sweep on this host to the service. Called once. */
void nt_client_report_result(const struct nt_client *client, const struct nt_relay_result *result);

#endif
