#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2086,SC2030,SC2031,SC2016
# The emulated network against its own declaration: if this ground does not hold, nothing that is
# built on it means anything.

load ground

PREFIX=nettest- # the cluster's: "cluster down" removes what a killed test leaves
TALK=$ROOT/build/tests/talk

setup() {
    need_ground ip
    ground_snapshot "$BATS_TEST_TMPDIR/before"
    [ -d /run/netns ] || touch "$BATS_TEST_TMPDIR/made-netns"
    started=()
}

teardown() {
    [ "$(id -u)" = 0 ] || return 0
    stop_all
    local host
    for host in $hosts; do ip netns del "$PREFIX$host" 2>/dev/null || true; done
    if [ -e "$BATS_TEST_TMPDIR/made-netns" ] && [ -z "$(ls -A /run/netns 2>/dev/null)" ]; then
        umount /run/netns 2>/dev/null || true
        rmdir /run/netns 2>/dev/null || true
    fi
}

background() { # CMD...: started without the runner's descriptors, ended by stop_all
    "$@" 3>&- 4>&- </dev/null &
    started+=($!)
}

stop_all() {
    local pid
    for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${started[@]}"; do wait "$pid" 2>/dev/null || true; done
    started=()
}

start() { # FABRIC
    text=$(fabric_path "$1")
    hosts=$("$FABRIC" --hosts "$text")
    local host
    for host in $hosts; do ip netns add "$PREFIX$host"; done
    background "$FABRIC" --netns "$PREFIX" --ready "$BATS_TEST_TMPDIR/ready" \
        --control "$BATS_TEST_TMPDIR/control" "$text" \
        2>"$BATS_TEST_TMPDIR/fabric.log"
    fabric=$!
    wait_until 10 test -e "$BATS_TEST_TMPDIR/ready"
}

at() { # HOST CMD...
    local host=$1
    shift
    ip netns exec "$PREFIX$host" "$@"
}

address() { # HOST [RAIL]
    local number
    number=$(printf '%s\n' $hosts | grep -nx "$1" | cut -d: -f1)
    echo "10.$((77 + ${2:-0})).0.$number"
}

# The p10 of pings in us; noise only adds to it, so that the least of three is looked at where the
# first is too much.
pinged() { # A B MOST_US [RAIL]
    local try got least=
    for try in 1 2 3; do
        got=$(at "$1" timeout 20 "$TALK" ping "$(address "$2" "${4:-0}")" 5000 30) || return
        least=$(printf '%s\n' $least $got | sort -g | head -n 1)
        awk -v got="$got" -v most="$3" 'BEGIN {exit !(got <= most)}' && break
        echo "# $1 to $2, try $try: $got us" >&3
    done
    echo "$least"
}

takes() { # WHAT LOW_US HIGH_US CMD...
    local got
    got=$("${@:4}") && assert_between "$1" "$got" "$2" 1000000 && figure assert_between "$1" "$got" "$2" "$3"
}

# Every pair's p10 lies between the declared latency and so much above it: nothing arrives early. How
# late it may be is the machine's (FULL=1).
hold_against_truth() { # ABOVE_US
    local a b host low high got
    for host in $hosts; do background ip netns exec "$PREFIX$host" "$TALK" echo 5000; done
    "$FABRIC" --truth "$text" >"$BATS_TEST_TMPDIR/truth"
    for a in $hosts; do
        for b in $(printf '%s\n' $hosts | sed "0,/^$a\$/d"); do
            low=$(declared "$a" "$b")
            high=$(echo "$low + $1" | bc)
            got=$(pinged "$a" "$b" "$high")
            echo "# $a $b declared $low measured $got" >>"$BATS_TEST_TMPDIR/pairs"
            assert_between "$a to $b in us" "$got" "$low" 1000000
            figure assert_between "$a to $b in us" "$got" "$low" "$high"
        done
    done
    awk '{d = $7 - $5; if (d > worst) worst = d; sum += d; n++}
         END {printf "# %d pairs, measured over declared: mean %.1f us, worst %.1f us\n",
              n, sum / n, worst}' "$BATS_TEST_TMPDIR/pairs" >&3
}

declared() { # A B -> mean of both directions, which half a round trip is
    awk -F, -v a="$1" -v b="$2" '
        NR == 1 {for (i = 2; i <= NF; i++) name[i] = $i; next}
        {for (i = 2; i <= NF; i++) t[$1, name[i]] = $i}
        END {printf "%.3f\n", (t[a, b] + t[b, a]) / 2}' "$BATS_TEST_TMPDIR/truth"
}

