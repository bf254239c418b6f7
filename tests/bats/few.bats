#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# bats file_tags=full
# shellcheck disable=SC2154,SC2153,SC2030,SC2031,SC2016
# Jobs of few hosts, as most are: each map is the declared network as far as these hosts show it, or
# the map does not say that it is sure. A sure one has the pairs' latencies right too, and fits.
#
# NT_KEEP=DIR bats tests/bats/few.bats leaves the record, the map and the declaration of each job in
# DIR (HOSTS.samples, .map, .fabric), to be solved and judged again without a cluster; NT_SEED=N
# draws other sets:
#   build/nettopo solve DIR/HOSTS.samples | tests/judge --sure 0.9 --above 75 - DIR/HOSTS.fabric

load ground
load jobs

SURE=0.9
SETS=5 # of each size
ABOVE_US=75 # as of all twelve, in shapes.bats
SEED=${NT_SEED:-1} # among its sets are stars, two and three switches

setup_file() {
    need_ground slurmctld
    cluster down >/dev/null
    ground_up uneven12
}

teardown_file() { ground_down; }

setup() { need_ground slurmctld; }

# SETS sets of each size, a line each with the hosts in the fabric's order and commas between them;
# no set twice. The numbers are drawn by ours, since each awk has another rand().
draw_sets() {
    "$FABRIC" --hosts "$GROUND_FABRIC" | awk -v state="$SEED" -v sets="$SETS" '
        function below(n) {state = (state * 16807) % 2147483647; return int(state / 2147483647 * n)}
        {host[NR] = $1}
        END {
            for (size = 2; size <= 5; size++)
                for (drawn = 0; drawn < sets;) {
                    split("", taken)
                    for (left = size; left > 0;) {
                        h = 1 + below(NR)
                        if (!(h in taken)) {taken[h] = 1; left--}
                    }
                    line = ""
                    for (h = 1; h <= NR; h++)
                        if (h in taken) line = line (line == "" ? "" : ",") host[h]
                    if (!(line in known)) {known[line] = 1; drawn++; print line}
                }
        }'
}

# The network as only these hosts show it.
declare_for() { # HOSTS
    awk -v hosts="$1" 'BEGIN {n = split(hosts, h, ","); for (k = 1; k <= n; k++) here[h[k]] = 1}
        $1 != "host" || $2 in here' "$GROUND_FABRIC"
}

with_record() {
    recording_script | sed '/^exit/i\
if [ -n "$NETTOPO_MAP" ]; then cp "${NETTOPO_MAP%/*}/samples" "$HOME/$SLURM_JOB_ID.samples"; fi'
}

keep() { # HOSTS FABRIC
    [ -n "${NT_KEEP-}" ] || return 0
    mkdir -p "$NT_KEEP"
    cp "$GROUND_HOME/$JOB.samples" "$NT_KEEP/$1.samples"
    cp "$GROUND_HOME/$JOB.map" "$NT_KEEP/$1.map"
    cp "$2" "$NT_KEEP/$1.fabric"
}

# One job, and a line that says what it found: right, unsure (and not right) or wrong.
judge_few() { # HOSTS
    local hosts=$1 map fabric=$BATS_TEST_TMPDIR/few.fabric said verdict
    submit --nettopo=quick -w "$hosts" -N "$(tr , '\n' <<<"$hosts" | wc -l)" --exclusive < <(with_record)
    completed || return
    [ -n "$(variable NETTOPO_MAP)" ] || { fail "$hosts: no map: $(variable NETTOPO_REASON)"; return; }
    map=$GROUND_HOME/$JOB.map
    declare_for "$hosts" >"$fabric"
    keep "$hosts" "$fabric"
    if said=$("$ROOT/tests/judge" --quiet --sure $SURE --above $ABOVE_US "$map" "$fabric"); then
        verdict=right
        [[ $said != *"not sure of it"* ]] || verdict=unsure
    else
        verdict=wrong
    fi
    VERDICTS+=("$verdict")
    printf '# %-6s %-16s declared %-22s found %-22s %s\n' $verdict "$hosts" \
        "$(declared_shape "$fabric")" "$(map_shape "$map")" \
        "$(jq -r '"confidence \(.structure.confidence), rms \(.fit.rms_us) of \(.fit.resolution_us) us"' "$map")" >&3
    grep '^wrong: ' <<<"$said" | sed 's/^/#        /' >&3 || true
}

count() { printf '%s\n' "${VERDICTS[@]}" | grep -cx "$1" || true; }

@test "jobs of 2 to 5 hosts on an uneven network: right, or not sure" {
    local hosts
    VERDICTS=()
    for hosts in $(draw_sets); do judge_few "$hosts"; done
    printf '# %s of %s right, %s not sure, %s wrong and sure of it\n' "$(count right)" \
        ${#VERDICTS[@]} "$(count unsure)" "$(count wrong)" >&3
    assert_equal "jobs" ${#VERDICTS[@]} $((4 * SETS))
    assert_equal "wrong and sure of it" "$(count wrong)" 0
}
