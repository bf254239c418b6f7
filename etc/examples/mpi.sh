#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --nettopo=standard,pattern=ring
#SBATCH --nodes=4 --ntasks-per-node=2
# An MPI program whose ranks communicate in a ring, placed by the hint:
#   sbatch mpi.sh ./app ARGUMENTS
# After a failed sweep the rank file has Slurm's own order: a hint never stops a job.
set -euo pipefail
echo "$NETTOPO_STATUS, expected gain $NETTOPO_GAIN ${NETTOPO_REASON-}" >&2
exec mpirun --rankfile "$NETTOPO_RANKFILE" "$@" # Open MPI 5: --map-by rankfile:file="$NETTOPO_RANKFILE"
