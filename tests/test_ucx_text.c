/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "ucx_text.h"

/* As UCX 1.13 and 1.18 print them here (tcp), and as their sources print the others. */
TEST(resources_of_networks_are_found)
{
    static const struct {
        const char *line, *name, *device;
    } table[] = {
        {"#     resource 3  :  md 1  dev 1  flags -- tcp/fab0\n", "tcp", "fab0"},
        {"#     resource 0  :  md 2  dev 2  flags -- rc_mlx5/mlx5_0:1", "rc_mlx5", "mlx5_0:1"},
        {"#     resource 1  :  md 2  dev 3  flags -- ud_verbs/mlx5_0:2", "ud_verbs", "mlx5_0:2"},
        {"#     resource 7  :  md 4  dev 5  flags -- srd/rdmap0s6:1", "srd", "rdmap0s6:1"},
        {"#     resource 2  :  md 1  dev 0  flags -- tcp/lo", NULL, NULL},
        {"#     resource 4  :  md 0  dev 3  flags -- self/memory", NULL, NULL},
        {"#     resource 5  :  md 3  dev 4  flags -- cuda_copy/cuda", NULL, NULL},
        {"#     md 1  :  component 1  tcp", NULL, NULL},
        {"#     resource 3  :  md 1  dev 1  flags -- tcp", NULL, NULL},
        {"#     resource 3  :  md 1  dev 1  flags -- tcp/", NULL, NULL},
        {"#     resource 3  :  md 1  dev 1  flags -- tcp/a-device-whose-name-is-longer-than-any",
         NULL, NULL},
        {"", NULL, NULL},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_ucx_transport t;
        bool found = nt_ucx_text_resource(table[k].line, &t);
        assert_int_equal(found, table[k].name != NULL);
        if (!found)
            continue;
        assert_string_equal(t.name, table[k].name);
        assert_string_equal(t.device, table[k].device);
    }
}

TEST(lanes_of_a_connection_are_found)
{
    static const struct {
        const char *line, *name, *device;
    } table[] = {
        {"#                 lane[0]:  3:tcp/fab0.0 md[1]  -> md[1]/tcp/sysdev[255] am am_bw#0 "
         "wireup\n",
         "tcp", "fab0"},
        {"#                 lane[1]:  2:tcp/eth0.100.1 md[1]  -> md[1]/tcp", "tcp", "eth0.100"},
        {"#                 lane[0]: 12:rc_mlx5/mlx5_0:1.0 md[4] -> addr[0].md[4]", "rc_mlx5",
         "mlx5_0:1"},
        {"#                 lane[2]: 14:dc_mlx5/mlx5_1:2.1 md[5] -> addr[0].md[5]", "dc_mlx5",
         "mlx5_1:2"},
        {"#                 lane[0]:  0:self/memory.0 md[0] -> md[0]", NULL, NULL},
        {"#                 lane[0]:  cm rdmacm", NULL, NULL},
        {"#                tag_send: 0..<egr/short>..8185", NULL, NULL},
        {"lane[", NULL, NULL},
        {"lane[0]:", NULL, NULL},
        {"lane[0]:3:", NULL, NULL},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_ucx_transport t;
        bool found = nt_ucx_text_lane(table[k].line, &t);
        assert_int_equal(found, table[k].name != NULL);
        if (!found)
            continue;
        assert_string_equal(t.name, table[k].name);
        assert_string_equal(t.device, table[k].device);
    }
}

TEST(a_list_has_each_word_once)
{
    char list[16] = "";
    nt_ucx_text_add(list, sizeof list, "rc");
    nt_ucx_text_add(list, sizeof list, "rc_x");
    nt_ucx_text_add(list, sizeof list, "rc");
    nt_ucx_text_add(list, sizeof list, "rc_x");
    assert_string_equal(list, "rc,rc_x");
    nt_ucx_text_add(list, sizeof list, "too-long-a");
    assert_string_equal(list, "rc,rc_x");
    nt_ucx_text_add(list, sizeof list, "1234567");
    assert_string_equal(list, "rc,rc_x,1234567");
}

RUN_TESTS
