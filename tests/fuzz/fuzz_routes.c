/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as routes, in two pieces; what is read is planned when it is small. */
#include "../in_pieces.h"
#include "fuzz.h"
#include "plan_json.h"
#include "plan_routes.h"
#include "routes_text.h"

static void plan(const struct nt_routes_text *text)
{
    struct nt_plan *plan;
    struct nt_err err;
    char *json;
    if (text->routes->pairs > 40 ||
        nt_plan_routes(text->routes, 1 + (double)(text->routes->pairs % 3), 1, &plan, &err) != 0)
        return;
    if (plan->pairs < plan->rank || plan->rounds < plan->lower_bound)
        abort();
    if (nt_plan_write(plan, text->hosts.name, &json, NULL, &err) == 0)
        free(json);
    nt_plan_destroy(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct in_pieces pieces = {(const char *)data, size, size / 2 + 1};
    const struct nt_text_source source = pieces_source("fuzz", &pieces);
    struct nt_routes_text *text;
    struct nt_err err;
    if (nt_routes_read(&source, NULL, &text, &err) == 0) {
        plan(text);
        nt_routes_text_destroy(text);
    }
    return 0;
}
