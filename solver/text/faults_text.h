/* SPDX-License-Identifier: Apache-2.0 */
/* Findings and populations (core/fault.h) as text: the words in a map's JSON, NETTOPO_FINDINGS, and
 * sentences.
 * Tests: test_faults.c, test_map_json.c. */
#ifndef NT_FAULTS_TEXT_H
#define NT_FAULTS_TEXT_H

#include "map.h"
#include "strbuf.h"

/* "link-narrow", "us" or "MB/s", "both". */
extern const char *const nt_fault_kind_names[NT_FAULT_KINDS];
extern const char *const nt_fault_way_names[NT_FAULT_WAYS];
const char *nt_fault_unit(const struct nt_fault *fault);

/* Appends all findings such as "link-narrow n5 s3 4.7/11.7 MB/s 0.99", separated by ';', in at most
 * that many bytes; omits findings that do not fit. */
void nt_faults_put_line(struct nt_strbuf *to, const struct nt_map *map, size_t bytes_max);

/* "link n5 - s3 is narrow upwards: 4.7 MB/s, expected 11.7 (98 % certain), or host n5 is the
 * cause" */
void nt_fault_put_sentence(struct nt_strbuf *to, const struct nt_map *map,
                           const struct nt_fault *fault);

/* Appends "12 hosts at 100 Gbit/s, 4 hosts at 50 Gbit/s", or latencies if the rates do not differ.
 * Appends nothing without populations. */
void nt_populations_put(struct nt_strbuf *to, const struct nt_map *map);

#endif
