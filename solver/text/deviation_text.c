/* SPDX-License-Identifier: Apache-2.0 */
#include "deviation_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "json_write.h"
#include "number.h"
#include "picture.h"
#include "strbuf.h"

enum { DIGITS = 4, SHOWN_MAX = 20, LISTED_MAX = 1000, BAR = 40 };

static const char *unit_of(const struct nt_deviation_report *r)
{
    return r->first->kind == NT_MATRIX_LATENCY_US ? "us" : "MB/s";
}

/* ---- text ---- */

static void put_number(struct nt_strbuf *d, int width, double value)
{
    char number[NT_NUMBER_BYTES];
    nt_number_plain(value, DIGITS, number);
    nt_strbuf_print(d, "%*s", width, number);
}

static void put_five(struct nt_strbuf *d, const char *name, const double five[NT_DEVIATION_FIVE])
{
    nt_strbuf_print(d, "%-12s", name);
    for (int k = 0; k < NT_DEVIATION_FIVE; k++)
        put_number(d, 11, five[k]);
    nt_strbuf_puts(d, "\n");
}

/* Prints one line per bin; the bars of both are scaled by the largest bin. */
static void put_histogram(struct nt_strbuf *d, const struct nt_deviation *v)
{
    size_t most = 1;
    for (int k = 0; k < NT_DEVIATION_BINS; k++)
        for (int s = 0; s < 2; s++)
            most = v->bin[k][s] > most ? v->bin[k][s] : most;
    nt_strbuf_puts(d, "\n       from         to      first     second\n");
    for (int k = 0; k < NT_DEVIATION_BINS; k++) {
        put_number(d, 11, v->edge[k]);
        put_number(d, 11, v->edge[k + 1]);
        nt_strbuf_print(d, "%11zu%11zu  ", v->bin[k][0], v->bin[k][1]);
        size_t both = v->bin[k][0] < v->bin[k][1] ? v->bin[k][0] : v->bin[k][1];
        size_t longer = v->bin[k][0] + v->bin[k][1] - both;
        for (size_t at = 0; at < BAR * longer / most; at++)
            nt_strbuf_puts(d, at < BAR * both / most ? "=" : both == v->bin[k][1] ? "1" : "2");
        nt_strbuf_puts(d, "\n");
    }
    nt_strbuf_puts(d, "(= both, 1 only the first, 2 only the second)\n");
}

static void put_pairs(struct nt_strbuf *d, const struct nt_deviation_report *r)
{
    const struct nt_deviation *v = r->deviation;
    nt_strbuf_print(d, "\n%zu of %zu pairs differ by more than %g %%\n", v->differing, v->pairs,
                    100 * r->tolerance);
    for (size_t k = 0; k < v->differing && k < SHOWN_MAX; k++) {
        const struct nt_deviating_pair *p = &v->pair[k];
        nt_strbuf_print(d, "%s %s: ", r->host_name[p->a], r->host_name[p->b]);
        put_number(d, 1, (double)p->first);
        nt_strbuf_puts(d, " against ");
        put_number(d, 1, (double)p->second);
        nt_strbuf_print(d, " %s, %+.0f %%\n", unit_of(r),
                        100 * ((double)p->first / (double)p->second - 1));
    }
    if (v->differing > SHOWN_MAX)
        nt_strbuf_print(d, "and %zu more\n", v->differing - SHOWN_MAX);
}

