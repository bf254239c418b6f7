#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The outside of nettopo: bad input to each command ends in one line, the documented exit code and
# no output file; good input in a map that the schema accepts.

bats_require_minimum_version 1.5.0

teardown() {
    [ ! -f "$BATS_TEST_TMPDIR/open" ] || rm -r "$(<"$BATS_TEST_TMPDIR/open")"
}

setup() {
    root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    nettopo=${NETTOPO:-$root/build/nettopo}
    maps=$root/tests/data/maps
    cd "$BATS_TEST_TMPDIR" || return 1
    unset NETTOPO_MAP NETTOPO_JSON
    printf ',a,b,c\na,,1,2\nb,,,2\nc,,,\n' >good.csv
    samples >good.samples
}

# a sweep of four hosts behind two switches
samples() {
    printf 'nettopo-samples/1\ngenerator hand\njob 7 0\nlevel quick\n'
    printf 'host n%d\n' 10 2 1 9
    printf 'phase latency\nround\n'
    local us=1
    while read -r a b us; do
        printf 'latency %d %d 8 30 %s 0.01 %s\nlatency %d %d 8 30 %s 0.01 %s\n' \
            "$a" "$b" "$us" "$us" "$b" "$a" "$us" "$us"
    done <<<$'0 1 4\n0 2 4.01\n0 3 2\n1 2 2.01\n1 3 4.02\n2 3 4'
    printf 'phase-end 0.5\nend ok 0.75\n'
}

# refuses CODE WORDS CMD...: exit CODE, nothing on standard output, one line with WORDS on
# standard error, and no file that was not there
refuses() {
    local code=$1 words=$2 before after rc=0
    shift 2
    before=$(find . | sort)
    "$@" >"$BATS_TMPDIR/out.$$" 2>"$BATS_TMPDIR/err.$$" || rc=$?
    after=$(find . | sort)
    if [ "$rc" != "$code" ] || [ -s "$BATS_TMPDIR/out.$$" ] || [ "$before" != "$after" ] ||
        [ "$(wc -l <"$BATS_TMPDIR/err.$$")" != 1 ] || ! grep -qF -- "$words" "$BATS_TMPDIR/err.$$"; then
        echo "exit $rc for $*, expected $code with: $words"
        cat "$BATS_TMPDIR/out.$$" "$BATS_TMPDIR/err.$$"
        diff <(echo "$before") <(echo "$after")
        return 1
    fi
}

@test "in a job whose sweep failed there is no map, and the reason is said" {
    export NETTOPO_STATUS=failed NETTOPO_REASON='the job was cancelled'
    refuses 1 'this job has no map (NETTOPO_STATUS=failed): the job was cancelled' "$nettopo" show
    refuses 1 'this job has no map (NETTOPO_STATUS=failed): the job was cancelled' "$nettopo" show --trace
    refuses 1 'this job has no map (NETTOPO_STATUS=failed): the job was cancelled' "$nettopo" hint
    unset NETTOPO_STATUS NETTOPO_REASON
    refuses 2 'NETTOPO_MAP is not set' "$nettopo" show
}

log_lines() {
    cat <<'LOG'
Nov 20 10:00:00 n1 nettopo[1]: job=1 time=2026-11-20T10:00:00Z user=a level=quick budget=5 status=ok hosts=4 seconds=0.3 rounds=3 findings=0
2026-11-20T11:00:00+00:00 n1 nettopo[2]: {"job": 2, "time": "2026-11-20T11:00:00Z", "user": "b", "level": "full", "budget": 5, "status": "partial", "hosts": 4, "seconds": 4.1, "rounds": 9, "findings": 1, "missing": "n3,+2", "suspect": "n2", "reason": "n3 is missing: UCX: no usable network"}
Nov 20 11:00:00 n3 nettopo[2]: job 2 on n3: the probe failed: exit 4; to do: see
Nov 21 10:00:00 n5 nettopo[3]: job=3 time=2026-11-21T10:00:00Z user=a level=quick budget=5 status=partial hosts=9 seconds=0.3 rounds=3 findings=0 missing=n10,n3 reason="n10 is missing: UCX: no usable network"
Nov 22 10:00:00 n5 nettopo[3]: job=4 time=2026-11-22T10:00:00Z user=a level=quick budget=5 status=failed hosts=9 seconds=0.3 reason="the job was cancelled"
LOG
    head -c 100000 /dev/zero # what a crash leaves
    printf '\nno end of line: job=5'
}

@test "stats: jobs by status, reasons, hosts" {
    log_lines >log
    run "$nettopo" stats log
    [ "$status" = 0 ]
    [ "$output" = "4 jobs, 2026-11-20T10:00:00Z to 2026-11-22T10:00:00Z
       1  ok        25.0 %
       2  partial   50.0 %
       1  failed    25.0 %

reasons
       2  n# is missing: UCX: no usable network
       1  the job was cancelled

hosts missing
       2  n3
       1  n10

hosts in findings
       1  n2" ]
    run "$nettopo" stats --since 2026-11-21 --until 2026-11-22T10:00Z <log
    [ "$status" = 0 ]
    [[ $output == "1 job, 2026-11-21T10:00:00Z to "* ]]
    run "$nettopo" stats --since 2026-11-21 --top 1 log log
    [ "$status" = 0 ]
    [[ $output == "4 jobs, "*"1 more"* ]]
    run --separate-stderr "$nettopo" stats --since 1m /dev/null
    [ "$status" = 0 ]
    [ "$output" = "0 jobs" ]
    [[ $stderr == "nettopo stats: /dev/null: no job's line in 0 lines: "* ]]
    # the same as JSON
    "$nettopo" stats --json log | jq -e '. == {jobs: 4, first: "2026-11-20T10:00:00Z", last: "2026-11-22T10:00:00Z",
        lines: $lines, statuses: {ok: 1, partial: 2, failed: 1},
        reasons: [{reason: "n# is missing: UCX: no usable network", count: 2}, {reason: "the job was cancelled", count: 1}],
        hosts_missing: [{host: "n3", count: 2}, {host: "n10", count: 1}],
        hosts_in_findings: [{host: "n2", count: 1}]}' --argjson lines "$(($(grep -c . log) + 1))" # the zeros
    "$nettopo" stats --json --top 1 log | jq -e '.reasons, .hosts_missing, .hosts_in_findings | length == 1'
    "$nettopo" stats --json /dev/null | jq -e '.jobs == 0 and .reasons == [] and (has("first") | not)'
    refuses 2 '"last week": expected a time' "$nettopo" stats --since 'last week' log
    refuses 3 'cannot open nowhere' "$nettopo" stats --json nowhere
    refuses 3 'cannot open nowhere' "$nettopo" stats nowhere
}

