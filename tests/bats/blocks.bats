#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2086,SC2030,SC2031,SC2016
# 16 hosts in blocks of four (with FULL=1 64 in blocks of eight): n1 leads the job, n5, n9, n13 their
# blocks. What such a job finds is what was declared, nobody has more to look after than its part, and
# a block outlives its first host.

load ground
load jobs

if full; then NETWORK=blocks64 HOSTS=64 BLOCK=8; else NETWORK=tree16 HOSTS=16 BLOCK=4; fi
SECOND=n$((BLOCK + 1)) # the first host of the second block

setup_file() {
    need_ground slurmctld
    cluster down >/dev/null
    ground_up "$NETWORK" --cpus 2 --conf "block_hosts = $BLOCK" --conf "budget_max = 40"
}

teardown_file() { ground_down; }

setup() {
    need_ground slurmctld
    hidden=''
}

teardown() {
    [ "$(id -u)" = 0 ] || return 0
    if [ -n "$hidden" ]; then on $SECOND umount -l "$hidden" || true; fi
    user scancel --user nettest
    wait_until 30 all_are_idle "$HOSTS"
}

# How many hosts have come to this one's agent.
came_to() { on "$1" ss -Htn state established 'sport >= 24500 and sport <= 24627' | wc -l; }

# Most of its block has come to it.
second_leads() { [ "$(came_to $SECOND)" -gt $((BLOCK / 2)) ]; }

# The most files that a probe of these hosts has open now.
most_files() {
    local host pid
    for host; do
        for pid in $(probes_of "$host"); do find "/proc/$pid/fd" -mindepth 1 2>/dev/null | wc -l; done
    done | sort -n | tail -n 1
}

most() { printf '%s\n' "$@" | sort -n | tail -n 1; }
n1_measures() { [ -n "$(probes_of n1)" ]; }

reason() { variable NETTOPO_REASON; }
told() { on "$1" cat "/run/nettopo/$JOB/hint.env"; }

# A job that stays until it is told to go, so that its files can be looked at.
start_job() { # OPTION
    submit --nettopo="$1" "-N$HOSTS" --exclusive <<'END'
#!/bin/bash
env | grep '^NETTOPO_' | sort >"$HOME/$SLURM_JOB_ID.env"
cp "$NETTOPO_MAP" "$HOME/$SLURM_JOB_ID.map"
mv "$HOME/$SLURM_JOB_ID.env" "$HOME/$SLURM_JOB_ID.env.done"
while [ ! -e "$HOME/$SLURM_JOB_ID.go" ]; do sleep 0.1; done
END
}

has_begun() { [ -e "$GROUND_HOME/$JOB.env.done" ] && mv "$GROUND_HOME/$JOB.env.done" "$GROUND_HOME/$JOB.env"; }

# Everyone else has been told of the same map.
all_others_know() {
    local host
    for host in n1 n2 n$((BLOCK + 2)) n$((2 * BLOCK)) n$((2 * BLOCK + 1)) "n$HOSTS"; do
        assert_contains "$host: $(told $host)" NETTOPO_STATUS=partial
        on $host cmp "/run/nettopo/$JOB/map.json" "$GROUND_HOME/$JOB.map"
    done
}

# A sweep of all, and what its hosts have open meanwhile: files, first, below.
sweep_all() {
    local host now
    files=0 first=0 below=0
    # all probes share the cores of one machine: a round takes longer than on hosts of their own
    submit_recording --nettopo=quick,budget=40 "-N$HOSTS" --exclusive
    wait_until 40 n1_measures
    while n1_measures; do
        files=$(most $files $(most_files n1 $SECOND n$((BLOCK + 2)) "n$HOSTS"))
        first=$(most $first $(came_to n1))
        now=0
        for ((host = BLOCK + 1; host < HOSTS; host += BLOCK)); do now=$((now + $(came_to n$host))); done
        below=$(most $below $now)
    done
    completed
}

# The map says itself what it lacks: it could not tell, or some did not come in time.
is_whole() {
    jq -e '.structure.family != "undetermined" and all(.nodes[]; .status != "missing")' \
        "$GROUND_HOME/$JOB.map" >/dev/null
}

@test "hosts in blocks find the declared network" {
    local files first below try
    for try in 1 2 3; do
        sweep_all
        is_whole && break
        echo "# try $try: $(jq -c '[.status, .reason, .structure.family, .warnings]' "$GROUND_HOME/$JOB.map")" >&3
    done
    # its agent, UCX's own, and at most two of each of the 64 connections that it keeps (ucx_probe/pairing.h)
    assert_between "files of a probe" "$files" 5 160
    # its own block and the other blocks' first, and a few whose block was late
    figure assert_between "hosts that have come to n1" "$first" $((BLOCK + HOSTS / BLOCK - 2)) $((2 * (BLOCK + HOSTS / BLOCK)))
    figure assert_between "hosts that have come to the others" "$below" $((HOSTS - 1 - first)) $((HOSTS - HOSTS / BLOCK - BLOCK + 1))
    if [ "$HOSTS" = 64 ]; then found_network --above 800; else found_network; fi
    printf '# %s, %s s, %s rounds, at most %s files a probe\n' "$(variable NETTOPO_STATUS)" \
        "$(jq .sweep.seconds "$GROUND_HOME/$JOB.map")" "$(jq .sweep.rounds "$GROUND_HOME/$JOB.map")" "$files" >&3
    hosts_are_well
}

# bats test_tags=full
@test "a block whose first host does not start comes to the job's" {
    hidden=$GROUND_STATE/stage/libexec/nettopo/nettopo-prolog
    on $SECOND mount --bind /bin/true "$hidden"
    start_job quick,budget=12
    wait_until 60 has_begun
    assert_contains "$(reason)" "1 of $HOSTS hosts did not answer to the end: $SECOND"
    assert_equal "missing" "$(jq -c '[.nodes[] | select(.status == "missing").name]' "$GROUND_HOME/$JOB.map")" "[\"$SECOND\"]"
    all_others_know
    touch "$GROUND_HOME/$JOB.go"
    completed
}

# bats test_tags=full
@test "a block outlives the death of its first host" {
    start_job quick,budget=16
    wait_until 40 second_leads
    kill -s KILL $(agents_of $SECOND)
    wait_until 60 has_begun
    assert_contains "$(reason)" "1 of $HOSTS hosts did not answer to the end: $SECOND"
    all_others_know
    touch "$GROUND_HOME/$JOB.go"
    completed
    hosts_are_well
}
