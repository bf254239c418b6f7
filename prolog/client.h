/* SPDX-License-Identifier: Apache-2.0 */
/* The relay's calls to its service (service.h), which runs in another process as root. Each waits
 * for its answer, as long as munged or a process that is killed takes.
 * Tests: test_service.c. */
#ifndef NT_CLIENT_H
#define NT_CLIENT_H

#include "service.h"

struct nt_client {
    int fd;                   /* socket to the service; -1: it is in this process */
    struct nt_service *local; /* borrowed; only where fd is -1 */
};

/* Makes a credential for that connection, NUL-terminated. */
int nt_client_prove(const struct nt_client *client, const struct nt_handshake *handshake,
                    const unsigned char secret[NT_SECRET_BYTES], char credential[NT_CREDENTIAL_MAX],
                    struct nt_err *err);

/* 0 only when the credential is of that connection; then its secret. */
int nt_client_check(const struct nt_client *client, const struct nt_handshake *handshake,
                    const char *credential, unsigned char secret[NT_SECRET_BYTES],
                    struct nt_err *err);

/* lookup gives struct nt_addresses of that host. */
int nt_client_look_up_addresses(const struct nt_client *client, size_t host,
                                struct nt_lookup *lookup, struct nt_err *err);

/* lookup gives struct nt_job_use. */
int nt_client_look_up_use(const struct nt_client *client, struct nt_lookup *lookup,
                          struct nt_err *err);

/* Whether the probe has ended; then how, and the advice for that. */
bool nt_client_probe_ended(const struct nt_client *client, char end[NT_PROBE_END_BYTES],
                           enum nt_advice *advice);

/* Ends the probe. */
void nt_client_stop_probe(const struct nt_client *client);

/* The result of the sweep on this host, once. */
void nt_client_settle(const struct nt_client *client, const struct nt_settlement *settlement);

#endif