# A job's line as the programs print it that pass it on.
@test "stats: JSON of jq, journalctl, Loki and Docker; what is not understood has a word" {
    counts() { # JOBS FILE: all failed
        run --separate-stderr "$nettopo" stats "$2"
        [ "$status" = 0 ] && [[ $output == "$1 job"*"$1  failed   100.0 %"* ]] && [ -z "$stderr" ] || { echo "$output $stderr"; return 1; }
    }
    json='{"job":44,"time":"2026-11-26T10:02:00Z","user":"u","status":"failed","reason":"no connection"}'
    text='job=44 time=2026-11-26T10:02:00Z status=failed reason="no connection"'
    echo "$json" >compact.json
    counts 1 compact.json
    jq . compact.json >pretty.json
    counts 1 pretty.json
    jq --tab -s '. + .' compact.json >array.json
    counts 2 array.json
    { echo '{'; echo "Nov 26 10:02:00 n1 nettopo[1]: $text"; } >brace.log
    counts 1 brace.log
    for line in "$json" "$text" "Nov 26 10:02:00 n1 nettopo[1]: $text"; do
        jq -cn --arg line "$line" '{__CURSOR: "s=1", PRIORITY: "4", _BOOT_ID: null, MESSAGE: $line, _UID: "0"}' >journal.json
        jq -cn --arg line "$line" '{labels: {app: "x", job: "nettopo"}, line: $line, timestamp: "2026-11-26T10:02:00Z"}' >>journal.json
        jq -cn --arg line "$line" '{log: ($line + "\n"), stream: "stderr"}' >>journal.json
        counts 3 journal.json
        jq . journal.json >journal.pretty.json
        counts 3 journal.pretty.json
        jq -cn --arg line "$line" '{status: "success", data: {result: [{stream: {}, values: [range(40) | ["179\(.)", $line]]}]}}' >loki.json
        counts 40 loki.json
    done
    echo '{"level":"info","msg":"none"}' >other.json
    for option in "" --json; do
        run --separate-stderr "$nettopo" stats $option compact.json other.json
        [ "$status" = 0 ]
        [[ $output == *1* ]]
        [[ $stderr == "nettopo stats: other.json: no job's line in 1 lines: expected job, time and status"* ]]
    done
    { head -c 1100000 /dev/zero; echo; echo "$text"; } >long.log
    run --separate-stderr "$nettopo" stats long.log
    [ "$status" = 0 ]
    [[ $output == "1 job"* ]]
    [ "$stderr" = "nettopo stats: long.log: skipped 1 line of more than 1048576 bytes" ]
}

accepted_by_schema() {
    python3 - "$root/etc/nettopo-map.schema.json" "$1" <<'PY'
import json, sys
import jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft7Validator.check_schema(schema)
jsonschema.Draft7Validator(schema).validate(json.load(open(sys.argv[2])))
PY
}

