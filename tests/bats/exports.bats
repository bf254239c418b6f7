#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2086,SC2030,SC2031,SC2016
# What export writes is read by programs that are not ours; what compare reads is said to be wrong
# with file and line; both answer with the documented exit codes.

load ground

setup() {
    nettopo=${NETTOPO:-$ROOT/build/nettopo}
    cd "$BATS_TEST_TMPDIR" || return 1
    unset NETTOPO_MAP
    sweep 3 >map.json
}

# sweep SEED [TOPOLOGY]: the map of one noisy sweep of 18 hosts behind three groups of two leaves
sweep() {
    "$nettopo" simulate --topology "${2-tree:3x2x3}" --bandwidth --noise 0.01 --seed "$1" |
        "$nettopo" solve - -o -
}

need() { command -v "$1" >/dev/null || skip "$1 is not installed"; }
need_python() { python3 -c "import $1" 2>/dev/null || skip "python3 has no $1"; }

# refuses CODE WORDS CMD...: nothing on standard output, one line on standard error
refuses() {
    local code=$1 words=$2 rc=0
    shift 2
    "$@" >out 2>err || rc=$?
    assert_equal "exit of $*" "$rc" "$code" || { cat err; return 1; }
    assert_equal "output" "$(wc -c <out)" 0 && assert_equal "lines" "$(wc -l <err)" 1 &&
        assert_contains "$(cat err)" "$words"
}

# "host other" a link, in both ways, sorted
links() { jq -r '.links[] | "\(.a) \(.b)", "\(.b) \(.a)"' map.json | sort; }

@test "graphviz reads the DOT" {
    need dot
    "$nettopo" export --format dot map.json >map.dot
    dot -Tcanon map.dot >canon.dot
    found=$(dot -Tplain map.dot | awk '$1 == "edge" {print $2, $3; print $3, $2}' | sort)
    assert_equal "links" "$found" "$(links)"
    # our own reader makes the same network of it
    "$nettopo" compare map.json map.dot
    "$nettopo" compare map.json canon.dot
}

# drawn NAME: NAME.svg as a page that tests/browser takes
drawn() { { echo '<!doctype html><body data-ready=1>' && cat "$1.svg"; } >"$1.html"; }

@test "the SVG names every host and switch, and no label lies on anything: 8 and 64 hosts" {
    command -v chromium >/dev/null || command -v chromium-browser >/dev/null || skip "chromium is not installed"
    sweep 2 tree:8x8 >large.json
    sweep 2 tree:2x4 >small.json
    for name in small large; do
        "$nettopo" export --format svg $name.json >$name.svg
        python3 - $name.svg $name.json <<'PY'
import json, sys, xml.etree.ElementTree as xml
root = xml.parse(sys.argv[1]).getroot()
words = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
map = json.load(open(sys.argv[2]))
for part in map["nodes"] + map["switches"]:
    assert words.count(part["name"]) == 1, part
assert any("latency" in w for w in words), "no legend"
PY
        drawn $name
        run "$ROOT/tests/browser" $name.html size:1000x900 "run:$ROOT/tests/page_checks.js" 'js:overlaps()'
        assert_equal "exit" "$status" 0
        assert_equal "what lies on what" "$(jq -c .bad <<<"$output")" '[]'
    done
    # a torus is a grid, and the labels are between its lines
    "$nettopo" simulate --topology torus:4x4x4 --format map | "$nettopo" export --format svg - >torus.svg
    drawn torus
    run "$ROOT/tests/browser" torus.html size:1000x900 "run:$ROOT/tests/page_checks.js" 'js:overlaps()'
    assert_equal "exit" "$status" 0
    assert_equal "what lies on what" "$(jq -c .bad <<<"$output")" '[]'
    assert_contains "$(cat torus.svg)" "torus 4x4x4"
}

@test "what the map is not sure of is pale and says so" {
    "$nettopo" export --format svg "$ROOT/tests/data/maps/unsure.json" >unsure.svg
    python3 - unsure.svg <<'PY'
import sys, xml.etree.ElementTree as xml
svg = "{http://www.w3.org/2000/svg}"
support = {"s1": "support 87 %", "s2": None, "s3": "support 96 %", "s4": "support 62 %"}
ink = {}
for group in xml.parse(sys.argv[1]).getroot().iter(svg + "g"):
    if group.get("class") not in ("host", "switch"):
        continue
    name, _, said = group.find(svg + "title").text.split(" ", 1)[1].partition(", ")
    assert (said or None) == support.get(name), (name, said)
    ink[name] = float(group.get("opacity", 1))
assert 1 == ink["s2"] == ink["n1"] == ink["s3"] > ink["s1"] > ink["s4"] > .4, ink
PY
}

