/* SPDX-License-Identifier: Apache-2.0 */
/* What a host is inside, as one line: as probes send it and records keep it.
 *
 *   packages=2 numa=2 cores=64 threads=128 allowed=128 l2=1048576 l3=33554432
 *   nic=mlx5_0:1,0000:3a:00.0/0000:3b:00.0,0,rc_mlx5+ud_mlx5 gpu=0000:3c:00.0,0,mlx5_0:1
 *   cpu=AMD EPYC 7763 64-Core Processor
 *
 * In this order; l2, l3, nic (at most NT_MACHINE_NICS_MAX; name, way from the PCI root, memory
 * node, transports), gpu (NT_MACHINE_GPUS_MAX; address, memory node, nearest nics), the parts of
 * both after the first and cpu (the rest of the line) may be missing. Equal machines have equal
 * lines. One line with an order of words, hence not by lines.h. */
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
