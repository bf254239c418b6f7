#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2086,SC2030,SC2031,SC2016
# "make demo" as somebody runs it who has just cloned the tree.

load ground

teardown() { ground_down; }

@test "make demo shows a found network, the job that follows it, and leaves nothing" {
    need_ground slurmctld
    cluster down >/dev/null
    ground_snapshot "$BATS_TEST_TMPDIR/before"
    scheduler=n1,n2,n3,n4,n5,n6,n7,n8
    # builds disturb the readings: a map of low confidence, or with the order of the scheduler, may be
    # measured again
    for _ in 1 2 3; do
        began=$(date +%s)
        run timeout 1800 make --no-print-directory -C "$ROOT" demo
        order=$(sed -n 's/^ *NETTOPO_NODE_ORDER=//p' <<<"$output")
        [[ $status != 0 && $output == *"low confidence"* || $order == "$scheduler" ]] || break
    done
    assert_equal "exit" "$status" 0 || fail "$output"
    figure assert_between "seconds" $(($(date +%s) - began)) 0 180
    assert_contains "$output" "8 hosts, 3 switches"
    assert_contains "$output" "verdict: the declared network"
    # the second srun follows the order that the job was told
    ranks=$(sed -n 's/^ *rank [0-9]* is on //p' <<<"$output")
    assert_equal "as the scheduler orders" "$(head -n 8 <<<"$ranks" | paste -sd,)" "$scheduler"
    assert_equal "as the hint orders" "$(tail -n 8 <<<"$ranks" | paste -sd,)" "$order"
    [ "$order" != "$scheduler" ] || fail "the scheduler's order: $output"
    wait_until 20 nothing_stays "$BATS_TEST_TMPDIR/before"
    # the usual budget is enough for all of it, on a machine that has the time
    figure assert_contains "$output" "NETTOPO_STATUS=ok"
}

@test "make demo fails when the network is not found" {
    need_ground slurmctld
    # a map with two hosts exchanged is not the declared network
    "$ROOT/build/nettopo" simulate --topology tree:2x4 --seed 1 >"$BATS_TEST_TMPDIR/samples"
    "$ROOT/build/nettopo" solve "$BATS_TEST_TMPDIR/samples" -o "$BATS_TEST_TMPDIR/map"
    run "$ROOT/tests/judge" "$BATS_TEST_TMPDIR/map" "$ROOT/tests/data/fabrics/scattered8.fabric"
    assert_equal "exit" "$status" 1
    assert_contains "$output" "NOT the declared network"
}
