/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "map_json.h"

#define TOP                                                                                        \
    "\"schema\": \"nettopo-map/1\", \"generator\": \"g\", \"status\": \"ok\", \"warnings\": []"
#define HEAD "{" TOP ", \"sweep\": {\"pairs_measured\": 1, \"pairs_total\": 1}, "
#define PLUG(h, s) "{\"a\": \"" h "\", \"b\": \"" s "\", \"latency_us\": 1}"
#define TREE(tiers) ", \"structure\": {\"family\": \"tree\", \"tiers\": " tiers "}}"

/* Hosts a and b behind s, c and d behind t. */
#define PAIRS(sure, host_us) PAIRS_OF(sure, sure, host_us)
#define PAIRS_OF(sure, whole, host_us)                                                             \
    "{" TOP                                                                                        \
    ", \"sweep\": {\"pairs_measured\": 6, \"pairs_total\": 6}, \"nodes\": [{\"name\": \"a\"}, "    \
    "{\"name\": \"b\"}, {\"name\": \"c\"}, {\"name\": \"d\"}], \"switches\": [{\"name\": \"s\", "  \
    "\"tier\": 1}, {\"name\": \"t\", \"tier\": 2}], \"links\": [{\"a\": \"a\", \"b\": \"s\", "     \
    "\"latency_us\": " host_us "}, " PLUG("b", "s") ", " PLUG("c", "t") ", " PLUG(                 \
        "d", "t") ", "                                                                             \
                  "{\"a\": \"s\", \"b\": \"t\", \"latency_us\": 0.5, \"probability\": " sure       \
                  "}], "                                                                           \
                  "\"structure\": {\"family\": \"tree\", \"tiers\": 2, \"confidence\": " whole

