#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --nettopo=standard,spare=1
#SBATCH --nodes=5 --ntasks-per-node=8
# Training with Megatron-LM on four of five hosts with 8 GPUs each. Tensor parallel groups are inside a
# host, and the order of the hosts suits the pipeline and data parallel groups:
#   sbatch megatron.sh pretrain_gpt.py ARGUMENTS
# One task per GPU. Ranks are numbered along the hosts of the order, as Megatron-LM expects.
set -euo pipefail
TP=${TP:-8} PP=${PP:-2} DP=${DP:-2} EACH=${EACH:-8}
ranks=$((TP * PP * DP))
# With a map, the order for these groups, otherwise the job's own order
export RANKS_HOSTS=$PWD/nettopo-$SLURM_JOB_ID.hosts
tr , '\n' <<<"$NETTOPO_NODE_ORDER" | awk -v each="$EACH" '{for (k = 0; k < each; k++) print}' >"$RANKS_HOSTS"
if [ -n "${NETTOPO_MAP-}" ]; then
    nettopo hint --pattern "megatron:tp=$TP,pp=$PP,dp=$DP" --ntasks "$ranks" --ntasks-per-node "$EACH" \
        --spare "$((SLURM_NNODES - ranks / EACH))" --format hostfile -o "$RANKS_HOSTS" ||
        echo "no hint for these groups: the job's own order" >&2
fi
MASTER_ADDR=$(head -n 1 "$RANKS_HOSTS") MASTER_PORT=${PORT:-29500}
export MASTER_ADDR MASTER_PORT WORLD_SIZE=$ranks
SLURM_HOSTFILE=$RANKS_HOSTS exec srun --ntasks="$ranks" --distribution=arbitrary bash -c '
    RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID exec "${PYTHON:-python3}" "$@"' megatron "$@" \
    --tensor-model-parallel-size "$TP" --pipeline-model-parallel-size "$PP"
