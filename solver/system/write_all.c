/* SPDX-License-Identifier: Apache-2.0 */
#include "write_all.h"

#include <errno.h>
#include <unistd.h>

int nt_write_all(int fd, const void *from, size_t bytes)
{
    const unsigned char *data = from;
    while (bytes > 0) {
        ssize_t n = write(fd, data, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        data += n;
        bytes -= (size_t)n;
    }
    return 0;
}
