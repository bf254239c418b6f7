/* SPDX-License-Identifier: Apache-2.0 */
/* Writes to a descriptor without short writes. The agent's root part links this file, so it must
 * not open files by name (file_write.h does).
 * Tests: test_publish.c, test_artifacts.c. */
#ifndef NT_WRITE_ALL_H
#define NT_WRITE_ALL_H

#include <stddef.h>

/* Writes all bytes, also after signals. Returns -1 with errno set. */
int nt_write_all(int fd, const void *from, size_t bytes);

#endif
