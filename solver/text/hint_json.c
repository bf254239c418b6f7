/* SPDX-License-Identifier: Apache-2.0 */
#include "hint_json.h"

#include <math.h>

#include "json_write.h"

/* Writes a value; nothing without a determined network. */
static void put_known(struct nt_json_writer *w, const char *name, double value)
{
    if (isfinite(value))
        nt_json_put_figure(w, name, value, 6);
}

static void put_metrics(struct nt_json_writer *w, const char *name, const double metrics[3])
{
    if (!isfinite(metrics[0]))
        return;
    nt_json_begin(w, name, '{', false);
    nt_json_put_figure(w, "latency", metrics[0], 6);
    nt_json_put_figure(w, "hop_bytes", metrics[1], 6);
    nt_json_put_figure(w, "max_link_load", metrics[2], 6);
    nt_json_end(w, '}');
}

/* Writes the settings for UCX, by UCX's names. */
static void put_rails(struct nt_json_writer *w, const struct nt_hint_words *hint)
{
    if (hint->devices == NULL || hint->devices[0] == '\0')
        return;
    nt_json_begin(w, "rails", '{', false);
    nt_json_put_text(w, "UCX_NET_DEVICES", hint->devices);
    if (hint->rails > 1) {
        nt_json_put_whole(w, "UCX_MAX_RNDV_RAILS", hint->rails);
        nt_json_put_whole(w, "UCX_MAX_EAGER_RAILS", 1);
    }
    nt_json_end(w, '}');
}

int nt_hint_write_json(const struct nt_hint_words *hint, char **text, size_t *bytes,
                       struct nt_err *err)
{
    struct nt_json_writer w = {0};
    nt_json_begin(&w, NULL, '{', true);
    nt_json_put_text(&w, "pattern", hint->pattern);
    nt_json_put_whole(&w, "ntasks", hint->ntasks);
    nt_json_begin(&w, "ranks", '[', false);
    for (size_t r = 0; r < hint->ntasks; r++)
        nt_json_put_text(&w, NULL, hint->host_name[hint->rank_host[r]]);
    nt_json_end(&w, ']');
    if (hint->spares > 0) {
        nt_json_begin(&w, "spares", '[', false);
        for (size_t k = 0; k < hint->spares; k++)
            nt_json_put_text(&w, NULL, hint->host_name[hint->spare[k]]);
        nt_json_end(&w, ']');
    }
    put_known(&w, "message_bytes", hint->message_bytes);
    put_known(&w, "predicted_us", hint->cost);
    put_known(&w, "predicted_default_us", hint->cost_default);
    put_known(&w, "cost", hint->cost);
    put_known(&w, "cost_default", hint->cost_default);
    nt_json_put_figure(&w, "gain", hint->gain, 6);
    if (hint->first_percent > 0)
        nt_json_put_figure(&w, "first_host_percent", hint->first_percent, 3);
    put_known(&w, "lower_bound", hint->lower_bound);
    put_metrics(&w, "metrics", hint->metrics);
    put_metrics(&w, "metrics_default", hint->metrics_default);
    put_rails(&w, hint);
    nt_json_end(&w, '}');
    nt_strbuf_puts(&w.buf, "\n");
    return nt_strbuf_finish(&w.buf, text, bytes, err);
}
