#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# nettopo fleet by its outside: maps of made networks go in, each once, and come out together.

bats_require_minimum_version 1.5.0

setup_file() {
    setup
    mkdir "$BATS_FILE_TMPDIR/planted" && cd "$BATS_FILE_TMPDIR/planted"
    make_planted
}

setup() {
    root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    nettopo=${NETTOPO:-$root/build/nettopo}
    cd "${BATS_TEST_TMPDIR:-$BATS_FILE_TMPDIR}" || return 1
    unset NETTOPO_MAP
}

# job ID DAY [SED]: the directory of a job of yesterday's world: 12 hosts of 24 behind six switches
job() {
    mkdir -p "jobs/$1"
    "$nettopo" simulate --topology tree:2x3x4 --noise 0.02 --seed "$1" |
        sed -E "/^created /d; s/^level .*/&\njob $1 0\ncluster c\ncreated 2026-01-0$2T00:00:00Z/; ${3-}" >"jobs/$1/samples"
    "$nettopo" solve -o "jobs/$1/map.json" "jobs/$1/samples"
}

@test "each verb has help, and a wrong one is a usage error" {
    run "$nettopo" fleet --help
    [ "$status" = 0 ]
    verbs=$(sed -nE 's/^  ([a-z]+) .*/\1/p' <<<"$output")
    [ -n "$verbs" ]
    for verb in $verbs; do
        "$nettopo" fleet "$verb" --help | grep -q "^Usage: nettopo fleet $verb"
        grep -q "^\.B nettopo fleet $verb\$" "$root/etc/man/nettopo-fleet.1"
    done
    run "$nettopo" fleet nonsense
    [ "$status" = 2 ]
    run "$nettopo" fleet
    [ "$status" = 2 ]
}

@test "maps are taken once, and together are a map that validates" {
    job 1 1
    job 2 2
    run "$nettopo" fleet ingest --store s jobs
    [ "$status" = 0 ]
    [ "$output" = "2 taken, 0 known, 0 rejected" ]
    job 3 3
    run "$nettopo" fleet ingest --store s jobs/3 jobs
    [ "$output" = "1 taken, 3 known, 0 rejected" ]
    "$nettopo" fleet show --store s --format json >map.json
    "$nettopo" validate map.json
    [ "$(jq -c '.fleet | [.jobs, .users, .first, .last]' map.json)" = \
        '[3,1,"2026-01-01T00:00:00Z","2026-01-03T00:00:00Z"]' ]
    [ "$(jq '[.fleet.parts[] | select(.jobs == 3)] | length' map.json)" -ge 24 ]
    "$nettopo" fleet show --store s | grep -q '^cluster c: 3 jobs of 1 user, 2026-01-01 to 2026-01-03, 24 hosts'
    run "$nettopo" compare map.json jobs/1/map.json
    [[ $output == *"100"* ]]
}

@test "hosts that come in another order than their names stay where they are" {
    job 1 1
    job 2 2
    mkdir jobs/0
    { printf ',%s\n' "n3,n7,n14,n23"; printf 'n3,,1.5,2.5,2.5\nn7,,,2.5,2.5\nn14,,,,2.5\nn23,,,,\n'; } >few.csv
    "$nettopo" solve --latency few.csv -o few.json
    jq '.job = {"id": 100, "cluster": "c", "level": "quick", "created": "2026-01-01T00:00:00Z"}' few.json >jobs/0/map.json
    printf 'JobID|UID|NodeList\n100|1000|n[1-24]\n1|1000|n[1-24]\n2|1001|n[1-24]\n' >record
    "$nettopo" fleet ingest --store s --record record jobs/0
    "$nettopo" fleet ingest --store s --record record jobs/1 jobs/2
    "$nettopo" fleet show --store s --format json >map.json
    run "$nettopo" compare map.json jobs/1/map.json
    [[ $output == *"100"* ]]
    "$nettopo" fleet sync --store s -f topology.conf -o t.conf --apply >/dev/null
    for leaf in n1,n2,n3,n4 n5,n6,n7,n8 n21,n22,n23,n24; do grep -q "Nodes=$leaf\$" t.conf; done
    [ "$(jq -c '[.fleet.parts[] | select(.name == "n3") | .jobs]' map.json)" = "[2]" ]
}

@test "what was folded gives the same map" {
    for k in 1 2 3; do job "$k" "$k"; done
    "$nettopo" fleet ingest --store new -q jobs --fold 100000d
    "$nettopo" fleet ingest --store old -q jobs --fold 1d
    [ "$("$nettopo" fleet show --store old | tail -n +5)" = "$("$nettopo" fleet show --store new | tail -n +5)" ]
}

