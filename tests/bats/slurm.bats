#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2086,SC2030,SC2031,SC2016
# What Slurm can be told (slurm.conf) and what happens to its daemons: the table in spank_nettopo(8).

load ground
load jobs

setup() { need_ground slurmctld; }

teardown() { ground_down; }

# A cluster of four hosts with these lines of slurm.conf. REFUSED: what this release says to them.
stands() { # [CLUSTER OPTIONS]
    local said
    cluster down >/dev/null
    if said=$(ground_up star4 "$@" 2>&1); then return; fi
    REFUSED=$(grep -hoiE 'fatal: (.*invalid.*|Unable to process configuration file)' <<<"$said" | head -n 1)
    [ -n "$REFUSED" ] || fail "$said"
}

# A job on all hosts finds its network, twice, and the hosts are well.
works() {
    local status
    for _ in 1 2; do
        submit_recording -N4 --exclusive --nettopo=quick "$@" && completed || return
        status=$(variable NETTOPO_STATUS)
        assert_equal "status, $(variable NETTOPO_REASON)" "$status" ok || return
    done
    hosts_are_well
}

@test "Contain, job_container/tmpfs, PrologEpilogTimeout, the least MessageTimeout and BatchStartTimeout" {
    printf 'AutoBasePath=true\nBasePath=%s/jobs\n' "$GROUND_STATE" >"$BATS_TEST_TMPDIR/job_container.conf"
    stands --slurm PrologFlags=Alloc,DeferBatch,Contain --slurm JobContainerType=job_container/tmpfs \
        --slurm PrologEpilogTimeout=20 --slurm MessageTimeout=10 --slurm BatchStartTimeout=5 \
        --etc "$BATS_TEST_TMPDIR/job_container.conf"
    works
}

@test "Serial: jobs that cross on their hosts are refused at once, not after their budgets" {
    stands --slurm PrologFlags=Alloc,DeferBatch,Serial
    local job jobs=()
    for job in 1 2 3 4; do
        submit_recording -N4 --oversubscribe --nettopo=quick,budget=5
        jobs+=("$JOB")
    done
    for JOB in "${jobs[@]}"; do
        completed
        assert_equal "status" "$(variable NETTOPO_STATUS)" failed
        assert_contains "$(variable NETTOPO_REASON)" "PrologFlags=Serial in slurm.conf"
        figure assert_between "seconds" "$(waited_s)" 0 4
    done
    hosts_are_well
}

# Jobs' directories of long ago: of one that Slurm does not know, and of one that runs.
@test "what a job without an epilog left goes with a later one; scontrol reconfigure and slurmd's death in mid-prolog" {
    stands
    on n1 sh -c 'mkdir /run/nettopo/4000 && touch -d "3 hours ago" /run/nettopo/4000'
    submit -N1 -w n1 --oversubscribe --nettopo=quick <<<$'#!/bin/bash\nexec sleep 300'
    local runs=$JOB
    wait_until 20 on n1 test -e "/run/nettopo/$runs"
    on n1 touch -d "3 hours ago" "/run/nettopo/$runs"
    submit_recording -N1 -w n1 --oversubscribe --nettopo=quick
    completed
    wait_until 10 on n1 sh -c '! test -e /run/nettopo/4000'
    on n1 test -e "/run/nettopo/$runs"
    user scancel "$runs"
    wait_until 20 all_are_idle 4
    reconfigured
    slurmd_dies
}

slurmd_of() { cut -d' ' -f1 "$GROUND_STATE/pids/slurmd.$1"; }

# From 23.11 on the daemons start anew for it. What DeferBatch defers is forgotten then, as with any
# Prolog that takes time: the job can be cancelled.
reconfigured() {
    while_measuring n2 'on n1 scontrol reconfigure' submit_recording -N4 --exclusive --nettopo=full
    if ! slurm_before 23.11; then
        wait_until 15 nothing_runs_of_ours
        user scancel "$JOB"
        wait_until 30 all_are_idle 4
        hosts_are_well
        return
    fi
    completed
    assert_contains "ok partial" "$(variable NETTOPO_STATUS)"
    hosts_are_well
}

# Its agent goes on, and slurmd, back, does not know of it: Slurm's own business, as with any prolog.
# The job can be cancelled, and hosts are clean and well.
slurmd_dies() {
    submit_recording -N4 --exclusive --requeue --nettopo=full
    wait_until 10 measuring n2
    kill -s KILL "$(slurmd_of n2)"
    on n2 sh -c "cd / && setsid slurmd -D -N n2 >>$GROUND_STATE/log/slurmd.n2.out 2>&1 </dev/null 3>&- 4>&- &"
    wait_until 15 nothing_runs_of_ours
    user scancel "$JOB"
    wait_until 30 all_are_idle 4
    hosts_are_well
    wait_until 10 nothing_of_ours
}

nothing_runs_of_ours() { ! of_ours | grep ' nettopo-'; }

# Those that only have to change nothing, each by itself. What this release refuses is said.
SETTINGS="PrologFlags=Alloc,NoHold PrologFlags=Alloc,DeferBatch,Contain
    PrologFlags=Alloc,DeferBatch,X11 PrologFlags=Alloc,DeferBatch,ForceRequeueOnFail
    PrologTimeout=20 PrologEpilogTimeout=20
    TaskPlugin=task/affinity"

