#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2086,SC2030,SC2031,SC2016
# Whole jobs with the agent and the probe under the address and undefined-behaviour sanitizers.

load ground
load jobs

setup_file() {
    need_ground slurmctld
    cluster down >/dev/null
    ground_up demo8 --sanitize address,undefined
}

teardown_file() { ground_down; }

setup() { need_ground slurmctld; }

teardown() {
    [ "$(id -u)" = 0 ] || return 0
    user scancel --user nettest
    wait_until 30 all_are_idle 8
}

# As submit_recording, and with the logs of all hosts, where reports on probes are.
submit_logging() { # OPTION OF_SBATCH...
    submit --nettopo="$1,debug" "${@:2}" < <(recording_script | sed '$d'
        echo 'srun --overlap -N"$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 cat "$NETTOPO_LOG" >"$HOME/$SLURM_JOB_ID.logs" || true')
}

no_reports() {
    local file said=
    said=$(cat "$GROUND_HOME"/*.logs 2>/dev/null | grep -E -A 40 'Sanitizer|runtime error:' | head -n 60)
    for file in "$GROUND_STATE"/log/sanitizers/*; do
        [ ! -e "$file" ] || said+="$file"$'\n'"$(head -n 40 "$file")"$'\n'
    done
    [ -z "$said" ] || fail "$said"
}

@test "every phase: the network is found and no sanitizer says anything" {
    grep -q __asan_init "$GROUND_STATE/stage/libexec/nettopo/nettopo-probe"
    grep -q __asan_init "$GROUND_STATE/stage/sanitized/nettopo-prolog"
    for level in quick $(full && echo full || echo standard); do
        submit_logging $level,budget=12 -N8
        completed
        # sanitizers are slow: some phases may not fit the budget
        [ $level = full ] || went_well
        # the shape; times are another matter under sanitizers
        found_network
    done
    no_reports
}

@test "a job that loses a probe, and one that is cancelled" {
    while_measuring n3 'kill -s KILL $(probes_of n3)' submit_logging standard,budget=8 -N8
    completed
    assert_equal "status" "$(variable NETTOPO_STATUS)" partial
    while_measuring n3 'user scancel "$JOB"' submit_logging standard,budget=8 -N8
    wait_until 20 job_is_over "$JOB"
    wait_until 20 all_are_idle 8
    no_reports
}

@test "srun --nettopo on one host, and a budget that is too small" {
    user timeout 60 srun --quiet --nettopo=quick,budget=8 -N1 true
    submit_logging quick,budget=0.5 -N8
    completed
    no_reports
}