@test "what is hostile is refused with a line, and the rest is taken" {
    job 1 1
    job 2 2
    job 3 3 's/^host n7$/host n99/'
    cp -r jobs/2 jobs/4
    sed -i 's/"id": 2/"id": 4/' jobs/4/map.json             # the map of one job, the record of another
    mkdir jobs/5
    echo '{"schema": "nettopo-map/1"}' >jobs/5/map.json
    mkdir jobs/6
    sed 's/"a": "n1"/"a": "..\/n1"/' jobs/1/map.json >jobs/6/map.json
    mkdir jobs/7
    sed 's/2026-01-01/2999-01-01/' jobs/1/map.json >jobs/7/map.json
    mkdir jobs/8
    sed 's/"latency_us": 0/"latency_us": -1/' jobs/1/map.json >jobs/8/map.json
    mkdir jobs/9
    sed 's/"cluster": "c"/"cluster": "other"/; s/"id": 1/"id": 9/' jobs/1/map.json >jobs/9/map.json
    mkdir jobs/10
    head -c 1000 /dev/urandom | gzip >jobs/10/map.json
    printf 'JobID|UID|NodeList\n' >record
    printf '%d|1000|n[1-24]\n' 1 2 3 4 5 6 7 8 9 10 >>record
    run --separate-stderr "$nettopo" fleet ingest --store s --record record jobs
    [ "$status" = 3 ]
    [ "$output" = "2 taken, 0 known, 8 rejected" ]
    [ "$(wc -l <<<"$stderr")" = 8 ]
    [ "$(grep -c '^nettopo fleet ingest: rejected: jobs/' <<<"$stderr")" = 8 ]
    grep -q 'jobs/3/map.json: host n99 was not in job 3' <<<"$stderr"
    grep -q 'jobs/4/map.json: the samples are from job 2, the map is from job 4' <<<"$stderr"
    # the same as JSON; what was taken is known now
    cp "$BATS_TEST_TMPDIR/record" again
    run --separate-stderr "$nettopo" fleet ingest --json --store s --record again jobs
    [ "$status" = 3 ]
    jq -e '[.taken, .known, .refused] == [0, 2, 8] and (.rejected | length) == 8' <<<"$output"
    diff <(jq -r '.rejected[] | "nettopo fleet ingest: rejected: " + .reason' <<<"$output") - <<<"$stderr"
    [ "$(jq -r '.rejected[0].file' <<<"$output")" = jobs/3/map.json ]
    [ -z "$("$nettopo" fleet ingest --json -q --store s --record record jobs/1)" ]
    run --separate-stderr "$nettopo" fleet ingest --store s --record <(sed /^2/d record) jobs/2
    [ "$status" = 3 ]
    [[ $stderr == *"does not contain job 2"* ]]
}

@test "what is no regular file is refused, and nothing is waited for" {
    job 1 1
    job 2 2
    mkfifo jobs/pipe.gz
    ln -s "$PWD/jobs/1/map.json" jobs/link.gz
    rm jobs/2/samples
    mkfifo jobs/2/samples
    run --separate-stderr timeout 600 "$nettopo" fleet ingest --store s jobs
    [ "$status" = 3 ]
    [ "$output" = "1 taken, 0 known, 3 rejected" ]
    grep -q 'jobs/pipe.gz: not a regular file' <<<"$stderr"
    grep -q 'jobs/link.gz: ' <<<"$stderr"
    grep -q 'jobs/2/samples: not a regular file' <<<"$stderr"
}

@test "a small file costs little memory, whatever it unpacks to" {
    job 1 1
    python3 - jobs/1 <<'PY'
import gzip, sys
text = open(sys.argv[1] + "/map.json").read()
record = open(sys.argv[1] + "/samples").read()
head = record[: record.index("\nphase ")] + "\nphase latency\n"
end = "phase-end 1\nend ok 1\n"
files = {
    "bomb": text + head + "round\n" + "failed 0 1 x\n" * (8 << 20) + end,
    "pair": text + head + "round\n" + "latency 0 1 8 3 1 0.1 1\n" * (3 << 18) + end,
    "failed": text + head + "round\n" + "failed 0 1 x\n" * (5 << 18) + end,
    "rounds": text + head + "round\n" * (2 << 20) + end,
    "reasons": text + head + "".join("round\n" + "".join("failed 0 1 %d\n" % (300 * k + i) for i in range(300))
                                     for k in range(3500)) + end,
    "objects": text.rstrip()[:-1] + ',"more":[' + ",".join(["{}"] * (1 << 18)) + "]}\n",
    "values": text.rstrip()[:-1] + ',"more":[' + ",".join(["1"] * (1 << 22)) + "]}\n",
    "taken-failed": text + head + ("round\n" + "failed 0 1 x\n" * 380) * 4000 + end,
    "taken-pair": text + head + ("round\n" + "latency 0 1 8 3 1 0 1\n" * 380) * 2300 + end,
}
for name, data in files.items():
    packed = gzip.compress(data.encode(), 6)
    assert len(packed) < 4 << 20 and (name == "bomb" or len(data) < 20 << 20), (name, len(data), len(packed))
    open(name + ".gz", "wb").write(packed)
PY
    for file in *.gz; do
        python3 - "$nettopo" "$file" <<'PY'
import os, sys
pid = os.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "fleet", "ingest", "--store", "s." + sys.argv[2], sys.argv[2]])
_, status, used = os.wait4(pid, 0)
code = os.waitstatus_to_exitcode(status)
print("exit", code, used.ru_maxrss >> 10, "MB", used.ru_utime, "s")
assert code == (0 if sys.argv[2].startswith("taken") else 3) and used.ru_maxrss < 200 << 10
PY
    done
}

@test "files that root publishes for all users count as of one unknown user" {
    [ "$EUID" = 0 ] || skip "not root"
    planted
    "$nettopo" fleet ingest -q --store nobody jobs
    "$nettopo" fleet show --store nobody | grep -q '^cluster c: 12 jobs of 1 user,'
    [ "$("$nettopo" fleet since --store nobody)" = "no changes in 12 jobs" ]
    "$nettopo" fleet check --store nobody --max-age 20000d
}

# jobs K... that measure net.dot with hosts n[1-H], in which n5 is said to be slow: blamed H JOBS
blamed() {
    local k
    printf 'JobID|UID|NodeList\n' >record
    for k in $(seq "$2"); do
        mkdir -p "jobs/$k"
        "$nettopo" simulate --topology net.dot --noise 0.02 --link-latency 0.25 --seed "$k" |
            sed "/^created /d; s/^level .*/&\njob $k 0\ncluster c\ncreated 2026-01-0${k}T00:00:00Z/" >"jobs/$k/samples"
        "$nettopo" solve "jobs/$k/samples" | jq '(.nodes[] | select(.name == "n5") | .switch) as $s |
            .findings = [{kind: "link-slow", part: {a: "n5", b: $s}, alternatives: [{kind: "host-slow", part: {a: "n5"}}],
            found: 0.8, expected: 0.5, unit: "us", way: "both", confidence: 0.99}] |
            (.links[] | select(.a == "n5") | .suspect) = true' >"jobs/$k/map.json"
        echo "$k|$((1000 + k % 3))|n[1-$1]" >>record
    done
    "$nettopo" fleet ingest -q --store s --record record jobs
}

