#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2086,SC2030,SC2031,SC2016
# Every way in which a job may ask for its network, as the unprivileged user on a real cluster.

load ground
load jobs

setup_file() {
    need_ground slurmctld
    cluster down >/dev/null
    ground_up scattered8
}

teardown_file() { ground_down; }

setup() { need_ground slurmctld; }

teardown() {
    [ "$(id -u)" = 0 ] || return 0
    conf_reset
    user scancel --user nettest
    wait_until 30 all_are_idle 8
}

@test "sbatch: the batch script and every task on every host find the same map" {
    submit --nettopo=quick -N8 <<'END'
#!/bin/bash
env | grep ^NETTOPO_ | sort >"$HOME/$SLURM_JOB_ID.env"
cp "$NETTOPO_MAP" "$HOME/$SLURM_JOB_ID.map"
srun sh -c 'for v in STATUS NODE_ORDER GAIN JSON; do eval echo "\$NETTOPO_$v"; done |
    cat - "$NETTOPO_MAP" "$NETTOPO_HOSTFILE" "$NETTOPO_RANKFILE" "$NETTOPO_RANK_ORDER" | sha256sum'
END
    completed
    went_well
    found_network
    assert_equal "map" "$(variable NETTOPO_MAP)" "/run/nettopo/$JOB/map.json"
    assert_equal "the map on one line" "$(variable NETTOPO_JSON | jq -S .)" "$(jq -S . "$GROUND_HOME/$JOB.map")"
    assert_equal "order" "$(variable NETTOPO_NODE_ORDER | tr , '\n' | sort | xargs)" "n1 n2 n3 n4 n5 n6 n7 n8"
    assert_equal "tasks" "$(wc -l <"$GROUND_HOME/$JOB.out")" 8
    assert_equal "different answers" "$(sort -u "$GROUND_HOME/$JOB.out" | wc -l)" 1
    user nettopo validate "$GROUND_HOME/$JOB.map"
    assert_equal "job in the map" "$(jq .job.id "$GROUND_HOME/$JOB.map")" "$JOB"
}

@test "#SBATCH --nettopo" {
    submit -N8 < <(recording_script | sed '1a#SBATCH --nettopo=quick')
    completed
    went_well
    found_network
}

@test "a bare --nettopo" {
    submit_recording --nettopo -N8
    completed
    assert_equal "level" "$(jq -r .job.level "$GROUND_HOME/$JOB.map")" standard
    went_well # the usual budget is enough for all of it, on a machine that has the time
    found_network
}

@test "srun" {
    run user timeout 60 srun --quiet --nettopo=quick -N8 sh -c 'echo "$NETTOPO_STATUS $(sha256sum <$NETTOPO_MAP)"'
    assert_equal "exit" "$status" 0
    assert_equal "tasks" "$(grep -c '^ok ' <<<"$output")" 8
    assert_equal "different answers" "$(sort -u <<<"$output" | wc -l)" 1
}

@test "salloc: every task, and the shell on the first host" {
    run user timeout 60 salloc --quiet --nettopo=quick -N8 \
        srun --quiet sh -c 'echo "$NETTOPO_STATUS $NETTOPO_NODE_ORDER"'
    assert_equal "exit" "$status" 0
    assert_equal "tasks" "$(grep -c '^ok n' <<<"$output")" 8
    # the interactive step wants a terminal
    run user timeout 60 script -qec 'salloc --quiet --nettopo=quick -N8' /dev/null \
        < <(echo 'echo "<$(hostname) $NETTOPO_STATUS $(test -r $NETTOPO_MAP && echo readable)>"; exit')
    assert_contains "$output" "<n1 ok readable>"
}

@test "srun --nettopo inside an allocation made without it measures nothing and says so" {
    submit -N2 <<'END'
#!/bin/bash
srun --nettopo=quick sh -c 'echo "$NETTOPO_STATUS: $NETTOPO_REASON"' | sort -u
env | grep -c ^NETTOPO_
exit 0
END
    completed
    assert_equal "output" "$(cat "$GROUND_HOME/$JOB.out")" \
        "failed: nothing was measured in this job's prolog"$'\n'0
}

