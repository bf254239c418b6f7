/* SPDX-License-Identifier: Apache-2.0 */
#include "inputs.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "graph.h"
#include "import.h"
#include "json.h"
#include "map_json.h"
#include "memory.h"
#include "samples.h"
#include "strbuf.h"

enum { NAMES_BYTES_MAX = 64 * 1024 * 1024 };

static const char record[] = "nettopo-samples/"; /* how the samples of a sweep begin */

/* ---- networks ------------------------------------------------------------------------------- */

typedef int reader(const char *, const char *, size_t, struct nt_map **, struct nt_err *);

/* Returns the first word after comments, spaces and newlines; YAML may start with a byte order
 * mark. */
static const char *first_word(const char *text)
{
    text += strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    for (;;) {
        text += strspn(text, " \t\r\n");
        if (*text == '#' || strncmp(text, "//", 2) == 0)
            text += strcspn(text, "\n");
        else if (strncmp(text, "/*", 2) == 0 && strstr(text + 2, "*/") != NULL)
            text = strstr(text + 2, "*/") + 2;
        else
            return text;
    }
}

static bool begins_with(const char *text, const char *word)
{
    return strncasecmp(text, word, strlen(word)) == 0;
}

/* Not one line of KEY=VALUE, where no other format was found. */
static int refuse_unknown(const char *file, const char *text, struct nt_err *err)
{
    const char *word = first_word(text);
    size_t line = strcspn(word, "\r\n");
    if (*word == '\0' || memchr(word, '=', line) != NULL || begins_with(word, "include"))
        return 0;
    return nt_err_set(
        err, NT_ERR_INPUT,
        "%s: expected a map, DOT, TGF, topology.conf, topology.yaml, or the output of "
        "scontrol or ibnetdiscover, found \"%.*s\"",
        file, (int)(line < 64 ? line : 64), word);
}

static reader *choose_reader(const char *text)
{
    const char *word = first_word(text);
    if (*word == '{' || begins_with(word, record)) /* samples: nt_map_read names the remedy */
        return nt_map_read;
    if (begins_with(word, "graph") || begins_with(word, "digraph") || begins_with(word, "strict"))
        return nt_import_dot;
    if (begins_with(word, "- ") || begins_with(word, "---") || begins_with(word, "%YAML") ||
        begins_with(word, "["))
        return nt_import_topology_yaml;
    if (*word >= '0' && *word <= '9' && strstr(word, "\n#") != NULL)
        return nt_import_tgf;
    return nt_import_topology_conf;
}

int nt_names_read(const char *path, struct nt_name_file *out, struct nt_err *err)
{
    char *text;
    size_t bytes;
    if (nt_file_read(path, NAMES_BYTES_MAX, &text, &bytes, err) != 0)
        return -1;
    int rc = nt_name_file_read(nt_file_name(path), text, bytes, out, err);
    free(text);
    return rc;
}

/* Reads a scan. names: a file of names, or NULL. */
static int read_scan(const char *file, const char *text, size_t bytes, const char *names,
                     struct nt_map **out, struct nt_err *err)
{
    struct nt_name_file given = {0};
    int rc = names == NULL ? 0 : nt_names_read(names, &given, err);
    if (rc == 0 && names != NULL && !given.by_guid)
        rc = nt_err_set(err, NT_ERR_INPUT, "%s:%zu: expected 0xGUID \"NAME\", found \"%.64s\"",
                        nt_file_name(names), given.entry[0].line, given.entry[0].name);
    if (rc == 0)
        rc = nt_import_ibnetdiscover(file, text, bytes, &given, out, err);
    nt_name_file_fini(&given);
    return rc;
}

/* Prints the warnings about a description on standard error; a map's own warnings are not
 * printed. */
static void put_warnings(const char *file, const struct nt_map *map)
{
    struct nt_strbuf d = {0};
    for (size_t k = 0; k < map->warnings; k++) {
        nt_strbuf_print(&d, "nettopo: %.200s: ", file);
        nt_strbuf_put_line(&d, map->warning[k]);
        nt_strbuf_puts(&d, "\n");
    }
    if (d.used > 0 && !d.failed)
        fputs(d.text, stderr);
    free(d.text);
}

