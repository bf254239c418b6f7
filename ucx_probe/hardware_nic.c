/* SPDX-License-Identifier: Apache-2.0 */
/* A network device in sysfs: class/net/eth0/device and class/infiniband/mlx5_0/device lead to
 * devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0, which is its path from the PCI root. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hardware.h"

/* 0000:3b:00.0 */
static bool is_pci_address(const char *at, size_t bytes)
{
    static const char form[] = "xxxx:xx:xx.x";
    if (bytes != sizeof form - 1)
        return false;
    for (size_t k = 0; k < bytes; k++)
        if (form[k] == 'x' ? strchr("0123456789abcdef", at[k]) == NULL : at[k] != form[k])
            return false;
    return true;
}

/* The addresses along a path, which may go on below the device (virtio0). False: there are none, or
 * more than fit. */
static bool read_pci_path(const char *path, char pci[NT_MACHINE_PCI_BYTES])
{
    size_t used = 0;
    for (const char *at = path; *at != '\0';) {
        size_t bytes = strcspn(at, "/");
        if (is_pci_address(at, bytes)) {
            if (used + bytes + 2 > NT_MACHINE_PCI_BYTES)
                return false;
            if (used > 0)
                pci[used++] = '/';
            memcpy(pci + used, at, bytes);
            used += bytes;
        }
        at += bytes;
        at += *at == '/';
    }
    pci[used] = '\0';
    return used > 0;
}

static int32_t read_numa_node(const char *device)
{
    char path[PATH_MAX], text[16] = "";
    if (snprintf(path, sizeof path, "%s/numa_node", device) >= (int)sizeof path)
        return -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    long node = n > 0 ? strtol(text, NULL, 10) : -1;
    return node >= 0 && node < 1 << 20 ? (int32_t)node : -1;
}

void nt_hardware_locate_nic(const char *sys, struct nt_nic *nic)
{
    static const char *const classes[] = {"net", "infiniband"};
    size_t bytes = strcspn(nic->name, ":"); /* without the port */
    if (bytes == 0 || memchr(nic->name, '/', bytes) != NULL || nic->name[0] == '.')
        return;
    for (size_t k = 0; k < sizeof classes / sizeof *classes; k++) {
        char link[PATH_MAX], device[PATH_MAX], pci[NT_MACHINE_PCI_BYTES];
        snprintf(link, sizeof link, "%.1000s/class/%s/%.*s/device", sys, classes[k], (int)bytes,
                 nic->name);
        if (realpath(link, device) == NULL || !read_pci_path(device, pci))
            continue;
        memcpy(nic->pci, pci, sizeof pci);
        nic->numa = read_numa_node(device);
        return;
    }
}
