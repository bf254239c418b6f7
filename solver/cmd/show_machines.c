/* SPDX-License-Identifier: Apache-2.0 */
#include "show.h"

#include <math.h>
#include <stdio.h>

#include "faults_text.h"
#include "number.h"

static void put_count(struct nt_strbuf *d, const char *before, uint32_t count, const char *what)
{
    nt_strbuf_print(d, "%s%u %s%s", before, count, what, count == 1 ? "" : "s");
}

static void put_nics(struct nt_strbuf *d, const struct nt_machine *m)
{
    for (size_t k = 0; k < m->nics; k++) {
        nt_strbuf_puts(d, k == 0 ? "\n       network: " : ", ");
        nt_strbuf_put_line(d, m->nic[k].name);
        if (m->nic[k].transports[0] != '\0') {
            nt_strbuf_puts(d, " by ");
            nt_strbuf_put_line(d, m->nic[k].transports);
        }
        if (m->nic[k].numa >= 0)
            nt_strbuf_print(d, " at NUMA node %d", m->nic[k].numa);
        if (m->nic[k].pci[0] != '\0') {
            nt_strbuf_puts(d, " (");
            nt_strbuf_put_line(d, m->nic[k].pci);
            nt_strbuf_puts(d, ")");
        }
    }
}

static void put_gpus(struct nt_strbuf *d, const struct nt_machine *m)
{
    for (size_t k = 0; k < m->gpus; k++) {
        nt_strbuf_puts(d, k == 0 ? "\n       GPUs: " : "; ");
        nt_strbuf_put_line(d, m->gpu[k].pci);
        if (m->gpu[k].numa >= 0)
            nt_strbuf_print(d, " at NUMA node %d", m->gpu[k].numa);
        if (m->gpu[k].nics[0] != '\0') {
            nt_strbuf_puts(d, ", nearest ");
            nt_strbuf_put_line(d, m->gpu[k].nics);
        }
    }
}

static void put_transports(struct nt_strbuf *d, const struct nt_map *map)
{
    const struct nt_sweep *s = &map->sweep;
    if (s->transports == 0)
        return;
    nt_strbuf_puts(d, map->machines == 0 ? "\n" : "");
    for (size_t k = 0; k < s->transports; k++) {
        nt_strbuf_puts(d, k == 0 ? "UCX    used " : "; ");
        nt_strbuf_put_line(d, s->transport[k].used);
        nt_strbuf_print(d, " (%u host%s)", s->transport[k].hosts,
                        s->transport[k].hosts == 1 ? "" : "s");
    }
    nt_strbuf_puts(d, "\n");
}

static void put_core_latencies(struct nt_strbuf *d, const struct nt_machine *m)
{
    static const char *const words[NT_BETWEEN_END] = {[NT_BETWEEN_CORE] = "threads of a core",
                                                      [NT_BETWEEN_CACHE] = "sharing a cache",
                                                      [NT_BETWEEN_NUMA] = "in a NUMA node",
                                                      [NT_BETWEEN_PACKAGE] = "in a package",
                                                      [NT_BETWEEN_MACHINE] = "across packages"};
    bool any = false;
    for (int b = 0; b < NT_BETWEEN_END; b++) {
        const struct nt_core_latency *l = &m->between[b];
        char text[NT_NUMBER_BYTES];
        if (l->hosts == 0 || !isfinite(l->latency_us))
            continue;
        nt_number_plain(l->latency_us, 3, text);
        nt_strbuf_print(d, "%s%s %s us", any ? ", " : "\n       core to core: ", words[b], text);
        any = true;
    }
}

void nt_show_machines(struct nt_strbuf *d, const struct nt_map *map)
{
    nt_strbuf_puts(d, map->populations > 0 ? "\nlinks  " : "");
    nt_populations_put(d, map);
    nt_strbuf_puts(d, map->populations > 0 ? "\n" : "");
    for (size_t k = 0; k < map->machines; k++) {
        const struct nt_machine *m = &map->machine[k];
        nt_strbuf_puts(d, k == 0 ? "\nhosts  " : "       ");
        put_count(d, "", nt_map_machine_hosts(map, k), "host");
        nt_strbuf_print(d, " (m%zu): ", k + 1);
        if (m->cpu[0] != '\0') {
            nt_strbuf_put_line(d, m->cpu);
            nt_strbuf_puts(d, ", ");
        }
        put_count(d, "", m->packages, "package");
        put_count(d, ", ", m->numas, "NUMA node");
        put_count(d, ", ", m->cores, "core");
        put_count(d, ", ", m->threads, "thread");
        if (m->allowed < m->threads)
            nt_strbuf_print(d, " (%u for the sweep)", m->allowed);
        put_nics(d, m);
        put_gpus(d, m);
        put_core_latencies(d, m);
        nt_strbuf_puts(d, "\n");
    }
    put_transports(d, map);
}
