#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
. ./lines.sh
srun_hostfile() { SLURM_HOSTFILE=$NETTOPO_HOSTFILE MASTER_ADDR=$FIRST srun --distribution=arbitrary rank.py; }
line "array-$SLURM_ARRAY_TASK_ID" 3 srun_hostfile
echo end
