# SPDX-License-Identifier: Apache-2.0
# The ground that the tests stand on: load it, call ground_up in setup_file and ground_down in
# teardown_file, and ask things of the cluster. No test sleeps: it waits for an event, with a
# deadline.
#
#   ground_up FABRIC [CLUSTER OPTIONS]   FABRIC: a file, a name from tests/data/fabrics, or "-"
#   ground_down
#   ground_shared FABRIC [OPTIONS]; ground_leave   the same for files that need no cluster of their own:
#                                        make check keeps it for the next file that asks for the like
#   cluster VERB...                      tests/cluster/cluster
#   user CMD...                          as the test user, in its home
#   on HOST CMD...                       as root on a host
#   wait_until SECONDS CMD...            until CMD succeeds; fails with what it last said. SECONDS: the most on
#                                        an idle machine; ten times as long is waited, at most five minutes
#   median NUMBER...
#   assert_equal WHAT GOT EXPECTED; assert_contains TEXT PART; refute_contains TEXT PART
#   full                                 FULL=1: figures are judged, and rare things tried
#   figure CMD...                        an assertion about measured figures: with FULL=1 alone
#   map_shape MAP; declared_shape FABRIC one line each, equal when the trees have the same shape
#   ground_snapshot FILE                 what of a cluster is on this machine
#
# GROUND_FABRIC is the text that the cluster runs on, GROUND_HOME the test user's home, which is
# the same folder on every host and outside.
# shellcheck shell=bash

ROOT=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd -P)
FABRIC=$ROOT/build/tests/fabric
GROUND_STATE=/var/lib/nettopo-test-cluster
GROUND_HOME=$GROUND_STATE/home

cluster() { "$ROOT/tests/cluster/cluster" "$@"; }

fail() {
    printf '%s\n' "$*" >&2
    return 1
}

# Skips, with the reason in sight, where no emulated network can be.
need_ground() {
    local reason program
    [ "$(id -u)" = 0 ] || skip "needs root, for network namespaces and daemons"
    if [ -z "${GROUND_CAN-}" ]; then
        make -s -C "$ROOT" fabric >&2 || return 1
        reason=$("$FABRIC" --can 2>&1) || skip "this kernel cannot emulate a network: $reason"
        export GROUND_CAN=1 # of setup_file it holds for all tests of the file
    fi
    for program in "$@"; do
        PATH=${SLURM_PREFIX:+$SLURM_PREFIX/bin:$SLURM_PREFIX/sbin:}$PATH command -v "$program" >/dev/null ||
            skip "$program is not installed"
    done
}

