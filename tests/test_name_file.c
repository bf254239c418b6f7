/* SPDX-License-Identifier: Apache-2.0 */
/* Files of names: both kinds of lines, what is refused, and every shorter piece. */
#include "asserts.h"
#include "name_file.h"

static void read_names(const char *text, struct nt_name_file *names)
{
    must(nt_name_file_read("f", text, strlen(text), names, &err));
}

TEST(names_alone_keep_their_order)
{
    struct nt_name_file names;
    read_names("# hosts\nn2\n\n  n1 # the first\nn3\n", &names);
    assert_int_equal(names.count, 3);
    assert_false(names.by_guid);
    assert_string_equal(names.entry[0].name, "n2");
    assert_string_equal(names.entry[1].name, "n1");
    assert_int_equal(names.entry[1].line, 4);
    assert_null(nt_name_file_of(&names, 0));
    nt_name_file_fini(&names);
}

/* The node name map of infiniband-diags, what ibnodes prints, and ibnetdiscover's ids. */
TEST(names_by_guid_are_found_in_every_form)
{
    struct nt_name_file names;
    read_names("# IB1\n"
               "0x0008f10400411a34 \"SW3  (Rack  3) ISR9024\" # comment\n"
               "0x8f10400411a08\t\"SW1 #4\"\n"
               "0xFF n9  HCA-1 # bare\n"
               "0xff \"second\"\n"
               "H-0008f10403960558 n1\n"
               "Ca\t: 0x0008f10403960984 ports 2 \"n2 HCA-1\"\n"
               "Switch : 0x0008f10403960985 ports 8 \"leaf 1\" base port 0 lid 3 lmc 0\n",
               &names);
    assert_true(names.by_guid);
    assert_int_equal(names.count, 7);
    static const struct {
        uint64_t guid;
        const char *name;
    } table[] = {{0x8f10400411a34, "SW3  (Rack  3) ISR9024"},
                 {0x8f10400411a08, "SW1 #4"},
                 {0xff, "n9  HCA-1"},
                 {0x8f10403960558, "n1"},
                 {0x8f10403960984, "n2 HCA-1"},
                 {0x8f10403960985, "leaf 1"}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        const char *name = nt_name_file_of(&names, table[k].guid);
        assert_non_null(name);
        assert_string_equal(name, table[k].name);
    }
    assert_null(nt_name_file_of(&names, 0xfe));
    assert_null(nt_name_file_of(&names, UINT64_MAX));
    nt_name_file_fini(&names);
    assert_null(nt_name_file_of(NULL, 1));
}

TEST(wrong_names_tell_their_line)
{
    static const struct {
        const char *text, *says;
    } table[] = {{"", "f: expected names, one per line, found none"},
                 {"# n1\n", "f: expected names, one per line, found none"},
                 {"n1\nn2 n3\n", "f:2: expected a name, or 0xGUID \"NAME\", found \"n2 n3\""},
                 {"n1\nn2\n\nn1\n", "f:4: expected each host once, found n1 again"},
                 {"n/1\n", "f:1: host name \"n/1\""},
                 {"0x1 \"\"\n", "f:1: expected a name after the GUID"},
                 {"0x1\n", "f:1: expected a name after the GUID"},
                 {"0x12345678901234567 n1\n", "f:1: expected a name, or 0xGUID"},
                 {"0x1g n1\n", "f:1: expected a name, or 0xGUID"},
                 {"n1\n\n0x1 n2\n", "f:3: expected a name without a GUID, as in line 1"},
                 {"0x1 n2\nn1\n", "f:2: expected a name after its GUID, as in line 1"}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_name_file names;
        assert_int_equal(nt_name_file_read("f", table[k].text, strlen(table[k].text), &names, &err),
                         -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        if (strstr(err.text, table[k].says) == NULL)
            fail_msg("%zu: %s", k, err.text);
    }
}

TEST(only_hexadecimal_digits_make_a_guid)
{
    uint64_t guid = 0;
    assert_true(nt_guid_read("0x0123456789abcdEF", 18, &guid));
    assert_true(guid == UINT64_C(0x0123456789abcdef));
    for (int c = 0; c < 256; c++) {
        const char text[] = {'0', 'x', (char)c};
        bool digit = c > 0 && strchr("0123456789abcdefABCDEF", c) != NULL;
        if (nt_guid_read(text, sizeof text, &guid) != digit)
            fail_msg("byte %d", c);
    }
}

RUN_TESTS
