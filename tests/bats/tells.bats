#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2086,SC2030,SC2031,SC2016
# A sweep that is made to fail says in one place what happened, where, and what to do: for the admin
# in syslog, for the user in the log beside the map.

load ground
load jobs

SYSLOG=$GROUND_STATE/syslog LEVEL=quick BUDGET=3

# Who listens where syslog(3) speaks, for all hosts, which share /dev.
syslogd='
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
out = open(sys.argv[2], "ab", buffering=0)
while True:
    out.write(s.recv(65536).rstrip(b"\0\n") + b"\n")'

setup_file() {
    need_ground slurmctld
    [ ! -e /dev/log ] || skip "somebody listens at /dev/log already"
    ground_shared star4
    slurm_alone 4
    python3 -c "$syslogd" "$SYSLOG.socket" "$SYSLOG" 3>&- 4>&- </dev/null &
    echo $! >"$BATS_FILE_TMPDIR/syslogd"
    wait_until 10 test -e "$SYSLOG"
    ln -s "$SYSLOG.socket" /dev/log
}

teardown_file() {
    [ ! -e "$BATS_FILE_TMPDIR/syslogd" ] || kill "$(cat "$BATS_FILE_TMPDIR/syslogd")" || true
    [ "$(readlink /dev/log)" != "$SYSLOG.socket" ] || rm /dev/log
    ground_leave
}

setup() {
    need_ground slurmctld
    walls=() hidden=''
}

teardown() {
    [ "$(id -u)" = 0 ] || return 0
    local host
    for host in "${walls[@]}"; do on $host ip route del unreachable 10.77.0.0/17; done
    [ -z "$hidden" ] || on n3 umount -l "$CONF"
    conf_reset
    user scancel --user nettest
    wait_until 30 all_are_idle 4
}

start_job() { # four hosts; the first one's log is kept
    submit --nettopo=$LEVEL,debug,budget=$BUDGET -N4 --exclusive < <(
        recording_script | sed '$d'
        echo 'cat "$NETTOPO_LOG" >"$HOME/$SLURM_JOB_ID.log"'
        echo 'srun --quiet sh -c '\''sed "s/^/$SLURMD_NODENAME: /" "$NETTOPO_LOG"'\'' >"$HOME/$SLURM_JOB_ID.logs"'
        echo 'exit 0'
    )
}

in_syslog() { # HOST: what its agent said of the job beside the job's line
    sed -n "s/.*nettopo\[[0-9]*\]: job $JOB on $1: //p" "$SYSLOG"
}

job_line() { sed -n "s/.*nettopo\[[0-9]*\]: \(job=$JOB .*\)/\1/p" "$SYSLOG"; } # one a job

# All that an admin and the user are to find, in one place each: what happened, where, what to do.
tells() { # STATUS HAPPENED TO_DO
    local said
    completed
    [[ $(variable NETTOPO_STATUS) =~ ^($1)$ ]] || fail "status: $(cat "$GROUND_HOME/$JOB.env")"
    assert_equal "the log" "$(variable NETTOPO_LOG)" "/run/nettopo/$JOB/sweep.log"
    printf '# %s\n' "$(variable NETTOPO_REASON)" >&3
    said=$(cat "$GROUND_HOME/$JOB.log")
    [[ ${said%%$'\n'*} =~ ^"job $JOB on n1: "($1)" ".+ ]] || fail "the first line: $said"
    [[ $said =~ $2 ]] || fail "expected $2 in the job's log: $said"
    [[ $said =~ "to do: "[^$'\n']*($3) ]] || fail "expected $3 in the job's log: $said"
    # the last line for the admin may still be on its way
    wait_until 5 syslog_tells "$@"
    ! LC_ALL=C grep -q '[^ -~]' <<<"$said$(cat "$SYSLOG")" || fail "not printable: $said"
    [ "$(in_syslog n1 | wc -l)" -le 70 ] || fail "$(in_syslog n1 | wc -l) lines in syslog"
    waited_at_most $((BUDGET + 1))
    hosts_are_well
    wait_until 5 nothing_of_ours
}

