/* SPDX-License-Identifier: Apache-2.0 */
/* Few hosts: all trees are tried. Private to infer/. */
#ifndef NT_INFER_FEW_HOSTS_H
#define NT_INFER_FEW_HOSTS_H

#include "work.h"

/* The likeliest of all trees of 3 to 8 hosts, by index of the input (hosts of them), with the
 * probability of each link between switches and the confidence as posterior probabilities; its
 * latencies are not fitted yet. *out: NULL where there are more hosts, or too few readings.
 * Estimates the noise of w. */
int nt_few_hosts(struct nt_work *w, size_t hosts, struct nt_model **out, struct nt_err *err);

#endif
