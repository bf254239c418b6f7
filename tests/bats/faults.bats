#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2086,SC2030,SC2031,SC2016
# What can go wrong around a sweep, on a real cluster. Whatever it is: the job is COMPLETED, no
# host is drained, every task is told a status and a reason, the job starts within its budget and
# a second, and nothing of ours stays.

load ground
load jobs

BUDGET=10 LEVEL=quick # nearly all end long before it

# What is to be met in a sweep: of quick, or of a short one, little is left when somebody has looked.
met_in_sweep() { # HOST CMD
    LEVEL=standard BUDGET=6
    while_measuring "$1" "$2" start_job
}

setup_file() {
    need_ground slurmctld
    ground_shared demo8
    cp "$ROOT/tests/foes/probe" "$GROUND_STATE/stage/bin/foe"
    slurm_alone 8
    gcc -shared -fPIC ${SLURM_PREFIX:+-isystem "$SLURM_PREFIX/include"} -o "$GROUND_STATE/stage/lib/lenient.so" "$ROOT/tests/foes/lenient.c"
}

teardown_file() { ground_leave; }

setup() {
    need_ground slurmctld
    hidden=() started=()
}

teardown() {
    [ "$(id -u)" = 0 ] || return 0
    local entry pid
    for pid in "${started[@]}"; do kill -s KILL "$pid" 2>/dev/null || true; done
    for entry in "${hidden[@]}"; do on "${entry%%:*}" umount -l "${entry#*:}" || true; done
    for entry in n1 n3; do on $entry sh -c 'ip link set fab0 up; rm -f /tmp/held /tmp/hangs'; done
    conf_reset
    user scancel --user nettest
    wait_until 30 all_are_idle 8
}

# ---- what is done to a host -------------------------------------------------------------------

hide() { # HOST FILE BEHIND
    on "$1" mount --bind "$3" "$2"
    hidden+=("$1:$2")
}

tmpfs() { # HOST DIR OPTIONS
    on "$1" mount -t tmpfs -o "mode=755,$3" tmpfs "$2"
    hidden+=("$1:$2")
}

conf_on() { # HOST KEY VALUE: on this host only
    local own=$GROUND_STATE/conf.$1
    sed "/^$2 *=/d" "$CONF" >"$own"
    printf '%s = %s\n' "$2" "$3" >>"$own"
    hide "$1" "$CONF" "$own"
}

background() {
    "$@" 3>&- 4>&- </dev/null &
    started+=($!)
}

# ---- the job ----------------------------------------------------------------------------------

start_job() { # [SBATCH OPTIONS]: eight hosts; every task tells what it found
    submit --nettopo=$LEVEL,budget=$BUDGET -N8 "$@" < <(
        recording_script | sed '$d'
        echo 'srun --quiet sh -c '\''echo "$SLURMD_NODENAME $NETTOPO_STATUS $NETTOPO_REASON"'\'' >"$HOME/$SLURM_JOB_ID.tasks"'
        echo 'exit 0'
    )
}

# The end of every fault: STATUS is ok, partial or failed, or several with | between; REASON a
# regular expression for what is not ok.
ends() { # STATUS REASON
    completed
    [[ $(variable NETTOPO_STATUS) =~ ^($1)$ ]] ||
        fail "status: expected $1, found $(cat "$GROUND_HOME/$JOB.env")"
    if [ "$(variable NETTOPO_STATUS)" != ok ]; then
        [[ $(variable NETTOPO_REASON) =~ $2 ]] || fail "reason: expected $2, found $(variable NETTOPO_REASON)"
        # who is told failed or partial is told why
        assert_equal "told no reason" "$(grep -cE '^n[0-9]+ (partial|failed) *$' "$GROUND_HOME/$JOB.tasks")" 0
    fi
    assert_equal "tasks that were told" "$(grep -cE '^n[0-9]+ (ok|partial|failed)' "$GROUND_HOME/$JOB.tasks")" 8
    waited_at_most $((BUDGET + 1))
    printf '# %s in %s s: %s\n' "$(variable NETTOPO_STATUS)" "$(waited_s)" "$(variable NETTOPO_REASON)" >&3
    hosts_are_well
    wait_until 5 nothing_of_ours
}

told() { sed -n "s/^$1 //p" "$GROUND_HOME/$JOB.tasks"; } # HOST

# The job ends with the status and the reason, HOST is told TOLD, and the map has all hosts but MISSING.
end_of() { # STATUS REASON [HOST TOLD [MISSING]]
    ends "$1" "$2"
    [ -z "${3-}" ] || assert_contains "$(told "$3")" "$4"
    [ -z "${5-}" ] || found_network --missing "$5"
}

