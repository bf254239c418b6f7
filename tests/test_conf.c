/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "conf.h"

static struct nt_conf parsed(const char *text)
{
    struct nt_conf conf;
    nt_conf_default(&conf);
    must(nt_conf_parse("f", text, strlen(text), &conf, &err));
    return conf;
}

TEST(the_installed_file_states_the_defaults)
{
    FILE *file = fopen("etc/nettopo.conf", "r");
    if (file == NULL)
        skip(); /* not started from the top of the tree */
    static char text[NT_CONF_TEXT_MAX], plain[NT_CONF_TEXT_MAX];
    size_t bytes = fread(text, 1, sizeof text, file);
    fclose(file);
    /* each key stands there once, commented out, with its default */
    size_t out = 0;
    int keys = 0;
    for (size_t at = 0; at < bytes;) {
        const char *end = memchr(text + at, '\n', bytes - at);
        size_t line = end != NULL ? (size_t)(end - text) - at : bytes - at;
        if (line > 1 && text[at] == '#' && text[at + 1] != ' ') {
            memcpy(plain + out, text + at + 1, line - 1);
            out += line - 1;
            plain[out++] = '\n';
            keys++;
        }
        at += line + 1;
    }
    assert_int_equal(keys, 33);
    struct nt_conf conf, defaults;
    nt_conf_default(&defaults);
    memset(&conf, 0, sizeof conf);
    must(nt_conf_parse("etc/nettopo.conf", plain, out, &conf, &err));
    assert_int_equal(conf.enabled, defaults.enabled);
    assert_int_equal(conf.default_on, defaults.default_on);
    assert_int_equal(conf.level_max, defaults.level_max);
    assert_true(conf.level == defaults.level && !conf.level_auto);
    assert_true(conf.budget_default_s == defaults.budget_default_s);
    assert_true(conf.budget_max_s == defaults.budget_max_s);
    assert_int_equal(conf.port_first, defaults.port_first);
    assert_int_equal(conf.port_last, defaults.port_last);
    assert_int_equal(conf.reserved_ports, defaults.reserved_ports);
    assert_string_equal(conf.relay_user, defaults.relay_user);
    assert_string_equal(conf.probe_user, defaults.probe_user);
    assert_string_equal(conf.interface, defaults.interface);
    assert_int_equal(conf.shared_hosts, defaults.shared_hosts);
    assert_true(conf.max_load == defaults.max_load);
    assert_int_equal(conf.inline_limit_bytes, defaults.inline_limit_bytes);
    assert_int_equal(conf.publish_limit_bytes, defaults.publish_limit_bytes);
    assert_int_equal(conf.run_dir_limit_bytes, defaults.run_dir_limit_bytes);
    assert_int_equal(conf.block_hosts, defaults.block_hosts);
    assert_string_equal(conf.archive.dir, defaults.archive.dir);
    assert_int_equal(conf.archive.limit_bytes, defaults.archive.limit_bytes);
    assert_int_equal(conf.archive.mode, defaults.archive.mode);
    assert_string_equal(conf.fleet_store, defaults.fleet_store);
    assert_string_equal(conf.run_dir, defaults.run_dir);
    assert_string_equal(conf.munge_socket, defaults.munge_socket);
    assert_string_equal(conf.prior, defaults.prior);
    assert_string_equal(conf.net_devices, defaults.net_devices);
    assert_string_equal(conf.tls, defaults.tls);
    assert_string_equal(conf.admitted.users, defaults.admitted.users);
    assert_string_equal(conf.admitted.partitions, defaults.admitted.partitions);
    assert_int_equal(conf.log.agent, defaults.log.agent);
    assert_int_equal(conf.log.ucx, defaults.log.ucx);
}

