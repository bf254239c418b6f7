#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2030,SC2031,SC2086,SC2016
# What all commands have in common: letters of options, --help and its example, --json, sizes in bytes,
# exit codes.

bats_require_minimum_version 1.5.0

setup_file() {
    setup
    mkdir "$BATS_FILE_TMPDIR/examples" && cd "$BATS_FILE_TMPDIR/examples"
    make_examples
}

setup() {
    root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    nettopo=${NETTOPO:-$root/build/nettopo}
    PATH=$(dirname "$nettopo"):$PATH
    cd "${BATS_TEST_TMPDIR:-$BATS_FILE_TMPDIR}" || return 1
    unset NETTOPO_MAP NETTOPO_JSON NETTOPO_STATUS
}

# fails WORDS...: a line for people; the last command of a test
fails() {
    echo "$*" >&2
    return 1
}

# each command, a line each
commands() {
    local verb
    for verb in $(nettopo --help | sed -nE 's/^  ([a-z]+) .*/\1/p'); do echo "nettopo $verb"; done
    for verb in $(nettopo fleet --help | sed -nE 's/^  ([a-z]+) .*/\1/p'); do echo "nettopo fleet $verb"; done
    echo nettopo
    echo nettopo-probe
    echo nettopo-prolog
    echo nettopo-prolog --check
}

# files with the names that the examples have
example_files() {
    cp -r "$BATS_FILE_TMPDIR/examples/." .
    PATH=$PWD/bin:$PATH
}

make_examples() {
    nettopo simulate --topology tree:2x4x8 --bandwidth --noise 0.02 -o samples
    nettopo solve samples -o map.json
    nettopo simulate --topology tree:2x4x8 --format csv -o latency.csv
    nettopo export --format topology.conf -o topology.conf map.json
    nettopo simulate --topology star:4 --format routes -o routes.txt
    nettopo simulate --topology star:4 --format measured -o measured.txt
    mkdir -p archive bin
    printf 'JobID|UID|NodeList\n' >record
    for job in 1 2 3; do
        mkdir archive/$job
        nettopo simulate --topology tree:2x4x8 --noise 0.02 --seed $job | sed -E "/^created /d
            s/^level .*/&\njob $job 0\ncluster c\ncreated $(date -u -d "-$job day" +%FT%TZ)/" >archive/$job/samples
        nettopo solve -o archive/$job/map.json archive/$job/samples
        echo "$job|$((1000 + job))|n[1-64]" >>record
    done
    nettopo fleet ingest -q --store fleet.db --record record archive # the example finds them there
    printf '%s\n' '#!/bin/sh' \
        "echo job=1 time=$(date -u +%FT%TZ) user=a status=failed reason=x" >bin/journalctl
    printf '%s\n' '#!/bin/sh' 'cat topology.conf' >bin/scontrol
    printf '%s\n' '#!/bin/sh' 'while case $1 in -*) ;; *) false ;; esac; do shift; done' 'exec "$@"' >bin/srun
    chmod +x bin/*
}

@test "a letter is one option in all commands" {
    while read -r command; do
        $command --help | sed -nE 's/^  -(.), --([a-z-]+).*/\1 \2/p'
    done < <(commands) | sort | uniq -c >letters
    cat letters
    [ "$(wc -l <letters)" -ge 15 ]
    [ -z "$(awk '{print $2}' letters | uniq -d)" ]
}

@test "help by all its names, version, and one form of usage" {
    while read -r command; do
        for option in --help -h; do
            run $command $option
            [ "$status" = 0 ]
            [ "${lines[0]%% *}" = "Usage:" ]
        done
    done < <(commands)
    for verb in show fleet "fleet show"; do
        diff <(nettopo help $verb) <(nettopo $verb --help)
    done
    diff <(nettopo fleet help show) <(nettopo fleet show -h)
    diff <(nettopo help) <(nettopo --help)
    diff <(nettopo -V) <(nettopo show --version)
    run nettopo help shwo
    [ "$status" = 2 ]
    [ "$output" = 'nettopo: unknown command "shwo". Did you mean "show"?' ]
    # an option for other programs is not listed, and taken
    [[ $(nettopo-probe --help) != *agent-fd* ]]
    run nettopo-probe --agent-fd x
    [ "$output" = "nettopo-probe: --agent-fd x: expected a descriptor" ]
}

