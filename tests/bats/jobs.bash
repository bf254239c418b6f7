# SPDX-License-Identifier: Apache-2.0
# Jobs on the ground: what the tests of whole jobs share. Load it after ground.
#
#   submit [SBATCH OPTIONS] <SCRIPT      sets JOB
#   submit_recording [SBATCH OPTIONS]    with a script that records what the job finds
#   completed [JOB] [SECONDS]            waits for the job's end; it must be COMPLETED
#   while_measuring HOST CMD SUBMIT...   a job by SUBMIT, and CMD (a line of shell) as HOST measures in it
#   variable NAME [JOB]                  the value that a recording job found, empty for none
#   went_well [JOB]                      its status is ok, or partial for want of time
#   found_network [--missing H,H ...]    the job's map is the declared network, or is not sure of what
#                                        it says; with FULL=1 it is, and its figures are (tests/judge)
#   knows_network [--missing H,H ...]    the job's map is the declared network
#   finds_network SUBMIT...              of up to three jobs by SUBMIT one knows it, none is wrong
#   waited_s [JOB]                       seconds from the job's resources to its script
#   slurm_alone HOSTS                    sets SLURM_S: what Slurm itself takes of that, the most of three
#   waited_at_most SECONDS               by us: what Slurm itself takes is beside it
#   hosts_are_well                       no host is drained or down
#   slurm_before RELEASE                 the Slurm under test is an older one
#   conf_set KEY VALUE                   in nettopo.conf, until conf_reset
#   probes_of HOST, agents_of HOST       their pids
#
# A recording job leaves in the test user's home: JOB.env, JOB.map, JOB.began (seconds).
# shellcheck shell=bash

SURE=0.9    # and more is a map that is sure of what it says
HANGS_S=60  # what Slurm itself never takes, however busy the machine is: without FULL=1 instead of its own
CONF=$GROUND_STATE/stage/etc/nettopo/nettopo.conf

# slurm_before RELEASE, such as 23.11
slurm_before() {
    local is
    is=$(PATH=${SLURM_PREFIX:+$SLURM_PREFIX/bin:}$PATH srun -V) && is=${is#* }
    [ "$1" != "$is" ] && [ "$(printf '%s\n' "$1" "$is" | sort -V | tail -n 1)" = "$1" ]
}

submit() {
    JOB=$(user timeout 30 sbatch --parsable --output "$GROUND_HOME/%j.out" "$@") || return
    [ -n "$JOB" ]
}

recording_script() {
    cat <<'END'
#!/bin/bash
date +%s.%N >"$HOME/$SLURM_JOB_ID.began"
# a value may hold line ends
env -0 | tr '\0\n' '\n\1' | grep -E '^(NETTOPO_|SLURM_HOSTFILE=|SLURM_DISTRIBUTION=)' | sort >"$HOME/$SLURM_JOB_ID.env"
if [ -n "$NETTOPO_MAP" ]; then cp "$NETTOPO_MAP" "$HOME/$SLURM_JOB_ID.map"; fi
exit 0
END
}

submit_recording() { submit "$@" < <(recording_script); }

job_states() { user timeout 10 scontrol -o show job "${1-$JOB}" | grep -o 'JobState=[A-Z_]*' | cut -d= -f2; }

job_is_over() {
    local states
    states=$(job_states "$1") || return
    ! grep -qE 'PENDING|RUNNING|CONFIGURING|COMPLETING|REQUEUE' <<<"$states" || {
        echo "$states"
        return 1
    }
}

completed() {
    wait_until "${2-60}" job_is_over "${1-$JOB}" || return
    assert_equal "state of job ${1-$JOB}" "$(job_states "${1-$JOB}" | sort -u)" COMPLETED
}

measuring() { [ -n "$(on "$1" ss -Htn state established src 10.77.0.0/16)" ]; } # HOST

measuring_or_over() { measuring "$1" || job_is_over "$JOB"; } # HOST

# A sweep that is over before anybody looks was no sweep to do CMD in: another job.
while_measuring() {
    local host=$1 cmd=$2 try
    shift 2
    for try in 1 2 3; do
        "$@" || return
        if wait_until 30 measuring_or_over "$host" && measuring "$host" && eval "$cmd"; then return; fi
        echo "# try $try: the sweep was over before this: $cmd" >&3
        wait_until 30 job_is_over "$JOB" || return
    done
    fail "no sweep could be met: $cmd"
}

variable() { sed -n "s/^$1=//p" "$GROUND_HOME/${2-$JOB}.env"; }

judge_map() { # OPTION... as tests/judge has them
    "$ROOT/tests/judge" "$GROUND_HOME/$JOB.map" "$GROUND_FABRIC" "$@" ||
        fail "job $JOB: not the declared network"
}

# The options without those that ask for figures.
of_shape() {
    while [ $# -gt 0 ]; do
        case $1 in
        --above | --bandwidth | --ratios | --alike | --degraded) shift 2 ;;
        *) echo "$1" && shift ;;
        esac
    done
}

found_network() {
    local shape
    if full; then
        judge_map "$@"
        return
    fi
    mapfile -t shape < <(of_shape "$@")
    judge_map --shape --sure "$SURE" "${shape[@]}" || { jq -c '[.structure, .status, .reason, .fit]' "$GROUND_HOME/$JOB.map" && return 1; }
}

