#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The root agent by hand, in a mount namespace with a syslog of the test's own: no cluster.
# shellcheck disable=SC2016

bats_require_minimum_version 1.5.0

setup() {
    [ "$(id -u)" = 0 ] || skip "needs root"
    unshare --mount true 2>/dev/null || skip "no mount namespaces here"
    root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    agent=${AGENT:-$root/build/nettopo-prolog}
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir dev
}

teardown() {
    rm -f "${probe-}"
    [ -z "${syslogd-}" ] || kill "$syslogd"
}

# Who listens where syslog(3) speaks. HOW: reads, or is full and reads nothing.
start_syslogd() { # HOW
    python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("dev/log.new")
if sys.argv[1] == "full":
    c = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    c.setblocking(False)
    try:
        while True: c.sendto(b"x", "dev/log.new")
    except BlockingIOError: pass
import os
os.rename("dev/log.new", "dev/log")
out = open("syslog", "ab", buffering=0)
while sys.argv[1] == "full": __import__("time").sleep(60)
while True: out.write(s.recv(65536) + b"\n")' "$1" 3>&- </dev/null &
    syslogd=$!
    comes [ -e dev/log ]
}

comes() { # CMD...: within a minute
    for _ in {1..1200}; do ! "$@" || return 0; sleep 0.05; done
    echo "waited a minute in vain for: $*"
    return 1
}

# The agent with that /dev; what hangs is ended. [NAME=VALUE...] AGENT ARGUMENT...
run_agent() {
    unshare --mount sh -c 'touch dev/null && mount --bind /dev/null dev/null && mount --rbind dev /dev &&
        exec timeout -s KILL 60 env "$@"' sh "$@"
}

@test "no byte that a terminal obeys reaches syslog" {
    start_syslogd reads
    run run_agent "$agent" run --job $'7\x9b31m\x1b[31m\x80\xff' --uid 1
    [ "$status" = 2 ]
    comes grep -q 'job: expected a number' syslog
    run ! env LC_ALL=C grep $'[\x80-\xff\x1b]' syslog
    run ! env LC_ALL=C grep $'[\x80-\xff\x1b]' <<<"$output"
}

# A job of one host whose probe fails at once.
run_job() { # OPTION [NAME=VALUE...]
    cat >conf <<END
probe = /bin/false
run_dir = $BATS_TEST_TMPDIR/run
END
    run_agent "${@:2}" SLURM_JOB_NODELIST=localhost SLURMD_NODENAME=localhost \
        "$agent" run --job 7 --uid 65534 --gid 65534 --option "$1" --conf "$PWD/conf"
}

@test "a budget that slurm.conf does not bear is limited, and that is logged" {
    start_syslogd reads
    echo "MessageTimeout=8" >slurm.conf
    run_job quick,budget=6 "SLURM_CONF=$PWD/slurm.conf"
    comes grep -q 'job=7 .* budget=5 status=.* limited="budget 6 s was reduced to 5 s by MessageTimeout in slurm.conf"' syslog
    rm -r run
    : >syslog
    run_job quick,budget=5 "SLURM_CONF=$PWD/slurm.conf"
    comes grep -q 'job=7 ' syslog
    run ! grep became syslog
}

@test "a job whose nettopo.conf is wrong has its line, on its first host alone, and is counted" {
    local host
    start_syslogd reads
    echo 'bugdet_max = 7' >conf
    for host in n1 n2; do
        run -3 run_agent SLURM_JOB_NODELIST=n1,n2 SLURMD_NODENAME=$host SLURM_JOB_USER=alice \
            "$agent" run --job 7 --uid 65534 --gid 65534 --option quick --conf "$PWD/conf"
        comes grep -q "job[ =]7 .*failed.*conf:1: unknown key" syslog
    done
    run "$root/build/nettopo" stats syslog
    [ "$(grep -c '1  failed' <<<"$output")" = 1 ]
    [[ $output == '1 job, '* ]]
    [[ $output == *'1  '*'conf:#: unknown key'* ]]
    grep -q 'job=7 .* user=alice .* status=failed hosts=2 ' syslog
}

# Of all processes below that one, those with that line in their status.
below_with() { # PID LINE
    local child
    for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
        ! grep -q "^$2" "/proc/$child/status" || echo "$child"
        below_with "$child" "$2"
    done
}

