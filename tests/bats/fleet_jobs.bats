#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2086,SC2030,SC2031,SC2016
# From jobs to what the fleet knows, on the real cluster: it starts without a topology; jobs of two
# users over different hosts leave their maps in the archive, a fault comes, and the operator's
# script and Slurm itself know of both afterwards.

load ground
load jobs

KEPT=$GROUND_STATE/kept # in sight of every host

setup_file() {
    need_ground slurmctld
    echo 'SwitchName=flat Nodes=n[1-8]' >"$BATS_FILE_TMPDIR/topology.conf"
    ground_up two-leaves-4 --topology "$BATS_FILE_TMPDIR/topology.conf" --conf "archive = $GROUND_STATE/kept/maps" \
        --conf "archive_mode = 0640"
    mkdir -p "$KEPT/maps"
}

teardown_file() { ground_down; }

setup() {
    need_ground slurmctld
    cd "$BATS_TEST_TMPDIR" || return 1
}

# measured USER HOSTS: a job of that user on these hosts; its map is in the archive. If others take the
# processors, an agent may not write it in time, which it logs: then another job.
measured() {
    local try
    for try in 1 2 3; do
        if [ "$1" = other ]; then # root may submit for another user
            JOB=$(on n1 timeout 30 sbatch --parsable --uid=games --chdir=/ -o /dev/null --nettopo=quick,budget=5 \
                -w "$2" -N "$(awk -F, '{print NF}' <<<"$2")" --wrap true) || return
        else
            submit --nettopo=quick,budget=5 -w "$2" -N "$(awk -F, '{print NF}' <<<"$2")" <<<$'#!/bin/sh\ntrue' || return
        fi
        completed "$JOB" || return
        if wait_until 1 test -e "$KEPT/maps/$JOB.0.nettest.gz"; then return 0; fi
        echo "# try $try: the map of job $JOB is not in the archive" >&3
    done
    fail "no map in the archive after three jobs"
}

all=n1,n2,n3,n4,n5,n6,n7,n8

@test "a job's first host leaves its map, with what root knows of the job" {
    measured own n1,n2,n5,n6
    ls -l "$KEPT/maps"
    [ "$(stat -c '%U %a' "$KEPT/maps/$JOB.0.nettest.gz")" = "root 640" ]
    zcat "$KEPT/maps/$JOB.0.nettest.gz" >text
    grep -q '^nettopo-samples/1$' text
    head -c 300 "$KEPT/maps/$JOB.0.nettest.gz" | grep -aq "cluster=nettest job=$JOB restart=0 uid=$(id -u nettest) "
    head -c 300 "$KEPT/maps/$JOB.0.nettest.gz" | grep -aq 'hosts=n\[1-2,5-6\]'
    [ "$(ls -A "$KEPT/maps" | grep -c tmp)" = 0 ]
}

# Slurm lists them as 12_3 and 12+1; a job, its map and its file of the archive have a number.
@test "a task of an array and a component of a heterogeneous job are jobs of Slurm's record" {
    local try first
    for try in 1 2 3; do # as in measured()
        submit --nettopo=quick,budget=5 -w n1,n2 -N2 --array=3,5 <<<$'#!/bin/sh\ntrue'
        completed "$JOB"
        first=$JOB
        submit --nettopo=quick,budget=5 -w n3,n4 -N2 : --nettopo=quick,budget=5 -w n5,n6 -N2 <<<$'#!/bin/sh\ntrue'
        completed "$JOB"
        user scontrol show job >record
        grep -oP '^JobId=\K\d+(?= (Array|Het)JobId=)' record | awk -v first="$first" '$1 >= first' >ids
        [ "$(wc -l <ids)" = 4 ]
        rm -rf parts
        mkdir parts
        while read -r id; do
            if wait_until 1 test -e "$KEPT/maps/$id.0.nettest.gz"; then cp "$KEPT/maps/$id.0.nettest.gz" parts; fi
        done <ids
        [ "$(ls parts | wc -l)" != 4 ] || break
        echo "# try $try: in the archive of jobs $(tr '\n' ' ' <ids): $(echo parts/*)" >&3
    done
    "$ROOT/build/nettopo" fleet ingest --store parts.db --record record --json parts | jq -e '.taken == 4 and .rejected == []'
    # as sacct -P prints them
    { echo 'JobID|UID|NodeList' && sed -E "s/(.*)/12_\1|$(id -u nettest)|n1/" ids; } >sacct
    run "$ROOT/build/nettopo" fleet ingest --store again.db --record sacct parts
    [ "$status" = 3 ]
    [[ $output == *"sacct: expected sacct's column JobIDRaw"* ]]
}

# bats test_tags=full
@test "an archive that is missing costs no job its map" {
    mv "$KEPT/maps" "$KEPT/away"
    submit_recording --nettopo=quick -w n1,n2 -N2
    completed
    went_well
    mv "$KEPT/away" "$KEPT/maps"
    hosts_are_well
}

