/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "names.h"

enum { MANY = 5000 };

TEST(names_are_found_where_they_came)
{
    static char name[MANY][12];
    struct nt_names names = {0};
    uint32_t index;
    assert_int_equal(nt_names_find(&names, "n1", 2), NT_NAMES_NONE);
    for (uint32_t k = 0; k < MANY; k++) {
        snprintf(name[k], sizeof name[k], "n%u", k);
        must(nt_names_add(&names, name[k], &index, &err));
        assert_int_equal(index, k);
    }
    for (uint32_t k = 0; k < MANY; k++) {
        assert_int_equal(nt_names_find(&names, name[k], strlen(name[k])), k);
        assert_int_equal(nt_names_add(&names, name[k], &index, &err), 1);
        assert_int_equal(index, k);
    }
    assert_int_equal(names.count, MANY);
    assert_int_equal(nt_names_find(&names, "n12x", 3), 12); /* a word of a line */
    assert_int_equal(nt_names_find(&names, "n12x", 4), NT_NAMES_NONE);
    assert_int_equal(nt_names_find(&names, "n", 1), NT_NAMES_NONE);
    assert_int_equal(nt_names_find(&names, "", 0), NT_NAMES_NONE);
    nt_names_fini(&names);
}

/* The word has more bytes than the stored name has memory, and its hash is searched for so that
 * both get one slot: a comparison that goes by the word's length reads behind the name (which
 * AddressSanitizer and valgrind see). */
TEST(a_word_with_a_zero_byte_is_no_name)
{
    for (unsigned k = 0; k < 2000; k++) {
        char word[64] = "n1";
        struct nt_names names = {0};
        uint32_t index;
        char *name = strdup("n1");
        assert_non_null(name);
        snprintf(word + 3, sizeof word - 3, "%u", k);
        word[63] = 'x';
        must(nt_names_add(&names, name, &index, &err));
        assert_int_equal(nt_names_find(&names, word, sizeof word), NT_NAMES_NONE);
        assert_int_equal(nt_names_find(&names, word, 3), NT_NAMES_NONE);
        nt_names_fini(&names);
        free(name);
    }
}

RUN_TESTS