# MB/s of each flow, all at once: FROM:TO...
flows() {
    local flow k=0 pids=() when seconds=1
    ! full || seconds=2
    rm -f "$BATS_TEST_TMPDIR"/flow.*
    for flow; do
        background ip netns exec "$PREFIX${flow#*:}" "$TALK" sink $((6000 + k))
        k=$((k + 1))
    done
    k=0
    when=$(($(date +%s%N) + 500000000))
    for flow; do
        at "${flow%:*}" timeout 30 "$TALK" send "$(address "${flow#*:}")" $((6000 + k)) $seconds $when \
            >"$BATS_TEST_TMPDIR/flow.$k" 3>&- &
        pids+=($!)
        k=$((k + 1))
    done
    for k in "${!pids[@]}"; do
        wait "${pids[k]}"
        cut -d' ' -f1 "$BATS_TEST_TMPDIR/flow.$k"
    done
}

# MB/s of the last flows together, from the begin of the first to the end of the last: however late one of
# them begins, never more than a link that all take.
together() {
    awk '{bytes += $2; if (NR == 1 || $3 < begun) begun = $3; if ($4 > ended) ended = $4}
        END {printf "%.3f\n", bytes / 1e6 / ((ended - begun) / 1e9)}' "$BATS_TEST_TMPDIR"/flow.*
}

# within WHAT MIN MAX CMD...: all that CMD prints (left in MEASURED): never more. The fabric emulates in
# real time: what disturbs it for a moment is measured again, visibly, at most twice, and with FULL=1
# what is less fails.
within() {
    local what=$1 min=$2 max=$3 try
    shift 3
    for try in 1 2 3; do
        MEASURED=$("$@")
        awk -v min="$min" -v max="$max" '{for (k = 1; k <= NF; k++) bad += $k < min || $k > max; n += NF}
            END {exit n == 0 || bad > 0}' <<<"$MEASURED" && return
        assert_between "$what, the most of it" "$(sort -g <<<"${MEASURED// /$'\n'}" | tail -n 1)" 0.01 "$max" || return
        full || return 0
        echo "# $what, try $try: expected $min to $max, found" $MEASURED >&3
    done
    fail "$what: expected $min to $max, found three times something else"
}

# bats test_tags=full
@test "a star of 4 takes what it declares" {
    start star4
    hold_against_truth 60
}

@test "two levels, 8 hosts, take what they declare" {
    start demo8
    hold_against_truth 60
}

# bats test_tags=full
@test "three levels, 12 hosts, take what they declare" {
    start uneven12
    hold_against_truth 60
}

@test "a shared uplink divides fairly" {
    start - <<'END'
host n1 s1 100 100
host n2 s1 100 100
host n3 s1 100 100
host n4 s1 100 100
host n5 s2 100 100
host n6 s2 100 100
host n7 s2 100 100
host n8 s2 100 100
link s1 s2 100 200
END
    # 100 Mbit/s is 12.5 MB/s, 1448 of 1538 bytes of a full frame are payload
    within "alone" 10.8 11.8 flows n1:n5
    alone=$MEASURED
    # of four that begin together; one that begins late leaves the others more, at most a host's link
    most=11.8
    ! full || most=6.9
    within "one of four on 200 Mbit/s" 4.9 $most flows n1:n5 n2:n6 n3:n7 n4:n8
    shared=$MEASURED
    assert_between "four together" "$(together)" 0.01 23.6
    figure assert_between "the sum of four" "$(echo "$shared" | paste -sd+ | bc)" 21 24.5
    # the other direction is another queue
    within "two each way" 10 11.8 flows n1:n5 n2:n6 n7:n3 n8:n4
    both=$MEASURED
    echo "# alone $alone, four shared" $shared, "two each way" $both MB/s >&3
}

# Its flow fills what TCP's window has, 256 KiB or 0.2 s of this link; all but what is on the wire waits.
# The flow runs until the test ends it. Pings behind it and beside it take turns.
@test "what a host sends to others does not wait behind its flow" {
    start slow8
    local k behind=() beside=()
    for k in 2 3; do background ip netns exec "$PREFIX"n$k "$TALK" echo 5000; done
    background ip netns exec "$PREFIX"n2 "$TALK" sink 6000
    background ip netns exec "$PREFIX"n1 "$TALK" send "$(address n2)" 6000 0 0
    to() { at n1 timeout 60 "$TALK" ping "$(address "$1")" 5000 1; }
    waits() { assert_between "us behind the flow" "$(to n2)" 50000 1000000; }
    wait_until 60 waits
    for k in 1 2 3 4 5; do behind+=("$(to n2)") beside+=("$(to n3)"); done
    echo "# us behind the flow: ${behind[*]}, beside it: ${beside[*]}"
    assert_between "to another host, of what waits behind the flow" \
        "$(echo "$(median "${beside[@]}") / $(median "${behind[@]}")" | bc -l)" 0 0.5
}

# bats test_tags=full
@test "a link may be narrower one way" {
    start - <<'END'
host n1 s1 100 200
host n2 s2 100 200
link s1 s2 100 100 40
END
    within "there" 10.8 11.8 flows n1:n2
    within "back" 4.2 4.8 flows n2:n1
}

@test "a second rail is a device and a network of its own" {
    start - <<'END'
host n1 s1 100 200
host n2 s1 100 200
host n1 t1 300 200
host n2 t1 300 200
END
    background ip netns exec "${PREFIX}n2" "$TALK" echo 5000
    takes "rail 0" 200 270 pinged n1 n2 270
    takes "rail 1" 600 670 pinged n1 n2 670 1
}

change() { "$FABRIC" --set "$BATS_TEST_TMPDIR/control" "$@"; }

is_silent() { # A B: three datagrams, each with its time to be answered
    run at "$1" timeout 0.4 "$TALK" ping "$(address "$2")" 5000 3
    [ "$status" != 0 ] || fail "$2 answers $1: $output"
}

@test "a link is changed while it runs: latency, down and up" {
    start - <<'END'
host n1 s1 100 200
host n2 s2 100 200
host n3 s1 100 200
link s1 s2 100 200
END
    background ip netns exec "${PREFIX}n2" "$TALK" echo 5000
    background ip netns exec "${PREFIX}n3" "$TALK" echo 5000
    takes "as declared" 300 370 pinged n1 n2 370
    change host n2 latency=2100
    takes "2 ms longer" 2300 2370 pinged n1 n2 2370
    # half of the way there and back
    change host n2 latency=100 way=out
    takes "2 ms longer one way" 1300 1370 pinged n1 n2 1370
    change host n2 latency=100
    for down in "host n2 down" "host n2 down way=in" "host n1 down way=in" "link s1 s2 down" \
        "link s2 s1 down way=in" "host n2 loss=100%"; do
        change $down
        is_silent n1 n2
        case $down in host\ n1*) ;; *) pinged n1 n3 100000 ;; esac # the others do
        down=${down/loss=100%/loss=0}
        change ${down/down/up}
        pinged n1 n2 100000
    done
}