@test "networkx reads the GraphML, with typed figures" {
    need_python networkx
    "$nettopo" export --format graphml map.json >map.graphml
    python3 - map.graphml map.json <<'PY'
import json, sys
import networkx
graph, map = networkx.read_graphml(sys.argv[1]), json.load(open(sys.argv[2]))
names = {v: d["name"] for v, d in graph.nodes(data=True)} \
    if "name" in next(iter(graph.nodes(data=True)))[1] else {v: v for v in graph}
assert sorted(names.values()) == sorted([n["name"] for n in map["nodes"]] + [s["name"] for s in map["switches"]])
found = {frozenset((names[a], names[b])): d for a, b, d in graph.edges(data=True)}
for link in map["links"]:
    d = found.pop(frozenset((link["a"], link["b"])))
    for key in "latency_us", "bandwidth_MBps":
        if key in link:
            assert isinstance(d[key], float), (key, d)
            assert abs(d[key] - link[key]) <= 1e-5 * link[key], (link, d)
assert not found
PY
}

@test "links below a probability are left out of pictures, and one-way links have an arrow" {
    printf ',a,b,c,d\na,,1,1,1\nb,9,,1,1\nc,1,1,,1\nd,1,1,1,\n' >short.csv
    printf ',a,b,c,d\na,,2,2,2\nb,18,,2,2\nc,2,2,,9\nd,2,2,9,\n' >long.csv # c to d is nearer over a
    "$nettopo" solve --method parus --latency short.csv --latency long.csv -o parus.json
    for format in dot svg html; do
        "$nettopo" export --format $format parus.json >all.$format
        "$nettopo" export --format $format --probability 0.7 parus.json >sure.$format
        "$nettopo" export --format $format --probability 0.5 parus.json | cmp - all.$format
    done
    [ "$(grep -c ' -- ' all.dot)" = 6 ]
    [ "$(grep -c ' -- ' sure.dot)" = 5 ]
    [ "$(grep -c 'class="link"' all.svg)" = 6 ]
    [ "$(grep -c 'class="link"' sure.svg)" = 5 ]
    [ "$(grep -c '"simplex":true' sure.html)" = 1 ]
    [ "$(grep -c 'class="way"' sure.svg)" = 1 ]
    grep -q '<title>a to b: 1.00 us</title>' sure.svg
    refuses 2 "--probability requires --format dot, svg or html, found csv" \
        "$nettopo" export --format csv --probability 0.3 parus.json
    refuses 2 "--probability 2: expected a number from 0 to 1" \
        "$nettopo" export --format dot --probability 2 parus.json
}

@test "TGF is as published" {
    "$nettopo" export --format tgf map.json >map.tgf
    "$nettopo" compare map.json map.tgf | grep '^no differences$'
    python3 - map.tgf map.json <<'PY'
import json, re, sys
lines, map = open(sys.argv[1]).read().splitlines(), json.load(open(sys.argv[2]))
cut = lines.index("#")
name = dict(line.split(" ", 1) for line in lines[:cut])
arcs = {}
for line in lines[cut + 1:]:
    a, b, us, MBps = re.fullmatch(r"(\d+) (\d+)(?: l: (\S+))?(?: t: (\S+))?", line).groups()
    assert (name[a], name[b]) not in arcs
    arcs[name[a], name[b]] = float(us)
for link in map["links"]:
    for ends in (link["a"], link["b"]), (link["b"], link["a"]):
        assert abs(arcs.pop(ends) - link["latency_us"]) < 1e-4
assert not arcs
PY
}

