#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2153,SC2030,SC2031,SC2016
# A second job of the same hosts starts from what the first one measured; one whose prior is wrong
# does as without it.

load ground
load jobs

PRIOR=$GROUND_STATE/stage/etc/nettopo/prior

setup_file() {
    need_ground slurmctld
    ground_up tree16
}

teardown_file() { ground_down; }

setup() { need_ground slurmctld; }

teardown() { conf_reset; rm -f "$PRIOR"; }

prior_says() { jq -c .sweep.prior "$GROUND_HOME/$JOB.map"; }

@test "a job starts from what the job before measured, and says so" {
    finds_network submit_recording -N16 --exclusive --nettopo=quick,budget=20
    before=$(jq .sweep.rounds "$GROUND_HOME/$JOB.map")
    before_s=$(jq .sweep.seconds "$GROUND_HOME/$JOB.map")
    "$ROOT/build/nettopo" export --format prior -o "$PRIOR" "$GROUND_HOME/$JOB.map"
    chmod 644 "$PRIOR"
    conf_set prior "$PRIOR"
    finds_network submit_recording -N16 --exclusive --nettopo=quick,budget=20
    rounds=$(jq .sweep.rounds "$GROUND_HOME/$JOB.map")
    echo "# $before rounds in $before_s s, then $rounds in $(jq .sweep.seconds "$GROUND_HOME/$JOB.map") s: $(prior_says)" >&3
    [ "$(jq .sweep.prior.used "$GROUND_HOME/$JOB.map")" != true ] || [ $((3 * rounds)) -lt "$before" ]
    run jq -e '.sweep.prior | has("used")' "$GROUND_HOME/$JOB.map"
    [ "$status" = 0 ]
}

# bats test_tags=full
@test "a prior that is wrong, or that others could have written, costs no truth" {
    # every host on the switch of the next but three
    finds_network submit_recording -N16 --exclusive --nettopo=quick,budget=20
    "$ROOT/build/nettopo" export --format prior "$GROUND_HOME/$JOB.map" |
        awk '$1 == "host" {name[++n] = $2; line[n] = $0; next} $1 == "end" {
            for (k = 1; k <= n; k++) {split(line[k], w, " "); w[2] = name[(k + 3) % n + 1]
                print w[1], w[2], w[3], w[4], w[5]}} {print}' >"$PRIOR"
    chmod 644 "$PRIOR"
    conf_set prior "$PRIOR"
    finds_network submit_recording -N16 --exclusive --nettopo=quick,budget=20
    echo "# $(prior_says)" >&3
    chmod 666 "$PRIOR"
    finds_network submit_recording -N16 --exclusive --nettopo=quick,budget=20
    jq -e '.warnings | any(test("prior: .*nobody else can write"))' "$GROUND_HOME/$JOB.map"
    [ "$(prior_says)" = null ]
}
