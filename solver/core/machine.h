/* SPDX-License-Identifier: Apache-2.0 */
/* Hardware model of a host: processors, memory nodes, caches, network devices, GPUs. A. Bufe
 * (thesis, Hamburg 2014, section 2.7) combines such models with the model of the network. Knows
 * neither the network nor how the model is read.
 * Tests: test_machine_text.c. */
#ifndef NT_MACHINE_H
#define NT_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* What two hardware threads share: the smallest common part. */
enum nt_between {
    NT_BETWEEN_CORE,    /* a core */
    NT_BETWEEN_CACHE,   /* a cache, but no core */
    NT_BETWEEN_NUMA,    /* a memory node */
    NT_BETWEEN_PACKAGE, /* a package */
    NT_BETWEEN_MACHINE, /* only the machine */
    NT_BETWEEN_END,
};

enum {
    NT_MACHINE_NICS_MAX = 8,
    NT_MACHINE_GPUS_MAX = 16,
    NT_MACHINE_CPU_BYTES = 64,
    NT_MACHINE_PCI_BYTES = 128,
    NT_NIC_NAME_BYTES = 32,
    NT_NIC_TRANSPORTS_BYTES = 64,
    NT_GPU_PCI_BYTES = 16,
    NT_GPU_NICS_BYTES = 128,
};

struct nt_nic {
    char name[NT_NIC_NAME_BYTES]; /* the transport's name: "mlx5_0:1", "eth0" */
    /* PCI path from the root, "0000:3a:00.0/0000:3b:00.0"; "": none */
    char pci[NT_MACHINE_PCI_BYTES];
    int32_t numa; /* the nearest memory node; -1: unknown */
    /* Transports that can use it, separated by commas: "rc_mlx5,ud_mlx5" */
    char transports[NT_NIC_TRANSPORTS_BYTES];
};

/* A GPU and the network devices that are nearest to it. */
struct nt_gpu {
    char pci[NT_GPU_PCI_BYTES];   /* its PCI address, "0000:17:00.0" */
    int32_t numa;                 /* -1: unknown */
    char nics[NT_GPU_NICS_BYTES]; /* names of nic, separated by commas; "": unknown */
};

/* Time to transfer a cache line from one core to another, one way, over the hosts of one hardware
 * model. */
struct nt_core_latency {
    uint32_t hosts; /* hosts that measured it; 0: none, the other fields have no meaning */
    double latency_us, low_us, high_us; /* median, minimum, maximum */
};

struct nt_machine {
    char cpu[NT_MACHINE_CPU_BYTES]; /* "": unknown */
    uint32_t packages, numas, cores, threads;
    uint32_t allowed;            /* hardware threads that the measuring process could use */
    uint64_t l2_bytes, l3_bytes; /* of one cache; 0: none */
    size_t nics;
    struct nt_nic nic[NT_MACHINE_NICS_MAX];
    size_t gpus;
    struct nt_gpu gpu[NT_MACHINE_GPUS_MAX];
    struct nt_core_latency between[NT_BETWEEN_END]; /* used in maps only */
};

/* By enum nt_between: "core", "cache", "numa", "package", "machine". */
extern const char *const nt_between_names[NT_BETWEEN_END];

#endif
