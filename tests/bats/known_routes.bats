#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `plan`, `estimate` and `simulate` for them: Liu et al. (NPC 2018) from end to end, known networks
# there and back, bad input, and measurements in the texts of other programs for `solve`.

setup() {
    root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    nettopo=${NETTOPO:-$root/build/nettopo}
    maps=$root/tests/data/maps
    import=$root/tests/data/import
    seeds=$root/tests/data/seeds
    cd "$BATS_TEST_TMPDIR" || return 1
    unset NETTOPO_MAP
}

# the network of figure 2: k1 k2 k5 k6 on one switch, k3 k4 on another, l3 and l4 between them
figure_2() {
    python3 - <<'PY'
link = dict(k1="l1", k2="l2", k3="l5", k4="l6", k5="l7", k6="l8")
far = ("k3", "k4")
hosts = sorted(link)
for i, a in enumerate(hosts):
    for b in hosts[i + 1:]:
        middle = [] if (a in far) == (b in far) else ["l3", "l4"] if b in far else ["l4", "l3"]
        print(a, b, link[a], *middle, link[b])
PY
}

# with "!" in front, no command ends a test
differ() {
    if cmp -s "$1" "$2"; then return 1; fi
}

# refuses CODE WORDS CMD...: exit CODE, one line with WORDS on standard error, nothing written
refuses() {
    local code=$1 words=$2 rc=0
    shift 2
    "$@" >"$BATS_TEST_TMPDIR/.out" 2>"$BATS_TEST_TMPDIR/.err" </dev/null || rc=$?
    if [ "$rc" != "$code" ] || [ -s .out ] || [ -e out.json ] || [ "$(wc -l <.err)" != 1 ] ||
        ! grep -qF -- "$words" .err; then
        echo "exit $rc for $*, expected $code with: $words"
        cat .out .err
        return 1
    fi
}

@test "the paper's example: seven of fifteen pairs, links, the aggregated link, all pairs" {
    figure_2 >routes
    "$nettopo" plan --routes routes -o plan.json
    "$nettopo" plan --routes - <routes | cmp - plan.json
    # section 3.2 d: latencies of the links, in us one way; a round trip is twice their sum
    python3 - plan.json >measured <<'PY'
import json, sys
plan = json.load(open(sys.argv[1]))
assert plan["rank"] == 7 and len(plan["pairs"]) == 7 and plan["lower_bound"] == 3
assert len(plan["rounds"]) == 3 and sorted(sum(plan["rounds"], [])) == sorted(plan["pairs"])
us = dict(l1=3.5, l2=4.5, l3=4, l4=4.5, l5=6.5, l6=6, l7=5.5, l8=5)
path = {tuple(line.split()[:2]): line.split()[2:] for line in open("routes")}
for round in plan["rounds"]:
    used = [word for pair in round for word in pair + path[tuple(pair)]]
    assert len(used) == len(set(used)), round
for pair in plan["pairs"]:
    print(*pair, sum(us[link] for link in path[tuple(pair)]))
PY
    "$nettopo" estimate --routes routes --measured measured -o estimate.json
    python3 - estimate.json <<'PY'
import json, sys
e = json.load(open(sys.argv[1]))
us = {x["link"]: x["latency_us"] for x in e["links"]}
known = dict(l1=3.5, l2=4.5, l5=6.5, l6=6, l7=5.5, l8=5)
assert us.keys() == known.keys() and all(abs(us[l] - known[l]) < 1e-6 for l in us), us
(run,) = e["aggregates"]
assert sorted(run["links"]) == ["l3", "l4"] and abs(run["latency_us"] - 8.5) < 1e-6
assert len(e["pairs"]) == 15
known.update(l3=4, l4=4.5)
path = {tuple(line.split()[:2]): line.split()[2:] for line in open("routes")}
for p in e["pairs"]:
    assert abs(p["latency_us"] - sum(known[l] for l in path[p["a"], p["b"]])) < 1e-6
PY
}

# The 4-port 2-tree of table 3: hosts 2i and 2i + 1 on leaf i, the way up chosen by the destination.
@test "table 3 of the paper: one way, all 56 latencies; of round trips the sums" {
    cat >table <<'END'
0 25 54 51 67 49 58 54
25 0 55 52 68 50 59 55
54 49 0 25 61 53 52 58
57 52 25 0 64 56 55 61
67 55 61 61 0 31 65 64
62 50 56 56 31 0 60 59
58 53 52 59 65 57 0 30
60 55 54 61 67 59 30 0
END
    python3 - <<'PY'
us = [[int(x) for x in line.split()] for line in open("table")]
with open("routes", "w") as routes, open("ways", "w") as ways, open("trips", "w") as trips:
    for a in range(8):
        for b in range(8):
            if a == b:
                continue
            middle = [] if a // 2 == b // 2 else [f"u{a // 2}{b % 2}", f"u{b // 2}{b % 2}"]
            print(f"h{a}", f"h{b}", f"l{a}", *middle, f"l{b}", file=routes)
            if b % 7 != 3:  # some are left out, and follow
                print(f"h{a}", f"h{b}", us[a][b], file=ways)
            print(f"h{a}", f"h{b}", (us[a][b] + us[b][a]) / 2, file=trips)
PY
    "$nettopo" estimate --one-way --routes routes --measured ways -o ways.json
    "$nettopo" estimate --routes routes --measured trips -o trips.json
    python3 - <<'PY'
import json
us = [[int(x) for x in line.split()] for line in open("table")]
ways, trips = (json.load(open(f + ".json"))["pairs"] for f in ("ways", "trips"))
assert len(ways) == 56 and len(trips) == 28
for p in ways:
    a, b = int(p["a"][1]), int(p["b"][1])
    assert abs(p["latency_us"] - us[a][b]) < 1e-6, p
for p in trips:
    a, b = int(p["a"][1]), int(p["b"][1])
    assert abs(p["latency_us"] - (us[a][b] + us[b][a]) / 2) < 1e-6 and "there_us" not in p, p
PY
    printf 'a b x\nb c y\na c x y\nc a z\n' >routes
    printf 'a b 1\nb c 2\na c 6\n' >trips
    "$nettopo" estimate --routes routes --measured trips | grep -F '"a": "a", "b": "c"' >pair
    grep -qF '"latency_us": 6,' pair
    grep -qF '"there_us": 3,' pair
    grep -qF '"back_us": 9,' pair
    "$nettopo" simulate -t star:3 -f samples -o samples
    "$nettopo" simulate -t star:3 -f routes -o routes
    refuses 3 "half round trips" "$nettopo" estimate --one-way --routes routes --measured samples
}

