#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2086,SC2030,SC2031,SC2016
# Who is there when a sweep begins may be gone in any of its phases: a probe killed, a host frozen,
# a link down, the leader gone. The job runs, nothing is drained, and what the map says of the
# others is true.

load ground
load jobs

TREE_BUDGET=4.5 STAR_BUDGET=6.5 LONG_BUDGET=14

setup_file() {
    need_ground slurmctld
    cluster down >/dev/null
}

teardown_file() { ground_down; }

setup() { need_ground slurmctld; }

teardown() { [ -z "${PROBE3-}" ] || recover; }

hosts() { "$FABRIC" --hosts "$GROUND_FABRIC" | wc -l; }

# Slow enough that this machine is never the bottleneck. A cluster is kept for the next test.
stand() { # tree|star
    GROUND_FABRIC=$BATS_FILE_TMPDIR/$1.fabric
    SLURM_S=$(cat "$BATS_FILE_TMPDIR/$1.stands" 2>/dev/null) && return
    if [ "$1" = tree ]; then
        printf 'host n%d l1 100 60\n' 1 2 3
        printf 'host n%d l2 100 60\n' 4 5 6
        printf 'link l1 l2 150 90\n'
    else
        printf 'host n%d s1 100 60\n' 1 2 3 4
    fi >"$GROUND_FABRIC"
    ground_down
    rm -f "$BATS_FILE_TMPDIR"/*.stands
    ground_up "$GROUND_FABRIC" || return
    slurm_alone "$(hosts)" || return
    echo "$SLURM_S" >"$BATS_FILE_TMPDIR/$1.stands"
    conf_set debug debug # a line in the log when a round begins
}

# ---- deaths ------------------------------------------------------------------------------------

killed() { kill -s KILL $PROBE3; }
frozen() { kill -s STOP $PROBE3 $AGENT3; }
down() { on n3 ip link set fab0 down; }
leaderless() { kill -s KILL $AGENT1 $PROBE1; }

recover() {
    on n3 ip link set fab0 up
    kill -s CONT $PROBE3 $AGENT3 2>/dev/null || true
}

# ---- phases ------------------------------------------------------------------------------------

mates_are_there() {
    PROBE3=$(probes_of n3) AGENT3=$(agents_of n3) PROBE1=$(probes_of n1) AGENT1=$(agents_of n1)
    [ -n "$PROBE3" ] && [ -n "$AGENT3" ] && [ -n "$PROBE1" ] && [ -n "$AGENT1" ] &&
        { exec {LOG}<"/proc/$PROBE1/fd/2"; } 2>/dev/null
}

# The log of rank 0, which is there as long as it is open here.
begun() { grep -ao "[a-z-]*, round [0-9]* begins" "/proc/self/fd/$LOG"; }

# The event that a phase has begun, once the hosts that deaths come to are in the sweep. Fails when
# the phase never comes: then there is nothing to die in.
entered() { # PHASE BUDGET
    local until=$(($(date +%s) + ${2%.*} + 15))
    until mates_are_there; do
        [ "$(date +%s)" -lt $until ] || return 1
        sleep 0.002
    done
    until begun | grep -q "^$1,"; do
        # the last phase may be over before anybody looks
        [ "$(date +%s)" -lt $until ] && kill -0 $AGENT1 2>/dev/null || { [ "$1" = solve ]; return; }
        sleep 0.002
    done
}

# Rounds that began: what was measured before a death is not lost by it.
rounds() { begun | grep -vc '^solve,'; }
none_since() { [ "$(rounds)" = "$ROUNDS" ]; }

# All that must hold, whoever died: prints what does not.
judged() { # DEATH PHASE BUDGET
    local map=$GROUND_HOME/$JOB.map status missing=() reason
    completed "$JOB" 90 || return
    status=$(variable NETTOPO_STATUS) reason=$(variable NETTOPO_REASON)
    printf '# %s in %s: %s in %s s: %s\n' "$1" "$2" "$status" "$(waited_s)" "$reason" >&3
    waited_at_most "$(echo "$3 + 1" | bc)" || return
    hosts_are_well || return
    case $status in
    ok) none_since || fail "ok in spite of it" || return ;;
    partial | failed) [ -n "$reason" ] || fail "no reason" || return ;;
    *) fail "status $status" || return ;;
    esac
    if [ "$1" = leaderless ]; then
        [ "$2" = solve ] || assert_equal "status without a leader" "$status" failed || return
        return 0
    fi
    [ "$status" != failed ] || fail "failed: $reason" || return
    "$ROOT/build/nettopo" validate "$map" || return
    # a map may leave the network untold; what it tells is true
    [ "$(jq '.links | length' "$map")" != 0 ] || return 0
    # nobody else is blamed
    ! grep -oE '\bn[0-9]+\b' <<<"$reason" | grep -vx n3 || fail "blamed: $reason" || return
    ! jq -e '.nodes[] | select(.name == "n3" and .status == "missing")' "$map" >/dev/null ||
        missing=(--missing n3)
    found_network --partial --above 120 --bandwidth 15 "${missing[@]}" || return
}

# each DEATH LEVEL BUDGET PHASES...: a job for each phase
each() {
    local death=$1 level=$2 least=$3 phase budget try missed wrong=()
    shift 3
    for phase; do
        budget=$least
        # what a phase takes is the machine's: one that did not fit gets more time
        for try in 1 2 3 4 5; do
            missed=''
            submit_recording --nettopo=$level,budget=$budget -N"$(hosts)" --exclusive
            if ! entered "$phase" $budget; then
                missed="did not come within $budget s"
            # the last phase may be over before anybody can die in it
            elif ! $death 2>/dev/null && [ "$phase" != solve ]; then
                missed="was over"
            else
                ROUNDS=$(rounds)
                judged $death "$phase" $budget || wrong+=("$phase")
                # with status ok and no round since, nothing of the death was seen
                [ "$phase" = solve ] || ! none_since || [ "$(variable NETTOPO_STATUS)" != ok ] ||
                    missed="was in its last round"
            fi
            recover
            wait_until $((${budget%.*} + 40)) all_are_idle "$(hosts)"
            wait_until 5 nothing_of_ours || wrong+=("$phase: something stays")
            [ -n "$missed" ] || break
            echo "# try $try: $phase $missed" >&3
            budget=$(echo "$budget * 2" | bc)
        done
        [ -z "$missed" ] || wrong+=("$phase: $missed")
    done
    [ ${#wrong[@]} = 0 ] || fail "$death in: ${wrong[*]}"
}

# FULL=1: in every phase; otherwise in an early one or, if that is over before anybody looks, in one
# that follows
TREE_PHASES=latency LATE_PHASES="" STAR_PHASES=loggp KERNEL_DEATHS=killed
if full; then
    TREE_PHASES="meet latency warm-up host-links tiers" LATE_PHASES=solve
    STAR_PHASES="link-latency loggp sizes" KERNEL_DEATHS="killed frozen down leaderless"
fi

# bats test_tags=full
@test "a probe is killed: latencies and bandwidths" { stand tree && each killed standard $TREE_BUDGET $TREE_PHASES; }
# bats test_tags=full
@test "a host is frozen: latencies and bandwidths" { stand tree && each frozen standard $TREE_BUDGET $TREE_PHASES $LATE_PHASES; }
@test "a link goes down: latencies and bandwidths" { stand tree && each down standard $TREE_BUDGET $TREE_PHASES; }
# bats test_tags=full
@test "the leader is gone: latencies and bandwidths" { stand tree && each leaderless standard $TREE_BUDGET $TREE_PHASES $LATE_PHASES; }
# bats test_tags=full
@test "a probe is killed: what full adds" { stand star && each killed full $STAR_BUDGET $STAR_PHASES; }
# bats test_tags=full
@test "a host is frozen: what full adds" { stand star && each frozen full $STAR_BUDGET $STAR_PHASES; }
# bats test_tags=full
@test "a link goes down: what full adds" { stand star && each down full $STAR_BUDGET $STAR_PHASES; }
# bats test_tags=full
@test "the leader is gone: what full adds" { stand star && each leaderless full $STAR_BUDGET $STAR_PHASES; }

# bats test_tags=full
@test "each of them in the last phase, the stress kernels" {
    stand star
    for death in $KERNEL_DEATHS; do each $death full $LONG_BUDGET kernels; done
}
