/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "networks.h"

static void hosts_of_one_network_and_others(void **state)
{
    (void)state;
    static const char *const host[] = {"n1", "n2", "n3"};
    static const struct {
        const char *list[3], *says;
    } table[] = {
        {{"fab0 10.77.0.0/17", "fab0 10.77.0.0/17", "fab0 10.77.0.0/17"}, ""},
        {{"", "", ""}, ""},
        {{NULL, NULL, NULL}, ""},
        {{"", "fab0 10.77.0.0/17", NULL}, ""},
        /* routed: each host has a network of its own */
        {{"eth0 10.0.0.0/31", "eth0 10.0.0.2/31", "eth0 10.0.0.4/31"}, ""},
        /* what differs in name alone */
        {{"enp1 10.0.0.0/24", "enp2 10.0.0.0/24", "enp1 10.0.0.0/24"}, ""},
        {{"fab0 10.77.0.0/17", "", "eth0 10.219.0.0/24"},
         "the hosts' devices do not lie in one network (n1: fab0 10.77.0.0/17; n3: eth0 "
         "10.219.0.0/24): name"},
        {{"fab0 10.77.0.0/17", "fab0 10.77.0.0/17,br0 172.17.0.0/16", ""},
         "UCX chose among devices of several networks (n2: fab0 10.77.0.0/17,br0 172.17.0.0/16)"},
        /* no list at all */
        {{"fab0 10.77.0.0/17", "eth0 \x1b[1m", "fab0 10.77.0.0/17"}, ""},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        char warning[NT_NETWORKS_WARNING_BYTES];
        nt_networks_judge(host, table[k].list, 3, warning);
        if (table[k].says[0] == '\0')
            assert_string_equal(warning, "");
        else
            assert_memory_equal(warning, table[k].says, strlen(table[k].says));
    }
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    static char name[300], list[128];
    char warning[NT_NETWORKS_WARNING_BYTES];
    memset(name, 'n', sizeof name - 1);
    memset(list, ',', sizeof list - 1);
    const char *host[] = {name}, *lists[] = {list};
    nt_networks_judge(host, lists, 1, warning);
    assert_non_null(strstr(warning, "UCX_NET_DEVICES"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_of_one_network_and_others),
        cmocka_unit_test(long_texts_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