@test "libyaml and another reader of YAML see the same tree in topology.yaml" {
    need_python yaml
    "$nettopo" export --format topology.yaml map.json >topology.yaml
    python3 - topology.yaml map.json <<'PY'
import json, sys
import yaml
text, map = open(sys.argv[1]).read(), json.load(open(sys.argv[2]))
topology, = yaml.safe_load(text)
if hasattr(yaml, "CSafeLoader"):
    assert yaml.load(text, yaml.CSafeLoader) == [topology]
assert topology["cluster_default"] is True
hosts, children = {}, set()
for switch in topology["tree"]["switches"]:
    assert ("nodes" in switch) != ("children" in switch), switch
    for host in filter(None, switch.get("nodes", "").split(",")):
        hosts[host] = switch["switch"]
    children |= set(filter(None, switch.get("children", "").split(",")))
assert hosts == {n["name"]: n["switch"] for n in map["nodes"]}, hosts
assert len({s["switch"] for s in topology["tree"]["switches"]} - children) == 1
PY
    "$nettopo" compare map.json topology.yaml
}

@test "CSV holds the modelled latencies, and solves to the same network" {
    "$nettopo" export --format csv map.json >map.csv
    python3 - map.csv map.json <<'PY'
import csv, json, sys
rows, map = list(csv.reader(open(sys.argv[1]))), json.load(open(sys.argv[2]))
assert rows[0] == [""] + [n["name"] for n in map["nodes"]] == [""] + [r[0] for r in rows[1:]]
up = {n["name"]: n["switch"] for n in map["nodes"]}
us = {n: next(l["latency_us"] for l in map["links"] if n in (l["a"], l["b"])) for n in up}
for row in rows[1:]:
    for name, cell in zip(rows[0][1:], row[1:]):
        assert (cell == "") == (name == row[0])
        if cell and up[name] == up[row[0]]:
            assert abs(float(cell) - us[name] - us[row[0]]) < 1e-4
PY
    "$nettopo" solve --latency map.csv -o again.json
    "$nettopo" compare again.json map.json
}

@test "compare of two measurements: deviations, histograms, pairs that differ" {
    "$nettopo" simulate --topology tree:2x2x4 --noise 0.01 --seed 1 --format csv >monday.csv
    "$nettopo" simulate --topology tree:2x2x4 --noise 0.01 --seed 2 --format samples >friday.samples
    "$nettopo" export --format csv friday.samples >friday.csv
    "$nettopo" compare monday.csv friday.samples >out
    "$nettopo" compare monday.csv friday.csv | tail -n +4 | cmp - <(tail -n +4 out)
    grep -q '^0 of 240 pairs differ by more than 25 %$' out
    awk -F, -v OFS=, 'NR == 4 { $6 *= 3 } 1' friday.csv >slow.csv # n3 to n5
    run "$nettopo" compare --json --raster raster.svg slow.csv friday.csv
    assert_equal "exit" "$status" 1
    python3 - slow.csv friday.csv raster.svg <<PY
import csv, json, sys, xml.etree.ElementTree as xml
report = json.loads("""$output""")
def figures(path):
    rows = list(csv.reader(open(path)))
    return {(r[0], c): float(v) for r in rows[1:] for c, v in zip(rows[0][1:], r[1:]) if v}
a, b = figures(sys.argv[1]), figures(sys.argv[2])
off = [a[p] - b[p] for p in a]
near = lambda x, y: abs(x - y) <= 1e-4 * abs(y)
assert report["pairs"] == len(off) == 240 and report["unit"] == "us"
assert near(report["md"], sum(off) / 240) and near(report["mad"], sum(map(abs, off)) / 240)
assert near(report["qmd"], (sum(x * x for x in off) / 240) ** .5) and near(report["maxd"], max(off, key=abs))
assert report["maxd_pair"] == ["n3", "n5"] and report["differing"] == 1
assert [(d["a"], d["b"]) for d in report["differences"]] == [("n3", "n5")]
assert near(report["second"][0], min(b.values())) and near(report["first"][4], max(a.values()))
assert sum(h["first"] for h in report["histogram"]) == 240
rects = xml.parse(sys.argv[3]).getroot().iter("{http://www.w3.org/2000/svg}rect")
assert [r.get("class") for r in rects].count("more") == 1
PY
    run "$nettopo" compare --tolerance 3 slow.csv friday.csv
    assert_equal "exit" "$status" 0
    # three sizes of one file of PARUS: which is compared
    netcdf=$ROOT/tests/data/import/parus_median.nc
    "$nettopo" compare --message-bytes 200 "$netcdf" "$netcdf" | grep -q '^first  *1.211  *1.461  *2.204  *2.208  *2.213$'
    printf 'processors 2\nhosts:\na\nb\nMessage length 100\n0 0.000001\n0.000001 0\n' >one-size
    "$nettopo" compare --message-bytes 100 one-size one-size
    refuses 3 "expected a matrix of messages of 7 bytes" "$nettopo" compare --message-bytes 7 one-size one-size
    refuses 3 "expected a matrix of messages of 300 bytes" "$nettopo" compare --message-bytes 300 "$netcdf" "$netcdf"
    printf ',x,y\nx,,1\ny,,\n' >others.csv
    refuses 3 "no pair of hosts is measured in both" "$nettopo" compare friday.csv others.csv
    refuses 3 "expected bandwidths" "$nettopo" compare --bandwidth friday.samples friday.csv
    refuses 2 "--raster requires two measurements" "$nettopo" compare --raster x.svg map.json map.json
    refuses 2 "--coloured requires a map" "$nettopo" compare --coloured x.dot friday.csv friday.csv
    [ ! -e x.svg ]
}

