/* SPDX-License-Identifier: Apache-2.0 */
#include "oob.h"

#include <stdlib.h>

void nt_contributions_free(struct nt_contribution *contributions, size_t n)
{
    for (size_t i = 0; contributions != NULL && i < n; i++) {
        free(contributions[i].data);
        contributions[i] = (struct nt_contribution){0};
    }
}
