#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
. ./lines.sh
hosts=$(tr , '\n' <<<"$NETTOPO_NODE_ORDER" | wc -l)
srun_hostfile() {
    SLURM_HOSTFILE=$NETTOPO_HOSTFILE MASTER_ADDR=${NETTOPO_NODE_ORDER%%,*} \
        srun --ntasks="$(wc -l <"$NETTOPO_HOSTFILE")" --distribution=arbitrary rank.py
}
torchrun_static() { TORCHRUN=torchrun GPUS=1 examples/torchrun.sh rank.py; }
mpirun_rankfile() {
    MASTER_ADDR=${NETTOPO_NODE_ORDER%%,*} mpirun -n "$hosts" -x MASTER_ADDR -x MASTER_PORT \
        --rankfile "$NETTOPO_RANKFILE" rank.py
}
echo "spares $NETTOPO_SPARES"
line spare-srun "$hosts" srun_hostfile
line spare-torchrun "$hosts" torchrun_static
line spare-mpirun "$hosts" mpirun_rankfile
echo end
