#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# bats file_tags=full
# shellcheck disable=SC2154,SC2086,SC2030,SC2031
# A host told from its cable on the wire: hosts with two rails, of which one, or both, are narrow.

load ground
load jobs

setup_file() {
    need_ground slurmctld mpirun
    cluster down >/dev/null
}

teardown() {
    [ "$(id -u)" = 0 ] || return 0
    cluster down >/dev/null
}

# Six hosts on one switch a rail; FIRST and SECOND: rates of n3's links.
rails_up() { # FIRST SECOND
    local k first second
    for k in 1 2 3 4 5 6; do
        first=100 second=100
        [ "$k" != 3 ] || first=$1 second=$2
        echo "host n$k s1 100 $first"
        echo "host n$k t1 100 $second"
    done | ground_up - --cores shared
}

# A sweep of level full by hand, one probe a host: leaves rails.map and rails.samples at home.
sweep_rails() {
    submit -N6 <<'END'
#!/bin/bash
export UCX_NET_DEVICES=fab0,fab1
mpirun --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include eth0 --map-by ppr:1:node \
    nettopo-probe -l full -b 60 -s "$HOME/rails.samples" -o "$HOME/rails.map"
END
    completed "$JOB" 90
    MAP=$GROUND_HOME/rails.map
    user nettopo validate "$MAP"
    user nettopo show "$MAP" >&3
}

# Of n3's findings of bandwidth: kind, rail, unit and how many alternatives.
narrow_findings() {
    jq -r '.findings[] | select(.part.a == "n3" and .unit == "MB/s")
        | "\(.kind) \(.rail // "-") \(.alternatives | length)"' "$MAP" | sort
}

@test "a narrow link on one of two rails is that rail's cable" {
    rails_up 100 30
    sweep_rails
    assert_equal "findings of n3" "$(narrow_findings)" "link-narrow fab1 0"
}

@test "narrow links on both rails are the host" {
    rails_up 30 30
    sweep_rails
    assert_equal "findings of n3" "$(narrow_findings)" "host-slow - 0"
}
