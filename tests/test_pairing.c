/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "pairing.h"

TEST(the_longest_unused_makes_room)
{
    struct nt_kept kept = {0};
    for (uint32_t k = 0; k < NT_KEPT_MAX; k++)
        assert_int_equal(nt_kept_use(&kept, 100 + k), NT_KEPT_NONE);
    assert_int_equal(nt_kept_use(&kept, 100), NT_KEPT_NONE); /* again: 101 is the oldest now */
    assert_int_equal(nt_kept_use(&kept, 7), 101);
    assert_int_equal(kept.n, NT_KEPT_MAX);
    assert_true(nt_kept_stays(&kept, 100, 0));
    assert_true(nt_kept_stays(&kept, 7, 0));
    assert_false(nt_kept_stays(&kept, 101, 0));
}

TEST(a_dropped_one_leaves_its_place)
{
    struct nt_kept kept = {0};
    for (uint32_t k = 0; k < NT_KEPT_MAX; k++)
        nt_kept_use(&kept, k);
    nt_kept_drop(&kept, 5);
    nt_kept_drop(&kept, 5);
    nt_kept_drop(&kept, 1000);
    assert_int_equal(kept.n, NT_KEPT_MAX - 1);
    assert_false(nt_kept_stays(&kept, 5, 0));
    assert_int_equal(nt_kept_use(&kept, 1000), NT_KEPT_NONE);
    assert_int_equal(nt_kept_use(&kept, 1001), 0);
    for (uint32_t k = 1; k < NT_KEPT_MAX; k++)
        assert_int_equal(nt_kept_stays(&kept, k, 0), k != 5);
}

TEST(what_stays_is_known_before)
{
    for (uint32_t n = 1; n <= NT_KEPT_MAX; n += 9)
        for (uint32_t uses = 0; uses <= NT_KEPT_MAX; uses++)
            for (uint32_t peer = 0; peer < n; peer++) {
                struct nt_kept kept = {0};
                for (uint32_t k = 0; k < n; k++)
                    nt_kept_use(&kept, k);
                bool stays = nt_kept_stays(&kept, peer, uses);
                for (uint32_t k = 0; k < uses; k++)
                    nt_kept_use(&kept, 1000 + k);
                assert_int_equal(nt_kept_stays(&kept, peer, 0), stays);
            }
}

RUN_TESTS
