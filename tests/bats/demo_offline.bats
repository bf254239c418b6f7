#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# "make demo" of somebody who is not root, in a fresh clone, without HOME and without a network.

setup_file() {
    root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    tree=$BATS_FILE_TMPDIR/clone
    export root tree
    mkdir "$tree"
    (cd "$root" && git -c safe.directory='*' ls-files -z | xargs -0 cp --parents -Pp -t "$tree")
    # FULL=1: it builds all that it runs; otherwise it finds the objects of the build there
    if [ "${FULL:-0}" != 1 ]; then
        mkdir -p "$tree/build/obj"
        cp -rp "$root"/build/{solver,settings} "$tree/build"
        cp -rp "$root/build/obj/fabric" "$tree/build/obj"
    fi
    if [ "$(id -u)" = 0 ]; then
        chown -R nobody: "$tree"
        chmod 711 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$(dirname "$BATS_FILE_TMPDIR")"
    fi
}

# make demo, without optimization
demo() {
    local who=(env)
    if [ "$(id -u)" = 0 ]; then
        who=(unshare -n setpriv --reuid nobody --regid "$(id -g nobody)" --clear-groups env)
    fi
    (cd / && exec "${who[@]}" -i PATH="$PATH" LC_ALL=C.UTF-8 make --no-print-directory -C "$tree" demo CFLAGS=-O0)
}

has() { [[ $output == *"$1"* ]] || { echo "expected \"$1\" in:"$'\n'"$output" && return 1; }; }

@test "make demo without root says what it lacks in one line, and shows what can be shown" {
    run demo
    [ "$status" = 0 ] || { echo "$output" && return 1; }
    [ "$(grep -c 'which needs root' <<<"$output")" = 1 ]
    [ "$(grep -n 'which needs root' <<<"$output" | cut -d: -f1)" = 1 ]
    has "12 hosts, 5 switches, 16 links: tree"
    has "12 hosts, 4 switches, 15 links: tree"
    [ "$(grep -c '^  no differences' <<<"$output")" = 2 ]
    has "Shown: a recorded sweep solved, drawn and compared, and an inference on a simulated network"
    grep -q '^</svg>' "$tree/build/demo/recorded.svg"
    grep -q '</html>' "$tree/build/demo/recorded.html"
}

@test "what was not shown as promised ends make demo with an error" {
    local record=$tree/tests/data/samples/uneven12-2.samples
    cp "$record" "$BATS_TEST_TMPDIR/kept"
    # two hosts have changed their places
    sed -i 's/^host n1$/host was1/; s/^host n12$/host n1/; s/^host was1$/host n12/' "$record"
    run demo
    cp "$BATS_TEST_TMPDIR/kept" "$record"
    [ "$status" != 0 ]
    has "make demo: failed: build/nettopo compare"
    [[ $output != *Shown:* ]]
}
