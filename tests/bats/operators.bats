#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2086,SC2030,SC2031
# Mistakes that operators make, on a real cluster: what the job finds, and the line of
# nettopo-prolog --check on a host. Those that need no cluster are in check.bats, too. And what Slurm
# does around a sweep: jobs without the option, default = yes, scancel.

load ground
load jobs

setup_file() {
    need_ground slurmctld
    ground_shared star4
}

teardown_file() { ground_leave; }

setup() {
    need_ground slurmctld
    undo=()
}

teardown() {
    [ "$(id -u)" = 0 ] || return 0
    local step
    for step in "${undo[@]}"; do eval "$step"; done
    conf_reset
    user scancel --user nettest
    wait_until 30 all_are_idle 4
}

checked() { # HOST [OPTION...]: its FAIL lines
    local host=$1
    shift
    on "$host" "$GROUND_STATE/stage/libexec/nettopo/nettopo-prolog" --check --conf "$CONF" "$@" |
        sed -n 's/^FAIL   //p'
}

# The job gets this status and reason, and a host's check has a line.
shown() { # STATUS REASON HOST LINE [CHECK OPTION...]
    local status=$1 reason=$2 host=$3 line=$4 said
    shift 4
    submit_recording --nettopo=quick,budget=4 -N4 --exclusive && completed || return
    said=$(checked "$host" "$@")
    printf '# in the job: %s\n# on %s: %s\n' "$(variable NETTOPO_REASON)" "$host" "$(head -n 1 <<<"$said")" >&3
    [[ $(variable NETTOPO_STATUS) =~ ^($status)$ ]] || fail "status: $(cat "$GROUND_HOME/$JOB.env")" || return
    [[ $(variable NETTOPO_REASON) =~ $reason ]] || fail "reason: $(variable NETTOPO_REASON)" || return
    [[ $said =~ $line ]] || fail "check: $said"
}

everywhere() { # CMD...
    local host
    for host in n1 n2 n3 n4; do on $host "$@"; done
}

@test "an installation that is well has nothing to do" {
    run checked n2 --host n3
    # what the cluster of a test says of its timeouts and limits is its own
    [ -z "$output" ] || fail "$output"
}

@test "an unknown key in nettopo.conf" {
    conf_set bugdet_max 7
    shown failed "nettopo.conf:[0-9]+: unknown key \"bugdet_max\"" n1 "configuration: .*unknown key \"bugdet_max\""
}

@test "nettopo.conf of another owner" {
    chown nettest "$CONF"
    undo+=('chown root "$CONF"')
    shown failed "must be a regular file that only root can write" n1 "configuration: .*writable by users other than root\. Run chown root"
}

@test "a wrong device" {
    conf_set net_devices fab7
    shown failed "UCX: no usable network: fab7 does not exist on this host" n1 "net_devices: fab7 does not exist on this host"
}

@test "a device that is down" {
    on n3 ip link set fab0 down
    undo+=("on n3 ip link set fab0 up")
    shown partial "to the end: n3 \(UCX: no usable network: fab0 is down\)" n3 "net_devices: fab0 is down"
}

@test "munge is down" {
    conf_set munge_socket /nowhere/munge.socket
    shown failed "no other host connected" n2 "munge: .*/nowhere/munge.socket.*\. Start munged"
}

@test "the port range is taken" {
    local pid
    conf_set ports 24600-24603
    on n1 python3 -c '
import socket, time
held = [socket.socket() for _ in range(4)]
for k, s in enumerate(held):
    s.bind(("", 24600 + k)); s.listen()
time.sleep(120)' 3>&- &
    pid=$!
    undo+=("kill $pid")
    wait_until 10 on n1 sh -c 'test "$(ss -Hltn "sport >= 24600 and sport <= 24603" | wc -l)" = 4'
    shown failed "none of 4 ports from 246[0-9]+ on can be opened: Address already in use" n1 "ports: 4 of the ports 24600-24603 are in use"
}

@test "a firewall" {
    on n1 ip route add prohibit 10.219.0.13
    undo+=("on n1 ip route del prohibit 10.219.0.13")
    shown partial "to the end: n3 \(never connected: nettopo-prolog --check --host n3" n1 "connection: n3, port 24500: .*firewalls" --host n3
}

@test "run_dir is full" {
    on n1 mount -o remount,size=8m /run/nettopo
    on n1 sh -c 'head -c 8m /dev/zero >/run/nettopo/filler 2>/dev/null' || :
    undo+=("on n1 rm -f /run/nettopo/filler" "on n1 mount -o remount,size=50% /run/nettopo")
    shown failed "run_dir /run/nettopo is full on this host. Free space there\.|bytes free" n1 "run_dir: .*bytes free"
}

