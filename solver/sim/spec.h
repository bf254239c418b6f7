/* SPDX-License-Identifier: Apache-2.0 */
/* A topology as the command line names it: "tree:2x3x4". Words and numbers only; what it looks
 * like as a network is network.h's. Parsed from untrusted text: every number and every product is
 * bounded before anything is allocated.
 * Tests: test_network_routes.c, test_kernels.c. */
#ifndef NT_SPEC_H
#define NT_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "model.h"

enum nt_topology {
    NT_TOPOLOGY_STAR,      /* star:N            N hosts on one switch */
    NT_TOPOLOGY_TREE,      /* tree:AxBxC        A under the root, B under each, C hosts a leaf */
    NT_TOPOLOGY_FATTREE,   /* fattree:P,Q       P-port Q-tree: 2(P/2)^Q hosts */
    NT_TOPOLOGY_CHAIN,     /* chain:SxH         S switches in a line, H hosts on each */
    NT_TOPOLOGY_DRAGONFLY, /* dragonfly:GxRxH   G groups of R routers with H hosts each */
    NT_TOPOLOGY_ARIES, /* aries:GxAxBxH     groups of AxB routers, linked along rows and columns */
    NT_TOPOLOGY_DRAGONFLY_PLUS, /* dragonfly+:GxLxSxH  groups of L leaves and S spines */
    NT_TOPOLOGY_TORUS,          /* torus:AxB[xC...]  of hosts; torus:N and ring:N are a ring */
    NT_TOPOLOGY_MESH,           /* mesh:AxB[xC...]   a torus without its wraps */
    NT_TOPOLOGY_TWISTED_TORUS,  /* ttorus:AxB:TWIST  the wrap of B shifts by TWIST along A */
    NT_TOPOLOGY_HYPERCUBE,      /* hypercube:K       2^K hosts */
    NT_TOPOLOGY_FULL_MESH,      /* fullmesh:N        every host linked to every other */
};

enum { NT_SPEC_RAILS_MAX = 8 };

/* rails:R:SPEC is SPEC R times: each host has a link to each of them, and they meet nowhere else.
 * Behind TORUS and all after it may stand ",hosts=H": then each place is a switch with H hosts. */
struct nt_spec {
    enum nt_topology topology;
    uint32_t rails;      /* below 2: one */
    uint32_t dimensions; /* how many of: */
    uint32_t dimension[NT_DIMENSIONS_MAX];
    uint32_t twist;
    uint32_t hosts_each;           /* behind each switch; 0: the places are hosts */
    size_t hosts, switches, links; /* what it comes to, of one rail */
};

/* NT_ERR_USAGE with the word and what was expected. text is at most a few hundred bytes. */
int nt_spec_parse(const char *text, struct nt_spec *spec, struct nt_err *err);

/* Whether text begins with a topology's name and a colon: not a file's name then. */
bool nt_spec_names(const char *text);

#endif