@test "the routes of a job's hosts; the samples of a sweep are measurements" {
    "$nettopo" simulate -t tree:4x4 -f routes -o routes
    "$nettopo" plan --routes routes --hosts 'n[1-2,5,9],nowhere' -o plan.json
    [ "$(grep -o '"n[0-9]*"' plan.json | sort -u | xargs)" = "n1 n2 n5 n9" ]
    grep -E ' n(1|2|5|9) ' routes | grep -E '^n(1|2|5|9) ' >some
    "$nettopo" plan --routes some | cmp - plan.json
    sed -E 's/\bn[0-9]+/&.cluster.example/g' routes >domains
    "$nettopo" plan --routes domains --hosts 'n[1-2,5,9].x,nowhere,n[1-2,5,9]' -o domains.json
    sed 's/\.cluster\.example//g' domains.json | cmp - plan.json
    "$nettopo" simulate -t tree:4x4 --seed 3 --noise 0.01 -f samples -o samples
    "$nettopo" estimate --routes routes --measured samples -o estimate.json
    "$nettopo" estimate --routes routes --measured - <samples | cmp - estimate.json
    python3 - <<'PY'
import json
e = json.load(open("estimate.json"))
assert len(e["pairs"]) == 120 and all(l["latency_se_us"] > 0 for l in e["links"])
assert e["fit"]["measured"] == sum(l.startswith("latency ") for l in open("samples"))
PY
    refuses 3 "expected hosts of the routes" "$nettopo" estimate --routes some --measured samples
    refuses 3 "expected routes between the hosts of --hosts" "$nettopo" plan --routes routes --hosts n1,m2
    refuses 2 "--hosts: host list" "$nettopo" plan --routes routes --hosts 'n[1-'
    refuses 2 "--hosts requires --routes" "$nettopo" plan --hosts n1 "$maps/star.json"
}

@test "simulate, plan, measure what it says, estimate: every link and pair of every topology" {
    for spec in star:5 tree:2x3x4 fattree:4,2 fattree:4,3 chain:3x2 dragonfly:4x3x2 fullmesh:5 \
        torus:5 torus:4x4 torus:4x3x3 mesh:3x3 ttorus:8x4:4 hypercube:4; do
        known=(simulate --topology "$spec" --host-spread 0.2 --seed 3)
        "$nettopo" "${known[@]}" --format routes >routes
        "$nettopo" "${known[@]}" --format measured >all
        "$nettopo" "${known[@]}" --format routes | "$nettopo" plan --routes - >plan.json
        # only what the plan wants; whatever it does not follow from it must not be stated
        python3 - plan.json <<'PY'
import json, sys
all = {tuple(l.split()[:2]): l for l in open("all")}
with open("measured", "w") as f:
    for a, b in json.load(open(sys.argv[1]))["pairs"]:
        f.write(all.get((a, b)) or all[b, a])
PY
        "$nettopo" estimate --routes routes --measured measured >estimate.json
        python3 - "$spec" <<'PY'
import json, sys
e = json.load(open("estimate.json"))
rank = json.load(open("plan.json"))["rank"]
all = {tuple(l.split()[:2]): float(l.split()[2]) for l in open("all")}
assert rank < len(all) or sys.argv[1].startswith(("fullmesh", "torus:5")), rank
assert e["fit"]["measured"] == rank == e["fit"]["rank"], e["fit"]
assert len(e["pairs"]) == len(all), (sys.argv[1], len(e["pairs"]))
for p in e["pairs"]:
    assert abs(p["latency_us"] - all[p["a"], p["b"]]) < 1e-6, p
PY
    done
}