fabric_path() { # FABRIC -> its file
    case $1 in
    -) cat >"$BATS_FILE_TMPDIR/given.fabric" && echo "$BATS_FILE_TMPDIR/given.fabric" ;;
    */*) realpath "$1" ;;
    *) echo "$ROOT/tests/data/fabrics/${1%.fabric}.fabric" ;;
    esac
}

ground_up() {
    local fabric=$1
    shift
    need_ground slurmctld slurmd munged
    GROUND_FABRIC=$(fabric_path "$fabric") || return
    export GROUND_FABRIC
    [ ! -e "$GROUND_STATE/left" ] || cluster down >/dev/null
    timeout 600 "$ROOT/tests/cluster/cluster" up "$@" "$GROUND_FABRIC" >&2
}

ground_down() {
    [ "$(id -u)" = 0 ] || return 0
    timeout 60 "$ROOT/tests/cluster/cluster" down >&2
}

# "left" is there while nobody uses the cluster, and holds what it was asked for.
ground_shared() {
    local asked="$*"
    need_ground slurmctld slurmd munged
    GROUND_FABRIC=$(fabric_path "$1") || return
    export GROUND_FABRIC
    if [ "$(cat "$GROUND_STATE/left" 2>/dev/null)" = "$asked" ]; then
        rm "$GROUND_STATE/left"
        cluster exec true && return
    fi
    cluster down >/dev/null
    ground_up "$@" && echo "$asked" >"$GROUND_STATE/asked"
}

# Of a cluster that is not as it was at first nothing is kept.
ground_leave() {
    [ "$(id -u)" = 0 ] || return 0
    if [ -n "${GROUND_KEEP-}" ] && [ -e "$GROUND_STATE/asked" ] &&
        [ ! -e "$GROUND_STATE/stage/etc/nettopo/nettopo.conf.kept" ] &&
        [ -z "$(user timeout 10 sinfo -h -N -t drain,down,fail,no_respond,alloc,comp,unknown)" ]; then
        cp "$GROUND_STATE/asked" "$GROUND_STATE/left"
    else
        ground_down
    fi
}

user() { (cd "$GROUND_HOME" && exec "$ROOT/tests/cluster/cluster" exec "$@"); }
on() { cluster host "$@"; }

# What CMD takes is taken from those who measure meanwhile: the longer it lasts the more rarely it is
# asked, from every 0.05 s to every 0.5.
wait_until() {
    local began=$(date +%s%N) now pause said most=$(($1 > 300 ? $1 : $1 > 30 ? 300 : 10 * $1))
    shift
    until said=$("$@" 2>&1); do
        now=$(($(date +%s%N) - began))
        [ $now -lt $((most * 1000000000)) ] || {
            fail "waited $most s in vain for: $*"$'\n'"$said"
            return
        }
        pause=$((now / 10000000))
        pause=$((pause < 50 ? 50 : pause > 500 ? 500 : pause))
        sleep "$(printf '0.%03d' $pause)"
    done
}

assert_equal() { [ "$2" = "$3" ] || fail "$1: expected \"$3\", found \"$2\""; }
assert_contains() { [[ $1 == *"$2"* ]] || fail "expected \"$2\" in:"$'\n'"$1"; }
refute_contains() { [[ $1 != *"$2"* ]] || fail "expected no \"$2\" in:"$'\n'"$1"; }

# assert_between WHAT GOT MIN MAX, decimal numbers
assert_between() {
    awk -v got="$2" -v min="$3" -v max="$4" \
        'BEGIN {exit !(got != "" && got + 0 >= min && got + 0 <= max)}' ||
        fail "$1: expected $3 to $4, found \"$2\""
}

median() { printf '%s\n' "$@" | sort -g | sed -n "$((($# + 1) / 2))p"; } # NUMBER...

full() { [ "${FULL:-0}" = 1 ]; }

# The fabric emulates in real time: what shares its machine shows in figures. Without FULL=1 a figure
# that is not as declared is told, and fails nothing.
figure() {
    local said
    if full; then
        "$@"
        return
    fi
    said=$("$@" 2>&1) || sed 's/^/# with FULL=1 this would fail: /' <<<"$said" >&3
}

declared_shape() { "$FABRIC" --shape "$(fabric_path "$1")"; }

# A map as a declaration, so that one program makes both shapes.
map_shape() {
    jq -r '([.nodes[].name]) as $hosts | .links[]
        | if (.a as $n | $hosts | index($n)) then "host \(.a) \(.b) 1 1"
          elif (.b as $n | $hosts | index($n)) then "host \(.b) \(.a) 1 1"
          else "link \(.a) \(.b) 1 1" end' "$1" | "$FABRIC" --shape -
}

# Everything that a cluster could leave: processes out of this namespace or of its users, names of
# namespaces, mounts, listening sockets (but those of ports that anybody is given by chance), devices,
# files, users.
ground_snapshot() {
    local here pid by_chance
    by_chance=$(awk '{print $1}' /proc/sys/net/ipv4/ip_local_port_range)
    here=$(readlink /proc/self/ns/net)
    {
        for pid in /proc/[0-9]*; do
            if [ "$(readlink "$pid/ns/net" 2>/dev/null || echo "$here")" != "$here" ] ||
                grep -qsxE 'slurm.*|munged|fabric|talk|nettopo-.*' "$pid/comm"; then
                # a dead one that nobody has reaped yet has no command line
                [ -z "$(tr '\0' ' ' 2>/dev/null <"$pid/cmdline")" ] ||
                    echo "process ${pid#/proc/} $(tr '\0' ' ' 2>/dev/null <"$pid/cmdline")"
            fi
        done
        ip netns list | sed 's/^/namespace /'
        ip -o link | sed 's/^[0-9]*: \([^:@]*\).*/device \1/'
        awk '{print "mount", $2, $3}' /proc/self/mounts
        ss -Hltn | awk -v by_chance="$by_chance" '{n = split($4, part, ":")}
            part[n] < by_chance + 0 {print "listens", $4}'
        ss -Hlx | awk '$5 ~ /nettopo|munge|slurm/ {print "listens", $5}'
        # what goes while it looks is no error: a test's shell would end here
        find /run /var/lib /dev/shm -maxdepth 1 -printf 'file %p\n' || true
        find /tmp /var/tmp /var/spool -maxdepth 1 \( -user slurm -o -user munge -o -nouser \) \
            -printf 'file %p\n' || true
        sed 's/^/user /' /etc/passwd /etc/group
    } 2>/dev/null | sort >"$1"
}

# nothing_stays BEFORE: what is here now was there before. Others may come and go meanwhile, so
# only what is more counts.
nothing_stays() {
    local now=$BATS_TEST_TMPDIR/now
    ground_snapshot "$now"
    [ -z "$(comm -13 "$1" "$now")" ] || fail "$(comm -13 "$1" "$now")"
}
