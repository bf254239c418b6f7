#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --nettopo=standard,pattern=ring
#SBATCH --nodes=4 --ntasks-per-node=2
# An MPI program whose ranks communicate in a ring, placed by the hint:
#   sbatch mpi.sh ./app ARGUMENTS
# Without a map (NETTOPO_STATUS=failed) it runs in Slurm's own order: a hint never stops a job.
if [ "$NETTOPO_STATUS" = failed ]; then
    echo "no map: $NETTOPO_REASON" >&2
else
    echo "$NETTOPO_STATUS, expected gain $NETTOPO_GAIN" >&2
fi
exec mpirun ${NETTOPO_RANKFILE:+--rankfile "$NETTOPO_RANKFILE"} "$@"
