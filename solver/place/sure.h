/* The tree of a map as far as a placement may rely on it. */
#ifndef NT_SURE_H
#define NT_SURE_H

#include "err.h"
#include "model.h"

/* *out: the model without its switches of a support below NT_SUPPORT_ACTED; what hung on one hangs
 * on the next sure switch above, by a link with the latency of the whole way and its smallest
 * bandwidth. So the way to all others stays as long as it was, and two that were together are as
 * far from each other as from anybody: nothing is gained by seating tasks in a group that may not
 * be there. Vertices keep their numbers; a switch that went has no link. NULL when every switch is
 * sure, or none states a support. */
int nt_sure_create(const struct nt_model *model, struct nt_model **out, struct nt_err *err);

#endif