@test "a host without comparable ones is not blamed, whatever single jobs found" {
    {
        echo 'graph {' # more switches with hosts than the model takes, and hosts above them
        printf 's%d -- s1\n' $(seq 2 66)
        printf 'n%d -- s1\n' $(seq 20)
        for k in $(seq 21 150); do echo "n$k -- s$(((k - 21) / 2 + 2))"; done
        echo '}'
    } >net.dot
    blamed 150 4
    "$nettopo" fleet show --store s --format json |
        jq -e '["n1", "n5", "n20"] - [.nodes[] | select(.status == "missing") | .name] == []'
    "$nettopo" fleet check --store s --max-age 20000d --hosts n5
}

@test "hosts that are not equally deep are placed" {
    {
        echo 'graph { s1 -- s2; s2 -- s3'
        printf 'n%d -- s1\n' 1 2 3 4
        printf 'n%d -- s2\n' 5 6
        printf 'n%d -- s3\n' 7 8 9 10
        echo '}'
    } >net.dot
    blamed 10 8
    "$nettopo" fleet show --store s --format json | jq -e '[.nodes | group_by(.switch)[] | map(.name) | sort] | sort ==
        [["n1", "n2", "n3", "n4"], ["n10", "n7", "n8", "n9"], ["n5", "n6"]]'
    "$nettopo" fleet show --store s --format json | jq -e '.links | length == 12 and all(.latency_us > 0.2 and .latency_us < 0.85)'
}

@test "without a store there is one line" {
    run --separate-stderr "$nettopo" fleet show --store none
    [ "$status" = 3 ]
    [ "$(wc -l <<<"$stderr")" = 1 ]
    [ ! -e none ]
    run --separate-stderr "$nettopo" fleet ingest --store none nowhere
    [ "$status" = 3 ]
    [[ $stderr == *"nowhere"* ]]
}

@test "one job is no map, as text and as JSON" {
    job 1 1
    "$nettopo" fleet ingest -q --store s jobs
    run --separate-stderr "$nettopo" fleet show --store s
    [ "$status" = 1 ]
    [[ $output == "cluster "*": 1 job of "*" host"* ]]
    [ "${#lines[@]}" = 1 ]
    [[ $stderr == "nettopo fleet show: no map: "* ]]
    local why=$stderr
    run --separate-stderr "$nettopo" fleet show --store s --json
    [ "$status" = 1 ]
    [ -z "$output" ]
    [ "$stderr" = "$why" ]
}

# twelve jobs of three users, standard; from the seventh on the link of n5 carries 70 %
make_planted() {
    printf 'JobID|UID|NodeList\n' >record
    "$nettopo" simulate --topology tree:2x2x4 --noise 0.02 --bandwidth --seed 1 |
        sed '/^created /d; s/^level .*/&\njob JOB 0\ncluster c\ncreated 2026-01-DAYT00:00:00Z/' >record.samples
    for k in $(seq 12); do
        mkdir -p "jobs/$k"
        sed "s/^job JOB/job $k/; s/DAY/$(printf %02d "$k")/" record.samples >"jobs/$k/samples"
        "$nettopo" solve -o m.json "jobs/$k/samples"
        jq --argjson k "$k" '.links[] |= if .a == "n5" and $k >= 7 then .bandwidth_MBps *= 0.7 else . end' m.json >"jobs/$k/map.json"
        echo "$k|$((1000 + k % 3))|n[1-16]" >>record
    done
    "$nettopo" fleet ingest -q --store s --record record jobs
}
planted() { cp -a "$BATS_FILE_TMPDIR/planted/." .; }
planted_of_one_user() {
    planted && rm s
    sed -i 's/|[0-9]*|/|1000|/' record
    "$nettopo" fleet ingest -q --store s --record record jobs
}

@test "since says what is narrow, since when and by how many users" {
    planted
    run "$nettopo" fleet since --store s
    [ "$status" = 0 ]
    [ "${#lines[@]}" = 1 ]
    [[ $output == "n5 "*": bandwidth up worse from "*" since 2026-01-07, job 7; in 6 jobs of 3 users, confidence 0.9"* ||
        $output == *"confidence 1.0000" ]]
    "$nettopo" fleet since --store s --json n5 | jq -e '.changes[0] | .worse and .current and
        (.to / .from - 0.7 | fabs < 0.01) and .since == "2026-01-07T00:00:00Z" and .jobs == 6 and .users == 3'
    for asked in n5 n5.cluster.example "n5 ${output:3:2}" "  ${output:3:2}  n5.x"; do
        [ "$("$nettopo" fleet since --store s "$asked")" = "$output" ]
    done
    for other in n6 "n6 s1"; do
        [ "$("$nettopo" fleet since --store s "$other")" = "no changes in 12 jobs" ]
    done
    for unknown in n99 "n6 s99" nosuchhost; do
        run "$nettopo" fleet since --store s "$unknown"
        [ "$status" = 3 ]
        [ "$output" = "nettopo fleet since: ${unknown#* } is not in the store" ]
    done
    for wrong in "" " " "n5 s1 s2"; do
        run "$nettopo" fleet since --store s "$wrong"
        [ "$status" = 2 ]
    done
}

