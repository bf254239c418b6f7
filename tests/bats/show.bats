#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2030,SC2031
# nettopo show on terminals of any width, with a legend and without colours; and that what README
# shows is what it prints.

load ground

setup() {
    nettopo=${NETTOPO:-$ROOT/build/nettopo}
    maps=$ROOT/tests/data/maps
    cd "$BATS_TEST_TMPDIR" || return 1
    unset NETTOPO_MAP NO_COLOR
    export LC_ALL=C.UTF-8
}

# terminal COLUMNS CMD...: its output on a terminal of that width
terminal() {
    local columns=$1
    shift
    script -qec "stty cols $columns rows 40; $(printf '%q ' "$@")" /dev/null </dev/null | tr -d '\r'
}

widest() { wc -L; }

@test "no line is wider than the terminal from 40 columns on, and no name is cut" {
    "$nettopo" simulate --topology tree:8x8 --format map >even.json
    jq '(.links[] | select(.a == "n22") | .suspect) = true |
        (.links[] | .latency_se_us) = 0.01 | (.links[] | select(.a == "n23") | .latency_us) = 0.51 |
        .stress = [{kernel: "a2a", hosts: 64, messages: 4032, waves: 1, repetitions: 3, bytes: 10000, time_us: 1234,
            time_low_us: 1200, time_high_us: 1300, alone_us: 1000, shared_us: 1200}]' even.json >large.json
    for map in large.json "$maps"/{star,ring,unsure,rails,scattered8}.json; do
        for columns in 40 47 60 80 120; do
            COLUMNS=$columns "$nettopo" show --legend "$map" >shown
            assert_between "widest of $map at $columns" "$(widest <shown)" 20 $columns || { cat shown; return 1; }
            jq -r '.switches[].name' "$map" | while read -r name; do grep -qE -- "(^|[^a-z0-9])$name( |$)" shown || fail "$name at $columns"; done
            refute_contains "$(grep -v '^order' shown)" ".."
        done
    done
    # what is given up first: ranges, then errors, then the second bandwidth; what is suspect is said
    COLUMNS=80 "$nettopo" show large.json >wide
    COLUMNS=60 "$nettopo" show large.json >middle
    COLUMNS=40 "$nettopo" show large.json >narrow
    assert_contains "$(cat wide)" "n[17-21,23-24]         0.500    12500  12500  7 hosts, 0.500 to 0.510 us"
    refute_contains "$(cat wide)" "0.500 to 0.500"
    assert_contains "$(cat middle)" "7 hosts"
    refute_contains "$(cat middle)" "0.500 to"
    refute_contains "$(cat narrow)" "±"
    assert_contains "$(cat narrow)" "n[17-21,23-24]  0.500"
    assert_contains "$(cat narrow)" "SUSPECT"
    assert_contains "$(cat narrow)" "a2a of 64 hosts, 10000"
    # the table of kernels does not wrap: it has its columns or is sentences
    assert_contains "$(cat wide)" "a2a of 64 hosts, 10000"
    COLUMNS=97 "$nettopo" show large.json >table
    grep -qE '^stress kernel .* ratio  congested$' table
}

@test "five thousand hosts are on a screen with every finding, and --all prints every host" {
    "$nettopo" simulate --topology tree:10x20x25 --format map |
        jq '(.links[] | select(.a == "n2399" or .a == "n77" or .a == "s150") | .suspect) = true' >large.json
    "$nettopo" show large.json >shown
    assert_between "lines" "$(wc -l <shown)" 20 60
    assert_equal "suspects" "$(grep SUSPECT shown | grep -oE '[ns][0-9]+ ' | tr -d '\n')" "n77 n2399 s150 "
    assert_contains "$(cat shown)" "n[2376-2398,2400]"
    # what is folded is counted, by tier and where it is
    for line in "tier 2: 10 switches .*500 hosts each" "tier 1: 200 switches .*25 hosts each" "5000 hosts .*12500" \
        "19 switches .*25 hosts each" "s23 .* 500 hosts$"; do
        grep -qE "$line" shown || fail "$line"
    done
    "$nettopo" show --all large.json >all
    assert_equal "hosts" "$(grep -cE '─ n[0-9]+ ' all)" 5000
    refute_contains "$(cat all)" "tier 1:"
    # the root is the first, and a switch is before those below it
    jq -e '[.links[] | select(.a | startswith("s")) | (.a[1:] | tonumber) > (.b[1:] | tonumber)] | all' large.json
    # a small map has no summary
    "$nettopo" show "$maps/scattered8.json" >small
    refute_contains "$(cat small)" "tier 1:"
}