# PMIx servers on one machine share a clock so fine that munged now and then takes one for
# another's past; Slurm then waits for 300 s. That is not ours to test: a second try is fine.
twice() { "$@" || "$@"; }

by_srun() {
    user timeout 30 env SLURM_PMIX_TIMEOUT=10 UCX_NET_DEVICES=fab0 srun --quiet -N8 --mpi=pmix \
        nettopo-probe --level quick -o "$GROUND_HOME/$JOB.map"
}

@test "srun --mpi=pmix nettopo-probe, with none of root's parts" {
    JOB=by-srun
    twice by_srun
    found_network
    user nettopo validate "$GROUND_HOME/$JOB.map"
}

@test "nettopo-probe keeps devices and links, and what it cannot write is exit 4" {
    local to=$GROUND_HOME/written
    rm -rf "$to"
    mkdir "$to"
    mknod -m 666 "$to/full" c 1 7
    mknod -m 666 "$to/null" c 1 3
    echo old >"$to/old"
    ln -s old "$to/link"
    chown -hR --reference="$GROUND_HOME" "$to"
    write() { # STATUS MAP SAMPLES
        JOB=written
        run user timeout 30 env SLURM_PMIX_TIMEOUT=10 UCX_NET_DEVICES=fab0 srun --quiet -N2 --mpi=pmix \
            nettopo-probe --level quick -b 2 -o "$2" -s "$3"
        [ "$status" = "$1" ] || fail "exit $status: $output"
    }
    twice write 4 "$to/full" "$to/link"
    assert_contains "$output" "cannot write $to/full: No space left on device"
    twice write 4 "$to/none/map" "$to/null"
    assert_contains "$output" "cannot write $to/none/map: No such file or directory"
    twice write 0 "$to/map" "$to/null"
    user nettopo validate "$to/map"
    user nettopo solve "$to/link" >/dev/null
    assert_equal "files" "$(stat -c '%n %F' "$to"/* | sed "s|$to/||")" \
        $'full character special file\nlink symbolic link\nmap regular file\nnull character special file\nold regular file'
    rm -r "$to"
}

@test "mpirun nettopo-probe" {
    submit -N8 <<'END'
#!/bin/bash
export UCX_NET_DEVICES=fab0
mpirun nettopo-probe --level quick -o "$HOME/$SLURM_JOB_ID.map" --samples "$HOME/$SLURM_JOB_ID.samples"
END
    completed
    found_network
    user nettopo solve "$GROUND_HOME/$JOB.samples" -o "$GROUND_HOME/again"
    cmp "$GROUND_HOME/again" "$GROUND_HOME/$JOB.map"
}

same_network() { # MAP REFERENCE
    local what='[[.nodes[] | [.name, .switch]], [.switches[] | [.name, .tier, .hosts]], [.links[] | [.a, .b]]]'
    assert_equal "names in $1" "$(jq -cS "$what" "$1")" "$(jq -cS "$what" "$2")" || return
    # each link's latency: a tenth, as equal links may differ, and four standard errors of the difference
    jq -en --slurpfile a "$1" --slurpfile b "$2" '[$a[0].links, $b[0].links] | transpose | map(
        (.[0].latency_us - .[1].latency_us | fabs)
        <= 0.1 * .[1].latency_us + 4 * (.[0].latency_se_us * .[0].latency_se_us + .[1].latency_se_us * .[1].latency_se_us | sqrt))
        | all' >/dev/null || fail "latencies of $1 and $2:"$'\n'"$(jq -c '.links[] | [.a, .b, .latency_us]' "$1" "$2")"
}

