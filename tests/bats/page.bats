#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2030,SC2031
# The HTML page in a real browser: no error, no request, labels that lie on nothing, one colour for
# findings only, picture and table select each other, all by keyboard, and by axe-core's rules. The page
# of a cluster shows for a chosen day where hosts are, what is worse on it and what has changed.

load ground

has_chromium() { command -v chromium >/dev/null || command -v chromium-browser >/dev/null; }

setup_file() {
    has_chromium || return 0
    export KEPT_BROWSER=$BATS_FILE_TMPDIR/browser
    timeout 7200 "$ROOT/tests/browser" --keep "$KEPT_BROWSER" >"$KEPT_BROWSER.said" 2>&1 3>&- 4>&- </dev/null &
    echo $! >"$KEPT_BROWSER.pid"
    wait_until 1800 grep ready "$KEPT_BROWSER.said"
}

# once CALL...: what it makes in this folder, made once for all tests of the file
once() {
    local kept
    kept=$BATS_FILE_TMPDIR/$*
    [ -e "$kept" ] || { mkdir "$kept.new" && (cd "$kept.new" && "$@") && mv "$kept.new" "$kept"; } || return
    cp -r "$kept/." .
}

is_gone() { ! kill -0 "$1" 2>/dev/null; }

teardown_file() {
    local pid
    [ -n "${KEPT_BROWSER-}" ] || return 0
    pid=$(cat "$KEPT_BROWSER.pid")
    kill "$pid" || true
    wait_until 30 is_gone "$pid"
}

setup() {
    has_chromium || skip "chromium is not installed"
    nettopo=${NETTOPO:-$ROOT/build/nettopo}
    checks=$ROOT/tests/page_checks.js
    cd "$BATS_TEST_TMPDIR" || return 1
    unset NETTOPO_MAP
    once small
}

small() {
    "$nettopo" simulate --topology tree:3x2x3 --format map >map.json
    "$nettopo" export --format html map.json >map.html
}

browser() { timeout 3600 "$ROOT/tests/browser" "$@"; }

# 64 hosts behind 8 switches, 2 % of noise; with a narrow link of a host and a slow uplink
sixty_four() {
    "$nettopo" simulate --topology tree:8x8 --format map >even.json
    jq '[.links[].a] as $all | .links |= [to_entries[] | .key as $k | .value |
            .latency_us *= (1 + 0.02 * (($k * 7919 % 100) / 50 - 1)) |
            .bandwidth_MBps *= (if .a | startswith("s") then 2 else 1 end) |
            .bandwidth_back_MBps = .bandwidth_MBps]' even.json >noisy.json
    jq '(.links[] | select(.a == "n22") | .bandwidth_MBps, .bandwidth_back_MBps) /= 4 |
        (.links[] | select(.a == "s6") | .latency_us) *= 3 |
        (.links[] | select(.a == "n22" or .a == "s6") | .suspect) = true |
        .findings = [
            {kind: "link-narrow", part: {a: "n22", b: "s4"}, alternatives: [], found: 3125, expected: 12500,
             unit: "MB/s", way: "both", confidence: 0.99},
            {kind: "link-slow", part: {a: "s6", b: "s1"}, alternatives: [], found: 0.75, expected: 0.25,
             unit: "us", way: "both", confidence: 0.97}]' noisy.json >found.json
    "$nettopo" validate found.json
    "$nettopo" export --format html noisy.json >noisy.html
    "$nettopo" export --format html found.json >found.html
}

# twelve_days [FILTER]: twelve jobs of three users, a day each: n5's link is narrow on days 5 to 8 or as
# jq's FILTER changes it on day $k, n2 and n15 have changed their places on day 7.
twelve_days() {
    local filter='if $k >= 5 and $k <= 8 then .bandwidth_MBps *= 0.7 else . end'
    printf 'JobID|UID|NodeList\n' >record
    "$nettopo" simulate --topology tree:2x2x4 --noise 0.02 --bandwidth --seed 1 |
        sed '/^created /d; s/^level .*/&\njob JOB 0\ncluster c\ncreated 2026-01-DAYT00:00:00Z/' >record.samples
    for k in $(seq 12); do
        mkdir -p "jobs/$k"
        sed "s/^job JOB/job $k/; s/DAY/$(printf %02d "$k")/" record.samples >"jobs/$k/samples"
        [ "$k" -lt 7 ] || sed -i 's/^host n2$/host x/; s/^host n15$/host n2/; s/^host x$/host n15/' "jobs/$k/samples"
        "$nettopo" solve -o m.json "jobs/$k/samples"
        jq --argjson k "$k" "(.links[] | select(.a == \"n5\")) |= (${1-$filter})" m.json >"jobs/$k/map.json"
        echo "$k|$((1000 + k % 3))|n[1-16]" >>record
    done
    "$nettopo" fleet ingest -q --store s --record record jobs
    "$nettopo" fleet show --store s --format html -o days.html
}

