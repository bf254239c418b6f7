/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "asserts.h"
#include "request.h"

enum { WORDS = 12 };

static int read_request(struct nt_request *request, const char *const words[WORDS],
                        struct nt_err *err)
{
    char *argv[WORDS + 2] = {(char *)"nettopo-prolog"};
    int argc = 1;
    for (int k = 0; k < WORDS && words[k] != NULL; k++)
        argv[argc++] = (char *)words[k];
    return nt_request_read(request, argc, argv, err);
}

TEST(a_command_line_is_read)
{
    struct nt_request request;
    static const char *const run[WORDS] = {"run",         "--job",  "42",     "--uid",
                                           "1001",        "--gid",  "100",    "--option",
                                           "quick,apply", "--conf", "/etc/nt"};
    must(read_request(&request, run, &err));
    assert_int_equal(request.verb, NT_VERB_RUN);
    assert_true(request.wanted);
    assert_false(request.from_script);
    assert_int_equal(request.job, 42);
    assert_int_equal(request.uid, 1001);
    assert_int_equal(request.gid, 100);
    assert_int_equal(request.option.level, NT_LEVEL_QUICK);
    assert_true(request.option.apply);
    assert_string_equal(request.conf, "/etc/nt");
    static const char *const hidden[WORDS] = {"run", "--job", "42", "--uid", "1", "--gid", "1"};
    setenv("NETTOPO_OPTION", "full", 1); /* the plugin's way */
    assert_int_equal(read_request(&request, hidden, &err), 0);
    unsetenv("NETTOPO_OPTION");
    assert_int_equal(request.option.level, NT_LEVEL_FULL);
    static const char *const gone[WORDS] = {"remove", "--job", "7"};
    assert_int_equal(read_request(&request, gone, &err), 0);
    assert_int_equal(request.verb, NT_VERB_REMOVE);
    static const char *const help[WORDS] = {"--help"};
    assert_int_equal(read_request(&request, help, &err), 0);
}