int nt_deviation_text(const struct nt_deviation_report *r, char **text, size_t *bytes,
                      struct nt_err *err)
{
    const struct nt_deviation *v = r->deviation;
    struct nt_strbuf d = {0};
    nt_strbuf_print(&d, "%zu hosts in common, %zu pairs, in %s\nfirst:  ", r->first->n, v->pairs,
                    unit_of(r));
    nt_strbuf_put_line(&d, r->title[0]);
    nt_strbuf_puts(&d, "\nsecond: ");
    nt_strbuf_put_line(&d, r->title[1]);
    if (r->alone[0] + r->alone[1] > 0)
        nt_strbuf_print(&d, "\nhosts of one only: %zu, %zu", r->alone[0], r->alone[1]);
    nt_strbuf_puts(&d, "\n\nfirst - second: MD ");
    put_number(&d, 1, v->mean);
    nt_strbuf_puts(&d, ", MAD ");
    put_number(&d, 1, v->mean_absolute);
    nt_strbuf_puts(&d, ", QMD ");
    put_number(&d, 1, v->quadratic_mean);
    nt_strbuf_puts(&d, ", MAXD ");
    put_number(&d, 1, v->greatest);
    nt_strbuf_print(&d, " (%s %s)\n\n", r->host_name[v->at.a], r->host_name[v->at.b]);
    nt_strbuf_print(&d, "%-12s%11s%11s%11s%11s%11s\n", "", "least", "quartile", "median",
                    "quartile", "greatest");
    put_five(&d, "first", v->first);
    put_five(&d, "second", v->second);
    put_five(&d, "difference", v->difference);
    put_histogram(&d, v);
    put_pairs(&d, r);
    return nt_strbuf_finish(&d, text, bytes, err);
}

/* ---- JSON ---- */

static void put_list(struct nt_json_writer *w, const char *name, const double *value, size_t n)
{
    nt_json_begin(w, name, '[', false);
    for (size_t k = 0; k < n; k++)
        nt_json_put_number(w, NULL, value[k]);
    nt_json_end(w, ']');
}

static void put_json_pair(struct nt_json_writer *w, const struct nt_deviation_report *r,
                          const struct nt_deviating_pair *p)
{
    nt_json_begin(w, NULL, '{', false);
    nt_json_put_text(w, "a", r->host_name[p->a]);
    nt_json_put_text(w, "b", r->host_name[p->b]);
    nt_json_put_number(w, "first", (double)p->first);
    nt_json_put_number(w, "second", (double)p->second);
    nt_json_end(w, '}');
}

static void put_json_histogram(struct nt_json_writer *w, const struct nt_deviation *v)
{
    nt_json_begin(w, "histogram", '[', true);
    for (int k = 0; k < NT_DEVIATION_BINS; k++) {
        nt_json_begin(w, NULL, '{', false);
        nt_json_put_number(w, "from", v->edge[k]);
        nt_json_put_number(w, "to", v->edge[k + 1]);
        nt_json_put_whole(w, "first", v->bin[k][0]);
        nt_json_put_whole(w, "second", v->bin[k][1]);
        nt_json_end(w, '}');
    }
    nt_json_end(w, ']');
}

int nt_deviation_json(const struct nt_deviation_report *r, char **text, size_t *bytes,
                      struct nt_err *err)
{
    const struct nt_deviation *v = r->deviation;
    struct nt_json_writer w = {0};
    nt_json_begin(&w, NULL, '{', true);
    nt_json_put_text(&w, "unit", unit_of(r));
    nt_json_put_whole(&w, "hosts", r->first->n);
    nt_json_put_whole(&w, "pairs", v->pairs);
    nt_json_put_number(&w, "md", v->mean);
    nt_json_put_number(&w, "mad", v->mean_absolute);
    nt_json_put_number(&w, "qmd", v->quadratic_mean);
    nt_json_put_number(&w, "maxd", v->greatest);
    nt_json_begin(&w, "maxd_pair", '[', false);
    nt_json_put_text(&w, NULL, r->host_name[v->at.a]);
    nt_json_put_text(&w, NULL, r->host_name[v->at.b]);
    nt_json_end(&w, ']');
    put_list(&w, "first", v->first, NT_DEVIATION_FIVE);
    put_list(&w, "second", v->second, NT_DEVIATION_FIVE);
    put_list(&w, "difference", v->difference, NT_DEVIATION_FIVE);
    put_json_histogram(&w, v);
    nt_json_put_whole(&w, "differing", v->differing);
    nt_json_begin(&w, "differences", '[', true);
    for (size_t k = 0; k < v->differing && k < LISTED_MAX; k++)
        put_json_pair(&w, r, &v->pair[k]);
    nt_json_end(&w, ']');
    nt_json_end(&w, '}');
    nt_strbuf_puts(&w.buf, "\n");
    return nt_strbuf_finish(&w.buf, text, bytes, err);
}

