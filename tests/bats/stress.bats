#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# bats file_tags=full
# shellcheck disable=SC2154,SC2086,SC2030,SC2031,SC2016
# Stress kernels, hosts' own models and the sweep's manners on the wire.

load ground
load jobs

setup_file() {
    need_ground slurmctld
    cluster down >/dev/null
}

teardown() {
    [ "$(id -u)" = 0 ] || return 0
    cluster down >/dev/null
}

# Two leaves whose link has an eighth of what the hosts of a leaf send together.
narrow() {
    cat <<'END'
host n1 s1 100 160
host n2 s1 100 160
host n3 s2 100 160
host n4 s2 100 160
link s1 s2 100 40
END
}

# A sweep through the prolog; leaves its map and its record in the test user's home.
measure() { # OPTION HOSTS SECONDS
    submit --nettopo="$1" -N"$2" <<'END'
#!/bin/bash
cp "$NETTOPO_MAP" "$HOME/stress.map"
cp "${NETTOPO_MAP%/*}/samples" "$HOME/stress.samples"
END
    completed "$JOB" $(($3 + 30))
    MAP=$GROUND_HOME/stress.map
    user nettopo validate stress.map
}

# The fabric emulates in real time: where the machine was busy meanwhile, hosts are taken for gone, or
# KERNEL's times lie so far apart that no link explains them. Such a sweep says nothing of the
# kernels and is done again.
measure_all() { # OPTION HOSTS SECONDS KERNEL
    local try lost
    for try in 1 2 3; do
        measure "$1" "$2" "$3"
        lost=$(jq -r --arg k "$4" '(.warnings[] | select(test("not reached|not answer|never connected|stopped answering"))),
            (if any(.stress[]?; .kernel == $k and .congested) then empty else "\($k): congests nothing" end)' "$MAP")
        [ -n "$lost" ] || return 0
        echo "# try $try: $lost" >&3
    done
    fail "in $try sweeps: $lost"
}

of_kernel() { jq -r --arg k "$1" ".stress[] | select(.kernel == \$k) | $2" "$MAP"; }

@test "a full sweep's map has six kernels, what they should take, and the link that congests" {
    ground_up - < <(narrow)
    measure_all full,budget=20 4 20 a2a
    local kernel
    jq -c ".warnings, .stress[]" "$MAP" | sed "s/^/# /" >&3
    assert_equal "kernels" "$(jq -r '[.stress[].kernel] | join(" ")' "$MAP")" "a2a o2a a2o sr:4 sr:32 gups"
    for kernel in a2a o2a a2o sr:4 sr:32 gups; do
        assert_equal "$kernel: hosts" "$(of_kernel $kernel .hosts)" 4
        assert_equal "$kernel: predictions in order" \
            "$(of_kernel $kernel '0 < .alone_us and .alone_us <= .shared_us and .time_low_us <= .time_us and .time_us <= .time_high_us')" true
    done
    assert_equal "messages of a2a" "$(of_kernel a2a .messages)" 12
    assert_equal "waves of sr:4" "$(of_kernel sr:4 .waves)" 4
    # four of the twelve messages go each way between the leaves
    assert_equal "a2a congests" "$(of_kernel a2a '.congested | [.tier, ([.from, .to] | sort | join(" "))] | join(" ")')" "1 s1 s2"
    assert_between "a2a: the link is busy" "$(of_kernel a2a '.congested.busy_us / .time_us')" 0.5 1.1
    # one host's own link is no congestion, many that send to one host's are
    assert_equal "o2a: a sender's own link" "$(of_kernel o2a '.congested.tier // 1')" 1
    run user nettopo show stress.map
    assert_contains "$output" "links over tier 1: s"
    assert_contains "$output" "4 hosts (m1): "
    # all hosts are this machine
    assert_equal "models" "$(jq -c '[.models[] | [.name, .hosts, .cores >= 1, .threads]]' "$MAP")" "[[\"m1\",4,true,$(getconf _NPROCESSORS_ONLN)]]"
    assert_equal "nodes' models" "$(jq -r '[.nodes[].model] | unique | join(" ")' "$MAP")" m1
    assert_equal "device" "$(jq -r '.models[0].nics[0] | .name + " " + .transports' "$MAP")" "fab0 tcp"
    assert_equal "UCX used" "$(jq -c '.sweep.transports' "$MAP")" '[{"used":"tcp/fab0","hosts":4}]'
    assert_contains "$output" "UCX    used tcp/fab0 (4 hosts)"
    jq -c ".models[]" "$MAP" | sed "s/^/# /" >&3
    # an emulated device is on no bus; cores are measured unless others keep them busy all the time
    assert_equal "PCI path" "$(jq -r '.models[0].nics[0].pci // "none"' "$MAP")" none
    assert_equal "core to core" "$(jq '[.models[0].core_latency[]? | .latency_us > 0.001 and .latency_us < 500] | all' "$MAP")" true
    user nettopo solve stress.samples -o again.map
    cmp "$MAP" "$GROUND_HOME/again.map"
}

# Bytes that HOST's device has sent and received, with the time, until the job is over.
watch_device() { # HOST SECONDS FILE
    on "$1" timeout "$2" awk 'BEGIN {
        while (1) {
            while ((getline line <"/proc/net/dev") > 0)
                if (line ~ /fab0:/) { sub(/.*fab0: */, "", line); split(line, f, / +/) }
            close("/proc/net/dev"); getline up <"/proc/uptime"; close("/proc/uptime"); split(up, u, " ")
            print u[1], f[1], f[9]; fflush(); system("sleep 0.05")
        }
    }' >"$3" 3>&- &
    WATCHER=$!
}

