#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --nettopo=standard
#SBATCH --job-name=nettopo-nightly --exclusive --time=5
# A nightly check for administrators: does topology.conf declare the real network? From cron:
#   sbatch --wait --nodes=32 --mail-type=FAIL nightly-compare.sh /etc/slurm/topology.conf
# The job fails if they differ, and its output lists the differences. Each map is kept in MAPS for the
# next comparison (default: the directory of submission).
declared=${1:?usage: nightly-compare.sh TOPOLOGY.CONF}
maps=${MAPS:-$PWD}
[ "$NETTOPO_STATUS" != failed ] || { echo "no map: $NETTOPO_REASON" >&2; exit 4; }
cp "$NETTOPO_MAP" "$maps/nettopo-$SLURM_JOB_ID.json" || exit 4
nettopo compare "$NETTOPO_MAP" "$declared"
status=$?
# topology.conf has no values for links, so they are compared with the previous night
if [ -e "$maps/nettopo-last.json" ]; then
    nettopo compare "$NETTOPO_MAP" "$maps/nettopo-last.json" || status=$?
fi
ln -sfn "nettopo-$SLURM_JOB_ID.json" "$maps/nettopo-last.json"
exit $status
