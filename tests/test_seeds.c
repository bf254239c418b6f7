/* SPDX-License-Identifier: Apache-2.0 */
/* The seeds' published tables and what each method makes of them: tests/data/seeds/NAME.csv and
 * NAME.METHOD.json (of auto, ours, only the network is held). NT_REWRITE=1 build/tests/test_seeds
 * writes the expectations anew; look at the difference before you commit it. */
#include "asserts.h"
#include "bufe.h"
#include "infer.h"
#include "map_json.h"
#include "matrix_csv.h"
#include "parus.h"

enum { TEXT_MAX = 1 << 20 };

static char *load(const char *path, size_t *bytes)
{
    char *text = malloc(TEXT_MAX);
    FILE *file = fopen(path, "r");
    assert_non_null(text);
    if (file == NULL)
        fail_msg("%s: cannot be read (run from the top; NT_REWRITE=1 makes expectations)", path);
    *bytes = fread(text, 1, TEXT_MAX, file);
    fclose(file);
    return text;
}

static struct nt_named_matrix *load_table(const char *name)
{
    char path[256];
    size_t bytes;
    struct nt_csv_reader *reader;
    struct nt_named_matrix *table = NULL;
    snprintf(path, sizeof path, "tests/data/seeds/%s.csv", name);
    char *text = load(path, &bytes);
    if (nt_csv_reader_create(path, NT_MATRIX_LATENCY_US, &reader, &err) != 0 ||
        nt_csv_reader_feed(reader, text, bytes, &err) != 0 ||
        nt_csv_reader_finish(reader, &table, &err) != 0)
        fail_msg("%s", err.text);
    nt_csv_reader_destroy(reader);
    free(text);
    return table;
}

static struct nt_model *by_bufe(const struct nt_matrix *latency, struct nt_err *err)
{
    struct nt_bufe_result *r;
    struct nt_model *m = NULL;
    if (nt_bufe_infer(latency, NULL, NULL, &r, err) == 0) {
        if (nt_model_copy(r->model, &m, err) != 0)
            m = NULL;
        nt_bufe_destroy(r);
    }
    return m;
}

static struct nt_model *by_parus(const struct nt_matrix *latency, struct nt_err *err)
{
    struct nt_parus_result *r;
    struct nt_model *m = NULL;
    if (nt_parus_infer(&latency, 1, NULL, &r, err) == 0) {
        if (nt_model_copy(r->model, &m, err) != 0)
            m = NULL;
        nt_parus_destroy(r);
    }
    return m;
}

static char *map_text(const struct nt_named_matrix *table,
                      struct nt_model *(*method)(const struct nt_matrix *, struct nt_err *),
                      size_t *bytes)
{
    struct nt_map *map;
    char *text = NULL;
    struct nt_model *m = method(table->matrix, &err);
    if (m == NULL)
        fail_msg("%s", err.text);
    if (nt_map_create(m, table->host.name, &map, &err) != 0 || nt_map_sort(map, &err) != 0 ||
        nt_map_write(map, false, &text, bytes, &err) != 0)
        fail_msg("%s", err.text);
    nt_map_destroy(map);
    return text;
}

static void compare(const char *path, const char *text, size_t bytes)
{
    if (getenv("NT_REWRITE") != NULL) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(text, 1, bytes, file), bytes);
        assert_int_equal(fclose(file), 0);
        return;
    }
    size_t expected_bytes;
    char *expected = load(path, &expected_bytes);
    if (expected_bytes != bytes || memcmp(expected, text, bytes) != 0)
        fail_msg("%s is not what is found now:\n%.*s", path, (int)bytes, text);
    free(expected);
}

static struct nt_map *read_map(const char *path, const char *text, size_t bytes)
{
    struct nt_map *map;
    must(nt_map_read(path, text, bytes, &map, &err));
    return map;
}

/* The same hosts, switches and links; figures are not held, since ours get better. */
static void compare_shape(const char *path, const char *text, size_t bytes)
{
    if (getenv("NT_REWRITE") != NULL) {
        compare(path, text, bytes);
        return;
    }
    size_t expected_bytes;
    char *expected = load(path, &expected_bytes);
    SCOPED(map) *a = read_map(path, expected, expected_bytes), *b = read_map("now", text, bytes);
    const struct nt_model *m = a->model, *now = b->model;
    bool same = m->hosts == now->hosts && m->switches == now->switches && m->links == now->links &&
                m->family == now->family;
    for (size_t h = 0; h < m->hosts && same; h++)
        same = strcmp(a->host_name[h], b->host_name[h]) == 0;
    for (size_t k = 0; k < m->links && same; k++)
        same = m->link[k].a == now->link[k].a && m->link[k].b == now->link[k].b;
    if (!same)
        fail_msg("%s is another network than what is found now:\n%.*s", path, (int)bytes, text);
    free(expected);
}

static struct nt_model *by_auto(const struct nt_matrix *latency, struct nt_err *err)
{
    struct nt_model *m;
    return nt_infer_latency(latency, NULL, 1, &m, err) == 0 ? m : NULL;
}

TEST(published_tables_give_the_expected_maps)
{
    static const char *const tables[] = {"bufe-2.1", "bufe-2.2", "bufe-2.3", "bufe-3.5",
                                         "bufe-3.6", "bufe-3.7", "bufe-3.8"};
    static const struct {
        const char *name;
        struct nt_model *(*method)(const struct nt_matrix *, struct nt_err *);
    } methods[] = {{"bufe", by_bufe}, {"parus", by_parus}};
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) {
        SCOPED(named_matrix) *table = load_table(tables[k]);
        for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
            char path[256];
            size_t bytes;
            char *text = map_text(table, methods[i].method, &bytes);
            snprintf(path, sizeof path, "tests/data/seeds/%s.%s.json", tables[k], methods[i].name);
            compare(path, text, bytes);
            free(text);
        }
    }
}

/* Ours beside them; what the documents say of the real ones, a switch in 3.5 and two sockets in
 * 3.6, is asserted below. */
TEST(our_method_gives_the_expected_maps)
{
    static const char *const tables[] = {"bufe-2.1", "bufe-2.2", "bufe-2.3", "bufe-3.5",
                                         "bufe-3.6", "bufe-3.7", "bufe-3.8"};
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) {
        SCOPED(named_matrix) *table = load_table(tables[k]);
        char path[256];
        size_t bytes;
        char *text = map_text(table, by_auto, &bytes);
        snprintf(path, sizeof path, "tests/data/seeds/%s.auto.json", tables[k]);
        compare_shape(path, text, bytes);
        free(text);
    }
}

/* Our own method: only the shape is held here, since its figures get better. groups[h]: which hosts
 * share a switch. */
TEST(our_method_agrees_with_section_3_3)
{
    static const struct {
        const char *name;
        size_t switches;
        const char *groups;
    } table[] = {{"bufe-3.5", 1, "aaaaaaaaaa"}, {"bufe-3.6", 2, "aaaaaabbbbbb"}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        SCOPED(named_matrix) *t = load_table(table[k].name);
        SCOPED(model) *m;
        uint32_t on[16] = {0};
        must(nt_infer_latency(t->matrix, NULL, 1, &m, &err));
        assert_int_equal(m->switches, table[k].switches);
        for (size_t e = 0; e < m->links; e++)
            if (m->link[e].a < m->hosts)
                on[m->link[e].a] = m->link[e].b;
        for (size_t a = 0; a < m->hosts; a++)
            for (size_t b = 0; b < m->hosts; b++)
                assert_int_equal(on[a] == on[b], table[k].groups[a] == table[k].groups[b]);
    }
}

RUN_TESTS