# pixels FILE: width, height and different rows of a PNG, without a library
pixels() {
    python3 - "$1" <<'PY'
import struct, sys, zlib
data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n"
width, height = struct.unpack(">II", data[16:24])
at, raw = 8, b""
while at < len(data):
    size, kind = struct.unpack(">I4s", data[at:at + 8])
    raw += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
    at += size + 12
rows = zlib.decompress(raw)
print(width, height, len(set(rows)))
PY
}

@test "the page loads, finds the host of its address, and asks nothing of any network" {
    run browser "map.html#find=n7" js:document.body.dataset.chosen js:document.title shot:page.png
    assert_equal "exit" "$status" 0
    assert_equal "chosen" "${lines[0]}" '"n7"'
    assert_contains "${lines[1]}" "18 hosts"
    read -r width height colours < <(pixels page.png)
    assert_equal "width" "$width" 1200
    [ "$height" -gt 300 ]
    [ "$colours" -gt 16 ]
    # and nothing in the text could
    ! grep -qE 'https?://|src=|href=|@import|url\(' map.html || false
}

@test "a browser that only prints the page agrees" {
    program=$(command -v chromium || command -v chromium-browser)
    run timeout 3600 env HOME="$PWD" "$program" --headless --no-sandbox --disable-gpu --disable-quic \
        --no-first-run --disable-background-networking --disable-component-update --disable-sync \
        --user-data-dir="$PWD/profile" --dump-dom "file://$PWD/map.html#find=n3"
    assert_equal "exit" "$status" 0
    assert_contains "$output" 'data-ready="1"'
    assert_contains "$output" 'data-chosen="n3"'
    refute_contains "$output" 'data-error'
}

@test "no label lies on a line, a sign or another label: 64 hosts, every one drawn" {
    once sixty_four
    for layout in tree radial; do
        run browser "found.html#layout=$layout&all" size:1400x900 "run:$checks" 'js:overlaps()'
        assert_equal "exit" "$status" 0
        assert_equal "what lies on what, $layout" "$(jq -c .bad <<<"$output")" '[]'
        assert_between "labels" "$(jq .labels <<<"$output")" 70 300
    done
    # and where equal hosts are one, at the width of a phone
    run browser found.html size:390x800 "run:$checks" 'js:overlaps()' \
        'js:document.documentElement.scrollWidth <= innerWidth && document.querySelector(".view").scrollWidth <= innerWidth'
    assert_equal "what lies on what" "$(jq -c .bad <<<"${lines[0]}")" '[]'
    assert_equal "as wide as the window" "${lines[1]}" true
}

@test "only findings are in the strong colour, whatever the rest is coloured by" {
    once sixty_four
    run browser found.html "run:$checks" 'js:strong()' \
        'js:[...document.querySelectorAll("#by option")].map(o => o.value)' \
        'js:["latency", "bandwidth", "probability"].map(by => { state.by = by; paint(); return strong().join() })'
    assert_equal "exit" "$status" 0
    assert_equal "strong" "${lines[0]}" '["n22", "s6"]'
    assert_equal "colours" "${lines[1]}" '["findings", "latency", "bandwidth", "probability"]'
    assert_equal "strong by each" "${lines[2]}" '["n22,s6", "n22,s6", "n22,s6"]'
    # noise of some per cent is no colour, a finding's sentence is said at its host
    run browser "noisy.html#by=latency&all" "run:$checks" 'js:strong()' 'js:spread()'
    assert_equal "strong without findings" "${lines[0]}" '[]'
    assert_between "levels of 255 between hosts that are alike" "${lines[1]}" 0 20
    run browser "found.html#find=n22" 'js:document.getElementById("said").textContent'
    assert_contains "$output" "link n22 - s4 is narrow: 3120 MB/s"
}

