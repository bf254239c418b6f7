#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2086,SC2030,SC2031,SC2016
# What a job finds is what was declared. FULL=1: three times in a row, and every pair's latency.

load ground
load jobs

# with FULL=1 what is done by default, in time; otherwise in the time that it takes
RUNS=1 OPTION=quick,budget=40
[ "${FULL:-0}" != 1 ] || RUNS="1 2 3" OPTION=quick

setup() {
    need_ground slurmctld
    cluster down >/dev/null
}

teardown() { ground_down; }

found_as_declared() { # FABRIC ABOVE_US
    local hosts run seconds
    ground_up "$1"
    hosts=$("$FABRIC" --hosts "$GROUND_FABRIC" | wc -l)
    for run in $RUNS; do
        finds_network submit_recording --nettopo=$OPTION -N"$hosts" --exclusive
        seconds=$(jq .sweep.seconds "$GROUND_HOME/$JOB.map")
        figure judge_map --above "$2"
        figure assert_equal "shape" "$(map_shape "$GROUND_HOME/$JOB.map")" "$(declared_shape "$1")"
        figure assert_between "seconds of the sweep" "$seconds" 0 5
        figure assert_between "seconds until the script ran" "$(waited_s)" 0 6
        printf '# %s: %s s, %s s until the script ran\n' "$1" "$seconds" "$(waited_s)" >&3
    done
}

# bats test_tags=full
@test "a star of 4" { found_as_declared star4 60; }
# bats test_tags=full
@test "a star of 8" { found_as_declared star8 60; }
# bats test_tags=full
@test "8 hosts, two uneven leaves" { found_as_declared two-leaves-8 60; }
@test "8 hosts, two leaves and two hosts at the root" { found_as_declared demo8 60; }
# bats test_tags=full
@test "12 hosts, three levels, uneven" { found_as_declared uneven12 75; }
@test "16 hosts, three levels" { found_as_declared tree16 75; }
