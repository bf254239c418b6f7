/* SPDX-License-Identifier: Apache-2.0 */
/* Groups found in matrices that were measured on machines whose groups are known: real or not, and
 * how sure.
 *
 *     build/tests/bench_measured [-v] [FOLDER, default build/measured]
 *
 * The matrices are tests/data/seeds and FOLDER (made by tests/measured), what is known of them
 * tests/data/measured. -v lists each group that is not real, and each that was missed. Then every
 * matrix gives jobs of few hosts, drawn at random. FULL=1 draws ten times as many.
 *
 * A group is shown by the readings when the median latency from it to what is around it is over
 * that between its parts by a twentieth, and by one standard deviation of either (by the median).
 */
#include <dirent.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infer.h"
#include "matrix_csv.h"
#include "rng.h"
#include "rooted_tree.h"
#include "truth.h"

enum { MATRICES_MAX = 64, STATED_MAX = 100000, JOBS = 10 };

static const char truths[] = "tests/data/measured";

static struct nt_err err;

static void must(int status)
{
    if (status != 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(4);
    }
}

/* ---- what is stated ---- */

struct tally {
    size_t jobs, sure, sure_right, right;
    size_t stated, real, not_real, unknown;
    size_t missed, missed_shown, shown;
    size_t fine, zero; /* links between switches below the resolution; links of 0 us */
    double min_latency[2], sum[2];
};

/* Support of every group that is stated and judged, in the first and the second part. */
static struct {
    double support[STATED_MAX];
    bool real[STATED_MAX];
    size_t count;
} all;

static bool verbose;
static const char *judged = ""; /* the matrix */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, size_t n)
{
    qsort(x, n, sizeof *x, by_value);
    return n == 0 ? (double)NAN : n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* The median of |x - its median|, as a standard deviation. */
static double spread(double *x, size_t n)
{
    double middle = median(x, n);
    for (size_t k = 0; k < n; k++)
        x[k] = fabs(x[k] - middle);
    return 1.4826 * median(x, n);
}

static float reading(const struct nt_matrix *m, size_t a, size_t b)
{
    float x = nt_matrix_get(m, a, b);
    return isnan(x) ? nt_matrix_get(m, b, a) : x;
}

static bool same_part(const struct truth *t, const struct truth_set *whole, size_t a, size_t b)
{
    for (size_t g = 0; g < t->groups; g++)
        if (truth_has(&t->below[g], a) && truth_has(&t->below[g], b) &&
            truth_within(&t->below[g], whole) && !truth_same(&t->below[g], whole))
            return true;
    return false;
}

/* Whether the readings show a group that is there. */
static bool is_shown(const struct truth *t, size_t group, const struct nt_matrix *m)
{
    static double in[TRUTH_HOSTS_MAX * TRUTH_HOSTS_MAX], out[TRUTH_HOSTS_MAX * TRUTH_HOSTS_MAX];
    const struct truth_set *s = &t->below[group];
    size_t around = truth_around(t, s), ins = 0, outs = 0;
    for (size_t a = 0; a < t->hosts; a++)
        for (size_t b = 0; b < t->hosts; b++) {
            float x = a == b ? NAN : reading(m, a, b);
            if (isnan(x) || !truth_has(s, a))
                continue;
            if (truth_has(s, b) && a < b && !same_part(t, s, a, b))
                in[ins++] = (double)x;
            if (!truth_has(s, b) && (around == t->groups || truth_has(&t->below[around], b)))
                out[outs++] = (double)x;
        }
    double far = median(out, outs), gap = far - median(in, ins);
    double sd_in = spread(in, ins), sd_out = spread(out, outs);
    return gap >= far / 20 && gap >= sd_in && gap >= sd_out;
}

static void say_group(const char *what, const struct truth_set *s, size_t hosts, double support)
{
    printf("    %s, %s:", judged, what);
    for (size_t h = 0; h < hosts; h++)
        if (truth_has(s, h))
            printf(" %zu", h);
    if (!isnan(support))
        printf(" (%.3f)", support);
    putchar('\n');
}

/* That the hosts below the switch stand behind it. */
static double support_of(const struct nt_model *m, const struct nt_rooted_tree *rooted,
                         size_t vertex)
{
    return m->link[rooted->up[vertex] / 2].probability;
}

/* The groups that the model states, each once with its highest support; how many. */
static size_t stated_groups(const struct nt_model *m, struct truth_set *group, double *support)
{
    struct nt_rooted_tree *rooted;
    size_t count = 0;
    must(nt_rooted_tree_create(m, &rooted, &err));
    for (size_t v = m->hosts; v < rooted->vertices && rooted->tree; v++) {
        if (v == rooted->top || rooted->parent[v] == NT_NO_VERTEX)
            continue;
        struct truth_set s = {{0}};
        for (size_t k = rooted->head[v]; k < rooted->tail[v]; k++)
            truth_add(&s, rooted->host[k]);
        s = truth_side(s, m->hosts);
        if (truth_count(&s) < 2 || m->hosts - truth_count(&s) < 2)
            continue;
        size_t same = 0;
        while (same < count && !truth_same(&group[same], &s))
            same++;
        double p = support_of(m, rooted, v);
        support[same] = same < count && support[same] > p ? support[same] : p;
        group[same] = s;
        count += same == count;
    }
    nt_rooted_tree_destroy(rooted);
    return count;
}

static void count_links(const struct nt_model *m, struct tally *t)
{
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        t->zero += l->latency_us <= 0;
        t->fine += l->a >= m->hosts && l->b >= m->hosts && l->latency_us < m->resolution_us;
    }
}