TEST(a_configuration_file_that_is_missing_or_a_link_is_bad_input)
{
    static const char path[] = "/tmp/nettopo-no-such.conf";
    struct nt_conf conf;
    unlink(path);
    must(nt_conffile_read(path, true, &conf, &err));
    assert_int_equal(nt_conffile_read(path, false, &conf, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    assert_string_equal(err.text,
                        "cannot open /tmp/nettopo-no-such.conf: No such file or directory");
    assert_int_equal(symlink("/dev/null", path), 0);
    assert_int_equal(nt_conffile_read(path, true, &conf, &err), -1);
    unlink(path);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    assert_non_null(strstr(err.text, "is a symbolic link"));
}

TEST(a_wrong_command_line_is_named)
{
    static const struct {
        const char *words[WORDS], *says;
    } table[] = {
        {{NULL}, "expected run, remove"},
        {{"walk"}, "expected run, remove"},
        {{"run", "--joob", "1"}, "unknown argument \"--joob\"; see --help"},
        {{"run", "--job"}, "--job: missing value"},
        {{"run", "--uid", "1", "--gid", "1"}, "--job is missing"},
        {{"run", "--job", "1", "--gid", "1"}, "--uid is missing"},
        {{"run", "--job", "0", "--uid", "1", "--gid", "1"}, "--job: expected a job ID, found 0"},
        {{"run", "--job", "-1", "--uid", "1", "--gid", "1"}, "job: expected a number"},
        {{"run", "--job", "1/../2", "--uid", "1", "--gid", "1"}, "job: expected a number"},
        {{"run", "--job", "4294967295", "--uid", "1", "--gid", "1"}, "job: expected a number"},
        {{"run", "--job", "1", "--uid", "4294967295", "--gid", "1"}, "uid: expected a number"},
        {{"run", "--job", "1", "--uid", "1", "--gid", "4294967295"}, "gid: expected a number"},
        {{"run", "--job", "1", "--uid", "3999999999"}, "uid 3999999999 is unknown on this host"},
        {{"run", "--job", "1", "--uid", "1", "--gid", "1", "--option", "x\ny"}, "--option: "},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_request request;
        assert_int_equal(read_request(&request, table[k].words, &err), -1);
        assert_int_equal(err.kind, NT_ERR_USAGE);
        if (strstr(err.text, table[k].says) == NULL)
            fail_msg("%zu: %s", k, err.text);
    }
}

TEST(a_prolog_script_passes_its_environment)
{
    static const char *const script[WORDS] = {"--from-prolog-script"};
    struct nt_request request;
    setenv("SLURM_JOB_ID", "42", 1);
    setenv("SLURM_JOB_UID", "1001", 1);
    setenv("SLURM_JOB_GID", "100", 1);
    assert_int_equal(read_request(&request, script, &err), 0);
    assert_false(request.wanted);
    assert_true(request.from_script);
    setenv("SPANK__SLURM_SPANK_OPTION_nettopo_nettopo", "(null)", 1);
    assert_int_equal(read_request(&request, script, &err), 0);
    assert_true(request.wanted);
    assert_int_equal(request.option.level, NT_LEVEL_STANDARD);
    setenv("SPANK_NETTOPO", "quick", 1);
    assert_int_equal(read_request(&request, script, &err), 0);
    assert_int_equal(request.option.level, NT_LEVEL_QUICK);
    setenv("SPANK_NETTOPO", "quick,evil", 1);
    assert_int_equal(read_request(&request, script, &err), -1);
    assert_true(request.from_script); /* so that the exit status is 0 nevertheless */
    unsetenv("SPANK_NETTOPO");
    unsetenv("SLURM_JOB_ID");
    assert_int_equal(read_request(&request, script, &err), -1);
}

TEST(limits_are_told)
{
    static const struct {
        const char *option, *slurm, *cut;
        enum nt_level level_max, level;
        double budget_s;
    } table[] = {
        {"quick,budget=3", "", "", NT_LEVEL_FULL, NT_LEVEL_QUICK, 3},
        {"full,budget=100", "", "budget 100 s was reduced to 7 s by budget_max in nettopo.conf",
         NT_LEVEL_FULL, NT_LEVEL_FULL, 7},
        {"standard", "", "level standard was reduced to quick by level_max in nettopo.conf",
         NT_LEVEL_QUICK, NT_LEVEL_QUICK, 5},
        {"quick,budget=6", "MessageTimeout=8",
         "budget 6 s was reduced to 5 s by MessageTimeout in slurm.conf", NT_LEVEL_FULL,
         NT_LEVEL_QUICK, 5},
        {"quick,budget=100", "PrologEpilogTimeout=5",
         "budget 100 s was reduced to 3 s by PrologTimeout or PrologEpilogTimeout in slurm.conf",
         NT_LEVEL_FULL, NT_LEVEL_QUICK, 3},
        {"full", "MessageTimeout=5",
         "level full was reduced to quick by level_max in nettopo.conf; budget 5 s was reduced to "
         "2 s by MessageTimeout in slurm.conf",
         NT_LEVEL_QUICK, NT_LEVEL_QUICK, 2},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_request request = {0};
        struct nt_slurm_conf slurm;
        struct nt_conf conf;
        nt_conf_default(&conf);
        conf.level_max = table[k].level_max;
        nt_slurm_conf_parse(&slurm, table[k].slurm, strlen(table[k].slurm));
        nt_option_parse(table[k].option, &request.option, NULL);
        double budget_s = nt_request_limit(&request, &conf, &slurm);
        assert_true(budget_s == table[k].budget_s && request.option.budget_s == budget_s);
        assert_int_equal(request.option.level, table[k].level);
        assert_string_equal(request.limit_note, table[k].cut);
    }
}

/* The level of nettopo.conf is for jobs that name none. */
TEST(a_job_without_a_level_gets_the_configured_one)
{
    static const struct {
        const char *conf, *option;
        enum nt_level level;
        bool is_auto;
        const char *cut;
    } table[] = {
        {"", "", NT_LEVEL_STANDARD, false, ""},
        {"level = full", "apply", NT_LEVEL_FULL, false, ""},
        {"level = full", "quick", NT_LEVEL_QUICK, false, ""},
        {"level = full\nlevel_max = quick", "", NT_LEVEL_QUICK, false,
         "level full was reduced to quick by level_max in nettopo.conf"},
        {"level = auto", "", NT_LEVEL_STANDARD, true, ""},
        {"level = auto", "standard", NT_LEVEL_STANDARD, false, ""},
        {"level = auto\nlevel_max = quick", "budget=2", NT_LEVEL_QUICK, true, ""},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_request request = {0};
        struct nt_slurm_conf slurm;
        struct nt_conf conf;
        nt_conf_default(&conf);
        assert_int_equal(nt_conf_parse("f", table[k].conf, strlen(table[k].conf), &conf, NULL), 0);
        nt_slurm_conf_parse(&slurm, "", 0);
        nt_option_parse(table[k].option, &request.option, NULL);
        nt_request_limit(&request, &conf, &slurm);
        assert_int_equal(request.option.level, table[k].level);
        assert_int_equal(request.option.level_auto, table[k].is_auto);
        assert_string_equal(request.limit_note, table[k].cut);
    }
}

RUN_TESTS
