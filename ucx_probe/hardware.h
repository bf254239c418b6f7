/* SPDX-License-Identifier: Apache-2.0 */
/* The hardware of this host by hwloc and sysfs, and the latency of a cache line between its cores.
 * Runs in the probe, never in the agent. hardware.c is the only file that knows hwloc. */
#ifndef NT_HARDWARE_H
#define NT_HARDWARE_H

#include <stdbool.h>
#include <stddef.h>

#include "machine.h"

/* Two hardware threads of every kind that there is, by the system's numbers. */
struct nt_core_pair {
    bool there;
    unsigned cpu[2];
};

/* rail: the network devices as the transport calls them. Processors are all of the machine;
 * allowed, and the pairs, are those that this process may run on: in a prolog that is confined to
 * some of them, those. False: hwloc cannot say, and nothing is set. */
bool nt_hardware_detect(const char *const *rail, size_t rails, struct nt_machine *machine,
                        struct nt_core_pair pair[NT_BETWEEN_END]);

/* Fills in the PCI path and the NUMA node of a device from /sys; what is not there stays unknown.
 */
void nt_hardware_locate_nic(const char *sys, struct nt_nic *nic);

/* The GPUs of this host, or of a topology that hwloc has written (xml; NULL: this host), and which
 * of the machine's nics are nearest to each: those with which it shares most of the way from the
 * PCI root, or else the memory node. Asks hwloc for devices only where /sys has a GPU. */
void nt_hardware_find_gpus(const char *sys, const char *xml, struct nt_machine *machine);

/* One way in us, the lowest of many batches within about so many seconds; 0: not measured. Two
 * threads, each pinned to one of the two; the calling thread keeps its affinity. */
double nt_hardware_core_latency_us(const struct nt_core_pair *pair, double seconds);

#endif
