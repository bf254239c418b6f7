/* SPDX-License-Identifier: Apache-2.0 */
/* What rank 0 measures: the level that the job asked for or, where nettopo.conf leaves it to what
 * earlier jobs said of the hosts, what level_auto.h makes of that; noted in the record.
 * Tests: test_level_auto.c, test_prior_record.c. */
#ifndef NT_LEVEL_CHOICE_H
#define NT_LEVEL_CHOICE_H

#include <stdbool.h>

#include "belief.h"
#include "err.h"
#include "membership.h"
#include "prior_file.h"
#include "probe_job.h"
#include "samples.h"

struct nt_level_choice {
    enum nt_level level; /* that is measured */
    bool taken;          /* nothing is measured: the network is the belief */
};

/* belief: NULL when there is none; facts: of it. samples has the record's beginning. */
int nt_level_choose(const struct nt_probe_job *job, const struct nt_membership *membership,
                    const struct nt_belief *belief, const struct nt_prior_facts *facts,
                    struct nt_samples *samples, struct nt_level_choice *out, struct nt_err *err);

#endif
