/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>

#include "asserts.h"
#include "device_network.h"

TEST(an_address_and_its_mask_give_a_network)
{
    static const struct {
        int family;
        const char *address, *mask, *network;
    } table[] = {
        {AF_INET, "10.77.3.1", "255.255.128.0", "10.77.0.0/17"},
        {AF_INET, "192.168.255.254", "255.255.255.254", "192.168.255.254/31"},
        {AF_INET, "10.0.0.1", "255.255.255.255", "10.0.0.1/32"},
        {AF_INET, "10.0.0.1", "0.0.0.0", "0.0.0.0/0"},
        {AF_INET6, "fd00:1:2:3::17", "ffff:ffff:ffff:ffff::", "fd00:1:2:3::/64"},
        {AF_INET6, "fd00::ff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fff0", "fd00::f0/124"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        unsigned char address[16], mask[16];
        char text[NT_NETWORK_BYTES];
        assert_int_equal(inet_pton(table[k].family, table[k].address, address), 1);
        assert_int_equal(inet_pton(table[k].family, table[k].mask, mask), 1);
        nt_device_network_format(table[k].family, address, mask, text);
        assert_string_equal(text, table[k].network);
    }
}

TEST(devices_are_found_by_name)
{
    char text[NT_NETWORK_BYTES];
    nt_device_network_find("lo", text);
    if (strcmp(text, "-") != 0) /* it may be down in a namespace */
        assert_string_equal(text, "127.0.0.0/8");
    nt_device_network_find("mlx5_0:1", text);
    assert_string_equal(text, "-");
    nt_device_network_find("", text);
    assert_string_equal(text, "-");
}

/* In a network namespace lo is there, up or not; where it is up nothing is wrong with it. */
TEST(a_device_that_cannot_be_used_is_named)
{
    static const struct {
        const char *devices, *fault;
    } table[] = {
        {NULL, ""},
        {"", ""},
        {"all", ""},
        {"mlx5_0:1", ""},
        {"fab7", "fab7 does not exist on this host"},
        {"mlx5_0:1,fab7,fab8", "fab7 does not exist on this host"},
        {"a-name-of-a-device-that-is-too-long", ""},
    };
    char text[NT_NETWORK_BYTES];
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        nt_device_network_fault(table[k].devices, text);
        assert_string_equal(text, table[k].fault);
    }
    nt_device_network_fault("lo", text);
    if (text[0] != '\0')
        assert_string_equal(text, "lo is down");
}

RUN_TESTS
