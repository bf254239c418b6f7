/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as a job reads it: what nettopo plan wrote, for the hosts that are there. */
#include "asserts.h"
#include "plan_json.h"
#include "plan_routes.h"
#include "routes_of.h"

static void name_hosts(struct nt_names *names, const char *list)
{
    uint32_t index;
    for (const char *at = list; *at != '\0'; at += strcspn(at, " "), at += *at == ' ')
        assert_int_equal(nt_names_add_copy(names, at, strcspn(at, " "), &index, NULL), 0);
}

static int read_plan(const char *text, const char *list, struct nt_plan **plan, struct nt_err *err)
{
    struct nt_names names = {0};
    name_hosts(&names, list);
    int rc = nt_plan_read("p", text, strlen(text), &names, plan, err);
    nt_names_fini(&names);
    return rc;
}

TEST(what_was_written_is_read)
{
    static const char *const host[] = {"h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7"};
    SCOPED(routes) *routes = fattree_routes(4, 2, 1);
    SCOPED(plan) *plan, *read = NULL;
    char *text;
    size_t bytes;
    assert_int_equal(nt_plan_routes(routes, 2, 1, &plan, NULL), 0);
    assert_int_equal(nt_plan_write(plan, host, &text, &bytes, NULL), 0);
    assert_int_equal(read_plan(text, "h0 h1 h2 h3 h4 h5 h6 h7", &read, NULL), 0);
    assert_int_equal(read->pairs, plan->pairs);
    assert_int_equal(read->rounds, plan->rounds);
    assert_int_equal(read->absent, 0);
    assert_memory_equal(read->pair, plan->pair, plan->pairs * sizeof *plan->pair);
    assert_memory_equal(read->round, plan->round, plan->pairs * sizeof *plan->round);
    free(text);
}

TEST(pairs_of_other_hosts_are_left_out_and_rounds_close_up)
{
    static const char text[] = "{\"rounds\": [[[\"a\", \"b\"], [\"c\", \"d\"]], [[\"b\", \"c\"]],"
                               " [[\"d\", \"a\"]]], \"more\": 1}";
    SCOPED(plan) *plan;
    assert_int_equal(read_plan(text, "d a c", &plan, NULL), 0);
    assert_int_equal(plan->pairs, 2);
    assert_int_equal(plan->absent, 2);
    assert_int_equal(plan->rounds, 2);
    static const uint32_t pair[2][2] = {{2, 0}, {0, 1}};
    assert_memory_equal(plan->pair, pair, sizeof pair);
    assert_int_equal(plan->round[1], 1);
}

TEST(hosts_of_a_plan_may_have_a_domain_or_lack_it)
{
    static const char text[] = "{\"rounds\": [[[\"a.x\", \"b\"], [\"c\", \"d\"]]]}";
    static const uint32_t pair[2] = {0, 1};
    struct nt_plan *plan;
    assert_int_equal(read_plan(text, "a b.x c.x c.y d", &plan, NULL), 0);
    assert_int_equal(plan->pairs, 1);
    assert_int_equal(plan->absent, 1); /* c could be two */
    assert_memory_equal(plan->pair, pair, sizeof pair);
    nt_plan_destroy(plan);
    assert_int_equal(read_plan("{\"rounds\": [[[\"a.x\", \"a.y\"]]]}", "a b", &plan, &err), -1);
    assert_string_equal(err.text, "p: rounds[0]: expected each host once, found one twice");
}

TEST(what_is_no_plan_of_the_job_is_refused)
{
    static const struct {
        const char *text, *says;
    } table[] = {
        {"", "p: the file is empty"},
        {"a b l\n", "p:1: not JSON"},
        {"[]", "p:1: expected a JSON object"},
        {"{}", "p: rounds: expected an array, found nothing. Make the plan with \"nettopo plan\"."},
        {"{\"rounds\": 3}", "p: rounds: expected an array, found a whole number"},
        {"{\"rounds\": [3]}", "p: rounds[0]: expected an array, found a whole number"},
        {"{\"rounds\": [[[\"a\"]]]}", "expected 2 items, found 1"},
        {"{\"rounds\": [[[\"a\", \"b\", \"c\"]]]}", "expected 2 items, found 3"},
        {"{\"rounds\": [[[\"a\", 1]]]}", "expected a string, found a whole number"},
        {"{\"rounds\": [[[\"a\", \"b\\u0000\"]]]}", "found one with a zero byte"},
        {"{\"rounds\": []}", "p: expected pairs of this job's hosts, found none"},
        {"{\"rounds\": [[[\"x\", \"y\"]]]}", "p: expected pairs of this job's hosts, found none"},
        {"{\"rounds\": [[[\"a\", \"a\"]]]}", "p: rounds[0]: expected each host once"},
        {"{\"rounds\": [[[\"a\", \"b\"]], [[\"a\", \"b\"], [\"c\", \"b\"]]]}",
         "p: rounds[1]: expected each host once"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_plan *plan;
        assert_int_equal(read_plan(table[k].text, "a b c", &plan, &err), -1);
        if (err.kind != NT_ERR_INPUT || strstr(err.text, table[k].says) == NULL)
            fail_msg("%s: %s, expected %s", table[k].text, err.text, table[k].says);
    }
}

RUN_TESTS
