#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Every command that reads, every kind of bad input, in bounded memory and time: one line on
# standard error, exit 3, nothing written. Endless input comes through a pipe.

bats_require_minimum_version 1.5.0

setup() {
    root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    nettopo=${NETTOPO:-$root/build/nettopo}
    data=$root/tests/data
    cd "$BATS_TEST_TMPDIR" || return 1
    unset NETTOPO_MAP
    cp "$data/maps/star.json" map.json
    printf ',n1,n2,n3\nn1,,1,2\nn2,1,,2\nn3,2,2,\n' >good.csv
    printf 'a b l1 l2\na c l1 l3\nb c l2 l3\n' >routes
    printf 'a b 1\na c 1.5\nb c 1.2\n' >measured
    printf '0 1 10\n1 2 5\n' >traffic
    "$nettopo" simulate --topology tree:2x2 -o good.samples
    "$nettopo" export --format dot map.json -o good.dot
    cp "$data/import/ib-names-alone.txt" scan
}

# Each reader: what it is called, and the command that reads the file $in. The good text of it is
# in good_text.
readers='samples|solve $in -o out
samples|show --trace $in
latency|solve --latency $in -o out
bandwidth|solve --latency good.csv --bandwidth $in -o out
mpigraph|solve --latency good.csv --from mpigraph --bandwidth $in -o out
osu|solve --from osu --latency $in -o out
parus|solve --from parus --latency $in -o out
map|show $in
map|export --format csv $in -o out
map|hint $in
map|compare $in map.json
reference|compare map.json $in
dot|compare map.json $in
ibnetdiscover|compare map.json $in
names|compare --names $in map.json scan
topology.conf|simulate --topology $in -o out
traffic|hint --ntasks 3 --pattern matrix:$in map.json
routes|plan --routes $in -o out
routes|estimate --routes $in --measured measured -o out
measured|estimate --routes routes --measured $in -o out'

good_text() {
    case $1 in
    samples) cat good.samples ;;
    latency | bandwidth) cat good.csv ;;
    mpigraph | osu | parus | ibnetdiscover) cat "$data/import/$1.txt" ;;
    map | reference) cat map.json ;;
    dot) cat good.dot ;;
    names) printf '0xa%d1 "n%d"\n' 1 1 2 2 3 3 ;;
    topology.conf) cat "$data/import/topology.conf" ;;
    *) cat "$1" ;;
    esac
}

# The command of a reader in 400 MB and 20 s of a processor, its input from standard input.
bounded() {
    local -a words
    read -ra words <<<"${1//\$in//dev/stdin}"
    (
        ulimit -v 400000 -t 20
        exec timeout 3600 "$nettopo" "${words[@]}" >out.text 2>err.text
    )
}

# The pipe on standard input is refused by each reader, or by those that match.
refused() {
    local what=$1 only=$2 name command rc
    shift 2
    while IFS='|' read -r name command; do
        # shellcheck disable=SC2053
        [[ $name == $only ]] || continue
        rc=0
        "$@" "$name" 2>/dev/null | bounded "$command" || rc=${PIPESTATUS[1]}
        if [ "$rc" != 3 ] || [ "$(wc -l <err.text)" != 1 ] || [ -s out.text ] || [ -e out ]; then
            echo "$what for: $command: exit $rc"
            cat err.text
            return 1
        fi
    done <<<"$readers"
}

line_without_end() { head -c 1000000000 /dev/zero | tr '\0' x; }
string_without_end() { # JSON's and DOT's
    printf '{"a": "'
    line_without_end
}
lines_without_end() { yes 'a b 1 2 3' | head -c 3000000000; }
zeroes() { head -c 1000000000 /dev/zero; }
noise() { head -c 200000 /dev/urandom; }
nothing() { :; }

@test "a line of 1 GB, endless lines: one line, exit 3, 400 MB" {
    refused "1 GB line" '*' line_without_end
    refused "endless lines" '!(map|reference|dot|ibnetdiscover|names|traffic)' lines_without_end
}

# which end at the same limits
# bats test_tags=full
@test "a string of 1 GB, zeroes; lines for those who count bytes before lines" {
    refused "endless lines" '@(map|reference|dot|ibnetdiscover|names|traffic)' lines_without_end
    refused "1 GB string" '*' string_without_end
    refused "zeroes" '*' zeroes
}

@test "binary noise and nothing at all" {
    refused "noise" '*' noise
    refused "nothing" '!(traffic)' nothing
}

half() { good_text "$1" | head -c "$(($(good_text "$1" | wc -c) * 2 / 5))"; }

@test "a text that ends early" {
    refused "half" '@(samples|latency|bandwidth|mpigraph|parus|map|reference|dot)' half
}

figure() { # the first figure of a text replaced
    case $1 in
    samples) good_text samples | sed -E "0,/^latency/s/^(latency .*) [0-9.]+ ([0-9.]+) ([0-9.]+)$/\1 $bad \2 \3/" ;;
    osu) good_text osu | sed -E "0,/^0 /s/^0 .*/0 $bad/" ;;
    parus) good_text parus | sed -E "0,/0\.00000050/s//$bad/" ;;
    mpigraph) good_text mpigraph | sed -E "0,/^(n1:[0-9]+\t[^\t]*\t)[0-9.]+/s//\1$bad/" ;;
    latency | bandwidth) good_text latency | sed "s/^n1,,1/n1,,$bad/" ;;
    map | reference) good_text map | sed -E "0,/\"latency_us\": [0-9.]+/s//\"latency_us\": $bad/" ;;
    measured) good_text measured | sed "s/1\.5/$bad/" ;;
    traffic) printf '0 1 %s\n' "$bad" ;;
    esac
}

