#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2086,SC2030,SC2031,SC2016
# What README.md and etc/examples state works as printed, in a real job on the real cluster.

load ground
load jobs

setup_file() {
    ground_shared demo8
    rm -f "$GROUND_HOME"/recipe.*
    # where the test user reads them, wherever the checkout is
    cp -r "$ROOT/etc/examples" "$GROUND_HOME"
    chmod -R a+rX "$GROUND_HOME/examples"
}

teardown_file() {
    conf_reset
    ground_leave
}

setup() {
    need_ground slurmctld
    examples=$GROUND_HOME/examples
}

# blocks FILE...: the shell recipes, each to a file of its own below the test user's home
blocks() {
    awk -v to="$GROUND_HOME/recipe" '
        /^```sh$/ {inside = 1; file = sprintf("%s.%02d", to, ++n); next}
        /^```/ {inside = 0}
        inside {print >file}' "$@"
    chmod 644 "$GROUND_HOME"/recipe.* 2>/dev/null
    ls "$GROUND_HOME" | grep -c '^recipe\.'
}

# run_recipes STATUS: all of README.md and RECIPES.md in one job, whose sweep has that status
run_recipes() {
    n=$(blocks "$ROOT/README.md" "$ROOT/etc/examples/RECIPES.md")
    submit --nettopo=standard -N8 -n8 -D "$GROUND_HOME" <<'END'
#!/bin/bash
echo "status $NETTOPO_STATUS"
for recipe in recipe.*; do
    echo "## $recipe"
    bash -eu -o pipefail $recipe
    echo "## $recipe exit $?"
done
END
    completed
    cat "$GROUND_HOME/$JOB.out"
    assert_contains "$1" "$(sed -n 's/^status //p' "$GROUND_HOME/$JOB.out")"
    assert_equal "recipes that ran" "$(grep -c '^## recipe\.[0-9]* exit 0$' "$GROUND_HOME/$JOB.out")" "$n"
}

@test "every recipe in README.md and RECIPES.md runs as printed" {
    run_recipes "ok partial"
    # each of them prints something
    ! grep -A1 -E '^## recipe\.[0-9]*$' "$GROUND_HOME/$JOB.out" | grep -q 'exit' || false
}

@test "every recipe in README.md and RECIPES.md runs after a failed sweep" {
    conf_set enabled no
    run_recipes failed
    conf_reset
    refute_contains "$(cat "$GROUND_HOME/$JOB.out")" unbound
}

# example NAME [SBATCH OPTIONS] -- ARGUMENTS: submitted as its own head says
example() {
    local name=$1 options=()
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    JOB=$(cd "$GROUND_HOME" && user timeout 30 sbatch --parsable -o "$GROUND_HOME/%j.out" \
        "${options[@]}" "$examples/$name" "$@")
}

# An example on a sound network. Chance finds a fault in one of many sweeps; in three of three it is
# no chance.
finds_no_fault() {
    local try
    for try in 1 2 3; do
        example "$@"
        wait_until 60 job_is_over "$JOB"
        [ "$(job_states)" != COMPLETED ] || return 0
        sed "s/^/# try $try: /" "$GROUND_HOME/$JOB.out" >&3
    done
    fail "$1: not COMPLETED in three jobs"
}

@test "mpi.sh: ranks where the hint has them" {
    command -v mpirun >/dev/null || skip "mpirun is not installed"
    example mpi.sh -- sh -c 'echo "rank $OMPI_COMM_WORLD_RANK $(hostname)"; cat "$NETTOPO_RANKFILE"'
    completed
    for rank in 0 1 2 3 4 5 6 7; do
        host=$(sed -n "s/^rank $rank=\([^ ]*\) .*/\1/p" "$GROUND_HOME/$JOB.out" | sort -u)
        grep -qx "rank $rank $host" "$GROUND_HOME/$JOB.out"
    done
    grep -q 'expected gain' "$GROUND_HOME/$JOB.out"
}

@test "torchrun.sh: node ranks in the hint's order" {
    printf '#!/bin/sh\necho "$SLURMD_NODENAME $*"\n' >"$GROUND_HOME/torchrun"
    chmod 755 "$GROUND_HOME/torchrun"
    example torchrun.sh --export=ALL,TORCHRUN="$GROUND_HOME/torchrun",GPUS=2 -- train.py --epochs 3
    completed
    out=$(cat "$GROUND_HOME/$JOB.out")
    assert_equal "hosts" "$(wc -l <<<"$out")" 4
    assert_equal "node ranks" "$(grep -o 'node_rank=[0-9]*' <<<"$out" | sort | xargs)" \
        "node_rank=0 node_rank=1 node_rank=2 node_rank=3"
    master=$(sed -n 's/^\([^ ]*\) .*--node_rank=0 .*/\1/p' <<<"$out")
    assert_equal "master" "$(grep -o 'master_addr=[^ ]*' <<<"$out" | sort -u)" "master_addr=$master"
    assert_equal "the rest" "$(grep -c -- '--nnodes=4 --nproc_per_node=2 .* train.py --epochs 3$' <<<"$out")" 4
}

# bats test_tags=full
@test "abort-if-suspect.sh: runs on a healthy network, not on a sick one" {
    finds_no_fault abort-if-suspect.sh -- srun --quiet sh -c 'echo ran; cat "$NETTOPO_MAP" >"$HOME/healthy.$SLURM_PROCID"'
    assert_equal "tasks" "$(grep -c '^ran$' "$GROUND_HOME/$JOB.out")" 4
    run env NETTOPO_MAP="$GROUND_HOME/healthy.0" NETTOPO_FINDINGS='link-narrow n5 s3 4.7/11.7 MB/s 0.99' \
        "$examples/abort-if-suspect.sh" echo ran
    assert_equal "exit" "$status" 1
    assert_contains "$output" "not started"
    jq '.nodes[1].status = "missing"' "$GROUND_HOME/healthy.0" >"$BATS_TEST_TMPDIR/sick.json"
    run env NETTOPO_MAP="$BATS_TEST_TMPDIR/sick.json" NETTOPO_FINDINGS= "$examples/abort-if-suspect.sh" echo ran
    assert_equal "exit" "$status" 1
    assert_contains "$output" "no answer"
    refute_contains "$output" "ran"
}

# bats test_tags=full
@test "nightly-compare.sh: well against what is declared, fails against what is not" {
    example nightly-compare.sh --nodes=8 -- "$GROUND_HOME/wrong.conf"
    job_is_over_soon
    assert_contains "$(job_states)" FAILED # no such file
    # what the network is, from the map that was kept
    user nettopo export --format topology.conf "$GROUND_HOME/nettopo-last.json" >"$GROUND_HOME/right.conf"
    finds_no_fault nightly-compare.sh --nodes=8 -- "$GROUND_HOME/right.conf"
    sed 's/n1,/nx,/; s/n4/n1/; s/nx/n4/' "$GROUND_HOME/right.conf" >"$GROUND_HOME/wrong.conf"
    example nightly-compare.sh --nodes=8 -- "$GROUND_HOME/wrong.conf"
    job_is_over_soon
    assert_equal "state" "$(job_states)" FAILED
    assert_contains "$(cat "$GROUND_HOME/$JOB.out")" "host-moved      n1"
}

job_is_over_soon() { wait_until 60 job_is_over "$JOB"; }
