#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154
# A network that is partly broken: ways between some hosts that are closed, switches that lose large
# packets, a device with the same address on all hosts. The map is that of what works, and its
# warnings name the rest. And a step that does not see /run.

load ground
load jobs

setup_file() {
    need_ground slurmctld
    ground_up - <<'FABRIC'
host n1 l1 100 200
host n3 l1 100 200
host n2 l2 100 200
host n4 l2 100 200
host n5 l2 100 200
link l1 l2 100 400
FABRIC
}

teardown_file() { ground_down; }

setup() { need_ground slurmctld; }

teardown() {
    on n5 ip route flush type unreachable
    cluster fabric set host n5 mtu=1500
}

address() { on "$1" ip -4 -o addr show fab0 | awk '{sub("/.*", "", $4); print $4}'; }

# Runs a job on all hosts; $map is its map, $reason what it was told.
job() { # LEVEL
    submit -N5 --exclusive --nettopo="$1" <<'END' && completed || return
#!/bin/bash
echo "$NETTOPO_STATUS $NETTOPO_REASON"
cp "$NETTOPO_MAP" "$HOME/$SLURM_JOB_ID.map"
[ -z "$NETTOPO_LOG" ] || cp "$NETTOPO_LOG" "$HOME/$SLURM_JOB_ID.log"
END
    map=$GROUND_HOME/$JOB.map
    reason=$(cat "$GROUND_HOME/$JOB.out")
    jq -c '[.structure, .warnings, .sweep]' "$map" >&2
    echo "# $reason" >&2
    "$ROOT/build/nettopo" validate --quiet "$map"
}

# The same until the reason is so and the map is sure: if others take the processors, a host may be
# late and lost, and a disturbed sweep says that its map is not sure.
job_until() { # LEVEL REASON
    local k
    for k in 1 2 3 4 5; do
        job "$1" || return
        # shellcheck disable=SC2053
        [[ $reason != $2 ]] || ! jq -e '.structure.confidence >= 0.9' "$map" >&2 || return 0
    done
    fail "confidence $(jq .structure.confidence "$map"), $reason"
}

# The hosts that share a switch, one line per switch.
leaves() { jq -r '[.nodes[] | select(.switch) | [.switch, .name]] | group_by(.[0])[] | map(.[1]) | join(" ")' "$map" | sort; }

has_warning() { jq -e --arg w "$1" 'any(.warnings[]; startswith($w))' "$map" >/dev/null || fail "no warning: $1"; }

closes() { # NAME NAME: no way from the first to the second
    on "$1" ip route add unreachable "$(address "$2")"
}

@test "a blocked pair, then two of one host: the whole network, and their names" {
    closes n5 n2
    job_until quick "partial 9 of 10 pairs measured: n2 and n5 could not reach each other: *"
    assert_equal "leaves" "$(leaves)" $'n1 n3\nn2 n4 n5'
    has_warning "n2 and n5 could not reach each other: "
    [[ $("$ROOT/build/nettopo" show "$map") == *"n2 and n5 could not reach each other"* ]]
    [[ $("$ROOT/build/nettopo" export --format html "$map") == *"n2 and n5 could not reach each other"* ]]
    closes n5 n3
    job_until standard "partial 8 of 10 pairs measured: n2 and n5 could not reach each other: *; and 1 more pair"
    assert_equal "leaves" "$(leaves)" $'n1 n3\nn2 n4 n5'
    assert_equal "missing" "$(jq '[.nodes[] | select(.status)] | length' "$map")" 0
    has_warning "n2 and n5 could not reach each other: "
    has_warning "n3 and n5 could not reach each other: "
    on n5 ip route flush type unreachable
    job_until quick "ok "
}