knows_network() {
    local shape
    mapfile -t shape < <(of_shape "$@")
    judge_map --shape "${shape[@]}"
}

# A network that is disturbed may leave a map in doubt, and doubt is no fault; but to doubt always is.
finds_network() {
    local try
    for try in 1 2 3; do
        "$@" && completed && went_well && found_network || return
        ! knows_network >/dev/null 2>&1 || return 0
        echo "# try $try: confidence $(jq -c '[.structure.confidence, .reason, .warnings]' "$GROUND_HOME/$JOB.map")" >&3
    done
    fail "not the declared network in any of three jobs"
}

went_well() {
    local status reason
    status=$(variable NETTOPO_STATUS "$@") reason=$(variable NETTOPO_REASON "$@")
    [ "$status" = ok ] && [ -z "$reason" ] && return
    ! full && [ "$status" = partial ] && [[ $reason =~ the\ budget|the\ time\ was\ up ]] ||
        fail "status of job ${1-$JOB}: $status, reason: $reason"
}

waited_s() {
    local job=${1-$JOB} at
    at=$(sed -nE "s/^\[([^]]*)\].* (Allocate|Started) JobId=$job (NodeList|in ).*/\1/p" \
        "$GROUND_STATE/log/slurmctld.log" | tail -n 1)
    # newer releases log only that it was submitted
    [ -n "$at" ] || at=$(sed -nE "s/^\[([^]]*)\] _slurm_rpc_submit_batch_job: JobId=$job .*/\1/p" \
        "$GROUND_STATE/log/slurmctld.log" | tail -n 1)
    [ -n "$at" ] || { fail "slurmctld does not say when job $job got its hosts"; return; }
    # in the machine's time, which is that of Slurm's log, whatever TZ the tests have
    awk -v a="$(env -u TZ date -d "$at" +%s.%N)" -v b="$(cat "$GROUND_HOME/$job.began")" \
        'BEGIN {printf "%.3f\n", b - a}'
}

slurm_alone() { # HOSTS
    SLURM_S=$HANGS_S
    export SLURM_S
    full || return 0
    SLURM_S=0
    for _ in 1 2 3; do
        submit_recording -N"$1" && completed || return
        SLURM_S=$(printf '%s\n' "$SLURM_S" "$(waited_s)" | sort -g | tail -n 1)
    done
}

waited_at_most() {
    assert_between "seconds until the script ran, $SLURM_S of them Slurm's own" "$(waited_s)" 0 \
        "$(echo "$1 + $SLURM_S" | bc)"
}

hosts_are_well() {
    local ill
    ill=$(user timeout 10 sinfo -h -N -t drain,down,fail,no_respond,unknown -o '%N %T %E')
    [ -z "$ill" ] || fail "$ill"
}

all_are_idle() { # HOSTS
    local idle
    idle=$(user timeout 10 sinfo -h -t idle -o %D)
    [ "$idle" = "$1" ] || fail "idle: ${idle:-0} of $1"$'\n'"$(user timeout 10 sinfo -h -N -o '%N %T %E'
        user timeout 10 squeue -h -a)"
}

conf_set() {
    [ -e "$CONF.kept" ] || cp "$CONF" "$CONF.kept"
    sed -i "/^$1 *=/d" "$CONF"
    printf '%s = %s\n' "$1" "$2" >>"$CONF"
}

conf_reset() { if [ -e "$CONF.kept" ]; then mv "$CONF.kept" "$CONF"; fi; }

processes_of() { # HOST NAME
    local pid name
    for pid in $(ip netns pids "nettest-$1" 2>/dev/null); do
        { read -r name <"/proc/$pid/comm"; } 2>/dev/null || continue
        # the kernel keeps 15 characters of a name
        [ "$name" = "${2:0:15}" ] && [ -n "$(tr -d '\0' 2>/dev/null <"/proc/$pid/cmdline")" ] && echo "$pid"
    done
    return 0
}

probes_of() { processes_of "$1" nettopo-probe; }
agents_of() { processes_of "$1" nettopo-prolog; }

# Everything of ours that is on the hosts now: processes, files, sockets, ports. Checkouts are not.
of_ours() {
    local host pid
    for pid in $(pgrep -x 'nettopo-(probe|prolog)'); do
        host=$(ip netns identify "$pid" 2>/dev/null)
        [ -n "$host" ] || continue # nobody's job: another checkout tests beside us
        [ -z "$(tr -d '\0' 2>/dev/null <"/proc/$pid/cmdline")" ] || # a dead one that nobody has reaped yet
            echo "$host $(ps -o comm= -p "$pid") $pid"
    done
    for host in $("$FABRIC" --hosts "$GROUND_FABRIC"); do
        on "$host" sh -c 'find /run/nettopo -mindepth 1
            find /tmp /dev/shm -mindepth 1 -type d -exec test -e {}/.git \; -prune -o \
                \( -name "*ucx*" -o -name "*nettopo*" \) ! -name "*.lock" -print
            ss -Hltnp "sport >= 24500 and sport <= 24627" | grep -v python3' |
            sed "s/^/$host /" &
    done
    wait
}

nothing_of_ours() {
    local left
    left=$(of_ours)
    [ -z "$left" ] || fail "$left"
}