@test "a picture fills its pane, no finding is thin, and values are rounded once" {
    local said='[...document.querySelectorAll("#panes text, #panel, #tip")].map(t => t.textContent).join("|")' share
    once sixty_four
    jq '(.links[] | select(.a | startswith("s")) | .bandwidth_at_least) = true' found.json >bound.json
    "$nettopo" export --format html bound.json >bound.html
    run browser "bound.html" size:1440x900 "run:$checks" 'js:settled()' 'js:filled()' 'js:thinnest()' 'js:edges().length' "js:$said" \
        'js:document.body.innerText.match(/findings|problems/gi)'
    assert_equal "exit" "$status" 0
    for share in $(jq '.[]' <<<"${lines[1]}"); do assert_between "share of the pane" "$share" 0.8 1; done
    assert_between "thinnest finding" "${lines[2]}" 3 12
    assert_equal "columns of values" "${lines[3]}" 2
    assert_contains "${lines[4]}" '\u226550000 MB/s'
    assert_contains "${lines[4]}" "3120 MB/s"
    refute_contains "${lines[4]}" "3125"
    refute_contains "${lines[4]}" "3130"
    assert_contains "${lines[4]}" "|n[25-32]|"
    # the choice of colours, and the tab: the table has no other heading
    assert_equal "headings" "${lines[5]}" '["findings", "Findings"]'
    # few hosts are enlarged, many have no more than the room; a finding is as thick at any zoom
    "$nettopo" export --format html map.json >small.html
    "$nettopo" simulate --topology torus:8x8x8 --format map | jq '.links[9].suspect = true' >torus.json
    "$nettopo" export --format html torus.json >torus.html
    for page in small.html torus.html; do
        run browser $page size:1440x900 "run:$checks" 'js:settled()' 'js:Math.max(...filled())' 'js:[panes[0].zoom, thinnest()]' \
            'js:(zoomBy(0.2), thinnest())'
        assert_between "share of the pane, $page" "${lines[1]}" 0.85 1
        [ $page = small.html ] || assert_between "thinnest finding at any zoom" "${lines[3]}" 2.99 12
    done
    # all unfolded, the finding is in view
    "$nettopo" simulate --topology tree:8x8x8 --format map |
        jq '(.links[] | select(.a == "n300") | .suspect) = true' >many.json
    "$nettopo" export --format html many.json >many.html
    run browser many.html size:1440x900 'js:(document.getElementById("all").click(), 0)' \
        'js:(b => b.top > 0 && b.bottom < innerHeight)(document.querySelector("[data-key=n300] .mark").getBoundingClientRect())'
    assert_equal "in view" "${lines[1]}" true
}

@test "on a phone the findings are first, no control is cut, and the page alone scrolls" {
    once sixty_four
    run browser found.html size:390x800 "run:$checks" 'js:settled().then(onPhone)' \
        'js:[...document.querySelectorAll("#panes text.small")].some(t => /MB/.test(t.textContent))'
    assert_equal "exit" "$status" 0
    assert_equal "phone" "$(jq -c 'del(.least)' <<<"${lines[0]}")" '{"rows":2,"findingsFirst":true,"bars":0,"seen":true}'
    assert_between "least height" "$(jq .least <<<"${lines[0]}")" 44 60
    assert_equal "values" "${lines[1]}" true
    # without findings the picture is first
    run browser noisy.html size:390x800 "run:$checks" 'js:settled().then(() => onPhone().findingsFirst)'
    assert_equal "findings first" "$output" false
}

