#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --nettopo=standard,pattern=ring
#SBATCH --nodes=4 --ntasks-per-node=1
# PyTorch's launcher, one per host, with node ranks in the order of the hint:
#   sbatch torchrun.sh train.py ARGUMENTS          GPUS: processes per host, default 8
#   sbatch --nettopo=standard,pattern=ring,spare=1 torchrun.sh ...   on all hosts but the worst one
# The rendezvous is static, because c10d numbers the hosts as they arrive. NCCL builds its rings in
# the order of the ranks from host to host, and itself finds the order of the GPUs inside a host.
# So only the order of the hosts comes from nettopo. PyTorch 1 knows the options with _ only.
set -euo pipefail
export ORDER=$NETTOPO_NODE_ORDER # without the spare hosts; after a failed sweep Slurm's order
export MASTER=${ORDER%%,*} NODES=$(($(tr -cd , <<<"$ORDER" | wc -c) + 1)) # the job's first host, unless left out
exec srun --nodes="$NODES" --ntasks="$NODES" --ntasks-per-node=1 --nodelist="$ORDER" bash -c '
    rank=$(tr , "\n" <<<"$ORDER" | grep -nxF "$SLURMD_NODENAME" | cut -d: -f1)
    exec "${TORCHRUN:-torchrun}" --nnodes="$NODES" --nproc_per_node="${GPUS:-8}" \
        --node_rank="$((rank - 1))" --master_addr="$MASTER" --master_port="${PORT:-29500}" "$@"' torchrun "$@"