int nt_reference_read(const struct nt_network_description *from, struct nt_map **out,
                      struct nt_err *err)
{
    const char *file = nt_file_name(from->path);
    char *text;
    size_t bytes;
    int rc;
    if (nt_file_read(from->path, NT_JSON_TEXT_MAX, &text, &bytes, err) != 0)
        return -1;
    reader *read = choose_reader(text);
    bool scan = read != nt_map_read && read != nt_import_dot && nt_is_ibnetdiscover(text);
    bool yaml = !scan && read == nt_import_topology_yaml;
    if (!scan && read == nt_import_topology_conf && refuse_unknown(file, text, err) != 0)
        rc = -1;
    else if (!scan && from->names != NULL)
        rc = nt_err_set(err, NT_ERR_USAGE,
                        "--names requires a scan of ibnetdiscover, which %s is not", file);
    else if (!yaml && from->topology != NULL)
        rc = nt_err_set(err, NT_ERR_USAGE,
                        "topology %.64s: a name requires a topology.yaml, which %s is not",
                        from->topology, file);
    else if (scan)
        rc = read_scan(file, text, bytes, from->names, out, err);
    else if (yaml)
        rc = nt_import_topology_named(file, text, bytes, from->topology, out, err);
    else
        rc = read(file, text, bytes, out, err);
    free(text);
    if (rc == 0 && read != nt_map_read)
        put_warnings(file, *out);
    return rc;
}

enum { PARTS_SHOWN = 4, PART_HOSTS_SHOWN = 3 };

/* Appends the first few hosts of the part that is represented by root. */
static void put_part(struct nt_strbuf *d, const struct nt_map *map, uint32_t *up, uint32_t root)
{
    size_t n = 0;
    for (uint32_t h = 0; h < map->model->hosts; h++)
        if (nt_sets_find(up, h) == root && n++ < PART_HOSTS_SHOWN)
            nt_strbuf_print(d, "%s%s", n > 1 ? " " : "", map->host_name[h]);
    if (n > PART_HOSTS_SHOWN)
        nt_strbuf_print(d, " and %zu more", n - PART_HOSTS_SHOWN);
}

/* Rejects a network with unconnected parts, between which nothing can be measured. */
static int refuse_parts(const char *file, const struct nt_map *map, struct nt_err *err)
{
    const struct nt_model *m = map->model;
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *up = nt_arena_array(&memory, m->hosts + m->switches, sizeof *up);
    bool *seen = nt_arena_array(&memory, m->hosts + m->switches, sizeof *seen);
    struct nt_strbuf d = {0};
    size_t parts = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    nt_sets_init(up, m->hosts + m->switches);
    for (size_t k = 0; k < m->links; k++)
        nt_sets_join(up, m->link[k].a, m->link[k].b);
    for (uint32_t h = 0; h < m->hosts; h++) {
        uint32_t root = nt_sets_find(up, h);
        if (m->missing[h] || seen[root])
            continue;
        seen[root] = true;
        if (parts++ < PARTS_SHOWN) {
            nt_strbuf_puts(&d, parts > 1 ? "; " : "");
            put_part(&d, map, up, root);
        }
    }
    if (parts > 1)
        nt_err_set(err, NT_ERR_INPUT,
                   "%s: expected one network, found %zu parts without a link between them: %s%s",
                   file, parts, d.failed ? "" : d.text, parts > PARTS_SHOWN ? "; ..." : "");
    free(d.text);
    return parts > 1 ? -1 : 0;
}

int nt_reference_read_connected(const struct nt_network_description *from,
                                struct nt_assumed *assumed, struct nt_map **out, struct nt_err *err)
{
    if (nt_reference_read(from, out, err) != 0)
        return -1;
    if (refuse_parts(nt_file_name(from->path), *out, err) != 0) {
        nt_map_destroy(*out);
        *out = NULL;
        return -1;
    }
    const struct nt_model *m = (*out)->model;
    assumed->links = 0;
    for (size_t k = 0; k < m->links; k++)
        assumed->links += isnan(m->link[k].latency_us) ? 1 : 0;
    nt_import_assume_latency(*out, assumed->host_link_us, assumed->switch_link_us);
    return 0;
}

/* ---- matrices ------------------------------------------------------------------------------- */

enum {
    HEAD_BYTES =
        16384, /* bytes in which the format must be recognizable, after lines of a launcher */
    WHOLE_MAX = 256 * 1024 * 1024, /* maximum size of a text other than CSV */
    LINE_MAX_BYTES =
        1 << 22 /* maximum line of such a text: a row with the maximum number of hosts */
};

