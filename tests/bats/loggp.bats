#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# bats file_tags=full
# shellcheck disable=SC2154,SC2086,SC2030,SC2031,SC2016
# LogGP and rails on the wire, against what the fabric declares.

load ground
load jobs

setup_file() {
    need_ground slurmctld mpirun
    cluster down >/dev/null
}

teardown() {
    [ "$(id -u)" = 0 ] || return 0
    cluster down >/dev/null
}

# A sweep of level full by hand, one probe a host, over DEVICES: leaves loggp.map and loggp.samples
# in the test user's home.
measure() { # DEVICES HOSTS BUDGET
    submit -N"$2" <<END
#!/bin/bash
export UCX_NET_DEVICES=$1
mpirun --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include eth0 --map-by ppr:1:node \
    nettopo-probe -l full -b $3 -s "\$HOME/loggp.samples" -o "\$HOME/loggp.map"
END
    completed "$JOB" $(($3 + 30))
    MAP=$GROUND_HOME/loggp.map
    user nettopo validate "$MAP"
}

# FILTER over the entries of a class (and rail) for messages of BYTES
entry() { # CLASS RAIL BYTES FILTER
    jq -r --arg class "$1" --arg rail "$2" --argjson bytes "$3" \
        "[.loggp[] | select(.class == \$class and (.rail // \"\") == \$rail)]
         | (map(select(.max_bytes >= \$bytes)) | first) // last | $4" "$MAP"
}

time_us='.o_send_us + .L_us + .o_recv_us'

# The rate of the fabric's links in MB/s that messages get: 1448 of 1538 bytes of a full frame.
net_us_per_byte() { awk -v mbit="$1" 'BEGIN {print 8 / mbit * 1538 / 1448}'; }

# The fabric emulates in real time: where this machine was busy meanwhile, sizes that were held out
# are not where the others foretell them, or an overhead, a difference of two times, is further from
# 0.5 to 60 us than three of its standard errors. Such a sweep says nothing and is done again.
measure_quietly() { # DEVICES HOSTS BUDGET
    local try worst odd
    for try in 1 2 3; do
        measure "$@"
        worst=$(jq '[.loggp[].check_percent | select(. != null)] | max' "$MAP")
        odd=$(jq -c '[.loggp[] | select(.min_bytes <= 1) | . as $g | .o_send_us, .o_recv_us
            | select(. + 3 * $g.o_se_us < 0.5 or . - 3 * $g.o_se_us > 60)]' "$MAP")
        echo "# try $try: largest error of a held out size $worst %, overheads that cannot be: $odd" >&3
        awk -v w="$worst" 'BEGIN {exit !(w <= 10)}' && [ "$odd" = "[]" ] && return
    done
    fail "predictions: expected within 10 %, found $worst %; overheads: expected 0.5 to 60 us, found $odd"
}

@test "LogGP of two classes of paths is what the fabric declares, and predicts within 10 %" {
    ground_up - --cores shared <<'END'
host n1 s1 100 100
host n2 s1 100 100
host n3 s2 100 100
host n4 s2 100 100
link s1 s2 100 100
END
    measure_quietly fab0 4 45
    local class us bytes slope
    slope=$(net_us_per_byte 100)
    for class in "same switch:200" "through 2 switches:300"; do
        us=${class#*:} class=${class%:*}
        # 60 us: what the emulation and the processes' waking add (FACTS of tests/fabric)
        assert_between "$class: time of one byte" "$(entry "$class" "" 1 "$time_us")" "$us" $((us + 80))
        bytes=$(entry "$class" "" 4194304 .G_us_per_byte)
        assert_between "$class: G" "$bytes" "$(echo "$slope * 0.95" | bc -l)" "$(echo "$slope * 1.1" | bc -l)"
        # all sizes from 8 bytes on were predicted
        assert_equal "$class: regimes without a gap" "$(jq --arg class "$class" \
            '[.loggp[] | select(.class == $class)] | . as $r
             | [range(1; length) | select($r[.].min_bytes != $r[. - 1].max_bytes + 1)] | length' "$MAP")" 0
    done
}

@test "two rails, one five times slower: LogGP each, and the advice gains what round robin loses" {
    command -v ucx_perftest >/dev/null || skip "ucx_perftest is not installed"
    ground_up uneven-rails-2
    local advised robin fast slow
    measure fab0,fab1 2 40
    fast=$(entry 'same switch' fab0 1048576 .G_us_per_byte)
    slow=$(entry 'same switch' fab1 1048576 .G_us_per_byte)
    assert_between "fab1 against fab0" "$(echo "$slow / $fast" | bc -l)" 4 6
    run user nettopo show "$MAP"
    assert_contains "$output" "UCX_NET_DEVICES=fab0 "
    advised=$(transfer UCX_NET_DEVICES=fab0)
    # UCX's own division of long messages: their pieces in turn over all devices
    robin=$(transfer UCX_NET_DEVICES=fab0,fab1 UCX_MAX_EAGER_RAILS=2 UCX_RNDV_THRESH=inf)
    echo "# MB/s: as advised $advised, round robin over both $robin" >&3
    # what the fast rail carries, where turns over both wait for the slow one: twice that, 40 Mbit/s
    assert_between "as advised" "$advised" 20 25
    assert_between "round robin" "$robin" 1 15
}

# MB/s of 1 MiB messages from n1 to n2 under these settings. Asleep while they wait: spinning
# processes leave no core to the fabric.
transfer() { # NAME=VALUE...
    local address server
    address=$(on n2 ip -4 -o addr show eth0 | awk '{sub("/.*", "", $4); print $4}')
    on n2 env "$@" UCX_TLS=tcp timeout 30 ucx_perftest -E sleep >/dev/null 2>&1 3>&- &
    server=$!
    wait_until 10 n2_listens
    on n1 env "$@" UCX_TLS=tcp timeout 30 ucx_perftest "$address" -t tag_bw -s 1048576 -n 24 -w 4 -E sleep -f -v 3>&- |
        awk -F, '$1 + 0 > 0 {rate = $6} END {print rate * 1.048576}'
    wait $server || true
}

n2_listens() { [ -n "$(on n2 ss -Hltn 'sport = 13337')" ]; }