@test "hosts in two networks" {
    conf_set net_devices ''
    submit_recording --nettopo=quick,budget=4 -N4 --exclusive
    completed
    said=$(jq -r '.warnings[]' "$GROUND_HOME/$JOB.map")
    printf '# in the map: %s\n' "$said" >&3
    assert_contains "$said" "UCX may use devices of several networks"
    assert_contains "$said" "net_devices of nettopo.conf"
    [[ $(checked n1) =~ "transports: devices in 2 networks: "[^$'\n']*"to the devices of the fabric" ]] ||
        fail "$(checked n1)"
}

@test "a budget that is cut is told in the map" {
    conf_set budget_max 3
    submit_recording --nettopo=quick,budget=4 -N2
    completed
    assert_contains "$(jq -r '.warnings[]' "$GROUND_HOME/$JOB.map")" \
        "budget 4 s was reduced to 3 s by budget_max in nettopo.conf"
}

@test "agents of two versions refuse each other, and both hosts name both versions" {
    local agent=$GROUND_STATE/stage/libexec/nettopo/nettopo-prolog other=$GROUND_STATE/stage/other-agent here
    here=$("$agent" --version | cut -d' ' -f2)
    sed "s/$here/9.9.9/g" "$agent" >"$other" # of the same length
    chmod 755 "$other"
    on n2 mount --bind "$other" "$agent"
    undo+=("on n2 umount $agent" "rm $other")
    [ "$(on n2 "$agent" --version)" = "nettopo-prolog 9.9.9" ]
    submit --nettopo=quick,budget=4,debug -N4 --exclusive <<'JOB'
#!/bin/bash
cat "$NETTOPO_LOG" >"$HOME/$SLURM_JOB_ID.first"
srun -Q -N1 -n1 -w n2 cat "/run/nettopo/$SLURM_JOB_ID/hint.env" >"$HOME/$SLURM_JOB_ID.second"
JOB
    completed
    assert_contains "$(cat "$GROUND_HOME/$JOB.first")" "n2 has nettopo 9.9.9 (protocol 3), this host $here (protocol 3)"
    assert_contains "$(cat "$GROUND_HOME/$JOB.second")" "n1 has nettopo $here (protocol 3), this host 9.9.9 (protocol 3)"
}

logged() { grep -h 'nettopo: .*unknown key' "$GROUND_STATE"/log/slurmd.*.log; } # by the plugin

@test "a wrong nettopo.conf: nothing for jobs without the option, the reason with default = yes" {
    local before
    conf_set bugdet_max 7
    before=$(logged | wc -l)
    submit_recording -N4
    completed
    assert_equal "variables" "$(cat "$GROUND_HOME/$JOB.env")" ""
    assert_equal "lines in slurmd's logs" "$(logged | wc -l)" "$before"
    echo 'default = yes' >>"$CONF"
    submit_recording -N4
    completed
    assert_equal "status" "$(variable NETTOPO_STATUS)" failed
    assert_contains "$(variable NETTOPO_REASON)" 'unknown key "bugdet_max"'
    assert_equal "lines in slurmd's logs, one a host" "$(logged | wc -l)" $((before + 4))
    submit --nettopo=off -N1 < <(recording_script)
    completed
    assert_equal "variables" "$(cat "$GROUND_HOME/$JOB.env")" ""
}

nothing_measures() { [ -z "$(agents_of n1)$(agents_of n2)$(agents_of n3)$(agents_of n4)$(probes_of n1)" ]; }

# A sweep that goes on to its end archives its map.
ended_by() { # SLURM'S COMMAND...
    local began maps=$GROUND_STATE/ended
    mkdir -p "$maps"
    undo+=('rm -r "$GROUND_STATE/ended"')
    conf_set archive "$maps"
    while_measuring n1 'began=$(date +%s%N); user '"$*"' "$JOB"' submit --requeue --nettopo=full,budget=20 -N4 \
        --exclusive --wrap true
    wait_until 10 nothing_measures
    began=$((($(date +%s%N) - began) / 1000000))
    echo "# $began ms after $*" >&3
    figure assert_between "milliseconds after $*" $began 0 1000
    assert_equal "archived by the sweep that $* ended" "$(find "$maps" -name "$JOB.*")" ""
}

@test "scancel ends the sweep" {
    ended_by scancel
    wait_until 20 job_is_over "$JOB"
    assert_equal "state" "$(job_states)" CANCELLED
    hosts_are_well
    wait_until 10 nothing_of_ours
}

@test "scontrol requeue ends the sweep, drains no host, and the next job is measured" {
    ended_by scontrol requeue
    user scancel "$JOB"
    wait_until 30 all_are_idle 4
    hosts_are_well
    submit_recording --nettopo=quick -N4 --exclusive
    completed
    assert_contains "ok partial" "$(variable NETTOPO_STATUS)"
}