static const struct {
    const char *name;
    enum nt_matrix_text text;
} names[] = {{"csv", NT_TEXT_CSV},
             {"mpigraph", NT_TEXT_MPIGRAPH},
             {"benchmark", NT_TEXT_BENCHMARK},
             {"osu", NT_TEXT_BENCHMARK},
             {"parus", NT_TEXT_PARUS}};

/* Starts of lines that only one of the programs writes. */
static const struct {
    const char *begin;
    enum nt_matrix_text text;
} signs[] = {{",", NT_TEXT_CSV},
             {"START mpiGraph", NT_TEXT_MPIGRAPH},
             {"Send\t", NT_TEXT_MPIGRAPH},
             {"Recv\t", NT_TEXT_MPIGRAPH},
             {"processors ", NT_TEXT_PARUS},
             {"{", NT_TEXT_BENCHMARK}};

int nt_matrix_text_named(const char *name, enum nt_matrix_text *text, struct nt_err *err)
{
    enum nt_matrix_text found = NT_TEXT_ANY;
    for (size_t k = 0; name != NULL && k < sizeof names / sizeof *names; k++)
        if (strcmp(name, names[k].name) == 0)
            found = names[k].text;
    if (name != NULL && found == NT_TEXT_ANY)
        return nt_err_set(err, NT_ERR_USAGE,
                          "--from %.64s: expected csv, mpigraph, benchmark or parus", name);
    *text = found;
    return 0;
}

/* State of reading: the start of the file until the format is known, then a stream or a whole
 * text. */
struct incoming {
    const char *file;
    enum nt_matrix_text text;
    enum nt_matrix_kind kind;
    const struct nt_csv_given *given;
    struct nt_csv_reader *csv; /* set if the text is a CSV */
    struct nt_file_text kept;
    size_t line, line_bytes; /* number of complete lines; bytes of the incomplete one */
};

/* Returns whether the text may be a CSV: a line has a separator, or one of the first lines ends
 * with a number. The reader of benchmarks rejects other texts with a list of the formats. */
static bool may_be_csv(const char *head)
{
    enum { FIRST = 4 };
    bool any = false;
    for (int k = 0; k < FIRST && *head != '\0'; k++) {
        size_t bytes = strcspn(head, "\n"), line = bytes;
        if (strcspn(head, ",;\t") < bytes)
            return true;
        while (bytes > 0 && strchr(" \r", head[bytes - 1]) != NULL)
            bytes--;
        any = any || bytes > 0;
        while (bytes > 0 && strchr("0123456789.-+eNA", head[bytes - 1]) != NULL)
            bytes--;
        if (bytes > 0 && bytes < line && head[bytes - 1] == ' ')
            return true;
        head += line + (head[line] == '\n');
    }
    return !any;
}

