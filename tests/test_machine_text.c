/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "machine_text.h"

TEST(a_line_comes_back_as_it_was)
{
    static const char *const lines[] = {
        "packages=1 numa=1 cores=2 threads=2 allowed=2",
        "packages=2 numa=8 cores=128 threads=256 allowed=1 l2=1048576 l3=33554432",
        "packages=1 numa=0 cores=1 threads=1 allowed=1 cpu=A cpu of = and , words",
        ("packages=1 numa=1 cores=2 threads=2 allowed=2 nic=fab0 nic=mlx5_0:1,0000:3b:00.0 "
         "nic=mlx5_1:1,0000:3a:00.0/0000:3b:00.1,1 nic=a,,0 cpu=X"),
        ("packages=1 numa=1 cores=2 threads=2 allowed=2 nic=fab0,,,tcp "
         "nic=mlx5_0:1,0000:3b:00.0,0,rc_mlx5+ud_mlx5 gpu=0000:17:00.0 "
         "gpu=0000:31:00.0,1 gpu=0000:ca:00.0,,mlx5_0:1+mlx5_0:2 cpu=Y"),
    };
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
        struct nt_machine m;
        char text[NT_MACHINE_TEXT_BYTES];
        must(nt_machine_parse(lines[k], &m, &err));
        nt_machine_write(&m, text);
        assert_string_equal(text, lines[k]);
    }
}

TEST(fields_are_what_they_say)
{
    struct nt_machine m;
    must(nt_machine_parse("packages=2 numa=4 cores=64 threads=128 allowed=32 l3=9 "
                          "nic=mlx5_0:1,0:1/0:2,3 nic=eth0 cpu=An EPYC",
                          &m, &err));
    assert_true(m.packages == 2 && m.numas == 4 && m.cores == 64 && m.threads == 128 &&
                m.allowed == 32 && m.l2_bytes == 0 && m.l3_bytes == 9 && m.nics == 2);
    assert_string_equal(m.nic[0].name, "mlx5_0:1");
    assert_string_equal(m.nic[0].pci, "0:1/0:2");
    assert_int_equal(m.nic[0].numa, 3);
    assert_int_equal(m.nic[1].numa, -1);
    assert_string_equal(m.cpu, "An EPYC");
}

TEST(a_bad_line_is_refused)
{
    static const struct {
        const char *text, *says;
    } table[] = {
        {"", "expected packages"},
        {"packages=1 numa=1 cores=2 threads=2", "expected allowed"},
        {"packages=-1 numa=1 cores=2 threads=2 allowed=2", "a whole number in range"},
        {"packages=9999999 numa=1 cores=2 threads=2 allowed=2", "a whole number in range"},
        {"numa=1 packages=1 cores=2 threads=2 allowed=2", "expected packages"},
        {"packages=1 numa=1 cores=2 threads=2 allowed=2 nic=", "a network device"},
        {"packages=1 numa=1 cores=2 threads=2 allowed=2 nic=,a", "a network device"},
        {"packages=1 numa=1 cores=2 threads=2 allowed=2 nic=a,b,", "a network device"},
        {"packages=1 numa=1 cores=2 threads=2 allowed=2 nic=a,b,c", "number of a memory node"},
        {"packages=1 numa=1 cores=2 threads=2 allowed=2 nic=a,b,1,t,2", "a network device"},
        {"packages=1 numa=1 cores=2 threads=2 allowed=2 nic=a nic=a nic=a nic=a nic=a nic=a nic=a "
         "nic=a nic=a",
         "a network device"},
        {"packages=1 numa=1 cores=2 threads=2 allowed=2 nic=123456789012345678901234567890123",
         "a network device"},
        {"packages=1 numa=1 cores=2 threads=2 allowed=2 gpu=", "a GPU"},
        {"packages=1 numa=1 cores=2 threads=2 allowed=2 gpu=0:1,", "a GPU"},
        {"packages=1 numa=1 cores=2 threads=2 allowed=2 gpu=0:1,x", "number of a memory node"},
        {"packages=1 numa=1 cores=2 threads=2 allowed=2 gpu=0:1,1,a,b", "a GPU"},
        {"packages=1 numa=1 cores=2 threads=2 allowed=2 gpu=0000:17:00.0-too-long", "a GPU"},
        {"packages=1 numa=1 cores=2 threads=2 allowed=2 gpu=0:1 nic=a", "nothing more"},
        {"packages=1 numa=1 cores=2 threads=2 allowed=2 cpu=", "name of a processor"},
        {"packages=1 numa=1 cores=2 threads=2 allowed=2 what", "nothing more"},
        {"packages=1 numa=1 cores=2 threads=2 allowed=2 cpu=a\tb", "one short line"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_machine m;
        assert_int_equal(nt_machine_parse(table[k].text, &m, &err), -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        if (strstr(err.text, table[k].says) == NULL)
            fail_msg("%s: expected \"%s\", found \"%s\"", table[k].text, table[k].says, err.text);
    }
}

/* Whatever a system calls its parts. */
TEST(what_is_written_can_be_read)
{
    struct nt_machine m = {.threads = 1, .nics = NT_MACHINE_NICS_MAX}, again;
    char text[NT_MACHINE_TEXT_BYTES];
    memset(m.cpu, ' ', sizeof m.cpu - 1);
    memcpy(m.cpu + 3, "\x01 \xff,", 4);
    for (size_t k = 0; k < m.nics; k++) {
        memset(m.nic[k].name, ',', sizeof m.nic[k].name - 1);
        memset(m.nic[k].pci, ' ', sizeof m.nic[k].pci - 1);
        m.nic[k].numa = 1 << 19;
        memset(m.nic[k].transports, '+', sizeof m.nic[k].transports - 1);
    }
    m.gpus = NT_MACHINE_GPUS_MAX;
    for (size_t k = 0; k < m.gpus; k++) {
        memset(m.gpu[k].pci, ' ', sizeof m.gpu[k].pci - 1);
        memset(m.gpu[k].nics, ' ', sizeof m.gpu[k].nics - 1);
    }
    nt_machine_write(&m, text);
    assert_below(strlen(text), sizeof text);
    if (nt_machine_parse(text, &again, &err) != 0)
        fail_msg("%s: %s", text, err.text);
    assert_string_equal(again.cpu, "? ?,");
    assert_at_least(again.nics, 4); /* as many as fit */
}

RUN_TESTS