@test "every map that simulate writes is valid, of every kind of network and every description" {
    local known spec file
    known=$("$nettopo" simulate --help | sed -n '/SPEC is/,/file:/p' | grep -oE '[a-z]+[+]?:[A-Z]' | sort -u | wc -l)
    local specs=(star:1 star:2 star:9 tree:1x1 tree:1x4 tree:2x1 tree:2x2 tree:1x1x1 tree:3x1x2 tree:2x4x8
        fattree:2,2 fattree:4,1 fattree:4,3 chain:1x1 chain:1x3 chain:2x1 chain:3x1 chain:4x3 dragonfly:1x1x1
        dragonfly:1x2x2 dragonfly:2x1x1 dragonfly:3x4x2 dragonfly+:1x2x2x2 dragonfly+:2x1x1x1 dragonfly+:3x2x2x2
        aries:1x1x1x1 aries:2x1x2x1 aries:2x2x2x2 torus:1x4 torus:2x2 torus:4x4 torus:3x3x3 mesh:1x4 mesh:2x2
        mesh:3x4 mesh:2x2x2 ttorus:4x4:1 ttorus:4x4:2 ring:1 ring:2 ring:3 ring:8 hypercube:1 hypercube:2
        hypercube:4 fullmesh:1 fullmesh:2 fullmesh:6 rails:2:star:4 rails:2:tree:2x4 rails:3:ring:6
        rails:2:dragonfly:3x4x2 torus:4x4,hosts=2 torus:2x2,hosts=3 mesh:3x3,hosts=2 mesh:2x2,hosts=1 ring:3,hosts=2
        ring:8,hosts=2 ring:4,hosts=1 hypercube:3,hosts=2 fullmesh:4,hosts=2 ttorus:4x4:1,hosts=2 torus:1x4,hosts=2 torus:1x3,hosts=2
        fullmesh:3,hosts=2 hypercube:1,hosts=2)
    [ "$(printf '%s\n' "${specs[@]%%:*}" | sort -u | wc -l)" = "$known" ]
    for spec in "${specs[@]}"; do
        "$nettopo" simulate -t "$spec" -f map -o known.json
        "$nettopo" validate known.json
    done
    for file in "$root"/tests/data/{import,maps,slurm,seeds}/*; do
        case ${file##*/} in
        # no description, one in parts, or several of which none is chosen
        benchmarks | *.csv | *.nc | matrix-* | mpigraph* | osu* | pairs-* | parus* | forest* | flat-* | topoconf* | torus-default*)
            run "$nettopo" simulate -t "$file" -f map
            [ "$status" = 3 ]
            [ "${#lines[@]}" = 1 ]
            ;;
        *)
            "$nettopo" simulate -t "$file" -f map -o known.json
            "$nettopo" validate known.json
            ;;
        esac
    done
}

@test "the same through a map, Slurm's topology, ibnetdiscover and DOT" {
    "$nettopo" export --format dot "$maps/star.json" >star.dot
    for file in "$maps/ring.json" "$import/topology.conf" "$import/topology-block.conf" \
        "$import/ibnetdiscover.txt" star.dot; do
        "$nettopo" simulate --topology "$file" --format routes -o routes
        "$nettopo" simulate --topology "$file" --format measured -o measured
        "$nettopo" plan "$file" -o direct.json
        "$nettopo" plan --routes routes -o plan.json
        "$nettopo" estimate --routes routes --measured measured -o estimate.json
        python3 - <<'PY'
import json
e = json.load(open("estimate.json"))
measured = {tuple(l.split()[:2]): float(l.split()[2]) for l in open("measured")}
assert len(e["pairs"]) == len(measured)
assert all(abs(p["latency_us"] - measured[p["a"], p["b"]]) < 1e-6 for p in e["pairs"])
assert json.load(open("direct.json"))["pairs"]
PY
    done
    "$nettopo" simulate --topology "$import/topology.conf" --host-latency 3 --format csv >far.csv
    "$nettopo" simulate --topology "$import/topology.conf" --format csv >near.csv
    differ far.csv near.csv
    "$nettopo" solve --latency far.csv -o far.json
    "$nettopo" validate -q far.json
    refuses 2 "require a network without latencies" "$nettopo" simulate --topology "$maps/ring.json" --host-latency 3
    refuses 2 "require a SPEC" "$nettopo" simulate --topology "$import/topology.conf" --host-rate 3
    refuses 3 "No such file" "$nettopo" simulate --topology nowhere.conf
    printf 'SwitchName=s0 Nodes=n[1-\n' >bad.conf
    refuses 3 "bad.conf:1: " "$nettopo" simulate --topology bad.conf
    refuses 3 "bad.conf:1: " "$nettopo" plan bad.conf
}

@test "noise: standard errors are given, redundancy lowers what amplifies it" {
    "$nettopo" simulate --topology torus:4x4 --format routes >routes
    "$nettopo" simulate --topology torus:4x4 --noise 0.02 --missing 0.1 --format measured >measured
    [ "$(wc -l <measured)" -lt "$(wc -l <routes)" ]
    "$nettopo" estimate --routes routes --measured measured -o estimate.json
    "$nettopo" plan --routes routes -o minimal.json
    "$nettopo" plan --redundancy 2 --routes routes -o plan.json
    python3 - <<'PY'
import json
e, plan, minimal = (json.load(open(f + ".json")) for f in ("estimate", "plan", "minimal"))
assert e["fit"]["rms_us"] < 0.1 and all(p["latency_se_us"] > 0 for p in e["pairs"])
assert len(plan["pairs"]) == 2 * plan["rank"]
assert 0 < plan["amplification_rms"] <= plan["amplification_max"]
assert plan["amplification_rms"] < minimal["amplification_rms"]
PY
    "$nettopo" estimate --routes routes --measured measured | cmp - estimate.json
}