static enum nt_matrix_text recognise_text(const char *head)
{
    for (const char *line = head; *line != '\0';) {
        for (size_t k = 0; k < sizeof signs / sizeof *signs; k++)
            if (strncmp(line, signs[k].begin, strlen(signs[k].begin)) == 0)
                return signs[k].text;
        if (nt_import_benchmark_line(line, strcspn(line, "\n")))
            return NT_TEXT_BENCHMARK;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return may_be_csv(head) ? NT_TEXT_CSV : NT_TEXT_BENCHMARK;
}

/* Counts lines. A text without lines is from none of these programs and is detected early. */
static int count_lines(struct incoming *in, const char *text, size_t bytes, struct nt_err *err)
{
    for (const char *at = text, *end = text + bytes; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        in->line_bytes += (size_t)((stop == NULL ? end : stop) - at);
        if (in->line_bytes > LINE_MAX_BYTES)
            return nt_err_set(err, NT_ERR_INPUT,
                              "%s:%zu: expected lines of at most %d bytes, found a longer one",
                              in->file, in->line + 1, (int)LINE_MAX_BYTES);
        if (stop == NULL)
            break;
        in->line++;
        in->line_bytes = 0;
        at = stop + 1;
    }
    return 0;
}

static bool is_given(const struct nt_csv_given *given)
{
    return given->factor > 0 || given->round_trip || given->names != NULL;
}

/* Refuses a file of nettopo in place of a matrix. */
static int refuse_ours(const struct incoming *in, struct nt_err *err)
{
    const char *head = first_word(in->kept.text);
    if (strncmp(head, record, sizeof record - 1) == 0)
        return nt_err_set(err, NT_ERR_INPUT,
                          "%s:1: this is a samples file, not a matrix. Pass it without --latency "
                          "and --bandwidth.",
                          in->file);
    if (*head == '{' && strstr(head, "\"nettopo-map/") != NULL)
        return nt_err_set(err, NT_ERR_INPUT, "%s:1: this is a map, not measurements", in->file);
    return 0;
}

/* Sets the format; the start of a CSV is passed to its reader. */
static int settle_format(struct incoming *in, struct nt_err *err)
{
    if (in->text == NT_TEXT_ANY && refuse_ours(in, err) != 0)
        return -1;
    if (in->text == NT_TEXT_ANY)
        in->text = nt_import_parus_is_netcdf(in->kept.text, in->kept.used)
                       ? NT_TEXT_PARUS
                       : recognise_text(in->kept.text);
    if (in->text != NT_TEXT_CSV && is_given(in->given))
        return nt_err_set(
            err, NT_ERR_USAGE,
            "%s: this format contains units and names. Omit --unit, --round-trip and --names.",
            in->file);
    if (in->text != NT_TEXT_CSV)
        return 0;
    if (nt_csv_reader_create(in->file, in->kind, &in->csv, err) != 0)
        return -1;
    nt_csv_reader_set_given(in->csv, in->given);
    return nt_csv_reader_feed(in->csv, in->kept.text, in->kept.used, err);
}

static int feed_text(void *context, const char *text, size_t bytes, struct nt_err *err)
{
    struct incoming *in = context;
    if (in->csv != NULL)
        return nt_csv_reader_feed(in->csv, text, bytes, err);
    if (nt_file_keep(&in->kept, text, bytes, err) != 0)
        return -1;
    if (!nt_import_parus_is_netcdf(in->kept.text, in->kept.used) &&
        count_lines(in, text, bytes, err) != 0)
        return -1;
    bool open = in->text == NT_TEXT_ANY || in->text == NT_TEXT_CSV;
    return open && in->kept.used >= HEAD_BYTES ? settle_format(in, err) : 0;
}

/* Reads PREFIX_hosts.txt for PREFIX_median.nc, which network_test2 writes together; NULL: no such
 * file. */
static int read_names_beside(const char *path, char beside[PATH_MAX], char **text, size_t *bytes,
                             struct nt_err *err)
{
    static const char end[] = "_hosts.txt";
    const char *folder = strrchr(path, '/'), *cut = strrchr(folder == NULL ? path : folder, '_');
    size_t prefix = cut == NULL ? 0 : (size_t)(cut - path);
    if (cut == NULL || prefix >= PATH_MAX - sizeof end)
        return 0;
    memcpy(beside, path, prefix);
    memcpy(beside + prefix, end, sizeof end);
    return access(beside, F_OK) != 0 ? 0 : nt_file_read(beside, WHOLE_MAX, text, bytes, err);
}

static int read_parus(const struct incoming *in, struct nt_named_matrix **out, struct nt_err *err)
{
    char beside[PATH_MAX], *text = NULL;
    size_t bytes = 0;
    struct nt_text names;
    int rc = read_names_beside(in->kept.path, beside, &text, &bytes, err);
    if (rc == 0 && text != NULL)
        rc = nt_text_begin(&names, beside, text, bytes, err);
    if (rc == 0)
        rc = nt_import_parus_named(in->file, in->kept.text, in->kept.used,
                                   text == NULL ? NULL : &names, out, err);
    free(text);
    return rc;
}

static int finish_matrices(struct incoming *in, struct nt_named_matrix **out, struct nt_err *err)
{
    if (in->csv == NULL && settle_format(in, err) != 0)
        return -1;
    bool latency = in->kind == NT_MATRIX_LATENCY_US;
    if (in->text == (latency ? NT_TEXT_MPIGRAPH : NT_TEXT_PARUS))
        return nt_err_set(err, NT_ERR_INPUT, "%s: expected %s, found the output of %s", in->file,
                          latency ? "latencies" : "bandwidths", latency ? "mpiGraph" : "PARUS");
    if (in->text == NT_TEXT_PARUS)
        return read_parus(in, out, err);
    if (in->text == NT_TEXT_MPIGRAPH)
        return nt_import_mpigraph(in->file, in->kept.text, in->kept.used, out, err);
    if (in->text == NT_TEXT_BENCHMARK)
        return nt_import_benchmark(in->file, in->kept.text, in->kept.used, in->kind, out, err);
    return nt_csv_reader_finish(in->csv, out, err);
}

int nt_matrices_read(const char *path, enum nt_matrix_text text, enum nt_matrix_kind kind,
                     const struct nt_csv_given *given, struct nt_named_matrix **out,
                     struct nt_err *err)
{
    struct incoming in = {.file = nt_file_name(path),
                          .text = text,
                          .kind = kind,
                          .given = given,
                          .kept = {.path = path, .most = WHOLE_MAX}};
    const struct nt_text_source source = nt_file_source(path);
    int rc = nt_file_keep(&in.kept, "", 0, err); /* so that an empty file is an empty text */
    if (rc == 0)
        rc = source.give(source.from, feed_text, &in, err);
    if (rc == 0)
        rc = finish_matrices(&in, out, err);
    nt_csv_reader_destroy(in.csv);
    free(in.kept.text);
    return rc;
}

/* ---- measurements ---- */

/* Reads the first bytes after spaces; "" if it is not a regular file. */
static void peek(const char *path, char head[sizeof record])
{
    struct stat st;
    size_t used = 0;
    head[0] = '\0';
    FILE *file = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "re") : NULL;
    if (file == NULL)
        return;
    int c = getc(file);
    while (c == ' ' || c == '\t' || c == '\r' || c == '\n')
        c = getc(file);
    for (; c != EOF && used + 1 < sizeof record; c = getc(file))
        head[used++] = (char)c;
    head[used] = '\0';
    fclose(file);
}

