#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --nettopo=standard
#SBATCH --nodes=4 --ntasks-per-node=1
# A long job that ends at once if the map has a finding, such as a degraded link:
#   sbatch abort-if-suspect.sh srun ./app ARGUMENTS
# A failed sweep does not stop the job.
set -euo pipefail
missing=
[ -z "${NETTOPO_MAP-}" ] ||
    missing=$(jq -r '.nodes[] | select(.status == "missing") | "\(.name): no answer"' "$NETTOPO_MAP")
if [ -n "$NETTOPO_FINDINGS$missing" ]; then
    printf 'not started, the network has degraded links or missing hosts:\n' >&2
    printf '%s\n' "$NETTOPO_FINDINGS" "$missing" | tr ';' '\n' | grep . >&2
    exit 1
fi
exec "$@"