@test "the operator's script knows the cluster, the fault and since when" {
    measured other $all
    measured own $all
    measured other n1,n3,n5,n7
    measured own $all
    measured other $all
    measured own $all
    cluster fabric set host n5 latency=900
    first=
    for user in other own other own; do
        measured $user $all
        first=${first:-$JOB}
    done
    cluster fabric set host n5 latency=100
    run env PATH="$GROUND_STATE/stage/bin:$PATH" "$ROOT/etc/examples/fleet-nightly.sh" \
        "$KEPT/maps" "$KEPT/store" "$KEPT/prior" "$KEPT/nettopo.prom"
    echo "$output"
    [ "$status" = 1 ] # there is a suspect
    grep -q '^cluster nettest: [0-9]* jobs of 2 users, .* 8 hosts' <<<"$output"
    grep -q "^n5 .*: latency worse .*job $first; in 4 jobs of 2 users" <<<"$output"
    grep -q '^n5: latency .* in 4 jobs of 2 users$' <<<"$output"
    grep -q '^nettopo_fleet_suspects 1$' "$KEPT/nettopo.prom"
    head -1 "$KEPT/prior" | grep -q '^nettopo-prior/1$'
    [ "$(grep -c '^host ' "$KEPT/prior")" = 8 ]
}

# switches PATTERN: soon slurmctld has such a line of a switch
switches() {
    wait_until 20 bash -c "cd / && '$ROOT/tests/cluster/cluster' exec scontrol show topology | grep -Eq '$1'"
}

# learned FORMAT [OPTION...]: written to Slurm's file of that format, both leaves are what slurmctld
# says, and a job of one switch lands on one
learned() {
    local nettopo=$GROUND_STATE/stage/bin/nettopo blocker
    "$nettopo" fleet sync --store "$KEPT/store" -f "$@" --apply -o "$GROUND_STATE/etc/$1"
    cat "$GROUND_STATE/etc/$1"
    on n1 scontrol reconfigure
    switches 'Nodes=(n1,n2,n3,n4|n\[1-4\])$'
    user scontrol show topology | tee told
    grep -Eq 'Level=0 .*Nodes=(n1,n2,n3,n4|n\[1-4\])$' told # lists before 25.05
    grep -Eq 'Level=0 .*Nodes=(n5,n6,n7,n8|n\[5-8\])$' told
    # asked again, what slurmctld says is what jobs say
    on n1 "$nettopo" fleet sync --store "$KEPT/store" -f "$@" --against scontrol | tee again
    [ "$(cat again)" = "nothing changes" ]
    # of 4 hosts with n1 in use only the second leaf has 4 free
    submit -w n1 -N1 --exclusive <<<$'#!/bin/sh\nsleep 600'
    blocker=$JOB
    submit --switches=1 -N4 --exclusive <<<$'#!/bin/sh\necho $SLURM_JOB_NODELIST'
    completed
    user scancel "$blocker"
    [ "$(cat "$GROUND_HOME/$JOB.out")" = "n[5-8]" ]
}

@test "Slurm learns its topology, and jobs of one switch land on one" {
    learned topology.conf
}

@test "slurmctld is told of a node that it has on another switch" {
    ! slurm_before 25.05 || skip "a node's Topology= is from Slurm 25.05 on"
    nettopo=$GROUND_STATE/stage/bin/nettopo
    on n1 scontrol update NodeName=n4 "Topology=default:$(user scontrol show topology | sed -n 's/^SwitchName=\([^ ]*\) .*Nodes=n\[5-8\]$/\1/p')"
    user scontrol show topology | grep -q 'Level=0 .*Nodes=n\[4-8\]$'
    on n1 "$nettopo" fleet sync --store "$KEPT/store" -f nodes | tee told
    grep -q '^scontrol update NodeName=n4 Topology=default:' told
    user scontrol show topology | grep -q 'Level=0 .*Nodes=n\[4-8\]$'
    on n1 "$nettopo" fleet sync --store "$KEPT/store" -f nodes --apply
    user scontrol show topology | grep -q 'Level=0 .*Nodes=n\[1-4\]$'
    [ "$(on n1 "$nettopo" fleet sync --store "$KEPT/store" -f nodes)" = "nothing changes" ]
}

@test "Slurm learns it from topology.yaml as well" {
    ! slurm_before 25.05 || skip "Slurm reads topology.yaml from 25.05 on"
    local plugins
    plugins=$(user scontrol show config | sed -n 's/^PluginDir *= //p')
    compgen -G "$plugins/data_parser_*.so" || skip "this Slurm is built without data_parser, which reads topology.yaml"
    cat >"$GROUND_STATE/etc/topology.yaml" <<'END'
---
- topology: default
  cluster_default: true
  tree:
    switches:
      - switch: flat
        nodes: n[1-8]
END
    on n1 scontrol reconfigure
    switches '^SwitchName=flat .*Nodes=n\[1-8\]$'
    learned topology.yaml --topology default
}

# bats test_tags=full
@test "the oldest maps go when the folder is full" {
    measured own n1,n2
    old=$(ls "$KEPT/maps" | wc -l)
    conf_set archive_limit 65536
    fallocate -l 70000 "$KEPT/maps/1.0.old.gz"
    touch -d 2001-01-01 "$KEPT/maps/1.0.old.gz"
    until [ $(((JOB + 1) % 8)) = 0 ]; do # the agent looks at the end of such jobs (agent.c)
        submit -w n8 <<<$'#!/bin/sh\ntrue'
    done
    completed "$JOB"
    measured own n1,n2
    wait_until 10 test ! -e "$KEPT/maps/1.0.old.gz"
    conf_reset
    [ "$(ls "$KEPT/maps" | wc -l)" = $((old + 1)) ]
}
