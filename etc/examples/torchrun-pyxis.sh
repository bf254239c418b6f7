#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --nettopo=standard,pattern=ring
#SBATCH --nodes=4 --ntasks-per-node=1
# torchrun.sh in a container of pyxis. The order is in the environment, so the container needs neither
# nettopo nor its files. The mount is for programs that read $NETTOPO_MAP:
#   IMAGE=nvcr.io#nvidia/pytorch:24.10-py3 sbatch torchrun-pyxis.sh train.py ARGUMENTS
set -euo pipefail
export ORDER=$NETTOPO_NODE_ORDER
export MASTER=${ORDER%%,*} NODES=$(($(tr -cd , <<<"$ORDER" | wc -c) + 1))
mounts=$PWD:$PWD
[ -z "${NETTOPO_MAP-}" ] || mounts+=,${NETTOPO_MAP%/*}:${NETTOPO_MAP%/*}:ro
exec srun --nodes="$NODES" --ntasks="$NODES" --ntasks-per-node=1 --nodelist="$ORDER" \
    --container-image="${IMAGE:?an image of enroot}" --container-mounts="$mounts" \
    --container-workdir="$PWD" bash -c '
    rank=$(tr , "\n" <<<"$ORDER" | grep -nxF "$SLURMD_NODENAME" | cut -d: -f1)
    exec "${TORCHRUN:-torchrun}" --nnodes="$NODES" --nproc_per_node="${GPUS:-8}" \
        --node_rank="$((rank - 1))" --master_addr="$MASTER" --master_port="${PORT:-29500}" "$@"' torchrun "$@"
