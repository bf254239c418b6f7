/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a JSON text; the writer adds the separators. A container is tall (one item per line) or
 * flat (on one line); compact texts have no spaces. Names and values appear in the order of the
 * calls. {0} starts a text. Call nt_strbuf_finish after every container has been ended. */
#ifndef NT_JSON_WRITE_H
#define NT_JSON_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "json_fields.h"
#include "strbuf.h"

enum { NT_JSON_DEPTH_MAX = 8, NT_JSON_DIGITS = 6 };

struct nt_json_writer {
    struct nt_strbuf buf;
    bool compact;
    unsigned depth;
    bool tall[NT_JSON_DEPTH_MAX], filled[NT_JSON_DEPTH_MAX];
    void *base[NT_JSON_BASES]; /* bases of fields in tables; 0 is the row */
    void *row, *value;
    size_t index; /* index of the current item */
};

/* Begins a container. name NULL, here and below: an item of an array, or the whole text. bracket:
 * '{' or '['. */
void nt_json_begin(struct nt_json_writer *w, const char *name, char bracket, bool tall);
void nt_json_end(struct nt_json_writer *w, char bracket);

/* Writes a text. Escapes quotes and backslashes; control characters and bytes other than ASCII
 * become '?'. */
void nt_json_put_text(struct nt_json_writer *w, const char *name, const char *value);

/* Writes a number with NT_JSON_DIGITS digits, without an exponent in the usual range
 * (nt_number_plain). Writes nothing if it is not finite. */
void nt_json_put_number(struct nt_json_writer *w, const char *name, double value);

/* Writes a number with that many digits, or null if it is not finite. */
void nt_json_put_figure(struct nt_json_writer *w, const char *name, double value, int digits);

void nt_json_put_whole(struct nt_json_writer *w, const char *name, uint64_t value);
void nt_json_put_flag(struct nt_json_writer *w, const char *name, bool value);

/* Writes the fields of a table into the open object, from the row and the bases. */
void nt_json_put_fields(struct nt_json_writer *w, const struct nt_json_field *fields);

#endif
