#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --nettopo=standard
#SBATCH --nodes=4 --ntasks-per-node=1
# A long job that ends at once instead of running over a degraded link:
#   sbatch abort-if-suspect.sh srun ./app ARGUMENTS
suspects=$(jq -r '.links[] | select(.suspect)
    | "\(.a) - \(.b): \(.latency_us) us, \(.bandwidth_MBps // "?") MB/s"' "$NETTOPO_MAP") || exit 3
missing=$(jq -r '.nodes[] | select(.status == "missing") | "\(.name): no answer"' "$NETTOPO_MAP")
if [ -n "$suspects$missing" ]; then
    printf 'not started, the network has degraded links or missing hosts:\n%s\n' "$suspects$missing" >&2
    exit 1
fi
exec "$@"