@test "NaN, negative and absurd figures" {
    others='samples|osu|parus|map|reference|measured|traffic'
    export bad=nan # in a CSV: not measured
    refused "figure $bad" "@($others)" figure
    for bad in -1 1e400 0x10 1..2; do
        refused "figure $bad" "@($others|latency|bandwidth)" figure
    done
}

hostile() { # samples that are wrong throughout, at their end, or without lines
    case $bad in
    nan) sed 's/[0-9]\.[0-9]*/nan/g' good.samples ;;
    negative) sed 's/[0-9]\.[0-9]*/-1/g' good.samples ;;
    host) sed 's|^latency [0-9]*|latency 4294967295|' good.samples ;;
    tail) good_text samples && head -c 200000 /dev/zero | tr '\0' 9 ;;
    zeroes) tr '\n' '\0' <good.samples ;;
    esac
}

@test "samples: each figure wrong, a host of 2^32 - 1, a long line at the end, zeroes between lines" {
    for bad in nan negative host tail zeroes; do
        export bad
        refused "$bad" samples hostile
    done
}

twice() {
    case $1 in
    samples) sed 's/^host n2$/host n1/' good.samples ;;
    latency | bandwidth) sed 's/n3/n2/g' good.csv ;;
    map | reference) sed 's/"name": "n2"/"name": "n1"/' map.json ;;
    routes) printf 'a b l1 l2\na b l1 l2\n' ;;
    esac
}

@test "a host twice" {
    refused "duplicate" '@(samples|latency|bandwidth|map|reference|routes)' twice
}

ragged() {
    case $1 in
    latency | bandwidth) printf ',n1,n2,n3\nn1,,1,2\nn2,1,\nn3,2,2,\n' ;;
    mpigraph) good_text mpigraph | sed -E 's/^(n1:[0-9]+\t[^\t]+)\t.*/\1/' ;;
    parus) good_text parus | sed '0,/0.00000200/s/0.00000200//' ;;
    esac
}

@test "ragged rows" {
    refused "ragged" '@(latency|bandwidth|mpigraph|parus)' ragged
}

many() {
    case $1 in
    parus) good_text parus | sed 's/^processors 4/processors 1000000000/' ;;
    topology.conf | reference) echo 'SwitchName=s1 Nodes=n[1-1000000000]' ;;
    samples) (
        head -n 3 good.samples
        yes host | awk '{print $1, "n" NR}' | head -n 1000000
    ) ;;
    latency | bandwidth) (
        printf ','
        seq -s ',n' 1 10000000
    ) ;;
    traffic) echo '0 1000000000 1' ;;
    routes) seq 1 400000 | awk '{print "a" $1, "b" $1, "l" $1}' ;;
    dot) (
        echo 'graph g {'
        yes 'a -- b;' | head -n 10000000
        echo '}'
    ) ;;
    ibnetdiscover) yes | awk '{printf "vendid=0x2c9\nswitchguid=0x%x\nSwitch 40 \"S-%x\" # \"x\"\n[1] \"S-%x\"[2]\n\n", NR, NR, NR + 1}' |
        head -c 200000000 ;;
    esac
}

@test "10^9 hosts announced, millions of hosts and links given" {
    refused "too many" '@(parus|topology.conf|reference|samples|latency|bandwidth|traffic|routes|dot|ibnetdiscover)' many
}

bomb() { # little text, much structure
    case $bomb in
    values)
        printf '{"a": ['
        yes 1, | tr -d '\n' | head -c 100000000
        ;;
    objects)
        printf '{"a": ['
        yes '[],' | tr -d '\n' | head -c 100000000
        ;;
    deep) yes '{"a":' | tr -d '\n' | head -c 10000000 ;;
    yaml)
        printf -- '- '
        yes '{a: ' | tr -d '\n' | head -c 10000000
        ;;
    nodes) yes -- '- [1, 2]' | head -c 60000000 ;;
    esac
}

@test "structure without end inside a text of some size" {
    for bomb in values objects deep; do
        export bomb
        local some='map|show $in' # all commands have the same reader
        [ $bomb != objects ] && [ "${FULL:-0}" != 1 ] || some=$readers
        readers=$some refused "$bomb" map bomb
    done
    for bomb in values deep yaml nodes; do
        export bomb
        refused "$bomb" reference bomb
    done
}

@test "no hosts in common" {
    sed 's/n/x/g' good.csv >other.csv
    run --separate-stderr "$nettopo" solve --latency good.csv --bandwidth other.csv -o out
    [ "$status" = 3 ]
    # shellcheck disable=SC2154
    [ "${#stderr_lines[@]}" = 1 ]
    run "$nettopo" estimate --routes routes --measured <(echo 'x y 1') -o out
    [ "$status" = 3 ]
    [ "${#lines[@]}" = 1 ]
    [ ! -e out ]
}

@test "a specification of 10^9 hosts is a usage error" {
    for spec in star:1000000000 tree:100000x100000 fattree:4096,9 torus:99999x99999 hypercube:60 dragonfly:9999x9999x99; do
        run timeout 3600 bash -c "ulimit -v 400000 -t 20; '$nettopo' simulate --topology $spec -o out"
        [ "$status" = 2 ]
        [ "${#lines[@]}" = 1 ]
        [ ! -e out ]
    done
}
