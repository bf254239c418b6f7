/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "memory.h"

TEST(test_arrays)
{
    struct nt_arena a = {0};
    uint64_t *numbers = nt_arena_array(&a, 1000, sizeof *numbers);
    long double *aligned = nt_arena_array(&a, 3, sizeof *aligned);
    char *none = nt_arena_array(&a, 0, 8);
    char *text = nt_arena_text(&a, "n001,n002", 4);
    assert_int_equal(nt_arena_check(&a, NULL), 0);
    for (size_t k = 0; k < 1000; k++)
        assert_int_equal(numbers[k], 0);
    assert_int_equal((uintptr_t)aligned % _Alignof(max_align_t), 0);
    assert_non_null(none);
    assert_string_equal(text, "n001");
    assert_int_equal(a.used, 8000 + 3 * sizeof *aligned + 5);
    nt_arena_fini(&a);
    assert_int_equal(a.used, 0);
    assert_null(a.newest);
}

TEST(test_products)
{
    struct nt_arena a = {0};
    assert_null(nt_arena_array(&a, SIZE_MAX / 4, 8));
    assert_int_equal(nt_arena_check(&a, &err), -1);
    assert_int_equal(err.kind, NT_ERR_SYSTEM);
    assert_string_equal(err.text, "no memory for 18446744073709551615 bytes");
    nt_arena_fini(&a);
    assert_null(nt_arena_array(&a, SIZE_MAX, 1));
    assert_int_equal(nt_arena_check(&a, &err), -1);
    nt_arena_fini(&a);
    size_t room = 0;
    assert_null(nt_arena_grow(&a, NULL, &room, SIZE_MAX - 1, 1));
    assert_int_equal(room, 0);
    assert_int_equal(nt_arena_check(&a, &err), -1);
    nt_arena_fini(&a);
}

/* A failure is sticky, whatever would fit afterwards; earlier arrays stay valid. */
TEST(test_failure_is_sticky)
{
    struct nt_arena a = {.limit = 100};
    char *first = nt_arena_array(&a, 60, 1);
    first[59] = 'x';
    assert_null(nt_arena_array(&a, 41, 1));
    assert_null(nt_arena_array(&a, 1, 1));
    assert_null(nt_arena_text(&a, "a", 1));
    size_t room = 60;
    assert_null(nt_arena_grow(&a, first, &room, 61, 1));
    assert_int_equal(room, 60);
    assert_int_equal(first[59], 'x');
    assert_int_equal(nt_arena_check(&a, &err), -1);
    assert_int_equal(err.kind, NT_ERR_SYSTEM);
    nt_arena_release(&a, NULL);
    assert_int_equal(nt_arena_check(&a, &err), -1);
    nt_arena_fini(&a); /* the limit stays, the failure does not */
    assert_non_null(nt_arena_array(&a, 100, 1));
    must(nt_arena_check(&a, &err));
    assert_null(nt_arena_array(&a, 1, 1));
    nt_arena_fini(&a);
}

TEST(test_grow)
{
    struct nt_arena a = {.limit = 10000};
    size_t room[3] = {0}, count = 0;
    uint32_t *list[3] = {NULL};
    while (count < 500) { /* three lists in turn: the blocks of each move between the others' */
        for (size_t k = 0; k < 3; k++) {
            list[k] = nt_arena_grow(&a, list[k], &room[k], count + 1, sizeof *list[k]);
            assert_int_equal(nt_arena_check(&a, NULL), 0);
            assert_above(room[k], count);
            list[k][count] = (uint32_t)(count * 3 + k);
        }
        count++;
    }
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < count; i++)
            assert_int_equal(list[k][i], i * 3 + k);
    assert_int_equal(a.used, (room[0] + room[1] + room[2]) * 4);
    assert_null(nt_arena_grow(&a, list[1], &room[1], 3000, sizeof *list[1]));
    assert_int_equal(nt_arena_check(&a, NULL), -1);
    assert_int_equal(list[1][499], 499 * 3 + 1);
    nt_arena_fini(&a);
}

TEST(test_release)
{
    struct nt_arena a = {.limit = 1000};
    char *kept = nt_arena_text(&a, "kept", 4);
    for (size_t turn = 0; turn < 100; turn++) {
        struct nt_arena_block *mark = nt_arena_mark(&a);
        assert_non_null(nt_arena_array(&a, 400, 1));
        assert_non_null(nt_arena_array(&a, 500, 1));
        nt_arena_release(&a, mark);
        assert_int_equal(a.used, 5);
    }
    size_t room = 0; /* the newest may grow after others were released */
    char *list = nt_arena_grow(&a, NULL, &room, 10, 1);
    list = nt_arena_grow(&a, list, &room, 100, 1);
    assert_non_null(list);
    assert_string_equal(kept, "kept");
    nt_arena_fini(&a);
}

static int scoped(size_t bytes, size_t limit, struct nt_err *err)
{
    NT_SCOPED struct nt_arena a = {.limit = limit};
    char *array = nt_arena_array(&a, bytes, 1);
    if (nt_arena_check(&a, err) != 0)
        return -1;
    array[bytes - 1] = 1;
    return 0;
}

TEST(test_scoped)
{
    assert_int_equal(scoped(100, 0, &err), 0);
    assert_int_equal(scoped(100, 99, &err), -1);
    assert_int_equal(err.kind, NT_ERR_SYSTEM);
}

struct object {
    struct nt_arena memory;
    double *value;
};

TEST(test_object)
{
    struct object *o = nt_object_create(sizeof *o, &err);
    assert_non_null(o);
    o->value = nt_arena_array(&o->memory, 10, sizeof *o->value);
    must(nt_arena_check(&o->memory, &err));
    nt_object_destroy(o);
    nt_object_destroy(NULL);
}

RUN_TESTS