@test "plan and estimate: bad input is one line, exit 3, nothing written" {
    figure_2 >routes
    printf 'k1 k2 8\n' >measured
    while IFS='|' read -r text words; do
        # shellcheck disable=SC2059
        printf "$text" >bad
        refuses 3 "$words" "$nettopo" plan --routes bad -o out.json
        refuses 3 "$words" "$nettopo" estimate --routes bad --measured measured -o out.json
    done <<'TABLE'
|bad:1: expected HOST HOST LINK
# nothing\n|LINK...], found none
a b\n|bad:1: a b: 0 links
a\n|bad:1: expected HOST HOST LINK [LINK...], found one host
a a l\n|bad:1: a a: a route from a host to itself
a b l m l\n|bad:1: a b: a link appears twice
a b l\na b m\n|bad:2: a b: this route is given twice
a/b c l\n|bad:1: 
a b \001\n|bad:1: 
a b l\000\n|bad:1: expected text, found a zero byte
TABLE
    while IFS='|' read -r text words; do
        # shellcheck disable=SC2059
        printf "$text" >bad
        refuses 3 "$words" "$nettopo" estimate --routes routes --measured bad -o out.json
    done <<'TABLE'
|bad:1: expected HOST HOST LATENCY_US
k1 k2\n|bad:1: expected a latency
k1 k2 x\n|found "x"
k1 k2 -1\n|found "-1"
k1 k2 nan\n|found "nan"
k1 k2 1e99\n|found "1e99"
k1 k2 1 2\n|bad:1: expected the end of the line
k1 k9 1\n|expected a host of the routes, found "k9"
k1 k1 1\n|expected a pair that has a route
TABLE
    refuses 3 "No such file" "$nettopo" plan --routes nowhere -o out.json
    refuses 3 "No such file" "$nettopo" estimate --routes routes --measured nowhere -o out.json
    echo '{' >bad
    refuses 3 "bad:2: not JSON" "$nettopo" plan bad -o out.json
    run bash -c "ulimit -v 300000 -t 10; yes x | tr -d '\n' | head -c 1000000000 | timeout 3600 '$nettopo' plan --routes - -o out.json"
    [ "$status" = 3 ]
    run bash -c "ulimit -v 300000 -t 10; yes 7 | tr -d '\n' | head -c 1000000000 | timeout 3600 '$nettopo' estimate --routes routes --measured - -o out.json"
    [ "$status" = 3 ]
    [ ! -e out.json ]
}

@test "plan, estimate and simulate: usage is exit 2" {
    figure_2 >routes
    refuses 2 "--routes FILE and --measured FILE are required" "$nettopo" estimate --routes routes
    refuses 2 "-: standard input can be read only once" "$nettopo" estimate --routes - --measured -
    refuses 2 "--routes cannot be combined with a network" "$nettopo" plan --routes routes "$maps/star.json"
    refuses 2 "NETTOPO_MAP is not set" "$nettopo" plan
    for r in 0 0.5 x nan -1 ''; do
        refuses 2 "--redundancy $r: expected a number from 1" "$nettopo" plan --routes routes "--redundancy=$r"
    done
    refuses 2 "--format text: expected samples, csv, map, routes or measured" \
        "$nettopo" simulate --topology star:3 --format text
    refuses 2 "--bandwidth requires --format samples or csv, found routes" \
        "$nettopo" simulate --topology star:3 --format routes --bandwidth
    refuses 2 "cannot be combined" "$nettopo" simulate --topology star:3 --format routes --sweep all
    refuses 2 "--topology SPEC is required" "$nettopo" simulate
    refuses 3 "at most 4096" "$nettopo" simulate --topology star:5000 --format routes
}

@test "solve reads what other programs wrote, told by the text" {
    "$nettopo" solve --latency "$import/osu.txt" --bandwidth "$import/osu.txt" -o osu.json
    grep -q '"name": "n3"' osu.json
    grep -q bandwidth_MBps osu.json
    "$nettopo" solve --latency "$import/parus.txt" -o parus.json
    "$nettopo" solve --latency - <"$import/parus.txt" | cmp - parus.json
    "$nettopo" solve --from parus --latency "$import/parus.txt" | cmp - parus.json
    "$nettopo" solve --latency "$import/parus_median.nc" -o netcdf.json
    cp "$import/parus_median.nc" alone.nc
    refuses 3 "alone.nc: expected the names of 4 processes" "$nettopo" solve --latency alone.nc
    head -c 700 alone.nc >short_median.nc
    refuses 3 "found 3 and bytes for 0" "$nettopo" solve --latency short_median.nc
    (echo "srun: job 7 queued"; cat "$import/osu.txt") >late.txt
    "$nettopo" solve --latency late.txt --bandwidth late.txt | cmp - osu.json
    printf ',n1,n2,n3,n4\nn1,,2,4,4\nn2,,,4,4\nn3,,,,2\nn4,,,,\n' >four.csv
    "$nettopo" solve --latency four.csv --bandwidth "$import/mpigraph.txt" -o graph.json
    "$nettopo" solve --from mpigraph --latency four.csv --bandwidth "$import/mpigraph.txt" | cmp - graph.json
    for map in osu parus graph netcdf; do "$nettopo" validate -q $map.json; done
    refuses 3 "expected latencies, found the output of mpiGraph" "$nettopo" solve --latency "$import/mpigraph.txt"
    refuses 3 "expected bandwidths, found the output of PARUS" \
        "$nettopo" solve --latency "$import/parus.txt" --bandwidth "$import/parus.txt"
    refuses 3 "mpigraph.txt: " "$nettopo" solve --latency "$import/osu.txt" --bandwidth "$import/mpigraph.txt"
    refuses 3 "four.csv" "$nettopo" solve --from osu --latency four.csv
    refuses 2 "--from xml: expected csv, mpigraph, benchmark or parus" "$nettopo" solve --from xml --latency four.csv
    refuses 2 "--from requires --latency or --bandwidth" "$nettopo" solve --from csv four.csv
}