@test "what is slow from the first job on is told, also between switches" {
    planted
    mkdir again
    leaf=$(jq -r '.nodes[] | select(.name == "n9") | .switch' m.json)
    above=$(jq -r --arg s "$leaf" '.links[] | select((.a == $s or .b == $s) and (.a | startswith("n") | not)) | if .a == $s then .b else .a end' m.json)
    for k in $(seq 12); do
        mkdir "again/$k"
        cp "jobs/$k/samples" "again/$k"
        # n6 in every job, the uplink of n9's leaf from the ninth job on
        jq --argjson k "$k" --arg leaf "$leaf" --arg above "$above" '
            def finding(a; b): {kind: "link-slow", part: {a: a, b: b}, found: 1.25, expected: 0.5, unit: "us",
                way: "both", confidence: 0.99};
            .findings = [finding("n6"; (.nodes[] | select(.name == "n6") | .switch))] +
                if $k >= 9 then [finding($leaf; $above)] else [] end' "jobs/$k/map.json" >"again/$k/map.json"
    done
    "$nettopo" fleet ingest -q --store t --record record again
    "$nettopo" fleet since --store t --current | tee said
    grep -Eq '^n6 [^ ]*: latency worse from 0.5 to 1.25 us since the first job on 2026-01-01, job 1; in 12 jobs of 3 users' said
    grep -Eq '^s[0-9]+ s[0-9]+: latency worse from 0.5 to 1.25 us since 2026-01-09, job 9; in 4 jobs of 3 users' said
    run "$nettopo" fleet check --store t --hosts n6 --max-age 20000d
    [ "$status" = 1 ]
    [ "$output" = "n6: latency 1.25 instead of 0.5 us since the first job on 2026-01-01, in 12 jobs of 3 users" ]
    "$nettopo" fleet metrics --store t | grep -Eq '^nettopo_fleet_suspect_ratio\{part="n6 [^ ]*",kind="latency"\} 2.5$'
    "$nettopo" fleet since --store t --json n6 | jq -e '.changes[0] | .named and (has("last_before") | not)'
    "$nettopo" show --wide --store t jobs/12/map.json | grep -q '^n6: slow since the first job on 2026-01-01'
}

# part ID DAY HOST...: a job of these of 24 hosts behind three switches; n16 is n8 where it has moved to
part() {
    local id=$1 day=$2
    shift 2
    jq '$ARGS.positional as $h | .nodes |= map(select(.name | IN($h[])))
        | .links |= map(select((.a | startswith("s")) or (.a | IN($h[])))) | del(.placement, .oversubscription)
        | .sweep |= (.hosts = ($h | length) | .pairs_total = .hosts * (.hosts - 1) / 2 | .pairs_measured = .pairs_total)
        | .nodes as $n | .switches[] |= (.name as $s | .hosts = ([$n[] | select(.switch == $s)] | length))' \
        all.json --args "$@" >part.json
    mkdir -p "jobs/$id"
    "$nettopo" simulate --topology part.json --noise 0.01 --seed "$id" |
        sed -E "s/\bn16\b/n8/; /^created /d; s/^level .*/&\njob $id 0\ncluster c\ncreated 2026-01-0${day}T00:00:00Z/" >"jobs/$id/samples"
    "$nettopo" solve -o "jobs/$id/map.json" "jobs/$id/samples"
    echo "$id|$((1000 + id % 3))|n[1-24]" >>record
}

@test "a host that has moved is not told as slow" {
    printf 'JobID|UID|NodeList\n' >record
    "$nettopo" simulate --topology tree:3x8 --seed 1 | "$nettopo" solve -o all.json -
    for k in 1 2 3 4; do part "$k" "$k" n{1..8} n{17..20}; done
    for k in 5 6 7; do part "$k" "$k" n{1..7} n16; done # its link seems to be as much longer as its switch is away
    part 8 8 n{1..7} n16 n{17..20}
    "$nettopo" fleet ingest -q --store s --record record jobs
    "$nettopo" fleet show --store s | grep -q '^n8 moved by 2026-01-05 '
    [ "$("$nettopo" fleet since --store s)" = "no changes in 8 jobs" ]
    # another store: the maps above kept nothing in it; users are known until readings are folded
    "$nettopo" fleet ingest -q --store t --fold 100000d --record record jobs
    run "$nettopo" fleet check --store t
    [ "$status" = 3 ] # no job for a month
    [ "$output" = "nettopo fleet check: no data for any host within --max-age" ]
    [ "$("$nettopo" fleet check --json --store t 2>&1)" = "$output" ]
    run "$nettopo" fleet check --store t --max-age 20000d
    echo "$output"
    [ "$status" = 0 ]
    [[ $output == "n8 moved by 2026-01-05 (4 jobs of 3 users), away from n"[1-7] ]]
    [ "$("$nettopo" fleet check --store t --hosts n8 --max-age 20000d)" = "$output" ]
    [ -z "$("$nettopo" fleet check --store t --hosts n7,n17 --max-age 20000d)" ]
    "$nettopo" fleet check --json --store t --max-age 20000d >moved.json
    [ "$(jq -r '.moved[] | "\(.host) moved by \(.since[:10]) (\(.jobs) jobs of \(.users) users), away from \(.beside_before)"' moved.json)" = "$output" ]
    jq -e '.suspects == []' moved.json
    "$nettopo" show --wide --store t jobs/8/map.json >shown
    grep -qxF "$output" shown
    [[ $(cat shown) != *since* ]]
}

