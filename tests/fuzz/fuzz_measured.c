/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as measurements of a fixed network; what is read is estimated. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "estimate_json.h"
#include "estimate_routes.h"
#include "routes_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char routes[] = "a b 1 2\na c 1 5 6 3\na d 1 5 6 4\nb c 2 5 6 3\nb d 2 5 6 4\n"
                             "c d 3 4\nd c 4 3\nc a 3 7 1\ne a 8 1\n";

static struct nt_routes_text *read_routes(void)
{
    struct nt_routes_reader *reader;
    struct nt_routes_text *text;
    if (nt_routes_reader_create("routes", &reader, NULL) != 0 ||
        nt_routes_reader_feed(reader, routes, strlen(routes), NULL) != 0 ||
        nt_routes_reader_finish(reader, &text, NULL) != 0)
        abort();
    nt_routes_reader_destroy(reader);
    return text;
}

static void estimate(const struct nt_routes_text *text, const struct nt_measured *measured)
{
    struct nt_estimate *e;
    char *json;
    if (nt_estimate_routes(text->routes, measured, &e, NULL) != 0)
        return;
    if (nt_estimate_write(e, text->hosts.name, text->links.name, &json, NULL, NULL) == 0)
        free(json);
    nt_estimate_destroy(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nt_routes_text *text = read_routes();
    struct nt_measured_reader *reader;
    struct nt_measured *measured;
    struct nt_err err;
    if (nt_measured_reader_create("fuzz", text, &reader, &err) == 0) {
        if (nt_measured_reader_feed(reader, (const char *)data, size, &err) == 0 &&
            nt_measured_reader_finish(reader, &measured, &err) == 0) {
            estimate(text, measured);
            nt_measured_destroy(measured);
        }
        nt_measured_reader_destroy(reader);
    }
    nt_routes_text_destroy(text);
    return 0;
}
