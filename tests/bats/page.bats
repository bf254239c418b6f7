#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2030,SC2031
# The HTML page in a real browser: no error, no request, a host is found, everything by keyboard.

load ground

setup() {
    command -v chromium >/dev/null || command -v chromium-browser >/dev/null ||
        skip "chromium is not installed"
    nettopo=${NETTOPO:-$ROOT/build/nettopo}
    cd "$BATS_TEST_TMPDIR" || return 1
    unset NETTOPO_MAP
    "$nettopo" simulate --topology tree:3x2x3 --format map >map.json
    "$nettopo" export --format html map.json >map.html
}

browser() { timeout 100 "$ROOT/tests/browser" "$@"; }

# pixels FILE WORDS...: what python makes of the picture, without a library: it must inflate, have
# the size of the window, and more than one colour
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
    ! grep -qE 'https?://|src=|href=|@import|url\(' map.html
}

@test "a browser that only prints the page agrees" {
    program=$(command -v chromium || command -v chromium-browser)
    run timeout 60 env HOME="$PWD" "$program" --headless --no-sandbox --disable-gpu --disable-quic \
        --no-first-run --disable-background-networking --disable-component-update --disable-sync \
        --user-data-dir="$PWD/profile" --dump-dom "file://$PWD/map.html#find=n3"
    assert_equal "exit" "$status" 0
    assert_contains "$output" 'data-ready="1"'
    assert_contains "$output" 'data-chosen="n3"'
    refute_contains "$output" 'data-error'
}

@test "a host is found by typing, and everything goes by keyboard" {
    run browser "map.html#find=n7" key:/ type:n12 key:Enter js:document.body.dataset.chosen \
        key:Escape key:n js:document.body.dataset.chosen key:p key:p js:document.body.dataset.chosen \
        key:d 'js:document.getElementById("solid").getAttribute("aria-pressed")' \
        key:ArrowLeft key:+ key:- key:0 key:l \
        'js:document.getElementById("labels").getAttribute("aria-pressed")' \
        key:/ type:nobody key:Enter 'js:document.getElementById("said").textContent'
    assert_equal "exit" "$status" 0
    assert_equal "found" "${lines[*]}" '"n12" "n13" "n11" "true" "false" "no nobody here"'
    run browser map.html 'js:[...document.querySelectorAll("input,select,button,canvas")].every(e => e.tabIndex >= 0)' \
        key:n 'js:document.getElementById("said").textContent' 'js:document.getElementById("said").role'
    assert_equal "exit" "$status" 0
    assert_equal "focusable" "${lines[0]}" true
    assert_contains "${lines[1]}" "host n1; to s1: 0.5 us"
    assert_equal "read out" "${lines[2]}" '"status"'
}

@test "it turns in three dimensions" {
    run browser "map.html#3d" shot:one.png key:ArrowRight key:ArrowRight key:ArrowUp shot:two.png
    assert_equal "exit" "$status" 0
    ! cmp -s one.png two.png
}

# WCAG's contrast of text on the panel and on the background, at least 4.5 to 1
CONTRAST='(() => { const css = n => getComputedStyle(document.documentElement).getPropertyValue(n).trim();
    const light = c => { const v = [1, 3, 5].map(k => parseInt(c.slice(k, k + 2), 16) / 255)
        .map(x => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
        return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]; };
    const ratio = (a, b) => { const [x, y] = [light(css(a)), light(css(b))].sort((p, q) => q - p);
        return (x + .05) / (y + .05); };
    return Math.min(ratio("--fg", "--bg"), ratio("--fg", "--panel"), ratio("--dim", "--panel"),
        ratio("--bad", "--bg"), ratio("--host", "--bg")) })()'

@test "readable in dark and in light" {
    run browser map.html dark "js:$CONTRAST" 'js:getComputedStyle(document.body).backgroundColor' \
        shot:dark.png light "js:$CONTRAST" 'js:getComputedStyle(document.body).backgroundColor' shot:light.png \
        'js:(document.getElementById("theme").click(), getComputedStyle(document.body).backgroundColor)'
    assert_equal "exit" "$status" 0
    assert_between "contrast in dark" "${lines[0]}" 4.5 21
    assert_between "contrast in light" "${lines[2]}" 4.5 21
    [ "${lines[1]}" != "${lines[3]}" ]
    assert_equal "the button turns it" "${lines[4]}" "${lines[1]}"
    ! cmp -s dark.png light.png
}

@test "beside a reference, what differs is marked" {
    jq '(.links[] | select(.a == "n3" or .b == "n3") | .latency_us) *= 3' map.json >slow.json
    "$nettopo" export --format html --reference map.json slow.json >both.html
    run browser both.html 'js:document.querySelectorAll("canvas").length' \
        'js:maps[0].links.filter(l => l.differs).map(l => maps[0].nodes[l.a].name + " " + l.differs)' shot:both.png
    assert_equal "exit" "$status" 0
    assert_equal "panes" "${lines[0]}" 2
    assert_contains "${lines[1]}" "n3 latency 1.5 us, reference 0.5 us"
    printf 'SwitchName=a Nodes=n[1-9]\nSwitchName=b Nodes=n[10-18]\nSwitchName=t Switches=a,b\n' >topology.conf
    "$nettopo" export --format html --reference topology.conf map.json >declared.html
    run browser declared.html 'js:maps[0].nodes.filter(n => n.differs).length > 0'
    assert_equal "exit" "$status" 0
    assert_equal "hosts that differ" "$output" true
}

@test "five hundred vertices are laid out and drawn in seconds" {
    "$nettopo" simulate --topology tree:7x7x10 --format map >large.json
    began=$(date +%s%N)
    "$nettopo" export --format html large.json >large.html
    took=$((($(date +%s%N) - began) / 1000000))
    echo "laid out in $took ms" >&3
    [ $took -lt 20000 ]
    run browser "large.html#find=n321" js:document.body.dataset.chosen 'js:maps[0].nodes.length'
    assert_equal "exit" "$status" 0
    assert_equal "found" "${lines[*]}" '"n321" 547'
}