# bats test_tags=full
@test "the prolog, srun and mpirun find the same network on the same hosts" {
    command -v mpirun >/dev/null || skip "mpirun is not installed"
    submit -N8 --exclusive --nettopo=quick <<'END'
#!/bin/bash
cd "$HOME" || exit 1
cp "$NETTOPO_MAP" by-prolog.map
export UCX_NET_DEVICES=fab0
mpirun nettopo-probe --level quick -o by-mpirun.map || exit 1
by_srun() { SLURM_PMIX_TIMEOUT=10 timeout 30 srun --quiet --mpi=pmix nettopo-probe --level quick -o by-srun.map; }
by_srun || by_srun
END
    completed "$JOB" 90
    local way
    for way in srun mpirun; do
        figure same_network "$GROUND_HOME/by-$way.map" "$GROUND_HOME/by-prolog.map"
    done
}

job_runs() { [ "$(job_states)" = RUNNING ]; }

@test "two jobs at once on shared hosts: both find it, neither measures bandwidth" {
    # with a neighbour on every host, so that it does not depend on which of the two starts first
    submit -N8 --oversubscribe <<<$'#!/bin/bash\nexec sleep 300'
    wait_until 30 job_runs
    submit_recording --nettopo=standard -N8 --oversubscribe
    first=$JOB
    submit_recording --nettopo=standard -N8 --oversubscribe
    completed "$first"
    completed
    for JOB in "$first" "$JOB"; do
        went_well
        found_network --above 120
        assert_contains "$(jq -r '.warnings[]' "$GROUND_HOME/$JOB.map")" "shared"
        assert_equal "bandwidths" "$(jq '[.links[].bandwidth_MBps | numbers] | length' "$GROUND_HOME/$JOB.map")" 0
    done
}

@test "an array: each element its own map" {
    user rm -f array.*
    submit --nettopo=quick -N2 -n2 --array=1-4 <<'END'
#!/bin/bash
echo "$SLURM_JOB_ID $NETTOPO_STATUS $(jq .job.id "$NETTOPO_MAP")" >"$HOME/array.$SLURM_ARRAY_TASK_ID"
END
    completed
    assert_equal "elements" "$(cat "$GROUND_HOME"/array.* | awk '$1 == $3 && $2 == "ok"' | sort -u | wc -l)" 4
}

@test "a heterogeneous job: each component its own map" {
    submit --nettopo=quick -N2 : --nettopo=quick -N3 <<'END'
#!/bin/bash
echo "$NETTOPO_STATUS $(jq '.nodes | length' "$NETTOPO_MAP")"
srun --het-group=1 -N1 -n1 sh -c 'echo "$NETTOPO_STATUS $(jq ".nodes | length" $NETTOPO_MAP)"'
END
    completed
    assert_equal "hosts" "$(cat "$GROUND_HOME/$JOB.out")" "ok 2"$'\n'"ok 3"
}

# bats test_tags=full
@test "a requeued job measures again" {
    submit --nettopo=quick -N8 --requeue <<'END'
#!/bin/bash
echo "${SLURM_RESTART_COUNT:-0} $NETTOPO_STATUS $(jq -c '[.job.id, .sweep.hosts]' "$NETTOPO_MAP")" \
    >"$HOME/$SLURM_JOB_ID.run.${SLURM_RESTART_COUNT:-0}"
cp "$NETTOPO_MAP" "$HOME/$SLURM_JOB_ID.map"
[ -n "$SLURM_RESTART_COUNT" ] || sleep 600
END
    wait_until 30 test -s "$GROUND_HOME/$JOB.run.0"
    user scontrol requeue "$JOB"
    # Slurm holds a requeued job back for two minutes; it tells credentials of before and after
    # by whole seconds
    wait_until 30 requeued_is_pending
    user scontrol update "JobId=$JOB" StartTime=now+2
    completed "$JOB" 120
    assert_equal "second run" "$(cat "$GROUND_HOME/$JOB.run.1")" "1 ok [$JOB,8]"
    found_network
}

