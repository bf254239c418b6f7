#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a placement gains that a user can see: MPI programs that exchange with their neighbours, over
# an emulated network whose leaves share a thin link, in the scheduler's order and in the hint's.
#   tests/bench_gain.sh [FABRIC]
# Times are the best of three runs by turns; beside them what the map made the hint expect. Needs
# root; says why and exits 77 where it cannot run.
set -u
cd "$(dirname "$0")/.." || exit 4
fabric=${1:-tests/data/fabrics/oversub8.fabric}
cluster=tests/cluster/cluster
cannot() { echo "bench_gain: $*" && exit 77; }
[ "$(id -u)" = 0 ] || cannot "needs root, for network namespaces and daemons"
for program in mpicc mpirun slurmctld jq; do
    command -v $program >/dev/null || cannot "$program is not installed"
done
make -s -j2 all fabric || exit 4
build/tests/fabric --can || cannot "this kernel cannot emulate a network"
mpicc -O2 -o build/tests/gain tests/gain.c || exit 4

script() {
    cat <<'END'
#!/bin/bash
# the job: for each pattern, both orders by turns
mpi=(mpirun --mca pml ob1 --mca btl "tcp,self" --mca btl_tcp_if_include fab0)
n=$SLURM_NTASKS
echo "map $NETTOPO_STATUS $(jq -c '[.links[] | has("bandwidth_MBps")] | any' "$NETTOPO_MAP")"
scontrol show hostnames | awk '{print "rank " NR - 1 "=" $1 " slot=0"}' >scheduler.ranks
for pattern in ring stencil:2x$((n / 2)); do
    nettopo hint --ntasks "$n" --pattern $pattern >hint.json
    nettopo hint --ntasks "$n" --pattern $pattern --format rankfile >hint.ranks
    for run in 1 2 3; do
        for order in scheduler hint; do
            echo "$pattern $order $("${mpi[@]}" --rankfile $order.ranks "$GAIN" ${pattern#stencil:} 65536 20)"
        done
    done
    jq -r '"'$pattern' expects \(.gain) \(.metrics_default.max_link_load / .metrics.max_link_load)"' hint.json
done
END
}

trap '$cluster down >/dev/null' EXIT
trap 'exit 130' INT TERM
timeout 60 $cluster up "$fabric" >/dev/null || exit 4
home=$($cluster state)/home
hosts=$(build/tests/fabric --hosts "$fabric" | wc -l)
script >"$home/gain.sh"
cp build/tests/gain "$home/gain" && chmod 755 "$home/gain"
timeout 120 $cluster exec sh -c "cd '$home' && GAIN='$home/gain' sbatch --quiet --wait --nettopo=standard \
    -N$hosts -n$hosts -o gain.out gain.sh" || {
    cat "$home/gain.out" >&2
    exit 1
}
echo "Exchange of 64 KiB with every neighbour, $hosts hosts, ms a round; gain: scheduler's over hint's"
awk '
    $1 == "map" {print "map: " $2 ", bandwidths " ($3 == "true" ? "known" : "not measured")}
    function best(k, x) {if (!(k in least) || x < least[k]) least[k] = x}
    $2 == "scheduler" || $2 == "hint" {best($1 " " $2, $3); if (!seen[$1]++) order[++n] = $1}
    $2 == "expects" {gain[$1] = $3; load[$1] = $4}
    END {
        printf "%-16s %10s %10s %10s %14s %14s\n", "pattern", "scheduler", "hint", "measured", \
            "expected cost", "busiest link"
        for (k = 1; k <= n; k++) {
            p = order[k]
            printf "%-16s %10.2f %10.2f %10.2f %14.2f %14.2f\n", p, least[p " scheduler"], \
                least[p " hint"], least[p " scheduler"] / least[p " hint"], gain[p], load[p]
        }
        exit n == 0
    }' "$home/gain.out" || { cat "$home/gain.out" >&2; exit 1; }
