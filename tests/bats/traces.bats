#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2086,SC2030,SC2031,SC2016
# What a measured job leaves behind, who its processes belong to and who may read its files.

load ground
load jobs

setup_file() {
    need_ground slurmctld
    ground_shared demo8
}

teardown_file() { ground_leave; }

setup() { need_ground slurmctld; }

teardown() {
    [ "$(id -u)" = 0 ] || return 0
    rm -f "$GROUND_HOME/go"
    conf_reset
    user scancel --user nettest
    wait_until 30 all_are_idle 8
}

# A job that stays until the test lets it go.
submit_waiting() {
    submit "$@" < <(
        recording_script | sed '$d'
        echo 'touch "$HOME/$SLURM_JOB_ID.runs"; until [ -e "$HOME/go" ]; do sleep 0.1; done'
    )
}

let_go() { touch "$GROUND_HOME/go"; }

files_of() { on "$1" sh -c 'ls -A /run/nettopo'; }

@test "every host has the job's files during the job and none after it" {
    submit_waiting --nettopo=quick -N8
    wait_until 30 test -e "$GROUND_HOME/$JOB.runs"
    sums=
    for host in n1 n2 n3 n4 n5 n6 n7 n8; do
        assert_equal "files on $host" "$(files_of $host)" "$JOB"
        assert_equal "files on $host" "$(on $host sh -c "ls -A /run/nettopo/$JOB" | xargs)" \
            "hint.env hostfile map.json rankfile rankorder samples"
        sums+=$(on $host sh -c "cd /run/nettopo/$JOB && sha256sum *")$'\n'
    done
    assert_equal "different files" "$(sort -u <<<"$sums" | grep -c .)" 6
    let_go
    completed
    for host in n1 n2 n3 n4 n5 n6 n7 n8; do assert_equal "files on $host" "$(files_of $host)" ""; done
    nothing_of_ours
}

@test "the files are root's; the job's user reads, another does not, nobody writes" {
    submit_waiting --nettopo=quick -N2
    wait_until 30 test -e "$GROUND_HOME/$JOB.runs"
    dir=/run/nettopo/$JOB
    as() { on n2 setpriv --reuid "$1" --regid "$2" --clear-groups "${@:3}"; }
    uid=$(id -u nettest) gid=$(id -g nettest)
    as $uid $gid cat $dir/map.json >/dev/null
    run as 12345 12345 cat $dir/map.json
    [ "$status" != 0 ]
    # another member of the user's group
    run as 12345 $gid cat $dir/map.json
    [ "$status" != 0 ]
    run as 12345 12345 ls $dir
    [ "$status" != 0 ]
    for attempt in "touch $dir/new" "rm -f $dir/map.json" "rmdir $dir" "mv $dir /run/nettopo/1000000" \
        "chmod 777 $dir" "touch /run/nettopo/new" "ln -sf /etc/passwd $dir/map.json"; do
        run as $uid $gid $attempt
        [ "$status" != 0 ] || fail "the user may: $attempt"
    done
    assert_equal "owners" "$(on n2 find /run/nettopo -printf '%u:%g\n' | sort -u)" root:root
    assert_equal "writable by others" "$(on n2 find /run/nettopo -perm /022)" ""
    let_go
    completed
}

# Stops the probe of HOST as soon as there is one, so that there is time to look. It is the probe
# itself, not yet the agent's fork of it.
stop_probe() {
    local pid
    for pid in $(probes_of "$1"); do
        if [ "$(readlink "/proc/$pid/exe")" = "$GROUND_STATE/stage/libexec/nettopo/nettopo-probe" ]; then
            kill -s STOP "$pid"
            return
        fi
    done
    return 1
}

stopped_or_over() { stop_probe "$1" || job_is_over "$JOB"; }

# The first one holds up the others, until the budget is over: long, for a look on a busy machine. A
# sweep that was over before we came is no harm: another job.
hold_a_sweep() {
    local host
    for _ in 1 2 3 4 5; do
        submit_recording --nettopo=standard,budget=20 -N4
        if wait_until 30 stopped_or_over n1 && [ -n "$(probes_of n1)" ]; then
            for host in n2 n3 n4; do wait_until 3 stop_probe $host || return; done
            return
        fi
        wait_until 30 job_is_over "$JOB"
    done
    fail "no sweep could be held"
}

field() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$2/status" | tr '\t' ' '; }

