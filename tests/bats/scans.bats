#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2030,SC2031
# Scans of InfiniBand as people have them, given to the commands that read a network: hosts by their
# descriptions or by --names, parts of a scan, short names against names with a domain.

load ground

setup() {
    nettopo=${NETTOPO:-$ROOT/build/nettopo}
    data=$ROOT/tests/data/import
    cd "$BATS_TEST_TMPDIR" || return 1
    unset NETTOPO_MAP
    printf ',n1,n2,n3,n4\nn1,,1,2,2\nn2,,,2,2\nn3,,,,1\nn4,,,,\n' >two.csv
    "$nettopo" solve --latency two.csv -o map.json
}

# same FILE [OPTION...]: the map and the scan have no difference, and nothing is told
same() {
    run "$nettopo" compare "${@:2}" map.json "$1"
    assert_equal "exit for $*" "$status" 0 || { echo "$output"; return 1; }
    assert_equal "for $*" "${#lines[@]} ${lines[1]}" "2 no differences"
}

# hosts FILE: the hosts of the network that the file describes
hosts() { "$nettopo" simulate --topology "$1" --format csv 2>told | head -n 1; }

@test "hosts by their names alone, with their adapters, from a node name map" {
    same "$data/ib-names-alone.txt"
    same "$data/ib-names-mapped.txt"
    sed -E 's/"n([1-4])"/"n\1 mlx5_0"/' "$data/ib-names-alone.txt" >devices.txt
    same devices.txt
    sed -E 's/"n([1-4])"/"n\1 HCA-2 (Mellanox HCA)"/' "$data/ib-names-alone.txt" >hca.txt
    same hca.txt
    # ibnetdiscover's own lines of adapters keep the name of the product
    sed -E '/^Ca/s/"n[1-4]  MT4119/"MT4119/; /^Ca/s/"$/   Mellanox Technologies"/' "$data/ib-names-mapped.txt" >own.txt
    grep -q '^Ca.*"MT4119 ConnectX5   Mellanox Technologies"$' own.txt
    same own.txt
}

@test "names by GUID" {
    sed -E 's/"n[1-4]"/"MT4119 ConnectX5   Mellanox Technologies"/' "$data/ib-names-alone.txt" >bare.txt
    run "$nettopo" compare map.json bare.txt
    assert_equal "exit" "$status" 3
    assert_equal "told" "${lines[0]}" "nettopo: bare.txt: 4 of 4 hosts are named by their GUID, such as \
H-0000000000000a11. The description \"MT4119 ConnectX5   Mellanox Technologies\" contains no host name. Pass names with --names FILE."
    assert_contains "${lines[1]}" "no host in common: the map has n1, the reference H-0000000000000a11"
    for n in 1 2 3 4; do echo "0x0000000000000a${n}1 \"n$n HCA-1\""; done >names
    same bare.txt --names names
    for n in 1 2 3 4; do echo "H-0000000000000a${n}1 n$n"; done >ids
    same bare.txt --names ids
    for n in 1 2 3 4; do printf 'Ca\t: 0x%016x ports 1 devid 0x1017 vendid 0x2c9 "n%d mlx5_0"\n' "0xa${n}1" "$n"; done >nodes
    same bare.txt --names nodes
    "$nettopo" plan --names names bare.txt | jq -e '.rank > 0'
    "$nettopo" export --format svg --reference bare.txt --names names -o beside.svg map.json
    "$nettopo" simulate --topology bare.txt --names names --format csv >named.csv
    assert_equal "hosts" "$(head -n 1 named.csv)" ",n1,n2,n3,n4"
    # what is no file of such names, and where none is wanted
    printf 'n1\nn2\n' >order
    run "$nettopo" compare --names order map.json bare.txt
    assert_equal "exit" "$status" 3
    assert_contains "$output" 'order:1: expected 0xGUID "NAME", found "n1"'
    run "$nettopo" compare --names names map.json map.json
    assert_equal "exit" "$status" 2
    run "$nettopo" export --format svg --names names map.json
    assert_equal "exit" "$status" 2
    run "$nettopo" simulate --topology star:3 --names names
    assert_equal "exit" "$status" 2
    printf 'a b l1\n' >routes
    run "$nettopo" plan --routes routes --names names
    assert_equal "exit" "$status" 2
}

@test "grouped, indented, and as a report of ports" {
    assert_equal "hosts" "$(hosts "$data/ib-grouped.txt")" ",n1,n2"
    assert_equal "told" "$(cat told)" ""
    { printf 'Chassis 1 (guid 0x8f1)\n\n# Spine Nodes' && cat "$data/ib-grouped.txt" "$data/ib-grouped.txt"; } >chassis.txt
    assert_equal "hosts" "$(hosts chassis.txt)" ",n1,n2"
    awk '/^Switch/ {lid++} /^\[[1-4]\]/ && /"H-/ {
        printf "SW   10%d  %d 0x00000000000000b%d 4x HDR - CA     1  1 0x%s ( '\''leaf%d'\'' - '\''n%d mlx5_0'\'' )\n",
            lid, substr($1, 2, 1), lid, substr($2, 4, 16), lid, ++n
    } /^\[40\]/ {
        printf "SW   10%d 40 0x00000000000000b%d 4x HDR - SW   10%d 40 0x00000000000000b%d ( '\''leaf%d'\'' - '\''leaf%d'\'' )\n",
            lid, lid, 3 - lid, 3 - lid, lid, 3 - lid
    }' "$data/ib-names-alone.txt" >ports.txt
    assert_equal "lines" "$(wc -l <ports.txt)" 6
    same ports.txt
}

@test "parts of a scan" {
    assert_equal "hosts" "$(hosts "$data/ib-switch-parts.txt")" ",n1,n2,n4"
    grep -v '^Ca\|^\[1\](' "$data/ib-names-alone.txt" >switches.txt
    same switches.txt
    # the records of hosts alone know their switches, but no link between these
    sed -n '/^Ca/,$p' "$data/ib-names-alone.txt" >cas.txt
    run "$nettopo" compare map.json cas.txt
    assert_contains "$output" "parts without a link between them: expected 2, found 1"
    # cut in the middle of a line
    head -n 20 "$data/ib-names-alone.txt" | head -c -50 >cut.txt
    assert_equal "hosts" "$(hosts cut.txt)" ",n1,n2,n3"
    assert_contains "$(cat told)" "incomplete scan: 1 line ignored, the last is line 20"
}

@test "n1 is n1.cluster.example where nothing else can be" {
    sed 's/\bn\([1-4]\)\b/n\1.cluster.example/g' two.csv >long.csv
    "$nettopo" solve --latency long.csv -o long.json
    "$nettopo" compare long.json map.json
    "$nettopo" compare map.json long.json
    run "$nettopo" compare long.json "$data/ib-names-alone.txt"
    assert_equal "exit" "$status" 0
    "$nettopo" export --format svg --reference "$data/ib-names-alone.txt" long.json | grep -q '<svg'
    # two domains: n1 could be either
    sed 's/n3.cluster.example/n1.other.example/g' long.json >both.json
    run "$nettopo" compare both.json map.json
    assert_equal "exit" "$status" 1
    assert_contains "$output" "n1.cluster.example: not in the reference"
    assert_contains "$output" "n1.other.example: not in the reference"
}