@test "a host that has moved and then became slow is told as slow" {
    printf 'JobID|UID|NodeList\n' >record
    "$nettopo" simulate --topology tree:3x8 --seed 1 | "$nettopo" solve -o all.json -
    for k in 1 2 3; do part "$k" "$k" n{1..8} n{17..20}; done
    for k in 4 5 6; do part "$k" "$k" n{1..7} n{9..14} n16; done
    jq '.links[] |= if .a == "n16" then .latency_us *= 3 else . end' all.json >slow.json
    mv slow.json all.json
    for k in 7 8 9; do part "$k" "$k" n{1..7} n{9..14} n16; done
    "$nettopo" fleet ingest -q --store s --record record jobs
    "$nettopo" fleet show --store s | grep -q '^n8 moved by 2026-01-04 '
    run "$nettopo" fleet check --store s --hosts n8 --max-age 20000d
    [ "$status" = 1 ]
    [[ $output == "n8: latency "*" since 2026-01-07, in 3 jobs of 3 users" ]]
    "$nettopo" show --wide --store s jobs/9/map.json | grep -q '^n8: slow since 2026-01-07, in 3 jobs of 3 users: '
}

@test "a host of which the map does not know the switch is not told as slow" {
    printf 'JobID|UID|NodeList\n' >record
    "$nettopo" simulate --topology tree:3x8 --seed 1 | "$nettopo" solve -o all.json -
    part 1 1 n{1..8} n{17..20}
    for k in 2 3 4; do part "$k" "$k" n{1..7} n{17..20}; done
    for k in 5 6 7; do part "$k" "$k" n{1..7} n16; done
    part 8 8 n{1..7} n16 n{17..20}
    "$nettopo" fleet ingest -q --store s --record record jobs
    [ "$("$nettopo" fleet since --store s)" = "no changes in 8 jobs" ]
}

@test "show says since when a host of the job is slow, where it may read the store" {
    planted
    "$nettopo" show --wide --store s jobs/12/map.json >shown
    [ "$(grep -c since shown)" = 1 ]
    grep -q '^n5: narrow since 2026-01-07, in 6 jobs of 3 users: bandwidth up [0-9.]*, before [0-9.]* MB/s$' shown
    "$nettopo" show --store none jobs/12/map.json >shown
    [[ $(cat shown) != *since* ]]
    jq '.job.cluster = "other"' jobs/12/map.json >other.json
    "$nettopo" show --store s other.json >shown
    [[ $(cat shown) != *since* ]]
}

@test "one user's jobs alone make nobody suspect" {
    planted_of_one_user
    [ "$("$nettopo" fleet since --store s)" = "no changes in 12 jobs" ]
    "$nettopo" fleet check --store s --max-age 20000d
}

# A sound uplink is wider than what its hosts send: jobs have a lower bound of it, and no figure.
@test "a narrow uplink is told since it is narrow, until it was repaired, by two users" {
    printf 'JobID|UID|NodeList\n' >record
    "$nettopo" simulate --topology tree:2x3x4 -f map -o sound.json
    jq 'del(.placement) | .links[] |= if .a == "s3" then .bandwidth_MBps = 2500 | .bandwidth_back_MBps = 2500 else . end' \
        sound.json >narrow.json
    for k in {1..10}; do
        mkdir -p "jobs/$k"
        "$nettopo" simulate --topology "$([ $((k > 3 && k < 7)) = 1 ] && echo narrow || echo sound).json" \
            --noise 0.02 --bandwidth --seed "$k" |
            sed "/^created /d; s/^level .*/&\njob $k 0\ncluster c\ncreated 2026-01-$(printf %02d "$k")T00:00:00Z/" >"jobs/$k/samples"
        "$nettopo" solve -o "jobs/$k/map.json" "jobs/$k/samples"
        echo "$k|$((k < 7 ? k % 3 : k < 9 ? 7 : 8))|n[1-24]" >>record
    done
    "$nettopo" fleet ingest -q --store s --record record jobs/{1..6}
    "$nettopo" fleet since --store s | tee said
    [ "$(grep -c '^s3 s1: bandwidth .* worse from .* since 2026-01-04, job 4; in 3 jobs of 3 users' said)" = 2 ]
    run "$nettopo" fleet check --store s # all is well with the hosts
    [ "$status" = 1 ]
    [[ ${lines[0]} == "s3 s1: bandwidth up 25"*" instead of 2"*" MB/s since 2026-01-04, in 3 jobs of 3 users" ]]
    [ "${#lines[@]}" = 2 ]
    [ -z "$("$nettopo" fleet check --store s --hosts 'n[1-24]' --max-age 20000d)" ]
    "$nettopo" fleet ingest -q --store s --record record jobs/{7..8} # of one user
    [ "$("$nettopo" fleet since --store s)" = "$(<said)" ]
    "$nettopo" fleet ingest -q --store s --record record jobs/{9..10}
    [ "$("$nettopo" fleet since --store s)" = "no changes in 10 jobs" ]
}

@test "check is for health checks" {
    planted
    run --separate-stderr "$nettopo" fleet check --store s
    [ "$status" = 1 ]
    [ -z "$stderr" ]
    [[ $output == "n5: bandwidth up "*" since 2026-01-07, in 6 jobs of 3 users" ]]
    local said=$output
    run --separate-stderr "$nettopo" fleet check --json --store s
    [ "$status" = 1 ]
    [ -z "$stderr" ]
    jq -e '.moved == [] and (.suspects | length) == 1 and (.suspects[0] | .current and .worse)' <<<"$output"
    [ "$(jq -r '.suspects[] | "\(.part): \(.kind) X instead of X \(.unit) since \(.since[:10]), in \(.jobs) jobs of \(.users) users"' <<<"$output")" = \
        "$(sed -E 's/ [0-9.]+ instead of [0-9.]+ / X instead of X /' <<<"$said")" ]
    run "$nettopo" fleet check --json --store s --hosts "n[1-4,6-16]" --max-age 100000d
    [ "$status" = 0 ]
    jq -e '. == {moved: [], suspects: []}' <<<"$output"
    run --separate-stderr "$nettopo" fleet check --json --store s --hosts n[1-2],n99 --max-age 100000d
    [ "$status" = 3 ]
    [ -z "$output" ]
    [ "$stderr" = "nettopo fleet check: no data for n99 within --days" ]
    run "$nettopo" fleet check --store s --hosts "n[1-4,6-16]" --max-age 100000d
    [ "$status" = 0 ]
    [ -z "$output" ]
    run --separate-stderr "$nettopo" fleet check --store s --hosts n[1-2],n99 --max-age 100000d
    [ "$status" = 3 ]
    [ "$stderr" = "nettopo fleet check: no data for n99 within --days" ]
    # a name with a domain is the host without
    run --separate-stderr "$nettopo" fleet check --store s --hosts n5.cluster.example --max-age 100000d
    [ "$status" = 1 ]
    [ "$output" = "$said" ]
    run --separate-stderr "$nettopo" fleet check --store s --hosts n98,n1,n99 --max-age 100000d
    [ "$stderr" = "nettopo fleet check: no data for n98 and 1 more host within --days" ]
    run "$nettopo" fleet check --store s --hosts n1 --max-age 1
    [ "$status" = 3 ]
    [[ $output =~ ^"nettopo fleet check: no data for n1 within --max-age (last job on 20"..-..-..")"$ ]]
    run "$nettopo" fleet check --store s --hosts 'n[1'
    [ "$status" = 2 ]
}