TEST(every_key_is_read)
{
    struct nt_conf conf = parsed("enabled = no\n"
                                 "default=yes\r\n"
                                 "level = auto\n"
                                 "\tlevel_max  =  quick  # comment\n"
                                 "# whole line\n"
                                 "budget_default = 2.5\n"
                                 "budget_max = 6\n"
                                 "ports = 30000-30000\n"
                                 "reserved_ports = no\n"
                                 "shared_hosts = off\n"
                                 "max_load = 0.25\n"
                                 "inline_limit = 0\n"
                                 "publish_limit = 65536\n"
                                 "run_dir_limit = 9000000000\n"
                                 "block_hosts = 48\n"
                                 "archive = /srv/maps\n"
                                 "archive_limit = 65536\n"
                                 "archive_mode = 0640\n"
                                 "fleet_store = /srv/fleet\n"
                                 "run_dir = /srv/run#1\n"
                                 "prolog = /opt/nt prolog\n"
                                 "probe = /opt/probe\n"
                                 "relay_user = _relay-7\n"
                                 "probe_user = job\n"
                                 "interface = eth0\n"
                                 "munge_socket = /m.socket\n"
                                 "prior = /p/prior\n"
                                 "net_devices = mlx5_0:1,eth0\n"
                                 "debug = error\n"
                                 "ucx_log = diag\n"
                                 "users = alice,bob\n"
                                 "partitions = batch,large\n"
                                 "tls = tcp");
    assert_string_equal(conf.admitted.users, "alice,bob");
    assert_string_equal(conf.admitted.partitions, "batch,large");
    assert_false(conf.reserved_ports);
    assert_false(conf.enabled);
    assert_true(conf.default_on);
    assert_int_equal(conf.level_max, NT_LEVEL_QUICK);
    assert_true(conf.level_auto && conf.level == NT_LEVEL_STANDARD);
    const struct nt_conf full = parsed("level = full");
    assert_true(!full.level_auto && full.level == NT_LEVEL_FULL);
    assert_true(conf.budget_default_s == 2.5);
    assert_true(conf.budget_max_s == 6);
    assert_int_equal(conf.port_first, 30000);
    assert_int_equal(conf.port_last, 30000);
    assert_int_equal(conf.shared_hosts, NT_SHARED_OFF);
    assert_true(conf.max_load == 0.25);
    assert_int_equal(conf.inline_limit_bytes, 0);
    assert_int_equal(conf.publish_limit_bytes, 65536);
    assert_true(conf.run_dir_limit_bytes == 9000000000);
    assert_int_equal(conf.block_hosts, 48);
    assert_string_equal(conf.archive.dir, "/srv/maps");
    assert_int_equal(conf.archive.limit_bytes, 65536);
    assert_int_equal(conf.archive.mode, 0640);
    assert_string_equal(conf.fleet_store, "/srv/fleet");
    assert_string_equal(conf.run_dir, "/srv/run#1");
    assert_string_equal(conf.prolog, "/opt/nt prolog");
    assert_string_equal(conf.probe, "/opt/probe");
    assert_string_equal(conf.relay_user, "_relay-7");
    assert_string_equal(conf.probe_user, "job");
    assert_string_equal(conf.interface, "eth0");
    assert_string_equal(conf.munge_socket, "/m.socket");
    assert_string_equal(conf.prior, "/p/prior");
    assert_string_equal(conf.net_devices, "mlx5_0:1,eth0");
    assert_string_equal(conf.tls, "tcp");
    assert_int_equal(conf.log.agent, NT_LOG_ERROR);
    assert_string_equal(nt_ucx_log_name(conf.log.ucx), "diag");
}

