#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2030,SC2031,SC2154
# nettopo-prolog --check on one node: an installation that is well, and each thing that an operator
# may have done wrong, with the line that says so. In network and mount namespaces of its own; no
# cluster.

setup_file() {
    [ "$(id -u)" = 0 ] || skip "run it as root"
    command -v slurmd >/dev/null && command -v munged >/dev/null || skip "slurmd or munged is not installed"
    unshare --net --mount true 2>/dev/null || skip "no namespaces"
    root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd -P)
    # where every user may read it
    node=$(mktemp -d /tmp/nettopo-check-XXXXXX)
    export node
    chmod 755 "$node"
    mkdir "$node/munge" "$node/plugins" "$node/run"
    install -m 755 "$root"/build/nettopo-{prolog,check,probe} "$node"
    install -m 644 "$root/build/spank_nettopo.so" "$node/plugins"
    dd if=/dev/urandom of="$node/munge/key" bs=128 count=1 status=none
    chmod 400 "$node/munge/key"
    munged --force --foreground --socket="$node/munge/socket" --key-file="$node/munge/key" \
        --pid-file="$node/munge/pid" --log-file="$node/munge/log" --seed-file="$node/munge/seed" \
        </dev/null >"$node/munge/out" 2>&1 3>&- 4>&- &
    munged=$!
    echo $munged >"$node/munged"
    until [ -S "$node/munge/socket" ] || ! readlink "/proc/$munged/exe" >/dev/null; do read -rt 0.02 <> <(:) || :; done
}

teardown_file() {
    [ -n "${node:-}" ] || return 0
    kill "$(cat "$node/munged")" 2>/dev/null || :
    tail --pid="$(cat "$node/munged")" -f /dev/null # it removes its files
    rm -rf --one-file-system "$node"
}

setup() {
    [ "$(id -u)" = 0 ] || skip "run it as root"
    conf=$node/nettopo.conf
    rm -f "$conf"
    cat >"$conf" <<CONF
prolog = $node/nettopo-prolog
probe = $node/nettopo-probe
munge_socket = $node/munge/socket
run_dir = $node/run
net_devices = fab0
CONF
    chmod 644 "$conf"
    printf '%s\n' ClusterName=c "PluginDir=$node/plugins" PrologFlags=Alloc,DeferBatch >"$node/slurm.conf"
    echo "optional spank_nettopo.so conf=$conf" >"$node/plugstack.conf"
    network='ip link set lo up
        ip link add fab0 type veth peer name far0
        ip link add eth0 type veth peer name far1
        ip addr add 10.77.0.1/17 dev fab0
        ip addr add 10.219.0.1/24 dev eth0
        for d in fab0 far0 eth0 far1; do ip link set $d up; done
        mount -t sysfs sysfs /sys'
    before=: options=()
}

checked() { # what --check says here, after the network is made and $before has run
    run env SLURM_CONF="$node/slurm.conf" unshare --net --mount --propagation private sh -c "$network
        $before
        exec \"\$@\"" sh "$node/nettopo-prolog" --check --conf "$conf" "${options[@]}"
}

is_well() {
    checked
    [ "$status" = 0 ] && ! grep -v '^ok ' <<<"$output" || { echo "status $status: $output" >&2; return 1; }
}

# Only lines of this kind, and each part of what is expected in one of them.
to_do() { # WHAT PART...
    local what=$1 line part
    shift
    checked
    printf '%s\n' "$output" | sed 's/^/# /' >&2
    [ "$status" = 1 ] || return 1
    [ "$(grep '^FAIL' <<<"$output" | grep -vc "^FAIL   $what: ")" = 0 ] || return 1
    line=$(grep "^FAIL   $what: " <<<"$output") || return 1
    for part; do [[ $line == *"$part"* ]] || return 1; done
}

@test "an installation that is well: a line for each part, exit 0" {
    is_well
    for part in configuration 'program prolog' 'program probe' slurm.conf PrologFlags 'timeouts of Slurm' \
        plugstack.conf plugin munge ports run_dir limits relay_user sandbox probe_user net_devices transports; do
        grep -q "^ok     $part: " <<<"$output" || { echo "no line for $part: $output" >&2; return 1; }
    done
    grep -q '^ok     transports: tcp/fab0$' <<<"$output"
}

