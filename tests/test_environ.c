/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "environ.h"

static const char *value_of(const struct nt_environ *environ, const char *name)
{
    for (size_t k = 0; k < environ->count; k++)
        if (strcmp(environ->var[k].name, name) == 0)
            return environ->var[k].value;
    return NULL;
}

static bool all_but_rankfile(const void *context, const char *file)
{
    (void)context;
    return strcmp(file, "rankfile") != 0;
}

TEST(known_lines_become_variables)
{
    static const char text[] = "NETTOPO_STATUS=partial\n"
                               "NETTOPO_REASON=host n3 did not answer: 5 % of = signs\n"
                               "NETTOPO_MAP=map.json\n"
                               "NETTOPO_JSON={\"a\": \"b=c\"}\n"
                               "NETTOPO_NODE_ORDER=n1,n2.x,n-3_4\n"
                               "NETTOPO_HOSTFILE=hostfile\n"
                               "NETTOPO_RANKFILE=rankfile\n"
                               "NETTOPO_RANK_ORDER=rankorder\n"
                               "NETTOPO_GAIN=1.25\n"
                               "NETTOPO_FINDINGS=link-narrow n5 s3 4.7/11.7 MB/s 0.99\n"
                               "NETTOPO_NET_DEVICES=mlx5_0:1,fab-1.2\n"
                               "NETTOPO_LOG=sweep.log\n"
                               "SLURM_HOSTFILE=hostfile\n"
                               "SLURM_DISTRIBUTION=arbitrary\n";
    for (int apply = 0; apply <= 1; apply++) {
        struct nt_environ_options options = {
            .dir = "/run/nettopo/42", .apply = apply == 1, .has = all_but_rankfile};
        struct nt_environ environ;
        must(nt_environ_read(text, sizeof text - 1, &options, &environ, &err));
        assert_int_equal(environ.count, apply ? 13 : 11);
        assert_string_equal(value_of(&environ, "NETTOPO_STATUS"), "partial");
        assert_string_equal(value_of(&environ, "NETTOPO_REASON"),
                            "host n3 did not answer: 5 % of = signs");
        assert_string_equal(value_of(&environ, "NETTOPO_MAP"), "/run/nettopo/42/map.json");
        assert_string_equal(value_of(&environ, "NETTOPO_JSON"), "{\"a\": \"b=c\"}");
        assert_string_equal(value_of(&environ, "NETTOPO_NODE_ORDER"), "n1,n2.x,n-3_4");
        assert_string_equal(value_of(&environ, "NETTOPO_HOSTFILE"), "/run/nettopo/42/hostfile");
        assert_null(value_of(&environ, "NETTOPO_RANKFILE")); /* the file does not exist */
        assert_string_equal(value_of(&environ, "NETTOPO_RANK_ORDER"), "/run/nettopo/42/rankorder");
        assert_string_equal(value_of(&environ, "NETTOPO_GAIN"), "1.25");
        assert_string_equal(value_of(&environ, "NETTOPO_FINDINGS"),
                            "link-narrow n5 s3 4.7/11.7 MB/s 0.99");
        assert_string_equal(value_of(&environ, "NETTOPO_LOG"), "/run/nettopo/42/sweep.log");
        if (apply) {
            assert_string_equal(value_of(&environ, "SLURM_HOSTFILE"), "/run/nettopo/42/hostfile");
            assert_string_equal(value_of(&environ, "SLURM_DISTRIBUTION"), "arbitrary");
        }
        nt_environ_fini(&environ);
        nt_environ_fini(&environ);
    }
}