@test "the probe is a system user's in every way, with nothing inherited" {
    user=$(getent passwd nettopo-probe nobody | head -n 1 | cut -d: -f1)
    uid=$(id -u "$user") gid=$(id -g "$user")
    hold_a_sweep
    held=()
    for host in n1 n2 n3 n4; do
        probe=$(probes_of $host)
        held+=("$probe")
        assert_equal "probes on $host" "$(wc -w <<<"$probe")" 1
        assert_equal "options that all can see" "$(cat /proc/$probe/cmdline $(agents_of $host | sed 's,[0-9]*,/proc/&/cmdline,g') | grep -ac budget)" 0
        assert_equal "uids" "$(field Uid $probe)" "$uid $uid $uid $uid"
        assert_equal "gids" "$(field Gid $probe)" "$gid $gid $gid $gid"
        assert_equal "groups" "$(field Groups $probe | xargs)" ""
        assert_equal "no_new_privs" "$(field NoNewPrivs $probe)" 1
        for set in CapInh CapPrm CapEff CapAmb; do
            assert_equal "$set" "$(field $set $probe)" 0000000000000000
        done
        # it makes no process, and no other process of the user sees into it
        assert_equal "seccomp filter" "$(field Seccomp $probe)" 2
        assert_equal "PID namespaces" "$(field NSpid $probe | wc -w)" "$(($(field NSpid self | wc -w) + 1))"
        assert_equal "owner of what it has open" "$(stat -c %u /proc/$probe/fd)" 0
        assert_equal "for the out-of-memory killer" "$(cat /proc/$probe/oom_score_adj)" 1000
        assert_equal "blocked signals" "$(field SigBlk $probe)" 0000000000000000
        # every thread
        assert_equal "threads of somebody else" \
            "$(cat /proc/$probe/task/*/status | awk -v u=$uid '/^Uid:/ && ($2 != u || $3 != u || $4 != u)')" ""
        # children and anything else that runs the probe on this host
        for pid in $(ip netns pids nettest-$host); do
            case $(readlink /proc/$pid/exe) in
            */nettopo-probe) assert_equal "uid" "$(field Uid $pid)" "$uid $uid $uid $uid" ;;
            esac
        done
        # it reads nothing, writes only its own bounded log, 3 is the agent; the rest it opened itself
        assert_equal "fd 0" "$(readlink /proc/$probe/fd/0)" /dev/null
        for fd in 1 2; do
            assert_equal "fd $fd" "$(readlink /proc/$probe/fd/$fd)" "/memfd:nettopo-probe-log (deleted)"
        done
        assert_contains "$(readlink /proc/$probe/fd/3)" socket:
        foreign=$(ls -l /proc/$probe/fd | grep -E "slurm|munge|nettopo-test|/run/nettopo|/var|/etc|/home" || true)
        assert_equal "descriptors of others" "$foreign" ""
        assert_equal "directory" "$(readlink /proc/$probe/cwd)" /
        # the environment is the agent's own, nothing of Slurm's or of root's
        assert_equal "foreign variables" "$(tr '\0' '\n' </proc/$probe/environ |
            grep -vE '^(PATH|HOME|LANG|UCX_[A-Z_]*|PMIX_MCA_gds|HWLOC_COMPONENTS|NETTOPO_PROBE_ENVIRONMENT)=' || true)" ""
        assert_equal "core" "$(awk '/^Max core/ {print $5, $6}' /proc/$probe/limits)" "0 0"
    done
    # one that its agent has ended meanwhile needs nothing
    kill -s CONT "${held[@]}" || true
    completed
    [ -n "$(variable NETTOPO_STATUS)" ]
    wait_until 5 nothing_of_ours
}

@test "nothing stays: processes, ports, files, namespaces, mounts" {
    before=$BATS_TEST_TMPDIR/before
    submit_recording -N8 # what Slurm itself makes at first
    completed
    ground_snapshot "$before"
    everything_in_sight >"$before.hosts"
    for level in $(full && echo quick full || echo standard); do
        submit_recording --nettopo=$level -N8
        completed
        [ -n "$(variable NETTOPO_MAP)" ]
    done
    wait_until 5 nothing_of_ours
    wait_until 20 nothing_stays "$before"
    wait_until 20 same_as_before
}

everything_in_sight() {
    local host
    for host in n1 n5 n8; do
        on $host sh -c 'find /run /tmp /dev/shm /var/tmp -xdev | sed "s/^/file /"
            cat /proc/mounts | sed "s/^/mount /"
            ip -o link | cut -d: -f2; ip route; ss -Hltunx | awk "{print \"listens\", \$1, \$5}"
            ipcs -a | grep 0x' | sed "s/^/$host /"
        ip netns pids nettest-$host | while read -r pid; do
            { read -r name <"/proc/$pid/comm"; } 2>/dev/null && echo "$host process $name"
        done
    done | sort
}

same_as_before() {
    local more
    more=$(everything_in_sight | comm -13 "$before.hosts" - | grep -v -e ' process slurmstepd' -e ' process ip$')
    [ -z "$more" ] || fail "$more"
}

@test "without the option: no process, no file, no variable" {
    # whoever starts the agent or the probe leaves a mark
    for program in libexec/nettopo/nettopo-prolog libexec/nettopo/nettopo-probe; do
        printf '#!/bin/sh\ntouch %s/started\n' "$GROUND_STATE" >"$GROUND_STATE/mark"
        chmod 755 "$GROUND_STATE/mark"
        for host in n1 n2; do on $host mount --bind "$GROUND_STATE/mark" "$GROUND_STATE/stage/$program"; done
    done
    submit -N2 <<'END'
#!/bin/bash
env | grep -ciE '^(nettopo|_?(slurm_)?spank|ucx_)' >"$HOME/$SLURM_JOB_ID.count"
srun --quiet sh -c 'env | grep -ciE "^(nettopo|_?(slurm_)?spank|ucx_)"; ls -A /run/nettopo' >>"$HOME/$SLURM_JOB_ID.count"
exit 0
END
    completed || true
    unasked=$(test -e "$GROUND_STATE/started" && echo started || true)
    # the mark itself works
    submit_recording --nettopo=quick -N2
    completed || true
    asked=$(test -e "$GROUND_STATE/started" && echo started || true)
    for program in libexec/nettopo/nettopo-prolog libexec/nettopo/nettopo-probe; do
        for host in n1 n2; do on $host umount "$GROUND_STATE/stage/$program"; done
    done
    assert_equal "a process without the option" "$unasked" ""
    assert_equal "a process with the option" "$asked" started
    assert_equal "variables and files" "$(sort -u "$GROUND_HOME/$((JOB - 1)).count")" 0
}
