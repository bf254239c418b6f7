/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <unistd.h>

#include <slurm/slurm_version.h>

#include "asserts.h"
#include "slurm_conf.h"

static struct nt_slurm_conf parsed(const char *text)
{
    struct nt_slurm_conf conf;
    nt_slurm_conf_parse(&conf, text, strlen(text));
    return conf;
}

TEST(lines_are_read_as_slurm_reads_them)
{
    struct nt_slurm_conf conf = parsed("ClusterName=c\n"
                                       "#MessageTimeout=99\n"
                                       " messagetimeout = 30 # seconds\r\n"
                                       "BatchStartTimeout=60\n"
                                       "XPrologTimeout=1\n"
                                       "PrologEpilogTimeout=40\n"
                                       "PrologFlags=Alloc,serial,DeferBatch");
    assert_int_equal(conf.message_timeout_s, 30);
    assert_int_equal(conf.batch_start_timeout_s, 60);
    assert_int_equal(conf.prolog_timeout_s, 40);
    assert_true(conf.serial);
}

TEST(what_is_missing_or_wrong_has_the_default)
{
    static const char *const texts[] = {"", "\n\n=\n", "MessageTimeout=soon\nPrologFlags=Alloc",
                                        "PrologEpilogTimeout=65534\nMessageTimeout=0",
                                        "MessageTimeout\nPrologFlags=SerialX,Alloc"};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        struct nt_slurm_conf conf = parsed(texts[k]);
        assert_int_equal(conf.message_timeout_s, 10);
        assert_int_equal(conf.batch_start_timeout_s, 10);
        assert_int_equal(conf.prolog_timeout_s, 0);
        assert_false(conf.serial);
    }
}

TEST(whether_prologs_start_with_the_job)
{
    static const struct {
        const char *text;
        bool alloc, defer_batch;
    } table[] = {
        {"PrologFlags=Alloc,DeferBatch", true, true},
        {"prologflags=alloc", true, false},
        {"PrologFlags=Contain", true, false},
        {"PrologFlags=X11,DeferBatch", true, true},
        {"PrologFlags=NoHold", true, false},
        {"PrologFlags=Serial", false, false},
        {"PrologFlags=DeferBatch", SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0), true},
        {"PrologFlags=\n", false, false},
        {"ClusterName=c\n#PrologFlags=Alloc\n", false, false},
        {"ClusterName=c\nPrologFlags=Other", false, false},
        /* what does not tell is not held against the cluster */
        {"", true, false},
        {"ClusterName=c\ninclude /etc/slurm/prolog.conf\n", true, false},
        {"Include /etc/slurm/nodes.conf\nPrologFlags=Other\n", false, false},
        {"IncludeX=1\n", false, false},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_slurm_conf conf = parsed(table[k].text);
        assert_int_equal(conf.alloc, table[k].alloc);
        assert_int_equal(conf.defer_batch, table[k].defer_batch);
    }
}

TEST(values_are_found_by_key)
{
    static const char text[] = "PluginDir=/a\n #PluginDir=/b\nplugindir = /c:/d # comment\nKey=\n";
    char value[16];
    assert_true(nt_slurm_conf_value(text, sizeof text - 1, "PluginDir", value, sizeof value));
    assert_string_equal(value, "/c:/d");
    assert_true(nt_slurm_conf_value(text, sizeof text - 1, "PluginDir", value, 3));
    assert_string_equal(value, "/c");
    assert_true(nt_slurm_conf_value(text, sizeof text - 1, "Key", value, sizeof value));
    assert_string_equal(value, "");
    assert_false(nt_slurm_conf_value(text, sizeof text - 1, "Plugin", value, sizeof value));
    assert_false(nt_slurm_conf_value(NULL, 0, "Key", value, sizeof value));
}

TEST(the_shortest_timeout_bounds_the_budget)
{
    static const struct {
        const char *text;
        double budget_s;
        const char *why;
    } table[] = {
        {"", 7, "MessageTimeout"},
        {"MessageTimeout=100", 17, "BatchStartTimeout"},
        {"MessageTimeout=100\nBatchStartTimeout=100", 97, "MessageTimeout"},
        {"MessageTimeout=100\nBatchStartTimeout=100\nPrologEpilogTimeout=30", 28,
         "PrologTimeout or PrologEpilogTimeout"},
        {"PrologTimeout=6", 4, "PrologTimeout or PrologEpilogTimeout"},
        {"MessageTimeout=2", 1, "MessageTimeout"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        const char *why = "";
        struct nt_slurm_conf conf = parsed(table[k].text);
        assert_true(nt_slurm_conf_budget_s(&conf, &why) == table[k].budget_s);
        assert_string_equal(why, table[k].why);
    }
}

TEST(the_file_is_that_of_the_environment)
{
    static const char text[] = "MessageTimeout=23\n";
    char path[] = "/tmp/nettopo-slurm-conf-XXXXXX";
    struct nt_slurm_conf conf;
    int fd = mkstemp(path);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    setenv("SLURM_CONF", path, 1);
    nt_slurm_conf_read(&conf);
    assert_int_equal(conf.message_timeout_s, 23);
    unlink(path);
    nt_slurm_conf_read(&conf);
    assert_int_equal(conf.message_timeout_s, 10);
    setenv("SLURM_CONF", "/", 1); /* opens, cannot be read */
    nt_slurm_conf_read(&conf);
    assert_int_equal(conf.message_timeout_s, 10);
}

RUN_TESTS