@test "a job whose sweep failed: nettopo show says why" {
    conf_set net_devices fab7
    submit --nettopo=quick -N2 --wrap 'nettopo show; echo "exit $?"'
    completed
    said=$(cat "$GROUND_HOME/$JOB.out")
    assert_contains "$said" "nettopo show: this job has no map (NETTOPO_STATUS=failed): "
    assert_contains "$said" "exit 1"
}

@test "disabled in nettopo.conf" {
    conf_set enabled no
    shown failed "disabled in nettopo.conf" n1 "configuration: .*enabled = no"
}

@test "users = others: as without nettopo, and the reason for jobs with the option" {
    conf_set users alice,bob
    echo 'default = yes' >>"$CONF"
    submit_recording -N2
    completed
    assert_equal "variables" "$(cat "$GROUND_HOME/$JOB.env")" ""
    submit_recording -N2 --nettopo=quick
    completed
    assert_equal "status" "$(variable NETTOPO_STATUS)" failed
    assert_equal "reason" "$(variable NETTOPO_REASON)" "disabled for this user (users in nettopo.conf)"
    sed -i 's/^users =.*/users = alice,nettest/' "$CONF"
    submit_recording -N2 --nettopo=quick
    completed
    assert_contains "ok partial" "$(variable NETTOPO_STATUS)"
}

@test "partitions = others: as without nettopo, and the reason; where the job runs is what counts" {
    local why="disabled for this partition (partitions in nettopo.conf)" list how
    undo+=('user scancel --user nettest; wait_until 30 on n1 scontrol delete PartitionName=few')
    on n1 scontrol create PartitionName=few Nodes=ALL State=UP OverSubscribe=YES
    conf_set partitions long,few
    echo 'default = yes' >>"$CONF"
    submit_recording -N2
    completed
    assert_equal "variables" "$(cat "$GROUND_HOME/$JOB.env")" ""
    for list in all few all,few few,all; do
        submit_recording -N2 -p "$list" --nettopo=quick
        completed
        case $(user timeout 10 scontrol -o show job "$JOB" | grep -o ' Partition=[^ ]*') in
        ' Partition=all') assert_equal "reason" "$(variable NETTOPO_REASON)" "$why" ;;
        ' Partition=few') assert_contains "ok partial" "$(variable NETTOPO_STATUS)" ;;
        *) fail "$list: in neither" ;;
        esac
    done
    for how in 'salloc -Q -N2 --nettopo=quick srun -n1 -N1' 'srun -n1 -N1 --nettopo=quick'; do
        run user timeout 60 $how sh -c 'echo "$NETTOPO_STATUS: $NETTOPO_REASON"'
        assert_contains "$output" "failed: $why"
    done
    run on n1 "$GROUND_STATE/stage/libexec/nettopo/nettopo-prolog" --check --conf "$CONF"
    assert_contains "$output" "; only partitions long,few"
}

@test "the plugin of another Slurm" {
    local so=$GROUND_STATE/stage/lib/slurm/spank_nettopo.so
    cp -p "$so" "$so.kept"
    undo+=('mv "$GROUND_STATE/stage/lib/slurm/spank_nettopo.so.kept" "$GROUND_STATE/stage/lib/slurm/spank_nettopo.so"')
    python3 - "$so" "0x$(objdump -t "$so" | awk '$NF == "plugin_version" {print $1}')" <<'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
at = int(sys.argv[2], 16)  # .rodata lies where it is loaded
data[at:at + 4] = (30 << 16 | 5 << 8).to_bytes(4, sys.byteorder)
open(sys.argv[1] + ".other", "wb").write(data)
END
    mv "$so.other" "$so"
    chmod 644 "$so"
    run user timeout 30 sbatch --nettopo -N1 --wrap true
    [ "$status" != 0 ]
    echo "# at submission: $(head -n 1 <<<"$output")" >&3
    assert_contains "$output" "nettopo"
    [[ $(checked n1) =~ "plugin: "[^$'\n']*" is for Slurm 30.05, slurmd is "[^$'\n']*"SLURM_PREFIX=DIR" ]] || fail "$(checked n1)"
    echo "# on n1: $(checked n1)" >&3
    submit_recording -N2 # jobs without the option run as ever
    completed
}

# The last: it starts a cluster of its own.
@test "slurm.conf without Alloc" {
    cluster down >/dev/null
    ground_up star4 --slurm '#PrologFlags=' # none
    shown failed "PrologFlags in slurm.conf has no Alloc" n1 "PrologFlags: .*PrologFlags=Alloc,DeferBatch"
}
