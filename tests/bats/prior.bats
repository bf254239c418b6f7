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
    finds_network submit_recording -N16 --exclusive --nettopo=quick,budget=40
    before=$(jq .sweep.rounds "$GROUND_HOME/$JOB.map")
    before_s=$(jq .sweep.seconds "$GROUND_HOME/$JOB.map")
    "$ROOT/build/nettopo" export --format prior -o "$PRIOR" "$GROUND_HOME/$JOB.map"
    chmod 644 "$PRIOR"
    conf_set prior "$PRIOR"
    finds_network submit_recording -N16 --exclusive --nettopo=quick,budget=40
    rounds=$(jq .sweep.rounds "$GROUND_HOME/$JOB.map")
    echo "# $before rounds in $before_s s, then $rounds in $(jq .sweep.seconds "$GROUND_HOME/$JOB.map") s: $(prior_says)" >&3
    [ "$(jq .sweep.prior.used "$GROUND_HOME/$JOB.map")" != true ] || [ $((3 * rounds)) -lt "$before" ]
    run jq -e '.sweep.prior | has("used")' "$GROUND_HOME/$JOB.map"
    [ "$status" = 0 ]
}

@test "with level = auto a short job of known hosts is not measured, and a long one is" {
    finds_network submit_recording -N16 --exclusive --nettopo=quick,budget=40
    "$ROOT/build/nettopo" export --format prior "$GROUND_HOME/$JOB.map" |
        awk '$1 == "switch" {$5 = 0.97} $1 == "host" {$4 = 0.97} {print}' >"$PRIOR"
    chmod 644 "$PRIOR"
    cp "$GROUND_HOME/$JOB.map" "$BATS_TEST_TMPDIR/measured"
    conf_set prior "$PRIOR"
    conf_set level auto
    submit_recording -N16 --exclusive --time=5 --nettopo=budget=40
    completed
    [ "$(variable NETTOPO_STATUS)" = ok ]
    map=$GROUND_HOME/$JOB.map
    [ "$(jq -r .job.level "$map")" = skip ]
    [ "$(jq .sweep.pairs_measured "$map")" = 0 ]
    [ "$(jq .structure.confidence "$map")" = 0.97 ]
    [ "$(prior_says)" = "{\"used\":true,\"pairs_taken\":120,\"pairs_verified\":0,\"pairs_contradicted\":0,\"hosts_moved\":0,\"support\":0.97,\"oldest\":\"$(date -u +%F)\"}" ]
    jq -e '.warnings | any(startswith("not measured (level = auto in nettopo.conf)"))' "$map"
    diff <(jq -c '[.nodes[] | [.name, .switch]]' "$map") <(jq -c '[.nodes[] | [.name, .switch]]' "$BATS_TEST_TMPDIR/measured")
    # the time is long: measured, as is a level that the user names
    submit_recording -N16 --exclusive --time=0 --nettopo=budget=40
    completed
    [ "$(jq -r .job.level "$GROUND_HOME/$JOB.map")" = quick ]
    submit_recording -N16 --exclusive --time=5 --nettopo=quick,budget=40
    completed
    [ "$(jq .sweep.pairs_measured "$GROUND_HOME/$JOB.map")" -gt 0 ]
    # without a prior
    conf_set prior ""
    submit_recording -N16 --exclusive --time=5 --nettopo=budget=40
    completed
    [ "$(jq -r .job.level "$GROUND_HOME/$JOB.map")" = quick ]
}

@test "LogGP of earlier jobs is stated by a job of level full, with its day" {
    finds_network submit_recording -N16 --exclusive --nettopo=quick,budget=40
    # of a device that no sweep here measures
    "$ROOT/build/nettopo" export --format prior "$GROUND_HOME/$JOB.map" | sed '/^end$/i\
#loggp far 1 4194304 2.82 1.4 1.4 1.4 0.00103 0.00103 0.8 2026-01-05 same switch\
#loggp far 1 4194304 2.82 1.4 1.4 1.4 0.00103 0.00103 0.8 2026-01-05 through 9 switches' >"$PRIOR"
    chmod 644 "$PRIOR"
    conf_set prior "$PRIOR"
    finds_network submit_recording -N16 --exclusive --nettopo=quick,budget=40
    [ "$(jq -c .loggp "$GROUND_HOME/$JOB.map")" = null ]
    submit_recording -N2 --exclusive --nettopo=full,budget=6 # on one switch
    completed
    went_well
    known=$(jq -c '[.loggp[] | select(.rail == "far") | [.class, .L_us, .seen, .support]]' "$GROUND_HOME/$JOB.map")
    assert_equal "LogGP of earlier jobs" "$known" '[["same switch",2.82,"2026-01-05",0.8]]'
}

# bats test_tags=full
@test "a prior that is wrong, or that others could have written, costs no truth" {
    # every host on the switch of the next but three
    finds_network submit_recording -N16 --exclusive --nettopo=quick,budget=40
    "$ROOT/build/nettopo" export --format prior "$GROUND_HOME/$JOB.map" |
        awk '$1 == "host" {name[++n] = $2; line[n] = $0; next} $1 == "end" {
            for (k = 1; k <= n; k++) {split(line[k], w, " "); w[2] = name[(k + 3) % n + 1]
                print w[1], w[2], w[3], w[4], w[5]}} {print}' >"$PRIOR"
    chmod 644 "$PRIOR"
    conf_set prior "$PRIOR"
    finds_network submit_recording -N16 --exclusive --nettopo=quick,budget=40
    echo "# $(prior_says)" >&3
    chmod 666 "$PRIOR"
    finds_network submit_recording -N16 --exclusive --nettopo=quick,budget=40
    jq -e '.warnings | any(test("prior: .*nobody else can write"))' "$GROUND_HOME/$JOB.map"
    [ "$(prior_says)" = null ]
}
