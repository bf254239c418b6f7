/* SPDX-License-Identifier: Apache-2.0 */
/* The offsets of jobs by the classes of latencies: of jobs that share few pairs with others, the
 * shift with which their latencies lie nearest to the classes. A job that shows one class alone
 * keeps what its pairs said, or nothing.
 * Tests: test_cluster_map.c. */
#ifndef NT_CLASS_ALIGN_H
#define NT_CLASS_ALIGN_H

#include "class_fit.h"
#include "err.h"
#include "evidence.h"

/* After nt_evidence_align: changes ln of entries and offsets of jobs. */
int nt_class_align(struct nt_evidence *evidence, const struct nt_classes *classes,
                   struct nt_err *err);

#endif
