#include "plan_json.h"

#include <math.h>

#include "strbuf.h"

/* Host names need no escapes: letters, digits, '.', '-' and '_'. */
static void put_pair(struct nt_strbuf *d, const struct nt_plan *plan, size_t i,
                     const char *const *host_name)
{
    nt_strbuf_puts(d, "[\"");
    nt_strbuf_puts(d, host_name[plan->pair[i][0]]);
    nt_strbuf_puts(d, "\",\"");
    nt_strbuf_puts(d, host_name[plan->pair[i][1]]);
    nt_strbuf_puts(d, "\"]");
}

static void put_rounds(struct nt_strbuf *d, const struct nt_plan *plan,
                       const char *const *host_name)
{
    for (size_t i = 0; i < plan->pairs; i++) {
        if (i == 0)
            nt_strbuf_puts(d, "\n    [");
        else
            nt_strbuf_puts(d, plan->round[i] == plan->round[i - 1] ? ", " : "],\n    [");
        put_pair(d, plan, i, host_name);
    }
    nt_strbuf_puts(d, plan->pairs > 0 ? "]\n  " : "");
}

static void put_figure(struct nt_strbuf *d, double value)
{
    if (isfinite(value))
        nt_strbuf_print(d, "%.9g", value);
    else
        nt_strbuf_puts(d, "null");
}

int nt_plan_write(const struct nt_plan *plan, const char *const *host_name, char **text,
                  size_t *bytes, struct nt_err *err)
{
    struct nt_strbuf d = {0};
    nt_strbuf_print(&d, "{\n  \"rank\": %zu,\n  \"pairs\": [", plan->rank);
    for (size_t i = 0; i < plan->pairs; i++) {
        nt_strbuf_puts(&d, i == 0 ? "\n    " : ",\n    ");
        put_pair(&d, plan, i, host_name);
    }
    nt_strbuf_print(&d, "\n  ],\n  \"rounds\": [");
    put_rounds(&d, plan, host_name);
    nt_strbuf_print(&d,
                    "],\n  \"lower_bound\": %zu,\n  \"amplification_rms\": ", plan->lower_bound);
    put_figure(&d, plan->amplification_rms);
    nt_strbuf_puts(&d, ",\n  \"amplification_max\": ");
    put_figure(&d, plan->amplification_max);
    nt_strbuf_puts(&d, "\n}\n");
    return nt_strbuf_finish(&d, text, bytes, err);
}