requeued_is_pending() { [ "$(job_states)" = PENDING ]; }

a_probe_runs() { [ -n "$(probes_of "$1")" ]; }

@test "scancel during the sweep: the hosts are clean and well afterwards" {
    # all of the budget, so that nobody is late
    submit_recording --nettopo=full,budget=4 -N8
    wait_until 10 a_probe_runs n3
    user scancel "$JOB"
    wait_until 20 job_is_over "$JOB"
    wait_until 20 all_are_idle 8
    wait_until 5 nothing_of_ours
    hosts_are_well
    [ ! -e "$GROUND_HOME/$JOB.env" ]
}

@test "off: as without the option, also where the admin made it the default" {
    submit_recording --nettopo=off -N2
    completed
    assert_equal "variables" "$(cat "$GROUND_HOME/$JOB.env")" ""
    conf_set default yes
    submit_recording --nettopo=off -N2
    completed
    assert_equal "variables" "$(cat "$GROUND_HOME/$JOB.env")" ""
    submit_recording -N2
    completed
    assert_equal "status by default" "$(variable NETTOPO_STATUS)" ok
}

@test "--export=NONE" {
    submit_recording --nettopo=quick --export=NONE -N2
    completed
    assert_equal "status" "$(variable NETTOPO_STATUS)" ok
    [ -s "$GROUND_HOME/$JOB.map" ]
}

@test "apply: a plain srun follows the hint; without it nothing is set" {
    submit --nettopo=quick,apply -N8 -n8 <<'END'
#!/bin/bash
env | grep -E '^(SLURM_HOSTFILE|SLURM_DISTRIBUTION)=' | sort
srun --quiet sh -c 'echo "$SLURM_PROCID $SLURMD_NODENAME"' | sort -n | cut -d' ' -f2 | xargs
xargs <"$NETTOPO_HOSTFILE"
END
    completed
    mapfile -t line <"$GROUND_HOME/$JOB.out"
    assert_equal "distribution" "${line[0]}" SLURM_DISTRIBUTION=arbitrary
    assert_equal "host file" "${line[1]}" "SLURM_HOSTFILE=/run/nettopo/$JOB/hostfile"
    assert_equal "ranks" "${line[2]}" "${line[3]}"
    # a leaf's hosts one after the other, which their names are not
    for leaf in 'n1 n4 n6' 'n2 n5 n7' 'n3 n8'; do
        places=$(tr ' ' '\n' <<<"${line[3]}" | grep -nxE "${leaf// /|}" | cut -d: -f1)
        assert_equal "places between the first and the last of $leaf" \
            $(($(tail -n 1 <<<"$places") - $(head -n 1 <<<"$places") + 1)) "$(wc -w <<<"$leaf")"
    done
    submit_recording --nettopo=quick -N2
    completed
    refute_contains "$(cat "$GROUND_HOME/$JOB.env")" SLURM_
}

# Slurm adds "Invalid --nettopo argument: ..." of its own to what a plugin says.
ours() { grep -E "error: --nettopo: |: nettopo: " <<<"$1" || true; }

@test "a wrong item is refused at submission by one line that names it" {
    last=$(user squeue -h -a -t all -o %A | sort -n | tail -n 1)
    for item in fast budget=0 budget=abc budget= pattern=hexagon pattern=stencil:2 quick,, quick, ,quick quick,full off=1 \
        apply,off 'quick budget=3'; do
        run user timeout 30 sbatch "--nettopo=$item" -N1 --wrap true
        assert_equal "exit for $item" "$status" 255
        said=$(ours "$output")
        assert_equal "lines for $item" "$(wc -l <<<"$said")" 1
        case $item in
        *, | ,*) assert_contains "$said" "empty item" ;;
        quick,full) assert_contains "$said" '"full"' ;;
        apply,off) assert_contains "$said" 'item "off" cannot be combined with other items' ;;
        *) assert_contains "$said" "${item#pattern=}" ;;
        esac
    done
    for command in srun salloc; do
        run user timeout 30 $command --nettopo=fast -N1 true
        [ "$status" != 0 ]
        assert_contains "$output" '"fast"'
    done
    assert_equal "jobs" "$(user squeue -h -a -t all -o %A | sort -n | tail -n 1)" "$last"
}

