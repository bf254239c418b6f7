#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2086,SC2030,SC2031
# What jobs find with --nettopo=standard and full is what was declared: the shape, latencies,
# bandwidths, oversubscription, and every degraded link, nothing else.

load ground
load jobs

setup() {
    need_ground slurmctld
    cluster down >/dev/null
}

teardown() { ground_down; }

# On links this slow 20 s are too short for the last phases of level full, of which this is not.
was_complete() {
    [ "$(variable NETTOPO_STATUS)" = ok ] ||
        [[ $(variable NETTOPO_REASON) =~ ^(loggp|sizes|kernels):\ .*,\ the\ budget ]] ||
        fail "$(variable NETTOPO_STATUS): $(variable NETTOPO_REASON)"
}

# Right in all things that are asked.
found_all() { # FABRIC ABOVE_US DEGRADED
    was_complete &&
        judge_map --above "$2" --bandwidth 5 --ratios 10 --alike 10 --degraded "$3" &&
        assert_equal "shape" "$(map_shape "$GROUND_HOME/$JOB.map")" "$(declared_shape "$1")"
}

swept() { submit_recording --nettopo="$ITEMS" -N"$HOSTS" --exclusive; }

# FULL=1: all of it three times in a row; otherwise the network alone.
finds_all() { # FABRIC ITEMS ABOVE_US DEGRADED
    local run
    ground_up "$1" --conf 'budget_max = 60'
    HOSTS=$("$FABRIC" --hosts "$GROUND_FABRIC" | wc -l) ITEMS=$2
    if ! full; then
        finds_network swept
        return
    fi
    for run in 1 2 3; do
        swept && completed && found_all "$1" "$3" "$4" || return
        printf '# %s, %s, run %s: %.1f s\n' "$1" "$2" "$run" "$(jq .sweep.seconds "$GROUND_HOME/$JOB.map")" >&3
    done
}

@test "standard: 6 hosts on a switch, one of them slow" {
    finds_all slow6 standard 60 n4
    # 400 us beside 200, and what a host itself takes
    assert_between "n4's link against the others'" "$(jq '[.links[] | select(.a == "n4" or .b == "n4")][0].latency_us
        / ([.links[].latency_us] | sort | .[length / 2 | floor])' "$GROUND_HOME/$JOB.map")" 1.3 2.1
}

# bats test_tags=full
@test "standard: 12 hosts on four uneven leaves, one uplink at half its rate" {
    finds_all half12 standard,budget=15 75 l3-root
}

# bats test_tags=full
@test "standard: 16 hosts in three levels, directions of different rates, one narrower" {
    finds_all ways16 standard,budget=20 75 l3-a2
}

# bats test_tags=full
@test "standard: 24 hosts in three levels, all sound" {
    finds_all uneven24 standard,budget=40 90 ""
}

# bats test_tags=full
@test "full: 8 hosts on two leaves and at the root, one host at a third of its rate" {
    finds_all third8 full,budget=20 60 n5
}
