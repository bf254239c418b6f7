/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a job's sweep on one host.
 * Tests: test_service.c. */
#ifndef NT_OUTCOME_H
#define NT_OUTCOME_H

#include <stdbool.h>

#include "advice.h"
#include "err.h"
#include "job_figures.h"

enum { NT_DONE_BYTES = NT_ERR_TEXT_BYTES + 16 }; /* "partial REASON" */

/* First word ok, partial or failed, then the reason; and the advice that is logged with it. */
struct nt_outcome {
    bool decided;
    char text[NT_DONE_BYTES];
    enum nt_advice advice;
    struct nt_job_figures figures; /* of the first host's probe */
};

#endif