@test "no label is outside the picture, and the whole picture is in its pane" {
    "$nettopo" simulate --topology dragonfly:6x4x4 --format map | "$nettopo" export --format html - >switches.html
    "$nettopo" simulate --topology torus:4x4 --format map | "$nettopo" export --format html - >torus.html
    "$nettopo" simulate --topology "tree:5x25x$(if full; then echo 40; else echo 8; fi)" --format map |
        jq '(.links[] | select(.a == "n108" or .a == "n537" or .a == "n1069" or .a == "n3031" or .a == "s30") | .suspect) = true' |
        "$nettopo" export --format html - >large.html
    outside='js:(v => [...document.querySelectorAll("#panes text, #panes .mark")].map(t => t.getBoundingClientRect())
        .filter(b => b.left < v.left || b.right > v.right + 1 || b.top < v.top || b.bottom > v.top + v.height + 1).length)(
            document.querySelector(".view").getBoundingClientRect())'
    for page in switches.html torus.html "torus.html#layout=circle" "large.html#layout=radial"; do
        run browser "$page" size:1400x900 "run:$checks" 'js:settled()' "$outside"
        assert_equal "outside, $page" "${lines[1]}" 0
    done
    # a mesh has no links around an edge
    "$nettopo" simulate --topology mesh:4x4 --format map | "$nettopo" export --format html - >mesh.html
    for page in torus.html mesh.html; do
        run browser $page 'js:/around an edge/.test(document.getElementById("legend").textContent)'
        assert_equal "around an edge, $page" "$output" "$([ $page = torus.html ] && echo true || echo false)"
    done
    # on a phone nothing is behind the right edge, and the names of switches and the latencies are readable
    for page in switches.html torus.html large.html; do
        run browser "$page" size:390x800 "run:$checks" 'js:settled()' 'js:panes[0].view.scrollWidth <= panes[0].view.clientWidth' \
            'js:[...document.querySelectorAll("#panes text")].filter(t => t.getBoundingClientRect().right > innerWidth || /^s\d*\u2026/.test(t.textContent)).length'
        assert_equal "as wide as the window, cut, $page" "${lines[1]} ${lines[2]}" "true 0"
    done
    words='js:["n537", "s30"].map(key => document.querySelector(`#panes [data-key=${key}]`).textContent)'
    run browser large.html size:390x800 "run:$checks" 'js:settled()' "$words"
    assert_equal "latencies" "$(jq -c 'map(test("[0-9] us"))' <<<"${lines[1]}")" '[true,true]'
    # on a wide screen as well; switches have the columns of hosts
    run browser large.html size:1400x900 "run:$checks" 'js:settled()' "$words" 'js:edges().length' 'js:overlaps().bad'
    assert_equal "latencies" "$(jq -c 'map(test("[0-9] us"))' <<<"${lines[1]}")" '[true,true]'
    assert_equal "columns, overlaps" "${lines[2]} ${lines[3]}" "2 []"
}

@test "on a phone almost every host of a torus has its name, and most routers of a dragonfly" {
    for spec in torus:4x4x4 dragonfly:5x4x2; do
        "$nettopo" simulate -t $spec -f map -o net.json
        "$nettopo" export --format html -o net.html net.json
        run browser net.html size:390x800 'js:document.querySelectorAll("#panes text.halo").length'
        [ "$status" = 0 ]
        case $spec in
        torus*) assert_between "names of 64" "${lines[0]}" 60 64 ;;
        *) assert_between "names of 20" "${lines[0]}" 19 20 ;;
        esac
    done
}

@test "what the map is not sure of is pale and says so; what is suspect without a finding is listed" {
    "$nettopo" export --format html "$ROOT/tests/data/maps/unsure.json" >unsure.html
    run browser unsure.html 'js:[...document.querySelectorAll("#panes .switch")].map(g => [g.dataset.key,
        getComputedStyle(g.querySelector(".mark")).opacity, g.querySelector("text").textContent])'
    assert_equal "exit" "$status" 0
    assert_equal "switches" "$output" \
        '[["s2", "1", "s2"], ["s1", "0.66", "s1 87 %"], ["s3", "1", "s3"], ["s4", "0.45", "s4 62 %"]]'
    "$nettopo" export --format html "$ROOT/tests/data/maps/star.json" >star.html
    run browser star.html "run:$checks" 'js:document.querySelector("#panel tbody").textContent' 'js:strong()'
    assert_equal "listed" "${lines[0]} ${lines[1]}" '"link n4 - s1 is worse than comparable links" ["n4"]'
}

@test "a link that was seen in one direction only has an arrow, in a tree and in a net" {
    local rows='document.querySelectorAll("g.item .way").length'
    jq '.links[0].simplex = true' map.json >oneway.json
    "$nettopo" export --format html oneway.json >oneway.html
    run browser oneway.html "js:$rows"
    assert_equal "arrows in the tree" "$output" 1
    run browser 'oneway.html#layout=circle' "js:$rows"
    assert_equal "arrows on the circle" "$output" 1
    run browser map.html "js:$rows"
    assert_equal "arrows without one" "$output" 0
}

@test "the load of the hint's pattern is a colour" {
    jq '.placement = {pattern: "ring", node_order: [.nodes[].name], cost: 1, cost_default: 1, gain: 1}' \
        map.json >hinted.json
    "$nettopo" export --format html hinted.json >hinted.html
    run browser hinted.html 'js:[...document.querySelectorAll("#by option")].map(o => o.textContent)' \
        'js:[Math.max(...maps[0].links.map(l => num(l.load))), maps[0].loadUnit]'
    assert_equal "exit" "$status" 0
    assert_contains "${lines[0]}" '"load of ring"'
    # 64 KiB each way of every pair, over 12,500 MB/s: the ring passes each host's link twice
    assert_equal "busiest" "${lines[1]}" '[10.5, "us"]'
}

