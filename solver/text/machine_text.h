/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/* Hardware of a host as one line, which probes send and records keep.
 *
 *     packages=2 numa=2 cores=64 threads=128 allowed=128 l2=1048576 l3=33554432
 *     nic=mlx5_0:1,0000:3a:00.0/0000:3b:00.0,0,rc_mlx5+ud_mlx5 gpu=0000:3c:00.0,0,mlx5_0:1
 *     cpu=AMD EPYC 7763 64-Core Processor
 *
 * The words have this order. l2, l3, nic (at most NT_MACHINE_NICS_MAX; name, path from the PCI
 * root, memory node, transports), gpu (at most NT_MACHINE_GPUS_MAX; address, memory node, nearest
 * nics) and cpu (the rest of the line) may be missing, as may the parts of nic and gpu after the
 * first. Equal machines have equal lines. lines.h is not used, because the words have an order. */
/* clang-format on */
#ifndef NT_MACHINE_TEXT_H
#define NT_MACHINE_TEXT_H

#include "err.h"
#include "machine.h"

enum { NT_MACHINE_TEXT_BYTES = 2048 };

/* Writes the line. Characters other than printable ASCII become '?'; nics and gpus that do not fit
 * are omitted. */
void nt_machine_write(const struct nt_machine *machine, char text[NT_MACHINE_TEXT_BYTES]);

/* Parses the line. The core latencies of *out are zero. NT_ERR_INPUT: the error names the word. */
int nt_machine_parse(const char *text, struct nt_machine *out, struct nt_err *err);

#endif