@test "the example of each command works as it is printed" {
    example_files
    while read -r command; do
        case $command in nettopo | "nettopo fleet") continue ;; esac
        example=$($command --help | sed -n 's/^Example: //p')
        [[ $example == *"$command "* ]] || fails "$command: no example"
        [[ $command != nettopo-prolog* || $(id -u) != 0 ]] || # only root can check the host
            example="setpriv --reuid 65534 --regid 65534 --clear-groups $(dirname "$nettopo")/$example"
        run bash -c "$example"
        echo "$example: $status $output"
        case $command in
        nettopo-prolog*) [[ $output == *"run it as root"* ]] ;;
        nettopo-probe) [[ $output == *"no PMIx server"* ]] ;; # it has started
        "nettopo compare") [ "$status" -le 1 ] ;;
        *) [ "$status" = 0 ] ;;
        esac
    done < <(commands)
}

# standard input, if its fields are in the manuals
told_of() {
    local json key
    json=$(cat)
    [ -e manuals ] || sed 's/\\-/-/g; s/\\f[BIRP]//g' "$root"/etc/man/nettopo{,-fleet,-map}.* >manuals
    for key in $(jq -r '.. | objects | keys[]' <<<"$json" | sort -u); do
        grep -qw -- "$key" manuals || echo "$key" >>untold
    done
    echo "$json"
}

@test "commands that print results print them as JSON, whose fields the manuals have" {
    example_files
    nettopo fleet ingest --store fleet.db --json archive | told_of | jq -e '.known == 3 and .rejected == []'
    nettopo show --json map.json | told_of | jq -e '.schema == "nettopo-map/1"'
    nettopo show --trace --json samples | told_of | jq -e '.hosts == 64 and .status == "ok" and .missing == [] and .warnings == [] and
        (.phases[0] | .phase == "latency" and .pairs == 2016 and .failed == 0 and has("rounds") and has("seconds"))'
    nettopo hint --json map.json | told_of | jq -e '.pattern == "neighbour" and .ntasks == 64 and has("gain")'
    nettopo hint --json --rails "$root/tests/data/maps/rails.json" | told_of | jq -e '.classes[0] | .rails == ["r0", "r1"] and
        (.messages[6] | .bytes == 2097152 and .best == "r1" and 1 - .divided_us / .alone_us > 0.33 and .ucx_us < .alone_us) and
        (.messages[0] | has("by_rates_us") | not) and
        [.trains[] | [.to, .only, (.messages | length)]] == [["one host", null, 7], ["a host each", null, 7], ["two hosts", "r1", 7]] and
        (.trains[0].messages[1].in_turn_us == .messages[1].in_turn_16_us)'
    nettopo compare --json map.json map.json | told_of | jq -e '.similarity_percent > 99 and .differences == []'
    jq '.links[0].latency_us *= 3' map.json >slow.json
    nettopo compare --json slow.json map.json | told_of | jq -e '.differences[0].kind == "link-slow"'
    nettopo compare --json latency.csv samples | told_of | jq -e '.hosts == 64 and .unit == "us"'
    nettopo plan --json --routes routes.txt | told_of | jq -e '.rank == 4 and (.rounds | length) >= .lower_bound'
    nettopo estimate --json --routes routes.txt --measured measured.txt | told_of | jq -e '.links | length == 4'
    nettopo simulate --json --topology star:8 --sweep all | told_of | jq -e '.hosts == 8 and has("rounds")'
    nettopo simulate --json --topology star:8 --workload a2a | told_of | jq -e '.hosts == 8 and (.times_us | length) == 10'
    nettopo validate --json map.json | told_of | jq -e '.valid and .hosts == 64 and .errors == []'
    nettopo stats --json /dev/null | told_of | jq -e '.jobs == 0'
    nettopo fleet show --json --store fleet.db | told_of | jq -e '.schema == "nettopo-map/1" and has("fleet")'
    nettopo fleet since --json --store fleet.db | told_of | jq -e '.changes == []'
    nettopo fleet check --json --store fleet.db | told_of | jq -e 'type == "object"'
    nettopo fleet sync --json --store fleet.db --format topology.conf --against topology.conf | told_of | jq -e 'has("changes")'
    # and each command that has the option is in this list
    while read -r command; do
        $command --help | grep -q '^  --json ' || continue
        grep -q "^    $command .*--json" "$BATS_TEST_FILENAME" || fails "$command --json is not tested"
    done < <(commands)
    [ ! -e untold ] || fails "fields that no manual has: $(sort -u untold)"
    for wrong in "hint --json --format env map.json" "simulate --json --topology star:4" \
        "fleet show --json --format html --store fleet.db"; do
        run nettopo $wrong
        [ "$status" = 2 ]
        [[ $output == "nettopo "*": --json"* ]]
    done
}