@test "table and picture select each other" {
    once sixty_four
    run browser "found.html#tab=hosts" \
        'js:(document.querySelector("#panel tr[data-key=n30]").click(), document.querySelector(".picked[role]").dataset.key)' \
        'js:document.querySelector("[data-key=n30]").getAttribute("aria-selected")' \
        'js:(document.querySelector("#panes [data-key=s6] .hit").dispatchEvent(new MouseEvent("click", {bubbles: true})), state.select)' \
        'js:(document.getElementById("tab-links").click(), document.querySelector("tr.picked").textContent)' \
        'js:(document.getElementById("tab-findings").click(), document.querySelectorAll("#panel tbody tr")[0].click(), document.querySelector(".picked[role]").dataset.key)' \
        'js:document.querySelector("tr.picked button").getAttribute("aria-current")'
    assert_equal "exit" "$status" 0
    assert_equal "the picture follows, the host unfolded" "${lines[0]} ${lines[1]}" '"n30" "true"'
    assert_equal "the picture selects" "${lines[2]}" '"s6"'
    assert_contains "${lines[3]}" "s6 - s1"
    assert_equal "a finding's place" "${lines[4]} ${lines[5]}" '"n22" "true"'
    # a column's head sorts, and once more the other way
    sort='(k => (document.querySelectorAll("th button")[k].click(),
        [document.querySelectorAll("th")[k].ariaSort, document.querySelector("tbody tr").dataset.key]))'
    run browser "found.html#tab=links" "js:$sort(3)" "js:$sort(1)" "js:$sort(1)"
    assert_equal "sorted" "${lines[*]}" '["ascending", "n22"] ["ascending", "s7"] ["descending", "s6"]'
}

@test "the address keeps the state, and brings it back" {
    once sixty_four
    run browser found.html 'js:(select("n30"), document.getElementById("by").value = "latency",
        document.getElementById("by").onchange(), document.getElementById("layout").value = "radial",
        document.getElementById("layout").onchange(), showTab("links"), document.getElementById("theme").click(), location.hash)'
    assert_equal "exit" "$status" 0
    hash=$(jq -r . <<<"$output")
    for word in find=n30 by=latency layout=radial tab=links theme=dark turned=s5%2Fhosts; do
        assert_contains "$hash" "$word"
    done
    run browser "found.html$hash" 'js:[state.select, state.by, state.layout, state.tab, state.theme, location.hash]' \
        'js:!!document.querySelector("#panes .picked[data-key=n30]")' \
        'js:document.documentElement.hasAttribute("data-dark")'
    assert_equal "state" "${lines[0]}" "[\"n30\", \"latency\", \"radial\", \"links\", \"dark\", \"$hash\"]"
    assert_equal "drawn so" "${lines[1]} ${lines[2]}" 'true true'
}

@test "everything goes by keyboard" {
    run browser "map.html#find=n7" key:/ type:n12 key:Enter js:document.body.dataset.chosen \
        key:Escape key:Escape js:document.body.dataset.chosen key:/ type:nobody key:Enter \
        'js:document.getElementById("said").textContent'
    assert_equal "exit" "$status" 0
    assert_equal "found" "${lines[*]}" '"n12" "" "no nobody here"'
    # into the picture, down its rows, the sentence of what has the focus; folding and unfolding
    run browser map.html 'js:(panes[0].svg.querySelector("[tabindex=\"0\"]").focus(), document.activeElement.dataset.key)' \
        key:ArrowDown key:ArrowDown key:ArrowDown js:document.activeElement.dataset.key \
        'js:!document.getElementById("tip").hidden && document.getElementById("tip").textContent' \
        key:ArrowLeft js:document.activeElement.dataset.key key:Enter \
        'js:[document.activeElement.dataset.key, document.activeElement.getAttribute("aria-expanded"), document.querySelectorAll("#panes .host").length]' \
        key:ArrowRight 'js:[document.activeElement.getAttribute("aria-expanded"), document.querySelectorAll("#panes .host").length]'
    assert_equal "exit" "$status" 0
    assert_equal "from the top to the first host" "${lines[0]} ${lines[1]}" '"s1" "n1"'
    assert_contains "${lines[2]}" "link to s3: latency 0.500 us"
    assert_equal "its switch" "${lines[3]}" '"s3"'
    assert_equal "folded" "${lines[4]}" '["s3", "false", 15]'
    assert_equal "unfolded" "${lines[5]}" '["true", 18]'
    # one stop for the picture, one for the table, and nothing out of reach
    run browser map.html 'js:[panes[0].svg.querySelectorAll("[tabindex=\"0\"]").length, document.querySelectorAll("tbody [tabindex=\"0\"]").length, document.querySelectorAll("input,select,header button").length]' \
        'js:(document.querySelector("tbody button").focus(), 0)' key:ArrowDown key:Enter js:state.select
    assert_equal "stops" "${lines[0]}" '[1, 1, 8]'
    assert_equal "by the table" "${lines[2]}" '"n2"'
}

