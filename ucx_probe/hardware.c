/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware.h"

#include <dirent.h>
#include <fcntl.h>
#include <hwloc.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

/* ---- counting -------------------------------------------------------------------------------- */

static uint32_t count_objects(hwloc_topology_t topology, hwloc_obj_type_t type)
{
    int n = hwloc_get_nbobjs_by_type(topology, type);
    return n > 0 ? (uint32_t)n : 0;
}

static uint64_t cache_bytes(hwloc_topology_t topology, hwloc_obj_type_t type)
{
    hwloc_obj_t cache = hwloc_get_obj_by_type(topology, type, 0);
    return cache == NULL ? 0 : cache->attr->cache.size;
}

static void read_cpu_model(hwloc_topology_t topology, struct nt_machine *m)
{
    hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
    hwloc_obj_t at = package != NULL ? package : hwloc_get_root_obj(topology);
    const char *model = hwloc_obj_get_info_by_name(at, "CPUModel");
    if (model != NULL)
        snprintf(m->cpu, sizeof m->cpu, "%s", model);
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static bool share_numa(hwloc_obj_t a, hwloc_obj_t b)
{
    return a->nodeset != NULL && b->nodeset != NULL &&
           hwloc_bitmap_intersects(a->nodeset, b->nodeset);
}

static enum nt_between pair_kind(hwloc_topology_t topology, hwloc_obj_t a, hwloc_obj_t b)
{
    hwloc_obj_t common = hwloc_get_common_ancestor_obj(topology, a, b);
    for (hwloc_obj_t at = common; at != NULL; at = at->parent) {
        if (at->type == HWLOC_OBJ_CORE)
            return NT_BETWEEN_CORE;
        if (hwloc_obj_type_is_cache(at->type))
            return NT_BETWEEN_CACHE;
    }
    if (share_numa(a, b))
        return NT_BETWEEN_NUMA;
    for (hwloc_obj_t at = common; at != NULL; at = at->parent)
        if (at->type == HWLOC_OBJ_PACKAGE)
            return NT_BETWEEN_PACKAGE;
    return NT_BETWEEN_MACHINE;
}

/* Chooses the first allowed hardware thread, and for each kind of common part (enum nt_between) the
 * first other thread. */
static void choose_pairs(hwloc_topology_t topology, hwloc_const_bitmap_t allowed,
                         struct nt_core_pair pair[NT_BETWEEN_END])
{
    hwloc_obj_t first = NULL, pu = NULL;
    while ((pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu)) != NULL) {
        if (!hwloc_bitmap_isset(allowed, pu->os_index))
            continue;
        if (first == NULL) {
            first = pu;
            continue;
        }
        struct nt_core_pair *p = &pair[pair_kind(topology, first, pu)];
        if (!p->there)
            *p = (struct nt_core_pair){true, {first->os_index, pu->os_index}};
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool read_topology(hwloc_topology_t topology, struct nt_machine *m,
                          struct nt_core_pair pair[NT_BETWEEN_END])
{
    hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
    if (allowed == NULL || hwloc_get_cpubind(topology, allowed, HWLOC_CPUBIND_THREAD) != 0) {
        hwloc_bitmap_free(allowed);
        return false;
    }
    m->packages = count_objects(topology, HWLOC_OBJ_PACKAGE);
    m->numas = count_objects(topology, HWLOC_OBJ_NUMANODE);
    m->cores = count_objects(topology, HWLOC_OBJ_CORE);
    m->threads = count_objects(topology, HWLOC_OBJ_PU);
    hwloc_bitmap_and(allowed, allowed, hwloc_topology_get_allowed_cpuset(topology));
    m->allowed = (uint32_t)hwloc_bitmap_weight(allowed);
    m->l2_bytes = cache_bytes(topology, HWLOC_OBJ_L2CACHE);
    m->l3_bytes = cache_bytes(topology, HWLOC_OBJ_L3CACHE);
    read_cpu_model(topology, m);
    choose_pairs(topology, allowed, pair);
    hwloc_bitmap_free(allowed);
    return m->threads > 0;
}

bool nt_hardware_detect(const char *const *rail, size_t rails, struct nt_machine *machine,
                        struct nt_core_pair pair[NT_BETWEEN_END])
{
    hwloc_topology_t topology;
    struct nt_machine m = {0};
    struct nt_core_pair pairs[NT_BETWEEN_END] = {{0}};
    if (hwloc_topology_init(&topology) != 0)
        return false;
    /* I/O objects are not searched, which is hwloc's default: the search takes longer than the
     * start of the sweep. Without the x86 component hwloc does not visit each processor to ask for
     * facts that the kernel knows */
    hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    bool good = hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) == 0 &&
                hwloc_topology_load(topology) == 0 && read_topology(topology, &m, pairs);
    hwloc_topology_destroy(topology);
    if (!good)
        return false;
    for (size_t k = 0; k < rails && m.nics < NT_MACHINE_NICS_MAX; k++) {
        struct nt_nic *nic = &m.nic[m.nics++];
        *nic = (struct nt_nic){.numa = -1};
        snprintf(nic->name, sizeof nic->name, "%s", rail[k]);
        nt_hardware_locate_nic("/sys", nic);
    }
    nt_hardware_find_gpus("/sys", NULL, &m);
    *machine = m;
    memcpy(pair, pairs, sizeof pairs);
    return true;
}

/* ---- network devices ---- */
/* Network devices in sysfs. class/net/eth0/device and class/infiniband/mlx5_0/device are links to
 * devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0, the path from the PCI root. */

/* A PCI address such as 0000:3b:00.0. */
static bool is_pci_address(const char *at, size_t bytes)
{
    static const char form[] = "xxxx:xx:xx.x";
    if (bytes != sizeof form - 1)
        return false;
    for (size_t k = 0; k < bytes; k++)
        if (form[k] == 'x' ? strchr("0123456789abcdef", at[k]) == NULL : at[k] != form[k])
            return false;
    return true;
}

/* Extracts the PCI addresses along a path, which may continue below the device (virtio0). False:
 * there are none, or more than fit. */
static bool read_pci_path(const char *path, char pci[NT_MACHINE_PCI_BYTES])
{
    size_t used = 0;
    for (const char *at = path; *at != '\0';) {
        size_t bytes = strcspn(at, "/");
        if (is_pci_address(at, bytes)) {
            if (used + bytes + 2 > NT_MACHINE_PCI_BYTES)
                return false;
            if (used > 0)
                pci[used++] = '/';
            memcpy(pci + used, at, bytes);
            used += bytes;
        }
        at += bytes;
        at += *at == '/';
    }
    pci[used] = '\0';
    return used > 0;
}

static int32_t read_numa_node(const char *device)
{
    char path[PATH_MAX], text[16] = "";
    if (snprintf(path, sizeof path, "%s/numa_node", device) >= (int)sizeof path)
        return -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    long node = n > 0 ? strtol(text, NULL, 10) : -1;
    return node >= 0 && node < 1 << 20 ? (int32_t)node : -1;
}

void nt_hardware_locate_nic(const char *sys, struct nt_nic *nic)
{
    static const char *const classes[] = {"net", "infiniband"};
    size_t bytes = strcspn(nic->name, ":"); /* without the port */
    if (bytes == 0 || memchr(nic->name, '/', bytes) != NULL || nic->name[0] == '.')
        return;
    for (size_t k = 0; k < sizeof classes / sizeof *classes; k++) {
        char link[PATH_MAX], device[PATH_MAX], pci[NT_MACHINE_PCI_BYTES];
        snprintf(link, sizeof link, "%.1000s/class/%s/%.*s/device", sys, classes[k], (int)bytes,
                 nic->name);
        if (realpath(link, device) == NULL || !read_pci_path(device, pci))
            continue;
        memcpy(nic->pci, pci, sizeof pci);
        nic->numa = read_numa_node(device);
        return;
    }
}

/* ---- GPUs ---- */
/* GPUs, and the network devices near them, in hwloc's tree of devices. */

/* Returns whether a PCI device is a GPU: 3D controllers, displays other than VGA (which servers use
 * for their consoles), VGA of the makers of GPUs, and processing accelerators. */
static bool is_gpu(unsigned class_id, unsigned vendor)
{
    enum { VGA = 0x0300, DISPLAY = 0x03, ACCELERATOR = 0x12, NVIDIA = 0x10de, AMD = 0x1002 };
    if (class_id == VGA)
        return vendor == NVIDIA || vendor == AMD;
    return class_id >> 8 == DISPLAY || class_id >> 8 == ACCELERATOR;
}

/* Reads a hexadecimal number such as "0x030200" from a file of the device. */
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

static unsigned parents(hwloc_obj_t at)
{
    unsigned n = 0;
    for (; at->parent != NULL; at = at->parent)
        n++;
    return n;
}

/* Returns the depth of the lowest common ancestor of two devices in hwloc's tree; 0: the machine.
 * The deeper it is, the nearer the devices are: a PCI switch is deeper than the memory node that it
 * belongs to. */
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

/* Finds the object of a network device, "mlx5_0" for "mlx5_0:1". */
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
    /* libraries of GPUs take seconds to start, and the kernel has the required data */
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

/* ---- latency between cores ---- */
/* Latency between cores: two threads write one cache line in turn. A batch is a fraction of the
 * scheduler's time slice, so that in the lowest batches both threads ran at the same time, whatever
 * else uses these cores. */

enum { BATCH = 50, POLLS_PER_CLOCK = 256, LINE_BYTES = 128 };

/* Twice the size of a cache line, because processors often fetch the adjacent line too. */
struct shared_line {
    _Alignas(LINE_BYTES) atomic_uint turn; /* even: the initiator's turn; odd: the responder's */
    _Alignas(LINE_BYTES) double until_s;
    unsigned cpu;
};

static bool pin_to_cpu(unsigned cpu)
{
    size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
    cpu_set_t *set = CPU_ALLOC(cpu + 1);
    if (set == NULL)
        return false;
    CPU_ZERO_S(bytes, set);
    CPU_SET_S(cpu, bytes, set);
    bool kept = pthread_setaffinity_np(pthread_self(), bytes, set) == 0;
    CPU_FREE(set);
    return kept;
}

/* Waits for the turn; false: the time is over. */
static bool wait_for_turn(struct shared_line *line, unsigned turn)
{
    for (unsigned polls = 1;; polls++) {
        if (atomic_load_explicit(&line->turn, memory_order_acquire) == turn)
            return true;
        if (polls % POLLS_PER_CLOCK == 0 && nt_clock_s() > line->until_s)
            return false;
    }
}

static void *responder_main(void *argument)
{
    struct shared_line *line = argument;
    if (!pin_to_cpu(line->cpu))
        return NULL;
    for (unsigned turn = 1; wait_for_turn(line, turn); turn += 2)
        atomic_store_explicit(&line->turn, turn + 1, memory_order_release);
    return NULL;
}

/* Returns the duration of a batch of round trips that starts at turn; 0: the time is over. */
static double time_batch_s(struct shared_line *line, unsigned turn)
{
    double began = nt_clock_s();
    for (unsigned k = 0; k < BATCH; k++, turn += 2) {
        atomic_store_explicit(&line->turn, turn + 1, memory_order_release);
        if (!wait_for_turn(line, turn + 2))
            return 0;
    }
    return nt_clock_s() - began;
}

struct initiator {
    struct shared_line *line;
    unsigned cpu;
    double lowest_s;
};

static void *initiator_main(void *argument)
{
    struct initiator *initiator = argument;
    double took;
    if (!pin_to_cpu(initiator->cpu))
        return NULL;
    for (unsigned turn = 0; nt_clock_s() < initiator->line->until_s; turn += 2 * BATCH) {
        took = time_batch_s(initiator->line, turn);
        if (took > 0 && (initiator->lowest_s == 0 || took < initiator->lowest_s))
            initiator->lowest_s = took;
    }
    return NULL;
}

double nt_hardware_core_latency_us(const struct nt_core_pair *pair, double seconds)
{
    struct shared_line line = {.until_s = nt_clock_s() + seconds, .cpu = pair->cpu[1]};
    struct initiator initiator = {.line = &line, .cpu = pair->cpu[0]};
    pthread_t here, there;
    if (!pair->there || pair->cpu[0] == pair->cpu[1])
        return 0;
    if (pthread_create(&there, NULL, responder_main, &line) != 0)
        return 0;
    if (pthread_create(&here, NULL, initiator_main, &initiator) == 0)
        pthread_join(here, NULL);
    pthread_join(there, NULL);
    return initiator.lowest_s / (2 * BATCH) * 1e6;
}