@test "bytes can be given in K, M and G" {
    example_files
    same() { # COMMAND VALUE VALUE: and not the same as for another value
        diff <($1 $2) <($1 $3)
        ! diff -q <($1 $2) <($1 3000) || false # of 17 each there would be a million packets
    }
    same "nettopo hint map.json --bytes" 64K 65536
    same "nettopo simulate --topology star:4 --workload a2a --bytes" 1M 1048576
    same "nettopo simulate --topology star:4 --workload a2a,bytes=1M --packet" 1K 1024
    diff <(nettopo simulate --topology star:4 --workload gups,bytes=2K | jq .times_us) \
        <(nettopo simulate --topology star:4 --workload gups,bytes=2048 | jq .times_us)
    nettopo solve --latency latency.csv --message-bytes 1K --latency latency.csv --message-bytes 1M -o units.json
    nettopo solve --latency latency.csv --message-bytes 1024 --latency latency.csv --message-bytes 1048576 -o digits.json
    cmp units.json digits.json
    coloured() { nettopo compare --coloured $2.dot --message-bytes "$1" map.json map.json >/dev/null && cat $2.dot; }
    diff <(coloured 1M a) <(coloured 1048576 b)
    for wrong in "hint --bytes 1k" "hint --bytes 2G" "compare --message-bytes 1.5K map.json"; do
        run nettopo $wrong map.json
        [ "$status" = 2 ]
        [[ $output == *": expected bytes from 1 to "*", such as 4096, 64K or 1M" ]]
    done
    run nettopo-probe --stress a2a,bytes=1G
    [[ $output == *"expected at most 100000 messages, 67108864 bytes and 64 tasks" ]]
    run nettopo-probe --stress a2a,bytes=64M
    [[ $output == *"no PMIx server"* ]]
}

@test "errors name the command, and have the documented exit code" {
    example_files
    run nettopo fleet show --store nowhere.db
    [ "$status" -ge 3 ]
    [[ $output == "nettopo fleet show: "* ]]
    run nettopo fleet check --colour
    [ "$status" = 2 ]
    [[ $output == "nettopo fleet check: unknown option --colour"* ]]
    run nettopo hint --pattern stencil:4x4 map.json
    [ "$status" = 2 ]
    [ "$output" = 'nettopo hint: pattern "stencil:4x4" needs 16 tasks, but the job has 64' ]
    run nettopo hint --pattern megatron:tp=2,pp=2,dp=2 map.json
    [ "$status" = 2 ]
    run nettopo fleet since --store fleet.db nosuch
    [ "$status" = 3 ]
}