@test "axe-core finds no violation" {
    command -v npm >/dev/null || skip "npm is not installed: no axe-core"
    axe=$ROOT/build/axe/node_modules/axe-core/axe.min.js
    [ -e "$axe" ] || timeout 300 npm install --silent --fetch-retries 0 --no-audit --no-fund --ignore-scripts --no-save \
        --prefix "$ROOT/build/axe" axe-core@4.10.3 >npm.log 2>&1 ||
        skip "npm gives no axe-core: $(tail -n 1 npm.log)"
    once sixty_four
    once twelve_days
    "$nettopo" simulate --topology torus:4x4 --format map >torus.json
    "$nettopo" export --format html torus.json >torus.html
    "$nettopo" export --format html --reference even.json found.json >both.html
    code='js:axe.run().then(r => r.violations.map(v => v.id + ": " + v.nodes[0].html))'
    for page in "found.html#theme=dark&tab=links&by=latency" "days.html#tab=changes&day=2026-01-06" \
        $(if full; then echo "found.html#find=n22" days.html "torus.html#find=n3" both.html; fi); do
        run browser "$page" "run:$axe" "$code"
        assert_equal "exit" "$status" 0
        assert_equal "violations of $page" "$output" '[]'
    done
}

@test "it turns in three dimensions, and a network that is no tree has its own layouts" {
    "$nettopo" simulate --topology torus:4x4 --format map >torus.json
    "$nettopo" export --format html torus.json >torus.html
    run browser "torus.html#layout=stress-3d" 'js:[...document.getElementById("layout").options].map(o => o.value)' \
        shot:one.png key:. key:. shot:two.png
    assert_equal "exit" "$status" 0
    assert_equal "layouts" "$output" '["grid", "stress-3d", "circle"]'
    # no label lies on another, on a sign or on a line: of 64 hosts, and unfolded behind switches
    "$nettopo" simulate --topology torus:8x8 --format map | "$nettopo" export --format html - >large.html
    "$nettopo" simulate --topology dragonfly:4x4x4 --format map | "$nettopo" export --format html - >switches.html
    while read -r page most; do
        run browser "$page" "run:$checks" 'js:overlaps().bad.filter(b => !b.endsWith("on a line"))' \
            'js:overlaps().bad.filter(b => b.endsWith("on a line")).length' 'js:overlaps().labels'
        assert_equal "exit" "$status" 0
        assert_equal "what lies on what, $page" "${lines[0]}" '[]'
        assert_between "labels on lines, $page" "${lines[1]}" 0 "$most"
        assert_between "labels, $page" "${lines[2]}" 16 80
    done <<<"large.html 0
large.html#layout=circle 0
switches.html 0
switches.html#all 0"
    ! cmp -s one.png two.png || false
}

# WCAG's contrast of text on the panel and on the background, at least 4.5 to 1; of lines 3 to 1
CONTRAST='(() => { const css = n => getComputedStyle(document.documentElement).getPropertyValue(n).trim();
    const light = c => { const v = [1, 3, 5].map(k => parseInt(c.slice(k, k + 2), 16) / 255)
        .map(x => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
        return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]; };
    const ratio = (a, b) => { const [x, y] = [light(css(a)), light(css(b))].sort((p, q) => q - p);
        return (x + .05) / (y + .05); };
    return Math.min(ratio("--fg", "--bg"), ratio("--fg", "--panel"), ratio("--dim", "--panel"),
        ratio("--strong", "--bg"), ratio("--strong", "--panel"), ratio("--strong", "--pick"), ratio("--dim", "--pick"), ratio("--host", "--bg"), 1.5 * ratio("--link", "--bg")) })()'