@test "solve: matrices and pairs as programs of all countries write them" {
    printf ',n1,n2,n3\nn1,,1.12,1.93\nn2,1.12,,1.94\nn3,1.93,1.94,\n' >right.csv
    latencies() { "$nettopo" solve --latency "$@" | "$nettopo" export -f csv -; }
    count=0
    for file in "$import"/matrix-*.* "$import"/pairs-*.*; do
        latencies "$file" | cmp - right.csv || { echo "$file"; return 1; }
        count=$((count + 1))
    done
    [ $count = 11 ]
    sed 's/,$/,-/; s/,,/,NA,/' right.csv | latencies - | cmp - right.csv
    awk -F, -v OFS=, 'NR > 1 {for (k = 2; k <= NF; k++) if ($k != "") $k *= 2} {print}' right.csv >twice.csv
    latencies twice.csv --round-trip | cmp - right.csv
    awk -F, -v OFS=, 'NR > 1 {for (k = 2; k <= NF; k++) if ($k != "") $k /= 1000} {print}' right.csv >milli.csv
    latencies milli.csv --unit ms | cmp - right.csv
    awk -F, -v OFS=, 'NR > 1 {for (k = 2; k <= NF; k++) if ($k != "") $k /= 1000000} {print}' right.csv >whole.csv
    latencies whole.csv --unit s | cmp - right.csv
    for file in right:0 whole:1; do
        "$nettopo" solve --latency ${file%:*}.csv | jq -e "[.warnings[] | select(test(\"below 1 ns.*--unit\"))] | length == ${file#*:}"
    done
    printf 'n1 n2 96\nn2 n3 48\nn3 n1 48\n' >rates.txt
    "$nettopo" solve --bandwidth rates.txt --unit Gbit/s --latency milli.csv --unit ms -o both.json
    jq -e '[.links[].bandwidth_MBps] | max == 12000 and min == 6000' both.json
    for k in 1 2 3; do echo n$k; done >hosts
    printf '0,1.12,1.93\n1.12,0,1.94\n1.93,1.94,0\n' >bare.csv
    printf ' 0 1 2\n0 NA 1.12 1.93\n1 1.12 NA 1.94\n2 1.93 1.94 NA\n' >numbered.txt # a data frame's
    printf ';;\n1,12;;\n1,93;1,94;\n' >cores.csv
    for file in bare.csv numbered.txt cores.csv; do latencies $file --names hosts | cmp - right.csv; done
    refuses 3 "bare.csv:1: expected names of hosts in the first row, found values" "$nettopo" solve --latency bare.csv
    refuses 3 "right.csv:1: found names of hosts. Omit --names." "$nettopo" solve --latency right.csv --names hosts
    echo n4 >>hosts
    refuses 3 "bare.csv:2: expected 4 values as --names has hosts, found 3" "$nettopo" solve --latency bare.csv --names hosts
    echo '0x1 "n1"' >guids
    refuses 3 "guids:1: expected a host name, found a GUID" "$nettopo" solve --latency bare.csv --names guids
    refuses 2 "--names requires --latency or --bandwidth" "$nettopo" solve --names hosts right.samples
    refuses 2 "--unit lbs: expected ns, us, ms or s" "$nettopo" solve --latency right.csv --unit lbs
    refuses 2 "--unit GB/s requires --bandwidth" "$nettopo" solve --latency right.csv --unit GB/s
    refuses 2 "--unit us: expected one unit for latencies" "$nettopo" solve --latency right.csv --unit ns --unit us
    refuses 2 "--round-trip requires --latency" "$nettopo" solve --bandwidth rates.txt --round-trip
    refuses 2 "Omit --unit" "$nettopo" solve --latency "$import/osu.txt" --unit ns
    refuses 3 "differs from --unit" "$nettopo" solve --latency "$import/matrix-corner.csv" --unit ms
    refuses 3 "expected bandwidths, found the unit of latencies" "$nettopo" solve --bandwidth "$import/matrix-corner.csv"
    refuses 2 "standard input can be read only once" "$nettopo" solve --latency - --bandwidth - <right.csv
}

# FILE HOST HOST LATENCY_US: of the two links together
latency_of() {
    "$nettopo" solve --latency "$1" -o two.json
    "$nettopo" export --format csv two.json | awk -F, -v a="$2" -v b="$3" -v us="$4" '
        NR == 1 { for (k = 2; k <= NF; k++) if ($k == b) column = k }
        $1 == a && ($column - us) ^ 2 < 1e-6 { found = 1 }
        END { exit !found }'
}

