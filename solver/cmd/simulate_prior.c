/* SPDX-License-Identifier: Apache-2.0 */
#include "simulate_prior.h"

#include <stdlib.h>

#include "files.h"
#include "prior.h"

int nt_simulate_prior_read(const char *path, const char *const *host_name, size_t hosts,
                           struct nt_belief **out, struct nt_err *err)
{
    char *text;
    size_t bytes;
    struct nt_prior *prior;
    if (nt_file_read(path, NT_PRIOR_BYTES_MAX, &text, &bytes, err) != 0)
        return -1;
    int rc = nt_prior_parse(nt_file_name(path), text, bytes, &prior, err);
    free(text);
    if (rc != 0)
        return -1;
    rc = nt_prior_believe(prior, host_name, hosts, out, NULL, err);
    nt_prior_destroy(prior);
    return rc;
}
