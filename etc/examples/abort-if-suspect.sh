#!/bin/bash
#SBATCH --nettopo=standard
#SBATCH --nodes=4 --ntasks-per-node=1
# A long job that rather ends at once than run over a sick link:
#   sbatch abort-if-suspect.sh srun ./app ARGUMENTS
suspects=$(jq -r '.links[] | select(.suspect)
    | "\(.a) - \(.b): \(.latency_us) us, \(.bandwidth_MBps // "?") MB/s"' "$NETTOPO_MAP") || exit 3
missing=$(jq -r '.nodes[] | select(.status == "missing") | "\(.name): no answer"' "$NETTOPO_MAP")
if [ -n "$suspects$missing" ]; then
    printf 'not started, the network is not well:\n%s\n' "$suspects$missing" >&2
    exit 1
fi
exec "$@"
