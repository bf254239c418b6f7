#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2030,SC2031
# The sweep of many hosts, on the wire: some pairs tell the network, verified, in fewer rounds than
# all pairs take; and where there are no nested tiers, all pairs are measured after it.

load ground
load jobs

ALL_ROUNDS=69 # of 24 hosts: three passes

setup() {
    need_ground slurmctld
    cluster down >/dev/null
}

teardown() { ground_down; }

sweep() { jq -r "$1" "$GROUND_HOME/$JOB.map"; }

swept() { # ITEMS
    submit_recording "--nettopo=quick,budget=30,$1" -N24 --exclusive
    completed "$JOB" 90
    went_well
    printf '# %s: %s rounds, %s of %s pairs, %s s, confidence %s (%s)\n' "$1" \
        "$(sweep .sweep.rounds)" "$(sweep .sweep.pairs_measured)" "$(sweep .sweep.pairs_total)" \
        "$(sweep .sweep.seconds)" "$(sweep .structure.confidence)" \
        "$(sweep '[.sweep.phases[] | "\(.name) \(.rounds)"] | join(", ")')" >&3
    found_network --above 90
}

# All pairs followed; disturbed readings may be repeated after them.
has_measured_all() { [ "$(sweep 'any(.sweep.phases[]; .name == "latency")')" = true ]; }

# Whether some pairs are enough is for chance to say: what verification doubts is measured whole, and
# is right all the same. Of three sweeps one at least must do without.
swept_some() {
    local try
    for try in 1 2 3; do
        swept sweep=auto
        has_measured_all || return 0
        echo "# try $try: $(sweep '.warnings | join("; ")')" >&3
    done
    fail "all pairs followed in each of three sweeps"
}

@test "24 hosts: some pairs, verified" {
    ground_up tree24
    # all pairs on a machine that disturbs each sweep are right as well, and no figure of some
    swept_some || { full && return 1 || return 0; }
    # where calibration told every pair of leaves apart, nothing was left to ask between
    assert_equal phases "$(sweep '[.sweep.phases[].name] - ["adaptive"] | join(" ")')" \
        "calibration verification"
    # a machine that disturbs readings has more of them verified
    figure assert_between rounds "$(sweep .sweep.rounds)" 1 $((ALL_ROUNDS / 2))
    # every host has met another
    assert_between "pairs measured" "$(sweep .sweep.pairs_measured)" 12 275
    figure assert_between confidence "$(sweep .structure.confidence)" 0.9 1
    assert_equal "every link has a standard error" \
        "$(sweep '[.links[] | .latency_se_us > 0] | all')" true
    full || return 0
    swept sweep=all
    # three passes, and up to nine where readings are disturbed
    assert_between "rounds of all pairs" "$(sweep .sweep.rounds)" $ALL_ROUNDS $((3 * ALL_ROUNDS))
    assert_equal phases "$(sweep '[.sweep.phases[].name] | join(" ")')" latency
}

# bats test_tags=full
@test "24 hosts, one of them behind a longer link: some pairs, verified, and the link is found" {
    ground_up slow24
    swept_some
    assert_between rounds "$(sweep .sweep.rounds)" 1 $((ALL_ROUNDS / 2))
    assert_between "latency of n12's link over the median of the others" \
        "$(sweep '[.links[] | select(.a == "n12" or .b == "n12") | .latency_us][0] as $slow
            | [.links[] | select(.a | test("^n[0-9]+$")) | .latency_us] | sort | $slow / .[length / 2 | floor]')" 1.5 2.3
}

# bats test_tags=full
@test "24 hosts on a chain of switches: all pairs, after some told no tiers" {
    ground_up chain24
    swept sweep=auto
    has_measured_all
    assert_contains "$(sweep '.warnings | join(" ")')" "were to be measured"
}
