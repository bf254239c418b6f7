#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --nettopo=standard,pattern=ring
#SBATCH --nodes=4 --ntasks-per-node=1 --cpus-per-task=2
# MPI with OpenMP: each rank has as many cores as a task has CPUs, and as many threads:
#   sbatch hybrid.sh ./app ARGUMENTS
set -euo pipefail
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK OMP_PLACES=cores OMP_PROC_BIND=close
exec mpirun --rankfile "$NETTOPO_RANKFILE" -x OMP_NUM_THREADS -x OMP_PLACES -x OMP_PROC_BIND "$@"
