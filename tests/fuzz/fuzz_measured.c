/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as measurements of a fixed network; what is read is estimated. */
#include "../in_pieces.h"
#include "estimate_json.h"
#include "estimate_routes.h"
#include "fuzz.h"
#include "routes_text.h"

static const char routes[] = "a b 1 2\na c 1 5 6 3\na d 1 5 6 4\nb c 2 5 6 3\nb d 2 5 6 4\n"
                             "c d 3 4\nd c 4 3\nc a 3 7 1\ne a 8 1\n";

static struct nt_routes_text *read_routes(void)
{
    const struct in_pieces pieces = {routes, strlen(routes), 0};
    const struct nt_text_source source = pieces_source("routes", &pieces);
    struct nt_routes_text *text;
    if (nt_routes_read(&source, NULL, &text, NULL) != 0)
        abort();
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
    const struct in_pieces pieces = {(const char *)data, size, 0};
    const struct nt_text_source source = pieces_source("fuzz", &pieces);
    struct nt_measured *measured;
    struct nt_err err;
    if (nt_measured_read(&source, text, &measured, &err) == 0) {
        estimate(text, measured);
        nt_measured_destroy(measured);
    }
    nt_routes_text_destroy(text);
    return 0;
}
