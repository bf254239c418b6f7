#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2086,SC2030,SC2031,SC2016
# The test cluster itself: a real Slurm on an emulated network, and nothing of it afterwards.

load ground

setup_file() {
    need_ground slurmctld
    cluster down >/dev/null
    ground_snapshot "$BATS_FILE_TMPDIR/before"
    ground_up demo8
}

teardown_file() { ground_down; }

setup() { need_ground slurmctld; }

OPTIONS=(star4 --cpus 3 --slurm 'MaxJobCount=77' --conf 'budget_default = 3')

idle_hosts() { cluster exec timeout 5 sinfo -h -t idle -o %D; }
all_are_idle() { [ "$(idle_hosts)" = "$1" ]; }
job_runs() { [ "$(cluster exec timeout 5 squeue -h -t R | wc -l)" = 1 ]; }

@test "every host of the declaration is idle" {
    wait_until 20 all_are_idle 8
    names=$(user sinfo -h -N -o %N | sort)
    assert_equal "hosts" "$names" "$("$FABRIC" --hosts "$GROUND_FABRIC" | sort)"
}

@test "a job of the unprivileged user runs on every host" {
    refute_contains "$(user id)" "(root)"
    user sbatch --quiet -N8 -o "$GROUND_HOME/job.out" --wrap \
        'srun sh -c "echo \$(hostname) \$(id -un) \$SLURMD_NODENAME" && touch job.over'
    wait_until 60 test -e "$GROUND_HOME/job.over"
    expected=$("$FABRIC" --hosts "$GROUND_FABRIC" | sort | awk '{print $1, "nettest", $1}')
    assert_equal "output" "$(sort "$GROUND_HOME/job.out")" "$expected"
}

@test "a login shell's environment works, and salloc's shell is on a host" {
    user sbatch --quiet --export=NONE -o login.out --wrap 'echo $HOME $PWD && touch login.over'
    wait_until 60 test -e "$GROUND_HOME/login.over"
    assert_equal "home" "$(cat "$GROUND_HOME/login.out")" "$GROUND_HOME $GROUND_HOME"
    run user timeout 60 salloc --quiet -N1 -w n3 srun hostname
    assert_equal "host" "$output" n3
}

@test "exec keeps directory, standard input and exit status" {
    mkdir -m 755 "$BATS_TEST_TMPDIR/here"
    cd "$BATS_TEST_TMPDIR/here"
    assert_equal "directory" "$(cluster exec pwd)" "$PWD"
    assert_equal "input" "$(echo hello | cluster exec cat)" hello
    run cluster exec sh -c 'exit 7'
    assert_equal "status" "$status" 7
    run cluster exec sh -c 'echo "$USER $LOGNAME $HOME"; command -v sbatch >/dev/null'
    assert_equal "status" "$status" 0
    assert_equal "environment" "$output" "nettest nettest $GROUND_HOME"
}

@test "host is root in that host's namespaces" {
    assert_equal "who" "$(on n2 id -un)" root
    assert_equal "where" "$(on n2 hostname)" n2
    assert_equal "address" "$(on n2 ip -4 -o addr show fab0 | awk '{print $4}')" 10.77.0.2/16
    assert_equal "what /sys shows" "$(on n2 ls /sys/class/net | sort | xargs)" "eth0 fab0 lo"
    on n2 touch /tmp/private /run/nettopo/private /dev/shm/private
    for private in /tmp /run/nettopo /dev/shm; do [ ! -e $private/private ]; done
    run on n3 ls /tmp/private /run/nettopo/private /dev/shm/private
    assert_equal "seen on another host" "$(echo "$output" | grep -c 'No such file')" 3
    run on nobody true
    assert_equal "unknown host" "$status" 4
    run on n2 sh -c 'exit 9'
    assert_equal "status" "$status" 9
}

@test "the fabric is the only way for what it carries" {
    on n1 ping -q -c 5 -i 0.05 10.77.0.4 >/dev/null
    run on n1 ip route get 10.77.0.4
    assert_contains "$output" "dev fab0"
    run on n1 ip route get 10.219.0.12
    assert_contains "$output" "dev eth0"
    on n4 ip link set fab0 down
    run on n1 ping -q -c 2 -i 0.05 -W 1 10.77.0.4
    on n4 ip link set fab0 up
    assert_equal "ping without the link" "$status" 1
    wait_until 5 on n1 ping -q -c 1 -W 1 10.77.0.4
}

@test "a link of the fabric is changed while the cluster runs" {
    cluster fabric set host n4 down
    run on n1 ping -q -c 2 -i 0.05 -W 1 10.77.0.4
    assert_equal "ping without the link" "$status" 1
    cluster fabric set host n4 up
    cluster fabric set host n4 latency=20000 way=in
    run on n1 ping -q -c 2 -i 0.2 -W 1 10.77.0.4
    assert_equal "ping" "$status" 0
    cluster fabric set host n4 latency=100
    run cluster fabric set host nobody down
    assert_equal "status" "$status" 3
    assert_equal "output" "$output" 'fabric: no host "nobody"'
    run cluster fabric get host n4
    assert_equal "usage" "$status" 2
    wait_until 20 all_are_idle 8
}

@test "a second one is refused" {
    run cluster up "$GROUND_FABRIC"
    assert_equal "status" "$status" 4
    assert_equal "lines" "${#lines[@]}" 1
    assert_contains "$output" "one is up already"
    all_are_idle 8
}

