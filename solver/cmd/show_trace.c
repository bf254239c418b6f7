/* SPDX-License-Identifier: Apache-2.0 */
#include "show.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "samples.h"
#include "text_table.h"

enum { BEGIN, SECONDS, ROUNDS, PAIRS };

static int beside_map(char *path, size_t capacity, struct nt_err *err)
{
    const char *map = nt_file_map_path(NULL, err);
    if (map == NULL)
        return -1;
    if (map == nt_file_inline_map)
        return nt_err_set(err, NT_ERR_INPUT,
                          "the record is beside the map, and NETTOPO_MAP cannot be read here: make "
                          "its directory visible (spank_nettopo(8), CONTAINERS)");
    const char *slash = strrchr(map, '/');
    int dir = slash == NULL ? 0 : (int)(slash + 1 - map);
    int n = snprintf(path, capacity, "%.*ssamples", dir, map);
    if (n < 0 || (size_t)n >= capacity)
        return nt_err_set(err, NT_ERR_USAGE, "NETTOPO_MAP: the path is too long");
    return 0;
}

static void put_seconds(char cell[NT_ROW_CELL_BYTES], double seconds)
{
    if (isfinite(seconds))
        snprintf(cell, NT_ROW_CELL_BYTES, "%.3f", seconds);
}

static struct nt_row *add_trace_row(struct nt_text_table *rows, enum nt_style style,
                                    const char *name, struct nt_err *err)
{
    return nt_text_table_add(rows, style, strdup(""), strdup(name), err);
}

static int add_head(struct nt_text_table *rows, struct nt_err *err)
{
    static const char *const titles[NT_ROW_CELLS] = {"begin s", "seconds", "rounds", "pairs"};
    struct nt_row *row = add_trace_row(rows, NT_STYLE_HEAD, "phase", err);
    if (row == NULL)
        return -1;
    for (size_t k = 0; k < NT_ROW_CELLS; k++)
        snprintf(row->cell[k], sizeof row->cell[k], "%s", titles[k]);
    snprintf(row->note, sizeof row->note, "failed");
    return 0;
}

static void note_failures(const struct nt_samples *s, const struct nt_phase_account *a,
                          struct nt_row *row)
{
    if (a->failed == 0)
        return;
    row->style = NT_STYLE_BAD;
    int n = snprintf(row->note, sizeof row->note, "%zu", a->failed);
    if (a->hosts > 0)
        n += snprintf(row->note + n, sizeof row->note - (size_t)n, ": all of %.48s",
                      s->host_name[a->host]);
    if (a->hosts > 1)
        snprintf(row->note + n, sizeof row->note - (size_t)n, " and %zu more", a->hosts - 1);
}

static int add_phase(const struct nt_samples *s, size_t k, struct nt_text_table *rows,
                     struct nt_err *err)
{
    const struct nt_phase *phase = &s->phase[k];
    struct nt_phase_account account;
    struct nt_row *row = add_trace_row(rows, NT_STYLE_PLAIN, phase->name, err);
    if (row == NULL || nt_samples_account(s, k, &account, err) != 0)
        return -1;
    put_seconds(row->cell[BEGIN], s->phase_begin_s[k]);
    put_seconds(row->cell[SECONDS], phase->seconds);
    snprintf(row->cell[ROUNDS], sizeof row->cell[ROUNDS], "%llu",
             (unsigned long long)phase->rounds);
    if (account.pairs > 0)
        snprintf(row->cell[PAIRS], sizeof row->cell[PAIRS], "%zu", account.pairs);
    note_failures(s, &account, row);
    return 0;
}

/* Before the first phase hosts connect; newer records contain the time. */
static int add_meeting(const struct nt_samples *s, struct nt_text_table *rows, struct nt_err *err)
{
    if (s->phases == 0 || isnan(s->phase_begin_s[0]))
        return 0;
    struct nt_row *row = add_trace_row(rows, NT_STYLE_PLAIN, "meet", err);
    if (row == NULL)
        return -1;
    put_seconds(row->cell[BEGIN], 0);
    put_seconds(row->cell[SECONDS], s->phase_begin_s[0]);
    return 0;
}

static void put_end(struct nt_strbuf *d, const struct nt_samples *s)
{
    nt_strbuf_print(d, "\n%s after %.3f s", nt_status_name(s->status), s->seconds);
    if (s->budget_s > 0)
        nt_strbuf_print(d, " of %.3f", s->budget_s);
    nt_strbuf_print(d, ", %zu hosts\n", s->hosts);
    for (size_t k = 0; k < s->hosts; k++) {
        if (s->missing[k] == NULL)
            continue;
        nt_strbuf_print(d, "missing  %s: ", s->host_name[k]);
        nt_strbuf_put_line(d, s->missing[k]);
        nt_strbuf_puts(d, "\n");
    }
    for (size_t k = 0; k < s->warnings; k++) {
        nt_strbuf_puts(d, "warning  ");
        nt_strbuf_put_line(d, s->warning[k]);
        nt_strbuf_puts(d, "\n");
    }
}

int nt_show_trace(const char *path, const struct nt_terminal *terminal, struct nt_strbuf *buf,
                  struct nt_err *err)
{
    char beside[4096];
    struct nt_samples *s;
    struct nt_text_table rows = {0};
    if (path == NULL && beside_map(beside, sizeof beside, err) != 0)
        return -1;
    if (nt_file_read_samples(path != NULL ? path : beside, &s, err) != 0)
        return -1;
    int rc = add_head(&rows, err);
    if (rc == 0)
        rc = add_meeting(s, &rows, err);
    for (size_t k = 0; k < s->phases && rc == 0; k++)
        rc = add_phase(s, k, &rows, err);
    if (rc == 0) {
        nt_text_table_put(&rows, terminal, buf);
        put_end(buf, s);
    }
    nt_text_table_fini(&rows);
    nt_samples_destroy(s);
    return rc;
}