@test "solve takes the figures of benchmarks out of a job's output" {
    files=$import/benchmarks
    for text in osu-label osu-label-wide osu-tag-output osu-date osu-others; do
        latency_of "$files/$text.txt" n1 n2 1.88
    done
    latency_of "$files/imb.txt" n2 n1 1.21
    latency_of "$files/netpipe.txt" n1 n2 9.69
    "$nettopo" solve --latency - <"$files/imb.txt" -o pipe.json
    "$nettopo" solve --latency "$files/imb.txt" --from osu | cmp - pipe.json
    # a launcher's words before, as many as a job writes
    (yes "srun: job 7 queued" | head -n 500; cat "$files/imb.txt") >late.txt
    "$nettopo" solve --latency late.txt | cmp - pipe.json
    for text in "$files"/*; do # of each pair one way is enough
        "$nettopo" solve --bandwidth "$text" -o alone.json || "$nettopo" solve --latency "$text" -o alone.json
        "$nettopo" validate -q alone.json
    done
    # core-to-core-latency's --csv, without names
    printf ',,,\n26.5,,,\n74.25,74.25,,\n74.25,74.25,26.5,\n' >cores.csv
    printf 'cpu%d\n' 0 1 2 3 >cores
    "$nettopo" solve --latency cores.csv --names cores --unit ns -o cores.json
    jq -e '[.links[] | select(.a == "cpu0" or .a == "cpu1") | .latency_us] | add == 0.0265' cores.json
    jq -e '.switches | map(.hosts) == [2, 2]' cores.json
    printf 'a job that\nmeasured nothing\n' >words.txt
    refuses 3 'words.txt:1: expected a matrix CSV, or the output of mpiGraph, PARUS, OSU, ' "$nettopo" solve --latency words.txt
    refuses 3 'c2clat; found "a job that"' "$nettopo" solve --bandwidth words.txt
}

@test "solve names the host whose every pair is narrow, from few pairs" {
    while read -r text words; do
        "$nettopo" solve --bandwidth "$import/$text.csv" -o narrow.json
        "$nettopo" validate -q narrow.json
        [ "$(grep -c 'MB/s to every other host' narrow.json)" = 1 ]
        grep -q "host $words:" narrow.json
        "$nettopo" show narrow.json | tr -s ' \n' ' ' | grep -q "host $words:"
    done <<'END'
sparse-pairs n1 has at most 49400 MB/s to every other host, other hosts have 86800
sparse-chain f has at most 43000 MB/s to every other host, other hosts have 88000
sparse-one-way n1 has at most 49400 MB/s to every other host, other hosts have 87400
END
}

@test "a process per core of PARUS: the map has hosts, and a reference is compared with it" {
    awk 'BEGIN { # 4 processes on each of 4 hosts
        print "processors 16\ntest type \"one_to_one\"\nhosts:"
        for (i = 0; i < 16; i++) print "c" int(i / 4) + 1
        for (bytes = 0; bytes < 200; bytes += 100) {
            print "Message length " bytes
            for (i = 0; i < 16; i++) {
                for (j = 0; j < 16; j++)
                    printf "%.8f\t", i == j ? 0 : int(i / 4) == int(j / 4) ? 5e-7 : 2e-6 + (i * 7 + j * 3) % 5 * 1e-8
                print ""
            }
        }
    }' >cores.parus
    echo 'graph f { c1--c2 [label=32]; c1--c3; c1--c4; c2--c3; c2--c4; c3--c4 }' >mesh.dot
    echo 'graph t { s [shape=box]; c1--s; c2--s; c3--s; c4--s }' >star.dot
    for method in auto parus; do
        "$nettopo" solve --method $method --latency cores.parus -o cores.json
        for reference in mesh star; do
            "$nettopo" compare cores.json $reference.dot | grep '^no differences$'
        done
    done
    sed '0,/^c1/s//c1 core 0/' cores.parus >blank.parus
    refuses 3 'blank.parus:4: expected a host'"'"'s name, found "c1 core 0"' "$nettopo" solve --latency blank.parus
    sed '/^hosts:/d' cores.parus >bare.parus # as Network Viewer takes it
    "$nettopo" solve --method parus --latency bare.parus | cmp - cores.json
    sed '/^c[1-4]/d' bare.parus >unnamed.parus
    refuses 3 "unnamed.parus:3: expected the names of 16 processes" "$nettopo" solve --latency unnamed.parus
}

@test "solve: several message sizes say how sure a link is" {
    near=(--host-latency 1 --link-latency 1 --noise 0.01 --format csv)
    for seed in 1 2 3; do
        "$nettopo" simulate --topology tree:2x3x4 "${near[@]}" --seed $seed >$seed.csv
    done
    "$nettopo" simulate --topology star:24 "${near[@]}" >flat.csv
    "$nettopo" solve --latency 1.csv -o alone.json
    "$nettopo" solve --latency 1.csv --latency 2.csv --latency=3.csv -o all.json
    "$nettopo" solve --latency 1.csv --latency 2.csv --latency 3.csv --latency flat.csv -o some.json
    "$nettopo" validate -q some.json
    python3 - <<'PY'
import json
all, some = json.load(open("all.json")), json.load(open("some.json"))
alone = json.load(open("alone.json"))
hosts = {n["name"] for n in some["nodes"]}
ends = lambda map: {(l["a"], l["b"]): l["probability"] for l in map["links"]}
first, several = ends(alone), ends(some)
assert first.keys() == several.keys() == ends(all).keys()
for link, p in ends(all).items(): # what all show is as sure as each is of it
    assert abs(p - first[link]) < 0.02 and p > 0.9, (link, p)
for link, p in several.items(): # the fourth could have shown a switch, and has none
    assert abs(p - (3 * first[link] + 0.25) / 4) < 0.03 if not hosts & set(link) else p == 1, (link, p)
PY
    printf ',a,b,c\na,,1,2\nb,,,1.2\nc,,,\n' >short.csv
    printf ',a,b,c\na,,1,2\nb,,,3.5\nc,,,\n' >long.csv # b to c is nearer over a
    "$nettopo" solve --method parus --latency short.csv --latency long.csv -o parus.json
    grep -q '"a": "b", "b": "c", .*"probability": 0.5' parus.json
    printf ',n1,other\nn1,,1\nother,,\n' >other.csv
    refuses 3 "other.csv: host other" "$nettopo" solve --latency 1.csv --latency other.csv
    args=()
    for _ in {1..33}; do args+=(--latency 1.csv); done
    refuses 2 "--latency is given more than 32 times" "$nettopo" solve "${args[@]}"
}

# Two leaves of three hosts, 2 us and 1000 MB/s within, 3 us and 500 MB/s across; equal: one leaf of six.
sized() { # BYTES [equal]
    awk -v s="$1" -v equal="${2-}" 'BEGIN {
        for (j = 1; j <= 6; j++) printf ",n%d", j
        for (i = 1; i <= 6; i++) {
            printf "\nn%d", i
            for (j = 1; j <= 6; j++) {
                near = equal || (i <= 3) == (j <= 3)
                printf ",%s", i == j ? "" : (near ? 2 : 3) + s / (near ? 1000 : 500)
            }
        }
        print ""
    }'
}

figures() { jq -r '[.links[] | "\(.latency_us * 1000 | round / 1000) \(.bandwidth_MBps | round)"] | unique[]' "$1"; }

# A. Bufe 2014, equations 1.3 and 1.5, 1.6: 2 us at 1000 MB/s, 64 KiB take 67.536 us.
@test "solve: latency and bandwidth from times of messages of known sizes" {
    sized 65536 equal >64k.csv
    sized 64 equal >64.csv
    sed 's/67\.536/1000/g' 64k.csv >rate.csv
    for method in auto bufe; do
        "$nettopo" solve --method $method --latency 64k.csv --message-bytes 65536 --bandwidth rate.csv -o one.json
        [ "$(figures one.json)" = "1 1000" ]
    done
    "$nettopo" solve --latency 64k.csv --bandwidth rate.csv -o plain.json # as before
    [ "$(figures plain.json)" = "33.768 1000" ]
    "$nettopo" solve --latency 64.csv --message-bytes 64 --latency 64k.csv --message-bytes 65536 -o two.json
    [ "$(figures two.json)" = "1 1000" ]
    args=()
    for bytes in 64 4096 65536 1048576; do
        sized $bytes >$bytes.csv
        args+=(--latency $bytes.csv --message-bytes $bytes)
    done
    "$nettopo" solve "${args[@]}" -o tree.json
    "$nettopo" validate -q tree.json
    [ "$(figures tree.json)" = $'1 1000\n1 500' ]
    "$nettopo" solve --latency 64.csv --message-bytes 64 --latency 4096.csv --message-bytes 4096 -o short.json
    grep -q "bandwidths are from messages of 4096 bytes" short.json
}

@test "solve: the sizes of a PARUS text give bandwidths" {
    {
        printf 'processors 6\n\nhosts:\nn1\nn2\nn3\nn4\nn5\nn6\n'
        for bytes in 0 1000 10000 100000 1000000; do
            printf '\nMessage length %d\n' $bytes
            sized $bytes | awk -F, 'NR > 1 { for (j = 2; j <= 7; j++) printf "%.9f ", $j / 1e6; print "" }'
        done
    } >six.txt
    "$nettopo" solve --latency six.txt -o six.json
    [ "$(figures six.json)" = $'1 1000\n1 500' ]
    "$nettopo" solve --method parus --latency six.txt -o parus.json
    [ "$(jq '[.links[] | select(has("bandwidth_MBps"))] | length' parus.json)" = 0 ] # as published
    sized 8 >8.csv
    refuses 2 "six.txt contains its message sizes" "$nettopo" solve --latency six.txt --message-bytes 0 --bandwidth 8.csv
}

@test "solve: message sizes that do not fit the matrices" {
    sized 65536 equal >64k.csv
    sized 64 equal >64.csv
    sed 's/67\.536/1000/g' 64k.csv >rate.csv
    refuses 2 "--message-bytes requires --bandwidth, or --latency of several sizes" "$nettopo" solve --latency 64.csv --message-bytes 64
    refuses 2 "expected one per --latency" "$nettopo" solve --latency 64.csv --latency 64k.csv --message-bytes 64
    refuses 2 "each larger than the one before" \
        "$nettopo" solve --latency 64k.csv --message-bytes 65536 --latency 64.csv --message-bytes 64
    refuses 2 "--message-bytes x: expected bytes" "$nettopo" solve --latency 64.csv --message-bytes x --bandwidth rate.csv
    refuses 2 "cannot be combined with --method parus" \
        "$nettopo" solve --method parus --latency 64k.csv --message-bytes 65536 --bandwidth rate.csv
    refuses 3 "messages of 655360 bytes would take longer than the latencies of 30 of 30 pairs" \
        "$nettopo" solve --latency 64k.csv --message-bytes 655360 --bandwidth rate.csv
    # of some pairs alone: they are left out
    sed '/^n1/s/1000/100/g; s/^\(n[^1],\)1000/\1100/' rate.csv >slow.csv
    "$nettopo" solve --latency 64k.csv --message-bytes 65536 --bandwidth slow.csv -o most.json
    grep -q "10 of 30 latencies omitted" most.json
}

@test "solve: a setting belongs to its method" {
    table=$seeds/bufe-2.2.csv
    "$nettopo" solve --method bufe --latency "$table" -o own.json
    "$nettopo" solve --method bufe --epsilon 0.15 --latency "$table" | cmp - own.json
    "$nettopo" solve --method bufe --epsilon 1.9 --latency "$table" >other.json
    differ other.json own.json
    table=$seeds/bufe-2.1.csv
    "$nettopo" solve --method parus --latency "$table" -o own.json
    "$nettopo" solve --method parus --eps-shared 0.1 --eps-duplex 0.5 --latency "$table" | cmp - own.json
    "$nettopo" solve --method parus --eps-shared 90 --latency "$table" >other.json
    differ other.json own.json
    sizes=("$nettopo" solve --method parus --latency "$import/parus_median.nc")
    lengths() { "${sizes[@]}" "$@" | jq -c '[.links[].latency_us]'; }
    [ "$(lengths)" = "$(lengths --lengths 0)" ]
    [ "$(lengths --lengths 100)" = "$(lengths --lengths median)" ]
    [ "$(lengths --lengths 200)" = "$(lengths | jq -c 'map((. + 0.2) * 1e5 | round / 1e5)')" ]
    [ "$(lengths --lengths mean)" = "$(lengths | jq -c 'map((. + 0.1) * 1e5 | round / 1e5)')" ]
    refuses 3 "expected a matrix of messages of 300 bytes" "${sizes[@]}" --lengths 300
    refuses 2 "--lengths mode: expected bytes" "${sizes[@]}" --lengths mode
    refuses 2 "--lengths requires --method parus" "$nettopo" solve --lengths mean --latency "$table"
    refuses 2 "--epsilon requires --method bufe, found auto" "$nettopo" solve --epsilon 1 --latency "$table"
    refuses 2 "--epsilon requires --method bufe, found parus" \
        "$nettopo" solve --epsilon 1 --method parus --latency "$table"
    refuses 2 "--eps-shared requires --method parus, found bufe" \
        "$nettopo" solve --eps-shared 1 --method bufe --latency "$table"
    refuses 2 "--eps-duplex requires --method parus" "$nettopo" solve --eps-duplex 1 nowhere.samples
    refuses 2 "--epsilon 0: expected a number above 0" "$nettopo" solve --method bufe --epsilon 0 --latency "$table"
    refuses 2 "--epsilon x: expected a number" "$nettopo" solve --method bufe --epsilon x --latency "$table"
    refuses 2 "2 matrices of latencies: expected at most 1 with --method bufe" \
        "$nettopo" solve --method bufe --latency "$table" --latency "$table"
}

@test "stress kernels by one text: tasks, sizes, computation, hot spots, permutations" {
    workload() { "$nettopo" simulate --topology "$1" --overhead 0 --workload "$2" "${@:3}"; }
    workload torus:4x4 a2a,tasks=5,bytes=1000 | jq -e '.tasks == 5 and .messages == 20 and .bytes == 1000'
    workload torus:4x4 transpose | jq -e '.hosts == 16 and .messages == 16 and (has("tasks") | not)'
    workload torus:4x5 shuffle,messages=64 | jq -e '.tasks == 16 and .messages == 64'
    # ten waves: the computing is added to the time of each
    workload star:8 sr:10,messages=100 --seed 3 | jq .times_us >alone
    workload star:8 sr:10,messages=100,compute=500 --seed 3 | jq .times_us >computing
    jq -en --slurpfile a alone --slurpfile c computing '[$a[0], $c[0]] | transpose | map(.[1] - .[0]) | all(. > 3000 and . < 5100)'
    # the options of before say the same, and come first
    workload star:8 gups --messages 50 --bytes 77 >options
    workload star:8 gups,messages=50,bytes=77 | sed 's/gups[^"]*/gups/' | cmp - options
    workload star:8 gups,messages=9,bytes=7 --messages 50 --bytes 77 | sed 's/gups[^"]*/gups/' | cmp - options
    # a hot spot's port is the bottleneck
    jq -en "$(workload star:16 gups | jq .time_us) < 0.3 * $(workload star:16 hot:40 | jq .time_us)"
    refuses 2 "a2a with 9 tasks on 8 hosts" "$nettopo" simulate --topology star:8 --workload a2a,tasks=9
    refuses 2 "expected 4, 16, 64" "$nettopo" simulate --topology star:8 --workload transpose,tasks=8
    refuses 2 'workload: expected bytes=, messages=, tasks= or compute=, found "size=3"' \
        "$nettopo" simulate --topology star:8 --workload a2a,size=3
    refuses 2 "workload: bytes=0: expected 1 to" "$nettopo" simulate --topology star:8 --workload a2a,bytes=0
    refuses 2 "hot:PERCENT" "$nettopo" simulate --topology star:8 --workload hot
}