static void note_group(struct tally *t, bool real, double support)
{
    t->min_latency[real] = fmin(t->min_latency[real], support);
    t->sum[real] += support;
    if (all.count < STATED_MAX) {
        all.support[all.count] = support;
        all.real[all.count++] = real;
    }
}

static void judge(const struct nt_matrix *latency, const struct truth *truth,
                  const struct nt_model *m, struct tally *t)
{
    static struct truth_set group[2 * TRUTH_HOSTS_MAX];
    static double support[2 * TRUTH_HOSTS_MAX];
    size_t count = stated_groups(m, group, support), missed = 0, wrong = 0;
    for (size_t k = 0; k < count; k++) {
        enum truth_verdict verdict = truth_judge(truth, &group[k]);
        t->real += verdict == TRUTH_REAL;
        wrong += verdict == TRUTH_NOT;
        t->unknown += verdict == TRUTH_UNKNOWN;
        if (verdict != TRUTH_UNKNOWN)
            note_group(t, verdict == TRUTH_REAL, support[k]);
        if (verdict == TRUTH_NOT && verbose)
            say_group("not real", &group[k], truth->hosts, support[k]);
    }
    for (size_t g = 0; g < truth->groups; g++) {
        bool found = truth_is_said(truth, g);
        bool shown = !found && is_shown(truth, g, latency);
        t->shown += shown;
        for (size_t k = 0; k < count && !found; k++)
            found = truth_same(&group[k], &truth->group[g]);
        t->missed += !found;
        missed += !found && shown;
        if (!found && verbose)
            say_group(shown ? "missed" : "missed, not shown", &truth->below[g], truth->hosts, NAN);
    }
    t->stated += count;
    t->not_real += wrong;
    t->missed_shown += missed;
    t->right += wrong + missed == 0;
    t->jobs++;
    if (m->confidence >= 0.9) {
        t->sure++;
        t->sure_right += wrong + missed == 0;
    }
    count_links(m, t);
}

static struct tally no_tally(void)
{
    return (struct tally){.min_latency = {INFINITY, INFINITY}};
}

static void add(struct tally *to, const struct tally *t)
{
    size_t *a = &to->jobs;
    const size_t *b = &t->jobs;
    for (size_t k = 0; k < offsetof(struct tally, min_latency) / sizeof *a; k++)
        a[k] += b[k];
    for (size_t k = 0; k < 2; k++) {
        to->min_latency[k] = fmin(to->min_latency[k], t->min_latency[k]);
        to->sum[k] += t->sum[k];
    }
}

/* ---- the matrices ---- */

