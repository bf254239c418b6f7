/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware.h"

#include <hwloc.h>
#include <stdio.h>
#include <string.h>

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

/* From the first thread that is allowed to the first of each kind. */
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
    /* I/O objects are left out as ever: the search for them takes longer than the sweep's start;
     * and nobody visits each processor to ask it what the kernel knows */
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
