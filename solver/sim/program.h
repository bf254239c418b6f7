/* SPDX-License-Identifier: Apache-2.0 */
/* Inside sim/: what each host of a stress kernel does, in order.
 * Tests: test_kernels.c. */
#ifndef NT_PROGRAM_H
#define NT_PROGRAM_H

#include "kernels.h"

/* Operation k of host h: op[first[h] + k] = 2 * message + (1 for a wait). */
struct nt_program {
    size_t hosts, messages, ops;
    struct nt_message *message;
    uint32_t *first; /* hosts + 1 */
    uint32_t *op;
};

int nt_program_create(size_t hosts, const struct nt_workload *workload, struct nt_program *program,
                      struct nt_err *err);
void nt_program_fini(struct nt_program *program);

#endif