@test "compare says yes, no, wrong, bad" {
    sweep 4 >other.json
    run "$nettopo" compare map.json other.json
    assert_equal "exit" "$status" 0
    assert_contains "$output" "no differences"
    jq '(.links[] | select(.a == "n5" or .b == "n5") | .latency_us) *= 3' other.json >slow.json
    run "$nettopo" compare slow.json map.json
    assert_equal "exit" "$status" 1
    assert_contains "$output" "link of n5"
    run "$nettopo" compare --json slow.json map.json
    assert_equal "exit" "$status" 1
    assert_equal "difference" "$(jq -r '.differences[] | "\(.kind) \(.what)"' <<<"$output")" \
        "link-slow link of n5"
    run "$nettopo" compare --tolerance 3 slow.json map.json
    assert_equal "exit" "$status" 0
    refuses 2 "missing second file" "$nettopo" compare map.json
    refuses 2 "--tolerance x" "$nettopo" compare --tolerance x map.json map.json
    refuses 3 "nothing.json" "$nettopo" compare map.json nothing.json
    echo 'graph { x -- s; y -- s; z -- s }' >others.dot
    refuses 3 "no host in common" "$nettopo" compare map.json others.dot
}

@test "compare: a network that no link describes is refused, not found to differ from itself" {
    printf ',a,b,c,d\na,,1,,\nb,,,,\nc,,,,1\nd,,,,\n' >parts.csv
    "$nettopo" solve --latency parts.csv -o parts.json
    run "$nettopo" compare parts.json parts.json
    [ "$status" = 3 ]
    [[ $output == *"no host that the map and the reference have in common is on a link" ]]
}

@test "compare: figures, differences and exit status agree" {
    printf ',n1,n2,n3,n4\nn1,,1,2,2\nn2,,,2,2\nn3,,,,1\nn4,,,,\n' >latency.csv
    "$nettopo" solve --latency latency.csv -o four.json
    refute_contains "$("$nettopo" show four.json)" "one host each"
    printf 'SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\n' >parts.conf
    run "$nettopo" compare four.json parts.conf
    assert_equal "exit" "$status" 1
    assert_equal "report" "$output" \
        "4 hosts in common; similarity 83.2 %: shape in common 83.3 %, figures in common 100.0 %
switch-missing  parts without a link between them: expected 2, found 1 (1)"
    printf 'SwitchName=t Switches=a,b\n' | cat parts.conf - >whole.conf
    run "$nettopo" compare four.json whole.conf
    assert_equal "exit" "$status" 0
    # a map's finding is reported with its kind, its values and their unit
    jq '.findings = [{kind: "link-narrow", part: {a: "n3", b: "s2"}, alternatives: [], found: 3150, expected: 12590,
        unit: "MB/s", way: "both", confidence: 0.99}] | (.links[] | select(.a == "n3") | .suspect) = true' \
        four.json >narrow.json
    run "$nettopo" compare --json narrow.json whole.conf
    assert_equal "exit" "$status" 1
    assert_equal "difference" "$(jq -c '.differences' <<<"$output")" \
        '[{"kind":"link-narrow","what":"link n3 - s2","expected":"12600 MB/s","found":"3150 MB/s","confidence":0.99}]'
}

