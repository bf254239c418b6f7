#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154
# Slurm's topology files through the commands; a real slurmctld reads the same ones in slurm.bats.

bats_require_minimum_version 1.5.0

setup() {
    root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    nettopo=${NETTOPO:-$root/build/nettopo}
    data=$root/tests/data/slurm
    cd "$BATS_TEST_TMPDIR" || return 1
    "$nettopo" solve --latency "$data/two-leaves.csv" -o map.json
}

@test "every form of the same tree is the same tree" {
    local file
    for file in blocks.conf empty-block.yaml empty-block-keys.yaml empty-block-tree.yaml empty-block.conf \
        empty-block-quoted.conf scontrol-tree.txt scontrol-empty-leaf.txt scontrol-block.txt empty-leaf.conf \
        empty-leaf-alone.conf empty-leaf-deep.conf continued.conf continued-anywhere.conf blanks.conf; do
        run --separate-stderr "$nettopo" compare map.json "$data/$file"
        echo "$file: $output $stderr"
        [ "$status" = 0 ]
        [ -z "$stderr" ]
        grep -qx 'no differences' <<<"$output"
        "$nettopo" simulate -t "$data/$file" -f map | "$nettopo" validate -q -
        "$nettopo" export -f svg -r "$data/$file" map.json >/dev/null
        [ "$("$nettopo" plan "$data/$file" | jq .rank)" = 5 ]
    done
}

@test "one of several topologies is chosen by its name, and without one the cluster's" {
    local file
    for file in flat-default.yaml flat-later.yaml torus-default.yaml topoconf.yaml; do
        run "$nettopo" compare map.json "$data/$file"
        echo "$output"
        [ "$status" = 3 ]
        [[ $output == *"ib ("* ]]
        [[ $output == *"--topology NAME"* ]]
        [ "$("$nettopo" compare --topology ib map.json "$data/$file" | tail -n 1)" = "no differences" ]
        "$nettopo" simulate -t "$data/$file" --topology-name ib -f map | "$nettopo" validate -q -
        [ "$("$nettopo" plan --topology ib "$data/$file" | jq .rank)" = 5 ]
        "$nettopo" export -f dot -r "$data/$file" --topology ib map.json | grep -q '"\?n4"\? '
        run "$nettopo" compare --topology other map.json "$data/$file"
        [ "$status" = 3 ]
        [[ $output == *"expected a topology other of switches or blocks"* ]]
    done
    run "$nettopo" compare --topology round map.json "$data/torus-default.yaml"
    [ "$status" = 3 ]
    [[ $output == *"grid (torus3d), ib (block), round (ring)"* ]]
    run "$nettopo" compare --topology ib map.json "$data/forest.conf"
    [ "$status" = 2 ]
    [[ $output == *"a name requires a topology.yaml"* ]]
    run "$nettopo" simulate -t star:4 --topology-name ib
    [ "$status" = 2 ]
    run "$nettopo" export -f svg --topology ib map.json
    [ "$status" = 2 ]
    run "$nettopo" plan --routes nowhere --topology ib
    [ "$status" = 2 ]
}

@test "a forest is compared by its parts, and not simulated" {
    local file parts
    for file in forest.conf:2 forest-three.conf:3 forest-roots.conf:2 forest-uneven.conf:2; do
        parts=${file#*:} file=${file%:*}
        run "$nettopo" compare map.json "$data/$file"
        echo "$output"
        [ "$status" = 1 ]
        grep -q "^switch-missing  parts without a link between them: expected $parts, found 1" <<<"$output"
        # the figures agree with each other: a part that is missing is missing in both
        "$nettopo" compare --json map.json "$data/$file" >report || [ $? = 1 ]
        jq -e '.similarity_percent < 100 and .common_percent < 100 and .similarity_percent <= .common_percent and
            .similarity_percent > 0 and .figures_percent == 100 and
            any(.differences[]; .what == "parts without a link between them")' report
        run --separate-stderr "$nettopo" simulate -t "$data/$file" -f map
        echo "$stderr"
        [ "$status" = 3 ]
        [ -z "$output" ]
        [ "$(wc -l <<<"$stderr")" = 1 ]
        [[ $stderr == *"$file: expected one network, found $parts parts without a link between them: n1 "*"n4" ]]
    done
}

@test "nodes behind several leaves are named in a line" {
    run --separate-stderr "$nettopo" compare map.json "$data/shared-node.conf"
    echo "$output"
    [ "$status" = 1 ]
    [ "$stderr" = "nettopo: $data/shared-node.conf: nodes behind several leaf switches: n3" ]
    "$nettopo" simulate -t "$data/shared-node.conf" -f map 2>/dev/null | "$nettopo" validate -q -
}
