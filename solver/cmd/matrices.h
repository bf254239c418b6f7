/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices of measurements from whichever program wrote them.
 * Tests: bats/commands.bats. */
#ifndef NT_MATRICES_H
#define NT_MATRICES_H

#include "err.h"
#include "import.h"
#include "matrix.h"

enum nt_matrix_text {
    NT_TEXT_ANY, /* recognised by its first lines; any other text is a matrix CSV */
    NT_TEXT_CSV,
    NT_TEXT_MPIGRAPH, /* bandwidths */
    NT_TEXT_OSU,      /* both, each block of one kind */
    NT_TEXT_PARUS,    /* latencies, one matrix a message size */
};

/* csv, mpigraph, osu, parus; NULL: any. NT_ERR_USAGE for another word. */
int nt_matrix_text_named(const char *name, enum nt_matrix_text *text, struct nt_err *err);

/* The file's matrices of this kind, in the order of the text: one, of PARUS one a message size.
 * A CSV is read as a stream, the other texts are bounded. Freed by nt_matrix_series_destroy. */
int nt_matrices_read(const char *path, enum nt_matrix_text text, enum nt_matrix_kind kind,
                     struct nt_matrix_series **out, struct nt_err *err);

#endif
