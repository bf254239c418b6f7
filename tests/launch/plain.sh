#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
. ./lines.sh
first_as_master() { MASTER_ADDR=$FIRST "$@"; }
export -f first_as_master
srun_hostfile() { SLURM_HOSTFILE=$NETTOPO_HOSTFILE MASTER_ADDR=$FIRST srun --distribution=arbitrary rank.py; }
master_of_order() { MASTER_ADDR=${NETTOPO_NODE_ORDER%%,*} srun rank.py; }
torchrun_static() { TORCHRUN=torchrun GPUS=2 examples/torchrun.sh rank.py; }
torchrun_c10d() {
    srun torchrun --nnodes="$SLURM_NNODES" --nproc_per_node=2 --rdzv_backend=c10d \
        --rdzv_endpoint="$FIRST:$MASTER_PORT" rank.py
}
torchrun_hint() {
    nettopo hint --pattern ring --format torchrun >order.$SLURM_JOB_ID
    srun bash -c 'torchrun --nnodes="$SLURM_NNODES" --master_addr="$0" --master_port="$MASTER_PORT" \
        --node_rank="$(awk -v h="$SLURMD_NODENAME" "\$1 == h {print \$2}" "order.$SLURM_JOB_ID")" rank.py' "$FIRST"
}
mpirun_rankfile() { MASTER_ADDR=$FIRST mpirun -x MASTER_ADDR -x MASTER_PORT --rankfile "$NETTOPO_RANKFILE" rank.py; }
mpi_example() { MASTER_ADDR=$FIRST examples/mpi.sh -x MASTER_ADDR -x MASTER_PORT rank.py; }
hint_env() {
    eval "$(nettopo hint --pattern ring --format env)"
    MASTER_ADDR=${NETTOPO_NODE_ORDER%%,*} srun rank.py
}
csh_script() { tcsh -f ./csh.csh; }
gain_and_findings() {
    awk -v gain="$NETTOPO_GAIN" 'BEGIN {exit !(gain >= 1)}'
    echo "connected $NETTOPO_FINDINGS"
}
masked_run() {
    MASTER_ADDR=$FIRST srun unshare --user --map-root-user --mount sh -ec '
        mount -t tmpfs none /run; [ ! -e "$NETTOPO_HOSTFILE" ]; exec rank.py'
}
in_a_container() { # an image has its own /run and no nettopo; the order is in the environment
    MASTER_ADDR=${NETTOPO_NODE_ORDER%%,*} srun unshare --user --map-root-user --mount --pid --fork sh -ec '
        root=$(mktemp -d); mount -t tmpfs none "$root"
        for dir in usr proc dev etc; do mkdir "$root/$dir"; mount --rbind "/$dir" "$root/$dir"; done
        for dir in bin lib lib64; do ln -s "usr/$dir" "$root/$dir"; done
        cp rank.py "$root"; exec chroot "$root" /rank.py'
}
megatron() {
    PYTHON=python3 TP=1 PP=2 DP=2 EACH=1 PATH=$PWD:$PATH examples/megatron.sh ./rank.py
}
read_map() { python3 examples/read_map.py && echo connected; }
mpich_order() { [ "$(tr , '\n' <"$NETTOPO_RANK_ORDER" | sort -n | xargs)" = "0 1 2 3" ] && echo connected; }
abort_example() { MASTER_ADDR=$FIRST examples/abort-if-suspect.sh srun rank.py; }
line srun-first-host 4 first_as_master srun rank.py
line srun-n4-first-host 4 first_as_master srun -n4 rank.py
line srun-hostfile 4 srun_hostfile
line master-of-order 4 master_of_order
line torchrun-static 8 torchrun_static
line torchrun-c10d 8 torchrun_c10d
line torchrun-hint 4 torchrun_hint
line mpirun-rankfile 4 mpirun_rankfile
line mpi-example 4 mpi_example
line hint-env 4 hint_env
line csh 4 csh_script
line gain-findings 1 gain_and_findings
line masked-run 4 masked_run
line container 4 in_a_container
line megatron 4 megatron
line read-map 1 read_map
line mpich-order 1 mpich_order
[ "$NETTOPO_STATUS" = partial ] || line abort-if-suspect 4 abort_example
echo end