@test "five thousand hosts with many findings are on a screen, and each finding is at the end of its line" {
    "$nettopo" simulate --topology tree:5x25x40 --format map >even.json
    for findings in 1 8 10 21 36 90; do
        # on different leaves and pods, and every tenth is an uplink
        jq --argjson n "$findings" '[range($n) | if . % 10 == 9 then "s\(40 + .)" else "n\(1 + . * 47 % 5000)" end] as $bad |
            (.links[] | select(IN(.a; $bad[])) | .suspect) = true' even.json >bad.json
        COLUMNS=80 "$nettopo" show bad.json >shown
        assert_between "lines with $findings" "$(wc -l <shown)" 10 $((findings > 36 ? findings + 24 : 60)) || { cat shown; return 1; }
        diff <(jq -r '.links[] | select(.suspect).a' bad.json | sort) \
            <(grep SUSPECT shown | grep -v ^SUSPECT | grep -oE '[ns][0-9]+ ' | tr -d ' ' | sort -u) >missing || true
        refute_contains "$(cat missing)" "<"
        # on the line of its link
        assert_equal "alone on a line" "$(grep -cE '^[^a-z0-9]*SUSPECT$' shown || true)" 0
    done
    # a note without room is on a line of its own, which continues the lines of the tree
    "$nettopo" simulate --topology tree:8x8 --format map | jq '(.links[] | select(.a == "n22") | .suspect) = true |
        (.links[] | .latency_se_us) = 0.01' >narrow.json
    COLUMNS=40 "$nettopo" show narrow.json >shown
    assert_contains "$(grep -B 1 -xE '[│ ]+SUSPECT' shown)" "n22"
    COLUMNS=40 "$nettopo" show --plain narrow.json >shown
    grep -qxE '[| ]+SUSPECT' shown
}

@test "the legend of a picture has the signs of this picture only" {
    for topology in tree:4x4 mesh:4x4 torus:4x4 dragonfly:4x2x2; do
        "$nettopo" simulate --topology "$topology" --format map | "$nettopo" export --format svg - | grep -oE 'dot: host.*|(bar|square): switch' |
            sed 's/<.*//' | paste -sd ' ' >>legends
    done
    assert_equal "bars" "$(sed -n 1p legends | grep -c 'bar: switch')" 1
    assert_equal "squares" "$(grep -c 'square: switch' legends)" "$(sed 1d legends | grep -c switch)"
    assert_equal "latency" "$(grep -c 'one-way latency' legends)" 1
    # only a torus has links around an edge
    assert_equal "short ends" "$(grep -n 'short end' legends | cut -d : -f 1)" 3
}

@test "two hosts: their bandwidth is shown, and no fit of one reading" {
    printf ',a,b\na,,12000\nb,12000,\n' >MBps.csv
    printf ',a,b\na,,1.2\nb,1.2,\n' >us.csv
    "$nettopo" solve --bandwidth MBps.csv | "$nettopo" show - >rate
    grep -qE '─ b +12000 +12000$' rate
    "$nettopo" solve --latency us.csv | "$nettopo" show - >latency
    refute_contains "$(cat latency)" "rms"
    refute_contains "$(cat latency)" "resolution"
}

# matrix FIGURE: of 16 hosts on two leaves, every fourth with an older adapter
matrix() {
    awk -v figure="$1" 'BEGIN {
        for (i = 1; i <= 16; i++) printf ",n%d", i
        for (i = 1; i <= 16; i++) {
            printf "\nn%d", i
            for (j = 1; j <= 16; j++) {
                old = (i % 4 == 0) + (j % 4 == 0)
                us = 1.16 + 0.32 * old + ((i <= 8) == (j <= 8) ? 0 : 0.36)
                printf ",%s", i == j ? "" : figure == "us" ? us : old ? 6250 : 12500
            }
        }
        print ""
    }'
}