@test "metrics are what promtool and node_exporter take, and the rules fire" {
    planted
    mkdir textfile
    "$nettopo" fleet metrics --store s -o textfile/nettopo.prom
    grep -q '^nettopo_fleet_jobs{status="ok"} 12$' textfile/nettopo.prom
    grep -q '^nettopo_fleet_suspect_ratio{part="n5 s[0-9]*",kind="bandwidth_up"} 0\.[67]' textfile/nettopo.prom
    [ "$(grep -vc '^#' textfile/nettopo.prom)" -lt 40 ]
    jq -e '(.panels | length > 3) and all(.panels[]; (.title | length > 8) and (.description | length > 40))' \
        "$root/etc/dashboards/nettopo-fleet.json"
    for name in $(jq -r '.. | .expr? // empty' "$root/etc/dashboards/nettopo-fleet.json" | grep -o 'nettopo_[a-z_]*' | sort -u); do
        grep -q "^# TYPE $name gauge" textfile/nettopo.prom
    done
    command -v promtool >/dev/null || skip "promtool is not installed"
    promtool check metrics <textfile/nettopo.prom
    promtool check rules "$root/etc/dashboards/nettopo-fleet.rules.yaml"
    (cd "$root/tests/data/fleet" && promtool test rules rules-test.yaml)
    command -v prometheus-node-exporter >/dev/null || skip "prometheus-node-exporter is not installed"
    exec {log}< <(exec prometheus-node-exporter --web.listen-address=127.0.0.1:0 --collector.disable-defaults \
        --collector.textfile --collector.textfile.directory=textfile 2>&1)
    pid=$!
    while read -r line <&"$log"; do
        port=$(sed -nE 's/.*(address=|Listening on.*)127\.0\.0\.1:([1-9][0-9]*).*/\2/p' <<<"$line")
        [ -z "$port" ] || break
    done
    got=$(python3 -c "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:$port/metrics').read().decode())") || true
    kill "$pid"
    grep -q '^nettopo_fleet_jobs{status="ok"} 12' <<<"$got"
    grep -E 'textfile_(scrape|mtime)' <<<"$got"
    grep -q '^node_textfile_scrape_error 0' <<<"$got"
}

# as_lines FILE: the changes of sync --json, as sync prints them
as_lines() {
    jq -r '(.changes[] | (.kind | split("-")) as [$part, $what] | "\($part) \(.name): " +
        {hostnew: "on \(.to)", hostmoved: "from \(.from) to \(.to)", switchmoved: "now below \(.to)",
        switchnew: ("new" + if .to then ", below \(.to)" else "" end), switchgone: "gone"}[$part + $what]),
        (.updates // [] | .[] | "scontrol update NodeName=\(.NodeName) Topology=\(.Topology)")' "$1"
}

@test "sync keeps names and what it does not know" {
    planted
    "$nettopo" fleet sync --store s -f topology.conf >changes
    [ "$(grep -c '^host n[0-9]*: on s' changes)" = 16 ]
    run "$nettopo" fleet sync --store s -f topology.conf --apply
    [ "$status" = 2 ]
    # two of Slurm's names; n1 is on the wrong switch, m1 and m2 were never measured
    cat >topology.conf <<'END'
# ours
SwitchName=left Nodes=n[2-4],n5,m1
SwitchName=right Nodes=n[6-8],n1
SwitchName=far Nodes=m2
SwitchName=core Switches=left,right,far LinkSpeed=1
END
    cp topology.conf before.conf
    "$nettopo" fleet sync --store s -f topology.conf -o topology.conf >changes
    cmp topology.conf before.conf
    grep -qx 'host n1: from right to left' changes
    grep -qx 'host n5: from left to right' changes
    run grep 'n[2-4]:\|n[6-8]:\|m1\|m2\|far' changes
    [ "$status" = 1 ]
    "$nettopo" fleet sync --store s -f topology.conf -o topology.conf --json >changes.json
    cmp topology.conf before.conf
    as_lines changes.json | diff changes -
    "$nettopo" fleet sync --store s -f topology.conf -o topology.conf --apply >/dev/null
    cat topology.conf
    head -1 topology.conf | grep -qx '# ours'
    grep -qx 'SwitchName=left Nodes=n1,n2,n3,n4,m1' topology.conf
    grep -qx 'SwitchName=right Nodes=n5,n6,n7,n8' topology.conf
    grep -qx 'SwitchName=far Nodes=m2' topology.conf
    [ "$("$nettopo" fleet sync --store s -f topology.conf -o topology.conf)" = "nothing changes" ]
    [ "$("$nettopo" fleet sync --store s -f topology.conf --against topology.conf)" = "nothing changes" ]
    "$nettopo" fleet sync --store s -f topology.conf --against topology.conf --json | jq -e '. == {changes: []}'
}