TEST(one_wrong_line_rejects_the_text)
{
    static const struct {
        const char *text, *says;
    } table[] = {
        {"", "hint.env: NETTOPO_STATUS is missing"},
        {"NETTOPO_GAIN=1\n", "hint.env: NETTOPO_STATUS is missing"},
        {"NETTOPO_STATUS=ok", "hint.env:1: expected a newline at the end"},
        {"NETTOPO_STATUS=ok\nNETTOPO_GA", "hint.env:2: expected a newline at the end"},
        {"NETTOPO_STATUS=fine\n", "hint.env:1: invalid value of NETTOPO_STATUS"},
        {"NETTOPO_STATUS=\n", "hint.env:1: invalid value of NETTOPO_STATUS"},
        {"NETTOPO_STATUS=ok\n\n", "hint.env:2: expected NAME=VALUE"},
        {"NETTOPO_STATUS=ok\nNETTOPO_STATUS=ok\n", "hint.env:2: NETTOPO_STATUS is set twice"},
        {"NETTOPO_STATUS=ok\nLD_PRELOAD=/x.so\n",
         "hint.env:2: \"LD_PRELOAD\" is not a variable of nettopo"},
        {"NETTOPO_STATUS=ok\nPATH=/x\n", "\"PATH\" is not a variable of nettopo"},
        {"NETTOPO_STATUS=ok\n=x\n", "\"\" is not a variable of nettopo"},
        {"NETTOPO_STATUS=ok\nNETTOPO_MAPS=map.json\n",
         "\"NETTOPO_MAPS\" is not a variable of nettopo"},
        {"NETTOPO_STATUS=ok\nnettopo_map=map.json\n",
         "\"nettopo_map\" is not a variable of nettopo"},
        {"NETTOPO_STATUS=ok\nNETTOPO_MAP=/etc/shadow\n", "invalid value of NETTOPO_MAP"},
        {"NETTOPO_STATUS=ok\nNETTOPO_MAP=../1/map.json\n", "invalid value of NETTOPO_MAP"},
        {"NETTOPO_STATUS=ok\nNETTOPO_MAP=hostfile\n", "invalid value of NETTOPO_MAP"},
        {"NETTOPO_STATUS=ok\nNETTOPO_MAP=\n", "invalid value of NETTOPO_MAP"},
        {"NETTOPO_STATUS=ok\nNETTOPO_HOSTFILE=/tmp/h\n", "invalid value of NETTOPO_HOSTFILE"},
        {"NETTOPO_STATUS=ok\nSLURM_HOSTFILE=/tmp/h\n", "invalid value of SLURM_HOSTFILE"},
        {"NETTOPO_STATUS=ok\nSLURM_DISTRIBUTION=block\n", "invalid value of SLURM_DISTRIBUTION"},
        {"NETTOPO_STATUS=ok\nNETTOPO_JSON=[]\n", "invalid value of NETTOPO_JSON"},
        {"NETTOPO_STATUS=ok\nNETTOPO_JSON={\n", "invalid value of NETTOPO_JSON"},
        {"NETTOPO_STATUS=ok\nNETTOPO_GAIN=\n", "invalid value of NETTOPO_GAIN"},
        {"NETTOPO_STATUS=ok\nNETTOPO_GAIN=nan\n", "invalid value of NETTOPO_GAIN"},
        {"NETTOPO_STATUS=ok\nNETTOPO_GAIN=1;id\n", "invalid value of NETTOPO_GAIN"},
        {"NETTOPO_STATUS=ok\nNETTOPO_FINDINGS=$(id)\n", "invalid value of NETTOPO_FINDINGS"},
        {"NETTOPO_STATUS=ok\nNETTOPO_NODE_ORDER=a b\n", "invalid value of NETTOPO_NODE_ORDER"},
        {"NETTOPO_STATUS=ok\nNETTOPO_NODE_ORDER=$(id)\n", "invalid value of NETTOPO_NODE_ORDER"},
        {"NETTOPO_STATUS=ok\nNETTOPO_REASON=\n", "invalid value of NETTOPO_REASON"},
        {"NETTOPO_STATUS=ok\nNETTOPO_NET_DEVICES=a;b\n", "invalid value of NETTOPO_NET_DEVICES"},
        {"NETTOPO_STATUS=ok\nNETTOPO_REASON=a\x1b[2J\n", "hint.env:2: expected NAME=VALUE"},
        {"NETTOPO_STATUS=ok\nNETTOPO_REASON=a\xc2\x9b"
         "2J\n",
         "hint.env:2: expected NAME=VALUE"},
        {"NETTOPO_STATUS=ok\r\n", "hint.env:1: expected NAME=VALUE"},
    };
    struct nt_environ_options options = {.dir = "/run/nettopo/42", .apply = true};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_environ environ;
        if (nt_environ_read(table[k].text, strlen(table[k].text), &options, &environ, &err) != -1)
            fail_msg("\"%s\" was taken", table[k].text);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        if (strstr(err.text, table[k].says) == NULL)
            fail_msg("\"%s\": %s", table[k].text, err.text);
    }
}

TEST(sizes_are_bounded)
{
    static char text[NT_ENVIRON_TEXT_MAX + 1];
    static const char head[] = "NETTOPO_STATUS=ok\nNETTOPO_JSON={";
    struct nt_environ_options options = {.dir = "/run/nettopo/42"};
    struct nt_environ environ;
    memset(text, 'a', sizeof text);
    assert_int_equal(nt_environ_read(text, sizeof text, &options, &environ, &err), -1);
    assert_non_null(strstr(err.text, "at most"));
    memcpy(text, head, sizeof head - 1);
    size_t value = (size_t)NT_ENVIRON_VALUE_MAX, start = sizeof head - 2;
    text[start + value - 1] = '}';
    text[start + value] = '\n';
    must(nt_environ_read(text, start + value + 1, &options, &environ, &err));
    assert_int_equal(strlen(value_of(&environ, "NETTOPO_JSON")), value);
    nt_environ_fini(&environ);
    text[start + value - 1] = 'a';
    text[start + value] = '}';
    text[start + value + 1] = '\n';
    assert_int_equal(nt_environ_read(text, start + value + 2, &options, &environ, &err), -1);
    static const char zero[] = "NETTOPO_STATUS=ok\0LD_PRELOAD=/x\n";
    assert_int_equal(nt_environ_read(zero, sizeof zero - 1, &options, &environ, &err), -1);
}

/* A reason of the length of an error text is valid. */
TEST(a_reason_is_as_long_as_an_error)
{
    static const char head[] = "NETTOPO_STATUS=failed\nNETTOPO_REASON=";
    char text[sizeof head + NT_ERR_TEXT_BYTES], longest[NT_ERR_TEXT_BYTES];
    struct nt_environ_options options = {.dir = "/run/nettopo/42"};
    struct nt_environ environ;
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    int n = snprintf(text, sizeof text, "%s%s\n", head, longest);
    must(nt_environ_read(text, (size_t)n, &options, &environ, &err));
    assert_string_equal(value_of(&environ, "NETTOPO_REASON"), longest);
    nt_environ_fini(&environ);
    memcpy(text + n - 1, "a\n", 2);
    assert_int_equal(nt_environ_read(text, (size_t)n + 1, &options, &environ, &err), -1);
}

RUN_TESTS
