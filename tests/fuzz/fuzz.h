/* SPDX-License-Identifier: Apache-2.0 */
/* The head of every fuzzer: libFuzzer calls its function with any bytes. */
#ifndef NT_FUZZ_H
#define NT_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