/* ---- rasters ---- */

enum { CELLS_MAX = 128, PANEL = 384, MARGIN = 24, TOP = 48, NAMED_MAX = 32, NAMES = 110 };
enum { LEVELS = 32 };

struct raster {
    const struct nt_deviation_report *r;
    struct nt_strbuf d;
    size_t cells, block; /* cells a side, hosts a cell */
    double cell, left;   /* pixels of one; where the panel begins */
    double low, high;    /* of both measurements */
    double off;          /* the largest deviation */
};

/* Returns a value from 0 to 1; below 0: not measured. */
static double share_of(const struct raster *t, float value)
{
    double v = (double)value;
    if (isnan(v))
        return -1;
    if (!(t->high > t->low))
        return 0.5;
    return t->r->deviation->factors ? log(v / t->low) / log(t->high / t->low)
                                    : (v - t->low) / (t->high - t->low);
}

/* Returns the value of a pair; if only one direction was measured, it counts for both. */
static float either_way(const struct nt_matrix *m, size_t a, size_t b)
{
    float there = nt_matrix_get(m, a, b);
    return isnan(there) ? nt_matrix_get(m, b, a) : there;
}

/* Returns the relative value of a cell, for a deviation with its sign; NaN: not measured in
 * both. */
static double look_of(const struct raster *t, int panel, size_t a, size_t b)
{
    float x = either_way(t->r->first, a, b), y = either_way(t->r->second, a, b);
    if (a == b)
        return (double)NAN;
    if (panel < 2) {
        double share = share_of(t, panel == 0 ? x : y);
        return share < 0 ? (double)NAN : share;
    }
    return t->off > 0 ? ((double)x - (double)y) / t->off : (double)(x - y);
}

/* Returns the largest value of a block; for deviations the largest absolute value. */
static double look_of_cell(const struct raster *t, int panel, size_t row, size_t column)
{
    double most = (double)NAN;
    size_t n = t->r->first->n;
    for (size_t a = row * t->block; a < n && a < (row + 1) * t->block; a++)
        for (size_t b = column * t->block; b < n && b < (column + 1) * t->block; b++) {
            double look = look_of(t, panel, a, b);
            if (!isnan(look) && (isnan(most) || fabs(look) > fabs(most)))
                most = look;
        }
    return most;
}

/* Returns the level of a cell, which determines its colour; 0: nothing to draw. */
static int level_of(const struct raster *t, int panel, size_t row, size_t column)
{
    double look = look_of_cell(t, panel, row, column);
    if (isnan(look))
        return 0;
    if (panel < 2)
        return 2 + (int)(look * (LEVELS - 2));
    return (int)lround(look * LEVELS);
}

/* Draws a row; adjacent cells with the same level are joined. */
static void put_row(struct raster *t, int panel, size_t row)
{
    for (size_t from = 0, to; from < t->cells; from = to) {
        int level = level_of(t, panel, row, from);
        for (to = from + 1; to < t->cells && level_of(t, panel, row, to) == level;)
            to++;
        if (level == 0)
            continue;
        nt_strbuf_print(&t->d,
                        "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                        "opacity=\"%.2f\"/>\n",
                        panel < 2   ? "value"
                        : level > 0 ? "more"
                                    : "less",
                        t->left + t->cell * (double)from, TOP + t->cell * (double)row,
                        t->cell * (double)(to - from), t->cell, fabs((double)level) / LEVELS);
    }
}

