#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2016
# Whole sweeps of four agents on a network without Slurm and without the emulated fabric: a bridge in
# a network namespace, and a namespace per host. What of the hosts' addresses and names decides.

bats_require_minimum_version 1.5.0

setup_file() {
    [ "$(id -u)" = 0 ] || skip "run it as root"
    command -v munged >/dev/null && command -v ip >/dev/null || skip "munged or ip is not installed"
    unshare --net --mount --pid --fork true 2>/dev/null || skip "no namespaces"
    root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd -P)
    export root
}

setup() {
    [ "$(id -u)" = 0 ] || skip "run it as root"
    here=$(mktemp -d /tmp/nettopo-addresses-XXXXXX) # where every user may read it
    chmod 755 "$here"
    cp "$root"/build/nettopo-{prolog,check,probe} "$here"
    cd "$here" || return 1
}

teardown() { [ -z "${here-}" ] || rm -rf --one-file-system "$here"; }

# In the namespaces that apart makes; all processes end with the last of them.
#   hosts_up ADDRESS DOMAIN    n1 to n4 with addresses ADDRESS1 to ADDRESS4 on fab0, and munged
#   sweep DEVICES NAME...      a job on the hosts that Slurm calls so; the hostname of each is n1 to n4
#                              and $own_domain. Host k's files are in run.k/7
ground='
set -eu
hosts_up() {
    local k
    mount -t tmpfs tmpfs /run
    ip link add br0 type bridge
    ip link set br0 up
    echo "127.0.0.1 localhost" >hosts
    for k in 1 2 3 4; do
        ip netns add n$k
        ip link add v$k type veth peer name fab0 netns n$k
        ip link set v$k master br0 up
        ip -n n$k link set lo up
        ip -n n$k link set fab0 up
        ip -n n$k addr add "$1$k/64" dev fab0 nodad 2>/dev/null || ip -n n$k addr add "$1$k/24" dev fab0
        echo "$1$k n$k$2" >>hosts
    done
    mount --bind hosts /etc/hosts
    (umask 077 && head -c 1024 /dev/urandom >key)
    mkdir munge
    munged --force --foreground --key-file="$PWD/key" --socket="$PWD/munge/socket" --pid-file="$PWD/pid" \
        --log-file="$PWD/munge.log" --seed-file="$PWD/seed" >munge.out 2>&1 &
    until [ -S munge/socket ] || ! kill -0 $!; do sleep 0.02; done
}
sweep() {
    local k list pids=""
    list=$(shift && IFS=, && echo "$*")
    for k in 1 2 3 4; do
        printf "%s\n" "probe = $PWD/nettopo-probe" "probe_user = nobody" "munge_socket = $PWD/munge/socket" \
            "net_devices = $1" "run_dir = $PWD/run.$k" >conf.$k
    done
    shift
    for k in 1 2 3 4; do
        ip netns exec n$k unshare --uts sh -c "hostname n$k$own_domain; exec \"\$@\"" sh env \
            SLURM_CONF=/dev/null SLURM_JOB_NODELIST="$list" SLURMD_NODENAME="$1" "$PWD/nettopo-prolog" run \
            --job 7 --uid 65534 --gid 65534 --option quick,budget=4 --conf "$PWD/conf.$k" 3>&- &
        pids="$pids $!"
        shift
    done
    for k in $pids; do wait "$k"; done
}
check() { # HOST: of the first host
    ip netns exec n1 env SLURM_CONF=/dev/null "$PWD/nettopo-prolog" --check --conf conf.1 --host "$1" || :
}
'

apart() { # SCRIPT
    run timeout 60 unshare --net --mount --pid --fork --kill-child --mount-proc --propagation private \
        bash -c "$ground$1"
    echo "$output"
    [ "$status" = 0 ]
}

variable() { sed -n "s/^$2=//p" "run.$1/7/hint.env"; }

# The job's hosts, in the order of hint, hostfile and rank file, under the names that Slurm has.
has_slurms_names() { # NAME...
    local names
    names=$(printf '%s\n' "$@" | sort)
    [ "$(variable 3 NETTOPO_STATUS)" = ok ]
    [ "$(variable 3 NETTOPO_NODE_ORDER | tr , '\n' | sort)" = "$names" ]
    [ "$(sort run.3/7/hostfile)" = "$names" ]
    [ "$(sed 's/^rank [0-9]*=\([^ ]*\) .*/\1/' run.3/7/rankfile | sort)" = "$names" ]
    diff <(jq -r '.nodes[] | select(.status != "missing").name' run.3/7/map.json) <(echo "$names")
}

@test "IPv6 alone, and NodeNames with a domain that hostname does not have" {
    apart 'own_domain=
        hosts_up fd00:5::20 .cluster.example
        sweep fab0 n{1,2,3,4}.cluster.example
        check n2.cluster.example'
    has_slurms_names n{1,2,3,4}.cluster.example
    [[ $output == *"transports: tcp/fab0"* ]]
    [[ $output == *"connection: ports 24500 and 24627 of n2.cluster.example answer"* ]]
    [[ $output == *"large messages, addresses: not tested, because n2.cluster.example has no IPv4 address"* ]]
}

@test "a device with the same address on every host, and hostnames with a domain that NodeNames lack" {
    apart 'own_domain=.cluster.example
        hosts_up 10.5.0. ""
        for k in 1 2 3 4; do
            printf "%s\n" "link add docker0 type bridge" "addr add 172.17.0.1/16 dev docker0" "link set docker0 up" |
                ip -n n$k -batch -
        done
        sweep docker0 n{1,2,3,4}
        check n2
        cp run.1/7/hint.env failed.env
        sweep "" n{1,2,3,4}'
    [ "$(sed -n 's/^NETTOPO_STATUS=//p' failed.env)" = failed ]
    grep -q '^NETTOPO_REASON=no pair of hosts could be measured: ' failed.env
    [[ $output == *"FAIL   addresses: 172.17.0.1 of docker0 is also the address of another host: "* ]]
    [[ $output != *"no other host answers"* ]]
    has_slurms_names n1 n2 n3 n4 # UCX has selected fab0
    jq -r '.warnings[]' run.1/7/map.json |
        grep 'UCX may use devices of several networks (n1: .*docker0 172.17.0.0/16.*net_devices of nettopo.conf'
}