struct measured {
    char name[64];
    struct nt_named_matrix *table; /* NULL: it is not here */
    struct truth truth;
};

static struct measured matrix[MATRICES_MAX];
static size_t matrices;

static struct nt_named_matrix *load(const char *folder, const char *name)
{
    char path[512], piece[1 << 14];
    struct nt_csv_reader *reader;
    struct nt_named_matrix *table;
    snprintf(path, sizeof path, "%s/%s.csv", folder, name);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return NULL;
    must(nt_csv_reader_create(path, NT_MATRIX_LATENCY_US, &reader, &err));
    for (size_t got; (got = fread(piece, 1, sizeof piece, file)) > 0;)
        must(nt_csv_reader_feed(reader, piece, got, &err));
    fclose(file);
    must(nt_csv_reader_finish(reader, &table, &err));
    nt_csv_reader_destroy(reader);
    return table;
}

/* How many of those that are known of are not here. */
static size_t load_all(const char *folder)
{
    struct dirent **entry;
    size_t absent = 0;
    int count = scandir(truths, &entry, NULL, alphasort);
    if (count < 0) {
        fprintf(stderr, "%s: cannot be read (run from the top of the repository)\n", truths);
        exit(4);
    }
    for (int k = 0; k < count; k++) {
        struct measured *m = &matrix[matrices];
        char path[512], *dot = strstr(entry[k]->d_name, ".truth");
        if (dot == NULL || matrices == MATRICES_MAX)
            continue;
        snprintf(path, sizeof path, "%s/%s", truths, entry[k]->d_name);
        snprintf(m->name, sizeof m->name, "%.*s", (int)(dot - entry[k]->d_name), entry[k]->d_name);
        m->table = load("tests/data/seeds", m->name);
        if (m->table == NULL)
            m->table = load(folder, m->name);
        if (m->table != NULL)
            truth_read(path, m->table->matrix->n, &matrix[matrices++].truth);
        else
            absent++;
        free(entry[k]);
    }
    free(entry);
    return absent;
}

/* ---- the tables ---- */

static void say_support(const struct tally *t, bool real)
{
    size_t count = real ? t->real : t->not_real;
    if (count == 0)
        printf("  %5s %5s", "-", "-");
    else
        printf("  %5.3f %5.3f", t->min_latency[real], t->sum[real] / (double)count);
}

static void say_tally(const struct tally *t)
{
    printf(" %6zu %4zu %4zu %4zu  %6zu %5zu", t->stated, t->real, t->not_real, t->unknown,
           t->missed, t->missed_shown);
    say_support(t, true);
    say_support(t, false);
    printf("  %4zu %4zu\n", t->fine, t->zero);
}

static const char head[] = " stated real  not unkn  missed shown   real: least/mean not: least/mean"
                           "  fine zero\n";

static void whole_matrices(void)
{
    struct tally total = no_tally();
    printf("%-20s %5s %-12s %5s%s", "matrix", "hosts", "family", "conf.", head);
    for (size_t k = 0; k < matrices; k++) {
        const struct nt_matrix *latency = matrix[k].table->matrix;
        struct tally t = no_tally();
        struct nt_model *m;
        must(nt_infer_latency(latency, NULL, 1, &m, &err));
        judged = matrix[k].name;
        judge(latency, &matrix[k].truth, m, &t);
        printf("%-20s %5zu %-12s %5.3f", matrix[k].name, latency->n, nt_family_name(m->family),
               m->confidence);
        say_tally(&t);
        add(&total, &t);
        nt_model_destroy(m);
    }
    printf("%-20s %5zu %-12s %5s", "all", matrices, "", "");
    say_tally(&total);
    printf("%zu of %zu have all groups that the readings show and no other; %zu state 0.9 or more, "
           "%zu of them rightly\n",
           total.right, total.jobs, total.sure, total.sure_right);
}

