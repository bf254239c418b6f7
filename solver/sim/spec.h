/* SPDX-License-Identifier: Apache-2.0 */
/* A topology on the command line: "tree:2x3x4". Words and numbers only; network.h builds the
 * network. Parsed from untrusted text: every number and product is limited before memory is
 * allocated.
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
    NT_TOPOLOGY_TREE,      /* tree:AxBxC A below the root, B below each, C hosts per leaf switch */
    NT_TOPOLOGY_FATTREE,   /* fattree:P,Q       P-port Q-tree: 2(P/2)^Q hosts */
    NT_TOPOLOGY_CHAIN,     /* chain:SxH         S switches in a line, H hosts on each */
    NT_TOPOLOGY_DRAGONFLY, /* dragonfly:GxRxH   G groups of R routers with H hosts each */
    NT_TOPOLOGY_ARIES, /* aries:GxAxBxH     groups of AxB routers, linked along rows and columns */
    NT_TOPOLOGY_DRAGONFLY_PLUS, /* dragonfly+:GxLxSxH  groups of L leaves and S spines */
    NT_TOPOLOGY_TORUS,          /* torus:AxB[xC...] of hosts; torus:N and ring:N are a ring */
    NT_TOPOLOGY_MESH,           /* mesh:AxB[xC...]   a torus without its wraps */
    NT_TOPOLOGY_TWISTED_TORUS,  /* ttorus:AxB:TWIST  the wrap of B shifts by TWIST along A */
    NT_TOPOLOGY_HYPERCUBE,      /* hypercube:K       2^K hosts */
    NT_TOPOLOGY_FULL_MESH,      /* fullmesh:N        every host linked to every other */
};

enum { NT_SPEC_RAILS_MAX = 8 };

/* rails:R:SPEC is SPEC R times: each host has a link to each copy, and the copies have no other
 * connection. TORUS and all after it may be followed by ",hosts=H": then each vertex is a switch
 * with H hosts. */
struct nt_spec {
    enum nt_topology topology;
    uint32_t rails;      /* below 2: one rail */
    uint32_t dimensions; /* number of entries in the next field */
    uint32_t dimension[NT_DIMENSIONS_MAX];
    uint32_t twist;
    uint32_t hosts_each;           /* hosts per switch; 0: the vertices are hosts */
    size_t hosts, switches, links; /* totals of one rail */
};

/* Parses a specification of at most a few hundred bytes. NT_ERR_USAGE: the error contains the word
 * and the expected form. */
int nt_spec_parse(const char *text, struct nt_spec *spec, struct nt_err *err);

/* Returns whether text starts with the name of a topology and a colon, and is therefore not the
 * name of a file. */
bool nt_spec_names(const char *text);

#endif
