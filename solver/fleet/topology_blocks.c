/* SPDX-License-Identifier: Apache-2.0 */
#include "topology_blocks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { NONE = UINT32_MAX };

static int name_switch(struct nt_map *map, size_t at, const char *name, struct nt_err *err)
{
    char *copy = strdup(name);
    if (copy == NULL)
        return nt_err_memory(err);
    free(map->switch_name[at]);
    map->switch_name[at] = copy;
    return 0;
}

/* on[host]: its switch, or NONE; block[switch]: its number, or NONE. */
static size_t number_blocks(const struct nt_model *m, uint32_t *on, uint32_t *block, size_t *links)
{
    size_t blocks = 0;
    memset(on, 0xff, (m->hosts + 1) * sizeof *on);
    memset(block, 0xff, (m->switches + 1) * sizeof *block);
    for (size_t k = 0; k < m->links; k++) {
        uint32_t a = m->link[k].a, b = m->link[k].b;
        uint32_t host = a < b ? a : b, sw = a < b ? b : a;
        if (host >= m->hosts || sw < m->hosts || on[host] != NONE)
            continue;
        on[host] = sw - (uint32_t)m->hosts;
        block[on[host]] = 0;
        ++*links;
    }
    for (size_t s = 0; s < m->switches; s++)
        if (block[s] != NONE)
            block[s] = (uint32_t)blocks++;
    return blocks;
}

int nt_topology_blocks(const struct nt_map *tree, struct nt_map **out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    const struct nt_model *m = tree->model;
    uint32_t *on = nt_arena_array(&memory, m->hosts + 1, sizeof *on);
    uint32_t *block = nt_arena_array(&memory, m->switches + 1, sizeof *block);
    struct nt_model *flat;
    size_t links = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    size_t blocks = number_blocks(m, on, block, &links);
    if (blocks == 0)
        return nt_err_set(err, NT_ERR_INPUT, "no switch has hosts");
    if (nt_model_create(m->hosts, blocks + 1, links + blocks, &flat, err) != 0)
        return -1;
    uint32_t top = (uint32_t)(m->hosts + blocks);
    struct nt_link *link = flat->link;
    for (uint32_t h = 0; h < m->hosts; h++)
        if (on[h] != NONE) {
            link->a = h;
            link++->b = (uint32_t)m->hosts + block[on[h]];
        }
    for (uint32_t b = 0; b < blocks; b++) {
        link->a = (uint32_t)m->hosts + b;
        link++->b = top;
    }
    flat->tier[blocks] = 2;
    flat->family = NT_FAMILY_TREE;
    if (nt_map_create(flat, (const char *const *)tree->host_name, out, err) != 0) {
        nt_model_destroy(flat);
        return -1;
    }
    int rc = name_switch(*out, blocks, NT_TOPOLOGY_BLOCKS_TOP, err);
    for (size_t s = 0; rc == 0 && s < m->switches; s++)
        if (block[s] != NONE)
            rc = name_switch(*out, block[s], tree->switch_name[s], err);
    if (rc != 0)
        nt_map_destroy(*out);
    return rc;
}