@test "sync replaces one of several topologies" {
    planted
    cat >topology.yaml <<'END'
---
- topology: blocks
  cluster_default: true
  block:
    block_sizes: [4]
    blocks:
      - block: b1
        nodes: n[1-4]
- topology: nettopo
  cluster_default: false
  tree:
    switches:
      - switch: old
        nodes: n[1-16]
- topology: flat
  flat: true
END
    "$nettopo" fleet sync --store s -f topology.yaml -o topology.yaml --apply
    cat topology.yaml
    python3 - topology.yaml <<'PY'
import sys, yaml
t = {x["topology"]: x for x in yaml.safe_load(open(sys.argv[1]))}
assert sorted(t) == ["blocks", "flat", "nettopo"], t
assert t["blocks"]["block"]["blocks"][0]["nodes"] == "n[1-4]" and t["blocks"]["cluster_default"]
assert not t["nettopo"]["cluster_default"]
leaves = sorted(s["nodes"] for s in t["nettopo"]["tree"]["switches"] if "nodes" in s)
assert leaves == ["n1,n2,n3,n4", "n13,n14,n15,n16", "n5,n6,n7,n8", "n9,n10,n11,n12"], leaves
PY
    [ "$("$nettopo" fleet sync --store s -f topology.yaml -o topology.yaml)" = "nothing changes" ]
    "$nettopo" fleet sync --store s -f topology.yaml -o new.yaml --apply >/dev/null
    [ "$(sed -n 3p new.yaml)" = "  cluster_default: true" ]
}

@test "sync keeps the block sizes and unknown keys of a topology of blocks" {
    planted
    cat >topology.yaml <<'END'
---
- topology: nettopo # ours
  cluster_default: true
  later: {a: 1}
  block:
    block_sizes:
      - 4
      - 8
    blocks:
      - block: b1
        nodes: n[2-4],m1
      - block: b2
        nodes: n[5-8],n1
- topology: flat
  flat: true
END
    "$nettopo" fleet sync --store s -f topology.yaml -o topology.yaml >changes
    grep -qx 'host n1: from b2 to b1' changes
    "$nettopo" fleet sync --store s -f topology.yaml -o topology.yaml --apply >/dev/null
    cat topology.yaml
    python3 - topology.yaml <<'PY'
import sys, yaml
t = {x["topology"]: x for x in yaml.safe_load(open(sys.argv[1]))}
assert sorted(t) == ["flat", "nettopo"] and t["nettopo"]["later"] == {"a": 1}, t
b = t["nettopo"]["block"]
assert b["block_sizes"] == [4, 8], b
blocks = {x["block"]: x["nodes"] for x in b["blocks"]}
assert blocks["b1"] == "n1,n2,n3,n4,m1" and blocks["b2"] == "n5,n6,n7,n8" and len(blocks) == 4, blocks
PY
    [ "$("$nettopo" fleet sync --store s -f topology.yaml -o topology.yaml)" = "nothing changes" ]
    # blocks where there was nothing, in both formats
    for format in topology.yaml topology.conf; do
        "$nettopo" fleet sync --store s --block -f $format -o new.$format --apply >/dev/null
        [ "$("$nettopo" fleet sync --store s -f $format -o new.$format)" = "nothing changes" ]
    done
    [ "$(grep -c '^BlockName=s[0-9]* Nodes=n' new.topology.conf)" = 4 ]
    # a layout that cannot be edited is no topology that is not there
    sed -i 's/^- topology: nettopo.*/-   topology: nettopo/' topology.yaml
    run "$nettopo" fleet sync --store s -f topology.yaml -o topology.yaml
    [ "$status" = 3 ]
}

@test "sync keeps leaves and blocks that are empty" {
    planted
    cat >topology.conf <<'END'
SwitchName=left Nodes=n[1-4]
SwitchName=right Nodes=n[5-8]
SwitchName=spare
SwitchName=core Switches=left,right,spare
END
    "$nettopo" fleet sync --store s -f topology.conf -o topology.conf --apply >changes
    cat changes topology.conf
    [[ $(cat changes) != *spare* ]]
    grep -qx 'SwitchName=spare' topology.conf
    grep -q '^SwitchName=.* Switches=.*\bspare\b' topology.conf
    [ "$("$nettopo" fleet sync --store s -f topology.conf -o topology.conf)" = "nothing changes" ]
    cat >topology.yaml <<'END'
- topology: nettopo
  cluster_default: true
  block:
    block_sizes: [4]
    blocks:
      - block: b1
        nodes: n[1-4]
      - block: spare
        nodes: ''
END
    "$nettopo" fleet sync --store s -f topology.yaml -o topology.yaml --apply >changes
    cat changes topology.yaml
    [[ $(cat changes) != *spare* ]]
    grep -qx '      - block: spare' topology.yaml
    [ "$("$nettopo" fleet sync --store s -f topology.yaml -o topology.yaml)" = "nothing changes" ]
}

@test "sync tells slurmctld where nodes are" {
    planted
    mkdir bin
    cat >bin/scontrol <<'END'
#!/bin/sh
case "$*" in
"show topology") cat said ;;
"-o show node") cat nodes ;;
update*) echo "$*" >>told; [ ! -e refuse ] ;;
esac
END
    chmod +x bin/scontrol
    cat >said <<'END'