@test "help and version are everywhere" {
    for verb in "" $(sed -nE 's/^  ([a-z]+) .*/\1/p' <<<"$("$nettopo" --help)") \
        $("$nettopo" fleet --help | sed -nE 's/^  ([a-z]+) .*/fleet:\1/p'); do
        verb=${verb/:/ }
        # shellcheck disable=SC2086
        run "$nettopo" $verb --help
        [ "$status" = 0 ]
        [[ $output == Usage:* ]]
        case $verb in "" | fleet) ;; *) [[ $output == *"Example: "*"nettopo $verb "* ]] ;; esac
        # shellcheck disable=SC2086
        run "$nettopo" $verb --version
        [ "$status" = 0 ]
        [[ $output =~ ^nettopo\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
    done
}

@test "usage errors are exit 2" {
    refuses 2 "missing command" "$nettopo"
    refuses 2 "missing command" "$nettopo" fleet
    refuses 2 'unknown command "sove". Did you mean "solve"?' "$nettopo" sove
    refuses 2 'unknown command "frob". Run "nettopo fleet --help"' "$nettopo" fleet frob
    refuses 2 "unknown option --latncy. Did you mean --latency?" "$nettopo" solve --latncy good.csv
    refuses 2 'unknown option "--slove"' "$nettopo" --slove
    for verb in solve show validate; do
        refuses 2 "unknown option --colour" "$nettopo" $verb --colour
        refuses 2 "unknown option -Z" "$nettopo" $verb -Z
    done
    refuses 2 "no measurements given" "$nettopo" solve -o out.json
    refuses 2 "SAMPLES cannot be combined with" "$nettopo" solve --latency good.csv good.samples -o out.json
    refuses 2 "too many arguments" "$nettopo" solve good.samples good.samples -o out.json
    refuses 2 "--latency: missing value" "$nettopo" solve --latency
    refuses 2 "--output is given twice" "$nettopo" solve -o a -o b good.samples
    refuses 2 "SAMPLES cannot be combined with --latency or --bandwidth" "$nettopo" solve --bandwidth good.csv good.samples
    refuses 2 "--method guess: expected auto, bufe or parus" "$nettopo" solve --method guess good.samples -o out.json
    refuses 2 "--noise 11: expected a number from 0 to 10" "$nettopo" simulate --topology star:4 --noise 11
    refuses 2 "--missing 2: expected a number from 0 to 1" "$nettopo" simulate --topology star:4 --missing 2
    for workload in sr:0 sr:x hot:101; do
        refuses 2 "workload $workload: expected ${workload%:*}: and a number from 1 to" \
            "$nettopo" simulate --topology star:4 --workload $workload
    done
    refuses 2 "--packet 0: expected" "$nettopo" simulate --topology star:4 --workload a2a --packet 0
    refuses 2 "--buffers 0: expected 1 or more" "$nettopo" simulate --topology star:4 --workload a2a --buffers 0
    refuses 3 "star.json: the map has no LogGP parameters" "$nettopo" hint --rails "$maps/star.json"
    refuses 2 "--sweep some: expected all, adaptive, sequential or pmm" "$nettopo" simulate --topology star:4 --sweep some
    refuses 2 "--all takes no value" "$nettopo" show --all=yes
    refuses 2 "NETTOPO_MAP is not set" "$nettopo" show
    refuses 2 "NETTOPO_MAP is not set" "$nettopo" validate
}

@test "hint, compare, export, simulate and the probe: bad input is one line, nothing is written" {
    "$nettopo" solve -o good.json good.samples
    printf '0 1 10\n1 x 5\n' >bad.matrix
    printf '{"schema": "nettopo-map/9"}\n' >bad.json
    printf 'graph {\n a --\n}\n' >bad.dot
    printf 'SwitchName=s1 Nodes=n[1-\n' >bad.conf
    refuses 3 "bad.matrix:2: expected RANK RANK BYTES" "$nettopo" hint --pattern matrix:bad.matrix -o out good.json
    refuses 2 'pattern "stencil:4x4" needs 16 tasks, but the job has 4' "$nettopo" hint --pattern stencil:4x4 -o out good.json
    refuses 3 "do not fit" "$nettopo" hint --ntasks 9 --ntasks-per-node 2 -o out good.json
    refuses 3 "bad.json" "$nettopo" hint -o out bad.json
    refuses 2 "expected a number from 1" "$nettopo" hint --ntasks 0 -o out good.json
    refuses 2 "bytes 0: expected bytes from 1 to" "$nettopo" hint --bytes 0 -o out good.json
    refuses 2 "cannot be combined with a matrix" "$nettopo" hint --bytes 4 --pattern matrix:bad.matrix -o out good.json
    refuses 2 "expected json, env" "$nettopo" hint --format yaml -o out good.json
    refuses 3 "bad.dot:3" "$nettopo" compare -o out good.json bad.dot
    refuses 3 "bad.conf:1" "$nettopo" compare -o out good.json bad.conf
    refuses 3 "no host in common" "$nettopo" compare -o out good.json "$maps/rails.json"
    refuses 2 "missing second file" "$nettopo" compare -o out good.json
    refuses 2 "format pdf" "$nettopo" export --format pdf -o out good.json
    refuses 2 "--format is required: dot, svg, html, " "$nettopo" export -o out good.json
    refuses 3 "bad.json" "$nettopo" export --format dot -o out bad.json
    refuses 2 "--topology" "$nettopo" simulate -o out
    refuses 2 "--host-latency 0: expected a latency over 0" "$nettopo" simulate --topology star:4 --host-latency 0 -f csv
    refuses 2 "--host-rate 0: expected a rate over 0" "$nettopo" simulate --topology star:4 --host-rate 0 -o out
    refuses 2 "--link-rate 9,0: expected rates over 0" "$nettopo" simulate --topology tree:2x4 --link-rate 9,0 -o out
    refuses 2 "writes up to 8192 hosts, but the network has 90000" \
        "$nettopo" simulate --topology tree:300x300 --format csv -o out
    echo '{}' >empty.json
    refuses 3 'empty.json: schema: expected "nettopo-map/1", found nothing' "$nettopo" compare empty.json empty.json
    refuses 3 "bad.dot:3" "$nettopo" simulate --topology bad.dot -o out
    refuses 2 "--nonsense" "$root/build/nettopo-probe" --nonsense -o out
    refuses 2 "expected seconds" "$root/build/nettopo-probe" --budget x -o out
    refuses 2 "no PMIx server" env -i PATH="$PATH" "$root/build/nettopo-probe" -o out
}

@test "solve: bad samples are exit 3 with file and line" {
    while IFS='|' read -r sed words; do
        sed "$sed" good.samples >bad.samples
        refuses 3 "$words" "$nettopo" solve bad.samples -o out.json
    done <<'TABLE'
1d|bad.samples:1: expected "nettopo-samples/1"
s/^end.*//|bad.samples:24: expected a line of samples
$d|bad.samples:24: expected "end" as the last line
s/^host n2$/host n10/|bad.samples:6: host n10: expected each host once
s/ 4\.01 .*/ -4 0 4/|bad.samples:13: latency -4 us
s/ 4\.01 .*/ nan 0 4/|bad.samples:13: expected the low latency in us, found "nan"
s/^latency 0 3/latency 0 4/|bad.samples:15: hosts 0 and 4
TABLE
    sed '/^latency /d' good.samples >bad.samples
    refuses 3 "bad.samples: expected measurements of pairs, found none" "$nettopo" solve bad.samples -o out.json
    head -c 5000 /dev/zero | tr '\0' x >bad.samples
    refuses 3 "bad.samples:1: expected lines of at most 4096 bytes" "$nettopo" solve bad.samples -o out.json
    head -c 100000 /dev/urandom >bad.samples
    refuses 3 "bad.samples:1:" "$nettopo" solve bad.samples -o out.json
    for matrix in pairs-blanks.txt pairs-semicolon.csv matrix-quoted.csv matrix-tabs.txt matrix-spreadsheet.csv osu.txt; do
        refuses 3 "$matrix:1: this is a matrix or the output of a benchmark. Pass it to \"nettopo solve\" with --latency or --bandwidth." \
            "$nettopo" solve "$root/tests/data/import/$matrix" -o out.json
        refuses 3 "$matrix:1: this is a matrix or the output of a benchmark, not a map" \
            "$nettopo" show "$root/tests/data/import/$matrix"
        refuses 3 "$matrix:1: this is a matrix or the output of a benchmark. Pass it to \"nettopo solve\" with" \
            "$nettopo" show --trace "$root/tests/data/import/$matrix"
    done
    refuses 3 "standard input:1:" "$nettopo" solve - -o out.json </dev/null
    refuses 3 "No such file" "$nettopo" solve nowhere -o out.json
    refuses 3 "Is a directory" "$nettopo" solve . -o out.json
}

@test "solve: bad matrices are exit 3 with file and line" {
    while IFS='|' read -r csv words; do
        # shellcheck disable=SC2059
        printf "$csv" >bad.csv
        refuses 3 "$words" "$nettopo" solve --latency bad.csv -o out.json
        refuses 3 "bad.csv" "$nettopo" solve --latency good.csv --bandwidth bad.csv -o out.json
    done <<'TABLE'
|bad.csv:1: expected a row of host names
x,a,b\n|bad.csv:2: expected a row for x
;a;b\na;;1,234\nb;2;\n|bad.csv:2: a number such as 1,234 can mean 1.234 or 1234
0,1\n1,0\n|bad.csv:1: expected names of hosts in the first row, found values. Pass a file of names
,a,a\n|bad.csv:1: expected each host once, found a again
,a,b\na,,1\nb,1\n|bad.csv:4: expected 2 values in each row
,a,b\na,,1\nb,1,,\n|bad.csv:3: expected 2 values as in the first row, found more
,a,b\na,,x\nb,,\n|bad.csv:2: column 3 (b): expected a latency
,a,b\na,,-1\nb,,\n|bad.csv:2: column 3 (b): expected a latency
,a,b\na,,inf\nb,,\n|bad.csv:2: column 3 (b): expected a latency
,a,b\na,,1\n|bad.csv:3: expected a row for b
TABLE
    printf ',a,x\na,,1\nx,,\n' >bad.csv
    refuses 3 "bad.csv: host x: expected in both" "$nettopo" solve --latency good.csv --bandwidth bad.csv -o out.json
}

@test "the map of one host is valid, and equal to itself" {
    "$nettopo" simulate --topology star:1 | "$nettopo" solve -o alone.json -
    "$nettopo" validate alone.json
    "$nettopo" simulate --topology star:1 -f map -o alone.json
    "$nettopo" validate alone.json
    run "$nettopo" compare alone.json alone.json
    [ "$status" = 0 ]
    [ "${lines[0]}" = "1 host in common; similarity 100.0 %: shape in common 100.0 %, figures in common 100.0 %" ]
}

@test "files of nettopo in each other's place, and of no known format, are named" {
    local verb
    cp "$maps/star.json" good.json
    for verb in show validate "compare good.json" plan "simulate --topology"; do
        # shellcheck disable=SC2086
        refuses 3 "good.samples:1: this is a samples file, not a map" "$nettopo" $verb good.samples
    done
    refuses 3 "good.json:1: this is JSON, not a samples file" "$nettopo" solve good.json
    refuses 3 "good.json:1: this is a map, not measurements" "$nettopo" solve --latency good.json
    refuses 3 "good.samples:1: this is a samples file, not a matrix" "$nettopo" solve --latency good.samples
    echo 'no format' >words
    refuses 3 'words: expected a map, DOT, TGF, ' "$nettopo" compare good.json words
    : >empty
    refuses 3 "empty: the file is empty" "$nettopo" show empty
    mkdir -p folder
    refuses 3 "cannot read store folder: Is a directory" "$nettopo" fleet show --store folder
    refuses 3 "good.json is not a store of nettopo" "$nettopo" fleet show --store good.json
}

@test "a bad map is exit 3, and exit 1 for validate" {
    echo '{' >bad.json
    for verb in show validate "show --json" "validate --json"; do
        # shellcheck disable=SC2086
        {
            refuses 3 "bad.json:2: not JSON" "$nettopo" $verb bad.json
            refuses 3 "No such file" "$nettopo" $verb nowhere.json
            NETTOPO_MAP=nowhere.json refuses 3 "nowhere.json" "$nettopo" $verb
        }
    done
    sed 's/"b": "s1"/"b": "s9"/' "$maps/star.json" >bad.json
    refuses 3 'bad.json: links[0].b: expected the name of a node or switch, found "s9"' "$nettopo" show bad.json
    run "$nettopo" validate bad.json
    [ "$status" = 1 ]
    [ "${#lines[@]}" = 4 ]
    [ "${lines[3]}" = 'bad.json: links[3].b: expected the name of a node or switch, found "s9"' ]
    local said=$output
    run "$nettopo" validate --json bad.json
    [ "$status" = 1 ]
    jq -e '.file == "bad.json" and .valid == false and (has("more") | not)' <<<"$output"
    [ "$(jq -r '"\(.file): \(.errors[].what)"' <<<"$output")" = "$said" ]
    [ -z "$("$nettopo" validate --json --quiet bad.json)" ]
    refuses 3 'bad.json: links[0].b' "$nettopo" show --json bad.json
    # each fact of a valid map's line
    for map in "$maps"/*.json; do
        [ "$("$nettopo" validate --json "$map" | jq -r 'select(.valid and .errors == []) |
            "\(.file): valid, \(.hosts) hosts, \(.switches) switch, \(.links) link"')" = \
            "$("$nettopo" validate "$map" | sed 's/ switches,/ switch,/; s/s$//')" ]
        accepted_by_schema "$map"
        "$nettopo" show --json "$map" >shown.json
        "$nettopo" show --json shown.json | cmp - shown.json
        diff <("$nettopo" show "$map") <("$nettopo" show shown.json)
        accepted_by_schema shown.json
    done
    # what solve wrote comes back to the byte
    "$nettopo" solve good.samples -o solved.json
    "$nettopo" show --json solved.json | cmp - solved.json
    sed 's/"star"/"ring"/' "$maps/star.json" >bad.json
    run "$nettopo" validate bad.json
    [ "$status" = 1 ]
    [ "$output" = "bad.json: switches: expected none or at least 4 in a ring, found 1" ]
}

@test "the system's refusal is exit 4, and nothing is left" {
    refuses 4 "cannot write no/out.json" "$nettopo" solve good.samples -o no/out.json
    mkdir full
    refuses 4 "cannot write full" "$nettopo" solve good.samples -o full
    run bash -c "'$nettopo' solve good.samples >/dev/full"
    [ "$status" = 4 ]
    run bash -c "'$nettopo' show '$maps/star.json' >/dev/full"
    [ "$status" = 4 ]
}

@test "a file that cannot be read is exit 4, one that does not exist exit 3, for every verb" {
    # root reads any file
    [ "$(id -u)" = 0 ] || skip "needs root to drop its rights"
    local file verb open
    open=$(mktemp -d "${TMPDIR:-/tmp}/nettopo-open-XXXXXX")
    echo "$open" >open # whoever may not search the folders above finds no store
    cp "$nettopo" "$open/nettopo"
    cp "$maps/star.json" "$open/good.json"
    echo x >"$open/closed"
    chmod 0 "$open/closed"
    chmod 755 "$open"
    for file in 4:closed 3:none; do
        for verb in "solve" "solve --latency" "show" "export --format dot" "hint" "compare" "compare good.json" \
            "hint --pattern matrix:${file#*:}" "plan --routes" "validate" "stats" "simulate --topology ./${file#*:}" \
            "fleet show --store" "fleet since --store" "fleet check --store" "fleet prior --store" \
            "fleet metrics --store" "fleet sync --format topology.conf --store"; do
            case $verb in
            compare) set -- "${file#*:}" good.json ;;
            hint*matrix*) set -- good.json ;;
            simulate*) set -- ;;
            *) set -- "${file#*:}" ;;
            esac
            # shellcheck disable=SC2086
            run --separate-stderr bash -c 'cd "$0" && exec setpriv --reuid=65534 --regid=65534 --clear-groups ./nettopo "$@"' \
                "$open" $verb "$@"
            echo "exit $status for $verb $*: $stderr"
            [ "$status" = "${file%%:*}" ]
            [[ ${#stderr_lines[@]} = 1 && $stderr == *"${file#*:}: "* ]]
        done
    done
}

@test "solve writes a valid map, the same each time and from any order of options" {
    "$nettopo" solve good.samples -o one.json
    "$nettopo" solve --output=two.json - <good.samples
    "$nettopo" solve -othree.json -- good.samples
    "$nettopo" solve good.samples >four.json
    cmp one.json two.json
    cmp one.json three.json
    cmp one.json four.json
    run "$nettopo" validate one.json
    [ "$status" = 0 ]
    [ "${#lines[@]}" = 1 ]
    [[ $output == "one.json: valid, 4 hosts"* ]]
    accepted_by_schema one.json
    grep -q '"job": {"id": 7, "level": "quick"}' one.json
    [ "$(grep -c '"status": "missing"' one.json)" = 0 ]
    python3 -c '
import json
m = json.load(open("one.json"))
assert [n["name"] for n in m["nodes"]] == ["n1", "n2", "n9", "n10"]
'
    "$nettopo" solve --latency good.csv -o csv.json
    "$nettopo" validate -q csv.json
    accepted_by_schema csv.json
}

@test "an output file is replaced whole, keeps its mode, and a link stays a link" {
    "$nettopo" solve good.samples -o one.json
    echo old >target.json
    chmod 640 target.json
    ln -s target.json link.json
    "$nettopo" solve good.samples -o link.json
    [ -L link.json ]
    cmp one.json target.json
    [ "$(stat -c %a target.json)" = 640 ]
    (umask 027 && "$nettopo" solve good.samples -o new.json)
    [ "$(stat -c %a new.json)" = 640 ]
    [ -z "$(find . -name '.nettopo*')" ]
}

@test "show marks what is suspect and missing, within the width, without colour in a pipe" {
    run env COLUMNS=60 LC_ALL=C "$nettopo" show "$maps/star.json"
    [ "$status" = 0 ]
    [[ $output == *"n4"*"5900"*"SUSPECT"* ]]
    [[ $output == *"n5"*"MISSING"* ]]
    [[ $output == *">=11800"* ]]
    [[ $output != *$'\033'* ]]
    NETTOPO_MAP=$maps/ring.json run "$nettopo" show
    [ "$status" = 0 ]
    [[ $output == *"ring"* ]]
    run "$nettopo" show - <"$maps/ring.json"
    [ "$status" = 0 ]
}

@test "a measured host at a tenth of the others' rate is one finding, though its pings are slower, too" {
    "$nettopo" solve "$root/tests/data/samples/narrow8.samples" -o narrow8.json
    found=$(jq -r '.findings[] | "\(.kind) \(.part.a)"' narrow8.json)
    [ "$found" = "link-narrow n3" ] || { echo "found: $found; expected: link-narrow n3"; return 1; }
}

@test "a host at a quarter of the others' rate, as adapters differ, is no finding but a warning" {
    "$nettopo" solve "$root/tests/data/samples/quarter8.samples" -o quarter8.json
    [ "$(jq '.findings | length' quarter8.json)" = 0 ]
    jq -r '.warnings[]' quarter8.json | grep -F "the link of n3 differs from all other host links"
}

# A tree of one more switch is found, whose links carry less between two switches than to several.
@test "full meshes of switches have no finding" {
    local mesh
    for mesh in 3,hosts=4 4,hosts=2 4,hosts=4 5,hosts=3 6,hosts=2; do
        "$nettopo" simulate -t "fullmesh:$mesh" --noise 0.02 --bandwidth --seed 1 -o mesh.samples
        "$nettopo" solve mesh.samples -o mesh.json
        [ "$(jq '.findings | length' mesh.json)" = 0 ] || { echo "$mesh: $(jq -c .findings mesh.json)"; return 1; }
    done
}

@test "rounds that were slow for all hosts blame none of them" {
    local sample
    for sample in busy4 busy5 busy6; do
        "$nettopo" solve "$root/tests/data/samples/$sample.samples" -o busy.json
        [ "$(jq '.findings | length' busy.json)" = 0 ] || { jq -c .findings busy.json; return 1; }
    done
}

@test "links on cycles have bandwidths, and the network a bisection" {
    local spec links bisection at_most
    while read -r spec links bisection at_most; do
        $nettopo simulate -t "$spec" --link-rate 10000 --bandwidth -f samples -o s
        $nettopo solve s -o m
        $nettopo validate m
        jq -e --argjson links "$links" --argjson bisection "$bisection" --argjson at_most "$at_most" '
            [.links[] | select(.a | startswith("s"))] as $inner |
            ($inner | length == $links and all(.bandwidth_MBps / 10000 - 1 | fabs < 0.01)) and
            ([$inner[] | .bandwidth_at_least // empty] == []) and
            (.bisection_MBps / $bisection - 1 | fabs < 0.01) and
            (.bisection_at_most // false) == $at_most' m
    done <<END
ring:4,hosts=3 4 20000 false
torus:4x4,hosts=2 32 80000 false
torus:6x5,hosts=2 60 100000 true
dragonfly:3x4x2 21 50000 false
END
    $nettopo show m | grep -q '^bisection 50'
}

@test "a map that cannot be read is taken from NETTOPO_JSON, by every command that takes one" {
    export NETTOPO_JSON NETTOPO_MAP=/nowhere/map.json
    NETTOPO_JSON=$(jq -c . "$maps/star.json")
    for verb in show "show --json" hint "hint --format json" "export --format dot" plan; do
        # shellcheck disable=SC2086
        diff <("$nettopo" $verb) <("$nettopo" $verb "$maps/star.json")
        # shellcheck disable=SC2086
        diff <("$nettopo" $verb "$NETTOPO_MAP") <("$nettopo" $verb "$maps/star.json")
    done
    run "$nettopo" compare "$NETTOPO_MAP" "$maps/star.json"
    [ "$status" = 0 ]
    run "$nettopo" validate
    [ "$status" = 0 ]
    [[ $output == '$NETTOPO_JSON: valid, '* ]]
    # without the path, too; not in place of another file, or of one that is there
    NETTOPO_MAP='' run "$nettopo" validate
    [ "$status" = 0 ]
    refuses 3 "other.json" "$nettopo" show other.json
    [ "$(NETTOPO_MAP=$maps/ring.json "$nettopo" validate)" = "$("$nettopo" validate "$maps/ring.json")" ]
    refuses 3 "cannot read the samples beside NETTOPO_MAP" "$nettopo" show --trace
    NETTOPO_JSON='{' refuses 3 '$NETTOPO_JSON:1: not JSON' "$nettopo" show
}

@test "show states the support of switches, aligned, and the low confidence of the map" {
    run env COLUMNS=80 LC_ALL=C "$nettopo" show "$maps/unsure.json"
    [ "$status" = 0 ]
    [[ $output == *"low confidence: 2 of 4 switches are below 90 %"* ]]
    [ "$(grep -oE 's[134] .* [0-9]+ %$' <<<"$output" | tr -s ' ' | cut -d' ' -f1,4)" = \
        "$(printf 's1 87\ns3 96\ns4 62')" ]
    [ "$(grep -E '(support| %)$' <<<"$output" | grep -v '^not' | awk '{print length}' | sort -u | wc -l)" = 1 ]
    [ "$(grep -c ' %$' <<<"$output")" = 4 ] # and the host n5
    run env COLUMNS=80 LC_ALL=C "$nettopo" show "$maps/star.json"
    [[ $output != *support* ]]
}

@test "hint --spare: no more hosts than there are; dlrover gets the others; cores of a rank file" {
    "$nettopo" simulate --topology tree:2x2 -f map -o four.json
    run --separate-stderr "$nettopo" hint --spare 4 -f dlrover four.json
    [ "$status" = 0 ]
    [ "$(jq -c keys <<<"$output")" = '["n1"]' ]
    [ "$stderr" = "nettopo hint: --spare 4: the map has 4 hosts, so that 3 are left out and one is kept" ]
    run --separate-stderr "$nettopo" hint --spare 3 -f dlrover four.json
    [ "$(jq -c keys <<<"$output")" = '["n1"]' ]
    [ -z "$stderr" ]
    # each rank's cores in a rank file
    [ "$("$nettopo" hint --cpus-per-task 2 --ntasks-per-node 2 -f rankfile four.json | head -n 3 | paste -sd' ')" = \
        "rank 0=n1 slot=0-1 rank 1=n1 slot=2-3 rank 2=n2 slot=0-1" ]
    # numbers without exponents
    run "$nettopo" hint --ntasks 4000 --bytes 1000000 four.json
    [[ $output == *hop_bytes* && $output != *e+* ]]
}

@test "hint --rails: what several devices are worth by size, aligned; a map without them is exit 3" {
    run "$nettopo" hint --rails "$maps/rails.json"
    [ "$status" = 0 ]
    [ "$(awk '/^(16|one)/ {part = $1; next} NR > 1 {print part, length($0)}' <<<"$output" | sort -u | wc -l)" = 3 ]
    # a megabyte: 5 and 10 ns a byte make 3.3 together, UCX's own division was measured at 4
    [ "$(awk '/^one/ {exit} $1 == 2 && $2 == "MiB" {print $3, $6 $7, $9 $10}' <<<"$output")" = "r1 33% 20%" ]
    # sixteen of them: scheduled by simulation, and as UCX's trains were measured
    [ "$(awk '/^one/ {exit} $1 == 2 && $2 == "MiB" {print $14 $15, $17 $18}' <<<"$output")" = "31% 20%" ]
    refuses 3 "no LogGP parameters of two rails" "$nettopo" hint --rails -o out "$maps/star.json"
    refuses 3 "no LogGP parameters of two rails" "$nettopo" hint --rails --json -o out "$maps/star.json"
}

@test "a support is that of the links, and a switch of less than half is not stated" {
    sed 's/"support": 0.87/"support": 0.86/' "$maps/unsure.json" >bad.json
    run "$nettopo" validate bad.json
    [ "$status" = 1 ]
    [[ $output == *"switches[0].support: expected the probability of its uplink, 0.87, found 0.86"* ]]
    refuses 3 "found 0.86" "$nettopo" show bad.json
    sed 's/0\.62/0.49/' "$maps/unsure.json" >bad.json
    run "$nettopo" validate bad.json
    [ "$status" = 1 ]
    [[ $output == *"switch s4: expected a support from 0.5"* ]]
    sed 's/"resolution_us": 0.08/"resolution_us": 0.16/' "$maps/unsure.json" >low.json
    run "$nettopo" validate low.json
    [ "$status" = 1 ]
    [[ $output == *"expected a latency_us of fit.resolution_us, 0.16, or more of a link between switches, found 0.15"* ]]
    sed 's/"latency_us": 0.56/"latency_us": 0/' "$maps/unsure.json" >bad.json
    run "$nettopo" validate bad.json
    [ "$status" = 1 ]
    [[ $output == *"link n1 s1: expected a latency_us above 0"* ]]
}

@test "the hint leaves groups alone that the map is not sure of" {
    gain() { "$nettopo" hint --pattern ring --format json "$1" | jq -r '[.gain, .ranks[]] | join(" ")'; }
    sed -E 's/0\.(87|62)/0.97/' "$maps/unsure.json" >sure.json
    sed 's/0\.96/0.89/' "$maps/unsure.json" >none.json
    read -r all order <<<"$(gain sure.json)"
    [ "$order" = "n1 n4 n2 n5 n3 n6" ]
    read -r some order <<<"$(gain "$maps/unsure.json")"
    [[ " $order " == *" n2 n5 "* ]]
    [[ " $order " != *" n1 n4 "* && " $order " != *" n3 n6 "* ]]
    [ "$(gain none.json)" = "1 n1 n2 n3 n4 n5 n6" ]
    [ "$(jq -n "1 < $some and $some < $all")" = true ]
}

@test "show --trace: the phases of a record, of now and of before" {
    run env COLUMNS=80 "$nettopo" show --trace good.samples
    [ "$status" = 0 ]
    [ "${lines[0]}" = "phase    seconds  rounds  pairs  failed" ]
    [ "${lines[1]}" = "latency    0.500       1      6" ]
    [ "${lines[2]}" = "ok after 0.750 s, 4 hosts" ]
    # a dated one, with what failed in it
    sed -e 's/^host n9$/&\nhost n5\nmissing 4 did not answer/' -e 's/^phase latency$/& 0.25/' \
        -e 's/^phase-end.*/failed 0 4 no answer in time\n&\nphase host-links 0.8\nround/' good.samples >samples
    NETTOPO_MAP=$PWD/map.json run env COLUMNS=80 "$nettopo" show --trace
    [ "$status" = 0 ]
    [ "${lines[0]}" = "phase       begin s  seconds  rounds  pairs  failed" ]
    [ "${lines[1]}" = "meet          0.000    0.250" ]
    [ "${lines[2]}" = "latency       0.250    0.500       1      6  1: all of n5" ]
    [ "${lines[3]}" = "host-links    0.800                1" ]
    [ "${lines[5]}" = "missing  n5: did not answer" ]
    # and the map does not depend on it
    "$nettopo" solve samples | sha256sum >dated
    sed 's/^\(phase [a-z-]*\) .*/\1/' samples | "$nettopo" solve - | sha256sum | diff dated -
    refuses 3 ':11: expected seconds, found "soon"' "$nettopo" show --trace <(sed 's/0\.25$/soon/' samples)
    refuses 2 "NETTOPO_MAP is not set" "$nettopo" show --trace
}

@test "show --plain is ASCII, --wide cuts nothing" {
    map=$(find "$maps" -name star.json)
    LC_ALL=C.UTF-8 "$nettopo" show --plain "$map" >plain
    LC_ALL=C tr -dc '\n -~' <plain | cmp - plain
    COLUMNS=20 "$nettopo" show --wide "$map" >wide
    COLUMNS=1000 "$nettopo" show "$map" | diff - wide
}

@test "show keeps 400 hosts on a screen" {
    python3 - >big.csv <<'PY'
import random
random.seed(2)
n = ["n%03d" % k for k in range(400)]
print("," + ",".join(n))
for i in range(400):
    print(n[i] + "," + ",".join(
        "" if i == j else "%.3f" % ((2 if i // 40 == j // 40 else 5) * random.gauss(1, .01))
        for j in range(400)))
PY
    "$nettopo" solve --latency big.csv -o big.json
    "$nettopo" validate -q big.json
    run env COLUMNS=80 LC_ALL=C "$nettopo" show big.json
    [ "$status" = 0 ]
    [ "${#lines[@]}" -lt 40 ]
    [[ $output == *"n[000-039]"*"40 hosts"* ]]
    [ "$(printf '%s\n' "$output" | awk '{ if (length > m) m = length } END { print m }')" -le 80 ]
    run env LC_ALL=C "$nettopo" show --all big.json
    [ "${#lines[@]}" -gt 400 ]
}

@test "show tells transports, and the network devices near to GPUs" {
    jq '.models = [{name: "m1", hosts: 1, packages: 2, numa_nodes: 2, cores: 8, threads: 8, threads_allowed: 8,
            nics: [{name: "mlx5_0:1", numa_node: 0, transports: "rc_mlx5,ud_mlx5"}, {name: "mlx5_0:2"}],
            gpus: [{pci: "0000:17:00.0", numa_node: 0, nics: "mlx5_0:1,mlx5_0:2"}, {pci: "0000:ca:00.0"}]}]
        | .nodes[0].model = "m1"
        | .sweep.transports = [{used: "rc_mlx5/mlx5_0:1", hosts: 3}, {used: "tcp/eth0", hosts: 1}]' \
        "$maps/star.json" >near.json
    run "$nettopo" validate near.json
    [ "$status" = 0 ] || { echo "$output" && return 1; }
    run "$nettopo" show near.json
    output=$(tr -s ' \n' ' ' <<<"$output") # lines may be broken anywhere
    [[ $output == *"network: mlx5_0:1 by rc_mlx5,ud_mlx5 at NUMA node 0, mlx5_0:2"* ]]
    [[ $output == *"GPUs: 0000:17:00.0 at NUMA node 0, nearest mlx5_0:1,mlx5_0:2; 0000:ca:00.0"* ]]
    [[ $output == *"UCX used rc_mlx5/mlx5_0:1 (3 hosts); tcp/eth0 (1 host)"* ]]
    jq '.sweep.transports[0].hosts = "many"' near.json >wrong.json
    run "$nettopo" validate wrong.json
    [ "$status" = 3 ] || [ "$status" = 1 ]
}

# U+009B and the byte 0x9b begin an escape sequence on a terminal, as ESC [ does
@test "no control character of a file's name or text reaches the terminal" {
    local name=$'\xc3\xa9\xc2\x9b2J\x9b.json' seen=$'\xc3\xa9??2J?.json' verb
    printf 'n\xc2\x9b1' >"$name"
    for verb in show validate solve hint "compare $maps/star.json" "plan --routes"; do
        run $nettopo $verb "$name"
        [[ $status = 3 && $output == *"$seen"* ]] || { echo "$verb: $output" && return 1; }
    done
    cp "$maps/star.json" "$name"
    run "$nettopo" validate "$name"
    [[ $status = 0 && $output == "$seen: valid"* ]]
}

@test "hint --format env: orders of any length, and the network devices to use" {
    local format
    "$nettopo" simulate --topology tree:4x100 -f map -o large.json
    for format in env csh; do
        run "$nettopo" hint --format $format large.json
        [ "$status" = 0 ]
        [ "$(tr -c -d , <<<"${lines[0]}" | wc -c)" = 399 ]
        [[ $output != *DEVICES* ]]
    done
    run "$nettopo" hint --format env "$maps/rails.json"
    [[ $output =~ NETTOPO_NET_DEVICES=([a-z0-9_,:]+) ]]
    [[ $output == *"UCX_NET_DEVICES=${BASH_REMATCH[1]}"* ]]
    (eval "$output" && [ "$UCX_MAX_RNDV_RAILS $UCX_MAX_EAGER_RAILS" = "2 1" ])
    [ "$("$nettopo" hint "$maps/rails.json" | jq -c .rails)" = \
        '{"UCX_NET_DEVICES":"r0,r1","UCX_MAX_RNDV_RAILS":2,"UCX_MAX_EAGER_RAILS":1}' ]
    # a device whose name a shell would take apart is not advised, and does nothing
    for name in 'r1;touch taken' '$(touch taken)' '`touch taken`' "r1' x" 'r1" x' 'r1 x' 'r1&touch taken' 'r!1' 'r1\'; do
        jq --arg name "$name" '.loggp |= map(if .rail == "r1" then .rail = $name else . end)' \
            "$maps/rails.json" >odd.json
        (eval "$("$nettopo" hint --format env odd.json)" && [ -z "${UCX_NET_DEVICES-}${NETTOPO_NET_DEVICES-}" ])
        [[ $("$nettopo" hint --format csh odd.json) != *UCX* ]]
        [ "$("$nettopo" hint odd.json | jq -c .rails)" = null ]
        [ ! -e taken ]
    done
    # without the gap a train has no time, and nothing is saved
    jq '.loggp |= map(del(.g_us, .g_se_us, .gap_us_per_byte))' "$maps/rails.json" >bare.json
    run "$nettopo" hint --rails bare.json
    [ "$status" = 0 ]
    [ "$(grep -cE ' [0-9]+ ([KM]i)?B r[01] .* %( +-){6}$' <<<"$output")" = 7 ] || { echo "$output" && return 1; }
    [ "$(grep -cE '^ +[0-9]+ ([KM]i)?B( +-){6}$' <<<"$output")" = 21 ] || { echo "$output" && return 1; }
    "$nettopo" hint --rails --json bare.json | jq -e '[.classes[].trains[].messages[] | keys] | flatten | unique == ["bytes"]'
}

# Lichei 2006, table 3.5.3.1: InfiniBand and TCP over Ethernet.
@test "hint --rails: what Open MPI does, and what a schedule saves" {
    jq '.loggp = [["ib0", 1.4, 0.00103, 1.4, 2.82], ["eth0", 0.897, 0.00849, 6.1, 65.4]] | .loggp |= map(
        {class: "direct", rail: .[0], min_bytes: 1, max_bytes: 4194304, L_us: .[4], o_send_us: .[3],
         o_recv_us: .[3], g_us: .[1], G_us_per_byte: .[2], gap_us_per_byte: .[2]})' "$maps/rails.json" >thesis.json
    "$nettopo" hint --rails thesis.json >table
    # one message of 2 MiB divided; then 16 of them by each policy
    grep -E '^ +2 MiB ib0 +2165\.7 +1939\.8 +10 %' table
    sed -n '/^one message divided/,/^16/p' table | grep -E '^ +2 MiB +2165\.7 +2004 +1939\.8 +3 %$'
    sed -n '/^one message divided/,/^16/p' table | grep -E '^ +32 KiB +39\.37 +- +39\.37 +-$' # it does not divide this
    sed -n '/^16 messages to one host/,/^16 messages to a host each/p' table >one
    grep -E '^ +8 B +131\.56 +88\.859 +88\.859 +26\.735 +26\.735 +70 %$' one
    grep -E '^ +32 KiB +2310\.8 +531\.47 +531\.47 +639\.08 +531\.47 +0 %$' one
    # each of 16 hosts begins with the first device; of two hosts, one of them only over it, both use it
    sed -n '/^16 messages to a host each/,/^16 messages to two/p' table | grep -E '^ +32 KiB( +566\.62){3} +639\.08 +531\.47 +6 %$'
    sed -n '/^16 messages to two hosts, one of them only over ib0$/,$p' table | grep -E '^ +32 KiB +1197\.3( +566\.62){2} +639\.08 +531\.47 +6 %$'
    # the map's own devices stay one: the second would slow it down
    [ "$("$nettopo" hint thesis.json | jq -c .rails)" = '{"UCX_NET_DEVICES":"ib0"}' ]
}