@test "readable in dark and in light" {
    run browser map.html dark 'wait:document.documentElement.hasAttribute("data-dark")' "js:$CONTRAST" 'js:getComputedStyle(document.body).backgroundColor' \
        shot:dark.png light 'wait:!document.documentElement.hasAttribute("data-dark")' "js:$CONTRAST" 'js:getComputedStyle(document.body).backgroundColor' shot:light.png \
        'js:(document.getElementById("theme").click(), getComputedStyle(document.body).backgroundColor)'
    assert_equal "exit" "$status" 0
    assert_between "contrast in dark" "${lines[0]}" 4.5 21
    assert_between "contrast in light" "${lines[2]}" 4.5 21
    [ "${lines[1]}" != "${lines[3]}" ]
    assert_equal "the button turns it" "${lines[4]}" "${lines[1]}"
    ! cmp -s dark.png light.png || false
}

@test "it is printed without what one presses, whole, on white" {
    once sixty_four
    run browser "found.html#theme=dark&all&tab=links" print 'wait:!document.documentElement.hasAttribute("data-dark")' \
        'js:["#controls", "#tabs", ".help"].map(q => getComputedStyle(document.querySelector(q)).display)' \
        'js:[".view", "#panel"].every(q => document.querySelector(q).scrollHeight <= document.querySelector(q).clientHeight)' \
        'js:getComputedStyle(document.body).backgroundColor' shot:print.png
    assert_equal "exit" "$status" 0
    assert_equal "hidden" "${lines[0]}" '["none", "none", "none"]'
    assert_equal "whole" "${lines[1]}" true
    assert_equal "ground" "${lines[2]}" '"rgb(251, 251, 249)"'
}

@test "beside a reference, only what differs is strong: two of eight hosts a switch have moved" {
    "$nettopo" simulate --topology tree:8x8 --format map >was.json
    # n1 and n2 of s1 stand at s3 now, and so on around; n30 is slow
    jq '([.nodes[].switch] | unique_by(ltrimstr("s") | tonumber)) as $s |
        ([range(0; 8) as $k | {key: "n\(8 * $k + 1)", value: $s[($k + 1) % 8]},
                              {key: "n\(8 * $k + 2)", value: $s[($k + 1) % 8]}] | from_entries) as $to |
        .links |= map(if $to[.a] then .b = $to[.a] else . end | if .a == "n30" then .latency_us *= 2 else . end) |
        .nodes |= map(if $to[.name] then .switch = $to[.name] else . end)' was.json >is.json
    "$nettopo" validate is.json
    "$nettopo" export --format html --reference was.json is.json >both.html
    run browser both.html "run:$checks" 'js:document.querySelectorAll("figure").length' 'js:strong()' \
        'js:document.querySelectorAll("#panel tbody tr").length' \
        'js:(select("n9"), document.querySelectorAll("#panes .picked[data-key=n9]").length)'
    assert_equal "exit" "$status" 0
    assert_equal "pictures" "${lines[0]}" 2
    assert_equal "strong" "${lines[1]}" \
        "$(jq -nc '[range(0; 8) | "n\(8 * . + 1)", "n\(8 * . + 2)"] + ["n30"] | sort' | sed 's/,/, /g')"
    assert_equal "differences" "${lines[2]}" 17
    assert_equal "selected in both" "${lines[3]}" 2
    # the table has the sentences of compare
    "$nettopo" compare is.json was.json >said || true
    run browser both.html 'js:here.differences.map(d => d.text)'
    while read -r line; do grep -qF -- "$line" said; done < <(jq -r '.[]' <<<"$output")
    # a declared topology is a reference as well
    printf 'SwitchName=a Nodes=n[1-9]\nSwitchName=b Nodes=n[10-18]\nSwitchName=t Switches=a,b\n' >topology.conf
    "$nettopo" export --format html --reference topology.conf map.json >declared.html
    run browser declared.html 'js:here.differences.length > 0'
    assert_equal "differs" "$output" true
}

@test "five thousand hosts: what was found is seen, the rest is folded, and any host is found" {
    "$nettopo" simulate --topology tree:10x20x25 --format map >large.json
    jq '(.links[] | select(.a == "n1667")) |= (.suspect = true | .latency_us *= 3)' large.json >found.json
    "$nettopo" export --format html found.json >large.html
    run browser "large.html#find=n4321" "run:$checks" js:document.body.dataset.chosen 'js:maps[0].nodes.length' \
        'js:strong()' 'js:panes[0].items.length' 'js:(document.getElementById("all").click(), panes[0].items.length)'
    assert_equal "exit" "$status" 0
    assert_equal "found" "${lines[0]} ${lines[1]}" '"n4321" 5211'
    assert_equal "strong" "${lines[2]}" '["n1667"]'
    assert_between "rows" "${lines[3]}" 20 120
    assert_equal "all" "${lines[4]}" 5211
}