/* Writes a title; the name of a file may contain any bytes. */
static void put_title(struct raster *t, const char *title)
{
    struct nt_strbuf line = {0};
    nt_strbuf_put_line(&line, title);
    nt_strbuf_print(&t->d, "<text x=\"%.1f\" y=\"%d\">", t->left, TOP - 10);
    for (size_t k = 0; k < line.used; k++)
        nt_strbuf_print(&t->d, strchr("<>&\"", line.text[k]) != NULL ? "&#%d;" : "%c",
                        line.text[k]);
    nt_strbuf_puts(&t->d, "</text>\n");
    t->d.failed = t->d.failed || line.failed;
    free(line.text);
}

static void put_names(struct raster *t)
{
    size_t n = t->r->first->n;
    for (size_t k = 0; k < n; k++) {
        size_t row = k / t->block;
        if (n > NAMED_MAX && k != 0 && k + 1 != n)
            continue;
        nt_strbuf_print(
            &t->d, "<text class=\"small\" text-anchor=\"end\" x=\"%d\" y=\"%.1f\">%.20s</text>\n",
            MARGIN + NAMES - 8, TOP + t->cell * ((double)row + 0.5) + 4, t->r->host_name[k]);
    }
}

static void put_key(struct raster *t)
{
    char low[NT_NUMBER_BYTES], high[NT_NUMBER_BYTES], off[NT_NUMBER_BYTES];
    double side = t->cell * (double)t->cells;
    nt_number_plain(t->low, DIGITS, low);
    nt_number_plain(t->high, DIGITS, high);
    nt_number_plain(t->off, DIGITS, off);
    nt_strbuf_print(&t->d,
                    "<text class=\"small\" x=\"%d\" y=\"%.0f\">row to column; from %s (pale) to %s "
                    "%s (dark)%s; empty: not measured</text>\n",
                    MARGIN + NAMES, TOP + side + 20, low, high, unit_of(t->r),
                    t->r->deviation->factors ? ", equal steps are equal factors" : "");
    nt_strbuf_print(&t->d,
                    "<text class=\"small\" x=\"%d\" y=\"%.0f\">difference: red where the first is "
                    "larger, blue where it is smaller, up to %s %s%s</text>\n",
                    MARGIN + NAMES, TOP + side + 38, off, unit_of(t->r),
                    t->block > 1 ? "; a cell is the largest of several hosts" : "");
}

int nt_deviation_svg(const struct nt_deviation_report *r, char **text, size_t *bytes,
                     struct nt_err *err)
{
    const struct nt_deviation *v = r->deviation;
    const char *const title[3] = {r->title[0], r->title[1], "first - second"};
    struct raster t = {
        .r = r, .low = v->edge[0], .high = v->edge[NT_DEVIATION_BINS], .off = fabs(v->greatest)};
    t.block = (r->first->n + CELLS_MAX - 1) / CELLS_MAX;
    t.cells = (r->first->n + t.block - 1) / t.block;
    t.cell = (double)PANEL / (double)t.cells;
    nt_strbuf_print(&t.d,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                    "role=\"img\">\n<title>Two measurements and their difference</title>\n",
                    3 * (PANEL + MARGIN) + MARGIN + NAMES, TOP + PANEL + 54);
    nt_strbuf_puts(&t.d,
                   "<style>\nsvg{" NT_PICTURE_LIGHT "}\n"
                   "@media (prefers-color-scheme:dark){svg{" NT_PICTURE_DARK "}}\n"
                   ".ground{fill:var(--bg)}.value{fill:var(--switch)}.more{fill:var(--strong)}"
                   ".less{fill:var(--host)}\n"
                   "text{fill:var(--fg);font:13px system-ui,\"DejaVu Sans\",sans-serif}"
                   ".small{fill:var(--dim);font-size:11px}\n</style>\n"
                   "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n");
    put_names(&t);
    for (int panel = 0; panel < 3; panel++) {
        t.left = MARGIN + NAMES + panel * (PANEL + MARGIN);
        put_title(&t, title[panel]);
        for (size_t row = 0; row < t.cells; row++)
            put_row(&t, panel, row);
    }
    put_key(&t);
    nt_strbuf_puts(&t.d, "</svg>\n");
    return nt_strbuf_finish(&t.d, text, bytes, err);
}
