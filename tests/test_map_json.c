/* SPDX-License-Identifier: Apache-2.0 */
#include <json-c/json.h>

#include "asserts.h"
#include "json.h"
#include "map_json.h"

/* ---- every field ----------------------------------------------------------------------------- */

/* Maps that have all fields together. */
static const char *const files[] = {"tests/data/fields/tree.json",
                                    "tests/data/fields/dragonfly.json",
                                    "tests/data/fields/hypercube.json"};
enum { FILES = sizeof files / sizeof *files, TEXT_BYTES = 65536 };

static size_t read_file(const char *file, char text[TEXT_BYTES])
{
    FILE *in = fopen(file, "r");
    if (in == NULL)
        fail_msg("%s: not there; tests run from the top", file);
    size_t bytes = fread(text, 1, TEXT_BYTES - 1, in);
    text[bytes] = '\0';
    fclose(in);
    return bytes;
}

/* Reads text and gives what is written of it; NULL, and the first finding, when it is wrong. */
static char *written(const char *text, bool compact, char *found, size_t capacity)
{
    struct nt_findings findings = {0};
    struct nt_map *map = NULL;
    char *out = NULL;
    must(nt_map_inspect("f", text, strlen(text), &findings, &map, &err));
    if (findings.count > 0)
        snprintf(found, capacity, "%s", findings.line[0]);
    else
        must(nt_map_write(map, compact, &out, NULL, &err));
    nt_findings_fini(&findings);
    nt_map_destroy(map);
    return out;
}

TEST(what_is_read_is_written_again)
{
    for (size_t k = 0; k < FILES; k++) {
        char text[TEXT_BYTES], found[1024] = "";
        read_file(files[k], text);
        for (int compact = 0; compact < 2; compact++) {
            char *out = written(text, compact, found, sizeof found);
            assert_string_equal(found, "");
            assert_true(compact ? strchr(out, '\n') == NULL : strcmp(out, text) == 0);
            char *again = written(out, false, found, sizeof found);
            assert_string_equal(again, text);
            free(out);
            free(again);
        }
    }
}

/* The map without the field, or with a wrong value of it: whether that is refused, by its name. */
static bool is_refused(struct json_object *root, const char *name)
{
    char found[1024] = "", more[1024] = "";
    char *out = written(json_object_to_json_string(root), false, found, sizeof found);
    if (out == NULL) {
        if (strstr(found, name) == NULL)
            fail_msg("%s: found \"%s\"", name, found);
        return true;
    }
    char *again = written(out, false, more, sizeof more);
    assert_string_equal(more, "");
    assert_string_equal(out, again);
    free(out);
    free(again);
    return false;
}

struct seen {
    const char *name;
    bool met;
};

/* Each field of the object, which is part of root; the fields that are there are counted. */
static void check_fields(struct json_object *root, struct json_object *object,
                         const struct nt_json_field *f, struct seen **seen)
{
    for (; f->name != NULL; f++) {
        struct seen *met = (*seen)++;
        struct json_object *value, *kept;
        bool there = json_object_object_get_ex(object, f->name, &value);
        met->name = f->name;
        met->met |= there;
        if (f->fields != NULL) {
            struct json_object *none = json_object_new_object(), *inner = there ? value : none;
            bool list = json_object_is_type(inner, json_type_array);
            size_t n = list ? json_object_array_length(inner) : 1;
            struct seen *from = *seen;
            for (size_t k = 0; k == 0 || k < n; k++) {
                *seen = from;
                check_fields(there && n > 0 && f->take != nt_json_skip_field ? root : NULL,
                             n == 0 ? none
                             : list ? json_object_array_get_idx(inner, k)
                                    : inner,
                             f->fields, seen);
            }
            json_object_put(none);
        }
        if (!there || root == NULL)
            continue;
        kept = json_object_get(value);
        json_object_object_del(object, f->name);
        if (is_refused(root, f->must ? f->name : "") != f->must && f->must)
            fail_msg("%s is not missed", f->name);
        json_object_object_add(object, f->name,
                               f->type == NT_JSON_LIST ? json_object_new_object()
                                                       : json_object_new_array());
        if (!is_refused(root, f->name) && f->take != nt_json_skip_field)
            fail_msg("%s of a wrong type is not refused", f->name);
        json_object_object_add(object, f->name, kept);
    }
}

