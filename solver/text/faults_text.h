/* SPDX-License-Identifier: Apache-2.0 */
/* Findings and populations (core/fault.h) as texts: words of a map's JSON, in NETTOPO_FINDINGS,
 * and as a sentence.
 * Tests: test_faults.c, test_map_json.c. */
#ifndef NT_FAULTS_TEXT_H
#define NT_FAULTS_TEXT_H

#include "map.h"
#include "strbuf.h"

/* "link-narrow", "us" or "MB/s", "both". */
extern const char *const nt_fault_kind_names[NT_FAULT_KINDS];
extern const char *const nt_fault_way_names[NT_FAULT_WAYS];
const char *nt_fault_unit(const struct nt_fault *fault);

/* "link-narrow n5 s3 4.7/11.7 MB/s 0.99", all of them with ';' between, in at most that many bytes:
 * what does not fit is left out. */
void nt_faults_put_line(struct nt_strbuf *to, const struct nt_map *map, size_t bytes_max);

/* "link n5 - s3 is narrow upwards: 4.7 MB/s, expected 11.7 (98 % certain), or host n5 is the
 * cause" */
void nt_fault_put_sentence(struct nt_strbuf *to, const struct nt_map *map,
                           const struct nt_fault *fault);

/* "12 hosts at 100 Gbit/s, 4 hosts at 50 Gbit/s"; latencies where rates do not differ. Nothing
 * without populations. */
void nt_populations_put(struct nt_strbuf *to, const struct nt_map *map);

#endif