# The most that went through within any four seconds of a watch, in MB/s, in the busier direction.
busiest_rate() { # FILE
    awk '{t[NR] = $1; r[NR] = $2; s[NR] = $3}
        END {
            for (i = j = 1; i <= NR; i++) {
                while (t[i] - t[j] > 4) j++
                if (t[i] - t[j] < 3.6) continue
                for (k = 0; k < 2; k++) {
                    rate = (k ? r[i] - r[j] : s[i] - s[j]) / (t[i] - t[j]) / 1e6
                    if (rate > most) most = rate
                }
            }
            printf "%.3f\n", most
        }' "$1"
}

@test "max_load holds on average, and the bandwidths are the same" {
    ground_up - --conf 'max_load = 0.2' < <(narrow)
    local most
    watch_device n1 25 "$GROUND_HOME/n1.bytes"
    measure standard,budget=15 4 15
    kill $WATCHER
    wait $WATCHER || true
    most=$(busiest_rate "$GROUND_HOME/n1.bytes")
    echo "# MB/s over the busiest four seconds: $most; link: 20" >&3
    # a fifth, and one window more where it begins with one: 0.2 s of 3.6
    assert_between "MB/s of a link of 20" "$most" 0.5 5.2
    assert_between "bandwidth of n1" "$(jq '.links[] | select(.a == "n1" or .b == "n1") | .bandwidth_MBps' "$MAP")" 17 20
    assert_between "bandwidth between the leaves" "$(jq '.links[] | select(.a != "n1" and (.a | startswith("s")) and (.b | startswith("s"))) | .bandwidth_MBps' "$MAP")" 4.2 5
}

@test "full: latencies at several sizes, and each direction of a link has its own bandwidth" {
    ground_up - <<'END'
host n1 s1 100 160 64
host n2 s1 100 160
host n3 s2 100 160
host n4 s2 100 160
link s1 s2 100 160
END
    local size
    measure_all full,budget=20 4 20 a2o
    for size in 512 4096 32768; do
        assert_equal "pairs with latencies of $size bytes" \
            "$(awk -v s=$size '/^phase /{p = $2} p == "sizes" && $1 == "latency" && $4 == s {n[$2 < $3 ? $2" "$3 : $3" "$2]} END {print length(n)}' "$GROUND_HOME/stress.samples")" 6
    done
    assert_equal "links with a probability" "$(jq '[.links[].probability | . > 0 and . <= 1] | all' "$MAP")" true
    assert_between "n1 sends" "$(jq '.links[] | select(.a == "n1") | .bandwidth_MBps' "$MAP")" 17 20
    assert_between "n1 receives" "$(jq '.links[] | select(.a == "n1") | .bandwidth_back_MBps' "$MAP")" 6.8 8
    # what three hosts send to n1 waits at its slow direction
    assert_equal "a2o congests" "$(of_kernel a2o '.congested | [.tier, .from, .to] | join(" ")')" "0 s1 n1"
}
