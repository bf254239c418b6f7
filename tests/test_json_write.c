/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "json_write.h"

static void write_all(struct nt_json_writer *w)
{
    nt_json_begin(w, NULL, '{', true);
    nt_json_put_text(w, "na\"me", "back\\slash \"quoted\" \n\xc3");
    nt_json_begin(w, "tall", '[', true);
    nt_json_begin(w, NULL, '{', false);
    nt_json_put_whole(w, "a", 1);
    nt_json_put_flag(w, "b", true);
    nt_json_end(w, '}');
    nt_json_put_whole(w, NULL, UINT64_MAX);
    nt_json_end(w, ']');
    nt_json_begin(w, "none", '[', true);
    nt_json_end(w, ']');
    nt_json_put_number(w, "number", 0.1234567);
    nt_json_put_number(w, "left out", (double)NAN);
    nt_json_put_figure(w, "figure", 0.123456789, 9);
    nt_json_put_figure(w, "unknown", (double)INFINITY, 9);
    nt_json_begin(w, "flat", '[', false);
    nt_json_put_text(w, NULL, "x");
    nt_json_put_flag(w, NULL, false);
    nt_json_end(w, ']');
    nt_json_end(w, '}');
}

TEST(test_text)
{
    static const char *const expected[] = {
        "{\n  \"na\\\"me\": \"back\\\\slash \\\"quoted\\\" ??\",\n  \"tall\": [\n"
        "    {\"a\": 1, \"b\": true},\n    18446744073709551615\n  ],\n  \"none\": [],\n"
        "  \"number\": 0.123457,\n  \"figure\": 0.123456789,\n  \"unknown\": null,\n"
        "  \"flat\": [\"x\", false]\n}",
        "{\"na\\\"me\":\"back\\\\slash \\\"quoted\\\" ??\",\"tall\":[{\"a\":1,\"b\":true},"
        "18446744073709551615],\"none\":[],\"number\":0.123457,\"figure\":0.123456789,"
        "\"unknown\":null,\"flat\":[\"x\",false]}"};
    for (int compact = 0; compact < 2; compact++) {
        struct nt_json_writer w = {.compact = compact == 1};
        char *text;
        write_all(&w);
        assert_int_equal(w.depth, 0);
        assert_int_equal(nt_strbuf_finish(&w.buf, &text, NULL, NULL), 0);
        assert_string_equal(text, expected[compact]);
        free(text);
    }
}

RUN_TESTS