bool nt_is_measurement(const char *path)
{
    char head[sizeof record];
    peek(path, head);
    return head[0] != '\0' && head[0] != '{';
}

static int read_record(const char *path, enum nt_matrix_kind kind, double message_bytes,
                       struct nt_named_matrix **out, struct nt_err *err)
{
    struct nt_samples *samples;
    struct nt_named_matrix *m = NULL;
    struct nt_names names = {0};
    uint32_t index;
    if (nt_file_read_samples(path, &samples, err) != 0)
        return -1;
    int rc = 0;
    for (size_t h = 0; rc == 0 && h < samples->hosts; h++)
        if (nt_names_add_copy(&names, samples->host_name[h], strlen(samples->host_name[h]), &index,
                              err) < 0)
            rc = -1;
    if (rc == 0)
        rc = nt_named_matrix_create(&names, kind, &m, err);
    nt_names_fini(&names);
    if (rc == 0) {
        nt_matrix_destroy(m->matrix);
        m->matrix = NULL;
        rc = kind == NT_MATRIX_LATENCY_US
                 ? nt_samples_latency(samples, message_bytes, &m->matrix, NULL, err)
                 : nt_samples_planned_bandwidth(samples, &m->matrix, err);
        if (rc != 0)
            nt_err_prefix(err, "%s", nt_file_name(path));
    }
    nt_samples_destroy(samples);
    if (rc == 0)
        *out = m;
    else
        nt_named_matrix_destroy(m);
    return rc;
}

int nt_measurement_read(const char *path, enum nt_matrix_kind kind, double message_bytes,
                        struct nt_named_matrix **out, struct nt_err *err)
{
    char head[sizeof record];
    peek(path, head);
    if (strcmp(head, record) == 0)
        return read_record(path, kind, message_bytes, out, err);
    if (nt_matrices_read(path, NT_TEXT_ANY, kind, &(struct nt_csv_given){0}, out, err) != 0)
        return -1;
    bool sized = kind == NT_MATRIX_LATENCY_US && !isnan((*out)->message_bytes);
    if (message_bytes == 0 || !sized || nt_named_matrix_choose(*out, message_bytes))
        return 0;
    nt_named_matrix_destroy(*out);
    *out = NULL;
    return nt_err_set(err, NT_ERR_INPUT,
                      "%s: expected a matrix of messages of %g bytes, found none",
                      nt_file_name(path), message_bytes);
}
