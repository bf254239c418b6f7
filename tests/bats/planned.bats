#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2086,SC2030,SC2031,SC2016
# What a job chooses to measure by hand, on a real cluster: a plan over known routes, with the failing
# link that the estimate names, as the recipe of nettopo(1) has it; and stress kernels.

load ground
load jobs

setup_file() {
    need_ground slurmctld
    ground_shared demo8
}

teardown_file() { ground_leave; }

setup() { need_ground slurmctld; }

teardown() { cluster fabric set host n5 latency=100; }

# The routes of all hosts, from what the site knows of its cables.
know_routes() {
    echo 'graph { leaf1 -- {n1 n2 n3} leaf2 -- {n4 n5 n6} root -- {n7 n8 leaf1 leaf2} }' >"$GROUND_HOME/cables.dot"
    nettopo simulate -t "$GROUND_HOME/cables.dot" -f routes -o "$GROUND_HOME/routes"
    chmod a+r "$GROUND_HOME/routes"
}

nettopo() { "$ROOT/build/nettopo" "$@"; }

# measure BUDGET: leaves samples and estimate.json
measure() {
    submit -N8 <<END
#!/bin/bash
cd "\$HOME" && rm -f samples estimate.json && export UCX_NET_DEVICES=fab0
nettopo plan --redundancy 2 --hosts "\$SLURM_JOB_NODELIST" --routes routes -o plan.json
srun --mpi=pmix --ntasks-per-node=1 nettopo-probe --plan plan.json --budget $1 --samples samples
nettopo estimate --routes routes --measured samples -o estimate.json
END
    completed
}

suspects() { jq -c '[.links[] | select(.suspect) | .link]' "$GROUND_HOME/estimate.json"; }

@test "a plan is measured in a job, in its rounds, and the one slow link is named" {
    local try
    know_routes
    cluster fabric set host n5 latency=400
    for try in 1 2 3; do # the fabric emulates in real time, on a machine that may be busy
        measure 4
        [ "$(suspects)" != '["leaf2--n5"]' ] || break
    done
    grep '^end ok ' "$GROUND_HOME/samples"
    assert_equal "phases" "$(grep '^phase ' "$GROUND_HOME/samples" | cut -d' ' -f2 | xargs)" plan
    # every pair of the plan and no other, in its rounds
    jq -c '[.rounds[] | [.[] | sort | join("-")] | sort]' "$GROUND_HOME/plan.json" >"$BATS_TEST_TMPDIR/planned"
    awk '/^host / {name[hosts++] = $2} /^round/ {n++}
        /^latency / {a = name[$2]; b = name[$3]; print n, a < b ? a "-" b : b "-" a}' "$GROUND_HOME/samples" |
        jq -Rnc --slurpfile plan "$BATS_TEST_TMPDIR/planned" '$plan[0] as $rounds | [inputs | split(" ")]
            | group_by(.[0] | tonumber) | map((.[0][0] | tonumber) as $n | [.[][1]] - $rounds[($n - 1) % ($rounds | length)])
            | add | unique' >"$BATS_TEST_TMPDIR/strange"
    assert_equal "pairs that were not planned for their round" "$(cat "$BATS_TEST_TMPDIR/strange")" "[]"
    assert_equal "all pairs follow" "$(jq '.pairs | length' "$GROUND_HOME/estimate.json")" 28
    assert_equal "suspects" "$(suspects)" '["leaf2--n5"]'
    assert_equal "each error is known" "$(jq '[.links[] | select(.latency_se_us > 0 | not)] | length' "$GROUND_HOME/estimate.json")" 0
}

