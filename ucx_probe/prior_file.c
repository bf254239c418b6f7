/* SPDX-License-Identifier: Apache-2.0 */
#include "prior_file.h"

#include <stdlib.h>

#include "file_within.h"

static int read_belief(const char *path, int fd, double wait_s, const struct nt_samples *samples,
                       struct nt_belief **out, struct nt_prior_facts *facts, struct nt_err *why)
{
    const struct nt_file_within file = {
        .path = path, .fd = fd, .bytes_max = NT_PRIOR_BYTES_MAX, .wait_s = wait_s, .trusted = true};
    char *text = NULL;
    size_t bytes = 0;
    struct nt_prior *prior;
    if (nt_file_within_read(&file, &text, &bytes, why) != 0)
        return -1;
    int rc = nt_prior_parse(nt_file_within_name(path), text, bytes, &prior, why);
    free(text);
    if (rc != 0)
        return -1;
    rc = nt_prior_believe(prior, (const char *const *)samples->host_name, samples->hosts, out,
                          facts, why);
    nt_prior_destroy(prior);
    return rc;
}

int nt_prior_file_record(const char *path, int fd, double wait_s, struct nt_samples *samples,
                         struct nt_belief **out, struct nt_prior_facts *facts, struct nt_err *err)
{
    struct nt_err why = {0};
    struct nt_belief *belief = NULL;
    *out = NULL;
    *facts = (struct nt_prior_facts){.oldest_day = INT32_MAX, .least_support = 1};
    if (path == NULL || path[0] == '\0')
        return 0;
    if (read_belief(path, fd, wait_s, samples, &belief, facts, &why) != 0)
        return nt_samples_warn(samples, err, "prior: %s; measured without it", why.text);
    if (belief->levels > 0 && nt_samples_set_belief(samples, belief, err) != 0) {
        nt_belief_destroy(belief);
        return -1;
    }
    if (belief->levels > 0)
        *out = belief;
    else
        nt_belief_destroy(belief);
    return 0;
}