met() { # HOST CMD STATUS REASON [HOST TOLD [MISSING]]: CMD while HOST measures
    met_in_sweep "$1" "$2"
    end_of "${@:3}"
}

job() { # STATUS REASON [HOST TOLD [MISSING]]
    start_job
    end_of "$@"
}

@test "the probe is missing" { conf_set probe /nowhere/nettopo-probe; job failed "/nowhere/nettopo-probe"; }
# bats test_tags=full
@test "the probe is missing on one host" { conf_on n3 probe /nowhere/nettopo-probe; job partial n3 "" "" n3; }
# bats test_tags=full
@test "a probe is killed while it measures" { met n3 'kill -s KILL $(probes_of n3)' partial n3; }
# bats test_tags=full
@test "the probe of rank 0 is killed while it measures" { met n1 'kill -s KILL $(probes_of n1)' failed "n1.*signal 9"; }
@test "a probe stops and never goes on" { met n3 'kill -s STOP $(probes_of n3)' 'partial|failed' .; }
# bats test_tags=full
@test "the probe of rank 0 stops and never goes on" { met n1 'kill -s STOP $(probes_of n1)' failed budget; }

# bats test_tags=full
@test "an agent never starts" {
    hide n3 "$GROUND_STATE/stage/libexec/nettopo/nettopo-prolog" /bin/true
    job partial n3 n3 failed n3
}

# bats test_tags=full
@test "the leader's agent never starts" {
    hide n1 "$GROUND_STATE/stage/libexec/nettopo/nettopo-prolog" /bin/true
    job failed . n2 "n1 within the budget"
}

@test "an agent is killed" { met n3 'kill -s KILL $(agents_of n3)' partial n3 n3 failed; }
@test "the leader's agent is killed" { met n1 'kill -s KILL $(agents_of n1)' failed . n2 "lost the connection to the job's first host n1"; }
# bats test_tags=full
@test "an agent stops and never goes on" { met n3 'kill -s STOP $(agents_of n3)' 'partial|failed' . n3 failed; }
# bats test_tags=full
@test "a host's fabric link is down" { on n3 ip link set fab0 down; job partial n3 "" "" n3; }
# bats test_tags=full
@test "the first host's fabric link is down" { on n1 ip link set fab0 down; job 'partial|failed' .; }
# bats test_tags=full
@test "a host's fabric link goes down while it measures" { met n3 'on n3 ip link set fab0 down' partial .; }

listener='
import socket, sys, time
held = []
for port in range(24500, 24628):
    if port in map(int, sys.argv[1:]) or len(sys.argv) == 1:
        s = socket.socket(socket.AF_INET6)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("::", port)); s.listen(50); held.append(s)
open("/tmp/held", "w").close()
time.sleep(600)'

# bats test_tags=full
@test "some of the leader's ports are taken" {
    next=$(($(user squeue -h -a -t all -o %A | sort -n | tail -n 1) + 1))
    background "$ROOT/tests/cluster/cluster" host n1 python3 -c "$listener" $((24500 + next % 128)) $((24501 + next % 128))
    wait_until 10 on n1 test -e /tmp/held
    start_job
    ends ok .
    found_network
}

# bats test_tags=full
@test "all of the leader's ports are taken by somebody who says nothing" {
    background "$ROOT/tests/cluster/cluster" host n1 python3 -c "$listener"
    wait_until 10 on n1 test -e /tmp/held
    job 'partial|failed' . n2 "failed"
}

# bats test_tags=full
@test "munged is away on one host" {
    conf_on n3 munge_socket /nowhere/munge.socket
    job partial n3 n3 "failed" n3
}

# bats test_tags=full
@test "munged is away on the first host" {
    conf_on n1 munge_socket /nowhere/munge.socket
    job 'partial|failed' .
}

hanging='
import os, socket, time
s = socket.socket(socket.AF_UNIX)
s.bind("/tmp/hangs"); os.chmod("/tmp/hangs", 0o777); s.listen(50)
time.sleep(600)'

# bats test_tags=full
@test "munged hangs on one host" {
    background "$ROOT/tests/cluster/cluster" host n3 python3 -c "$hanging"
    wait_until 10 on n3 test -S /tmp/hangs
    conf_on n3 munge_socket /tmp/hangs
    job partial n3 n3 "failed"
}

@test "the directory for the jobs' files is full on one host" {
    tmpfs n3 /run/nettopo size=4k,nr_inodes=2
    job 'ok|partial' . n3 "failed"
}