@test "hosts with an older adapter are a population, by rate or else by latency" {
    matrix us >us.csv
    matrix MBps >MBps.csv
    "$nettopo" solve --latency us.csv --bandwidth MBps.csv -o both.json
    "$nettopo" solve --latency us.csv -o us.json
    for map in both us; do
        "$nettopo" validate $map.json
        assert_equal "findings" "$(jq -c '.findings' $map.json)" '[]'
        assert_equal "hosts" "$(jq -c '[.nodes[] | select(.population == 2).name]' $map.json)" '["n4","n8","n12","n16"]'
    done
    assert_equal "rates" "$("$nettopo" show both.json | grep ^links)" "links  12 hosts at 100 Gbit/s, 4 hosts at 50 Gbit/s"
    assert_equal "latencies" "$("$nettopo" show us.json | grep ^links)" "links  12 hosts at 0.58 us, 4 hosts at 0.9 us"
    "$nettopo" export --format html both.json >both.html
    assert_contains "$(cat both.html)" '"populations":"12 hosts at 100 Gbit/s, 4 hosts at 50 Gbit/s"'
    refute_contains "$("$nettopo" show "$maps/star.json")" "links  "
}

@test "a map from standard input" {
    "$nettopo" show - <"$maps/star.json" >piped
    "$nettopo" show "$maps/star.json" | cmp - piped
}

@test "the legend says what the signs of this map mean: on a terminal, or when it is asked for" {
    "$nettopo" show "$maps/scattered8.json" >bare
    "$nettopo" show --legend "$maps/scattered8.json" >told
    # in a job's output the signs are explained in two lines; with --legend all words are
    assert_equal "the signs" "$(tail -n 2 bare)" "
$(grep -oE '[0-9.]+:1 over' bare | head -n 1 | cut -d ' ' -f 1): bandwidth of hosts to that of uplinks; ±: standard error"
    assert_equal "the map first" "$(head -n "$(($(wc -l <bare) - 2))" told)" "$(head -n -2 bare)"
    for sign in confidence resolution 'latency us' '±' 'MB/s up, down' '[0-9.]*:1' bisection gain; do
        grep -q "^$sign  *[a-z0-9]" told || fail "$sign"
    done
    assert_contains "$(tr -s '\n ' ' ' <told)" "not only the cable"
    refute_contains "$(cat told)" "SUSPECT"
    "$nettopo" show --legend "$maps/unsure.json" | grep -q '^support '
    command -v script >/dev/null || skip "script(1) is not installed"
    assert_contains "$(TERM=xterm terminal 80 "$nettopo" show "$maps/scattered8.json")" "standard error"
}

@test "colour is for terminals, and not with NO_COLOR" {
    command -v script >/dev/null || skip "script(1) is not installed"
    escape=$'\033'
    assert_contains "$(TERM=xterm terminal 80 "$nettopo" show "$maps/scattered8.json")" "$escape["
    refute_contains "$(NO_COLOR=1 TERM=xterm terminal 80 "$nettopo" show "$maps/scattered8.json")" "$escape"
    refute_contains "$("$nettopo" show "$maps/scattered8.json")" "$escape"
    # the width is the terminal's
    assert_between "widest" "$(NO_COLOR=1 TERM=xterm terminal 52 "$nettopo" show "$maps/scattered8.json" | widest)" 40 52
}

@test "README shows what nettopo prints and draws of a recorded sweep" {
    "$nettopo" solve "$ROOT/tests/data/samples/narrow8.samples" -o narrow8.json
    COLUMNS=80 "$nettopo" show narrow8.json >printed
    awk '/^\$ sbatch --nettopo/ {on = 1; next} on && /^```/ {exit} on' "$ROOT/README.md" >stated
    diff stated printed
    "$nettopo" export --format svg narrow8.json | cmp - "$ROOT/etc/pictures/degraded.svg" || {
        echo "nettopo solve tests/data/samples/narrow8.samples | nettopo export --format svg - -o etc/pictures/degraded.svg"
        return 1
    }
    grep -q '(etc/pictures/degraded.svg)' "$ROOT/README.md"
}

@test "README's table of measurements is what simulated sweeps take" {
    while read -r spec kind; do
        "$nettopo" simulate --topology "$spec" --noise 0.02 --sweep "$kind" |
            jq -r '"| `\(.hosts)` | `\(.hosts * (.hosts - 1) / 2)` | `\(.pairs)` | `\(.rounds)` |"'
    done >printed <<'END'
star:8 all
tree:4x16 adaptive
tree:2x8x32 adaptive
tree:2x16x32 adaptive
END
    grep -E '^\| `[0-9]+` \|' "$ROOT/README.md" | diff - printed
}
