#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# bats file_tags=full
# shellcheck disable=SC2153,SC2154,SC2030,SC2031,SC2016
# What operators do to an installation while jobs run: replace it, remove it; and Slurm without
# configuration files on its nodes. What nettopo-cluster(7) says of it.

load ground
load jobs

setup_file() {
    need_ground slurmctld
    cluster down >/dev/null
    ground_up star4
}

teardown_file() { ground_down; }
setup() { need_ground slurmctld; }

STAGE=$GROUND_STATE/stage

made() { # TARGET: as the cluster itself installs
    make -s -C "$ROOT" SLURM_PREFIX="${SLURM_PREFIX:-}" DESTDIR="$STAGE" BINDIR=/bin LIBEXECDIR=/libexec \
        MANDIR=/share/man DATADIR=/share/nettopo AGENTDIR=/usr/local/libexec/nettopo SLURM_PLUGIN_DIR=/lib/slurm "$1" >&2
}

# A job that runs until its file is there, with a step before that and one after it.
waiting_job() {
    submit "$@" <<'END'
#!/bin/bash
srun -n1 -N1 sh -c 'echo "before $NETTOPO_STATUS" && nettopo validate' >"$HOME/$SLURM_JOB_ID.said"
until [ -e "$HOME/$SLURM_JOB_ID.go" ]; do sleep 0.1; done
srun -n1 -N1 sh -c 'echo "after $NETTOPO_STATUS $NETTOPO_NODE_ORDER" && cat "$NETTOPO_MAP"' >>"$HOME/$SLURM_JOB_ID.said"
exit 0
END
    wait_until 30 said "$JOB" before
}
said() { grep "^$2" "$GROUND_HOME/$1.said"; }
goes_on() { touch "$GROUND_HOME/$1.go"; }
is_gone() { # JOB: its files, from all hosts
    local host
    for host in n1 n2 n3 n4; do on $host test ! -e "/run/nettopo/$1" || return; done
}

@test "replaced while a job runs and while one measures: the job keeps its hint, its epilog cleans up" {
    local runs conf
    waiting_job -N2 -w n1,n2 --exclusive --nettopo=quick
    runs=$JOB
    conf=$(cat "$CONF")
    while_measuring n4 'made install' submit_recording -N2 -w n3,n4 --exclusive --nettopo=full,budget=6
    assert_equal "nettopo.conf" "$(cat "$CONF")" "$conf"
    goes_on "$runs"
    completed "$runs"
    assert_equal "status" "$(said "$runs" before) $(said "$runs" after)" \
        "before ok after ok $(jq -r '.placement.node_order | join(",")' < <(sed -n '/^{/,$p' "$GROUND_HOME/$runs.said"))"
    completed
    assert_contains "ok partial failed" "$(variable NETTOPO_STATUS)"
    echo "# measured meanwhile: $(variable NETTOPO_STATUS) $(variable NETTOPO_REASON)" >&3
    wait_until 10 is_gone "$runs"
    wait_until 10 is_gone "$JOB"
    hosts_are_well
    submit_recording -N4 --exclusive --nettopo=quick
    completed
    assert_contains "ok partial" "$(variable NETTOPO_STATUS)"
}

@test "configless Slurm: the plugin's line is served with slurm.conf, a job finds its network" {
    local host pid
    cluster down >/dev/null
    ground_up star4 --slurm SlurmctldParameters=enable_configless
    sed -i '/^PlugStackConfig=/d' "$GROUND_STATE/etc/slurm.conf" # the file beside slurm.conf, as it is by default
    on n1 scontrol reconfigure
    for host in n1 n2 n3 n4; do
        pid=$(cut -d' ' -f1 "$GROUND_STATE/pids/slurmd.$host")
        kill "$pid"
        wait_until 10 sh -c "! kill -0 $pid 2>/dev/null"
        # a host without files of Slurm, and munged where every slurmd looks for it
        on $host sh -c "mount -t tmpfs tmpfs /run && mkdir /run/munge && mkdir -m 755 /run/nettopo &&
            ln -s $GROUND_STATE/munge/socket /run/munge/munge.socket.2 && mount -t tmpfs tmpfs $GROUND_STATE/etc &&
            cd / && exec env -u SLURM_CONF setsid slurmd -D -N $host --conf-server 10.219.0.1:6817" \
            >>"$GROUND_STATE/log/slurmd.$host.out" 2>&1 </dev/null 3>&- 4>&- &
    done
    wait_until 30 all_are_idle 4
    wait_until 30 on n4 test -e /run/slurm/conf/plugstack.conf
    submit_recording -N4 --exclusive --nettopo=quick
    completed
    assert_equal "status, $(variable NETTOPO_REASON)" "$(variable NETTOPO_STATUS)" ok
    knows_network
    run on n1 env -u SLURM_CONF "$STAGE/libexec/nettopo/nettopo-prolog" --check --conf "$CONF"
    assert_contains "$output" "/run/slurm/conf"
    hosts_are_well
}

# The last: nothing is installed after it.
@test "make uninstall while a job runs: it ends well, and others are submitted as ever" {
    cluster down >/dev/null
    ground_up star4
    waiting_job -N2 -w n1,n2 --exclusive --nettopo=quick
    echo '# a line of the administrator' >>"$CONF"
    : >"$GROUND_STATE/etc/plugstack.conf" # what the manual says is first
    made uninstall
    assert_equal "what is left" "$(cd "$STAGE" && find . -type f ! -name foe)" ./etc/nettopo/nettopo.conf
    goes_on "$JOB"
    completed
    assert_contains "$(said "$JOB" after)" "after"
    hosts_are_well
    submit_recording -N4
    completed
    assert_equal "variables" "$(cat "$GROUND_HOME/$JOB.env")" ""
    run user timeout 30 sbatch --nettopo -N1 --wrap true
    [ "$status" != 0 ]
    assert_contains "$output" "nettopo"
}