# bats test_tags=full
@test "the directory for the jobs' files has room for hardly anything on one host" {
    tmpfs n3 /run/nettopo size=4k
    job 'ok|partial' . n3 "failed run_dir has "
}

# bats test_tags=full
@test "the directory for the jobs' files cannot be written on one host, and on the first" {
    for host in n3 n1; do
        tmpfs $host /run/nettopo ro
        start_job
        ends 'ok|partial|failed' .
        assert_contains "$(told $host)" "failed"
        assert_contains "$(told n2)" "ok"
    done
}

@test "users other than root may write to run_dir" {
    tmpfs n3 /run/nettopo mode=777
    job 'ok|partial' . n3 "failed"
}

# bats test_tags=full
@test "the budget is too small" {
    submit_recording --nettopo=quick,budget=0.1 -N8
    completed
    [[ $(variable NETTOPO_STATUS) =~ ^(partial|failed)$ ]]
    [ -n "$(variable NETTOPO_REASON)" ]
    waited_at_most 1.1
    hosts_are_well
    wait_until 5 nothing_of_ours
}

# ---- peers that are not members of the job --------------------------------------------------------

stranger() { # MODE: from n2, in the place of n3
    on n2 timeout 20 "$ROOT/tests/foes/stranger" "$1" n1 10.219.0.11 n3 2 "$GROUND_STATE/munge/socket" nettest
}

# n3's own agent stays away, so that the leader waits and only the stranger could be n3
with_stranger() { # MODE ANSWER
    hide n3 "$GROUND_STATE/stage/libexec/nettopo/nettopo-prolog" /bin/true
    start_job
    assert_equal "the leader's answer" "$(stranger "$1")" "$2"
    ends partial n3
    found_network --missing n3
}

# bats test_tags=full
@test "a stranger sends garbage to the leader" { with_stranger garbage refused; }
# bats test_tags=full
@test "a stranger sends an oversized frame" { with_stranger oversized refused; }
# bats test_tags=full
@test "a stranger says nothing" { with_stranger silent refused; }
# bats test_tags=full
@test "a stranger connects from a port that any user may have" { with_stranger unreserved refused; }
# bats test_tags=full
@test "a stranger has a credential of another user" { with_stranger foreign refused; }
@test "a stranger has a credential that was used before" { with_stranger replayed refused; }
# bats test_tags=full
@test "a stranger has a credential for another host" { with_stranger wrong refused; }
@test "the stranger's own speech is right: root's fresh credential is let in" {
    with_stranger honest admitted
}

# What a job has after a failed sweep, a variable per line.
FAILED_NAMES="NETTOPO_FINDINGS NETTOPO_GAIN NETTOPO_HOSTFILE NETTOPO_NODE_ORDER NETTOPO_RANKFILE NETTOPO_RANK_ORDER NETTOPO_REASON NETTOPO_STATUS"
names_set() { cut -d= -f1 "$GROUND_HOME/$JOB.env" | xargs; }

# ---- a probe that wants to harm root's part ---------------------------------------------------

with_foe() { # HOW STATUS REASON
    local BUDGET=2 # some wait for all of it
    ln -sf foe "$GROUND_STATE/stage/bin/foe.$1"
    conf_set probe "$GROUND_STATE/stage/bin/foe.$1"
    start_job
    ends "$2" "$3"
    # nothing but what is ours, however the texts looked
    assert_equal "variables" "$(names_set)" "$FAILED_NAMES"
}

foes_of() { pgrep -f "$GROUND_STATE/stage/bin/foe" || true; }
no_foe() { [ -z "$(foes_of)" ]; }

# bats test_tags=full
@test "a probe sends an oversized frame" { with_foe oversized failed frame; }
# bats test_tags=full
@test "a probe sends garbage" { with_foe garbage failed .; }
@test "a probe sets variables that are not ours" { with_foe preload failed .; }
# bats test_tags=full
@test "a probe names files outside" { with_foe traversal failed .; }
# bats test_tags=full
@test "a probe sends control characters" { with_foe control failed .; }
# bats test_tags=full
@test "a probe sends an unknown artifact" { with_foe number failed .; }
@test "a probe floods the host with papers" { with_foe flood failed .; }
@test "a member's probe plays rank 0" { with_foe usurper failed .; }
# bats test_tags=full
@test "a probe is done without having anything" { with_foe nothing failed .; }
# bats test_tags=full
@test "a probe counts backwards" { with_foe falling failed .; }

@test "a probe that says nothing and ignores signals is ended" {
    with_foe deaf failed .
    wait_until 5 no_foe
}

