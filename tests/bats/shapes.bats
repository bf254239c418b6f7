#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2086,SC2030,SC2031,SC2016
# What a job finds is what was declared: the shape, and every pair's latency, three times in a row.

load ground
load jobs

setup() {
    need_ground slurmctld
    cluster down >/dev/null
}

teardown() { ground_down; }

found_three_times() { # FABRIC ABOVE_US
    local hosts run seconds
    ground_up "$1"
    need_calm
    hosts=$("$FABRIC" --hosts "$GROUND_FABRIC" | wc -l)
    for run in 1 2 3; do
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

@test "a star of 4" { found_three_times star4 60; }
@test "a star of 8" { found_three_times star8 60; }
@test "8 hosts, two uneven leaves" { found_three_times two-leaves-8 60; }
@test "8 hosts, two leaves and two hosts at the root" { found_three_times demo8 60; }
@test "12 hosts, three levels, uneven" { found_three_times uneven12 75; }
@test "16 hosts, three levels" { found_three_times tree16 75; }
