#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2030,SC2031,SC2086
# Defaults that --help and nettopo(1) state: a command with the stated default does what it does
# without the option, and something else with another value. tests/test_stated.c does the same for
# nettopo.conf(5) and the items of --nettopo.

load ground

setup() {
    nettopo=${NETTOPO:-$ROOT/build/nettopo}
    cd "$BATS_TEST_TMPDIR" || return 1
    unset NETTOPO_MAP
    "$nettopo" simulate --topology tree:2x2x2 --noise 0.02 --bandwidth --seed 3 -o samples
    "$nettopo" solve samples -o map.json
    # figures that differ by 20 and by 28 %
    jq '.links[0].latency_us *= 1.2 | .links[1].latency_us *= 1.28 | .links[].latency_se_us = 0.0001' map.json >other.json
    "$nettopo" export --format csv map.json >latency.csv
    # two groups, directions that differ by up to 15 %
    printf '%s\n' ,a,b,c,d,e,f a,,1.396,1.170,2.255,2.289,2.288 b,1.253,,1.223,2.279,2.203,2.403 \
        c,1.126,1.153,,2.347,2.504,2.126 d,2.157,2.095,2.182,,1.411,1.234 e,2.056,2.124,2.182,1.243,,1.459 \
        f,2.062,2.180,2.094,1.130,1.274, >uneven.csv
    "$nettopo" simulate --topology star:4 --format routes -o routes
}

