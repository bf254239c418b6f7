/* SPDX-License-Identifier: Apache-2.0 */
/* The environment that the probe gives itself before UCX loads (ucx_probe/probe.c), for tests that
 * call UCX: its constructor, before main, reads it and takes the signals that it names. */
#ifndef NT_TEST_UCX_ENVIRONMENT_H
#define NT_TEST_UCX_ENVIRONMENT_H

#include <stdlib.h>
#include <unistd.h>

/* Sets it and starts this program again, once; first in main. */
static void set_ucx_environment(char **argv)
{
    static const char guard[] = "NETTOPO_TEST_ENVIRONMENT";
    if (getenv(guard) != NULL)
        return;
    setenv(guard, "1", 1);
    setenv("UCX_HANDLE_ERRORS", "none", 1);
    setenv("UCX_DEBUG_SIGNO", "", 1);
    setenv("UCX_TCP_CONN_NB", "y", 1);
    setenv("UCX_WARN_UNUSED_ENV_VARS", "n", 1);
    setenv("UCX_VFS_ENABLE", "n", 1);
    setenv("UCX_TLS", "tcp,self", 1);
    setenv("UCX_NET_DEVICES", "lo", 1);
    execv("/proc/self/exe", argv);
}

#endif
