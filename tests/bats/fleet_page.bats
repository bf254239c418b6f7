#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2030,SC2031
# The page of a cluster in a real browser: the day that is chosen says where hosts stand, what is
# worse then and what had changed; its list, its search and its address work as the map's do.

load ground

setup() {
    command -v chromium >/dev/null || command -v chromium-browser >/dev/null ||
        skip "chromium is not installed"
    nettopo=${NETTOPO:-$ROOT/build/nettopo}
    cd "$BATS_TEST_TMPDIR" || return 1
    unset NETTOPO_MAP
}

browser() { timeout 3600 "$ROOT/tests/browser" "$@"; }

# Twelve jobs of three users, a day each: n5's link is narrow on days 5 to 8, n2 and n15 have changed
# their places on day 7.
twelve_days() {
    printf 'JobID|UID|NodeList\n' >record
    "$nettopo" simulate --topology tree:2x2x4 --noise 0.02 --bandwidth --seed 1 |
        sed '/^created /d; s/^level .*/&\njob JOB 0\ncluster c\ncreated 2026-01-DAYT00:00:00Z/' >record.samples
    for k in $(seq 12); do
        mkdir -p "jobs/$k"
        sed "s/^job JOB/job $k/; s/DAY/$(printf %02d "$k")/" record.samples >"jobs/$k/samples"
        [ "$k" -lt 7 ] || sed -i 's/^host n2$/host x/; s/^host n15$/host n2/; s/^host x$/host n15/' "jobs/$k/samples"
        "$nettopo" solve -o m.json "jobs/$k/samples"
        jq --argjson k "$k" '.links[] |= if .a == "n5" and $k >= 5 and $k <= 8 then .bandwidth_MBps *= 0.7 else . end' \
            m.json >"jobs/$k/map.json"
        echo "$k|$((1000 + k % 3))|n[1-16]" >>record
    done
    "$nettopo" fleet ingest -q --store s --record record jobs
    "$nettopo" fleet show --store s --format html -o page.html
}

# what stands in the picture and its tables on a day
SAYS='js:[state.day, here.byName.get("n2").parent === here.byName.get("n1").parent,
    here.findings.map(f => f.text.split(":")[0]), tables.changes.rows().length,
    document.getElementById("date").textContent]'

@test "the slider goes from the first job's day to the last one's, and asks nothing of any network" {
    twelve_days
    run browser page.html js:document.title 'js:[here.history.first, here.history.last, +$("day").max,
        +$("day").value, $("time").hidden]' 'js:document.body.dataset.error ?? ""' size:1200x800 shot:page.png
    assert_equal "exit" "$status" 0
    assert_contains "${lines[0]}" "16 hosts"
    assert_equal "days" "${lines[1]}" '["2026-01-01", "2026-01-12", 11, 11, false]'
    assert_equal "error" "${lines[2]}" '""'
    ! grep -qE 'https?://|src=|href=|@import|url\(' page.html
}

@test "on a day hosts stand where they stood, and what was worse then is a finding" {
    twelve_days
    "$nettopo" fleet since --store s
    "$nettopo" fleet show --store s --plain | head -8
    run browser page.html "$SAYS" \
        'js:($("day").value = 5, $("day").dispatchEvent(new Event("input")), 0)' "$SAYS" \
        'js:($("day").value = 3, $("day").dispatchEvent(new Event("input")), 0)' "$SAYS"
    assert_equal "exit" "$status" 0
    # the last day: n2 is elsewhere, n5 is well again
    assert_equal "last" "${lines[0]}" '["2026-01-12", false, [], 4, "2026-01-12"]'
    # the sixth: nobody has moved, n5's link is narrow
    assert_contains "${lines[2]}" '["2026-01-06", true, ["n5 '
    assert_contains "${lines[2]}" '"], 1, "2026-01-06"]'
    assert_equal "fourth" "${lines[4]}" '["2026-01-04", true, [], 0, "2026-01-04"]'
}

@test "the list says what changed when, and selects the part; the address keeps the day" {
    twelve_days
    run browser "page.html#tab=changes&day=2026-01-08&find=n15" \
        'js:[...document.querySelectorAll("#panel tbody tr")].map(r => [r.cells[0].textContent, r.cells[1].textContent.split(",")[0]])' \
        'js:[state.day, document.body.dataset.chosen]' \
        'js:(document.querySelector("#panel tbody tr:last-child button").click(), document.body.dataset.chosen)' \
        js:location.hash
    assert_equal "exit" "$status" 0
    assert_contains "${lines[0]}" '"2026-01-07", "n2 moved"'
    assert_contains "${lines[0]}" '"2026-01-05", "n5 '
    assert_equal "day and host" "${lines[1]}" '["2026-01-08", "n15"]'
    assert_equal "chosen" "${lines[2]}" '"n5"'
    assert_contains "${lines[3]}" 'day=2026-01-08'
}

@test "axe-core finds no violation" {
    command -v npm >/dev/null || skip "npm is not installed: no axe-core"
    axe=$ROOT/build/axe/node_modules/axe-core/axe.min.js
    [ -e "$axe" ] || timeout 300 npm install --silent --no-audit --no-fund --ignore-scripts --no-save \
        --prefix "$ROOT/build/axe" axe-core@4.10.3 >npm.log 2>&1 ||
        skip "npm gives no axe-core: $(tail -n 1 npm.log)"
    twelve_days
    for page in page.html "page.html#tab=changes&day=2026-01-06"; do
        run browser "$page" "run:$axe" 'js:axe.run().then(r => r.violations.map(v => v.id + ": " + v.nodes[0].html))'
        assert_equal "exit" "$status" 0
        assert_equal "violations" "$output" '[]'
    done
}
