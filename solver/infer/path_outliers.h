/* SPDX-License-Identifier: Apache-2.0 */
/* Links that are slower than their tier by a tested margin.
 * Tests: test_estimate_routes.c. */
#ifndef NT_PATH_OUTLIERS_H
#define NT_PATH_OUTLIERS_H

#include "err.h"
#include "estimate.h"
#include "robust.h"
#include "routes.h"
#include "unknowns.h"

/* Marks estimate->link[] and fills fit.tested and fit.false_alarm_rate. None is named when no
 * measurement is left over to judge the noise by. */
int nt_path_outliers_mark(const struct nt_routes *routes, const struct nt_unknowns *unknowns,
                          const struct nt_robust *robust, struct nt_estimate *estimate,
                          struct nt_err *err);

#endif