syslog_tells() { # STATUS HAPPENED TO_DO
    local said
    said=$(job_line)
    assert_equal "lines of the job" "$(grep -c . <<<"$said")" 1 || return
    [[ $said =~ " user=nettest level=$LEVEL budget="[0-9.]+" status="($1)" hosts=4 seconds="[0-9.]+" " ]] ||
        fail "the job's line: $said" || return
    said+=$'\n'$(in_syslog n1)
    [[ $said =~ $2 && $said =~ to(_do=\"|" do: ")[^$'\n']*($3) ]] || fail "syslog of n1: $said"
}

@test "what goes well: one line for the admin, a log on every host for the user" {
    start_job
    completed
    went_well
    assert_contains "$(head -n 1 "$GROUND_HOME/$JOB.log")" "job $JOB on n1: ok"
    for host in n1 n2 n3 n4; do
        grep -q "^$host: job $JOB on $host: ok" "$GROUND_HOME/$JOB.logs" || fail "nothing of $host"
    done
    grep -q ' info latency ends after ' "$GROUND_HOME/$JOB.log"
    wait_until 5 syslog_tells_once
    # without the item there is none
    submit_recording --nettopo=quick,budget=$BUDGET -N4
    completed
    assert_equal "the log" "$(variable NETTOPO_LOG)" ""
    wait_until 5 syslog_tells_once
}

syslog_tells_once() {
    assert_equal "lines of hosts" "$(in_syslog 'n[1-4]')" "" || return
    [[ $(job_line) =~ ^"job=$JOB time=20"[^\ ]+"Z user=nettest level=quick budget=$BUDGET status=ok hosts=4 seconds="[0-9.]+" rounds="[0-9]+" findings=0"$ ]] ||
        fail "$(cat "$SYSLOG")"
}

@test "the log is root's, and no other user's to read" {
    submit --nettopo=quick,debug,budget=$BUDGET -N1 <<'END'
#!/bin/bash
stat -c '%U %a %s' "$NETTOPO_LOG" >"$HOME/$SLURM_JOB_ID.stat"
: >>"$NETTOPO_LOG" 2>/dev/null || echo refused >>"$HOME/$SLURM_JOB_ID.stat"
nettopo show --trace >"$HOME/$SLURM_JOB_ID.trace"
touch "$HOME/$SLURM_JOB_ID.there"
until [ -e "$HOME/$SLURM_JOB_ID.go" ]; do sleep 0.05; done
END
    wait_until 30 test -e "$GROUND_HOME/$JOB.there"
    run on n1 setpriv --reuid 65534 --regid 65534 --clear-groups cat "/run/nettopo/$JOB/sweep.log"
    touch "$GROUND_HOME/$JOB.go"
    [ "$status" != 0 ]
    assert_contains "$output" "Permission denied"
    completed
    read -r owner mode bytes < <(head -n 1 "$GROUND_HOME/$JOB.stat")
    assert_equal "owner and mode" "$owner $mode" "root 644"
    assert_between "bytes" "$bytes" 100 135168
    assert_equal "writing" "$(sed -n 2p "$GROUND_HOME/$JOB.stat")" refused
}

@test "a trace: the phases of the sweep, one after the other" {
    submit --nettopo=standard,budget=5 -N4 --exclusive <<'END'
#!/bin/bash
nettopo show --trace >"$HOME/$SLURM_JOB_ID.trace"
END
    completed
    awk 'NR == 1 {good = $1 == "phase"; next}
        $1 == "" {exit}
        {ends = $2 + $3; if ($2 < last - 0.002) good = 0; last = ends; seen = seen " " $1}
        END {exit !(good && seen ~ /^ meet latency .*host-links/)}' "$GROUND_HOME/$JOB.trace" ||
        fail "$(cat "$GROUND_HOME/$JOB.trace")"
}

@test "no common network" {
    for host in n1 n2 n3 n4; do
        on $host ip route add unreachable 10.77.0.0/17
        walls+=("$host")
    done
    start_job
    tells failed 'no pair of hosts could be measured' 'network in common'
}

@test "a transport is missing" {
    conf_set tls rc_mlx5
    start_job
    tells failed 'UCX: no usable network' 'net_devices and tls'
    # and UCX's own word for it
    grep -q "UCX .*transport 'rc_mlx5' is not available" "$GROUND_HOME/$JOB.log"
    # for the admin without the item, too
    submit_recording --nettopo=quick,budget=$BUDGET -N4
    completed
    assert_equal "the log" "$(variable NETTOPO_LOG)" ""
    wait_until 5 syslog_tells failed "UCX .*transport 'rc_mlx5' is not available" 'net_devices and tls'
}

@test "a transport is missing on one host" {
    sed '/^tls *=/d' "$CONF" >"$GROUND_STATE/conf.n3"
    echo 'tls = rc_mlx5' >>"$GROUND_STATE/conf.n3"
    on n3 mount --bind "$GROUND_STATE/conf.n3" "$CONF"
    hidden=yes
    start_job
    tells partial 'n3 is missing: UCX: no usable network' 'log of the hosts that are named'
    wait_until 5 n3_lacks_it
}

n3_lacks_it() { [[ $(in_syslog n3) =~ "transport 'rc_mlx5' is not available" ]] || fail "$(in_syslog n3)"; }

@test "the probe of the first host is killed" {
    LEVEL=full BUDGET=10 # long enough to be met
    while_measuring n1 'kill -s KILL $(probes_of n1)' start_job
    tells failed 'killed by signal 9' 'out-of-memory killer'
}

@test "the probe of another host is killed" {
    LEVEL=full BUDGET=10
    while_measuring n3 'kill -s KILL $(probes_of n3)' start_job
    tells partial 'the probe of n3 failed: killed by signal 9' 'log of the hosts that are named'
    wait_until 5 n3_tells
    grep -q '^n3: .*the probe failed: killed by signal 9; to do: ' "$GROUND_HOME/$JOB.logs"
}

n3_tells() { [[ $(in_syslog n3) =~ "the probe failed: killed by signal 9; to do: "[^$'\n']*"out-of-memory" ]] || fail "$(in_syslog n3)"; }

@test "munge is down" {
    conf_set munge_socket /nowhere/munge.socket
    start_job
    tells 'partial|failed' 'hosts did not connect: n2 n3 n4' 'munged'
    # on the others, who could not prove themselves, with MUNGE's own word
    wait_until 5 n2_tells
    grep -q '^n2: .*/nowhere/munge.socket' "$GROUND_HOME/$JOB.logs"
}

n2_tells() { [[ $(in_syslog n2) =~ "n1 within the budget: "[^$'\n']*unge.*"to do: "[^$'\n']*munged ]] || fail "$(in_syslog n2)"; }

@test "the budget is too small" {
    BUDGET=0.1
    start_job
    BUDGET=1
    tells 'partial|failed' 'time|budget' 'budget'
}
