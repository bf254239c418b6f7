/* SPDX-License-Identifier: Apache-2.0 */
/* The hardware of this host, from hwloc and sysfs, and the latency of a cache line between its
 * cores. Runs in the probe, never in the agent. Only hardware.c uses hwloc. */
#ifndef NT_HARDWARE_H
#define NT_HARDWARE_H

#include <stdbool.h>
#include <stddef.h>

#include "machine.h"

/* Two hardware threads, by the kernel's CPU numbers, for one kind of common part (enum
 * nt_between). */
struct nt_core_pair {
    bool there;
    unsigned cpu[2];
};

/* Detects the hardware. rail: names of the network devices as in the transport. machine describes
 * all processors of the host; its field allowed counts, and pair contains, only those that this
 * process may use. Returns false, without a result, if hwloc fails. */
bool nt_hardware_detect(const char *const *rail, size_t rails, struct nt_machine *machine,
                        struct nt_core_pair pair[NT_BETWEEN_END]);

/* Sets the PCI path and the NUMA node of a network device from sysfs (sys: its mount point).
 * Missing values stay unknown. */
void nt_hardware_locate_nic(const char *sys, struct nt_nic *nic);

/* Finds the GPUs of this host, or of a topology that hwloc exported (xml; NULL: this host), and the
 * network devices of machine that are nearest to each: those with the longest common path from the
 * PCI root, otherwise those at the same memory node. Asks hwloc for devices only if sysfs lists a
 * GPU. */
void nt_hardware_find_gpus(const char *sys, const char *xml, struct nt_machine *machine);

/* Returns the one-way latency between the two hardware threads in us: the lowest of many batches
 * within about the given seconds; 0: not measured. Uses two threads, each pinned to one of them;
 * the calling thread keeps its affinity. */
double nt_hardware_core_latency_us(const struct nt_core_pair *pair, double seconds);

#endif
