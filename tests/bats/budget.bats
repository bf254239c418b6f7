#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2086,SC2030,SC2031
# Budgets on one network, through sbatch: in time, never less known with more of it, never wrong.

load ground
load jobs

setup_file() {
    need_ground slurmctld
    ground_up third8
    slurm_alone 8
}

teardown_file() { ground_down; }

setup() { need_ground slurmctld; }

# The sweep's own time, and that of all of it, both within the budget. On a busy machine only that
# nothing hangs: the storm judges budgets in simulated time.
in_time() { # BUDGET
    local map=$GROUND_HOME/$JOB.map
    waited_at_most "$(echo "$1 + 0.3" | bc)" || return
    [ ! -e "$map" ] || figure assert_between "sweep" "$(jq .sweep.seconds "$map")" 0 "$1"
}

# How much a map knows, as a list of counts.
knows() {
    jq -c '[(.switches | length), (.links | length),
        ([.links[] | select(.bandwidth_MBps)] | length),
        ([.oversubscription // [] | .[]] | length), (.loggp // [] | length)]' "$1"
}

not_less() { # BEFORE NOW
    jq -en --argjson a "$1" --argjson b "$2" '[$a, $b] | transpose | all(.[0] <= .[1])' >/dev/null ||
        fail "known before: $1, now: $2"
}

# What a map says of the network is right, bandwidths too; one that says nothing of it may.
says_nothing_false() {
    local map=$GROUND_HOME/$JOB.map
    [ -s "$map" ] || return 0
    "$ROOT/build/nettopo" validate "$map" || return
    [ "$(jq '.links | length' "$map")" != 0 ] || return 0
    found_network --partial --bandwidth 10 --ratios 10 --degraded n5
}

one_budget() { # LEVEL BUDGET
    submit_recording -N8 --nettopo="$1,budget=$2" && completed && in_time "$2" &&
        says_nothing_false && hosts_are_well
}

# bats test_tags=full
@test "standard: budgets from 0.2 to 20 seconds hold, and more is never less" {
    local before='[0,0,0,0,0]' now budget
    for budget in 0.2 0.5 1 2 5 20; do
        one_budget standard $budget || return
        now='[0,0,0,0,0]'
        [ ! -s "$GROUND_HOME/$JOB.map" ] || now=$(knows "$GROUND_HOME/$JOB.map")
        echo "# $budget s: $(variable NETTOPO_STATUS) $now $(variable NETTOPO_REASON)" >&3
        figure not_less "$before" "$now" || return
        before=$now
    done
    figure assert_equal "status with 20 s" "$(variable NETTOPO_STATUS)" ok
}

@test "full: a short budget says what was left out" {
    one_budget full 4
    assert_equal "status" "$(variable NETTOPO_STATUS)" partial
    # what starting took is not the sweep's any more
    [[ $(variable NETTOPO_REASON) =~ the\ budget\ of\ (4\.0|[0-3]\.[0-9])\ s\ was\ too\ short ]] ||
        fail "reason: $(variable NETTOPO_REASON)"
    local map=$GROUND_HOME/$JOB.map left_out=0 part
    # what takes long may leave time for what comes after it
    for part in loggp:loggp stress:kernels; do
        [ "$(jq ".${part%:*} // [] | length" "$map")" = 0 ] || continue
        assert_contains "$(jq -r '.warnings[]' "$map")" "${part#*:}: "
        left_out=$((left_out + 1))
    done
    [ $left_out != 0 ] || fail "4 s were enough for everything"
}