TEST(each_field_is_judged)
{
    struct seen seen[512] = {0};
    size_t fields = 0;
    for (size_t k = 0; k < FILES; k++) {
        struct json_object *root = json_object_from_file(files[k]);
        struct seen *next = seen;
        check_fields(root, root, nt_map_fields, &next);
        fields = (size_t)(next - seen);
        assert_in_range(fields, 100, sizeof seen / sizeof *seen);
        json_object_put(root);
    }
    for (size_t k = 0; k < fields; k++)
        if (!seen[k].met)
            fail_msg("field %s is in none of the maps", seen[k].name);
}

/* ---- the schema and the manual --------------------------------------------------------------- */

static struct json_object *member(struct json_object *of, const char *name)
{
    return json_object_object_get(of, name);
}

static struct json_object *resolve(struct json_object *schema, struct json_object *node)
{
    const char *ref = json_object_get_string(member(node, "$ref"));
    return ref == NULL ? node : member(member(schema, "definitions"), strrchr(ref, '/') + 1);
}

static bool has_item(struct json_object *array, const char *text)
{
    for (size_t k = 0; array != NULL && k < json_object_array_length(array); k++)
        if (strcmp(json_object_get_string(json_object_array_get_idx(array, k)), text) == 0)
            return true;
    return false;
}

static void compare_bounds(const struct nt_json_field *f, struct json_object *node)
{
    struct json_object *words = member(node, "enum"), *most = member(node, "maximum");
    struct json_object *bytes = member(node, "maxLength"), *items = member(node, "maxItems");
    if (f->type == NT_JSON_WORD) {
        size_t both = 0;
        for (size_t k = 0; k < f->word->words; k++)
            both += has_item(words, f->word->word[k]);
        assert_int_equal(both, json_object_array_length(words));
        assert_true(both == f->word->words || !f->must);
    }
    if (f->type == NT_JSON_MARK)
        assert_string_equal(json_object_get_string(member(node, "const")), f->mark);
    if (f->type == NT_JSON_NUMBER && most != NULL)
        assert_at_most(json_object_get_double(most), (f->most > 0 ? f->most : 1e15));
    if (f->type == NT_JSON_TEXT && f->bytes > 0)
        assert_int_equal(json_object_get_int64(bytes), f->bytes - 1);
    if (f->type == NT_JSON_LIST && !f->keyed && items != NULL)
        assert_int_equal(json_object_get_int64(items), f->items_max);
}

static void compare_schema(struct json_object *schema, struct json_object *node,
                           const struct nt_json_field *f, const char *manual)
{
    static const char *const types[] = {
        [NT_JSON_NUMBER] = "number", [NT_JSON_WHOLE32] = "integer", [NT_JSON_WHOLE64] = "integer",
        [NT_JSON_FLAG] = "boolean",  [NT_JSON_TEXT] = "string",     [NT_JSON_STRING] = "string",
        [NT_JSON_OBJECT] = "object", [NT_JSON_LIST] = "array"};
    struct json_object *properties = member(node, "properties"), *must = member(node, "required");
    int fields = 0;
    for (; f->name != NULL; f++, fields++) {
        struct json_object *is = resolve(schema, member(properties, f->name));
        const char *type = json_object_get_string(member(is, "type"));
        if (is == NULL || strstr(manual, f->name) == NULL)
            fail_msg("%s: expected it in the schema and the manual", f->name);
        if (type == NULL ? types[f->type] != NULL && member(is, "enum") == NULL
                         : strcmp(type, types[f->type]) != 0)
            fail_msg("%s: the schema has another type", f->name);
        if (f->must ? !has_item(must, f->name) : has_item(must, f->name) && f->when != 0)
            fail_msg("%s: required in one of schema and table", f->name);
        compare_bounds(f, is);
        if (f->fields != NULL && f->type == NT_JSON_LIST)
            is = resolve(schema, member(is, "items"));
        if (f->fields != NULL)
            compare_schema(schema, is, f->fields, manual);
    }
    assert_int_equal(json_object_object_length(properties), fields);
}

TEST(schema_and_manual_have_the_same_fields)
{
    char manual[TEXT_BYTES];
    struct json_object *schema = json_object_from_file("etc/nettopo-map.schema.json");
    read_file("etc/man/nettopo-map.5", manual);
    compare_schema(schema, schema, nt_map_fields, manual);
    json_object_put(schema);
}

