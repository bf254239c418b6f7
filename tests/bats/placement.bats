#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2086,SC2030,SC2031,SC2016
# Placements by launching: what each rank says of where it ran is what the hint said.

load ground
load jobs

setup_file() {
    ground_shared turns8
    {
        echo ",n1,n2,n3,n4,n5,n6,n7,n8"
        for a in 1 2 3 4 5 6 7 8; do
            printf 'n%d' $a
            for b in 1 2 3 4 5 6 7 8; do
                if [ $a = $b ]; then printf ','; else printf ',%d' $(((a + b) % 2 ? 400 : 200)); fi
            done
            echo
        done
    } | "$ROOT/build/nettopo" solve --latency - -o "$GROUND_HOME/by-turns.json"
}

teardown_file() { ground_leave; }
setup() { need_ground slurmctld; }

# job [SBATCH OPTIONS] <SCRIPT: runs it with MAP, and shows what it printed
job() {
    submit -D "$GROUND_HOME" --export=ALL,MAP="$GROUND_HOME/by-turns.json" "$@" || return
    completed || { cat "$GROUND_HOME/$JOB.out"; return 1; }
    cat "$GROUND_HOME/$JOB.out" >&3
}

# "RANK HOST" lines of what ran, of what was said
ran() { sed -n 's/^ran //p' "$GROUND_HOME/$JOB.out" | sort -n; }
said() { jq -r '.ranks | to_entries[] | "\(.key) \(.value)"' "$GROUND_HOME/$JOB.hint"; }

near_neighbours() { # of a ring of ranks, how many next ones are on the same leaf or host
    ran | awk '{leaf[NR] = substr($2, 2) % 2} END {for (k = 1; k <= NR; k++)
        n += leaf[k] == leaf[k % NR + 1]; print n}'
}

# bats test_tags=full
@test "srun follows a host file, one task a host" {
    job -N8 -n8 <<'END'
#!/bin/bash
nettopo hint --pattern ring --ntasks 8 "$MAP" >"$SLURM_JOB_ID.hint"
nettopo hint --pattern ring --ntasks 8 --format hostfile "$MAP" >"$SLURM_JOB_ID.hosts"
SLURM_HOSTFILE=$SLURM_JOB_ID.hosts srun --quiet --distribution=arbitrary \
    sh -c 'echo "ran $SLURM_PROCID $SLURMD_NODENAME"'
END
    assert_equal "ranks" "$(ran)" "$(said)"
    assert_equal "neighbours on one leaf" "$(near_neighbours)" 6
}

@test "srun follows a host file, several tasks a host" {
    job -N8 --ntasks-per-node=3 <<'END'
#!/bin/bash
export NETTOPO_MAP=$MAP
nettopo hint --pattern ring --tasks-per-node "$SLURM_TASKS_PER_NODE" >"$SLURM_JOB_ID.hint"
nettopo hint --pattern ring --tasks-per-node "$SLURM_TASKS_PER_NODE" --format hostfile >"$SLURM_JOB_ID.hosts"
SLURM_HOSTFILE=$SLURM_JOB_ID.hosts srun --quiet -n "$SLURM_NTASKS" --distribution=arbitrary \
    sh -c 'echo "ran $SLURM_PROCID $SLURMD_NODENAME"'
END
    assert_equal "ranks" "$(ran)" "$(said)"
    assert_equal "ranks" "$(ran | wc -l)" 24
    assert_equal "neighbours on one leaf" "$(near_neighbours)" 22
}

@test "mpirun follows a rank file, one and several tasks a host" {
    command -v mpirun >/dev/null || skip "mpirun is not installed"
    # a slot of a rank file is a core, and the hosts have only this machine's
    for each in 1 $(($(nproc) < 4 ? $(nproc) : 4)); do
        job -N8 --ntasks-per-node=$each --export=ALL,MAP="$GROUND_HOME/by-turns.json",EACH=$each <<'END'
#!/bin/bash
nettopo hint --pattern ring --ntasks-per-node "$EACH" "$MAP" >"$SLURM_JOB_ID.hint"
nettopo hint --pattern ring --ntasks-per-node "$EACH" --format rankfile "$MAP" >"$SLURM_JOB_ID.ranks"
mpirun --rankfile "$SLURM_JOB_ID.ranks" \
    sh -c 'echo "ran $OMPI_COMM_WORLD_RANK $(hostname)"'
END
        assert_equal "ranks, $each a host" "$(ran)" "$(said)"
    done
}

@test "the job's own files launch: apply, several tasks a host, and its rank file" {
    # on a busy machine, groups may be too uncertain to change the order of the scheduler
    for _ in 1 2 3; do
        job --nettopo=quick,budget=20,apply,pattern=ring -N8 --ntasks-per-node=2 <<'END'
#!/bin/bash
srun --quiet sh -c 'echo "ran $SLURM_PROCID $SLURMD_NODENAME"'
echo "gain $NETTOPO_GAIN"
awk '{print "hint " NR - 1, $1}' "$NETTOPO_HOSTFILE"
mpirun --rankfile "$NETTOPO_RANKFILE" sh -c 'echo "mpi $OMPI_COMM_WORLD_RANK $(hostname)"'
END
        grep -qx 'gain 1' "$GROUND_HOME/$JOB.out" || break
    done
    hint=$(sed -n 's/^hint //p' "$GROUND_HOME/$JOB.out" | sort -n)
    assert_equal "tasks" "$(wc -l <<<"$hint")" 16
    assert_equal "srun" "$(ran)" "$hint"
    assert_equal "mpirun" "$(sed -n 's/^mpi //p' "$GROUND_HOME/$JOB.out" | sort -n)" "$hint"
    assert_equal "neighbours on one leaf" "$(near_neighbours)" 14
}