@test "the command line: usage, help, version, and root alone" {
    run "$node/nettopo-prolog" --check --nothing
    [ "$status" = 2 ]
    [[ $output == *"--nothing: unknown argument"* ]]
    run "$node/nettopo-prolog" --check --conf
    [ "$status" = 2 ]
    [[ $output == *"missing value"* ]]
    run "$node/nettopo-prolog" --check --help
    [ "$status" = 0 ]
    [[ $output == Usage:* ]]
    run setpriv --reuid 65534 --regid 65534 --clear-groups "$node/nettopo-prolog" --check
    [ "$status" = 4 ]
    [[ $output == *"run it as root"* ]]
}

@test "an unknown key in nettopo.conf" {
    echo 'bugdet_max = 7' >>"$conf"
    checked
    [ "$status" = 1 ]
    [ "${#lines[@]}" = 2 ] # what follows from it is not checked with defaults
    grep -q "^FAIL   configuration: $conf:6: unknown key \"bugdet_max\". Correct that file" <<<"$output"
    [ "${lines[1]}" = "1 failed" ]
}

@test "whose jobs are measured, and in which partitions" {
    printf '%s\n' 'users = alice,bob' 'partitions = large' >>"$conf"
    is_well
    grep -q '^ok     configuration: .*; only users alice,bob; only partitions large$' <<<"$output"
}

@test "a configuration that others may write" {
    chmod 666 "$conf"
    checked
    [ "$status" = 1 ]
    grep -q "^FAIL   configuration: $conf is writable by users other than root. Run chown root" <<<"$output"
    chmod 644 "$conf"
    chown 65534 "$conf"
    checked
    grep -q "^FAIL   configuration: .*writable by users other than root. Run chown root" <<<"$output"
}

@test "slurm.conf without Alloc, without DeferBatch, with Serial, with short timeouts" {
    sed -i '/^PrologFlags/d' "$node/slurm.conf"
    to_do PrologFlags '(none)' 'Set PrologFlags=Alloc,DeferBatch'
    echo PrologFlags=Alloc >>"$node/slurm.conf"
    to_do PrologFlags 'Add DeferBatch'
    sed -i 's/^PrologFlags.*/PrologFlags=Alloc,DeferBatch,Serial/' "$node/slurm.conf"
    to_do PrologFlags 'Remove Serial'
    sed -i 's/^PrologFlags.*/PrologFlags=Contain,DeferBatch/' "$node/slurm.conf"
    echo PrologEpilogTimeout=5 >>"$node/slurm.conf"
    to_do 'timeouts of Slurm' 'PrologTimeout or PrologEpilogTimeout allows budgets up to 3 s'
}

@test "the plugin: no line, required, another file, missing, of another Slurm" {
    echo 'include plugstack.d/*' >"$node/plugstack.conf"
    to_do plugstack.conf 'no line loads spank_nettopo.so' 'include'
    mkdir "$node/plugstack.d"
    echo "required spank_nettopo.so conf=$conf" >"$node/plugstack.d/nettopo.conf"
    to_do plugstack.conf 'Write optional'
    echo "optional spank_nettopo.so conf=/elsewhere" >"$node/plugstack.d/nettopo.conf"
    to_do plugstack.conf 'reads /elsewhere'
    echo "optional spank_nettopo.so" >"$node/plugstack.d/nettopo.conf"
    is_well
    sed -i "s,^PluginDir.*,PluginDir=/nowhere," "$node/slurm.conf"
    to_do plugin '/nowhere/spank_nettopo.so: No such file' 'make install'
    sed -i "s,^PluginDir.*,PluginDir=$node/other," "$node/slurm.conf"
    mkdir "$node/other"
    plugin_of 30.05 >"$node/other/spank_nettopo.so"
    to_do plugin 'is for Slurm 30.05, slurmd is' 'SLURM_PREFIX=DIR'
    echo text >"$node/other/spank_nettopo.so"
    to_do plugin 'not a shared object'
    rm -r "$node/other" "$node/plugstack.d"
}