@test "a bad reference ends in one line with its file and line" {
    printf 'graph {\n a --\n}\n' >bad.dot
    printf 'SwitchName=a Nodes=n1\nSwitchName=b Nodes=n[2-\n' >bad.conf
    printf -- '- topology: a\n  tree:\n    switches:\n      - nodes: n1\n' >bad.yaml
    printf '{"schema": "nettopo-map/1",\n "nodes": [' >bad.json
    printf '0 1 10\n0 x 3\n' >bad.matrix
    refuses 3 "bad.dot:3: expected a vertex" "$nettopo" compare map.json bad.dot
    refuses 3 "bad.conf:2" "$nettopo" compare map.json bad.conf
    refuses 3 "bad.yaml:4" "$nettopo" compare map.json bad.yaml
    refuses 3 "bad.json:2" "$nettopo" compare map.json bad.json
    refuses 3 "bad.json:2" "$nettopo" export --format dot bad.json
    refuses 3 "bad.matrix:2" "$nettopo" hint --pattern matrix:bad.matrix map.json
    refuses 2 "--format" "$nettopo" export map.json
    refuses 2 "format pdf" "$nettopo" export --format pdf map.json
    # --help has the formats that there are
    said=$("$nettopo" export --format pdf map.json 2>&1) || true
    assert_equal "formats" "$("$nettopo" export --help | sed -n 's/^  -f, --format //p' | tr '|' '\n' | sort)" \
        "$(sed 's/.*expected //; s/, \| or /\n/g' <<<"$said" | sort)"
}

@test "a dump of ibnetdiscover is a reference" {
    "$nettopo" simulate --topology star:3 --format map >three.json
    run "$nettopo" compare --json three.json "$ROOT/tests/data/import/ibnetdiscover.txt"
    [ "$status" = 0 ] || [ "$status" = 1 ] || fail "$output"
    assert_equal "hosts in common" "$(jq .hosts <<<"$output")" 3
}

@test "a reference is drawn in colours of deviation" {
    need dot
    "$nettopo" simulate --topology tree:3x2x3 --format map >map.json
    "$nettopo" export --format dot map.json | sed 's/label="[^"]*", latency_us="[^"]*", //' >rates.dot
    jq '(.links[] | select(.a == "n5" or .b == "n5") | .bandwidth_MBps, .bandwidth_back_MBps) /= 20' \
        map.json >narrow.json
    "$nettopo" export --format dot --reference rates.dot narrow.json >coloured.dot
    dot -Tcanon coloured.dot >/dev/null
    # red is over the ideal time: the more so, the more of the paths are slow
    grep -E '"n5" -- ' coloured.dot | grep -q 'color="#ff0000"'
    assert_equal "grey links" "$(grep -E ' -- ' coloured.dot | grep -c 'color="#808080"')" 26
    # two uplinks eight times too narrow: they have the strong colour, and no link below them has any
    jq '(.links[] | select(.a == ("s3", "s6") or .b == ("s3", "s6")) | select(.a[:1] + .b[:1] == "ss")
        | .bandwidth_MBps, .bandwidth_back_MBps) /= 8' map.json >uplinks.json
    assert_equal "narrow" "$("$nettopo" compare uplinks.json map.json | grep -c '^link-narrow')" 4
    "$nettopo" export --format dot --reference rates.dot uplinks.json | grep -E ' -- ' >coloured.links
    assert_equal "strong links" "$(grep 'color="#ff0000"' coloured.links | grep -o '"s[0-9]*" -- "s[0-9]*"' | paste -sd' ')" \
        '"s3" -- "s2" "s6" -- "s5"'
    assert_equal "grey links" "$(grep -c 'color="#808080"' coloured.links)" 25
    # what is as it should be is grey
    "$nettopo" export --format dot --reference rates.dot map.json >healthy.dot
    assert_equal "colours of links" "$(grep -E ' -- ' healthy.dot | grep -o 'color="[^"]*"' | sort -u)" \
        'color="#808080"'
    run "$nettopo" compare --coloured again.dot narrow.json rates.dot
    assert_equal "exit" "$status" 1
    cmp coloured.dot again.dot
    # the SVG is of the map: what differs, and only that, is strong
    "$nettopo" export --format svg --reference rates.dot narrow.json >narrow.svg
    assert_equal "strong" "$(grep -c 'class="host strong"' narrow.svg)" 1
    grep -q 'class="host strong"><title>host n5<' narrow.svg
    grep -q 'link of n5: expected' narrow.svg
    refuses 2 "--reference" "$nettopo" export --format tgf --reference rates.dot map.json
}
