#include "hint_json.h"

#include <math.h>

#include "strbuf.h"

static void put_metrics(struct nt_strbuf *d, const char *name, const double metrics[3])
{
    nt_strbuf_print(d,
                    "  \"%s\": {\"latency\": %.6g, \"hop_bytes\": %.6g, \"max_link_load\": %.6g}",
                    name, metrics[0], metrics[1], metrics[2]);
}

/* A pattern is checked for control characters and quotes before it comes here; a path in it may
 * still hold a backslash. */
static void put_pattern(struct nt_strbuf *d, const char *pattern)
{
    nt_strbuf_puts(d, "  \"pattern\": \"");
    for (; *pattern != '\0'; pattern++) {
        if (*pattern == '"' || *pattern == '\\')
            nt_strbuf_puts(d, "\\");
        nt_strbuf_put(d, pattern, 1);
    }
    nt_strbuf_puts(d, "\",\n");
}

int nt_hint_write_json(const struct nt_hint_words *w, char **text, size_t *bytes,
                       struct nt_err *err)
{
    struct nt_strbuf d = {0};
    nt_strbuf_puts(&d, "{\n");
    put_pattern(&d, w->pattern);
    nt_strbuf_print(&d, "  \"ntasks\": %zu,\n  \"ranks\": [", w->ntasks);
    for (size_t r = 0; r < w->ntasks; r++)
        nt_strbuf_print(&d, "%s\"%s\"", r == 0 ? "" : ", ", w->host_name[w->rank_host[r]]);
    nt_strbuf_print(&d, "],\n  \"cost\": %.6g,\n  \"cost_default\": %.6g,\n  \"gain\": %.6g,\n",
                    w->cost, w->cost_default, w->gain);
    if (isfinite(w->lower_bound))
        nt_strbuf_print(&d, "  \"lower_bound\": %.6g,\n", w->lower_bound);
    put_metrics(&d, "metrics", w->metrics);
    nt_strbuf_puts(&d, ",\n");
    put_metrics(&d, "metrics_default", w->metrics_default);
    nt_strbuf_puts(&d, "\n}\n");
    return nt_strbuf_finish(&d, text, bytes, err);
}