TEST(a_wrong_line_is_named_with_its_file)
{
    static const struct {
        const char *text, *says;
    } table[] = {
        {"\n\nbudget = 5\n", "f:3: unknown key \"budget\""},
        {"Enabled = yes", "f:1: unknown key \"Enabled\""},
        {"enabled", "f:1: expected key = value, found \"enabled\""},
        {"= 3", "f:1: unknown key \"\""},
        {"an_extremely_long_key_that_does_not_fit_anywhere = 3", "f:1: unknown key"},
        {"enabled = maybe", "f:1: enabled: expected yes or no, found \"maybe\""},
        {"enabled =", "f:1: enabled: expected yes or no"},
        {"level = best", "f:1: level: expected quick, standard, full or auto, found \"best\""},
        {"level_max = max", "f:1: level_max: expected quick"},
        {"budget_max = nan", "f:1: budget_max: expected seconds"},
        {"budget_max = 1e9", "f:1: budget_max: expected seconds"},
        {"budget_default = -1", "f:1: budget_default: expected seconds"},
        {"budget_max=2\nbudget_default=3", "f:2: budget_default (3 s) is above budget_max (2 s)"},
        {"budget_default = 8", "f:1: budget_default (8 s) is above budget_max (7 s)"},
        {"ports = 24500", "f:1: ports: expected FIRST-LAST"},
        {"ports = 0-90", "f:1: ports: expected FIRST-LAST between 1 and 65535"},
        {"ports = 30000-29999", "f:1: ports: expected"},
        {"ports = 30000-70000", "f:1: ports: expected"},
        {"ports = 30000 - 30001", "f:1: ports: expected"},
        {"shared_hosts = on", "f:1: shared_hosts: expected"},
        {"max_load = 0", "f:1: max_load: expected"},
        {"max_load = 1.001", "f:1: max_load: expected"},
        {"inline_limit = 122881", "f:1: inline_limit: expected"},
        {"inline_limit = 32k", "f:1: inline_limit: expected"},
        {"publish_limit = 1", "f:1: publish_limit: expected"},
        {"publish_limit = 99999999999999999999", "f:1: publish_limit: expected"},
        {"run_dir_limit = 65535", "f:1: run_dir_limit: expected"},
        {"block_hosts = 1", "f:1: block_hosts: expected"},
        {"block_hosts = 65537", "f:1: block_hosts: expected"},
        {"run_dir = run", "f:1: run_dir: expected an absolute path"},
        {"run_dir = /", "f:1: run_dir: expected"},
        {"run_dir = /run/../etc", "f:1: run_dir: expected"},
        {"run_dir = /run/..", "f:1: run_dir: expected"},
        {"probe = ", "f:1: probe: expected"},
        {"prolog = prolog", "f:1: prolog: expected"},
        {"relay_user = ", "f:1: relay_user: expected a user name"},
        {"interface = abcdefghijklmnop", "f:1: interface: expected the name of a network device"},
        {"probe_user = a:b", "f:1: probe_user: expected a user name"},
        {"relay_user = a b", "f:1: relay_user: expected a user name"},
        {"relay_user = abcdefghijklmnopqrstuvwxyz012345", "f:1: relay_user: expected a user name"},
        {"munge_socket = m", "f:1: munge_socket: expected"},
        {"prior = p", "f:1: prior: expected"},
        {"net_devices = a b", "f:1: net_devices: expected one word"},
        {"debug = yes", "f:1: debug: expected error, info or debug, found \"yes\""},
        {"ucx_log = trace", "f:1: ucx_log: expected fatal, error, warn, diag, info or debug"},
        {"tls = a\x01", "f:1: the value contains a control character"},
        {"enabled = yes\n\nenabled = yes", "f:3: enabled is already set on line 1"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_conf conf, before;
        nt_conf_default(&conf);
        before = conf;
        if (nt_conf_parse("f", table[k].text, strlen(table[k].text), &conf, &err) != -1)
            fail_msg("\"%s\" was taken", table[k].text);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        if (strncmp(err.text, table[k].says, strlen(table[k].says)) != 0)
            fail_msg("\"%s\": %s", table[k].text, err.text);
        assert_memory_equal(&conf, &before, sizeof conf);
    }
}

TEST(lowering_the_maximum_alone_lowers_the_default)
{
    struct nt_conf conf = parsed("budget_max = 3");
    assert_true(conf.budget_max_s == 3);
    assert_true(conf.budget_default_s == 3);
}

TEST(sizes_are_bounded)
{
    static char text[NT_CONF_TEXT_MAX + 1];
    struct nt_conf conf;
    nt_conf_default(&conf);
    memset(text, '\n', sizeof text);
    must(nt_conf_parse("f", text, sizeof text - 1, &conf, &err));
    assert_int_equal(nt_conf_parse("f", text, sizeof text, &conf, &err), -1);
    memset(text, 'a', sizeof text);
    memcpy(text, "probe = /", 9);
    assert_int_equal(nt_conf_parse("f", text, 8 + NT_CONF_PATH_BYTES, &conf, &err), -1);
    assert_non_null(strstr(err.text, "the value has 256 characters"));
    must(nt_conf_parse("f", text, 8 + NT_CONF_PATH_BYTES - 1, &conf, &err));
    assert_int_equal(nt_conf_parse("f", "en\0abled = yes", 14, &conf, &err), -1);
    assert_int_equal(nt_conf_parse("f", "tls = a\0b", 9, &conf, &err), -1);
}

/* A job that would have been measured is to learn why it is not. */
TEST(a_wrong_file_still_says_whether_all_jobs_are_measured)
{
    static const struct {
        const char *text, *says;
        bool default_on;
    } table[] = {
        {"nonsense = 1\n", "f:1: unknown key", false},
        {"default = yes\nnonsense = 1\n", "f:2: unknown key", true},
        {"nonsense = 1\nports = x\ndefault = yes\n", "f:1: unknown key", true},
        {"default = maybe\n", "f:1: default: expected", false},
        {"default = yes\ndefault = no\n", "f:2: default is already set", true},
        {"default = yes\nbudget_default = 9\n", "f:2: budget_default (9 s) is above", true},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_conf conf, before;
        nt_conf_default(&conf);
        before = conf;
        assert_int_equal(nt_conf_parse("f", table[k].text, strlen(table[k].text), &conf, &err), -1);
        assert_memory_equal(err.text, table[k].says, strlen(table[k].says));
        assert_int_equal(conf.default_on, table[k].default_on);
        conf.default_on = before.default_on;
        assert_memory_equal(&conf, &before, sizeof conf);
    }
}

TEST(lists_refuse_who_is_not_named)
{
    static const struct {
        const char *text, *user, *partition, *key; /* the key that refuses; NULL: none */
    } table[] = {
        {"users =", "alice", "batch", NULL},
        {"users =\npartitions =", NULL, NULL, NULL},
        {"users = alice", "alice", NULL, NULL},
        {"users = alice", "alic", "batch", "users"},
        {"users = alice", "alice2", "batch", "users"},
        {"users = bob,alice", "alice", "batch", NULL},
        {"users = bob,alice", "bob", "batch", NULL},
        {"users = bob,alice", "bob,alice", "batch", "users"},
        {"users = bob,alice", "", "batch", "users"},
        {"users = bob", NULL, "bob", "users"},
        {"users = ,", "", "batch", "users"},
        {"partitions = batch", "alice", "batch", NULL},
        {"partitions = batch", "batch", "debug", "partitions"},
        {"partitions = large,batch", "alice", "batc", "partitions"},
        {"partitions = large,batch", NULL, "large", NULL},
        {"partitions = batch", "alice", NULL, "partitions"},
        {"users = alice\npartitions = batch", "alice", "batch", NULL},
        {"users = alice\npartitions = batch", "alice", "debug", "partitions"},
        {"users = alice\npartitions = batch", "bob", "batch", "users"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_conf conf = parsed(table[k].text);
        const char *refusal = nt_conf_refusal(&conf, table[k].user, table[k].partition);
        char in[32];
        snprintf(in, sizeof in, "(%s in", table[k].key != NULL ? table[k].key : "");
        if ((refusal == NULL) != (table[k].key == NULL) ||
            (refusal != NULL && strstr(refusal, in) == NULL))
            fail_msg("row %zu, %s: %s", k, table[k].text, refusal);
    }
}

RUN_TESTS
