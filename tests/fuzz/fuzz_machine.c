/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what a host is inside: an error, or a line that stays the same. */
#include "fuzz.h"
#include "machine_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), own[NT_MACHINE_TEXT_BYTES], again[NT_MACHINE_TEXT_BYTES];
    struct nt_machine machine;
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (nt_machine_parse(text, &machine, NULL) == 0) {
        nt_machine_write(&machine, own);
        if (nt_machine_parse(own, &machine, NULL) != 0)
            abort();
        nt_machine_write(&machine, again);
        if (strcmp(own, again) != 0)
            abort();
    }
    free(text);
    return 0;
}