# stated VERB OPTION: what --help says is its default, and then what nettopo(1) says; the verb probe is
# nettopo-probe with its page
stated() {
    local page=nettopo.1
    local help=("$nettopo" "$1")
    [ "$1" != probe ] || { page=nettopo-probe.1 && help=("${nettopo}-probe"); }
    "${help[@]}" --help | awk -v option="$2" '
        /^  +-/ { on = index($0, "--" option " ") || index($0, "--" option "[") }
        on' | tr -s ' \n' ' ' | words
    sed -nE '/^\.SH (COMMANDS|OPTIONS)/,/^\.SH (MATRIX|ENVIRONMENT)/{s/^\.SH OPTIONS/.TP\n.B probe\n.RS/; s/\\-/-/g; s/\\f[BIRP]//g; s/\\&//g; p}' \
        "$ROOT/etc/man/$page" |
        awk -v verb="$1" -v option="$2" '/^\.RS/ {deep++} /^\.RE/ {deep--} entry && !deep {inside = $2 == verb}
            entry && deep {on = inside && $0 ~ "--" option "( |=|\"|$)"} {entry = /^\.TP/} on && !/^\.(TP|RS|RE|\\\")/' |
        sed 's/^\.[A-Z]* //' | tr '\n' ' ' | sed 's/"//g' | words
}
# the word after "default", or before "(default)"
words() {
    local text word
    text=$(cat)
    word=$(grep -ioE 'default [^ ;,)]+' <<<"$text" | head -n 1 | cut -d' ' -f2)
    [ -n "$word" ] || word=$(grep -oE '[^ ]+ +\((the )?default[);]' <<<"$text" | head -n 1 | cut -d' ' -f1)
    word=${word%[.,:]}
    echo "${word:-none}"
}

# the figure of nettopo(1) that is marked with KEY
marked() {
    sed -n "/^\.\\\\\" =$1\$/{n;s/[^0-9]*\([0-9]*\).*/\1/p}" "$ROOT/etc/man/nettopo.1"
}

# does the same VERB OPTION OTHER ARGUMENTS...
holds() {
    local verb=$1 option=$2 other=$3 rc=0 value manual
    shift 3
    { read -r value && read -r manual; } < <(stated "$verb" "$option")
    [ -n "$value" ] && [ "$value" != none ] || fail "$verb --help states no default of --$option"
    assert_equal "default of $verb --$option in nettopo(1)" "$manual" "$value"
    "$nettopo" "$verb" "$@" >without 2>&1 || rc=$?
    [ $rc -lt 2 ] || fail "$verb $*: $(cat without)"
    "$nettopo" "$verb" --$option "$value" "$@" >with 2>&1 || true
    cmp -s without with || fail "$verb --$option $value $*: not what it does without"
    "$nettopo" "$verb" --$option "$other" "$@" >different 2>&1 || true
    ! cmp -s without different || fail "$verb --$option $other $*: the same as the default $value"
}

@test "simulate does by default what is stated" {
    holds simulate noise 0.1 --topology star:4
    holds simulate seed 2 --topology star:4 --noise 0.1
    holds simulate host-latency 1 --topology tree:2x2
    holds simulate link-latency 1 --topology tree:2x2
    holds simulate overhead 1 --topology torus:3x3
    holds simulate host-rate 1 --topology star:4 --format map
    holds simulate format csv --topology star:4
    holds simulate bytes 5 --topology star:4 --workload a2a
    holds simulate messages 5 --topology star:4 --workload gups
    holds simulate repeat 5 --topology star:4 --workload gups
}

@test "solve, hint, compare and plan do by default what is stated" {
    holds solve method parus --latency latency.csv
    holds solve epsilon 1.9 --method bufe --latency latency.csv
    holds solve eps-shared 0 --method parus --latency uneven.csv
    holds solve eps-duplex 0.01 --method parus --latency uneven.csv
    holds hint ntasks-per-node 2 map.json
    holds hint pattern ring map.json
    holds hint format env map.json
    holds compare tolerance 0.1 other.json map.json
    holds plan redundancy 2 --routes routes
    # the tolerance is over the one and under the other figure
    run "$nettopo" compare other.json map.json
    assert_equal "links that differ" "$(grep -c link-slow <<<"$output")" 1
}

@test "the output goes to standard output by default" {
    for verb in solve hint compare export plan estimate simulate; do
        { read -r value && read -r manual; } < <(stated $verb output)
        assert_equal "$verb --output" "$value $manual" "- -"
    done
}

@test "nettopo-probe and its page state the same defaults" {
    for pair in level=standard budget=5 max-load=1 sweep=auto output=-; do
        { read -r value && read -r manual; } < <(stated probe "${pair%%=*}")
        assert_equal "nettopo-probe --${pair%%=*}" "$value $manual" "${pair#*=} ${pair#*=}"
    done
}

@test "patterns have the pairs and the messages that nettopo(1) states" {
    "$nettopo" simulate --topology star:8 --bandwidth | "$nettopo" solve - -o star.json
    "$nettopo" simulate --topology star:8 | "$nettopo" solve - -o quick.json
    bytes=$(marked traffic_message_bytes)
    rows=0
    while IFS=$'\t' read -r pattern _ pairs; do
        # every pair of tasks is two links apart
        "$nettopo" hint --ntasks 8 --pattern "$pattern" star.json >hint.json
        assert_equal "pairs of $pattern" "$(jq ".metrics.hop_bytes / 2 / (2 * $bytes) | round" hint.json)" "$pairs"
        [ "$pattern" = allreduce ] || assert_equal "bytes" "$(jq .message_bytes hint.json)" "$bytes"
        rows=$((rows + 1))
    done < <(sed -n '/^\.SH PATTERNS/,/^\.TE/p' "$ROOT/etc/man/nettopo.1" | sed -n '/^pattern/,$p' | grep -P '\t[0-9]+$')
    assert_equal "patterns" "$rows" 6
    assert_equal "bytes without bandwidths" "$("$nettopo" hint quick.json | jq .message_bytes)" "$(marked hint_short_bytes)"
}

@test "what --help says fits a terminal of 100 columns" {
    for verb in '' $("$nettopo" --help | sed -nE 's/^  ([a-z]+) .*/\1/p'); do
        wide=$("$nettopo" $verb --help | awk 'length($0) > 100')
        assert_equal "too wide in --help of $verb" "$wide" ''
    done
}
