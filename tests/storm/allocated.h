/* SPDX-License-Identifier: Apache-2.0 */
/* What processes have allocated: process.allocated, process.allocations_left. */
#ifndef NT_STORM_ALLOCATED_H
#define NT_STORM_ALLOCATED_H

#include "world.h"

/* Frees what killed processes had; before the processes are forgotten. */
void allocated_end(void);

#endif
