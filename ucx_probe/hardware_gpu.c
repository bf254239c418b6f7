/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs, and the network devices near to them, by hwloc's tree of devices. */
#include <dirent.h>
#include <fcntl.h>
#include <hwloc.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hardware.h"

/* ---- whether there are any ---- */

/* PCI's classes: 3D controllers and other displays but VGA, which servers have for their consoles,
 * and VGA of the makers of GPUs; processing accelerators. */
static bool is_gpu(unsigned class_id, unsigned vendor)
{
    enum { VGA = 0x0300, DISPLAY = 0x03, ACCELERATOR = 0x12, NVIDIA = 0x10de, AMD = 0x1002 };
    if (class_id == VGA)
        return vendor == NVIDIA || vendor == AMD;
    return class_id >> 8 == DISPLAY || class_id >> 8 == ACCELERATOR;
}

/* "0x030200" */
static unsigned read_hex(const char *device, const char *file)
{
    char path[PATH_MAX], text[16] = "";
    if (snprintf(path, sizeof path, "%s/%s", device, file) >= (int)sizeof path)
        return 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    return n > 0 ? (unsigned)strtoul(text, NULL, 16) : 0;
}

static bool has_gpu(const char *sys)
{
    char path[PATH_MAX];
    bool found = false;
    if (snprintf(path, sizeof path, "%.1000s/bus/pci/devices", sys) >= (int)sizeof path)
        return false;
    DIR *devices = opendir(path);
    if (devices == NULL)
        return false;
    for (const struct dirent *d; !found && (d = readdir(devices)) != NULL;) {
        char device[PATH_MAX];
        if (d->d_name[0] == '.' ||
            snprintf(device, sizeof device, "%s/%s", path, d->d_name) >= (int)sizeof device)
            continue;
        found = is_gpu(read_hex(device, "class") >> 8, read_hex(device, "vendor"));
    }
    closedir(devices);
    return found;
}

/* ---- what is near ---- */

static unsigned parents(hwloc_obj_t at)
{
    unsigned n = 0;
    for (; at->parent != NULL; at = at->parent)
        n++;
    return n;
}

/* How far from the root two devices part; 0: only the machine is common. The less is behind it, the
 * nearer they are: a PCI switch is deeper than the memory node that it belongs to. */
static unsigned common_depth(hwloc_obj_t a, hwloc_obj_t b)
{
    unsigned x = parents(a), y = parents(b);
    for (; x > y; x--)
        a = a->parent;
    for (; y > x; y--)
        b = b->parent;
    for (; a != b; x--) {
        a = a->parent;
        b = b->parent;
    }
    return x;
}

/* "mlx5_0" of "mlx5_0:1" */
static hwloc_obj_t find_nic(hwloc_topology_t topology, const struct nt_nic *nic)
{
    size_t bytes = strcspn(nic->name, ":");
    hwloc_obj_t at = NULL;
    while ((at = hwloc_get_next_osdev(topology, at)) != NULL)
        if (at->name != NULL && strlen(at->name) == bytes &&
            memcmp(at->name, nic->name, bytes) == 0)
            return at->parent;
    return NULL;
}

static int32_t numa_node(hwloc_topology_t topology, hwloc_obj_t device)
{
    hwloc_obj_t at = hwloc_get_non_io_ancestor_obj(topology, device);
    if (at == NULL || at->nodeset == NULL || hwloc_bitmap_weight(at->nodeset) != 1)
        return -1;
    return hwloc_bitmap_first(at->nodeset);
}

static void put_nearest(const hwloc_obj_t nic[NT_MACHINE_NICS_MAX], const struct nt_machine *m,
                        hwloc_obj_t device, struct nt_gpu *gpu)
{
    unsigned depth[NT_MACHINE_NICS_MAX] = {0}, deepest = 0;
    for (size_t k = 0; k < m->nics; k++) {
        depth[k] = nic[k] == NULL ? 0 : common_depth(nic[k], device);
        deepest = depth[k] > deepest ? depth[k] : deepest;
    }
    for (size_t k = 0; k < m->nics; k++) {
        size_t used = strlen(gpu->nics);
        if (nic[k] == NULL || depth[k] != deepest ||
            used + strlen(m->nic[k].name) + 2 > sizeof gpu->nics)
            continue;
        snprintf(gpu->nics + used, sizeof gpu->nics - used, "%s%s", used > 0 ? "," : "",
                 m->nic[k].name);
    }
}

static void read_gpus(hwloc_topology_t topology, struct nt_machine *m)
{
    hwloc_obj_t nic[NT_MACHINE_NICS_MAX] = {NULL}, at = NULL;
    for (size_t k = 0; k < m->nics; k++)
        nic[k] = find_nic(topology, &m->nic[k]);
    while ((at = hwloc_get_next_pcidev(topology, at)) != NULL && m->gpus < NT_MACHINE_GPUS_MAX) {
        const struct hwloc_pcidev_attr_s *pci = &at->attr->pcidev;
        if (!is_gpu(pci->class_id, pci->vendor_id))
            continue;
        struct nt_gpu *gpu = &m->gpu[m->gpus++];
        *gpu = (struct nt_gpu){.numa = numa_node(topology, at)};
        snprintf(gpu->pci, sizeof gpu->pci, "%04x:%02x:%02x.%01x", pci->domain & 0xffff, pci->bus,
                 pci->dev, pci->func & 0xf);
        put_nearest(nic, m, at, gpu);
    }
}

void nt_hardware_find_gpus(const char *sys, const char *xml, struct nt_machine *machine)
{
    /* libraries of GPUs take seconds to start; the kernel knows what is asked here */
    static const char *const slow[] = {"x86", "cuda", "nvml", "rsmi", "levelzero", "opencl", "gl"};
    hwloc_topology_t topology;
    machine->gpus = 0;
    if ((xml == NULL && !has_gpu(sys)) || hwloc_topology_init(&topology) != 0)
        return;
    for (size_t k = 0; k < sizeof slow / sizeof *slow; k++)
        hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, slow[k]);
    if ((xml == NULL || hwloc_topology_set_xml(topology, xml) == 0) &&
        hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) == 0 &&
        hwloc_topology_load(topology) == 0)
        read_gpus(topology, machine);
    hwloc_topology_destroy(topology);
}