@test "items that have no effect are reported in one line" {
    local said
    printf '#!/bin/bash\n#SBATCH --nettopo=quick,budget=3,pattern=ring\n' >"$GROUND_HOME/items.sh"
    run user timeout 30 sbatch -N1 -o /dev/null --nettopo=standard "$GROUND_HOME/items.sh"
    assert_equal "exit" "$status" 0
    said=$(ours "$output")
    assert_equal "lines of an override" "$(wc -l <<<"$said")" 1
    assert_contains "$said" "--nettopo=standard"
    assert_contains "$said" " replaces --nettopo=quick,budget=3.000,pattern=ring, whose items have no effect"
    run user timeout 30 sbatch -N1 -o /dev/null --nettopo=quick,budget=3,pattern=ring "$GROUND_HOME/items.sh"
    assert_equal "lines of the same items" "$(ours "$output")" ""
    run user timeout 60 salloc -N1 --nettopo=quick,apply true
    assert_equal "exit" "$status" 0
    said=$(ours "$output")
    assert_equal "lines of apply" "$(wc -l <<<"$said")" 1
    assert_contains "$said" "apply has no effect on a command of salloc"
    run user timeout 60 srun -N1 --nettopo=quick,apply true
    said=$(ours "$output")
    assert_equal "lines of apply with srun" "$(wc -l <<<"$said")" 1
    assert_contains "$said" "apply has no effect on this step"
}

@test "hostile option strings are refused at submission in one short line" {
    long=$(head -c 100000 /dev/zero | tr '\0' a)
    for item in $'quick\nbudget=3' $'\x01' 'pattern=matrix:/a=b,c=d' "$long" '=' '%s%n' '$(id)'; do
        run user timeout 30 sbatch "--nettopo=$item" -N1 --wrap true
        assert_equal "exit" "$status" 255
        said=$(ours "$output")
        assert_equal "lines" "$(wc -l <<<"$said")" 1
        [ ${#said} -lt 400 ] || fail "a line of ${#said} characters"
    done
}

@test "a bad nettopo.conf: logged once a host with file and line, and the job runs" {
    conf_set budgets 3
    line=$(grep -n '^budgets' "$CONF" | cut -d: -f1)
    submit_recording --nettopo=quick -N2
    completed
    assert_equal "status" "$(variable NETTOPO_STATUS)" failed
    assert_contains "$(variable NETTOPO_REASON)" "nettopo.conf:$line: unknown key"
    host=n1
    said=$(grep -h "nettopo.conf:$line" "$GROUND_STATE/log/slurmd.$host.log" | grep -c prolog || true)
    all=$(grep -hc "nettopo.conf:$line" "$GROUND_STATE/log/slurmd.$host.log")
    [ "$all" -ge 1 ] || fail "not logged on $host"
    [ "$all" -le 3 ] || fail "logged $all times on $host ($said in the prolog)"
    # and a job that did not ask notices nothing
    submit_recording -N2
    completed
    assert_equal "variables" "$(cat "$GROUND_HOME/$JOB.env")" ""
    hosts_are_well
}

@test "the admin's limits hold: level_max, budget_max, enabled" {
    conf_set level_max quick
    conf_set budget_max 2
    submit_recording --nettopo=full,budget=60 -N2
    completed
    assert_equal "level" "$(jq -r .job.level "$GROUND_HOME/$JOB.map")" quick
    conf_set enabled no
    submit_recording --nettopo=quick -N2
    completed
    assert_equal "status" "$(variable NETTOPO_STATUS)" failed
    assert_contains "$(variable NETTOPO_REASON)" "disabled"
}
