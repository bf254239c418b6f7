/* SPDX-License-Identifier: Apache-2.0 */
/* Confidence in a tree's shape.
 * Tests: test_small_groups.c. */
#ifndef NT_INFER_CONFIDENCE_H
#define NT_INFER_CONFIDENCE_H

#include "work.h"

/* Chance, 0..1, that the model has exactly the switches and members that the network has. Wants
 * w as it was when the model was made, the probabilities of the model's links, and how much of a
 * pattern it leaves: nt_misfit, or 0. */
double nt_confidence(const struct nt_work *w, const struct nt_model *model, double misfit);

/* Two hosts whose own latency was not measured, since one of them was lost in the sweep, may be
 * behind a switch that nothing else shows. Where their links to their common switch are longer than
 * another host's by more than the resolution that is as likely as not, and the confidence half of
 * what it is. latency: what a tree was inferred from. */
void nt_confidence_hidden_pairs(struct nt_model *model, const struct nt_matrix *latency);

/* More than this is a pattern: of a thousand trees fitted in full hardly one leaves as much. */
#define NT_MISFIT_MAX 1.4

/* Whether what a fit leaves over has a pattern that noise has not: the largest eigenvalue of the
 * residuals (each clipped at 3 sd) against that of noise, which is near 2 sd sqrt(n) (Wigner 1955).
 * misfit: how many times that; 0 under eight hosts. Wants the model's latencies. */
int nt_misfit(const struct nt_work *w, const struct nt_matrix *modelled, double *misfit,
              struct nt_err *err);

#endif