TEST(sorting_keeps_the_network)
{
    char name[40][16];
    const char *names[40];
    double sum[2] = {0};
    struct nt_model *m;
    SCOPED(map) *map;
    must(nt_model_create(40, 0, 0, &m, &err));
    for (size_t k = 0; k < m->hosts; k++) {
        snprintf(name[k], sizeof name[k], "n%zu", k * 7 % 50);
        names[k] = name[k];
        m->overhead_us[k] = 1 / (double)(k + 1);
    }
    must(nt_map_create(m, names, &map, &err));
    for (int turn = 0; turn < 2; turn++) {
        for (size_t k = 0; k < m->hosts; k++)
            sum[turn] += m->overhead_us[k] * (double)atoi(map->host_name[k] + 1);
        must(nt_map_sort(map, &err));
    }
    assert_close(sum[0], sum[1], 1e-9);
    for (size_t k = 1; k < m->hosts; k++)
        assert_below(nt_name_compare(map->host_name[k - 1], map->host_name[k]), 0);
}

/* ---- wrong texts ---- */

#define TOP                                                                                        \
    "\"schema\": \"nettopo-map/1\", \"generator\": \"g\", \"status\": \"ok\", \"warnings\": []"
#define NET                                                                                        \
    ", \"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [{\"name\": \"s\"}],"      \
    " \"links\": [{\"a\": \"a\", \"b\": \"s\"}, {\"a\": \"b\", \"b\": \"s\"}]"

#define STAR(support)                                                                              \
    ", \"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [{\"name\": \"s\", "       \
    "\"support\": " support "}], \"links\": [{\"a\": \"a\", \"b\": \"s\"}, {\"a\": \"b\", \"b\": " \
    "\"s\"}]"

