#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2086,SC2030,SC2031,SC2016
# What a job finds is what was declared: the shape, and every pair's latency. FULL=1: three times in
# a row.

load ground
load jobs

RUNS=1
[ "${FULL:-0}" != 1 ] || RUNS="1 2 3"

setup() {
    need_ground slurmctld
    cluster down >/dev/null
}

teardown() { ground_down; }

found_as_declared() { # FABRIC ABOVE_US
    local hosts run seconds
    ground_up "$1"
    need_calm
    hosts=$("$FABRIC" --hosts "$GROUND_FABRIC" | wc -l)
    for run in $RUNS; do
        submit_recording --nettopo=quick -N"$hosts" --exclusive
        completed
        unless_busy assert_equal "status in run $run" "$(variable NETTOPO_STATUS)$(variable NETTOPO_REASON)" ok
        found_network --above "$2"
        assert_equal "shape" "$(map_shape "$GROUND_HOME/$JOB.map")" "$(declared_shape "$1")"
        seconds=$(jq .sweep.seconds "$GROUND_HOME/$JOB.map")
        unless_busy assert_between "seconds of the sweep" "$seconds" 0 5
        unless_busy assert_between "seconds until the script ran" "$(waited_s)" 0 6
        printf '# %s: %s s, %s s until the script ran\n' "$1" "$seconds" "$(waited_s)" >&3
    done
}

# bats test_tags=full
@test "a star of 4" { found_as_declared star4 60; }
@test "a star of 8" { found_as_declared star8 60; }
# bats test_tags=full
@test "8 hosts, two uneven leaves" { found_as_declared two-leaves-8 60; }
@test "8 hosts, two leaves and two hosts at the root" { found_as_declared demo8 60; }
# bats test_tags=full
@test "12 hosts, three levels, uneven" { found_as_declared uneven12 75; }
@test "16 hosts, three levels" { found_as_declared tree16 75; }