SwitchName=a Level=0 LinkSpeed=1 Nodes=n[2-4]
SwitchName=b Level=0 LinkSpeed=1 Nodes=n[1,5-12]
SwitchName=c Level=1 LinkSpeed=1 Nodes=n[1-12] Switches=a,b
END
    echo 'NodeName=n1 Arch=x Topology=default:b,other:u1 CPUs=1' >nodes
    export PATH=$PWD/bin:$PATH
    "$nettopo" fleet sync --store s -f nodes >changes
    cat changes
    "$nettopo" fleet sync --store s -f nodes --json >changes.json
    as_lines changes.json | diff changes -
    [ ! -e told ]
    grep -qx 'scontrol update NodeName=n1 Topology=other:u1,default:a' changes
    "$nettopo" fleet sync --store s -f nodes --apply
    sed 's/^/scontrol /' told | diff - <(grep '^scontrol' changes)
    # all nodes of a new switch at once, below one that slurmctld has
    grep -Eqx 'update NodeName=n13,n14,n15,n16 Topology=default:c(:s[0-9]+)+' told
    # the first that is refused ends it
    touch refuse
    rm told
    run "$nettopo" fleet sync --store s -f nodes --apply
    [ "$status" = 4 ]
    [ "$(wc -l <told)" = 1 ]
    # slurmctld has no switch to hang it on
    : >said # 22.05 says so on standard error, later ones print nothing
    run "$nettopo" fleet sync --store s -f nodes --apply
    [ "$status" = 3 ]
    [ "$(wc -l <told)" = 1 ]
    grep -q 'Write its file first: --format topology.conf' <<<"$output"
    run --separate-stderr "$nettopo" fleet sync --store s -f nodes --apply --json
    [ "$status" = 3 ]
    [ -z "$output" ]
    [[ $stderr == *"is in Slurm's topology. Write its file first"* ]]
    run "$nettopo" fleet sync --store s -f nodes -o x
    [ "$status" = 2 ]
}

@test "sync asks slurmctld" {
    planted
    mkdir bin
    printf '#!/bin/sh\n[ "$*" = "show topology" ] && cat said\n' >bin/scontrol
    chmod +x bin/scontrol
    cat >said <<'END'
SwitchName=a Level=0 LinkSpeed=1 Nodes=n[1-4]
SwitchName=b Level=0 LinkSpeed=1 Nodes=n[5-16]
SwitchName=c Level=1 LinkSpeed=1 Nodes=n[1-16] Switches=a,b
END
    PATH=$PWD/bin:$PATH "$nettopo" fleet sync --store s -f topology.conf --against scontrol >changes
    cat changes
    run grep '^host n[1-4]:' changes
    [ "$status" = 1 ]
    grep -q '^host n5: from b to ' changes
    : >said # 22.05 says so on standard error, later ones print nothing
    PATH=$PWD/bin:$PATH "$nettopo" fleet sync --store s -f topology.conf --against scontrol >changes
    grep -q '^host n1: on s' changes
}

# LogGP that jobs of two users measured comes into a later map that did not measure it.
@test "LogGP is kept between jobs through the prior" {
    planted
    loggp='[{class: "same switch", rail: "fab0", min_bytes: 1, max_bytes: 4194304, L_us: 2.82, o_send_us: 1.4,
        o_recv_us: 1.4, g_us: 1.4, G_us_per_byte: 0.00103, gap_us_per_byte: 0.00103}]'
    rm s
    for k in 1 4; do # of user 1001, like job 7
        jq ".loggp = $loggp" "jobs/$k/map.json" >m.json
        mv m.json "jobs/$k/map.json"
    done
    "$nettopo" fleet ingest -q --store s --record record jobs
    "$nettopo" fleet prior --store s -o one
    [ "$(grep -c loggp one)" = 0 ]
    rm s
    jq ".loggp = $loggp" jobs/5/map.json >m.json
    mv m.json jobs/5/map.json # of user 1002
    "$nettopo" fleet ingest -q --store s --record record jobs
    "$nettopo" fleet prior --store s -o prior
    diff <(grep -v '^#loggp' prior) one # the rest is the same
    grep -x '#loggp fab0 1 4194304 2.82 1.4 1.4 1.4 0.00103 0.00103 0.8 2026-01-05 same switch' prior
    # a record that has it: the class that this network has is stated, and the map is valid
    sed -n 's/^#//; /^loggp/p' prior >known
    sed 's/same switch/through 9 switches/' known >>known.more
    awk 'FNR == NR {known = known $0 "\n"; next} /^phase / && !put++ {printf "%s", known} {print}' \
        <(cat known known.more) jobs/7/samples >later.samples
    "$nettopo" solve later.samples -o later.json
    "$nettopo" validate -q later.json
    [ "$(jq -c '.loggp | map([.class, .rail, .L_us, .seen, .support])' later.json)" = \
        '[["same switch","fab0",2.82,"2026-01-05",0.8]]' ]
    "$nettopo" show later.json | grep -A1 'LogGP  same switch by fab0: L 2.82 us' | grep 'from earlier'
    # it is no evidence of its own
    jq '.job.id = 13' later.json >m.json
    mkdir jobs/13
    mv m.json jobs/13/map.json
    "$nettopo" fleet ingest -q --store s jobs/13
    "$nettopo" fleet prior --store s | grep -cx '#loggp .* 0.8 2026-01-05 same switch'
}

@test "the operator's script does all of it" {
    planted
    run env PATH="$(dirname "$nettopo"):$PATH" "$root/etc/examples/fleet-nightly.sh" jobs s prior out.prom
    echo "$output"
    [ "$status" = 1 ] # there is a suspect
    grep -q '^0 taken, 12 known, 0 rejected$' <<<"$output"
    grep -q '^cluster c: 12 jobs of 3 users' <<<"$output"
    grep -q '^n5 s[0-9]*: bandwidth up worse' <<<"$output"
    grep -q '^n5: bandwidth up ' <<<"$output"
    [ "$(grep -c '^host ' prior)" = 16 ]
    grep -q '^nettopo_fleet_suspects 1$' out.prom
}