# Slurm then calls no plugin in the prolog.
@test "RunInJob: the agent is started by Prolog and Epilog scripts" {
    local verb dir=$GROUND_STATE/etc
    ! slurm_before 24.05 || skip "this release of Slurm does not know it"
    for verb in prolog epilog; do
        printf '#!/bin/sh\nexec %s --from-%s-script --conf %s\n' \
            "$GROUND_STATE/stage/libexec/nettopo/nettopo-prolog" $verb \
            "$GROUND_STATE/stage/etc/nettopo/nettopo.conf" >"$BATS_TEST_TMPDIR/$verb"
        chmod 755 "$BATS_TEST_TMPDIR/$verb"
    done
    stands --slurm PrologFlags=Alloc,DeferBatch,RunInJob --slurm "Prolog=$dir/prolog" \
        --slurm "Epilog=$dir/epilog" --etc "$BATS_TEST_TMPDIR/prolog" --etc "$BATS_TEST_TMPDIR/epilog"
    works
    conf_set partitions few # here the agent decides that, not the plugin
    submit_recording -N2 --nettopo=quick
    completed
    assert_equal "reason" "$(variable NETTOPO_REASON)" \
        "disabled for this partition (partitions in nettopo.conf)"
    conf_set partitions few,all
    works
}

@test "slurmctld starts with an exported topology.conf and lists the same leaves" {
    local nettopo=$ROOT/build/nettopo
    cd "$BATS_TEST_TMPDIR"
    # n1 to n16; tree16 has the same names
    "$nettopo" simulate --topology tree:2x2x4 --bandwidth --noise 0.01 --seed 1 |
        "$nettopo" solve - -o sixteen.json
    "$nettopo" export --format topology.conf sixteen.json >topology.conf
    "$nettopo" compare sixteen.json topology.conf
    cluster down >/dev/null
    ground_up tree16 --topology topology.conf
    run user timeout 10 scontrol show topology
    ground_down
    assert_equal "exit" "$status" 0
    want=
    leaves=$(sed -n 's/^SwitchName=\([^ ]*\) Level=0 .*Nodes=\(.*\)$/\1 \2/p' <<<"$output" | sort)
    while read -r leaf nodes; do
        want="$want$leaf $nodes"$'\n'
    done < <(jq -r '.nodes | group_by(.switch)[] | "\(.[0].switch) \([.[].name] | join(","))"' sixteen.json)
    python3 - "$leaves" "${want%$'\n'}" <<'PY'
import re, sys
def hosts(text):
    out = set()
    for prefix, inner in re.findall(r"([a-z]+)\[([^]]*)\]", text):
        for part in inner.split(","):
            low, _, high = part.partition("-")
            out |= {f"{prefix}{k}" for k in range(int(low), int(high or low) + 1)}
    return out | set(filter(None, re.sub(r"[a-z]+\[[^]]*\]", "", text).split(",")))
def leaves(text):
    return {line.split()[0]: hosts(line.split()[1]) for line in text.splitlines()}
shown, declared = map(leaves, sys.argv[1:])
assert shown == declared and len(shown) == 4, (shown, declared)
PY
}

# same FILE: nettopo draws of the file what it draws of slurmctld's own words
same() {
    user timeout 10 scontrol show topology >told.txt &&
        "$nettopo" export -f dot -r "$1" map.json >declared.dot 2>/dev/null &&
        "$nettopo" export -f dot -r told.txt map.json >shown.dot 2>/dev/null &&
        diff declared.dot shown.dot
}

@test "nettopo reads a topology.conf as slurmctld does" {
    nettopo=$ROOT/build/nettopo
    local data=$ROOT/tests/data/slurm file files
    cd "$BATS_TEST_TMPDIR"
    "$nettopo" solve --latency "$data/two-leaves.csv" -o map.json
    files="continued.conf continued-anywhere.conf blanks.conf shared-node.conf forest.conf forest-roots.conf"
    slurm_before 25.05 || files="$files empty-leaf.conf empty-leaf-alone.conf empty-leaf-deep.conf"
    cluster down >/dev/null
    ground_up star4 --topology "$data/forest-three.conf"
    same "$data/forest-three.conf"
    for file in $files; do
        cp "$data/$file" "$GROUND_STATE/etc/topology.conf"
        on n1 scontrol reconfigure
        echo "$file"
        wait_until 20 same "$data/$file"
    done
    # what is exported is taken: the same leaves, with the top switch that the measurement shows
    "$nettopo" export -f topology.conf map.json >"$GROUND_STATE/etc/topology.conf"
    on n1 scontrol reconfigure
    wait_until 20 same "$GROUND_STATE/etc/topology.conf"
    "$nettopo" compare map.json told.txt
    ground_down
}

# bats test_tags=full
@test "other settings change nothing" {
    local setting
    for setting in $SETTINGS; do
        REFUSED=
        stands --slurm "$setting" || return
        if [ -n "$REFUSED" ]; then echo "# $setting: $REFUSED" >&3; else works || return; fi
    done
}