# The example of nettopo(1): three pairs send over the uplink of leaf1, which carries two; n7 and n8 do not.
@test "whether others block a path: bandwidths of a plan, alone and loaded" {
    local try blocked report=$BATS_TEST_TMPDIR/report
    echo '{"rounds": [[["n1", "n4"], ["n7", "n8"]]]}' >"$GROUND_HOME/alone.json"
    echo '{"rounds": [[["n1", "n4"], ["n2", "n5"], ["n3", "n6"], ["n7", "n8"]]]}' >"$GROUND_HOME/loaded.json"
    chmod a+r "$GROUND_HOME"/*.json
    for try in 1 2 3; do # the fabric emulates in real time, on a machine that may be busy
        submit -N8 <<'END'
#!/bin/bash
cd "$HOME" && rm -f alone loaded && export UCX_NET_DEVICES=fab0
for plan in alone loaded; do
    srun --mpi=pmix --ntasks-per-node=1 nettopo-probe --plan $plan.json --bandwidth --samples $plan
done
END
        completed
        nettopo compare --bandwidth --json "$GROUND_HOME/alone" "$GROUND_HOME/loaded" >"$report" || true
        blocked=$(jq -c '[.differences[] | .a + "-" + .b]' "$report")
        [[ $blocked != '["n1-n4"]' ]] && full || break
    done
    cat "$report"
    assert_equal "phases" "$(grep '^phase ' "$GROUND_HOME/loaded" | cut -d' ' -f2 | xargs)" "warm-up plan"
    assert_equal "pairs" "$(sed -n '/^phase plan/,$p' "$GROUND_HOME/loaded" | grep '^bandwidth' | cut -d' ' -f2,3 | sort -u | xargs)" \
        "0 3 1 4 2 5 6 7"
    assert_equal "ends" "$(grep -h '^end' "$GROUND_HOME/alone" "$GROUND_HOME/loaded" | cut -d' ' -f1,2 | sort -u)" "end ok"
    figure assert_equal "blocked" "$blocked" '["n1-n4"]' # the two measurements do not take turns
    # the first measurement, with half of the rate between n1 and n4
    awk '/^phase / {plan = $2 == "plan"} plan && /^bandwidth 0 3 / {$5 *= 2} {print}' "$GROUND_HOME/alone" >"$BATS_TEST_TMPDIR/half"
    run nettopo compare --bandwidth --json "$GROUND_HOME/alone" "$BATS_TEST_TMPDIR/half"
    assert_equal "half of the rate" "$(jq -c '[.differences[] | .a + "-" + .b]' <<<"$output")" '["n1-n4"]'
    run nettopo-probe --bandwidth
    assert_equal "exit" "$status" 2
    assert_contains "$output" "expected with --plan"
}

@test "a plan that is none, or of other hosts, ends it: exit 3, one line" {
    echo '{"rounds": [[["m1", "m2"]]]}' >"$GROUND_HOME/others.json"
    echo 'n1 n2 l' >"$GROUND_HOME/none.json"
    chmod a+r "$GROUND_HOME"/*.json
    for plan in others none absent; do
        run user timeout 60 srun --quiet --mpi=pmix -N2 --ntasks-per-node=1 env UCX_NET_DEVICES=fab0 \
            nettopo-probe --budget 60 --plan $plan.json
        assert_contains "$output" "nettopo-probe: $plan.json"
        assert_equal "lines of ours" "$(grep -c nettopo-probe: <<<"$output")" 1
        assert_equal "exit" "$status" 3
    done
}

@test "stress kernels that a job chooses" {
    submit -N8 <<'END'
#!/bin/bash
cd "$HOME" && rm -f stress.json && export UCX_NET_DEVICES=fab0
srun --mpi=pmix --ntasks-per-node=1 nettopo-probe -l quick -b 8 -o stress.json \
    -S sr:8,bytes=2048,messages=64,tasks=4,compute=2000 -S complement,bytes=4096 -S hot:50,messages=40
END
    completed
    user nettopo validate "$GROUND_HOME/stress.json"
    assert_equal "kernels" "$(jq -c '[.stress[] | [.kernel, .hosts, .bytes]]' "$GROUND_HOME/stress.json")" \
        '[["sr:8,compute=2000",4,2048],["complement",8,4096],["hot:50",8,16384]]'
    # eight waves, after each of which every task computes for 2 ms
    assert_equal "it computes" "$(jq '.stress[0] | .time_us >= 16000 and .repetitions >= 1' "$GROUND_HOME/stress.json")" true
    run env COLUMNS=120 "$ROOT/build/nettopo" show "$GROUND_HOME/stress.json"
    assert_contains "$output" $'\nstress kernel            hosts     bytes '
    assert_contains "$output" $'\n       complement            8      4096 '
    run nettopo-probe -S a2a,tasks=65
    assert_equal "exit" "$status" 2
    assert_contains "$output" "expected at most 100000 messages, 67108864 bytes and 64 tasks"
    run nettopo-probe --prior rel
    assert_equal "exit" "$status" 2
    assert_contains "$output" "--prior rel: expected a path that begins with /"
    run nettopo-probe --plan p -S a2a
    assert_equal "exit" "$status" 2
    assert_contains "$output" "expected without --stress"
}

nettopo-probe() { "$ROOT/build/nettopo-probe" "$@"; }
