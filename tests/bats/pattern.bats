#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2016
# The hint for a communication matrix that only the job's user can read.

load ground
load jobs

setup_file() {
    ground_shared turns8
    PRIVATE=$GROUND_HOME/private
    export PRIVATE
    user sh -c 'umask 077; rm -rf private; mkdir private'
    # a ring of two ranks a host, in both forms
    user sh -c 'awk "BEGIN {for (a = 0; a < 16; a++) for (b = 0; b < 16; b++)
        printf \"%d%s\", (b == (a + 1) % 16) * 65536, b < 15 ? \",\" : \"\\n\"}" >private/dense.csv
        awk "BEGIN {for (a = 0; a < 16; a++) print a, (a + 1) % 16, 65536}" >private/sparse.txt
        printf "0 1 5\n1 two 5\n" >private/bad.txt
        printf "0 16 5\n" >private/many.txt
        mkfifo private/pipe'
}

teardown_file() { ground_leave; }

setup() { need_ground slurmctld; }

teardown() {
    [ "$(id -u)" = 0 ] || return 0
    wait_until 30 all_are_idle 8
}

recording_all() {
    recording_script | sed '$d'
    echo 'if [ -n "$NETTOPO_MAP" ]; then cp "${NETTOPO_MAP%/*}/samples" "$HOME/$SLURM_JOB_ID.samples"; fi'
    echo 'if [ -n "$NETTOPO_HOSTFILE" ]; then cp "$NETTOPO_HOSTFILE" "$HOME/$SLURM_JOB_ID.hosts"; fi'
}

# measured PATH [SBATCH OPTIONS]: a job from the private folder
measured() {
    JOB=$(cd "$PRIVATE" && recording_all | timeout 30 "$ROOT/tests/cluster/cluster" exec sbatch --parsable \
        --output "$GROUND_HOME/%j.out" --nettopo="quick,budget=40,pattern=matrix:$1" "${@:2}") || return
    completed
    MAP=$GROUND_HOME/$JOB.map
    went_well
    "$ROOT/build/nettopo" validate "$MAP"
    # the record alone gives the same map
    "$ROOT/build/nettopo" solve "$GROUND_HOME/$JOB.samples" | cmp - "$MAP"
}

# The warnings that the matrix is to blame for.
of_the_pattern() { jq -r '.warnings[] | select(test("pattern|hint|placement"))' "$MAP"; }

near_neighbours() { # of the ring of ranks, how many next ones are on the same leaf or host
    awk '{leaf[NR] = substr($1, 2) % 2} END {for (k = 1; k <= NR; k++)
        n += leaf[k] == leaf[k % NR + 1]; print n}' "$GROUND_HOME/$JOB.hosts"
}

@test "a dense and a sparse matrix out of a folder of mode 0700 make the same hint" {
    assert_equal "mode" "$(stat -c %a "$PRIVATE")" 700
    for file in dense.csv ./sparse.txt; do
        # on a busy machine, groups may be too uncertain to change the order of the scheduler
        for _ in 1 2 3; do
            measured "$file" -N8 --ntasks-per-node=2
            [ "$(variable NETTOPO_GAIN)" = 1 ] || break
        done
        assert_equal "warnings" "$(of_the_pattern)" ""
        assert_equal "pattern" "$(jq -r .placement.pattern "$MAP")" \
            "matrix:$PRIVATE/${file#"$PRIVATE/"}"
        assert_equal "ranks" "$(wc -l <"$GROUND_HOME/$JOB.hosts")" 16
        if full || knows_network >/dev/null; then
            assert_equal "neighbours on one leaf" "$(near_neighbours)" 14
            assert_between "gain" "$(variable NETTOPO_GAIN)" 1.1 100
        fi
        assert_equal "what ranks talk" "$(grep -c '^traffic ' "$GROUND_HOME/$JOB.samples")" 16
        # a hint by hand gains the same, but for the map's six digits
        user env HOME="$GROUND_HOME" nettopo hint --pattern "matrix:$PRIVATE/sparse.txt" \
            --ntasks-per-node 2 "$MAP" >"$BATS_TEST_TMPDIR/hint"
        assert_between "gain against the job's" \
            "$(jq --slurpfile map "$MAP" '.gain / $map[0].placement.gain' "$BATS_TEST_TMPDIR/hint")" 0.9999 1.0001
    done
}

@test "srun takes it too, from where the user stands" {
    (cd "$PRIVATE" && timeout 60 "$ROOT/tests/cluster/cluster" exec srun --quiet -N8 -n16 \
        --nettopo=quick,budget=40,pattern=matrix:dense.csv \
        sh -c '[ "$SLURM_PROCID" != 0 ] || cp "$NETTOPO_MAP" "$HOME/srun.map"')
    assert_equal "pattern" "$(jq -r .placement.pattern "$GROUND_HOME/srun.map")" \
        "matrix:$PRIVATE/dense.csv"
}

@test "a file that is bad, absent, unreadable or no file costs a warning with its line" {
    says() { # FILE WARNING
        measured "$1" -N8 --ntasks-per-node=2
        assert_equal "warnings" "$(of_the_pattern | wc -l)" 1
        assert_contains "$(of_the_pattern)" "$2"
        assert_contains "$(of_the_pattern)" "; the hint is for neighbour"
        assert_equal "pattern" "$(jq -r .placement.pattern "$MAP")" neighbour
        assert_equal "ranks" "$(wc -l <"$GROUND_HOME/$JOB.hosts")" 16
    }
    says bad.txt "$PRIVATE/bad.txt:2: expected RANK RANK BYTES"
    if full; then
        says many.txt "many.txt needs 17 tasks, but the job has 16"
        says absent.txt "$PRIVATE/absent.txt: No such file or directory"
        says pipe "$PRIVATE/pipe: expected a regular file"
    fi
    # root could read this one; the job's user may not
    says /etc/shadow "/etc/shadow: Permission denied"
    hosts_are_well
}

@test "what cannot be named from elsewhere is refused at submission" {
    user mkdir -p "$GROUND_HOME/a,b"
    run bash -c "cd '$GROUND_HOME/a,b' && '$ROOT/tests/cluster/cluster' exec sbatch --nettopo=pattern=matrix:t --wrap true"
    [ "$status" -ne 0 ]
    assert_contains "$output" 'pattern "matrix:t": the current directory'
    run user sbatch --nettopo=pattern=matrix:a,b --wrap true
    [ "$status" -ne 0 ]
    assert_contains "$output" 'unknown item "b"'
}
