/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "host_match.h"

enum { NONE = NT_NAMES_NONE };

static void matches(const char *const *mine, const char *const *theirs, const uint32_t *expected)
{
    size_t n = 0, m = 0;
    uint32_t at[8];
    while (mine[n] != NULL)
        n++;
    while (theirs[m] != NULL)
        m++;
    must(nt_host_match(mine, n, theirs, m, at, &err));
    for (size_t k = 0; k < n; k++)
        if (at[k] != expected[k])
            fail_msg("%s: expected %u, found %u", mine[k], expected[k], at[k]);
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define PLACES(...) ((const uint32_t[]){__VA_ARGS__})

TEST(a_host_with_a_domain_is_the_one_without)
{
    matches(NAMES("n2", "n1", "n3"), NAMES("n1.a.example", "n2.a.example"), PLACES(1, 0, NONE));
    matches(NAMES("n2.a", "n1.a", "n3.a"), NAMES("n1", "n2"), PLACES(1, 0, NONE));
    matches(NAMES("n1", "n2.a"), NAMES("n1", "n2.a"), PLACES(0, 1));
}

TEST(what_could_be_several_is_none)
{
    /* two domains on either side */
    matches(NAMES("n1", "n2"), NAMES("n1.a", "n1.b", "n2.a"), PLACES(NONE, 2));
    matches(NAMES("n1.a", "n1.b", "n2.a"), NAMES("n1", "n2"), PLACES(NONE, NONE, 1));
    /* the very name wins */
    matches(NAMES("n1", "n1.a"), NAMES("n1.a", "n1"), PLACES(1, 0));
    matches(NAMES("n1.b", "n1"), NAMES("n1"), PLACES(NONE, 0));
    matches(NAMES("n1"), NAMES("n1.a", "n1"), PLACES(1));
    /* other domains are other hosts */
    matches(NAMES("n1.a"), NAMES("n1.b"), PLACES(NONE));
}

TEST(an_address_has_no_domain)
{
    matches(NAMES("10"), NAMES("10.0.0.1"), PLACES(NONE));
    matches(NAMES("10.0.0.1"), NAMES("10"), PLACES(NONE));
    matches(NAMES("10.0.0.1"), NAMES("10.0.0.1"), PLACES(0));
    matches(NAMES(".a", ""), NAMES("b"), PLACES(NONE, NONE));
}

RUN_TESTS
