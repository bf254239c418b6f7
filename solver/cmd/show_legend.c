/* SPDX-License-Identifier: Apache-2.0 */
#include "show.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "switch_support.h"
#include "text_table.h"

enum { COLUMN = 15 };

/* What of it this map shows. */
struct signs {
    bool latency, host_latency, error, rate, at_least, effective, unsure, suspect, simplex;
};

static struct signs look_for(const struct nt_model *m)
{
    struct signs s = {0};
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        s.latency = s.latency || isfinite(l->latency_us);
        s.host_latency =
            s.host_latency || (isfinite(l->latency_us) && l->a < m->hosts && l->b >= m->hosts);
        s.error = s.error || isfinite(l->latency_se_us);
        s.rate = s.rate || isfinite(l->bandwidth_MBps);
        s.at_least = s.at_least || (l->at_least && isfinite(l->bandwidth_MBps));
        s.effective = s.effective || (l->effective && isfinite(l->bandwidth_MBps));
        s.unsure = s.unsure || l->probability < NT_SUPPORT_SHOWN;
        s.suspect = s.suspect || l->suspect;
        s.simplex = s.simplex || l->simplex;
    }
    return s;
}

static void put_entry(struct nt_strbuf *d, const struct nt_terminal *t, bool shown,
                      const char *sign, const char *words)
{
    struct nt_strbuf line = {0};
    char *text;
    struct nt_err ignored;
    if (!shown)
        return;
    size_t wide = 0;
    for (const char *c = sign; *c != '\0'; c++)
        wide += ((unsigned char)*c & 0xc0) != 0x80;
    nt_strbuf_puts(&line, sign);
    while (wide++ < COLUMN)
        nt_strbuf_puts(&line, " ");
    nt_strbuf_puts(&line, words);
    nt_strbuf_puts(&line, "\n");
    if (nt_strbuf_finish(&line, &text, NULL, &ignored) != 0) {
        d->failed = true;
        return;
    }
    nt_text_put_wrapped(d, text, t->width, COLUMN);
    free(text);
}

static bool any_over(const struct nt_model *m)
{
    for (size_t s = 0; s < m->switches; s++)
        if (m->oversubscription[s] > 1)
            return true;
    return false;
}

void nt_show_legend(struct nt_strbuf *d, const struct nt_map *map, const struct nt_terminal *t)
{
    const struct nt_model *m = map->model;
    struct signs s = look_for(m);
    nt_strbuf_print(d, "\n%s", nt_style_begin(NT_STYLE_FAINT, t));
    put_entry(
        d, t, isfinite(m->confidence), "confidence",
        "probability that the map has every group of hosts that the readings can show, and no "
        "other");
    put_entry(d, t, isfinite(m->resolution_us), "resolution",
              "a link between switches that is shorter than this is not in the map");
    put_entry(d, t, s.latency, "latency us", "one way, of the link towards the top");
    put_entry(d, t, s.host_latency, "",
              "a host's contains what its software and network device need for a message, so it is "
              "more than its cable's");
    put_entry(d, t, s.error, t->unicode ? "\xc2\xb1" : "+-", "standard error of the latency");
    put_entry(d, t, s.rate, "MB/s up, down", "10^6 bytes a second, towards the top and from it");
    put_entry(d, t, s.at_least,
              t->unicode ? "\xe2\x89\xa5" : ">=", "at least: the link was never the bottleneck");
    put_entry(d, t, s.effective, "~", "depends on how flows are routed");
    put_entry(d, t, s.unsure, "sure",
              "of a switch: probability that exactly the hosts below it stand behind one switch");
    put_entry(d, t, any_over(m), "1.5:1",
              "what the hosts below can send, over what the links towards the top carry");
    put_entry(d, t, s.suspect, "SUSPECT", "worse than the other links of its class");
    put_entry(d, t, s.simplex, "one direction", "measured from the host to the switch only");
    put_entry(d, t, isfinite(m->bisection_MBps), "bisection",
              "what one half of the hosts can send to the other at once");
    put_entry(
        d, t, map->placement != NULL, "gain",
        "predicted time of one round of the pattern in the scheduler's order, over that in the "
        "hint's; 1: no change");
    nt_strbuf_puts(d, nt_style_end(t));
}
