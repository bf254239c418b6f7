/* SPDX-License-Identifier: Apache-2.0 */
/* The toy probe as a program of its own, for trying the agent on a cluster by hand. */
#include "toy_probe.h"

int main(int argc, char **argv)
{
    toy_exit(toy_probe(argc, argv));
}