# bats test_tags=full
@test "a link is changed while it runs: rate, one way" {
    start - <<'END'
host n1 s1 100 200
host n2 s2 100 200
link s1 s2 100 100
END
    within "as declared" 10.8 11.8 flows n1:n2
    change host n2 rate=40 way=in
    within "into the host" 4.2 4.8 flows n1:n2
    within "out of it" 10.8 11.8 flows n2:n1
    change link s2 s1 rate=20 way=out
    within "the uplink" 2 2.5 flows n2:n1
    change link s1 s2 rate=100
    change host n2 rate=200
    within "as declared again" 10.8 11.8 flows n2:n1
}

@test "a change that is wrong says so in a line, and none is made" {
    start star4
    for change in "host n9 down" "link n1 s1 down" "host n1" "host n1 rate=0" "host n1 down up"; do
        run change $change
        assert_equal "exit" "$status" 3
        assert_equal "lines" "${#lines[@]}" 1
    done
    assert_contains "$output" 'fabric: "up": given already'
    background ip netns exec "${PREFIX}n1" "$TALK" echo 5000
    pinged n2 n1 100000
    stop_all
    run change host n1 down
    assert_equal "exit without a fabric" "$status" 4
}

@test "ended by SIGTERM or SIGKILL, no card and no process stays" {
    for signal in TERM INT KILL; do
        start star4
        at n1 ip -br link show fab0
        kill -s $signal "$fabric"
        wait "$fabric" && status=0 || status=$?
        case $signal in
        KILL) assert_equal "exit" $status 137 ;;
        *)
            assert_equal "exit by $signal" $status 0
            [ ! -e "$BATS_TEST_TMPDIR/ready" ]
            ;;
        esac
        run at n1 ip -br link show fab0
        [ "$status" != 0 ]
        teardown
        rm -f "$BATS_TEST_TMPDIR/ready" "$BATS_TEST_TMPDIR/control"
        wait_until 10 nothing_stays "$BATS_TEST_TMPDIR/before"
    done
}

@test "a bad declaration is refused with file and line" {
    printf 'host n1 s1 100 200\nhost n2 s1 fast 200\n' >"$BATS_TEST_TMPDIR/bad"
    for verb in --hosts --truth --shape --ready=/nowhere; do
        run "$FABRIC" $verb "$BATS_TEST_TMPDIR/bad"
        assert_equal "exit" "$status" 3
        assert_contains "$output" "bad:2: expected a latency in us"
    done
    run "$FABRIC" --shape "$BATS_TEST_TMPDIR/none"
    assert_equal "exit" "$status" 3
    run "$FABRIC"
    assert_equal "exit" "$status" 2
}

@test "without the namespaces it says so and leaves nothing" {
    run "$FABRIC" --netns nowhere- "$ROOT/tests/data/fabrics/star4.fabric"
    assert_equal "exit" "$status" 4
    assert_contains "$output" "nowhere-n1"
    wait_until 10 nothing_stays "$BATS_TEST_TMPDIR/before"
}