# bats test_tags=full
@test "a thousand hosts that do not fold: an element a host and a link, but for what was found" {
    "$nettopo" simulate --topology torus:33x32 --format map | jq '.links[7] |= (.suspect = true | .latency_us *= 3)' |
        "$nettopo" export --format html - >torus.html
    run browser "torus.html#by=latency" "run:$checks" \
        'js:panes[0].svg.querySelectorAll("*").length - here.nodes.length - here.links.length < 20' \
        'js:strong().includes(here.links[7].key)' \
        'js:(select(here.links[99].key), [...document.querySelectorAll("#panes .picked")].map(g => g.dataset.key).join() == here.links[99].key)' \
        'js:(select("n99"), [...document.querySelectorAll("#panes .picked")].map(g => g.dataset.key + g.getAttribute("aria-selected")))' \
        'js:(look => { const by = look(); state.by = "findings"; paint(); return by != look(); })(() => getComputedStyle(document.querySelector("#panes .plain > .link:not(.picked)")).stroke)'
    assert_equal "exit" "$status" 0
    assert_equal "elements, strong, selected" "${lines[*]}" 'true true true ["n99true"] true'
}

# what stands in the picture and its tables on a day that is chosen
SAYS='js:[state.day, here.byName.get("n2").parent === here.byName.get("n1").parent,
    here.findings.map(f => f.text.split(":")[0]), tables.changes.rows().length,
    document.getElementById("date").textContent]'

@test "the slider goes from the first job's day to the last one's, and asks nothing of any network" {
    once twelve_days
    run browser days.html js:document.title 'js:[here.history.first, here.history.last, +$("day").max,
        +$("day").value, $("time").hidden]' 'js:document.body.dataset.error ?? ""' size:1200x800
    assert_equal "exit" "$status" 0
    assert_contains "${lines[0]}" "16 hosts"
    assert_equal "days" "${lines[1]}" '["2026-01-01", "2026-01-12", 11, 11, false]'
    assert_equal "error" "${lines[2]}" '""'
    ! grep -qE 'https?://|src=|href=|@import|url\(' days.html || false
}

@test "on a day hosts stand where they stood, and what was worse then is a finding" {
    once twelve_days
    "$nettopo" fleet since --store s
    "$nettopo" fleet show --store s --plain | head -8
    run browser days.html "$SAYS" \
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

@test "the latency in the picture is that of the finding on that day, and of text and JSON on the last" {
    twelve_days 'if $k >= 5 then .latency_us *= 3 else . end'
    "$nettopo" fleet show --store s --json -o slow.json
    now=$("$nettopo" fleet show --store s --plain | grep -oE 'n5 +[0-9.]+ +SUSPECT' | grep -oE ' [0-9.]+' | tr -d ' ')
    us='js:[+here.byName.get("n5").up.us, here.findings.length, +look.latency.high,
        document.querySelector("#panes [data-key=n5]").textContent, getComputedStyle($("day")).padding, nodeWords(here, here.byName.get("n5")).join()]'
    run browser "days.html#find=n5" "$us" 'js:($("day").value = 2, $("day").dispatchEvent(new Event("input")), 0)' "$us"
    assert_equal "exit" "$status" 0
    assert_equal "as in the text" "$(jq '.[0]' <<<"${lines[0]}")" "$now"
    assert_equal "one finding" "$(jq '.[1]' <<<"${lines[0]}")" 1
    jq -e --slurpfile map slow.json '.[0] - ($map[0].links[] | select(.a == "n5").latency_us) | fabs < 0.01' <<<"${lines[0]}"
    jq -e '.[2] >= .[0]' <<<"${lines[0]}"
    assert_contains "$(jq -r '.[3]' <<<"${lines[0]}")" "$now us"
    assert_equal "the slider reaches its end" "$(jq -r '.[4]' <<<"${lines[0]}")" 0px
    assert_contains "$(jq -r '.[5]' <<<"${lines[0]}")" "latency $now us"
    jq -e --argjson now "$now" '.[0] < $now / 2 and .[1] == 0' <<<"${lines[2]}"
}

@test "the list says what changed when, and selects the part; the address keeps the day" {
    once twelve_days
    run browser "days.html#tab=changes&day=2026-01-08&find=n15" \
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
