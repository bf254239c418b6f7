#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
. ./lines.sh
srun_threads() {
    OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK MASTER_ADDR=$FIRST \
        srun --cpus-per-task="$SLURM_CPUS_PER_TASK" sh -c '[ "$(nproc)" = 2 ] && exec rank.py'
}
# both of the rank's cores: what it may run on, and nproc would heed OMP_NUM_THREADS
mpirun_threads() {
    MASTER_ADDR=$FIRST examples/hybrid.sh -x MASTER_ADDR -x MASTER_PORT \
        sh -c '[ "$(env -u OMP_NUM_THREADS nproc)" = 2 ] && exec rank.py'
}
line hybrid-srun 4 srun_threads
line hybrid-mpirun 4 mpirun_threads
echo end