# Ours, with another release in the place where Slurm looks for it.
plugin_of() { # RELEASE
    local so=$node/plugins/spank_nettopo.so at
    at=$(objdump -t "$so" | awk '$NF == "plugin_version" {print $1}')
    python3 - "$so" "$at" "$1" <<'END'
import sys
so, at, (major, minor) = sys.argv[1], int(sys.argv[2], 16), map(int, sys.argv[3].split("."))
data = bytearray(open(so, "rb").read())
data[at:at + 4] = (major << 16 | minor << 8).to_bytes(4, sys.byteorder)  # .rodata lies where it is loaded
sys.stdout.buffer.write(data)
END
}

@test "munged: none, and one that does not answer" {
    sed -i 's,^munge_socket.*,munge_socket = /nowhere/socket,' "$conf"
    to_do munge '/nowhere/socket' 'Start munged'
    sed -i "s,^munge_socket.*,munge_socket = $node/munge/socket," "$conf"
    kill -STOP "$(cat "$node/munged")"
    to_do munge 'munged does not answer' || { kill -CONT "$(cat "$node/munged")"; return 1; }
    kill -CONT "$(cat "$node/munged")"
    is_well
}

@test "ports that others have" {
    echo 'ports = 24500-24507' >>"$conf"
    before="python3 -c '
import socket, sys, os
held = [socket.socket() for _ in range(8)]
for k, s in enumerate(held):
    s.bind((\"\", 24500 + k)); s.listen(); s.set_inheritable(True)
os.execvp(sys.argv[1], sys.argv[1:])' \"\$@\"; exit"
    to_do ports '8 of the ports 24500-24507 are in use, 8 in a row' 'ports'
    sed -i 's/^ports.*/ports = 24501-24516/' "$conf" # 7 in a row: every job finds a port
    is_well
    grep -q '^ok     ports: 9 of the ports 24501-24516 are free' <<<"$output"
}

@test "a firewall towards another host" {
    options=(--host 10.77.0.2)
    before='ip addr add 10.77.0.2/32 dev lo'
    checked
    [ "$status" = 0 ]
    grep -q '^ok     connection: ports 24500 and 24627 of 10.77.0.2 answer' <<<"$output"
    before='ip route add prohibit 10.77.0.2/32'
    to_do connection '10.77.0.2, port 24500: ' 'firewalls of both hosts'
}

@test "run_dir: full, of others, no directory" {
    before="mount -t tmpfs -o size=1m,mode=755 tmpfs $node/run; head -c 1000k /dev/zero >$node/run/filler"
    to_do run_dir 'bytes free' 'Free space'
    before="mount -t tmpfs -o mode=777 tmpfs $node/run"
    to_do run_dir 'can be written by users other than root'
    before=:
    sed -i "s,^run_dir.*,run_dir = $conf," "$conf"
    to_do run_dir 'It must be a directory'
}

@test "run_dir: where nobody can write" {
    sed -i "s,^run_dir.*,run_dir = /proc/nope," "$conf"
    to_do run_dir '/proc/nope: No such file or directory' 'root must be able to create it'
    sed -i "s,^run_dir.*,run_dir = $node/run/new," "$conf"
    is_well
    grep -q "^ok     run_dir: the first job will create $node/run/new" <<<"$output"
    [ ! -e "$node/run/new" ]
    sed -i "s,^run_dir.*,run_dir = $node/run," "$conf"
    before="mount --bind $node/run $node/run && mount -o remount,bind,ro $node/run"
    to_do run_dir "$node/run: Read-only file system" 'Make it writable for root'
}

@test "archive, prior, fleet_store and relay_user that are not there" {
    local key
    for key in archive prior fleet_store; do
        echo "$key = $node/nowhere" >>"$conf"
        to_do $key "$node/nowhere: No such file or directory"
        sed -i '$d' "$conf"
    done
    echo "archive = $conf" >>"$conf"
    to_do archive 'is not a directory'
    mkdir "$node/archive"
    chmod 777 "$node/archive"
    sed -i '$s,.*,'"archive = $node/archive," "$conf"
    to_do archive 'can be written by users other than root'
    chmod 755 "$node/archive"
    is_well
    grep -q "^ok     archive: $node/archive" <<<"$output"
    sed -i '$s,.*,relay_user = nosuchuser,' "$conf"
    to_do relay_user 'user nosuchuser does not exist, so that nobody is used'
}

@test "devices: a wrong name, one that is down, none that UCX may use" {
    sed -i 's/^net_devices.*/net_devices = fab0,fab7/' "$conf"
    to_do net_devices 'fab7 does not exist on this host' 'net_devices in nettopo.conf'
    sed -i 's/^net_devices.*/net_devices = fab7/' "$conf"
    checked
    [ "$status" = 1 ]
    grep -q '^FAIL   transports: ' <<<"$output"
    sed -i 's/^net_devices.*/net_devices = fab0/' "$conf"
    before='ip link set fab0 down'
    checked
    [ "$status" = 1 ]
    grep -q '^FAIL   net_devices: fab0 is down. Bring it up' <<<"$output"
}

@test "a node of two networks, and nobody said which is the fabric" {
    sed -i '/^net_devices/d' "$conf"
    to_do transports 'devices in 2 networks: ' '10.77.0.0/17 (fab0)' '10.219.0.0/24 (eth0)' 'net_devices'
}

@test "a probe that hangs, fails, or is another's" {
    printf '#!/bin/sh\nexec sleep 1000\n' >"$node/probe.sh"
    chmod 755 "$node/probe.sh"
    sed -i "s,^probe.*,probe = $node/probe.sh," "$conf"
    to_do transports 'did not end within'
    printf '#!/bin/sh\nid -u\nexit 3\n' >"$node/probe.sh"
    to_do transports 'exit status 3' "$(id -u nettopo-probe 2>/dev/null || id -u nobody)"
    chown 65534 "$node/probe.sh"
    checked
    grep -q '^FAIL   program probe: .*can be written by users other than root' <<<"$output"
}

@test "a device that is not there" {
    echo 'interface = eth7' >>"$conf"
    to_do interface 'eth7 does not exist' 'the device of Slurm'
}

@test "ports that users may bind, and devices that the probe's user cannot open" {
    before='echo 80 >/proc/sys/net/ipv4/ip_unprivileged_port_start'
    to_do reserved_ports 'can open ports from 80 on' 'ip_unprivileged_port_start=1024'
    before='mount -t tmpfs tmpfs /dev/shm; mkdir -p /dev/shm/infiniband; touch /dev/shm/infiniband/uverbs0
        chmod 600 /dev/shm/infiniband/uverbs0; [ -e /dev/infiniband ] || mkdir /dev/infiniband
        mount --bind /dev/shm/infiniband /dev/infiniband'
    to_do probe_user 'cannot open /dev/infiniband/uverbs0' 'usermod -g'
    echo 'probe_user = job' >>"$conf"
    checked
    grep -q "^ok     probe_user: the job's user" <<<"$output"
    rmdir /dev/infiniband 2>/dev/null || :
}

@test "the probe by hand takes its devices from nettopo.conf" {
    run unshare --net --mount --propagation private sh -c "$network
        \"\$@\"" sh "$node/nettopo-probe" --conf "$conf" --transports
    [ "$status" = 0 ]
    [ "$output" = "transport tcp fab0 10.77.0.0/17" ]
    run env UCX_NET_DEVICES=eth0 unshare --net --mount --propagation private sh -c "$network
        \"\$@\"" sh "$node/nettopo-probe" --conf "$conf" --transports
    [ "$status" = 0 ]
    [ "$output" = "transport tcp eth0 10.219.0.0/24" ]
    run "$node/nettopo-probe" --conf /nowhere --transports
    [ "$status" = 3 ]
    [[ $output == *"/nowhere: No such file"* ]]
    echo 'bugdet_max = 7' >>"$conf"
    run "$node/nettopo-probe" --conf "$conf" --transports
    [ "$status" = 3 ]
    [[ $output == *"$conf:6: unknown key"* ]]
}
