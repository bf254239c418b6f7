/* SPDX-License-Identifier: Apache-2.0 */
/* Any text: parse accepts or rejects it, and format and parse keep what it accepts. */
#include "fuzz.h"
#include "option.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nt_option one, two;
    struct nt_err err;
    char text[NT_OPTION_TEXT_BYTES];
    char *input = malloc(size + 1);
    if (input == NULL)
        return 0;
    memcpy(input, data, size);
    input[size] = '\0';
    if (nt_option_parse(input, &one, &err) == 0) {
        if (nt_option_format(&one, text, sizeof text, &err) != 0 ||
            nt_option_parse(text, &two, &err) != 0 || one.level != two.level ||
            one.off != two.off || one.apply != two.apply || one.budget_s != two.budget_s ||
            strcmp(one.pattern, two.pattern) != 0)
            abort();
    } else if (err.kind != NT_ERR_USAGE || strlen(err.text) == 0) {
        abort();
    }
    free(input);
    return 0;
}
