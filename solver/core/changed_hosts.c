/* SPDX-License-Identifier: Apache-2.0 */
#include "changed_hosts.h"

#include <stdlib.h>

/* Minimum number and share of the pairs that were read several times; fewer can be outliers. */
enum { APART_MIN = 3, SHARE_PER_CENT = 50 };

int nt_changed_hosts_init(struct nt_changed_hosts *c, size_t hosts, struct nt_err *err)
{
    *c = (struct nt_changed_hosts){.hosts = hosts};
    c->read = calloc(2 * hosts + 1, sizeof *c->read);
    if (c->read == NULL)
        return nt_err_memory(err);
    c->apart = c->read + hosts;
    return 0;
}

void nt_changed_hosts_fini(struct nt_changed_hosts *c)
{
    free(c->read);
    *c = (struct nt_changed_hosts){0};
}

void nt_changed_hosts_note(struct nt_changed_hosts *c, uint32_t a, uint32_t b, bool apart)
{
    c->read[a]++;
    c->read[b]++;
    c->apart[a] += apart;
    c->apart[b] += apart;
}

static bool has_changed(const struct nt_changed_hosts *c, uint32_t host)
{
    return c->apart[host] >= APART_MIN &&
           (uint64_t)c->apart[host] * 100 >= (uint64_t)c->read[host] * SHARE_PER_CENT;
}

bool nt_changed_hosts_contain(const struct nt_changed_hosts *c, uint32_t a, uint32_t b)
{
    return has_changed(c, a) || has_changed(c, b);
}
