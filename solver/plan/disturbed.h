/* How often readings are disturbed, and so how many passes over all pairs it takes.
 *
 * What shares a host, a link or the whole machine only ever adds to a latency. The lowest of
 * several readings of a pair is the truth as long as one of them was left alone; when none was, the
 * pair lies. The share of readings that are well above their pair's lowest tells how likely that
 * is: with a share q of them and k readings of a pair, q^k. Pure; memory is quadratic in hosts, for
 * few. */
#ifndef NT_DISTURBED_H
#define NT_DISTURBED_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum { NT_DISTURBED_HOSTS_MAX = 256, NT_DISTURBED_READINGS_MAX = 12 };

struct nt_disturbed {
    size_t hosts;
    float *us;      /* of each pair up to NT_DISTURBED_READINGS_MAX; owned */
    uint8_t *count; /* of each pair; owned */
};

/* Of more than NT_DISTURBED_HOSTS_MAX hosts nothing is kept. */
int nt_disturbed_init(struct nt_disturbed *disturbed, size_t hosts, struct nt_err *err);
void nt_disturbed_fini(struct nt_disturbed *disturbed);

/* Two different hosts; readings that are no time, or too many of a pair, do not count. */
void nt_disturbed_note(struct nt_disturbed *disturbed, uint32_t a, uint32_t b, double us);

/* How likely a reading is to be disturbed, from those a tenth or more above the lowest of their
 * pair that another one agrees with (the lowest of all, where none agrees); 0: none known. */
double nt_disturbed_share(const struct nt_disturbed *disturbed);

/* How many of the pairs that were read are to be expected to have disturbed readings alone. */
double nt_disturbed_pairs(const struct nt_disturbed *disturbed);

#endif