TEST(a_wrong_text_is_refused_with_its_place)
{
    static const struct {
        const char *text, *says;
    } table[] = {
        {"", "f: the file is empty"},
        {"{\n\n\"a\": 1", "f:3: not JSON: the text ends too early"},
        {"{\n\"a\": 1,\n}", "f:3: not JSON: unexpected character"},
        {"{} x", "f:1: not JSON: unexpected character"},
        {"[]", "f:1: expected a JSON object, found something else"},
        {"{}", "f: schema: expected \"nettopo-map/1\", found nothing"},
        {"{\"schema\": 1}", "f: schema: expected a string, found a whole number"},
        {"{\"schema\": \"nettopo-map/2\"}",
         "f: schema: expected \"nettopo-map/1\", found \"nettopo-map/2\""},
        {"{" TOP "}", "f: nodes: expected an array, found nothing"},
        {"{" TOP ", \"nodes\": {}}", "f: nodes: expected an array, found an object"},
        {"{" TOP ", \"nodes\": [1], \"switches\": [], \"links\": []}",
         "f: nodes[0]: expected an object, found a whole number"},
        {"{" TOP ", \"nodes\": [{}], \"switches\": [], \"links\": []}",
         "f: nodes[0].name: expected a string, found nothing"},
        {"{" TOP ", \"nodes\": [{\"name\": \"a\\u0000b\"}], \"switches\": [], \"links\": []}",
         "f: nodes[0].name: expected a text, found one with a zero byte"},
        {"{" TOP ", \"nodes\": [{\"name\": \"a b\"}], \"switches\": [], \"links\": []}",
         "f: nodes[0].name: host name \"a b\": expected only letters, digits, '.', '-' and '_'"},
        {"{" TOP ", \"nodes\": [{\"name\": \"a\"}], \"switches\": [{\"name\": \"a\"}],"
         " \"links\": []}",
         "f: switches[0].name: expected each name once, found a again"},
        {"{" TOP ", \"nodes\": [{\"name\": \"a\"}], \"switches\": [],"
         " \"links\": [{\"a\": \"a\", \"b\": \"x\"}]}",
         "f: links[0].b: expected the name of a node or switch, found \"x\""},
        {"{" TOP ", \"nodes\": [{\"name\": \"a\"}], \"switches\": [],"
         " \"links\": [{\"a\": \"a\", \"b\": \"a\"}]}",
         "f: links[0].b: expected two different ends, found a twice"},
        {"{" TOP ", \"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [],"
         " \"links\": [{\"a\": \"a\", \"b\": \"b\", \"latency_us\": -1}]}",
         "f: links[0].latency_us: expected 0 to 1e+15, found -1"},
        {"{" TOP ", \"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [],"
         " \"links\": [{\"a\": \"a\", \"b\": \"b\", \"latency_us\": NaN}]}",
         "f: links[0].latency_us: expected 0 to 1e+15, found nan"},
        {"{" TOP ", \"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [],"
         " \"links\": [{\"a\": \"a\", \"b\": \"b\", \"suspect\": 1}]}",
         "f: links[0].suspect: expected true or false, found a whole number"},
        {"{" TOP NET ", \"sweep\": {\"hosts\": 3}}",
         "f: sweep.hosts: expected the number of nodes, 2, found 3"},
        {"{" TOP NET ", \"sweep\": {\"rounds\": -1}}",
         "f: sweep.rounds: expected a whole number from 0 to 9223372036854775807, found -1"},
        {"{" TOP NET ", \"sweep\": {\"phases\": [{\"name\": "
         "\"a-name-that-is-longer-than-a-phase-has\"}]}}",
         "f: sweep.phases[0].name: expected at most 31 bytes, found 38"},
        {"{" TOP NET ", \"structure\": {\"family\": \"bush\"}}",
         "f: structure.family: expected star, tree, torus, mesh, ring, hypercube, full-mesh, "
         "irregular, dragonfly or undetermined, found \"bush\""},
        {"{" TOP NET ", \"structure\": {\"family\": \"torus\", \"parameters\": "
         "{\"dimensions\": [1,1,1,1,1,1,1,1,1]}}}",
         "f: structure.parameters.dimensions: expected at most 8, found 9"},
        {"{" TOP STAR("1.5") ", \"structure\": {\"family\": \"star\", \"confidence\": 1}}",
         "f: switches[0].support: expected 0 to 1, found 1.5"},
        {"{" TOP STAR("0.9") ", \"structure\": {\"family\": \"star\", \"confidence\": 1}}",
         "f: switches[0].support: expected the probability of its uplink, 1, found 0.9"},
        {"{" TOP STAR("1") ", \"structure\": {\"family\": \"star\"}}",
         "f: switches[0].support: expected no support outside of a tree or without "
         "structure.confidence, found 1"},
        {"{" TOP NET ", \"fit\": {\"pairs_off\": [[\"a\"]]}}",
         "f: fit.pairs_off[0]: expected 2 items, found 1"},
        {"{" TOP NET ", \"fit\": {\"pairs_off\": [[\"a\", \"s\"]]}}",
         "f: fit.pairs_off[0]: expected the name of a node, found \"s\""},
        {"{" TOP NET ", \"oversubscription\": [{\"switch\": \"a\", \"ratio\": 1}]}",
         "f: oversubscription[0].switch: expected the name of a switch, found \"a\""},
        {"{" TOP NET ", \"placement\": {\"pattern\": \"ring\"}}",
         "f: placement.node_order: expected an array, found nothing"},
        {"{" TOP NET ", \"models\": [{\"name\": \"m2\"}]}",
         "f: models[0].name: expected \"m1\", found \"m2\""},
        {"{" TOP NET ", \"models\": [{\"name\": \"m1\", \"hosts\": 1}]}",
         "f: models[0].hosts: expected the nodes of this model, 0, found 1"},
        {"{" TOP NET ", \"models\": [{\"name\": \"m1\", \"nics\": [{}]}]}",
         "f: nics[0].name: expected a string, found nothing"},
        {"{" TOP NET
         ", \"models\": [{\"name\": \"m1\", \"core_latency\": [{\"between\": \"us\"}]}]}",
         "f: core_latency[0].between: expected core, cache, numa, package or machine, found "
         "\"us\""},
        {"{" TOP NET ", \"stress\": [{\"kernel\": \"a2a\", \"congested\": {\"from\": \"x\"}}]}",
         "f: stress[0].congested.from: expected the name of a node or switch, found \"x\""},
        {"{" TOP NET
         ", \"stress\": [{\"kernel\": \"a kernel of many letters, which are too many\"}]}",
         "f: stress[0].kernel: expected at most 31 bytes, found 44"},
        {"{" TOP NET ", \"placement\": {\"pattern\": \"ring\", \"node_order\": [\"x\"]}}",
         "f: placement.node_order[0]: expected the name of a node, found \"x\""},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_map *map = NULL;
        assert_int_equal(nt_map_read("f", table[k].text, strlen(table[k].text), &map, &err), -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        assert_string_equal(err.text, table[k].says);
        assert_null(map);
    }
}

TEST(deep_nesting_is_refused)
{
    char text[100000];
    struct nt_map *map;
    memset(text, '[', sizeof text);
    memcpy(text, "{\"a\":", 5);
    assert_int_equal(nt_map_read("f", text, sizeof text, &map, &err), -1);
    assert_string_equal(err.text, "f:1: not JSON: nesting too deep");
}

RUN_TESTS
