#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2016
# Jobs as people write them: each launch line with a sweep that is ok, partial and failed. All ranks
# start, and all reach each other over the master that the line names.

load ground
load jobs

setup_file() {
    ground_shared turns8
    rm -rf "$GROUND_HOME/launch"
    mkdir -p "$GROUND_HOME/launch"
    cp -r "$ROOT/etc/examples" "$GROUND_HOME/launch"
    cp "$ROOT/tests/launch/"* "$GROUND_HOME/launch"
    chmod -R a+rX "$GROUND_HOME/launch"
    chown -R --reference="$GROUND_HOME" "$GROUND_HOME/launch"
}

teardown_file() { ground_leave; }
setup() { need_ground slurmctld mpirun tcsh; }

teardown() {
    conf_reset
    cluster fabric set host n4 up
    cluster fabric set host n8 up
    cluster fabric set host n3 rate=200
}

# launch NAME SBATCH_OPTIONS...: a job of tests/launch
launch() {
    local name=$1
    shift
    # the job's own file, so that its directory is there
    JOB=$(cd "$GROUND_HOME/launch" && "$ROOT/tests/cluster/cluster" exec timeout 30 sbatch --parsable \
        --chdir "$GROUND_HOME/launch" -o "$GROUND_HOME/launch/out.%A.%a" "$@" "$GROUND_HOME/launch/$name.sh") || return
    JOBS+=("$JOB:$name")
}

# One job with a line per launch line of a kind; het is one of three components of two shapes.
launch_all() { # ITEMS SPARES
    JOBS=()
    launch plain -w 'n[1-4]' -N4 -n4 --nettopo="quick,$1,pattern=ring,apply"
    launch hybrid -w 'n[5-8]' -N4 -n4 -c2 --nettopo="quick,$1"
    launch array -w 'n[2-4]' -N3 -n3 --array=0-1 --nettopo="quick,$1"
    launch het --nettopo="quick,$1" -w 'n[2-4]' -N3 -n3 : -w n6 -N1 -n1
    launch spare -w 'n[1-5]' -N5 -n5 --nettopo="$1,spare=$2"
}

# all_connect STATUS LINES: the sweeps were as expected, and every line of every job connected. Sets
# SPARES. On a busy machine a sweep that nothing hinders may be partial.
all_connect() {
    local job file lines=0 wrong=0
    for job in "${JOBS[@]}"; do
        wait_until 120 job_is_over "${job%%:*}"
        for file in "$GROUND_HOME/launch/out.${job%%:*}".*; do
            sed -n "s/^line /# $1 /p" "$file" >&3
            lines=$((lines + $(grep -c '^line .* ok$' "$file" || true)))
            if grep -q '^line .* FAILED' "$file" || ! grep -qx end "$file" ||
                [[ "$1" != *"$(sed -n 's/^status //p' "$file")"* ]]; then
                wrong=$((wrong + 1))
                sed "s/^/# ${job#*:}: /" "$file" >&3
            fi
            [ "${job#*:}" != spare ] || SPARES=$(sed -n 's/^spares //p' "$file")
        done
    done
    assert_equal "outputs with a line that failed" "$wrong" 0
    assert_equal "lines" "$lines" "$2"
}

@test "the sweep is ok: every launch line connects all ranks" {
    launch_all budget=5 2
    all_connect "ok or partial" 26
    # both hosts of the other leaf: without one of them the uplink is crossed as often
    assert_equal "spares" "$(tr , '\n' <<<"$SPARES" | sort | xargs)" "n2 n4"
}

@test "the sweep is partial, a host of each job is lost: every launch line connects all ranks" {
    cluster fabric set host n4 down
    cluster fabric set host n8 down
    launch_all budget=4 1
    all_connect partial 25
    assert_equal "spares" "$SPARES" n4
}

@test "the sweep fails: every launch line connects all ranks" {
    conf_set enabled no
    launch_all budget=4 1
    all_connect failed 26
    assert_equal "spares" "$SPARES" n5
}

@test "a host behind a narrowed link is left out" {
    cluster fabric set host n3 rate=20
    JOBS=()
    launch spare -w 'n[1-5]' -N5 -n5 --nettopo=budget=6,spare=1
    all_connect "ok or partial" 3
    assert_equal "spares" "$SPARES" n3
}
