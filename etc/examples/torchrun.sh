#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --nettopo=standard,pattern=ring
#SBATCH --nodes=4 --ntasks-per-node=1
# PyTorch's launcher, one a host, with node ranks in the order of the hint, so that neighbours in the
# ring of an all-reduce are close:
#   sbatch torchrun.sh train.py ARGUMENTS          GPUS: processes a host, default 8
if ! ORDER=$(nettopo hint --pattern ring --ntasks "$SLURM_NNODES" --format torchrun); then
    ORDER=$(scontrol show hostnames | awk '{print $1, NR - 1}')
fi
export ORDER
MASTER=$(awk '$2 == 0 {print $1}' <<<"$ORDER")
export MASTER
exec srun --ntasks-per-node=1 bash -c '
    rank=$(awk -v host="$SLURMD_NODENAME" "\$1 == host {print \$2}" <<<"$ORDER")
    exec "${TORCHRUN:-torchrun}" --nnodes="$SLURM_NNODES" --nproc-per-node="${GPUS:-8}" \
        --node-rank="$rank" --master-addr="$MASTER" --master-port=29500 "$@"' torchrun "$@"