TEST(broken_invariants_are_listed)
{
    static const struct {
        const char *text, *says;
    } table[] = {
        {HEAD "\"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [{\"name\": \"s\","
              " \"tier\": 1}], \"links\": [" PLUG("a", "s") ", " PLUG("b", "s") "]" TREE("1"),
         NULL},
        {HEAD "\"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [{\"name\": \"s\","
              " \"tier\": 1}], \"links\": [" PLUG("a", "s") "]" TREE("1"),
         "links: expected all hosts and switches connected, found 2 separate parts"},
        {HEAD "\"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [{\"name\": \"s\","
              " \"tier\": 1}], \"links\": [" PLUG("a", "s") "]" TREE("1"),
         "switch s: expected at least two links, found 1"},
        {HEAD "\"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [{\"name\": \"s\","
              " \"tier\": 1}], \"links\": [" PLUG("a", "s") ", " PLUG("b", "s") ", " PLUG(
                  "a", "b") "]" TREE("1"),
         "node a: expected one link in a tree, found 2"},
        {HEAD "\"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [{\"name\": \"s\","
              " \"tier\": 1}], \"links\": [" PLUG("a", "s") ", " PLUG("b", "s") ", " PLUG(
                  "a", "b") "]" TREE("1"),
         "links: expected no loop in a tree, found 1"},
        {HEAD "\"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [{\"name\": \"s\","
              " \"tier\": 2}], \"links\": [" PLUG("a", "s") ", " PLUG("b", "s") "]" TREE("1"),
         "structure.tiers: expected the highest tier of a switch, 2, found 1"},
        {HEAD "\"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [{\"name\": \"s\","
              " \"tier\": 2}], \"links\": [" PLUG("a", "s") ", " PLUG("b", "s") "]" TREE("2"),
         "switch s: expected a switch of tier 1 below its tier 2, found none"},
        {HEAD "\"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [{\"name\": \"s\","
              " \"tier\": 1}], \"links\": [" PLUG("a", "s") ", " PLUG("s", "a") ", " PLUG(
                  "b", "s") "]" TREE("1"),
         "link a s: expected once, found again"},
        {HEAD
         "\"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [{\"name\": \"s\","
         " \"tier\": 1}], \"links\": [{\"a\": \"a\", \"b\": \"s\"}, " PLUG("b", "s") "]" TREE("1"),
         "link a s: expected a latency_us, found nothing"},
        {HEAD "\"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\", \"status\": \"missing\"}],"
              " \"switches\": [{\"name\": \"s\", \"tier\": 1}], \"links\": [" PLUG(
                  "a", "s") ", " PLUG("b", "s") "]" TREE("1"),
         "node b: expected a missing host on no link, found it on 1"},
        {HEAD "\"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\", \"status\": \"missing\"}],"
              " \"switches\": [], \"links\": []" TREE("1"),
         "status: expected partial or failed when hosts are missing, found ok"},
        {HEAD "\"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [{\"name\": \"s\","
              " \"tier\": 1}], \"links\": [" PLUG("a", "s") ", " PLUG(
                  "b", "s") "], \"stress\": ["
                            "{\"kernel\": \"a2a\", \"hosts\": 2, \"time_us\": 5, \"congested\": "
                            "{\"tier\": 0, \"from\": \"s\", \"to\": \"b\"}}]"
                            ", \"structure\": {\"family\": \"irregular\"}}",
         NULL},
        {HEAD "\"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [{\"name\": \"s\","
              " \"tier\": 1}], \"links\": [" PLUG("a", "s") ", " PLUG(
                  "b", "s") "], \"stress\": ["
                            "{\"kernel\": \"a2a\", \"hosts\": 2, \"time_us\": 5, \"congested\": "
                            "{\"tier\": 1, \"from\": \"s\", \"to\": \"b\"}}]"
                            ", \"structure\": {\"family\": \"irregular\"}}",
         "stress a2a: expected the tier of the lower end, 0, found 1"},
        {HEAD "\"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [{\"name\": \"s\","
              " \"tier\": 1}], \"links\": [" PLUG("a", "s") ", " PLUG(
                  "b", "s") "], \"stress\": ["
                            "{\"kernel\": \"a2a\", \"hosts\": 2, \"time_us\": 5, \"congested\": "
                            "{\"tier\": 0, \"from\": \"a\", \"to\": \"b\"}}]"
                            ", \"structure\": {\"family\": \"irregular\"}}",
         "stress a2a: expected a link from a to b, found none"},
        {HEAD
         "\"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [{\"name\": \"s\","
         " \"tier\": 1}], \"links\": [" PLUG("a", "s") ", " PLUG(
             "b", "s") "], \"stress\": ["
                       "{\"kernel\": \"a2a\", \"hosts\": 2, \"time_us\": 5, \"time_low_us\": 6}]"
                       ", \"structure\": {\"family\": \"irregular\"}}",
         "stress a2a: expected time_us from 6 to nan, found 5"},
        {HEAD "\"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [{\"name\": \"s\","
              " \"tier\": 1}], \"links\": [" PLUG("a", "s") ", " PLUG(
                  "b", "s") "], \"stress\": ["
                            "{\"kernel\": \"a2a\", \"hosts\": 2, \"bytes\": 5}]"
                            ", \"structure\": {\"family\": \"irregular\"}}",
         "stress a2a: expected a time_us above 0"},
        {HEAD "\"nodes\": [{\"name\": \"a\", \"model\": \"m1\"}, {\"name\": \"b\"}], \"switches\": "
              "[], \"links\": [" PLUG("a", "b") "], \"models\": [{\"name\": \"m1\", \"cores\": 2, "
                                                "\"threads\": 2, \"threads_allowed\": 1}]}",
         NULL},
        {HEAD "\"nodes\": [{\"name\": \"a\", \"model\": \"m1\"}, {\"name\": \"b\"}], \"switches\": "
              "[], \"links\": [" PLUG(
                  "a", "b") "], \"models\": [{\"name\": \"m1\", \"cores\": 2, \"threads\": 1}]}",
         "model m1: expected no more cores (2) and threads_allowed (0) than threads, found 1"},
        {HEAD "\"nodes\": [{\"name\": \"a\", \"model\": \"m1\"}, {\"name\": \"b\"}], \"switches\": "
              "[], \"links\": [" PLUG(
                  "a", "b") "], \"models\": [{\"name\": \"m1\", \"core_latency\": [{\"between\": "
                            "\"core\", \"latency_us\": 1, \"low_us\": 2}]}]}",
         "model m1: expected a latency from 2 to nan between cores, found 1"},
        {"{" TOP ", \"sweep\": {\"pairs_measured\": 2, \"pairs_total\": 1}, \"nodes\": [{\"name\":"
         " \"a\"}, {\"name\": \"b\"}], \"switches\": [], \"links\": [" PLUG("a", "b") "]}",
         "sweep.pairs_measured: expected at most 1, found 2"},
        {HEAD
         "\"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [], \"links\": [" PLUG(
             "a", "b") "], \"structure\": {\"family\": \"ring\", \"parameters\": "
                       "{\"dimensions\": [3]}}}",
         "structure.parameters.dimensions: expected a product of 2 hosts, found 3"},
        {HEAD
         "\"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [], \"links\": [" PLUG(
             "a", "b") "], \"placement\": {\"pattern\": \"ring\", \"node_order\": "
                       "[\"a\", \"a\"]}}",
         "placement.node_order: expected each node once, found a again"},
        {HEAD "\"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [], \"links\": "
              "[{\"a\": \"a\", \"b\": \"b\", \"latency_us\": 1, \"bandwidth_MBps\": 5, "
              "\"bandwidth_se_MBps\": 1, \"bandwidth_back_se_MBps\": 1}]}",
         "link a b: expected a bandwidth with its standard error, found none"},
        {HEAD
         "\"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [], \"links\": [" PLUG(
             "a", "b") "], \"placement\": {\"pattern\": \"ring\", \"node_order\": "
                       "[\"a\", \"b\"], \"gain\": 0.9}}",
         "placement.gain: expected at least 1, found 0.9"},
        {PAIRS("0.49", "1") "}}",
         "switch s: expected a support from 0.5 of a switch that is stated, found 0.49"},
        {PAIRS("0.49", "1") "}}",
         "switch t: expected a support from 0.5 of a switch that is stated, found 0.49"},
        {PAIRS("0.5", "1") "}}", NULL},
        {PAIRS_OF("0.7", "0.71", "1") "}}",
         "structure.confidence: expected 0.7 at the most, the support of switch s, found 0.71"},
        {PAIRS("1", "0") "}, \"fit\": {\"resolution_us\": 1}}",
         "link a s: expected a latency_us above 0 of a host behind a switch, found 0"},
        {PAIRS("1", "0") "}}", NULL}, /* declared, not measured */
        {PAIRS("1", "1") "}, \"fit\": {\"resolution_us\": 0.6}}",
         "link s t: expected a latency_us of fit.resolution_us, 0.6, or more of a link between "
         "switches, found 0.5"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_findings findings = {0};
        SCOPED(map) *map;
        bool found = table[k].says == NULL;
        if (nt_map_read("f", table[k].text, strlen(table[k].text), &map, &err) != 0)
            fail_msg("%zu: %s", k, err.text);
        must(nt_map_check(map, &findings, &err));
        for (size_t f = 0; f < findings.count; f++)
            found |= table[k].says != NULL && strcmp(findings.line[f], table[k].says) == 0;
        if (!found || (table[k].says == NULL && findings.count > 0))
            fail_msg("%zu: found %zu, first %s", k, findings.count,
                     findings.count > 0 ? findings.line[0] : "none");
        nt_findings_fini(&findings);
    }
}

RUN_TESTS