/* The readings between some of the hosts, drawn at random. */
static struct nt_matrix *draw_job(const struct measured *from, size_t hosts, struct nt_rng *rng,
                                  struct truth *truth)
{
    uint32_t host[TRUTH_HOSTS_MAX];
    struct nt_matrix *m;
    size_t n = from->table->matrix->n;
    for (size_t h = 0; h < n; h++)
        host[h] = (uint32_t)h;
    nt_rng_shuffle(rng, host, n);
    must(nt_matrix_create(hosts, NT_MATRIX_LATENCY_US, &m, &err));
    for (size_t a = 0; a < hosts; a++)
        for (size_t b = 0; b < hosts; b++)
            if (a != b)
                nt_matrix_set(m, a, b, nt_matrix_get(from->table->matrix, host[a], host[b]));
    truth_restrict(&from->truth, host, hosts, truth);
    return m;
}

static void few_hosts(size_t jobs)
{
    static const size_t sizes[] = {4, 5, 6, 8, 12, 16};
    struct nt_rng rng;
    nt_rng_init(&rng, 1);
    printf("%5s %5s %5s %5s %5s %6s%s", "hosts", "jobs", "right", "sure", "right", "shown", head);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct tally total = no_tally();
        for (size_t k = 0; k < matrices * jobs; k++) {
            const struct measured *from = &matrix[k / jobs];
            struct truth truth;
            struct nt_model *m;
            if (from->table->matrix->n <= sizes[s])
                continue;
            struct nt_matrix *latency = draw_job(from, sizes[s], &rng, &truth);
            must(nt_infer_latency(latency, NULL, 1, &m, &err));
            judged = from->name;
            judge(latency, &truth, m, &total);
            nt_model_destroy(m);
            nt_matrix_destroy(latency);
        }
        printf("%5zu %5zu %5zu %5zu %5zu %6zu", sizes[s], total.jobs, total.right, total.sure,
               total.sure_right, total.shown);
        say_tally(&total);
    }
}

/* That a real group has more support than one that is not; ties count half. */
static double area(size_t *reals)
{
    double above = 0, pairs = 0;
    *reals = 0;
    for (size_t a = 0; a < all.count; a++) {
        *reals += all.real[a];
        for (size_t b = 0; b < all.count; b++)
            if (all.real[a] && !all.real[b]) {
                above += all.support[a] > all.support[b]   ? 1
                         : all.support[a] < all.support[b] ? 0
                                                           : 0.5;
                pairs++;
            }
    }
    return pairs > 0 ? above / pairs : (double)NAN;
}

static void say_reliability(void)
{
    static const double edge[] = {0, 0.5, 0.8, 0.9, 0.95, INFINITY};
    size_t reals;
    double under = area(&reals);
    printf("%-12s %6s %8s %6s\n", "support", "groups", "stated", "real");
    for (size_t bin = 0; bin + 1 < sizeof edge / sizeof *edge; bin++) {
        size_t count = 0, real = 0;
        double sum = 0;
        for (size_t k = 0; k < all.count; k++)
            if (all.support[k] >= edge[bin] && all.support[k] < edge[bin + 1]) {
                count++;
                real += all.real[k];
                sum += all.support[k];
            }
        printf("%4.2f to %4.2f %6zu", edge[bin], fmin(edge[bin + 1], 1), count);
        if (count > 0)
            printf(" %8.3f %6.3f", sum / (double)count, (double)real / (double)count);
        putchar('\n');
    }
    printf("%zu groups, %zu real; area under the curve %.3f\n", all.count, reals, under);
    all.count = 0;
}

int main(int argc, char **argv)
{
    for (int option; (option = getopt(argc, argv, "v")) != -1;) {
        if (option != 'v')
            return 2;
        verbose = true;
    }
    const char *folder = optind < argc ? argv[optind] : "build/measured";
    const char *full = getenv("FULL");
    size_t absent = load_all(folder);
    if (absent > 0)
        printf(
            "%zu matrices are not in %s: tests/data/measured/README.md says how they are got\n\n",
            absent, folder);
    whole_matrices();
    putchar('\n');
    say_reliability();
    printf("\njobs of few of these hosts\n");
    few_hosts(full != NULL && strcmp(full, "1") == 0 ? 10 * JOBS : JOBS);
    putchar('\n');
    say_reliability();
    for (size_t k = 0; k < matrices; k++)
        nt_named_matrix_destroy(matrix[k].table);
    return 0;
}
