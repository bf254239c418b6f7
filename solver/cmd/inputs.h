/* SPDX-License-Identifier: Apache-2.0 */
/* Networks and matrices of measurements, from whichever program wrote them.
 * Tests: bats/commands.bats. */
#ifndef NT_INPUTS_H
#define NT_INPUTS_H

#include <stdbool.h>

#include "err.h"
#include "map.h"
#include "matrix_csv.h"
#include "name_file.h"

/* The latency of links that have none in the description: the figures of `simulate`'s topologies.
 */
struct nt_assumed {
    double host_link_us, switch_link_us;
    size_t links; /* out: how many got one */
};

/* A description of a network, and what options say of it; NULL: nothing. */
struct nt_described {
    const char *path;
    const char *names;    /* the file of --names, for a scan of ibnetdiscover */
    const char *topology; /* the one of that name in a topology.yaml; NULL: the cluster's */
};

/* The format is recognised by the text: a map (JSON), DOT, TGF, ibnetdiscover, topology.yaml or
 * topology.conf. An option that is not for it is NT_ERR_USAGE. What is strange about a description
 * is told on standard error. */
int nt_reference_read(const struct nt_described *from, struct nt_map **out, struct nt_err *err);

/* The same with a latency for every link, so that it can be simulated; NT_ERR_INPUT if it is in
 * parts without a link between them. */
int nt_reference_read_whole(const struct nt_described *from, struct nt_assumed *assumed,
                            struct nt_map **out, struct nt_err *err);

/* The file of --names, freed by nt_name_file_fini. */
int nt_names_read(const char *path, struct nt_name_file *out, struct nt_err *err);

enum nt_matrix_text {
    NT_TEXT_ANY, /* recognised by its first lines; any other text is a matrix CSV */
    NT_TEXT_CSV,
    NT_TEXT_MPIGRAPH,  /* bandwidths */
    NT_TEXT_BENCHMARK, /* both, each block of one kind */
    NT_TEXT_PARUS,     /* latencies, one matrix per message size */
};

/* csv, mpigraph, benchmark (osu is the same), parus; NULL: any. NT_ERR_USAGE for another word. */
int nt_matrix_text_named(const char *name, enum nt_matrix_text *text, struct nt_err *err);

/* The file's matrices of this kind: one, or one per message size of PARUS. A CSV is read as a
 * stream, the other texts are bounded. given: what a CSV does not say; NT_ERR_USAGE with another
 * text. Freed by nt_named_matrix_destroy. */
int nt_matrices_read(const char *path, enum nt_matrix_text text, enum nt_matrix_kind kind,
                     const struct nt_csv_given *given, struct nt_named_matrix **out,
                     struct nt_err *err);

/* Is the file a measurement: the record of a sweep, or matrices? A map, and what is no regular
 * file, is none. */
bool nt_is_measurement(const char *path);

/* The figures of a measurement with messages of this size, 0: of the smallest. The record of a
 * sweep has latencies only. */
int nt_measurement_read(const char *path, enum nt_matrix_kind kind, double message_bytes,
                        struct nt_named_matrix **out, struct nt_err *err);

#endif
