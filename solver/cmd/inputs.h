/* SPDX-License-Identifier: Apache-2.0 */
/* Reads networks and matrices of measurements in the formats of several programs.
 * Tests: bats/commands.bats. */
#ifndef NT_INPUTS_H
#define NT_INPUTS_H

#include <stdbool.h>

#include "err.h"
#include "map.h"
#include "matrix_csv.h"
#include "name_file.h"

/* Latencies for links that have none in the description: the values of `simulate`'s topologies. */
struct nt_assumed {
    double host_link_us, switch_link_us;
    size_t links; /* output: number of links that got one */
};

/* A description of a network, and options for it; NULL: not given. */
struct nt_network_description {
    const char *path;
    const char *names;    /* file of --names, for a scan of ibnetdiscover */
    const char *topology; /* name of a topology in a topology.yaml; NULL: the cluster's default */
};

/* Their options, with the members of struct arguments. */
#define NT_FLAG_NAMES(member)                                                                      \
    {                                                                                              \
        "names", 0, "FILE", NT_AT(member), 1,                                                      \
            "Names of the nodes in a scan of ibnetdiscover: lines 0xGUID \"NAME\""                 \
    }
#define NT_FLAG_TOPOLOGY(name, member)                                                             \
    {                                                                                              \
        name, 0, "NAME", NT_AT(member), 1,                                                         \
            "Topology to read if a topology.yaml contains several (default: the cluster's)"        \
    }

/* Reads a description. Recognizes the format by the text: a map (JSON), DOT, TGF, ibnetdiscover,
 * topology.yaml or topology.conf. An option for another format is NT_ERR_USAGE. Warnings about the
 * description are printed on standard error. */
int nt_reference_read(const struct nt_network_description *from, struct nt_map **out,
                      struct nt_err *err);

/* Reads a description and gives every link a latency, so that it can be simulated. NT_ERR_INPUT: it
 * has parts without a link between them. */
int nt_reference_read_connected(const struct nt_network_description *from,
                                struct nt_assumed *assumed, struct nt_map **out,
                                struct nt_err *err);

/* Reads the file of --names. The caller calls nt_name_file_fini. */
int nt_names_read(const char *path, struct nt_name_file *out, struct nt_err *err);

enum nt_matrix_text {
    NT_TEXT_ANY, /* recognized by its first lines; any other text is a matrix CSV */
    NT_TEXT_CSV,
    NT_TEXT_MPIGRAPH,  /* bandwidths */
    NT_TEXT_BENCHMARK, /* both kinds, each block of one */
    NT_TEXT_PARUS,     /* latencies, one matrix per message size */
};

/* Parses csv, mpigraph, benchmark (also osu) or parus; NULL: any. NT_ERR_USAGE for another word. */
int nt_matrix_text_named(const char *name, enum nt_matrix_text *text, struct nt_err *err);

/* Reads the file's matrices of this kind: one, or one per message size of PARUS. A CSV is read as a
 * stream; other texts are limited. given: facts that a CSV does not contain; NT_ERR_USAGE with
 * another format. The caller calls nt_named_matrix_destroy. */
int nt_matrices_read(const char *path, enum nt_matrix_text text, enum nt_matrix_kind kind,
                     const struct nt_csv_given *given, struct nt_named_matrix **out,
                     struct nt_err *err);

/* Returns whether the file contains a measurement: the samples of a sweep, or matrices. A map, or a
 * file that is not regular, does not. */
bool nt_is_measurement(const char *path);

/* Reads the values of a measurement with messages of this size; 0: the smallest. Samples contain
 * bandwidths of pairs only if a plan was measured. */
int nt_measurement_read(const char *path, enum nt_matrix_kind kind, double message_bytes,
                        struct nt_named_matrix **out, struct nt_err *err);

#endif
