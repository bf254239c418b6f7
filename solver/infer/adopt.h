/* SPDX-License-Identifier: Apache-2.0 */
/* A link that the own readings do not show is put into a tree. Private to infer/.
 * Tests: test_infer_sizes.c. */
#ifndef NT_INFER_ADOPT_H
#define NT_INFER_ADOPT_H

#include <stdbool.h>

#include "err.h"
#include "model.h"

/* Parts the hosts inside (model->hosts of them) from all others by a link of probability 0 and
 * without figures, when no link of the tree contradicts it: the switch where both kinds meet is
 * parted in two. *added: it was; *model is then a new canonical one, without figures of the fit. A
 * link that is there already, or a single host, adds nothing. */
int nt_adopt_link(struct nt_model **model, const bool *inside, bool *added, struct nt_err *err);

#endif
