/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps follow the hint, by srun's command line. */
#include "asserts.h"
#include "step.h"

enum { WORDS_MAX = 16 };

/* Words with blanks between them. */
static bool is_placed(const char *command, const struct nt_step_hint *hint,
                      struct nt_step_defaults defaults)
{
    char text[256], *rest = NULL;
    const char *words[WORDS_MAX];
    size_t count = 0;
    assert_below(strlen(command), sizeof text);
    memcpy(text, command, strlen(command) + 1);
    for (char *word = strtok_r(text, " ", &rest); word != NULL && count < WORDS_MAX;
         word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    return nt_step_is_placed(words, count, hint, &defaults);
}

TEST(a_step_is_placed_that_the_hint_is_for)
{
    static const struct {
        const char *command;
        bool placed;
    } table[] = {
        {"srun ./app", true},
        {"srun ./app -N4 -n4", true}, /* the program's own */
        {"srun -l ./app", true},
        {"srun -n8 ./app", true},
        {"srun -n 8 -N 8 ./app", true},
        {"srun --ntasks=8 --nodes=8 ./app", true},
        {"srun --ntasks 8 ./app", true},
        {"srun -lun8 ./app", true},
        {"srun --mpi=pmix --export=ALL -K1 ./app", true},
        {"srun -K ./app", true},
        {"srun --cpu-bind=none -c 2 ./app", true},
        {"srun -- ./app", true},
        {"srun -n16 ./app", false},
        {"srun -n4 ./app", false},
        {"srun -N4 ./app", false},
        {"srun -N4 -n8 ./app", false},
        {"srun -N 4-8 ./app", false},
        {"srun --ntasks-per-node=2 ./app", false},
        {"srun -m block ./app", false},
        {"srun -m arbitrary ./app", true},
        {"srun -n4 --distribution=arbitrary ./app", true},
        {"srun -r1 -m arbitrary ./app", false},
        {"srun --distribution=cyclic ./app", false},
        {"srun -w n1,n2 ./app", false},
        {"srun -x n1 ./app", false},
        {"srun --nodelist=n1 ./app", false},
        {"srun -r 2 ./app", false},
        {"srun --relative=1 ./app", false},
        {"srun --multi-prog conf", false},
        {"srun --overcommit ./app", false},
        {"srun --ntask=8 ./app", false}, /* Slurm takes what is short for an option */
        {"srun --exclusive ./app", false},
        {"srun -n1 ./app : -n7 ./other", false},
        {"srun ./app : ./other", false},
        {"srun -n", false},
        {"srun -l=2 ./app", false},
        {"srun", false},
    };
    const struct nt_step_hint one_each = {8, 8};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (is_placed(table[k].command, &one_each,
                      (struct nt_step_defaults){.tasks = "8", .nodes = "8"}) != table[k].placed)
            fail_msg("%s", table[k].command);
}

/* From Slurm 23.11 on. */
TEST(a_step_with_nodes_of_its_own_can_have_no_host_file)
{
    const struct nt_step_hint one_each = {8, 8};
    const struct nt_step_defaults defaults = {.tasks = "8", .nodes = "8", .rejects_nodes = true};
    assert_false(is_placed("srun -N8 -n8 ./app", &one_each, defaults));
    assert_false(is_placed("srun --nodes=8 ./app", &one_each, defaults));
    assert_true(is_placed("srun -n8 ./app", &one_each, defaults));
}

TEST(the_environment_says_what_the_command_does_not)
{
    static const struct {
        const char *command, *tasks, *nodes;
        struct nt_step_hint hint;
        bool placed;
    } table[] = {
        {"srun ./app", "16", "8", {16, 8}, true},
        {"srun -n16 ./app", NULL, "8", {16, 8}, true},
        {"srun -n8 ./app", "16", "8", {16, 8}, false},
        {"srun ./app", NULL, "8", {8, 8}, true},
        {"srun ./app", NULL, "8", {16, 8}, false},
        {"srun ./app", NULL, NULL, {8, 8}, true},
        {"srun ./app", "8x", "8", {8, 8}, false},
        {"srun ./app", "-8", "8", {8, 8}, false},
        {"srun ./app", "0", "0", {0, 0}, false},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (is_placed(table[k].command, &table[k].hint,
                      (struct nt_step_defaults){.tasks = table[k].tasks,
                                                .nodes = table[k].nodes}) != table[k].placed)
            fail_msg("row %zu", k);
}

TEST(a_host_file_says_how_many)
{
    static const struct {
        const char *text;
        size_t tasks, hosts;
    } table[] = {{"", 0, 0},          {"a\n", 1, 1},      {"a\nb\n", 2, 2}, {"a\na\nb\nb\n", 4, 2},
                 {"a\nb\na\n", 3, 2}, {"a\nab\nb", 3, 3}, {"\n\na\n", 1, 1}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_step_hint is = nt_step_count_hosts(table[k].text, strlen(table[k].text));
        if (is.tasks != table[k].tasks || is.hosts != table[k].hosts)
            fail_msg("row %zu: %zu tasks on %zu hosts", k, is.tasks, is.hosts);
    }
}

RUN_TESTS