@test "what talks to others is neither root nor able to open or start anything" {
    start_syslogd reads
    probe=$(mktemp) # where the job's user finds it
    printf '#!/bin/sh\nexec sleep 60\n' >"$probe"
    chmod 755 "$probe"
    printf 'probe = %s\nrun_dir = %s\n' "$probe" "$PWD/run" >conf
    env SLURM_JOB_NODELIST=localhost,127.0.0.2 SLURMD_NODENAME=localhost SLURM_CONF=/dev/null \
        "$agent" run --job 7 --uid 12345 --gid 12345 --option quick,budget=7 --conf "$PWD/conf" 3>&- &
    local monitor=$! relay='' status='' open=''
    while kill -0 $monitor; do # a lookup beside it is over soon
        relay=$(below_with $monitor $'Seccomp:\t2' | while read -r pid; do
            grep -q $'^Uid:\t12345' "/proc/$pid/status" || echo "$pid"
        done)
        [[ $relay =~ ^[0-9]+$ ]] && status=$(cat "/proc/$relay/status") &&
            open=$(readlink "/proc/$relay/root") && break
        sleep 0.01
    done
    wait $monitor
    grep -q $'^CapEff:\t0000000000000400' <<<"$status" # reserved ports
    grep -q $'^NoNewPrivs:\t1' <<<"$status"
    run ! grep -E $'^(Uid|Gid):.*\t0(\t|$)' <<<"$status"
    [[ $open == *fdinfo ]]
    grep -q STATUS=failed run/7/hint.env
    [ "$(stat -c %U run/7/hint.env)" = root ]
}

@test "a relay that cannot be confined does not run, and the job is told" {
    start_syslogd reads
    printf 'probe = /bin/false\nrun_dir = %s\n' "$PWD/run" >conf
    run_agent SLURM_JOB_NODELIST=localhost SLURMD_NODENAME=localhost \
        setpriv --bounding-set=-sys_chroot "$agent" run --job 7 --uid 65534 --gid 65534 \
        --option quick,budget=7 --conf "$PWD/conf"
    grep -q 'NETTOPO_REASON=the relay could not be confined' run/7/hint.env
    comes grep -q 'no sandbox: chroot: ' syslog
}

milliseconds() { echo $(($(date +%s%N) / 1000000)); }

in_time() { # MILLISECONDS BEGAN: with FULL=1; otherwise it ended, that is all
    local took=$(($(milliseconds) - $2))
    [ "${FULL:-0}" != 1 ] || [ $took -lt "$1" ] || { echo "expected less than $1 ms, found $took"; return 1; }
}

# Nobody reads at /dev/log: syslog(3) waits for ever.
@test "a Prolog script with a hanging syslog ends in time, with status 0" {
    start_syslogd full
    local environment=(SLURM_JOB_ID=7 SLURM_JOB_UID=65534 SLURM_JOB_GID=65534
        SLURM_JOB_NODELIST=localhost SLURMD_NODENAME=localhost SPANK_NETTOPO=quick,budget=1)
    began=$(milliseconds)
    echo "wrong" >conf
    run -0 run_agent "${environment[@]}" "$agent" --from-prolog-script --conf "$PWD/conf"
    run -0 run_agent "${environment[@]}" "$agent" --from-epilog-script --conf "$PWD/conf"
    in_time 8000 "$began"
    printf 'probe = /bin/false\nrun_dir = %s\n' "$PWD/run" >conf
    began=$(milliseconds)
    run -0 run_agent "${environment[@]}" "$agent" --from-prolog-script --conf "$PWD/conf"
    in_time 2500 "$began"
    grep -q STATUS=failed run/7/hint.env # publishing comes before the log
}

@test "a map that a slow archive does not take in time costs a line in the log" {
    start_syslogd reads
    cat >conf <<END
probe = $root/build/nettopo-probe
probe_user = nobody
run_dir = $BATS_TEST_TMPDIR/run
archive = $BATS_TEST_TMPDIR/archive
END
    mkdir archive
    echo '#include <unistd.h>
int fsync(int fd) { (void)fd; for (;;) pause(); }' | ${CC:-cc} -shared -fPIC -o hangs.so -xc -
    run -0 run_agent LD_PRELOAD="$PWD/hangs.so" SLURM_JOB_NODELIST=localhost SLURMD_NODENAME=localhost \
        "$agent" run --job 7 --uid 65534 --gid 65534 --option quick --conf "$PWD/conf"
    echo "$output"
    [ -e run/7/map.json ]
    comes grep -q "not archived, because $BATS_TEST_TMPDIR/archive did not answer within 200 ms" syslog
}

# As a file system of NFS whose server is away: only SIGKILL ends it.
@test "an epilog does not wait for an archive that hangs" {
    start_syslogd reads
    mkdir archive
    printf 'run_dir = %s\narchive = %s\n' "$PWD/run" "$PWD/archive" >conf
    echo '#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
DIR *fdopendir(int fd) {
    char link[64], path[4096] = "";
    sigset_t all;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n > 8 && strcmp(path + n - 8, "/archive") == 0) {
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, 0);
        for (;;) pause();
    }
    return ((DIR *(*)(int))dlsym(RTLD_NEXT, "fdopendir"))(fd);
}' | ${CC:-cc} -shared -fPIC -o hangs.so -xc -
    run -0 run_agent LD_PRELOAD="$PWD/hangs.so" SLURM_JOB_ID=8 SLURM_JOB_UID=65534 SLURM_JOB_GID=65534 \
        SLURM_JOB_NODELIST=localhost SLURMD_NODENAME=localhost "$agent" --from-epilog-script --conf "$PWD/conf"
}