# completes LINE WORD...: bash completes the last word of LINE so
completes() {
    local line=$1
    shift
    bash -c '
        source "$1"
        read -ra COMP_WORDS <<<"${2//=/ = }"
        [[ $2 != *[\ =] ]] || COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        "$(complete -p "${COMP_WORDS[0]}" | sed -E "s/.* -F ([a-z_]+) .*/\1/")"
        printf "%s\n" "${COMPREPLY[@]}"' - "completions/bash/${line%% *}" "$line" >completed
    diff completed <(printf '%s\n' "$@") || fails "$line"
}

types() { printf %s "$1" >&"${terminal[1]}"; }

shows() { # TEXT
    local at seen=''
    while [[ $seen != *"$1" ]] && IFS= read -r -N 1 -t 120 -u "${terminal[0]}" at; do seen+=$at; done
    [[ $seen == *"$1" ]] || { printf 'expected "%s", found %q\n' "$1" "$seen"; return 1; }
}

@test "shells complete commands, options, values and files" {
    for shell in bash zsh fish; do
        mkdir -p completions/$shell
        for program in nettopo nettopo-probe nettopo-prolog; do
            "$root/etc/completions" $shell "$(command -v $program)" >completions/$shell/$program
        done
    done
    completes "nettopo s" solve show simulate stats
    completes "nettopo help fl" fleet
    completes "nettopo fleet s" show since sync
    completes "nettopo help fleet me" metrics
    completes "nettopo hint --nt" --ntasks --ntasks-per-node
    completes "nettopo --v" --version
    completes "nettopo hint -o hosts --format r" rankfile ray
    completes "nettopo fleet sync --format=topology." topology.conf topology.yaml
    completes "nettopo fleet sync --store fleet.db -f " topology.conf topology.yaml nodes
    completes "nettopo hint --pattern=st" stencil:
    completes "nettopo hint -p " neighbour ring tree alltoall allreduce stencil: halo: megatron: matrix:
    completes "nettopo simulate --workload h" hot:
    completes "nettopo simulate -t tree:2x2 --workload " a2a o2a a2o sr: gups hot: region: transpose complement reverse shuffle
    completes "nettopo show " "" # files, which bash adds
    completes "nettopo solve --latency l" ""
    completes "nettopo-probe --level st" standard
    completes "nettopo-probe --ag" ""
    completes "nettopo-prolog --from-" --from-prolog-script --from-epilog-script
    # each option of --help
    while read -r command; do
        [[ $command != *--check ]] || continue
        $command --help | sed -nE 's/^  (-., )?(--[a-z-]+).*/\2/p' >options
        [[ $(<options) == *--help* ]] || echo --help >>options
        mapfile -t options <options
        completes "$command --" "${options[@]}"
    done < <(commands)
    # a terminal: bash adds the file. Each key waits for what the one before has shown.
    touch measured.samples
    printf '%s\n' 'source completions/bash/nettopo' 'PS1="ready> "' >rc
    coproc terminal { timeout 600 script -qec "bash --rcfile rc -i" /dev/null 3>&-; }
    pid=$terminal_PID
    shows 'ready> '
    types $'nettopo fleet sh\t'
    shows 'nettopo fleet show '
    types $'--store meas\t'
    shows '--store measured.samples '
    types $'--js\t'
    shows '--json '
    types $'\025exit\n'
    wait "$pid"
    if command -v zsh >/dev/null; then zsh -n completions/zsh/*; fi
    if command -v fish >/dev/null; then
        fish -n completions/fish/*
        [ "$(fish --no-config -c 'source completions/fish/nettopo; complete -C "nettopo fleet sy"' | cut -f 1)" = sync ]
        [ "$(fish --no-config -c 'source completions/fish/nettopo; complete -C "nettopo hint -f ho"' | cut -f 1)" = hostfile ]
    fi
}
