/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON text while it is written: the writer adds the separators.
 *
 * A container is tall (an item a line) or flat (all in one line); compact texts have no blanks at
 * all. Names and values come in the order of the calls. {0} begins a text; its buffer is finished
 * (nt_strbuf_finish) when every container has been ended. */
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
    void *base[NT_JSON_BASES]; /* of fields in tables; 0 is the row */
    void *row, *value;
    size_t index; /* of the item at hand */
};

/* name NULL, here and below: an item of an array, or the whole text. bracket: '{' or '['. */
void nt_json_begin(struct nt_json_writer *w, const char *name, char bracket, bool tall);
void nt_json_end(struct nt_json_writer *w, char bracket);

/* Quotes and backslashes are escaped; control characters and bytes beyond ASCII become '?'. */
void nt_json_put_text(struct nt_json_writer *w, const char *name, const char *value);

/* To NT_JSON_DIGITS digits, without an exponent where a reader may not want one; nothing at all
 * when it is not finite. */
void nt_json_put_number(struct nt_json_writer *w, const char *name, double value);

/* To this many digits; null if it is not finite. */
void nt_json_put_figure(struct nt_json_writer *w, const char *name, double value, int digits);

void nt_json_put_whole(struct nt_json_writer *w, const char *name, uint64_t value);
void nt_json_put_flag(struct nt_json_writer *w, const char *name, bool value);

/* The fields of a table into the object that is open, from the row and the bases. */
void nt_json_put_fields(struct nt_json_writer *w, const struct nt_json_field *fields);

#endif
