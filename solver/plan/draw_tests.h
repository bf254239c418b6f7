/* Whom to measure so that it shows whether a network was found right: rounds for verify.h. */
#ifndef NT_DRAW_TESTS_H
#define NT_DRAW_TESTS_H

#include <stdbool.h>
#include <stddef.h>

#include "draw.h"
#include "err.h"
#include "rng.h"
#include "verify.h"

/* A round that tests more: the suspects first. The draw's count is 0 when there is nothing to do.
 */
int nt_draw_tests(const struct nt_found_tree *claim, const struct nt_finding *finding,
                  struct nt_rng *rng, struct nt_draw *draw, struct nt_err *err);

/* Adds neighbours to an empty draw. */
void nt_draw_any(size_t seats, const bool *lost, struct nt_draw *draw);

#endif