@test "a bad declaration or option starts nothing" {
    cluster down
    printf 'host n1 s1 100\n' >"$BATS_TEST_TMPDIR/bad"
    run cluster up "$BATS_TEST_TMPDIR/bad"
    assert_equal "status" "$status" 3
    assert_contains "$output" "bad:1: expected host NAME SWITCH"
    run cluster up "$BATS_TEST_TMPDIR/none"
    assert_equal "status" "$status" 3
    run cluster up --cpus many "$GROUND_FABRIC"
    assert_equal "status" "$status" 2
    run cluster exec true
    assert_equal "exec without a cluster" "$status" 4
    wait_until 20 nothing_stays "$BATS_FILE_TMPDIR/before"
}

# bats test_tags=full
@test "options reach the configuration" {
    ground_shared "${OPTIONS[@]}"
    run user scontrol show config
    assert_contains "$(echo "$output" | tr -s ' ')" "MaxJobCount = 77"
    assert_contains "$(user scontrol show node n1)" "CPUTot=3"
    assert_contains "$(cat "$GROUND_STATE/stage/etc/nettopo/nettopo.conf")" "budget_default = 3"
}

# bats test_tags=full
@test "who asks for the like takes over what another left, nobody else" {
    local first
    export GROUND_KEEP=1
    first=$(cat "$GROUND_STATE/pids/slurmctld")
    ground_leave
    ground_shared "${OPTIONS[@]}"
    assert_equal "slurmctld" "$(cat "$GROUND_STATE/pids/slurmctld")" "$first"
    ground_leave
    ground_shared star4
    [ "$(cat "$GROUND_STATE/pids/slurmctld")" != "$first" ]
    touch "$GROUND_STATE/stage/etc/nettopo/nettopo.conf.kept"
    ground_leave
    run cluster exec true
    assert_equal "exec after a change of nettopo.conf" "$status" 4
    ground_up star4
}

@test "after a crash the next one starts" {
    cluster down >/dev/null
    ground_up star4
    user sbatch --quiet -N4 -o /dev/null --wrap 'srun sleep 600'
    wait_until 20 job_runs
    for label in "$GROUND_STATE"/pids/*; do
        read -r pid _ <"$label"
        kill -s KILL "$pid"
    done
    run cluster exec true
    assert_equal "exec after the crash" "$status" 4
    run timeout 600 "$ROOT/tests/cluster/cluster" up "$ROOT/tests/data/fabrics/star4.fabric"
    assert_equal "status" "$status" 0
    assert_contains "$output" "removing what a crashed one left"
    assert_equal "idle" "$(idle_hosts)" 4
}

# Starts a cluster and kills the start as soon as the daemon is there. On a busy machine the start may
# be over by then: once more.
start_killed_at() { # DAEMON
    local start
    for _ in 1 2 3 4 5; do
        "$ROOT/tests/cluster/cluster" up "$ROOT/tests/data/fabrics/star4.fabric" \
            >/dev/null 2>&1 3>&- 4>&- </dev/null &
        start=$!
        while kill -s 0 $start 2>/dev/null && ! [ -s "$GROUND_STATE/pids/$1" ]; do sleep 0.01; done
        if kill -s KILL $start 2>/dev/null; then
            wait $start || true
            return 0
        fi
        wait $start
        cluster down
    done
    fail "five starts were over before $1 was seen"
}

# bats test_tags=full
@test "a start that is killed on the way is cleared away by the next" {
    cluster down
    for label in munged fabric keeper slurmd.n1; do
        start_killed_at $label
        run timeout 600 "$ROOT/tests/cluster/cluster" up "$ROOT/tests/data/fabrics/star4.fabric"
        assert_equal "status after $label: $output" "$status" 0
        assert_contains "$output" "removing what a crashed one left"
        assert_equal "idle" "$(idle_hosts)" 4
        cluster down
    done
    wait_until 20 nothing_stays "$BATS_FILE_TMPDIR/before"
}

# bats test_tags=full
@test "a host with two rails has two cards and one of Slurm's" {
    ground_up two-rails-4
    assert_equal "cards" "$(on n4 ls /sys/class/net | sort | xargs)" "eth0 fab0 fab1 lo"
    on n1 ping -q -c 2 -i 0.05 10.77.0.4 >/dev/null
    on n1 ping -q -c 2 -i 0.05 10.78.0.4 >/dev/null
    assert_contains "$(cat "$GROUND_STATE/stage/etc/nettopo/nettopo.conf")" "net_devices = fab0,fab1"
    cluster down
}

# bats test_tags=full
@test "a checkout that the user cannot read is no hindrance" {
    closed=$(mktemp -d)
    (cd "$ROOT" && tar -c --exclude=./.git .) | tar -x -C "$closed"
    chmod 700 "$closed"
    cd "$closed"
    timeout 300 tests/cluster/cluster up tests/data/fabrics/star4.fabric
    run tests/cluster/cluster exec ls "$closed"
    listed=$status
    run tests/cluster/cluster exec srun -N4 hostname
    ran=$status seen=$(echo "$output" | grep -v error | sort | xargs)
    run tests/cluster/cluster host n1 ls tests/cluster/cluster
    in_sight=$status
    tests/cluster/cluster down
    cd /
    rm -rf "$closed"
    assert_equal "status of ls by the user" "$listed" 2
    assert_equal "status of srun" "$ran" 0
    assert_equal "hosts" "$seen" "n1 n2 n3 n4"
    assert_equal "the checkout on a host" "$in_sight" 0
}

@test "down leaves nothing, also when things still run" {
    cluster exec true || ground_up star4 # the one before left one
    user sbatch --quiet -N4 -o /dev/null --wrap 'srun sleep 600'
    on n1 setsid --fork sleep 600 >/dev/null 2>&1 3>&-
    run cluster down
    assert_equal "status" "$status" 0
    assert_contains "$output" "was still running"
    assert_contains "$output" "nothing left"
    wait_until 20 nothing_stays "$BATS_FILE_TMPDIR/before"
    run cluster down
    assert_equal "status of a second down" "$status" 0
}
