/* The START text. The room of the probe is not in the fuzzers' link: included. */
#include "start.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nt_start start;
    if (nt_start_parse((const char *)data, size, &start, NULL) == 0)
        nt_start_fini(&start);
    return 0;
}