@test "a probe makes no processes" {
    with_foe children failed .
    wait_until 5 no_foe
    assert_equal "processes that there were" "$(on n1 sh -c 'ls /tmp/foe-stayed.* 2>/dev/null' | wc -l)" 0
}

@test "a probe that is taken over has nothing to steal" {
    conf_set probe "$GROUND_STATE/stage/bin/foe.thief"
    ln -sf foe "$GROUND_STATE/stage/bin/foe.thief"
    on n1 sh -c 'mkdir -p /tmp/foe-home && chown nettest /tmp/foe-home && cd /tmp/foe-home &&
        echo secret >private && echo >shared && chown nettest private shared && chmod 600 private && chmod 666 shared'
    LEVEL=quick BUDGET=2 start_job
    ends failed "^stolen: nothing$"
    on n1 rm -r /tmp/foe-home
}

# ---- who reaches a probe ---------------------------------------------------------------------------

# While the probe of HOST is stopped no round ends, so that the sweep lasts until CMD has ended.
held() { # HOST CMD
    local rc=0 probe
    probe=$(probes_of "$1")
    [ -n "$probe" ] && kill -s STOP $probe || return
    eval "$2" || rc=1
    kill -s CONT $probe 2>/dev/null || rc=1 # it was over
    return $rc
}

listeners() { on "$1" ss -Hltn src 10.77.0.0/16 | awk '{print $4}'; } # HOST: address:port of its probe

# What they send ends a process of UCX 1.13 that reads it; a host outside the job is not heard.
@test "a host outside the job connects to the probes" {
    LEVEL=full BUDGET=6 # as long as the budget
    outside() { on n8 "$ROOT/tests/foes/outsider" $(listeners n3) $(listeners n1) >"$BATS_TEST_TMPDIR/answers"; }
    while_measuring n3 outside submit_recording --nettopo=$LEVEL,budget=$BUDGET -N7 --exclude n8
    completed
    assert_equal "answers" "$(sort "$BATS_TEST_TMPDIR/answers" | uniq -c | xargs)" "2 refused"
    went_well
    assert_equal "hosts" "$(jq -c "[.nodes[] | select(.status != \"missing\")] | length" "$GROUND_HOME/$JOB.map")" 7
    hosts_are_well
    wait_until 5 nothing_of_ours
}

@test "a host of the job sends another's probe what ends it" {
    attack() { on n2 "$ROOT/tests/foes/outsider" $(listeners n3) >/dev/null; }
    met_in_sweep n3 'held n1 attack'
    ends partial n3 # its probe read that, and ended
}

@test "a host of the job sends rank 0 what ends a probe" {
    heard() { # it does not end with that, and the connection stays
        until [ "$(on n2 "$ROOT/tests/foes/outsider" $(listeners n1))" = open ]; do measuring n1 || return 1; done
    }
    for _ in 1 2 3; do
        met_in_sweep n1 'held n3 heard'
        completed
        [ "$(variable NETTOPO_STATUS)" = ok ] || break # else it was read after the last round
    done
    ends partial 'n1|budget' # heard late, it only takes time
}

# ---- hostile texts ---------------------------------------------------------------------------------

@test "hostile options that got past submission" {
    sed "s|^PlugStackConfig=.*|PlugStackConfig=$GROUND_HOME/plugstack.conf|" \
        "$GROUND_STATE/etc/slurm.conf" >"$GROUND_HOME/slurm.conf"
    echo "required $GROUND_STATE/stage/lib/lenient.so" >"$GROUND_HOME/plugstack.conf"
    long=$(head -c 100000 /dev/zero | tr '\0' a)
    local items=($'quick\nNETTOPO_STATUS=ok\n' $'\x1b[31m' "$long")
    ! full || items+=('a=b' 'pattern=matrix:' 'budget=1e9' '--conf,/tmp/x' '%n%s%n')
    for item in "${items[@]}"; do
        # the value stands in variables of Slurm's own, line ends and all
        JOB=$(recording_script | user timeout 30 env SLURM_CONF="$GROUND_HOME/slurm.conf" \
            sbatch --parsable -o /dev/null -N2 "--nettopo=$item")
        completed
        assert_equal "status for ${item:0:20}" "$(variable NETTOPO_STATUS)" failed
        assert_equal "variables for ${item:0:20}" "$(names_set)" "$FAILED_NAMES"
        reason=$(variable NETTOPO_REASON)
        [ -n "$reason" ] && [ ${#reason} -lt 500 ] || fail "reason of ${#reason} characters"
        waited_at_most 1
    done
    hosts_are_well
    wait_until 5 nothing_of_ours
}
