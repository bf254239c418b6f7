/* SPDX-License-Identifier: Apache-2.0 */
#include "attachment.h"

#include "memory.h"

void nt_attachment_fini(struct nt_attachment *attachment)
{
    nt_arena_fini(&attachment->memory);
    *attachment = (struct nt_attachment){0};
}

static void attach_host(struct nt_attachment *p, const struct nt_model *m, uint32_t host,
                        uint32_t other)
{
    if (host >= m->hosts || other < m->hosts)
        return;
    p->hosts_on[other - m->hosts]++;
    if (p->links_at[host] == 1)
        p->switch_of[host] = other - (uint32_t)m->hosts;
}

int nt_attachment_init(struct nt_attachment *attachment, const struct nt_model *m,
                       struct nt_err *err)
{
    struct nt_attachment p = {0};
    p.links_at = nt_arena_array(&p.memory, m->hosts + m->switches + 1, sizeof *p.links_at);
    p.switch_of = nt_arena_array(&p.memory, m->hosts + 1, sizeof *p.switch_of);
    p.hosts_on = nt_arena_array(&p.memory, m->switches + 1, sizeof *p.hosts_on);
    if (nt_arena_check(&p.memory, err) != 0) {
        nt_attachment_fini(&p);
        return -1;
    }
    for (size_t k = 0; k < m->hosts; k++)
        p.switch_of[k] = NT_ATTACHMENT_NOWHERE;
    for (size_t k = 0; k < m->links; k++) {
        p.links_at[m->link[k].a]++;
        p.links_at[m->link[k].b]++;
    }
    for (size_t k = 0; k < m->links; k++) {
        attach_host(&p, m, m->link[k].a, m->link[k].b);
        attach_host(&p, m, m->link[k].b, m->link[k].a);
    }
    *attachment = p;
    return 0;
}
