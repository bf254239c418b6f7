/* Rank 0 after the sweep: solves, and hands the papers to whoever started it. */
#ifndef NT_REPORT_H
#define NT_REPORT_H

#include "conduct.h"
#include "meet.h"

/* In the prolog: every paper to the agents, then the end. Once this is called the end is told in
 * any case: when something fails, as "failed" with the reason. */
int nt_report_to_agent(struct nt_meet *meet, const struct nt_conducted *done, struct nt_err *err);

/* By hand: the map to map_path ("-": to fd), the record to samples_path (NULL: none). Files are
 * written beside and renamed. */
int nt_report_by_hand(const struct nt_conducted *done, const char *map_path,
                      const char *samples_path, int fd, struct nt_err *err);

#endif