@test "large messages that never arrive: the MTU, and both hosts" {
    local conf=$GROUND_STATE/stage/etc/nettopo/nettopo.conf check=()
    check=(env "SLURM_CONF=$GROUND_STATE/etc/slurm.conf" "$(sed -n 's/^prolog *= *//p' "$conf")" --check --conf "$conf")
    cluster fabric set host n5 mtu=1000
    job_until standard,debug "partial between n[1-4] and n5 *"
    run on n1 "${check[@]}" --host "$(address n5)"
    cluster fabric set host n5 mtu=1500
    [[ $reason =~ ^partial\ between\ (n[1-4])\ and\ n5\ small\ messages\ pass\ and\ large\ ones\ do\ not\.\ Compare\ the\ MTU ]]
    grep "to do: set one MTU (ip link) on ${BASH_REMATCH[1]}, n5 and the switches between" "$GROUND_HOME/$JOB.log"
    jq -e 'any(.warnings[]; test("^between n[1-4] and n5 small messages pass and large ones do not. Compare the MTU of both hosts"))' "$map"
    assert_equal "leaves" "$(leaves)" $'n1 n3\nn2 n4 n5'
    [ "$status" = 1 ]
    grep "^FAIL   large messages: $(address n5) answers packets of 84 bytes through fab0, but none of 1500 bytes, its MTU. " <<<"$output"
    run on n1 "${check[@]}" --host "$(address n5)"
    [ "$status" = 0 ]
    grep "^ok     large messages: $(address n5) answers packets of the MTU through fab0" <<<"$output"
    grep "^ok     addresses: fab0: no other host answers for it" <<<"$output"
}

@test "an address that several hosts share" {
    local host conf=$GROUND_STATE/docker.conf program
    sed 's/^net_devices.*/net_devices = docker0/' "$GROUND_STATE/stage/etc/nettopo/nettopo.conf" >"$conf"
    program=$(sed -n 's/^prolog *= *//p' "$conf")
    for host in n1 n2; do
        on $host ip link add docker0 type bridge
        on $host ip addr add 172.17.0.1/16 dev docker0
        on $host ip link set docker0 up
    done
    run on n1 env "SLURM_CONF=$GROUND_STATE/etc/slurm.conf" "$program" --check --conf "$conf" --host n2
    for host in n1 n2; do on $host ip link del docker0; done
    rm "$conf"
    [ "$status" = 1 ]
    grep "^FAIL   addresses: 172.17.0.1 of docker0 is also the address of another host: .* answers for it on eth0. " <<<"$output"
}

@test "hosts whose names nobody resolves, and that call themselves otherwise than Slurm" {
    local host names=$'n1\nn2\nn3\nn4\nn5'
    echo "127.0.0.1 localhost" >"$GROUND_STATE/no-names"
    for host in $names; do
        on $host sh -c "hostname $host.cluster.example && mount --bind '$GROUND_STATE/no-names' /etc/hosts"
    done
    submit -N5 --exclusive --nettopo=quick,apply <<'END'
#!/bin/bash
echo "$NETTOPO_STATUS $(getent hosts n2) $(hostname)"
tr , '\n' <<<"$NETTOPO_NODE_ORDER" | sort
sort "$NETTOPO_HOSTFILE"
sed 's/^rank [0-9]*=\([^ ]*\) .*/\1/' "$NETTOPO_RANKFILE" | sort
srun -Q sh -c 'echo "$SLURM_PROCID $SLURMD_NODENAME"' | sort -n | cut -d' ' -f2 | cmp - "$NETTOPO_HOSTFILE" && echo same
END
    completed
    for host in $names; do on $host sh -c "umount /etc/hosts && hostname $host"; done
    rm "$GROUND_STATE/no-names"
    assert_equal "the job" "$(cat "$GROUND_HOME/$JOB.out")" $'ok  n1.cluster.example\n'"$names"$'\n'"$names"$'\n'"$names"$'\nsame'
}

@test "a step in a mount namespace with an empty /run uses NETTOPO_JSON" {
    submit -N5 --exclusive --nettopo=quick <<END
#!/bin/bash
srun -Q -N1 -n1 unshare --user --map-root-user --mount sh -c 'mount -t tmpfs tmpfs /run && ls /run | wc -l &&
    "$ROOT/build/nettopo" validate && "$ROOT/build/nettopo" hint | head -n 1 && "$ROOT/build/nettopo" show >/dev/null && echo shown'
END
    completed
    run cat "$GROUND_HOME/$JOB.out"
    echo "$output" | sed 's/^/# /' >&2
    [ "${lines[0]}" = 0 ]
    [[ ${lines[1]} == '$NETTOPO_JSON: valid, 5 hosts'* ]]
    [ "${lines[-1]}" = shown ]
}
